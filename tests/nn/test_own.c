/* tests/nn/test_own.c: mixings of one's own: what they make, keep and hold. */
#include <stdio.h>
#include <string.h>

#include "nn/mixing.h"
#include "tests/context.h"

static asc_tensor pass_through(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)l, (void)lengths, (void)aux;
    return x;
}

/* Each is refused by a message of its own. */
static int mistake;
static asc_status make_wrongly(asc_layer *l, asc_maker *maker)
{
    (void)l;
    char longest[122];
    memset(longest, 'w', sizeof longest);
    longest[121] = '\0';
    switch (mistake) {
    case 0: asc_make_param(maker, "w", ASC_INIT_ZERO, 2, NULL); break;
    case 1: asc_make_param(maker, "w", ASC_INIT_LINEAR, 0, NULL); break;
    case 2: asc_make_param(maker, "w", ASC_INIT_ONE, ASC_MAX_DIMS + 1, (int64_t[ASC_MAX_DIMS + 1]){0}); break;
    case 3: asc_make_param(maker, "w", ASC_INIT_ONE, -1, NULL); break;
    case 4: asc_make_linear(maker, longest, 2, 2); break; /* shorter than the parameter's, with ".weight" not */
    case 5: asc_make_param(maker, "w", (asc_init)99, 0, NULL); break;
    case 6: asc_make_param(maker, "w", ASC_INIT_ONE, 2, (int64_t[]){2, -3}); break;
    default: asc_make_param(maker, "w", ASC_INIT_ONE, 0, NULL); break;
    }
    return ASC_OK;
}

START_TEST(what_cannot_be_made_is_refused)
{
    static const char *const says[] = {
        "make: w: 2 dimensions of shape NULL, expected 0 to 8 and their sizes",
        "make: w: a scalar, expected a last dimension of at least 1, which ASC_INIT_LINEAR goes by",
        "make: w: 9 dimensions, expected 0 to 8",
        "make: w: -1 dimensions of shape NULL, expected 0 to 8",
        "make: a parameter's name, wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww..., has 128 bytes",
        "make: w: init is 99, expected one of asc_init",
        "make: w: dimension 1 has size -3, expected 0 or more",
        NULL,
    };
    static const asc_mixing wrong = {.abi = ASC_MIXING_ABI, .name = "wrong", .forward = pass_through,
                                     .init = make_wrongly};
    asc_mixing_register(ctx, &wrong);
    mistake = _i;
    asc_layer *l = asc_layer_new(ctx, "wrong", 8, "{}", ASC_F64, 1);
    ck_assert_int_eq(l == NULL, says[_i] != NULL);
    if (says[_i]) {
        expect_error_with(ASC_ERR_ARG, says[_i]);
    }
    asc_layer_free(l);
}
END_TEST

static asc_status make_one(asc_layer *l, asc_maker *maker)
{
    (void)l;
    asc_make_param(maker, "w", ASC_INIT_EMBEDDING, 2, (int64_t[]){2, 2});
    return ASC_OK;
}

/* A model that starts from 0 does so, or says why not. */
START_TEST(outputs_that_start_from_zero)
{
    static const char *const right[] = {"w", NULL}, *const misspelt[] = {"v", NULL};
    static const asc_mixing zeroed = {.abi = ASC_MIXING_ABI, .name = "zeroed", .forward = pass_through,
                                      .init = make_one, .outputs = right},
                            other = {.abi = ASC_MIXING_ABI, .name = "other", .forward = pass_through,
                                     .init = make_one, .outputs = misspelt};
    asc_mixing_register(ctx, &zeroed);
    asc_mixing_register(ctx, &other);
    asc_lm *lm = asc_lm_new(ctx, "{\"mix\":\"zeroed\",\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":4,"
                            "\"zero_init\":true}", ASC_F64, 1);
    no_error();
    const double *w = asc_data(asc_params_find(asc_lm_params(lm), "blocks.0.mix.w"));
    ck_assert(w[0] == 0 && w[1] == 0 && w[2] == 0 && w[3] == 0);
    asc_lm_free(lm);
    ck_assert_ptr_null(asc_lm_new(ctx, "{\"mix\":\"other\",\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":4,"
                                  "\"zero_init\":true}", ASC_F64, 1));
    expect_error_with(ASC_ERR_ARG, "other: none of its outputs, 'v' the first, is a parameter of it");
}
END_TEST

/* A mixing that keeps its input, and gives what it holds for good. */
static asc_tensor held, last;
static asc_tensor give_held(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)l, (void)lengths, (void)aux;
    asc_release(last);
    last = asc_keep(x);
    return held;
}

START_TEST(what_a_mixing_keeps_and_holds_stays)
{
    static const asc_mixing holds = {.abi = ASC_MIXING_ABI, .name = "holds", .forward = give_held};
    static const char *const norms[] = {"post", "pre"};
    char config[200];
    asc_mixing_register(ctx, &holds);
    snprintf(config, sizeof config, "{\"d_model\":8,\"layers\":2,\"vocab\":9,\"block\":4,\"mix\":\"holds\","
             "\"block_norm\":\"%s\"}", norms[_i / 2]);
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F32, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    asc_lm_set_recompute(lm, _i % 2);
    asc_scope_begin(ctx);
    held = asc_keep(asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 4, 8)));
    asc_scope_end(ctx);
    last = asc_null();
    for (int i = 0; i < 3; i++) {
        asc_scope_begin(ctx);
        asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 4));
        ck_assert_int_eq(asc_backward_loss(ctx, asc_lm_objective(lm, x, x, NULL)), ASC_OK);
        asc_scope_end(ctx);
        ck_assert(asc_is_valid(held) && asc_is_valid(last));
    }
    asc_release(last);
    asc_release(held);
    ck_assert(!asc_is_valid(held) && !asc_is_valid(last));
    asc_lm_free(lm);
}
END_TEST

/* What it holds since before the call without a scope is its own, too: `forward` alone, and from cache to cache. */
START_TEST(what_stood_before_stays)
{
    static const asc_mixing holds = {.abi = ASC_MIXING_ABI, .name = "holds", .forward = give_held};
    asc_mixing_register(ctx, &holds);
    asc_layer *l = asc_layer_new(ctx, "holds", 8, "{}", ASC_F32, 1);
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 8));
    held = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 4, 8));
    last = asc_null();
    for (int i = 0; i < 3; i++) {
        asc_tensor y = asc_layer_forward(l, x, asc_null());
        no_error();
        asc_release(y);
        ck_assert(asc_is_valid(held) && asc_is_valid(x));
    }
    asc_release(last);
    asc_release(held);
    asc_layer_free(l);
}
END_TEST

/* So does what it gives of another shape, and is refused for; the error stands before the call, or comes from it. */
static bool fails;
static asc_tensor give_wrongly(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)x, (void)lengths;
    *aux = held;
    return fails ? (asc_fail(l->ctx, ASC_ERR_IO, "no"), held) : held;
}

START_TEST(what_is_refused_stays)
{
    static const asc_mixing gives = {.abi = ASC_MIXING_ABI, .name = "gives", .forward = give_wrongly};
    asc_mixing_register(ctx, &gives);
    asc_layer *l = asc_layer_new(ctx, "gives", 8, "{}", ASC_F32, 1);
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 8)), aux;
    held = asc_keep(asc_zeros(ctx, ASC_F32, ASC_SHAPE(1)));
    asc_release(held); /* its maker's is left */
    for (int i = 0; i < 2; i++) {
        fails = i;
        ck_assert(asc_is_null(asc_layer_forward_aux(l, x, asc_null(), &aux)) && asc_is_null(aux));
        expect_error_with(i ? ASC_ERR_IO : ASC_ERR_ARG, i ? "no" : "gives: its mixing gave f32 (1), expected f32 (2, ");
        ck_assert(asc_is_valid(held));
    }
    asc_release(held);
    asc_layer_free(l);
}
END_TEST

/* A shift by a token: its state is the last input, staged twice, the first time in vain. */
static asc_tensor shift(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    int64_t n = asc_size(x, 1);
    asc_scope_begin(l->ctx);
    asc_tensor before = asc_slice(l->ctx, x, 1, 0, n - 1, 1);
    asc_tensor first = asc_zeros(l->ctx, l->dtype, ASC_SHAPE(asc_size(x, 0), 1, l->D));
    asc_tensor y = asc_concat(l->ctx, (asc_tensor[]){first, before}, 2, 1);
    asc_scope_end_but(l->ctx, &y, 1);
    return y;
}

static asc_tensor shift_next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    asc_cache_stage(l, c, 0, asc_zeros(l->ctx, l->dtype, ASC_SHAPE(1, 1, l->D)));
    asc_tensor before = c->length > 0 ? c->state[0] : asc_zeros(l->ctx, l->dtype, ASC_SHAPE(1, 1, l->D));
    asc_cache_stage(l, c, 0, x);
    return asc_contiguous(l->ctx, before);
}

START_TEST(an_input_is_a_state)
{
    static const asc_mixing shifts = {.abi = ASC_MIXING_ABI, .name = "shifts", .forward = shift, .next = shift_next};
    static const int64_t tokens[] = {3, 1, 4, 1, 5, 2, 6, 5};
    asc_mixing_register(ctx, &shifts);
    asc_lm *lm = asc_lm_new(ctx, "{\"d_model\":8,\"layers\":2,\"vocab\":9,\"block\":8,\"mix\":\"shifts\"}",
                            ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    const double *whole = asc_data(asc_lm_logits(lm, asc_from(ctx, ASC_I64, tokens, ASC_SHAPE(1, 8))));
    size_t early = 0;
    asc_lm_cache *c = asc_lm_cache_new(lm, 8);
    for (int i = 0; i < 30; i++) {
        asc_lm_cache_reset(c);
        for (int t = 0; t < 8; t++) {
            asc_scope_begin(ctx);
            asc_tensor logits = asc_lm_next(c, tokens + t, 1);
            no_error();
            for (int v = 0; v < 9; v++) {
                ck_assert_double_eq_tol(((const double *)asc_data(logits))[v], whole[9 * t + v], 1e-12);
            }
            asc_scope_end(ctx);
        }
        early = i == 2 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_uint_eq(asc_memory(ctx).bytes, early);
    asc_lm_cache_free(c);
    asc_scope_end(ctx);
    asc_lm_free(lm);
}
END_TEST

/* What leaves a scope of the mixing's own is let go by who asked for it: nothing stays in a program without scopes. */
START_TEST(nothing_stays)
{
    static const asc_mixing shifts = {.abi = ASC_MIXING_ABI, .name = "shifts", .forward = shift};
    asc_mixing_register(ctx, &shifts);
    asc_lm *lm = asc_lm_new(ctx, "{\"d_model\":8,\"layers\":2,\"vocab\":9,\"block\":4,\"mix\":\"shifts\"}",
                            ASC_F32, 1);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(2, 4));
    size_t early = 0;
    for (int i = 0; i < 100; i++) {
        asc_tensor loss = asc_lm_objective(lm, x, x, NULL);
        ck_assert_int_eq(asc_backward_loss(ctx, loss), ASC_OK);
        asc_release(loss);
        early = i == 20 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_uint_eq(asc_memory(ctx).bytes, early);
    asc_release(x);
    asc_lm_free(lm);
}
END_TEST

/* A scope too many or too few is told, and the caller's are as they were. */
static asc_tensor open_scope(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    asc_scope_begin(l->ctx);
    return asc_neg(l->ctx, x);
}

static asc_tensor close_scope(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    asc_tensor y = asc_keep(asc_neg(l->ctx, x));
    asc_scope_end(l->ctx);
    return y;
}

START_TEST(scopes_that_a_mixing_leaves_otherwise)
{
    static const asc_mixing opens = {.abi = ASC_MIXING_ABI, .name = "opens", .forward = open_scope},
                            closes = {.abi = ASC_MIXING_ABI, .name = "closes", .forward = close_scope};
    asc_mixing_register(ctx, _i ? &closes : &opens);
    asc_layer *l = asc_layer_new(ctx, _i ? "closes" : "opens", 8, "{}", ASC_F32, 1);
    for (int i = 0; i < 2; i++) {
        asc_scope_begin(ctx);
        asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 8)), aux;
        ck_assert(asc_is_null(asc_layer_forward_aux(l, x, asc_null(), &aux)) && asc_is_null(aux));
        expect_error(ASC_ERR_STATE, _i ? "closes: its function ended a scope that it did not begin"
                                       : "opens: its function began a scope that it did not end");
        asc_scope_end(ctx);
        no_error();
    }
    asc_scope_end(ctx);
    expect_error_with(ASC_ERR_STATE, "no scope has begun");
    asc_layer_free(l);
}
END_TEST

/* Failures without a word. */
static asc_status show_nothing(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    (void)l, (void)x, (void)lengths, (void)parts;
    return ASC_ERR_IO;
}

static asc_status no_cache(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    (void)l, (void)c, (void)capacity;
    return ASC_ERR_IO;
}

START_TEST(what_fails_without_a_word_is_told)
{
    static const asc_mixing mute = {.abi = ASC_MIXING_ABI, .name = "mute", .forward = shift, .next = shift_next,
                                    .inspect = show_nothing, .cache = no_cache};
    asc_mixing_register(ctx, &mute);
    asc_lm *lm = asc_lm_new(ctx, "{\"d_model\":8,\"layers\":1,\"vocab\":9,\"block\":8,\"mix\":\"mute\"}",
                            ASC_F64, 1);
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_lm_inspect(lm, asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, 4)), 0, parts), ASC_ERR_IO);
    expect_error(ASC_ERR_IO, "mute: its inspect failed without a message");
    ck_assert_ptr_null(asc_lm_cache_new(lm, 8));
    expect_error(ASC_ERR_IO, "mute: its cache failed without a message");
    asc_layer *l = asc_layer_new(ctx, "mute", 8, "{}", ASC_F64, 1);
    ck_assert_int_eq(asc_layer_inspect(l, asc_zeros(ctx, ASC_F64, ASC_SHAPE(1, 4, 8)), asc_null(), parts), ASC_ERR_IO);
    expect_error(ASC_ERR_IO, "mute: its inspect failed without a message");
    asc_params_free(parts);
    asc_layer_free(l);
    asc_lm_free(lm);
}
END_TEST

/* Each token's loss is to look at. */
START_TEST(no_gradient_flows_from_what_is_to_look_at)
{
    asc_lm *lm = asc_lm_new(ctx, "{\"d_model\":8,\"layers\":1,\"vocab\":9,\"block\":8,\"heads\":2}", ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, 4)), each;
    asc_lm_loss(lm, x, x, &each);
    asc_backward_loss(ctx, asc_mean(ctx, each, ASC_ALL_DIMS, false));
    expect_error(ASC_ERR_ARG, "backward: loss is an output that no gradient flows from");
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("own");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, what_cannot_be_made_is_refused, 0, 8);
    tcase_add_test(t, outputs_that_start_from_zero);
    tcase_add_loop_test(t, what_a_mixing_keeps_and_holds_stays, 0, 4);
    tcase_add_test(t, what_stood_before_stays);
    tcase_add_test(t, what_is_refused_stays);
    tcase_add_test(t, an_input_is_a_state);
    tcase_add_test(t, nothing_stays);
    tcase_add_loop_test(t, scopes_that_a_mixing_leaves_otherwise, 0, 2);
    tcase_add_test(t, what_fails_without_a_word_is_told);
    tcase_add_test(t, no_gradient_flows_from_what_is_to_look_at);
    return run_suite("nn/own", t);
}
