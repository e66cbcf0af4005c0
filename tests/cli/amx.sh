#!/bin/sh
# Trainings on AMX's tiles: the same bits for any number of threads, and losses near those of other instructions.
# tests/kernels/test_packed runs the same kernel on tiles written in C on any processor.
. "$abs_top_srcdir/tests/program.sh"
"$ASCGRAD" info --json | grep -q '"bf16": "amx"' || { echo 'no AMX on this processor'; exit 77; }

for model in transformer grassmann ascender linear; do
    settings="$tiny --model $model --dim 96 --block 64 --steps 20 --log-every 10 --precision bf16"
    for threads in 1 3; do
        status 0 "$ASCGRAD" train $settings --threads $threads --out "$model-$threads"
    done
    same_run "$model-1" "$model-3"
    ASCGRAD_ISA=avx512_bf16 status 0 "$ASCGRAD" train $settings --out "$model-other"
    a=$(tail -n 1 "$model-1/metrics.jsonl" | field loss) b=$(tail -n 1 "$model-other/metrics.jsonl" | field loss)
    awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d < 0.02 && d > -0.02) }' || fail "$model: losses $a and $b"
done
exit $failed
