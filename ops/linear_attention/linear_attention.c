/* ops/linear_attention/linear_attention.c: attention whose softmax is a product of feature maps (Katharopoulos et al.,
 * "Transformers are RNNs", arXiv 2006.16236), so that a state takes the place of all keys before a token; with decays
 * (RetNet, arXiv 2307.08621; gated linear attention, arXiv 2312.06635). Per head:
 *
 *   S_i = f_i S_{i-1} + φ(k_i) v_iᵀ,  n_i = f_i n_{i-1} + φ(k_i),  y_i = φ(q_i)ᵀS_i/(φ(q_i)ᵀn_i + ε)
 *   full: S and n of all keys within the length, f = 1
 *
 * Chunks of 64 tokens turn it into products. With G_i = Σ log f from the chunk's first token to i and S the state
 * before the chunk,
 *
 *   y_i ∝ e^{G_i} φ(q_i)ᵀS + Σ_{j<=i} e^{G_i-G_j} (φ(q_i)·φ(k_j)) v_j,  S' = e^{G_C} S + Σ_j e^{G_C-G_j} φ(k_j) v_jᵀ
 *
 * and the same with 1 for v in the divisor. Every chunk makes the state of its own keys; these are joined in order, a
 * head's one after the other; then every chunk gives its outputs. Chunks and heads are pieces: one long sequence keeps
 * many threads busy. Backward the same: cotangents of states from the queries, joined from the last to the first.
 *
 * The features of `favor` overflow in float. φ(q_i) = e^{α_i} φ̃(q_i), φ(k_j) = e^{β_j} φ̃(k_j) with entries of at most
 * 1, and a query's sums are kept at the level M_i = max_{j<=i}(β_j + G_i - G_j), which depends on no later key:
 * e^{α_i+M_i} cancels from the quotient but for ε, which becomes ε e^{-α_i-M_i}. No gradient goes through α, β and M: y
 * does not depend on them. */
#include "ops/linear_attention/linear_attention.h"

#include <math.h>
#include <string.h>

#include "ops/shared/tokens.h"

typedef struct attrs {
    asc_linear_attention_options o;
    bool wants_last; /* else `last` has no positions */
} attrs;

static int64_t states_of(const asc_linear_job *j)
{
    return j->B * j->H * (j->chunks + 1) * j->state;
}

static asc_linear_job job_of(asc_call *call)
{
    const asc_array *q = &call->in[ASC_LINEAR_Q], *features = &call->in[ASC_LINEAR_FEATURES];
    const asc_linear_attention_options *o = &((const attrs *)call->attrs)->o;
    asc_linear_job j = {.call = call,
                        .o = o,
                        .wants_last = ((const attrs *)call->attrs)->wants_last,
                        .B = q->shape[0],
                        .N = q->shape[1],
                        .H = o->heads,
                        .d = q->shape[2] / o->heads,
                        .dv = call->in[ASC_LINEAR_V].shape[2] / o->heads};
    j.m = features->ndim >= 0 ? features->shape[0] : j.d;
    j.chunks = (j.N + ASC_LINEAR_CHUNK - 1) / ASC_LINEAR_CHUNK;
    j.state = j.m * j.dv + j.m + 1;
    return j;
}

/* ---- states, joined ---- */

/* ---- float, and f64.awk makes the same for double ---- */

/* y = a x + b y */
static void blend_f32(float *y, double a, const float *x, double b, int64_t n)
{
    asc_kernels_f32()->scale(y, (float)b, y, n);
    asc_kernels_f32()->axpy(y, (float)a, x, n);
}

/* A head's states, from what each chunk's keys make to the sum of all before. */
static void join_states_f32(void *arg, int64_t head, int worker)
{
    (void)worker;
    const asc_linear_job *j = arg;
    const asc_array *initial = &j->call->in[ASC_LINEAR_INITIAL];
    bool by_level = j->o->feature == ASC_FEATURE_FAVOR;
    int64_t sums = j->state - 1;
    float *s = (float *)j->states + head * (j->chunks + 1) * j->state;
    if (initial->data) {
        memcpy(s, (const float *)initial->data + head * j->state, (size_t)j->state * sizeof *s);
    } else {
        memset(s, 0, (size_t)sums * sizeof *s);
        s[sums] = by_level ? (float)-INFINITY : 0;
    }
    int64_t joined = j->o->full || j->wants_last ? j->chunks : j->chunks - 1;
    for (int64_t c = 0; c < joined; c++, s += j->state) {
        float *own = s + j->state;
        double left = (double)s[sums] + j->passed[head * j->chunks + c], level = (double)own[sums];
        float to = by_level ? asc_linear_level_f32(fmax(left, level)) : 0;
        blend_f32(own, asc_linear_factor(left - (double)to), s, asc_linear_factor(level - (double)to), sums);
        own[sums] = to;
    }
    if (j->wants_last) {
        memcpy((float *)j->call->out[ASC_LINEAR_LAST].data + head * j->state, s, (size_t)j->state * sizeof *s);
    }
}

/* A head's cotangents, from what each chunk's queries say of the state before them to all that depends on it. Without
 * an initial state nobody asks for the first. */
static void join_cotangents_f32(void *arg, int64_t head, int worker)
{
    (void)worker;
    const asc_linear_job *j = arg;
    int64_t sums = j->state - 1, first = head * (j->chunks + 1), begin = j->call->in[ASC_LINEAR_INITIAL].ndim < 0;
    float *ds = (float *)j->cotangents + first * j->state;
    const float *level = (const float *)j->states + first * j->state + sums;
    for (int64_t c = j->chunks - 2; c >= begin; c--) {
        double left = (double)level[c * j->state] + j->passed[head * j->chunks + c] -
                      (double)level[(c + 1) * j->state];
        asc_kernels_f32()->axpy(ds + c * j->state, (float)asc_linear_factor(left), ds + (c + 1) * j->state, sums);
    }
}

/* The same with full attention, where all chunks read one state. */
static void sum_cotangents_f32(void *arg, int64_t head, int worker)
{
    (void)worker;
    const asc_linear_job *j = arg;
    float *ds = (float *)j->cotangents + head * (j->chunks + 1) * j->state, *end = ds + j->chunks * j->state;
    memset(end, 0, (size_t)j->state * sizeof *end);
    for (int64_t c = j->chunks - 1; c >= 0; c--) {
        asc_kernels_f32()->acc(end, ds + c * j->state, j->state - 1);
    }
}

/* The gradient of the initial state, whose level is that of all of its sums. */
static void give_initial_f32(const asc_linear_job *j)
{
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    int64_t sums = j->state - 1, step = (j->chunks + 1) * j->state;
    float *to = j->call->grad_in[ASC_LINEAR_INITIAL].data;
    for (int64_t head = 0; head < j->B * j->H; head++, to += j->state) {
        float *ds = (float *)j->cotangents + head * step;
        if (j->chunks == 0) {
            memset(ds, 0, (size_t)sums * sizeof *ds);
        }
        ds[sums] = k->dot(ds, (const float *)j->states + head * step, sums);
        if (j->call->fresh[ASC_LINEAR_INITIAL]) {
            memcpy(to, ds, (size_t)j->state * sizeof *to);
        } else {
            k->acc(to, ds, j->state);
        }
    }
}

/* ---- end of float ---- */
#include "ops/linear_attention/linear_attention.f64.h"

/* ---- the op ---- */

static asc_status check_optional(asc_call *call, const asc_linear_job *j)
{
    const asc_array *q = &call->in[ASC_LINEAR_Q], *features = &call->in[ASC_LINEAR_FEATURES];
    const asc_array *forget = &call->in[ASC_LINEAR_FORGET], *lengths = &call->in[ASC_LINEAR_LENGTHS];
    bool favor = j->o->feature == ASC_FEATURE_FAVOR, decays = j->o->fixed_decay || forget->ndim >= 0;
    if (favor != (features->ndim >= 0)) {
        return asc_call_fail(call, "features are %s, expected %s", favor ? "absent" : "given",
                             favor ? "(m, d) for favor" : "none for elu");
    }
    if (favor &&
        (features->ndim != 2 || features->dtype != q->dtype || features->shape[1] != j->d || features->shape[0] < 1)) {
        return asc_call_expect(call, ASC_LINEAR_FEATURES, "%s (m, %lld)", asc_dtype_name(q->dtype), (long long)j->d);
    }
    if (j->o->fixed_decay && forget->ndim >= 0) {
        return asc_call_fail(call, "decays are fixed and given, expected one of them");
    }
    if (j->o->full && (decays || call->in[ASC_LINEAR_INITIAL].ndim >= 0)) {
        return asc_call_fail(call, "full attention has no decay and no initial state");
    }
    if (!j->o->full && lengths->ndim >= 0) {
        return asc_call_fail(call, "lengths are for full attention");
    }
    if (forget->ndim >= 0 &&
        asc_expect_shape(call, ASC_LINEAR_FORGET, q->dtype, 3, (int64_t[]){j->B, j->N, j->H}, "(B, N, H)")) {
        return ASC_ERR_ARG;
    }
    if (lengths->ndim >= 0 && asc_expect_shape(call, ASC_LINEAR_LENGTHS, ASC_I64, 1, &j->B, "(B)")) {
        return ASC_ERR_ARG;
    }
    return call->in[ASC_LINEAR_INITIAL].ndim >= 0
               ? asc_expect_shape(call, ASC_LINEAR_INITIAL, q->dtype, 3, (int64_t[]){j->B, 1, j->H * j->state},
                                  "(B, 1, H (m dv + m + 1))")
               : ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_linear_attention_options *o = &((const attrs *)call->attrs)->o;
    const asc_array *q = &call->in[ASC_LINEAR_Q], *v = &call->in[ASC_LINEAR_V];
    if (asc_expect_floating(call, ASC_LINEAR_Q) || asc_expect_floating(call, ASC_LINEAR_V)) {
        return ASC_ERR_ARG;
    }
    if (o->heads < 1 || !(o->eps > 0) || o->feature < ASC_FEATURE_ELU || o->feature > ASC_FEATURE_FAVOR) {
        return asc_call_fail(call, "heads is %lld, eps %g, feature %d: expected at least 1, above 0, elu or favor",
                             (long long)o->heads, o->eps, (int)o->feature);
    }
    if (q->ndim != 3 || q->shape[2] % o->heads || q->shape[2] == 0 || q->shape[2] > INT32_MAX) {
        return asc_call_expect(call, ASC_LINEAR_Q, "(B, N, H d) with H = %lld", (long long)o->heads);
    }
    if (asc_expect_shape(call, ASC_LINEAR_K, q->dtype, 3, q->shape, "the shape of q")) {
        return ASC_ERR_ARG;
    }
    if (v->ndim != 3 || v->shape[0] != q->shape[0] || v->shape[1] != q->shape[1] || v->shape[2] % o->heads ||
        v->shape[2] > INT32_MAX) {
        return asc_call_expect(call, ASC_LINEAR_V, "(%lld, %lld, H dv) with H = %lld", (long long)q->shape[0],
                               (long long)q->shape[1], (long long)o->heads);
    }
    asc_linear_job j = job_of(call);
    bool favor = o->feature == ASC_FEATURE_FAVOR;
    if (check_optional(call, &j)) {
        return ASC_ERR_ARG;
    }
    asc_call_output(call, ASC_LINEAR_Y, q->dtype, 3, (int64_t[]){j.B, j.N, j.H * j.dv});
    asc_call_output(call, ASC_LINEAR_LAST, q->dtype, 3, (int64_t[]){j.B, j.wants_last ? 1 : 0, j.H * j.state});
    asc_call_save(call, ASC_LINEAR_STATES, q->dtype, 4, (int64_t[]){j.B, j.H, j.chunks + 1, j.state});
    asc_call_save(call, ASC_LINEAR_SCALE, q->dtype, 3, (int64_t[]){j.B, j.H, j.N});
    return asc_call_save(call, ASC_LINEAR_LEVEL, q->dtype, 3, (int64_t[]){j.B, j.H, favor ? j.N : 0});
}

static asc_status begin(asc_call *call, asc_linear_job *j)
{
    *j = job_of(call);
    j->states = call->saved[ASC_LINEAR_STATES].data;
    j->worker = asc_linear_worker_bytes(j);
    j->spare = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * j->worker);
    j->passed = asc_call_scratch(call, (size_t)(j->B * j->H * j->chunks) * sizeof *j->passed);
    return j->spare && j->passed ? ASC_OK : ASC_ERR_MEMORY;
}

static asc_status forward(asc_call *call)
{
    asc_dtype dtype = call->in[ASC_LINEAR_Q].dtype;
    asc_linear_job j;
    if (begin(call, &j)) {
        return ASC_ERR_MEMORY;
    }
    int64_t heads = j.B * j.H, pieces = heads * j.chunks;
    asc_parallel(call->ctx, pieces, BY_DTYPE(dtype, asc_linear_gather), &j);
    asc_parallel(call->ctx, heads, BY_DTYPE(dtype, join_states), &j);
    asc_parallel(call->ctx, pieces, BY_DTYPE(dtype, asc_linear_attend), &j);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    asc_dtype dtype = call->in[ASC_LINEAR_Q].dtype;
    asc_linear_job j;
    if (!call->grad_out[ASC_LINEAR_Y].data) {
        return ASC_OK;
    }
    if (begin(call, &j)) {
        return ASC_ERR_MEMORY;
    }
    j.cotangents = asc_call_scratch(call, (size_t)states_of(&j) * asc_dtype_size(dtype));
    bool wants_features = call->grad_in[ASC_LINEAR_FEATURES].data;
    if (wants_features) { /* which a layer does not train */
        j.features = asc_call_scratch(call, (size_t)(ASC_LINEAR_GROUPS * j.m * j.d) * asc_dtype_size(dtype));
    }
    if (!j.cotangents || (wants_features && !j.features)) {
        return ASC_ERR_MEMORY;
    }
    int64_t heads = j.B * j.H, pieces = heads * j.chunks;
    asc_parallel(call->ctx, pieces, BY_DTYPE(dtype, asc_linear_gather_grad), &j);
    asc_parallel(call->ctx, heads, j.o->full ? BY_DTYPE(dtype, sum_cotangents) : BY_DTYPE(dtype, join_cotangents), &j);
    if (j.features) {
        int64_t size = j.m * j.d;
        asc_parallel(call->ctx, ASC_LINEAR_GROUPS, BY_DTYPE(dtype, asc_linear_attend_grad_group), &j);
        asc_join_chunks(call->ctx, dtype, j.features, ASC_LINEAR_GROUPS, size, call->grad_in[ASC_LINEAR_FEATURES].data,
                        call->fresh[ASC_LINEAR_FEATURES]);
    } else {
        asc_parallel(call->ctx, pieces, BY_DTYPE(dtype, asc_linear_attend_grad), &j);
    }
    if (call->grad_in[ASC_LINEAR_INITIAL].data) {
        BY_DTYPE(dtype, give_initial)(&j);
    }
    return ASC_OK;
}

/* Of the recurrence: a token's part of the state, and what it reads of it; and of favor's features. */
static double flops(const asc_call *call)
{
    asc_linear_job j = job_of((asc_call *)call);
    double map = j.o->feature == ASC_FEATURE_FAVOR ? 4 * (double)j.d : 0;
    return (double)(j.B * j.N * j.H * j.m) * (4 * (double)j.dv + map);
}

static uint32_t causal(const asc_call *call)
{
    bool full = ((const attrs *)call->attrs)->o.full;
    return full ? 0 : 1u << ASC_LINEAR_Q | 1u << ASC_LINEAR_K | 1u << ASC_LINEAR_V | 1u << ASC_LINEAR_FORGET;
}

#define OPTIONS(...) .attrs = &(const attrs){{.eps = 1e-6, __VA_ARGS__}, false}
#define STREAM(...)  .attrs = &(const attrs){{.eps = 1e-6, __VA_ARGS__}, true}
#define REALS(...)   {'f', 3, {__VA_ARGS__}, .kink = 0, .away = .05} /* elu bends at 0 */
#define SAME(...)    REALS(__VA_ARGS__), REALS(__VA_ARGS__)
static const asc_sample samples[] = {
    {.in = {SAME(2, 5, 6), {'f', 3, {2, 5, 4}}}, OPTIONS(.heads = 2)},
    {.in = {SAME(1, 70, 4), {'f', 3, {1, 70, 2}}, {'f', 3, {1, 70, 2}}, {0}, {0}, {'u', 3, {1, 1, 10}, .5, 1.5}},
     STREAM(.heads = 2),
     .note = "gated, two chunks, an initial state"},
    {.in = {SAME(1, 70, 4), {'f', 3, {1, 70, 2}}, {0}, {0}, {0}, {'u', 3, {1, 1, 10}, .5, 1.5}},
     STREAM(.heads = 2),
     .note = "two chunks, an initial state"},
    {.in = {SAME(1, 66, 2), {'f', 3, {1, 66, 2}}, {0}, {0}, {0}, {'u', 3, {1, 1, 7}, .5, 1.5}},
     STREAM(.heads = 1, .fixed_decay = true),
     .note = "fixed decays, an initial state"},
    {.in = {SAME(2, 66, 4), {'f', 3, {2, 66, 4}}}, OPTIONS(.heads = 2, .fixed_decay = true), .note = "fixed decays"},
    {.in = {SAME(2, 7, 3), {'f', 3, {2, 7, 2}}, {'f', 3, {2, 7, 1}}, {'f', 2, {5, 3}}},
     OPTIONS(.heads = 1, .feature = ASC_FEATURE_FAVOR),
     .note = "favor, gated"},
    {.in = {SAME(1, 67, 2), {'f', 3, {1, 67, 2}}, {0}, {'f', 2, {3, 2}}, {0}, {'u', 3, {1, 1, 10}, .5, 1.5}},
     STREAM(.heads = 1, .feature = ASC_FEATURE_FAVOR),
     .note = "favor, an initial state"},
    {.in = {SAME(1, 66, 4), {'f', 3, {1, 66, 2}}, {0}, {'f', 2, {3, 2}}},
     OPTIONS(.heads = 2, .feature = ASC_FEATURE_FAVOR, .fixed_decay = true),
     .note = "favor, fixed decays"},
    {.in = {SAME(3, 6, 4), {'f', 3, {3, 6, 4}}, {0}, {0}, {'i', 1, {3}, 0, 7}},
     OPTIONS(.heads = 2, .full = true),
     .note = "full, lengths"},
    {.in = {SAME(2, 66, 2), {'f', 3, {2, 66, 2}}, {0}, {'f', 2, {3, 2}}, {'i', 1, {2}, 1, 67}},
     OPTIONS(.heads = 1, .feature = ASC_FEATURE_FAVOR, .full = true),
     .note = "favor, full, two chunks"},
    {.in = {SAME(2, 0, 4), {'f', 3, {2, 0, 4}}}, OPTIONS(.heads = 2), .note = "length 0"},
};

const asc_op asc_op_linear_attention = {
    .abi = ASC_OP_ABI,
    .name = "linear_attention",
    .equation =
        "y_i = φ(q_i)ᵀS_i/(φ(q_i)ᵀn_i + ε), S_i = f_i S_{i-1} + φ(k_i) v_iᵀ, n_i = f_i n_{i-1} + φ(k_i) per head;  "
        "q, k (B, N, H d), v (B, N, H d_v)  (arXiv 2006.16236)",
    .inputs = "q k v forget? features? lengths? initial?",
    .n_out = 2,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(attrs),
    .saves_in = 1u << ASC_LINEAR_Q | 1u << ASC_LINEAR_K | 1u << ASC_LINEAR_V | 1u << ASC_LINEAR_FORGET |
                1u << ASC_LINEAR_FEATURES | 1u << ASC_LINEAR_LENGTHS,
    .saves_out = 1u << ASC_LINEAR_Y,
    .no_grad_out = 1u << ASC_LINEAR_LAST,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {SAME(32, 128, 256), {'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 4}}},
                                 OPTIONS(.heads = 4)},
    .causal = causal,
};

asc_tensor asc_linear_attention(asc_ctx *ctx, const asc_linear_attention_inputs *in,
                                const asc_linear_attention_options *options, asc_tensor *last)
{
    if (last) {
        *last = asc_null();
    }
    if (ASC_NEED(ctx, "linear_attention: inputs options", in, options)) {
        return asc_null();
    }
    const asc_tensor inputs[] = {in->q, in->k, in->v, in->forget, in->features, in->lengths, in->initial};
    asc_tensor out[2];
    asc_apply(ctx, &asc_op_linear_attention, inputs, ASC_COUNT(inputs), &(attrs){*options, last != NULL}, out);
    asc_give(last, out[ASC_LINEAR_LAST]);
    return out[ASC_LINEAR_Y];
}
