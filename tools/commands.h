/* tools/commands.h: the program's commands, in the order in which the help lists them. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "tools/cli.h"

#define CLI_COMMANDS(_)                                                                                                \
    _(train)                                                                                                           \
    _(eval)                                                                                                            \
    _(generate)                                                                                                        \
    _(nli)                                                                                                             \
    _(tokenize)                                                                                                        \
    _(encode)                                                                                                          \
    _(gradcheck)                                                                                                       \
    _(parity)                                                                                                          \
    _(bench)                                                                                                           \
    _(inspect)                                                                                                         \
    _(experiment)                                                                                                      \
    _(plot)                                                                                                            \
    _(compare)                                                                                                         \
    _(runs)                                                                                                            \
    _(stats)                                                                                                           \
    _(verify)                                                                                                          \
    _(info)

#define CLI_DECLARE(name) extern const cli_command command_##name;
CLI_COMMANDS(CLI_DECLARE)
#undef CLI_DECLARE

#endif
