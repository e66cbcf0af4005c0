/* ops/ascender/background_rows.c: the panels and rows of ascender_background: scores, attention, and their gradients.
 *
 * Of a row normalised bias the softmax sees β/(σ + ε) alone, as a constant changes nothing there. So alignment and
 * cohesion, which are 0 but for the links of a row, cost as much as these; only the crowding fills its row. */
#ifndef ASC_REAL
#include "ops/ascender/background.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double scalar_of(const asc_background *b, asc_background_scalar which, int64_t h)
{
    const asc_array *a = &b->call->in[ASC_BG_SCALARS + which];
    return a->dtype == ASC_F32 ? (double)((const float *)a->data)[h] : ((const double *)a->data)[h];
}

asc_background_scalars asc_background_head_of(const asc_background *b, int64_t h)
{
    return (asc_background_scalars){
        .crowd = {.rate = 1 / (scalar_of(b, ASC_BACKGROUND_TAU_SEP, h) + asc_background_eps),
                  .near = -scalar_of(b, ASC_BACKGROUND_LAMBDA_DIST, h),
                  .dense = -scalar_of(b, ASC_BACKGROUND_LAMBDA_RHO, h)},
        .theta = scalar_of(b, ASC_BACKGROUND_THETA_COH, h),
        .omega_align = scalar_of(b, ASC_BACKGROUND_OMEGA_ALIGN, h),
        .omega_sep = scalar_of(b, ASC_BACKGROUND_OMEGA_SEP, h),
        .omega_coh = scalar_of(b, ASC_BACKGROUND_OMEGA_COH, h),
        .inverse = 1 / (scalar_of(b, ASC_BACKGROUND_TAU_SCORE, h) + asc_background_eps),
    };
}

/* The head of the panel's batch entry in a (B, n, H w) array. */
static asc_matrix matrix_of(const asc_background *b, const asc_panel *p, const asc_array *a)
{
    return asc_head_matrix(a, p->b, p->h, b->J.H);
}

#define ASC_SELF "ops/ascender/background_rows.c"
#include "ops/shared/both.h"

#else /* for each dtype */

#define EPSILON (sizeof(real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON)

/* A worker's share of a job, at one panel of it. */
typedef struct R(work) {
    const asc_background *b;
    asc_panel p;
    asc_background_scalars g;
    real *S, *d2, *dA, *w;     /* [rows, columns] */
    real *rho;                 /* [columns] */
    real *squeezed, *A;        /* [columns], of one row */
    real *points, *dpoints;    /* [rows, d_z] */
    int32_t *list, *other_list; /* [columns] */
    asc_background_links align, coh;
    real *align_x, *coh_x;     /* β of the links */
    asc_matrix dk, dv, dz, du, dplaces, drho; /* backward: where a chunk adds */
    real *table;
    double *scalars;
} R(work);

static void R(begin_work)(R(work) *w, const asc_background *b, int worker)
{
    int64_t *link = b->links + worker * ASC_BG_LINK_LISTS * b->link_room;
    *w = (R(work)){
        .b = b,
        .S = asc_background_panel(b, worker, 0),
        .d2 = asc_background_panel(b, worker, 1),
        .dA = b->panels > 2 ? asc_background_panel(b, worker, 2) : NULL,
        .w = b->panels > 2 ? asc_background_panel(b, worker, 3) : NULL,
        .rho = asc_background_row_buffer(b, worker, 0),
        .squeezed = asc_background_row_buffer(b, worker, 1),
        .A = asc_background_row_buffer(b, worker, 2),
        .align_x = asc_background_row_buffer(b, worker, 3),
        .coh_x = asc_background_row_buffer(b, worker, 4),
        .points = asc_background_points(b, worker, 0),
        .dpoints = asc_background_points(b, worker, 1),
        .list = asc_background_list(b, worker, 0),
        .other_list = asc_background_list(b, worker, 1),
        .align = {0, link, link + b->link_room},
        .coh = {0, link + 2 * b->link_room, link + 3 * b->link_room},
    };
}

/* ---- what a panel needs ---- */

/* d² of the panel's queries and keys. */
static void R(distances)(R(work) *w)
{
    const asc_background *b = w->b;
    const asc_panel *p = &w->p;
    asc_matrix z = matrix_of(b, p, &b->call->in[ASC_BG_Z]);
    const real *first = (const real *)z.data + (p->first + b->J.M - b->J.N) * z.ld;
    const real *places = (const real *)b->places + asc_background_head(b, p) * b->d_z * b->ld;
    for (int64_t r = 0; r < p->rows; r++) {
        memcpy(w->points + r * b->d_z, first + r * z.ld, (size_t)b->d_z * sizeof *first);
    }
    K->pair_distances(w->d2, p->columns, w->points, b->d_z, places, b->ld, p->rows, p->globals, b->d_z);
    K->pair_distances(w->d2 + p->globals, p->columns, w->points, b->d_z, places + p->from, b->ld, p->rows,
                      p->to - p->from, b->d_z);
}

/* Scores over τ_score + ε, still without the biases by links and crowding. */
static void R(base_scores)(R(work) *w)
{
    const asc_background *b = w->b;
    asc_panel_scores(&w->p, b->scale, matrix_of(b, &w->p, &b->call->in[ASC_BG_Q]),
                     matrix_of(b, &w->p, &b->call->in[ASC_BG_K]), w->S);
    asc_panel_add_bias(&b->J, &w->p, &b->bias, REAL_DTYPE, w->S);
    K->scale(w->S, (real)w->g.inverse, w->S, w->p.rows * w->p.columns);
}

static void R(begin_panel)(R(work) *w, int64_t index)
{
    const asc_background *b = w->b;
    w->p = asc_panel_at(&b->statistics, index);
    w->g = asc_background_head_of(b, w->p.h);
    const real *rho = (const real *)b->rho + asc_background_head(b, &w->p) * b->J.M;
    for (int64_t c = 0; c < w->p.columns; c++) {
        w->rho[c] = rho[asc_panel_key(&w->p, c)];
    }
    R(base_scores)(w);
    R(distances)(w);
}

/* ρ of a row's entries. */
static const real *R(rho_of)(R(work) *w, const asc_panel_row *row)
{
    if (!row->list && (row->globals == 0 || row->start == 0)) {
        return w->rho + row->start;
    }
    memcpy(w->squeezed, w->rho, (size_t)w->p.columns * sizeof *w->rho);
    asc_panel_compact(row, REAL_DTYPE, w->squeezed);
    return w->squeezed + row->start;
}

/* ---- links ---- */

/* β^align and β^coh of row i's links. */
static void R(link)(R(work) *w, const asc_panel_row *row, int64_t i)
{
    const asc_background *b = w->b;
    int64_t H = b->J.H, ld = H * b->d, own = i + b->J.M - b->J.N;
    const real *u = (const real *)b->units + (w->p.b * b->J.M * H + w->p.h) * b->d;
    asc_matrix z = matrix_of(b, &w->p, &b->call->in[ASC_BG_Z]);
    const real *c = (const real *)b->call->saved[ASC_BG_CENTERS].data +
                    (asc_background_head(b, &w->p) * b->J.N + i) * b->d_z;
    asc_background_link(b, &w->p, row, i, false, &w->coh);
    if (b->mutual) {
        asc_background_link(b, &w->p, row, i, true, &w->align);
    } else {
        w->align = w->coh;
    }
    K->gather_dots(w->align_x, u + own * ld, u, ld, w->align.key, w->align.n, b->d);
    K->tanh(w->align_x, w->align_x, w->align.n);
    K->gather_dots(w->coh_x, c, z.data, z.ld, w->coh.key, w->coh.n, b->d_z);
    for (int64_t e = 0; e < w->coh.n; e++) {
        double x = (double)w->coh_x[e] - w->g.theta;
        w->coh_x[e] = x < 0 ? 0 : (real)x;
    }
}

/* ---- scores of a row ---- */

/* The crowding x, and its mean and deviation. Where σ decides that a row is constant, its base is its largest |β|. */
static void R(measure)(const R(work) *w, asc_background_row *at, real *x, const real *rho, int64_t n)
{
    asc_crowd crowd = w->g.crowd;
    real mean = 0, squares = 0;
    if (n > 0) {
        K->crowd(x, x, rho, n, &crowd);
        squares = K->moments(x, n, &mean);
    }
    double sigma = n > 1 ? sqrt((double)squares / (double)(w->b->o->unbiased ? n - 1 : n)) : 0;
    at->base = crowd.base;
    at->mean = (double)mean;
    at->sigma = sigma <= 8 * EPSILON * fabs(crowd.base) ? 0 : sigma;
}

static asc_background_row *R(row_constants)(const R(work) *w, int64_t i)
{
    return (asc_background_row *)w->b->call->saved[ASC_BG_ROWS].data + asc_background_head(w->b, &w->p) * w->b->J.N + i;
}

/* Adds the biases of the links. */
static void R(add_sparse)(R(work) *w, const asc_panel_row *row, int64_t i, real *S, asc_background_norm *align,
                          asc_background_norm *coh)
{
    bool unbiased = w->b->o->unbiased;
    R(link)(w, row, i);
    *align = R(asc_background_link_norm)(w->align_x, w->align.n, row->n, unbiased);
    *coh = R(asc_background_link_norm)(w->coh_x, w->coh.n, row->n, unbiased);
    R(asc_background_add_links)(S, &w->align, w->align_x, w->g.omega_align * align->coef * w->g.inverse);
    R(asc_background_add_links)(S, &w->coh, w->coh_x, w->g.omega_coh * coh->coef * w->g.inverse);
}

/* n scores become their softmax, or, with *lse already known, the same by way of it. */
static void R(softmax_entries)(real *x, int64_t n, double *lse, bool known)
{
    if (n == 0) {
        *lse = 0;
    } else if (known) {
        K->exp_shift(x, x, (real)*lse, n);
    } else {
        real max = K->max(x, n), sum = K->exp_shift(x, x, max, n);
        K->scale(x, 1 / sum, x, n);
        *lse = (double)(max + (real)log((double)sum));
    }
}

/* A row of A from scores that stand in it as row `row` of the statistics has them; 0 outside of J. */
static void R(attend)(R(work) *w, int64_t r, const asc_panel_row *row, real *A, bool known)
{
    asc_background_row *at = R(row_constants)(w, w->p.first + r);
    asc_panel_row allowed = *row;
    if (w->b->apart) {
        allowed = asc_panel_row_of(&w->b->J, &w->p, r, w->other_list);
        asc_panel_compact(&allowed, REAL_DTYPE, A);
    }
    R(softmax_entries)(A + allowed.start, allowed.n, &at->lse, known);
    asc_panel_spread(&w->p, &allowed, REAL_DTYPE, A);
}

/* ---- forward ---- */

static void R(forward_row)(R(work) *w, int64_t r)
{
    const asc_background *b = w->b;
    int64_t i = w->p.first + r;
    asc_panel_row row = asc_panel_row_of(&b->statistics, &w->p, r, w->list);
    real *S = w->S + r * w->p.columns, *x = w->d2 + r * w->p.columns;
    asc_background_row *at = R(row_constants)(w, i);
    asc_background_norm align, coh;
    asc_panel_compact(&row, REAL_DTYPE, S);
    asc_panel_compact(&row, REAL_DTYPE, x);
    x += row.start;
    R(measure)(w, at, x, R(rho_of)(w, &row), row.n);
    asc_background_norm crowd = asc_background_norm_of(at->mean, at->sigma, row.n, b->o->unbiased);
    K->axpy(S + row.start, (real)(w->g.omega_sep * crowd.coef * w->g.inverse), x, row.n);
    R(add_sparse)(w, &row, i, S + row.start, &align, &coh);
    R(attend)(w, r, &row, S, false);
}

void R(asc_background_forward)(void *arg, int64_t piece, int worker)
{
    const asc_background *b = arg;
    R(work) w;
    R(begin_work)(&w, b, worker);
    R(begin_panel)(&w, piece);
    for (int64_t r = 0; r < w.p.rows; r++) {
        R(forward_row)(&w, r);
    }
    asc_panel_mix(&w.p, 1, w.S, matrix_of(b, &w.p, &b->call->in[ASC_BG_V]), false,
                  matrix_of(b, &w.p, &b->call->out[ASC_BG_Y]));
}

/* ---- backward ---- */

/* ⟨u_i, u_j⟩ has the gradient dβ (1 - β²), β = tanh of it. */
static void R(align_grad)(R(work) *w, int64_t i, const real *dS, double sum, const asc_background_norm *m)
{
    const asc_background *b = w->b;
    int64_t H = b->J.H, ld = H * b->d, own = i + b->J.M - b->J.N;
    const real *u = (const real *)b->units + (w->p.b * b->J.M * H + w->p.h) * b->d;
    real *du = w->du.data, *slope = w->A;
    for (int64_t e = 0; e < w->align.n; e++) {
        slope[e] = 1 - w->align_x[e] * w->align_x[e];
    }
    w->scalars[ASC_BACKGROUND_OMEGA_ALIGN] +=
        R(asc_background_link_grad)(w->align_x, &w->align, dS, sum, m, w->g.omega_align);
    if (du && m->coef != 0) {
        K->mul(slope, slope, w->align_x, w->align.n);
        K->gather_sum(du + own * w->du.ld, slope, u, ld, w->align.key, w->align.n, b->d);
        K->scatter_sum(du, w->du.ld, w->align.key, slope, u + own * ld, w->align.n, b->d);
    }
}

/* relu(⟨z_j, c_i⟩ - θ), c_i being the mean of z over N(i). */
static void R(coh_grad)(R(work) *w, int64_t i, const real *dS, double sum, const asc_background_norm *m)
{
    const asc_background *b = w->b;
    asc_matrix z = matrix_of(b, &w->p, &b->call->in[ASC_BG_Z]);
    const real *c = (const real *)b->call->saved[ASC_BG_CENTERS].data +
                    (asc_background_head(b, &w->p) * b->J.N + i) * b->d_z;
    real *dc = w->dpoints, *above = w->A; /* one row of each */
    for (int64_t e = 0; e < w->coh.n; e++) {
        above[e] = w->coh_x[e] > 0;
    }
    w->scalars[ASC_BACKGROUND_OMEGA_COH] +=
        R(asc_background_link_grad)(w->coh_x, &w->coh, dS, sum, m, w->g.omega_coh);
    if (m->coef == 0) {
        return;
    }
    K->mul(above, above, w->coh_x, w->coh.n);
    w->scalars[ASC_BACKGROUND_THETA_COH] -= (double)K->sum(above, w->coh.n);
    if (w->dz.data) {
        memset(dc, 0, (size_t)b->d_z * sizeof *dc);
        K->gather_sum(dc, above, z.data, z.ld, w->coh.key, w->coh.n, b->d_z);
        K->scatter_sum(w->dz.data, w->dz.ld, w->coh.key, above, c, w->coh.n, b->d_z);
        for (int64_t e = 0; e < w->coh.n; e++) {
            above[e] = 1 / (real)w->coh.n;
        }
        K->scatter_sum(w->dz.data, w->dz.ld, w->coh.key, above, dc, w->coh.n, b->d_z);
    }
}

/* d2 becomes dd², w the gradient of the crowding, -λ_ρ of which is that of ρ_j. Returns Σ dS, 0 but for rounding. */
static double R(crowd_grad)(R(work) *w, const asc_crowd *crowd, const asc_background_norm *m, int64_t n, const real *dS,
                            const real *rho, real *d2, real *weight)
{
    asc_crowd_grad g = {.mean = m->mean};
    K->crowd_pull(dS, weight, rho, n, crowd, &g);
    asc_background_slopes s = asc_background_slopes_of(m, w->g.omega_sep, g.pull);
    g.slope = s.slope;
    g.spread = s.spread;
    g.shift = n > 0 ? g.sum / (double)n : 0;
    K->crowd_grad(d2, weight, dS, rho, n, crowd, &g);
    w->scalars[ASC_BACKGROUND_OMEGA_SEP] += m->coef * g.pull;
    w->scalars[ASC_BACKGROUND_LAMBDA_DIST] -= g.by_near;
    w->scalars[ASC_BACKGROUND_LAMBDA_RHO] -= g.by_dense;
    w->scalars[ASC_BACKGROUND_TAU_SEP] -= g.by_d2 * crowd->rate;
    return g.sum;
}

/* Row r: S becomes A, dA dS, d2 its own gradient and w that of the crowding; 0 where they have none. */
static void R(backward_row)(R(work) *w, int64_t r)
{
    const asc_background *b = w->b;
    int64_t i = w->p.first + r, columns = w->p.columns;
    asc_panel_row row = asc_panel_row_of(&b->statistics, &w->p, r, w->list);
    real *S = w->S + r * columns, *dS = w->dA + r * columns, *d2 = w->d2 + r * columns, *weight = w->w + r * columns;
    const asc_background_row *at = R(row_constants)(w, i);
    asc_background_norm align, coh, crowd = asc_background_norm_of(at->mean, at->sigma, row.n, b->o->unbiased);
    size_t bytes = (size_t)row.n * sizeof *S;
    int64_t start = row.start;
    asc_panel_compact(&row, REAL_DTYPE, S);
    asc_panel_compact(&row, REAL_DTYPE, d2);
    asc_crowd c = w->g.crowd;
    const real *rho = R(rho_of)(w, &row);
    c.base = at->base;
    K->add_crowd(S + start, weight + start, d2 + start, rho, (real)(w->g.omega_sep * crowd.coef * w->g.inverse), row.n,
                 &c);
    R(add_sparse)(w, &row, i, S + start, &align, &coh);
    memcpy(w->A + start, S + start, bytes);
    R(attend)(w, r, &row, w->A, true);
    K->softmax_grad_row(dS, w->A, dS, (real)w->g.inverse, columns, true);
    asc_panel_compact(&row, REAL_DTYPE, dS);
    w->scalars[ASC_BACKGROUND_TAU_SCORE] -= (double)K->dot(dS + start, S + start, row.n);
    memcpy(S, w->A, (size_t)columns * sizeof *S);
    double sum = R(crowd_grad)(w, &c, &crowd, row.n, dS + start, rho, d2 + start, weight + start);
    R(align_grad)(w, i, dS + start, sum, &align);
    R(coh_grad)(w, i, dS + start, sum, &coh);
    asc_panel_spread(&w->p, &row, REAL_DTYPE, dS);
    asc_panel_spread(&w->p, &row, REAL_DTYPE, d2);
    asc_panel_spread(&w->p, &row, REAL_DTYPE, weight);
}

/* What dd² says of the places. */
static void R(collect_places)(R(work) *w)
{
    const asc_background *b = w->b;
    const asc_panel *p = &w->p;
    const real *places = (const real *)b->places + asc_background_head(b, p) * b->d_z * b->ld;
    real *dplaces = w->dplaces.data, *dz = (real *)w->dz.data + (p->first + b->J.M - b->J.N) * w->dz.ld;
    memset(w->dpoints, 0, (size_t)(p->rows * b->d_z) * sizeof *dz);
    K->pair_distances_grad(w->d2, p->columns, w->points, w->dpoints, b->d_z, places, dplaces, b->ld, p->rows,
                           p->globals, b->d_z);
    K->pair_distances_grad(w->d2 + p->globals, p->columns, w->points, w->dpoints, b->d_z, places + p->from,
                           dplaces + p->from, b->ld, p->rows, p->to - p->from, b->d_z);
    for (int64_t r = 0; r < p->rows; r++) {
        K->acc(dz + r * w->dz.ld, w->dpoints + r * b->d_z, b->d_z);
    }
}

/* dρ_j, of which ρ_j in the crowding of others is one part. */
static void R(collect_densities)(R(work) *w)
{
    real *sum = w->A, *to = w->drho.data;
    memset(sum, 0, (size_t)w->p.columns * sizeof *sum);
    K->sum_rows(sum, w->w, w->p.rows, w->p.columns);
    for (int64_t c = 0; c < w->p.columns; c++) {
        to[asc_panel_key(&w->p, c)] += (real)w->g.crowd.dense * sum[c];
    }
}

static void R(backward_panel)(R(work) *w, int64_t index)
{
    const asc_background *b = w->b;
    const asc_call *call = b->call;
    R(begin_panel)(w, index);
    asc_matrix q = matrix_of(b, &w->p, &call->in[ASC_BG_Q]), k = matrix_of(b, &w->p, &call->in[ASC_BG_K]);
    asc_matrix v = matrix_of(b, &w->p, &call->in[ASC_BG_V]), dy = matrix_of(b, &w->p, &call->grad_out[ASC_BG_Y]);
    asc_matrix dq = matrix_of(b, &w->p, &call->grad_in[ASC_BG_Q]);
    asc_panel_scores(&w->p, 1, dy, v, w->dA);
    for (int64_t r = 0; r < w->p.rows; r++) {
        R(backward_row)(w, r);
    }
    if (w->dv.data) {
        asc_panel_collect(&w->p, 1, w->S, dy, w->dv);
    }
    if (w->table) {
        asc_panel_collect_bias(&b->J, &w->p, b->bias.R, REAL_DTYPE, w->dA, w->table);
    }
    if (dq.data) {
        asc_panel_mix(&w->p, b->scale, w->dA, k, !call->fresh[ASC_BG_Q], dq);
    }
    if (w->dk.data) {
        asc_panel_collect(&w->p, b->scale, w->dA, q, w->dk);
    }
    if (w->dz.data) {
        R(collect_places)(w);
    }
    R(collect_densities)(w);
}

/* Every C-th panel of a head, in order. */
void R(asc_background_backward)(void *arg, int64_t piece, int worker)
{
    const asc_background *b = arg;
    int64_t chunks = asc_panel_chunks(&b->J), panels = asc_head_panels(&b->J);
    int64_t at = piece / chunks, chunk = piece % chunks;
    R(work) w;
    R(begin_work)(&w, b, worker);
    const struct {
        const asc_panel_sums *sums;
        asc_matrix *to;
    } all[] = {{&b->dk, &w.dk}, {&b->dv, &w.dv}, {&b->dz, &w.dz}, {&b->du, &w.du}, {&b->dplaces, &w.dplaces},
               {&b->drho, &w.drho}};
    for (int s = 0; s < ASC_COUNT(all); s++) {
        *all[s].to = asc_panel_sums_begin(all[s].sums, at / b->J.H, at % b->J.H, chunk);
    }
    w.table = b->table_sums ? (real *)b->table_sums + piece * (2 * b->bias.R + 1) : NULL;
    w.scalars = b->scalar_sums + (at * asc_background_pieces(b) + chunk) * ASC_BACKGROUND_SCALARS;
    for (int64_t i = chunk; i < panels; i += chunks) {
        R(backward_panel)(&w, at * panels + i);
    }
}

#undef EPSILON
#endif
