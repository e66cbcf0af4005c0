/* tests/nn/test_mixing.c: mixings of users: what is registered, and models, layers and generation with it. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/check.h>

#include "nn/mixing.h"
#include "tests/draw.h"
#include "tests/nn/model.h"
#include "tests/nn/summing.h"

enum { N = 12, V = 11 };

static asc_tensor pass_through(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths;
    (void)aux;
    return asc_scale(l->ctx, x, 1);
}

/* No settings, no parameters: name and forward are enough. */
static const asc_mixing bare = {.abi = ASC_MIXING_ABI, .name = "none", .forward = pass_through};

static void setup_registered(void)
{
    setup_one_thread();
    ck_assert_int_eq(asc_mixing_register(ctx, &summing), ASC_OK);
    ck_assert_int_eq(asc_mixing_register(ctx, &bare), ASC_OK);
}

/* ---- mixings that give what they must not ---- */

static asc_tensor shrink(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    return asc_mean(l->ctx, x, ASC_DIMS(0, 1), true);
}

static asc_tensor give_nothing(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)l, (void)x, (void)lengths, (void)aux;
    return asc_null();
}

static asc_status refuse_mutely(asc_layer *l, asc_maker *maker)
{
    (void)l, (void)maker;
    return ASC_ERR_ARG;
}

static const asc_mixing unsound[] = {
    {.abi = ASC_MIXING_ABI, .name = "shrinks", .forward = shrink},
    {.abi = ASC_MIXING_ABI, .name = "nothing", .forward = give_nothing},
    {.abi = ASC_MIXING_ABI, .name = "mute", .forward = pass_through, .init = refuse_mutely},
};

START_TEST(what_a_mixing_gives_is_looked_at)
{
    static const char *const given[] = {
        "shrinks: its mixing gave f64 (1, 1, 8), expected f64 (2, 3, 8), as it was given",
        "nothing: its mixing gave no tensor, and no error"};
    for (int i = 0; i < 3; i++) {
        asc_mixing_register(ctx, &unsound[i]);
    }
    asc_causal_report report;
    for (int i = 0; i < 2; i++) {
        asc_layer *l = asc_layer_new(ctx, unsound[i].name, 8, "{}", ASC_F64, 1);
        ck_assert(asc_is_null(asc_layer_forward(l, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3, 8)), asc_null())));
        expect_error(ASC_ERR_ARG, given[i]);
        asc_layer_free(l);
        ck_assert_int_eq(asc_causal_check(ctx, unsound[i].name, "{}", NULL, &report), ASC_ERR_ARG);
        expect_error_with(ASC_ERR_ARG, unsound[i].name);
    }
    ck_assert_ptr_null(asc_layer_new(ctx, "mute", 8, "{}", ASC_F64, 1));
    expect_error_with(ASC_ERR_ARG, "mute: its check or init failed without a message");
    const char *config = "{\"d_model\":8,\"layers\":2,\"vocab\":9,\"block\":4,\"mix\":[\"mute\",\"none\"]}";
    ck_assert_ptr_null(asc_lm_new(ctx, config, ASC_F64, 1));
    expect_error_with(ASC_ERR_ARG, "mute: its check or init failed without a message");
}
END_TEST

static asc_tensor give_back(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)l, (void)lengths, (void)aux;
    return x;
}

/* The caller releases what a mixing gives, and x is not its own. */
START_TEST(a_mixing_may_give_back_what_it_got)
{
    static const asc_mixing same = {.abi = ASC_MIXING_ABI, .name = "same", .forward = give_back};
    asc_mixing_register(ctx, &same);
    double norms[2][2];
    for (int i = 0; i < 4; i++) {
        const char *config = i / 2 ? "{\"d_model\":8,\"layers\":2,\"vocab\":9,\"block\":4,\"mix\":\"same\"}"
                                   : "{\"d_model\":8,\"layers\":2,\"vocab\":9,\"block\":4,\"mix\":\"same\","
                                     "\"block_norm\":\"pre\"}";
        asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
        asc_lm_set_recompute(lm, i % 2);
        asc_tensor x = asc_from(ctx, ASC_I64, (int64_t[]){1, 2, 3, 4}, ASC_SHAPE(1, 4));
        asc_backward_loss(ctx, asc_lm_objective(lm, x, x, NULL));
        ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
        norms[i / 2][i % 2] = asc_grad_norm(ctx, asc_lm_params(lm));
        asc_lm_free(lm);
        asc_release(x);
    }
    ck_assert(norms[0][0] == norms[0][1] && norms[1][0] == norms[1][1]);
    asc_causal_report report;
    asc_causal_check(ctx, "same", "{}", NULL, &report);
    ck_assert_msg(asc_error(ctx) == ASC_OK && report.passed, "%s", asc_error_message(ctx));
}
END_TEST

static asc_tensor turn_twice(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    return asc_transpose(l->ctx, asc_contiguous(l->ctx, asc_transpose(l->ctx, x, 1, 2)), 1, 2);
}

static asc_tensor take_away(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    asc_tensor y = asc_scale(l->ctx, x, 2);
    asc_release(x);
    return y;
}

START_TEST(the_causal_check_takes_views_and_misses_its_input)
{
    static const asc_mixing turned = {.abi = ASC_MIXING_ABI, .name = "turned", .forward = turn_twice};
    static const asc_mixing taken = {.abi = ASC_MIXING_ABI, .name = "taken", .forward = take_away};
    asc_mixing_register(ctx, &turned);
    asc_mixing_register(ctx, &taken);
    asc_causal_report report;
    asc_causal_check(ctx, "turned", "{}", NULL, &report);
    ck_assert_msg(asc_error(ctx) == ASC_OK && report.passed, "%s", asc_error_message(ctx));
    ck_assert_int_eq(asc_causal_check(ctx, "taken", "{}", NULL, &report), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "taken: its mixing has released x, which is the caller's");
}
END_TEST

static asc_lm *model(const char *more)
{
    char config[300];
    snprintf(config, sizeof config, "{\"d_model\":8,\"layers\":2,\"vocab\":%d,\"block\":%d,%s}", V, N + 1, more);
    return asc_lm_new(ctx, config, ASC_F64, 3);
}

static asc_tensor shrink_next(asc_layer *l, asc_layer_cache *cache, asc_tensor x)
{
    (void)cache;
    return shrink(l, x, asc_null(), NULL);
}

static asc_tensor give_rows(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths;
    if (aux) {
        *aux = asc_tanh(l->ctx, x);
    }
    return x;
}

START_TEST(an_auxiliary_loss_is_a_number)
{
    static const asc_mixing rows = {.abi = ASC_MIXING_ABI, .name = "rows", .forward = give_rows};
    asc_mixing_register(ctx, &rows);
    asc_lm *lm = model("\"mix\":\"rows\"");
    asc_tensor tokens = asc_from(ctx, ASC_I64, (int64_t[]){1, 2, 3}, ASC_SHAPE(1, 3));
    ck_assert(asc_is_null(asc_lm_objective(lm, tokens, tokens, NULL)));
    expect_error(ASC_ERR_ARG, "rows: its auxiliary loss is f64 (1, 3, 8), expected f64 of one element");
    asc_layer_free(asc_lm_layer(lm, 0)); /* the model's, and stays */
    ck_assert_ptr_nonnull(asc_lm_layer(lm, 0));
    asc_lm_free(lm);
}
END_TEST

static asc_tensor carry_nothing(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    (void)l, (void)held, (void)past, (void)x;
    return asc_null();
}

/* In generation, and on carried context, as well. */
START_TEST(what_a_mixing_gives_beside_forward_is_looked_at)
{
    static const asc_mixing strays = {.abi = ASC_MIXING_ABI, .name = "strays", .forward = pass_through,
                                      .next = shrink_next, .carry = carry_nothing};
    asc_mixing_register(ctx, &strays);
    asc_mixing_register(ctx, &unsound[1]);
    asc_lm *lm = model("\"mix\":\"strays\",\"pos_emb\":false"), *mute = model("\"mix\":\"nothing\"");
    asc_lm_cache *cache = asc_lm_cache_new(lm, N), *again = asc_lm_cache_new(mute, N);
    ck_assert(asc_is_null(asc_lm_next(cache, (int64_t[]){1, 2, 3}, 3)));
    expect_error(ASC_ERR_ARG, "strays: its mixing gave f64 (1, 1, 8), expected f64 (1, 3, 8), as it was given");
    ck_assert(asc_is_null(asc_lm_next(again, (int64_t[]){1, 2, 3}, 3)));
    expect_error(ASC_ERR_ARG, "nothing: its mixing gave no tensor, and no error");
    asc_lm_carried *carried = asc_lm_carried_new(lm, 2);
    asc_lm_set_carried(lm, carried);
    ck_assert(asc_is_null(asc_lm_logits(lm, asc_from(ctx, ASC_I64, (int64_t[]){1, 2, 3}, ASC_SHAPE(1, 3)))));
    expect_error(ASC_ERR_ARG, "strays: its mixing gave no tensor, and no error");
    asc_lm_carried_free(carried);
    asc_lm_cache_free(again);
    asc_lm_cache_free(cache);
    asc_lm_free(mute);
    asc_lm_free(lm);
}
END_TEST

/* A view of every other number of a float32 tensor. */
static asc_tensor move_as_view(asc_layer *l, asc_tensor x, const char *name)
{
    (void)x, (void)name;
    return asc_slice(l->ctx, asc_from(l->ctx, ASC_F32, (float[]){1, 2, 3, 4}, ASC_SHAPE(4)), 0, 0, 4, 2);
}

START_TEST(what_moves_comes_as_doubles)
{
    static const asc_mixing moving = {.abi = ASC_MIXING_ABI, .name = "moving", .forward = pass_through,
                                      .moves = move_as_view};
    asc_mixing_register(ctx, &moving);
    asc_lm *lm = model("\"mix\":\"moving\"");
    asc_tensor tokens = asc_from(ctx, ASC_I64, (int64_t[]){1, 2, 3}, ASC_SHAPE(1, 3));
    asc_tensor moved = asc_lm_moves(lm, tokens, 1, "number");
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert(asc_is_contiguous(moved) && asc_dtype_of(moved) == ASC_F64 && asc_numel(moved) == 2);
    const double *h = asc_data(moved);
    ck_assert(h[0] == 1 && h[1] == 3);
    asc_release(moved);
    asc_release(tokens);
    asc_lm_free(lm);
}
END_TEST

/* ---- the registry ---- */

START_TEST(the_librarys_tables_are_whole)
{
    const asc_mixing *m;
    int n = 0;
    for (; (m = asc_mixing_of(NULL, n)); n++) {
        ck_assert_msg(asc_settings_verify(ctx, &(asc_schema){m->name, m->settings}, m->settings_size) == ASC_OK, "%s",
                      asc_error_message(ctx));
        ck_assert_uint_eq(m->abi, ASC_MIXING_ABI);
        ck_assert_ptr_eq(asc_mixing_find(NULL, m->name), m);
    }
    ck_assert_int_ge(n, 3);
    ck_assert_str_eq(asc_mixing_at(ctx, n), "summing");
    ck_assert_str_eq(asc_mixing_at(ctx, n + 1), "none");
    ck_assert_ptr_null(asc_mixing_at(ctx, n + 2));
    ck_assert_ptr_null(asc_mixing_at(NULL, n));
    ck_assert_ptr_null(asc_mixing_at(ctx, -1));
    ck_assert(asc_mixing_takes(ctx, "summing", "part") && !asc_mixing_takes(NULL, "summing", "part"));
    ck_assert_str_eq(asc_lm_schema(ctx, n + 1).owner, "summing");
    ck_assert_ptr_null(asc_lm_schema(NULL, n + 1).owner);
}
END_TEST

static const asc_setting of_the_model[] = {{"d_ff", ASC_SETTING_INT, 0, "1", .help = "", .max = 2}, {0}};
static const asc_setting another_type[] = {{"scale", ASC_SETTING_REAL, 0, "1", .help = "", .max = 2}, {0}};
static const asc_setting wider[] = {{"rel", ASC_SETTING_INT, 0, "1", .help = "", .min = -1, .max = 2}, {0}};
static const char *const masks[] = {"full", "half", NULL};
static const asc_setting more_choices[] = {{"mask", ASC_SETTING_CHOICE, 0, "full", .help = "", .choices = masks}, {0}};
static const asc_setting outside[] = {{"x", ASC_SETTING_INT, 8, "1", .help = "", .max = 2}, {0}};

static const asc_logged unlogged[] = {{"x", false}, {NULL, false}}, inspected[] = {{"x", true}, {NULL, false}};

static asc_tensor log_nothing(asc_layer *l, const char *name, const asc_params *parts)
{
    (void)l;
    (void)name;
    (void)parts;
    return asc_null();
}

static bool follow_always(const asc_layer *l, const asc_layer *below)
{
    (void)l;
    (void)below;
    return true;
}

static const struct {
    asc_mixing mixing;
    const char *message;
} wrong[] = {
    {{.abi = 7, .name = "a", .forward = summing_forward}, "the mixing has ABI 7, expected 3"},
    {{.abi = ASC_MIXING_ABI, .forward = summing_forward}, "(no name): a name without a comma and forward are needed"},
    {{.abi = ASC_MIXING_ABI, .name = "a,b", .forward = summing_forward}, "a,b: a name without a comma"},
    {{.abi = ASC_MIXING_ABI, .name = "a"}, "a: a name without a comma and forward are needed"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .logged = unlogged},
     "a: logged needs log, and inspect for what is inspected"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .logged = inspected, .log = log_nothing},
     "a: logged needs log, and inspect for what is inspected"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .follows = follow_always},
     "a: follows needs flow and turn"},
    {{.abi = ASC_MIXING_ABI, .name = "transformer", .forward = summing_forward}, "there is a mixing of this name"},
    {{.abi = ASC_MIXING_ABI, .name = "summing", .forward = summing_forward}, "there is a mixing of this name"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .settings = of_the_model, .settings_size = 8},
     "a: d_ff is a setting of model already"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .settings = another_type, .settings_size = 8},
     "a: scale is a setting of grassmann already, of another type or a narrower range"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .settings = wider, .settings_size = 8},
     "a: rel is a setting of transformer already, of another type or a narrower range"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .settings = more_choices, .settings_size = 8},
     "a: mask is a setting of transformer already"},
    {{.abi = ASC_MIXING_ABI, .name = "a", .forward = summing_forward, .settings = outside, .settings_size = 8},
     "settings of a: x: its place is outside of the values"},
};

START_TEST(what_is_not_whole_is_refused)
{
    ck_assert_int_eq(asc_mixing_register(ctx, &wrong[_i].mixing), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, wrong[_i].message);
}
END_TEST

START_TEST(null_arguments)
{
    ck_assert_int_eq(asc_mixing_register(ctx, NULL), ASC_ERR_ARG);
    asc_error_clear(ctx);
    ck_assert_int_ne(asc_mixing_register(NULL, &summing), ASC_OK);
    ck_assert_ptr_null(asc_mixing_find(ctx, NULL));
    ck_assert(!asc_mixing_takes(ctx, NULL, "part") && !asc_mixing_takes(ctx, "summing", NULL));
    ck_assert(!asc_layer_given(NULL, "part"));
    ck_assert(asc_is_null(asc_make_param(NULL, "w", ASC_INIT_ZERO, ASC_SHAPE(1))));
    ck_assert(asc_is_null(asc_make_values(NULL, "w", 1, &(double){1})));
    ck_assert(asc_is_null(asc_make_linear(NULL, "w", 1, 1).weight) && asc_is_null(asc_make_norm(NULL, "w", 1).bias));
    ck_assert_int_eq(asc_cache_make(NULL, NULL, 0, 1, 1), ASC_ERR_ARG);
    ck_assert(asc_is_null(asc_cache_append(NULL, NULL, 0, asc_null())));
    ck_assert_ptr_null(asc_layer_new(ctx, NULL, 8, "{}", ASC_F32, 1));
    expect_error(ASC_ERR_ARG, "layer_new: mixing is NULL");
    ck_assert_ptr_null(asc_layer_new(ctx, "no", 8, "{}", ASC_F32, 1));
    expect_error_with(ASC_ERR_ARG, "mixing: got 'no', expected one of transformer,");
}
END_TEST

/* ---- models ---- */

static const char *const configs[] = {
    "\"mix\":\"summing\"",
    "\"mix\":\"summing\",\"part\":[0.5,2],\"block_norm\":\"pre\"",
    "\"mix\":[\"summing\",\"transformer\"],\"heads\":2",
    "\"mix\":[\"none\",\"grassmann\"],\"r\":4,\"offsets\":[1]",
    "\"mix\":[\"summing\",\"none\"],\"pos_emb\":false",
};
enum { CONFIGS = sizeof configs / sizeof *configs };

START_TEST(a_model_learns)
{
    asc_lm *lm = model(configs[_i]);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    int64_t x[N + 1];
    draw_tokens(x, N + 1, V, 1);
    expect_learning(lm, x, N);
    asc_lm *again = asc_lm_new(ctx, asc_lm_config(lm), ASC_F64, 3);
    ck_assert_str_eq(asc_lm_config(again), asc_lm_config(lm));
    asc_lm_free(again);
    asc_lm_free(lm);
}
END_TEST

START_TEST(generation_equals_the_full_pass)
{
    asc_lm *lm = model(configs[_i]);
    ck_assert(!asc_lm_streams(lm));
    int64_t x[N];
    draw_tokens(x, N, V, 2);
    asc_tensor full = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    asc_lm_cache *cache = asc_lm_cache_new(lm, N);
    for (int pass = 0; pass < 2; pass++) {
        int64_t at = 0;
        for (int64_t n = 1; at + n <= N; at += n, n++) {
            asc_tensor next = asc_lm_next(cache, x + at, n);
            ck_assert_msg(asc_numel(next) == V, "%s", asc_error_message(ctx));
            for (int64_t v = 0; v < V; v++) {
                double want = ((const double *)asc_data(full))[(at + n - 1) * V + v];
                ck_assert_double_eq_tol(((const double *)asc_data(next))[v], want, 1e-12);
            }
            asc_release(next);
        }
        asc_lm_cache_reset(cache);
    }
    asc_lm_cache_free(cache);
    asc_lm_free(lm);
}
END_TEST

static const struct {
    const char *config, *message;
} refused[] = {
    {"\"mix\":\"suming\"", "config: mix: got 'suming', expected one of transformer,"},
    {"\"mix\":\"summing\",\"part\":3", "config: part: got 3, expected a number from 0 to 2"},
    {"\"mix\":\"summing\",\"part\":[1]", "config: part has 1 entries, expected one a layer: 2"},
    {"\"mix\":\"none\",\"part\":1", "config: part is a setting of summing, and no layer of this model knows it"},
    {"\"mix\":\"summing\",\"ahead\":true",
     "config: the mixing of layer 0 looks ahead, which a language model must not: it was told to"},
};

START_TEST(a_models_settings_are_checked)
{
    ck_assert_ptr_null(model(refused[_i].config));
    expect_error_with(ASC_ERR_ARG, refused[_i].message);
}
END_TEST

static const struct {
    const char *mixing, *config, *message;
    int64_t width;
    asc_dtype dtype;
} refused_alone[] = {
    {"transfomer", "{}", "mixing: got 'transfomer', expected one of transformer,", 8, ASC_F32},
    {"suming", "{}", "did you mean 'summing'?", 8, ASC_F32},
    {"transformer", "{\"heads\":2}", "d_model is 0, expected at least 1", 0, ASC_F32},
    {"transformer", "{\"heads\":2}", "layer_new: dtype is i64, expected f32 or f64", 8, ASC_I64},
    {"transformer", "{\"head\":2}", "config: heads is missing; is it meant by 'head'?", 8, ASC_F32},
};

START_TEST(a_lone_layers_mistakes_are_named)
{
    ck_assert_ptr_null(asc_layer_new(ctx, refused_alone[_i].mixing, refused_alone[_i].width, refused_alone[_i].config,
                                     refused_alone[_i].dtype, 1));
    expect_error_with(ASC_ERR_ARG, refused_alone[_i].message);
}
END_TEST

START_TEST(an_input_that_does_not_fit_is_shown)
{
    asc_layer *l = asc_layer_new(ctx, "transformer", 8, "{\"heads\":2}", ASC_F32, 1);
    asc_layer_forward(l, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)), asc_null());
    expect_error(ASC_ERR_ARG, "layer_forward: x is f32 (2, 3), expected f32 (B, N, 8)");
    asc_layer_forward(l, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3, 8)), asc_null());
    expect_error(ASC_ERR_ARG, "layer_forward: x is f64 (2, 3, 8), expected f32 (B, N, 8)");
    asc_layer_free(l);
    l = asc_layer_new(ctx, "conv", 8, "{}", ASC_F32, 1); /* which passes lengths over */
    asc_layer_forward(l, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3, 8)), asc_zeros(ctx, ASC_I64, ASC_SHAPE(3)));
    expect_error(ASC_ERR_ARG, "conv: lengths is i64 (3), expected i64 (2), one length a sequence");
    asc_layer_free(l);
}
END_TEST

START_TEST(a_context_without_it_has_none)
{
    asc_ctx *other = asc_ctx_new(NULL);
    ck_assert_ptr_null(asc_layer_new(other, "summing", 8, "{}", ASC_F32, 1));
    asc_ctx_free(other);
}
END_TEST

/* ---- layers ---- */

static void expect_no_room(asc_layer *l, const asc_layer_cache *c, asc_tensor rows, const char *message)
{
    ck_assert(asc_is_null(asc_cache_append(l, c, 0, rows)));
    expect_error_with(ASC_ERR_ARG, message);
}

START_TEST(rows_must_fit_into_the_cache)
{
    asc_layer *l = asc_layer_new(ctx, "none", 8, "{}", ASC_F64, 1);
    asc_layer_cache c = {.length = 0};
    asc_tensor rows = asc_zeros(ctx, ASC_F64, ASC_SHAPE(1, 2, 4));
    expect_no_room(l, &c, rows, "cache_append: rows are (1, 2, 4) behind 0, and the state is ");
    ck_assert_int_eq(asc_cache_make(l, &c, ASC_STATES, 4, 3), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "cache_make: which is 6, expected 0 to 5");
    ck_assert_int_eq(asc_cache_make(l, &c, 0, 4, 3), ASC_OK);
    expect_no_room(l, &c, asc_zeros(ctx, ASC_F64, ASC_SHAPE(1, 2, 5)), "rows are (1, 2, 5) behind 0");
    expect_no_room(l, &c, asc_zeros(ctx, ASC_F32, ASC_SHAPE(1, 2, 4)), "rows are (1, 2, 4) behind 0");
    expect_no_room(l, &c, asc_null(), "cache_append: rows is null");
    const double values[] = {0, 1, 2, 3, 4, 5, 6, 7}, turned[] = {0, 2, 4, 6, 1, 3, 5, 7};
    asc_tensor columns = asc_from(ctx, ASC_F64, values, ASC_SHAPE(1, 4, 2));
    asc_tensor all = asc_cache_append(l, &c, 0, asc_transpose(ctx, columns, 1, 2));
    ck_assert_msg(!asc_is_null(all), "%s", asc_error_message(ctx));
    ck_assert_mem_eq(asc_data(all), turned, sizeof turned);
    c.length = 2;
    expect_no_room(l, &c, rows, "rows are (1, 2, 4) behind 2, and the state is (1, 3, 4)");
    asc_release(c.state[0]);
    asc_layer_free(l);
}
END_TEST

START_TEST(layers_and_probes)
{
    asc_layer *l = asc_layer_new(ctx, "summing", 8, "{\"part\":0.5}", ASC_F64, 1);
    ck_assert_int_eq(asc_params_count(asc_layer_params(l)), 2);
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_layer_inspect(l, asc_zeros(ctx, ASC_F64, ASC_SHAPE(1, 2, 8)), asc_null(), parts), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "inspect: summing shows nothing of its inside");
    asc_params_free(parts);
    asc_layer_free(l);
    asc_causal_report r;
    ck_assert_int_eq(asc_causal_check(ctx, "summing", NULL, NULL, &r), ASC_OK);
    ck_assert(r.causal && r.passed);
    ck_assert_int_eq(asc_causal_check(ctx, "none", NULL, NULL, &r), ASC_OK);
    ck_assert(r.causal && r.passed);
}
END_TEST

/* It says that it is causal, and gives each position the mean of all. */
static asc_tensor see_all(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths, (void)aux;
    return asc_add(l->ctx, x, asc_mean(l->ctx, x, ASC_DIMS(1), true));
}

START_TEST(a_model_that_sees_the_future)
{
    static const asc_mixing peeks = {.abi = ASC_MIXING_ABI, .name = "peeks", .forward = see_all};
    asc_mixing_register(ctx, &peeks);
    asc_causal_report r;
    asc_lm *sound = model("\"mix\":\"summing\""), *lm = model("\"mix\":[\"none\",\"peeks\"]");
    ck_assert_msg(asc_lm_causal_check(ctx, sound, NULL, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert(r.causal && r.passed);
    int64_t n = asc_lm_block(sound);
    ck_assert(n > 2 && n <= 17);
    ck_assert_int_eq(r.moments, n - 1);
    ck_assert_int_eq(r.outputs, asc_lm_vocab(sound) * (n - 1) * n); /* 2 sequences of 1 + 2 + … + n - 1 positions */
    ck_assert_int_eq(asc_lm_causal_check(ctx, lm, NULL, &r), ASC_OK);
    ck_assert(!r.passed && r.first_position == 0 && r.first_moment == 0);
    ck_assert_int_eq(r.failures, (n - 1) * n);
    ck_assert_int_eq(asc_lm_set_dropout(sound, .5), ASC_OK); /* each pass has other masks */
    ck_assert_int_eq(asc_lm_causal_check(ctx, sound, NULL, &r), ASC_OK);
    ck_assert(r.passed);
    ck_assert_int_eq(asc_lm_causal_check(ctx, NULL, NULL, &r), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "lm_causal_check: lm is NULL");
    asc_lm_free(lm);
    asc_lm_free(sound);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("mixing");
    tcase_add_checked_fixture(t, setup_registered, teardown);
    tcase_add_test(t, a_mixing_may_give_back_what_it_got);
    tcase_add_test(t, the_causal_check_takes_views_and_misses_its_input);
    tcase_add_test(t, what_moves_comes_as_doubles);
    tcase_add_test(t, the_librarys_tables_are_whole);
    tcase_add_loop_test(t, what_is_not_whole_is_refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, null_arguments);
    tcase_add_loop_test(t, a_model_learns, 0, CONFIGS);
    tcase_add_loop_test(t, generation_equals_the_full_pass, 0, CONFIGS);
    tcase_add_loop_test(t, a_models_settings_are_checked, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, a_context_without_it_has_none);
    tcase_add_loop_test(t, a_lone_layers_mistakes_are_named, 0,
                        (int)(sizeof refused_alone / sizeof *refused_alone));
    tcase_add_test(t, an_input_that_does_not_fit_is_shown);
    tcase_add_test(t, rows_must_fit_into_the_cache);
    tcase_add_test(t, layers_and_probes);
    tcase_add_test(t, a_model_that_sees_the_future);
    tcase_add_test(t, what_a_mixing_gives_is_looked_at);
    tcase_add_test(t, an_auxiliary_loss_is_a_number);
    tcase_add_test(t, what_a_mixing_gives_beside_forward_is_looked_at);
    return run_suite("nn/mixing", t);
}
