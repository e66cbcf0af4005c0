#!/bin/sh
# What people type wrong, command by command: the exit status, and what the message must say. A message is one line, or
# with a warning before it two; it names the program, nothing goes to stdout, and no run is left.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$ASCGRAD" train $tiny --steps 2 --quiet --out run
mkdir folder runs
echo 1 >folder/file
mkdir words
echo mine >words/vocab.txt
echo '{"model": {"dim": 16, "lr": 1}}' >within.json
cp -r run runs/first
cp -r run runs/second
: >empty.txt
echo 0x10 >hex.txt
printf '\377\376\001\002' >binary.bin
printf 'one line\nand another\n' >short.txt
awk 'BEGIN { for (i = 0; i < 600; i++) print "word" i % 7 " and " i % 11 }' >text.txt
echo '{"layers": 2,}' >broken.json
echo '[1]' >list.json
echo '{"learning_rate": 1}' >other.json
echo '{"dim": 32, "heads": 2, "model": {"d_model": 16}}' >twice.json
echo '{"layers": 2, "model": {"layers": 3}}' >again.json
echo '{"layers": "two"}' >word.json
printf '\377\376{\0"\0d\0i\0m\0"\0:\0001\0}\0' >wide.json
printf '{"layers": 2}\0' >zero.json
ln -s nowhere dangling
head -c 2000 run/model.safetensors >cut.safetensors
T='train --out r --data builtin:3000'

check() {
    expected=$1 command=$2 text=$3
    eval "\"\$ASCGRAD\" $command" >out 2>err </dev/null
    got=$?
    if [ "$got" -ne "$expected" ] || ! grep -qF -e "$text" err || [ -s out ] || [ -e r ] ||
        [ "$(wc -l <err)" -gt 2 ] || grep -qv '^ascgrad' err; then
        fail "ascgrad $command: status $got, expected $expected and '$text':"
        cat err out
        rm -rf r
    fi
}

rows=0
while IFS= read -r row; do
    case $row in
    '' | '#'*) continue ;;
    esac
    left=${row%% => *}
    check "${left%% *}" "${left#* }" "${row#* => }"
    rows=$((rows + 1))
done <<'END'
# commands
2 tran => unknown command 'tran'; did you mean 'train'?
2 Train => did you mean 'train'?
2 EVAL => did you mean 'eval'?
2 frobnicate => unknown command 'frobnicate'; ascgrad --help lists them
2 evaluate run => unknown command 'evaluate'; here it is 'ascgrad eval'
2 sample run => here it is 'ascgrad generate'
2 resume run => here it is 'ascgrad train --resume'
2 report mine => here it is 'ascgrad experiment report'
2 predict run => here it is 'ascgrad nli predict'
2 version => here it is 'ascgrad --version'
2 --verison => unknown option --verison; expected a command, --help or --version
2 help trian => unknown command 'trian'; did you mean 'train'?
2 help train foo => 'foo' is one argument too many: expected help, a command
2 help stats foo => 'foo' is one argument too many
2 help bench train foo => 'foo' is one argument too many: expected help, a command and a kind
2 help bench trian => unknown kind 'trian'; did you mean 'train'?

# train: what is missing, what is there
2 train => --out RUN is missing
2 train runs/new => --out RUN is missing; did you mean --out runs/new?
2 train --data builtin => --out RUN is missing
2 train --out r => --data is missing: builtin[:WORDS[:SEED]], task:NAME
2 train --out --data builtin => --out: its argument RUN is missing
2 train --out r --data => --data: its argument D is missing
2 train --out "" --data builtin => --out: got '', expected RUN
2 train --out r --data "" => --data is missing
2 train --out run --data builtin:3000 => run exists; take another name, or go on with it by --resume
2 train --out text.txt --data builtin:3000 => text.txt exists and is no run, but a file
2 train --out dangling --data builtin:3000 => dangling exists and is no run, but a link to what is not there
2 train --out folder --data builtin:3000 => folder exists and is no run, but a folder with something in it
2 train --out words --data builtin:3000 => words exists and is no run, but a folder with something in it
3 train --out text.txt/r --data builtin:3000 => text.txt/r: Not a directory

# train: data and tokenizer
3 train --out r --data nofile.txt => nofile.txt: can't open: No such file or directory; expected builtin
3 train --out r --data buildin => did you mean 'builtin'?
2 train --out r --data builtin:many => its words are 'many', expected builtin[:WORDS[:SEED]] with 1 … 1000000000 words
2 train --out r --data builtin:5e9:1 => builtin:5e9:1: its words are '5e9', expected
2 train --out r --data builtin:3000:x => builtin:3000:x: its seed is 'x', expected
2 train --out r --data builtin:3k:18446744073709551616 => its seed is '18446744073709551616', expected
2 train --out r --data builtin:3000:1:2 => builtin:3000:1:2: behind its seed stands '2', expected
3 train --out r --data folder => no file for the train split, expected one like
3 train --out r --data empty.txt => empty.txt: the train split has no words
3 train --out r --data short.txt => the valid split has 0 bytes and 0 tokens, expected 2 or more: no word
3 train --out r --data binary.bin => binary.bin: line 1: byte 0xff at offset 0 is not UTF-8 text
3 train --out r --data dangling => dangling: can't open
2 train --out r --data text.txt --block 5k => --block: the train split has 2160 tokens, too few for a block of 5000
2 train --out r --data text.txt --block 5k => it takes a text whose train split has 5001, or a block of 2159 at most
2 $T --tokenizer gpt2 => --tokenizer: got 'gpt2', expected word, byte, wordpiece:VOCAB_FILE, wordpiece-cased:VOCAB_FILE
2 $T --tokenizer bite => did you mean 'byte'?
2 $T --tokenizer bpe => --tokenizer: got 'bpe', expected
3 $T --tokenizer wordpiece:nofile => nofile: can't open: No such file

# train: numbers
2 $T --lr fast => --lr: got 'fast', expected a number from 0 to 1000
2 $T --lr 1,5 => --lr: got '1,5', expected a number
2 $T --lr nan => --lr: got 'nan', expected a number
2 $T --lr= => --lr: got '', expected a number
2 $T --steps 1.5 => --steps: got '1.5', expected a whole number >= 0
2 $T --steps -5 => --steps: got '-5', expected a whole number >= 0
2 $T --seed 18446744073709551616 => --seed: got '18446744073709551616', expected a whole number from 0 to
2 $T --steps 1k5 => --steps: got '1k5', expected a whole number
2 $T --steps 10m => --steps: got '10m', expected a whole number
2 $T --layers 0 => --layers: got '0', expected a whole number from 1 to 10000
2 $T --layers 1e9 => --layers: got '1e9', expected a whole number from 1 to 10000
2 $T --set heads=3 => ascgrad train: heads is 3, expected a divisor of the width 128
2 $T --heads 3 => --heads is 3, expected a divisor of the width 128
2 $T --dim 30 => heads is 4, expected a divisor of the width 30
2 $T --dropout 10% => --dropout: got '10%', expected a number from 0 to 0.999
2 $T --minutes 2d => --minutes: got '2d', expected a time, as 90s, 30m or 2h, or a number of minutes >= 0
2 $T --threads 2000 => --threads: got '2000', expected a whole number from 0 to 1024
2 $T --epochs 0 => epochs and steps are both 0

# train: names of values
2 $T --model gpt => --model: got 'gpt', expected one of transformer
2 $T --model transfromer => did you mean 'transformer'?
2 $T --mixing t,t,t --layers 2 => --mixing has 3 entries, expected one a layer: 2
2 $T --dtype fp16 => --dtype: got 'fp16', expected one of f32, f64
2 $T --schedule cosin => did you mean 'cosine'?
2 $T --preset big => --preset: there is no 'big'; --preset list has them
2 $T --preset quickstrat => did you mean 'quickstart'?
2 $T --preset => --preset: its argument NAME is missing

# train: files of settings and --set
3 $T --config nofile.json => nofile.json: can't open: No such file or directory
3 $T --config broken.json => broken.json: line 1: string or '}' expected near '}'
3 $T --config list.json => list.json: line 1: not a JSON object
3 $T --config folder => folder: is a folder, expected a file
3 $T --config wide.json => wide.json: is a text in UTF-16, expected a JSON object in UTF-8
3 $T --config zero.json => zero.json: has a zero byte, which is no text, expected a JSON object
2 $T --config again.json => again.json: layers is given twice, with another value
2 $T --config twice.json => twice.json: d_model is the same setting as dim, with another value
2 $T --model grassmann --set smooth=1.7976931348623157e308 => smooth: got '1.7976931348623157e308', expected a number
2 $T --model grassmann --set eps=2.2250738585072014e-308 => eps: got '2.2250738585072014e-308', expected a number >= 2.2
2 $T --config other.json => other.json: unknown setting 'learning_rate'; here it is 'lr'
2 $T --config within.json => within.json: lr is no setting of a model: expected beside "model", not in it
2 $T --config word.json => word.json: layers: got 'two', expected a whole number
2 $T --set layers => --set: got 'layers', expected KEY=VALUE
2 $T --set layers= => layers: got '', expected a whole number
2 $T --set layres=1 => unknown setting 'layres'; did you mean 'layers'?
2 $T --set LR=1 => unknown setting 'LR'; did you mean 'lr'?
2 $T --set hidden_size=64 => unknown setting 'hidden_size'; here it is 'd_model'
2 $T --set color=red => unknown setting 'color'; `ascgrad info --settings` lists them
2 $T --model grassmann --set offsets=1,2 => offsets: got "1,2", expected a list of at most 32 whole numbers, as [1,2,4]
2 $T --model grassmann --set window=4 => window is a setting of transformer

# options: other programs' names, none at all, spelling
2 $T --gpu => unknown option --gpu; there is no GPU here, all is computed on the processor (--threads)
2 $T --device cuda => unknown option --device; there is no GPU here
2 $T --cuda => there is no GPU here
2 $T --learning-rate 1 => unknown option --learning-rate; here it is --lr
2 $T --lerning-rate 1 => unknown option --lerning-rate; did you mean --lr?
2 $T --set lerning_rate=1 => unknown setting 'lerning_rate'; did you mean 'lr'?
2 $T --ckpt-every 3 => unknown option --ckpt-every; here it is --checkpoint-every
2 $T --embed 3 => unknown option --embed; here it is --dim
2 $T --batch_size 8 => unknown option --batch_size; here it is --batch
2 $T --max-steps 8 => here it is --steps
2 $T --num-layers 8 => here it is --layers
2 $T --hidden-size 8 => here it is --dim
2 $T --context 8 => here it is --block
2 $T --d_ff 8 => here it is --ffn
2 train --output r --data builtin:3000 => here it is --out
2 $T --no-dropout => unknown option --no-dropout; it is --dropout 0
2 $T --no-pos-emb => unknown option --no-pos-emb; it is --pos-emb false
2 $T --no-json => unknown option --no-json; without --json it is off
2 $T --window 8 => unknown option --window; it is a setting: --set window=VALUE
2 $T --lyers 8 => unknown option --lyers; did you mean --layers?
2 $T --xyz => unknown option --xyz; --help lists the options
2 $T -steps 8 => unknown option -steps; did you mean --steps?
2 $T -x => unknown option -x; --help lists the options
2 $T –steps 8 => '–steps' begins with a dash; options begin with two hyphens: --steps
2 $T steps=8 => 'steps=8' is one argument too many; did you mean --steps=8?
2 $T --json=yes => --json takes no argument, got 'yes'
2 $T --help=7 => --help takes no argument, got '7'
2 $T -q -v => --quiet and --verbose: expected one of the two

# train: going on, and beginning from a model
2 train --resume => --resume: its RUN is missing
3 train --resume nowhere => nowhere: there is no such run or file; runs in this folder: run
3 train --resume runs/frist => runs/frist: there is no such run or file; did you mean runs/first?
3 train --resume=runs => runs: no run there; runs in it: first, second
3 train --resume folder => folder: no run there: it has no config.json
3 train --resume text.txt => text.txt: is a file, expected the folder of a run
2 train --resume run --out runs/first => got two runs, runs/first and run, expected one
2 train --resume run runs/first => 'runs/first' is one argument too many
2 train --resume run --lr 1 => --lr: can't be given anew: run goes on with its own settings
2 train --resume run --set d_model=64 => ascgrad train: d_model can't be given anew
2 train --resume run --dim 64 => --dim can't be given anew
2 $T --optimizer muon --momentum 0 => --momentum is 0, expected more for Muon
3 $T --init nowhere => nowhere: there is no such run or file
2 train --out r --data builtin:8000 --init run --dim 64 => tok_emb.weight (378, 32) there, (378, 64) here

# eval, generate, inspect
2 eval => a RUN or MODEL is missing
3 eval rnu => rnu: there is no such run or file; did you mean run?
3 eval runs => runs: no run there; runs in it: first, second
3 eval text.txt => text.txt: is not a safetensors file
3 eval empty.txt => empty.txt: is not a safetensors file: 0 bytes are too few
3 eval cut.safetensors => cut.safetensors: is not a safetensors file, or is cut short
2 eval run runs/first => 'runs/first' is one argument too many
2 eval --model run => unknown option --model; the RUN or MODEL comes without an option: ascgrad eval RUN|MODEL
2 eval run --split tset => --split: got 'tset', expected train, valid or test; did you mean 'test'?
2 eval run --split all => --split: got 'all', expected train, valid or test
3 eval run --data nofile => nofile: can't open
2 eval run --per-token - => --per-token: got '-', expected the name of a file
2 tokenize --learn bpe -o - text.txt => --out: got '-', expected the name of a file
2 eval run --batch 0 => --batch: got '0', expected a whole number from 1
3 eval run --per-token folder => folder: can't write: Is a directory
2 eval run --tokenizer byte => --tokenizer: got 'byte', but the model's is 'word'
2 generate => a RUN or MODEL is missing
2 generate run once upon a time => a prompt of several words needs quotes: 'once upon ...'
2 generate run hello --prompt hello => --prompt and 'hello': expected one prompt
2 generate run hello --temperature hot => --temperature: got 'hot', expected a number
2 generate run hello --top-p 2 => --top-p: got '2', expected a number
2 generate run hello --max-new-tokens 5 => here it is --tokens
2 generate run hello --tokens 1e13 => --tokens: got '1e13', expected a whole number from 0 to 1e+12
2 inspect run --layer 9 => --layer: got 9, but the model's layers are 0 to 1
2 inspect run --what mapps --out x => there is no figure 'mapps'; did you mean 'maps'?
2 inspect run --what foo --out x => there is no figure 'foo', expected maps, heads, training
2 inspect run --what maps => figures need --out

# the others
3 tokenize nofile => nofile: can't open
3 tokenize folder => folder: is a folder, expected a file
2 tokenize text.txt short.txt => 'short.txt' is one argument too many
3 tokenize --learn bpe -o folder empty.txt => folder: can't write: Is a directory
2 tokenize --learn bpe text.txt => -o FILE is missing
2 tokenize --learn bpe --vocab-size 10 -o x text.txt => --vocab-size: got '10', expected a whole number from 256
2 gradcheck softmx => unknown op 'softmx'; did you mean 'softmax'?
2 gradcheck nosuchop => unknown op 'nosuchop'; ascgrad info --ops lists them
3 gradcheck --plugin nofile.so => nofile.so: cannot be loaded
2 parity => a CASE is missing
3 parity text.txt => text.txt: is not a safetensors file
2 bench => KIND (train, layer, ops, scaling, generate, encode or startup) is missing
2 bench fast => unknown kind 'fast'; expected train, layer, ops
2 stats foo pair list.json list.json => got 'foo', expected pair, mcnemar
3 nli missing eval => missing: there is no such run or file
2 nli trian eval run => unknown kind 'trian'; did you mean 'train'?
2 bench train --lengths 4 => --lengths is an option of bench layer, not of bench train
2 bench train --set vocab=5 => --set: vocab is an option here: --vocab 5
2 bench train --set vocab_size=5 => --set: vocab_size is an option here: --vocab 5
2 bench train --set steps=9 => --set: steps is an option here: --steps 9
2 bench generate --set threads=1 => --set: threads is an option here: --threads 1
2 bench train --preset big => --preset: there is no 'big'
2 bench layer --lengths a,b => --lengths: got 'a,b', expected at most 64 whole numbers
2 bench ops --seconds soon => --seconds: got 'soon', expected a time, as 90s, 30m or 2h, or a number of seconds
2 stats => pair, mcnemar, calibration, clusters or holm is missing
2 compare => got 0, expected two or more systems: RUN, MODEL or
2 compare r1 => got 1, expected two or more systems: RUN, MODEL or
2 stats pair text.txt => a FILE for each system is missing
3 stats pair short.txt short.txt => short.txt: line 1: got 'one line', expected one number
3 stats holm hex.txt => hex.txt: line 1: got '0x10', expected one p value
3 stats holm empty.txt => empty.txt: is empty, expected one p value a line
2 info extra => 'extra' is one argument too many
2 info --jsno => unknown option --jsno; did you mean --json?
END
[ "$rows" -ge 95 ] || fail "the table has $rows mistakes"

# ---- a long path ----

# what is wrong stands behind it, and is not cut
part=$(printf '%0200d' 0)
long=$part/$part/$part/$part/$part/$part
for command in eval tokenize "train --out r --data" "train --out r --data builtin --config" "stats holm" "parity"; do
    # shellcheck disable=SC2086
    status 3 "$ASCGRAD" $command "$long"
    has err '^ascgrad [a-z ]*: 000.*\.\.\.0*.*: .*[Nn]o such \(run or \)*file'
    lines err 1
done

# ---- permissions ----

nobody=''
[ "$(id -u)" -ne 0 ] || nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
chmod 755 .
chmod 0 text.txt
if $nobody "$ASCGRAD" --version >/dev/null 2>&1; then
    status 3 $nobody "$ASCGRAD" tokenize text.txt
    has err "^ascgrad tokenize: text.txt: can.t open: Permission denied"
    chmod 555 .
    status 3 $nobody "$ASCGRAD" train --out "$folder/r" --data builtin:3000 >/dev/null
    chmod 755 .
    has err '/r: Permission denied'
    cp -r run runs/closed
    chmod 0 runs/closed
    status 0 $nobody "$ASCGRAD" runs runs
    has err '^ascgrad runs: runs/closed: Permission denied'
    has out '^runs/first '
    chmod 755 runs/closed
else
    left_out 'permissions: no other user can run the program'
fi
exit $failed
