#!/bin/sh
# What a person sees while training: the bar on terminals of several widths, plain lines elsewhere, interrupts, hints.
. "$abs_top_srcdir/tests/program.sh"

# shellcheck disable=SC2086
$CC -o terminal "$abs_top_srcdir/tests/cli/terminal.c" 2>cc.log || { echo "skipped: needs a pseudo-terminal"; exit 77; }
./terminal 80 -- true
[ $? -ne 99 ] || { echo "skipped: needs a pseudo-terminal"; exit 77; }
TERM=xterm
export TERM
escape=$(printf '\033')
drawn=$(printf '\033[J\r') # the end of each drawing
patience='timeout -s KILL 300'

# redraws FILE: the texts of the bar, one a line.
redraws() {
    tr '\r' '\n' <"$1" | sed -n "s/$escape\\[J\$//p" | grep .
}

# widest FILE N: some bar was drawn, and none is wider.
widest() {
    redraws "$1" >bars
    [ -s bars ] || { fail "$1: no bar was drawn"; cat -v "$1"; }
    awk -v most="$2" 'length($0) > most { print; wide = 1 } END { exit wide }' bars || fail "$1: wider than $2"
}

# A training that only an interrupt ends, which is sent once enough was seen: however fast or slow it is.
endless="$tiny --steps 1e9 --eval-every 1e9"

for width in 60 30 1; do
    most=$((width > 1 ? width - 1 : 1))
    status 0 $patience ./terminal $width -- "$ASCGRAD" train $tiny --steps 10 --eval-every 5 --out run$width
    widest out $most
    # all that stays are the lines that are meant to
    [ "$(tr -d '\r' <out | sed "s/.*$escape\[J//" | grep -c '^step')" -eq 2 ] ||
        { fail "width $width: other than two evaluations stay"; cat -v out; }
    status 130 $patience ./terminal $width "$drawn" $width "$drawn" $width "$drawn" ^C -- \
        "$ASCGRAD" train $endless --out endless$width
    widest out $most
done
has run60/summary.json '"state": "done"'
status 130 $patience ./terminal 100 'tokens/s' ^C -- "$ASCGRAD" train $endless --out steps
widest out 99
has bars '^\[[#.]*\]  *[0-9]* %  [0-9]*/1000000000  loss [0-9.]*  [0-9]* tokens/s  [0-9:-]* left$'

# a terminal that becomes narrower, which leaves no room for the [....] before the percents
status 130 $patience ./terminal 100 'tokens/s' 40 "$(printf '\r  0 %%')" ^C -- "$ASCGRAD" train $endless --out narrow
redraws out >bars
awk 'length($0) > 39 { wide = 1 } END { exit !wide }' bars || { fail 'no bar was wider before'; cat bars; }
tail -n 1 bars | awk 'length($0) > 39 { exit 1 }' || { fail 'wider than the terminal has become'; cat bars; }

# with a limit of time the time is shown
status 130 $patience ./terminal 100 'tokens/s' ^C -- "$ASCGRAD" train $endless --minutes 100 --out timed
widest out 99
has bars '% *[0-9:]* of 1:40:00  '
lacks bars '/1000000000'

# plain lines where a bar can't be: a dumb terminal, one without a name, none
for TERM in dumb ''; do
    status 0 $patience ./terminal 60 -- "$ASCGRAD" train $tiny --steps 20 --out plain$TERM
    lacks out "$(printf '\033')"
    has out '^step 10/20 '
done
TERM=xterm
status 0 "$ASCGRAD" train $tiny --steps 20 --out piped
lacks err "$(printf '\033\\|\r')"
has err '^step 10/20 '

# an interrupt says at once what it does, and what comes next
status 130 $patience ./terminal 100 'tokens/s' ^C -- "$ASCGRAD" train $endless --out once
has out 'ascgrad train: stops after this step, or soon, and saves'
has out 'ascgrad train: a second interrupt ends at once, at the last checkpoint'
has out 'train --resume --out once'
[ -s once/checkpoint.safetensors ] || fail 'an interrupt has saved nothing'
has once/summary.json '"reason": "stopped"'

# a step that would take minutes, on a fast machine, too, is given up; a second interrupt ends at once
big='--preset tiny --data builtin:400000 --tokenizer byte --batch 1 --accumulate 100 --block 300000 --steps 2'
status 130 $patience ./terminal 100 ' 0/2 ' ^C -- "$ASCGRAD" train $big --out big
has out 'a step has [0-9.e+]* TFLOP and will take about [0-9]* minutes here'
has out 'all that a resume needs is saved'
has big/summary.json '"steps": 0,'
# Two seconds after the first the step is given up, which on a machine that is overloaded may come before the second.
for attempt in 1 2 3 4 5; do
    status 130 $patience ./terminal 100 ' 0/2 ' ^C 'a second interrupt' ^C -- "$ASCGRAD" train --resume --out big
    ! grep -q 'ended at once' out || break
done
has out 'ended at once; --resume goes on after the last checkpoint'
exit $failed
