/* tests/kernels/test_gemm.c: a product in pieces is the whole one, and there are pieces for several threads, also in
 * the products of a batch's shards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm.h"
#include "tensor/dtype.h"
#include "tests/context.h"

static const struct {
    int64_t m, n, k;
    int64_t pieces; /* at least */
} sizes[] = {
    {1024, 256, 256, 4}, {256, 256, 1024, 4}, {256, 256, 1000, 4}, {512, 512, 200, 4}, {250, 270, 512, 1},
    {512, 256, 500, 4},  {1024, 256, 64, 2},  {255, 255, 1024, 1}, {16, 16, 16, 1},    {256, 256, 4096, 4},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void *filled(asc_dtype dtype, int64_t n)
{
    size_t size = asc_dtype_size(dtype);
    char *a = malloc((size_t)n * size);
    ck_assert_ptr_nonnull(a);
    for (int64_t i = 0; i < n; i++) {
        double x = (double)((i * 7919 + 13) % 1009) / 1009 - 0.5;
        float narrow = (float)x;
        memcpy(a + (size_t)i * size, dtype == ASC_F32 ? (const void *)&narrow : (const void *)&x, size);
    }
    return a;
}

static double at_of(asc_dtype dtype, const void *a, int64_t i)
{
    return dtype == ASC_F32 ? (double)((const float *)a)[i] : ((const double *)a)[i];
}

static void check_size(asc_dtype dtype, bool packs, bool ta, bool tb, int i)
{
    int64_t m = sizes[i].m, n = sizes[i].n, k = sizes[i].k;
    size_t bytes = (size_t)(m * n) * asc_dtype_size(dtype);
    void *a = filled(dtype, m * k), *b = filled(dtype, k * n), *c = malloc(bytes), *expected = malloc(bytes);
    ck_assert(c && expected);
    asc_gemm g = {.dtype = dtype, .packs = packs ? ctx : NULL, .ta = ta, .tb = tb, .m = m, .n = n, .k = k, .alpha = 1,
                  .a = a, .lda = ta ? m : k, .b = b, .ldb = tb ? k : n, .c = c, .ldc = n};
    ck_assert_int_eq(asc_gemm_parallel(ctx, &g), ASC_OK);
    ck_assert_msg(asc_gemm_pieces(&g) >= sizes[i].pieces, "%d pieces", (int)asc_gemm_pieces(&g));
    g.c = expected;
    asc_gemm_run(&g);
    for (int64_t at = 0; at < m * n; at++) { /* to rounding: a tile may add in another order */
        double got = at_of(dtype, c, at), whole = at_of(dtype, expected, at);
        if (!(fabs(got - whole) < 1e-3)) {
            ck_abort_msg("%d x %d x %d: %g, expected %g", (int)m, (int)n, (int)k, got, whole);
        }
    }
    free(a);
    free(b);
    free(c);
    free(expected);
}

START_TEST(pieces_are_the_whole)
{
    for (int turned = 0; turned < 4; turned++) {
        check_size(ASC_F32, false, turned & 1, turned & 2, _i);
        check_size(ASC_F32, true, turned & 1, turned & 2, _i);
        check_size(ASC_F64, false, turned & 1, turned & 2, _i);
    }
}
END_TEST

START_TEST(pieces_are_the_whole_in_bf16)
{
    ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_OK);
    check_size(ASC_F32, true, true, false, _i);
    check_size(ASC_F32, true, false, true, _i);
}
END_TEST

static double rounded(const float *x, int64_t i)
{
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bits = asc_bf16_bits(bits);
    float y;
    memcpy(&y, &bits, sizeof y);
    return (double)y;
}

/* Whatever the processor: AMX takes them so. */
START_TEST(small_operands_are_rounded)
{
    enum { M = 5, N = 7, K = 33 };
    ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_OK);
    bool ta = _i & 1, tb = _i & 2;
    float *a = filled(ASC_F32, M * K), *b = filled(ASC_F32, K * N), c[M * N];
    for (int i = 0; i < M * N; i++) {
        c[i] = (float)i;
    }
    asc_gemm_rounded(&(asc_gemm){.dtype = ASC_F32, .packs = ctx, .ta = ta, .tb = tb, .m = M, .n = N, .k = K, .alpha = 2,
                                 .a = a, .lda = ta ? M : K, .b = b, .ldb = tb ? K : N, .beta = 1, .c = c, .ldc = N},
                     asc_packed_kernel_active());
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = i * N + j;
            for (int l = 0; l < K; l++) {
                sum += 2 * rounded(a, ta ? l * M + i : i * K + l) * rounded(b, tb ? j * K + l : l * N + j);
            }
            ck_assert_double_eq_tol((double)c[i * N + j], sum, 1e-5);
        }
    }
    free(a);
    free(b);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("gemm");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, pieces_are_the_whole, 0, SIZES);
    tcase_add_loop_test(t, pieces_are_the_whole_in_bf16, 0, SIZES);
    tcase_add_loop_test(t, small_operands_are_rounded, 0, 4);
    return run_suite("kernels/gemm", t);
}
