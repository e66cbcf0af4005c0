/* train/settings_model.c: what of the settings is the model's: which mixing each layer has, and the configuration. */
#include <stdio.h>
#include <string.h>

#include <program/settings.h>

#include "nn/mixing.h"
#include "train/settings.h"

/* ---- mixings ---- */

/* "none" is for models of pairs, which may have no blocks: others refuse it. */
static bool is_none(const char *text)
{
    return strcmp(text, ASC_MIX_NONE) == 0;
}

/* The mixing of that name, or whose name begins so. */
static const char *find_mixing(const asc_ctx *ctx, const char *text, size_t n)
{
    const char *name, *begins = NULL;
    for (int i = 0; (name = asc_mixing_at(ctx, i)); i++) {
        if (strncmp(name, text, n) == 0 && n > 0) {
            if (!name[n]) {
                return name;
            }
            begins = begins ? begins : name;
        }
    }
    return begins;
}

json_t *asc_settings_mix(asc_ctx *ctx, const char *name, const char *text)
{
    json_t *list = is_none(text) ? json_string(text) : json_array();
    for (const char *part = text; json_is_array(list); part++) {
        size_t n = strcspn(part, ",");
        const char *mixing = find_mixing(ctx, part, n);
        if (!mixing) {
            char got[40];
            snprintf(got, sizeof got, "%.*s", (int)n, part);
            asc_mixing_choose(ctx, name, got, true); /* has the message */
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, json_string(mixing));
        part += n;
        if (!*part) {
            break;
        }
    }
    if (json_array_size(list) == 1) { /* 0 of a string */
        json_t *one = json_incref(json_array_get(list, 0));
        json_decref(list);
        return one;
    }
    return list;
}

/* ---- the configuration ---- */

/* Whether a key is a setting of mixings, but of none that the model has. */
static bool is_idle(const asc_ctx *ctx, const json_t *mix, const char *key)
{
    bool known = false, used = asc_mixing_takes(ctx, json_string_value(mix), key);
    for (size_t i = 0; i < json_array_size(mix); i++) {
        used = used || asc_mixing_takes(ctx, json_string_value(json_array_get(mix, i)), key);
    }
    for (int i = 0; asc_mixing_at(ctx, i); i++) {
        known = known || asc_mixing_takes(ctx, asc_mixing_at(ctx, i), key);
    }
    return known && !used;
}

/* Sets what must be given, and was not, to its default. */
static void add_defaults(asc_ctx *ctx, json_t *model)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_lm_schema(ctx, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            bool wanted = row->flags & ASC_SETTING_REQUIRED && !json_object_get(model, row->key);
            if (wanted && !is_idle(ctx, json_object_get(model, "mix"), row->key)) {
                json_t *value = asc_setting_default(ctx, row);
                if (value) {
                    json_object_set_new(model, row->key, value);
                }
            }
        }
    }
}

/* A preset, a file or an option may serve several models: what this one's mixings don't know has no say. */
static void drop_idle(const asc_settings *s, json_t *model)
{
    const char *key;
    json_t *ignored;
    json_object_foreach(s->optional, key, ignored) {
        if (is_idle(s->ctx, json_object_get(model, "mix"), key)) {
            json_object_del(model, key);
        }
    }
}

/* Layers of another mixing can't start from the initial model's, whose settings they would not know either. */
static asc_status check_mixings(const asc_settings *s, const json_t *base)
{
    const json_t *theirs = json_object_get(base, "mix"), *ours = json_object_get(s->model, "mix");
    size_t layers = json_array_size(theirs) > json_array_size(ours) ? json_array_size(theirs) : json_array_size(ours);
    for (size_t l = 0; ours && l < (layers > 0 ? layers : 1); l++) {
        const char *their = asc_mix_of(theirs, l), *our = asc_mix_of(ours, l);
        if (their && our && strcmp(their, our) != 0) {
            return asc_fail_on(s->ctx, ASC_ERR_ARG, "init", ": layer %zu of %s mixes by %s, expected %s", l,
                               s->values.init, their, our);
        }
    }
    return ASC_OK;
}

/* A model that predicts tokens is no classifier's beginning, nor the other way round. */
static asc_status check_head(const asc_settings *s, const json_t *base)
{
    const char *their = json_string_value(json_object_get(base, "head"));
    const char *our = json_string_value(json_object_get(s->model, "head"));
    their = their ? their : "lm";
    if (!our || strcmp(our, their) == 0) {
        return ASC_OK;
    }
    return asc_fail_on(s->ctx, ASC_ERR_ARG, "init", ": the head of %s is %s, expected %s", s->values.init, their, our);
}

static asc_status check_vocab(const asc_settings *s, int64_t vocab)
{
    const json_t *given = json_object_get(s->model, "vocab");
    if (!given || (json_is_integer(given) && json_integer_value(given) == vocab)) {
        return ASC_OK;
    }
    char *text = json_dumps(given, JSON_ENCODE_ANY | JSON_COMPACT);
    asc_fail_on(s->ctx, ASC_ERR_ARG, "vocab", " is %s, but the tokenizer has %lld tokens", text ? text : "?",
             (long long)vocab);
    asc_text_drop(text);
    return asc_error(s->ctx);
}

asc_dtype asc_settings_dtype(const asc_settings *s)
{
    return s->values.dtype == 1 ? ASC_F64 : ASC_F32;
}

asc_status asc_settings_set_precision(const asc_settings *s)
{
    asc_precision precision = (asc_precision)s->values.precision;
    if (precision == ASC_PRECISION_BF16 && asc_settings_dtype(s) == ASC_F64) {
        return asc_fail_on(s->ctx, ASC_ERR_ARG, "precision",
                           " is bf16 and dtype is f64, expected f32: products of "
                           "float64 are not rounded");
    }
    return asc_set_precision(s->ctx, precision);
}

bool asc_settings_classify(const asc_settings *s)
{
    const char *head = json_string_value(json_object_get(s->model, "head"));
    return head && (strcmp(head, "classifier") == 0 || asc_settings_pairs(s));
}

bool asc_settings_pairs(const asc_settings *s)
{
    const char *head = s ? json_string_value(json_object_get(s->model, "head")) : NULL;
    return head && strcmp(head, "pairs") == 0;
}

/* What a new model has from its data, unless that was given. */
static bool add_sizes(const asc_settings *s, json_t *model, const asc_model_sizes *sizes)
{
    bool failed = json_object_set_new(model, "vocab", json_integer(sizes->vocab)) != 0;
    if (sizes->longest > 0 && !json_object_get(model, "block")) {
        failed = json_object_set_new(model, "block", json_integer(sizes->longest)) || failed;
    }
    if (sizes->classes > 0 && asc_settings_classify(s) && !json_object_get(model, "classes")) {
        failed = json_object_set_new(model, "classes", json_integer(sizes->classes)) || failed;
    }
    if (sizes->states > 0 && !json_object_get(model, "states")) {
        failed = json_object_set_new(model, "states", json_integer(sizes->states)) || failed;
    }
    return !failed;
}

char *asc_settings_model(const asc_settings *s, const char *base, const asc_model_sizes *sizes)
{
    if (check_vocab(s, sizes->vocab)) {
        return NULL;
    }
    json_t *model = base ? json_loads(base, 0, NULL) : json_object();
    char *text = NULL;
    if (base && (check_head(s, model) || check_mixings(s, model))) {
        json_decref(model);
        return NULL;
    }
    if (model && json_object_update(model, s->model) == 0 && (base || add_sizes(s, model, sizes))) {
        if (!base && !json_object_get(model, "mix")) {
            json_object_set_new(model, "mix", json_string(asc_mixing_at(s->ctx, 0)));
        }
        if (!base) {
            add_defaults(s->ctx, model);
        }
        drop_idle(s, model);
        text = json_dumps(model, JSON_COMPACT);
    }
    json_decref(model);
    if (!text) {
        asc_fail(s->ctx, ASC_ERR_MEMORY, "settings: out of memory");
    }
    return text;
}
