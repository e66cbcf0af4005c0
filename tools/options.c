/* tools/options.c: command lines, read by tables; names in full, so that a typing error is never another option. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <program/names.h>

#include "tools/cli.h"
#include "tools/advice.h"
#include "tools/ranks.h"

/* What every command has beside its table. */
static const cli_option standard[] = {
    {.name = "help", .letter = 'h', .help = "print this text"},
    {.name = "help-all", .help = "print it with all options"},
    {.name = "help-table", .help = ""}, /* for man pages and completions */
    {0},
};
enum { HELP, HELP_ALL };

/* The table that was parsed last, and which of its options the command line had. */
static const cli_option *parsed_options;
static bool was_given[CLI_OPTIONS_MAX];

/* ---- one option ---- */

static bool is_whole(const cli_option *o)
{
    return o->type == CLI_INT || o->type == CLI_INT_OR_NONE;
}

static bool is_number(const cli_option *o)
{
    return is_whole(o) || o->type == CLI_REAL || o->type == CLI_SECONDS || o->type == CLI_MINUTES;
}

static bool read_number(const cli_option *o, const char *text, double *value)
{
    int64_t count = 0;
    bool whole = is_whole(o);
    bool right = whole                 ? asc_count_parse(text, &count)
                 : o->type == CLI_REAL ? asc_real_parse(text, value)
                                       : asc_time_parse(text, o->type == CLI_MINUTES ? 60 : 1, value);
    if (whole) {
        *value = (double)count;
    }
    return right && *value >= o->min && *value <= o->max;
}

static _Noreturn void refuse_number(const cli_option *o, const char *text)
{
    const char *kind = is_whole(o)              ? "a whole number"
                       : o->type == CLI_REAL    ? "a number"
                       : o->type == CLI_SECONDS ? "a time, as 90s, 30m or 2h, or a number of seconds"
                                                : "a time, as 90s, 30m or 2h, or a number of minutes";
    double got;
    bool above = asc_real_parse(text, &got) && got > o->max;
    if (o->max >= 1e9 && !above) {
        cli_wrong_usage("--%s: got '%s', expected %s >= %.10g", o->name, text, kind, o->min);
    }
    cli_wrong_usage("--%s: got '%s', expected %s from %.10g to %.10g", o->name, text, kind, o->min, o->max);
}

/* The words of "train|valid|test" in `names`, which point into `text`, with NULL at the end. */
enum { MOST_CHOICES = 16 };
static void split_choices(const cli_option *o, char text[128], const char *names[MOST_CHOICES + 1])
{
    int n = 0;
    snprintf(text, 128, "%s", o->argument);
    for (char *word = strtok(text, "|"); word && n < MOST_CHOICES; word = strtok(NULL, "|")) {
        names[n++] = word;
    }
    names[n] = NULL;
}

static const char *choose(const cli_option *o, const char *given)
{
    char text[128], expected[160], hint[ASC_NAME_HINT];
    const char *names[MOST_CHOICES + 1];
    asc_name_list list = asc_list_begin(expected, sizeof expected);
    split_choices(o, text, names);
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], given) == 0) {
            return given;
        }
        asc_list_add(&list, names[i], !names[i + 1]);
    }
    cli_wrong_usage("--%s: got '%s', expected %s%s", o->name, given, expected,
                    asc_name_hint(asc_name_guess(given, names), hint));
}

static void append(const cli_option *o, cli_list *list, const char *text)
{
    if (list->n == CLI_LIST_MAX) {
        cli_wrong_usage("--%s: more than %d settings", o->name, CLI_LIST_MAX);
    }
    list->name[list->n] = o->name;
    list->value[list->n++] = text;
}

static void take(const cli_option *o, const char *text, void *args)
{
    void *field = (char *)args + o->at;
    double number = 0;
    bool a_name = o->type == CLI_TEXT ? strcmp(o->argument, "TEXT") != 0
                                      : o->argument && strcmp(o->argument, "FILE") == 0;
    if (a_name && !*text) {
        cli_wrong_usage("--%s: got '', expected %s; see --help", o->name, o->argument);
    }
    if (o->type == CLI_INT_OR_NONE && !text) {
        number = -1;
    } else if (is_number(o) && !read_number(o, text, &number)) {
        refuse_number(o, text);
    }
    switch (o->type) {
    case CLI_FLAG: *(bool *)field = true; break;
    case CLI_INT:
    case CLI_INT_OR_NONE: *(int64_t *)field = (int64_t)number; break;
    case CLI_REAL:
    case CLI_SECONDS:
    case CLI_MINUTES: *(double *)field = number; break;
    case CLI_TEXT: *(const char **)field = text; break;
    case CLI_CHOICE: *(const char **)field = choose(o, text); break;
    case CLI_OPTIONAL: *(const char **)field = text ? text : ""; break;
    case CLI_LIST: append(o, field, text); break;
    case CLI_NOTED:
    case CLI_HEADING:
    case CLI_RARE:
    case CLI_SETTINGS: break;
    }
}

/* ---- finding options ---- */

/* Whether the first n bytes of `given` are the name; '_' may stand for '-', as in the names of settings. */
static bool is_name(const char *name, const char *given, size_t n)
{
    size_t i = 0;
    while (i < n && (name[i] == given[i] || (name[i] == '-' && given[i] == '_'))) {
        i++;
    }
    return i == n && n > 0 && name[n] == '\0';
}

static const cli_option *find_in(const cli_option *options, const char *name, size_t n)
{
    for (const cli_option *o = options; o->name; o++) {
        if (is_name(o->name, name, n)) {
            return o;
        }
    }
    return NULL;
}

static const cli_option *find_long(const cli_option *options, const char *name, size_t n)
{
    const cli_option *o = find_in(options, name, n);
    return o ? o : find_in(standard, name, n);
}

static bool is_standard(const cli_option *o)
{
    return o >= standard && o < standard + sizeof standard / sizeof *standard;
}

const cli_option *cli_given_option(const char *name, size_t n)
{
    const cli_option *o = parsed_options ? find_in(parsed_options, name, n) : NULL;
    return o && was_given[o - parsed_options] ? o : NULL;
}

const cli_option *cli_known_option(const char *name)
{
    return parsed_options ? find_in(parsed_options, name, strlen(name)) : NULL;
}

bool cli_quiet(void)
{
    return cli_given_option("quiet", 5);
}

bool cli_verbose(void)
{
    return cli_given_option("verbose", 7);
}

static const cli_option *find_letter(const cli_option *options, char letter)
{
    for (const cli_option *o = options; o->name; o++) {
        if (o->letter == letter) {
            return o;
        }
    }
    return letter == standard[HELP].letter ? &standard[HELP] : NULL;
}

/* ---- command lines ---- */

typedef struct line {
    const cli_command *command;
    const cli_option *options;
    const cli_command *const *kinds;
    int argc, at;
    char **argv;
    void *args;
} line;

static _Noreturn void explain(const line *l, const cli_option *how)
{
    if (ranks_follower()) {
        exit(CLI_OK);
    }
    if (how == &standard[HELP] || how == &standard[HELP_ALL]) {
        cli_print_help(l->command, l->options, l->kinds, how == &standard[HELP_ALL]);
    } else {
        cli_print_table(l->command, l->options, l->kinds);
    }
    exit(cli_finish(CLI_OK));
}

/* Whether a word is an option in full, and so hardly the argument of the one before it. */
static bool is_option_word(const line *l, const char *word)
{
    return strncmp(word, "--", 2) == 0 && word[2] && find_long(l->options, word + 2, strcspn(word + 2, "="));
}

/* Gives `o` its argument: `rest` where it stands in the same word, or the next word. */
static void give(line *l, const cli_option *o, const char *rest)
{
    if (!o->argument && rest) {
        cli_wrong_usage("--%s takes no argument, got '%s'", o->name, rest);
    }
    if (is_standard(o)) {
        explain(l, o);
    }
    was_given[o - l->options] = true;
    if (!o->argument) {
        take(o, NULL, l->args);
        return;
    }
    if (!rest && o->type == CLI_INT_OR_NONE) {
        const char *next = l->at + 1 < l->argc ? l->argv[l->at + 1] : "";
        rest = asc_count_parse(next, &(int64_t){0}) ? l->argv[++l->at] : NULL;
    } else if (!rest && o->type != CLI_OPTIONAL) {
        if (l->at + 1 == l->argc || is_option_word(l, l->argv[l->at + 1])) {
            cli_wrong_usage("--%s: its argument %s is missing", o->name, o->argument);
        }
        rest = l->argv[++l->at];
    }
    take(o, rest, l->args);
}

static void read_long(line *l, const char *word)
{
    size_t n = strcspn(word, "=");
    const cli_option *o = find_long(l->options, word, n);
    if (!o) {
        refuse_unknown(l->command, l->options, word, n);
    }
    give(l, o, word[n] == '=' ? word + n + 1 : NULL);
}

/* "-steps" is no -s with the argument "teps". */
static void refuse_one_hyphen(const line *l, const char *word)
{
    size_t n = strcspn(word, "=");
    const cli_option *o = n > 1 ? find_long(l->options, word, n) : NULL;
    if (o) {
        cli_wrong_usage("unknown option -%.*s; did you mean --%s?", (int)n, word, o->name);
    }
}

static void read_letters(line *l, const char *word)
{
    refuse_one_hyphen(l, word);
    for (; *word; word++) {
        const cli_option *o = find_letter(l->options, *word);
        if (!o) {
            cli_wrong_usage("unknown option -%c; --help lists the options", *word);
        }
        if (o->argument) {
            give(l, o, word[1] ? word + 1 : NULL);
            return;
        }
        give(l, o, NULL);
    }
}

/* What a text on the web makes of two hyphens. */
static void refuse_dash(const char *word)
{
    static const char *const dashes[] = {"\xe2\x80\x93", "\xe2\x80\x94", "\xe2\x88\x92"};
    for (int i = 0; i < 3; i++) {
        if (strncmp(word, dashes[i], 3) == 0) {
            cli_wrong_usage("'%s' begins with a dash; options begin with two hyphens: --%s", word, word + 3);
        }
    }
}

static int parse(line *l)
{
    int operands = 0;
    bool only_operands = false;
    parsed_options = l->options;
    int rows = 0;
    while (l->options[rows].name) {
        rows++;
    }
    if (rows >= CLI_OPTIONS_MAX - 1) { /* those behind would be gone, silently */
        cli_wrong_usage("has %d options, for which its tables have no room", rows);
    }
    for (; l->at < l->argc; l->at++) {
        char *word = l->argv[l->at];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            if (!only_operands) {
                refuse_dash(word);
            }
            l->argv[operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (word[1] == '-') {
            read_long(l, word + 2);
        } else {
            read_letters(l, word + 1);
        }
    }
    if (cli_quiet() && cli_verbose()) {
        cli_wrong_usage("--quiet and --verbose: expected one of the two");
    }
    return operands;
}

int cli_parse_options(const cli_command *command, const cli_option *options, int argc, char **argv, void *args)
{
    return parse(&(line){command, options, NULL, argc, 1, argv, args});
}

int cli_parse(const cli_command *command, int argc, char **argv, void *args)
{
    return cli_parse_options(command, command->options, argc, argv, args);
}

/* "steps=100" and "steps 100" want two hyphens. */
static _Noreturn void refuse_operand(const char *word)
{
    size_t n = strcspn(word, "=");
    const cli_option *o = find_in(parsed_options, word, n);
    if (o && o->argument) {
        cli_wrong_usage("'%s' is one argument too many; did you mean --%s%s?", word, o->name,
                        word[n] ? word + n : "");
    }
    cli_wrong_usage("'%s' is one argument too many; see --help", word);
}

void cli_expect_operands(int n, char **argv, int min, int max, const char *missing)
{
    if (n < min) {
        cli_wrong_usage("%s is missing; see --help", missing);
    }
    if (n > max) {
        refuse_operand(argv[max]);
    }
    for (int i = 0; i < n; i++) {
        if (!*argv[i]) {
            cli_wrong_usage("got '', expected %s; see --help", *missing ? missing : "a name");
        }
    }
}

/* ---- commands of several kinds ---- */

const char *cli_kind_name(const cli_command *kind)
{
    return strchr(kind->name, ' ') + 1;
}

/* The kind that a word nearly names; or NULL. */
static const char *guess_kind(const char *word, const cli_command *const *kinds)
{
    enum { MOST = 32 };
    const char *names[MOST + 1] = {NULL};
    for (int i = 0; kinds[i] && i < MOST; i++) {
        names[i] = cli_kind_name(kinds[i]);
    }
    return asc_name_guess(word, names);
}

static _Noreturn void refuse_kind(const char *word, const cli_command *const *kinds)
{
    char text[400];
    asc_name_list list = asc_list_begin(text, sizeof text);
    for (int i = 0; kinds[i]; i++) {
        asc_list_add(&list, cli_kind_name(kinds[i]), !kinds[i + 1]);
    }
    if (!word) {
        cli_wrong_usage("KIND (%s) is missing; see --help", text);
    }
    const char *guess = guess_kind(word, kinds);
    cli_wrong_usage(guess ? "unknown kind '%s'; did you mean '%s'?" : "unknown kind '%s'; expected %s", word,
                    guess ? guess : text);
}

/* Whoever gives an option of another kind should hear that, not of a typing error. */
static void refuse_others_options(const cli_command *kind, const cli_command *const *kinds, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *name = argv[i] + 2;
        size_t n = strncmp(argv[i], "--", 2) == 0 ? strcspn(name, "=") : 0;
        for (int k = 0; kinds[k] && kind->options && n > 0 && !find_long(kind->options, name, n); k++) {
            if (kinds[k]->options && find_in(kinds[k]->options, name, n)) {
                cli_wrong_usage("--%.*s is an option of %s, not of %s", (int)n, name, kinds[k]->name, kind->name);
            }
        }
    }
}

static const cli_command *find_kind(const cli_command *const *kinds, const char *word)
{
    while (*kinds && strcmp(word, cli_kind_name(*kinds)) != 0) {
        kinds++;
    }
    return *kinds;
}

/* Whether a word is nearly a kind's name, and neither that of a file. */
static bool is_misspelt_kind(const char *word, const cli_command *const *kinds)
{
    return *word != '-' && !strpbrk(word, "./") && !find_kind(kinds, word) && guess_kind(word, kinds) &&
           access(word, F_OK) != 0;
}

/* The first word that names a kind is the one. Before it stand options and files. */
int cli_run_kind(const cli_command *command, const cli_command *const *kinds, int argc, char **argv)
{
    static const cli_option none[] = {{0}};
    if (argc > 1 && strcmp(argv[1], "help") == 0) { /* as `ascgrad help COMMAND KIND` */
        static char help[] = "--help";
        argv[1] = help;
    } else if (argc > 1 && is_misspelt_kind(argv[1], kinds)) {
        refuse_kind(argv[1], kinds);
    }
    for (int i = 1; i < argc; i++) {
        const cli_command *kind = find_kind(kinds, argv[i]);
        if (kind) {
            char *word = argv[i];
            cli_begin(cli_program(), kind->name);
            memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof *argv);
            argv[1] = word;
            refuse_others_options(kind, kinds, argc - 1, argv + 1);
            return ranks_follower() && !ranks_share(kind->name) ? CLI_OK : kind->run(argc - 1, argv + 1);
        }
    }
    if (argc > 1 && argv[1][0] != '-') {
        refuse_kind(argv[1], kinds);
    }
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i] + strspn(argv[i], "-");
        const cli_option *o = find_in(standard, word, strlen(word));
        if (o || strcmp(argv[i], "-h") == 0) {
            explain(&(line){.command = command, .options = none, .kinds = kinds}, o ? o : &standard[HELP]);
        }
    }
    refuse_kind(NULL, kinds);
}

int cli_numbers(const char *option, const char *text, int64_t least, int64_t *numbers, int most)
{
    enum { GREATEST = 1 << 24 };
    int n = 0;
    for (const char *at = text; n == 0 || *at; n++) {
        char word[32];
        size_t length = strcspn(at, ",");
        int64_t value;
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), at);
        if (!asc_count_parse(word, &value) || value < least || value > GREATEST || n == most) {
            cli_wrong_usage("--%s: got '%s', expected at most %d whole numbers from %lld to %d, with commas", option,
                            text, most, (long long)least, GREATEST);
        }
        numbers[n] = value;
        at += length + (at[length] == ',');
    }
    return n;
}
