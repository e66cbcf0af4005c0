#!/bin/sh
# ascgrad tokenize: ids, a line for each line.
. "$abs_top_srcdir/tests/program.sh"

printf 'the cat\n\nthe dog\n' >text
status 0 "$ASCGRAD" tokenize text
printf '2 3 1\n1\n2 4 1\n' >wanted
same out wanted
printf 'the cat\n\nthe dog' >open # as in training, the last line is one without its newline, too
status 0 "$ASCGRAD" tokenize open
same out wanted
status 0 "$ASCGRAD" tokenize --tokenizer byte - <text
printf '116 104 101 32 99 97 116 10\n10\n116 104 101 32 100 111 103 10\n' >wanted
same out wanted

# who writes into a pipe line by line is answered line by line
mkfifo lines.pipe
"$ASCGRAD" tokenize --tokenizer byte <lines.pipe >out &
exec 3>lines.pipe
for n in 1 2; do
    echo "line $n" >&3
    answered out $n
done
exec 3>&-
wait

printf '[UNK]\nun\n##aff\n##able\nhello\n,\n' >vocab
echo 'Unaffable, HELLO xyz <unk>' | gzip >text.gz
status 0 "$ASCGRAD" tokenize text.gz --tokenizer wordpiece:vocab
printf '1 2 3 5 4 0 0 1 0 0\n' >wanted
has out '^1 2 3 5 4 0 '
status 0 "$ASCGRAD" tokenize text.gz --tokenizer wordpiece:vocab --corpus
printf '1 2 3 5 4 0 0\n' >wanted
same out wanted
status 0 "$ASCGRAD" tokenize text.gz --tokenizer wordpiece:vocab --corpus --json
has out '"tokens": 7'
has out '"lines": \[\[1, 2, 3, 5, 4, 0, 0\]\]'

status 2 "$ASCGRAD" tokenize --tokenizer byte --vocab vocab text
has err '^ascgrad tokenize: --vocab: byte has no vocabulary'
status 2 "$ASCGRAD" tokenize --tokenizer wordpiece:vocab --vocab vocab text
status 3 "$ASCGRAD" tokenize none.txt
has err '^ascgrad tokenize: none.txt: '
status 2 "$ASCGRAD" tokenize --tokenizer wrod text
has err 'wrod'
printf 'un\000able\n' | "$ASCGRAD" tokenize --tokenizer wordpiece:vocab >out || fail 'a byte 0 is refused'
printf '%s\n' '1 3' >wanted # BERT's tokenizer leaves control characters out
printf 'bad \377 byte\n' >binary
status 3 "$ASCGRAD" tokenize binary
has err 'binary: line 1'

# a tokenizer of one's own: learned, used, trained with
ruled_text 4000 >book.txt
status 0 "$ASCGRAD" tokenize --learn bpe --vocab-size 300 -o own.json book.txt
has out '^own.json: 300 tokens, learned from '
status 0 "$ASCGRAD" tokenize --tokenizer bpe:own.json --json book.txt
has out '"vocab": 300'
printf 'w7 \303\244\n\n' | "$ASCGRAD" tokenize --tokenizer bpe:own.json >out || fail 'status'
lines out 2
# shellcheck disable=SC2154  # of program.sh
status 0 "$ASCGRAD" train --preset tiny --steps 20 --data book.txt --tokenizer bpe:own.json --out run
status 0 "$ASCGRAD" eval run --split test --json
status 0 "$ASCGRAD" generate run --prompt 'w7 w49' --tokens 20
has out '^w7 w49'
status 0 "$ASCGRAD" generate run/model.safetensors --prompt 'w7 w49' --tokens 20
status 0 "$ASCGRAD" train --resume --out run --steps 25
echo '{}' >none.json
status 3 "$ASCGRAD" tokenize --tokenizer bpe:none.json text
has err '^ascgrad tokenize: none.json: pre_tokenizer.type is missing, expected "ByteLevel"'
: >empty
status 3 "$ASCGRAD" tokenize --learn bpe -o x empty
has err '^ascgrad tokenize: empty: is empty, expected a text to learn from$'
[ ! -e x ] || fail 'a tokenizer of nothing is there'
status 2 "$ASCGRAD" tokenize --learn words -o x text
has err "^ascgrad tokenize: --learn: got 'words', expected bpe"
status 2 "$ASCGRAD" tokenize --vocab-size 300 text
has err '^ascgrad tokenize: --vocab-size goes with --learn'
status 2 "$ASCGRAD" tokenize --learn bpe --tokenizer byte -o x text
has err '^ascgrad tokenize: --tokenizer goes without --learn'
status 2 "$ASCGRAD" tokenize --learn bpe text
has err 'o FILE is missing'
# a file of results is written beside those that a user has
printf 'abc abc abd\n' >pairs.tmp
cp pairs.tmp before
status 0 "$ASCGRAD" tokenize --learn bpe --vocab-size 260 -o pairs pairs.tmp
same pairs.tmp before
exit $failed
