#!/bin/sh
# ascgrad bench train: the figures, and that they fit together.
. "$abs_top_srcdir/tests/program.sh"
status 0 "$ASCGRAD" bench train --layers 1 --dim 32 --heads 2 --block 16 --batch 4 --vocab 100 --steps 3 --json
lines out 1
for key in tokens_per_s step_ms gflop_per_token gflops sgemm_gflops efficiency peak_rss_mib; do
    value=$(field $key <out)
    awk -v v="$value" 'BEGIN { exit !(v > 0) }' || fail "$key is '$value'"
done
# 3 · 2 · (4 D² + 8 D² + D V + attention's D (N+1)/2 · 2) products a token, of D 32, V 100, N 16
awk -v got="$(field gflop_per_token <out)" 'BEGIN {
    n = 6e-9 * (12 * 32 * 32 + 32 * 100 + 32 * 17)
    exit !(got > 0.97 * n && got < 1.03 * n)
}' || fail "gflop_per_token is $(field gflop_per_token <out)"
awk -v t="$(field tokens_per_s <out)" -v ms="$(field step_ms <out)" 'BEGIN {
    d = t * ms / 64000
    exit !(d > 0.99 && d < 1.01)
}' || fail 'tokens_per_s and step_ms do not fit'
status 0 "$ASCGRAD" bench train --layers 1 --dim 32 --heads 2 --block 16 --batch 4 --vocab 100 --steps 1 --threads 1
has out '^tokens per s'
status 2 "$ASCGRAD" bench train --dim 30 --heads 4
has err 'heads'

# one layer at several lengths, fused beside composed; what does not fit in memory is left out
small='--dim 16 --steps 2 --lengths 8,32'
for model in $("$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '",'); do
    status 0 "$ASCGRAD" bench layer --model "$model" $small
    lines out 3
    has out '^ *32  *[0-9.]*  *[0-9.]*'
    lacks out '[ ]-'
done
status 0 "$ASCGRAD" bench layer --model grassmann $small --set offsets=[1,2] --json
for key in length ms peak_mib composed_ms composed_peak_mib ratio; do
    has out "\"$key\": [0-9]"
done
status 0 "$ASCGRAD" bench layer --model transformer --dim 64 --steps 1 --lengths 16,4096 --memory 4
has out '^ *16  *[0-9]'
has out '^ *4096  *-  *-$'
status 2 "$ASCGRAD" bench layer --lengths 8,none
has err "^ascgrad bench: --lengths: got '8,none'"
status 2 "$ASCGRAD" bench layer --vocab 7
has err '^ascgrad bench: --vocab is an option of bench train, not of bench layer'
status 2 "$ASCGRAD" bench layer --model grasmann
has err "^ascgrad bench: --model: there is no 'grasmann'; did you mean 'grassmann'?"
exit $failed
