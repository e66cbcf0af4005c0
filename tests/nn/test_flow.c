/* tests/nn/test_flow.c: what the path of a Grassmann layer's coordinates says: into the gate, and as a loss on what
 * changes from layer to layer. */
#include <ascgrad/inspect.h>
#include <ascgrad/optim.h>

#include "tests/nn/fused.h"
#include "tests/nn/model.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *const settings[] = {
    "{\"r\": 5, \"offsets\": [1], \"invariants\": true",
    "{\"r\": 6, \"groups\": 2, \"offsets\": [2, 5], \"learned\": true, \"invariants\": true, \"scale\": \"rms\"",
    "{\"r\": 4, \"offsets\": [3], \"memory\": true, \"running_mean\": true, \"invariants\": true",
    "{\"r\": 4, \"groups\": 2, \"offsets\": [], \"memory\": true, \"invariants\": true, \"eps_rel\": 0.05",
    "{\"r\": 5, \"offsets\": [1, 4], \"normalize\": false, \"invariants\": true, \"aggregate\": \"sum\"",
    "{\"r\": 6, \"groups\": 3, \"offsets\": [1, 2], \"pair\": \"symmetric\", \"invariants\": true",
};
static const int64_t sizes[] = {1, 2, 3, 20};

START_TEST(fused_is_composed)
{
    for (int i = 0; i < COUNT(sizes); i++) {
        int64_t n[] = {sizes[i], (sizes[i] + 1) / 2, 0}, B = 3;
        asc_scope_begin(ctx);
        asc_tensor lengths = i % 2 ? asc_from(ctx, ASC_I64, n, 1, &B) : asc_null();
        compare_with_composed(&(subject){"grassmann", settings[_i], B, sizes[i], 7, lengths, .5}, ASC_F64, 1e-8);
        asc_scope_end(ctx);
    }
}
END_TEST

/* ---- the numbers ---- */

enum { B = 2, N = 9, D = 5, G = 2, P = 3 };

static double product(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < P; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Of one sequence's directions [N][G][P], of which those from `first` up to `end` are there: [N][4]. */
static void expected_of(const double *u, int first, int end, double (*to)[4])
{
    double mean[G * P] = {0}, sums[2] = {0};
    memset(to, 0, N * sizeof *to);
    for (int t = 0; t < end; t++) {
        const double *now = u + (ptrdiff_t)t * G * P;
        int n = t - first + 1;
        for (int i = 0; i < G * P; i++) {
            mean[i] += now[i];
        }
        for (int g = 0; g < G && n > 0; g++) {
            to[t][0] += product(now + g * P, mean + g * P) / n / G;
            double cosine = n > 1 ? product(now + g * P, now - G * P + g * P) : 1;
            to[t][1] += sqrt(fmax(0, 1 - cosine * cosine)) / G;
        }
        sums[0] += to[t][0];
        sums[1] += to[t][1];
        to[t][2] = n > 0 ? sums[0] / n : 0;
        to[t][3] = n > 1 ? sums[1] / (n - 1) : 0;
    }
}

/* A gate that sees nothing but the invariants, each in a channel of its own: their values are its logits. */
START_TEST(the_gate_sees_the_path)
{
    const int64_t lengths[B] = {N, 6};
    const char *config = "{\"r\": 6, \"groups\": 2, \"offsets\": [2], \"invariants\": true}";
    asc_layer *l = asc_layer_new(ctx, "grassmann", D, config, ASC_F64, 5);
    asc_tensor w = asc_params_find(asc_layer_params(l), "gate.weight");
    ck_assert_int_eq(asc_size(w, 1), 2 * D + 4);
    double *value = asc_data_mut(w);
    for (int i = 0; i < D * (2 * D + 4); i++) {
        value[i] = i % (2 * D + 4) == 2 * D + i / (2 * D + 4);
    }
    asc_params *parts = asc_params_new(ctx);
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 1, 1, ASC_SHAPE(B, N, D));
    ck_assert_int_eq(asc_layer_inspect(l, x, asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(B)), parts), ASC_OK);
    const double *u = asc_data(asc_params_find(parts, "flow")), *p = asc_data(asc_params_find(parts, "plucker"));
    const double *gate = asc_data(asc_params_find(parts, "gate"));
    for (int b = 0; b < B; b++) {
        double want[N][4];
        expected_of(u + (ptrdiff_t)b * N * G * P, 2, (int)lengths[b], want);
        for (int t = 0; t < lengths[b]; t++) {
            for (int i = 0; i < G * P; i++) { /* of one offset they are the coordinates */
                ptrdiff_t at = ((ptrdiff_t)b * N + t) * G * P + i;
                ck_assert_double_eq_tol(u[at], p[at], 1e-12);
            }
            for (int i = 0; i < 4; i++) {
                double alpha = gate[(b * N + t) * D + i];
                ck_assert_double_eq_tol(log(alpha / (1 - alpha)), want[t][i], 1e-9);
            }
        }
    }
    asc_params_free(parts);
    asc_layer_free(l);
}
END_TEST

/* ---- looking at it ---- */

/* Five tokens with one vector each: none, then east, north, east, north east. */
START_TEST(paths_by_hand)
{
    double half = sqrt(.5), u[] = {0, 0, 1, 0, 0, 1, 1, 0, half, half}, v[] = {1, 0, 1, 0, 1, 0, half, half, 0, 1};
    asc_tensor flow = asc_from(ctx, ASC_F64, u, ASC_SHAPE(5, 1, 2));
    asc_tensor other = asc_from(ctx, ASC_F64, v, ASC_SHAPE(5, 1, 2));
    asc_tensor path = asc_flow_path(ctx, flow), shared = asc_flow_stability(ctx, flow, other), share;
    asc_tensor mean = asc_flow_mean(ctx, flow), leading = asc_flow_leading(ctx, flow, &share);
    no_error();
    const double *p = asc_data(path), *s = asc_data(shared), *m = asc_data(mean), *d = asc_data(leading);
    const double aligned[] = {1, .5, 2. / 3};
    const double turned[] = {1, 1, half}, want[] = {1, 0, .5, .5};
    ck_assert(isnan(p[0]) && isnan(p[1]) && isnan(p[3]) && isnan(s[0]));
    for (int t = 1; t < 4; t++) {
        ck_assert_double_eq_tol(p[2 * t], aligned[t - 1], 1e-12);
    }
    for (int t = 2; t < 5; t++) {
        ck_assert_double_eq_tol(p[2 * t + 1], turned[t - 2], 1e-12);
    }
    for (int t = 1; t < 5; t++) {
        ck_assert_double_eq_tol(s[t], want[t - 1], 1e-12);
    }
    ck_assert_double_eq_tol(m[0], (2 + half) / 4, 1e-12);
    ck_assert_double_eq_tol(m[1], (1 + half) / 4, 1e-12);
    /* of (1, 0), (0, 1), (1, 0), (h, h) about their mean the direction is near (1, -1) */
    ck_assert_double_eq_tol(d[0] * d[0] + d[1] * d[1], 1, 1e-12);
    ck_assert(d[0] * d[1] < -.4);
    ck_assert(((const double *)asc_data(share))[0] > .9 && ((const double *)asc_data(share))[0] < 1);
    asc_flow_stability(ctx, flow, asc_zeros(ctx, ASC_F64, ASC_SHAPE(5, 2, 1)));
    expect_error(ASC_ERR_ARG, "flow_stability: u is (5, 1, 2) and v (5, 2, 1), expected one shape");
    asc_flow_path(ctx, asc_zeros(ctx, ASC_F64, ASC_SHAPE(5, 2)));
    expect_error(ASC_ERR_ARG, "flow_path: u has 2 dimensions, expected (N, G, n)");
}
END_TEST

/* The tokens that differ most from the mean do so at right angles to the leading direction. */
START_TEST(the_leading_direction_is_not_the_furthest)
{
    double u[12][3];
    for (int t = 0; t < 12; t++) {
        double sign = t % 2 ? -.8 : .8;
        bool rare = t < 2;
        u[t][0] = .6;
        u[t][1] = rare ? 0 : sign;
        u[t][2] = rare ? sign : 0;
    }
    asc_tensor share, leading = asc_flow_leading(ctx, asc_from(ctx, ASC_F64, u, ASC_SHAPE(12, 1, 3)), &share);
    no_error();
    ck_assert_double_eq_tol(((const double *)asc_data(leading))[1], 1, 1e-9);
    ck_assert_double_eq_tol(((const double *)asc_data(share))[0], 10. / 12, 1e-12);
    /* and where there are fewer tokens than coordinates */
    static double wide[12][20];
    for (int t = 0; t < 12; t++) {
        memcpy(wide[t], u[t], sizeof u[t]);
    }
    leading = asc_flow_leading(ctx, asc_from(ctx, ASC_F64, wide, ASC_SHAPE(12, 1, 20)), &share);
    no_error();
    ck_assert_double_eq_tol(((const double *)asc_data(leading))[1], 1, 1e-9);
    ck_assert_double_eq_tol(((const double *)asc_data(share))[0], 10. / 12, 1e-12);
}
END_TEST

/* ---- gradients ---- */

static double loss_of(asc_layer *l, asc_tensor x, asc_tensor up)
{
    asc_tensor y = asc_layer_forward(l, x, asc_null());
    return asc_item(asc_sum(ctx, asc_mul(ctx, y, up), ASC_ALL_DIMS, false));
}

START_TEST(gradients_are_right)
{
    const subject s = {"grassmann", settings[_i], 2, 8, D, asc_null(), .5};
    asc_layer *l = layer_of(&s, ASC_F64, false);
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 1, 1, ASC_SHAPE(2, 8, D));
    asc_tensor up = asc_normal(ctx, ASC_F64, 0, 1, 1, 2, ASC_SHAPE(2, 8, D));
    asc_backward(ctx, asc_layer_forward(l, x, asc_null()), up, false);
    no_error();
    asc_set_recording(ctx, false);
    for (int i = 0; i < asc_params_count(asc_layer_params(l)); i++) {
        asc_tensor p = asc_params_at(asc_layer_params(l), i), g = asc_grad(p);
        for (int64_t e = 0; e < asc_numel(p); e += 1 + asc_numel(p) / 5) {
            double *value = (double *)asc_data_mut(p) + e, at = *value, step = 1e-6;
            *value = at + step;
            double more = loss_of(l, x, up);
            *value = at - step;
            double expected = (more - loss_of(l, x, up)) / (2 * step), got = ((const double *)asc_data(g))[e];
            *value = at;
            ck_assert_msg(fabs(got - expected) < 1e-6 * (1 + fabs(expected)), "%s of %s, element %d: %g, expected %g",
                          asc_params_name(asc_layer_params(l), i), settings[_i], (int)e, got, expected);
        }
    }
    asc_layer_free(l);
}
END_TEST

/* ---- from layer to layer ---- */

#define MODEL(more) \
    "{\"d_model\": 8, \"layers\": 3, \"vocab\": 11, \"block\": 9, \"mix\": \"grassmann\", \"r\": 6, " \
    "\"groups\": 2, " more "}"
static const int64_t tokens[B * N + 1] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8};

static asc_tensor given(int64_t from)
{
    return asc_from(ctx, ASC_I64, tokens + from, ASC_SHAPE(B, N));
}

static double objective(asc_lm *lm)
{
    double value;
    return asc_item(asc_lm_objective(lm, given(0), given(1), &value));
}

/* The mean of 1 - <u, v>² over layers l and l - 1. */
static double turn(asc_lm *lm, int l)
{
    asc_params *parts[2] = {asc_params_new(ctx), asc_params_new(ctx)};
    double sum = 0;
    int count = 0;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(asc_lm_inspect(lm, given(0), l - i, parts[i]), ASC_OK);
    }
    const double *u = asc_data(asc_params_find(parts[0], "flow")), *v = asc_data(asc_params_find(parts[1], "flow"));
    for (int e = 0; e < B * N * G; e++) {
        if (e / G % N > 0) { /* the first token has no pair */
            double cosine = product(u + (ptrdiff_t)e * P, v + (ptrdiff_t)e * P);
            sum += 1 - cosine * cosine;
            count++;
        }
    }
    asc_params_free(parts[0]);
    asc_params_free(parts[1]);
    return sum / count;
}

START_TEST(smooth_adds_what_changes)
{
    asc_lm *plain = asc_lm_new(ctx, MODEL("\"offsets\": [1, 2]"), ASC_F64, 4);
    asc_lm *lm = asc_lm_new(ctx, MODEL("\"offsets\": [1, 2], \"smooth\": 0.5"), ASC_F64, 4);
    double want = objective(plain) + .5 * (turn(lm, 1) + turn(lm, 2)) / 2;
    ck_assert_double_eq_tol(objective(lm), want, 1e-10);
    asc_lm_free(lm);
    /* the second layer has other offsets, and compares with none */
    lm = asc_lm_new(ctx, MODEL("\"offsets\": [[1], [2], [2]], \"smooth\": 2"), ASC_F64, 4);
    asc_lm *other = asc_lm_new(ctx, MODEL("\"offsets\": [[1], [2], [2]]"), ASC_F64, 4);
    asc_lm_set_recompute(lm, true);
    double value = asc_item(asc_lm_objective(lm, given(0), given(1), &want)), rest = objective(other);
    ck_assert_double_gt(value - rest, 0);
    ck_assert_double_lt(value - rest, 2);
    asc_lm_free(plain);
    asc_lm_free(lm);
    asc_lm_free(other);
}
END_TEST

START_TEST(smooth_has_its_gradient)
{
    asc_lm *lm = asc_lm_new(ctx, MODEL("\"offsets\": [1, 2], \"smooth\": 3"), ASC_F64, 4);
    asc_params *params = asc_lm_params(lm);
    double value;
    asc_lm_set_recompute(lm, _i);
    asc_backward(ctx, asc_lm_objective(lm, given(0), given(1), &value), asc_null(), false);
    no_error();
    asc_lm_set_recompute(lm, false);
    asc_set_recording(ctx, false);
    for (int l = 0; l < 3; l++) {
        char name[64];
        snprintf(name, sizeof name, "blocks.%d.mix.red.weight", l);
        asc_tensor p = asc_params_find(params, name);
        for (int64_t e = 0; e < asc_numel(p); e += 7) {
            double *at = (double *)asc_data_mut(p) + e, was = *at, step = 1e-6;
            *at = was + step;
            double more = objective(lm);
            *at = was - step;
            double expected = (more - objective(lm)) / (2 * step), got = ((const double *)asc_data(asc_grad(p)))[e];
            *at = was;
            ck_assert_msg(fabs(got - expected) < 1e-6 * (1 + fabs(expected)), "%s, element %d: %g, expected %g", name,
                          (int)e, got, expected);
        }
    }
    asc_lm_free(lm);
}
END_TEST

static const struct {
    const char *config, *message;
} wrong[] = {
    {MODEL("\"smooth\": 1, \"offsets\": [[1], [2], [4]]"),
     "smooth is above 0, and no layer compares with the one below"},
    {"{\"d_model\": 8, \"layers\": 3, \"vocab\": 11, \"block\": 9, \"mix\": [\"grassmann\", \"conv\", \"grassmann\"], "
     "\"r\": 6, \"smooth\": 1}",
     "smooth is above 0, and no layer compares with the one below"},
    {MODEL("\"smooth\": -1"), "smooth: got -1, expected a number >= 0"},
    {"{\"d_model\": 8, \"layers\": 1, \"vocab\": 11, \"block\": 9, \"mix\": \"grassmann\", \"r\": 6, "
     "\"mask\": \"full\", \"head\": \"classifier\", \"invariants\": true}",
     "invariants is true, and direction not past"},
};

START_TEST(what_has_no_meaning_is_refused)
{
    ck_assert_ptr_null(asc_lm_new(ctx, wrong[_i].config, ASC_F32, 1));
    expect_error_with(ASC_ERR_ARG, wrong[_i].message);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("flow");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, fused_is_composed, 0, COUNT(settings));
    tcase_add_test(t, the_gate_sees_the_path);
    tcase_add_test(t, paths_by_hand);
    tcase_add_test(t, the_leading_direction_is_not_the_furthest);
    tcase_add_loop_test(t, gradients_are_right, 0, COUNT(settings));
    tcase_add_test(t, smooth_adds_what_changes);
    tcase_add_loop_test(t, smooth_has_its_gradient, 0, 2);
    tcase_add_loop_test(t, what_has_no_meaning_is_refused, 0, COUNT(wrong));
    return run_suite("nn/flow", t);
}
