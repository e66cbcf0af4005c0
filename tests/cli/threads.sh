#!/bin/sh
# The number of threads changes nothing, not a bit.
. "$abs_top_srcdir/tests/program.sh"
for model in $("$ASCGRAD" info | sed -n 's/^models  *//p' | tr -d ,); do
    settings="$tiny --model $model --steps 20 --eval-every 10 --accumulate 2 --log-every 1"
    for threads in 1 2 3; do
        status 0 "$ASCGRAD" train $settings --threads $threads --out "$model$threads"
    done
    same_run "${model}1" "${model}2"
    same_run "${model}1" "${model}3"
done
exit $failed
