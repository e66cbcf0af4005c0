#!/bin/sh
# Files that a stranger has written, and a system that has little to give: an error in one line, at once.
# Usage: ASCGRAD=build/ascgrad strangers.sh
. "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/program.sh"
: "${ASCGRAD:=$PWD/build/ascgrad}"
command -v timeout >/dev/null || { echo 'no timeout'; exit 77; }

# soon WANTED ARGUMENT...: as status, but what hangs is a failure.
soon() {
    soon_wanted=$1
    shift
    status "$soon_wanted" timeout -s KILL 60 "$ASCGRAD" "$@"
}

tiny='--preset tiny --model transformer --data builtin:3000 --steps 2 --threads 1 -q'
# shellcheck disable=SC2086  # several words
soon 0 train $tiny --out run

# a pipe that nobody writes to is not waited for without a word, nor without end, whatever is to be read from it
mkfifo pipe
printf 'a b\n' >text
at=0
while read -r line; do
    at=$((at + 1))
    # shellcheck disable=SC2086
    { timeout -s KILL 120 "$ASCGRAD" $line 2>"err.$at"; echo $? >"status.$at"; } >/dev/null &
done <<'LINES'
train --config pipe --data text --out never
train --data text --tokenizer wordpiece:pipe --out never
experiment run pipe --out never
stats pair pipe text
generate run --prompt-file pipe --tokens 1
LINES
wait
while [ $at -gt 0 ]; do
    has "status.$at" '^3$'
    has "err.$at" "pipe: is a pipe; what writes to it is waited for"
    has "err.$at" "pipe: is a pipe, and for [0-9]* s nothing has written to it$"
    at=$((at - 1))
done
soon 3 train --data pipe --out never
has err 'pipe: is neither a regular file nor a folder'
for file in config.json vocab.txt metrics.jsonl model.safetensors checkpoint.safetensors; do
    mv run/$file kept
    mkfifo run/$file
    soon 3 train --resume run --steps 4
    has err "run/$file: is a pipe, expected a regular file"
    rm run/$file
    mv kept run/$file
done

# one with a writer is read, by each of its names, also where the writer comes a little later
printf 'a b\n' | soon 0 tokenize --tokenizer byte -
has out '^97 32 98'
for late in 0 3; do # writes as soon as the pipe has been opened to be read, or later
    (sleep $late; printf 'a b\n' >pipe) &
    soon 0 tokenize --tokenizer byte pipe
    has out '^97 32 98'
    wait
done
soon 3 tokenize --tokenizer byte /dev/zero
has err '/dev/zero: is a device, expected a file$'

# a name that the path leaves again is not made
# shellcheck disable=SC2086
soon 3 train $tiny --out new/../run2
[ ! -e new ] || fail 'new/../run2 left the folder new'

# an experiment's folder: what would be written through a link is not, and a pipe is not waited for
cat >few.json <<'JSON'
{"name": "few", "common": {"preset": "tiny", "data": "builtin:2000", "tokenizer": "byte", "steps": 1, "layers": 1,
            "dim": 8, "heads": 1, "batch": 2, "block": 8, "eval-tokens": 50, "threads": 1},
 "systems": {"t": {"model": "transformer"}}, "seeds": [1]}
JSON
soon 0 experiment run few.json --out made
mkdir mine
echo kept >mine/file
# linked NAME TO: an experiment with a link of that name
linked() {
    rm -rf theirs && cp -r made theirs && rm -rf theirs/done/t-1.json "theirs/$1"
    ln -s "$folder/mine$2" "theirs/$1"
}
for link in runs runs/t-1 done logs settings claims; do
    linked $link ''
    soon 3 experiment run theirs
    has err "theirs/$link: is a symbolic link, expected a folder"
done
linked logs/t-1.log /file
soon 3 experiment run theirs
has err 'theirs/logs/t-1.log: is a symbolic link, expected a regular file'
rm theirs/logs/t-1.log && mkfifo theirs/logs/t-1.log
soon 3 experiment run theirs
has err 'theirs/logs/t-1.log: is a pipe, expected a regular file'
for link in tables figures scores; do
    linked $link ''
    cp made/done/t-1.json theirs/done
    soon 3 experiment report theirs
    has err "theirs/$link: is a symbolic link, expected a folder"
done
[ "$(ls mine; cat mine/file)" = "$(printf 'file\nkept')" ] || fail "a link in an experiment was followed: $(ls mine)"

# what decides about a run is held by its checkpoint
sed -i 's/"seed": 1/"seed": 2/' run/config.json
soon 3 train --resume run --steps 4
has err '^ascgrad train: run/config.json: seed is 2, but the run was trained with 1 until its checkpoint'
sed -i 's/"seed": 2/"seed": 1/; s/"heads": 2/"heads": 1/' run/config.json
soon 3 train --resume run --steps 4
has err '^ascgrad train: run/config.json: model.heads is 1, but the run was trained with 2'
sed -i 's/"heads": 1/"heads": 2/' run/config.json
soon 0 train --resume run --steps 4

# a batch that no memory has
cp -r run large
sed -i 's/"batch": [0-9]*/"batch": 4611686018427387968/' large/config.json
soon 0 eval large --data builtin:30000
soon 3 train --resume large --steps 5

# metadata that ask for gigabytes, of a model that has no tensors
config='{\"mix\":\"transformer\",\"layers\":12,\"d_model\":4096,\"heads\":2,\"vocab\":50000,\"block\":8}'
header="{\"__metadata__\":{\"config\":\"$config\",\"tokenizer\":\"byte\"}}"
# shellcheck disable=SC2059  # an octal escape
printf "\\$(printf %03o ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header" >claims.safetensors
soon 3 eval claims.safetensors --data text --max-memory 50
has err '^ascgrad eval: claims.safetensors: has no tensor tok_emb.weight'

# a checkpoint without checksums, whose numbers are of another type: the file is wrong, and not the command
cp -r run typed
LC_ALL=C sed -e 's/"asc_crc32/"bsc_crc32/g' -e 's/\("optim\.m\.tok_emb\.weight":{"dtype":"\)F32/\1I32/' \
    run/checkpoint.safetensors >typed/checkpoint.safetensors
cp -r typed before
soon 3 train --resume typed --steps 4
has err "typed/checkpoint.safetensors: .*'optim.m.tok_emb.weight': it is I32, which is not read as f32$"
diff -r typed before || fail 'a refused resume changed the run'

# a line of megabytes takes as long as so many bytes in short ones
head -c 4000000 /dev/zero | tr '\0' a >long
printf 'some text to learn from\n' >few
soon 0 tokenize --learn bpe --vocab-size 258 -o tok.json few
for tokenizer in byte bpe:tok.json "wordpiece:$abs_top_srcdir/tests/train/encoder/vocab.txt"; do
    (ulimit -t 50; soon 0 tokenize --tokenizer "$tokenizer" long; exit "$failed") || failed=1
done

# a small file that unpacks to one line without end is left before it takes gigabytes
head -c 200000000 /dev/zero | gzip -1 >endless.gz
for tokenizer in byte word; do
    soon 3 train --preset tiny --data endless.gz --tokenizer $tokenizer --out never
    has err 'endless.gz: line 1: has more than 128 MiB, expected shorter lines$'
    lines err 1
done
soon 3 tokenize --tokenizer byte endless.gz
has err 'endless.gz: line 1: has more than 128 MiB, expected shorter lines$'

# no more memory than is given: its parameters alone are larger
soon 0 train $tiny --dim 160 --steps 1 --out wide
soon 3 eval wide --max-memory 1
has err '^ascgrad eval: .*out of memory'
soon 0 eval run --max-memory 200
soon 0 verify run --max-memory 20

# a limit on address space that OpenBLAS would wait behind for good
if ulimit -v 100000 2>/dev/null && [ "${ASCGRAD_SANITIZED-}" != yes ]; then
    soon 3 info
    has err 'limit on address space'
    lines err 1
fi
exit "$failed"
