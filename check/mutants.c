/* check/mutants.c: the check of the gradient check. An op is wrapped in descriptors whose backward spoils what
 * the op's own computes, for one input at a time; every one that changes a gradient has to be found. */
#include <math.h>
#include <string.h>

#include "check/gradcheck.h"
#include "check/sample.h"
#include "tensor/need.h"

/* A descriptor that stands in for another one's. Ops may compare call->op with their own: they see the original. */
typedef struct mutant {
    asc_op op; /* first: a call's op is a mutant's */
    const asc_op *original;
    asc_mutant kind;
    int input, other; /* other: what a swap swaps with; else -1 */
    int term;         /* the one that is dropped, in eighths of all */
} mutant;

enum { TERMS = 8 }; /* that are tried, until one matters */

/* Below this fraction of the largest gradient, and this size, a change is rounding. */
#define CHANGED 1e-9
#define NOTHING 1e-13

static const char *const names[ASC_MUTANTS] = {
    "wrong sign", "times 1.01", "term dropped", "swapped", "overwritten", "not written", "shifted",
};

const char *asc_mutant_name(asc_mutant kind)
{
    return (unsigned)kind < ASC_MUTANTS ? names[kind] : NULL;
}

/* ---- calling the original ---- */

static asc_status infer(asc_call *call)
{
    const mutant *m = (const mutant *)call->op;
    call->op = m->original;
    asc_status status = m->original->infer(call);
    call->op = &m->op;
    return status;
}

static asc_status forward(asc_call *call)
{
    const mutant *m = (const mutant *)call->op;
    call->op = m->original;
    asc_status status = m->original->forward(call);
    call->op = &m->op;
    return status;
}

/* The original's backward for the inputs of `wanted` only. */
static asc_status backward_of(asc_call *call, const mutant *m, uint32_t wanted)
{
    void *data[ASC_MAX_IN];
    bool fresh[ASC_MAX_IN], any = false;
    for (int i = 0; i < call->n_in; i++) {
        data[i] = call->grad_in[i].data;
        fresh[i] = call->fresh[i];
        if (!(wanted >> i & 1)) {
            call->grad_in[i].data = NULL;
            call->fresh[i] = false;
        }
        any |= call->grad_in[i].data != NULL;
    }
    const asc_engine *e = call->engine;
    int scratch = e->n_scratch;
    call->op = m->original;
    asc_status status = any ? m->original->backward(call) : ASC_OK;
    asc_call_drop_scratch(call, scratch);
    call->op = &m->op;
    for (int i = 0; i < call->n_in; i++) {
        call->grad_in[i].data = data[i];
        call->fresh[i] = fresh[i];
    }
    return status;
}

/* What the call adds to the gradient of input i, in scratch memory; data NULL on failure. */
static asc_array added_to(asc_call *call, const mutant *m, int i, asc_status *status)
{
    asc_array added = call->grad_in[i], target = added;
    bool fresh = call->fresh[i];
    added.data = asc_call_scratch(call, asc_array_bytes(&added));
    if (!added.data) {
        *status = ASC_ERR_MEMORY;
        return added;
    }
    memset(added.data, 0, asc_array_bytes(&added));
    call->grad_in[i].data = added.data;
    call->fresh[i] = false;
    *status = backward_of(call, m, 1u << i);
    call->grad_in[i] = target;
    call->fresh[i] = fresh;
    return added;
}

/* The same without one term: one element's cotangent, or, where there is but one, an element of the gradient. */
static asc_array added_without_term(asc_call *call, const mutant *m, int i, asc_status *status)
{
    int from = 0;
    for (int o = 1; o < call->n_out; o++) {
        bool more = call->grad_out[o].data && call->grad_out[o].numel > call->grad_out[from].numel;
        from = !call->grad_out[from].data || more ? o : from;
    }
    asc_array *cotangent = &call->grad_out[from], whole = *cotangent;
    bool several = whole.data && whole.numel > 1;
    if (several) {
        cotangent->data = asc_call_scratch(call, asc_array_bytes(&whole));
        if (!cotangent->data) {
            *cotangent = whole;
            *status = ASC_ERR_MEMORY;
            return (asc_array){.ndim = -1};
        }
        memcpy(cotangent->data, whole.data, asc_array_bytes(&whole));
        asc_check_store(cotangent, whole.numel * m->term / TERMS, 0);
    }
    asc_array added = added_to(call, m, i, status);
    if (!several && !*status && added.numel > 0) {
        asc_check_store(&added, added.numel * m->term / TERMS, 0);
    }
    *cotangent = whole;
    return added;
}

/* ---- spoiling ---- */

/* grad_in[i] += factor · added[k + shift], or = without `add`. */
static void put(asc_call *call, int i, const asc_array *added, double factor, int64_t shift, bool add)
{
    const asc_array *to = &call->grad_in[i];
    for (int64_t k = 0; k < to->numel; k++) {
        double before = add && !call->fresh[i] ? asc_check_load(to, k) : 0;
        asc_check_store(to, k, before + factor * asc_check_load(added, (k + shift) % to->numel));
    }
}

static asc_status swap(asc_call *call, const mutant *m)
{
    int i = m->input, j = m->other;
    asc_status status = ASC_OK;
    asc_array a = added_to(call, m, i, &status), b = status ? a : added_to(call, m, j, &status);
    if (!status) {
        put(call, i, &b, 1, 0, true);
        put(call, j, &a, 1, 0, true);
    }
    return status;
}

static asc_status spoil(asc_call *call, const mutant *m)
{
    int i = m->input;
    asc_status status = ASC_OK;
    if (m->kind == ASC_MUTANT_SWAPPED) {
        return swap(call, m);
    }
    if (m->kind == ASC_MUTANT_NOT_WRITTEN) {
        return ASC_OK;
    }
    asc_array added = m->kind == ASC_MUTANT_DROPPED ? added_without_term(call, m, i, &status)
                                                    : added_to(call, m, i, &status);
    if (!status) {
        double factor = m->kind == ASC_MUTANT_SIGN ? -1 : m->kind == ASC_MUTANT_FACTOR ? 1.01 : 1;
        put(call, i, &added, factor, m->kind == ASC_MUTANT_SHIFTED, m->kind != ASC_MUTANT_OVERWRITTEN);
    }
    return status;
}

static asc_status backward(asc_call *call)
{
    const mutant *m = (const mutant *)call->op;
    bool spoiled = m->input < call->n_in && call->grad_in[m->input].data;
    uint32_t mine = 1u << m->input;
    if (m->other >= 0) {
        const asc_array *a = &call->grad_in[m->input], *b = &call->grad_in[m->other];
        spoiled = spoiled && m->other < call->n_in && b->data && a->numel == b->numel;
        mine |= 1u << m->other;
    }
    if (!spoiled) {
        return backward_of(call, m, UINT32_MAX);
    }
    asc_status status = backward_of(call, m, ~mine);
    return status ? status : spoil(call, m);
}

/* ---- one mutant ---- */

static bool differs(const asc_check *c, const double *a, const double *b)
{
    double all = asc_check_largest(b, c->grad_at[c->n_in]);
    for (int i = 0; i < c->n_in; i++) {
        int64_t begin = c->grad_at[i], n = c->grad_at[i + 1] - begin;
        double least = CHANGED * asc_check_largest(b + begin, n) + NOTHING * (all + 1);
        for (int64_t e = begin; e < begin + n; e++) {
            if (!(fabs(a[e] - b[e]) <= least)) {
                return true;
            }
        }
    }
    return false;
}

static asc_status changes_sample(asc_check *c, const mutant *m, bool *changes)
{
    asc_status status = asc_check_prepare(c);
    asc_check mutated = *c;
    mutated.op = &m->op;
    for (int passes = 1; passes <= 2 && c->leaves && c->roots && !status && !*changes; passes++) {
        asc_check_request request = {c->leaves, c->roots, passes};
        asc_check_result r, expected;
        status = asc_check_result_new(c, &r);
        if (!status && !(status = asc_check_result_new(c, &expected)) &&
            !(status = asc_check_pass(c, &c->inputs, &request, &expected)) &&
            !(status = asc_check_pass(&mutated, &c->inputs, &request, &r))) {
            *changes = differs(c, r.grad, expected.grad);
        }
    }
    return status;
}

/* Whether the mutant's gradient is another one in any sample, in one pass or in two. */
static asc_status changes_any(const asc_check *model, const mutant *m, bool *changes)
{
    asc_status status = ASC_OK;
    for (int k = 0; k < m->original->n_samples && !status && !*changes; k++) {
        asc_check c = *model;
        c.sample = k;
        c.form = &m->original->samples[k];
        asc_scope_begin(c.ctx);
        status = changes_sample(&c, m, changes);
        asc_scope_end(c.ctx);
    }
    return status;
}

/* The check of one sample, of the differences in the spoiled inputs alone. */
static asc_status check_spoiled(asc_check *c, const mutant *m)
{
    asc_status status = asc_check_prepare(c);
    for (int i = 0; i < c->n_in && !status; i++) {
        bool spoiled = i == m->input || i == m->other;
        c->suspects |= spoiled ? 1u << c->owner[i] : 0;
    }
    return status || !c->leaves || !c->roots ? status : asc_check_part_run(c, &asc_check_differences);
}

/* Whether the gradient check finds the mutant. Most are found in the inputs that they spoil, which is quick to see; the
 * whole check is for those that are not. */
static asc_status is_caught(const asc_check *model, const mutant *m, bool *caught)
{
    asc_gradcheck_report r = {.worst = {.sample = -1}};
    asc_status status = ASC_OK;
    asc_check_setting setting = asc_check_enter(model->ctx);
    for (int k = 0; k < m->original->n_samples && !status && r.failures == 0; k++) {
        asc_check c = *model;
        c.op = &m->op;
        c.report = &r;
        c.options.stop = true;
        c.sample = k;
        c.form = &m->original->samples[k];
        asc_scope_begin(c.ctx);
        status = check_spoiled(&c, m);
        asc_scope_end(c.ctx);
    }
    asc_check_leave(model->ctx, &setting);
    if (!status && r.failures == 0) {
        asc_gradcheck_options o = model->options;
        o.stop = true;
        status = asc_gradcheck(model->ctx, &m->op, &o, &r);
    }
    *caught = r.failures > 0;
    return status;
}

static asc_status try_mutant(const asc_check *model, mutant *m, asc_mutants_report *report)
{
    bool changes = false;
    asc_status status = ASC_OK;
    asc_check_setting setting = asc_check_enter(model->ctx);
    int terms = m->kind == ASC_MUTANT_DROPPED ? TERMS : 1;
    for (m->term = 0; m->term < terms && !status && !changes; m->term += !changes) {
        status = changes_any(model, m, &changes);
    }
    asc_check_leave(model->ctx, &setting);
    asc_mutant_count *count = &report->kind[m->kind];
    if (status || !changes) {
        count->same += !status;
        return status;
    }
    bool caught;
    status = is_caught(model, m, &caught);
    if (status) {
        return status;
    }
    count->made++;
    count->caught += caught;
    if (!caught && report->survived++ == 0) {
        report->survivor = m->kind;
        asc_input_name(m->original, m->input, report->survivor_input);
    }
    return ASC_OK;
}

/* ---- all of an op's ---- */

static int64_t numel(const asc_sample_input *in)
{
    int64_t n = 1;
    for (int d = 0; d < in->ndim; d++) {
        n *= in->shape[d];
    }
    return n;
}

/* A sample has a gradient for input i, and for `other`, where there is one, with as many elements. */
static bool occurs(const asc_op *op, int i, int other)
{
    for (int k = 0; k < op->n_samples; k++) {
        const asc_sample_input *in = op->samples[k].in;
        if (asc_sample_is_real(&in[i]) &&
            (other < 0 || (asc_sample_is_real(&in[other]) && numel(&in[i]) == numel(&in[other])))) {
            return true;
        }
    }
    return false;
}

static mutant mutant_of(const asc_op *op, asc_mutant kind, int input, int other)
{
    mutant m = {.op = *op, .original = op, .kind = kind, .input = input, .other = other};
    m.op.infer = infer;
    m.op.forward = forward;
    m.op.backward = backward;
    m.op.flops = NULL;
    return m;
}

static asc_status try_input(const asc_check *model, int input, asc_mutants_report *report)
{
    const asc_op *op = model->op;
    asc_status status = ASC_OK;
    for (int kind = 0; kind < ASC_MUTANTS && !status; kind++) {
        bool swaps = kind == ASC_MUTANT_SWAPPED;
        for (int other = swaps ? input + 1 : -1; other < (swaps ? ASC_MAX_IN : 0) && !status; other++) {
            if (occurs(op, input, other)) {
                mutant m = mutant_of(op, (asc_mutant)kind, input, other);
                status = try_mutant(model, &m, report);
            }
        }
    }
    return status;
}

asc_status asc_gradcheck_mutants(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options,
                                 asc_mutants_report *report)
{
    asc_status status = ASC_NEED(ctx, "gradcheck_mutants: op report", op, report);
    if (status) {
        return status;
    }
    *report = (asc_mutants_report){.op = op->name};
    asc_gradcheck_report sound;
    asc_check c = {.ctx = ctx, .op = op, .report = &sound};
    status = asc_op_check(ctx, "gradcheck_mutants", op);
    status = status ? status : asc_gradcheck_begin(ctx, op, options, &c.options);
    status = status ? status : asc_gradcheck(ctx, op, options, &sound);
    report->sound = !status && sound.passed;
    for (int i = 0; i < ASC_MAX_IN && op->backward && report->sound && !status; i++) {
        status = try_input(&c, i, report);
    }
    report->passed = !status && report->sound && report->survived == 0;
    return status;
}
