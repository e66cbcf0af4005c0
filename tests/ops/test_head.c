/* tests/ops/test_head.c: linear and linear_cross_entropy, a model's head and its loss, against plain loops. */
#include "tests/ops/unreal.h"

/* ---- linear ---- */

static const struct linear_kind {
    int64_t rows, in, out;
    bool bias;
} linear_kinds[] = {
    {7, 5, 3, true},     {1, 1, 1, true},     {3, 4, 1, false},  {0, 3, 2, true},   {2, 0, 3, true},
    {2, 0, 3, false},    {2, 3, 0, true},     {600, 3, 600, true}, /* C in tiles */
    {5, 5000, 3, true},  /* the sum over `in` in pieces, */
    {5000, 2, 3, false}, /* and dW's over the rows */
    {2049, 2, 1, true},  {1, 2048, 1, true},
};
enum { LINEAR_KINDS = sizeof linear_kinds / sizeof *linear_kinds };

/* Twice the same backward pass: what comes second is added. */
static void check_linear(const struct linear_kind *k, asc_dtype dtype)
{
    int64_t in = k->in, out = k->out;
    asc_tensor x = random_leaf(dtype, 1, ASC_SHAPE(k->rows, in)), w = random_leaf(dtype, 2, ASC_SHAPE(out, in));
    asc_tensor b = k->bias ? random_leaf(dtype, 3, ASC_SHAPE(out)) : asc_null(), dy = asc_null();
    for (int pass = 0; pass < 2; pass++) {
        asc_tensor y = asc_linear(ctx, x, w, b);
        expect_shape(y, ASC_SHAPE(k->rows, out));
        dy = run_backward(y);
        for (int64_t i = 0; i < k->rows * out; i++) {
            double sum = k->bias ? value(b, i % out) : 0;
            for (int64_t m = 0; m < in; m++) {
                sum += value(x, i / out * in + m) * value(w, i % out * in + m);
            }
            expect_close(y, i, sum, 10 + sqrt((double)in));
        }
    }
    for (int64_t i = 0; i < k->rows * in; i++) {
        double sum = 0;
        for (int64_t o = 0; o < out; o++) {
            sum += 2 * value(dy, i / in * out + o) * value(w, o * in + i % in);
        }
        expect_close(asc_grad(x), i, sum, 20 + 10 * sqrt((double)out));
    }
    for (int64_t i = 0; i < out * in; i++) {
        double sum = 0;
        for (int64_t r = 0; r < k->rows; r++) {
            sum += 2 * value(dy, r * out + i / in) * value(x, r * in + i % in);
        }
        expect_close(asc_grad(w), i, sum, 20 + 10 * sqrt((double)k->rows));
    }
    for (int64_t o = 0; k->bias && o < out; o++) {
        double sum = 0;
        for (int64_t r = 0; r < k->rows; r++) {
            sum += 2 * value(dy, r * out + o);
        }
        expect_close(asc_grad(b), o, sum, 20 + 10 * sqrt((double)k->rows));
    }
}

START_TEST(linear_is_the_equation)
{
    check_linear(&linear_kinds[_i / 2], floats[_i % 2]);
}
END_TEST

START_TEST(linear_takes_any_leading_dimensions)
{
    asc_tensor w = random_leaf(floats[_i], 2, ASC_SHAPE(3, 4)), x = random_leaf(floats[_i], 1, ASC_SHAPE(2, 5, 4));
    asc_tensor y = asc_linear(ctx, x, w, asc_null());
    expect_shape(y, ASC_SHAPE(2, 5, 3));
    asc_tensor row = asc_reshape(ctx, asc_slice(ctx, asc_slice(ctx, x, 0, 1, 2, 1), 1, 3, 4, 1), ASC_SHAPE(4));
    asc_tensor one = asc_linear(ctx, row, w, asc_null());
    expect_shape(one, ASC_SHAPE(3));
    for (int64_t o = 0; o < 3; o++) {
        expect_close(one, o, value(y, 8 * 3 + o), 10);
    }
    expect_shape(asc_linear(ctx, asc_zeros(ctx, floats[_i], ASC_SHAPE(0, 7, 4)), w, asc_null()), ASC_SHAPE(0, 7, 3));
}
END_TEST

START_TEST(linear_wrong_calls)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), w = asc_zeros(ctx, ASC_F32, ASC_SHAPE(4, 3));
    asc_tensor b = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3)), none = asc_null();
    expect_failure(asc_linear(ctx, x, b, none), "linear: weight is f32 (3), expected (out, 3)");
    expect_failure(asc_linear(ctx, w, asc_zeros(ctx, ASC_F32, ASC_SHAPE(4, 4)), none),
                   "linear: weight is f32 (4, 4), expected (out, 3)");
    expect_failure(asc_linear(ctx, x, w, b), "linear: bias is f32 (3), expected f32 (4), (out)");
    expect_failure(asc_linear(ctx, x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 3)), none),
                   "linear: weight is f64 (4, 3), expected f32, as the first input");
    expect_failure(asc_linear(ctx, asc_scalar(ctx, ASC_F32, 1), w, none), "linear: x is f32 (), expected (..., in)");
    expect_failure(asc_linear(ctx, x, none, none), "linear: weight is null");
}
END_TEST

/* ---- linear_cross_entropy ---- */

/* 512 tokens are a pass, at least 64 and at most V/32 words are a tile. */
static const struct head_kind {
    int64_t tokens, V, D;
    int ignored; /* every so manieth target is; 0: none, 1: all */
} head_kinds[] = {
    {6, 7, 4, 0},   {5, 64, 3, 2},   {9, 65, 3, 3},   {1, 1, 3, 0},   {4, 1, 2, 0},    {3, 5, 1, 1},   {0, 5, 3, 0},
    {3, 300, 2, 0}, {512, 3, 2, 5}, {513, 70, 2, 4}, {1100, 5, 2, 3}, {7, 2100, 3, 2}, {3, 4, 0, 0},
};
enum { HEAD_KINDS = sizeof head_kinds / sizeof *head_kinds };

static asc_tensor make_targets(const struct head_kind *k)
{
    asc_tensor y = asc_empty(ctx, ASC_I64, 1, &k->tokens);
    int64_t *target = asc_data_mut(y);
    for (int64_t t = 0; t < k->tokens; t++) {
        target[t] = k->ignored > 0 && t % k->ignored == 0 ? -1 - t % 3 : (t * 37 + 5) % k->V;
    }
    return y;
}

static double dot(asc_tensor x, int64_t i, asc_tensor w, int64_t v, int64_t D)
{
    double sum = 0;
    for (int64_t m = 0; m < D; m++) {
        sum += value(x, i * D + m) * value(w, v * D + m);
    }
    return sum;
}

static double capped(double s, double cap)
{
    return cap > 0 ? cap * tanh(s / cap) : s;
}

/* Adds a token's gradients, and returns its loss; p: V numbers. */
static double token_loss(asc_tensor x, asc_tensor w, int64_t t, int64_t target, double cap, double share, double *p,
                         double *dx, double *dw)
{
    int64_t V = asc_size(w, 0), D = asc_size(w, 1);
    double sum = 0, score = capped(dot(x, t, w, target, D), cap);
    for (int64_t v = 0; v < V; v++) {
        p[v] = exp(capped(dot(x, t, w, v, D), cap));
        sum += p[v];
    }
    for (int64_t v = 0; v < V; v++) {
        double along = cap > 0 ? tanh(dot(x, t, w, v, D) / cap) : 0;
        double ds = share * (p[v] / sum - (v == target)) * (1 - along * along);
        for (int64_t m = 0; m < D; m++) {
            dx[t * D + m] += ds * value(w, v * D + m);
            dw[v * D + m] += ds * value(x, t * D + m);
        }
    }
    return log(sum) - score;
}

static void check_head(const struct head_kind *k, asc_dtype dtype, double cap)
{
    const double cotangent = -1.5;
    asc_tensor x = random_leaf(dtype, 1, ASC_SHAPE(k->tokens, k->D)), w = random_leaf(dtype, 2, ASC_SHAPE(k->V, k->D));
    asc_tensor y = make_targets(k), each, loss = asc_linear_cross_entropy_top(ctx, x, w, y, cap, &each, NULL);
    expect_shape(loss, 0, NULL);
    expect_shape(each, 1, &k->tokens);
    ck_assert(!asc_requires_grad(each));
    ck_assert_int_eq(asc_backward(ctx, loss, asc_scalar(ctx, dtype, cotangent), false), ASC_OK);
    double counted = 0, total = 0, *p = malloc((size_t)k->V * sizeof *p);
    double *dx = calloc((size_t)(k->tokens * k->D + 1), sizeof *dx);
    double *dw = calloc((size_t)(k->V * k->D + 1), sizeof *dw);
    for (int64_t t = 0; t < k->tokens; t++) {
        counted += value(y, t) >= 0;
    }
    for (int64_t t = 0; t < k->tokens; t++) {
        int64_t target = (int64_t)value(y, t);
        double one = target < 0 ? 0 : token_loss(x, w, t, target, cap, cotangent / counted, p, dx, dw);
        expect_close(each, t, one, 10);
        total += one;
    }
    expect_close(loss, 0, counted > 0 ? total / counted : 0, 10);
    for (int64_t i = 0; i < asc_numel(x); i++) {
        expect_close(asc_grad(x), i, dx[i], 10 / fmax(counted, 1));
    }
    for (int64_t i = 0; i < asc_numel(w); i++) {
        expect_close(asc_grad(w), i, dw[i], 10);
    }
    free(p);
    free(dx);
    free(dw);
}

START_TEST(head_is_the_equation)
{
    check_head(&head_kinds[_i / 2], floats[_i % 2], 0);
}
END_TEST

START_TEST(head_with_a_cap_is_the_equation)
{
    check_head(&head_kinds[_i / 2], floats[_i % 2], .7);
}
END_TEST

/* The gradient of one input is the same whether or not the other's is asked for, and adds to what is there. */
START_TEST(head_gradients_one_by_one)
{
    const struct head_kind k = {530, 70, 3, 4};
    asc_tensor x = random_leaf(floats[_i], 1, ASC_SHAPE(k.tokens, k.D));
    asc_tensor w = random_leaf(floats[_i], 2, ASC_SHAPE(k.V, k.D));
    asc_tensor y = make_targets(&k), none = asc_null(), in[] = {x, w};
    asc_backward(ctx, asc_linear_cross_entropy(ctx, x, w, y, NULL), none, false);
    no_error();
    asc_tensor both[] = {asc_grad(x), asc_grad(w)};
    for (int i = 0; i < 2; i++) {
        asc_tensor before = asc_contiguous(ctx, both[i]), copy = asc_empty(ctx, floats[_i], 2, asc_shape(both[i]));
        asc_copy(ctx, copy, before);
        asc_tensor dx = i ? asc_detach(ctx, x) : x, dw = i ? w : asc_detach(ctx, w);
        asc_backward(ctx, asc_linear_cross_entropy(ctx, dx, dw, y, NULL), none, false);
        no_error();
        for (int64_t j = 0; j < asc_numel(copy); j++) {
            ck_assert_double_eq(value(asc_grad(in[i]), j), 2 * value(copy, j));
        }
    }
    asc_tensor loss = asc_linear_cross_entropy(ctx, asc_detach(ctx, x), asc_detach(ctx, w), y, NULL);
    ck_assert(!asc_requires_grad(loss) && isfinite(asc_item(loss)));
}
END_TEST

/* ‖g - h‖/‖h‖ of the gradients of two tensors. */
static double gradients_apart(asc_tensor a, asc_tensor b)
{
    double apart = 0, size = 0;
    for (int64_t i = 0; i < asc_numel(a); i++) {
        apart += pow(value(asc_grad(a), i) - value(asc_grad(b), i), 2);
        size += pow(value(asc_grad(b), i), 2);
    }
    return sqrt(apart / size);
}

/* Where the targets are all but certain, what products round is as small as what is left of the gradients. */
START_TEST(head_that_rounds_and_is_sure)
{
    enum { T = 530, V = 300, D = 32 };
    double cap = _i % 2 ? 20 : 0, sure = _i / 2 ? .8 : .5;
    asc_tensor w = random_leaf(ASC_F32, 2, ASC_SHAPE(V, D)), y = make_targets(&(struct head_kind){T, V, D, 7});
    asc_tensor x = asc_zeros(ctx, ASC_F32, 2, (int64_t[]){T, D});
    float *row = asc_data_mut(x);
    for (int64_t i = 0; i < T * D; i++) {
        int64_t target = (int64_t)value(y, i / D);
        row[i] = (float)sure * (target < 0 ? 1 : (float)value(w, target * D + i % D));
    }
    asc_require_grad(x, true);
    asc_tensor wide_x = asc_cast(ctx, asc_detach(ctx, x), ASC_F64), wide_w = asc_cast(ctx, asc_detach(ctx, w), ASC_F64);
    asc_require_grad(wide_x, true);
    asc_require_grad(wide_w, true);
    ck_assert_int_eq(asc_set_precision(ctx, ASC_PRECISION_BF16), ASC_OK);
    asc_tensor none = asc_null(), loss = asc_linear_cross_entropy_top(ctx, x, w, y, cap, NULL, NULL);
    asc_backward(ctx, loss, none, false);
    asc_tensor want = asc_linear_cross_entropy_top(ctx, wide_x, wide_w, y, cap, NULL, NULL);
    asc_backward(ctx, want, none, false);
    no_error();
    ck_assert_double_lt(asc_item(want), .1);
    ck_assert_double_lt(fabs(asc_item(loss) / asc_item(want) - 1), .05);
    ck_assert_double_lt(gradients_apart(x, wide_x), .015);
    ck_assert_double_lt(gradients_apart(w, wide_w), .015);
}
END_TEST

/* In words of several tiles, with ties and targets that are ignored. */
START_TEST(head_knows_the_most_probable)
{
    enum { T = 600, V = 300, D = 3 };
    asc_tensor x = random_leaf(floats[_i], 1, ASC_SHAPE(T, D)), w = random_leaf(floats[_i], 2, ASC_SHAPE(V, D)), top;
    int64_t y[T];
    for (int t = 0; t < T; t++) {
        double most = -INFINITY;
        for (int v = 0; v < V; v++) {
            if (dot(x, t, w, v, D) > most) {
                most = dot(x, t, w, v, D);
                y[t] = v;
            }
        }
        y[t] = t % 3 == 0 ? -1 : t % 3 == 1 ? (y[t] + 1) % V : y[t];
    }
    asc_tensor loss = asc_linear_cross_entropy_top(ctx, x, w, asc_from(ctx, ASC_I64, y, ASC_SHAPE(T)), 0, NULL, &top);
    no_error();
    expect_shape(top, 2, (int64_t[]){T, 2});
    ck_assert(asc_requires_grad(loss) && !asc_requires_grad(top));
    for (int t = 0; t < T; t++) {
        double sum = 0, most = 0;
        for (int v = 0; v < V; v++) {
            double p = exp(dot(x, t, w, v, D));
            sum += p;
            most = fmax(most, p);
        }
        expect_close(top, 2 * t, most / sum, 10);
        ck_assert_msg(value(top, 2 * t + 1) == (t % 3 == 2), "token %d", t);
    }
    asc_tensor same = asc_full(ctx, floats[_i], 1, ASC_SHAPE(1, 1));
    asc_tensor both = asc_full(ctx, floats[_i], 1, ASC_SHAPE(2, 1));
    for (int64_t target = 0; target < 2; target++) {
        asc_tensor y_of = asc_from(ctx, ASC_I64, &target, ASC_SHAPE(1));
        asc_linear_cross_entropy_top(ctx, same, both, y_of, 0, NULL, &top);
        expect_close(top, 0, .5, 1);
        ck_assert(value(top, 1) == 1);
    }
}
END_TEST

/* Scores of ±10⁴ in words of different tiles. */
START_TEST(head_with_large_scores)
{
    enum { WORDS = 300 };
    asc_tensor x = asc_full(ctx, floats[_i], 100, ASC_SHAPE(2, 1)), w = asc_empty(ctx, floats[_i], ASC_SHAPE(WORDS, 1));
    asc_tensor wide = asc_empty(ctx, ASC_F64, ASC_SHAPE(WORDS, 1)), each;
    double *value_of = asc_data_mut(wide);
    for (int i = 0; i < WORDS; i++) {
        value_of[i] = i == 250 ? 100 : -100 + i % 7;
    }
    asc_copy(ctx, w, wide);
    asc_require_grad(x, true);
    asc_require_grad(w, true);
    asc_tensor y = asc_from(ctx, ASC_I64, (int64_t[]){250, 0}, ASC_SHAPE(2));
    asc_tensor loss = asc_linear_cross_entropy(ctx, x, w, y, &each);
    ck_assert_int_eq(asc_backward(ctx, loss, asc_null(), false), ASC_OK);
    expect_close(each, 0, 0, 0);
    expect_close(each, 1, 20000, 0);
    expect_close(asc_grad(x), 0, 0, 0);
    expect_close(asc_grad(x), 1, 100, 0); /* (w_250 - w_0)/2 */
    expect_close(asc_grad(w), 0, -50, 0);
    expect_close(asc_grad(w), 250, 50, 0);
}
END_TEST

/* A value that is not finite is not hidden. */
START_TEST(head_passes_nan_on)
{
    asc_tensor x = random_leaf(floats[_i], 1, ASC_SHAPE(3, 2)), w = random_leaf(floats[_i], 2, ASC_SHAPE(200, 2)), each;
    asc_tensor y = asc_zeros(ctx, ASC_I64, ASC_SHAPE(3)), nan = asc_full(ctx, floats[_i], NAN, ASC_SHAPE(2));
    asc_copy(ctx, asc_reshape(ctx, asc_slice(ctx, asc_detach(ctx, x), 0, 1, 2, 1), ASC_SHAPE(2)), nan);
    asc_tensor loss = asc_linear_cross_entropy(ctx, x, w, y, &each);
    ck_assert(isnan(asc_item(loss)) && isnan(value(each, 1)));
    ck_assert(isfinite(value(each, 0)) && isfinite(value(each, 2)));
    asc_set_nan_check(ctx, true);
    ck_assert(asc_is_null(asc_linear_cross_entropy(ctx, x, w, y, NULL)));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_NONFINITE);
}
END_TEST

/* Loss and gradients. */
static void run_head(asc_tensor *result, int i)
{
    const struct head_kind k = {600, 2100, 40, 5};
    asc_tensor x = random_leaf(ASC_F32, 1, ASC_SHAPE(k.tokens, k.D)), w = random_leaf(ASC_F32, 2, ASC_SHAPE(k.V, k.D));
    asc_tensor b = random_leaf(ASC_F32, 3, ASC_SHAPE(k.D)), square = random_leaf(ASC_F32, 4, ASC_SHAPE(k.D, k.D));
    asc_tensor h = asc_linear(ctx, x, square, b);
    result[0] = asc_linear_cross_entropy_top(ctx, h, w, make_targets(&k), 3 * i, &result[1], NULL);
    ck_assert_int_eq(asc_backward(ctx, result[0], asc_null(), false), ASC_OK);
    const asc_tensor leaf[] = {x, w, b, square};
    for (int l = 0; l < 4; l++) {
        result[2 + l] = asc_grad(leaf[l]);
    }
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    same_for_threads(run_head, _i);
}
END_TEST

START_TEST(head_wrong_calls)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), w = asc_zeros(ctx, ASC_F32, ASC_SHAPE(5, 3)), each = x;
    asc_tensor y = asc_from(ctx, ASC_I64, (int64_t[]){4, 5}, ASC_SHAPE(2));
    expect_failure(asc_linear_cross_entropy(ctx, x, w, y, &each),
                   "linear_cross_entropy: targets has 5 at element 1, expected less than 5");
    ck_assert(asc_is_null(each));
    expect_failure(asc_linear_cross_entropy(ctx, x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(5, 2)), y, NULL),
                   "linear_cross_entropy: weight is f32 (5, 2), expected (V, 3) with 1 <= V <= 2147483647");
    expect_failure(asc_linear_cross_entropy(ctx, x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(0, 3)), y, NULL),
                   "linear_cross_entropy: weight is f32 (0, 3), expected (V, 3) with 1 <= V <= 2147483647");
    expect_failure(asc_linear_cross_entropy(ctx, x, w, asc_zeros(ctx, ASC_I64, ASC_SHAPE(3)), NULL),
                   "linear_cross_entropy: targets is i64 (3), expected i64 (2), a target for each row of x");
    expect_failure(asc_linear_cross_entropy(ctx, x, w, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2)), NULL),
                   "linear_cross_entropy: targets is f32 (2), expected i64 (2), a target for each row of x");
    expect_failure(asc_linear_cross_entropy(ctx, asc_scalar(ctx, ASC_F32, 0), w, y, NULL),
                   "linear_cross_entropy: x is f32 (), expected (..., D)");
    expect_failure(asc_linear_cross_entropy(ctx, x, w, asc_null(), NULL), "linear_cross_entropy: targets is null");
    expect_failure(asc_linear_cross_entropy_top(ctx, x, w, y, -1, NULL, NULL),
                   "linear_cross_entropy: cap is -1, expected 0 for none, or 1.17549e-38 to 8.50706e+37 in f32");
    expect_failure(asc_linear_cross_entropy_top(ctx, x, w, y, 1e39, NULL, NULL),
                   "linear_cross_entropy: cap is 1e+39, expected 0 for none, or 1.17549e-38 to 8.50706e+37 in f32");
}
END_TEST

/* ---- sizes that the BLAS can't count ---- */

START_TEST(sizes_beyond_the_blas)
{
    const int64_t big = (int64_t)INT32_MAX + 1;
    setup_unreal();
    asc_tensor wide = asc_empty(ctx, ASC_F32, ASC_SHAPE(1, big)), tall = asc_empty(ctx, ASC_F32, ASC_SHAPE(big, 1));
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1, 1)), y = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1));
    no_error();
    expect_failure(asc_linear(ctx, wide, wide, asc_null()),
                   "matrix product: rows of 2147483648, 2147483648 and 1 elements, sums of 2147483648: "
                   "expected at most 2147483647");
    expect_failure(asc_linear(ctx, x, tall, asc_null()),
                   "matrix product: rows of 1, 1 and 2147483648 elements, sums of 1: expected at most 2147483647");
    expect_failure(asc_linear_cross_entropy(ctx, wide, wide, y, NULL),
                   "linear_cross_entropy: x is f32 (1, 2147483648), expected (..., D) with D <= 2147483647");
    expect_failure(asc_linear_cross_entropy(ctx, x, tall, y, NULL),
                   "linear_cross_entropy: weight is f32 (2147483648, 1), expected (V, 1) with 1 <= V <= 2147483647");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("head");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, linear_is_the_equation, 0, 2 * LINEAR_KINDS);
    tcase_add_loop_test(t, linear_takes_any_leading_dimensions, 0, 2);
    tcase_add_test(t, linear_wrong_calls);
    tcase_add_loop_test(t, head_is_the_equation, 0, 2 * HEAD_KINDS);
    tcase_add_loop_test(t, head_with_a_cap_is_the_equation, 0, 2 * HEAD_KINDS);
    tcase_add_loop_test(t, head_gradients_one_by_one, 0, 2);
    tcase_add_loop_test(t, head_that_rounds_and_is_sure, 0, 4);
    tcase_add_loop_test(t, head_knows_the_most_probable, 0, 2);
    tcase_add_loop_test(t, head_with_large_scores, 0, 2);
    tcase_add_loop_test(t, head_passes_nan_on, 0, 2);
    tcase_add_loop_test(t, any_number_of_threads_gives_the_same_bits, 0, 2);
    tcase_add_test(t, head_wrong_calls);
    tcase_add_test(t, sizes_beyond_the_blas);
    return run_suite("ops/head", t);
}
