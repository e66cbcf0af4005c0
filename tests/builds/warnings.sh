# shellcheck shell=sh
# Sourced with a compiler's name as the argument: it has no warning for anything here.
compiler=$1
command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; exit 77; }
build=$(mktemp -d) || exit 99
trap 'rm -rf "$build"' EXIT
trap 'exit 1' INT TERM
cd "$build" || exit 99
jobs=$(getconf _NPROCESSORS_ONLN)
"$abs_top_srcdir/configure" -q --disable-shared CC="$compiler" || exit 1
make -s -j"$jobs" CFLAGS='-g -O2 -Werror' && make -s -j"$jobs" CFLAGS='-g -O2 -Werror' check TESTS=
