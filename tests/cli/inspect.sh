#!/bin/sh
# ascgrad inspect: tables, arrays and figures of each kind of layer; words that are commands to a shell or to gnuplot.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$ASCGRAD" train $tiny --out run
status 0 "$ASCGRAD" train $tiny --model ascender --set k=4 --set gate=after --out swarm
status 0 "$ASCGRAD" train $tiny --model grassmann --set r=6 --out planes
status 0 "$ASCGRAD" train $tiny --steps 3 --mixing transformer,grassmann --set r=8 --set groups=2 --out hybrid
status 0 "$ASCGRAD" train $tiny --steps 3 --layers 3 --mixing linear,recurrent,conv --set decay=gated --out states

# files NAME...: these and no others are in the folder `look`, and none is empty
files() {
    [ "$(cd look && echo *)" = "$*" ] || fail "files are $(cd look && echo *), expected $*"
    for name; do
        [ -s "look/$name" ] || fail "look/$name is empty"
    done
    rm -rf look
}

# ---- tables ----
status 0 "$ASCGRAD" inspect run
has out '^24 tokens: '
has out '^layer  mixing      head  entropy  distance   self$'
[ "$(grep -c '^ *[01]  transformer  *[01]  *[0-9.]*  *[0-9.]*  *[0-9.]*$' out)" -eq 4 ] || fail "not 2 x 2 heads"
lines err 0
status 0 "$ASCGRAD" inspect swarm --text 'the map was in the garden .'
has out '^7 tokens: the '
has out 'w align    w sep    w coh'
has out '^    1  ascender       1 .*\(align\|sep\|coh\)$'
status 0 "$ASCGRAD" inspect planes --tokens 9
has out '^    0  t-1 .*  0.0 '
has out '^layer    mean     5%'
has out '^    1  grassmann  *0\.[0-9]*    0\.[0-9]*      0\.[0-9]*      0\.[0-9]*      0\.[0-9]*$'
# Coordinates that are of no planes have no angles, and no residuals; their gate is a gate.
for set in 'tuples=[[1,2],[2,4]]' pair=symmetric; do
    rm -rf unplanar
    status 0 "$ASCGRAD" train --data builtin:3000 --model grassmann --set r=8 --set "$set" --layers 1 --dim 8 \
        --block 16 --batch 4 --steps 1 -q --out unplanar
    status 0 "$ASCGRAD" inspect unplanar
    has out '^path of the coordinates'
    has out '^    0  *0\.[0-9]* .*  -  *-  *-$'
    lacks out '^planes:'
    status 2 "$ASCGRAD" inspect unplanar --what planes --out look
    has err '^ascgrad inspect: --what planes: the layer has no planes$'
done
status 0 "$ASCGRAD" inspect hybrid
has out '^    0  transformer'
has out '^    1  t-1'
status 0 "$ASCGRAD" inspect states --tokens 9
has out '^    0  linear         1  *[0-9.]*  *[0-9.]*  *[0-9.]*$'
has out '^    0  linear       0\.[0-9]*  .*      -$'
has out '^    1  recurrent    0\.9[0-9]*  .*  0\.[0-9]*$'
has out '^    2  conv       \(   0\.[0-9]*\)\{4\}$'
printf 'the map\nwas in' | "$ASCGRAD" inspect run --text - >out || fail "--text -: exit status $?"
has out '^5 tokens: '
status 0 "$ASCGRAD" inspect run --json --threads 1
lines out 1
has out '"entropy": \[[0-9.]*, [0-9.]*\]'
cp out one
status 0 "$ASCGRAD" inspect run --json --threads 2
same out one

# ---- in numbers: each query, what separation pushes away, probes and clusters ----
status 0 "$ASCGRAD" inspect swarm --tokens 1
lacks out '-0\.000'
status 0 "$ASCGRAD" inspect swarm --tokens 9 --threshold 0.12 --json
has out '"entropy_rows": \[\[0.0, [0-9.]*, '
has out '"threshold": 0.12, "pushed": \[[0-9.]*, [0-9.]*\], "irrelevant_without_sep": \['
status 0 "$ASCGRAD" inspect swarm --probe word-class --probe-tokens 1000 --threads 1
has out '^probes of word-class, 992 tokens: accuracy held out'
has out '^    1  ascender    hidden          0     0'
has out '^    1  ascender    attention       1     0'
has out '^    1  ascender    z               1     0.*0'
has out '^layer  mixing      of          head       NMI  shuffled      runs       ARI  shuffled      runs$'
cp out one
status 0 "$ASCGRAD" inspect swarm --probe word-class --probe-tokens 1000 --threads 3
same out one
status 0 "$ASCGRAD" inspect planes --probe place --probe-tokens 500 --json
has out '"probe": {"label": "place", "score": "r2", "tokens": 480, "block": 32, "layers": '
has out '"plucker": \[{"score": -*[0-9.]*, .*, "pair": "t-1"}'
yes 'even
odd' | head -n 500 >parity
status 0 "$ASCGRAD" inspect run --probe file:parity --probe-tokens 500 --json
has out '"attention": \[{"score": 1.0, "chance": [0-9.]*, "shuffled": 0.[3-7]' # its rows say where they stand
status 2 "$ASCGRAD" inspect run --probe word-clas
has err 'expected word-class, sentence, name, place or file:PATH; did you mean .word-class.?'
status 2 "$ASCGRAD" inspect run --probe name --probe-tokens 40
has err '40 tokens are less than two blocks of 32'
status 3 "$ASCGRAD" inspect run --probe file:parity --probe-tokens 1000
has err 'parity: has 500 lines, expected one for each of 992 tokens'
status 2 "$ASCGRAD" inspect run --probe-tokens 100
has err '.--probe-tokens: nothing is probed without --probe'
status 2 "$ASCGRAD" inspect run --text 'a b' --tokens 5
has err '.--tokens: all of --text is looked at, and none of the validation split'
printf 'a b c d e f\n%.0s' $(seq 400) >other
status 2 "$ASCGRAD" inspect run --probe name --data other
has err 'only the built-in corpus knows it'

# ---- files, drawn by a gnuplot that only notes what it was asked for: the script comes in, the picture goes out ----
cat >plotter <<'END'
#!/bin/sh
read -r first
echo "$* $first" >>"$CALLS"
grep -q 'set multiplot' && echo drawn
END
chmod +x plotter
CALLS=$PWD/calls ASCGRAD_GNUPLOT=./plotter
export CALLS ASCGRAD_GNUPLOT

# names KIND...: what is written of each of the figures
names() {
    for kind; do
        echo "$kind.csv $kind.gp $kind.png $kind.svg"
    done | tr '\n' ' '
}

mkdir look
status 0 "$ASCGRAD" inspect run --out look
has out '^written: look/inspect.npz look/inspect-maps.csv look/inspect-maps.gp look/inspect-maps.png '
has calls "^-d - format = 'svg'$"
# shellcheck disable=SC2046  # one word each
files $(names inspect-heads inspect-maps inspect-training) inspect.npz
status 0 "$ASCGRAD" inspect planes --layer 1 --out look/
# shellcheck disable=SC2046
files $(names inspect-angles inspect-paths inspect-planes inspect-training) inspect.npz
status 0 "$ASCGRAD" inspect unplanar --out look/
has look/inspect-paths.csv 'layer 0: mean direction'
# shellcheck disable=SC2046
files $(names inspect-paths inspect-training) inspect.npz
mkdir look
status 0 "$ASCGRAD" inspect swarm --head 1 --what heads,maps --format pdf --out look/x --json
has out '"files": \["look/x.npz", "look/x-maps.csv", "look/x-maps.gp", "look/x-maps.pdf"'
files x-heads.csv x-heads.gp x-heads.pdf x-maps.csv x-maps.gp x-maps.pdf x.npz

# without gnuplot the data and the scripts are there, and a word about it; where a picture was asked for that is a
# failure, as is a gnuplot that fails
mkdir look
ASCGRAD_GNUPLOT=none/gnuplot
status 0 "$ASCGRAD" inspect run --out look/x
has err 'gnuplot was not found.*install it'
lines err 1
files x-heads.csv x-heads.gp x-maps.csv x-maps.gp x-training.csv x-training.gp x.npz
mkdir look
status 3 "$ASCGRAD" inspect run --what maps,heads --out look/x
lines err 1
files x-heads.csv x-heads.gp x-maps.csv x-maps.gp x.npz
mkdir look
ASCGRAD_GNUPLOT=$(command -v false)
status 3 "$ASCGRAD" inspect run --what maps --out look/x
has err 'false failed on look/x-maps.png'
rm -rf look
unset ASCGRAD_GNUPLOT

# ---- titles name run and model; colours of one layer compare; what does not move has no panel ----
ASCGRAD_GNUPLOT=./plotter
export ASCGRAD_GNUPLOT
mkdir look
status 0 "$ASCGRAD" train $tiny --steps 10 --model ascender --positions alibi --out alibi
status 0 "$ASCGRAD" inspect alibi --out look
has look/inspect-maps.gp "'alibi (ascender, 2 layers, 2 heads, width [0-9]*): layer 0, "
has look/inspect-maps.gp "set title 'β other'"
has look/inspect-maps.csv '^"head 1, β other",2 '
[ "$(sed -n "/title 'S base'/,/^plot/s/^set cbrange //p" look/inspect-maps.gp | sort -u | wc -l)" -eq 1 ] ||
    fail 'heads of one layer have several scales of colours'
[ "$(sed -n "/title 'attention A'/,/^plot/s/^set cbrange //p" look/inspect-maps.gp | sort -u | wc -l)" -eq 1 ] ||
    fail 'attention of one layer has several scales of colours'
has look/inspect-training.gp "'Throughout: λ align = 1, "
lacks look/inspect-training.gp "set title 'λ align'"
has look/inspect-training.gp "keyentry .* title 'head 1'"
[ "$(sed -n "s/.*linecolor palette frac 0.0000 pointtype \([0-9]*\).*notitle.*/\1/p" look/inspect-training.gp |
    sort -u | wc -l)" -gt 1 ] || fail 'the heads of a layer cannot be told apart'
status 0 "$ASCGRAD" inspect planes --layer 1 --out look/
has look/inspect-planes.gp "set xtics .*'0,1' 0, '1,2' 5"
has look/inspect-paths.gp "set title 'layer 1: leading direction, [0-9]* % of the variance'"
has look/inspect-paths.csv '^curvature: distance from the token before,layer 1,2,0\.[0-9]'
has look/inspect-paths.csv '^layer 1: mean direction,'
has look/inspect-paths.csv 'leading share'
rm -rf look
unset ASCGRAD_GNUPLOT

# ---- words that are commands, a name with a quote, and the gnuplot that there is ----
evil="\`touch\${IFS}a.evil\` ';system('touch\${IFS}b.evil');# \$(touch\${IFS}c.evil) \"@evil {x_y^z} \\n END %s"
i=0
while [ $i -lt 400 ]; do
    echo "$evil w$((i % 7))"
    i=$((i + 1))
done >evil.txt
status 0 "$ASCGRAD" train $tiny --data evil.txt --steps 2 --out commands
mkdir look
if command -v gnuplot >/dev/null; then
    status 0 "$ASCGRAD" inspect commands --text "$evil" --out "look/it's"
    lines err 0
    # shellcheck disable=SC2046
    files $(names "it's-heads" "it's-maps" "it's-training") "it's.npz"
    status 0 "$ASCGRAD" inspect commands --text '%s END %s' --out percent # a tick is a format
    lines err 0
    rm percent*
    for run in swarm planes hybrid; do
        status 0 "$ASCGRAD" inspect $run --layer 1 --out "look/"
        lines err 0
        case $(head -c 8 look/inspect-training.png | tail -c 7) in PNG*) ;; *) fail 'a figure is no PNG file' ;; esac
        has look/inspect-training.svg '</svg>'
        (cd look && LC_ALL=C.UTF-8 gnuplot -d -c inspect-training.gp png | cmp -s - inspect-training.png) ||
            fail 'the script draws another picture'
        rm -rf look
    done
else
    left_out 'needs gnuplot: figures drawn'
    ASCGRAD_GNUPLOT=./plotter # so that nothing is to be said about it
    export ASCGRAD_GNUPLOT
fi
for file in *.evil look/*.evil; do
    [ ! -e "$file" ] || fail "a word of the text was run: $file"
done

# ---- NumPy opens the arrays, and finds the same numbers (another python3: PYTHON) ----
if have_python numpy; then
    status 0 "$ASCGRAD" inspect swarm --layer 1 --out swarm-look --what training --json
    cp out swarm.json
    status 0 "$ASCGRAD" inspect swarm --layer 1 --head 1 --out swarm-head --what training
    status 0 "$ASCGRAD" inspect planes --layer 1 --out planes-look --what paths --json
    cp out planes.json
    status 0 "$python" "$abs_top_srcdir/tests/cli/inspect_numpy.py"
else
    left_out 'needs python3 with numpy: the arrays of inspect as NumPy reads them'
fi

# ---- a byte is a token, and one token is a text ----
status 0 "$ASCGRAD" train $tiny --tokenizer byte --steps 2 --out bytes
status 0 "$ASCGRAD" inspect bytes --text 'a é'
has out '^4 tokens: a ␣ \\xc3 \\xa9$'

for run in run swarm planes; do
    status 0 "$ASCGRAD" inspect $run --text the --out look/
    lines err 0
done
rm -rf look

# ---- wrong usage ----
status 2 "$ASCGRAD" inspect run --layer 2
has err '^ascgrad inspect: --layer: got 2, but the model.s layers are 0 to 1$'
status 2 "$ASCGRAD" inspect run --head 2
has err '^ascgrad inspect: --head: got 2, but the heads of layer 0 are 0 to 1$'
status 2 "$ASCGRAD" inspect planes --head 0
has err 'layer 0 has no heads'
status 2 "$ASCGRAD" inspect run --text "$(seq 40 | tr '\n' ' ')"
has err "it has 40 tokens, but the model's block is 32"
status 2 "$ASCGRAD" inspect run --text ''
has err 'there is no token in it'
status 2 "$ASCGRAD" inspect run --what mapps --out x
has err "no figure 'mapps'; did you mean 'maps'?"
status 2 "$ASCGRAD" inspect run --what maps
has err 'figures need --out'
status 2 "$ASCGRAD" inspect run --format gif --out x
has err "^ascgrad inspect: --format: got 'gif', expected png, svg, pdf"
status 2 "$ASCGRAD" inspect run --what planes --out x
has err '^ascgrad inspect: --what planes: the layer has no planes'
status 2 "$ASCGRAD" inspect run --what paths --out x
has err '^ascgrad inspect: --what paths: no layer has Grassmann mixing'
cp run/model.safetensors alone.safetensors
status 2 "$ASCGRAD" inspect alone.safetensors --text 'the map' --what training --out x
has err '^ascgrad inspect: --what training: .*metrics.jsonl'
status 2 "$ASCGRAD" inspect alone.safetensors
has err '^ascgrad inspect: --text is missing'
status 0 "$ASCGRAD" inspect alone.safetensors --data builtin:8000
same_tokens=$(sed -n 1p out)
status 0 "$ASCGRAD" inspect run
[ "$(sed -n 1p out)" = "$same_tokens" ] || fail '--data: another text'
status 3 "$ASCGRAD" inspect run --out none/x
has err 'none/x.npz'
# pieces that are parts of characters
for i in $(seq 60); do
    printf 'caf\303\251 %d na\303\257ve \360\237\230\200\n' "$i"
done >accents
status 0 "$ASCGRAD" tokenize --learn bpe --vocab-size 258 -o pieces.json accents
status 0 "$ASCGRAD" train --preset tiny --data accents --tokenizer bpe:pieces.json --steps 1 --out pieces -q
status 0 "$ASCGRAD" inspect pieces --json --out pieces.arrays
json 'len(d["tokens"]) == len(d["ids"]) and any("\\x" in t for t in d["tokens"])'
[ -s pieces.arrays.npz ] || fail 'no arrays of tokens that are no UTF-8'
status 3 "$ASCGRAD" inspect none
status 2 "$ASCGRAD" inspect
[ ! -e x.npz ] || fail 'wrong usage left a file'

# pairs behind and ahead; layers of other pairs have no stability
status 0 "$ASCGRAD" train --data task:majority:train=50,valid=10 --model grassmann --head classifier --set mask=full \
    --set direction=both --set 'offsets=[1,2]' --set r=6 --layers 2 --dim 16 --steps 2 --out sides
status 0 "$ASCGRAD" inspect sides --json
json '[p["pair"] for p in d["layers"][1]["pairs"]] == ["t-1", "t+1", "t-2", "t+2"]'
json 'd["layers"][1]["flow"]["stability_below"] is not None'
status 0 "$ASCGRAD" train $tiny --model grassmann --set r=6 --set 'offsets=[[1],[4]]' --layers 2 --steps 2 --out lags
status 0 "$ASCGRAD" inspect lags --json
json 'd["layers"][1]["flow"]["stability_below"] is None'
exit $failed
