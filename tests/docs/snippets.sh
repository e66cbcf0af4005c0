#!/bin/sh
# Every block of C and C++ in README.md and doc/guide.md is compiled, without a warning, and does what the page says.
# Blocks that stand alone, or a chapter's together, are a program; tests/docs/guide.c has a frame for each other one.
# shellcheck source=tests/program.sh
. "$abs_top_srcdir/tests/program.sh"
if [ -n "${ASCGRAD_SANITIZED-}" ]; then
    echo 'skipped: a library with sanitizers does not link with a program without'
    exit 77
fi
: "${CC:=cc}" "${CXX:=}" "${CORE_LIBS:=}"
docs=$abs_top_srcdir/tests/docs
core=$abs_top_builddir/.libs/libcore.a
strict='-Wall -Wextra -Werror'

# extract PAGE: its blocks, into the folder of its name.
extract() {
    mkdir "$(basename "$1" .md)"
    awk -v out="$(basename "$1" .md)" -f "$docs/snippets.awk" "$abs_top_srcdir/$1" || exit 99
}
extract README.md
extract doc/guide.md

# blocks PAGE HEADING: a chapter's blocks, as one file.
blocks() {
    cat "$1/$2"_*.h
}

# compile FILE [FLAG...]: as C11 or C++11, to a program try_FILE.
compile() {
    file=$1
    shift
    compiler="$CC -std=c11"
    [ "$file" = "${file%.cc}" ] || compiler="$CXX -std=c++11"
    # shellcheck disable=SC2086  # lists
    status 0 $compiler $strict -I"$abs_top_srcdir/include" "$@" "$file" "$core" $CORE_LIBS \
        -o try_"$(basename "${file%.*}")"
}

# ---- README.md ----
blocks README use_the_library >readme.c
compile readme.c
status 0 ./try_readme
has out '^d loss / d w\[0, 0\] = 0\.[0-9]*$'

# ---- doc/guide.md: what is no program by itself ----
compile "$docs/guide.c" -I.
status 0 ./try_guide
lines out 0

# ---- from C++ ----
if [ -n "$CXX" ]; then
    blocks guide from_c >cxx.cc
    compile cxx.cc
    status 0 ./try_cxx
    has out '^-*0\.[0-9]*$'
else
    left_out 'needs a C++ compiler: the guide from C++'
fi

# ---- an op of one's own, as a program and as a plugin ----
blocks guide an_op_of_one_s_own >wave.c
compile wave.c
status 0 ./try_wave
has out '^wave: ok, 1[0-9]\.[0-9] digits; 0\.5 becomes 0\.42'
# shellcheck disable=SC2086
status 0 $CC -std=c11 $strict -shared -fPIC -I"$abs_top_srcdir/include" wave.c -o wave.so
status 0 "$ASCGRAD" gradcheck --plugin wave.so
has out '^wave .* ok, '
status 0 "$ASCGRAD" gradcheck --plugin wave.so --mutants
has out '^wave .* 1/1 '
status 0 "$ASCGRAD" bench ops --plugin wave.so --seconds 0
has out '^wave '

# ---- an op in the library: its file, and the values that its test expects ----
mkdir -p ops/elementwise
sed 1d guide/an_op_in_the_library_01.h >ops/elementwise/wave.c
awk -f "$abs_top_srcdir/kernels/f64.awk" ops/elementwise/wave.c >ops/elementwise/wave.f64.h || fail 'no twin for double'
# shellcheck disable=SC2086
status 0 $CC -std=gnu11 $strict ${CORE_CPPFLAGS-} -I. -I"$abs_top_builddir" -I"$abs_top_srcdir" \
    -I"$abs_top_srcdir/include" \
    -include ascgrad/ops.h -include guide/an_op_in_the_library_02.h -c ops/elementwise/wave.c -o library_wave.o
compile "$docs/library_op.c" -I. library_wave.o
status 0 ./try_library_op
lines out 0

# ---- a mixing layer ----
blocks guide a_mixing_layer_of_your_own >blend.c
compile blend.c
status 0 ./try_blend
has out '^looks ahead: no; the loss fell from 2\.[0-9]* to 0\.[0-9]*$'

# ---- none is left out ----
for page in README guide; do
    while read -r block; do
        grep -q "$page/$block\.h" "$docs"/*.c "$docs/snippets.sh" && continue
        grep -q "^ *blocks $page ${block%_*}[ $]" "$docs/snippets.sh" || fail "$page.md: the block $block is not tried"
    done <"$page/list"
done
exit $failed
