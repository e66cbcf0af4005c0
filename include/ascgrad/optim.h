/*
 * ascgrad/optim.h: optimisers, gradient clipping, learning rate schedules.
 */
#ifndef ASCGRAD_OPTIM_H
#define ASCGRAD_OPTIM_H

#include <ascgrad/params.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_optim asc_optim;

typedef struct asc_adamw_options {
    double beta1, beta2;  /* 0 stands for 0.9 and 0.999 */
    double eps;           /* 0 stands for 1e-8 */
    double weight_decay;  /* decoupled, on the parameters that asc_params_decays */
} asc_adamw_options;

/* AdamW (Loshchilov and Hutter, ICLR 2019), in PyTorch's order of operations. The list must outlive the optimiser, and
 * not grow. `options` may be NULL: all 0. */
ASC_API asc_optim *asc_adamw_new(asc_ctx *ctx, asc_params *params, const asc_adamw_options *options);

/* Gradient descent: v = momentum v + g, p -= lr v; weight decay adds decay · p to g. */
ASC_API asc_optim *asc_sgd_new(asc_ctx *ctx, asc_params *params, double momentum, double weight_decay);

/* NULL is accepted. */
ASC_API void asc_optim_free(asc_optim *optim);

/* Makes a group of the parameters whose names begin with `prefix` ("" are all): their learning rate is lr_scale times
 * the step's (0: they stay as they are), their weight decay is weight_decay whatever asc_params_decays says. Of
 * two groups with one parameter the later counts. Returns the number of parameters in it; 0 with ASC_ERR_ARG if
 * there are none. */
ASC_API int asc_optim_group(asc_optim *optim, const char *prefix, double lr_scale, double weight_decay);

/* One step on every parameter that has a gradient, which counts grad_scale times; the others are not touched. */
ASC_API asc_status asc_optim_step(asc_optim *optim, double lr, double grad_scale);

/* Everything that the next step depends on beside parameters and gradients, as named tensors: save them to
 * resume exactly, and load them by asc_copy. Borrowed. */
ASC_API asc_params *asc_optim_state(asc_optim *optim);

/* The Euclidean norm of all gradients together, summed in double in an order of its own. */
ASC_API double asc_grad_norm(asc_ctx *ctx, asc_params *params);

/* What clipping to `clip` multiplies gradients of this norm by: min(1, clip/(norm + 1e-6)); 1 for clip <= 0. */
ASC_API double asc_clip_scale(double norm, double clip);

typedef enum asc_decay { ASC_DECAY_CONSTANT, ASC_DECAY_LINEAR, ASC_DECAY_COSINE } asc_decay;

typedef struct asc_schedule {
    asc_decay decay;
    double lr, min_lr;
    int64_t warmup; /* steps: lr (t + 1)/warmup for t < warmup */
    int64_t steps;  /* where min_lr is reached; lr stays there after it */
} asc_schedule;

/* The learning rate of step t = 0, 1, …: warm-up, then lr (constant) or from lr to min_lr (linear, cosine). */
ASC_API double asc_lr_at(const asc_schedule *schedule, int64_t t);

#ifdef __cplusplus
}
#endif
#endif
