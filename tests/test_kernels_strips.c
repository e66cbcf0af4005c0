/* tests/test_kernels_strips.c: Grassmann mixing's primitives: partial strips, the same bits on any processor. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tensor/random.h"

enum { S = ASC_STRIP, MOST = 40 };
static const int64_t widths[] = {2, 3, 5, 8, 31, 32, 40};
enum { WIDTHS = sizeof widths / sizeof *widths };

#define REAL    float
#define K       asc_kernels_f32
#define F(name) name##_f32
#include "tests/strips_cases.h"
#undef REAL
#undef K
#undef F

#define REAL    double
#define K       asc_kernels_f64
#define F(name) name##_f64
#include "tests/strips_cases.h"
#undef REAL
#undef K
#undef F

START_TEST(instruction_sets_agree)
{
    for (int isa = ASC_ISA_AVX2; isa <= (int)asc_isa_best(); isa++) {
        agree_f32(asc_k32_of(ASC_ISA_PLAIN), asc_k32_of((enum asc_isa)isa), widths[_i]);
        agree_f64(asc_k64_of(ASC_ISA_PLAIN), asc_k64_of((enum asc_isa)isa), widths[_i]);
    }
}
END_TEST

START_TEST(strips_may_be_partial)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        check_lanes_f32(asc_k32_of((enum asc_isa)isa));
        check_lanes_f64(asc_k64_of((enum asc_isa)isa));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels/strips");
    TCase *t = tcase_create("strips");
    tcase_add_loop_test(t, instruction_sets_agree, 0, WIDTHS);
    tcase_add_test(t, strips_may_be_partial);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
