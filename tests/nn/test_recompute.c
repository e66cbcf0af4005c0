/* tests/nn/test_recompute.c: a language model trained with recomputation has the same parameters, to the bit. */
#include "tests/nn/model.h"

enum { B = 3, N = 17, V = 13, STEPS = 3 };

#define CONFIG(more) "{\"d_model\":16,\"layers\":3,\"heads\":2,\"vocab\":13,\"block\":17,\"mix\":" more "}"
static const char *const configs[] = {
    CONFIG("\"transformer\",\"rel\":2,\"block_norm\":\"pre\""),
    CONFIG("\"transformer\",\"norm\":\"rms\",\"activation\":\"geglu\",\"tied\":false,\"emb_norm\":true,"
           "\"logit_cap\":5"),
    CONFIG("\"transformer\",\"activation\":\"relu2\",\"zero_init\":true,\"qk_norm\":\"gain\",\"attn_cap\":3"),
    CONFIG("\"ascender\",\"k\":3,\"aux_coh\":0.1,\"aux_sep\":0.2,\"aux_align\":0.3"),
    CONFIG("\"ascender\",\"k\":3,\"variant\":\"background\""),
    CONFIG("\"ascender\",\"k\":3,\"composed\":true"),
    "{\"d_model\":16,\"layers\":3,\"vocab\":13,\"block\":17,\"mix\":\"grassmann\",\"r\":4,\"offsets\":[1,2]}",
    ("{\"d_model\":16,\"layers\":3,\"vocab\":13,\"block\":17,\"mix\":\"grassmann\",\"r\":4,\"offsets\":[1,2],"
     "\"invariants\":true,\"smooth\":0.5}"),
    "{\"d_model\":16,\"layers\":2,\"vocab\":13,\"block\":17,\"mix\":\"grassmann\",\"r\":6,\"tuples\":[[1,2],[2,3]]}",
    CONFIG("[\"grassmann\",\"transformer\",\"ascender\"],\"r\":4,\"memory\":true,\"learned\":true,\"aux_coh\":0.1"),
    CONFIG("[\"linear\",\"recurrent\",\"conv\"],\"feature\":\"favor\",\"decay\":\"gated\",\"qk_norm\":\"rms\""),
};
enum { CONFIGS = sizeof configs / sizeof *configs };

typedef struct outcome {
    size_t bytes;
    unsigned char *params;
    double losses[STEPS];
} outcome;

static outcome train(const char *config, bool recompute, int threads)
{
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = threads});
    asc_lm *lm = asc_lm_new(c, config, ASC_F32, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(c));
    asc_optim *optim = asc_adamw_new(c, asc_lm_params(lm), &(asc_adamw_options){.weight_decay = .1});
    asc_lm_set_dropout(lm, .2);
    asc_lm_set_recompute(lm, recompute);
    outcome o;
    uint64_t allocations = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        int64_t x[B * N], y[B * N];
        for (unsigned k = 0; k < B * N; k++) {
            x[k] = (k * k + 3 * i) % V;
            y[k] = (k * 7 + i) % V;
        }
        asc_set_step(c, 5, i);
        o.losses[i] = train_step(c, lm, optim, x, y, B, N);
        ck_assert(i < 2 || asc_memory(c).allocations == allocations); /* nothing after the first step */
        allocations = asc_memory(c).allocations;
    }
    o.params = params_bytes(lm, &o.bytes);
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

/* The backward pass has the dropout of the forward pass, whatever the model's is by then. */
START_TEST(dropout_of_the_forward_pass)
{
    double sums[2] = {0};
    for (int again = 0; again < 2; again++) {
        asc_lm *lm = asc_lm_new(ctx, configs[0], ASC_F64, 1);
        int64_t x[B * N] = {1, 2, 3};
        asc_tensor tokens = asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, N));
        asc_lm_set_recompute(lm, again);
        asc_lm_set_dropout(lm, .5);
        asc_set_step(ctx, 5, 0);
        asc_tensor objective = asc_lm_objective(lm, tokens, tokens, NULL);
        asc_lm_set_dropout(lm, .1);
        asc_backward(ctx, objective, asc_null(), false);
        no_error();
        for (int i = 0; i < asc_params_count(asc_lm_params(lm)); i++) {
            asc_tensor g = asc_grad(asc_params_at(asc_lm_params(lm), i));
            const double *values = asc_data(g);
            for (int64_t k = 0; k < asc_numel(g); k++) {
                sums[again] += (double)(k % 7 + 1) * values[k];
            }
        }
        asc_lm_free(lm);
    }
    ck_assert_double_eq(sums[0], sums[1]);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("recompute");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, the_same_model, 0, CONFIGS);
    tcase_add_test(t, dropout_of_the_forward_pass);
    return run_suite("nn/recompute", t);
}
