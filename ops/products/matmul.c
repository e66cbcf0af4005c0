/* ops/products/matmul.c: Y = op(A) op(B), op(M) = M or Mᵀ, over batches that broadcast.
 *
 *   d op(A) = dY op(B)ᵀ,  d op(B) = op(A)ᵀ dY,  summed over the batches along which an input was repeated.
 *
 * A vector is a matrix of one row as A, and of one column as B; Y lacks that dimension. */
#include "ops/shared/broadcast.h"

#include <string.h>

typedef struct matmul_attrs {
    bool transpose_a, transpose_b;
} matmul_attrs;

enum { A, B, Y, ARRAYS };

/* The products of a call: Y [batch, m, n], op(A) [batch, m, k], op(B) [batch, k, n]. */
typedef struct product {
    bool ta, tb;
    int64_t m, n, k;
    int64_t lda, ldb;
    int batch_dims;
    int64_t batch[ASC_MAX_DIMS];
    int64_t stride[ARRAYS][ASC_MAX_DIMS]; /* from batch to batch, in elements; 0 where repeated */
} product;

/* ---- shapes ---- */

/* The leading dimensions of a matrix array, without data. */
static asc_array batches_of(const asc_array *a)
{
    asc_array batches;
    asc_array_init(&batches, a->dtype, a->ndim > 2 ? a->ndim - 2 : 0, a->shape);
    return batches;
}

static int64_t matrix_size(const asc_array *a)
{
    int64_t size = 1;
    for (int d = a->ndim > 2 ? a->ndim - 2 : 0; d < a->ndim; d++) {
        size *= a->shape[d];
    }
    return size;
}

/* Rows and columns of op(M). */
static void matrix_shape(const asc_array *a, bool column, bool transpose, int64_t *rows, int64_t *columns)
{
    int64_t last = a->shape[a->ndim - 1];
    *rows = a->ndim > 1 ? a->shape[a->ndim - 2] : column ? last : 1;
    *columns = a->ndim == 1 && column ? 1 : last;
    if (transpose) {
        int64_t swap = *rows;
        *rows = *columns;
        *columns = swap;
    }
}

static void set_strides(product *p, int which, const asc_array *batches, int64_t size)
{
    asc_broadcast_strides(batches, p->batch_dims, p->batch, p->stride[which]);
    for (int d = 0; d < p->batch_dims; d++) {
        p->stride[which][d] *= size;
    }
}

/* Lays open a call whose inputs fit each other: after infer. */
static product product_of(const asc_call *call)
{
    const matmul_attrs *attrs = call->attrs;
    const asc_array *a = &call->in[A], *b = &call->in[B];
    product p = {.ta = attrs->transpose_a, .tb = attrs->transpose_b};
    int64_t inner;
    matrix_shape(a, false, p.ta, &p.m, &p.k);
    matrix_shape(b, true, p.tb, &inner, &p.n);
    p.lda = p.ta ? p.m : p.k;
    p.ldb = p.tb ? p.k : p.n;
    asc_array of_a = batches_of(a), of_b = batches_of(b), of_y;
    p.batch_dims = of_a.ndim > of_b.ndim ? of_a.ndim : of_b.ndim;
    for (int d = 0; d < p.batch_dims; d++) {
        int in_a = d - p.batch_dims + of_a.ndim, in_b = d - p.batch_dims + of_b.ndim;
        int64_t n = in_a < 0 ? 1 : of_a.shape[in_a];
        p.batch[d] = n == 1 && in_b >= 0 ? of_b.shape[in_b] : n;
    }
    asc_array_init(&of_y, a->dtype, p.batch_dims, p.batch);
    set_strides(&p, A, &of_a, matrix_size(a));
    set_strides(&p, B, &of_b, matrix_size(b));
    set_strides(&p, Y, &of_y, p.m * p.n);
    return p;
}

static bool batches_fit(const asc_array *a, const asc_array *b)
{
    for (int i = 3; i <= a->ndim && i <= b->ndim; i++) {
        int64_t n = a->shape[a->ndim - i], m = b->shape[b->ndim - i];
        if (n != m && n != 1 && m != 1) {
            return false;
        }
    }
    return true;
}

static asc_status check_inputs(asc_call *call)
{
    const matmul_attrs *attrs = call->attrs;
    const asc_array *a = &call->in[A], *b = &call->in[B];
    if (asc_expect_floating(call, A) || asc_expect_floating(call, B)) {
        return ASC_ERR_ARG;
    }
    if (a->ndim < (attrs->transpose_a ? 2 : 1)) {
        return asc_call_expect(call, A, attrs->transpose_a ? "(..., k, m)" : "(..., m, k) or (k)");
    }
    if (b->ndim < (attrs->transpose_b ? 2 : 1)) {
        return asc_call_expect(call, B, attrs->transpose_b ? "(..., n, k)" : "(..., k, n) or (k)");
    }
    int64_t rows, k, inner, columns;
    matrix_shape(a, false, attrs->transpose_a, &rows, &k);
    matrix_shape(b, true, attrs->transpose_b, &inner, &columns);
    if (inner != k) {
        const char *format = attrs->transpose_b ? "(..., n, %lld)" : b->ndim == 1 ? "(%lld)" : "(..., %lld, n)";
        return asc_call_expect(call, B, format, (long long)k);
    }
    if (!batches_fit(a, b)) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, B, "leading dimensions that broadcast with those of %s", asc_shape_text(a, text));
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    if (check_inputs(call)) {
        return ASC_ERR_ARG;
    }
    product p = product_of(call);
    int64_t shape[ASC_MAX_DIMS];
    int ndim = p.batch_dims;
    memcpy(shape, p.batch, sizeof shape);
    if (call->in[A].ndim > 1) {
        shape[ndim++] = p.m;
    }
    if (call->in[B].ndim > 1) {
        shape[ndim++] = p.n;
    }
    return asc_call_output(call, 0, call->in[A].dtype, ndim, shape);
}

/* ---- products ---- */

/* A sum over batches of products x y into each matrix of the target. The walk takes the dimensions of the target's
 * batches first, so that a target's `terms` products come in a row; its arrays: target, x, y. */
typedef struct job {
    asc_ctx *ctx;
    asc_walk walk;
    int64_t targets, terms;
    asc_gemm gemm; /* of the first matrices */
    bool one_by_one;
} job;

static const double big = 48e6; /* multiply-adds from which asc_gemm_parallel cuts a product in pieces */

static void run_target(void *arg, int64_t target, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t size = (int64_t)asc_dtype_size(j->gemm.dtype);
    asc_gemm g = j->gemm;
    asc_cursor c = asc_cursor_at(&j->walk, target * j->terms, j->terms);
    while (asc_cursor_next(&c)) {
        for (int64_t i = 0; i < c.n; i++) {
            g.c = (char *)j->gemm.c + (c.at[0] + i * c.step[0]) * size;
            g.a = (const char *)j->gemm.a + (c.at[1] + i * c.step[1]) * size;
            g.b = (const char *)j->gemm.b + (c.at[2] + i * c.step[2]) * size;
            if (j->one_by_one) {
                asc_gemm_parallel(j->ctx, &g);
            } else {
                asc_gemm_run(&g);
            }
            g.beta = 1;
        }
    }
}

/* out (+)= x y over the batches of p; out, x and y are order[] of its arrays, and gemm says the rest. */
static asc_status run_products(asc_call *call, const product *p, const int order[ARRAYS], const asc_array *out,
                               asc_gemm gemm)
{
    const int64_t *target = p->stride[order[0]];
    job j = {.ctx = call->ctx, .targets = 1, .terms = 1, .gemm = gemm};
    int64_t shape[ASC_MAX_DIMS], stride[ARRAYS][ASC_MAX_DIMS];
    int n = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (int d = 0; d < p->batch_dims; d++) {
            bool summed = target[d] == 0;
            if (summed == turn) {
                shape[n] = p->batch[d];
                for (int i = 0; i < ARRAYS; i++) {
                    stride[i][n] = p->stride[order[i]][d];
                }
                n++;
                *(summed ? &j.terms : &j.targets) *= p->batch[d];
            }
        }
    }
    j.walk = asc_walk_over(ARRAYS, (const int64_t *[]){stride[0], stride[1], stride[2]}, n, shape);
    j.one_by_one = j.targets == 1 || (double)gemm.m * (double)gemm.n * (double)gemm.k >= big;
    if (j.terms == 0 && gemm.beta == 0) {
        asc_clear(call->ctx, out->data, asc_array_bytes(out));
    } else if (!j.one_by_one) {
        asc_parallel(call->ctx, j.targets, run_target, &j);
    } else {
        for (int64_t i = 0; i < j.targets; i++) {
            run_target(&j, i, 0);
        }
    }
    return asc_error(call->ctx); /* asc_gemm_parallel takes memory */
}

/* One matrix B for all batches of A: one product of A's rows in all batches. */
static void fold_batches(product *p, const asc_call *call)
{
    if (!p->ta && batches_of(&call->in[B]).numel == 1 && p->k > 0) {
        p->m = call->in[A].numel / p->k;
        p->batch_dims = 0;
    }
}

static asc_status forward(asc_call *call)
{
    product p = product_of(call);
    fold_batches(&p, call);
    const asc_array *a = &call->in[A], *b = &call->in[B], *y = &call->out[0];
    asc_gemm g = {.dtype = y->dtype,
                  .packs = asc_packs(call->ctx),
                  .ta = p.ta,
                  .tb = p.tb,
                  .m = p.m,
                  .n = p.n,
                  .k = p.k,
                  .alpha = 1,
                  .a = a->data,
                  .lda = p.lda,
                  .b = b->data,
                  .ldb = p.ldb,
                  .c = y->data,
                  .ldc = p.n};
    return run_products(call, &p, (const int[]){Y, A, B}, y, g);
}

/* A is stored transposed where ta: then so is its gradient, op(B) dYᵀ. */
static asc_status add_da(asc_call *call, const product *p)
{
    const asc_array *b = &call->in[B], *dy = &call->grad_out[0], *da = &call->grad_in[A];
    asc_gemm g = {.dtype = dy->dtype,
                  .packs = asc_packs(call->ctx),
                  .k = p->n,
                  .alpha = 1,
                  .beta = !call->fresh[A],
                  .c = da->data,
                  .ldc = p->lda};
    if (p->ta) {
        g.ta = p->tb, g.m = p->k, g.a = b->data, g.lda = p->ldb;
        g.tb = true, g.n = p->m, g.b = dy->data, g.ldb = p->n;
        return run_products(call, p, (const int[]){A, B, Y}, da, g);
    }
    g.ta = false, g.m = p->m, g.a = dy->data, g.lda = p->n;
    g.tb = !p->tb, g.n = p->k, g.b = b->data, g.ldb = p->ldb;
    return run_products(call, p, (const int[]){A, Y, B}, da, g);
}

static asc_status add_db(asc_call *call, const product *p)
{
    const asc_array *a = &call->in[A], *dy = &call->grad_out[0], *db = &call->grad_in[B];
    asc_gemm g = {.dtype = dy->dtype,
                  .packs = asc_packs(call->ctx),
                  .k = p->m,
                  .alpha = 1,
                  .beta = !call->fresh[B],
                  .c = db->data,
                  .ldc = p->ldb};
    if (p->tb) {
        g.ta = true, g.m = p->n, g.a = dy->data, g.lda = p->n;
        g.tb = p->ta, g.n = p->k, g.b = a->data, g.ldb = p->lda;
        return run_products(call, p, (const int[]){B, Y, A}, db, g);
    }
    g.ta = !p->ta, g.m = p->k, g.a = a->data, g.lda = p->lda;
    g.tb = false, g.n = p->n, g.b = dy->data, g.ldb = p->n;
    return run_products(call, p, (const int[]){B, A, Y}, db, g);
}

static asc_status backward(asc_call *call)
{
    product p = product_of(call);
    fold_batches(&p, call);
    asc_status status = call->grad_in[A].data ? add_da(call, &p) : ASC_OK;
    return status == ASC_OK && call->grad_in[B].data ? add_db(call, &p) : status;
}

static double flops(const asc_call *call)
{
    return 2.0 * (double)call->out[0].numel * (double)product_of(call).k;
}

static const matmul_attrs plain = {0}, transpose_a = {.transpose_a = true}, transpose_b = {.transpose_b = true},
                          transpose_both = {true, true};

static const asc_sample samples[] = {
    {.in = {{'f', 2, {3, 4}}, {'f', 2, {4, 2}}}, .attrs = &plain},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 3, {2, 4, 5}}}, .attrs = &plain, .note = "batches"},
    {.in = {{'f', 3, {2, 4, 3}}, {'f', 3, {2, 4, 5}}}, .attrs = &transpose_a, .note = "Aᵀ"},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 3, {2, 5, 4}}}, .attrs = &transpose_b, .note = "Bᵀ"},
    {.in = {{'f', 3, {2, 4, 3}}, {'f', 3, {2, 5, 4}}}, .attrs = &transpose_both, .note = "both"},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 2, {4, 5}}}, .attrs = &plain, .note = "one B"},
    {.in = {{'f', 3, {2, 4, 3}}, {'f', 2, {5, 4}}}, .attrs = &transpose_both, .note = "one B, both"},
    {.in = {{'f', 4, {2, 1, 3, 2}}, {'f', 3, {3, 2, 2}}}, .attrs = &plain, .note = "both repeated"},
    {.in = {{'f', 4, {2, 1, 2, 3}}, {'f', 3, {3, 2, 2}}}, .attrs = &transpose_a, .note = "both repeated, Aᵀ"},
    {.in = {{'f', 1, {4}}, {'f', 3, {2, 4, 3}}}, .attrs = &plain, .note = "a vector and matrices"},
    {.in = {{'f', 3, {2, 3, 4}}, {'f', 1, {4}}}, .attrs = &plain, .note = "matrices and a vector"},
    {.in = {{'f', 1, {4}}, {'f', 1, {4}}}, .attrs = &plain, .note = "two vectors"},
    {.in = {{'f', 2, {3, 3}}, {'=', .lo = 0}}, .attrs = &transpose_b, .note = "the same tensor twice"},
    {.in = {{'f', 2, {3, 0}}, {'f', 2, {0, 2}}}, .attrs = &plain, .note = "a sum of nothing"},
    {.in = {{'f', 3, {0, 2, 3}}, {'f', 3, {1, 3, 2}}}, .attrs = &plain, .note = "no batches"},
};

const asc_op asc_op_matmul = {
    .abi = ASC_OP_ABI,
    .name = "matmul",
    .equation = "Y = op(A) op(B), op(M) = M or Mᵀ;  A (..., m, k), B (..., k, n), leading dimensions broadcast",
    .inputs = "a b",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(matmul_attrs),
    .saves_in = 1u << A | 1u << B,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 64}}, {'f', 4, {32, 4, 128, 64}}}, .attrs = &transpose_b},
};

asc_tensor asc_matmul(asc_ctx *ctx, asc_tensor a, asc_tensor b)
{
    return asc_apply1(ctx, &asc_op_matmul, (asc_tensor[]){a, b}, 2, &plain);
}

asc_tensor asc_matmul_transposed(asc_ctx *ctx, asc_tensor a, bool ta, asc_tensor b, bool tb)
{
    return asc_apply1(ctx, &asc_op_matmul, (asc_tensor[]){a, b}, 2, &(matmul_attrs){ta, tb});
}
