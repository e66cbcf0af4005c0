#!/bin/sh
# When files fail: one clear line, the right exit status, nothing lost.
. "$abs_top_srcdir/tests/program.sh"

# one_line: the program's message is one line.
one_line() {
    [ "$(grep '^ascgrad' err | grep -vc 'goes on after')" -eq 1 ] || { fail 'not one line of error:'; cat err; }
}

long="$tiny --set schedule_steps=60"
status 0 "$ASCGRAD" train $long --out whole
status 0 "$ASCGRAD" train $long --out run --steps 20
cp -r run saved

# no room for the checkpoint: the last one and the best model are as they were, and the run goes on later
size=$(($(wc -c <run/checkpoint.safetensors) / 512 - 50))
status 3 sh -c 'ulimit -f '$size' && exec "$0" train --resume --out run --steps 60' "$ASCGRAD"
has err '^ascgrad train: run/.*: File too large'
same run/checkpoint.safetensors saved/checkpoint.safetensors
same run/model.safetensors saved/model.safetensors
ls run | grep tmp && fail 'a part of a file is left'
status 0 "$ASCGRAD" train --resume --out run --steps 60
same_run whole run

# the same of a run's first
status 3 sh -c 'ulimit -f '$size' && exec "$0" train '"$long"' --out first' "$ASCGRAD"
has err '^ascgrad train: first/.*: File too large'
status 0 "$ASCGRAD" train --resume --out first
same_run whole first

# no room at all
rm -r run && cp -r saved run
status 3 sh -c 'ulimit -f 1 && exec "$0" train --resume --out run --steps 60' "$ASCGRAD"
one_line
status 3 sh -c 'ulimit -f 1 && exec "$0" train '"$tiny"' --out full' "$ASCGRAD"
one_line
[ ! -e full ] || fail 'a run that could not begin left its folder'

# results: all of them, or what was there; a pipe is not waited for
echo earlier >tokens.txt
status 3 sh -c 'ulimit -f 1 && exec "$0" eval run --per-token tokens.txt' "$ASCGRAD"
has err "^ascgrad eval: tokens.txt: can't write: "
has tokens.txt '^earlier$'
[ ! -e tokens.txt.ascgrad-tmp ] || fail 'a part of the results is left'
mkfifo results
status 3 "$ASCGRAD" eval run --per-token results
has err '^ascgrad eval: results: is not a regular file'

# a disk that is full
if [ -w /dev/full ]; then
    status 3 "$ASCGRAD" eval run --per-token /dev/full
    has err '^ascgrad eval: /dev/full: is not a regular file'
    "$ASCGRAD" info >/dev/full 2>err
    [ $? -eq 3 ] || fail 'info: a full standard output is no error'
    has err '^ascgrad info: standard output: No space left on device'
    "$ASCGRAD" train $tiny --out untold >/dev/full 2>err
    [ $? -eq 3 ] || fail 'train: a full standard output is no error'
    has err '^ascgrad train: standard output: No space left on device'
else
    left_out 'needs /dev/full: results on a disk that is full'
fi
{ "$ASCGRAD" train $tiny --json --out unread; echo $? >unread.status; } 2>err | true # a reader that is gone is no error
has unread.status '^0$'
lacks err 'standard output'
if mkdir disk && mount -t tmpfs -o size=600k none disk 2>/dev/null; then
    status 3 "$ASCGRAD" train $tiny --out disk/run
    has err '^ascgrad train: disk/run: the run needs 1.2 MiB of space, .* but 0.6 MiB are free there'
    [ ! -e disk/run ] || fail 'a run without room left its folder'
    umount disk
else
    left_out 'needs the right to mount: a run on a disk that is full'
fi

# closed streams: what is printed goes nowhere, and into no file of the run
rm -rf closed
"$ASCGRAD" train $tiny --out closed --log-every 5 >&- 2>&-
[ $? -eq 3 ] || fail 'a closed standard output is no error'
"$ASCGRAD" train $tiny --out open --log-every 5 >out 2>err
same_run closed open

# a pipe is no model, and is not waited for
mkfifo pipe
status 3 timeout 120 "$ASCGRAD" eval pipe
has err '^ascgrad eval: pipe: is a pipe, expected a regular file'
mkdir folder.safetensors
status 3 "$ASCGRAD" parity folder.safetensors
has err 'folder.safetensors: is a folder, expected a regular file'

# damaged files
head -c 1000 saved/checkpoint.safetensors >run/checkpoint.safetensors
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err '^ascgrad train: run/checkpoint.safetensors: '
one_line
cp saved/checkpoint.safetensors run
printf '\252\252\252\252' | dd of=run/checkpoint.safetensors bs=1 seek=100000 conv=notrunc 2>/dev/null
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err "^ascgrad train: run/checkpoint.safetensors: tensor '[a-z0-9._]*': is damaged: its checksum is"
rm -rf before run/checkpoint.safetensors && cp -r run before
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err '^ascgrad train: run/checkpoint.safetensors is missing'
same run/model.safetensors before/model.safetensors
same run/metrics.jsonl before/metrics.jsonl
cp saved/checkpoint.safetensors run
head -c 3000 saved/model.safetensors >run/model.safetensors
status 3 "$ASCGRAD" eval run
has err '^ascgrad eval: run/model.safetensors: '

# damaged PATTERN [OPTION...]: a resume is refused, in one line that matches, and leaves the run as it was; then it is
# made whole again.
damaged() {
    pattern=$1
    shift
    rm -rf before && cp -r run before
    status 3 "$ASCGRAD" train --resume --out run "$@"
    lines err 1
    has err "$pattern"
    diff -r before run >changes || { fail "a resume that was refused changed the run:"; cat changes; }
    rm -rf run && cp -r saved run
}
damaged '^ascgrad train: run/model.safetensors: .*; put it back, or remove it to go on without it' --steps 60
last=$(($(wc -c <run/model.safetensors) - 4))
printf '\252\252\252\252' | dd of=run/model.safetensors bs=1 seek=$last conv=notrunc 2>/dev/null
damaged "^ascgrad train: run/model.safetensors: tensor '[a-z0-9._]*': is damaged: .*; put it back, or" --steps 60
head -c 100 saved/metrics.jsonl >run/metrics.jsonl
damaged '^ascgrad train: run/metrics.jsonl: has 100 bytes, but the checkpoint goes with [0-9]*' --steps 60
rm run/metrics.jsonl
damaged '^ascgrad train: run/metrics.jsonl: can.t open: No such file' --steps 60
mv run/model.safetensors run/model.kept.safetensors
echo more >>run/model.kept.safetensors
damaged '^ascgrad train: run/model.kept.safetensors: its tensors end at' --steps 60
status 0 "$ASCGRAD" train $tiny --out other --steps 3 --lr 1e-9
cp other/model.safetensors run
damaged '^ascgrad train: run/model.safetensors: is not the run.s best model, which is of step 20'
sed -i 's/^the$/zzz/' run/vocab.txt
damaged '^ascgrad train: run/vocab.txt: has changed: checksum'
echo more >>run/vocab.txt
damaged '^ascgrad train: run/vocab.txt: has 379 tokens, but the model in run/config.json has 378'
echo 'no settings' >run/config.json
damaged '^ascgrad train: run/config.json: line 1'
: >run/config.json
damaged '^ascgrad train: run/config.json: is empty, expected a JSON object'
rm run/config.json && mkdir run/config.json
status 3 "$ASCGRAD" eval run
has err '^ascgrad eval: run/config.json: is a folder'
damaged '^ascgrad train: run/config.json: is a folder, expected a regular file'

# values that a command line could not have given are a fault of the file
while read -r wrong pattern; do
    sed "s/$wrong/" saved/config.json >run/config.json
    damaged "^ascgrad train: run/config.json: $pattern"
done <<'END'
"batch":.8/"batch":"x" batch: got 'x', expected a whole number
"batch"/"btach" unknown setting 'btach'; did you mean 'batch'
"heads":.2/"heads":5 heads is 5, expected a divisor of the width 32
"tokenizer":."word"/"tokenizer":"wurd" tokenizer: got 'wurd'
builtin:8000/builtin:x builtin:x: its words are 'x', expected builtin
END
sed 's/"block": 32/"block": 99999/' saved/config.json >run/config.json
damaged '^ascgrad train: run/checkpoint.safetensors: param.pos_emb.weight is (32, 32), expected (99999, 32)'
sed 's/builtin:8000/builtin:x/' saved/config.json >run/config.json
status 3 "$ASCGRAD" eval run
has err '^ascgrad eval: the data of run: builtin:x: .*; --data names another'
cp saved/config.json run

# a model whose file contradicts itself
unchecked saved/model.safetensors | LC_ALL=C sed 's/\\"heads\\":2/\\"heads\\":5/' >heads.safetensors
status 3 "$ASCGRAD" eval heads.safetensors --data builtin:8000
has err '^ascgrad eval: heads.safetensors: heads is 5, expected a divisor of the width 32'
unchecked saved/model.safetensors | LC_ALL=C sed 's/"vocab":"/"xocab":"/' >run/model.safetensors
status 0 "$ASCGRAD" eval run
echo more >>run/vocab.txt
status 3 "$ASCGRAD" eval run
has err '^ascgrad eval: run/vocab.txt: tokenizer: its vocabulary has 379 tokens, but the model.s has 378'
rm -r run && cp -r saved run

# the best model was removed: it is the checkpoint's, or it is lost
rm run/model.safetensors
status 0 "$ASCGRAD" train --resume --out run
has err 'run/model.safetensors is missing: the checkpoint has the best model, of step 20, and it is written again'
same run/model.safetensors saved/model.safetensors
status 0 "$ASCGRAD" train $tiny --out means --set average=0.9 # and what was evaluated, not the parameters beneath
cp means/model.safetensors .
rm means/model.safetensors
status 0 "$ASCGRAD" train --resume --out means
has err 'and it is written again'
same means/model.safetensors model.safetensors
worse='--init whole --lr 1e-6 --min-lr 1 --warmup 0 --schedule linear --schedule-steps 25' # and worse
status 0 "$ASCGRAD" train $tiny --out early $worse --steps 25 --eval-every 2
has out 'best on valid: step [0-9],'
rm early/model.safetensors
cp -r early done
status 0 "$ASCGRAD" train --resume --out done
[ -s done/model.safetensors ] || fail 'a run that was done when it lost its best model has none'
status 0 "$ASCGRAD" train --resume --out early --steps 60
has err 'early/model.safetensors is missing: the best model so far, of step [0-9], is lost; the best from here on'
[ -s early/model.safetensors ] || fail 'a run that lost its best model has none at the end'

# a folder, and files, that may not be read
nobody=''
[ "$(id -u)" -ne 0 ] || nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
chmod 755 .
if $nobody "$ASCGRAD" --version >/dev/null 2>&1; then
    chmod 600 run/model.safetensors
    [ -z "$nobody" ] && chmod 0 run/model.safetensors
    status 3 $nobody "$ASCGRAD" eval run
    has err '^ascgrad eval: run/model.safetensors: can.t open: Permission denied'
    chmod 777 run
    status 3 $nobody "$ASCGRAD" train --resume --out run
    has err '^ascgrad train: run/model.safetensors: can.t open: Permission denied$'
    chmod 0 run
    status 3 $nobody "$ASCGRAD" eval run
    has err '^ascgrad eval: run/model.safetensors: Permission denied'
    chmod 755 run
else
    left_out 'needs setpriv, and a program that others may run: files that may not be read'
fi

# data that is none
seq 1 20000 | tr '\n' ' ' | fold -s -w 60 >text
gzip -c text | head -c 20000 >cut.gz
status 3 "$ASCGRAD" train --preset tiny --data cut.gz --tokenizer byte --out no
has err '^ascgrad train: .*cut.gz: '
one_line
gzip -c text >bad.gz
printf '\252\252\252\252' | dd of=bad.gz bs=1 seek=20000 conv=notrunc 2>/dev/null
status 3 "$ASCGRAD" train --preset tiny --data bad.gz --tokenizer byte --out no
has err '^ascgrad train: .*bad.gz: line [0-9]*: the gzip data is damaged: [a-z]'
{ cat text; printf 'not \377 text\n'; cat text; } >binary
status 3 "$ASCGRAD" train --preset tiny --data binary --tokenizer byte --out no
has err '^ascgrad train: .*binary: line [0-9]'
: >empty
status 3 "$ASCGRAD" train --preset tiny --data empty --tokenizer byte --out no
has err '^ascgrad train: .*empty'
printf 'too short\n' >short
status 3 "$ASCGRAD" train --preset tiny --data short --tokenizer byte --out no
one_line
status 3 "$ASCGRAD" train --preset tiny --data none --tokenizer byte --out no
has err 'none'
mkdir folder
cp text folder/train.txt
status 3 "$ASCGRAD" train --preset tiny --data folder --tokenizer byte --out no
has err 'valid'
status 3 "$ASCGRAD" train --preset tiny --data text --tokenizer wordpiece:none.txt --out no
has err 'none.txt'
status 3 "$ASCGRAD" train $tiny --out text/run
has err '^ascgrad train: text/run: Not a directory'
[ ! -e no ] || fail 'a run that could not begin left its folder'

# a loss that is not finite
wild='--lr 1e3 --warmup 0 --clip 0 --weight-decay 1000 --min-lr 1e3 --eval-every 1000'
status 1 "$ASCGRAD" train $tiny $wild --out wild
has err '^ascgrad train: wild: step [0-9]*: the .* is -*[ni][na][nf]; it keeps its settings; '
one_line
status 1 "$ASCGRAD" train $tiny $wild --out wild2 --debug-nan
has err '^ascgrad train: wild2: '
one_line
status 1 "$ASCGRAD" train $tiny $wild --checkpoint-every 1 --out wild3
has err '; it keeps the last checkpoint; --resume with --debug-nan names the op$'
status 1 "$ASCGRAD" train --resume wild3 --debug-nan
has err '^ascgrad train: wild3: [a-z_0-9.]*: [a-z_]*: output 0 '
exit $failed
