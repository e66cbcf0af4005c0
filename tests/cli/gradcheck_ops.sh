#!/bin/sh
# ascgrad gradcheck without a name: every op and every layer is ok; every mutant of every op is found.
. "$abs_top_srcdir/tests/program.sh"
ops=$("$ASCGRAD" info --ops | grep -c '^  ')

status 0 "$ASCGRAD" gradcheck
lacks out FAIL
has out '^transformer  *layer, causal: ok'
grep -v ' layer, ' out >checked
lines checked "$ops"
lacks checked ' none large enough for threads'
if grep -v '^[a-z0-9_]*  *[0-9]* cases  *[0-9.]*e[-+][0-9]*  ok, ' checked; then
    fail 'not every line is an op that is ok'
fi

status 0 "$ASCGRAD" gradcheck --mutants
lines out $((ops + 2))
lacks out FAIL
exit $failed
