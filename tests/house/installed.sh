#!/bin/sh
# Run by `make installcheck`: what was installed serves a program that knows pkg-config only.
# Environment: CC, PKG_CONFIG_PATH, PKG_CONFIG_SYSROOT_DIR, libdir and bindir as installed, srcdir.
set -eu
: "${libdir:?}" "${bindir:?}" "${srcdir:?}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/user.c" <<'END'
#include <ascgrad/ascgrad.h>

int main(void)
{
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_tensor ones = asc_full(ctx, ASC_F32, 1.0, ASC_SHAPE(2, 3));
    int good = asc_numel(ones) == 6 && asc_error(ctx) == ASC_OK;
    asc_ctx_free(ctx);
    return good ? 0 : 1;
}
END
flags=$(pkg-config --cflags --libs ascgrad)
if [ ! -f "$libdir/libascgrad.so" ]; then
    flags=$(pkg-config --static --cflags --libs ascgrad)
fi
# shellcheck disable=SC2086  # lists of flags
$CC "$scratch/user.c" $flags -o "$scratch/user"
LD_LIBRARY_PATH=$libdir "$scratch/user"
"$bindir/ascgrad" info >/dev/null

# The examples, each by itself.
for example in fit classify edit_model own_mixing; do
    # shellcheck disable=SC2086
    $CC "$srcdir/examples/$example.c" $flags -lm -o "$scratch/$example"
done
run() {
    LD_LIBRARY_PATH=$libdir "$@"
}
run "$scratch/fit" | tail -n 1 | grep -q 'squared error 0\.00'
run "$scratch/classify" | tail -n 1 | grep -q 'points right$'
run "$scratch/edit_model" "$srcdir/tests/parity/attention-causal.safetensors" "$scratch/half.safetensors" 0.5 |
    grep -q tensors
run "$scratch/own_mixing" "$scratch/fading" | tail -n 1 | grep -q perplexity
