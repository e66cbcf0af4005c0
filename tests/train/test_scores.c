/* tests/train/test_scores.c: scores of models on blocks and lines, and their files. */
#include <math.h>
#include <string.h>

#include <ascgrad/compare.h>
#include <ascgrad/safetensors.h>

#include "tests/faults.h"
#include "tests/folder.h"

static void is_close(double got, double want, double tolerance)
{
    ck_assert_msg(fabs(got - want) <= tolerance, "got %.17g, expected %.17g", got, want);
}

/* ---- scores of a model ---- */

enum { TOKENS = 23, LINES = 6, BLOCK = 4 };
static const asc_split_line line_sizes[LINES] = {{0, 1}, {3, 9}, {7, 20}, {0, 2}, {1, 4}, {12, 30}};
static int32_t ids[TOKENS];
static uint8_t given_tokens[TOKENS];
static double losses[TOKENS]; /* of each token, as the evaluation tells them */
static int64_t told;

static asc_split lined_split(bool with_given)
{
    memset(given_tokens, 0, sizeof given_tokens);
    for (int i = 0; i < TOKENS; i++) {
        ids[i] = i * 5 % 11;
        given_tokens[i] = with_given && i > 4 && i < 10;
    }
    return (asc_split){.tokens = ids,
                       .n_tokens = TOKENS,
                       .bytes = 66,
                       .checksum = 7,
                       .unknown = 3,
                       .given = with_given ? given_tokens : NULL,
                       .lines = line_sizes,
                       .n_lines = LINES};
}

static asc_model small_model(int64_t seed)
{
    static const char config[] = "{\"d_model\": 8, \"layers\": 1, \"heads\": 2, \"vocab\": 11, \"block\": 4}";
    return (asc_model){.lm = asc_lm_new(ctx, config, ASC_F64, (uint64_t)seed), .batch = 2, .checksum = "0badcafe"};
}

static asc_status keep_losses(void *user, const int64_t *tokens, const double *loss, int64_t n)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) {
        losses[++told] = tokens[i] < 0 ? -1 : loss[i];
    }
    return ASC_OK;
}

static void check_parts(const asc_scores *s)
{
    double nats[LINES] = {0};
    int64_t line = 0, end = 0, predicted[LINES] = {0};
    for (int64_t t = 1; t < TOKENS; t++) {
        while (t >= end + line_sizes[line].tokens) {
            end += line_sizes[line++].tokens;
        }
        nats[line] += losses[t] < 0 ? 0 : losses[t];
        predicted[line] += losses[t] >= 0;
    }
    for (int64_t i = 0; i < LINES; i++) {
        ck_assert_int_eq(s->lines[i].tokens, predicted[i]);
        ck_assert_int_eq(s->lines[i].bytes, line_sizes[i].bytes);
        is_close(s->lines[i].nats, nats[i], 1e-12);
    }
    for (int64_t i = 0; i < s->n_blocks; i++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t t = i * s->block + 1; t <= (i + 1) * s->block && t < TOKENS; t++) {
            sum += losses[t] < 0 ? 0 : losses[t];
            n += losses[t] >= 0;
        }
        ck_assert_int_eq(s->blocks[i].tokens, n);
        is_close(s->blocks[i].nats, sum, 1e-12);
    }
}

START_TEST(parts_are_sums_of_their_tokens)
{
    asc_split split = lined_split(_i % 2);
    asc_model model = small_model(1);
    for (int64_t batch = 1; batch <= 6; batch += 2) {
        for (int64_t block = 0; block <= 3; block += 3) {
            told = 0;
            asc_scores *s = asc_score(ctx, &model, &split,
                                      &(asc_eval_options){.batch = batch, .length = block, .tokens = keep_losses});
            no_error();
            ck_assert_int_eq(told, TOKENS - 1);
            ck_assert_int_eq(s->block, block ? block : BLOCK);
            ck_assert_int_eq(s->n_blocks, block ? 8 : 6);
            ck_assert_int_eq(s->parameters, asc_params_numel(asc_lm_params(model.lm)));
            ck_assert_int_eq(s->seed, -1);
            ck_assert_str_eq(s->model_checksum, "0badcafe");
            check_parts(s);
            asc_scores_free(ctx, s);
        }
    }
    asc_lm_free(model.lm);
}
END_TEST

START_TEST(blocks_may_not_be_longer_than_learned_positions)
{
    asc_split split = lined_split(false);
    asc_model model = small_model(1);
    asc_eval_options how = {.batch = 1, .length = BLOCK + 1};
    ck_assert_ptr_null(asc_score(ctx, &model, &split, &how));
    expect_error_with(ASC_ERR_ARG, "length is 5, but the model has learned positions (pos_emb) for 4 tokens");
    how.length = -1;
    ck_assert_ptr_null(asc_score(ctx, &model, &split, &how));
    expect_error_with(ASC_ERR_ARG, "length: got -1, expected 0 (the model's 4) to");
    asc_lm_free(model.lm);
}
END_TEST

static bool stop(void *user, double done)
{
    return *(double *)user > done;
}

START_TEST(scoring_may_be_stopped)
{
    asc_split split = lined_split(false);
    asc_model model = small_model(1);
    double until = .5;
    ck_assert_ptr_null(
        asc_score(ctx, &model, &split, &(asc_eval_options){.batch = 1, .progress = stop, .user = &until}));
    expect_error_with(ASC_ERR_INTERRUPTED, "stopped");
    asc_lm_free(model.lm);
}
END_TEST

/* ---- files of scores ---- */

static void check_same(const asc_scores *a, const asc_scores *b)
{
    ck_assert_int_eq(a->n_blocks, b->n_blocks);
    ck_assert_int_eq(a->n_lines, b->n_lines);
    ck_assert_mem_eq(a->blocks, b->blocks, (size_t)a->n_blocks * sizeof *a->blocks);
    ck_assert(!a->lines == !b->lines);
    if (a->lines) {
        ck_assert_mem_eq(a->lines, b->lines, (size_t)a->n_lines * sizeof *a->lines);
    }
    const asc_eval_result *x = &a->result, *y = &b->result;
    ck_assert(x->tokens == y->tokens && x->loss == y->loss && x->ppl == y->ppl);
    ck_assert(x->bits_per_byte == y->bits_per_byte && x->unknown == y->unknown);
    ck_assert(x->accuracy == y->accuracy && x->ece == y->ece && x->sequences == y->sequences);
    ck_assert(isnan(x->exact) ? isnan(y->exact) : x->exact == y->exact);
    ck_assert(a->parameters == b->parameters && a->block == b->block && a->seed == b->seed && a->carry == b->carry);
    ck_assert_int_eq(a->classes, b->classes);
    ck_assert(a->text_checksum == b->text_checksum && a->token_checksum == b->token_checksum);
    ck_assert(a->train_checksum == b->train_checksum && isnan(a->tokens_per_s) == isnan(b->tokens_per_s));
    ck_assert_str_eq(a->model_checksum, b->model_checksum);
}

START_TEST(files_keep_scores)
{
    char path[200];
    make_folder();
    snprintf(path, sizeof path, "%s/scores", folder);
    asc_split split = lined_split(false);
    asc_model model = small_model(1);
    for (int lines = 0; lines < 2; lines++) {
        split.lines = lines ? line_sizes : NULL;
        split.n_lines = lines ? LINES : 0;
        asc_scores *s = asc_score(ctx, &model, &split, &(asc_eval_options){.batch = 2});
        s->seed = 5;
        s->carry = 7;
        s->classes = 3;
        s->result.sequences = 4;
        s->result.exact = lines ? NAN : .25;
        ((asc_score_part *)s->blocks)[1].right = 1;
        s->train_checksum = 0xfedcba98;
        ck_assert_int_eq(asc_scores_write(ctx, s, path), ASC_OK);
        asc_scores *again = asc_scores_read(ctx, path);
        no_error();
        check_same(s, again);
        asc_scores_free(ctx, s);
        asc_scores_free(ctx, again);
    }
    asc_lm_free(model.lm);
    remove_tree(folder);
}
END_TEST

START_TEST(damaged_files_are_refused)
{
    char path[200];
    make_folder();
    snprintf(path, sizeof path, "%s/scores", folder);
    asc_split split = lined_split(false);
    asc_model model = small_model(1);
    asc_scores *s = asc_score(ctx, &model, &split, &(asc_eval_options){.batch = 2});
    asc_scores_write(ctx, s, path);
    no_error();
    FILE *f = fopen(path, "r+b");
    fseek(f, -9, SEEK_END);
    int byte = fgetc(f);
    fseek(f, -9, SEEK_END);
    fputc(byte ^ 16, f);
    fclose(f);
    ck_assert_ptr_null(asc_scores_read(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "scores");
    asc_tensor t = asc_zeros(ctx, ASC_F64, ASC_SHAPE(2));
    const asc_safetensors_pair pair = {ASC_SAFETENSORS_CRC, ""};
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"blocks.nats", t}, 1, &pair, 1);
    ck_assert_ptr_null(asc_scores_read(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "is no file of scores");
    const asc_safetensors_pair pairs[] = {{"ascgrad_scores", "4"}, {"scores", "{\"block\": 4}"}, pair};
    asc_safetensors_write(ctx, path, &(asc_named_tensor){"blocks.nats", t}, 1, pairs, 3);
    ck_assert_ptr_null(asc_scores_read(ctx, path));
    expect_error_with(ASC_ERR_FORMAT, "its description of the scores is not whole");
    ck_assert_ptr_null(asc_scores_read(ctx, "/there-is-no-folder/file"));
    expect_error_with(ASC_ERR_IO, "/there-is-no-folder/file");
    asc_scores_free(ctx, s);
    asc_lm_free(model.lm);
    remove_tree(folder);
}
END_TEST

/* ---- memory ---- */

static double score_and_compare(void)
{
    double result = NAN;
    asc_split split = lined_split(false);
    asc_model model = small_model(1), other = small_model(2);
    asc_scores *s = asc_score(ctx, &model, &split, &(asc_eval_options){.batch = 2});
    asc_scores *t = asc_score(ctx, &other, &split, &(asc_eval_options){.batch = 2, .length = 3});
    const asc_scores *first = s, *second = t;
    if (s && t) {
        asc_system both[] = {{"a", &first, 1}, {"b", &second, 1}};
        asc_compared *c = asc_compare(ctx, both, 2, &(asc_compare_options){.resampling = {10, 1}});
        result = c ? c->comparison[0].items.difference : NAN;
        asc_compared_free(ctx, c);
    }
    asc_scores_free(ctx, s);
    asc_scores_free(ctx, t);
    asc_lm_free(model.lm);
    asc_lm_free(other.lm);
    return result;
}

START_TEST(any_allocation_may_fail)
{
    ck_assert_int_ge(fail_each_allocation(score_and_compare, false), 20);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("scores");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, parts_are_sums_of_their_tokens, 0, 2);
    tcase_add_test(t, blocks_may_not_be_longer_than_learned_positions);
    tcase_add_test(t, scoring_may_be_stopped);
    tcase_add_test(t, files_keep_scores);
    tcase_add_test(t, damaged_files_are_refused);
    tcase_add_test(t, any_allocation_may_fail);
    return run_suite("scores", t);
}
