/* nn/grassmann_fused.c: what the pairs or tuples of a Grassmann layer say, projected, on the fused op for them. */
#include <ascgrad/ops.h>

#include "nn/grassmann.h"
#include "tensor/ctx.h"

asc_tensor asc_grassmann_without_pairs(asc_layer *l, int64_t B, int64_t N, int64_t tokens)
{
    const asc_grassmann_layer *g = l->self;
    if (g->memory || tokens > g->nearest) {
        return asc_null();
    }
    asc_tensor none = asc_zeros(l->ctx, l->dtype, ASC_SHAPE(B, N, asc_size(g->plu.weight, 0)));
    if (asc_is_null(g->offset_weight)) {
        return none;
    }
    asc_tensor no_weights = asc_slice(l->ctx, g->offset_weight, 0, 0, 0, 1); /* none of them: the sum is 0 */
    asc_tensor nothing = asc_after(no_weights, asc_sum(l->ctx, no_weights, ASC_ALL_DIMS, false));
    asc_tensor sum = asc_after(none, asc_add(l->ctx, none, nothing));
    asc_release(nothing);
    return sum;
}

asc_tensor asc_grassmann_project(asc_layer *l, asc_tensor z, int64_t skip, asc_tensor before, asc_tensor lengths,
                                 asc_affine w, bool rms)
{
    const asc_grassmann_layer *g = l->self;
    if (g->n_tuples > 0) {
        const asc_subspace_options options = {
            .k = g->k, .n_tuples = g->n_tuples, .tuples = g->lag, .sum = g->sum, .rms = rms, .raw = g->raw,
            .groups = g->groups, .eps = g->eps, .eps_rel = g->eps_rel, .skip = skip,
        };
        return asc_subspace(l->ctx, z, w.weight, w.bias, lengths, &options);
    }
    const asc_grassmann_options options = {
        .pair = g->pair, .n_offsets = g->n_offsets, .offsets = g->offset, .direction = g->direction, .sum = g->sum,
        .rms = rms, .raw = g->raw, .groups = g->groups, .eps = g->eps, .eps_rel = g->eps_rel, .skip = skip,
    };
    return asc_grassmann(l->ctx, z, w.weight, w.bias, g->offset_weight, before, lengths, &options);
}
