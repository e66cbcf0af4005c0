/* autograd/call.c: what an op's functions may ask of the engine, and what the engine asks of a descriptor. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "autograd/engine.h"
#include "autograd/operands.h"
#include "tensor/locale.h"

/* ---- input names ---- */

/* The i-th word of `names`; a last "..." repeats the word before it. Returns its length, 0 past the end. */
static size_t word_at(const char *names, int i, const char **word)
{
    size_t n = 0;
    for (const char *p = names;; i--) {
        p += strspn(p, " ");
        size_t length = strcspn(p, " ");
        if (length == 0) {
            return 0;
        }
        if (strncmp(p, "...", length) == 0) {
            return n;
        }
        *word = p;
        n = length;
        if (i == 0) {
            return n;
        }
        p += length;
    }
}

/* What a call relies on, and nothing that takes time: each has it checked. */
static bool fits(const asc_op *op)
{
    return op->abi == ASC_OP_ABI && op->name && op->equation && op->inputs && op->infer && op->forward &&
           op->n_out >= 1 && op->n_out <= ASC_MAX_OUT && op->attrs_size <= ASC_ATTRS_BYTES;
}

asc_status asc_op_check_call(asc_ctx *ctx, const asc_op *op)
{
    return fits(op) ? ASC_OK : asc_op_check(ctx, "apply", op);
}

/* A word in messages, tables and JSON. */
static bool is_name(const char *name)
{
    const char *c = name;
    while (asc_is_printable(*c) && *c != ' ') {
        c++;
    }
    return *c == 0 && c > name;
}

static bool variadic(const asc_op *op)
{
    return strstr(op->inputs, "...") != NULL;
}

/* Whether a word is the name of an input, with a ? behind it or without. */
static bool is_input(const char *word, size_t n)
{
    size_t letters = n - (word[n - 1] == '?');
    bool sound = letters > 0 && word[0] != '.';
    for (size_t i = 0; i < letters && sound; i++) {
        sound = (unsigned char)word[i] > ' ' && word[i] != '?' && strncmp(word + i, "...", 3) != 0;
    }
    return sound;
}

static bool are_inputs(const char *names)
{
    const char *p = names + strspn(names, " "), *first = p;
    bool sound = true;
    while (*p && sound) {
        size_t n = strcspn(p, " ");
        const char *next = p + n + strspn(p + n, " ");
        bool more = n == 3 && strncmp(p, "...", n) == 0;
        sound = more ? p > first && *next == 0 : is_input(p, n);
        p = next;
    }
    return sound;
}

/* Bits beyond the arrays would be passed over. */
static asc_status check_bits(asc_ctx *ctx, const char *by, const asc_op *op)
{
    int n_in = variadic(op) ? 1 : asc_inputs_most(op);
    const struct {
        const char *name, *of;
        uint32_t bits;
        int n;
    } field[] = {{"saves_in", variadic(op) ? "all of the inputs" : "each input", op->saves_in, n_in},
                 {"saves_out", "each output", op->saves_out, op->n_out},
                 {"no_grad_out", "each output", op->no_grad_out, op->n_out}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        uint32_t most = (uint32_t)((UINT64_C(1) << field[i].n) - 1);
        if (field[i].bits > most) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: %s is 0x%x, expected at most 0x%x, a bit for %s", by, op->name,
                            field[i].name, (unsigned)field[i].bits, (unsigned)most, field[i].of);
        }
    }
    return ASC_OK;
}

/* What is wrong with input i of a sample, into text; else NULL. */
static const char *fault_of(const asc_sample_input *s, int i, char text[200])
{
    bool ranges = s->kind == 'u' || s->kind == 'i', negative = false;
    asc_array a = {.ndim = s->ndim};
    char shape[ASC_SHAPE_TEXT];
    for (int d = 0; d < s->ndim && d < ASC_MAX_DIMS; d++) {
        a.shape[d] = s->shape[d];
        negative = negative || s->shape[d] < 0;
    }
    if (!strchr("fuib=", s->kind)) {
        snprintf(text, 200, "has kind '%c', expected f, u, i, b or =", s->kind);
    } else if (s->kind == '=') {
        if (s->lo >= 0 && s->lo < i) {
            return NULL;
        }
        asc_snprintf(text, 200, "is to be the same as input %g, expected one before it", s->lo);
    } else if (s->ndim < 0 || s->ndim > ASC_MAX_DIMS) {
        snprintf(text, 200, "has %d dimensions, expected 0 to %d", s->ndim, ASC_MAX_DIMS);
    } else if (ranges && !(isfinite(s->lo) && isfinite(s->hi) && s->lo <= s->hi)) {
        asc_snprintf(text, 200, "has lo %g and hi %g, expected numbers, lo no larger than hi", s->lo, s->hi);
    } else if (s->kind == 'b' && !(s->hi >= 0 && s->hi <= 1)) {
        asc_snprintf(text, 200, "has hi %g, expected a probability", s->hi);
    } else if (!isfinite(s->kink) || !isfinite(s->away)) {
        asc_snprintf(text, 200, "has kink %g and away %g, expected numbers", s->kink, s->away);
    } else if (negative) {
        snprintf(text, 200, "is %s, expected sizes of at least 0", asc_shape_text(&a, shape));
    } else {
        return NULL;
    }
    return text;
}

static asc_status check_sample(asc_ctx *ctx, const char *by, const asc_op *op, const asc_sample *sample,
                               const char *which)
{
    char text[200], name[32];
    int most = asc_inputs_most(op);
    for (int i = 0; i < ASC_MAX_IN; i++) {
        const asc_sample_input *s = &sample->in[i];
        if (s->kind && i >= most) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: %s: input %d is given, expected at most %d inputs", by, op->name,
                            which, i, most);
        }
        const char *fault = s->kind ? fault_of(s, i, text) : NULL;
        if (fault) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: %s: %s %s", by, op->name, which, asc_input_name(op, i, name),
                            fault);
        }
    }
    return ASC_OK;
}

static asc_status check_samples(asc_ctx *ctx, const char *by, const asc_op *op)
{
    asc_status status = op->bench ? check_sample(ctx, by, op, op->bench, "bench") : ASC_OK;
    for (int k = 0; k < op->n_samples && !status; k++) {
        char which[32];
        snprintf(which, sizeof which, "sample %d", k);
        status = check_sample(ctx, by, op, &op->samples[k], which);
    }
    return status;
}

asc_status asc_op_check(asc_ctx *ctx, const char *by, const asc_op *op)
{
    if (op->abi != ASC_OP_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: the op has ABI %u, expected %u", by, op->abi, ASC_OP_ABI);
    }
    const char *name = op->name && is_name(op->name) ? op->name : "(no name)";
    if (!op->name || !op->equation || !op->inputs || !op->infer || !op->forward) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: name, equation, inputs, infer and forward are needed", by, name);
    }
    if (!is_name(op->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: an op's name is %s, expected letters, digits and signs of ASCII", by,
                        op->name[0] ? "of other characters" : "empty");
    }
    if (!are_inputs(op->inputs)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: inputs is \"%s\", expected names with blanks between, each with a ? "
                        "behind it if it is optional, and \"...\" behind the last alone", by, name, op->inputs);
    }
    if (asc_inputs_most(op) > ASC_MAX_IN || !fits(op)) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "%s: %s: %d inputs, %d outputs, %zu bytes of attributes; at most %d, 1 to %d "
                        "and %d fit",
                        by, name, asc_inputs_most(op), op->n_out, op->attrs_size, ASC_MAX_IN, ASC_MAX_OUT,
                        ASC_ATTRS_BYTES);
    }
    if (op->n_samples < 0 || (op->n_samples > 0 && !op->samples)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: n_samples is %d, samples is %s", by, name, op->n_samples,
                        op->samples ? "given" : "NULL");
    }
    asc_status status = check_bits(ctx, by, op);
    return status ? status : check_samples(ctx, by, op);
}

const char *asc_input_name(const asc_op *op, int i, char *text)
{
    const char *word = "";
    size_t n = word_at(op->inputs, i, &word);
    if (n > 0 && word[n - 1] == '?') {
        n--;
    }
    if (variadic(op)) {
        snprintf(text, 32, "%.*s[%d]", (int)(n < 20 ? n : 20), word, i);
    } else {
        snprintf(text, 32, "%.*s", (int)(n < 31 ? n : 31), word);
    }
    return text;
}

bool asc_input_optional(const asc_op *op, int i)
{
    const char *word = "";
    size_t n = word_at(op->inputs, i, &word);
    return n > 0 && word[n - 1] == '?';
}

int asc_inputs_most(const asc_op *op)
{
    if (variadic(op)) {
        return ASC_MAX_IN;
    }
    const char *word;
    int n = 0;
    while (n <= ASC_MAX_IN && word_at(op->inputs, n, &word) > 0) {
        n++;
    }
    return n;
}

int asc_inputs_least(const asc_op *op)
{
    const char *word, *last = NULL;
    int n = 0, none = variadic(op) ? 1 : 0;
    while (n <= ASC_MAX_IN && word_at(op->inputs, n, &word) > 0 && word != last) { /* "..." gives the last one again */
        last = word;
        n++;
    }
    while (n > none && asc_input_optional(op, n - 1)) {
        n--;
    }
    return n;
}

bool asc_saves_input(const asc_op *op, int i)
{
    return op->saves_in & 1u << (variadic(op) ? 0 : i);
}

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

const char *asc_balance_scopes(asc_ctx *ctx, size_t begun)
{
    size_t now = asc_scopes_begun(ctx);
    const char *did = now > begun ? "began a scope that it did not end"
                                  : now < begun ? "ended a scope that it did not begin" : NULL;
    for (; now > begun; now--) {
        asc_scope_end(ctx);
    }
    for (; now < begun; now++) {
        asc_scope_begin(ctx);
    }
    return did;
}

void asc_call_balance(asc_call *call, const char *names)
{
    const asc_engine *e = call->engine;
    const char *did = asc_balance_scopes(call->ctx, e->scopes);
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
    asc_array wanted = {.ndim = ndim};
    bool negative = false;
    for (int d = 0; d < ndim; d++) {
        wanted.shape[d] = shape[d];
        negative = negative || shape[d] < 0;
    }
    return asc_call_fail(call, negative ? "%s %d would be %s, expected sizes of at least 0"
                                        : "%s %d would be %s, more bytes than there are",
                         what, i, asc_shape_text(&wanted, text));
}

static bool same_kind(const asc_array *a, const asc_array *b)
{
    return a->dtype == b->dtype && asc_same_shape(a, b);
}

/* The storage of a tensor that is written from here on, with a reference. */
static asc_storage *taken_over(const asc_node *node)
{
    asc_storage_ref(node->storage);
    node->storage->version++;
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
    return ASC_OK;
}

/* Whether what a view shows, from element `offset` of its input on, is all the input's. */
static bool is_within(const asc_array *view, int64_t offset, const asc_array *in)
{
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
    a->data = (char *)call->in[0].data + offset * (int64_t)asc_dtype_size(a->dtype);
    e->out[0] = asc_node_new(call->ctx, a);
    if (!e->out[0]) {
        return ASC_ERR_MEMORY;
    }
    e->out[0]->storage = e->packed[0] ? e->packed[0] : e->in[0]->storage;
    asc_storage_ref(e->out[0]->storage);
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
