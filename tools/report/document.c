/* tools/report/document.c: Markdown and HTML side by side. */
#include "tools/report/document.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <program/file.h>

#include "tools/csv.h"
#include "tools/plain.h"

/* No script, nothing from elsewhere: the page says so itself. */
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
    "'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n"
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;"
    " background: #fff }\n"
    "h1, h2 { line-height: 1.2 } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }\n"
    ".wide { overflow-x: auto } table { border-collapse: collapse; font-size: .85rem; margin: .5rem 0 }\n"
    "caption { text-align: left; font-weight: 600; padding: .3rem 0 }\n"
    "th, td { padding: .25rem .5rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }\n"
    "th { border-bottom: 2px solid #555; vertical-align: bottom } .text { text-align: left }\n"
    "figure { margin: 1.2rem 0; overflow-x: auto } img { max-width: 100%; min-width: 34rem; height: auto } figcaption "
    "{ font-size: .9rem; color: #444 }\n"
    "pre { background: #f4f4f4; padding: .7rem; overflow-x: auto; font-size: .85rem }\n"
    "</style>\n";

/* ---- escapes: what would steer a terminal, or a reader's eye, shows as "?" ---- */

static void html_char(FILE *out, char c)
{
    switch (c) {
    case '&':
        fputs("&amp;", out);
        break;
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    default:
        fputc((unsigned char)c < ' ' && c != '\n' ? ' ' : c, out);
    }
}

static void html_text(FILE *out, const char *text)
{
    char *plain = cli_plain(text);
    for (const char *c = plain; c && *c; c++) {
        html_char(out, *c);
    }
    free(plain);
}

/* What would be markup stands behind a backslash; a line's end would end a cell. */
static void md_text(FILE *out, const char *text)
{
    char *plain = cli_plain(text);
    for (const char *c = plain; c && *c; c++) {
        if (strchr("\\`*_{}[]<>&|#~$", *c)) {
            fputc('\\', out);
        }
        fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    }
    free(plain);
}

static void both_text(document *d, const char *text)
{
    md_text(d->md, text);
    html_text(d->html, text);
}

/* ---- the document ---- */

static bool is_open(const document *d)
{
    return d->md && d->html;
}

static void make_folder(document *d, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", d->folder, name);
    asc_folder_make(d->ctx, path);
}

/* Whether this report wrote the file. */
static bool is_new(const document *d, const char *path)
{
    const json_t *file;
    size_t i;
    json_array_foreach(d->files, i, file) {
        if (strcmp(json_string_value(file), path) == 0) {
            return true;
        }
    }
    return false;
}

void document_heed(document *d, int status)
{
    if (asc_error(d->ctx)) {
        d->status = status;
        asc_error_clear(d->ctx);
    }
}

void document_begin(document *d, asc_ctx *ctx, const char *folder, const char *title, json_t *files)
{
    *d = (document){.ctx = ctx, .folder = folder, .files = files};
    make_folder(d, "tables");
    make_folder(d, "figures");
    document_heed(d, cli_report(ctx));
    if (d->status != CLI_OK) {
        return;
    }
    d->md = open_memstream(&d->md_text, &d->md_bytes);
    d->html = open_memstream(&d->html_text, &d->html_bytes);
    if (is_open(d)) {
        fputs("# ", d->md);
        md_text(d->md, title);
        fputs("\n", d->md);
        fprintf(d->html, "%s<title>", head);
        html_text(d->html, title);
        fputs("</title>\n</head>\n<body>\n<h1>", d->html);
        html_text(d->html, title);
        fputs("</h1>\n", d->html);
    }
}

void document_heading(document *d, const char *text)
{
    if (is_open(d)) {
        fputs("\n## ", d->md);
        fputs("<h2>", d->html);
        both_text(d, text);
        fputs("\n", d->md);
        fputs("</h2>\n", d->html);
    }
}

static void put_formatted(document *d, const char *format, va_list args)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) {
        vfprintf(out, format, args);
        fclose(out);
    }
    both_text(d, text ? text : "");
    free(text);
}

void document_text(document *d, const char *format, ...)
{
    if (!is_open(d)) {
        return;
    }
    va_list args;
    va_start(args, format);
    fputs("\n", d->md);
    fputs("<p>", d->html);
    put_formatted(d, format, args);
    fputs("\n", d->md);
    fputs("</p>\n", d->html);
    va_end(args);
}

void document_item(document *d, const char *name, const char *format, ...)
{
    if (!is_open(d)) {
        return;
    }
    va_list args;
    va_start(args, format);
    fputs("\n- **", d->md);
    fputs("<p><b>", d->html);
    both_text(d, name);
    fputs("**: ", d->md);
    fputs("</b>: ", d->html);
    put_formatted(d, format, args);
    fputs("</p>\n", d->html);
    va_end(args);
}

void document_items_end(document *d)
{
    if (is_open(d)) {
        fputs("\n", d->md);
    }
}

/* In Markdown a line of an item's is code from four columns behind the item's text on; before it is the item's text. */
#define CODE_BELOW_ITEM "\n      "

void document_verbatim(document *d, const char *text)
{
    if (!is_open(d)) {
        return;
    }
    fputs(CODE_BELOW_ITEM, d->md);
    fputs("<pre>", d->html);
    char *plain = cli_plain(text);
    for (const char *c = plain; c && *c; c++) {
        if (*c == '\n') {
            fputs(c[1] ? CODE_BELOW_ITEM : "", d->md);
        } else {
            fputc((unsigned char)*c < ' ' ? ' ' : *c, d->md);
        }
    }
    free(plain);
    html_text(d->html, text);
    fputs("\n", d->md);
    fputs("</pre>\n", d->html);
}

/* ---- pictures ---- */

static void put_base64(FILE *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned group =
            (unsigned)bytes[i] << 16 | (i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0) | (i + 2 < n ? bytes[i + 2] : 0);
        fputc(digits[group >> 18], out);
        fputc(digits[group >> 12 & 63], out);
        fputc(i + 1 < n ? digits[group >> 6 & 63] : '=', out);
        fputc(i + 2 < n ? digits[group & 63] : '=', out);
    }
}

/* The file's bytes, new; NULL where there is none. */
static unsigned char *read_file(const char *path, size_t *n)
{
    FILE *in = asc_file_read(path);
    long end = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    unsigned char *bytes = end > 0 ? malloc((size_t)end) : NULL;
    if (bytes) {
        rewind(in);
        *n = fread(bytes, 1, (size_t)end, in);
    }
    if (in) {
        fclose(in);
    }
    return bytes;
}

void document_figure(document *d, const char *name, const char *format, const char *caption)
{
    char path[4096];
    size_t n = 0;
    if (!is_open(d)) {
        return;
    }
    snprintf(path, sizeof path, "%s/figures/%s.%s", d->folder, name, format);
    json_t *shown = cli_json_string(path);
    unsigned char *picture = shown && is_new(d, json_string_value(shown)) ? read_file(path, &n) : NULL;
    json_decref(shown);
    if (picture) {
        fprintf(d->md, "\n![%s](figures/%s.%s)\n", name, name, format);
    }
    fputs("\n", d->md);
    fputs("<figure>", d->html);
    if (picture) {
        fprintf(d->html, "<img alt=\"%s\" src=\"data:image/%s;base64,", name,
                strcmp(format, "svg") == 0 ? "svg+xml" : format);
        put_base64(d->html, picture, n);
        fputs("\">", d->html);
    }
    fputs("<figcaption>", d->html);
    both_text(d, caption);
    fprintf(d->md, " ([data](figures/%s.csv))\n", name);
    fprintf(d->html, " (data: figures/%s.csv)</figcaption></figure>\n", name);
    free(picture);
}

/* ---- the end ---- */

static void write_file(document *d, const char *name, const char *text, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", d->folder, name);
    if (d->status != CLI_OK || asc_error(d->ctx)) {
        return;
    }
    if (asc_file_write_atomic(d->ctx, path, text, bytes) == ASC_OK) {
        json_array_append_new(d->files, cli_json_string(path));
    }
    document_heed(d, cli_report(d->ctx));
}

/* ---- the tables and figures of the report before ---- */

#define FILES "report.files" /* in the folder: the tables and figures of its report, a line each */

/* "tables/NAME" or "figures/NAME" at the end of a path; NULL: it has no such. */
static const char *find_name(const char *path)
{
    static const char *const folders[] = {"tables/", "figures/"};
    for (int i = 0; i < 2; i++) {
        for (const char *at = path; (at = strstr(at, folders[i])); at++) {
            const char *name = at + strlen(folders[i]);
            if ((at == path || at[-1] == '/') && *name && !strchr(name, '/')) {
                return at;
            }
        }
    }
    return NULL;
}

/* What FILES has, a name each; new. */
static json_t *read_names(const document *d)
{
    char path[4096], line[300];
    snprintf(path, sizeof path, "%s/" FILES, d->folder);
    json_t *names = json_array();
    FILE *in = asc_file_read(path);
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = '\0';
        if (find_name(line) == line) {
            json_array_append_new(names, json_string(line));
        }
    }
    if (in) {
        fclose(in);
    }
    return names;
}

static void write_names(document *d)
{
    char *text = NULL, path[4096];
    size_t bytes = 0, i;
    const json_t *file;
    FILE *out = open_memstream(&text, &bytes);
    json_array_foreach(d->files, i, file) {
        const char *name = find_name(json_string_value(file));
        if (out && name) {
            fprintf(out, "%s\n", name);
        }
    }
    snprintf(path, sizeof path, "%s/" FILES, d->folder);
    if (out && fclose(out) == 0) {
        asc_file_write_atomic(d->ctx, path, text, bytes);
    } else {
        asc_fail(d->ctx, ASC_ERR_MEMORY, "out of memory for the report");
    }
    free(text);
}

/* Takes away what the report before has written and this one has not: once this one is whole, so that a full disk loses
 * neither. */
static void sweep(const document *d, const json_t *before)
{
    char path[4096];
    const json_t *name;
    size_t i;
    json_array_foreach(before, i, name) {
        snprintf(path, sizeof path, "%s/%s", d->folder, json_string_value(name));
        json_t *shown = cli_json_string(path); /* as the list has it */
        if (shown && !is_new(d, json_string_value(shown))) {
            unlink(path);
        }
        json_decref(shown);
    }
}

int document_end(document *d)
{
    bool whole = is_open(d);
    if (d->html) {
        fputs("</body>\n</html>\n", d->html);
        whole = fclose(d->html) == 0 && whole;
    }
    if (d->md) {
        whole = fclose(d->md) == 0 && whole;
    }
    if (whole) {
        write_file(d, "report.md", d->md_text, d->md_bytes);
        write_file(d, "report.html", d->html_text, d->html_bytes);
    } else if (d->status == CLI_OK) {
        asc_fail(d->ctx, ASC_ERR_MEMORY, "out of memory for the report");
    }
    if (d->status == CLI_OK && !asc_error(d->ctx)) {
        json_t *before = read_names(d);
        write_names(d);
        if (!asc_error(d->ctx)) {
            sweep(d, before);
        }
        json_decref(before);
    }
    d->status = d->status == CLI_OK ? cli_report(d->ctx) : d->status;
    free(d->md_text);
    free(d->html_text);
    return d->status;
}

/* ---- tables ---- */

void table_begin(table *t, document *d, const char *name, const char *title, const column *columns)
{
    *t = (table){.d = d, .columns = columns, .name = name};
    t->csv = open_memstream(&t->csv_text, &t->csv_bytes);
    if (!is_open(d) || !t->csv) {
        return;
    }
    fputs("\n**", d->md);
    md_text(d->md, title);
    fputs("**\n\n|", d->md);
    fputs("<div class=\"wide\"><table>\n<caption>", d->html);
    html_text(d->html, title);
    fputs("</caption>\n<tr>", d->html);
    for (const column *c = columns; c->title; c++) {
        fputs(c == columns ? "" : ",", t->csv);
        csv_text(t->csv, c->name);
        if (c->kind == COLUMN_SPREAD) {
            fprintf(t->csv, ",%s_std", c->name);
        }
        if (!c->absent) {
            fputs(" ", d->md);
            fputs(c->kind == COLUMN_TEXT ? "<th class=\"text\">" : "<th>", d->html);
            both_text(d, c->title);
            fputs(" |", d->md);
            fputs("</th>", d->html);
        }
    }
    fputs("\n", t->csv);
    fputs("\n|", d->md);
    for (const column *c = columns; c->title; c++) {
        fputs(c->absent ? "" : c->kind == COLUMN_TEXT ? " :-- |" : " --: |", d->md);
    }
    fputs("\n", d->md);
    fputs("</tr>\n", d->html);
}

/* One cell: its text on the pages; what goes to the CSV file is written by the caller. */
static void put_cell(table *t, const char *text)
{
    document *d = t->d;
    const column *c = &t->columns[t->at];
    if (t->at == 0) {
        fputs("|", d->md);
        fputs("<tr>", d->html);
    }
    if (!c->absent) {
        fputs(" ", d->md);
        fputs(c->kind == COLUMN_TEXT ? "<td class=\"text\">" : "<td>", d->html);
        both_text(d, text);
        fputs(" |", d->md);
        fputs("</td>", d->html);
    }
    t->at++;
    if (!t->columns[t->at].title) {
        t->at = 0;
        fputs("\n", t->csv);
        fputs("\n", d->md);
        fputs("</tr>\n", d->html);
    } else {
        fputs(",", t->csv);
    }
}

/* In the column's digits, where the number has few before them. */
static void format_number(const column *c, double value, char text[40])
{
    if (isnan(value)) {
        snprintf(text, 40, "-");
    } else if (c->digits < 0 || !(fabs(value) < 1e15)) {
        snprintf(text, 40, "%.4g", value);
    } else {
        snprintf(text, 40, "%.*f", c->digits, value);
    }
}

void table_text(table *t, const char *text)
{
    if (is_open(t->d) && t->csv) {
        csv_text(t->csv, text ? text : "");
        put_cell(t, text ? text : "-");
    }
}

void table_noted(table *t, const char *text, const char *note)
{
    char shown[200];
    if (is_open(t->d) && t->csv) {
        csv_text(t->csv, text);
        snprintf(shown, sizeof shown, "%s%s", text, note);
        put_cell(t, shown);
    }
}

void table_number(table *t, double value)
{
    char shown[40];
    if (is_open(t->d) && t->csv) {
        csv_number(t->csv, value);
        format_number(&t->columns[t->at], value, shown);
        put_cell(t, shown);
    }
}

void table_spread(table *t, double mean, double std, const char *mark)
{
    char shown[100], deviation[40];
    if (!is_open(t->d) || !t->csv) {
        return;
    }
    csv_number(t->csv, mean);
    fputs(",", t->csv);
    csv_number(t->csv, std);
    format_number(&t->columns[t->at], mean, shown);
    if (isfinite(mean) && isfinite(std)) {
        format_number(&t->columns[t->at], std, deviation);
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), " \xc2\xb1 %s", deviation);
    }
    snprintf(shown + strlen(shown), sizeof shown - strlen(shown), "%s", mark ? mark : "");
    put_cell(t, shown);
}

void table_end(table *t)
{
    char name[200];
    if (t->csv) {
        fclose(t->csv);
    }
    if (is_open(t->d) && t->csv_text) {
        fputs("\n", t->d->md);
        fputs("</table></div>\n", t->d->html);
        snprintf(name, sizeof name, "tables/%s.csv", t->name);
        write_file(t->d, name, t->csv_text, t->csv_bytes);
    }
    free(t->csv_text);
}
