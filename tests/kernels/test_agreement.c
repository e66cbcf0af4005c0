/* tests/kernels/test_agreement.c: every row primitive of kernels/list.h gives the same bits on all instruction sets,
 * and where its output is its input. */
#include "kernels/kernels.h"

enum { ROOM = 4200, LD = 120, LISTED = 20 };

/* One size for each kind of argument. */
typedef struct size {
    int64_t n, rows;        /* n elements of a row; rows n <= ROOM */
    int64_t width;          /* entries of a vector of a strip; half its square of strips fits in a room */
    int64_t columns, depth; /* of products of vectors in pairs: depth LD, and rows LD, fit in a room */
    int64_t listed;         /* rows of a list */
    int lanes;              /* of a partial strip */
    bool fresh;
} size;

static const size sizes[] = {
    {0, 0, 2, 0, 0, 0, 0, true},       {1, 1, 3, 1, 1, 1, 1, true},       {5, 3, 5, 8, 3, 2, 5, false},
    {16, 4, 8, 16, 32, 16, 16, true},  {31, 5, 9, 31, 33, 19, 31, false}, {32, 8, 12, 32, 16, 20, 32, true},
    {33, 9, 13, 33, 2, 20, 17, false}, {64, 8, 15, 64, 5, 3, 32, false},  {100, 7, 16, 100, 32, 20, 8, true},
    {513, 8, 4, 70, 17, 5, 20, false},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Of two coordinates, of up to four terms each. */
static const int32_t form_terms[] = {0, 1, 1, 0, 1, 3, 0, 2, 1, 1, 0, 0, 1, 2, 0, 3};

#include "tests/kernels/both.h"
#include "tests/kernels/agreement.h"

START_TEST(instruction_sets_agree)
{
    for (int isa = ASC_ISA_AVX2; isa <= (int)asc_isa_best(); isa++) {
        agree_f32(asc_kernels_f32_of(ASC_ISA_PLAIN), asc_kernels_f32_of((enum asc_isa)isa), &sizes[_i]);
        agree_f64(asc_kernels_f64_of(ASC_ISA_PLAIN), asc_kernels_f64_of((enum asc_isa)isa), &sizes[_i]);
    }
}
END_TEST

START_TEST(outputs_may_be_inputs)
{
    for (int isa = ASC_ISA_PLAIN; isa <= (int)asc_isa_best(); isa++) {
        in_place_f32(asc_kernels_f32_of((enum asc_isa)isa), &sizes[_i]);
        in_place_f64(asc_kernels_f64_of((enum asc_isa)isa), &sizes[_i]);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("every row primitive");
    tcase_add_loop_test(t, instruction_sets_agree, 0, SIZES);
    tcase_add_loop_test(t, outputs_may_be_inputs, 0, SIZES);
    return run_suite("kernels/agreement", t);
}
