/* ops/ascender/backward.c: the op ascender backward, panel by panel: the scores again, then from dA to every input.
 *
 *   dA_ij = dy_i·v_j + g_s φ_ij + g_c ‖z_j - c_i‖²,  dS = A (dA - Σ A dA)/(τ_score + ε)    (g: of the auxiliary losses)
 *   dx_j = slope dS_j + spread (x_j - μ) for each raw score x (ops/ascender/scores.c), and then
 *
 *   align  du = Σ_j dr_j k̃_j,  dk̃_j += dr_j u,  ds = (du - u (u·du))/‖s‖ - 2 dv s/|N|²,  dk̃_l += ds for l in N(i)
 *   sep    dφ += g_s A,  da = dφ w^sep [a > δ],  dw^sep = dφ max(0, a - δ) + dρ
 *   coh    D = ‖z - c‖²,  dD += g_c A + dV w^coh/W,  dc from it;
 *          dw^coh = (dV (D - V) + dc·(z_j - c))/W,  dz_j += w^coh dc/W
 *   both   dd²_ij = -dw^sep w^sep/T_sep - dw^coh w^coh/T_coh,  dz from it */
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

/* Where a chunk's sums over queries go. */
typedef struct sums {
    asc_matrix keys, values, z, headings, features, places_t;
    int64_t chunk;
    double *scalars; /* [ASC_ASCENDER_SCALARS] */
} sums;

/* One panel at work. */
typedef struct work {
    const asc_ascender_call *s;
    const asc_panel *p;
    const asc_ascender_space *w;
    const sums *to;
    asc_ascender_head head;
    double loss_coh, loss_sep; /* gradients of the losses' rows */
    asc_ascender_row_grad row_grad[ASC_PANEL];
} work;

static double loss_grad(const asc_ascender_call *s, int output)
{
    const asc_array *g = &s->call->grad_out[output];
    double upstream = s->a->losses && g->data ? asc_element(g->dtype, g->data, 0) : 0;
    return upstream / (double)(s->J.B * s->J.H * s->J.N);
}

/* The gradient of a raw score adds up to 0 over the row, but for rounding, of μ above all, which counts for (μ/σ)² ε.
 * Whether the row is so nearly constant that it shows, and what is left over is to be taken off. */
static bool is_nearly_constant(const double *fact, int b)
{
    static const double nearly = 1. / 32;
    return fact[FACT_SIGMA + b] > 0 && fact[FACT_SIGMA + b] < nearly * fabs(fact[FACT_MEAN + b]);
}

/* ---- float, and f64.awk makes the same for double ---- */

static float *entries_f32(const work *k, int panel, int64_t r, const asc_panel_row *row)
{
    return (float *)k->w->panel[panel] + r * k->p->columns + row->start;
}

/* ---- the scores again ---- */

static void recompute_f32(const work *k)
{
    const asc_ascender_call *s = k->s;
    const asc_panel *p = k->p;
    const asc_ascender_space *w = k->w;
    asc_matrix c = asc_ascender_centroids(s, p), dy = asc_ascender_matrix(s, p, &s->call->grad_out[ASCENDER_Y]);
    asc_ascender_measure(s, p, w);
    asc_panel_add_bias(&s->rows, p, &s->positions, ASC_F32, w->panel[SCORES]);
    asc_panel_add_given(p, &s->given, w->panel[SCORES]);
    for (int64_t r = 0; r < p->rows; r++) {
        asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
        asc_ascender_heading(s, p, &row, r, w);
        w->rows[r].n = (double)row.n;
        memcpy(w->rows[r].fact, asc_ascender_fact_row(s, p, r), FACTS * sizeof(double));
    }
    asc_ascender_directions(s, p, w, w->panel[DIRECTIONS]);
    asc_ascender_distances(s, p, (const float *)c.data + p->first * c.ld, w->panel[DISTANCES]);
    if (dy.data) {
        asc_matrix v = asc_ascender_turned(s, p, s->values_t, asc_ascender_matrix(s, p, &s->call->in[ASCENDER_V]));
        asc_panel_scores(p, 1, dy, v, w->panel[DSCORES]);
    } else {
        memset(w->panel[DSCORES], 0, (size_t)(p->rows * p->columns) * sizeof(float));
    }
}

/* Σ dS S; a bias may have taken entries out by S = -∞, whose dS is 0. */
static double temperature_f32(const work *k, const float *dS, float *S, const float *A, int64_t n)
{
    for (int64_t e = 0; k->s->given.data && e < n; e++) {
        S[e] = A[e] > 0 ? S[e] : 0;
    }
    return (double)asc_kernels_f32()->dot(dS, S, n);
}

/* S/(τ_score + ε), A from it, and dS from dA; Σ dS S, with which τ_score is done. */
static void scores_row_f32(const work *k, int64_t r, const asc_panel_row *row, const asc_ascender_gates *gates,
                           const float *phi)
{
    const asc_ascender_call *s = k->s;
    const double *fact = k->w->rows[r].fact;
    float *S = entries_f32(k, SCORES, r, row), *A = entries_f32(k, ATTENTION, r, row);
    float *dS = entries_f32(k, DSCORES, r, row);
    const float *D = entries_f32(k, DISTANCES, r, row);
    asc_centred bias[BIASES];
    for (int b = 0; b < BIASES; b++) {
        bias[b] = (asc_centred){k->head.s[ASC_ASCENDER_OMEGA_ALIGN + b] * gates->coef[b], fact[FACT_MEAN + b]};
    }
    asc_kernels_f32()->add_biases(S, entries_f32(k, DIRECTIONS, r, row), phi, D, bias, (float)k->head.score, row->n);
    float total = asc_kernels_f32()->exp_shift(A, S, (float)fact[FACT_LSE], row->n);
    if (s->a->o.all_statistics) {
        asc_panel_fill_outside(&s->J, k->p, r, ASC_F32, A, 0);
        total = asc_kernels_f32()->sum(A, row->n);
    }
    asc_panel_sum_to_1_f32(A, total, row->n);
    if (k->loss_sep != 0) {
        asc_kernels_f32()->axpy(dS, (float)k->loss_sep, phi, row->n);
    }
    if (k->loss_coh != 0) {
        asc_kernels_f32()->axpy(dS, (float)k->loss_coh, D, row->n);
    }
    asc_kernels_f32()->softmax_grad_row(dS, A, dS, (float)k->head.score, row->n, true);
    k->to->scalars[ASC_ASCENDER_TAU_SCORE] -= temperature_f32(k, dS, S, A, row->n);
}

static void normalisation_grad_f32(const work *k, int64_t r, int b, float *x, const float *dS, int64_t n)
{
    const asc_ascender_row_grad *row_grad = &k->row_grad[r];
    float mean = (float)k->w->rows[r].fact[FACT_MEAN + b];
    asc_kernels_f32()->centred_grad(x, dS, (float)row_grad->slope[b], (float)row_grad->spread[b], mean, n);
}

/* A raw score's gradient in its place. */
static void normalisation_row_f32(const work *k, int64_t r, int b, float *x, const float *dS, int64_t n)
{
    normalisation_grad_f32(k, r, b, x, dS, n);
    if (is_nearly_constant(k->w->rows[r].fact, b)) {
        asc_kernels_f32()->centred_scale(x, x, asc_kernels_f32()->sum(x, n) / (float)n, 1, n);
    }
}

/* What is left over of φ's, over n; `spare` holds a row. */
static double left_of_separation_f32(const work *k, int64_t r, const float *phi, const float *dS, float *spare,
                                     int64_t n)
{
    if (!is_nearly_constant(k->w->rows[r].fact, SEP)) {
        return 0;
    }
    memcpy(spare, phi, (size_t)n * sizeof *spare);
    normalisation_grad_f32(k, r, SEP, spare, dS, n);
    return (double)(asc_kernels_f32()->sum(spare, n) / (float)n);
}

/* Raw scores become their gradients; S's place takes dV (D - V). */
static void raw_scores_row_f32(const work *k, int64_t r, const asc_panel_row *row, const float *phi, const float *sep)
{
    const asc_ascender_row_grad *row_grad = &k->row_grad[r];
    const double *fact = k->w->rows[r].fact;
    const float *dS = entries_f32(k, DSCORES, r, row), *A = entries_f32(k, ATTENTION, r, row);
    float *x = entries_f32(k, DIRECTIONS, r, row), *a = entries_f32(k, AFFINITY, r, row);
    float *D = entries_f32(k, DISTANCES, r, row), *dd2 = entries_f32(k, DSQUARES, r, row);
    int64_t n = row->n;
    normalisation_row_f32(k, r, ALIGN, x, dS, n);

    asc_kernels_f32()->centred_scale(entries_f32(k, SCORES, r, row), D, (float)fact[FACT_V], (float)row_grad->V, n);
    normalisation_row_f32(k, r, COH, D, dS, n);
    asc_kernels_f32()->axpy(D, (float)(row_grad->V / fact[FACT_W]), entries_f32(k, COHESION, r, row), n);
    if (k->loss_coh != 0) {
        asc_kernels_f32()->axpy(D, (float)k->loss_coh, A, n);
    }

    const asc_separation_grad grad = {.slope = row_grad->slope[SEP], .spread = row_grad->spread[SEP],
                                      .mean = fact[FACT_MEAN + SEP], .attention = k->loss_sep,
                                      .left = left_of_separation_f32(k, r, phi, dS, dd2, n),
                                      .delta = k->head.s[ASC_ASCENDER_DELTA], .density = row_grad->rho,
                                      .sep = -1 / k->head.width_sep};
    asc_kernels_f32()->separation_grad(a, dd2, dS, A, phi, sep, n, &grad);
    if (row->self >= 0 && !k->s->a->o.sep_self) {
        a[row->self] = 0; /* d² of a token from itself is 0, so what stands in dd2 there is of no effect */
    }
    k->to->scalars[ASC_ASCENDER_DELTA] -= (double)asc_kernels_f32()->sum(a, n);
    k->to->scalars[ASC_ASCENDER_TAU_SEP] -=
        (double)asc_kernels_f32()->dot(dd2, entries_f32(k, SQUARES, r, row), n) * k->head.slope_sep / k->head.width_sep;
}

/* A row from its raw scores to their gradients, all but the part of w^coh that comes by way of c. */
static void first_row_f32(work *k, int64_t r)
{
    static const int compacted[] = {SCORES, AFFINITY, SQUARES, DIRECTIONS, DISTANCES, DSCORES};
    static const int spread[] = {SCORES, AFFINITY, DIRECTIONS, DISTANCES, DSCORES, ATTENTION};
    const asc_ascender_call *s = k->s;
    const asc_ascender_space *w = k->w;
    asc_panel_row row = asc_panel_row_of(&s->rows, k->p, r, w->columns);
    for (size_t i = 0; i < sizeof compacted / sizeof *compacted; i++) {
        asc_panel_compact(&row, ASC_F32, (float *)w->panel[compacted[i]] + r * k->p->columns);
    }
    float *sep = w->row[0], *phi = w->row[1];
    asc_kernels_f32()->pair_weights(
        sep, entries_f32(k, COHESION, r, &row), phi, entries_f32(k, SQUARES, r, &row),
        entries_f32(k, AFFINITY, r, &row), row.n,
        &(asc_pair_weights){1 / k->head.width_sep, 1 / k->head.width_coh, k->head.s[ASC_ASCENDER_DELTA]});
    if (row.self >= 0 && !s->a->o.sep_self) {
        phi[row.self] = 0;
    }
    asc_ascender_gates gates = asc_ascender_gates_of(s->a, &k->head, &w->rows[r]);
    scores_row_f32(k, r, &row, &gates, phi);
    const float *dS = entries_f32(k, DSCORES, r, &row);
    const float *x[BIASES] = {entries_f32(k, DIRECTIONS, r, &row), phi, entries_f32(k, DISTANCES, r, &row)};
    double along[BIASES];
    for (int b = 0; b < BIASES; b++) {
        along[b] = (double)asc_kernels_f32()->centred_dot(x[b], (float)w->rows[r].fact[FACT_MEAN + b], dS, row.n);
    }
    k->row_grad[r] = asc_ascender_gates_grad(s->a, &k->head, &w->rows[r], &gates, along, k->to->scalars);
    raw_scores_row_f32(k, r, &row, phi, sep);
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
        asc_panel_spread(k->p, &row, ASC_F32, (float *)w->panel[spread[i]] + r * k->p->columns);
    }
}

/* ---- attention and alignment ---- */

static void attention_f32(const work *k)
{
    const asc_ascender_call *s = k->s;
    const asc_panel *p = k->p;
    const asc_call *call = s->call;
    const void *dS = k->w->panel[DSCORES];
    if (call->grad_out[ASCENDER_Y].data) {
        asc_panel_collect(p, 1, k->w->panel[ATTENTION], asc_ascender_matrix(s, p, &call->grad_out[ASCENDER_Y]),
                          k->to->values);
    }
    asc_panel_mix(p, s->scale, dS, asc_ascender_matrix(s, p, &call->in[ASCENDER_K]), !call->fresh[ASCENDER_Q],
                  asc_ascender_matrix(s, p, &call->grad_in[ASCENDER_Q]));
    asc_panel_collect(p, s->scale, dS, asc_ascender_matrix(s, p, &call->in[ASCENDER_Q]), k->to->keys);
    asc_table_sums_collect(&s->table, &s->rows, p, k->to->chunk, dS);
    asc_panel_collect_given(p, &s->given, dS);
}

/* du becomes ds, which goes to every neighbour's heading. */
static void neighbours_row_f32(const work *k, int64_t r)
{
    const asc_ascender_call *s = k->s;
    const asc_ascender_space *w = k->w;
    int64_t d = s->d_heading;
    asc_panel_row row = asc_panel_row_of(&s->rows, k->p, r, w->columns);
    int64_t n = asc_neighbors_list(&s->rule, k->p, &row, r, asc_ascender_chosen_row(s, k->p, r), w->list);
    const float *sum = (const float *)w->sum + r * d, *u = (const float *)w->u + r * d;
    float *du = (float *)w->du + r * d;
    double norm = w->rows[r].norm;
    asc_unit_grad_f32(du, u, du, norm > ASC_LEAST_NORM ? (float)(1 / norm) : 0, d, true);
    if (n > 0) {
        asc_kernels_f32()->axpy(du, (float)(-2 * k->row_grad[r].variance / ((double)n * (double)n)), sum, d);
    }
    asc_kernels_f32()->add_listed(k->to->headings.data, k->to->headings.ld, w->list, n, du, d);
}

static void alignment_f32(const work *k)
{
    const asc_ascender_call *s = k->s;
    asc_panel alone = asc_panel_alone(k->p);
    asc_matrix u = asc_ascender_panel_rows(s, k->w->u, s->d_heading);
    asc_matrix du = asc_ascender_panel_rows(s, k->w->du, s->d_heading);
    if (s->all_du) {
        asc_matrix all = asc_ascender_keys(s, k->p, s->all_du, s->J.N, s->d_heading);
        const float *from = (const float *)all.data + k->p->first * all.ld;
        memcpy(du.data, from, (size_t)(k->p->rows * s->d_heading) * sizeof *from);
    }
    asc_panel_mix(&alone, 1, k->w->panel[DIRECTIONS], asc_ascender_keys(s, k->p, s->headings, s->J.M, s->d_heading),
                  s->all_du != NULL, du);
    asc_panel_collect(&alone, 1, k->w->panel[DIRECTIONS], u, k->to->headings);
    for (int64_t r = 0; r < k->p->rows; r++) {
        neighbours_row_f32(k, r);
    }
}

/* ---- features and places ---- */

static void affinity_f32(const work *k)
{
    const asc_ascender_call *s = k->s;
    asc_matrix all = asc_ascender_keys(s, k->p, s->features, s->J.M, s->da);
    asc_matrix own = s->J.apart ? asc_ascender_keys(s, k->p, s->query_dfeatures, s->J.N, s->da)
                                : asc_ascender_own_rows(s, k->to->features);
    const void *da = k->w->panel[AFFINITY];
    asc_panel_mix(k->p, 1, da, all, !s->J.apart, own);
    asc_panel_collect(k->p, 1, da, asc_ascender_own_features(s, k->p), k->to->features);
}

/* The gradient of ‖z_j - a_i‖²: of the points a, [rows, dz], added to da, and of z. */
static void distances_grad_f32(const work *k, const void *G, const float *a, float *da)
{
    const asc_ascender_call *s = k->s;
    asc_matrix z = asc_ascender_keys(s, k->p, s->places_t, s->dz, s->ld);
    for (asc_panel_tile t = asc_panel_tile_first(k->p); t.n > 0; asc_panel_tile_next(k->p, &t)) {
        asc_kernels_f32()->pair_distances_grad(
            (const float *)G + t.row * k->p->columns + t.column, k->p->columns, a + t.row * s->dz, da + t.row * s->dz,
            s->dz, (const float *)z.data + t.key, (float *)k->to->places_t.data + t.key, s->ld, t.rows, t.n, s->dz);
    }
}

/* P_ij += dc_i·(z_j - c_i). */
static void add_projections_f32(const work *k, const float *c, const float *dc, void *P)
{
    const asc_ascender_call *s = k->s;
    asc_matrix z = asc_ascender_keys(s, k->p, s->places_t, s->dz, s->ld);
    for (asc_panel_tile t = asc_panel_tile_first(k->p); t.n > 0; asc_panel_tile_next(k->p, &t)) {
        asc_kernels_f32()->pair_projections((float *)P + t.row * k->p->columns + t.column, k->p->columns,
                                            c + t.row * s->dz, dc + t.row * s->dz, s->dz,
                                            (const float *)z.data + t.key, s->ld, t.rows, t.n, s->dz);
    }
}

/* The rest of dd²: what w^coh gets, in all. */
static void squares_row_f32(const work *k, int64_t r)
{
    asc_panel_row row = asc_panel_row_of(&k->s->rows, k->p, r, k->w->columns);
    asc_panel_compact(&row, ASC_F32, (float *)k->w->panel[SCORES] + r * k->p->columns);
    float *dw = entries_f32(k, SCORES, r, &row), *coh = entries_f32(k, COHESION, r, &row);
    double share = 1 / (k->w->rows[r].fact[FACT_W] * k->head.width_coh);
    asc_kernels_f32()->mul(dw, dw, coh, row.n);
    k->to->scalars[ASC_ASCENDER_TAU_COH] +=
        share * (double)asc_kernels_f32()->dot(dw, entries_f32(k, SQUARES, r, &row), row.n) * k->head.slope_coh /
        k->head.width_coh;
    asc_kernels_f32()->axpy(entries_f32(k, DSQUARES, r, &row), (float)-share, dw, row.n);
    asc_panel_spread(k->p, &row, ASC_F32, coh - row.start);
    asc_panel_spread(k->p, &row, ASC_F32, (float *)k->w->panel[DSQUARES] + r * k->p->columns);
}

/* What the queries' own places get. */
static void own_places_f32(const work *k, const float *grad)
{
    const asc_ascender_call *s = k->s;
    const asc_call *call = s->call;
    asc_matrix dz = s->J.apart ? asc_ascender_matrix(s, k->p, &call->grad_in[ASCENDER_Z_QUERIES])
                               : asc_ascender_own_rows(s, k->to->z);
    for (int64_t r = 0; dz.data && r < k->p->rows; r++) {
        float *to = (float *)dz.data + (k->p->first + r) * dz.ld;
        if (s->J.apart && call->fresh[ASCENDER_Z_QUERIES]) {
            memcpy(to, grad + r * s->dz, (size_t)s->dz * sizeof *to);
        } else {
            asc_kernels_f32()->acc(to, grad + r * s->dz, s->dz);
        }
    }
}

static void places_f32(const work *k)
{
    const asc_ascender_call *s = k->s;
    const asc_panel *p = k->p;
    int64_t size = p->rows * s->dz;
    asc_panel alone = asc_panel_alone(p);
    asc_matrix c = asc_ascender_centroids(s, p), dc = asc_ascender_panel_rows(s, k->w->dc, s->dz);
    asc_matrix own = asc_ascender_own_places(s, p);
    const float *centroids = (const float *)c.data + p->first * c.ld;
    memset(dc.data, 0, (size_t)size * sizeof(float));
    distances_grad_f32(k, k->w->panel[DISTANCES], centroids, dc.data);
    add_projections_f32(k, centroids, dc.data, k->w->panel[SCORES]);
    for (int64_t r = 0; r < p->rows; r++) {
        float *row = (float *)dc.data + r * s->dz;
        squares_row_f32(k, r);
        asc_kernels_f32()->scale(row, (float)(1 / k->w->rows[r].fact[FACT_W]), row, s->dz);
    }
    asc_panel_collect(&alone, 1, k->w->panel[COHESION], dc, k->to->z);
    memset(dc.data, 0, (size_t)size * sizeof(float)); /* now of the queries' own places */
    distances_grad_f32(k, k->w->panel[DSQUARES], (const float *)own.data + p->first * own.ld, dc.data);
    own_places_f32(k, dc.data);
}

/* Every C-th panel of a head, in order. */
static void backward_chunk_f32(const asc_ascender_call *s, int64_t head, int64_t chunk, int worker)
{
    int64_t chunks = asc_panel_chunks(&s->rows), panels = asc_head_panels(&s->rows);
    int64_t b = head / s->J.H, h = head % s->J.H;
    const sums to = {
        .keys = asc_panel_sums_begin(&s->dkeys, b, h, chunk),
        .values = asc_panel_sums_begin(&s->dvalues, b, h, chunk),
        .z = asc_panel_sums_begin(&s->dz_rows, b, h, chunk),
        .headings = asc_panel_sums_begin(&s->dheadings, b, h, chunk),
        .features = asc_panel_sums_begin(&s->dfeatures, b, h, chunk),
        .places_t = asc_panel_sums_begin(&s->dplaces_t, b, h, chunk),
        .chunk = chunk,
        .scalars = s->partial + (head * chunks + chunk) * ASC_ASCENDER_SCALARS,
    };
    asc_ascender_space space = asc_ascender_space_of(s, worker);
    work k = {.s = s, .w = &space, .to = &to, .head = asc_ascender_head_of(s->call, h),
              .loss_coh = loss_grad(s, ASCENDER_LOSS_COH), .loss_sep = loss_grad(s, ASCENDER_LOSS_SEP)};
    for (int64_t i = chunk; i < panels && !asc_interrupted(s->call->ctx); i += chunks) {
        asc_panel p = asc_panel_at(&s->rows, head * panels + i);
        k.p = &p;
        recompute_f32(&k);
        for (int64_t r = 0; r < p.rows; r++) {
            first_row_f32(&k, r);
        }
        attention_f32(&k);
        alignment_f32(&k);
        affinity_f32(&k);
        places_f32(&k);
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const asc_ascender_call *s = arg;
    int64_t chunks = asc_panel_chunks(&s->rows);
    for (int64_t m = 0; m < asc_strand_heads(&s->rows); m++) {
        backward_chunk_f32(s, asc_strand_head(&s->rows, piece / chunks, m), piece % chunks, worker);
    }
}

/* ---- end of float ---- */
#include "ops/ascender/backward.f64.h"

/* Sums for what was prepared of the keys: memory taken at once, as a call has few scratch arrays. */
static asc_status begin_key_sums(asc_ascender_call *s)
{
    int64_t heads = s->J.B * s->J.H, M = s->J.M;
    int64_t headings = heads * M * s->d_heading, features = heads * M * s->da, places = heads * s->dz * s->ld;
    size_t element = asc_dtype_size(s->dtype);
    char *base = asc_call_scratch(s->call, (size_t)(headings + features + places) * element);
    if (!base) {
        return ASC_ERR_MEMORY;
    }
    char *second = base + (size_t)headings * element, *third = second + (size_t)features * element;
    asc_status status = asc_panel_sums_of(s->call, &s->rows, s->dtype, base, M, s->d_heading, &s->dheadings);
    status = status ? status : asc_panel_sums_of(s->call, &s->rows, s->dtype, second, M, s->da, &s->dfeatures);
    return status ? status : asc_panel_sums_of(s->call, &s->rows, s->dtype, third, s->dz, s->ld, &s->dplaces_t);
}

static asc_status begin_sums(asc_ascender_call *s, int64_t pieces)
{
    asc_call *call = s->call;
    size_t scalars = (size_t)(pieces * ASC_ASCENDER_SCALARS) * sizeof *s->partial;
    s->partial = asc_call_scratch(call, scalars);
    if (!s->partial || asc_table_sums_begin(call, &s->rows, ASCENDER_REL_BIAS, &s->table) ||
        asc_panel_sums_of_input(call, &s->rows, ASCENDER_K, &s->dkeys) ||
        asc_panel_sums_of_input(call, &s->rows, ASCENDER_V, &s->dvalues) ||
        asc_panel_sums_of_input(call, &s->rows, ASCENDER_Z, &s->dz_rows)) {
        return ASC_ERR_MEMORY;
    }
    memset(s->partial, 0, scalars);
    return begin_key_sums(s);
}

asc_status asc_ascender_backward(asc_call *call)
{
    asc_ascender_call s;
    if (asc_ascender_call_begin(call, PANELS_BACKWARD, &s)) {
        return ASC_ERR_MEMORY;
    }
    int64_t chunks = asc_panel_chunks(&s.rows), rows = s.J.B * s.J.H * s.J.N;
    if (begin_sums(&s, s.J.B * s.J.H * chunks)) {
        return ASC_ERR_MEMORY;
    }
    const asc_array *lost = &call->grad_out[ASCENDER_LOSS_ALIGN];
    if (s.a->losses && lost->data && rows > 0) {
        s.all_du = asc_call_scratch(call, (size_t)(rows * s.d_heading) * asc_dtype_size(s.dtype));
        if (!s.all_du) {
            return ASC_ERR_MEMORY;
        }
        asc_ascender_align_loss_grad(&s, asc_element(lost->dtype, lost->data, 0) / (double)rows);
    }
    const asc_panel_sums *all[] = {&s.dkeys, &s.dvalues, &s.dz_rows, &s.dheadings, &s.dfeatures, &s.dplaces_t};
    asc_panel_sum_up(call->ctx, &s.rows, all, ASC_COUNT(all), BY_DTYPE(s.dtype, backward_piece), &s);
    asc_ascender_finish(&s);
    asc_head_scalars_end(call, &s.J, ASCENDER_SCALAR, ASC_ASCENDER_SCALARS, chunks, s.partial);
    asc_table_sums_end(&s.table, &s.rows);
    return ASC_OK;
}
