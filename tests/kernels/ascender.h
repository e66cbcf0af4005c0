/* tests/kernels/ascender.h: ASCender attention's row primitives; included by test_ascender.c.
 * Everything is compared with the plainest loop. */
/* ---- float, and f64.awk makes the same for double ---- */

/* Matrices of a shape, with room on all sides, that a product must leave alone. */
typedef struct pairs_f32 {
    float A[MOST_ROWS * MOST_WIDTH], G[MOST_ROWS * MOST_WIDTH], dA[MOST_ROWS * MOST_WIDTH];
    float B[MOST_WIDTH * LD], dB[MOST_WIDTH * LD], dB_old[MOST_WIDTH * LD], P[MOST_ROWS * LD], old[MOST_ROWS * LD];
} pairs_f32;

static void check_products_f32(const asc_kernel_table_f32 *k, const shape *s)
{
    static pairs_f32 p;
    int64_t lda = s->k + 1;
    fill_f32(p.A, MOST_ROWS * MOST_WIDTH, 1);
    fill_f32(p.G, MOST_ROWS * MOST_WIDTH, 2);
    fill_f32(p.B, MOST_WIDTH * LD, 3);
    for (int kind = 0; kind < 3; kind++) {
        fill_f32(p.P, MOST_ROWS * LD, 4);
        memcpy(p.old, p.P, sizeof p.P);
        if (kind == 0) {
            k->pair_dots(p.P, LD, (float)0.5, p.A, lda, p.B, LD, s->rows, s->n, s->k);
        } else if (kind == 1) {
            k->pair_distances(p.P, LD, p.A, lda, p.B, LD, s->rows, s->n, s->k);
        } else {
            k->pair_projections(p.P, LD, p.A, p.G, lda, p.B, LD, s->rows, s->n, s->k);
        }
        for (int64_t i = 0; i < MOST_ROWS; i++) {
            for (int64_t j = 0; j < LD; j++) {
                float got = p.P[i * LD + j], old = p.old[i * LD + j];
                double want = kind == 2 ? (double)old : 0;
                for (int64_t m = 0; m < s->k; m++) {
                    double a = (double)p.A[i * lda + m], b = (double)p.B[m * LD + j];
                    want += kind == 0 ? .5 * a * b : kind == 1 ? (b - a) * (b - a) : (double)p.G[i * lda + m] * (b - a);
                }
                if (i < s->rows && j < s->n) {
                    close_f32(got, want, 4 * (double)(s->k + 1), "a product");
                } else if (got != old) {
                    ck_abort_msg("element (%lld, %lld) was written", (long long)i, (long long)j);
                }
            }
        }
    }
}

static void check_distances_grad_f32(const asc_kernel_table_f32 *k, const shape *s)
{
    static pairs_f32 p;
    int64_t lda = s->k + 1;
    fill_f32(p.A, MOST_ROWS * MOST_WIDTH, 1);
    fill_f32(p.dA, MOST_ROWS * MOST_WIDTH, 5);
    fill_f32(p.B, MOST_WIDTH * LD, 3);
    fill_f32(p.dB, MOST_WIDTH * LD, 6);
    fill_f32(p.P, MOST_ROWS * LD, 4);
    memcpy(p.G, p.dA, sizeof p.G);
    memcpy(p.dB_old, p.dB, sizeof p.dB);
    for (int64_t m = 0; m < s->k; m++) {
        p.B[m * LD + s->n] = (float)NAN; /* what stands behind the columns has no effect */
    }
    k->pair_distances_grad(p.P, LD, p.A, p.dA, lda, p.B, p.dB, LD, s->rows, s->n, s->k);
    for (int64_t m = 0; m < s->k; m++) {
        for (int64_t i = 0; i < s->rows; i++) {
            double want = (double)p.G[i * lda + m];
            for (int64_t j = 0; j < s->n; j++) {
                want += 2 * (double)p.P[i * LD + j] * ((double)p.A[i * lda + m] - (double)p.B[m * LD + j]);
            }
            close_f32(p.dA[i * lda + m], want, 8 * (double)(s->n + 1), "dA");
        }
        for (int64_t j = 0; j < LD; j++) {
            double want = 0;
            for (int64_t i = 0; j < s->n && i < s->rows; i++) {
                want += 2 * (double)p.P[i * LD + j] * ((double)p.B[m * LD + j] - (double)p.A[i * lda + m]);
            }
            close_f32(p.dB[m * LD + j], (double)p.dB_old[m * LD + j] + want, 8 * (double)(s->rows + 1), "dB");
        }
    }
}

/* Values of few kinds, so that there are ties; by repeated search. */
static void check_top_k_f32(const asc_kernel_table_f32 *k, int64_t n, int64_t most, int64_t skip, int64_t kinds)
{
    float x[MOST_N], best[MOST_N];
    int64_t index[MOST_N];
    bool taken[MOST_N] = {false};
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(int64_t)((double)kinds * asc_random_uniform(3, (uint64_t)(n + most), (uint64_t)i));
        x[i] += (float)(n % 2 * kinds * i / 64); /* an odd number of them rises: each is better than most before it */
    }
    int64_t found = k->top_k(x, n, skip, most, best, index), candidates = n - (skip >= 0 && skip < n);
    ck_assert_int_eq(found, most < candidates ? most : candidates);
    for (int64_t e = 0; e < found; e++) {
        int64_t largest = -1;
        for (int64_t i = 0; i < n; i++) {
            if (i != skip && !taken[i] && (largest < 0 || x[i] > x[largest])) {
                largest = i;
            }
        }
        if (index[e] != largest || best[e] != x[largest]) {
            ck_abort_msg("%lld of %lld, skip %lld: place %lld is %lld, expected %lld", (long long)most, (long long)n,
                         (long long)skip, (long long)e, (long long)index[e], (long long)largest);
        }
        taken[largest] = true;
    }
}

/* NaNs, all but every `every`th, are chosen as -∞ is, each place once. */
static void check_nans_f32(const asc_kernel_table_f32 *k, int64_t n, int64_t most, int64_t skip, int64_t every)
{
    float x[MOST_N], clean[MOST_N], best[2][MOST_N];
    int64_t index[2][MOST_N];
    bool taken[MOST_N] = {false};
    for (int64_t i = 0; i < n; i++) {
        bool number = every > 0 && i % every == 0;
        x[i] = number ? (float)(i * 7 % 11) : (float)NAN;
        clean[i] = number ? x[i] : -(float)INFINITY;
    }
    int64_t found = k->top_k(x, n, skip, most, best[0], index[0]), candidates = n - (skip >= 0 && skip < n);
    ck_assert_int_eq(found, most < candidates ? most : candidates);
    ck_assert_int_eq(found, k->top_k(clean, n, skip, most, best[1], index[1]));
    for (int64_t e = 0; e < found; e++) {
        int64_t at = index[0][e];
        if (at < 0 || at >= n || at == skip || taken[at] || at != index[1][e] || best[0][e] != best[1][e]) {
            ck_abort_msg("%lld of %lld: place %lld is %lld, expected %lld", (long long)most, (long long)n, (long long)e,
                         (long long)at, (long long)index[1][e]);
        }
        taken[at] = true;
    }
}

static void check_rows_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    float x[MOST_N], y[MOST_N], z[MOST_N], mean;
    fill_f32(x, n, 1);
    fill_f32(y, n, 2);
    double sum = 0, square = 0, dot = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] += 1000; /* the deviations have lost their last digits, and are computed with what is left */
        sum += (double)x[i];
        dot += ((double)x[i] - 999.5) * (double)y[i];
    }
    for (int64_t i = 0; i < n; i++) {
        square += pow((double)x[i] - sum / (double)n, 2);
        most = fmax(most, fabs((double)y[i]));
    }
    if (n > 0) {
        close_f32(k->moments(x, n, &mean), square, 1000 * (double)n, "Σ (x - mean)²");
        close_f32(mean, sum / (double)n, 2000, "the mean");
    }
    close_f32(k->max_abs(y, n), most, 0, "the largest magnitude");
    close_f32(k->centred_dot(x, (float)999.5, y, n), dot, 2 * (double)(n + 1), "a centred product");
    memcpy(z, x, sizeof z);
    k->centred_grad(z, y, (float)0.3, 2, 1000, n);
    for (int64_t i = 0; i < n; i++) {
        close_f32(z[i], .3 * (double)y[i] + 2 * ((double)x[i] - 1000), 8, "slope y + spread (x - mean)");
    }
    k->centred_scale(z, x, 1000, 3, n);
    for (int64_t i = 0; i < n; i++) {
        close_f32(z[i], 3 * ((double)x[i] - 1000), 4, "(x - c) scale");
    }
    k->divide(z, y, 3, n);
    for (int64_t i = 0; i < n; i++) {
        ck_assert(z[i] == y[i] / 3);
    }
}

/* Distances on [0, 2), cosines on [-1, 1). */
static void check_weights_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    float d2[MOST_N] = {0}, a[MOST_N] = {0}, sep[MOST_N], coh[MOST_N], phi[MOST_N];
    float dS[MOST_N], A[MOST_N], G[MOST_N], da[MOST_N];
    const asc_pair_weights w = {.7, 1.3, .1};
    const asc_separation_grad s = {.slope = .5, .spread = .2, .mean = .3, .attention = .4, .delta = .1, .density = .6,
                                   .sep = -.7};
    fill_f32(d2, n, 1);
    fill_f32(a, n, 2);
    fill_f32(dS, n, 3);
    fill_f32(A, n, 4);
    for (int64_t i = 0; i < n; i++) {
        d2[i] += 1;
    }
    memcpy(da, a, sizeof da);
    k->pair_weights(sep, coh, phi, d2, a, n, &w);
    k->separation_grad(da, G, dS, A, phi, sep, n, &s);
    for (int64_t i = 0; i < n; i++) {
        double beyond = fmax(0, (double)a[i] - .1), near = exp(-.7 * (double)d2[i]), dphi;
        close_f32(sep[i], near, 2, "w sep");
        close_f32(coh[i], exp(-1.3 * (double)d2[i]), 2, "w coh");
        close_f32(phi[i], near * beyond, 2, "φ");
        dphi = .5 * (double)dS[i] + .2 * (near * beyond - .3) + .4 * (double)A[i];
        if (fabs((double)a[i] - .1) > 1e-6) {
            close_f32(da[i], beyond > 0 ? dphi * near : 0, 4, "da");
        }
        close_f32(G[i], -.7 * near * (dphi * beyond + .6), 4, "dd²");
    }
}

static void check_biases_f32(const asc_kernel_table_f32 *k, int64_t n)
{
    float S[MOST_N], x[3][MOST_N], old[MOST_N];
    const asc_centred bias[3] = {{.5, .1}, {-2, .2}, {3, -.3}};
    fill_f32(S, n, 1);
    memcpy(old, S, sizeof old);
    for (int b = 0; b < 3; b++) {
        fill_f32(x[b], n, 2 + (uint64_t)b);
    }
    k->add_biases(S, x[0], x[1], x[2], bias, (float)0.8, n);
    for (int64_t i = 0; i < n; i++) {
        double want = (double)old[i];
        for (int b = 0; b < 3; b++) {
            want += bias[b].coef * ((double)x[b][i] - bias[b].mean);
        }
        close_f32(S[i], .8 * want, 10, "S");
    }
}

static void check_lists_f32(const asc_kernel_table_f32 *k, int64_t n, int64_t d)
{
    float rows[20 * 70], sum[70], before[20 * 70];
    int64_t list[20];
    fill_f32(rows, 20 * 70, 1);
    for (int64_t e = 0; e < n; e++) {
        list[e] = (e * 7 + 3) % 20;
    }
    k->sum_listed(sum, rows, 70, list, n, d);
    memcpy(before, rows, sizeof rows);
    k->add_listed(rows, 70, list, n, sum, d);
    for (int64_t i = 0; i < d; i++) {
        double want = 0;
        for (int64_t e = 0; e < n; e++) {
            want += (double)before[list[e] * 70 + i];
            ck_assert(rows[list[e] * 70 + i] == before[list[e] * 70 + i] + sum[i]);
        }
        close_f32(sum[i], want, 2 * (double)(n + 1), "a sum of rows");
    }
}
/* ---- end of float ---- */
#include "tests/kernels/ascender.f64.h"
