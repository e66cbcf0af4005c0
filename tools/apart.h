/* tools/apart.h: work in a process of its own, so that whatever somebody else's code does there gets a line. The
 * process tells what it finds as messages, each a name and a JSON value. */
#ifndef TOOLS_APART_H
#define TOOLS_APART_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/cli.h"

/* In the process: `to` takes messages. What the code there prints goes to standard error, and it has no input. */
typedef void apart_work(void *user, FILE *to);
/* In the parent: a message; false ends the process. */
typedef bool apart_hear(void *user, const char *name, const json_t *value);

/* Sends a message; the value goes. */
void apart_tell(FILE *to, const char *name, json_t *value);

/* Runs `work` in a new process and hears its messages. NULL if `hear` has ended it; else why it ended, in words:
 * "ended by signal 11, Segmentation fault", "no sign for 60 s". `seconds`: the most between two messages; 0: any. */
const char *apart_run(double seconds, apart_work *work, apart_hear *hear, void *user);

#endif
