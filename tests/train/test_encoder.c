/* tests/train/test_encoder.c: sentences as tokens, and an encoder's states of them. */
#include "tests/train/encoder.h"

#include <ascgrad/npz.h>
#include <ascgrad/safetensors.h>

#include "tests/faults.h"
#include "tests/threads.h"

static model drawn;

static void setup_encoder(void)
{
    setup();
    make_folder();
    drawn = (model){0};
}

static void teardown_encoder(void)
{
    teardown();
    remove_tree(folder);
}

/* ---- sentences ---- */

static asc_tokenizer *open_words(void)
{
    return asc_tokenizer_parse(ctx, "wordpiece", "vocabulary", vocabulary, sizeof vocabulary - 1);
}

START_TEST(sentences_become_tokens)
{
    asc_tokenizer *words = open_words();
    asc_sentences *s = asc_sentences_new(ctx, words, 6);
    asc_sentences_add(s, "A man sings.\n", 13);
    asc_sentences_add(s, "", 0);
    asc_sentences_add(s, " \n", 2);
    asc_sentences_add(s, "the man plays the guitar", 24);
    no_error();
    EXPECT_IDS(s, 0, 6, 2, 4, 5, 10, 11, 3); /* [CLS] a man sing ##s, and [SEP] in the full stop's place */
    EXPECT_IDS(s, 1, 2, 2, 3);
    EXPECT_IDS(s, 2, 2, 2, 3);
    EXPECT_IDS(s, 3, 6, 2, 7, 5, 6, 7, 3);
    ck_assert_int_eq(asc_sentences_count(s), 4);
    ck_assert_int_eq(asc_sentences_total(s), 16);
    ck_assert_int_eq(asc_sentences_longest(s), 6);
    ck_assert_int_eq(asc_sentences_cut(s), 2);
    ck_assert_ptr_null(asc_sentences_at(s, 4, NULL, NULL));

    int64_t tokens[12], types[12], lengths[2];
    asc_sentences_fill(s, (int64_t[]){1, 0}, 2, 6, tokens, types, lengths);
    const int64_t expected[] = {2, 3, 0, 0, 0, 0, 2, 4, 5, 10, 11, 3};
    ck_assert_mem_eq(tokens, expected, sizeof expected);
    ck_assert(lengths[0] == 2 && lengths[1] == 6 && types[0] == 0 && types[11] == 0);
    asc_sentences_fill(s, (int64_t[]){0}, 1, 5, tokens, types, lengths);
    expect_error(ASC_ERR_ARG, "sentences_fill: sentence 0 has more than 5 tokens");
    asc_sentences_fill(s, (int64_t[]){4}, 1, 6, tokens, types, lengths);
    expect_error(ASC_ERR_ARG, "sentences_fill: there is no sentence 4 of 4");
    asc_sentences_free(s);
    asc_tokenizer_free(words);
}
END_TEST

START_TEST(pairs_are_cut_from_the_longer)
{
    asc_tokenizer *words = open_words();
    asc_sentences *s = asc_sentences_new(ctx, words, 8);
    asc_sentences_add_pair(s, "a man", 5, "the guitar .", 12);
    asc_sentences_add_pair(s, "a man plays the guitar .", 24, "the man", 7);
    asc_sentences_add_pair(s, "a man plays the", 15, "the man plays the", 17);
    asc_sentences_add_pair(s, "", 0, "", 0);
    no_error();
    EXPECT_IDS(s, 0, 4, 2, 4, 5, 3, 7, 8, 9, 3);
    EXPECT_IDS(s, 1, 5, 2, 4, 5, 6, 3, 7, 5, 3);
    EXPECT_IDS(s, 2, 5, 2, 4, 5, 6, 3, 7, 5, 3); /* of equal ones the second goes first */
    EXPECT_IDS(s, 3, 2, 2, 3, 3);
    ck_assert_int_eq(asc_sentences_cut(s), 2);
    int64_t tokens[8], types[8], lengths[1];
    asc_sentences_fill(s, (int64_t[]){1}, 1, 8, tokens, types, lengths);
    const int64_t expected[] = {0, 0, 0, 0, 0, 1, 1, 1};
    ck_assert_mem_eq(types, expected, sizeof expected);
    asc_sentences_free(s);
    asc_tokenizer_free(words);
}
END_TEST

START_TEST(sentences_that_can_not_be)
{
    asc_tokenizer *words = open_words(), *bytes = asc_tokenizer_new(ctx, "byte");
    ck_assert_ptr_null(asc_sentences_new(ctx, words, 1));
    expect_error(ASC_ERR_ARG, "max_tokens is 1, expected at least 2, [CLS] and [SEP]");
    ck_assert_ptr_null(asc_sentences_new(ctx, bytes, 8));
    expect_error(ASC_ERR_ARG, "sentences: the vocabulary has no entry [CLS]");
    asc_sentences *s = asc_sentences_new(ctx, words, 2);
    ck_assert_int_eq(asc_sentences_add_pair(s, "a", 1, "a", 1), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "max_tokens is 2, expected at least 3 for a pair");
    asc_sentences_add(s, "a man", 5);
    EXPECT_IDS(s, 0, 2, 2, 3);
    asc_sentences_free(s);
    asc_tokenizer_free(bytes);
    asc_tokenizer_free(words);
}
END_TEST

/* ---- states ---- */

static const int32_t line[] = {2, 4, 5, 6, 7, 8, 3, 7, 12, 13, 3};
enum { LINE = sizeof line / sizeof *line, SECOND = 7 };

static asc_tensor states_of(asc_encoder *encoder, int64_t n, const int64_t *types)
{
    int64_t ids[LINE];
    for (int i = 0; i < LINE; i++) {
        ids[i] = line[i];
    }
    asc_tensor tokens = asc_from(ctx, ASC_I64, ids, ASC_SHAPE(1, n));
    asc_tensor kinds = types ? asc_from(ctx, ASC_I64, types, ASC_SHAPE(1, n)) : asc_null();
    asc_tensor states = asc_encoder_states(encoder, tokens, kinds, asc_null());
    asc_release(tokens);
    asc_release(kinds);
    no_error();
    return states;
}

/* Within 1e-5 of the largest. */
static void expect_close(const float *got, const double *expected, int64_t n)
{
    double largest = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(expected[i]));
        error = isfinite(got[i]) ? fmax(error, fabs(got[i] - expected[i])) : INFINITY;
    }
    ck_assert_msg(error <= 1e-5 * largest, "%g of %g", error, largest);
}

static const struct {
    bool distil;
    const char *activation, *eps;
} kinds[] = {{false, "gelu", "1e-12"},
             {true, "gelu", NULL},
             {false, "gelu_new", "1e-5"},
             {false, "gelu_pytorch_tanh", "0.25"},
             {true, "relu", NULL}};

START_TEST(states_are_those_of_the_equations)
{
    drawn.distil = kinds[_i].distil;
    drawn.activation = kinds[_i].activation;
    drawn.eps = kinds[_i].eps;
    asc_encoder *encoder = open_drawn(&drawn);
    ck_assert_str_eq(asc_encoder_type(encoder), drawn.distil ? "distilbert" : "bert");
    ck_assert_int_eq(asc_encoder_dim(encoder), E);
    ck_assert_int_eq(asc_encoder_layers(encoder), LAYERS);
    ck_assert_int_eq(asc_encoder_longest(encoder), POSITIONS);
    int64_t parameters = 0, types[LINE];
    for (int i = 0; i < drawn.n; i++) {
        parameters += drawn.tensor[i].n;
    }
    ck_assert_int_eq(asc_encoder_parameters(encoder), parameters);
    for (int i = 0; i < LINE; i++) {
        types[i] = i >= SECOND;
    }
    double expected[POSITIONS][E];
    for (int pair = 0; pair < 2; pair++) {
        asc_tensor states = states_of(encoder, LINE, pair ? types : NULL);
        ref_states(&drawn, line, LINE, pair ? SECOND : LINE, expected);
        expect_close(asc_data(states), &expected[0][0], LINE * E);
        asc_release(states);
    }
    asc_encoder_free(encoder);
}
END_TEST

static const char *mixed_dtypes(int i)
{
    static const char *const names[] = {"F16", "BF16", "F32"};
    return names[i % 3];
}

/* The same values, by other dtypes and names, are the same encoder. */
START_TEST(dtypes_and_names_do_not_matter)
{
    drawn.distil = _i;
    asc_encoder *plain = open_drawn(&drawn);
    static model other;
    other = (model){.distil = _i,
                    .prefix = _i ? "distilbert." : "bert.",
                    .dtype_of = mixed_dtypes,
                    .norm_names = {"gamma", "beta"}};
    draw_model(&other);
    snprintf(other.tensor[other.n].name, sizeof other.tensor[0].name, "cls.predictions.bias");
    other.tensor[other.n++] = (weight){.name = "cls.predictions.bias", .ndim = 1, .shape = {WORDS}, .n = WORDS};
    spill_weights(&other);
    asc_encoder *mixed = asc_encoder_open(ctx, folder, NULL);
    no_error();
    ck_assert_str_eq(asc_encoder_fingerprint(plain), asc_encoder_fingerprint(mixed));
    asc_tensor a = states_of(plain, LINE, NULL), b = states_of(mixed, LINE, NULL);
    ck_assert_mem_eq(asc_data(a), asc_data(b), LINE * E * sizeof(float));
    asc_release(a);
    asc_release(b);
    asc_encoder_free(mixed);

    drawn.tensor[4].value[0] += 1;
    spill_weights(&drawn);
    mixed = asc_encoder_open(ctx, folder, NULL);
    no_error();
    ck_assert_str_ne(asc_encoder_fingerprint(plain), asc_encoder_fingerprint(mixed));
    asc_encoder_free(mixed);
    asc_encoder_free(plain);
}
END_TEST

START_TEST(states_refuse)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_tensor long_one = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, POSITIONS + 1)),
               reals = asc_zeros(ctx, ASC_F32, 2, (int64_t[]){1, 2});
    asc_tensor two = asc_zeros(ctx, ASC_I64, ASC_SHAPE(1, 2)), ones = asc_full(ctx, ASC_I64, 2, ASC_SHAPE(1, 2));
    ck_assert(asc_is_null(asc_encoder_states(encoder, long_one, asc_null(), asc_null())));
    expect_error(ASC_ERR_ARG, "encoder_states: tokens is i64 (1, 17), expected i64 (B, N), N from 1 to 16");
    ck_assert(asc_is_null(asc_encoder_states(encoder, reals, asc_null(), asc_null())));
    expect_error_with(ASC_ERR_ARG, "tokens is f32 (1, 2), expected i64");
    ck_assert(asc_is_null(asc_encoder_states(encoder, two, long_one, asc_null())));
    expect_error_with(ASC_ERR_ARG, "types is i64 (1, 17), expected i64 (1, 2)");
    ck_assert(asc_is_null(asc_encoder_states(encoder, two, ones, asc_null())));
    expect_error(ASC_ERR_ARG, "encoder_states: types has 2, expected 0 to 1");
    const asc_tensor all[] = {long_one, reals, two, ones};
    for (int i = 0; i < 4; i++) {
        asc_release(all[i]);
    }
    asc_encoder_free(encoder);
}
END_TEST

/* ---- sentences to states ---- */

enum { MANY = 300 };

/* Sentences of 2 to 16 tokens, some of them equal, some pairs. */
static asc_sentences *many_sentences(asc_encoder *encoder)
{
    static const char *const words[] = {"a", "man", "plays", "the", "guitar", ".", "sings", "raining"};
    asc_sentences *s = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), POSITIONS);
    for (int i = 0; i < MANY; i++) {
        char text[2][200] = {"", ""};
        draw_state = (uint64_t)(i % 7 == 6 ? 6 : i);
        for (int64_t n = draw(19); n > 0; n--) {
            strcat(strcat(text[n % 3 == 0], " "), words[draw(8)]);
        }
        if (i % 5 == 0) {
            asc_sentences_add_pair(s, text[0], strlen(text[0]), text[1], strlen(text[1]));
        } else {
            asc_sentences_add(s, text[0], strlen(text[0]));
        }
    }
    no_error();
    return s;
}

typedef struct taken {
    int calls[MANY];
    int64_t rows[MANY];
    float row[MANY][POSITIONS][E];
} taken;

static asc_status take(void *user, int64_t i, int64_t n, const float *rows)
{
    taken *t = user;
    t->calls[i]++;
    t->rows[i] = n;
    memcpy(t->row[i], rows, (size_t)(n * E) * sizeof *rows);
    return ASC_OK;
}

static taken *take_all(asc_encoder *encoder, asc_pooling pool, int64_t window, int64_t stride)
{
    taken *t = calloc(1, sizeof *t);
    asc_sentences *s = many_sentences(encoder);
    asc_encoder_encode(encoder, s, &(asc_pooling_options){pool, window, stride, false}, take, t);
    no_error();
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(t->calls[i], 1);
    }
    asc_sentences_free(s);
    return t;
}

START_TEST(every_sentence_is_encoded_once)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = many_sentences(encoder);
    taken *t = take_all(encoder, ASC_POOLING_NONE, 0, 0);
    for (int i = 0; i < MANY; i++) {
        int64_t n, second;
        double expected[POSITIONS][E];
        const int32_t *ids = asc_sentences_at(s, i, &n, &second);
        ck_assert_int_eq(t->rows[i], n);
        ref_states(&drawn, ids, (int)n, (int)second, expected);
        expect_close(&t->row[i][0][0], &expected[0][0], n * E);
    }
    free(t);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

START_TEST(threads_do_not_change_a_bit)
{
    asc_encoder *encoder = open_drawn(&drawn);
    taken *one, *four;
    asc_set_threads(ctx, 1);
    one = take_all(encoder, ASC_POOLING_NONE, 0, 0);
    asc_set_threads(ctx, 4);
    four = take_all(encoder, ASC_POOLING_NONE, 0, 0);
    ck_assert_mem_eq(one, four, sizeof *one);
    free(one);
    free(four);
    asc_encoder_free(encoder);
}
END_TEST

/* The means over tokens from … to-1 of what was kept of all. */
static void expect_mean(const taken *all, const float *row, int i, int64_t from, int64_t to)
{
    to = to < all->rows[i] ? to : all->rows[i];
    for (int e = 0; e < E; e++) {
        double mean = 0;
        for (int64_t t = from; t < to; t++) {
            mean += (double)all->row[i][t][e] / (double)(to - from);
        }
        ck_assert_double_eq_tol(row[e], mean, 1e-6 * (1 + fabs(mean)));
    }
}

START_TEST(pooling)
{
    asc_encoder *encoder = open_drawn(&drawn);
    taken *all = take_all(encoder, ASC_POOLING_NONE, 0, 0), *mean = take_all(encoder, ASC_POOLING_MEAN, 0, 0);
    taken *cls = take_all(encoder, ASC_POOLING_CLS, 0, 0), *eights = take_all(encoder, ASC_POOLING_WINDOWS, 0, 0);
    taken *windows = take_all(encoder, ASC_POOLING_WINDOWS, 3, 2);
    for (int i = 0; i < MANY; i++) {
        ck_assert(mean->rows[i] == 1 && cls->rows[i] == 1);
        ck_assert_int_eq(eights->rows[i], (all->rows[i] + 7) / 8);
        ck_assert_int_eq(windows->rows[i], (all->rows[i] + 1) / 2);
        expect_mean(all, mean->row[i][0], i, 0, POSITIONS);
        ck_assert_mem_eq(cls->row[i][0], all->row[i][0], sizeof all->row[i][0]);
        for (int64_t w = 0; w < eights->rows[i]; w++) {
            expect_mean(all, eights->row[i][w], i, 8 * w, 8 * w + 8);
        }
        for (int64_t w = 0; w < windows->rows[i]; w++) {
            expect_mean(all, windows->row[i][w], i, 2 * w, 2 * w + 3);
        }
    }
    taken *const each[] = {all, mean, cls, eights, windows};
    for (int i = 0; i < 5; i++) {
        free(each[i]);
    }
    asc_encoder_free(encoder);
}
END_TEST

static asc_status refuse_third(void *user, int64_t i, int64_t n, const float *rows)
{
    (void)i;
    (void)n;
    (void)rows;
    return ++*(int *)user == 3 ? asc_fail(ctx, ASC_ERR_IO, "no more") : ASC_OK;
}

START_TEST(an_encoding_ends_early)
{
    asc_encoder *encoder = open_drawn(&drawn);
    asc_sentences *s = many_sentences(encoder), *longer = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), 20);
    int calls = 0;
    ck_assert_int_eq(asc_encoder_encode(encoder, s, &(asc_pooling_options){0}, refuse_third, &calls), ASC_ERR_IO);
    expect_error(ASC_ERR_IO, "no more");
    ck_assert_int_eq(calls, 3);
    asc_encoder_encode(encoder, s, &(asc_pooling_options){ASC_POOLING_WINDOWS, -1, 0, false}, refuse_third, &calls);
    expect_error(ASC_ERR_ARG, "window is -1, expected at least 1, or 0 for 8");
    asc_encoder_encode(encoder, s, &(asc_pooling_options){(asc_pooling)9, 0, 0, false}, refuse_third, &calls);
    expect_error(ASC_ERR_ARG, "pool is 9, expected none, mean, cls or windows");
    asc_sentences_add(longer, "a a a a a a a a a a a a a a a", 29);
    asc_encoder_encode(encoder, longer, &(asc_pooling_options){0}, refuse_third, &calls);
    expect_error(ASC_ERR_ARG, "encoder: a sentence has 17 tokens, expected at most the model's 16");
    ck_assert_int_eq(calls, 3);
    asc_sentences_free(longer);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
}
END_TEST

/* ---- memory ---- */

static asc_status sum_up(void *user, int64_t i, int64_t n, const float *rows)
{
    *(double *)user += rows[(n - 1) * E] * (double)(i + 1);
    return ASC_OK;
}

static double live(void)
{
    double sum = 0;
    asc_encoder *encoder = asc_encoder_open(ctx, folder, NULL);
    asc_sentences *s = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), POSITIONS);
    asc_sentences_add(s, "a man", 5);
    asc_sentences_add_pair(s, "a man plays", 11, "the guitar .", 12);
    asc_encoder_encode(encoder, s, &(asc_pooling_options){ASC_POOLING_WINDOWS, 0, 0, false}, sum_up, &sum);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
    return sum;
}

START_TEST(each_allocation_may_fail)
{
    spill_model(&drawn);
    ck_assert_int_gt(fail_each_allocation(live, false), 50);
    fail_each_allocation(live, true);
}
END_TEST

/* ---- others' ---- */

/* A sentence of the file beside the encoder, and what transformers makes of it (tests/cli/torch_encoder.py). */
typedef struct transformed {
    asc_params *expected;
    int64_t seen;
} transformed;

static asc_status take_transformed(void *user, int64_t i, int64_t n, const float *rows)
{
    transformed *t = user;
    asc_tensor states = asc_params_find(t->expected, "states"), lengths = asc_params_find(t->expected, "lengths");
    int64_t T = asc_size(states, 1), dim = asc_size(states, 2);
    const float *all = asc_data(states);
    ck_assert_int_eq(n, ((const int64_t *)asc_data(lengths))[i]);
    for (int64_t k = 0; k < n * dim; k++) {
        ck_assert_float_eq_tol(rows[k], all[i * T * dim + k], 1e-5);
    }
    t->seen++;
    return ASC_OK;
}

START_TEST(transformers_gives_the_same)
{
    const char *top = getenv("abs_top_srcdir");
    char at[400], path[500];
    snprintf(at, sizeof at, "%s/tests/train/encoder", top ? top : "..");
    transformed t = {.expected = asc_params_new(ctx)};
    snprintf(path, sizeof path, "%s/states.npz", at);
    asc_npz_read(ctx, path, t.expected);
    asc_encoder *encoder = asc_encoder_open(ctx, at, NULL);
    asc_sentences *s = asc_sentences_new(ctx, asc_encoder_tokenizer(encoder), asc_encoder_longest(encoder));
    snprintf(path, sizeof path, "%s/sentences.txt", at);
    asc_text *text = asc_text_open(ctx, path, 0);
    const char *sentence;
    size_t n;
    while (asc_text_next(text, &sentence, &n) == ASC_OK && sentence) {
        asc_sentences_add(s, sentence, n);
    }
    asc_text_close(text);
    asc_encoder_encode(encoder, s, &(asc_pooling_options){0}, take_transformed, &t);
    no_error();
    ck_assert_int_eq(t.seen, 8);
    asc_sentences_free(s);
    asc_encoder_free(encoder);
    asc_params_free(t.expected);
}
END_TEST

START_TEST(minilm_gives_its_states)
{
    const char *data = getenv("ASCGRAD_DATA");
    char path[1024];
    snprintf(path, sizeof path, "%s/minilm-l6/parity.safetensors", data ? data : "");
    if (!data || access(path, R_OK)) {
        printf("skipped: needs minilm-l6 in the folder that ASCGRAD_DATA names\n");
        return;
    }
    char at[1024], vocab[1024];
    snprintf(at, sizeof at, "%s/minilm-l6", data);
    snprintf(vocab, sizeof vocab, "%s/bert-uncased/vocab.txt", data);
    asc_encoder *encoder = asc_encoder_open(ctx, at, vocab);
    no_error();
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    asc_tensor ids = asc_safetensors_read(ctx, file, "in.tokens", ASC_I64);
    asc_tensor mask = asc_safetensors_read(ctx, file, "in.mask", ASC_I64);
    asc_tensor expected = asc_safetensors_read(ctx, file, "out.hidden", ASC_F64);
    no_error();
    int64_t B = asc_size(ids, 0), N = asc_size(ids, 1), dim = asc_encoder_dim(encoder);
    const int64_t *m = asc_data(mask);
    int64_t lengths[64] = {0};
    ck_assert_int_le(B, 64);
    for (int64_t i = 0; i < B * N; i++) {
        lengths[i / N] += m[i];
    }
    asc_tensor counts = asc_from(ctx, ASC_I64, lengths, ASC_SHAPE(B));
    asc_tensor states = asc_encoder_states(encoder, ids, asc_null(), counts);
    no_error();
    for (int64_t b = 0; b < B; b++) {
        expect_close((const float *)asc_data(states) + b * N * dim, (const double *)asc_data(expected) + b * N * dim,
                     lengths[b] * dim);
    }
    asc_safetensors_close(file);
    const asc_tensor all[] = {ids, mask, expected, counts, states};
    for (int i = 0; i < 5; i++) {
        asc_release(all[i]);
    }
    asc_encoder_free(encoder);
}
END_TEST

int main(void)
{
    TCase *sentences = tcase_create("sentences"), *states = tcase_create("states");
    TCase *encoding = tcase_create("encoding");
    TCase *const all[] = {sentences, states, encoding};
    for (int i = 0; i < 3; i++) {
        tcase_add_checked_fixture(all[i], setup_encoder, teardown_encoder);
    }
    tcase_add_test(sentences, sentences_become_tokens);
    tcase_add_test(sentences, pairs_are_cut_from_the_longer);
    tcase_add_test(sentences, sentences_that_can_not_be);
    tcase_add_loop_test(states, states_are_those_of_the_equations, 0, (int)(sizeof kinds / sizeof *kinds));
    tcase_add_loop_test(states, dtypes_and_names_do_not_matter, 0, 2);
    tcase_add_test(states, states_refuse);
    tcase_add_test(states, transformers_gives_the_same);
    tcase_add_test(states, minilm_gives_its_states);
    tcase_add_test(encoding, every_sentence_is_encoded_once);
    tcase_add_test(encoding, threads_do_not_change_a_bit);
    tcase_add_test(encoding, pooling);
    tcase_add_test(encoding, an_encoding_ends_early);
    tcase_add_test(encoding, each_allocation_may_fail);
    return run_suite("encoder", sentences, states, encoding);
}
