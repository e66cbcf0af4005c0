#!/bin/sh
# A training under mpirun: the same run for any number of processes, resumed with others, and what goes wrong said once.
. "$abs_top_srcdir/tests/program.sh"
mpi=$("$ASCGRAD" info | sed -n 's/^MPI *//p')
case $mpi in
none*) echo "skipped: built without MPI"; exit 77 ;;
esac
command -v mpirun >/dev/null || { echo "skipped: there is no mpirun"; exit 77; }
# Open MPI: more processes than processors, also as root; MPICH asks for nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_orte_base_help_aggregate=0
# MPI itself leaves memory behind.
[ "${ASCGRAD_SANITIZED-}" != yes ] || export ASAN_OPTIONS=detect_leaks=0
mpirun -n 2 true >probe 2>&1 || { echo "skipped: mpirun starts nothing here:"; cat probe; exit 77; }

settings="--data builtin:3000 --model transformer --layers 1 --heads 2 --dim 16 --block 8 --batch 8 --shards 4
    --threads 1 --schedule constant --warmup 0 --eval-every 4 --log-every 1 --checkpoint-every 2"
# on N ARGUMENT...: train on N processes.
on() {
    ranks=$1
    shift
    mpirun -n "$ranks" "$ASCGRAD" train --rank-timeout 60 "$@"
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
status 0 mpirun -n 2 "$ASCGRAD" eval one --data builtin:3000 --json
[ "$(grep -c '"ppl"' out)" -eq 1 ] || fail "two evaluations"

exit $failed
