/*
 * kernels/update_rows.h: random numbers, dropout and the optimisers; included by kernels_impl.c. list.h says what each
 * function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

/* ---- random numbers ---- */

static void philox_bits_f32(uint32_t *y, int64_t n, asc_philox_key key, uint64_t offset)
{
    philox_words(y, n, key, offset);
}

static void philox_uniform_f32(float *y, int64_t n, asc_philox_key key, uint64_t offset)
{
    enum { WORDS = sizeof(float) / sizeof(uint32_t), TILE = 256 };
    uint32_t words[WORDS * TILE];
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t m = n - i < TILE ? n - i : TILE;
        philox_words(words, WORDS * m, key, WORDS * (offset + (uint64_t)i));
        INDEPENDENT
        for (int64_t k = 0; k < m; k++) {
            y[i + k] = unit_f32(words + WORDS * k);
        }
    }
}

/* y (+)= x/(1-p) where kept, else 0; y is not read if `fresh`. */
static ALWAYS_INLINE void drop_f32(float *y, const float *x, int64_t n, asc_philox_key key, uint64_t offset, double p,
                                   bool fresh)
{
    enum { TILE = 512 };
    uint32_t words[TILE];
    uint32_t threshold = (uint32_t)(p * 0x1p31); /* of 31 bits, so that none are kept for p = 1 */
    float factor = (float)(1 / (1 - p));
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t m = n - i < TILE ? n - i : TILE;
        philox_words(words, m, key, offset + (uint64_t)i);
        INDEPENDENT
        for (int64_t k = 0; k < m; k++) {
            float kept = words[k] >> 1 >= threshold ? x[i + k] * factor : 0;
            y[i + k] = fresh ? kept : y[i + k] + kept;
        }
    }
}

static void dropout_f32(float *y, const float *x, int64_t n, asc_philox_key key, uint64_t offset, double p)
{
    drop_f32(y, x, n, key, offset, p, true);
}

static void dropout_grad_f32(float *dx, const float *dy, int64_t n, asc_philox_key key, uint64_t offset, double p,
                             bool fresh)
{
    if (fresh) {
        drop_f32(dx, dy, n, key, offset, p, true);
    } else {
        drop_f32(dx, dy, n, key, offset, p, false);
    }
}

/* ---- optimisers ---- */

static void adamw_f32(float *p, const float *g, float *m, float *v, int64_t n, const asc_adamw_step *step)
{
    const float scale = (float)step->grad_scale, keep = (float)(1 - step->lr * step->weight_decay);
    const float beta1 = (float)step->beta1, rest1 = (float)(1 - step->beta1);
    const float beta2 = (float)step->beta2, rest2 = (float)(1 - step->beta2);
    const float rate = (float)(step->lr / step->bias1), eps = (float)step->eps;
    const float root = (float)(1 / sqrt(step->bias2));
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] * scale;
        m[i] = beta1 * m[i] + rest1 * d;
        v[i] = beta2 * v[i] + rest2 * (d * d);
        p[i] = p[i] * keep - rate * (m[i] / (sqrt1_f32(v[i]) * root + eps));
    }
}

static void sgd_f32(float *p, const float *g, float *m, int64_t n, const asc_sgd_step *step)
{
    const float scale = (float)step->grad_scale, decay = (float)step->weight_decay;
    const float momentum = (float)step->momentum, rate = (float)step->lr;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float d = g[i] * scale + decay * p[i];
        if (m) {
            d += momentum * m[i];
            m[i] = d;
        }
        p[i] -= rate * d;
    }
}
/* ---- end of float ---- */
#include "kernels/update_rows.f64.h"
