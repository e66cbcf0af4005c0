#!/bin/sh
# What a command line may say besides the plain forms: numbers, help, --resume RUN, prompts, presets, -q and -v.
. "$abs_top_srcdir/tests/program.sh"

# ---- help: within 80 columns, the same by both ways, all options in --help-all ----

kinds() {
    "$ASCGRAD" "$1" --help-table | awk -F '\t' -v command="$1" '$1 == "kind" { print command, $2 }'
}
"$ASCGRAD" --help | awk '/^  [a-z]/ { print $1 } /^$/ && NR > 2 { exit }' >commands
while read -r command; do
    echo "$command"
    kinds "$command"
done <commands >all
lacks all '^$'
has all '^bench layer$'
while read -r words; do
    "$ASCGRAD" $words --help >help || fail "$words --help: exit status $?"
    "$ASCGRAD" help $words >same
    same help same
    "$ASCGRAD" $words -h >same
    same help same
    has help "^usage: ascgrad $words"
    has help '^example:$'
    "$ASCGRAD" $words --help-all >more
    "$ASCGRAD" --help >>more
    wide=$(tr -d '\200-\277' <more | awk 'length($0) > 80') # one byte stays of each character
    [ -z "$wide" ] || fail "$words --help-all is wider than 80 columns: $wide"
    "$ASCGRAD" $words --help-table | awk -F '\t' '$1 == "option" { print $2 }' >options
    while read -r option; do
        has more "^  \\(-.,\\|   \\) --$option\\([[ ]\\|\$\\)"
    done <options
done <all
"$ASCGRAD" train --help >help
for heading in Run Data Model Optimisation Length Computation Output; do
    has help "^$heading:\$"
done
lacks help '--beta1'
has help '--help-all .*options more'
"$ASCGRAD" train --help-all >help
has help '--beta1'

# ---- numbers ----

settings='--data builtin:3000 --tokenizer byte --layers 1 --dim 16 --heads 2 --block 16 --batch 8 --quiet'
status 0 "$ASCGRAD" train $settings --steps 1e0 --warmup 1.5k --checkpoint-every 2M --minutes 1h30m --out numbers
has numbers/config.json '"steps": 1,'
has numbers/config.json '"warmup": 1500,'
has numbers/config.json '"checkpoint_every": 2000000,'
has numbers/config.json '"minutes": 90.0,'
status 0 "$ASCGRAD" train $settings --set steps=1e0 --set warmup=1.5k --set checkpoint_every=2M --set minutes=5400s \
    --out set
echo '{"steps": 1e0, "warmup": "1.5k", "checkpoint_every": 2e6, "minutes": "90m"}' >numbers.json
status 0 "$ASCGRAD" train $settings --config numbers.json --out file
for run in set file; do
    same numbers/config.json $run/config.json
done

# ---- RUN and prompt as operands ----

status 0 "$ASCGRAD" train $settings --steps 2 --out run
lines err 0
cp -r run flag
cp -r run joined
status 0 "$ASCGRAD" train --resume run --steps 4 -q
has out '^run: done after step 4'
status 0 "$ASCGRAD" train --resume --out flag --steps 4
status 0 "$ASCGRAD" train --resume=joined --steps 4
same run/model.safetensors flag/model.safetensors
same run/model.safetensors joined/model.safetensors
status 0 "$ASCGRAD" generate run 'the dog' --tokens 5
cp out operand
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 5
same operand out
echo 'the dog' | tr -d '\n' >prompt
status 0 "$ASCGRAD" generate run - --tokens 5 <prompt
same operand out

# ---- presets ----

status 0 "$ASCGRAD" train --preset list
has out '^quickstart  *2 layers of width 128'
has out '"layers":2, "dim":128'
status 0 "$ASCGRAD" train --preset list --json
json "d['tiny']['layers'] == 2 and d['wikitext2-6l']['offsets'] == [1, 2, 4, 8, 12, 16]"
status 0 "$ASCGRAD" train --preset tiny --data builtin:3000 --steps 3 --out short
status 0 "$ASCGRAD" train --resume short --preset tiny # a preset's steps are no steps that somebody named
has out '^short: done after step 3 of 3'
status 0 "$ASCGRAD" bench train --preset list
has out '^tiny '
status 0 "$ASCGRAD" bench train --preset tiny --steps 1 --vocab 50 --json
tiny_flops=$(field gflop_per_token <out)
status 0 "$ASCGRAD" bench train --layers 2 --dim 32 --heads 2 --block 32 --batch 8 --steps 1 --vocab 50 --json
[ "$tiny_flops" = "$(field gflop_per_token <out)" ] || fail "--preset tiny measures another model"

# ---- less and more to read; warnings ----

status 0 "$ASCGRAD" train $tiny --steps 2 --out loud
has err '^step 2/2 .*valid loss'
lacks err '^step 1/2'
status 0 "$ASCGRAD" train $tiny --steps 2 --out louder --verbose
has err '^step 1/2 .*loss'
has err '^ascgrad train: [0-9]* threads* on [0-9]* processors*, kernels for [a-z0-9]*, OpenBLAS'
status 0 "$ASCGRAD" eval run -q
lines err 0
status 0 "$ASCGRAD" eval run -v --threads 1
has err '^ascgrad eval: 1 thread on'
status 0 "$ASCGRAD" eval run -q --threads 900
has err '^ascgrad eval: 900 threads take turns on [0-9]* processor'
status 0 "$ASCGRAD" train --data builtin:500 --epochs 1 --layers 1 --dim 16 --heads 2 --block 100 --out many -q
has err 'a batch of 32 is more than the train split.s 5 blocks: each step takes all of them'
batches="--set batch_schedule=0:2 --batch 8 --steps 2 --set accumulate=40 --set pos_emb=false"
status 0 "$ASCGRAD" train --preset tiny --data builtin:2000 --threads 1 $batches --out batches
lacks err 'takes all of them'
status 0 "$ASCGRAD" train --preset tiny --data builtin:2000 --threads 1 $batches --carry 8 --out streams
exit $failed
