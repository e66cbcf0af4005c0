#!/bin/sh
# A training under mpirun that loses a process, or its disk, or is told to stop: all end, one says why, and the last
# checkpoint stands.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"

# begin NAME ARGUMENT...: a job in the background; its launcher is $job, its processes' numbers are $pids
begin() {
    name=$1
    shift
    # shellcheck disable=SC2086
    "$mpirun" -n 2 "$ASCGRAD" train $settings --quiet --steps 1000000 --out "$name" "$@" >out 2>err &
    job=$!
    waited=0
    while [ ! -e "$name/checkpoint.safetensors" ] && [ $waited -lt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    pids=$(processes_of $job)
}

# second: the number of rank 1's process
second() {
    # shellcheck disable=SC2086
    set -- $pids
    echo "$2"
}

# gone NAME: the job has ended with another status than 0, and no process of it is left
gone() {
    wait $job
    got=$?
    [ $got -ne 0 ] || fail "$1: the launcher ends with 0"
    for pid in $pids; do
        for _ in 1 2 3 4 5 6 7 8 9; do
            case $(ps -o stat= -p "$pid") in
            '' | Z*) break ;; # gone, or nobody has asked for its status yet
            *) sleep 3 ;;
            esac
        done
        case $(ps -o stat= -p "$pid") in
        '' | Z*) ;;
        *) fail "$1: process $pid is left" ;;
        esac
    done
}

# a process is killed: the last checkpoint is whole, and the run goes on from it
begin killed
silence=$((2 + waited * 4 / 10)) # four times as long as all the ranks took to begin
kill -9 "$(second)"
gone killed
lacks err 'saves'
step=$(sed -n '$s/.*"step": \([0-9]*\).*/\1/p' killed/metrics.jsonl)
status 0 "$ASCGRAD" train --resume killed --steps $((step + 2))

# one stands still for longer than it may
begin still --rank-timeout $silence
kill -STOP "$(second)"
gone still
has err "rank 0: rank 1 has said nothing for $silence s; the job ends"

# a warning to all saves and ends
begin warned
# shellcheck disable=SC2086
kill -TERM $pids
gone warned
has err 'all that a resume needs is saved'
status 0 "$ASCGRAD" train --resume warned --steps 1

# rank 0 can't write any more
begin full
until mkdir full/checkpoint.safetensors.ascgrad-tmp 2>/dev/null; do # while a checkpoint is written, there is one
    sleep 0.01
done
gone full
[ "$got" -eq 3 ] || fail "full: status $got, expected 3"
[ "$(grep -c 'rank 0: .*checkpoint.safetensors.ascgrad-tmp: is a folder' err)" -eq 1 ] ||
    fail "not told once: $(cat err)"
exit $failed
