/* train/held.c: the settings that decide what a run becomes. The checkpoint has them, so that a resume notices where
 * config.json was changed: it would go on to another model than the run's without a word. */
#include <string.h>

#include <jansson.h>

#include "train/trainer.h"

/* Where data and vocabulary lie may change, their checksums stand apart. */
static bool is_held(const asc_setting *row)
{
    bool place = strcmp(row->key, "data") == 0 || strcmp(row->key, "tokenizer") == 0 || strcmp(row->key, "init") == 0;
    return !place && !(row->flags & (ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL));
}

char *asc_trainer_held(const asc_trainer *t)
{
    json_t *object = json_object();
    for (const asc_setting *row = asc_train_settings; row->key; row++) {
        if (is_held(row)) {
            json_object_set_new(object, row->key, asc_setting_json(row, &t->settings->values));
        }
    }
    json_object_set_new(object, "min_lr", json_real(t->schedule.min_lr)); /* below 0 it was a share of another */
    json_object_set_new(object, "model", json_loads(asc_lm_config(t->lm), 0, NULL));
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (!text) {
        asc_fail(t->ctx, ASC_ERR_MEMORY, "settings: out of memory");
    }
    return text;
}

/* The first setting, of those that both objects have, that is another in them; `prefix` of its name, "model.". */
static asc_status compare(asc_ctx *ctx, const char *path, const char *prefix, json_t *was, json_t *is)
{
    const char *key;
    json_t *before, *now;
    json_object_foreach(was, key, before) {
        if (!(now = json_object_get(is, key)) || json_equal(before, now)) {
            continue;
        }
        if (json_is_object(before) && json_is_object(now)) {
            if (compare(ctx, path, "model.", before, now)) {
                return asc_error(ctx);
            }
            continue;
        }
        size_t how = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15);
        char *old = json_dumps(before, how), *new = json_dumps(now, how);
        asc_fail(ctx, ASC_ERR_FORMAT,
                 "%s: %s%s is %.60s, but the run was trained with %.60s until its checkpoint; put that back",
                 path, prefix, key, new ? new : "?", old ? old : "?");
        asc_text_drop(old);
        asc_text_drop(new);
        return asc_error(ctx);
    }
    return ASC_OK;
}

asc_status asc_held_compare(asc_ctx *ctx, const char *path, const char *held, json_t *config)
{
    json_t *was = held ? json_loads(held, 0, NULL) : NULL; /* earlier versions held none */
    asc_status status = compare(ctx, path, "", was, config);
    json_decref(was);
    return status;
}

asc_status asc_trainer_check_held(const asc_trainer *t, const char *held)
{
    char *text = held ? asc_trainer_held(t) : NULL;
    json_t *is = text ? json_loads(text, 0, NULL) : NULL;
    if (text) {
        asc_held_compare(t->ctx, t->folder.config, held, is);
    }
    json_decref(is);
    asc_text_drop(text);
    return asc_error(t->ctx);
}
