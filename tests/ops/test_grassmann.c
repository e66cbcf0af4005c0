/* tests/ops/test_grassmann.c: the op grassmann against its definition on random shapes and options; nearly parallel,
 * repeated and zero vectors; the laws that Plücker coordinates keep. */
#include "tests/ops/grassmann.h"

/* ---- random calls ---- */

static int64_t pick(uint64_t seed, int64_t what, int64_t low, int64_t high) /* low … high */
{
    asc_tensor x = asc_uniform(ctx, ASC_F64, 0, 1, seed, (uint64_t)what, 0, NULL);
    return low + (int64_t)(asc_item(x) * (double)(high - low + 1));
}

static int offsets_of(uint64_t seed, int64_t N, int *offsets)
{
    int n = (int)pick(seed, 0, 1, 5);
    for (int l = 0; l < n; l++) {
        offsets[l] = (int)pick(seed, 100 + l, 1, N + 2); /* some beyond the sequence, some twice */
    }
    return n;
}

static asc_tensor lengths_of(uint64_t seed, int64_t B, int64_t N)
{
    asc_tensor lengths = asc_empty(ctx, ASC_I64, 1, &B);
    for (int64_t b = 0; b < B; b++) {
        ((int64_t *)asc_data_mut(lengths))[b] = b == 0 ? 0 : pick(seed, 200 + b, -1, N + 1);
    }
    return lengths;
}

static inputs inputs_of(uint64_t seed, asc_dtype dtype, int *offsets, asc_grassmann_options *o)
{
    static const double rels[] = {0, 0, 0.3, 2};
    int64_t B = pick(seed, 1, 1, 3), N = pick(seed, 2, 1, seed % 4 == 0 ? 70 : 9), D = pick(seed, 3, 1, 5);
    int64_t groups = pick(seed, 4, 1, 3), r = groups * pick(seed, 5, 2, 5);
    bool memory = pick(seed, 6, 0, 2) == 0, learned = pick(seed, 7, 0, 2) == 0;
    *o = (asc_grassmann_options){.offsets = offsets, .n_offsets = offsets_of(seed, N, offsets), .groups = groups,
                                 .direction = (asc_direction)pick(seed, 8, 0, 2), .rms = pick(seed, 9, 0, 1),
                                 .sum = !learned && pick(seed, 10, 0, 2) == 0, .eps_rel = rels[pick(seed, 11, 0, 3)],
                                 .eps = pick(seed, 12, 0, 3) == 0 ? 2 : 1e-8,
                                 .skip = pick(seed, 13, 0, 3) == 0 ? pick(seed, 14, 0, N) : 0};
    if (memory && pick(seed, 15, 0, 2) == 0) {
        o->n_offsets = 0;
    }
    pair pairs[MOST_PAIRS];
    int64_t n = list_pairs(o, memory, pairs), P = groups * (r / groups * (r / groups - 1) / 2);
    return (inputs){
        .z = random_leaf(dtype, 1000 + seed, ASC_SHAPE(B, N, r)),
        .weight = random_leaf(dtype, 1, ASC_SHAPE(D, P)),
        .bias = pick(seed, 16, 0, 3) == 0 ? asc_null() : random_leaf(dtype, 2, ASC_SHAPE(D)),
        .offset_weight = learned ? random_leaf(dtype, 3, ASC_SHAPE(n)) : asc_null(),
        .memory = memory ? random_leaf(dtype, 4, ASC_SHAPE(B, N - o->skip, r)) : asc_null(),
        .lengths = pick(seed, 17, 0, 2) == 0 ? lengths_of(seed, B, N) : asc_null(),
    };
}

/* A good hundred shapes and sets of options. */
START_TEST(grassmann_is_its_definition)
{
    for (int seed = _i; seed < 160; seed += 4) {
        int offsets[ASC_WEDGE_OFFSETS];
        asc_grassmann_options o;
        asc_scope_begin(ctx);
        inputs in = inputs_of((uint64_t)seed, ASC_F64, offsets, &o);
        compare(&in, &o, seed);
        asc_scope_end(ctx);
    }
}
END_TEST

/* In f32 as well, and several tiles and chunks: N no multiple of a strip, and more pairs than bits of a word. */
START_TEST(grassmann_of_several_tiles)
{
    int offsets[ASC_WEDGE_OFFSETS];
    for (int l = 0; l < ASC_WEDGE_OFFSETS; l++) {
        offsets[l] = 1 + l * 7 % 31;
    }
    for (int f = 0; f < 2; f++) {
        inputs in = {.z = random_leaf(floats[f], 1, ASC_SHAPE(3, 411, 6)),
                     .weight = random_leaf(floats[f], 2, ASC_SHAPE(4, 6)),
                     .bias = random_leaf(floats[f], 3, ASC_SHAPE(4)),
                     .offset_weight = random_leaf(floats[f], 4, ASC_SHAPE(2 * 40 + 1)),
                     .memory = random_leaf(floats[f], 5, ASC_SHAPE(3, 411, 6)), .lengths = lengths_of(5, 3, 411)};
        compare(&in, &(asc_grassmann_options){.offsets = offsets, .n_offsets = 40, .direction = ASC_DIRECTION_BOTH,
                                              .groups = 2, .eps = 1e-8, .eps_rel = 0.05}, 1000 + f);
    }
}
END_TEST

/* ---- nearly parallel and repeated vectors ---- */

enum { WIDTH = 5, COORDINATES = WIDTH * (WIDTH - 1) / 2 };

/* Wᵀ the identity: g is p̂ itself. */
static asc_tensor identity(asc_dtype dtype, int64_t n)
{
    asc_tensor t = asc_zeros(ctx, dtype, ASC_SHAPE(n, n));
    for (int64_t i = 0; i < n; i++) {
        if (dtype == ASC_F32) {
            ((float *)asc_data_mut(t))[i * n + i] = 1;
        } else {
            ((double *)asc_data_mut(t))[i * n + i] = 1;
        }
    }
    return t;
}

/* Pairs at angles of about 10^-1 … 10^-count: sequences of two. */
static asc_tensor nearly_parallel(asc_dtype dtype, int count)
{
    asc_tensor z = asc_empty(ctx, dtype, ASC_SHAPE(count, 2, WIDTH));
    for (int64_t e = 0; e < asc_numel(z); e++) {
        int64_t b = e / (2 * WIDTH), second = e / WIDTH % 2, i = e % WIDTH;
        double x = noise(10 * b + i) + (second ? pow(10, -(double)(b + 1)) * noise(7 * i + b + 5) : 0);
        if (dtype == ASC_F32) {
            ((float *)asc_data_mut(z))[e] = (float)x;
        } else {
            ((double *)asc_data_mut(z))[e] = x;
        }
    }
    asc_require_grad(z, true);
    return z;
}

static const int one[] = {1};
static const asc_grassmann_options lag_one = {.offsets = one, .n_offsets = 1, .eps = 1e-30};

/* p̂ in long double. */
static void exact_coordinates(asc_tensor z, int64_t b, long double *p)
{
    long double square = 0;
    for (int i = 0, k = 0; i < WIDTH; i++) {
        for (int j = i + 1; j < WIDTH; j++, k++) {
            long double vi = (long double)value(z, b * 2 * WIDTH + i), vj = (long double)value(z, b * 2 * WIDTH + j);
            long double ui = (long double)value(z, (b * 2 + 1) * WIDTH + i);
            long double uj = (long double)value(z, (b * 2 + 1) * WIDTH + j);
            p[k] = ui * vj - uj * vi;
            square += p[k] * p[k];
        }
    }
    for (int k = 0; k < COORDINATES; k++) {
        p[k] /= sqrtl(square);
    }
}

/* f32 keeps all its digits at any angle that it can hold; f64 loses what its own rounding makes inevitable. */
START_TEST(grassmann_of_nearly_parallel_vectors)
{
    for (int f = 0; f < 2; f++) {
        int count = f == 0 ? 5 : 12;
        asc_tensor z = nearly_parallel(floats[f], count);
        asc_tensor g = asc_grassmann(ctx, z, identity(floats[f], COORDINATES), asc_null(), asc_null(), asc_null(),
                                     asc_null(), &lag_one);
        no_error();
        for (int64_t b = 0; b < count; b++) {
            long double p[COORDINATES];
            exact_coordinates(z, b, p);
            double tolerance = f == 0 ? 3e-7 : 1e-15 * pow(10, (double)(b + 1));
            for (int k = 0; k < COORDINATES; k++) {
                double got = value(g, (b * 2 + 1) * COORDINATES + k);
                ck_assert_double_le(fabs(got - (double)p[k]), tolerance);
            }
        }
    }
}
END_TEST

/* Their gradients, which grow as 1/angle: f32 against f64 on the same values, and f64 against plucker_wedge. */
START_TEST(grassmann_gradients_of_nearly_parallel_vectors)
{
    asc_tensor z = nearly_parallel(ASC_F32, 5), same = asc_empty(ctx, ASC_F64, ASC_SHAPE(5, 2, WIDTH));
    asc_copy(ctx, same, z);
    asc_require_grad(same, true);
    run_backward(asc_grassmann(ctx, z, identity(ASC_F32, COORDINATES), asc_null(), asc_null(), asc_null(), asc_null(),
                               &lag_one));
    run_backward(asc_grassmann(ctx, same, identity(ASC_F64, COORDINATES), asc_null(), asc_null(), asc_null(),
                               asc_null(), &lag_one));
    for (int64_t i = 0; i < asc_numel(z); i++) {
        double scale = 0;
        for (int64_t k = 0; k < WIDTH; k++) {
            scale = fmax(scale, fabs(value(asc_grad(same), i / WIDTH * WIDTH + k)));
        }
        expect_close(asc_grad(z), i, value(asc_grad(same), i), 2 * scale);
    }
    asc_tensor closer = nearly_parallel(ASC_F64, 7), wedge = nearly_parallel(ASC_F64, 7);
    run_backward(asc_grassmann(ctx, closer, identity(ASC_F64, COORDINATES), asc_null(), asc_null(), asc_null(),
                               asc_null(), &lag_one));
    run_backward(asc_reshape(ctx, asc_plucker_wedge_past(ctx, wedge, 1, one, 1e-30, 0), ASC_SHAPE(7, 2, COORDINATES)));
    for (int64_t i = 0; i < asc_numel(closer); i++) {
        double per_angle = pow(10, (double)(i / (2 * WIDTH) + 1)), tolerance = 1e-13 * per_angle * per_angle;
        ck_assert_double_le(fabs(value(asc_grad(closer), i) - value(asc_grad(wedge), i)), tolerance);
    }
}
END_TEST

/* Sequences of one vector each, times powers of 2: every wedge is 0 to the bit, g is the bias, and the gradient is that
 * of p/F, which plucker_wedge gives. */
START_TEST(grassmann_of_repeated_vectors)
{
    enum { B = 40, N = 7, D = 3 };
    static const int offsets[] = {1, 2, 5};
    for (int f = 0; f < 2; f++) {
        asc_tensor z = asc_empty(ctx, floats[f], ASC_SHAPE(B, N, WIDTH));
        for (int64_t i = 0; i < asc_numel(z); i++) {
            int64_t b = i / (N * WIDTH), t = i / WIDTH % N;
            double x = ldexp((double)(float)noise(b * WIDTH + i % WIDTH), (int)(t % 3)) * (t % 2 ? -1 : 1);
            if (f == 0) {
                ((float *)asc_data_mut(z))[i] = (float)x;
            } else {
                ((double *)asc_data_mut(z))[i] = x;
            }
        }
        asc_require_grad(z, true);
        inputs in = {z, random_leaf(floats[f], 2, ASC_SHAPE(D, COORDINATES)), random_leaf(floats[f], 3, ASC_SHAPE(D)),
                     asc_null(), asc_detach(ctx, z), asc_null()};
        asc_grassmann_options o = {.offsets = offsets, .n_offsets = 3, .groups = 1, .eps = 1e-3};
        asc_tensor g = fused(&in, &o);
        no_error();
        for (int64_t e = 0; e < B * N * D; e++) {
            expect_equal(g, e, e / D % N == 0 ? 0 : value(in.bias, e % D));
        }
        compare(&in, &o, 2000 + f);
        o.eps_rel = 1e-3;
        compare(&in, &o, 2002 + f);
    }
}
END_TEST

/* A vector of zeros has no direction; p is linear in it, and so is its gradient. */
START_TEST(grassmann_of_zero_vectors)
{
    static const int offsets[] = {1, 3};
    asc_tensor z = random_leaf(ASC_F64, 6, ASC_SHAPE(1, 9, WIDTH));
    memset((double *)asc_data_mut(z) + 4 * WIDTH, 0, WIDTH * sizeof(double));
    inputs in = {z, random_leaf(ASC_F64, 2, ASC_SHAPE(3, COORDINATES)), random_leaf(ASC_F64, 3, ASC_SHAPE(3)),
                 asc_null(), asc_null(), asc_null()};
    asc_grassmann_options o = {.offsets = offsets, .n_offsets = 2, .groups = 1, .eps = 1e-2};
    compare(&in, &o, 3000);
    o.eps_rel = 2;
    compare(&in, &o, 3001);
}
END_TEST

/* ---- laws ---- */

/* p_ij p_kl - p_ik p_jl + p_il p_jk = 0, with several offsets too: their sum is a wedge with the same u. */
START_TEST(grassmann_plucker_relations)
{
    static const int offsets[] = {1, 2, 3};
    for (int n = 1; n <= 3; n += 2) {
        asc_tensor z = random_leaf(ASC_F32, 5, ASC_SHAPE(1, 20, WIDTH));
        asc_grassmann_options o = {.offsets = offsets, .n_offsets = n, .eps = 1e-8};
        asc_tensor g = asc_grassmann(ctx, z, identity(ASC_F32, COORDINATES), asc_null(), asc_null(), asc_null(),
                                     asc_null(), &o);
        no_error();
        for (int64_t t = 1; t < 20; t++) {
            double p[WIDTH][WIDTH] = {{0}}, square = 0;
            for (int i = 0, k = 0; i < WIDTH; i++) {
                for (int j = i + 1; j < WIDTH; j++, k++) {
                    p[i][j] = value(g, t * COORDINATES + k);
                    square += p[i][j] * p[i][j];
                }
            }
            ck_assert(n > 1 || fabs(square - 1) < 1e-6);
            for (int skipped = 0; skipped < WIDTH; skipped++) { /* any four of the five */
                int q[4];
                for (int i = 0, k = 0; i < WIDTH; i++) {
                    if (i != skipped) {
                        q[k++] = i;
                    }
                }
                ck_assert_double_eq_tol(p[q[0]][q[1]] * p[q[2]][q[3]] - p[q[0]][q[2]] * p[q[1]][q[3]] +
                                        p[q[0]][q[3]] * p[q[1]][q[2]], 0, 2e-7);
            }
        }
    }
}
END_TEST

/* u∧v = -v∧u: the future's pair is the past's with the roles exchanged. A multiple of u added to v changes nothing. */
START_TEST(grassmann_symmetries)
{
    asc_tensor z = random_leaf(ASC_F64, 5, ASC_SHAPE(8, 2, WIDTH)), W = identity(ASC_F64, COORDINATES);
    asc_tensor past = asc_grassmann(ctx, z, W, asc_null(), asc_null(), asc_null(), asc_null(), &lag_one);
    asc_grassmann_options o = lag_one;
    o.direction = ASC_DIRECTION_FUTURE;
    asc_tensor future = asc_grassmann(ctx, z, W, asc_null(), asc_null(), asc_null(), asc_null(), &o);
    asc_tensor u = asc_slice(ctx, z, 1, 1, 2, 1), v = asc_slice(ctx, z, 1, 0, 1, 1);
    asc_tensor moved = asc_concat(ctx, (asc_tensor[]){asc_add(ctx, v, asc_scale(ctx, u, -0.7)), u}, 2, 1);
    asc_tensor same = asc_grassmann(ctx, moved, W, asc_null(), asc_null(), asc_null(), asc_null(), &lag_one);
    no_error();
    for (int64_t e = 0; e < 8 * COORDINATES; e++) {
        int64_t b = e / COORDINATES, k = e % COORDINATES;
        int64_t at = (2 * b + 1) * COORDINATES + k, first = 2 * b * COORDINATES + k;
        ck_assert_double_eq_tol(value(past, at), -value(future, first), 1e-13);
        ck_assert_double_eq_tol(value(past, at), value(same, at), 1e-13);
        ck_assert_double_eq(value(past, first), 0);
        ck_assert_double_eq(value(future, at), 0);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        grassmann_of_several_tiles, grassmann_of_nearly_parallel_vectors,
        grassmann_gradients_of_nearly_parallel_vectors, grassmann_of_repeated_vectors, grassmann_of_zero_vectors,
        grassmann_plucker_relations, grassmann_symmetries,
    };
    TCase *t = tcase_create("grassmann");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, grassmann_is_its_definition, 0, 4);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(t, tests[i]);
    }
    return run_suite("ops/grassmann", t);
}
