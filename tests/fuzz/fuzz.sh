#!/bin/sh
# Runs the fuzzers, each for some minutes, from the folder of a build that is configured with --enable-fuzzing.
# Usage: fuzz.sh [MINUTES [TARGET...]]; corpora stay in fuzz/, findings in fuzz/found.
set -u
: "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$abs_top_srcdir/tests/fuzz/seeds.sh"
minutes=${1:-1}
case $minutes in
0* | *[!0-9]*) echo "fuzz: MINUTES is $minutes, expected a whole number of at least 1" >&2; exit 2 ;; # 0: no end
esac
[ $# -gt 0 ] && shift
FUZZ_ENCODER=$abs_top_srcdir/tests/train/encoder
UBSAN_OPTIONS=print_stacktrace=1
export FUZZ_ENCODER UBSAN_OPTIONS
mkdir -p fuzz/found
failed=0
for target in ${*:-$(sed -n 's/^    _(\(.*\)).*/\1/p' "$abs_top_srcdir/tests/fuzz/fuzz.h")}; do
    seeds "$target" "fuzz/seeds-$target"
    mkdir -p "fuzz/$target"
    echo "$target: $minutes minutes"
    FUZZ_TARGET=$target tests/fuzz/fuzzer "fuzz/$target" "fuzz/seeds-$target" -max_total_time=$((minutes * 60)) \
        -timeout=20 -rss_limit_mb=3000 -max_len=65536 -artifact_prefix="fuzz/found/$target-" \
        -print_final_stats=1 >"fuzz/$target.log" 2>&1 || { failed=1; echo "$target: see fuzz/$target.log"; }
    sed -n 's/^stat::number_of_executed_units: */  executions: /p' "fuzz/$target.log"
    grep 'cov:' "fuzz/$target.log" | tail -1 | sed 's/.*cov: \([0-9]*\).*corp: \([0-9]*\).*/  edges: \1, inputs: \2/'
done
exit "$failed"
