/*
 * tools/plain.h: what is printed to a person, plain. Paths, names and texts come from files that anyone may have
 * written, and a terminal obeys what it is shown: a control character other than a line's end or a tab is printed as
 * "?", and so is one that turns the direction of what follows, and each byte that is no UTF-8; a carriage return before
 * a line's end is left out. What a program reads is as it is: JSON, which escapes them, and files.
 */
#ifndef TOOLS_PLAIN_H
#define TOOLS_PLAIN_H

#include <ascgrad/base.h>
#include <stdarg.h>
#include <stdio.h>

/* printf, whose result is that of the text as it was given, and fprintf. */
int cli_print(const char *format, ...) ASC_PRINTF(1, 2);
void cli_print_to(FILE *out, const char *format, ...) ASC_PRINTF(2, 3);

/* The same; `lines`: may have several. */
int cli_vprint_to(FILE *out, bool lines, const char *format, va_list args);

/* n bytes of text, in lines. false: the stream takes no more. */
bool cli_write(FILE *out, const char *text, size_t n);

/* A text of several lines as it would be printed; new, freed with free(). "" without memory. */
char *cli_plain(const char *text);

/* How many of a text's first `most` bytes are whole characters, where it is cut there or was before. */
size_t cli_whole(const char *text, size_t most);

#endif
