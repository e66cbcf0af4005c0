/* tests/kernels/test_kernels.c: the row primitives: accuracy and formulas. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tensor/random.h"
#include "tests/kernels/functions.h"

enum { MOST = 1100 };
static const int64_t sizes[] = {0, 1, 2, 5, 16, 31, 32, 33, 64, 100, 513, 1025};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Check notes each of its assertions in a file: too slow for one per element. */
static void require(bool holds, const char *what)
{
    if (!holds) {
        ck_abort_msg("%s is wrong", what);
    }
}

/* Three steps of AdamW and SGD with momentum on p = 1.5 (check_optimisers), computed with 40 digits. */
#define ADAMW_P 1.489061708188812916L
#define ADAMW_M 0.095124999999999977157L
#define ADAMW_V 0.0040770937656250036203L
#define SGD_P   1.4896994472499999993L
#define SGD_M   1.3578302750000000146L

#define TOL_f32 1e-6L
#define TOL_f64 4e-15L
#include "tests/kernels/cases.h"

/* ---- the choice of the instruction set ---- */

START_TEST(isa_is_held_down)
{
    ck_assert_int_eq(asc_isa_choose(NULL, ASC_ISA_AVX2), ASC_ISA_AVX2);
    ck_assert_int_eq(asc_isa_choose("plain", ASC_ISA_AVX512), ASC_ISA_PLAIN);
    ck_assert_int_eq(asc_isa_choose("avx2", ASC_ISA_AVX512), ASC_ISA_AVX2);
    ck_assert_int_eq(asc_isa_choose("avx512", ASC_ISA_AVX512), ASC_ISA_AVX512);
    ck_assert_int_eq(asc_isa_choose("avx512", ASC_ISA_AVX2), ASC_ISA_AVX2);
    ck_assert_int_eq(asc_isa_choose("sse9", ASC_ISA_AVX2), ASC_ISA_AVX2);
    ck_assert_int_eq(asc_isa_choose("", ASC_ISA_PLAIN), ASC_ISA_PLAIN);
    ck_assert_str_eq(asc_isa_name(ASC_ISA_PLAIN), "plain");
    ck_assert_str_eq(asc_isa_name(ASC_ISA_AVX512), "avx512");
}
END_TEST

START_TEST(isa_of_the_environment_is_used)
{
    setenv("ASCGRAD_ISA", asc_isa_name((enum asc_isa)_i), 1);
    enum asc_isa best = asc_isa_best(), want = (enum asc_isa)_i < best ? (enum asc_isa)_i : best;
    ck_assert_int_eq(asc_isa_active(), want);
    ck_assert_ptr_eq(asc_kernels_f32(), asc_kernels_f32_of(want));
    ck_assert_ptr_eq(asc_kernels_f64(), asc_kernels_f64_of(want));
    ck_assert_ptr_nonnull(asc_kernels_f32());
}
END_TEST

/* ---- accuracy ---- */

enum { ROWS = 14 }; /* the functions that are row primitives come first */

/* Float by float in the order of their bits, one in 1009; `make check-all-floats` leaves none out. */
START_TEST(functions_are_within_their_limits)
{
    const function *f = &functions[_i];
    float x[1024], y[1024];
    uint64_t bits = 0;
    while (bits < (uint64_t)1 << 32) {
        int n = 0;
        for (; n < 1024 && bits < (uint64_t)1 << 32; n++, bits += 1009) {
            uint32_t word = (uint32_t)bits;
            memcpy(x + n, &word, sizeof word);
        }
        f->row(asc_kernels_f32(), y, x, n);
        for (int i = 0; i < n; i++) {
            double want = f->exact(x[i]), error = error_ulp(f, y[i], want);
            if (!(error <= error_limit(f))) {
                ck_abort_msg("%s(%a) is %a, not %a", f->name, (double)x[i], (double)y[i], want);
            }
        }
    }
}
END_TEST

START_TEST(functions_at_their_ends)
{
    const float x[] = {0.0f,         -0.0f,        INFINITY,    -INFINITY,   NAN,         -NAN,         1e-45f,
                       -1e-45f,      88.7228317f,  88.7228394f, 88.7229f,    -80.0f,      -80.0000076f, -87.3365402f,
                       -87.3365479f, -87.33656f,   -103.9f,     -103.97208f, -104.0f,     3.4e38f,      -3.4e38f,
                       -13.5f,       -14.1f,       -10.2f,      -10.3f,      -108.0f,     -110.0f,     -1.0f,
                       -0.99999994f, 1e-39f,       1.0f,        1.00000012f, 0x1p24f,     0x1p-126f,   -1e-9f};
    enum { N = sizeof x / sizeof *x };
    const function *f = &functions[_i];
    float y[N];
    double w[N];
    f->row(asc_kernels_f32(), y, x, N);
    for (int i = 0; i < N; i++) {
        double want = f->exact(x[i]);
        ck_assert_msg(error_ulp(f, y[i], want) <= error_limit(f), "%s(%a) is %a", f->name, (double)x[i], (double)y[i]);
        ck_assert_msg(isnan(want) || !signbit(y[i]) == !signbit(want), "%s(%a) has the wrong sign", f->name,
                      (double)x[i]);
        w[i] = x[i];
    }
    if (f->wide) {
        f->wide(asc_kernels_f64(), w, w, N);
    }
    for (int i = 0; f->wide && i < N; i++) {
        double want = f->exact(x[i]);
        ck_assert_msg(isnan(want) ? isnan(w[i]) : w[i] == want || fabs(w[i] - want) <= 1e-13 * fabs(want),
                      "%s(%a) is %a in double", f->name, (double)x[i], w[i]);
    }
}
END_TEST

START_TEST(gelu_grad_is_the_derivative)
{
    enum { N = 4000 };
    static float x[N], dy[N], dx[N];
    static double wide[N], wide_dy[N], wide_dx[N];
    for (int i = 0; i < N; i++) {
        wide[i] = x[i] = (float)(i - N / 2) * 0.01f;
        wide_dy[i] = dy[i] = 1 + (float)i / N;
        wide_dx[i] = dx[i] = 0.5f;
    }
    asc_kernels_f32()->gelu_grad(dx, x, dy, N, false);
    asc_kernels_f64()->gelu_grad(wide_dx, wide, wide_dy, N, false);
    for (int i = 0; i < N; i++) {
        double density = exp(-0.5 * wide[i] * wide[i]) * 0.3989422804014327;
        double slope = 0.5 * erfc(-wide[i] * 0.70710678118654752440) + wide[i] * density;
        require(fabs(wide_dx[i] - 0.5 - wide_dy[i] * slope) <= 1e-15, "gelu_grad in double");
        require(fabs(dx[i] - 0.5 - dy[i] * slope) <= 4e-7, "gelu_grad");
    }
    const float end[3] = {INFINITY, -INFINITY, NAN}, one[3] = {1, 1, 1};
    const double wide_end[3] = {INFINITY, -INFINITY, NAN}, wide_one[3] = {1, 1, 1};
    asc_kernels_f32()->gelu_grad(dx, end, one, 3, true);
    asc_kernels_f64()->gelu_grad(wide_dx, wide_end, wide_one, 3, true);
    ck_assert(dx[0] == 1 && fabsf(dx[1]) < 1e-30f && isnan(dx[2]));
    ck_assert(wide_dx[0] == 1 && wide_dx[1] == 0 && isnan(wide_dx[2]));
}
END_TEST

/* ---- formulas ---- */

START_TEST(rows_follow_their_formulas)
{
    const int64_t n = sizes[_i];
    check_sums_f32(asc_kernels_f32(), n);
    check_sums_f64(asc_kernels_f64(), n);
    check_vectors_f32(asc_kernels_f32(), n);
    check_vectors_f64(asc_kernels_f64(), n);
    check_gelu_both_f32(asc_kernels_f32(), n);
    check_gelu_both_f64(asc_kernels_f64(), n);
    check_logit_loss_f32(asc_kernels_f32(), n);
    check_logit_loss_f64(asc_kernels_f64(), n);
    check_wide_f32(asc_kernels_f32(), n);
    check_wide_f64(asc_kernels_f64(), n);
    check_softmax_f32(asc_kernels_f32(), n);
    check_softmax_f64(asc_kernels_f64(), n);
    for (int variant = 0; n > 0 && variant < 4; variant++) {
        check_layer_norm_f32(asc_kernels_f32(), n, variant & 1, variant & 2);
        check_layer_norm_f64(asc_kernels_f64(), n, variant & 1, variant & 2);
    }
}
END_TEST

START_TEST(choices_and_ends)
{
    check_choices_f32(asc_kernels_f32());
    check_choices_f64(asc_kernels_f64());
    check_smooth_l1_f32(asc_kernels_f32());
    check_smooth_l1_f64(asc_kernels_f64());
    check_clamp_f32(asc_kernels_f32());
    check_clamp_f64(asc_kernels_f64());
    check_slopes_f32(asc_kernels_f32());
    check_slopes_f64(asc_kernels_f64());
    check_circle_f32(asc_kernels_f32());
    check_circle_f64(asc_kernels_f64());
    check_powers_f32(asc_kernels_f32());
    check_powers_f64(asc_kernels_f64());
}
END_TEST

START_TEST(rows_at_their_ends)
{
    check_softmax_masked_f32(asc_kernels_f32());
    check_softmax_masked_f64(asc_kernels_f64());
    check_optimisers_f32(asc_kernels_f32());
    check_optimisers_f64(asc_kernels_f64());
}
END_TEST

/* ---- random numbers ---- */

/* The known answers that its authors publish with Random123. */
START_TEST(philox_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t words[4];
        asc_philox(known[i].key, known[i].counter, words);
        ck_assert_mem_eq(words, known[i].answer, sizeof words);
    }
    uint32_t words[4];
    asc_kernels_f32()->philox_bits(words, 4, (asc_philox_key){0, 0}, 0);
    ck_assert_mem_eq(words, known[0].answer, sizeof words);
}
END_TEST

START_TEST(philox_bits_are_the_sequence)
{
    static const uint64_t offsets[] = {0, 1, 2, 3, 4, 30, 0x3FFFFFFF8, 0x3FFFFFFFFFFFFFF0};
    const asc_philox_key key = {0x0123456789abcdef, 0xfedcba9876543210};
    const uint32_t seed[2] = {0x89abcdef, 0x01234567};
    const asc_kernel_table_f32 *k = asc_kernels_f32_of((enum asc_isa)_i);
    for (size_t o = 0; k && _i <= (int)asc_isa_best() && o < sizeof offsets / sizeof *offsets; o++) {
        for (int64_t n = 0; n < 80; n++) {
            uint32_t words[81] = {0};
            words[n] = 77;
            k->philox_bits(words, n, key, offsets[o]);
            ck_assert_uint_eq(words[n], 77); /* not a word too many */
            for (int64_t i = 0; i < n; i++) {
                uint64_t at = offsets[o] + (uint64_t)i, block = at / 4;
                uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0x76543210, 0xfedcba98}, want[4];
                asc_philox(seed, counter, want);
                require(words[i] == want[at % 4], "philox_bits");
            }
        }
    }
}
END_TEST

START_TEST(dropout_keeps_what_the_sequence_says)
{
    for (uint64_t offset = 0; offset < 6; offset++) {
        for (int i = 0; i < SIZES; i++) {
            check_dropout_f32(asc_kernels_f32(), offset, sizes[i], 0.1);
            check_dropout_f64(asc_kernels_f64(), offset, sizes[i], 0.5);
        }
    }
}
END_TEST

START_TEST(dropout_ends_and_rate)
{
    enum { N = 40000 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = 1;
    }
    x[7] = INFINITY;
    asc_kernels_f32()->dropout(y, x, N, (asc_philox_key){1, 2}, 0, 0);
    ck_assert(memcmp(x, y, sizeof x) == 0);
    asc_kernels_f32()->dropout(y, x, N, (asc_philox_key){1, 2}, 0, 1);
    for (int i = 0; i < N; i++) {
        require(y[i] == 0, "dropout of everything");
    }
    x[7] = 1;
    asc_kernels_f32()->dropout(y, x, N, (asc_philox_key){1, 2}, 0, 0.1);
    int kept = 0;
    for (int i = 0; i < N; i++) {
        kept += y[i] != 0;
    }
    ck_assert_int_lt(abs(kept - 36000), 5 * 60); /* five deviations */
}
END_TEST

/* ---- the same bits on every instruction set ---- */

START_TEST(instruction_sets_agree_on_functions)
{
    enum { N = 4096 };
    static float x[N], plain[N], wide[N];
    uint32_t word = 0;
    for (int piece = 0; piece < 16; piece++) {
        for (int i = 0; i < N; i++, word += 65521) { /* over all of the floats */
            memcpy(x + i, &word, sizeof word);
        }
        functions[_i].row(asc_kernels_f32_of(ASC_ISA_PLAIN), plain, x, N);
        for (int isa = ASC_ISA_AVX2; isa <= (int)asc_isa_best(); isa++) {
            functions[_i].row(asc_kernels_f32_of((enum asc_isa)isa), wide, x, N);
            for (int i = 0; i < N; i++) {
                require(isnan(plain[i]) ? isnan(wide[i]) : memcmp(plain + i, wide + i, sizeof *x) == 0,
                        functions[_i].name);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels");
    TCase *choice = tcase_create("instruction sets"), *math = tcase_create("functions"), *rows = tcase_create("rows");
    tcase_add_test(choice, isa_is_held_down);
    tcase_add_loop_test(choice, instruction_sets_agree_on_functions, 0, ROWS);
    tcase_add_loop_test(math, functions_are_within_their_limits, 0, ROWS);
    tcase_add_loop_test(math, functions_at_their_ends, 0, ROWS);
    tcase_add_test(math, gelu_grad_is_the_derivative);
    tcase_set_timeout(math, 60);
    tcase_add_loop_test(rows, rows_follow_their_formulas, 0, SIZES);
    tcase_add_test(rows, choices_and_ends);
    tcase_add_test(rows, rows_at_their_ends);
    tcase_add_test(rows, philox_known_answers);
    tcase_add_loop_test(rows, philox_bits_are_the_sequence, 0, ASC_ISA_COUNT);
    tcase_add_test(rows, dropout_keeps_what_the_sequence_says);
    tcase_add_test(rows, dropout_ends_and_rate);
    suite_add_tcase(suite, choice);
    suite_add_tcase(suite, math);
    suite_add_tcase(suite, rows);
    SRunner *runner = srunner_create(suite);
    if (srunner_fork_status(runner) == CK_FORK) { /* the variable is read once in a process */
        tcase_add_loop_test(choice, isa_of_the_environment_is_used, 0, ASC_ISA_COUNT);
    }
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
