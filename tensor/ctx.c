/* tensor/ctx.c: the context's life. */
#include "tensor/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        snprintf(text, sizeof text,
                 "ASCGRAD_ISA: got '%s', expected plain, avx2, avx512, avx512_bf16 or amx; it is passed over",
                 m.isa_refused);
        o->message(o->message_user, text);
    }
    if (o->message && m.products_refused) {
        snprintf(text, sizeof text, "ASCGRAD_PRODUCTS: got '%s', expected own or openblas; it is passed over",
                 m.products_refused);
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

uint64_t asc_next_seed(asc_ctx *ctx)
{
    return ctx ? ctx->first_seed + ++ctx->seeds_drawn * 0x9e3779b97f4a7c15u : 0;
}

asc_ctx *asc_ctx_new(const asc_options *options)
{
    asc_options o = options ? *options : (asc_options){0};
    if (!o.allocator.alloc != !o.allocator.free) {
        if (o.message) {
            o.message(o.message_user, "ctx_new: the allocator has one of alloc and free, expected both or none");
        }
        return NULL;
    }
    if (!o.allocator.alloc) {
        o.allocator = (asc_allocator){default_alloc, default_free, NULL};
    }
    asc_ctx *ctx = o.allocator.alloc(o.allocator.user, sizeof *ctx, 64);
    if (!ctx) {
        return NULL;
    }
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = o.allocator;
    ctx->memory = (asc_memory_stats){sizeof *ctx, sizeof *ctx, 1};
    ctx->seed = ctx->first_seed = o.seed;
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
    asc_nodes_drop(ctx);
    if (ctx->tape.free) {
        ctx->tape.free(ctx);
    }
    asc_nodes_free(ctx);
    asc_pool_free(ctx);
    asc_workers_free(ctx);
    asc_free(ctx, ctx->added, ctx->cap_added * sizeof *ctx->added);
    asc_free(ctx, ctx->config, ctx->cap_config);
    asc_free(ctx, ctx->scoped, ctx->cap_scoped * sizeof *ctx->scoped);
    asc_free(ctx, ctx->scopes, ctx->cap_scopes * sizeof *ctx->scopes);
    asc_allocator a = ctx->allocator;
    a.free(a.user, ctx, sizeof *ctx);
}

int asc_threads(const asc_ctx *ctx)
{
    return ctx ? ctx->threads : 0;
}
