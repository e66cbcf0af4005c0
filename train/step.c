/* train/step.c: one step of training. */
#include "train/step.h"

#include <math.h>

/* Adds the gradient of the objective of sequences first … first+n-1, times `weight`, and returns their mean loss. */
static double run_batch(const asc_stepper *s, int64_t first, int64_t n, double weight)
{
    asc_ctx *ctx = s->ctx;
    double value = NAN;
    asc_scope_begin(ctx);
    asc_tensor x = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, s->block)), y = asc_empty(ctx, ASC_I64, ASC_SHAPE(n, s->block));
    if (asc_error(ctx) == ASC_OK && s->fill(s->user, first, n, asc_data_mut(x), asc_data_mut(y)) == ASC_OK) {
        asc_tensor objective = asc_lm_objective(s->lm, x, y, &value);
        if (asc_error(ctx) == ASC_OK && isfinite(value)) {
            asc_backward(ctx, objective, asc_scalar(ctx, asc_dtype_of(objective), weight), false);
        }
    }
    asc_scope_end(ctx);
    return value;
}

asc_status asc_step_run(const asc_stepper *s, int64_t step, int64_t sequences, double lr, asc_step_result *result)
{
    asc_ctx *ctx = s->ctx;
    asc_params *params = asc_lm_params(s->lm);
    asc_set_step(ctx, s->seed, (uint64_t)step);
    asc_lm_set_dropout(s->lm, s->dropout);
    asc_params_zero_grad(params);
    *result = (asc_step_result){0, NAN};
    for (int64_t first = 0; first < sequences; first += s->batch) {
        int64_t n = sequences - first < s->batch ? sequences - first : s->batch;
        double weight = (double)n / (double)sequences;
        result->loss += weight * run_batch(s, first, n, weight);
        if (asc_error(ctx)) {
            return asc_error(ctx);
        }
        if (!isfinite(result->loss)) {
            return asc_fail(ctx, ASC_ERR_NONFINITE, "step %lld: the loss is %g", (long long)step + 1,
                            fabs(result->loss)); /* no -nan */
        }
    }
    result->grad_norm = asc_grad_norm(ctx, params);
    if (!isfinite(result->grad_norm)) {
        return asc_fail(ctx, ASC_ERR_NONFINITE, "step %lld: the norm of the gradient is %g", (long long)step + 1,
                        fabs(result->grad_norm));
    }
    asc_status status = asc_optim_step(s->optim, lr, asc_clip_scale(result->grad_norm, s->clip));
    if (status == ASC_OK) {
        asc_lm_project(s->lm);
    }
    return status;
}
