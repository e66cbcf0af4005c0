/* optim/clip.c: the norm of the gradients, and clipping by it. */
#include <math.h>

#include "optim/optim.h"
#include "tensor/need.h"

enum { PIECE = 1 << 16, AT_ONCE = 64 };

typedef struct squares {
    asc_tensor grad;
    int64_t numel, first; /* piece `first` is sum[0] */
    double sum[AT_ONCE];
} squares;

static void sum_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    squares *s = arg;
    int64_t from = (s->first + piece) * PIECE, n = s->numel - from < PIECE ? s->numel - from : PIECE;
    const void *g = asc_optim_at(s->grad, from);
    s->sum[piece] = asc_dtype_of(s->grad) == ASC_F32 ? asc_kernels_f32()->sumsq(g, n) : asc_kernels_f64()->sumsq(g, n);
}

double asc_grad_norm(asc_ctx *ctx, asc_params *params)
{
    if (ASC_NEED(ctx, "grad_norm: params", params)) {
        return 0;
    }
    double total = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        squares s = {.grad = asc_grad(asc_params_at(params, i))};
        s.numel = asc_numel(s.grad);
        int64_t pieces = (s.numel + PIECE - 1) / PIECE;
        for (s.first = 0; s.first < pieces; s.first += AT_ONCE) {
            int64_t n = pieces - s.first < AT_ONCE ? pieces - s.first : AT_ONCE;
            asc_parallel(ctx, n, sum_piece, &s);
            for (int64_t j = 0; j < n; j++) {
                total += s.sum[j];
            }
        }
    }
    return sqrt(total);
}

double asc_clip_scale(double norm, double clip)
{
    double scale = clip / (norm + 1e-6);
    return clip > 0 && scale < 1 ? scale : 1;
}
