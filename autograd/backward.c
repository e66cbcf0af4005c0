/* autograd/backward.c: the reverse pass. It comes to the records that the loss depends on, each after all that took its
 * outputs, in the reverse of the order in which they were made; a record whose outputs have a gradient adds to its
 * inputs'. */
#include <stdio.h>
#include <string.h>

#include "autograd/engine.h"
#include "tensor/need.h"

/* ---- leaves ---- */

asc_status asc_require_grad(asc_tensor t, bool require)
{
    asc_node *n = asc_node_of(t);
    if (!n) {
        return asc_refuse_gone(t, "require_grad", "t");
    }
    if (require && !asc_is_floating(n->array.dtype)) {
        return asc_fail(n->ctx, ASC_ERR_ARG, "require_grad: dtype is %s, expected f32 or f64",
                        asc_dtype_name(n->array.dtype));
    }
    if (!asc_is_leaf(t)) {
        return asc_fail(n->ctx, ASC_ERR_ARG, "require_grad: an op made this tensor; expected a leaf");
    }
    n->requires_grad = require;
    return ASC_OK;
}

bool asc_requires_grad(asc_tensor t)
{
    return asc_wants_grad(asc_node_of(t));
}

asc_status asc_on_grad(asc_tensor t, asc_grad_hook *hook, void *user)
{
    asc_node *n = asc_node_of(t);
    if (!n) {
        return asc_refuse_gone(t, "on_grad", "t");
    }
    if (hook && !n->requires_grad) {
        return asc_fail(n->ctx, ASC_ERR_ARG, "on_grad: the tensor is no leaf that requires its gradient");
    }
    n->hook = hook;
    n->hook_user = user;
    return ASC_OK;
}

/* Why a leaf's gradient can't be collected in `where`; NULL: it can. */
static const char *unfit(const asc_node *leaf, const asc_node *where)
{
    if (where->ctx != leaf->ctx) {
        return "belongs to another context";
    }
    if (!where->contiguous) {
        return "is not contiguous";
    }
    if (asc_wants_grad(where)) {
        return "requires a gradient";
    }
    return asc_arrays_overlap(&where->array, &leaf->array) ? "is the leaf's own memory" : NULL;
}

asc_status asc_grad_into(asc_tensor leaf, asc_tensor where, bool holds)
{
    asc_node *n = asc_node_of(leaf), *to = asc_node_of(where);
    if (!n) {
        return to && asc_is_null(leaf) ? asc_need_tensor(to->ctx, leaf, "grad_into", "leaf")
                                       : asc_refuse_gone(leaf, "grad_into", "leaf");
    }
    const asc_tape *tape = n->ctx->tape.state;
    if (!n->requires_grad || (tape && tape->passing)) {
        return asc_fail(n->ctx, n->requires_grad ? ASC_ERR_STATE : ASC_ERR_ARG, "grad_into: %s", n->requires_grad
                        ? "called from within a backward pass" : "the tensor is no leaf that requires its gradient");
    }
    if (!to && !asc_is_null(where)) {
        return asc_need_tensor(n->ctx, where, "grad_into", "where");
    }
    const char *why = to ? unfit(n, to) : NULL;
    if (why) {
        return asc_fail(n->ctx, ASC_ERR_ARG, "grad_into: where %s", why);
    }
    if (to && (!asc_same_shape(&to->array, &n->array) || to->array.dtype != n->array.dtype)) {
        char got[ASC_SHAPE_TEXT], expected[ASC_SHAPE_TEXT];
        return asc_fail(n->ctx, ASC_ERR_ARG, "grad_into: where is %s %s, the leaf is %s %s",
                        asc_dtype_name(to->array.dtype), asc_shape_text(&to->array, got),
                        asc_dtype_name(n->array.dtype), asc_shape_text(&n->array, expected));
    }
    asc_node *was = n->grad;
    if (to) {
        asc_node_ref(to);
    }
    n->grad = to;
    n->has_grad = to && holds;
    n->grad_given = to != NULL;
    asc_node_unref(was);
    return ASC_OK;
}

static void zero(void *data, const asc_array *a)
{
    if (data) {
        memset(data, 0, asc_array_bytes(a));
    }
}

/* ---- one record ---- */

static asc_status refuse_overwritten(asc_call *call, const char *kind, int i)
{
    return asc_fail(call->ctx, ASC_ERR_STATE,
                    "backward: %s: %s %d was overwritten after the forward pass, and its old value is needed",
                    call->op->name, kind, i);
}

static asc_status open_slot(asc_call *call, const asc_slot *slot, asc_array *a, const char *kind, int i)
{
    *a = slot->array;
    if (!slot->storage) {
        a->data = NULL;
    } else if (asc_storage_changed(slot->storage, slot->stamp, slot->range)) {
        return refuse_overwritten(call, kind, i);
    } else if (slot->rounded) {
        asc_status status = asc_storage_widen(call->ctx, slot->storage);
        a->data = (char *)slot->storage->data + slot->range.from;
        return status;
    }
    return ASC_OK;
}

static asc_status open_arrays(asc_call *call, const asc_record *r)
{
    const asc_slot *in = r->slots, *out = in + r->n_in, *saved = out + r->n_out;
    asc_status status = ASC_OK;
    for (int i = 0; i < r->n_in && !status; i++) {
        status = open_slot(call, &in[i], &call->in[i], "input", i);
    }
    for (int i = 0; i < r->n_out && !status; i++) {
        status = open_slot(call, &out[i], &call->out[i], "output", i);
    }
    for (int i = 0; i < r->n_saved && !status; i++) {
        status = open_slot(call, &saved[i], &call->saved[i], "saved array", i);
    }
    return status;
}

static void contiguous_like(asc_array *a, const asc_array *like, void *data)
{
    asc_array_init(a, like->dtype, like->ndim, like->shape);
    a->data = data;
}

static bool same_edge(const asc_edge *a, const asc_edge *b)
{
    return a->record == b->record && a->leaf == b->leaf && a->out == b->out;
}

/* The first input that is the same tensor as number i: i, or one before. */
static int first_of(const asc_record *r, int i)
{
    int first = 0;
    while (!same_edge(&r->slots[first].edge, &r->slots[i].edge)) {
        first++;
    }
    return first;
}

/* The gradients that backward adds to. A tensor that is given again has another one each time, in `again`, so that a
 * backward function may add to all of them at once, from several threads. */
static asc_status open_input_grads(asc_call *call, const asc_tape *tape, const asc_record *r, asc_storage **again)
{
    for (int i = 0; i < r->n_in; i++) {
        const asc_edge *edge = &r->slots[i].edge;
        if (!edge->record && !edge->leaf) {
            continue;
        }
        bool fresh = true;
        void *data = NULL;
        if (first_of(r, i) < i) {
            again[i] = asc_storage_new(call->ctx, asc_array_bytes(&r->slots[i].array));
            data = again[i] ? again[i]->data : NULL;
        }
        if (first_of(r, i) < i ? !again[i] : asc_grad_target(call->ctx, edge, &data, &fresh) != ASC_OK) {
            return ASC_ERR_MEMORY;
        }
        contiguous_like(&call->grad_in[i], &r->slots[i].array, data);
        if (fresh && !(call->op->flags & ASC_OP_FRESH)) {
            if (!tape->rehearsal) {
                zero(data, &call->grad_in[i]);
            }
            fresh = false;
        }
        call->fresh[i] = fresh;
    }
    return ASC_OK;
}

/* The number of the first of n slots that holds what a gradient of the call's takes the place of; n: none does. */
static int find_covered(const asc_call *call, const asc_slot *slots, const asc_array *arrays, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < call->n_in && slots[i].storage; j++) {
            if (call->grad_in[j].data && asc_arrays_overlap(&call->grad_in[j], &arrays[i])) {
                return i;
            }
        }
    }
    return n;
}

/* A leaf's gradient may be collected in memory that the call has read, and needs, as asc_grad of an earlier pass. */
static asc_status check_apart(asc_call *call, const asc_record *r)
{
    const asc_slot *in = r->slots, *out = in + r->n_in;
    int i = find_covered(call, in, call->in, r->n_in), o = find_covered(call, out, call->out, r->n_out);
    if (i == r->n_in && o == r->n_out) {
        return ASC_OK;
    }
    return refuse_overwritten(call, i < r->n_in ? "input" : "output", i < r->n_in ? i : o);
}

/* Adds up the gradients of a tensor that was given several times, in their order. */
static void join_input_grads(asc_call *call, const asc_record *r, asc_storage **again, bool computed)
{
    for (int i = 0; i < r->n_in; i++) {
        if (again[i]) {
            asc_array *first = &call->grad_in[first_of(r, i)];
            if (computed) {
                asc_grad_add(first, first->data, again[i]->data);
            }
            call->grad_in[i].data = first->data;
            asc_storage_unref(call->ctx, again[i]);
        }
    }
}

static void open_output_grads(asc_call *call, const asc_record *r)
{
    for (int i = 0; i < r->n_out; i++) {
        const asc_slot *out = &r->slots[r->n_in + i];
        if (out->grad) {
            contiguous_like(&call->grad_out[i], &out->array, out->grad->data);
        }
    }
}

static asc_status check_input_grads(asc_call *call)
{
    for (int i = 0; i < call->n_in; i++) {
        char name[32], what[64];
        snprintf(what, sizeof what, "gradient of %s", asc_input_name(call->op, i, name));
        if (asc_check_finite(call, &call->grad_in[i], what)) {
            return ASC_ERR_NONFINITE;
        }
    }
    return ASC_OK;
}

static asc_status run_record(asc_ctx *ctx, asc_tape *tape, const asc_record *r)
{
    asc_engine engine = {.flops = r->flops, .inferred = true};
    asc_call call = {.ctx = ctx, .op = r->op, .attrs = r->attrs, .n_in = r->n_in, .n_out = r->n_out,
                     .n_saved = r->n_saved, .wants_grad = true, .engine = &engine};
    memcpy(call.random, r->random, sizeof call.random);
    open_output_grads(&call, r);
    const char *label = asc_set_label(ctx, r->label);
    asc_watch watch = asc_watch_begin(ctx);
    asc_storage *again[ASC_MAX_IN] = {0};
    asc_status status = open_arrays(&call, r);
    status = status ? status : open_input_grads(&call, tape, r, again);
    status = status || tape->rehearsal ? status : check_apart(&call, r);
    if (!status && !tape->rehearsal) {
        asc_fence fence = asc_fence_begin(ctx);
        status = asc_fail(ctx, r->op->backward(&call), "%s: backward failed without a message", r->op->name);
        asc_call_unfence(&call, fence, "backward");
    }
    status = status ? status : ctx->status; /* of something that backward called */
    join_input_grads(&call, r, again, !status && !tape->rehearsal);
    asc_call_drop_scratch(&call, 0);
    if (!status && tape->check_nan && !tape->rehearsal) {
        status = check_input_grads(&call);
    }
    asc_watch_end(watch, &call, true, status);
    asc_set_label(ctx, label);
    return status;
}

/* ---- the walk ---- */

static void drop_output_grads(asc_ctx *ctx, asc_record *r)
{
    for (int i = 0; i < r->n_out; i++) {
        asc_slot *out = &r->slots[r->n_in + i];
        asc_storage_unref(ctx, out->grad);
        out->grad = NULL;
    }
}

static asc_status run_next(asc_ctx *ctx, asc_tape *tape, const asc_record *r)
{
    if (r->freed) {
        return asc_fail(ctx, ASC_ERR_STATE, "backward: %s was freed by an earlier backward pass, which did not retain "
                        "it", r->op->name);
    }
    return r->op == &asc_op_recompute ? asc_segment_backward(ctx, tape, r) : run_record(ctx, tape, r);
}

asc_status asc_walk_back(asc_ctx *ctx, asc_tape *tape, uint64_t first, bool retain, asc_status status)
{
    for (asc_record *r; (r = asc_waiting_take(tape, first));) {
        status = status ? status : run_next(ctx, tape, r);
        drop_output_grads(ctx, r);
        if (!retain) {
            asc_record_free(ctx, r);
        }
        asc_record_unref(ctx, r);
    }
    return status;
}

/* ---- the pass ---- */

/* Writes the cotangent, or 1, where it goes. */
static void set_seed(const asc_array *loss, const asc_node *cotangent, void *to)
{
    if (cotangent) {
        asc_pack(&cotangent->array, loss->dtype, to);
    } else {
        asc_set_element(loss->dtype, to, 0, 1);
    }
}

/* Adds it to what the gradient of a leaf holds. */
static asc_status add_seed(asc_ctx *ctx, const asc_array *loss, const asc_node *cotangent, void *to)
{
    asc_storage *seed = asc_storage_new(ctx, asc_array_bytes(loss));
    if (!seed) {
        return ASC_ERR_MEMORY;
    }
    set_seed(loss, cotangent, seed->data);
    for (int64_t i = 0; i < loss->numel; i++) {
        asc_set_element(loss->dtype, to, i, asc_element(loss->dtype, to, i) + asc_element(loss->dtype, seed->data, i));
    }
    asc_storage_unref(ctx, seed);
    return ASC_OK;
}

/* The gradient of the loss itself, which may be a leaf. */
static asc_status seed(asc_ctx *ctx, asc_node *loss, asc_tensor cotangent)
{
    const asc_array *a = &loss->array;
    asc_node *c = asc_node_of(cotangent);
    if (!asc_is_null(cotangent) && !c) {
        return asc_fail(ctx, ASC_ERR_STATE, "backward: cotangent is a tensor that is gone");
    }
    if (c && c->ctx != ctx) {
        return asc_fail(ctx, ASC_ERR_ARG, "backward: cotangent belongs to another context");
    }
    char got[ASC_SHAPE_TEXT], expected[ASC_SHAPE_TEXT];
    if (!c && a->numel != 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "backward: loss is %s: expected one element, or a cotangent",
                        asc_shape_text(a, expected));
    }
    if (c && (!asc_same_shape(&c->array, a) || c->array.dtype != a->dtype)) {
        return asc_fail(ctx, ASC_ERR_ARG, "backward: cotangent is %s %s, loss is %s %s", asc_dtype_name(c->array.dtype),
                        asc_shape_text(&c->array, got), asc_dtype_name(a->dtype), asc_shape_text(a, expected));
    }
    bool fresh;
    asc_edge edge = asc_edge_of(loss);
    void *data;
    if (asc_grad_target(ctx, &edge, &data, &fresh)) {
        return ASC_ERR_MEMORY;
    }
    if (!fresh) {
        return add_seed(ctx, a, c, data);
    }
    set_seed(a, c, data);
    return ASC_OK;
}

static void call_hooks(asc_tape *tape, bool ok)
{
    for (asc_node *leaf; (leaf = tape->reached);) {
        tape->reached = leaf->next;
        leaf->reached = false;
        if (ok && leaf->hook && leaf->has_grad && !tape->rehearsal) { /* another hook may have zeroed it */
            leaf->hook(leaf->hook_user, asc_handle(leaf->grad));
        }
        asc_node_unref(leaf);
    }
}

asc_status asc_backward(asc_ctx *ctx, asc_tensor loss, asc_tensor cotangent, bool retain)
{
    if (!ctx || ctx->status) {
        return ctx ? ctx->status : ASC_ERR_ARG;
    }
    asc_node *n = asc_node_of(loss);
    if (!n) {
        return asc_need_tensor(ctx, loss, "backward", "loss");
    }
    if (n->ctx != ctx) {
        return asc_fail(ctx, ASC_ERR_ARG, "backward: loss belongs to another context");
    }
    if (!n->record && !n->requires_grad) {
        const char *why = n->flows ? asc_left_behind(ctx, n) : n->cut;
        if (!why) {
            why = n->flows ? "was made by a function of asc_recompute, whose backward pass comes later"
                           : "depends on no tensor that requires a gradient";
        }
        return asc_fail(ctx, ASC_ERR_ARG, "backward: loss %s", why);
    }
    asc_tape *tape = asc_tape_of(ctx);
    if (!tape) {
        return ASC_ERR_MEMORY;
    }
    if (tape->passing || tape->segment) {
        return asc_fail(ctx, ASC_ERR_STATE, "backward: called from within %s",
                        tape->passing ? "a backward pass" : "a function of asc_recompute");
    }
    if (n->record && n->record->freed) {
        return asc_fail(ctx, ASC_ERR_STATE, "backward: the tape was freed by an earlier backward pass, which did not "
                        "retain it");
    }
    tape->passing = true;
    bool recording = asc_set_recording(ctx, false); /* ops that a backward function calls add nothing to the tape */
    asc_status status = asc_walk_back(ctx, tape, 0, retain, seed(ctx, n, cotangent));
    call_hooks(tape, status == ASC_OK);
    asc_set_recording(ctx, recording);
    tape->passing = false;
    return status ? status : ctx->status; /* of a hook */
}

asc_status asc_backward_loss(asc_ctx *ctx, asc_tensor loss)
{
    return asc_backward(ctx, loss, asc_null(), false);
}
