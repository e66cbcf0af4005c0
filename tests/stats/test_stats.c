/* tests/stats/test_stats.c: the statistics against their definitions in the plainest loops, and against what they
 * promise: p values that are uniform where nothing differs, the same bits for any number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/probe.h>
#include <ascgrad/stats.h>
#include <ascgrad/tensor.h>

#include "tests/context.h"
#include "tests/draw.h"
#include "tests/faults.h"

enum { MOST = 400 };
static double a[MOST], b[MOST];
static asc_pair_stats s;

/* Scores of two systems on n items, which differ by `shift` in the mean. */
static void draw_scores(int64_t n, double shift, uint64_t seed)
{
    draw_state = seed;
    for (int64_t i = 0; i < n; i++) {
        double hard = draw_real(0, 4);
        a[i] = hard + draw_real(-1, 1) + shift;
        b[i] = hard + draw_real(-1, 1);
    }
}

static void compare(int64_t n, int64_t resamples, uint64_t seed)
{
    ck_assert_int_eq(asc_stats_pair(ctx, a, b, n, &(asc_resampling){resamples, seed}, &s), ASC_OK);
    ck_assert_int_eq(s.n, n);
}

static void is_close(double got, double want, double tolerance)
{
    ck_assert_msg(fabs(got - want) <= tolerance, "got %.17g, expected %.17g", got, want);
}

/* Values worked out by hand: of 24 that one alone gets right 2 (1 + 24 + 276 + 2024 + 10626 + 42504)/2^24 for 5; of 25
 * (|5 - 20| - 1)²/25, and erfc of the root of its half. */
START_TEST(mcnemar_is_its_definition)
{
    static const struct {
        int only_a, only_b;
        double chi2, p;
    } known[] = {{0, 0, NAN, 1},
                 {1, 0, NAN, 1},
                 {0, 6, NAN, 2. / 64},
                 {3, 4, NAN, 1},
                 {1, 7, NAN, 18. / 256},
                 {19, 5, NAN, 2 * 55455. / 16777216},
                 {5, 20, 7.84, 0.00511},
                 {13, 13, 0, 1},
                 {40, 60, 3.61, 0.05743},
                 {12, 13, 0, 1},
                 {300, 200, 19.602, 9.538e-6}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        enum { BOTH = 7, NEITHER = 3 };
        uint8_t right[2][600];
        asc_mcnemar m;
        int n = 0;
        for (int i = 0; i < BOTH + NEITHER + known[k].only_a + known[k].only_b; i++, n++) {
            int of_a = i - BOTH - NEITHER;
            right[0][n] = i < BOTH ? 2 : of_a >= 0 && of_a < known[k].only_a;
            right[1][n] = i < BOTH || of_a >= known[k].only_a;
        }
        ck_assert_int_eq(asc_stats_mcnemar(ctx, right[0], right[1], n, &m), ASC_OK);
        ck_assert(m.both == BOTH && m.neither == NEITHER && m.only_a == known[k].only_a && m.only_b == known[k].only_b);
        ck_assert(isnan(m.chi2) == isnan(known[k].chi2));
        if (!isnan(m.chi2)) {
            is_close(m.chi2, known[k].chi2, 1e-12);
        }
        is_close(m.p, known[k].p, isnan(m.chi2) ? 1e-15 : 5e-4 * known[k].p);
    }
    asc_mcnemar m;
    uint8_t one = 1;
    ck_assert_int_eq(asc_stats_mcnemar(ctx, &one, &one, 0, &m), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "n is 0, expected at least 1");
}
END_TEST

START_TEST(effect_sizes_are_their_definitions)
{
    enum { N = 50 };
    draw_scores(N, .3, 1);
    a[7] = b[9]; /* a tie */
    compare(N, 100, 1);
    double mean_a = 0, mean_b = 0, var_a = 0, var_b = 0, var_d = 0, cliff = 0;
    for (int i = 0; i < N; i++) {
        mean_a += a[i] / N;
        mean_b += b[i] / N;
    }
    for (int i = 0; i < N; i++) {
        double d = a[i] - b[i] - (mean_a - mean_b);
        var_a += (a[i] - mean_a) * (a[i] - mean_a) / (N - 1);
        var_b += (b[i] - mean_b) * (b[i] - mean_b) / (N - 1);
        var_d += d * d / (N - 1);
        for (int j = 0; j < N; j++) {
            cliff += (a[i] > b[j]) - (a[i] < b[j]);
        }
    }
    is_close(s.mean_a, mean_a, 1e-13);
    is_close(s.mean_b, mean_b, 1e-13);
    is_close(s.difference, mean_a - mean_b, 1e-13);
    is_close(s.cohen_dz, (mean_a - mean_b) / sqrt(var_d), 1e-12);
    is_close(s.cohen_d, (mean_a - mean_b) / sqrt((var_a + var_b) / 2), 1e-12);
    is_close(s.cliff_delta, cliff / (N * N), 1e-15);
}
END_TEST

START_TEST(few_items_are_enumerated)
{
    for (int64_t n = 1; n <= 12; n++) {
        draw_scores(n, .5, (uint64_t)n);
        compare(n, 1000, 1);
        int far = 0;
        for (int pattern = 0; pattern < 1 << n; pattern++) {
            long double sum = 0, own = 0;
            for (int i = 0; i < n; i++) {
                long double d = (long double)a[i] - b[i];
                sum += pattern >> i & 1 ? -d : d;
                own += d;
            }
            far += fabsl(sum) >= fabsl(own) * (1 - 1e-12L);
        }
        ck_assert_double_eq(s.p_randomization, (double)far / (1 << n));
    }
}
END_TEST

/* Two-sided p of the normal distribution, which the tests come near to with many items. */
START_TEST(tests_agree_with_the_normal_distribution)
{
    for (int i = 0; i < 4; i++) {
        draw_scores(MOST, .02 * i, 5);
        compare(MOST, 20000, 3);
        double z = fabs(s.cohen_dz) * sqrt(MOST), p = erfc(z / sqrt(2)), error = s.difference / s.cohen_dz / sqrt(MOST);
        double noise = 4 * sqrt(p * (1 - p) / 20000) + .004;
        is_close(s.p_bootstrap, p, noise);
        is_close(s.p_randomization, p, noise);
        is_close(s.ci_low, s.difference - 1.96 * error, .05 * error);
        is_close(s.ci_high, s.difference + 1.96 * error, .05 * error);
    }
}
END_TEST

static int rising(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

/* Scores that change places at random, item by item: p is uniform (Kolmogorov and Smirnov, 1 % level). */
START_TEST(p_is_uniform_without_a_difference)
{
    enum { CASES = 300, N = 60 };
    static double p[2][CASES];
    for (int c = 0; c < CASES; c++) {
        draw_scores(N, .4, (uint64_t)c + 1);
        for (int i = 0; i < N; i++) {
            if (draw(2)) {
                double kept = a[i];
                a[i] = b[i];
                b[i] = kept;
            }
        }
        compare(N, 1000, (uint64_t)c);
        p[0][c] = s.p_randomization;
        p[1][c] = s.p_bootstrap;
    }
    for (int test = 0; test < 2; test++) {
        qsort(p[test], CASES, sizeof *p[test], rising);
        double most = 0;
        for (int c = 0; c < CASES; c++) {
            most = fmax(most, fmax(p[test][c] - (double)c / CASES, (double)(c + 1) / CASES - p[test][c]));
        }
        ck_assert_msg(most < 1.63 / sqrt(CASES), "test %d: %g from uniform", test, most);
    }
}
END_TEST

START_TEST(what_does_not_differ)
{
    draw_scores(100, 0, 3);
    memcpy(b, a, sizeof a);
    compare(100, 500, 1);
    ck_assert(s.difference == 0 && s.p_bootstrap == 1 && s.p_randomization == 1 && s.ci_low == 0 && s.ci_high == 0);
    ck_assert(isnan(s.cohen_dz) && s.cohen_d == 0 && s.cliff_delta == 0);
    for (int i = 0; i < 100; i++) {
        b[i] = a[i] - .1; /* the same difference, but for rounding */
    }
    compare(100, 500, 1);
    ck_assert(isnan(s.cohen_dz) && s.p_randomization == 1. / 501);
    compare(1, 500, 1);
    ck_assert(isnan(s.cohen_dz) && isnan(s.cohen_d) && s.p_randomization == 1);
}
END_TEST

/* The differences are 1e-4, -1e-4 and 2e-4, and rounded as those of numbers near 4: of eight patterns of signs six have
 * a mean as far from 0. */
START_TEST(ties_are_ties_whatever_the_rounding)
{
    memcpy(a, (double[]){3.0102, 5.1300, 4.2003}, 3 * sizeof *a);
    memcpy(b, (double[]){3.0101, 5.1301, 4.2001}, 3 * sizeof *b);
    compare(3, 500, 1);
    ck_assert_double_eq(s.p_randomization, .75);
}
END_TEST

/* Both have the same huge item, which takes none of the other differences away; equal differences have no spread. */
START_TEST(exact_differences_stay)
{
    for (int i = 0; i < 20; i++) {
        a[i] = i ? i : 1e15;
        b[i] = i ? i - 1 : 1e15;
    }
    compare(20, 10000, 1);
    ck_assert(s.p_bootstrap < 1e-3 && s.p_randomization < 1e-3 && s.cohen_dz > 4);
    for (int i = 0; i < 100; i++) {
        a[i] = .1;
        b[i] = 0;
    }
    compare(100, 500, 1);
    ck_assert(s.ci_low == .1 && s.ci_high == .1 && s.p_bootstrap == 1. / 501);
}
END_TEST

START_TEST(what_no_double_holds_is_refused)
{
    static const double high[] = {1e308, 1e308}, low[] = {-1e308, -1e308}, apart[] = {1e200, -1e200};
    double std, from, to;
    ck_assert_int_eq(asc_stats_pair(ctx, high, low, 2, NULL, &s), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_pair: values of a and b are farther apart than a double holds");
    asc_error_clear(ctx);
    ck_assert(isnan(asc_stats_mean(ctx, (const double[]){1e308, -1e308}, 2, NULL)));
    expect_error(ASC_ERR_ARG, "stats_mean: x's values are farther apart than a double holds");
    asc_error_clear(ctx);
    ck_assert(asc_stats_mean(ctx, apart, 2, &std) == 0 && isinf(std)); /* its square is more */
    ck_assert_int_eq(asc_stats_interval(ctx, apart, 2, .9, &from, &to), ASC_OK);
    ck_assert(isinf(from) && isinf(to));
}
END_TEST

START_TEST(same_for_any_threads)
{
    draw_scores(MOST, .1, 9);
    compare(MOST, 3000, 7);
    asc_pair_stats one = s;
    for (int threads = 1; threads <= 7; threads += 3) {
        heap own = {.fail_at = NEVER};
        asc_ctx *outer = ctx;
        ctx = context_on(&own, threads);
        compare(MOST, 3000, 7);
        ck_assert(memcmp(&one, &s, sizeof s) == 0);
        asc_ctx_free(ctx);
        ctx = outer;
    }
    compare(MOST, 3000, 8);
    ck_assert(s.p_bootstrap != one.p_bootstrap);
}
END_TEST

START_TEST(holm_steps_down)
{
    double p[] = {.01, .04, .03, .005, 1, .3}, adjusted[6];
    static const double want[] = {.05, .12, .12, .03, 1, .6};
    ck_assert_int_eq(asc_stats_holm(ctx, p, 6, adjusted), ASC_OK);
    for (int i = 0; i < 6; i++) {
        is_close(adjusted[i], want[i], 1e-15);
    }
    ck_assert_int_eq(asc_stats_holm(ctx, p, 6, p), ASC_OK);
    ck_assert(memcmp(p, adjusted, sizeof p) == 0);
    ck_assert_int_eq(asc_stats_holm(ctx, NULL, 0, NULL), ASC_OK);
}
END_TEST

START_TEST(smoothing_begins_where_the_values_do)
{
    double x[] = {4, 2, 2, 8}, y[4];
    ck_assert_int_eq(asc_stats_smooth(ctx, x, 4, .5, y), ASC_OK);
    is_close(y[0], 4, 1e-15);
    is_close(y[1], (4 + 2 * 2) / 3., 1e-15);
    is_close(y[3], (4 + 2 * 2 + 4 * 2 + 8 * 8) / 15., 1e-15);
    ck_assert_int_eq(asc_stats_smooth(ctx, x, 4, 0, x), ASC_OK);
    ck_assert(x[3] == 8);
    ck_assert_int_eq(asc_stats_smooth(ctx, x, 4, 1, y), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_smooth: weight is 1, expected 0 or more and below 1");
}
END_TEST

START_TEST(bands_stand_where_all_curves_do)
{
    static const double ax[] = {0, 10, 20}, ay[] = {4, 2, 2}, bx[] = {5, 5, 15}, by[] = {1, 3, 5};
    const asc_curve curves[] = {{ax, ay, 3}, {bx, by, 3}};
    double mean[5], std[5];
    ck_assert_int_eq(asc_stats_band(ctx, curves, 2, (const double[]){0, 5, 10, 15, 20}, 5, mean, std), ASC_OK);
    ck_assert(isnan(mean[0]) && isnan(mean[4]) && isnan(std[4]));
    is_close(mean[1], 3, 1e-15); /* of two points at one place the later one */
    is_close(mean[2], 3, 1e-15); /* 2 and 4 */
    is_close(std[2], sqrt(2), 1e-15);
    is_close(mean[3], 3.5, 1e-15);
    ck_assert_int_eq(asc_stats_band(ctx, curves, 1, ax, 3, mean, std), ASC_OK);
    ck_assert(mean[1] == 2 && isnan(std[1]));
    const asc_curve back = {by, ay, 2}, wrong = {ay, by, 2};
    ck_assert_int_eq(asc_stats_band(ctx, &back, 1, ax, 0, NULL, NULL), ASC_OK);
    ck_assert_int_eq(asc_stats_band(ctx, &wrong, 1, ax, 3, mean, std), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_band: x[1] of curve 0 is 2 after 4, expected to rise");
}
END_TEST

START_TEST(fronts_are_what_nothing_beats)
{
    static const double cost[] = {1, 2, 3, 2, 1, 4}, loss[] = {9, 5, 5, 5, 9.5, 1};
    uint8_t on[6];
    ck_assert_int_eq(asc_stats_front(ctx, cost, loss, 6, on), ASC_OK);
    ck_assert(memcmp(on, (const uint8_t[]){1, 1, 0, 1, 0, 1}, sizeof on) == 0);
}
END_TEST

START_TEST(bins_are_closed_above)
{
    static const double confidence[] = {0, .2, .2000001, .4, 1};
    static const uint8_t correct[] = {0, 1, 1, 0, 1};
    double ece, accuracy;
    ck_assert_int_eq(asc_stats_calibration(ctx, confidence, correct, 5, 5, &ece, &accuracy), ASC_OK);
    is_close(accuracy, .6, 1e-15);
    is_close(ece, (fabs(1 - .2) + fabs(1 - .6000001) + 0) / 5, 1e-12); /* {0, .2}, {.2000001, .4}, {1} */
}
END_TEST

/* From the table of both labels, by the formulas. */
START_TEST(clusters_of_huge_values)
{
    int64_t cluster[2] = {-7, -7};
    ck_assert_int_eq(asc_kmeans(ctx, (double[]){1e200, -1e200}, 2, 1, 1, NULL, cluster, NULL), ASC_OK);
    ck_assert(cluster[0] == 0 && cluster[1] == 0);
}
END_TEST

START_TEST(clusters_are_their_definitions)
{
    enum { N = 200, X = 4, Y = 5 };
    int64_t x[N], y[N];
    double table[X][Y] = {{0}}, rows[X] = {0}, columns[Y] = {0}, hx = 0, hy = 0, mutual = 0, both = 0, px = 0, py = 0;
    draw_state = 4;
    for (int i = 0; i < N; i++) {
        x[i] = draw(X);
        y[i] = draw(3) ? x[i] : draw(Y);
        table[x[i]][y[i]]++;
        rows[x[i]]++;
        columns[y[i]]++;
    }
    for (int i = 0; i < X; i++) {
        hx -= rows[i] / N * log(rows[i] / N);
        px += rows[i] * (rows[i] - 1) / 2;
        for (int j = 0; j < Y; j++) {
            mutual += table[i][j] > 0 ? table[i][j] / N * log(table[i][j] * N / (rows[i] * columns[j])) : 0;
            both += table[i][j] * (table[i][j] - 1) / 2;
        }
    }
    for (int j = 0; j < Y; j++) {
        hy -= columns[j] / N * log(columns[j] / N);
        py += columns[j] * (columns[j] - 1) / 2;
    }
    double expected = px * py / (N * (N - 1) / 2.), nmi, ari;
    ck_assert_int_eq(asc_stats_clusters(ctx, x, y, N, &nmi, &ari), ASC_OK);
    is_close(nmi, mutual / ((hx + hy) / 2), 1e-12);
    is_close(ari, (both - expected) / ((px + py) / 2 - expected), 1e-12);
    for (int i = 0; i < N; i++) {
        y[i] = 100 - 7 * x[i]; /* other names */
    }
    ck_assert_int_eq(asc_stats_clusters(ctx, x, y, N, &nmi, &ari), ASC_OK);
    ck_assert(nmi == 1 && ari == 1);
    memset(y, 0, sizeof y);
    ck_assert_int_eq(asc_stats_clusters(ctx, x, y, N, &nmi, &ari), ASC_OK);
    ck_assert(fabs(nmi) < 1e-12 && fabs(ari) < 1e-12);
    ck_assert_int_eq(asc_stats_clusters(ctx, y, y, N, &nmi, &ari), ASC_OK);
    ck_assert(nmi == 1 && ari == 1);
}
END_TEST

START_TEST(means_and_deviations)
{
    static const double x[] = {3, 5, 10};
    double std;
    is_close(asc_stats_mean(ctx, x, 3, &std), 6, 1e-15);
    is_close(std, sqrt(13), 1e-15);
    ck_assert(asc_stats_mean(ctx, x, 1, &std) == 3 && isnan(std));
    is_close(asc_stats_mean(ctx, x, 2, NULL), 4, 1e-15);
}
END_TEST

/* Quantiles of Student's t as tables have them: of values 1 and -1 in turn, and a mean of 0. */
START_TEST(intervals_of_means)
{
    static const struct {
        int64_t n;
        double p, t;
    } known[] = {{2, .95, 12.7062047362}, {3, .95, 4.3026527297},  {4, .95, 3.1824463053},  {6, .95, 2.5705818356},
                 {11, .99, 3.1692726726}, {30, .9, 1.6991270265}, {61, .95, 2.0002978220}, {1000, .95, 1.9623414611}};
    double x[1000], low, high, std;
    for (int i = 0; i < 1000; i++) {
        x[i] = i % 2 ? 1 : -1;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int64_t n = known[i].n;
        double mean = asc_stats_mean(ctx, x, n, &std);
        ck_assert_int_eq(asc_stats_interval(ctx, x, n, known[i].p, &low, &high), ASC_OK);
        is_close((high - low) / 2 / std * sqrt((double)n), known[i].t, 1e-8);
        ck_assert(fabs((low + high) / 2 - mean) < 1e-14);
    }
    ck_assert_int_eq(asc_stats_interval(ctx, x, 1, .95, &low, &high), ASC_OK);
    ck_assert(isnan(low) && isnan(high));
    ck_assert_int_eq(asc_stats_interval(ctx, x, 2, 1, &low, &high), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_interval: p: got 1, expected a probability between 0 and 1");
}
END_TEST

START_TEST(wrong_arguments_are_named)
{
    double nan[] = {1, NAN}, one[] = {1, 2}, x;
    int64_t labels[] = {1};
    ck_assert_int_eq(asc_stats_pair(ctx, one, nan, 2, NULL, &s), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_pair: b[1] is nan, expected a finite number");
    ck_assert_int_eq(asc_stats_pair(ctx, one, one, 0, NULL, &s), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_pair: a has 0 values, expected 1 to 2147483647");
    ck_assert_int_eq(asc_stats_pair(ctx, NULL, one, 2, NULL, &s), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_pair: a is NULL");
    ck_assert_int_eq(asc_stats_pair(ctx, one, one, 2, &(asc_resampling){-1, 0}, &s), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_pair: resamples is -1, expected 0 (10,000) to 1e9");
    ck_assert_int_eq(asc_stats_holm(ctx, one, 2, one), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_holm: p[1] is 2, expected 0 to 1");
    ck_assert_int_eq(asc_stats_calibration(ctx, one, (const uint8_t[]){1, 1}, 2, 15, &x, &x), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_calibration: confidence[1] is 2, expected 0 to 1");
    ck_assert_int_eq(asc_stats_clusters(ctx, labels, NULL, 1, &x, &x), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "stats_clusters: y is NULL");
    ck_assert(isnan(asc_stats_mean(ctx, nan, 2, NULL)));
    expect_error(ASC_ERR_ARG, "stats_mean: x[1] is nan, expected a finite number");
}
END_TEST

static bool go_no_further(void *user)
{
    (void)user;
    return false;
}

START_TEST(what_is_interrupted_says_so)
{
    draw_scores(MOST, .1, 9);
    s.n = 0;
    asc_set_interrupt(ctx, go_no_further, NULL);
    ck_assert_int_eq(asc_stats_pair(ctx, a, b, MOST, NULL, &s), ASC_ERR_INTERRUPTED);
    expect_error(ASC_ERR_INTERRUPTED, "interrupted");
    ck_assert_int_eq(s.n, 0);
}
END_TEST

static void all_functions(asc_ctx *on)
{
    double adjusted[20];
    int64_t labels[20];
    double x, y;
    for (int i = 0; i < 20; i++) {
        labels[i] = i % 3;
        adjusted[i] = i / 20.;
    }
    draw_scores(20, 0, 1);
    (void)(asc_stats_pair(on, a, b, 20, &(asc_resampling){100, 0}, &s) || asc_stats_holm(on, adjusted, 20, adjusted) ||
           asc_stats_calibration(on, adjusted, (const uint8_t[20]){0}, 20, 15, &x, &y) ||
           asc_stats_clusters(on, labels, labels, 20, &x, &y));
}

START_TEST(any_allocation_may_fail)
{
    for (int64_t at = 0;; at++) {
        heap own = {.fail_at = NEVER};
        asc_ctx *on = context_on(&own, 2);
        own.fail_at = own.calls + at;
        all_functions(on);
        asc_status status = asc_error(on);
        asc_ctx_free(on);
        expect_empty(&own);
        if (!status) {
            ck_assert_int_ge(at, 5);
            break;
        }
        ck_assert_int_eq(status, ASC_ERR_MEMORY);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("stats");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, mcnemar_is_its_definition);
    tcase_add_test(t, effect_sizes_are_their_definitions);
    tcase_add_test(t, few_items_are_enumerated);
    tcase_add_test(t, tests_agree_with_the_normal_distribution);
    tcase_add_test(t, p_is_uniform_without_a_difference);
    tcase_add_test(t, what_does_not_differ);
    tcase_add_test(t, ties_are_ties_whatever_the_rounding);
    tcase_add_test(t, exact_differences_stay);
    tcase_add_test(t, what_no_double_holds_is_refused);
    tcase_add_test(t, same_for_any_threads);
    tcase_add_test(t, holm_steps_down);
    tcase_add_test(t, smoothing_begins_where_the_values_do);
    tcase_add_test(t, bands_stand_where_all_curves_do);
    tcase_add_test(t, fronts_are_what_nothing_beats);
    tcase_add_test(t, bins_are_closed_above);
    tcase_add_test(t, clusters_are_their_definitions);
    tcase_add_test(t, clusters_of_huge_values);
    tcase_add_test(t, means_and_deviations);
    tcase_add_test(t, intervals_of_means);
    tcase_add_test(t, wrong_arguments_are_named);
    tcase_add_test(t, what_is_interrupted_says_so);
    tcase_add_test(t, any_allocation_may_fail);
    return run_suite("stats", t);
}
