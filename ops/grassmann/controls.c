/* ops/grassmann/controls.c: what stands in the wedge's place to show what it is worth: of the pair u, v
 *
 *   symmetric  p_ij = u_i v_j + u_j v_i, i ≤ j    ‖p‖² = ‖u‖²‖v‖² + (u·v)² + 2 ‖u∘v‖²
 *   product    p = u∘v                            ‖p‖² = ‖u∘v‖²
 *   concat     p = [u; v]                         ‖p‖² = ‖u‖² + ‖v‖²
 *
 * normalised as the wedge is, F = max(‖p‖, ε, ε_rel ‖u‖‖v‖). The first two are linear in v, so that with
 * y = Σ_Δ (c_Δ/F) v their sum is that of u and y; concat's is [Σ (c_Δ/F) u; y]. No term of ‖p‖² is negative: nothing
 * cancels.
 *
 * Backward, with q what the cotangent makes of u and s = q·v/F = p̂·g (of concat, and p̂'s other half):
 * dv = c q/F - c s ℓ, ℓ = ∂ log F/∂v, which is (a v + b u + e u∘u∘v)/‖p‖² where F = ‖p‖, v/‖v‖² where
 * F = ε_rel ‖u‖‖v‖, else 0; and u's alike, v and u exchanged. */
#include "ops/grassmann/grassmann.h"

#include <math.h>
#include <string.h>

enum { S = ASC_STRIP };

/* What log F of a pair adds along v to v's gradient, along u to u's, along the other of the two, and along u∘u∘v. */
typedef struct slopes {
    double of_v[S], of_u[S], of_other[S], of_squares[S];
} slopes;

/* What is known of a pair: asc_strip_pair with along = u·v, factor = 1/F, relative = 1 where the relative floor holds,
 * and on_u, on_v = ‖u‖², ‖v‖². u∘v stays in w->product. */
static void measure(const asc_grassmann_job *job, const asc_grassmann_worker *w, const double *v, asc_strip_pair *pair)
{
    int64_t n = job->width;
    double squares[S], eps = job->attrs->eps;
    asc_kernels_f64()->mul(w->product, w->u, v, n * S);
    asc_kernels_f64()->strip_dot(squares, w->product, w->product, n);
    asc_kernels_f64()->strip_dot(pair->along, w->u, v, n);
    asc_kernels_f64()->strip_dot(pair->on_u, w->u, w->u, n);
    asc_kernels_f64()->strip_dot(pair->on_v, v, v, n);
    for (int l = 0; l < S; l++) {
        double uu = pair->on_u[l], vv = pair->on_v[l], uv = pair->along[l];
        double size = sqrt(job->attrs->pair == ASC_PAIR_PRODUCT     ? squares[l]
                           : job->attrs->pair == ASC_PAIR_SYMMETRIC ? uu * vv + uv * uv + 2 * squares[l]
                                                                    : uu + vv);
        double relative = job->attrs->eps_rel * sqrt(uu) * sqrt(vv), floor = relative > eps ? relative : eps;
        pair->factor[l] = 1 / (size > floor ? size : floor);
        pair->regular[l] = size > floor ? 1 : 0;
        pair->relative[l] = size <= floor && relative > eps ? 1 : 0;
    }
}

/* What -c s makes of the slopes of log F. */
static void find_slopes(const asc_grassmann_job *job, const asc_strip_pair *pair, slopes *to)
{
    for (int l = 0; l < S; l++) {
        double share = pair->weight[l] != 0 ? -pair->weight[l] * pair->share[l] : 0;
        double regular = share * pair->regular[l] * pair->factor[l] * pair->factor[l];
        bool both = job->attrs->pair == ASC_PAIR_SYMMETRIC, apart = job->attrs->pair == ASC_PAIR_CONCAT;
        double floor = pair->relative[l] != 0 ? share : 0;
        to->of_v[l] = regular * (both ? pair->on_u[l] : apart ? 1 : 0) + (floor != 0 ? floor / pair->on_v[l] : 0);
        to->of_u[l] = regular * (both ? pair->on_v[l] : apart ? 1 : 0) + (floor != 0 ? floor / pair->on_u[l] : 0);
        to->of_other[l] = both ? regular * pair->along[l] : 0;
        to->of_squares[l] = both ? 2 * regular : apart ? 0 : regular;
    }
}

/* to += the gradient of log F times -c s, for x of a pair with `other`. */
static void add_slope(const asc_grassmann_job *job, const asc_grassmann_worker *w, const slopes *slope,
                      const double *of_x, const double *x, const double *other, double *to)
{
    int64_t n = job->width;
    asc_strip_add(job, to, of_x, x);
    asc_strip_add(job, to, slope->of_other, other);
    asc_kernels_f64()->mul(w->product, x, other, n * S);
    asc_kernels_f64()->mul(w->product, w->product, other, n * S);
    asc_strip_add(job, to, slope->of_squares, w->product);
}

/* ---- float, and f64.awk makes the same for double ---- */

/* u and y of a group, and in concat's sum what u is multiplied with, `share_of_u`; its pairs are kept if the job keeps
 * them. */
static void sum_pairs_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, asc_grassmann_strip s,
                          int64_t group, double *share_of_u)
{
    int64_t n = job->width;
    double there[S], step[S];
    asc_strip_there(job, w, there);
    memset(share_of_u, 0, S * sizeof *share_of_u);
    asc_kernels_f32()->strip_load(w->u, asc_column_at_f32(&job->z, group * n, asc_strip_row(job, s)), job->z.ld, there,
                                  n);
    memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
    for (int p = 0; p < job->pairs; p++) {
        const double *weight = w->weight + p * S;
        double *v = w->across + (job->keeps ? p * n * S : 0);
        asc_strip_pair *pair = w->pair + (job->keeps ? p : 0);
        if (!asc_strip_any(weight)) {
            continue;
        }
        memcpy(pair->weight, weight, sizeof pair->weight);
        asc_grassmann_load_second_f32(job, s, p, group, weight, v);
        measure(job, w, v, pair);
        for (int l = 0; l < S; l++) {
            step[l] = weight[l] != 0 ? weight[l] * pair->factor[l] : 0;
        }
        asc_kernels_f64()->acc(share_of_u, step, S);
        asc_strip_add(job, w->y, step, v);
    }
    asc_kernels_f32()->strip_round(w->unit, w->u, n);
    asc_kernels_f32()->strip_round(w->sum, w->y, n);
}

static void put_coordinates_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, const double *share_of_u,
                                int lanes, float *p, int64_t ld)
{
    const float *u = w->unit, *y = w->sum;
    if (job->attrs->pair == ASC_PAIR_SYMMETRIC) {
        asc_kernels_f32()->strip_symmetric(p, ld, u, y, job->width, lanes);
        return;
    }
    bool product = job->attrs->pair == ASC_PAIR_PRODUCT;
    for (int64_t i = 0; i < job->width; i++, u += S, y += S) {
        for (int l = 0; l < lanes; l++) {
            p[i * ld + l] = product ? u[l] * y[l] : (float)share_of_u[l] * u[l];
        }
        if (!product) {
            memcpy(p + (job->width + i) * ld, y, (size_t)lanes * sizeof *p);
        }
    }
}

static void make_controls_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s,
                              int64_t group, void *p, int64_t ld)
{
    double share_of_u[S];
    sum_pairs_f32(job, w, s, group, share_of_u);
    put_coordinates_f32(job, w, share_of_u, s.lanes, p, ld);
}

/* ---- backward ---- */

/* q, what the cotangents p make of u, and in w->Mb u's own gradient but for the slopes; `apart`: what of every p̂·g is
 * concat's alone, p·u. */
static void contract_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, const double *share_of_u,
                         const float *p, int64_t ld, double *apart)
{
    const float *u = w->unit, *y = w->sum;
    float *q = w->q, *Mb = w->Mb;
    int64_t n = job->width;
    memset(apart, 0, S * sizeof *apart);
    if (job->attrs->pair == ASC_PAIR_SYMMETRIC) {
        asc_kernels_f32()->strip_symmetric_grad(q, Mb, p, ld, u, y, n);
        return;
    }
    bool product = job->attrs->pair == ASC_PAIR_PRODUCT;
    for (int64_t i = 0; i < n; i++) {
        const float *g = p + i * ld, *second = product ? g : g + n * ld;
        for (int l = 0; l < S; l++) {
            q[i * S + l] = product ? g[l] * u[i * S + l] : second[l];
            Mb[i * S + l] = product ? g[l] * y[i * S + l] : (float)share_of_u[l] * g[l];
            apart[l] += product ? 0 : (double)g[l] * w->u[i * S + l];
        }
    }
}

/* The gradient of a pair's second vector, in w->y, and what the pair adds to u's, in w->du. */
static void pair_grad_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, int p, const double *apart)
{
    int64_t n = job->width;
    const double *v = w->across + p * n * S;
    asc_strip_pair *pair = w->pair + p;
    slopes slope;
    double on_q[S];
    asc_kernels_f32()->strip_load(w->spare, w->q, S, pair->weight, n);
    asc_kernels_f64()->strip_dot(pair->share, w->spare, v, n);
    for (int l = 0; l < S; l++) {
        pair->share[l] = pair->weight[l] != 0 ? pair->factor[l] * (pair->share[l] + apart[l]) : 0;
        on_q[l] = pair->weight[l] != 0 ? pair->weight[l] * pair->factor[l] : 0;
    }
    find_slopes(job, pair, &slope);
    memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
    asc_strip_add(job, w->y, on_q, w->spare);
    add_slope(job, w, &slope, slope.of_v, v, w->u, w->y);
    add_slope(job, w, &slope, slope.of_u, w->u, v, w->du);
}

/* Where a second vector's gradient goes: to the memory, or to what the rows of z gather. */
static void keep_second_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, asc_grassmann_strip s,
                            int64_t group, int p)
{
    asc_array *dm = &job->call->grad_in[ASC_GRASSMANN_MEMORY];
    if (!job->pair[p].memory && job->own.x) {
        asc_put_columns(asc_others_at(job, p, group, asc_strip_row(job, s)), job->others.ld, w->y, job->width, s.lanes);
    } else if (job->pair[p].memory && dm->data) {
        float *to = (float *)dm->data + asc_strip_token(job, s) * job->r + group * job->width;
        asc_put_rows_f32(to, job->r, w->y, job->width, s.lanes, job->call->fresh[ASC_GRASSMANN_MEMORY]);
    }
}

static void controls_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s,
                              int64_t group, void *p, int64_t ld)
{
    int64_t n = job->width;
    double share_of_u[S], apart[S], there[S];
    sum_pairs_f32(job, w, s, group, share_of_u);
    contract_f32(job, w, share_of_u, p, ld, apart);
    asc_strip_there(job, w, there);
    asc_kernels_f32()->strip_load(w->du, w->Mb, S, there, n);
    for (int i = 0; i < job->pairs; i++) {
        if (asc_strip_any(w->weight + i * S)) {
            pair_grad_f32(job, w, i, apart);
            asc_kernels_f64()->acc(w->share + i * S, w->pair[i].share, S);
        } else {
            memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
        }
        keep_second_f32(job, w, s, group, i);
    }
    if (job->own.x) {
        asc_put_columns(asc_own_at(job, group, asc_strip_row(job, s)), job->own.ld, w->du, n, s.lanes);
    }
    put_coordinates_f32(job, w, share_of_u, s.lanes, p, ld);
}

/* ---- end of float ---- */
#include "ops/grassmann/controls.f64.h"

const asc_grassmann_kind asc_grassmann_controls = {make_controls_f32,
                                                   make_controls_f64,
                                                   controls_grad_f32,
                                                   controls_grad_f64,
                                                   asc_grassmann_gather_others_f32,
                                                   asc_grassmann_gather_others_f64};
