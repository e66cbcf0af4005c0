/* ops/attention.c: multi-head scaled dot-product attention (Vaswani et al. 2017), without N×N memory.
 *
 *   S_ij = q_i·k_j/√d + β_ij,  A_i = softmax of S_i over the allowed set J_i,  y_i = Σ_j A_ij v_j       (per head)
 *   dA_ij = dy_i·v_j,  dS_ij = A_ij (dA_ij - Σ_l A_il dA_il),  dv_j = Σ_i A_ij dy_i,
 *   dq_i = Σ_j dS_ij k_j/√d,  dk_j = Σ_i dS_ij q_i/√d,  dβ_ij = dS_ij
 *
 * β is ALiBi's -2^(-8(h+1)/H)·|i-j| (Press et al. 2022) and a learned table's entry clamp(j-i, -R, R) + R. J_i is
 * causal or full, cut by a window with global tokens and by the sequences' lengths; a row with nothing allowed gives 0.
 *
 * Work goes by panels of PANEL queries against their allowed columns: scores, softmax and product while the panel is
 * in cache. The backward pass computes each panel again from the row's log-sum-exp, the only thing that is kept. */
#ifndef ASC_REAL
#include "ops/op.h"

#include <math.h>
#include <string.h>

enum { Q, K_, V, REL_BIAS, LENGTHS };
enum { SAVED_LSE };
enum { PANEL = 64 };

typedef struct attrs {
    asc_attention_options o;
} attrs;

/* The columns that a row may look at: [0, globals) and [from, to), globals <= from. */
typedef struct allowed {
    int64_t globals, from, to;
} allowed;

typedef struct sizes {
    const asc_attention_options *o;
    int64_t B, H, N, M;     /* batch, heads, queries, keys; query i stands at position i + M - N */
    int64_t d, dv;          /* widths of a head */
    int64_t R;              /* the table of relative biases is [H, 2R + 1] */
    double scale;           /* 1/√d */
    const int64_t *lengths; /* or NULL */
} sizes;

static sizes sizes_of(const asc_call *call)
{
    const asc_attention_options *o = &((const attrs *)call->attrs)->o;
    const asc_array *q = &call->in[Q], *v = &call->in[V];
    sizes s = {.o = o, .B = q->shape[0], .H = o->heads, .N = q->shape[1], .M = v->shape[1]};
    s.d = q->shape[2] / s.H;
    s.dv = v->shape[2] / s.H;
    s.R = call->in[REL_BIAS].ndim == 2 ? call->in[REL_BIAS].shape[1] / 2 : 0;
    s.scale = 1 / sqrt((double)s.d);
    s.lengths = call->in[LENGTHS].ndim >= 0 ? call->in[LENGTHS].data : NULL;
    return s;
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of the query at position i of sequence b. */
static allowed allowed_of(const sizes *s, int64_t b, int64_t i)
{
    const asc_attention_options *o = s->o;
    int64_t end = s->lengths ? least(s->M, most(0, s->lengths[b])) : s->M;
    if (o->causal) {
        end = least(end, i + 1);
    }
    allowed a = {0, 0, end};
    if (o->window > 0 && i >= o->globals) {
        int64_t window = least(o->window, s->M); /* a wider one changes nothing, and may overflow */
        a.from = least(most(0, i - window + 1), end);
        a.to = least(end, i + window);
        a.globals = least(least(o->globals, a.from), end);
    }
    return a;
}

/* A head of a batch entry, or a panel of one: where its rows stand. */
typedef struct head {
    int64_t b, h;
} head;

#define ASC_SELF "ops/attention.c"
#include "ops/both.h"

static asc_status check_options(asc_call *call, const asc_attention_options *o)
{
    if (o->heads < 1) {
        return asc_call_fail(call, "heads is %lld, expected at least 1", (long long)o->heads);
    }
    if (o->window < 0 || o->globals < 0 || (o->globals > 0 && o->window == 0)) {
        return asc_call_fail(call, "window is %lld, globals is %lld: expected none below 0, and globals with a window "
                             "only", (long long)o->window, (long long)o->globals);
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_attention_options *o = &((const attrs *)call->attrs)->o;
    const asc_array *q = &call->in[Q], *k = &call->in[K_], *v = &call->in[V];
    if (check_options(call, o) || asc_expect_floating(call, Q) || asc_expect_floating(call, K_) ||
        asc_expect_floating(call, V)) {
        return ASC_ERR_ARG;
    }
    int64_t H = o->heads;
    if (q->ndim != 3 || q->shape[2] % H || q->shape[2] == 0) {
        return asc_call_expect(call, Q, "(B, N, H d) with H = %lld", (long long)H);
    }
    if (k->ndim != 3 || k->shape[0] != q->shape[0] || k->shape[2] != q->shape[2] || k->shape[1] < q->shape[1]) {
        return asc_call_expect(call, K_, "(%lld, M, %lld) with M >= %lld", (long long)q->shape[0],
                               (long long)q->shape[2], (long long)q->shape[1]);
    }
    if (v->ndim != 3 || v->shape[0] != k->shape[0] || v->shape[1] != k->shape[1] || v->shape[2] % H) {
        return asc_call_expect(call, V, "(%lld, %lld, H d) with H = %lld", (long long)k->shape[0],
                               (long long)k->shape[1], (long long)H);
    }
    if (most(most(q->shape[2], v->shape[2]), k->shape[1]) > INT32_MAX) {
        return asc_call_fail(call, "%lld keys, heads of %lld and %lld elements together: expected at most %d",
                             (long long)k->shape[1], (long long)q->shape[2], (long long)v->shape[2], INT32_MAX);
    }
    const asc_array *rel = &call->in[REL_BIAS];
    if (rel->ndim >= 0 && (rel->dtype != q->dtype || rel->ndim != 2 || rel->shape[0] != H || rel->shape[1] % 2 == 0)) {
        return asc_call_expect(call, REL_BIAS, "%s (%lld, 2R + 1)", asc_dtype_name(q->dtype), (long long)H);
    }
    if (call->in[LENGTHS].ndim >= 0 && asc_expect_shape(call, LENGTHS, ASC_I64, 1, q->shape, "one length a sequence")) {
        return ASC_ERR_ARG;
    }
    asc_status status = asc_call_output(call, 0, q->dtype, 3, (int64_t[]){q->shape[0], q->shape[1], v->shape[2]});
    return status ? status : asc_call_save(call, SAVED_LSE, q->dtype, 3, (int64_t[]){q->shape[0], H, q->shape[1]});
}

static asc_status forward(asc_call *call)
{
    return BY_DTYPE(call->in[Q].dtype, run_forward, (call));
}

static asc_status backward(asc_call *call)
{
    return BY_DTYPE(call->in[Q].dtype, run_backward, (call));
}

static double flops(const asc_call *call)
{
    sizes s = sizes_of(call);
    double pairs = 0;
    for (int64_t b = 0; b < s.B; b++) {
        for (int64_t i = 0; i < s.N; i++) {
            allowed a = allowed_of(&s, b, i + s.M - s.N);
            pairs += (double)(a.globals + a.to - a.from);
        }
    }
    return 2 * pairs * (double)s.H * (double)(s.d + s.dv);
}

static uint32_t causal_inputs(const asc_call *call)
{
    return ((const attrs *)call->attrs)->o.causal ? 1u << Q | 1u << K_ | 1u << V : 0;
}

#define OPTIONS(...) .attrs = &(const attrs){{__VA_ARGS__}}
static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 6}}, {'f', 3, {2, 5, 6}}, {'f', 3, {2, 5, 4}}}, OPTIONS(.heads = 2, .causal = true)},
    {.in = {{'f', 3, {1, 3, 4}}, {'f', 3, {1, 5, 4}}, {'f', 3, {1, 5, 4}}},
     OPTIONS(.heads = 1, .causal = true, .alibi = true), .note = "fewer queries than keys"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {'f', 2, {2, 5}}, {'i', 1, {2}, 0, 7}},
     OPTIONS(.heads = 2), .note = "relative biases, lengths"},
    {.in = {{'f', 3, {1, 9, 2}}, {'f', 3, {1, 9, 2}}, {'f', 3, {1, 9, 2}}, {'f', 2, {1, 7}}},
     OPTIONS(.heads = 1, .causal = true, .window = 3, .globals = 2), .note = "window and globals"},
    {.in = {{'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}}, OPTIONS(.heads = 1, .causal = true)},
    {.in = {{'f', 3, {0, 2, 2}}, {'f', 3, {0, 2, 2}}, {'f', 3, {0, 2, 2}}}, OPTIONS(.heads = 1), .note = "no batch"},
};

const asc_op asc_op_attention = {
    .abi = ASC_OP_ABI,
    .name = "attention",
    .equation = "y_i = Σ_j softmax_j∈J(q_i·k_j/√d + β_ij) v_j per head;  q (B, N, H d), k (B, M, H d), v (B, M, H d_v)",
    .inputs = "q k v rel_bias? lengths?",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(attrs),
    .saves_in = 1u << Q | 1u << K_ | 1u << V | 1u << REL_BIAS | 1u << LENGTHS,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .causal = causal_inputs,
};

asc_tensor asc_attention(asc_ctx *ctx, asc_tensor q, asc_tensor k, asc_tensor v, asc_tensor rel_bias,
                         asc_tensor lengths, const asc_attention_options *options)
{
    const asc_tensor inputs[] = {q, k, v, rel_bias, lengths};
    return asc_apply1(ctx, &asc_op_attention, inputs, ASC_COUNT(inputs), &(attrs){*options});
}

#else /* for each dtype */

typedef struct R(job) {
    asc_call *call;
    sizes s;
    int64_t panels;     /* of a head */
    real *panel;        /* [workers][2][PANEL, M] */
    real *rel_partial;  /* [B, H, 2R + 1] */
} R(job);

/* The part of a [B, n, H w] array that belongs to batch entry b, row i, head h. */
static inline real *R(at)(const asc_array *a, int64_t b, int64_t i, int64_t h, int64_t w)
{
    return (real *)a->data + (b * a->shape[1] + i) * a->shape[2] + h * w;
}

/* Columns that any row of a panel may look at: [0, globals) and [from, to) of all its rows. */
static allowed R(panel_range)(const sizes *s, int64_t b, int64_t first, int64_t rows)
{
    allowed all = {0, s->M, 0};
    for (int64_t i = first; i < first + rows; i++) {
        allowed a = allowed_of(s, b, i + s->M - s->N);
        all.from = least(all.from, a.globals > 0 ? 0 : a.from);
        all.to = most(all.to, a.to);
    }
    all.from = least(all.from, all.to);
    return all;
}

/* S of a panel, [rows, to - from], biases added. */
static void R(scores)(const R(job) *job, head u, int64_t first, int64_t rows, allowed range, real *S)
{
    const sizes *s = &job->s;
    const asc_array *q = &job->call->in[Q], *k = &job->call->in[K_], *rel = &job->call->in[REL_BIAS];
    int64_t columns = range.to - range.from;
    asc_gemm_run(&(asc_gemm){.dtype = REAL_DTYPE, .tb = true, .m = rows, .n = columns, .k = s->d, .alpha = s->scale,
                             .a = R(at)(q, u.b, first, u.h, s->d), .lda = q->shape[2],
                             .b = R(at)(k, u.b, range.from, u.h, s->d), .ldb = k->shape[2], .c = S, .ldc = columns});
    if (!s->o->alibi && !rel->data) {
        return;
    }
    real slope = s->o->alibi ? (real)exp2(-8 * (double)(u.h + 1) / (double)s->H) : 0;
    const real *table = rel->data ? (const real *)rel->data + u.h * (2 * s->R + 1) + s->R : NULL;
    for (int64_t r = 0; r < rows; r++) {
        int64_t i = first + r + s->M - s->N;
        for (int64_t c = 0; c < columns; c++) {
            int64_t ahead = range.from + c - i;
            S[r * columns + c] -= slope * (real)(ahead < 0 ? -ahead : ahead);
            S[r * columns + c] += table ? table[most(-s->R, least(s->R, ahead))] : 0;
        }
    }
}

/* Zeroes a row outside of its allowed set. */
static void R(clear_outside)(real *row, allowed a, allowed range)
{
    int64_t g = most(a.globals - range.from, 0), from = a.from - range.from, to = a.to - range.from;
    memset(row + g, 0, (size_t)(from - g) * sizeof *row);
    memset(row + to, 0, (size_t)(range.to - a.to) * sizeof *row);
}

/* A row of scores becomes its softmax, or, with *lse already known, the same by way of it. */
static void R(softmax_panel_row)(real *row, allowed a, allowed range, real *lse, bool known)
{
    real *near = row + (a.from - range.from);
    int64_t n_near = a.to - a.from, n_global = a.globals;
    if (n_near + n_global == 0) {
        memset(row, 0, (size_t)(range.to - range.from) * sizeof *row);
        *lse = 0;
        return;
    }
    if (known) {
        K->exp_shift(row, row, *lse, n_global);
        K->exp_shift(near, near, *lse, n_near);
    } else {
        real max = K->max(near, n_near), max_global = K->max(row, n_global);
        max = max_global > max ? max_global : max;
        real sum = K->exp_shift(row, row, max, n_global) + K->exp_shift(near, near, max, n_near);
        K->scale(row, 1 / sum, row, n_global);
        K->scale(near, 1 / sum, near, n_near);
        *lse = max + (real)log((double)sum);
    }
    R(clear_outside)(row, a, range);
}

static void R(softmax_panel)(const R(job) *job, head u, int64_t first, int64_t rows, allowed range, real *S, bool known)
{
    const sizes *s = &job->s;
    real *lse = (real *)job->call->saved[SAVED_LSE].data + (u.b * s->H + u.h) * s->N + first;
    for (int64_t r = 0; r < rows; r++) {
        allowed a = allowed_of(s, u.b, first + r + s->M - s->N);
        R(softmax_panel_row)(S + r * (range.to - range.from), a, range, lse + r, known);
    }
}

static void R(forward_panel)(void *arg, int64_t piece, int worker)
{
    const R(job) *job = arg;
    const sizes *s = &job->s;
    int64_t unit = piece / job->panels, first = piece % job->panels * PANEL, rows = least(PANEL, s->N - first);
    head u = {unit / s->H, unit % s->H};
    real *S = job->panel + worker * 2 * PANEL * s->M;
    allowed range = R(panel_range)(s, u.b, first, rows);
    int64_t columns = range.to - range.from;
    R(scores)(job, u, first, rows, range, S);
    R(softmax_panel)(job, u, first, rows, range, S, false);
    const asc_array *v = &job->call->in[V], *y = &job->call->out[0];
    asc_gemm_run(&(asc_gemm){.dtype = REAL_DTYPE, .m = rows, .n = s->dv, .k = columns, .alpha = 1, .a = S,
                             .lda = columns, .b = R(at)(v, u.b, range.from, u.h, s->dv), .ldb = v->shape[2],
                             .c = R(at)(y, u.b, first, u.h, s->dv), .ldc = y->shape[2]});
}

static asc_status R(run_forward)(asc_call *call)
{
    R(job) job = {.call = call, .s = sizes_of(call)};
    size_t panel = 2 * PANEL * (size_t)job.s.M * sizeof(real);
    job.panels = (job.s.N + PANEL - 1) / PANEL;
    job.panel = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * panel);
    if (!job.panel) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, job.s.B * job.s.H * job.panels, R(forward_panel), &job);
    return ASC_OK;
}

/* dS from dA and A, in place of dA; its sums into the table's gradient. */
static void R(score_grads)(const R(job) *job, head u, int64_t first, int64_t rows, allowed range, const real *A,
                           real *dA)
{
    const sizes *s = &job->s;
    int64_t columns = range.to - range.from;
    for (int64_t r = 0; r < rows; r++) {
        K->softmax_grad_row(dA + r * columns, A + r * columns, dA + r * columns, 1, columns, true);
    }
    if (!job->rel_partial) {
        return;
    }
    real *table = job->rel_partial + (u.b * s->H + u.h) * (2 * s->R + 1) + s->R;
    for (int64_t r = 0; r < rows; r++) {
        int64_t i = first + r + s->M - s->N;
        for (int64_t c = 0; c < columns; c++) {
            table[most(-s->R, least(s->R, range.from + c - i))] += dA[r * columns + c];
        }
    }
}

/* C = alpha op(A) B + beta C for a panel's small products. */
static void R(product)(bool ta, int64_t m, int64_t n, int64_t k, double alpha, const real *a, int64_t lda,
                       const real *b, int64_t ldb, bool add, real *c, int64_t ldc)
{
    asc_gemm_run(&(asc_gemm){.dtype = REAL_DTYPE, .ta = ta, .m = m, .n = n, .k = k, .alpha = alpha, .a = a, .lda = lda,
                             .b = b, .ldb = ldb, .beta = add, .c = c, .ldc = ldc});
}

static void R(backward_panel)(const R(job) *job, head u, int64_t first, real *A, real *dA)
{
    asc_call *call = job->call;
    const sizes *s = &job->s;
    int64_t rows = least(PANEL, s->N - first), d = s->d, dv = s->dv;
    allowed range = R(panel_range)(s, u.b, first, rows);
    int64_t columns = range.to - range.from, from = range.from;
    R(scores)(job, u, first, rows, range, A);
    R(softmax_panel)(job, u, first, rows, range, A, true);

    const asc_array *q = &call->in[Q], *k = &call->in[K_], *v = &call->in[V], *dy = &call->grad_out[0];
    const asc_array *dq = &call->grad_in[Q], *dk = &call->grad_in[K_], *dV = &call->grad_in[V];
    const real *dy_rows = R(at)(dy, u.b, first, u.h, dv);
    asc_gemm_run(&(asc_gemm){.dtype = REAL_DTYPE, .tb = true, .m = rows, .n = columns, .k = dv, .alpha = 1,
                             .a = dy_rows, .lda = dy->shape[2], .b = R(at)(v, u.b, from, u.h, dv), .ldb = v->shape[2], .c = dA,
                             .ldc = columns});
    if (dV->data) {
        R(product)(true, columns, dv, rows, 1, A, columns, dy_rows, dy->shape[2], true, R(at)(dV, u.b, from, u.h, dv),
                   dV->shape[2]);
    }
    R(score_grads)(job, u, first, rows, range, A, dA);
    if (dq->data) {
        R(product)(false, rows, d, columns, s->scale, dA, columns, R(at)(k, u.b, from, u.h, d), k->shape[2],
                   !call->fresh[Q], R(at)(dq, u.b, first, u.h, d), dq->shape[2]);
    }
    if (dk->data) {
        R(product)(true, columns, d, rows, s->scale, dA, columns, R(at)(q, u.b, first, u.h, d), q->shape[2], true,
                   R(at)(dk, u.b, from, u.h, d), dk->shape[2]);
    }
}

/* All panels of a head, in order: its keys' and values' gradients are sums over them. */
static void R(backward_head)(void *arg, int64_t unit, int worker)
{
    const R(job) *job = arg;
    const sizes *s = &job->s;
    head u = {unit / s->H, unit % s->H};
    for (int i = K_; i <= V; i++) {
        int64_t w = i == V ? s->dv : s->d;
        for (int64_t j = 0; job->call->fresh[i] && j < s->M; j++) {
            memset(R(at)(&job->call->grad_in[i], u.b, j, u.h, w), 0, (size_t)w * sizeof(real));
        }
    }
    real *A = job->panel + worker * 2 * PANEL * s->M, *dA = A + PANEL * s->M;
    for (int64_t first = 0; first < s->N; first += PANEL) {
        R(backward_panel)(job, u, first, A, dA);
    }
}

static asc_status R(run_backward)(asc_call *call)
{
    R(job) job = {.call = call, .s = sizes_of(call)};
    sizes *s = &job.s;
    job.panel = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * 2 * PANEL * (size_t)s->M * sizeof(real));
    if (!job.panel) {
        return ASC_ERR_MEMORY;
    }
    int64_t table = s->H * (2 * s->R + 1);
    real *rel_grad = call->grad_in[REL_BIAS].data;
    if (rel_grad) {
        job.rel_partial = asc_call_scratch(call, (size_t)(s->B * table) * sizeof(real));
        if (!job.rel_partial) {
            return ASC_ERR_MEMORY;
        }
        memset(job.rel_partial, 0, (size_t)(s->B * table) * sizeof(real));
        if (call->fresh[REL_BIAS]) {
            memset(rel_grad, 0, (size_t)table * sizeof(real));
        }
    }
    asc_parallel(call->ctx, s->B * s->H, R(backward_head), &job);
    if (rel_grad) {
        K->sum_rows(rel_grad, job.rel_partial, s->B, table);
    }
    return ASC_OK;
}

#endif
