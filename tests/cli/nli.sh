#!/bin/sh
# nli: training, evaluation and prediction on pairs of sentences, with a small encoder and without; what goes wrong.
. "$abs_top_srcdir/tests/program.sh"
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
tiny=$abs_top_srcdir/tests/train/encoder

# pairs whose class shows in one word of the hypothesis that the premise decides
pairs() { # N SEED: lines premise, hypothesis, label
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        split("man dog girl", who); split("plays runs sings", does); split("rests stands listens", not)
        split("entailment neutral contradiction", label)
        for (i = 1; i <= n; i++) {
            w = int(3 * rand()) + 1; d = int(3 * rand()) + 1; k = i % 3 + 1
            other = k == 1 ? does[d] : k == 2 ? "smiles" : not[d]
            printf "the %s %s\ta %s %s\t%s\n", who[w], does[d], who[w], other, i % 10 == 9 ? "-" : label[k]
        }
    }'
}
jsonl() {
    awk -F '\t' '{ printf "{\"gold_label\": \"%s\", \"sentence1\": \"%s\", ", $3, $1
        printf "\"sentence2\": \"%s\", \"o\": [1]}\n", $2 }'
}
tsv() { awk -F '\t' 'BEGIN { print "index\tgold_label\tsentence1\tsentence2" } { print NR "\t" $3 "\t" $1 "\t" $2 }'; }
pairs 240 1 | jsonl | gzip >train.jsonl.gz
pairs 50 2 | tsv >dev.tsv
pairs 50 3 | jsonl >held.jsonl

small='--threads 1 --dim 16 --ffn 16 --head-ffn 16 --batch 16 --dropout 0 --lr 1e-2 --warmup 5'
data='--train train.jsonl.gz --valid dev.tsv'
# shellcheck disable=SC2086  # lists of options
train() { status 0 "$ASCGRAD" nli train $data $small "$@"; }

# an encoder that keeps case has its sentences cut so
mkdir cased
cp "$tiny"/* cased
echo '{"do_lower_case": false}' >cased/tokenizer_config.json
train --encoder cased --mix none --epochs 1 --out as-written
lacks err 'test split' # which there is no option for
has as-written/config.json '"tokenizer": "wordpiece-cased:/'
status 3 "$ASCGRAD" compare as-written as-written
has err 'names no file of the test split, .*; it has train and valid; --split valid takes another split$'
train --encoder cased --vocab "$tiny/vocab.txt" --mix none --epochs 1 --out as-written-too
has as-written-too/config.json "\"tokenizer\": \"wordpiece-cased:$(realpath "$tiny")/vocab.txt\""
status 2 "$ASCGRAD" nli train --train train.jsonl.gz --valid dev.tsv --encoder cased --vocab "$tiny/vocab.txt" \
    --tokenizer word --out no
has err '^ascgrad nli train: --vocab: the tokenizer is given, too, expected one of them$'
status 2 "$ASCGRAD" nli train --train train.jsonl.gz --valid dev.tsv --encoder none --vocab "$(printf 'none\377')" \
    --out no
has err 'tokenizer: expected a text in UTF-8$'

# embeddings of its own, on any mixing; the data's classes in the order that they have in the field
for mix in grassmann transformer ascender linear none; do
    extra=
    [ $mix = grassmann ] && extra='--set r=8'
    # shellcheck disable=SC2086
    train --encoder none --mix $mix $extra --epochs 8 --out own-$mix
    status 0 "$ASCGRAD" nli eval own-$mix --data held.jsonl --json --per-pair pairs.txt
    json 'd["n"] == 45 and d["skipped"] == 5 and sum(map(sum, d["confusion"])) == 45'
    json 'd["classes"] == ["entailment", "neutral", "contradiction"] and d["accuracy"] > .7 and 0 <= d["ece"] < 1'
    json "abs(sum(d['confusion'][i][i] for i in range(3)) / 45 - d['accuracy']) < 1e-9"
    lines pairs.txt 45
    has pairs.txt '^44 [a-z]* [a-z]* [01e.0-9-]*$'
done
has own-grassmann/config.json '"mix_residual": true'

# a folder has the classes in the model's order, as a file does; what has none is told so
mkdir split
zcat train.jsonl.gz >split/train.jsonl
cp held.jsonl split/valid.jsonl
cp held.jsonl split/test.jsonl
status 0 "$ASCGRAD" nli eval own-linear --data held.jsonl --json
mv out file.json
status 0 "$ASCGRAD" nli eval own-linear --data split --json
same out file.json
status 2 "$ASCGRAD" nli eval own-linear --data builtin
has err '^ascgrad nli eval: --data: the model tells the classes \["entailment",.* and the data has none, expected'

# a model that names no classes has them in the field's order, which is that of a training
"$ASCGRAD" nli eval own-linear --data held.jsonl --json >named.json
if have_python; then
    "$python" - <<'END'
import json, struct
data = open("own-linear/model.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
kept = {k: v for k, v in header["__metadata__"].items() if k != "classes" and not k.startswith("asc_crc32")}
header["__metadata__"] = kept
text = json.dumps(header).encode()
open("unnamed.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + n:])
END
    status 0 "$ASCGRAD" nli eval unnamed.safetensors --data held.jsonl --json
    [ "$(field accuracy <out)" = "$(field accuracy <named.json)" ] || fail 'without names the order is another'
fi

# pairs that all go without a label
sed 's/"gold_label": "[a-z]*"/"gold_label": "-"/' held.jsonl >dashes.jsonl
status 3 "$ASCGRAD" nli eval own-linear --data dashes.jsonl
has err "dashes.jsonl: all 50 pairs of the test split have the label '-', which is none$"
status 3 "$ASCGRAD" nli train --encoder none --train dashes.jsonl --valid dev.tsv --out no
has err "dashes.jsonl: all 50 pairs of the train split have the label '-', which is none$"

# paths with what separates parts of a data set
mkdir 'a,b' 'a=b' 'a,b=c'
for path in 'a,b' 'a=b'; do
    cp held.jsonl dev.tsv "$path"
    status 0 "$ASCGRAD" nli train --train "$path/held.jsonl" --valid "$path/dev.tsv" $small --encoder none --mix none \
        --epochs 1 --out "run $path"
    status 0 "$ASCGRAD" nli eval "run $path" --data "$path/held.jsonl"
    status 0 "$ASCGRAD" nli eval "run $path"
done
cp held.jsonl 'a,b=c'
status 2 "$ASCGRAD" nli eval own-linear --data 'a,b=c/held.jsonl'
has err "/a,b=c/held.jsonl: expected no ',KEY=' in its path"
has own-none/config.json '"mix": "none"'
has own-none/metrics.jsonl '"valid_accuracy": '

status 0 "$ASCGRAD" nli train --help
has out '^ *--dim .*(256)'
has out '^ *--batch .*(128)'
has out '^ *--epochs .*(20)'

# a frozen encoder, whose states are computed once
train --encoder "$tiny" --mix transformer --epochs 12 --eval-every 10 --out run
has err 'nli eval run --data TEST.jsonl'
[ -n "$(ls cache/ascgrad)" ] || fail 'there is no cache of states'
has run/config.json '"states": '
has run/config.json "\"encoder\": \"$(realpath "$tiny")\""
has run/config.json '"encoder": "[0-9a-f]\{16\}"'
status 0 "$ASCGRAD" nli eval run --data held.jsonl --json
mv out first
status 0 "$ASCGRAD" nli eval run --data held.jsonl --json --encoder "$tiny" --vocab "$tiny/vocab.txt" --cache elsewhere
same out first
awk 'NR < 6 { print; next } { line[NR] = $0 } END { for (i = NR; i > 5; i--) print line[i] }' "$tiny/vocab.txt" \
    >turned.txt
status 0 "$ASCGRAD" nli eval run --data held.jsonl --json --vocab turned.txt
cmp -s out first && fail 'another vocabulary cuts sentences the same'
printf 'a man\ta man\n' >pair.tsv
status 0 "$ASCGRAD" nli predict run pair.tsv
mv out usual
mkfifo typed.pipe # who writes pair by pair is answered pair by pair
"$ASCGRAD" nli predict run <typed.pipe >out &
exec 3>typed.pipe
for n in 1 2; do
    cat pair.tsv >&3
    answered out $n
done
exec 3>&-
wait
head -n 1 out >one
same one usual
status 0 "$ASCGRAD" nli predict run pair.tsv --vocab turned.txt
cmp -s out usual && fail 'another vocabulary predicts the same'
for command in 'eval own-none --data held.jsonl' 'predict own-none pair.tsv'; do
    # shellcheck disable=SC2086
    status 2 "$ASCGRAD" nli $command --vocab turned.txt
    has err ': --vocab: the model embeds its tokens itself, expected no encoder.s$'
done
status 0 "$ASCGRAD" nli eval run
has out '^45 pairs, 5 left out: accuracy '
has out '^ *contradiction '

status 0 "$ASCGRAD" nli train --resume run --encoder "$tiny/../encoder" --json
json 'd["end"] == "done" and 0.3 < d["valid_accuracy"] <= 1'
cp -r run moved && cp -rL "$tiny" "moved encoder" # elsewhere, and with another name
status 0 "$ASCGRAD" nli train --resume moved --encoder "moved encoder"
has moved/config.json '"encoder": ".*/moved encoder"'
status 0 "$ASCGRAD" nli eval moved --data held.jsonl --json
same out first

# the same bits after an interruption, and by any number of threads
train --encoder "$tiny" --mix transformer --epochs 12 --eval-every 10 --out parts --minutes 0.00001
status 0 "$ASCGRAD" nli train --resume parts --minutes 0 --threads 2
same_run run parts
train --encoder "$tiny" --mix none --set group_by_length=true --epochs 3 --out grouped
train --encoder "$tiny" --mix none --set group_by_length=true --epochs 3 --out grouped.parts --minutes 0.00001
status 0 "$ASCGRAD" nli train --resume grouped.parts --minutes 0 --threads 2
same_run grouped grouped.parts

# the best is marked as it is chosen, by accuracy, where the loss says otherwise, too
train --encoder none --mix none --lr 4e-3 --epochs 4 --eval-every 2 --out marked
marked=$(awk '/valid loss/ { accuracy = $9 + 0; loss = $7 + 0
        better = accuracy > most || (accuracy == most && loss < least)
        other += !better && loss < least
        if (better) { most = accuracy; least = loss }
        if (better != / \(best\)$/ || $8 != "accuracy") print }
    BEGIN { most = -1 } END { if (!other) print "loss and accuracy agree" }' err | sed 1q)
[ -z "$marked" ] || fail "marked as the best, or not, by its loss: $marked"

# the best by accuracy is the model that is kept
find_best='import json; e = [json.loads(l) for l in open("run/metrics.jsonl") if "valid_accuracy" in l]
best = max(e, key=lambda x: (x["valid_accuracy"], -x["valid_loss"])); print("%.9g" % best["valid_accuracy"])'
if have_python; then
    best=$("$python" -c "$find_best")
    status 0 "$ASCGRAD" nli eval run --json
    json "abs(d['accuracy'] - $best) < 1e-8"
fi

# one sentence alone, and what it gets wrong
train --encoder "$tiny" --mix none --sees hypothesis --epochs 4 --out alone
status 0 "$ASCGRAD" nli eval run --data held.jsonl --hard alone --json
json '0 <= d["hard"]["n"] <= 45'
# shellcheck disable=SC2086
status 0 "$ASCGRAD" nli train --train train.jsonl.gz --valid held.jsonl $small --encoder none --mix none --epochs 1 \
    --out elsewhere.run
for also in '--data held.jsonl' '--set data=held.jsonl'; do
    # shellcheck disable=SC2086
    status 2 "$ASCGRAD" nli train $data $small $also --encoder none --mix none --out both
    has err '^ascgrad nli train: --data: --train and --valid say which, expected one or the other$'
done
status 3 "$ASCGRAD" nli eval run --data train.jsonl.gz --per-pair /dev/full
has err ': /dev/full: is not a regular file'
mkfifo pairs.pipe
status 3 "$ASCGRAD" nli eval run --data train.jsonl.gz --per-pair pairs.pipe
has err ': pairs.pipe: is not a regular file'
status 2 "$ASCGRAD" nli eval run --hard elsewhere.run
has err 'elsewhere.run was validated on other pairs; --data FILE names those for both'
status 0 "$ASCGRAD" nli eval alone --data held.jsonl
cp out with
sed 's/"sentence1": "[^"]*"/"sentence1": "a dog"/' held.jsonl >other.jsonl
status 0 "$ASCGRAD" nli eval alone --data other.jsonl
same out with

status 2 "$ASCGRAD" nli train --train train.jsonl.gz --valid held.jsonl --encoder "$tiny" --mix nome --out never
has err "--mix: got 'nome', expected one of transformer, .*, or none for pairs of sentences; did you mean 'none'?"

# ended while it encodes: what is there stays, and is said to
awk 'BEGIN { print "gold_label\tsentence1\tsentence2"
    for (i = 0; i < 6000; i++) {
        print (i % 2 ? "a" : "b") "\tthe man plays " i "\ta man plays the guitar number " i
    }
}' >many.tsv
"$ASCGRAD" nli train --train many.tsv --valid many.tsv --encoder "$tiny" --mix none --steps 1 --threads 1 --cache kept \
    --window-tokens 1 --window-stride 1 --out ended >out 2>err &
pid=$!
until [ -n "$(ls kept/*.features/*.safetensors 2>/dev/null)" ] || ! kill -0 $pid 2>/dev/null; do
    sleep 0.01
done
kill -INT $pid 2>/dev/null
wait $pid
if [ $? = 130 ] && [ ! -e ended ]; then # on a fast machine it may have been past that
    has err 'ended before the training began; there is no run, but what was encoded stays in the cache$'
fi

# weights of classes; the windows of single tokens
train --encoder "$tiny" --mix linear --class-weights balanced --window-tokens 1 --window-stride 1 --epochs 2 \
    --out tokens
has tokens/config.json '"window_tokens": 1'

# a step in two parts is the step: its classes weigh what they weigh in all of it
pairs 240 4 | awk -F '\t' '$3 != "neutral" || NR % 9 == 2' | tsv >lopsided.tsv
for parts in '--batch 16' '--batch 4 --set accumulate=4'; do
    # shellcheck disable=SC2086
    status 0 "$ASCGRAD" nli train --train lopsided.tsv --valid dev.tsv $small --encoder none --mix none \
        --class-weights balanced $parts --steps 8 --eval-every 8 --out "weights-$parts"
done
near=$(cat weights-*/metrics.jsonl | field valid_loss | awk '{ at[NR] = $1 }
    END { print NR == 2 && (at[1] - at[2]) ^ 2 < 1e-10 ? "yes" : at[1] " and " at[2] }')
[ "$near" = yes ] || fail "weights of classes in parts of a step: losses $near"

# evaluations that take a part of the validation split, whose states are all there
train --encoder "$tiny" --mix none --eval-tokens 90 --epochs 1 --out judged

# both sentences read as one: another cache, and a model that says so
train --encoder "$tiny" --mix transformer --pairs together --epochs 4 --out together
has together/config.json '"pairs": "together"'
ls cache/ascgrad | grep -q by-text || fail 'the states of pairs read together have no place of their own'
status 0 "$ASCGRAD" nli eval together --data held.jsonl --per-pair together.pairs --json
json 'd["n"] == 45'
grep -v '"gold_label": "-"' held.jsonl |
    sed 's/.*sentence1": "\([^"]*\)", "sentence2": "\([^"]*\)".*/\1	\2/' >typed
status 0 "$ASCGRAD" nli predict together typed
cut -f 1 out >found
cut -d ' ' -f 3 together.pairs >out
same out found
lines out 45
# shellcheck disable=SC2086
status 2 "$ASCGRAD" nli train $data $small --encoder none --mix none --pairs together --out no
has err '^ascgrad nli train: --pairs is together, and the model embeds tokens itself'
# shellcheck disable=SC2086
status 2 "$ASCGRAD" nli train $data $small --encoder "$tiny" --mix none --pairs together --sees hypothesis --out no
has err 'expected sees both'

# predictions: what stands before a bad line is there
printf 'the man plays\ta man plays\nthe man plays\ta man rests\n' >two
status 0 "$ASCGRAD" nli predict own-grassmann two
lines out 2
has out '^entailment	0\.[0-9]*	0\.[0-9]*	0\.[0-9]*$'
status 0 "$ASCGRAD" nli predict run --json <two
json 'len(d["pairs"]) == 2 and all(abs(sum(p["probabilities"]) - 1) < 1e-5 for p in d["pairs"])'
printf 'the man plays\ta man plays\nno tab\n' >two
status 3 "$ASCGRAD" nli predict run two
lines out 1
has err 'two: line 2: has no tab, expected premise, tab, hypothesis'
printf '' | status 0 "$ASCGRAD" nli predict run
[ ! -s out ] || fail 'no pairs, but something printed'

# runs, comparisons pair by pair, also with other tokens; pictures
status 0 "$ASCGRAD" runs .
has out "^run .*accuracy"
status 0 "$ASCGRAD" compare run own-none --data held.jsonl --json
json 'd["unit"] == "pair" and d["n"] == 45 and 0 <= d["systems"][0]["accuracy"] <= 1'
status 0 "$ASCGRAD" compare run own-none --data held.jsonl
has out '^test split, 45 pairs$'
has out ' accuracy '
has out '^how often right, against run '
for model in run own-none; do
    status 0 "$ASCGRAD" nli eval $model --data held.jsonl --per-pair $model.pairs --json
    awk '{ print ($2 == $3) + 0 }' $model.pairs >$model.right
done
status 0 "$ASCGRAD" stats mcnemar own-none.right run.right --json
cp out mcnemar
status 0 "$ASCGRAD" compare run own-none --data held.jsonl --json
json '(lambda c, m: c["mcnemar"] == [{k: m[k] for k in m if k != "n"}] and m["n"] == 45 and
       abs(c["accuracy_difference"] - (m["only_a"] - m["only_b"]) / 45) < 1e-12)(
       d["comparisons"][0], json.load(open("mcnemar")))'
status 0 "$ASCGRAD" plot run --csv curve.csv -o curve.gp
has curve.gp "validation accuracy"
status 0 "$ASCGRAD" runs . --json
json '[r for r in d["runs"] if r["run"].endswith("run")][0]["best"]["valid_accuracy"] > .3'

# an experiment of classifiers is reported by how often they are right, also where another system is wrong
cat >study.json <<END
{"name": "study",
 "common": {"preset": "nli", "data": "$PWD/train.jsonl.gz:valid=$PWD/dev.tsv,test=$PWD/held.jsonl", "tokenizer": "word",
            "dim": 16, "ffn": 16, "head_ff": 16, "batch": 16, "lr": 1e-2, "warmup": 5, "epochs": 2},
 "systems": {"none": {"model": "none"}, "linear": {"model": "linear"},
             "alone": {"model": "none", "sees": "hypothesis"}},
 "seeds": [1, 2], "report": {"baselines": ["linear"], "hard": "alone"}}
END
status 0 "$ASCGRAD" experiment run study.json --threads 1
has err 'none-1: done, valid accuracy [01]\.'
status 0 "$ASCGRAD" experiment status study
has out '^none-1 .* [0-9.]* % '
stand_in_plotter
status 0 "$ASCGRAD" experiment report study
has study/tables/results.csv '^system,seeds,.*class_accuracy,.*hard_accuracy,'
lacks study/report.md perplexity
has study/report.md 'that more than half of alone.s models get wrong'
lines study/tables/classes.csv 3
status 0 "$ASCGRAD" compare none=study/runs/none-1,study/runs/none-2 \
    linear=study/runs/linear-1,study/runs/linear-2 --json
cp out compared
if have_python; then
    "$python" - <<'END' || fail 'tables/classes.csv has other figures than compare'
import csv, json
c = json.load(open("compared"))["comparisons"][0]
t = [r for r in csv.DictReader(open("study/tables/classes.csv")) if r["system"] == "none"][0]
assert len(c["mcnemar"]) == int(t["mcnemar_tests"]) == 2
assert abs(float(t["difference"]) + 100 * c["accuracy_difference"]) < 1e-6, (t, c)
p = [m["p"] for m in c["mcnemar"]]
assert abs(float(t["mcnemar_p_median"]) - sum(p) / 2) < 1e-6
END
fi
sed 's/"hard": "alone"/"hard": "other"/' study.json >wrong.json
status 2 "$ASCGRAD" experiment run wrong.json --out wrong
has err "report: hard: there is no system 'other'"

# other labels, in order or as given
sed 's/entailment/yes/; s/neutral/no/; s/contradiction/no/' dev.tsv >two.tsv
# shellcheck disable=SC2086
status 0 "$ASCGRAD" nli train --encoder none --train two.tsv --valid two.tsv --mix none $small --epochs 1 --out labels
has labels/config.json '"classes": 2'
status 3 "$ASCGRAD" nli eval labels --data held.jsonl
has err 'held.jsonl: line [0-9]*: the label is .* expected one of no, yes'

# a run's settings serve another one; options win
status 0 "$ASCGRAD" nli train --config run/config.json --epochs 1 --out again
status 0 diff run/vocab.txt again/vocab.txt
status 0 "$ASCGRAD" nli train --config own-none/config.json --epochs 1 --out own-again
# shellcheck disable=SC2086
status 0 "$ASCGRAD" nli train --set "data=$PWD/train.jsonl.gz:valid=$PWD/dev.tsv" --set encoder=none --mix none $small \
    --epochs 1 --out set
has set/config.json '"encoder": ""'
status 2 "$ASCGRAD" nli train --config run/config.json --valid dev.tsv --out no
has err '^ascgrad nli train: --train FILE is missing'

# what is wrong
status 2 "$ASCGRAD" nli
status 2 "$ASCGRAD" nli train --valid dev.tsv --encoder none --out no
has err '^ascgrad nli train: --train FILE is missing'
status 2 "$ASCGRAD" nli train --train train.jsonl.gz --valid dev.tsv --out no
has err '^ascgrad nli train: --encoder DIR is missing'
status 3 "$ASCGRAD" nli train --train missing.jsonl --valid dev.tsv --encoder none --out no
has err 'missing.jsonl: '
status 3 "$ASCGRAD" nli train --train train.jsonl.gz --valid dev.tsv --encoder nowhere --out no
has err '^ascgrad nli train: nowhere: No such file or directory; expected the folder of a BERT or DistilBERT$'
mkdir bare
cp "$tiny/config.json" "$tiny/model.safetensors" bare
status 3 "$ASCGRAD" nli train --train train.jsonl.gz --valid dev.tsv --encoder bare --out no
has err '^ascgrad nli train: bare: has no vocab.txt; --vocab FILE names one that lies elsewhere$'
[ ! -e no ] || fail 'what is refused leaves a run'
status 2 "$ASCGRAD" generate run
has err '^ascgrad generate: run is a classifier, which predicts no tokens; ascgrad nli predict has it tell classes$'
status 2 "$ASCGRAD" inspect run
has err '^ascgrad inspect: run is a model of pairs of sentences, expected one that reads a single text$'
{ pairs 3 1 | jsonl; echo '{"gold_label": "neutral", "sentence1": "a"}'; } >bad.jsonl
status 3 "$ASCGRAD" nli eval run --data bad.jsonl
has err 'bad.jsonl: line 4: "sentence2" is missing'
{ pairs 3 1 | jsonl; echo 'no json'; } >bad.jsonl
status 3 "$ASCGRAD" nli eval run --data bad.jsonl
has err 'bad.jsonl: line 4: is no JSON'
cp run/model.safetensors alone.safetensors
status 2 "$ASCGRAD" nli eval alone.safetensors --data held.jsonl
has err '^ascgrad nli eval: --encoder is missing\|encoder is missing: the model takes states'
status 0 "$ASCGRAD" nli eval alone.safetensors --data held.jsonl --encoder "$tiny" --json
same out first
# a class whose name would be another part of a spec is a class
pairs 12 4 | jsonl | sed 's/"contradiction"/"a,text=o"/' >odd.jsonl
# shellcheck disable=SC2086
status 0 "$ASCGRAD" nli train --encoder none --train odd.jsonl --valid odd.jsonl --mix transformer --layers 1 \
    --heads 1 --steps 1 $small --out odd
status 0 "$ASCGRAD" nli eval odd --data odd.jsonl
has out '^ *a,text=o '
[ ! -e no ] || fail 'a run that was refused is there'

# another preset stands over the preset nli; what is no model of pairs is not trained here
# shellcheck disable=SC2086
status 0 "$ASCGRAD" nli train $data --encoder none --preset tiny --steps 2 --threads 1 --out over
has over/config.json '"head": "pairs"'
has over/config.json '"d_model": 32'
# shellcheck disable=SC2086
status 2 "$ASCGRAD" nli train $data --encoder none --set head=lm --out no
has err '^ascgrad nli train: head: what is given makes no model of pairs, expected pairs, as the preset nli has it$'
status 0 "$ASCGRAD" train --preset tiny --data builtin:2000 --steps 2 --threads 1 --out lm
status 2 "$ASCGRAD" nli train --resume lm
has err '^ascgrad nli train: --resume: lm is no model of pairs, expected one of nli train$'
[ ! -e no ] || fail 'a run that was refused is there'

exit $failed
