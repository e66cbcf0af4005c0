/* check/causal_op.c: the part of the gradient check that asks a causal op whether it looks ahead. Inputs after a
 * moment are changed: outputs up to it keep their bits. A cotangent that is 0 after it gives later inputs a gradient of
 * 0. */

#include "check/gradcheck.h"

enum { MOMENTS = 8 }; /* that are tried of a long sequence */

/* The inputs that are sequences, if these attributes and shapes are causal. */
static uint32_t sequences_of(const asc_check *c)
{
    asc_call call = {.ctx = c->ctx, .op = c->op, .attrs = c->op->attrs_size ? c->form->attrs : NULL,
                     .n_in = c->n_in, .n_out = c->op->n_out};
    for (int i = 0; i < ASC_MAX_IN; i++) {
        call.in[i] = asc_array_of(i < c->n_in ? c->inputs.at[i] : asc_null());
    }
    uint32_t given = c->op->flags & ASC_OP_CAUSAL ? c->op->causal ? c->op->causal(&call) : 1 : 0, real = 0;
    for (int i = 0; i < c->n_in; i++) {
        bool sequence = asc_is_floating(call.in[i].dtype) && call.in[i].ndim >= 2;
        real |= sequence ? given & 1u << i : 0;
    }
    return real;
}

/* How far element e is from the end of time; sequences of different lengths end together. */
static int64_t to_the_end(const asc_array *a, int64_t e)
{
    int64_t length = a->shape[a->ndim - 2];
    return length - 1 - e / a->shape[a->ndim - 1] % length;
}

/* t, with what comes less than `rest` from the end taken from `later`, or 0 without one. */
static asc_tensor spliced(asc_check *c, asc_tensor t, asc_tensor later, int64_t rest)
{
    asc_array a = asc_array_of(t);
    asc_tensor made = asc_empty(c->ctx, a.dtype, a.ndim, a.shape);
    double *to = asc_data_mut(made);
    const double *early = asc_data(t), *late = asc_data(later);
    for (int64_t e = 0; to && e < a.numel; e++) {
        to[e] = to_the_end(&a, e) >= rest ? early[e] : late ? late[e] : 0;
    }
    return made;
}

/* ---- the two probes ---- */

static asc_status probe_outputs(asc_check *c, uint32_t sequences, int64_t rest)
{
    asc_check_inputs inputs = c->inputs;
    asc_check_result r = {.out = asc_check_doubles(c, c->out_at[c->op->n_out])};
    for (int i = 0; i < c->n_in; i++) {
        if (sequences >> i & 1 && c->owner[i] == i) {
            inputs.at[i] = spliced(c, c->inputs.at[i], asc_check_redraw(c, i), rest);
        }
    }
    for (int i = 0; i < c->n_in; i++) {
        inputs.at[i] = inputs.at[c->owner[i]];
    }
    asc_status status = asc_error(c->ctx);
    status = status ? status : asc_check_pass(c, &inputs, &(asc_check_request){0}, &r);
    for (int o = 0; o < c->op->n_out && !status; o++) {
        bool sequence = c->real_outs >> o & 1 && c->out[o].ndim >= 2;
        for (int64_t e = 0; sequence && e < c->out[o].numel; e++) {
            if (to_the_end(&c->out[o], e) >= rest) {
                int64_t at = c->out_at[o] + e;
                asc_check_judge(c, &(asc_check_value){.output = true, .bits = true, .number = o, .element = e,
                                                      .analytic = r.out[at], .numeric = c->plain.out[at]});
            }
        }
    }
    return status;
}

static asc_status probe_grads(asc_check *c, uint32_t sequences, int64_t rest)
{
    asc_check early = *c;
    asc_check_result r;
    asc_status status = asc_check_result_new(c, &r);
    for (int o = 0; o < c->op->n_out && !status; o++) {
        if (!asc_is_null(c->cotangent[o]) && c->out[o].ndim >= 2) {
            early.cotangent[o] = spliced(c, c->cotangent[o], asc_null(), rest);
        }
    }
    status = status ? status : asc_check_pass(&early, &c->inputs, &(asc_check_request){c->leaves, c->roots, 1}, &r);
    for (int i = 0; i < c->n_in && !status; i++) {
        asc_array a = asc_array_of(c->inputs.at[i]);
        for (int64_t e = 0; sequences & c->leaves & 1u << i && e < a.numel; e++) {
            if (to_the_end(&a, e) < rest) {
                asc_check_judge(c, &(asc_check_value){.number = i, .element = e,
                                                      .analytic = r.grad[c->grad_at[i] + e]});
            }
        }
    }
    return status;
}

asc_status asc_check_causal(asc_check *c, bool *applies)
{
    uint32_t sequences = sequences_of(c);
    int64_t longest = 0;
    for (int i = 0; i < c->n_in; i++) {
        int64_t length = sequences >> i & 1 ? asc_size(c->inputs.at[i], -2) : 0;
        longest = length > longest ? length : longest;
    }
    int64_t moments = longest - 1 < MOMENTS ? longest - 1 : MOMENTS;
    *applies = sequences != 0;
    asc_status status = ASC_OK;
    for (int64_t k = 1; k <= moments && !status; k++) {
        int64_t rest = (longest - 1) * k / moments;
        asc_scope_begin(c->ctx);
        status = probe_outputs(c, sequences, rest);
        status = status ? status : probe_grads(c, sequences, rest);
        asc_scope_end(c->ctx);
    }
    return status;
}
