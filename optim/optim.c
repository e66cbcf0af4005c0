/* optim/optim.c: the loop over parameters, in pieces of a fixed size. */
#include "optim/optim.h"

#include <stdio.h>
#include <string.h>

#include "tensor/need.h"

enum { PIECE = 1 << 16 };

static asc_status add_state(asc_optim *o, const char *name, asc_dtype dtype, int ndim, const int64_t *shape,
                            asc_tensor *out)
{
    asc_tensor t = asc_zeros(o->ctx, dtype, ndim, shape);
    asc_status status = asc_is_null(t) ? ASC_ERR_MEMORY : asc_params_add(o->state, name, t, false);
    asc_disown(t); /* the list holds it */
    *out = t;
    return status;
}

static asc_status add_slots(asc_optim *o, const char *const *slot_names)
{
    for (int i = 0; i < o->count; i++) {
        asc_tensor p = asc_params_at(o->params, i);
        for (int s = 0; s < o->slots; s++) {
            char name[300];
            snprintf(name, sizeof name, "%s.%s", slot_names[s], asc_params_name(o->params, i));
            if (add_state(o, name, asc_dtype_of(p), asc_ndim(p), asc_shape(p), &o->slot[i * o->slots + s])) {
                return asc_error(o->ctx);
            }
        }
    }
    int64_t count = o->count;
    return add_state(o, "steps", ASC_I64, 1, &count, &o->steps);
}

static size_t slot_bytes(const asc_optim *o)
{
    return (size_t)o->count * (size_t)o->slots * sizeof *o->slot;
}

static size_t setting_bytes(const asc_optim *o)
{
    return (size_t)o->count * sizeof *o->setting;
}

asc_optim *asc_optim_new(asc_ctx *ctx, asc_params *params, double weight_decay, int slots,
                         const char *const *slot_names, const char *names)
{
    if (ASC_NEED(ctx, names, params)) {
        return NULL;
    }
    asc_optim *o = asc_alloc(ctx, sizeof *o);
    if (!o) {
        return NULL;
    }
    *o = (asc_optim){.ctx = ctx, .params = params, .count = asc_params_count(params), .slots = slots,
                     .state = asc_params_new(ctx)};
    o->setting = asc_alloc(ctx, setting_bytes(o));
    o->slot = asc_alloc(ctx, slot_bytes(o));
    if (!o->state || !o->setting || !o->slot || add_slots(o, slot_names)) {
        asc_optim_free(o);
        return NULL;
    }
    for (int i = 0; i < o->count; i++) {
        o->setting[i] = (asc_optim_setting){1, asc_params_decays(params, i) ? weight_decay : 0};
    }
    return o;
}

void asc_optim_free(asc_optim *o)
{
    if (o) {
        asc_free(o->ctx, o->slot, slot_bytes(o));
        asc_free(o->ctx, o->setting, setting_bytes(o));
        asc_params_free(o->state);
        asc_free(o->ctx, o, sizeof *o);
    }
}

int asc_optim_group(asc_optim *o, const char *prefix, double lr_scale, double weight_decay)
{
    if (!o || ASC_NEED(o->ctx, "optim_group: prefix", prefix)) {
        return 0;
    }
    int n = 0;
    for (int i = 0; i < o->count; i++) {
        if (strncmp(asc_params_name(o->params, i), prefix, strlen(prefix)) == 0) {
            o->setting[i] = (asc_optim_setting){lr_scale, weight_decay};
            n++;
        }
    }
    if (n == 0) {
        asc_fail(o->ctx, ASC_ERR_ARG, "optim_group: no parameter's name begins with '%s'", prefix);
    }
    return n;
}

asc_params *asc_optim_state(asc_optim *o)
{
    return o ? o->state : NULL;
}

typedef struct step {
    const asc_optim *o;
    int param;
    int64_t t, numel;
    double lr, grad_scale;
} step;

static void update_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const step *s = arg;
    int64_t from = piece * PIECE, n = s->numel - from < PIECE ? s->numel - from : PIECE;
    s->o->update(s->o, s->param, s->t, s->lr, s->grad_scale, from, n);
}

asc_status asc_optim_step(asc_optim *o, double lr, double grad_scale)
{
    if (!o) {
        return ASC_ERR_ARG;
    }
    if (asc_params_count(o->params) != o->count) {
        return asc_fail(o->ctx, ASC_ERR_STATE, "optim_step: the list has %d parameters, had %d when the optimiser was "
                        "made", asc_params_count(o->params), o->count);
    }
    int64_t *steps = asc_data_mut(o->steps);
    for (int i = 0; i < o->count; i++) {
        asc_tensor p = asc_params_at(o->params, i);
        if (asc_is_null(asc_grad(p)) || o->setting[i].lr_scale == 0) {
            continue;
        }
        if (!asc_is_contiguous(p)) {
            return asc_fail(o->ctx, ASC_ERR_ARG, "optim_step: %s is not contiguous", asc_params_name(o->params, i));
        }
        asc_data_mut(p); /* a tape that saved the old value must not be used any more */
        step s = {o, i, ++steps[i], asc_numel(p), lr * o->setting[i].lr_scale, grad_scale};
        asc_parallel(o->ctx, (s.numel + PIECE - 1) / PIECE, update_piece, &s);
    }
    return ASC_OK;
}
