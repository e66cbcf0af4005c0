#!/bin/sh
# ascgrad eval: a run, a model file alone, every predicted token once, vocabularies that do not fit.
. "$abs_top_srcdir/tests/program.sh"

# close A B: the same number to a relative 1e-5.
close() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d * d <= 1e-10 * a * a) }' ||
        fail "$1 and $2 are not the same number"
}

status 0 "$ASCGRAD" train $tiny --out run
status 0 "$ASCGRAD" eval run --json
lines out 1
lines err 0
cp out valid
close "$(field loss <valid)" "$(tail -n 1 run/metrics.jsonl | field valid_loss)"
close "$(field bits_per_byte <valid)" "$(tail -n 1 run/metrics.jsonl | field valid_bits_per_byte)"
if awk 'BEGIN { exit !(exp(1) > 2) }' 2>/dev/null; then
    close "$(field ppl <valid)" "$(awk -v l="$(field loss <valid)" 'BEGIN { printf "%.9g", exp(l) }')"
else
    left_out 'needs an awk that has exp: the perplexity as a function of the loss'
fi
has valid '"source_ppl": [0-9]'
has valid '"source_ppl_per": "word"'
cp valid out
json '0 < d["accuracy"] < 1 and 0 < d["ece"] < 1'
has valid '"unknown": 0\.0'
close "$(field unknown <valid)" "$(tail -n 1 run/metrics.jsonl | field valid_unknown)"

# each token but the first, whatever the batch and the threads
status 0 "$ASCGRAD" eval run --split test --per-token tokens.txt --json --threads 1
cp out test1
lines tokens.txt "$(field tokens <test1)"
close "$(field loss <test1)" "$(awk '{ s += $2 } END { printf "%.9g", s / NR }' tokens.txt)"
status 0 "$ASCGRAD" eval run --split test --json --threads 2
same out test1
status 0 "$ASCGRAD" eval run --split test --json --batch 3
close "$(field loss <out)" "$(field loss <test1)"
status 0 "$ASCGRAD" eval run
has out '^valid: [0-9]* tokens, loss'
has out '^the most probable token is right for [0-9.]* % of them; its probability is off by [0-9.]* % (ECE)$'
has out '^the source itself'

# the file alone, and a run from elsewhere
cp run/model.safetensors alone.safetensors
status 0 "$ASCGRAD" eval alone.safetensors --data builtin:8000 --json
close "$(field loss <out)" "$(field loss <valid)"
status 0 "$ASCGRAD" eval alone.safetensors --data builtin:8000 --tokenizer word --json
status 2 "$ASCGRAD" eval alone.safetensors
has err '^ascgrad eval: --data is missing'
status 0 "$ASCGRAD" eval run/model.safetensors --json
same out valid
seq 1 9000 | tr '\n' ' ' | fold -s -w 60 >text.txt
status 0 "$ASCGRAD" train --preset tiny --data text.txt --tokenizer byte --out bytes --steps 3
lacks err 'unknown'
# a text of other words: bits per byte say nothing, and that is said
status 0 "$ASCGRAD" eval run --data text.txt --json
awk -v u="$(field unknown <out)" 'BEGIN { exit !(u > 0.8 && u < 1) }' || { fail 'not all is unknown'; cat out; }
status 0 "$ASCGRAD" eval run --data text.txt
has out ' bits per byte, [0-9.]* % unknown'
has err "^ascgrad eval: [0-9.]* % of the tokens are unknown words: these bits per byte don't compare with another"
mkdir elsewhere
mv bytes elsewhere
(cd elsewhere && "$ASCGRAD" eval bytes --split test) >out 2>err || { fail 'a run that was moved'; cat err; }

# other vocabularies, other data
status 2 "$ASCGRAD" eval alone.safetensors --data builtin:8000 --tokenizer byte
has err "tokenizer: got 'byte', but the model's is 'word'"
printf '[UNK]\na\nb\n' >vocab.txt
status 0 "$ASCGRAD" train --preset tiny --data text.txt --tokenizer wordpiece:vocab.txt --out pieces --steps 1
printf '[UNK]\na\nb\nc\n' >longer.txt
status 2 "$ASCGRAD" eval pieces --tokenizer wordpiece:longer.txt
has err 'its vocabulary has 4 tokens, but the model.s has 3'
printf '[UNK]\na\nc\n' >other.txt
status 2 "$ASCGRAD" eval pieces --tokenizer wordpiece:other.txt
has err 'the vocabulary is not the model.s'
status 0 "$ASCGRAD" eval pieces --tokenizer wordpiece:vocab.txt
echo 'and more' >>text.txt
status 3 "$ASCGRAD" eval pieces
has err 'split has changed'
status 0 "$ASCGRAD" eval pieces --data text.txt

status 2 "$ASCGRAD" eval run --split tset
has err "got 'tset', expected train, valid or test"
status 3 "$ASCGRAD" eval none
has err '^ascgrad eval: none: there is no such run or file; runs in this folder: '
status 3 "$ASCGRAD" eval text.txt
has err '^ascgrad eval: text.txt: '
status 3 "$ASCGRAD" eval elsewhere
has err 'elsewhere: no run there'
status 3 "$ASCGRAD" eval run --per-token /dev/fd/1
has err '/dev/fd/1: is what a process has open, expected the name of a file$'
status 3 "$ASCGRAD" eval run --per-token none/tokens.txt
has err "none/tokens.txt: can't write: No such file"

# results don't take the place of what they are made from
cp run/model.safetensors model.before
status 2 "$ASCGRAD" eval run --per-token run/model.safetensors
has err '^ascgrad eval: --per-token: got run/model.safetensors, which is what is read: expected another file$'
same run/model.safetensors model.before
cp text.txt text.before
ln text.txt text.too
status 2 "$ASCGRAD" eval run --data text.txt --per-token text.too
same text.txt text.before
status 2 "$ASCGRAD" eval run/model.safetensors --per-token run/config.json
has err 'which is what is read'
status 2 "$ASCGRAD" eval run --tokenizer wordpiece:text.txt --per-token text.txt
has err 'which is what is read'
same text.txt text.before
printf '{"text": "a b c"}\n' > 'of:one.jsonl'
cp of:one.jsonl dev.jsonl
cp of:one.jsonl of.before
for data in of:one.jsonl:valid=dev.jsonl,text=text dev.jsonl:text=text,valid=of:one.jsonl; do
    for out in of:one.jsonl dev.jsonl; do
        status 2 "$ASCGRAD" eval run --data "$data" --per-token "$out"
        has err 'which is what is read'
        same "$out" of.before
    done
done
status 0 "$ASCGRAD" eval run --per-token run/tokens.txt
status 0 "$ASCGRAD" eval run --per-token run/tokens.txt
cp run/model.safetensors run/model.stable.safetensors
status 2 "$ASCGRAD" eval run --per-token run/model.stable.safetensors
rm run/model.stable.safetensors

# nor does what another run keeps
cp -r run other
status 2 "$ASCGRAD" eval run --per-token other/model.safetensors
has err ': --per-token: got other/model.safetensors, which a run keeps: expected another file$'
status 0 "$ASCGRAD" verify other

# a batch takes no more memory than there are blocks
status 0 "$ASCGRAD" eval run --batch 1M --max-memory 100

# a model whose file is named, beside another program's config.json
mkdir beside
cp run/model.safetensors beside
for config in 'no json' '[1]' '{"data": "text.txt", "batch": 1}'; do
    echo "$config" >beside/config.json
    status 0 "$ASCGRAD" eval beside/model.safetensors --data builtin:3000
    status 2 "$ASCGRAD" eval beside/model.safetensors
done
echo 'no json' >beside/config.json
status 3 "$ASCGRAD" eval beside --data builtin:3000
exit $failed
