#!/bin/sh
# train --cache: tokenised text is kept, found by what it was made of, and made again where it is damaged; the models
# are those without it.
. "$abs_top_srcdir/tests/program.sh"
ruled_text 3000 >text.txt
settings="--preset tiny --steps 4 --data text.txt"

# train_with OPTION...: into run, which is new
train_with() {
    rm -rf run
    # shellcheck disable=SC2086  # a list of options
    status 0 "$ASCGRAD" train $settings --out run "$@"
}

train_with
cp -r run plain
train_with --cache kept/tokens
same run/model.safetensors plain/model.safetensors
has run/config.json '"cache": "/.*/kept/tokens"'
ls kept/tokens >files
lines files 3
cp -r kept first

# what is there is read: another file of the same text finds it, too
chmod -w kept/tokens/* && cp text.txt copy.txt
settings="--preset tiny --steps 4 --data copy.txt"
train_with --cache kept/tokens
same run/model.safetensors plain/model.safetensors
lacks err 'token'
ls kept/tokens >files
lines files 3

# damaged: told, and made again
file=kept/tokens/$(sed -n 1p files)
chmod +w "$file"
printf 'x' | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
train_with --cache kept/tokens
has err '^ascgrad train: .*tokens/.*; the text is tokenised again$'
same run/model.safetensors plain/model.safetensors
same "$file" first/tokens/"$(sed -n 1p files)"

# another vocabulary, other files; a resume finds the same
train_with --cache kept/tokens --tokenizer byte
ls kept/tokens >files
lines files 6
status 0 "$ASCGRAD" train --resume --out run --steps 6

# which id is unknown is the tokenizer's, not the cache's
printf '[PAD]\n[UNK]\nw\n##1\n##2\n##3\n' >vocab.txt
settings="--preset tiny --steps 4 --data text.txt --tokenizer wordpiece:vocab.txt"
for run in made kept; do
    train_with --cache kept/tokens --json
    field unknown <out >unknown.$run
done
same unknown.made unknown.kept
[ "$(cat unknown.made)" != 0 ] || fail 'nothing is unknown'
settings="--preset tiny --steps 4 --data copy.txt"

# no place for it: told, and no error
train_with --cache text.txt/none
has err 'tokenised text is not kept$'
same run/model.safetensors plain/model.safetensors

# what is generated is not kept
settings="$tiny --steps 4"
train_with --cache none
[ -z "$(ls none)" ] || fail 'tokens of generated text are kept'
exit $failed
