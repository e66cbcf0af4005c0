#!/bin/sh
# doc/settings.md is what the tables of settings say now.
set -u
made=$(mktemp) || exit 99
trap 'rm -f "$made"' EXIT
sh "$abs_top_srcdir/doc/settings_reference.sh" "$ASCGRAD" >"$made" || exit 1
for line in '^## train' '^| `d_model` | whole number, 1 to' '^| `offsets` | list of whole numbers.*\[layer\]'; do
    grep -q "$line" "$made" || { echo "no line like $line"; exit 1; }
done
cmp -s "$made" "$abs_top_srcdir/doc/settings.md" && exit 0
diff "$abs_top_srcdir/doc/settings.md" "$made" | head -20
echo 'doc/settings.md is out of date: make update-settings-reference'
exit 1
