#!/bin/sh
# encode: states in files, as JSON and as a table; broken input.
. "$abs_top_srcdir/tests/program.sh"
tiny=$abs_top_srcdir/tests/train/encoder
text=$tiny/sentences.txt

# a table for people
status 0 "$ASCGRAD" encode --encoder "$tiny" "$text"
lines out 9
has out '^ *1 *8 *8 *1\.000  \[CLS\] the man plays\|^ *1 *8 *8 *1\.000  \[CLS\] a man plays the guitar \. \[SEP\]$'
has out '^ *3 *2 *6 *1\.000  \[CLS\] \[SEP\]$'
printf 'A man.' >one
status 0 "$ASCGRAD" encode --encoder "$tiny" <one
has out '^ *1 *5 *- *-  \[CLS\] a man \. \[SEP\]$'

# what it can't be without
mkdir bare
cp "$tiny/config.json" "$tiny/model.safetensors" bare
status 3 "$ASCGRAD" encode --encoder bare <one
has err '^ascgrad encode: bare: has no vocab.txt; --vocab FILE names one that lies elsewhere$'
status 0 "$ASCGRAD" encode --encoder bare --vocab "$tiny/vocab.txt" <one
status 3 "$ASCGRAD" encode --encoder nowhere <one
has err '^ascgrad encode: nowhere: No such file or directory; expected the folder of a BERT or DistilBERT$'

# fewer layers than there are
sed 's/"num_hidden_layers": 2/"num_hidden_layers": 1/' "$tiny/config.json" >bare/config.json
status 0 "$ASCGRAD" encode --encoder bare --vocab "$tiny/vocab.txt" <one
has err '^ascgrad encode: bare/model.safetensors: has more layers than the 1 of config.json, which alone are used$'

# files: the same whatever the form, the threads and the packing
gzip -c "$text" >text.gz
status 0 "$ASCGRAD" encode --encoder "$tiny" "$text" -o a.npz --threads 1
has out '^a\.npz: 8 sentences, '
status 0 "$ASCGRAD" encode --encoder "$tiny" text.gz -o b.npz --threads 2
same a.npz b.npz
status 0 "$ASCGRAD" encode --encoder "$tiny" -o a.safetensors -q <"$text"
[ ! -s err ] || fail 'with -q there is something on stderr'
for pool in none mean cls windows; do
    status 0 "$ASCGRAD" encode --encoder "$tiny" --pool $pool "$text" -o $pool.npz --json
    has out "\"pool\": \"$pool\", \"out\": \"$pool.npz\""
    has out '"encoder": "bert", "sentences": 8, '
    status 0 "$ASCGRAD" encode --encoder "$tiny" --pool $pool "$text" --json
    mv out $pool.json
done
if have_python numpy; then
    cat >check.py <<'END'
import json
import struct
import numpy as np
none, mean, cls, windows = (dict(np.load(p + ".npz")) for p in ("none", "mean", "cls", "windows"))
x, n = none["states"], none["lengths"]
assert x.dtype == np.float32 and x.shape == (8, n.max(), 16) and n.tolist()[2] == 2, x.shape
assert all((x[i, k:] == 0).all() and (x[i, :k] != 0).any() for i, k in enumerate(n))
assert abs(mean["states"] - np.stack([x[i, :k].mean(0) for i, k in enumerate(n)])).max() < 1e-6
assert (cls["states"] == x[:, 0]).all() and (cls["lengths"] == n).all()
w = windows["states"]
assert (windows["lengths"] == (n + 7) // 8).all() and w.shape[1] == windows["lengths"].max()
for i, k in enumerate(n):
    for j in range(windows["lengths"][i]):
        assert abs(w[i, j] - x[i, 8 * j: min(8 * j + 8, k)].mean(0)).max() < 1e-6
with open("a.safetensors", "rb") as f:
    head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
begin, end = head["states"]["data_offsets"]
assert head["states"]["shape"] == list(x.shape) and data[begin:end] == x.tobytes()
text = json.load(open("none.json"))
assert text["dim"] == 16 and len(text["sentences"]) == 8
for i, s in enumerate(text["sentences"]):
    assert len(s["tokens"]) == n[i] and (np.array(s["states"], np.float32) == x[i, : n[i]]).all()
assert (np.array([s["state"] for s in json.load(open("mean.json"))["sentences"]], np.float32) == mean["states"]).all()
END
    "$python" check.py || fail 'the arrays are not what they should be'
else
    left_out 'needs a Python with numpy'
fi

# cutting
status 0 "$ASCGRAD" encode --encoder "$tiny" --max-tokens 8 "$text"
has err '^ascgrad encode: 3 of 8 sentences are longer than 8 tokens and cut$'
has out '^ *7 *8 .* \[SEP\]$'
status 2 "$ASCGRAD" encode --encoder "$tiny" --max-tokens 65 "$text"
has err '^ascgrad encode: --max-tokens: got 65, expected at most 64, what the encoder takes$'

# wrong usage
status 2 "$ASCGRAD" encode "$text"
has err '--encoder DIR is missing'
status 2 "$ASCGRAD" encode --encoder "$tiny" "$text" -o states.csv
has err "^ascgrad encode: --out: got 'states.csv', expected FILE.npz or FILE.safetensors$"
status 2 "$ASCGRAD" encode --encoder "$tiny" --window 4 "$text"
has err '--window goes with --pool windows'

# broken input: one line that names the file
one_line() {
    has err "$1"
    lines err 1
}
: >empty
status 3 "$ASCGRAD" encode --encoder "$tiny" empty
one_line '^ascgrad encode: empty: is empty, expected a sentence a line$'
printf 'good\nbad \377\n' >latin
status 3 "$ASCGRAD" encode --encoder "$tiny" latin
one_line '^ascgrad encode: latin: line 2: '
status 3 "$ASCGRAD" encode --encoder none "$text"
one_line '^ascgrad encode: none: No such file or directory; expected the folder of a BERT or DistilBERT$'
status 3 "$ASCGRAD" encode --encoder "$tiny" --vocab none "$text"
one_line '^ascgrad encode: none: can.t open: No such file'
status 3 "$ASCGRAD" encode --encoder "$tiny" "$text" -o nowhere/states.npz
one_line '^ascgrad encode: nowhere/states.npz: '
cp -r "$tiny" broken
chmod -R u+w broken
head -c 9000 "$tiny/model.safetensors" >broken/model.safetensors
status 3 "$ASCGRAD" encode --encoder broken "$text"
one_line '^ascgrad encode: broken/model.safetensors: '
rm broken/model.safetensors
mkfifo broken/model.safetensors
status 3 "$ASCGRAD" encode --encoder broken "$text"
one_line '^ascgrad encode: broken/model.safetensors: is a pipe, expected a regular file$'
sed 's/"hidden_size": 16/"hidden_size": 18/' "$tiny/config.json" >broken/config.json
rm broken/model.safetensors
cp "$tiny/model.safetensors" broken
status 3 "$ASCGRAD" encode --encoder broken "$text"
one_line "^ascgrad encode: broken/model.safetensors: 'embeddings.word_embeddings.weight' is (.*, 16), expected (.*, 18)"

# what did not come to its end goes on with the parts that are there, to the same bytes
awk 'BEGIN { for (i = 0; i < 5000; i++) print "a man plays the guitar number " i }' >long
status 0 "$ASCGRAD" encode --encoder "$tiny" long -o whole.npz
[ ! -e whole.npz.parts ] || fail 'what is done leaves its parts behind'
mkdir -p there/states.npz # where the file is to go: before the work begins
status 3 "$ASCGRAD" encode --encoder "$tiny" long -o there/states.npz
one_line '^ascgrad encode: there/states.npz: can.t write: Is a directory$'
rmdir there/states.npz
mkfifo input there/states.npz
status 3 "$ASCGRAD" encode --encoder "$tiny" long -o there/states.npz
one_line '^ascgrad encode: there/states.npz: is not a regular file, and can.t be replaced$'
rm there/states.npz
[ -z "$(ls there)" ] || fail "what is refused leaves $(ls there)"
(exec 3>input && mkdir there/states.npz && cat long >&3) & # once the input is open, and so behind the look at the place
status 3 "$ASCGRAD" encode --encoder "$tiny" input -o there/states.npz
has err '^ascgrad encode: there/states.npz: '
has err '^ascgrad encode: what is encoded by now lies in there/states.npz.parts; the same command goes on with it$'
rmdir there/states.npz
for part in there/states.npz.parts/*.features/00000.safetensors; do
    head -c 500 "$part" >cut
    mv cut "$part"
done
status 0 "$ASCGRAD" encode --encoder "$tiny" long -o there/states.npz
has err '/00000\.safetensors: .*; its features are computed again$'
same there/states.npz whole.npz
[ "$(ls there)" = states.npz ] || fail "what is done leaves $(ls there)"

# results don't take the place of the encoder
cp -r "$tiny" own
status 2 "$ASCGRAD" encode --encoder own "$tiny/vocab.txt" -o own/model.safetensors
has err 'which is what is read'
same own/model.safetensors "$tiny/model.safetensors"

# a name that leaves no room for that of its parts
name=$(printf '%0200d/' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)$(printf '%066d' 1)
status 2 "$ASCGRAD" encode --encoder "$tiny" long -o "$name.npz"
has err '--out: got a name of 4090 bytes, expected at most 4089: FILE.parts stands beside it'

# an interrupt leaves no file half done
rm there/states.npz
"$ASCGRAD" encode --encoder "$tiny" long -o there/states.npz --threads 1 >out 2>err &
pid=$!
until [ -d there/states.npz.parts ] || ! kill -0 $pid 2>/dev/null; do
    sleep 0.01
done
kill -INT $pid 2>/dev/null
wait $pid
got=$?
# It may have been done already, on a fast machine.
if [ "$got" = 130 ]; then
    [ ! -e there/states.npz ] || fail 'an interrupt leaves a file'
    has err '^ascgrad encode: interrupted$'
elif [ "$got" != 0 ]; then
    fail "an interrupt ends with $got"
    cat err
fi
exit $failed
