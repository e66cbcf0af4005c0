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

# no room at all
rm -r run && cp -r saved run
status 3 sh -c 'ulimit -f 1 && exec "$0" train --resume --out run --steps 60' "$ASCGRAD"
one_line
status 3 sh -c 'ulimit -f 1 && exec "$0" train '"$tiny"' --out full' "$ASCGRAD"
one_line
[ ! -e full ] || fail 'a run that could not begin left its folder'

# a disk that is full
if [ -w /dev/full ]; then
    status 3 "$ASCGRAD" eval run --per-token /dev/full
    has err '^ascgrad eval: /dev/full: No space left on device'
    "$ASCGRAD" info >/dev/full 2>err
    [ $? -eq 3 ] || fail 'info: a full standard output is no error'
    has err '^ascgrad info: standard output: No space left on device'
fi
if mkdir disk && mount -t tmpfs -o size=600k none disk 2>/dev/null; then
    status 3 "$ASCGRAD" train $tiny --out disk/run
    has err '^ascgrad train: disk/run/.*: No space left on device'
    umount disk
fi

# damaged files
head -c 1000 saved/checkpoint.safetensors >run/checkpoint.safetensors
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err '^ascgrad train: run/checkpoint.safetensors: '
one_line
cp saved/checkpoint.safetensors run
printf '\252\252\252\252' | dd of=run/checkpoint.safetensors bs=1 seek=100000 conv=notrunc 2>/dev/null
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err 'run/checkpoint.safetensors: is damaged'
rm -rf before run/checkpoint.safetensors && cp -r run before
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err '^ascgrad train: run/checkpoint.safetensors is missing'
same run/model.safetensors before/model.safetensors
same run/metrics.jsonl before/metrics.jsonl
cp saved/checkpoint.safetensors run
: >run/metrics.jsonl
status 3 "$ASCGRAD" train --resume --out run --steps 60
has err '^ascgrad train: run/metrics.jsonl: has 0 bytes'
head -c 3000 saved/model.safetensors >run/model.safetensors
status 3 "$ASCGRAD" eval run
has err '^ascgrad eval: run/model.safetensors: '
echo 'no settings' >run/config.json
status 3 "$ASCGRAD" train --resume --out run
has err '^ascgrad train: run/config.json: line 1'

# data that is none
seq 1 20000 | tr '\n' ' ' | fold -s -w 60 >text
gzip -c text | head -c 20000 >cut.gz
status 3 "$ASCGRAD" train --preset tiny --data cut.gz --tokenizer byte --out no
has err '^ascgrad train: .*cut.gz: '
one_line
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
has err '^ascgrad train: wild: step [0-9]*: the .* is -*[ni][na][nf]; it keeps'
one_line
status 1 "$ASCGRAD" train $tiny $wild --out wild2 --debug-nan
has err '^ascgrad train: wild2: '
one_line
exit $failed
