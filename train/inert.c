/* train/inert.c: freezing what does nothing, by measurement. A number that moves its layer's output by less than the
 * output's own rounding has a gradient of rounding errors, of which Adam, which divides by the gradient's size, would
 * make a random walk. */
#include "train/inert.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/ops.h>
#include <jansson.h>

#include "nn/mixing.h"

/* An output is a sum over a row's values, whose weights went through a softmax: some dozens of roundings. */
static double rounding_of(asc_dtype dtype)
{
    return 64 * (dtype == ASC_F64 ? DBL_EPSILON : (double)FLT_EPSILON);
}

/* The numbers that a layer's mixing may freeze; NULL: none. */
static const char *const *names_of(asc_ctx *ctx, const char *mixing)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_lm_schema(ctx, i)).owner; i++) {
        const asc_setting *row = strcmp(schema.owner, mixing) == 0 ? asc_setting_find(schema.settings, "freeze") : NULL;
        if (row) {
            return row->choices;
        }
    }
    return NULL;
}

static bool has_name(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends what moves nothing: "NAME", or "NAME:HEAD" of each such head, unless all heads share the number. */
static void add_still(json_t *list, const json_t *shared, const char *name, asc_tensor moved, double rounding)
{
    const double *change = asc_data(moved);
    int64_t H = change ? asc_numel(moved) : 0, still = 0;
    for (int64_t h = 0; h < H; h++) {
        still += change[h] <= rounding;
    }
    if (H > 0 && still == H && !has_name(list, name)) {
        json_array_append_new(list, json_string(name));
    }
    for (int64_t h = 0; still < H && !has_name(shared, name) && h < H; h++) {
        if (change[h] <= rounding) {
            char text[80];
            snprintf(text, sizeof text, "%s:%lld", name, (long long)h);
            json_array_append_new(list, json_string(text));
        }
    }
}

/* What a layer freezes: what it was given, and what moves nothing. */
static json_t *measure_layer(asc_ctx *ctx, asc_lm *lm, json_t *config, size_t layer, asc_tensor tokens)
{
    const char *const *names = names_of(ctx, asc_mix_of(json_object_get(config, "mix"), layer));
    json_t *given = json_object_get(config, "freeze"), *first = json_array_get(given, 0);
    json_t *list = json_deep_copy(json_is_array(first) ? json_array_get(given, layer) : given);
    double rounding = rounding_of(asc_dtype_of(asc_params_at(asc_lm_params(lm), 0)));
    for (int i = 0; names && names[i] && !asc_error(ctx); i++) {
        asc_tensor moved = asc_lm_moves(lm, tokens, (int64_t)layer, names[i]);
        add_still(list, json_object_get(config, "share"), names[i], moved, rounding);
        asc_release(moved);
    }
    return names ? list : (json_decref(list), json_array());
}

/* A classifier's sequences can be longer than its block, by their class in words. */
static asc_tensor first_block(asc_ctx *ctx, const asc_lm *lm, const asc_split *split)
{
    int64_t block = asc_lm_block(lm), width = asc_split_width(split, block, (const int32_t[]){0}, 1);
    int64_t n = width < block ? width : block;
    asc_tensor x = asc_empty(ctx, ASC_I64, ASC_SHAPE(1, n));
    int64_t *id = asc_data_mut(x);
    for (int64_t i = 0; id && i < n; i++) {
        id[i] = split->tokens[i];
    }
    return x;
}

static char *settle(asc_ctx *ctx, asc_lm *lm, json_t *config, const asc_split *split)
{
    asc_scope_begin(ctx);
    asc_tensor tokens = first_block(ctx, lm, split);
    json_t *freeze = json_array();
    for (int64_t l = 0; l < asc_lm_layers(lm) && !asc_error(ctx); l++) {
        json_array_append_new(freeze, measure_layer(ctx, lm, config, (size_t)l, tokens));
    }
    asc_scope_end(ctx);
    json_object_set_new(config, "freeze", freeze);
    json_object_set_new(config, "freeze_inert", json_false());
    char *text = asc_error(ctx) ? NULL : json_dumps(config, JSON_COMPACT);
    if (!text && !asc_error(ctx)) {
        asc_fail(ctx, ASC_ERR_MEMORY, "freeze_inert: out of memory");
    }
    return text;
}

char *asc_inert_settle(asc_ctx *ctx, asc_lm *lm, const asc_split *split)
{
    json_t *config = json_loads(asc_lm_config(lm), 0, NULL);
    const char *wish = json_string_value(json_object_get(config, "freeze_inert"));
    bool whole = asc_split_blocks(split, asc_lm_block(lm), false) > 0; /* else the training refuses it */
    bool measured = whole && wish && strcmp(wish, "measured") == 0;
    if (measured && asc_lm_pair_inputs(lm).pairs) {
        asc_fail_on(ctx, ASC_ERR_ARG, "freeze_inert", " is measured, which is for models of tokens, expected true or "
                    "false for pairs");
        measured = false;
    }
    char *text = measured ? settle(ctx, lm, config, split) : NULL;
    json_decref(config);
    return text;
}
