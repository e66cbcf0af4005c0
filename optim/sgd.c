/* optim/sgd.c: gradient descent with momentum. g += λ p, v = μ v + g, p -= lr v. */
#include "optim/optim.h"

/* ---- float, and f64.awk makes the same for double ---- */

static void step_f32(void *p, const void *g, void *v, int64_t n, const asc_sgd_step *s)
{
    asc_kernels_f32()->sgd(p, g, v, n, s);
}

/* ---- end of float ---- */
#include "optim/sgd.f64.h"

static void update(const asc_optim *o, int i, int64_t t, double lr, double grad_scale, int64_t from, int64_t n)
{
    (void)t;
    const asc_sgd_step s = {.lr = lr, .momentum = o->momentum, .grad_scale = grad_scale,
                            .weight_decay = o->setting[i].weight_decay};
    asc_tensor p = asc_params_at(o->params, i), g = asc_grad(p);
    void *v = o->slots ? asc_optim_at(o->slot[i], from) : NULL;
    BY_DTYPE(asc_dtype_of(p), step)(asc_optim_at(p, from), asc_optim_at(g, from), v, n, &s);
}

asc_optim *asc_sgd_new(asc_ctx *ctx, asc_params *params, double momentum, double weight_decay)
{
    asc_optim *o = asc_optim_new(ctx, params, weight_decay, momentum != 0, (const char *const[]){"velocity"},
                                 "sgd_new: params");
    if (o) {
        o->momentum = momentum;
        o->update = update;
    }
    return o;
}
