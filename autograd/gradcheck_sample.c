/* autograd/gradcheck_sample.c: inputs and cotangents for the gradient check. */
#include <math.h>
#include <string.h>

#include "autograd/gradcheck.h"
#include "tensor/random.h"

/* Streams of random numbers: of a sample's inputs, from COTANGENT on of its outputs, from REDRAWN on of its inputs' other
 * values. */
enum { STREAMS = 64, COTANGENT = 24, REDRAWN = 32 };

static uint64_t stream_of(const asc_check *c, int number)
{
    return (uint64_t)c->sample * STREAMS + (uint64_t)number;
}

/* ---- values ---- */

static bool is_real(char kind)
{
    return kind == 'f' || kind == 'u';
}

/* How far from the ends of its domain a uniform real stays, so that steps do not leave it. */
static double margin(const asc_sample_input *s)
{
    return s->kind == 'u' ? (s->hi - s->lo) / 16 : 0;
}

static double draw_real(const asc_sample_input *s, uint64_t seed, uint64_t stream, uint64_t i)
{
    double lo = s->lo + margin(s), hi = s->hi - margin(s);
    double x = s->kind == 'u' ? lo + (hi - lo) * asc_random_uniform(seed, stream, i)
                              : asc_random_normal(seed, stream, i);
    double off = x - s->kink;
    if (fabs(off) < s->away) {
        double moved = copysign(s->away + fabs(off), off);
        bool outside = s->kind == 'u' && (s->kink + moved < lo || s->kink + moved > hi);
        x = s->kink + (outside ? -moved : moved);
    }
    return (float)x;
}

static double draw(const asc_sample_input *s, uint64_t seed, uint64_t stream, uint64_t i)
{
    if (is_real(s->kind)) {
        return draw_real(s, seed, stream, i);
    }
    double u = asc_random_uniform(seed, stream, i);
    return s->kind == 'i' ? s->lo + floor(u * (s->hi - s->lo)) : u < (s->hi > 0 ? s->hi : 0.5);
}

static asc_tensor draw_tensor(const asc_check *c, const asc_sample_input *s, int number)
{
    asc_dtype dtype = is_real(s->kind) ? ASC_F64 : s->kind == 'i' ? ASC_I64 : ASC_U8;
    asc_tensor t = asc_empty(c->ctx, dtype, s->ndim, s->shape);
    void *data = asc_data_mut(t);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        double v = draw(s, c->options.seed, stream_of(c, number), (uint64_t)i);
        if (dtype == ASC_F64) {
            ((double *)data)[i] = v;
        } else if (dtype == ASC_I64) {
            ((int64_t *)data)[i] = (int64_t)v;
        } else {
            ((uint8_t *)data)[i] = (uint8_t)v;
        }
    }
    return t;
}

static double largest_step(const asc_sample_input *s)
{
    double h = 0x1p-5;
    if (margin(s) > 0) {
        h = fmin(h, margin(s));
    }
    if (s->away > 0) {
        h = fmin(h, s->away / 2);
    }
    return exp2(floor(log2(h)));
}

/* ---- a sample ---- */

static asc_status sample_input(asc_check *c, int i)
{
    const asc_sample_input *s = &c->form->in[i];
    c->owner[i] = i;
    if (s->kind == 0) {
        return ASC_OK;
    }
    if (s->kind == '=') {
        if (s->lo < 0 || s->lo >= i) {
            return asc_fail(c->ctx, ASC_ERR_ARG, "gradcheck: %s: sample %d: input %d is to be the same as input %g, "
                            "expected one before it", c->op->name, c->sample, i, s->lo);
        }
        c->owner[i] = c->owner[(int)s->lo];
        c->inputs.at[i] = c->inputs.at[c->owner[i]];
        return ASC_OK;
    }
    if (!strchr("fuib", s->kind)) {
        return asc_fail(c->ctx, ASC_ERR_ARG, "gradcheck: %s: sample %d: input %d has kind '%c', expected f, u, i, b "
                        "or =", c->op->name, c->sample, i, s->kind);
    }
    c->inputs.at[i] = draw_tensor(c, s, i);
    c->step[i] = largest_step(s);
    c->leaves |= is_real(s->kind) ? 1u << i : 0;
    return asc_error(c->ctx);
}

asc_status asc_check_sample_inputs(asc_check *c)
{
    const asc_sample *sample = c->form;
    for (int i = 0; i < ASC_MAX_IN; i++) {
        c->n_in = sample->in[i].kind ? i + 1 : c->n_in;
    }
    for (int i = 0; i < c->n_in; i++) {
        asc_status status = sample_input(c, i);
        if (status) {
            return status;
        }
        c->grad_at[i + 1] = c->grad_at[i] + (c->leaves >> i & 1 ? asc_numel(c->inputs.at[i]) : 0);
    }
    return ASC_OK;
}

asc_status asc_check_sample_cotangents(asc_check *c)
{
    for (int o = 0; o < c->op->n_out; o++) {
        if (!(c->roots >> o & 1)) {
            continue;
        }
        asc_sample_input s = {.kind = 'f', .ndim = c->out[o].ndim};
        memcpy(s.shape, c->out[o].shape, sizeof s.shape);
        c->cotangent[o] = draw_tensor(c, &s, COTANGENT + o);
    }
    return asc_error(c->ctx);
}

asc_tensor asc_check_redraw(const asc_check *c, int input)
{
    return draw_tensor(c, &c->form->in[c->owner[input]], REDRAWN + input);
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
