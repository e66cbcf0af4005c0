#!/bin/sh
# Every public header, and every one of the program, compiles by itself, as C and as C++, without a warning, for which a
# user may have asked strictly; a C++ program does as well, links and runs.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${abs_top_builddir:=$PWD}" "${CC:=cc}" "${CXX:=}"
include=$abs_top_srcdir/include
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
warnings_cxx="$warnings -Wold-style-cast -Wzero-as-null-pointer-constant"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
failed=0

try() {
    "$@" || { echo "failed: $*"; failed=1; }
}

try_cxx() {
    # By clang too: to gcc NULL is no zero, whatever is asked for.
    for cxx in "$CXX" "$(command -v clang++)"; do
        # shellcheck disable=SC2086  # lists: CXX may hold flags
        [ -z "$cxx" ] || try $cxx -x c++ -std=c++11 $warnings_cxx -I"$include" -fsyntax-only "$1"
    done
}

for header in "$include"/*/*.h; do
    echo "#include <${header#"$include"/}>" >"$scratch/one.c"
    # shellcheck disable=SC2086
    try $CC -std=c11 $warnings -I"$include" -fsyntax-only "$scratch/one.c"
    try_cxx "$scratch/one.c"
done
try_cxx "$abs_top_srcdir/tests/house/headers_cxx.cc"

library=$abs_top_builddir/.libs/libascgrad.so
if [ -z "$CXX" ]; then
    echo 'skipped: needs a C++ compiler: the headers as C++'
elif [ -f "$library" ]; then
    # shellcheck disable=SC2086
    try $CXX -std=c++11 $warnings_cxx -I"$include" "$abs_top_srcdir/tests/house/headers_cxx.cc" "$library" \
        -Wl,-rpath,"${library%/*}" -o "$scratch/cxx"
    try "$scratch/cxx"
else
    echo 'skipped: needs the shared library: a C++ program that uses it'
fi
exit $failed
