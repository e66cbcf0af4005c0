/* tensor/node.c: nodes, handles and scopes. */
#include "tensor/ctx.h"

#include <string.h>

struct asc_slab {
    struct asc_slab *next;
    asc_tags *tags;
    asc_node nodes[ASC_TAGS];
};

static uint64_t generation_of(const asc_tag *tag)
{
    return atomic_load_explicit(&tag->generation, memory_order_relaxed);
}

static asc_node *node_at(const asc_tag *tag)
{
    return atomic_load_explicit(&tag->node, memory_order_relaxed);
}

asc_node *asc_node_of(asc_tensor t)
{
    return t.tag && generation_of(t.tag) == t.generation ? node_at(t.tag) : NULL;
}

asc_ctx *asc_ctx_of(asc_tensor t)
{
    asc_node *node = t.tag ? node_at(t.tag) : NULL;
    return node && t.generation >= atomic_load_explicit(&t.tag->lent, memory_order_relaxed) ? node->ctx : NULL;
}

asc_tensor asc_handle(asc_node *node)
{
    return node ? (asc_tensor){node->tag, generation_of(node->tag)} : asc_null();
}

static bool add_slab(asc_ctx *ctx)
{
    struct asc_slab *slab = asc_alloc(ctx, sizeof *slab);
    asc_tags *tags = slab ? asc_tags_take() : NULL;
    if (!tags) {
        asc_free(ctx, slab, sizeof *slab);
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory: handles of %d tensors", ASC_TAGS);
        return false;
    }
    memset(slab, 0, sizeof *slab);
    slab->tags = tags;
    slab->next = ctx->slabs;
    ctx->slabs = slab;
    for (int i = ASC_TAGS - 1; i >= 0; i--) {
        slab->nodes[i].tag = &tags->tag[i];
        atomic_store_explicit(&tags->tag[i].node, &slab->nodes[i], memory_order_relaxed);
        slab->nodes[i].ctx = ctx;
        slab->nodes[i].next = ctx->free_nodes;
        ctx->free_nodes = &slab->nodes[i];
    }
    return true;
}

/* Lets go of what the node of a tensor that is gone has held. Last, so that the caller's function, which may be called
 * for wrapped memory, and may release other tensors, finds all in order. */
static void drop_held(asc_ctx *ctx, asc_node *n)
{
    asc_node *grad = n->grad;
    asc_storage *storage = n->storage;
    asc_record *record = n->record;
    n->grad = NULL;
    n->storage = NULL;
    n->record = NULL;
    asc_node_unref(grad);
    if (record) {
        ctx->tape.unref(ctx, record);
    }
    asc_storage_unref(ctx, storage);
}

void asc_nodes_drop(asc_ctx *ctx)
{
    for (struct asc_slab *slab = ctx->slabs; slab; slab = slab->next) {
        asc_tags_retire(slab->tags);
    }
    for (struct asc_slab *slab = ctx->slabs; slab; slab = slab->next) {
        for (int i = 0; i < ASC_TAGS; i++) {
            if (slab->nodes[i].refs > 0) {
                drop_held(ctx, &slab->nodes[i]);
            }
        }
    }
}

void asc_nodes_free(asc_ctx *ctx)
{
    for (struct asc_slab *slab = ctx->slabs, *next; slab; slab = next) {
        next = slab->next;
        asc_tags_give(slab->tags);
        asc_free(ctx, slab, sizeof *slab);
    }
    ctx->slabs = NULL;
}

/* What was released before its scope's end takes no place in the list. */
static bool make_place(asc_ctx *ctx)
{
    if (ctx->n_scoped < ctx->cap_scoped) {
        return true;
    }
    size_t first = ctx->scopes[ctx->n_scopes - 1], n = first;
    for (size_t i = first; i < ctx->n_scoped; i++) {
        const asc_node *node = asc_node_of(ctx->scoped[i]);
        if (node && node->owned) {
            ctx->scoped[n++] = ctx->scoped[i];
        }
    }
    ctx->n_scoped = n;
    return n < ctx->cap_scoped / 4 * 3 ||
           asc_grow(ctx, &ctx->scoped, &ctx->cap_scoped, ctx->cap_scoped + 1, sizeof *ctx->scoped);
}

asc_node *asc_node_new(asc_ctx *ctx, const asc_array *array)
{
    if (ctx->failed_scopes > 0) { /* it would stay with the context */
        asc_fail(ctx, ASC_ERR_MEMORY, "out of memory: a scope could not begin, and can hold nothing");
        return NULL;
    }
    /* outside of any scope nothing is listed: such nodes go with the context */
    bool listed = ctx->n_scopes > 0;
    if (listed && !make_place(ctx)) {
        return NULL;
    }
    if (!ctx->free_nodes && !add_slab(ctx)) {
        return NULL;
    }
    asc_node *n = ctx->free_nodes;
    ctx->free_nodes = n->next;
    *n = (asc_node){.tag = n->tag, .ctx = ctx, .array = *array, .number = ++ctx->n_made, .owned = true, .refs = 1};
    n->contiguous = asc_array_contiguous(array);
    if (listed) {
        ctx->scoped[ctx->n_scoped++] = asc_handle(n);
    }
    return n;
}

void asc_node_ref(asc_node *n)
{
    n->refs++;
}

void asc_node_unref(asc_node *n)
{
    if (!n || --n->refs > 0) {
        return;
    }
    asc_ctx *ctx = n->ctx;
    atomic_store_explicit(&n->tag->generation, generation_of(n->tag) + 1, memory_order_relaxed);
    drop_held(ctx, n);
    n->next = ctx->free_nodes;
    ctx->free_nodes = n;
}

void asc_disown(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    if (n && n->owned) {
        n->owned = false;
        asc_node_unref(n);
    }
}

bool asc_is_own(asc_tensor t)
{
    const asc_node *n = asc_node_of(t);
    return n && n->owned && n->number > n->ctx->lent;
}

void asc_let_go(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    if (n && n->owned) {
        asc_disown(t);
    } else {
        asc_release(t); /* the library's own keep */
    }
}

asc_tensor asc_keep(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    if (n) {
        n->keeps++;
        n->refs++;
    }
    return n ? t : asc_null();
}

void asc_release(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    if (!n) {
        return;
    }
    if (n->keeps > 0) {
        n->keeps--;
    } else if (n->owned) {
        n->owned = false;
    } else {
        return; /* only the library holds it: not the caller's to release */
    }
    asc_node_unref(n);
}

/* ---- a leaf and its gradient ---- */

bool asc_is_leaf(asc_tensor t)
{
    const asc_node *n = asc_node_of(t);
    return n && !n->flows && !n->record;
}

asc_tensor asc_grad(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n && n->has_grad ? asc_handle(n->grad) : asc_null();
}

void asc_zero_grad(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    if (!n) {
        return;
    }
    n->has_grad = false; /* the storage stays for the next pass, unless somebody reads it on */
    asc_node *grad = n->grad;
    if (grad && !n->grad_given && (grad->keeps > 0 || grad->storage->refs > 1)) {
        n->grad = NULL;
        asc_node_unref(grad);
    }
}

/* ---- scopes ---- */

void asc_scope_begin(asc_ctx *ctx)
{
    if (!ctx) {
        return;
    }
    if (ctx->failed_scopes > 0 ||
        !asc_grow(ctx, &ctx->scopes, &ctx->cap_scopes, ctx->n_scopes + 1, sizeof *ctx->scopes)) {
        ctx->failed_scopes++;
        return;
    }
    ctx->scopes[ctx->n_scopes++] = ctx->n_scoped;
}

void asc_scope_end(asc_ctx *ctx)
{
    asc_scope_end_but(ctx, NULL, 0);
}

static bool is_among(const asc_tensor *list, int n, asc_tensor t)
{
    for (int i = 0; i < n; i++) {
        if (asc_is_same(list[i], t)) {
            return true;
        }
    }
    return false;
}

void asc_scope_end_but(asc_ctx *ctx, const asc_tensor *stay, int n)
{
    if (!ctx) {
        return;
    }
    if (n > 0 && !stay) {
        asc_fail(ctx, ASC_ERR_ARG, "scope_end_but: stay is NULL");
        n = 0;
    }
    if (ctx->fenced > 0 && asc_scopes_begun(ctx) == ctx->fenced) {
        ctx->ended_fenced = true;
        return;
    }
    if (ctx->failed_scopes > 0) {
        ctx->failed_scopes--;
        return;
    }
    if (ctx->n_scopes == 0) {
        asc_fail(ctx, ASC_ERR_STATE, "scope_end: no scope has begun");
        return;
    }
    size_t first = ctx->scopes[--ctx->n_scopes], end = ctx->n_scoped;
    while (ctx->n_scoped > first) {
        asc_tensor t = ctx->scoped[--ctx->n_scoped];
        if (!is_among(stay, n, t)) {
            asc_disown(t);
        }
    }
    for (size_t i = first; n > 0 && ctx->n_scopes > 0 && i < end; i++) {
        if (is_among(stay, n, ctx->scoped[i])) {
            ctx->scoped[ctx->n_scoped++] = ctx->scoped[i];
        }
    }
}

asc_fence asc_fence_begin(asc_ctx *ctx)
{
    asc_fence fence = {asc_scopes_begun(ctx), ctx->fenced, ctx->ended_fenced};
    ctx->fenced = fence.scopes;
    ctx->ended_fenced = false;
    return fence;
}

const char *asc_fence_end(asc_ctx *ctx, asc_fence fence)
{
    const char *did = ctx->ended_fenced                      ? "ended a scope that it did not begin"
                      : asc_scopes_begun(ctx) > fence.scopes ? "began a scope that it did not end"
                                                             : NULL;
    while (asc_scopes_begun(ctx) > fence.scopes) {
        asc_scope_end(ctx);
    }
    ctx->fenced = fence.outer;
    ctx->ended_fenced = fence.outer_ended;
    return did;
}

asc_own asc_own_begin(asc_ctx *ctx)
{
    asc_own begun = {ctx->lent, asc_fence_begin(ctx)};
    ctx->lent = ctx->n_made;
    return begun;
}

void asc_own_balance(asc_ctx *ctx, asc_own begun, const char *who)
{
    const char *did = asc_fence_end(ctx, begun.fence);
    if (did) {
        asc_fail(ctx, ASC_ERR_STATE, "%s: its function %s", who, did);
    }
}

void asc_own_end(asc_ctx *ctx, asc_own begun)
{
    ctx->lent = begun.lent;
}
