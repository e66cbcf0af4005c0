/* tools/spare.c: a file of results does not take the place of what it is made from. */
#include "tools/spare.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli.h"

static bool is_file(const char *path, const struct stat *file)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_dev == file->st_dev && s.st_ino == file->st_ino;
}

static bool is_of_run(const char *folder, const struct stat *file)
{
    static const char *const names[] = {"config.json", "vocab.txt", "metrics.jsonl", "model.safetensors",
                                        "checkpoint.safetensors", "summary.json"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096];
        found |= snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path && is_file(path, file);
    }
    return found;
}

/* Of a spec of data the path stands before the keys. */
static bool is_of_spec(const char *spec, const struct stat *file)
{
    char path[4096];
    size_t n = strcspn(spec, ":");
    if (spec[n] != ':' || n >= sizeof path) {
        return false;
    }
    memcpy(path, spec, n);
    path[n] = '\0';
    return is_file(path, file);
}

void spare_inputs(const char *option, const char *output, int n, const char *const inputs[])
{
    struct stat file;
    if (!output || stat(output, &file) || !S_ISREG(file.st_mode)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        const char *input = inputs[i];
        if (input && (is_file(input, &file) || is_of_run(input, &file) || is_of_spec(input, &file))) {
            cli_wrong_usage("--%s: got %s, which is what is read: expected another file", option, output);
        }
    }
}
