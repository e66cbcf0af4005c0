#!/bin/sh
# A run's files that are damaged, edited, of the earlier format, or no files: noticed before anything is written.
. "$abs_top_srcdir/tests/program.sh"

# header FILE: the length of a safetensors file's header.
header() {
    od -An -tu4 -N4 "$1" | tr -d ' '
}

# edit FILE SCRIPT: sed's script on the header, whose length may change; the tensors stay as they are.
edit() {
    n=$(header "$1")
    text=$(head -c $((8 + n)) "$1" | tail -c "$n" | LC_ALL=C sed "$2")
    tail -c +$((9 + n)) "$1" >tensors
    LC_ALL=C
    n=${#text}
    {
        for shift in 0 8 16 24; do
            # shellcheck disable=SC2059  # an octal escape
            printf "\\$(printf %03o $((n >> shift & 255)))"
        done
        printf '\0\0\0\0%s' "$text"
        cat tensors
    } >edited
    unset LC_ALL
    mv edited "$1"
}

# flip FILE OFFSET: one bit of the byte at the offset.
flip() {
    byte=$(od -An -tu1 -j "$2" -N1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $((byte ^ 1 << $2 % 8)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# refused PATTERN: a resume of the folder run ends with status 3 and one line that matches, and leaves all as it was;
# then it is made whole again from the folder saved.
refused() {
    rm -rf before && cp -r run before
    status 3 timeout 120 "$ASCGRAD" train --resume --out run --steps 60
    has err "^ascgrad train: $1"
    lines err "${2-1}"
    diff -r before run >changes || { fail 'a resume that was refused changed the run:'; cat changes; }
    rm -rf run && cp -r saved run
}

status 0 "$ASCGRAD" train $tiny --out saved --steps 8 --eval-every 4 --log-every 2
cp -r saved run
grep -aq '"step":"8"' run/checkpoint.safetensors || fail 'a checkpoint has no step to edit'

# ---- metadata that were changed, and the checksum not with them ----

for step in -1 0 3 9 9223372036854775807 -9223372036854775808 99999999999999999999 ''; do
    edit run/checkpoint.safetensors 's/"step":"8"/"step":"'$step'"/'
    refused 'run/checkpoint.safetensors: is damaged: its checksum is [0-9a-f]*, expected [0-9a-f]*$'
done
edit run/checkpoint.safetensors 's/"asc_crc32":/"asc_crc3":/'
refused 'run/checkpoint.safetensors: is damaged'
edit run/checkpoint.safetensors 's/"format_version":"2"/"format_version":"3"/'
refused 'run/checkpoint.safetensors: is damaged'
edit run/model.safetensors 's/"step":"8"/"step":"4"/'
refused 'run/model.safetensors: is damaged: .*; put it back, or remove it to go on without it'
edit run/model.safetensors 's/"step":"8"/"step":"4"/'
for command in eval generate inspect 'train --preset tiny --out new --init'; do
    # shellcheck disable=SC2086
    status 3 "$ASCGRAD" $command run
    has err "^ascgrad ${command%% *}: \(.*/\)\{0,1\}run/model.safetensors: is damaged"
done

# as other programs save them, which copy the metadata without the checksums
rm -r run
cp -r saved run
edit run/model.safetensors 's/"asc_crc32":/"asc_crc3":/; s/"asc_crc32_tensors":/"asc_crc3_tensors":/'
status 0 "$ASCGRAD" eval run
has err '^ascgrad eval: run/model.safetensors: has no checksum over tensors and metadata'

# as PyTorch saves a state_dict, tensors alone: what they are stands in the run, if not which class is which
alone='s/"\(asc_crc32\|asc_crc32_tensors\|format_version\|config\|tokenizer\|vocab\|classes\)":/"\1-":/g'
cp saved/model.safetensors run
status 0 "$ASCGRAD" eval run
cp out wanted
edit run/model.safetensors "$alone"
status 0 "$ASCGRAD" eval run
same out wanted
has err '^ascgrad eval: run/model.safetensors: has no checksum over tensors and metadata'
status 0 "$ASCGRAD" train $tiny --init run --out after
cp run/model.safetensors alone.safetensors
status 3 "$ASCGRAD" eval alone.safetensors
has err '^ascgrad eval: alone.safetensors: is no model: its metadata has no config$'
mv run/vocab.txt words
sed 's/^once$/twice/' words >run/vocab.txt
status 3 "$ASCGRAD" eval run
has err 'vocab.txt: tokenizer: the vocabulary is not the model.s: checksum [0-9a-f]*, expected [0-9a-f]*$'
mv words run/vocab.txt
status 0 "$ASCGRAD" train --data task:majority:length=12,train=40,valid=10,test=10 --head classifier --layers 1 \
    --dim 16 --heads 2 --block 12 --steps 2 --out classes
edit classes/model.safetensors "$alone"
status 3 "$ASCGRAD" eval classes
has err '^ascgrad eval: classes/model.safetensors: is no classifier: its metadata has no classes$'

# ---- bits ----

model=run/model.safetensors
cp saved/model.safetensors $model
size=$(wc -c <$model)
n=$(header $model)
for at in 0 1 2 7 8 $(seq 11 $((n / 24)) $((n + 7))) $(seq $((n + 8)) 4096 $((size - 1))) $((size - 1)); do
    flip $model "$at"
    status 3 "$ASCGRAD" eval run
    has err '^ascgrad eval: run/model.safetensors: '
    flip $model "$at"
done
same $model saved/model.safetensors
status 0 "$ASCGRAD" eval run
lacks err checksum

# ---- the earlier format ----

mkdir old
cp "$abs_top_srcdir"/tests/data/format1/* old
chmod u+w old/*
cp -r old copy
status 0 "$ASCGRAD" eval old
has err '^ascgrad eval: old/model.safetensors: has no checksum over tensors and metadata'
has out '^valid: 2145 tokens, loss 4.832'
status 0 "$ASCGRAD" train --resume --out old --steps 12
has err '^ascgrad train: old/checkpoint.safetensors: is of an earlier format, whose checksum does not cover'
has err '^ascgrad train: goes on after step 4 of 12'
status 0 "$ASCGRAD" eval old
lacks err checksum
# the same bits by way of a checkpoint of the present format
status 0 "$ASCGRAD" train --resume --out copy --steps 7
status 0 "$ASCGRAD" train --resume --out copy --steps 12
lacks err earlier
same old/model.safetensors copy/model.safetensors
sed '/"step": 7,/d' copy/metrics.jsonl >lines && mv lines copy/metrics.jsonl # where it ended between
same_run old copy

# nothing protects its metadata but their ranges, and that they go together
rm -rf saved run
mkdir saved
cp "$abs_top_srcdir"/tests/data/format1/* saved
chmod u+w saved/*
cp -r saved run
while read -r step pattern; do
    edit run/checkpoint.safetensors 's/"step":"4"/"step":"'"$step"'"/'
    refused "run/checkpoint.safetensors: $pattern" 2
done <<'END'
-1 its step is '-1', expected a whole number from 0
9223372036854775807 its step is '9223372036854775807', expected
-9223372036854775808 its step is '-9223372036854775808', expected
99999999999999999999 its step is '99999999999999999999', expected
3 its tokens are 32, but 3 steps take 24
5 its step is 5, but run/config.json has planned 4
END
edit run/checkpoint.safetensors 's/"step":"4"/"step":"3"/; s/"tokens":"32"/"tokens":"24"/'
refused 'run/checkpoint.safetensors: its optimiser has made 4 steps, but its step is 3' 2
edit run/checkpoint.safetensors 's/"metrics_bytes":"[0-9]*"/"metrics_bytes":"7"/'
refused 'run/metrics.jsonl: its first 7 bytes don.t end in a line of step' 3

# ---- links and pipes in a run ----

rm -rf saved run
status 0 "$ASCGRAD" train $tiny --out saved --steps 8
cp -r saved run
for name in config.json vocab.txt metrics.jsonl checkpoint.safetensors model.safetensors; do
    cp saved/$name outside
    rm run/$name && ln -s ../outside run/$name
    refused "run/$name: is a symbolic link, expected a regular file\$"
    same outside saved/$name
    rm run/$name && mkfifo run/$name
    status 3 timeout 120 "$ASCGRAD" train --resume --out run
    has err "^ascgrad train: run/$name: is a pipe, expected a regular file\$"
    rm run/$name && mkdir run/$name
    refused "run/$name: is a folder, expected a regular file\$"
done
for name in config.json.ascgrad-tmp metrics.jsonl.ascgrad-tmp checkpoint.safetensors.ascgrad-tmp \
    model.next.safetensors model.kept.safetensors; do
    : >outside
    ln -s ../outside run/$name
    refused "run/$name: is a symbolic link"
    mkfifo run/$name
    status 3 timeout 120 "$ASCGRAD" train --resume --out run
    has err "^ascgrad train: run/$name: is a pipe"
    rm run/$name
done
[ ! -s outside ] || fail 'a file outside of the run was written'
for name in config.json model.safetensors; do
    for command in eval generate inspect; do
        cp saved/$name outside
        rm run/$name && ln -s ../outside run/$name
        status 3 "$ASCGRAD" $command run
        has err "^ascgrad $command: run/$name: is a symbolic link, expected a regular file\$"
        rm run/$name && mkfifo run/$name
        status 3 timeout 120 "$ASCGRAD" $command run
        has err "^ascgrad $command: run/$name: is a pipe, expected a regular file\$"
        rm run/$name && cp saved/$name run
    done
done
rm run/metrics.jsonl && mkfifo run/metrics.jsonl
status 3 timeout 120 "$ASCGRAD" inspect run --what training --out look
has err '^ascgrad inspect: run/metrics.jsonl: is a pipe'
rm -rf run && cp -r saved run

# what a person names may be a link: the run, the model, the data, the file of settings
ln -s run linked
ln -s run/model.safetensors model.safetensors
status 0 "$ASCGRAD" eval linked
status 0 "$ASCGRAD" eval model.safetensors --data builtin:8000
status 0 "$ASCGRAD" train --resume --out linked --steps 9

# settings from a pipe that has a writer, read once; one without is not waited for without end
mkfifo settings
# shellcheck disable=SC2086  # a list of options
status 0 timeout 120 sh -c 'echo "{\"steps\": 3, \"layers\": 1}" | "$@"' - \
    "$ASCGRAD" train --config /dev/stdin $tiny --out piped
has out 'done after step 3 of 3'
has piped/config.json '"layers": 1'
status 3 timeout 120 "$ASCGRAD" train --config settings $tiny --out never
has err '^ascgrad train: settings: is a pipe, and for [0-9]* s nothing has written to it'
exit $failed
