/* autograd/observe.c: telling an observer what runs: every call of an op, forward and backward, and every span.
 *
 * Products of a backward call: a product y = a b has da = dy bᵀ and db = aᵀ dy, each as large as itself. So the
 * forward's count twice, but once where there are several factors (inputs of two dimensions or more) and only one's
 * gradient is asked for. An op that is ASC_OP_EAGER has done them in its forward call. */
#include <math.h>

#include "autograd/engine.h"
#include "tensor/need.h"

/* ---- what a call costs ---- */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double bytes_of(const asc_array *arrays, int n)
{
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        bytes += arrays[i].data ? (double)asc_array_bytes(&arrays[i]) : 0;
    }
    return bytes;
}

static double forward_bytes(const asc_call *call)
{
    if (call->op->flags & ASC_OP_VIEW) {
        return 0;
    }
    double first = bytes_of(call->in, 1), out = bytes_of(call->out, call->n_out);
    if (call->op->flags & ASC_OP_GATHERS) {
        first = smaller(first, out);
    }
    return first + bytes_of(call->in + 1, call->n_in - 1) + out + bytes_of(call->saved, call->n_saved);
}

/* A gradient that is added to is read and written. */
static double gradient_bytes(const asc_call *call, int i, double from)
{
    double to = bytes_of(&call->grad_in[i], 1);
    bool gathered = i == 0 && call->op->flags & ASC_OP_GATHERS;
    return call->fresh[i] ? to : 2 * (gathered ? smaller(to, from) : to);
}

static double backward_bytes(const asc_call *call)
{
    double from = bytes_of(call->grad_out, call->n_out), bytes = from;
    for (int i = 0; i < call->n_in; i++) {
        bytes += gradient_bytes(call, i, from);
    }
    return bytes + bytes_of(call->in, call->n_in) + bytes_of(call->out, call->n_out) +
           bytes_of(call->saved, call->n_saved);
}

/* How often the forward's products come again for the gradients. */
static int products_again(const asc_call *call, bool backward)
{
    int factors = 0, wanted = 0;
    for (int i = 0; i < call->n_in; i++) {
        if (call->in[i].ndim >= 2 && asc_is_floating(call->in[i].dtype)) {
            factors++;
            wanted += backward ? call->grad_in[i].data != NULL : call->wants[i];
        }
    }
    return wanted == 0 ? 0 : wanted == 1 && factors > 1 ? 1 : 2;
}

static double flops_of(const asc_call *call, bool backward)
{
    bool eager = call->op->flags & ASC_OP_EAGER;
    int here = backward ? 0 : 1;
    if (backward != eager) {
        here += products_again(call, backward);
    }
    return here * ((const asc_engine *)call->engine)->flops;
}

/* ---- telling ---- */

enum { SPANS = 32 }; /* that have room from the start */

static void tell(asc_ctx *ctx, asc_event *event)
{
    asc_tape *tape = ctx->tape.state;
    event->span = tape->span;
    event->end_s = asc_clock();
    event->work_s = asc_work_seconds(ctx, event->end_s) - event->work_s;
    tape->observer(tape->observer_user, event);
}

static bool watched(const asc_ctx *ctx)
{
    const asc_tape *tape = ctx ? ctx->tape.state : NULL;
    return tape && tape->observer && !tape->rehearsal;
}

asc_watch asc_watch_begin(asc_ctx *ctx)
{
    if (!watched(ctx)) {
        return (asc_watch){.start_s = NAN};
    }
    double now = asc_clock();
    return (asc_watch){now, asc_work_seconds(ctx, now), ((asc_tape *)ctx->tape.state)->call_depth++};
}

void asc_watch_end(asc_watch watch, const asc_call *call, bool backward, asc_status status)
{
    asc_ctx *ctx = call->ctx;
    if (isnan(watch.start_s)) {
        return;
    }
    ((asc_tape *)ctx->tape.state)->call_depth = watch.depth;
    if (!watched(ctx)) {
        return; /* it ended its watch from within the call */
    }
    asc_event event = {.op = call->op, .name = call->op->name, .label = ctx->label, .call = call, .backward = backward,
                       .depth = watch.depth, .status = status, .start_s = watch.start_s, .work_s = watch.work_s};
    if (!status) {
        event.flops = flops_of(call, backward);
        event.bytes = backward ? backward_bytes(call) : forward_bytes(call);
    }
    tell(ctx, &event);
}

asc_status asc_set_observer(asc_ctx *ctx, asc_observer *observer, void *user)
{
    asc_tape *tape = asc_tape_of(ctx);
    if (!tape) {
        return ctx ? ASC_ERR_MEMORY : ASC_ERR_ARG;
    }
    if (observer && !asc_grow(ctx, &tape->spans, &tape->cap_spans, SPANS, sizeof *tape->spans)) {
        return ASC_ERR_MEMORY;
    }
    tape->observer = observer;
    tape->observer_user = user;
    asc_workers_watch(ctx, observer != NULL);
    return ASC_OK;
}

/* ---- spans ---- */

/* By its address alone: a function that returns early out of a span leaves one that is gone. */
static bool is_open(const asc_tape *tape, const asc_span *span)
{
    size_t i = 0;
    while (i < tape->n_spans && tape->spans[i] != span) {
        i++;
    }
    return i < tape->n_spans;
}

static void forget_spans(asc_tape *tape)
{
    tape->span = NULL;
    tape->n_spans = 0;
}

void asc_span_begin(asc_ctx *ctx, asc_span *span, const char *name)
{
    if (ASC_NEED(ctx, "span_begin: span name", span, name)) {
        return;
    }
    asc_tape *tape = ctx->tape.state;
    if (tape && is_open(tape, span)) {
        forget_spans(tape);
        asc_fail(ctx, ASC_ERR_STATE, "span_begin: %s has begun, and not ended", name);
    }
    *span = (asc_span){.name = name, .start_s = NAN};
    if (watched(ctx) && asc_grow(ctx, &tape->spans, &tape->cap_spans, tape->n_spans + 1, sizeof *tape->spans)) {
        span->outer = tape->span;
        span->start_s = asc_clock();
        span->work_s = asc_work_seconds(ctx, span->start_s);
        tape->spans[tape->n_spans++] = tape->span = span;
    }
}

void asc_span_end(asc_ctx *ctx, asc_span *span)
{
    if (ASC_NEED(ctx, "span_end: span", span) || isnan(span->start_s)) {
        return;
    }
    asc_tape *tape = ctx->tape.state;
    if (!tape || tape->span != span) { /* those outside of it may be gone */
        if (tape) {
            forget_spans(tape);
        }
        asc_fail(ctx, ASC_ERR_STATE, "span_end: %s is not the last that was begun and not ended",
                 span->name ? span->name : "the span");
        return;
    }
    tape->span = span->outer;
    tape->n_spans--;
    if (watched(ctx)) {
        tell(ctx, &(asc_event){.name = span->name, .start_s = span->start_s, .work_s = span->work_s,
                               .status = ctx->status});
    }
}
