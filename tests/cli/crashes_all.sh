#!/bin/sh
# crashes.sh at all calls, with all faults: some thousand deaths.
. "$abs_top_srcdir/tests/cli/crash_points.sh"
for work in ${WORKS-train resume nli experiment}; do
    begin "$work"
    for fault in ${FAULTS-$(faults "$work")}; do
        for i in $(seq "$calls"); do
            try "$work" "$fault" "$i"
        done
    done
    echo "$work: $calls calls"
done
exit "$failed"
