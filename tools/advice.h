/* tools/advice.h: what to say of an option that there is not. */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

#include "tools/cli.h"

/* Ends the program with status 2 and the best advice on the first n bytes of `word`, which are no name in the command's
 * table. */
_Noreturn void refuse_unknown(const cli_command *command, const cli_option *options, const char *word, size_t n);

#endif
