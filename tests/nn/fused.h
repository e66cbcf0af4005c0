/* tests/nn/fused.h: a fused layer and its composition, which should be one. */
#ifndef TESTS_NN_FUSED_H
#define TESTS_NN_FUSED_H

#include <math.h>
#include <stdio.h>

#include <ascgrad/nn.h>
#include <ascgrad/ops.h>

#include "tests/context.h"

/* A mixing, its settings without the last brace, and what it is run on. */
typedef struct subject {
    const char *mixing, *settings;
    int64_t B, N, D;
    asc_tensor lengths;
    double size; /* of the parameters' and the input's values */
} subject;

static asc_layer *layer_of(const subject *s, asc_dtype dtype, bool composed)
{
    char config[700];
    snprintf(config, sizeof config, "%s, \"composed\": %s}", s->settings, composed ? "true" : "false");
    asc_layer *l = asc_layer_new(ctx, s->mixing, s->D, config, dtype, 3);
    ck_assert_msg(l != NULL, "%s: %s", config, asc_error_message(ctx));
    asc_params *p = asc_layer_params(l);
    for (int i = 0; i < asc_params_count(p); i++) { /* no bias of 0 */
        asc_tensor t = asc_params_at(p, i);
        asc_copy(ctx, t, asc_normal(ctx, ASC_F64, 0, s->size, 9, (uint64_t)i, asc_ndim(t), asc_shape(t)));
    }
    return l;
}

/* The largest magnitude; ∞ where one is NaN. */
static inline double largest(asc_tensor t)
{
    asc_tensor wide = asc_cast(ctx, t, ASC_F64);
    double most = 0;
    for (int64_t i = 0; i < asc_numel(t); i++) {
        double x = fabs(((const double *)asc_data(wide))[i]);
        most = isfinite(x) ? fmax(most, x) : INFINITY;
    }
    return most;
}

/* The largest difference, relative to the largest value of b, or to `least` if that is more. */
static inline double difference(asc_tensor a, asc_tensor b, double least)
{
    asc_tensor wide_a = asc_cast(ctx, a, ASC_F64), wide_b = asc_cast(ctx, b, ASC_F64);
    const double *x = asc_data(wide_a), *y = asc_data(wide_b);
    double most = fmax(largest(b), least), off = 0;
    ck_assert_int_eq(asc_numel(a), asc_numel(b));
    for (int64_t i = 0; i < asc_numel(a); i++) {
        ck_assert(isfinite(x[i]) && isfinite(y[i]));
        off = fmax(off, fabs(x[i] - y[i]));
    }
    return off / most;
}

static inline void expect_same(const subject *s, const char *what, asc_tensor a, asc_tensor b, double tolerance,
                               double least)
{
    double off = difference(a, b, least);
    ck_assert_msg(off < tolerance, "%s %s: %s is off by %g", s->mixing, s->settings, what, off);
}

/* Outputs and gradients, those of the same parameters. */
static inline void compare_with_composed(const subject *s, asc_dtype dtype, double tolerance)
{
    asc_layer *fused = layer_of(s, dtype, false), *composed = layer_of(s, dtype, true), *both[] = {fused, composed};
    asc_params *a = asc_layer_params(fused), *b = asc_layer_params(composed);
    asc_tensor x[2], y[2], up = asc_normal(ctx, dtype, 0, 1, 2, 2, ASC_SHAPE(s->B, s->N, s->D));
    for (int i = 0; i < 2; i++) {
        x[i] = asc_normal(ctx, dtype, 0, 2 * s->size, 1, 1, ASC_SHAPE(s->B, s->N, s->D));
        asc_require_grad(x[i], true);
        y[i] = asc_layer_forward(both[i], x[i], s->lengths);
        ck_assert_msg(asc_backward(ctx, y[i], up, false) == ASC_OK, "%s: %s", s->settings, asc_error_message(ctx));
    }
    expect_same(s, "y", y[0], y[1], tolerance, 1);
    double most = largest(asc_grad(x[1])); /* some gradients nearly cancel */
    for (int p = 0; p < asc_params_count(b); p++) {
        asc_tensor grad = asc_grad(asc_params_at(b, p));
        most = asc_is_valid(grad) ? fmax(most, largest(grad)) : most;
    }
    expect_same(s, "x", asc_grad(x[0]), asc_grad(x[1]), tolerance, 1e-3 * most);
    for (int p = 0; p < asc_params_count(a); p++) {
        asc_tensor got = asc_grad(asc_params_at(a, p)), expected = asc_grad(asc_params_at(b, p));
        ck_assert(asc_is_valid(got) == asc_is_valid(expected));
        if (asc_is_valid(got)) {
            expect_same(s, asc_params_name(a, p), got, expected, tolerance, 1e-3 * most);
        }
    }
    asc_layer_free(fused);
    asc_layer_free(composed);
}

#endif
