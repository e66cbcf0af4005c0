/* ops/products/conv1d.c: convolution along a sequence: y_to = b_o + Σ_k Σ_c W_ock x_{t + k δ - P, c}, c over the
 * channels of o's group, δ the dilation, P the number of zeros before x: 0 (none), (K - 1) δ (causal), or half of that
 * (same).
 *
 *   dx_sc = Σ_k Σ_o W_ock dy_{s - k δ + P, o},  dW_ock = Σ_t dy_to x_{t + k δ - P, c},  db_o = Σ_t dy_to.
 *
 * One tap k is a product of rows of x with W_k, so a convolution is K products, shifted against each other. W is laid
 * out by taps first. With a channel a group (depthwise) a tap is an elementwise product instead. */
#include "ops/shared/op.h"

#include <string.h>

enum { X, W, B };
enum { ROWS = 256, TILE = 512 }; /* rows of a piece; channels at once */

typedef struct conv1d_attrs {
    asc_conv1d_options o;
} conv1d_attrs;

typedef struct conv {
    asc_call *call;
    asc_dtype dtype;
    int64_t size;                 /* of an element */
    int64_t batch, in, out;       /* sequences; rows of x and y in each */
    int64_t C, O, groups, c, o;   /* channels of x and y, in all and of a group */
    int64_t n_taps, dilation, before;
    bool depthwise;
    char *taps; /* W as [K, O, c] */
} conv;

/* to[b, t] += from[b, t + shift_k] op(W_k) for all taps k: forward, and backward to x. */
typedef struct shifted {
    const conv *v;
    char *to;
    const char *from;
    int64_t to_rows, from_rows, to_width, from_width; /* rows of a sequence, channels */
    bool transposed;                                  /* forward: W_k is [o, c], and is used as [c, o] */
    bool fresh;
} shifted;

static int64_t zeros_before(const asc_conv1d_options *o, int64_t K)
{
    int64_t reach = (K - 1) * o->dilation;
    return o->padding == ASC_PADDING_CAUSAL ? reach : o->padding == ASC_PADDING_SAME ? reach / 2 : 0;
}

static conv open_call(asc_call *call)
{
    const asc_conv1d_options *o = &((const conv1d_attrs *)call->attrs)->o;
    const asc_array *x = &call->in[X], *w = &call->in[W];
    conv v = {.call = call, .dtype = x->dtype, .size = (int64_t)asc_dtype_size(x->dtype), .batch = x->shape[0],
              .in = x->shape[1], .C = x->shape[2], .O = w->shape[0], .groups = o->groups, .c = w->shape[1],
              .o = w->shape[0] / o->groups, .n_taps = w->shape[2], .dilation = o->dilation};
    v.before = zeros_before(o, v.n_taps);
    v.out = o->padding == ASC_PADDING_NONE ? v.in - (v.n_taps - 1) * v.dilation : v.in;
    v.out = v.out < 0 ? 0 : v.out;
    v.depthwise = v.c == 1 && v.o == 1;
    return v;
}

static asc_status infer(asc_call *call)
{
    const asc_conv1d_options *o = &((const conv1d_attrs *)call->attrs)->o;
    const asc_array *x = &call->in[X], *w = &call->in[W];
    if (asc_expect_floating(call, X) || asc_expect_floating(call, W)) {
        return ASC_ERR_ARG;
    }
    if (o->groups < 1 || o->dilation < 1 || o->padding < ASC_PADDING_NONE || o->padding > ASC_PADDING_SAME) {
        return asc_call_fail(call, "groups is %lld, dilation is %lld, padding is %d: expected at least 1, at least 1, "
                             "0 to 2", (long long)o->groups, (long long)o->dilation, (int)o->padding);
    }
    if (x->ndim != 3 || x->shape[2] % o->groups) {
        return asc_call_expect(call, X, "(B, N, C), C a multiple of %lld groups", (long long)o->groups);
    }
    int64_t c = x->shape[2] / o->groups, reach;
    if (w->ndim != 3 || w->shape[0] % o->groups || w->shape[1] != c || w->shape[2] < 1) {
        return asc_call_expect(call, W, "(O, %lld, K), O a multiple of %lld groups, K at least 1", (long long)c,
                               (long long)o->groups);
    }
    if (__builtin_mul_overflow(w->shape[2] - 1, o->dilation, &reach) || reach > INT64_MAX / 4) {
        return asc_call_fail(call, "dilation is %lld, more than a sequence can have", (long long)o->dilation);
    }
    if (call->in[B].ndim >= 0 && asc_expect_shape(call, B, x->dtype, 1, w->shape, "(O)")) {
        return ASC_ERR_ARG;
    }
    conv v = open_call(call);
    return asc_call_output(call, 0, x->dtype, 3, (int64_t[]){v.batch, v.out, v.O});
}

/* ---- products ---- */

/* ---- float, and f64.awk makes the same for double ---- */

/* Rows of `to` are the bias, or 0. */
static void start_rows_f32(void *to, const void *bias, int64_t rows, int64_t width)
{
    float *y = to;
    for (int64_t r = 0; r < rows; r++, y += width) {
        if (bias) {
            memcpy(y, bias, (size_t)width * sizeof *y);
        } else {
            memset(y, 0, (size_t)width * sizeof *y);
        }
    }
}

/* to[r] += from[r]∘tap */
static void mul_rows_f32(void *to, const void *from, const void *tap, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        asc_kernels_f32()->mul_acc((float *)to + r * n, (const float *)from + r * n, tap, n);
    }
}

/* to += Σ_r dy[r]∘x[r], by sums of ROWS rows, so that rounding errors don't grow with the sequence. */
static void dot_rows_f32(void *to, const void *dy, const void *x, int64_t rows, int64_t n)
{
    float sum[TILE];
    for (int64_t column = 0; column < n; column += TILE) {
        int64_t width = n - column < TILE ? n - column : TILE;
        for (int64_t r = 0; r < rows;) {
            memset(sum, 0, sizeof sum);
            for (int64_t end = r + ROWS < rows ? r + ROWS : rows; r < end; r++) {
                int64_t at = r * n + column;
                asc_kernels_f32()->mul_acc(sum, (const float *)dy + at, (const float *)x + at, width);
            }
            asc_kernels_f32()->acc((float *)to + column, sum, width);
        }
    }
}

static void take_taps_f32(const conv *v, const void *weight)
{
    int64_t n = v->O * v->c;
    for (int64_t k = 0; k < v->n_taps; k++) {
        for (int64_t i = 0; i < n; i++) {
            ((float *)(void *)v->taps)[k * n + i] = ((const float *)weight)[i * v->n_taps + k];
        }
    }
}

static void give_taps_f32(const conv *v, void *weight, bool fresh)
{
    int64_t n = v->O * v->c;
    float *to = weight;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < v->n_taps; k++, to++) {
            float g = ((const float *)(const void *)v->taps)[k * n + i];
            *to = fresh ? g : *to + g;
        }
    }
}

/* ---- end of float ---- */
#include "ops/products/conv1d.f64.h"

/* The rows first … end-1 of `to` for which row + shift is a row of `from`. */
static void meet(int64_t shift, int64_t from_rows, int64_t *first, int64_t *end)
{
    *first = *first + shift < 0 ? -shift : *first;
    *end = *end + shift > from_rows ? from_rows - shift : *end;
}

static void add_tap(const shifted *s, int64_t k, char *to, const char *from, int64_t rows)
{
    const conv *v = s->v;
    const char *tap = v->taps + k * v->O * v->c * v->size;
    if (v->depthwise) {
        BY_DTYPE(v->dtype, mul_rows)(to, from, tap, rows, v->C);
        return;
    }
    int64_t n = s->transposed ? v->o : v->c, inner = s->transposed ? v->c : v->o;
    for (int64_t g = 0; g < v->groups; g++) {
        asc_gemm_run(&(asc_gemm){.dtype = v->dtype,
                                 .packs = asc_packs(v->call->ctx),
                                 .tb = s->transposed,
                                 .m = rows,
                                 .n = n,
                                 .k = inner,
                                 .alpha = 1,
                                 .a = from + g * inner * v->size,
                                 .lda = s->from_width,
                                 .b = tap + g * v->o * v->c * v->size,
                                 .ldb = v->c,
                                 .beta = 1,
                                 .c = to + g * n * v->size,
                                 .ldc = s->to_width});
    }
}

static int64_t pieces_of(int64_t rows)
{
    return (rows + ROWS - 1) / ROWS;
}

static void shifted_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const shifted *s = arg;
    const conv *v = s->v;
    int64_t pieces = pieces_of(s->to_rows), b = piece / pieces, begin = piece % pieces * ROWS;
    int64_t stop = begin + ROWS < s->to_rows ? begin + ROWS : s->to_rows;
    int64_t to_row = s->to_width * v->size, from_row = s->from_width * v->size;
    char *to = s->to + b * s->to_rows * to_row;
    const char *from = s->from + b * s->from_rows * from_row;
    if (s->fresh) {
        const void *bias = s->transposed ? v->call->in[B].data : NULL;
        BY_DTYPE(v->dtype, start_rows)(to + begin * to_row, bias, stop - begin, s->to_width);
    }
    for (int64_t k = 0; k < v->n_taps; k++) {
        int64_t shift = (k * v->dilation - v->before) * (s->transposed ? 1 : -1), first = begin, end = stop;
        meet(shift, s->from_rows, &first, &end);
        if (first < end) {
            add_tap(s, k, to + first * to_row, from + (first + shift) * from_row, end - first);
        }
    }
}

static void run_shifted(const shifted *s)
{
    asc_parallel(s->v->call->ctx, s->v->batch * pieces_of(s->to_rows), shifted_piece, (void *)(uintptr_t)s);
}

/* Lays W out as [K, O, c], in scratch; or gives the room for it. */
static asc_status lay_taps(conv *v, const void *weight)
{
    v->taps = asc_call_scratch(v->call, (size_t)(v->n_taps * v->O * v->c * v->size));
    if (!v->taps) {
        return ASC_ERR_MEMORY;
    }
    if (weight) {
        BY_DTYPE(v->dtype, take_taps)(v, weight);
    }
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    conv v = open_call(call);
    if (lay_taps(&v, call->in[W].data)) {
        return ASC_ERR_MEMORY;
    }
    run_shifted(&(shifted){.v = &v, .to = call->out[0].data, .from = call->in[X].data, .to_rows = v.out,
                           .from_rows = v.in, .to_width = v.O, .from_width = v.C, .transposed = true, .fresh = true});
    return ASC_OK;
}

/* ---- backward ---- */

/* Tap k of group g of dW: the sum over all sequences, in order. */
static void weight_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const conv *v = arg;
    int64_t groups = v->depthwise ? 1 : v->groups, k = piece / groups, g = piece % groups;
    int64_t shift = k * v->dilation - v->before, first = 0, end = v->out, tap = v->o * v->c * v->size;
    char *to = v->taps + (k * v->groups + g) * tap;
    memset(to, 0, (size_t)(v->depthwise ? v->C * v->size : tap));
    meet(shift, v->in, &first, &end);
    for (int64_t b = 0; b < v->batch && first < end; b++) {
        const char *dy = (const char *)v->call->grad_out[0].data + (b * v->out + first) * v->O * v->size;
        const char *x = (const char *)v->call->in[X].data + (b * v->in + first + shift) * v->C * v->size;
        if (v->depthwise) {
            BY_DTYPE(v->dtype, dot_rows)(to, dy, x, end - first, v->C);
            continue;
        }
        asc_gemm_run(&(asc_gemm){.dtype = v->dtype,
                                 .packs = asc_packs(v->call->ctx),
                                 .ta = true,
                                 .m = v->o,
                                 .n = v->c,
                                 .k = end - first,
                                 .alpha = 1,
                                 .a = dy + g * v->o * v->size,
                                 .lda = v->O,
                                 .b = x + g * v->c * v->size,
                                 .ldb = v->C,
                                 .beta = 1,
                                 .c = to,
                                 .ldc = v->c});
    }
}

static asc_status add_dw(asc_call *call, conv v)
{
    if (lay_taps(&v, NULL)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, v.n_taps * (v.depthwise ? 1 : v.groups), weight_piece, &v);
    BY_DTYPE(v.dtype, give_taps)(&v, call->grad_in[W].data, call->fresh[W]);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    conv v = open_call(call);
    const asc_array *dy = &call->grad_out[0];
    asc_status status = ASC_OK;
    if (call->grad_in[X].data && !(status = lay_taps(&v, call->in[W].data))) {
        run_shifted(&(shifted){.v = &v, .to = call->grad_in[X].data, .from = dy->data, .to_rows = v.in,
                               .from_rows = v.out, .to_width = v.C, .from_width = v.O, .fresh = call->fresh[X]});
    }
    if (call->grad_in[W].data && !status) {
        status = add_dw(call, v);
    }
    if (call->grad_in[B].data && !status) {
        status = asc_column_sums(call, dy, v.batch * v.out, v.O, call->grad_in[B].data, call->fresh[B]);
    }
    return status;
}

static double flops(const asc_call *call)
{
    return 2.0 * (double)call->out[0].numel * (double)call->in[W].shape[1] * (double)call->in[W].shape[2];
}

static uint32_t causal(const asc_call *call)
{
    return ((const conv1d_attrs *)call->attrs)->o.padding == ASC_PADDING_CAUSAL ? 1u << X : 0;
}

/* ---- descriptor ---- */

#define OPTIONS(...) &(const conv1d_attrs){{__VA_ARGS__}}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 3}}, {'f', 3, {4, 3, 2}}, {'f', 1, {4}}}, .attrs = OPTIONS(1, 1, ASC_PADDING_NONE)},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 3, {6, 2, 3}}, {'f', 1, {6}}}, .attrs = OPTIONS(2, 2, ASC_PADDING_CAUSAL),
     .note = "causal, two groups, dilated"},
    {.in = {{'f', 3, {2, 5, 3}}, {'f', 3, {3, 1, 4}}, {'f', 1, {3}}}, .attrs = OPTIONS(3, 1, ASC_PADDING_CAUSAL),
     .note = "causal, depthwise"},
    {.in = {{'f', 3, {1, 4, 2}}, {'f', 3, {3, 2, 4}}}, .attrs = OPTIONS(1, 1, ASC_PADDING_SAME),
     .note = "same, no bias"},
    {.in = {{'f', 3, {1, 2, 2}}, {'f', 3, {4, 1, 5}}}, .attrs = OPTIONS(2, 1, ASC_PADDING_SAME),
     .note = "taps longer than x"},
    {.in = {{'f', 3, {1, 1, 1}}, {'f', 3, {1, 1, 1}}, {'f', 1, {1}}}, .attrs = OPTIONS(1, 1, ASC_PADDING_NONE),
     .note = "length 1"},
    {.in = {{'f', 3, {2, 2, 2}}, {'f', 3, {2, 2, 3}}, {'f', 1, {2}}}, .attrs = OPTIONS(1, 1, ASC_PADDING_NONE),
     .note = "too short for an output"},
    {.in = {{'f', 3, {0, 3, 2}}, {'f', 3, {2, 2, 2}}, {'f', 1, {2}}}, .attrs = OPTIONS(1, 1, ASC_PADDING_SAME),
     .note = "no sequences"},
};

const asc_op asc_op_conv1d = {
    .abi = ASC_OP_ABI,
    .name = "conv1d",
    .equation = "y_to = b_o + Σ_k Σ_c W_ock x_{t+kδ-P,c};  x (B, N, C), W (O, C/groups, K), b (O), y (B, N', O)",
    .inputs = "x weight bias?",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(conv1d_attrs),
    .saves_in = 1u << X | 1u << W,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .causal = causal,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 3, {256, 1, 4}}, {'f', 1, {256}}},
                                 .attrs = OPTIONS(256, 1, ASC_PADDING_CAUSAL)},
};

asc_tensor asc_conv1d(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias, const asc_conv1d_options *options)
{
    conv1d_attrs a = {options ? *options : (asc_conv1d_options){1, 1, ASC_PADDING_NONE}};
    return asc_apply1(ctx, &asc_op_conv1d, (asc_tensor[]){x, weight, bias}, 3, &a);
}
