#!/bin/sh
# Gives each fuzz target what it starts from, and what once made it fail (tests/fuzz/found/TARGET-*).
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${ASCGRAD:=$PWD/ascgrad}"
. "$abs_top_srcdir/tests/fuzz/seeds.sh"
replay=${abs_top_builddir:=$PWD}/tests/fuzz/replay
[ -x "$replay" ] || { echo "skipped: needs $replay"; exit 77; }
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
FUZZ_ENCODER=$abs_top_srcdir/tests/train/encoder
export FUZZ_ENCODER
failed=0
for minutes in 0 00 -1 1.5 x; do # libFuzzer takes 0 for no limit
    (cd "$scratch" && sh "$abs_top_srcdir/tests/fuzz/fuzz.sh" $minutes none >out 2>err)
    got=$?
    { [ $got -eq 2 ] && grep -q "^fuzz: MINUTES is $minutes, expected" "$scratch/err"; } ||
        { echo "fuzz.sh takes $minutes minutes: exit status $got"; failed=1; }
done
for target in $(sed -n 's/^    _(\(.*\)).*/\1/p' "$abs_top_srcdir/tests/fuzz/fuzz.h"); do
    seeds "$target" "$scratch/$target"
    : >"$scratch/$target/empty"
    for file in "$scratch/$target"/* "$abs_top_srcdir/tests/fuzz/found/$target"-*; do
        [ -f "$file" ] || continue
        "$replay" "$target" "$file" || { echo "$target fails on $file"; failed=1; }
    done
done
exit "$failed"
