/* nn/linear.c: linear attention: y = linear_attention(x Wqᵀ + bq, x Wkᵀ + bk, x Wvᵀ + bv) Woᵀ + bo. A stream keeps one
 * state of fixed size. */
#include "nn/linear.h"

#include <math.h>

#include "nn/attention.h"
#include "nn/mixing.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/random.h"

enum { NONE, FIXED, GATED };
enum { STATE };
static const double eps = 1e-6;

static const char *const decays[] = {"none", "fixed", "gated", NULL};
static const char *const feature_names[] = {"elu", "favor", NULL};

typedef struct values {
    int64_t heads, features;
    int mask, feature, decay, qk_norm;
    bool composed;
} values;

#define AT(field) offsetof(values, field)

static const asc_setting settings[] = {
    ASC_HEADS_SETTING(AT(heads)),
    ASC_MASK_SETTING(AT(mask)),
    {"feature", ASC_SETTING_CHOICE, AT(feature), "elu", .help = "what takes the exponential's place",
     .choices = feature_names},
    {"features", ASC_SETTING_INT, AT(features), .help = "random features of a head", .min = 1, .max = 1 << 16,
     .follows = "the head's width", .only = "feature=favor"},
    {"decay", ASC_SETTING_CHOICE, AT(decay), "none",
     .help = "how earlier tokens fade: not, by 1 - 2^(-5-h) a token, or as a gate says",
     .choices = decays},
    ASC_QK_NORM_SETTING(AT(qk_norm)),
    {"composed", ASC_SETTING_BOOL, AT(composed), "false", .help = "built from primitive ops, slow, to compare with"},
    {0},
};

static asc_status check(asc_layer *l)
{
    values *v = l->settings;
    if (l->D % v->heads) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "heads", " is %lld, expected a divisor of the width %lld",
                           (long long)v->heads, (long long)l->D);
    }
    if (v->mask == ASC_MASK_FULL && v->decay != NONE) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "decay",
                           " is %s, expected none with mask full: a decay has a direction", decays[v->decay]);
    }
    if (!asc_layer_given(l, "features")) {
        v->features = l->D / v->heads;
    }
    return ASC_OK;
}

/* ---- parameters ---- */

/* The rows of a Gaussian matrix [n, d], n <= d, made orthonormal (Gram and Schmidt, twice). */
static void orthonormal(double *row, int64_t n, int64_t d, uint64_t seed, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        double *x = row + i * d, square = 0;
        for (int64_t e = 0; e < d; e++) {
            x[e] = asc_random_normal(seed, stream, (uint64_t)(i * d + e));
        }
        for (int64_t turn = 0; turn < 2 * i; turn++) {
            const double *y = row + turn % i * d;
            double along = 0;
            for (int64_t e = 0; e < d; e++) {
                along += x[e] * y[e];
            }
            for (int64_t e = 0; e < d; e++) {
                x[e] -= along * y[e];
            }
        }
        for (int64_t e = 0; e < d; e++) {
            square += x[e] * x[e];
        }
        for (int64_t e = 0; e < d; e++) {
            x[e] /= sqrt(square);
        }
    }
}

/* Fills W [m, d]: orthogonal in groups of d rows, each of the length of a Gaussian vector (arXiv 2009.14794). */
static asc_status draw_features(asc_layer *l, asc_maker *maker, asc_tensor W)
{
    int64_t m = asc_size(W, 0), d = asc_size(W, 1);
    size_t bytes = (size_t)(d * d) * sizeof(double);
    double *group = asc_alloc(l->ctx, bytes);
    void *to = asc_data_mut(W);
    for (int64_t first = 0; group && to && first < m; first += d) {
        int64_t n = m - first < d ? m - first : d;
        uint64_t stream = (uint64_t)(l->index * m + first) * 2;
        orthonormal(group, n, d, maker->seed, stream);
        for (int64_t i = 0; i < n; i++) {
            double square = 0;
            for (int64_t e = 0; e < d; e++) {
                double x = asc_random_normal(maker->seed, stream + 1, (uint64_t)(i * d + e));
                square += x * x;
            }
            for (int64_t e = 0; e < d; e++) {
                asc_set_element(l->dtype, to, (first + i) * d + e, group[i * d + e] * sqrt(square));
            }
        }
    }
    asc_free(l->ctx, group, bytes);
    return asc_error(l->ctx);
}

static asc_tensor make_features(asc_layer *l, asc_maker *maker, int64_t m, int64_t d)
{
    asc_tensor W = asc_make_param(maker, "features.weight", ASC_INIT_ZERO, 2, (int64_t[]){m, d});
    if (draw_features(l, maker, W)) {
        return asc_null();
    }
    asc_require_grad(W, false);
    return W;
}

static asc_affine make_forget(asc_layer *l, asc_maker *maker, int64_t heads)
{
    double *start = asc_alloc(l->ctx, (size_t)heads * sizeof *start);
    if (!start) {
        return (asc_affine){asc_null(), asc_null()};
    }
    for (int64_t h = 0; h < heads; h++) {
        start[h] = heads > 1 ? 1 + 4 * (double)h / (double)(heads - 1) : 1;
    }
    asc_affine forget = {asc_make_param(maker, "forget.weight", ASC_INIT_LINEAR, 2, (int64_t[]){heads, l->D}),
                         asc_make_values(maker, "forget.bias", heads, start)};
    asc_free(l->ctx, start, (size_t)heads * sizeof *start);
    return forget;
}

static asc_status init(asc_layer *l, asc_maker *maker)
{
    const values *v = l->settings;
    asc_linear_layer *a = l->self;
    a->options = (asc_linear_attention_options){.heads = v->heads,
                                                .feature = (asc_feature)v->feature,
                                                .fixed_decay = v->decay == FIXED,
                                                .full = v->mask == ASC_MASK_FULL,
                                                .eps = eps};
    a->composed = v->composed;
    a->q = asc_make_linear(maker, "q", l->D, l->D);
    a->k = asc_make_linear(maker, "k", l->D, l->D);
    a->v = asc_make_linear(maker, "v", l->D, l->D);
    a->o = asc_make_linear(maker, "o", l->D, l->D);
    a->qk_norm = asc_qk_norm_make(maker, v->qk_norm, v->heads, l->D / v->heads);
    if (v->feature == ASC_FEATURE_FAVOR) {
        a->features = make_features(l, maker, v->features, l->D / v->heads);
    }
    if (v->decay == GATED) {
        a->forget = make_forget(l, maker, v->heads);
    }
    return asc_error(l->ctx);
}

/* ---- running ---- */

static asc_tensor attend(asc_layer *l, asc_layer_cache *cache, const asc_linear_attention_inputs *in)
{
    const asc_linear_layer *a = l->self;
    if (a->composed && !cache) {
        return asc_linear_composed(l->ctx, in, &a->options);
    }
    asc_tensor last, y = asc_linear_attention(l->ctx, in, &a->options, cache ? &last : NULL);
    if (cache) {
        asc_cache_stage(l, cache, STATE, last);
    }
    return y;
}

static asc_linear_attention_inputs inputs_of(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    const asc_linear_layer *a = l->self;
    asc_linear_attention_inputs in = {.q = asc_qk_norm_apply(l->ctx, &a->qk_norm, asc_affine_apply(l, x, a->q),
                                                             a->qk_norm.q),
                                      .k = asc_qk_norm_apply(l->ctx, &a->qk_norm, asc_affine_apply(l, x, a->k),
                                                             a->qk_norm.k),
                                      .v = asc_affine_apply(l, x, a->v),
                                      .features = a->features,
                                      .forget = asc_null(),
                                      .initial = asc_null(),
                                      .lengths = a->options.full ? lengths : asc_null()};
    if (asc_is_valid(a->forget.weight)) {
        in.forget = asc_affine_apply(l, x, a->forget);
    }
    return in;
}

static asc_tensor run(asc_layer *l, asc_layer_cache *cache, asc_tensor x, asc_tensor lengths)
{
    const asc_linear_layer *a = l->self;
    asc_linear_attention_inputs in = inputs_of(l, x, lengths);
    if (cache && cache->length > 0) {
        in.initial = cache->state[STATE];
    }
    asc_tensor y = attend(l, cache, &in), out = asc_affine_apply(l, y, a->o);
    asc_release(in.q);
    asc_release(in.k);
    asc_release(in.v);
    asc_release(in.forget);
    asc_release(y);
    return out;
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)aux; /* it has none */
    return run(l, NULL, x, lengths);
}

static asc_tensor next(asc_layer *l, asc_layer_cache *cache, asc_tensor x)
{
    return run(l, cache, x, asc_null());
}

static asc_status inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    asc_linear_attention_inputs in = inputs_of(l, x, lengths);
    return asc_linear_show(l->ctx, &in, &((const asc_linear_layer *)l->self)->options, parts);
}

static asc_tensor carry(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    (void)past; /* the state has all of it */
    return run(l, held, x, asc_null());
}

static int64_t reach(asc_layer *l, int64_t tokens)
{
    (void)tokens;
    return asc_refuse_composed(l, ((const asc_linear_layer *)l->self)->composed) ? -1 : 0;
}

static const char *looks_ahead(const asc_layer *l)
{
    return ((const asc_linear_layer *)l->self)->options.full ? "mask is full" : NULL;
}

static const char *const outputs[] = {"o.weight", NULL};

const asc_mixing asc_mixing_linear = {
    .abi = ASC_MIXING_ABI,
    .name = "linear",
    .settings = settings,
    .settings_size = sizeof(values),
    .sample = "{\"heads\": 2, \"feature\": \"favor\", \"features\": 6, \"decay\": \"gated\"}",
    .size = sizeof(asc_linear_layer),
    .check = check,
    .init = init,
    .forward = forward,
    .inspect = inspect,
    .next = next,
    .carry = carry,
    .reach = reach,
    .carried_states = 1u << STATE,
    .looks_ahead = looks_ahead,
    .outputs = outputs,
};
