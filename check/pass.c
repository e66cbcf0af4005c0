/* check/pass.c: one forward and backward pass of an op under check. */
#include <math.h>
#include <string.h>

#include "check/gradcheck.h"

/* ---- the scalar: s = Σ c ⊙ out, as an op, so that all outputs get their cotangents in one pass ----
 * Its inputs are the outputs, then their cotangents, of the same dtypes; s is f64. */

static asc_status scalar_infer(asc_call *call)
{
    return asc_call_output(call, 0, ASC_F64, 0, NULL);
}

static asc_status scalar_forward(asc_call *call)
{
    int n = call->n_in / 2;
    double *s = call->out[0].data;
    *s = 0;
    for (int o = 0; o < n; o++) {
        for (int64_t i = 0; i < call->in[o].numel; i++) {
            *s += asc_check_load(&call->in[o], i) * asc_check_load(&call->in[n + o], i);
        }
    }
    return ASC_OK;
}

static asc_status scalar_backward(asc_call *call)
{
    int n = call->n_in / 2;
    double ds = asc_check_load(&call->grad_out[0], 0);
    for (int o = 0; o < n; o++) {
        asc_array *g = &call->grad_in[o];
        for (int64_t i = 0; g->data && i < g->numel; i++) {
            asc_check_store(g, i, asc_check_load(g, i) + ds * asc_check_load(&call->in[n + o], i));
        }
    }
    return ASC_OK;
}

static const asc_op scalar = {
    .abi = ASC_OP_ABI,
    .name = "gradcheck",
    .equation = "s = Σ c ⊙ out",
    .inputs = "x ...",
    .n_out = 1,
    .saves_in = 1,
    .infer = scalar_infer,
    .forward = scalar_forward,
    .backward = scalar_backward,
};

static asc_tensor make_scalar(asc_check *c, const asc_tensor *out, const asc_check_request *request)
{
    asc_tensor in[2 * ASC_MAX_OUT];
    int n = 0, roots = 0;
    for (int o = 0; o < c->op->n_out; o++) {
        roots += request->outputs >> o & 1;
    }
    for (int o = 0; o < c->op->n_out; o++) {
        if (request->outputs >> o & 1) {
            asc_tensor cotangent = c->cotangent[o];
            in[roots + n] = asc_dtype_of(out[o]) == ASC_F32 ? asc_check_f32(c->ctx, cotangent) : cotangent;
            in[n++] = out[o];
        }
    }
    return asc_apply1(c->ctx, &scalar, in, 2 * roots, NULL);
}

/* ---- gradients ---- */

/* Gives the leaf's gradient memory, if it has none, and fills it with NaN: a backward that adds to it, or does not
 * write it all, shows. */
static void poison(asc_tensor leaf)
{
    asc_node *n = asc_node_of(leaf);
    if (!n->grad) {
        asc_grad_into(leaf, asc_empty(n->ctx, n->array.dtype, n->array.ndim, n->array.shape), false);
    }
    asc_zero_grad(leaf);
    if (n->grad) {
        memset(n->grad->array.data, 0xff, asc_array_bytes(&n->grad->array));
    }
}

static void want_grads(asc_check *c, const asc_check_inputs *inputs, uint32_t wanted, bool want)
{
    for (int i = 0; i < c->n_in; i++) {
        if (wanted >> i & 1) {
            asc_require_grad(inputs->at[i], want);
            if (want) {
                poison(inputs->at[i]);
            }
        }
    }
}

static void collect_grads(asc_check *c, const asc_check_inputs *inputs, uint32_t wanted, double *grad)
{
    for (int i = 0; i < c->n_in; i++) {
        asc_node *g = asc_node_of(wanted >> i & 1 ? asc_grad(inputs->at[i]) : asc_null());
        double *to = grad + c->grad_at[i];
        if (g) {
            asc_pack(&g->array, ASC_F64, to);
        } else {
            memset(to, 0, (size_t)(c->grad_at[i + 1] - c->grad_at[i]) * sizeof *to);
        }
    }
}

/* ---- the pass ---- */

static asc_status apply(asc_check *c, const asc_check_inputs *inputs, asc_tensor *out)
{
    asc_set_step(c->ctx, c->options.seed, (uint64_t)c->sample);
    return asc_apply(c->ctx, c->op, inputs->at, c->n_in, c->form->attrs, out);
}

asc_status asc_check_measure(asc_check *c)
{
    asc_tensor out[ASC_MAX_OUT];
    asc_scope_begin(c->ctx);
    asc_status status = apply(c, &c->inputs, out);
    for (int o = 0; o < c->op->n_out && !status; o++) {
        c->out[o] = asc_array_of(out[o]);
        c->out_at[o + 1] = c->out_at[o] + c->out[o].numel;
        c->real_outs |= asc_is_floating(c->out[o].dtype) ? 1u << o : 0;
    }
    c->roots = c->real_outs & ~c->op->no_grad_out;
    c->measured = !status;
    asc_scope_end(c->ctx);
    if (!status && c->op->backward && !c->roots) {
        return asc_fail(c->ctx, ASC_ERR_ARG, "gradcheck: %s: sample %d: backward, and no output that gradients flow "
                        "from: reals that no_grad_out does not name", c->op->name, c->sample);
    }
    return status;
}

static asc_status run(asc_check *c, const asc_check_inputs *inputs, const asc_check_request *request,
                      const asc_check_result *result)
{
    asc_tensor out[ASC_MAX_OUT];
    asc_status status = apply(c, inputs, out);
    for (int o = 0; o < c->op->n_out && !status && result->out; o++) {
        asc_pack(&asc_node_of(out[o])->array, ASC_F64, result->out + c->out_at[o]);
    }
    if (!status && c->between) {
        asc_tensor other[ASC_MAX_OUT];
        status = asc_check_refused(c, apply(c, c->between, other));
    }
    if (status || !request->wanted) {
        return status;
    }
    asc_tensor s = make_scalar(c, out, request);
    for (int pass = 1; pass <= request->passes; pass++) {
        status = asc_backward(c->ctx, s, asc_null(), pass < request->passes);
        if (status) {
            return status;
        }
    }
    collect_grads(c, inputs, request->wanted, result->grad);
    return ASC_OK;
}

asc_status asc_check_pass(asc_check *c, const asc_check_inputs *inputs, const asc_check_request *request,
                          const asc_check_result *result)
{
    asc_status status = asc_error(c->ctx); /* an input that could not be made */
    if (status) {
        return status;
    }
    asc_scope_begin(c->ctx);
    asc_set_recording(c->ctx, request->wanted != 0);
    want_grads(c, inputs, request->wanted, true);
    status = asc_error(c->ctx); /* memory of a gradient */
    status = status ? status : run(c, inputs, request, result);
    want_grads(c, inputs, request->wanted, false);
    asc_scope_end(c->ctx);
    return status;
}

asc_status asc_check_refused(const asc_check *c, asc_status status)
{
    bool caught = c->guarded && c->guarded->seen->caught;
    if (status != ASC_ERR_ARG || caught) {
        return status;
    }
    asc_error_clear(c->ctx);
    return ASC_OK;
}

asc_status asc_check_takes(asc_check *c, const asc_check_inputs *inputs, bool *takes)
{
    asc_status status = asc_check_pass(c, inputs, &(asc_check_request){0}, &(asc_check_result){0});
    *takes = status == ASC_OK;
    return asc_check_refused(c, status);
}

/* ---- results ---- */

asc_status asc_check_result_new(asc_check *c, asc_check_result *r)
{
    r->out = asc_check_doubles(c, c->out_at[c->op->n_out]);
    r->grad = asc_check_doubles(c, c->grad_at[c->n_in]);
    return asc_error(c->ctx);
}

static bool all_finite(const double *x, int64_t n)
{
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        all &= isfinite(x[i]) != 0;
    }
    return all;
}

bool asc_check_finite_result(const asc_check *c, const asc_check_result *r)
{
    return all_finite(r->out, c->out_at[c->op->n_out]) && all_finite(r->grad, c->grad_at[c->n_in]);
}
