/* tensor/ctx.c: the context's life, its errors and its memory. */
#include "tensor/ctx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/blas.h"

static void *default_alloc(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *p = NULL;
    return posix_memalign(&p, align, bytes) == 0 ? p : NULL;
}

static void default_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static void tell_advice(const asc_options *o)
{
    asc_machine m = asc_machine_info();
    char text[200];
    if (o->message && m.isa_refused) {
        snprintf(text, sizeof text, "ASCGRAD_ISA: got '%s', expected plain, avx2 or avx512; it is passed over",
                 m.isa_refused);
        o->message(o->message_user, text);
    }
    if (o->message && m.blas_serial) {
        o->message(o->message_user, "OpenBLAS is built without threads: matrix products run one at a time; with a "
                                    "build for POSIX threads or OpenMP they use all threads");
    }
    if (o->message && m.blas_advice) {
        snprintf(text, sizeof text, "OpenBLAS runs its kernels for %s, at about half this processor's speed; set "
                 "OPENBLAS_CORETYPE=%s before the process starts", m.blas_core, m.blas_advice);
        o->message(o->message_user, text);
    }
}

asc_ctx *asc_ctx_new(const asc_options *options)
{
    asc_options o = options ? *options : (asc_options){0};
    if (!o.allocator.alloc || !o.allocator.free) {
        o.allocator = (asc_allocator){default_alloc, default_free, NULL};
    }
    asc_ctx *ctx = o.allocator.alloc(o.allocator.user, sizeof *ctx, 64);
    if (!ctx) {
        return NULL;
    }
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = o.allocator;
    ctx->memory = (asc_memory_stats){sizeof *ctx, sizeof *ctx, 1};
    ctx->seed = o.seed;
    ctx->note = o.message;
    ctx->note_user = o.message_user;
    ctx->recording = true;
    if (asc_pool_new(ctx) || asc_workers_new(ctx, o.threads)) {
        asc_ctx_free(ctx);
        return NULL;
    }
    asc_blas_threads(1);
    tell_advice(&o);
    return ctx;
}

void asc_ctx_free(asc_ctx *ctx)
{
    if (!ctx) {
        return;
    }
    if (ctx->tape.free) {
        ctx->tape.free(ctx);
    }
    asc_nodes_free(ctx);
    asc_pool_free(ctx);
    asc_workers_free(ctx);
    asc_free(ctx, ctx->added, ctx->cap_added * sizeof *ctx->added);
    asc_free(ctx, ctx->scoped, ctx->cap_scoped * sizeof *ctx->scoped);
    asc_free(ctx, ctx->scopes, ctx->cap_scopes * sizeof *ctx->scopes);
    asc_allocator a = ctx->allocator;
    a.free(a.user, ctx, sizeof *ctx);
}

int asc_threads(const asc_ctx *ctx)
{
    return ctx ? ctx->threads : 0;
}

asc_status asc_error(const asc_ctx *ctx)
{
    return ctx ? ctx->status : ASC_ERR_MEMORY;
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

static void record(asc_ctx *ctx, asc_status status, const char *subject, const char *format, va_list args)
{
    if (ctx && ctx->status == ASC_OK && !format) {
        ctx->status = status;
        strcpy(ctx->message, "fail: format is NULL");
    } else if (ctx && ctx->status == ASC_OK) {
        ctx->status = status;
        snprintf(ctx->subject, sizeof ctx->subject, "%s", subject);
        ctx->detail = strlen(ctx->subject);
        memcpy(ctx->message, ctx->subject, ctx->detail);
        vsnprintf(ctx->message + ctx->detail, sizeof ctx->message - ctx->detail, format, args);
    }
}

asc_status asc_fail(asc_ctx *ctx, asc_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(ctx, status, "", format, args);
    va_end(args);
    return status;
}

asc_status asc_fail_on(asc_ctx *ctx, asc_status status, const char *subject, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(ctx, status, subject ? subject : "", format, args);
    va_end(args);
    return status;
}

void asc_note(asc_ctx *ctx, const char *format, ...)
{
    char text[1024];
    if (ctx && ctx->note) {
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        ctx->note(ctx->note_user, text);
    }
}

void asc_error_place(asc_ctx *ctx, const char *place)
{
    if (asc_error(ctx) != ASC_OK && ctx) {
        char message[sizeof ctx->message];
        snprintf(message, sizeof message, "%s%s%s", place, *place ? ": " : "", ctx->message + ctx->place);
        size_t subject = ctx->detail - ctx->place, before = *place ? strlen(place) + 2 : 0;
        ctx->place = before < sizeof message - 1 ? before : sizeof message - 1;
        ctx->detail = ctx->place + subject < sizeof message - 1 ? ctx->place + subject : sizeof message - 1;
        memcpy(ctx->message, message, sizeof message);
    }
}

asc_status asc_memory_check(asc_ctx *ctx, const char *what, double bytes)
{
    const double gib = 1024.0 * 1024 * 1024, all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes > all) {
        return asc_fail(ctx, ASC_ERR_MEMORY, "%s %.1f GiB, more than the machine's memory of %.1f GiB", what,
                        bytes / gib, all / gib);
    }
    return ASC_OK;
}

void *asc_alloc(asc_ctx *ctx, size_t bytes)
{
    if (!ctx) {
        return NULL;
    }
    size_t take = bytes ? bytes : 1;
    void *p = ctx->allocator.alloc(ctx->allocator.user, take, 64);
    if (!p) {
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory: %zu bytes, with %zu held", bytes, ctx->memory.bytes);
        return NULL;
    }
    ctx->memory.allocations++;
    ctx->memory.bytes += take;
    if (ctx->memory.bytes > ctx->memory.peak_bytes) {
        ctx->memory.peak_bytes = ctx->memory.bytes;
    }
    return p;
}

void asc_free(asc_ctx *ctx, void *memory, size_t bytes)
{
    if (ctx && memory) {
        size_t take = bytes ? bytes : 1;
        ctx->memory.bytes -= take;
        ctx->allocator.free(ctx->allocator.user, memory, take);
    }
}

asc_memory_stats asc_memory(const asc_ctx *ctx)
{
    return ctx ? ctx->memory : (asc_memory_stats){0};
}

bool asc_grow(asc_ctx *ctx, void **array, size_t *capacity, size_t need, size_t element)
{
    if (need <= *capacity) {
        return true;
    }
    size_t grown = *capacity ? *capacity * 2 : 64;
    while (grown < need) {
        grown *= 2;
    }
    void *p = asc_alloc(ctx, grown * element);
    if (!p) {
        return false;
    }
    if (*array) {
        memcpy(p, *array, *capacity * element);
        asc_free(ctx, *array, *capacity * element);
    }
    *array = p;
    *capacity = grown;
    return true;
}
