#!/bin/sh
# Experiments whose workers and runs are killed fifty times, and four workers on one folder: the models and the table of
# one that was left alone.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/cli/experiment_runs.sh"
sed -i 's/"seeds": \[1\]/"seeds": [1, 2, 3, 5, 7]/; s/"steps": 12/"steps": 400/; s/"steps": 8/"steps": 200/' first.json

status 0 "$ASCGRAD" experiment run first.json --out whole --jobs 2
kill_often killed 50
same_experiment whole killed
share shared 4
same_experiment whole shared
exit $failed
