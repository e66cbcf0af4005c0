#!/bin/sh
# ascgrad gradcheck: a line for each op and layer. All ops: tests/check/test_gradcheck.c, and gradcheck_ops.sh.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$ASCGRAD" gradcheck linear reshape tanh
lines out 3
has out '^tanh .*ok, [0-9. ]* digits, [0-9]* elements; worst: sample .*analytic .* numeric .* bound '

status 0 "$ASCGRAD" gradcheck --layers
lacks out '^tanh'
has out '^transformer '
status 2 "$ASCGRAD" gradcheck --layers tanh
has err '^ascgrad gradcheck: --layers goes with no op'
status 2 "$ASCGRAD" gradcheck exp --limit 5
has err '^ascgrad gradcheck: --limit is for ops of a --plugin'
status 0 "$ASCGRAD" gradcheck linear
lines out 1
status 0 "$ASCGRAD" gradcheck --json linear
lines out 1
has out '"passed": *true'
has out '"digits": *[0-9.]*'
has out '"worst": {"sample": .*"index": \[.*"analytic": .*"numeric": .*"bound":'
has out '"kinks": *0'
status 2 "$ASCGRAD" gradcheck linaer
has err "did you mean 'linear'"

# ---- trained models ----
for model in transformer ascender grassmann linear recurrent conv grassmann,transformer; do
    "$ASCGRAD" train --preset tiny --data builtin:6000 --layers 2 --steps 3 --model "$model" --out "$model" \
        2>/dev/null >&2
    status 0 "$ASCGRAD" gradcheck --model "$model"
    has out "^$model: causal: ok, [1-9][0-9]* moments, [1-9][0-9]* logits the same to the bit"
done
status 0 "$ASCGRAD" gradcheck --model transformer --model linear/model.safetensors --json
json 'd["passed"] and [m["model"] for m in d["models"]] == ["transformer", "linear/model.safetensors"]'
status 2 "$ASCGRAD" gradcheck --model transformer linear
has err '--model goes with no op'
status 3 "$ASCGRAD" gradcheck --model none --model linear --json
json '[m["passed"] for m in d["models"]] == [False, True] and "none" in d["models"][0]["error"]'
lines err 1
"$ASCGRAD" train --preset tiny --data builtin:6000 --layers 1 --block 1 --steps 3 --out short 2>/dev/null >&2
status 1 "$ASCGRAD" gradcheck --model short
has err '^ascgrad gradcheck: short: the model has blocks of 1 .*, expected 2 at least'
lines out 0
"$ASCGRAD" train --preset tiny --data task:listops:length=40,min=1,train=20,valid=5,test=5 --head classifier \
    --steps 1 --out classes 2>/dev/null >&2
status 2 "$ASCGRAD" gradcheck --model linear --model classes
has err '^ascgrad gradcheck: --model: classes is a classifier'

status 0 "$ASCGRAD" gradcheck --mutants linear tanh
lines out 4
has out '^caught/made .*wrong sign .*times 1.01 .*shifted'
has out '^all '
lacks out FAIL
status 0 "$ASCGRAD" gradcheck --mutants --json linear
has out '"wrong sign": {"made": 3, "caught": 3, "same": 0}'
exit $failed
