/* tools/options.c: command lines, read by tables; names in full, so that a typing error is never another option. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"

static const cli_option help_option = {.name = "help", .letter = 'h', .help = "print this text"};

/* The table that was parsed last, and which of its options the command line had. */
enum { MOST_OPTIONS = 128 };
static const cli_option *parsed_options;
static bool was_given[MOST_OPTIONS];

/* ---- help ---- */

static void print_option(const cli_option *o)
{
    char left[80];
    int n = snprintf(left, sizeof left, "  %c%c%s --%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                     o->letter ? "," : " ", o->name);
    if (o->argument && n > 0 && (size_t)n < sizeof left) {
        snprintf(left + n, sizeof left - (size_t)n, " %s", o->argument);
    }
    printf(strlen(left) < 30 ? "%-30s%s\n" : "%s\n%30s%s\n", left, strlen(left) < 30 ? o->help : "", o->help);
}

static void print_example(const char *example)
{
    puts("\nexample:");
    for (const char *line = example; *line;) {
        size_t n = strcspn(line, "\n");
        printf("  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

static void print_help(const cli_command *command, const cli_option *options)
{
    printf("usage: ascgrad %s [OPTION...]%s%s\n\nascgrad %s %s.\n", command->name, *command->operands ? " " : "",
           command->operands, command->name, command->summary);
    if (command->details) {
        printf("\n%s\n", command->details);
    }
    puts("\noptions:");
    for (const cli_option *o = options; o->name; o++) {
        print_option(o);
    }
    print_option(&help_option);
    print_example(command->example);
}

/* ---- one option ---- */

/* What is left of a number: "" if all of it was one. */
static bool read_number(const cli_option *o, const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = o->type == CLI_INT ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && *value >= o->min && *value <= o->max;
}

static _Noreturn void refuse_number(const cli_option *o, const char *text)
{
    const char *kind = o->type == CLI_INT ? "a whole number" : "a number";
    if (o->max >= 1e9) {
        cli_wrong_usage("--%s: got '%s', expected %s >= %.10g", o->name, text, kind, o->min);
    }
    cli_wrong_usage("--%s: got '%s', expected %s from %.10g to %.10g", o->name, text, kind, o->min, o->max);
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
    if ((o->type == CLI_INT || o->type == CLI_REAL) && !read_number(o, text, &number)) {
        refuse_number(o, text);
    }
    switch (o->type) {
    case CLI_FLAG: *(bool *)field = true; break;
    case CLI_INT: *(int64_t *)field = strtoll(text, NULL, 10); break;
    case CLI_REAL: *(double *)field = number; break;
    case CLI_TEXT: *(const char **)field = text; break;
    case CLI_LIST: append(o, field, text); break;
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
    return i == n && name[n] == '\0';
}

static const cli_option *find_long(const cli_option *options, const char *name, size_t n)
{
    for (const cli_option *o = options; o->name; o++) {
        if (is_name(o->name, name, n)) {
            return o;
        }
    }
    return is_name(help_option.name, name, n) ? &help_option : NULL;
}

const cli_option *cli_given_option(const char *name, size_t n)
{
    const cli_option *o = parsed_options ? find_long(parsed_options, name, n) : NULL;
    return o && o != &help_option && o - parsed_options < MOST_OPTIONS && was_given[o - parsed_options] ? o : NULL;
}

static const cli_option *find_letter(const cli_option *options, char letter)
{
    for (const cli_option *o = options; o->name; o++) {
        if (o->letter == letter) {
            return o;
        }
    }
    return letter == help_option.letter ? &help_option : NULL;
}

/* The option whose help has these words: "learning-rate" is what --lr is. NULL: none. */
static const char *find_described(const cli_option *options, const char *given)
{
    char words[80];
    snprintf(words, sizeof words, "%s", given);
    for (char *c = words; *c; c++) {
        *c = *c == '-' || *c == '_' ? ' ' : *c;
    }
    for (const cli_option *o = options; o->name; o++) {
        if (o->help && strstr(o->help, words)) {
            return o->name;
        }
    }
    return NULL;
}

static _Noreturn void refuse_name(const cli_option *options, const char *name, size_t n)
{
    char given[80];
    snprintf(given, sizeof given, "%.*s", (int)(n < 79 ? n : 79), name);
    const char *best = help_option.name;
    int distance = asc_name_distance(given, best);
    for (const cli_option *o = options; o->name; o++) {
        bool begins = strncmp(given, o->name, strlen(given)) == 0;
        int other = begins ? 0 : asc_name_distance(given, o->name);
        best = other < distance ? o->name : best;
        distance = other < distance ? other : distance;
    }
    bool far = distance > (int)strlen(given) / 2;
    const char *described = far ? find_described(options, given) : NULL;
    cli_wrong_usage("unknown option --%s; did you mean --%s?", given, described ? described : best);
}

/* ---- command lines ---- */

typedef struct line {
    const cli_command *command;
    const cli_option *options;
    int argc, at;
    char **argv;
    void *args;
} line;

/* Gives `o` its argument: `rest` where it stands in the same word, or the next word. */
static void give(line *l, const cli_option *o, const char *rest)
{
    if (o == &help_option) {
        print_help(l->command, l->options);
        exit(cli_finish(CLI_OK));
    }
    if (o - l->options < MOST_OPTIONS) {
        was_given[o - l->options] = true;
    }
    if (!o->argument) {
        if (rest) {
            cli_wrong_usage("--%s takes no argument", o->name);
        }
        take(o, NULL, l->args);
        return;
    }
    if (!rest && l->at + 1 == l->argc) {
        cli_wrong_usage("--%s: its argument %s is missing", o->name, o->argument);
    }
    take(o, rest ? rest : l->argv[++l->at], l->args);
}

static void read_long(line *l, const char *word)
{
    size_t n = strcspn(word, "=");
    const cli_option *o = find_long(l->options, word, n);
    if (!o) {
        refuse_name(l->options, word, n);
    }
    give(l, o, word[n] == '=' ? word + n + 1 : NULL);
}

static void read_letters(line *l, const char *word)
{
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

int cli_parse_options(const cli_command *command, const cli_option *options, int argc, char **argv, void *args)
{
    line l = {command, options, argc, 1, argv, args};
    int operands = 0;
    bool only_operands = false;
    parsed_options = options;
    for (; l.at < argc; l.at++) {
        char *word = argv[l.at];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            argv[operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (word[1] == '-') {
            read_long(&l, word + 2);
        } else {
            read_letters(&l, word + 1);
        }
    }
    return operands;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *args)
{
    return cli_parse_options(command, command->options, argc, argv, args);
}

void cli_expect_operands(int n, char **argv, int min, int max, const char *missing)
{
    if (n < min) {
        cli_wrong_usage("%s is missing; see --help", missing);
    }
    if (n > max) {
        cli_wrong_usage("'%s' is one argument too many; see --help", argv[max]);
    }
    for (int i = 0; i < n; i++) {
        if (!*argv[i]) {
            cli_wrong_usage("got '', expected %s; see --help", *missing ? missing : "a name");
        }
    }
}
