#!/bin/sh
# OpenBLAS is built for POSIX threads, for OpenMP or without threads: all give the same models, on any number of
# threads. Those that are installed side by side, as Debian does it, are compared, and those in the folders of
# ASCGRAD_FLAVOURS.
. "$abs_top_srcdir/tests/program.sh"
unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS LD_LIBRARY_PATH

# flavour FOLDER: what OpenBLAS says of the build there, without its version and options that don't concern threads
flavour() {
    LD_LIBRARY_PATH=$1 "$ASCGRAD" info --json 2>/dev/null |
        sed -n 's/.*"blas": "\([^"]*\)".*/\1/p' | grep -o -e USE_OPENMP -e SINGLE_THREADED || echo PTHREADS
}

found=0
for place in /usr/lib/*/openblas-* ${ASCGRAD_FLAVOURS-}; do
    [ -e "$place/libopenblas.so.0" ] || continue
    name=$(flavour "$place")
    [ -e "$name" ] && continue
    ln -s "$place" "$name"
    found=$((found + 1))
done
if [ "$found" -lt 2 ]; then
    echo "skipped: one OpenBLAS alone; Debian has libopenblas0-pthread, libopenblas0-openmp and libopenblas0-serial"
    exit 77
fi

# run FLAVOUR COMMAND...
run() {
    library=$(readlink "$1")
    shift
    LD_LIBRARY_PATH=$library status 0 "$@"
}

models=$("$ASCGRAD" info | sed -n 's/^models  *//p' | tr -d ,)
first=
for name in PTHREADS USE_OPENMP SINGLE_THREADED; do
    [ -e "$name" ] || continue
    echo "$name: $(readlink "$name")"
    run "$name" "$ASCGRAD" parity "$abs_top_srcdir"/tests/parity/*.safetensors
    for model in $models; do
        for threads in 1 2 3; do
            run "$name" "$ASCGRAD" train $tiny --model "$model" --steps 12 --eval-every 12 --log-every 1 \
                --threads $threads --out "$name-$model-$threads"
            first=${first:-$name}
            same_run "$first-$model-1" "$name-$model-$threads"
        done
    done
done

# a count of threads for OpenBLAS itself is not ours
if [ -e USE_OPENMP ]; then
    OMP_NUM_THREADS=3 run USE_OPENMP "$ASCGRAD" train $tiny --model transformer --steps 12 --eval-every 12 \
        --log-every 1 --threads 2 --out omp
    same_run "$first-transformer-1" omp
fi
exit $failed
