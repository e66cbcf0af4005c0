/* ops/ascender/background_rows.c: the panels and rows of ascender_background: scores, attention, and their gradients.
 *
 * Of a row normalised bias the softmax sees β/(σ + ε) alone, as a constant changes nothing there. So alignment and
 * cohesion, which are 0 but for the links of a row, cost as much as these; only the separation fills its row. */
#include "ops/ascender/background.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double scalar_of(const asc_background *b, asc_background_scalar which, int64_t h)
{
    const asc_array *a = &b->call->in[ASC_BG_SCALARS + which];
    return asc_element(a->dtype, a->data, h);
}

asc_background_scalars asc_background_head_of(const asc_background *b, int64_t h)
{
    return (asc_background_scalars){
        .bias = {.rate = 1 / (scalar_of(b, ASC_BACKGROUND_TAU_SEP, h) + asc_background_eps),
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

/* ---- float, and f64.awk makes the same for double ---- */

/* A worker's share of a job, at one panel of it. */
typedef struct work_f32 {
    const asc_background *b;
    asc_panel p;
    asc_background_scalars g;
    float *S, *d2, *dA, *w;     /* [rows, columns] */
    float *rho;                 /* [columns] */
    float *squeezed, *A;        /* [columns], of one row */
    float *points, *dpoints;    /* [rows, d_z] */
    int32_t *list, *other_list; /* [columns] */
    asc_background_links align, coh;
    float *align_x, *coh_x;                   /* β of the links */
    asc_matrix dk, dv, dz, du, dplaces, drho; /* backward: where a chunk adds */
    float *table;
    double *scalars;
} work_f32;

static void begin_work_f32(work_f32 *w, const asc_background *b, int worker)
{
    int64_t *link = b->links + worker * ASC_BG_LINK_LISTS * b->link_room;
    *w = (work_f32){
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
static void distances_f32(work_f32 *w)
{
    const asc_background *b = w->b;
    const asc_panel *p = &w->p;
    asc_matrix z = matrix_of(b, p, &b->call->in[ASC_BG_Z]);
    const float *first = (const float *)z.data + (p->first + b->J.M - b->J.N) * z.ld;
    const float *places = (const float *)b->places + asc_background_head(b, p) * b->d_z * b->ld;
    for (int64_t r = 0; r < p->rows; r++) {
        memcpy(w->points + r * b->d_z, first + r * z.ld, (size_t)b->d_z * sizeof *first);
    }
    asc_kernels_f32()->pair_distances(w->d2, p->columns, w->points, b->d_z, places, b->ld, p->rows, p->globals, b->d_z);
    asc_kernels_f32()->pair_distances(w->d2 + p->globals, p->columns, w->points, b->d_z, places + p->from, b->ld,
                                      p->rows, p->to - p->from, b->d_z);
}

/* Scores over τ_score + ε, still without the biases by links and separation. */
static void base_scores_f32(work_f32 *w)
{
    const asc_background *b = w->b;
    asc_panel_scores(&w->p, b->scale, matrix_of(b, &w->p, &b->call->in[ASC_BG_Q]),
                     matrix_of(b, &w->p, &b->call->in[ASC_BG_K]), w->S);
    asc_panel_add_bias(&b->J, &w->p, &b->bias, ASC_F32, w->S);
    asc_kernels_f32()->scale(w->S, (float)w->g.inverse, w->S, w->p.rows * w->p.columns);
}

static void begin_panel_f32(work_f32 *w, int64_t index)
{
    const asc_background *b = w->b;
    w->p = asc_panel_at(&b->statistics, index);
    w->g = asc_background_head_of(b, w->p.h);
    const float *rho = (const float *)b->rho + asc_background_head(b, &w->p) * b->J.M;
    for (int64_t c = 0; c < w->p.columns; c++) {
        w->rho[c] = rho[asc_panel_key(&w->p, c)];
    }
    base_scores_f32(w);
    distances_f32(w);
}

/* ρ of a row's entries. */
static const float *rho_of_f32(work_f32 *w, const asc_panel_row *row)
{
    if (!row->list && (row->globals == 0 || row->start == 0)) {
        return w->rho + row->start;
    }
    memcpy(w->squeezed, w->rho, (size_t)w->p.columns * sizeof *w->rho);
    asc_panel_compact(row, ASC_F32, w->squeezed);
    return w->squeezed + row->start;
}

/* ---- links ---- */

/* β^align and β^coh of row i's links. */
static void link_f32(work_f32 *w, const asc_panel_row *row, int64_t i)
{
    const asc_background *b = w->b;
    int64_t H = b->J.H, ld = H * b->d, own = i + b->J.M - b->J.N;
    const float *u = (const float *)b->units + (w->p.b * b->J.M * H + w->p.h) * b->d;
    asc_matrix z = matrix_of(b, &w->p, &b->call->in[ASC_BG_Z]);
    const float *c =
        (const float *)b->call->saved[ASC_BG_CENTERS].data + (asc_background_head(b, &w->p) * b->J.N + i) * b->d_z;
    asc_background_link(b, &w->p, row, i, false, &w->coh);
    if (b->mutual) {
        asc_background_link(b, &w->p, row, i, true, &w->align);
    } else {
        w->align = w->coh;
    }
    asc_kernels_f32()->gather_dots(w->align_x, u + own * ld, u, ld, w->align.key, w->align.n, b->d);
    asc_kernels_f32()->tanh(w->align_x, w->align_x, w->align.n);
    asc_kernels_f32()->gather_dots(w->coh_x, c, z.data, z.ld, w->coh.key, w->coh.n, b->d_z);
    for (int64_t e = 0; e < w->coh.n; e++) {
        double x = (double)w->coh_x[e] - w->g.theta;
        w->coh_x[e] = x < 0 ? 0 : (float)x;
    }
}

/* ---- scores of a row ---- */

/* The separation x, and its mean and deviation. Where σ decides that a row is constant, its base is its largest |β|. */
static void measure_f32(const work_f32 *w, asc_background_row *at, float *x, const float *rho, int64_t n)
{
    asc_background_bias separation = w->g.bias;
    float mean = 0, squares = 0;
    if (n > 0) {
        asc_kernels_f32()->background_bias(x, x, rho, n, &separation);
        squares = asc_kernels_f32()->moments(x, n, &mean);
    }
    double sigma = n > 1 ? sqrt((double)squares / (double)(w->b->o->unbiased ? n - 1 : n)) : 0;
    at->base = separation.base;
    at->mean = (double)mean;
    at->sigma = sigma <= 8 * (double)FLT_EPSILON * fabs(separation.base) ? 0 : sigma;
}

static asc_background_row *row_constants_f32(const work_f32 *w, int64_t i)
{
    return (asc_background_row *)w->b->call->saved[ASC_BG_ROWS].data + asc_background_head(w->b, &w->p) * w->b->J.N + i;
}

/* Adds the biases of the links. */
static void add_sparse_f32(work_f32 *w, const asc_panel_row *row, int64_t i, float *S, asc_background_norm *align,
                           asc_background_norm *coh)
{
    bool unbiased = w->b->o->unbiased;
    link_f32(w, row, i);
    *align = asc_background_link_norm_f32(w->align_x, w->align.n, row->n, unbiased);
    *coh = asc_background_link_norm_f32(w->coh_x, w->coh.n, row->n, unbiased);
    asc_background_add_links_f32(S, &w->align, w->align_x, w->g.omega_align * align->coef * w->g.inverse);
    asc_background_add_links_f32(S, &w->coh, w->coh_x, w->g.omega_coh * coh->coef * w->g.inverse);
}

/* n scores become their softmax, or, with *lse already known, the same by way of it. */
static void softmax_entries_f32(float *x, int64_t n, double *lse, bool known)
{
    if (n == 0) {
        *lse = 0;
    } else if (known) {
        asc_kernels_f32()->exp_shift(x, x, (float)*lse, n);
    } else {
        float max = asc_kernels_f32()->max(x, n), sum = asc_kernels_f32()->exp_shift(x, x, max, n);
        asc_kernels_f32()->scale(x, 1 / sum, x, n);
        *lse = (double)(max + (float)log((double)sum));
    }
}

/* A row of A from scores that stand in it as row `row` of the statistics has them; 0 outside of J. */
static void attend_f32(work_f32 *w, int64_t r, const asc_panel_row *row, float *A, bool known)
{
    asc_background_row *at = row_constants_f32(w, w->p.first + r);
    asc_panel_row allowed = *row;
    if (w->b->apart) {
        allowed = asc_panel_row_of(&w->b->J, &w->p, r, w->other_list);
        asc_panel_compact(&allowed, ASC_F32, A);
    }
    softmax_entries_f32(A + allowed.start, allowed.n, &at->lse, known);
    asc_panel_spread(&w->p, &allowed, ASC_F32, A);
}

/* ---- forward ---- */

static void forward_row_f32(work_f32 *w, int64_t r)
{
    const asc_background *b = w->b;
    int64_t i = w->p.first + r;
    asc_panel_row row = asc_panel_row_of(&b->statistics, &w->p, r, w->list);
    float *S = w->S + r * w->p.columns, *x = w->d2 + r * w->p.columns;
    asc_background_row *at = row_constants_f32(w, i);
    asc_background_norm align, coh;
    asc_panel_compact(&row, ASC_F32, S);
    asc_panel_compact(&row, ASC_F32, x);
    x += row.start;
    measure_f32(w, at, x, rho_of_f32(w, &row), row.n);
    asc_background_norm separation = asc_background_norm_of(at->mean, at->sigma, row.n, b->o->unbiased);
    asc_kernels_f32()->axpy(S + row.start, (float)(w->g.omega_sep * separation.coef * w->g.inverse), x, row.n);
    add_sparse_f32(w, &row, i, S + row.start, &align, &coh);
    attend_f32(w, r, &row, S, false);
}

void asc_background_forward_f32(void *arg, int64_t piece, int worker)
{
    const asc_background *b = arg;
    work_f32 w;
    begin_work_f32(&w, b, worker);
    begin_panel_f32(&w, piece);
    for (int64_t r = 0; r < w.p.rows; r++) {
        forward_row_f32(&w, r);
    }
    asc_panel_mix(&w.p, 1, w.S, matrix_of(b, &w.p, &b->call->in[ASC_BG_V]), false,
                  matrix_of(b, &w.p, &b->call->out[ASC_BG_Y]));
}

/* ---- backward ---- */

/* ⟨u_i, u_j⟩ has the gradient dβ (1 - β²), β = tanh of it. */
static void align_grad_f32(work_f32 *w, int64_t i, const float *dS, double sum, const asc_background_norm *m)
{
    const asc_background *b = w->b;
    int64_t H = b->J.H, ld = H * b->d, own = i + b->J.M - b->J.N;
    const float *u = (const float *)b->units + (w->p.b * b->J.M * H + w->p.h) * b->d;
    float *du = w->du.data, *slope = w->A;
    for (int64_t e = 0; e < w->align.n; e++) {
        slope[e] = 1 - w->align_x[e] * w->align_x[e];
    }
    w->scalars[ASC_BACKGROUND_OMEGA_ALIGN] +=
        asc_background_link_grad_f32(w->align_x, &w->align, dS, sum, m, w->g.omega_align);
    if (du && m->coef != 0) {
        asc_kernels_f32()->mul(slope, slope, w->align_x, w->align.n);
        asc_kernels_f32()->gather_sum(du + own * w->du.ld, slope, u, ld, w->align.key, w->align.n, b->d);
        asc_kernels_f32()->scatter_sum(du, w->du.ld, w->align.key, slope, u + own * ld, w->align.n, b->d);
    }
}

/* relu(⟨z_j, c_i⟩ - θ), c_i being the mean of z over N(i). */
static void coh_grad_f32(work_f32 *w, int64_t i, const float *dS, double sum, const asc_background_norm *m)
{
    const asc_background *b = w->b;
    asc_matrix z = matrix_of(b, &w->p, &b->call->in[ASC_BG_Z]);
    const float *c =
        (const float *)b->call->saved[ASC_BG_CENTERS].data + (asc_background_head(b, &w->p) * b->J.N + i) * b->d_z;
    float *dc = w->dpoints, *above = w->A; /* one row of each */
    for (int64_t e = 0; e < w->coh.n; e++) {
        above[e] = w->coh_x[e] > 0;
    }
    w->scalars[ASC_BACKGROUND_OMEGA_COH] += asc_background_link_grad_f32(w->coh_x, &w->coh, dS, sum, m, w->g.omega_coh);
    if (m->coef == 0) {
        return;
    }
    asc_kernels_f32()->mul(above, above, w->coh_x, w->coh.n);
    w->scalars[ASC_BACKGROUND_THETA_COH] -= (double)asc_kernels_f32()->sum(above, w->coh.n);
    if (w->dz.data) {
        memset(dc, 0, (size_t)b->d_z * sizeof *dc);
        asc_kernels_f32()->gather_sum(dc, above, z.data, z.ld, w->coh.key, w->coh.n, b->d_z);
        asc_kernels_f32()->scatter_sum(w->dz.data, w->dz.ld, w->coh.key, above, c, w->coh.n, b->d_z);
        for (int64_t e = 0; e < w->coh.n; e++) {
            above[e] = 1 / (float)w->coh.n;
        }
        asc_kernels_f32()->scatter_sum(w->dz.data, w->dz.ld, w->coh.key, above, dc, w->coh.n, b->d_z);
    }
}

/* d2 becomes dd², w the gradient of the separation, -λ_ρ of which is that of ρ_j. Returns Σ dS, 0 but for rounding. */
static double background_grad_f32(work_f32 *w, const asc_background_bias *separation, const asc_background_norm *m,
                                  int64_t n, const float *dS, const float *rho, float *d2, float *weight)
{
    asc_background_bias_grad g = {.mean = m->mean};
    asc_kernels_f32()->background_pull(dS, weight, rho, n, separation, &g);
    asc_background_slopes s = asc_background_slopes_of(m, w->g.omega_sep, g.pull);
    g.slope = s.slope;
    g.spread = s.spread;
    g.shift = n > 0 ? g.sum / (double)n : 0;
    asc_kernels_f32()->background_grad(d2, weight, dS, rho, n, separation, &g);
    w->scalars[ASC_BACKGROUND_OMEGA_SEP] += m->coef * g.pull;
    w->scalars[ASC_BACKGROUND_LAMBDA_DIST] -= g.by_near;
    w->scalars[ASC_BACKGROUND_LAMBDA_RHO] -= g.by_dense;
    w->scalars[ASC_BACKGROUND_TAU_SEP] -= g.by_d2 * separation->rate;
    return g.sum;
}

/* Row r: S becomes A, dA dS, d2 its own gradient and w that of the separation; 0 where they have none. */
static void backward_row_f32(work_f32 *w, int64_t r)
{
    const asc_background *b = w->b;
    int64_t i = w->p.first + r, columns = w->p.columns;
    asc_panel_row row = asc_panel_row_of(&b->statistics, &w->p, r, w->list);
    float *S = w->S + r * columns, *dS = w->dA + r * columns, *d2 = w->d2 + r * columns, *weight = w->w + r * columns;
    const asc_background_row *at = row_constants_f32(w, i);
    asc_background_norm align, coh, separation = asc_background_norm_of(at->mean, at->sigma, row.n, b->o->unbiased);
    size_t bytes = (size_t)row.n * sizeof *S;
    int64_t start = row.start;
    asc_panel_compact(&row, ASC_F32, S);
    asc_panel_compact(&row, ASC_F32, d2);
    asc_background_bias c = w->g.bias;
    const float *rho = rho_of_f32(w, &row);
    c.base = at->base;
    asc_kernels_f32()->add_background_bias(S + start, weight + start, d2 + start, rho,
                                           (float)(w->g.omega_sep * separation.coef * w->g.inverse), row.n, &c);
    add_sparse_f32(w, &row, i, S + start, &align, &coh);
    memcpy(w->A + start, S + start, bytes);
    attend_f32(w, r, &row, w->A, true);
    asc_kernels_f32()->softmax_grad_row(dS, w->A, dS, (float)w->g.inverse, columns, true);
    asc_panel_compact(&row, ASC_F32, dS);
    w->scalars[ASC_BACKGROUND_TAU_SCORE] -= (double)asc_kernels_f32()->dot(dS + start, S + start, row.n);
    memcpy(S, w->A, (size_t)columns * sizeof *S);
    double sum = background_grad_f32(w, &c, &separation, row.n, dS + start, rho, d2 + start, weight + start);
    align_grad_f32(w, i, dS + start, sum, &align);
    coh_grad_f32(w, i, dS + start, sum, &coh);
    asc_panel_spread(&w->p, &row, ASC_F32, dS);
    asc_panel_spread(&w->p, &row, ASC_F32, d2);
    asc_panel_spread(&w->p, &row, ASC_F32, weight);
}

/* What dd² says of the places. */
static void collect_places_f32(work_f32 *w)
{
    const asc_background *b = w->b;
    const asc_panel *p = &w->p;
    const float *places = (const float *)b->places + asc_background_head(b, p) * b->d_z * b->ld;
    float *dplaces = w->dplaces.data, *dz = (float *)w->dz.data + (p->first + b->J.M - b->J.N) * w->dz.ld;
    memset(w->dpoints, 0, (size_t)(p->rows * b->d_z) * sizeof *dz);
    asc_kernels_f32()->pair_distances_grad(w->d2, p->columns, w->points, w->dpoints, b->d_z, places, dplaces, b->ld,
                                           p->rows, p->globals, b->d_z);
    asc_kernels_f32()->pair_distances_grad(w->d2 + p->globals, p->columns, w->points, w->dpoints, b->d_z,
                                           places + p->from, dplaces + p->from, b->ld, p->rows, p->to - p->from,
                                           b->d_z);
    for (int64_t r = 0; r < p->rows; r++) {
        asc_kernels_f32()->acc(dz + r * w->dz.ld, w->dpoints + r * b->d_z, b->d_z);
    }
}

/* dρ_j, of which ρ_j in the separation of others is one part. */
static void collect_densities_f32(work_f32 *w)
{
    float *sum = w->A, *to = w->drho.data;
    memset(sum, 0, (size_t)w->p.columns * sizeof *sum);
    asc_kernels_f32()->sum_rows(sum, w->w, w->p.rows, w->p.columns);
    for (int64_t c = 0; c < w->p.columns; c++) {
        to[asc_panel_key(&w->p, c)] += (float)w->g.bias.dense * sum[c];
    }
}

static void backward_panel_f32(work_f32 *w, int64_t index)
{
    const asc_background *b = w->b;
    const asc_call *call = b->call;
    begin_panel_f32(w, index);
    asc_matrix q = matrix_of(b, &w->p, &call->in[ASC_BG_Q]), k = matrix_of(b, &w->p, &call->in[ASC_BG_K]);
    asc_matrix v = matrix_of(b, &w->p, &call->in[ASC_BG_V]), dy = matrix_of(b, &w->p, &call->grad_out[ASC_BG_Y]);
    asc_matrix dq = matrix_of(b, &w->p, &call->grad_in[ASC_BG_Q]);
    asc_panel_scores(&w->p, 1, dy, v, w->dA);
    for (int64_t r = 0; r < w->p.rows; r++) {
        backward_row_f32(w, r);
    }
    if (w->dv.data) {
        asc_panel_collect(&w->p, 1, w->S, dy, w->dv);
    }
    if (w->table) {
        asc_panel_collect_bias(&b->J, &w->p, b->bias.R, ASC_F32, w->dA, w->table);
    }
    if (dq.data) {
        asc_panel_mix(&w->p, b->scale, w->dA, k, !call->fresh[ASC_BG_Q], dq);
    }
    if (w->dk.data) {
        asc_panel_collect(&w->p, b->scale, w->dA, q, w->dk);
    }
    if (w->dz.data) {
        collect_places_f32(w);
    }
    collect_densities_f32(w);
}

/* Every C-th panel of a head, in order. */
void asc_background_backward_f32(void *arg, int64_t piece, int worker)
{
    const asc_background *b = arg;
    int64_t chunks = asc_panel_chunks(&b->J), panels = asc_head_panels(&b->J);
    int64_t at = piece / chunks, chunk = piece % chunks;
    work_f32 w;
    begin_work_f32(&w, b, worker);
    const struct {
        const asc_panel_sums *sums;
        asc_matrix *to;
    } all[] = {{&b->dk, &w.dk}, {&b->dv, &w.dv}, {&b->dz, &w.dz}, {&b->du, &w.du}, {&b->dplaces, &w.dplaces},
               {&b->drho, &w.drho}};
    for (int s = 0; s < ASC_COUNT(all); s++) {
        *all[s].to = asc_panel_sums_begin(all[s].sums, at / b->J.H, at % b->J.H, chunk);
    }
    w.table = b->table_sums ? (float *)b->table_sums + piece * (2 * b->bias.R + 1) : NULL;
    w.scalars = b->scalar_sums + (at * asc_background_pieces(b) + chunk) * ASC_BACKGROUND_SCALARS;
    for (int64_t i = chunk; i < panels; i += chunks) {
        backward_panel_f32(&w, at * panels + i);
    }
}

/* ---- end of float ---- */
#include "ops/ascender/background_rows.f64.h"
