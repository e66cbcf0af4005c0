/* check/threads.c: the part of the gradient check that compares contexts of 1, 2 and 3 threads. */
#include <string.h>

#include "check/gradcheck.h"

static const asc_check_tolerance exact = {0, 0};

static asc_ctx *member(asc_check *c, int i)
{
    if (!c->crew->at[i]) {
        c->crew->at[i] = asc_ctx_new(&(asc_options){.threads = i + 1, .allocator = c->ctx->allocator});
        if (!c->crew->at[i]) {
            asc_fail(c->ctx, ASC_ERR_MEMORY, "gradcheck: no context of %d threads", i + 1);
        }
    }
    return c->crew->at[i];
}

void asc_check_crew_free(asc_check_crew *crew)
{
    for (int i = 0; i < ASC_CHECK_CREW; i++) {
        asc_ctx_free(crew->at[i]);
    }
}

/* The sample on a context of its own, in f64 and f32, into r[2]. */
static asc_status run_both(asc_check *own, const asc_check_result *r)
{
    asc_check_inputs single = {0};
    asc_check_request request = {own->leaves, own->roots, 1};
    bool takes_f32;
    asc_status status = asc_check_remake(own, asc_check_f32, &single);
    status = status ? status : asc_check_takes(own, &single, &takes_f32);
    status = status ? status : asc_check_pass(own, &own->inputs, &request, &r[0]);
    return status || !takes_f32 ? status : asc_check_pass(own, &single, &request, &r[1]);
}

static asc_tensor copy_to(asc_ctx *ctx, asc_tensor t)
{
    asc_array a = asc_array_of(t);
    return a.ndim < 0 ? asc_null() : asc_from(ctx, a.dtype, a.data, a.ndim, a.shape);
}

static asc_status run_on(const asc_check *c, asc_ctx *ctx, const asc_check_result *r)
{
    asc_check own = *c;
    own.ctx = ctx;
    asc_scope_begin(ctx);
    for (int i = 0; i < c->n_in; i++) {
        own.inputs.at[i] = c->owner[i] == i ? copy_to(ctx, c->inputs.at[i]) : own.inputs.at[c->owner[i]];
    }
    for (int o = 0; o < c->op->n_out; o++) {
        own.cotangent[o] = copy_to(ctx, c->cotangent[o]);
    }
    asc_status status = asc_error(ctx);
    status = status ? status : run_both(&own, r);
    asc_scope_end(ctx);
    if (status) {
        asc_fail(c->ctx, status, "%s", asc_error_message(ctx));
        asc_error_clear(ctx);
    }
    return status;
}

static void compare(asc_check *c, const asc_check_result *r, const asc_check_result *expected)
{
    size_t outs = (size_t)c->out_at[c->op->n_out] * sizeof(double);
    size_t grads = (size_t)c->grad_at[c->n_in] * sizeof(double);
    if (memcmp(r->out, expected->out, outs) != 0 || memcmp(r->grad, expected->grad, grads) != 0) {
        asc_check_compare_outputs(c, r->out, expected->out, exact);
        asc_check_compare_grads(c, c->leaves, r->grad, expected->grad, 1, exact);
    }
}

/* What backward reads though it is not saved has been looked at by the plain pass, on one number of threads; here it
 * is another on 2 threads. */
static void fill_gaps(asc_check *c, asc_guard_gaps gaps)
{
    if (c->guarded) {
        c->guarded->gaps = gaps;
    }
}

asc_status asc_check_threads(asc_check *c, bool *applies)
{
    asc_check_result one[2], r[2];
    asc_status status = ASC_OK;
    for (int k = 0; k < 2 && !status; k++) {
        status = asc_check_result_new(c, &one[k]);
        status = status ? status : asc_check_result_new(c, &r[k]);
    }
    for (int i = 0; i < ASC_CHECK_CREW && !status; i++) {
        asc_ctx *ctx = member(c, i);
        fill_gaps(c, i == 1 ? ASC_GAPS_OTHER : ASC_GAPS_FIRST);
        status = ctx ? run_on(c, ctx, i == 0 ? one : r) : ASC_ERR_MEMORY;
        for (int k = 0; k < 2 && i > 0 && !status; k++) {
            compare(c, &r[k], &one[k]);
        }
    }
    fill_gaps(c, ASC_GAPS_COMPARED);
    *applies = !status;
    return status;
}
