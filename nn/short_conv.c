/* nn/short_conv.c: a depthwise convolution over the last few tokens, over whole sequences and over streams. */
#include <ascgrad/ops.h>

#include "nn/mixing.h"
#include "nn/short_conv.h"

asc_status asc_short_conv_check(const asc_layer *l, int mask)
{
    if (mask != ASC_MASK_CAUSAL) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "mask", " is full, and layer %d is %s, which goes over the past and "
                           "has no form that looks ahead: expected causal", l->index, l->mixing->name);
    }
    return ASC_OK;
}

asc_short_conv asc_make_short_conv(asc_maker *maker, int64_t channels, int64_t width)
{
    return (asc_short_conv){asc_make_param(maker, "conv.weight", ASC_INIT_LINEAR, 2, (int64_t[]){channels, width}),
                            asc_make_param(maker, "conv.bias", ASC_INIT_ZERO, 1, &channels)};
}

/* u behind the W - 1 vectors before it: those that the cache holds, or zeros. */
static asc_tensor behind_held(asc_layer *l, asc_layer_cache *cache, int which, asc_tensor u, int64_t before)
{
    if (cache->length == 0) {
        return asc_pad(l->ctx, u, 3, (int64_t[]){0, before, 0}, (int64_t[]){0, 0, 0}, 0);
    }
    return asc_concat(l->ctx, (asc_tensor[]){cache->state[which], u}, 2, 1);
}

asc_tensor asc_short_conv_behind(asc_layer *l, const asc_short_conv *conv, asc_affine w, asc_tensor past, asc_tensor x)
{
    asc_tensor all = asc_behind(l, past, x), u = asc_after(all, asc_affine_apply(l, all, w));
    return asc_last_of(l, asc_after(u, asc_short_conv_run(l, conv, NULL, 0, u)), asc_size(x, 1));
}

asc_tensor asc_short_conv_run(asc_layer *l, const asc_short_conv *conv, asc_layer_cache *cache, int which, asc_tensor u)
{
    asc_ctx *ctx = l->ctx;
    int64_t R = asc_size(conv->weight, 0), W = asc_size(conv->weight, 1), n = asc_size(u, 1);
    asc_conv1d_options options = {.groups = R, .dilation = 1, .padding = cache ? ASC_PADDING_NONE : ASC_PADDING_CAUSAL};
    asc_tensor taps = asc_reshape(ctx, conv->weight, ASC_SHAPE(R, 1, W));
    asc_tensor all = cache ? behind_held(l, cache, which, u, W - 1) : u;
    asc_tensor c = asc_conv1d(ctx, all, taps, conv->bias, &options);
    if (cache) {
        asc_cache_stage(l, cache, which, asc_slice(ctx, all, 1, n, n + W - 1, 1));
        asc_release(all);
    }
    asc_release(taps);
    return c;
}
