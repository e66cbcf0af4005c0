#!/bin/sh
# doc/settings.md and ascgrad/typed_settings.h are what the tables of settings say now.
set -u
made=$(mktemp) || exit 99
trap 'rm -f "$made"' EXIT
failed=0

# made_of FILE SCRIPT LINE...: FILE is what doc/SCRIPT prints, in which there are such lines.
made_of() {
    file=$1 script=$2
    shift 2
    sh "$abs_top_srcdir/doc/$script" "$ASCGRAD" >"$made" || exit 1
    for line; do
        grep -q "$line" "$made" || { echo "$file: no line like $line"; failed=1; }
    done
    cmp -s "$made" "$abs_top_srcdir/$file" && return
    diff "$abs_top_srcdir/$file" "$made" | head -20
    echo "$file is out of date: make update-$(basename "$script" .sh | tr _ -)"
    failed=1
}

made_of doc/settings.md settings_reference.sh '^## train' '^| `d_model` | whole number, 1 to' \
    '^| `offsets` | list of whole numbers.*\[layer\]'
made_of include/ascgrad/typed_settings.h typed_settings.sh '^    int64_t d_model;' '^    asc_ints offsets;' \
    'ASC_ASCENDER_KERNEL_TAU2 }'
exit $failed
