/* tests/ops/test_subspace.c: the op subspace against determinants in long double; planes against the op grassmann;
 * nearly dependent, repeated, zero vectors; the laws that Plücker coordinates keep; causality, threads and streams. */
#include "tests/ops/geometry.h"

enum { MOST = 4, WIDTH = 6 };

/* ---- the definition ---- */

static long double determinant(long double a[MOST][MOST], int k)
{
    long double det = 1;
    for (int c = 0; c < k; c++) { /* Gauss, with pivots */
        int best = c;
        for (int r = c + 1; r < k; r++) {
            best = fabsl(a[r][c]) > fabsl(a[best][c]) ? r : best;
        }
        for (int j = 0; j < k && best != c; j++) {
            long double t = a[c][j];
            a[c][j] = a[best][j];
            a[best][j] = t;
        }
        det *= best == c ? a[c][c] : -a[c][c];
        for (int r = c + 1; r < k && a[c][c] != 0; r++) {
            for (int j = k - 1; j >= c; j--) {
                a[r][j] -= a[r][c] / a[c][c] * a[c][j];
            }
        }
    }
    return det;
}

/* The next set of k out of n in lexicographic order; false after the last. */
static bool next_set(int *set, int k, int n)
{
    int a = k - 1;
    while (a >= 0 && set[a] == n - k + a) {
        a--;
    }
    if (a < 0) {
        return false;
    }
    set[a]++;
    for (int b = a + 1; b < k; b++) {
        set[b] = set[b - 1] + 1;
    }
    return true;
}

/* The minors of k vectors of n in a row of z each, from entry `first` on; how many. */
static int minors(asc_tensor z, const int64_t *row, int k, int first, int n, long double *p)
{
    int set[] = {0, 1, 2, 3}, count = 0;
    int64_t r = asc_size(z, 2);
    do {
        long double a[MOST][MOST];
        for (int i = 0; i < k; i++) {
            for (int j = 0; j < k; j++) {
                a[i][j] = (long double)value(z, row[i] * r + first + set[j]);
            }
        }
        p[count++] = determinant(a, k);
    } while (next_set(set, k, n));
    return count;
}

static long double length_of(const long double *p, int n)
{
    long double square = 0;
    for (int i = 0; i < n; i++) {
        square += p[i] * p[i];
    }
    return sqrtl(square);
}

typedef struct inputs {
    asc_tensor z, weight, bias, lengths; /* the last two may be null */
} inputs;

static asc_tensor run(const inputs *in, const asc_subspace_options *o)
{
    return asc_subspace(ctx, in->z, in->weight, in->bias, in->lengths, o);
}

/* p̂ of a tuple in all groups, scaled. */
static void coordinates(const inputs *in, const asc_subspace_options *o, const int64_t *row, long double *p)
{
    int n = (int)(asc_size(in->z, 2) / o->groups), P = (int)asc_size(in->weight, 1);
    for (int64_t g = 0; g < o->groups; g++) {
        int count = minors(in->z, row, o->k, (int)g * n, n, p);
        long double F = length_of(p, count), product = (long double)o->eps_rel;
        for (int a = 0; a < o->k; a++) {
            long double x[100];
            for (int i = 0; i < n; i++) {
                x[i] = (long double)value(in->z, row[a] * asc_size(in->z, 2) + g * n + i);
            }
            product *= length_of(x, n);
        }
        F = fmaxl(F, fmaxl((long double)o->eps, product));
        for (int i = 0; i < count; i++) {
            p[i] *= (o->rms ? sqrtl((long double)P) : 1) / (o->raw ? 1 : F);
        }
        p += count;
    }
}

/* g of a token. */
static void mix(const inputs *in, const asc_subspace_options *o, int64_t b, int64_t t, long double *g)
{
    int64_t N = asc_size(in->z, 1), D = asc_size(in->weight, 0), P = asc_size(in->weight, 1), end = N;
    int count = 0;
    end = asc_is_null(in->lengths) || value(in->lengths, b) > (double)N ? N : (int64_t)value(in->lengths, b);
    memset(g, 0, (size_t)D * sizeof *g);
    for (int i = 0; i < o->n_tuples; i++) {
        int64_t row[MOST] = {b * N + t};
        bool there = t < end;
        for (int a = 1; a < o->k; a++) {
            int lag = o->tuples[i * (o->k - 1) + a - 1];
            row[a] = row[0] - lag;
            there = there && lag <= t;
        }
        long double p[200];
        if (there) {
            coordinates(in, o, row, p);
        }
        for (int64_t d = 0; d < D && there; d++) {
            g[d] += asc_is_null(in->bias) ? 0 : (long double)value(in->bias, d);
            for (int64_t c = 0; c < P; c++) {
                g[d] += (long double)value(in->weight, d * P + c) * p[c];
            }
        }
        count += there;
    }
    for (int64_t d = 0; d < D && count > 0 && !o->sum; d++) {
        g[d] /= count;
    }
}

static void compare(const inputs *in, const asc_subspace_options *o, double tolerance, int seed)
{
    int64_t B = asc_size(in->z, 0), n = asc_size(in->z, 1) - o->skip, D = asc_size(in->weight, 0);
    asc_tensor y = run(in, o);
    no_error();
    for (int64_t row = 0; row < B * n; row++) {
        long double g[8];
        mix(in, o, row / n, o->skip + row % n, g);
        for (int64_t d = 0; d < D; d++) {
            double got = value(y, row * D + d), want = (double)g[d];
            if (!(fabs(got - want) <= tolerance * (1 + fabs(want)))) {
                ck_abort_msg("seed %d, row %lld: %.12g, expected %.12g", seed, (long long)row, got, want);
            }
        }
    }
}

static int64_t pick(uint64_t seed, int64_t what, int64_t low, int64_t high) /* low … high */
{
    asc_tensor x = asc_uniform(ctx, ASC_F64, 0, 1, seed, (uint64_t)what, 0, NULL);
    return low + (int64_t)(asc_item(x) * (double)(high - low + 1));
}

static int64_t choose(int64_t n, int64_t k)
{
    int64_t c = 1;
    for (int64_t i = 0; i < k; i++) {
        c = c * (n - i) / (i + 1);
    }
    return c;
}

static inputs inputs_of(uint64_t seed, asc_dtype dtype, int *tuples, asc_subspace_options *o)
{
    int64_t B = pick(seed, 1, 1, 2), N = pick(seed, 2, 1, seed % 4 == 0 ? 70 : 9), D = pick(seed, 3, 1, 5);
    int k = (int)pick(seed, 5, 2, 4), n_tuples = (int)pick(seed, 6, 1, 5);
    int64_t groups = pick(seed, 4, 1, 2), width = pick(seed, 7, k, k + 2);
    *o = (asc_subspace_options){.k = k, .n_tuples = n_tuples, .tuples = tuples, .groups = groups,
                                .sum = pick(seed, 8, 0, 1), .rms = pick(seed, 9, 0, 1),
                                .raw = pick(seed, 10, 0, 5) == 0, .eps = pick(seed, 12, 0, 2) == 0 ? 2 : 1e-8,
                                .eps_rel = pick(seed, 13, 0, 2) == 0 ? .4 : 0,
                                .skip = pick(seed, 14, 0, 3) == 0 ? pick(seed, 15, 0, N) : 0};
    for (int i = 0; i < n_tuples * (k - 1); i++) {
        tuples[i] = (int)pick(seed, 100 + i, 1, i % 3 ? 5 : N + 1);
    }
    int64_t lengths[] = {0, pick(seed, 16, -1, N + 1)};
    return (inputs){
        .z = random_leaf(dtype, 1000 + seed, ASC_SHAPE(B, N, groups * width)),
        .weight = random_leaf(dtype, 1, ASC_SHAPE(D, groups * choose(width, k))),
        .bias = pick(seed, 17, 0, 3) == 0 ? asc_null() : random_leaf(dtype, 2, ASC_SHAPE(D)),
        .lengths = pick(seed, 18, 0, 2) == 0 ? asc_from(ctx, ASC_I64, lengths, 1, &B) : asc_null(),
    };
}

START_TEST(subspace_is_its_definition)
{
    for (int seed = 0; seed < 80; seed++) {
        int tuples[ASC_SUBSPACE_TUPLES * ASC_SUBSPACE_LAGS];
        asc_subspace_options o;
        asc_scope_begin(ctx);
        asc_dtype dtype = seed % 2 ? ASC_F64 : ASC_F32;
        inputs in = inputs_of((uint64_t)seed, dtype, tuples, &o);
        compare(&in, &o, (o.raw ? 20 : 1) * (dtype == ASC_F32 ? 3e-5 : 1e-11), seed);
        asc_scope_end(ctx);
    }
}
END_TEST

/* As many tuples as there may be: the tree has all its branches. */
START_TEST(subspace_of_many_tuples)
{
    int tuples[ASC_SUBSPACE_TUPLES * ASC_SUBSPACE_LAGS];
    for (int i = 0; i < ASC_SUBSPACE_TUPLES * ASC_SUBSPACE_LAGS; i++) {
        tuples[i] = 1 + i * 7 % 11 + i % 3 * 4;
    }
    inputs in = {random_leaf(ASC_F64, 1, ASC_SHAPE(2, 45, 5)), random_leaf(ASC_F64, 2, ASC_SHAPE(3, 5)),
                 random_leaf(ASC_F64, 3, ASC_SHAPE(3)), asc_null()};
    compare(&in, &(asc_subspace_options){.k = 4, .n_tuples = ASC_SUBSPACE_TUPLES, .tuples = tuples, .groups = 1,
                                         .eps = 1e-8, .eps_rel = .05}, 1e-11, 0);
}
END_TEST

/* ---- planes ---- */

/* With k = 2 it is grassmann, in values and gradients. */
START_TEST(subspaces_of_two_are_planes)
{
    static const int offsets[] = {1, 4, 2, 4};
    asc_tensor leaf[2][3], y[2];
    for (int rel = 0; rel < 2; rel++) {
        for (int i = 0; i < 2; i++) {
            leaf[i][0] = random_leaf(ASC_F64, 1, ASC_SHAPE(2, 40, 12));
            leaf[i][1] = random_leaf(ASC_F64, 2, ASC_SHAPE(5, 30));
            leaf[i][2] = random_leaf(ASC_F64, 3, ASC_SHAPE(5));
            double eps_rel = rel ? .8 : 0;
            y[i] = i == 0 ? asc_subspace(ctx, leaf[i][0], leaf[i][1], leaf[i][2], asc_null(),
                                         &(asc_subspace_options){.k = 2, .n_tuples = 4, .tuples = offsets, .groups = 2,
                                                                 .rms = true, .eps = 1e-8, .eps_rel = eps_rel})
                          : asc_grassmann(ctx, leaf[i][0], leaf[i][1], leaf[i][2], asc_null(), asc_null(), asc_null(),
                                          &(asc_grassmann_options){.n_offsets = 4, .offsets = offsets, .groups = 2,
                                                                   .rms = true, .eps = 1e-8, .eps_rel = eps_rel});
            run_backward(y[i]);
        }
        for (int64_t e = 0; e < asc_numel(y[0]); e++) {
            ck_assert_double_eq_tol(value(y[0], e), value(y[1], e), 1e-12);
        }
        for (int l = 0; l < 3; l++) {
            for (int64_t e = 0; e < asc_numel(leaf[0][l]); e++) {
                double want = value(asc_grad(leaf[1][l]), e);
                ck_assert_double_eq_tol(value(asc_grad(leaf[0][l]), e), want, 1e-11 * (1 + fabs(want)));
            }
        }
    }
}
END_TEST

/* ---- degenerate vectors ---- */

static void put(asc_tensor t, int64_t i, double x)
{
    if (asc_dtype_of(t) == ASC_F32) {
        ((float *)asc_data_mut(t))[i] = (float)x;
    } else {
        ((double *)asc_data_mut(t))[i] = x;
    }
}

/* Wᵀ the identity: g is p̂ itself. */
static asc_tensor identity(asc_dtype dtype, int64_t n)
{
    asc_tensor t = asc_zeros(ctx, dtype, ASC_SHAPE(n, n));
    for (int64_t i = 0; i < n; i++) {
        put(t, i * n + i, 1);
    }
    return t;
}

static const int one_two[] = {1, 2}, one_two_three[] = {1, 2, 3};

static asc_subspace_options single(int k)
{
    return (asc_subspace_options){.k = k, .n_tuples = 1, .tuples = k == 3 ? one_two : one_two_three, .groups = 1,
                                  .eps = 1e-30};
}

/* The last of three vectors is 10^-1 … 10^-count from the span of the others: f32 keeps its digits, f64 loses what its
 * own rounding makes inevitable. */
START_TEST(nearly_dependent_vectors)
{
    for (int f = 0; f < 2; f++) {
        int count = f == 0 ? 5 : 11, C = (int)choose(WIDTH, 3);
        asc_tensor z = asc_empty(ctx, floats[f], ASC_SHAPE(count, 3, WIDTH));
        for (int64_t e = 0; e < asc_numel(z); e++) {
            int64_t b = e / (3 * WIDTH), v = e / WIDTH % 3, i = e % WIDTH;
            double first = noise(10 * b + i), second = noise(31 * b + i + 7);
            double third = first - .5 * second + pow(10, -(double)(b + 1)) * noise(7 * i + b + 5);
            put(z, e, v == 0 ? first : v == 1 ? second : third);
        }
        asc_subspace_options o = single(3);
        asc_tensor g = asc_subspace(ctx, z, identity(floats[f], C), asc_null(), asc_null(), &o);
        no_error();
        for (int64_t b = 0; b < count; b++) {
            long double p[20];
            minors(z, (int64_t[]){3 * b + 2, 3 * b + 1, 3 * b}, 3, 0, WIDTH, p);
            long double length = length_of(p, C);
            double tolerance = f == 0 ? 5e-7 : 1e-14 * pow(10, (double)(b + 1));
            for (int c = 0; c < C; c++) {
                ck_assert_double_le(fabs(value(g, (b * 3 + 2) * C + c) - (double)(p[c] / length)), tolerance);
            }
        }
    }
}
END_TEST

/* Two vectors in turn, times powers of 2: every wedge of three is 0 to the bit, and its gradient that of p/ε, which p
 * as it is has, too. Then one of zeros. */
START_TEST(repeated_and_zero_vectors)
{
    enum { N = 40 };
    static const int tuples[] = {1, 2, 2, 4, 3, 1};
    const double eps = 0x1p-10;
    for (int f = 0; f < 4; f++) {
        asc_tensor leaf[2], y[2], W = random_leaf(floats[f % 2], 2, ASC_SHAPE(3, 20));
        for (int raw = 0; raw < 2; raw++) {
            asc_tensor z = leaf[raw] = asc_empty(ctx, floats[f % 2], ASC_SHAPE(1, N, WIDTH));
            for (int64_t i = 0; i < N * WIDTH; i++) {
                int64_t t = i / WIDTH, kind = f < 2 ? t % 2 : t % 3 == 1 ? 5 : 0;
                put(z, i, ldexp((double)(float)noise(kind * WIDTH + i % WIDTH), (int)(t % 3)));
                put(z, i, f >= 2 && t % 5 == 3 ? 0 : value(z, i));
            }
            asc_require_grad(z, true);
            y[raw] = asc_subspace(ctx, z, W, asc_null(), asc_null(),
                                  &(asc_subspace_options){.k = 3, .n_tuples = 3, .tuples = tuples, .groups = 1,
                                                          .eps = eps, .raw = raw});
            run_backward(y[raw]);
            for (int64_t e = 0; e < N * 3; e++) {
                expect_equal(y[raw], e, 0);
            }
        }
        double most = 0, off = 0;
        for (int64_t i = 0; i < N * WIDTH; i++) {
            double want = value(asc_grad(leaf[1]), i) / eps, d = fabs(value(asc_grad(leaf[0]), i) - want);
            most = fmax(most, fabs(want));
            off = isfinite(d) ? fmax(off, d) : INFINITY;
        }
        ck_assert_msg(most > 100 && off <= most * (f % 2 == 0 ? 1e-6 : 1e-14), "off by %g of %g", off, most);
    }
}
END_TEST

/* ---- laws ---- */

/* The place of a set of k out of n, in any order, and the sign of that order; 0 where an entry is there twice. */
static int place_of(const int *set, int k, int n, int *place)
{
    int sorted[MOST], sign = 1, at[] = {0, 1, 2, 3};
    memcpy(sorted, set, (size_t)k * sizeof *set);
    for (int i = 0; i < k; i++) {
        for (int j = i + 1; j < k; j++) {
            if (sorted[i] == sorted[j]) {
                return 0;
            }
            if (sorted[j] < sorted[i]) {
                int t = sorted[i];
                sorted[i] = sorted[j];
                sorted[j] = t;
                sign = -sign;
            }
        }
    }
    for (*place = 0; memcmp(at, sorted, (size_t)k * sizeof *at) != 0; (*place)++) {
        next_set(at, k, n);
    }
    return sign;
}

/* Σ_{j ∈ J} ± p_{I∪j} p_{J∖j} = 0 for every I of k - 1 and J of k + 1, with one tuple, and with several that share all
 * lags but one: their sum is the wedge of what they share with a sum. */
static void check_relations(int k, int n_tuples, const int *tuples)
{
    int C = (int)choose(WIDTH, k), I[] = {0, 1, 2, 3}, J[5];
    asc_tensor z = random_leaf(ASC_F64, 5, ASC_SHAPE(1, 12, WIDTH));
    asc_subspace_options o = {.k = k, .n_tuples = n_tuples, .tuples = tuples, .groups = 1, .eps = 1e-8};
    asc_tensor g = asc_subspace(ctx, z, identity(ASC_F64, C), asc_null(), asc_null(), &o);
    no_error();
    int64_t last = 11 * (int64_t)C;
    double square = 0;
    for (int c = 0; c < C; c++) {
        square += value(g, last + c) * value(g, last + c);
    }
    ck_assert(square > .01 && (n_tuples > 1 || fabs(square - 1) < 1e-13));
    do {
        for (int i = 0; i <= k; i++) {
            J[i] = i;
        }
        do {
            double sum = 0;
            for (int j = 0; j <= k; j++) {
                int first[MOST], second[MOST], at, other;
                memcpy(first, I, (size_t)(k - 1) * sizeof *I);
                first[k - 1] = J[j];
                memcpy(second, J, (size_t)j * sizeof *J);
                memcpy(second + j, J + j + 1, (size_t)(k - j) * sizeof *J);
                int sign = place_of(first, k, WIDTH, &at) * (j % 2 ? -1 : 1);
                if (sign != 0 && place_of(second, k, WIDTH, &other) != 0) {
                    sum += sign * value(g, last + at) * value(g, last + other);
                }
            }
            ck_assert_double_eq_tol(sum, 0, 1e-14);
        } while (next_set(J, k + 1, WIDTH));
    } while (next_set(I, k - 1, WIDTH));
}

START_TEST(plucker_relations)
{
    check_relations(3, 1, one_two);
    check_relations(3, 3, (int[]){1, 2, 4, 1, 1, 7});
    check_relations(4, 1, one_two_three);
    check_relations(4, 2, (int[]){1, 2, 3, 5, 2, 1});
}
END_TEST

/* Lags exchanged change the sign, to the bit; a multiple of one vector added to another changes nothing. */
START_TEST(symmetries)
{
    enum { B = 8, N = 4 };
    int C = (int)choose(WIDTH, 4);
    asc_tensor z = random_leaf(ASC_F64, 5, ASC_SHAPE(B, N, WIDTH)), W = identity(ASC_F64, C), none = asc_null();
    asc_subspace_options o = single(4), swapped = o;
    swapped.tuples = (int[]){2, 1, 3};
    asc_tensor p = asc_subspace(ctx, z, W, none, none, &o), q = asc_subspace(ctx, z, W, none, none, &swapped);
    asc_tensor moved = asc_scale(ctx, z, 1);
    double *x = asc_data_mut(moved);
    for (int64_t i = 0; i < B * N * WIDTH; i++) {
        int64_t t = i / WIDTH % N;
        x[i] += t == 1 ? -.7 * value(z, i + 2 * WIDTH) : t == 3 ? .3 * value(z, i - 3 * WIDTH) : 0;
    }
    asc_tensor same = asc_subspace(ctx, moved, W, none, none, &o);
    no_error();
    for (int64_t e = 0; e < B * N * C; e++) {
        bool there = e / C % N == 3;
        ck_assert_double_eq(value(p, e), -value(q, e));
        ck_assert_double_eq_tol(value(p, e), value(same, e), 1e-13);
        ck_assert(there || value(p, e) == 0);
    }
}
END_TEST

/* ---- to the bit ---- */

static const int long_tuples[] = {1, 5, 33, 1, 300, 5};

static asc_tensor long_call(asc_tensor z, asc_tensor memory, asc_tensor lengths)
{
    (void)memory; /* it has none */
    asc_tensor W = random_leaf(ASC_F32, 2, ASC_SHAPE(16, 56)), b = random_leaf(ASC_F32, 3, ASC_SHAPE(16));
    return asc_subspace(ctx, z, W, b, lengths,
                        &(asc_subspace_options){.k = 3, .n_tuples = 3, .tuples = long_tuples, .groups = 1, .eps = 1e-8,
                                                .eps_rel = 1e-3});
}

START_TEST(subspace_does_not_look_ahead)
{
    expect_no_look_ahead(long_call);
}
END_TEST

START_TEST(subspace_padding_is_not_seen)
{
    expect_padding_unseen(long_call);
}
END_TEST

static void run_all(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor leaf[] = {leaf_of(ASC_F32, noise, ASC_SHAPE(3, 400, 12)), random_leaf(ASC_F32, 2, ASC_SHAPE(16, 40)),
                         random_leaf(ASC_F32, 3, ASC_SHAPE(16))};
    asc_tensor y = asc_subspace(ctx, leaf[0], leaf[1], leaf[2], asc_null(),
                                &(asc_subspace_options){.k = 3, .n_tuples = 3, .tuples = long_tuples, .groups = 2,
                                                        .eps = 1e-8});
    run_backward(y);
    *result++ = y;
    for (int l = 0; l < 3; l++) {
        *result++ = asc_grad(leaf[l]);
    }
}

START_TEST(subspace_threads)
{
    same_for_threads(run_all, 0);
}
END_TEST

/* A stream in pieces, behind the vectors that it keeps, gives what the whole gives. */
START_TEST(subspace_streams)
{
    enum { N = 40, R = 6, D = 3, KEPT = 7 };
    asc_tensor z = random_leaf(ASC_F64, 1, ASC_SHAPE(1, N, R)), W = random_leaf(ASC_F64, 3, ASC_SHAPE(D, 20));
    asc_tensor b = random_leaf(ASC_F64, 4, ASC_SHAPE(D));
    asc_subspace_options o = {.k = 3, .n_tuples = 2, .tuples = (int[]){1, 3, 7, 1}, .groups = 1, .eps = 1e-8};
    asc_tensor whole = asc_subspace(ctx, z, W, b, asc_null(), &o);
    for (int64_t t = 0, n; t < N; t += n) {
        n = t < 4 ? 1 : t < 20 ? 5 : 13;
        n = n < N - t ? n : N - t;
        o.skip = t < KEPT ? t : KEPT;
        asc_tensor g = asc_subspace(ctx, asc_slice(ctx, z, 1, t - o.skip, t + n, 1), W, b, asc_null(), &o);
        no_error();
        for (int64_t e = 0; e < n * D; e++) {
            ck_assert_double_eq_tol(value(g, e), value(whole, t * D + e), 1e-13);
        }
    }
}
END_TEST

/* ---- errors ---- */

static asc_tensor attempt(asc_tensor z, asc_tensor W, asc_subspace_options o)
{
    o.tuples = o.tuples ? o.tuples : one_two_three;
    o.eps = o.eps != 0 ? o.eps : 1e-8;
    return asc_subspace(ctx, z, W, asc_null(), asc_null(), &o);
}

START_TEST(subspace_errors)
{
    asc_tensor z = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 4, 4)), W = random_leaf(ASC_F32, 2, ASC_SHAPE(3, 4));
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 1, .n_tuples = 1}),
                   "subspace: k is 1, expected 2 to 4");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 5, .n_tuples = 1}), "subspace: k is 5, expected 2 to 4");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3}), "subspace: 0 tuples, expected 1 to 32");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3, .n_tuples = 33}),
                   "subspace: 33 tuples, expected 1 to 32");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3, .n_tuples = 1, .tuples = (int[]){3, 0}}),
                   "subspace: lag 1 of tuple 0 is 0, expected at least 1");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3, .n_tuples = 1, .eps = -1}),
                   "subspace: eps is -1, eps_rel 0, expected above 0 and at least 0");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3, .n_tuples = 1, .groups = 2}),
                   "subspace: groups is 2, z has 4 entries: expected groups that divide them, of 3 or more each, at "
                   "most 32767 in all");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3, .n_tuples = 1, .groups = 1 - ((int64_t)1 << 32)}),
                   "subspace: groups is -2147483648, z has 4 entries: expected groups that divide them, of 3 or more "
                   "each, at most 32767 in all");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 4, .n_tuples = 1}),
                   "subspace: weight is f32 (3, 4), expected (D, 1) with D <= 2147483647");
    expect_failure(attempt(z, W, (asc_subspace_options){.k = 3, .n_tuples = 1, .skip = 5}),
                   "subspace: skip is 5, expected 0 to 4");
    asc_subspace_options o = single(3);
    expect_failure(asc_subspace(ctx, z, W, random_leaf(ASC_F32, 3, ASC_SHAPE(2)), asc_null(), &o),
                   "subspace: bias is f32 (2), expected f32 (3), (D)");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        subspace_is_its_definition, subspace_of_many_tuples, subspaces_of_two_are_planes, nearly_dependent_vectors,
        repeated_and_zero_vectors, plucker_relations, symmetries, subspace_does_not_look_ahead,
        subspace_padding_is_not_seen, subspace_threads, subspace_streams, subspace_errors,
    };
    TCase *t = tcase_create("subspace");
    tcase_add_checked_fixture(t, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tcase_add_test(t, tests[i]);
    }
    return run_suite("ops/subspace", t);
}
