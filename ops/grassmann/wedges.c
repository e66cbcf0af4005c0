/* ops/grassmann/wedges.c: pairs of vectors of a strip, and what a group makes of them: û∧y, its gradient, and how a row
 * of z gathers it. */
#include "ops/grassmann/grassmann.h"

#include <string.h>

enum { S = ASC_STRIP };
enum { ON_Q, ON_V, ON_U, SHARES };

/* on_q, on_v or on_u of a pair in a group, from a row on, which may be up to S - 1 before the first. */
static inline double *share_at(const asc_grassmann_job *job, int pair, int64_t group, int what, int64_t row)
{
    return (double *)job->shares.x + ((pair * job->G + group) * SHARES + what) * job->shares.ld + S + row;
}

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- one group of a strip ---- */

/* û and y of a group; its pairs are kept if the job keeps them. */
static void sum_pairs_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                          asc_strip_first *first)
{
    int64_t n = job->width;
    double there[S];
    asc_strip_there(job, w, there);
    asc_kernels_f32()->strip_load(w->u, asc_column_at_f32(&job->z, group * n, asc_strip_row(job, s)), job->z.ld, there,
                                  n);
    asc_kernels_f32()->strip_first(w->unit, first, w->u, n);
    memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
    for (int p = 0; p < job->pairs; p++) {
        const double *weight = w->weight + p * S;
        double *v = w->across + (job->keeps ? p * n * S : 0);
        asc_strip_pair *pair = w->pair + (job->keeps ? p : 0);
        if (asc_strip_any(weight)) {
            memcpy(pair->weight, weight, sizeof pair->weight);
            asc_grassmann_load_second_f32(job, s, p, group, weight, v);
            asc_kernels_f32()->strip_add_pair(w->y, v, w->u, first, pair, n, job->attrs->eps, job->attrs->eps_rel);
        }
    }
    asc_kernels_f32()->strip_round(w->sum, w->y, n);
}

static void make_wedges_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                            void *p, int64_t ld)
{
    asc_strip_first u;
    sum_pairs_f32(job, w, s, group, &u);
    asc_kernels_f32()->strip_wedge(p, ld, w->unit, w->sum, job->width, s.lanes);
}

/* ---- backward: a token's own gradient, and what its pairs add to others' ---- */

/* What a pair adds to the gradient of its second vector, where that is one of z: kept until all pairs have it. */
static void keep_share_f32(const asc_grassmann_job *job, const asc_strip_pair *pair, asc_grassmann_strip s,
                           int64_t group, int p)
{
    int64_t row = asc_strip_row(job, s);
    if (job->shares.x) {
        asc_put_columns(share_at(job, p, group, ON_Q, row), 0, pair->on_q, 1, s.lanes);
        asc_put_columns(share_at(job, p, group, ON_V, row), 0, pair->on_v, 1, s.lanes);
        asc_put_columns(share_at(job, p, group, ON_U, row), 0, pair->on_u, 1, s.lanes);
    }
}

/* The same where it is the memory, which no other token has; pair NULL: no token of the strip has. */
static void memory_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, const asc_strip_pair *pair,
                            asc_grassmann_strip s, int64_t group)
{
    float *dm = job->call->grad_in[ASC_GRASSMANN_MEMORY].data;
    int64_t n = job->width, token = asc_strip_token(job, s);
    if (!dm) {
        return;
    }
    memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
    if (pair) {
        asc_kernels_f32()->strip_second_grad(
            w->y, pair->on_q, pair->on_v, pair->on_u, w->q, S, asc_column_at_f32(&job->memory, group * n, token),
            job->memory.ld, asc_column_at_f32(&job->z, group * n, asc_strip_row(job, s)), job->z.ld, n);
    }
    asc_put_rows_f32(dm + token * job->r + group * n, job->r, w->y, n, s.lanes, job->call->fresh[ASC_GRASSMANN_MEMORY]);
}

/* Through every pair of a group, q being there: the vectors' gradients, and what of u's is along q and û. */
static void pairs_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                           double *on_q, double *on_unit)
{
    for (int p = 0; p < job->pairs; p++) {
        asc_strip_pair *pair = asc_strip_any(w->weight + p * S) ? w->pair + p : NULL;
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
        for (int e = 0; e < 2 * S && asc_strip_any(w->weight + p * S); e++) {
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
        asc_put_columns(asc_own_at(job, group, asc_strip_row(job, s)), job->own.ld, w->du, n, s.lanes);
        float *q = asc_column_at_f32(&job->q, group * n, asc_strip_row(job, s));
        for (int64_t i = 0; i < n; i++) {
            memcpy(q + i * job->q.ld, (const float *)w->q + i * S, (size_t)s.lanes * sizeof *q);
        }
    }
}

static void wedges_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                            void *p, int64_t ld)
{
    asc_strip_first u;
    sum_pairs_f32(job, w, s, group, &u);
    group_grad_f32(job, w, s, group, &u, p, ld);
    asc_kernels_f32()->strip_wedge(p, ld, w->unit, w->sum, job->width, s.lanes);
}

/* ---- backward, at last: a row of z gathers what others' pairs add to its gradient ---- */

/* A strip of rows: their own part, then that of every pair whose second vector one of them is. */
static void gather_f32(void *arg, int64_t piece, int worker)
{
    const asc_grassmann_job *job = arg;
    asc_call *call = job->call;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t n = job->width, rows = job->B * job->N, row = piece * S;
    int lanes = rows - row < S ? (int)(rows - row) : S;
    for (int64_t group = 0; group < job->G; group++) {
        const double *own = asc_own_at(job, group, row);
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
                share_at(job, p, group, ON_U, from), asc_column_at_f32(&job->q, group * n, from), job->q.ld,
                asc_column_at_f32(&job->z, group * n, row), job->z.ld, asc_column_at_f32(&job->z, group * n, from),
                job->z.ld, n);
        }
        asc_put_rows_f32((float *)call->grad_in[ASC_GRASSMANN_Z].data + row * job->r + group * n, job->r, w.du, n,
                         lanes, call->fresh[ASC_GRASSMANN_Z]);
    }
}

/* ---- end of float ---- */
#include "ops/grassmann/wedges.f64.h"

const asc_grassmann_kind asc_grassmann_wedges = {make_wedges_f32, make_wedges_f64, wedges_grad_f32,
                                                 wedges_grad_f64, gather_f32,      gather_f64};
