/* train/experiment/experiment.c: an experiment is read, opened, and asked what it is. */
#include "train/experiment/experiment.h"

#include <stdio.h>
#include <string.h>

#include "data/json.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/settings.h"

/* ---- making ---- */

/* An experiment of what a file says. */
static asc_experiment *make(asc_ctx *ctx, const json_t *given, const char *scale)
{
    asc_experiment *e = asc_alloc(ctx, sizeof *e);
    if (!e) {
        return NULL;
    }
    *e = (asc_experiment){.ctx = ctx, .def = asc_define(ctx, given, scale)};
    if (!e->def || asc_plan(e)) {
        asc_experiment_free(e);
        return NULL;
    }
    return e;
}

/* A file's name without folder and ending. */
static json_t *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    char name[200];
    snprintf(name, sizeof name, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
    return json_string(name);
}

asc_experiment *asc_experiment_read(asc_ctx *ctx, const char *path, const char *scale)
{
    if (ASC_NEED(ctx, "experiment_read: path", path) || asc_error(ctx)) {
        return NULL;
    }
    json_t *given = asc_json_read(ctx, path, false);
    asc_experiment *e = given ? make(ctx, given, scale) : NULL;
    json_decref(given);
    if (e && !json_object_get(e->def, "name")) {
        json_object_set_new(e->def, "name", name_of(path));
    }
    if (!e && given && asc_error(ctx) == ASC_ERR_ARG && !asc_error_subject(ctx)) {
        asc_error_extend(ctx, path, "");
    }
    return e;
}

asc_experiment *asc_experiment_open(asc_ctx *ctx, const char *folder)
{
    if (ASC_NEED(ctx, "experiment_open: folder", folder) || asc_error(ctx)) {
        return NULL;
    }
    char *path = asc_path_join(ctx, folder, "experiment.json");
    if (path && !asc_path_exists(path)) {
        asc_fail(ctx, ASC_ERR_IO, "%s: there is no experiment: no experiment.json", folder);
    }
    json_t *given = path && !asc_error(ctx) ? asc_json_read(ctx, path, true) : NULL;
    asc_experiment *e = given ? make(ctx, given, NULL) : NULL;
    json_decref(given);
    if (!e) {
        asc_error_blame(ctx, path);
    }
    asc_path_free(ctx, path);
    if (e) {
        e->folder = asc_path_copy(ctx, folder);
        if (!e->folder || asc_folder_attach(e)) {
            asc_experiment_free(e);
            return NULL;
        }
    }
    return e;
}

void asc_experiment_free(asc_experiment *e)
{
    if (e) {
        asc_plan_clear(e);
        json_decref(e->def);
        asc_path_free(e->ctx, e->folder);
        asc_free(e->ctx, e, sizeof *e);
    }
}

/* Whether what all systems have would have no say: the grid, the tuning or every system has its own, or the rival that
 * takes the key's place. */
static bool is_settled(const asc_experiment *e, const char *key)
{
    const char *name, *rival = asc_define_rival(key);
    const json_t *system, *grids[] = {json_object_get(e->def, "grid"),
                                      json_object_get(json_object_get(e->def, "tune"), "grid")};
    bool settled = true;
    json_object_foreach(json_object_get(e->def, "systems"), name, system) {
        settled = settled && (json_object_get(system, key) || (rival && json_object_get(system, rival)));
    }
    for (int i = 0; i < 2; i++) {
        settled = settled || json_object_get(grids[i], key) || (rival && json_object_get(grids[i], rival));
    }
    return settled;
}

asc_status asc_experiment_set(asc_experiment *e, const char *key, const char *value)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_set: experiment key value", e, key, value);
    if (status) {
        return status;
    }
    if (e->folder) {
        return asc_fail(e->ctx, ASC_ERR_ARG, "experiment_set: the experiment has a folder, and stays as it is");
    }
    asc_settings *scratch = asc_settings_new(e->ctx);
    const char *known = asc_define_key(e->ctx, key);
    bool model, preset = known && strcmp(known, "preset") == 0;
    /* has the message of what is wrong */
    status = preset ? asc_settings_preset(scratch, value) : asc_settings_set(scratch, key, value);
    asc_settings_free(scratch);
    if (status) {
        return status;
    }
    if (strcmp(known, "seed") == 0) {
        return asc_fail_on(e->ctx, ASC_ERR_ARG, "seed", ": the experiment's \"seeds\" say which");
    }
    if (is_settled(e, known)) {
        return asc_fail_on(e->ctx, ASC_ERR_ARG, known, ": the experiment's grid, its tuning or every system says it");
    }
    json_t *parsed = preset ? json_string(value)
                            : asc_setting_parse(e->ctx, asc_settings_find(e->ctx, known, &model), known, value);
    json_t *over = json_object();
    json_object_set_new(over, known, parsed);
    status = asc_lay(e->ctx, json_object_get(e->def, "common"), over);
    json_decref(over);
    asc_plan_clear(e);
    return status ? status : asc_plan(e);
}

/* ---- the definition ---- */

static const char *text_of(const asc_experiment *e, const char *key)
{
    const char *text = e ? json_string_value(json_object_get(e->def, key)) : NULL;
    return text ? text : "";
}

const char *asc_experiment_name(const asc_experiment *e)
{
    return text_of(e, "name");
}

const char *asc_experiment_scale(const asc_experiment *e)
{
    return text_of(e, "scale");
}

const char *asc_experiment_folder(const asc_experiment *e)
{
    return e ? e->folder : NULL;
}

char *asc_experiment_json(const asc_experiment *e, const char *key)
{
    json_t *value = !e ? NULL : key ? json_object_get(e->def, key) : e->def;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (value && !text) {
        asc_fail(e->ctx, ASC_ERR_MEMORY, "experiment: out of memory");
    }
    return text;
}

void asc_experiment_text_free(char *text)
{
    asc_text_drop(text);
}

/* Key number i of an object; NULL past the last. */
static const char *key_at(json_t *object, int i)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (i-- == 0) {
            return key;
        }
    }
    return NULL;
}

const char *asc_experiment_system(const asc_experiment *e, int i)
{
    return e && i >= 0 ? key_at(json_object_get(e->def, "systems"), i) : NULL;
}

const char *asc_experiment_key(const asc_experiment *e, int i)
{
    return e && i >= 0 ? key_at(json_object_get(e->def, "grid"), i) : NULL;
}

const char *asc_experiment_tuned_key(const asc_experiment *e, int i)
{
    return e && i >= 0 ? key_at(json_object_get(json_object_get(e->def, "tune"), "grid"), i) : NULL;
}

const asc_experiment_run *asc_experiment_run_at(const asc_experiment *e, int i)
{
    return e && i >= 0 && i < e->n ? &e->runs[i].info : NULL;
}

const char *asc_experiment_value(asc_experiment *e, int i, const char *key)
{
    if (ASC_NEED(e ? e->ctx : NULL, "experiment_value: experiment key", e, key) || i < 0 || i >= e->n) {
        return NULL;
    }
    asc_plan_run *r = &e->runs[i];
    const char *known = asc_define_key(e->ctx, key);
    const asc_plan_run *tuned = r->info.tuning || !e->folder ? NULL : asc_tuned(e, r->info.system);
    json_t *settings = known ? asc_plan_settings(e, r, tuned) : NULL;
    json_t *tunes = json_object_get(json_object_get(json_object_get(e->def, "tune"), "grid"), known);
    bool unknown = tunes && !r->info.tuning && !tuned;
    json_t *value = unknown ? NULL : json_object_get(settings, known);
    asc_text_drop(r->value);
    r->value = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(settings);
    return r->value;
}

asc_status asc_experiment_cache(asc_experiment *e, int i, char *path, size_t size)
{
    asc_status bad = ASC_NEED(e ? e->ctx : NULL, "experiment_cache: experiment path", e, path);
    if (bad || !e->folder || i < 0 || i >= e->n) {
        return bad ? bad : asc_fail(e->ctx, ASC_ERR_ARG, "experiment_cache: run %d has no folder", i);
    }
    const char *value = asc_experiment_value(e, i, "cache");
    json_t *own = json_loads(value ? value : "null", JSON_DECODE_ANY, NULL);
    const char *text = json_string_value(own);
    bool given = text && *text;
    int n = given ? snprintf(path, size, "%s", text) : snprintf(path, size, "%s/cache", e->folder);
    json_decref(own);
    return n >= 0 && (size_t)n < size ? ASC_OK : asc_fail(e->ctx, ASC_ERR_ARG, "experiment_cache: longer than a path");
}

const char *asc_experiment_state_name(asc_experiment_state state)
{
    static const char *const names[] = {"open", "waiting", "running", "interrupted", "done", "failed"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : NULL;
}
