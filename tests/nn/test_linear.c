/* tests/nn/test_linear.c: linear attention and the gated recurrence: the fused layers are the composed ones; large
 * scores, states and settings. */
#include <ascgrad/optim.h>

#include "tests/nn/fused.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const struct {
    const char *mixing, *settings;
} forms[] = {
    {"linear", "{\"heads\": 2"},
    {"linear", "{\"heads\": 3, \"decay\": \"fixed\""},
    {"linear", "{\"heads\": 2, \"decay\": \"gated\""},
    {"linear", "{\"heads\": 1, \"feature\": \"favor\", \"features\": 7"},
    {"linear", "{\"heads\": 2, \"feature\": \"favor\", \"decay\": \"gated\""},
    {"linear", "{\"heads\": 2, \"mask\": \"full\""},
    {"linear", "{\"heads\": 3, \"mask\": \"full\", \"feature\": \"favor\", \"features\": 3"},
    {"recurrent", "{\"inner\": 70, \"width\": 3"},
    {"recurrent", "{\"inner\": 5, \"width\": 1"},
};

/* A chunk has 64 tokens. */
static const int64_t sizes[] = {1, 2, 63, 64, 65, 150};

static void compare(int form, asc_dtype dtype, double size, double tolerance)
{
    bool full = strstr(forms[form].settings, "full");
    for (int i = 0; i < COUNT(sizes); i++) {
        int64_t n[] = {sizes[i], 1, 0, 1, (sizes[i] + 1) / 2, 1}, B = 3;
        asc_scope_begin(ctx);
        asc_tensor lengths = asc_null(); /* a view, of every other number */
        if (full && i % 2) {
            lengths = asc_slice(ctx, asc_from(ctx, ASC_I64, n, ASC_SHAPE(6)), 0, 0, 6, 2);
        }
        compare_with_composed(&(subject){forms[form].mixing, forms[form].settings, B, sizes[i], 12, lengths, size},
                              dtype, tolerance);
        asc_scope_end(ctx);
    }
}

START_TEST(fused_is_composed)
{
    compare(_i, ASC_F64, .5, 1e-9);
}
END_TEST

START_TEST(fused_is_composed_in_f32)
{
    compare(_i, ASC_F32, .3, 2e-3);
}
END_TEST

/* Keys and queries along the rows of W have features of e^128 and more, which float does not hold: the values, and the
 * gradient of v, are those of double. */
START_TEST(large_features_stay_within_float)
{
    enum { N = 130, M = 8, DIM = 256 };
    const asc_linear_attention_options options = {.heads = 1, .feature = ASC_FEATURE_FAVOR, .eps = 1e-6};
    asc_tensor y[2], dv[2];
    for (int f = 0; f < 2; f++) {
        asc_dtype dtype = f ? ASC_F64 : ASC_F32;
        int64_t row[N];
        for (int i = 0; i < N; i++) {
            row[i] = (i * 5 + i / 9) % M;
        }
        asc_tensor W = asc_cast(ctx, asc_normal(ctx, ASC_F32, 0, 1, 5, 5, ASC_SHAPE(M, DIM)), dtype);
        asc_tensor x = asc_embedding(ctx, asc_scale(ctx, W, 4), asc_from(ctx, ASC_I64, row, ASC_SHAPE(1, N)));
        asc_tensor v = asc_cast(ctx, asc_normal(ctx, ASC_F32, 0, 1, 6, 6, ASC_SHAPE(1, N, 3)), dtype);
        asc_require_grad(v, true);
        asc_linear_attention_inputs in = {.q = x, .k = x, .v = v, .features = W};
        in.forget = in.lengths = in.initial = asc_null();
        y[f] = asc_linear_attention(ctx, &in, &options, NULL);
        ck_assert_int_eq(asc_backward(ctx, asc_sum(ctx, y[f], ASC_ALL_DIMS, false), asc_null(), false), ASC_OK);
        dv[f] = asc_grad(v);
    }
    ck_assert(largest(y[1]) > .1 && largest(dv[1]) > .1);
    ck_assert_double_lt(difference(y[0], y[1], 0), 2e-3);
    ck_assert_double_lt(difference(dv[0], dv[1], 0), 2e-3);
}
END_TEST

/* With q and k of 0 all tokens since the state was last forgotten count alike. */
START_TEST(a_state_is_forgotten_whole)
{
    static const double logit[] = {-1e3, -1e12, -3e38, -INFINITY};
    asc_linear_attention_options options = {.heads = 1, .eps = 1e-9};
    for (int i = 0; i < 2 * COUNT(logit); i++) {
        asc_scope_begin(ctx);
        asc_dtype dtype = i % 2 ? ASC_F32 : ASC_F64;
        asc_tensor zero = asc_zeros(ctx, dtype, ASC_SHAPE(1, 4, 1));
        asc_tensor given[] = {
            asc_from(ctx, ASC_F64, ((double[]){1, 2, 3, 4}), ASC_SHAPE(1, 4, 1)),
            asc_from(ctx, ASC_F64, ((double[]){INFINITY, logit[i / 2], INFINITY, INFINITY}), ASC_SHAPE(1, 4, 1))};
        asc_tensor v = asc_empty(ctx, dtype, ASC_SHAPE(1, 4, 1)), forget = asc_empty(ctx, dtype, ASC_SHAPE(1, 4, 1));
        asc_copy(ctx, v, given[0]);
        asc_copy(ctx, forget, given[1]);
        asc_require_grad(v, true);
        asc_tensor y = asc_linear_attention(ctx, &(asc_linear_attention_inputs){.q = zero, .k = zero, .v = v,
                                                                                .forget = forget}, &options, NULL);
        asc_backward(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false), asc_null(), false);
        no_error();
        static const double expected[] = {1, 2, 2.5, 3}, grad[] = {1, 1 + 1. / 2 + 1. / 3, 1. / 2 + 1. / 3, 1. / 3};
        const double *got = asc_data(asc_cast(ctx, y, ASC_F64));
        const double *got_grad = asc_data(asc_cast(ctx, asc_grad(v), ASC_F64));
        for (int n = 0; n < 4; n++) {
            ck_assert_double_eq_tol(got[n], expected[n], 1e-6);
            ck_assert_double_eq_tol(got_grad[n], grad[n], 1e-6);
        }
        asc_scope_end(ctx);
    }
}
END_TEST

/* exp(-‖x̂‖²/2) of keys and queries of 1e5 is 0 beside ε, also in float, whose levels lie 1,000 apart there. */
START_TEST(features_of_far_keys_vanish)
{
    enum { N = 130, M = 8, DIM = 24 };
    for (int full = 0; full < 2; full++) {
        const asc_linear_attention_options options = {
            .heads = 1, .feature = ASC_FEATURE_FAVOR, .eps = 1e-6, .full = full};
        asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1e5, 3, 1, ASC_SHAPE(1, N, DIM));
        asc_tensor v = asc_normal(ctx, ASC_F32, 0, 1, 3, 2, ASC_SHAPE(1, N, 3));
        asc_require_grad(x, true);
        asc_linear_attention_inputs in = {.q = x, .k = x, .v = v};
        in.features = asc_normal(ctx, ASC_F32, 0, 1, 3, 3, ASC_SHAPE(M, DIM));
        in.forget = in.lengths = in.initial = asc_null();
        asc_tensor y = asc_linear_attention(ctx, &in, &options, NULL);
        ck_assert_int_eq(asc_backward(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false), asc_null(), false), ASC_OK);
        ck_assert_double_eq(largest(y), 0);
        ck_assert_double_eq(largest(asc_grad(x)), 0);
    }
}
END_TEST

static asc_layer *favor_layer(uint64_t seed)
{
    return asc_layer_new(ctx, "linear", 8, "{\"heads\": 2, \"feature\": \"favor\", \"features\": 10}", ASC_F64, seed);
}

static const double *features_of(asc_layer *l)
{
    return asc_data(asc_params_find(asc_layer_params(l), "features.weight"));
}

/* The random features are orthogonal in groups of d, the same for a seed, and no step changes them. */
START_TEST(features_are_orthogonal)
{
    enum { M = 10, DIM = 4 };
    asc_layer *l = favor_layer(3), *same = favor_layer(3), *other = favor_layer(4);
    double w[M * DIM];
    memcpy(w, features_of(l), sizeof w);
    ck_assert_mem_eq(w, features_of(same), sizeof w);
    ck_assert_mem_ne(w, features_of(other), sizeof w);
    for (int i = 0; i < M; i++) {
        for (int j = i / DIM * DIM; j <= i; j++) {
            double dot = 0;
            for (int e = 0; e < DIM; e++) {
                dot += w[i * DIM + e] * w[j * DIM + e];
            }
            ck_assert(i == j ? dot > .01 : fabs(dot) < 1e-12);
        }
    }
    asc_optim *optim = asc_adamw_new(ctx, asc_layer_params(l), &(asc_adamw_options){.weight_decay = .5});
    asc_tensor y = asc_layer_forward(l, asc_normal(ctx, ASC_F64, 0, 1, 1, 1, ASC_SHAPE(1, 5, 8)), asc_null());
    ck_assert_int_eq(asc_backward(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false), asc_null(), false), ASC_OK);
    ck_assert_int_eq(asc_optim_step(optim, .1, 1), ASC_OK);
    ck_assert_mem_eq(w, features_of(l), sizeof w);
    asc_optim_free(optim);
    asc_layer_free(l);
    asc_layer_free(same);
    asc_layer_free(other);
}
END_TEST

START_TEST(settings_that_do_not_fit)
{
    static const struct {
        const char *mixing, *config, *part;
    } wrong[] = {
        {"linear", "{\"heads\": 3}", "heads is 3, expected a divisor of the width 8"},
        {"linear", "{\"heads\": 2, \"mask\": \"full\", \"decay\": \"gated\"}", "expected none with mask full"},
        {"linear", "{\"heads\": 2, \"features\": 4}", "features"},
        {"linear", "{\"heads\": 2, \"decay\": \"slow\"}", "one of none, fixed, gated"},
        {"conv", "{\"width\": 0}", "width"},
        {"recurrent", "{\"inner\": -1}", "inner"},
    };
    for (int i = 0; i < COUNT(wrong); i++) {
        ck_assert_ptr_null(asc_layer_new(ctx, wrong[i].mixing, 8, wrong[i].config, ASC_F32, 1));
        expect_error_with(ASC_ERR_ARG, wrong[i].part);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("linear");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, fused_is_composed, 0, COUNT(forms));
    tcase_add_loop_test(t, fused_is_composed_in_f32, 0, COUNT(forms));
    tcase_add_test(t, large_features_stay_within_float);
    tcase_add_test(t, a_state_is_forgotten_whole);
    tcase_add_test(t, features_of_far_keys_vanish);
    tcase_add_test(t, features_are_orthogonal);
    tcase_add_test(t, settings_that_do_not_fit);
    return run_suite("nn/linear", t);
}
