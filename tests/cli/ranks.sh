#!/bin/sh
# A training under mpirun: the same run for any number of processes, resumed with others, and what goes wrong said once.
. "$abs_top_srcdir/tests/program.sh"
. "$abs_top_srcdir/tests/ranks.sh"

# on N ARGUMENT...: train on N processes.
on() {
    ranks=$1
    shift
    "$mpirun" -n "$ranks" "$ASCGRAD" train --rank-timeout 60 "$@"
}

# the same for 1, 2 and 4 processes; one of them speaks
# shellcheck disable=SC2086
status 0 "$ASCGRAD" train $settings --steps 8 --out one
for n in 2 4; do
    # shellcheck disable=SC2086
    status 0 on $n $settings --steps 8 --out "on-$n"
    same_run one "on-$n"
    [ "$(grep -c 'done after step 8' out)" -eq 1 ] || fail "the result of $n processes is not told once"
done

# resumed with other numbers
# shellcheck disable=SC2086
status 0 on 4 $settings --steps 2 --out part
status 0 "$ASCGRAD" train --resume part --steps 4
status 0 on 2 --resume part --steps 8
same_run one part

# wrong usage is one line of one process
# shellcheck disable=SC2086
status 2 on 3 $settings --steps 8 --out wrong
has err 'shards is 4, expected a multiple of the 3 processes'
[ "$(grep -c 'expected a multiple' err)" -eq 1 ] || fail "told more than once: $(cat err)"
status 2 on 2 --stepz 8 --out wrong
has err 'did you mean --steps'
[ "$(grep -c 'did you mean' err)" -eq 1 ] || fail "told more than once: $(cat err)"

# a command that is not shared runs once
status 0 "$mpirun" -n 2 "$ASCGRAD" eval one --data builtin:3000 --json
[ "$(grep -c '"ppl"' out)" -eq 1 ] || fail "two evaluations"

exit $failed
