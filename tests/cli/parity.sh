#!/bin/sh
# ascgrad parity: all cases in tests/parity agree; an altered one, and files that are none, get their exit status.
set -u
cases=$abs_top_srcdir/tests/parity
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
failed=0

# status WANTED COMMAND...: runs it, keeps its output in $folder/out and $folder/err.
status() {
    wanted=$1
    shift
    "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ "$got" -eq "$wanted" ] && return
    echo "$*: exit status $got, expected $wanted"
    cat "$folder/out" "$folder/err"
    failed=1
}

# has FILE PATTERN
has() {
    grep -q "$2" "$folder/$1" && return
    echo "no line of $1 matches '$2':"
    cat "$folder/$1"
    failed=1
}

# alter FILE TENSOR: sets the tensor's first value to something between 2 and 4, or their negatives.
alter() {
    header=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    begin=$(dd if="$1" bs=1 skip=8 count="$header" 2>/dev/null |
        sed 's/.*"'"$2"'":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
    printf '\100' | dd of="$1" bs=1 seek=$((8 + header + begin + 7)) conv=notrunc 2>/dev/null
}

status 0 "$ASCGRAD" parity "$cases"/*.safetensors
[ "$(wc -l <"$folder/out")" -eq "$(ls "$cases"/*.safetensors | wc -l)" ] || { echo 'not one line a case'; failed=1; }
has out '^attention-causal  *ok  *[0-9.]*e-[0-9]*  [a-z.]*'
has out '^train-transformer  *ok '
grep FAIL "$folder/out" && failed=1

cp "$cases/attention-full.safetensors" "$folder/altered.safetensors"
alter "$folder/altered.safetensors" grad.param.v.weight
status 1 "$ASCGRAD" parity "$cases/attention-causal.safetensors" "$folder/altered.safetensors"
has out '^attention-causal  *ok '
has out '^altered  *FAIL .* grad.param.v.weight .*grad.param.v.weight is off by '

status 1 "$ASCGRAD" parity --json "$folder/altered.safetensors"
has out '"passed": *false'
has out '"worst_tensor": *"grad.param.v.weight"'

# a file that can't be read; the others are replayed all the same
status 3 "$ASCGRAD" parity "$folder/none.safetensors" "$cases/attention-causal.safetensors"
has err 'none.safetensors'
has out '^attention-causal  *ok '
head -c 100 "$cases/attention-causal.safetensors" >"$folder/short.safetensors"
status 3 "$ASCGRAD" parity "$folder/short.safetensors"

status 2 "$ASCGRAD" parity
status 2 "$ASCGRAD" parity --jsn x
has err 'did you mean --json'
status 0 "$ASCGRAD" parity --help
has out 'example'

exit $failed
