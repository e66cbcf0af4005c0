/* ops/linear_attention/chunk.c: a chunk of linear attention, forward and backward: its own keys by a product of queries
 * and keys, all keys before it by way of the state. linear_attention.c has the formulas. */
#include "ops/linear_attention/linear_attention.h"

#include <math.h>
#include <string.h>

#include "ops/shared/carve.h"

enum { C = ASC_LINEAR_CHUNK };

double asc_linear_factor(double x)
{
    return x > -INFINITY ? exp(x) : 0;
}

/* Whether sums have levels; others are at level 0. */
static bool by_level(const asc_linear_chunk *c)
{
    return c->j->o->feature == ASC_FEATURE_FAVOR;
}

/* ---- a worker's memory ---- */

static void lay_out(const asc_linear_job *j, asc_space *space, asc_linear_chunk *c)
{
    size_t size = asc_dtype_size(j->call->in[ASC_LINEAR_Q].dtype);
    size_t features = (size_t)(C * j->m) * size, square = C * C * size;
    size_t widest = (size_t)(C * (j->d > j->dv ? j->d : j->dv)) * size;
    c->q = asc_carve(space, features);
    c->k = asc_carve(space, features);
    c->A = asc_carve(space, square);
    c->W = asc_carve(space, square);
    c->x = asc_carve(space, widest);
    c->dx = asc_carve(space, widest);
    c->dq = asc_carve(space, features);
    c->dk = asc_carve(space, features);
}

size_t asc_linear_worker_bytes(const asc_linear_job *j)
{
    asc_space space = {NULL, 0};
    asc_linear_chunk c;
    lay_out(j, &space, &c);
    return space.used;
}

asc_linear_chunk asc_linear_chunk_at(const asc_linear_job *j, int64_t piece, int worker)
{
    int64_t head = piece / j->chunks, number = piece % j->chunks;
    asc_linear_chunk c = {.j = j, .b = head / j->H, .h = head % j->H, .c = number, .first = number * C};
    asc_space space = {(char *)j->spare + (size_t)worker * j->worker, 0};
    lay_out(j, &space, &c);
    c.rows = j->N - c.first < C ? j->N - c.first : C;
    c.keys = c.rows;
    const int64_t *lengths = j->call->in[ASC_LINEAR_LENGTHS].data;
    if (lengths) {
        int64_t left = lengths[c.b] - c.first;
        c.keys = left < 0 ? 0 : left < c.rows ? left : c.rows;
    }
    return c;
}

/* The number of a chunk's state before it, of that after it, among its head's: with full attention both are that of
 * all. */
static int64_t before_of(const asc_linear_chunk *c)
{
    return (c->b * c->j->H + c->h) * (c->j->chunks + 1) + (c->j->o->full ? c->j->chunks : c->c);
}

static int64_t after_of(const asc_linear_chunk *c)
{
    return (c->b * c->j->H + c->h) * (c->j->chunks + 1) + (c->j->o->full ? c->j->chunks : c->c + 1);
}

/* ---- float, and f64.awk makes the same for double ---- */

/* A state, in its memory. */
typedef struct state_f32 {
    float *S, *n, *level;
} state_f32;

static state_f32 state_at_f32(const asc_linear_job *j, void *states, int64_t number)
{
    float *at = (float *)states + number * j->state;
    return (state_f32){at, at + j->m * j->dv, at + j->m * j->dv + j->m};
}

/* The chunk's part of a (B, N, H dv) array, whose rows are H dv apart. */
static float *rows_of_f32(const asc_linear_chunk *c, const asc_array *a)
{
    const asc_linear_job *j = c->j;
    return (float *)a->data + ((c->b * j->N + c->first) * j->H + c->h) * j->dv;
}

static void product_f32(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                        int64_t ldb, float beta, float *c, int64_t ldc)
{
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .ta = ta,
                             .tb = tb,
                             .m = m,
                             .n = n,
                             .k = k,
                             .alpha = 1,
                             .a = a,
                             .lda = lda,
                             .b = b,
                             .ldb = ldb,
                             .beta = (double)beta,
                             .c = c,
                             .ldc = ldc});
}

static double log_decay_f32(const asc_linear_chunk *c, int64_t i)
{
    const asc_array *forget = &c->j->call->in[ASC_LINEAR_FORGET];
    if (forget->data) {
        double x = (double)((const float *)forget->data)[(c->b * c->j->N + c->first + i) * c->j->H + c->h];
        return x > 0 ? -log1p(exp(-x)) : x - log1p(exp(x));
    }
    return c->j->o->fixed_decay ? log1p(-exp2(-5 - (double)c->h)) : 0;
}

void asc_linear_decays_f32(asc_linear_chunk *c)
{
    double sum = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        c->G[i] = sum += log_decay_f32(c, i);
    }
}

/* The level at every query, from that of the state before. */
static void find_levels_f32(asc_linear_chunk *c, float before)
{
    double level = (double)before, decayed = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        if (by_level(c)) {
            double left = level + c->G[i] - decayed;
            level = !c->j->o->full && c->beta[i] > left ? c->beta[i] : left;
            decayed = c->G[i];
        } else {
            level = 0;
        }
        c->M[i] = level;
    }
}

/* φ̃ of keys or queries times e^(what they weigh), to [CHUNK, m]. */
static void weigh_rows_f32(const asc_linear_chunk *c, float *to, const float *phi, int64_t rows, const double *weight)
{
    for (int64_t i = 0; i < rows; i++) {
        asc_kernels_f32()->scale(to + i * c->j->m, (float)weight[i], phi + i * c->j->m, c->j->m);
    }
}

/* What the state before weighs at each query. */
static void find_shares_f32(const asc_linear_chunk *c, float before, double *share)
{
    for (int64_t i = 0; i < c->rows; i++) {
        share[i] = asc_linear_factor(c->j->o->full ? (double)before - c->M[i] : (double)before + c->G[i] - c->M[i]);
    }
}

/* What each key weighs in the state after, at that one's level. */
static void find_weights_f32(const asc_linear_chunk *c, double level, double *weight)
{
    double end = c->rows > 0 ? c->G[c->rows - 1] : 0;
    for (int64_t i = 0; i < c->keys; i++) {
        weight[i] = asc_linear_factor(c->beta[i] + (c->j->o->full ? 0 : end - c->G[i]) - level);
    }
}

void asc_linear_gather_f32(void *arg, int64_t piece, int worker)
{
    const asc_linear_job *j = arg;
    asc_linear_chunk c = asc_linear_chunk_at(j, piece, worker);
    int64_t slot = (c.b * j->H + c.h) * (j->chunks + 1) + c.c + 1;
    state_f32 s = state_at_f32(j, j->states, slot);
    double weight[C], level = by_level(&c) ? -INFINITY : 0;
    float *k = c.k, *ks = c.dk;
    asc_linear_features_f32(&c, ASC_LINEAR_K, k, c.beta);
    asc_linear_decays_f32(&c);
    double end = j->passed[piece] = c.rows > 0 ? c.G[c.rows - 1] : 0;
    for (int64_t i = 0; i < c.keys && by_level(&c); i++) {
        level = fmax(level, c.beta[i] + (j->o->full ? 0 : end - c.G[i]));
    }
    *s.level = (float)level;
    find_weights_f32(&c, (double)*s.level, weight);
    weigh_rows_f32(&c, ks, k, c.keys, weight);
    product_f32(true, false, j->m, j->dv, c.keys, ks, j->m, rows_of_f32(&c, &j->call->in[ASC_LINEAR_V]), j->H * j->dv,
                0, s.S, j->dv);
    memset(s.n, 0, (size_t)j->m * sizeof *s.n);
    asc_kernels_f32()->sum_rows(s.n, ks, c.keys, j->m);
}

/* Features, decays and levels of a chunk, from the state before it. */
static void open_f32(asc_linear_chunk *c, const state_f32 *before)
{
    asc_linear_features_f32(c, ASC_LINEAR_Q, c->q, c->alpha);
    asc_linear_features_f32(c, ASC_LINEAR_K, c->k, c->beta);
    asc_linear_decays_f32(c);
    find_levels_f32(c, *before->level);
}

/* W: what key j weighs for query i, of j <= i, in rows. Ones are not written: returns whether it was needed. */
static bool find_pair_weights_f32(const asc_linear_chunk *c)
{
    const asc_linear_job *j = c->j;
    if (!by_level(c) && !j->o->fixed_decay && !j->call->in[ASC_LINEAR_FORGET].data) {
        return false;
    }
    double key[C];
    for (int64_t i = 0; i < c->rows; i++) {
        key[i] = c->beta[i] - c->G[i];
    }
    for (int64_t i = 0; i < c->rows; i++) {
        double query = c->G[i] - c->M[i];
        float *w = (float *)c->W + i * C;
        for (int64_t l = 0; l <= i; l++) {
            w[l] = (float)(key[l] + query);
        }
        asc_kernels_f32()->exp(w, w, i + 1);
    }
    return true;
}

/* A = φ̃(q) φ̃(k)ᵀ ∘ W for j <= i, else 0. */
static void attend_own_f32(const asc_linear_chunk *c, bool weighted)
{
    int64_t m = c->j->m;
    float *A = c->A;
    product_f32(false, true, c->rows, c->rows, m, c->q, m, c->k, m, 0, A, C);
    for (int64_t i = 0; i < c->rows; i++) {
        if (weighted) {
            asc_kernels_f32()->mul(A + i * C, A + i * C, (const float *)c->W + i * C, i + 1);
        }
        memset(A + i * C + i + 1, 0, (size_t)(c->rows - i - 1) * sizeof *A);
    }
}

/* ε at the scale of a query's divisor. */
static double floor_f32(const asc_linear_chunk *c, int64_t i)
{
    const asc_linear_attention_options *o = c->j->o;
    double features = o->feature == ASC_FEATURE_FAVOR ? (double)c->j->m : 1;
    return o->eps * features * exp(-c->alpha[i] - c->M[i]);
}

void asc_linear_attend_f32(void *arg, int64_t piece, int worker)
{
    const asc_linear_job *j = arg;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    asc_linear_chunk c = asc_linear_chunk_at(j, piece, worker);
    state_f32 before = state_at_f32(j, j->states, before_of(&c));
    float *y = rows_of_f32(&c, &j->call->out[ASC_LINEAR_Y]), *A = c.A, *qs = c.dq;
    float *scale = (float *)j->call->saved[ASC_LINEAR_SCALE].data + (c.b * j->H + c.h) * j->N + c.first;
    const float *v = rows_of_f32(&c, &j->call->in[ASC_LINEAR_V]);
    double share[C];
    int64_t ld = j->H * j->dv;
    open_f32(&c, &before);
    find_shares_f32(&c, *before.level, share);
    weigh_rows_f32(&c, qs, c.q, c.rows, share);
    product_f32(false, false, c.rows, j->dv, j->m, qs, j->m, before.S, j->dv, 0, y, ld);
    if (!j->o->full) {
        attend_own_f32(&c, find_pair_weights_f32(&c));
        product_f32(false, false, c.rows, j->dv, c.rows, A, C, v, ld, 1, y, ld);
    }
    for (int64_t i = 0; i < c.rows; i++) {
        double own = j->o->full ? 0 : (double)k->sum(A + i * C, i + 1);
        double divisor = own + (double)k->dot(qs + i * j->m, before.n, j->m) + floor_f32(&c, i);
        scale[i] = (float)(1 / divisor);
        k->scale(y + i * ld, scale[i], y + i * ld, j->dv);
    }
}

/* dnum = dy/divisor, [CHUNK, dv], and dden = -dy·y/divisor. */
static void divide_grad_f32(const asc_linear_chunk *c, float *dnum, float *dden)
{
    const asc_linear_job *j = c->j;
    const float *dy = rows_of_f32(c, &j->call->grad_out[ASC_LINEAR_Y]),
                *y = rows_of_f32(c, &j->call->out[ASC_LINEAR_Y]);
    const float *scale = (const float *)j->call->saved[ASC_LINEAR_SCALE].data + (c->b * j->H + c->h) * j->N + c->first;
    for (int64_t i = 0; i < c->rows; i++) {
        const float *row = dy + i * j->H * j->dv;
        asc_kernels_f32()->scale(dnum + i * j->dv, scale[i], row, j->dv);
        dden[i] = -scale[i] * asc_kernels_f32()->dot(row, y + i * j->H * j->dv, j->dv);
    }
}

void asc_linear_gather_grad_f32(void *arg, int64_t piece, int worker)
{
    const asc_linear_job *j = arg;
    asc_linear_chunk c = asc_linear_chunk_at(j, piece, worker);
    state_f32 before = state_at_f32(j, j->states, before_of(&c));
    state_f32 ds = state_at_f32(j, j->cotangents, (c.b * j->H + c.h) * (j->chunks + 1) + c.c);
    float *qs = c.dq, *dnum = c.dx, dden[C];
    double share[C];
    open_f32(&c, &before);
    j->passed[piece] = c.rows > 0 ? c.G[c.rows - 1] : 0;
    find_shares_f32(&c, *before.level, share);
    weigh_rows_f32(&c, qs, c.q, c.rows, share);
    divide_grad_f32(&c, dnum, dden);
    product_f32(true, false, j->m, j->dv, c.rows, qs, j->m, dnum, j->dv, 0, ds.S, j->dv);
    memset(ds.n, 0, (size_t)j->m * sizeof *ds.n);
    for (int64_t i = 0; i < c.rows; i++) {
        asc_kernels_f32()->axpy(ds.n, dden[i], qs + i * j->m, j->m);
    }
}

/* From queries to the state before: dφ̃(q) = share (dnum Sᵀ + dden n). */
static void query_state_f32(const asc_linear_chunk *c, const state_f32 *before, const float *dnum, const float *dden)
{
    const asc_linear_job *j = c->j;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    float *dq = c->dq;
    double share[C];
    find_shares_f32(c, *before->level, share);
    product_f32(false, true, c->rows, j->m, j->dv, dnum, j->dv, before->S, j->dv, 0, dq, j->m);
    for (int64_t i = 0; i < c->rows; i++) {
        k->axpy(dq + i * j->m, dden[i], before->n, j->m);
        k->scale(dq + i * j->m, (float)share[i], dq + i * j->m, j->m);
    }
}

/* From the state after to keys and values: dφ̃(k) = weight (v dSᵀ + dn), dv (+)= weight φ̃(k) dS. Uses x. */
static void key_state_f32(const asc_linear_chunk *c, const float *v)
{
    const asc_linear_job *j = c->j;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    state_f32 after = state_at_f32(j, j->states, after_of(c)), ds = state_at_f32(j, j->cotangents, after_of(c));
    float *dk = c->dk,
          *dv = j->call->grad_in[ASC_LINEAR_V].data ? rows_of_f32(c, &j->call->grad_in[ASC_LINEAR_V]) : NULL;
    int64_t ld = j->H * j->dv;
    double weight[C];
    find_weights_f32(c, (double)*after.level, weight);
    if (dv) {
        weigh_rows_f32(c, dk, c->k, c->keys, weight);
        product_f32(false, false, c->keys, j->dv, j->m, dk, j->m, ds.S, j->dv, !j->call->fresh[ASC_LINEAR_V], dv, ld);
        for (int64_t i = c->keys; i < c->rows && j->call->fresh[ASC_LINEAR_V]; i++) {
            memset(dv + i * ld, 0, (size_t)j->dv * sizeof *dv);
        }
    }
    product_f32(false, true, c->keys, j->m, j->dv, v, ld, ds.S, j->dv, 0, dk, j->m);
    memset(dk + c->keys * j->m, 0, (size_t)((c->rows - c->keys) * j->m) * sizeof *dk);
    for (int64_t i = 0; i < c->keys; i++) {
        k->acc(dk + i * j->m, ds.n, j->m);
        k->scale(dk + i * j->m, (float)weight[i], dk + i * j->m, j->m);
    }
}

/* Within the chunk: A' = dnum vᵀ + dden for j <= i, dv += Aᵀ dnum, dφ̃(q) += (A'∘W) φ̃(k), dφ̃(k) += (A'∘W)ᵀ φ̃(q). */
static void own_grad_f32(const asc_linear_chunk *c, const float *v, const float *dnum, const float *dden)
{
    const asc_linear_job *j = c->j;
    float *A = c->A, *dv = j->call->grad_in[ASC_LINEAR_V].data ? rows_of_f32(c, &j->call->grad_in[ASC_LINEAR_V]) : NULL;
    int64_t ld = j->H * j->dv;
    bool weighted = find_pair_weights_f32(c);
    if (dv) {
        attend_own_f32(c, weighted);
        product_f32(true, false, c->rows, j->dv, c->rows, A, C, dnum, j->dv, 1, dv, ld);
    }
    product_f32(false, true, c->rows, c->rows, j->dv, dnum, j->dv, v, ld, 0, A, C);
    for (int64_t i = 0; i < c->rows; i++) {
        float *row = A + i * C;
        for (int64_t l = 0; l <= i; l++) {
            row[l] += dden[i];
        }
        if (weighted) {
            asc_kernels_f32()->mul(row, row, (const float *)c->W + i * C, i + 1);
        }
        memset(row + i + 1, 0, (size_t)(c->rows - i - 1) * sizeof *row);
    }
    product_f32(false, false, c->rows, j->m, c->rows, A, C, c->k, j->m, 1, c->dq, j->m);
    product_f32(true, false, c->rows, j->m, c->rows, A, C, c->q, j->m, 1, c->dk, j->m);
}

/* The gradient of the decays' logits. y depends on log f_t by e^G: from the queries from t on, of the keys from t on
 * the other way round, and by what the chunk leaves of the state before it and of its own keys up to t. */
static void forget_grad_f32(const asc_linear_chunk *c, const double *from_state)
{
    const asc_linear_job *j = c->j;
    const asc_call *call = j->call;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    int64_t at = (c->b * j->N + c->first) * j->H + c->h, m = j->m;
    const float *logit = (const float *)call->in[ASC_LINEAR_FORGET].data + at;
    float *to = (float *)call->grad_in[ASC_LINEAR_FORGET].data + at;
    state_f32 before = state_at_f32(j, j->states, before_of(c)), after = state_at_f32(j, j->states, after_of(c));
    state_f32 ds = state_at_f32(j, j->cotangents, after_of(c));
    double end = c->G[c->rows - 1],
           sum = asc_linear_factor((double)*before.level + end - (double)*after.level) *
                 ((double)k->dot(ds.S, before.S, m * j->dv) + (double)k->dot(ds.n, before.n, m));
    for (int64_t i = 0; i < c->rows; i++) {
        sum += from_state[i];
    }
    for (int64_t i = c->rows - 1; i >= 0; i--) {
        sum += (double)k->dot((float *)c->q + i * m, (float *)c->dq + i * m, m) -
               (double)k->dot((float *)c->k + i * m, (float *)c->dk + i * m, m);
        double x = (double)logit[i * j->H];
        float g = (float)(sum / (1 + exp(x)));
        to[i * j->H] = call->fresh[ASC_LINEAR_FORGET] ? g : to[i * j->H] + g;
    }
}

static void attend_grad_f32(const asc_linear_job *j, int64_t piece, int worker, int64_t group)
{
    asc_linear_chunk c = asc_linear_chunk_at(j, piece, worker);
    state_f32 before = state_at_f32(j, j->states, before_of(&c));
    const float *v = rows_of_f32(&c, &j->call->in[ASC_LINEAR_V]);
    float *dnum = c.dx, dden[C];
    double from_state[C];
    c.group = group;
    open_f32(&c, &before);
    divide_grad_f32(&c, dnum, dden);
    query_state_f32(&c, &before, dnum, dden);
    key_state_f32(&c, v);
    for (int64_t i = 0; i < c.rows; i++) {
        from_state[i] = (double)asc_kernels_f32()->dot((float *)c.k + i * j->m, (float *)c.dk + i * j->m, j->m);
    }
    if (!j->o->full) {
        own_grad_f32(&c, v, dnum, dden);
    }
    if (j->call->grad_in[ASC_LINEAR_FORGET].data) {
        forget_grad_f32(&c, from_state);
    }
    asc_linear_features_grad_f32(&c, ASC_LINEAR_Q, c.q, c.dq);
    asc_linear_features_grad_f32(&c, ASC_LINEAR_K, c.k, c.dk);
}

void asc_linear_attend_grad_f32(void *arg, int64_t piece, int worker)
{
    attend_grad_f32(arg, piece, worker, 0);
}

void asc_linear_attend_grad_group_f32(void *arg, int64_t group, int worker)
{
    const asc_linear_job *j = arg;
    memset((float *)j->features + group * j->m * j->d, 0, (size_t)(j->m * j->d) * sizeof(float));
    for (int64_t piece = group; piece < j->B * j->H * j->chunks; piece += ASC_LINEAR_GROUPS) {
        attend_grad_f32(j, piece, worker, group);
    }
}

/* ---- end of float ---- */
#include "ops/linear_attention/chunk.f64.h"
