/* ops/rows/losses.c: losses of pairs: y = s Σ f(x_i, t_i), s = 1/n, of n entries; for kl_div 1/B.
 *
 *   mse              f = (x - t)²                                    f_x = 2 (x - t) = -f_t
 *   smooth_l1        f = d²/2β or |d| - β/2, d = x - t               f_x = d/β or sign d = -f_t
 *   bce_with_logits  f = t log(1 + e^-x) + (1 - t) log(1 + e^x)      f_x = σ(x) - t, f_t = -x
 *                      = log(1 + e^-|x|) + |x| (1 - t where x > 0, else t)
 *   kl_div           f = t (log t - x), 0 where t = 0                f_x = -t, f_t = log t + 1 - x, 0 where t = 0
 *
 * dx = s f_x dy, dt = s f_t dy. */
#include "ops/shared/broadcast.h"

enum { X, T };
typedef enum part { VALUE, SLOPE_X, SLOPE_T } part;

typedef struct smooth_l1_attrs {
    double beta;
} smooth_l1_attrs;

/* f, f_x or f_t at (x, t): */

static double mse(part part, double x, double t, double beta)
{
    (void)beta;
    double d = x - t;
    return part == VALUE ? d * d : part == SLOPE_X ? 2 * d : -2 * d;
}

/* An op's data. Its kernels for each dtype: to = scale × f, or one of its slopes, of n pairs. */
typedef struct loss {
    void (*pairs_f32)(part part, float *to, const float *x, const float *t, int64_t n, double beta, double scale);
    void (*pairs_f64)(part part, double *to, const double *x, const double *t, int64_t n, double beta, double scale);
    bool by_rows; /* s is 1/B */
} loss;

/* to (+)= scale × f, or one of its slopes, of each pair. */
typedef struct job {
    const asc_call *call;
    const loss *f;
    part part;
    double beta, scale;
    void *to;
    bool fresh;
} job;

/* ---- float, and f64.awk makes the same for double ---- */

#define PAIR_BY_PAIR(NAME)                                                                                             \
    static void NAME##_f32(part part, float *to, const float *x, const float *t, int64_t n, double beta, double scale) \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            to[i] = (float)(scale * NAME(part, (double)x[i], (double)t[i], beta));                                     \
        }                                                                                                              \
    }
PAIR_BY_PAIR(mse)
#undef PAIR_BY_PAIR

static void smooth_l1_f32(part part, float *to, const float *x, const float *t, int64_t n, double beta, double scale)
{
    if (part == VALUE) {
        asc_kernels_f32()->smooth_l1(to, x, t, beta, scale, n);
    } else {
        asc_kernels_f32()->smooth_l1_slope(to, x, t, beta, part == SLOPE_X ? scale : -scale, n);
    }
}

static void kl_div_f32(part part, float *to, const float *x, const float *t, int64_t n, double beta, double scale)
{
    (void)beta;
    if (part == SLOPE_X) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = (float)(scale * -(double)t[i]);
        }
    } else if (part == VALUE) {
        asc_kernels_f32()->kl_div(to, x, t, scale, n);
    } else {
        asc_kernels_f32()->kl_div_slope(to, x, t, scale, n);
    }
}

/* Infinite logits of the right sign cost nothing. */
static void bce_with_logits_f32(part part, float *to, const float *x, const float *t, int64_t n, double beta,
                                double scale)
{
    (void)beta;
    const float s = (float)scale;
    if (part == SLOPE_T) {
        asc_kernels_f32()->scale(to, -s, x, n);
        return;
    }
    if (part == SLOPE_X) {
        asc_kernels_f32()->sigmoid(to, x, n);
        asc_kernels_f32()->axpy(to, -1, t, n);
    } else {
        asc_kernels_f32()->logit_loss(to, x, t, n);
    }
    asc_kernels_f32()->scale(to, s, to, n);
}

static void job_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t from = asc_piece_begin(piece), n = asc_piece_size(piece, j->call->in[X].numel);
    const float *x = (const float *)j->call->in[X].data + from, *t = (const float *)j->call->in[T].data + from;
    float *to = (float *)j->to + from;
    if (j->fresh) {
        j->f->pairs_f32(j->part, to, x, t, n, j->beta, j->scale);
        return;
    }
    float values[512];
    for (int64_t i = 0; i < n; i += ASC_COUNT(values)) {
        int64_t m = n - i < ASC_COUNT(values) ? n - i : ASC_COUNT(values);
        j->f->pairs_f32(j->part, values, x + i, t + i, m, j->beta, j->scale);
        asc_kernels_f32()->acc(to + i, values, m);
    }
}

/* ---- end of float ---- */
#include "ops/rows/losses.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    if (asc_expect_floating(call, X) || asc_expect_shape(call, T, x->dtype, x->ndim, x->shape, "as x")) {
        return ASC_ERR_ARG;
    }
    const smooth_l1_attrs *a = call->attrs;
    if (a && !(a->beta > 0)) {
        return asc_call_fail(call, "beta is %g, expected more than 0", a->beta);
    }
    return asc_call_output(call, 0, x->dtype, 0, NULL);
}

static double share_of(const asc_call *call)
{
    const asc_array *x = &call->in[X];
    const loss *f = call->op->data;
    return 1 / (double)(!f->by_rows ? x->numel : x->ndim > 0 ? x->shape[0] : 1);
}

static void run(const asc_call *call, job *j)
{
    j->call = call;
    j->f = call->op->data;
    j->beta = call->attrs ? ((const smooth_l1_attrs *)call->attrs)->beta : 0;
    asc_parallel(call->ctx, asc_pieces(call->in[X].numel), BY_DTYPE(call->in[X].dtype, job_piece), j);
}

static asc_status forward(asc_call *call)
{
    asc_array terms = call->in[X];
    terms.data = asc_call_scratch(call, asc_array_bytes(&terms));
    if (!terms.data) {
        return ASC_ERR_MEMORY;
    }
    run(call, &(job){.part = VALUE, .scale = 1, .to = terms.data, .fresh = true});
    return asc_sum_dims(call, &terms, (1u << terms.ndim) - 1, share_of(call), call->out[0].data, true);
}

static asc_status backward(asc_call *call)
{
    const asc_array *dy = &call->grad_out[0];
    double scale = share_of(call) * asc_element(dy->dtype, dy->data, 0);
    for (int i = X; i <= T; i++) {
        if (call->grad_in[i].data) {
            run(call, &(job){.part = i == X ? SLOPE_X : SLOPE_T, .scale = scale, .to = call->grad_in[i].data,
                             .fresh = call->fresh[i]});
        }
    }
    return ASC_OK;
}

/* ---- descriptors ---- */

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 5}}, {'u', 2, {3, 5}, .1, .9}}},
    {.in = {{'f', 0}, {'u', 0, {0}, .1, .9}}, .note = "a scalar"},
    {.in = {{'u', 1, {1}, .1, .9}, {'=', .lo = 0}}, .note = "the same tensor twice, length 1"},
};

static const asc_sample smooth_samples[] = {
    {.in = {{'u', 2, {3, 5}, -.2, .2}, {'u', 2, {3, 5}, -.2, .2}}, .attrs = &(const smooth_l1_attrs){.5},
     .note = "the near part"},
    {.in = {{'u', 2, {3, 5}, -3, 3, .away = 1.5}, {'u', 2, {3, 5}, -.9, .9}}, .attrs = &(const smooth_l1_attrs){.5},
     .note = "the far part"},
    {.in = {{'f', 0}, {'f', 0}}, .attrs = &(const smooth_l1_attrs){100}, .note = "a scalar"},
};

#define LARGE .in = {{'f', 3, {32, 128, 1024}}, {'u', 3, {32, 128, 1024}, .1, .9}}
static const asc_sample large = {LARGE}, smooth_large = {LARGE, .attrs = &(const smooth_l1_attrs){.5}};

#define LOSS(domain, call, ...)                                                                                        \
    .abi = ASC_OP_ABI, .inputs = "x target", .n_out = 1, .flags = ASC_OP_FRESH, .saves_in = 1u << X | 1u << T,         \
    .infer = infer, .forward = forward, .backward = backward, .samples = domain, .n_samples = ASC_COUNT(domain),       \
    .bench = &call, .data = &(const loss){__VA_ARGS__}

const asc_op asc_op_mse = {
    LOSS(samples, large, mse_f32, mse_f64, false),
    .name = "mse",
    .equation = "y = mean (x - t)²",
};
const asc_op asc_op_smooth_l1 = {
    LOSS(smooth_samples, smooth_large, smooth_l1_f32, smooth_l1_f64, false),
    .name = "smooth_l1",
    .equation = "y = mean of d²/2β where |d| < β, else |d| - β/2, d = x - t  (Huber 1964)",
    .attrs_size = sizeof(smooth_l1_attrs),
};
const asc_op asc_op_bce_with_logits = {
    LOSS(samples, large, bce_with_logits_f32, bce_with_logits_f64, false),
    .name = "bce_with_logits",
    .equation = "y = mean (-t log σ(x) - (1 - t) log(1 - σ(x)))",
};
const asc_op asc_op_kl_div = {
    LOSS(samples, large, kl_div_f32, kl_div_f64, true),
    .name = "kl_div",
    .equation = "y = Σ t (log t - x)/B, 0 where t = 0, B the size of dimension 0",
};

asc_tensor asc_mse(asc_ctx *ctx, asc_tensor x, asc_tensor target)
{
    return asc_apply1(ctx, &asc_op_mse, (asc_tensor[]){x, target}, 2, NULL);
}

asc_tensor asc_smooth_l1(asc_ctx *ctx, asc_tensor x, asc_tensor target, double beta)
{
    return asc_apply1(ctx, &asc_op_smooth_l1, (asc_tensor[]){x, target}, 2, &(smooth_l1_attrs){beta});
}

asc_tensor asc_bce_with_logits(asc_ctx *ctx, asc_tensor x, asc_tensor target)
{
    return asc_apply1(ctx, &asc_op_bce_with_logits, (asc_tensor[]){x, target}, 2, NULL);
}

asc_tensor asc_kl_div(asc_ctx *ctx, asc_tensor x, asc_tensor target)
{
    return asc_apply1(ctx, &asc_op_kl_div, (asc_tensor[]){x, target}, 2, NULL);
}

/* ---- label smoothing: (1 - s) of the cross-entropy, and s of the mean of -log p over all of V ---- */

/* A u8 tensor like targets, 1 where it is not `ignore`; *counted of them. */
static asc_tensor counted_targets(asc_ctx *ctx, asc_tensor targets, int64_t ignore, int64_t *counted)
{
    asc_tensor all = asc_contiguous(ctx, targets), mask = asc_zeros(ctx, ASC_U8, asc_ndim(all), asc_shape(all));
    const int64_t *y = asc_data(all);
    uint8_t *m = asc_data_mut(mask);
    *counted = 0;
    for (int64_t i = 0; y && m && i < asc_numel(all); i++) {
        m[i] = y[i] != ignore;
        *counted += m[i];
    }
    return asc_is_same(all, targets) ? mask : asc_after(all, mask);
}

asc_tensor asc_cross_entropy_smoothed(asc_ctx *ctx, asc_tensor logits, asc_tensor targets, int64_t ignore,
                                      double smoothing)
{
    if (!(smoothing >= 0 && smoothing <= 1)) {
        asc_fail(ctx, ASC_ERR_ARG, "cross_entropy_smoothed: smoothing is %g, expected 0 to 1", smoothing);
        return asc_null();
    }
    asc_tensor hard = asc_cross_entropy(ctx, logits, targets, ignore, NULL);
    if (asc_is_null(hard) || smoothing == 0) { /* which would make a NaN of a logit of -inf */
        return hard;
    }
    int64_t counted;
    asc_tensor mask = counted_targets(ctx, targets, ignore, &counted), none = asc_scalar(ctx, asc_dtype_of(logits), 0);
    asc_tensor p = asc_log_softmax(ctx, logits, asc_null());
    asc_tensor rows = asc_after(p, asc_mean(ctx, p, 1, (int[]){-1}, false));
    asc_tensor kept = asc_after(mask, asc_after(none, asc_after(rows, asc_where(ctx, mask, rows, none))));
    asc_tensor sum = asc_after(kept, asc_sum(ctx, kept, ASC_ALL_DIMS, false));
    asc_tensor soft = asc_after(sum, asc_scale(ctx, sum, -smoothing / (double)(counted > 0 ? counted : 1)));
    asc_tensor most = asc_after(hard, asc_scale(ctx, hard, 1 - smoothing));
    return asc_after(most, asc_after(soft, asc_add(ctx, most, soft)));
}
