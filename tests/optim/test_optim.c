/* tests/optim/test_optim.c: optimisers against the formulas written out, clipping and schedules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/op.h>
#include <ascgrad/optim.h>
#include <ascgrad/ops.h>

#include "tests/context.h"

enum { STEPS = 5 };

static asc_params *params;

static void setup_params(void)
{
    setup();
    params = asc_params_new(ctx);
    ck_assert_ptr_nonnull(params);
}

static void teardown_params(void)
{
    asc_params_free(params);
    teardown();
}

static asc_tensor parameter(const char *name, asc_dtype dtype, int64_t n, uint64_t stream, bool decay)
{
    asc_tensor t = asc_normal(ctx, dtype, 0, 1, 1, stream, 1, &n);
    ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
    ck_assert_int_eq(asc_params_add(params, name, t, decay), ASC_OK);
    return t;
}

/* Gives p the gradient g: that of x pᵀ for one row x = g. */
static void give_gradient(asc_tensor p, const double *g)
{
    int64_t n = asc_numel(p);
    asc_scope_begin(ctx);
    asc_tensor row = asc_empty(ctx, asc_dtype_of(p), 2, (int64_t[]){1, n});
    for (int64_t i = 0; i < n; i++) {
        if (asc_dtype_of(p) == ASC_F32) {
            ((float *)asc_data_mut(row))[i] = (float)g[i];
        } else {
            ((double *)asc_data_mut(row))[i] = g[i];
        }
    }
    asc_tensor y = asc_linear(ctx, p, row, asc_null());
    ck_assert_msg(asc_backward(ctx, y, asc_null(), false) == ASC_OK, "%s", asc_error_message(ctx));
    asc_scope_end(ctx);
}

static double gradient(int step, int64_t i)
{
    return sin(1.7 * step + .3 * (double)i) * (i % 3 ? 1 : 1e-3);
}

/* AdamW as PyTorch's documentation states it, on one element. */
static double adamw(double p, int64_t i, double decay, double scale)
{
    double m = 0, v = 0;
    for (int t = 1; t <= STEPS; t++) {
        double g = gradient(t, i) * scale, lr = 1e-2 * t;
        p -= lr * decay * p;
        m = .9 * m + .1 * g;
        v = .999 * v + .001 * g * g;
        p -= lr * (m / (1 - pow(.9, t))) / (sqrt(v / (1 - pow(.999, t))) + 1e-8);
    }
    return p;
}

static void check_adamw(asc_dtype dtype, double tolerance)
{
    enum { LENGTH = 70001 }; /* more than one piece */
    asc_tensor p = parameter("p", dtype, LENGTH, 1, true), q = parameter("q", dtype, 3, 2, false);
    asc_tensor idle = parameter("idle", dtype, 4, 3, true);
    asc_tensor p0 = asc_cast(ctx, asc_detach(ctx, p), ASC_F64), q0 = asc_cast(ctx, asc_detach(ctx, q), ASC_F64);
    double still = ((const double *)asc_data(asc_cast(ctx, asc_detach(ctx, idle), ASC_F64)))[0];
    double *start = malloc(LENGTH * sizeof *start), *g = malloc(LENGTH * sizeof *g), q_start[3];
    memcpy(start, asc_data(p0), LENGTH * sizeof *start);
    memcpy(q_start, asc_data(q0), sizeof q_start);
    asc_optim *o = asc_adamw_new(ctx, params, &(asc_adamw_options){.weight_decay = .1});
    ck_assert_int_eq(asc_params_count(asc_optim_state(o)), 7);
    for (int t = 1; t <= STEPS; t++) {
        for (int64_t i = 0; i < LENGTH; i++) {
            g[i] = gradient(t, i);
        }
        give_gradient(p, g);
        give_gradient(q, g);
        ck_assert_int_eq(asc_optim_step(o, 1e-2 * t, .5), ASC_OK);
        asc_params_zero_grad(params);
    }
    const double *p1 = asc_data(asc_cast(ctx, asc_detach(ctx, p), ASC_F64));
    const double *q1 = asc_data(asc_cast(ctx, asc_detach(ctx, q), ASC_F64));
    for (int64_t i = 0; i < LENGTH; i++) {
        ck_assert_double_eq_tol(p1[i], adamw(start[i], i, .1, .5), tolerance);
    }
    for (int64_t i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(q1[i], adamw(q_start[i], i, 0, .5), tolerance);
    }
    ck_assert_double_eq(((const double *)asc_data(asc_cast(ctx, asc_detach(ctx, idle), ASC_F64)))[0], still);
    const int64_t *steps = asc_data(asc_params_find(asc_optim_state(o), "steps"));
    ck_assert_int_eq(steps[0], STEPS);
    ck_assert_int_eq(steps[2], 0);
    asc_optim_free(o);
    free(start);
    free(g);
}

START_TEST(adamw_f64)
{
    check_adamw(ASC_F64, 1e-14);
}
END_TEST

START_TEST(adamw_f32)
{
    check_adamw(ASC_F32, 2e-6); /* five roundings of values of about 1 to 4 */
}
END_TEST

START_TEST(sgd_with_momentum_and_decay)
{
    asc_tensor p = parameter("p", ASC_F64, 3, 1, true);
    double want[3], v[3] = {0}, g[3];
    memcpy(want, asc_data(p), sizeof want);
    asc_optim *o = asc_sgd_new(ctx, params, .9, .01);
    for (int t = 1; t <= STEPS; t++) {
        for (int64_t i = 0; i < 3; i++) {
            g[i] = gradient(t, i);
            v[i] = .9 * v[i] + 2 * g[i] + .01 * want[i];
            want[i] -= .1 * v[i];
        }
        give_gradient(p, g);
        ck_assert_int_eq(asc_optim_step(o, .1, 2), ASC_OK);
        asc_params_zero_grad(params);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(((const double *)asc_data(p))[i], want[i], 1e-14);
    }
    asc_optim_free(o);
}
END_TEST

START_TEST(groups)
{
    asc_tensor a = parameter("layers.0.weight", ASC_F64, 2, 1, true);
    asc_tensor b = parameter("layers.1.weight", ASC_F64, 2, 2, true);
    asc_tensor c = parameter("head", ASC_F64, 2, 3, false);
    double before[3] = {((const double *)asc_data(a))[0], ((const double *)asc_data(b))[0],
                        ((const double *)asc_data(c))[0]};
    asc_optim *o = asc_sgd_new(ctx, params, 0, .5);
    ck_assert_int_eq(asc_optim_group(o, "layers.*", .1, 0), 2);
    ck_assert_int_eq(asc_optim_group(o, "layers.?.weight", .1, 0), 2);
    ck_assert_int_eq(asc_optim_group(o, "layers.1*", 0, 9), 1);
    double g[2] = {1, 1};
    give_gradient(a, g);
    give_gradient(b, g);
    give_gradient(c, g);
    ck_assert_int_eq(asc_optim_step(o, 1, 1), ASC_OK);
    ck_assert_double_eq_tol(((const double *)asc_data(a))[0], before[0] - .1, 1e-15);
    ck_assert_double_eq(((const double *)asc_data(b))[0], before[1]);
    ck_assert_double_eq_tol(((const double *)asc_data(c))[0], before[2] - 1, 1e-15);
    ck_assert_int_eq(asc_optim_group(o, "none", 1, 0), 0);
    expect_error(ASC_ERR_ARG, "optim_group: no parameter has a name like 'none'");
    asc_optim_free(o);
    parameter("w[0]", ASC_F64, 2, 1, true);
    parameter("a\\b", ASC_F64, 2, 1, true);
    o = asc_sgd_new(ctx, params, 0, 0);
    ck_assert_int_eq(asc_optim_group(o, "w[0]", 0, 0), 1); /* by its own name */
    ck_assert_int_eq(asc_optim_group(o, "a\\b", 0, 0), 1);
    ck_assert_int_eq(asc_optim_group(o, "layers.[0-9].weight", 0, 0), 2);
    asc_optim_free(o);
}
END_TEST

/* Two optimisers that divide the parameters change them as one does; each keeps what the other does not. */
START_TEST(shares_change_what_is_theirs)
{
    asc_tensor a = parameter("a", ASC_F64, 9, 1, true), b = parameter("b", ASC_F64, 4, 2, true);
    asc_tensor c = parameter("c", ASC_F64, 5, 3, true);
    double start = ((const double *)asc_data(a))[0], g[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    asc_optim *o[2];
    for (int i = 0; i < 2; i++) {
        o[i] = asc_optim_new(ctx, params, &(asc_optim_options){.average = .5, .share = i, .shares = 2});
        ck_assert_int_eq(asc_optim_share_of(o[i], 0), 0); /* the largest; the two others are as large together */
        ck_assert_int_eq(asc_optim_share_of(o[i], 1), 1);
        ck_assert_int_eq(asc_optim_share_of(o[i], 2), 1);
        ck_assert_int_eq(asc_optim_share_of(o[i], 3), -1);
    }
    ck_assert_int_eq(asc_params_numel(asc_optim_state(o[0])), 3 * 9 + 3);
    ck_assert_int_eq(asc_params_numel(asc_optim_state(o[1])), 3 * (4 + 5) + 3);
    give_gradient(a, g);
    give_gradient(b, g);
    double before = ((const double *)asc_data(b))[0], idle = ((const double *)asc_data(c))[0];
    ck_assert_int_eq(asc_optim_step(o[0], 1e-2, 1), ASC_OK);
    ck_assert_double_eq(((const double *)asc_data(b))[0], before);
    ck_assert_int_eq(asc_optim_step(o[1], 1e-2, 1), ASC_OK);
    ck_assert_double_eq_tol(((const double *)asc_data(a))[0], start - 1e-2, 1e-9);
    ck_assert_double_eq_tol(((const double *)asc_data(b))[0], before - 1e-2, 1e-9);
    ck_assert_double_eq(((const double *)asc_data(c))[0], idle);
    const int64_t *steps = asc_data(asc_params_find(asc_optim_state(o[0]), "steps"));
    ck_assert(steps[0] == 1 && steps[1] == 1 && steps[2] == 0);
    asc_optim_free(o[0]);
    asc_optim_free(o[1]);
    ck_assert_ptr_null(asc_optim_new(ctx, params, &(asc_optim_options){.share = 2, .shares = 2}));
    expect_error(ASC_ERR_ARG, "optim_new: share is 2, expected 0 to below shares");
    ck_assert_int_eq(asc_optim_share_of(NULL, 0), -1);
}
END_TEST

/* A list may hold masks and counters, too: steps and means leave them as they are. */
START_TEST(integers_have_no_mean)
{
    asc_tensor w = parameter("w", ASC_F32, 3, 1, true), mask = asc_full(ctx, ASC_U8, 1, ASC_SHAPE(5));
    ck_assert_int_eq(asc_params_add(params, "mask", mask, false), ASC_OK);
    asc_optim *o = asc_optim_new(ctx, params, &(asc_optim_options){.average = .5});
    ck_assert(!asc_is_null(asc_params_find(asc_optim_state(o), "average.w")));
    ck_assert(asc_is_null(asc_params_find(asc_optim_state(o), "average.mask")));
    give_gradient(w, (double[]){1, 2, 3});
    ck_assert_int_eq(asc_optim_step(o, 1e-2, 1), ASC_OK);
    ck_assert_int_eq(asc_optim_average(o), ASC_OK);
    const float alone[] = {INFINITY, 1e-9F};
    for (int i = 0; i < 2; i++) { /* of one step it is w itself, whatever stood there before */
        ((float *)asc_data_mut(w))[0] = alone[i];
        ck_assert_int_eq(asc_optim_average(o), ASC_OK);
    }
    ((float *)asc_data_mut(w))[0] = 2;
    ck_assert_int_eq(asc_optim_swap_average(o), ASC_OK);
    ck_assert_float_eq(((const float *)asc_data(w))[0], 1e-9F);
    ck_assert_int_eq(asc_optim_average(o), ASC_ERR_STATE); /* they stand in the parameters' place */
    asc_error_clear(ctx);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(((const uint8_t *)asc_data(mask))[i], 1);
    }
    asc_optim_free(o);
}
END_TEST

START_TEST(norm_and_clipping)
{
    enum { LENGTH = 300000 };
    asc_tensor p = parameter("p", ASC_F32, LENGTH, 1, true), q = parameter("q", ASC_F32, 2, 2, true);
    double *g = malloc(LENGTH * sizeof *g);
    for (int i = 0; i < LENGTH; i++) {
        g[i] = 2;
    }
    ck_assert_double_eq(asc_grad_norm(ctx, params), 0);
    give_gradient(p, g);
    give_gradient(q, g);
    double norm = asc_grad_norm(ctx, params);
    ck_assert_double_eq_tol(norm, 2 * sqrt(LENGTH + 2), 1e-9);
    ck_assert_double_eq_tol(asc_clip_scale(norm, 1), 1 / (norm + 1e-6), 1e-15);
    ck_assert_double_eq(asc_clip_scale(.5, 1), 1);
    ck_assert_double_eq(asc_clip_scale(1e9, 0), 1);
    free(g);
    static const double wrong[] = {(double)NAN, (double)INFINITY};
    float was = ((const float *)asc_data(q))[0];
    asc_optim *o = asc_optim_new(ctx, params, NULL);
    for (int i = 0; i < 2; i++) {
        asc_zero_grad(q);
        give_gradient(q, (double[]){2, wrong[i]});
        for (int clip = 0; clip <= 1; clip++) {
            double scale = asc_clip_scale(asc_grad_norm(ctx, params), clip);
            ck_assert_double_nan(scale);
            ck_assert_int_eq(asc_optim_step(o, 1, scale), ASC_ERR_ARG);
            expect_error_with(ASC_ERR_ARG, "grad_scale is nan");
        }
    }
    ck_assert_double_nan(asc_clip_scale(2, NAN));
    ck_assert_float_eq(((const float *)asc_data(q))[0], was);
    asc_optim_free(o);
}
END_TEST

START_TEST(schedules)
{
    asc_schedule s = {.decay = ASC_DECAY_COSINE, .lr = 1e-3, .min_lr = 1e-4, .warmup = 10, .steps = 110};
    ck_assert_double_eq_tol(asc_lr_at(&s, 0), 1e-4, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, -3), 1e-4, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 9), 1e-3, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 10), 1e-3, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 60), 5.5e-4, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 110), 1e-4, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 500), 1e-4, 1e-18);
    s.decay = ASC_DECAY_LINEAR;
    ck_assert_double_eq_tol(asc_lr_at(&s, 35), 1e-3 - .25 * 9e-4, 1e-18);
    s.decay = ASC_DECAY_CONSTANT;
    ck_assert_double_eq_tol(asc_lr_at(&s, 400), 1e-3, 1e-18);
    s.decay = ASC_DECAY_WSD;
    s.fall = 40;
    ck_assert_double_eq_tol(asc_lr_at(&s, 4), 5e-4, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 70), 1e-3, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 80), 5.5e-4, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 200), 1e-4, 1e-18);
    s.fall = 500; /* more than there are: from the warm-up's end */
    ck_assert_double_eq_tol(asc_lr_at(&s, 35), 5.5e-4, 1e-18);
    s.fall = 0;
    ck_assert_double_eq_tol(asc_lr_at(&s, 109), 1e-3, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 110), 1e-4, 1e-18);
    s.decay = ASC_DECAY_LINEAR;
    s.warmup = 110;
    ck_assert_double_eq_tol(asc_lr_at(&s, 109), 1e-3, 1e-18);
    ck_assert_double_eq_tol(asc_lr_at(&s, 110), 1e-4, 1e-18);
}
END_TEST

START_TEST(a_step_after_the_forward_pass_is_noticed)
{
    asc_tensor p = parameter("p", ASC_F64, 3, 1, true);
    asc_optim *o = asc_sgd_new(ctx, params, 0, 0);
    double g[3] = {1, 2, 3};
    give_gradient(p, g);
    asc_tensor w = asc_normal(ctx, ASC_F64, 0, 1, 1, 9, ASC_SHAPE(1, 3));
    ck_assert_int_eq(asc_require_grad(w, true), ASC_OK);
    asc_tensor y = asc_linear(ctx, p, w, asc_null());
    ck_assert_int_eq(asc_optim_step(o, .1, 1), ASC_OK);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_ERR_STATE);
    ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "overwritten"));
    asc_optim_free(o);
}
END_TEST

/* ---- arguments ---- */

START_TEST(numbers_out_of_range_are_refused_by_name)
{
    parameter("p", ASC_F64, 3, 1, true);
    static const struct {
        asc_adamw_options given;
        const char *subject, *message;
    } wrong[] = {
        {{.beta1 = 2}, "beta1", "adamw_new: beta1 is 2, expected 0 to below 1"},
        {{.beta1 = NAN}, "beta1", "adamw_new: beta1 is nan, expected 0 to below 1"},
        {{.beta2 = 1}, "beta2", "adamw_new: beta2 is 1, expected 0 to below 1"},
        {{.eps = 1e300}, "eps", "adamw_new: eps is 1e+300, expected a number from 0 to 1e18"},
        {{.eps = -1e-8}, "eps", "adamw_new: eps is -1e-08, expected a number from 0 to 1e18"},
        {{.weight_decay = INFINITY}, "weight_decay",
         "adamw_new: weight_decay is inf, expected a number from 0 to 1e18"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_ptr_null(asc_adamw_new(ctx, params, &wrong[i].given));
        ck_assert_str_eq(asc_error_subject(ctx), wrong[i].subject);
        expect_error(ASC_ERR_ARG, wrong[i].message);
    }
    ck_assert_ptr_null(asc_sgd_new(ctx, params, -.5, 0));
    expect_error(ASC_ERR_ARG, "sgd_new: momentum is -0.5, expected 0 to below 1");
    ck_assert_ptr_null(asc_optim_new(ctx, params, &(asc_optim_options){.average = 1}));
    expect_error(ASC_ERR_ARG, "optim_new: average is 1, expected 0 to below 1");
    ck_assert_ptr_null(asc_sgd_new(ctx, params, 0, -1));
    expect_error(ASC_ERR_ARG, "sgd_new: weight_decay is -1, expected a number from 0 to 1e18");
    asc_ctx *other = asc_ctx_new(NULL);
    ck_assert_ptr_null(asc_sgd_new(other, params, 0, 0));
    ck_assert_str_eq(asc_error_message(other), "sgd_new: params belongs to another context");
    asc_ctx_free(other);

    asc_optim *o = asc_sgd_new(ctx, params, .5, 0);
    ck_assert_int_eq(asc_optim_group(o, "*", NAN, 0), 0);
    expect_error(ASC_ERR_ARG, "optim_group: lr_scale is nan, expected a number of at most 1e18");
    ck_assert_int_eq(asc_optim_group(o, "*", 1, INFINITY), 0);
    expect_error(ASC_ERR_ARG, "optim_group: weight_decay is inf, expected a number of at most 1e18");

    asc_fail(ctx, ASC_ERR_IO, "earlier"); /* the first error stays as it is */
    ck_assert_ptr_null(asc_sgd_new(ctx, params, -.5, 0));
    expect_error(ASC_ERR_IO, "earlier");
    asc_optim_free(o);
}
END_TEST

/* The step fails and changes neither parameters nor state. */
static void expect_unchanged(asc_optim *o, double lr, double grad_scale, asc_status status)
{
    double p[2][3];
    const asc_tensor at[] = {asc_params_at(params, 0), asc_params_find(asc_optim_state(o), "velocity.p")};
    int64_t steps = *(const int64_t *)asc_data(asc_params_find(asc_optim_state(o), "steps"));
    for (int i = 0; i < 2; i++) {
        memcpy(p[i], asc_data(at[i]), sizeof p[i]);
    }
    ck_assert_int_eq(asc_optim_step(o, lr, grad_scale), status);
    for (int i = 0; i < 2; i++) {
        ck_assert_mem_eq(p[i], asc_data(at[i]), sizeof p[i]);
    }
    ck_assert_int_eq(*(const int64_t *)asc_data(asc_params_find(asc_optim_state(o), "steps")), steps);
}

START_TEST(a_tensor_under_two_names)
{
    asc_tensor w = parameter("enc.emb", ASC_F32, 3, 1, true);
    parameter("enc.out", ASC_F32, 3, 2, true);
    ck_assert_int_eq(asc_params_add(params, "head.weight", w, true), ASC_OK); /* to be saved under both */
    ck_assert_ptr_null(asc_sgd_new(ctx, params, 0, 0));
    expect_error(ASC_ERR_ARG, "sgd_new: params: 'head.weight' is the same tensor as 'enc.emb', expected each once");
    ck_assert_ptr_null(asc_adamw_new(ctx, params, NULL));
    expect_error_with(ASC_ERR_ARG, "adamw_new: params: 'head.weight'");
}
END_TEST

/* It would collect no gradient, and never change. */
START_TEST(an_ops_result_is_no_parameter)
{
    asc_tensor w = parameter("w", ASC_F32, 3, 1, true);
    ck_assert(asc_is_leaf(w));
    asc_tensor scaled = asc_scale(ctx, w, 0.1);
    ck_assert(!asc_is_leaf(scaled) && asc_is_leaf(asc_detach(ctx, scaled)) && !asc_is_leaf(asc_null()));
    asc_params_add(params, "scaled", scaled, true);
    ck_assert_ptr_null(asc_sgd_new(ctx, params, 0, 0));
    expect_error(ASC_ERR_ARG, "sgd_new: params: an op made 'scaled', expected a leaf");
}
END_TEST

/* A list's reference is its own: whoever releases a tensor lets go of what is his. */
START_TEST(a_list_holds_what_its_maker_releases)
{
    asc_scope_begin(ctx);
    asc_tensor w = parameter("w", ASC_F32, 3, 1, true);
    asc_release(w);
    asc_release(w);
    asc_scope_end(ctx);
    ck_assert(asc_is_valid(w));
    asc_params_free(params);
    ck_assert(!asc_is_valid(w));
    params = asc_params_new(ctx);
}
END_TEST

START_TEST(names_may_be_long)
{
    char name[1100];
    for (int i = 0; i < 2; i++) {
        memset(name, 'a', 500);
        snprintf(name + 500, 10, "%d", i);
        parameter(name, ASC_F32, 3, 1, true);
    }
    asc_optim *o = asc_adamw_new(ctx, params, NULL);
    no_error();
    asc_optim_free(o);
    memset(name, 'b', sizeof name);
    name[1099] = '\0';
    parameter(name, ASC_F32, 3, 1, true);
    ck_assert_ptr_null(asc_adamw_new(ctx, params, NULL));
    expect_error_with(ASC_ERR_ARG, "has 1099 bytes, expected at most 1097");
}
END_TEST

START_TEST(a_step_that_is_refused_changes_nothing)
{
    asc_tensor p = parameter("p", ASC_F64, 3, 1, true);
    asc_optim *o = asc_sgd_new(ctx, params, .5, 0);
    give_gradient(p, (double[]){1, 2, 3});
    ck_assert_int_eq(asc_optim_step(o, .1, 1), ASC_OK);
    expect_unchanged(o, NAN, 1, ASC_ERR_ARG);
    ck_assert_str_eq(asc_error_subject(ctx), "lr");
    expect_error(ASC_ERR_ARG, "optim_step: lr is nan, expected a number from 0 to 1e18");
    expect_unchanged(o, INFINITY, 1, ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "optim_step: lr is inf, expected a number from 0 to 1e18");
    expect_unchanged(o, 1e300, 1, ASC_ERR_ARG); /* which float32 has no room for */
    expect_error(ASC_ERR_ARG, "optim_step: lr is 1e+300, expected a number from 0 to 1e18");
    expect_unchanged(o, .1, -1e300, ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "optim_step: grad_scale is -1e+300, expected a number from -1e18 to 1e18");
    asc_optim_group(o, "p", 1e10, -1);
    expect_unchanged(o, 1e10, 1, ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG,
                 "optim_step: lr is 1e+10 and a group's scale of it 1e+10, expected at most 1e18 in all");
    asc_optim_group(o, "p", 1, -1);
    expect_unchanged(o, -.1, 1, ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "optim_step: lr is -0.1, expected a number from 0 to 1e18");
    expect_unchanged(o, .1, NAN, ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "optim_step: grad_scale is nan, expected a number from -1e18 to 1e18");

    asc_fail(ctx, ASC_ERR_NONFINITE, "of a backward pass");
    expect_unchanged(o, .1, 1, ASC_ERR_NONFINITE);
    expect_error(ASC_ERR_NONFINITE, "of a backward pass");

    asc_tensor wide = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3)), across = asc_transpose(ctx, wide, 0, 1);
    asc_optim_free(o);
    asc_require_grad(across, true);
    asc_params_add(params, "across", across, true); /* behind one that would move */
    o = asc_sgd_new(ctx, params, .5, 0);
    asc_backward(ctx, asc_sum(ctx, across, ASC_ALL_DIMS, false), asc_null(), false);
    expect_unchanged(o, .1, 1, ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "optim_step: across is not contiguous");
    asc_optim_free(o);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("optim");
    tcase_add_checked_fixture(t, setup_params, teardown_params);
    tcase_add_test(t, adamw_f64);
    tcase_add_test(t, adamw_f32);
    tcase_add_test(t, sgd_with_momentum_and_decay);
    tcase_add_test(t, groups);
    tcase_add_test(t, shares_change_what_is_theirs);
    tcase_add_test(t, integers_have_no_mean);
    tcase_add_test(t, norm_and_clipping);
    tcase_add_test(t, schedules);
    tcase_add_test(t, a_step_after_the_forward_pass_is_noticed);
    tcase_add_test(t, numbers_out_of_range_are_refused_by_name);
    tcase_add_test(t, a_step_that_is_refused_changes_nothing);
    tcase_add_test(t, a_tensor_under_two_names);
    tcase_add_test(t, an_ops_result_is_no_parameter);
    tcase_add_test(t, a_list_holds_what_its_maker_releases);
    tcase_add_test(t, names_may_be_long);
    return run_suite("optim", t);
}
