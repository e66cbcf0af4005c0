/* optim/average.c: the running mean of parameters over the steps. a += (1 - d) (p - a), with d = min(average,
 * (1 + t)/(10 + t)), and 0 at the first step: the first values, far from all that follow, are soon forgotten. */
#include <string.h>

#include "optim/optim.h"

enum { PIECE = 1 << 16 };

typedef struct job {
    asc_tensor param, average;
    int64_t numel;
    double share; /* of the new value */
} job;

/* ---- float, and f64.awk makes the same for double ---- */

static void take_f32(void *average, const void *param, int64_t n, double share)
{
    float *a = average;
    const float *p = param, s = (float)share;
    if (share == 1) {
        memcpy(a, p, (size_t)n * sizeof *a); /* a + (p - a) need not be p */
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] += s * (p[i] - a[i]);
    }
}

static void swap_f32(void *average, void *param, int64_t n)
{
    float *a = average, *p = param;
    for (int64_t i = 0; i < n; i++) {
        float was = a[i];
        a[i] = p[i];
        p[i] = was;
    }
}

/* ---- end of float ---- */
#include "optim/average.f64.h"

static int64_t length(const job *j, int64_t piece)
{
    int64_t left = j->numel - piece * PIECE;
    return left < PIECE ? left : PIECE;
}

static void take_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    BY_DTYPE(asc_dtype_of(j->param), take)
    (asc_optim_at(j->average, piece * PIECE), asc_optim_at(j->param, piece * PIECE), length(j, piece), j->share);
}

static void swap_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    BY_DTYPE(asc_dtype_of(j->param), swap)
    (asc_optim_at(j->average, piece * PIECE), asc_optim_at(j->param, piece * PIECE), length(j, piece));
}

static void run(const asc_optim *o, int i, double share, asc_piece_fn *fn)
{
    job j = {.param = asc_params_at(o->params, i), .average = o->part[i].average, .share = share};
    j.numel = asc_numel(j.param);
    asc_parallel(o->ctx, (j.numel + PIECE - 1) / PIECE, fn, &j);
}

asc_status asc_optim_average(asc_optim *o)
{
    if (!o || o->options.average == 0) {
        return o ? asc_fail(o->ctx, ASC_ERR_STATE, "optim_average: the optimiser was made without averages")
                 : ASC_ERR_ARG;
    }
    if (asc_optim_check(o, "optim_average")) {
        return asc_error(o->ctx);
    }
    if (o->swapped) {
        return asc_fail(o->ctx, ASC_ERR_STATE, "optim_average: the averages stand in the parameters' place, expected "
                        "these: asc_optim_swap_average puts them back");
    }
    const int64_t *steps = asc_data(o->steps);
    for (int i = 0; i < o->count; i++) {
        if (asc_is_null(o->part[i].average)) { /* another share's, or integers */
            continue;
        }
        double t = (double)steps[i], d = (1 + t) / (10 + t);
        d = d < o->options.average ? d : o->options.average;
        run(o, i, t > 1 ? 1 - d : 1, take_piece);
    }
    return ASC_OK;
}

asc_status asc_optim_swap_average(asc_optim *o)
{
    if (!o || o->options.average == 0) {
        return o ? ASC_OK : ASC_ERR_ARG;
    }
    if (asc_optim_check(o, "optim_swap_average")) {
        return asc_error(o->ctx);
    }
    for (int i = 0; i < o->count; i++) {
        if (!asc_is_null(o->part[i].average)) {
            asc_data_mut(asc_params_at(o->params, i)); /* tapes that saved the values must not be used any more */
            run(o, i, 0, swap_piece);
        }
    }
    o->swapped = !o->swapped;
    return ASC_OK;
}
