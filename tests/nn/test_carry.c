/* tests/nn/test_carry.c: carried context of every mixing: a pass over blocks is the pass over the whole, where enough
 * is carried; no token sees those after it, nor more of those before it than it may; gradients; generation that goes on
 * from block to block; the same bits with recomputation, any number of threads and from a checkpoint. */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ops.h>

#include "tests/draw.h"
#include "tests/nn/model.h"
#include "tests/nn/summing.h"

enum { V = 41, BLOCK = 7, BLOCKS = 5, N = BLOCK * BLOCKS, B = 2 };

/* ---- models ---- */

static const char *const variants[] = {
    "\"mix\":\"transformer\",\"heads\":2,\"positions\":\"rotary\"",
    "\"mix\":\"transformer\",\"heads\":2,\"positions\":\"alibi\",\"block_norm\":\"pre\"",
    "\"mix\":\"transformer\",\"heads\":3,\"rel\":3,\"window\":5,\"globals\":1",
    "\"mix\":\"ascender\",\"heads\":2,\"k\":3,\"kappa\":1,\"positions\":\"rotary\",\"gate\":\"after\"",
    "\"mix\":\"ascender\",\"heads\":2,\"k\":3,\"kappa\":1,\"positions\":\"alibi\",\"neighbors\":\"hybrid_union\"",
    "\"mix\":\"ascender\",\"heads\":2,\"k\":3,\"variant\":\"background\"",
    "\"mix\":\"ascender\",\"heads\":2,\"k\":3,\"kappa\":1,\"composed\":true",
    "\"mix\":\"grassmann\",\"r\":6,\"offsets\":[1,2,6],\"block_norm\":\"pre\"",
    "\"mix\":\"grassmann\",\"r\":6,\"groups\":2,\"offsets\":[[1],[]],\"memory\":true,\"scale\":\"rms\"",
    "\"mix\":\"grassmann\",\"r\":6,\"offsets\":[],\"memory\":true,\"forget\":\"fixed\"",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[1,3],\"running_mean\":true,\"mix_residual\":true",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[1,3],\"learned\":true,\"memory\":true,\"pair\":\"symmetric\"",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[1,3],\"composed\":true",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[2],\"invariants\":true,\"eps_rel\":0.01",
    "\"mix\":\"linear\",\"heads\":2,\"decay\":\"gated\"",
    "\"mix\":\"linear\",\"heads\":2,\"feature\":\"favor\",\"features\":5,\"decay\":\"fixed\"",
    "\"mix\":\"conv\",\"inner\":7",
    "\"mix\":\"recurrent\",\"width\":[1,3]",
    "\"mix\":[\"recurrent\",\"transformer\"],\"heads\":2,\"width\":10",
    "\"mix\":[\"grassmann\",\"ascender\"],\"heads\":2,\"r\":4,\"offsets\":[1,4],\"eps_rel\":0.01,\"k\":2,\"kappa\":1",
    "\"mix\":[\"linear\",\"grassmann\"],\"heads\":2,\"r\":4,\"offsets\":[2],\"memory\":true",
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static asc_lm *model_of(asc_ctx *c, const char *mix, int layers, int carry, asc_dtype dtype)
{
    char config[400];
    snprintf(config, sizeof config,
             "{%s,\"d_model\":12,\"layers\":%d,\"vocab\":%d,\"block\":%d,\"pos_emb\":false,\"carry\":%d}", mix, layers,
             V, BLOCK, carry);
    asc_lm *lm = asc_lm_new(c, config, dtype, 7);
    ck_assert_msg(lm != NULL, "%s: %s", config, asc_error_message(c));
    return lm;
}

static asc_lm *model(int variant, int carry)
{
    return model_of(ctx, variants[variant], 2, carry, ASC_F64);
}

/* Logits of x[0 … N-1] in blocks, f64 [N][V]. */
static void run_blocks(asc_lm *lm, asc_lm_carried *carried, const int64_t *x, double *logits)
{
    asc_lm_carried_reset(carried);
    ck_assert_int_eq(asc_lm_set_carried(lm, carried), ASC_OK);
    for (int64_t at = 0; at < N; at += BLOCK) {
        asc_scope_begin(ctx);
        asc_tensor y = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x + at, ASC_SHAPE(1, BLOCK)));
        ck_assert_msg(asc_lm_carried_advance(carried) == ASC_OK, "%s", asc_error_message(ctx));
        memcpy(logits + at * V, asc_data(y), BLOCK * V * sizeof *logits);
        asc_scope_end(ctx);
    }
    ck_assert_int_eq(asc_lm_carried_length(carried), N);
    asc_lm_set_carried(lm, NULL);
}

static void expect_near(const double *got, const double *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ck_assert_double_eq_tol(got[i], expected[i], 1e-9);
    }
}

/* ---- what is seen ---- */

START_TEST(all_that_came_before_is_one_sequence)
{
    asc_lm *lm = model(_i, 0);
    asc_lm_carried *carried = asc_lm_carried_new(lm, N);
    ck_assert_msg(carried != NULL, "%s", asc_error_message(ctx));
    int64_t x[N];
    double logits[N * V];
    draw_tokens(x, N, V, 5);
    run_blocks(lm, carried, x, logits);
    asc_tensor full = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    expect_near(logits, asc_data(full), (int64_t)N * V);
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

/* The same tokens up to t, others after it: the same logits up to t, to the bit, whatever lies between. */
START_TEST(no_token_sees_those_after_it)
{
    asc_lm *lm = model(_i, 0);
    asc_lm_carried *carried = asc_lm_carried_new(lm, 4);
    static double before[N * V], after[N * V];
    int64_t x[N], y[N];
    draw_tokens(x, N, V, 1);
    run_blocks(lm, carried, x, before);
    for (int64_t t = 0; t < N - 1; t += 3) {
        draw_tokens(y, N, V, 2 + (uint64_t)t);
        memcpy(y, x, (size_t)(t + 1) * sizeof *x);
        run_blocks(lm, carried, y, after);
        ck_assert_int_eq(memcmp(before, after, (size_t)((t + 1) * V) * sizeof *before), 0);
        ck_assert_int_ne(memcmp(before + (t + 1) * V, after + (t + 1) * V, V * sizeof *before), 0);
    }
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

/* One layer: a block sees the last c tokens before it, and none before those, unless a state has them. */
START_TEST(a_block_sees_what_is_carried_and_no_more)
{
    enum { CARRY = 3, SEEN = 3 * BLOCK - CARRY };
    static const struct {
        const char *mix;
        int first; /* token that matters to the fourth block */
    } layers[] = {
        {"\"mix\":\"transformer\",\"heads\":2,\"positions\":\"rotary\"", SEEN},
        {"\"mix\":\"ascender\",\"heads\":2,\"k\":30,\"gate\":\"after\"", SEEN},
        {"\"mix\":\"ascender\",\"heads\":2,\"k\":30,\"variant\":\"background\"", SEEN},
        {"\"mix\":\"grassmann\",\"r\":6,\"offsets\":[1,2,6]", SEEN},
        {"\"mix\":\"grassmann\",\"r\":6,\"offsets\":[2]", 3 * BLOCK - 2},
        {"\"mix\":\"grassmann\",\"r\":6,\"offsets\":[2],\"running_mean\":true", SEEN},
        {"\"mix\":\"grassmann\",\"r\":6,\"offsets\":[2],\"memory\":true", 0},
        {"\"mix\":\"conv\",\"width\":5", 3 * BLOCK - 4},
        {"\"mix\":\"recurrent\"", 0},
        {"\"mix\":\"linear\",\"heads\":2", 0},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        asc_lm *lm = model_of(ctx, layers[i].mix, 1, 0, ASC_F64);
        asc_lm_carried *carried = asc_lm_carried_new(lm, CARRY);
        static double before[N * V], after[N * V];
        int64_t x[N];
        draw_tokens(x, N, V, 1);
        run_blocks(lm, carried, x, before);
        for (int t = 0; t < 3 * BLOCK; t++) {
            int64_t was = x[t];
            x[t] = (was + 1) % V;
            run_blocks(lm, carried, x, after);
            x[t] = was;
            bool same = memcmp(before + 3 * BLOCK * V, after + 3 * BLOCK * V, BLOCK * V * sizeof *before) == 0;
            ck_assert_msg(same == (t < layers[i].first), "%s: token %d", layers[i].mix, t);
        }
        asc_lm_carried_free(carried);
        asc_lm_free(lm);
    }
}
END_TEST

/* ---- gradients ---- */

static double loss_of(asc_lm *lm, const int64_t *x, bool with_gradient)
{
    double loss;
    asc_scope_begin(ctx);
    asc_tensor objective = asc_lm_objective(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, BLOCK)),
                                            asc_from(ctx, ASC_I64, x + 1, ASC_SHAPE(B, BLOCK)), &loss);
    if (with_gradient) {
        ck_assert_msg(asc_backward(ctx, objective, asc_null(), false) == ASC_OK, "%s", asc_error_message(ctx));
    }
    asc_scope_end(ctx);
    return loss;
}

/* Adds `by` times a direction to the parameters; returns the gradient along it. */
static double move(asc_lm *lm, double by)
{
    asc_params *params = asc_lm_params(lm);
    double slope = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor p = asc_params_at(params, i);
        double *value = asc_data_mut(p);
        const double *grad = asc_data(asc_grad(p));
        for (int64_t e = 0; asc_requires_grad(p) && e < asc_numel(p); e++) {
            double direction = sin((double)(3 * i) + (double)e);
            value[e] += by * direction;
            slope += grad ? grad[e] * direction : 0;
        }
    }
    return slope;
}

/* What is carried is held: the gradient is that of the block alone, through keys of carried inputs too. */
START_TEST(gradients_are_those_of_the_block)
{
    asc_lm *lm = model(_i, 0);
    asc_lm_carried *carried = asc_lm_carried_new(lm, 4);
    int64_t x[2 * B * BLOCK + 1];
    draw_tokens(x, 2 * B * BLOCK + 1, V, 3);
    asc_lm_set_carried(lm, carried);
    move(lm, 0.05); /* away from zeros */
    loss_of(lm, x, false);
    asc_lm_carried_advance(carried);
    move(lm, 0.02); /* and from ties of a token's input then and now */
    const int64_t *second = x + B * BLOCK;
    loss_of(lm, second, true);
    const double h = 1e-6;
    double slope = move(lm, h), up = loss_of(lm, second, false);
    move(lm, -2 * h);
    double down = loss_of(lm, second, false);
    ck_assert_double_eq_tol((up - down) / (2 * h), slope, 1e-6 * (1 + fabs(slope)));
    ck_assert_double_gt(fabs(slope), 1e-3);
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

/* ---- generation ---- */

START_TEST(generation_goes_on_past_the_block)
{
    asc_lm *lm = model(_i, 4);
    ck_assert(asc_lm_streams(lm));
    asc_lm_carried *carried = asc_lm_carried_new(lm, 4);
    int64_t x[N];
    static double expected[N * V];
    for (int i = 0; i < N; i++) { /* none twice: neighbours that tie are the BLAS's choice (doc/ascender.md) */
        x[i] = (17 * i + 5) % V;
    }
    run_blocks(lm, carried, x, expected);
    asc_lm_cache *cache = asc_lm_cache_new(lm, ASC_LM_ENDLESS);
    const int64_t pieces[] = {1, 9, 1, 3, 1, 1, 14, 1, 1, 1, 2};
    for (int pass = 0; pass < 2; pass++) { /* the second one after a reset */
        int64_t at = 0;
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            asc_scope_begin(ctx);
            asc_tensor next = asc_lm_next(cache, x + at, pieces[i]);
            at += pieces[i];
            ck_assert_msg(!asc_is_null(next), "%s", asc_error_message(ctx));
            expect_near(asc_data(next), expected + (at - 1) * V, V);
            asc_scope_end(ctx);
        }
        ck_assert_int_eq(at, N);
        ck_assert_int_eq(asc_lm_cache_length(cache), N);
        asc_lm_cache_reset(cache);
    }
    asc_lm_cache_free(cache);
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

/* Nor does it need a scope to hold what is made on the way. */
START_TEST(generation_has_no_end)
{
    asc_lm *lm = model(_i, 4);
    asc_lm_cache *cache = asc_lm_cache_new(lm, ASC_LM_ENDLESS);
    uint64_t early = 0;
    for (int64_t t = 0; t < 60 * BLOCK; t++) {
        asc_tensor next = asc_lm_next(cache, (int64_t[]){t * t % V}, 1);
        ck_assert(!asc_is_null(next));
        asc_release(next);
        early = t == 4 * BLOCK ? asc_memory(ctx).allocations : early;
    }
    ck_assert_uint_eq(asc_memory(ctx).allocations, early);
    asc_lm_cache_free(cache);
    asc_lm_free(lm);
}
END_TEST

START_TEST(a_cache_is_as_it_was_after_a_failed_call)
{
    asc_lm *lm = model(_i, 4);
    int64_t x[N];
    draw_tokens(x, N, V, 8);
    expect_cache_survives(lm, ASC_LM_ENDLESS, x, 2 * BLOCK, BLOCK); /* which begins a block */
    asc_lm_free(lm);
}
END_TEST

/* ---- training ---- */

typedef struct outcome {
    size_t bytes;
    unsigned char *params;
    double losses[6];
} outcome;

/* Steps on two streams that begin anew in the middle. With `again`, what is carried goes through a list on the way. */
static outcome train(int variant, bool recompute, int threads, bool again)
{
    asc_ctx *c = asc_ctx_new(&(asc_options){.threads = threads});
    asc_lm *lm = model_of(c, variants[variant], 2, 5, ASC_F32);
    asc_optim *optim = asc_adamw_new(c, asc_lm_params(lm), &(asc_adamw_options){.weight_decay = .1});
    asc_lm_carried *carried = asc_lm_carried_new(lm, asc_lm_carry(lm));
    asc_lm_set_dropout(lm, .2);
    asc_lm_set_recompute(lm, recompute);
    outcome o;
    for (unsigned i = 0; i < 6; i++) {
        int64_t x[B * BLOCK], y[B * BLOCK];
        for (unsigned k = 0; k < B * BLOCK; k++) {
            x[k] = (k * k + 3 * i) % V;
            y[k] = (k * 7 + i) % V;
        }
        if (i == 3) {
            asc_lm_carried_reset(carried);
        } else if (again && i > 0) {
            asc_params *held = asc_params_new(c);
            ck_assert_int_eq(asc_lm_carried_save(carried, held), ASC_OK);
            int64_t length = asc_lm_carried_length(carried);
            asc_lm_carried_free(carried);
            carried = asc_lm_carried_new(lm, asc_lm_carry(lm));
            ck_assert_msg(asc_lm_carried_load(carried, held, B, length) == ASC_OK, "%s", asc_error_message(c));
            asc_params_free(held);
        }
        asc_set_step(c, 5, i);
        asc_lm_set_carried(lm, carried);
        o.losses[i] = train_step(c, lm, optim, x, y, B, BLOCK);
        ck_assert_int_eq(asc_lm_carried_advance(carried), ASC_OK);
    }
    o.params = params_bytes(lm, &o.bytes);
    asc_lm_carried_free(carried);
    asc_optim_free(optim);
    asc_lm_free(lm);
    asc_ctx_free(c);
    return o;
}

START_TEST(the_same_model)
{
    outcome once = train(_i, false, 1, false), others[] = {train(_i, true, 1, false), train(_i, true, 3, false),
                                                           train(_i, false, 3, true)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_msg(memcmp(once.losses, others[i].losses, sizeof once.losses) == 0, "%s: losses, %d", variants[_i],
                      (int)i);
        ck_assert_msg(memcmp(once.params, others[i].params, once.bytes) == 0, "%s: parameters, %d", variants[_i],
                      (int)i);
        free(others[i].params);
    }
    free(once.params);
}
END_TEST

/* Steps like those before need no more memory. */
START_TEST(steps_allocate_nothing)
{
    asc_lm *lm = model_of(ctx, variants[_i], 2, 5, ASC_F32);
    asc_optim *optim = asc_adamw_new(ctx, asc_lm_params(lm), NULL);
    asc_lm_carried *carried = asc_lm_carried_new(lm, 5);
    asc_lm_set_carried(lm, carried);
    int64_t x[B * BLOCK + 1];
    draw_tokens(x, B * BLOCK + 1, V, 4);
    uint64_t allocations = 0;
    for (int i = 0; i < 12; i++) {
        train_step(ctx, lm, optim, x, x + 1, B, BLOCK);
        asc_lm_carried_advance(carried);
        allocations = i == 4 ? asc_memory(ctx).allocations : allocations;
    }
    ck_assert_uint_eq(asc_memory(ctx).allocations, allocations);
    asc_lm_carried_free(carried);
    asc_optim_free(optim);
    asc_lm_free(lm);
}
END_TEST

/* ---- a pass that is done again, and misuse ---- */

START_TEST(a_pass_can_be_done_again_until_it_counts)
{
    asc_lm *lm = model(8, 4);
    asc_lm_carried *carried = asc_lm_carried_new(lm, 4);
    asc_lm_set_carried(lm, carried);
    int64_t x[B * BLOCK + 1];
    draw_tokens(x, B * BLOCK + 1, V, 4);
    double first = loss_of(lm, x, false);
    ck_assert_double_eq(loss_of(lm, x, false), first);
    ck_assert_int_eq(asc_lm_carried_advance(carried), ASC_OK);
    double second = loss_of(lm, x, false);
    ck_assert_double_ne(second, first);
    ck_assert_double_eq(loss_of(lm, x, false), second);
    asc_lm_carried_reset(carried);
    ck_assert_double_eq(loss_of(lm, x, false), first);
    asc_lm_set_carried(lm, NULL);
    ck_assert_double_eq(loss_of(lm, x, false), first);
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    asc_lm *lm = model(0, 4), *other = model(12, 4);
    asc_lm_carried *carried = asc_lm_carried_new(lm, 4);
    ck_assert_int_eq(asc_lm_set_carried(other, carried), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "lm_set_carried: carried is of another model");
    ck_assert_int_eq(asc_lm_carried_advance(carried), ASC_ERR_STATE);
    expect_error(ASC_ERR_STATE, "lm_carried_advance: no pass has gone on from it");
    ck_assert_ptr_null(asc_lm_carried_new(lm, 0));
    expect_error(ASC_ERR_ARG, "carry is 0 tokens, expected at least 1");
    asc_lm_set_carried(lm, carried);
    int64_t x[B * BLOCK + 1];
    draw_tokens(x, B * BLOCK + 1, V, 4);
    loss_of(lm, x, false);
    asc_lm_carried_advance(carried);
    asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, BLOCK)));
    expect_error(ASC_ERR_ARG, "carried context: 1 sequences, expected the 2 of the block before");
    asc_lm_states(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, BLOCK)), asc_from(ctx, ASC_I64, x, ASC_SHAPE(B)));
    expect_error(ASC_ERR_ARG, "carried context: sequences of lengths of their own end, expected streams");
    asc_params *held = asc_params_new(ctx);
    asc_lm_carried_save(carried, held);
    ck_assert_int_eq(asc_params_count(held), 2);
    ck_assert_int_eq(asc_lm_carried_load(carried, held, B + 1, BLOCK), ASC_ERR_FORMAT);
    expect_error(ASC_ERR_FORMAT, "carried context: 0.inputs is of another shape, expected 3 rows of what its layer "
                                 "looks back at");
    ck_assert_int_eq(asc_lm_carried_load(carried, held, B, 3), ASC_ERR_FORMAT);
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_lm_carried_length(carried), 0);
    ck_assert_int_eq(asc_lm_carried_load(carried, held, B, BLOCK), ASC_OK);
    ck_assert_int_eq(asc_lm_carried_length(carried), BLOCK);
    asc_params_add(held, "7.inputs", asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, 1)), false);
    ck_assert_int_eq(asc_lm_carried_load(carried, held, B, BLOCK), ASC_ERR_FORMAT);
    expect_error(ASC_ERR_FORMAT, "carried context: 3 tensors, expected 2");
    asc_params_free(held);
    asc_lm_carried_reset(carried);
    loss_of(lm, x, false);
    asc_layer_restrict(asc_lm_layer(lm, 1), asc_full(ctx, ASC_U8, 1, ASC_SHAPE(2, 2)), asc_null());
    ck_assert(asc_is_null(asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, BLOCK)))));
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_lm_carried_advance(carried), ASC_ERR_STATE); /* half of the failed pass's, half of another's */
    asc_error_clear(ctx);
    asc_lm_carried_free(carried);
    asc_lm *recurrent = model_of(ctx, "\"mix\":\"recurrent\"", 2, 4, ASC_F64);
    carried = asc_lm_carried_new(recurrent, 4);
    held = asc_params_new(ctx);
    ck_assert_int_eq(asc_lm_carried_load(carried, held, B, BLOCK), ASC_ERR_FORMAT);
    ck_assert_msg(strstr(asc_error_message(ctx), "is missing, expected 2 rows") != NULL, "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
    asc_params_free(held);
    asc_lm_carried_free(carried);
    asc_lm_free(recurrent);
    asc_lm_free(other);
    asc_lm_free(lm);
}
END_TEST

START_TEST(models_that_carry_nothing_say_why)
{
    static const struct {
        const char *mix, *message;
    } refused[] = {
        {"\"mix\":\"transformer\",\"heads\":2",
         "config: carry is 4, and pos_emb is true: a learned position is one within its block; expected pos_emb false, "
         "with positions rotary or alibi where a layer needs some"},
        {"\"mix\":\"transformer\",\"heads\":2,\"head\":\"classifier\",\"pos_emb\":false",
         "config: carry is 4, and head is classifier: whole sequences have none before them, expected 0"},
        {"\"mix\":[\"transformer\",\"summing\"],\"heads\":2,\"pos_emb\":false",
         "config: carry is 4, and layer 1 is summing, which has no form with carried context"},
        {"\"mix\":\"ascender\",\"heads\":2,\"aux_sep\":0.1,\"pos_emb\":false",
         "config: aux_sep is given, and the model carries context: an auxiliary loss is a mean over whole sequences, "
         "expected 0"},
        {"\"mix\":\"grassmann\",\"memory\":true,\"running_mean\":true,\"pos_emb\":false",
         "config: running_mean is true, and so is the memory of layer 0: means over the tokens carried would need what "
         "the memory held at each: expected one of them with carry"},
        {"\"mix\":\"grassmann\",\"smooth\":0.5,\"pos_emb\":false",
         "config: smooth is 0.5, and the model carries context: an auxiliary loss is a mean over whole sequences, "
         "expected 0"},
        {"\"mix\":\"recurrent\",\"composed\":true,\"pos_emb\":false",
         "config: composed is true, and the composition of layer 0, recurrent, begins with an empty state: expected "
         "false with carry"},
    };
    asc_mixing_register(ctx, &summing);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char config[400];
        snprintf(config, sizeof config, "{%s,\"d_model\":12,\"layers\":2,\"vocab\":9,\"block\":8,\"carry\":4}",
                 refused[i].mix);
        ck_assert_ptr_null(asc_lm_new(ctx, config, ASC_F64, 1));
        expect_error(ASC_ERR_ARG, refused[i].message);
    }
}
END_TEST

/* A mixing of one's own, without states, needs no more than the library's hook for it. */
START_TEST(a_mixing_of_ones_own)
{
    asc_mixing again = summing;
    again.name = "again";
    again.carry = asc_carry_again;
    asc_mixing_register(ctx, &again);
    asc_lm *lm = model_of(ctx, "\"mix\":\"again\"", 2, 0, ASC_F64);
    asc_lm_carried *carried = asc_lm_carried_new(lm, N);
    int64_t x[N];
    static double logits[N * V];
    draw_tokens(x, N, V, 5);
    run_blocks(lm, carried, x, logits);
    asc_tensor full = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    expect_near(logits, asc_data(full), (int64_t)N * V);
    asc_lm_carried_free(carried);
    asc_lm_free(lm);
}
END_TEST

/* A recomputed pass goes on from what the forward pass went on from, or says that this has gone on. */
START_TEST(recomputed_before_it_goes_on)
{
    for (int what = 0; what < 4; what++) {
        asc_lm *lm = model_of(ctx, variants[0], 2, 5, ASC_F64);
        asc_lm_carried *carried = asc_lm_carried_new(lm, asc_lm_carry(lm));
        int64_t x[B * BLOCK] = {1, 2};
        asc_tensor tokens = asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, BLOCK));
        asc_lm_set_recompute(lm, true);
        asc_lm_set_carried(lm, carried);
        asc_tensor objective = asc_lm_objective(lm, tokens, tokens, NULL);
        if (what == 0) {
            asc_lm_carried_advance(carried);
        } else if (what == 1) {
            asc_lm_carried_reset(carried);
        } else {
            asc_lm_set_carried(lm, NULL);
            asc_lm_set_carried(lm, what == 2 ? NULL : carried);
        }
        ck_assert_int_eq(asc_backward(ctx, objective, asc_null(), false), what < 3 ? ASC_ERR_STATE : ASC_OK);
        ck_assert(what == 3 || strstr(asc_error_message(ctx), "what it carried in the forward pass has gone on"));
        asc_error_clear(ctx);
        asc_lm_carried_free(carried);
        asc_lm_free(lm);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("carry");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, all_that_came_before_is_one_sequence, 0, VARIANTS);
    tcase_add_loop_test(t, no_token_sees_those_after_it, 0, VARIANTS);
    tcase_add_test(t, a_block_sees_what_is_carried_and_no_more);
    tcase_add_loop_test(t, gradients_are_those_of_the_block, 0, VARIANTS);
    tcase_add_loop_test(t, generation_goes_on_past_the_block, 0, VARIANTS);
    tcase_add_loop_test(t, generation_has_no_end, 0, VARIANTS);
    tcase_add_loop_test(t, a_cache_is_as_it_was_after_a_failed_call, 0, VARIANTS);
    tcase_add_loop_test(t, the_same_model, 0, VARIANTS);
    tcase_add_loop_test(t, steps_allocate_nothing, 0, VARIANTS);
    tcase_add_test(t, a_pass_can_be_done_again_until_it_counts);
    tcase_add_test(t, recomputed_before_it_goes_on);
    tcase_add_test(t, what_does_not_fit_is_refused);
    tcase_add_test(t, models_that_carry_nothing_say_why);
    tcase_add_test(t, a_mixing_of_ones_own);
    return run_suite("nn/carry", t);
}
