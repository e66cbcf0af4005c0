#!/bin/sh
# ascgrad stats: numbers from files; answers of another implementation where its cases are there.
. "$abs_top_srcdir/tests/program.sh"

printf '1\n2.5\n3\n4\n' >a
printf '1\n2\n3.5\n3\n' >b
status 0 "$ASCGRAD" stats pair a b
has out '^difference  *0.25$'
has out '^p_randomization  *0.75$'
status 0 "$ASCGRAD" stats pair a b --json --resamples 500 --seed 3
has out '"n": 4, "mean_a": 2.625, "mean_b": 2.375, "difference": 0.25, "ci_low": '
mv out one
status 0 "$ASCGRAD" stats pair a b --json --resamples 500 --seed 3 --threads 3
same out one
status 0 "$ASCGRAD" stats pair a a --json
has out '"cohen_dz": null'
printf '1\n1\n0\n1\n0\n' >r
printf '1\n0\n0\n0\n1\n' >q
status 0 "$ASCGRAD" stats mcnemar r q --json
has out '^{"n": 5, "both": 1, "only_a": 2, "only_b": 1, "neither": 1, "chi2": null, "p": 1.0}$'
status 3 "$ASCGRAD" stats mcnemar r a
has err "^ascgrad stats: a: line 2: got '2.5', expected 0 or 1: whether the system is right$"
printf '0.9 1\n0.6 0\n' >c
status 0 "$ASCGRAD" stats calibration c --bins 10 --json
has out '"ece": 0.34999'
printf 'noun x\nverb y\nnoun x\n' >l
status 0 "$ASCGRAD" stats clusters l
has out '^nmi  *1$'
printf '0.01\n0.04\n' >p
status 0 "$ASCGRAD" stats holm p --json
has out '"adjusted": \[0.02'

status 2 "$ASCGRAD" stats pare a b
has err "did you mean 'pair'"
status 2 "$ASCGRAD" stats pair a b --bins 10
has err '^ascgrad stats: --bins is for calibration'
status 2 "$ASCGRAD" stats pair a
has err 'a FILE for each system is missing'
status 3 "$ASCGRAD" stats pair a none
has err 'none: '
printf '1\nx\n' >bad
status 3 "$ASCGRAD" stats pair a bad
has err "^ascgrad stats: bad: line 2: got 'x', expected one number$"
printf '1\n\n' >bad
status 3 "$ASCGRAD" stats pair bad a
has err "bad: line 2: got '', expected one number"
printf '1\nnan\n3\n4\n' >bad
status 3 "$ASCGRAD" stats pair bad a
has err "^ascgrad stats: bad: line 2: got 'nan', expected one number$"
status 3 "$ASCGRAD" stats pair /dev/null a
has err '^ascgrad stats: /dev/null: is empty, expected one number a line$'
printf '1\n' >short
status 3 "$ASCGRAD" stats pair a short
has err 'a has 4 numbers and short has 1, expected as many'
printf '0.5 2\n' >bad
status 3 "$ASCGRAD" stats calibration bad
has err "bad: line 1: got '0.5 2', expected a confidence from 0 to 1, and 0 or 1"
printf '0.9, 1\n0.6 ,0\r\n\t0.6\t0 \n' >spaced
status 0 "$ASCGRAD" stats calibration spaced --json
has out '"n": 3'
for cells in '0.9,,1' ',0.8,0' '0.8,0,' '0.8' '0.8,0,1'; do
    printf '%s\n' "$cells" >bad
    status 3 "$ASCGRAD" stats calibration bad
    has err "bad: line 1: got '$cells', expected a confidence"
done
printf '1.5\n' >bad
status 3 "$ASCGRAD" stats holm bad
has err "^ascgrad stats: bad: line 1: got '1.5', expected a p value from 0 to 1$"

cases=${ASCGRAD_CASES:-}/statistics.json
python=$(command -v python3) || python=
if [ -f "$cases" ] && [ -n "$python" ]; then
    status 0 "$python" "$abs_top_srcdir/tests/cli/stats_cases.py" "$cases"
else
    echo 'skipped in part: ASCGRAD_CASES with statistics.json, and python3'
fi
exit $failed
