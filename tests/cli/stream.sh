#!/bin/sh
# Grassmann models in the program: mixings a layer, presets, causality, and generation beyond the block as a stream.
. "$abs_top_srcdir/tests/program.sh"

# train RUN OPTION...: a small run.
train() {
    run=$1
    shift
    # shellcheck disable=SC2086  # $tiny is a list of options
    status 0 "$ASCGRAD" train $tiny --steps 20 "$@" --out "$run"
    tr -d ' \n' <"$run/config.json" >"$run.config"
}

# What the mixings of the layers may be called, and what else a preset has for each.
train list --mixing g,transf
has list.config '"mix":\["grassmann","transformer"\]'
has list.config '"heads":2'
lacks list.config '"mix_residual"'
train one --model grassmann --set offsets=lags --set r=6
has one.config '"mix":"grassmann"'
has one.config '"mix_residual":false'
has one.config '"offsets":\[\[1\],\[2\]\]'
lacks one.config '"heads"'
status 2 "$ASCGRAD" train $tiny --mixing g,x --out none
has err "^ascgrad train: --mixing: got 'x', expected one of .*grassmann"
status 2 "$ASCGRAD" train $tiny --mixing g,t,g --out none
has err '--mixing has 3 entries, expected one a layer: 2'
status 2 "$ASCGRAD" train $tiny --model grassmann --set heads=2 --out none
has err 'heads is a setting of transformer and .*, and no layer of this model knows it'
train heads --model grassmann --heads 2
has err 'heads is left out: no layer of this model knows it'
lacks heads.config '"heads"'
train depth --preset wikitext2-12l --layers 2 --mixing g,t --dim 16 --heads 2 --block 32 --batch 2 --steps 2
has depth.config '"offsets":\[\[1\],\[\]\]'
for bad in 'memory=["x",false]' 'r=[-5,8]'; do
    status 2 "$ASCGRAD" train $tiny --mixing t,g --set "$bad" --out none
    has err "^ascgrad train: ${bad%%=*}: got "
done
status 3 "$ASCGRAD" train $tiny --model grassmann --set r=16384 --dim 1024 --out none
has err "GiB, more than the machine's memory"
status 2 "$ASCGRAD" train $tiny --model grassmann --set direction=future --out none
has err 'looks ahead, which a language model must not: direction is future'

# A run is resumed to the same model.
status 0 "$ASCGRAD" train $tiny --steps 20 --model grassmann --set memory=true --out whole
status 0 "$ASCGRAD" train $tiny --steps 10 --set schedule_steps=20 --model grassmann --set memory=true --out halves
status 0 "$ASCGRAD" train --resume --steps 20 --out halves
same whole/model.safetensors halves/model.safetensors

# A stream: without learned positions a text may go on beyond the block of 32 tokens, from a prompt that is longer, too.
train stream --model grassmann --pos-emb false --set offsets='[[1], []]' --set memory='[false, true]'
prompt="a cat$(awk 'BEGIN { for (i = 0; i < 150; i++) printf " the dog" }')"
ids() {
    sed 's/.*"ids": \[\([^]]*\)\].*/\1/' out | tr ',' '\n' | tr -d ' '
}
status 0 "$ASCGRAD" generate stream --prompt "$prompt" --tokens 200 --seed 2 --json
ids >long
lines long 200
status 0 "$ASCGRAD" generate stream --prompt "$prompt" --tokens 90 --seed 2 --json --threads 1
ids >short
head -n 90 long >long.begin
same short long.begin
status 0 "$ASCGRAD" eval stream --split valid --json
exit $failed
