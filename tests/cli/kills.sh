#!/bin/sh
# Trainings that are killed again and again, up to a hundred times, end as one that was not: the same model and metrics,
# to the bit.
. "$abs_top_srcdir/tests/program.sh"
settings="$tiny --steps 3000 --eval-every 370 --checkpoint-every 10 --log-every 50"

for model in $("$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '",'); do
    rm -rf whole killed
    # shellcheck disable=SC2086  # a list of options
    status 0 "$ASCGRAD" train --model "$model" $settings --out whole
    kills=0
    while :; do
        if [ -f killed/config.json ]; then
            "$ASCGRAD" train --resume --out killed >out 2>err &
        else
            # shellcheck disable=SC2086
            "$ASCGRAD" train --model "$model" $settings --out killed >out 2>err &
        fi
        # Pauses of all lengths from 0.05 to 0.3 s: some are long enough for a checkpoint.
        if [ $kills -lt 100 ]; then
            sleep "$(awk -v i=$kills 'BEGIN { printf "%.3f", 0.05 + (i * 0.618034 - int(i * 0.618034)) / 4 }')"
            kill -KILL $! 2>/dev/null
        fi
        wait $! 2>/dev/null
        got=$?
        [ $got -eq 137 ] || break
        kills=$((kills + 1))
    done
    [ $got -eq 0 ] || { fail "$model: exit status $got after $kills kills"; cat err; }
    [ $kills -ge 10 ] || fail "$model: done after $kills kills, which says little"
    echo "$model: $kills kills"
    same_run whole killed
done
exit $failed
