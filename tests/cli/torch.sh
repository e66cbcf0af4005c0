#!/bin/sh
# PyTorch, given model.safetensors and the oracle's code, finds the validation perplexity that `ascgrad eval` prints.
# Needs python3 with torch (another one: PYTHON) and the folder of models.py in ASCGRAD_ORACLE.
. "$abs_top_srcdir/tests/program.sh"
set -e
python=${PYTHON-python3}
if [ -z "${ASCGRAD_ORACLE-}" ] || ! "$python" -c 'import torch' 2>/dev/null; then
    echo "skipped: needs ASCGRAD_ORACLE, the folder of models.py, and a python3 with torch"
    exit 77
fi

ruled_text 4000 >text.txt
mkdir data
head -n 300 text.txt >data/train.txt
tail -n 64 text.txt >data/valid.txt

for model in "--positions none" "--positions rotary --pos-emb false --block-norm pre" \
    "--positions alibi --pos-emb false" "--model grassmann" \
    "--model grassmann --set memory=true --set learned=true --set groups=2 --set scale=rms --dtype f64" \
    "--mixing grassmann,transformer --block-norm pre --set offsets=lags" "--mixing transformer,grassmann" \
    "--mixing linear,grassmann --set decay=gated --block-norm pre --set emb_norm=true --set pair=concat" \
    "--mixing recurrent,ascender --block-norm pre --pos-emb false"; do
    rm -rf run
    # shellcheck disable=SC2086  # a list of options
    "$ASCGRAD" train --preset tiny --data data --tokenizer word --steps 40 $model --out run 2>/dev/null >&2
    "$ASCGRAD" eval run --split valid --json >ours.json
    "$ASCGRAD" tokenize --corpus --tokenizer word --vocab run/vocab.txt data/valid.txt >ids
    "$python" "$abs_top_srcdir/tests/cli/torch_perplexity.py" "$ASCGRAD_ORACLE" run/model.safetensors ids >theirs.json
    "$python" - <<'END'
import json
ours, theirs = json.load(open("ours.json")), json.load(open("theirs.json"))
print(ours["ppl"], theirs["ppl"])
assert ours["tokens"] == theirs["tokens"], (ours, theirs)
assert abs(ours["ppl"] / theirs["ppl"] - 1) < 1e-4, (ours, theirs)
END
done
