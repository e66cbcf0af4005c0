#!/bin/sh
# ascgrad generate: the same seed, the same text; beyond the block; prompts.
. "$abs_top_srcdir/tests/program.sh"
status 0 "$ASCGRAD" train $tiny --out run

status 0 "$ASCGRAD" generate run --prompt 'the king' --tokens 100 --seed 3
has out '^the king'
lines err 1
has err "^ascgrad generate: the model does not know these words of the prompt: 'king'$"
cp out first
status 0 "$ASCGRAD" generate run --prompt 'the king' --tokens 100 --seed 3 --threads 1
same out first
status 0 "$ASCGRAD" generate run --prompt 'the king' --tokens 100 --seed 4
cmp -s out first && fail 'another seed, the same text'
printf 'the king' >prompt
"$ASCGRAD" generate run --prompt - --tokens 100 --seed 3 <prompt >out || fail "--prompt -: exit status $?"
same out first

# a prompt of any bytes, a zero and one that is no UTF-8 among them
printf 'the\0 king' >zero
"$ASCGRAD" generate run --prompt - --tokens 3 <zero >out || fail "a prompt with a zero: exit status $?"
head -c 9 out | cmp -s - zero || fail 'a prompt with a zero was cut'
printf 'caf\351' >latin
"$ASCGRAD" generate run --prompt - --tokens 3 --json <latin >out || fail "a prompt that is no UTF-8: exit status $?"
has out '"prompt": "caf\\uFFFD"'

# the most probable: temperature 0, one candidate, almost no probability beside it
status 0 "$ASCGRAD" generate run --tokens 40 --temperature 0 --json
lines out 1
cp out greedy
[ "$(sed 's/.*"ids": \[\([^]]*\)\].*/\1/' greedy | tr ',' '\n' | wc -l)" -eq 40 ] || fail 'not 40 tokens'
status 0 "$ASCGRAD" generate run --tokens 40 --top-k 1 --json
same out greedy
status 0 "$ASCGRAD" generate run --tokens 40 --top-p 0.0001 --json
same out greedy

# a model file alone has its words with it
cp run/model.safetensors alone.safetensors
status 0 "$ASCGRAD" generate alone.safetensors --prompt 'the king' --tokens 100 --seed 3
same out first

status 0 "$ASCGRAD" generate run --tokens 0 --prompt 'as it is'
has out '^as it is$'
status 2 "$ASCGRAD" generate run --temperature -1
has err "^ascgrad generate: --temperature: got '-1'"
status 2 "$ASCGRAD" generate run --top-p 0
status 2 "$ASCGRAD" generate
status 3 "$ASCGRAD" generate none
{ "$ASCGRAD" generate run --tokens 1000000; echo $? >pipe.status; } 2>pipe.err | head -c 10 >/dev/null
lines pipe.err 0
has pipe.status '^0$'

# a model that looks ahead: refused before the prompt is written
# shellcheck disable=SC2086  # $tiny is a list of options
status 0 "$ASCGRAD" train $tiny --steps 2 --model ascender --set mask=full \
    --set look_ahead=true --set delta=.1 --out ahead
has ahead/config.json '"delta": 0.1,'
status 2 "$ASCGRAD" generate ahead --prompt 'the dog'
lines out 0
has err '^ascgrad generate: this model looks ahead: it can be evaluated and inspected, not continued'
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 5 --json
lines err 0
has out '"unknown": 0'
exit $failed
