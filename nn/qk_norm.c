/* nn/qk_norm.c: normalised queries and keys. */
#include "nn/qk_norm.h"

static const double eps = 1e-6;

asc_qk_norm asc_qk_norm_make(asc_maker *maker, int which, int64_t heads, int64_t d)
{
    asc_qk_norm norm = {.heads = which == ASC_QK_NORM_NONE ? 0 : heads, .q = asc_null(), .k = asc_null()};
    if (which == ASC_QK_NORM_GAIN) {
        norm.q = asc_make_param(maker, "q_norm.weight", ASC_INIT_ONE, 1, &d);
        norm.k = asc_make_param(maker, "k_norm.weight", ASC_INIT_ONE, 1, &d);
    }
    return norm;
}

asc_tensor asc_qk_norm_apply(asc_ctx *ctx, const asc_qk_norm *norm, asc_tensor x, asc_tensor gain)
{
    if (norm->heads == 0 || asc_is_null(x)) {
        return x;
    }
    const int64_t B = asc_size(x, 0), N = asc_size(x, 1), width = asc_size(x, 2);
    asc_tensor heads = asc_reshape(ctx, x, ASC_SHAPE(B, N, norm->heads, width / norm->heads));
    asc_tensor unit = asc_rms_norm(ctx, heads, gain, eps), y = asc_reshape(ctx, unit, ASC_SHAPE(B, N, width));
    asc_release(x);
    asc_release(heads);
    asc_release(unit);
    return y;
}
