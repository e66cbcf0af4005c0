/* tests/fuzz/safetensors.c: a file of tensors, read as it is stored and as floats. */
#include "tests/fuzz/fuzz.h"

void fuzz_safetensors(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    asc_safetensors *file = asc_safetensors_open(ctx, fuzz_spill("x.safetensors", data, n));
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(file, i)); i++) {
        asc_release(asc_safetensors_read(ctx, file, e->name, ASC_SAFETENSORS_STORED));
        asc_error_clear(ctx);
        asc_release(asc_safetensors_read(ctx, file, e->name, ASC_F32));
        asc_error_clear(ctx);
    }
    asc_safetensors_close(file);
}
