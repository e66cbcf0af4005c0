/* tests/data/test_dataset.c: data sets, their splits, blocks and the order of an epoch. */
#include "tests/data/fixture.h"

#include <math.h>
#include <sys/stat.h>

static asc_split *load(const char *spec, asc_split_kind kind, const char *tokenizer_spec)
{
    asc_dataset *data = asc_dataset_open(ctx, spec);
    asc_tokenizer *tokenizer = asc_tokenizer_new(ctx, tokenizer_spec);
    asc_split *split = NULL;
    if (asc_dataset_collect(data, tokenizer) == ASC_OK) {
        split = asc_split_load_lines(data, kind, tokenizer);
    }
    asc_tokenizer_free(tokenizer);
    asc_dataset_free(data);
    return split;
}

static void check_split(const char *spec, asc_split_kind kind, const char *text)
{
    asc_split *split = load(spec, kind, "byte");
    ck_assert_msg(split != NULL, "%s", asc_error_message(ctx));
    size_t n = strlen(text);
    ck_assert_int_eq(split->n_tokens, (int64_t)n);
    ck_assert_int_eq(split->bytes, (int64_t)n);
    ck_assert_uint_eq(split->checksum, crc32(0, (const Bytef *)text, (uInt)n));
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(split->tokens[i], (unsigned char)text[i]);
    }
    asc_split_free(ctx, split);
}

START_TEST(a_file_is_cut_at_line_ends)
{
    char text[401] = ""; /* 40 lines of 10 bytes */
    for (int i = 0; i < 40; i++) {
        sprintf(text + 10 * i, "line %04d\n", i);
    }
    char train[401], valid[401], test[401];
    sprintf(train, "%.360s", text);
    sprintf(valid, "%.20s", text + 360);
    sprintf(test, "%.20s", text + 380);
    check_split(spill_text("text", text), ASC_SPLIT_TEST, test);
    check_split(path, ASC_SPLIT_TRAIN, train);
    check_split(path, ASC_SPLIT_VALID, valid);
    spill_gzip("text.gz", text, 400);
    check_split(path, ASC_SPLIT_VALID, valid);
    check_split(path, ASC_SPLIT_TEST, test);
    text[359] = text[379] = ' '; /* the lines across the cuts belong to where they start */
    sprintf(train, "%.370s", text);
    sprintf(valid, "%.20s", text + 370);
    sprintf(test, "%.10s", text + 390);
    check_split(spill_text("text", text), ASC_SPLIT_TRAIN, train);
    check_split(path, ASC_SPLIT_VALID, valid);
    check_split(path, ASC_SPLIT_TEST, test);
    memset(text, '\n', 399);
    sprintf(train, "%.360s", text);
    sprintf(valid, "%.20s", text);
    sprintf(test, "%.19s", text);
    check_split(spill("lines", text, 399), ASC_SPLIT_TRAIN, train); /* a tenth and a twentieth, rounded down */
    check_split(path, ASC_SPLIT_VALID, valid);
    check_split(path, ASC_SPLIT_TEST, test);
}
END_TEST

/* As text8 is one; and where a long line leaves one of the splits without the beginning of another. */
START_TEST(lines_too_long_for_the_splits_are_cut_between_words)
{
    char text[2001] = "";
    for (int i = 0; i < 200; i++) {
        sprintf(text + 10 * i, "number%03d ", i);
    }
    char train[2001], valid[2001], test[2001];
    sprintf(train, "%.1809s", text); /* up to the blank behind byte 1800 */
    sprintf(valid, "%.100s", text + 1809);
    sprintf(test, "%.91s", text + 1909);
    check_split(spill_text("one", text), ASC_SPLIT_TRAIN, train);
    check_split(path, ASC_SPLIT_VALID, valid);
    check_split(path, ASC_SPLIT_TEST, test);
    text[499] = text[1849] = '\n'; /* the second of three lines is of training and valid, the third of valid and test */
    check_split(spill_text("three", text), ASC_SPLIT_TRAIN, (train[499] = '\n', train));
    check_split(path, ASC_SPLIT_VALID, (valid[40] = '\n', valid));
    check_split(path, ASC_SPLIT_TEST, test);
    for (int i = 0; i < 1000; i++) { /* no blanks: é after é */
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    }
    text[1999] = 'a', text[1998] = 'a';
    sprintf(valid, "%.100s", text);
    check_split(spill_text("letters", text), ASC_SPLIT_VALID, valid);
}
END_TEST

START_TEST(a_folder_has_a_file_for_each_split)
{
    spill_text("wiki.train.tokens", "training\n");
    spill_gzip("wiki.train.tokens.gz", "not taken", 9);
    spill_text("trainer.txt", "not taken");
    spill_text(".train.txt", "not taken");
    check_split(folder, ASC_SPLIT_TRAIN, "training\n");
    asc_split *split = load(folder, ASC_SPLIT_VALID, "byte");
    ck_assert_ptr_null(split);
    expect_error_with(ASC_ERR_IO, "no file for the valid split, expected one like wiki.valid.tokens");
    static const char *const names[] = {"valid.txt.gz", "validation.gz", "wiki-val-raw.gz", "ptb_DEV.txt.gz"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        spill_gzip(names[i], "validating", 10);
        check_split(folder, ASC_SPLIT_VALID, "validating");
        remove(path);
    }
    mkdir(in_folder("test"), 0777);
    ck_assert_ptr_null(load(folder, ASC_SPLIT_TEST, "byte"));
    expect_error_with(ASC_ERR_IO, "no file for the test split");
    spill_text("a.test", "one");
    spill_text("b.test", "two");
    ck_assert_ptr_null(load(folder, ASC_SPLIT_TEST, "byte"));
    expect_error_with(ASC_ERR_IO, "both may be the test split");
}
END_TEST

START_TEST(names_what_is_no_data_set)
{
    static const char *const wrong[] = {
        "builtin:",    "builtin:x",      "builtin:-5",         "builtin:0",
        "builtin:10:", "builtin:10:1:2", "builtin:1000000001", "builtin:99999999999999999999",
        "builtin: 5",  "builtin:0.5",    "builtin:3q",         "builtin:3000:7:"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_ptr_null(asc_dataset_open(ctx, wrong[i]));
        expect_error_with(ASC_ERR_ARG, "expected builtin[:WORDS[:SEED]] with 1 … 1000000000 words");
    }
    ck_assert_ptr_null(asc_dataset_open(ctx, NULL));
    expect_error(ASC_ERR_ARG, "dataset_open: spec is NULL");
    ck_assert_ptr_null(asc_dataset_open(ctx, ""));
    expect_error_with(ASC_ERR_ARG, "nothing was given");
    ck_assert_ptr_null(asc_dataset_open(ctx, "/nonexistent/data"));
    expect_error_with(ASC_ERR_IO, "/nonexistent/data: can't open: No such file or directory; expected "
                                  "builtin[:WORDS[:SEED]], task:NAME[:KEY=VALUE,...], a .jsonl or .tsv "
                                  "file[:KEY=FIELD,...], a text file or a folder with train, valid and test files");
    ck_assert_ptr_null(asc_dataset_open(ctx, "bultin:20"));
    expect_error_with(ASC_ERR_IO, "did you mean 'builtin'?");
    ck_assert_ptr_null(asc_dataset_open(ctx, "/dev/null"));
    expect_error_with(ASC_ERR_IO, "neither a regular file nor a folder");
    ck_assert_ptr_null(load(spill_text("empty", ""), ASC_SPLIT_TRAIN, "byte"));
    expect_error_with(ASC_ERR_FORMAT, "the train split has 0 bytes and 0 tokens");
    ck_assert_ptr_null(load(path, ASC_SPLIT_TRAIN, "word"));
    expect_error_with(ASC_ERR_FORMAT, "the train split has no words");
    ck_assert_ptr_null(load(spill_text("one", "all of it in one line\n"), ASC_SPLIT_TEST, "word"));
    expect_error_with(ASC_ERR_FORMAT, "the test split has 1 bytes and 1 tokens, expected 2 or more");
    ck_assert_ptr_null(load(spill("binary", "a\n\xff\xfe\n", 5), ASC_SPLIT_TRAIN, "word"));
    expect_error_with(ASC_ERR_FORMAT, "line 2: byte 0xff at offset 2");
    asc_dataset *data = asc_dataset_open(ctx, in_folder("one"));
    asc_tokenizer *words = asc_tokenizer_new(ctx, "word");
    ck_assert_ptr_null(asc_split_load(data, ASC_SPLIT_TRAIN, words));
    expect_error_with(ASC_ERR_STATE, "has no words yet: collect them from the data first");
    ck_assert_ptr_null(asc_split_load(data, (asc_split_kind)3, words));
    expect_error_with(ASC_ERR_ARG, "split: 3");
    asc_tokenizer_free(words);
    asc_dataset_free(data);
}
END_TEST

START_TEST(the_builtin_corpus_knows_its_entropy)
{
    for (int kind = ASC_SPLIT_TRAIN; kind <= ASC_SPLIT_TEST; kind++) {
        asc_split *split = load("builtin:5000:3", (asc_split_kind)kind, "word");
        ck_assert_msg(split != NULL, "%s", asc_error_message(ctx));
        asc_split *again = load("builtin:5k:3", (asc_split_kind)kind, "byte");
        ck_assert_uint_eq(again->checksum, split->checksum);
        ck_assert_int_eq(again->n_tokens, split->bytes);
        asc_split *other = load("builtin:5000:4", (asc_split_kind)kind, "word");
        ck_assert_uint_ne(other->checksum, split->checksum);
        asc_dataset *data = asc_dataset_open(ctx, "builtin:5000:3");
        asc_tokenizer *bytes = asc_tokenizer_new(ctx, "byte");
        asc_entropy before, after; /* asked before the split is loaded, and after */
        ck_assert(asc_dataset_entropy(data, (asc_split_kind)kind, &before));
        asc_split_free(ctx, asc_split_load(data, (asc_split_kind)kind, bytes));
        ck_assert(asc_dataset_entropy(data, (asc_split_kind)kind, &after));
        ck_assert_int_eq(before.tokens, split->n_tokens - 1);
        ck_assert(before.nats > 0 && before.nats / (double)before.tokens < 10);
        ck_assert(after.nats == before.nats && after.tokens == before.tokens);
        asc_tokenizer_free(bytes);
        asc_dataset_free(data);
        asc_split_free(ctx, split);
        asc_split_free(ctx, again);
        asc_split_free(ctx, other);
    }
}
END_TEST

/* Line i is i % 4 words "word", and a newline. */
START_TEST(lines_are_pieces_of_the_text)
{
    char text[40 * 20] = "";
    for (int i = 0; i < 40; i++) {
        strcat(text, (const char *[]){"\n", "word\n", "word word\n", "word word word\n"}[i % 4]);
    }
    asc_dataset *data = asc_dataset_open(ctx, spill_text("text", text));
    asc_tokenizer *words = asc_tokenizer_new(ctx, "word");
    asc_dataset_collect(data, words);
    asc_split *plain = asc_split_load(data, ASC_SPLIT_TRAIN, words),
              *split = asc_split_load_lines(data, ASC_SPLIT_TRAIN, words);
    no_error();
    ck_assert(!plain->lines && plain->n_lines == 0);
    ck_assert_int_eq(split->n_tokens, plain->n_tokens);
    ck_assert_mem_eq(split->tokens, plain->tokens, (size_t)plain->n_tokens * sizeof *plain->tokens);
    ck_assert_int_eq(split->n_lines, 36);
    int64_t tokens = 0, bytes = 0;
    for (int i = 0; i < 36; i++) {
        ck_assert_int_eq(split->lines[i].tokens, i % 4 + 1); /* and <eos> */
        ck_assert_int_eq(split->lines[i].bytes, i % 4 == 0 ? 1 : 5 * (i % 4));
        tokens += split->lines[i].tokens;
        bytes += split->lines[i].bytes;
    }
    ck_assert_int_eq(tokens, split->n_tokens);
    ck_assert_int_eq(bytes, split->bytes);
    asc_split_free(ctx, plain);
    asc_split_free(ctx, split);
    asc_tokenizer_free(words);
    asc_dataset_free(data);
}
END_TEST

START_TEST(a_text_does_not_know_its_entropy)
{
    asc_dataset *data = asc_dataset_open(ctx, spill_text("text", "a\nb\n"));
    asc_entropy e;
    ck_assert(!asc_dataset_entropy(data, ASC_SPLIT_TRAIN, &e));
    ck_assert(isnan(e.nats) && e.tokens == 0);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    asc_dataset_free(data);
    ck_assert(!asc_dataset_entropy(NULL, ASC_SPLIT_TRAIN, &e));
    data = asc_dataset_open(ctx, "builtin:2000");
    ck_assert(!asc_dataset_entropy(data, (asc_split_kind)3, &e));
    asc_dataset_free(data);
}
END_TEST

START_TEST(wikitext_2_has_its_tokens)
{
    const char *vocabulary = data_file("bert-uncased/vocab.txt");
    char spec[1100];
    snprintf(spec, sizeof spec, "wordpiece:%s", vocabulary ? vocabulary : "");
    const char *wikitext = data_file("wikitext-2");
    if (!vocabulary || !wikitext) {
        return;
    }
    static const struct {
        int64_t words, pieces, bytes;
    } sizes[] = {{2088628, 2228766, 10797148}, {217646, 225018, 1121681}, {245569, 253653, 1256449}};
    asc_dataset *data = asc_dataset_open(ctx, wikitext);
    asc_tokenizer *words = asc_tokenizer_new(ctx, "word"), *pieces = asc_tokenizer_new(ctx, spec);
    ck_assert_int_eq(asc_dataset_collect(data, words), ASC_OK);
    ck_assert_int_eq(asc_tokenizer_size(words), 33278);
    for (int kind = ASC_SPLIT_TRAIN; kind <= ASC_SPLIT_TEST; kind++) {
        asc_split *in_words = asc_split_load(data, (asc_split_kind)kind, words);
        asc_split *in_pieces = asc_split_load(data, (asc_split_kind)kind, pieces);
        ck_assert_msg(in_words && in_pieces, "%s", asc_error_message(ctx));
        ck_assert_int_eq(in_words->n_tokens, sizes[kind].words);
        ck_assert_int_eq(in_pieces->n_tokens, sizes[kind].pieces);
        ck_assert_int_eq(in_words->bytes, sizes[kind].bytes);
        asc_split_free(ctx, in_words);
        asc_split_free(ctx, in_pieces);
    }
    asc_tokenizer_free(words);
    asc_tokenizer_free(pieces);
    asc_dataset_free(data);
}
END_TEST

/* ---- blocks ---- */

START_TEST(blocks_cover_every_token_but_the_first_once)
{
    for (int64_t n = 0; n < 40; n++) {
        for (int64_t length = 1; length < 12; length++) {
            int64_t full = asc_block_count(n, length, false), all = asc_block_count(n, length, true), covered = 0;
            for (int64_t i = 0; i < all; i++) {
                ck_assert_int_eq(asc_block_length(n, length, i) == length, i < full);
                ck_assert_int_gt(asc_block_length(n, length, i), 0);
                covered += asc_block_length(n, length, i);
            }
            ck_assert_int_eq(covered, n > 1 ? n - 1 : 0);
            ck_assert_int_le(all - full, 1);
            ck_assert_int_eq(asc_block_length(n, length, all), 0);
            ck_assert_int_eq(asc_block_length(n, length, -1), 0);
        }
    }
    ck_assert_int_eq(asc_block_count(100, 0, true), 0);
}
END_TEST

START_TEST(blocks_hold_inputs_and_targets_one_later)
{
    int32_t tokens[12];
    for (int i = 0; i < 12; i++) {
        tokens[i] = 100 + i;
    }
    asc_split split = {.tokens = tokens, .n_tokens = 12};
    int64_t inputs[8], targets[8];
    ck_assert_int_eq(asc_block_fill(ctx, &split, 4, (const int32_t[]){1, 0}, 2, inputs, targets), ASC_OK);
    for (int t = 0; t < 4; t++) {
        ck_assert_int_eq(inputs[t], 104 + t);
        ck_assert_int_eq(targets[t], 105 + t);
        ck_assert_int_eq(inputs[4 + t], 100 + t);
        ck_assert_int_eq(targets[4 + t], 101 + t);
    }
    ck_assert_int_eq(asc_block_fill(ctx, &split, 4, (const int32_t[]){2}, 1, inputs, targets), ASC_OK);
    ck_assert_int_eq(inputs[2], 110);
    ck_assert_int_eq(targets[2], 111);
    ck_assert_int_eq(asc_block_fill(ctx, &split, 4, (const int32_t[]){0, 2}, 2, inputs, targets), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "block 2 has 3 inputs, expected 4");
    ck_assert_int_eq(asc_block_fill(ctx, &split, 4, (const int32_t[]){3}, 1, inputs, targets), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "block 3 has 0 inputs");
    ck_assert_int_eq(asc_block_fill(ctx, &split, 4, (const int32_t[]){-1}, 1, inputs, targets), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "block -1");
    ck_assert_int_eq(asc_block_fill(ctx, &split, 4, NULL, 0, NULL, NULL), ASC_OK);
}
END_TEST

START_TEST(streams_go_on_step_after_step)
{
    static const int32_t expected[] = {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11};
    int32_t order[12];
    ck_assert_int_eq(asc_block_streams(ctx, 12, 3, order), ASC_OK);
    ck_assert_mem_eq(order, expected, sizeof order);
    ck_assert_int_eq(asc_block_streams(ctx, 12, 5, order), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "block streams: 12 blocks for 5 rows, expected a multiple of them up to 2147483647");
}
END_TEST

START_TEST(an_epochs_order_depends_on_seed_and_epoch_alone)
{
    enum { N = 1000 };
    int32_t a[N], b[N];
    bool seen[N] = {false};
    ck_assert_int_eq(asc_block_order(ctx, N, 5, 2, a), ASC_OK);
    ck_assert_int_eq(asc_block_order(ctx, N, 5, 2, b), ASC_OK);
    ck_assert_mem_eq(a, b, sizeof a);
    for (int i = 0; i < N; i++) {
        ck_assert(a[i] >= 0 && a[i] < N && !seen[a[i]]);
        seen[a[i]] = true;
    }
    static const uint64_t others[][2] = {{5, 3}, {6, 2}, {UINT64_C(5) << 32 | 5, 2}, {5, UINT64_C(1) << 32 | 2}};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        ck_assert_int_eq(asc_block_order(ctx, N, others[k][0], others[k][1], b), ASC_OK);
        int same = 0;
        for (int i = 0; i < N; i++) {
            same += a[i] == b[i];
        }
        ck_assert_int_lt(same, 20);
    }
    ck_assert_int_eq(asc_block_order(ctx, 0, 0, 0, NULL), ASC_OK);
    ck_assert_int_eq(asc_block_order(ctx, -1, 0, 0, a), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "-1 blocks");
    ck_assert_int_eq(asc_block_order(ctx, INT64_C(1) << 31, 0, 0, a), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "2147483648 blocks");
}
END_TEST

/* Every permutation of 4 is as likely: chi-squared with 23 degrees of freedom, below 49.7 at 0.1 %. */
START_TEST(an_epochs_order_is_uniform)
{
    enum { EPOCHS = 24000 };
    int counts[256] = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int32_t p[4];
        asc_block_order(ctx, 4, 1, epoch, p);
        counts[p[0] * 64 + p[1] * 16 + p[2] * 4 + p[3]]++;
    }
    double chi = 0;
    int kinds = 0;
    for (int i = 0; i < 256; i++) {
        double off = counts[i] - EPOCHS / 24.0;
        kinds += counts[i] > 0;
        chi += counts[i] ? off * off / (EPOCHS / 24.0) : 0;
    }
    ck_assert_int_eq(kinds, 24);
    ck_assert_double_lt(chi, 49.7);
}
END_TEST

static asc_split *make_split(void)
{
    return load(folder, ASC_SPLIT_TRAIN, "word");
}

START_TEST(survives_failed_allocations)
{
    spill_text("train.txt", "a b c\nd e\n");
    fail_each_allocation_of(make_split);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_file_is_cut_at_line_ends);
    tcase_add_test(all, lines_too_long_for_the_splits_are_cut_between_words);
    tcase_add_test(all, a_folder_has_a_file_for_each_split);
    tcase_add_test(all, names_what_is_no_data_set);
    tcase_add_test(all, the_builtin_corpus_knows_its_entropy);
    tcase_add_test(all, lines_are_pieces_of_the_text);
    tcase_add_test(all, a_text_does_not_know_its_entropy);
    tcase_add_test(all, wikitext_2_has_its_tokens);
    tcase_add_test(all, blocks_cover_every_token_but_the_first_once);
    tcase_add_test(all, blocks_hold_inputs_and_targets_one_later);
    tcase_add_test(all, streams_go_on_step_after_step);
    tcase_add_test(all, an_epochs_order_depends_on_seed_and_epoch_alone);
    tcase_add_test(all, an_epochs_order_is_uniform);
    tcase_add_test(all, survives_failed_allocations);
    return run_data_suite("data/dataset", all);
}
