#!/bin/sh
# No two headers give one name two meanings: a file that includes the headers of all folders compiles, in either order.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${abs_top_builddir:=$PWD}" "${CC:=cc}" "${CORE_CPPFLAGS:=}"
LC_ALL=C
export LC_ALL

. "$abs_top_srcdir/tests/house/folders.sh"
cd "$abs_top_builddir" || exit 99
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

# What has no guard against being included twice is a part of a source or a list.
headers() {
    # shellcheck disable=SC2086  # one word each
    (cd "$abs_top_srcdir" && find $library tools -name '*.h' \
        -exec grep -l '^#ifndef .*_H$' {} +) | sort "$@" | sed 's/.*/#include "&"/'
}

compiled=yes
for order in -f -r; do
    headers $order >"$scratch/all.c"
    # shellcheck disable=SC2086  # lists of flags
    $CC -std=gnu11 $CORE_CPPFLAGS -I. -I"$abs_top_srcdir" -I"$abs_top_srcdir/include" -fsyntax-only "$scratch/all.c" ||
        compiled=no
done >"$scratch/output" 2>&1
grep -E ' (error|warning): ' "$scratch/output" | sort -u >"$scratch/messages"
if [ $compiled = no ] && [ ! -s "$scratch/messages" ]; then
    cat "$scratch/output"
    exit 1
fi

[ -s "$scratch/messages" ] || exit 0
cat "$scratch/messages"
exit 1
