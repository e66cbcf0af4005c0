/* tests/nn/model.h: what the tests of whole models share: a step of training, the parameters' bytes, a failed call. */
#ifndef TESTS_NN_MODEL_H
#define TESTS_NN_MODEL_H

#include <ascgrad/nn.h>
#include <ascgrad/optim.h>

#include "tests/context.h"

/* The loss of B sequences of N tokens before a step on the objective, which has the auxiliary losses, too. */
static inline double train_step(asc_ctx *c, asc_lm *lm, asc_optim *optim, const int64_t *x, const int64_t *y, int64_t B,
                                int64_t N)
{
    asc_params *params = asc_lm_params(lm);
    double loss;
    asc_scope_begin(c);
    asc_tensor objective = asc_lm_objective(lm, asc_from(c, ASC_I64, x, ASC_SHAPE(B, N)),
                                            asc_from(c, ASC_I64, y, ASC_SHAPE(B, N)), &loss);
    ck_assert_msg(asc_backward(c, objective, asc_null(), false) == ASC_OK, "%s", asc_error_message(c));
    asc_scope_end(c);
    ck_assert_int_eq(asc_optim_step(optim, 1e-2, asc_clip_scale(asc_grad_norm(c, params), 1)), ASC_OK);
    asc_lm_project(lm);
    asc_params_zero_grad(params);
    return loss;
}

/* Steps of AdamW on one sequence of N + 1 tokens: the loss falls by more than 1, and no step after the second
 * allocates. Returns the first loss. */
static inline double expect_learning(asc_lm *lm, const int64_t *x, int64_t N)
{
    asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
    double first = train_step(ctx, lm, optim, x, x + 1, 1, N), loss = train_step(ctx, lm, optim, x, x + 1, 1, N);
    uint64_t allocations = asc_memory(ctx).allocations;
    for (int i = 2; i < 80; i++) {
        loss = train_step(ctx, lm, optim, x, x + 1, 1, N);
    }
    ck_assert_uint_eq(asc_memory(ctx).allocations, allocations);
    ck_assert_double_lt(loss, first - 1);
    asc_optim_free(optim);
    return first;
}

/* All parameters, f32, one after the other; new, to be freed. */
static inline unsigned char *params_bytes(asc_lm *lm, size_t *bytes)
{
    asc_params *params = asc_lm_params(lm);
    *bytes = (size_t)asc_params_numel(params) * sizeof(float);
    unsigned char *all = malloc(*bytes), *at = all;
    for (int i = 0; i < asc_params_count(params); i++) {
        size_t n = (size_t)asc_numel(asc_params_at(params, i)) * sizeof(float);
        memcpy(at, asc_data(asc_params_at(params, i)), n);
        at += n;
    }
    return all;
}

/* A model's logit after x[0 … have], in f64: the same when a call for `more` tokens behind the first `have` failed
 * before it, at any of its allocations; the cache then has the tokens that it had. */
static inline void expect_cache_survives(asc_lm *lm, int64_t capacity, const int64_t *x, int64_t have, int64_t more)
{
    asc_lm_cache *cache = asc_lm_cache_new(lm, capacity);
    double expected = 0;
    int failures = 0;
    for (int64_t k = -1; k < 60; k++) { /* first, none */
        asc_lm_cache_reset(cache);
        asc_lm_next(cache, x, have);
        memory.fail_at = k < 0 ? NEVER : memory.calls + k;
        int64_t n = k < 0 ? 1 : more - k % 3; /* sizes that the pool may not hold */
        asc_tensor logits = asc_lm_next(cache, x + have, n);
        memory.fail_at = NEVER;
        if (k < 0) {
            expected = *(const double *)asc_data(logits);
        } else if (asc_is_null(logits)) {
            failures++;
            ck_assert_int_eq(asc_error(ctx), ASC_ERR_MEMORY);
            asc_error_clear(ctx);
            ck_assert_int_eq(asc_lm_cache_length(cache), have);
            ck_assert_double_eq(*(const double *)asc_data(asc_lm_next(cache, x + have, 1)), expected);
        }
    }
    ck_assert_int_gt(failures, 3);
    asc_lm_cache_free(cache);
}

#endif
