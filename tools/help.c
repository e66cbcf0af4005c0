/* tools/help.c: what --help prints, within 80 columns; and the same as a table, for man pages and completions. */
#include <stdio.h>
#include <string.h>

#include "tools/cli.h"

enum { WIDTH = 80, COLUMN = 28 }; /* of a line; where the help of an option begins */

/* ---- lines ---- */

/* The columns of n bytes: one for each character in UTF-8. */
static int columns(const char *text, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n; i++) {
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return width;
}

void cli_print_wrapped(FILE *out, const char *text, int at, int indent)
{
    bool begins = true; /* a line, or at a column that the caller has reached */
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");
        int width = columns(text, n);
        if (!begins && at + 1 + width > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            begins = true;
        }
        fprintf(out, "%s%.*s", begins ? "" : " ", (int)n, text);
        at += width + !begins;
        begins = false;
        text += n;
    }
    putc('\n', out);
}

/* A line that begins with blanks: what follows two blanks in it stays below itself. */
static void print_item(const char *line, size_t n)
{
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), line);
    size_t lead = strspn(text, " ");
    const char *gap = strstr(text + lead, "  ");
    size_t start = gap ? (size_t)(gap - text) + strspn(gap, " ") : lead;
    printf("%.*s", (int)start, text);
    cli_print_wrapped(stdout, text + start, columns(text, start), gap ? columns(text, start) : (int)lead + 2);
}

/* Paragraphs: lines that follow one another are one, and wrapped anew, up to an empty line or one that is an item. */
static void print_details(const char *text)
{
    char paragraph[2048] = "";
    while (*text) {
        size_t n = strcspn(text, "\n");
        bool item = *text == ' ', more = text[n] && text[n + 1] != ' ' && text[n + 1] != '\n' && text[n + 1];
        if (item || n == 0) {
            print_item(text, n);
        } else {
            size_t used = strlen(paragraph);
            snprintf(paragraph + used, sizeof paragraph - used, " %.*s", (int)n, text);
            if (!more) {
                cli_print_wrapped(stdout, paragraph, 0, 0);
                paragraph[0] = '\0';
            }
        }
        text += n + (text[n] == '\n');
    }
}

/* Where a command line may be broken: at a blank before an option, outside of quotes. NULL: nowhere. */
static const char *last_break(const char *line, const char *end)
{
    const char *found = NULL;
    bool quoted = false;
    int width = 2;
    for (const char *c = line; c < end; c++) {
        quoted ^= *c == '\'';
        if (width <= WIDTH - 2 && c > line && !quoted && c[0] == ' ' && c[1] == '-') {
            found = c;
        }
        width += columns(c, 1);
    }
    return width > WIDTH ? found : NULL;
}

static void print_command(const char *line, const char *end)
{
    const char *lead = "  ";
    for (const char *cut; (cut = last_break(line, end)); line = cut + 1) {
        printf("%s%.*s \\\n", lead, (int)(cut - line), line);
        lead = "    ";
    }
    printf("%s%.*s\n", lead, (int)(end - line), line);
}

static void print_example(const char *example)
{
    puts("\nexample:");
    for (const char *line = example; *line;) {
        size_t n = strcspn(line, "\n");
        print_command(line, line + n);
        line += n + (line[n] == '\n');
    }
}

/* ---- options ---- */

static bool is_option(const cli_option *o)
{
    return o->type < CLI_HEADING;
}

static void print_option(const cli_option *o)
{
    char left[80];
    bool optional = o->type == CLI_OPTIONAL || o->type == CLI_INT_OR_NONE;
    const char *open = optional ? "[=" : " ", *close = optional ? "]" : "";
    int n = snprintf(left, sizeof left, "  %c%c%s --%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                     o->letter ? "," : " ", o->name);
    if (o->argument && n > 0 && (size_t)n < sizeof left) {
        snprintf(left + n, sizeof left - (size_t)n, "%s%s%s", open, o->argument, close);
    }
    if (columns(left, strlen(left)) < COLUMN) {
        printf("%-*s", COLUMN, left);
    } else {
        printf("%s\n%*s", left, COLUMN, "");
    }
    cli_print_wrapped(stdout, o->help, COLUMN, COLUMN);
}

/* The options under their headings; the number of those that were left out, as only --help-all has them. */
static int print_options(const cli_option *options, bool all)
{
    const char *heading = "options", *printed = NULL;
    bool rare = false;
    int left_out = 0;
    for (const cli_option *o = options; o->name; o++) {
        if (!is_option(o)) {
            heading = o->help;
            rare = o->type == CLI_RARE;
        } else if (rare && !all) {
            left_out++;
        } else {
            if (!printed || strcmp(printed, heading) != 0) {
                printf("\n%s:\n", heading);
            }
            printed = heading;
            print_option(o);
        }
    }
    if (!printed) {
        printf("\n%s:\n", heading);
    }
    return left_out;
}

static void print_kinds(const cli_command *command, const cli_command *const *kinds)
{
    putchar('\n');
    for (; *kinds; kinds++) {
        printf("  %-10s ", cli_kind_name(*kinds));
        cli_print_wrapped(stdout, (*kinds)->summary, 13, 13);
    }
    printf("\n\"ascgrad %s KIND --help\" explains a kind and lists its options.\n", command->name);
}

static void print_usage(const cli_command *command)
{
    char text[400];
    snprintf(text, sizeof text, "%s [OPTION...]%s%s", command->name, *command->operands ? " " : "", command->operands);
    printf("usage: ascgrad ");
    cli_print_wrapped(stdout, text, 15, 15);
    putchar('\n');
}

static void print_sentence(const cli_command *command)
{
    char text[400];
    snprintf(text, sizeof text, "ascgrad %s %s.", command->name, command->summary);
    cli_print_wrapped(stdout, text, 0, 0);
}

void cli_print_help(const cli_command *command, const cli_option *options, const cli_command *const *kinds, bool all)
{
    print_usage(command);
    print_sentence(command);
    if (command->details) {
        putchar('\n');
        print_details(command->details);
    }
    if (kinds) {
        print_kinds(command, kinds);
    }
    int left_out = print_options(options, all);
    print_option(&(cli_option){.name = "help", .letter = 'h', .help = "print this text"});
    if (left_out > 0) {
        char text[80];
        snprintf(text, sizeof text, "print it with %d options more, which few need", left_out);
        print_option(&(cli_option){.name = "help-all", .help = text});
    }
    print_example(command->example);
}

/* ---- the table ---- */

static void print_lines(const char *name, const char *text)
{
    for (const char *line = text; line && *line;) {
        size_t n = strcspn(line, "\n");
        printf("%s\t%.*s\n", name, (int)n, line);
        line += n + (line[n] == '\n');
    }
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0) {
        words++;
    }
    return *words;
}

/* What a shell completes for an option: "none", "file", "folder" or "word". */
static const char *completes(const cli_option *o)
{
    static const char *const folders[] = {"RUN", "DIR", "FOLDER", NULL},
                            *const files[] = {"FILE", "MODEL", "RUN|MODEL", "PREFIX|FOLDER", NULL};
    if (!o->argument || o->type == CLI_OPTIONAL || o->type == CLI_INT_OR_NONE) {
        return "none";
    }
    return is_one_of(o->argument, folders)                                       ? "folder"
           : is_one_of(o->argument, files) || strcmp(o->name, "data") == 0 ? "file"
                                                                                 : "word";
}

static void print_row(const cli_option *o, bool rare)
{
    char values[800] = "";
    if (o->type == CLI_CHOICE) {
        snprintf(values, sizeof values, "%s", o->argument);
        for (char *c = values; *c; c++) {
            *c = *c == '|' ? ' ' : *c;
        }
    } else if (o->argument) {
        cli_setting_values(o->name, values, sizeof values);
    }
    printf("option\t%s\t%c\t%s\t%s\t%s\t%s\t%s\n", o->name, o->letter ? o->letter : '-',
           o->argument ? o->argument : "-", completes(o), *values ? values : "-",
           rare ? "rare" : "common", o->help);
}

void cli_print_table(const cli_command *command, const cli_option *options, const cli_command *const *kinds)
{
    printf("command\t%s\nsummary\t%s\noperands\t%s\n", command->name, command->summary, command->operands);
    print_lines("details", command->details);
    for (; kinds && *kinds; kinds++) {
        printf("kind\t%s\t%s\n", cli_kind_name(*kinds), (*kinds)->summary);
    }
    bool rare = false;
    for (const cli_option *o = options; o->name; o++) {
        rare = is_option(o) ? rare : o->type == CLI_RARE;
        if (is_option(o)) {
            print_row(o, rare);
        } else {
            printf("group\t%s\n", o->help);
        }
    }
    print_lines("example", command->example);
}
