/* autograd/tape.c: the calls that have been recorded, and what holds them.
 *
 * A record is held by the tensors that its call has made and by the records of calls that took one of them; it holds
 * the records and leaves that its inputs came from, and the arrays that its backward function reads. Nothing holds the
 * tape as a whole: what cannot be reached by a backward pass any more is gone. */
#include <string.h>

#include "autograd/engine.h"
#include "kernels/packed.h"

enum { CHUNK = 1 << 18, LONGEST_LABEL = 127 };

_Static_assert(sizeof(asc_record) + (ASC_MAX_IN + ASC_MAX_OUT + ASC_MAX_SAVED) * sizeof(asc_slot) + ASC_ATTRS_BYTES +
                       LONGEST_LABEL + 1 + 48 <=
                   ASC_BLOCK_SIZES * ASC_BLOCK_STEP,
               "any record fits into a block");

/* ---- memory for records ---- */

static size_t block_size(size_t bytes)
{
    return (bytes + ASC_BLOCK_STEP - 1) / ASC_BLOCK_STEP * ASC_BLOCK_STEP;
}

static void **free_blocks(asc_blocks *b, size_t size)
{
    return &b->free[size / ASC_BLOCK_STEP - 1];
}

static bool add_chunk(asc_ctx *ctx, asc_blocks *b)
{
    if (!asc_grow(ctx, &b->chunk, &b->cap_chunks, b->n_chunks + 1, sizeof *b->chunk)) {
        return false;
    }
    char *chunk = asc_alloc(ctx, CHUNK);
    if (chunk) {
        b->chunk[b->n_chunks++] = b->rest = chunk;
        b->rest_bytes = CHUNK;
    }
    return chunk != NULL;
}

/* NULL with the error set. */
static void *block_take(asc_ctx *ctx, asc_blocks *b, size_t bytes)
{
    size_t size = block_size(bytes);
    void **list = free_blocks(b, size), *block = *list;
    if (block) {
        *list = *(void **)block;
        return block;
    }
    if (b->rest_bytes < size && !add_chunk(ctx, b)) {
        return NULL;
    }
    block = b->rest;
    b->rest += size;
    b->rest_bytes -= size;
    return block;
}

static void block_give(asc_blocks *b, void *block, size_t bytes)
{
    void **list = free_blocks(b, block_size(bytes));
    *(void **)block = *list;
    *list = block;
}

/* ---- the tape ---- */

static void drop_seen(asc_ctx *ctx, asc_seen *seen, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        asc_storage_unref(ctx, seen[i].storage);
        asc_node_unref(seen[i].leaf);
    }
}

void asc_tape_forget(asc_ctx *ctx)
{
    asc_tape *tape = ctx->tape.state;
    drop_seen(ctx, tape->seen, tape->n_seen);
    tape->n_seen = 0;
}

static void free_tape(asc_ctx *ctx)
{
    asc_tape *tape = ctx->tape.state;
    for (size_t i = 0; i < tape->blocks.n_chunks; i++) {
        asc_free(ctx, tape->blocks.chunk[i], CHUNK);
    }
    asc_free(ctx, tape->blocks.chunk, tape->blocks.cap_chunks * sizeof *tape->blocks.chunk);
    asc_free(ctx, tape->seen, tape->cap_seen * sizeof *tape->seen);
    asc_free(ctx, tape->spans, tape->cap_spans * sizeof *tape->spans);
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
        ctx->tape = (asc_tape_hooks){tape, asc_record_unref, free_tape};
    }
    return ctx ? ctx->tape.state : NULL;
}

/* ---- where gradients go ---- */

bool asc_wants_grad(const asc_node *node)
{
    return node && asc_is_floating(node->array.dtype) && (node->requires_grad || node->flows || node->record);
}

const char *asc_left_behind(const asc_ctx *ctx, const asc_node *node)
{
    const asc_tape *tape = ctx->tape.state;
    bool over = node && node->flows && !(tape && tape->segment && tape->segment->number == node->flows);
    return over ? "was made by a function of asc_recompute and is not what that gave, so no gradient can flow to it"
                : NULL;
}

asc_edge asc_edge_of(asc_node *node)
{
    if (node->record) {
        return (asc_edge){.record = node->record, .out = node->out};
    }
    return (asc_edge){.leaf = node->requires_grad ? node : NULL};
}

/* ---- what a record holds ---- */

/* What is let go may call the caller's function, which may let go of more; so nothing is let go twice. */
static void drop_slot(asc_ctx *ctx, asc_slot *slot)
{
    asc_slot held = *slot;
    slot->storage = slot->grad = NULL;
    slot->edge = (asc_edge){0};
    if (held.rounded) {
        asc_storage_unref_rounded(ctx, held.storage);
    } else {
        asc_storage_unref(ctx, held.storage);
    }
    asc_storage_unref(ctx, held.grad);
    asc_node_unref(held.edge.leaf);
    asc_record_unref(ctx, held.edge.record);
}

void asc_record_free(asc_ctx *ctx, asc_record *r)
{
    if (r->freed) {
        return;
    }
    r->freed = true;
    for (int i = 0; i < r->n_in + r->n_out + r->n_saved; i++) {
        drop_slot(ctx, &r->slots[i]);
    }
    if (r->seen) {
        drop_seen(ctx, r->seen->data, r->n_seen);
        asc_storage_unref(ctx, r->seen);
        r->seen = NULL;
    }
}

/* A chain of any length goes in a loop: a record that is the last one's to hold waits for its turn. */
void asc_record_unref(asc_ctx *ctx, asc_record *r)
{
    if (!r || --r->refs > 0) {
        return;
    }
    asc_tape *tape = ctx->tape.state;
    r->next = tape->going;
    tape->going = r;
    if (tape->letting_go) {
        return;
    }
    tape->letting_go = true;
    while ((r = tape->going)) {
        tape->going = r->next;
        asc_record_free(ctx, r);
        block_give(&tape->blocks, r, r->bytes);
    }
    tape->letting_go = false;
}

/* ---- recording ---- */

static size_t rounded(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

/* A record with room for all that belongs to it, and one reference. */
static asc_record *new_record(const asc_call *call, asc_tape *tape)
{
    asc_ctx *ctx = call->ctx;
    size_t slots = (size_t)(call->n_in + call->n_out + call->n_saved) * sizeof(asc_slot);
    size_t attrs = call->attrs ? rounded(call->op->attrs_size) : 0;
    size_t label = ctx->label ? strnlen(ctx->label, LONGEST_LABEL) + 1 : 0;
    size_t bytes = rounded(sizeof(asc_record)) + rounded(slots) + attrs + label;
    asc_record *r = block_take(ctx, &tape->blocks, bytes);
    if (!r) {
        return NULL;
    }
    *r = (asc_record){.refs = 1, .number = tape->n_recorded++, .op = call->op, .n_in = call->n_in,
                      .n_out = call->n_out, .n_saved = call->n_saved, .flops = ((asc_engine *)call->engine)->flops,
                      .bytes = bytes};
    memcpy(r->random, call->random, sizeof r->random);
    char *at = (char *)r + rounded(sizeof *r);
    r->slots = memset(at, 0, slots);
    at += rounded(slots);
    if (attrs > 0) {
        r->attrs = memcpy(at, call->attrs, call->op->attrs_size);
    }
    if (label > 0) { /* a copy: the tape may outlive the model whose label it is */
        r->label = memcpy(at + attrs, ctx->label, label - 1);
        r->label[label - 1] = 0;
    }
    return r;
}

static void save(asc_ctx *ctx, asc_slot *slot, asc_storage *storage)
{
    slot->storage = storage;
    slot->stamp = storage->stamp;
    slot->range = asc_storage_extent(storage, &slot->array);
    asc_storage_ref_whole(ctx, storage);
}

static asc_status save_rounded(asc_ctx *ctx, asc_slot *slot, asc_storage *storage)
{
    asc_status status = asc_storage_ref_rounded(ctx, storage, &asc_packed_kernel_active()->rounding);
    slot->range = asc_storage_extent(storage, &slot->array);
    slot->rounded = !status;
    slot->storage = status ? NULL : storage;
    slot->stamp = storage->stamp;
    return status;
}

static asc_status fill_inputs(const asc_call *call, asc_slot *slots)
{
    asc_status status = ASC_OK;
    const asc_engine *e = call->engine;
    for (int i = 0; i < call->n_in; i++) {
        slots[i].array = call->in[i];
        asc_node *node = e->in[i];
        asc_storage *storage = e->packed[i] ? e->packed[i] : node ? node->storage : NULL;
        if (node && asc_saves_input(call->op, i)) {
            bool operand = e->operands & 1u << i && call->in[i].dtype == ASC_F32;
            if (!operand) {
                save(call->ctx, &slots[i], storage);
            } else if (!status) {
                status = save_rounded(call->ctx, &slots[i], storage);
            }
        }
        if (node && call->wants[i]) {
            asc_edge edge = slots[i].edge = asc_edge_of(node);
            if (edge.record) {
                asc_record_ref(edge.record);
            } else if (edge.leaf) {
                asc_node_ref(edge.leaf);
            }
        }
    }
    return status;
}

/* The tensors that gradients flow to hold the record from here on. */
static void fill_results(const asc_call *call, uint32_t no_grad_out, asc_record *r)
{
    const asc_engine *e = call->engine;
    asc_slot *slots = r->slots + call->n_in;
    for (int i = 0; i < call->n_out; i++) {
        slots[i].array = call->out[i];
        if (call->op->saves_out & 1u << i) {
            save(call->ctx, &slots[i], e->out[i]->storage);
        }
        slots[i].flows = !(no_grad_out & 1u << i) && asc_is_floating(call->out[i].dtype);
        if (slots[i].flows) {
            e->out[i]->record = r;
            e->out[i]->out = i;
            asc_record_ref(r);
        } else if (e->out[i]) { /* a segment's may be null */
            e->out[i]->cut = "is an output that no gradient flows from";
        }
    }
    for (int i = 0; i < call->n_saved; i++) {
        slots[call->n_out + i].array = call->saved[i];
        save(call->ctx, &slots[call->n_out + i], e->saved[i]);
    }
}

/* The leaves' gradients get their storage here, not in the backward pass: there it would keep what the step let go, and
 * the next step would have to ask for more. */
static asc_status make_leaf_grads(const asc_call *call, const asc_tape *tape, const asc_segment *segment)
{
    const asc_engine *e = call->engine;
    asc_status status = ASC_OK;
    for (int i = 0; i < call->n_in && !status; i++) {
        asc_node *leaf = call->wants[i] ? asc_edge_of(e->in[i]).leaf : NULL;
        status = leaf ? asc_leaf_grad(leaf) : ASC_OK;
    }
    for (size_t i = 0; segment && i < tape->n_seen && !status; i++) {
        status = tape->seen[i].leaf ? asc_leaf_grad(tape->seen[i].leaf) : ASC_OK;
    }
    return status;
}

/* What the segment has seen becomes its record's. */
static bool take_seen(asc_ctx *ctx, asc_tape *tape, asc_record *r)
{
    if (tape->n_seen > 0) {
        size_t bytes = tape->n_seen * sizeof *tape->seen;
        r->seen = asc_storage_new(ctx, bytes);
        if (!r->seen) {
            return false;
        }
        memcpy(r->seen->data, tape->seen, bytes);
        r->n_seen = tape->n_seen;
        tape->n_seen = 0;
    }
    return true;
}

asc_status asc_tape_record(asc_call *call, const asc_segment *segment)
{
    asc_ctx *ctx = call->ctx;
    asc_tape *tape = asc_tape_of(ctx);
    if (!tape || make_leaf_grads(call, tape, segment)) {
        return ASC_ERR_MEMORY;
    }
    asc_record *r = new_record(call, tape);
    if (!r) {
        return ASC_ERR_MEMORY;
    }
    bool whole = (!segment || take_seen(ctx, tape, r)) && !fill_inputs(call, r->slots);
    if (whole) {
        fill_results(call, segment ? ~segment->flows : call->op->no_grad_out, r);
    }
    asc_record_unref(ctx, r);
    return whole ? ASC_OK : ASC_ERR_MEMORY;
}
