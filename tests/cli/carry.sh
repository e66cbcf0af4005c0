#!/bin/sh
# Carried context by the program: train --carry, its resumes and threads to the bit, eval --carry, generation past the
# block, what is refused.
. "$abs_top_srcdir/tests/program.sh"
settings="--data builtin:3000 --mixing transformer,linear,recurrent,grassmann --layers 4 --heads 2 --dim 16 --block 16
    --batch 2 --accumulate 2 --positions rotary --pos-emb false --set memory=true --set r=6 --carry 20 --log-every 1
    --checkpoint-every 3 --eval-every 25"

# shellcheck disable=SC2086
train() { status 0 "$ASCGRAD" train $settings --steps 60 "$@"; }

# the same model and metrics with more threads, recomputed, and resumed within an epoch and at its end
train --threads 1 --out whole
has err 'eval whole .*--carry'
per_epoch=$(sed -n 's/.*"steps_per_epoch": \([0-9]*\).*/\1/p' whole/config.json)
train --threads 3 --recompute --out other
same_run whole other
for steps in 7 "$per_epoch"; do
    # shellcheck disable=SC2086
    status 0 "$ASCGRAD" train $settings --set schedule_steps=60 --steps "$steps" --out "part-$steps"
    status 0 "$ASCGRAD" train --resume --out "part-$steps" --steps 60
    same_run whole "part-$steps"
done

# an evaluation as in training is the run's own, another is not
valid=$(sed -n 's/.*"valid_loss": \([0-9.]*\).*/\1/p' whole/metrics.jsonl | sort -n | head -1)
status 0 "$ASCGRAD" eval whole --carry --json
carried=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' out)
has out '"carry": 20'
awk -v a="$valid" -v b="$carried" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' ||
    fail "eval --carry finds $carried, the run $valid"
cp out own
status 0 "$ASCGRAD" eval --carry 20 whole --json
cmp -s own out || fail 'eval --carry is not --carry 20'
status 0 "$ASCGRAD" eval whole --json
has err 'trained with 20 tokens carried'
lacks out '"carry"'
cmp -s own out && fail 'eval is eval --carry'
status 0 "$ASCGRAD" compare whole other --json --resamples 50
has err '^ascgrad compare: whole: each block by itself; .* trained with 20 tokens carried, and --carry '
lines err 2
json 'all(s["carry"] == 0 for s in d["systems"])'
status 0 "$ASCGRAD" compare whole other --split valid --carry --json --resamples 50
lines err 0
json 'all(s["carry"] == 20 for s in d["systems"])'
json 'abs(d["systems"][0]["loss"] - '"$carried"') < 1e-6'
status 0 "$ASCGRAD" compare whole other --split valid --carry 3 --resamples 50
has out '^whole: each block behind the last 3 tokens before it$'
status 0 "$ASCGRAD" eval whole --carry=0 --json
cmp -s own out && fail 'eval --carry=0 is eval --carry'
status 0 "$ASCGRAD" eval whole --carry 50
has out 'with 50 tokens carried'
tokens=$(sed -n 's/.*"tokens": \([0-9]*\).*/\1/p' own)
status 0 "$ASCGRAD" eval whole --carry --per-token each
lines each "$tokens"

# on past the block: the first tokens are those of a shorter continuation
status 0 "$ASCGRAD" generate whole --temperature 0 -n 12
cp out short
status 0 "$ASCGRAD" generate whole --temperature 0 -n 70
has err '70 tokens'
[ "$(head -c 30 short)" = "$(head -c 30 out)" ] || fail 'a longer continuation begins otherwise'

# carry 0 is a training as ever
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $tiny --steps 12 --out without
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $tiny --steps 12 --carry 0 --out zero
same_run without zero

# what carries nothing says why
# shellcheck disable=SC2086
status 2 "$ASCGRAD" train $tiny --carry 8 --out no
has err '^ascgrad train: --carry is 8, and pos_emb is true: '
status 2 "$ASCGRAD" train --data task:copy --model linear --heads 2 --dim 16 --pos-emb false --carry 8 --out no
has err '^ascgrad train: --carry is 8, but task:copy has sequences'
# shellcheck disable=SC2086
status 2 "$ASCGRAD" train $settings --batch 500 --out no
has err '^ascgrad train: --batch: with carry each of a step.s 1000 sequences reads a stream of its own'
status 2 "$ASCGRAD" eval without --carry
has err '^ascgrad eval: --carry: the model was trained without'
status 2 "$ASCGRAD" eval without --carry 8
has err '^ascgrad eval: --carry is 8, and pos_emb is true: '
status 0 "$ASCGRAD" compare without without --carry --resamples 50
has err '^ascgrad compare: without: each block by itself, as the model was trained$'
status 2 "$ASCGRAD" compare without whole --carry 8
has err '^ascgrad compare: --carry is 8, and pos_emb is true: '
status 2 "$ASCGRAD" eval whole --carry=x
has err "^ascgrad eval: --carry: got 'x', expected a whole number"
[ -e no ] && fail 'a run that was refused is there'
exit $failed
