/* tests/nn/ascender_layer.h: a small ASCender layer, its input, and a language model of such. */
#ifndef TESTS_NN_ASCENDER_LAYER_H
#define TESTS_NN_ASCENDER_LAYER_H

#include <math.h>
#include <stdio.h>

#include <ascgrad/nn.h>
#include <ascgrad/ops.h>

#include "tests/context.h"

enum { B = 2, N = 13, D = 8, H = 2 };

/* A layer with two heads and k = 3, and more settings: ",\"gate\":\"after\"". */
static inline asc_layer *layer_with(const char *more)
{
    char config[500];
    snprintf(config, sizeof config, "{\"heads\":%d,\"k\":3%s}", H, more);
    asc_layer *l = asc_layer_new(ctx, "ascender", D, config, ASC_F64, 5);
    ck_assert_msg(l != NULL, "%s", asc_error_message(ctx));
    return l;
}

static inline asc_tensor input(void)
{
    return asc_normal(ctx, ASC_F64, 0, 1, 9, 1, ASC_SHAPE(B, N, D));
}

static inline double largest_difference(asc_tensor a, asc_tensor b)
{
    ck_assert_int_eq(asc_numel(a), asc_numel(b));
    const double *x = asc_data(a), *y = asc_data(b);
    double most = 0;
    for (int64_t i = 0; i < asc_numel(a); i++) {
        double off = fabs(x[i] - y[i]);
        most = isfinite(off) ? fmax(most, off) : INFINITY;
    }
    return most;
}

static inline void set_all(asc_layer *l, const char *name, double value)
{
    asc_tensor t = asc_params_find(asc_layer_params(l), name);
    ck_assert_msg(asc_is_valid(t), "%s", name);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        ((double *)asc_data_mut(t))[i] = value;
    }
}

static inline asc_tensor run(asc_layer *l)
{
    asc_tensor y = asc_layer_forward(l, input(), asc_null());
    ck_assert_msg(asc_is_valid(y), "%s", asc_error_message(ctx));
    return y;
}

static inline asc_lm *small_lm(const char *more)
{
    char config[400];
    snprintf(config, sizeof config,
             "{\"mix\":\"ascender\",\"heads\":2,\"d_model\":8,\"layers\":2,\"vocab\":11,\"block\":%d%s}", N, more);
    return asc_lm_new(ctx, config, ASC_F64, 1);
}

#endif
