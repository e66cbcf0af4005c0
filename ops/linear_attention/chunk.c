/* ops/linear_attention/chunk.c: a chunk of linear attention, forward and backward: its own keys by a product of queries
 * and keys, all keys before it by way of the state. linear_attention.c has the formulas. */
#include "ops/linear_attention/linear_attention.h"

#include <float.h>
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

/* Whether every key, and the state before, weighs 1 for every query that sees it: one that was given has a scale. */
static bool weighs_one(const asc_linear_chunk *c)
{
    bool scaled = c->c == 0 && c->j->call->in[ASC_LINEAR_INITIAL].ndim >= 0;
    return !scaled && !by_level(c) && !c->j->o->fixed_decay && !c->j->call->in[ASC_LINEAR_FORGET].data;
}

/* Whether there is nothing in the state before: a sequence's first chunk. */
static bool begins(const asc_linear_chunk *c)
{
    return !c->j->o->full && c->c == 0 && c->j->call->in[ASC_LINEAR_INITIAL].ndim < 0;
}

/* Whether no output depends on the state after: a sequence's last chunk. */
static bool ends(const asc_linear_chunk *c)
{
    return !c->j->o->full && c->c == c->j->chunks - 1;
}

/* ---- a worker's memory ---- */

static void lay_out(const asc_linear_job *j, asc_space *space, asc_linear_chunk *c)
{
    size_t size = asc_dtype_size(j->call->in[ASC_LINEAR_Q].dtype);
    size_t features = (size_t)(C * j->m) * size, square = C * C * size;
    size_t widest = (size_t)(C * (j->d > j->dv ? j->d : j->dv)) * size;
    int64_t rows = j->m > j->dv ? j->m : j->dv, columns = j->m > C ? j->m : C;
    c->q = asc_carve(space, features);
    c->k = asc_carve(space, features);
    c->A = asc_carve(space, square);
    c->W = asc_carve(space, square);
    c->x = asc_carve(space, widest);
    c->dx = asc_carve(space, widest);
    c->dq = asc_carve(space, features);
    c->dk = asc_carve(space, features);
    c->turned = asc_carve(space, (size_t)(rows * asc_turned_ld(columns)) * size);
}

size_t asc_linear_worker_bytes(const asc_linear_job *j)
{
    asc_space space = {NULL, 0};
    asc_linear_chunk c;
    lay_out(j, &space, &c);
    return space.used;
}

/* Chunk number `piece` of the call, with the worker's memory. */
static asc_linear_chunk chunk_at(const asc_linear_job *j, int64_t piece, int worker)
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

static void product_f32(const asc_linear_chunk *c, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a,
                        int64_t lda, const float *b, int64_t ldb, float beta, float *to, int64_t ldc)
{
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(c->j->call->ctx),
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
                             .c = to,
                             .ldc = ldc});
}

/* C = A Bᵀ (+ C): by way of a copy, as small products with a transposed B are slow. A is [m, k], B [n, k]. */
static void turned_product_f32(const asc_linear_chunk *c, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                               const float *b, int64_t ldb, float beta, float *to, int64_t ldc)
{
    int64_t ld = asc_turned_ld(n);
    asc_kernels_f32()->transpose(c->turned, ld, b, ldb, n, k);
    product_f32(c, false, false, m, n, k, a, lda, c->turned, ld, beta, to, ldc);
}

/* log f = -log(1 + e^-x) of the logits x, but not below -ASC_LINEAR_MOST_FADED. */
static void find_decays_f32(asc_linear_chunk *c)
{
    const asc_array *forget = &c->j->call->in[ASC_LINEAR_FORGET];
    const float *logit = forget->data;
    double fixed = c->j->o->fixed_decay ? log1p(-exp2(-5 - (double)c->h)) : 0, sum = 0;
    float fade[C];
    for (int64_t i = 0; logit && i < c->rows; i++) {
        fade[i] = -logit[(c->b * c->j->N + c->first + i) * c->j->H + c->h];
    }
    if (logit) {
        asc_kernels_f32()->softplus(fade, fade, c->rows);
    }
    for (int64_t i = 0; i < c->rows; i++) {
        double faded = logit ? (double)fade[i] : -fixed;
        c->G[i] = sum -= faded > ASC_LINEAR_MOST_FADED ? ASC_LINEAR_MOST_FADED : faded;
    }
}

/* The level as a float, and not below it: from 1e9 on floats lie so far apart that e^(β - level) would overflow. */
float asc_linear_level_f32(double level)
{
    float to = (float)level;
    return (double)to < level ? (float)(level + fabs(level) * (double)FLT_EPSILON) : to;
}

/* The level at every query, from that of the state before; a float, as asc_linear_gather_grad_f32 reads it again. */
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
        c->M[i] = (double)asc_linear_level_f32(level);
    }
}

/* Levels of the chunk's queries in the saved array. */
static float *levels_of_f32(const asc_linear_chunk *c)
{
    const asc_linear_job *j = c->j;
    return (float *)j->call->saved[ASC_LINEAR_LEVEL].data + (c->b * j->H + c->h) * j->N + c->first;
}

/* φ̃ of keys or queries times what they weigh: in `to`, [CHUNK, m], or where it stands if all weigh 1. */
static const float *weigh_rows_f32(const asc_linear_chunk *c, float *to, const float *phi, int64_t rows,
                                   const double *weight)
{
    if (weighs_one(c)) {
        return phi;
    }
    for (int64_t i = 0; i < rows; i++) {
        asc_kernels_f32()->scale(to + i * c->j->m, (float)weight[i], phi + i * c->j->m, c->j->m);
    }
    return to;
}

/* What the state before weighs at each query. */
static void find_shares_f32(const asc_linear_chunk *c, float before, double *share)
{
    for (int64_t i = 0; i < c->rows && !weighs_one(c); i++) {
        share[i] = asc_linear_factor(c->j->o->full ? (double)before - c->M[i] : (double)before + c->G[i] - c->M[i]);
    }
}

/* What each key weighs in the state after, at that one's level. */
static void find_weights_f32(const asc_linear_chunk *c, double level, double *weight)
{
    double end = c->rows > 0 ? c->G[c->rows - 1] : 0;
    for (int64_t i = 0; i < c->keys && !weighs_one(c); i++) {
        weight[i] = asc_linear_factor(c->beta[i] + (c->j->o->full ? 0 : end - c->G[i]) - level);
    }
}

void asc_linear_gather_f32(void *arg, int64_t piece, int worker)
{
    const asc_linear_job *j = arg;
    asc_linear_chunk c = chunk_at(j, piece, worker);
    int64_t slot = (c.b * j->H + c.h) * (j->chunks + 1) + c.c + 1;
    state_f32 s = state_at_f32(j, j->states, slot);
    double weight[C], level = by_level(&c) ? -INFINITY : 0;
    if (ends(&c) && !j->wants_last) {
        return;
    }
    asc_linear_features_f32(&c, ASC_LINEAR_K, c.k, c.beta);
    find_decays_f32(&c);
    double end = j->passed[piece] = c.rows > 0 ? c.G[c.rows - 1] : 0;
    for (int64_t i = 0; i < c.keys && by_level(&c); i++) {
        level = fmax(level, c.beta[i] + (j->o->full ? 0 : end - c.G[i]));
    }
    *s.level = asc_linear_level_f32(level);
    find_weights_f32(&c, (double)*s.level, weight);
    const float *ks = weigh_rows_f32(&c, c.dk, c.k, c.keys, weight);
    product_f32(&c, true, false, j->m, j->dv, c.keys, ks, j->m, rows_of_f32(&c, &j->call->in[ASC_LINEAR_V]),
                j->H * j->dv, 0, s.S, j->dv);
    memset(s.n, 0, (size_t)j->m * sizeof *s.n);
    asc_kernels_f32()->sum_rows(s.n, ks, c.keys, j->m);
}

/* Features, decays and levels of a chunk, from the state before it. */
static void open_f32(asc_linear_chunk *c, const state_f32 *before)
{
    asc_linear_features_f32(c, ASC_LINEAR_Q, c->q, c->alpha);
    asc_linear_features_f32(c, ASC_LINEAR_K, c->k, c->beta);
    find_decays_f32(c);
    find_levels_f32(c, *before->level);
}

/* W: what key j weighs for query i, of j <= i, in rows. Ones are not written. */
static void find_pair_weights_f32(const asc_linear_chunk *c)
{
    double key[C];
    for (int64_t i = 0; i < c->rows; i++) {
        key[i] = c->beta[i] - c->G[i];
    }
    for (int64_t i = 0; i < c->rows && !weighs_one(c); i++) {
        double query = c->G[i] - c->M[i];
        float *w = (float *)c->W + i * C;
        for (int64_t l = 0; l <= i; l++) {
            w[l] = (float)(key[l] + query);
        }
        asc_kernels_f32()->exp(w, w, i + 1);
    }
}

/* A∘W for j <= i, else 0. */
static void weigh_pairs_f32(const asc_linear_chunk *c)
{
    for (int64_t i = 0; i < c->rows; i++) {
        float *row = (float *)c->A + i * C;
        if (!weighs_one(c)) {
            asc_kernels_f32()->mul(row, row, (const float *)c->W + i * C, i + 1);
        }
        memset(row + i + 1, 0, (size_t)(c->rows - i - 1) * sizeof *row);
    }
}

/* A = φ̃(q) φ̃(k)ᵀ ∘ W for j <= i, else 0. */
static void attend_own_f32(const asc_linear_chunk *c)
{
    int64_t m = c->j->m;
    turned_product_f32(c, c->rows, c->rows, m, c->q, m, c->k, m, 0, c->A, C);
    weigh_pairs_f32(c);
}

/* ε at the scale of a query's divisor. */
static double floor_f32(const asc_linear_chunk *c, int64_t i)
{
    double eps = c->j->o->eps;
    return by_level(c) ? eps * (double)c->j->m * exp(-c->alpha[i] - c->M[i]) : eps;
}

/* y = num/divisor, where `total` comes as the divisors without ε. */
static void divide_f32(const asc_linear_chunk *c, float *y, const double *total)
{
    const asc_linear_job *j = c->j;
    float *scale = (float *)j->call->saved[ASC_LINEAR_SCALE].data + (c->b * j->H + c->h) * j->N + c->first;
    for (int64_t i = 0; i < c->rows; i++, y += j->H * j->dv) {
        scale[i] = (float)(1 / (total[i] + floor_f32(c, i)));
        asc_kernels_f32()->scale(y, scale[i], y, j->dv);
    }
}

void asc_linear_attend_f32(void *arg, int64_t piece, int worker)
{
    const asc_linear_job *j = arg;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    asc_linear_chunk c = chunk_at(j, piece, worker);
    state_f32 before = state_at_f32(j, j->states, before_of(&c));
    float *y = rows_of_f32(&c, &j->call->out[ASC_LINEAR_Y]), *A = c.A;
    const float *v = rows_of_f32(&c, &j->call->in[ASC_LINEAR_V]);
    double share[C], total[C] = {0};
    int64_t ld = j->H * j->dv;
    open_f32(&c, &before);
    for (int64_t i = 0; i < c.rows && by_level(&c); i++) {
        levels_of_f32(&c)[i] = (float)c.M[i];
    }
    if (!begins(&c)) {
        find_shares_f32(&c, *before.level, share);
        const float *qs = weigh_rows_f32(&c, c.dq, c.q, c.rows, share);
        product_f32(&c, false, false, c.rows, j->dv, j->m, qs, j->m, before.S, j->dv, 0, y, ld);
        for (int64_t i = 0; i < c.rows; i++) {
            total[i] = (double)k->dot(qs + i * j->m, before.n, j->m);
        }
    }
    if (!j->o->full) {
        find_pair_weights_f32(&c);
        attend_own_f32(&c);
        product_f32(&c, false, false, c.rows, j->dv, c.rows, A, C, v, ld, !begins(&c), y, ld);
        for (int64_t i = 0; i < c.rows; i++) {
            total[i] += (double)k->sum(A + i * C, i + 1);
        }
    }
    divide_f32(&c, y, total);
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
    asc_linear_chunk c = chunk_at(j, piece, worker);
    state_f32 before = state_at_f32(j, j->states, before_of(&c));
    state_f32 ds = state_at_f32(j, j->cotangents, (c.b * j->H + c.h) * (j->chunks + 1) + c.c);
    float *dnum = c.dx, dden[C];
    double share[C];
    find_decays_f32(&c);
    j->passed[piece] = c.rows > 0 ? c.G[c.rows - 1] : 0;
    if (begins(&c)) {
        return;
    }
    asc_linear_features_f32(&c, ASC_LINEAR_Q, c.q, c.alpha);
    for (int64_t i = 0; i < c.rows && by_level(&c); i++) {
        c.M[i] = (double)levels_of_f32(&c)[i];
    }
    find_shares_f32(&c, *before.level, share);
    const float *qs = weigh_rows_f32(&c, c.dq, c.q, c.rows, share);
    divide_grad_f32(&c, dnum, dden);
    product_f32(&c, true, false, j->m, j->dv, c.rows, qs, j->m, dnum, j->dv, 0, ds.S, j->dv);
    memset(ds.n, 0, (size_t)j->m * sizeof *ds.n);
    for (int64_t i = 0; i < c.rows; i++) {
        asc_kernels_f32()->axpy(ds.n, dden[i], qs + i * j->m, j->m);
    }
}

/* From queries to the state before: dφ̃(q) = share (dnum Sᵀ + dden nᵀ). */
static void query_state_f32(const asc_linear_chunk *c, const state_f32 *before, const float *dnum, const float *dden)
{
    const asc_linear_job *j = c->j;
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    float *dq = c->dq;
    double share[C];
    if (begins(c)) {
        memset(dq, 0, (size_t)(c->rows * j->m) * sizeof *dq);
        return;
    }
    for (int64_t i = 0; i < c->rows; i++) {
        k->scale(dq + i * j->m, dden[i], before->n, j->m);
    }
    turned_product_f32(c, c->rows, j->m, j->dv, dnum, j->dv, before->S, j->dv, 1, dq, j->m);
    find_shares_f32(c, *before->level, share);
    weigh_rows_f32(c, dq, dq, c->rows, share);
}

/* From the state after to keys: dφ̃(k) = weight (v dSᵀ + dnᵀ). */
static void key_state_f32(const asc_linear_chunk *c, const float *v, const double *weight)
{
    const asc_linear_job *j = c->j;
    state_f32 ds = state_at_f32(j, j->cotangents, after_of(c));
    float *dk = c->dk;
    int64_t keys = ends(c) ? 0 : c->keys;
    for (int64_t i = 0; i < keys; i++) {
        memcpy(dk + i * j->m, ds.n, (size_t)j->m * sizeof *dk);
    }
    turned_product_f32(c, keys, j->m, j->dv, v, j->H * j->dv, ds.S, j->dv, 1, dk, j->m);
    weigh_rows_f32(c, dk, dk, keys, weight);
    memset(dk + keys * j->m, 0, (size_t)((c->rows - keys) * j->m) * sizeof *dk);
}

/* dv (+)= weight φ̃(k) dS + Aᵀ dnum. Uses dk, and makes A. */
static void value_grad_f32(const asc_linear_chunk *c, const double *weight, const float *dnum)
{
    const asc_linear_job *j = c->j;
    state_f32 ds = state_at_f32(j, j->cotangents, after_of(c));
    float *dv = rows_of_f32(c, &j->call->grad_in[ASC_LINEAR_V]);
    bool fresh = j->call->fresh[ASC_LINEAR_V];
    int64_t ld = j->H * j->dv, keys = ends(c) ? 0 : c->keys;
    if (keys > 0) {
        const float *ks = weigh_rows_f32(c, c->dk, c->k, keys, weight);
        product_f32(c, false, false, keys, j->dv, j->m, ks, j->m, ds.S, j->dv, !fresh, dv, ld);
    }
    for (int64_t i = keys; i < c->rows && fresh; i++) {
        memset(dv + i * ld, 0, (size_t)j->dv * sizeof *dv);
    }
    if (!j->o->full) {
        attend_own_f32(c);
        product_f32(c, true, false, c->rows, j->dv, c->rows, c->A, C, dnum, j->dv, 1, dv, ld);
    }
}

/* Within the chunk: A' = (dnum vᵀ + dden) ∘ W for j <= i, dφ̃(q) += A' φ̃(k), dφ̃(k) += A'ᵀ φ̃(q). */
static void own_grad_f32(const asc_linear_chunk *c, const float *v, const float *dnum, const float *dden)
{
    const asc_linear_job *j = c->j;
    float *A = c->A, one[C];
    for (int64_t i = 0; i < C; i++) {
        one[i] = 1;
    }
    for (int64_t i = 0; i < c->rows; i++) {
        asc_kernels_f32()->scale(A + i * C, dden[i], one, c->rows);
    }
    turned_product_f32(c, c->rows, c->rows, j->dv, dnum, j->dv, v, j->H * j->dv, 1, A, C);
    weigh_pairs_f32(c);
    product_f32(c, false, false, c->rows, j->m, c->rows, A, C, c->k, j->m, 1, c->dq, j->m);
    product_f32(c, true, false, c->rows, j->m, c->rows, A, C, c->q, j->m, 1, c->dk, j->m);
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
    double end = c->G[c->rows - 1], sum = 0;
    if (!begins(c) && !ends(c)) {
        sum = asc_linear_factor((double)*before.level + end - (double)*after.level) *
              ((double)k->dot(ds.S, before.S, m * j->dv) + (double)k->dot(ds.n, before.n, m));
    }
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
    asc_linear_chunk c = chunk_at(j, piece, worker);
    state_f32 before = state_at_f32(j, j->states, before_of(&c)), after = state_at_f32(j, j->states, after_of(&c));
    const float *v = rows_of_f32(&c, &j->call->in[ASC_LINEAR_V]);
    float *dnum = c.dx, dden[C];
    double from_state[C], weight[C];
    c.group = group;
    open_f32(&c, &before);
    divide_grad_f32(&c, dnum, dden);
    if (!j->o->full) {
        find_pair_weights_f32(&c);
    }
    if (!ends(&c)) {
        find_weights_f32(&c, (double)*after.level, weight);
    }
    if (j->call->grad_in[ASC_LINEAR_V].data) {
        value_grad_f32(&c, weight, dnum);
    }
    query_state_f32(&c, &before, dnum, dden);
    key_state_f32(&c, v, weight);
    for (int64_t i = 0; i < c.rows && j->call->grad_in[ASC_LINEAR_FORGET].data; i++) {
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
