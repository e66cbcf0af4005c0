/* optim/optim.h: what the optimisers share. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H

#include <ascgrad/optim.h>

#include "kernels/kernels.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"

/* What groups say of a parameter. */
typedef struct asc_optim_setting {
    double lr_scale, weight_decay;
} asc_optim_setting;

/* A step's figures for one parameter. */
typedef struct asc_optim_update {
    int i;     /* the parameter */
    int64_t t; /* its step, 1, 2, … */
    double lr, grad_scale;
} asc_optim_update;

/* How a parameter is changed, and what is kept of it: tensors of its shape, "NAME.PARAMETER". Either piece by piece,
 * elements from … from+n-1, or as a whole on one thread, with so many bytes of scratch. */
typedef struct asc_rule_def {
    const char *slots[3]; /* NULL at the end */
    void (*piece)(const asc_optim *o, const asc_optim_update *u, int64_t from, int64_t n);
    void (*whole)(const asc_optim *o, const asc_optim_update *u, void *scratch);
    size_t (*scratch)(asc_tensor p);
} asc_rule_def;

extern const asc_rule_def asc_rule_adamw, asc_rule_sgd, asc_rule_plain_sgd, asc_rule_muon;

enum { ASC_OPTIM_SLOTS = 2 };

/* One parameter's part of an optimiser. */
typedef struct asc_optim_part {
    const asc_rule_def *rule;
    asc_optim_setting setting;
    int share;
    asc_tensor slot[ASC_OPTIM_SLOTS], average; /* borrowed from `state` */
} asc_optim_part;

struct asc_optim {
    asc_ctx *ctx;
    asc_params *params;
    int count; /* of the parameters when the optimiser was made: the list must not grow after it */
    asc_optim_options options; /* its defaults put in; `rules` is gone */
    asc_params *state;
    asc_optim_part *part; /* [count] */
    int *whole;           /* [wholes]: of its share the parameters whose rule takes all at once, the largest first */
    int wholes;
    asc_optim_update *update; /* [wholes]: of this step */
    char *scratch;            /* `worker` bytes for each of `workers` threads */
    size_t worker;
    int workers;
    bool swapped;     /* the averages stand in the parameters' place */
    asc_tensor steps; /* i64 [count]: the steps that each parameter has made */
};

/* How many numbers such an optimiser keeps beside the parameters; all shares together. */
double asc_optim_numbers(asc_params *params, const asc_optim_options *options);
double asc_optim_numbers_of_all(const asc_optim *o);

/* The name, "KIND.PARAMETER", of tensor number `slot` that is kept of parameter i, whoever keeps it; false: there are
 * fewer. *kept is that, or null where another share has it. */
enum { ASC_OPTIM_NAME = 1100 };
bool asc_optim_slot(const asc_optim *o, int i, int slot, char name[ASC_OPTIM_NAME], asc_tensor *kept);

/* Whether the parameters are those that the optimiser was made for, and contiguous where it touches them. */
asc_status asc_optim_check(const asc_optim *o, const char *name);

/* Element `from` of a tensor that the optimiser writes. */
static inline void *asc_optim_at(asc_tensor t, int64_t from)
{
    asc_node *n = asc_node_of(t);
    return (char *)n->array.data + (size_t)from * asc_dtype_size(n->array.dtype);
}

/* The norm of gradients from parts: asc_grad_norm is the root of the sum of these numbers of all parameters, added in
 * their order. The gradient of p has so many of them; without one they are left. */
int64_t asc_grad_pieces(asc_tensor p);
void asc_grad_squares(asc_ctx *ctx, asc_tensor p, double *sum);

#endif
