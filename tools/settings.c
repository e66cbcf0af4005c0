/* tools/settings.c: settings on the command line: options and their help from the tables, --set, the options of
 * errors. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/corpus.h>

#include "tools/cli.h"

/* ---- help ---- */

enum { HELP = 320, MOST = 96 };

static void append(char *help, const char *more)
{
    size_t n = strlen(help);
    snprintf(help + n, HELP - n, "%s", more);
}

const char *cli_setting_specs(const asc_setting *row, char *text, size_t size)
{
    return strcmp(row->key, "data") == 0        ? asc_data_source_list(NULL, text, size)
           : strcmp(row->key, "tokenizer") == 0 ? asc_tokenizer_list(NULL, text, size)
                                                : NULL;
}

static void append_choices(char *help, const asc_setting *row)
{
    char text[HELP];
    const char *specs = cli_setting_specs(row, text, sizeof text);
    append(help, specs ? ": " : "");
    append(help, specs ? specs : "");
    bool mix = strcmp(row->key, "mix") == 0, flag = row->type == ASC_SETTING_BOOL;
    const char *name;
    for (int i = 0; (name = mix ? asc_mixing_at(NULL, i) : row->choices ? row->choices[i] : NULL); i++) {
        append(help, i ? ", " : ": ");
        append(help, name);
    }
    append(help, flag ? ": true or false" : "");
}

/* A setting that is off by default is a flag: without an argument it is true. */
static bool is_flag(const asc_setting *row)
{
    return row->type == ASC_SETTING_BOOL && row->fallback && strcmp(row->fallback, "false") == 0;
}

const char *cli_setting_argument(const asc_setting *row)
{
    static const char *const by_type[] = {
        [ASC_SETTING_INT] = "N",     [ASC_SETTING_REAL] = "X",    [ASC_SETTING_BOOL] = "BOOL",
        [ASC_SETTING_CHOICE] = "NAME", [ASC_SETTING_TEXT] = "TEXT", [ASC_SETTING_INTS] = "LIST",
        [ASC_SETTING_SET] = "LIST",  [ASC_SETTING_COUNT] = "N",      [ASC_SETTING_HEADS] = "LIST",
    };
    return is_flag(row) ? NULL : row->argument ? row->argument : by_type[row->type];
}

/* "width of the model (128)"; `initial`: the default where it is another than the row's, or NULL. */
static void describe(const asc_setting *row, const char *initial, char *help)
{
    const char *value = initial ? initial : row->fallback ? row->fallback : row->follows;
    help[0] = 0;
    append(help, row->help);
    if (is_flag(row)) {
        return;
    }
    append_choices(help, row);
    if (value && *value) {
        append(help, " (");
        append(help, value);
        append(help, ")");
    }
}

/* ---- tables of options ---- */

typedef struct texts {
    char name[32], help[HELP];
} texts;

static void fill(cli_option *o, const asc_setting *row, const char *initial, texts *t)
{
    o->argument = cli_setting_argument(row);
    describe(row, initial, t->help);
    o->help = t->help;
}

static const char *initial_of(const cli_initial *list, const char *key)
{
    for (; list && list->key; list++) {
        if (strcmp(list->key, key) == 0) {
            return list->value;
        }
    }
    return NULL;
}

/* The row whose option, or whose key, is `name`. */
static const asc_setting *find(const char *name)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(NULL, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row->key; row++) {
            if (strcmp(row->option ? row->option : i == 0 ? row->key : "", name) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

const cli_option *cli_fill_settings(const cli_option *table, const cli_initial *first, const cli_initial *second)
{
    static cli_option options[MOST];
    static texts text[MOST];
    int n = 0;
    for (; table[n].name && n < MOST - 1; n++) {
        options[n] = table[n];
        if (!table[n].help) {
            const char *own = initial_of(second, table[n].name);
            fill(&options[n], find(table[n].name), own ? own : initial_of(first, table[n].name), &text[n]);
        }
    }
    options[n] = (cli_option){0};
    return options;
}

static bool has_option(const cli_option *options, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the options of one owner; returns how many there are then. */
static int add_options(cli_option *options, texts *text, int n, asc_schema schema, size_t at)
{
    bool train = strcmp(schema.owner, "train") == 0;
    for (const asc_setting *row = schema.settings; row && row->key && n < MOST - 1; row++) {
        const char *name = row->option ? row->option : train ? row->key : NULL;
        if (!name) {
            continue;
        }
        snprintf(text[n].name, sizeof text[n].name, "%s", name);
        for (char *c = text[n].name; *c; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        if (!has_option(options, n, text[n].name)) {
            options[n] = (cli_option){.name = text[n].name, .type = CLI_LIST, .at = at};
            fill(&options[n], row, NULL, &text[n]);
            n++;
        }
    }
    return n;
}

const cli_option *cli_all_settings(const cli_option *own, int n_own, size_t at)
{
    static cli_option options[MOST];
    static texts text[MOST];
    asc_schema schema;
    int n = n_own;
    memcpy(options, own, (size_t)n * sizeof *own);
    for (int i = 1; (schema = asc_settings_schema(NULL, i)).owner; i++) { /* the models' first */
        n = add_options(options, text, n, schema, at);
    }
    n = add_options(options, text, n, asc_settings_schema(NULL, 0), at);
    options[n] = (cli_option){0};
    return options;
}

/* ---- values ---- */

void cli_set_pair(asc_settings *s, const char *pair)
{
    char key[128];
    size_t n = strcspn(pair, "=");
    if (pair[n] != '=' || n == 0 || n >= sizeof key) {
        cli_wrong_usage("--set: got '%s', expected KEY=VALUE", pair);
    }
    snprintf(key, sizeof key, "%.*s", (int)n, pair);
    asc_settings_set(s, key, pair + n + 1);
}

/* ---- errors ---- */

static const cli_option *given(const char *name)
{
    return cli_given_option(name, strlen(name));
}

const cli_option *cli_option_of(const char *key)
{
    const cli_option *option = given(key);
    asc_schema schema;
    for (int i = 0; !option && (schema = asc_settings_schema(NULL, i)).owner; i++) {
        const asc_setting *row = asc_setting_find(schema.settings, key);
        option = row && row->option ? given(row->option) : NULL;
    }
    return option || strcmp(key, "mix") != 0 ? option : given("mixing");
}
