/* tests/kernels/test_ascender.c: the row primitives of ASCender attention: formulas. */
#include "kernels/kernels.h"

enum { MOST_ROWS = 9, MOST_WIDTH = 34, LD = 140, MOST_N = 700 };

/* rows × n pairs of vectors of k entries; beside, at and above the sides of tiles and registers. */
typedef struct shape {
    int64_t rows, n, k;
} shape;

static const shape shapes[] = {{1, 1, 1},  {4, 8, 3},   {8, 16, 32}, {4, 32, 0}, {5, 33, 2},   {9, 31, 33}, {3, 64, 5},
                               {7, 7, 16}, {8, 100, 4}, {0, 5, 2},   {2, 0, 2},  {9, 100, 32}, {4, 17, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const int64_t sizes[] = {0, 1, 2, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 96, 100, 513, 700};
enum { SIZES = sizeof sizes / sizeof *sizes };

#include "tests/kernels/both.h"
#include "tests/kernels/ascender.h"

START_TEST(pairs_follow_their_formulas)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        check_products_f32(asc_kernels_f32_of((enum asc_isa)isa), &shapes[_i]);
        check_products_f64(asc_kernels_f64_of((enum asc_isa)isa), &shapes[_i]);
        check_distances_grad_f32(asc_kernels_f32_of((enum asc_isa)isa), &shapes[_i]);
        check_distances_grad_f64(asc_kernels_f64_of((enum asc_isa)isa), &shapes[_i]);
    }
}
END_TEST

START_TEST(the_largest_are_found)
{
    static const int64_t most[] = {0, 1, 3, 16, 32, 33, 64, 65, 300};
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
            for (int64_t kinds = 3; kinds < 1 << 20; kinds *= 64) {
                int64_t skips[] = {-1, 0, sizes[_i] / 2, sizes[_i] - 1, sizes[_i]};
                for (size_t s = 0; s < sizeof skips / sizeof *skips; s++) {
                    check_top_k_f32(asc_kernels_f32_of((enum asc_isa)isa), sizes[_i], most[m], skips[s], kinds);
                    check_top_k_f64(asc_kernels_f64_of((enum asc_isa)isa), sizes[_i], most[m], skips[s], kinds);
                }
            }
        }
    }
}
END_TEST

START_TEST(nans_come_last)
{
    static const int64_t most[] = {1, 16, 60, 300};
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
            for (int64_t every = 0; every < 4; every++) {
                check_nans_f32(asc_kernels_f32_of((enum asc_isa)isa), sizes[_i], most[m], every * 7 - 1, every);
                check_nans_f64(asc_kernels_f64_of((enum asc_isa)isa), sizes[_i], most[m], every * 7 - 1, every);
            }
        }
    }
}
END_TEST

START_TEST(rows_follow_their_formulas)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        check_rows_f32(asc_kernels_f32_of((enum asc_isa)isa), sizes[_i]);
        check_rows_f64(asc_kernels_f64_of((enum asc_isa)isa), sizes[_i]);
        check_weights_f32(asc_kernels_f32_of((enum asc_isa)isa), sizes[_i]);
        check_weights_f64(asc_kernels_f64_of((enum asc_isa)isa), sizes[_i]);
        check_biases_f32(asc_kernels_f32_of((enum asc_isa)isa), sizes[_i]);
        check_biases_f64(asc_kernels_f64_of((enum asc_isa)isa), sizes[_i]);
    }
}
END_TEST

START_TEST(lists_are_added_up)
{
    static const int64_t counts[] = {0, 1, 2, 16, 20}, widths[] = {0, 1, 31, 32, 33, 64, 70};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        check_lists_f32(asc_kernels_f32(), counts[n], widths[_i]);
        check_lists_f64(asc_kernels_f64(), counts[n], widths[_i]);
    }
}
END_TEST

/* The distance of a point from itself is 0, and close points far from the origin keep their digits. */
START_TEST(distances_do_not_cancel)
{
    enum { N = 40 };
    float points[N * 3], columns[3 * LD] = {0}, d2[N * LD];
    for (int i = 0; i < N; i++) {
        for (int m = 0; m < 3; m++) {
            points[i * 3 + m] = columns[m * LD + i] = 4000 + (float)((i * 5 + m * 3) % 32) / 64;
        }
    }
    asc_kernels_f32()->pair_distances(d2, LD, points, 3, columns, LD, N, N, 3);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double want = 0;
            for (int m = 0; m < 3; m++) {
                want += pow((double)points[i * 3 + m] - (double)points[j * 3 + m], 2);
            }
            ck_assert(fabs((double)d2[i * LD + j] - want) <= 1e-6 * want);
        }
        ck_assert(d2[i * LD + i] == 0);
    }
}
END_TEST

int main(void)
{
    TCase *pairs = tcase_create("pairs"), *rows = tcase_create("rows");
    tcase_add_loop_test(pairs, pairs_follow_their_formulas, 0, SHAPES);
    tcase_add_test(pairs, distances_do_not_cancel);
    tcase_add_loop_test(rows, the_largest_are_found, 0, SIZES);
    tcase_add_loop_test(rows, nans_come_last, 0, SIZES);
    tcase_add_loop_test(rows, rows_follow_their_formulas, 0, SIZES);
    tcase_add_loop_test(rows, lists_are_added_up, 0, 7);
    return run_suite("kernels/ascender", pairs, rows);
}
