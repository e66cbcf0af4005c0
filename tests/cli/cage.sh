#!/bin/sh
# What eval, generate and verify may open, tried from within: a preloaded library opens other files while they read.
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
for command in 'verify run' 'verify run/model.safetensors' 'eval run' 'eval run --data builtin:500 --threads 2' \
    'generate run the --tokens 2' 'generate run/model.safetensors --tokens 2'; do
    # shellcheck disable=SC2086
    within $command
    has err 'secret refused, file refused'
done

# what is named is read and written
status 0 "$ASCGRAD" train --preset tiny --steps 2 --data text --tokenizer byte --threads 1 -q --out own
status 0 "$ASCGRAD" eval own --per-token losses
[ -s losses ] || fail 'no losses'
status 0 "$ASCGRAD" eval own --data text
status 0 "$ASCGRAD" eval own/model.safetensors
status 0 "$ASCGRAD" eval own --data /dev/stdin <text
echo the >../prompt
status 0 "$ASCGRAD" generate own --prompt-file ../prompt --tokens 2
exit "$failed"
