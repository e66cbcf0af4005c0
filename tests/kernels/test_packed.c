/* tests/kernels/test_packed.c: rounding to bfloat16, and products of such operands, and of floats, by every set of
 * instructions that the processor has; AMX by tiles written in C, which are the oracle of the real ones, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/packed.h"
#include "tensor/random.h"
#include "tests/kernels/tiles.h"
#include "tests/suite.h"

enum { LARGEST = 100 };

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The kernels to be tested: those that the processor runs, and the emulated tiles. */
static const asc_packed_kernel *kernel_at(int i)
{
    return i < ASC_BF16_COUNT ? i <= (int)asc_bf16_best() ? asc_packed_kernel_of((enum asc_bf16)i) : NULL : &tiles_in_c;
}

enum { KERNELS = ASC_BF16_COUNT + 1 };

static bool adds_by_tiles(int i)
{
    return i >= ASC_BF16_AMX;
}

/* ---- rounding ---- */

/* x as a kernel packs it, read back. */
static uint32_t packed(const asc_packed_kernel *kernel, float x)
{
    _Alignas(64) unsigned char room[4096];
    uint32_t bits = 0;
    kernel->pack_rows(room, &x, 1, false, 1, 1);
    memcpy((unsigned char *)&bits + (kernel->element == 2 ? 2 : 0), room, kernel->element);
    return bits;
}

START_TEST(rounding)
{
    static const struct {
        uint32_t x, y;
    } cases[] = {
        {0x00000000, 0x00000000}, {0x80000000, 0x80000000}, {0x3f800000, 0x3f800000},
        {0x3f808000, 0x3f800000}, /* a tie, to even: down, and up; just above and below */
        {0x3f818000, 0x3f820000}, {0x3f808001, 0x3f810000}, {0x3f817fff, 0x3f810000},
        {0xbf818000, 0xbf820000}, {0x3fffffff, 0x40000000},                           /* into the next power of two */
        {0x7f7f7fff, 0x7f7f0000}, {0x7f7f8000, 0x7f800000}, {0xff7fffff, 0xff800000}, /* what is too large */
        {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000}, {0x00800000, 0x00800000},
        {0x007fffff, 0x00000000}, {0x807fffff, 0x80000000}, {0x00000001, 0x00000000},
        {0x80000001, 0x80000000}, /* subnormals */
    };
    const asc_packed_kernel *kernel = kernel_at(_i);
    for (size_t i = 0; kernel && i < sizeof cases / sizeof *cases; i++) {
        uint32_t y = packed(kernel, of_bits(cases[i].x));
        ck_assert_msg(y == cases[i].y, "%08x: %08x, expected %08x", cases[i].x, y, cases[i].y);
    }
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0x7f80ffff};
    for (size_t i = 0; kernel && i < sizeof nans / sizeof *nans; i++) {
        uint32_t y = packed(kernel, of_bits(nans[i]));
        ck_assert_msg(isnan(of_bits(y)), "%08x: %08x, expected a NaN", nans[i], y);
    }
}
END_TEST

/* Every exponent, with mantissas round about the ties: all kernels pack the bits that plain C packs, and round to them
 * without packing; what is widened has them. */
START_TEST(kernels_round_alike)
{
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { LOWS = sizeof low / sizeof *low };
    const asc_packed_kernel *plain = kernel_at(ASC_BF16_PLAIN), *kernel = kernel_at(_i);
    for (uint32_t high = 0; kernel && high < 0x10000; high += 3) {
        float x[LOWS], wide[LOWS];
        uint16_t halves[LOWS];
        for (int i = 0; i < LOWS; i++) {
            x[i] = of_bits(high << 16 | low[i]);
        }
        kernel->rounding.round(halves, x, LOWS);
        kernel->rounding.widen(wide, halves, LOWS);
        for (int i = 0; i < LOWS; i++) {
            uint32_t want = packed(plain, x[i]), half = (uint32_t)halves[i] << 16;
            if (packed(kernel, x[i]) != want || half != want || bits_of(wide[i]) != want) {
                ck_abort_msg("%08x: %08x, %08x, %08x, expected %08x", bits_of(x[i]), packed(kernel, x[i]), half,
                             bits_of(wide[i]), want);
            }
        }
    }
}
END_TEST

/* ---- products ---- */

/* As `rounding` has found that kernels do it. */
static float rounded(float x)
{
    return of_bits(asc_bf16_bits(bits_of(x)));
}

/* op(A)'s row i with op(B)'s column j, rounded, in a vector each, filled up with zeros. */
typedef struct vectors {
    float a[LARGEST + 32], b[LARGEST + 32];
} vectors;

/* The sum in the order that kernels/packed.h states, from what it begins with. */
static float sum_in_order(const vectors *v, int64_t k, bool by_tiles, float base)
{
    float sum = by_tiles ? base : 0;
    for (int64_t l = 0; l < k && !by_tiles; l += 2) {
        sum = flushed(fmaf(v->a[l + 1], v->b[l + 1], sum));
        sum = flushed(fmaf(v->a[l], v->b[l], sum));
    }
    for (int64_t l = 0; l < k && by_tiles; l += 32) {
        float even = 0, odd = 0;
        for (int64_t m = l; m < l + 32; m += 2) {
            even = flushed(fmaf(v->a[m], v->b[m], even));
            odd = flushed(fmaf(v->a[m + 1], v->b[m + 1], odd));
        }
        sum = flushed(sum + flushed(even + odd));
    }
    return by_tiles ? sum : base + sum;
}

/* C = op(A) op(B) of numbers on [-1, 1). */
typedef struct product {
    bool ta, tb;
    int64_t m, n, k;
    float a[LARGEST * LARGEST], b[LARGEST * LARGEST], c[LARGEST * LARGEST], bias[LARGEST];
} product;

static void fill(float *x, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(2 * asc_random_uniform(7, stream, (uint64_t)i) - 1);
    }
}

static product *new_product(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    product *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    p->ta = ta;
    p->tb = tb;
    p->m = m;
    p->n = n;
    p->k = k;
    fill(p->a, m * k, 1);
    fill(p->b, k * n, 2);
    fill(p->c, m * n, 3);
    fill(p->bias, n, 4);
    return p;
}

static void run_kernel(const asc_packed_kernel *kernel, product *p, float alpha, bool add, const float *bias)
{
    int64_t depth = (p->k + kernel->unit - 1) / kernel->unit * kernel->unit;
    size_t rows = (size_t)(p->m + kernel->rows) * (size_t)depth * kernel->element;
    size_t columns = (size_t)(p->n + kernel->columns) * (size_t)depth * kernel->element;
    void *a = aligned_alloc(64, (rows + 63) / 64 * 64), *b = aligned_alloc(64, (columns + 63) / 64 * 64);
    ck_assert(a && b);
    kernel->pack_rows(a, p->a, p->ta ? p->m : p->k, p->ta, p->m, p->k);
    kernel->pack_panels(b, p->b, p->tb ? p->k : p->n, p->tb, p->k, p->n);
    kernel->multiply(&(asc_packed_product){.m = p->m,
                                           .n = p->n,
                                           .k = p->k,
                                           .a = a,
                                           .b = b,
                                           .alpha = alpha,
                                           .add = add,
                                           .bias = bias,
                                           .c = p->c,
                                           .ldc = p->n});
    free(a);
    free(b);
}

static vectors vectors_of(const product *p, int64_t i, int64_t j)
{
    vectors v = {0};
    for (int64_t l = 0; l < p->k; l++) {
        v.a[l] = rounded(p->a[p->ta ? l * p->m + i : i * p->k + l]);
        v.b[l] = rounded(p->b[p->tb ? j * p->k + l : l * p->n + j]);
    }
    return v;
}

/* `base` [m, n], of rows `ld` apart, or NULL. */
static void check_sums(int kernel, const product *p, const float *base, int64_t ld)
{
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            vectors v = vectors_of(p, i, j);
            float start = base ? base[i * ld + j] : 0, got = p->c[i * p->n + j];
            float want = sum_in_order(&v, p->k, adds_by_tiles(kernel), start);
            if (bits_of(got) != bits_of(want)) { /* Check writes for every assertion: too slow here */
                ck_abort_msg("kernel %d, %d×%d×%d, element (%d, %d): %.9g, expected %.9g", kernel, (int)p->m, (int)p->n,
                             (int)p->k, (int)i, (int)j, (double)got, (double)want);
            }
        }
    }
}

static const int64_t sizes[][3] = {{1, 1, 1},    {2, 3, 2},    {5, 7, 3},    {12, 32, 16}, {13, 33, 31},
                                   {16, 31, 32}, {17, 16, 33}, {25, 65, 64}, {48, 20, 70}, {33, 96, 100}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Element by element the bits of the stated order, of operands stored either way. */
START_TEST(sums_in_the_stated_order)
{
    for (int i = 0; i < KERNELS; i++) {
        const int64_t *size = sizes[_i / 4];
        product *p = new_product(size[0], size[1], size[2], _i & 1, _i & 2);
        if (kernel_at(i)) {
            run_kernel(kernel_at(i), p, 1, false, NULL);
            check_sums(i, p, NULL, 0);
            run_kernel(kernel_at(i), p, 1, false, p->bias);
            check_sums(i, p, p->bias, 0);
            product *before = new_product(size[0], size[1], size[2], _i & 1, _i & 2);
            memcpy(p->c, before->c, sizeof p->c);
            run_kernel(kernel_at(i), p, 1, true, NULL);
            check_sums(i, p, before->c, size[1]);
            free(before);
        }
        free(p);
    }
}
END_TEST

/* Packed rows, turned, are the rows of the transposed matrix, some of them or all, also of the 16 that fill up. */
START_TEST(rows_turn)
{
    const asc_packed_kernel *kernel = kernel_at(_i);
    for (int s = 0; s < SIZES && kernel; s++) {
        int64_t rows = sizes[s][0], k = sizes[s][1], wide = (k + 31) / 32 * 32, high = (rows + 31) / 32 * 32;
        product *p = new_product(rows, 1, k, false, false);
        size_t bytes = (size_t)(wide * high) * kernel->element;
        char *packed = aligned_alloc(64, bytes), *want = aligned_alloc(64, bytes), *got = aligned_alloc(64, bytes);
        ck_assert(packed && want && got);
        memset(packed, 0xff, bytes);
        memset(want, 0, bytes);
        memset(got, 0, bytes);
        kernel->pack_rows(packed, p->a, k, false, rows, k);
        kernel->pack_rows(want, p->a, k, true, k, rows);
        int64_t depth = (rows + kernel->unit - 1) / kernel->unit * kernel->unit;
        for (int64_t first = 0; first < k; first += 32) {
            kernel->turn_rows(got + (size_t)(first * depth) * kernel->element, packed, rows, k, first, 32);
        }
        ck_assert_mem_eq(got, want, (size_t)(k * depth) * kernel->element);
        free(packed);
        free(want);
        free(got);
        free(p);
    }
}
END_TEST

/* What is added to what: C, a bias, nothing, with a factor. */
START_TEST(bases_and_factors)
{
    for (int i = 0; i < KERNELS; i++) {
        for (int base = 0; base < 3 && kernel_at(i); base++) {
            product *sum = new_product(14, 35, 20, false, true), *p = new_product(14, 35, 20, false, true);
            run_kernel(kernel_at(i), sum, 1, false, NULL);
            run_kernel(kernel_at(i), p, .3f, base == 1, base == 2 ? p->bias : NULL);
            const product *before = new_product(14, 35, 20, false, true);
            for (int64_t e = 0; e < 14 * 35; e++) {
                float scaled = .3f * sum->c[e];
                float want = base == 0 ? scaled : (base == 1 ? before->c[e] : p->bias[e % 35]) + scaled;
                ck_assert_uint_eq(bits_of(p->c[e]), bits_of(want));
            }
            free((void *)before);
            free(p);
            free(sum);
        }
    }
}
END_TEST

/* |Ĉ - C| <= (2·2^-8 + 2^-16 + k 2^-23) Σ |a b|, C in double of the operands as they are (Higham 2002, 3.1). */
START_TEST(error_against_double)
{
    for (int i = 0; i < KERNELS; i++) {
        product *p = new_product(20, 40, 100, false, false);
        if (kernel_at(i)) {
            run_kernel(kernel_at(i), p, 1, false, NULL);
        }
        for (int64_t e = 0; e < 20 * 40 && kernel_at(i); e++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < 100; l++) {
                double term = (double)p->a[e / 40 * 100 + l] * (double)p->b[l * 40 + e % 40];
                sum += term;
                size += fabs(term);
            }
            ck_assert_double_le(fabs((double)p->c[e] - sum), (0x1p-7 + 0x1p-16 + 100 * 0x1p-23) * size);
        }
        free(p);
    }
}
END_TEST

/* ---- floats as they are ---- */

/* C, from a base and with a factor, in double; |Ĉ - C| <= (k + 2) 2^-24 Σ |a b| and what the base's sum rounds. */
static void check_floats(const product *p, float alpha, const product *before, const float *bias)
{
    for (int64_t e = 0; e < p->m * p->n; e++) {
        int64_t i = e / p->n, j = e % p->n;
        double sum = 0, size = 0, base = before ? (double)before->c[e] : bias ? (double)bias[j] : 0;
        for (int64_t l = 0; l < p->k; l++) {
            double a = (double)p->a[p->ta ? l * p->m + i : i * p->k + l];
            double b = (double)p->b[p->tb ? j * p->k + l : l * p->n + j];
            sum += a * b;
            size += fabs(a * b);
        }
        double want = base + (double)alpha * sum, bound = (double)(p->k + 2) * 0x1p-24 * (size + fabs(base));
        if (!(fabs((double)p->c[e] - want) <= bound)) {
            ck_abort_msg("%d×%d×%d, element %d: %.9g, expected %.9g", (int)p->m, (int)p->n, (int)p->k, (int)e,
                         (double)p->c[e], want);
        }
    }
}

START_TEST(floats_are_not_rounded)
{
    for (int isa = 0; isa <= (int)asc_isa_best(); isa++) {
        const asc_packed_kernel *kernel = asc_packed_f32_kernel_of((enum asc_isa)isa);
        const int64_t *size = sizes[_i / 4];
        product *p = new_product(size[0], size[1], size[2], _i & 1, _i & 2);
        product *before = new_product(size[0], size[1], size[2], _i & 1, _i & 2);
        if (kernel) {
            run_kernel(kernel, p, 1, false, NULL);
            check_floats(p, 1, NULL, NULL);
            run_kernel(kernel, p, .3f, false, p->bias);
            check_floats(p, .3f, NULL, p->bias);
            memcpy(p->c, before->c, sizeof p->c);
            run_kernel(kernel, p, 1, true, NULL);
            check_floats(p, 1, before, NULL);
        }
        free(before);
        free(p);
    }
}
END_TEST

/* A's rows as they lie give the bits of packed ones, where k is a multiple of the unit. */
START_TEST(rows_in_place)
{
    for (int isa = 0; isa <= (int)asc_isa_best(); isa++) {
        const asc_packed_kernel *kernel = asc_packed_f32_kernel_of((enum asc_isa)isa);
        product *p = new_product(33, 40, 96, false, false), *packed = new_product(33, 40, 96, false, false);
        if (kernel) {
            ck_assert(kernel->takes_rows);
            float *b = aligned_alloc(64, 64 * 96 * sizeof *b);
            ck_assert_ptr_nonnull(b);
            kernel->pack_panels(b, p->b, 40, false, 94, 40);
            kernel->multiply(&(asc_packed_product){
                .m = 33, .n = 40, .k = 94, .a = p->a, .lda = 96, .b = b, .alpha = 1, .c = p->c, .ldc = 40});
            for (int64_t l = 0; l < 33; l++) { /* the same of 94 places, packed */
                packed->a[l * 96 + 94] = packed->a[l * 96 + 95] = 0;
            }
            run_kernel(kernel, packed, 1, false, NULL);
            ck_assert_mem_eq(p->c, packed->c, 33 * 40 * sizeof *p->c);
            free(b);
        }
        free(packed);
        free(p);
    }
}
END_TEST

/* Subnormal operands count as 0, a subnormal sum becomes it; what is not finite spreads as it does in float. */
START_TEST(ends_of_the_range)
{
    static const struct {
        float a[2], b[2];
        uint32_t want;
    } cases[] = {
        {{0x1p-127f, 0}, {0x1p100f, 0}, 0}, {{0x1p-70f, 0}, {0x1p-60f, 0}, 0},
        {{-0x1p-70f, 0}, {0x1p-60f, 0}, 0}, {{0x1p-63f, 0}, {0x1p-63f, 0}, 0x00800000},
        {{3.4e38f, 0}, {1, 0}, 0x7f800000}, {{0x1p100f, 0}, {0x1p100f, 0}, 0x7f800000},
    };
    for (int i = 0; i < KERNELS; i++) {
        for (size_t c = 0; c < sizeof cases / sizeof *cases && kernel_at(i); c++) {
            product *p = new_product(1, 1, 2, false, true);
            memcpy(p->a, cases[c].a, sizeof cases[c].a);
            memcpy(p->b, cases[c].b, sizeof cases[c].b);
            run_kernel(kernel_at(i), p, 1, false, NULL);
            ck_assert_msg((bits_of(p->c[0]) & 0x7fffffff) == cases[c].want, "kernel %d, case %zu: %08x, expected %08x",
                          i, c, bits_of(p->c[0]), cases[c].want);
            p->a[0] = NAN;
            run_kernel(kernel_at(i), p, 1, false, NULL);
            ck_assert(isnan(p->c[0]));
            free(p);
        }
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("bfloat16");
    tcase_add_loop_test(t, rounding, 0, KERNELS);
    tcase_add_loop_test(t, kernels_round_alike, 0, KERNELS);
    tcase_add_loop_test(t, sums_in_the_stated_order, 0, 4 * SIZES);
    tcase_add_loop_test(t, rows_turn, 0, KERNELS);
    tcase_add_loop_test(t, floats_are_not_rounded, 0, 4 * SIZES);
    tcase_add_test(t, rows_in_place);
    tcase_add_test(t, bases_and_factors);
    tcase_add_test(t, error_against_double);
    tcase_add_test(t, ends_of_the_range);
    return run_suite("kernels/packed", t);
}
