/* nn/short_conv.h: the short causal convolution, one filter a channel, of the mixings `conv` and `recurrent`:
 * c_t = Σ_w weight_w ⊙ u_{t-W+1+w} + bias. */
#ifndef NN_SHORT_CONV_H
#define NN_SHORT_CONV_H

#include <ascgrad/mixing.h>

#include "nn/attention.h"

/* The first settings of both: rows "inner", "width" and "mask". AT gives the offset of a field. */
#define ASC_SHORT_CONV_SETTINGS(AT)                                                                                    \
    {"inner", ASC_SETTING_INT, AT(inner), .help = "channels R of the convolution or the recurrence", .min = 1,         \
     .max = 1 << 20, .flags = ASC_SETTING_PER_LAYER, .follows = "d_model"},                                            \
    {"width", ASC_SETTING_INT, AT(width), "4", .help = "taps of the short convolution", .min = 1, .max = 1 << 16,      \
     .flags = ASC_SETTING_PER_LAYER},                                                                                  \
    ASC_MASK_SETTING(AT(mask))

typedef struct asc_short_conv {
    asc_tensor weight, bias; /* [R, W], [R] */
} asc_short_conv;

/* Refuses a mask that looks ahead. ASC_ERR_ARG. */
asc_status asc_short_conv_check(const asc_layer *l, int mask);

/* "conv.weight" and "conv.bias". */
asc_short_conv asc_make_short_conv(asc_maker *maker, int64_t channels, int64_t width);

/* c of u (B, n, R), the positions from the cache's length on, or from 0 without one. The last W - 1 of u are staged as
 * the cache's state `which`. */
asc_tensor asc_short_conv_run(asc_layer *l, const asc_short_conv *conv, asc_layer_cache *cache, int which,
                              asc_tensor u);

/* c of w x behind w past, past (B, p, D) or null: (B, n, R). */
asc_tensor asc_short_conv_behind(asc_layer *l, const asc_short_conv *conv, asc_affine w, asc_tensor past, asc_tensor x);

#endif
