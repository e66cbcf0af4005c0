/* tests/train/test_corpus.c: a tokenizer and data sources of a user's own, registered, listed, and trained with. */
#include <ascgrad/corpus.h>
#include <program/settings.h>

#include "tests/faults.h"
#include "tests/train/runs.h"

/* What there is without a tokenizer of ours. */
#define TOKENIZERS "word, byte, wordpiece:VOCAB_FILE, wordpiece-cased:VOCAB_FILE"
#define BPE        "bpe:TOKENIZER_JSON"

/* ---- a tokenizer: a token is a letter; which there are is learned, and saved as one line ---- */

typedef struct letters {
    char *note; /* memory of its own, which `clear` gives back */
    bool upper;
} letters;

enum { NOTE_BYTES = 100 };

static asc_status letters_make(asc_tokenizer *t, const char *argument)
{
    letters *l = t->self;
    l->note = asc_alloc(t->ctx, NOTE_BYTES);
    if (argument && strcmp(argument, "upper") != 0) {
        return asc_fail(t->ctx, ASC_ERR_ARG, "letters: got '%s', expected upper", argument);
    }
    l->upper = argument;
    t->eos = asc_vocabulary_add(t, "\n", 1);
    return l->note && t->eos >= 0 ? ASC_OK : ASC_ERR_MEMORY;
}

static asc_status letters_collect(asc_tokenizer *t, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (asc_vocabulary_add(t, text + i, 1) < 0) {
            return ASC_ERR_MEMORY;
        }
    }
    return ASC_OK;
}

static asc_status letters_save(const asc_tokenizer *t, asc_sink *sink)
{
    for (int32_t id = 1; id < asc_tokenizer_size(t); id++) {
        size_t n;
        const char *piece = asc_tokenizer_piece(t, id, &n);
        if (asc_sink_put(sink, piece, n)) {
            return ASC_ERR_MEMORY;
        }
    }
    return ASC_OK;
}

static asc_status letters_load(asc_tokenizer *t, asc_text *text, const char *name)
{
    const char *line;
    size_t n;
    if (letters_make(t, NULL) || asc_text_next(text, &line, &n)) {
        return asc_error(t->ctx);
    }
    return line ? letters_collect(t, line, n) : asc_fail(t->ctx, ASC_ERR_FORMAT, "%s: has no letters", name);
}

static asc_status letters_encode(const asc_tokenizer *t, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    (void)flags;
    asc_status status = ASC_OK;
    for (size_t i = 0; i < bytes && !status; i++) {
        int32_t id = asc_vocabulary_find(t, text + i, 1);
        status = id < 0 ? asc_fail(t->ctx, ASC_ERR_FORMAT, "letters: '%c' was not in the training split", text[i])
                        : asc_ids_push(t->ctx, ids, id);
    }
    return status;
}

static asc_status letters_decode(asc_decoder *d, int32_t id, const char *piece, size_t bytes)
{
    (void)id;
    bool *started = d->self;
    asc_status status = *started ? asc_decoder_put(d, "................", 16) : ASC_OK; /* more than a piece is long */
    *started = true;
    return status ? status : asc_decoder_put(d, piece, bytes);
}

static void letters_clear(asc_tokenizer *t)
{
    asc_free(t->ctx, ((letters *)t->self)->note, NOTE_BYTES);
}

static const asc_tokenizer_kind letters_kind = {
    .abi = ASC_CORPUS_ABI, .name = "letters", .argument = "[upper]", .has_vocabulary = true, .size = sizeof(letters),
    .decoder_size = sizeof(bool), .make = letters_make, .load = letters_load, .encode = letters_encode,
    .decode = letters_decode, .save = letters_save, .collect = letters_collect, .clear = letters_clear,
};

/* ---- a source: sequences to copy, "abca|" and then "abca", which alone is to be learned ---- */

enum { LETTERS = 4, LINE = 2 * LETTERS + 2 };

typedef struct copies {
    int64_t lines;
} copies;

typedef struct copies_reader {
    int64_t piece;
    char text[LETTERS + 2];
} copies_reader;

static asc_status copies_open(asc_dataset *data, const char *argument)
{
    copies *c = data->self;
    c->lines = argument ? atoi(argument) : 0;
    return c->lines > 0 ? ASC_OK : asc_fail(data->ctx, ASC_ERR_ARG, "%s: expected copies:LINES", data->spec);
}

static asc_status copies_begin(asc_source_reader *r)
{
    ((copies_reader *)r->self)->piece = 0;
    return ASC_OK;
}

static asc_status copies_next(asc_source_reader *r, asc_text_piece *piece)
{
    copies_reader *c = r->self;
    int64_t line = c->piece / 2;
    if (line == ((copies *)r->data->self)->lines) {
        return ASC_OK;
    }
    for (int i = 0; i < LETTERS; i++) {
        c->text[i] = (char)('a' + (line * 7 + (line / 3) * i + r->split) % 3);
    }
    c->text[LETTERS] = c->piece % 2 ? '\n' : '|';
    *piece = (asc_text_piece){.text = c->text, .bytes = LETTERS + 1, .given = c->piece % 2 == 0};
    c->piece++;
    return ASC_OK;
}

/* Every letter of a question with its chance of a third, as far as this test goes. */
static asc_status copies_entropy(asc_dataset *data, asc_split_kind split, asc_entropy *e)
{
    (void)split;
    int64_t lines = ((copies *)data->self)->lines;
    *e = (asc_entropy){(double)lines * log(3), lines};
    return ASC_OK;
}

static const asc_data_source copies_source = {
    .abi = ASC_CORPUS_ABI, .name = "copies", .spec = "copies:LINES", .size = sizeof(copies),
    .reader_size = sizeof(copies_reader), .open = copies_open, .begin = copies_begin, .next = copies_next,
    .entropy = copies_entropy,
};

/* ---- a source by the look of a file: the second column of a table, all of it in every split ---- */

static bool table_takes(const char *spec)
{
    size_t n = strlen(spec);
    return n > 4 && strcmp(spec + n - 4, ".tsv") == 0;
}

static asc_status table_begin(asc_source_reader *r)
{
    asc_text **text = r->self;
    *text = asc_text_open(r->data->ctx, r->data->spec, 0);
    return *text ? ASC_OK : asc_error(r->data->ctx);
}

static asc_status table_next(asc_source_reader *r, asc_text_piece *piece)
{
    asc_status status = asc_text_next(*(asc_text **)r->self, &piece->text, &piece->bytes);
    const char *tab = piece->text ? memchr(piece->text, '\t', piece->bytes) : NULL;
    if (tab) {
        piece->bytes -= (size_t)(tab + 1 - piece->text);
        piece->text = tab + 1;
    }
    return status;
}

static void table_end(asc_source_reader *r)
{
    asc_text_close(*(asc_text **)r->self);
}

static const asc_data_source table_source = {
    .abi = ASC_CORPUS_ABI, .name = "table", .spec = "a table FILE.tsv", .is_path = true,
    .reader_size = sizeof(asc_text *), .takes = table_takes, .begin = table_begin, .next = table_next, .end = table_end,
};

static void register_all(void)
{
    ck_assert_int_eq(asc_tokenizer_register(ctx, &letters_kind), ASC_OK);
    ck_assert_int_eq(asc_data_source_register(ctx, &copies_source), ASC_OK);
    ck_assert_int_eq(asc_data_source_register(ctx, &table_source), ASC_OK);
}

/* ---- what there is ---- */

START_TEST(lists_have_what_is_registered)
{
    char text[200];
    ck_assert_str_eq(asc_tokenizer_list(ctx, text, sizeof text), TOKENIZERS " or " BPE);
    register_all();
    ck_assert_str_eq(asc_tokenizer_list(ctx, text, sizeof text), TOKENIZERS ", " BPE " or letters[:upper]");
    ck_assert_str_eq(asc_tokenizer_list(NULL, text, sizeof text), TOKENIZERS " or " BPE);
    ck_assert_str_eq(asc_tokenizer_list(ctx, text, 12), "word, byte,");
    ck_assert_ptr_eq(asc_tokenizer_kind_find(ctx, "letters:upper"), &letters_kind);
    ck_assert_ptr_null(asc_tokenizer_kind_find(ctx, "letter"));
    ck_assert_ptr_null(asc_tokenizer_kind_find(NULL, "letters"));
    ck_assert_ptr_null(asc_tokenizer_new(ctx, "leters"));
    expect_error(ASC_ERR_ARG, "tokenizer: got 'leters', expected " TOKENIZERS ", " BPE " or letters[:upper]; "
                 "did you mean 'letters'?");
    ck_assert_ptr_null(asc_dataset_open(ctx, "copy:3"));
    expect_error_with(ASC_ERR_IO, "files, copies:LINES or a table FILE.tsv");
    ck_assert_ptr_null(asc_dataset_open(ctx, "copie:3"));
    expect_error_with(ASC_ERR_IO, "did you mean 'copies'?");
    ck_assert_ptr_null(asc_dataset_open(ctx, "copies"));
    expect_error_with(ASC_ERR_ARG, "expected copies:LINES");
    ck_assert_ptr_null(asc_tokenizer_new(ctx, "letters:lower"));
    expect_error_with(ASC_ERR_ARG, "letters: got 'lower'");
}
END_TEST

START_TEST(what_is_not_whole_is_refused)
{
    asc_tokenizer_kind kind = letters_kind;
    asc_data_source source = copies_source;
    register_all();
    asc_tokenizer_register(ctx, &kind);
    expect_error_with(ASC_ERR_ARG, "letters: there is a tokenizer of this name");
    asc_data_source_register(ctx, &source);
    expect_error_with(ASC_ERR_ARG, "copies: there is a data source of this name");
    kind.name = "numbers";
    kind.has_vocabulary = false;
    asc_tokenizer_register(ctx, &kind);
    expect_error_with(ASC_ERR_ARG, "numbers has an argument, [upper], and no vocabulary");
    kind.has_vocabulary = true;
    kind.name = "a:b";
    asc_tokenizer_register(ctx, &kind);
    expect_error_with(ASC_ERR_ARG, "tokenizer_register: the name is 'a:b', expected one without a colon");
    source.name = NULL;
    asc_data_source_register(ctx, &source);
    expect_error_with(ASC_ERR_ARG, "data_source_register: the name is ''");
    kind.load = NULL;
    asc_tokenizer_register(ctx, &kind);
    expect_error_with(ASC_ERR_ARG, "load with has_vocabulary");
    source.next = NULL;
    asc_data_source_register(ctx, &source);
    expect_error_with(ASC_ERR_ARG, "spec, begin and next are needed");
    kind.abi = source.abi = 99;
    asc_tokenizer_register(ctx, &kind);
    expect_error_with(ASC_ERR_ARG, "has ABI 99, expected 2");
    asc_data_source_register(ctx, &source);
    expect_error_with(ASC_ERR_ARG, "has ABI 99, expected 2");
    asc_tokenizer_register(ctx, NULL);
    expect_error_with(ASC_ERR_ARG, "kind is NULL");
    asc_data_source_register(ctx, NULL);
    expect_error_with(ASC_ERR_ARG, "source is NULL");
}
END_TEST

/* ---- splits ---- */

/* In blocks of L = LINE every answer and its end are targets, and no question. */
START_TEST(given_tokens_are_no_targets)
{
    register_all();
    asc_dataset *data = asc_dataset_open(ctx, "copies:6");
    asc_tokenizer *t = asc_tokenizer_new(ctx, "letters");
    ck_assert_int_eq(asc_dataset_collect(data, t), ASC_OK);
    asc_split *split = asc_split_load(data, ASC_SPLIT_TRAIN, t);
    ck_assert_msg(split != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(split->n_tokens, 6 * LINE);
    int64_t x[2 * LINE], y[2 * LINE];
    ck_assert_int_eq(asc_block_fill(ctx, split, LINE, (const int32_t[]){1, 3}, 2, x, y), ASC_OK);
    ck_assert_int_eq(asc_block_targets(split, LINE, (const int32_t[]){1, 3}, 2), LINE);
    ck_assert_int_eq(asc_block_targets(split, LINE, (const int32_t[]){5}, 1), LETTERS + 1); /* the last, shorter one */
    for (int i = 0; i < 2 * LINE; i++) {
        bool answer = i % LINE >= LETTERS && i % LINE < LINE - 1;
        ck_assert_int_eq(y[i], answer ? x[i + 1] : -1);
        ck_assert(!answer || i % LINE == LINE - 2 || y[i] == x[i - LETTERS]); /* what is to be copied */
    }
    asc_split_free(ctx, split);
    asc_tokenizer_free(t);
    asc_dataset_free(data);
}
END_TEST

/* From their registration to a split and a saved vocabulary. */
static double live_with_them(void)
{
    if (!asc_tokenizer_kind_find(ctx, "letters")) {
        asc_tokenizer_register(ctx, &letters_kind);
    }
    if (!asc_data_source_find(ctx, "copies:1")) {
        asc_data_source_register(ctx, &copies_source);
    }
    asc_dataset *data = asc_error(ctx) ? NULL : asc_dataset_open(ctx, "copies:40");
    asc_tokenizer *t = data ? asc_tokenizer_new(ctx, "letters") : NULL;
    asc_split *split = t && asc_dataset_collect(data, t) == ASC_OK ? asc_split_load(data, ASC_SPLIT_TRAIN, t) : NULL;
    size_t bytes, capacity;
    char *text = split ? asc_tokenizer_text(t, &bytes, &capacity) : NULL;
    double value = NAN;
    if (text) {
        asc_tokenizer *again = asc_tokenizer_parse(ctx, "letters", "memory", text, bytes);
        value = (double)(asc_tokenizer_size(again) + 100 * split->n_tokens + 10 * (split->given[0] - split->given[5]));
        asc_tokenizer_free(again);
        asc_free(ctx, text, capacity);
    }
    asc_split_free(ctx, split);
    asc_tokenizer_free(t);
    asc_dataset_free(data);
    return value;
}

START_TEST(each_allocation_may_fail)
{
    ck_assert_int_gt(fail_each_allocation(live_with_them, false), 20);
    ck_assert_int_gt(fail_each_allocation(live_with_them, true), 20);
}
END_TEST

static asc_status given_next(asc_source_reader *r, asc_text_piece *piece)
{
    asc_status status = copies_next(r, piece);
    piece->given = true;
    return status;
}

START_TEST(something_must_be_left_to_predict)
{
    asc_data_source given = copies_source;
    given.name = "given";
    given.next = given_next;
    ck_assert_int_eq(asc_data_source_register(ctx, &given), ASC_OK);
    asc_dataset *data = asc_dataset_open(ctx, "given:2");
    asc_tokenizer *t = asc_tokenizer_new(ctx, "byte");
    ck_assert_ptr_null(asc_split_load(data, ASC_SPLIT_VALID, t));
    expect_error(ASC_ERR_FORMAT, "given:2: in the valid split all tokens are given, expected some to predict");
    asc_tokenizer_free(t);
    asc_dataset_free(data);
}
END_TEST

START_TEST(a_table_is_known_by_its_name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/some.tsv", folder);
    FILE *f = fopen(path, "w");
    fputs("1\tab\n2\tc\n", f);
    fclose(f);
    register_all();
    asc_dataset *data = asc_dataset_open(ctx, path);
    asc_tokenizer *t = asc_tokenizer_new(ctx, "byte");
    asc_split *split = asc_split_load(data, ASC_SPLIT_TEST, t);
    ck_assert_msg(split != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(split->bytes, 5);
    ck_assert_int_eq(split->tokens[3], 'c');
    ck_assert_ptr_null(split->given);
    asc_split_free(ctx, split);
    asc_tokenizer_free(t);
    asc_dataset_free(data);
}
END_TEST

/* ---- training ---- */

static asc_settings *settings_of(const char *steps)
{
    const char *const pairs[][2] = {
        {"model", "transformer"}, {"data", "copies:200"}, {"tokenizer", "letters"}, {"layers", "1"}, {"dim", "16"},
        {"heads", "2"},           {"block", "20"},        {"batch", "3"},           {"steps", steps}, {"warmup", "4"},
        {"log_every", "1"},       {"eval_every", "20"},   {"lr", "0.01"},           {"accumulate", "2"},
        {"schedule_steps", "60"}, {"checkpoint_every", "20"}};
    asc_settings *s = asc_settings_new(ctx);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ck_assert_msg(asc_settings_set(s, pairs[i][0], pairs[i][1]) == ASC_OK, "%s", asc_error_message(ctx));
    }
    return s;
}

static asc_train_result train_run(const char *path, const char *steps, bool resume)
{
    asc_settings *s = settings_of(steps);
    asc_train_result r = {0};
    if (resume) {
        ck_assert_msg(asc_settings_resume(s, path) == ASC_OK, "%s", asc_error_message(ctx));
    }
    ck_assert_msg(asc_train(ctx, s, path, resume, NULL, &r) == ASC_OK, "%s", asc_error_message(ctx));
    asc_settings_free(s);
    return r;
}

static asc_status count_scored(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        *(int64_t *)user += ids[i] >= 0;
        ck_assert(ids[i] >= 0 || losses[i] == 0);
    }
    return ASC_OK;
}

START_TEST(a_model_learns_with_them)
{
    register_all();
    asc_train_result r = train_run(run_path, "60", false);
    ck_assert_double_eq_tol(r.source_ppl, 3, 1e-12);
    asc_model *m = asc_model_open(ctx, run_path, NULL, NULL);
    ck_assert_msg(m != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(asc_tokenizer_size(m->tokenizer), 5);
    asc_dataset *data = asc_dataset_open(ctx, m->data);
    asc_split *valid = asc_split_load(data, ASC_SPLIT_VALID, m->tokenizer);
    int64_t scored = 0;
    asc_eval_result result;
    asc_eval_options o = {.batch = m->batch, .tokens = count_scored, .user = &scored};
    ck_assert_int_eq(asc_evaluate(ctx, m->lm, valid, &o, &result), ASC_OK);
    ck_assert_int_eq(result.tokens, 200 * (LETTERS + 1)); /* the answers */
    ck_assert_int_eq(scored, result.tokens);
    ck_assert_double_eq_tol(result.loss, r.best_loss, 1e-12);
    ck_assert_msg(result.loss < .9 * log(5), "%g", result.loss);
    asc_decoder *d = asc_decoder_new(m->tokenizer);
    size_t n;
    ck_assert_mem_eq(asc_decoder_next(d, 1, &n), asc_tokenizer_piece(m->tokenizer, 1, &(size_t){0}), 1);
    ck_assert_uint_eq(n, 1);
    asc_decoder_next(d, 2, &n);
    ck_assert_uint_eq(n, 17);
    asc_decoder_end(d, &n);
    asc_decoder_next(d, 2, &n);
    ck_assert_uint_eq(n, 1); /* its state starts anew */
    asc_decoder_free(d);
    asc_split_free(ctx, valid);
    asc_dataset_free(data);
    asc_model_free(ctx, m);
}
END_TEST

START_TEST(a_run_goes_on_with_them)
{
    register_all();
    train_run(run_path, "60", false);
    train_run(other_path, "20", false);
    train_run(other_path, "60", true);
    check_same("model.safetensors");
    check_same("vocab.txt");
    asc_ctx *registered = ctx;
    ctx = context_on(&memory, 1); /* one that knows nothing of them */
    ck_assert_ptr_null(asc_model_open(ctx, run_path, NULL, NULL));
    expect_error_with(ASC_ERR_FORMAT, "got 'letters', expected " TOKENIZERS " or " BPE);
    asc_ctx_free(ctx);
    ctx = registered;
}
END_TEST

/* Two blocks, of which one has more targets, together or one after the other: the same mean over all of them. */
START_TEST(a_batchs_weight_is_its_targets)
{
    static const char *const keys[] = {"loss", "grad_norm"};
    register_all();
    for (int accumulated = 0; accumulated < 2; accumulated++) {
        asc_settings *s = settings_of("1");
        asc_settings_set(s, "batch", accumulated ? "1" : "2");
        asc_settings_set(s, "accumulate", accumulated ? "2" : "1");
        asc_settings_set(s, "block", "7"); /* cuts questions and answers anywhere */
        asc_settings_set(s, "dtype", "f64");
        asc_settings_set(s, "dropout", "0");
        const char *path = accumulated ? other_path : run_path;
        ck_assert_msg(asc_train(ctx, s, path, false, NULL, NULL) == ASC_OK, "%s", asc_error_message(ctx));
        asc_settings_free(s);
    }
    for (int k = 0; k < 2; k++) {
        double together, apart;
        ck_assert_int_eq(read_metrics(run_path, keys[k], &together, 1), 1);
        ck_assert_int_eq(read_metrics(other_path, keys[k], &apart, 1), 1);
        ck_assert_double_eq_tol(together, apart, 1e-7);
    }
}
END_TEST

/* ---- what fails without a word, or gives what is no id ---- */

static asc_status mute_make(asc_tokenizer *t, const char *argument)
{
    return argument && strcmp(argument, "make") == 0 ? ASC_ERR_IO : letters_make(t, NULL);
}

static int32_t gives;
static asc_status mute_encode(const asc_tokenizer *t, const char *text, size_t bytes, unsigned flags, asc_ids *ids)
{
    (void)text, (void)bytes, (void)flags;
    return gives == 0 ? ASC_ERR_IO : asc_ids_push(t->ctx, ids, gives);
}

static asc_status mute_decode(asc_decoder *d, int32_t id, const char *piece, size_t bytes)
{
    (void)d, (void)id, (void)piece, (void)bytes;
    return ASC_ERR_IO;
}

static asc_status mute_begin(asc_source_reader *r)
{
    (void)r;
    return ASC_ERR_IO;
}

START_TEST(what_fails_without_a_word_is_told)
{
    asc_tokenizer_kind kind = letters_kind;
    asc_data_source source = copies_source;
    kind.name = source.name = "mute";
    kind.make = mute_make;
    kind.encode = mute_encode;
    kind.decode = mute_decode;
    source.begin = mute_begin;
    asc_tokenizer_register(ctx, &kind);
    asc_data_source_register(ctx, &source);
    ck_assert_ptr_null(asc_tokenizer_new(ctx, "mute:make"));
    expect_error(ASC_ERR_IO, "mute: its make failed without a message");
    asc_tokenizer *t = asc_tokenizer_new(ctx, "mute");
    asc_ids ids = {0};
    for (int i = 0; i < 3; i++) {
        gives = (int[]){0, 99, -5}[i];
        ck_assert_int_eq(asc_tokenizer_encode(t, "a", 1, 0, &ids), i ? ASC_ERR_ARG : ASC_ERR_IO);
        expect_error(i ? ASC_ERR_ARG : ASC_ERR_IO, i == 0 ? "mute: its encode failed without a message"
                                                   : i == 1 ? "mute: its encode gave id 99, expected 0 to 0"
                                                            : "mute: its encode gave id -5, expected 0 to 0");
        ck_assert_uint_eq(ids.n, 0);
    }
    asc_decoder *d = asc_decoder_new(t);
    ck_assert_ptr_null(asc_decoder_next(d, 0, NULL));
    expect_error(ASC_ERR_IO, "mute: its decode failed without a message");
    asc_dataset *data = asc_dataset_open(ctx, "mute:3");
    ck_assert_ptr_null(asc_split_load(data, ASC_SPLIT_TRAIN, t));
    expect_error(ASC_ERR_IO, "mute: its begin failed without a message");
    asc_dataset_free(data);
    asc_decoder_free(d);
    asc_ids_free(ctx, &ids);
    asc_tokenizer_free(t);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("corpus");
    tcase_add_checked_fixture(t, setup_runs, teardown_runs);
    tcase_add_test(t, lists_have_what_is_registered);
    tcase_add_test(t, what_fails_without_a_word_is_told);
    tcase_add_test(t, what_is_not_whole_is_refused);
    tcase_add_test(t, given_tokens_are_no_targets);
    tcase_add_test(t, each_allocation_may_fail);
    tcase_add_test(t, something_must_be_left_to_predict);
    tcase_add_test(t, a_table_is_known_by_its_name);
    tcase_add_test(t, a_model_learns_with_them);
    tcase_add_test(t, a_run_goes_on_with_them);
    tcase_add_test(t, a_batchs_weight_is_its_targets);
    return run_suite("train/corpus", t);
}
