/* optim/clip.c: the norm of the gradients, and clipping by it. */
#include <math.h>

#include "optim/optim.h"
#include "tensor/need.h"

enum { PIECE = 1 << 16, AT_ONCE = 64 };

typedef struct squares {
    asc_tensor grad;
    int64_t numel, first; /* piece `first` is sum[0] */
    double *sum;
} squares;

/* ---- float, and f64.awk makes the same for double ---- */

static void sum_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    squares *s = arg;
    int64_t from = (s->first + piece) * PIECE, n = s->numel - from < PIECE ? s->numel - from : PIECE;
    s->sum[piece] = asc_kernels_f32()->sumsq(asc_optim_at(s->grad, from), n);
}

/* ---- end of float ---- */
#include "optim/clip.f64.h"

int64_t asc_grad_pieces(asc_tensor p)
{
    return (asc_numel(p) + PIECE - 1) / PIECE;
}

static void sum_pieces(asc_ctx *ctx, squares *s, int64_t n)
{
    asc_parallel(ctx, n, BY_DTYPE(asc_dtype_of(s->grad), sum_piece), s);
}

void asc_grad_squares(asc_ctx *ctx, asc_tensor p, double *sum)
{
    squares s = {.grad = asc_grad(p), .numel = asc_numel(p), .sum = sum};
    if (!asc_is_null(s.grad)) {
        sum_pieces(ctx, &s, asc_grad_pieces(p));
    }
}

double asc_grad_norm(asc_ctx *ctx, asc_params *params)
{
    if (ASC_NEED(ctx, "grad_norm: params", params)) {
        return 0;
    }
    double total = 0, sum[AT_ONCE];
    for (int i = 0; i < asc_params_count(params); i++) {
        squares s = {.grad = asc_grad(asc_params_at(params, i)), .sum = sum};
        s.numel = asc_numel(s.grad);
        int64_t pieces = asc_grad_pieces(s.grad);
        for (s.first = 0; s.first < pieces; s.first += AT_ONCE) {
            int64_t n = pieces - s.first < AT_ONCE ? pieces - s.first : AT_ONCE;
            sum_pieces(ctx, &s, n);
            for (int64_t j = 0; j < n; j++) {
                total += sum[j];
            }
        }
    }
    return sqrt(total);
}

double asc_clip_scale(double norm, double clip)
{
    if (!isfinite(norm) || isnan(clip)) { /* nothing makes such gradients small: a step is to refuse them */
        return NAN;
    }
    double scale = clip / (norm + 1e-6);
    return clip > 0 && scale < 1 ? scale : 1;
}
