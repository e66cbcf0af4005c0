/* tests/kernels/test_background.c: the row primitives of ASCender's background variant: formulas. */
#include "kernels/kernels.h"

enum { MOST = 300, ROWS = 12, LD = 80, MOST_LINKS = 20 };

static const int64_t sizes[] = {0, 1, 2, 15, 16, 31, 32, 33, 64, 100, 300};
static const int64_t widths[] = {0, 1, 3, 15, 16, 17, 32, 33, 48, 64, 70};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const int64_t links[] = {0, 1, 2, 16, 20};
enum { LINKS = sizeof links / sizeof *links };
static const int64_t keys[MOST_LINKS] = {3, 0, 7, 11, 3, 1, 2, 4, 5, 6, 8, 9, 10, 0, 0, 5, 11, 7, 2, 3};

#include "tests/kernels/both.h"
#include "tests/kernels/background.h"

START_TEST(rows_follow_their_formulas)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        check_row_f32(asc_kernels_f32_of((enum asc_isa)isa), sizes[_i]);
        check_row_f64(asc_kernels_f64_of((enum asc_isa)isa), sizes[_i]);
    }
}
END_TEST

START_TEST(nearly_constant_rows_keep_their_digits)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        check_nearly_constant_f32(asc_kernels_f32_of((enum asc_isa)isa));
        check_nearly_constant_f64(asc_kernels_f64_of((enum asc_isa)isa));
    }
}
END_TEST

START_TEST(lists_follow_their_formulas)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        for (int n = 0; n < LINKS; n++) {
            check_lists_f32(asc_kernels_f32_of((enum asc_isa)isa), links[n], widths[_i]);
            check_lists_f64(asc_kernels_f64_of((enum asc_isa)isa), links[n], widths[_i]);
        }
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");
    tcase_add_loop_test(t, rows_follow_their_formulas, 0, SIZES);
    tcase_add_test(t, nearly_constant_rows_keep_their_digits);
    tcase_add_loop_test(t, lists_follow_their_formulas, 0, SIZES);
    return run_suite("kernels/background", t);
}
