/* tests/train/runs.h: folders of runs, a small training, and what its files say. */
#ifndef TESTS_TRAIN_RUNS_H
#define TESTS_TRAIN_RUNS_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/safetensors.h>
#include <ascgrad/train.h>

#include "tests/context.h"
#include "tests/folder.h"

static char run_path[96], other_path[96]; /* of runs that are not there yet */

static void setup_runs(void)
{
    setup_one_thread();
    make_folder();
    snprintf(run_path, sizeof run_path, "%s/run", folder);
    snprintf(other_path, sizeof other_path, "%s/other", folder);
}

static void teardown_runs(void)
{
    teardown();
    remove_tree(folder);
}

/* ---- files of runs ---- */

/* The file without the times that differ; to be freed. */
static inline char *read_file(const char *path, const char *name)
{
    char full[200];
    snprintf(full, sizeof full, "%s/%s", path, name);
    FILE *f = fopen(full, "rb");
    ck_assert_msg(f != NULL, "%s", full);
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f), kept = 0;
    fclose(f);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(text + i, "\"tokens_per_s\"", 14) == 0) {
            i += strcspn(text + i, ",}") + 1;
            i += strcspn(text + i, ",}");
        }
        text[kept++] = text[i];
    }
    memset(text + kept, 0, n - kept);
    return text;
}

static inline void check_same(const char *name)
{
    char *a = read_file(run_path, name), *b = read_file(other_path, name);
    ck_assert_msg(memcmp(a, b, 1 << 20) == 0, "%s differs", name);
    free(a);
    free(b);
}

static inline bool has_file(const char *path, const char *name)
{
    char full[200];
    snprintf(full, sizeof full, "%s/%s", path, name);
    return access(full, F_OK) == 0;
}

/* The values of a key in a run's metrics; how many. */
static inline int read_metrics(const char *path, const char *key, double *values, int most)
{
    char word[40], *text = read_file(path, "metrics.jsonl");
    snprintf(word, sizeof word, "\"%s\": ", key);
    int n = 0;
    for (const char *at = text; n < most && (at = strstr(at, word)); n++) {
        at += strlen(word);
        values[n] = strtod(at, NULL);
    }
    free(text);
    return n;
}

/* The validation loss that the model on disk was written with. */
static inline double model_loss(const char *path)
{
    char full[200];
    snprintf(full, sizeof full, "%s/model.safetensors", path);
    asc_safetensors *file = asc_safetensors_open(ctx, full);
    ck_assert_msg(file != NULL, "%s", asc_error_message(ctx));
    double loss = strtod(asc_safetensors_metadata(file, "valid_loss"), NULL);
    asc_safetensors_close(file);
    return loss;
}

/* ---- trainings ---- */

static const char *lr = "3e-3"; /* of the trainings */

static inline asc_settings *make_settings(asc_ctx *c)
{
    const char *const pairs[][2] = {{"data", "builtin:3000"}, {"layers", "1"}, {"dim", "8"}, {"heads", "2"},
                                    {"block", "8"}, {"batch", "4"}, {"steps", "12"}, {"eval_every", "5"},
                                    {"log_every", "2"}, {"checkpoint_every", "4"}, {"lr", lr},
                                    {"schedule", "constant"}, {"warmup", "0"}};
    asc_settings *s = asc_settings_new(c);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        asc_settings_set(s, pairs[i][0], pairs[i][1]);
    }
    return s;
}

/* Stops at call number `at` of the hook. */
typedef struct brake {
    int calls, at;
} brake;

static inline bool stop_at(void *user, const asc_train_progress *p)
{
    brake *b = user;
    ck_assert(p->step <= p->steps);
    return b->calls++ != b->at;
}

static inline asc_status train(const char *path, bool resume, brake *b, asc_train_result *r)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : make_settings(ctx);
    if (resume) {
        ck_assert_msg(asc_settings_resume(s, path) == ASC_OK, "%s", asc_error_message(ctx));
    }
    asc_status status = asc_train(ctx, s, path, resume, &(asc_train_hooks){.progress = stop_at, .user = b}, r);
    asc_settings_free(s);
    return status;
}

/* A setting and its value; a list of them ends with NULL. */
typedef const char *pair[2];

/* Trains with more settings, or goes on with them. */
static inline asc_train_result train_so(const char *path, bool resume, const asc_train_hooks *hooks,
                                        asc_status expected, const pair *pairs)
{
    asc_settings *s = resume ? asc_settings_new(ctx) : make_settings(ctx);
    for (int i = 0; pairs && pairs[i][0]; i++) {
        ck_assert_msg(asc_settings_set(s, pairs[i][0], pairs[i][1]) == ASC_OK, "%s", asc_error_message(ctx));
    }
    if (resume) {
        ck_assert_msg(asc_settings_resume(s, path) == ASC_OK, "%s", asc_error_message(ctx));
    }
    asc_train_result r = {0};
    asc_status status = asc_train(ctx, s, path, resume, hooks, &r);
    ck_assert_msg(status == expected, "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
    asc_settings_free(s);
    return r;
}

/* Trains with more settings, dropout 0. */
static inline void train_with(const char *path, const char *const (*pairs)[2], int n)
{
    asc_settings *s = make_settings(ctx);
    asc_settings_set(s, "dropout", "0");
    for (int i = 0; i < n; i++) {
        asc_settings_set(s, pairs[i][0], pairs[i][1]);
    }
    asc_status status = asc_train(ctx, s, path, false, NULL, NULL);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    asc_settings_free(s);
}

#endif
