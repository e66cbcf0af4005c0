/* nn/grassmann_flow.c: the flow of a Grassmann layer, u_t the direction of Σ_Δ c_Δ p̂_Δ, group by group: of one offset
 * p̂ itself, of several, as the sum is z_t ∧ Σ_Δ c'_Δ z_{t-Δ}, the plane of both. What its path says goes into the gate
 * (`invariants`), and into a loss on what changes from layer to layer (`smooth`). */
#include <string.h>

#include <ascgrad/ops.h>

#include "nn/flow.h"
#include "nn/grassmann.h"
#include "nn/mixing.h"
#include "tensor/dtype.h"

/* The identity in W's place makes the fused op give coordinates, pairs never held; up to this many of them. */
enum { MOST = 1024 };

static asc_tensor identity(asc_layer *l, int64_t n)
{
    asc_tensor one = asc_zeros(l->ctx, l->dtype, ASC_SHAPE(n, n));
    void *to = asc_data_mut(one);
    for (int64_t i = 0; to && i < n; i++) {
        asc_set_element(l->dtype, to, i * (n + 1), 1);
    }
    return one;
}

asc_tensor asc_grassmann_directions(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths)
{
    const asc_grassmann_layer *g = l->self;
    asc_tensor sums;
    if (g->composed || g->P > MOST) {
        sums = asc_grassmann_sums(l, z, skip, before, lengths);
    } else {
        asc_affine one = {identity(l, g->P), asc_null()};
        sums = asc_after(one.weight, asc_grassmann_project(l, z, skip, before, lengths, one, false));
    }
    return asc_after(sums, asc_flow_directions(l->ctx, sums, g->groups));
}

/* ---- the loss ---- */

bool asc_grassmann_follows(const asc_layer *l, const asc_layer *below)
{
    const asc_grassmann_layer *a = l->self, *b = below ? below->self : NULL;
    if (!(a->smooth > 0) || !b) {
        return a->smooth > 0;
    }
    return a->r == b->r && a->groups == b->groups && a->pair == b->pair && a->direction == b->direction &&
           a->memory == b->memory && a->n_pairs == b->n_pairs && a->n_offsets == b->n_offsets &&
           memcmp(a->offset, b->offset, sizeof a->offset) == 0 && a->k == b->k &&
           memcmp(a->lag, b->lag, sizeof a->lag) == 0;
}

asc_tensor asc_grassmann_turn(asc_layer *l, asc_tensor u, asc_tensor below)
{
    asc_tensor turn = asc_flow_turn(l->ctx, u, below);
    return asc_after(turn, asc_scale(l->ctx, turn, ((const asc_grassmann_layer *)l->self)->smooth));
}
