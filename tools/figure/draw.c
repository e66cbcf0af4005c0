/* tools/figure/draw.c: runs gnuplot on a figure's script, and writes what comes of it. */
#include "tools/figure/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <program/file.h>

enum { PATH_BYTES = 4096, NO_PROGRAM = 127 };

static const struct format {
    const char *name;
    unsigned bit;
} formats[] = {
    {"csv", FIGURE_CSV}, {"gp", FIGURE_SCRIPT}, {"png", FIGURE_PNG}, {"svg", FIGURE_SVG}, {"pdf", FIGURE_PDF}};
enum { N_FORMATS = sizeof formats / sizeof *formats, PICTURES = FIGURE_PNG | FIGURE_SVG | FIGURE_PDF };

unsigned figure_format(const char *name, size_t n)
{
    for (int i = 0; i < N_FORMATS; i++) {
        if (strlen(formats[i].name) == n && strncmp(formats[i].name, name, n) == 0) {
            return formats[i].bit;
        }
    }
    return 0;
}

/* ---- gnuplot ---- */

/* The program to run into `path`. */
static bool find_gnuplot(char path[PATH_BYTES])
{
    const char *given = getenv("ASCGRAD_GNUPLOT"), *name = given && *given ? given : "gnuplot";
    if (strchr(name, '/')) {
        return snprintf(path, PATH_BYTES, "%s", name) < PATH_BYTES && access(path, X_OK) == 0;
    }
    const char *from = getenv("PATH");
    while (from && *from) {
        size_t n = strcspn(from, ":");
        int written = snprintf(path, PATH_BYTES, "%.*s/%s", (int)n, n ? from : ".", name);
        if (written < PATH_BYTES && *path == '/' && access(path, X_OK) == 0) {
            return true;
        }
        from += n + (from[n] == ':');
    }
    return false;
}

static int no_gnuplot(void)
{
    static bool told;
    if (!told) {
        cli_message("gnuplot was not found: no picture can be drawn, only data written (.csv); install it (the package "
                    "gnuplot or gnuplot-nox), or name it by ASCGRAD_GNUPLOT");
    }
    told = true;
    return CLI_IO;
}

int figure_find_gnuplot(void)
{
    char path[PATH_BYTES];
    return find_gnuplot(path) ? CLI_OK : no_gnuplot();
}

/* In the child. No shell is between, no file of the user's with settings is read (-d). */
static _Noreturn void become(const char *program, FILE *script, FILE *picture)
{
    if (dup2(fileno(script), STDIN_FILENO) >= 0 && dup2(fileno(picture), STDOUT_FILENO) >= 0) {
        execl(program, program, "-d", "-", (char *)NULL);
    }
    _exit(NO_PROGRAM);
}

static bool wait_for(pid_t child)
{
    int result = -1;
    while (child > 0 && waitpid(child, &result, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

static char *read_all(FILE *file, size_t *n)
{
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = end > 0 ? malloc((size_t)end) : NULL;
    rewind(file);
    *n = text ? fread(text, 1, (size_t)end, file) : 0;
    return text;
}

/* What gnuplot says to stdout of the script: new; NULL if it failed, which it says on stderr. */
static char *run_gnuplot(const char *program, const char *first, const char *script, size_t bytes, size_t *n)
{
    FILE *in = tmpfile(), *out = tmpfile();
    char *picture = NULL;
    if (in && out) {
        fputs(first, in);
        fwrite(script, 1, bytes, in);
        bool whole = fflush(in) == 0 && !ferror(in); /* rewind forgets it */
        rewind(in);
        setenv("LC_ALL", "C.UTF-8", 1); /* as the script: in the C locale gnuplot warns that it has no degree sign */
        fflush(NULL);
        pid_t child = whole ? fork() : -1;
        if (child == 0) {
            become(program, in, out);
        }
        picture = wait_for(child) ? read_all(out, n) : NULL;
    }
    if (in) {
        fclose(in);
    }
    if (out) {
        fclose(out);
    }
    return picture;
}

/* ---- scripts ---- */

/* What comes before the panels: the terminal of `format`, which is set or given as an argument. */
static void write_head(FILE *out, const figure *f)
{
    fprintf(out,
            "# Written by ascgrad. To draw it again: gnuplot -c FILE.gp svg >FILE.svg, or png, or pdf\n"
            "if (!exists('format')) { format = exists('ARGC') && ARGC > 0 ? ARG1 : 'png' }\n"
            "svg = format eq 'svg'\n"
            "if (svg) { set terminal svg size %d, %d enhanced standalone background 'white' font 'sans-serif,10.5' }\n"
            "if (format eq 'pdf') { set terminal pdfcairo size %.4fin, %.4fin enhanced font 'sans-serif,6' "
            "linewidth 0.75 }\n",
            f->width, f->height, f->width / 100.0, f->height / 100.0);
    fprintf(out,
            "if (format eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) "
            "{ set terminal pngcairo size %d, %d enhanced font 'sans-serif,8' }\n"
            "if (format eq 'png' && !strstrt(GPVAL_TERMINALS, 'pngcairo')) "
            "{ set terminal png truecolor size %d, %d enhanced font 'sans-serif,8' }\n",
            f->width, f->height, f->width, f->height);
}

/* The whole script; new, NULL without memory. */
static char *whole_script(const figure *f, size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (out) {
        write_head(out, f);
        fwrite(f->text, 1, f->bytes, out);
    }
    if (!out || fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

/* Ends what is written into memory; false without it. */
static bool close_streams(figure *f)
{
    bool there = f->out && f->csv;
    if (f->out) {
        fputs("unset multiplot\n", f->out);
        there = fclose(f->out) == 0 && there;
    }
    if (f->csv) {
        there = fclose(f->csv) == 0 && there;
    }
    return there;
}

/* ---- files ---- */

static int draw(asc_ctx *ctx, const char *script, size_t bytes, const struct format *format, const char *path)
{
    char program[PATH_BYTES], first[64];
    size_t n;
    if (!find_gnuplot(program)) {
        return no_gnuplot();
    }
    snprintf(first, sizeof first, "format = '%s'\n", format->name);
    char *picture = run_gnuplot(program, first, script, bytes, &n);
    if (!picture) {
        cli_message("%s failed on %s", program, path);
        return CLI_IO;
    }
    asc_file_write_atomic(ctx, path, picture, n);
    free(picture);
    return cli_report(ctx);
}

static int write_format(const figure *f, asc_ctx *ctx, const char *script, size_t bytes, const struct format *format,
                        const char *path)
{
    if (format->bit & PICTURES) {
        return draw(ctx, script, bytes, format, path);
    }
    if (format->bit == FIGURE_CSV) {
        asc_file_write_atomic(ctx, path, f->table, f->table_bytes);
    } else {
        asc_file_write_atomic(ctx, path, script, bytes);
    }
    return cli_report(ctx);
}

static int write_formats(const figure *f, asc_ctx *ctx, const char *stem, unsigned wanted, json_t *files)
{
    size_t bytes;
    char *script = whole_script(f, &bytes), path[PATH_BYTES];
    int worst = script ? CLI_OK : CLI_IO;
    for (int i = 0; i < N_FORMATS && script && asc_error(ctx) == ASC_OK; i++) {
        if (!(wanted & formats[i].bit)) {
            continue;
        }
        if (snprintf(path, sizeof path, "%s.%s", stem, formats[i].name) >= PATH_BYTES) {
            asc_fail(ctx, ASC_ERR_ARG, "%.40s...: the path is too long", stem);
            worst = cli_report(ctx);
            break;
        }
        int status = write_format(f, ctx, script, bytes, &formats[i], path);
        worst = status > worst ? status : worst;
        if (status == CLI_OK && files) {
            json_array_append_new(files, cli_json_string(path));
        }
    }
    free(script);
    return worst;
}

/* Ends what is written into memory, and reports where that had none. */
static int finish(figure *f, asc_ctx *ctx)
{
    if (!close_streams(f)) {
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory for a figure");
    }
    return cli_report(ctx);
}

static void drop(figure *f)
{
    free(f->text);
    free(f->table);
}

int figure_end(figure *f, asc_ctx *ctx, const char *stem, unsigned wanted, json_t *files)
{
    int status = finish(f, ctx);
    status = status == CLI_OK ? write_formats(f, ctx, stem, wanted, files) : status;
    drop(f);
    return status;
}

bool figure_is_strange(const char *path)
{
    char line[sizeof FIGURE_COLUMNS + 1] = "";
    FILE *file = asc_file_read(path);
    bool strange = file && fgets(line, sizeof line, file) && strcmp(line, FIGURE_COLUMNS "\n") != 0;
    if (file) {
        fclose(file);
    }
    return strange;
}

int figure_write_csv(figure *f, asc_ctx *ctx, const char *path, json_t *files)
{
    int status = finish(f, ctx);
    if (status == CLI_OK) {
        asc_file_write_atomic(ctx, path, f->table, f->table_bytes);
        status = cli_report(ctx);
    }
    if (status == CLI_OK && files) {
        json_array_append_new(files, cli_json_string(path));
    }
    drop(f);
    return status;
}

/* ---- terminals ---- */

int figure_print(figure *f, asc_ctx *ctx, int columns, int rows, bool colour)
{
    char program[PATH_BYTES], first[120];
    size_t n = 0;
    snprintf(first, sizeof first, "format = 'characters'\nsvg = 0\nset terminal dumb size %d, %d %s\n", columns, rows,
             colour ? "ansi256" : "mono");
    int status = finish(f, ctx);
    if (status == CLI_OK) {
        status = find_gnuplot(program) ? CLI_OK : no_gnuplot();
    }
    if (status == CLI_OK) {
        char *picture = run_gnuplot(program, first, f->text, f->bytes, &n);
        if (picture) {
            fwrite(picture, 1, n, stdout);
            puts("");
        } else {
            cli_message("%s failed", program);
            status = CLI_IO;
        }
        free(picture);
    }
    drop(f);
    return status;
}
