#!/bin/sh
# A training that is killed a hundred times ends as one that was not: the same model and metrics, to the bit.
. "$abs_top_srcdir/tests/program.sh"
settings="$tiny --steps 3000 --eval-every 370 --checkpoint-every 10 --log-every 50"

for model in $("$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '",'); do
    rm -rf whole killed
    # shellcheck disable=SC2086  # a list of options
    status 0 "$ASCGRAD" train --model "$model" $settings --out whole
    kills=0
    while :; do
        # Pauses from 0.1 to 0.6 s: long enough for a checkpoint, of all lengths.
        pause=$(awk -v i=$kills 'BEGIN { printf "%.3f", 0.1 + (i * 0.618034 - int(i * 0.618034)) / 2 }')
        if [ $kills -ge 100 ]; then pause=600; fi
        if [ -f killed/config.json ]; then
            timeout -s KILL "$pause" "$ASCGRAD" train --resume --out killed >out 2>err
        else
            # shellcheck disable=SC2086
            timeout -s KILL "$pause" "$ASCGRAD" train --model "$model" $settings --out killed >out 2>err
        fi
        got=$?
        [ $got -eq 137 ] || break
        kills=$((kills + 1))
    done
    [ $got -eq 0 ] || { fail "$model: exit status $got after $kills kills"; cat err; }
    [ $kills -ge 20 ] || fail "$model: done after $kills kills, which says little"
    echo "$model: $kills kills"
    same_run whole killed
done
exit $failed
