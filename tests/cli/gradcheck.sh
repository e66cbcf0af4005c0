#!/bin/sh
# ascgrad gradcheck: a line for each op and layer, all of them ok; every mutant of every op is found.
. "$abs_top_srcdir/tests/program.sh"

# Without a name, all ops; all of them are in test_autograd_gradcheck, too.
if [ "${ASCGRAD_THIN-}" ]; then
    names='add linear reshape softmax tanh'
    ops=5
else
    names=
    ops=$("$ASCGRAD" info --ops | grep -c '^  ')
fi

# shellcheck disable=SC2086  # a list of names
status 0 "$ASCGRAD" gradcheck $names
grep -v ' layer, ' out >checked
lines checked "$ops"
lacks checked ' none large enough for threads'
if grep -v '^[a-z0-9_]*  *[0-9]* cases  *[0-9.]*e[-+][0-9]*  ok, ' checked; then
    fail 'not every line is an op that is ok'
fi
has out '^tanh .*ok, [0-9. ]* digits, [0-9]* elements; worst: sample .*analytic .* numeric .* bound '
[ "$names" ] || has out '^transformer  *layer, causal: ok'
lacks out FAIL

status 0 "$ASCGRAD" gradcheck --layers
lacks out '^tanh'
has out '^transformer '
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

# shellcheck disable=SC2086
status 0 "$ASCGRAD" gradcheck --mutants $names
lines out $((ops + 2))
has out '^caught/made .*wrong sign .*times 1.01 .*shifted'
has out '^all '
lacks out FAIL
status 0 "$ASCGRAD" gradcheck --mutants --json linear
has out '"wrong sign": {"made": 3, "caught": 3, "same": 0}'
exit $failed
