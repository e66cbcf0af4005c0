/* tools/cli.c: messages, exit statuses, JSON output. */
#include "tools/cli.h"
#include "tools/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/limited.h"
#include "tools/room.h"

static const char *program_name = "ascgrad", *command_name;
static int output_error; /* stdout's first; the stream knows that there was one, and errno is another's by the end */

void cli_begin(const char *program, const char *name)
{
    program_name = program;
    command_name = name;
}

const char *cli_program(void)
{
    return program_name;
}

/* A message is one write, so that no other process's comes between its parts. */
void cli_message_at_once(const char *text)
{
    const char *const parts[] = {"ascgrad", command_name ? " " : "", command_name ? command_name : "", ": ", text};
    char line[1400];
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const char *c = parts[i]; *c && n < sizeof line - 1; c++) {
            line[n++] = *c;
        }
    }
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, n);
}

static void write_message(FILE *out, const char *format, va_list args)
{
    fprintf(out, command_name ? "ascgrad %s: " : "ascgrad: ", command_name);
    cli_vprint_to(out, strchr(format, '\n') != NULL, format, args); /* a name is not to make another line of it */
    fputc('\n', out);
}

static void message(const char *format, va_list args)
{
    char *line = NULL;
    size_t n = 0;
    va_list again;
    va_copy(again, args);
    FILE *whole = open_memstream(&line, &n);
    cli_flush();
    if (whole) {
        write_message(whole, format, args);
    }
    if (whole && fclose(whole) == 0) {
        fwrite(line, 1, n, stderr);
    } else { /* without memory in pieces */
        write_message(stderr, format, again);
    }
    va_end(again);
    free(line);
}

void cli_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!ranks_follower()) {
        message(format, args);
    }
    va_end(args);
}

void cli_wrong_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (ranks_follower()) {
        sleep(2); /* rank 0 finds the same, and says so: its launcher is not to end it before */
    } else {
        message(format, args);
    }
    va_end(args);
    exit(CLI_USAGE);
}

int cli_exit_of(asc_status status)
{
    switch (status) {
    case ASC_OK: return CLI_OK;
    case ASC_ERR_ARG: return CLI_USAGE;
    case ASC_ERR_NONFINITE: return CLI_FAILED;
    case ASC_ERR_INTERRUPTED: return CLI_INTERRUPTED;
    case ASC_ERR_MEMORY:
    case ASC_ERR_IO:
    case ASC_ERR_FORMAT:
    case ASC_ERR_STATE: break;
    }
    return CLI_IO;
}

int cli_worse(int a, int b)
{
    return a > b ? a : b;
}

void cli_catch_hangup(const struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, action, NULL);
    }
}

/* Who gave "--min-lr" or "--dim" is to read that, where the library speaks of "min_lr" or "d_model". */
static void report_argument(const asc_ctx *ctx)
{
    static const char missing[] = " is missing", config[] = "config: "; /* the library's argument, and no option's */
    const char *subject = asc_error_subject(ctx);
    const cli_option *option = subject ? cli_option_of(subject) : NULL;
    if (subject && !option && strncmp(asc_error_detail(ctx), missing, strlen(missing)) == 0) {
        option = cli_known_option(subject); /* which would have given it */
    }
    if (option) {
        cli_message("--%s%s", option->name, asc_error_detail(ctx));
    } else {
        const char *message = asc_error_message(ctx);
        cli_message("%s", message + (strncmp(message, config, strlen(config)) == 0 ? strlen(config) : 0));
    }
}

int cli_report(const asc_ctx *ctx)
{
    if (asc_error(ctx) == ASC_ERR_ARG) {
        report_argument(ctx);
    } else if (asc_error(ctx) != ASC_OK) {
        cli_message("%s", asc_error_message(ctx));
    }
    return cli_exit_of(asc_error(ctx));
}

/* What the library has to say of files. What it says of BLAS while the context is made stays with `ascgrad info`. */
static void pass_on(void *user, const char *text)
{
    if (*(const bool *)user) {
        cli_message("%s", text);
    }
}

static asc_ctx *open_ctx(int64_t threads)
{
    static bool made;
    made = false;
    room_check(threads);
    asc_options options = {
        .allocator = limited_allocator(), .threads = (int)threads, .message = pass_on, .message_user = &made};
    asc_ctx *ctx = asc_ctx_new(&options);
    if (!ctx) {
        cli_message("out of memory, or of threads");
        exit(CLI_IO);
    }
    made = true;
    return ctx;
}

static void tell_threads(const asc_ctx *ctx)
{
    asc_machine m = asc_machine_info();
    int threads = asc_threads(ctx);
    if (threads > m.processors) {
        cli_message("%d threads take turns on %d processor%s; --threads %d is faster", threads, m.processors,
                    m.processors == 1 ? "" : "s", m.processors);
    }
    if (cli_verbose()) {
        cli_message("%d thread%s on %d processor%s, kernels for %s, %s", threads, threads == 1 ? "" : "s",
                    m.processors, m.processors == 1 ? "" : "s", m.isa, m.blas ? m.blas : "BLAS");
    }
}

asc_ctx *cli_ctx_new(int64_t threads)
{
    asc_ctx *ctx = open_ctx(threads);
    tell_threads(ctx);
    return ctx;
}

asc_ctx *cli_ctx_new_first(void)
{
    return open_ctx(1);
}

void cli_set_threads(asc_ctx *ctx, int threads)
{
    room_check(threads);
    asc_set_threads(ctx, threads);
    tell_threads(ctx);
}

void *cli_room(asc_ctx *ctx, int64_t n, size_t size)
{
    return asc_data_mut(asc_zeros(ctx, ASC_U8, 2, (int64_t[]){n > 0 ? n : 1, (int64_t)size}));
}

asc_dataset *cli_open_run_data(asc_ctx *ctx, const asc_model *model)
{
    asc_dataset *data = asc_dataset_open(ctx, model->data);
    asc_status status = asc_error(ctx);
    if (status == ASC_ERR_ARG || status == ASC_ERR_IO) {
        char why[1024];
        snprintf(why, sizeof why, "%s", asc_error_message(ctx));
        asc_error_clear(ctx);
        asc_fail(ctx, status == ASC_ERR_ARG ? ASC_ERR_FORMAT : status, "the data of %s: %s; --data names another",
                 model->run, why);
    }
    return data;
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

size_t cli_utf8_length(const char *text, size_t n)
{
    for (size_t length = 1; length <= 4 && length <= n; length++) {
        json_t *one = json_stringn(text, length);
        if (one) {
            json_decref(one);
            return length;
        }
    }
    return 0;
}

size_t cli_utf8_end(const char *text, size_t n)
{
    size_t at = 0;
    for (size_t length; at < n && (length = cli_utf8_length(text + at, n - at)) > 0; at += length) {
    }
    return at;
}

json_t *cli_json_text(const char *text, size_t n)
{
    static const char replacement[] = "\xef\xbf\xbd";
    json_t *whole = json_stringn(text, n);
    if (whole) {
        return whole;
    }
    char *valid = malloc(3 * n + 1);
    size_t used = 0;
    for (size_t i = 0; valid && i < n;) {
        size_t length = cli_utf8_length(text + i, n - i);
        memcpy(valid + used, length ? text + i : replacement, length ? length : 3);
        used += length ? length : 3;
        i += length ? length : 1;
    }
    whole = valid ? json_stringn(valid, used) : NULL;
    free(valid);
    return whole;
}

json_t *cli_json_string(const char *text)
{
    return cli_json_text(text, strlen(text));
}

void cli_list_models(const char *lead, char *text, size_t size)
{
    int n = snprintf(text, size, "%s:", lead);
    for (int i = 0; asc_mixing_at(NULL, i) && n >= 0 && (size_t)n < size; i++) {
        n += snprintf(text + n, size - (size_t)n, "%s %s", i ? "," : "", asc_mixing_at(NULL, i));
    }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cli_sort(double *x, int64_t n)
{
    if (n > 0) { /* where x may be NULL */
        qsort(x, (size_t)n, sizeof *x, rising);
    }
}

double cli_median(double *x, int64_t n)
{
    cli_sort(x, n);
    return n > 0 ? (x[(n - 1) / 2] + x[n / 2]) / 2 : NAN;
}

double cli_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int cli_print_json(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_ENSURE_ASCII) : NULL;
    json_decref(object);
    if (!text) {
        cli_message("no memory for the result");
        return CLI_IO;
    }
    puts(text);
    free(text);
    return CLI_OK;
}

bool cli_flush(void)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (!written && !output_error) {
        output_error = errno;
    }
    return written;
}

int cli_finish(int status)
{
    if (cli_flush() || output_error == EPIPE) { /* whoever read has read enough */
        return status;
    }
    cli_message("standard output: %s", strerror(output_error));
    return CLI_IO;
}
