#!/bin/sh
# Every public header, and every one of the program, compiles by itself, as C and as C++, without a warning; a C++
# program links and runs.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${abs_top_builddir:=$PWD}" "${CC:=cc}" "${CXX:=}"
include=$abs_top_srcdir/include
warnings='-Wall -Wextra -Wpedantic -Werror'
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
failed=0

try() {
    "$@" || { echo "failed: $*"; failed=1; }
}

for header in "$include"/*/*.h; do
    echo "#include <${header#"$include"/}>" >"$scratch/one.c"
    # shellcheck disable=SC2086  # both are lists: CC may hold flags
    try $CC -std=c11 $warnings -I"$include" -fsyntax-only "$scratch/one.c"
    # shellcheck disable=SC2086
    [ -z "$CXX" ] || try $CXX -x c++ -std=c++11 $warnings -Wold-style-cast -I"$include" -fsyntax-only "$scratch/one.c"
done

library=$abs_top_builddir/.libs/libascgrad.so
if [ -z "$CXX" ]; then
    echo 'skipped: needs a C++ compiler: the headers as C++'
elif [ -f "$library" ]; then
    # shellcheck disable=SC2086
    try $CXX -std=c++11 $warnings -I"$include" "$abs_top_srcdir/tests/house/headers_cxx.cc" "$library" \
        -Wl,-rpath,"${library%/*}" -o "$scratch/cxx"
    try "$scratch/cxx"
else
    echo 'skipped: needs the shared library: a C++ program that uses it'
fi
exit $failed
