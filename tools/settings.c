/* tools/settings.c: settings on the command line: options and their help from the tables, --set, the options of
 * errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/corpus.h>
#include <program/settings.h>

#include "tools/cli.h"
#include "tools/ranks.h"

/* ---- help ---- */

enum { HELP = 320, MOST = CLI_OPTIONS_MAX };

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

/* What stands for the setting's value in a help text; NULL for a flag. */
static const char *argument_of(const asc_setting *row)
{
    static const char *const by_type[] = {
        [ASC_SETTING_INT] = "N",     [ASC_SETTING_REAL] = "X",    [ASC_SETTING_BOOL] = "BOOL",
        [ASC_SETTING_CHOICE] = "NAME", [ASC_SETTING_TEXT] = "TEXT", [ASC_SETTING_INTS] = "LIST",
        [ASC_SETTING_SET] = "LIST",  [ASC_SETTING_COUNT] = "N",      [ASC_SETTING_HEADS] = "LIST",
        [ASC_SETTING_TUPLES] = "LIST",
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
    o->argument = argument_of(row);
    describe(row, initial, t->help);
    o->help = t->help;
}

/* Whether they are the same name, with '_' in one where the other has '-'. */
static bool is_spelled(const char *a, const char *b)
{
    for (; *a && *b && (*a == *b || (strchr("-_", *a) && strchr("-_", *b))); a++, b++) {
    }
    return *a == *b;
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

/* The row whose option is `name`. */
static const asc_setting *find(const char *name)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(NULL, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            if (is_spelled(row->option ? row->option : i == 0 ? row->key : "", name)) {
                return row;
            }
        }
    }
    return NULL;
}

const asc_setting *cli_setting_row(const char *name)
{
    const asc_setting *row = find(name);
    asc_schema schema;
    for (int i = 0; !row && (schema = asc_settings_schema(NULL, i)).owner; i++) {
        for (const asc_setting *r = schema.settings; !row && r && r->key; r++) {
            row = is_spelled(r->key, name) ? r : NULL;
        }
    }
    return row;
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

/* Options with the headings that they are to stand under. */
typedef struct shelf {
    int n;
    cli_option options[MOST];
    const char *group[MOST]; /* borrowed */
    bool rare[MOST];
    texts text[MOST]; /* of those made of settings */
} shelf;

static void shelve(shelf *s, cli_option o, const char *group, bool rare)
{
    for (int i = 0; o.type < CLI_HEADING && i < s->n; i++) {
        if (strcmp(s->options[i].name, o.name) == 0) {
            return;
        }
    }
    if (s->n < MOST) {
        s->options[s->n] = o;
        s->group[s->n] = group;
        s->rare[s->n++] = rare;
    }
}

/* What an object of settings has for a row, by its key or its option's name, in text; NULL: nothing. */
static const char *preset_value(const json_t *preset, const asc_setting *row, char *text, size_t size)
{
    const json_t *value = json_object_get(preset, row->key);
    value = !value && row->option ? json_object_get(preset, row->option) : value;
    size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15);
    char *json = value && !json_is_string(value) ? json_dumps(value, flags) : NULL;
    snprintf(text, size, "%s", json ? json : value ? json_string_value(value) : "");
    free(json);
    return value ? text : NULL;
}

/* The options of one owner's settings, with the defaults that a preset (or NULL) makes. */
static void shelve_settings(shelf *s, asc_schema schema, bool train, size_t at, const json_t *preset)
{
    char initial[HELP];
    const char *group = "Model";
    for (const asc_setting *row = schema.settings; row && row->key && s->n < MOST; row++) {
        const char *name = row->option ? row->option : train ? row->key : NULL;
        group = row->group ? row->group : group;
        if (!name) {
            continue;
        }
        texts *t = &s->text[s->n];
        snprintf(t->name, sizeof t->name, "%s", name);
        for (char *c = t->name; *c; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        cli_option o = {.name = t->name, .type = CLI_LIST, .at = at};
        fill(&o, row, preset_value(preset, row, initial, sizeof initial), t);
        shelve(s, o, group, row->flags & ASC_SETTING_RARE);
    }
}

static json_t *read_preset(const char *name)
{
    int i = 0;
    while (name && asc_preset_at(i) && strcmp(asc_preset_at(i), name) != 0) {
        i++;
    }
    return name && asc_preset_at(i) ? json_loads(asc_preset_contents(i), 0, NULL) : NULL;
}

static void shelve_all_settings(shelf *s, size_t at, const char *preset)
{
    asc_schema schema;
    json_t *values = read_preset(preset);
    for (int i = 1; (schema = asc_settings_schema(NULL, i)).owner; i++) { /* the models' first */
        shelve_settings(s, schema, false, at, values);
    }
    shelve_settings(s, asc_settings_schema(NULL, 0), true, at, values);
    json_decref(values);
}

/* Puts the options of a group, with its heading, behind the n that are there. */
static int put_group(const shelf *s, const char *group, cli_option *options, int n)
{
    for (int rare = 0; rare < 2; rare++) {
        int head = n++;
        options[head] = (cli_option){.name = "", .type = rare ? CLI_RARE : CLI_HEADING, .help = group};
        for (int i = 0; i < s->n; i++) {
            if (s->options[i].type < CLI_HEADING && s->rare[i] == (rare == 1) && strcmp(s->group[i], group) == 0) {
                options[n++] = s->options[i];
            }
        }
        n = n == head + 1 ? head : n; /* no heading over nothing */
    }
    return n;
}

static bool is_first_of_group(const shelf *s, int at)
{
    for (int i = 0; i < at; i++) {
        if (strcmp(s->group[i], s->group[at]) == 0) {
            return false;
        }
    }
    return true;
}

const cli_option *cli_all_settings(const cli_option *own, const char *preset)
{
    static cli_option options[2 * MOST];
    static shelf s;
    const char *group = "Options";
    s.n = 0;
    for (; own->name; own++) {
        if (own->type == CLI_SETTINGS) {
            shelve_all_settings(&s, own->at, preset);
        } else {
            group = own->type == CLI_HEADING ? own->help : group;
            shelve(&s, *own, group, false);
        }
    }
    int n = 0;
    for (int i = 0; i < s.n; i++) {
        n = is_first_of_group(&s, i) ? put_group(&s, s.group[i], options, n) : n;
    }
    options[n] = (cli_option){0};
    return options;
}

/* ---- what an option may be given ---- */

static void list_names(char *text, size_t size, const char *name, const char *behind)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s%s", n ? " " : "", name, behind);
}

static void list_row_values(const asc_setting *row, char *text, size_t size)
{
    bool mix = strcmp(row->key, "mix") == 0;
    const char *name;
    for (int i = 0; (name = mix ? asc_mixing_at(NULL, i) : row->choices ? row->choices[i] : NULL); i++) {
        list_names(text, size, name, "");
    }
    const asc_data_source *source;
    for (int i = 0; strcmp(row->key, "data") == 0 && (source = asc_data_source_at(NULL, i)); i++) {
        if (!source->takes) {
            list_names(text, size, source->name, "");
        }
    }
    const asc_tokenizer_kind *kind;
    for (int i = 0; strcmp(row->key, "tokenizer") == 0 && (kind = asc_tokenizer_kind_at(NULL, i)); i++) {
        list_names(text, size, kind->name, kind->is_path ? ":" : "");
    }
    if (row->type == ASC_SETTING_BOOL && !is_flag(row)) {
        list_names(text, size, "true false", "");
    }
}

void cli_setting_values(const char *name, char *text, size_t size)
{
    const asc_setting *row = strcmp(name, "mixing") == 0 ? NULL : find(name);
    text[0] = '\0';
    if (row) {
        list_row_values(row, text, size);
    }
    for (int i = 0; strcmp(name, "preset") == 0 && asc_preset_at(i); i++) {
        list_names(text, size, asc_preset_at(i), "");
    }
    if (strcmp(name, "preset") == 0) {
        list_names(text, size, "list", "");
    }
}

/* ---- presets ---- */

/* Each key in one line with its value: a blank behind a colon is no place to break a line. */
static void print_contents(const char *json)
{
    char text[2000];
    size_t n = 0;
    for (; *json && n < sizeof text - 1; json++) {
        if (*json != ' ' || json[-1] != ':') {
            text[n++] = *json;
        }
    }
    text[n] = '\0';
    cli_print_wrapped(stdout, text, 16, 16);
}

static int print_presets_json(void)
{
    json_t *all = json_object();
    for (int i = 0; asc_preset_at(i); i++) {
        json_object_set_new(all, asc_preset_at(i), json_loads(asc_preset_contents(i), 0, NULL));
    }
    return cli_print_json(all);
}

int cli_list_presets(bool json)
{
    if (ranks_follower()) {
        return CLI_OK;
    }
    if (json) {
        return print_presets_json();
    }
    for (int i = 0; asc_preset_at(i); i++) {
        cli_print("%-15s ", asc_preset_at(i));
        cli_print_wrapped(stdout, asc_preset_summary(i), 16, 16);
        cli_print("%16s", "");
        print_contents(asc_preset_contents(i));
    }
    return CLI_OK;
}

/* ---- values ---- */

const char *cli_split_pair(const char *pair, char key[CLI_KEY])
{
    size_t n = strcspn(pair, "=");
    if (pair[n] != '=' || n == 0 || n >= CLI_KEY) {
        cli_wrong_usage("--set: got '%s', expected KEY=VALUE", pair);
    }
    snprintf(key, CLI_KEY, "%.*s", (int)n, pair);
    return pair + n + 1;
}

void cli_set_pair(asc_settings *s, const char *pair)
{
    char key[CLI_KEY];
    const char *value = cli_split_pair(pair, key);
    asc_settings_set(s, key, value);
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
