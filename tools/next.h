/* tools/next.h: what to do next: the exact commands, on stderr. */
#ifndef TOOLS_NEXT_H
#define TOOLS_NEXT_H

#include <stdbool.h>

/* "what next:", then commands, one a line. NULL stands for no word; what a shell would read otherwise is quoted. */
void next_begin(void);
void next_command(const char *command, const char *run, const char *options, const char *path);

#endif
