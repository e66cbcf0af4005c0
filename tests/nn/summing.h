/* tests/nn/summing.h: a mixing of a user's, as small as one can be: y = W (share of the sum of x so far) + b. */
#ifndef TESTS_NN_SUMMING_H
#define TESTS_NN_SUMMING_H

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

typedef struct summing_values {
    double share;
    bool ahead;
} summing_values;

static const asc_setting summing_settings[] = {
    {"part", ASC_SETTING_REAL, offsetof(summing_values, share), "1", .help = "of the past", .min = 0, .max = 2,
     .flags = ASC_SETTING_PER_LAYER},
    {"ahead", ASC_SETTING_BOOL, offsetof(summing_values, ahead), "false", .help = "looks ahead, and says so"},
    {0},
};

static asc_status summing_init(asc_layer *l, asc_maker *maker)
{
    *(asc_affine *)l->self = asc_make_linear(maker, "w", l->D, l->D);
    return asc_error(l->ctx);
}

static asc_tensor summing_forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths;
    (void)aux;
    const asc_affine *w = l->self;
    asc_tensor past = asc_scale(l->ctx, asc_cumsum(l->ctx, x, 1), ((const summing_values *)l->settings)->share);
    return asc_linear(l->ctx, past, w->weight, w->bias);
}

static const char *summing_looks_ahead(const asc_layer *l)
{
    return ((const summing_values *)l->settings)->ahead ? "it was told to" : NULL;
}

static const asc_mixing summing = {
    .abi = ASC_MIXING_ABI, .name = "summing", .settings = summing_settings, .settings_size = sizeof(summing_values),
    .size = sizeof(asc_affine), .init = summing_init, .forward = summing_forward, .looks_ahead = summing_looks_ahead,
};

#endif
