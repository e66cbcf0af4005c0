/* tools/main.c: the program: finds the command and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <program/names.h>

#include "tools/commands.h"
#include "tools/core_type.h"
#include "tools/ranks.h"

static const cli_command *const commands[] = {
#define ENTRY(name) &command_##name,
    CLI_COMMANDS(ENTRY)
#undef ENTRY
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fputs("usage: ascgrad COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-11s ", commands[i]->name);
        cli_print_wrapped(out, commands[i]->summary, 14, 14);
    }
    fputs("\n\"ascgrad help COMMAND\", or \"ascgrad COMMAND --help\", explains a command.\n"
          "Numbers may be 1e4, counts 1.5k or 2M, times 90s, 30m, 2h. An option that other\n"
          "programs call otherwise, as --learning-rate, is answered with its name here.\n"
          "Exit status: 0 done; 1 a check did not hold, or a loss is not finite; 2 wrong\n"
          "usage; 3 input, output or memory failed; 130 interrupted, after saving what a\n"
          "resume needs.\n",
          out);
}

/* What other programs call a command, and what it is here. */
static const char *find_synonym(const char *name)
{
    static const char *const table[][2] = {
        {"evaluate", "eval"},     {"test", "eval"},     {"validate", "eval"},      {"sample", "generate"},
        {"predict", "nli predict"}, {"chat", "generate"}, {"complete", "generate"},
        {"report", "experiment report"}, {"status", "experiment status"}, {"list", "runs"}, {"ls", "runs"},
        {"finetune", "train"},    {"fit", "train"},     {"resume", "train --resume"},
        {"continue", "train --resume"}, {"benchmark", "bench"}, {"speed", "bench"}, {"version", "--version"},
        {"learn", "train"},       {"presets", "train --preset list"}, {NULL, NULL},
    };
    int i = 0;
    while (table[i][0] && strcmp(table[i][0], name) != 0) {
        i++;
    }
    return table[i][1];
}

static const cli_command *find(const char *name)
{
    const char *names[N_COMMANDS + 1] = {NULL};
    if (name[0] == '-') {
        cli_wrong_usage("unknown option %s; expected a command, --help or --version", name);
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i]->name;
        if (strcmp(name, commands[i]->name) == 0) {
            return commands[i];
        }
    }
    const char *synonym = find_synonym(name), *guess = asc_name_guess(name, names);
    if (synonym) {
        cli_wrong_usage("unknown command '%s'; here it is 'ascgrad %s'", name, synonym);
    }
    cli_wrong_usage(guess ? "unknown command '%s'; did you mean '%s'?"
                          : "unknown command '%s'; ascgrad --help lists them", name, guess);
}

/* "help bench train" is "bench train --help", "help stats pair" stats'; other words behind a command are mistakes. */
static void check_help_words(const cli_command *command, int n, char **words)
{
    bool kinds = strcmp(command->operands, "KIND") == 0; /* which it knows itself */
    size_t length = n > 0 ? strlen(words[0]) : 0;
    const char *at = n > 0 && length > 0 ? strstr(command->operands, words[0]) : NULL;
    bool named = at && words[0][0] >= 'a' && (at == command->operands || at[-1] == ' ') && at[length] == ' ';
    int most = kinds || named;
    if (n > most && words[most][0] != '-') {
        cli_wrong_usage("'%s' is one argument too many: expected help, a command%s", words[most],
                        kinds ? " and a kind" : "");
    }
}

/* Whoever reads our output has read enough: end at once and quietly. */
static void end_quietly(int signal_number)
{
    (void)signal_number;
    _exit(CLI_OK);
}

/* A standard stream that was closed would be the next file that is opened, and what is printed would go into that. In
 * its place stands one that refuses what the stream is for, so that it still counts as closed. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) {
            _exit(CLI_IO);
        }
    }
}

/* The library passes over variables that name nothing; who set one wants a comparison and must not get another. */
static void check_variables(void)
{
    asc_machine m = asc_machine_info();
    if (m.isa_refused) {
        cli_wrong_usage("ASCGRAD_ISA: got '%s', expected plain, avx2, avx512, avx512_bf16 or amx", m.isa_refused);
    }
    if (m.products_refused) {
        cli_wrong_usage("ASCGRAD_PRODUCTS: got '%s', expected own or openblas", m.products_refused);
    }
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    check_variables();
    core_type_prepare(argv);
    signal(SIGPIPE, end_quietly);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of the write */
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        if (!ranks_follower()) {
            printf("ascgrad %s\n", ASC_VERSION);
        }
        return cli_finish(CLI_OK);
    }
    static char help_option[] = "--help";
    bool help_word = strcmp(argv[1], "help") == 0;
    const char *asked = help_word && argc > 2 ? argv[2] : argv[1];
    if (strcmp(asked, "--help") == 0 || strcmp(asked, "-h") == 0 || strcmp(asked, "help") == 0) {
        if (!ranks_follower()) {
            print_usage(stdout);
        }
        return cli_finish(CLI_OK);
    }
    if (help_word) { /* "help bench train" is "bench train --help" */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = help_option;
    }
    const cli_command *command = find(argv[1]);
    if (help_word) {
        check_help_words(command, argc - 3, argv + 2);
    }
    cli_begin(argv[0], command->name);
    if (ranks_follower() && !ranks_share(command->name)) {
        return CLI_OK;
    }
    return cli_finish(command->run(argc - 1, argv + 1));
}
