/* optim/sgd.c: gradient descent with momentum. g += λ p, v = μ v + g, p -= lr v. */
#include "optim/optim.h"

/* ---- float, and f64.awk makes the same for double ---- */

static void step_f32(void *p, const void *g, void *v, int64_t n, const asc_sgd_step *s)
{
    asc_kernels_f32()->sgd(p, g, v, n, s);
}

/* ---- end of float ---- */
#include "optim/sgd.f64.h"

static void update(const asc_optim *o, const asc_optim_update *u, int64_t from, int64_t n)
{
    const asc_optim_part *part = &o->part[u->i];
    const asc_sgd_step s = {.lr = u->lr,
                            .momentum = o->options.momentum,
                            .grad_scale = u->grad_scale,
                            .weight_decay = part->setting.weight_decay};
    asc_tensor p = asc_params_at(o->params, u->i);
    void *v = part->rule->slots[0] ? asc_optim_at(part->slot[0], from) : NULL;
    BY_DTYPE(asc_dtype_of(p), step)(asc_optim_at(p, from), asc_optim_at(asc_grad(p), from), v, n, &s);
}

const asc_rule_def asc_rule_sgd = {.slots = {"velocity"}, .piece = update};
const asc_rule_def asc_rule_plain_sgd = {.piece = update};
