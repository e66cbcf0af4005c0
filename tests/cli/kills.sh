#!/bin/sh
# Trainings that are killed a hundred times end as one that was not: the same model and metrics, to the bit.
. "$abs_top_srcdir/tests/program.sh"
settings="$tiny --set schedule_steps=3000 --eval-every 370 --checkpoint-every 10 --log-every 50"

for model in $("$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '",'); do
    rm -rf whole killed
    for i in $(seq 100); do
        how="--model $model $settings --steps 1e9"
        [ ! -f killed/config.json ] || how=--resume
        # shellcheck disable=SC2086  # a list of options
        "$ASCGRAD" train $how --out killed >out 2>err &
        # Pauses of all lengths from 0.05 to 0.3 s: some are long enough for a checkpoint.
        sleep "$(awk -v i="$i" 'BEGIN { printf "%.3f", 0.05 + (i * 0.618034 - int(i * 0.618034)) / 4 }')"
        kill -KILL $!
        wait $! 2>/dev/null
        got=$?
        [ $got -eq 137 ] || { fail "$model: exit status $got before kill $i"; cat err; }
    done
    # It ends where it is by now, which depends on the machine.
    step=$(sed -n 's/.*"step": \([0-9]*\),.*/\1/p' killed/metrics.jsonl | tail -n 1)
    steps=$((${step:-0} + 7))
    echo "$model: $steps steps"
    status 0 "$ASCGRAD" train --resume --out killed --steps $steps
    # shellcheck disable=SC2086
    status 0 "$ASCGRAD" train --model "$model" $settings --steps $steps --out whole
    same_run whole killed
done
exit $failed
