/* nn/ascender.c: ASCender attention as a layer: projections, the attention itself, the output; its generation cache. */
#include <math.h>
#include <string.h>

#include <ascgrad/inspect.h>

#include "nn/ascender.h"
#include "nn/attention.h"
#include "nn/given.h"
#include "nn/inspect/scores.h"
#include "nn/mixing.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"

enum { KEYS, HEADINGS, VALUES, PLACES, FEATURES, DENSITIES };

/* ---- inputs ---- */

/* What headings are made of, with a reference of its own; null where that is the keys as they enter the base scores. */
static asc_tensor heading_of(const asc_layer *l, asc_tensor q, asc_tensor k)
{
    const asc_ascender_layer *t = l->self;
    switch (t->heading) {
    case ASC_HEADING_Q: return asc_keep(q);
    case ASC_HEADING_QK: return asc_add(l->ctx, q, k);
    default: return t->rotary ? asc_keep(k) : asc_null();
    }
}

/* A scalar as its heads have it: one for all of them takes the first's, and those that are not trained get no
 * gradient. */
static asc_tensor scalar_in_use(const asc_layer *l, int i)
{
    const asc_ascender_layer *t = l->self;
    asc_ctx *ctx = l->ctx;
    asc_tensor scalar = t->scalar[i];
    int64_t H = t->options.heads, frozen = asc_is_null(scalar) ? 0 : asc_scalar_frozen_heads(t, i);
    if (!asc_is_null(scalar) && asc_scalar_shared(t, i) && H > 1) {
        asc_tensor first = asc_slice(ctx, scalar, 0, 0, 1, 1);
        asc_tensor all = asc_after(first, asc_expand(ctx, first, ASC_SHAPE(H)));
        return asc_after(all, asc_contiguous(ctx, all));
    }
    if (frozen == 0 || frozen == H) {
        return scalar;
    }
    asc_tensor trained = asc_empty(ctx, ASC_U8, ASC_SHAPE(H));
    uint8_t *to = asc_data_mut(trained);
    for (int64_t h = 0; to && h < H; h++) {
        to[h] = !asc_scalar_frozen(t, i, h);
    }
    asc_tensor fixed = asc_detach(ctx, scalar);
    return asc_after(trained, asc_after(fixed, asc_where(ctx, trained, scalar, fixed)));
}

/* x turned to the positions from `start` on; x goes. */
static asc_tensor turned(const asc_layer *l, asc_tensor x, int64_t start)
{
    const asc_ascender_layer *t = l->self;
    if (!t->rotary) {
        return x;
    }
    asc_tensor y = asc_rotary(l->ctx, x, t->options.heads, start);
    asc_release(x);
    return y;
}

/* z, (B, n, H d_z): learned, or of positions from `start` on, which are the same in all heads. */
static asc_tensor places_of(const asc_layer *l, asc_tensor x, int64_t start)
{
    const asc_ascender_layer *t = l->self;
    int64_t B = asc_size(x, 0), n = asc_size(x, 1), H = t->options.heads;
    if (t->spacing == 0) {
        return asc_linear(l->ctx, x, t->u, asc_null());
    }
    asc_tensor z = asc_empty(l->ctx, asc_dtype_of(x), ASC_SHAPE(B, n, H));
    void *values = asc_data_mut(z);
    for (int64_t e = 0; values && e < B * n * H; e++) {
        asc_set_element(l->dtype, values, e, (double)(start + e / H % n) * t->spacing);
    }
    return z;
}

/* h of tokens; 0 in place of what nothing will use: features only choose neighbours in the background variant, which
 * has them from a window, from base scores, or given. */
static asc_tensor features_of(const asc_layer *l, asc_tensor from, bool given)
{
    const asc_ascender_layer *t = l->self;
    asc_neighbors by = t->options.neighbors;
    if (t->background && (given || by == ASC_NEIGHBORS_BASE || by == ASC_NEIGHBORS_WINDOW)) {
        int64_t width = t->options.heads * t->d_a;
        return asc_zeros(l->ctx, asc_dtype_of(from), ASC_SHAPE(asc_size(from, 0), asc_size(from, 1), width));
    }
    return asc_linear(l->ctx, from, t->p, asc_null());
}

/* The inputs of tokens from position `start` on, of which the first `past` ask nothing; or of those of a context. */
static asc_ascender_inputs inputs_of(asc_layer *l, asc_tensor x, asc_tensor lengths, int64_t start, int64_t past)
{
    const asc_ascender_layer *t = l->self;
    asc_ctx *ctx = l->ctx;
    int64_t n = asc_size(x, 1) - past;
    asc_tensor from = asc_looked_at(l, x);
    asc_tensor q = asc_qk_norm_apply(ctx, &t->qk_norm, asc_linear(ctx, x, t->q, asc_null()), t->qk_norm.q);
    asc_tensor k = asc_qk_norm_apply(ctx, &t->qk_norm, asc_linear(ctx, from, t->k, asc_null()), t->qk_norm.k);
    asc_tensor heading = heading_of(l, q, k);
    asc_given given = asc_given_for(l, start + past, n, asc_size(from, 1) + (asc_is_null(l->context) ? start : 0));
    asc_ascender_inputs in = {
        .q = asc_last_of(l, turned(l, q, start), n),
        .k = turned(l, k, start),
        .v = asc_linear(ctx, from, t->v, asc_null()),
        .z = places_of(l, from, start),
        .h = features_of(l, from, !asc_is_null(given.neighbors)),
        .heading = heading,
        .rel_bias = t->rel_bias,
        .bias = given.bias,
        .lengths = lengths,
        .mask = given.mask,
        .neighbors = given.neighbors,
    };
    if (!asc_is_null(l->context)) {
        in.z_queries = asc_linear(ctx, x, t->u, asc_null());
        in.h_queries = asc_linear(ctx, x, t->p, asc_null());
    }
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        in.scalar[i] = scalar_in_use(l, i);
    }
    return in;
}

/* Of the scalars those that are not the ones they were made of. */
static void release_made(const asc_tensor *made, const asc_tensor *of)
{
    for (int i = 0; i < ASC_ASCENDER_SCALARS; i++) {
        if (!asc_is_same(made[i], of[i])) {
            asc_release(made[i]);
        }
    }
}

/* What the backward pass does not need goes with the last use. */
static void release_inputs(const asc_layer *l, const asc_ascender_inputs *in)
{
    release_made(in->scalar, ((const asc_ascender_layer *)l->self)->scalar);
    asc_given_release(l, (asc_given){in->mask, in->neighbors, in->bias});
    asc_release(in->heading);
    asc_release(in->q);
    asc_release(in->k);
    asc_release(in->v);
    asc_release(in->z);
    asc_release(in->h);
    asc_release(in->z_queries);
    asc_release(in->h_queries);
}

/* ---- attention: on the node, or composed ---- */

typedef struct outcome {
    asc_tensor y;
    asc_tensor rho;              /* of the background variant: the queries' densities (B, H, N, 1) */
    asc_ascender_losses losses;  /* where they are wanted */
} outcome;

static asc_ascender_options options_of(const asc_layer *l)
{
    asc_ascender_options o = ((const asc_ascender_layer *)l->self)->options;
    o.causal = o.causal && asc_is_null(l->context);
    return o;
}

static asc_status compose(const asc_layer *l, const asc_ascender_inputs *in, asc_tensor density, asc_ascender_parts *p)
{
    const asc_ascender_layer *t = l->self;
    asc_ascender_options o = options_of(l);
    return t->background ? asc_background_composed(l->ctx, in, &o, density, p)
                         : asc_ascender_composed(l->ctx, in, &o, p);
}

/* What does nothing gets no gradient, rather than one of 0: slopes where there are no gates, κ where the density has
 * no say, and the background variant's features, which only choose neighbours. */
static asc_ascender_inputs without_idle(const asc_layer *l, const asc_ascender_inputs *given)
{
    const asc_ascender_layer *t = l->self;
    asc_ascender_inputs in = *given;
    if (t->background) {
        in.h = asc_detach(l->ctx, in.h);
        return in;
    }
    if (t->options.gate == ASC_GATE_NONE || t->options.without_gamma) {
        in.scalar[ASC_ASCENDER_ALPHA_ALIGN] = asc_detach(l->ctx, in.scalar[ASC_ASCENDER_ALPHA_ALIGN]);
        in.scalar[ASC_ASCENDER_ALPHA_COH] = asc_detach(l->ctx, in.scalar[ASC_ASCENDER_ALPHA_COH]);
    }
    if (t->options.without_eta) {
        in.scalar[ASC_ASCENDER_KAPPA] = asc_detach(l->ctx, in.scalar[ASC_ASCENDER_KAPPA]);
    }
    return in;
}

static void release_idle(const asc_ascender_inputs *used, const asc_ascender_inputs *given)
{
    if (!asc_is_same(used->h, given->h)) {
        asc_release(used->h);
    }
    release_made(used->scalar, given->scalar);
}

/* `density`: ρ of the positions before the queries, or null. */
static outcome attend(const asc_layer *l, const asc_ascender_inputs *in, asc_tensor density, bool with_losses)
{
    const asc_ascender_layer *t = l->self;
    outcome out = {.y = asc_null()};
    if (asc_error(l->ctx)) {
        return out;
    }
    if (t->composed) {
        asc_ascender_parts p;
        asc_scope_begin(l->ctx);
        if (compose(l, in, density, &p) == ASC_OK) {
            out = (outcome){p.y, p.rho, {p.loss_coh, p.loss_sep, p.loss_align}};
        }
        const asc_tensor stay[] = {out.y, out.rho, out.losses.coh, out.losses.sep, out.losses.align};
        asc_scope_end_but(l->ctx, stay, with_losses ? 5 : 2);
        return out;
    }
    asc_ascender_inputs used = without_idle(l, in);
    asc_ascender_options o = options_of(l);
    out.y = t->background ? asc_ascender_background(l->ctx, &used, &o, density, &out.rho)
                          : asc_ascender(l->ctx, &used, &o, with_losses ? &out.losses : NULL);
    release_idle(&used, in);
    return out;
}

/* y goes. */
static asc_tensor output(const asc_layer *l, asc_tensor y)
{
    const asc_ascender_layer *t = l->self;
    asc_tensor out = asc_linear(l->ctx, y, t->o.weight, t->o.bias);
    asc_release(y);
    return out;
}

/* ---- forward ---- */

static bool has_losses(const asc_layer *l)
{
    const asc_ascender_layer *t = l->self;
    return t->aux_coh != 0 || t->aux_sep != 0 || t->aux_align != 0;
}

/* The auxiliary losses, which go, with their weights, summed. */
static asc_tensor auxiliary(const asc_layer *l, const asc_ascender_losses *losses)
{
    const asc_ascender_layer *t = l->self;
    asc_ctx *ctx = l->ctx;
    asc_tensor coh = asc_after(losses->coh, asc_scale(ctx, losses->coh, t->aux_coh));
    asc_tensor sep = asc_after(losses->sep, asc_scale(ctx, losses->sep, t->aux_sep));
    asc_tensor align = asc_after(losses->align, asc_scale(ctx, losses->align, t->aux_align));
    asc_tensor both = asc_after(coh, asc_after(sep, asc_add(ctx, coh, sep)));
    return asc_after(both, asc_after(align, asc_add(ctx, both, align)));
}

static asc_status check_call(asc_layer *l)
{
    const asc_ascender_layer *t = l->self;
    const asc_ascender_values *v = l->settings;
    bool listed = asc_is_null(l->neighbors) && v->neighbors >= ASC_NEIGHBORS_WINDOW;
    const asc_unfit unfit[] = {{v->window > 0, "window"}, {v->positions != ASC_POSITIONS_NONE, "positions"},
                               {v->rel > 0, "rel"}, {v->listing > 0, "listing"}, {t->options.all_statistics, "stats"},
                               {t->background, "variant"}, {listed, "neighbors"}, {t->aux_coh != 0, "aux_coh"},
                               {t->aux_sep != 0, "aux_sep"}, {t->aux_align != 0, "aux_align"}};
    return asc_check_context(l, unfit, sizeof unfit / sizeof *unfit);
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    bool with_losses = aux && has_losses(l);
    if (check_call(l)) {
        return asc_null();
    }
    asc_ascender_inputs in = inputs_of(l, x, lengths, 0, 0);
    outcome out = attend(l, &in, asc_null(), with_losses);
    release_inputs(l, &in);
    asc_release(out.rho);
    if (with_losses) {
        *aux = auxiliary(l, &out.losses);
    }
    return output(l, out.y);
}

/* τ_score + ε. */
static asc_tensor temperature(const asc_layer *l, const asc_ascender_inputs *in)
{
    const asc_ascender_layer *t = l->self;
    asc_tensor tau = in->scalar[t->background ? ASC_BACKGROUND_TAU_SCORE : ASC_ASCENDER_TAU_SCORE];
    return asc_add_scalar(l->ctx, tau, ASCENDER_EPS);
}

/* The attention that there would be with ω_sep = 0. */
static asc_tensor without_separation(const asc_layer *l, const asc_ascender_parts *p, const asc_ascender_inputs *in)
{
    const asc_ascender_layer *t = l->self;
    asc_ctx *ctx = l->ctx;
    asc_tensor omega = in->scalar[t->background ? ASC_BACKGROUND_OMEGA_SEP : ASC_ASCENDER_OMEGA_SEP];
    asc_tensor rest = asc_sub(ctx, p->s, asc_mul(ctx, asc_per_head(ctx, omega), p->b_sep));
    return asc_softmax(ctx, asc_div(ctx, rest, asc_per_head(ctx, temperature(l, in))), p->allowed);
}

static asc_status inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    asc_ctx *ctx = l->ctx;
    if (check_call(l)) {
        return asc_error(ctx);
    }
    asc_ascender_inputs in = inputs_of(l, x, lengths, 0, 0);
    asc_ascender_parts p;
    const asc_ascender_layer *t = l->self;
    asc_tensor z = asc_split_heads(ctx, in.z, t->options.heads);
    asc_status status = asc_error(ctx) ? asc_error(ctx) : compose(l, &in, asc_null(), &p);
    if (status) {
        release_inputs(l, &in);
        return status;
    }
    const struct {
        const char *name;
        asc_tensor part;
        bool pairs; /* 0 where not allowed */
    } all[] = {
        {"s_base", p.s_base, true},           {"b_align", p.b_align, true},       {"b_sep", p.b_sep, true},
        {"b_coh", p.b_coh, true},             {"s", p.s, true},                   {"attn", p.attn, false},
        {"gamma_align", p.gamma_align, false}, {"gamma_coh", p.gamma_coh, false}, {"eta", p.eta, false},
        {"loss_coh", p.loss_coh, false},      {"loss_sep", p.loss_sep, false},    {"loss_align", p.loss_align, false},
        {"b_other", asc_other_scores(ctx, p.s, &(asc_other_bias){t->options.alibi, t->rel_bias, in.bias}), true},
        {"z", z, false},                      {"attn_without_sep", without_separation(l, &p, &in), false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!asc_is_null(all[i].part)) {
            asc_add_part(parts, ctx, all[i].name, all[i].part, all[i].pairs ? p.allowed : asc_null());
        }
    }
    asc_add_entropies(parts, ctx, p.s, p.attn, temperature(l, &in));
    release_inputs(l, &in);
    return asc_error(ctx);
}

/* ---- generation: the keys as they enter the scores and as headings, values, places, features, and densities ---- */

static const char *what_looks_ahead(const asc_layer *l)
{
    const asc_ascender_options *o = &((const asc_ascender_layer *)l->self)->options;
    return !o->causal          ? "mask is full; look_ahead takes it all the same"
           : o->all_statistics ? "stats is all, so that a row's statistics see the tokens after it; look_ahead takes "
                                 "it all the same"
                               : NULL;
}

static asc_status cache(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    const asc_ascender_layer *t = l->self;
    if (what_looks_ahead(l)) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "this model looks ahead: it can be evaluated and inspected, not "
                        "continued");
    }
    int64_t H = t->options.heads;
    bool headings = t->rotary || t->heading != ASC_HEADING_K;
    const int64_t widths[] = {[KEYS] = t->d,      [HEADINGS] = headings ? t->d : 0,       [VALUES] = t->d_value,
                              [PLACES] = t->d_z,  [FEATURES] = t->d_a,                    [DENSITIES] = t->background};
    for (int i = KEYS; i <= DENSITIES; i++) {
        if (widths[i] > 0) {
            asc_cache_make(l, c, i, H * widths[i], capacity);
        }
    }
    return asc_error(l->ctx);
}

/* ρ of the positions held, (B, H, n, 1). */
static asc_tensor held_densities(const asc_layer *l, const asc_layer_cache *c)
{
    if (asc_is_null(c->state[DENSITIES]) || c->length == 0) {
        return asc_null();
    }
    asc_tensor held = asc_slice(l->ctx, c->state[DENSITIES], 1, 0, c->length, 1);
    return asc_split_heads(l->ctx, held, ((const asc_ascender_layer *)l->self)->options.heads);
}

/* Puts what the new tokens bring behind what is held, and makes the inputs all of it. */
static void append(asc_layer *l, const asc_layer_cache *c, asc_ascender_inputs *in)
{
    asc_tensor *const held[] = {[KEYS] = &in->k, [HEADINGS] = &in->heading, [VALUES] = &in->v, [PLACES] = &in->z,
                                [FEATURES] = &in->h};
    for (int i = KEYS; i <= FEATURES; i++) {
        *held[i] = asc_is_null(c->state[i]) ? *held[i] : asc_cache_append(l, c, i, *held[i]);
    }
}

static asc_tensor next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    asc_ascender_inputs in = inputs_of(l, x, asc_null(), c->length, 0);
    if (asc_error(l->ctx) == ASC_OK) {
        append(l, c, &in);
    }
    outcome out = attend(l, &in, held_densities(l, c), false);
    release_inputs(l, &in);
    if (!asc_is_null(out.rho)) {
        asc_cache_append(l, c, DENSITIES, asc_join_heads(l->ctx, out.rho));
    }
    return output(l, out.y);
}

/* ---- carried context ---- */

/* Keys, headings, places and features of all, queries of x. */
static asc_tensor carry(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    const asc_ascender_layer *t = l->self;
    if (t->background) { /* its densities are rows of their own */
        return asc_carry_again(l, held, past, x);
    }
    asc_tensor all = asc_behind(l, past, x);
    asc_ascender_inputs in = inputs_of(l, all, asc_null(), 0, asc_size(past, 1));
    asc_release(all);
    outcome out = attend(l, &in, asc_null(), false);
    release_inputs(l, &in);
    return output(l, out.y);
}

static int64_t reach(asc_layer *l, int64_t tokens)
{
    if (has_losses(l)) {
        const asc_ascender_layer *t = l->self;
        const char *key = t->aux_coh != 0 ? "aux_coh" : t->aux_sep != 0 ? "aux_sep" : "aux_align";
        asc_fail_on(l->ctx, ASC_ERR_ARG, key, " is given, and the model carries context: an auxiliary loss is a mean "
                    "over whole sequences, expected 0");
        return -1;
    }
    return tokens;
}

/* ---- what a training does ---- */

static const char *looks_ahead(const asc_layer *l)
{
    return ((const asc_ascender_layer *)l->self)->look_ahead ? NULL : what_looks_ahead(l);
}

static void raise_to(asc_tensor t, double least)
{
    asc_dtype dtype = asc_dtype_of(t);
    double limit = dtype == ASC_F32 ? (double)(float)least : least;
    for (int64_t i = 0; i < asc_numel(t); i++) {
        if (asc_element(dtype, asc_data(t), i) < limit) {
            asc_set_element(dtype, asc_data_mut(t), i, limit);
        }
    }
}

/* All heads get the first's. */
static void spread_first(asc_tensor t)
{
    size_t size = asc_dtype_size(asc_dtype_of(t));
    char *values = asc_data_mut(t);
    for (int64_t h = 1; values && h < asc_numel(t); h++) {
        memcpy(values + (size_t)h * size, values, size);
    }
}

static void project(asc_layer *l)
{
    const asc_ascender_layer *t = l->self;
    const asc_setting *setting;
    for (int i = 0; (setting = asc_scalar_setting(t->background, i)); i++) {
        raise_to(t->scalar[i], setting->min);
        if (asc_scalar_shared(t, i)) {
            spread_first(t->scalar[i]);
        }
    }
}

/* Scalar i, trained from here on unless it is frozen; or held, to be written to. */
static void *hold_scalar(const asc_ascender_layer *t, int i, bool held)
{
    asc_require_grad(t->scalar[i], !held && asc_scalar_frozen_heads(t, i) < t->options.heads);
    return held ? asc_data_mut(t->scalar[i]) : NULL;
}

static void ramp(asc_layer *l, double share)
{
    const asc_ascender_layer *t = l->self;
    int omega = t->background ? ASC_BACKGROUND_OMEGA_SEP : ASC_ASCENDER_OMEGA_SEP;
    void *values = hold_scalar(t, omega, share >= 0);
    for (int64_t h = 0; values && h < t->options.heads; h++) {
        asc_set_element(l->dtype, values, h, share * asc_scalar_initial(t, omega)[h]);
    }
}

static bool hold(asc_layer *l, const char *name, const double *value)
{
    const asc_ascender_layer *t = l->self;
    int i = asc_scalar_find(t->background, name);
    void *values = i < 0 ? NULL : hold_scalar(t, i, value != NULL);
    for (int64_t h = 0; values && h < t->options.heads; h++) {
        asc_set_element(l->dtype, values, h, *value);
    }
    return i >= 0;
}

/* Twice the numbers, and 1 where they are 0. */
static asc_tensor doubled(const asc_layer *l, asc_tensor scalar)
{
    asc_tensor twice = asc_contiguous(l->ctx, asc_scale(l->ctx, scalar, 2));
    void *values = asc_data_mut(twice);
    for (int64_t h = 0; values && h < asc_numel(twice); h++) {
        if (asc_element(l->dtype, values, h) == 0) {
            asc_set_element(l->dtype, values, h, 1);
        }
    }
    return twice;
}

/* The largest |y_e - x_e| over the largest |x_e| of each head, x and y (1, N, H w). */
static asc_tensor relative_change(const asc_layer *l, asc_tensor x, asc_tensor y)
{
    int64_t H = ((const asc_ascender_layer *)l->self)->options.heads, w = asc_size(x, 2) / H;
    asc_tensor result = asc_zeros(l->ctx, ASC_F64, ASC_SHAPE(H));
    const void *from = asc_data(x), *to = asc_data(y);
    double *change = asc_data_mut(result);
    for (int64_t h = 0; from && to && change && h < H; h++) {
        double most = 0, largest = 0;
        for (int64_t e = 0; e < asc_size(x, 1) * w; e++) {
            int64_t at = e / w * H * w + h * w + e % w;
            double was = asc_element(l->dtype, from, at);
            most = fmax(most, fabs(asc_element(l->dtype, to, at) - was));
            largest = fmax(largest, fabs(was));
        }
        change[h] = largest > 0 ? most / largest : 0;
    }
    return result;
}

static asc_tensor moves(asc_layer *l, asc_tensor x, const char *name)
{
    int i = asc_scalar_find(((const asc_ascender_layer *)l->self)->background, name);
    if (i < 0) {
        return asc_null();
    }
    asc_ascender_inputs in = inputs_of(l, x, asc_null(), 0, 0);
    asc_tensor before = attend(l, &in, asc_null(), false).y;
    in.scalar[i] = doubled(l, in.scalar[i]);
    asc_tensor after = attend(l, &in, asc_null(), false).y;
    release_inputs(l, &in);
    return asc_error(l->ctx) ? asc_null() : relative_change(l, before, after);
}

static const asc_logged logged[] = {
    {"omega_align", false}, {"omega_sep", false},   {"omega_coh", false},  {"lambda_align", false},
    {"lambda_sep", false},  {"lambda_coh", false},  {"lambda_dist", false}, {"lambda_rho", false},
    {"gamma_align", true},  {"gamma_coh", true},    {"eta", true},          {NULL, false},
};

/* Weights ω and strengths λ, [H]; of the gates γ and the density η (B, H, N, 1) each head's mean. */
static asc_tensor log_value(asc_layer *l, const char *name, const asc_params *parts)
{
    if (parts) {
        asc_tensor part = asc_params_find(parts, name);
        return asc_is_null(part) ? part : asc_mean(l->ctx, part, ASC_DIMS(0, 2, 3), false);
    }
    const asc_ascender_layer *t = l->self;
    int i = asc_scalar_find(t->background, name);
    return i < 0 ? asc_null() : t->scalar[i];
}

static const char *const outputs[] = {"o.weight", NULL};

const asc_mixing asc_mixing_ascender = {
    .abi = ASC_MIXING_ABI,
    .name = "ascender",
    .settings = asc_ascender_settings,
    .settings_size = sizeof(asc_ascender_values),
    .sample = "{\"heads\": 2}",
    .takes_mask = true,
    .takes_neighbors = true,
    .takes_bias = true,
    .takes_context = true,
    .size = sizeof(asc_ascender_layer),
    .check = asc_ascender_check,
    .init = asc_ascender_init,
    .forward = forward,
    .inspect = inspect,
    .cache = cache,
    .next = next,
    .carry = carry,
    .reach = reach,
    .looks_ahead = looks_ahead,
    .project = project,
    .ramp = ramp,
    .hold = hold,
    .moves = moves,
    .logged = logged,
    .log = log_value,
    .outputs = outputs,
};
