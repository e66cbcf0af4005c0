#!/bin/sh
# ascgrad experiment: numbers are those of the runs; names are text; nothing is evaluated twice; what failed.
. "$abs_top_srcdir/tests/program.sh"

cat >exp.json <<'END'
{"name": "<b>R&D</b> `touch a.evil` | $(touch b.evil)\u001b]0;\u009b1m\u202e",
 "common": {"preset": "tiny", "data": "builtin:6000", "layers": 1, "dim": 16, "heads": 2, "steps": 12,
  "eval_every": 4, "threads": 1},
 "systems": {"base": {"model": "transformer"}, "swarm": {"model": "ascender"},
  "broken": {"model": "grassmann", "lr": 1000, "weight_decay": 1, "eval_every": 12}},
 "seeds": [1, 2],
 "report": {"figures": ["decomposition", 2, "ablation", "heads", 5, "omega"], "lengths": [8, 16], "tokens": 6,
  "targets": [1e9, 1]}}
END
"$ASCGRAD" experiment run exp.json --out dir >out 2>&1

stand_in_plotter
status 0 "$ASCGRAD" experiment report dir
has out '^written: dir/report.md, report.html, tables and figures'
for file in report.md report.html tables/results.csv tables/significance.csv tables/settings-common.csv \
    tables/settings-differing.csv tables/machines.csv figures/curves-tokens.svg figures/curves-tokens.csv \
    figures/curves-minutes.svg figures/curves-products.svg tables/crossings.csv \
    figures/cost.svg figures/ablation.svg figures/length.svg figures/omega.svg \
    figures/layers-1-heads.svg figures/decomposition-maps.svg; do
    [ -s "dir/$file" ] || fail "$file is missing"
done

# ---- numbers: those of the runs, their mean and sample deviation ----
last() { # SEED KEY: of the run's last evaluation
    sed -n 's/.*"'"$2"'": *\([0-9.]*\).*/\1/p' "dir/runs/base-$1/metrics.jsonl" | tail -n 1
}
column() { # FILE NAME: the field of the second line under that name
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print $at }' "$1"
}
near() { # A B
    awk -v a="$1" -v b="$2" 'BEGIN {
        number = "^-?[0-9]+(\\.[0-9]*)?(e[-+]?[0-9]+)?$"
        exit !(a ~ number && b ~ number && (a - b) ^ 2 <= 1e-12 * b * b)
    }' || fail "$1 is not $2: $3"
}
one=$(last 1 valid_ppl) two=$(last 2 valid_ppl)
near "$(column dir/tables/results.csv valid_ppl)" "$(awk -v a="$one" -v b="$two" 'BEGIN {
    printf "%.15g", (a + b) / 2 }')" mean
near "$(column dir/tables/results.csv valid_ppl_std)" "$(awk -v a="$one" -v b="$two" 'BEGIN {
    m = (a + b) / 2; printf "%.15g", sqrt((a - m) ^ 2 + (b - m) ^ 2) }')" deviation
near "$(grep '^,base,' dir/figures/curves-tokens.csv | tail -n 1 | cut -d, -f4)" \
    "$(column dir/tables/results.csv valid_ppl)" 'the end of the curve'
"$ASCGRAD" eval dir/runs/base-1 --split test --json >one.json
"$ASCGRAD" eval dir/runs/base-2 --split test --json >two.json
near "$(column dir/tables/results.csv ppl)" "$(cat one.json two.json | field ppl |
    awk '{ s += $1 } END { printf "%.15g", s / 2 }')" 'perplexity on the test split'
status 0 "$ASCGRAD" compare base=dir/runs/base-1,dir/runs/base-2 swarm=dir/runs/swarm-1,dir/runs/swarm-2 --json
near "$(column dir/tables/significance.csv difference)" "$(field difference <out)" 'difference'
near "$(column dir/tables/significance.csv p_bootstrap)" "$(field p_bootstrap <out)" 'p'
near "$(column dir/tables/targets.csv million_tokens)" "$(sed -n 's/.*"tokens": \([0-9]*\).*valid_ppl.*/\1e-6/p' \
    dir/runs/base-1/metrics.jsonl | head -n 1)" 'the tokens of the first evaluation'
has dir/tables/targets.csv '^base,1000000000,2,0.00[0-9]*,0,'
has dir/tables/targets.csv '^base,1,0,,,,*$'
near "$(column dir/tables/targets.csv pflop)" "$(awk -v m="$(column dir/tables/targets.csv million_tokens)" \
    -v g="$(column dir/tables/cost.csv gflop_per_token)" 'BEGIN { printf "%.15g", m * g }')" 'products of training'
ends() { # SERIES: the last point of a learning curve over tokens
    grep "^,$1," dir/figures/curves-tokens.csv | tail -n 1 | cut -d, -f4
}
near "$(sed -n 's/^swarm,base,million tokens,//p' dir/tables/crossings.csv | cut -d, -f4)" \
    "$(awk -v a="$(ends swarm)" -v b="$(ends base)" 'BEGIN { printf "%.15g", a - b }')" 'the last difference'
has dir/tables/crossings.csv '^swarm,base,minutes,'
has dir/tables/crossings.csv '^swarm,base,PFLOP,'
has dir/report.md 'No star can stand here: .* 0.5 with these'
has dir/report.md '^A difference below 0: the system predicts better'
has dir/tables/settings-differing.csv '^mix,transformer,ascender,'
has dir/tables/settings-common.csv '^steps,12$'

# ---- names are text; the page needs nothing from elsewhere ----
has dir/report.html '&lt;b&gt;R&amp;D&lt;/b&gt; `touch a.evil`'
lacks dir/report.html '<b>R&D'
lacks dir/report.html 'https*://'
lacks dir/report.html 'src="[^d]'
has dir/report.html 'src="data:image/svg+xml;base64,PHN2Zz5kcmF3bjwvc3ZnPgo='
has dir/report.html '(touch b.evil)?\]0;?1m?</title>'
for file in dir/report.md dir/report.html dir/figures/*; do
    LC_ALL=C tr -d '\n\t' <"$file" | LC_ALL=C grep -q "[[:cntrl:]]\|$(printf '\342\200\256\|\302\233')" &&
        fail "$file has characters that steer a terminal"
done
has dir/report.md '^# \\<b\\>R\\&D\\</b\\> \\`touch a.evil\\` \\| \\\$'
for file in *.evil dir/*.evil dir/*/*.evil; do
    [ ! -e "$file" ] || fail "a name was run: $file"
done

# ---- what failed is told ----
has dir/report.md '^## What failed$'
has dir/report.md '^- \*\*broken-1\*\*'
has dir/report.md '^      ascgrad train: .*the norm of the gradient is nan' # code below an item, not its text

# ---- a second report evaluates nothing, and says the same ----
cp dir/report.md before.md
touch marker
status 0 "$ASCGRAD" experiment report dir --figures cost,length --json
json "d['runs']['failed'] == 2 and any(f.endswith('report.html') for f in d['files'])"
[ -z "$(find dir/scores -newer marker)" ] || fail 'a model was evaluated again'
sed '/^## Figures/,/^## Settings/d' before.md >before
sed '/^## Figures/,/^## Settings/d' dir/report.md >after
same before after

# ---- minutes by steps that are timed now ----
status 0 "$ASCGRAD" experiment report dir --bench --threads 1
has dir/report.md '^Mean ± deviation over 5 turns of 3 steps, .*, 1 thread:'
has dir/report.md '^Learning curves: validation perplexity over minutes by steps timed for the report'
near "$(column dir/tables/targets.csv minutes)" "$(awk -v m="$(column dir/tables/targets.csv million_tokens)" \
    -v s="$(column dir/tables/speeds.csv tokens_per_s)" 'BEGIN { printf "%.15g", m * 1e6 / s / 60 }')" 'minutes'
[ "$(wc -l <dir/tables/speeds.csv)" -eq 3 ] || fail 'each system with runs has a speed'
near "$(sed -n 's/^"*ms a token, timed for the report"*,base,//p' dir/figures/cost.csv | cut -d, -f1)" \
    "$(awk -v s="$(column dir/tables/speeds.csv tokens_per_s)" 'BEGIN { printf "%.15g", 1000 / s }')" 'ms a token'

status 0 "$ASCGRAD" experiment report dir
[ ! -e dir/tables/speeds.csv ] || fail 'speeds of a report before this one are left'
has dir/report.md '^Learning curves: validation perplexity over minutes by the runs. clocks'

# ---- curves that cross, and a run whose products are not known ----
cp -r dir crossed
while read -r run first second third; do
    i=0
    for ppl in $first $second $third; do
        i=$((i + 1))
        echo "{\"step\": $i, \"tokens\": ${i}000000, \"elapsed_s\": $((i * 60)), \"valid_ppl\": $ppl}"
    done >crossed/runs/"$run"/metrics.jsonl
done <<'END'
base-1 10 8 7
base-2 10 8 7
swarm-1 12 9 5
swarm-2 12 9 5
END
sed 's/"gflop_per_token": [0-9.e-]*/"gflop_per_token": null/' dir/runs/swarm-1/summary.json \
    >crossed/runs/swarm-1/summary.json
status 0 "$ASCGRAD" experiment report crossed
has crossed/tables/crossings.csv '^swarm,base,million tokens,2,1,2\.3333333333333[0-9]*,-2,3$'
has crossed/tables/crossings.csv '^swarm,base,minutes,2,1,2\.3333333333333[0-9]*,-2,3$'
has crossed/report.md '^Differences in validation perplexity .*: below 0 the system is ahead'
has crossed/tables/targets.csv '^swarm,1000000000,2,1,0,1,0,[0-9.e-]*,*$'
sed 's/"gflop_per_token": [0-9.e-]*/"gflop_per_token": null/' dir/runs/swarm-2/summary.json \
    >crossed/runs/swarm-2/summary.json
rm crossed/runs/swarm-1/model.safetensors
status 3 "$ASCGRAD" experiment report crossed --bench --threads 1
lacks err 'not timed' # by the other seed's model, and so are its products counted
has crossed/tables/cost.csv '^swarm,1,[0-9]*,,[0-9.e-][0-9.e-]*,'
has crossed/tables/crossings.csv '^swarm,base,PFLOP,,,,,$'
has crossed/tables/targets.csv '^swarm,1000000000,1,1,,[0-9.e-]*,,,$'
rm crossed/runs/*/model.safetensors
status 3 "$ASCGRAD" experiment report crossed
has crossed/report.md '^crossed/runs/swarm-2: not evaluated: ' # the runs' own evaluations count
has crossed/report.md 'Quality on the valid split'
lacks crossed/report.md '^Left out'

# ---- curves that meet where they cross, and seeds that were evaluated nowhere alike ----
cp -r dir meeting
for i in 1 2; do
    for line in 1:11 2:8 3:1; do
        echo "{\"step\": ${line%:*}, \"tokens\": ${line%:*}000000, \"elapsed_s\": 1, \"valid_ppl\": ${line#*:}}"
    done >meeting/runs/swarm-$i/metrics.jsonl
    sed 's/:11/:10/; s/: 11}/: 10}/; s/: 1}$/: 7}/' meeting/runs/swarm-$i/metrics.jsonl \
        >meeting/runs/base-$i/metrics.jsonl
done
status 0 "$ASCGRAD" experiment report meeting
has meeting/tables/crossings.csv '^swarm,base,million tokens,1,1,2,-6,3$'
for i in 1 2; do
    echo "{\"step\": $i, \"tokens\": ${i}000, \"elapsed_s\": $i, \"valid_ppl\": 9}" >meeting/runs/base-$i/metrics.jsonl
done
status 0 "$ASCGRAD" experiment report meeting
has meeting/tables/crossings.csv '^swarm,base,million tokens,,,,,$'

# ---- a metric of which more is better ----
cp -r dir accurate
for metrics in accurate/runs/*/metrics.jsonl; do
    case $metrics in *swarm*) second=0.4 ;; *) second=0.6 ;; esac
    i=0
    for accuracy in 0.1 $second 0.9; do
        i=$((i + 1))
        echo "{\"step\": $i, \"tokens\": ${i}000000, \"elapsed_s\": $((i * 60)), \"valid_accuracy\": $accuracy}"
    done >"$metrics"
done
sed 's/"targets": \[/"metric": "valid_accuracy", &0.5,/; s/1000000000.0,//' dir/experiment.json \
    >accurate/experiment.json
status 0 "$ASCGRAD" experiment report accurate
has accurate/report.md 'Up to a validation accuracy'
has accurate/report.md 'first evaluation at the target or above it'
has accurate/report.md '^Differences in validation accuracy .*: above 0 the system is ahead'
has accurate/tables/targets.csv '^base,0.5,2,2,0,2,0,'
has accurate/tables/targets.csv '^swarm,0.5,2,3,0,3,0,'
has accurate/tables/targets.csv '^swarm,1,0,,,,*$'

# ---- no gnuplot; wrong usage ----
export ASCGRAD_GNUPLOT=none/gnuplot
rm -f dir/figures/cost.svg dir/report.md
status 3 "$ASCGRAD" experiment report dir --figures cost
has err 'gnuplot was not found'
lines err 1
[ -s dir/report.md ] && [ -s dir/figures/cost.csv ] || fail 'without gnuplot all else is written'
export ASCGRAD_GNUPLOT=./plotter
status 2 "$ASCGRAD" experiment report
status 2 "$ASCGRAD" experiment report dir --figures cots
has err "^ascgrad experiment report: --figures: got 'cots', expected of decomposition"
status 2 "$ASCGRAD" experiment report dir --split tset
status 2 "$ASCGRAD" experiment report dir --figures 2,6
has err "got '6'"
rm -f dir/figures/cost.svg
status 0 "$ASCGRAD" experiment report dir --figures 2
[ -s dir/figures/cost.svg ] || fail 'a figure is drawn by its number'
status 3 "$ASCGRAD" experiment report none

# scores of another model, under this one's name, are no scores of it
status 0 "$ASCGRAD" experiment report dir
cp dir/tables/results.csv results.csv
set -- dir/scores/*-test.safetensors
[ $# -gt 1 ] || fail 'no scores of two models'
cp "$1" "$2"
status 0 "$ASCGRAD" experiment report dir
same dir/tables/results.csv results.csv

sed -e '/"lengths": \[/,/\]/d' -e 's/"tokens": 6/"lengths": ['"$(seq -s , 1 33)"']/' dir/experiment.json >changed
cp dir/experiment.json whole
cp changed dir/experiment.json
status 3 "$ASCGRAD" experiment report dir
has err 'report: lengths: got .*, expected a list of at most 32'
cp whole dir/experiment.json
sed 's/"tokens": 6/"tokns": 6/' dir/experiment.json >changed
cp changed dir/experiment.json
status 3 "$ASCGRAD" experiment report dir
has err "report: unknown key 'tokns'; did you mean 'tokens'?$"

# ---- layers of a hybrid: omega of those that have it ----
cat >hybrid.json <<'END'
{"name": "hybrid", "common": {"preset": "tiny", "data": "builtin:6000", "dim": 16, "heads": 2, "steps": 6, "layers": 4,
 "eval_every": 2, "threads": 1},
 "systems": {"late": {"mixing": ["transformer", "transformer", "ascender", "transformer"]}},
 "seeds": [1], "report": {"figures": ["omega", "decomposition"]}}
END
status 0 "$ASCGRAD" experiment run hybrid.json --out hybrid
status 0 "$ASCGRAD" experiment report hybrid
has hybrid/figures/omega.csv '^late,sep,'
has hybrid/report.md 'the scores of layer 2 and the parts'
[ -s hybrid/figures/decomposition-maps.gp ] || fail 'no figure of the layer that is ASCender'
cp hybrid/experiment.json kept.json
echo mine >hybrid/figures/mine.svg
echo ../../kept.json >>hybrid/report.files
sed 's/"figures"/"layer": 7, &/' kept.json >hybrid/experiment.json
status 3 "$ASCGRAD" experiment report hybrid
has hybrid/report.md '^Not drawn: hybrid/runs/late-1: '
[ ! -e hybrid/figures/decomposition-maps.gp ] || fail 'a figure of the report before is left'
[ -s hybrid/figures/mine.svg ] && [ -s kept.json ] || fail 'a file that no report wrote is gone'
lacks hybrid/report.files 'mine\|kept'
cp kept.json hybrid/experiment.json
sed 's/"figures"/"metric": "valid_pl", &/' hybrid/experiment.json >changed
cp changed hybrid/experiment.json
status 3 "$ASCGRAD" experiment report hybrid
has err "^ascgrad experiment report: report: metric: no run has 'valid_pl', expected a key of metrics.jsonl"

# ---- classifiers are told by how often they are right, whatever chose their models ----
cat >classes.json <<'END'
{"name": "classes", "common": {"preset": "tiny", "data": "task:majority:length=5,train=60,valid=20,test=20", "dim": 16,
  "heads": 2, "steps": 6, "head": "classifier", "pos_emb": false, "threads": 1},
 "systems": {"one": {}, "two": {"lr": 1e-5}}, "seeds": [1], "report": {"figures": ["cost"], "targets": [0.1]}}
END
status 0 "$ASCGRAD" experiment run classes.json --out classes
status 0 "$ASCGRAD" experiment report classes
has classes/report.md '^Smallest share wrong, % (test): '
has classes/report.md 'Up to a validation accuracy'
has classes/report.md '20 sequences, differences in nats a sequence'
has classes/report.md '^A difference below 0, of how often right above 0: the system predicts better'
status 0 "$ASCGRAD" compare classes/runs/one-1 classes/runs/two-1
has out '^test split, 20 sequences$'
has out '^system .* perplexity .* accuracy'

# ---- what is hard in one text says nothing of another; losses of classes and of tokens don't compare ----
cat >hard.json <<'END'
{"name": "hard", "common": {"preset": "tiny", "dim": 16, "heads": 2, "steps": 6, "head": "classifier", "pos_emb": false,
  "threads": 1},
 "grid": {"data": ["task:majority:length=9,train=60,valid=20,test=20",
                   "task:majority:length=5,train=60,valid=20,test=20"]},
 "systems": {"one": {}, "two": {"lr": 1e-5}}, "seeds": [1], "report": {"hard": "two"}}
END
status 0 "$ASCGRAD" experiment run hard.json --out hard
status 0 "$ASCGRAD" experiment report hard
for table in 'results 2' 'results-2 0'; do
    told=$(sed 's/"[^"]*"/name/' "hard/tables/${table% *}.csv" | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "hard_accuracy") at = i }
        NR > 1 { n += $at != "" }
        END { print +n }')
    [ "$told" = "${table#* }" ] || fail "${table% *}: what is hard is told of $told systems"
done
cat >mixed.json <<'END'
{"name": "mixed", "common": {"preset": "tiny", "dim": 16, "heads": 2, "steps": 6, "pos_emb": false, "threads": 1,
  "data": "task:majority:length=5,train=60,valid=20,test=20"},
 "systems": {"cls": {"head": "classifier"}, "lm": {}}, "seeds": [1]}
END
status 0 "$ASCGRAD" experiment run mixed.json --out mixed
"$ASCGRAD" experiment report mixed >out 2>err || fail "mixed: status $?"
has mixed/report.md '^Smallest [a-z ]* (test): lm, '

# ---- scores that can't be kept are told, and lose no other run ----
rm hybrid/scores/*
sed 's/"metric": "valid_pl", //' hybrid/experiment.json >changed
cp changed hybrid/experiment.json
"$ASCGRAD" experiment report hybrid >out 2>err
kept=$(echo hybrid/scores/*)
rm "$kept"
mkdir "$kept" "$kept/in"
status 3 "$ASCGRAD" experiment report hybrid
has err '^ascgrad experiment report: not kept: '
has hybrid/tables/results.csv '^late,1,[0-9]'

# ---- a table that can't be written is told once, and the report of before stays whole ----
rm -r "$kept"
status 0 "$ASCGRAD" experiment report hybrid
cp hybrid/report.md before.md
find hybrid/tables hybrid/figures -type f | sort >before
rm hybrid/tables/results.csv
mkdir hybrid/tables/results.csv
status 3 "$ASCGRAD" experiment report hybrid
has err '^ascgrad experiment report: hybrid/tables/results.csv: '
lines err 1
lines out 0
same hybrid/report.md before.md
rmdir hybrid/tables/results.csv
echo >hybrid/tables/results.csv
mv hybrid/figures pictures
echo >hybrid/figures
status 3 "$ASCGRAD" experiment report hybrid
has err '^ascgrad experiment report: hybrid/figures: is a file, expected a folder$'
lines err 1
rm hybrid/figures
mv pictures hybrid/figures
find hybrid/tables hybrid/figures -type f | sort >after
same before after

# ---- six seeds can star: better ones *, worse ones with a dagger ----
cat >six.json <<'END'
{"name": "six", "common": {"preset": "tiny", "data": "builtin:6000", "layers": 1, "dim": 16, "heads": 2, "steps": 9,
 "threads": 1}, "systems": {"slow": {"lr": 1e-5}, "quick": {"lr": 0.01}}, "seeds": [1, 2, 3, 4, 5, 6]}
END
status 0 "$ASCGRAD" experiment run six.json --out six
status 0 "$ASCGRAD" experiment report six
has six/report.md '^| slow (baseline) | 6 |'
has six/report.md '^| quick | 6 | [0-9.]* ± [0-9.]*\\\* |'
lacks six/report.md 'No star'
sed 's/^{/{"report": {"baselines": ["quick"], "split": "valid", "targets": [1e6]}, /' six/experiment.json >changed
cp changed six/experiment.json
status 0 "$ASCGRAD" experiment report six
has six/tables/targets.csv '^quick,1000000,6,'
has six/report.md '^| slow | 6 | [0-9.]* ± [0-9.]*† |'
has six/report.md 'Smallest perplexity (valid): quick'
for i in 1 2 4 5 6; do
    "$ASCGRAD" eval six/runs/quick-$i --split valid --json
done >five.json
rm -f six/runs/quick-3/model.safetensors
status 3 "$ASCGRAD" experiment report six --figures cost
has err 'six/runs/quick-3.*not evaluated'
has six/report.md '^Left out: six/runs/quick-3: not evaluated: '
has six/tables/results.csv '^quick,5,'
has six/tables/targets.csv '^quick,1000000,5,'
five=$(field ppl <five.json | awk '{ s += $1 } END { printf "%.15g", s / NR }')
near "$(sed -n 's/^quick,5,//p' six/tables/results.csv | cut -d, -f1)" "$five" 'perplexity of the five that are there'
near "$(sed -n 's/^[^,]*,quick,//p' six/figures/cost.csv | head -n 1 | cut -d, -f2)" "$five" 'the same in the figure'
has six/tables/significance.csv '^slow,quick,'

# ---- models with different tokens: bits per byte ----
cat >tokens.json <<'END'
{"name": "tokens", "common": {"preset": "tiny", "data": "builtin:6000", "layers": 1, "dim": 16, "heads": 2, "steps": 9,
 "threads": 1}, "systems": {"words": {"tokenizer": "word"}, "bytes": {"tokenizer": "byte"}}, "seeds": [1],
 "report": {"hard": "words"}}
END
status 0 "$ASCGRAD" experiment run tokens.json --out tokens
status 0 "$ASCGRAD" experiment report tokens
lacks tokens/report.md '^Smallest bits per byte'
has tokens/report.md '^Of words no classifier was evaluated: nothing counts as hard'
has tokens/report.md 'bits per byte compare, perplexities do not'
has tokens/report.md '^- \*\*words\*\*: [0-9.]* % of its tokens are unknown words: its bits per byte compare with no'
lacks tokens/report.md '^- \*\*bytes\*\*: .*unknown words'
has tokens/report.md '^Where "seeds" is 0, no seed of the two systems saw the same data'
has tokens/report.md '^Learning curves: validation, bits per byte over tokens'
lacks tokens/report.md 'block by block'

# ---- carried context: in training, and not in what is compared ----
cat >carried.json <<'END'
{"name": "carried", "common": {"preset": "tiny", "data": "builtin:6000", "layers": 1, "dim": 16, "heads": 2, "steps": 9,
 "pos_emb": false, "threads": 1}, "systems": {"alone": {}, "carried": {"carry": 8}}, "seeds": [1]}
END
status 0 "$ASCGRAD" experiment run carried.json --out carried
status 0 "$ASCGRAD" experiment report carried
has carried/report.md '^Models trained with carried context are evaluated on the test split block by block'
rest() { # SYSTEM: its products a token that are no mixing's
    grep "^$1," carried/tables/cost.csv | awk -F, '{ printf "%.15g", $4 - $5 }'
}
near "$(rest carried)" "$(rest alone)" 'what is carried is read by the mixings alone'
cp carried/tables/results.csv apart.csv
sed 's/^{/{"report": {"carry": true}, /' carried.json >with.json
status 0 "$ASCGRAD" experiment run with.json --out carried
status 0 "$ASCGRAD" experiment report carried
has carried/report.md '^Models trained with carried context are evaluated on the test split with it'
[ "$(grep '^alone' carried/tables/results.csv)" = "$(grep '^alone' apart.csv)" ] ||
    fail 'carried: the other model changed'
status 0 "$ASCGRAD" eval carried/runs/carried-1 --split test --carry --json
has carried/tables/results.csv "^carried.*$(field ppl <out | cut -c 1-6)"
sed 's/^{/{"report": {"carry": 8}, /' carried.json >wrong.json
status 2 "$ASCGRAD" experiment run wrong.json --out carried
has err 'report: carry: got 8, expected true or false'

# ---- classifiers whose tokens differ are compared by their sequences ----
mkdir sentences
for split in train valid test; do
    for i in 1 2 3 4 5 6 7 8; do
        echo "{\"text\": \"some words of $split, $i\", \"label\": \"$((i % 2))\"}"
    done >sentences/$split.jsonl
done
cat >cut.json <<'END'
{"name": "cut", "common": {"preset": "tiny", "data": "sentences/", "layers": 1, "dim": 16, "heads": 2, "steps": 4,
 "block": 64, "head": "classifier", "mask": "full", "threads": 1},
 "systems": {"words": {"tokenizer": "word"}, "bytes": {"tokenizer": "byte"}}, "seeds": [1, 2]}
END
status 0 "$ASCGRAD" experiment run cut.json --out cut
status 0 "$ASCGRAD" experiment report cut
has cut/report.md '^[*]*8 sequences, differences in nats a sequence'
lacks cut/report.md 'different tokens'

# ---- a grid of texts: no sentence about tokens, and none of them is the best ----
cat >grid.json <<'END'
{"name": "grid", "common": {"preset": "tiny", "dim": 16, "heads": 2, "steps": 4, "pos_emb": false, "threads": 1},
 "systems": {"one": {}, "two": {"lr": 1e-5}}, "seeds": [1], "report": {"figures": ["length"], "lengths": [8, 32]},
 "grid": {"data": ["task:copy:length=16,train=60,valid=20,test=20", "task:copy:length=20,train=60,valid=20,test=20"]}}
END
status 0 "$ASCGRAD" experiment run grid.json --out grid
status 0 "$ASCGRAD" experiment report grid
lacks grid/report.md 'different tokens'
lacks grid/report.md '^Smallest'
run=$(echo grid/runs/one-*length_16*)
for length in 8 32; do # a task's sequences have the length that is asked for
    status 0 "$ASCGRAD" eval "$run" --split test --length $length --json
    near "$(grep "length=16" grid/figures/length.csv | grep '^[^"]*"*one' | sed -n "s/.*,$length,//p" | cut -d, -f1)" \
        "$(field ppl <out)" "perplexity at length $length"
done

# ---- values of the grid whose names are cut are no seeds of one another ----
twelve='"transformer", "transformer", "transformer", "transformer", "transformer", "transformer", "transformer",
 "transformer", "transformer", "transformer", "transformer"'
cat >long.json <<END
{"name": "long", "common": {"preset": "tiny", "data": "builtin:6000", "dim": 16, "heads": 2, "steps": 2, "layers": 12,
 "threads": 1}, "systems": {"s": {}}, "seeds": [1],
 "grid": {"model": [[$twelve, "grassmann"], [$twelve, "conv"]]}}
END
status 0 "$ASCGRAD" experiment run long.json --out long
status 0 "$ASCGRAD" experiment report long
has long/tables/results-2.csv ' #2",1,'

# ---- a name is cut between two characters ----
cat >cut.json <<END
{"name": "cut", "common": {"preset": "tiny", "data": "builtin:2000", "dim": 16, "heads": 2, "steps": 2, "threads": 1,
 "precision": "bf16"}, "systems": {"$(printf '%079d' 0)é": {}}, "seeds": [1]}
END
status 0 "$ASCGRAD" experiment run cut.json --out within
status 0 "$ASCGRAD" experiment report within
has within/tables/results.csv '^0*,1,'
grep "$(printf '\303')[^$(printf '\200')-$(printf '\277')]" within/tables/*.csv &&
    fail 'a name is cut within a character'

# ---- in which precision models are evaluated ----
has within/report.md '^On the test split models are evaluated in float32, those whose training rounded products'
lacks long/report.md 'are evaluated in float32'

# ---- a perplexity that is not finite loses nothing of the rest ----
cat >wild.json <<'END'
{"name": "wild", "common": {"preset": "tiny", "data": "builtin:6000", "layers": 1, "dim": 16, "heads": 2, "steps": 2,
 "warmup": 0, "clip": 0, "pos_emb": false, "threads": 1},
 "systems": {"tame": {}, "wild": {"optimizer": "sgd", "lr": 1000}},
 "seeds": [1, 2], "report": {"figures": ["length", "cost"], "lengths": [8, 16]}}
END
status 0 "$ASCGRAD" experiment run wild.json --out wild
status 0 "$ASCGRAD" experiment report wild
has wild/report.md '^| wild | 2 | inf |'
has wild/report.md '^- \*\*wild\*\*: 2 of 2 seeds with evaluations whose validation perplexity is not finite'
lacks wild/report.md '^- \*\*tame\*\*: .*not finite'
# … and is a baseline all the same
sed 's/"report": {/"report": {"baselines": ["wild"], /' wild.json >wilder.json
status 0 "$ASCGRAD" experiment run wilder.json --out wilder
status 0 "$ASCGRAD" experiment report wilder
lacks wilder/report.md 'There is nothing to compare'
has wilder/tables/significance.csv '^.*tame'
exit $failed
