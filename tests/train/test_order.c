/* tests/train/test_order.c: the order of an epoch: with group_by_length batches of like length, each block once,
 * another order in each epoch. */
#include "tests/train/runs.h"
#include "train/trainer.h"

enum { SEQUENCES = 103, BATCH = 4, BLOCK = 20, LENGTHS = 7 };

static asc_trainer trainer;
static asc_tokenizer *bytes;

/* Records of one to LENGTHS letters. */
static const char *write_records(void)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/records.tsv", folder);
    FILE *file = fopen(path, "w");
    ck_assert(file && fputs("sentence\tlabel\n", file) >= 0);
    for (int i = 0; i < SEQUENCES; i++) {
        for (int n = 0; n <= i * 5 % LENGTHS; n++) {
            fputc('w', file);
        }
        fprintf(file, "\t%d\n", i % 2);
    }
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static void open_trainer(bool group)
{
    char data[700];
    const char *path = write_records();
    asc_settings *s = asc_settings_new(ctx);
    snprintf(data, sizeof data, "%s:valid=%s", path, path);
    trainer = (asc_trainer){.ctx = ctx, .settings = s, .stepper.block = BLOCK, .data = asc_dataset_open(ctx, data)};
    bytes = asc_tokenizer_new(ctx, "byte");
    trainer.train = asc_split_load(trainer.data, ASC_SPLIT_TRAIN, bytes);
    trainer.lm = asc_lm_new(ctx,
                            "{\"head\": \"classifier\", \"classes\": 2, \"vocab\": 257, \"mix\": \"transformer\", "
                            "\"heads\": 1, \"mask\": \"full\", \"d_model\": 4, \"layers\": 1, \"block\": 20}",
                            ASC_F32, 1);
    trainer.order = asc_alloc(ctx, SEQUENCES * sizeof *trainer.order);
    ck_assert_msg(trainer.lm && trainer.train && trainer.order, "%s", asc_error_message(ctx));
    ck_assert_int_eq(trainer.train->n_sequences, SEQUENCES);
    ck_assert_int_eq(asc_settings_set(s, "batch", "4"), ASC_OK);
    ck_assert_int_eq(asc_settings_set(s, "group-by-length", group ? "true" : "false"), ASC_OK);
}

static void close_trainer(void)
{
    asc_free(ctx, trainer.order, SEQUENCES * sizeof *trainer.order);
    asc_lm_free(trainer.lm);
    asc_split_free(ctx, trainer.train);
    asc_tokenizer_free(bytes);
    asc_dataset_free(trainer.data);
    asc_settings_free((asc_settings *)trainer.settings);
}

/* Rows of padding in the batches of an epoch, in which each sequence stands once. */
static int64_t padding_of(int64_t epoch)
{
    bool seen[SEQUENCES] = {false};
    int64_t rows = 0, needed = 0;
    ck_assert_int_eq(asc_trainer_order(&trainer, SEQUENCES, epoch), ASC_OK);
    for (int64_t i = 0; i < SEQUENCES; i++) {
        ck_assert(trainer.order[i] >= 0 && trainer.order[i] < SEQUENCES && !seen[trainer.order[i]]);
        seen[trainer.order[i]] = true;
        needed += asc_trainer_width(&trainer, trainer.train, trainer.order + i, 1);
    }
    for (int64_t i = 0; i < SEQUENCES; i += BATCH) {
        int64_t n = i + BATCH > SEQUENCES ? SEQUENCES - i : BATCH;
        rows += n * asc_trainer_width(&trainer, trainer.train, trainer.order + i, n);
    }
    return rows - needed;
}

START_TEST(batches_are_of_like_length)
{
    int32_t first[SEQUENCES];
    open_trainer(true);
    ck_assert_int_le(padding_of(0), (LENGTHS - 1) * (BATCH - 1));
    memcpy(first, trainer.order, sizeof first);
    ck_assert_int_le(padding_of(1), (LENGTHS - 1) * (BATCH - 1));
    ck_assert_mem_ne(first, trainer.order, sizeof first);
    padding_of(0);
    ck_assert_mem_eq(first, trainer.order, sizeof first);
    int64_t falls = 0; /* not from the short ones to the long ones */
    for (int64_t i = BATCH; i + BATCH < SEQUENCES; i += BATCH) {
        falls += asc_trainer_width(&trainer, trainer.train, first + i, BATCH) <
                 asc_trainer_width(&trainer, trainer.train, first + i - BATCH, BATCH);
    }
    ck_assert_int_gt(falls, 3);
    close_trainer();
}
END_TEST

START_TEST(without_it_they_are_not)
{
    int32_t random[SEQUENCES];
    open_trainer(false);
    ck_assert_int_gt(padding_of(0), 3 * (LENGTHS - 1) * (BATCH - 1));
    ck_assert_int_eq(asc_block_order(ctx, SEQUENCES, 1, 0, random), ASC_OK);
    ck_assert_mem_eq(random, trainer.order, sizeof random);
    close_trainer();
}
END_TEST

START_TEST(memory_may_fail)
{
    open_trainer(true);
    for (int64_t i = 0; i < 2; i++) {
        memory.fail_at = memory.calls + i;
        ck_assert_int_eq(asc_trainer_order(&trainer, SEQUENCES, 0), ASC_ERR_MEMORY);
        memory.fail_at = NEVER;
        asc_error_clear(ctx);
    }
    close_trainer();
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("order");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_test(t, batches_are_of_like_length);
    tcase_add_test(t, without_it_they_are_not);
    tcase_add_test(t, memory_may_fail);
    return run_suite("train/order", t);
}
