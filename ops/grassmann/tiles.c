/* ops/grassmann/tiles.c: the loops of the op grassmann over tiles of tokens and strips of a tile. */
#include "ops/grassmann/grassmann.h"

#include <string.h>

enum { S = ASC_STRIP };
enum { ON_Q, ON_V, ON_U, SHARES };

static inline bool any(const double *x)
{
    bool some = false;
    for (int l = 0; l < S; l++) {
        some |= x[l] != 0;
    }
    return some;
}

/* The row of a strip's first token in z, and in the memory. */
static inline int64_t row_of(const asc_grassmann_job *job, asc_grassmann_strip s)
{
    return s.b * job->N + s.t;
}

static inline int64_t token_of(const asc_grassmann_job *job, asc_grassmann_strip s)
{
    return s.b * job->n + s.t - job->attrs->skip;
}

/* on_q, on_v or on_u of a pair in a group, from a row on, which may be up to S - 1 before the first. */
static inline double *share_at(const asc_grassmann_job *job, int pair, int64_t group, int what, int64_t row)
{
    return (double *)job->shares.x + ((pair * job->G + group) * SHARES + what) * job->shares.ld + S + row;
}

static inline double *own_at(const asc_grassmann_job *job, int64_t group, int64_t row)
{
    return (double *)job->own.x + group * job->width * job->own.ld + S + row;
}

/* `n` entries of a strip's lanes into columns. */
static void put_columns(double *to, int64_t ld, const double *strip, int64_t n, int lanes)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * ld, strip + i * S, (size_t)lanes * sizeof *to);
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

/* Entry 0 of a group of a row in columns. */
static inline float *column_at_f32(const asc_columns *c, int64_t first_entry, int64_t row)
{
    return (float *)c->x + first_entry * c->ld + S + row;
}

/* ---- vectors into columns ---- */

static void lay_f32(const asc_columns *to, const asc_array *x, int64_t rows, int64_t r, int64_t piece)
{
    int64_t first = piece * ASC_TILE, n = rows - first < ASC_TILE ? rows - first : ASC_TILE;
    asc_kernels_f32()->transpose(column_at_f32(to, 0, first), to->ld, (const float *)x->data + first * r, r, n, r);
}

void asc_grassmann_lay_z_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_grassmann_job *job = arg;
    lay_f32(&job->z, &job->call->in[ASC_GRASSMANN_Z], job->B * job->N, job->r, piece);
}

void asc_grassmann_lay_memory_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_grassmann_job *job = arg;
    lay_f32(&job->memory, &job->call->in[ASC_GRASSMANN_MEMORY], job->B * job->n, job->r, piece);
}

/* ---- one group of a strip ---- */

static const float *second_of_f32(const asc_grassmann_job *job, asc_grassmann_strip s, int pair, int64_t group,
                                  int64_t *ld)
{
    const asc_columns *c = job->pair[pair].memory ? &job->memory : &job->z;
    int64_t row = job->pair[pair].memory ? token_of(job, s) : row_of(job, s) + job->pair[pair].shift;
    *ld = c->ld;
    return column_at_f32(c, group * job->width, row);
}

/* û and y of a group; its pairs are kept if the job keeps them. */
static void sum_pairs_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                          asc_strip_first *first)
{
    int64_t n = job->width, ld;
    double there[S] = {0};
    for (int p = 0; p < job->pairs; p++) {
        asc_kernels_f64()->acc(there, w->weight + p * S, S);
    }
    asc_kernels_f32()->strip_load(w->u, column_at_f32(&job->z, group * n, row_of(job, s)), job->z.ld, there, n);
    asc_kernels_f32()->strip_first(w->unit, first, w->u, n);
    memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
    for (int p = 0; p < job->pairs; p++) {
        const double *weight = w->weight + p * S;
        double *v = w->across + (job->keeps ? p * n * S : 0);
        asc_strip_pair *pair = w->pair + (job->keeps ? p : 0);
        if (any(weight)) {
            memcpy(pair->weight, weight, sizeof pair->weight);
            const float *second = second_of_f32(job, s, p, group, &ld);
            asc_kernels_f32()->strip_load(v, second, ld, weight, n);
            asc_kernels_f32()->strip_add_pair(w->y, v, w->u, first, pair, n, job->attrs->eps, job->attrs->eps_rel);
        }
    }
    asc_kernels_f32()->strip_round(w->sum, w->y, n);
}

/* ---- forward ---- */

void asc_grassmann_forward_f32(void *arg, int64_t tile, int worker)
{
    const asc_grassmann_job *job = arg;
    const asc_call *call = job->call;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t D = job->D, first = tile * job->tokens.tile, left = job->tokens.rows - first, ld = job->tokens.tile + S;
    int64_t rows = left < job->tokens.tile ? left : job->tokens.tile;
    for (int64_t column = 0; column < rows;) {
        asc_grassmann_strip s = asc_grassmann_strip_at(job, first, rows, column);
        asc_grassmann_weights(job, s, w.weight, w.total + column);
        for (int64_t group = 0; group < job->G; group++) {
            asc_strip_first u;
            sum_pairs_f32(job, &w, s, group, &u);
            asc_kernels_f32()->strip_wedge((float *)w.tile + group * job->R * ld + column, ld, w.unit, w.sum,
                                           job->width, s.lanes);
        }
        column += s.lanes;
    }
    const float *bias = call->in[ASC_GRASSMANN_B].data;
    float *g = (float *)call->out[0].data + first * D;
    for (int64_t t = 0; t < rows && bias; t++) {
        asc_kernels_f32()->scale(g + t * D, (float)w.total[t], bias, D);
    }
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .ta = true,
                             .tb = true,
                             .m = rows,
                             .n = D,
                             .k = job->P,
                             .alpha = job->scale,
                             .a = w.tile,
                             .lda = ld,
                             .b = call->in[ASC_GRASSMANN_W].data,
                             .ldb = job->P,
                             .beta = bias != NULL,
                             .c = g,
                             .ldc = D});
}

/* ---- backward, tile by tile: a token's own gradient, and what its pairs add to others' ---- */

/* dx[lane] (+)= a strip's entries, rows `ld` apart. */
static void put_rows_f32(float *dx, int64_t ld, const double *strip, int64_t n, int lanes, bool fresh)
{
    for (int l = 0; l < lanes; l++) {
        for (int64_t i = 0; i < n; i++) {
            float g = (float)strip[i * S + l];
            dx[l * ld + i] = fresh ? g : dx[l * ld + i] + g;
        }
    }
}

/* What a pair adds to the gradient of its second vector, where that is one of z: kept until all pairs have it. */
static void keep_share_f32(const asc_grassmann_job *job, const asc_strip_pair *pair, asc_grassmann_strip s,
                           int64_t group, int p)
{
    int64_t row = row_of(job, s);
    if (job->shares.x) {
        put_columns(share_at(job, p, group, ON_Q, row), 0, pair->on_q, 1, s.lanes);
        put_columns(share_at(job, p, group, ON_V, row), 0, pair->on_v, 1, s.lanes);
        put_columns(share_at(job, p, group, ON_U, row), 0, pair->on_u, 1, s.lanes);
    }
}

/* The same where it is the memory, which no other token has; pair NULL: no token of the strip has. */
static void memory_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, const asc_strip_pair *pair,
                            asc_grassmann_strip s, int64_t group)
{
    float *dm = job->call->grad_in[ASC_GRASSMANN_MEMORY].data;
    int64_t n = job->width, token = token_of(job, s);
    if (!dm) {
        return;
    }
    memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
    if (pair) {
        asc_kernels_f32()->strip_second_grad(w->y, pair->on_q, pair->on_v, pair->on_u, w->q, S,
                                             column_at_f32(&job->memory, group * n, token), job->memory.ld,
                                             column_at_f32(&job->z, group * n, row_of(job, s)), job->z.ld, n);
    }
    put_rows_f32(dm + token * job->r + group * n, job->r, w->y, n, s.lanes, job->call->fresh[ASC_GRASSMANN_MEMORY]);
}

/* Through every pair of a group, q being there: the vectors' gradients, and what of u's is along q and û. */
static void pairs_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                           double *on_q, double *on_unit)
{
    for (int p = 0; p < job->pairs; p++) {
        asc_strip_pair *pair = any(w->weight + p * S) ? w->pair + p : NULL;
        if (pair) {
            asc_kernels_f32()->strip_pair_grad(w->du, on_q, on_unit, w->across + p * job->width * S, w->q, pair,
                                               job->width);
            asc_kernels_f64()->acc(w->share + p * S, pair->share, S);
        }
        if (job->pair[p].memory) {
            memory_grad_f32(job, w, pair, s, group);
        } else if (pair) {
            keep_share_f32(job, pair, s, group, p);
        }
    }
}

/* y of the pairs that can turn: in a group of two a regular pair's only coordinate is 1 or -1, whatever the vectors do,
 * and its gradient is 0, not what rounding leaves of it. */
static const float *turning_pairs_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w)
{
    if (job->width > 2) {
        return w->sum;
    }
    float *y = w->turning;
    memset(y, 0, 2 * S * sizeof *y);
    for (int p = 0; p < job->pairs; p++) {
        const asc_strip_pair *pair = w->pair + p;
        for (int e = 0; e < 2 * S && any(w->weight + p * S); e++) {
            y[e] += pair->regular[e % S] != 0
                        ? 0
                        : (float)(pair->weight[e % S] * pair->factor[e % S] * w->across[p * 2 * S + e]);
        }
    }
    return y;
}

/* The cotangents of a group's coordinates taken back to its vectors. */
static void group_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                           const asc_strip_first *first, const float *coordinates, int64_t ld)
{
    int64_t n = job->width;
    double on_q[S] = {0}, on_unit[S] = {0};
    asc_kernels_f32()->strip_wedge_grad(w->q, w->Mb, coordinates, ld, w->unit, turning_pairs_f32(job, w), n);
    memset(w->du, 0, (size_t)(n * S) * sizeof *w->du);
    pairs_grad_f32(job, w, s, group, on_q, on_unit);
    asc_kernels_f32()->strip_first_grad(w->du, w->Mb, w->q, w->unit, on_q, on_unit, first, n);
    if (job->own.x) {
        put_columns(own_at(job, group, row_of(job, s)), job->own.ld, w->du, n, s.lanes);
        float *q = column_at_f32(&job->q, group * n, row_of(job, s));
        for (int64_t i = 0; i < n; i++) {
            memcpy(q + i * job->q.ld, (const float *)w->q + i * S, (size_t)s.lanes * sizeof *q);
        }
    }
}

/* A tile of g's cotangents: the vectors' gradients. The coordinates, which the weight's gradient needs, take the place
 * of their own cotangents in w->tile. */
static void tile_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, int64_t first, int64_t rows,
                          double *doffset)
{
    const asc_call *call = job->call;
    int64_t D = job->D, P = job->P, ld = job->tokens.tile + S;
    const float *dg = (const float *)call->grad_out[0].data + first * D;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .ta = true,
                             .tb = true,
                             .m = P,
                             .n = rows,
                             .k = D,
                             .alpha = job->scale,
                             .a = call->in[ASC_GRASSMANN_W].data,
                             .lda = P,
                             .b = dg,
                             .ldb = D,
                             .c = w->tile,
                             .ldc = ld});
    for (int64_t column = 0; column < rows;) {
        asc_grassmann_strip s = asc_grassmann_strip_at(job, first, rows, column);
        asc_grassmann_weights(job, s, w->weight, w->total + column);
        memset(w->share, 0, (size_t)(job->pairs * S) * sizeof *w->share);
        for (int64_t group = 0; group < job->G; group++) {
            asc_strip_first u;
            float *coordinates = (float *)w->tile + group * job->R * ld + column;
            sum_pairs_f32(job, w, s, group, &u);
            group_grad_f32(job, w, s, group, &u, coordinates, ld);
            asc_kernels_f32()->strip_wedge(coordinates, ld, w->unit, w->sum, job->width, s.lanes);
        }
        if (doffset) {
            asc_grassmann_weights_grad(job, w, doffset);
        }
        column += s.lanes;
    }
}

void asc_grassmann_backward_f32(void *arg, int64_t chunk, int worker)
{
    const asc_grassmann_job *job = arg;
    const asc_call *call = job->call;
    const asc_tokens *t = &job->tokens;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t D = job->D, P = job->P, begin = chunk * t->chunk;
    int64_t end = begin + t->chunk < t->rows ? begin + t->chunk : t->rows;
    float *dw = job->dw ? (float *)job->dw + chunk * D * P : NULL, *db = job->db ? (float *)job->db + chunk * D : NULL;
    double *doffset = job->doffset ? job->doffset + chunk * job->pairs : NULL;
    if (db) {
        memset(db, 0, (size_t)D * sizeof *db);
    }
    if (doffset) {
        memset(doffset, 0, (size_t)job->pairs * sizeof *doffset);
    }
    for (int64_t first = begin; first < end; first += t->tile) {
        int64_t rows = end - first < t->tile ? end - first : t->tile;
        const float *dg = (const float *)call->grad_out[0].data + first * D;
        tile_grad_f32(job, &w, first, rows, doffset);
        if (dw) {
            asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                     .ta = true,
                                     .tb = true,
                                     .m = D,
                                     .n = P,
                                     .k = rows,
                                     .alpha = job->scale,
                                     .a = dg,
                                     .lda = D,
                                     .b = w.tile,
                                     .ldb = t->tile + S,
                                     .beta = first > begin,
                                     .c = dw,
                                     .ldc = P});
        }
        for (int64_t i = 0; i < rows && db; i++) {
            asc_kernels_f32()->axpy(db, (float)w.total[i], dg + i * D, D);
        }
    }
}

/* ---- backward, at last: a row of z gathers what others' pairs add to its gradient ---- */

/* A strip of rows: their own part, then that of every pair whose second vector one of them is. */
void asc_grassmann_gather_f32(void *arg, int64_t piece, int worker)
{
    const asc_grassmann_job *job = arg;
    asc_call *call = job->call;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t n = job->width, rows = job->B * job->N, row = piece * S;
    int lanes = rows - row < S ? (int)(rows - row) : S;
    for (int64_t group = 0; group < job->G; group++) {
        const double *own = own_at(job, group, row);
        for (int64_t i = 0; i < n; i++) {
            memcpy(w.du + i * S, own + i * job->own.ld, S * sizeof *w.du);
        }
        for (int p = 0; p < job->pairs; p++) {
            int64_t from = row - job->pair[p].shift;
            if (job->pair[p].memory || from <= -S || from >= rows) {
                continue;
            }
            asc_kernels_f32()->strip_second_grad(
                w.du, share_at(job, p, group, ON_Q, from), share_at(job, p, group, ON_V, from),
                share_at(job, p, group, ON_U, from), column_at_f32(&job->q, group * n, from), job->q.ld,
                column_at_f32(&job->z, group * n, row), job->z.ld, column_at_f32(&job->z, group * n, from), job->z.ld,
                n);
        }
        put_rows_f32((float *)call->grad_in[ASC_GRASSMANN_Z].data + row * job->r + group * n, job->r, w.du, n, lanes,
                     call->fresh[ASC_GRASSMANN_Z]);
    }
}

/* ---- end of float ---- */
#include "ops/grassmann/tiles.f64.h"
