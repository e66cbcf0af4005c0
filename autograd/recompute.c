/* autograd/recompute.c: computing again in place of keeping (Chen, Xu, Zhang and Guestrin, "Training deep nets with
 * sublinear memory cost", arXiv 1604.06174; Griewank and Walther, Evaluating Derivatives, 2008, chapter 12).
 *
 * The first run of a segment's function leaves one record in place of its calls': the inputs, the point at which its
 * random numbers begin, and what else it read, with what was written there by then. The backward pass runs the function
 * again with its calls recorded, hands the results' gradients to what it made this time, and walks these records back.
 * In the second run the inputs stand where the tensors that were given stood on the tape, and parameters are the leaves
 * that they are. So whatever is added to a gradient is added in the same order as if the calls had been recorded in the
 * first place: the same bits. */
#include <string.h>

#include "autograd/engine.h"
#include "tensor/need.h"

const asc_op asc_op_recompute = {
    .abi = ASC_OP_ABI,
    .name = "recompute",
    .equation = "f(inputs), computed again in the backward pass (arXiv 1604.06174)",
    .inputs = "inputs...",
    .flags = ASC_OP_STRIDED,
    .attrs_size = sizeof(asc_again),
    .saves_in = 1,
};

/* ---- within a segment ---- */

/* Notes a tensor that a segment reads, unless the segment made it. */
static asc_status note(asc_ctx *ctx, asc_tape *tape, asc_node *node)
{
    const asc_segment *segment = tape->segment;
    if (node->storage->served > segment->before) {
        return ASC_OK;
    }
    asc_node *leaf = node->requires_grad ? node : NULL;
    asc_extent range = asc_storage_extent(node->storage, &node->array);
    for (size_t i = 0; i < tape->n_seen; i++) {
        asc_seen *seen = &tape->seen[i];
        if (seen->storage == node->storage && (seen->leaf == leaf || !leaf)) {
            seen->range = asc_extent_both(seen->range, range);
            return ASC_OK;
        }
    }
    if (!asc_grow(ctx, &tape->seen, &tape->cap_seen, tape->n_seen + 1, sizeof *tape->seen)) {
        return ASC_ERR_MEMORY;
    }
    tape->seen[tape->n_seen++] = (asc_seen){node->storage, node->storage->stamp, range, leaf, asc_handle(node)};
    asc_storage_ref(node->storage);
    if (leaf) {
        asc_node_ref(leaf);
    }
    return ASC_OK;
}

asc_status asc_segment_add(asc_call *call, bool flows)
{
    asc_engine *e = call->engine;
    asc_tape *tape = call->ctx->tape.state;
    asc_status status = ASC_OK;
    for (int i = 0; i < call->n_in && !status; i++) {
        status = e->in[i] ? note(call->ctx, tape, e->in[i]) : ASC_OK;
    }
    for (int i = 0; i < call->n_out && flows; i++) {
        bool reached = asc_is_floating(call->out[i].dtype) && !(call->op->no_grad_out & 1u << i);
        e->out[i]->flows = reached ? tape->segment->number : 0;
    }
    return status;
}

/* ---- running the function ---- */

/* Calls the function: `results` with a reference each, NULL for those that are null. */
static asc_status call_function(asc_ctx *ctx, const asc_again *again, const asc_tensor *inputs, int n_out,
                                asc_node **results)
{
    asc_tensor outputs[ASC_MAX_OUT] = {{0}};
    const char *label = ctx->label;
    bool recording = ctx->recording;
    asc_fence fence = asc_fence_begin(ctx);
    asc_status status = again->fn(ctx, again->user, inputs, outputs);
    ctx->label = label;
    ctx->recording = recording;
    asc_fail(ctx, status, "recompute: the function failed without a message");
    const char *did = asc_fence_end(ctx, fence);
    if (did) {
        asc_fail(ctx, ASC_ERR_STATE, "recompute: the function %s", did);
    }
    for (int i = 0; i < n_out && !ctx->status; i++) {
        results[i] = asc_node_of(outputs[i]);
        if (results[i] && results[i]->ctx == ctx) {
            asc_node_ref(results[i]);
        } else if (!asc_is_null(outputs[i])) {
            asc_fail(ctx, ASC_ERR_STATE, "recompute: output %d is a tensor that is %s", i,
                     results[i] ? "another context's" : "gone");
            results[i] = NULL;
        }
    }
    return ctx->status;
}

static void drop_results(asc_node **results, int n_out)
{
    for (int i = 0; i < n_out; i++) {
        asc_node_unref(results[i]);
        results[i] = NULL;
    }
}

/* ---- the first run ---- */

static asc_status check_call(asc_ctx *ctx, const asc_tensor *inputs, int n_in, int n_out)
{
    if (n_in < 0 || n_in > ASC_MAX_IN || n_out < 1 || n_out > ASC_MAX_OUT) {
        return asc_fail(ctx, ASC_ERR_ARG, "recompute: %d inputs and %d outputs, expected 0 to %d and 1 to %d", n_in,
                        n_out, ASC_MAX_IN, ASC_MAX_OUT);
    }
    for (int i = 0; i < n_in; i++) {
        const asc_node *node = asc_node_of(inputs[i]);
        if (!asc_is_null(inputs[i]) && (!node || node->ctx != ctx)) {
            return asc_fail(ctx, node ? ASC_ERR_ARG : ASC_ERR_STATE, "recompute: input %d %s", i,
                            node ? "belongs to another context" : "is a tensor that is gone");
        }
        const char *behind = ctx->recording ? asc_left_behind(ctx, node) : NULL;
        if (behind) {
            return asc_fail(ctx, ASC_ERR_STATE, "recompute: input %d %s", i, behind);
        }
    }
    return ASC_OK;
}

/* Of a call that fails, in or outside of a scope. */
static void take_back(asc_node *const *results, int n_out)
{
    for (int i = 0; i < n_out; i++) {
        asc_disown(asc_handle(results[i]));
    }
}

/* The results become tensors of the caller's scope. */
static asc_status hand_out(asc_ctx *ctx, const asc_tape *tape, asc_node **results, int n_out)
{
    for (int i = 0; i < n_out; i++) {
        asc_node *from = results[i];
        if (!from) {
            continue;
        }
        asc_node *to = asc_node_new(ctx, &from->array);
        if (!to) {
            take_back(results, i);
            return ASC_ERR_MEMORY;
        }
        to->storage = from->storage;
        asc_storage_ref(to->storage);
        to->cut = from->cut;
        to->flows = tape->segment && asc_wants_grad(from) ? tape->segment->number : 0; /* nested */
        asc_node_ref(to);
        asc_node_unref(from);
        results[i] = to;
    }
    return ASC_OK;
}

/* Leaves the segment's record, which the results hold from then on. */
static asc_status record(asc_ctx *ctx, const asc_segment *segment, const asc_again *again, const asc_tensor *inputs,
                         int n_in, asc_node **results, int n_out)
{
    asc_engine engine = {0};
    asc_call call = {.ctx = ctx, .op = &asc_op_recompute, .attrs = again, .n_in = n_in, .n_out = n_out,
                     .engine = &engine};
    for (int i = 0; i < n_in; i++) {
        engine.in[i] = asc_node_of(inputs[i]);
        call.in[i] = asc_array_of(inputs[i]);
        call.wants[i] = asc_wants_grad(engine.in[i]);
    }
    for (int i = 0; i < n_out; i++) {
        engine.out[i] = results[i];
        call.out[i] = results[i] ? results[i]->array : (asc_array){.ndim = -1};
    }
    return asc_tape_record(&call, segment);
}

/* Runs the function in a scope, and with `segment` as one whose calls leave no record. */
static asc_status run_first(asc_ctx *ctx, asc_tape *tape, asc_segment *segment, const asc_again *again,
                            const asc_tensor *inputs, int n_out, asc_node **results)
{
    if (segment) {
        *segment = (asc_segment){.number = ++tape->n_segments, .before = ctx->n_served};
        tape->segment = segment;
    }
    asc_scope_begin(ctx);
    asc_status status = call_function(ctx, again, inputs, n_out, results);
    for (int i = 0; segment && !status && i < n_out; i++) { /* it may give back what it was given */
        status = results[i] ? note(ctx, tape, results[i]) : ASC_OK;
        segment->flows |= (uint32_t)asc_wants_grad(results[i]) << i;
    }
    asc_scope_end(ctx);
    if (segment) {
        tape->segment = NULL;
    }
    return status ? status : hand_out(ctx, tape, results, n_out);
}

asc_status asc_recompute(asc_ctx *ctx, asc_recompute_fn *fn, void *user, const asc_tensor *inputs, int n_in,
                         asc_tensor *outputs, int n_out)
{
    asc_tensor in[ASC_MAX_IN]; /* outputs may be written over them */
    for (int i = 0; inputs && i < n_in && i < ASC_MAX_IN; i++) {
        in[i] = inputs[i];
    }
    for (int i = 0; outputs && i < n_out; i++) {
        outputs[i] = asc_null();
    }
    asc_status status = ASC_NEED(ctx, "recompute: fn outputs inputs", (const void *)fn, outputs,
                                 asc_unless_empty(inputs, n_in));
    if (status) {
        return status;
    }
    asc_tape *tape = ctx->status ? NULL : asc_tape_of(ctx);
    if (!tape || check_call(ctx, in, n_in, n_out)) {
        return ctx->status;
    }
    asc_node *results[ASC_MAX_OUT] = {NULL};
    asc_segment segment;
    const asc_again again = {fn, user, ctx->seed, ctx->step, ctx->random_ordinal};
    bool kept = ctx->recording && !tape->segment; /* else within a segment, or without gradients */
    status = run_first(ctx, tape, kept ? &segment : NULL, &again, in, n_out, results);
    if (kept && !status && segment.flows) {
        status = record(ctx, &segment, &again, in, n_in, results, n_out);
        take_back(results, status ? n_out : 0);
    }
    if (kept && (status || !segment.flows)) {
        asc_tape_forget(ctx);
    }
    for (int i = 0; i < n_out && !status; i++) {
        outputs[i] = asc_handle(results[i]);
    }
    drop_results(results, n_out);
    return status;
}

/* ---- the second run ---- */

static asc_status check_unchanged(asc_ctx *ctx, const asc_record *r)
{
    for (int i = 0; i < r->n_in; i++) {
        const asc_slot *slot = &r->slots[i];
        bool moved = slot->storage && slot->edge.leaf && slot->edge.leaf->storage != slot->storage; /* asc_set_data */
        if (moved || (slot->storage && asc_storage_changed(slot->storage, slot->stamp, slot->range))) {
            return asc_fail(ctx, ASC_ERR_STATE, "backward: recompute: input %d was overwritten after the forward pass, "
                            "and its old value is needed", i);
        }
    }
    const asc_seen *seen = r->seen ? r->seen->data : NULL;
    for (size_t i = 0; i < r->n_seen; i++) {
        const asc_node *node = asc_node_of(seen[i].tensor); /* NULL: gone, which the function finds out itself */
        if (asc_storage_changed(seen[i].storage, seen[i].stamp, seen[i].range) ||
            (node && node->storage != seen[i].storage)) {
            return asc_fail(ctx, ASC_ERR_STATE, "backward: recompute: a tensor that the function reads was overwritten "
                            "after the forward pass, and its old value is needed");
        }
    }
    return ASC_OK;
}

/* Input i as it was: a leaf itself, else a new tensor that stands where the old one stood on the tape. */
static asc_tensor input_again(asc_ctx *ctx, const asc_slot *slot)
{
    if (!slot->storage || slot->edge.leaf) {
        return asc_handle(slot->edge.leaf);
    }
    asc_node *node = asc_node_new(ctx, &slot->array);
    if (!node) {
        return asc_null();
    }
    node->storage = slot->storage;
    asc_storage_ref(node->storage);
    if (slot->edge.record) {
        node->record = slot->edge.record;
        node->out = slot->edge.out;
        asc_record_ref(node->record);
    }
    return asc_handle(node);
}

/* The function again, recorded, on the random numbers of the first time; its products do not count twice. */
static asc_status run_again(asc_ctx *ctx, asc_tape *tape, const asc_record *r, const asc_tensor *inputs,
                            asc_node **results)
{
    const asc_again *again = r->attrs;
    uint64_t seed = ctx->seed, step = ctx->step, ordinal = ctx->random_ordinal;
    double flops = tape->flops;
    const char *label = asc_set_label(ctx, r->label);
    ctx->seed = again->seed;
    ctx->step = again->step;
    ctx->random_ordinal = again->ordinal;
    asc_set_recording(ctx, true);
    asc_status status = call_function(ctx, again, inputs, r->n_out, results);
    asc_set_recording(ctx, false);
    ctx->seed = seed;
    ctx->step = step;
    ctx->random_ordinal = ordinal;
    asc_set_label(ctx, label);
    tape->flops = flops;
    return status;
}

static bool same_kind(const asc_array *a, const asc_array *b)
{
    return a->ndim < 0 ? b->ndim < 0 : b->ndim >= 0 && a->dtype == b->dtype && asc_same_shape(a, b);
}

/* Adds the gradient `from`, which is no longer needed there, to the one that goes along an edge. */
static asc_status move_grad(asc_ctx *ctx, asc_slot *from, const asc_edge *edge)
{
    if (edge->record && !asc_output_slot(edge)->grad) {
        asc_output_slot(edge)->grad = from->grad;
        from->grad = NULL;
        asc_waiting_add(ctx->tape.state, edge->record);
        return ASC_OK;
    }
    bool fresh;
    void *data;
    if (asc_grad_target(ctx, edge, &data, &fresh)) {
        return ASC_ERR_MEMORY;
    }
    if (fresh && data) {
        memcpy(data, from->grad->data, asc_array_bytes(&from->array));
    }
    if (fresh) {
        return ASC_OK;
    }
    asc_grad_add(&from->array, data, from->grad->data);
    return ASC_OK;
}

static asc_status hand_grads_down(asc_ctx *ctx, const asc_record *r, asc_node *const *results)
{
    asc_slot *out = r->slots + r->n_in;
    for (int i = 0; i < r->n_out; i++) {
        const asc_array *first = &out[i].array, again = results[i] ? results[i]->array : (asc_array){.ndim = -1};
        if (!same_kind(first, &again)) {
            char text[2][ASC_SHAPE_TEXT];
            return asc_fail(ctx, ASC_ERR_STATE, "backward: recompute: output %d is %s %s this time, it was %s %s", i,
                            asc_dtype_name(again.dtype), asc_shape_text(&again, text[0]), asc_dtype_name(first->dtype),
                            asc_shape_text(first, text[1]));
        }
    }
    for (int i = 0; i < r->n_out; i++) {
        if (out[i].grad && asc_wants_grad(results[i])) {
            asc_edge edge = asc_edge_of(results[i]);
            if (move_grad(ctx, &out[i], &edge)) {
                return ASC_ERR_MEMORY;
            }
        }
    }
    return ASC_OK;
}

asc_status asc_segment_backward(asc_ctx *ctx, asc_tape *tape, const asc_record *r)
{
    asc_status status = check_unchanged(ctx, r);
    if (status) {
        return status;
    }
    asc_tensor inputs[ASC_MAX_IN];
    asc_node *results[ASC_MAX_OUT] = {NULL};
    uint64_t first = tape->n_recorded;
    asc_scope_begin(ctx);
    for (int i = 0; i < r->n_in; i++) {
        inputs[i] = input_again(ctx, &r->slots[i]);
    }
    status = ctx->status ? ctx->status : run_again(ctx, tape, r, inputs, results);
    status = status ? status : hand_grads_down(ctx, r, results);
    drop_results(results, r->n_out);
    status = asc_walk_back(ctx, tape, first, false, status);
    asc_scope_end(ctx);
    return status;
}
