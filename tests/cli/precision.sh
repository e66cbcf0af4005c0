#!/bin/sh
# --precision bf16: the same model to the bit for any number of threads and after an interruption; what evaluates it;
# what is refused.
. "$abs_top_srcdir/tests/program.sh"
settings="$tiny --steps 20 --eval-every 10 --log-every 1 --precision bf16"

for threads in 1 2 3; do
    status 0 "$ASCGRAD" train $settings --threads $threads --out bf$threads
done
same_run bf1 bf2
same_run bf1 bf3
has bf1/config.json '"precision": "bf16"'

# resumed, and not as anything else
status 0 "$ASCGRAD" train $settings --steps 10 --schedule-steps 20 --out part
status 0 "$ASCGRAD" train $settings --schedule-steps 20 --out whole
status 0 "$ASCGRAD" train --resume --steps 20 --out part
same part/model.safetensors whole/model.safetensors
status 2 "$ASCGRAD" train --resume --precision f32 --out part
has err '--precision: can.t be given anew'

# … and on other instructions with a word about it
if "$ASCGRAD" info --json | grep -qE '"bf16": "(avx512_bf16|amx)"'; then
    status 0 "$ASCGRAD" train $settings --steps 10 --schedule-steps 20 --out moved
    ASCGRAD_ISA=avx512 status 0 "$ASCGRAD" train --resume --steps 20 --out moved
    has err 'another build, BLAS or processor'
else
    left_out 'a resume on other instructions: neither AMX nor AVX512-BF16 here'
fi

# other numbers than float32's, and near them
status 0 "$ASCGRAD" train $settings --precision f32 --out f32
has f32/config.json '"precision": "f32"'
cmp -s f32/model.safetensors bf1/model.safetensors && fail 'bf16 trains the model that f32 does'

# a run is evaluated as it was trained, unless one asks
status 0 "$ASCGRAD" eval bf1 --json
cp out its_own
status 0 "$ASCGRAD" eval bf1 --precision bf16 --json
same out its_own
status 0 "$ASCGRAD" eval bf1 --precision f32 --json
cmp -s out its_own && fail 'eval --precision f32 gives the loss of bf16'
a=$(field loss <out) b=$(field loss <its_own)
awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d < 0.01 && d > -0.01) }' || fail "losses $a and $b are apart"
status 0 "$ASCGRAD" generate bf1 'the' --tokens 5 --precision bf16
status 2 "$ASCGRAD" eval bf1 --precision f16
has err '--precision'

# not of float64
status 2 "$ASCGRAD" train $settings --dtype f64 --out none
has err '--precision is bf16 and dtype is f64'
[ -e none ] && fail 'a run is there that was refused'
status 0 "$ASCGRAD" train $tiny --steps 2 --dtype f64 --out f64
status 2 "$ASCGRAD" eval f64 --precision bf16
has err '--precision is bf16, but the model is of float64'

# every set of instructions
for isa in plain avx2 avx512 avx512_bf16 amx; do
    ASCGRAD_ISA=$isa status 0 "$ASCGRAD" eval bf1 --json
    c=$(field loss <out)
    awk -v a="$c" -v b="$b" 'BEGIN { d = a - b; exit !(d < 1e-3 && d > -1e-3) }' || fail "$isa: loss $c, not $b"
done
status 0 "$ASCGRAD" info
has out '^bf16  '
status 0 "$ASCGRAD" info --json
json 'd["bf16"] in ("plain", "avx2", "avx512", "avx512_bf16", "amx")'
status 0 "$ASCGRAD" bench train --layers 1 --dim 16 --heads 2 --block 8 --batch 2 --vocab 50 --steps 1 \
    --precision bf16 --json
json 'd["gemm_gflops"] > 0 and abs(d["efficiency"] - d["gflops"] / d["gemm_gflops"]) < 1e-9 and d["sgemm_gflops"] > 0'
exit $failed
