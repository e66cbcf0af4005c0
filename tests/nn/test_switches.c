/* tests/nn/test_switches.c: a model's switches (doc/model-switches.md): each is the composition of primitive ops that
 * its formula says, loss and gradients; initial values and rates; what is refused. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

#include "tests/draw.h"
#include "tests/nn/model.h"

enum { B = 2, N = 9, V = 13, D = 16, FF = 12, HEADS = 2, LAYERS = 2 };

static const char *const switches[] = {
    "",
    "\"norm\":\"rms\"",
    "\"norm\":\"rms\",\"block_norm\":\"pre\"",
    "\"activation\":\"relu2\"",
    "\"activation\":\"swiglu\"",
    "\"activation\":\"geglu\",\"block_norm\":\"pre\"",
    "\"emb_norm\":true",
    "\"emb_norm\":true,\"norm\":\"rms\",\"pos_emb\":false",
    "\"tied\":false",
    "\"logit_cap\":0.8",
    "\"tied\":false,\"logit_cap\":0.8,\"mup_width\":4",
    "\"mup_width\":4",
    "\"zero_init\":true,\"activation\":\"swiglu\"",
    "\"qk_norm\":\"rms\"",
    "\"qk_norm\":\"gain\",\"positions\":\"rotary\",\"pos_emb\":false",
    "\"attn_cap\":0.5",
    "\"attn_cap\":0.5,\"qk_norm\":\"gain\",\"block_norm\":\"pre\"",
};
enum { SWITCHES = sizeof switches / sizeof *switches };

static const char *given; /* the switches of the model at hand */

static bool is_on(const char *what)
{
    return strstr(given, what) != NULL;
}

static asc_lm *make(const char *more, asc_dtype dtype)
{
    char config[500];
    snprintf(config, sizeof config,
             "{\"mix\":\"transformer\",\"d_model\":%d,\"d_ff\":%d,\"layers\":%d,\"heads\":%d,\"vocab\":%d,\"block\":%d"
             "%s%s}", D, FF, LAYERS, HEADS, V, N, *more ? "," : "", more);
    given = more;
    return asc_lm_new(ctx, config, dtype, 7);
}

/* ---- the composition ---- */

static asc_tensor param(asc_lm *lm, int layer, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, layer < 0 ? "%.0d%s" : "blocks.%d.%s", layer < 0 ? 0 : layer, name);
    asc_tensor t = asc_params_find(asc_lm_params(lm), full);
    ck_assert_msg(!asc_is_null(t), "%s", full);
    return t;
}

static asc_tensor affine(asc_lm *lm, int layer, const char *name, asc_tensor x)
{
    char weight[40], bias[40];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return asc_linear(ctx, x, param(lm, layer, weight), param(lm, layer, bias));
}

/* x/√(mean(x²) + ε) */
static asc_tensor unit_rms(asc_tensor x, double eps)
{
    asc_tensor mean = asc_mean(ctx, asc_square(ctx, x), 1, (int[]){-1}, true);
    return asc_mul(ctx, x, asc_rsqrt(ctx, asc_add_scalar(ctx, mean, eps)));
}

static asc_tensor norm(asc_lm *lm, int layer, const char *name, asc_tensor x)
{
    char weight[40], bias[40];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    return is_on("\"norm\":\"rms\"")
               ? asc_mul(ctx, unit_rms(x, 1e-5), param(lm, layer, weight))
               : asc_layer_norm(ctx, x, param(lm, layer, weight), param(lm, layer, bias), 1e-5);
}

static asc_tensor soft_cap(asc_tensor x, double cap)
{
    return asc_scale(ctx, asc_tanh(ctx, asc_scale(ctx, x, 1 / cap)), cap);
}

/* (B, N, D) to (B, H, N, d). */
static asc_tensor split(asc_tensor x)
{
    return asc_transpose(ctx, asc_reshape(ctx, x, ASC_SHAPE(B, N, HEADS, D / HEADS)), 1, 2);
}

static asc_tensor causal_mask(void)
{
    asc_tensor mask = asc_empty(ctx, ASC_U8, ASC_SHAPE(N, N));
    uint8_t *to = asc_data_mut(mask);
    for (int i = 0; i < N * N; i++) {
        to[i] = i % N <= i / N;
    }
    return mask;
}

/* Queries or keys: normalised, with their gain, turned. */
static asc_tensor project(asc_lm *lm, int layer, const char *which, asc_tensor x)
{
    char name[20], gain[30];
    snprintf(name, sizeof name, "mix.%s", which);
    snprintf(gain, sizeof gain, "mix.%s_norm.weight", which);
    asc_tensor y = affine(lm, layer, name, x);
    if (is_on("qk_norm")) {
        y = unit_rms(asc_reshape(ctx, y, ASC_SHAPE(B, N, HEADS, D / HEADS)), 1e-6);
        y = is_on("gain") ? asc_mul(ctx, y, param(lm, layer, gain)) : y;
        y = asc_reshape(ctx, y, ASC_SHAPE(B, N, D));
    }
    return split(is_on("rotary") ? asc_rotary(ctx, y, HEADS, 0) : y);
}

static asc_tensor attend(asc_lm *lm, int layer, asc_tensor x)
{
    asc_tensor q = project(lm, layer, "q", x), k = project(lm, layer, "k", x);
    asc_tensor v = split(affine(lm, layer, "mix.v", x));
    asc_tensor s = asc_scale(ctx, asc_matmul_transposed(ctx, q, false, k, true), 1 / sqrt(D / HEADS));
    s = is_on("attn_cap") ? soft_cap(s, .5) : s;
    asc_tensor y = asc_matmul(ctx, asc_softmax(ctx, s, causal_mask()), v);
    y = asc_reshape(ctx, asc_contiguous(ctx, asc_transpose(ctx, y, 1, 2)), ASC_SHAPE(B, N, D));
    return affine(lm, layer, "mix.o", y);
}

static asc_tensor feed_forward(asc_lm *lm, int layer, asc_tensor x)
{
    asc_tensor wide = affine(lm, layer, "ffn.fc1", x);
    if (is_on("relu2")) {
        wide = asc_square(ctx, asc_relu(ctx, wide));
    } else if (is_on("swiglu")) {
        wide = asc_mul(ctx, asc_silu(ctx, affine(lm, layer, "ffn.gate", x)), wide);
    } else if (is_on("geglu")) {
        wide = asc_mul(ctx, asc_gelu(ctx, affine(lm, layer, "ffn.gate", x)), wide);
    } else {
        wide = asc_gelu(ctx, wide);
    }
    return affine(lm, layer, "ffn.fc2", wide);
}

static asc_tensor composed(asc_lm *lm, asc_tensor x, asc_tensor y)
{
    asc_tensor h = asc_embedding(ctx, param(lm, -1, "tok_emb.weight"), x);
    if (!is_on("\"pos_emb\":false")) {
        h = asc_add(ctx, h, asc_slice(ctx, param(lm, -1, "pos_emb.weight"), 0, 0, N, 1));
    }
    h = is_on("emb_norm") ? norm(lm, -1, "emb_norm", h) : h;
    bool pre = is_on("\"pre\"");
    for (int l = 0; l < LAYERS; l++) {
        if (pre) {
            h = asc_add(ctx, h, attend(lm, l, norm(lm, l, "norm1", h)));
            h = asc_add(ctx, h, feed_forward(lm, l, norm(lm, l, "norm2", h)));
        } else {
            h = norm(lm, l, "norm1", asc_add(ctx, h, attend(lm, l, h)));
            h = norm(lm, l, "norm2", asc_add(ctx, h, feed_forward(lm, l, h)));
        }
    }
    h = pre ? norm(lm, -1, "norm_f", h) : h;
    asc_tensor head = param(lm, -1, is_on("\"tied\":false") ? "lm_head.weight" : "tok_emb.weight");
    asc_tensor s = asc_scale(ctx, asc_linear(ctx, h, head, asc_null()), is_on("mup_width") ? 4. / D : 1);
    return asc_cross_entropy(ctx, is_on("logit_cap") ? soft_cap(s, .8) : s, y, -1, NULL);
}

/* Zeros and ones would hide what they multiply. */
static void disturb(asc_lm *lm)
{
    asc_params *params = asc_lm_params(lm);
    for (int i = 0; i < asc_params_count(params); i++) {
        double *to = asc_data_mut(asc_params_at(params, i));
        for (int64_t e = 0; e < asc_numel(asc_params_at(params, i)); e++) {
            to[e] += draw_real(-.3, .3);
        }
    }
}

/* The loss, and copies of the gradients. */
static double run(asc_lm *lm, asc_tensor loss, double **gradient)
{
    asc_params *params = asc_lm_params(lm);
    no_error();
    ck_assert_msg(asc_backward(ctx, loss, asc_null(), false) == ASC_OK, "%s", asc_error_message(ctx));
    double *at = *gradient = malloc((size_t)asc_params_numel(params) * sizeof *at);
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor g = asc_grad(asc_params_at(params, i));
        ck_assert_msg(!asc_is_null(g), "%s", asc_params_name(params, i));
        memcpy(at, asc_data(g), (size_t)asc_numel(g) * sizeof *at);
        at += asc_numel(g);
    }
    asc_params_zero_grad(params);
    return asc_item(loss);
}

START_TEST(a_model_is_its_composition)
{
    asc_lm *lm = make(switches[_i], ASC_F64);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    int64_t x[B * N], y[B * N];
    draw_tokens(x, B * N, V, 1);
    draw_tokens(y, B * N, V, 2);
    y[3] = -1;
    disturb(lm);
    asc_tensor X = asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, N)), Y = asc_from(ctx, ASC_I64, y, ASC_SHAPE(B, N));
    double *got, *want;
    double loss = run(lm, asc_lm_loss(lm, X, Y, NULL), &got), expected = run(lm, composed(lm, X, Y), &want);
    ck_assert_double_eq_tol(loss, expected, 1e-12);
    double most = 0;
    for (int64_t e = 0; e < asc_params_numel(asc_lm_params(lm)); e++) {
        ck_assert_double_eq_tol(got[e], want[e], 1e-12);
        most = fmax(most, fabs(want[e]));
    }
    ck_assert_double_gt(most, 1e-3);
    free(got);
    free(want);
    asc_lm_free(lm);
}
END_TEST

/* Logits, the cache and the loss have one head. */
START_TEST(logits_and_the_next_token_know_the_head)
{
    asc_lm *lm = make(switches[_i], ASC_F64);
    int64_t x[N], y[N];
    draw_tokens(x, N, V, 1);
    draw_tokens(y, N, V, 2);
    disturb(lm);
    asc_tensor X = asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)), Y = asc_from(ctx, ASC_I64, y, ASC_SHAPE(1, N));
    asc_tensor logits = asc_lm_logits(lm, X), loss = asc_lm_loss(lm, X, Y, NULL);
    ck_assert_double_eq_tol(asc_item(loss), asc_item(asc_cross_entropy(ctx, logits, Y, -1, NULL)), 1e-12);
    asc_lm_cache *cache = asc_lm_cache_new(lm, N);
    asc_lm_next(cache, x, 4);
    asc_tensor last = asc_lm_next(cache, x + 4, N - 4);
    no_error();
    for (int v = 0; v < V; v++) {
        double s = ((const double *)asc_data(logits))[(N - 1) * V + v];
        ck_assert_double_eq_tol(((const double *)asc_data(last))[v], s, 1e-12);
        ck_assert(!is_on("logit_cap") || fabs(s) < .8);
    }
    asc_lm_cache_free(cache);
    asc_lm_free(lm);
}
END_TEST

/* ---- normalised queries and keys ---- */

static const struct {
    const char *mixing, *settings;
} normalised[] = {
    {"transformer", "{\"heads\":2%s}"},
    {"ascender", "{\"heads\":2,\"k\":3%s}"},
    {"ascender", "{\"heads\":2,\"k\":3,\"variant\":\"background\",\"heading\":\"qk\",\"positions\":\"rotary\"%s}"},
    {"linear", "{\"heads\":2%s}"},
    {"linear", "{\"heads\":2,\"feature\":\"favor\",\"composed\":true%s}"},
};
enum { NORMALISED = sizeof normalised / sizeof *normalised };

/* How far the output moves where queries and keys become three times as long. */
static double moved_by_length(int which, const char *more)
{
    char settings[200];
    snprintf(settings, sizeof settings, normalised[which].settings, more);
    asc_layer *layer = asc_layer_new(ctx, normalised[which].mixing, D, settings, ASC_F64, 3);
    ck_assert_msg(layer != NULL, "%s", asc_error_message(ctx));
    asc_set_recording(ctx, false);
    asc_params *params = asc_layer_params(layer);
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 5, 0, ASC_SHAPE(B, N, D));
    asc_tensor before = asc_layer_forward(layer, x, asc_null());
    for (int i = 0; i < asc_params_count(params); i++) {
        const char *name = asc_params_name(params, i);
        bool scaled = (*name == 'q' || *name == 'k') && name[1] == '.';
        double *to = asc_data_mut(asc_params_at(params, i));
        for (int64_t e = 0; scaled && e < asc_numel(asc_params_at(params, i)); e++) {
            to[e] *= 3;
        }
    }
    asc_tensor after = asc_layer_forward(layer, x, asc_null());
    no_error();
    double most = 0;
    for (int64_t e = 0; e < asc_numel(x); e++) {
        double moved = fabs(((const double *)asc_data(after))[e] - ((const double *)asc_data(before))[e]);
        most = isfinite(moved) ? fmax(most, moved) : INFINITY;
    }
    asc_layer_free(layer);
    return most;
}

START_TEST(the_length_of_queries_and_keys_has_no_say)
{
    ck_assert_double_gt(moved_by_length(_i, ""), 1e-3);
    ck_assert_double_lt(moved_by_length(_i, ",\"qk_norm\":\"rms\""), 1e-5);
    ck_assert_double_lt(moved_by_length(_i, ",\"qk_norm\":\"gain\""), 1e-5);
}
END_TEST

/* What is inspected is what attention computes. */
START_TEST(inspected_scores_are_capped)
{
    asc_layer *layer = asc_layer_new(ctx, "transformer", D,
                                     "{\"heads\":2,\"attn_cap\":0.1,\"rel\":2,\"qk_norm\":\"rms\"}", ASC_F64, 3);
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 5, 0, ASC_SHAPE(B, N, D));
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_layer_inspect(layer, x, asc_null(), parts), ASC_OK);
    asc_tensor s = asc_params_find(parts, "s_base");
    double most = 0;
    for (int64_t e = 0; e < asc_numel(s); e++) {
        double score = fabs(((const double *)asc_data(s))[e]);
        most = isfinite(score) ? fmax(most, score) : INFINITY;
    }
    ck_assert(most > .05 && most <= .1);
    asc_params_free(parts);
    asc_layer_free(layer);
}
END_TEST

/* ---- initial values and rates ---- */

#define HYBRID(more) \
    "{\"mix\":[\"grassmann\",\"conv\",\"recurrent\",\"linear\",\"ascender\"],\"d_model\":16,\"layers\":5,\"heads\":2," \
    "\"vocab\":13,\"block\":9,\"r\":4,\"running_mean\":true,\"block_norm\":\"pre\"" more "}"

static bool ends_with(const char *text, const char *const *ends)
{
    size_t n = strlen(text);
    for (; *ends; ends++) {
        if (n >= strlen(*ends) && strcmp(text + n - strlen(*ends), *ends) == 0) {
            return true;
        }
    }
    return false;
}

START_TEST(what_projects_back_starts_from_zero_and_nothing_else)
{
    static const char *const zeros[] = {".o.weight", ".plu.weight", ".mix.mean.weight", ".fc2.weight", NULL};
    asc_lm *lm = asc_lm_new(ctx, HYBRID(",\"zero_init\":true"), ASC_F32, 7);
    asc_lm *ordinary = asc_lm_new(ctx, HYBRID(""), ASC_F32, 7);
    no_error();
    asc_params *params = asc_lm_params(lm), *others = asc_lm_params(ordinary);
    ck_assert_int_eq(asc_params_count(params), asc_params_count(others));
    int found = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor t = asc_params_at(params, i), u = asc_params_at(others, i);
        bool zero = ends_with(asc_params_name(params, i), zeros);
        found += zero;
        ck_assert(asc_params_decays(params, i) == asc_params_decays(others, i));
        ck_assert(zero || memcmp(asc_data(t), asc_data(u), (size_t)asc_numel(t) * sizeof(float)) == 0);
        for (int64_t e = 0; zero && e < asc_numel(t); e++) {
            ck_assert_float_eq(((const float *)asc_data(t))[e], 0);
        }
    }
    ck_assert_int_eq(found, 5 + 1 + 5);
    asc_lm_free(lm);
    asc_lm_free(ordinary);
}
END_TEST

START_TEST(zeros_learn)
{
    asc_lm *lm = make("\"zero_init\":true,\"block_norm\":\"pre\"", ASC_F32);
    int64_t x[N + 1];
    draw_tokens(x, N + 1, V, 4);
    expect_learning(lm, x, N);
    asc_lm_free(lm);
}
END_TEST

/* One parameter of each row of the table. */
START_TEST(rates_by_width)
{
    static const struct {
        const char *name;
        double scale;
    } want[] = {
        {"tok_emb.weight", 1},          {"pos_emb.weight", 1},          {"lm_head.weight", 1},
        {"norm_f.weight", 1},           {"blocks.0.mix.red.weight", .25}, {"blocks.0.mix.plu.weight", 1},
        {"blocks.0.mix.mean.weight", 1}, {"blocks.0.mix.gate.weight", .25}, {"blocks.1.mix.u.weight", .25},
        {"blocks.1.mix.conv.weight", 1}, {"blocks.1.mix.o.weight", .25}, {"blocks.2.mix.decay", 1},
        {"blocks.3.mix.q.weight", .25}, {"blocks.3.mix.q.bias", 1},     {"blocks.4.mix.omega_sep", 1},
        {"blocks.4.mix.u.weight", .25}, {"blocks.4.ffn.fc1.weight", .25}, {"blocks.4.ffn.fc2.weight", .25},
    };
    asc_lm *lm = asc_lm_new(ctx, HYBRID(",\"mup_width\":4,\"tied\":false"), ASC_F32, 7);
    asc_lm *off = asc_lm_new(ctx, HYBRID(",\"tied\":false"), ASC_F32, 7);
    no_error();
    asc_params *params = asc_lm_params(lm);
    for (size_t w = 0; w < sizeof want / sizeof *want; w++) {
        int i = 0;
        while (i < asc_params_count(params) && strcmp(asc_params_name(params, i), want[w].name) != 0) {
            i++;
        }
        ck_assert_msg(i < asc_params_count(params) && asc_lm_rate_scale(lm, i) == want[w].scale, "%s", want[w].name);
        ck_assert_double_eq(asc_lm_rate_scale(off, i), 1);
    }
    ck_assert_double_eq(asc_lm_rate_scale(lm, -1), 1);
    ck_assert_double_eq(asc_lm_rate_scale(lm, asc_params_count(params)), 1);
    ck_assert_double_eq(asc_lm_rate_scale(NULL, 0), 1);
    asc_lm_free(lm);
    asc_lm_free(off);
}
END_TEST

#define CLASSIFIER ",\"head\":\"classifier\",\"classes\":3"

START_TEST(a_classifier_starts_narrower)
{
    asc_lm *lm = asc_lm_new(ctx, HYBRID(CLASSIFIER ",\"mup_width\":4"), ASC_F64, 7);
    asc_lm *off = asc_lm_new(ctx, HYBRID(CLASSIFIER), ASC_F64, 7);
    no_error();
    asc_params *params = asc_lm_params(lm), *others = asc_lm_params(off);
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor t = asc_params_at(params, i), u = asc_params_at(others, i);
        double factor = strcmp(asc_params_name(params, i), "classifier.weight") == 0 ? .5 : 1;
        ck_assert_double_eq(asc_lm_rate_scale(lm, i), factor < 1 ? .25 : asc_lm_rate_scale(lm, i));
        for (int64_t e = 0; e < asc_numel(t); e++) {
            ck_assert_double_eq(((const double *)asc_data(t))[e], factor * ((const double *)asc_data(u))[e]);
        }
    }
    asc_lm_free(lm);
    asc_lm_free(off);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *config, *message;
} refused[] = {
    {HYBRID(",\"norm\":\"batch\""), "norm"},
    {HYBRID(",\"activation\":\"relu\""), "activation"},
    {HYBRID(",\"logit_cap\":-1"), "logit_cap"},
    {HYBRID(",\"logit_cap\":1e-40"), "logit_cap is 1e-40, expected 0 for none, or 1e-30 and more"},
    {"{\"mix\":\"transformer\",\"heads\":2,\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":9,\"attn_cap\":1e-40}",
     "attn_cap is 1e-40, expected 0"},
    {HYBRID(",\"mup_width\":-4"), "mup_width"},
    {HYBRID(",\"attn_cap\":5"), "attn_cap is a setting of transformer, and no layer of this model knows it"},
    {"{\"mix\":\"grassmann\",\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":9,\"qk_norm\":\"rms\"}",
     "qk_norm is a setting of transformer and ascender and linear, and no layer of this model knows it"},
    {HYBRID(CLASSIFIER ",\"tied\":false"), "tied belongs to head lm"},
    {HYBRID(CLASSIFIER ",\"logit_cap\":30"), "logit_cap belongs to head lm"},
};

START_TEST(wrong_switches_are_refused)
{
    ck_assert_ptr_null(asc_lm_new(ctx, refused[_i].config, ASC_F32, 1));
    expect_error_with(ASC_ERR_ARG, refused[_i].message);
}
END_TEST

static asc_tensor pass_through(asc_layer *layer, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths;
    (void)aux;
    return asc_scale(layer->ctx, x, 1);
}

/* A mixing that names no outputs can't start from 0. */
START_TEST(zero_init_needs_a_mixing_that_knows_its_outputs)
{
    static const asc_mixing bare = {.abi = ASC_MIXING_ABI, .name = "bare", .forward = pass_through};
    ck_assert_int_eq(asc_mixing_register(ctx, &bare), ASC_OK);
    const char *config = "{\"mix\":\"bare\",\"d_model\":8,\"layers\":1,\"vocab\":5,\"block\":9,\"zero_init\":true}";
    ck_assert_ptr_null(asc_lm_new(ctx, config, ASC_F32, 1));
    expect_error_with(ASC_ERR_ARG, "zero_init is true, and bare does not say what of it projects back");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("switches");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, a_model_is_its_composition, 0, SWITCHES);
    tcase_add_loop_test(t, logits_and_the_next_token_know_the_head, 0, SWITCHES);
    tcase_add_loop_test(t, the_length_of_queries_and_keys_has_no_say, 0, NORMALISED);
    tcase_add_test(t, inspected_scores_are_capped);
    tcase_add_test(t, what_projects_back_starts_from_zero_and_nothing_else);
    tcase_add_test(t, zeros_learn);
    tcase_add_test(t, rates_by_width);
    tcase_add_test(t, a_classifier_starts_narrower);
    tcase_add_loop_test(t, wrong_switches_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, zero_init_needs_a_mixing_that_knows_its_outputs);
    return run_suite("nn/switches", t);
}
