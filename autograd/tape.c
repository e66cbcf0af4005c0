/* autograd/tape.c: what was called, in order, and the variables between the calls. */
#include <string.h>

#include "autograd/engine.h"

enum { BLOCK = 1 << 18, LONGEST_LABEL = 127 };

/* ---- the arena ---- */

/* `bytes`, at most BLOCK, aligned to 16. A block's rest that is too short is left unused. */
static void *arena_take(asc_ctx *ctx, asc_arena *a, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (a->used % BLOCK + bytes > BLOCK || a->used % BLOCK == 0) {
        a->used = (a->used + BLOCK - 1) / BLOCK * BLOCK;
        size_t index = a->used / BLOCK;
        if (index == a->n_blocks) {
            if (!asc_grow(ctx, (void **)&a->block, &a->cap_blocks, index + 1, sizeof *a->block)) {
                return NULL;
            }
            a->block[index] = asc_alloc(ctx, BLOCK);
            if (!a->block[index]) {
                return NULL;
            }
            a->n_blocks++;
        }
    }
    void *p = a->block[a->used / BLOCK] + a->used % BLOCK;
    a->used += bytes;
    return p;
}

/* ---- variables ---- */

int32_t asc_var_of(asc_node *node)
{
    asc_tape *tape = node->ctx->tape.state;
    if (!tape || node->var < 0 || (size_t)node->var >= tape->n_vars) {
        return -1;
    }
    const asc_var *v = &tape->var[node->var];
    return v->owner == node && v->generation == node->tag->generation ? node->var : -1;
}

bool asc_wants_grad(asc_node *node)
{
    return node && asc_is_floating(node->array.dtype) &&
           (node->requires_grad || node->flows || asc_var_of(node) >= 0);
}

static int32_t new_var(asc_ctx *ctx, asc_tape *tape, asc_node *node, int32_t producer)
{
    if (!asc_grow(ctx, (void **)&tape->var, &tape->cap_vars, tape->n_vars + 1, sizeof *tape->var)) {
        return -1;
    }
    int32_t index = (int32_t)tape->n_vars++;
    tape->var[index] = (asc_var){node, node->tag->generation, producer, node->array, NULL, false};
    node->var = index;
    if (producer < 0) {
        asc_node_ref(node);
    }
    return index;
}

/* Its gradient gets its storage here, not in the backward pass: there it would keep what the step let go, and the next
 * step would have to ask for more. */
static int32_t new_leaf(asc_ctx *ctx, asc_tape *tape, asc_node *node)
{
    return asc_leaf_grad(node) ? -1 : new_var(ctx, tape, node, -1);
}

static void drop_var(asc_ctx *ctx, asc_var *v)
{
    asc_storage_unref(ctx, v->grad);
    if (v->producer < 0) {
        asc_node_unref(v->owner);
    }
}

/* ---- the tape ---- */

static size_t mark(asc_ctx *ctx)
{
    return ((asc_tape *)ctx->tape.state)->n_records;
}

static void drop_seen(asc_ctx *ctx, size_t from, size_t to)
{
    asc_tape *tape = ctx->tape.state;
    for (size_t i = from; i < to; i++) {
        asc_storage_unref(ctx, tape->seen[i].storage);
        tape->seen[i].storage = NULL;
    }
}

void asc_tape_forget(asc_ctx *ctx, size_t to)
{
    asc_tape *tape = ctx->tape.state;
    drop_seen(ctx, to, tape->n_seen);
    tape->n_seen = to;
}

void asc_record_free(asc_ctx *ctx, asc_record *r)
{
    int n = r->n_in + r->n_out + r->n_saved;
    for (int i = 0; i < n; i++) {
        asc_storage_unref(ctx, r->slots[i].storage);
        r->slots[i].storage = NULL;
    }
    drop_seen(ctx, r->first_seen, r->first_seen + r->n_seen);
    r->freed = true;
}

static void rewind_to(asc_ctx *ctx, size_t to)
{
    asc_tape *tape = ctx->tape.state;
    if (to >= tape->n_records) {
        return;
    }
    for (size_t i = to; i < tape->n_records; i++) {
        asc_record_free(ctx, &tape->record[i]);
    }
    size_t first_var = (size_t)tape->record[to].first_var;
    while (tape->n_vars > first_var) {
        drop_var(ctx, &tape->var[--tape->n_vars]);
    }
    tape->arena.used = tape->record[to].arena_used;
    asc_tape_forget(ctx, tape->record[to].first_seen);
    tape->n_records = to;
}

static void free_tape(asc_ctx *ctx)
{
    asc_tape *tape = ctx->tape.state;
    rewind_to(ctx, 0);
    for (size_t i = 0; i < tape->arena.n_blocks; i++) {
        asc_free(ctx, tape->arena.block[i], BLOCK);
    }
    asc_free(ctx, tape->arena.block, tape->arena.cap_blocks * sizeof *tape->arena.block);
    asc_free(ctx, tape->record, tape->cap_records * sizeof *tape->record);
    asc_free(ctx, tape->var, tape->cap_vars * sizeof *tape->var);
    asc_free(ctx, tape->seen, tape->cap_seen * sizeof *tape->seen);
    asc_free(ctx, tape, sizeof *tape);
    ctx->tape = (asc_tape_hooks){0};
}

asc_tape *asc_tape_of(asc_ctx *ctx)
{
    if (ctx && !ctx->tape.state) {
        asc_tape *tape = asc_alloc(ctx, sizeof *tape);
        if (!tape) {
            return NULL;
        }
        memset(tape, 0, sizeof *tape);
        ctx->tape = (asc_tape_hooks){tape, mark, rewind_to, free_tape};
    }
    return ctx ? ctx->tape.state : NULL;
}

/* ---- recording ---- */

static void save(asc_slot *slot, asc_storage *storage)
{
    slot->storage = storage;
    slot->version = storage->version;
    asc_storage_ref(storage);
}

static bool fill_inputs(const asc_call *call, asc_tape *tape, asc_slot *slots)
{
    asc_engine *e = call->engine;
    for (int i = 0; i < call->n_in; i++) {
        slots[i] = (asc_slot){.array = call->in[i], .var = -1};
        asc_node *node = e->in[i];
        if (!node) {
            continue;
        }
        if (asc_saves_input(call->op, i)) {
            save(&slots[i], e->packed[i] ? e->packed[i] : node->storage);
        }
        if (call->wants[i]) {
            slots[i].var = asc_var_of(node);
            if (slots[i].var < 0 && (slots[i].var = new_leaf(call->ctx, tape, node)) < 0) {
                return false;
            }
        }
    }
    return true;
}

static bool fill_results(const asc_call *call, asc_tape *tape, uint32_t no_grad_out, asc_slot *slots)
{
    asc_engine *e = call->engine;
    for (int i = 0; i < call->n_out; i++) {
        slots[i] = (asc_slot){.array = call->out[i], .var = -1};
        if (call->op->saves_out & 1u << i) {
            save(&slots[i], e->out[i]->storage);
        }
        bool flows = !(no_grad_out & 1u << i) && asc_is_floating(call->out[i].dtype);
        if (flows && (slots[i].var = new_var(call->ctx, tape, e->out[i], (int32_t)tape->n_records)) < 0) {
            return false;
        }
    }
    for (int i = 0; i < call->n_saved; i++) {
        slots[call->n_out + i] = (asc_slot){.array = call->saved[i], .var = -1};
        save(&slots[call->n_out + i], e->saved[i]);
    }
    return true;
}

/* The leaves that a segment has seen are variables from here on, so that its backward pass finds them. */
static bool add_leaves(asc_ctx *ctx, asc_tape *tape, const asc_record *r)
{
    for (size_t i = r->first_seen; i < r->first_seen + r->n_seen; i++) {
        asc_node *leaf = tape->seen[i].leaf;
        if (leaf && asc_var_of(leaf) < 0 && new_leaf(ctx, tape, leaf) < 0) {
            return false;
        }
    }
    return true;
}

/* The memory that a record needs beside itself. */
static bool open_record(const asc_call *call, asc_tape *tape, asc_record *r)
{
    asc_ctx *ctx = call->ctx;
    size_t bytes = (size_t)(call->n_in + call->n_out + call->n_saved) * sizeof *r->slots;
    r->slots = arena_take(ctx, &tape->arena, bytes);
    if (!r->slots) {
        return false;
    }
    memset(r->slots, 0, bytes);
    if (call->attrs) {
        r->attrs = arena_take(ctx, &tape->arena, call->op->attrs_size);
        if (!r->attrs) {
            return false;
        }
        memcpy(r->attrs, call->attrs, call->op->attrs_size);
    }
    if (ctx->label) { /* a copy: the tape may outlive the model whose label it is */
        size_t length = strnlen(ctx->label, LONGEST_LABEL);
        r->label = arena_take(ctx, &tape->arena, length + 1);
        if (!r->label) {
            return false;
        }
        memcpy(r->label, ctx->label, length);
        r->label[length] = 0;
    }
    return true;
}

asc_status asc_tape_record(asc_call *call, const asc_segment *segment)
{
    asc_ctx *ctx = call->ctx;
    asc_tape *tape = asc_tape_of(ctx);
    if (!tape ||
        !asc_grow(ctx, (void **)&tape->record, &tape->cap_records, tape->n_records + 1, sizeof *tape->record)) {
        return ASC_ERR_MEMORY;
    }
    asc_record *r = &tape->record[tape->n_records];
    *r = (asc_record){.op = call->op, .n_in = call->n_in, .n_out = call->n_out, .n_saved = call->n_saved,
                      .flops = ((asc_engine *)call->engine)->flops, .first_var = (int32_t)tape->n_vars,
                      .arena_used = tape->arena.used, .first_seen = segment ? segment->first_seen : tape->n_seen};
    memcpy(r->random, call->random, sizeof r->random);
    if (!open_record(call, tape, r)) {
        tape->arena.used = r->arena_used;
        return ASC_ERR_MEMORY;
    }
    r->n_seen = tape->n_seen - r->first_seen;
    uint32_t no_grad_out = segment ? ~segment->flows : call->op->no_grad_out;
    bool filled = fill_inputs(call, tape, r->slots) && add_leaves(ctx, tape, r) &&
                  fill_results(call, tape, no_grad_out, r->slots + call->n_in);
    tape->n_records++;
    if (!filled) {
        rewind_to(ctx, tape->n_records - 1);
        return ASC_ERR_MEMORY;
    }
    return ASC_OK;
}
