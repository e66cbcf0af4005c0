#!/bin/sh
# What is printed to a person has no control characters, wherever the names and texts come from; JSON is as it is.
# Usage: ASCGRAD=build/ascgrad plain.sh
. "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/program.sh"
: "${ASCGRAD:=$PWD/build/ascgrad}"
esc=$(printf '\033')
evil="${esc}]0;title$(printf '\007')"

# plain WHAT: neither stream of the last command has one.
plain() {
    if cat out err | LC_ALL=C tr -d '\n\t' | LC_ALL=C grep -q '[[:cntrl:]]'; then
        fail "$1: control characters:"
        cat -v out err
    fi
}

# a vocabulary with escape sequences, which generate writes
i=0
while [ $i -lt 300 ]; do
    printf 'w%s%s\342\200\256x the\n' "$evil" $((i % 7))
    i=$((i + 1))
done >text
tiny='--preset tiny --steps 2 --block 8 --threads 1 -q --layers 1'
# shellcheck disable=SC2086  # several words
status 0 "$ASCGRAD" train $tiny --data text --tokenizer word --out "run$evil"
plain train
status 0 "$ASCGRAD" generate "run$evil" "w${evil}1" --tokens 40 --seed 3
plain generate
has out '?\]0;title?'
status 0 "$ASCGRAD" generate "run$evil" --tokens 10 --json
has out 'u001B'
for command in 'eval' 'verify' 'runs' 'inspect' 'plot' 'compare other'; do
    # shellcheck disable=SC2086
    "$ASCGRAD" $command "run$evil" >out 2>err
    plain "$command"
done
status 2 "$ASCGRAD" "walk$evil"
plain 'an unknown command'
status 3 "$ASCGRAD" eval "no$evil"
plain 'a path that is not there'
"$ASCGRAD" train --config "no$evil" --out never >out 2>err
plain 'a file that is not there'
printf '{"%s": 1}' '\u001b]0;x' >config.json
status 2 "$ASCGRAD" train --config config.json --data builtin --out never
plain 'a setting that is not there'
printf '{"name": "a", "systems": {"%s": {}}}' '\u001b]0;x' >experiment.json
"$ASCGRAD" experiment run experiment.json --out never >out 2>err
plain 'an experiment'

# lines' ends, tabs and letters stay
printf 'caf\303\251\tx\r\n' >text
status 0 "$ASCGRAD" generate "run$evil" --prompt-file text --tokens 1
has out "caf$(printf '\303\251')$(printf '\t')x"

# one line of a message stays one
status 3 "$ASCGRAD" eval 'no
ascgrad eval: all is well'
lacks err '^ascgrad eval: all is well'
exit "$failed"
