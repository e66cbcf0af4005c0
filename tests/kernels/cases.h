/* tests/kernels/cases.h: tests of the kernels; included by test_kernels.c. Everything is compared with the formula, in
 * long double and in the plainest loop. */
/* ---- float, and f64.awk makes the same for double ---- */

/* n numbers on [-3, 3), another sequence for each stream. */
static void fill_f32(float *x, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(6 * asc_random_uniform(7, stream, (uint64_t)i) - 3);
    }
}

static void close_f32(float got, long double want, long double scale)
{
    if (!(fabsl((long double)got - want) <= TOL_f32 * scale)) {
        ck_abort_msg("got %.17g, expected %.17Lg", (double)got, want);
    }
}

static void check_sums_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static float x[MOST], y[MOST];
    fill_f32(x, n, 1);
    fill_f32(y, n, 2);
    long double sum = 0, dot = 0, sq = 0, top = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        dot += (long double)x[i] * y[i];
        sq += (long double)x[i] * x[i];
        top = x[i] > top ? x[i] : top;
    }
    close_f32(k->sum(x, n), sum, 3 * (long double)(n + 1));
    close_f32(k->dot(x, y, n), dot, 9 * (long double)(n + 1));
    ck_assert_double_le(fabs(k->sumsq(x, n) - (double)sq), 1e-15 * 9 * (double)(n + 1));
    ck_assert(k->max(x, n) == (float)top);
}

static void check_vectors_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static float a[MOST], b[MOST], y[MOST], rows[6 * MOST], acc[MOST];
    fill_f32(a, n, 1);
    fill_f32(b, n, 2);
#define EACH(call, want)                                                                                               \
    fill_f32(y, n, 3);                                                                                                 \
    call;                                                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        float old = (float)(6 * asc_random_uniform(7, 3, (uint64_t)i) - 3);                                            \
        (void)old;                                                                                                     \
        require(y[i] == (float)(want), #call);                                                                         \
    }
    EACH(k->add(y, a, b, n), a[i] + b[i])
    EACH(k->acc(y, a, n), old + a[i])
    EACH(k->mul(y, a, b, n), a[i] * b[i])
    EACH(k->mul_acc(y, a, b, n), old + (float)(a[i] * b[i]))
    EACH(k->scale(y, (float)0.3, a, n), (float)0.3 * a[i])
    EACH(k->axpy(y, (float)0.3, a, n), old + (float)((float)0.3 * a[i]))
#undef EACH
    for (int64_t count = 0; count <= 6; count++) {
        fill_f32(acc, n, 3);
        fill_f32(rows, 6 * n, 4);
        k->add_bias_rows(rows, b, count, n);
        k->sum_rows(acc, rows, count, n);
        for (int64_t i = 0; i < n; i++) {
            long double want = 6 * asc_random_uniform(7, 3, (uint64_t)i) - 3;
            for (int64_t r = 0; r < count; r++) {
                want += 6 * asc_random_uniform(7, 4, (uint64_t)(r * n + i)) - 3 + (long double)b[i];
            }
            close_f32(acc[i], want, 40);
        }
    }
}

static void check_softmax_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static float x[MOST], y[MOST], dy[MOST], dx[MOST];
    long double total = 0, dot = 0;
    fill_f32(x, n, 1);
    fill_f32(dy, n, 2);
    for (int64_t i = 0; i < n; i++) {
        total += expl(x[i]);
    }
    k->softmax_row(y, x, n);
    for (int64_t i = 0; i < n; i++) {
        close_f32(y[i], expl(x[i]) / total, 1);
        dot += (long double)y[i] * dy[i];
    }
    for (int fresh = 0; fresh < 2; fresh++) {
        fill_f32(dx, n, 3);
        k->softmax_grad_row(dx, y, dy, (float)0.25, n, fresh);
        for (int64_t i = 0; i < n; i++) {
            long double old = fresh ? 0 : 6 * asc_random_uniform(7, 3, (uint64_t)i) - 3;
            close_f32(dx[i], old + 0.25L * y[i] * (dy[i] - dot), 3);
        }
    }
    close_f32(k->exp_shift(y, x, (float)0.5, n), total * expl(-0.5L), total + 1);
}

static void check_softmax_masked_f32(const asc_kernel_table_f32 *k)
{
    float x[3] = {-INFINITY, -INFINITY, -INFINITY}, y[3] = {5, 5, 5};
    k->softmax_row(y, x, 3);
    ck_assert(y[0] == 0 && y[1] == 0 && y[2] == 0);
    x[1] = 1000;
    k->softmax_row(y, x, 3);
    ck_assert(y[0] == 0 && y[1] == 1 && y[2] == 0);
    x[0] = NAN;
    x[1] = -INFINITY;
    k->softmax_row(y, x, 3);
    ck_assert(isnan(y[0])); /* not hidden */
    k->softmax_row(y, x, 0);
}

/* Two rows; w and b absent where `affine` is false. */
static void check_layer_norm_f32(const asc_kernel_table_f32 *k, int64_t n, bool affine, bool fresh)
{
    static float x[2 * MOST], y[2 * MOST], dy[2 * MOST], dx[2 * MOST], w[MOST], b[MOST], dw[MOST], db[MOST];
    float mean[2], rstd[2];
    long double want_dw[MOST] = {0}, want_db[MOST] = {0};
    fill_f32(x, 2 * n, 1);
    fill_f32(dy, 2 * n, 2);
    fill_f32(w, n, 3);
    fill_f32(b, n, 4);
    fill_f32(dx, 2 * n, 5);
    fill_f32(dw, n, 6);
    fill_f32(db, n, 6);
    for (int r = 0; r < 2; r++) {
        k->layer_norm_row(y + r * n, x + r * n, affine ? w : NULL, affine ? b : NULL, n, (float)0.01, &mean[r],
                          &rstd[r]);
    }
    k->layer_norm_grad_rows(dx, dw, db, x, affine ? w : NULL, dy, mean, rstd, 2, n, fresh);
    for (int r = 0; r < 2; r++) {
        const float *xr = x + r * n, *dyr = dy + r * n;
        long double m = 0, v = 0, g_mean = 0, gx_mean = 0;
        for (int64_t i = 0; i < n; i++) {
            m += xr[i] / (long double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            v += (xr[i] - m) * (xr[i] - m) / (long double)n;
        }
        long double s = 1 / sqrtl(v + 0.01L);
        for (int64_t i = 0; i < n; i++) {
            long double g = affine ? (long double)dyr[i] * w[i] : dyr[i], hat = (xr[i] - m) * s;
            close_f32(y[r * n + i], affine ? hat * w[i] + b[i] : hat, 20);
            g_mean += g / (long double)n;
            gx_mean += g * hat / (long double)n;
            want_dw[i] += dyr[i] * hat;
            want_db[i] += dyr[i];
        }
        for (int64_t i = 0; i < n; i++) {
            long double g = affine ? (long double)dyr[i] * w[i] : dyr[i], hat = (xr[i] - m) * s;
            long double old = fresh ? 0 : 6 * asc_random_uniform(7, 5, (uint64_t)(r * n + i)) - 3;
            close_f32(dx[r * n + i], old + s * (g - g_mean - hat * gx_mean), n > 1 ? 50 : 1000);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        long double old = 6 * asc_random_uniform(7, 6, (uint64_t)i) - 3;
        close_f32(dw[i], old + want_dw[i], 50);
        close_f32(db[i], old + want_db[i], 50);
    }
}

/* p = 1.5, gradients 0.25, -2, 3.5, scaled by 1/2: against ADAMW_P and the like. */
static void check_optimisers_f32(const asc_kernel_table_f32 *k)
{
    static const float gradient[3] = {(float)0.25, -2, (float)3.5};
    float p[40], g[40], m[40] = {0}, v[40] = {0}, q[40], momentum[40] = {0}, plain = (float)1.5;
    for (int i = 0; i < 40; i++) {
        p[i] = q[i] = (float)1.5;
    }
    for (int t = 1; t <= 3; t++) {
        for (int i = 0; i < 40; i++) {
            g[i] = gradient[t - 1];
        }
        asc_adamw_step step = {0.01, 0.9, 0.999, 1e-8, 0.1, 0.5, 1 - pow(0.9, t), 1 - pow(0.999, t)};
        k->adamw(p, g, m, v, 40, &step);
        k->sgd(q, g, momentum, 40, &(asc_sgd_step){0.01, 0.9, 0.1, 0.5});
    }
    for (int i = 0; i < 40; i++) {
        close_f32(p[i], ADAMW_P, 2);
        close_f32(m[i], ADAMW_M, 1);
        close_f32(v[i], ADAMW_V, 1);
        close_f32(q[i], SGD_P, 2);
        close_f32(momentum[i], SGD_M, 2);
    }
    k->sgd(&plain, g, NULL, 1, &(asc_sgd_step){0.1, 0.9, 0, 1});
    close_f32(plain, 1.15L, 2);
}

static void check_dropout_f32(const asc_kernel_table_f32 *k, uint64_t offset, int64_t n, double p)
{
    const asc_philox_key key = {3, 4};
    static float x[MOST], y[MOST], dx[MOST], u[MOST];
    uint32_t words[2 * MOST];
    fill_f32(x, n, 1);
    fill_f32(dx, n, 2);
    k->philox_bits(words, n, key, offset);
    k->dropout(y, x, n, key, offset, p);
    k->dropout_grad(dx, x, n, key, offset, p, false);
    for (int64_t i = 0; i < n; i++) {
        float want = (words[i] >> 1) * 0x1p-31 >= p ? x[i] * (float)(1 / (1 - p)) : 0;
        require(y[i] == want, "dropout");
        require(dx[i] == (float)((float)(6 * asc_random_uniform(7, 2, (uint64_t)i) - 3) + want), "dropout_grad");
    }
    k->dropout_grad(dx, x, n, key, offset, p, true);
    ck_assert(memcmp(dx, y, (size_t)n * sizeof *y) == 0);
    k->philox_uniform(u, n, key, offset);
    if (FLT_MANT_DIG == DBL_MANT_DIG) {
        k->philox_bits(words, 2 * n, key, 2 * offset);
    }
    for (int64_t i = 0; i < n; i++) {
        double want = FLT_MANT_DIG == 24 ? (words[i] >> 8) * 0x1p-24
                                         : words[2 * i] * 0x1p-32 + (words[2 * i + 1] >> 11) * 0x1p-53;
        require((double)u[i] == want, "philox_uniform");
    }
}

/* gelu_both is gelu and gelu_grad, to the bit. */
static void check_gelu_both_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static float x[MOST], dy[MOST], y[MOST], dx[MOST], y_alone[MOST], dx_alone[MOST];
    fill_f32(x, n, 1);
    fill_f32(dy, n, 2);
    for (int fresh = 0; fresh <= 1; fresh++) {
        fill_f32(dx, n, 3);
        fill_f32(dx_alone, n, 3);
        k->gelu_both(y, dx, x, dy, n, fresh);
        k->gelu(y_alone, x, n);
        k->gelu_grad(dx_alone, x, dy, n, fresh);
        ck_assert(memcmp(y, y_alone, (size_t)n * sizeof *y) == 0);
        ck_assert(memcmp(dx, dx_alone, (size_t)n * sizeof *dx) == 0);
    }
}

static void check_logit_loss_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static float x[MOST], t[MOST], y[MOST];
    fill_f32(x, n, 1);
    for (int64_t i = 0; i < n; i++) {
        x[i] *= 10;
        t[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : (float)asc_random_uniform(7, 2, (uint64_t)i);
    }
    k->logit_loss(y, x, t, n);
    for (int64_t i = 0; i < n; i++) {
        long double want = t[i] * log1pl(expl(-(long double)x[i])) + (1 - t[i]) * log1pl(expl((long double)x[i]));
        close_f32(y[i], want, want);
    }
    const float end[] = {INFINITY, -INFINITY, INFINITY, -INFINITY, NAN}, weight[] = {1, 0, 0, 1, 0};
    k->logit_loss(y, end, weight, 5);
    ck_assert(y[0] == 0 && y[1] == 0 && y[2] == (float)INFINITY && y[3] == (float)INFINITY && isnan(y[4]));
}

/* Of two rows that pair 0, 1 and NaN in every way, the larger and the smaller, and what each has of the gradient. */
static void check_choices_f32(const asc_kernel_table_f32 *k)
{
    const float value[] = {0, 1, NAN};
    float a[9], b[9], large[9], small[9], of_a[9], of_b[9], ones[9];
    for (int i = 0; i < 9; i++) {
        a[i] = value[i / 3];
        b[i] = value[i % 3];
        ones[i] = 1;
    }
    k->extreme(large, a, b, true, 9);
    k->extreme(small, a, b, false, 9);
    k->extreme_grad(of_a, a, b, ones, true, true, 9, true);
    k->extreme_grad(of_b, a, b, ones, true, false, 9, true);
    for (int i = 0; i < 9; i++) {
        bool none = isnan(a[i]) || isnan(b[i]);
        require(none ? isnan(large[i]) : large[i] == (a[i] > b[i] ? a[i] : b[i]), "the larger");
        require(none ? isnan(small[i]) : small[i] == (a[i] < b[i] ? a[i] : b[i]), "the smaller");
        require(of_a[i] == (isnan(a[i]) || (!none && a[i] > b[i]) ? 1 : a[i] == b[i] ? (float)0.5 : 0), "a's share");
        require(of_a[i] + of_b[i] == 1, "b's share");
    }
    const uint8_t mask[] = {0, 2, 1, 0, 0, 1, 0, 3, 0};
    k->select_grad(of_a, mask, true, ones, 9, true);
    k->select_grad(of_b, mask, false, ones, 9, true);
    for (int i = 0; i < 9; i++) {
        require(of_a[i] == (mask[i] ? 1 : 0) && of_b[i] == 1 - of_a[i], "a masked gradient");
    }
    k->select_grad(of_b, mask, true, ones, 9, false);
    require(k->sum(of_b, 9) == 9, "a masked gradient that is added");
    uint8_t less[9], others[9];
    k->relate(less, a, b, true, false, false, false, 9);
    k->relate(others, a, b, false, true, true, true, 9);
    for (int i = 0; i < 9; i++) {
        require(less[i] == (a[i] < b[i]) && others[i] == !less[i], "a relation");
    }
    k->abs_grad(of_b, value, ones, 3);
    require(of_b[0] == 0 && of_b[1] == 1, "the gradient of abs");
}

/* In the range, at its ends, outside; NaN. */
static void check_clamp_f32(const asc_kernel_table_f32 *k)
{
    const float x[] = {-2, -1, 0, 3, 4, INFINITY, NAN}, dy[] = {5, 5, 5, 5, 5, 5, 5};
    const double want[] = {-1, -1, 0, 3, 3, 3}, slope[] = {0, 5, 5, 5, 0, 0, 0};
    float y[7], dx[] = {1, 1, 1, 1, 1, 1, 1};
    k->clamp(y, x, -1, 3, 7);
    k->clamp_grad(dx, x, -1, 3, dy, 7, false);
    for (int i = 0; i < 7; i++) {
        require(i == 6 ? isnan(y[i]) : (double)y[i] == want[i], "clamp");
        require((double)dx[i] == 1 + slope[i], "the gradient of clamp");
    }
}

static void check_slopes_f32(const asc_kernel_table_f32 *k)
{
    const float x[] = {-INFINITY, -2, -.5, 0, .7, 3, INFINITY}, dy[] = {2, 2, 2, 2, 2, 2, 2};
    float dx[7], gate[] = {0, .25, .5, .5, .75, 1, 1};
    k->erf_grad(dx, x, dy, 7);
    k->gated_grad(gate, x, dy, false, 7);
    const float s[] = {0, .25, .5, .5, .75, 1, 1};
    for (int i = 0; i < 7; i++) {
        bool open = s[i] == 0 || s[i] == 1;
        double slope = open ? (double)s[i] : (double)s[i] + (double)x[i] * (double)s[i] * (1 - (double)s[i]);
        require(fabs((double)dx[i] - 2.2567583341910251 * exp(-(double)x[i] * (double)x[i])) < 4e-7, "erf_grad");
        require(fabs((double)gate[i] - 2 * slope) < 1e-6, "gated_grad");
    }
    const float t[] = {0, 1, (float).3, INFINITY, -1, NAN}, at[] = {1, 1, -2, 1, 1, 1};
    const double want[] = {0, -.5, .5 * .3 * (log(.3) + 2), INFINITY, NAN, NAN};
    const double by_t[] = {0, 0, .5 * (log(.3) + 3), INFINITY, NAN, NAN};
    float y[6], g[6];
    k->kl_div(y, at, t, .5, 6);
    k->kl_div_slope(g, at, t, .5, 6);
    for (int i = 0; i < 6; i++) {
        require(i < 3 ? fabs((double)y[i] - want[i]) < 1e-7 : i == 3 ? isinf(y[i]) : isnan(y[i]), "kl_div");
        require(i < 3 ? fabs((double)g[i] - by_t[i]) < 1e-7 : i == 3 ? isinf(g[i]) : isnan(g[i]), "kl_div_slope");
    }
}

/* Either side of β, at it and beyond; slopes by the formula. */
static void check_smooth_l1_f32(const asc_kernel_table_f32 *k)
{
    const float x[] = {0, 1, -1, 2, -3, INFINITY, NAN}, t[7] = {0};
    const double want[] = {0, .5 / 4, .5 / 4, .5 * (2 - 1), .5 * (3 - 1)}, slope[] = {0, .25, -.25, .5, -.5, .5};
    float y[7];
    k->smooth_l1(y, x, t, 2, .5, 7);
    for (int i = 0; i < 5; i++) {
        require((double)y[i] == want[i], "smooth_l1");
    }
    require(isinf(y[5]) && isnan(y[6]), "smooth_l1 at its ends");
    k->smooth_l1_slope(y, x, t, 2, .5, 7);
    for (int i = 0; i < 6; i++) {
        require((double)y[i] == slope[i], "the slope of smooth_l1");
    }
    require(isnan(y[6]), "the slope of smooth_l1 of NaN");
}

/* Beside what is computed of a reduced argument, what is the C library's: in one row, in place. */
static void check_circle_f32(const asc_kernel_table_f32 *k)
{
    float x[300], y[300];
    for (int i = 0; i < 300; i++) {
        x[i] = y[i] = (float)((i - 150) * (i % 7 == 0 ? 1e9 : i % 7 == 1 ? 3400.0 : .37));
    }
    x[200] = y[200] = INFINITY;
    k->sin(y, y, 300);
    for (int i = 0; i < 300; i++) {
        require(i == 200 ? isnan(y[i]) : fabs((double)y[i] - sin((double)x[i])) < 1e-7, "sin");
    }
    k->cos(y, x, 300);
    for (int i = 0; i < 300; i++) {
        require(i == 200 ? isnan(y[i]) : fabs((double)y[i] - cos((double)x[i])) < 1e-7, "cos");
    }
}
/* got is want to 1e-7 of it, 0 with its sign, the same infinity, or NaN as it is. */
static bool same_power_f32(float got, double want)
{
    if (isnan(want) || isinf((float)want) || (float)want == 0) {
        return isnan(want) ? isnan(got) : got == (float)want && !signbit(got) == !signbit(want);
    }
    return fabs((double)got - want) <= 1e-7 * fabs(want) + (double)FLT_TRUE_MIN;
}

/* Every pair of bases and exponents, ends among them, as the C library has it. */
static void check_powers_f32(const asc_kernel_table_f32 *k)
{
    enum { BASES = 22, EXPONENTS = 24 };
    static const double bases[BASES] = {0,       -0.0,  1,      -1,   .5,    -.5,   2,    -2,       3,         -3,  .7,
                                        1.00001, 1e-41, -1e-41, 1e30, -1e30, 1e-30, 3e38, INFINITY, -INFINITY, NAN, 7};
    static const double exponents[EXPONENTS] = {0,   -0.0,     1,          -1,     2,       -2,       3,         -3,
                                                .5,  -.5,      -1.5,       1e-3,   17,      -17,      126,       149.5,
                                                1e6, -1e6 - 1, 0x1p23 + 1, 0x1p60, -0x1p60, INFINITY, -INFINITY, NAN};
    float x[BASES * EXPONENTS], p[BASES * EXPONENTS], y[BASES * EXPONENTS], dx[BASES * EXPONENTS];
    float dp[BASES * EXPONENTS], dy[BASES * EXPONENTS];
    for (int i = 0; i < BASES * EXPONENTS; i++) {
        x[i] = (float)bases[i / EXPONENTS];
        p[i] = (float)exponents[i % EXPONENTS];
        dx[i] = dy[i] = 1;
    }
    k->pow(y, x, p, 0, BASES * EXPONENTS);
    k->pow_grad(dx, x, p, 0, dy, true, BASES * EXPONENTS, false);
    k->pow_grad(dp, x, p, 0, dy, false, BASES * EXPONENTS, true);
    for (int i = 0; i < BASES * EXPONENTS; i++) {
        double a = (double)x[i], b = (double)p[i], by_x = b == 0 ? 0 : (double)(float)(b * pow(a, b - 1));
        double by_p = a == 0 && b >= 0 ? 0 : pow(a, b) * log(a);
        require(same_power_f32(y[i], pow(a, b)), "pow");
        bool real = !isnan(by_x) && !isinf(by_x);
        require(real ? same_power_f32(dx[i], (double)(float)by_x + 1) : isnan(dx[i]) == isnan(by_x), "pow by x");
        require(same_power_f32(dp[i], by_p), "pow by p");
    }
    for (int e = 0; e < EXPONENTS; e++) { /* a constant as an exponent of its own */
        k->pow(y, x, NULL, (double)(float)exponents[e], BASES * EXPONENTS);
        for (int i = 0; i < BASES * EXPONENTS; i++) {
            require(same_power_f32(y[i], pow((double)x[i], (double)(float)exponents[e])), "pow by a constant");
        }
    }
}

static void check_wide_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    static float x[MOST], y[MOST];
    fill_f32(x, n, 1);
    long double sum = 0, squares = 0, exps = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        squares += ((long double)x[i] - (long double).3) * ((long double)x[i] - (long double).3);
        exps += expl((long double)x[i] - (long double).25);
    }
    require(fabsl(k->wide_sum(x, n) - sum) <= 1e-14L * (n + 1), "wide_sum");
    require(fabsl(k->wide_squares(x, .3, n) - squares) <= 1e-14L * (n + 1), "wide_squares");
    require(fabsl(k->wide_exps(x, (float).25, n) - exps) <= (sizeof *x == 4 ? 1e-7L : 1e-14L) * exps, "wide_exps");
    for (int fresh = 0; fresh < 2; fresh++) {
        fill_f32(y, n, 3);
        k->wide_centred(y, x, .3, -.7, n, fresh);
        for (int64_t i = 0; i < n; i++) {
            long double old = fresh ? 0 : (float)(6 * asc_random_uniform(7, 3, (uint64_t)i) - 3);
            close_f32(y[i], old - .7L * ((long double)x[i] - .3L), 6);
        }
        fill_f32(y, n, 3);
        k->wide_exp(y, x, .3, -.7, n, fresh);
        for (int64_t i = 0; i < n; i++) {
            long double old = fresh ? 0 : (float)(6 * asc_random_uniform(7, 3, (uint64_t)i) - 3);
            close_f32(y[i], old - .7L * expl((long double)x[i] - .3L), 20);
        }
    }
    const float ends[] = {-INFINITY, -1000, NAN, 0};
    require(k->wide_exps(ends, 0, 2) < 1e-300 && isnan(k->wide_exps(ends, 0, 3)), "wide_exps at its ends");
    k->wide_exp(y, ends, 0, 1, 4, true);
    require(y[0] == 0 && y[1] == 0 && isnan(y[2]) && fabs((double)y[3] - 1) < 1e-7, "wide_exp at its ends");
}
/* ---- end of float ---- */
#include "tests/kernels/cases.f64.h"
