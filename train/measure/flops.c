/* train/measure/flops.c: the products that a model needs for a token, and those of its mixings among them. */
#include <string.h>

#include <ascgrad/bench.h>

#include "tensor/need.h"
#include "train/trainer.h"

/* Adds up the calls within the mixings: labels are "blocks.N.mix". */
static void see(void *user, const asc_event *event)
{
    double *flops = user;
    const char *end = event->label ? strrchr(event->label, '.') : NULL;
    if (event->op && end && strcmp(end, ".mix") == 0) {
        *flops += event->flops;
    }
}

asc_status asc_bench_flops(asc_ctx *ctx, asc_lm *lm, double *all, double *mixing)
{
    asc_status status = ASC_NEED(ctx, "bench_flops: lm all mixing", lm, all, mixing);
    double inside = 0;
    status = status ? status : asc_set_observer(ctx, see, &inside);
    if (status) {
        return status;
    }
    int64_t block = asc_lm_block(lm);
    asc_lm_carried *carried = asc_lm_carry(lm) > 0 ? asc_lm_carried_new(lm, asc_lm_carry(lm)) : NULL;
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, block));
    if (carried) {
        asc_run_up(&(asc_stepper){.ctx = ctx, .lm = lm, .block = block}, carried, 1);
    }
    asc_flops_reset(ctx);
    inside = 0;
    asc_lm_loss(lm, x, x, NULL);
    *all = asc_flops(ctx) / (double)block * 1e-9;
    *mixing = inside / (double)block * 1e-9;
    asc_scope_end(ctx);
    asc_lm_carried_free(carried);
    asc_set_recording(ctx, recording);
    asc_set_observer(ctx, NULL, NULL);
    return asc_error(ctx);
}
