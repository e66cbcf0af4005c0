#!/bin/sh
# ascgrad train: what a run consists of, where settings come from.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$ASCGRAD" train $tiny --out run --log-every 5
for file in config.json vocab.txt metrics.jsonl model.safetensors checkpoint.safetensors; do
    [ -s "run/$file" ] || fail "run has no $file"
done
lines run/metrics.jsonl 12
for key in step epoch tokens loss lr grad_norm tokens_per_s elapsed_s; do
    [ "$(grep -c "\"$key\": [0-9]" run/metrics.jsonl)" -eq 12 ] || fail "a line of metrics.jsonl lacks $key"
done
for key in valid_loss valid_ppl valid_bits_per_byte; do
    [ "$(grep -c "\"$key\": [0-9]" run/metrics.jsonl)" -eq 3 ] || fail "$key is not in three lines of metrics.jsonl"
done
[ "$(head -n 1 run/metrics.jsonl | field step)" -eq 5 ] || fail 'the first line is not of step 5'
[ "$(head -n 1 run/metrics.jsonl | field tokens)" -eq 1280 ] || fail '5 steps of 8 blocks of 32 are not 1280 tokens'
for key in '"version": "' '"data": "builtin:8000"' '"steps": 60' '"epochs": 0' '"d_model": 32' '"mix": "transformer"' \
    '"train": "[0-9a-f]\{8\}"'; do
    has run/config.json "$key"
done
has out 'best on valid'
lacks err "$(printf '\r')"

# what a killed start leaves before config.json is there is no run, and in nobody's way; another's folder is
mkdir half
: >half/vocab.txt
: >half/config.json.ascgrad-tmp
status 0 "$ASCGRAD" train $tiny --steps 1 --out half
mkdir other
echo mine >other/notes
status 2 "$ASCGRAD" train $tiny --steps 1 --out other
has err '^ascgrad train: other exists'
has other/notes mine

# a run that exists is refused, and stays as it is
cp run/metrics.jsonl before
status 2 "$ASCGRAD" train $tiny --out run
has err '^ascgrad train: run exists'
same run/metrics.jsonl before

# --json: one object on stdout, whatever the name of the run
status 0 "$ASCGRAD" train $tiny --out "$(printf 'caf\351')" --steps 1 --json
has out '"run": "caf\\uFFFD"'
status 0 "$ASCGRAD" train $tiny --out deep/er/run --steps 3 --json
lines out 1
has out '"step": 3'
has out '"source_ppl": [0-9]'

# preset, file, --set, options: the later wins
echo '{"lr": 0.5, "clip": 0.25, "dim": 16, "model": {"positions": "alibi"}}' >settings.json
status 0 "$ASCGRAD" train --lr 0.125 $tiny --set clip=0.75 --set d_ff=24 --config settings.json --out order --steps 2
has order/config.json '"lr": 0.125'
has order/config.json '"clip": 0.75'
has order/config.json '"warmup": 10'
has order/config.json '"d_model": 16'
has order/config.json '"d_ff": 24'
has order/config.json '"positions": "alibi"'
echo '{"lr": 0.5, "model": {"d_modle": 16}}' >wrong.json
status 2 "$ASCGRAD" train $tiny --config wrong.json --out no
has err "^ascgrad train: wrong.json: unknown setting 'd_modle'; did you mean 'd_model'?"
echo '{"lr": ' >wrong.json
status 3 "$ASCGRAD" train $tiny --config wrong.json --out no
has err '^ascgrad train: wrong.json: line '
status 3 "$ASCGRAD" train $tiny --config none.json --out no
has err "none.json: can't open: No such file"

# a run's own config.json is a file of settings
status 0 "$ASCGRAD" train --config run/config.json --out again --log-every 5
same_run run again

# from an initial model
status 0 "$ASCGRAD" train $tiny --init run --out more --steps 1 --eval-every 1 --lr 0 --warmup 0
status 0 "$ASCGRAD" eval run --json
[ "$(field loss <out | cut -c 1-8)" = "$(tail -n 1 more/metrics.jsonl | field valid_loss | cut -c 1-8)" ] ||
    fail '--init: not the loss of the model'
status 2 "$ASCGRAD" train --preset tiny --data builtin:8000 --tokenizer byte --init run --out no
has err '^ascgrad train: --init: the model .*/run has [0-9]* tokens, but the tokenizer has 256'
cp run/model.safetensors alone.safetensors
for init in run alone.safetensors; do # other data, whose words come in another order: the model's words
    status 0 "$ASCGRAD" train $tiny --data builtin:9000:7 --init $init --out "words-${init%.*}" --steps 1
    same run/vocab.txt "words-${init%.*}/vocab.txt"
done
if have_python; then # one that another program wrote, without a vocabulary: its words are those of the data
    "$python" - <<'END'
import json, struct
whole = open("alone.safetensors", "rb").read()
n = struct.unpack("<Q", whole[:8])[0]
header = json.loads(whole[8:8 + n])
own = header["__metadata__"]
header["__metadata__"] = {"config": own["config"], "tokenizer": own["tokenizer"]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open("bare.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + whole[8 + n:])
END
    status 0 "$ASCGRAD" train $tiny --init bare.safetensors --out from-bare --steps 1
    same run/vocab.txt from-bare/vocab.txt
fi
awk 'BEGIN { for (i = 0; i < 3000; i++) print i % 7 ? "abab" : "cdcd" }' >text-1
tr abcd cdab <text-1 >text-2
for i in 1 2; do
    status 0 "$ASCGRAD" tokenize --learn bpe --vocab-size 260 -o bpe-$i.json text-$i
done
bpe='--preset tiny --data text-1 --steps 1'
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $bpe --tokenizer bpe:bpe-1.json --out merged
# shellcheck disable=SC2086
status 2 "$ASCGRAD" train $bpe --tokenizer bpe:bpe-2.json --init merged --out no
has err "^ascgrad train: --init: the vocabulary of .*merged has the checksum [0-9a-f]*, and the tokenizer's [0-9a-f]*"
status 2 "$ASCGRAD" train $tiny --init run --set d_ff=24 --out no
has err '^ascgrad train: --init: 6 tensors of .*/run do not fit the new model: blocks.0.ffn.fc1.weight (128, 32) there'
has err 'there, (24, 32) here; blocks.0.ffn.fc1.bias .*and others'
status 2 "$ASCGRAD" train $tiny --init run --layers 1 --out no
has err '^ascgrad train: --init: .*tensors of .*/run do not fit .*: blocks.1.[a-z0-9.]* ([0-9, ]*) there, none here'
status 2 "$ASCGRAD" train $tiny --init run --layers 3 --out no
has err '^ascgrad train: --init: .*tensors of .*/run do not fit .*: blocks.2[^;]* none there, ([0-9, ]*) here'
echo 'some words, and no tensors' >words
status 3 "$ASCGRAD" train $tiny --init words --out no
has err 'words: is not a safetensors file'
[ ! -e no ] || fail 'a run that could not begin left its folder'

status 2 "$ASCGRAD" train $tiny --init run --model grassmann --out no
has err '^ascgrad train: --init: layer 0 of .*/run mixes by transformer, expected grassmann'
[ ! -e no ] || fail 'a run that could not begin left its folder'

# mistakes on the command line: which argument, what was got, what was expected
refused() {
    pattern=$1
    shift
    status 2 "$ASCGRAD" train $tiny --out no "$@"
    has err "^ascgrad train: $pattern"
    lines err 1
    [ ! -e no ] || fail 'a run that was refused left its folder'
}
refused "--out: got '', expected RUN" --out ''
refused "--config: got '', expected FILE" --config ''
refused "--lr: got '-1', expected a number from 0 to 1000" --lr -1
refused 'unknown option --learning-rate; here it is --lr' --learning-rate 1
refused 'unknown option --batch-size; here it is --batch' --batch-size 1
refused "vocab: got 'x', expected a whole number" --set vocab=x
refused 'vocab is 7, but the tokenizer has 378 tokens' --set vocab=7
refused '--mixing has 2 entries, expected one a layer: 3' --mixing t,g --layers 3
status 2 "$ASCGRAD" eval ''
has err "^ascgrad eval: got '', expected a RUN or MODEL"
status 2 "$ASCGRAD" --verison
has err '^ascgrad: unknown option --verison; expected a command, --help or --version'
status 3 "$ASCGRAD" train --preset tiny --data Builtin:8000 --out no
has err "Builtin:8000: can't open: .*; did you mean 'builtin'?"
status 2 "$ASCGRAD" train --resume --out run --preset quickstart
has err '^ascgrad train: dropout, of the preset, can.t be given anew'
status 0 "$ASCGRAD" train $tiny --lr 1e-4 --min-lr 1e-3 --steps 1 --out rising
has err '^ascgrad train: min_lr, 0.001, is above lr, 0.0001: after the warm-up the learning rate goes on rising'

# a model that no memory holds is refused at once
status 3 "$ASCGRAD" train $tiny --layers 10000 --dim 1048576 --heads 4 --out no
has err '^ascgrad train: the embedding and the feed-forward layers take [0-9.]* GiB, more than the machine'

# what comes next, for a shell to read
status 0 "$ASCGRAD" train $tiny --steps 3 --out "it's a run" --json
has err '^what next:$'
has err "ascgrad'* eval 'it'\\\\''s a run' --split test$"
has err "ascgrad'* generate 'it'\\\\''s a run'$"
has err "ascgrad'* plot 'it'\\\\''s a run'$"
sed -n 's/^ .*\( eval .*\)/"$ASCGRAD"\1/p' err >command.sh
status 0 sh -c 'ASCGRAD=$0; . ./command.sh' "$ASCGRAD"
has out '^test: '
status 0 "$ASCGRAD" train $tiny --steps 100000 --minutes 0.002 --out timed
has err 'train --resume --out timed$'
has timed/summary.json '"reason": "out of time"'
status 1 "$ASCGRAD" train $tiny --lr 1000 --clip 0 --weight-decay 1000 --warmup 0 --out nan/
has err 'train --config nan/config.json --lr 3.3e+02 --out nan-2$'
has nan/summary.json '"state": "failed"'

# a sample now and then, on lines of its own, that changes nothing
status 0 "$ASCGRAD" train $tiny --log-every 5 --sample-every 20 --out samples
[ "$(grep -c '^step [246]0 writes:$' err)" -eq 3 ] || { fail 'not three samples'; cat err; }
has err '^  [a-z ].* | *[a-z]'
same_run run samples
status 0 "$ASCGRAD" train $tiny --steps 20 --sample-every 20 --quiet --out silent
lacks err writes
awk 'BEGIN { while (n++ < 400) printf "ab\302\233c\n" }' >steering # a control character of two bytes
status 0 "$ASCGRAD" train $tiny --data steering --tokenizer byte --steps 2 --sample-every 2 --out steered
has err '^  ab?c'
lacks err "$(printf '\302\233')"
status 2 "$ASCGRAD" train $tiny --model ascender --set look_ahead=true --set listing=intended --sample-every 1 --out no
has err '^ascgrad train: sample_every: this model looks ahead'
[ ! -e no ] || fail 'a run that could not begin left its folder'

# evaluations of a part, an early stop
status 0 "$ASCGRAD" train $tiny --eval-tokens 200 --eval-every 2 --early-stop 2 --lr 30 --out early --json
has out '"end": "stopped early"'
has err 'train --resume --out early --early-stop 0$'
[ "$(field valid_loss <out | cut -c 1-8)" = "$("$ASCGRAD" eval early --json | field loss | cut -c 1-8)" ] ||
    fail 'what is reported is not of the whole split'
[ "$(field valid_accuracy <out | cut -c 1-8)" = "$("$ASCGRAD" eval early --json | field accuracy | cut -c 1-8)" ] ||
    fail 'the accuracy that is reported is not of the whole split'

# a batch of more sequences than there are takes those that there are, and the memory of those
status 0 "$ASCGRAD" train --data builtin:3000 --layers 2 --dim 128 --heads 2 --block 16 --epochs 0 --steps 1 \
    --warmup 0 --batch 1048576 --set accumulate=1024 --out many
lacks err 'minutes'

# what the settings that are "a tenth", "all" or "each epoch" come to
has run/config.json '"min_lr": 0.0003'
has run/config.json '"schedule_steps": 60'
has run/config.json '"steps_per_epoch": [1-9]'
exit $failed
