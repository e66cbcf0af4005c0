/* tests/ops/test_products.c: sums of products, convolution, biases by distance; what joins, cuts, pads and scatters. */
#include "tests/ops/expected.h"

/* ---- einsum, against a sum over all letters ---- */

enum { LETTERS = 5 };

static const int64_t size_of_letter[LETTERS] = {2, 3, 4, 2, 5}; /* a … e */

static int64_t element_of(const char *letters, int n, const int64_t *index)
{
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        at = at * size_of_letter[letters[i] - 'a'] + index[letters[i] - 'a'];
    }
    return at;
}

static asc_tensor letters_leaf(const char *letters, int n, uint64_t stream)
{
    int64_t shape[LETTERS];
    for (int i = 0; i < n; i++) {
        shape[i] = size_of_letter[letters[i] - 'a'];
    }
    return random_leaf(ASC_F64, stream, n, shape);
}

/* The size of a letter, 1 if the equation lacks it: the sum is over those that it has. */
static int64_t range_of(const char *equation, int letter)
{
    return strchr(equation, 'a' + letter) ? size_of_letter[letter] : 1;
}

static void check_einsum(const char *equation)
{
    const char *arrow = strstr(equation, "->"), *comma = strchr(equation, ',');
    const char *in[2] = {equation, comma ? comma + 1 : NULL};
    int n[2] = {(int)((comma ? comma : arrow) - equation), comma ? (int)(arrow - comma - 1) : 0};
    int n_out = (int)strlen(arrow + 2);
    asc_tensor x[2] = {letters_leaf(in[0], n[0], 1), comma ? letters_leaf(in[1], n[1], 2) : asc_null()};
    asc_tensor y = asc_einsum(ctx, equation, x, comma ? 2 : 1), dy = run_backward(y);
    double sum[240] = {0}, grad[2][240] = {{0}};
    int64_t i[LETTERS], total = 1;
    for (int l = 0; l < LETTERS; l++) {
        total *= range_of(equation, l);
    }
    for (int64_t t = 0; t < total; t++) {
        int64_t rest = t;
        for (int l = 0; l < LETTERS; l++) {
            i[l] = rest % range_of(equation, l);
            rest /= range_of(equation, l);
        }
        int64_t p = element_of(in[0], n[0], i), q = comma ? element_of(in[1], n[1], i) : 0;
        int64_t o = element_of(arrow + 2, n_out, i);
        double a = value(x[0], p), b = comma ? value(x[1], q) : 1;
        sum[o] += a * b;
        grad[0][p] += b * value(dy, o);
        grad[1][q] += a * value(dy, o);
    }
    ck_assert_int_eq(asc_ndim(y), n_out);
    for (int64_t o = 0; o < asc_numel(y); o++) {
        ck_assert_msg(fabs(value(y, o) - sum[o]) < 1e-12, "%s: %g, expected %g", equation, value(y, o), sum[o]);
    }
    for (int k = 0; k < (comma ? 2 : 1); k++) {
        for (int64_t e = 0; e < asc_numel(x[k]); e++) {
            ck_assert_msg(fabs(value(asc_grad(x[k]), e) - grad[k][e]) < 1e-12, "%s: gradient of x[%d]", equation, k);
        }
    }
}

START_TEST(einsum)
{
    static const char *const equations[] = {
        "abc,ace->abe", "bc,ec->eb", "ab->ba", "abc->b", "abc->", "ab,ab->", "ab,cd->dbca", "abc,cb->ac", "abc,d->bd",
        "abcd,abde->abce", "abc,bca->cab", "a,a->a", "ab,b->a", "ab,->a", ",->",
    };
    check_einsum(equations[_i]);
}
END_TEST

START_TEST(einsum_errors)
{
    static const struct {
        const char *equation, *message;
    } wrong[] = {
        {"ab,bc->ac", "einsum: dimension 0 of x[1], 'b', is 4, expected 3"},
        {"abc,de->a", "einsum: x[0] has 2 dimensions, expected 3: \"abc\""},
        {"ab,de", "einsum: equation \"ab,de\" is not of the form \"ij,jk->ik\""},
        {"ab,de->f", "einsum: equation \"ab,de->f\" has a letter after -> that no operand has"},
        {"aa,de->a", "einsum: equation \"aa,de->a\" has a letter twice in a term"},
        {"ab->a", "einsum: equation \"ab->a\" has one operand, two tensors were given"},
        {"ab,de,a->b", "einsum: equation \"ab,de,a->b\" has more operands than tensors were given"},
        {"...a,de->a", "einsum: equation \"...a,de->a\" has one operand, two tensors were given"},
    };
    asc_tensor x[] = {asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), asc_zeros(ctx, ASC_F32, ASC_SHAPE(4, 5))};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_failure(asc_einsum(ctx, wrong[i].equation, x, 2), wrong[i].message);
    }
    expect_failure(asc_einsum(ctx, "a->a", x, 3), "einsum: 3 tensors, expected 1 or 2");
    expect_failure(asc_einsum(ctx, NULL, x, 1), "einsum: equation is NULL");
    expect_failure(asc_einsum(ctx, "a->a", NULL, 1), "einsum: x is NULL");
    x[1] = asc_null();
    expect_failure(asc_einsum(ctx, "ab,bc->ac", x, 2), "einsum: x[1] is null");
    expect_failure(asc_outer(ctx, x[0], asc_scalar(ctx, ASC_F32, 1)), "outer: b has no dimensions, expected (..., n)");
}
END_TEST

START_TEST(outer)
{
    asc_tensor a = given(ASC_F32, VALUES(1, 2, 3, 4), ASC_SHAPE(2, 2));
    asc_tensor b = given(ASC_F32, VALUES(1, 10, 100), ASC_SHAPE(3));
    asc_tensor y = asc_outer(ctx, a, b);
    expect_shape(y, ASC_SHAPE(2, 2, 3));
    expect_values(y, VALUES(1, 10, 100, 2, 20, 200, 3, 30, 300, 4, 40, 400));
}
END_TEST

/* ---- convolution ---- */

START_TEST(causal_convolution)
{
    for (int k = 0; k < 2; k++) {
        double at[12], w[18];
        for (int i = 0; i < 18; i++) {
            at[i % 12] = i % 12 / 4. - 1;
            w[i] = i / 8. - 1;
        }
        asc_tensor x = given(floats[k], 12, at, ASC_SHAPE(1, 4, 3));
        asc_tensor weight = given(floats[k], 18, w, ASC_SHAPE(3, 3, 2));
        asc_tensor bias = given(floats[k], VALUES(.5, -1, 2), ASC_SHAPE(3));
        asc_tensor y = asc_conv1d(ctx, x, weight, bias, &(asc_conv1d_options){1, 1, ASC_PADDING_CAUSAL});
        expect_values(y, VALUES(2.03125, -1.15625, .15625, 2.4375, -.75, .5625, -.65625, -.46875, 4.21875, -3.75,
                                -.1875, 7.875));
        asc_tensor dy = given(floats[k], VALUES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), ASC_SHAPE(1, 4, 3));
        ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
        expect_values(asc_grad(x), VALUES(-.375, 3.375, 7.125, -3.75, 4.5, 12.75, -7.125, 5.625, 18.375, -2.25, 5.25,
                                          12.75));
        expect_values(asc_grad(weight), VALUES(0, 13.5, 4.5, 18, 9, 22.5, -.75, 14, 4.5, 19.5, 9.75, 25, -1.5, 14.5,
                                               4.5, 21, 10.5, 27.5));
        expect_values(asc_grad(bias), VALUES(18, 22, 26));
    }
}
END_TEST

typedef struct conv_case {
    int64_t B, N, C, O, K;
    asc_conv1d_options o;
    int64_t before, out;
} conv_case;

/* More rows than a piece, groups, dilations, every padding. */
static const conv_case convolutions[] = {
    {2, 600, 6, 4, 3, {2, 2, ASC_PADDING_CAUSAL}, 4, 600},
    {2, 300, 5, 5, 4, {5, 3, ASC_PADDING_CAUSAL}, 9, 300},
    {1, 9, 3, 2, 4, {1, 1, ASC_PADDING_SAME}, 1, 9},
    {3, 9, 4, 6, 2, {2, 5, ASC_PADDING_NONE}, 0, 4},
    {1, 2, 2, 2, 7, {1, 1, ASC_PADDING_SAME}, 3, 2},
    {1, 2, 2, 2, 7, {1, 1, ASC_PADDING_NONE}, 0, 0},
};

START_TEST(convolution)
{
    const conv_case *t = &convolutions[_i];
    int64_t c = t->C / t->o.groups, per_group = t->O / t->o.groups;
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(t->B, t->N, t->C));
    asc_tensor w = random_leaf(ASC_F32, 2, ASC_SHAPE(t->O, c, t->K)), bias = random_leaf(ASC_F32, 3, ASC_SHAPE(t->O));
    asc_tensor y = asc_conv1d(ctx, x, w, bias, &t->o);
    expect_shape(y, ASC_SHAPE(t->B, t->out, t->O));
    const float *px = asc_data(x), *pw = asc_data(w);
    for (int64_t i = 0; i < asc_numel(y); i++) {
        int64_t o = i % t->O, at = i / t->O % t->out, b = i / t->O / t->out;
        double sum = value(bias, o), size = fabs(sum);
        for (int64_t k = 0; k < t->K; k++) {
            int64_t s = at + k * t->o.dilation - t->before;
            for (int64_t j = 0; j < c && s >= 0 && s < t->N; j++) {
                double term = (double)pw[(o * c + j) * t->K + k] *
                              (double)px[(b * t->N + s) * t->C + o / per_group * c + j];
                sum += term;
                size += fabs(term);
            }
        }
        expect_close(y, i, sum, size);
    }
}
END_TEST

/* Sums over the sequence, whose terms are all alike: added one by one in float, they are off by 2e-3. */
START_TEST(filters_of_channels)
{
    const int64_t shapes[][2] = {{1 << 18, 3}, {3, 600}, {300, 513}};
    for (int i = 0; i < 3; i++) {
        int64_t N = shapes[i][0], C = shapes[i][1];
        asc_tensor x = asc_full(ctx, ASC_F32, .1, ASC_SHAPE(1, N, C)), w = random_leaf(ASC_F32, 1, ASC_SHAPE(C, 1, 1));
        asc_tensor y = asc_conv1d(ctx, x, w, asc_null(), &(asc_conv1d_options){C, 1, ASC_PADDING_NONE});
        asc_tensor sum = asc_sum(ctx, y, ASC_ALL_DIMS, false);
        ck_assert_int_eq(asc_backward(ctx, sum, asc_null(), false), ASC_OK);
        for (int64_t c = 0; c < C; c++) {
            expect_close(asc_grad(w), c, (double)N * (double).1F, 40 * (double)N * .1);
        }
    }
}
END_TEST

static void convolve(asc_tensor *result, int i)
{
    (void)i;
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(2, 700, 8)), w = random_leaf(ASC_F32, 2, ASC_SHAPE(6, 4, 3));
    result[0] = asc_conv1d(ctx, x, w, asc_null(), &(asc_conv1d_options){2, 1, ASC_PADDING_CAUSAL});
    run_backward(result[0]);
    result[1] = asc_grad(x);
    result[2] = asc_grad(w);
}

START_TEST(threads_do_not_matter)
{
    same_for_threads(convolve, 0);
}
END_TEST

START_TEST(convolution_errors)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 5, 4)), w = asc_zeros(ctx, ASC_F32, ASC_SHAPE(4, 3, 2));
    expect_failure(asc_conv1d(ctx, x, w, asc_null(), NULL),
                   "conv1d: weight is f32 (4, 3, 2), expected (O, 4, K), O a multiple of 1 groups, K at least 1");
    expect_failure(asc_conv1d(ctx, x, w, asc_null(), &(asc_conv1d_options){3, 1, ASC_PADDING_NONE}),
                   "conv1d: x is f32 (2, 5, 4), expected (B, N, C), C a multiple of 3 groups");
    expect_failure(asc_conv1d(ctx, x, w, asc_null(), &(asc_conv1d_options){0}),
                   "conv1d: groups is 0, dilation is 0, padding is 0: expected at least 1, at least 1, 0 to 2");
}
END_TEST

/* ---- biases by distance ---- */

START_TEST(biases)
{
    asc_tensor alibi = asc_alibi(ctx, ASC_F64, 2, 2, 3);
    expect_shape(alibi, ASC_SHAPE(2, 2, 3));
    double m = 1. / 16, l = 1. / 256;
    expect_values(alibi, VALUES(-m, 0, -m, -2 * m, -m, 0, -l, 0, -l, -2 * l, -l, 0));
    asc_tensor table = given(ASC_F64, VALUES(1, 2, 3, 4, 5, 6), ASC_SHAPE(2, 3));
    asc_tensor y = asc_relative_bias(ctx, table, 2, 3);
    expect_values(y, VALUES(1, 2, 3, 1, 1, 2, 4, 5, 6, 4, 4, 5));
    backward_of_sum(y);
    expect_values(asc_grad(table), VALUES(3, 2, 1, 3, 2, 1));
    expect_failure(asc_relative_bias(ctx, table, 3, 2), "relative_bias: N is 3, M is 2, expected 0 <= N <= M");
    expect_failure(asc_relative_bias(ctx, alibi, 1, 1), "relative_bias: table is f64 (2, 2, 3), expected (H, 2R + 1)");
    expect_failure(asc_alibi(ctx, ASC_I64, 2, 2, 3),
                   "alibi: dtype is i64, heads is 2, N is 2, M is 3, expected f32 or f64, "
                   "heads >= 1, 0 <= N <= M");
}
END_TEST

/* They are what asc_attention adds to its own scores. */
START_TEST(biases_are_those_of_attention)
{
    asc_tensor q = random_leaf(ASC_F64, 1, ASC_SHAPE(1, 3, 2)), k = random_leaf(ASC_F64, 2, ASC_SHAPE(1, 4, 2));
    asc_tensor v = random_leaf(ASC_F64, 3, ASC_SHAPE(1, 4, 2)), table = random_leaf(ASC_F64, 4, ASC_SHAPE(1, 5));
    asc_tensor fused = asc_attention(ctx, &(asc_attention_inputs){.q = q, .k = k, .v = v, .rel_bias = table},
                                     &(asc_attention_options){.heads = 1, .alibi = true});
    asc_tensor s = asc_scale(ctx, asc_matmul_transposed(ctx, q, false, k, true), 1 / sqrt(2));
    s = asc_add(ctx, asc_add(ctx, s, asc_alibi(ctx, ASC_F64, 1, 3, 4)), asc_relative_bias(ctx, table, 3, 4));
    asc_tensor y = asc_matmul(ctx, asc_softmax(ctx, s, asc_null()), v);
    for (int64_t i = 0; i < 6; i++) {
        expect_close(fused, i, value(y, i), 1);
    }
}
END_TEST

/* ---- joining, cutting, padding, scattering ---- */

static void count_release(void *count, void *data)
{
    (void)data;
    ++*(int *)count;
}

/* A split whose second part can't be made holds no first one. */
START_TEST(split_failed)
{
    double two[] = {1, NAN};
    int released = 0;
    asc_tensor x = asc_wrap(ctx, ASC_F64, two, ASC_SHAPE(2), NULL, count_release, &released), part[2];
    asc_set_nan_check(ctx, true);
    ck_assert_int_eq(asc_tensor_split(ctx, x, 0, 2, (int64_t[]){1, 1}, part), ASC_ERR_NONFINITE);
    ck_assert(asc_is_null(part[0]));
    asc_error_clear(ctx);
    asc_set_nan_check(ctx, false);
    asc_release(x);
    ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(stack_split_roll)
{
    asc_tensor x = given(ASC_F32, VALUES(1, 2, 3, 4, 5, 6), ASC_SHAPE(2, 3)), part[3];
    const int64_t sizes[] = {1, 0, 2};
    ck_assert_int_eq(asc_tensor_split(ctx, x, -1, 3, sizes, part), ASC_OK);
    expect_values(part[0], VALUES(1, 4));
    expect_shape(part[1], ASC_SHAPE(2, 0));
    expect_values(part[2], VALUES(2, 3, 5, 6));
    asc_tensor rows[] = {asc_squeeze(ctx, part[0], 1), asc_slice(ctx, asc_squeeze(ctx, part[0], 1), 0, 0, 2, 1)};
    asc_tensor y = asc_stack(ctx, rows, 2, -1);
    expect_shape(y, ASC_SHAPE(2, 2));
    expect_values(y, VALUES(1, 1, 4, 4));
    backward_of_sum(y);
    expect_values(asc_grad(x), VALUES(2, 0, 0, 2, 0, 0));
    expect_values(asc_roll(ctx, x, 1, 1), VALUES(3, 1, 2, 6, 4, 5));
    expect_values(asc_roll(ctx, x, 1, -4), VALUES(2, 3, 1, 5, 6, 4));
    expect_values(asc_roll(ctx, x, 0, INT64_MIN), VALUES(1, 2, 3, 4, 5, 6));
    const asc_tensor unlike[] = {x, y};
    expect_failure(asc_stack(ctx, unlike, 2, 0), "stack: x[1] is (2, 2), expected (2, 3), as x[0]");
    expect_failure(asc_stack(ctx, unlike, 2, 3), "stack: dim is 3, x[0] has 2 dimensions of at most 7");
    asc_tensor_split(ctx, x, 0, 2, sizes, part);
    expect_failure(part[0], "tensor_split: the sizes add up to 1, expected dimension 0 of x, 2");
    asc_tensor_split(ctx, x, 1, 2, (int64_t[]){1, 1}, part);
    expect_failure(part[0], "tensor_split: the sizes add up to 2, expected dimension 1 of x, 3");
    asc_tensor_split(ctx, x, 1, 2, (int64_t[]){4, -1}, part);
    expect_failure(part[0], "tensor_split: sizes[0] is 4, expected 0 to 3, what is left of dimension 1 of x, 3");
    asc_tensor_split(ctx, x, 2, 1, (int64_t[]){1}, part);
    expect_failure(part[0], "tensor_split: dim is 2, x has 2 dimensions");
    expect_failure(asc_roll(ctx, x, 2, 1), "roll: dim is 2, x has 2 dimensions");
}
END_TEST

START_TEST(pad)
{
    asc_tensor x = given(ASC_F32, VALUES(1, 2, 3, 4), ASC_SHAPE(2, 2));
    const int64_t before[] = {1, 0}, after[] = {0, 2}, wrong[] = {0, -1};
    asc_tensor y = asc_pad(ctx, asc_transpose(ctx, x, 0, 1), 2, before, after, -1);
    expect_shape(y, ASC_SHAPE(3, 4));
    expect_values(y, VALUES(-1, -1, -1, -1, 1, 3, -1, -1, 2, 4, -1, -1));
    backward_of_sum(y);
    expect_values(asc_grad(x), VALUES(1, 1, 1, 1));
    expect_failure(asc_pad(ctx, x, 2, NULL, wrong, 0),
                   "pad: dimension 1 is to get 0 before and -1 after, expected at least 0");
    expect_failure(asc_pad(ctx, x, 1, before, NULL, 0),
                   "pad: x is f32 (2, 2), expected 1 dimensions, as there are paddings");
}
END_TEST

START_TEST(scatter_add)
{
    asc_tensor x = given(ASC_F64, VALUES(1, 2, 3, 4, 5, 6), ASC_SHAPE(2, 3)), y;
    asc_tensor index = given(ASC_I64, VALUES(2, 2, 0, 0, 1, 2, 1, 1), ASC_SHAPE(2, 4));
    asc_tensor src = given(ASC_F64, VALUES(10, 20, 30, 40, 50, 60, 70, 80), ASC_SHAPE(2, 4));
    y = asc_scatter_add(ctx, x, 1, index, src);
    expect_values(y, VALUES(71, 2, 33, 4, 205, 66));
    asc_tensor dy = given(ASC_F64, VALUES(1, 2, 3, 4, 5, 6), ASC_SHAPE(2, 3));
    ck_assert_int_eq(asc_backward(ctx, y, dy, false), ASC_OK);
    expect_values(asc_grad(x), VALUES(1, 2, 3, 4, 5, 6));
    expect_values(asc_grad(src), VALUES(3, 3, 1, 1, 5, 6, 5, 5));
    expect_failure(asc_scatter_add(ctx, x, 1, index, x),
                   "scatter_add: src is f64 (2, 3), expected f64 (2, 4), an entry for each index");
    expect_failure(asc_scatter_add(ctx, x, 0, index, src),
                   "scatter_add: index is i64 (2, 4), expected i64 of at most (2, 3) but for dimension 0");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("products");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, einsum, 0, 15);
    tcase_add_test(t, einsum_errors);
    tcase_add_test(t, outer);
    tcase_add_test(t, causal_convolution);
    tcase_add_loop_test(t, convolution, 0, sizeof convolutions / sizeof *convolutions);
    tcase_add_test(t, threads_do_not_matter);
    tcase_add_test(t, filters_of_channels);
    tcase_add_test(t, convolution_errors);
    tcase_add_test(t, biases);
    tcase_add_test(t, biases_are_those_of_attention);
    tcase_add_test(t, split_failed);
    tcase_add_test(t, stack_split_roll);
    tcase_add_test(t, pad);
    tcase_add_test(t, scatter_add);
    return run_suite("ops/products", t);
}
