#!/bin/sh
# ascgrad runs: what is listed, in which order, in how many columns; what is no run.
. "$abs_top_srcdir/tests/program.sh"
unset COLUMNS

# train NAME OPTION...
train() {
    name=$1
    shift
    # shellcheck disable=SC2086  # $tiny is a list of options
    "$ASCGRAD" train $tiny --steps 10 --eval-every 10 --layers 1 --dim 16 --out "all/$name" "$@" 2>/dev/null ||
        fail "no run $name"
}
train lr-2 --lr 1e-2
train lr-10 --lr 1e-4 --sample-every 5
train 'more/with blanks' --lr 1e-3 --tokenizer byte
train more/early --lr 1e-3 --minutes 1e-9

status 0 "$ASCGRAD" runs all
lines err 0
[ "$(awk 'NR > 1 { print $1 }' out | tr '\n' ' ')" = 'all/lr-2 all/lr-10 all/more/early all/more/with ' ] ||
    fail "not in the order of names: $(cat out)"
has out '^run  *state  *loss  *lr  *tokenizer .* steps  *tokens/s  *age$'
has out '^all/lr-2  *done  *[0-9.]*  *0.01  *word '
has out '^all/more/with blanks  *done  *[0-9.]*  *0.001  *byte '
has out '^all/more/early  *interrupted .* 0/10 '
lacks out heads
status 0 "$ASCGRAD" runs all/lr-10 all/lr-2
[ "$(awk 'NR > 1 { print $1 }' out | tr '\n' ' ')" = 'all/lr-10 all/lr-2 ' ] || fail 'not as they were named'
cp out named
(cd all && status 0 "$ASCGRAD" runs && has out '^lr-2 ' && has out '^more/early ' && exit "$failed") || failed=1

# a seed has all its digits
train seeds/a --seed 20240101
train seeds/b --seed 20240102
status 0 "$ASCGRAD" runs all/seeds
has out '^all/seeds/a .* 20240101 '
has out '^all/seeds/b .* 20240102 '
rm -r all/seeds

# sorted by a number of theirs, or by a setting; those without come last
for by in 'loss more/with' 'lr lr-10' 'tokenizer more/with' 'state more/early'; do
    status 0 "$ASCGRAD" runs --sort "${by% *}" all
    has out "^all/${by#* } "
    [ "$(awk 'NR == 2 { print $1 }' out)" = "all/${by#* }" ] || fail "--sort $by: $(cat out)"
done
touch all/lr-10/metrics.jsonl
status 0 "$ASCGRAD" runs all --sort age
[ "$(awk 'NR == 2 { print $1 }' out)" = all/lr-10 ] || fail "the newest is not first: $(cat out)"
status 0 "$ASCGRAD" runs all --sort speed
[ "$(awk 'END { print $1 }' out)" = all/more/early ] || fail "a run without a speed is not last: $(cat out)"
status 0 "$ASCGRAD" runs all --sort loss
[ "$(awk 'END { print $1 }' out)" = all/more/early ] || fail "a run without a loss is not last: $(cat out)"
status 2 "$ASCGRAD" runs all --sort los
has err "did you mean 'loss'?"
status 2 "$ASCGRAD" runs all --sort batc
has err "did you mean 'batch'?"
for key in weight-decay aux_align inner; do # the last of many, too
    status 0 "$ASCGRAD" runs all --sort $key
done

# as wide as the terminal, and no wider; what has no room is named
for width in 100 60 40; do
    COLUMNS=$width status 0 "$ASCGRAD" runs all
    sed 's/…/./g' out | awk -v width=$width 'length($0) > width { exit 1 }' || fail "wider than $width: $(cat out)"
    has out '^run  *state  *loss'
done
has out '^left out, --json has all: '
has out '^….*with blanks  *done '

status 0 "$ASCGRAD" runs all --json
lines out 1
json '[r["run"] for r in d["runs"]] == ["all/lr-2", "all/lr-10", "all/more/early", "all/more/with blanks"]'
json 'd["runs"][0]["settings"]["lr"] == 0.01 and d["runs"][0]["settings"]["d_model"] == 16'
json 'd["runs"][0]["best"]["step"] == 10 and d["runs"][2]["best"] is None and d["runs"][2]["state"] == "interrupted"'
json '{"lr", "tokenizer", "minutes", "vocab"} <= set(d["differ"]) and "seed" not in d["differ"]'
json 'd["differ"].index("sample_every") > d["differ"].index("vocab")'
json '"min_lr" not in d["differ"]' # a tenth of the other, which was not given
cp -r all/lr-2 all/low
sed -i 's/"min_lr": .*/"min_lr": 0.002,/' all/low/config.json
status 0 "$ASCGRAD" runs all --json
json '"min_lr" in d["differ"]'
rm -r all/low

# a list is shown as it is typed
cp -r all/lr-2 all/mixed
sed 's/"mix": "transformer"/"mix": ["grassmann", "transformer"]/' all/lr-2/config.json >all/mixed/config.json
status 0 "$ASCGRAD" runs all/lr-2 all/mixed
has out '^all/mixed .* grassmann,transformer '
rm -r all/mixed

# a damaged one does not hide the others; one that failed says why
cp -r all/lr-2 all/odd
echo '{' >>all/odd/metrics.jsonl
status 3 "$ASCGRAD" runs all
has err '^ascgrad runs: all/odd/metrics.jsonl: line 2: '
has out '^all/lr-2 '
lacks out 'all/odd'
rm all/odd/metrics.jsonl
status 0 "$ASCGRAD" runs all
has out '^all/odd  *done '
status 3 "$ASCGRAD" plot all/odd --csv odd.csv
has err '^ascgrad plot: all/odd: has no measurements yet'
cp all/lr-2/metrics.jsonl all/odd/
echo '{"state": "failed", "steps": 10, "reason": "no\u001b[2J room"}' >all/odd/summary.json
status 0 "$ASCGRAD" runs all
has out '^all/odd  *failed '
has out '^all/odd failed: no?\[2J room$'

mkdir none
status 0 "$ASCGRAD" runs none
lines out 0
has err 'there are no runs in none'
status 0 "$ASCGRAD" runs none --json
has out '^{"runs": \[\], "differ": \[\]}$'
status 3 "$ASCGRAD" runs nowhere
has err '^ascgrad runs: nowhere: there is no such run or file'
exit $failed
