/* tools/nli/nli.c: ascgrad nli: finds the kind that is meant, and names files of pairs as a data set. */
#include "tools/nli/nli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"

static const cli_command *const kinds[] = {&nli_train, &nli_eval, &nli_predict, NULL};

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

/* Whether something in a path looks as the next part of a spec, ",KEY=VALUE". */
static bool looks_as_part(const char *path)
{
    for (const char *comma = path; (comma = strchr(comma, ',')); comma++) {
        size_t key = strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (comma[1 + key] == '=' || comma[1] == ',') {
            return true;
        }
    }
    return false;
}

/* New; ends the program where there is no such file, or none that can stand in a spec. */
static char *absolute(const char *path)
{
    static const char *const ends[] = {".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz"};
    char *real = realpath(path, NULL);
    bool known = false;
    if (!real) {
        cli_message("%s: %s", path, strerror(errno));
        exit(CLI_IO);
    }
    for (int i = 0; i < 4; i++) {
        known = known || ends_with(real, ends[i]);
    }
    if (!known) {
        cli_wrong_usage("%s: expected a .jsonl or .tsv file, plain or .gz", path);
    }
    if (looks_as_part(real)) {
        cli_wrong_usage("%s: expected no ',KEY=' in its path, which stands for another part of a data set", real);
    }
    return real;
}

static void append_file(FILE *out, const char *key, const char *path, const char *between)
{
    char *real = path ? absolute(path) : NULL;
    if (real) {
        fprintf(out, "%s%s=%s", between, key, real);
    }
    free(real);
}

char *nli_spec(const char *train, const char *valid, const char *test, const char *classes)
{
    char *text = NULL, *real = absolute(train);
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (out) {
        fputs(real, out);
        append_file(out, "valid", valid, ":");
        append_file(out, "test", test, ",");
        fprintf(out, "%s%s", classes ? ",classes=" : "", classes ? classes : "");
    }
    if (!out || fclose(out)) {
        cli_message("out of memory");
        exit(CLI_IO);
    }
    free(real);
    return text;
}

static bool is_usual(const char *name)
{
    return strcmp(name, "entailment") == 0 || strcmp(name, "neutral") == 0 || strcmp(name, "contradiction") == 0;
}

const char *nli_usual_classes(const asc_dataset *data)
{
    const char *name;
    bool usual = asc_dataset_class(data, 0) != NULL;
    for (int32_t i = 0; (name = asc_dataset_class(data, i)); i++) {
        usual = usual && is_usual(name);
    }
    return usual ? "entailment|neutral|contradiction" : NULL;
}

/* A model's class may be any text; in a spec it must not become another part of it, as the path of a file. */
static bool stand_in_spec(const json_t *names)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name) || strpbrk(json_string_value(name), ":,=|")) {
            return false;
        }
    }
    return json_array_size(names) > 0;
}

char *nli_classes_of(const asc_model *model)
{
    json_t *names = model->classes ? json_loads(model->classes, 0, NULL) : NULL, *name;
    char *text = NULL;
    size_t i, n;
    FILE *out = stand_in_spec(names) ? open_memstream(&text, &n) : NULL;
    for (i = 0; out && (name = json_array_get(names, i)); i++) {
        fprintf(out, "%s%s", i ? "|" : "", json_string_value(name));
    }
    if (out) {
        fclose(out);
    }
    json_decref(names);
    return text;
}

static int run(int argc, char **argv)
{
    return cli_run_kind(&command_nli, kinds, argc, argv);
}

const cli_command command_nli = {
    "nli",
    "natural-language inference: what a premise says of a hypothesis",
    "KIND",
    "What the models are, and what their files hold, is explained in doc/nli.md.",
    "ascgrad nli train --encoder all-MiniLM-L6-v2 --train snli_1.0_train.jsonl.gz --valid snli_1.0_dev.jsonl.gz "
    "--mix grassmann --out runs/nli\n"
    "ascgrad nli eval runs/nli --data snli_1.0_test.jsonl.gz\n"
    "printf 'A man sleeps.\\tA man is awake.\\n' | ascgrad nli predict runs/nli",
    NULL,
    run,
};
