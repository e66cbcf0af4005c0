/* check/guard.c: an op between guards: each call's arrays stand in memory of their own, with a guard region on each
 * side. What the op writes there, or into an array that it is only to read, is found when it returns, and named. */
#include <stdio.h>
#include <string.h>

#include "check/gradcheck.h"

enum { GUARD = 1024, LINE = 64, PATTERN = 0xa5 }; /* a tiny number, which changes if something is added to it */

typedef enum kind { INPUT, OUTPUT, SAVED, GRAD_IN, GRAD_OUT } kind;

/* An array of a call, and its copy between the guards. */
typedef struct guarded_array {
    kind kind;
    int number;
    asc_array *given, *inner;
    bool written;    /* by the op; else it stays as it is */
    size_t bytes;
    size_t at;       /* of its copy in the memory */
    bool is_another; /* of one tensor given twice: it has the memory of an array before it */
} guarded_array;

enum { MOST = 2 * ASC_MAX_IN + 2 * ASC_MAX_OUT + ASC_MAX_SAVED };
typedef struct guarded_call {
    asc_call inner;
    guarded_array array[MOST];
    int n;
    size_t bytes; /* of the memory: of each array a guard, itself, a guard */
    unsigned char *memory;
    bool backward;
} guarded_call;

/* ---- the arrays ---- */

static void add(guarded_call *g, kind kind, int number, asc_array *given, asc_array *inner, bool written)
{
    if (given->ndim < 0 || !given->data) {
        return;
    }
    guarded_array a = {kind, number, given, inner, written, asc_array_span(given), g->bytes + GUARD, false};
    for (int i = 0; i < g->n && !a.is_another; i++) {
        const guarded_array *b = &g->array[i];
        a.is_another = b->given->data == given->data && b->bytes == a.bytes && b->written == written;
        a.at = a.is_another ? b->at : a.at;
    }
    g->bytes += a.is_another ? 0 : GUARD + (a.bytes + LINE - 1) / LINE * LINE + GUARD;
    g->array[g->n++] = a;
}

static void add_all(guarded_call *g, asc_call *call)
{
    bool backward = g->backward;
    for (int i = 0; i < call->n_in; i++) {
        add(g, INPUT, i, &call->in[i], &g->inner.in[i], false);
        if (backward) {
            add(g, GRAD_IN, i, &call->grad_in[i], &g->inner.grad_in[i], true);
        }
    }
    for (int i = 0; i < call->n_out; i++) {
        add(g, OUTPUT, i, &call->out[i], &g->inner.out[i], !backward);
        if (backward) {
            add(g, GRAD_OUT, i, &call->grad_out[i], &g->inner.grad_out[i], false);
        }
    }
    for (int i = 0; i < call->n_saved; i++) {
        add(g, SAVED, i, &call->saved[i], &g->inner.saved[i], !backward);
    }
}

static void copy_in(guarded_call *g)
{
    memset(g->memory, PATTERN, g->bytes);
    for (int i = 0; i < g->n; i++) {
        guarded_array *a = &g->array[i];
        a->inner->data = g->memory + a->at;
        if (a->bytes > 0) {
            memcpy(a->inner->data, a->given->data, a->bytes);
        }
    }
}

static void copy_out(guarded_call *g)
{
    for (int i = 0; i < g->n; i++) {
        guarded_array *a = &g->array[i];
        if (a->written && a->bytes > 0) {
            memcpy(a->given->data, g->memory + a->at, a->bytes);
        }
    }
}

/* ---- what was written ---- */

static asc_status refuse(asc_call *call, const guarded_call *g, const guarded_array *a, const char *what)
{
    static const char *const formats[] = {[INPUT] = "input %s", [OUTPUT] = "output %s", [SAVED] = "saved array %s",
                                          [GRAD_IN] = "the gradient of %s", [GRAD_OUT] = "the gradient of output %s"};
    char number[32], name[64], shape[ASC_SHAPE_TEXT];
    snprintf(number, sizeof number, "%d", a->number);
    bool input = a->kind == INPUT || a->kind == GRAD_IN;
    snprintf(name, sizeof name, formats[a->kind], input ? asc_input_name(call->op, a->number, number) : number);
    return asc_call_fail(call, "%s %s%s, %s %s", g->backward ? "backward" : "forward", what, name,
                         asc_dtype_name(a->given->dtype), asc_shape_text(a->given, shape));
}

/* Whether all of the bytes are a guard's. */
static bool is_guard(const unsigned char *bytes, size_t n)
{
    return bytes[0] == PATTERN && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static asc_status check_array(asc_call *call, const guarded_call *g, const guarded_array *a)
{
    size_t end = a->at + a->bytes, room = (a->bytes + LINE - 1) / LINE * LINE - a->bytes + GUARD;
    if (!is_guard(g->memory + end, room)) {
        return refuse(call, g, a, "writes out of bounds, behind ");
    }
    if (!is_guard(g->memory + a->at - GUARD, GUARD)) {
        return refuse(call, g, a, "writes out of bounds, before ");
    }
    if (!a->written && a->bytes > 0 && memcmp(g->memory + a->at, a->given->data, a->bytes) != 0) {
        return refuse(call, g, a, "writes to what it may only read, ");
    }
    return ASC_OK;
}

static asc_status check_arrays(asc_call *call, const guarded_call *g)
{
    asc_status status = ASC_OK;
    for (int i = 0; i < g->n && !status; i++) {
        status = check_array(call, g, &g->array[i]);
    }
    return status;
}

/* ---- the op ---- */

static const asc_op *real_op(const asc_call *call)
{
    return ((const asc_guarded *)(const void *)call->op)->real;
}

static asc_status infer(asc_call *call)
{
    const asc_op *guarded = call->op;
    call->op = real_op(call);
    asc_status status = call->op->infer(call);
    call->op = guarded;
    return status;
}

static asc_status run_guarded(asc_call *call, guarded_call *g)
{
    asc_storage *s = asc_storage_new(call->ctx, g->bytes);
    if (!s) {
        return ASC_ERR_MEMORY;
    }
    g->memory = s->data;
    copy_in(g);
    asc_status status = g->backward ? g->inner.op->backward(&g->inner) : g->inner.op->forward(&g->inner);
    status = status ? status : check_arrays(call, g);
    copy_out(g);
    asc_storage_unref(call->ctx, s);
    return status;
}

static asc_status run(asc_call *call, bool backward)
{
    guarded_call g;
    g.inner = *call;
    g.inner.op = real_op(call);
    g.n = 0;
    g.bytes = 0;
    g.backward = backward;
    bool view = !backward && g.inner.op->flags & ASC_OP_VIEW; /* it has nothing to write */
    if (!view) {
        add_all(&g, call);
    }
    return run_guarded(call, &g);
}

static asc_status forward(asc_call *call)
{
    return run(call, false);
}

static asc_status backward(asc_call *call)
{
    return run(call, true);
}

const asc_op *asc_guard(asc_guarded *g, const asc_op *op)
{
    *g = (asc_guarded){*op, op};
    g->op.infer = infer;
    g->op.forward = forward;
    g->op.backward = op->backward ? backward : NULL;
    g->op.flops = NULL;
    return &g->op;
}
