#!/bin/sh
# ascgrad plot: curves of runs in a file and in a terminal; names that are commands; no gnuplot.
. "$abs_top_srcdir/tests/program.sh"

# run NAME MODEL SEED: a folder as a training leaves it.
run() {
    mkdir -p "$1"
    cat >"$1/config.json" <<END
{"version": "0.1.0", "data": "builtin", "tokenizer": "word", "lr": 0.003, "seed": $3, "threads": $3,
 "tensorboard": $([ "$3" = 1 ] && echo true || echo false),
 "shard_optimizer": $([ "$3" = 1 ] && echo true || echo false), "data_from_rank": $(($3 - 2)),
 "plan": {"steps": 40}, "model": {"mix": "$2", "layers": 2, "heads": 2}}
END
    awk -v seed="$3" 'BEGIN {
        for (s = 10; s <= 40; s += 10) {
            printf "{\"step\": %d, \"epoch\": 1, \"tokens\": %d, \"loss\": %.9g, \"elapsed_s\": %g", s, 100 * s,
                5 - s / 13 / seed, s * 1.5
            printf s % 20 ? "}\n" : ", \"valid_loss\": %.9g, \"valid_ppl\": %.9g}\n", 4 - s / 70, exp(4 - s / 70) + seed
        }
    }' >"$1/metrics.jsonl"
}
run runs/a transformer 1
run runs/b transformer 2
run runs/c grassmann 2

# a gnuplot that only notes what it is given
cat >plotter <<'END'
#!/bin/sh
cat >script
echo drawn
END
chmod +x plotter
export ASCGRAD_GNUPLOT=./plotter

# ---- the data are those of metrics.jsonl, to the last digit ----
status 0 "$ASCGRAD" plot runs/a -o a.svg
has out '^written: a.csv a.svg$'
has a.svg '^drawn$'
has script "'runs/a'"
sed -n 's/.*"tokens": \([0-9]*\),.*"valid_ppl": \([0-9.]*\).*/,a,\1,\2,,/p' runs/a/metrics.jsonl >wanted
sed 1d a.csv >got
same got wanted
lines got 2
status 0 "$ASCGRAD" plot runs/b --y loss --x minutes --csv b.csv
has out '^written: b.csv$'
sed -n 's/.*"loss": \([0-9.]*\), "elapsed_s": \([0-9.]*\).*/\2 \1/p' runs/b/metrics.jsonl |
    awk '{ printf ",b,%.15g,%s,,\n", $1 / 60, $2 }' | sed 1q >wanted
sed -n 2p b.csv >got
same got wanted
status 0 "$ASCGRAD" plot runs/b --x steps --y loss --csv b.csv
has b.csv '^,b,40,'
printf '{"step": 50, "tokens"' >>runs/b/metrics.jsonl # being written
status 0 "$ASCGRAD" plot runs/b --x steps --y loss --csv b.csv
lines b.csv 5

# ---- names: what differs; a folder of runs; smoothing is stated ----
status 0 "$ASCGRAD" plot runs/a runs/b -o ab.png
has ab.csv '^,seed 1,2000,'
has ab.csv '^,seed 2,2000,'
lacks ab.csv 'threads\|tensorboard'
status 0 "$ASCGRAD" plot runs -o all.pdf --json
lines out 1
has out '"files": \["all.csv", "all.pdf"\]'
has all.csv '^,"model grassmann, seed 2",2000,'
echo 'my own' >own.csv
status 2 "$ASCGRAD" plot runs/a -o own.svg
has err 'the data of own.svg stand in own.csv, which is there and is no figure.s: expected another name, or --csv FILE$'
has own.csv '^my own$'
status 0 "$ASCGRAD" plot runs/a -o own.svg --csv own2.csv
status 0 "$ASCGRAD" plot runs/a runs/a -o twice.png
has twice.csv '^,runs/a,'
has twice.csv '^,runs/a #2,'
mkdir more
cp -r runs/a more/a
status 0 "$ASCGRAD" plot runs/a runs/b more/a -o same.png # two with the same settings: all by their folders
has same.csv '^,runs/b,'
has same.csv '^,more/a,'
status 0 "$ASCGRAD" plot runs/a --y loss --smooth 0.5 --log-y -o smooth.svg
has script "running mean (weight 0.5)"
has script '^set logscale y$'
"$ASCGRAD" plot runs/a --y loss --csv raw.csv >out
awk -F, 'FNR == 1 { next } NR == FNR { x[FNR] = $4; next }
    { s = s / 2 + x[FNR] / 2; w = w / 2 + .5; if ((s / w - $4) ^ 2 > 1e-18) exit 1 }' raw.csv smooth.csv ||
    fail 'not the running mean'

name=$(printf '%0190d' 0 | tr 0 n)
mkdir long
cp -r runs/a long/a
sed "s/\"loss\"/\"$name\"/" runs/a/metrics.jsonl >long/a/metrics.jsonl
status 0 "$ASCGRAD" plot long/a --y "$name" --smooth 0.9 -o long.svg
[ -s long.svg ] || fail 'no figure of a long name'

# ---- no terminal, no gnuplot ----
status 2 "$ASCGRAD" plot runs/a
has err '^ascgrad plot: --out is missing: '
lines out 0
export ASCGRAD_GNUPLOT=none/gnuplot
status 0 "$ASCGRAD" plot runs/a --json
has out '^{"x": "tokens", "y": "valid_ppl", "curves": \[{"name": "a", "points": 2, "x": \[2000.0, 4000.0\], "y": \['
has out '"files": \[\]}$'
status 3 "$ASCGRAD" plot runs/a -o none.svg
has err '^ascgrad plot: gnuplot was not found.*install it'
lines err 1
[ -s none.csv ] && [ ! -e none.svg ] || fail 'without gnuplot the data alone are written'
status 0 "$ASCGRAD" plot runs/a --csv alone.csv
unset ASCGRAD_GNUPLOT

# ---- wrong usage ----
status 2 "$ASCGRAD" plot
status 2 "$ASCGRAD" plot runs/a -o a.gif
has err "^ascgrad plot: --out: got 'a.gif', expected a name that ends with .svg, .png, .pdf, .gp or .csv$"
status 2 "$ASCGRAD" plot runs/a -o svg
status 2 "$ASCGRAD" plot runs/a --y valid_pl -o a.svg
has err "^ascgrad plot: --y: no run has 'valid_pl'; did you mean 'valid_ppl'?$"
status 2 "$ASCGRAD" plot runs/a --x token -o a.svg
has err "did you mean 'tokens'?$"
status 3 "$ASCGRAD" plot none -o a.svg
has err '^ascgrad plot: none: '
mkdir empty
status 3 "$ASCGRAD" plot empty -o a.svg
has err '^ascgrad plot: empty: there is no run there$'

# a run that is damaged is told, and hides no other
mkdir some some/bad
cp -r runs/a runs/c some
echo '{' >some/bad/config.json
cp runs/a/metrics.jsonl some/bad
status 3 "$ASCGRAD" plot some --csv some.csv --json
json '[c["name"] for c in d["curves"]] == ["model transformer, seed 1", "model grassmann, seed 2"]'
has err '^ascgrad plot: some/bad/config.json'
status 3 "$ASCGRAD" plot some/bad --csv some.csv
status 3 "$ASCGRAD" plot some/bad runs/a --csv some.csv --json
json '[c["name"] for c in d["curves"]] == ["a"]'

# nor does a picture take the place of what it shows, or its data that of the picture
status 2 "$ASCGRAD" plot runs/a -o x.svg --csv x.svg
has err '^ascgrad plot: --csv: got x.svg, as --out: expected another file$'
cp -r runs/a of-data
ruled_text 200 >text.csv
cp text.csv text.before
sed "s|\"data\": \"builtin\"|\"data\": \"$PWD/text.csv\"|" runs/a/config.json >of-data/config.json
for out in text.svg text.csv; do
    status 2 "$ASCGRAD" plot of-data -o $out
    same text.csv text.before
done

# values too long to be told in full are no names: two models would seem seeds of one
six='"transformer", "transformer", "transformer", "transformer", "transformer", "transformer",'
for mix in grassmann conv; do
    run "$mix" transformer $((${#mix} / 3))
    sed "s/\"transformer\"/[$six \"$mix\"]/" "$mix/config.json" >edited
    cp edited "$mix/config.json"
done
status 0 "$ASCGRAD" plot grassmann conv --csv long.csv --json
json '[c["name"] for c in d["curves"]] == ["grassmann", "conv"]'
run new transformer 1
: >new/metrics.jsonl
status 3 "$ASCGRAD" plot new -o a.svg
has err '^ascgrad plot: new: has no measurements yet$'
status 0 "$ASCGRAD" plot runs/a new --csv a.csv
has err '^ascgrad plot: new has no valid_ppl over tokens, and is left out$'
status 3 "$ASCGRAD" plot runs/a -o none/a.csv

# ---- names that are commands, and the gnuplot that there is ----
evil="\`touch a.evil\` ';system('touch b.evil');# \$(touch c.evil) \"@x {y_z^w}, <b>&"
run "evil/$evil" 'grassmann`touch d.evil`' 1
run "evil/two
lines" transformer 2
status 0 "$ASCGRAD" plot evil --csv evil.csv
if command -v gnuplot >/dev/null; then
    status 0 "$ASCGRAD" plot evil -o "it's.svg"
    lines err 0
    has "it's.svg" '</svg>'
    have_python && ! "$python" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "it's.svg" &&
        fail 'a name breaks the SVG file'
    status 0 "$ASCGRAD" plot "evil/$evil" runs --log-x --log-y -o a.png
    lines err 0
    case $(head -c 8 a.png | tail -c 7) in PNG*) ;; *) fail 'no PNG file' ;; esac
    status 0 "$ASCGRAD" plot runs -o a.pdf
    has a.pdf '^%PDF'
    if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
        script -qec "stty cols 70 rows 20; '$ASCGRAD' plot runs/a runs/b" /dev/null >screen </dev/null 2>&1
        has screen 'validation perplexity'
        has screen 'seed 2'
        awk 'length($0) > 400 { exit 1 }' screen || fail 'lines are longer than the terminal is wide'
    else
        left_out 'needs script, and /dev/pts: plot in a terminal'
    fi
else
    left_out 'needs gnuplot: curves drawn'
fi
for file in *.evil; do
    [ ! -e "$file" ] || fail "a name was run: $file"
done
exit $failed
