/* ops/ascender/gates.c: what stands before a row's normalised biases, and its gradient: a few numbers a row, in double.
 *
 *   γ_a = σ(α_a v),  η = min(1, ρ/(κ + ε)),  γ_c = σ(α_c V)
 *   g = λ_a γ_a,  -λ_s η,  -λ_c γ_c/(τ_coh + ε)  of x = r^align, φ, ‖z - c‖²;  none: without γ;  after: without τ_coh
 *
 * Row normalisation of g x is (x - μ) g/(|g|σ + ε), with the gates after it (x - μ) g/(σ + ε). With E = Σ dβ̃ (x - μ):
 *
 *   before:  dg = E ε/(|g|σ + ε)²,  dσ = -E g|g|/(|g|σ + ε)²;    after:  dg = E/(σ + ε),  dσ = -E g/(σ + ε)²
 *   dx_j = coef dβ̃_j + dσ (x_j - μ)/(n σ)
 *
 * A constant row (σ = 0 here), or one of g = 0 before its normalisation, is 0 and has no gradient. */
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

static const double eps = 1e-6;

static const int lambda_of[BIASES] = {ASC_LAMBDA_ALIGN, ASC_LAMBDA_SEP, ASC_LAMBDA_COH};
static const int omega_of[BIASES] = {ASC_OMEGA_ALIGN, ASC_OMEGA_SEP, ASC_OMEGA_COH};

double asc_flock_value(const asc_array *a, int64_t i)
{
    return asc_element(a->dtype, a->data, i);
}

asc_flock_head asc_flock_head_of(const asc_call *call, int64_t h)
{
    const asc_ascender_options *o = &((const asc_flock_attrs *)call->attrs)->o;
    asc_flock_head head;
    for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
        head.s[i] = asc_flock_value(&call->in[FLOCK_SCALAR + i], h);
    }
    double sep = head.s[ASC_TAU_SEP], coh = head.s[ASC_TAU_COH];
    head.width_sep = (o->tau_squared ? sep * sep : sep) + eps;
    head.width_coh = (o->tau_squared ? coh * coh : coh) + eps;
    head.slope_sep = o->tau_squared ? 2 * sep : 1;
    head.slope_coh = o->tau_squared ? 2 * coh : 1;
    head.score = 1 / (head.s[ASC_TAU_SCORE] + eps);
    return head;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* What λ γ of cohesion is divided by: τ_coh + ε, if it stands before the normalisation. */
static double cohesion_width(const asc_flock_attrs *a, const asc_flock_head *head)
{
    return a->o.gate == ASC_GATE_AFTER ? 1 : head->s[ASC_TAU_COH] + eps;
}

/* Whether a bias is 0 by decree. */
static bool is_flat(const asc_flock_attrs *a, const asc_flock_row *row, const asc_flock_gates *gates, int b)
{
    return row->fact[FACT_SIGMA + b] == 0 || (gates->g[b] == 0 && a->o.gate != ASC_GATE_AFTER);
}

asc_flock_gates asc_flock_gates_of(const asc_flock_attrs *a, const asc_flock_head *head, const asc_flock_row *row)
{
    const double *s = head->s;
    bool none = a->o.gate == ASC_GATE_NONE;
    double density = row->fact[FACT_RHO] / (s[ASC_KAPPA] + eps);
    asc_flock_gates gates = {
        .gamma_align = none ? 1 : sigmoid(s[ASC_ALPHA_ALIGN] * row->variance * row->has),
        .eta = density > 1 ? 1 : density, /* NaN stays NaN */
        .gamma_coh = none ? 1 : sigmoid(s[ASC_ALPHA_COH] * row->fact[FACT_V]),
    };
    gates.g[ALIGN] = s[ASC_LAMBDA_ALIGN] * gates.gamma_align;
    gates.g[SEP] = -s[ASC_LAMBDA_SEP] * gates.eta;
    gates.g[COH] = -s[ASC_LAMBDA_COH] * gates.gamma_coh / cohesion_width(a, head);
    for (int b = 0; b < BIASES; b++) {
        double sigma = row->fact[FACT_SIGMA + b], g = gates.g[b];
        double length = a->o.gate == ASC_GATE_AFTER ? sigma + eps : fabs(g) * sigma + eps;
        gates.coef[b] = is_flat(a, row, &gates, b) ? 0 : g / length;
    }
    return gates;
}

/* The gradient of g, and the pull on x. */
static double normalisation_grad(const asc_flock_attrs *a, const asc_flock_row *row, const asc_flock_gates *gates,
                                 int b, double omega, double along, asc_flock_pull *pull)
{
    if (is_flat(a, row, gates, b)) {
        return 0;
    }
    double sigma = row->fact[FACT_SIGMA + b], g = gates->g[b], E = omega * along;
    bool after = a->o.gate == ASC_GATE_AFTER;
    double length = after ? sigma + eps : fabs(g) * sigma + eps;
    double dsigma = -E * g * (after ? 1 : fabs(g)) / (length * length);
    pull->slope[b] = omega * gates->coef[b];
    pull->spread[b] = dsigma / ((a->o.unbiased ? row->n - 1 : row->n) * sigma);
    return after ? E / length : E * eps / (length * length);
}

/* The gradient of α x from that of γ = σ(α x), into α's; returns x's. */
static double gate_grad(double gamma, double dgamma, double alpha, double x, double *dalpha)
{
    double d = dgamma * gamma * (1 - gamma);
    *dalpha += d * x;
    return d * alpha;
}

asc_flock_pull asc_flock_gates_grad(const asc_flock_attrs *a, const asc_flock_head *head, const asc_flock_row *row,
                                    const asc_flock_gates *gates, const double along[BIASES], double *ds)
{
    const double *s = head->s;
    asc_flock_pull pull = {.variance = 0};
    double dg[BIASES];
    for (int b = 0; b < BIASES; b++) {
        ds[omega_of[b]] += gates->coef[b] * along[b];
        dg[b] = normalisation_grad(a, row, gates, b, s[omega_of[b]], along[b], &pull);
    }
    double width = cohesion_width(a, head), crowding = s[ASC_KAPPA] + eps;
    ds[lambda_of[ALIGN]] += dg[ALIGN] * gates->gamma_align;
    ds[lambda_of[SEP]] -= dg[SEP] * gates->eta;
    ds[lambda_of[COH]] -= dg[COH] * gates->gamma_coh / width;
    if (row->fact[FACT_RHO] <= crowding) {
        pull.rho = -dg[SEP] * s[ASC_LAMBDA_SEP] / crowding;
        ds[ASC_KAPPA] -= pull.rho * row->fact[FACT_RHO] / crowding;
    }
    if (a->o.gate != ASC_GATE_AFTER) {
        ds[ASC_TAU_COH] -= dg[COH] * gates->g[COH] / width;
    }
    if (a->o.gate != ASC_GATE_NONE) {
        pull.variance = row->has * gate_grad(gates->gamma_align, dg[ALIGN] * s[ASC_LAMBDA_ALIGN], s[ASC_ALPHA_ALIGN],
                                             row->variance * row->has, &ds[ASC_ALPHA_ALIGN]);
        pull.V = gate_grad(gates->gamma_coh, -dg[COH] * s[ASC_LAMBDA_COH] / width, s[ASC_ALPHA_COH],
                           row->fact[FACT_V], &ds[ASC_ALPHA_COH]);
    }
    return pull;
}
