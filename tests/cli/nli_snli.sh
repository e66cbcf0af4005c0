#!/bin/sh
# nli on pairs of SNLI with all-MiniLM-L6-v2, which ASCGRAD_DATA has: a short training is far above chance.
. "$abs_top_srcdir/tests/program.sh"
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
data=${ASCGRAD_DATA-}
snli=$data/snli vocab=$data/bert-uncased/vocab.txt
if [ ! -f "$snli/snli_1.0_dev.jsonl.gz" ] || [ ! -f "$data/minilm-l6/model.safetensors" ]; then
    echo 'skipped: needs ASCGRAD_DATA, with snli and minilm-l6'
    exit 77
fi
gzip -dc "$snli/snli_1.0_dev.jsonl.gz" | head -n 1500 >train.jsonl
gzip -dc "$snli/snli_1.0_test.jsonl.gz" | head -n 300 >valid.jsonl
status 0 "$ASCGRAD" nli train --encoder "$data/minilm-l6" --vocab "$vocab" --train train.jsonl --valid valid.jsonl \
    --mix grassmann --batch 32 --epochs 4 --warmup 20 --lr 5e-4 --out run
status 0 "$ASCGRAD" nli eval run --data valid.jsonl --json
json 'd["accuracy"] > .5 and d["n"] + d["skipped"] == 300'
printf 'A man is sleeping on a couch.\tA man is awake and running.\n' >pair
status 0 "$ASCGRAD" nli predict run pair
lines out 1
exit $failed
