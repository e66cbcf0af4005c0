/* tests/nn/test_ascender_inside.c: what an ASCender layer shows of itself, and the facts about its gates that the guide
 * states. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/inspect.h>

#include "tests/nn/ascender_layer.h"

/* ---- what it shows of itself ---- */

static asc_tensor part(const asc_params *parts, const char *name)
{
    asc_tensor t = asc_params_find(parts, name);
    ck_assert_msg(asc_is_valid(t), "%s", name);
    return t;
}

/* ω_h of the entry e of a (B, H, N, N) array. */
static double omega(asc_layer *l, const char *name, int64_t e)
{
    return ((const double *)asc_data(asc_params_find(asc_layer_params(l), name)))[e / (N * N) % H];
}

static double part_at(const asc_params *parts, const char *name, int64_t e)
{
    return ((const double *)asc_data(part(parts, name)))[e];
}

static void check_scores(asc_layer *l, const asc_params *parts, const char *const biases[3])
{
    const double *s = asc_data(part(parts, "s")), *base = asc_data(part(parts, "s_base"));
    const double *attn = asc_data(part(parts, "attn")), *other = asc_data(asc_params_find(parts, "b_other")), *bias[3];
    for (int i = 0; i < 3; i++) {
        bias[i] = asc_data(part(parts, biases[i]));
    }
    for (int64_t e = 0; e < B * H * N * N; e++) {
        double sum = base[e] + omega(l, "omega_align", e) * bias[0][e] + omega(l, "omega_sep", e) * bias[1][e] +
                     omega(l, "omega_coh", e) * bias[2][e] + (other ? other[e] : 0);
        ck_assert_double_eq_tol(s[e], sum, 1e-12);
        ck_assert(e % N <= e / N % N || (s[e] == 0 && attn[e] == 0));
    }
}

START_TEST(scores_are_the_sum_of_their_parts)
{
    static const char *const biases[3] = {"b_align", "b_sep", "b_coh"};
    static const char *const settings[3] = {",\"omega_align\":[0.3,-2],\"omega_coh\":0.7",
                                            ",\"variant\":\"background\"", ",\"positions\":\"alibi\",\"rel\":2"};
    asc_layer *l = layer_with(settings[_i]);
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_layer_inspect(l, input(), asc_null(), parts), ASC_OK);
    check_scores(l, parts, biases);
    const double *attn = asc_data(part(parts, "attn")), *entropy = asc_data(part(parts, "entropy"));
    double mean[H] = {0};
    for (int64_t row = 0; row < B * H * N; row++) {
        double sum = 0;
        for (int64_t j = 0; j < N; j++) {
            double a = attn[row * N + j];
            sum += a;
            mean[row / N % H] -= a > 0 ? a * log(a) / (B * N) : 0;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    }
    for (int h = 0; h < H; h++) {
        ck_assert_double_eq_tol(entropy[h], mean[h], 1e-12);
    }
    ck_assert(asc_is_valid(asc_params_find(parts, "eta")) == (_i != 1));
    ck_assert(asc_is_valid(asc_params_find(parts, "b_other")) == (_i == 2));
    asc_params_free(parts);
    asc_layer_free(l);
}
END_TEST

/* Each query's entropy; what positions add; the attention without separation, and the pairs that it pushes away. */
START_TEST(more_is_told_of_the_scores)
{
    asc_layer *l = layer_with(",\"positions\":\"alibi\",\"rel\":3,\"omega_sep\":[2,0],\"tau_score\":[0.5,2]");
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_layer_inspect(l, input(), asc_null(), parts), ASC_OK);
    const double *attn = asc_data(part(parts, "attn")), *rows = asc_data(part(parts, "entropy_rows"));
    const double *s = asc_data(part(parts, "s")), *other = asc_data(part(parts, "b_other"));
    const double *without = asc_data(part(parts, "attn_without_sep"));
    for (int64_t row = 0; row < B * H * N; row++) {
        double sum = 0, total = 0;
        for (int64_t j = 0; j <= row % N; j++) {
            double a = attn[row * N + j];
            sum -= a > 0 ? a * log(a) : 0;
            total += without[row * N + j];
            double slope = ldexp(1, row / N % H ? -8 : -4);
            ck_assert_double_eq_tol(other[row * N + j], -slope * (double)(row % N - j), 1e-12);
        }
        ck_assert_double_eq_tol(rows[row], sum, 1e-12);
        ck_assert_double_eq_tol(total, 1, 1e-12);
    }
    for (int64_t e = 0; e < B * H * N * N; e++) {
        double bias = part_at(parts, "s_base", e) + omega(l, "omega_align", e) * part_at(parts, "b_align", e) +
                      omega(l, "omega_sep", e) * part_at(parts, "b_sep", e) +
                      omega(l, "omega_coh", e) * part_at(parts, "b_coh", e) + other[e];
        ck_assert_double_eq_tol(s[e], bias, 1e-12);
        ck_assert(e / (N * N) % H == 0 || fabs(without[e] - attn[e]) < 1e-15); /* ω_sep = 0 there */
    }
    asc_tensor pushed = asc_attention_pushed(ctx, part(parts, "attn_without_sep"), part(parts, "attn"), .02);
    const double *share = asc_data(pushed);
    ck_assert(share[0] > .01 && share[0] < 1 && share[3] == 0 && share[4] == share[5]);
    ck_assert(asc_is_null(asc_attention_pushed(ctx, part(parts, "attn"), part(parts, "entropy"), .02)));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
    asc_error_clear(ctx);
    asc_params_free(parts);
    asc_layer_free(l);
}
END_TEST

/* Features are the parts of each sequence, a row for each token. */
START_TEST(features_are_rows_of_the_parts)
{
    enum { REACH = 4, DZ = 3 };
    asc_lm *lm = small_lm(",\"dz\":3");
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(B, N));
    for (int64_t i = 0; i < B * N; i++) {
        ((int64_t *)asc_data_mut(x))[i] = (i * 7 + 3) % 11;
    }
    asc_params *features = asc_params_new(ctx), *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_lm_features(lm, x, 1, REACH, features), ASC_OK);
    ck_assert_int_eq(asc_lm_inspect(lm, x, 1, parts), ASC_OK);
    ck_assert_int_eq(asc_params_count(features), 4);
    static const int64_t units[] = {1, H, H, H}, widths[] = {D, REACH, N, DZ};
    static const char *const names[] = {"hidden", "attention", "attention_rows", "z"};
    const double *f[4];
    for (int i = 0; i < 4; i++) {
        asc_tensor t = part(features, names[i]);
        ck_assert(asc_size(t, 0) == units[i] && asc_size(t, 1) == B * N && asc_size(t, 2) == widths[i]);
        f[i] = asc_data(t);
    }
    for (int64_t b = 0, row = 0; b < B; b++) {
        for (int64_t t = 0; t < N; t++, row++) {
            for (int64_t e = 0; e < D; e++) {
                ck_assert_double_eq_tol(f[0][row * D + e], part_at(parts, "hidden", row * D + e), 1e-12);
            }
            for (int64_t h = 0; h < H; h++) {
                int64_t unit = h * B * N + row, at = (b * H + h) * N + t;
                for (int64_t j = 0; j < N; j++) {
                    double a = part_at(parts, "attn", at * N + j);
                    ck_assert_double_eq_tol(f[2][unit * N + j], a, 1e-12);
                    ck_assert(t - j < 0 || t - j >= REACH || f[1][unit * REACH + t - j] == f[2][unit * N + j]);
                }
                ck_assert(t >= REACH - 1 || f[1][unit * REACH + REACH - 1] == 0);
                for (int64_t e = 0; e < DZ; e++) {
                    ck_assert_double_eq_tol(f[3][unit * DZ + e], part_at(parts, "z", at * DZ + e), 1e-12);
                }
            }
        }
    }
    ck_assert_int_eq(asc_lm_features(lm, x, 2, REACH, features), ASC_ERR_ARG);
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_lm_features(lm, x, 1, 0, features), ASC_ERR_ARG);
    asc_error_clear(ctx);
    asc_params_free(features);
    asc_params_free(parts);
    asc_lm_free(lm);
}
END_TEST

START_TEST(the_objective_adds_the_auxiliary_losses)
{
    asc_lm *lm = small_lm(",\"aux_coh\":0.5,\"aux_sep\":2,\"aux_align\":-1,\"gate\":\"after\",\"k\":3");
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(B, N)), y = asc_zeros(ctx, ASC_I64, ASC_SHAPE(B, N));
    for (int64_t i = 0; i < B * N; i++) {
        ((int64_t *)asc_data_mut(x))[i] = (i * 7 + 3) % 11;
    }
    double loss, aux = 0, plain = asc_item(asc_lm_loss(lm, x, y, NULL));
    double objective = asc_item(asc_lm_objective(lm, x, y, &loss));
    for (int64_t l = 0; l < 2; l++) {
        asc_params *parts = asc_params_new(ctx);
        ck_assert_int_eq(asc_lm_inspect(lm, x, l, parts), ASC_OK);
        aux += .5 * asc_item(part(parts, "loss_coh")) + 2 * asc_item(part(parts, "loss_sep")) -
               asc_item(part(parts, "loss_align"));
        asc_params_free(parts);
    }
    ck_assert_double_eq_tol(loss, plain, 1e-12);
    ck_assert_double_eq_tol(objective, plain + aux, 1e-10);
    ck_assert_double_gt(fabs(aux), 1e-3);
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_lm_inspect(lm, x, 2, parts), ASC_ERR_ARG);
    ck_assert_str_eq(asc_error_message(ctx), "lm_inspect: layer is 2, expected 0 to 1");
    asc_params_free(parts);
    asc_lm_free(lm);
}
END_TEST

/* ---- facts ---- */

/* With the gate before the row normalisation strengths change next to nothing; after it they act. */
START_TEST(strengths_act_after_the_normalisation)
{
    static const char *const gates[] = {"before", "none", "after"};
    static const char *const names[] = {"lambda_align", "lambda_sep", "lambda_coh", "kappa"};
    for (int g = 0; g < 3; g++) {
        for (int n = 0; n < 4; n++) {
            char more[60];
            snprintf(more, sizeof more, ",\"gate\":\"%s\",\"kappa\":9", gates[g]);
            asc_layer *l = layer_with(more);
            asc_tensor y = run(l);
            set_all(l, names[n], 3);
            double moved = largest_difference(y, run(l));
            ck_assert_msg(g == 2 ? moved > 1e-3 : moved < 5e-4, "gate %s: %s moves the output by %g", gates[g],
                          names[n], moved);
            asc_layer_free(l);
        }
    }
}
END_TEST

/* Without γ the gate order before is the order none, to the bit; and without γ and η nothing of them has a say. */
START_TEST(gates_can_be_taken_away)
{
    asc_layer *none = layer_with(",\"gate\":\"none\""), *same = layer_with(",\"gamma\":false");
    asc_tensor y = run(none);
    ck_assert(memcmp(asc_data(y), asc_data(run(same)), (size_t)asc_numel(y) * sizeof(double)) == 0);
    asc_layer *with = layer_with(",\"gate\":\"after\"");
    asc_layer *l = layer_with(",\"gate\":\"after\",\"gamma\":false,\"eta\":false");
    y = run(l);
    ck_assert_double_gt(largest_difference(run(with), y), 1e-4);
    static const char *const idle[] = {"kappa", "alpha_align", "alpha_coh"};
    for (int i = 0; i < 3; i++) {
        set_all(l, idle[i], 3);
        ck_assert(memcmp(asc_data(y), asc_data(run(l)), (size_t)asc_numel(y) * sizeof(double)) == 0);
    }
    asc_layer *const layers[] = {none, same, with, l};
    for (int i = 0; i < 4; i++) {
        asc_layer_free(layers[i]);
    }
}
END_TEST

START_TEST(a_bias_without_weight_is_as_if_it_were_not_there)
{
    asc_layer *l = layer_with(",\"omega_align\":0,\"omega_sep\":0,\"omega_coh\":0,\"d_value\":4");
    asc_layer *plain = asc_layer_new(ctx, "transformer", D, "{\"heads\":2}", ASC_F64, 1);
    asc_params *from = asc_layer_params(l), *to = asc_layer_params(plain);
    for (int i = 0; i < asc_params_count(to); i++) {
        asc_tensor same = asc_params_find(from, asc_params_name(to, i)), t = asc_params_at(to, i);
        asc_copy(ctx, t, asc_is_null(same) ? asc_zeros(ctx, ASC_F64, 1, asc_shape(t)) : same);
    }
    asc_tensor expected = asc_layer_forward(plain, input(), asc_null());
    ck_assert_double_lt(largest_difference(run(l), expected), 1e-5); /* ε of τ_score */
    asc_layer_free(l);
    asc_layer_free(plain);
}
END_TEST

START_TEST(the_listing_as_it_runs_takes_each_token_as_its_own_neighbour)
{
    asc_layer *listing = layer_with(",\"listing\":\"reference\"");
    asc_layer *same = layer_with(",\"listing\":\"intended\",\"neighbors\":\"window\",\"radius\":0");
    asc_layer *meant = layer_with(",\"listing\":\"intended\"");
    asc_tensor y = run(listing);
    ck_assert(memcmp(asc_data(y), asc_data(run(same)), (size_t)asc_numel(y) * sizeof(double)) == 0);
    ck_assert_double_gt(largest_difference(y, run(meant)), 1e-4);
    asc_layer_free(listing);
    asc_layer_free(same);
    asc_layer_free(meant);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("inside");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, scores_are_the_sum_of_their_parts, 0, 3);
    tcase_add_test(t, more_is_told_of_the_scores);
    tcase_add_test(t, features_are_rows_of_the_parts);
    tcase_add_test(t, the_objective_adds_the_auxiliary_losses);
    tcase_add_test(t, strengths_act_after_the_normalisation);
    tcase_add_test(t, gates_can_be_taken_away);
    tcase_add_test(t, a_bias_without_weight_is_as_if_it_were_not_there);
    tcase_add_test(t, the_listing_as_it_runs_takes_each_token_as_its_own_neighbour);
    return run_suite("nn/ascender_inside", t);
}
