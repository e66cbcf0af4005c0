/* tests/nn/test_nn.c: the language model: causality to the bit, the generation cache, configurations, threads,
 * memory. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ops.h>

#include "nn/mixing.h"
#include "tests/draw.h"
#include "tests/nn/model.h"

enum { B = 3, N = 70, V = 41 };

/* One configuration of each kind that a position, a norm or a mixing may have; N = 70 is more than one panel of
 * attention. */
#define TRANSFORMER "\"mix\":\"transformer\",\"heads\":2"
#define ASCENDER "\"mix\":\"ascender\",\"heads\":2,\"k\":3"
static const char *const variants[] = {
    TRANSFORMER,
    TRANSFORMER ",\"block_norm\":\"pre\",\"positions\":\"rotary\",\"pos_emb\":false",
    TRANSFORMER ",\"positions\":\"alibi\",\"pos_emb\":false",
    TRANSFORMER ",\"window\":5,\"globals\":2",
    TRANSFORMER ",\"rel\":4,\"mix_residual\":false",
    TRANSFORMER ",\"norm\":\"rms\",\"activation\":\"swiglu\",\"tied\":false,\"emb_norm\":true,\"logit_cap\":5",
    TRANSFORMER ",\"block_norm\":\"pre\",\"activation\":\"relu2\",\"mup_width\":8",
    TRANSFORMER ",\"qk_norm\":\"gain\",\"attn_cap\":2,\"positions\":\"alibi\"",
    ASCENDER ",\"qk_norm\":\"gain\",\"positions\":\"rotary\"",
    ASCENDER,
    ASCENDER ",\"gate\":\"after\",\"neighbors\":\"base\",\"positions\":\"rotary\""
        ",\"pos_emb\":false,\"block_norm\":\"pre\"",
    ASCENDER ",\"window\":9,\"globals\":2,\"neighbors\":\"hybrid_union\",\"d_value\":3,\"unbiased\":true,\"rel\":4",
    ASCENDER ",\"gate\":\"none\",\"kernel\":\"tau2\",\"neighbor_self\":true,\"rho_self\":true,\"positions\":\"alibi\"",
    ASCENDER ",\"variant\":\"background\",\"heading\":\"qk\",\"positions\":\"rotary\"",
    ASCENDER ",\"variant\":\"background\",\"window\":9,\"neighbors\":\"window\"",
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static asc_lm *model(asc_ctx *c, int variant, asc_dtype dtype)
{
    char config[400];
    snprintf(config, sizeof config,
             "{\"d_model\":16,\"d_ff\":24,\"layers\":2,\"vocab\":%d,\"block\":%d,%s}", V, N, variants[variant]);
    asc_lm *lm = asc_lm_new(c, config, dtype, 7);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(c));
    return lm;
}

START_TEST(causal_to_the_bit)
{
    asc_lm *lm = model(ctx, _i, ASC_F32);
    int64_t x[B * N];
    draw_tokens(x, B * N, V, 1);
    asc_tensor before = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, N)));
    const int64_t cuts[] = {0, 1, 33, 63, 64, N - 2};
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        int64_t t = cuts[c], y[B * N];
        draw_tokens(y, B * N, V, 2 + c);
        for (int64_t b = 0; b < B; b++) {
            memcpy(y + b * N, x + b * N, (size_t)(t + 1) * sizeof *x);
        }
        asc_tensor after = asc_lm_logits(lm, asc_from(ctx, ASC_I64, y, ASC_SHAPE(B, N)));
        ck_assert_msg(asc_is_valid(after), "%s", asc_error_message(ctx));
        for (int64_t b = 0; b < B; b++) {
            const float *p = (const float *)asc_data(before) + b * N * V,
                        *q = (const float *)asc_data(after) + b * N * V;
            ck_assert_int_eq(memcmp(p, q, (size_t)((t + 1) * V) * sizeof *p), 0);
            ck_assert_int_ne(memcmp(p + (N - 1) * V, q + (N - 1) * V, V * sizeof *p), 0);
        }
    }
    asc_lm_free(lm);
}
END_TEST

START_TEST(cache_equals_the_full_pass)
{
    asc_lm *lm = model(ctx, _i, ASC_F64);
    int64_t x[N];
    draw_tokens(x, N, V, 5);
    asc_tensor full = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    asc_lm_cache *cache = asc_lm_cache_new(lm, N);
    ck_assert_ptr_nonnull(cache);
    for (int pass = 0; pass < 2; pass++) { /* the second one after a reset */
        const int64_t pieces[] = {9, 1, 1, 30, 1, 28};
        int64_t at = 0;
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            asc_tensor next = asc_lm_next(cache, x + at, pieces[i]);
            at += pieces[i];
            ck_assert_msg(asc_numel(next) == V, "%s", asc_error_message(ctx));
            ck_assert_int_eq(asc_lm_cache_length(cache), at);
            for (int64_t v = 0; v < V; v++) {
                double want = ((const double *)asc_data(full))[(at - 1) * V + v];
                ck_assert_double_eq_tol(((const double *)asc_data(next))[v], want, 1e-12);
            }
        }
        asc_lm_cache_reset(cache);
    }
    ck_assert(asc_is_null(asc_lm_next(cache, x, N + 1)));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
    asc_lm_cache_free(cache);
    asc_lm_free(lm);
}
END_TEST

START_TEST(loss_is_the_logits_cross_entropy)
{
    asc_lm *lm = model(ctx, 0, ASC_F64);
    int64_t x[B * N], y[B * N];
    draw_tokens(x, B * N, V, 8);
    draw_tokens(y, B * N, V, 9);
    y[4] = -1;
    asc_tensor X = asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, N)), Y = asc_from(ctx, ASC_I64, y, ASC_SHAPE(B, N)), each;
    double loss = asc_item(asc_lm_loss(lm, X, Y, &each)), total = 0;
    const double *s = asc_data(asc_lm_logits(lm, X)), *got = asc_data(each);
    for (int64_t i = 0; i < B * N; i++, s += V) {
        double sum = 0;
        for (int v = 0; v < V; v++) {
            sum += exp(s[v]);
        }
        double want = y[i] < 0 ? 0 : log(sum) - s[y[i]];
        ck_assert_double_eq_tol(got[i], want, 1e-12);
        total += want;
    }
    ck_assert_double_eq_tol(loss, total / (B * N - 1), 1e-12);
    asc_lm_free(lm);
}
END_TEST

/* A few steps of training with dropout; the parameters at the end, as bytes, into `out`. */
static size_t train(int threads, unsigned char **out, uint64_t *allocations)
{
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = threads});
    asc_lm *lm = model(c, 0, ASC_F32);
    asc_optim *optim = asc_adamw_new(c, asc_lm_params(lm), &(asc_adamw_options){.weight_decay = .1});
    asc_lm_set_dropout(lm, .1);
    for (unsigned step = 0; step < 4; step++) {
        int64_t x[B * N], y[B * N];
        draw_tokens(x, B * N, V, step);
        draw_tokens(y, B * N, V, step + 100);
        if (step > 0) {
            allocations[step - 1] = asc_memory(c).allocations;
        }
        asc_set_step(c, 1, step);
        train_step(c, lm, optim, x, y, B, N);
    }
    size_t bytes;
    *out = params_bytes(lm, &bytes);
    asc_optim_free(optim);
    asc_lm_free(lm);
    asc_ctx_free(c);
    return bytes;
}

START_TEST(tokens_are_told_as_the_models)
{
    asc_lm *lm = asc_lm_new(ctx, "{\"mix\":\"transformer\",\"d_model\":8,\"heads\":2,\"layers\":1,\"vocab\":41,"
                            "\"block\":9}", ASC_F32, 1);
    asc_tensor real = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 9)), flat = asc_zeros(ctx, ASC_I64, ASC_SHAPE(9));
    ck_assert(asc_is_null(asc_lm_logits(lm, real)));
    expect_error(ASC_ERR_ARG, "lm: tokens are f32 (2, 9), expected i64 (B, N)");
    ck_assert(asc_is_null(asc_lm_loss(lm, real, flat, NULL)));
    expect_error(ASC_ERR_ARG, "lm: tokens are f32 (2, 9), expected i64 (B, N)");
    ck_assert(asc_is_null(asc_lm_logits(lm, flat)));
    expect_error(ASC_ERR_ARG, "lm: tokens are i64 (9), expected i64 (B, N)");
    ck_assert(asc_is_null(asc_lm_logits(lm, asc_null())));
    expect_error(ASC_ERR_ARG, "lm: tokens is null");
    asc_release(flat);
    ck_assert(asc_is_null(asc_lm_logits(lm, flat)));
    expect_error(ASC_ERR_STATE, "lm: tokens is a tensor that is gone");
    asc_lm_free(lm);
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    unsigned char *one, *other;
    uint64_t allocations[3];
    size_t bytes = train(1, &one, allocations);
    for (int threads = 2; threads <= 5; threads += 3) {
        train(threads, &other, allocations);
        ck_assert_int_eq(memcmp(one, other, bytes), 0);
        free(other);
    }
    free(one);
}
END_TEST

START_TEST(a_step_allocates_nothing_after_the_first)
{
    unsigned char *params;
    uint64_t allocations[3];
    train(2, &params, allocations);
    ck_assert_uint_eq(allocations[1], allocations[2]);
    free(params);
}
END_TEST

/* Forward and backward of n sequences. */
static void pass(asc_lm *lm, int64_t n)
{
    int64_t x[B * N], y[B * N];
    draw_tokens(x, B * N, V, 1);
    draw_tokens(y, B * N, V, 2);
    asc_scope_begin(ctx);
    asc_tensor loss = asc_lm_loss(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(n, N)),
                                  asc_from(ctx, ASC_I64, y, ASC_SHAPE(n, N)), NULL);
    ck_assert_int_eq(asc_backward(ctx, loss, asc_null(), false), ASC_OK);
    asc_params_zero_grad(asc_lm_params(lm));
    asc_scope_end(ctx);
}

/* As wide as a sequence needs for its activations to be cut out of the larger step's. */
START_TEST(a_smaller_step_takes_the_larger_ones_memory)
{
    asc_lm *lm = asc_lm_new(ctx, "{\"d_model\":256,\"d_ff\":512,\"layers\":2,\"vocab\":41,\"block\":70,"
                            TRANSFORMER "}", ASC_F32, 1);
    pass(lm, B);
    pass(lm, B);
    size_t held = asc_memory(ctx).bytes;
    for (int64_t n = B - 1; n > 0; n--) {
        pass(lm, n);
    }
    ck_assert_uint_lt(asc_memory(ctx).bytes, held + held / 10);
    uint64_t allocations = asc_memory(ctx).allocations;
    pass(lm, B);
    ck_assert_uint_eq(asc_memory(ctx).allocations, allocations);
    asc_lm_free(lm);
}
END_TEST

START_TEST(steps_learn)
{
    asc_lm *lm = model(ctx, _i, ASC_F32);
    int64_t x[N + 1];
    draw_tokens(x, N + 1, V, 4);
    ck_assert_double_gt(expect_learning(lm, x, N), log(V) - .5);
    asc_lm_free(lm);
}
END_TEST

START_TEST(parameters_have_the_names_of_the_specification)
{
    asc_lm *lm = model(ctx, 1, ASC_F32);
    static const struct {
        const char *name;
        int64_t rows, cols;
        bool decay;
    } want[] = {
        {"tok_emb.weight", V, 16, true},          {"blocks.0.mix.q.weight", 16, 16, true},
        {"blocks.1.mix.o.bias", 16, 0, false},    {"blocks.1.norm1.weight", 16, 0, false},
        {"blocks.0.norm2.bias", 16, 0, false},    {"blocks.1.ffn.fc1.weight", 24, 16, true},
        {"blocks.0.ffn.fc2.weight", 16, 24, true}, {"norm_f.weight", 16, 0, false},
    };
    asc_params *p = asc_lm_params(lm);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        asc_tensor t = asc_params_find(p, want[i].name);
        ck_assert_msg(asc_is_valid(t), "%s", want[i].name);
        ck_assert_int_eq(asc_size(t, 0), want[i].rows);
        ck_assert_int_eq(asc_size(t, 1), want[i].cols);
    }
    for (int i = 0; i < asc_params_count(p); i++) {
        ck_assert(asc_params_decays(p, i) == (asc_ndim(asc_params_at(p, i)) == 2));
    }
    ck_assert(asc_is_null(asc_params_find(p, "pos_emb.weight")));
    asc_lm_free(lm);
}
END_TEST

/* The papers' sizes. */
START_TEST(parameter_counts)
{
    asc_lm *six = asc_lm_new(ctx, "{\"mix\":\"transformer\",\"d_model\":256,\"layers\":6,\"heads\":4,"
                             "\"vocab\":30522,\"block\":128}", ASC_F32, 1);
    ck_assert_int_eq(asc_params_numel(asc_lm_params(six)), 12584960);
    asc_lm_free(six);
}
END_TEST

static const struct {
    const char *config, *message;
} refused[] = {
    {"{\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":4}", "config: heads is missing"},
    {"{\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":4,\"heads\":3}",
     "config: heads is 3, expected a divisor of the width 8"},
    {"{\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":4,\"hedas\":2,\"heads\":2}",
     "config: unknown setting 'hedas'; did you mean 'heads'?"},
    {"{\"d_model\":\"8\",\"layers\":1,\"vocab\":5,\"block\":4,\"heads\":2}",
     "config: d_model: got \"8\", expected a whole number from 1 to 1048576"},
    {"{\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":4,\"heads\":2,\"mask\":\"full\"}",
     "config: the mixing of layer 0 looks ahead, which a language model must not: mask is full"},
    {"{\"d_model\":8,\"layers\":2,\"vocab\":5,\"block\":4,\"heads\":2,\"mix\":[\"transformer\"]}",
     "config: mix has 1 entries, expected one a layer: 2"},
    {"{\"d_model\":6,\"layers\":1,\"vocab\":5,\"block\":4,\"heads\":2,\"positions\":\"rotary\"}",
     "config: heads is 2, expected a divisor of the width 6 with an even quotient, for rotary positions"},
    {"{\"mix\":\"transfomer\"}", "config: mix: got 'transfomer', expected one of transformer, grassmann, ascender, "
     "linear, conv, recurrent; did you mean 'transformer'?"},
    {"{\"mix\":[\"conv\",\"cnov\"]}", "config: mix: got 'cnov', expected one of transformer, grassmann, ascender, "
     "linear, conv, recurrent; did you mean 'conv'?"},
    {"{\"mix\":\"conv\",\"block\":0}", "config: block: got 0, expected a whole number >= 1"},
    {"[1]", "config: got another value than an object, expected a JSON object"},
};

START_TEST(wrong_configurations_are_refused)
{
    size_t held = asc_memory(ctx).bytes;
    ck_assert_ptr_null(asc_lm_new(ctx, refused[_i].config, ASC_F32, 1));
    ck_assert_str_eq(asc_error_message(ctx), refused[_i].message);
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
    asc_error_clear(ctx);
    asc_lm *lm = model(ctx, 0, ASC_F32);
    ck_assert_ptr_nonnull(lm);
    asc_lm_free(lm);
    ck_assert_uint_ge(asc_memory(ctx).bytes, held);
}
END_TEST

/* Whether the JSON object has the key. */
static bool has_key(const char *object, const char *key)
{
    char quoted[80];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    return strstr(object, quoted) != NULL;
}

/* The rows of a table that are in effect; each that belongs to no choice that was not made is. */
static int count_in_effect(const char *config, asc_schema schema)
{
    int n = 0;
    for (const asc_setting *row = schema.settings; row && row->key; row++) {
        ck_assert_msg(has_key(config, row->key) || row->only, "%s", row->key);
        ck_assert_ptr_eq(asc_setting_find(schema.settings, row->key), row);
        n += has_key(config, row->key);
    }
    return n;
}

/* A configuration has all settings of the model and of its mixing, and no others. */
START_TEST(every_setting_is_listed)
{
    const asc_mixing *m;
    for (int i = 0; (m = asc_mixing_of(ctx, i)); i++) {
        char config[400];
        snprintf(config, sizeof config, "{\"mix\":\"%s\",\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":9%s%s",
                 m->name, m->sample ? "," : "}", m->sample ? m->sample + 1 : "");
        asc_lm *lm = asc_lm_new(ctx, config, ASC_F32, 1);
        ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
        int colons = 0;
        for (const char *p = asc_lm_config(lm); *p; p++) {
            colons += *p == ':';
        }
        ck_assert_int_eq(count_in_effect(asc_lm_config(lm), asc_lm_schema(ctx, 0)) +
                         count_in_effect(asc_lm_config(lm), asc_lm_schema(ctx, i + 1)), colons);
        asc_lm_free(lm);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("lm");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, causal_to_the_bit, 0, VARIANTS);
    tcase_add_loop_test(t, cache_equals_the_full_pass, 0, VARIANTS);
    tcase_add_test(t, loss_is_the_logits_cross_entropy);
    tcase_add_test(t, tokens_are_told_as_the_models);
    tcase_add_test(t, any_number_of_threads_gives_the_same_bits);
    tcase_add_test(t, a_step_allocates_nothing_after_the_first);
    tcase_add_test(t, a_smaller_step_takes_the_larger_ones_memory);
    tcase_add_loop_test(t, steps_learn, 0, VARIANTS);
    tcase_add_test(t, parameters_have_the_names_of_the_specification);
    tcase_add_test(t, parameter_counts);
    tcase_add_loop_test(t, wrong_configurations_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, every_setting_is_listed);
    return run_suite("nn", t);
}
