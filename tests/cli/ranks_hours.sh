#!/bin/sh
# The same model, checkpoint and metrics on 1, 2, 4 and 8 processes, and resumed on 4, 1 and 8: three models, with
# recomputation and without, by each build of OpenBLAS that is installed or named in ASCGRAD_FLAVOURS;
# and a run whose processes are killed.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"
. "$abs_top_srcdir/tests/ranks_matrix.sh"
for place in /usr/lib/*/openblas-* ${ASCGRAD_FLAVOURS-}; do
    [ -e "$place/libopenblas.so.0" ] || continue
    for model in transformer grassmann ascender; do
        for recompute in "" --recompute; do
            # shellcheck disable=SC2086  # one word or none
            compare $model "1 2 4 8" $recompute --dropout 0.1
            [ -e "first-$model$recompute" ] || cp -r run-1 "first-$model$recompute"
            same_run "first-$model$recompute" run-1
            echo "$place, $model $recompute: $runs runs so far"
        done
    done
done
unset place

# 50 times a process of four is killed at some moment, and the run goes on, with another number of processes
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $settings --shards 8 --steps 4000 --eval-every 500 --log-every 50 -q --out whole
begin() { # N ARGUMENT...: a job in the background
    n=$1
    shift
    "$mpirun" -n "$n" "$ASCGRAD" train "$@" -q >out 2>err &
    job=$!
}
kills=0
while :; do
    if [ -f killed/config.json ]; then
        begin $((1 << (1 + kills % 3))) --resume killed
    else
        # shellcheck disable=SC2086
        begin 4 $settings --shards 8 --steps 4000 --eval-every 500 --log-every 50 --out killed
    fi
    if [ $kills -lt 50 ]; then
        sleep "$(awk -v i=$kills 'BEGIN { printf "%.3f", 0.3 + 1.5 * (i * 0.618034 - int(i * 0.618034)) }')"
        victim=$(ps -o pid= --ppid $job | sed -n "$((1 + kills * 7 % n))p")
        # shellcheck disable=SC2086
        kill -KILL $victim 2>/dev/null
    fi
    wait $job
    got=$?
    [ $got -ne 0 ] || break
    kills=$((kills + 1))
    [ $kills -le 60 ] || { fail "status $got after the last kill"; cat err; break; }
done
echo "$kills kills"
[ $kills -ge 20 ] || fail "done after $kills kills, which says little"
same_all whole killed
exit $failed
