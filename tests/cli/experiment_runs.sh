# shellcheck shell=sh
# Sourced by the tests of experiments, after program.sh: a small one, first.json, and how it is treated badly.

cat >first.json <<'END'
{"name": "first", "about": "two systems, two lengths",
 "common": {"preset": "tiny", "data": "builtin:2000", "steps": 12, "layers": 1, "dim": 16, "eval-every": 6,
            "checkpoint-every": 3},
 "systems": {"t": {"model": "transformer", "heads": 2}, "g": {"model": "grassmann"}},
 "grid": {"block": [8, 16]}, "seeds": [1],
 "tune": {"grid": {"lr": [0.003, 0.01]}, "steps": 8},
 "scales": {"small": {"grid": {"block": [16]}, "tune": null}}}
END

# same_experiment DIR DIR: the same models, and the same table, times aside.
same_experiment() {
    for run in "$1"/runs/* "$1"/tune/*/; do
        same "$run/model.safetensors" "$2/${run#"$1"/}/model.safetensors"
    done
    for each in "$1" "$2"; do
        status 0 "$ASCGRAD" experiment status "$each"
        sed 's/  *[0-9:]*$//; /^time:/d' out >"table.$each"
    done
    same "table.$1" "table.$2"
    # What a killed worker had begun to write goes when its run is claimed again, which one that is done never is.
    ls "$2"/claims "$2"/failed | grep -v '^$\|:$\|tmp$' && fail "$2: claims or failures are left"
}

# pause_of I: seconds, of all lengths from 0.02 to 0.4.
pause_of() {
    awk -v i="$1" 'BEGIN { x = (i + 1) * 0.618034; printf "%.3f", 0.02 + (x - int(x)) * 0.38 }'
}

# kill_often DIR TIMES: first.json, whose worker, run or both are killed again and again, and is then ended.
kill_often() {
    kills=0
    for i in $(seq "$2"); do
        "$ASCGRAD" experiment run first.json --out "$1" --jobs 2 >out.killed 2>err.killed &
        worker=$!
        sleep "$(pause_of "$i")"
        if [ $((i % 3)) -ne 1 ]; then
            sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$1"/*/*/running 2>/dev/null | xargs -r kill -KILL 2>/dev/null
        fi
        signal=KILL
        [ $((i % 3)) -eq 2 ] && signal=INT
        kill -$signal $worker 2>/dev/null && kills=$((kills + 1))
        wait $worker 2>/dev/null
    done
    echo "$1: $kills of $2 workers were ended"
    status 0 "$ASCGRAD" experiment run first.json --out "$1"
    lacks out 'failed\|open\|waiting'
}

# share DIR WORKERS: several work on first.json at once; each run is told of by one of them.
share() {
    workers=''
    for i in $(seq "$2"); do
        "$ASCGRAD" experiment run first.json --out "$1" >"out.$i" 2>"err.$i" &
        workers="$workers $!"
    done
    for worker in $workers; do
        wait "$worker"
        got=$?
        [ $got -eq 0 ] || { fail "$1: a worker's exit status is $got"; cat err.[0-9]*; }
    done
    cat err.[0-9]* | sed -n 's/.*\] \(.*\): done.*/\1/p' | sort >trained
    ls -d "$1"/runs/* "$1"/tune/*/ | sed 's,/$,,; s,.*/runs/,,; s,.*/tune/,tune-,' | sort >wanted
    same wanted trained
    rm -f err.[0-9]* out.[0-9]*
}
