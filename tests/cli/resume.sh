#!/bin/sh
# ascgrad train --resume: after any interruption the same metrics and model to the bit.
. "$abs_top_srcdir/tests/program.sh"
settings="$tiny --steps 150 --eval-every 37 --checkpoint-every 10 --log-every 5"

status 0 "$ASCGRAD" train $settings --out whole

# Ends with the command, not before: in the background timeout would kill itself, too, and what it killed may still be
# dying, with the lock on its run, when the next one starts. busybox' timeout is like that without options.
foreground='--foreground --preserve-status'
# shellcheck disable=SC2086
timeout $foreground 9 true 2>/dev/null || foreground=

# go_on SIGNAL RUN: trains without an end, interrupts and resumes ten times, after different pauses, and ends the run
# where it is by then, which depends on the machine.
go_on() {
    endless="$settings --set schedule_steps=150 --steps 1e9"
    for pause in 0.1 0.25 0.05 0.4 0.15 0.3 0.2 0.35 0.12 0.45; do
        how=$endless
        [ ! -f "$2/config.json" ] || how=--resume
        timeout $foreground -s "$1" $pause "$ASCGRAD" train $how --out "$2" >out 2>err
        got=$?
        [ "$1" = INT ] && [ $got -ne 130 ] && { fail "interrupted: exit status $got"; cat err; }
    done
    step=$(sed -n 's/.*"step": \([0-9]*\),.*/\1/p' "$2/metrics.jsonl" | tail -n 1)
    steps=$((${step:-0} + 7))
    echo "$2: $steps steps"
    how=$endless
    [ ! -f "$2/config.json" ] || how=--resume
    status 0 "$ASCGRAD" train $how --out "$2" --steps $steps
    status 0 "$ASCGRAD" train $endless --out "whole.$2" --steps $steps
    same_run "whole.$2" "$2"
}
go_on INT interrupted
go_on KILL killed

# train_a_part RUN OPTION...: trains until a limit of time that ends it after a step, and before the last: which one
# does depends on the machine.
train_a_part() {
    for minutes in 0.003 0.0005 0.001 0.002 0.006 0.012 0.03 0.1; do
        rm -rf "$1"
        status 0 "$ASCGRAD" train $settings --out "$@" --minutes $minutes
        grep -q 'out of time after step [1-9]' out && return
    done
    fail "$1: no limit of time ends it half-way"
}

# a limit of time only stops
train_a_part timed
[ -s timed/model.safetensors ] || fail 'a run that ran out of time has no model'
status 0 "$ASCGRAD" train --resume --out timed
has err 'goes on after step [1-9]'
same_run whole timed

# where nothing learns until a curriculum's end
status 0 "$ASCGRAD" train $tiny --model ascender --set 'param_groups=*:lr=0;*tau_score:lr=0.01' \
    --set 'curriculum=tau_score=0:4,8:1' --steps 20 --out late
status 0 "$ASCGRAD" train --resume --out late --steps 30

# what may be given anew, and what may not
status 2 "$ASCGRAD" train --resume --out whole --lr 1
has err '^ascgrad train: --lr: can.t be given anew'
status 2 "$ASCGRAD" train --resume --out whole --dim 64
has err '^ascgrad train: --dim can.t be given anew'
status 2 "$ASCGRAD" train --resume --out whole --data builtin:9000
has err '--data: can.t be given anew'
status 3 "$ASCGRAD" train --resume --out none
has err 'none: there is no such run or file; runs in this folder: '
status 0 "$ASCGRAD" train --resume --out whole $settings
same_run whole timed

# recomputation changes no result, wherever it begins or ends
status 0 "$ASCGRAD" train $settings --out again --recompute
same_run whole again
train_a_part half
status 0 "$ASCGRAD" train --resume --out half --recompute
has half/config.json '"recompute": true'
same_run whole half

# a run of an earlier version, which had fewer settings and no summary
train_a_part older
sed '/"eval_tokens"\|"early_stop"\|"sample_every"/d' older/config.json >config.json
mv config.json older/config.json
rm older/summary.json
status 0 "$ASCGRAD" train --resume --out older
same_run whole older

# with a schedule of its own length, more steps continue the same run
long="$settings --set schedule_steps=150"
status 0 "$ASCGRAD" train $long --out parts --steps 83
status 0 "$ASCGRAD" train --resume --out parts --steps 150 --threads 1
same_run whole parts
has parts/config.json '"steps": 150'

# steps that are done already
status 0 "$ASCGRAD" train --resume --out parts --steps 100
has err 'eval parts --split test$'
has err '^ascgrad train: step 150 is done: of 100 steps nothing is left'
has out 'done after step 150, '
has parts/config.json '"steps": 150'
same_run whole parts

# more steps without a schedule of their own length move it
status 0 "$ASCGRAD" train $settings --out longer --steps 20
status 0 "$ASCGRAD" train --resume --out longer --steps 40
lacks longer/metrics.jsonl '"tokens_per_s": 0\.0'
has err 'the schedule ends at step 40 now: the learning rate goes on from 0.00[0-9]*, it was 0.0003'
status 0 "$ASCGRAD" train --resume --out longer
lacks err 'schedule'

# of both limits, given again, the smaller holds, also where one is the run's own; so does what is its own otherwise
status 0 "$ASCGRAD" train $tiny --steps 5 --epochs 1 --set logit_cap=3.14159265358979323846 --out both
status 0 "$ASCGRAD" train --resume both --steps 100000 --epochs 1 --set logit_cap=3.14159265358979323846 --min-lr -1
has both/config.json '"epochs": 1,'
has err 'both --split'
step=$(sed -n 's/.*"step": \([0-9]*\).*/\1/p' both/summary.json)
[ "$step" -gt 5 ] && [ "$step" -lt 1000 ] || fail "an epoch ends at step $step"

# the one of them that is given alone counts, also where it is as it was
status 0 "$ASCGRAD" train $tiny --steps 5 --epochs 1 --out first
status 0 "$ASCGRAD" train --resume first --epochs 1
step=$(sed -n 's/.*"step": \([0-9]*\).*/\1/p' first/summary.json)
[ "$step" -gt 5 ] || fail "--epochs 1 ends at step $step"

# so they move what stands at shares of it, also where the rate stays
status 0 "$ASCGRAD" train $settings --schedule constant --set 'dropout_schedule=0%:0.5,100%:0' --out shares --steps 20
status 0 "$ASCGRAD" train --resume --out shares --steps 40
has err 'from the start with these steps the model would be another$'
status 0 "$ASCGRAD" train --resume --out shares
lacks err 'would be another'

# one process at a time
"$ASCGRAD" train $tiny --out busy --steps 1e9 --eval-every 1e9 >/dev/null 2>&1 &
for i in $(seq 3000); do
    [ -s busy/metrics.jsonl ] && break
    sleep 0.1
done
status 2 "$ASCGRAD" train --resume --out busy
has err "busy: another process trains in it: $! on host [^ ]"
kill -INT $! # a script's background command begins with SIGINT ignored
wait $!
[ $? -eq 130 ] || fail 'SIGINT: exit status is not 130'
[ ! -e busy/running ] || fail 'a run that was left has a claim'
status 0 "$ASCGRAD" train --resume --out busy --steps 1

# a claim of another host counts until it was not touched for a minute
echo '{"host": "far", "pid": 7, "id": "1"}' >busy/running
status 2 "$ASCGRAD" train --resume --out busy --steps 1
has err 'busy: another process trains in it: 7 on host far'
touch -t 202001010000 busy/running
status 0 "$ASCGRAD" train --resume --out busy --steps 1
[ ! -e busy/running ] || fail 'a run that is done has a claim'

# a terminal that goes away, which may be said twice: all is saved, unless nohup is in force
if [ -z "$(sh -c 'kill -HUP $$; echo ignored' 2>/dev/null)" ]; then
    "$ASCGRAD" train $tiny --out gone --steps 1e9 --eval-every 1e9 --checkpoint-every 1e9 >out 2>err &
    for i in $(seq 3000); do
        [ -s gone/metrics.jsonl ] && break
        sleep 0.1
    done
    kill -HUP $!
    kill -HUP $! 2>/dev/null
    wait $!
    [ $? -eq 130 ] || fail 'SIGHUP: exit status is not 130'
    has err 'all that a resume needs is saved'
    status 0 "$ASCGRAD" train --resume --out gone --steps 1
    has err 'step [1-9][0-9]* is done'
else
    left_out 'needs SIGHUP, which is ignored here: a terminal that goes away'
fi

# numbers of more digits than config.json has
many="$tiny --set schedule_steps=40 --dtype f64 --lr 0.0033333333333333335 --weight-decay 0.12345678901234567"
status 0 "$ASCGRAD" train $many --steps 40 --out digits.whole
status 0 "$ASCGRAD" train $many --steps 20 --out digits
status 0 "$ASCGRAD" train --resume --out digits --steps 40
same_run digits.whole digits

# data that has changed
seq 1 9000 | tr '\n' ' ' | fold -w 60 >text.txt
status 0 "$ASCGRAD" train --preset tiny --data text.txt --tokenizer byte --out own --steps 5
echo more >>text.txt
status 3 "$ASCGRAD" train --resume --out own --steps 8
has err 'split has changed'
exit $failed
