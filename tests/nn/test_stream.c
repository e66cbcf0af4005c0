/* tests/nn/test_stream.c: models whose layers stream, in time: causality to the bit; generation as a stream, which
 * equals the full pass, needs the same memory at any position, and is as it was after a failure. */
#include <stdio.h>

#include <ascgrad/ops.h>

#include "tests/draw.h"
#include "tests/nn/model.h"

enum { N = 60, V = 23, BLOCK = 60 };

/* ---- models ---- */

static const char *const variants[] = {
    "\"mix\":\"grassmann\",\"r\":6",
    "\"mix\":\"grassmann\",\"r\":6,\"groups\":2,\"offsets\":[[1],[2],[50]],\"block_norm\":\"pre\",\"scale\":\"rms\"",
    "\"mix\":\"grassmann\",\"r\":[4,6,8],\"groups\":[1,2,2],\"offsets\":[],\"memory\":true,\"block_norm\":\"pre\"",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[1,3],\"memory\":true,\"learned\":true,\"running_mean\":true",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[2,7],\"running_mean\":true,\"aggregate\":\"sum\",\"mix_residual\":true",
    "\"mix\":\"grassmann\",\"r\":5,\"offsets\":[[1],[],[2]],\"memory\":[false,true,true],\"eps_rel\":0.01",
    ("\"mix\":\"grassmann\",\"r\":6,\"groups\":2,\"offsets\":[1,5],\"memory\":true,\"pair\":\"symmetric\","
     "\"eps_rel\":0.01"),
    ("\"mix\":\"grassmann\",\"r\":6,\"offsets\":[[],[1,3],[2]],\"memory\":[true,false,true],\"pair\":\"concat\","
     "\"scale\":\"rms\""),
    ("\"mix\":\"grassmann\",\"r\":6,\"groups\":2,\"offsets\":[[1],[2,5],[]],\"memory\":[false,true,true],"
     "\"invariants\":true"),
    ("\"mix\":\"grassmann\",\"r\":8,\"groups\":2,\"tuples\":[[1,2],[2,9]],\"running_mean\":true,\"scale\":\"rms\","
     "\"eps_rel\":0.01"),
    ("\"mix\":\"grassmann\",\"r\":5,\"tuples\":[[[1,2,5],[4,1,2]],[],[[3],[1]]],\"offsets\":[1,4],"
     "\"block_norm\":\"pre\""),
    "\"mix\":\"linear\",\"heads\":2,\"decay\":\"gated\"",
    "\"mix\":\"linear\",\"heads\":3,\"feature\":\"favor\",\"features\":5,\"decay\":\"fixed\"",
    "\"mix\":\"conv\",\"inner\":7,\"block_norm\":\"pre\"",
    "\"mix\":[\"recurrent\",\"linear\",\"recurrent\"],\"heads\":2,\"width\":[1,4,3],\"inner\":[9,4,12],\"decay\":"
    "\"none\"",
    "\"mix\":[\"grassmann\",\"transformer\",\"grassmann\"],\"heads\":2,\"r\":5,\"offsets\":\"lags\"",
};
enum { VARIANTS = sizeof variants / sizeof *variants, HYBRID = VARIANTS - 1 };

static asc_lm *model(int variant, bool learned_positions, asc_dtype dtype)
{
    char config[400];
    snprintf(config, sizeof config, "{%s,\"d_model\":12,\"layers\":3,\"vocab\":%d,\"block\":%d,\"pos_emb\":%s}",
             variants[variant], V, BLOCK, learned_positions ? "true" : "false");
    asc_lm *lm = asc_lm_new(ctx, config, dtype, 7);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    return lm;
}

START_TEST(causal_to_the_bit)
{
    asc_lm *lm = model(_i, true, ASC_F32);
    int64_t x[N];
    draw_tokens(x, N, V, 1);
    asc_tensor before = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    for (int64_t t = 0; t < N - 1; t += 1 + t / 3) {
        int64_t y[N];
        draw_tokens(y, N, V, 2 + (uint64_t)t);
        memcpy(y, x, (size_t)(t + 1) * sizeof *x);
        asc_tensor after = asc_lm_logits(lm, asc_from(ctx, ASC_I64, y, ASC_SHAPE(1, N)));
        const float *p = asc_data(before), *q = asc_data(after);
        ck_assert_int_eq(memcmp(p, q, (size_t)((t + 1) * V) * sizeof *p), 0);
        ck_assert_int_ne(memcmp(p + (t + 1) * V, q + (t + 1) * V, (size_t)((N - t - 1) * V) * sizeof *p), 0);
    }
    asc_lm_free(lm);
}
END_TEST

/* The logits after x[at] are those of the full pass. */
static void expect_full(asc_tensor next, asc_tensor full, int64_t at)
{
    ck_assert_msg(asc_numel(next) == V, "%s", asc_error_message(ctx));
    for (int64_t v = 0; v < V; v++) {
        double want = ((const double *)asc_data(full))[at * V + v];
        ck_assert_double_eq_tol(((const double *)asc_data(next))[v], want, 1e-9);
    }
}

START_TEST(a_stream_equals_the_full_pass)
{
    asc_lm *lm = model(_i, true, ASC_F64);
    int64_t x[N];
    draw_tokens(x, N, V, 5);
    asc_tensor full = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N)));
    asc_lm_cache *cache = asc_lm_cache_new(lm, N);
    for (int pass = 0; pass < 2; pass++) { /* the second one after a reset */
        const int64_t pieces[] = {1, 1, 9, 1, 1, 30, 2, 15};
        int64_t at = 0;
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            asc_scope_begin(ctx);
            asc_tensor next = asc_lm_next(cache, x + at, pieces[i]);
            at += pieces[i];
            expect_full(next, full, at - 1);
            asc_scope_end(ctx);
        }
        asc_lm_cache_reset(cache);
    }
    asc_lm_cache_free(cache);
    asc_lm_free(lm);
}
END_TEST

/* Far beyond the block, where the full pass over all of it is the same; with as much memory as at the beginning. */
START_TEST(a_stream_has_no_end)
{
    enum { FAR = 700 };
    asc_lm *lm = model(_i, false, ASC_F64);
    ck_assert(asc_lm_streams(lm));
    int64_t x[FAR];
    draw_tokens(x, FAR, V, 6);
    asc_tensor full = asc_lm_logits(lm, asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, FAR)));
    asc_lm_cache *cache = asc_lm_cache_new(lm, ASC_LM_ENDLESS);
    ck_assert_ptr_nonnull(cache);
    uint64_t allocations = 0;
    for (int64_t t = 0; t < FAR; t++) {
        asc_scope_begin(ctx);
        asc_tensor next = asc_lm_next(cache, x + t, 1);
        if (t % 50 == 49) {
            expect_full(next, full, t);
        }
        asc_scope_end(ctx);
        if (t == 100) {
            allocations = asc_memory(ctx).allocations;
        }
    }
    ck_assert_uint_eq(asc_memory(ctx).allocations, allocations);
    asc_lm_cache_free(cache);
    asc_lm_free(lm);
}
END_TEST

START_TEST(what_keeps_every_token_does_not_stream)
{
    asc_lm *lm = model(HYBRID, false, ASC_F32), *placed = model(0, true, ASC_F32);
    ck_assert(!asc_lm_streams(lm) && !asc_lm_streams(placed));
    ck_assert_ptr_null(asc_lm_cache_new(lm, ASC_LM_ENDLESS));
    asc_error_clear(ctx);
    ck_assert_ptr_null(asc_lm_cache_new(placed, BLOCK + 1));
    ck_assert_str_eq(asc_error_message(ctx), "lm_cache_new: capacity is 61, expected 1 to 60");
    asc_error_clear(ctx);
    asc_lm_free(lm);
    asc_lm_free(placed);
}
END_TEST

START_TEST(a_stream_is_as_it_was_after_a_failed_call)
{
    asc_lm *lm = model(3, false, ASC_F64);
    int64_t x[N];
    draw_tokens(x, N, V, 8);
    expect_cache_survives(lm, ASC_LM_ENDLESS, x, 10, 23);
    asc_lm_free(lm);
}
END_TEST

/* ---- training ---- */

START_TEST(steps_learn)
{
    asc_lm *lm = model(_i, true, ASC_F32);
    int64_t x[N + 1];
    draw_tokens(x, N + 1, V, 4);
    expect_learning(lm, x, N);
    asc_lm_free(lm);
}
END_TEST

/* Sets all parameters whose name ends so. */
static void fill(asc_lm *lm, const char *end, double value)
{
    asc_params *p = asc_lm_params(lm);
    for (int i = 0; i < asc_params_count(p); i++) {
        const char *name = asc_params_name(p, i);
        if (strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0) {
            asc_tensor t = asc_params_at(p, i);
            asc_copy(ctx, t, asc_full(ctx, ASC_F64, value, asc_ndim(t), asc_shape(t)));
        }
    }
}

/* Without a residual round the mixing, dropout comes after its LayerNorm: with a norm that gives 1 for anything, and a
 * feed-forward layer that adds nothing, dropout alone tells the positions apart. */
START_TEST(the_papers_block_drops_out_after_its_norm)
{
    asc_lm *lm = model(0, true, ASC_F64);
    fill(lm, "norm1.weight", 0);
    fill(lm, "norm1.bias", 1);
    fill(lm, "fc2.weight", 0);
    int64_t x[N];
    draw_tokens(x, N, V, 3);
    asc_tensor t = asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, N));
    for (int dropped = 0; dropped < 2; dropped++) {
        asc_lm_set_dropout(lm, dropped ? .3 : 0);
        const double *logits = asc_data(asc_lm_logits(lm, t));
        ck_assert((memcmp(logits, logits + V, V * sizeof *logits) != 0) == dropped);
    }
    asc_lm_free(lm);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("stream");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, causal_to_the_bit, 0, VARIANTS);
    tcase_add_loop_test(t, a_stream_equals_the_full_pass, 0, VARIANTS);
    tcase_add_loop_test(t, a_stream_has_no_end, 0, HYBRID);
    tcase_add_test(t, what_keeps_every_token_does_not_stream);
    tcase_add_test(t, a_stream_is_as_it_was_after_a_failed_call);
    tcase_add_loop_test(t, steps_learn, 0, VARIANTS);
    tcase_add_test(t, the_papers_block_drops_out_after_its_norm);
    return run_suite("nn/stream", t);
}
