/* autograd/state.c: what all calls of a context go by, and what they add up. */
#include "autograd/engine.h"

bool asc_set_recording(asc_ctx *ctx, bool record)
{
    if (!ctx) {
        return false;
    }
    bool was = ctx->recording;
    ctx->recording = record;
    return was;
}

void asc_set_step(asc_ctx *ctx, uint64_t seed, uint64_t step)
{
    if (ctx) {
        ctx->seed = seed;
        ctx->step = step;
        ctx->random_ordinal = 0;
    }
}

const char *asc_set_label(asc_ctx *ctx, const char *label)
{
    if (!ctx) {
        return NULL;
    }
    const char *was = ctx->label;
    ctx->label = label;
    return was;
}

bool asc_set_nan_check(asc_ctx *ctx, bool check)
{
    asc_tape *tape = asc_tape_of(ctx);
    bool was = tape && tape->check_nan;
    if (tape) {
        tape->check_nan = check;
    }
    return was;
}

void asc_set_rehearsal(asc_ctx *ctx, bool rehearse)
{
    asc_tape *tape = asc_tape_of(ctx);
    if (tape) {
        tape->rehearsal = rehearse;
    }
}

double asc_flops(const asc_ctx *ctx)
{
    const asc_tape *tape = ctx ? ctx->tape.state : NULL;
    return tape ? tape->flops : 0;
}

void asc_flops_reset(asc_ctx *ctx)
{
    asc_tape *tape = ctx ? ctx->tape.state : NULL;
    if (tape) {
        tape->flops = 0;
    }
}
