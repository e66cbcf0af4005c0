/* tests/kernels/test_strips.c: Grassmann mixing's primitives: partial strips, the same bits on any processor. */
#include "kernels/kernels.h"

enum { S = ASC_STRIP, MOST = 40 };
static const int64_t widths[] = {2, 3, 5, 8, 31, 32, 40};
enum { WIDTHS = sizeof widths / sizeof *widths };

#include "tests/kernels/both.h"
#include "tests/kernels/strips.h"

START_TEST(instruction_sets_agree)
{
    for (int isa = ASC_ISA_AVX2; isa <= (int)asc_isa_best(); isa++) {
        agree_f32(asc_kernels_f32_of(ASC_ISA_PLAIN), asc_kernels_f32_of((enum asc_isa)isa), widths[_i]);
        agree_f64(asc_kernels_f64_of(ASC_ISA_PLAIN), asc_kernels_f64_of((enum asc_isa)isa), widths[_i]);
    }
}
END_TEST

START_TEST(strips_may_be_partial)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        check_lanes_f32(asc_kernels_f32_of((enum asc_isa)isa));
        check_lanes_f64(asc_kernels_f64_of((enum asc_isa)isa));
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("strips");
    tcase_add_loop_test(t, instruction_sets_agree, 0, WIDTHS);
    tcase_add_test(t, strips_may_be_partial);
    return run_suite("kernels/strips", t);
}
