#!/bin/sh
# On a processor that OpenBLAS does not know, the program starts again, once, with better kernels; a user's choice
# stands, and where it can't start again it goes on with what there is. A shim makes the processor unknown.
. "$abs_top_srcdir/tests/program.sh"

skip() {
    echo "skipped: $*"
    exit 77
}
[ -e /proc/self/exe ] || skip "needs /proc"
unset OPENBLAS_CORETYPE
"$ASCGRAD" info --json >info || exit 99
case $(sed -n 's/.*"best_isa": "\([a-z0-9]*\)".*/\1/p' info) in
avx512) better=SkylakeX ;;
avx2) better=Haswell ;;
*) skip "no kernels beyond the plain ones" ;;
esac
grep -q DYNAMIC_ARCH info || skip "this OpenBLAS has kernels of one core type"
# shellcheck disable=SC2086
$CC -shared -fPIC -o shim.so "$abs_top_srcdir/tests/cli/core_type_shim.c" 2>/dev/null || skip "no shared object by $CC"

export SHIM_CORE=Prescott SHIM_LOG="$folder/execs"
# info COMMAND...: under the shim, to the file out. LD_PRELOAD is a list, in which a path with a blank would be two.
info() {
    : >execs
    LD_PRELOAD=./shim.so status 0 "$@" info --json
}
SHIM_NO_EXEC=1 LD_PRELOAD=./shim.so "$ASCGRAD" info --json 2>/dev/null | grep -q '"blas_core": "Prescott"' ||
    skip "nothing can be loaded before this program"

# one new start, with the kernels advised
info "$ASCGRAD"
has execs "^/proc/self/exe $better\$"
lines execs 1
has out "\"blas_core\": \"$better\""
has out '"blas_advice": null'
lines err 0

# found by the search path, from another folder, with an argument of its own
mkdir elsewhere
(cd elsewhere && PATH="$(dirname "$ASCGRAD"):$PATH" LD_PRELOAD=../shim.so \
    ascgrad tokenize --tokenizer byte </dev/null) ||
    fail "a new start loses the arguments"

# a user's choice, be it slow or empty
for choice in Prescott Haswell ''; do
    export OPENBLAS_CORETYPE="$choice"
    info "$ASCGRAD"
    lines execs 0
    has out '"blas_advice": null'
    unset OPENBLAS_CORETYPE
done

# execv fails: the same process goes on, and says in info what would help
SHIM_NO_EXEC=1 info "$ASCGRAD"
lines execs 1
has out '"blas_core": "Prescott"'
has out "\"blas_advice\": \"$better\""
SHIM_NO_EXEC=1 LD_PRELOAD=./shim.so status 0 "$ASCGRAD" info
has out "^BLAS core  Prescott (slow here; faster with OPENBLAS_CORETYPE=$better)"

# started by the dynamic linker: /proc/self/exe is the linker then
linker=$(sed -n 's/.* \(\/[^ ]*\/ld-[^ ]*\.so[^ ]*\)$/\1/p' /proc/self/maps | sort -u)
if [ -x "$linker" ]; then
    info "$linker" "$ASCGRAD"
    lines execs 0
    has out "\"blas_advice\": \"$better\""
else
    left_out 'needs a dynamic linker with a name of its own: a start through it'
fi

# traced, or under valgrind, which can't follow to a file of its own
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    : >execs
    status 0 strace -f -o trace -E LD_PRELOAD=./shim.so "$ASCGRAD" info --json
    lines execs 1
    has out "\"blas_core\": \"$better\""
else
    left_out 'needs strace: a new start while traced'
fi
if command -v valgrind >/dev/null; then
    : >execs
    LD_PRELOAD=./shim.so status 0 valgrind -q "$ASCGRAD" --version
    lines execs 0
else
    left_out 'needs valgrind: no new start under it'
fi
exit $failed
