#!/bin/sh
# ascgrad tokenize and --learn bpe beside Hugging Face's tokenizers: the same vocabularies, and the same ids.
. "$abs_top_srcdir/tests/program.sh"
have_python tokenizers || { echo 'skipped: needs python3 with tokenizers'; exit 77; }
ASCGRAD_SOURCE=$abs_top_srcdir status 0 "$python" "$abs_top_srcdir/tests/cli/tokenizers_cases.py"
exit $failed
