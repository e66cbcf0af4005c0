/* train/step.c: one step of training. */
#include "train/step.h"

#include <math.h>

#include <ascgrad/op.h>

static asc_status make(const asc_stepper *s, int64_t first, int64_t n, asc_batch *in)
{
    asc_span span;
    asc_span_begin(s->ctx, &span, "data");
    asc_status status = s->make(s->user, first, n, in);
    asc_span_end(s->ctx, &span);
    return status;
}

static asc_tensor run_forward(const asc_stepper *s, const asc_batch *in, double *loss, double *flops)
{
    asc_span span;
    double before = asc_flops(s->ctx);
    asc_span_begin(s->ctx, &span, "forward");
    asc_tensor objective = asc_is_null(in->lengths) ? asc_lm_objective(s->lm, in->x, in->y, loss)
                                                    : asc_lm_class_objective(s->lm, in->x, in->lengths, in->y, loss);
    asc_span_end(s->ctx, &span);
    *flops += asc_flops(s->ctx) - before;
    return objective;
}

static void run_backward(const asc_stepper *s, asc_tensor objective, double weight)
{
    asc_span span;
    asc_span_begin(s->ctx, &span, "backward");
    asc_backward(s->ctx, objective, asc_scalar(s->ctx, asc_dtype_of(objective), weight), false);
    asc_span_end(s->ctx, &span);
}

/* What the pass of the sequences from `first` on goes on from, if anything. */
static asc_lm_carried *carried_of(const asc_stepper *s, int64_t first)
{
    return s->carried ? s->carried[first / s->batch] : NULL;
}

/* Adds the gradient of the objective of sequences first … first+n-1, times `weight`, and returns their mean loss. */
static double run_batch(const asc_stepper *s, int64_t first, int64_t n, double weight, double *flops)
{
    asc_ctx *ctx = s->ctx;
    double value = NAN;
    asc_scope_begin(ctx);
    asc_lm_set_carried(s->lm, carried_of(s, first));
    asc_batch in;
    if (asc_error(ctx) == ASC_OK && make(s, first, n, &in) == ASC_OK) {
        asc_tensor objective = run_forward(s, &in, &value, flops);
        if (asc_error(ctx) == ASC_OK && isfinite(value)) {
            run_backward(s, objective, weight);
        }
    }
    asc_lm_set_carried(s->lm, NULL);
    asc_scope_end(ctx);
    return value;
}

static double find_norm(const asc_stepper *s)
{
    asc_span span;
    asc_span_begin(s->ctx, &span, "clip");
    double norm = asc_grad_norm(s->ctx, asc_lm_params(s->lm));
    asc_span_end(s->ctx, &span);
    return norm;
}

static asc_status update(const asc_stepper *s, double lr, double scale)
{
    asc_span span;
    asc_span_begin(s->ctx, &span, "optimiser");
    asc_status status = asc_optim_step(s->optim, lr, scale);
    if (status == ASC_OK) {
        asc_lm_project(s->lm);
        status = s->average ? asc_optim_average(s->optim) : ASC_OK;
    }
    asc_span_end(s->ctx, &span);
    return status;
}

static int64_t count_targets(const asc_stepper *s, int64_t first, int64_t n)
{
    return s->targets ? s->targets(s->user, first, n) : n * s->block;
}

/* The gradient of the step's sequences, and their mean loss. */
static asc_status accumulate(const asc_stepper *s, int64_t step, int64_t sequences, asc_step_result *result)
{
    asc_ctx *ctx = s->ctx;
    int64_t all = count_targets(s, 0, sequences);
    for (int64_t first = 0; first < sequences; first += s->batch) {
        int64_t n = sequences - first < s->batch ? sequences - first : s->batch;
        double weight = all > 0 ? (double)count_targets(s, first, n) / (double)all : 0;
        result->loss += weight * run_batch(s, first, n, weight, &result->flops);
        if (asc_error(ctx)) {
            return asc_error(ctx);
        }
        if (!isfinite(result->loss)) {
            return asc_fail(ctx, ASC_ERR_NONFINITE, "step %lld: the loss is %g", (long long)step + 1,
                            fabs(result->loss)); /* no -nan */
        }
    }
    return ASC_OK;
}

/* The step is done, and with it the block: until here it can be given up, as if it had not begun. */
static asc_status advance(const asc_stepper *s, int64_t sequences)
{
    for (int64_t first = 0; s->carried && first < sequences; first += s->batch) {
        asc_lm_carried_advance(carried_of(s, first));
    }
    return asc_error(s->ctx);
}

static asc_status run_step(const asc_stepper *s, int64_t step, int64_t sequences, double lr, asc_step_result *result)
{
    asc_ctx *ctx = s->ctx;
    asc_set_step(ctx, s->seed, (uint64_t)step);
    asc_lm_set_dropout(s->lm, s->dropout);
    asc_params_zero_grad(asc_lm_params(s->lm));
    *result = (asc_step_result){0, NAN, 0};
    asc_set_interrupt(ctx, s->go_on, s->user); /* but not while the parameters change */
    asc_status status = accumulate(s, step, sequences, result);
    asc_set_interrupt(ctx, NULL, NULL);
    if (status) {
        return status;
    }
    result->grad_norm = find_norm(s);
    if (!isfinite(result->grad_norm)) {
        return asc_fail(ctx, ASC_ERR_NONFINITE, "step %lld: the norm of the gradient is %g", (long long)step + 1,
                        fabs(result->grad_norm));
    }
    status = update(s, lr, asc_clip_scale(result->grad_norm, s->clip));
    return status ? status : advance(s, sequences);
}

asc_status asc_step_run(const asc_stepper *s, int64_t step, int64_t sequences, double lr, asc_step_result *result)
{
    asc_span span;
    asc_span_begin(s->ctx, &span, "step");
    asc_status status = run_step(s, step, sequences, lr, result);
    asc_span_end(s->ctx, &span);
    return status;
}
