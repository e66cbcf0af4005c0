/* tests/train/test_ranks.c: a training on several ranks has the same bits for any number of them. */
#include "tests/train/job.h"

static void train_on(int size, const char *path, const pair *pairs, bool resume, int at, asc_status expected)
{
    job j = {.size = size, .path = path, .pairs = resume ? NULL : pairs, .resume = resume, .stop_at = at,
             .dies_at = -1};
    run_job(&j);
    ck_assert_msg(j.rank[0].status == expected, "%s", j.rank[0].message);
}

/* The tensors of a file of both runs, by their checksums: metadata have times. */
static void check_same_tensors(const char *name)
{
    char path[2][200];
    const char *sum[2];
    asc_safetensors *file[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", i ? other_path : run_path, name);
        file[i] = asc_safetensors_open(ctx, path[i]);
        sum[i] = asc_safetensors_metadata(file[i], ASC_SAFETENSORS_CRC_TENSORS);
    }
    ck_assert_msg(sum[0] && sum[1], "%s", asc_error_message(ctx));
    ck_assert_msg(strcmp(sum[0], sum[1]) == 0, "the tensors of %s differ", name);
    asc_safetensors_close(file[0]);
    asc_safetensors_close(file[1]);
}

static const pair kinds[][8] = {
    {{"dropout", "0.2"}, {NULL, NULL}},
    {{"mixing", "ascender,grassmann"}, {"layers", "2"}, {"aux_coh", "0.1"}, {"recompute", "true"}, {NULL, NULL}},
    {{"carry", "6"}, {"pos_emb", "false"}, {"positions", "rotary"}, {"accumulate", "2"}, {"average", "0.9"},
     {"optimizer", "muon"}, {NULL, NULL}},
    {{"batch_schedule", "0:1,4:3"}, {NULL, NULL}}, /* some shards are empty */
    {{"shards", "6"}, {"batch", "6"}, {"dropout", "0.2"}, {NULL, NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* An optimiser that is divided among the ranks. */
static const pair divided[][8] = {
    {{"optimizer", "adamw"}, {"average", "0.9"}, {NULL, NULL}},
    {{"optimizer", "muon"},
     {"mixing", "ascender,grassmann"},
     {"layers", "2"},
     {"param_groups", "*emb.weight:lr=0"},
     {NULL, NULL}},
    {{"optimizer", "sgd"},
     {"clip", "0.01"},
     {"accumulate", "2"},
     {"carry", "6"},
     {"pos_emb", "false"},
     {"positions", "rotary"},
     {NULL, NULL}},
    {{"param_groups", "*bias:optimizer=sgd;blocks.0.*:lr=1e-2,decay=0"},
     {"average", "0.5"},
     {"schedule", "wsd"},
     {NULL, NULL}},
    {{"shards", "8"}, {"batch", "8"}, {"clip", "0.01"}, {NULL, NULL}},
    {{"shards", "6"}, {"batch", "6"}, {"clip", "0.01"}, {NULL, NULL}},
};
enum { DIVIDED = sizeof divided / sizeof *divided };
static const pair together[] = {{"shard_optimizer", "false"}, {NULL, NULL}};

static int shards_of(const pair *pairs)
{
    int shards = 4;
    for (int i = 0; pairs[i][0]; i++) {
        shards = strcmp(pairs[i][0], "shards") == 0 ? atoi(pairs[i][1]) : shards;
    }
    return shards;
}

START_TEST(a_divided_optimizer_makes_the_same_run)
{
    int shards = shards_of(divided[_i]);
    const int order[] = {shards == 6 ? 3 : 4, 1, 2};
    train_on(1, run_path, divided[_i], false, -1, ASC_OK);
    for (int size = 2; size <= MOST; size++) {
        if (shards % size != 0) {
            continue;
        }
        job j = {.size = size, .path = other_path, .pairs = divided[_i], .more = apart, .stop_at = -1, .dies_at = -1};
        run_job(&j);
        ck_assert_msg(j.rank[0].status == ASC_OK, "%s", j.rank[0].message);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        check_same_tensors("checkpoint.safetensors");
        remove_tree(other_path);
    }
    for (int i = 0; i < 3; i++) { /* begun divided, then one process, then several that are not, or are again */
        job j = {.size = order[i],
                 .path = other_path,
                 .pairs = i ? NULL : divided[_i],
                 .more = i < 2 ? apart : together,
                 .resume = i > 0,
                 .stop_at = i < 2 ? 4 : -1,
                 .dies_at = -1};
        run_job(&j);
        ck_assert_msg(j.rank[0].status == (i < 2 ? ASC_ERR_INTERRUPTED : ASC_OK), "%s", j.rank[0].message);
    }
    check_same("metrics.jsonl");
    check_same("model.safetensors");
    check_same_tensors("checkpoint.safetensors");
}
END_TEST

START_TEST(any_number_of_ranks_makes_the_same_run)
{
    train_on(1, run_path, kinds[_i], false, -1, ASC_OK);
    for (int size = 2; size <= MOST; size++) {
        for (int turns = 0; turns < 2 && shards_of(kinds[_i]) % size == 0; turns++) {
            job j = {.size = size,
                     .path = other_path,
                     .pairs = kinds[_i],
                     .in_turns = turns,
                     .stop_at = -1,
                     .dies_at = -1};
            run_job(&j);
            ck_assert_msg(j.rank[0].status == ASC_OK, "%s", j.rank[0].message);
            check_same("metrics.jsonl");
            check_same("model.safetensors");
            remove_tree(other_path);
        }
    }
}
END_TEST

START_TEST(a_run_goes_on_with_other_ranks)
{
    train_on(1, run_path, kinds[_i], false, -1, ASC_OK);
    train_on(4, other_path, kinds[_i], false, 4, ASC_ERR_INTERRUPTED);
    train_on(1, other_path, kinds[_i], true, 3, ASC_ERR_INTERRUPTED);
    train_on(2, other_path, kinds[_i], true, -1, ASC_OK);
    check_same("metrics.jsonl");
    check_same("model.safetensors");
}
END_TEST

/* Data that only rank 0 can find. */
static const pair sent[][6] = {
    {{"tokenizer", "word"}, {NULL, NULL}},
    {{"tokenizer", "byte"}, {"carry", "6"}, {"pos_emb", "false"}, {"positions", "rotary"}, {NULL, NULL}},
    {{"data", "task:listops:length=30,min=1,train=70,valid=10,test=10"},
     {"head", "classifier"},
     {"block", "30"},
     {NULL, NULL}},
};
enum { SENT = sizeof sent / sizeof *sent };
static const pair nowhere[] = {{"data", "/nowhere/at/all"}, {"tokenizer", "wordpiece:/nowhere"}, {NULL, NULL}};

/* A text of its own for the run, and the settings that make it the data's, before more. */
static void add_text(const pair *more, char path[200], pair pairs[9])
{
    snprintf(path, 200, "%s/text", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 900; i++) {
        fprintf(f, "%s%d%s", i % 7 ? "word" : "other", i * i % 31, i % 10 == 9 ? "\n" : " ");
    }
    fclose(f);
    pairs[0][0] = "data";
    pairs[0][1] = path;
    pairs[1][0] = "data_from_rank";
    pairs[1][1] = "0";
    memcpy(pairs + 2, more, 6 * sizeof *more);
}

START_TEST(data_are_sent_by_one_rank)
{
    char path[200];
    pair pairs[9];
    add_text(sent[_i], path, pairs);
    train_on(1, run_path, pairs, false, -1, ASC_OK);
    for (int size = 2; size <= 4; size *= 2) {
        job j = {.size = size, .path = other_path, .pairs = pairs, .others = nowhere, .stop_at = 4, .dies_at = -1};
        run_job(&j);
        ck_assert_msg(j.rank[0].status == ASC_ERR_INTERRUPTED, "%s", j.rank[0].message);
        train_on(4 / size, other_path, NULL, true, -1, ASC_OK);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
        remove_tree(other_path);
    }
}
END_TEST

/* What goes wrong where they are read, or with one that they are sent to, ends all. */
START_TEST(data_that_can_t_be_sent_end_the_job)
{
    static const pair missing[] = {{"data_from_rank", "0"}, {"data", "/nowhere/at/all"}, {NULL, NULL}};
    static const pair wrong_init[] = {{"init", "/nowhere/at/all"}, {NULL, NULL}};
    static const pair reads[] = {{"data_from_rank", "-1"}, {NULL, NULL}};
    static const pair sends[] = {{"data_from_rank", "0"}, {NULL, NULL}};
    static const struct {
        const pair *pairs, *others;
        const char *message;
    } cases[] = {{missing, NULL, "/nowhere/at/all"},
                 {sends, wrong_init, "rank 1: /nowhere/at/all"},
                 {sends, reads, "rank 1: its settings are not those of rank 0: data_from_rank is -1, expected 0"},
                 {reads, sends, "rank 1: its settings are not those of rank 0: data_from_rank is 0, expected -1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        job j = {.size = 2,
                 .path = run_path,
                 .pairs = cases[i].pairs,
                 .others = cases[i].others,
                 .stop_at = -1,
                 .dies_at = -1};
        run_job(&j);
        ck_assert_int_eq(j.rank[0].status, ASC_ERR_IO);
        ck_assert_msg(strncmp(j.rank[0].message, cases[i].message, strlen(cases[i].message)) == 0, "%s",
                      j.rank[0].message);
        ck_assert(!has_file(run_path, "config.json"));
    }
}
END_TEST

static const struct {
    int size;
    pair pairs[2], odd[2];
    asc_status status;
    const char *message;
} wrong[] = {
    {3, {{"seed", "1"}}, {{NULL}}, ASC_ERR_ARG, "shards is 4, expected a multiple of the 3 processes"},
    {2, {{"lr", "-5"}}, {{NULL}}, ASC_ERR_ARG, "lr"},
    {2, {{"seed", "1"}}, {{"data", "builtin:4000"}}, ASC_ERR_IO, "rank 1: its data or vocabulary are not those"},
    {2, {{"seed", "1"}}, {{"lr", "0.5"}}, ASC_ERR_IO, "rank 1: its settings are not those of rank 0"},
    {4, {{"seed", "1"}}, {{"data", "/nowhere/at/all"}}, ASC_ERR_IO, "rank 3: /nowhere/at/all"},
};

START_TEST(what_is_wrong_is_said_once)
{
    job j = {.size = wrong[_i].size, .path = run_path, .pairs = wrong[_i].pairs, .odd = wrong[_i].odd, .stop_at = -1,
             .dies_at = -1};
    run_job(&j);
    ck_assert_int_eq(j.rank[0].status, wrong[_i].status);
    ck_assert_msg(strstr(j.rank[0].message, wrong[_i].message), "%s", j.rank[0].message);
    ck_assert(!has_file(run_path, "config.json"));
}
END_TEST

/* An encoder is looked at before all else is read. */
START_TEST(a_damaged_encoder_of_one_rank_ends_the_job)
{
    char path[200];
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("{", f);
    fclose(f);
    const pair odd[] = {{"encoder", folder}, {NULL, NULL}};
    job j = {.size = 2, .path = run_path, .odd = odd, .stop_at = -1, .dies_at = -1};
    run_job(&j);
    ck_assert_int_eq(j.rank[0].status, ASC_ERR_FORMAT);
    ck_assert_msg(strncmp(j.rank[0].message, "rank 1: ", 8) == 0 && strstr(j.rank[0].message, path), "%s",
                  j.rank[0].message);
}
END_TEST

/* Whoever goes, and whenever: the others notice, and the run goes on to the same end. */
START_TEST(a_rank_that_goes_ends_the_job)
{
    static const pair every[] = {{"checkpoint_every", "1"}, {NULL, NULL}};
    train_on(1, run_path, every, false, -1, ASC_OK);
    job j = {.size = 4,
             .path = other_path,
             .pairs = every,
             .more = _i % 2 ? apart : NULL,
             .stop_at = -1,
             .dies_at = 12 + 9 * _i};
    run_job(&j);
    for (int i = 0; i < j.size; i++) {
        ck_assert_msg(j.rank[i].status == ASC_ERR_IO && j.rank[i].lost, "rank %d: %s", i, j.rank[i].message);
    }
    if (has_file(other_path, "config.json")) {
        train_on(2, other_path, NULL, true, -1, ASC_OK);
        check_same("metrics.jsonl");
        check_same("model.safetensors");
    }
}
END_TEST

START_TEST(a_communicator_is_checked)
{
    const asc_comm wrong_rank = {.rank = 2, .size = 2, .send = send_to, .receive = receive_from};
    ck_assert_int_eq(asc_set_comm(ctx, &wrong_rank), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "set_comm: rank 2 of 2");
    ck_assert_int_eq(asc_set_comm(ctx, &(asc_comm){.rank = 0, .size = 2, .send = send_to}), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "set_comm: send or receive is NULL");
    ck_assert_int_eq(asc_set_comm(ctx, NULL), ASC_OK);
    ck_assert(!asc_comm_lost(ctx) && !asc_mpi_launched());
    asc_mpi_close(NULL);
    asc_mpi_abort(NULL, 3);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("ranks");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, any_number_of_ranks_makes_the_same_run, 0, KINDS);
    tcase_add_loop_test(t, a_run_goes_on_with_other_ranks, 0, KINDS - 1);
    tcase_add_loop_test(t, a_divided_optimizer_makes_the_same_run, 0, DIVIDED);
    tcase_add_loop_test(t, data_are_sent_by_one_rank, 0, SENT);
    tcase_add_test(t, data_that_can_t_be_sent_end_the_job);
    tcase_add_loop_test(t, what_is_wrong_is_said_once, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, a_damaged_encoder_of_one_rank_ends_the_job);
    tcase_add_loop_test(t, a_rank_that_goes_ends_the_job, 0, 6);
    tcase_add_test(t, a_communicator_is_checked);
    return run_suite("train/ranks", t);
}
