#!/bin/sh
# ascgrad parity on the folder of cases ASCGRAD_CASES: each agrees.
. "$abs_top_srcdir/tests/program.sh"
if [ ! -d "${ASCGRAD_CASES-}" ]; then
    echo 'skipped: needs ASCGRAD_CASES, a folder of cases'
    exit 77
fi

"$ASCGRAD" parity "$ASCGRAD_CASES"/*.safetensors >out 2>err
lines out "$(ls "$ASCGRAD_CASES"/*.safetensors | wc -l)"
grep -v '^[^ ]*  *ok ' out && fail 'these do not agree'
exit $failed
