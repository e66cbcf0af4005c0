/* optim/adamw.c: AdamW. p *= 1 - lr λ, m = β₁m + (1-β₁)g, v = β₂v + (1-β₂)g²,
 * p -= lr/(1-β₁ᵗ) m / (√v/√(1-β₂ᵗ) + ε), in one pass over memory. */
#include <math.h>

#include "optim/optim.h"

enum { M, V };

/* ---- float, and f64.awk makes the same for double ---- */

static void step_f32(void *p, const void *g, void *m, void *v, int64_t n, const asc_adamw_step *s)
{
    asc_kernels_f32()->adamw(p, g, m, v, n, s);
}

/* ---- end of float ---- */
#include "optim/adamw.f64.h"

static void update(const asc_optim *o, const asc_optim_update *u, int64_t from, int64_t n)
{
    const asc_optim_options *a = &o->options;
    const asc_optim_part *part = &o->part[u->i];
    const asc_adamw_step s = {.lr = u->lr,
                              .beta1 = a->beta1,
                              .beta2 = a->beta2,
                              .eps = a->eps,
                              .weight_decay = part->setting.weight_decay,
                              .grad_scale = u->grad_scale,
                              .bias1 = 1 - pow(a->beta1, (double)u->t),
                              .bias2 = 1 - pow(a->beta2, (double)u->t)};
    asc_tensor p = asc_params_at(o->params, u->i);
    BY_DTYPE(asc_dtype_of(p), step)
    (asc_optim_at(p, from), asc_optim_at(asc_grad(p), from), asc_optim_at(part->slot[M], from),
     asc_optim_at(part->slot[V], from), n, &s);
}

const asc_rule_def asc_rule_adamw = {.slots = {"m", "v"}, .piece = update};
