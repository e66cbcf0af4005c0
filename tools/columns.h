/* tools/columns.h: a table that fits the terminal. */
#ifndef TOOLS_COLUMNS_H
#define TOOLS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct columns_column {
    const char *title;
    bool right; /* numbers: to the right */
    int rank;   /* where there is no room for all, columns of a higher rank go first; 0: it always stays */
    int width;  /* filled in: of title and cells */
    bool shown; /* filled in */
} columns_column;

/* How wide standard output is: the terminal's columns, else COLUMNS where that is set; 0: without an end. */
int columns_width(void);

/* How many columns a terminal needs for a text in UTF-8. */
int columns_of(const char *text);

/* The bytes of as many of its characters as so many columns hold. */
size_t columns_fit(const char *text, int width);

/* A copy, with '?' in place of what would move the cursor or is no UTF-8; NULL without memory. */
char *columns_clean(const char *text);

/* Prints title and rows; cells[row * n + column], NULL for an empty one. What is too wide even without the columns
 * that may go loses the beginning of the cells of column 0, which is names of files. */
void columns_print(columns_column *columns, int n, char *const *cells, int rows, int width);

#endif
