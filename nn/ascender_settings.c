/* nn/ascender_settings.c: an ASCender layer's settings and parameters (spec.md §2.0). */
#include <stdio.h>
#include <string.h>

#include "nn/ascender.h"
#include "tensor/ctx.h"

const asc_setting asc_ascender_settings[] = {
    {"heads", "attention heads"},
    {"mask", "causal or full; a language model is causal"},
    {"window", "w > 0: only |i - j| < w, and the global tokens"},
    {"globals", "tokens at the start that all look at, beside a window"},
    {"positions", "none, rotary or alibi, beside or in place of learned positions"},
    {"rel", "R > 0: a learned bias for each distance up to R"},
    {"variant", "swarm, or background: the biases of the second draft"},
    {"listing", "none, intended or reference: settings as the authors' listing has them, which others then change"},
    {"look_ahead", "true: a language model takes this layer even where it sees the tokens to predict"},
    {"neighbors", "semantic, base, window, hybrid_union or hybrid_intersection: who the neighbours of a token are"},
    {"k", "neighbours by score; a number, or a list with one a head"},
    {"radius", "of the window of neighbours"},
    {"neighbor_self", "true: a token is a candidate to be its own neighbour"},
    {"rho_self", "true: a token counts in its own density"},
    {"sep_self", "false: a token does not separate from itself"},
    {"kernel", "tau: exp(-d²/τ), or tau2: exp(-d²/τ²)"},
    {"gate", "before, none or after: where λ, γ and η act, seen from the row normalisation"},
    {"unbiased", "true: the rows' sample deviation"},
    {"stats", "allowed, or all: statistics over the whole row, the mask at the softmax only"},
    {"heading", "k, and for the background variant q or qk: what headings are made of"},
    {"d_head", "width of a head's queries and keys; d_model over heads"},
    {"d_value", "width of a head's values; d_head"},
    {"dz", "width of a head's places; half of d_head"},
    {"da", "width of a head's features; half of d_head"},
    {"lambda_align", "initial strength of alignment; like all scalars a number, or a list with one a head"},
    {"lambda_sep", "initial strength of separation"},
    {"lambda_coh", "initial strength of cohesion"},
    {"tau_sep", "initial width of separation"},
    {"tau_coh", "initial width of cohesion"},
    {"kappa", "initial density at which separation is full"},
    {"delta", "initial cosine above which tokens separate"},
    {"alpha_align", "initial slope of alignment's gate; below 0: the less the neighbours agree, the weaker"},
    {"alpha_coh", "initial slope of cohesion's gate"},
    {"omega_align", "initial weight of alignment's normalised bias"},
    {"omega_sep", "initial weight of separation's"},
    {"omega_coh", "initial weight of cohesion's"},
    {"tau_score", "initial temperature of the softmax"},
    {"lambda_dist", "background: initial strength of the distance in separation"},
    {"lambda_rho", "background: initial strength of the density in separation"},
    {"theta_coh", "background: initial threshold of cohesion"},
    {"freeze", "list of scalars that are not trained"},
    {"freeze_inert", "true: nor are those that change next to nothing under the chosen gate"},
    {"aux_coh", "weight of the auxiliary loss of cohesion"},
    {"aux_sep", "weight of the auxiliary loss of separation"},
    {"aux_align", "weight of the auxiliary loss of alignment"},
    {"composed", "true: built of primitive ops, slow, to check the fused one"},
    {NULL, NULL},
};

/* ---- scalars ---- */

static const double no_least = -1e9, least_tau = 1e-3;

const asc_scalar_info *asc_ascender_scalars(bool background)
{
    static const asc_scalar_info swarm[ASC_ASCENDER_SCALARS + 1] = {
        [ASC_LAMBDA_ALIGN] = {"lambda_align", 1, no_least}, [ASC_LAMBDA_SEP] = {"lambda_sep", 1, no_least},
        [ASC_LAMBDA_COH] = {"lambda_coh", 1, no_least},     [ASC_TAU_SEP] = {"tau_sep", 1, least_tau},
        [ASC_TAU_COH] = {"tau_coh", 1, least_tau},          [ASC_KAPPA] = {"kappa", 32, 0},
        [ASC_DELTA] = {"delta", .2, no_least},              [ASC_ALPHA_ALIGN] = {"alpha_align", -1, no_least},
        [ASC_ALPHA_COH] = {"alpha_coh", -1, no_least},      [ASC_OMEGA_ALIGN] = {"omega_align", .1, no_least},
        [ASC_OMEGA_SEP] = {"omega_sep", .1, no_least},      [ASC_OMEGA_COH] = {"omega_coh", .1, no_least},
        [ASC_TAU_SCORE] = {"tau_score", 1, least_tau},
    };
    static const asc_scalar_info second[ASC_BACKGROUND_SCALARS + 1] = {
        [ASC_BACKGROUND_LAMBDA_DIST] = {"lambda_dist", 1, no_least},
        [ASC_BACKGROUND_LAMBDA_RHO] = {"lambda_rho", 1, no_least},
        [ASC_BACKGROUND_TAU_SEP] = {"tau_sep", 1, least_tau},
        [ASC_BACKGROUND_THETA_COH] = {"theta_coh", 0, no_least},
        [ASC_BACKGROUND_OMEGA_ALIGN] = {"omega_align", .1, no_least},
        [ASC_BACKGROUND_OMEGA_SEP] = {"omega_sep", .1, no_least},
        [ASC_BACKGROUND_OMEGA_COH] = {"omega_coh", .1, no_least},
        [ASC_BACKGROUND_TAU_SCORE] = {"tau_score", 1, least_tau},
    };
    return background ? second : swarm;
}

/* What a positive factor for each row does is undone by the row normalisation after it, and where there is no gate its
 * slope does nothing; their gradients are rounding errors, of which Adam would make a random walk (spec.md §2.8,
 * §5). */
static uint64_t inert_scalars(const asc_ascender_layer *t)
{
    const uint64_t strengths = 1u << ASC_LAMBDA_ALIGN | 1u << ASC_LAMBDA_SEP | 1u << ASC_LAMBDA_COH | 1u << ASC_KAPPA;
    const uint64_t slopes = 1u << ASC_ALPHA_ALIGN | 1u << ASC_ALPHA_COH;
    return t->background || t->options.gate == ASC_GATE_AFTER ? 0 : strengths | slopes;
}

static asc_status make_scalar(asc_layer *l, asc_config *c, asc_maker *m, int i, bool frozen)
{
    asc_ascender_layer *t = l->self;
    const asc_scalar_info *info = &asc_ascender_scalars(t->background)[i];
    int64_t H = t->options.heads;
    double *values = asc_alloc(l->ctx, (size_t)H * sizeof *values);
    if (!values) {
        return ASC_ERR_MEMORY;
    }
    asc_config_reals(c, info->name, info->initial, info->least, 1e9, H, values);
    t->scalar[i] = asc_make_values(m, info->name, H, values);
    if (frozen && !asc_is_null(t->scalar[i])) {
        asc_require_grad(t->scalar[i], false);
    }
    if (strcmp(info->name, "omega_sep") == 0) {
        t->omega_sep = values;
        t->sep_frozen = frozen;
    } else {
        asc_free(l->ctx, values, (size_t)H * sizeof *values);
    }
    return asc_error(l->ctx);
}

static bool is_scalar(const char *key, bool background)
{
    const asc_scalar_info *info = asc_ascender_scalars(background);
    while (info->name && strcmp(info->name, key) != 0) {
        info++;
    }
    return info->name;
}

/* A scalar that only the other variant has. */
static asc_status check_scalars(const asc_layer *l, const asc_config *c)
{
    bool background = ((const asc_ascender_layer *)l->self)->background;
    const char *key;
    json_t *value;
    json_object_foreach(c->given, key, value) {
        if (is_scalar(key, !background) && !is_scalar(key, background)) {
            return asc_fail(l->ctx, ASC_ERR_ARG, "config: %s belongs to variant %s", key,
                            background ? "swarm" : "background");
        }
    }
    return ASC_OK;
}

static asc_status make_scalars(asc_layer *l, asc_config *c, asc_maker *m)
{
    const asc_ascender_layer *t = l->self;
    const asc_scalar_info *info = asc_ascender_scalars(t->background);
    const char *names[ASC_ASCENDER_SCALARS + 1] = {NULL};
    for (int i = 0; info[i].name; i++) {
        names[i] = info[i].name;
    }
    uint64_t frozen = asc_config_set(c, "freeze", 0, names);
    frozen |= asc_config_bool(c, "freeze_inert", true) ? inert_scalars(t) : 0;
    for (int i = 0; info[i].name && !asc_error(l->ctx); i++) {
        make_scalar(l, c, m, i, frozen >> i & 1);
    }
    return asc_error(l->ctx);
}

/* ---- settings ---- */

/* What a listing has in place of the other defaults (spec.md §2.9). */
typedef struct listing {
    bool full, self, all, unbiased;
    int neighbors, gate;
    int64_t radius;
} listing;

static const char *const listings[] = {"none", "intended", "reference", NULL};
static const listing defaults[] = {
    {false, false, false, false, ASC_NEIGHBORS_SEMANTIC, ASC_GATE_BEFORE, 2},
    {true, true, true, true, ASC_NEIGHBORS_SEMANTIC, ASC_GATE_NONE, 2},
    {true, true, true, true, ASC_NEIGHBORS_WINDOW, ASC_GATE_NONE, 0},
};

static void read_options(asc_layer *l, asc_config *c)
{
    static const char *const masks[] = {"causal", "full", NULL}, *const variants[] = {"swarm", "background", NULL};
    static const char *const positions[] = {"none", "rotary", "alibi", NULL}, *const sets[] = {"allowed", "all", NULL};
    static const char *const kernels[] = {"tau", "tau2", NULL}, *const headings[] = {"k", "q", "qk", NULL};
    static const char *const gates[] = {"before", "none", "after", NULL};
    static const char *const neighbors[] = {"semantic", "base", "window", "hybrid_union", "hybrid_intersection", NULL};
    asc_ascender_layer *t = l->self;
    asc_ascender_options *o = &t->options;
    const listing *d = &defaults[asc_config_choice(c, "listing", 0, listings)];
    t->background = asc_config_choice(c, "variant", 0, variants) == 1;
    o->causal = asc_config_choice(c, "mask", d->full, masks) == 0;
    o->window = asc_config_int(c, "window", 0, 0, INT32_MAX);
    o->globals = asc_config_int(c, "globals", 0, 0, INT32_MAX);
    int position = asc_config_choice(c, "positions", 0, positions);
    t->rotary = position == 1;
    o->alibi = position == 2;
    t->look_ahead = asc_config_bool(c, "look_ahead", false);
    o->neighbors = (asc_neighbors)asc_config_choice(c, "neighbors", d->neighbors, neighbors);
    o->radius = asc_config_int(c, "radius", d->radius, 0, INT32_MAX);
    o->neighbor_self = asc_config_bool(c, "neighbor_self", d->self);
    o->rho_self = asc_config_bool(c, "rho_self", d->self);
    o->sep_self = asc_config_bool(c, "sep_self", true);
    o->tau_squared = asc_config_choice(c, "kernel", 0, kernels) == 1;
    o->gate = (asc_gate)asc_config_choice(c, "gate", d->gate, gates);
    o->unbiased = asc_config_bool(c, "unbiased", d->unbiased);
    o->all_statistics = asc_config_choice(c, "stats", d->all, sets) == 1;
    t->heading = (asc_heading)asc_config_choice(c, "heading", 0, headings);
    t->aux_coh = asc_config_real(c, "aux_coh", 0, -1e9, 1e9);
    t->aux_sep = asc_config_real(c, "aux_sep", 0, -1e9, 1e9);
    t->aux_align = asc_config_real(c, "aux_align", 0, -1e9, 1e9);
    t->composed = asc_config_bool(c, "composed", false);
}

static void read_neighbor_counts(asc_layer *l, asc_config *c)
{
    asc_ascender_layer *t = l->self;
    int64_t H = t->options.heads;
    t->k_of = asc_alloc(l->ctx, (size_t)H * sizeof *t->k_of);
    if (t->k_of) {
        asc_config_ints(c, "k", 16, 0, INT32_MAX, H, t->k_of);
        t->options.k = t->k_of[0];
        t->options.k_of = t->k_of;
    }
}

static void read_widths(asc_layer *l, asc_config *c)
{
    asc_ascender_layer *t = l->self;
    int64_t H = t->options.heads, whole = l->D / H;
    t->d = asc_config_int(c, "d_head", whole > 0 ? whole : 1, 1, 1 << 20);
    t->d_value = asc_config_int(c, "d_value", t->d, 1, 1 << 20);
    t->d_z = asc_config_int(c, "dz", t->d > 1 ? t->d / 2 : 1, 1, 1 << 20);
    t->d_a = asc_config_int(c, "da", t->d > 1 ? t->d / 2 : 1, 1, 1 << 20);
    if (l->D % H && !json_object_get(c->given, "d_head")) {
        asc_fail(l->ctx, ASC_ERR_ARG, "config: heads is %lld, expected a divisor of the width %lld, or d_head beside "
                 "it", (long long)H, (long long)l->D);
    }
}

/* Options that contradict one another: what does not go together, and why. */
static asc_status check_options(const asc_layer *l)
{
    const asc_ascender_layer *t = l->self;
    const asc_ascender_options *o = &t->options;
    bool aux = t->aux_coh != 0 || t->aux_sep != 0 || t->aux_align != 0;
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        {o->globals > 0 && o->window == 0, "globals need a window: without one all tokens are looked at anyway"},
        {t->rotary && t->d % 2, "rotary positions turn pairs: they need an even d_head"},
        {!t->background && t->heading != ASC_HEADING_K, "heading q or qk belongs to variant background"},
        {t->background && o->gate != ASC_GATE_BEFORE, "gate belongs to variant swarm: background has none"},
        {t->background && o->tau_squared, "kernel tau2 belongs to variant swarm"},
        {t->background && (o->rho_self || !o->sep_self),
         "rho_self and sep_self belong to variant swarm: background takes its density over the neighbours"},
        {t->background && aux, "the auxiliary losses belong to variant swarm"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].wrong) {
            return asc_fail(l->ctx, ASC_ERR_ARG, "config: %s", rules[i].why);
        }
    }
    return asc_error(l->ctx);
}

/* ---- parameters ---- */

static void make_weights(asc_layer *l, asc_config *c, asc_maker *m)
{
    asc_ascender_layer *t = l->self;
    int64_t H = t->options.heads;
    const struct {
        const char *name;
        asc_tensor *weight;
        int64_t width;
    } maps[] = {{"q.weight", &t->q, t->d},
                {"k.weight", &t->k, t->d},
                {"v.weight", &t->v, t->d_value},
                {"u.weight", &t->u, t->d_z},
                {"p.weight", &t->p, t->d_a}};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        *maps[i].weight = asc_make_param(m, maps[i].name, ASC_INIT_LINEAR, ASC_SHAPE(H * maps[i].width, l->D));
    }
    t->o = asc_make_linear(m, "o", H * t->d_value, l->D);
    make_scalars(l, c, m);
    int64_t R = asc_config_int(c, "rel", 0, 0, INT32_MAX);
    if (R > 0) {
        t->rel_bias = asc_make_param(m, "rel_bias", ASC_INIT_ZERO, ASC_SHAPE(H, 2 * R + 1));
    }
}

asc_status asc_ascender_init(asc_layer *l, asc_config *c, asc_maker *maker, int layer, int layers)
{
    (void)layer;
    (void)layers;
    asc_ascender_layer *t = l->self;
    t->options.heads = asc_config_int(c, "heads", INT64_MIN, 1, 1 << 20);
    read_options(l, c);
    read_widths(l, c);
    read_neighbor_counts(l, c);
    if (check_options(l) || check_scalars(l, c)) {
        return asc_error(l->ctx);
    }
    make_weights(l, c, maker);
    return asc_error(l->ctx);
}

void asc_ascender_clear(asc_layer *l)
{
    asc_ascender_layer *t = l->self;
    size_t H = (size_t)t->options.heads;
    asc_free(l->ctx, t->k_of, t->k_of ? H * sizeof *t->k_of : 0);
    asc_free(l->ctx, t->omega_sep, t->omega_sep ? H * sizeof *t->omega_sep : 0);
}
