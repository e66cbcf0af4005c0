#!/bin/sh
# doc/ops.md is what the registry says now.
set -u
made=$(mktemp) || exit 99
trap 'rm -f "$made"' EXIT
sh "$abs_top_srcdir/doc/ops_reference.sh" "$ASCGRAD" >"$made" || exit 1
grep -q '^| `linear` | x weight bias? | [1-9]' "$made" || { echo 'no line for linear'; exit 1; }
cmp -s "$made" "$abs_top_srcdir/doc/ops.md" && exit 0
diff "$abs_top_srcdir/doc/ops.md" "$made" | head -20
echo 'doc/ops.md is out of date: make update-ops-reference'
exit 1
