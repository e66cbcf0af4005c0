#!/bin/sh
# ascgrad compare: tables and JSON, names, seeds, models that differ in tokens or blocks, what is refused.
. "$abs_top_srcdir/tests/program.sh"

for seed in 1 2; do
    status 0 "$ASCGRAD" train $tiny --steps 20 --seed $seed --out "t-$seed"
    status 0 "$ASCGRAD" train $tiny --steps 20 --seed $seed --out "g-$seed" --model grassmann
done

# JSON: the keys, and nothing on stderr
status 0 "$ASCGRAD" compare t-1 g-1 --json --resamples 500
lines out 1
lines err 0
json 'd["unit"] == "block" and d["split"] == "test" and d["measure"] == "nats_per_token" and d["reason"] is None'
json '[s["name"] for s in d["systems"]] == ["t-1", "g-1"] and len(d["comparisons"]) == 1'
json 'all({"name", "seeds", "parameters", "loss", "ppl", "bits_per_byte", "ppl_std"} <= set(s) for s in d["systems"])'
json '{"a", "b", "difference", "ci_low", "ci_high", "p_bootstrap", "p_randomization", "p_holm", "cohen_dz", "cohen_d",
       "cliff_delta"} <= set(d["comparisons"][0])'
json 'd["comparisons"][0]["a"] == "g-1" and d["comparisons"][0]["b"] == "t-1"'
json 'all(s["seeds"] == 1 and s["ppl_std"] is None and s["tokens_per_s"] > 0 for s in d["systems"])'
json 'd["comparisons"][0]["p_holm"] == d["comparisons"][0]["p_randomization"]'
json 'd["comparisons"][0]["ci_low"] < d["comparisons"][0]["difference"] < d["comparisons"][0]["ci_high"]'
cp out first
for run in t-1 g-1; do
    status 0 "$ASCGRAD" eval $run --split test --json
    grep -q "\"loss\": $(field loss <out)" first || fail "the loss of $run is not eval's, $(field loss <out)"
done
status 0 "$ASCGRAD" compare t-1 g-1 --json --resamples 500 --threads 1
same out first
status 0 "$ASCGRAD" compare t-1 g-1 --json --resamples 500 --seed 2
cmp -s out first && fail 'another --seed gives the same resamples'

# the items and their test: as from the tokens' losses by hand
if have_python; then
    for run in t-1 g-1; do
        status 0 "$ASCGRAD" eval $run --split test --per-token $run.txt --json
        awk '{ s += $2 } NR % 32 == 0 { printf "%.9g\n", s / 32; s = 0 }
             END { if (NR % 32) printf "%.9g\n", s / (NR % 32) }' $run.txt >$run.blocks
    done
    status 0 "$ASCGRAD" stats pair g-1.blocks t-1.blocks --resamples 500 --json
    cp out pair
    cp first out
    json '(lambda p, c: p["n"] == d["n"] and all(abs(p[k] - c[k]) <= 1e-5 * abs(p[k]) for k in
           ["difference", "ci_low", "ci_high", "cohen_dz", "cohen_d", "cliff_delta", "p_bootstrap",
            "p_randomization"]))(json.load(open("pair")), d["comparisons"][0])'
fi

# seeds of a system, and the table
status 0 "$ASCGRAD" compare base=t-1,t-2 new=g-1,g-2 t-1 --json --resamples 500
json '[s["name"] for s in d["systems"]] == ["base", "new", "t-1"] and [s["seeds"] for s in d["systems"]] == [2, 2, 1]'
json 'd["systems"][0]["ppl_std"] > 0 and d["systems"][0]["seed_pairs"] == 1'
json 'd["comparisons"][0]["seeds"] == 2 and d["comparisons"][0]["seeds_p_least"] == 0.5'
cp out both
for run in t-1 t-2 g-1 g-2; do
    status 0 "$ASCGRAD" eval $run --split test --json
    field loss <out
done >losses
cp both out
json '(lambda t1, t2, g1, g2, c: abs((c["seeds_ci_high"] - c["seeds_ci_low"]) / 2 /
       (12.7062047 * abs((g1 - t1) - (g2 - t2)) / 2) - 1) < 1e-5)(*map(float, open("losses")), d["comparisons"][0])'
json 'd["comparisons"][1]["seeds"] == 1 and d["comparisons"][1]["seeds_ci_low"] is None'
json 'all(c["p_holm"] >= c["p_randomization"] for c in d["comparisons"]) and len(d["comparisons"]) == 2'
status 0 "$ASCGRAD" compare base=t-1,t-2 a-name-of-some-twenty-five=g-1,g-2 t-1 --resamples 500
lines err 0
has out '^test split, [0-9]* tokens in [0-9]* blocks of 32$'
has out '±'
has out '^against base, in nats a token'
has out 'p Holm'
has out '^base  *[01] of 1$'
has out '^a-name-of-some-twen…  *[01] of 1  *2  *[-+.0-9]*  *\[[-+.0-9]*, [-+.0-9]*\]  [0-9.]*   0.5000$'
has out '^t-1 .* -  *1  *[-+.0-9]*  * -  1.0000   1.0000$'
wide=$(LC_ALL=C sed 's/[\x80-\xbf]//g' out | awk '{ n = length($0); if (n > most) most = n } END { print most }')
[ "$wide" -le 100 ] || { fail "a line of $wide columns"; cat out; }

# names of characters that take two columns
status 0 "$ASCGRAD" compare 表=t-1 表表=t-2 --resamples 100
has out '^表 \{10\}1 '
has out '^表表 \{8\}1 '

# a model and itself
status 0 "$ASCGRAD" compare t-1 t-1/model.safetensors t-1/ --json --resamples 100
json '[s["name"] for s in d["systems"]] == ["t-1", "t-1#2", "t-1#3"]'
json 'all(c["difference"] == 0 and c["p_bootstrap"] == 1 and c["p_randomization"] == 1 and c["cohen_dz"] is None and
          c["cohen_d"] == 0 and c["cliff_delta"] == 0 for c in d["comparisons"])'

# sequences that are longer than a model can read: it is named, and no option that was not given
status 2 "$ASCGRAD" compare t-1 g-1 --data task:mqar
has err '^ascgrad compare: t-1: the length is 64, but '
status 2 "$ASCGRAD" compare t-1 g-1 --block 64
has err '^ascgrad compare: --block is 64, but '

# other blocks: bits per byte, unless all are given the same
status 0 "$ASCGRAD" train $tiny --steps 5 --seed 1 --out short --block 16
status 0 "$ASCGRAD" compare t-1 short --json --resamples 100
json 'd["unit"] == "text" and d["measure"] == "bits_per_byte" and "blocks of 32 tokens" in d["reason"]'
json 'd["comparisons"][0]["seeds"] == 0 and d["comparisons"][0]["seeds_p"] is None'
status 0 "$ASCGRAD" compare t-1 short --json --resamples 100 --block 16
json 'd["unit"] == "block" and [s["block"] for s in d["systems"]] == [16, 16]'
json 'd["comparisons"][0]["seeds"] == 0' # they were trained on other blocks
status 2 "$ASCGRAD" compare t-1 short --block 32
has err '^ascgrad compare: --block is 32, but the model has learned positions (pos_emb) for 16 tokens'

# other tokens
status 0 "$ASCGRAD" train --preset tiny --data builtin:8000 --tokenizer byte --steps 5 --out bytes
status 0 "$ASCGRAD" compare t-1 bytes
has out '^test split, [0-9]* passages of text, as$'
has out '^t-1 and bytes have different tokens$'
has out '^against t-1, in bits a byte'

# words that a vocabulary lacks, models of their own file, other data
ruled_text 3000 >text.txt
status 0 "$ASCGRAD" train --preset tiny --data text.txt --tokenizer word --steps 2 --out ruled
status 2 "$ASCGRAD" compare t-1 ruled
has err 'the test splits of t-1 and ruled are different texts: --data names one for both'
status 0 "$ASCGRAD" compare t-1 ruled --data builtin:8000
has out '^t-1 and ruled have different tokens'
has err '^ascgrad compare: ruled: .* % of its tokens are unknown words'
cp t-1/model.safetensors alone.safetensors
status 2 "$ASCGRAD" compare t-1 alone.safetensors
has err '^ascgrad compare: --data is missing: alone.safetensors is in no run'
status 0 "$ASCGRAD" compare t-1 alone.safetensors --data builtin:8000 --json
json 'd["systems"][1]["name"] == "alone" and abs(d["comparisons"][0]["difference"]) < 1e-7' # other batches, other sums
json 'd["systems"][1]["tokens_per_s"] is None'

# each system has a name of its own
status 0 "$ASCGRAD" compare a=t-1 a=t-2 'a#2=g-1' a=g-1 --resamples 100 --json
json '[s["name"] for s in d["systems"]] == ["a", "a#3", "a#2", "a#4"]'
status 2 "$ASCGRAD" compare a=t-1,t-1/ t-2
has err '^ascgrad compare: t-1 is there twice in a'
status 2 "$ASCGRAD" compare t-1 b=t-2,
has err "^ascgrad compare: got 'b=t-2,', expected a RUN"

# seeds that are none
status 0 "$ASCGRAD" compare 'a=t-1,g-1' t-2
has err '^ascgrad compare: a: the models of t-1 and g-1 have different settings'
status 0 "$ASCGRAD" compare a=t-1,bytes g-1 --resamples 100
has out '^a and another seed of it have different tokens$'
cp -R t-1 copy
status 0 "$ASCGRAD" compare 'a=t-1,copy' t-2
has err '^ascgrad compare: a: t-1 and copy are the same model, and count as two seeds$'

# wrong usage
status 2 "$ASCGRAD" compare t-1
has err 'two or more systems'
status 2 "$ASCGRAD" compare 'a=t-1,t-1' g-1
has err 't-1 is there twice in a'
status 2 "$ASCGRAD" compare 'a=t-1,' g-1
has err "got 'a=t-1,', expected a RUN"
status 2 "$ASCGRAD" compare '=t-1' g-1
has err "got '=t-1', expected a RUN"
# the order of blocks that are carried on follows from the batch, too
for run in 8:same-1 8:same-2 4:other; do
    status 0 "$ASCGRAD" train --preset tiny --data builtin:5000 --carry 16 --pos-emb false --positions rotary \
        --steps 2 --batch "${run%%:*}" -q --out "${run#*:}"
done
status 0 "$ASCGRAD" compare same-1 same-2 other --json
json '[c["seeds"] for c in d["comparisons"]] == [1, 0]'

status 2 "$ASCGRAD" compare t-1 g-1 --split tset
has err "got 'tset', expected train, valid or test"
status 3 "$ASCGRAD" compare t-1 none
has err '^ascgrad compare: none: there is no such run or file'
exit $failed
