/* tests/ops/test_rotary.c: rotary positions against plain loops. */
#include "tests/ops/values.h"

static double angle_of(int64_t i, int64_t m, int64_t d)
{
    return (double)i * pow(10000, -2 * (double)m / (double)d);
}

START_TEST(pairs_are_turned)
{
    enum { B = 2, N = 5, H = 3, D = 6, HALF = D / 2 };
    static const int64_t starts[] = {0, 7, 100000};
    for (size_t s = 0; s < 3; s++) {
        asc_tensor x = random_leaf(floats[_i], s, ASC_SHAPE(B, N, H * D)), y = asc_rotary(ctx, x, H, starts[s]);
        asc_tensor dy = run_backward(y);
        for (int64_t i = 0; i < B * N * H * HALF; i++) {
            int64_t m = i % HALF, row = i / HALF, position = row / H % N, first = row * D + m, second = first + HALF;
            double angle = angle_of(starts[s] + position, m, D), c = cos(angle), sn = sin(angle);
            expect_close(y, first, value(x, first) * c - value(x, second) * sn, 3);
            expect_close(y, second, value(x, second) * c + value(x, first) * sn, 3);
            expect_close(asc_grad(x), first, value(dy, first) * c + value(dy, second) * sn, 3);
            expect_close(asc_grad(x), second, value(dy, second) * c - value(dy, first) * sn, 3);
        }
    }
}
END_TEST

/* The score of two turned vectors depends on their distance alone. */
START_TEST(scores_are_relative)
{
    enum { D = 8 };
    asc_tensor q = random_leaf(ASC_F64, 1, ASC_SHAPE(1, 1, D)), k = random_leaf(ASC_F64, 2, ASC_SHAPE(1, 1, D));
    double score[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        asc_tensor tq = asc_rotary(ctx, q, 1, 5 + 1000 * i), tk = asc_rotary(ctx, k, 1, 2 + 1000 * i);
        for (int64_t m = 0; m < D; m++) {
            score[i] += value(tq, m) * value(tk, m);
        }
    }
    ck_assert_double_eq_tol(score[0], score[1], 1e-11);
}
END_TEST

START_TEST(wrong_calls)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3, 6));
    expect_failure(asc_rotary(ctx, x, 2, 0), "rotary: x is f32 (2, 3, 6), expected (B, N, H d) with H = 2 and d even");
    expect_failure(asc_rotary(ctx, x, 0, 0), "rotary: x is f32 (2, 3, 6), expected (B, N, H d) with H = 0 and d even");
    expect_failure(asc_rotary(ctx, x, INT64_MAX, 0),
                   "rotary: x is f32 (2, 3, 6), expected (B, N, H d) with H = 9223372036854775807 and d even");
    expect_failure(asc_rotary(ctx, asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 3, 6)), 1, 0),
                   "rotary: x is i64 (2, 3, 6), expected f32 or f64");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rotary");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, pairs_are_turned, 0, 2);
    tcase_add_test(t, scores_are_relative);
    tcase_add_test(t, wrong_calls);
    return run_suite("ops/rotary", t);
}
