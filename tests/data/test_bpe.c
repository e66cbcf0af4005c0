/* tests/data/test_bpe.c: byte-pair encoding against its definition in the plainest loops; learning; its files. */
#include "tests/data/fixture.h"

#include "data/bpe.h"
#include "tests/draw.h"
#include "tests/faults.h"

static asc_ids ids;

static asc_tokenizer *open_file(const char *name)
{
    char spec[600];
    snprintf(spec, sizeof spec, "bpe:%s", name);
    return asc_tokenizer_new(ctx, spec);
}

/* A text of words that are often alike, with bytes that are no UTF-8 where `wild`. */
static void draw_text(char *text, size_t n, bool wild)
{
    static const char letters[] = "aaabbcd  '.1\n";
    for (size_t i = 0; i < n; i++) {
        text[i] = wild && !draw(20) ? (char)(128 + draw(128)) : letters[draw(sizeof letters - 1)];
    }
}

/* Learns from a text, and opens what was learned. */
static asc_tokenizer *learn(const char *text, size_t n, int64_t size)
{
    asc_bpe_learner *learner = asc_bpe_learner_new(ctx);
    int64_t learned = 0;
    asc_bpe_learner_add(learner, text, n);
    asc_bpe_learner_save(learner, size, in_folder("tokenizer.json"), &learned);
    asc_bpe_learner_free(learner);
    asc_tokenizer *tokenizer = asc_error(ctx) ? NULL : open_file(path);
    ck_assert(!tokenizer || asc_tokenizer_size(tokenizer) == learned);
    return tokenizer;
}

static void splits_into(const char *text, const char *const *words)
{
    size_t n = strlen(text);
    for (; *words; words++) {
        size_t got = asc_bpe_word(text, n), want = strlen(*words);
        ck_assert_msg(got == want && memcmp(text, *words, want) == 0, "'%.*s', expected '%s'", (int)got, text, *words);
        text += got;
        n -= got;
    }
    ck_assert_uint_eq(n, 0);
}

START_TEST(text_is_split_as_gpt2_does)
{
    splits_into("It's 12 o'clock!!  \"Really\"?",
                (const char *const[]){"It", "'s", " 12", " o", "'", "clock", "!!", " ", " \"", "Really", "\"?", NULL});
    splits_into("we'll 'LL ''s", (const char *const[]){"we", "'ll", " '", "LL", " ''", "s", NULL});
    splits_into("a\n\n\nb \t c \n", (const char *const[]){"a", "\n\n", "\n", "b", " \t", " c", " \n", NULL});
    splits_into("né½٣\u00a0\u3000x\u200b", (const char *const[]){"né", "½٣", "\u00a0", "\u3000", "x", "\u200b", NULL});
    splits_into("\xff\xfe a\x1c b", (const char *const[]){"\xff\xfe", " a", "\x1c", " b", NULL});
}
END_TEST

/* Merges the pair of neighbours that was learned first, the leftmost of several, until there is none. */
static size_t merge_plainly(const asc_bpe *b, const char *word, size_t n, int32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = b->byte[(unsigned char)word[i]];
    }
    for (;;) {
        const asc_bpe_merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const asc_bpe_merge *m = asc_bpe_merges_find(&b->merges, out[i], out[i + 1]);
            if (m && (!best || m->rank < best->rank)) {
                best = m;
                at = i;
            }
        }
        if (!best) {
            return n;
        }
        out[at] = best->token;
        memmove(out + at + 1, out + at + 2, (n - at - 2) * sizeof *out);
        n--;
    }
}

START_TEST(encoding_is_its_definition)
{
    enum { N = 6000 };
    static char text[N];
    static int32_t want[N];
    draw_state = 11;
    draw_text(text, N, false);
    asc_tokenizer *tokenizer = learn(text, N, 400);
    no_error();
    const asc_bpe *b = tokenizer->self;
    for (int round = 0; round < 3; round++) {
        draw_text(text, N, round > 0);
        if (round == 2) {
            memset(text, 'a', N); /* one word */
        }
        ids.n = 0;
        ck_assert_int_eq(asc_tokenizer_encode(tokenizer, text, N, 0, &ids), ASC_OK);
        size_t n = 0;
        for (size_t at = 0, word; at < N; at += word) {
            word = asc_bpe_word(text + at, N - at);
            n += merge_plainly(b, text + at, word, want + n);
        }
        ck_assert_uint_eq(ids.n, n);
        ck_assert(memcmp(ids.data, want, n * sizeof *want) == 0);
        size_t back = 0, bytes;
        for (size_t i = 0; i < ids.n; i++) { /* the bytes come back, whatever they are */
            const char *piece = asc_tokenizer_piece(tokenizer, ids.data[i], &bytes);
            ck_assert(memcmp(piece, text + back, bytes) == 0);
            back += bytes;
        }
        ck_assert_uint_eq(back, N);
    }
    asc_ids_free(ctx, &ids);
    asc_tokenizer_free(tokenizer);
}
END_TEST

/* ---- learning, in the plainest loops ---- */

enum { PLAIN = 200 };

typedef struct plain_text {
    int32_t id[PLAIN];
    bool begins[PLAIN]; /* a word, which pairs don't cross */
    int n;
} plain_text;

/* The pair that is there most often, twice at least, of several the lowest; how often. */
static int most_frequent(const plain_text *p, int32_t *left, int32_t *right)
{
    int most = 1;
    for (int i = 1; i < p->n; i++) {
        int count = 0;
        for (int k = 1; k < p->n && !p->begins[i]; k++) {
            count += !p->begins[k] && p->id[k - 1] == p->id[i - 1] && p->id[k] == p->id[i];
        }
        bool lower = p->id[i - 1] < *left || (p->id[i - 1] == *left && p->id[i] < *right);
        if (count > most || (count == most && count > 1 && lower)) {
            most = count;
            *left = p->id[i - 1];
            *right = p->id[i];
        }
    }
    return most;
}

static void merge_all(plain_text *p, int32_t left, int32_t right, int32_t token)
{
    int n = 0;
    for (int i = 0; i < p->n; n++) {
        bool pair = i + 1 < p->n && !p->begins[i + 1] && p->id[i] == left && p->id[i + 1] == right;
        p->begins[n] = p->begins[i];
        p->id[n] = pair ? token : p->id[i];
        i += pair ? 2 : 1;
    }
    p->n = n;
}

START_TEST(learning_is_its_definition)
{
    draw_state = 5;
    for (int round = 0; round < 60; round++) {
        char text[PLAIN];
        plain_text p = {.n = PLAIN};
        for (int i = 0; i < PLAIN; i++) {
            text[i] = "aaab c"[draw(2 + (uint32_t)round % 5)];
        }
        asc_tokenizer *tokenizer = learn(text, PLAIN, 300);
        no_error();
        const asc_bpe *b = tokenizer->self;
        for (int at = 0; at < PLAIN; at += (int)asc_bpe_word(text + at, (size_t)(PLAIN - at))) {
            p.begins[at] = true;
        }
        for (int i = 0; i < PLAIN; i++) {
            p.id[i] = b->byte[(unsigned char)text[i]];
        }
        int32_t left = 0, right = 0, token = 256;
        for (; token < 300 && most_frequent(&p, &left, &right) > 1; token++) {
            const asc_bpe_merge *merge = asc_bpe_merges_find(&b->merges, left, right);
            ck_assert_msg(merge && merge->token == token, "round %d: token %d", round, token);
            merge_all(&p, left, right, token);
        }
        ck_assert_int_eq(asc_tokenizer_size(tokenizer), token);
        asc_tokenizer_free(tokenizer);
    }
}
END_TEST

START_TEST(the_most_frequent_pair_is_learned_first)
{
    /* ab four times, then abc three times; cd once is no more */
    static const char text[] = "abc abc abc ab cd";
    asc_tokenizer *tokenizer = learn(text, sizeof text - 1, 1000);
    no_error();
    static const char *const want[] = {"ab", " ab", " abc"};
    ck_assert_int_eq(asc_tokenizer_size(tokenizer), 256 + 3);
    for (int i = 0; i < 3; i++) {
        size_t n;
        const char *piece = asc_tokenizer_piece(tokenizer, 256 + i, &n);
        ck_assert_msg(n == strlen(want[i]) && memcmp(piece, want[i], n) == 0, "token %d is '%.*s'", i, (int)n, piece);
    }
    size_t bytes, capacity;
    char *saved = asc_tokenizer_text(tokenizer, &bytes, &capacity);
    asc_tokenizer *again = asc_tokenizer_parse(ctx, "bpe", "saved", saved, bytes);
    no_error();
    ck_assert_int_eq(asc_tokenizer_size(again), 259);
    asc_free(ctx, saved, capacity);
    asc_tokenizer_free(again);
    asc_tokenizer_free(tokenizer);
}
END_TEST

#define MODEL(vocab, merges, more)                                                                                     \
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, " more                                \
    "\"model\": {\"type\": \"BPE\", \"vocab\": {" vocab "}, \"merges\": [" merges "]}}"

START_TEST(files_of_others)
{
    const char *text =
        MODEL("\"a\": 0, \"b\": 1, \"\\u0120\": 2, \"ab\": 3, \"\\u0120ab\": 4", "\"a b\", [\"\\u0120\", \"ab\"]",
              "\"added_tokens\": [{\"id\": 5, \"content\": \"<|end|>\"}], ");
    asc_tokenizer *tokenizer = open_file(spill_text("their.json", text));
    no_error();
    ck_assert_int_eq(asc_tokenizer_size(tokenizer), 6);
    ids.n = 0;
    ck_assert_int_eq(asc_tokenizer_encode(tokenizer, "ab ab b", 7, 0, &ids), ASC_OK);
    static const int32_t want[] = {3, 4, 2, 1};
    ck_assert(ids.n == 4 && memcmp(ids.data, want, sizeof want) == 0);
    ck_assert_int_eq(asc_tokenizer_encode(tokenizer, "abc", 3, 0, &ids), ASC_ERR_FORMAT);
    expect_error(ASC_ERR_FORMAT, "tokenizer: the vocabulary has no token for the byte 0x63");
    ck_assert_uint_eq(ids.n, 4);
    asc_ids_free(ctx, &ids);
    asc_tokenizer_free(tokenizer);
}
END_TEST

static const struct {
    const char *text, *message;
} wrong[] = {
    {"[]", "line 1: not a JSON object"},
    {"{", "line 1: "},
    {MODEL("\"a\": 0", "", "\"normalizer\": {\"type\": \"NFC\"}, "), "normalizer is {\"type\":\"NFC\"}, expected null"},
    {"{\"pre_tokenizer\": {\"type\": \"Whitespace\"}}", "pre_tokenizer.type is \"Whitespace\", expected \"ByteLevel\""},
    {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"Unigram\"}}", "model.type is \"Unigram\""},
    {MODEL("\"a\": 0", "", "\"truncation\": {\"max_length\": 3}, "), "truncation is {"},
    {MODEL("\"a\": 0", "", "\"added_tokens\": [{\"id\": 1, \"content\": \"<u>\", \"special\": false}], "),
     "added_tokens[].special is false, expected true"},
    {MODEL("\"a\": 0, \"b\": 1, \"ab\": 2", "\"a b\", \"a b\"", ""), "expected each pair once"},
    {MODEL("\"a\": 1", "", ""), "the id of a token is 1, expected a whole number from 0 to 0"},
    {MODEL("\"a\": 0, \"b\": -1", "", ""), "the id of a token is -1"},
    {MODEL("\"a\": 0, \"b\": 0", "", ""), "two tokens have the id 0"},
    {MODEL("\"a\": 0, \"b\": 1", "\"a b\"", ""),
     "an entry of model.merges is \"a b\", expected two tokens that together"},
    {MODEL("\"a\": 0", "7", ""), "an entry of model.merges is 7, expected \"LEFT RIGHT\""},
    {MODEL("", "", ""), "model.vocab is {}, expected an object of tokens"},
};
enum { WRONG = sizeof wrong / sizeof *wrong };

START_TEST(what_is_no_such_file_is_refused)
{
    ck_assert_ptr_null(open_file(spill_text("wrong.json", wrong[_i].text)));
    expect_error_with(ASC_ERR_FORMAT, wrong[_i].message);
}
END_TEST

/* Learns, reads and uses a small one; how many tokens a text has. */
static double live(void)
{
    static const char text[] = "abc abc abc ab cd 'll \n";
    asc_ids list = {0};
    asc_tokenizer *tokenizer = learn(text, sizeof text - 1, 300);
    asc_tokenizer_encode(tokenizer, text, sizeof text - 1, 0, &list);
    double n = (double)list.n;
    asc_ids_free(ctx, &list);
    asc_tokenizer_free(tokenizer);
    return n;
}

START_TEST(any_allocation_may_fail)
{
    int64_t n = fail_each_allocation(live, false);
    ck_assert_int_gt(n, 20);
    ck_assert_int_eq(fail_each_allocation(live, true), n);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("bpe");
    tcase_add_test(t, text_is_split_as_gpt2_does);
    tcase_add_test(t, encoding_is_its_definition);
    tcase_add_test(t, learning_is_its_definition);
    tcase_add_test(t, the_most_frequent_pair_is_learned_first);
    tcase_add_test(t, files_of_others);
    tcase_add_loop_test(t, what_is_no_such_file_is_refused, 0, WRONG);
    tcase_add_test(t, any_allocation_may_fail);
    return run_data_suite("data/bpe", t);
}
