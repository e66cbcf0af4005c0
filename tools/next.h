/* tools/next.h: what to do next: the exact commands, with what a shell would read otherwise quoted. */
#ifndef TOOLS_NEXT_H
#define TOOLS_NEXT_H

#include <stddef.h>

enum { NEXT_WORD = 16400 }; /* has room for a path, whatever is quoted in it */

/* A word as a shell takes it: a plain one as it is, others quoted. Returns `text`. */
const char *next_quote(const char *word, char *text, size_t size);

/* The same of a path, which is no option, whatever it begins with. */
const char *next_path(const char *path, char *text, size_t size);

/* On stderr: "what next:", then commands, one a line. NULL stands for no word. */
void next_begin(void);
void next_command(const char *command, const char *run, const char *options, const char *path);

#endif
