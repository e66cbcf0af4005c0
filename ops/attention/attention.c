/* ops/attention/attention.c: multi-head scaled dot-product attention (Vaswani et al. 2017), without N×N memory.
 *
 *   S_ij = q_i·k_j/√d + β_ij,  A_i = softmax of S_i over the allowed set J_i,  y_i = Σ_j A_ij v_j       (per head)
 *   dA_ij = dy_i·v_j,  dS_ij = A_ij (dA_ij - Σ_l A_il dA_il),  dv_j = Σ_i A_ij dy_i,
 *   dq_i = Σ_j dS_ij k_j/√d,  dk_j = Σ_i dS_ij q_i/√d,  dβ_ij = dS_ij
 * with a cap c > 0, t_ij = tanh(q_i·k_j/(c √d)): S_ij = c t_ij + β_ij, and (1 - t_ij²) dS_ij in dq's and dk's sums
 *
 * β is ALiBi's -2^(-8(h+1)/H)·|i-j| (Press et al. 2022), a learned table's entry clamp(j-i, -R, R) + R, and whatever
 * the caller gives. J_i is causal or full, cut by a window with global tokens and random links (BigBird: Zaheer et al.,
 * arXiv 2007.14062), by the sequences' lengths and by a mask; a row with nothing allowed gives 0.
 *
 * Work goes by panels (ops/attention/panel.h): scores, softmax and product while a panel is in cache. The backward pass
 * computes each panel again from the row's log-sum-exp, the only thing that is kept. What a chunk of panels reads many
 * times, k and v, it copies first. */
#include "ops/attention/panel.h"

#include <math.h>
#include <string.h>

enum { Q, K_, V, REL_BIAS, BIAS, LENGTHS, MASK };
enum { SAVED_LSE };

typedef struct attrs {
    asc_attention_options o;
} attrs;

/* A call, as the pieces of its work see it. */
typedef struct job {
    asc_call *call;
    asc_allowed J;
    int64_t chunks;             /* of a head */
    asc_position_bias positions;
    asc_given_bias given;
    double scale;               /* 1/√d */
    int64_t widest;             /* columns of the widest panel */
    int64_t width;              /* of the wider of q and v */
    int64_t buffers;            /* panels of a worker: one; backward two, with a cap three */
    void *panel;                /* [workers][buffers][ASC_PANEL, widest] */
    double cap;                 /* 0: none */
    void *copies;               /* [workers][copy_rows, width]: q and dy of a panel, and what is kept of k and v */
    int64_t copy_rows;
    bool copies_keys;
    int64_t *held;              /* [workers]: whose keys a worker has copied, one more than the head's number */
    int32_t *list;              /* [workers][widest], with a mask or links */
    asc_panel_sums dk, dv;      /* backward */
    asc_table_sums table;
} job;

/* Every C-th panel of a head, as a worker goes through them. */
typedef struct chunk {
    const job *j;
    int worker;
    int64_t b, h, number, step, panels; /* panels number, number + step, … of the head's */
    bool held;                          /* the worker has copied this head's keys for another chunk */
} chunk;

/* What the backward pass reads of all keys. */
typedef struct keys {
    asc_matrix k, k_turned, v_turned;
} keys;

static asc_allowed allowed_of(const asc_call *call)
{
    const asc_attention_options *o = &((const attrs *)call->attrs)->o;
    const asc_array *q = &call->in[Q], *k = &call->in[K_];
    asc_allowed J = {.B = q->shape[0],
                     .H = o->heads,
                     .N = q->shape[1],
                     .M = k->shape[1],
                     .causal = o->causal,
                     .window = o->window,
                     .globals = o->globals,
                     .random = o->random,
                     .packs = asc_packs(call->ctx)};
    asc_allowed_inputs(&J, &call->in[LENGTHS], &call->in[MASK]);
    return J;
}

static chunk chunk_of(const job *j, int64_t head, int64_t number, int worker)
{
    bool held = j->held[worker] == head + 1;
    j->held[worker] = head + 1;
    return (chunk){.held = held,
                   .j = j,
                   .worker = worker,
                   .b = head / j->J.H,
                   .h = head % j->J.H,
                   .number = number,
                   .panels = asc_head_panels(&j->J),
                   .step = j->chunks};
}

/* The chunk's head in a (B, n, H w) array. */
static asc_matrix matrix_of(const chunk *c, const asc_array *a)
{
    return asc_head_matrix(a, c->b, c->h, c->j->J.H);
}

/* ---- a worker's copies, one behind the other in rows of `width` elements ---- */

enum { Q_COPY = 0, DY_COPY = ASC_PANEL, KEYS_COPY = 2 * ASC_PANEL };

static void *copy_at(const chunk *c, int64_t row)
{
    const job *j = c->j;
    return (char *)j->copies + (size_t)((c->worker * j->copy_rows + row) * j->width) *
                                   asc_dtype_size(j->call->in[Q].dtype);
}

/* All keys of a (B, M, H w) input: in place, or a copy that stays until the next one. */
static asc_matrix keys_of(const chunk *c, int input)
{
    asc_matrix keys = matrix_of(c, &c->j->call->in[input]);
    int64_t rows = c->held ? 0 : c->j->J.M;
    return c->j->copies_keys ? asc_panel_pack(keys, 0, rows, copy_at(c, KEYS_COPY)) : keys;
}

/* The same as asc_panel_scores is to have it, from what keys_of gave: the first, or the second such copy. */
static asc_matrix turned(const chunk *c, asc_matrix keys, int which)
{
    int64_t M = c->j->J.M;
    void *to = copy_at(c, KEYS_COPY + M + which * asc_turned_ld(M));
    if (c->held) {
        asc_matrix as_it_is = {
            .dtype = keys.dtype, .data = to, .width = keys.width, .ld = asc_turned_ld(M), .turned = true};
        return c->j->copies_keys ? as_it_is : keys;
    }
    return c->j->copies_keys ? asc_panel_turn(keys, M, to) : keys;
}

/* ---- float, and f64.awk makes the same for double ---- */

/* A worker's panel number `which`. */
static float *panel_f32(const job *j, int worker, int which)
{
    return (float *)j->panel + (worker * j->buffers + which) * ASC_PANEL * j->widest;
}

/* S = c tanh(S/c) of n entries; its slope, where that is not NULL. */
static void cap_f32(double cap, float *S, float *slope, int64_t n)
{
    asc_kernels_f32()->scale(S, (float)(1 / cap), S, n);
    asc_kernels_f32()->tanh(S, S, n);
    for (int64_t i = 0; slope && i < n; i++) {
        slope[i] = 1 - S[i] * S[i];
    }
    asc_kernels_f32()->scale(S, (float)cap, S, n);
}

/* S of a panel, in all of its columns; q: the panel's rows. With a cap its slope, where that is not NULL. */
static void scores_f32(const job *j, const asc_panel *p, asc_matrix q, asc_matrix k, float *S, float *slope)
{
    asc_panel own = asc_panel_alone(p);
    asc_panel_scores(&own, j->scale, q, k, S);
    if (j->cap > 0) {
        cap_f32(j->cap, S, slope, p->rows * p->columns);
    }
    asc_panel_add_bias(&j->J, p, &j->positions, ASC_F32, S);
    asc_panel_add_given(p, &j->given, S);
}

/* A from S, 0 outside of the allowed set; `known`: by way of the rows' log-sum-exp, which are there already. */
static void attend_f32(const job *j, const asc_panel *p, int32_t *list, float *S, bool known)
{
    float *lse = (float *)j->call->saved[SAVED_LSE].data + (p->b * j->J.H + p->h) * j->J.N + p->first;
    for (int64_t r = 0; r < p->rows; r++) {
        float *entries = S + r * p->columns;
        asc_panel_row row = asc_panel_row_of(&j->J, p, r, list);
        asc_panel_compact(&row, ASC_F32, entries);
        float *x = entries + row.start;
        if (known) {
            asc_panel_sum_to_1_f32(x, asc_kernels_f32()->exp_shift(x, x, lse[r], row.n), row.n);
        } else {
            asc_log_sum_exp s = asc_panel_softmax_f32(x, row.n);
            lse[r] = (float)s.max + (float)s.log_sum;
        }
        asc_panel_spread(p, &row, ASC_F32, entries);
    }
}

static int32_t *list_of_f32(const job *j, int worker)
{
    return j->list ? j->list + worker * j->widest : NULL;
}

static void forward_chunk_f32(void *arg, int64_t piece, int worker)
{
    const job *j = arg;
    chunk c = chunk_of(j, piece / j->chunks, piece % j->chunks, worker);
    asc_matrix q = matrix_of(&c, &j->call->in[Q]), y = matrix_of(&c, &j->call->out[0]);
    asc_matrix k = turned(&c, keys_of(&c, K_), 0), v = keys_of(&c, V);
    float *S = panel_f32(j, worker, 0);
    for (int64_t i = c.number; i < c.panels && !asc_interrupted(j->call->ctx); i += c.step) {
        asc_panel p = asc_panel_at(&j->J, (c.b * j->J.H + c.h) * c.panels + i);
        scores_f32(j, &p, asc_panel_pack(q, p.first, p.rows, copy_at(&c, Q_COPY)), k, S, NULL);
        attend_f32(j, &p, list_of_f32(j, worker), S, false);
        asc_panel_mix(&p, 1, S, v, false, y);
    }
}

static void backward_panel_f32(const chunk *c, const asc_panel *p, const keys *w, asc_matrix dk, asc_matrix dv)
{
    const job *j = c->j;
    const asc_call *call = j->call;
    asc_panel own = asc_panel_alone(p);
    asc_matrix q = asc_panel_pack(matrix_of(c, &call->in[Q]), p->first, p->rows, copy_at(c, Q_COPY));
    asc_matrix dy = asc_panel_pack(matrix_of(c, &call->grad_out[0]), p->first, p->rows, copy_at(c, DY_COPY));
    float *A = panel_f32(j, c->worker, 0), *dS = panel_f32(j, c->worker, 1);
    float *slope = j->cap > 0 ? panel_f32(j, c->worker, 2) : NULL;
    scores_f32(j, p, q, w->k_turned, A, slope);
    attend_f32(j, p, list_of_f32(j, c->worker), A, true);
    asc_panel_scores(&own, 1, dy, w->v_turned, dS);
    asc_panel_collect(&own, 1, A, dy, dv);
    for (int64_t r = 0; r < p->rows; r++) {
        float *x = dS + r * p->columns;
        asc_kernels_f32()->softmax_grad_row(x, A + r * p->columns, x, 1, p->columns, true);
    }
    asc_table_sums_collect(&j->table, &j->J, p, c->number, dS);
    asc_panel_collect_given(p, &j->given, dS);
    if (slope) {
        asc_kernels_f32()->mul(dS, dS, slope, p->rows * p->columns);
    }
    asc_panel_mix(p, j->scale, dS, w->k, !call->fresh[Q], matrix_of(c, &call->grad_in[Q]));
    asc_panel_collect(&own, j->scale, dS, q, dk);
}

static void backward_chunk_f32(const job *j, int64_t head, int64_t number, int worker)
{
    chunk c = chunk_of(j, head, number, worker);
    asc_matrix dk = asc_panel_sums_begin(&j->dk, c.b, c.h, c.number);
    asc_matrix dv = asc_panel_sums_begin(&j->dv, c.b, c.h, c.number);
    keys w = {.v_turned = turned(&c, keys_of(&c, V), 0)};
    w.k = keys_of(&c, K_);
    w.k_turned = turned(&c, w.k, 1);
    for (int64_t i = c.number; i < c.panels && !asc_interrupted(j->call->ctx); i += c.step) {
        asc_panel p = asc_panel_at(&j->J, (c.b * j->J.H + c.h) * c.panels + i);
        backward_panel_f32(&c, &p, &w, dk, dv);
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const job *j = arg;
    for (int64_t m = 0; m < asc_strand_heads(&j->J); m++) {
        int64_t head = asc_strand_head(&j->J, piece / j->chunks, m);
        backward_chunk_f32(j, head, piece % j->chunks, worker);
    }
}

/* ---- end of float ---- */
#include "ops/attention/attention.f64.h"

/* Whether it matters where among the keys the queries stand. */
static bool has_positions(const asc_call *call)
{
    const asc_attention_options *o = &((const attrs *)call->attrs)->o;
    return o->causal || o->window > 0 || o->alibi || call->in[REL_BIAS].ndim >= 0;
}

static asc_status check_tensors(asc_call *call, int64_t H)
{
    const asc_array *q = &call->in[Q], *k = &call->in[K_], *v = &call->in[V];
    if (q->ndim != 3 || q->shape[2] % H || q->shape[2] == 0) {
        return asc_call_expect(call, Q, "(B, N, H d) with H = %lld", (long long)H);
    }
    if (k->ndim != 3 || k->shape[0] != q->shape[0] || k->shape[2] != q->shape[2]) {
        return asc_call_expect(call, K_, "(%lld, M, %lld)", (long long)q->shape[0], (long long)q->shape[2]);
    }
    if (k->shape[1] < q->shape[1] && has_positions(call)) {
        return asc_call_expect(call, K_, "(%lld, M, %lld) with M >= %lld, or a full set without positions: the queries "
                               "stand at the last of the keys' positions", (long long)q->shape[0],
                               (long long)q->shape[2], (long long)q->shape[1]);
    }
    if (v->ndim != 3 || v->shape[0] != k->shape[0] || v->shape[1] != k->shape[1] || v->shape[2] % H) {
        return asc_call_expect(call, V, "(%lld, %lld, H d) with H = %lld", (long long)k->shape[0],
                               (long long)k->shape[1], (long long)H);
    }
    if (q->shape[2] > INT32_MAX || v->shape[2] > INT32_MAX ||
        asc_turned_ld(k->shape[1]) > INT32_MAX) {
        return asc_call_fail(call, "%lld keys, heads of %lld and %lld elements together: expected at most %d",
                             (long long)k->shape[1], (long long)q->shape[2], (long long)v->shape[2], INT32_MAX);
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_attention_options *o = &((const attrs *)call->attrs)->o;
    const asc_array *q = &call->in[Q];
    if (asc_expect_window(call, o->heads, o->window, o->globals, o->random) || asc_expect_floating(call, Q) ||
        asc_expect_floating(call, K_) || asc_expect_floating(call, V) || check_tensors(call, o->heads) ||
        asc_expect_position_table(call, REL_BIAS, o->heads) || asc_expect_cap(call, o->cap, q->dtype)) {
        return ASC_ERR_ARG;
    }
    asc_allowed J = {.B = q->shape[0], .H = o->heads, .N = q->shape[1], .M = call->in[K_].shape[1]};
    if (asc_expect_allowed(call, LENGTHS, MASK, &J) || asc_expect_given_bias(call, BIAS, &J)) {
        return ASC_ERR_ARG;
    }
    asc_call_operands(call, o->random > 0 ? 0 : 1u << Q | 1u << K_ | 1u << V); /* links are no products */
    asc_status status = asc_call_output(call, 0, q->dtype, 3, (int64_t[]){J.B, J.N, call->in[V].shape[2]});
    return status ? status : asc_call_save(call, SAVED_LSE, q->dtype, 3, (int64_t[]){J.B, J.H, J.N});
}

/* Sets a job up; for each worker a panel and a turned copy, backward two, and one more panel for a cap's slope. */
static asc_status begin(asc_call *call, bool backward, job *j)
{
    const asc_array *q = &call->in[Q];
    int buffers = backward ? 2 : 1;
    *j = (job){.call = call, .J = allowed_of(call), .cap = ((const attrs *)call->attrs)->o.cap};
    j->buffers = buffers + (backward && j->cap > 0);
    if (backward) {
        asc_given_bias_begin(call, BIAS, &j->J);
    }
    j->chunks = backward ? asc_panel_chunks(&j->J) : asc_panel_forward_chunks(&j->J);
    j->scale = 1 / sqrt((double)(q->shape[2] / j->J.H));
    j->positions = asc_position_bias_of(call, REL_BIAS, ((const attrs *)call->attrs)->o.alibi);
    j->given = asc_given_bias_of(call, BIAS, &j->J);
    j->widest = asc_panel_widest(&j->J);
    j->width = (q->shape[2] > call->in[V].shape[2] ? q : &call->in[V])->shape[2] / j->J.H;
    j->copies_keys = asc_panel_copies_pay(&j->J, j->chunks);
    j->copy_rows = 2 * ASC_PANEL + (j->copies_keys ? j->J.M + buffers * asc_turned_ld(j->J.M) : 0);
    size_t workers = (size_t)asc_threads(call->ctx), widest = (size_t)j->widest, real = asc_dtype_size(q->dtype);
    j->panel = asc_call_scratch(call, workers * (size_t)j->buffers * ASC_PANEL * widest * real);
    j->copies = asc_call_scratch(call, workers * (size_t)(j->copy_rows * j->width) * real);
    j->list = asc_panel_lists(&j->J) ? asc_call_scratch(call, workers * widest * sizeof *j->list) : NULL;
    j->held = asc_call_scratch(call, workers * sizeof *j->held);
    if (!j->panel || !j->copies || !j->held || (!j->list && asc_panel_lists(&j->J))) {
        return ASC_ERR_MEMORY;
    }
    memset(j->held, 0, workers * sizeof *j->held);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    job j;
    if (begin(call, false, &j)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, j.J.B * j.J.H * j.chunks, BY_DTYPE(call->in[Q].dtype, forward_chunk), &j);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    job j;
    if (begin(call, true, &j) || asc_panel_sums_of_input(call, &j.J, K_, &j.dk) ||
        asc_panel_sums_of_input(call, &j.J, V, &j.dv) || asc_table_sums_begin(call, &j.J, REL_BIAS, &j.table)) {
        return ASC_ERR_MEMORY;
    }
    asc_panel_sum_up(call->ctx, &j.J, (const asc_panel_sums *[]){&j.dk, &j.dv}, 2,
                     BY_DTYPE(call->in[Q].dtype, backward_piece), &j);
    asc_table_sums_end(&j.table, &j.J);
    return ASC_OK;
}

static double flops(const asc_call *call)
{
    asc_allowed J = allowed_of(call);
    return 2 * asc_allowed_pairs(&J) * (double)((call->in[Q].shape[2] + call->in[V].shape[2]) / J.H);
}

static uint32_t causal_inputs(const asc_call *call)
{
    return ((const attrs *)call->attrs)->o.causal ? 1u << Q | 1u << K_ | 1u << V | 1u << BIAS : 0;
}

#define OPTIONS(...) .attrs = &(const attrs){{__VA_ARGS__}}
static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 6}}, {'f', 3, {2, 5, 6}}, {'f', 3, {2, 5, 4}}}, OPTIONS(.heads = 2, .causal = true)},
    {.in = {{'f', 3, {1, 3, 4}}, {'f', 3, {1, 5, 4}}, {'f', 3, {1, 5, 4}}},
     OPTIONS(.heads = 1, .causal = true, .alibi = true), .note = "fewer queries than keys"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {'f', 2, {2, 5}}, {0}, {'i', 1, {2}, 0, 7}},
     OPTIONS(.heads = 2), .note = "relative biases, lengths"},
    {.in = {{'f', 3, {1, 9, 2}}, {'f', 3, {1, 9, 2}}, {'f', 3, {1, 9, 2}}, {'f', 2, {1, 7}}},
     OPTIONS(.heads = 1, .causal = true, .window = 3, .globals = 2), .note = "window and globals"},
    {.in = {{'f', 3, {2, 5, 4}}, {'f', 3, {2, 7, 4}}, {'f', 3, {2, 7, 4}}, {0}, {0}, {0}, {'b', 4, {1, 2, 5, 7}}},
     OPTIONS(.heads = 2, .window = 4, .globals = 1), .note = "a mask"},
    {.in = {{'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {'f', 2, {2, 5}}},
     OPTIONS(.heads = 2, .causal = true, .cap = .7), .note = "a cap"},
    {.in = {{'f', 3, {1, 40, 2}}, {'f', 3, {1, 40, 2}}, {'f', 3, {1, 40, 2}}, {'f', 2, {1, 7}}},
     OPTIONS(.heads = 1, .causal = true, .window = 2, .globals = 1, .random = 2), .note = "random links"},
    {.in = {{'f', 3, {2, 7, 4}}, {'f', 3, {2, 3, 4}}, {'f', 3, {2, 3, 6}}, {0}, {0}, {'i', 1, {2}, 1, 4}},
     OPTIONS(.heads = 2), .note = "a context of other length"},
    {.in = {{'f', 3, {2, 5, 4}}, {'f', 3, {2, 1, 4}}, {'f', 3, {2, 1, 2}}, {0}, {'f', 4, {2, 2, 5, 1}}},
     OPTIONS(.heads = 2), .note = "a context of one"},
    {.in = {{'f', 3, {2, 5, 4}}, {'f', 3, {2, 5, 4}}, {'f', 3, {2, 5, 4}}, {0}, {'f', 2, {5, 5}}},
     OPTIONS(.heads = 2, .causal = true), .note = "a bias that all share"},
    {.in = {{'f', 3, {2, 4, 4}}, {'f', 3, {2, 6, 4}}, {'f', 3, {2, 6, 4}}, {0}, {'f', 4, {2, 1, 4, 6}}},
     OPTIONS(.heads = 2, .window = 2, .globals = 1), .note = "a bias that heads share"},
    {.in = {{'f', 3, {3, 4, 4}}, {'f', 3, {3, 4, 4}}, {'f', 3, {3, 4, 4}}, {0}, {'f', 3, {2, 4, 4}}},
     OPTIONS(.heads = 2, .causal = true), .note = "a bias that the batch shares"},
    {.in = {{'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}, {'f', 3, {2, 1, 2}}}, OPTIONS(.heads = 1, .causal = true)},
    {.in = {{'f', 3, {0, 2, 2}}, {'f', 3, {0, 2, 2}}, {'f', 3, {0, 2, 2}}}, OPTIONS(.heads = 1), .note = "no batch"},
};

const asc_op asc_op_attention = {
    .abi = ASC_OP_ABI,
    .name = "attention",
    .equation = "y_i = Σ_j softmax_j∈J(s_ij + β_ij) v_j per head, s_ij = q_i·k_j/√d, or c tanh(q_i·k_j/(c √d));  "
                "q (B, N, H d), k (B, M, H d), v (B, M, H d_v)",
    .inputs = "q k v rel_bias? bias? lengths? mask?",
    .n_out = 1,
    .flags = ASC_OP_FRESH | ASC_OP_CAUSAL,
    .attrs_size = sizeof(attrs),
    .saves_in = 1u << Q | 1u << K_ | 1u << V | 1u << REL_BIAS | 1u << BIAS | 1u << LENGTHS | 1u << MASK,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}, {'f', 3, {32, 128, 256}}},
                                 OPTIONS(.heads = 4, .causal = true)},
    .causal = causal_inputs,
};

asc_tensor asc_attention(asc_ctx *ctx, const asc_attention_inputs *in, const asc_attention_options *options)
{
    if (ASC_NEED(ctx, "attention: inputs options", in, options)) {
        return asc_null();
    }
    const asc_tensor inputs[] = {in->q, in->k, in->v, in->rel_bias, in->bias, in->lengths, in->mask};
    return asc_apply1(ctx, &asc_op_attention, inputs, ASC_COUNT(inputs), &(attrs){*options});
}
