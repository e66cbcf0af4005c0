/* ops/attention/relative_bias.c: a learned bias by distance: y_hij = table_hc, c = clamp(j - p_i, -R, R) + R, query i
 * standing at position p_i = i + M - N. Shaw, Uszkoreit and Vaswani, arXiv 1803.02155; Raffel et al., arXiv 1910.10683.
 *
 *   dtable_hc = Σ dy_hij over the pairs (i, j) that have c. */
#include "ops/shared/op.h"

typedef struct relative_bias_attrs {
    int64_t N, M;
} relative_bias_attrs;

typedef struct sizes {
    asc_call *call;
    int64_t N, M, R;
    double *sums; /* backward: [H, 2R + 1] */
} sizes;

static sizes sizes_of(asc_call *call)
{
    const relative_bias_attrs *a = call->attrs;
    return (sizes){.call = call, .N = a->N, .M = a->M, .R = call->in[0].shape[1] / 2};
}

static inline int64_t column_of(const sizes *s, int64_t i, int64_t j)
{
    int64_t off = j - (i + s->M - s->N);
    return (off < -s->R ? -s->R : off > s->R ? s->R : off) + s->R;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void forward_head_f32(void *arg, int64_t h, int worker)
{
    (void)worker;
    const sizes *s = arg;
    const float *table = (const float *)s->call->in[0].data + h * (2 * s->R + 1);
    float *y = (float *)s->call->out[0].data + h * s->N * s->M;
    for (int64_t i = 0; i < s->N; i++) {
        for (int64_t j = 0; j < s->M; j++) {
            y[i * s->M + j] = table[column_of(s, i, j)];
        }
    }
}

static void backward_head_f32(void *arg, int64_t h, int worker)
{
    (void)worker;
    const sizes *s = arg;
    int64_t columns = 2 * s->R + 1;
    double *sums = s->sums + h * columns;
    const float *dy = (const float *)s->call->grad_out[0].data + h * s->N * s->M;
    float *dtable = (float *)s->call->grad_in[0].data + h * columns;
    for (int64_t c = 0; c < columns; c++) {
        sums[c] = s->call->fresh[0] ? 0 : (double)dtable[c];
    }
    for (int64_t i = 0; i < s->N; i++) {
        for (int64_t j = 0; j < s->M; j++) {
            sums[column_of(s, i, j)] += (double)dy[i * s->M + j];
        }
    }
    for (int64_t c = 0; c < columns; c++) {
        dtable[c] = (float)sums[c];
    }
}

/* ---- end of float ---- */
#include "ops/attention/relative_bias.f64.h"

static asc_status infer(asc_call *call)
{
    const relative_bias_attrs *a = call->attrs;
    const asc_array *table = &call->in[0];
    if (asc_expect_floating(call, 0)) {
        return ASC_ERR_ARG;
    }
    if (table->ndim != 2 || table->shape[1] % 2 == 0) {
        return asc_call_expect(call, 0, "(H, 2R + 1)");
    }
    if (a->N < 0 || a->M < a->N) {
        return asc_call_fail(call, "N is %lld, M is %lld, expected 0 <= N <= M", (long long)a->N, (long long)a->M);
    }
    return asc_call_output(call, 0, table->dtype, 3, (int64_t[]){table->shape[0], a->N, a->M});
}

static asc_status forward(asc_call *call)
{
    sizes s = sizes_of(call);
    const asc_array *table = &call->in[0];
    asc_parallel(call->ctx, table->shape[0], BY_DTYPE(table->dtype, forward_head), &s);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    sizes s = sizes_of(call);
    const asc_array *table = &call->grad_in[0];
    s.sums = asc_call_scratch(call, (size_t)table->numel * sizeof *s.sums);
    if (!s.sums) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, table->shape[0], BY_DTYPE(table->dtype, backward_head), &s);
    return ASC_OK;
}

static const asc_sample samples[] = {
    {.in = {{'f', 2, {2, 5}}}, .attrs = &(const relative_bias_attrs){4, 6}},
    {.in = {{'f', 2, {3, 7}}}, .attrs = &(const relative_bias_attrs){2, 2}, .note = "a table with distances to spare"},
    {.in = {{'f', 2, {1, 1}}}, .attrs = &(const relative_bias_attrs){1, 3}, .note = "length 1"},
    {.in = {{'f', 2, {2, 3}}}, .attrs = &(const relative_bias_attrs){0, 4}, .note = "no queries"},
    {.in = {{'f', 2, {0, 3}}}, .attrs = &(const relative_bias_attrs){2, 2}, .note = "no heads"},
};

const asc_op asc_op_relative_bias = {
    .abi = ASC_OP_ABI,
    .name = "relative_bias",
    .equation = "y_hij = table_hc, c = clamp(j - i - M + N, -R, R) + R;  table (H, 2R + 1), y (H, N, M)"
                "  (arXiv 1803.02155)",
    .inputs = "table",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(relative_bias_attrs),
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 2, {4, 255}}}, .attrs = &(const relative_bias_attrs){1024, 1024}},
};

asc_tensor asc_relative_bias(asc_ctx *ctx, asc_tensor table, int64_t N, int64_t M)
{
    return asc_apply1(ctx, &asc_op_relative_bias, &table, 1, &(relative_bias_attrs){N, M});
}
