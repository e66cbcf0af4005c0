/* ops/ascender/backward.c: a panel of the ASCender op backward: the scores again, then from dA back to every input.
 *
 *   dA_ij = dy_i·v_j + g_s φ_ij + g_c ‖z_j - c_i‖²,  dS = A (dA - Σ A dA)/(τ_score + ε)    (g: of the auxiliary losses)
 *   dx_j = slope dS_j + spread (x_j - μ) for each raw score x (ops/ascender/gates.c), and then
 *
 *   align  du = Σ_j dr_j k̃_j,  dk̃_j += dr_j u,  ds = (du - u (u·du))/‖s‖ - 2 dv s/|N|²,  dk̃_l += ds for l in N(i)
 *   sep    dφ += g_s A,  da = dφ w^sep [a > δ],  dw^sep = dφ max(0, a - δ) + dρ
 *   coh    D = ‖z - c‖²,  dD += g_c A + dV w^coh/W,  dc from it;
 *          dw^coh = (dV (D - V) + dc·(z_j - c))/W,  dz_j += w^coh dc/W
 *   both   dd²_ij = -dw^sep w^sep/T_sep - dw^coh w^coh/T_coh,  dz from it */
#ifndef ASC_REAL
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

/* What the panels of a worker hold. SCORES, AFFINITY, SQUARES are where asc_flock_measure puts them. */
enum { SCORES, AFFINITY, SQUARES, DIRECTIONS, DISTANCES, ATTENTION, DSCORES, COHESION, DSQUARES };

/* Where a chunk's sums over queries go. */
typedef struct sums {
    asc_matrix keys, values, z, headings, features, places_t;
    void *table;
    double *scalars; /* [ASC_SWARM_SCALARS] */
} sums;

/* One panel at work. */
typedef struct work {
    const asc_flock *s;
    const asc_panel *p;
    const asc_flock_space *w;
    const sums *to;
    asc_flock_head head;
    double loss_coh, loss_sep; /* gradients of the losses' rows */
    asc_flock_pull pull[ASC_PANEL];
} work;

static double loss_grad(const asc_flock *s, int output)
{
    const asc_array *g = &s->call->grad_out[output];
    double upstream = s->a->losses && g->data ? asc_flock_value(g, 0) : 0;
    return upstream / (double)(s->J.B * s->J.H * s->J.N);
}

#define ASC_SELF "ops/ascender/backward.c"
#include "ops/shared/both.h"

void asc_flock_backward_chunk(void *flock, int64_t piece, int worker)
{
    const asc_flock *s = flock;
    BY_DTYPE(s->dtype, backward_chunk, (s, piece, worker));
}

#else /* for each dtype */

static real *R(entries)(const work *k, int panel, int64_t r, const asc_panel_row *row)
{
    return (real *)k->w->panel[panel] + r * k->p->columns + row->start;
}

/* ---- the scores again ---- */

static void R(recompute)(const work *k)
{
    const asc_flock *s = k->s;
    const asc_panel *p = k->p;
    const asc_flock_space *w = k->w;
    asc_matrix c = asc_flock_centroids(s, p), dy = asc_flock_input(s, p, &s->call->grad_out[FLOCK_Y]);
    asc_flock_measure(s, p, w);
    asc_panel_add_bias(&s->rows, p, &s->bias, REAL_DTYPE, w->panel[SCORES]);
    for (int64_t r = 0; r < p->rows; r++) {
        asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
        asc_flock_heading(s, p, &row, r, w);
        w->rows[r].n = (double)row.n;
        memcpy(w->rows[r].fact, asc_flock_fact_row(s, p, r), FACTS * sizeof(double));
    }
    asc_flock_directions(s, p, w, w->panel[DIRECTIONS]);
    asc_flock_distances(s, p, (const real *)c.data + p->first * c.ld, w->panel[DISTANCES]);
    if (dy.data) {
        asc_matrix v = asc_flock_turned(s, p, s->values_t, asc_flock_input(s, p, &s->call->in[FLOCK_V]));
        asc_panel_scores(p, 1, dy, v, w->panel[DSCORES]);
    } else {
        memset(w->panel[DSCORES], 0, (size_t)(p->rows * p->columns) * sizeof(real));
    }
}

/* S/(τ_score + ε), A from it, and dS from dA; Σ dS S, with which τ_score is done. */
static void R(scores_row)(const work *k, int64_t r, const asc_panel_row *row, const asc_flock_gates *gates,
                          const real *phi)
{
    const asc_flock *s = k->s;
    const double *fact = k->w->rows[r].fact;
    real *S = R(entries)(k, SCORES, r, row), *A = R(entries)(k, ATTENTION, r, row);
    real *dS = R(entries)(k, DSCORES, r, row);
    const real *D = R(entries)(k, DISTANCES, r, row);
    asc_centred bias[BIASES];
    for (int b = 0; b < BIASES; b++) {
        bias[b] = (asc_centred){k->head.s[ASC_OMEGA_ALIGN + b] * gates->coef[b], fact[FACT_MEAN + b]};
    }
    K->add_biases(S, R(entries)(k, DIRECTIONS, r, row), phi, D, bias, (real)k->head.score, row->n);
    K->exp_shift(A, S, (real)fact[FACT_LSE], row->n);
    if (s->a->o.all_statistics) {
        asc_panel_fill_outside(&s->J, k->p, r, REAL_DTYPE, A, 0);
    }
    if (k->loss_sep != 0) {
        K->axpy(dS, (real)k->loss_sep, phi, row->n);
    }
    if (k->loss_coh != 0) {
        K->axpy(dS, (real)k->loss_coh, D, row->n);
    }
    K->softmax_grad_row(dS, A, dS, (real)k->head.score, row->n, true);
    k->to->scalars[ASC_TAU_SCORE] -= (double)K->dot(dS, S, row->n);
}

/* Raw scores become their gradients; S's place takes dV (D - V). */
static void R(raw_scores_row)(const work *k, int64_t r, const asc_panel_row *row, const real *phi, const real *sep)
{
    const asc_flock_pull *pull = &k->pull[r];
    const double *fact = k->w->rows[r].fact;
    const real *dS = R(entries)(k, DSCORES, r, row), *A = R(entries)(k, ATTENTION, r, row);
    real *x = R(entries)(k, DIRECTIONS, r, row), *a = R(entries)(k, AFFINITY, r, row);
    real *D = R(entries)(k, DISTANCES, r, row), *dd2 = R(entries)(k, DSQUARES, r, row);
    int64_t n = row->n;
    K->centred_grad(x, dS, (real)pull->slope[ALIGN], (real)pull->spread[ALIGN], (real)fact[FACT_MEAN + ALIGN], n);

    K->centred_scale(R(entries)(k, SCORES, r, row), D, (real)fact[FACT_V], (real)pull->V, n);
    K->centred_grad(D, dS, (real)pull->slope[COH], (real)pull->spread[COH], (real)fact[FACT_MEAN + COH], n);
    K->axpy(D, (real)(pull->V / fact[FACT_W]), R(entries)(k, COHESION, r, row), n);
    if (k->loss_coh != 0) {
        K->axpy(D, (real)k->loss_coh, A, n);
    }

    const asc_separation_grad grad = {.slope = pull->slope[SEP], .spread = pull->spread[SEP],
                                      .mean = fact[FACT_MEAN + SEP], .attention = k->loss_sep,
                                      .delta = k->head.s[ASC_DELTA], .density = pull->rho,
                                      .sep = -1 / k->head.width_sep};
    K->separation_grad(a, dd2, dS, A, phi, sep, n, &grad);
    if (row->self >= 0 && !k->s->a->o.sep_self) {
        a[row->self] = 0; /* d² of a token from itself is 0, so what stands in dd2 there is of no effect */
    }
    k->to->scalars[ASC_DELTA] -= (double)K->sum(a, n);
    k->to->scalars[ASC_TAU_SEP] -= (double)K->dot(dd2, R(entries)(k, SQUARES, r, row), n) * k->head.slope_sep /
                                   k->head.width_sep;
}

/* A row from its raw scores to their gradients, all but the part of w^coh that comes by way of c. */
static void R(first_row)(work *k, int64_t r)
{
    static const int compacted[] = {SCORES, AFFINITY, SQUARES, DIRECTIONS, DISTANCES, DSCORES};
    static const int spread[] = {SCORES, AFFINITY, DIRECTIONS, DISTANCES, DSCORES, ATTENTION};
    const asc_flock *s = k->s;
    const asc_flock_space *w = k->w;
    asc_panel_row row = asc_panel_row_of(&s->rows, k->p, r, w->columns);
    for (size_t i = 0; i < sizeof compacted / sizeof *compacted; i++) {
        asc_panel_compact(&row, REAL_DTYPE, (real *)w->panel[compacted[i]] + r * k->p->columns);
    }
    real *sep = w->row[0], *phi = w->row[1];
    K->pair_weights(sep, R(entries)(k, COHESION, r, &row), phi, R(entries)(k, SQUARES, r, &row),
                    R(entries)(k, AFFINITY, r, &row), row.n,
                    &(asc_pair_weights){1 / k->head.width_sep, 1 / k->head.width_coh, k->head.s[ASC_DELTA]});
    if (row.self >= 0 && !s->a->o.sep_self) {
        phi[row.self] = 0;
    }
    asc_flock_gates gates = asc_flock_gates_of(s->a, &k->head, &w->rows[r]);
    R(scores_row)(k, r, &row, &gates, phi);
    const real *dS = R(entries)(k, DSCORES, r, &row);
    const real *x[BIASES] = {R(entries)(k, DIRECTIONS, r, &row), phi, R(entries)(k, DISTANCES, r, &row)};
    double along[BIASES];
    for (int b = 0; b < BIASES; b++) {
        along[b] = (double)K->centred_dot(x[b], (real)w->rows[r].fact[FACT_MEAN + b], dS, row.n);
    }
    k->pull[r] = asc_flock_gates_grad(s->a, &k->head, &w->rows[r], &gates, along, k->to->scalars);
    R(raw_scores_row)(k, r, &row, phi, sep);
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
        asc_panel_spread(k->p, &row, REAL_DTYPE, (real *)w->panel[spread[i]] + r * k->p->columns);
    }
}

/* ---- attention and alignment ---- */

static void R(attention)(const work *k)
{
    const asc_flock *s = k->s;
    const asc_panel *p = k->p;
    const asc_call *call = s->call;
    const void *dS = k->w->panel[DSCORES];
    if (call->grad_out[FLOCK_Y].data) {
        asc_panel_collect(p, 1, k->w->panel[ATTENTION], asc_flock_input(s, p, &call->grad_out[FLOCK_Y]), k->to->values);
    }
    asc_panel_mix(p, s->scale, dS, asc_flock_input(s, p, &call->in[FLOCK_K]), !call->fresh[FLOCK_Q],
                  asc_flock_input(s, p, &call->grad_in[FLOCK_Q]));
    asc_panel_collect(p, s->scale, dS, asc_flock_input(s, p, &call->in[FLOCK_Q]), k->to->keys);
    if (k->to->table) {
        asc_panel_collect_bias(&s->rows, p, s->bias.R, REAL_DTYPE, dS, k->to->table);
    }
}

/* du becomes ds, which goes to every neighbour's heading. */
static void R(neighbours_row)(const work *k, int64_t r)
{
    const asc_flock *s = k->s;
    const asc_flock_space *w = k->w;
    int64_t d = s->d_heading;
    asc_panel_row row = asc_panel_row_of(&s->rows, k->p, r, w->columns);
    int64_t n = asc_neighbors_list(&s->rule, k->p, &row, r, asc_flock_chosen_row(s, k->p, r), w->list);
    const real *sum = (const real *)w->sum + r * d, *u = (const real *)w->u + r * d;
    real *du = (real *)w->du + r * d;
    double norm = w->rows[r].norm;
    K->axpy(du, -K->dot(u, du, d), u, d);
    K->scale(du, norm > 1e-12 ? (real)(1 / norm) : 0, du, d);
    if (n > 0) {
        K->axpy(du, (real)(-2 * k->pull[r].variance / ((double)n * (double)n)), sum, d);
    }
    K->add_listed(k->to->headings.data, k->to->headings.ld, w->list, n, du, d);
}

static void R(alignment)(const work *k)
{
    const asc_flock *s = k->s;
    asc_panel alone = asc_panel_alone(k->p);
    asc_matrix u = asc_flock_block(s, k->w->u, s->d_heading), du = asc_flock_block(s, k->w->du, s->d_heading);
    if (s->all_du) {
        asc_matrix all = asc_flock_keys(s, k->p, s->all_du, s->J.N, s->d_heading);
        const real *from = (const real *)all.data + k->p->first * all.ld;
        memcpy(du.data, from, (size_t)(k->p->rows * s->d_heading) * sizeof *from);
    }
    asc_panel_mix(&alone, 1, k->w->panel[DIRECTIONS], asc_flock_keys(s, k->p, s->headings, s->J.M, s->d_heading),
                  s->all_du != NULL, du);
    asc_panel_collect(&alone, 1, k->w->panel[DIRECTIONS], u, k->to->headings);
    for (int64_t r = 0; r < k->p->rows; r++) {
        R(neighbours_row)(k, r);
    }
}

/* ---- features and places ---- */

static void R(affinity)(const work *k)
{
    const asc_flock *s = k->s;
    asc_matrix all = asc_flock_keys(s, k->p, s->features, s->J.M, s->da);
    const void *da = k->w->panel[AFFINITY];
    asc_panel_mix(k->p, 1, da, all, true, asc_flock_own_rows(s, k->to->features));
    asc_panel_collect(k->p, 1, da, asc_flock_own_rows(s, all), k->to->features);
}

/* The gradient of ‖z_j - a_i‖²: of the points a, [rows, dz], added to da, and of z. */
static void R(distances_grad)(const work *k, const void *G, const real *a, real *da)
{
    const asc_flock *s = k->s;
    asc_matrix z = asc_flock_keys(s, k->p, s->places_t, s->dz, s->ld);
    asc_panel_range part[2];
    int parts = asc_panel_ranges(k->p, part);
    for (int i = 0; i < parts; i++) {
        K->pair_distances_grad((const real *)G + part[i].column, k->p->columns, a, da, s->dz,
                               (const real *)z.data + part[i].key, (real *)k->to->places_t.data + part[i].key, s->ld,
                               k->p->rows, part[i].n, s->dz);
    }
}

/* P_ij += dc_i·(z_j - c_i). */
static void R(add_projections)(const work *k, const real *c, const real *dc, void *P)
{
    const asc_flock *s = k->s;
    asc_matrix z = asc_flock_keys(s, k->p, s->places_t, s->dz, s->ld);
    asc_panel_range part[2];
    int parts = asc_panel_ranges(k->p, part);
    for (int i = 0; i < parts; i++) {
        K->pair_projections((real *)P + part[i].column, k->p->columns, c, dc, s->dz, (const real *)z.data + part[i].key,
                            s->ld, k->p->rows, part[i].n, s->dz);
    }
}

/* The rest of dd²: what w^coh gets, in all. */
static void R(squares_row)(const work *k, int64_t r)
{
    asc_panel_row row = asc_panel_row_of(&k->s->rows, k->p, r, k->w->columns);
    asc_panel_compact(&row, REAL_DTYPE, (real *)k->w->panel[SCORES] + r * k->p->columns);
    real *dw = R(entries)(k, SCORES, r, &row), *coh = R(entries)(k, COHESION, r, &row);
    double share = 1 / (k->w->rows[r].fact[FACT_W] * k->head.width_coh);
    K->mul(dw, dw, coh, row.n);
    k->to->scalars[ASC_TAU_COH] += share * (double)K->dot(dw, R(entries)(k, SQUARES, r, &row), row.n) *
                                   k->head.slope_coh / k->head.width_coh;
    K->axpy(R(entries)(k, DSQUARES, r, &row), (real)-share, dw, row.n);
    asc_panel_spread(k->p, &row, REAL_DTYPE, coh - row.start);
    asc_panel_spread(k->p, &row, REAL_DTYPE, (real *)k->w->panel[DSQUARES] + r * k->p->columns);
}

static void R(places)(const work *k)
{
    const asc_flock *s = k->s;
    const asc_panel *p = k->p;
    int64_t size = p->rows * s->dz;
    asc_panel alone = asc_panel_alone(p);
    asc_matrix c = asc_flock_centroids(s, p), dc = asc_flock_block(s, k->w->dc, s->dz);
    asc_matrix own = asc_flock_own_rows(s, asc_flock_keys(s, p, s->places, s->J.M, s->dz));
    const real *centroids = (const real *)c.data + p->first * c.ld;
    memset(dc.data, 0, (size_t)size * sizeof(real));
    R(distances_grad)(k, k->w->panel[DISTANCES], centroids, dc.data);
    R(add_projections)(k, centroids, dc.data, k->w->panel[SCORES]);
    for (int64_t r = 0; r < p->rows; r++) {
        real *row = (real *)dc.data + r * s->dz;
        R(squares_row)(k, r);
        K->scale(row, (real)(1 / k->w->rows[r].fact[FACT_W]), row, s->dz);
    }
    asc_panel_collect(&alone, 1, k->w->panel[COHESION], dc, k->to->z);
    memset(dc.data, 0, (size_t)size * sizeof(real)); /* now of the queries' own places */
    R(distances_grad)(k, k->w->panel[DSQUARES], (const real *)own.data + p->first * own.ld, dc.data);
    asc_matrix dz = asc_flock_own_rows(s, k->to->z);
    for (int64_t r = 0; dz.data && r < p->rows; r++) {
        K->acc((real *)dz.data + (p->first + r) * dz.ld, (const real *)dc.data + r * s->dz, s->dz);
    }
}

/* Every C-th panel of a head, in order. */
static void R(backward_chunk)(const asc_flock *s, int64_t piece, int worker)
{
    int64_t chunks = asc_panel_chunks(&s->rows), panels = asc_head_panels(&s->rows);
    int64_t head = piece / chunks, chunk = piece % chunks, b = head / s->J.H, h = head % s->J.H;
    const sums to = {
        .keys = asc_panel_sums_begin(&s->dkeys, b, h, chunk),
        .values = asc_panel_sums_begin(&s->dvalues, b, h, chunk),
        .z = asc_panel_sums_begin(&s->dz_rows, b, h, chunk),
        .headings = asc_panel_sums_begin(&s->dheadings, b, h, chunk),
        .features = asc_panel_sums_begin(&s->dfeatures, b, h, chunk),
        .places_t = asc_panel_sums_begin(&s->dplaces_t, b, h, chunk),
        .table = s->table_sums ? (real *)s->table_sums + piece * (2 * s->bias.R + 1) : NULL,
        .scalars = s->partial + piece * ASC_SWARM_SCALARS,
    };
    asc_flock_space space = asc_flock_space_of(s, worker);
    work k = {.s = s, .w = &space, .to = &to, .head = asc_flock_head_of(s->call, h),
              .loss_coh = loss_grad(s, FLOCK_LOSS_COH), .loss_sep = loss_grad(s, FLOCK_LOSS_SEP)};
    for (int64_t i = chunk; i < panels; i += chunks) {
        asc_panel p = asc_panel_at(&s->rows, head * panels + i);
        k.p = &p;
        R(recompute)(&k);
        for (int64_t r = 0; r < p.rows; r++) {
            R(first_row)(&k, r);
        }
        R(attention)(&k);
        R(alignment)(&k);
        R(affinity)(&k);
        R(places)(&k);
    }
}

#endif
