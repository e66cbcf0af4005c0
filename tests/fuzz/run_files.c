/* tests/fuzz/run_files.c: see run_files.h. */
#include "tests/fuzz/run_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static const char *const names[FUZZ_FILES] = {"run/config.json", "run/vocab.txt", "run/metrics.jsonl",
                                              "run/checkpoint.safetensors", "run/model.safetensors"};
static struct {
    uint8_t *bytes;
    size_t n;
} files[FUZZ_FILES];

static bool one_step(void *user, const asc_train_progress *progress)
{
    (void)user;
    return progress->step < 2;
}

static void make(void)
{
    asc_ctx *ctx = asc_ctx_new(&(asc_options){.threads = 1});
    asc_settings *s = asc_settings_new(ctx);
    static const char *const values[][2] = {
        {"model", "transformer"}, {"data", "builtin:600"},  {"layers", "1"}, {"dim", "8"},
        {"heads", "2"},           {"block", "8"},           {"batch", "2"},  {"steps", "3"},
        {"eval_every", "1"},      {"checkpoint_every", "1"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        asc_settings_set(s, values[i][0], values[i][1]);
    }
    char run[200];
    snprintf(run, sizeof run, "%s", fuzz_path("run"));
    asc_train(ctx, s, run, false, &(asc_train_hooks){.progress = one_step}, NULL);
    if (asc_error(ctx) && asc_error(ctx) != ASC_ERR_INTERRUPTED) {
        fprintf(stderr, "fuzz: %s\n", asc_error_message(ctx));
        abort();
    }
    asc_settings_free(s);
    asc_ctx_free(ctx);
    for (int i = 0; i < FUZZ_FILES; i++) {
        files[i].bytes = fuzz_slurp(names[i], &files[i].n);
    }
}

void fuzz_run_restore(void)
{
    static const char *const others[] = {"run/summary.json", "run/running", "run/model.next.safetensors",
                                         "run/model.kept.safetensors", "run/model.extra.safetensors"};
    if (!files[0].bytes) {
        make();
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        remove(fuzz_path(others[i]));
    }
    for (int i = 0; i < FUZZ_FILES; i++) {
        fuzz_run_replace(i, files[i].bytes, files[i].n);
    }
}

void fuzz_run_replace(int file, const uint8_t *data, size_t n)
{
    fuzz_spill(names[file], data, n);
}

void fuzz_run_metadata(int file, int pair, const uint8_t *value, size_t n)
{
    enum { TENSORS = 64, PAIRS = 32 };
    asc_named_tensor tensors[TENSORS];
    asc_safetensors_pair pairs[PAIRS];
    asc_ctx *ctx = asc_ctx_new(&(asc_options){.threads = 1});
    asc_safetensors *from = asc_safetensors_open(ctx, fuzz_path(names[file]));
    int n_tensors = 0, n_pairs = 0;
    const asc_safetensors_entry *e;
    for (; n_tensors < TENSORS && (e = asc_safetensors_at(from, n_tensors)); n_tensors++) {
        tensors[n_tensors] =
            (asc_named_tensor){e->name, asc_safetensors_read(ctx, from, e->name, ASC_SAFETENSORS_STORED)};
    }
    const asc_safetensors_pair *p;
    for (; n_pairs < PAIRS && (p = asc_safetensors_metadata_at(from, n_pairs)); n_pairs++) {
        pairs[n_pairs] = *p;
    }
    char *text = malloc(n + 1);
    memcpy(text, value, n);
    text[n] = '\0';
    if (n_pairs > 0) {
        pairs[pair % n_pairs].value = text;
    }
    asc_safetensors_write(ctx, fuzz_path(names[file]), tensors, n_tensors, pairs, n_pairs);
    asc_safetensors_close(from);
    asc_ctx_free(ctx);
    free(text);
}
