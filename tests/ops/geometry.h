/* tests/ops/geometry.h: what the tests of distances, row_norm, the wedge and subspaces share. */
#ifndef TESTS_OPS_GEOMETRY_H
#define TESTS_OPS_GEOMETRY_H

#include "tests/ops/values.h"

/* A leaf of f(i) for element i, rounded to f32 in either dtype. */
static inline asc_tensor leaf_of(asc_dtype dtype, double (*f)(int64_t i), int ndim, const int64_t *shape)
{
    asc_tensor t = asc_empty(ctx, dtype, ndim, shape);
    for (int64_t i = 0; i < asc_numel(t); i++) {
        if (dtype == ASC_F32) {
            ((float *)asc_data_mut(t))[i] = (float)f(i);
        } else {
            ((double *)asc_data_mut(t))[i] = (float)f(i);
        }
    }
    ck_assert_int_eq(asc_require_grad(t, true), ASC_OK);
    return t;
}

static inline double noise(int64_t i)
{
    return sin((double)i * 12.9898 + 3) * 3 - sin((double)(i * i % 1009));
}

/* ---- sequences of pairs or tuples, to the bit ---- */

/* The op's output (B, N, 16) of z (B, N, 8) and, where it has one, of a memory like z; lengths may be null. */
typedef asc_tensor (*pairing)(asc_tensor z, asc_tensor memory, asc_tensor lengths);

/* The first t positions of x, and those of another sequence. */
static inline asc_tensor spliced(asc_tensor x, int64_t t, asc_tensor later)
{
    int64_t N = asc_size(x, 1);
    return asc_concat(ctx, (asc_tensor[]){asc_slice(ctx, x, 1, 0, t, 1), asc_slice(ctx, later, 1, t, N, 1)}, 2, 1);
}

static inline void expect_no_look_ahead(pairing call)
{
    enum { N = 600, R = 8, D = 16 };
    static const int64_t moments[] = {0, 1, 31, 32, 100, 255, 256, 401, 598};
    asc_tensor z = leaf_of(ASC_F32, noise, ASC_SHAPE(1, N, R)), m = random_leaf(ASC_F32, 7, ASC_SHAPE(1, N, R));
    asc_tensor before = call(z, m, asc_null());
    no_error();
    for (size_t k = 0; k < sizeof moments / sizeof *moments; k++) {
        int64_t t = moments[k] + 1;
        asc_tensor later = random_leaf(ASC_F32, 40 + k, ASC_SHAPE(1, N, R));
        asc_tensor after = call(spliced(z, t, later), spliced(m, t, later), asc_null());
        no_error();
        ck_assert_mem_eq(asc_data(before), asc_data(after), (size_t)(t * D) * sizeof(float));
        ck_assert(memcmp(asc_data(before), asc_data(after), N * D * sizeof(float)) != 0);
    }
}

/* What stands behind a sequence's length, NaN too, reaches nobody, and gets no gradient. */
static inline void expect_padding_unseen(pairing call)
{
    enum { N = 50, R = 8, D = 16 };
    int64_t lengths[] = {37, 0};
    asc_tensor grads[2], outs[2];
    for (int nan = 0; nan < 2; nan++) {
        asc_tensor z = leaf_of(ASC_F32, noise, ASC_SHAPE(2, N, R)), m = leaf_of(ASC_F32, noise, ASC_SHAPE(2, N, R));
        for (int64_t i = 0; i < 2 * N * R && nan; i++) {
            if (i / R % N >= lengths[i / R / N]) {
                ((float *)asc_data_mut(z))[i] = NAN;
                ((float *)asc_data_mut(m))[i] = NAN;
            }
        }
        outs[nan] = call(z, m, asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(2)));
        run_backward(outs[nan]);
        grads[nan] = asc_grad(z);
    }
    ck_assert_mem_eq(asc_data(outs[0]), asc_data(outs[1]), 2 * N * D * sizeof(float));
    ck_assert_mem_eq(asc_data(grads[0]), asc_data(grads[1]), 2 * N * R * sizeof(float));
    for (int64_t e = lengths[0] * D; e < 2 * N * D; e++) {
        expect_equal(outs[0], e, 0);
    }
    for (int64_t e = lengths[0] * R; e < 2 * N * R; e++) {
        expect_equal(grads[0], e, 0);
    }
}

#endif
