/* optim/optim.h: what the optimisers share. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H

#include <ascgrad/optim.h>

#include "kernels/kernels.h"
#include "tensor/ctx.h"
#include "tensor/dtype.h"

/* What a group says of a parameter. */
typedef struct asc_optim_setting {
    double lr_scale, weight_decay;
} asc_optim_setting;

/* An optimiser: its parameters, its state by name, and how it changes one parameter. */
struct asc_optim {
    asc_ctx *ctx;
    asc_params *params;
    int count; /* of the parameters when the optimiser was made: the list must not grow after it */
    asc_params *state;
    asc_optim_setting *setting; /* [count] */
    asc_tensor *slot; /* [count][slots]: a parameter's own state tensors, borrowed from `state` */
    int slots;
    asc_tensor steps; /* i64 [count]: the steps that each parameter has made */
    /* Elements `from` … from+n-1 of parameter i, at its step t = 1, 2, … */
    void (*update)(const asc_optim *o, int i, int64_t t, double lr, double grad_scale, int64_t from, int64_t n);
    asc_adamw_options adamw; /* AdamW's */
    double momentum;         /* SGD's */
};

/* An optimiser without update and options, with `slots` state tensors of a parameter's shape each, "NAME.PARAMETER". */
asc_optim *asc_optim_new(asc_ctx *ctx, asc_params *params, double weight_decay, int slots,
                         const char *const *slot_names, const char *names);

/* Element `from` of a tensor that the optimiser writes. */
static inline void *asc_optim_at(asc_tensor t, int64_t from)
{
    asc_node *n = asc_node_of(t);
    return (char *)n->array.data + (size_t)from * asc_dtype_size(n->array.dtype);
}

#endif
