/* tests/nn/test_given.c: what a caller gives a layer beside x: a context, a bias, a mask, neighbours; in a layer alone,
 * in a model, in a model's cache. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>
#include <ascgrad/optim.h>

#include "tests/draw.h"
#include "tests/ops/values.h"

enum { D = 12, H = 2 };

static asc_layer *layer_of(const char *mixing, const char *more, asc_dtype dtype)
{
    char config[300];
    snprintf(config, sizeof config, "{\"heads\":%d%s}", H, more);
    asc_layer *l = asc_layer_new(ctx, mixing, D, config, dtype, 5);
    ck_assert_msg(l != NULL, "%s: %s", config, asc_error_message(ctx));
    return l;
}

static asc_tensor tokens(asc_dtype dtype, uint64_t stream, int64_t B, int64_t N)
{
    return random_leaf(dtype, stream, ASC_SHAPE(B, N, D));
}

static void expect_near(asc_tensor a, asc_tensor b, double tolerance, const char *what)
{
    ck_assert_int_eq(asc_numel(a), asc_numel(b));
    for (int64_t e = 0; e < asc_numel(a); e++) {
        double x = value(a, e), y = value(b, e);
        if (!(fabs(x - y) <= tolerance * fmax(1, fabs(y)))) {
            ck_abort_msg("%s: element %lld is %.12g, expected %.12g", what, (long long)e, x, y);
        }
    }
}

static void expect_same_bits(asc_tensor a, asc_tensor b)
{
    no_error();
    ck_assert_int_eq(asc_numel(a), asc_numel(b));
    ck_assert_int_eq(memcmp(asc_data(a), asc_data(b), (size_t)asc_numel(a) * asc_dtype_size(asc_dtype_of(a))), 0);
}

/* ---- a context ---- */

/* A sequence that looks at a copy of itself does what it does in a full set. */
START_TEST(a_context_of_itself_is_a_full_set)
{
    asc_layer *full = layer_of("transformer", ",\"mask\":\"full\"", floats[_i]);
    asc_layer *cross = layer_of("transformer", ",\"mask\":\"causal\"", floats[_i]);
    asc_tensor x = tokens(floats[_i], 1, 2, 40);
    expect_same_bits(asc_layer_cross(cross, x, x, asc_null()), asc_layer_forward(full, x, asc_null()));
    asc_layer_free(full);
    asc_layer_free(cross);
}
END_TEST

/* Sizes and lengths of contexts: below, at and above a panel of 32; of one; of none. */
static const struct {
    int64_t N, M, lengths[2];
} contexts[] = {{5, 33, {33, 20}}, {70, 32, {0, 0}}, {40, 1, {1, 0}}, {1, 70, {3, 70}}, {33, 5, {5, 2}},
                {6, 0, {0, 0}}};
enum { CONTEXTS = sizeof contexts / sizeof *contexts };

static asc_tensor lengths_of(int i)
{
    const int64_t *n = contexts[i].lengths;
    return n[0] || n[1] ? asc_from(ctx, ASC_I64, n, ASC_SHAPE(2)) : asc_null();
}

static const char *const swarms[] = {"", ",\"gate\":\"after\",\"k\":[1,40],\"d_value\":3,\"dz\":2",
                                     ",\"neighbors\":\"base\",\"k\":3,\"unbiased\":true,\"sep_self\":false"};
enum { SWARMS = sizeof swarms / sizeof *swarms };

START_TEST(a_composed_layer_looks_at_a_context_in_the_same_way)
{
    int i = _i / SWARMS;
    asc_tensor grads[2][64], y[2];
    int n = 0;
    for (int composed = 0; composed < 2; composed++) {
        char more[200];
        snprintf(more, sizeof more, "%s,\"composed\":%s,\"freeze_inert\":false", swarms[_i % SWARMS],
                 composed ? "true" : "false");
        asc_layer *l = layer_of("ascender", more, ASC_F64);
        asc_tensor x = tokens(ASC_F64, 1, 2, contexts[i].N), context = tokens(ASC_F64, 2, 2, contexts[i].M);
        asc_tensor bias = random_leaf(ASC_F64, 3, ASC_SHAPE(H, contexts[i].N, contexts[i].M));
        double *beta = asc_data_mut(bias);
        for (int64_t e = 1; contexts[i].M > 2 && e < asc_numel(bias); e += contexts[i].M - 1) {
            beta[e] = -INFINITY; /* out goes a pair, here and there */
        }
        ck_assert_int_eq(asc_layer_set_bias(l, bias), ASC_OK);
        y[composed] = asc_layer_cross(l, x, context, lengths_of(i));
        run_backward(y[composed]);
        asc_tensor all[] = {x, context, bias};
        n = 0;
        for (int g = 0; g < 3; g++) {
            grads[composed][n++] = asc_grad(all[g]);
        }
        for (int p = 0; p < asc_params_count(asc_layer_params(l)); p++) {
            asc_tensor grad = asc_grad(asc_params_at(asc_layer_params(l), p));
            grads[composed][n] = asc_is_null(grad) ? grad : asc_zeros(ctx, ASC_F64, asc_ndim(grad), asc_shape(grad));
            ck_assert(asc_is_null(grad) || asc_copy(ctx, grads[composed][n], grad) == ASC_OK); /* outlives the layer */
            n++;
        }
        asc_layer_free(l);
    }
    expect_near(y[0], y[1], 1e-9, "y");
    for (int g = 0; g < n; g++) {
        ck_assert_int_eq(asc_is_null(grads[0][g]), asc_is_null(grads[1][g]));
        if (!asc_is_null(grads[0][g])) {
            expect_near(grads[0][g], grads[1][g], 1e-8, "a gradient");
        }
    }
}
END_TEST

/* Exactly: what a query gives depends on itself and on the context within its length, and on nothing else. */
START_TEST(queries_do_not_see_one_another_nor_what_is_behind_a_length)
{
    static const char *const mixings[] = {"transformer", "ascender"};
    asc_layer *l = layer_of(mixings[_i % 2], "", floats[_i / 2]);
    const int64_t lengths[] = {9, 4};
    asc_tensor length = asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(2)), other[2];
    asc_tensor x = tokens(floats[_i / 2], 1, 2, 6), context = tokens(floats[_i / 2], 2, 2, 12);
    asc_tensor from[] = {x, context};
    for (int i = 0; i < 2; i++) {
        other[i] = asc_contiguous(ctx, asc_cast(ctx, asc_scale(ctx, from[i], i ? 1 : 2), floats[_i / 2]));
        size_t row = (size_t)D * asc_dtype_size(floats[_i / 2]);
        char *to = asc_data_mut(other[i]);
        const char *old = asc_data(from[i]);
        for (int64_t b = 0; b < 2; b++) {
            int64_t n = asc_size(from[i], 1), keep = i ? lengths[b] : 1; /* the first query; the tokens that count */
            memcpy(to + (size_t)(b * n) * row, old + (size_t)(b * n) * row, (size_t)keep * row);
            for (int64_t e = keep * D; i && e < n * D; e++) {
                if (floats[_i / 2] == ASC_F32) {
                    ((float *)(void *)to)[b * n * D + e] = 7;
                } else {
                    ((double *)(void *)to)[b * n * D + e] = 7;
                }
            }
        }
    }
    asc_tensor y = asc_layer_cross(l, x, context, length), changed = asc_layer_cross(l, other[0], context, length);
    no_error();
    for (int64_t b = 0; b < 2; b++) {
        for (int64_t e = 0; e < D; e++) {
            ck_assert(value(y, b * 6 * D + e) == value(changed, b * 6 * D + e));
            ck_assert(value(y, (b * 6 + 1) * D + e) != value(changed, (b * 6 + 1) * D + e));
        }
    }
    expect_same_bits(asc_layer_cross(l, x, other[1], length), y);
    run_backward(y);
    for (int64_t e = 4 * D; e < 12 * D; e++) {
        expect_equal(asc_grad(context), 12 * D + e, 0);
    }
    asc_layer_free(l);
}
END_TEST

START_TEST(contexts_that_are_refused)
{
    static const struct {
        const char *mixing, *more, *message;
    } wrong[] = {
        {"transformer", ",\"window\":3", "window: a layer with it takes no context"},
        {"transformer", ",\"positions\":\"rotary\"", "positions: a layer with it takes no context"},
        {"transformer", ",\"rel\":2", "rel: a layer with it takes no context"},
        {"ascender", ",\"window\":3", "window: a layer with it takes no context"},
        {"ascender", ",\"positions\":\"alibi\"", "positions: a layer with it takes no context"},
        {"ascender", ",\"rel\":2", "rel: a layer with it takes no context"},
        {"ascender", ",\"listing\":\"intended\"", "listing: a layer with it takes no context"},
        {"ascender", ",\"stats\":\"all\"", "stats: a layer with it takes no context"},
        {"ascender", ",\"variant\":\"background\"", "variant: a layer with it takes no context"},
        {"ascender", ",\"neighbors\":\"window\"", "neighbors: a layer with it takes no context"},
        {"ascender", ",\"neighbors\":\"hybrid_union\"", "neighbors: a layer with it takes no context"},
        {"ascender", ",\"aux_sep\":0.1", "aux_sep: a layer with it takes no context"},
        {"linear", "", "layer_cross: linear has no cross-attention"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        asc_layer *l = layer_of(wrong[i].mixing, wrong[i].more, ASC_F32);
        asc_tensor x = tokens(ASC_F32, 1, 1, 3);
        asc_params *parts = asc_params_new(ctx);
        for (int inspect = 0; inspect < 2; inspect++) {
            if (inspect) {
                asc_layer_inspect_cross(l, x, x, asc_null(), parts);
            } else {
                ck_assert(asc_is_null(asc_layer_cross(l, x, x, asc_null())));
            }
            ck_assert_msg(strstr(asc_error_message(ctx), wrong[i].message) != NULL, "'%s' lacks '%s'",
                          asc_error_message(ctx), wrong[i].message);
            asc_error_clear(ctx);
        }
        asc_params_free(parts);
        asc_layer_free(l);
    }
    asc_layer *l = layer_of("transformer", "", ASC_F32);
    asc_tensor x = tokens(ASC_F32, 1, 2, 3);
    expect_failure(asc_layer_cross(l, x, tokens(ASC_F32, 2, 1, 3), asc_null()),
                   "layer_cross: context is f32 (1, 3, 12), expected f32 (2, M, 12)");
    expect_failure(asc_layer_cross(l, x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4, 8)), asc_null()),
                   "layer_cross: context is f32 (2, 4, 8), expected f32 (2, M, 12)");
    expect_failure(asc_layer_cross(l, x, tokens(ASC_F64, 2, 2, 3), asc_null()),
                   "layer_cross: context is f64 (2, 3, 12), expected f32 (2, M, 12)");
    expect_failure(asc_layer_cross(l, x, asc_null(), asc_null()), "layer_cross: context is null");
    no_error();
    ck_assert(asc_is_valid(asc_layer_cross(l, x, x, asc_null())));
    asc_layer_free(l);
}
END_TEST

START_TEST(inspection_of_a_context)
{
    static const char *const mixings[] = {"transformer", "ascender"};
    asc_layer *l = layer_of(mixings[_i], "", ASC_F64);
    asc_params *parts = asc_params_new(ctx);
    asc_tensor x = tokens(ASC_F64, 1, 2, 5), context = tokens(ASC_F64, 2, 2, 9);
    ck_assert_int_eq(asc_layer_set_bias(l, random_leaf(ASC_F64, 3, ASC_SHAPE(5, 9))), ASC_OK);
    ck_assert_msg(asc_layer_inspect_cross(l, x, context, asc_null(), parts) == ASC_OK, "%s", asc_error_message(ctx));
    static const char *const pairs[] = {"s", "s_base", "b_other", "attn"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        expect_shape(asc_params_find(parts, pairs[i]), ASC_SHAPE(2, H, 5, 9));
    }
    asc_tensor sums = asc_sum(ctx, asc_params_find(parts, "attn"), ASC_DIMS(-1), false);
    for (int64_t e = 0; e < asc_numel(sums); e++) {
        ck_assert_double_eq_tol(value(sums, e), 1, 1e-12);
    }
    expect_shape(asc_params_find(parts, "entropy_rows"), ASC_SHAPE(2, H, 5));
    asc_params_free(parts);
    asc_layer_free(l);
}
END_TEST

/* ---- more positions than a call has ---- */

typedef struct graph {
    asc_tensor mask, neighbors, bias;
} graph;

/* Of n positions; the same for the first of a larger n. */
static graph graph_of(int64_t n, asc_dtype dtype)
{
    graph g = {asc_zeros(ctx, ASC_U8, ASC_SHAPE(1, 1, n, n)), asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, 1, n, 2)),
               asc_zeros(ctx, dtype, ASC_SHAPE(H, n, n))};
    uint8_t *mask = asc_data_mut(g.mask);
    int64_t *list = asc_data_mut(g.neighbors);
    asc_tensor values = asc_zeros(ctx, ASC_F64, ASC_SHAPE(H, n, n));
    double *bias = asc_data_mut(values);
    for (int64_t e = 0; e < n * n; e++) {
        int64_t i = e / n, j = e % n;
        mask[e] = (i * 7 + j * 3) % 4 != 0 || i == j;
        for (int64_t h = 0; h < H; h++) {
            bias[h * n * n + e] = sin((double)(h + 1 + i * 31 + j * 17));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        list[2 * i] = i / 2;
        list[2 * i + 1] = i > 3 ? i - 3 : -1;
    }
    asc_copy(ctx, g.bias, values);
    return g;
}

static void give(asc_layer *l, graph g)
{
    bool swarm = strcmp(l->mixing->name, "ascender") == 0;
    ck_assert_int_eq(asc_layer_restrict(l, g.mask, swarm ? g.neighbors : asc_null()), ASC_OK);
    ck_assert_int_eq(asc_layer_set_bias(l, g.bias), ASC_OK);
}

static const char *const models[] = {"\"mix\":\"transformer\"", "\"mix\":\"ascender\"",
                                       "\"mix\":\"ascender\",\"variant\":\"background\"",
                                       "\"mix\":\"ascender\",\"composed\":true"};
enum { MODELS = sizeof models / sizeof *models };

static asc_lm *model(int i, int64_t block)
{
    char config[300];
    snprintf(config, sizeof config, "{%s,\"heads\":%d,\"d_model\":%d,\"layers\":2,\"vocab\":19,\"block\":%d}",
             models[i], H, D, (int)block);
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 3);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    return lm;
}

/* The logits (1, n, 19) of a full pass, in generation: `first` tokens at once, then one by one. */
static void expect_generated(asc_lm *lm, const int64_t *x, int64_t n, int64_t first, asc_tensor all)
{
    asc_lm_cache *cache = asc_lm_cache_new(lm, n);
    for (int64_t done = 0, more = first; done < n; more = 1) {
        asc_tensor next = asc_lm_next(cache, x + done, more);
        no_error();
        done += more;
        expect_near(next, asc_contiguous(ctx, asc_slice(ctx, all, 1, done - 1, done, 1)), 1e-9, "a next token");
    }
    asc_lm_cache_free(cache);
}

/* Shorter calls, and a cache, take what belongs to their positions; fewer positions than a call has are too few. */
START_TEST(models_and_caches_heed_what_their_layers_are_given)
{
    enum { N = 20, SHORT = 13 };
    int64_t x[N];
    draw_tokens(x, N, 19, 3);
    asc_lm *lm = model(_i, N), *plain = model(_i, N);
    for (int l = 0; l < 2; l++) {
        give(asc_lm_layer(lm, l), graph_of(N, ASC_F64));
    }
    asc_tensor all = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    asc_tensor other = asc_lm_logits(plain, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    asc_tensor first = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, SHORT)));
    no_error();
    expect_near(first, asc_contiguous(ctx, asc_slice(ctx, all, 1, 0, SHORT, 1)), 1e-12, "a shorter call");
    ck_assert(fabs(value(all, 19 * N - 1) - value(other, 19 * N - 1)) > 1e-6);
    expect_generated(lm, x, N, 5, all);
    give(asc_lm_layer(lm, 0), graph_of(SHORT, ASC_F64));
    expect_failure(asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N))),
                   "layer: mask given for 13 positions, expected at least 20");
    asc_lm_free(lm);
    asc_lm_free(plain);
}
END_TEST

/* Blocks behind all that came before them: positions count from the first token carried. */
START_TEST(carried_context_heeds_what_its_layers_are_given)
{
    enum { BLOCK = 6, N = 3 * BLOCK };
    char config[300];
    int64_t x[N];
    draw_tokens(x, N, 19, 3);
    snprintf(config, sizeof config,
             "{%s,\"heads\":%d,\"d_model\":%d,\"layers\":2,\"vocab\":19,\"block\":%d,\"pos_emb\":false}", models[_i],
             H, D, BLOCK);
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 3);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    for (int l = 0; l < 2; l++) {
        give(asc_lm_layer(lm, l), graph_of(N, ASC_F64));
    }
    asc_tensor all = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    asc_lm_carried *carried = asc_lm_carried_new(lm, N);
    asc_lm_set_carried(lm, carried);
    for (int64_t t = 0; t < N; t += BLOCK) {
        asc_tensor y = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x + t, ASC_SHAPE(1, BLOCK)));
        no_error();
        expect_near(y, asc_contiguous(ctx, asc_slice(ctx, all, 1, t, t + BLOCK, 1)), 1e-9, "a block");
        ck_assert_int_eq(asc_lm_carried_advance(carried), ASC_OK);
    }
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

/* Generation has the same random links as a full pass; and positions are the same places. */
START_TEST(a_cache_has_the_same_links_and_places)
{
    static const char *const more[] = {
        "\"mix\":\"transformer\",\"window\":4,\"globals\":1,\"random\":3",
        "\"mix\":\"ascender\",\"window\":5,\"random\":2,\"k\":3",
        "\"mix\":\"ascender\",\"window\":5,\"random\":2,\"k\":3,\"variant\":\"background\"",
        "\"mix\":\"ascender\",\"k\":3,\"variant\":\"background\",\"coordinates\":\"position\"",
    };
    enum { N = 70 };
    char config[300];
    int64_t x[N];
    draw_tokens(x, N, 19, 3);
    snprintf(config, sizeof config, "{%s,\"heads\":%d,\"d_model\":%d,\"layers\":2,\"vocab\":19,\"block\":%d}", more[_i],
             H, D, N);
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 3);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    asc_tensor all = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    expect_generated(lm, x, N, 40, all);
    asc_lm_free(lm);
}
END_TEST

START_TEST(positions_as_places)
{
    static const char more[] = ",\"variant\":\"background\",\"coordinates\":\"position\",\"coordinate_scale\":4";
    asc_layer *l = layer_of("ascender", more, floats[_i]);
    asc_params *parts = asc_params_new(ctx);
    ck_assert_int_eq(asc_layer_inspect(l, tokens(floats[_i], 1, 2, 9), asc_null(), parts), ASC_OK);
    asc_tensor z = asc_params_find(parts, "z");
    expect_shape(z, ASC_SHAPE(2, H, 9, 1));
    for (int64_t e = 0; e < asc_numel(z); e++) {
        expect_equal(z, e, (double)(e % 9) / 4);
    }
    ck_assert(asc_is_null(asc_params_find(asc_layer_params(l), "u.weight")));
    asc_params_free(parts);
    asc_layer_free(l);
    static const struct {
        const char *config, *message;
    } wrong[] = {
        {"{\"heads\":2,\"coordinates\":\"position\"}", "coordinates belongs to variant background"},
        {"{\"heads\":2,\"variant\":\"background\",\"coordinates\":\"position\",\"dz\":2}", "dz is of learned places"},
        {"{\"heads\":2,\"variant\":\"background\",\"coordinate_scale\":2}", "coordinate_scale belongs to coordinates"},
        {"{\"heads\":2,\"random\":2}", "random links need a window"},
        {"{\"heads\":2,\"window\":2,\"random\":33}", "random"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_ptr_null(asc_layer_new(ctx, "ascender", D, wrong[i].config, ASC_F32, 1));
        ck_assert_msg(strstr(asc_error_message(ctx), wrong[i].message) != NULL, "'%s' lacks '%s'",
                      asc_error_message(ctx), wrong[i].message);
        asc_error_clear(ctx);
    }
}
END_TEST

START_TEST(layers_that_are_not_there)
{
    asc_lm *lm = model(0, 8);
    ck_assert_ptr_null(asc_lm_layer(lm, 2));
    ck_assert_str_eq(asc_error_message(ctx), "lm_layer: layer is 2, expected 0 to 1");
    asc_error_clear(ctx);
    ck_assert_ptr_null(asc_lm_layer(NULL, 0));
    ck_assert_ptr_null(asc_layer_params(asc_lm_layer(lm, 1)));
    asc_lm_free(lm);
    asc_layer *l = layer_of("linear", "", ASC_F32);
    ck_assert_int_eq(asc_layer_set_bias(l, asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 3))), ASC_ERR_ARG);
    ck_assert_str_eq(asc_error_message(ctx), "layer_set_bias: linear has no scores to add it to");
    asc_error_clear(ctx);
    asc_layer_free(l);
}
END_TEST

/* A bias that is computed gets the same gradient when blocks are computed again. */
START_TEST(a_computed_bias_under_recomputation)
{
    enum { N = 12 };
    int64_t x[N + 1];
    draw_tokens(x, N + 1, 19, 3);
    double grad[2][N * N];
    for (int again = 0; again < 2; again++) {
        asc_lm *lm = model(_i, N);
        asc_lm_set_recompute(lm, again);
        asc_tensor leaf = random_leaf(ASC_F64, 9, ASC_SHAPE(N, N)), bias = asc_tanh(ctx, leaf);
        for (int l = 0; l < 2; l++) {
            ck_assert_int_eq(asc_layer_set_bias(asc_lm_layer(lm, l), bias), ASC_OK);
        }
        asc_tensor loss = asc_lm_loss(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)),
                                      asc_from(ctx, ASC_I64, x + 1, ASC_SHAPE(1, N)), NULL);
        ck_assert_msg(asc_backward(ctx, loss, asc_null(), false) == ASC_OK, "%s", asc_error_message(ctx));
        for (int64_t e = 0; e < N * N; e++) {
            grad[again][e] = value(asc_grad(leaf), e);
        }
        asc_lm_free(lm);
    }
    ck_assert(grad[0][N] != 0);
    ck_assert_int_eq(memcmp(grad[0], grad[1], sizeof *grad), 0);
}
END_TEST

/* ---- grids ---- */

START_TEST(neighbours_of_a_grid)
{
    const int64_t sizes[] = {2, 3};
    asc_tensor list = asc_grid_neighbors(ctx, 2, sizes, 1);
    expect_shape(list, ASC_SHAPE(1, 1, 6, 8));
    static const int64_t expected[6][8] = {
        {-1, -1, -1, -1, 1, -1, 3, 4}, {-1, -1, -1, 0, 2, 3, 4, 5}, {-1, -1, -1, 1, -1, 4, 5, -1},
        {-1, 0, 1, -1, 4, -1, -1, -1}, {0, 1, 2, 3, 5, -1, -1, -1}, {1, 2, -1, 4, -1, -1, -1, -1},
    };
    ck_assert_int_eq(memcmp(asc_data(list), expected, sizeof expected), 0);
    expect_shape(asc_grid_neighbors(ctx, 2, sizes, 0), ASC_SHAPE(1, 1, 6, 0));
    expect_shape(asc_grid_neighbors(ctx, 3, (int64_t[]){2, 2, 2}, 2), ASC_SHAPE(1, 1, 8, 124));
    ck_assert(asc_is_null(asc_grid_neighbors(ctx, 2, (int64_t[]){0, 3}, 1)));
    ck_assert(strstr(asc_error_message(ctx), "grid_neighbors: 2 dimensions, radius 1: expected") != NULL);
    asc_error_clear(ctx);
    ck_assert(asc_is_null(asc_grid_neighbors(ctx, 2, sizes, INT64_MAX)));
    asc_error_clear(ctx);
}
END_TEST

/* ---- an image ---- */

enum { ROWS = 4, COLUMNS = 5, IMAGE = ROWS * COLUMNS, IMAGES = 12 };

/* The tokens to the left and right, above and below. */
static asc_tensor beside(void)
{
    asc_tensor list = asc_empty(ctx, ASC_I64, ASC_SHAPE(1, 1, IMAGE, 4));
    int64_t *to = asc_data_mut(list);
    for (int64_t i = 0; i < IMAGE; i++) {
        int64_t row = i / COLUMNS, column = i % COLUMNS;
        *to++ = column > 0 ? i - 1 : -1;
        *to++ = column < COLUMNS - 1 ? i + 1 : -1;
        *to++ = row > 0 ? i - COLUMNS : -1;
        *to++ = row < ROWS - 1 ? i + COLUMNS : -1;
    }
    return list;
}

/* Stripes of two kinds of tokens that run across or down, some tokens of a third kind among them. */
static void draw_images(int64_t *x, int64_t *label)
{
    draw_state = 4;
    for (int64_t b = 0; b < IMAGES; b++) {
        int64_t first = draw(2);
        label[b] = b % 2;
        for (int64_t i = 0; i < IMAGE; i++) {
            int64_t stripe = label[b] ? i % COLUMNS : i / COLUMNS;
            x[b * IMAGE + i] = draw(6) == 0 ? 2 : (stripe + first) % 2;
        }
    }
}

static double objective(asc_lm *lm, const int64_t *x, const int64_t *label, asc_tensor *of)
{
    double loss;
    *of = asc_lm_class_objective(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(IMAGES, IMAGE)), asc_null(),
                                 asc_from(ctx, ASC_I64, label, ASC_SHAPE(IMAGES)), &loss);
    return loss;
}

/* Central differences by an element of each parameter. */
static void expect_gradients(asc_lm *lm, const int64_t *x, const int64_t *label)
{
    asc_params *params = asc_lm_params(lm);
    asc_tensor y;
    objective(lm, x, label, &y);
    ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_OK);
    asc_set_recording(ctx, false);
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor p = asc_params_at(params, i), g = asc_grad(p);
        double *at = (double *)asc_data_mut(p) + asc_numel(p) / 2, was = *at, step = 1e-6;
        *at = was + step;
        double up = objective(lm, x, label, &y);
        *at = was - step;
        double expected = (up - objective(lm, x, label, &y)) / (2 * step);
        double got = asc_is_null(g) ? 0 : value(g, asc_numel(p) / 2);
        *at = was;
        ck_assert_msg(fabs(got - expected) < 1e-6 * (1 + fabs(expected)), "%s: %g, expected %g",
                      asc_params_name(params, i), got, expected);
    }
    asc_set_recording(ctx, true);
    asc_params_zero_grad(params);
}

/* A flock whose neighbours are those of a grid learns which way the stripes of an image run. */
START_TEST(a_model_on_a_grid)
{
    int64_t x[IMAGES * IMAGE], label[IMAGES];
    draw_images(x, label);
    static const char config[] =
        "{\"mix\":\"ascender\",\"mask\":\"full\",\"gate\":\"after\",\"kappa\":1,\"heads\":2,\"d_model\":12,"
        "\"layers\":2,\"vocab\":3,\"block\":20,\"head\":\"classifier\",\"freeze_inert\":false}";
    asc_lm *lm = asc_lm_new(ctx, config, ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    asc_tensor near = beside(), y;
    double alone = objective(lm, x, label, &y);
    for (int64_t l = 0; l < asc_lm_layers(lm); l++) {
        ck_assert_int_eq(asc_layer_restrict(asc_lm_layer(lm, l), asc_null(), near), ASC_OK);
    }
    ck_assert(fabs(objective(lm, x, label, &y) - alone) > 1e-9);
    expect_gradients(lm, x, label);
    asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
    double loss = 1;
    for (int step = 0; step < 60; step++) {
        asc_scope_begin(ctx);
        loss = objective(lm, x, label, &y);
        ck_assert_int_eq(asc_backward(ctx, y, asc_null(), false), ASC_OK);
        asc_scope_end(ctx);
        ck_assert_int_eq(asc_optim_step(optim, 1e-2, 1), ASC_OK);
        asc_lm_project(lm);
        asc_params_zero_grad(asc_lm_params(lm));
    }
    ck_assert_msg(loss < .1, "a loss of %g", loss);
    asc_optim_free(optim);
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("given");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, a_context_of_itself_is_a_full_set, 0, 2);
    tcase_add_loop_test(t, a_composed_layer_looks_at_a_context_in_the_same_way, 0, CONTEXTS * SWARMS);
    tcase_add_loop_test(t, queries_do_not_see_one_another_nor_what_is_behind_a_length, 0, 4);
    tcase_add_test(t, contexts_that_are_refused);
    tcase_add_loop_test(t, inspection_of_a_context, 0, 2);
    tcase_add_loop_test(t, models_and_caches_heed_what_their_layers_are_given, 0, MODELS);
    tcase_add_loop_test(t, carried_context_heeds_what_its_layers_are_given, 0, MODELS);
    tcase_add_loop_test(t, a_cache_has_the_same_links_and_places, 0, 4);
    tcase_add_loop_test(t, positions_as_places, 0, 2);
    tcase_add_test(t, layers_that_are_not_there);
    tcase_add_loop_test(t, a_computed_bias_under_recomputation, 0, 2);
    tcase_add_test(t, neighbours_of_a_grid);
    tcase_add_test(t, a_model_on_a_grid);
    return run_suite("nn/given", t);
}
