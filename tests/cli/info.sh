#!/bin/sh
# ascgrad info: what it knows of the machine, and which kernels BLAS was made to take.
. "$abs_top_srcdir/tests/program.sh"

status 0 "$ASCGRAD" info
for word in version processor kernels BLAS threads models ops; do
    has out "^$word  *[^ ]"
done
status 0 "$ASCGRAD" info --json
lines out 1
has out '"models": \["transformer"'
has out '"name": "layer_norm", "equation": "'
lines err 0
lacks out '"settings"'
status 0 "$ASCGRAD" info --json --settings
lines out 1
has out '{"owner": "train", "key": "batch", "type": "integer", "min": 1, .*"default": "32"'
has out '"key": "decay", "type": "choice", "choices": \['

# a user's choice is respected; ours leaves no trace in the environment
OPENBLAS_CORETYPE=Prescott status 0 "$ASCGRAD" info --json
has out '"blas_core": "Prescott"'
ASCGRAD_ISA=plain status 0 "$ASCGRAD" info --json
has out '"isa": "plain"'
for products in own openblas; do
    ASCGRAD_PRODUCTS=$products status 0 "$ASCGRAD" info --json
    has out "\"products\": \"$products\""
done

# a program without the module for MPI beside it, and none where it is to be installed
cp "$ASCGRAD" alone
for name in prefix exec_prefix libdir; do
    eval "$name=$(sed -n "s/^$name = //p" "$abs_top_builddir/Makefile")"
done
# shellcheck disable=SC2154
if ./alone --version >out 2>err && [ ! -e "$libdir/ascgrad/ascgrad_mpi.so" ]; then
    status 0 ./alone info
    has out '^MPI  *none'
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 status 3 ./alone train --preset tiny --data builtin:3000 --out run
    has err '^ascgrad train: a job of several processes needs MPI: '
else
    left_out 'the module for MPI is installed'
fi
exit $failed
