/* train/ranks/sets.c: sets of gradients that wait, adding them, and their norm. */
#include <string.h>

#include <ascgrad/op.h>

#include "kernels/kernels.h"
#include "tensor/dtype.h"
#include "train/ranks/tree_parts.h"

enum { PIECE = 1 << 14 }; /* elements that one thread adds at a time */

/* ---- sets of gradients ---- */

size_t asc_tree_param_bytes(asc_tensor p)
{
    return (size_t)asc_numel(p) * asc_dtype_size(asc_dtype_of(p));
}

bool asc_tree_is_of(const asc_tree *t, int i, int share)
{
    return share == ASC_ALL_SHARES || asc_optim_share_of(t->divided, i) == share;
}

size_t asc_tree_share_bytes(const asc_tree *t, int share)
{
    size_t bytes = 0;
    for (int i = 0; i < asc_params_count(t->params); i++) {
        bytes += asc_tree_is_of(t, i, share) ? asc_tree_param_bytes(asc_params_at(t->params, i)) : 0;
    }
    return bytes;
}

static size_t bytes_of_set(const asc_tree *t)
{
    return (size_t)asc_params_count(t->params) * sizeof(asc_tensor);
}

static void empty(const asc_tree *t, const asc_grad_set *s)
{
    for (int i = 0; s->grad && i < asc_params_count(t->params); i++) {
        asc_release(s->grad[i]);
        s->grad[i] = asc_null();
    }
}

void asc_tree_free_set(const asc_tree *t, asc_grad_set *s)
{
    empty(t, s);
    asc_free(t->ctx, s->grad, s->grad ? bytes_of_set(t) : 0);
    s->grad = NULL;
}

asc_status asc_tree_put(const asc_tree *t, asc_grad_set *s)
{
    if (!s->grad && !(s->grad = asc_alloc(t->ctx, bytes_of_set(t)))) {
        return asc_error(t->ctx);
    }
    for (int i = 0; i < asc_params_count(t->params); i++) {
        asc_tensor p = asc_params_at(t->params, i);
        s->grad[i] = asc_grad(p);
        if (!asc_is_null(s->grad[i])) {
            asc_keep(s->grad[i]);
            asc_grad_into(p, asc_null(), false);
        }
    }
    return asc_error(t->ctx);
}

/* ---- adding. Of two numbers the sum is the same in either order ---- */

typedef struct adding {
    void *to;
    const void *from;
    int64_t numel;
    asc_dtype dtype;
} adding;

static void add_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const adding *a = arg;
    int64_t at = piece * PIECE, n = a->numel - at < PIECE ? a->numel - at : PIECE;
    if (a->dtype == ASC_F32) {
        asc_kernels_f32()->acc((float *)a->to + at, (const float *)a->from + at, n);
    } else {
        asc_kernels_f64()->acc((double *)a->to + at, (const double *)a->from + at, n);
    }
}

void asc_tree_add_numbers(asc_ctx *ctx, asc_dtype dtype, void *to, const void *from, int64_t numel)
{
    adding a = {to, from, numel, dtype};
    asc_parallel(ctx, (numel + PIECE - 1) / PIECE, add_piece, &a);
}

void *asc_tree_grad(asc_ctx *ctx, asc_tensor p)
{
    asc_tensor grad = asc_grad(p);
    if (asc_is_null(grad)) {
        asc_array shape = asc_array_of(p);
        asc_tensor own = asc_empty(ctx, shape.dtype, shape.ndim, shape.shape);
        grad = asc_grad_into(p, own, true) == ASC_OK ? asc_grad(p) : asc_null();
        asc_release(own); /* the parameter holds it */
    }
    return asc_data_mut(grad);
}

void asc_tree_add_one(asc_ctx *ctx, asc_tensor p, const void *from)
{
    bool fresh = asc_is_null(asc_grad(p));
    void *to = asc_tree_grad(ctx, p);
    if (to && fresh) {
        memcpy(to, from, asc_tree_param_bytes(p));
    } else if (to) {
        asc_tree_add_numbers(ctx, asc_dtype_of(p), to, from, asc_numel(p));
    }
}

asc_status asc_tree_add(const asc_tree *t, const asc_grad_set *s)
{
    for (int i = 0; i < asc_params_count(t->params) && !asc_error(t->ctx); i++) {
        asc_tensor p = asc_params_at(t->params, i), grad = s->grad[i];
        if (!asc_is_null(grad) && asc_is_null(asc_grad(p))) {
            asc_grad_into(p, grad, true);
        } else if (!asc_is_null(grad)) {
            asc_tree_add_one(t->ctx, p, asc_data(grad));
        }
    }
    empty(t, s);
    return asc_error(t->ctx);
}

/* ---- the norm ---- */

double asc_tree_norm(const asc_tree *t)
{
    asc_span span;
    asc_span_begin(t->ctx, &span, "clip");
    double norm = asc_grad_norm(t->ctx, t->params);
    asc_span_end(t->ctx, &span);
    return norm;
}
