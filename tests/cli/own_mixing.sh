#!/bin/sh
# The example that registers a mixing trains and generates with it; the program, which does not have it, says so.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$abs_top_builddir/examples/own_mixing" run
has out '^[0-9]* parameters, perplexity [0-9.]*$'
perplexity=$(sed -n 's/.*perplexity //p' out)
[ "${perplexity%.*}" -lt 60 ] || fail "perplexity $perplexity: nothing was learned"
has run/config.json '"mix": "fading"'
has run/config.json '"fade"'
status 3 "$ASCGRAD" eval run
has err "run/model.safetensors: mix: got 'fading', expected one of transformer,"
status 3 "$ASCGRAD" train --resume run
has err "^ascgrad train: run/config.json: the mixing 'fading' is none of this program's: one that registers it"
status 1 "$abs_top_builddir/examples/own_mixing" run
has err '^own_mixing: run exists'

exit $failed
