/* nn/grassmann_settings.c: the Grassmann layer's settings and parameters. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "nn/attention.h"
#include "nn/grassmann.h"
#include "nn/mixing.h"
#include "ops/grassmann/grassmann.h"
#include "ops/shared/sets.h"

/* ---- names for lists of offsets ---- */

static const int64_t paper[] = {1, 2, 4, 8, 12, 16};
enum { N_PAPER = sizeof paper / sizeof *paper, LONGEST_LAG = 8 };

enum { PAPER_6L, PAPER_12L, LAGS };
static const char *const schedules[] = {"paper-6l", "paper-12l", "lags", NULL};

static int expand(int which, int nth, int64_t *offsets)
{
    if (which == PAPER_6L) {
        memcpy(offsets, paper, sizeof paper);
        return N_PAPER;
    }
    /* The papers' twelve layers have one offset each, every one twice in a row; lags are 1, 2, 4, … 128, and again:
     * each layer reaches twice as far. */
    offsets[0] = which == PAPER_12L ? paper[nth / 2 % N_PAPER] : 1 << nth % LONGEST_LAG;
    return 1;
}

/* ---- the table ---- */

#define AT(field) offsetof(asc_grassmann_values, field)

enum { MEAN, SUM };
enum { UNIT, RMS };
enum { GATED, FIXED };
static const char *const directions[] = {
    [ASC_DIRECTION_PAST] = "past", [ASC_DIRECTION_FUTURE] = "future", [ASC_DIRECTION_BOTH] = "both", NULL};
static const char *const pairs[] = {[ASC_PAIR_WEDGE] = "wedge", [ASC_PAIR_SYMMETRIC] = "symmetric",
                                    [ASC_PAIR_PRODUCT] = "product", [ASC_PAIR_CONCAT] = "concat", NULL};
static const char *const aggregates[] = {"mean", "sum", NULL}, *const scales[] = {"unit", "rms", NULL},
                  *const forgets[] = {"gated", "fixed", NULL};

const asc_setting asc_grassmann_settings[] = {
    {"offsets", ASC_SETTING_INTS, AT(offsets), "[1, 2, 4, 8, 12, 16]",
     .help = "distances Δ to the tokens paired with, or a name for such lists", .min = 1, .max = INT32_MAX,
     .choices = schedules, .flags = ASC_SETTING_PER_LAYER, .expand = expand},
    {"tuples", ASC_SETTING_TUPLES, AT(tuples), "[]",
     .help = "lists of lags, in the offsets' place: with one lag planes, with two or three larger subspaces", .min = 1,
     .max = INT32_MAX, .flags = ASC_SETTING_PER_LAYER},
    {"r", ASC_SETTING_INT, AT(r), "32", .help = "reduced width of a token", .min = 2, .max = 1 << 14,
     .flags = ASC_SETTING_PER_LAYER},
    {"groups", ASC_SETTING_INT, AT(groups), "1", .help = "cuts r into G pieces of r/G, a plane or subspace each",
     .min = 1, .max = 1 << 13, .flags = ASC_SETTING_PER_LAYER},
    {"pair", ASC_SETTING_CHOICE, AT(pair), "wedge",
     .help = "what is made of two tokens; all but the wedge are controls, to see what it is worth", .choices = pairs},
    {"mask", ASC_SETTING_CHOICE, AT(mask), NULL,
     .help = "who sees whom; a language model is causal", .choices = asc_mask_names, .option = "mask",
     .follows = "causal; full with a direction other than past"},
    {"direction", ASC_SETTING_CHOICE, AT(direction), NULL,
     .help = "where the tokens paired with stand; a language model looks at the past", .choices = directions,
     .follows = "past; both with mask full"},
    {"aggregate", ASC_SETTING_CHOICE, AT(aggregate), "mean", .help = "what is made of the pairs",
     .choices = aggregates},
    {"learned", ASC_SETTING_COUNT, AT(learned), "false",
     .help = "learned weights of the pairs in place of the mean: true, or the number of pairs", .max = INT32_MAX},
    {"memory", ASC_SETTING_BOOL, AT(memory), "false",
     .help = "one more pair, with a memory of all tokens before", .flags = ASC_SETTING_PER_LAYER},
    {"forget", ASC_SETTING_CHOICE, AT(forget), "gated",
     .help = "how the memory fades: as a gate of each token says, or in each channel always alike", .choices = forgets},
    {"running_mean", ASC_SETTING_BOOL, AT(running_mean), "false",
     .help = "a second feature, the mean of the coordinates so far"},
    {"scale", ASC_SETTING_CHOICE, AT(scale), "unit",
     .help = "length of a group's coordinates: 1, or the root of the number of all groups'", .choices = scales},
    {"normalize", ASC_SETTING_BOOL, AT(normalize), "true",
     .help = "coordinates are divided by their length; false: p as it is"},
    {"eps", ASC_SETTING_REAL, AT(eps), "1e-8", .help = "least denominator of the coordinates", .min = DBL_MIN,
     .max = DBL_MAX},
    {"eps_rel", ASC_SETTING_REAL, AT(eps_rel), "0",
     .help = "sine of the angle below which a pair fades; without positions 1e-3", .max = DBL_MAX},
    {"invariants", ASC_SETTING_BOOL, AT(invariants), "false",
     .help = "the gate sees the path of the coordinates, too: alignment with their mean, curvature, means of both"},
    {"smooth", ASC_SETTING_REAL, AT(smooth), "0",
     .help = "weight of a loss on coordinates that change from one layer to the next", .max = DBL_MAX},
    {"composed", ASC_SETTING_BOOL, AT(composed), "false", .help = "built from primitive ops, slow, to compare with"},
    {0},
};

/* In a model the key is another mixing's. */
static const asc_setting settings_alone[] = {
    {"k", ASC_SETTING_INT, AT(k), NULL, .help = "dimension of the subspaces", .min = 2, .max = ASC_SUBSPACE_LAGS + 1,
     .follows = "one more than a tuple has lags"},
    {0},
};

/* ---- what goes together ---- */

static int count_pairs(const asc_grassmann_values *v)
{
    return v->tuples.n > 0 ? (int)(v->tuples.n / v->tuples.size)
                           : (int)v->offsets.n * (v->direction == ASC_DIRECTION_BOTH ? 2 : 1) + v->memory;
}

static int64_t dimension(const asc_grassmann_values *v)
{
    return v->tuples.n > 0 ? v->tuples.size + 1 : 2;
}

/* The mask is another word for the direction, which transformer and ascender know, too. */
static asc_status follow_mask(const asc_layer *l, asc_grassmann_values *v)
{
    bool masked = asc_layer_given(l, "mask"), directed = asc_layer_given(l, "direction");
    if (masked && !directed) {
        v->direction = v->mask == ASC_MASK_FULL ? ASC_DIRECTION_BOTH : ASC_DIRECTION_PAST;
    } else if (!directed) {
        v->direction = ASC_DIRECTION_PAST;
    }
    int mask = v->direction == ASC_DIRECTION_PAST ? ASC_MASK_CAUSAL : ASC_MASK_FULL;
    if (masked && v->mask != mask) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "mask", " is %s, and direction %s: expected one that goes with it",
                           asc_mask_names[v->mask], directions[v->direction]);
    }
    v->mask = mask;
    if (mask == ASC_MASK_FULL && v->memory && !directed) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "memory", " is true, and mask full: a memory holds what came before, "
                           "and has no form that looks ahead; direction both pairs with both sides beside it");
    }
    return ASC_OK;
}

/* A tuple's lags are different: a vector that is there twice leaves nothing of the subspace. */
static asc_status check_lags(const asc_layer *l, const asc_tuples *tuples)
{
    if (tuples->size > ASC_SUBSPACE_LAGS) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "tuples", " of layer %d have %lld lags, expected 1 to %d: subspaces of "
                           "2 to %d dimensions", l->index, (long long)tuples->size, ASC_SUBSPACE_LAGS,
                           ASC_SUBSPACE_LAGS + 1);
    }
    for (int64_t i = 0; i < tuples->n; i++) {
        for (int64_t j = i / tuples->size * tuples->size; j < i; j++) {
            if (tuples->at[i] == tuples->at[j]) {
                return asc_fail_on(l->ctx, ASC_ERR_ARG, "tuples", ": tuple %lld of layer %d has the lag %lld twice, "
                                   "and spans nothing: expected different ones", (long long)(i / tuples->size),
                                   l->index, (long long)tuples->at[i]);
            }
        }
    }
    return ASC_OK;
}

/* Whether a layer of this mixing has none of a list of tuples a layer, so that it has offsets. */
static bool another_has_offsets(const asc_layer *l)
{
    const json_t *mix = json_object_get(l->reader->given, "mix"), *tuples;
    size_t i;
    json_array_foreach(json_object_get(l->reader->given, "tuples"), i, tuples) {
        const char *name = asc_mix_of(mix, i);
        if (json_array_size(tuples) == 0 && (!name || strcmp(name, l->mixing->name) == 0)) {
            return true;
        }
    }
    return false;
}

/* Tuples take the offsets' place. One list of tuples, for all layers, leaves no layer for offsets, nor does a list a
 * layer with some for each; beside another one list of offsets is that of the layers without tuples. */
static asc_status replace_offsets(const asc_layer *l, asc_grassmann_values *v)
{
    bool own = asc_layer_spread(l, "tuples"), for_all = !own || !another_has_offsets(l);
    bool given = asc_layer_given(l, "offsets"), named = given && !asc_reader_is_list(l->reader, "offsets");
    if (given && v->offsets.n > 0 && (for_all || asc_layer_spread(l, "offsets"))) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "tuples", ": layer %d has offsets, too: expected [] for one of them",
                           l->index);
    }
    if (for_all || named) { /* of a name each layer is told of its own list */
        asc_free(l->ctx, v->offsets.at, (size_t)v->offsets.n * sizeof *v->offsets.at);
        v->offsets = (asc_ints){0};
    }
    return ASC_OK;
}

/* What subspaces of a layer with tuples have no form of. */
static asc_status check_beside_tuples(const asc_layer *l, const asc_grassmann_values *v)
{
    bool masked = asc_layer_given(l, "mask");
    if (v->direction != ASC_DIRECTION_PAST) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, masked ? "mask" : "direction", " is %s, and layer %d has tuples, which "
                           "look back: expected %s", masked ? asc_mask_names[v->mask] : directions[v->direction],
                           l->index, masked ? asc_mask_names[ASC_MASK_CAUSAL] : directions[ASC_DIRECTION_PAST]);
    }
    if (v->learned != 0) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "learned", " is not false, and layer %d has tuples, whose weights are "
                           "equal", l->index);
    }
    if (v->memory) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "memory", " is true, and layer %d has tuples: a memory goes with "
                           "offsets, or alone", l->index);
    }
    if (v->pair != ASC_PAIR_WEDGE) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "pair", " is %s, a control for offsets, and layer %d has tuples: "
                           "expected wedge", pairs[v->pair], l->index);
    }
    return ASC_OK;
}

static asc_status check_tuples(const asc_layer *l, asc_grassmann_values *v)
{
    if (v->tuples.n == 0) {
        return ASC_OK;
    }
    return check_lags(l, &v->tuples) || replace_offsets(l, v) ? asc_error(l->ctx) : check_beside_tuples(l, v);
}

/* The layer's own `k`. */
static asc_status check_dimension(const asc_layer *l, asc_grassmann_values *v)
{
    if (!l->alone || !asc_layer_given(l, "k")) {
        return ASC_OK;
    }
    if (asc_reader_read(l->reader, settings_alone, NULL, v)) {
        return asc_error(l->ctx);
    }
    if (v->k != dimension(v)) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "k", " is %lld, and %s: expected %lld", (long long)v->k,
                           v->tuples.n > 0 ? "follows from the tuples' lags" : "offsets make planes",
                           (long long)dimension(v));
    }
    return asc_reader_note(l->reader, settings_alone, NULL, v);
}

asc_status asc_grassmann_check(asc_layer *l)
{
    asc_grassmann_values *v = l->settings;
    if (follow_mask(l, v) || check_tuples(l, v) || check_dimension(l, v)) {
        return asc_error(l->ctx);
    }
    int n_pairs = count_pairs(v);
    if (n_pairs == 0) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "offsets", ": layer %d has none, no tuples and no memory, expected one "
                           "of them", l->index);
    }
    if (v->r % v->groups || v->r / v->groups < dimension(v)) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "groups", " is %lld, expected a divisor of r, %lld, with a quotient of "
                           "at least %lld", (long long)v->groups, (long long)v->r, (long long)dimension(v));
    }
    if (v->learned > 0 && v->learned != n_pairs) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "learned", " is %lld, expected true, false, or the number of pairs, %d",
                           (long long)v->learned, n_pairs);
    }
    if (v->forget == FIXED && !v->memory && !asc_layer_given(l, "memory")) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "forget", " is fixed, and there is no memory: expected memory true in "
                           "some layer");
    }
    if (v->aggregate == SUM && v->learned != 0) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "aggregate", " is sum, and learned weights share out a mean: expected "
                           "one of them");
    }
    if (!v->normalize && (v->scale == RMS || v->eps != 1e-8 || v->eps_rel != 0)) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "normalize", " is false, and scale, eps or eps_rel say how to "
                           "normalise: expected one of the two");
    }
    if (v->invariants && v->direction != ASC_DIRECTION_PAST) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "invariants", " is true, and direction not past: they are of the path "
                           "up to a token");
    }
    if (v->running_mean && v->direction != ASC_DIRECTION_PAST) {
        return asc_fail_on(l->ctx, ASC_ERR_ARG, "running_mean", " is true, and direction not past: it is the mean of "
                           "what a token has behind it");
    }
    return ASC_OK;
}

/* ---- parameters ---- */

/* A memory that keeps a token long in some channels, shortly in others: biases evenly from -1 to 4, all there is of a
 * fixed one. */
static void make_forget(asc_layer *l, asc_maker *maker, bool fixed)
{
    asc_grassmann_layer *g = l->self;
    size_t bytes = (size_t)g->r * sizeof(double);
    double *bias = asc_alloc(l->ctx, bytes);
    for (int64_t i = 0; bias && i < g->r; i++) {
        bias[i] = -1 + 5 * (double)i / (double)(g->r - 1);
    }
    if (bias) {
        if (!fixed) {
            g->forget.weight = asc_make_param(maker, "forget.weight", ASC_INIT_LINEAR, 2, (int64_t[]){g->r, l->D});
        }
        g->forget.bias = asc_make_values(maker, "forget.bias", g->r, bias);
    }
    asc_free(l->ctx, bias, bytes);
}

/* Of k vectors of n; a control's are two. */
static int64_t count_coordinates(asc_pair pair, int64_t n, int64_t k)
{
    switch (pair) {
    case ASC_PAIR_WEDGE: return asc_sets_count(n, k);
    case ASC_PAIR_SYMMETRIC: return n * (n + 1) / 2;
    case ASC_PAIR_PRODUCT: return n;
    default: return 2 * n;
    }
}

static void take_offsets(asc_grassmann_layer *g, const asc_ints *offsets)
{
    g->n_offsets = (int)offsets->n;
    g->nearest = INT_MAX;
    for (int i = 0; i < g->n_offsets; i++) {
        g->offset[i] = (int)offsets->at[i];
        g->longest = g->offset[i] > g->longest ? g->offset[i] : g->longest;
        g->nearest = g->offset[i] < g->nearest ? g->offset[i] : g->nearest;
    }
}

static void take_tuples(asc_grassmann_layer *g, const asc_tuples *tuples)
{
    g->n_tuples = g->n_pairs;
    g->nearest = INT_MAX;
    for (int64_t i = 0, reach = 0; i < tuples->n; i++) {
        int lag = (int)tuples->at[i];
        g->lag[i] = lag;
        g->longest = lag > g->longest ? lag : g->longest;
        reach = i % tuples->size == 0 || lag > reach ? lag : reach;
        if (i % tuples->size == tuples->size - 1 && reach < g->nearest) {
            g->nearest = (int)reach;
        }
    }
}

/* The settings as the layer uses them. */
static void settle(asc_grassmann_layer *g, const asc_grassmann_values *v)
{
    g->r = v->r;
    g->groups = v->groups;
    g->pair = (asc_pair)v->pair;
    g->k = (int)dimension(v);
    g->P = g->groups * count_coordinates(g->pair, v->r / v->groups, g->k);
    g->n_pairs = count_pairs(v);
    if (g->k > 2) {
        take_tuples(g, &v->tuples);
    } else { /* tuples of one lag are offsets */
        take_offsets(g, v->tuples.n > 0 ? &(asc_ints){v->tuples.n, v->tuples.at} : &v->offsets);
    }
    g->direction = (asc_direction)v->direction;
    g->memory = v->memory;
    g->sum = v->aggregate == SUM;
    g->rms = v->scale == RMS;
    g->raw = !v->normalize;
    g->scale = g->rms ? sqrt((double)g->P) : g->raw ? ASC_GRASSMANN_FLOOR : 1;
    g->eps = g->raw ? ASC_GRASSMANN_FLOOR : v->eps;
    g->eps_rel = v->eps_rel;
    g->composed = v->composed;
    g->invariants = v->invariants;
    g->smooth = v->smooth;
}

asc_status asc_grassmann_init(asc_layer *l, asc_maker *maker)
{
    const asc_grassmann_values *v = l->settings;
    asc_grassmann_layer *g = l->self;
    settle(g, v);
    g->red = asc_make_linear(maker, "red", l->D, g->r);
    g->plu = asc_make_linear(maker, "plu", g->P, l->D);
    g->gate = asc_make_linear(maker, "gate", 2 * l->D + (g->invariants ? 4 : 0), l->D);
    if (v->learned != 0) {
        int64_t n = g->n_pairs;
        g->offset_weight = asc_make_param(maker, "offset.weight", ASC_INIT_ZERO, 1, &n);
    }
    if (g->memory) {
        make_forget(l, maker, v->forget == FIXED);
    } else {
        l->carried_states = 0;
    }
    if (v->running_mean) {
        g->mean_weight = asc_make_param(maker, "mean.weight", ASC_INIT_LINEAR, 2, (int64_t[]){l->D, g->P});
    }
    return asc_error(l->ctx);
}
