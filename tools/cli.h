/*
 * tools/cli.h: what every command of the program shares: options, messages, exit statuses, JSON.
 *
 *     struct args { int64_t steps; bool json; };
 *
 *     static const cli_option options[] = {
 *         {"steps", 's', "N", CLI_INT, offsetof(struct args, steps), 1, 1e9, "how many steps to take (10)"},
 *         CLI_JSON(struct args),
 *         {0},
 *     };
 *
 *     static int run(int argc, char **argv)
 *     {
 *         struct args args = {.steps = 10};
 *         int n = cli_parse(&command_walk, argc, argv, &args);       the operands are now argv[0 … n-1]
 *         …
 *     }
 *
 *     const cli_command command_walk = {"walk", "takes steps", "[PLACE…]", NULL, "ascgrad walk --steps 3", options,
 *                                       run};
 *
 * and a line in tools/commands.h.
 */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <ascgrad/train.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>

#include "tools/plain.h"

enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* a check did not hold, or a loss is not finite */
    CLI_USAGE = 2,
    CLI_IO = 3, /* input, output or memory */
    CLI_INTERRUPTED = 130,
};

/* What an option's argument is, and where it goes: into the field of the command's arguments at offset `at`. */
typedef enum cli_type {
    CLI_FLAG,     /* bool; takes no argument */
    CLI_INT,      /* int64_t, min … max: 250, 1e4, 1.5k, 2M */
    CLI_REAL,     /* double, min … max */
    CLI_SECONDS,  /* double, min … max: a time; a number alone is one of seconds, others are 90s, 30m, 2h, 1h30m */
    CLI_MINUTES,  /* the same of minutes */
    CLI_TEXT,     /* const char *, borrowed from argv */
    CLI_CHOICE,   /* const char *: one of the words that the argument's name lists: "train|valid|test" */
    CLI_OPTIONAL, /* const char *: an argument only in the same word, as in --resume=RUN; "" without */
    CLI_INT_OR_NONE, /* int64_t, min … max: an argument in the same word, or the next if it is a number; else -1 */
    CLI_LIST,     /* cli_list: the option may be given again, and several options may share a list */
    CLI_NOTED,    /* a flag that cli_given_option knows of, and no field */
    CLI_HEADING,  /* no option: the help's heading over those that follow */
    CLI_RARE,     /* the same over those that only --help-all has */
    CLI_SETTINGS, /* no option: the place of all settings, by cli_all_settings */
} cli_type;

typedef struct cli_option {
    const char *name;     /* without its dashes; NULL ends a table */
    char letter;          /* or 0 */
    const char *argument; /* what the help calls it; NULL for a flag */
    cli_type type;
    size_t at;
    double min, max; /* of numbers, both included */
    const char *help;
} cli_option;

#define CLI_GROUP(heading) {"", 0, NULL, CLI_HEADING, 0, 0, 0, heading}
#define CLI_ALL_SETTINGS(args, list) {"", 0, NULL, CLI_SETTINGS, offsetof(args, list), 0, 0, ""}
/* For a command that prints progress: cli_quiet() and cli_verbose(). */
#define CLI_PROGRESS                                                                                                   \
    {"quiet", 'q', NULL, CLI_NOTED, 0, 0, 0, "no progress, only warnings and errors"},                                 \
        {"verbose", 'v', NULL, CLI_NOTED, 0, 0, 0, "more of it, and what computes"}
#define CLI_JSON(args) {"json", 0, NULL, CLI_FLAG, offsetof(args, json), 0, 0, "print the result as one JSON object"}
#define CLI_THREADS(args) \
    {"threads", 0, "N", CLI_INT, offsetof(args, threads), 0, 1024, "threads that compute; 0: one per processor (0)"}

#define CLI_PRECISION(args)                                                                                            \
    {                                                                                                                  \
        "precision", 0, "f32|bf16", CLI_CHOICE, offsetof(args, precision), 0, 0,                                       \
            "of matrix products, as train's --precision (the run's; f32 without one)"                                  \
    }

/* The most rows of a command's table. */
enum { CLI_OPTIONS_MAX = 512 };

/* Options as they were given, in order: name[i] (of the option) and value[i] (NULL of a flag). All borrowed. */
enum { CLI_LIST_MAX = 256 };
typedef struct cli_list {
    int n;
    const char *name[CLI_LIST_MAX], *value[CLI_LIST_MAX];
} cli_list;

typedef struct cli_command {
    const char *name;
    const char *summary;        /* one line, without a full stop */
    const char *operands;       /* for the usage line: "RUN|MODEL" */
    const char *details;        /* paragraphs for --help, or NULL; a line that begins with blanks stays one */
    const char *example;        /* for --help; several lines are several examples */
    const cli_option *options;  /* --help is in every command and not in the table */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
} cli_command;

/* Parses argv[1 …] into `args`, which holds the defaults, and moves the operands to the front of argv; returns how
 * many there are. Ends the program on --help (status 0) and on wrong usage (status 2). */
int cli_parse(const cli_command *command, int argc, char **argv, void *args);

/* The same with another table than the command's own. */
int cli_parse_options(const cli_command *command, const cli_option *options, int argc, char **argv, void *args);

/* Runs the kind of a command of several, each a command named "COMMAND KIND", NULL behind the last. Options of the
 * kind may stand before its name. Ends the program on --help, and with status 2 where no kind is named. */
int cli_run_kind(const cli_command *command, const cli_command *const *kinds, int argc, char **argv);

const char *cli_kind_name(const cli_command *kind); /* "train" of "bench train" */

/* Reads whole numbers with commas between them, at least one, of `least` … 2^24; ends the program with status 2 where
 * that is not what --option has, or where they are more than `most`. Returns how many. */
int cli_numbers(const char *option, const char *text, int64_t least, int64_t *numbers, int most);

/* Ends the program with status 2 unless there are min … max operands; `missing` says what is wanted: "a RUN". */
void cli_expect_operands(int n, char **argv, int min, int max, const char *missing);

/* The option of a name, if the command line had it, or NULL; '_' may stand for '-', as in the names of settings. */
const cli_option *cli_given_option(const char *name, size_t n);

/* The option of a name, if the command has it, or NULL. */
const cli_option *cli_known_option(const char *name);

/* Of a command with CLI_PROGRESS: whether it is to print no progress, or more of it. */
bool cli_quiet(void);
bool cli_verbose(void);

/* ---- help: tools/help.c ---- */

/* --help, and with `all` --help-all; `kinds`: of a command that has them, or NULL. */
void cli_print_help(const cli_command *command, const cli_option *options, const cli_command *const *kinds, bool all);

/* All that the help says, a line each of fields with tabs between them: what man pages and completions are made of. */
void cli_print_table(const cli_command *command, const cli_option *options, const cli_command *const *kinds);

/* Text from column `at` on, in lines of at most 80 columns, those that follow indented. */
void cli_print_wrapped(FILE *out, const char *text, int at, int indent);

/* ---- settings: tools/settings.c ---- */

/* A setting's default, where a command has another; key NULL ends a list. */
typedef struct cli_initial {
    const char *key, *value;
} cli_initial;

/* What `data` and `tokenizer` know by name: "word, byte or …", in `text`; NULL for other settings. */
const char *cli_setting_specs(const asc_setting *row, char *text, size_t size);

/* The table with an argument and a help text for those options, of settings, that have none. Either list may be NULL,
 * the second's defaults come before the first's. One table at a time. */
const cli_option *cli_fill_settings(const cli_option *table, const cli_initial *first, const cli_initial *second);

/* The table, which a name NULL ends, with the options of all settings at the place of CLI_ALL_SETTINGS, all in their
 * groups; their defaults are those of a preset, or with NULL the settings' own. One table at a time. */
const cli_option *cli_all_settings(const cli_option *own, const char *preset);

/* The row of a setting by its key or the name of its option; NULL if there is none. */
const asc_setting *cli_setting_row(const char *name);

/* What an option of that name may be given, with blanks between them, in `text`; "" for anything. */
void cli_setting_values(const char *name, char *text, size_t size);

/* Prints the presets, for --preset list, and what is in them; the exit status. */
int cli_list_presets(bool json);

/* The value, and the key, of the "KEY=VALUE" that --set has; ends the program with status 2 where it is none. */
enum { CLI_KEY = 128 };
const char *cli_split_pair(const char *pair, char key[CLI_KEY]);
void cli_set_pair(asc_settings *settings, const char *pair); /* gives the setting that value */

/* The option that the command line had for a setting or argument of that key; NULL if it had none. */
const cli_option *cli_option_of(const char *key);

/* ---- messages ---- */

/* Names the command that messages begin with, "ascgrad NAME: ", and how the program was called. */
void cli_begin(const char *program, const char *name);

/* How the program was called, for commands that a user may type. */
const char *cli_program(void);

/* One line on stderr. */
void cli_message(const char *format, ...) ASC_PRINTF(1, 2);
/* The same from a signal handler. */
void cli_message_at_once(const char *text);

/* What a hang-up does, but where it was ignored when the program began: nohup means that it goes on. */
void cli_catch_hangup(const struct sigaction *action);

/* One line on stderr, and the end of the program with status 2. */
_Noreturn void cli_wrong_usage(const char *format, ...) ASC_PRINTF(1, 2);

/* The exit status of a library status. */
int cli_exit_of(asc_status status);

/* Of two exit statuses the one that the program ends with. */
int cli_worse(int a, int b);

/* Prints the context's error, if there is one; its exit status. An argument that an option gave is named as on the
 * command line: "min_lr: got …" as "--min-lr: got …". */
int cli_report(const asc_ctx *ctx);

/* A context with `threads` threads (0: one per processor), with a warning if those are more than processors; ends the
 * program with status 3 if there is none. */
asc_ctx *cli_ctx_new(int64_t threads);

/* One whose number of threads follows from settings that are read with it: first it has one. */
asc_ctx *cli_ctx_new_first(void);
void cli_set_threads(asc_ctx *ctx, int threads);

/* Room for n things of so many bytes each, all zero, for as long as the context's scope; NULL with the error set. */
void *cli_room(asc_ctx *ctx, int64_t n, size_t size);

/* The data set of the model's run, by what the run's config.json says of it; new, NULL with the error set. */
asc_dataset *cli_open_run_data(asc_ctx *ctx, const asc_model *model);

/* A JSON number; null for a value that is not finite. New. */
json_t *cli_json_real(double value);

/* A JSON string of any bytes: each that is no UTF-8 is U+FFFD. NULL without memory. */
json_t *cli_json_text(const char *text, size_t n);
json_t *cli_json_string(const char *text); /* the same of a whole text */

/* The length of the UTF-8 sequence that begins at `text`, of `n` bytes; 0 if there is none. */
size_t cli_utf8_length(const char *text, size_t n);

/* Where in `text`, of `n` bytes, the first stands that is not UTF-8; n: nowhere. */
size_t cli_utf8_end(const char *text, size_t n);

/* "LEAD: transformer, …": the models that there are, for a help text of `size` bytes. */
void cli_list_models(const char *lead, char *text, size_t size);

/* Puts numbers in rising order. */
void cli_sort(double *x, int64_t n);
/* The median of n numbers, which it sorts; NaN of none. */
double cli_median(double *x, int64_t n);

/* Seconds of a clock that never goes back. */
double cli_clock(void);

/* Prints the object, which it takes, as one line on stdout. Returns CLI_OK, or CLI_IO without memory. */
int cli_print_json(json_t *object);

/* Flushes stdout: whether all that was printed so far could be written. */
bool cli_flush(void);

/* Flushes stdout: `status`, or CLI_IO with a message if what was printed could not be written. */
int cli_finish(int status);

#endif
