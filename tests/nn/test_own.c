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
    default: asc_make_param(maker, "w", ASC_INIT_ONE, 0, NULL); break;
    }
    return ASC_OK;
}

START_TEST(what_cannot_be_made_is_refused)
{
    static const char *const says[] = {
        "make: w: 2 dimensions of shape NULL, expected 0 to 8 and their sizes",
        "make: w: a scalar, expected a last dimension, which ASC_INIT_LINEAR goes by",
        "make: w: 9 dimensions, expected 0 to 8",
        "make: w: -1 dimensions of shape NULL, expected 0 to 8",
        "make: a parameter's name, wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww..., has 128 bytes",
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

int main(void)
{
    TCase *t = tcase_create("own");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, what_cannot_be_made_is_refused, 0, 6);
    tcase_add_loop_test(t, what_a_mixing_keeps_and_holds_stays, 0, 4);
    return run_suite("nn/own", t);
}
