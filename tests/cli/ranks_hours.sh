#!/bin/sh
# The same model, checkpoint and metrics on 1, 2, 4 and 8 processes, and resumed on 4, 1 and 8: three models, with
# recomputation and without, an optimiser that is divided and one that is not, by each build of OpenBLAS that is
# installed or named in ASCGRAD_FLAVOURS.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"
. "$abs_top_srcdir/tests/ranks_matrix.sh"
for place in /usr/lib/*/openblas-* ${ASCGRAD_FLAVOURS-}; do
    [ -e "$place/libopenblas.so.0" ] || continue
    for model in transformer grassmann ascender; do
        for recompute in "" --recompute; do
            # shellcheck disable=SC2086  # one word or none
            compare $model "1 2 4 8" $recompute --dropout 0.1 --shard-optimizer
            # shellcheck disable=SC2086
            compare $model "1 2 4 8" $recompute --dropout 0.1
            [ -e "first-$model$recompute" ] || cp -r run-1 "first-$model$recompute"
            same_run "first-$model$recompute" run-1
            echo "$place, $model $recompute: $runs runs so far"
        done
    done
done
exit $failed
