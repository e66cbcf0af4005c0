/* tests/check/test_mutants.c: what the gradient check finds beyond wrong derivatives: looking ahead, depending on
 * the number of threads; and the check of the check. */
#include <string.h>

#include <ascgrad/check.h>

#include "autograd/engine.h"
#include "tests/check/faulty.h"
#include "tests/context.h"

/* ---- an op that looks ahead, and one that counts threads ---- */

static bool ahead_in_forward, ahead_in_backward;
static uint32_t in_time = 1;

/* y_t = the sum of x up to t; a leak adds a little of the next one. */
static asc_status sums_forward(asc_call *call)
{
    const asc_array *x = &call->in[0];
    int64_t n = x->shape[0], d = x->shape[1];
    for (int64_t e = 0; e < n * d; e++) {
        double sum = e < d ? 0 : get(&call->out[0], e - d);
        sum += get(x, e) + (ahead_in_forward && e + d < n * d ? 1e-9 * get(x, e + d) : 0);
        put(&call->out[0], e, sum);
    }
    return ASC_OK;
}

static asc_status sums_backward(asc_call *call)
{
    int64_t n = call->in[0].shape[0], d = call->in[0].shape[1];
    for (int64_t e = 0; e < d; e++) {
        double sum = 0;
        for (int64_t t = n - 1; t >= 0; t--) {
            sum += get(&call->grad_out[0], t * d + e);
            double leak = ahead_in_backward && t > 0 ? 1e-16 * get(&call->grad_out[0], (t - 1) * d + e) : 0;
            put(&call->grad_in[0], t * d + e, get(&call->grad_in[0], t * d + e) + sum + leak);
        }
    }
    return ASC_OK;
}

static uint32_t sums_in_time(const asc_call *call)
{
    ck_assert_int_eq(call->in[0].ndim, 2);
    return in_time;
}

START_TEST(causality)
{
    static const asc_sample sample = {.in = {{'f', 2, {6, 3}}}};
    asc_op op = abs_op;
    op.flags = ASC_OP_CAUSAL;
    op.forward = sums_forward;
    op.backward = sums_backward;
    op.samples = &sample;
    op.n_samples = 1;
    asc_gradcheck_report r;
    ahead_in_forward = ahead_in_backward = false;
    in_time = 1;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_OK);
    ck_assert(r.passed);
    ahead_in_backward = true;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_OK);
    ck_assert_msg(!r.passed, "a gradient of 1e-16 ahead");
    ck_assert_str_eq(r.first.part, "causal");
    ck_assert_str_eq(r.first.tensor, "x");
    ahead_in_backward = false;
    ahead_in_forward = true;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_OK);
    ck_assert_str_eq(r.first.part, "differences"); /* and the causal part after it */
    ck_assert_int_gt(r.failures, 0);
    ahead_in_forward = false;
    op.backward = sums_backward;
    op.causal = sums_in_time;
    in_time = 0;
    ahead_in_backward = true; /* with attributes that are not causal */
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_OK);
    ck_assert(r.passed);
    ahead_in_backward = false;
}
END_TEST

static asc_status threads_forward(asc_call *call)
{
    asc_status status = abs_forward(call);
    double first = call->in[0].numel > 0 ? get(&call->out[0], 0) : 0;
    if (call->in[0].numel > 16384) {
        put(&call->out[0], 0, first + 1e-6 * (asc_threads(call->ctx) - 1));
    }
    return status;
}

START_TEST(thread_counts)
{
    asc_op op = abs_op;
    op.forward = threads_forward;
    asc_gradcheck_report r;
    ck_assert_int_eq(asc_gradcheck(ctx, &op, NULL, &r), ASC_OK);
    ck_assert(!r.passed);
    ck_assert_str_eq(r.first.part, "threads");
    ck_assert_str_eq(r.first.tensor, "output 0");
    ck_assert_msg(strncmp(r.first.variant, "size 150 as ", 12) == 0, "%s", r.first.variant);
    ck_assert_int_eq(r.first.index[0], 0);
}
END_TEST

/* ---- mutants ---- */

/* `ascgrad gradcheck --mutants` has all ops; tests/cli/gradcheck_ops.sh runs it. */
static const char *const some_ops[] = {"add", "relu", "linear", "cross_entropy", "attention", "cumsum", "slice"};

START_TEST(mutants_are_caught)
{
    asc_mutants_report r;
    const asc_op *op = asc_op_find(ctx, some_ops[_i]);
    ck_assert_int_eq(asc_gradcheck_mutants(ctx, op, NULL, &r), ASC_OK);
    ck_assert_msg(r.passed, "%s: %d survive, the first: %s of %s", op->name, r.survived, asc_mutant_name(r.survivor),
                  r.survivor_input);
    ck_assert(r.sound);
    for (int k = 0; k < ASC_MUTANTS && op->backward; k++) {
        ck_assert_int_eq(r.kind[k].caught, r.kind[k].made);
        ck_assert(r.kind[k].made > 0 || k == ASC_MUTANT_SWAPPED);
    }
}
END_TEST

START_TEST(mutants_of_faulty)
{
    asc_mutants_report r;
    now = NONE;
    ck_assert_int_eq(asc_gradcheck_mutants(ctx, &faulty, NULL, &r), ASC_OK);
    ck_assert(r.passed && r.sound);
    for (int k = 0; k < ASC_MUTANTS; k++) {
        ck_assert_int_eq(r.kind[k].made, k == ASC_MUTANT_SWAPPED ? 1 : 2);
        ck_assert_int_eq(r.kind[k].same, 0);
    }
    now = SIGN;
    ck_assert_int_eq(asc_gradcheck_mutants(ctx, &faulty, NULL, &r), ASC_OK);
    now = NONE;
    ck_assert(!r.passed && !r.sound);
    ck_assert_int_eq(r.kind[ASC_MUTANT_SIGN].made, 0);
}
END_TEST

/* An op may take the scratch arrays that a call has, however often the check runs it within one. */
static asc_status greedy_backward(asc_call *call)
{
    for (int i = 0; i < ASC_MAX_SCRATCH - 2; i++) { /* a mutant takes up to two */
        if (!asc_call_scratch(call, 8)) {
            return ASC_ERR_MEMORY;
        }
    }
    return faulty.backward(call);
}

START_TEST(mutants_of_greedy)
{
    asc_op op = faulty;
    op.backward = greedy_backward;
    asc_mutants_report r;
    now = NONE;
    ck_assert_msg(asc_gradcheck_mutants(ctx, &op, NULL, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert(r.passed && r.sound);
}
END_TEST

/* A check that lets too much pass lets mutants survive, and that is said. */
START_TEST(mutant_survives)
{
    asc_mutants_report r;
    now = NONE;
    ck_assert_int_eq(asc_gradcheck_mutants(ctx, &faulty, &(asc_gradcheck_options){.multiple = 1e15}, &r), ASC_OK);
    ck_assert(!r.passed && r.sound);
    ck_assert_int_gt(r.survived, 0);
    ck_assert_int_eq(r.survivor, ASC_MUTANT_SIGN);
    ck_assert_str_eq(r.survivor_input, "a");
    ck_assert_int_eq(r.kind[ASC_MUTANT_OVERWRITTEN].caught, 2);
}
END_TEST

START_TEST(mutant_names)
{
    ck_assert_str_eq(asc_mutant_name(ASC_MUTANT_FACTOR), "times 1.01");
    ck_assert_ptr_null(asc_mutant_name(ASC_MUTANTS));
}
END_TEST

/* ---- layers ---- */

START_TEST(layers)
{
    asc_causal_report r;
    for (int i = 0; asc_mixing_at(ctx, i); i++) {
        ck_assert_msg(asc_causal_check(ctx, asc_mixing_at(ctx, i), NULL, NULL, &r) == ASC_OK, "%s",
                      asc_error_message(ctx));
        ck_assert(r.passed);
    }
    ck_assert_int_eq(asc_causal_check(ctx, "transformer", "{\"heads\": 4}", NULL, &r), ASC_OK);
    ck_assert(r.causal && r.passed);
    ck_assert_int_eq(r.moments, 8);
    /* batch, width, 1 + 2 + … + 8, of the sequence and of queries; of a context all outputs at 8 lengths */
    ck_assert(r.context);
    ck_assert_int_eq(r.outputs, 2 * (2 * 8 * 36) + 2 * 8 * 9 * 8);
    ck_assert_int_eq(r.gradients, 3 * (2 * 8 * 36));
    ck_assert_int_eq(asc_causal_check(ctx, "transformer", "{\"heads\": 2, \"mask\": \"full\"}", NULL, &r), ASC_OK);
    ck_assert(!r.causal && r.moments == 0 && r.context && r.passed);
    static const char *const more[][2] = {
        {"transformer", "{\"heads\": 2, \"window\": 2, \"globals\": 1, \"random\": 2}"},
        {"ascender", "{\"heads\": 2, \"window\": 2, \"random\": 3, \"k\": 2, \"gate\": \"after\"}"},
        {"ascender", "{\"heads\": 2, \"window\": 2, \"random\": 2, \"k\": 2, \"variant\": \"background\"}"},
        {"ascender", "{\"heads\": 2, \"variant\": \"background\", \"coordinates\": \"position\"}"},
        {"linear", "{\"heads\": 2}"},
        {"linear", "{\"heads\": 2, \"feature\": \"favor\", \"features\": 5, \"decay\": \"fixed\"}"},
        {"conv", "{\"width\": 12}"},
        {"recurrent", "{\"composed\": true}"},
        {"grassmann", "{\"r\": 6, \"tuples\": [[1, 2, 3], [2, 5, 1]], \"invariants\": true, \"running_mean\": true}"},
        {"grassmann", "{\"r\": 6, \"tuples\": [[1, 2], [4, 2]], \"groups\": 2, \"composed\": true}"},
        {"grassmann", "{\"r\": 4, \"pair\": \"symmetric\", \"memory\": true, \"running_mean\": true}"},
        {"grassmann", "{\"r\": 4, \"pair\": \"product\", \"offsets\": [], \"memory\": true, \"invariants\": true}"},
        {"grassmann", "{\"r\": 4, \"offsets\": [], \"memory\": true, \"forget\": \"fixed\"}"},
        {"grassmann", "{\"r\": 4, \"pair\": \"concat\", \"learned\": true}"},
    };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        ck_assert_int_eq(asc_causal_check(ctx, more[i][0], more[i][1], NULL, &r), ASC_OK);
        ck_assert_msg(r.causal && r.passed && !r.context && r.moments == 8, "%s", more[i][1]);
    }
    ck_assert_int_eq(asc_causal_check(ctx, "no such", NULL, NULL, &r), ASC_ERR_ARG);
    ck_assert(!r.passed);
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_causal_check(ctx, NULL, NULL, NULL, &r), ASC_ERR_ARG);
    asc_error_clear(ctx);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("mutants");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, causality);
    tcase_add_test(t, thread_counts);
    tcase_add_loop_test(t, mutants_are_caught, 0, (int)(sizeof some_ops / sizeof *some_ops));
    tcase_add_test(t, mutants_of_faulty);
    tcase_add_test(t, mutants_of_greedy);
    tcase_add_test(t, mutant_survives);
    tcase_add_test(t, mutant_names);
    tcase_add_test(t, layers);
    return run_suite("autograd/mutants", t);
}
