/* nn/grassmann_settings.c: the Grassmann layer's settings and parameters. */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "nn/grassmann.h"
#include "tensor/ctx.h"

const asc_setting asc_grassmann_settings[] = {
    {"offsets", "distances Δ to the tokens paired with: a list, one such list a layer, or paper-6l, paper-12l, lags"},
    {"r", "reduced width of a token, or a list with one a layer (32)"},
    {"groups", "cuts r into G planes of r/G, or a list with one a layer (1)"},
    {"direction", "past, future or both; a language model looks at the past"},
    {"aggregate", "mean or sum over the pairs"},
    {"learned", "true or false: learned weights of the pairs in place of the mean; or the number of pairs"},
    {"memory", "true or false, or a list with one a layer: one more pair, with a gated memory of all tokens before"},
    {"running_mean", "true or false: a second feature, the mean of the coordinates so far"},
    {"scale", "unit or rms: coordinates of length 1, or of entries of size 1"},
    {"eps", "least denominator of the coordinates (1e-8)"},
    {"eps_rel", "sine of the angle below which a pair fades (0)"},
    {"composed", "true or false: built from primitive ops, slow, to compare with"},
    {NULL, NULL},
};

/* ---- offsets ---- */

static const int paper[] = {1, 2, 4, 8, 12, 16};
enum { N_PAPER = sizeof paper / sizeof *paper, LONGEST_LAG = 8 };

/* The papers' twelve layers have one offset each, every one twice in a row. */
static int paper_one(int layer)
{
    return paper[layer / 2 % N_PAPER];
}

/* 1, 2, 4, … 128, and again: each layer reaches twice as far. */
static int lag(int layer)
{
    return 1 << layer % LONGEST_LAG;
}

static const struct schedule {
    const char *name;
    int (*offset)(int layer); /* of the layers of this mixing alone; NULL: the papers' six in every layer */
} schedules[] = {{"paper-6l", NULL}, {"paper-12l", paper_one}, {"lags", lag}};

static bool mixes(const asc_config *c, int layer)
{
    const json_t *mix = json_object_get(c->given, "mix");
    const char *name = json_string_value(json_array_get(mix, (size_t)layer));
    return !json_is_array(mix) || (name && strcmp(name, "grassmann") == 0);
}

/* A list a layer; none for the other layers of a hybrid. */
static json_t *one_a_layer(const asc_config *c, int (*offset)(int layer), int layers)
{
    json_t *list = json_array();
    for (int l = 0, n = 0; l < layers; l++) {
        json_array_append_new(list, mixes(c, l) ? json_pack("[i]", offset(n++)) : json_array());
    }
    return list;
}

static json_t *papers_six(void)
{
    json_t *list = json_array();
    for (int i = 0; i < N_PAPER; i++) {
        json_array_append_new(list, json_integer(paper[i]));
    }
    return list;
}

/* Puts the list in place of a schedule's name. */
static asc_status expand_schedule(asc_config *c, int layers)
{
    const char *name = json_string_value(json_object_get(c->given, "offsets"));
    if (!name) {
        return ASC_OK;
    }
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        if (strcmp(name, schedules[i].name) != 0) {
            continue;
        }
        json_t *list = schedules[i].offset ? one_a_layer(c, schedules[i].offset, layers) : papers_six();
        return json_object_set_new(c->given, "offsets", list) ? asc_fail(c->ctx, ASC_ERR_MEMORY, "config: no memory")
                                                              : ASC_OK;
    }
    return asc_fail(c->ctx, ASC_ERR_ARG, "config: offsets is \"%s\", expected a list, a list a layer, or one of "
                    "paper-6l, paper-12l, lags", name);
}

static asc_status read_offsets(asc_layer *l, asc_config *c, int layer, int layers)
{
    asc_grassmann_layer *g = l->self;
    static const char *const directions[] = {"past", "future", "both", NULL};
    int64_t offset[ASC_GRASSMANN_OFFSETS];
    for (int i = 0; i < N_PAPER; i++) {
        offset[i] = paper[i];
    }
    if (expand_schedule(c, layers)) {
        return asc_error(l->ctx);
    }
    g->n_offsets = asc_config_list_at(c, "offsets", layer, layers, N_PAPER, 1, INT32_MAX, ASC_GRASSMANN_OFFSETS,
                                      offset);
    for (int i = 0; i < g->n_offsets; i++) {
        g->offset[i] = (int)offset[i];
        g->longest = g->offset[i] > g->longest ? g->offset[i] : g->longest;
    }
    g->direction = (asc_direction)asc_config_choice(c, "direction", ASC_PAST, directions);
    g->memory = asc_config_bool_at(c, "memory", layer, layers, false);
    g->n_pairs = g->n_offsets * (g->direction == ASC_BOTH ? 2 : 1) + g->memory;
    if (!asc_error(l->ctx) && g->n_pairs == 0) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "config: layer %d has no offsets and no memory, expected one of them",
                        layer);
    }
    return asc_error(l->ctx);
}

/* ---- other settings ---- */

/* Whether the pairs have learned weights: true, or their number, as models.py has it. */
static bool read_learned(asc_layer *l, asc_config *c)
{
    const asc_grassmann_layer *g = l->self;
    if (!json_is_integer(json_object_get(c->given, "learned"))) {
        return asc_config_bool(c, "learned", false);
    }
    int64_t n = asc_config_int(c, "learned", 0, 0, INT32_MAX);
    if (n != 0 && n != g->n_pairs) {
        asc_fail(l->ctx, ASC_ERR_ARG, "config: learned is %lld, expected true, false, or the number of pairs, %d",
                 (long long)n, g->n_pairs);
    }
    return n != 0;
}

static asc_status read_width(asc_layer *l, asc_config *c, int layer, int layers)
{
    asc_grassmann_layer *g = l->self;
    g->r = asc_config_int_at(c, "r", layer, layers, 32, 2, 1 << 14);
    g->groups = asc_config_int_at(c, "groups", layer, layers, 1, 1, 1 << 13);
    if (!asc_error(l->ctx) && (g->r % g->groups || g->r / g->groups < 2)) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "config: groups is %lld, expected a divisor of r, %lld, with a quotient "
                        "of at least 2", (long long)g->groups, (long long)g->r);
    }
    int64_t piece = g->r / g->groups;
    g->P = g->groups * (piece * (piece - 1) / 2);
    return asc_error(l->ctx);
}

static asc_status read_settings(asc_layer *l, asc_config *c, int layer, int layers, bool *learned, bool *mean)
{
    static const char *const aggregates[] = {"mean", "sum", NULL}, *const scales[] = {"unit", "rms", NULL};
    asc_grassmann_layer *g = l->self;
    if (read_offsets(l, c, layer, layers) || read_width(l, c, layer, layers)) {
        return asc_error(l->ctx);
    }
    g->sum = asc_config_choice(c, "aggregate", 0, aggregates) == 1;
    g->scale = asc_config_choice(c, "scale", 0, scales) == 1 ? sqrt((double)g->P) : 1;
    g->eps = asc_config_real(c, "eps", 1e-8, DBL_MIN, DBL_MAX);
    g->eps_rel = asc_config_real(c, "eps_rel", 0, 0, DBL_MAX);
    g->composed = asc_config_bool(c, "composed", false);
    *learned = read_learned(l, c);
    *mean = asc_config_bool(c, "running_mean", false);
    if (g->sum && *learned) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "config: aggregate is sum, and learned weights share out a mean: expected "
                        "one of them");
    }
    if (*mean && g->direction != ASC_PAST) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "config: running_mean is true, and direction not past: it is the mean of "
                        "what a token has behind it");
    }
    return asc_error(l->ctx);
}

/* A memory that keeps a token long in some channels, shortly in others: biases evenly from -1 to 4. */
static void make_forget(asc_layer *l, asc_maker *maker)
{
    asc_grassmann_layer *g = l->self;
    size_t bytes = (size_t)g->r * sizeof(double);
    double *bias = asc_alloc(l->ctx, bytes);
    for (int64_t i = 0; bias && i < g->r; i++) {
        bias[i] = -1 + 5 * (double)i / (double)(g->r - 1);
    }
    if (bias) {
        g->forget.weight = asc_make_param(maker, "forget.weight", ASC_INIT_LINEAR, 2, (int64_t[]){g->r, l->D});
        g->forget.bias = asc_make_values(maker, "forget.bias", g->r, bias);
    }
    asc_free(l->ctx, bias, bytes);
}

asc_status asc_grassmann_init(asc_layer *l, asc_config *config, asc_maker *maker, int layer, int layers)
{
    asc_grassmann_layer *g = l->self;
    bool learned = false, mean = false;
    if (read_settings(l, config, layer, layers, &learned, &mean)) {
        return asc_error(l->ctx);
    }
    g->red = asc_make_linear(maker, "red", l->D, g->r);
    g->plu = asc_make_linear(maker, "plu", g->P, l->D);
    g->gate = asc_make_linear(maker, "gate", 2 * l->D, l->D);
    if (learned) {
        int64_t n = g->n_pairs;
        g->offset_weight = asc_make_param(maker, "offset.weight", ASC_INIT_ZERO, 1, &n);
    }
    if (g->memory) {
        make_forget(l, maker);
    }
    if (mean) {
        g->mean_weight = asc_make_param(maker, "mean.weight", ASC_INIT_LINEAR, 2, (int64_t[]){l->D, g->P});
    }
    return asc_error(l->ctx);
}
