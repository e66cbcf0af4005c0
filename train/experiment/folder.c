/* train/experiment/folder.c: the folder of an experiment, which several processes may work in. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <program/file.h>

#include "data/file.h"
#include "data/json.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/experiment/experiment.h"
#include "train/run/no_run.h"

/* ---- names ---- */

char *asc_experiment_path(const asc_experiment *e, const char *sub, const char *name, const char *ending)
{
    char part[400];
    snprintf(part, sizeof part, "%s/%s%s", sub, name, ending);
    return asc_path_join(e->ctx, e->folder, part);
}

static asc_status make_folder(asc_ctx *ctx, const char *path)
{
    asc_path_make_parents(path);
    return mkdir(path, 0777) && errno != EEXIST ? asc_fail(ctx, ASC_ERR_IO, "%s: %s", path, strerror(errno)) : ASC_OK;
}

static asc_status make_sub(const asc_experiment *e, const char *name)
{
    char *path = asc_path_join(e->ctx, e->folder, name);
    asc_status status = path ? asc_folder_make(e->ctx, path) : ASC_ERR_MEMORY;
    asc_path_free(e->ctx, path);
    return status;
}

/* ---- one at a time ---- */

/* Others hold it for moments: one that keeps it stands still, stopped perhaps, and is told of, then no more waited for.
 * In all longer than a dead process's claim is taken for a live one's. */
static const asc_folder_patience usual = {20, 3000, 1000 * (ASC_CLAIM_STALE_S + 30)};

static void describe(const asc_claim_holder *of, char *text, size_t size)
{
    snprintf(text, size, of->pid ? "process %lld on host %s" : "another process", of->pid, of->host);
}

asc_status asc_folder_wait(asc_experiment *e, const asc_folder_patience *patience, asc_claim **claim)
{
    const struct timespec pause = {0, patience->pause_ms * 1000000L};
    char *path = asc_experiment_path(e, "claims", "experiment", ""), who[200];
    asc_claim_holder other;
    asc_status status = path ? asc_claim_take(e->ctx, path, claim, &other) : ASC_ERR_MEMORY;
    for (int ms = 0; !status && !*claim; ms += patience->pause_ms) {
        describe(&other, who, sizeof who);
        if (ms == patience->silent_ms) {
            asc_note(e->ctx, "%s: waits for %s, which has %s", e->folder, who, path);
        }
        if (ms >= patience->most_ms) {
            status = asc_fail(e->ctx, ASC_ERR_IO, "%s: %s has %s and does not go on: continue or end it", e->folder,
                              who, path);
            break;
        }
        nanosleep(&pause, NULL);
        status = asc_claim_take(e->ctx, path, claim, &other);
    }
    asc_path_free(e->ctx, path);
    return status;
}

asc_status asc_folder_enter(asc_experiment *e, asc_claim **claim)
{
    return asc_folder_wait(e, &usual, claim);
}

/* ---- the same experiment ---- */

static asc_status differ(const asc_experiment *e, const char *what, const json_t *there, const json_t *here)
{
    char *texts[2];
    const json_t *values[2] = {there, here};
    for (int i = 0; i < 2; i++) {
        texts[i] = values[i] ? json_dumps(values[i], JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    }
    asc_fail(e->ctx, ASC_ERR_ARG, "%s: holds another experiment: there %s is %.100s, here %.100s; give another folder "
             "(--out)", e->folder, what, texts[0] ? texts[0] : "missing", texts[1] ? texts[1] : "missing");
    asc_text_drop(texts[0]);
    asc_text_drop(texts[1]);
    return asc_error(e->ctx);
}

/* Settings that must be equal; how many threads compute changes nothing. */
static asc_status compare_settings(const asc_experiment *e, const char *where, const json_t *there, const json_t *here)
{
    const char *key;
    json_t *value;
    char what[200];
    const json_t *objects[2] = {there, here};
    for (int i = 0; i < 2; i++) {
        json_object_foreach((json_t *)objects[i], key, value) {
            const json_t *other = json_object_get(objects[1 - i], key);
            if (strcmp(key, "threads") != 0 && !json_equal(value, (json_t *)other)) {
                snprintf(what, sizeof what, "%.120s: %.60s", where, key);
                return differ(e, what, json_object_get(there, key), json_object_get(here, key));
            }
        }
    }
    return ASC_OK;
}

/* Every value that is there must be here, or in the list that is beside it, or NULL. */
static asc_status compare_list(const asc_experiment *e, const char *what, const json_t *there, const json_t *here,
                               const json_t *beside)
{
    size_t i;
    json_t *value;
    json_array_foreach(there, i, value) {
        if (!asc_list_holds(here, SIZE_MAX, value) && !asc_list_holds(beside, SIZE_MAX, value)) {
            return differ(e, what, there, here);
        }
    }
    return ASC_OK;
}

/* A seed that some systems had more may be one of all by now. */
static asc_status compare_more_seeds(const asc_experiment *e, const json_t *there, const json_t *here)
{
    const char *system;
    json_t *seeds;
    char what[200];
    json_object_foreach((json_t *)there, system, seeds) {
        snprintf(what, sizeof what, "more_seeds: %.120s", system);
        if (compare_list(e, what, seeds, json_object_get(here, system), json_object_get(e->def, "seeds"))) {
            return asc_error(e->ctx);
        }
    }
    return ASC_OK;
}

/* Whether two objects have the same keys in the same order, in which runs are named by them. */
static bool same_keys(json_t *a, json_t *b)
{
    void *x = json_object_iter(a), *y = json_object_iter(b);
    while (x && y && strcmp(json_object_iter_key(x), json_object_iter_key(y)) == 0) {
        x = json_object_iter_next(a, x);
        y = json_object_iter_next(b, y);
    }
    return !x && !y;
}

static asc_status compare_grid(const asc_experiment *e, const json_t *there, const json_t *here)
{
    const char *key;
    json_t *values;
    char what[200];
    if (!same_keys((json_t *)there, (json_t *)here)) {
        return differ(e, "the grid, with the order of its keys,", there, here);
    }
    json_object_foreach((json_t *)there, key, values) {
        snprintf(what, sizeof what, "the grid's %.60s", key);
        if (compare_list(e, what, values, json_object_get(here, key), NULL)) {
            return asc_error(e->ctx);
        }
        const json_t *first = json_array_get(values, 0), *now = json_array_get(json_object_get(here, key), 0);
        if (json_object_get(e->def, "tune") && !json_equal((json_t *)first, (json_t *)now)) {
            snprintf(what, sizeof what, "the grid's first %.60s, with which systems are tuned,", key);
            return differ(e, what, first, now);
        }
    }
    return ASC_OK;
}

static asc_status compare_systems(const asc_experiment *e, const json_t *there, const json_t *here)
{
    const char *name;
    json_t *settings;
    char what[200];
    json_object_foreach((json_t *)there, name, settings) {
        const json_t *own = json_object_get(here, name);
        snprintf(what, sizeof what, "system %.120s", name);
        if (!own) {
            return differ(e, what, settings, NULL);
        }
        if (compare_settings(e, what, settings, own)) {
            return asc_error(e->ctx);
        }
    }
    return ASC_OK;
}

/* A scale by name; "full" is what a file without a scale of that name is. */
static bool is_same_scale(const json_t *a, const json_t *b)
{
    const char *x = json_string_value(a), *y = json_string_value(b);
    x = x && *x ? x : "full";
    y = y && *y ? y : "full";
    return strcmp(x, y) == 0;
}

static bool is_same_tune(const json_t *a, const json_t *b)
{
    return json_equal((json_t *)a, (json_t *)b) && same_keys(json_object_get(a, "grid"), json_object_get(b, "grid"));
}

/* Whether all that is there is in `def`, too, the same. */
static asc_status compare(const asc_experiment *e, const json_t *there, const json_t *def)
{
    static const char *const equal[] = {"name", "scale", "tune"};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        const json_t *a = json_object_get(there, equal[i]), *b = json_object_get(def, equal[i]);
        bool same = strcmp(equal[i], "scale") == 0  ? is_same_scale(a, b)
                    : strcmp(equal[i], "tune") == 0 ? is_same_tune(a, b)
                                                    : json_equal((json_t *)a, (json_t *)b);
        if ((a || b) && !same) {
            return differ(e, equal[i], a, b);
        }
    }
    asc_status status = compare_settings(e, "common", json_object_get(there, "common"), json_object_get(def, "common"));
    status = status ? status : compare_systems(e, json_object_get(there, "systems"), json_object_get(def, "systems"));
    status = status ? status : compare_grid(e, json_object_get(there, "grid"), json_object_get(def, "grid"));
    status = status ? status
                    : compare_list(e, "seeds", json_object_get(there, "seeds"), json_object_get(def, "seeds"), NULL);
    return status ? status
                  : compare_more_seeds(e, json_object_get(there, "more_seeds"), json_object_get(def, "more_seeds"));
}

/* ---- a folder for an experiment ---- */

/* Whether another program's things lie there. */
static bool is_strange(const char *path)
{
    bool strange = false;
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && !strange && (entry = readdir(folder));) {
        strange = entry->d_name[0] != '.' && strcmp(entry->d_name, "claims") != 0 &&
                  strncmp(entry->d_name, "experiment.json", 15) != 0;
    }
    if (folder) {
        closedir(folder);
    }
    return strange;
}

static asc_status refuse_strange(const asc_experiment *e, const char *path)
{
    /* in this order: what another worker makes there comes after the experiment's file */
    if (!is_strange(e->folder) || asc_path_exists(path)) {
        return ASC_OK;
    }
    return asc_fail(e->ctx, ASC_ERR_ARG, "%s: holds something that is no experiment; give another folder (--out)",
                    e->folder);
}

/* The experiment as its file has it, with numbers of as many digits; new. */
static json_t *as_written(const asc_experiment *e)
{
    char *text = json_dumps(e->def, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    json_t *def = text ? json_loads(text, 0, NULL) : NULL;
    asc_text_drop(text);
    if (!def) {
        asc_fail(e->ctx, ASC_ERR_MEMORY, "experiment: out of memory");
    }
    return def;
}

/* Writes what the experiment is, unless it stands there; ASC_ERR_ARG where another does. */
static asc_status settle(asc_experiment *e, const char *path)
{
    if (!asc_path_exists(path)) {
        return refuse_strange(e, path) ? asc_error(e->ctx) : asc_json_write(e->ctx, path, json_incref(e->def), DIGITS);
    }
    json_t *given = asc_json_read(e->ctx, path, true), *there = given ? asc_define(e->ctx, given, NULL) : NULL;
    json_t *here = there ? as_written(e) : NULL;
    json_decref(given);
    bool same = here && json_equal(there, here);
    asc_status status = here ? compare(e, there, here) : asc_error(e->ctx);
    json_decref(there);
    json_decref(here);
    return status || same ? status : asc_json_write(e->ctx, path, json_incref(e->def), DIGITS);
}

static const char *const subs[] = {"runs", "settings", "done", "failed", "logs", "cache", "claims", "tune"};

static asc_status make_subs(const asc_experiment *e)
{
    size_t n = sizeof subs / sizeof *subs - (e->n_tuning == 0);
    asc_status status = ASC_OK;
    for (size_t i = 0; !status && i < n; i++) {
        status = make_sub(e, subs[i]);
    }
    return status;
}

static asc_status place(asc_experiment *e)
{
    char *path = asc_path_join(e->ctx, e->folder, "experiment.json");
    asc_claim *claim = NULL;
    asc_status status = path ? refuse_strange(e, path) : ASC_ERR_MEMORY;
    status = status ? status : make_folder(e->ctx, e->folder); /* a person names it: it may be a link */
    status = status ? status : make_sub(e, "claims");
    status = status ? status : asc_folder_enter(e, &claim);
    status = status ? status : settle(e, path);
    status = status ? status : make_subs(e);
    asc_claim_drop(claim);
    asc_path_free(e->ctx, path);
    return status;
}

asc_status asc_experiment_place(asc_experiment *e, const char *folder)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_place: experiment folder", e, folder);
    if (status) {
        return status;
    }
    if (e->folder) {
        return asc_fail(e->ctx, ASC_ERR_ARG, "experiment_place: the experiment has a folder, %s", e->folder);
    }
    e->folder = asc_path_copy(e->ctx, folder);
    if (e->folder && (place(e) || asc_folder_attach(e))) {
        asc_path_free(e->ctx, e->folder);
        e->folder = NULL;
    }
    return asc_error(e->ctx);
}

/* ---- states ---- */

static bool is_there(const asc_experiment *e, const char *sub, const char *name, const char *ending)
{
    char *path = asc_experiment_path(e, sub, name, ending);
    bool there = path && asc_path_exists(path);
    asc_path_free(e->ctx, path);
    return there;
}

static bool is_claimed(const asc_experiment *e, const char *name)
{
    char *path = asc_experiment_path(e, "claims", name, "");
    bool claimed = path && asc_claim_alive(path, NULL);
    asc_path_free(e->ctx, path);
    return claimed;
}

static bool has_diverged(const asc_experiment *e, const char *name)
{
    char *path = asc_experiment_path(e, "done", name, ".json");
    FILE *file = asc_file_read(path);
    json_t *note = file ? json_loadf(file, 0, NULL) : NULL;
    const char *end = json_string_value(json_object_get(note, "end"));
    bool diverged = end && strcmp(end, "diverged") == 0;
    json_decref(note);
    if (file) {
        fclose(file);
    }
    asc_path_free(e->ctx, path);
    return diverged;
}

void asc_folder_look(asc_experiment *e, asc_plan_run *r)
{
    asc_experiment_run *info = &r->info;
    bool begun = asc_is_run(info->folder), done = begun && is_there(e, "done", info->name, ".json");
    info->diverged = done && info->tuning && has_diverged(e, info->name);
    info->state = done                                           ? ASC_EXPERIMENT_STATE_DONE
                  : r->claim || is_claimed(e, info->name)        ? ASC_EXPERIMENT_STATE_RUNNING
                  : is_there(e, "failed", info->name, ".txt")    ? ASC_EXPERIMENT_STATE_FAILED
                  : begun                                        ? ASC_EXPERIMENT_STATE_INTERRUPTED
                                                                 : ASC_EXPERIMENT_STATE_OPEN;
    if (info->state == ASC_EXPERIMENT_STATE_OPEN && !info->tuning && e->n_tuning > 0 && !asc_tuned(e, info->system)) {
        info->state = ASC_EXPERIMENT_STATE_WAITING;
    }
}

asc_status asc_experiment_refresh(asc_experiment *e)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_refresh: experiment", e);
    if (!status && !e->folder) {
        status = asc_fail(e->ctx, ASC_ERR_ARG, "experiment_refresh: the experiment has no folder");
    }
    for (int i = 0; !status && i < e->n; i++) {
        asc_folder_look(e, &e->runs[i]);
        status = asc_error(e->ctx);
    }
    return status;
}

/* What is written below an experiment is written nowhere else. */
static asc_status check_folders(const asc_experiment *e)
{
    for (size_t i = 0; i < sizeof subs / sizeof *subs && !asc_error(e->ctx); i++) {
        char *path = asc_path_join(e->ctx, e->folder, subs[i]);
        if (path) {
            asc_folder_check_own(e->ctx, path);
        }
        asc_path_free(e->ctx, path);
    }
    for (int i = 0; i < e->n && !asc_error(e->ctx); i++) {
        asc_folder_check_own(e->ctx, e->runs[i].info.folder);
    }
    return asc_error(e->ctx);
}

asc_status asc_folder_attach(asc_experiment *e)
{
    for (int i = 0; i < e->n; i++) {
        asc_plan_run *r = &e->runs[i];
        const char *name = r->info.name + (r->info.tuning ? strlen("tune-") : 0);
        r->info.folder = asc_experiment_path(e, r->info.tuning ? "tune" : "runs", name, "");
        if (!r->info.folder) {
            return ASC_ERR_MEMORY;
        }
    }
    asc_status status = check_folders(e);
    status = status ? status : asc_experiment_refresh(e);
    for (int i = 0; i < e->n; i++) {
        e->runs[i].retry = e->runs[i].info.state == ASC_EXPERIMENT_STATE_FAILED;
    }
    return status;
}
