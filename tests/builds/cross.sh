#!/bin/sh
# Other processors, emulated: built by Debian's cross compilers against its libraries, and run under qemu. On ARM the
# gradients of ops, the cases of tests/parity, the suites of files, and a training of each kind of model in bf16, whose
# products are ours: its model has the bits of the one made here. The last three on s390x, too, whose high byte comes
# first: its files are the same to the byte, and it goes on with a run of this machine's.
# usage: cross.sh, with ASCGRAD this machine's program; ARCHS='arm64 s390x' says which.
# Exit status 0 passed, 77 skipped, else failed
set -u
top=$(cd "${abs_top_srcdir:-$(dirname "$0")/../..}" && pwd -P)
place=
trap '[ -z "$place" ] || rm -rf "$place"' EXIT
trap 'exit 1' HUP INT TERM
jobs=$(getconf _NPROCESSORS_ONLN)
suites='tests/data/test_npz tests/data/test_safetensors tests/data/test_checksum tests/data/test_records
    tests/data/test_bpe tests/tensor/test_random tests/train/test_events tests/train/test_encoder_files'

skip() {
    echo "SKIP: $*"
    exit 77
}

# step WORDS COMMAND...: its output in $place/log, shown if it fails.
step() {
    what=$1
    shift
    echo "==== $arch: $what"
    "$@" >"$place/log" 2>&1 </dev/null && return
    tail -n 40 "$place/log"
    echo "==== $arch: failed: $what"
    exit 1
}

# sysroot ROOT: the packages that the build needs, unpacked there; what is installed here is left alone.
sysroot() {
    root=$1 state=$place/apt
    mkdir -p "$root" "$state/lists/partial" "$state/archives/partial" && : >"$state/status" || return 1
    set -- -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o APT::Install-Recommends=false \
        -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state" -o Acquire::Languages=none
    [ "$(id -u)" != 0 ] || set -- "$@" -o APT::Sandbox::User=root
    apt-get "$@" update &&
        apt-get "$@" --download-only -y install libc6-dev libopenblas-dev zlib1g-dev libutf8proc-dev \
            libjansson-dev check || return 1
    for package in "$state"/archives/*.deb; do
        dpkg -x "$package" "$root" || return 1
    done
    rm -rf "$state"
    libraries=$root/usr/lib/$triple
    ln -sf openblas-pthread/libopenblas.so.0 openblas-pthread/libopenblas.so "$libraries"
    # Links from the root of a system, which this isn't.
    find "$libraries" -type l -lname '/*' | while read -r link; do
        target=$root$(readlink "$link")
        [ ! -e "$target" ] || ln -sfn "$target" "$link"
    done
}

build() {
    libraries=$root/usr/lib/$triple
    cd "$place/build" &&
        PKG_CONFIG_SYSROOT_DIR=$root \
        PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$libraries/openblas-pthread/pkgconfig:$root/usr/share/pkgconfig \
            "$top/configure" -q --host="$triple" --disable-shared --without-mpi \
            CC="$triple-gcc --sysroot=$root" &&
        make -s -j"$jobs" && echo "$suites" | xargs make -s -j"$jobs"
}

emulated() {
    OPENBLAS_NUM_THREADS=1 "$qemu" -L "$root" "$@"
}

# In a process of its own: what a fork does under the emulator isn't ours to test.
suite() {
    CK_FORK=no CK_DEFAULT_TIMEOUT=900 emulated "$place/build/$1"
}

# train ASCGRAD... RUN: some steps, one thread, no instructions of this machine's own.
train() {
    ASCGRAD_ISA=plain "$@" --preset tiny --data builtin:8000 --tokenizer word --precision bf16 --threads 1 --steps 3 \
        --log-every 1
}

# The same model and the same losses, step for step.
same_run() {
    cmp "$1/model.safetensors" "$2/model.safetensors" || return 1
    for run in "$1" "$2"; do
        sed 's/"tokens_per_s": [^,]*, "elapsed_s": [^,}]*//' "$run/metrics.jsonl" >"$run/timeless"
    done
    cmp "$1/timeless" "$2/timeless"
}

# A run that was begun here and ends there.
goes_on() {
    train "$ASCGRAD" train --model grassmann --out "$place/begun" --checkpoint-every 3 &&
        emulated "$place/build/ascgrad" train --resume "$place/begun" --steps 5 --threads 1 &&
        train "$ASCGRAD" train --model grassmann --out "$place/whole" --checkpoint-every 3 &&
        ASCGRAD_ISA=plain "$ASCGRAD" train --resume "$place/whole" --steps 5 --threads 1 &&
        same_run "$place/begun" "$place/whole"
}

run_all() {
    for test in $suites; do
        step "$test" suite "$test"
    done
    step parity emulated "$place/build/ascgrad" parity "$top"/tests/parity/*.safetensors
    for model in transformer grassmann ascender; do
        step "$model" train emulated "$place/build/ascgrad" train --model $model --out "$place/there-$model"
        step "$model, here" train "$ASCGRAD" train --model $model --out "$place/here-$model"
        step "$model, the same bits" same_run "$place/there-$model" "$place/here-$model"
    done
    step 'a run from here goes on' goes_on
    [ "$arch" != arm64 ] ||
        step gradcheck emulated "$place/build/ascgrad" gradcheck linear gelu layer_norm topk linear_cross_entropy
}

for tool in apt-get dpkg pkg-config; do
    command -v $tool >/dev/null || skip "needs $tool"
done
unset CC CFLAGS CPPFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKELEVEL
checked=
for arch in ${ARCHS-arm64 s390x}; do
    case $arch in
        arm64) triple=aarch64-linux-gnu qemu=qemu-aarch64 ;;
        *) triple=$arch-linux-gnu qemu=qemu-$arch ;;
    esac
    if ! command -v "$triple-gcc" >/dev/null || ! command -v "$qemu" >/dev/null; then
        echo "left out: $arch, which needs the packages gcc-$triple and qemu-user"
        continue
    fi
    place=$(mktemp -d) && mkdir "$place/build" || exit 99
    if ! sysroot "$place/root" >"$place/log" 2>&1; then
        echo "left out: $arch, whose packages apt-get doesn't get: $(tail -n 1 "$place/log")"
    else
        step build build
        (run_all) || exit 1
        checked="$checked $arch"
    fi
    rm -rf "$place"
done
[ "$checked" ] || skip 'no other processor could be emulated'
echo "checked:$checked"
