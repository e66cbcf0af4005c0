/* tests/train/test_bench.c: the benchmark counts what it says, every op has a call for it, and settings mean what they
 * mean in a training. */
#include <ascgrad/bench.h>
#include <program/settings.h>

#include <math.h>
#include <stdlib.h>

#include "tests/context.h"
#include "stats/stats.h"
#include "train/measure/bench.h"

static const asc_bench_limits limits = {.sgemm_gflops = 50, .memory_gbs = 10, .gemm_gflops = 100};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- models ---- */

static void count(int64_t ffn, double *all, double *mixing)
{
    enum { D = 16, N = 8 };
    char config[200];
    snprintf(config, sizeof config,
             "{\"mix\":\"transformer\",\"heads\":2,\"d_model\":%d,\"layers\":3,\"vocab\":11,\"block\":%d,"
             "\"d_ff\":%d}",
             D, N, (int)ffn);
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F32, 1);
    ck_assert_int_eq(asc_bench_flops(ctx, lm, all, mixing), ASC_OK);
    /* q, k, v and o; scores and values of the keys that a causal query sees, (N + 1)/2 of them on the average */
    ck_assert_double_eq_tol(*mixing, 1e-9 * 3 * (8 * D * D + 4 * D * (N + 1) / 2.), 1e-15);
    ck_assert_double_eq_tol(*all - *mixing, 1e-9 * (3 * 4 * D * (double)ffn + 2 * D * 11), 1e-15);
    asc_lm_free(lm);
}

START_TEST(mixings_are_a_part_of_the_products)
{
    double all, mixing;
    count(32, &all, &mixing);
    count(64, &all, &mixing);
}
END_TEST

/* A query sees the keys that are carried, too, whose projections are made anew. */
START_TEST(products_of_carried_context)
{
    enum { D = 16, N = 8, C = 12 };
    double all, mixing;
    asc_lm *lm = asc_lm_new(ctx, "{\"mix\":\"transformer\",\"heads\":2,\"d_model\":16,\"layers\":3,\"vocab\":11,"
                                 "\"block\":8,\"d_ff\":32,\"positions\":\"rotary\",\"pos_emb\":false,\"carry\":12}",
                            ASC_F32, 1);
    ck_assert_int_eq(asc_bench_flops(ctx, lm, &all, &mixing), ASC_OK);
    double projections = 2. * D * D * (2 + 2 * (C + N) / (double)N), scores = 4 * D * (C + (N + 1) / 2.);
    ck_assert_double_eq_tol(mixing, 1e-9 * 3 * (projections + scores), 1e-15);
    ck_assert_double_eq_tol(all - mixing, 1e-9 * (3 * 4 * D * 32 + 2 * D * 11), 1e-15);
    asc_lm_free(lm);
}
END_TEST

static double background_mixing(const char *neighbors, int features)
{
    char config[250];
    snprintf(config, sizeof config,
             "{\"mix\":\"ascender\",\"variant\":\"background\",\"neighbors\":\"%s\",\"da\":%d,\"heads\":2,"
             "\"d_model\":16,\"layers\":1,\"vocab\":11,\"block\":8,\"d_ff\":16}",
             neighbors, features);
    double all, mixing;
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F32, 1);
    ck_assert_msg(asc_bench_flops(ctx, lm, &all, &mixing) == ASC_OK, "%s", asc_error_message(ctx));
    asc_lm_free(lm);
    return mixing;
}

/* The background variant's features choose neighbours, and nothing else. */
START_TEST(features_that_nothing_uses_are_not_computed)
{
    ck_assert(background_mixing("base", 2) == background_mixing("base", 8));
    ck_assert(background_mixing("window", 2) == background_mixing("window", 8));
    ck_assert(background_mixing("semantic", 2) < background_mixing("semantic", 8));
}
END_TEST

/* ---- ops ---- */

START_TEST(every_op_has_a_call)
{
    const asc_op *op = asc_op_at(_i);
    ck_assert_msg(op->bench, "%s: its descriptor has no `bench`", op->name);
    ck_assert_msg(!op->attrs_size || op->bench->attrs, "%s: `bench` is without attributes", op->name);
    double bytes = 0;
    for (int i = 0; i < ASC_MAX_IN; i++) {
        const asc_sample_input *in = &op->bench->in[i];
        double n = in->kind ? 8 : 0; /* of an element, at most */
        for (int d = 0; d < in->ndim; d++) {
            n *= (double)in->shape[d];
        }
        bytes += n;
    }
    ck_assert_msg(bytes > 0 && bytes < 0x1p29, "%s: %g bytes of inputs", op->name, bytes);
}
END_TEST

#define REALS(n, ...) {.kind = 'f', .ndim = n, .shape = {__VA_ARGS__}}

/* The library's op with another call. */
static asc_op op_with(const char *name, const asc_sample *call)
{
    asc_op op = *asc_op_find(ctx, name);
    op.bench = call;
    return op;
}

START_TEST(counts_products_and_bytes)
{
    enum { ROWS = 7, IN = 5, OUT = 3 };
    asc_op linear = op_with("linear", &(asc_sample){.in = {REALS(2, ROWS, IN), REALS(2, OUT, IN)}});
    asc_bench_op_result r;
    ck_assert_int_eq(asc_bench_op(ctx, &linear, 1e-3, &limits, &r), ASC_OK);
    ck_assert_int_ge(r.forward.runs, 3);
    ck_assert_int_eq(r.forward.runs, r.backward.runs);
    const double products = 2e-6 * ROWS * IN * OUT; /* of a ms at 1 GFLOP/s */
    const double inputs = 4e-6 * (ROWS * IN + OUT * IN), outputs = 4e-6 * ROWS * OUT;
    ck_assert(near(r.forward.gflops * r.forward.ms, products));
    ck_assert(near(r.backward.gflops * r.backward.ms, 2 * products));
    ck_assert(near(r.forward.gbs * r.forward.ms, inputs + outputs));
    ck_assert(near(r.backward.gbs * r.backward.ms, 2 * inputs + outputs)); /* x, W, dx, dW and dy */
    ck_assert_uint_gt(r.peak_bytes, 0);
}
END_TEST

START_TEST(the_nearer_limit_binds)
{
    asc_op linear = op_with("linear", &(asc_sample){.in = {REALS(2, 64, 64), REALS(2, 64, 64)}});
    asc_op add = op_with("add", &(asc_sample){.in = {REALS(1, 64), REALS(1, 64)}});
    asc_bench_op_result r;
    ck_assert_int_eq(asc_bench_op(ctx, &linear, 0, &limits, &r), ASC_OK);
    ck_assert_int_eq(r.forward.runs, 1);
    ck_assert(!r.forward.memory_binds && near(r.forward.share, r.forward.gflops / 100)); /* 524288/1e11 > 49152/1e10 */
    ck_assert_int_eq(asc_bench_op(ctx, &add, 0, &limits, &r), ASC_OK);
    ck_assert(r.forward.memory_binds && near(r.forward.share, r.forward.gbs / 10));
    ck_assert(r.forward.gflops == 0);
}
END_TEST

/* y = 2 x, without a gradient. */
static asc_status twice_infer(asc_call *call)
{
    return asc_call_output(call, 0, ASC_F32, call->in[0].ndim, call->in[0].shape);
}

static asc_status twice_forward(asc_call *call)
{
    for (int64_t i = 0; i < call->out[0].numel; i++) {
        ((float *)call->out[0].data)[i] = 2 * ((const float *)call->in[0].data)[i];
    }
    return ASC_OK;
}

START_TEST(an_op_without_a_gradient_or_a_call)
{
    asc_op twice = {.abi = ASC_OP_ABI, .name = "twice", .equation = "y = 2 x", .inputs = "x", .n_out = 1,
                    .infer = twice_infer, .forward = twice_forward};
    asc_bench_op_result r;
    ck_assert_int_eq(asc_bench_op(ctx, &twice, 0, &limits, &r), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "twice: its descriptor has no call to time (`bench`)");
    twice.bench = &(asc_sample){.in = {REALS(1, 5)}};
    ck_assert_int_eq(asc_bench_op(ctx, &twice, 0, &limits, &r), ASC_OK);
    ck_assert(r.forward.runs == 1 && near(r.forward.gbs * r.forward.ms, 4e-5));
    ck_assert(r.backward.runs == 0 && isnan(r.backward.ms) && isnan(r.backward.share));
    asc_op clamp = op_with("clamp", &(asc_sample){.in = {REALS(1, 5)}});
    asc_bench_op(ctx, &clamp, 0, &limits, &r);
    expect_error(ASC_ERR_ARG, "clamp: its descriptor has no call to time: `bench` is without attributes");
}
END_TEST

START_TEST(an_op_that_fails)
{
    asc_op linear = op_with("linear", &(asc_sample){.in = {REALS(2, 7, 5), REALS(2, 3, 4)}});
    asc_bench_op_result r;
    ck_assert_int_eq(asc_bench_op(ctx, &linear, 0, &limits, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "linear: weight");
    linear = op_with("linear", &(asc_sample){.in = {REALS(2, 7, 5), {.kind = '=', .lo = 2}}});
    asc_bench_op(ctx, &linear, 0, &limits, &r);
    expect_error(ASC_ERR_ARG, "bench_op: linear: bench: weight is to be the same as input 2, expected one before it");
}
END_TEST

/* ---- models ---- */

static asc_settings *small(const char *model)
{
    asc_settings *s = asc_settings_new(ctx);
    const char *const pairs[][2] = {{"model", model}, {"layers", "1"}, {"dim", "8"},
                                    {"heads", "2"},   {"block", "12"}, {"batch", "2"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        asc_settings_option(s, pairs[i][0], pairs[i][1]);
    }
    no_error();
    return s;
}

START_TEST(steps_of_a_training)
{
    asc_settings *s = small("transformer");
    asc_bench_result r;
    ck_assert_int_eq(asc_bench_train(ctx, s, 20, 3, &r), ASC_OK);
    ck_assert(near(r.tokens_per_s * r.step_ms, 2 * 12 * 1e3));
    ck_assert(near(r.gflops, r.gflop_per_token * r.tokens_per_s));
    /* q, k, v, o, fc1, fc2, the head, and half of the square of attention, three times */
    ck_assert(near(r.gflop_per_token, 3e-9 * 2 * (12 * 64 + 8 * 20 + 2 * 8 * 6.5)));
    ck_assert_int_eq(asc_bench_train(ctx, s, 20, 0, &r), ASC_ERR_ARG);
    asc_error_clear(ctx);
    asc_settings_set(s, "heads", "3");
    asc_bench_train(ctx, s, 20, 1, &r);
    expect_error_with(ASC_ERR_ARG, "heads is 3");
    asc_settings_free(s);
}
END_TEST

START_TEST(steps_without_the_machines_products)
{
    asc_settings *s = small("transformer");
    double speed = asc_bench_speed(ctx, s, 20, 3);
    ck_assert(isfinite(speed) && speed > 0);
    ck_assert(isnan(asc_bench_speed(ctx, s, 20, 0)));
    expect_error_with(ASC_ERR_ARG, "steps: got 0");
    ck_assert(isnan(asc_bench_speed(ctx, NULL, 20, 1)));
    expect_error_with(ASC_ERR_ARG, "bench_speed: settings");
    asc_settings_free(s);
}
END_TEST

START_TEST(a_layer_of_the_settings)
{
    asc_settings *s = small("grassmann");
    asc_bench_layer_result r;
    ck_assert_int_eq(asc_bench_layer(ctx, s, 9, 1, &r), ASC_OK); /* options that it has no use for are left out */
    ck_assert_int_eq(r.tokens, 18);
    ck_assert(r.ms > 0 && r.peak_bytes > 2 * 18 * 8 * sizeof(float));
    asc_settings_set(s, "offsets", "[1,0]");
    asc_bench_layer(ctx, s, 9, 1, &r);
    expect_error_with(ASC_ERR_ARG, "offsets");
    asc_settings_set(s, "offsets", "[1]");
    asc_settings_set(s, "model", "transformer,grassmann");
    asc_bench_layer(ctx, s, 9, 1, &r);
    expect_error_with(ASC_ERR_ARG, "mix");
    asc_settings_set(s, "model", "transformer");
    asc_bench_layer(ctx, s, 9, 1, &r);
    expect_error_with(ASC_ERR_ARG, "unknown setting 'offsets'"); /* asked for by name */
    asc_settings_free(s);
}
END_TEST

START_TEST(a_layer_with_a_context)
{
    asc_settings *s = small("transformer");
    asc_bench_layer_result r;
    ck_assert_int_eq(asc_bench_layer_cross(ctx, s, 9, 30, 1, &r), ASC_OK);
    ck_assert_int_eq(r.tokens, 18); /* those that look */
    ck_assert(r.ms > 0 && r.peak_bytes > 2 * 30 * 8 * sizeof(float));
    asc_bench_layer_cross(ctx, s, 9, 0, 1, &r);
    expect_error_with(ASC_ERR_ARG, "bench_layer_cross: context is 0, expected at least 1");
    asc_settings_set(s, "window", "3");
    asc_bench_layer_cross(ctx, s, 9, 30, 1, &r);
    expect_error_with(ASC_ERR_ARG, "window: a layer with it takes no context");
    asc_settings_free(s);
}
END_TEST

START_TEST(generation_at_positions)
{
    asc_settings *s = small("transformer");
    const int64_t positions[] = {0, 3, 4, 11, 12, 700};
    double ms[6];
    ck_assert_int_eq(asc_bench_generate(ctx, s, 20, positions, 6, 3, ms), ASC_OK);
    for (int i = 0; i < 6; i++) {
        ck_assert_msg(positions[i] < 12 ? ms[i] > 0 : isnan(ms[i]), "position %d: %g", (int)positions[i], ms[i]);
    }
    asc_settings_set(s, "pos_emb", "false");
    ck_assert_int_eq(asc_bench_generate(ctx, s, 20, positions, 6, 3, ms), ASC_OK);
    ck_assert(ms[5] > 0);
    asc_bench_generate(ctx, s, 20, (int64_t[]){5, 4}, 2, 1, ms);
    expect_error(ASC_ERR_ARG, "positions: got 4, expected numbers that rise from 0");
    asc_settings_free(s);
}
END_TEST

START_TEST(the_median)
{
    ck_assert(asc_median((double[]){3, 1, 2}, 3) == 2);
    ck_assert(asc_median((double[]){4, 1, 3, 2}, 4) == 2.5);
    ck_assert(asc_median((double[]){7}, 1) == 7);
}
END_TEST

START_TEST(the_speed_of_memory)
{
    heap_fail_after(&memory, 0);
    ck_assert(asc_memory_speed(ctx) == 0);
    expect_error_with(ASC_ERR_MEMORY, "");
    memory.fail_at = NEVER;
    ck_assert(asc_memory_speed(ctx) > 0);
}
END_TEST

int main(void)
{
    int ops = 0;
    while (asc_op_at(ops)) {
        ops++;
    }
    TCase *t = tcase_create("bench");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, mixings_are_a_part_of_the_products);
    tcase_add_test(t, products_of_carried_context);
    tcase_add_test(t, features_that_nothing_uses_are_not_computed);
    tcase_add_loop_test(t, every_op_has_a_call, 0, ops);
    tcase_add_test(t, counts_products_and_bytes);
    tcase_add_test(t, the_nearer_limit_binds);
    tcase_add_test(t, an_op_without_a_gradient_or_a_call);
    tcase_add_test(t, an_op_that_fails);
    tcase_add_test(t, steps_of_a_training);
    tcase_add_test(t, steps_without_the_machines_products);
    tcase_add_test(t, a_layer_of_the_settings);
    tcase_add_test(t, a_layer_with_a_context);
    tcase_add_test(t, generation_at_positions);
    tcase_add_test(t, the_median);
    tcase_add_test(t, the_speed_of_memory);
    return run_suite("train/bench", t);
}
