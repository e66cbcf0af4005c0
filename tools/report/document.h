/*
 * tools/report/document.h: a report written twice at once, as Markdown and as one HTML file with its pictures within;
 * its tables also as CSV.
 *
 *     document d;
 *     document_begin(&d, ctx, "ablations", "Ablations");          the folder that all goes to, and the title
 *     document_heading(&d, "Results");
 *     document_text(&d, "%d runs of %d are done.", done, all);
 *     table_begin(&t, &d, "results", "Test split", columns);
 *     table_text(&t, "grassmann");
 *     table_spread(&t, 12.31, 0.2, "**");
 *     table_end(&t);
 *     status = document_end(&d);
 *
 * Texts may hold anything: they are escaped in both. What fails for want of memory shows at the end. The first file
 * that can't be written is told, and none is written after it: an earlier report stays as it was, so far.
 */
#ifndef TOOLS_REPORT_DOCUMENT_H
#define TOOLS_REPORT_DOCUMENT_H

#include <stdio.h>

#include "tools/cli.h"

typedef struct document {
    asc_ctx *ctx;
    const char *folder;
    FILE *md, *html; /* in memory */
    char *md_text, *html_text;
    size_t md_bytes, html_bytes;
    json_t *files;   /* the names of what was written */
    int status;      /* CLI_OK, or what became of the file that could not be; at the end the whole's */
} document;

void document_begin(document *d, asc_ctx *ctx, const char *folder, const char *title, json_t *files);
void document_heading(document *d, const char *text);
void document_text(document *d, const char *format, ...) ASC_PRINTF(2, 3);

/* An entry of a list: a name, and what is to be said of it. */
void document_item(document *d, const char *name, const char *format, ...) ASC_PRINTF(3, 4);
void document_items_end(document *d);

/* Lines as they are, below an item: a command, what a program has said. */
void document_verbatim(document *d, const char *text);

/* The picture FOLDER/figures/NAME.FORMAT ("svg", "png") where it was drawn, and where its data are. */
void document_figure(document *d, const char *name, const char *format, const char *caption);

/* What came of writing a file that is not the document's own: an error of the context, which was told, ends the
 * writing, and is cleared. */
void document_heed(document *d, int status);

/* Writes report.md and report.html, and ends the document in any case. Once all is written the tables and figures of a
 * report before this one go. Returns an exit status. */
int document_end(document *d);

/* ---- tables ---- */

typedef enum column_kind { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_SPREAD } column_kind;

/* The title of a column and its name in the CSV file; a spread has one more there, NAME_std. */
typedef struct column {
    const char *title, *name;
    column_kind kind;
    int digits; /* behind the point; below 0: four that count */
    bool absent; /* left out of the pages, not of the CSV file: no row has a value */
} column;

typedef struct table {
    document *d;
    const column *columns; /* ends with a title NULL */
    int at;                /* the next cell's */
    FILE *csv;
    char *csv_text;
    size_t csv_bytes;
    const char *name;
} table;

/* A table, and the file tables/NAME.csv with the same numbers in full. */
void table_begin(table *t, document *d, const char *name, const char *title, const column *columns);

/* The cells of a row in the order of the columns; after the last one the next row begins. NaN, or NULL: "-". */
void table_text(table *t, const char *text);
void table_noted(table *t, const char *text, const char *note); /* the note is on the pages alone */
void table_number(table *t, double value);
void table_spread(table *t, double mean, double std, const char *mark);

void table_end(table *t);

#endif
