/* tools/main.c: the program: finds the command and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/core_type.h"

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
        fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\n\"ascgrad COMMAND --help\" explains a command.\n"
          "Exit status: 0 done; 1 a check did not hold, or a loss is not finite; 2 wrong usage;\n"
          "3 input, output or memory failed; 130 interrupted, after saving what a resume needs.\n",
          out);
}

static const cli_command *find(const char *name)
{
    if (name[0] == '-') {
        cli_wrong_usage("unknown option %s; expected a command, --help or --version", name);
    }
    const cli_command *best = commands[0];
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i]->name) == 0) {
            return commands[i];
        }
        if (asc_name_distance(name, commands[i]->name) < asc_name_distance(name, best->name)) {
            best = commands[i];
        }
    }
    cli_wrong_usage("unknown command '%s'; did you mean '%s'?", name, best->name);
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

/* The library passes over an ASCGRAD_ISA that names nothing; who set it wants a comparison and must not get another. */
static void check_isa(void)
{
    const char *wanted = asc_machine_info().isa_refused;
    if (wanted) {
        cli_wrong_usage("ASCGRAD_ISA: got '%s', expected plain, avx2 or avx512", wanted);
    }
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    check_isa();
    core_type_prepare(argv);
    signal(SIGPIPE, end_quietly);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of the write */
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ascgrad %s\n", ASC_VERSION);
        return cli_finish(CLI_OK);
    }
    bool help_word = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (help_word && argc == 2)) {
        print_usage(stdout);
        return cli_finish(CLI_OK);
    }
    if (help_word) {
        argv[1] = argv[2];
        argv[2] = "--help";
    }
    const cli_command *command = find(argv[1]);
    cli_begin(argv[0], command->name);
    return cli_finish(command->run(argc - 1, argv + 1));
}
