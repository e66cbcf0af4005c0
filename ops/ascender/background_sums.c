/* ops/ascender/background_sums.c: the sums over queries that ascender_background's backward pass takes, and what they
 * say of headings, places, densities and scalars once they are complete. */
#include "ops/ascender/background.h"

#include <string.h>

/* ---- float, and f64.awk makes the same for double ---- */

/* dρ of the densities that were given. */
static void add_densities_f32(const asc_background_call *b)
{
    int64_t before = b->J.M - b->J.N;
    float *to = b->call->grad_in[BACKGROUND_DENSITY].data;
    for (int64_t head = 0; head < b->J.B * b->J.H; head++) {
        const float *from = (const float *)b->drho_sum + head * b->J.M;
        for (int64_t j = 0; j < before; j++) {
            to[head * before + j] = (b->call->fresh[BACKGROUND_DENSITY] ? 0 : to[head * before + j]) + from[j];
        }
    }
}

/* ---- end of float ---- */
#include "ops/ascender/background_sums.f64.h"

/* Room for the sums over queries and chunks. */
asc_status asc_background_begin_sums(asc_background_call *b)
{
    asc_call *call = b->call;
    const asc_allowed *J = &b->J;
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    size_t size = asc_dtype_size(dtype), heads = (size_t)(J->B * J->H);
    size_t scalars = heads * (size_t)asc_background_pieces(b) * ASC_BACKGROUND_SCALARS * sizeof *b->scalar_sums;
    bool turns = call->grad_in[call->in[BACKGROUND_HEADING].ndim >= 0 ? BACKGROUND_HEADING : BACKGROUND_K].data != NULL;
    bool moves = call->grad_in[BACKGROUND_Z].data != NULL;
    b->scalar_sums = asc_call_scratch(call, scalars);
    b->drho_sum = asc_call_scratch(call, heads * (size_t)J->M * size);
    b->du_sum = turns ? asc_call_scratch(call, heads * (size_t)(J->M * b->d) * size) : NULL;
    b->dplaces_sum = moves ? asc_call_scratch(call, heads * (size_t)(b->d_z * b->ld) * size) : NULL;
    if (!b->scalar_sums || !b->drho_sum || (turns && !b->du_sum) || (moves && !b->dplaces_sum) ||
        asc_table_sums_begin(call, J, BACKGROUND_REL_BIAS, &b->table) || asc_panel_sums_of_input(call, J, BACKGROUND_K, &b->dk) ||
        asc_panel_sums_of_input(call, J, BACKGROUND_V, &b->dv) || asc_panel_sums_of_input(call, J, BACKGROUND_Z, &b->dz) ||
        asc_panel_sums_of(call, J, dtype, b->drho_sum, J->M, 1, &b->drho) ||
        (turns && asc_panel_sums_of(call, J, dtype, b->du_sum, J->M, b->d, &b->du)) ||
        (moves && asc_panel_sums_of(call, J, dtype, b->dplaces_sum, b->d_z, b->ld, &b->dplaces))) {
        return ASC_ERR_MEMORY;
    }
    memset(b->scalar_sums, 0, scalars);
    return ASC_OK;
}

/* What the sums over all queries say of headings, places and densities. */
static void finish(asc_background_call *b)
{
    asc_call *call = b->call;
    bool separate = call->in[BACKGROUND_HEADING].ndim >= 0;
    int heading = separate ? BACKGROUND_HEADING : BACKGROUND_K;
    if (b->du_sum) { /* the keys have their sums already */
        asc_head_units_grad(call->ctx, b->heading, b->J.H, b->units, b->du_sum, call->grad_in[heading].data,
                            separate && call->fresh[heading]);
    }
    if (b->dplaces_sum) {
        asc_head_add_transposes(call->ctx, &call->grad_in[BACKGROUND_Z], b->J.H, b->dplaces_sum);
    }
    asc_dtype dtype = call->in[BACKGROUND_Q].dtype;
    asc_parallel(call->ctx, b->J.B * b->J.H, BY_DTYPE(dtype, asc_background_density_grad), b);
    if (call->grad_in[BACKGROUND_DENSITY].data) {
        BY_DTYPE(dtype, add_densities)(b);
    }
}

void asc_background_end_sums(asc_background_call *b)
{
    asc_ctx *ctx = b->call->ctx;
    const asc_panel_sums *all[] = {&b->dk, &b->dv, &b->dz, &b->drho, &b->du, &b->dplaces};
    for (int s = 0; s < ASC_COUNT(all); s++) {
        asc_panel_sums_end(ctx, all[s]);
    }
    finish(b);
    asc_head_scalars_end(b->call, &b->J, BACKGROUND_SCALARS, ASC_BACKGROUND_SCALARS, asc_background_pieces(b), b->scalar_sums);
    asc_table_sums_end(&b->table, &b->J);
}
