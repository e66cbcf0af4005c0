#!/bin/sh
# --profile: tables on stderr, a trace that a viewer reads, and a training that is the same as without.
. "$abs_top_srcdir/tests/program.sh"
have_python || { left_out 'needs python3: a trace as a viewer reads it'; python=; }

# trace FILE STEPS PROFILED: a whole trace with that many steps, and tables of so many.
trace() {
    [ -s "$1" ] || { fail "there is no $1"; return; }
    [ -z "$python" ] && return
    got=$("$python" "$abs_top_srcdir/tests/cli/trace_check.py" "$1" "$2" 2>&1)
    [ "$got" = "$3" ] || fail "$1: got '$got', expected $3"
}

# sum NAME: the seconds of the phases and what is left, and of all, in err.
sums_up() {
    awk '/^phase/ { on = 1; next } /^$/ { on = 0 } on && $1 == "all" { all = $2 } on && $1 == "other" { sum += $2 }
        on && $1 != "all" && $1 != "other" { sum += $3 }
        END { d = sum - all; exit !(all > 0 && d < 0.02 && d > -0.02) }' err ||
        { fail 'the phases are not all:'; cat err; }
}

status 2 "$ASCGRAD" train $tiny --out plain --profile-steps 3
has err '^ascgrad train: --profile-steps: has no say without --profile FILE$'
status 0 "$ASCGRAD" train $tiny --out plain
cp out plain.out
status 0 "$ASCGRAD" train $tiny --out run --profile run.json
same_run plain run
for phase in forward backward optimiser clip data evaluation checkpoint set-up other all; do
    has err "^$phase  "
done
for part in 'blocks.N.mix' 'blocks.N.ffn' head embedding; do
    has err "^$part  "
done
lacks err 'no label'
has err '^linear  *forward  *[1-9][0-9]*.0 '
has err '^outside of ops '
sums_up
sed 's/[0-9.]* s;/s;/; s/^run/plain/' out >timeless
sed 's/[0-9.]* s;/s;/' plain.out | cmp -s - timeless || fail 'stdout is another with --profile'
trace run.json 10 60
rm -r plain run

# how many steps the trace has; one object on stdout
status 0 "$ASCGRAD" train $tiny --steps 5 --out few --profile few.json --profile-steps 2 --json
lines out 1
has out '^{"run": "few"'
trace few.json 2 5
status 0 "$ASCGRAD" train --resume --steps 12 --out few --profile few.json --profile-steps 0
trace few.json 0 7
lacks few.json '"ph":"X"'
status 0 "$ASCGRAD" train --resume --steps 12 --out few --profile few.json # nothing is left to do
has err '^profile: 0 steps in'
lacks err '^op '
trace few.json 0 0
status 2 "$ASCGRAD" train $tiny --out no --profile no.json --profile-steps -1
status 2 "$ASCGRAD" train $tiny --out few --profile other.json
[ ! -e other.json ] || fail 'a training that never began has a trace'

# an interrupted training: all that it has
"$ASCGRAD" train $tiny --out stopped --steps 1e9 --eval-every 1e9 --profile stopped.json >out 2>err &
for i in $(seq 3000); do
    [ -s stopped/metrics.jsonl ] && break
    sleep 0.1
done
kill -INT $!
wait $!
[ $? -eq 130 ] || fail 'SIGINT: exit status is not 130'
has err '^forward '
sums_up
[ -z "$python" ] || "$python" -c 'import json, sys; json.load(open("stopped.json"))' || fail 'stopped.json is no JSON'

# one whose loss is not finite, too
wild='--lr 1e3 --warmup 0 --clip 0 --weight-decay 1000 --min-lr 1e3 --eval-every 1000'
status 1 "$ASCGRAD" train $tiny $wild --out wild --profile wild.json
has err '^forward '
[ -s wild.json ] || fail 'there is no wild.json'

# a file that can't be: known at once where it is possible, and never at the cost of the run
cp run.json kept.json
status 2 "$ASCGRAD" train $tiny --data run.json --out no --profile run.json
has err '^ascgrad train: --profile: got run.json, which is what is read: expected another file$'
same kept.json run.json
mkdir texts
for split in train valid test; do cp run.json texts/$split.txt; done
status 2 "$ASCGRAD" train $tiny --data texts --out no --profile texts/train.txt
same kept.json texts/train.txt
echo '{"seed": 3}' >settings.json
status 2 "$ASCGRAD" train $tiny --config settings.json --out no --profile settings.json
cp few/model.safetensors kept.model
status 2 "$ASCGRAD" train --resume few --steps 40 --profile few/model.safetensors
same kept.model few/model.safetensors
status 3 "$ASCGRAD" train $tiny --out no --profile nowhere/run.json
has err '^ascgrad train: --profile: nowhere/run.json: No such file'
mkfifo pipe
status 3 "$ASCGRAD" bench train --steps 1 --profile pipe
has err '^ascgrad bench train: --profile: pipe: is not a regular file'
mkdir folder
status 3 "$ASCGRAD" train $tiny --out no --profile folder
[ ! -e no ] || fail 'a run has begun'
echo before >late.json
mkdir late.json.ascgrad-tmp
status 3 "$ASCGRAD" train $tiny --steps 5 --out late --profile late.json
has err '^ascgrad train: late.json.ascgrad-tmp: is a folder, expected a regular file'
has err '^forward '
has out '^late: done after step 5'
has late.json '^before$'
status 0 "$ASCGRAD" eval late
if mkdir disk && mount -t tmpfs -o size=16k none disk 2>/dev/null; then
    status 3 "$ASCGRAD" train $tiny --out room --profile disk/run.json
    has err '^ascgrad train: disk/run.json: .*No space left on device'
    has out '^room: done after step 60'
    [ -z "$(ls disk)" ] || fail 'a part of a trace is left'
    umount disk
else
    left_out 'needs the right to mount: a trace on a disk that is full'
fi

# bench train: the steps that are timed
small='--layers 1 --dim 32 --block 16 --batch 4 --vocab 100'
for model in $("$ASCGRAD" info --json | sed 's/.*"models": \[\([^]]*\)\].*/\1/' | tr -d '",'); do
    status 0 "$ASCGRAD" bench train --model "$model" $small --steps 2 --profile bench.json --json
    lines out 1
    has err '^profile: 2 steps in'
    has err '^warm-up  *1 '
    has err '^linear_cross_entropy  *forward  *1.0 '
    sums_up
    trace bench.json 4 2
done
exit $failed
