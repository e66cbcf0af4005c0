/* autograd/apply.c: calling an op: inputs in, outputs out, the call on the tape. */
#include <stdio.h>
#include <string.h>

#include "autograd/engine.h"
#include "tensor/need.h"
#include "tensor/random.h"

static asc_status take_input(asc_call *call, int i, asc_tensor t)
{
    asc_engine *e = call->engine;
    char name[32];
    if (asc_is_null(t)) {
        call->in[i] = (asc_array){.ndim = -1};
        return asc_input_optional(call->op, i) ? ASC_OK
                                               : asc_call_fail(call, "%s is null", asc_input_name(call->op, i, name));
    }
    asc_node *node = asc_node_of(t);
    if (!node) {
        char text[128];
        snprintf(text, sizeof text, "%s is a tensor that is gone: its scope has ended, or it was released",
                 asc_input_name(call->op, i, name));
        return asc_call_fail_as(call, ASC_ERR_STATE, text);
    }
    if (node->ctx != call->ctx) {
        return asc_call_fail(call, "%s belongs to another context", asc_input_name(call->op, i, name));
    }
    e->in[i] = node;
    call->in[i] = node->array;
    if (node->contiguous || call->op->flags & ASC_OP_STRIDED) {
        return ASC_OK;
    }
    asc_array *a = &call->in[i];
    e->packed[i] = asc_storage_new(call->ctx, asc_array_bytes(a));
    if (!e->packed[i]) {
        return ASC_ERR_MEMORY;
    }
    if (!((asc_tape *)call->ctx->tape.state)->rehearsal) {
        asc_pack(&node->array, a->dtype, e->packed[i]->data);
    }
    asc_array_init(a, a->dtype, a->ndim, node->array.shape);
    a->data = e->packed[i]->data;
    return ASC_OK;
}

static asc_status take_inputs(asc_call *call, const asc_tensor *inputs, int n_in)
{
    const asc_op *op = call->op;
    int least = asc_inputs_least(op), most = asc_inputs_most(op);
    if (most > ASC_MAX_IN) {
        return asc_call_fail(call, "its descriptor names %d inputs, expected at most %d", most, ASC_MAX_IN);
    }
    if (n_in < least || n_in > most) {
        return least == most ? asc_call_fail(call, "%d inputs, expected %d", n_in, least)
                             : asc_call_fail(call, "%d inputs, expected %d to %d", n_in, least, most);
    }
    /* optional inputs that are not named are absent */
    call->n_in = strstr(op->inputs, "...") ? n_in : most;
    for (int i = 0; i < call->n_in; i++) {
        asc_status status = take_input(call, i, i < n_in ? inputs[i] : asc_null());
        if (status) {
            return status;
        }
    }
    return ASC_OK;
}

/* Why output `out` can't be written into the memory of `to`; NULL: it can. */
static const char *unfit(const asc_call *call, const asc_tape *tape, const asc_node *to, int out)
{
    const asc_engine *e = call->engine;
    if (to->ctx != call->ctx) {
        return "belongs to another context";
    }
    if (!to->contiguous) {
        return "is not contiguous";
    }
    if (asc_wants_grad(to)) {
        return "requires a gradient";
    }
    for (int i = 0; i < call->n_in; i++) {
        const asc_node *in = e->in[i];
        if (in && (in->storage == to->storage || asc_arrays_overlap(&in->array, &to->array))) {
            return "is an input's";
        }
    }
    for (int i = 0; i < out; i++) {
        if (e->into[i] && asc_arrays_overlap(&e->into[i]->array, &to->array)) {
            return "is another output's";
        }
    }
    return tape->segment ? "can't be written by a function of asc_recompute" : NULL;
}

static asc_status take_memory(asc_call *call, const asc_tape *tape, const asc_tensor *into)
{
    asc_engine *e = call->engine;
    for (int i = 0; into && i < call->n_out; i++) {
        if (asc_is_null(into[i])) {
            continue;
        }
        e->into[i] = asc_node_of(into[i]);
        const char *why = e->into[i] ? unfit(call, tape, e->into[i], i) : "is a tensor that is gone";
        if (why) {
            return asc_call_fail(call, "the memory for output %d %s", i, why);
        }
    }
    return ASC_OK;
}

static asc_status find_wants(asc_call *call)
{
    asc_engine *e = call->engine;
    if (!call->ctx->recording || !call->op->backward) {
        return ASC_OK;
    }
    for (int i = 0; i < call->n_in; i++) {
        const char *behind = asc_left_behind(call->ctx, e->in[i]);
        if (behind) {
            char name[32], text[160];
            snprintf(text, sizeof text, "%s %s", asc_input_name(call->op, i, name), behind);
            return asc_call_fail_as(call, ASC_ERR_STATE, text);
        }
        call->wants[i] = asc_wants_grad(e->in[i]);
        call->wants_grad |= call->wants[i];
    }
    return ASC_OK;
}

/* The call's key, from (seed, step, ordinal of the random call in its step). */
static void draw_key(asc_call *call)
{
    asc_ctx *ctx = call->ctx;
    uint64_t step = ctx->step, ordinal = ctx->random_ordinal++;
    const uint32_t key[2] = {(uint32_t)ctx->seed, (uint32_t)(ctx->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)ordinal, (uint32_t)(ordinal >> 32), (uint32_t)step, (uint32_t)(step >> 32)};
    uint32_t word[4];
    asc_philox(key, counter, word);
    memcpy(call->random, word, sizeof call->random);
}

static asc_status check_outputs(asc_call *call)
{
    for (int i = 0; i < call->n_out; i++) {
        char what[32];
        snprintf(what, sizeof what, "output %d", i);
        if (asc_check_finite(call, &call->out[i], what)) {
            return ASC_ERR_NONFINITE;
        }
    }
    return ASC_OK;
}

/* infer has declared every output, and in no scope of its own. */
static asc_status check_declared(asc_call *call)
{
    const asc_engine *e = call->engine;
    for (int i = 0; i < call->n_out; i++) {
        if (!e->out[i]) {
            return asc_call_fail(call, "infer declared no output %d", i);
        }
        if (!e->out[i]->owned) {
            char text[100];
            snprintf(text, sizeof text, "infer declared output %d in a scope of its own, with which it went", i);
            return asc_call_fail_as(call, ASC_ERR_STATE, text);
        }
    }
    return ASC_OK;
}

static asc_status infer_and_forward(asc_call *call, const asc_tape *tape)
{
    asc_ctx *ctx = call->ctx;
    asc_engine *e = call->engine;
    asc_fence fence = asc_fence_begin(ctx);
    asc_status status = call->op->infer(call);
    e->inferred = true;
    if (!status && !ctx->status && asc_scopes_begun(ctx) == fence.scopes && !(status = check_declared(call)) &&
        !tape->rehearsal) {
        status = call->op->forward(call);
    }
    asc_fail(ctx, status, "%s: failed without a message", call->op->name);
    asc_call_unfence(call, fence, "infer or forward");
    return ctx->status; /* also of what they called, and passed over */
}

/* In a rehearsal masks and lengths, which some counts follow from, have no values. */
static double count_flops(asc_call *call, bool rehearsal)
{
    void *data[ASC_MAX_IN];
    for (int i = 0; i < call->n_in; i++) {
        data[i] = call->in[i].data;
        call->in[i].data = rehearsal && !asc_is_floating(call->in[i].dtype) ? NULL : data[i];
    }
    double flops = call->op->flops(call);
    for (int i = 0; i < call->n_in; i++) {
        call->in[i].data = data[i];
    }
    return flops;
}

/* No gradient flows to the outputs. If this call lets none through, or one before it did, backward will say so. */
static void note_cut(const asc_call *call)
{
    const asc_engine *e = call->engine;
    const char *cut = NULL;
    for (int i = 0; i < call->n_in && !cut; i++) {
        if (asc_wants_grad(e->in[i])) {
            cut = call->ctx->recording ? "comes by an op without a backward pass" : "was computed with recording off";
        } else if (e->in[i]) {
            cut = e->in[i]->cut;
        }
    }
    for (int i = 0; i < call->n_out; i++) {
        e->out[i]->cut = cut;
    }
}

/* Everything of a call but cleaning up after it. */
static asc_status run(asc_call *call, const asc_tensor *inputs, int n_in, const asc_tensor *into)
{
    asc_tape *tape = asc_tape_of(call->ctx);
    if (!tape) {
        return ASC_ERR_MEMORY;
    }
    if (call->op->attrs_size > 0 && !call->attrs) {
        return asc_call_fail(call, "attributes are NULL, expected %zu bytes", call->op->attrs_size);
    }
    asc_status status = take_inputs(call, inputs, n_in);
    status = status ? status : take_memory(call, tape, into);
    status = status ? status : find_wants(call);
    if (status) {
        return status;
    }
    bool flows = call->wants_grad;
    if (tape->segment) { /* nothing is kept for a backward pass: it will run the call again */
        call->wants_grad = false;
        memset(call->wants, 0, sizeof call->wants);
    }
    if (call->op->flags & ASC_OP_RANDOM) {
        draw_key(call);
    }
    if ((status = infer_and_forward(call, tape)) ||
        (tape->check_nan && !tape->rehearsal && (status = check_outputs(call)))) {
        return status;
    }
    if (call->op->flops) {
        asc_engine *e = call->engine;
        tape->flops += e->flops = count_flops(call, tape->rehearsal);
    }
    if (!flows) {
        note_cut(call);
    }
    if (tape->segment) {
        return asc_segment_add(call, flows);
    }
    return flows ? asc_tape_record(call, NULL) : ASC_OK;
}

asc_status asc_apply(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs,
                     asc_tensor *out)
{
    return asc_apply_into(ctx, op, inputs, n_in, attrs, NULL, out);
}

asc_status asc_apply_into(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs,
                          const asc_tensor *into, asc_tensor *out)
{
    asc_status status = ASC_NEED(ctx, "apply: op out inputs", op, out, asc_unless_empty(inputs, n_in));
    bool sound = op && op->n_out >= 1 && op->n_out <= ASC_MAX_OUT;
    if (status || (status = asc_op_check_call(ctx, op))) {
        for (int i = 0; out && i < (sound ? op->n_out : 1); i++) {
            out[i] = asc_null();
        }
        return status;
    }
    asc_engine engine = {0};
    asc_call call = {.ctx = ctx, .op = op, .attrs = op->attrs_size ? attrs : NULL, .n_out = op->n_out,
                     .engine = &engine};
    status = ctx->status; /* an earlier builder failed: this one has nothing to build on */
    if (!status) {
        asc_watch watch = asc_watch_begin(ctx);
        status = run(&call, inputs, n_in, into);
        asc_watch_end(watch, &call, false, status);
    }
    asc_call_drop_scratch(&call, 0);
    for (int i = 0; i < ASC_MAX_IN; i++) {
        asc_storage_unref(ctx, engine.packed[i]);
    }
    for (int i = 0; i < call.n_saved; i++) {
        asc_storage_unref(ctx, engine.saved[i]);
    }
    for (int i = 0; i < op->n_out; i++) {
        out[i] = status ? asc_null() : asc_handle(engine.out[i]);
        if (status) {
            asc_disown(asc_handle(engine.out[i]));
        }
        asc_node_unref(engine.out[i]);
    }
    return status;
}

asc_tensor asc_apply1(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs)
{
    asc_tensor out[ASC_MAX_OUT] = {{0}};
    asc_apply(ctx, op, inputs, n_in, attrs, out);
    return out[0];
}
