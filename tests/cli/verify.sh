#!/bin/sh
# ascgrad verify: what is whole, what was changed, what is missing; it says which file, and changes nothing.
. "$abs_top_srcdir/tests/program.sh"

# shellcheck disable=SC2086  # a list of options
status 0 "$ASCGRAD" train $tiny --layers 1 --steps 6 --eval-every 3 --threads 1 --out run
cp -r run saved

status 0 "$ASCGRAD" verify run
lines out 6
lacks out FAIL
has out '^ok    run/checkpoint.safetensors: [0-9]* tensors, [0-9]* bytes$'
status 0 "$ASCGRAD" verify run/model.safetensors --json
json 'd["ok"] and d["problems"] == 0 and len(d["files"]) == 1 and d["files"][0]["checksum"]'
unchecked saved/model.safetensors >foreign.safetensors
status 0 "$ASCGRAD" verify foreign.safetensors
has out '^ok    foreign.safetensors: .*, without checksum$'

# wrong PATTERN: status 1 and one line of FAIL that matches; all is as it was, and whole again after that.
wrong() {
    rm -rf before && cp -r run before
    status 1 "$ASCGRAD" verify run
    has out "^FAIL  $1"
    [ "$(grep -c '^FAIL' out)" -eq 1 ] || { fail 'not one problem:'; cat out; }
    status 1 "$ASCGRAD" verify run --json
    json 'not d["ok"] and d["problems"] == 1 and [f["problem"] for f in d["files"] if not f["ok"]][0]'
    diff -r before run || fail 'verify has changed the run'
    rm -rf run && cp -r saved run
}

# a bit of each tensor file, in the middle of its tensors
for name in model checkpoint; do
    at=$(($(wc -c <run/$name.safetensors) * 3 / 4))
    byte=$(od -An -tu1 -j $at -N1 run/$name.safetensors | tr -d ' ')
    # shellcheck disable=SC2059  # an octal escape
    printf "\\$(printf %03o $((byte ^ 4)))" | dd of=run/$name.safetensors bs=1 seek=$at conv=notrunc 2>/dev/null
    wrong "run/$name.safetensors: tensor '[a-z0-9._]*': is damaged"
    LC_ALL=C sed -i 's/"step":"6"/"step":"3"/' run/$name.safetensors
    wrong "run/$name.safetensors: is damaged: its checksum is"
    head -c 5000 saved/$name.safetensors >run/$name.safetensors
    wrong "run/$name.safetensors: "
done
sed -i 's/"seed": 1/"seed": 2/' run/config.json
wrong 'run/config.json: seed is 2, but the run was trained with 1'
sed -i 's/"seed": 1/"sead": 1/' run/config.json
wrong "run/config.json: unknown setting 'sead'"
echo zzz >>run/vocab.txt
wrong 'run/vocab.txt: has changed: checksum'
head -c 100 saved/metrics.jsonl >run/metrics.jsonl
wrong 'run/metrics.jsonl: has fewer than'
sed -i '1s/.*/no object/' run/metrics.jsonl
head -c 9000 /dev/zero | tr '\0' ' ' >>run/metrics.jsonl
wrong 'run/metrics.jsonl: line 1'

echo garbage >run/summary.json
wrong 'run/summary.json: line 1'
# shellcheck disable=SC2086  # a list of options
status 0 "$ASCGRAD" train $tiny --layers 1 --model linear --steps 6 --eval-every 3 --threads 1 --out other
cp other/model.safetensors run
wrong 'run/model.safetensors: is of another model than config.json describes: its mix differs'

# missing
rm run/vocab.txt
wrong 'run/vocab.txt: is missing'
rm run/checkpoint.safetensors
wrong 'run/checkpoint.safetensors: is missing: without it the run can.t go on'
rm run/model.safetensors
wrong 'run/model.safetensors: is missing: the best model, of step [36]'
mv run/model.safetensors run/model.next.safetensors # as a writer that was killed leaves it
status 0 "$ASCGRAD" verify run
cp other/model.safetensors run/model.next.safetensors
status 1 "$ASCGRAD" verify run
has out '^FAIL  run/model.safetensors: is missing: the best model, of step [36]'
rm -rf run && cp -r saved run
mkdir empty
status 3 "$ASCGRAD" verify empty
has err '^ascgrad verify: empty: no run there'
status 3 "$ASCGRAD" verify nowhere
status 2 "$ASCGRAD" verify
rm run/metrics.jsonl && mkfifo run/metrics.jsonl
status 3 timeout 120 "$ASCGRAD" verify run
has err '^ascgrad verify: run/metrics.jsonl: is a pipe'

# another's model in the place of the run's, of its kind, too; lines and a plan that the checkpoint does not go with
rm run/metrics.jsonl && cp saved/metrics.jsonl run
# shellcheck disable=SC2086  # a list of options
status 0 "$ASCGRAD" train $tiny --layers 1 --seed 2 --steps 2 --eval-every 2 --threads 1 --out twin
cp twin/model.safetensors run
wrong 'run/model.safetensors: is not the run.s best model, which is of step [36]'
sed -i 's/"step": 6,/"step": 5,/' run/metrics.jsonl
wrong "run/metrics.jsonl: its first [0-9]* bytes don't end in a line of step 6"
sed -i '/"plan"/,/}/s/"steps": 6/"steps": 5/' run/config.json
wrong 'run/config.json: has planned 5 steps, but the checkpoint is of step 6'
rm run/metrics.jsonl
wrong 'run/metrics.jsonl: is missing: the checkpoint knows of [0-9]* bytes'
cp run/checkpoint.safetensors run/model.safetensors
wrong 'run/model.safetensors: is no model'

# a run that is over, without all of its weights
rm twin/checkpoint.safetensors twin/model.safetensors
status 1 "$ASCGRAD" verify twin
has out '^FAIL  twin/checkpoint.safetensors: is missing'
status 3 "$ASCGRAD" train --resume twin --steps 4
has err 'twin/checkpoint.safetensors is missing, as the model is that twin/summary.json knows of'
exit $failed
