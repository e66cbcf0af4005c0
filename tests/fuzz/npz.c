/* tests/fuzz/npz.c: NumPy's archives, and one array of them alone. */
#include "tests/fuzz/fuzz.h"

#include <ascgrad/npz.h>

void fuzz_npz(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    asc_params *into = asc_params_new(ctx);
    const char *path = fuzz_spill("x.npz", data, n);
    asc_npz_read(ctx, path, into);
    asc_error_clear(ctx);
    asc_params_free(into);
    asc_release(asc_npy_read(ctx, path));
}
