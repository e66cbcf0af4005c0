/* check/guard.c: an op between guards: each call's arrays stand in memory of their own, with a guard region on each
 * side. What the op writes there, or into an array that it is only to read, is found when it returns, and named. So is
 * what backward reads though saves_in or saves_out does not name it, which would be NULL elsewhere: here it holds
 * stand-ins, and a second call with others has to have the same results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/gradcheck.h"

enum { GUARD = 1024, LINE = 64 };

typedef enum kind { INPUT, OUTPUT, SAVED, GRAD_IN, GRAD_OUT } kind;

/* An array of a call, and its copy between the guards. */
typedef struct guarded_array {
    kind kind;
    int number;
    asc_array *given, *inner;
    bool written;    /* by the op; else it stays as it is */
    size_t bytes;
    size_t at;       /* of its copy in the memory, */
    size_t room;     /* and of the guard behind it */
    bool is_another; /* of one tensor given twice: it has the memory of an array before it */
    bool withheld;   /* from backward: it has no data but a stand-in's */
} guarded_array;

enum { MOST = 2 * ASC_MAX_IN + 2 * ASC_MAX_OUT + ASC_MAX_SAVED };
typedef struct guarded_call {
    asc_call inner;
    guarded_array array[MOST];
    int n;
    size_t bytes; /* of the memory: of each array a guard, itself, a guard */
    unsigned char *memory, pattern;
    bool backward, shifted;
} guarded_call;

static const asc_guarded *guarded_op(const asc_call *call)
{
    return (const asc_guarded *)(const void *)call->op;
}

/* ---- the arrays ---- */

static void add(guarded_call *g, kind kind, int number, asc_array *given, asc_array *inner, bool written)
{
    bool withheld = g->backward && (kind == INPUT || kind == OUTPUT) && !given->data;
    if (given->ndim < 0 || (!given->data && !withheld)) {
        return;
    }
    size_t shift = g->shifted && kind != SAVED ? asc_dtype_size(given->dtype) : 0; /* saved ones are the library's */
    size_t bytes = asc_array_span(given), end = (shift + bytes + LINE - 1) / LINE * LINE + GUARD;
    guarded_array a = {kind, number, given, inner, written, bytes, g->bytes + GUARD + shift, end - shift - bytes, false,
                       withheld};
    for (int i = 0; i < g->n && !a.is_another && !withheld; i++) {
        const guarded_array *b = &g->array[i];
        a.is_another = b->given->data == given->data && b->bytes == a.bytes && b->written == written;
        a.at = a.is_another ? b->at : a.at;
    }
    g->bytes += a.is_another ? 0 : GUARD + end;
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

/* Stand-ins: reals of either sign, small and large, and NaN, which even a factor of 0 lets through; what may be an
 * index stays one. */
static void stand_in(const guarded_array *a, bool other)
{
    asc_dtype dtype = a->given->dtype;
    int64_t n = (int64_t)(a->bytes / asc_dtype_size(dtype));
    for (int64_t i = 0; i < n; i++) {
        if (dtype == ASC_I64) {
            ((int64_t *)a->inner->data)[i] = other;
        } else if (dtype == ASC_U8) {
            ((uint8_t *)a->inner->data)[i] = other;
        } else {
            asc_set_element(dtype, a->inner->data, i, !other ? .5 : i % 2 ? NAN : -1000);
        }
    }
}

/* With other stand-ins in the array number `other`, or in ALL; NONE. */
enum { ALL = -1, NONE = -2 };
static void copy_in(guarded_call *g, int other)
{
    memset(g->memory, g->pattern, g->bytes);
    for (int i = 0; i < g->n; i++) {
        guarded_array *a = &g->array[i];
        a->inner->data = g->memory + a->at;
        if (a->withheld) {
            stand_in(a, other == ALL || other == i);
        } else if (a->bytes > 0) {
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
    guarded_op(call)->seen->caught = true;
    snprintf(name, sizeof name, formats[a->kind], input ? asc_input_name(call->op, a->number, number) : number);
    return asc_call_fail(call, "%s %s%s, %s %s", g->backward ? "backward" : "forward", what, name,
                         asc_dtype_name(a->given->dtype), asc_shape_text(a->given, shape));
}

/* Whether all of the bytes are a guard's. */
static bool is_guard(const unsigned char *bytes, size_t n, unsigned char pattern)
{
    return bytes[0] == pattern && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static asc_status check_array(asc_call *call, const guarded_call *g, const guarded_array *a)
{
    if (!is_guard(g->memory + a->at + a->bytes, a->room, g->pattern)) {
        return refuse(call, g, a, "writes out of bounds, behind ");
    }
    if (!is_guard(g->memory + a->at - GUARD, GUARD, g->pattern)) {
        return refuse(call, g, a, "writes out of bounds, before ");
    }
    if (!a->written && !a->withheld && a->bytes > 0 && memcmp(g->memory + a->at, a->given->data, a->bytes) != 0) {
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

static asc_status infer(asc_call *call)
{
    const asc_op *guarded = call->op;
    call->op = guarded_op(call)->real;
    asc_status status = call->op->infer(call);
    call->op = guarded;
    guarded_op(call)->seen->inferred = status == ASC_OK;
    return status;
}

static asc_status run_guarded(asc_call *call, guarded_call *g, int other)
{
    const asc_engine *e = call->engine;
    int scratch = e->n_scratch;
    copy_in(g, other);
    asc_status status = g->backward ? g->inner.op->backward(&g->inner) : g->inner.op->forward(&g->inner);
    asc_call_drop_scratch(call, scratch);
    return status ? status : check_arrays(call, g);
}

/* ---- what was read ---- */

/* Whether other stand-ins, as above, give other results than those in g's memory: status of the call, or of this. */
static asc_status read_any(asc_call *call, const guarded_call *g, int other, bool *differs)
{
    guarded_call again = *g;
    asc_storage *s = asc_storage_new(call->ctx, g->bytes);
    if (!s) {
        return ASC_ERR_MEMORY;
    }
    again.memory = s->data;
    for (int i = 0; i < g->n; i++) { /* the copy's own arrays */
        again.array[i].inner = (asc_array *)(void *)((char *)&again + ((char *)g->array[i].inner - (const char *)g));
    }
    asc_status status = run_guarded(call, &again, other);
    *differs = false;
    for (int i = 0; i < g->n && !status; i++) {
        const guarded_array *a = &g->array[i];
        *differs |= a->written && a->bytes > 0 && memcmp(g->memory + a->at, again.memory + a->at, a->bytes) != 0;
    }
    asc_storage_unref(call->ctx, s);
    return status;
}

/* Whether other stand-ins in all arrays give other results. So may an op whose results differ from call to call: it
 * fails as such. Calls of both kinds come in an order that no counter of the op's keeps step with. */
static asc_status read_anything(asc_call *call, const guarded_call *g, bool *differs)
{
    static const int order[] = {NONE, NONE, ALL, NONE, ALL, ALL, NONE, ALL, ALL, NONE, NONE};
    asc_status status = read_any(call, g, ALL, differs);
    for (size_t k = 0; k < sizeof order / sizeof *order && *differs && !status; k++) {
        bool other = false;
        status = read_any(call, g, order[k], &other);
        if (!status && other != (order[k] == ALL)) {
            guarded_op(call)->seen->caught = true;
            status = asc_call_fail(call, "backward gives other gradients of the same arrays when it is called again");
        }
    }
    return status;
}

static asc_status check_reads(asc_call *call, const guarded_call *g)
{
    bool any = false, this = false;
    for (int i = 0; i < g->n; i++) {
        any |= g->array[i].withheld && g->array[i].bytes > 0;
    }
    asc_status status = any ? read_anything(call, g, &any) : ASC_OK;
    if (status || !any) {
        return status;
    }
    for (int i = 0; i < g->n && !status; i++) {
        const guarded_array *a = &g->array[i];
        status = a->withheld ? read_any(call, g, i, &this) : ASC_OK;
        if (!status && a->withheld && this) {
            return refuse(call, g, a, a->kind == INPUT ? "reads what saves_in does not name, "
                                                       : "reads what saves_out does not name, ");
        }
    }
    return status;
}

static asc_status run(asc_call *call, bool backward)
{
    guarded_call g;
    g.inner = *call;
    g.inner.op = guarded_op(call)->real;
    g.pattern = guarded_op(call)->pattern;
    g.shifted = guarded_op(call)->shifted;
    g.n = 0;
    g.bytes = 0;
    g.backward = backward;
    bool view = !backward && g.inner.op->flags & ASC_OP_VIEW; /* it has nothing to write */
    if (!view) {
        add_all(&g, call);
    }
    asc_storage *s = asc_storage_new(call->ctx, g.bytes);
    if (!s) {
        return ASC_ERR_MEMORY;
    }
    g.memory = s->data;
    asc_guard_gaps gaps = guarded_op(call)->gaps;
    asc_status status = run_guarded(call, &g, gaps == ASC_GAPS_OTHER ? ALL : NONE);
    status = status || !backward || gaps != ASC_GAPS_COMPARED ? status : check_reads(call, &g);
    copy_out(&g);
    asc_storage_unref(call->ctx, s);
    return status;
}

static asc_status forward(asc_call *call)
{
    return run(call, false);
}

static asc_status backward(asc_call *call)
{
    return run(call, true);
}

const asc_op *asc_guard(asc_guarded *g, const asc_op *op, asc_guard_seen *seen)
{
    *g = (asc_guarded){*op, op, ASC_CHECK_PATTERN, false, ASC_GAPS_COMPARED, seen};
    g->op.infer = infer;
    g->op.forward = forward;
    g->op.backward = op->backward ? backward : NULL;
    g->op.flops = NULL;
    return &g->op;
}
