/* train/run/verify.c: reads all of a run or model and compares what its files say of each other. */
#include <program/verify.h>

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <ascgrad/safetensors.h>
#include <ascgrad/train.h>

#include "data/file.h"
#include "data/json.h"
#include "data/tokenizer.h"
#include "tensor/need.h"
#include "train/run/format.h"
#include "train/run/no_run.h"
#include "train/path.h"
#include "train/run/folder.h"
#include "train/run/lines.h"
#include "train/run/metrics.h"
#include "train/trainer.h"

typedef struct verifier {
    asc_ctx *ctx;
    const char *path; /* of the RUN or MODEL */
    bool is_run;
    json_t *config; /* of a run; NULL where it can't be read */
    asc_best best;  /* by its checkpoint, from which it goes on; none, */
    int64_t metrics_bytes, logged_step; /* and 0, where that can't be read */
    void (*tell)(void *user, const asc_verified *file);
    void *user;
    int64_t problems;
} verifier;

/* Tells of a file. What does not hold is the context's error, which goes; another error stays. */
static void tell_of(verifier *v, asc_verified *file)
{
    char problem[1024];
    asc_status status = asc_error(v->ctx);
    if (status == ASC_ERR_FORMAT || status == ASC_ERR_ARG) {
        snprintf(problem, sizeof problem, "%s", asc_error_message(v->ctx));
        asc_error_clear(v->ctx);
        file->problem = problem;
        v->problems++;
    }
    if (!asc_error(v->ctx)) {
        v->tell(v->user, file);
    }
}

/* ---- files of tensors ---- */

static void read_tensors(verifier *v, const asc_safetensors *file, asc_verified *about)
{
    const asc_safetensors_entry *e;
    for (int64_t i = 0; !asc_error(v->ctx) && (e = asc_safetensors_at(file, i)); i++) {
        about->tensors++;
        about->bytes += e->bytes;
    }
    asc_format_check_tensors(file);
}

static bool has(const verifier *v, const char *name)
{
    char *path = asc_path_join(v->ctx, v->path, name);
    bool found = path && asc_path_exists(path);
    asc_path_free(v->ctx, path);
    return found;
}

/* Notes what the checkpoint says of the run's metrics and models, which is looked at with these. */
static void note_checkpoint(verifier *v, const asc_safetensors *file)
{
    asc_best best = asc_best_none();
    int64_t bytes, logged;
    asc_format_int(file, "metrics_bytes", 0, INT64_MAX, &bytes);
    asc_format_int(file, "logged_step", -1, ASC_STEPS_MOST, &logged);
    asc_format_int(file, "best_step", -1, ASC_STEPS_MOST, &best.step);
    asc_format_real(file, "best_loss", INFINITY, false, &best.loss);
    if (asc_safetensors_metadata(file, "best_wrong")) {
        asc_format_real(file, "best_wrong", 1, false, &best.wrong);
    }
    if (!asc_error(v->ctx)) {
        v->best = best;
        v->metrics_bytes = bytes;
        v->logged_step = logged;
    }
}

/* That what the checkpoint says of the run's configuration is so. */
static void check_checkpoint(verifier *v, const asc_safetensors *file)
{
    int64_t step, planned = json_integer_value(json_object_get(json_object_get(v->config, "plan"), "steps"));
    char *config = asc_path_join(v->ctx, v->path, "config.json");
    asc_format_int(file, "step", 0, ASC_STEPS_MOST, &step);
    if (!asc_error(v->ctx) && planned > 0 && step > planned) {
        asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: has planned %lld steps, but the checkpoint is of step %lld", config,
                 (long long)planned, (long long)step);
    }
    if (!asc_error(v->ctx) && v->config) {
        asc_held_compare(v->ctx, config, asc_safetensors_metadata(file, ASC_CHECKPOINT_HELD), v->config);
    }
    asc_path_free(v->ctx, config);
}

/* That the run has its best model, under one of the names that this has while it is written. */
static void check_best(verifier *v)
{
    asc_folder names;
    bool lost = false;
    if (asc_folder_name(&names, v->ctx, v->path) == ASC_OK && asc_folder_check(&names, &v->best, &lost) == ASC_OK &&
        lost) {
        asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: is missing: the best model, of step %lld", names.model,
                 (long long)v->best.step);
    }
    asc_folder_close(&names);
}

/* A run's model is the one that its configuration describes. */
static void compare_config(verifier *v, const char *path, const char *config)
{
    json_t *theirs = json_loads(config, 0, NULL), *ours = json_object_get(v->config, "model"), *value;
    const char *key;
    json_object_foreach(ours, key, value) {
        const json_t *other = json_object_get(theirs, key);
        if (other && !asc_settings_same(value, other) && !asc_error(v->ctx)) {
            asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: is of another model than config.json describes: its %s differs", path,
                     key);
        }
    }
    json_decref(theirs);
}

/* A model has its configuration and vocabulary, which must be those of its tensors. */
static void check_model(verifier *v, const char *path)
{
    asc_model *model = asc_error(v->ctx) ? NULL : asc_model_open(v->ctx, path, NULL, NULL);
    if (model && v->config) {
        compare_config(v, path, asc_lm_config(model->lm));
    }
    asc_model_free(v->ctx, model);
}

static void verify_tensors(verifier *v, const char *path, bool checkpoint)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    asc_verified about = {.file = path};
    asc_safetensors *file = asc_format_open(v->ctx, path, v->is_run);
    if (file) {
        about.has_checksum = asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC) != NULL;
        read_tensors(v, file, &about);
        if (checkpoint && !asc_error(v->ctx) && strcmp(name, "checkpoint.safetensors") == 0) {
            note_checkpoint(v, file);
        }
        if (checkpoint && !asc_error(v->ctx)) {
            check_checkpoint(v, file);
        }
    }
    asc_safetensors_close(file);
    if (!checkpoint) {
        check_model(v, path);
    }
    if (v->is_run && !asc_error(v->ctx) && strcmp(name, "model.safetensors") == 0) {
        check_best(v);
    }
    tell_of(v, &about);
}

/* ---- the other files of a run ---- */

static void verify_config(verifier *v, const char *path)
{
    v->config = asc_json_read(v->ctx, path, true);
    asc_settings *settings = v->config ? asc_settings_new(v->ctx) : NULL;
    if (settings) {
        asc_settings_resume(settings, v->path);
    }
    asc_settings_free(settings);
    tell_of(v, &(asc_verified){.file = path});
}

static void verify_vocabulary(verifier *v, const char *path)
{
    const char *spec = json_string_value(json_object_get(v->config, "tokenizer"));
    json_t *checksums = json_object_get(v->config, "data_checksum");
    const char *expected = json_string_value(json_object_get(checksums, "vocab"));
    const asc_tokenizer_kind *kind = spec ? asc_tokenizer_kind_find(v->ctx, spec) : NULL;
    asc_tokenizer *t = kind ? asc_tokenizer_load_with(v->ctx, kind->name, path, ASC_TEXT_OWN) : NULL;
    char got[9];
    if (t && asc_vocab_checksum(t, got) == ASC_OK && expected && strcmp(got, expected) != 0) {
        asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: has changed: checksum %s, but %s was made with %s", path, got, v->path,
                 expected);
    }
    asc_tokenizer_free(t);
    tell_of(v, &(asc_verified){.file = path, .has_checksum = expected != NULL});
}

static void verify_summary(verifier *v, const char *path)
{
    json_decref(asc_json_read(v->ctx, path, true));
    tell_of(v, &(asc_verified){.file = path});
}

/* That the metrics are those that the checkpoint goes with, up to where it does. */
static void compare_metrics(verifier *v, const char *path)
{
    struct stat info;
    asc_metrics metrics = {.ctx = v->ctx, .path = path, .bytes = v->metrics_bytes,
                           .fd = asc_file_open(v->ctx, path, O_RDONLY | O_NOFOLLOW)};
    if (metrics.fd >= 0 && (fstat(metrics.fd, &info) || info.st_size < v->metrics_bytes)) {
        asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: has fewer than the %lld bytes that the checkpoint knows of", path,
                 (long long)v->metrics_bytes);
    } else if (metrics.fd >= 0) {
        asc_metrics_check(&metrics, v->logged_step);
    }
    asc_metrics_close(&metrics);
}

static void verify_metrics(verifier *v, const char *path)
{
    asc_run_lines lines;
    asc_run_lines_read(&lines, v->ctx, path);
    asc_run_lines_free(&lines);
    if (!asc_error(v->ctx) && v->metrics_bytes > 0) {
        compare_metrics(v, path);
    }
    tell_of(v, &(asc_verified){.file = path});
}

/* ---- all of them ---- */

enum { CONFIG, VOCABULARY, METRICS, SUMMARY, CHECKPOINT, MODEL };

static const struct {
    const char *name;
    int kind;
} files[] = {{"config.json", CONFIG},
             {"vocab.txt", VOCABULARY},
             {"checkpoint.safetensors", CHECKPOINT},
             {"checkpoint.stable.safetensors", CHECKPOINT},
             {"metrics.jsonl", METRICS},
             {"summary.json", SUMMARY},
             {"model.safetensors", MODEL},
             {"model.next.safetensors", MODEL},
             {"model.kept.safetensors", MODEL},
             {"model.extra.safetensors", MODEL},
             {"model.stable.safetensors", MODEL}};

static void verify_file(verifier *v, int kind, const char *path)
{
    switch (kind) {
    case CONFIG:
        verify_config(v, path);
        break;
    case VOCABULARY:
        verify_vocabulary(v, path);
        break;
    case METRICS:
        verify_metrics(v, path);
        break;
    case SUMMARY:
        verify_summary(v, path);
        break;
    default:
        verify_tensors(v, path, kind == CHECKPOINT);
    }
}

/* Whether the run's last end knows of a model. */
static bool had_model(const verifier *v)
{
    char *path = asc_path_join(v->ctx, v->path, "summary.json");
    bool had = path && asc_summary_has_best(path);
    asc_path_free(v->ctx, path);
    return had;
}

/* What a run can't do without; a model that a checkpoint knows of is missed where that is looked at. */
static void check_missing(verifier *v, const char *name, const char *path)
{
    if (strcmp(name, "vocab.txt") == 0) {
        const char *spec = json_string_value(json_object_get(v->config, "tokenizer"));
        const asc_tokenizer_kind *kind = spec ? asc_tokenizer_kind_find(v->ctx, spec) : NULL;
        if (kind && kind->has_vocabulary) {
            asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: is missing", path);
        }
    } else if (strcmp(name, "checkpoint.safetensors") == 0 && (has(v, "model.safetensors") || had_model(v))) {
        asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: is missing: without it the run can't go on", path);
    } else if (strcmp(name, "model.safetensors") == 0) {
        check_best(v);
    } else if (strcmp(name, "metrics.jsonl") == 0 && v->metrics_bytes > 0) {
        asc_fail(v->ctx, ASC_ERR_FORMAT, "%s: is missing: the checkpoint knows of %lld bytes", path,
                 (long long)v->metrics_bytes);
    }
    if (asc_error(v->ctx)) {
        tell_of(v, &(asc_verified){.file = path});
    }
}

static void verify_run(verifier *v)
{
    for (size_t i = 0; i < sizeof files / sizeof *files && !asc_error(v->ctx); i++) {
        char *path = asc_path_join(v->ctx, v->path, files[i].name);
        if (path && asc_path_exists(path)) {
            verify_file(v, files[i].kind, path);
        } else if (path) {
            check_missing(v, files[i].name, path);
        }
        asc_path_free(v->ctx, path);
    }
    json_decref(v->config);
}

asc_status asc_verify(asc_ctx *ctx, const char *path, void (*tell)(void *user, const asc_verified *file), void *user,
                      int64_t *problems)
{
    asc_status status = ASC_NEED(ctx, "verify: path tell problems", path, tell ? path : NULL, problems);
    if (status || asc_error(ctx)) {
        return status ? status : asc_error(ctx);
    }
    struct stat info;
    verifier v = {.ctx = ctx, .path = path, .best = asc_best_none(), .tell = tell, .user = user};
    if (stat(path, &info)) {
        return asc_fail_no_run(ctx, path);
    }
    v.is_run = S_ISDIR(info.st_mode);
    if (v.is_run && !asc_is_run(path)) {
        return asc_fail_no_run(ctx, path);
    }
    if (v.is_run) {
        verify_run(&v);
    } else {
        verify_tensors(&v, path, false);
    }
    *problems = v.problems;
    return asc_error(ctx);
}
