#!/bin/sh
# ascgrad experiment: settings are checked first; what is killed goes on; workers share a folder; what fails is told.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/cli/experiment_runs.sh"

# ---- wrong files: found before anything is trained, with the system and the key ----

# refused WANTED PATTERN JSON
refused() {
    echo "$3" >wrong.json
    status "$1" "$ASCGRAD" experiment run wrong.json --out wrong
    has err "^ascgrad experiment run: $2"
    [ ! -e wrong ] || fail 'an experiment that was refused has a folder'
}
start='{"common": {"preset": "tiny", "data": "builtin:3000"}, "systems": {"t": {}, "g": {"model": "grassmann"'
refused 2 'system g: heads is a setting of transformer' "$start, \"heads\": 2}}}"
refused 2 "wrong.json: system g: unknown setting 'rr'" "$start, \"rr\": 2}}}"
refused 2 'system t: run t-dim33-1: heads is 2, expected a divisor' "$start}}, \"grid\": {\"d-model\": [32, 33]}}"
refused 2 "wrong.json: scale tiny: common: lr: got 'x', expected a number" \
    "$start}}, \"scales\": {\"tiny\": {\"common\": {\"lr\": \"x\"}}}}"
refused 2 "wrong.json: unknown key 'seed'; did you mean 'seeds'" "$start}}, \"seed\": [1]}"
refused 2 'wrong.json: seeds: got \[1,1\], expected a list of different whole numbers' "$start}}, \"seeds\": [1, 1]}"
refused 2 "wrong.json: more_seeds: there is no system 'a'" "$start}}, \"more_seeds\": {\"a\": [7]}}"
refused 2 'wrong.json: more_seeds: t: got \[7,7\], expected a list of different' \
    "$start}}, \"more_seeds\": {\"t\": [7, 7]}}"
refused 2 'wrong.json: more_seeds: g: got 3, expected a list' "$start}}, \"more_seeds\": {\"t\": [7], \"g\": 3}}"
refused 2 'wrong.json: scale tiny: more_seeds: t: 11 is a seed of all systems' \
    "$start}}, \"more_seeds\": {\"t\": [11]}, \"scales\": {\"tiny\": {\"seeds\": [11]}}}"
refused 2 'wrong.json: more_seeds: t: 1 is a seed of all systems' \
    "$start}}, \"seeds\": [1], \"more_seeds\": {\"t\": [1]}}"
refused 2 'wrong.json: tune: grid: is missing' "$start}}, \"tune\": {\"steps\": 3}}"
refused 2 'wrong.json: systems: u: got null, expected its settings' "$start}, \"u\": null}}"
refused 2 'wrong.json: grid: lr: got null, expected a list of values' "$start}}, \"grid\": {\"lr\": null}}"
refused 2 'wrong.json: tune: grid: lr: got null, expected a list of values' \
    "$start}}, \"tune\": {\"grid\": {\"lr\": null}}}"
refused 2 'wrong.json: lr: is in the grid, and cannot be tuned' \
    "$start}}, \"grid\": {\"lr\": [1]}, \"tune\": {\"grid\": {\"lr\": [1]}}}"
refused 2 'wrong.json: systems: t: lr: the grid says it for all systems' \
    '{"systems": {"t": {"lr": 0.1}}, "grid": {"lr": [1]}}'
refused 2 "wrong.json: systems: t: epochs: the tuning's grid says it for all systems" \
    '{"systems": {"t": {"epochs": 1}}, "tune": {"grid": {"steps": [1]}}}'
refused 2 'wrong.json: grid: epochs and steps: expected one of them' \
    "$start}}, \"grid\": {\"epochs\": [1], \"steps\": [2]}}"
refused 2 'wrong.json: tune: grid: steps and epochs: expected one of them' \
    "$start}}, \"tune\": {\"grid\": {\"steps\": [1], \"epochs\": [2]}}}"
refused 2 'wrong.json: grid: epochs and steps: expected one of them' \
    "$start}}, \"grid\": {\"epochs\": [1]}, \"tune\": {\"grid\": {\"steps\": [2]}}}"
refused 2 'system t: run t-heads4-1: with what tune-t-dim18-1 tries: heads is 4, expected a divisor of the width 18' \
    '{"common": {"preset": "tiny", "data": "builtin:3000"}, "systems": {"t": {}}, "grid": {"heads": [2, 4]},
      "tune": {"grid": {"dim": [16, 18]}}}'
refused 2 'wrong.json: grid: lr: values 1 and 3 are the same' "$start}}, \"grid\": {\"lr\": [0.01, 0.02, \"1e-2\"]}}"
refused 2 'wrong.json: common: d_model: is there twice' '{"common": {"dim": 8, "d_model": 8}, "systems": {"t": {}}}'
for wrong in '"figurs": []' '"figures": "cost"' '"figures": [0]' '"figures": ["1"]' '"split": "vaild"' '"layer": -1' \
    '"tokens": 0' '"lengths": [0]' '"lengths": ["a"]' '"metric": 1' '"baselines": ["x"]' \
    '"targets": 3' '"targets": [0]'; do
    refused 2 'report: ' "$start}}, \"report\": {$wrong}}"
done
refused 2 'report: figures: got \["zz"\], expected a list of ' "$start}}, \"report\": {\"figures\": [\"zz\"]}}"
refused 2 'wrong.json: seeds: got 100000, expected at most 10000' "$start}}, \"seeds\": [$(seq -s , 1 100000)]}"
refused 2 'wrong.json: systems: got one without a name' '{"common": {"preset": "tiny"}, "systems": {"": {}}}'
refused 2 'wrong.json: scale: expected none' "$start}}, \"scale\": \"tiny\", \"scales\": {\"tiny\": {}}}"
refused 2 'wrong.json: scale: expected none' "$start}}, \"scale\": {}}"
many=$(seq -s , 1 1001)
refused 2 'wrong.json: systems, grid and seeds come to 10020010 runs' \
    "$start}}, \"seeds\": [1, 2, 3, 4, 5], \"grid\": {\"batch\": [$many], \"block\": [$many]}}"
refused 2 'system g: batch_schedule: 16 sequences of 32 tokens from step 5 on, expected no more tokens than' \
    "$start, \"batch_schedule\": \"0:1,5:16\"}}}"
refused 2 "system g: param_groups: .*no parameter has a name like 'nothing'" \
    "$start, \"param_groups\": \"nothing:lr=1\"}}}"
refused 2 'system g: shards is 3, expected a divisor of batch' "$start, \"shards\": 3}}}"
refused 2 'system g: fall is for schedule wsd' "$start, \"fall\": 0.5}}}"
refused 2 'system g: dropout_schedule: got 2, expected a dropout from 0' "$start, \"dropout_schedule\": \"0:2\"}}}"
refused 2 'system g: epochs and steps are both 0' "$start, \"steps\": 0, \"epochs\": 0}}}"
refused 2 'system t: data is missing' '{"systems": {"t": {}}}'
refused 3 'system t: nowhere: can.t open' '{"common": {"data": "nowhere"}, "systems": {"t": {}}}'
refused 3 'wrong.json: line 2: ' '{"systems"'
mkdir strange && touch strange/file
status 2 "$ASCGRAD" experiment run first.json --out strange
has err 'strange: holds something that is no experiment'
status 3 "$ASCGRAD" experiment status strange
status 2 "$ASCGRAD" experiment run first.json --scale tine
has err '^ascgrad experiment run: --scale: there is no .tine., expected one of full, small'

for pair in lr=1 block=8 model=ascender; do
    status 2 "$ASCGRAD" experiment run first.json --dry-run --set "$pair"
    has err 'the experiment.s grid, its tuning or every system says it$'
done
status 0 "$ASCGRAD" experiment run first.json --dry-run --set preset=quickstart
status 2 "$ASCGRAD" experiment run first.json --dry-run --set preset=quickstrat

# ---- the plan ----
status 0 "$ASCGRAD" experiment run first.json --dry-run --scale small --json
json '[r["name"] for r in d["runs"]] == ["t-block16-1", "g-block16-1"] and d["scale"] == "small"'
status 0 "$ASCGRAD" experiment run first.json --dry-run
has out '^4 runs, and 4 of tuning before them$'
[ ! -e first ] || fail 'a dry run has made a folder'

# ---- all of it at once: the same as by hand, and not again ----
status 0 "$ASCGRAD" experiment run first.json --out whole --jobs 2
has out '^whole: 8 runs: 8 done$'
lines err 10
has err '`ascgrad experiment report whole`'
lr=$(sed -n 's/.*"lr": //p' whole/tune/g.json)
"$ASCGRAD" train --preset tiny --data builtin:2000 --steps 12 --layers 1 --dim 16 --eval-every 6 --model grassmann \
    --lr "$lr" --block 16 --seed 1 --checkpoint-every 3 --out hand >out 2>err
same hand/model.safetensors whole/runs/g-block16-1/model.safetensors
status 0 "$ASCGRAD" experiment run whole --json
json 'd["counts"]["done"] == 8 and d["trained"] == 0'
status 0 "$ASCGRAD" experiment status whole --json
run=$(find whole/runs -name config.json | head -n 1)
cp "$run" kept.config
printf '{' >"$run"
status 3 "$ASCGRAD" experiment status whole
has err '^ascgrad experiment status: whole/runs/.*config.json: '
status 3 "$ASCGRAD" experiment status whole --json
has err '^ascgrad experiment status: whole/runs/.*config.json: '
cp kept.config "$run"
status 0 "$ASCGRAD" experiment status whole --json
json 'len(d["runs"]) == 8 and d["left_s"] == 0 and 0 < d["tuning_share"] < 1 and
    all(t["tried"] == 2 and t["chosen"]["lr"] in (0.003, 0.01) for t in d["tuning"])'
ls whole/claims >left
lines left 0

# ---- what is said of threads is what the runs have ----
# threads EXPECTED COMMON OWN
threads() {
    cat >threads.json <<END
{"name": "threads", "common": {"preset": "tiny", "data": "builtin:2000", "steps": 1, "layers": 1, "dim": 16$2},
 "systems": {"g": {"model": "grassmann"$3}, "c": {"model": "conv"}}}
END
    rm -rf threads
    status 0 "$ASCGRAD" experiment run threads.json --threads 2
    has err "^ascgrad experiment run: threads: .*; 1 at a time, $1 each; "
}
threads '2 threads' '' ''
threads '1 thread' ', "threads": 1' ''
threads '1 to 2 threads' '' ', "threads": "1"'

# ---- its report says how it was tuned, and what is not yet ----
cp -r whole half
rm -r half/done/tune-g-lr0.01-1.json half/tune/g-lr0.01-1 half/tune/g.json
stand_in_plotter
status 0 "$ASCGRAD" experiment report half
has half/report.md '^Tuned for each system, by what makes a model the best (best\\*_by) on the validation split:'
has half/report.md '^- \*\*t\*\*: lr 0\.[0-9]*, the best of 2 tried'
[ "$(grep -c '^t,lr 0\.[0-9]*,[0-9.]*,[0-9.]*,' half/tables/tuning.csv)" -eq 2 ] || fail 'what was tried is not told'
has half/tables/tuning.csv '^t,.*,yes$'
has half/tables/tuning.csv '^g,lr 0.01,,,$'
has half/report.md '^- \*\*g\*\*: not tuned yet, 1 of 2 done'

# ---- a run that failed before it had settings waits for its system's tuning, too ----
cp -r whole again
rm -r again/runs/g-block16-1 again/done/g-block16-1.json again/tune/g-lr"$lr"-1 again/done/tune-g-lr"$lr"-1.json
echo 'ascgrad train: disk full' >again/failed/g-block16-1.txt
status 0 "$ASCGRAD" experiment run again --jobs 2
has again/runs/g-block16-1/config.json "\"lr\": $lr,"

# ---- a limit of time is the run's, however often it goes on ----
cat >limited.json <<'END'
{"name": "limited", "common": {"preset": "tiny", "data": "builtin:3000", "steps": 100000, "minutes": "4s",
 "log_every": 1}, "systems": {"t": {}}, "seeds": [1]}
END
"$ASCGRAD" experiment run limited.json >out 2>err &
worker=$!
for _ in $(seq 100); do
    [ -s limited/runs/t-1/metrics.jsonl ] && break
    sleep 0.1
done
kill -INT $worker
wait $worker
got=$?
[ $got -eq 130 ] || fail "an interrupted worker's exit status is $got"
"$ASCGRAD" experiment status limited >status.out
has status.out 'about 0:0[0-9] left'
status 0 timeout 60 "$ASCGRAD" experiment run limited
has limited/logs/t-1.log 'ascgrad train --out [^ ]*limited/runs/t-1 --resume --minutes 0\.0[0-9]* '

# ---- another experiment, and a larger one ----
cat >order.json <<'END'
{"name": "order", "common": {"preset": "tiny", "data": "builtin:2000", "steps": 2, "layers": 1, "dim": 16},
 "systems": {"t": {}}, "seeds": [1], "grid": {"block": [16], "lr": [0.01]}}
END
status 0 "$ASCGRAD" experiment run order.json --set warmup=0 --set weight_decay=0.0033333333333333335
status 0 "$ASCGRAD" experiment run order.json --set warmup=0 --set weight_decay=0.0033333333333333335
sed 's/"block": \[16\], "lr": \[0.01\]/"lr": [0.01], "block": [16]/' order.json >swapped.json
status 2 "$ASCGRAD" experiment run swapped.json --set warmup=0 --set weight_decay=0.0033333333333333335
has err "order: holds another experiment: there the grid, with the order of its keys, is {.block"
sed 's/"steps": 12/"steps": 13/' first.json >other.json
status 2 "$ASCGRAD" experiment run other.json --out whole
has err 'whole: holds another experiment: there common: steps is 12, here 13'
status 2 "$ASCGRAD" experiment run first.json --out whole --scale small
has err 'whole: holds another experiment: there scale is "", here "small"'
sed 's/"seeds": \[1\]/"seeds": [1, 2]/' first.json >other.json
cp -r whole larger
status 0 "$ASCGRAD" experiment run other.json --out larger --json
json 'd["counts"]["done"] == 12 and d["trained"] == 4'
status 2 "$ASCGRAD" experiment run first.json --out larger
has err 'larger: holds another experiment: there seeds is \[1,2\], here \[1\]'
sed 's/"seeds": \[1, 2\]/&, "more_seeds": {"t": [5, 7], "g": [5]}/' other.json >more.json
status 0 "$ASCGRAD" experiment run more.json --out larger --json
json 'd["counts"]["done"] == 18 and d["trained"] == 6'
[ -d larger/runs/t-block16-7 ] && [ ! -e larger/runs/g-block16-7 ] || fail 'more_seeds: not the system that has them'
status 2 "$ASCGRAD" experiment run other.json --out larger
has err 'larger: holds another experiment: there more_seeds: t is \[5,7\], here missing'
sed 's/"seeds": \[1, 2\]/"seeds": [1, 2, 5], "more_seeds": {"t": [7]}/' other.json >more.json
status 0 "$ASCGRAD" experiment run more.json --out larger --json
json 'd["counts"]["done"] == 18 and d["trained"] == 0'
sed 's/"scales": {/&"less": {"systems": {"t": null}}, /' more.json >less.json
status 0 "$ASCGRAD" experiment run less.json --scale less --dry-run

# ---- killed, the worker, the run, or both; and interrupted ----
kill_often killed 5
same_experiment whole killed
sed 's/"steps": [0-9]*/"steps": 1000000000/' first.json >endless.json
"$ASCGRAD" experiment run endless.json --out stopped >out 2>err &
until [ -e stopped/logs/tune-t-lr0.003-1.log ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -INT $!
wait $!
[ $? -eq 130 ] || { fail 'interrupted: exit status is not 130'; cat err; }
has err 'stopped; `ascgrad experiment run stopped` goes on'

# ---- a run that is done, and whose folder is removed, is made anew, and not done before it is ----
rm -rf stopped/tune/t-lr0.003-1
echo '{"end": "done"}' >stopped/done/tune-t-lr0.003-1.json
"$ASCGRAD" experiment run stopped >out 2>err &
until [ -s stopped/tune/t-lr0.003-1/metrics.jsonl ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -INT $!
wait $!
status 0 "$ASCGRAD" experiment status stopped
has out 't-lr0.003-1  *interrupted'

# ---- several workers: no run twice ----
share shared 2
same_experiment whole shared

# ---- claims of others: of another host they count for a minute ----
rm shared/done/g-block16-1.json shared/done/t-block8-1.json
echo '{"host": "far", "pid": 7, "id": "1"}' >shared/claims/g-block16-1
status 0 "$ASCGRAD" experiment run shared
has out '7 done, 1 running'
has err 'nothing is left to claim: others train what is not done'
touch -t 202001010000 shared/claims/g-block16-1
status 0 "$ASCGRAD" experiment run shared
same_experiment whole shared

# ---- a run that fails: the others go on; it is told, and tried again ----
mkdir -p failing/runs/g-block16-1
touch failing/runs/g-block16-1/other failing/experiment.json
cp whole/experiment.json failing
status 1 "$ASCGRAD" experiment run first.json --out failing
has out '^failing: 8 runs: 7 done, 1 failed$'
has err 'g-block16-1: failed'
has failing/failed/g-block16-1.txt 'exists and is no run, '
status 0 "$ASCGRAD" experiment status failing
has out '^g-block16-1  *failed'
has out 'exists and is no run, '
rm -r failing/runs/g-block16-1
status 0 "$ASCGRAD" experiment run failing
has out '^failing: 8 runs: 8 done$'

# ---- a tuned value whose loss is not finite is a value that is not chosen ----
echo '{"common": {"preset": "tiny", "data": "builtin:2000", "steps": 12, "clip": 0, "warmup": 0,
    "schedule": "constant"}, "systems": {"t": {}}, "seeds": [1],
    "tune": {"grid": {"weight_decay": [0.1, 1000], "lr": [0.01, 1000]}}}' >wild.json
status 0 "$ASCGRAD" experiment run wild.json --out wild
status 0 "$ASCGRAD" experiment status wild --json
json 'd["tuning"][0]["failed"] >= 1 and d["tuning"][0]["chosen"]["lr"] == 0.01'
stand_in_plotter
status 0 "$ASCGRAD" experiment report wild
has wild/tables/tuning.csv '^t,[^0-9]*0\.1, lr 1000",,,$' # no number of before it diverged
sed 's/0.01, 1000/900, 1000/' wild.json >wilder.json
for again in 1 2; do
    status 1 "$ASCGRAD" experiment run wilder.json --out wilder
    has err '^ascgrad experiment run: t: of what was tuned no value has a finite loss: it has no runs$'
    lacks err 'others train'
done
status 0 "$ASCGRAD" experiment status wilder
has out '^time: .* spent; tuning is 100 % of the whole$'
status 0 "$ASCGRAD" experiment status wilder --json
json 'd["left_s"] == 0 and d["tuning_share"] == 1 and d["counts"]["waiting"] == 1' # for nothing: it never begins

# ---- what would have no say is refused; null is what is not given ----
base='"common": {"preset": "tiny", "data": "builtin:2000"}, "seeds": [1]'
echo "{$base, \"systems\": {\"t\": {\"epochs\": 1}}}" >epochs.json
status 2 "$ASCGRAD" experiment run epochs.json --set steps=2 --dry-run
has err "steps: the experiment's grid, its tuning or every system says it$"
echo "{$base, \"systems\": {\"t\": {}}, \"tune\": {\"grid\": {\"epochs\": [1, 2]}, \"steps\": 2}}" >both.json
status 2 "$ASCGRAD" experiment run both.json --dry-run
has err 'tune: steps: its grid has epochs, which says how long its runs are$'
sed 's/\[1, 2\]}, "steps": 2/[1, 2]}, "steps": null, "seed": null/' both.json >null.json
status 0 "$ASCGRAD" experiment run null.json --dry-run
has out '^tune-t-epochs2-1$'

# a setting is checked with the values that are tried, and never without one
echo "{$base, \"systems\": {\"t\": {\"heads\": 6}},
    \"tune\": {\"grid\": {\"dim\": [48, 96]}, \"steps\": 2}}" >tried.json
status 0 "$ASCGRAD" experiment run tried.json --dry-run

# null in a scale takes the common value from a system of the file, as from one of the scale's own
cat >null.json <<'END'
{"common": {"preset": "tiny", "data": "builtin:2000", "lr": 0.5, "steps": 1}, "seeds": [1],
 "systems": {"a": {}, "b": {"lr": null}, "d": {"lr": 0.25}},
 "scales": {"s": {"systems": {"a": {"lr": null}, "b": {}, "c": {"lr": null}, "d": {"lr": null}}}}}
END
status 0 "$ASCGRAD" experiment run null.json --scale s --out nulls --threads 1
for system in a b c; do
    lacks nulls/settings/$system-1.json '"lr"'
done
has nulls/settings/d-1.json '"lr": *0.5'

# numbers as texts are numbers: to the tuning, in names, and beside the same experiment with numbers
echo "{\"name\": \"texts\", $base, \"systems\": {\"t\": {\"steps\": \"1e0\"}},
    \"tune\": {\"grid\": {\"lr\": [\"1e-3\", \"2e-3\", \"1e-2\"]}, \"steps\": 1}}" >texts.json
status 0 "$ASCGRAD" experiment run texts.json --out texts --threads 1
[ -d texts/tune/t-lr0.002-1 ] || fail 'a text of a number names a run in its own way'
status 0 "$ASCGRAD" experiment status texts
has out 'tuned t: lr 0.0.*; at the edge of what was tried'
sed 's/"\([0-9e-]*\)"/\1/g' texts.json >numbers.json
status 0 "$ASCGRAD" experiment run numbers.json --out texts --json
json 'd["trained"] == 0'

# a run of the tuning that can't be read keeps its system waiting, and no other from being told
echo '{' >texts/tune/t-lr0.002-1/config.json
status 3 "$ASCGRAD" experiment report texts
has texts/report.md 'not read: texts/tune/t-lr0'
has texts/settings/t-1.json '"lr": *0.0'
cp texts/settings/t-1.json before
rm texts/done/t-1.json # one that was interrupted waits, too, and keeps the settings that were chosen
status 1 "$ASCGRAD" experiment run texts
same before texts/settings/t-1.json
status 3 "$ASCGRAD" experiment status texts --json
json 'd["tuning"][0]["unread"] == 1 and d["tuning"][0]["chosen"] == {}'
rm -r texts/runs/t-1
status 3 "$ASCGRAD" experiment status texts
has out "^tuned t: 3 of 3 done, 1 can't be read: nothing is chosen before"
has out '^t-1 .*waiting'
has out '^time: .* left for one run at a time'
status 1 "$ASCGRAD" experiment run texts
has err "t: 1 of the 3 runs of its tuning can't be read, as experiment status says"

# ---- "full" is the file as it is ----
echo "{$base, \"systems\": {\"t\": {\"steps\": 2}}}" >plain.json
status 0 "$ASCGRAD" experiment run plain.json --out plain
status 0 "$ASCGRAD" experiment run plain.json --scale full --out plain

# ---- why a run failed: its message, and not what it advises ----
echo '{"common": {"preset": "tiny", "data": "builtin:2000", "steps": 12, "clip": 0, "warmup": 0, "lr": 1000,
    "weight_decay": 1000, "schedule": "constant"}, "systems": {"t": {}}, "seeds": [1]}' >loud.json
status 1 "$ASCGRAD" experiment run loud.json --out "it's loud"
has err '^    ascgrad train: .*step [0-9]*: '
lacks "it's loud/logs/t-1.log" 'what next'
has err "; \`ascgrad experiment run 'it'\\\\''s loud'\` tries it again\$"
has "it's loud/logs/t-1.log" "^ascgrad train --out 'it'\\\\''s loud/runs/t-1' "
status 0 "$ASCGRAD" experiment run plain.json --out=-plain
has err '^ascgrad experiment run: `ascgrad experiment status ./-plain` has all runs, '
status 0 "$ASCGRAD" experiment status ./-plain

# ---- data that changed between two seeds: refused before anything is trained ----
mkdir text
seq 3000 >text/train.txt
seq 300 >text/valid.txt
seq 200 >text/test.txt
echo '{"name": "moved", "common": {"preset": "tiny", "data": "text", "tokenizer": "byte", "steps": 2},
    "systems": {"t": {}}, "seeds": [1]}' >moved.json
status 0 "$ASCGRAD" experiment run moved.json --out moved
status 0 "$ASCGRAD" experiment report moved
seq 2 220 >text/test.txt
sed 's/"seeds": \[1\]/"seeds": [1, 2]/' moved.json >more.json
status 1 "$ASCGRAD" experiment run more.json --out moved
was='split has changed: checksum [0-9a-f]*, but moved/runs/t-1 was made with [0-9a-f]*$'
has err "^    ascgrad train: the test $was"
[ ! -e moved/runs/t-2 ] || fail 'a run on other data was begun'
seq 200 >text/test.txt
seq 2 3000 >text/train.txt
status 1 "$ASCGRAD" experiment run more.json --out moved
has err "^    ascgrad train: the train $was"

# trained all the same, by hand: all that looks at both says so
command=$(grep -h '^ascgrad train --out' moved/logs/t-2.log | sed 's/ --data-of [^ ]*//; s/^ascgrad //')
# shellcheck disable=SC2086
status 0 "$ASCGRAD" $command
status 0 "$ASCGRAD" runs moved/runs
has out 'data_checksum.train'
echo '{"end": "done"}' >moved/done/t-2.json
changed='moved/runs/t-1 and moved/runs/t-2 name the same data, but the training text has changed between them: '
status 0 "$ASCGRAD" experiment report moved
has err "^ascgrad experiment report: $changed"
has moved/report.md "^Not all were trained on the same data: $changed"
status 0 "$ASCGRAD" compare moved/runs/t-1 moved/runs/t-2 --data text --split valid
has err "^ascgrad compare: $changed"

# the test split of each: the report evaluates none of them on the other's
seq 2 220 >text/test.txt
rm -r moved/runs/t-2
seq 3000 >text/train.txt
# shellcheck disable=SC2086
status 0 "$ASCGRAD" $command
status 3 "$ASCGRAD" experiment report moved
has err 'moved/runs/t-2: its test split has the checksum [0-9a-f]*, and that of another seed [0-9a-f]*: the data c'

# ---- what failed has its settings in the report, as they were planned ----
echo '{"common": {"preset": "tiny", "data": "builtin:2000", "steps": 2}, "systems": {"t": {"lr": 0.001},
    "bad": {"lr": 1000, "clip": 0, "warmup": 0, "weight_decay": 1000, "steps": 12}}, "seeds": [1]}' >planned.json
status 1 "$ASCGRAD" experiment run planned.json --out planned
status 0 "$ASCGRAD" experiment report planned
has planned/tables/settings-differing.csv '^lr,0.001,1000'
lacks planned/tables/settings-common.csv '^lr,'
has planned/tables/settings-common.csv '^data_checksum.train,'
exit $failed
