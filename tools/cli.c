/* tools/cli.c: messages, exit statuses, JSON output. */
#include "tools/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *command_name;

void cli_begin(const char *name)
{
    command_name = name;
}

static void message(const char *format, va_list args)
{
    fflush(stdout);
    fprintf(stderr, command_name ? "ascgrad %s: " : "ascgrad: ", command_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void cli_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message(format, args);
    va_end(args);
}

void cli_wrong_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message(format, args);
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

int cli_report(const asc_ctx *ctx)
{
    if (asc_error(ctx) != ASC_OK) {
        cli_message("%s", asc_error_message(ctx));
    }
    return cli_exit_of(asc_error(ctx));
}

asc_ctx *cli_ctx_new(int64_t threads)
{
    asc_options options = {.threads = (int)threads};
    asc_ctx *ctx = asc_ctx_new(&options);
    if (!ctx) {
        cli_message("no memory, or no threads");
        exit(CLI_IO);
    }
    return ctx;
}

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

int cli_print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_ENSURE_ASCII);
    json_decref(object);
    if (!text) {
        cli_message("no memory for the result");
        return CLI_IO;
    }
    puts(text);
    free(text);
    return CLI_OK;
}

int cli_finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    if (errno == EPIPE) {
        return status; /* whoever read has read enough */
    }
    cli_message("standard output: %s", strerror(errno));
    return CLI_IO;
}
