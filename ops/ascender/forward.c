/* ops/ascender/forward.c: a panel of the ASCender op forward, and the scores that the backward pass computes again. */
#include "ops/ascender/ascender.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What the panels of a worker hold, one after the other. */
enum { SCORES, AFFINITY, SQUARES, DIRECTIONS, DISTANCES };

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- the products before the choice of neighbours ---- */

/* P = scale A B, one fixed order of summation for every element; B transposed, [k, ld]. */
static void dots_f32(const asc_flock *s, const asc_panel *p, double scale, asc_matrix A, const void *B, void *P)
{
    asc_matrix columns = asc_flock_keys(s, p, (void *)B, A.width, s->ld);
    asc_panel_range part[2];
    int parts = asc_panel_ranges(p, part);
    for (int i = 0; i < parts; i++) {
        asc_kernels_f32()->pair_dots((float *)P + part[i].column, p->columns, (float)scale,
                                     (const float *)A.data + p->first * A.ld, A.ld,
                                     (const float *)columns.data + part[i].key, s->ld, p->rows, part[i].n, A.width);
    }
}

/* Squared distances of the keys from points A, [rows, dz]. */
static void distances_f32(const asc_flock *s, const asc_panel *p, const void *A, int64_t ld, void *P)
{
    asc_matrix columns = asc_flock_keys(s, p, s->places_t, s->dz, s->ld);
    asc_panel_range part[2];
    int parts = asc_panel_ranges(p, part);
    for (int i = 0; i < parts; i++) {
        asc_kernels_f32()->pair_distances((float *)P + part[i].column, p->columns, A, ld,
                                          (const float *)columns.data + part[i].key, s->ld, p->rows, part[i].n, s->dz);
    }
}

static void measure_f32(const asc_flock *s, const asc_panel *p, const asc_flock_space *w)
{
    const asc_call *call = s->call;
    asc_matrix q = asc_flock_input(s, p, &call->in[FLOCK_Q]);
    asc_matrix features = asc_flock_own_rows(s, asc_flock_keys(s, p, s->features, s->J.M, s->da));
    asc_matrix places = asc_flock_own_rows(s, asc_flock_keys(s, p, s->places, s->J.M, s->dz));
    if (s->base_scores) {
        dots_f32(s, p, s->scale, q, s->keys_t, w->panel[SCORES]);
    } else {
        asc_matrix k = asc_flock_turned(s, p, s->keys_t, asc_flock_input(s, p, &call->in[FLOCK_K]));
        asc_panel_scores(p, s->scale, q, k, w->panel[SCORES]);
    }
    dots_f32(s, p, 1, features, s->features_t, w->panel[AFFINITY]);
    distances_f32(s, p, (const float *)places.data + p->first * places.ld, places.ld, w->panel[SQUARES]);
}

/* ---- neighbours, density, centroids ---- */

static float *row_of_f32(const asc_panel *p, void *panel, int64_t r)
{
    return (float *)panel + r * p->columns;
}

/* Base scores are chosen by before position biases are added, which concern whole panels: from a copy. */
static void choose_f32(const asc_flock *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                       const float *affinity, const asc_flock_space *w)
{
    const float *scores = affinity + row->start;
    if (!asc_neighbors_scored(&s->rule)) {
        return;
    }
    if (s->base_scores) {
        memcpy(w->row[0], row_of_f32(p, w->panel[SCORES], r), (size_t)p->columns * sizeof(float));
        asc_panel_compact(row, ASC_F32, w->row[0]);
        scores = (const float *)w->row[0] + row->start;
    }
    asc_neighbors_choose(&s->rule, p, row, ASC_F32, scores, w->best, asc_flock_chosen_row(s, p, r));
}

/* N(i), u; φ in place of a, w^coh in place of d²; ρ and W. */
static void gather_row_f32(const asc_flock *s, const asc_panel *p, const asc_flock_head *head, int64_t r,
                           const asc_flock_space *w)
{
    float *a = row_of_f32(p, w->panel[AFFINITY], r), *d2 = row_of_f32(p, w->panel[SQUARES], r), *sep = w->row[0];
    asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
    asc_panel_compact(&row, ASC_F32, a);
    asc_panel_compact(&row, ASC_F32, d2);
    choose_f32(s, p, &row, r, a, w);
    asc_flock_heading(s, p, &row, r, w);

    float *phi = a + row.start, *coh = d2 + row.start;
    asc_kernels_f32()->pair_weights(sep, coh, phi, coh, phi, row.n,
                                    &(asc_pair_weights){1 / head->width_sep, 1 / head->width_coh, head->s[ASC_DELTA]});
    double *fact = w->rows[r].fact;
    w->rows[r].n = (double)row.n;
    if (row.self >= 0) { /* its weight is 1: left out, not taken off, or a small ρ would be what is left of rounding */
        sep[row.self] = s->a->o.rho_self ? sep[row.self] : 0;
        phi[row.self] = s->a->o.sep_self ? phi[row.self] : 0;
    }
    fact[FACT_RHO] = (double)asc_kernels_f32()->sum(sep, row.n);
    fact[FACT_W] = (double)asc_kernels_f32()->sum(coh, row.n) + 1e-6;
    asc_panel_spread(p, &row, ASC_F32, d2);
}

/* c_i = Σ w z/W; the places are relative to one of them, the weights' sum is W - ε. */
static void centroids_f32(const asc_flock *s, const asc_panel *p, const asc_flock_space *w, asc_matrix c)
{
    asc_matrix first = asc_flock_input(s, p, &s->call->in[FLOCK_Z]);
    asc_panel_mix(p, 1, w->panel[SQUARES], asc_flock_keys(s, p, s->places, s->J.M, s->dz), false, c);
    for (int64_t r = 0; r < p->rows; r++) {
        float *to = (float *)c.data + (p->first + r) * c.ld;
        asc_kernels_f32()->axpy(to, (float)-1e-6, first.data, s->dz);
        asc_kernels_f32()->scale(to, (float)(1 / w->rows[r].fact[FACT_W]), to, s->dz);
    }
}

/* ---- normalisation and attention ---- */

/* Whether σ ≤ 8 eps max|x|: |x| ≤ |μ| + σ√n, and where that settles it no largest one is looked for. */
static bool is_constant_f32(const float *x, int64_t n, double mean, double sigma)
{
    double least = 8 * (double)FLT_EPSILON;
    return !(sigma > least * (fabs(mean) + sigma * sqrt((double)n))) &&
           sigma <= least * (double)asc_kernels_f32()->max_abs(x, n);
}

static void normalise_f32(const asc_flock *s, const float *x, int64_t n, double *fact, int b)
{
    fact[FACT_MEAN + b] = fact[FACT_SIGMA + b] = 0;
    if (n == 0) {
        return;
    }
    float mean;
    double square = (double)asc_kernels_f32()->moments(x, n, &mean);
    double sigma = sqrt(square / (double)(s->a->o.unbiased && n > 1 ? n - 1 : n));
    fact[FACT_MEAN + b] = (double)mean;
    fact[FACT_SIGMA + b] = is_constant_f32(x, n, (double)mean, sigma) ? 0 : sigma;
}

/* S and A of a row, and what it loses. */
static void attend_row_f32(const asc_flock *s, const asc_panel *p, const asc_flock_head *head, int64_t r,
                           const asc_flock_space *w, double loss[2])
{
    asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
    float *at[FLOCK_PANELS_FORWARD];
    for (int i = 0; i < FLOCK_PANELS_FORWARD; i++) {
        at[i] = row_of_f32(p, w->panel[i], r);
        if (i != AFFINITY) { /* φ is together since the first pass over the row */
            asc_panel_compact(&row, ASC_F32, at[i]);
        }
        at[i] += row.start;
    }
    double *fact = w->rows[r].fact;
    fact[FACT_V] = (double)asc_kernels_f32()->dot(at[SQUARES], at[DISTANCES], row.n) / fact[FACT_W];
    normalise_f32(s, at[DIRECTIONS], row.n, fact, ALIGN);
    normalise_f32(s, at[AFFINITY], row.n, fact, SEP);
    normalise_f32(s, at[DISTANCES], row.n, fact, COH);
    asc_flock_gates gates = asc_flock_gates_of(s->a, head, &w->rows[r]);
    asc_centred bias[BIASES];
    for (int b = 0; b < BIASES; b++) {
        bias[b] = (asc_centred){head->s[ASC_OMEGA_ALIGN + b] * gates.coef[b], fact[FACT_MEAN + b]};
    }
    asc_kernels_f32()->add_biases(at[SCORES], at[DIRECTIONS], at[AFFINITY], at[DISTANCES], bias, (float)head->score,
                                  row.n);
    if (s->a->o.all_statistics) {
        asc_panel_fill_outside(&s->J, p, r, ASC_F32, at[SCORES], -INFINITY);
    }
    asc_log_sum_exp lse = asc_panel_softmax_f32(at[SCORES], row.n);
    fact[FACT_LSE] = lse.max + lse.log_sum;
    if (s->a->losses) {
        loss[0] += (double)asc_kernels_f32()->dot(at[SCORES], at[DISTANCES], row.n);
        loss[1] += (double)asc_kernels_f32()->dot(at[SCORES], at[AFFINITY], row.n);
    }
    asc_panel_spread(p, &row, ASC_F32, at[SCORES] - row.start);
    memcpy(asc_flock_fact_row(s, p, r), fact, FACTS * sizeof(double));
}

static void forward_panel_f32(const asc_flock *s, int64_t piece, int worker)
{
    asc_panel p = asc_panel_at(&s->rows, piece);
    asc_flock_space w = asc_flock_space_of(s, worker);
    asc_flock_head head = asc_flock_head_of(s->call, p.h);
    asc_matrix c = asc_flock_centroids(s, &p);
    asc_flock_measure(s, &p, &w);
    for (int64_t r = 0; r < p.rows; r++) {
        gather_row_f32(s, &p, &head, r, &w);
    }
    centroids_f32(s, &p, &w, c);
    asc_panel_add_bias(&s->rows, &p, &s->bias, ASC_F32, w.panel[SCORES]);
    asc_flock_directions(s, &p, &w, w.panel[DIRECTIONS]);
    asc_flock_distances(s, &p, (const float *)c.data + p.first * c.ld, w.panel[DISTANCES]);
    double *loss = s->partial + 2 * piece;
    loss[0] = loss[1] = 0;
    for (int64_t r = 0; r < p.rows; r++) {
        attend_row_f32(s, &p, &head, r, &w, loss);
    }
    asc_panel_mix(&p, 1, w.panel[SCORES], asc_flock_input(s, &p, &s->call->in[FLOCK_V]), false,
                  asc_flock_input(s, &p, &s->call->out[FLOCK_Y]));
    if (s->all_u) {
        float *all = (float *)s->all_u + ((p.b * s->J.H + p.h) * s->J.N + p.first) * s->d_heading;
        memcpy(all, w.u, (size_t)(p.rows * s->d_heading) * sizeof *all);
    }
}

/* ---- end of float ---- */
#include "ops/ascender/forward.f64.h"

void asc_flock_measure(const asc_flock *s, const asc_panel *p, const asc_flock_space *w)
{
    BY_DTYPE(s->dtype, measure)(s, p, w);
}

void asc_flock_distances(const asc_flock *s, const asc_panel *p, const void *c, void *P)
{
    BY_DTYPE(s->dtype, distances)(s, p, c, s->dz, P);
}

void asc_flock_forward_panel(void *flock, int64_t piece, int worker)
{
    const asc_flock *s = flock;
    BY_DTYPE(s->dtype, forward_panel)(s, piece, worker);
}
