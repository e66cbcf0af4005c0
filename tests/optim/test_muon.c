/* tests/optim/test_muon.c: Muon against its steps written out, and which rule has which parameter. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/op.h>
#include <ascgrad/optim.h>
#include <ascgrad/ops.h>

#include "optim/optim.h"
#include "tests/context.h"
#include "tests/faults.h"
#include "tests/threads.h"

enum { STEPS = 3, LARGEST = 200 * 200 };

/* A matrix that takes part, in the list of the test; its gradient is `scale` times numbers of stream `of`. */
static asc_tensor matrix(asc_params *params, const char *name, asc_dtype dtype, int64_t rows, int64_t columns)
{
    asc_tensor t = asc_normal(ctx, dtype, 0, 1, 1, (uint64_t)(rows + 1000 * columns), ASC_SHAPE(rows, columns));
    asc_require_grad(t, true);
    asc_params_add(params, name, t, true);
    return t;
}

static void give_gradient(asc_tensor p, int step, double scale)
{
    asc_scope_begin(ctx);
    asc_tensor g = asc_normal(ctx, asc_dtype_of(p), 0, scale, 7, (uint64_t)step, asc_ndim(p), asc_shape(p));
    asc_backward(ctx, asc_sum(ctx, asc_mul(ctx, p, g), ASC_ALL_DIMS, false), asc_null(), false);
    asc_scope_end(ctx);
}

static void copy_out(asc_tensor t, double *to)
{
    asc_scope_begin(ctx);
    memcpy(to, asc_data(asc_cast(ctx, asc_detach(ctx, t), ASC_F64)), (size_t)asc_numel(t) * sizeof *to);
    asc_scope_end(ctx);
}

/* ---- as the paper has it ---- */

/* c = a [n, k] b [k, m]; b is [m, k] where tb. */
static void product(const double *a, const double *b, bool tb, double *c, int64_t n, int64_t m, int64_t k)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) {
                sum += a[i * k + l] * (tb ? b[j * k + l] : b[l * m + j]);
            }
            c[i * m + j] = sum;
        }
    }
}

static void transpose(double *x, int64_t rows, int64_t columns)
{
    double *t = malloc((size_t)(rows * columns) * sizeof *t);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            t[j * rows + i] = x[i * columns + j];
        }
    }
    memcpy(x, t, (size_t)(rows * columns) * sizeof *t);
    free(t);
}

static double norm(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

static void divide(double *x, int64_t n, double by)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] /= by;
    }
}

static void orthogonalise(double *x, int64_t rows, int64_t columns)
{
    static const double abc[3][3] = {{7.9943, -23.23, 17.1358}, {3.5163, -2.6345, 0.5266}, {2.5028, -1.8451, 0.438}};
    static double s[LARGEST], square[LARGEST], y[LARGEST];
    if (rows > columns) {
        transpose(x, rows, columns);
    }
    int64_t n = rows < columns ? rows : columns, m = rows < columns ? columns : rows;
    divide(x, n * m, norm(x, n * m)); /* so that squares are in range */
    product(x, x, true, s, n, n, m);
    product(s, s, false, square, n, n, n);
    divide(x, n * m, sqrt(sqrt(norm(square, n * n))));
    for (int round = 0; round < 3; round++) {
        product(x, x, true, s, n, n, m);
        product(s, s, false, square, n, n, n);
        for (int64_t i = 0; i < n * n; i++) {
            s[i] = abc[round][1] * s[i] + abc[round][2] * square[i];
        }
        product(s, x, false, y, n, m, n);
        for (int64_t i = 0; i < n * m; i++) {
            x[i] = abc[round][0] * x[i] + y[i];
        }
    }
    if (rows > columns) {
        transpose(x, n, m);
    }
}

/* Steps on p, whose gradients are `gradient`, one after the other. */
static void step_by_hand(double *p, double *v, const double *gradient, int64_t rows, int64_t columns, double lr)
{
    static double u[LARGEST];
    for (int64_t i = 0; i < rows * columns; i++) {
        double g = .5 * gradient[i];
        v[i] = .9 * v[i] + g;
        u[i] = g + .9 * v[i];
    }
    orthogonalise(u, rows, columns);
    double size = .2 * sqrt((double)(rows > columns ? rows : columns));
    for (int64_t i = 0; i < rows * columns; i++) {
        p[i] = p[i] * (1 - lr * .1) - lr * size * u[i];
    }
}

static const struct {
    int64_t rows, columns;
} shapes[] = {{1, 1}, {1, 7}, {9, 1}, {5, 5}, {30, 70}, {70, 30}, {64, 64}, {130, 131}, {200, 65}};

static void check_steps(asc_dtype dtype, double tolerance)
{
    static double p[LARGEST], v[LARGEST], g[LARGEST], got[LARGEST];
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        int64_t rows = shapes[k].rows, columns = shapes[k].columns;
        asc_params *params = asc_params_new(ctx);
        asc_tensor t = matrix(params, "w", dtype, rows, columns);
        asc_optim *o = asc_optim_new(
            ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON, .weight_decay = .1, .muon_momentum = .9});
        copy_out(t, p);
        memset(v, 0, sizeof v);
        for (int step = 1; step <= STEPS; step++) {
            give_gradient(t, step, 1);
            copy_out(asc_grad(t), g);
            step_by_hand(p, v, g, rows, columns, .01 * step);
            ck_assert_int_eq(asc_optim_step(o, .01 * step, .5), ASC_OK);
            asc_params_zero_grad(params);
        }
        copy_out(t, got);
        for (int64_t i = 0; i < rows * columns; i++) {
            ck_assert_msg(fabs(got[i] - p[i]) <= tolerance, "%dx%d, %d: %.17g, expected %.17g", (int)rows, (int)columns,
                          (int)i, got[i], p[i]);
        }
        asc_optim_free(o);
        asc_params_free(params);
        asc_release(t);
    }
}

START_TEST(steps_in_f64)
{
    check_steps(ASC_F64, 1e-11);
}
END_TEST

START_TEST(steps_in_f32)
{
    check_steps(ASC_F32, 2e-5);
}
END_TEST

/* What lies far below the largest singular value grows to it all the same: a step's rows, and its columns, are nearly
 * orthogonal, and none is lost. */
START_TEST(small_values_count_as_large_ones)
{
    enum { N = 40 };
    static double p[LARGEST], g[LARGEST], gram[LARGEST];
    asc_params *params = asc_params_new(ctx);
    asc_tensor t = asc_zeros(ctx, ASC_F64, ASC_SHAPE(N, N));
    asc_require_grad(t, true);
    asc_params_add(params, "w", t, true);
    asc_optim *o = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON});
    for (int64_t i = 0; i < N; i++) {
        g[i * N + i] = pow(.02, (double)i / N); /* σ from 1 to 0.02 */
    }
    asc_scope_begin(ctx);
    asc_tensor weights = asc_from(ctx, ASC_F64, g, ASC_SHAPE(N, N));
    asc_backward(ctx, asc_sum(ctx, asc_mul(ctx, t, weights), ASC_ALL_DIMS, false), asc_null(), false);
    asc_scope_end(ctx);
    ck_assert_int_eq(asc_optim_step(o, 1 / (.2 * sqrt(N)), 1), ASC_OK);
    copy_out(t, p);
    product(p, p, true, gram, N, N, N);
    for (int64_t i = 0; i < N * N; i++) {
        double expected = i % (N + 1) == 0, most = i % (N + 1) == 0 ? .45 : 1e-9; /* 1.204² - 1 */
        ck_assert_msg(fabs(gram[i] - expected) < most, "%d: %g", (int)i, gram[i]);
    }
    asc_optim_free(o);
    asc_params_free(params);
    asc_release(t);
}
END_TEST

/* ---- what is odd ---- */

/* The entries' root mean square after a step of rate 1 from 0. */
static double size_of_step(asc_tensor t, asc_optim *o, asc_params *params, double scale)
{
    static double p[LARGEST];
    memset(asc_data_mut(t), 0, (size_t)asc_numel(t) * asc_dtype_size(asc_dtype_of(t)));
    give_gradient(t, 1, scale);
    asc_optim_step(o, 1, 1);
    asc_params_zero_grad(params);
    no_error();
    copy_out(t, p);
    double sum = 0;
    for (int64_t i = 0; i < asc_numel(t); i++) {
        sum += p[i] * p[i];
    }
    return sqrt(sum / (double)asc_numel(t));
}

START_TEST(steps_have_one_size_whatever_the_gradient)
{
    static const double scales[] = {1e-41, 1e-30, 1e-12, 1, 1e12, 1e18};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        asc_params *params = asc_params_new(ctx);
        asc_tensor t = matrix(params, "w", ASC_F32, 40, 60);
        asc_optim *o = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON});
        double size = size_of_step(t, o, params, scales[k]);
        ck_assert_msg(size > .14 && size < .26, "%g: %g", scales[k], size);
        asc_optim_free(o);
        asc_params_free(params);
    }
}
END_TEST

START_TEST(a_gradient_of_zero_moves_nothing)
{
    asc_params *params = asc_params_new(ctx);
    asc_tensor t = matrix(params, "w", ASC_F32, 4, 6);
    asc_optim *o = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON});
    ck_assert_double_eq(size_of_step(t, o, params, 0), 0);
    asc_optim_free(o);
    asc_params_free(params);
}
END_TEST

START_TEST(a_gradient_that_is_not_finite_shows)
{
    static const float values[] = {NAN, INFINITY};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        asc_params *params = asc_params_new(ctx);
        asc_tensor t = matrix(params, "w", ASC_F32, 1, 1);
        asc_optim *o = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON});
        asc_scope_begin(ctx);
        asc_tensor to = asc_from(ctx, ASC_F32, &values[k], ASC_SHAPE(1, 1));
        asc_backward(ctx, asc_sum(ctx, asc_mul(ctx, t, to), ASC_ALL_DIMS, false), asc_null(), false);
        asc_scope_end(ctx);
        ck_assert_int_eq(asc_optim_step(o, 1, 1), ASC_OK);
        ck_assert(!isfinite(*(const float *)asc_data(t)));
        asc_optim_free(o);
        asc_params_free(params);
    }
}
END_TEST

/* ---- rules ---- */

static void expect_state(asc_optim *o, const char *names)
{
    char all[300] = "";
    for (int i = 0; i < asc_params_count(asc_optim_state(o)); i++) {
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", asc_params_name(asc_optim_state(o), i));
    }
    ck_assert_str_eq(all, names);
}

START_TEST(rules_by_name)
{
    asc_params *params = asc_params_new(ctx);
    matrix(params, "tok.weight", ASC_F32, 5, 3);
    matrix(params, "blocks.0.q.weight", ASC_F32, 3, 3);
    matrix(params, "blocks.1.q.weight", ASC_F32, 3, 3);
    asc_tensor bias = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3));
    asc_params_add(params, "blocks.1.q.bias", bias, false);
    const asc_rule_for rules[] = {{"tok.*", ASC_RULE_ADAMW},
                                  {"*.0.*", ASC_RULE_MUON},
                                  {"blocks.?.q.*", ASC_RULE_SGD},
                                  {"*.1.q*", ASC_RULE_MUON},
                                  {NULL, 0}};
    asc_optim *o = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON, .rules = rules});
    expect_state(o, "m.tok.weight v.tok.weight momentum.blocks.1.q.weight m.blocks.1.q.bias v.blocks.1.q.bias steps ");
    asc_optim_free(o);
    o = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_SGD, .momentum = .5});
    expect_state(o, "velocity.tok.weight velocity.blocks.0.q.weight velocity.blocks.1.q.weight "
                    "velocity.blocks.1.q.bias steps ");
    asc_optim_free(o);
    asc_params_free(params);
}
END_TEST

/* What is said to be kept, before it is, is what is kept. */
START_TEST(numbers_that_are_kept)
{
    static const asc_rule_for rules[] = {{"tok.*", ASC_RULE_ADAMW}, {NULL, 0}};
    static const struct {
        asc_optim_options options;
        double numbers;
    } kinds[] = {{{.rule = ASC_RULE_ADAMW}, 2 * 27},
                 {{.rule = ASC_RULE_SGD}, 0},
                 {{.rule = ASC_RULE_SGD, .momentum = .5, .average = .9}, 27 + 27},
                 {{.rule = ASC_RULE_MUON}, 15 + 9 + 2 * 3},
                 {{.rule = ASC_RULE_MUON, .rules = rules}, 2 * 15 + 9 + 2 * 3}};
    asc_params *params = asc_params_new(ctx);
    matrix(params, "tok.weight", ASC_F32, 5, 3);
    matrix(params, "blocks.0.q.weight", ASC_F32, 3, 3);
    asc_params_add(params, "blocks.0.q.bias", asc_zeros(ctx, ASC_F32, ASC_SHAPE(3)), false);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        asc_optim *o = asc_optim_new(ctx, params, &kinds[i].options);
        int64_t kept = asc_params_numel(asc_optim_state(o)) - asc_params_count(params); /* less the steps */
        ck_assert_double_eq(asc_optim_numbers(params, &kinds[i].options), kinds[i].numbers);
        ck_assert_double_eq((double)kept, kinds[i].numbers);
        asc_optim_free(o);
    }
    asc_params_free(params);
}
END_TEST

START_TEST(rules_that_are_none)
{
    asc_params *params = asc_params_new(ctx);
    matrix(params, "a.weight", ASC_F32, 3, 3);
    ck_assert_ptr_null(asc_optim_new(ctx, params, &(asc_optim_options){.rule = (asc_rule)7}));
    expect_error(ASC_ERR_ARG, "optim_new: rule is 7, expected one of asc_rule");
    const asc_rule_for unknown[] = {{"a.*", (asc_rule)9}, {NULL, 0}}, typo[] = {{"*wieght", ASC_RULE_MUON}, {NULL, 0}};
    ck_assert_ptr_null(asc_optim_new(ctx, params, &(asc_optim_options){.rules = unknown}));
    expect_error(ASC_ERR_ARG, "optim_new: rules: the rule of 'a.*' is 9, expected one of asc_rule");
    ck_assert_ptr_null(asc_optim_new(ctx, params, &(asc_optim_options){.rules = typo}));
    expect_error(ASC_ERR_ARG, "optim_new: rules: no parameter has a name like '*wieght'");
    asc_params_free(params);
}
END_TEST

static asc_tensor trained(asc_params *params, asc_optim **optim)
{
    char name[20];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "w%d", i);
        matrix(params, name, ASC_F32, 20 + 13 * i, 60 - 11 * i);
    }
    *optim = asc_optim_new(ctx, params, &(asc_optim_options){.rule = ASC_RULE_MUON, .weight_decay = .1});
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < 5; i++) {
            give_gradient(asc_params_at(params, i), 10 * step + i, 1);
        }
        asc_optim_step(*optim, .02, 1);
        asc_params_zero_grad(params);
    }
    return asc_params_at(params, 2);
}

static void train(asc_tensor *result, int i)
{
    (void)i;
    asc_params *params = asc_params_new(ctx);
    asc_optim *o;
    trained(params, &o);
    for (int k = 0; k < 5; k++) {
        result[k] = asc_keep(asc_params_at(params, k));
    }
    asc_optim_free(o);
    asc_params_free(params);
}

START_TEST(any_number_of_threads)
{
    same_for_threads(train, 0);
}
END_TEST

START_TEST(steps_that_repeat_allocate_nothing)
{
    asc_params *params = asc_params_new(ctx);
    asc_optim *o;
    asc_tensor t = trained(params, &o);
    give_gradient(t, 1, 1);
    uint64_t before = asc_memory(ctx).allocations;
    ck_assert_int_eq(asc_optim_step(o, .1, 1), ASC_OK);
    ck_assert_uint_eq(asc_memory(ctx).allocations, before);
    ck_assert_int_eq(asc_set_threads(ctx, 5), ASC_OK);
    ck_assert_int_eq(asc_optim_step(o, .1, 1), ASC_OK);
    asc_optim_free(o);
    asc_params_free(params);
}
END_TEST

/* ---- failing allocations ---- */

static double live(void)
{
    asc_scope_begin(ctx);
    asc_params *params = asc_params_new(ctx);
    asc_optim *o = NULL;
    asc_tensor t = trained(params, &o);
    double value = asc_error(ctx) ? 0 : ((const float *)asc_data(t))[0];
    asc_optim_free(o);
    asc_params_free(params);
    asc_scope_end(ctx);
    return value;
}

START_TEST(failing_allocations)
{
    ck_assert_int_gt(fail_each_allocation(live, false), 20);
    fail_each_allocation(live, true);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("muon");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, steps_in_f64);
    tcase_add_test(t, steps_in_f32);
    tcase_add_test(t, small_values_count_as_large_ones);
    tcase_add_test(t, steps_have_one_size_whatever_the_gradient);
    tcase_add_test(t, a_gradient_of_zero_moves_nothing);
    tcase_add_test(t, a_gradient_that_is_not_finite_shows);
    tcase_add_test(t, rules_by_name);
    tcase_add_test(t, numbers_that_are_kept);
    tcase_add_test(t, rules_that_are_none);
    tcase_add_test(t, any_number_of_threads);
    tcase_add_test(t, steps_that_repeat_allocate_nothing);
    tcase_add_test(t, failing_allocations);
    return run_suite("muon", t);
}
