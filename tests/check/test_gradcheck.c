/* tests/check/test_gradcheck.c: the gradient check passes on the library's ops, and fails on wrong ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/check.h>
#include <ascgrad/ops.h>

#include "tests/check/faulty.h"
#include "tests/context.h"

static void check_passes(const asc_op *op, asc_gradcheck_report *r)
{
    asc_status status = asc_gradcheck(ctx, op, NULL, r);
    ck_assert_msg(status == ASC_OK, "%s: %s", op->name, asc_error_message(ctx));
    const asc_gradcheck_value *f = &r->first;
    ck_assert_msg(r->passed, "%s: sample %d %s, %s: %s [%lld, %lld, %lld] analytic %.17g numeric %.17g bound %g",
                  op->name,
                  f->sample, f->variant, f->part, f->tensor, (long long)f->index[0], (long long)f->index[1],
                  (long long)f->index[2], f->analytic, f->numeric, f->bound);
    ck_assert_str_eq(r->op, op->name);
    ck_assert_int_eq(r->failures, 0);
    ck_assert(r->worst_ratio <= 1);
}

/* ---- every op of the library ---- */

START_TEST(library)
{
    asc_gradcheck_report r;
    check_passes(asc_op_at(_i), &r);
    ck_assert(!asc_op_at(_i)->backward || (asc_op_at(_i)->n_samples > 0 && r.cases > 0 && r.elements > 0));
    ck_assert(r.worst_error < 1e-6);
    ck_assert(!asc_op_at(_i)->backward || r.digits > 2);
}
END_TEST

/* ---- an op with faults, and without ---- */

static const struct {
    fault fault;
    const char *part; /* that finds it first */
    const char *tensor;
} faults[] = {
    {SIGN, "differences", "b"},
    {FACTOR_2, "differences", "b"},
    {FACTOR_101, "differences", "b"},
    {DROPPED, "differences", "b"},
    {OVERWRITTEN, "accumulated", "a"},
    {ELEMENT, "differences", "b"},
    {STRIDES, "permuted", "output 0"},
    {FRESH, "differences", "a"},
    {UNSTEADY, "repeated", "output 0"},
    {ALONE, "alone", "b"},
    {OUTPUTS, "one output", "a"},
    {SAME, "same tensor", "a"},
    {SINGLE, "f32", "output 0"},
    {RECORDING, "repeated", "output 0"},
    {KEEPS, "repeated", "a"},
    {NAN_GRADIENT, "differences", "b"},
    {NOISE, "differences", "a"},
    {READ_BEHIND, "bounds", "output 0"},
    {READ_BEFORE, "bounds", "a"},
    {ALIGNED, "unaligned", "output 0"},
    {ALIGNED_SINGLE, "unaligned", "output 0"},
    {ALIGNED_GRADIENT, "unaligned", "a"},
    {SHARED_READ, "threads", "a"},
};

START_TEST(fault_is_found)
{
    asc_gradcheck_report r;
    now = faults[_i].fault;
    ck_assert_int_eq(asc_gradcheck(ctx, &faulty, NULL, &r), ASC_OK);
    now = NONE;
    ck_assert(!r.passed);
    ck_assert_int_gt(r.failures, 0);
    ck_assert(r.worst_ratio > 1);
    ck_assert_int_eq(r.first.sample, 0);
    ck_assert_str_eq(r.first.part, faults[_i].part);
    ck_assert_str_eq(r.first.tensor, faults[_i].tensor);
}
END_TEST

static const struct {
    fault fault;
    const char *message;
} failing[] = {
    {BEHIND, "faulty: forward writes out of bounds, behind output 1, f64 (3, 4)"},
    {BEFORE, "faulty: forward writes out of bounds, before output 1, f64 (3, 4)"},
    {INPUT, "faulty: forward writes to what it may only read, input b, f64 (3, 4)"},
    {GRADIENT, "faulty: backward writes out of bounds, behind the gradient of b, f64 (3, 4)"},
    {COTANGENT, "faulty: backward writes to what it may only read, the gradient of output 0, f64 (3, 4)"},
    {ONE_BEHIND, "gradcheck: faulty: sample 2, size 5 as 1: faulty: forward writes out of bounds, behind output 1, f64 "
                 "(1)"},
    {ONE_FORWARD, "gradcheck: faulty: sample 2, size 5 as 1: faulty: nothing to do"},
    {ONE_BACKWARD, "gradcheck: faulty: sample 2, size 5 as 1: faulty: no gradient of these"},
    {EVERY_SECOND, "faulty: backward gives other gradients of the same arrays when it is called again"},
    {MANY_BACKWARD, "gradcheck: faulty: sample 0, size 3 as 567: faulty: no gradient of these"},
};

START_TEST(what_fails_is_named)
{
    asc_gradcheck_report r;
    now = failing[_i].fault;
    ck_assert_int_eq(asc_gradcheck(ctx, &faulty, NULL, &r), ASC_ERR_ARG);
    now = NONE;
    expect_error(ASC_ERR_ARG, failing[_i].message);
    ck_assert(!r.passed);
}
END_TEST

static const struct {
    const asc_op *op;
    uint32_t saves_in;
    fault fault;
    const char *message;
} reads[] = {
    {&faulty, 1, NONE, "faulty: backward reads what saves_in does not name, input b, f64 (3, 4)"},
    {&faulty, 2, NONE, "faulty: backward reads what saves_in does not name, input a, f64 (3, 4)"},
    {&faulty, 0, NONE, "faulty: backward reads what saves_in does not name, input a, f64 (3, 4)"},
    {&faulty, 3, RESULT, "faulty: backward reads what saves_out does not name, output 1, f64 (3, 4)"},
    {&faulty, 3, IDLE_READ, "faulty: backward reads what saves_out does not name, output 1, f64 (3, 4)"},
    {&abs_op, 0, NONE, "abs: backward reads what saves_in does not name, input x, f64 (150)"},
};

/* Its data are NULL in a training. */
START_TEST(read_of_what_is_not_saved_is_named)
{
    asc_gradcheck_report r;
    asc_op op = *reads[_i].op;
    op.saves_in = reads[_i].saves_in;
    now = reads[_i].fault;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_ERR_ARG);
    now = NONE;
    expect_error(ASC_ERR_ARG, reads[_i].message);
    ck_assert(!r.passed);
}
END_TEST

START_TEST(integers_are_compared)
{
    asc_gradcheck_report r;
    check_passes(&sign_op, &r);
    now = COUNTS;
    ck_assert_int_eq(asc_gradcheck(ctx, &sign_op, NULL, &r), ASC_OK);
    now = NONE;
    ck_assert(!r.passed);
    ck_assert_str_eq(r.first.part, "repeated");
    ck_assert_str_eq(r.first.tensor, "output 1");
}
END_TEST

START_TEST(op_of_doubles_passes)
{
    asc_gradcheck_report r, all;
    check_passes(&faulty, &all);
    now = DOUBLES;
    check_passes(&faulty, &r);
    now = NONE;
    ck_assert(r.cases > 0 && r.cases < all.cases && r.elements == all.elements);
}
END_TEST

START_TEST(sound_op_passes)
{
    asc_gradcheck_report r;
    now = NONE;
    check_passes(&faulty, &r);
    /* the op's samples; then 3 as 1, 4 as 1, "empty" with 0 as 1 and 5 as 1: two inputs each but the last */
    ck_assert_int_eq(r.elements, 2 * 12 + 5 + 2 * 4 + 2 * 3 + 2 * 3 + 1);
    ck_assert_int_eq(r.directions, 0);
    ck_assert(r.worst_error < 1e-9);
    ck_assert_int_eq(r.large, 3);
    ck_assert_int_eq(r.variants, 12); /* 0 and 1 for 3, 4, 5 and for 3 beside 0; 1 for 0; three large ones */
    ck_assert_int_eq(r.kinks, 0);
    ck_assert(r.digits > 8 && r.digits < 16);
    ck_assert_int_eq(r.first.sample, -1);
    ck_assert_int_ge(r.worst.sample, 0);
}
END_TEST

START_TEST(first_failure_is_described)
{
    asc_gradcheck_report r;
    now = ELEMENT;
    ck_assert_int_eq(asc_gradcheck(ctx, &faulty, NULL, &r), ASC_OK);
    now = NONE;
    ck_assert_int_eq(r.first.ndim, 2);
    ck_assert_int_eq(r.first.index[0], 1);
    ck_assert_int_eq(r.first.index[1], 0);
    ck_assert(fabs(r.first.analytic - r.first.numeric - 1e-6) < 1e-9);
    ck_assert(r.first.bound < 1e-6);
    ck_assert_ptr_null(r.first.note);
}
END_TEST

/* ---- large inputs ---- */

static const asc_sample large_sample = {.in = {{'f', 2, {40, 30}}, {'f', 2, {40, 30}}}};

START_TEST(large_input)
{
    asc_op op = faulty;
    op.samples = &large_sample;
    op.n_samples = 1;
    asc_gradcheck_report r;
    check_passes(&op, &r);
    ck_assert_int_eq(r.elements, 2 * 50 + 2 * 40 + 2 * 30); /* and those with 30 and 40 as 1 */
    ck_assert_int_eq(r.directions, 2 * 4);
    ck_assert_int_eq(r.unchecked, 2 * (1200 - 50));
    ck_assert_int_eq(asc_gradcheck(ctx, &op, &(asc_gradcheck_options){.most_elements = 8}, &r), ASC_OK);
    ck_assert(r.passed);
    ck_assert_int_eq(r.elements, 3 * 2 * 2);
    /* one wrong element of 1200, that is not among those taken: the directions see it */
    now = ELEMENT;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, &(asc_gradcheck_options){.most_elements = 8}, &r), ASC_OK);
    now = NONE;
    ck_assert(!r.passed);
    ck_assert_int_eq(r.first.ndim, -1);
}
END_TEST

/* ---- |x|, which samples keep off 0; and a random op ---- */

/* x is 0.5 throughout, where |x - 0.5| and max(x - 0.5, 0.1 (x - 0.5)) have their kinks. */
static double kink_left, kink_slope;

static asc_status kink_forward(asc_call *call)
{
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        double x = get(&call->in[0], i) - 0.5;
        put(&call->out[0], i, x * x + (x < 0 ? kink_left * x : x));
    }
    return ASC_OK;
}

static asc_status kink_backward(asc_call *call)
{
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        put(&call->grad_in[0], i, get(&call->grad_in[0], i) + kink_slope * get(&call->grad_out[0], i));
    }
    return ASC_OK;
}

static const struct {
    double left, slope; /* y = left·x below 0 and x above, and the derivative that the op gives */
    bool kink, passes;
} kinks[] = {
    {-1, 0, true, true},    {-1, 0.3, true, true}, {-1, 1, true, true},  {-1, 1.01, true, false}, {0.9, 1, true, true},
    {0.9, 0.89, true, false}, {0.999, 1, true, true}, {1, 1, false, true}, {1, 1.001, false, false},
};

START_TEST(kink_is_counted)
{
    static const asc_sample at_kink = {.in = {{'u', 1, {3}, .lo = 0.5, .hi = 0.5}}};
    asc_op op = abs_op;
    op.forward = kink_forward;
    op.backward = kink_backward;
    op.samples = &at_kink;
    op.n_samples = 1;
    kink_left = kinks[_i].left;
    kink_slope = kinks[_i].slope;
    asc_gradcheck_report r;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_OK);
    ck_assert_int_eq(r.passed, kinks[_i].passes);
    ck_assert_int_eq(r.kinks, kinks[_i].kink ? 3 + 1 : 0); /* 1: of the variant of length 1 */
    if (r.kinks > 0) {
        ck_assert_str_eq(r.kink.part, "differences");
        ck_assert_str_eq(r.kink.tensor, "x");
        ck_assert_int_eq(r.kink.index[0], 0);
    }
}
END_TEST

START_TEST(kink_is_kept_off)
{
    asc_gradcheck_report r;
    for (uint64_t seed = 0; seed < 20; seed++) {
        ck_assert_int_eq(asc_gradcheck(ctx, &abs_op, &(asc_gradcheck_options){.seed = seed}, &r), ASC_OK);
        ck_assert(r.passed);
        ck_assert_int_eq(r.kinks, 0);
    }
}
END_TEST

START_TEST(random_op)
{
    asc_op op = abs_op;
    op.flags = ASC_OP_RANDOM;
    asc_gradcheck_report r;
    asc_set_step(ctx, 7, 3);
    asc_tensor x = asc_scalar(ctx, ASC_F64, 1);
    double before[2], after[2];
    for (int i = 0; i < 2; i++) {
        before[i] = asc_item(asc_apply1(ctx, &op, &x, 1, NULL));
    }
    asc_set_step(ctx, 7, 3);
    after[0] = asc_item(asc_apply1(ctx, &op, &x, 1, NULL));
    check_passes(&op, &r);
    after[1] = asc_item(asc_apply1(ctx, &op, &x, 1, NULL));
    ck_assert_mem_eq(before, after, sizeof before); /* the check has left the context's numbers alone */
}
END_TEST

/* The verdict is about the op, whatever the context is set to, and leaves that as it was. */
START_TEST(a_contexts_settings)
{
    asc_gradcheck_report r;
    asc_mutants_report mutants;
    asc_set_precision(ctx, ASC_PRECISION_BF16);
    asc_set_nan_check(ctx, true);
    check_passes(asc_op_find(ctx, "linear"), &r);
    check_passes(asc_op_find(ctx, "mean"), &r); /* of nothing it is NaN */
    asc_set_rehearsal(ctx, true);
    check_passes(asc_op_find(ctx, "mul"), &r);
    ck_assert_int_eq(asc_gradcheck_mutants(ctx, asc_op_find(ctx, "mul"), NULL, &mutants), ASC_OK);
    ck_assert(mutants.passed);
    ck_assert_int_eq(asc_precision_of(ctx), ASC_PRECISION_BF16);
    ck_assert(asc_set_nan_check(ctx, false));
    asc_tensor x = asc_full(ctx, ASC_F64, 3, ASC_SHAPE(1));
    ck_assert_double_ne(asc_item(asc_square(ctx, x)), 9); /* a rehearsal computes nothing */
    asc_set_rehearsal(ctx, false);
    ck_assert_double_eq(asc_item(asc_square(ctx, x)), 9);
}
END_TEST

/* ---- around the call ---- */

START_TEST(nothing_to_check)
{
    asc_op op = abs_op;
    op.backward = NULL;
    asc_gradcheck_report r;
    check_passes(&op, &r);
    ck_assert_int_eq(r.cases, 0);
}
END_TEST

START_TEST(errors)
{
    asc_gradcheck_report r;
    ck_assert_int_eq(asc_gradcheck(ctx, NULL, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "op is NULL");
    ck_assert_int_eq(asc_gradcheck(ctx, &abs_op, NULL, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "report is NULL");
    ck_assert_int_eq(asc_gradcheck(ctx, &abs_op, &(asc_gradcheck_options){.multiple = -1}, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "multiple is -1");
    asc_op op = abs_op;
    op.attrs_size = 8;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "sample 0 has no attributes");
    op = abs_op;
    op.no_grad_out = 1;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "abs: sample 0: backward, and no output that gradients flow from");
    op = abs_op;
    asc_sample sample = {.in = {{'=', .lo = 0}}};
    op.samples = &sample;
    op.n_samples = 1;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "expected one before it");
    sample.in[0].kind = 'x';
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "kind 'x'");
    ck_assert(!r.passed);
}
END_TEST

static const char *const no_names[] = {"", " ", "my op", "line\n", "\xff", "w\xc3\xa4rme"};

START_TEST(op_needs_a_name)
{
    asc_gradcheck_report r;
    asc_op op = abs_op;
    op.name = no_names[_i];
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "expected letters, digits and signs of ASCII");
    ck_assert_int_eq(asc_op_register(ctx, &op), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "op_register: an op's name is ");
}
END_TEST

/* The check's own allocations fail, from each on. */
START_TEST(memory_fails)
{
    asc_status status = ASC_ERR_MEMORY;
    asc_op one = faulty; /* of one sample: the time grows faster than they do */
    one.n_samples = 1;
    for (long n = 0; status != ASC_OK; n += n < 200 || in_full() ? 1 : 5) {
        ck_assert_int_lt(n, 4000);
        heap small = {.fail_at = n, .and_after = true};
        asc_ctx *c = context_on(&small, 1);
        if (!c) {
            continue;
        }
        asc_gradcheck_report r;
        status = asc_gradcheck(c, &one, &(asc_gradcheck_options){.most_elements = 2}, &r);
        ck_assert_msg(status == ASC_OK || status == ASC_ERR_MEMORY, "%s", asc_error_message(c));
        ck_assert(r.passed == (status == ASC_OK));
        asc_ctx_free(c);
        expect_empty(&small);
    }
}
END_TEST

static int library_ops(void)
{
    int n = 0;
    while (asc_op_at(n)) {
        n++;
    }
    return n;
}

int main(void)
{
    TCase *t = tcase_create("gradcheck");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, library, 0, library_ops());
    tcase_add_test(t, sound_op_passes);
    tcase_add_loop_test(t, fault_is_found, 0, (int)(sizeof faults / sizeof *faults));
    tcase_add_loop_test(t, what_fails_is_named, 0, (int)(sizeof failing / sizeof *failing));
    tcase_add_loop_test(t, read_of_what_is_not_saved_is_named, 0, (int)(sizeof reads / sizeof *reads));
    tcase_add_test(t, integers_are_compared);
    tcase_add_test(t, op_of_doubles_passes);
    tcase_add_test(t, first_failure_is_described);
    tcase_add_test(t, large_input);
    tcase_add_test(t, kink_is_kept_off);
    tcase_add_loop_test(t, kink_is_counted, 0, (int)(sizeof kinks / sizeof *kinks));
    tcase_add_test(t, random_op);
    tcase_add_test(t, a_contexts_settings);
    tcase_add_test(t, nothing_to_check);
    tcase_add_test(t, errors);
    tcase_add_loop_test(t, op_needs_a_name, 0, (int)(sizeof no_names / sizeof *no_names));
    tcase_add_test(t, memory_fails);
    return run_suite("autograd/gradcheck", t);
}
