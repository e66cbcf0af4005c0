#!/bin/sh
# ascgrad generate: the same seed, the same text; beyond the block; prompts; where it stops; several; line by line.
. "$abs_top_srcdir/tests/program.sh"
status 0 "$ASCGRAD" train $tiny --out run

status 0 "$ASCGRAD" generate run --prompt 'the king' --tokens 3
has err "^ascgrad generate: the model does not know these words of the prompt: 'king'$"
status 0 "$ASCGRAD" generate run --prompt "$(printf 'the \033]0;title')" --tokens 3
has err "prompt: '?\]0;title'$"
status 0 "$ASCGRAD" generate run --prompt "zonk'zunk zunk" --tokens 3
has err "prompt: 'zonk'zunk', 'zunk'$"
status 0 "$ASCGRAD" generate run --prompt "$(printf '%0700d' 0)" --tokens 3
has err "prompt: [.][.][.]$"
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3
has out '^the dog'
lines err 1
has err '^ascgrad generate: 100 tokens in [0-9.]* s, [0-9]* tokens/s$'
cp out first
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --quiet
same out first
lines err 0
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --threads 1
same out first
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 4
cmp -s out first && fail 'another seed, the same text'
printf 'the dog' >prompt
"$ASCGRAD" generate run --prompt - --tokens 100 --seed 3 <prompt >out || fail "--prompt -: exit status $?"
same out first

# a text that nothing asks for: said, as it is not read
for option in '' --json; do
    "$ASCGRAD" generate run $option --tokens 3 <prompt >out 2>err || fail "an idle text: exit status $?"
    has err "^ascgrad generate: standard input has a text, which is not read: '--prompt -' continues it"
done
mkfifo pipe
exec 3<>pipe # so that the text is there before it is looked for
echo 'the dog' >&3
"$ASCGRAD" generate run --tokens 3 <&3 >out 2>err
exec 3>&-
has err 'standard input has a text'
for input in /dev/null prompt; do
    [ $input = prompt ] && set -- 'the dog' || set --
    "$ASCGRAD" generate run "$@" --tokens 3 <"$input" >out 2>err || fail "generate $*: exit status $?"
    lacks err 'standard input'
done

# a prompt with a zero; one that is no UTF-8 is refused, in a terminal the next is asked for
printf 'the\0 dog' >zero
"$ASCGRAD" generate run --prompt - --tokens 3 <zero >out || fail "a prompt with a zero: exit status $?"
head -c 8 out | grep -q '^the? dog' || fail 'a prompt with a zero was cut'
printf 'the\0dog the\0dog' >zero
"$ASCGRAD" generate run --prompt - --tokens 3 <zero >out 2>err || fail "a word with a zero: exit status $?"
has err "^ascgrad generate: the model does not know these words of the prompt: 'the?dog'$"
printf 'caf\351' >latin
status 2 "$ASCGRAD" generate run "$(cat latin)" --tokens 3
has err '^ascgrad generate: --prompt: byte 0xe9 at offset 3 is not UTF-8 text$'
status 3 "$ASCGRAD" generate run --prompt-file latin --tokens 3
has err '^ascgrad generate: latin: byte 0xe9 at offset 3 is not UTF-8 text$'
"$ASCGRAD" generate run --prompt - --tokens 3 <latin >out 2>err
[ $? -eq 3 ] || fail 'a prompt that is no UTF-8 is taken'
has err '^ascgrad generate: standard input: byte 0xe9 at offset 3 is not UTF-8 text$'
printf 'caf\351\nthe dog\n' >two
"$ASCGRAD" generate run --interactive --tokens 3 <two >out 2>err || fail "--interactive: exit status $?"
has err '^ascgrad generate: the prompt: byte 0xe9 at offset 3 is not UTF-8 text$'
lines out 1

# who asks by a pipe gets a reply to its end before the next prompt
mkfifo asked
: >replied
"$ASCGRAD" generate run --interactive --tokens 3 <asked >replied 2>err &
exec 9>asked
printf 'the dog\n' >&9
i=0
until [ "$(wc -l <replied)" -ge 1 ] || [ $((i += 1)) -gt 200 ]; do sleep 0.05; done
[ "$(wc -l <replied)" -ge 1 ] || fail 'the end of a reply waits for the next prompt'
exec 9>&-
wait $!

# a file: the newline at its end is the file's, one before it the prompt's; and so of a pipe
printf 'the dog\n' >prompt
for from in - '--prompt -'; do
    # shellcheck disable=SC2086
    "$ASCGRAD" generate run $from --tokens 100 --seed 3 <prompt >out || fail "generate $from: status $?"
    same out first
done
status 0 "$ASCGRAD" generate run --prompt-file prompt --tokens 100 --seed 3
same out first
"$ASCGRAD" generate run --prompt-file - --tokens 100 --seed 3 <prompt >out 2>err || fail "--prompt-file -: status $?"
same out first
printf 'the dog\n\n' >prompt
status 0 "$ASCGRAD" generate run --prompt-file prompt --tokens 100 --seed 3
cmp -s out first && fail 'the last newline of two was left out'
status 3 "$ASCGRAD" generate run --prompt-file nowhere
has err '^ascgrad generate: nowhere: can.t open: No such file or directory$'
status 2 "$ASCGRAD" generate run --prompt-file prompt the
has err '^ascgrad generate: --prompt-file: there is a prompt already: expected one'

# words that the model does not know are named
status 0 "$ASCGRAD" generate run --prompt 'the zonk and the zunk' --tokens 1
has err "^ascgrad generate: the model does not know these words of the prompt: 'zonk', 'zunk'$"

# the most probable: temperature 0, one candidate, almost no probability beside it
status 0 "$ASCGRAD" generate run --tokens 40 --temperature 0 --json
lines out 1
sed 's/"seconds": [^,]*, "tokens_per_s": [^,]*,//' out >greedy
[ "$(sed 's/.*"ids": \[\([^]]*\)\].*/\1/' greedy | tr ',' '\n' | wc -l)" -eq 40 ] || fail 'not 40 tokens'
for one in --top-k=1 --top-p=0.0001 --min-p=1; do
    status 0 "$ASCGRAD" generate run --tokens 40 $one --json
    sed 's/"seconds": [^,]*, "tokens_per_s": [^,]*,//' out >same_greedy
    same same_greedy greedy
done

# the text ends before the stop, which is none of it; ids are all that were drawn
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --json
json 'd["continuations"][0]["text"] == d["text"] == "the dog" + d["continuations"][0]["continuation"]'
json 'd["continuations"][0]["end"] == "tokens" and d["tokens"] == len(d["ids"]) == 100'
json 'd["unknown"] == d["ids"].count(0) / 100'
stop=$(head -n 1 first | cut -c 30-37)
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --stop "$stop" --stop never
head -n 1 first | awk -v stop="$stop" '{ print substr($0, 1, index($0, stop) - 1) }' >cut.txt
same out cut.txt
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --stop "$stop" --json --threads 1
json 'd["continuations"][0]["end"] == "stop" and d["text"] == open("cut.txt").read()[:-1] and len(d["ids"]) < 100'
status 2 "$ASCGRAD" generate run 'the dog' --stop ''
lines out 0
has err "^ascgrad generate: --stop: got ''"

# fewer repeats; the same with any number of threads
words() {
    tr ' ' '\n' <"$1" | sort -u | wc -l
}
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 60 --temperature 0
cp out often
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 60 --temperature 0 --repeat-penalty 1.5
[ "$(words out)" -gt "$(words often)" ] || fail "no fewer repeats: $(cat out often)"
cp out seldom
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 60 --temperature 0 --repeat-penalty 1.5 --threads 1
same out seldom
status 2 "$ASCGRAD" generate run --repeat-penalty 0
status 2 "$ASCGRAD" generate run --min-p 1.5

# several continuations, all different, the first as if it were alone
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --count 3
has out '^--- 1 of 3 ---$'
sed '1d; /^--- 2 of 3 ---$/,$d' out | cmp -s - first || fail 'the first of three is another'
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 100 --seed 3 --count 3 --json
json 'len(set(c["text"] for c in d["continuations"])) == 3 and d["tokens"] == 300'
json 'd["text"] == d["continuations"][0]["text"] == open("first").read()[:-1]'
status 2 "$ASCGRAD" generate run --count 2 --temperature 0
has err '^ascgrad generate: --count: got 2, expected 1: with --temperature 0 all'

# line by line: each prompt has draws of its own, the first the same as alone
printf 'the dog\n\nthe dog' >prompts
"$ASCGRAD" generate run -i --tokens 8 --seed 3 --stop '
' <prompts >out 2>err || fail "-i: exit status $?"
lines out 3
[ "$(sort -u out | wc -l)" -eq 3 ] || fail "prompts share their draws: $(cat out)"
lines err 1
has err ' tokens in .* tokens/s$'
sed 's/^/the dog/; q' out >one
status 0 "$ASCGRAD" generate run --prompt 'the dog' --tokens 8 --seed 3 --stop '
'
same out one
status 2 "$ASCGRAD" generate run -i the
has err '^ascgrad generate: --interactive: there is a prompt, expected none: '
status 2 "$ASCGRAD" generate run -i --json

# Ctrl-C stops a continuation that would hardly end, and not the program
grows() { # SIZE: waits until more than that is written
    tries=0
    while [ "$(wc -c <talk.out)" -le "$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || { fail 'nothing more is written'; return; }
        sleep 0.02
    done
}
mkfifo prompts.pipe
: >talk.out
"$ASCGRAD" generate run -i --tokens 1000000000 <prompts.pipe >talk.out 2>talk.err &
program=$!
exec 9>prompts.pipe
echo 'the dog' >&9
grows 0
kill -INT $program
echo 'the dog' >&9
grows "$(wc -c <talk.out)"
exec 9>&-
# More than once: what had grown may have been the first one, which was about to end.
while kill -INT $program 2>/dev/null; do
    sleep 0.1
done
wait $program || fail "after Ctrl-C and the end of the input: exit status $?"
has talk.err ' tokens in .* tokens/s$'

# a model file alone has its words with it
cp run/model.safetensors alone.safetensors
status 0 "$ASCGRAD" generate alone.safetensors --prompt 'the dog' --tokens 100 --seed 3
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
