/* tests/nn/test_ascender.c: the ASCender layer: its settings and refusals, and what is trained. */
#include <stdlib.h>
#include <string.h>

#include "tests/nn/ascender_layer.h"

/* ---- parameters ---- */

START_TEST(parameters_stand_in_order)
{
    static const char *const names[] = {
        "q.weight", "k.weight", "v.weight", "u.weight", "p.weight", "o.weight", "o.bias", "lambda_align", "lambda_sep",
        "lambda_coh", "tau_sep", "tau_coh", "kappa", "delta", "alpha_align", "alpha_coh", "omega_align", "omega_sep",
        "omega_coh", "tau_score"};
    static const double initial[] = {1, 1, 1, 1, 1, 32, .2, -1, -1, .1, .1, .1, 1};
    asc_layer *l = layer_with(",\"d_value\":5,\"dz\":3");
    asc_params *p = asc_layer_params(l);
    ck_assert_int_eq(asc_params_count(p), 20);
    for (int i = 0; i < 20; i++) {
        asc_tensor t = asc_params_at(p, i);
        ck_assert_str_eq(asc_params_name(p, i), names[i]);
        ck_assert(asc_params_decays(p, i) == (asc_ndim(t) == 2));
        ck_assert(i < 7 || ((const double *)asc_data(t))[H - 1] == initial[i - 7]);
    }
    static const int64_t rows[] = {D, D, 5 * H, 3 * H, 2 * H, D};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(asc_size(asc_params_at(p, i), 0), rows[i]);
    }
    ck_assert_int_eq(asc_size(asc_params_find(p, "o.weight"), 1), 5 * H);
    asc_layer_free(l);
}
END_TEST

START_TEST(scalars_start_as_told)
{
    asc_layer *l = layer_with(",\"lambda_align\":[2,3],\"tau_score\":0.5,\"rel\":4");
    const double *lambda = asc_data(asc_params_find(asc_layer_params(l), "lambda_align"));
    ck_assert(lambda[0] == 2 && lambda[1] == 3);
    const double *tau = asc_data(asc_params_find(asc_layer_params(l), "tau_score"));
    ck_assert(tau[0] == .5 && tau[1] == .5);
    ck_assert_int_eq(asc_size(asc_params_find(asc_layer_params(l), "rel_bias"), 1), 9);
    asc_layer_free(l);
}
END_TEST

static bool trains(asc_layer *l, const char *name)
{
    return asc_requires_grad(asc_params_find(asc_layer_params(l), name));
}

START_TEST(what_is_inert_or_frozen_is_not_trained)
{
    asc_layer *before = layer_with(""), *after = layer_with(",\"gate\":\"after\",\"freeze\":[\"omega_sep\",\"delta\"]");
    asc_layer *all = layer_with(",\"freeze_inert\":false");
    static const char *const inert[] = {"lambda_align", "lambda_sep",  "lambda_coh",
                                        "kappa",        "alpha_align", "alpha_coh"};
    for (size_t i = 0; i < sizeof inert / sizeof *inert; i++) {
        ck_assert(!trains(before, inert[i]) && trains(after, inert[i]) && trains(all, inert[i]));
    }
    ck_assert(trains(before, "omega_sep") && trains(before, "tau_coh") && trains(before, "delta"));
    ck_assert(!trains(after, "omega_sep") && !trains(after, "delta") && trains(after, "omega_coh"));
    asc_layer_free(before);
    asc_layer_free(after);
    asc_layer_free(all);
}
END_TEST

static asc_tensor scalar(asc_layer *l, const char *name)
{
    return asc_params_find(asc_layer_params(l), name);
}

/* The gradients of a layer's scalar after a pass, with a cotangent of its own. */
static const double *gradient(asc_layer *l, const char *name)
{
    asc_tensor up = asc_normal(ctx, ASC_F64, 0, 1, 3, 2, ASC_SHAPE(B, N, D));
    ck_assert_int_eq(asc_backward(ctx, run(l), up, false), ASC_OK);
    return asc_data(asc_grad(scalar(l, name)));
}

/* One head's scalar is frozen: the same output to the bit, no gradient there, the others' as ever. */
START_TEST(single_heads_are_frozen)
{
    static const char *const frozen[] = {"omega_sep", "kappa", "tau_score"};
    asc_layer *all = layer_with(",\"gate\":\"after\"");
    asc_layer *some = layer_with(",\"gate\":\"after\",\"freeze\":[\"omega_sep:1\",\"kappa:1\",\"tau_score:1\"]");
    asc_tensor y = run(all);
    ck_assert(memcmp(asc_data(y), asc_data(run(some)), (size_t)asc_numel(y) * sizeof(double)) == 0);
    for (int i = 0; i < 3; i++) {
        asc_params_zero_grad(asc_layer_params(all));
        asc_params_zero_grad(asc_layer_params(some));
        const double *whole = gradient(all, frozen[i]), *part = gradient(some, frozen[i]);
        ck_assert(part[0] == whole[0] && part[0] != 0 && part[1] == 0 && whole[1] != 0);
    }
    asc_layer_free(all);
    asc_layer_free(some);
}
END_TEST

/* One number for all heads: its gradient is the sum of theirs, and all have its value. */
START_TEST(heads_share_a_scalar)
{
    asc_layer *apart = layer_with(",\"gate\":\"after\"");
    asc_layer *one = layer_with(",\"gate\":\"after\",\"share\":[\"omega_coh\"]");
    asc_tensor y = run(apart);
    ck_assert(memcmp(asc_data(y), asc_data(run(one)), (size_t)asc_numel(y) * sizeof(double)) == 0);
    const double *each = gradient(apart, "omega_coh"), *sum = gradient(one, "omega_coh");
    ck_assert_double_eq_tol(sum[0], each[0] + each[1], 1e-14);
    ck_assert(sum[1] == 0 && each[1] != 0);
    ((double *)asc_data_mut(scalar(one, "omega_coh")))[0] = .7;
    set_all(apart, "omega_coh", .7);
    y = run(apart);
    ck_assert(memcmp(asc_data(y), asc_data(run(one)), (size_t)asc_numel(y) * sizeof(double)) == 0);
    asc_layer_free(apart);
    asc_layer_free(one);
}
END_TEST

/* ---- refusals ---- */

static const struct {
    const char *more, *message;
} refused[] = {
    {",\"globals\":2", "config: globals need a window: without one all tokens are looked at anyway"},
    {",\"positions\":\"rotary\",\"d_head\":3",
     "config: positions are rotary, which turns pairs: they need an even d_head"},
    {",\"heading\":\"q\"", "config: heading q or qk belongs to variant background"},
    {",\"gate\":\"none\",\"gamma\":true", "config: gamma is true, and gate none has none"},
    {",\"variant\":\"background\",\"eta\":false", "config: eta belongs to variant swarm"},
    {",\"variant\":\"background\",\"gate\":\"after\"", "config: gate belongs to variant swarm: background has none"},
    {",\"variant\":\"background\",\"kernel\":\"tau2\"", "config: kernel tau2 belongs to variant swarm"},
    {",\"variant\":\"background\",\"aux_coh\":1",
     "config: aux_coh and the other auxiliary losses belong to variant swarm"},
    {",\"variant\":\"background\",\"rho_self\":true",
     "config: rho_self and sep_self belong to variant swarm: background takes its density over the neighbours"},
    {",\"variant\":\"background\",\"kappa\":3", "config: kappa belongs to variant swarm"},
    {",\"lambda_align\":[1,2,3]", "config: lambda_align has 3 entries, expected one a head: 2"},
    {",\"tau_sep\":0", "config: tau_sep: got 0, expected a number >= 0.001"},
    {",\"kappa\":-1", "config: kappa: got -1, expected a number >= 0"},
    {",\"freeze\":[\"omega_sap\"]", "config: freeze: got \"omega_sap\", expected one of lambda_align,"},
    {",\"freeze\":[\"omega_sep:2\"]", "config: freeze has omega_sep:2, but the heads are 0 to 1"},
    {",\"freeze\":[\"lambda_dist\"]", "config: freeze has lambda_dist, which belongs to variant background"},
    {",\"share\":[\"kappa:1\"]", "config: share has kappa:1: what is shared is shared by all heads"},
    {",\"share\":[\"kappa\"],\"kappa\":[1,2]", "config: share has kappa, whose heads start from different values"},
    {",\"share\":[\"kappa\"],\"freeze\":[\"kappa:0\"]", "config: share has kappa, which freeze has for a single head"},
    {",\"freeze_inert\":\"maybe\"", "config: freeze_inert: got \"maybe\", expected one of false, true, measured"},
    {",\"neighbors\":\"nearest\"", "config: neighbors: got \"nearest\", expected one of semantic, base, window,"},
};

START_TEST(contradictions_are_refused)
{
    char config[300];
    snprintf(config, sizeof config, "{\"heads\":%d%s}", H, refused[_i].more);
    ck_assert_ptr_null(asc_layer_new(ctx, "ascender", D, config, ASC_F32, 1));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
    const char *got = asc_error_message(ctx), *expected = refused[_i].message;
    ck_assert_msg(strncmp(got, expected, strlen(expected)) == 0, "'%s'", got);
}
END_TEST

START_TEST(a_language_model_takes_what_looks_ahead_only_if_told)
{
    static const char *const ahead[] = {",\"mask\":\"full\"", ",\"stats\":\"all\"", ",\"listing\":\"intended\"",
                                        ",\"listing\":\"reference\",\"mask\":\"causal\""};
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        ck_assert_ptr_null(small_lm(ahead[i]));
        ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "looks ahead"));
        asc_error_clear(ctx);
        char told[100];
        snprintf(told, sizeof told, "%s,\"look_ahead\":true", ahead[i]);
        asc_lm *lm = small_lm(told);
        ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
        ck_assert_ptr_null(asc_lm_cache_new(lm, 4));
        ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "looks ahead"));
        asc_error_clear(ctx);
        asc_lm_free(lm);
    }
}
END_TEST

/* ---- training ---- */

START_TEST(parameters_are_kept_where_they_have_a_meaning)
{
    asc_lm *lm = small_lm("");
    asc_tensor tau = asc_params_find(asc_lm_params(lm), "blocks.1.mix.tau_score");
    asc_tensor kappa = asc_params_find(asc_lm_params(lm), "blocks.0.mix.kappa");
    asc_tensor omega_coh = asc_params_find(asc_lm_params(lm), "blocks.0.mix.omega_coh");
    ((double *)asc_data_mut(tau))[1] = -.5;
    ((double *)asc_data_mut(kappa))[0] = -2;
    ((double *)asc_data_mut(omega_coh))[0] = -3;
    asc_lm_project(lm);
    ck_assert(((const double *)asc_data(tau))[0] == 1 && ((const double *)asc_data(tau))[1] == 1e-3);
    ck_assert(((const double *)asc_data(kappa))[0] == 0 && ((const double *)asc_data(kappa))[1] == 32);
    ck_assert(((const double *)asc_data(omega_coh))[0] == -3);
    asc_lm_free(lm);
}
END_TEST

START_TEST(separation_is_phased_in)
{
    asc_lm *lm = small_lm(_i == 0 ? ",\"omega_sep\":[0.4,0.2]" : ",\"omega_sep\":[0.4,0.2],\"variant\":\"background\"");
    asc_tensor sep = asc_params_find(asc_lm_params(lm), "blocks.1.mix.omega_sep");
    asc_lm_ramp(lm, .25);
    const double *held = asc_data(sep);
    ck_assert(held[0] == .25 * .4 && held[1] == .25 * .2 && !asc_requires_grad(sep));
    asc_lm_ramp(lm, 7);
    expect_error(ASC_ERR_ARG, "lm_ramp: share is 7, expected at most 1");
    asc_lm_ramp(lm, -1);
    ck_assert(((const double *)asc_data(sep))[0] == .25 * .4 && asc_requires_grad(sep));
    asc_lm_free(lm);
    lm = small_lm(",\"freeze\":[\"omega_sep\"]");
    asc_lm_ramp(lm, -1);
    ck_assert(!asc_requires_grad(asc_params_find(asc_lm_params(lm), "blocks.0.mix.omega_sep")));
    asc_lm_free(lm);
}
END_TEST

START_TEST(numbers_can_be_held)
{
    asc_lm *lm = small_lm(",\"freeze\":[\"tau_coh\"],\"share\":[\"omega_sep\"]");
    asc_tensor tau = asc_params_find(asc_lm_params(lm), "blocks.1.mix.tau_score");
    asc_tensor coh = asc_params_find(asc_lm_params(lm), "blocks.0.mix.tau_coh");
    asc_tensor sep = asc_params_find(asc_lm_params(lm), "blocks.0.mix.omega_sep");
    ck_assert_int_eq(asc_lm_hold(lm, "tau_score", &(double){2.5}), ASC_OK);
    ck_assert_int_eq(asc_lm_hold(lm, "tau_coh", &(double){3}), ASC_OK);
    ck_assert(((const double *)asc_data(tau))[1] == 2.5 && !asc_requires_grad(tau));
    ck_assert_int_eq(asc_lm_hold(lm, "tau_score", NULL), ASC_OK);
    ck_assert_int_eq(asc_lm_hold(lm, "tau_coh", NULL), ASC_OK);
    ck_assert(((const double *)asc_data(tau))[1] == 2.5 && asc_requires_grad(tau));
    ck_assert(((const double *)asc_data(coh))[0] == 3 && !asc_requires_grad(coh));
    ((double *)asc_data_mut(sep))[0] = .9;
    asc_lm_project(lm);
    ck_assert(((const double *)asc_data(sep))[1] == .9); /* shared */
    ck_assert_int_eq(asc_lm_hold(lm, "tau_score", &(double){0}), ASC_ERR_ARG);
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_lm_hold(lm, "heads", &(double){2}), ASC_ERR_ARG);
    asc_error_clear(ctx);
    asc_lm_free(lm);
}
END_TEST

START_TEST(it_is_measured_what_moves_the_output)
{
    static const char *const names[] = {"lambda_align", "omega_align"};
    for (int g = 0; g < 2; g++) {
        asc_lm *lm = small_lm(g ? ",\"gate\":\"after\",\"k\":3" : ",\"k\":3");
        asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, N));
        for (int64_t i = 0; i < N; i++) {
            ((int64_t *)asc_data_mut(x))[i] = (i * 7 + 3) % 11;
        }
        for (int i = 0; i < 2; i++) {
            asc_tensor moved = asc_lm_moves(lm, x, 1, names[i]);
            ck_assert_int_eq(asc_numel(moved), H);
            double most = ((const double *)asc_data(moved))[1];
            ck_assert_msg(g == 0 && i == 0 ? most < 1e-4 : most > 1e-3, "gate %d: %s moves %g", g, names[i], most);
            asc_release(moved);
        }
        ck_assert(asc_is_null(asc_lm_moves(lm, x, 1, "theta_coh")));
        no_error();
        ck_assert(asc_is_null(asc_lm_moves(lm, x, 2, "kappa")));
        ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
        asc_error_clear(ctx);
        asc_lm_free(lm);
    }
}
END_TEST

/* What was told: how often of each layer, and of the gates. */
typedef struct told {
    int of_layer[3], gates, omega_sep;
    bool all_ascender;
    double sep;
} told;

static void note_value(void *user, int64_t layer, const char *mixing, const char *name, asc_tensor value)
{
    told *t = user;
    t->of_layer[layer]++;
    t->gates += strncmp(name, "gamma", 5) == 0 || strcmp(name, "eta") == 0;
    t->all_ascender = t->all_ascender && strcmp(mixing, "ascender") == 0;
    ck_assert_int_eq(asc_numel(value), 2); /* one a head */
    if (strcmp(name, "omega_sep") == 0) {
        t->omega_sep++;
        t->sep = ((const double *)asc_data(value))[1];
    }
}

START_TEST(each_layer_tells_what_its_mixing_has_to_say)
{
    const char *config = "{\"mix\":[\"ascender\",\"transformer\",\"ascender\"],\"d_model\":8,\"layers\":3,\"heads\":2,"
                         "\"vocab\":11,\"block\":8,\"gate\":\"after\",\"omega_sep\":[0.4,0.2],\"k\":2000000}";
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(asc_lm_layers(lm), 3);
    told t = {.all_ascender = true};
    ck_assert_int_eq(asc_lm_log(lm, asc_null(), note_value, &t), ASC_OK);
    ck_assert(t.of_layer[0] == 6 && t.of_layer[1] == 0 && t.of_layer[2] == 6); /* three ω, three λ */
    ck_assert(t.omega_sep == 2 && t.sep == .2 && t.gates == 0 && t.all_ascender);
    asc_scope_begin(ctx);
    asc_tensor tokens = asc_from(ctx, ASC_I64, (const int64_t[]){1, 2, 3, 4}, ASC_SHAPE(1, 4));
    ck_assert_int_eq(asc_lm_log(lm, tokens, note_value, &t), ASC_OK);
    ck_assert(t.of_layer[0] == 6 + 9 && t.of_layer[1] == 0 && t.of_layer[2] == 6 + 9 && t.gates == 6);
    ck_assert_uint_lt(asc_memory(ctx).peak_bytes, 4 << 20); /* of k = 2 M no more than the keys there are */
    asc_tensor wrong = asc_from(ctx, ASC_I64, (const int64_t[]){1, 2, 3, 99}, ASC_SHAPE(1, 4));
    ck_assert_int_eq(asc_lm_log(lm, wrong, note_value, &t), ASC_ERR_ARG);
    asc_error_clear(ctx);
    asc_scope_end(ctx);
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("layer");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, parameters_stand_in_order);
    tcase_add_test(t, scalars_start_as_told);
    tcase_add_test(t, what_is_inert_or_frozen_is_not_trained);
    tcase_add_test(t, single_heads_are_frozen);
    tcase_add_test(t, heads_share_a_scalar);
    tcase_add_loop_test(t, contradictions_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, a_language_model_takes_what_looks_ahead_only_if_told);
    tcase_add_test(t, parameters_are_kept_where_they_have_a_meaning);
    tcase_add_loop_test(t, separation_is_phased_in, 0, 2);
    tcase_add_test(t, numbers_can_be_held);
    tcase_add_test(t, it_is_measured_what_moves_the_output);
    tcase_add_test(t, each_layer_tells_what_its_mixing_has_to_say);
    return run_suite("nn/ascender", t);
}
