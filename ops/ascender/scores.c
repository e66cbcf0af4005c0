/* ops/ascender/scores.c: the scores of a panel, which both passes compute, and a row's gates with their gradient.
 *
 *   raw scores  a_ij = cos(h_i, h_j),  d²_ij = ‖z_i - z_j‖²,  r_ij = k̃_j·u_i,  ‖z_j - c_i‖²
 *   headings    s_i = Σ_{l∈N(i)} k̃_l,  u_i = unit(s_i),  v_i = 1 - ‖s_i/|N(i)|‖²
 *
 * Gates are a few numbers a row, in double:
 *
 *   γ_a = σ(α_a v),  η = min(1, ρ/(κ + ε)),  γ_c = σ(α_c V)
 *   g = λ_a γ_a,  -λ_s η,  -λ_c γ_c/(τ_coh + ε)  of x = r^align, φ, ‖z - c‖²;  none: without γ;  after: without τ_coh;
 *   and where the options say so γ = 1 or η = 1
 *
 * Row normalisation of g x is (x - μ) g/(|g|σ + ε), with the gates after it (x - μ) g/(σ + ε). With E = Σ dβ̃ (x - μ):
 *
 *   before:  dg = E ε/(|g|σ + ε)²,  dσ = -E g|g|/(|g|σ + ε)²;    after:  dg = E/(σ + ε),  dσ = -E g/(σ + ε)²
 *   dx_j = coef dβ̃_j + dσ (x_j - μ)/(n σ)
 *
 * A constant row (σ = 0 here), or one of g = 0 before its normalisation, is 0 and has no gradient. */
#include "ops/ascender/ascender.h"

#include <math.h>

/* ---- gates ---- */

static const double eps = ASCENDER_EPS;

static const int lambda_of[BIASES] = {ASC_ASCENDER_LAMBDA_ALIGN, ASC_ASCENDER_LAMBDA_SEP, ASC_ASCENDER_LAMBDA_COH};
static const int omega_of[BIASES] = {ASC_ASCENDER_OMEGA_ALIGN, ASC_ASCENDER_OMEGA_SEP, ASC_ASCENDER_OMEGA_COH};

asc_ascender_head asc_ascender_head_of(const asc_call *call, int64_t h)
{
    const asc_ascender_options *o = &((const asc_ascender_attrs *)call->attrs)->o;
    asc_ascender_head head;
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        head.s[i] = asc_element(call->in[ASCENDER_SCALAR + i].dtype, call->in[ASCENDER_SCALAR + i].data, h);
    }
    double sep = head.s[ASC_ASCENDER_TAU_SEP], coh = head.s[ASC_ASCENDER_TAU_COH];
    head.width_sep = (o->tau_squared ? sep * sep : sep) + eps;
    head.width_coh = (o->tau_squared ? coh * coh : coh) + eps;
    head.slope_sep = o->tau_squared ? 2 * sep : 1;
    head.slope_coh = o->tau_squared ? 2 * coh : 1;
    head.score = 1 / (head.s[ASC_ASCENDER_TAU_SCORE] + eps);
    return head;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* What λ γ of cohesion is divided by: τ_coh + ε, if it stands before the normalisation. */
static double cohesion_width(const asc_ascender_attrs *a, const asc_ascender_head *head)
{
    return a->o.gate == ASC_GATE_AFTER ? 1 : head->s[ASC_ASCENDER_TAU_COH] + eps;
}

static bool has_gamma(const asc_ascender_attrs *a)
{
    return a->o.gate != ASC_GATE_NONE && !a->o.without_gamma;
}

/* Whether a bias is 0 and has no gradient. */
static bool is_flat(const asc_ascender_attrs *a, const asc_ascender_row *row, const asc_ascender_gates *gates, int b)
{
    return row->fact[FACT_SIGMA + b] == 0 || (gates->g[b] == 0 && a->o.gate != ASC_GATE_AFTER);
}

asc_ascender_gates asc_ascender_gates_of(const asc_ascender_attrs *a, const asc_ascender_head *head,
                                         const asc_ascender_row *row)
{
    const double *s = head->s;
    bool none = !has_gamma(a);
    double density = row->fact[FACT_RHO] / (s[ASC_ASCENDER_KAPPA] + eps);
    asc_ascender_gates gates = {
        .gamma_align = none ? 1 : sigmoid(s[ASC_ASCENDER_ALPHA_ALIGN] * row->variance * row->has),
        .eta = density > 1 || a->o.without_eta ? 1 : density, /* NaN stays NaN */
        .gamma_coh = none ? 1 : sigmoid(s[ASC_ASCENDER_ALPHA_COH] * row->fact[FACT_V]),
    };
    gates.g[ALIGN] = s[ASC_ASCENDER_LAMBDA_ALIGN] * gates.gamma_align;
    gates.g[SEP] = -s[ASC_ASCENDER_LAMBDA_SEP] * gates.eta;
    gates.g[COH] = -s[ASC_ASCENDER_LAMBDA_COH] * gates.gamma_coh / cohesion_width(a, head);
    for (int b = 0; b < BIASES; b++) {
        double sigma = row->fact[FACT_SIGMA + b], g = gates.g[b];
        double length = a->o.gate == ASC_GATE_AFTER ? sigma + eps : fabs(g) * sigma + eps;
        gates.coef[b] = is_flat(a, row, &gates, b) ? 0 : g / length;
    }
    return gates;
}

/* The gradient of g, and the row_grad on x. */
static double normalisation_grad(const asc_ascender_attrs *a, const asc_ascender_row *row,
                                 const asc_ascender_gates *gates, int b, double omega, double along,
                                 asc_ascender_row_grad *row_grad)
{
    if (is_flat(a, row, gates, b)) {
        return 0;
    }
    double sigma = row->fact[FACT_SIGMA + b], g = gates->g[b], E = omega * along;
    bool after = a->o.gate == ASC_GATE_AFTER;
    double length = after ? sigma + eps : fabs(g) * sigma + eps;
    double dsigma = -E * g * (after ? 1 : fabs(g)) / (length * length);
    row_grad->slope[b] = omega * gates->coef[b];
    row_grad->spread[b] = dsigma / ((a->o.unbiased ? row->n - 1 : row->n) * sigma);
    return after ? E / length : E * eps / (length * length);
}

/* The gradient of α x from that of γ = σ(α x), into α's; returns x's. */
static double gate_grad(double gamma, double dgamma, double alpha, double x, double *dalpha)
{
    double d = dgamma * gamma * (1 - gamma);
    *dalpha += d * x;
    return d * alpha;
}

asc_ascender_row_grad asc_ascender_gates_grad(const asc_ascender_attrs *a, const asc_ascender_head *head,
                                              const asc_ascender_row *row, const asc_ascender_gates *gates,
                                              const double along[BIASES], double *ds)
{
    const double *s = head->s;
    asc_ascender_row_grad row_grad = {.variance = 0};
    double dg[BIASES];
    for (int b = 0; b < BIASES; b++) {
        ds[omega_of[b]] += gates->coef[b] * along[b];
        dg[b] = normalisation_grad(a, row, gates, b, s[omega_of[b]], along[b], &row_grad);
    }
    double width = cohesion_width(a, head), kappa = s[ASC_ASCENDER_KAPPA] + eps;
    ds[lambda_of[ALIGN]] += dg[ALIGN] * gates->gamma_align;
    ds[lambda_of[SEP]] -= dg[SEP] * gates->eta;
    ds[lambda_of[COH]] -= dg[COH] * gates->gamma_coh / width;
    if (row->fact[FACT_RHO] <= kappa && !a->o.without_eta) {
        row_grad.rho = -dg[SEP] * s[ASC_ASCENDER_LAMBDA_SEP] / kappa;
        ds[ASC_ASCENDER_KAPPA] -= row_grad.rho * row->fact[FACT_RHO] / kappa;
    }
    if (a->o.gate != ASC_GATE_AFTER) {
        ds[ASC_ASCENDER_TAU_COH] -= dg[COH] * gates->g[COH] / width;
    }
    if (has_gamma(a)) {
        row_grad.variance =
            row->has * gate_grad(gates->gamma_align, dg[ALIGN] * s[ASC_ASCENDER_LAMBDA_ALIGN],
                                 s[ASC_ASCENDER_ALPHA_ALIGN], row->variance * row->has, &ds[ASC_ASCENDER_ALPHA_ALIGN]);
        row_grad.V = gate_grad(gates->gamma_coh, -dg[COH] * s[ASC_ASCENDER_LAMBDA_COH] / width,
                               s[ASC_ASCENDER_ALPHA_COH], row->fact[FACT_V], &ds[ASC_ASCENDER_ALPHA_COH]);
    }
    return row_grad;
}

/* ---- products of a panel ---- */

/* ---- float, and f64.awk makes the same for double ---- */

/* P = scale A B, one fixed order of summation for every element; B transposed, [k, ld]. */
static void dots_f32(const asc_ascender_call *s, const asc_panel *p, double scale, asc_matrix A, const void *B, void *P)
{
    asc_matrix columns = asc_ascender_keys(s, p, (void *)B, A.width, s->ld);
    for (asc_panel_tile t = asc_panel_tile_first(p); t.n > 0; asc_panel_tile_next(p, &t)) {
        asc_kernels_f32()->pair_dots((float *)P + t.row * p->columns + t.column, p->columns, (float)scale,
                                     (const float *)A.data + (p->first + t.row) * A.ld, A.ld,
                                     (const float *)columns.data + t.key, s->ld, t.rows, t.n, A.width);
    }
}

/* Squared distances of the keys from points A, [rows, dz]. */
static void distances_f32(const asc_ascender_call *s, const asc_panel *p, const void *A, int64_t ld, void *P)
{
    asc_matrix columns = asc_ascender_keys(s, p, s->places_t, s->dz, s->ld);
    for (asc_panel_tile t = asc_panel_tile_first(p); t.n > 0; asc_panel_tile_next(p, &t)) {
        asc_kernels_f32()->pair_distances((float *)P + t.row * p->columns + t.column, p->columns,
                                          (const float *)A + t.row * ld, ld, (const float *)columns.data + t.key,
                                          s->ld, t.rows, t.n, s->dz);
    }
}

static void measure_f32(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_space *w)
{
    const asc_call *call = s->call;
    asc_matrix q = asc_ascender_matrix(s, p, &call->in[ASCENDER_Q]);
    asc_matrix features = asc_ascender_own_features(s, p), places = asc_ascender_own_places(s, p);
    if (s->base_scores) {
        dots_f32(s, p, s->scale, q, s->keys_t, w->panel[SCORES]);
    } else {
        asc_matrix k = asc_ascender_turned(s, p, s->keys_t, asc_ascender_matrix(s, p, &call->in[ASCENDER_K]));
        asc_panel_scores(p, s->scale, q, k, w->panel[SCORES]);
    }
    dots_f32(s, p, 1, features, s->features_t, w->panel[AFFINITY]);
    distances_f32(s, p, (const float *)places.data + p->first * places.ld, places.ld, w->panel[SQUARES]);
}

static void heading_f32(const asc_ascender_call *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                        const asc_ascender_space *w)
{
    asc_matrix headings = asc_ascender_keys(s, p, s->headings, s->J.M, s->d_heading);
    const float *units = headings.data;
    int64_t d = s->d_heading;
    float *sum = (float *)w->sum + r * d, *u = (float *)w->u + r * d;
    int64_t n = asc_neighbors_list(&s->rule, p, row, r, asc_ascender_chosen_row(s, p, r), w->list);
    asc_kernels_f32()->sum_listed(sum, units, d, w->list, n, d);
    double square = asc_unit_f32(u, sum, d);
    w->rows[r].norm = sqrt(square);
    w->rows[r].has = n > 0;
    w->rows[r].variance = n > 0 ? 1 - square / ((double)n * (double)n) : 0;
}

/* ---- end of float ---- */
#include "ops/ascender/scores.f64.h"

void asc_ascender_measure(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_space *w)
{
    BY_DTYPE(s->dtype, measure)(s, p, w);
}

void asc_ascender_distances(const asc_ascender_call *s, const asc_panel *p, const void *c, void *P)
{
    BY_DTYPE(s->dtype, distances)(s, p, c, s->dz, P);
}

void asc_ascender_heading(const asc_ascender_call *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                          const asc_ascender_space *w)
{
    BY_DTYPE(s->dtype, heading)(s, p, row, r, w);
}

void asc_ascender_directions(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_space *w, void *P)
{
    asc_panel alone = asc_panel_alone(p);
    asc_matrix headings = asc_ascender_keys(s, p, s->headings, s->J.M, s->d_heading);
    asc_panel_scores(&alone, 1, asc_ascender_panel_rows(s, w->u, s->d_heading),
                     asc_ascender_turned(s, p, s->headings_t, headings), P);
}
