#!/bin/sh
# ascgrad bench: the figures of each kind, and that they fit together.
. "$abs_top_srcdir/tests/program.sh"

have_python || left_out 'needs python3: that the figures of bench --json fit together'

# ---- train ----

tiny_model='--layers 1 --dim 32 --heads 2 --vocab 100'
# shellcheck disable=SC2086  # lists of options
{
status 0 "$ASCGRAD" bench train $tiny_model --block 16 --batch 4 --steps 3 --json
lines out 1
for key in tokens_per_s step_ms gflop_per_token gflops sgemm_gflops efficiency paired_efficiency peak_rss_mib; do
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
status 0 "$ASCGRAD" bench --steps 1 train $tiny_model --block 16 --batch 4 --threads 1
has out '^tokens per s'
status 0 "$ASCGRAD" bench train $tiny_model --model ascender --block 16 --batch 4 --steps 1 --set omega_sep=.2
}
status 0 "$ASCGRAD" bench train $tiny_model --block 16 --batch 4 --steps 1 --optimizer muon
status 2 "$ASCGRAD" bench train $tiny_model --optimizer muon --set 'param_groups=nothing:lr=1'
has err "param_groups: .*no parameter has a name like 'nothing'"
status 2 "$ASCGRAD" bench train --dim 30 --heads 4
has err '^ascgrad bench train: --heads is 4'
status 2 "$ASCGRAD" bench train --batch 0
has err "^ascgrad bench train: --batch: got '0', expected a whole number"
status 2 "$ASCGRAD" bench train --set omega=1
has err "^ascgrad bench train: unknown setting 'omega'"
status 2 "$ASCGRAD" bench train --set omega
has err "^ascgrad bench train: --set: got 'omega', expected KEY=VALUE"

# ---- layer: what does not fit in memory is left out ----

small='--dim 16 --steps 2 --lengths 8,32'
# shellcheck disable=SC2086
{
for model in $("$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '",'); do
    status 0 "$ASCGRAD" bench layer --model "$model" $small
    lines out 3
    has out '^ *32  *[0-9.]*  *[0-9.]*'
    lacks out '[ ]-'
done
status 0 "$ASCGRAD" bench layer --model grassmann $small --set offsets=[1,2] --batch 2 --json
for key in length ms peak_mib composed_ms composed_peak_mib ratio; do
    has out "\"$key\": [0-9]"
done
json '[r["length"] for r in d["lengths"]] == [8, 32]'
json 'all(abs(r["us_per_token"] * 2 * r["length"] / r["ms"] - 1e3) < 1e-6 for r in d["lengths"])'
status 0 "$ASCGRAD" bench layer --model ascender $small --fused --set k=3
lacks out composed
status 3 env TMPDIR=/nonexistent "$ASCGRAD" bench startup --runs 1
has err 'nonexistent/ascgrad-bench-'
status 0 "$ASCGRAD" bench layer --set mix=ascender $small --json
json 'd["model"] == "ascender" and all(r["composed_ms"] > 0 for r in d["lengths"])'
status 0 "$ASCGRAD" bench layer --model ascender $small --context 5 --json
json 'd["context"] == 5 and all(r["ms"] > 0 and r["composed_ms"] > 0 for r in d["lengths"])'
status 0 "$ASCGRAD" bench layer --model transformer $small --set window=4 --set random=2 --json
json '"context" not in d'
status 2 "$ASCGRAD" bench layer --model linear $small --context 5
has err '^ascgrad bench layer: layer_cross: linear has no cross-attention'
status 2 "$ASCGRAD" bench layer --model transformer $small --context 5 --set window=4
has err '^ascgrad bench layer: window: a layer with it takes no context'
}
few_mib=ASCGRAD_PRODUCTS=openblas # our own products have more room than that from the start
status 0 env $few_mib "$ASCGRAD" bench layer --model transformer --dim 64 --steps 1 --lengths 16,4096 --memory 4
has out '^ *16  *[0-9]'
has out '^ *4096  *-  *-  *-  *-$'
status 2 "$ASCGRAD" bench layer --lengths 8,none
has err "^ascgrad bench layer: --lengths: got '8,none'"
status 2 "$ASCGRAD" bench layer --set layers=2
has err "^ascgrad bench layer: unknown setting 'layers'"
status 2 "$ASCGRAD" bench layer --set dtype=f64
has err '^ascgrad bench layer: dtype: a layer alone has no use for it, expected none$'
status 2 "$ASCGRAD" bench layer --model grasmann
has err "^ascgrad bench layer: --model: got 'grasmann', .*did you mean 'grassmann'?"

# ---- ops: tests/cli/bench_ops.sh has all of them ----

status 0 "$ASCGRAD" bench ops reshape add --seconds 0 --threads 1
lines out 6
has out '^1 thread: sgemm [0-9]* GFLOP/s, memory [0-9.]* GB/s$'
has out '^reshape  *0\.0*[0-9]*  *-  *-  *-  .* (32,128,256)$'
has out '^add .* [0-9]* % memory .* 2x(32,128,1024)$'
status 0 "$ASCGRAD" bench ops linear add --seconds 0 --threads 1 --precision bf16
has out 'sgemm [0-9]* GFLOP/s, product in bf16 [0-9]* GFLOP/s, memory'
status 0 "$ASCGRAD" bench ops linear add --seconds 0 --threads 1 --precision bf16 --json
json 'd["gemm_gflops"] != d["sgemm_gflops"]'
json 'all(p["share"] == max(p["gflops"] / d["gemm_gflops"], p["gbs"] / d["memory_gbs"])
          for o in d["ops"] for p in (o["forward"], o["backward"]))'
json '{p["limit"] for o in d["ops"] for p in (o["forward"], o["backward"])} <= {"gemm", "memory"}'
status 2 "$ASCGRAD" bench ops add --precision f16
has err "^ascgrad bench ops: --precision"
status 2 "$ASCGRAD" bench ops ad
has err "^ascgrad bench ops: unknown op 'ad'; did you mean 'add'?"

# ---- scaling: the same tokens in a step, longer sequences alone, what would take too long left out ----

# shellcheck disable=SC2086
{
status 0 "$ASCGRAD" bench scaling $tiny_model --tokens 64 --lengths 8,96 --steps 1
lines out 6
has out '^ *8  *[0-9.]*  *[0-9]* %  *[0-9.]*  *[0-9.]*  *[0-9]* % '
status 0 "$ASCGRAD" bench scaling $tiny_model --tokens 64 --lengths 96 --steps 1 --json
json '[m["model"] for m in d["models"]] == [m.strip() for m in "'"$("$ASCGRAD" info --json |
    sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '"')"'".split(",")]'
json 'all(abs(r["tokens_per_s"] * r["step_ms"] / 1e3 / 96 - 1) < 1e-6
          for m in d["models"] for r in m["lengths"])'
json 'all(0 < r["peak_rss_mib"] < 500 and r["efficiency"] == r["gflops"] / r["sgemm_gflops"]
          for m in d["models"] for r in m["lengths"])'
status 0 "$ASCGRAD" bench scaling $tiny_model --model grassmann --lengths 8,16,32 --steps 1 --limit 0
has out '^ *16  *-  *-  *-$'
has out '^ *32  *-  *-  *-$'
status 0 env $few_mib "$ASCGRAD" bench scaling $tiny_model --model transformer --lengths 8 --steps 1 --memory 1
has out '^ *8  *-  *-  *-$'
}
status 2 "$ASCGRAD" bench scaling --set block=3
has err '^ascgrad bench scaling: --set block=3: --lengths says which are measured$'
status 2 "$ASCGRAD" bench train $tiny_model --set batch_schedule=0:2
has err '^ascgrad bench train: batch_schedule: the steps that are timed are alike, expected none$'
status 2 "$ASCGRAD" bench train $tiny_model --set dropout_schedule=0:0.1
has err '^ascgrad bench train: dropout_schedule: the steps that are timed are alike, expected none$'
status 0 "$ASCGRAD" bench train $tiny_model --block 16 --batch 4 --steps 1 --set accumulate=3 --set shards=2 --json
awk -v t="$(field tokens_per_s <out)" -v ms="$(field step_ms <out)" 'BEGIN {
    d = t * ms / (3 * 64000)
    exit !(d > 0.99 && d < 1.01)
}' || fail 'a step is not of the batches that are accumulated'
for passes in accumulate=2 shards=2 'accumulate=3 --set shards=4'; do # each carries its own context
    # shellcheck disable=SC2086  # words
    status 0 "$ASCGRAD" bench train --layers 1 --dim 16 --vocab 50 --model transformer --block 16 --batch 4 --steps 1 \
        --threads 1 --set carry=16 --set pos_emb=false --set $passes
done
status 2 "$ASCGRAD" bench train $tiny_model --set head=pairs
has err 'head is pairs, expected lm'
status 2 "$ASCGRAD" bench scaling --model grasmann
has err "did you mean 'grassmann'?"

# ---- generate: to the end of learned positions, and beyond without them ----

# shellcheck disable=SC2086
{
status 0 "$ASCGRAD" bench generate $tiny_model --positions 0,5,900 --steps 2
lines out 6
has out '^ *900\(  *[0-9.][0-9.]*\)\{3,\}$'
status 0 "$ASCGRAD" bench generate $tiny_model --positions 5,15,16 --steps 2 --set pos_emb=true --block 16 --json
json 'all([p["position"] for p in m["positions"]] == [5, 15, 16] for m in d["models"])'
json 'all((p["ms"] is None) == (p["position"] == 16) and (p["ms"] or 1) > 0
          for m in d["models"] for p in m["positions"])'
status 2 "$ASCGRAD" bench generate $tiny_model --positions 5,3
has err '^ascgrad bench generate: --positions: got 3, expected numbers that rise'
}

# ---- encode ----

status 0 "$ASCGRAD" bench encode --encoder "$abs_top_srcdir/tests/train/encoder" --runs 2 --threads 1 --json \
    "$abs_top_srcdir/tests/train/encoder/sentences.txt"
json '0 < d["sentences_per_s"] < d["tokens_per_s"] and 0 < d["gflops"] and d["peak_rss_mib"] > 1'
json 'abs(d["efficiency"] * d["sgemm_gflops"] / d["gflops"] - 1) < 1e-6'
status 2 "$ASCGRAD" bench encode
has err '^ascgrad bench encode: --encoder DIR is missing'

# ---- startup ----

status 0 "$ASCGRAD" bench startup --runs 2 --threads 1 --json
json 'd["runs"] == 2 and 0 < d["info_ms"] and 0 < d["model_ms"]'
status 0 "$ASCGRAD" bench startup --runs 1
lines out 3

# ---- the command ----

for kind in train layer ops scaling generate encode startup; do
    status 0 "$ASCGRAD" bench $kind --help
    has out "^usage: ascgrad bench $kind"
    has out '^      --json'
done
status 2 "$ASCGRAD" bench layer --vocab 7
has err '^ascgrad bench layer: --vocab is an option of bench train, not of bench layer'
status 2 "$ASCGRAD" bench ops --lengths=8
has err '^ascgrad bench ops: --lengths is an option of bench layer, not of bench ops'
status 2 "$ASCGRAD" bench layer --lenghts 8
has err 'did you mean --lengths?'
status 2 "$ASCGRAD" bench --steps 3
has err '^ascgrad bench: KIND .* is missing'
exit $failed
