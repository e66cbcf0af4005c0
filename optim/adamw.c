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

static void update(const asc_optim *o, int i, int64_t t, double lr, double grad_scale, int64_t from, int64_t n)
{
    const asc_adamw_options *a = &o->adamw;
    const asc_adamw_step s = {.lr = lr, .beta1 = a->beta1, .beta2 = a->beta2, .eps = a->eps,
                              .weight_decay = o->setting[i].weight_decay,
                              .grad_scale = grad_scale, .bias1 = 1 - pow(a->beta1, (double)t),
                              .bias2 = 1 - pow(a->beta2, (double)t)};
    asc_tensor p = asc_params_at(o->params, i), g = asc_grad(p);
    void *m = asc_optim_at(o->slot[2 * i + M], from), *v = asc_optim_at(o->slot[2 * i + V], from);
    BY_DTYPE(asc_dtype_of(p), step)(asc_optim_at(p, from), asc_optim_at(g, from), m, v, n, &s);
}

asc_optim *asc_adamw_new(asc_ctx *ctx, asc_params *params, const asc_adamw_options *options)
{
    asc_adamw_options given = options ? *options : (asc_adamw_options){0};
    asc_optim *o = asc_optim_new(ctx, params, given.weight_decay, 2, (const char *const[]){"m", "v"},
                                 "adamw_new: params");
    if (o) {
        asc_adamw_options *a = &o->adamw;
        *a = given;
        a->beta1 = a->beta1 > 0 ? a->beta1 : 0.9;
        a->beta2 = a->beta2 > 0 ? a->beta2 : 0.999;
        a->eps = a->eps > 0 ? a->eps : 1e-8;
        o->update = update;
    }
    return o;
}
