#!/bin/sh
# `ascgrad encode` gives the states of Hugging Face's transformers, of a BERT and a DistilBERT that it has written with
# random weights. Needs python3 (another one: PYTHON) with torch and transformers.
. "$abs_top_srcdir/tests/program.sh"
set -e
python=${PYTHON-python3}
if ! "$python" -c 'import torch, transformers' 2>/dev/null; then
    echo 'skipped: needs a python3 with torch and transformers'
    exit 77
fi
peer="$python $abs_top_srcdir/tests/cli/torch_encoder.py"

cp "$abs_top_srcdir/tests/train/encoder/sentences.txt" sentences.txt
{
    printf 'Å̈ngström İstanbul ﬁne ½ “quoted” — 你好吗 😀👍🏽 a\tb  \n\n'
    awk 'BEGIN { for (i = 0; i < 1000; i++) printf "%s ", i % 3 ? "the" : "guitar"; print "" }'
    awk 'BEGIN { for (i = 0; i < 150; i++) printf "x"; print "" }'
} >>sentences.txt

# agree FOLDER MAX_TOKENS
agree() {
    $peer states "$1" sentences.txt "$2" theirs.npz 2>/dev/null
    "$ASCGRAD" encode --encoder "$1" --max-tokens "$2" sentences.txt -o ours.npz -q >out
    $peer compare ours.npz theirs.npz
}

$peer make bert float32 bert 2>/dev/null
agree bert 64
agree bert 7
$peer make bert float16 half layer_norm_eps=1e-5 hidden_act=gelu_new num_hidden_layers=3 2>/dev/null
agree half 64
$peer make distilbert bfloat16 distil 2>/dev/null
agree distil 48
$peer make distilbert float32 relu activation=relu 2>/dev/null
agree relu 48
cp -r bert cased
echo '{"do_lower_case": false}' >cased/tokenizer_config.json
agree cased 64
exit $failed
