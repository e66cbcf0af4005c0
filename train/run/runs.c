/* train/run/runs.c: what a run's files say of it. */
#include <ascgrad/runs.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/json.h"
#include "stats/stats.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/run/claim.h"
#include "train/run/folder.h"
#include "train/run/lines.h"
#include "train/settings.h"

struct asc_run {
    asc_ctx *ctx;
    char *folder;
    json_t *config, *summary; /* summary: NULL where there is none; texts of `info` stand in it */
    asc_strings keys;         /* of the settings, each with the 0 at its end */
    json_t *texts;            /* their values as JSON text, in the order of the keys */
    asc_run_lines rows;
    asc_run_info info;
};

static const char *const state_names[] = {"done", "running", "interrupted", "failed"};
enum { N_STATES = sizeof state_names / sizeof *state_names };

const char *asc_run_state_name(asc_run_state state)
{
    return (unsigned)state < N_STATES ? state_names[state] : NULL;
}

/* ---- settings ---- */

static asc_status no_memory(const asc_run *run)
{
    return asc_fail(run->ctx, ASC_ERR_MEMORY, "%s: out of memory", run->folder);
}

static asc_status add_setting(asc_run *run, const char *key, const json_t *value)
{
    size_t n = strlen(key) + 1;
    if (asc_strings_find(&run->keys, key, n) >= 0) {
        return ASC_OK; /* the training's comes before a model's of the same name */
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    bool added =
        text && json_array_append_new(run->texts, json_string(text)) == 0 && asc_strings_add(&run->keys, key, n) >= 0;
    asc_text_drop(text);
    return added ? ASC_OK : no_memory(run);
}

static asc_status read_settings(asc_run *run, const char *path)
{
    const char *key;
    json_t *value, *model = json_object_get(run->config, "model");
    run->texts = json_array();
    if (!run->texts) {
        return no_memory(run);
    }
    if (!json_is_object(model)) {
        return asc_fail(run->ctx, ASC_ERR_FORMAT, "%s: has no object \"model\": not the config.json of a run", path);
    }
    json_object_foreach(run->config, key, value) {
        if (value != model && !asc_settings_is_fact(key) && add_setting(run, key, value)) {
            return asc_error(run->ctx);
        }
    }
    json_object_foreach(model, key, value) {
        if (add_setting(run, key, value)) {
            return asc_error(run->ctx);
        }
    }
    json_object_foreach(json_object_get(run->config, "data_checksum"), key, value) {
        char name[ASC_SETTING_NAME];
        snprintf(name, sizeof name, "data_checksum.%.60s", key);
        if (add_setting(run, name, value)) {
            return asc_error(run->ctx);
        }
    }
    return ASC_OK;
}

static const char *setting_text(const asc_run *run, const char *key)
{
    int32_t id = asc_strings_find(&run->keys, key, strlen(key) + 1);
    return id < 0 ? NULL : json_string_value(json_array_get(run->texts, (size_t)id));
}

const char *asc_run_setting(const asc_run *run, const char *key)
{
    if (ASC_NEED(run ? run->ctx : NULL, "run_setting: run key", run, key)) {
        return NULL;
    }
    char name[ASC_SETTING_NAME];
    asc_settings_spell(key, name);
    bool model;
    const char *text = setting_text(run, name);
    const asc_setting *row = text ? NULL : asc_settings_find(run->ctx, name, &model);
    return row ? setting_text(run, row->key) : text;
}

const char *asc_run_setting_at(const asc_run *run, int i)
{
    size_t n;
    return run && i >= 0 && i < run->keys.n ? asc_strings_at(&run->keys, i, &n) : NULL;
}

/* ---- measurements ---- */

size_t asc_run_rows(const asc_run *run)
{
    return run ? run->rows.n : 0;
}

double asc_run_value(const asc_run *run, size_t row, const char *key)
{
    if (ASC_NEED(run ? run->ctx : NULL, "run_value: run key", run, key)) {
        return NAN;
    }
    return asc_run_lines_value(&run->rows, row, key);
}

const char *asc_run_key_at(const asc_run *run, int i)
{
    size_t n;
    return run && i >= 0 && i < run->rows.keys.n ? asc_strings_at(&run->rows.keys, i, &n) : NULL;
}

/* ---- the whole ---- */

/* The median of what the rows have under a key; NaN: nothing. */
static double median(const asc_run *run, const char *key)
{
    size_t n = 0, bytes = (run->rows.n + 1) * sizeof(double);
    double *values = asc_alloc(run->ctx, bytes), result = NAN;
    for (size_t row = 0; values && row < run->rows.n; row++) {
        double value = asc_run_lines_value(&run->rows, row, key);
        if (!isnan(value)) {
            values[n++] = value;
        }
    }
    if (values) {
        result = asc_median(values, (int64_t)n);
    }
    asc_free(run->ctx, values, bytes);
    return result;
}

static const asc_run_best none = {-1, NAN, NAN, NAN, NAN, NAN, NAN};

static bool is_by_accuracy(const asc_run *run)
{
    const char *by = json_string_value(json_object_get(run->config, "best_by"));
    return by && strcmp(by, "accuracy") == 0;
}

/* Whether an evaluation is the best so far, as the training has it. */
static bool is_better(const asc_run_best *best, double loss, double accuracy)
{
    if (isnan(best->valid_loss) || isnan(loss) || isnan(accuracy) || accuracy == best->valid_accuracy) {
        return loss < best->valid_loss || (isnan(best->valid_loss) && !isnan(loss));
    }
    return accuracy > best->valid_accuracy;
}

/* JSON has no infinity: a perplexity that no double holds is null there. */
static double perplexity_of(double written, double loss)
{
    return isnan(written) && isinf(exp(loss)) ? exp(loss) : written;
}

static asc_run_best row_best(const asc_run *run)
{
    asc_run_best best = none;
    const asc_run_lines *r = &run->rows;
    bool by_accuracy = is_by_accuracy(run);
    for (size_t row = 0; row < r->n; row++) {
        double loss = asc_run_lines_value(r, row, "valid_loss");
        double accuracy = asc_run_lines_value(r, row, "valid_accuracy");
        if (is_better(&best, loss, by_accuracy ? accuracy : (double)NAN)) {
            best = (asc_run_best){
                .step = (int64_t)asc_run_lines_value(r, row, "step"),
                .tokens = asc_run_lines_value(r, row, "tokens"),
                .elapsed_s = asc_run_lines_value(r, row, "elapsed_s"),
                .valid_loss = loss,
                .valid_ppl = perplexity_of(asc_run_lines_value(r, row, "valid_ppl"), loss),
                .valid_bits_per_byte = asc_run_lines_value(r, row, "valid_bits_per_byte"),
                .valid_accuracy = accuracy,
            };
        }
    }
    return best;
}

/* What follows from the settings and the rows, without a summary. */
static void describe(asc_run *run)
{
    const asc_run_lines *r = &run->rows;
    json_int_t steps = json_integer_value(json_object_get(json_object_get(run->config, "plan"), "steps"));
    double step = r->n > 0 ? asc_run_lines_value(r, r->n - 1, "step") : 0;
    run->info = (asc_run_info){
        .state = steps > 0 && step >= (double)steps ? ASC_RUN_STATE_DONE : ASC_RUN_STATE_INTERRUPTED,
        .step = (int64_t)step,
        .steps = steps,
        .tokens = r->n > 0 ? asc_run_lines_value(r, r->n - 1, "tokens") : 0,
        .epochs = r->n > 0 ? asc_run_lines_value(r, r->n - 1, "epoch") : 0,
        .wall_s = r->n > 0 ? asc_run_lines_value(r, r->n - 1, "elapsed_s") : 0,
        .tokens_per_s = median(run, "tokens_per_s"),
        .peak_rss_mib = NAN,
        .parameters = NAN,
        .gflop_per_token = NAN,
        .memory_gib = NAN,
        .threads = NAN,
        .unknown = NAN,
        .updated_s = NAN,
        .version = json_string_value(json_object_get(run->config, "version")),
        .best = row_best(run),
        .by_accuracy = is_by_accuracy(run),
    };
}

/* ---- the summary ---- */

/* A member of `object` that should be a number, or null; ASC_ERR_FORMAT. What is not there stays as it is. */
static asc_status take_number(const asc_run *run, const char *path, const json_t *object, const char *key, double *into)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_number(value) && !json_is_null(value)) {
        return asc_fail(run->ctx, ASC_ERR_FORMAT, "%s: %s: expected a number", path, key);
    }
    *into = json_is_number(value) ? json_number_value(value) : *into;
    return ASC_OK;
}

static asc_status take_text(const asc_run *run, const char *path, const char *key, const char **into)
{
    const json_t *value = json_object_get(run->summary, key);
    if (value && !json_is_string(value) && !json_is_null(value)) {
        return asc_fail(run->ctx, ASC_ERR_FORMAT, "%s: %s: expected a text", path, key);
    }
    *into = json_is_string(value) ? json_string_value(value) : *into;
    return ASC_OK;
}

static asc_status take_best(asc_run *run, const char *path)
{
    const json_t *best = json_object_get(run->summary, "best");
    if (!best || json_is_null(best)) {
        return ASC_OK;
    }
    asc_run_best b = none;
    double step = -1;
    if (!json_is_object(best)) {
        return asc_fail(run->ctx, ASC_ERR_FORMAT, "%s: best: expected an object", path);
    }
    if (take_number(run, path, best, "step", &step) || take_number(run, path, best, "tokens", &b.tokens) ||
        take_number(run, path, best, "elapsed_s", &b.elapsed_s) ||
        take_number(run, path, best, "valid_loss", &b.valid_loss) ||
        take_number(run, path, best, "valid_ppl", &b.valid_ppl) ||
        take_number(run, path, best, "valid_bits_per_byte", &b.valid_bits_per_byte) ||
        take_number(run, path, best, "valid_accuracy", &b.valid_accuracy)) {
        return asc_error(run->ctx);
    }
    if (!isnan(b.valid_loss) && step >= 0 && step < 9e15) {
        b.step = (int64_t)step;
        b.valid_ppl = perplexity_of(b.valid_ppl, b.valid_loss);
        run->info.best = b;
    }
    return ASC_OK;
}

static asc_status take_state(asc_run *run, const char *path)
{
    const char *name = json_string_value(json_object_get(run->summary, "state"));
    for (int i = 0; name && i < N_STATES; i++) {
        if (strcmp(name, state_names[i]) == 0) {
            run->info.state = (asc_run_state)i;
            return take_text(run, path, "reason", &run->info.reason);
        }
    }
    return asc_fail(run->ctx, ASC_ERR_FORMAT, "%s: state: expected \"done\", \"interrupted\" or \"failed\"", path);
}

/* How the training ended, and what it measured, in the words of its last end. A summary that the rows have left behind
 * is an earlier session's: then only the machine's and the model's facts are taken. */
static asc_status take_summary(asc_run *run, const char *path)
{
    asc_run_info *i = &run->info;
    double steps = 0;
    if (take_number(run, path, run->summary, "steps", &steps) ||
        take_number(run, path, run->summary, "parameters", &i->parameters) ||
        take_number(run, path, run->summary, "gflop_per_token", &i->gflop_per_token) ||
        take_number(run, path, run->summary, "peak_rss_mib", &i->peak_rss_mib) ||
        take_number(run, path, run->summary, "memory_gib", &i->memory_gib) ||
        take_number(run, path, run->summary, "threads", &i->threads) ||
        take_number(run, path, run->summary, "unknown", &i->unknown) ||
        take_text(run, path, "processor", &i->processor) || take_text(run, path, "version", &i->version) ||
        take_text(run, path, "blas", &i->blas) || take_text(run, path, "instructions", &i->instructions)) {
        return asc_error(run->ctx);
    }
    if (!(steps >= (double)i->step) || !(steps < 9e15)) {
        return ASC_OK;
    }
    i->step = (int64_t)steps;
    if (take_state(run, path) || take_number(run, path, run->summary, "tokens", &i->tokens) ||
        take_number(run, path, run->summary, "epochs", &i->epochs) ||
        take_number(run, path, run->summary, "wall_s", &i->wall_s) ||
        take_number(run, path, run->summary, "tokens_per_s", &i->tokens_per_s)) {
        return asc_error(run->ctx);
    }
    return take_best(run, path);
}

static asc_status read_summary(asc_run *run)
{
    char *path = asc_path_join(run->ctx, run->folder, "summary.json");
    if (path && asc_path_exists(path)) {
        run->summary = asc_json_read(run->ctx, path, true);
        if (run->summary) {
            take_summary(run, path);
        }
    }
    asc_path_free(run->ctx, path);
    return asc_error(run->ctx);
}

/* Whether a process trains in it. */
static bool is_running(const asc_run *run)
{
    char *path = asc_path_join(run->ctx, run->folder, ASC_FOLDER_CLAIM);
    bool running = path && asc_claim_alive(path, NULL);
    asc_path_free(run->ctx, path);
    return running;
}

/* ---- the object ---- */

static asc_status read_config(asc_run *run)
{
    char *path = asc_path_join(run->ctx, run->folder, "config.json");
    struct stat there;
    if (path && lstat(path, &there)) {
        asc_fail(run->ctx, ASC_ERR_IO,
                 errno == ENOENT || errno == ENOTDIR ? "%s: there is no run: no config.json" : "%s: %s", run->folder,
                 strerror(errno));
    } else if (path) {
        run->config = asc_json_read(run->ctx, path, true);
        if (run->config) {
            read_settings(run, path);
        }
    }
    asc_path_free(run->ctx, path);
    return asc_error(run->ctx);
}

static asc_status read_rows(asc_run *run)
{
    char *path = asc_path_join(run->ctx, run->folder, "metrics.jsonl");
    struct stat there;
    if (path && asc_run_lines_read(&run->rows, run->ctx, path) == ASC_OK) {
        describe(run);
        if (stat(path, &there) == 0) {
            run->info.updated_s = (double)there.st_mtim.tv_sec + 1e-9 * (double)there.st_mtim.tv_nsec;
        }
    }
    asc_path_free(run->ctx, path);
    return asc_error(run->ctx);
}

asc_run *asc_run_read(asc_ctx *ctx, const char *folder)
{
    asc_run *run = ASC_NEED(ctx, "run_read: folder", folder) ? NULL : asc_alloc(ctx, sizeof *run);
    if (!run) {
        return NULL;
    }
    *run = (asc_run){.ctx = ctx, .keys = {.ctx = ctx}, .folder = asc_path_copy(ctx, folder)};
    bool running = run->folder && is_running(run); /* first, as it may end while it is read */
    if (!run->folder || read_config(run) || read_rows(run) || read_summary(run)) {
        asc_run_free(run);
        return NULL;
    }
    if (running) {
        run->info.state = ASC_RUN_STATE_RUNNING;
        run->info.reason = NULL; /* an earlier session's */
    }
    return run;
}

void asc_run_free(asc_run *run)
{
    if (run) {
        asc_run_lines_free(&run->rows);
        asc_strings_free(&run->keys);
        json_decref(run->texts);
        json_decref(run->config);
        json_decref(run->summary);
        asc_path_free(run->ctx, run->folder);
        asc_free(run->ctx, run, sizeof *run);
    }
}

const char *asc_run_folder(const asc_run *run)
{
    return run ? run->folder : NULL;
}

const asc_run_info *asc_run_info_of(const asc_run *run)
{
    return run ? &run->info : NULL;
}
