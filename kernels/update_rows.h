/*
 * kernels/update_rows.h: random numbers, dropout and the optimisers for one real type; included by
 * kernels_impl.c with REAL and F(name) defined. table.h says what each function does.
 */

/* ---- random numbers ---- */

static void F(philox_uniform)(REAL *y, int64_t n, asc_philox_key key, uint64_t offset)
{
    enum { WORDS = sizeof(REAL) / sizeof(uint32_t), PIECE = 256 };
    uint32_t words[WORDS * PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        philox_words(words, WORDS * m, key, WORDS * (offset + (uint64_t)i));
        INDEPENDENT
        for (int64_t k = 0; k < m; k++) {
            y[i + k] = F(unit)(words + WORDS * k);
        }
    }
}

/* y (+)= x/(1-p) where kept, else 0; y is not read if `fresh`. */
static ALWAYS_INLINE void F(drop)(REAL *y, const REAL *x, int64_t n, asc_philox_key key, uint64_t offset, double p,
                                  bool fresh)
{
    enum { PIECE = 512 };
    uint32_t words[PIECE];
    uint32_t threshold = (uint32_t)(p * 0x1p31); /* of 31 bits, so that none are kept for p = 1 */
    REAL factor = (REAL)(1 / (1 - p));
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        philox_words(words, m, key, offset + (uint64_t)i);
        INDEPENDENT
        for (int64_t k = 0; k < m; k++) {
            REAL kept = words[k] >> 1 >= threshold ? x[i + k] * factor : 0;
            y[i + k] = fresh ? kept : y[i + k] + kept;
        }
    }
}

static void F(dropout)(REAL *y, const REAL *x, int64_t n, asc_philox_key key, uint64_t offset, double p)
{
    F(drop)(y, x, n, key, offset, p, true);
}

static void F(dropout_grad)(REAL *dx, const REAL *dy, int64_t n, asc_philox_key key, uint64_t offset, double p,
                            bool fresh)
{
    if (fresh) {
        F(drop)(dx, dy, n, key, offset, p, true);
    } else {
        F(drop)(dx, dy, n, key, offset, p, false);
    }
}

/* ---- optimisers ---- */

static void F(adamw)(REAL *p, const REAL *g, REAL *m, REAL *v, int64_t n, const asc_adamw_step *step)
{
    const REAL scale = (REAL)step->grad_scale, keep = (REAL)(1 - step->lr * step->weight_decay);
    const REAL beta1 = (REAL)step->beta1, rest1 = (REAL)(1 - step->beta1);
    const REAL beta2 = (REAL)step->beta2, rest2 = (REAL)(1 - step->beta2);
    const REAL rate = (REAL)(step->lr / step->bias1), eps = (REAL)step->eps;
    const REAL root = (REAL)(1 / sqrt(step->bias2));
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL d = g[i] * scale;
        m[i] = beta1 * m[i] + rest1 * d;
        v[i] = beta2 * v[i] + rest2 * (d * d);
        p[i] = p[i] * keep - rate * (m[i] / (F(sqrt1)(v[i]) * root + eps));
    }
}

static void F(sgd)(REAL *p, const REAL *g, REAL *m, int64_t n, const asc_sgd_step *step)
{
    const REAL scale = (REAL)step->grad_scale, decay = (REAL)step->weight_decay;
    const REAL momentum = (REAL)step->momentum, rate = (REAL)step->lr;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL d = g[i] * scale + decay * p[i];
        if (m) {
            d += momentum * m[i];
            m[i] = d;
        }
        p[i] -= rate * d;
    }
}
