/* ops/attention/alibi.c: attention with linear biases: y_hij = -m_h |p_i - j|, m_h = 2^(-8(h+1)/H), query i standing at
 * position p_i = i + M - N. Press, Smith and Lewis, arXiv 2108.12409. A constant: no gradient flows anywhere. */
#include "ops/attention/panel.h"

#include <stdlib.h>

/* ---- float, and f64.awk makes the same for double ---- */

static void fill_f32(void *y, int64_t heads, int64_t N, int64_t M)
{
    float *to = y;
    for (int64_t h = 0; h < heads; h++) {
        double slope = asc_alibi_slope(h, heads);
        for (int64_t i = 0; i < N; i++) {
            for (int64_t j = 0; j < M; j++) {
                *to++ = (float)(-slope * (double)llabs((long long)(i + M - N - j)));
            }
        }
    }
}

/* ---- end of float ---- */
#include "ops/attention/alibi.f64.h"

asc_tensor asc_alibi(asc_ctx *ctx, asc_dtype dtype, int64_t heads, int64_t N, int64_t M)
{
    if (!asc_is_floating(dtype) || heads < 1 || N < 0 || M < N) {
        asc_fail(ctx, ASC_ERR_ARG, "alibi: dtype is %s, heads is %lld, N is %lld, M is %lld, expected f32 or f64, "
                 "heads >= 1, 0 <= N <= M", asc_dtype_name(dtype), (long long)heads, (long long)N, (long long)M);
        return asc_null();
    }
    asc_tensor y = asc_empty(ctx, dtype, 3, (int64_t[]){heads, N, M});
    void *data = asc_data_mut(y);
    if (data) {
        BY_DTYPE(dtype, fill)(data, heads, N, M);
    }
    return y;
}
