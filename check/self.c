/* check/self.c: the parts of the gradient check that compare an op with itself. */
#include <float.h>

#include "check/gradcheck.h"

static const asc_check_tolerance exact = {0, 0};
/* Other orders of summation, in f64. */
static const asc_check_tolerance rounded = {1e-11, 1e-13};
/* f32 throughout: sums of some hundreds. */
static const asc_check_tolerance single = {0x1p12 * FLT_EPSILON, 0x1p6 * FLT_EPSILON};

/* ---- comparing ---- */

void asc_check_compare_grads(asc_check *c, uint32_t wanted, const double *got, const double *expected, double times,
                             asc_check_tolerance t)
{
    double all = asc_check_largest(expected, c->grad_at[c->n_in]);
    for (int i = 0; i < c->n_in; i++) {
        int64_t begin = c->grad_at[i], n = c->grad_at[i + 1] - begin;
        double bound = times * (t.own * asc_check_largest(expected + begin, n) + t.all * all);
        for (int64_t e = 0; e < n && wanted >> i & 1; e++) {
            asc_check_judge(c, &(asc_check_value){.bits = t.own == 0, .number = i, .element = e,
                                                  .analytic = got[begin + e], .numeric = times * expected[begin + e],
                                                  .bound = bound});
        }
    }
}

void asc_check_compare_outputs(asc_check *c, const double *got, const double *expected, asc_check_tolerance t)
{
    for (int o = 0; o < c->op->n_out; o++) {
        int64_t begin = c->out_at[o], n = c->out_at[o + 1] - begin;
        bool real = c->real_outs >> o & 1, rounds = t.own > rounded.own; /* integers may then be others */
        double bound = real ? t.own * asc_check_largest(expected + begin, n) : 0;
        for (int64_t e = 0; e < n && (real || !rounds); e++) {
            asc_check_judge(c, &(asc_check_value){.output = true, .bits = t.own == 0, .number = o, .element = e,
                                                  .analytic = got[begin + e], .numeric = expected[begin + e],
                                                  .bound = bound});
        }
    }
}

/* Everything again with other inputs, and compared with the plain pass. */
static asc_status pass_again(asc_check *c, const asc_check_inputs *inputs, asc_check_tolerance t)
{
    asc_check_result r;
    asc_status status = asc_check_result_new(c, &r);
    if (!status) {
        status = asc_check_pass(c, inputs, &(asc_check_request){c->leaves, c->roots, 1}, &r);
    }
    if (!status) {
        asc_check_compare_outputs(c, r.out, c->plain.out, t);
        asc_check_compare_grads(c, c->leaves, r.grad, c->plain.grad, 1, t);
    }
    return status;
}

/* ---- the parts ---- */

/* With a call on other values between forward and backward, which has nothing to do with it: an op that keeps
 * something of its own from the one to the other has that call's. */
static asc_status interrupted(asc_check *c)
{
    asc_check_inputs others = {0};
    for (int i = 0; i < c->n_in; i++) {
        if (c->owner[i] == i && asc_is_valid(c->inputs.at[i])) {
            others.at[i] = asc_check_redraw(c, i);
        }
        others.at[i] = others.at[c->owner[i]];
        if (c->leaves >> i & 1) {
            asc_require_grad(others.at[i], true);
        }
    }
    c->between = &others;
    asc_status status = pass_again(c, &c->inputs, exact);
    c->between = NULL;
    return status;
}

static asc_status repeated(asc_check *c, bool *applies)
{
    *applies = true;
    asc_status status = pass_again(c, &c->inputs, exact);
    status = status ? status : interrupted(c);
    asc_check_result r = {.out = asc_check_doubles(c, c->out_at[c->op->n_out])};
    if (!status && !(status = asc_error(c->ctx))) {
        status = asc_check_pass(c, &c->inputs, &(asc_check_request){0}, &r);
    }
    if (!status) {
        asc_check_compare_outputs(c, r.out, c->plain.out, exact);
    }
    return status;
}

/* Other values behind and before every array: an op that reads there has other results. */
static asc_status bounds(asc_check *c, bool *applies)
{
    if (!c->guarded) {
        return ASC_OK;
    }
    *applies = true;
    c->guarded->pattern = ASC_CHECK_OTHER_PATTERN;
    asc_status status = pass_again(c, &c->inputs, exact);
    c->guarded->pattern = ASC_CHECK_PATTERN;
    return status;
}

static asc_status accumulated(asc_check *c, bool *applies)
{
    asc_check_result r;
    asc_status status = asc_check_result_new(c, &r);
    if (!status) {
        status = asc_check_pass(c, &c->inputs, &(asc_check_request){c->leaves, c->roots, 2}, &r);
    }
    if (!status) {
        *applies = true;
        asc_check_compare_grads(c, c->leaves, r.grad, c->plain.grad, 2, rounded);
    }
    return status;
}

static asc_status strided(asc_check *c, asc_tensor (*make)(asc_ctx *ctx, asc_tensor t), bool *applies)
{
    asc_check_inputs inputs = {0};
    asc_status status = asc_check_remake(c, make, &inputs);
    for (int i = 0; i < c->n_in; i++) {
        *applies |= asc_is_valid(inputs.at[i]) && !asc_is_contiguous(inputs.at[i]);
    }
    return status || !*applies ? status : pass_again(c, &inputs, rounded);
}

static asc_status permuted(asc_check *c, bool *applies)
{
    return strided(c, asc_check_permuted, applies);
}

static asc_status sliced(asc_check *c, bool *applies)
{
    return strided(c, asc_check_sliced, applies);
}

/* Inputs that repeat a part of themselves, with strides of 0 and as copies. */
static asc_status expanded(asc_check *c, bool *applies)
{
    asc_check_inputs views = {0}, copies = {0};
    asc_check_request request = {c->leaves, c->roots, 1};
    asc_check_result r, expected;
    bool any = false;
    asc_status status = asc_check_remake(c, asc_check_expanded, &views);
    for (int i = 0; i < c->n_in; i++) {
        any |= asc_is_valid(views.at[i]) && !asc_is_contiguous(views.at[i]);
    }
    if (status || !any || (status = asc_check_remake(c, asc_check_expanded_copy, &copies)) ||
        (status = asc_check_result_new(c, &r)) || (status = asc_check_result_new(c, &expected)) ||
        (status = asc_check_pass(c, &copies, &request, &expected)) ||
        (status = asc_check_pass(c, &views, &request, &r))) {
        return status;
    }
    *applies = asc_check_finite_result(c, &expected);
    if (*applies) {
        asc_check_compare_outputs(c, r.out, expected.out, rounded);
        asc_check_compare_grads(c, c->leaves, r.grad, expected.grad, 1, rounded);
    }
    return ASC_OK;
}

static asc_status alone(asc_check *c, bool *applies)
{
    asc_check_result r;
    asc_status status = asc_check_result_new(c, &r);
    if (status || !(c->leaves & (c->leaves - 1))) {
        return status;
    }
    *applies = true;
    for (int i = 0; i < c->n_in && !status; i++) {
        uint32_t wanted = c->leaves & 1u << i;
        if (wanted) {
            status = asc_check_pass(c, &c->inputs, &(asc_check_request){wanted, c->roots, 1}, &r);
        }
        if (wanted && !status) {
            asc_check_compare_grads(c, wanted, r.grad, c->plain.grad, 1, rounded);
        }
    }
    return status;
}

static asc_status one_output(asc_check *c, bool *applies)
{
    asc_check_result r, sum;
    asc_status status = asc_check_result_new(c, &r);
    if (status || (status = asc_check_result_new(c, &sum)) || !(c->roots & (c->roots - 1))) {
        return status;
    }
    *applies = true;
    for (int o = 0; o < c->op->n_out && !status; o++) {
        uint32_t output = c->roots & 1u << o;
        if (!output) {
            continue;
        }
        status = asc_check_pass(c, &c->inputs, &(asc_check_request){c->leaves, output, 1}, &r);
        for (int64_t e = 0; e < c->grad_at[c->n_in]; e++) {
            sum.grad[e] += r.grad[e];
        }
    }
    if (!status) {
        asc_check_compare_grads(c, c->leaves, sum.grad, c->plain.grad, 1, rounded);
    }
    return status;
}

/* The input whose values suit both i and j, or -1. */
static int common_domain(const asc_check *c, int i, int j)
{
    const asc_sample_input *a = &c->form->in[i], *b = &c->form->in[j];
    asc_array x = asc_array_of(c->inputs.at[i]), y = asc_array_of(c->inputs.at[j]);
    if (!asc_same_shape(&x, &y) || !(c->leaves >> i & c->leaves >> j & 1)) {
        return -1;
    }
    if (a->kind == 'f' || (b->kind == 'u' && a->lo <= b->lo && a->hi >= b->hi)) {
        return j;
    }
    return b->kind == 'f' || (b->lo <= a->lo && b->hi >= a->hi) ? i : -1;
}

/* Two inputs of the same values, once as two tensors and once as one: its gradient is the sum of theirs. */
static asc_status share(asc_check *c, int i, int j, asc_tensor values, asc_check_result *apart,
                        asc_check_result *shared)
{
    asc_check_inputs inputs = c->inputs;
    asc_array a = asc_array_of(values);
    for (int k = 0; k < c->n_in; k++) {
        if (c->owner[k] == i || c->owner[k] == j) {
            inputs.at[k] = c->owner[k] == k ? asc_empty(c->ctx, ASC_F64, a.ndim, a.shape) : inputs.at[c->owner[k]];
            asc_copy(c->ctx, inputs.at[k], values);
        }
    }
    asc_check_request request = {c->leaves, c->roots, 1};
    asc_status status = asc_check_pass(c, &inputs, &request, apart);
    for (int k = 0; k < c->n_in; k++) {
        inputs.at[k] = c->owner[k] == j ? inputs.at[i] : inputs.at[k];
    }
    request.wanted &= ~(1u << j);
    if (!status) {
        status = asc_check_pass(c, &inputs, &request, shared);
    }
    for (int64_t e = 0; e < a.numel && !status; e++) {
        apart->grad[c->grad_at[i] + e] += apart->grad[c->grad_at[j] + e];
    }
    if (!status) {
        asc_check_compare_grads(c, 1u << i, shared->grad, apart->grad, 1, rounded);
    }
    return status;
}

static asc_status same_tensor(asc_check *c, bool *applies)
{
    asc_check_result apart, shared;
    asc_status status = asc_check_result_new(c, &apart);
    if (status || (status = asc_check_result_new(c, &shared))) {
        return status;
    }
    for (int i = 0; i < c->n_in; i++) {
        for (int j = i + 1; j < c->n_in && !status; j++) {
            int from = common_domain(c, i, j);
            if (from >= 0) {
                *applies = true;
                status = share(c, i, j, c->inputs.at[from], &apart, &shared);
            }
        }
    }
    return status;
}

static asc_status f32(asc_check *c, bool *applies)
{
    asc_check_inputs inputs = {0};
    asc_status status = asc_check_remake(c, asc_check_f32, &inputs);
    status = status ? status : asc_check_takes(c, &inputs, applies);
    return status || !*applies ? status : pass_again(c, &inputs, single);
}

/* Memory of a user's, and what is a part of another array, is aligned as its dtype alone. */
static asc_status unaligned(asc_check *c, bool *applies)
{
    if (!c->guarded) {
        return ASC_OK;
    }
    bool singles;
    *applies = true;
    c->guarded->shifted = true;
    asc_status status = pass_again(c, &c->inputs, rounded);
    status = status ? status : f32(c, &singles);
    c->guarded->shifted = false;
    return status;
}

const asc_check_part asc_check_self_parts[] = {
    {"repeated", repeated},
    {"bounds", bounds},
    {"accumulated", accumulated},
    {"permuted", permuted},
    {"sliced", sliced},
    {"expanded", expanded},
    {"alone", alone},
    {"one output", one_output},
    {"same tensor", same_tensor},
    {"f32", f32},
    {"unaligned", unaligned},
    {"causal", asc_check_causal},
    {NULL, NULL},
};
