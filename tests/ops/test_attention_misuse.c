/* tests/ops/test_attention_misuse.c: wrong calls of attention. */
#include <stdio.h>

#include "tests/ops/unreal.h"

static asc_tensor attend_biased(asc_tensor x, asc_tensor bias)
{
    return asc_attention(ctx, &(asc_attention_inputs){.q = x, .k = x, .v = x, .bias = bias},
                         &(asc_attention_options){.heads = 2});
}

START_TEST(wrong_biases)
{
    static const char expected[] = ", expected f32 (1 or 3, 1 or 2, 5, 5)";
    const struct {
        asc_tensor bias;
        const char *got;
    } wrong[] = {
        {asc_zeros(ctx, ASC_F32, ASC_SHAPE(5)), "f32 (5)"},
        {asc_zeros(ctx, ASC_F32, ASC_SHAPE(5, 1)), "f32 (5, 1)"},
        {asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 5, 5)), "f32 (3, 5, 5)"},
        {asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 1, 5, 5)), "f32 (2, 1, 5, 5)"},
        {asc_zeros(ctx, ASC_F32, ASC_SHAPE(1, 1, 1, 5, 5)), "f32 (1, 1, 1, 5, 5)"},
        {asc_zeros(ctx, ASC_F64, ASC_SHAPE(5, 5)), "f64 (5, 5)"},
    };
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 5, 4));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char message[120];
        snprintf(message, sizeof message, "attention: bias is %s%s", wrong[i].got, expected);
        expect_failure(attend_biased(x, wrong[i].bias), message);
    }
}
END_TEST

static asc_tensor attend(asc_tensor q, asc_tensor k, asc_tensor v, asc_tensor rel, asc_tensor lengths,
                         asc_attention_options o)
{
    return asc_attention(ctx, &(asc_attention_inputs){.q = q, .k = k, .v = v, .rel_bias = rel, .lengths = lengths}, &o);
}

START_TEST(wrong_calls)
{
    const asc_attention_options two = {.heads = 2};
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 5, 4)), none = asc_null();
    asc_tensor wide = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 5, 6)), brief = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 4));
    asc_tensor flat = asc_zeros(ctx, ASC_F32, ASC_SHAPE(10, 4)), other = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 5, 4));
    asc_tensor count = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 5, 4));
    expect_failure(attend(x, x, x, none, none, (asc_attention_options){0}),
                   "attention: heads is 0, expected at least 1");
    expect_failure(attend(x, x, x, none, none, (asc_attention_options){.heads = 3}),
                   "attention: q is f32 (2, 5, 4), expected (B, N, H d) with H = 3");
    expect_failure(attend(flat, x, x, none, none, two), "attention: q is f32 (10, 4), expected (B, N, H d) with H = 2");
    expect_failure(attend(count, x, x, none, none, two), "attention: q is i64 (2, 5, 4), expected f32 or f64");
    expect_failure(attend(x, other, x, none, none, two),
                   "attention: k is f64 (2, 5, 4), expected f32, as the first input");
    expect_failure(attend(x, wide, x, none, none, two),
                   "attention: k is f32 (2, 5, 6), expected (2, M, 4)");
    expect_failure(attend(x, brief, brief, none, none, (asc_attention_options){.heads = 2, .causal = true}),
                   "attention: k is f32 (2, 4, 4), expected (2, M, 4) with M >= 5, or a full set without positions: "
                   "the queries stand at the last of the keys' positions");
    expect_failure(attend(x, x, brief, none, none, two),
                   "attention: v is f32 (2, 4, 4), expected (2, 5, H d) with H = 2");
    expect_failure(attend(x, x, x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4)), none, two),
                   "attention: rel_bias is f32 (2, 4), expected f32 (2, 2R + 1)");
    expect_failure(attend(x, x, x, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 5)), none, two),
                   "attention: rel_bias is f64 (2, 5), expected f32 (2, 2R + 1)");
    expect_failure(attend(x, x, x, none, asc_zeros(ctx, ASC_I64, ASC_SHAPE(5)), two),
                   "attention: lengths is i64 (5), expected i64 (2), one length a sequence");
    expect_failure(attend(x, x, x, none, none, (asc_attention_options){.heads = 2, .globals = 1}),
                   "attention: window is 0, globals is 1: expected none below 0, and globals with a window only");
    expect_failure(attend(x, x, x, none, none, (asc_attention_options){.heads = 2, .random = 1}),
                   "attention: random is 1, expected 0 to 32, and random links with a window only");
    expect_failure(attend(x, x, x, none, none, (asc_attention_options){.heads = 2, .window = 2, .random = 33}),
                   "attention: random is 33, expected 0 to 32, and random links with a window only");
    expect_failure(attend(x, x, none, none, none, two), "attention: v is null");
}
END_TEST

START_TEST(sizes_beyond_the_blas)
{
    const int64_t big = (int64_t)INT32_MAX + 1;
    setup_unreal();
    asc_tensor wide = asc_empty(ctx, ASC_F32, ASC_SHAPE(1, 1, big)), x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1, 1, 1));
    asc_tensor many = asc_empty(ctx, ASC_F32, ASC_SHAPE(1, big, 1));
    no_error();
    const asc_attention_options o = {.heads = 1};
    static const char *const message[] = {
        "attention: 1 keys, heads of 2147483648 and 1 elements together: expected at most 2147483647",
        "attention: 2147483648 keys, heads of 1 and 1 elements together: expected at most 2147483647",
        "attention: 1 keys, heads of 1 and 2147483648 elements together: expected at most 2147483647",
    };
    expect_failure(attend(wide, wide, x, asc_null(), asc_null(), o), message[0]);
    expect_failure(attend(x, many, many, asc_null(), asc_null(), o), message[1]);
    expect_failure(attend(x, x, wide, asc_null(), asc_null(), o), message[2]);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("misuse");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, wrong_calls);
    tcase_add_test(t, wrong_biases);
    tcase_add_test(t, sizes_beyond_the_blas);
    return run_suite("ops/attention misuse", t);
}
