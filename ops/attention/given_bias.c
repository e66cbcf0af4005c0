/* ops/attention/given_bias.c: a bias of the caller's on the scores of attention, and its gradient.
 *
 *   S_ij += β_ij,  dβ_ij = dS_ij, summed over the batch entries and heads that share it
 *
 * The gradient is as large as the bias: what shares it is added in place, in the order of batch entries and heads, by
 * one piece of work. */
#include "ops/attention/panel.h"

asc_status asc_expect_given_bias(asc_call *call, int input, const asc_allowed *J)
{
    const asc_array *a = &call->in[input];
    const int64_t all[] = {J->B, J->H, J->N, J->M};
    bool fits = a->ndim >= 2 && a->ndim <= 4 && a->dtype == call->in[0].dtype;
    for (int d = 0; fits && d < a->ndim; d++) {
        int at = d + 4 - a->ndim;
        fits = a->shape[d] == all[at] || (at < 2 && a->shape[d] == 1);
    }
    if (a->ndim >= 0 && !fits) {
        return asc_call_expect(call, input, "%s (1 or %lld, 1 or %lld, %lld, %lld)",
                               asc_dtype_name(call->in[0].dtype), (long long)J->B, (long long)J->H, (long long)J->N,
                               (long long)J->M);
    }
    return ASC_OK;
}

/* Whether the batch entries, and the heads, share it. */
static bool shared_by(const asc_array *a, int which)
{
    int at = which - (4 - a->ndim);
    return at < 0 || a->shape[at] == 1;
}

asc_given_bias asc_given_bias_of(const asc_call *call, int input, const asc_allowed *J)
{
    const asc_array *a = &call->in[input];
    asc_given_bias bias = {.dtype = a->dtype, .stride = {0, 0, J->M}};
    if (a->ndim >= 0) {
        int64_t heads = shared_by(a, 1) ? 1 : J->H;
        bias.data = a->data;
        bias.grad = call->grad_in[input].data;
        bias.stride[0] = shared_by(a, 0) ? 0 : heads * J->N * J->M;
        bias.stride[1] = heads == 1 ? 0 : J->N * J->M;
    }
    return bias;
}

void asc_given_bias_begin(asc_call *call, int input, asc_allowed *J)
{
    const asc_array *grad = &call->grad_in[input];
    if (!grad->data) {
        return;
    }
    J->joins_batch = shared_by(grad, 0);
    J->joins_heads = shared_by(grad, 1);
    if (call->fresh[input]) {
        asc_clear(call->ctx, grad->data, asc_array_bytes(grad));
    }
}

/* Where the row of a query begins. */
static int64_t row_of(const asc_panel *p, const asc_given_bias *bias, int64_t r)
{
    return p->b * bias->stride[0] + p->h * bias->stride[1] + (p->first + r) * bias->stride[2];
}

/* ---- float, and f64.awk makes the same for double ---- */

static void add_f32(const asc_panel *p, const asc_given_bias *bias, void *P)
{
    asc_panel_range part[ASC_MOST_RANGES];
    for (int64_t r = 0; r < p->rows; r++) {
        int parts = asc_panel_ranges(p, r, part);
        const float *row = (const float *)bias->data + row_of(p, bias, r);
        for (int i = 0; i < parts; i++) {
            asc_kernels_f32()->acc((float *)P + r * p->columns + part[i].column, row + part[i].key, part[i].n);
        }
    }
}

static void collect_f32(const asc_panel *p, const asc_given_bias *bias, const void *dP)
{
    asc_panel_range part[ASC_MOST_RANGES];
    for (int64_t r = 0; r < p->rows; r++) {
        int parts = asc_panel_ranges(p, r, part);
        float *row = (float *)bias->grad + row_of(p, bias, r);
        for (int i = 0; i < parts; i++) {
            asc_kernels_f32()->acc(row + part[i].key, (const float *)dP + r * p->columns + part[i].column, part[i].n);
        }
    }
}

/* ---- end of float ---- */
#include "ops/attention/given_bias.f64.h"

void asc_panel_add_given(const asc_panel *p, const asc_given_bias *bias, void *P)
{
    if (bias->data) {
        BY_DTYPE(bias->dtype, add)(p, bias, P);
    }
}

void asc_panel_collect_given(const asc_panel *p, const asc_given_bias *bias, const void *dP)
{
    if (bias->grad) {
        BY_DTYPE(bias->dtype, collect)(p, bias, dP);
    }
}
