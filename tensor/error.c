/* tensor/error.c: the first error of a context. */
#include "tensor/ctx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/locale.h"

asc_status asc_error(const asc_ctx *ctx)
{
    return ctx ? ctx->status : ASC_ERR_MEMORY;
}

const char *asc_status_name(asc_status status)
{
    switch (status) {
    case ASC_OK: return "ok";
    case ASC_ERR_ARG: return "wrong argument";
    case ASC_ERR_MEMORY: return "out of memory";
    case ASC_ERR_IO: return "input or output failed";
    case ASC_ERR_FORMAT: return "wrong format";
    case ASC_ERR_STATE: return "wrong time";
    case ASC_ERR_NONFINITE: return "not finite";
    case ASC_ERR_INTERRUPTED: return "interrupted";
    }
    return "unknown status";
}

const char *asc_error_message(const asc_ctx *ctx)
{
    return ctx ? ctx->message : "out of memory";
}

const char *asc_error_subject(const asc_ctx *ctx)
{
    return ctx && ctx->subject[0] ? ctx->subject : NULL;
}

const char *asc_error_detail(const asc_ctx *ctx)
{
    return asc_error_message(ctx) + (ctx ? ctx->detail : 0);
}

void asc_error_clear(asc_ctx *ctx)
{
    if (ctx) {
        ctx->status = ASC_OK;
        ctx->message[0] = ctx->subject[0] = 0;
        ctx->place = ctx->detail = 0;
    }
}

asc_error_state asc_error_put_by(asc_ctx *ctx)
{
    asc_error_state e = {.status = ctx->status, .place = ctx->place, .detail = ctx->detail};
    memcpy(e.message, ctx->message, sizeof e.message);
    memcpy(e.subject, ctx->subject, sizeof e.subject);
    asc_error_clear(ctx);
    return e;
}

void asc_error_put_back(asc_ctx *ctx, const asc_error_state *e)
{
    ctx->status = e->status;
    ctx->place = e->place;
    ctx->detail = e->detail;
    memcpy(ctx->message, e->message, sizeof e->message);
    memcpy(ctx->subject, e->subject, sizeof e->subject);
}

enum { LONG = 8192 }; /* bytes of a message, with two paths of the system's longest, before it is made to fit */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Copies a text. Of one that is too long the middle is left out, as the reason stands at the end, behind a path. Where
 * the byte at `at` has gone is returned. */
static size_t fit(char *to, size_t size, const char *text, size_t at)
{
    static const char dots[] = "...";
    size_t n = strlen(text), head = size / 2, rest = n - size + head + sizeof dots;
    if (n < size) {
        memcpy(to, text, n + 1);
        return at;
    }
    while (head > 0 && !begins_character(text[head])) {
        head--;
    }
    while (!begins_character(text[rest])) {
        rest++;
    }
    memcpy(to, text, head);
    memcpy(to + head, dots, sizeof dots - 1);
    memcpy(to + head + sizeof dots - 1, text + rest, n - rest + 1);
    return at <= head ? at : head + sizeof dots - 1 + (at < rest ? 0 : at - rest);
}

/* A status of what somebody's function returned, whatever that is. */
static asc_status known(asc_status status)
{
    return (unsigned)status <= ASC_ERR_INTERRUPTED ? status : ASC_ERR_ARG;
}

static asc_status record(asc_ctx *ctx, asc_status given, const char *subject, const char *format, va_list args)
{
    asc_status status = known(given);
    if (!ctx || ctx->status != ASC_OK || status == ASC_OK) {
        return status;
    }
    if (!format) {
        ctx->status = status;
        strcpy(ctx->message, "fail: format is NULL");
    } else {
        ctx->status = status;
        snprintf(ctx->subject, sizeof ctx->subject, "%s", subject);
        ctx->detail = strlen(ctx->subject);
        memcpy(ctx->message, ctx->subject, ctx->detail);
        char text[LONG];
        asc_vsnprintf(text, sizeof text, format, args);
        fit(ctx->message + ctx->detail, sizeof ctx->message - ctx->detail, text, 0);
    }
    return status;
}

asc_status asc_fail(asc_ctx *ctx, asc_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    status = record(ctx, status, "", format, args);
    va_end(args);
    return status;
}

asc_status asc_reason(asc_ctx *ctx, asc_status status, const char *who, const char *function)
{
    return asc_fail(ctx, status, "%s: its %s failed without a message", who, function);
}

asc_status asc_fail_on(asc_ctx *ctx, asc_status status, const char *subject, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    status = record(ctx, status, subject ? subject : "", format, args);
    va_end(args);
    return status;
}

void asc_note(asc_ctx *ctx, const char *format, ...)
{
    char text[1024], whole[LONG];
    if (ctx && ctx->note) {
        va_list args;
        va_start(args, format);
        asc_vsnprintf(whole, sizeof whole, format, args);
        va_end(args);
        fit(text, sizeof text, whole, 0);
        ctx->note(ctx->note_user, text);
    }
}

void asc_error_place(asc_ctx *ctx, const char *place)
{
    if (asc_error(ctx) != ASC_OK && ctx) {
        char message[LONG];
        snprintf(message, sizeof message, "%s%s%s", place, *place ? ": " : "", ctx->message + ctx->place);
        size_t n = strlen(message), subject = ctx->detail - ctx->place, before = *place ? strlen(place) + 2 : 0;
        size_t detail = before + subject < n ? before + subject : n;
        ctx->place = fit(ctx->message, sizeof ctx->message, message, before < n ? before : n);
        ctx->detail = fit(ctx->message, sizeof ctx->message, message, detail);
    }
}

/* Gives the error another status, and another message, about no argument of the caller's. */
static void restate(asc_ctx *ctx, asc_status status, const char *where, const char *message, const char *after)
{
    char text[LONG];
    snprintf(text, sizeof text, "%s%s%s%s", where, *where ? ": " : "", message, after);
    asc_error_clear(ctx);
    asc_fail(ctx, status, "%s", text);
}

void asc_error_extend(asc_ctx *ctx, const char *where, const char *after)
{
    if (asc_error(ctx) != ASC_OK) {
        restate(ctx, asc_error(ctx), where, asc_error_message(ctx), after);
    }
}

void asc_error_blame(asc_ctx *ctx, const char *file)
{
    if (asc_error(ctx) == ASC_ERR_ARG) {
        asc_error_place(ctx, "");
        restate(ctx, ASC_ERR_FORMAT, file, asc_error_message(ctx), "");
    }
}
