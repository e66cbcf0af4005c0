#!/bin/sh
# The same model, checkpoint and metrics on 1, 2, 4 and 8 processes, and resumed on 4, 1 and 8. tests/cli/ranks_hours.sh
# has more of them.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"
. "$abs_top_srcdir/tests/ranks_matrix.sh"
compare transformer "1 8"
compare grassmann "1 4" --recompute --accumulate 2
compare ascender "1 2 8" --shard-optimizer
echo "$runs runs"
exit $failed
