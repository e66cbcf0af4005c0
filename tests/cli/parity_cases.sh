#!/bin/sh
# ascgrad parity on the folder of cases ASCGRAD_CASES: each agrees, but for those that ask for what is not there yet.
. "$abs_top_srcdir/tests/program.sh"
if [ ! -d "${ASCGRAD_CASES-}" ]; then
    echo 'skipped: needs ASCGRAD_CASES, a folder of cases'
    exit 77
fi

# Kinds of cases and settings that come later; a case that agrees is taken off.
later='^nli-'

"$ASCGRAD" parity "$ASCGRAD_CASES"/*.safetensors >out 2>err
lines out "$(ls "$ASCGRAD_CASES"/*.safetensors | wc -l)"
grep -vE "$later" out | grep -v '^[^ ]*  *ok ' && fail 'these do not agree'
grep -E "$later" out | grep '^[^ ]*  *ok ' && fail 'these agree: they are no longer for later'
exit $failed
