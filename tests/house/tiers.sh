#!/bin/sh
# Every suite and script in tests/ stands once in the lists of tests/Makefile.inc, and so in one tier.
set -u
cd "${abs_top_srcdir:-$(dirname "$0")/../..}" || exit 99
failed=0
for file in tests/*/test_*.c tests/*/*.sh; do
    name=$(echo "$file" | sed 's,\(test_.*\)\.c$,\1,')
    listed=$(tr -d '\t\\ ' <tests/Makefile.inc | grep -cxF "$name")
    [ "$listed" -eq 1 ] || { echo "$file: in $listed lists of tests/Makefile.inc"; failed=1; }
done
exit $failed
