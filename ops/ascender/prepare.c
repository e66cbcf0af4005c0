/* ops/ascender/prepare.c: what the ASCender op computes of each key once, before the panels, and the way back.
 *
 *   k̃ = unit(heading),  ĥ = unit(h),  places z_j - z_0
 *   dx = (dx̂ - x̂ (x̂·dx̂))/‖x‖ through x̂ = unit(x); both are 0 where ‖x‖ ≤ 1e-12
 *
 * Centroids are sums over places that may lie close together and far from the origin: they are taken relative to the
 * sequence's first token, which every causal row may know. Distances use the same places, by their differences. */
#ifndef ASC_REAL
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64 }; /* keys of a piece */

/* Keys first … first + n - 1 of a head. */
typedef struct block {
    asc_panel p; /* b and h alone */
    int64_t first, n;
} block;

static block block_of(const asc_flock *s, int64_t piece)
{
    int64_t blocks = (s->J.M + BLOCK - 1) / BLOCK, head = piece / blocks;
    block k = {.p = {.b = head / s->J.H, .h = head % s->J.H}, .first = piece % blocks * BLOCK};
    k.n = s->J.M - k.first < BLOCK ? s->J.M - k.first : BLOCK;
    return k;
}

static int64_t pieces_of(const asc_flock *s)
{
    return s->J.B * s->J.H * ((s->J.M + BLOCK - 1) / BLOCK);
}

#define ASC_SELF "ops/ascender/prepare.c"
#include "ops/shared/both.h"

void asc_flock_prepare(asc_flock *s)
{
    asc_parallel(s->call->ctx, pieces_of(s), s->dtype == ASC_F32 ? prepare_block_f32 : prepare_block_f64, s);
}

void asc_flock_finish(asc_flock *s)
{
    asc_parallel(s->call->ctx, pieces_of(s), s->dtype == ASC_F32 ? finish_block_f32 : finish_block_f64, s);
}

#else /* for each dtype */

static real *R(key)(asc_matrix m, int64_t j)
{
    return (real *)m.data + j * m.ld;
}

/* ‖x‖, or ∞ for an x that has no direction: x/‖x‖ is then 0. */
static real R(norm)(const real *x, int64_t n)
{
    double norm = sqrt(K->sumsq(x, n));
    return norm > 1e-12 ? (real)norm : (real)INFINITY;
}

/* A block's rows into columns of [width, ld], which may not be wanted. */
static void R(turn)(const asc_flock *s, const block *k, asc_matrix rows, void *columns)
{
    if (columns) {
        asc_matrix to = asc_flock_keys(s, &k->p, columns, rows.width, s->ld);
        K->transpose((real *)to.data + k->first, s->ld, R(key)(rows, k->first), rows.ld, k->n, rows.width);
    }
}

static void R(prepare_block)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_flock *s = arg;
    const asc_call *call = s->call;
    block k = block_of(s, piece);
    bool separate = call->in[FLOCK_HEADING].ndim >= 0;
    asc_matrix heading = asc_flock_input(s, &k.p, &call->in[separate ? FLOCK_HEADING : FLOCK_K]);
    asc_matrix h = asc_flock_input(s, &k.p, &call->in[FLOCK_H]), z = asc_flock_input(s, &k.p, &call->in[FLOCK_Z]);
    asc_matrix headings = asc_flock_keys(s, &k.p, s->headings, s->J.M, s->d_heading);
    asc_matrix features = asc_flock_keys(s, &k.p, s->features, s->J.M, s->da);
    asc_matrix places = asc_flock_keys(s, &k.p, s->places, s->J.M, s->dz);
    for (int64_t j = k.first; j < k.first + k.n; j++) {
        K->divide(R(key)(headings, j), R(key)(heading, j), R(norm)(R(key)(heading, j), s->d_heading), s->d_heading);
        K->divide(R(key)(features, j), R(key)(h, j), R(norm)(R(key)(h, j), s->da), s->da);
        real *place = R(key)(places, j);
        memcpy(place, R(key)(z, j), (size_t)s->dz * sizeof *place);
        K->axpy(place, -1, R(key)(z, 0), s->dz);
    }
    R(turn)(s, &k, features, s->features_t);
    R(turn)(s, &k, places, s->places_t);
    R(turn)(s, &k, headings, s->headings_t);
    R(turn)(s, &k, asc_flock_input(s, &k.p, &call->in[FLOCK_K]), s->keys_t);
    R(turn)(s, &k, asc_flock_input(s, &k.p, &call->in[FLOCK_V]), s->values_t);
}

/* dx (+)= the gradient through x̂ = unit(x), which it turns dx̂ into. */
static void R(unit_grad)(real *dx, const real *x, const real *unit, real *dunit, int64_t n, bool fresh)
{
    real inverse = 1 / R(norm)(x, n);
    K->axpy(dunit, -K->dot(unit, dunit, n), unit, n);
    if (fresh) {
        K->scale(dx, inverse, dunit, n);
    } else {
        K->axpy(dx, inverse, dunit, n);
    }
}

static void R(finish_units)(const asc_flock *s, const block *k, int input, void *units, void *grads, bool fresh)
{
    const asc_call *call = s->call;
    if (!call->grad_in[input].data) {
        return;
    }
    asc_matrix x = asc_flock_input(s, &k->p, &call->in[input]);
    asc_matrix dx = asc_flock_input(s, &k->p, &call->grad_in[input]);
    asc_matrix unit = asc_flock_keys(s, &k->p, units, s->J.M, x.width);
    asc_matrix grad = asc_flock_keys(s, &k->p, grads, s->J.M, x.width);
    for (int64_t j = k->first; j < k->first + k->n; j++) {
        R(unit_grad)(R(key)(dx, j), R(key)(x, j), R(key)(unit, j), R(key)(grad, j), x.width, fresh);
    }
}

static void R(finish_block)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_flock *s = arg;
    const asc_call *call = s->call;
    block k = block_of(s, piece);
    bool separate = call->in[FLOCK_HEADING].ndim >= 0; /* else the keys' gradient has its first part already */
    R(finish_units)(s, &k, separate ? FLOCK_HEADING : FLOCK_K, s->headings, s->dheadings.target,
                    separate && call->fresh[FLOCK_HEADING]);
    R(finish_units)(s, &k, FLOCK_H, s->features, s->dfeatures.target, call->fresh[FLOCK_H]);
    if (call->grad_in[FLOCK_Z].data) {
        asc_matrix dz = asc_flock_input(s, &k.p, &call->grad_in[FLOCK_Z]);
        asc_matrix turned = asc_flock_keys(s, &k.p, s->dplaces_t.target, s->dz, s->ld);
        for (int64_t j = k.first; j < k.first + k.n; j++) {
            for (int64_t m = 0; m < s->dz; m++) {
                R(key)(dz, j)[m] += ((const real *)turned.data)[m * s->ld + j];
            }
        }
    }
}

#endif
