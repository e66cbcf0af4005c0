/* train/settings_file.c: settings from files and earlier runs. */
#include <stdlib.h>
#include <string.h>

#include <program/names.h>
#include <program/settings.h>

#include "data/json.h"
#include "nn/mixing.h"
#include "tensor/need.h"
#include "train/run/no_run.h"
#include "train/settings.h"

/* ---- files ---- */

bool asc_settings_is_fact(const char *key)
{
    return strcmp(key, "version") == 0 || strcmp(key, "data_checksum") == 0 || strcmp(key, "plan") == 0;
}

/* What an object has given so far: a setting may be spelled in several ways. */
typedef struct heard {
    int n;
    struct {
        const asc_setting *row;
        const char *key;
        const json_t *value;
    } at[200];
} heard;

/* Puts a setting of an object, or of its `model`, once. */
static void put_once(asc_settings *s, heard *all, const char *key, json_t *value, asc_source from, bool within)
{
    char name[ASC_SETTING_NAME];
    bool model;
    asc_settings_spell(key, name);
    const asc_setting *row = asc_settings_find(s->ctx, name, &model);
    if (row && within && !model) {
        asc_fail_on(s->ctx, ASC_ERR_ARG, key, " is no setting of a model: expected beside \"model\", not in it");
        return;
    }
    for (int i = 0; row && i < all->n; i++) {
        if (all->at[i].row == row && !json_equal(all->at[i].value, value)) {
            bool twice = strcmp(all->at[i].key, key) == 0; /* on its own, and in the object `model` */
            asc_fail_on(s->ctx, ASC_ERR_ARG, key, twice ? " is given twice, with another value"
                                                        : " is the same setting as %s, with another value",
                        all->at[i].key);
            return;
        }
    }
    if (row && all->n < (int)(sizeof all->at / sizeof *all->at)) {
        all->at[all->n].row = row;
        all->at[all->n].key = key;
        all->at[all->n++].value = value;
    }
    asc_settings_put(s, key, value, from);
}

asc_status asc_settings_put_all(asc_settings *s, json_t *object, asc_source from, const char *source)
{
    heard all = {0};
    if (asc_error(s->ctx)) { /* another's, which the source has no part in */
        return asc_error(s->ctx);
    }
    const char *key, *model_key;
    json_t *value, *model_value;
    json_object_foreach(object, key, value) {
        if (asc_settings_is_fact(key)) {
            continue;
        }
        if (strcmp(key, "model") == 0 && json_is_object(value)) {
            json_object_foreach(value, model_key, model_value) {
                put_once(s, &all, model_key, model_value, from, true);
            }
        } else {
            put_once(s, &all, key, value, from, false);
        }
        if (asc_error(s->ctx)) {
            asc_error_extend(s->ctx, source, "");
            return asc_error(s->ctx);
        }
    }
    return ASC_OK;
}

asc_status asc_settings_load(asc_settings *s, const char *path)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_load: path", path);
    if (status) {
        return status;
    }
    json_t *object = asc_json_read(s->ctx, path, false);
    status = object ? asc_settings_put_all(s, object, ASC_SOURCE_FILE, path) : asc_error(s->ctx);
    json_decref(object);
    return status;
}

/* ---- going on with a run ---- */

bool asc_settings_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        return asc_setting_round(json_number_value(a)) == asc_setting_round(json_number_value(b));
    }
    if (!json_is_array(a) || json_array_size(a) != json_array_size(b)) {
        return json_equal(a, b);
    }
    bool same = true;
    for (size_t i = 0; i < json_array_size(a); i++) {
        same = same && asc_settings_same(json_array_get(a, i), json_array_get(b, i));
    }
    return same;
}

/* What to call a setting that does not stand on the command line. */
static const char *const sources[] = {
    [ASC_SOURCE_DEFAULT] = "", [ASC_SOURCE_PRESET] = ", of the preset,", [ASC_SOURCE_FILE] = ", of the file,",
    [ASC_SOURCE_HAND] = ":",
};

double asc_lowest_lr(const asc_values *v)
{
    return v->min_lr < 0 ? asc_setting_round(v->lr / 10) : v->min_lr;
}

/* Whether the lowest rate is asked for by the number that stands for a share of lr, and the run has that share. */
static bool is_default_end(const asc_setting *t, const asc_settings *run, const asc_settings *given)
{
    asc_values v = run->values;
    v.min_lr = given->values.min_lr;
    return strcmp(t->key, "min_lr") == 0 && run->values.min_lr == asc_lowest_lr(&v);
}

/* A setting that a run may go on with otherwise, and that somebody named; a preset is for beginnings. */
static bool is_given_anew(const asc_setting *t, const asc_settings *given)
{
    int from = given->from[t - asc_train_settings];
    return t->flags & ASC_SETTING_ANEW && from != ASC_SOURCE_DEFAULT && from != ASC_SOURCE_PRESET;
}

/* A setting that was given must be the run's, or one that may be given anew, which then takes the run's place. */
static asc_status carry_over(asc_settings *run, const asc_settings *given, const char *path)
{
    for (const asc_setting *t = asc_train_settings; t->key; t++) { /* also what is the same was given beside the rest */
        char *from = &run->from[t - asc_train_settings];
        bool anew = is_given_anew(t, given);
        *from = anew ? ASC_SOURCE_HAND : *from;
    }
    for (const asc_setting *t = asc_train_settings; t->key; t++) {
        int from = given->from[t - asc_train_settings];
        if (from == ASC_SOURCE_DEFAULT) {
            continue;
        }
        json_t *old = asc_setting_json(t, &run->values), *now = asc_setting_json(t, &given->values);
        bool same = asc_settings_same(old, now) || is_default_end(t, run, given);
        if (is_given_anew(t, given)) { /* also the same: of steps and epochs the one that is given counts */
            asc_settings_put(run, t->key, now, ASC_SOURCE_HAND);
        } else if (!same && !(t->flags & ASC_SETTING_ANEW)) {
            asc_fail_on(run->ctx, ASC_ERR_ARG, t->key, "%s can't be given anew: %s goes on with its own settings",
                        sources[from], path);
        }
        json_decref(old);
        json_decref(now);
        if (asc_error(run->ctx)) {
            return asc_error(run->ctx);
        }
    }
    const char *key;
    json_t *value;
    json_object_foreach(given->model, key, value) {
        const json_t *old = json_object_get(run->model, key);
        if (!asc_settings_same(value, old) && (old || !json_object_get(given->optional, key))) {
            asc_fail_on(run->ctx, ASC_ERR_ARG, key, " can't be given anew: %s goes on with its own", path);
            asc_error_place(run->ctx, "config");
            return ASC_ERR_ARG;
        }
    }
    return ASC_OK;
}

/* A mixing of somebody's own has settings that this program does not know, either: it is what is told. */
static asc_status check_mixings(asc_ctx *ctx, const char *file, const json_t *config)
{
    const json_t *mix = json_object_get(json_object_get(config, "model"), "mix");
    size_t n = json_is_array(mix) ? json_array_size(mix) : 1;
    for (size_t i = 0; i < n; i++) {
        const char *name = asc_mix_of(mix, i);
        if (name && strcmp(name, ASC_MIX_NONE) != 0 && !asc_mixing_find(ctx, name)) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: the mixing '%.60s' is none of this program's: one that registers "
                            "it (asc_mixing_register) goes on with the run", file, name);
        }
    }
    return ASC_OK;
}

asc_status asc_settings_resume(asc_settings *s, const char *path)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_resume: run", path);
    if (status) {
        return status;
    }
    asc_ctx *ctx = s->ctx;
    if (!asc_is_run(path)) {
        return asc_fail_no_run(ctx, path);
    }
    char *file = asc_path_join(ctx, path, "config.json");
    json_t *object = file ? asc_json_read(ctx, file, true) : NULL;
    asc_settings *run = object && check_mixings(ctx, file, object) == ASC_OK ? asc_settings_new(ctx) : NULL;
    if (run && asc_settings_put_all(run, object, ASC_SOURCE_FILE, file)) {
        asc_error_blame(ctx, "");
    } else if (run) {
        run->values.minutes = 0; /* a limit of the invocation that had it */
        run->checksums = json_incref(json_object_get(object, "data_checksum"));
        run->plan = json_incref(json_object_get(object, "plan"));
        if (asc_settings_locate_given(s) == ASC_OK && carry_over(run, s, path) == ASC_OK) {
            asc_settings old = *s;
            *s = *run;
            *run = old;
            s->alike = old.alike;
            run->alike = NULL;
        }
    }
    asc_settings_free(run);
    json_decref(object);
    asc_path_free(ctx, file);
    return asc_error(ctx);
}

asc_status asc_settings_data_of(asc_settings *s, const char *path)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_data_of: settings run", s, path);
    if (status || !asc_is_run(path)) {
        return status ? status : asc_fail_no_run(s->ctx, path);
    }
    char *file = asc_path_join(s->ctx, path, "config.json");
    json_t *config = file ? asc_json_read(s->ctx, file, true) : NULL;
    if (config && !json_is_object(json_object_get(config, "data_checksum"))) {
        asc_fail(s->ctx, ASC_ERR_FORMAT, "%s: has no \"data_checksum\"", file);
    } else if (config) {
        json_object_set_new(config, "run", json_string_nocheck(path));
        json_decref(s->alike);
        s->alike = json_incref(config);
    }
    json_decref(config);
    asc_path_free(s->ctx, file);
    return asc_error(s->ctx);
}
