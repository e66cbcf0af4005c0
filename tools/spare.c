/* tools/spare.c: a file of results does not take the place of what it is made from. */
#include "tools/spare.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <program/file.h>

#include "tools/cli.h"
#include "tools/spec.h"

static bool is_file(const char *path, const struct stat *file)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_dev == file->st_dev && s.st_ino == file->st_ino;
}

/* Of a RUN, or of a MODEL the run that it lies in. */
static bool is_of_run(const char *input, const struct stat *file)
{
    static const char *const names[] = {"config.json", "vocab.txt", "metrics.jsonl", "model.safetensors",
                                        "checkpoint.safetensors", "summary.json", "model.next.safetensors",
                                        "model.kept.safetensors", "model.extra.safetensors",
                                        "model.stable.safetensors", "checkpoint.stable.safetensors"};
    const char *ending = strrchr(input, '.');
    char *folder = ending && strcmp(ending, ".safetensors") == 0 ? spec_folder(input) : strdup(input);
    bool found = false;
    for (size_t i = 0; folder && i < sizeof names / sizeof *names; i++) {
        char path[4096];
        found |= snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path && is_file(path, file);
    }
    free(folder);
    return found;
}

typedef struct comparison {
    const struct stat *file;
    bool found;
} comparison;

static bool is_of_data(const char *name)
{
    return asc_name_tells(name, ASC_SPLIT_TRAIN) || asc_name_tells(name, ASC_SPLIT_VALID) ||
           asc_name_tells(name, ASC_SPLIT_TEST);
}

/* A folder of data stands for the files of its splits. */
static void compare(void *user, const char *path)
{
    comparison *c = user;
    c->found |= is_file(path, c->file);
    DIR *folder = c->found ? NULL : opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        char in_it[4096];
        c->found |= is_of_data(entry->d_name) &&
                    snprintf(in_it, sizeof in_it, "%s/%s", path, entry->d_name) < (int)sizeof in_it &&
                    is_file(in_it, c->file);
    }
    if (folder) {
        closedir(folder);
    }
}

static bool is_of_spec(const char *spec, const struct stat *file)
{
    comparison c = {.file = file};
    spec_paths(spec, compare, &c);
    return c.found;
}

/* The data that the run of an input was trained on, or its encoder, which are read where no other is named. */
static bool is_read_by(const char *input, const struct stat *file)
{
    char *folder = spec_folder(input);
    asc_ctx *ctx = folder ? asc_ctx_new(&(asc_options){.threads = 1}) : NULL;
    asc_run *run = ctx ? asc_run_read(ctx, folder) : NULL;
    char *data = spec_of_run(run, "data"), *encoder = spec_of_run(run, "encoder");
    bool found = is_of_spec(data, file) || (encoder && *encoder && is_of_run(encoder, file));
    free(data);
    free(encoder);
    asc_run_free(run);
    asc_ctx_free(ctx);
    free(folder);
    return found;
}

/* A file that a run keeps, be it read or not. */
static bool is_kept(const char *output, const struct stat *file)
{
    char *folder = spec_folder(output);
    asc_ctx *ctx = folder ? asc_ctx_new(&(asc_options){.threads = 1}) : NULL;
    asc_run *run = ctx ? asc_run_read(ctx, folder) : NULL;
    bool found = run && is_of_run(folder, file);
    asc_run_free(run);
    asc_ctx_free(ctx);
    free(folder);
    return found;
}

void spare_inputs(const char *option, const char *output, int n, const char *const inputs[])
{
    struct stat file;
    if (output && strcmp(output, "-") == 0) {
        cli_wrong_usage("--%s: got '-', expected the name of a file: standard output has the result", option);
    }
    if (!output || stat(output, &file) || !S_ISREG(file.st_mode)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        const char *input = inputs[i];
        if (input && (is_of_spec(input, &file) || is_of_run(input, &file) || is_read_by(input, &file))) {
            cli_wrong_usage("--%s: got %s, which is what is read: expected another file", option, output);
        }
    }
    if (is_kept(output, &file)) {
        cli_wrong_usage("--%s: got %s, which a run keeps: expected another file", option, output);
    }
}
