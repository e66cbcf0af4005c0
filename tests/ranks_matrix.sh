# shellcheck shell=sh
# tests/ranks_matrix.sh: runs that must be the same on any number of processes; sourced after ranks.sh.
runs=0

# on N ARGUMENT...: train on N processes, with the BLAS of $place where there are several.
on() {
    ranks=$1
    shift
    LD_LIBRARY_PATH=${place-${LD_LIBRARY_PATH-}} \
        status 0 "$mpirun" -n "$ranks" "$ASCGRAD" train --rank-timeout 120 "$@" -q
    runs=$((runs + 1))
}

# without_time FILE: a checkpoint less its time, the length of metrics.jsonl, which has times, and what depends on them:
# the header's length and checksum.
without_time() {
    LC_ALL=C sed -e 's/"elapsed_s": *"[^"]*"//' -e 's/"metrics_bytes": *"[0-9]*"//' -e 's/"asc_crc32": *"[0-9a-f]*"//' \
        -e 's/}} */}}/' "$1" | tail -c +9
}

# same_all RUN RUN: to the bit, the checkpoint, too.
same_all() {
    same_run "$1" "$2"
    without_time "$1/checkpoint.safetensors" >checkpoint.1
    without_time "$2/checkpoint.safetensors" >checkpoint.2
    same checkpoint.1 checkpoint.2
}

# compare MODEL NUMBERS ARGUMENT...: new runs on those numbers of processes; then one that has 4, 1 and 8 in turn.
compare() {
    model=$1
    numbers=$2
    shift 2
    rm -rf run-*
    for n in $numbers; do
        # shellcheck disable=SC2086
        on "$n" $settings --shards 8 --model "$model" "$@" --steps 6 --out "run-$n"
        [ "$n" -eq 1 ] || same_all run-1 "run-$n"
    done
    # shellcheck disable=SC2086
    on 4 $settings --shards 8 --model "$model" "$@" --steps 2 --out run-turns
    on 1 --resume run-turns --steps 4
    on 8 --resume run-turns --steps 6
    same_all run-1 run-turns
}
