#!/bin/sh
# The words of the program's commands: help, wrong usage and the nearest name, closed pipes.
. "$abs_top_srcdir/tests/program.sh"

for command in train eval generate tokenize gradcheck parity bench info; do
    "$ASCGRAD" "$command" --help >help || fail "$command --help: exit status $?"
    has help "^usage: ascgrad $command"
    has help '^example:$'
done

status 2 "$ASCGRAD" train --lyers 2
has err '^ascgrad train: unknown option --lyers; did you mean --layers?'
status 2 "$ASCGRAD" train --layer 2
has err 'did you mean --layers?'
status 2 "$ASCGRAD" train --out run --data builtin --layers x
has err "^ascgrad train: --layers: got 'x', expected a whole number from 1 to 10000"
status 2 "$ASCGRAD" train --out run --data builtin --dropout 1.5
has err "^ascgrad train: --dropout: got '1.5', expected a number from 0 to 0.999"
status 2 "$ASCGRAD" train --out run --data builtin --schedule cosin
has err "did you mean 'cosine'?"
status 2 "$ASCGRAD" train --out run --data builtin --preset quickstrat
has err "did you mean 'quickstart'?"
status 2 "$ASCGRAD" train --out run --data builtin --set lerning_rate=1
has err "^ascgrad train: unknown setting 'lerning_rate'"
status 2 "$ASCGRAD" train --out run --data builtin --set layres=1
has err "did you mean 'layers'?"
status 2 "$ASCGRAD" train --out run --data builtin --set layers
has err 'expected KEY=VALUE'
status 2 "$ASCGRAD" train --out run --data builtin --model transfromer
has err "^ascgrad train: --model: got 'transfromer', expected one of transformer.*did you mean 'transformer'?"
status 2 "$ASCGRAD" train --out run --data builtin --set mix=transfromer
has err "^ascgrad train: mix: got 'transfromer', .*did you mean 'transformer'?"
status 2 "$ASCGRAD" train --out run --data builtin:3000 --positions rotry
has err '^ascgrad train: --positions: got .rotry., expected one of none, rotary, alibi; did you mean .rotary.?'
status 2 "$ASCGRAD" train --out run --data builtin:3000 --dim 30 --heads 4
has err '^ascgrad train: --heads is 4, expected a divisor of the width 30'
status 2 "$ASCGRAD" train --out run --data builtin:3000 --tokenizer bite
has err "^ascgrad train: --tokenizer: got 'bite', expected word, byte, wordpiece.*; did you mean 'byte'?"
status 2 "$ASCGRAD" train --out run --data builtin --checkpoint-every x
has err '^ascgrad train: --checkpoint-every: got'
status 2 "$ASCGRAD" eval run --split vaild
has err "^ascgrad eval: --split: got 'vaild', .*did you mean 'valid'?"
ASCGRAD_ISA=avx1024 status 2 "$ASCGRAD" info
has err "^ascgrad: ASCGRAD_ISA: got 'avx1024', expected plain, avx2, avx512, avx512_bf16 or amx"
ASCGRAD_PRODUCTS=mkl status 2 "$ASCGRAD" info
has err "^ascgrad: ASCGRAD_PRODUCTS: got 'mkl', expected own or openblas"
"$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '" ' | tr , '\n' >models
"$ASCGRAD" train --help | tr -s ' \n' ' ' >help
"$ASCGRAD" bench --help >bench.help
while read -r model; do
    has help "--model M .*$model.* --dim"
    has bench.help "$model"
done <models
status 2 "$ASCGRAD" train --out
has err 'its argument RUN is missing'
status 2 "$ASCGRAD" train --out run
has err 'data is missing'
status 2 "$ASCGRAD" train --data builtin
has err '--out RUN is missing'
status 2 "$ASCGRAD" train --out run --data builtin extra
has err "'extra' is one argument too many"
status 2 "$ASCGRAD" eval
has err 'a RUN or MODEL is missing'
status 2 "$ASCGRAD" info --json=1
has err '--json takes no argument'
status 2 "$ASCGRAD" bench trian
has err "did you mean 'train'?"
refuse_ascender() {
    status 2 "$ASCGRAD" train --data builtin:3000 --model ascender --set "$1" --out run
    has err "^ascgrad train: $2"
}
refuse_ascender lambda_dist=1 'lambda_dist belongs to variant background'
refuse_ascender freeze=omega_sep 'freeze: got "omega_sep", expected a list of names, as \["omega_sep"\]'
[ ! -e run ] || fail 'a run that never began left a folder'

status 0 "$ASCGRAD" help --help
has out '^usage: ascgrad COMMAND'

# a closed pipe
{ "$ASCGRAD" info --ops; echo $? >pipe.status; } 2>pipe.err | true
{ yes 'some words' | "$ASCGRAD" tokenize; echo $? >tokens.status; } 2>pipe.err | head -n 1 >/dev/null
lines pipe.err 0
has tokens.status '^0$'
has pipe.status '^0$'
exit $failed
