/* tests/ops/test_matmul.c: matmul, against the plainest loop. */
#include "tests/ops/values.h"

typedef struct matmul_case {
    int ndim[2];
    int64_t a[4], b[4]; /* as of op(A) and op(B) */
    int y_ndim;
    int64_t y[4];
    bool vectors; /* can't be transposed */
} matmul_case;

static const matmul_case cases[] = {
    {{2, 2}, {3, 4}, {4, 2}, 2, {3, 2}, false},
    {{3, 3}, {5, 3, 4}, {5, 4, 2}, 3, {5, 3, 2}, false},
    {{3, 2}, {5, 3, 4}, {4, 2}, 3, {5, 3, 2}, false},          /* one B */
    {{2, 3}, {3, 4}, {5, 4, 2}, 3, {5, 3, 2}, false},          /* one A */
    {{4, 3}, {2, 1, 3, 4}, {3, 4, 2}, 4, {2, 3, 3, 2}, false}, /* both repeated */
    {{4, 4}, {2, 3, 3, 4}, {1, 3, 4, 2}, 4, {2, 3, 3, 2}, false},
    {{3, 4}, {1, 1, 4}, {2, 2, 4, 1}, 4, {2, 2, 1, 1}, false},
    {{2, 2}, {33, 20}, {20, 47}, 2, {33, 47}, false},
    {{3, 3}, {40, 5, 4}, {40, 4, 3}, 3, {40, 5, 3}, false},
    {{1, 1}, {4}, {4}, 0, {0}, true},
    {{1, 3}, {4}, {5, 4, 2}, 2, {5, 2}, true},
    {{3, 1}, {5, 3, 4}, {4}, 2, {5, 3}, true},
    {{2, 2}, {3, 0}, {0, 2}, 2, {3, 2}, false},                /* a sum of nothing */
    {{3, 3}, {0, 3, 4}, {1, 4, 2}, 3, {0, 3, 2}, false},       /* no batches */
};
enum { CASES = sizeof cases / sizeof *cases };

/* Matrices of op(A), say, over all batches: element (i, j) of the matrix for batch `at` of y. */
typedef struct matrices {
    asc_tensor t;
    bool transposed;
    int64_t rows, columns, first; /* first: of the batch's elements */
} matrices;

static matrices matrices_of(asc_tensor t, bool transposed, bool column)
{
    int ndim = asc_ndim(t);
    matrices m = {.t = t, .transposed = transposed, .rows = asc_size(t, -2), .columns = asc_size(t, -1)};
    if (ndim == 1) {
        m.rows = column ? asc_size(t, 0) : 1;
        m.columns = column ? 1 : asc_size(t, 0);
    } else if (transposed) {
        m.rows = asc_size(t, -1);
        m.columns = asc_size(t, -2);
    }
    return m;
}

static int64_t element(const matrices *m, int64_t i, int64_t j)
{
    return m->first + (m->transposed ? j * m->rows + i : i * m->columns + j);
}

/* Moves m to the batch of this number, among batches of `shape`, that end `skip` dimensions before it does. */
static void go_to(matrices *m, int64_t batch, int batch_ndim, const int64_t *shape)
{
    int64_t at = 0, step = 1;
    for (int d = batch_ndim - 1, e = asc_ndim(m->t) - 3; e >= 0; d--, e--) {
        if (asc_size(m->t, e) > 1) {
            at += batch % shape[d] * step;
        }
        step *= asc_size(m->t, e);
        batch /= shape[d];
    }
    m->first = at * m->rows * m->columns;
}

static double sum[2][1000], magnitude[2][1000];

static void check_batch(const matrices *a, const matrices *b, asc_tensor y, asc_tensor dy, int64_t first)
{
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < b->columns; j++) {
            int64_t o = first + i * b->columns + j;
            double total = 0, scale = 0;
            for (int64_t k = 0; k < a->columns; k++) {
                int64_t p = element(a, i, k), q = element(b, k, j);
                double u = value(a->t, p), v = value(b->t, q), d = value(dy, o);
                total += u * v;
                scale += fabs(u * v);
                sum[0][p] += d * v;
                magnitude[0][p] += fabs(d * v);
                sum[1][q] += d * u;
                magnitude[1][q] += fabs(d * u);
            }
            expect_close(y, o, total, scale);
        }
    }
}

static void check_gradient(int which, asc_tensor t)
{
    for (int64_t i = 0; i < asc_numel(t); i++) {
        expect_close(asc_grad(t), i, sum[which][i], magnitude[which][i]);
    }
}

static asc_tensor leaf(asc_dtype dtype, uint64_t stream, int ndim, const int64_t *shape, bool transposed)
{
    int64_t stored[4];
    memcpy(stored, shape, sizeof stored);
    if (transposed) {
        stored[ndim - 2] = shape[ndim - 1];
        stored[ndim - 1] = shape[ndim - 2];
    }
    return random_leaf(dtype, stream, ndim, stored);
}

static void check_matmul(const matmul_case *c, asc_dtype dtype, bool ta, bool tb)
{
    asc_tensor a = leaf(dtype, 1, c->ndim[0], c->a, ta), b = leaf(dtype, 2, c->ndim[1], c->b, tb);
    asc_tensor y = asc_matmul_transposed(ctx, a, ta, b, tb);
    expect_shape(y, c->y_ndim, c->y);
    asc_tensor dy = run_backward(y);
    memset(sum, 0, sizeof sum);
    memset(magnitude, 0, sizeof magnitude);
    matrices ma = matrices_of(a, ta, false), mb = matrices_of(b, tb, true);
    int64_t size = ma.rows * mb.columns, batches = asc_numel(y) / (size > 0 ? size : 1);
    int batch_ndim = c->y_ndim - (c->ndim[0] > 1) - (c->ndim[1] > 1);
    for (int64_t i = 0; i < batches; i++) {
        go_to(&ma, i, batch_ndim, c->y);
        go_to(&mb, i, batch_ndim, c->y);
        check_batch(&ma, &mb, y, dy, i * size);
    }
    check_gradient(0, a);
    check_gradient(1, b);
}

START_TEST(products)
{
    const matmul_case *c = &cases[_i];
    for (int transposes = 0; transposes < (c->vectors ? 1 : 4); transposes++) {
        for (int i = 0; i < 2; i++) {
            check_matmul(c, floats[i], transposes & 1, transposes & 2);
        }
    }
}
END_TEST

START_TEST(gradients_add_up)
{
    asc_tensor a = random_leaf(ASC_F64, 1, ASC_SHAPE(3, 4, 4)), dy = random_leaf(ASC_F64, 3, ASC_SHAPE(3, 4, 4));
    double first = 0;
    for (int pass = 1; pass <= 3; pass++) {
        ck_assert_int_eq(asc_backward(ctx, asc_matmul(ctx, a, a), dy, false), ASC_OK);
        first = pass == 1 ? value(asc_grad(a), 20) : first;
        expect_close(asc_grad(a), 20, pass * first, 4);
    }
}
END_TEST

START_TEST(strided_inputs)
{
    asc_tensor a = random_leaf(ASC_F64, 1, ASC_SHAPE(4, 3)), b = random_leaf(ASC_F64, 2, ASC_SHAPE(4, 5));
    asc_tensor y = asc_matmul(ctx, asc_transpose(ctx, a, 0, 1), b), z = asc_matmul_transposed(ctx, a, true, b, false);
    no_error();
    ck_assert_int_eq(memcmp(asc_data(y), asc_data(z), 15 * sizeof(double)), 0);
}
END_TEST

/* Large enough for a product to be cut in pieces. */
static void run_large(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor a = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 400, 400)), b = random_leaf(ASC_F32, 2, ASC_SHAPE(2, 400, 400));
    result[0] = asc_matmul(ctx, a, b);
    run_backward(result[0]);
    result[1] = asc_grad(a);
    result[2] = asc_grad(b);
    asc_tensor ones = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 400, 1));
    asc_tensor total = asc_matmul(ctx, result[0], ones), other = asc_matmul(ctx, a, asc_matmul(ctx, b, ones));
    for (int64_t row = 0; row < 800; row++) {
        if (!(fabs(value(total, row) - value(other, row)) <= 0.05)) {
            ck_abort_msg("row %lld: (a b) 1 is %g, a (b 1) is %g", (long long)row, value(total, row),
                         value(other, row));
        }
    }
}

START_TEST(large_products)
{
    same_for_threads(run_large, 0);
}
END_TEST

START_TEST(flops_are_counted)
{
    asc_tensor a = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3, 4)), b = asc_zeros(ctx, ASC_F32, ASC_SHAPE(4, 5));
    asc_flops_reset(ctx);
    asc_matmul(ctx, a, b);
    ck_assert_double_eq(asc_flops(ctx), 2 * 2 * 3 * 4 * 5);
}
END_TEST

START_TEST(errors)
{
    asc_tensor a = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3, 4)), b = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 5));
    asc_tensor v = asc_zeros(ctx, ASC_F32, ASC_SHAPE(5)), c = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 4, 5));
    expect_failure(asc_matmul(ctx, a, b), "matmul: b is f32 (3, 5), expected (..., 4, n)");
    expect_failure(asc_matmul_transposed(ctx, a, false, b, true), "matmul: b is f32 (3, 5), expected (..., n, 4)");
    expect_failure(asc_matmul(ctx, a, v), "matmul: b is f32 (5), expected (4)");
    expect_failure(asc_matmul_transposed(ctx, v, true, b, false), "matmul: a is f32 (5), expected (..., k, m)");
    expect_failure(asc_matmul(ctx, a, c),
                   "matmul: b is f32 (3, 4, 5), expected leading dimensions that broadcast with those of (2, 3, 4)");
    expect_failure(asc_matmul(ctx, a, asc_scalar(ctx, ASC_F32, 1)), "matmul: b is f32 (), expected (..., k, n) or (k)");
    expect_failure(asc_matmul(ctx, a, asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 5))),
                   "matmul: b is f64 (4, 5), expected f32, as the first input");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("matmul");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, products, 0, CASES);
    tcase_add_test(t, gradients_add_up);
    tcase_add_test(t, strided_inputs);
    tcase_add_test(t, large_products);
    tcase_add_test(t, flops_are_counted);
    tcase_add_test(t, errors);
    return run_suite("ops/matmul", t);
}
