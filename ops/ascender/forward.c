/* ops/ascender/forward.c: the op ascender forward, panel by panel, and the auxiliary losses:
 *
 *   products S^base, a, d²;  per row the neighbours N(i), u_i, φ, w^coh, ρ_i, W_i;  c;  products k̃·u and ‖z - c‖²;
 *   per row μ and σ of the three raw scores, S, A;  y = A V
 *
 *   L_coh, L_sep  sums of A_ij ‖z_j - c_i‖² and A_ij φ_ij
 *   L_align       a row's share is 1 - u_i·ū_i, ū_i = Σ_{l∈N(i)} u_l/|N(i)|, and 0 without neighbours;
 *                 du_i = -ū_i - Σ_{l: i∈N(l)} u_l/|N(l)|; it needs the headings of all rows, so it comes last
 *
 * each a mean over batch, heads and rows. */
#include "ops/ascender/ascender.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* All heads: the loss, or its gradient times scale, into all_du. */
typedef struct align_job {
    asc_ascender_call *s;
    double *loss;  /* [B, H], or NULL */
    double scale;
} align_job;

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- neighbours, density, centroids ---- */

static float *row_of_f32(const asc_panel *p, void *panel, int64_t r)
{
    return (float *)panel + r * p->columns;
}

/* Base scores are chosen by before position biases are added, which concern whole panels: from a copy. */
static void choose_f32(const asc_ascender_call *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                       const float *affinity, const asc_ascender_space *w)
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
    asc_neighbors_choose(&s->rule, p, row, ASC_F32, scores, w->best, asc_ascender_chosen_row(s, p, r));
}

/* N(i), u; φ in place of a, w^coh in place of d²; ρ and W. */
static void gather_row_f32(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_head *head, int64_t r,
                           const asc_ascender_space *w)
{
    float *a = row_of_f32(p, w->panel[AFFINITY], r), *d2 = row_of_f32(p, w->panel[SQUARES], r), *sep = w->row[0];
    asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
    asc_panel_compact(&row, ASC_F32, a);
    asc_panel_compact(&row, ASC_F32, d2);
    choose_f32(s, p, &row, r, a, w);
    asc_ascender_heading(s, p, &row, r, w);

    float *phi = a + row.start, *coh = d2 + row.start;
    asc_kernels_f32()->pair_weights(
        sep, coh, phi, coh, phi, row.n,
        &(asc_pair_weights){1 / head->width_sep, 1 / head->width_coh, head->s[ASC_ASCENDER_DELTA]});
    double *fact = w->rows[r].fact;
    w->rows[r].n = (double)row.n;
    if (row.self >= 0) { /* its weight is 1: left out, not taken off, or a small ρ would be what is left of rounding */
        sep[row.self] = s->a->o.rho_self ? sep[row.self] : 0;
        phi[row.self] = s->a->o.sep_self ? phi[row.self] : 0;
    }
    fact[FACT_RHO] = (double)asc_kernels_f32()->sum(sep, row.n);
    fact[FACT_W] = (double)asc_kernels_f32()->sum(coh, row.n) + ASCENDER_EPS;
    asc_panel_spread(p, &row, ASC_F32, d2);
}

/* c_i = Σ w z/W; the places are relative to one of them, the weights' sum is W - ε. */
static void centroids_f32(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_space *w, asc_matrix c)
{
    asc_matrix first = asc_ascender_matrix(s, p, &s->call->in[ASCENDER_Z]);
    asc_panel_mix(p, 1, w->panel[SQUARES], asc_ascender_keys(s, p, s->places, s->J.M, s->dz), false, c);
    for (int64_t r = 0; r < p->rows; r++) {
        float *to = (float *)c.data + (p->first + r) * c.ld;
        if (s->J.M > 0) {
            asc_kernels_f32()->axpy(to, (float)-ASCENDER_EPS, first.data, s->dz);
        }
        asc_kernels_f32()->scale(to, (float)(1 / w->rows[r].fact[FACT_W]), to, s->dz);
    }
}

/* ---- normalisation and attention ---- */

/* `rounded`: what x was rounded as, if that is larger. |x| <= |μ| + σ√n: where that settles it no largest one is looked
 * for. */
static bool is_constant_f32(const float *x, int64_t n, double mean, double sigma, double rounded)
{
    return asc_row_is_constant(sigma, (double)FLT_EPSILON, fmax(rounded, fabs(mean) + sigma * sqrt((double)n))) &&
           asc_row_is_constant(sigma, (double)FLT_EPSILON, fmax(rounded, asc_kernels_f32()->max_abs(x, n)));
}

static void normalise_f32(const asc_ascender_call *s, const float *x, int64_t n, double rounded, double *fact, int b)
{
    fact[FACT_MEAN + b] = fact[FACT_SIGMA + b] = 0;
    if (n == 0) {
        return;
    }
    float mean;
    double square = (double)asc_kernels_f32()->moments(x, n, &mean);
    double sigma = sqrt(square / (double)(s->a->o.unbiased && n > 1 ? n - 1 : n));
    fact[FACT_MEAN + b] = (double)mean;
    fact[FACT_SIGMA + b] = is_constant_f32(x, n, (double)mean, sigma, rounded) ? 0 : sigma;
}

/* S and A of a row, and what it loses. */
static void attend_row_f32(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_head *head, int64_t r,
                           const asc_ascender_space *w, double loss[2])
{
    asc_panel_row row = asc_panel_row_of(&s->rows, p, r, w->columns);
    float *at[PANELS_FORWARD];
    for (int i = 0; i < PANELS_FORWARD; i++) {
        at[i] = row_of_f32(p, w->panel[i], r);
        if (i != AFFINITY) { /* φ is together since the row was gathered */
            asc_panel_compact(&row, ASC_F32, at[i]);
        }
        at[i] += row.start;
    }
    double *fact = w->rows[r].fact;
    fact[FACT_V] = (double)asc_kernels_f32()->dot(at[SQUARES], at[DISTANCES], row.n) / fact[FACT_W];
    double along = sqrt(fmax(1 - w->rows[r].variance, 0)); /* ‖s‖/|N|, and u is s, a sum of unit vectors, over ‖s‖ */
    normalise_f32(s, at[DIRECTIONS], row.n, w->rows[r].has > 0 ? 1 / along : 0, fact, ALIGN);
    normalise_f32(s, at[AFFINITY], row.n, 0, fact, SEP);
    normalise_f32(s, at[DISTANCES], row.n, 0, fact, COH);
    asc_ascender_gates gates = asc_ascender_gates_of(s->a, head, &w->rows[r]);
    asc_centred bias[BIASES];
    for (int b = 0; b < BIASES; b++) {
        bias[b] = (asc_centred){head->s[ASC_ASCENDER_OMEGA_ALIGN + b] * gates.coef[b], fact[FACT_MEAN + b]};
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
    memcpy(asc_ascender_fact_row(s, p, r), fact, FACTS * sizeof(double));
}

static void forward_panel_f32(void *arg, int64_t piece, int worker)
{
    const asc_ascender_call *s = arg;
    asc_panel p = asc_panel_at(&s->rows, piece);
    asc_ascender_space w = asc_ascender_space_of(s, worker);
    asc_ascender_head head = asc_ascender_head_of(s->call, p.h);
    asc_matrix c = asc_ascender_centroids(s, &p);
    asc_ascender_measure(s, &p, &w);
    for (int64_t r = 0; r < p.rows; r++) {
        gather_row_f32(s, &p, &head, r, &w);
    }
    centroids_f32(s, &p, &w, c);
    asc_panel_add_bias(&s->rows, &p, &s->positions, ASC_F32, w.panel[SCORES]);
    asc_panel_add_given(&p, &s->given, w.panel[SCORES]);
    asc_ascender_directions(s, &p, &w, w.panel[DIRECTIONS]);
    asc_ascender_distances(s, &p, (const float *)c.data + p.first * c.ld, w.panel[DISTANCES]);
    double *loss = s->partial + 2 * piece;
    loss[0] = loss[1] = 0;
    for (int64_t r = 0; r < p.rows; r++) {
        attend_row_f32(s, &p, &head, r, &w, loss);
    }
    asc_panel_mix(&p, 1, w.panel[SCORES], asc_ascender_matrix(s, &p, &s->call->in[ASCENDER_V]), false,
                  asc_ascender_matrix(s, &p, &s->call->out[ASCENDER_Y]));
    if (s->all_u) {
        float *all = (float *)s->all_u + ((p.b * s->J.H + p.h) * s->J.N + p.first) * s->d_heading;
        memcpy(all, w.u, (size_t)(p.rows * s->d_heading) * sizeof *all);
    }
}

/* All u of a panel, into all_u. */
static void head_panel_f32(void *arg, int64_t piece, int worker)
{
    const asc_ascender_call *s = arg;
    asc_panel p = asc_panel_at(&s->rows, piece);
    asc_ascender_space w = asc_ascender_space_of(s, worker);
    w.u = (float *)s->all_u + ((p.b * s->J.H + p.h) * s->J.N + p.first) * s->d_heading;
    for (int64_t r = 0; r < p.rows; r++) {
        asc_panel_row row = asc_panel_row_of(&s->rows, &p, r, w.columns);
        asc_ascender_heading(s, &p, &row, r, &w);
    }
}

/* One row's share of the loss, and of its gradient. u, du: [N, d] of the head. */
static double align_row_f32(const asc_ascender_call *s, const int64_t *list, int64_t n, int64_t i, double scale,
                            const float *u, float *du, float *mean)
{
    int64_t d = s->d_heading;
    float share = n > 0 ? (float)(1 / (double)n) : 0;
    asc_kernels_f32()->sum_listed(mean, u, d, list, n, d);
    asc_kernels_f32()->scale(mean, share, mean, d);
    if (du) {
        asc_kernels_f32()->axpy(du + i * d, (float)-scale, mean, d);
        for (int64_t e = 0; e < n; e++) {
            asc_kernels_f32()->axpy(du + list[e] * d, (float)-scale * share, u + i * d, d);
        }
    }
    return n > 0 ? 1 - (double)asc_kernels_f32()->dot(u + i * d, mean, d) : 0;
}

static void align_head_f32(void *arg, int64_t head, int worker)
{
    const align_job *job = arg;
    const asc_ascender_call *s = job->s;
    asc_ascender_space w = asc_ascender_space_of(s, worker);
    int64_t panels = asc_head_panels(&s->rows), size = s->J.N * s->d_heading;
    const float *u = (const float *)s->all_u + head * size;
    float *du = job->loss ? NULL : (float *)s->all_du + head * size;
    if (du) {
        memset(du, 0, (size_t)size * sizeof *du);
    }
    double sum = 0;
    for (int64_t i = 0; i < panels; i++) {
        asc_panel p = asc_panel_at(&s->rows, head * panels + i);
        for (int64_t r = 0; r < p.rows; r++) {
            asc_panel_row row = asc_panel_row_of(&s->rows, &p, r, w.columns);
            int64_t n = asc_neighbors_list(&s->rule, &p, &row, r, asc_ascender_chosen_row(s, &p, r), w.list);
            sum += align_row_f32(s, w.list, n, p.first + r, job->scale, u, du, w.sum);
        }
    }
    if (job->loss) {
        job->loss[head] = sum;
    }
}

/* ---- end of float ---- */
#include "ops/ascender/forward.f64.h"

static double align_loss(asc_ascender_call *s)
{
    int64_t heads = s->J.B * s->J.H;
    align_job job = {.s = s, .loss = s->partial};
    asc_parallel(s->call->ctx, heads, BY_DTYPE(s->dtype, align_head), &job);
    double sum = 0;
    for (int64_t head = 0; head < heads; head++) {
        sum += s->partial[head];
    }
    return sum;
}

void asc_ascender_align_loss_grad(asc_ascender_call *s, double scale)
{
    align_job job = {.s = s, .scale = scale};
    asc_piece_fn *headings = BY_DTYPE(s->dtype, head_panel);
    asc_parallel(s->call->ctx, asc_panels(&s->rows), headings, s);
    asc_parallel(s->call->ctx, s->J.B * s->J.H, BY_DTYPE(s->dtype, align_head), &job);
}

/* The three losses: means over batch, heads and rows. */
static void put_losses(asc_ascender_call *s)
{
    double sum[3] = {0}, rows = (double)(s->J.B * s->J.H * s->J.N);
    for (int64_t i = 0; s->a->losses && i < asc_panels(&s->rows); i++) {
        sum[0] += s->partial[2 * i];
        sum[1] += s->partial[2 * i + 1];
    }
    if (s->a->losses) {
        sum[2] = align_loss(s);
    }
    for (int i = 0; i < 3; i++) {
        const asc_array *loss = &s->call->out[ASCENDER_LOSS_COH + i];
        asc_set_element(loss->dtype, loss->data, 0, rows > 0 ? sum[i] / rows : 0);
    }
}

asc_status asc_ascender_forward(asc_call *call)
{
    asc_ascender_call s;
    if (asc_ascender_call_begin(call, PANELS_FORWARD, &s)) {
        return ASC_ERR_MEMORY;
    }
    int64_t panels = asc_panels(&s.rows), heads = s.J.B * s.J.H;
    s.partial = asc_call_scratch(call, (size_t)(2 * panels + heads) * sizeof *s.partial);
    if (!s.partial) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, panels, BY_DTYPE(s.dtype, forward_panel), &s);
    put_losses(&s);
    return ASC_OK;
}
