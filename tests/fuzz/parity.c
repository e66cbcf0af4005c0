/* tests/fuzz/parity.c: a parity case. */
#include "tests/fuzz/fuzz.h"

#include <program/parity.h>

void fuzz_parity(asc_ctx *ctx, const uint8_t *data, size_t n)
{
    asc_parity_report report;
    asc_parity_replay(ctx, fuzz_spill("case.safetensors", data, n), &report);
}
