#!/bin/sh
# What eval, generate, verify, nli eval and nli predict may open, tried from within: a preloaded library opens other
# files while they read.
# Usage: ASCGRAD=build/ascgrad cage.sh
. "${abs_top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/program.sh"
: "${ASCGRAD:=$PWD/build/ascgrad}" "${CC:=cc}"
[ "${ASCGRAD_SANITIZED-}" != yes ] || { echo 'skipped: not under sanitizers'; exit 77; }
cat >shim.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* zlib's checksum, which all that reads a model calls. */
unsigned long crc32_z(unsigned long crc, const unsigned char *bytes, size_t n)
{
    unsigned long (*next)(unsigned long, const unsigned char *, size_t) = dlsym(RTLD_NEXT, "crc32_z");
    static int done;
    if (!done && n > 0) {
        done = 1;
        fprintf(stderr, "secret %s, ", open(getenv("SECRET"), O_RDONLY) < 0 ? "refused" : "read");
        fprintf(stderr, "file %s\n", open(getenv("SECRET_OUT"), O_WRONLY | O_CREAT, 0600) < 0 ? "refused" : "written");
    }
    return next(crc, bytes, n);
}
C
# shellcheck disable=SC2086  # several words
$CC -shared -fPIC -o shim.so shim.c -ldl 2>/dev/null || { echo 'skipped: no shared object can be made'; exit 77; }
mkdir elsewhere here
echo secret >elsewhere/file
cd here || exit 99
status 0 "$ASCGRAD" train --preset tiny --steps 2 --data builtin:3000 --threads 1 -q --out run
cp -r run with_data
seq 2000 >text

# within COMMAND...: what it opens from within
within() {
    SECRET=$folder/elsewhere/file SECRET_OUT=$folder/elsewhere/out LD_PRELOAD=$folder/shim.so status 0 "$ASCGRAD" "$@"
}
within verify run --no-cage
has err 'secret read, file written'
within verify run
if ! grep -q 'secret refused' err && ! grep -qs landlock /sys/kernel/security/lsm; then
    echo 'skipped: the kernel has no Landlock'
    exit 77
fi
caged() { # COMMAND...
    within "$@"
    has err 'secret refused, file refused'
}
for command in 'verify run' 'verify run/model.safetensors' 'eval run' 'eval run --data builtin:500 --threads 2' \
    'generate run the --tokens 2' 'generate run/model.safetensors --tokens 2'; do
    # shellcheck disable=SC2086
    caged $command
done

# what a stranger's run names is opened by who reads it alone, and of a folder the files right in it
named() { # FOLDER KEY NAME: a copy of the run whose configuration names that
    rm -rf "$1"
    cp -r run "$1"
    sed "s|\"$2\": \"[^\"]*\"|\"$2\": \"$3\"|" run/config.json >"$1/config.json"
}
for key in data encoder; do
    named stranger $key "$folder/elsewhere"
    caged generate stranger the --tokens 2
    caged verify stranger
done
named stranger data "$folder/elsewhere"
caged eval stranger --data builtin:500
named stranger data "$folder"
SECRET=$folder/elsewhere/file SECRET_OUT=$folder/elsewhere/out LD_PRELOAD=$folder/shim.so \
    status 3 "$ASCGRAD" eval stranger
has err 'secret refused, file refused'
cp run/model.safetensors ../elsewhere/model.safetensors
mkdir ../elsewhere/below
mv ../elsewhere/file ../elsewhere/below/file
SECRET=$folder/elsewhere/below/file SECRET_OUT=$folder/elsewhere/out LD_PRELOAD=$folder/shim.so \
    status 0 "$ASCGRAD" eval ../elsewhere/model.safetensors --data builtin:500
has err 'secret refused, file refused'
mv ../elsewhere/below/file ../elsewhere/file

# pairs: without an encoder, with one, whose cache is made, found again and shared, and with two models
XDG_CACHE_HOME=$folder/cache
export XDG_CACHE_HOME
tiny=$abs_top_srcdir/tests/train/encoder
awk 'BEGIN { print "gold_label\tsentence1\tsentence2"
    for (i = 0; i < 60; i++) printf "%s\tthe man %d\ta man %d\n", i % 2 ? "neutral" : "entailment", i, i % 7 }' >dev.tsv
tail -n +2 dev.tsv | cut -f 2,3 >typed
small='--threads 1 --dim 16 --ffn 16 --head-ffn 16 --mix none --epochs 1 -q'
for encoder in none "$tiny"; do
    # shellcheck disable=SC2086
    status 0 "$ASCGRAD" nli train --encoder "$encoder" --train dev.tsv --valid dev.tsv $small \
        --out "pairs-${encoder##*/}"
done
rm -r ../cache
for run in pairs-none pairs-encoder; do
    within nli eval $run --no-cage
    has err 'secret read, file written'
    rm -rf ../cache ../elsewhere/out
    caged nli eval $run
    caged nli eval $run
    caged eval $run
    caged nli eval $run/model.safetensors --data dev.tsv --per-pair pairs
    caged nli eval $run/model.safetensors --data dev.tsv --per-pair pairs
    lines pairs 60
    caged nli predict $run typed
    caged nli predict $run - <typed
    lines out 60
done
[ -n "$(ls ../cache/ascgrad)" ] || fail 'what an encoder made was not kept'
caged nli eval pairs-none --hard pairs-encoder --data dev.tsv --cache kept/cache
[ -n "$(ls kept/cache)" ] || fail 'what an encoder made was not kept where it was asked for'
mv pairs-encoder alone
caged nli eval alone/model.safetensors --data dev.tsv --encoder "$tiny" --vocab "$tiny/vocab.txt"
caged nli predict alone --encoder "$tiny" --vocab "$tiny/vocab.txt" typed

# what is named is read and written
status 0 "$ASCGRAD" train --preset tiny --steps 2 --data text --tokenizer byte --threads 1 -q --out own
status 0 "$ASCGRAD" eval own --per-token losses
[ -s losses ] || fail 'no losses'
status 0 "$ASCGRAD" eval own --data text
status 0 "$ASCGRAD" eval own/model.safetensors
status 0 "$ASCGRAD" eval own --data /dev/stdin <text
# so are files that links in a folder lead to, as in a hub's cache
mkdir linked snapshot
for split in train valid test; do
    cp text ../$split.txt
    ln -s ../../$split.txt linked/$split.txt
done
status 0 "$ASCGRAD" train --preset tiny --steps 2 --data linked --tokenizer byte --threads 1 -q --out by-link
caged eval by-link --data linked
ln -s "$tiny"/* snapshot
caged nli predict alone --encoder snapshot typed
echo the >../prompt
status 0 "$ASCGRAD" generate own --prompt-file ../prompt --tokens 2
exit "$failed"
