/* ops/ascender/prepare.c: what the ASCender op computes of each key once, before the panels, and the way back.
 *
 *   k̃ = unit(heading),  ĥ = unit(h),  places z_j - z_0
 *   dx = (dx̂ - x̂ (x̂·dx̂))/‖x‖ through x̂ = unit(x); both are 0 where ‖x‖ ≤ 1e-12
 *
 * Centroids are sums over places that may lie close together and far from the origin: they are taken relative to the
 * sequence's first token, which every causal row may know. Distances use the same places, by their differences. */
#include "ops/ascender/ascender.h"

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

/* ---- float, and f64.awk makes the same for double ---- */

static float *key_f32(asc_matrix m, int64_t j)
{
    return (float *)m.data + j * m.ld;
}

/* A block's rows into columns of [width, ld], which may not be wanted. */
static void turn_f32(const asc_flock *s, const block *k, asc_matrix rows, void *columns)
{
    if (columns) {
        asc_matrix to = asc_flock_keys(s, &k->p, columns, rows.width, s->ld);
        asc_kernels_f32()->transpose((float *)to.data + k->first, s->ld, key_f32(rows, k->first), rows.ld, k->n,
                                     rows.width);
    }
}

static void prepare_block_f32(void *arg, int64_t piece, int worker)
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
        asc_unit_f32(key_f32(headings, j), key_f32(heading, j), s->d_heading);
        asc_unit_f32(key_f32(features, j), key_f32(h, j), s->da);
        float *place = key_f32(places, j);
        memcpy(place, key_f32(z, j), (size_t)s->dz * sizeof *place);
        asc_kernels_f32()->axpy(place, -1, key_f32(z, 0), s->dz);
    }
    turn_f32(s, &k, features, s->features_t);
    turn_f32(s, &k, places, s->places_t);
    turn_f32(s, &k, headings, s->headings_t);
    turn_f32(s, &k, asc_flock_input(s, &k.p, &call->in[FLOCK_K]), s->keys_t);
    turn_f32(s, &k, asc_flock_input(s, &k.p, &call->in[FLOCK_V]), s->values_t);
}

static void finish_units_f32(const asc_flock *s, const block *k, int input, void *units, void *grads, bool fresh)
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
        asc_unit_grad_f32(key_f32(dx, j), key_f32(unit, j), key_f32(grad, j),
                          asc_unit_inverse_f32(key_f32(x, j), x.width), x.width, fresh);
    }
}

static void finish_block_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_flock *s = arg;
    const asc_call *call = s->call;
    block k = block_of(s, piece);
    bool separate = call->in[FLOCK_HEADING].ndim >= 0; /* else the keys' gradient has its first part already */
    finish_units_f32(s, &k, separate ? FLOCK_HEADING : FLOCK_K, s->headings, s->dheadings.target,
                     separate && call->fresh[FLOCK_HEADING]);
    finish_units_f32(s, &k, FLOCK_H, s->features, s->dfeatures.target, call->fresh[FLOCK_H]);
    if (call->grad_in[FLOCK_Z].data) {
        asc_matrix dz = asc_flock_input(s, &k.p, &call->grad_in[FLOCK_Z]);
        asc_matrix turned = asc_flock_keys(s, &k.p, s->dplaces_t.target, s->dz, s->ld);
        for (int64_t j = k.first; j < k.first + k.n; j++) {
            for (int64_t m = 0; m < s->dz; m++) {
                key_f32(dz, j)[m] += ((const float *)turned.data)[m * s->ld + j];
            }
        }
    }
}

/* ---- end of float ---- */
#include "ops/ascender/prepare.f64.h"

void asc_flock_prepare(asc_flock *s)
{
    asc_parallel(s->call->ctx, pieces_of(s), BY_DTYPE(s->dtype, prepare_block), s);
}

void asc_flock_finish(asc_flock *s)
{
    asc_parallel(s->call->ctx, pieces_of(s), BY_DTYPE(s->dtype, finish_block), s);
}
