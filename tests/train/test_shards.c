/* tests/train/test_shards.c: batches in shards: the tree that adds them, and runs that are the same to rounding. */
#include <ascgrad/ops.h>

#include "tests/train/runs.h"
#include "train/ranks/tree.h"

/* ---- the tree ---- */

enum { N = 3, MOST = 17 };

/* Numbers of which a sum shows its order. */
static float number(int64_t shard, int i)
{
    return (float)sin(1 + 7. * (double)shard + i) * (float)pow(10, (double)((3 * shard + i) % 7));
}

/* Level by level: neighbours are joined, an odd last one passes. */
static void add_by_hand(int64_t shards, float sum[N], double *loss)
{
    static float level[MOST][N];
    static double losses[MOST];
    for (int64_t s = 0; s < shards; s++) {
        losses[s] = 1. / (double)(s + 3);
        for (int i = 0; i < N; i++) {
            level[s][i] = number(s, i);
        }
    }
    for (int64_t n = shards; n > 1; n = (n + 1) / 2) {
        for (int64_t s = 0; s < n; s += 2) {
            losses[s / 2] = s + 1 < n ? losses[s] + losses[s + 1] : losses[s];
            for (int i = 0; i < N; i++) {
                level[s / 2][i] = s + 1 < n ? level[s][i] + level[s + 1][i] : level[s][i];
            }
        }
    }
    memcpy(sum, level[0], N * sizeof *sum);
    *loss = losses[0];
}

typedef struct leaf {
    asc_tensor x;
    int64_t empty; /* shards from here on have no gradient */
} leaf;

static asc_shard_sum give(void *user, int64_t shard)
{
    const leaf *l = user;
    asc_scope_begin(ctx);
    float factor[N];
    for (int i = 0; i < N; i++) {
        factor[i] = number(shard, i);
    }
    asc_tensor factors = asc_from(ctx, ASC_F32, factor, 1, &(int64_t){N});
    asc_tensor y = asc_sum(ctx, asc_mul(ctx, l->x, factors), ASC_ALL_DIMS, false);
    if (shard < l->empty) {
        asc_backward(ctx, y, asc_null(), false);
    }
    asc_scope_end(ctx);
    return (asc_shard_sum){1. / (double)(shard + 3), 0};
}

static void check_tree(int64_t shards, int64_t empty)
{
    asc_params *params = asc_params_new(ctx);
    leaf l = {asc_zeros(ctx, ASC_F32, ASC_SHAPE(N)), empty};
    asc_require_grad(l.x, true);
    asc_params_add(params, "x", l.x, true);
    asc_tree tree = {.ctx = ctx, .params = params, .shards = shards};
    asc_shard_sum sum;
    ck_assert_int_eq(asc_tree_run(&tree, give, &l, &sum), ASC_OK);
    float expected[N];
    double loss;
    add_by_hand(empty < shards ? empty : shards, expected, &loss);
    const float *got = asc_data(asc_grad(l.x));
    ck_assert_ptr_nonnull(got);
    ck_assert_msg(memcmp(got, expected, sizeof expected) == 0, "%d shards: %g, expected %g", (int)shards, got[0],
                  expected[0]);
    if (empty >= shards) {
        ck_assert_double_eq(sum.loss, loss);
    }
    asc_tree_close(&tree);
    asc_params_free(params);
}

START_TEST(neighbours_are_joined)
{
    for (int64_t shards = 1; shards <= MOST; shards++) {
        check_tree(shards, shards);
    }
}
END_TEST

/* What has no gradient adds none. */
START_TEST(an_empty_shard_adds_nothing)
{
    check_tree(8, 4);
    check_tree(6, 3);
    check_tree(2, 1);
}
END_TEST

/* ---- runs ---- */

static const pair kinds[][7] = {
    {{"dropout", "0.2"}, {NULL, NULL}},
    {{"dropout", "0.2"}, {"recompute", "true"}, {"accumulate", "3"}, {NULL, NULL}},
    {{"model", "ascender"}, {"aux_coh", "0.1"}, {"aux_sep", "0.1"}, {"dropout", "0"}, {NULL, NULL}},
    {{"mixing", "transformer,grassmann"}, {"layers", "2"}, {"optimizer", "muon"}, {"average", "0.9"}, {NULL, NULL}},
    {{"carry", "6"}, {"pos_emb", "false"}, {"positions", "rotary"}, {"accumulate", "2"}, {"batch_schedule", "0:7"},
     {NULL, NULL}},
    {{"data", "task:majority:length=5,train=50,valid=8,test=8"}, {"block", "9"}, {"batch_schedule", "0:3,4:4"},
     {NULL, NULL}},
    {{"batch_schedule", "0:1,4:3"}, {NULL, NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Trains in float64 with settings of `kinds` and as many shards. */
static asc_train_result train_in(const char *path, int kind, const char *shards, const asc_train_hooks *hooks,
                                 asc_status expected)
{
    pair all[12] = {{"dtype", "f64"}, {"shards", shards}, {"log_every", "1"}};
    for (int i = 0; kinds[kind][i][0]; i++) {
        memcpy(all[3 + i], kinds[kind][i], sizeof(pair));
    }
    return train_so(path, false, hooks, expected, all);
}

/* One batch is the same, but for the order of its sums. */
START_TEST(shards_make_one_batch)
{
    double loss[2][12], norm[2][12];
    train_in(run_path, _i, "1", NULL, ASC_OK);
    train_in(other_path, _i, "4", NULL, ASC_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(read_metrics(i ? other_path : run_path, "loss", loss[i], 12), 12);
        ck_assert_int_eq(read_metrics(i ? other_path : run_path, "grad_norm", norm[i], 12), 12);
    }
    for (int i = 0; i < 12; i++) {
        ck_assert_double_eq_tol(loss[0][i], loss[1][i], 1e-7 * loss[0][i]);
        ck_assert_double_eq_tol(norm[0][i], norm[1][i], 1e-6 * norm[0][i]);
    }
}
END_TEST

START_TEST(resumes_are_exact)
{
    train_in(run_path, _i, "4", NULL, ASC_OK);
    for (int at = 2; at < 12; at += 4) {
        brake b = {0, at};
        train_in(other_path, _i, "4", &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED);
        train_so(other_path, true, NULL, ASC_OK, (pair[]){{"threads", "2"}, {NULL, NULL}});
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

START_TEST(wrong_shards_are_refused)
{
    asc_settings *s = make_settings(ctx);
    asc_settings_set(s, "shards", "3");
    ck_assert_int_eq(asc_train(ctx, s, run_path, false, NULL, NULL), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "shards is 3, expected a divisor of batch, 4");
    ck_assert(!has_file(run_path, ""));
    asc_settings_free(s);
}
END_TEST

/* The number of shards is part of what a run computes. */
START_TEST(a_resume_keeps_its_shards)
{
    brake b = {0, 2};
    train_in(run_path, 0, "2", &(asc_train_hooks){.progress = stop_at, .user = &b}, ASC_ERR_INTERRUPTED);
    asc_settings *s = asc_settings_new(ctx);
    asc_settings_set(s, "shards", "4");
    ck_assert_int_eq(asc_settings_resume(s, run_path), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "shards");
    asc_settings_free(s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("shards");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, neighbours_are_joined);
    tcase_add_test(t, an_empty_shard_adds_nothing);
    tcase_add_loop_test(t, shards_make_one_batch, 0, KINDS);
    tcase_add_loop_test(t, resumes_are_exact, 0, KINDS);
    tcase_add_test(t, wrong_shards_are_refused);
    tcase_add_test(t, a_resume_keeps_its_shards);
    return run_suite("train/shards", t);
}
