#!/bin/sh
# ascgrad bench ops: all ops run, in little memory, and their figures fit together.
. "$abs_top_srcdir/tests/program.sh"

ops=$("$ASCGRAD" info --json | sed 's/.*"ops": //' | tr ',{' '\n\n' | sed -n 's/.*"name": "\(.*\)"/\1/p')
# shellcheck disable=SC2086  # a list of names
status 0 "$ASCGRAD" bench ops $ops --seconds 0 --json
json 'd["sgemm_gflops"] > 0 and d["memory_gbs"] > 0'
json 'all(o["forward"]["ms"] > 0 and 0 < o["peak_mib"] < 1024 for o in d["ops"])'
json 'all(p["share"] == max(p["gflops"] / d["sgemm_gflops"], p["gbs"] / d["memory_gbs"])
          for o in d["ops"] for p in (o["forward"], o["backward"]) if p)'
json 'all(p["limit"] == ("sgemm" if p["gflops"] / d["sgemm_gflops"] > p["gbs"] / d["memory_gbs"] else "memory")
          for o in d["ops"] for p in (o["forward"], o["backward"]) if p and p["share"] > 0)'
for op in $ops; do
    has out "\"op\": \"$op\""
done
exit $failed
