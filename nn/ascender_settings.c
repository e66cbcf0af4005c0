/* nn/ascender_settings.c: an ASCender layer's settings and parameters. */
#include <string.h>

#include "nn/ascender.h"
#include "nn/attention.h"

/* ---- the table ---- */

#define AT(field) offsetof(asc_ascender_values, field)
#define MUCH 1e9
#define LEAST_TAU 1e-3

enum { SWARM, BACKGROUND };
enum { TRAIN_INERT, FREEZE_NAMED, FREEZE_MEASURED };
static const char *const inert[] = {"false", "true", "measured", NULL};
enum { NO_LISTING, INTENDED, REFERENCE };
static const char *const variants[] = {"swarm", "background", NULL}, *const kernels[] = {"tau", "tau2", NULL};
static const char *const listings[] = {"none", "intended", "reference", NULL}, *const sets[] = {"allowed", "all", NULL};
enum { LEARNED, POSITION };
static const char *const coordinates[] = {"learned", "position", NULL};
static const char *const headings[] = {"k", "q", "qk", NULL}, *const gates[] = {"before", "none", "after", NULL};
static const char *const neighbors[] = {"semantic", "base", "window", "hybrid_union", "hybrid_intersection", NULL};

enum {
    LAMBDA_ALIGN, LAMBDA_SEP, LAMBDA_COH, TAU_SEP, TAU_COH, KAPPA, DELTA, ALPHA_ALIGN, ALPHA_COH, OMEGA_ALIGN,
    OMEGA_SEP, OMEGA_COH, TAU_SCORE, LAMBDA_DIST, LAMBDA_RHO, THETA_COH,
};
static const char *const scalars[ASC_SCALAR_SETTINGS + 1] = {
    "lambda_align", "lambda_sep", "lambda_coh", "tau_sep", "tau_coh", "kappa", "delta", "alpha_align",
    "alpha_coh", "omega_align", "omega_sep", "omega_coh", "tau_score", "lambda_dist", "lambda_rho",
    "theta_coh", NULL,
};

/* A scalar: its place, key, default, least, variant (NULL: of both), and what it is. */
#define SCALAR(which, key, initial, least, variant, text)                                                              \
    {key, ASC_SETTING_REAL, AT(scalar[which]), initial, .help = text, .min = least, .max = MUCH,                       \
     .flags = ASC_SETTING_PER_HEAD, .only = variant}

const asc_setting asc_ascender_settings[] = {
    ASC_HEADS_SETTING(AT(heads)),
    {"listing", ASC_SETTING_CHOICE, AT(listing), "none",
     .help = "settings as the authors' listing has them, intended or as it runs, which others then change",
     .choices = listings},
    {"variant", ASC_SETTING_CHOICE, AT(variant), "swarm",
     .help = "which biases, the background ones being those of the second draft", .choices = variants},
    {"mask", ASC_SETTING_CHOICE, AT(mask), NULL, .help = "who sees whom; a language model is causal",
     .choices = asc_mask_names, .option = "mask", .follows = "causal; full in a listing"},
    ASC_LINK_SETTINGS(AT),
    {"look_ahead", ASC_SETTING_BOOL, AT(look_ahead), "false",
     .help = "a language model takes this layer even where it sees the tokens to predict"},
    {"neighbors", ASC_SETTING_CHOICE, AT(neighbors), NULL, .help = "who the neighbours of a token are",
     .choices = neighbors, .follows = "semantic; window for listing reference"},
    {"k", ASC_SETTING_INT, AT(k), "16", .help = "neighbours by score", .max = INT32_MAX,
     .flags = ASC_SETTING_PER_HEAD},
    {"radius", ASC_SETTING_INT, AT(radius), NULL, .help = "of the window of neighbours", .max = INT32_MAX,
     .follows = "2; 0 for listing reference"},
    {"neighbor_self", ASC_SETTING_BOOL, AT(neighbor_self), NULL,
     .help = "a token is a candidate to be its own neighbour", .follows = "false; true in a listing"},
    {"rho_self", ASC_SETTING_BOOL, AT(rho_self), NULL, .help = "a token counts in its own density",
     .follows = "false; true in a listing"},
    {"sep_self", ASC_SETTING_BOOL, AT(sep_self), "true", .help = "a token separates from itself"},
    {"kernel", ASC_SETTING_CHOICE, AT(kernel), "tau", .help = "exp(-d²/τ), or exp(-d²/τ²)",
     .choices = kernels},
    {"gate", ASC_SETTING_CHOICE, AT(gate), NULL, .help = "where λ, γ and η act, seen from the row normalisation",
     .choices = gates, .follows = "before; none in a listing"},
    {"gamma", ASC_SETTING_BOOL, AT(gamma), NULL,
     .help = "alignment and cohesion have gates γ; false: γ = 1, in whatever order",
     .follows = "true; false with gate none", .only = "variant=swarm"},
    {"eta", ASC_SETTING_BOOL, AT(eta), "true", .help = "separation has its density η; false: η = 1",
     .only = "variant=swarm"},
    {"unbiased", ASC_SETTING_BOOL, AT(unbiased), NULL, .help = "the rows' sample deviation",
     .follows = "false; true in a listing"},
    {"stats", ASC_SETTING_CHOICE, AT(stats), NULL,
     .help = "what statistics are over; all: the whole row, the mask at the softmax only",
     .choices = sets, .follows = "allowed; all in a listing"},
    {"heading", ASC_SETTING_CHOICE, AT(heading), "k",
     .help = "what headings are made of; other than k for the background variant only", .choices = headings},
    {"coordinates", ASC_SETTING_CHOICE, AT(coordinates), "learned",
     .help = "places z: learned, xUᵀ, or the token's position j/s, in one dimension and without u.weight",
     .choices = coordinates, .only = "variant=background"},
    {"coordinate_scale", ASC_SETTING_REAL, AT(coordinate_scale), "16", .help = "s of positions as places",
     .min = 1e-3, .max = MUCH, .only = "coordinates=position"},
    {"d_head", ASC_SETTING_INT, AT(d_head), NULL, .help = "width of a head's queries and keys", .min = 1,
     .max = 1 << 20, .follows = "d_model over heads"},
    {"d_value", ASC_SETTING_INT, AT(d_value), NULL, .help = "width of a head's values", .min = 1, .max = 1 << 20,
     .follows = "d_head"},
    {"dz", ASC_SETTING_INT, AT(dz), NULL, .help = "width of a head's places", .min = 1, .max = 1 << 20,
     .follows = "half of d_head; 1 with coordinates position"},
    {"da", ASC_SETTING_INT, AT(da), NULL, .help = "width of a head's features", .min = 1, .max = 1 << 20,
     .follows = "half of d_head"},
    SCALAR(LAMBDA_ALIGN, "lambda_align", "1", -MUCH, "variant=swarm", "initial strength of alignment"),
    SCALAR(LAMBDA_SEP, "lambda_sep", "1", -MUCH, "variant=swarm", "initial strength of separation"),
    SCALAR(LAMBDA_COH, "lambda_coh", "1", -MUCH, "variant=swarm", "initial strength of cohesion"),
    SCALAR(TAU_SEP, "tau_sep", "1", LEAST_TAU, NULL, "initial width of separation"),
    SCALAR(TAU_COH, "tau_coh", "1", LEAST_TAU, "variant=swarm", "initial width of cohesion"),
    SCALAR(KAPPA, "kappa", "32", 0, "variant=swarm", "initial density at which separation is full"),
    SCALAR(DELTA, "delta", "0.2", -MUCH, "variant=swarm", "initial cosine above which tokens separate"),
    SCALAR(ALPHA_ALIGN, "alpha_align", "-1", -MUCH, "variant=swarm",
           "initial slope of alignment's gate; below 0: the less the neighbours agree, the weaker"),
    SCALAR(ALPHA_COH, "alpha_coh", "-1", -MUCH, "variant=swarm", "initial slope of cohesion's gate"),
    SCALAR(OMEGA_ALIGN, "omega_align", "0.1", -MUCH, NULL, "initial weight of alignment's normalised bias"),
    SCALAR(OMEGA_SEP, "omega_sep", "0.1", -MUCH, NULL, "initial weight of separation's"),
    SCALAR(OMEGA_COH, "omega_coh", "0.1", -MUCH, NULL, "initial weight of cohesion's"),
    SCALAR(TAU_SCORE, "tau_score", "1", LEAST_TAU, NULL, "initial temperature of the softmax"),
    SCALAR(LAMBDA_DIST, "lambda_dist", "1", -MUCH, "variant=background",
           "initial strength of the distance in separation"),
    SCALAR(LAMBDA_RHO, "lambda_rho", "1", -MUCH, "variant=background",
           "initial strength of the density in separation"),
    SCALAR(THETA_COH, "theta_coh", "0", -MUCH, "variant=background", "initial threshold of cohesion"),
    {"freeze", ASC_SETTING_HEADS, AT(freeze), "[]",
     .help = "scalars that are not trained, in all heads or, as omega_sep:0, in one", .choices = scalars,
     .flags = ASC_SETTING_PER_LAYER},
    {"freeze_inert", ASC_SETTING_CHOICE, AT(freeze_inert), "true",
     .help = "nor are those that the gate order makes idle by name; measured: those that, doubled, move no output by "
             "more than rounding when the training starts", .choices = inert},
    {"share", ASC_SETTING_HEADS, AT(share), "[]", .help = "scalars that all heads have one of", .choices = scalars},
    {"aux_coh", ASC_SETTING_REAL, AT(aux_coh), "0", .help = "weight of the auxiliary loss of cohesion", .min = -MUCH,
     .max = MUCH},
    {"aux_sep", ASC_SETTING_REAL, AT(aux_sep), "0", .help = "weight of the auxiliary loss of separation", .min = -MUCH,
     .max = MUCH},
    {"aux_align", ASC_SETTING_REAL, AT(aux_align), "0", .help = "weight of the auxiliary loss of alignment",
     .min = -MUCH, .max = MUCH},
    ASC_QK_NORM_SETTING(AT(qk_norm)),
    {"composed", ASC_SETTING_BOOL, AT(composed), "false",
     .help = "built of primitive ops, slow, to check the fused one"},
    {0},
};

/* ---- scalars ---- */

static const int swarm[ASC_ASCENDER_SCALARS] = {
    [ASC_ASCENDER_LAMBDA_ALIGN] = LAMBDA_ALIGN,
    [ASC_ASCENDER_LAMBDA_SEP] = LAMBDA_SEP,
    [ASC_ASCENDER_LAMBDA_COH] = LAMBDA_COH,
    [ASC_ASCENDER_TAU_SEP] = TAU_SEP,
    [ASC_ASCENDER_TAU_COH] = TAU_COH,
    [ASC_ASCENDER_KAPPA] = KAPPA,
    [ASC_ASCENDER_DELTA] = DELTA,
    [ASC_ASCENDER_ALPHA_ALIGN] = ALPHA_ALIGN,
    [ASC_ASCENDER_ALPHA_COH] = ALPHA_COH,
    [ASC_ASCENDER_OMEGA_ALIGN] = OMEGA_ALIGN,
    [ASC_ASCENDER_OMEGA_SEP] = OMEGA_SEP,
    [ASC_ASCENDER_OMEGA_COH] = OMEGA_COH,
    [ASC_ASCENDER_TAU_SCORE] = TAU_SCORE,
};
static const int second[ASC_BACKGROUND_SCALARS] = {
    [ASC_BACKGROUND_LAMBDA_DIST] = LAMBDA_DIST, [ASC_BACKGROUND_LAMBDA_RHO] = LAMBDA_RHO,
    [ASC_BACKGROUND_TAU_SEP] = TAU_SEP,         [ASC_BACKGROUND_THETA_COH] = THETA_COH,
    [ASC_BACKGROUND_OMEGA_ALIGN] = OMEGA_ALIGN, [ASC_BACKGROUND_OMEGA_SEP] = OMEGA_SEP,
    [ASC_BACKGROUND_OMEGA_COH] = OMEGA_COH,     [ASC_BACKGROUND_TAU_SCORE] = TAU_SCORE,
};

/* Which scalar is the variant's i-th; -1 past the last. */
static int scalar_of(bool background, int i)
{
    return background ? i < ASC_BACKGROUND_SCALARS ? second[i] : -1 : i < ASC_ASCENDER_SCALARS ? swarm[i] : -1;
}

const asc_setting *asc_scalar_setting(bool background, int i)
{
    int which = scalar_of(background, i);
    return which < 0 ? NULL : asc_setting_find(asc_ascender_settings, scalars[which]);
}

/* The scalars that only the other variant has. */
static uint64_t strangers(bool background)
{
    uint64_t own = 0;
    for (int i = 0; scalar_of(background, i) >= 0; i++) {
        own |= UINT64_C(1) << scalar_of(background, i);
    }
    return ~own;
}

/* What a positive factor for each row does is undone by the row normalisation after it, and where there is no gate its
 * slope does nothing; their gradients are rounding errors, of which Adam would make a random walk (doc/ascender.md). */
static uint64_t inert_scalars(const asc_ascender_values *v)
{
    const uint64_t strengths = 1u << LAMBDA_ALIGN | 1u << LAMBDA_SEP | 1u << LAMBDA_COH | 1u << KAPPA;
    const uint64_t slopes = 1u << ALPHA_ALIGN | 1u << ALPHA_COH;
    return v->variant == BACKGROUND || v->gate == ASC_GATE_AFTER ? 0 : strengths | slopes;
}

/* ---- which are trained ---- */

/* Whether a list names a scalar for head h; for all heads, with h = -1. */
static bool names(const asc_ints *list, int which, int64_t h)
{
    for (int64_t i = 0; i + 1 < list->n; i += 2) {
        if (list->at[i] == which && (list->at[i + 1] < 0 || list->at[i + 1] == h)) {
            return true;
        }
    }
    return false;
}

int asc_scalar_find(bool background, const char *name)
{
    const asc_setting *setting;
    for (int i = 0; name && (setting = asc_scalar_setting(background, i)); i++) {
        if (strcmp(setting->key, name) == 0) {
            return i;
        }
    }
    return -1;
}

const double *asc_scalar_initial(const asc_ascender_layer *t, int i)
{
    return t->values->scalar[scalar_of(t->background, i)].at;
}

bool asc_scalar_frozen(const asc_ascender_layer *t, int i, int64_t h)
{
    const asc_ascender_values *v = t->values;
    int which = scalar_of(t->background, i);
    bool idle = v->freeze_inert == FREEZE_NAMED && inert_scalars(v) >> which & 1;
    return idle || names(&v->freeze, which, h);
}

int64_t asc_scalar_frozen_heads(const asc_ascender_layer *t, int i)
{
    int64_t n = 0;
    for (int64_t h = 0; h < t->values->heads; h++) {
        n += asc_scalar_frozen(t, i, h);
    }
    return n;
}

bool asc_scalar_shared(const asc_ascender_layer *t, int i)
{
    return names(&t->values->share, scalar_of(t->background, i), -1);
}

/* ---- defaults that follow from other settings ---- */

/* What a listing has in place of the other defaults (doc/ascender.md). */
static void follow_listing(const asc_layer *l, asc_ascender_values *v)
{
    bool any = v->listing != NO_LISTING, reference = v->listing == REFERENCE;
    const struct {
        const char *key;
        int *choice, value;
    } choices[] = {
        {"mask", &v->mask, any ? ASC_MASK_FULL : ASC_MASK_CAUSAL},
        {"neighbors", &v->neighbors, reference ? ASC_NEIGHBORS_WINDOW : ASC_NEIGHBORS_SEMANTIC},
        {"gate", &v->gate, any ? ASC_GATE_NONE : ASC_GATE_BEFORE},
        {"stats", &v->stats, any},
    };
    const struct {
        const char *key;
        bool *value;
    } flags[] = {{"neighbor_self", &v->neighbor_self}, {"rho_self", &v->rho_self}, {"unbiased", &v->unbiased}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        *choices[i].choice = asc_layer_given(l, choices[i].key) ? *choices[i].choice : choices[i].value;
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        *flags[i].value = asc_layer_given(l, flags[i].key) ? *flags[i].value : any;
    }
    v->radius = asc_layer_given(l, "radius") ? v->radius : reference ? 0 : 2;
    v->gamma = asc_layer_given(l, "gamma") ? v->gamma : v->gate != ASC_GATE_NONE;
}

static asc_status follow_width(const asc_layer *l, asc_ascender_values *v)
{
    int64_t H = v->heads, whole = l->D / H;
    if (l->D % H && !asc_layer_given(l, "d_head")) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "heads", " is %lld, expected a divisor of the width %lld, or d_head "
                           "beside it", (long long)H, (long long)l->D);
    }
    v->d_head = asc_layer_given(l, "d_head") ? v->d_head : whole;
    int64_t half = v->d_head > 1 ? v->d_head / 2 : 1;
    v->d_value = asc_layer_given(l, "d_value") ? v->d_value : v->d_head;
    v->dz = asc_layer_given(l, "dz") ? v->dz : v->coordinates == POSITION ? 1 : half;
    v->da = asc_layer_given(l, "da") ? v->da : half;
    return ASC_OK;
}

/* ---- what goes together ---- */

static asc_status check_names(const asc_layer *l, const asc_ascender_values *v, const char *key, const asc_ints *list)
{
    uint64_t wrong = strangers(v->variant == BACKGROUND);
    for (int64_t i = 0; i + 1 < list->n; i += 2) {
        if (wrong >> list->at[i] & 1) {
            return asc_fail_on(l->ctx, ASC_ERR_ARG, key, " has %s, which belongs to variant %s", scalars[list->at[i]],
                               v->variant == BACKGROUND ? "swarm" : "background");
        }
        if (list->at[i + 1] >= v->heads) {
            return asc_fail_on(l->ctx, ASC_ERR_ARG, key, " has %s:%lld, but the heads are 0 to %lld",
                               scalars[list->at[i]], (long long)list->at[i + 1], (long long)v->heads - 1);
        }
    }
    return ASC_OK;
}

/* One number for all heads has one initial value, and is trained or not as a whole. */
static asc_status check_share(const asc_layer *l, const asc_ascender_values *v)
{
    for (int64_t i = 0; i + 1 < v->share.n; i += 2) {
        int which = (int)v->share.at[i];
        const char *name = scalars[which];
        const asc_reals *initial = &v->scalar[which];
        if (v->share.at[i + 1] >= 0) {
            return asc_fail_on(l->ctx, ASC_ERR_ARG, "share", " has %s:%lld: what is shared is shared by all heads",
                               name, (long long)v->share.at[i + 1]);
        }
        for (int64_t h = 0; h < v->heads; h++) {
            if (initial->at[h] != initial->at[0]) {
                return asc_fail_on(l->ctx, ASC_ERR_ARG, "share", " has %s, whose heads start from different values",
                                   name);
            }
            if (names(&v->freeze, which, h) != names(&v->freeze, which, -1)) {
                return asc_fail_on(l->ctx, ASC_ERR_ARG, "share", " has %s, which freeze has for a single head", name);
            }
        }
    }
    return ASC_OK;
}

static asc_status check_training(const asc_layer *l, const asc_ascender_values *v)
{
    if (check_names(l, v, "freeze", &v->freeze) || check_names(l, v, "share", &v->share)) {
        return asc_error(l->ctx);
    }
    return check_share(l, v);
}

/* Options that contradict one another: what does not go together, and why. */
asc_status asc_ascender_check(asc_layer *l)
{
    asc_ascender_values *v = l->settings;
    follow_listing(l, v);
    if (follow_width(l, v)) {
        return asc_error(l->ctx);
    }
    bool background = v->variant == BACKGROUND, aux = v->aux_coh != 0 || v->aux_sep != 0 || v->aux_align != 0;
    bool rotary = v->positions == ASC_POSITIONS_ROTARY;
    const struct {
        bool wrong;
        const char *key, *why;
    } rules[] = {
        {v->globals > 0 && v->window == 0, "globals", " need a window: without one all tokens are looked at anyway"},
        {v->random > 0 && v->window == 0, "random",
         " links need a window: without one all tokens are looked at anyway"},
        {rotary && v->d_head % 2, "positions", " are rotary, which turns pairs: they need an even d_head"},
        {!background && v->heading != ASC_HEADING_K, "heading", " q or qk belongs to variant background"},
        {v->gamma && v->gate == ASC_GATE_NONE && !background, "gamma", " is true, and gate none has none"},
        {background && v->gate != ASC_GATE_BEFORE, "gate", " belongs to variant swarm: background has none"},
        {background && v->kernel == 1, "kernel", " tau2 belongs to variant swarm"},
        {background && (v->rho_self || !v->sep_self), "rho_self",
         " and sep_self belong to variant swarm: background takes its density over the neighbours"},
        {v->coordinates == POSITION && v->dz != 1, "dz", " is of learned places: positions have one dimension"},
        {background && aux, "aux_coh", " and the other auxiliary losses belong to variant swarm"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].wrong) {
            return asc_fail_on(l->ctx, ASC_ERR_ARG, rules[i].key, "%s", rules[i].why);
        }
    }
    return check_training(l, v);
}

/* ---- parameters ---- */

/* The settings as the layer uses them. */
static void settle(asc_ascender_layer *t, const asc_ascender_values *v)
{
    t->options = (asc_ascender_options){
        .heads = v->heads, .window = v->window, .globals = v->globals, .random = v->random,
        .causal = v->mask == ASC_MASK_CAUSAL,
        .alibi = v->positions == ASC_POSITIONS_ALIBI, .neighbors = (asc_neighbors)v->neighbors, .k = v->k.at[0],
        .k_of = v->k.at, .radius = v->radius, .neighbor_self = v->neighbor_self, .rho_self = v->rho_self,
        .sep_self = v->sep_self, .tau_squared = v->kernel == 1, .gate = (asc_gate)v->gate,
        .without_gamma = !v->gamma && v->variant == SWARM, .without_eta = !v->eta && v->variant == SWARM,
        .unbiased = v->unbiased, .all_statistics = v->stats == 1,
    };
    t->d = v->d_head;
    t->d_value = v->d_value;
    t->d_z = v->dz;
    t->d_a = v->da;
    t->background = v->variant == BACKGROUND;
    t->rotary = v->positions == ASC_POSITIONS_ROTARY;
    t->composed = v->composed;
    t->look_ahead = v->look_ahead;
    t->spacing = v->coordinates == POSITION ? 1 / v->coordinate_scale : 0;
    t->heading = (asc_heading)v->heading;
    t->aux_coh = v->aux_coh;
    t->aux_sep = v->aux_sep;
    t->aux_align = v->aux_align;
    t->values = v;
}

static void make_scalars(asc_layer *l, asc_maker *m)
{
    const asc_ascender_values *v = l->settings;
    asc_ascender_layer *t = l->self;
    int which;
    for (int i = 0; (which = scalar_of(t->background, i)) >= 0; i++) {
        t->scalar[i] = asc_make_values(m, scalars[which], v->heads, v->scalar[which].at);
        if (asc_scalar_frozen_heads(t, i) == v->heads && !asc_is_null(t->scalar[i])) {
            asc_require_grad(t->scalar[i], false);
        }
    }
}

asc_status asc_ascender_init(asc_layer *l, asc_maker *m)
{
    const asc_ascender_values *v = l->settings;
    asc_ascender_layer *t = l->self;
    settle(t, v);
    int64_t H = v->heads;
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
        if (maps[i].weight != &t->u || t->spacing == 0) {
            *maps[i].weight = asc_make_param(m, maps[i].name, ASC_INIT_LINEAR, ASC_SHAPE(H * maps[i].width, l->D));
        }
    }
    t->o = asc_make_linear(m, "o", H * t->d_value, l->D);
    t->qk_norm = asc_qk_norm_make(m, v->qk_norm, H, t->d);
    make_scalars(l, m);
    if (v->rel > 0) {
        t->rel_bias = asc_make_param(m, "rel_bias", ASC_INIT_ZERO, ASC_SHAPE(H, 2 * v->rel + 1));
    }
    return asc_error(l->ctx);
}
