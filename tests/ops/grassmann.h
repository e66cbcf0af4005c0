/* tests/ops/grassmann.h: Grassmann mixing's definition, composed of plucker_wedge and other primitive ops, and the
 * comparison of the op grassmann with it. */
#ifndef TESTS_OPS_GRASSMANN_H
#define TESTS_OPS_GRASSMANN_H

#include "tests/ops/geometry.h"

/* ---- the definition ---- */

enum { MOST_PAIRS = 2 * ASC_WEDGE_OFFSETS + 1 };

typedef struct inputs {
    asc_tensor z, weight, bias, offset_weight, memory, lengths; /* the last four may be null */
} inputs;

typedef struct pair {
    int64_t shift;
    bool memory;
} pair;

static int list_pairs(const asc_grassmann_options *o, bool memory, pair *pairs)
{
    int n = 0;
    for (int l = 0; l < o->n_offsets; l++) {
        if (o->direction != ASC_DIRECTION_FUTURE) {
            pairs[n++] = (pair){-o->offsets[l], false};
        }
        if (o->direction != ASC_DIRECTION_PAST) {
            pairs[n++] = (pair){o->offsets[l], false};
        }
    }
    if (memory) {
        pairs[n++] = (pair){0, true};
    }
    return n;
}

static bool has_pair(const inputs *in, pair p, int64_t b, int64_t t)
{
    int64_t end = asc_size(in->z, 1), other = t + p.shift;
    if (!asc_is_null(in->lengths)) {
        end = (int64_t)fmin((double)end, value(in->lengths, b));
    }
    return t < end && other >= 0 && other < end && !(p.memory && t == 0);
}

/* u8 (B, N, pairs): which pairs there are. */
static asc_tensor valid_pairs(const inputs *in, const pair *pairs, int n)
{
    int64_t B = asc_size(in->z, 0), N = asc_size(in->z, 1);
    asc_tensor mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(B, N, n));
    for (int64_t e = 0; e < B * N * n; e++) {
        ((uint8_t *)asc_data_mut(mask))[e] = has_pair(in, pairs[e % n], e / n / N, e / n % N);
    }
    return mask;
}

/* c (B, N, pairs). */
static asc_tensor weights(const inputs *in, const asc_grassmann_options *o, asc_tensor mask, int n)
{
    int64_t B = asc_size(in->z, 0), N = asc_size(in->z, 1);
    if (!asc_is_null(in->offset_weight)) {
        asc_tensor w = asc_reshape(ctx, in->offset_weight, ASC_SHAPE(1, 1, n));
        return asc_softmax(ctx, asc_expand(ctx, w, ASC_SHAPE(B, N, n)), mask);
    }
    asc_tensor zero = asc_zeros(ctx, asc_dtype_of(in->z), ASC_SHAPE(B, N, n));
    asc_tensor all = asc_full(ctx, asc_dtype_of(in->z), 1, ASC_SHAPE(B, N, n));
    return o->sum ? asc_where(ctx, mask, all, zero) : asc_softmax(ctx, zero, mask);
}

/* W p̂ + b of the vectors u and v (B, M, r), group by group. */
static asc_tensor project(const inputs *in, const asc_grassmann_options *o, asc_tensor u, asc_tensor v)
{
    int64_t groups = o->groups, width = asc_size(in->z, 2) / groups;
    asc_tensor part[8];
    for (int64_t k = 0; k < groups; k++) {
        part[k] = asc_plucker_wedge(ctx, asc_slice(ctx, u, 2, k * width, (k + 1) * width, 1),
                                    asc_slice(ctx, v, 2, k * width, (k + 1) * width, 1), o->eps, o->eps_rel);
    }
    asc_tensor p = groups == 1 ? part[0] : asc_concat(ctx, part, (int)groups, 2);
    if (o->rms) {
        p = asc_scale(ctx, p, sqrt((double)asc_size(in->weight, 1)));
    }
    return asc_linear(ctx, p, in->weight, in->bias);
}

/* The term of a pair at every position, (B, N, D); anything where there is no such pair. */
static asc_tensor term(const inputs *in, const asc_grassmann_options *o, pair p)
{
    int64_t N = asc_size(in->z, 1), far = llabs(p.shift);
    if (p.memory) {
        asc_tensor memory = asc_pad(ctx, in->memory, 3, (int64_t[]){0, o->skip, 0}, (int64_t[]){0, 0, 0}, 0);
        return project(in, o, in->z, memory);
    }
    if (far >= N) {
        return asc_zeros(ctx, asc_dtype_of(in->z), ASC_SHAPE(asc_size(in->z, 0), N, asc_size(in->weight, 0)));
    }
    asc_tensor early = asc_slice(ctx, in->z, 1, 0, N - far, 1), late = asc_slice(ctx, in->z, 1, far, N, 1);
    bool past = p.shift < 0;
    asc_tensor y = project(in, o, past ? late : early, past ? early : late);
    return asc_pad(ctx, y, 3, (int64_t[]){0, past ? far : 0, 0}, (int64_t[]){0, past ? 0 : far, 0}, 0);
}

static asc_tensor composed(const inputs *in, const asc_grassmann_options *o)
{
    pair pairs[MOST_PAIRS];
    int n = list_pairs(o, !asc_is_null(in->memory), pairs);
    asc_tensor c = weights(in, o, valid_pairs(in, pairs, n), n), g = asc_null();
    for (int p = 0; p < n; p++) {
        asc_tensor part = asc_mul(ctx, asc_slice(ctx, c, 2, p, p + 1, 1), term(in, o, pairs[p]));
        g = p == 0 ? part : asc_add(ctx, g, part);
    }
    return asc_slice(ctx, g, 1, o->skip, ASC_SLICE_END, 1);
}

static asc_tensor fused(const inputs *in, const asc_grassmann_options *o)
{
    return asc_grassmann(ctx, in->z, in->weight, in->bias, in->offset_weight, in->memory, in->lengths, o);
}

/* ---- both, compared ---- */

static void expect_same(asc_tensor got, asc_tensor expected, double scale, const char *what, int seed)
{
    double tolerance = (asc_dtype_of(got) == ASC_F32 ? 2e-6 : 2e-12) * scale;
    for (int64_t i = 0; i < asc_numel(got); i++) {
        double x = value(got, i), y = value(expected, i);
        if (!(fabs(x - y) <= tolerance * (1 + fabs(y)))) {
            ck_abort_msg("seed %d, %s[%lld]: %.12g, expected %.12g", seed, what, (long long)i, x, y);
        }
    }
}

static double largest(asc_tensor t)
{
    double most = 0;
    for (int64_t i = 0; i < asc_numel(t); i++) {
        most = fmax(most, fabs(value(t, i)));
    }
    return most;
}

/* Copies of the leaves' gradients, null where there is none, which are cleared. */
static void take_gradients(const asc_tensor *leaf, asc_tensor *grad, int n)
{
    for (int i = 0; i < n; i++) {
        asc_tensor g = asc_is_null(leaf[i]) ? asc_null() : asc_grad(leaf[i]);
        grad[i] = asc_is_null(g) ? g : asc_scale(ctx, asc_detach(ctx, g), 1);
        asc_zero_grad(leaf[i]);
    }
}

/* Values, and gradients from one cotangent. Where no leaf has a part in the definition, because there are no pairs, the
 * gradients are 0. */
static void compare(const inputs *in, const asc_grassmann_options *o, int seed)
{
    static const char *const names[] = {"z", "weight", "bias", "offset_weight", "memory"};
    const asc_tensor leaf[] = {in->z, in->weight, in->bias, in->offset_weight, in->memory};
    asc_tensor y = fused(in, o), expected = composed(in, o), got[5], grad[5];
    no_error();
    ck_assert_int_eq(asc_size(y, 1), asc_size(in->z, 1) - o->skip);
    expect_same(y, expected, 1, "g", seed);
    asc_tensor cotangent = random_leaf(asc_dtype_of(y), 77, asc_ndim(y), asc_shape(y));
    if (asc_requires_grad(expected)) {
        asc_backward(ctx, expected, cotangent, false);
    }
    take_gradients(leaf, grad, 5);
    asc_backward(ctx, y, cotangent, false);
    take_gradients(leaf, got, 5);
    no_error();
    for (int i = 0; i < 5; i++) {
        if (!asc_is_null(grad[i])) {
            expect_same(got[i], grad[i], 1 + largest(grad[i]), names[i], seed);
        } else if (!asc_is_null(leaf[i])) {
            ck_assert_double_eq(largest(got[i]), 0);
        }
    }
}

#endif
