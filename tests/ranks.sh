# shellcheck shell=sh disable=SC2034  # those that source it use it
# tests/ranks.sh: what the scripts that run the program under mpirun share; sourced by them after program.sh. Without
# MPI they are skipped.
mpi=$("$ASCGRAD" info | sed -n 's/^MPI *//p')
case $mpi in
none*) echo "skipped: built without MPI"; exit 77 ;;
MPICH*) other=mpirun.mpich ;;
*) other=mpirun.openmpi ;;
esac
# Debian has both launchers side by side, one of them as mpirun.
command -v $other >/dev/null || other=mpirun
mpirun=${MPIRUN-$other}
command -v "$mpirun" >/dev/null || { echo "skipped: there is no mpirun"; exit 77; }
# Open MPI: more processes than processors, also as root; MPICH asks for nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_orte_base_help_aggregate=0
# MPI itself leaves memory behind.
[ "${ASCGRAD_SANITIZED-}" != yes ] || export ASAN_OPTIONS=detect_leaks=0
"$mpirun" -n 2 true >probe 2>&1 || { echo "skipped: mpirun starts nothing here:"; cat probe; exit 77; }

settings="--data builtin:3000 --model transformer --layers 1 --heads 2 --dim 16 --block 8 --batch 8 --shards 4
    --threads 1 --schedule constant --warmup 0 --eval-every 4 --log-every 1 --checkpoint-every 2"

# processes_of LAUNCHER: the numbers of the job's processes, its children or theirs
processes_of() {
    ps -e -o pid= -o ppid= -o comm= | awk -v top="$1" '
        { parent[$1] = $2; if ($3 == "ascgrad") ours[++n] = $1 }
        END {
            for (i = 1; i <= n; i++) {
                for (p = ours[i]; p > 1 && p != top; p = parent[p]) {
                }
                if (p == top) print ours[i]
            }
        }'
}
