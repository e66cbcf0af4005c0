/* train/step.c: one step of training. */
#include "train/step.h"

#include <math.h>

#include <ascgrad/op.h>
#include <ascgrad/ops.h>

#include "tensor/ctx.h"

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

/* What the mean over sequences divides by. */
static double mass_of(const asc_stepper *s, int64_t first, int64_t n)
{
    return s->mass ? s->mass(s->user, first, n) : (double)(n * s->block);
}

/* ---- a shard ---- */

/* A batch: sequences first … first+n-1 of the step. */
typedef struct batch_run {
    const asc_stepper *s;
    asc_batch in;
    int64_t first, n;
    double all; /* the step's mass */
    uint64_t ordinal; /* of random ops, at which each of its shards begins */
} batch_run;

/* The sequence of a batch of n at which a shard begins. */
static int64_t cut(const asc_stepper *s, int64_t n, int64_t shard)
{
    return asc_shard_begin(n, shard, asc_stepper_shards(s));
}

/* What a shard of the batch that begins at sequence `first` goes on from, if anything. */
static asc_lm_carried *carried_of(const asc_stepper *s, int64_t first, int64_t shard)
{
    return s->carried ? s->carried[first / s->batch * asc_stepper_shards(s) + shard] : NULL;
}

static asc_tensor rows(asc_ctx *ctx, asc_tensor t, int64_t from, int64_t to)
{
    return asc_is_null(t) ? t : asc_slice(ctx, t, 0, from, to, 1);
}

/* The part of the step that the batch's sequences from … to-1 are. */
static double weigh(const batch_run *b, int64_t from, int64_t to)
{
    return b->all > 0 ? mass_of(b->s, b->first + from, to - from) / b->all : 0;
}

/* Adds the gradient of a shard's objective, times its weight. A shard without sequences has none. */
static asc_shard_sum run_shard(void *user, int64_t shard)
{
    const batch_run *b = user;
    const asc_stepper *s = b->s;
    asc_ctx *ctx = s->ctx;
    int64_t from = cut(s, b->n, shard), to = cut(s, b->n, shard + 1);
    asc_shard_sum sum = {0, 0};
    if (from == to || asc_error(ctx)) {
        return sum;
    }
    double weight = weigh(b, from, to), value = NAN;
    bool whole = to - from == b->n;
    asc_scope_begin(ctx);
    ctx->random_ordinal = b->ordinal;
    ctx->random_row = from;
    asc_lm_set_carried(s->lm, carried_of(s, b->first, shard));
    asc_batch in = whole ? b->in : (asc_batch){rows(ctx, b->in.x, from, to), rows(ctx, b->in.y, from, to),
                                               rows(ctx, b->in.lengths, from, to)};
    asc_tensor objective = run_forward(s, &in, &value, &sum.flops);
    if (asc_error(ctx) == ASC_OK && isfinite(value)) {
        run_backward(s, objective, weight);
    }
    asc_lm_set_carried(s->lm, NULL);
    ctx->random_row = 0;
    asc_scope_end(ctx);
    sum.loss = weight * value;
    return sum;
}

/* Adds the gradient of the batch's objective, times its weight, to what its shards have. */
static asc_shard_sum run_batch(batch_run *b)
{
    const asc_stepper *s = b->s;
    asc_ctx *ctx = s->ctx;
    asc_shard_sum sum = {NAN, 0};
    asc_scope_begin(ctx);
    b->ordinal = ctx->random_ordinal;
    if (asc_error(ctx) == ASC_OK) {
        make(s, b->first, b->n, &b->in);
    }
    if (s->tree) {
        asc_tree_run(s->tree, run_shard, b, &sum); /* also with an error, which the other ranks have to know of */
    } else if (asc_error(ctx) == ASC_OK) {
        sum = run_shard(b, 0);
    }
    asc_scope_end(ctx);
    return sum;
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
    status = s->tree ? asc_tree_spread(s->tree) : status;
    if (status == ASC_OK) {
        asc_lm_project(s->lm);
        status = s->average ? asc_optim_average(s->optim) : ASC_OK;
    }
    asc_span_end(s->ctx, &span);
    return status;
}

/* What ranks have of it becomes all ranks'. */
static asc_status share(const asc_stepper *s, asc_step_result *result)
{
    asc_shard_sum sum = {result->loss, result->flops};
    asc_tree_share(s->tree, &sum, &result->grad_norm);
    result->loss = sum.loss;
    result->flops = sum.flops;
    return asc_error(s->ctx);
}

/* The gradient of the step's sequences, and their mean loss. Without shards batch after batch adds to the gradients;
 * with them each is added up by itself. */
static asc_status accumulate(const asc_stepper *s, int64_t step, int64_t sequences, asc_step_result *result)
{
    asc_ctx *ctx = s->ctx;
    double all = mass_of(s, 0, sequences);
    for (int64_t first = 0; first < sequences; first += s->batch) {
        int64_t n = sequences - first < s->batch ? sequences - first : s->batch;
        bool apart = s->tree && first > 0 && asc_error(ctx) == ASC_OK && asc_tree_put_by(s->tree) == ASC_OK;
        asc_shard_sum sum = run_batch(&(batch_run){.s = s, .first = first, .n = n, .all = all});
        result->loss += sum.loss;
        result->flops += sum.flops;
        if (apart) {
            asc_tree_add_back(s->tree);
        }
        if (asc_error(ctx) == ASC_OK && !isfinite(result->loss)) {
            asc_fail(ctx, ASC_ERR_NONFINITE, "step %lld: the loss is %g", (long long)step + 1,
                     fabs(result->loss)); /* no -nan */
        }
        if (asc_error(ctx) && !s->tree) {
            break;
        }
    }
    return asc_error(ctx);
}

/* The step is done, and with it the block: until here it can be given up, as if it had not begun. */
static asc_status advance(const asc_stepper *s, int64_t sequences)
{
    for (int64_t first = 0; s->carried && first < sequences; first += s->batch) {
        int64_t n = sequences - first < s->batch ? sequences - first : s->batch;
        for (int64_t shard = 0; shard < asc_stepper_shards(s); shard++) {
            if (cut(s, n, shard) < cut(s, n, shard + 1) && (!s->tree || asc_tree_owns(s->tree, shard))) {
                asc_lm_carried_advance(carried_of(s, first, shard));
            }
        }
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
    if (s->tree) {
        status = share(s, result);
    } else if (!status) {
        result->grad_norm = find_norm(s);
    }
    if (status) {
        return status;
    }
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
