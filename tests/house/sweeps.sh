#!/bin/sh
# The suites that have long sweeps, with the whole of them: make check cuts them short.
set -u
: "${abs_top_srcdir:=$PWD}" "${abs_top_builddir:=$PWD}"
cd "$abs_top_builddir" || exit 99
failed=0
for source in $(cd "$abs_top_srcdir" && grep -lE 'in_full\(|fail_each_allocation' tests/*/test_*.c); do
    suite=${source%.c}
    [ -x "$suite" ] || { echo "skipped: needs $suite, which make check builds"; exit 77; }
    ASCGRAD_FULL=yes "$suite" >sweeps.out 2>&1 || {
        echo "$suite:"
        cat sweeps.out
        failed=1
    }
done
rm -f sweeps.out
exit $failed
