#!/bin/sh
# A training, a resume, pairs of sentences and an experiment that are killed, or meet with a full or broken disk, at
# some of the calls that change files, by each of the faults in turn; crashes_all.sh has all of them at all calls.
. "$abs_top_srcdir/tests/cli/crash_points.sh"
for work in train resume nli experiment; do
    begin "$work"
    every=5
    [ $work = experiment ] && every=67
    i=1
    while [ "$i" -le "$calls" ]; do
        for fault in $(faults "$work"); do
            [ "$i" -le "$calls" ] && try "$work" "$fault" "$i"
            i=$((i + every))
        done
    done
done

# a new run's entry is brought to the disk, and so are those of the folders made for it
# shellcheck disable=SC2086
status 0 shimmed 0 none "$ASCGRAD" train $short --steps 1 --out new/er/run
grep -A 1 ' mkdir ' calls | sed "s,$(pwd -P),.,; s/^[0-9]* //" >synced
printf '%s\n' 'mkdir new' 'fsync .' 'mkdir new/er' 'fsync ./new' 'mkdir new/er/run' 'fsync ./new/er' >wanted
grep -v '^--' synced | diff wanted - || fail 'the entry of a new folder is not brought to the disk'
exit "$failed"
