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

enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* a check did not hold, or a loss is not finite */
    CLI_USAGE = 2,
    CLI_IO = 3, /* input, output or memory */
    CLI_INTERRUPTED = 130,
};

/* What an option's argument is, and where it goes: into the field of the command's arguments at offset `at`. */
typedef enum cli_type {
    CLI_FLAG,  /* bool; takes no argument */
    CLI_INT,   /* int64_t, min … max */
    CLI_REAL,  /* double, min … max */
    CLI_TEXT,  /* const char *, borrowed from argv */
    CLI_LIST,  /* cli_list: the option may be given again, and several options may share a list */
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

#define CLI_JSON(args) {"json", 0, NULL, CLI_FLAG, offsetof(args, json), 0, 0, "print the result as one JSON object"}
#define CLI_THREADS(args) \
    {"threads", 0, "N", CLI_INT, offsetof(args, threads), 0, 1024, "threads that compute; 0: one per processor (0)"}

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
    const char *details;        /* a paragraph for --help, or NULL */
    const char *example;        /* for --help; several lines are several examples */
    const cli_option *options;  /* --help is in every command and not in the table */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
} cli_command;

/* Parses argv[1 …] into `args`, which holds the defaults, and moves the operands to the front of argv; returns how
 * many there are. Ends the program on --help (status 0) and on wrong usage (status 2). */
int cli_parse(const cli_command *command, int argc, char **argv, void *args);

/* The same with another table than the command's own. */
int cli_parse_options(const cli_command *command, const cli_option *options, int argc, char **argv, void *args);

/* Ends the program with status 2 unless there are min … max operands; `missing` says what is wanted: "a RUN". */
void cli_expect_operands(int n, char **argv, int min, int max, const char *missing);

/* The option of a name, if the command line had it, or NULL; '_' may stand for '-', as in the names of settings. */
const cli_option *cli_given_option(const char *name, size_t n);

/* ---- settings: tools/settings.c ---- */

/* A setting's default, where a command has another; key NULL ends a list. */
typedef struct cli_initial {
    const char *key, *value;
} cli_initial;

/* What stands for the setting's value in a help text; NULL for a flag. */
const char *cli_setting_argument(const asc_setting *row);

/* What `data` and `tokenizer` know by name: "word, byte or …", in `text`; NULL for other settings. */
const char *cli_setting_specs(const asc_setting *row, char *text, size_t size);

/* The table with an argument and a help text for those options, of settings, that have none. Either list may be NULL,
 * the second's defaults come before the first's. One table at a time. */
const cli_option *cli_fill_settings(const cli_option *table, const cli_initial *first, const cli_initial *second);

/* The n_own options of a command's own, and behind them those of all settings, which go to the cli_list at `at`. One
 * table at a time. */
const cli_option *cli_all_settings(const cli_option *own, int n_own, size_t at);

/* Gives a setting the value of "KEY=VALUE"; ends the program with status 2 where it is no such thing. */
void cli_set_pair(asc_settings *settings, const char *pair);

/* The option that the command line had for a setting or argument of that key; NULL if it had none. */
const cli_option *cli_option_of(const char *key);

/* ---- messages ---- */

/* Names the command that messages begin with, "ascgrad NAME: ", and how the program was called. */
void cli_begin(const char *program, const char *name);

/* How the program was called, for commands that a user may type. */
const char *cli_program(void);

/* One line on stderr. */
void cli_message(const char *format, ...) ASC_PRINTF(1, 2);

/* One line on stderr, and the end of the program with status 2. */
_Noreturn void cli_wrong_usage(const char *format, ...) ASC_PRINTF(1, 2);

/* The exit status of a library status. */
int cli_exit_of(asc_status status);

/* Prints the context's error, if there is one; its exit status. An argument that an option gave is named as on the
 * command line: "min_lr: got …" as "--min-lr: got …". */
int cli_report(const asc_ctx *ctx);

/* A context with `threads` threads (0: one per processor); ends the program with status 3 if there is none. */
asc_ctx *cli_ctx_new(int64_t threads);

/* The data set of the model's run, by what the run's config.json says of it; new, NULL with the error set. */
asc_dataset *cli_open_run_data(asc_ctx *ctx, const asc_model *model);

/* A JSON number; null for a value that is not finite. New. */
json_t *cli_json_real(double value);

/* A JSON string of any bytes: each that is no UTF-8 is U+FFFD. NULL without memory. */
json_t *cli_json_text(const char *text, size_t n);

/* "LEAD: transformer, …": the models that there are, for a help text of `size` bytes. */
void cli_list_models(const char *lead, char *text, size_t size);

/* Prints the object, which it takes, as one line on stdout. Returns CLI_OK, or CLI_IO without memory. */
int cli_print_json(json_t *object);

/* Flushes stdout: `status`, or CLI_IO with a message if what was printed could not be written. */
int cli_finish(int status);

#endif
