#!/bin/sh
# What a person sees while training: the bar on terminals of several widths, plain lines elsewhere, interrupts, hints.
. "$abs_top_srcdir/tests/program.sh"

# shellcheck disable=SC2086
$CC -o terminal "$abs_top_srcdir/tests/cli/terminal.c" 2>cc.log || { echo "skipped: needs a pseudo-terminal"; exit 77; }
./terminal 80 0 0 true
[ $? -ne 99 ] || { echo "skipped: needs a pseudo-terminal"; exit 77; }
TERM=xterm
export TERM
patience='timeout -s KILL 120'

# redraws FILE: the texts of the bar, one a line.
redraws() {
    tr '\r' '\n' <"$1" | sed -n "s/$(printf '\033')\\[J\$//p" | grep .
}

# widest FILE N: some bar was drawn, and none is wider.
widest() {
    redraws "$1" >bars
    [ -s bars ] || { fail "$1: no bar was drawn"; cat -v "$1"; }
    awk -v most="$2" 'length($0) > most { print; wide = 1 } END { exit wide }' bars || fail "$1: wider than $2"
}

# Nothing here rests on how fast a machine is: what must be drawn often goes on until it was.
slow='--preset tiny --data builtin:20000 --tokenizer word --batch 32 --block 128 --eval-every 5'
for width in 60 30 1; do
    status 0 $patience ./terminal $width 0 0 "$ASCGRAD" train $slow --steps 10 --out run$width
    widest out $((width > 1 ? width - 1 : 1))
    # all that stays are the lines that are meant to
    [ "$(tr -d '\r' <out | sed "s/.*$(printf '\033')\\[J//" | grep -c '^step')" -eq 2 ] ||
        { fail "width $width: other than two evaluations stay"; cat -v out; }
done
has run60/summary.json '"state": "done"'
endless="$slow --steps 1000000 --eval-every 1000000"
status 130 $patience ./terminal 100 0 1 "$ASCGRAD" train $endless --out steps
widest out 99
has bars '^\[[#.]*\]  *[0-9]* %  [0-9]*/1000000  loss [0-9.]*  [0-9]* tokens/s  [0-9:-]* left$'

# a terminal that becomes narrower
status 130 $patience ./terminal 100 40 1 "$ASCGRAD" train $endless --out narrow
redraws out >bars
awk 'length($0) > 39 { wide = 1 } END { exit !wide }' bars || { fail 'no bar was wider before'; cat bars; }
tail -n 1 bars | awk 'length($0) > 39 { exit 1 }' || { fail 'wider than the terminal has become'; cat bars; }

# with a limit of time the time is shown
status 0 $patience ./terminal 100 0 0 "$ASCGRAD" train $slow --steps 100000 --minutes 0.03 --out timed
widest out 99
has bars '% *[0-9]*:[0-9]* of 0:[0-9]'
lacks bars '/100000'

# plain lines where a bar can't be: a dumb terminal, one without a name, none
for TERM in dumb ''; do
    status 0 $patience ./terminal 60 0 0 "$ASCGRAD" train $tiny --steps 20 --out plain$TERM
    lacks out "$(printf '\033')"
    has out '^step 10/20 '
done
TERM=xterm
status 0 "$ASCGRAD" train $tiny --steps 20 --out piped
lacks err "$(printf '\033\\|\r')"
has err '^step 10/20 '

# an interrupt says at once what it does, and what comes next
status 130 $patience ./terminal 100 0 1 "$ASCGRAD" train $endless --out once
has out 'ascgrad train: stops after this step, or soon, and saves'
has out 'ascgrad train: a second interrupt ends at once, at the last checkpoint'
has out 'train --resume --out once'
[ -s once/checkpoint.safetensors ] || fail 'an interrupt has saved nothing'
has once/summary.json '"reason": "stopped"'

# a step that would take minutes is given up within seconds; a second interrupt ends at once
big='--threads 1 --preset tiny --data builtin:400000 --tokenizer byte --batch 1 --block 300000 --steps 2'
status 130 $patience ./terminal 100 0 1 "$ASCGRAD" train $big --out big
has out 'a step has [0-9.]* TFLOP and will take about [0-9]* minutes here'
has out 'all that a resume needs is saved'
has big/summary.json '"steps": 0,'
status 130 $patience ./terminal 100 0 2 "$ASCGRAD" train --resume --out big
has out 'ended at once; --resume goes on after the last checkpoint'
exit $failed
