#!/bin/sh
# A training on several processes, one of which is killed, fifty times, and that goes on with another number of them:
# the same model, checkpoint and metrics as without, with an optimiser that is divided and one that is not.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"
. "$abs_top_srcdir/tests/ranks_matrix.sh"
new="$settings --shards 8 --steps 25000 --eval-every 5000 --log-every 500 --checkpoint-every 20"

# begin N ARGUMENT...: a job in the background, whose $n processes are there
begin() {
    n=$1
    shift
    "$mpirun" -n "$n" "$ASCGRAD" train "$@" -q >out 2>err &
    job=$!
    while [ "$(processes_of $job | wc -l)" -lt "$n" ] && kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
}

# survive ARGUMENT...: the run, killed again and again.
survive() {
    rm -rf killed
    kills=0
    while :; do
        n=2
        [ $kills -ge 50 ] || n=$((1 << (1 + kills % 3)))
        if [ -f killed/config.json ]; then
            begin $n --resume killed
        else
            # shellcheck disable=SC2086
            begin $n $new "$@" --out killed
        fi
        if [ $kills -lt 50 ]; then
            sleep "$(awk -v i=$kills 'BEGIN { printf "%.3f", 0.05 + i * 0.618034 - int(i * 0.618034) }')"
            kill -KILL "$(processes_of $job | sed -n "$((1 + kills * 7 % n))p")" 2>/dev/null
        fi
        wait $job
        got=$?
        [ $got -ne 0 ] && [ $kills -lt 50 ] || break
        kills=$((kills + 1))
    done
    [ $got -eq 0 ] || { fail "status $got after $kills kills"; cat err; }
    [ $kills -ge 20 ] || fail "done after $kills kills, which says little"
    echo "$kills kills"
    same_all whole killed
}

# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $new -q --out whole
survive
survive --shard-optimizer
exit $failed
