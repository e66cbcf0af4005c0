/* ops/ascender/forward.c: a panel of the ASCender op forward, and the scores that the backward pass computes again. */
#ifndef ASC_REAL
#include "ops/ascender/ascender.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What the panels of a worker hold, one after the other. */
enum { SCORES, AFFINITY, SQUARES, DIRECTIONS, DISTANCES };

#define ASC_SELF "ops/ascender/forward.c"
#include "ops/shared/both.h"

void asc_flock_measure(const asc_flock *s, const asc_panel *p, const asc_flock_space *w)
{
    BY_DTYPE(s->dtype, measure, (s, p, w));
}

void asc_flock_distances(const asc_flock *s, const asc_panel *p, const void *c, void *P)
{
    BY_DTYPE(s->dtype, distances, (s, p, c, s->dz, P));
}

void asc_flock_forward_panel(void *flock, int64_t piece, int worker)
{
    const asc_flock *s = flock;
    BY_DTYPE(s->dtype, forward_panel, (s, piece, worker));
}

#else /* for each dtype */

#define EPSILON (sizeof(real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON)

/* ---- the products before the choice of neighbours ---- */

/* P = scale A B, one fixed order of summation for every element; B transposed, [k, ld]. */
static void R(dots)(const asc_flock *s, const asc_panel *p, double scale, asc_matrix A, const void *B, void *P)
{
    asc_matrix columns = asc_flock_keys(s, p, (void *)B, A.width, s->ld);
    asc_panel_range part[2];
    int parts = asc_panel_ranges(p, part);
    for (int i = 0; i < parts; i++) {
        K->pair_dots((real *)P + part[i].column, p->columns, (real)scale, (const real *)A.data + p->first * A.ld, A.ld,
                     (const real *)columns.data + part[i].key, s->ld, p->rows, part[i].n, A.width);
    }
}

/* Squared distances of the keys from points A, [rows, dz]. */
static void R(distances)(const asc_flock *s, const asc_panel *p, const void *A, int64_t ld, void *P)
{
    asc_matrix columns = asc_flock_keys(s, p, s->places_t, s->dz, s->ld);
    asc_panel_range part[2];
    int parts = asc_panel_ranges(p, part);
    for (int i = 0; i < parts; i++) {
        K->pair_distances((real *)P + part[i].column, p->columns, A, ld, (const real *)columns.data + part[i].key,
                          s->ld, p->rows, part[i].n, s->dz);
    }
}

static void R(measure)(const asc_flock *s, const asc_panel *p, const asc_flock_space *w)
{
    const asc_call *call = s->call;
    asc_matrix q = asc_flock_input(s, p, &call->in[FLOCK_Q]);
    asc_matrix features = asc_flock_own_rows(s, asc_flock_keys(s, p, s->features, s->J.M, s->da));
    asc_matrix places = asc_flock_own_rows(s, asc_flock_keys(s, p, s->places, s->J.M, s->dz));
    if (s->base_scores) {
        R(dots)(s, p, s->scale, q, s->keys_t, w->panel[SCORES]);
    } else {
        asc_matrix k = asc_flock_turned(s, p, s->keys_t, asc_flock_input(s, p, &call->in[FLOCK_K]));
        asc_panel_scores(p, s->scale, q, k, w->panel[SCORES]);
    }
    R(dots)(s, p, 1, features, s->features_t, w->panel[AFFINITY]);
    R(distances)(s, p, (const real *)places.data + p->first * places.ld, places.ld, w->panel[SQUARES]);
}

/* ---- neighbours, density, centroids ---- */

static real *R(row_of)(const asc_panel *p, void *panel, int64_t r)
{
    return (real *)panel + r * p->columns;
}

/* Base scores are chosen by before position biases are added, which concern whole panels: from a copy. */
static void R(choose)(const asc_flock *s, const asc_panel *p, const asc_panel_row *row, int64_t r, const real *affinity,
                      const asc_flock_space *w)
{
    const real *scores = affinity + row->start;
    if (!asc_neighbors_scored(&s->rule)) {
        return;
    }
    if (s->base_scores) {
        memcpy(w->row[0], R(row_of)(p, w->panel[SCORES], r), (size_t)p->columns * sizeof(real));
        asc_panel_compact(row, REAL_DTYPE, w->row[0]);
        scores = (const real *)w->row[0] + row->start;
    }
    asc_neighbors_choose(&s->rule, p, row, REAL_DTYPE, scores, w->best, asc_flock_chosen_row(s, p, r));
}

/* N(i), u; φ in place of a, w^coh in place of d²; ρ and W. */
static void R(gather_row)(const asc_flock *s, const asc_panel *p, const asc_flock_head *head, int64_t r,
                          const asc_flock_space *w)
{
    real *a = R(row_of)(p, w->panel[AFFINITY], r), *d2 = R(row_of)(p, w->panel[SQUARES], r), *sep = w->row[0];
    asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
    asc_panel_compact(&row, REAL_DTYPE, a);
    asc_panel_compact(&row, REAL_DTYPE, d2);
    R(choose)(s, p, &row, r, a, w);
    asc_flock_heading(s, p, &row, r, w);

    real *phi = a + row.start, *coh = d2 + row.start;
    K->pair_weights(sep, coh, phi, coh, phi, row.n,
                    &(asc_pair_weights){1 / head->width_sep, 1 / head->width_coh, head->s[ASC_DELTA]});
    double *fact = w->rows[r].fact;
    w->rows[r].n = (double)row.n;
    if (row.self >= 0) { /* its weight is 1: left out, not taken off, or a small ρ would be what is left of rounding */
        sep[row.self] = s->a->o.rho_self ? sep[row.self] : 0;
        phi[row.self] = s->a->o.sep_self ? phi[row.self] : 0;
    }
    fact[FACT_RHO] = (double)K->sum(sep, row.n);
    fact[FACT_W] = (double)K->sum(coh, row.n) + 1e-6;
    asc_panel_spread(p, &row, REAL_DTYPE, d2);
}

/* c_i = Σ w z/W; the places are relative to one of them, the weights' sum is W - ε. */
static void R(centroids)(const asc_flock *s, const asc_panel *p, const asc_flock_space *w, asc_matrix c)
{
    asc_matrix first = asc_flock_input(s, p, &s->call->in[FLOCK_Z]);
    asc_panel_mix(p, 1, w->panel[SQUARES], asc_flock_keys(s, p, s->places, s->J.M, s->dz), false, c);
    for (int64_t r = 0; r < p->rows; r++) {
        real *to = (real *)c.data + (p->first + r) * c.ld;
        K->axpy(to, (real)-1e-6, first.data, s->dz);
        K->scale(to, (real)(1 / w->rows[r].fact[FACT_W]), to, s->dz);
    }
}

/* ---- normalisation and attention ---- */

/* Whether σ ≤ 8 eps max|x|: |x| ≤ |μ| + σ√n, and where that settles it no largest one is looked for. */
static bool R(is_constant)(const real *x, int64_t n, double mean, double sigma)
{
    double least = 8 * EPSILON;
    return !(sigma > least * (fabs(mean) + sigma * sqrt((double)n))) && sigma <= least * (double)K->max_abs(x, n);
}

static void R(normalise)(const asc_flock *s, const real *x, int64_t n, double *fact, int b)
{
    fact[FACT_MEAN + b] = fact[FACT_SIGMA + b] = 0;
    if (n == 0) {
        return;
    }
    real mean;
    double square = (double)K->moments(x, n, &mean);
    double sigma = sqrt(square / (double)(s->a->o.unbiased && n > 1 ? n - 1 : n));
    fact[FACT_MEAN + b] = (double)mean;
    fact[FACT_SIGMA + b] = R(is_constant)(x, n, (double)mean, sigma) ? 0 : sigma;
}

/* n scaled scores become their softmax; returns the log-sum-exp. Where all are -∞, 0; the maximum does not see NaNs. */
static double R(softmax)(real *x, int64_t n)
{
    real max = K->max(x, n);
    if (max == -(real)INFINITY && !isnan(K->sum(x, n))) {
        memset(x, 0, (size_t)n * sizeof *x);
        return 0;
    }
    real sum = K->exp_shift(x, x, max, n);
    K->scale(x, 1 / sum, x, n);
    return (double)max + log((double)sum);
}

/* S and A of a row, and what it loses. */
static void R(attend_row)(const asc_flock *s, const asc_panel *p, const asc_flock_head *head, int64_t r,
                          const asc_flock_space *w, double loss[2])
{
    asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
    real *at[FLOCK_PANELS_FORWARD];
    for (int i = 0; i < FLOCK_PANELS_FORWARD; i++) {
        at[i] = R(row_of)(p, w->panel[i], r);
        if (i != AFFINITY) { /* φ is together since the first pass over the row */
            asc_panel_compact(&row, REAL_DTYPE, at[i]);
        }
        at[i] += row.start;
    }
    double *fact = w->rows[r].fact;
    fact[FACT_V] = (double)K->dot(at[SQUARES], at[DISTANCES], row.n) / fact[FACT_W];
    R(normalise)(s, at[DIRECTIONS], row.n, fact, ALIGN);
    R(normalise)(s, at[AFFINITY], row.n, fact, SEP);
    R(normalise)(s, at[DISTANCES], row.n, fact, COH);
    asc_flock_gates gates = asc_flock_gates_of(s->a, head, &w->rows[r]);
    asc_centred bias[BIASES];
    for (int b = 0; b < BIASES; b++) {
        bias[b] = (asc_centred){head->s[ASC_OMEGA_ALIGN + b] * gates.coef[b], fact[FACT_MEAN + b]};
    }
    K->add_biases(at[SCORES], at[DIRECTIONS], at[AFFINITY], at[DISTANCES], bias, (real)head->score, row.n);
    if (s->a->o.all_statistics) {
        asc_panel_fill_outside(&s->J, p, r, REAL_DTYPE, at[SCORES], -INFINITY);
    }
    fact[FACT_LSE] = R(softmax)(at[SCORES], row.n);
    if (s->a->losses) {
        loss[0] += (double)K->dot(at[SCORES], at[DISTANCES], row.n);
        loss[1] += (double)K->dot(at[SCORES], at[AFFINITY], row.n);
    }
    asc_panel_spread(p, &row, REAL_DTYPE, at[SCORES] - row.start);
    memcpy(asc_flock_fact_row(s, p, r), fact, FACTS * sizeof(double));
}

static void R(forward_panel)(const asc_flock *s, int64_t piece, int worker)
{
    asc_panel p = asc_panel_at(&s->rows, piece);
    asc_flock_space w = asc_flock_space_of(s, worker);
    asc_flock_head head = asc_flock_head_of(s->call, p.h);
    asc_matrix c = asc_flock_centroids(s, &p);
    asc_flock_measure(s, &p, &w);
    for (int64_t r = 0; r < p.rows; r++) {
        R(gather_row)(s, &p, &head, r, &w);
    }
    R(centroids)(s, &p, &w, c);
    asc_panel_add_bias(&s->rows, &p, &s->bias, REAL_DTYPE, w.panel[SCORES]);
    asc_flock_directions(s, &p, &w, w.panel[DIRECTIONS]);
    asc_flock_distances(s, &p, (const real *)c.data + p.first * c.ld, w.panel[DISTANCES]);
    double *loss = s->partial + 2 * piece;
    loss[0] = loss[1] = 0;
    for (int64_t r = 0; r < p.rows; r++) {
        R(attend_row)(s, &p, &head, r, &w, loss);
    }
    asc_panel_mix(&p, 1, w.panel[SCORES], asc_flock_input(s, &p, &s->call->in[FLOCK_V]), false,
                  asc_flock_input(s, &p, &s->call->out[FLOCK_Y]));
    if (s->all_u) {
        real *all = (real *)s->all_u + ((p.b * s->J.H + p.h) * s->J.N + p.first) * s->d_heading;
        memcpy(all, w.u, (size_t)(p.rows * s->d_heading) * sizeof *all);
    }
}

#undef EPSILON
#endif
