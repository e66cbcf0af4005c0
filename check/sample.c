/* check/sample.c: drawing the inputs that a sample describes. */
#include "check/sample.h"

#include <math.h>
#include <string.h>

#include "tensor/dtype.h"
#include "tensor/random.h"

/* ---- values ---- */

bool asc_sample_is_real(const asc_sample_input *s)
{
    return s->kind == 'f' || s->kind == 'u';
}

double asc_sample_margin(const asc_sample_input *s)
{
    return s->kind == 'u' ? (s->hi - s->lo) / 16 : 0;
}

static double draw_real(const asc_sample_input *s, uint64_t seed, uint64_t stream, uint64_t i)
{
    double lo = s->lo + asc_sample_margin(s), hi = s->hi - asc_sample_margin(s);
    double x = s->kind == 'u' ? lo + (hi - lo) * asc_random_uniform(seed, stream, i)
                              : asc_random_normal(seed, stream, i);
    double off = x - s->kink;
    if (fabs(off) < s->away) {
        double moved = copysign(s->away + fabs(off), off);
        bool outside = s->kind == 'u' && (s->kink + moved < lo || s->kink + moved > hi);
        x = s->kink + (outside ? -moved : moved);
    }
    return (float)x;
}

static double draw(const asc_sample_input *s, uint64_t seed, uint64_t stream, uint64_t i)
{
    if (asc_sample_is_real(s)) {
        return draw_real(s, seed, stream, i);
    }
    double u = asc_random_uniform(seed, stream, i);
    return s->kind == 'i' ? s->lo + floor(u * (s->hi - s->lo)) : u < (s->hi > 0 ? s->hi : 0.5);
}

/* ---- one tensor ---- */

asc_tensor asc_sample_tensor(asc_ctx *ctx, const asc_sample_input *s, const asc_draws *draws)
{
    asc_dtype dtype = asc_sample_is_real(s) ? draws->real : s->kind == 'i' ? ASC_I64 : ASC_U8;
    asc_tensor t = asc_empty(ctx, dtype, s->ndim, s->shape);
    char *data = asc_data_mut(t);
    int64_t n = data ? asc_numel(t) : 0, period = draws->period > 0 && draws->period < n ? draws->period : n;
    for (int64_t i = 0; i < period; i++) {
        asc_set_any(dtype, data, i, draw(s, draws->seed, draws->stream, (uint64_t)i));
    }
    size_t size = asc_dtype_size(dtype);
    for (int64_t i = period; i < n; i += period) {
        memcpy(data + (size_t)i * size, data, (size_t)(n - i < period ? n - i : period) * size);
    }
    return t;
}

/* ---- a sample ---- */

static asc_status draw_input(asc_ctx *ctx, const asc_sample_input *s, int i, const asc_draws *draws, asc_drawn *drawn)
{
    drawn->owner[i] = i;
    if (s->kind == 0) {
        return ASC_OK;
    }
    if (s->kind == '=') {
        drawn->owner[i] = drawn->owner[(int)s->lo];
        drawn->at[i] = drawn->at[drawn->owner[i]];
        return ASC_OK;
    }
    asc_draws own = *draws;
    own.stream += (uint64_t)i;
    drawn->at[i] = asc_sample_tensor(ctx, s, &own);
    return asc_error(ctx);
}

asc_status asc_sample_draw(asc_ctx *ctx, const asc_sample *sample, const asc_draws *draws, asc_drawn *drawn)
{
    *drawn = (asc_drawn){0};
    for (int i = 0; i < ASC_MAX_IN; i++) {
        drawn->n = sample->in[i].kind ? i + 1 : drawn->n;
    }
    asc_status status = ASC_OK;
    for (int i = 0; i < drawn->n && !status; i++) {
        status = draw_input(ctx, &sample->in[i], i, draws, drawn);
    }
    return status;
}
