/* check/sample_inputs.c: inputs and cotangents for the gradient check. */
#include <math.h>
#include <string.h>

#include "check/gradcheck.h"
#include "check/sample.h"

/* Streams of random numbers: of a sample's inputs, from REDRAWN on of its inputs' other values; and apart from those of
 * all samples, from COTANGENT on, of its outputs. */
enum { STREAMS = 2 * ASC_MAX_IN, REDRAWN = ASC_MAX_IN };
static const uint64_t COTANGENT = UINT64_C(1) << 32;
/* After so many numbers the same come again; a prime, so that no two pieces that threads share have the same. */
enum { PERIOD = 8191 };

static asc_draws draws_of(const asc_check *c, uint64_t number)
{
    return (asc_draws){ASC_F64, c->options.seed, (uint64_t)c->sample * STREAMS + number, PERIOD};
}

static asc_tensor draw_tensor(const asc_check *c, const asc_sample_input *s, uint64_t number)
{
    asc_draws draws = draws_of(c, number);
    return asc_sample_tensor(c->ctx, s, &draws);
}

static double largest_step(const asc_sample_input *s)
{
    double h = 0x1p-5, margin = asc_sample_margin(s);
    if (margin > 0) {
        h = fmin(h, margin);
    }
    if (s->away > 0) {
        h = fmin(h, s->away / 2);
    }
    return exp2(floor(log2(h)));
}

/* ---- a sample ---- */

asc_status asc_check_sample_inputs(asc_check *c)
{
    asc_drawn drawn;
    asc_draws draws = draws_of(c, 0);
    asc_status status = asc_sample_draw(c->ctx, c->form, &draws, &drawn);
    c->n_in = drawn.n;
    for (int i = 0; i < drawn.n && !status; i++) {
        const asc_sample_input *s = &c->form->in[i];
        bool leaf = drawn.owner[i] == i && asc_sample_is_real(s);
        c->inputs.at[i] = drawn.at[i];
        c->owner[i] = drawn.owner[i];
        c->step[i] = drawn.owner[i] == i && s->kind ? largest_step(s) : 0;
        c->leaves |= leaf ? 1u << i : 0;
        c->grad_at[i + 1] = c->grad_at[i] + (leaf ? asc_numel(drawn.at[i]) : 0);
    }
    return status;
}

asc_status asc_check_sample_cotangents(asc_check *c)
{
    for (int o = 0; o < c->op->n_out; o++) {
        if (!(c->roots >> o & 1)) {
            continue;
        }
        asc_sample_input s = {.kind = 'f', .ndim = c->out[o].ndim};
        memcpy(s.shape, c->out[o].shape, sizeof s.shape);
        c->cotangent[o] = draw_tensor(c, &s, COTANGENT + (uint64_t)o);
    }
    return asc_error(c->ctx);
}

asc_tensor asc_check_redraw(const asc_check *c, int input)
{
    return draw_tensor(c, &c->form->in[c->owner[input]], (uint64_t)(REDRAWN + input));
}

double *asc_check_doubles(asc_check *c, int64_t n)
{
    return asc_data_mut(asc_zeros(c->ctx, ASC_F64, 1, &n));
}

/* ---- other forms of an input ---- */

/* A copy of t with these strides, `offset` elements into an array of `room`; the elements between are NaN. */
static asc_tensor copy_strided(asc_ctx *ctx, asc_tensor t, const int64_t *stride, int64_t offset, int64_t room)
{
    asc_array a = asc_array_of(t);
    asc_node *base = asc_node_of(asc_full(ctx, a.dtype, asc_is_floating(a.dtype) ? NAN : 0, 1, &room));
    if (!base) {
        return asc_null();
    }
    memcpy(a.stride, stride, sizeof a.stride);
    a.data = (char *)base->array.data + (size_t)offset * asc_dtype_size(a.dtype);
    asc_node *view = asc_node_new(ctx, &a);
    if (!view) {
        return asc_null();
    }
    view->storage = base->storage;
    asc_storage_ref(view->storage);
    asc_copy(ctx, asc_handle(view), t);
    return asc_handle(view);
}

asc_tensor asc_check_permuted(asc_ctx *ctx, asc_tensor t)
{
    asc_array a = asc_array_of(t);
    int64_t stride[ASC_MAX_DIMS] = {0}, room = 1;
    for (int d = 0; d < a.ndim; d++) {
        stride[d] = room;
        room *= a.shape[d];
    }
    return copy_strided(ctx, t, stride, 0, room);
}

asc_tensor asc_check_sliced(asc_ctx *ctx, asc_tensor t)
{
    asc_array a = asc_array_of(t);
    int64_t stride[ASC_MAX_DIMS] = {0}, step = 2;
    for (int d = a.ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= a.shape[d] + 1;
    }
    return copy_strided(ctx, t, stride, 1, step + 1);
}

/* The first dimension of more than one element, with a stride of 0; t itself if there is none. */
asc_tensor asc_check_expanded(asc_ctx *ctx, asc_tensor t)
{
    asc_array a = asc_array_of(t);
    int repeated = 0;
    while (repeated < a.ndim && a.shape[repeated] < 2) {
        repeated++;
    }
    if (repeated >= a.ndim || a.numel == 0) {
        return t;
    }
    int64_t stride[ASC_MAX_DIMS] = {0}, room = 1;
    for (int d = a.ndim - 1; d >= 0; d--) {
        stride[d] = d == repeated ? 0 : room;
        room *= d == repeated ? 1 : a.shape[d];
    }
    return copy_strided(ctx, t, stride, 0, room);
}

asc_tensor asc_check_expanded_copy(asc_ctx *ctx, asc_tensor t)
{
    asc_tensor expanded = asc_check_expanded(ctx, t);
    asc_array a = asc_array_of(expanded);
    asc_tensor copy = asc_empty(ctx, a.dtype, a.ndim, a.shape);
    asc_copy(ctx, copy, expanded);
    return copy;
}

asc_status asc_check_remake(asc_check *c, asc_tensor (*make)(asc_ctx *ctx, asc_tensor t), asc_check_inputs *inputs)
{
    for (int i = 0; i < c->n_in; i++) {
        bool own = c->owner[i] == i && !asc_is_null(c->inputs.at[i]);
        inputs->at[i] = own ? make(c->ctx, c->inputs.at[i]) : inputs->at[c->owner[i]];
    }
    return asc_error(c->ctx);
}

asc_tensor asc_check_f32(asc_ctx *ctx, asc_tensor t)
{
    asc_array a = asc_array_of(t);
    if (!asc_is_floating(a.dtype)) {
        return t;
    }
    asc_tensor single = asc_empty(ctx, ASC_F32, a.ndim, a.shape);
    asc_copy(ctx, single, t);
    return single;
}
