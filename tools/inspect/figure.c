/* tools/inspect/figure.c: gnuplot scripts, and running gnuplot on them. */
#include "tools/inspect/figure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ascgrad/file.h>

enum { STEM_MAX = 4096, NO_PROGRAM = 127 };

/* ---- the script ---- */

void figure_quote(figure *f, const char *text)
{
    fputc('\'', f->out);
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("''", f->out);
        } else {
            fputc((unsigned char)*text < ' ' ? ' ' : *text, f->out);
        }
    }
    fputc('\'', f->out);
}

void figure_begin(figure *f, const char *title, int width, int height)
{
    *f = (figure){.width = width, .height = height};
    f->out = open_memstream(&f->text, &f->bytes);
    if (f->out) {
        fprintf(f->out, "set encoding utf8\nset multiplot\nset tics nomirror out scale 0.4\nset key noenhanced\n"
                        "set label ");
        figure_quote(f, title);
        fprintf(f->out, " at screen %.5f, screen %.5f left noenhanced font ',11'\n", 12.0 / width, 1 - 18.0 / height);
    }
}

void figure_note(figure *f, double x, double y, bool turned, const char *text)
{
    if (!f->out) {
        return;
    }
    fprintf(f->out, "set label ");
    figure_quote(f, text);
    fprintf(f->out, " at screen %.5f, screen %.5f %s noenhanced\n", x / f->width, 1 - y / f->height,
            turned ? "center rotate by 90" : "left");
}

int figure_block(figure *f)
{
    return f->blocks++;
}

void figure_panel(figure *f, const figure_box *b, const char *title)
{
    fprintf(f->out, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n", b->left / f->width,
            (b->left + b->width) / f->width);
    fprintf(f->out, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - b->top / f->height,
            1 - (b->top + b->height) / f->height);
    fprintf(f->out, "set title ");
    figure_quote(f, title);
    fprintf(f->out, " noenhanced offset 0, -0.5\n");
}

/* ---- running it ---- */

/* The program to run into `path`: the one that ASCGRAD_GNUPLOT names, or gnuplot of the search path. */
static bool find_gnuplot(char path[STEM_MAX])
{
    const char *given = getenv("ASCGRAD_GNUPLOT"), *name = given && *given ? given : "gnuplot";
    if (strchr(name, '/')) {
        char *full = realpath(name, NULL); /* it is run from another folder */
        bool found = full && strlen(full) < STEM_MAX && access(full, X_OK) == 0;
        if (found) {
            strcpy(path, full);
        }
        free(full);
        return found;
    }
    const char *from = getenv("PATH");
    while (from && *from) {
        size_t n = strcspn(from, ":");
        int written = snprintf(path, STEM_MAX, "%.*s/%s", (int)n, n ? from : ".", name);
        if (written < STEM_MAX && *path == '/' && access(path, X_OK) == 0) {
            return true;
        }
        from += n + (from[n] == ':');
    }
    return false;
}

/* In the child: gnuplot in the script's folder, what it says to stderr. No shell is between. */
static _Noreturn void become(const char *program, const char *folder, const char *script, const char *format)
{
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
        chdir(folder) == 0) {
        execl(program, program, "-c", script, format, (char *)NULL);
    }
    _exit(NO_PROGRAM);
}

static bool run_gnuplot(const char *program, const char *folder, const char *script, const char *format)
{
    setenv("LC_ALL", "C.UTF-8", 1); /* as the script: in the C locale gnuplot warns that it has no degree sign */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        become(program, folder, script, format);
    }
    int result = -1;
    while (child > 0 && waitpid(child, &result, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

/* ---- files ---- */

/* What comes before the panels; it needs to know the files' name, which may be any. */
static void write_head(FILE *out, const figure *f, const char *name)
{
    figure to = {.out = out};
    fprintf(out, "# Written by ascgrad inspect. To draw it again: gnuplot -c FILE.gp, or gnuplot -c FILE.gp svg\n"
                 "svg = exists('ARGC') && ARGC > 0 && ARG1 eq 'svg'\nstem = ");
    figure_quote(&to, name);
    fprintf(out,
            "\nset output stem . (svg ? '.svg' : '.png')\n"
            "if (svg) { set terminal svg size %d, %d enhanced standalone background 'white' font 'sans-serif,10.5' }\n"
            "if (!svg && strstrt(GPVAL_TERMINALS, 'pngcairo')) "
            "{ set terminal pngcairo size %d, %d enhanced font 'sans-serif,8' }\n"
            "if (!svg && !strstrt(GPVAL_TERMINALS, 'pngcairo')) "
            "{ set terminal png size %d, %d enhanced font 'sans-serif,8' }\n",
            f->width, f->height, f->width, f->height, f->width, f->height);
}

static asc_status write_script(asc_ctx *ctx, const figure *f, const char *path, const char *name)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) {
        write_head(out, f, name);
        fwrite(f->text, 1, f->bytes, out);
    }
    asc_status status = !out || fclose(out) ? asc_fail(ctx, ASC_ERR_MEMORY, "%s: out of memory", path)
                                            : asc_file_write_atomic(ctx, path, text, bytes);
    free(text);
    return status;
}

/* Draws FOLDER/NAME.gp, whose path is `script`. */
static int draw(const char *script, const char *folder, const char *name, json_t *files)
{
    static bool told;
    static const char *const formats[] = {"png", "svg"};
    char program[STEM_MAX], here[STEM_MAX];
    if (!find_gnuplot(program)) {
        if (!told) {
            cli_message(
                "gnuplot was not found, so figures are scripts only; install it (the package gnuplot or gnuplot-nox), "
                "then: gnuplot -c %s",
                script);
        }
        told = true;
        return CLI_OK;
    }
    snprintf(here, sizeof here, "%s.gp", name);
    for (int i = 0; i < 2; i++) {
        if (!run_gnuplot(program, folder, here, formats[i])) {
            cli_message("%s failed on %s", program, script);
            return CLI_IO;
        }
        json_array_append_new(files, json_sprintf("%.*s%s", (int)(strlen(script) - 2), script, formats[i]));
    }
    return CLI_OK;
}

int figure_end(figure *f, asc_ctx *ctx, const char *stem, json_t *files)
{
    char script[STEM_MAX], folder[STEM_MAX];
    const char *slash = strrchr(stem, '/'), *name = slash ? slash + 1 : stem;
    int length = snprintf(script, sizeof script, "%s.gp", stem);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - stem + 1) : 1, slash ? stem : ".");
    if (f->out) {
        fputs("unset multiplot\n", f->out);
    }
    if (!f->out || fclose(f->out)) {
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory for a figure");
    } else if (length >= STEM_MAX) {
        asc_fail(ctx, ASC_ERR_ARG, "--out: the path is too long");
    } else if (write_script(ctx, f, script, name) == ASC_OK) {
        json_array_append_new(files, json_string(script));
    }
    free(f->text);
    int status = cli_report(ctx);
    return status == CLI_OK ? draw(script, folder, name, files) : status;
}
