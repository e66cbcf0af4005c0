/* tests/test_nn_recompute.c: a language model trained with recomputation has the same parameters, to the bit. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/nn.h>
#include <ascgrad/optim.h>

enum { B = 3, N = 17, V = 13, STEPS = 3 };

#define CONFIG(more) "{\"d_model\":16,\"layers\":3,\"heads\":2,\"vocab\":13,\"block\":17,\"mix\":" more "}"
static const char *const configs[] = {
    CONFIG("\"transformer\",\"rel\":2,\"block_norm\":\"pre\""),
    CONFIG("\"ascender\",\"k\":3,\"aux_coh\":0.1,\"aux_sep\":0.2,\"aux_align\":0.3"),
    CONFIG("\"ascender\",\"k\":3,\"variant\":\"background\""),
    CONFIG("\"ascender\",\"k\":3,\"composed\":true"),
    "{\"d_model\":16,\"layers\":3,\"vocab\":13,\"block\":17,\"mix\":\"grassmann\",\"r\":4,\"offsets\":[1,2]}",
    CONFIG("[\"grassmann\",\"transformer\",\"ascender\"],\"r\":4,\"memory\":true,\"learned\":true,\"aux_coh\":0.1"),
};
enum { CONFIGS = sizeof configs / sizeof *configs };

typedef struct outcome {
    size_t bytes;
    unsigned char *params;
    double losses[STEPS];
} outcome;

static void step(asc_ctx *c, asc_lm *lm, asc_optim *optim, unsigned number, double *loss)
{
    int64_t x[B * N], y[B * N];
    for (unsigned i = 0; i < B * N; i++) {
        x[i] = (i * i + 3 * number) % V;
        y[i] = (i * 7 + number) % V;
    }
    asc_set_step(c, 5, number);
    asc_scope_begin(c);
    asc_tensor objective = asc_lm_objective(lm, asc_from(c, ASC_I64, x, ASC_SHAPE(B, N)),
                                            asc_from(c, ASC_I64, y, ASC_SHAPE(B, N)), loss);
    ck_assert_msg(asc_backward(c, objective, asc_null(), false) == ASC_OK, "%s", asc_error_message(c));
    asc_scope_end(c);
    ck_assert_int_eq(asc_optim_step(optim, 1e-2, asc_clip_scale(asc_grad_norm(c, asc_lm_params(lm)), 1)), ASC_OK);
    asc_lm_project(lm);
    asc_params_zero_grad(asc_lm_params(lm));
}

static outcome train(const char *config, bool recompute, int threads)
{
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = threads});
    asc_lm *lm = asc_lm_new(c, config, ASC_F32, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(c));
    asc_params *params = asc_lm_params(lm);
    asc_optim *optim = asc_adamw_new(c, params, &(asc_adamw_options){.weight_decay = .1});
    asc_lm_set_dropout(lm, .2);
    asc_lm_set_recompute(lm, recompute);
    outcome o = {.bytes = (size_t)asc_params_numel(params) * sizeof(float)};
    uint64_t allocations = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        step(c, lm, optim, i, &o.losses[i]);
        ck_assert(i < 2 || asc_memory(c).allocations == allocations); /* nothing after the first step */
        allocations = asc_memory(c).allocations;
    }
    o.params = malloc(o.bytes);
    for (size_t i = 0, at = 0; at < o.bytes; i++) {
        size_t n = (size_t)asc_numel(asc_params_at(params, (int)i)) * sizeof(float);
        memcpy(o.params + at, asc_data(asc_params_at(params, (int)i)), n);
        at += n;
    }
    asc_optim_free(optim);
    asc_lm_free(lm);
    asc_ctx_free(c);
    return o;
}

START_TEST(the_same_model)
{
    outcome kept = train(configs[_i], false, 1);
    for (int threads = 1; threads <= 3; threads += 2) {
        outcome again = train(configs[_i], true, threads);
        ck_assert_msg(memcmp(kept.losses, again.losses, sizeof kept.losses) == 0, "%s: losses", configs[_i]);
        ck_assert_msg(memcmp(kept.params, again.params, kept.bytes) == 0, "%s: parameters", configs[_i]);
        free(again.params);
    }
    free(kept.params);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nn/recompute");
    TCase *t = tcase_create("recompute");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_same_model, 0, CONFIGS);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
