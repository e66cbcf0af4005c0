#!/bin/sh
# Every experiment of experiments/ is one: at scale tiny all settings of all its runs are right, and it has the other
# scales; one is run.
. "$abs_top_srcdir/tests/program.sh"

for file in "$abs_top_srcdir"/experiments/*.json; do
    status 0 "$ASCGRAD" experiment run "$file" --scale tiny --dry-run
    has out '^[0-9][0-9]* runs'
    for scale in tiny small; do
        has "$file" "^    \"$scale\": {"
    done
    grep -q "experiments/$(basename "$file")" "$abs_top_srcdir/experiments/Makefile.inc" || fail "$file: is not packed"
    grep -q "\"name\": \"$(basename "$file" .json)\"" "$file" || fail "$file: its name is not the file's"
done

status 0 "$ASCGRAD" experiment run "$abs_top_srcdir/experiments/builtin.json" --scale tiny --set steps=2 --set dim=8 \
    --set heads=2 --set data=builtin:2000 --set eval_every=2
has out '^builtin-tiny: 18 runs: 18 done$'
exit $failed
