/* autograd/call.c: what an op's functions may ask of the engine. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "autograd/engine.h"
#include "autograd/operands.h"
#include "tensor/locale.h"

/* ---- errors ---- */

asc_status asc_call_fail_as(asc_call *call, asc_status status, const char *text)
{
    const char *label = call->ctx->label, *name = call->op->name;
    bool named = label && strcmp(label, name) != 0; /* a part of a model that is called as its op says so once */
    return asc_fail(call->ctx, status, "%s%s%s: %s", named ? label : "", named ? ": " : "", name, text);
}

asc_status asc_call_fail(asc_call *call, const char *format, ...)
{
    if (!call || !format) {
        return call ? asc_call_fail_as(call, ASC_ERR_ARG, "call_fail: format is NULL") : ASC_ERR_ARG;
    }
    char text[512];
    va_list args;
    va_start(args, format);
    asc_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return asc_call_fail_as(call, ASC_ERR_ARG, text);
}

asc_status asc_call_expect(asc_call *call, int input, const char *format, ...)
{
    if (!call || !format || input < 0 || input >= call->n_in) {
        return call ? asc_call_fail(call, "call_expect: input is %d of %d, format is %s", input, call->n_in,
                                    format ? "given" : "NULL") : ASC_ERR_ARG;
    }
    char expected[400], shape[ASC_SHAPE_TEXT], name[32];
    va_list args;
    va_start(args, format);
    asc_vsnprintf(expected, sizeof expected, format, args);
    va_end(args);
    const asc_array *a = &call->in[input];
    return asc_call_fail(call, "%s is %s%s%s, expected %s", asc_input_name(call->op, input, name),
                         a->ndim < 0 ? "" : asc_dtype_name(a->dtype), a->ndim < 0 ? "" : " ", asc_shape_text(a, shape),
                         expected);
}

/* Where element i stands, in elements from the first one: what a view shows does not lie side by side. */
static int64_t place_of(const asc_array *a, int64_t i)
{
    int64_t at = 0;
    for (int d = a->ndim - 1; d >= 0; d--) {
        at += i % a->shape[d] * a->stride[d];
        i /= a->shape[d];
    }
    return at;
}

asc_status asc_check_finite(asc_call *call, const asc_array *a, const char *what)
{
    if (!a->data || !asc_is_floating(a->dtype)) {
        return ASC_OK;
    }
    bool contiguous = asc_array_contiguous(a);
    for (int64_t i = 0; i < a->numel; i++) {
        double v = asc_element(a->dtype, a->data, contiguous ? i : place_of(a, i));
        if (!isfinite(v)) {
            char text[400], shape[ASC_SHAPE_TEXT];
            asc_snprintf(text, sizeof text, "%s %s has %g at element %lld", what, asc_shape_text(a, shape),
                         isnan(v) ? fabs(v) : v, (long long)i); /* no -nan */
            return asc_call_fail_as(call, ASC_ERR_NONFINITE, text);
        }
    }
    return ASC_OK;
}

/* ---- scopes ---- */

void asc_call_unfence(asc_call *call, asc_fence fence, const char *names)
{
    const char *did = asc_fence_end(call->ctx, fence);
    if (did) {
        char text[100];
        snprintf(text, sizeof text, "%s %s", names, did);
        asc_call_fail_as(call, ASC_ERR_STATE, text);
    }
}

/* ---- declarations ---- */

/* Whether infer runs. */
static bool may_declare(asc_call *call, const char *what, int i)
{
    const asc_engine *e = call->engine;
    if (e->inferred) {
        asc_call_fail(call, "%s %d is declared by forward or backward, expected by infer", what, i);
    }
    return !e->inferred;
}

static asc_status declare(asc_call *call, asc_array *a, const char *what, int i, asc_dtype dtype, int ndim,
                          const int64_t *shape)
{
    if (asc_array_init(a, dtype, ndim, shape)) {
        return ASC_OK;
    }
    if (asc_dtype_size(dtype) == 0) {
        return asc_call_fail(call, "%s %d would be of dtype %d, expected f32, f64, i64 or u8", what, i, (int)dtype);
    }
    if (ndim < 0 || ndim > ASC_MAX_DIMS) {
        return asc_call_fail(call, "%s %d would have %d dimensions, expected 0 to %d", what, i, ndim, ASC_MAX_DIMS);
    }
    if (!shape) {
        return asc_call_fail(call, "%s %d is declared without a shape", what, i);
    }
    char text[ASC_SHAPE_TEXT];
    bool negative = asc_shape_below_0(ndim, shape, text);
    return asc_call_fail(call, negative ? "%s %d would be %s, expected sizes of at least 0"
                                        : "%s %d would be %s, more bytes than there are",
                         what, i, text);
}

static bool same_kind(const asc_array *a, const asc_array *b)
{
    return a->dtype == b->dtype && asc_same_shape(a, b);
}

/* The storage of a tensor that is written from here on, with a reference. */
static asc_storage *taken_over(const asc_node *node)
{
    asc_storage_ref(node->storage);
    node->storage->stamp.writes++;
    return node->storage;
}

asc_status asc_call_output(asc_call *call, int i, asc_dtype dtype, int ndim, const int64_t *shape)
{
    if (!call) {
        return ASC_ERR_ARG;
    }
    if (!may_declare(call, "output", i)) {
        return ASC_ERR_ARG;
    }
    asc_engine *e = call->engine;
    if (i < 0 || i >= call->n_out || e->out[i]) {
        return asc_call_fail(call, "infer declares output %d, of %d, once too often", i, call->n_out);
    }
    asc_array *a = &call->out[i];
    if (declare(call, a, "output", i, dtype, ndim, shape)) {
        return ASC_ERR_ARG;
    }
    if (e->into[i] && !same_kind(a, &e->into[i]->array)) {
        char got[ASC_SHAPE_TEXT], needed[ASC_SHAPE_TEXT];
        const asc_array *into = &e->into[i]->array;
        return asc_call_fail(call, "output %d is %s %s, the memory for it is %s %s", i, asc_dtype_name(dtype),
                             asc_shape_text(a, needed), asc_dtype_name(into->dtype), asc_shape_text(into, got));
    }
    asc_storage *s = e->into[i] ? taken_over(e->into[i]) : asc_storage_new(call->ctx, asc_array_bytes(a));
    if (!s) {
        return ASC_ERR_MEMORY;
    }
    a->data = e->into[i] ? e->into[i]->array.data : s->data;
    e->out[i] = asc_node_new(call->ctx, a);
    if (!e->out[i]) {
        asc_storage_unref(call->ctx, s);
        return ASC_ERR_MEMORY;
    }
    e->out[i]->storage = s;
    asc_node_ref(e->out[i]);
    return ASC_OK;
}

/* Whether what a view shows, from element `offset` of its input on, is all the input's. Of an input without elements
 * there is nothing to show, wherever that would be. */
static bool is_within(const asc_array *view, int64_t offset, const asc_array *in)
{
    if (in->numel == 0) {
        return view->numel == 0;
    }
    int64_t room = (int64_t)(asc_array_span(in) / asc_dtype_size(in->dtype)) - 1; /* elements behind the view's first */
    bool within = offset >= 0 && offset <= room + (view->numel == 0);
    room -= within ? offset : 0;
    for (int d = 0; d < view->ndim && within && view->numel > 0; d++) {
        int64_t steps = view->shape[d] - 1, stride = view->stride[d];
        within = steps == 0 || (stride >= 0 && stride <= room / steps);
        room -= within && steps > 0 ? steps * stride : 0;
    }
    return within;
}

asc_status asc_call_view(asc_call *call, int64_t offset, int ndim, const int64_t *shape, const int64_t *stride)
{
    if (!call || (ndim > 0 && !stride)) {
        return call ? asc_call_fail(call, "call_view: stride is NULL") : ASC_ERR_ARG;
    }
    if (!may_declare(call, "output", 0)) {
        return ASC_ERR_ARG;
    }
    asc_engine *e = call->engine;
    asc_array *a = &call->out[0];
    if (e->out[0]) {
        return asc_call_fail(call, "infer declares output 0 once too often");
    }
    if (!(call->op->flags & ASC_OP_VIEW)) {
        return asc_call_fail(call, "infer declares a view, expected an op with ASC_OP_VIEW");
    }
    if (e->into[0]) {
        return asc_call_fail(call, "output 0 is a view of its input: nothing is written");
    }
    if (!e->in[0]) {
        return asc_call_fail(call, "infer declares a view of input 0, which is absent");
    }
    if (declare(call, a, "view", 0, call->in[0].dtype, ndim, shape)) {
        return ASC_ERR_ARG;
    }
    if (ndim > 0) {
        memcpy(a->stride, stride, (size_t)ndim * sizeof *stride);
    }
    if (!is_within(a, offset, &call->in[0])) {
        char in[ASC_SHAPE_TEXT];
        return asc_call_fail(call, "infer declares a view beyond its input, %s %s", asc_dtype_name(a->dtype),
                             asc_shape_text(&call->in[0], in));
    }
    a->data = (char *)call->in[0].data + (call->in[0].numel > 0 ? offset : 0) * (int64_t)asc_dtype_size(a->dtype);
    e->out[0] = asc_node_new(call->ctx, a);
    if (!e->out[0]) {
        return ASC_ERR_MEMORY;
    }
    e->out[0]->storage = e->packed[0] ? e->packed[0] : e->in[0]->storage;
    asc_storage_ref(e->out[0]->storage);
    asc_node_ref(e->out[0]);
    return ASC_OK;
}

asc_status asc_call_save(asc_call *call, int i, asc_dtype dtype, int ndim, const int64_t *shape)
{
    if (!call) {
        return ASC_ERR_ARG;
    }
    if (!may_declare(call, "saved array", i)) {
        return ASC_ERR_ARG;
    }
    asc_engine *e = call->engine;
    if (i != call->n_saved || i >= ASC_MAX_SAVED) {
        return asc_call_fail(call, "infer declares saved array %d, expected number %d of at most %d", i, call->n_saved,
                             ASC_MAX_SAVED);
    }
    asc_array *a = &call->saved[i];
    if (declare(call, a, "saved array", i, dtype, ndim, shape)) {
        return ASC_ERR_ARG;
    }
    e->saved[i] = asc_storage_new(call->ctx, asc_array_bytes(a));
    if (!e->saved[i]) {
        return ASC_ERR_MEMORY;
    }
    a->data = e->saved[i]->data;
    call->n_saved++;
    return ASC_OK;
}

/* ---- scratch ---- */

void *asc_call_scratch(asc_call *call, size_t bytes)
{
    if (!call) {
        return NULL;
    }
    asc_engine *e = call->engine;
    if (e->n_scratch == ASC_MAX_SCRATCH) {
        asc_call_fail(call, "more than %d scratch arrays", ASC_MAX_SCRATCH);
        return NULL;
    }
    asc_storage *s = asc_storage_new(call->ctx, bytes);
    if (!s) {
        return NULL;
    }
    e->scratch[e->n_scratch++] = s;
    return s->data;
}

void asc_call_drop_scratch(asc_call *call, int kept)
{
    asc_engine *e = call->engine;
    while (e->n_scratch > kept) {
        asc_storage_unref(call->ctx, e->scratch[--e->n_scratch]);
    }
}

void asc_call_operands(asc_call *call, uint32_t inputs)
{
    asc_engine *e = call->engine;
    e->operands = call->ctx->precision == ASC_PRECISION_BF16 ? inputs : 0;
}
