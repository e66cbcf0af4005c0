#!/bin/sh
# ascgrad parity: all cases in tests/parity agree; an altered one, and files that are none, get their exit status.
. "$abs_top_srcdir/tests/program.sh"
cases=$abs_top_srcdir/tests/parity

# alter FILE TENSOR: sets the tensor's first value to something between 2 and 4, or their negatives.
alter() {
    header=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    begin=$(dd if="$1" bs=1 skip=8 count="$header" 2>/dev/null |
        sed 's/.*"'"$2"'":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
    printf '\100' | dd of="$1" bs=1 seek=$((8 + header + begin + 7)) conv=notrunc 2>/dev/null
}

status 0 "$ASCGRAD" parity "$cases"/*.safetensors
lines out "$(ls "$cases"/*.safetensors | wc -l)"
has out '^attention-causal  *ok  *[0-9.]*e-[0-9]*  [a-z.]*'
has out '^train-transformer  *ok '
lacks out FAIL

cp "$cases/attention-full.safetensors" altered.safetensors
alter altered.safetensors grad.param.v.weight
status 1 "$ASCGRAD" parity "$cases/attention-causal.safetensors" altered.safetensors
has out '^attention-causal  *ok '
has out '^altered  *FAIL .* grad.param.v.weight .*grad.param.v.weight is off by '

status 1 "$ASCGRAD" parity --json altered.safetensors
has out '"passed": *false'
has out '"worst_tensor": *"grad.param.v.weight"'

status 3 "$ASCGRAD" parity --json nowhere.safetensors "$cases/attention-causal.safetensors"
json '[c["passed"] for c in d["cases"]] == [False, True] and not d["passed"]'
json 'd["cases"][0]["name"] == "nowhere.safetensors" and "nowhere.safetensors: " in d["cases"][0]["error"]'

# a case whose sentences are not of one width: 26 states of 10 entries are 52 of 5
sentences=$cases/nli-transformer.safetensors
sed 's/\("in.hypothesis":{[^}]*"shape":\[6,4,\)26,10\]/\152, 5]/' "$sentences" >widths.safetensors
cmp -s widths.safetensors "$sentences" && fail 'the case is as it was'
status 1 "$ASCGRAD" parity widths.safetensors
has out '^widths  *FAIL .*in.hypothesis and in.hypothesis_lengths do not go with in.labels and in.premise'

# a file that can't be read; the others are replayed all the same
status 3 "$ASCGRAD" parity none.safetensors "$cases/attention-causal.safetensors"
has err 'none.safetensors'
has out '^attention-causal  *ok '
head -c 100 "$cases/attention-causal.safetensors" >short.safetensors
status 3 "$ASCGRAD" parity short.safetensors

status 2 "$ASCGRAD" parity
status 2 "$ASCGRAD" parity --jsn x
has err 'did you mean --json'
status 0 "$ASCGRAD" parity --help
has out 'example'

exit $failed
