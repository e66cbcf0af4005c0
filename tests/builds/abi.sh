#!/bin/sh
# A program that was compiled against an older version runs with this library: for each baseline in abi/ sizes, places,
# numbers and declarations are those of the headers, and the library has every function under the version that it had.
# shellcheck source=tests/program.sh
. "$abs_top_srcdir/tests/program.sh"
: "${CC:=cc}" "${CORE_LIBS:=}"
library=$abs_top_builddir/.libs/libascgrad.so

for baseline in "$abs_top_srcdir"/abi/[0-9]*.c; do
    version=$(basename "$baseline" .c)
    link="$abs_top_builddir/.libs/libcore.a $CORE_LIBS"
    if [ -f "$library" ]; then
        link="$library -Wl,-rpath,${library%/*}"
    else
        left_out "needs the shared library: its functions' versions in $version"
    fi
    # shellcheck disable=SC2086  # lists
    status 0 $CC -std=gnu11 -Wall -Werror -I"$abs_top_srcdir/include" "$baseline" $link -o "program-$version"
    status 0 "./program-$version"

    # a change in the headers is found
    mkdir -p "changed-$version/ascgrad"
    for change in 's/^    ASC_OK = 0,/    ASC_OK = 1,/' 's/^    int threads; /    int64_t threads; /' \
        's/^ASC_API int asc_threads(/ASC_API int64_t asc_threads(/'; do
        cp "$abs_top_srcdir"/include/ascgrad/*.h "changed-$version/ascgrad"
        sed "$change" "$abs_top_srcdir/include/ascgrad/base.h" >"changed-$version/ascgrad/base.h"
        same_header=$(cmp -s "changed-$version/ascgrad/base.h" "$abs_top_srcdir/include/ascgrad/base.h" && echo yes)
        [ -z "$same_header" ] || fail "base.h has no line for $change"
        # shellcheck disable=SC2086
        ! $CC -std=gnu11 -fsyntax-only -Wimplicit-function-declaration -Werror -I"changed-$version" "$baseline" \
            >out 2>err || fail "not found: $change"
    done
done

# every function that a program of an older version asks for
if [ -f "$library" ] && command -v nm >/dev/null && grep -q version-script "$abs_top_builddir/Makefile"; then
    nm -D --defined-only --with-symbol-versions "$library" >symbols
    oldest=
    for baseline in "$abs_top_srcdir"/abi/[0-9]*.c; do
        version=$(basename "$baseline" .c)
        sed -n 's/^    (any \*)\(asc_[a-z0-9_]*\),$/\1/p' "$baseline" >"functions-$version"
        [ -s "functions-$version" ] || fail "$baseline names no functions"
        while read -r name; do
            grep -q " $name@@ASCGRAD_" symbols || fail "the library has no $name of $version"
            [ -n "$oldest" ] || grep -q " $name@@ASCGRAD_$version\$" symbols || fail "$name is not of version $version"
        done <"functions-$version"
        oldest=$version
    done
fi
exit $failed
