/* train/experiment/work.c: runs are claimed, and what became of them is noted. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <program/file.h>

#include "data/file.h"
#include "data/json.h"
#include "tensor/need.h"
#include "train/experiment/experiment.h"
#include "train/run/folder.h"
#include "train/run/no_run.h"

/* ---- taking ---- */

/* The settings of a run that is about to begin or to go on, and where tokenised data are kept. */
static asc_status write_settings(asc_experiment *e, asc_plan_run *r)
{
    const asc_plan_run *tuned = r->info.tuning || e->n_tuning == 0 ? NULL : asc_tuned(e, r->info.system);
    json_t *settings = asc_error(e->ctx) ? NULL : asc_plan_settings(e, r, tuned);
    json_object_del(settings, "preset"); /* an option of its own, not a setting */
    r->settings = settings ? asc_experiment_path(e, "settings", r->info.name, ".json") : NULL;
    if (!r->settings) {
        json_decref(settings);
        return asc_error(e->ctx);
    }
    return asc_json_write(e->ctx, r->settings, settings, DIGITS);
}

/* Whether it failed before this process began, and is to be tried again. */
static bool is_retry(const asc_plan_run *r)
{
    return r->info.state == ASC_EXPERIMENT_STATE_FAILED && r->retry;
}

/* A run may have failed before it had the settings that its system's tuning chooses, and what a tuning chose is not
 * known any more where a run of it can't be read. */
static bool waits_for_tuning(asc_experiment *e, const asc_plan_run *r)
{
    bool begun = is_retry(r) || r->info.state == ASC_EXPERIMENT_STATE_INTERRUPTED;
    return r->info.state == ASC_EXPERIMENT_STATE_WAITING ||
           (begun && !r->info.tuning && e->n_tuning > 0 && !asc_tuned(e, r->info.system));
}

/* Whether a process trains in the run though nobody has claimed it: a worker's that was killed, about to end. */
static bool has_orphan(const asc_experiment *e, const asc_plan_run *r)
{
    char *running = asc_path_join(e->ctx, r->info.folder, ASC_FOLDER_CLAIM);
    bool alive = running && asc_claim_alive(running, NULL);
    asc_path_free(e->ctx, running);
    return alive;
}

/* Takes away what stood under a name, and what a worker that was killed had begun to write there. */
static asc_status forget(asc_experiment *e, const asc_plan_run *r, const char *sub, const char *ending)
{
    static const char *const begun[] = {"", ASC_FILE_TEMPORARY};
    for (int i = 0; i < 2 && asc_error(e->ctx) == ASC_OK; i++) {
        char whole[32];
        snprintf(whole, sizeof whole, "%s%s", ending, begun[i]);
        char *path = asc_experiment_path(e, sub, r->info.name, whole);
        if (path && unlink(path) && errno != ENOENT) {
            asc_fail(e->ctx, ASC_ERR_IO, "%s: %s", path, strerror(errno));
        }
        asc_path_free(e->ctx, path);
    }
    return asc_error(e->ctx);
}

/* The claim, and what stood for it. */
static void give_up(asc_experiment *e, asc_plan_run *r)
{
    asc_claim_drop(r->claim);
    r->claim = NULL;
    asc_path_free(e->ctx, r->settings);
    r->settings = NULL;
}

static asc_status take(asc_experiment *e, asc_plan_run *r, bool *later)
{
    char *path = asc_experiment_path(e, "claims", r->info.name, "");
    asc_claim_holder other;
    asc_status status = path ? asc_claim_take(e->ctx, path, &r->claim, &other) : ASC_ERR_MEMORY;
    asc_path_free(e->ctx, path);
    if (status || !r->claim) {
        return status;
    }
    bool orphan = has_orphan(e, r);
    asc_folder_look(e, r); /* it may have ended between the two */
    /* A note that the run is done is of one whose folder somebody has removed since. */
    bool begins = !orphan && r->info.state != ASC_EXPERIMENT_STATE_DONE && !waits_for_tuning(e, r);
    if (!begins || forget(e, r, "done", ".json") || write_settings(e, r)) {
        *later = *later || orphan;
        give_up(e, r);
        return asc_error(e->ctx);
    }
    r->retry = false;
    return ASC_OK;
}

/* Whether the run can be begun, or gone on with, now. */
static bool is_free(asc_experiment *e, const asc_plan_run *r)
{
    bool begins = r->info.state == ASC_EXPERIMENT_STATE_OPEN || r->info.state == ASC_EXPERIMENT_STATE_INTERRUPTED;
    return (begins || is_retry(r)) && !waits_for_tuning(e, r);
}

/* Whether the tuning of the run's system will still come to an end. */
static bool will_be_tuned(const asc_experiment *e, int system)
{
    bool on_its_way = false;
    for (int i = 0; i < e->n_tuning; i++) {
        const asc_plan_run *r = &e->runs[i];
        on_its_way = on_its_way || (r->info.system == system && !asc_is_over(r));
    }
    return on_its_way;
}

/* ---- what a tuning came to ---- */

static char *tuning_path(const asc_experiment *e, int system)
{
    char name[220];
    snprintf(name, sizeof name, "%s", asc_experiment_system(e, system));
    for (char *c = name; *c; c++) {
        *c = *c == '/' ? '_' : *c;
    }
    return asc_experiment_path(e, "tune", name, ".json");
}

/* What a tuning came to, for people: the program reads the runs. */
static asc_status write_tuning(asc_experiment *e, int system)
{
    asc_experiment_tuning t;
    asc_claim *claim;
    if (asc_experiment_refresh(e) || asc_experiment_tuning_of(e, system, &t) || t.run < 0 ||
        asc_folder_enter(e, &claim)) {
        return asc_error(e->ctx);
    }
    const asc_plan_run *chosen = &e->runs[t.run];
    const char *key, *dash = strchr(chosen->info.name, '-');
    json_t *values, *chose = json_object();
    json_object_foreach(json_object_get(json_object_get(e->def, "tune"), "grid"), key, values) {
        json_object_set(chose, key, json_object_get(chosen->own, key));
    }
    char *path = tuning_path(e, system);
    json_t *object = json_pack("{s:s, s:o, s:s, s:f, s:o, s:i, s:i, s:b}", "system", asc_experiment_system(e, system),
                               "chosen", chose, "run", dash ? dash + 1 : "", "valid_loss", t.valid_loss,
                               "valid_accuracy", isnan(t.valid_accuracy) ? json_null() : json_real(t.valid_accuracy),
                               "tried", t.tried, "failed", t.failed, "at_edge", t.at_edge);
    asc_status status = asc_json_write(e->ctx, path, object, DIGITS);
    asc_path_free(e->ctx, path);
    asc_claim_drop(claim);
    return status;
}

/* Whether a worker was killed between a tuning's last run and the writing of what it came to. */
static bool lacks_tuning(asc_experiment *e, int system)
{
    asc_experiment_tuning t;
    char *path = tuning_path(e, system);
    bool lacks = path && !asc_path_exists(path) && asc_experiment_tuning_of(e, system, &t) == ASC_OK && t.run >= 0;
    asc_path_free(e->ctx, path);
    return lacks;
}

/* ---- what killed workers left ---- */

/* Takes and drops the claim of a run that is done, and with it what belongs to it. */
static asc_status clear_claim(asc_experiment *e, const asc_plan_run *r)
{
    char *path = asc_experiment_path(e, "claims", r->info.name, "");
    asc_claim *claim = NULL;
    asc_claim_holder other;
    asc_status status = path ? asc_claim_take(e->ctx, path, &claim, &other) : ASC_ERR_MEMORY;
    asc_claim_drop(claim);
    asc_path_free(e->ctx, path);
    return status;
}

/* Whether there is a run's claim, or what goes with one. */
static bool has_claim(DIR *claims, const char *run)
{
    size_t n = strlen(run);
    bool found = false;
    rewinddir(claims);
    for (const struct dirent *entry; !found && (entry = readdir(claims));) {
        const char *name = entry->d_name;
        found = strncmp(name, run, n) == 0 && (name[n] == '\0' || name[n] == '.');
    }
    return found;
}

/* Removes the claims of workers that were killed just when a run was done, and what they left while they took or
 * dropped one: nobody else would take them. Writes what a tuning came to, where that was not done. */
static asc_status sweep(asc_experiment *e)
{
    char *path = e->swept ? NULL : asc_path_join(e->ctx, e->folder, "claims");
    DIR *claims = path ? opendir(path) : NULL;
    asc_status status = asc_error(e->ctx);
    for (int i = 0; !status && claims && i < e->n; i++) {
        const asc_plan_run *r = &e->runs[i];
        if (r->info.state == ASC_EXPERIMENT_STATE_DONE && has_claim(claims, r->info.name)) {
            status = clear_claim(e, r);
        }
    }
    if (claims) {
        closedir(claims);
    }
    for (int i = 0; !status && !e->swept && i < e->n_tuning; i++) {
        int system = e->runs[i].info.system;
        status = lacks_tuning(e, system) ? write_tuning(e, system) : asc_error(e->ctx);
    }
    asc_path_free(e->ctx, path);
    e->swept = true;
    return status;
}

/* ---- the next one ---- */

asc_status asc_experiment_next(asc_experiment *e, int *run, bool *later)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_next: experiment run later", e, run, later);
    if (status || (status = asc_experiment_refresh(e))) {
        return status;
    }
    *run = -1;
    *later = false;
    status = sweep(e);
    for (int i = 0; !status && i < e->n; i++) {
        asc_plan_run *r = &e->runs[i];
        *later = *later || (waits_for_tuning(e, r) && will_be_tuned(e, r->info.system));
        if (!r->claim && is_free(e, r)) {
            status = take(e, r, later);
            if (r->claim) {
                *run = i;
                return ASC_OK;
            }
        }
    }
    return status;
}

const char *asc_experiment_settings_file(asc_experiment *e, int run, bool *resume)
{
    if (ASC_NEED(e ? e->ctx : NULL, "experiment_settings_file: experiment resume", e, resume)) {
        return NULL;
    }
    if (run < 0 || run >= e->n || !e->runs[run].claim) {
        asc_fail(e->ctx, ASC_ERR_ARG, "experiment_settings_file: run %d is not claimed", run);
        return NULL;
    }
    *resume = asc_is_run(e->runs[run].info.folder);
    return e->runs[run].settings;
}

/* What a run's settings say of its data; a preset may say what they leave out. */
static json_t *name_data(asc_experiment *e, const asc_plan_run *r)
{
    bool is_tuned = e->n_tuning > 0 && !r->info.tuning;
    json_t *settings = asc_plan_settings(e, r, is_tuned ? asc_tuned(e, r->info.system) : NULL);
    json_t *data = json_object_get(settings, "data");
    json_t *tokenizer = json_object_get(settings, "tokenizer");
    json_t *preset = data && tokenizer ? NULL : json_object_get(settings, "preset");
    json_t *named = json_pack("[O?, O?, O?]", data, tokenizer, preset);
    json_decref(settings);
    return named;
}

const char *asc_experiment_data_of(asc_experiment *e, int run)
{
    if (ASC_NEED(e ? e->ctx : NULL, "experiment_data_of: experiment", e) || !e->folder || run < 0 || run >= e->n) {
        return NULL;
    }
    const char *folder = NULL;
    json_t *wanted = name_data(e, &e->runs[run]);
    for (int i = 0; wanted && !folder && i < e->n; i++) {
        const asc_plan_run *r = &e->runs[i];
        if (i != run && asc_is_run(r->info.folder)) {
            json_t *named = name_data(e, r);
            folder = json_equal(named, wanted) ? r->info.folder : NULL;
            json_decref(named);
        }
    }
    json_decref(wanted);
    return folder;
}

/* ---- ending ---- */

static asc_status note_done(asc_experiment *e, const asc_plan_run *r, const char *end)
{
    char *path = asc_experiment_path(e, "done", r->info.name, ".json");
    asc_status status = asc_json_write(e->ctx, path, json_pack("{s:s}", "end", end), DIGITS);
    asc_path_free(e->ctx, path);
    return status;
}

static asc_status note_failed(asc_experiment *e, const asc_plan_run *r, const char *text)
{
    char *path = asc_experiment_path(e, "failed", r->info.name, ".txt");
    asc_status status = path ? asc_file_write_atomic(e->ctx, path, text, strlen(text)) : ASC_ERR_MEMORY;
    asc_path_free(e->ctx, path);
    return status;
}

asc_status asc_experiment_release(asc_experiment *e, int run, asc_experiment_end end, const char *text)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_release: experiment", e);
    if (status) {
        return status;
    }
    if (run < 0 || run >= e->n || !e->runs[run].claim) {
        return asc_fail(e->ctx, ASC_ERR_ARG, "experiment_release: run %d is not claimed", run);
    }
    asc_plan_run *r = &e->runs[run];
    if (!asc_claim_held(r->claim)) { /* what became of it is for whoever took it over to say */
        end = ASC_EXPERIMENT_END_STOPPED;
    }
    bool diverged = end == ASC_EXPERIMENT_END_DIVERGED, done = end == ASC_EXPERIMENT_END_DONE;
    if (done || (diverged && r->info.tuning)) {
        status = forget(e, r, "failed", ".txt");
        status = status ? status : note_done(e, r, diverged ? "diverged" : "done");
    } else if (diverged || end == ASC_EXPERIMENT_END_FAILED) {
        status = note_failed(e, r, text ? text : "");
    }
    give_up(e, r);
    asc_folder_look(e, r);
    return status || !r->info.tuning ? status : write_tuning(e, r->info.system);
}
