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

/* A number out of its range, NaN among them, is ASC_ERR_ARG, and the error names the argument: by asc_optim_step,
 * asc_optim_group and those that make optimisers. Nothing is changed then. No number may be above 1e18, so that what
 * the rules make of them is finite in float32. */

/* How a parameter is changed by its gradient g. */
typedef enum asc_rule {
    ASC_RULE_ADAMW, /* Loshchilov and Hutter, ICLR 2019, in PyTorch's order of operations */
    ASC_RULE_SGD,   /* v = momentum v + g, p -= lr v; weight decay adds decay · p to g */
    ASC_RULE_MUON,  /* Jordan et al. 2024, of matrices (parameters that are none have AdamW): p -= lr decay p, then
                     * v = muon_momentum v + g, p -= lr 0.2 √max(rows, columns) orthogonalised(g + muon_momentum v),
                     * whose entries are of the size that AdamW's have (Liu et al. 2025): rates fit both */
} asc_rule;

/* A rule for the parameters of these names: '*' stands for any text, '?' for one character, "[0-9]" for one of several;
 * a name stands for its own parameter, too, whatever is in it. */
typedef struct asc_rule_for {
    const char *names;
    asc_rule rule;
} asc_rule_for;

typedef struct asc_optim_options {
    asc_rule rule;             /* of the parameters that `rules` does not name */
    const asc_rule_for *rules; /* of two that name one parameter the later counts; ends with names NULL; or NULL */
    double weight_decay;       /* at least 0; on the parameters that asc_params_decays */
    double beta1, beta2;       /* AdamW's, below 1; 0 stands for 0.9 and 0.999 */
    double eps;                /* AdamW's; 0 stands for 1e-8 */
    double momentum;           /* SGD's, below 1 */
    double muon_momentum;      /* Muon's, below 1; 0 stands for 0.95 */
    double average;            /* the decay of the running means of parameters (asc_optim_average), below 1; 0: none */
    /* One of several optimisers that divide the parameters among them, whole tensors, so that what they keep is about
     * the same for each: it changes those of its share, 0 … shares-1, and keeps state of no others. shares 0: all. */
    int share, shares;
} asc_optim_options;

/* The list must outlive the optimiser, and not grow; ASC_ERR_ARG also where one tensor stands in it under two names.
 * `options` may be NULL: all 0. */
ASC_API asc_optim *asc_optim_new(asc_ctx *ctx, asc_params *params, const asc_optim_options *options);

typedef struct asc_adamw_options {
    double beta1, beta2, eps, weight_decay; /* as above */
} asc_adamw_options;

/* asc_optim_new with one rule for all. `options` may be NULL. */
ASC_API asc_optim *asc_adamw_new(asc_ctx *ctx, asc_params *params, const asc_adamw_options *options);
ASC_API asc_optim *asc_sgd_new(asc_ctx *ctx, asc_params *params, double momentum, double weight_decay);

/* Before its parameters and its context. NULL is accepted. */
ASC_API void asc_optim_free(asc_optim *optim);

/* Makes a group of the parameters with these names (as in asc_rule_for): their learning rate is lr_scale times the
 * step's (0: they stay as they are), their weight decay is weight_decay whatever asc_params_decays says; what is below
 * 0 stays as it was. Of two groups with one parameter the later counts. Returns the number of parameters in it; 0 with
 * ASC_ERR_ARG if there are none. */
ASC_API int asc_optim_group(asc_optim *optim, const char *names, double lr_scale, double weight_decay);

/* One step on every parameter that has a gradient, which counts grad_scale times; the others are not touched. lr is at
 * least 0, grad_scale of either sign. While the context has an error, a backward pass's that failed, say, it does
 * nothing and returns that. ASC_ERR_ARG: a number out of its range, a parameter that is not contiguous; ASC_ERR_STATE:
 * the list has grown, or the averages stand in the parameters' place. After an error nothing has changed. */
ASC_API asc_status asc_optim_step(asc_optim *optim, double lr, double grad_scale);

/* Takes the floating parameters, as they are after a step, into their running means, whose decay is options.average: at
 * step t > 1 (1 + t)/(10 + t) where that is less, and 0 at the first, whose values they are. ASC_ERR_STATE: the
 * optimiser was made without, or they stand in the parameters' place. */
ASC_API asc_status asc_optim_average(asc_optim *optim);

/* Exchanges parameters and their means: to evaluate or save these. Called again, it puts them back, and that must be
 * done before the next step or mean (ASC_ERR_STATE there). Without means it does nothing. */
ASC_API asc_status asc_optim_swap_average(asc_optim *optim);

/* The share, 0 … shares-1, that has parameter i of the list; -1: there is no such parameter. The same for each of the
 * optimisers that divide a list. */
ASC_API int asc_optim_share_of(const asc_optim *optim, int i);

/* Everything that the next step depends on beside parameters and gradients, as named tensors: save them to
 * resume exactly, and load them by asc_copy. Borrowed. Of one of several shares only what that keeps; its "steps" count
 * all parameters that had a gradient. */
ASC_API asc_params *asc_optim_state(asc_optim *optim);

/* The Euclidean norm of all gradients together, summed in double in an order of its own; a tensor that is listed twice
 * counts twice. */
ASC_API double asc_grad_norm(asc_ctx *ctx, asc_params *params);

/* What clipping to `clip` multiplies gradients of this norm by: min(1, clip/(norm + 1e-6)); 1 for clip <= 0. NaN where
 * the norm is not finite, or clip is NaN: asc_optim_step takes no such scale, and leaves the parameters as they are. */
ASC_API double asc_clip_scale(double norm, double clip);

typedef enum asc_decay { ASC_DECAY_CONSTANT, ASC_DECAY_LINEAR, ASC_DECAY_COSINE, ASC_DECAY_WSD } asc_decay;

typedef struct asc_schedule {
    asc_decay decay;
    double lr, min_lr;
    int64_t warmup; /* steps: lr (t + 1)/warmup for t < warmup */
    int64_t steps;  /* where min_lr is reached; lr stays there after it */
    int64_t fall;   /* of WSD: steps of the fall, at the end */
} asc_schedule;

/* The learning rate of step t = 0, 1, …: warm-up, then lr (constant), or from lr to min_lr over all that is left
 * (linear, cosine), or lr up to the last `fall` steps, and then min_lr + (lr - min_lr)(1 - √x), x from 0 to 1 (WSD:
 * warm-up, stable, decay; Hägele et al. 2024). A t below 0 is step 0. */
ASC_API double asc_lr_at(const asc_schedule *schedule, int64_t t);

#ifdef __cplusplus
}
#endif
#endif
