/* tests/data/test_builtin.c: the built-in corpus: its probability is exact, and its long-range structure is there. */
#include <math.h>

#include "tests/data/fixture.h"

#include <ascgrad/builtin.h>

typedef struct corpus {
    char *text;
    size_t bytes, capacity;
    double nats;
    int64_t tokens;
} corpus;

static corpus make(int64_t words, uint64_t seed, const char *split)
{
    corpus c;
    asc_builtin_text(ctx, words, seed, split, &c.text, &c.bytes, &c.capacity, &c.nats, &c.tokens);
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
    return c;
}

static void drop(corpus *c)
{
    asc_free(ctx, c->text, c->capacity);
}

static int64_t count(const corpus *c, char wanted)
{
    int64_t n = 0;
    for (size_t i = 0; i < c->bytes; i++) {
        n += c->text[i] == wanted;
    }
    return n;
}

/* A text cut into its words, each terminated; "\n" stands for the end of a line. */
typedef struct words {
    char *copy;
    const char **word;
    int64_t n;
} words;

static words split_words(const corpus *c)
{
    words w = {malloc(c->bytes + 1), malloc((size_t)(c->tokens + 1) * sizeof(char *)), 0};
    memcpy(w.copy, c->text, c->bytes);
    w.copy[c->bytes] = 0;
    char *at = w.copy;
    while (*at) {
        size_t length = strcspn(at, " \n");
        bool line_ends = at[length] == '\n';
        at[length] = 0;
        w.word[w.n++] = at;
        if (line_ends) {
            w.word[w.n++] = "\n";
        }
        at += length + 1;
    }
    return w;
}

static void drop_words(words *w)
{
    free(w->copy);
    free(w->word);
}

START_TEST(text_is_reproducible)
{
    corpus a = make(3000, 1, "train"), b = make(3000, 1, "train"), longer = make(9000, 1, "train");
    ck_assert_uint_eq(a.bytes, b.bytes);
    ck_assert_mem_eq(a.text, b.text, a.bytes);
    ck_assert(a.nats == b.nats);
    ck_assert_mem_eq(a.text, longer.text, a.bytes);
    corpus others[] = {make(3000, 2, "train"), make(3000, 1, "valid"), make(3000, 1, "test")};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_ne(memcmp(a.text, others[i].text, 1000), 0);
        drop(&others[i]);
    }
    uint64_t hash = 14695981039346656037u; /* FNV-1a: what a published figure was measured on */
    for (size_t i = 0; i < a.bytes; i++) {
        hash = (hash ^ (unsigned char)a.text[i]) * 1099511628211u;
    }
    ck_assert_uint_eq(hash, 7742111263660346139u);
    drop(&a);
    drop(&b);
    drop(&longer);
}
END_TEST

START_TEST(sizes_are_as_asked_for)
{
    static const struct {
        int64_t words;
        const char *split;
        int64_t least;
    } cases[] = {{1, "train", 1}, {1000, "train", 1000}, {1000, "valid", 2000}, {100000, "test", 5000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        corpus c = make(cases[i].words, 7, cases[i].split);
        int64_t lines = count(&c, '\n'), words = lines + count(&c, ' ');
        ck_assert_int_ge(words, cases[i].least);
        ck_assert_int_le(words, cases[i].least + 200);
        ck_assert_int_eq(c.tokens, words + lines - 1);
        ck_assert_int_eq(c.text[c.bytes - 1], '\n');
        ck_assert_uint_le(c.bytes, c.capacity);
        drop(&c);
    }
}
END_TEST

/* The score sees the words alone: where it agrees, nothing but the words decided how the text went on. */
START_TEST(score_equals_the_source)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        corpus c = make(20000, seed, "train");
        double nats;
        int64_t tokens;
        ck_assert_int_eq(asc_builtin_score(ctx, c.text, c.bytes, 0, &nats, &tokens), ASC_OK);
        ck_assert_int_eq(tokens, c.tokens);
        ck_assert(fabs(nats - c.nats) <= 1e-9 * c.nats);
        drop(&c);
    }
}
END_TEST

/* −log of the probability of `text` with `word` behind it; infinity where the word can't stand. */
static double score_with(const char *text, size_t bytes, const char *word)
{
    char longer[8192];
    ck_assert_uint_le(bytes + strlen(word), sizeof longer);
    memcpy(longer, text, bytes);
    memcpy(longer + bytes, word, strlen(word));
    double nats = INFINITY;
    if (asc_builtin_score(ctx, longer, bytes + strlen(word), 0, &nats, NULL)) {
        ck_assert_int_eq(asc_error(ctx), ASC_ERR_FORMAT);
        asc_error_clear(ctx);
    }
    return nats;
}

/* The vocabulary, as far as a long text shows it. */
static int vocabulary(const char *list[512], words *w)
{
    int n = 0;
    for (int64_t i = 0; i < w->n; i++) {
        int k = 0;
        while (k < n && strcmp(list[k], w->word[i]) != 0) {
            k++;
        }
        if (k == n) {
            ck_assert_int_lt(n, 512);
            list[n++] = w->word[i];
        }
    }
    return n;
}

START_TEST(next_words_have_probabilities_that_sum_to_one)
{
    corpus c = make(40000, 3, "train");
    words w = split_words(&c);
    const char *list[512];
    int n = vocabulary(list, &w);
    ck_assert_int_ge(n, 300);
    ck_assert_int_le(n, 400);
    int branching = 0;
    for (int64_t i = 0, bytes = 0; i < 300; i++) {
        double before = 0, sum = 0;
        asc_builtin_score(ctx, c.text, (size_t)bytes, 0, &before, NULL);
        int possible = 0;
        for (int k = 0; k < n; k++) {
            double p = exp(before - score_with(c.text, (size_t)bytes, list[k]));
            sum += p;
            possible += p > 0;
        }
        ck_assert_msg(fabs(sum - 1) < 1e-9, "the words after token %lld have %.12f", (long long)i, sum);
        branching += possible > 20;
        bytes += w.word[i][0] == '\n' ? 0 : (int64_t)strlen(w.word[i]) + 1;
    }
    ck_assert_int_gt(branching, 50);
    drop_words(&w);
    drop(&c);
}
END_TEST

START_TEST(perplexity_is_in_its_range)
{
    corpus c = make(ASC_BUILTIN_WORDS, ASC_BUILTIN_SEED, "valid");
    double perplexity = exp(c.nats / (double)c.tokens), last = 1e9;
    ck_assert(perplexity > 8 && perplexity < 10);
    for (int64_t memory = 5; memory < 1000; memory *= 3) {
        double nats;
        ck_assert_int_eq(asc_builtin_score(ctx, c.text, c.bytes, memory, &nats, NULL), ASC_OK);
        double forgetful = exp(nats / (double)c.tokens);
        ck_assert(forgetful < last && forgetful >= perplexity);
        ck_assert(memory > 20 || forgetful > perplexity * 1.2);
        last = forgetful;
    }
    drop(&c);
}
END_TEST

/* "the baker called mira": whoever was introduced so keeps the name to the end of the story. */
START_TEST(names_come_back)
{
    corpus c = make(50000, 5, "train");
    words w = split_words(&c);
    struct {
        const char *role, *name;
        int64_t at;
    } cast[8];
    int n = 0, far = 0, farthest = 0;
    for (int64_t i = 1; i + 1 < w.n; i++) {
        if (strcmp(w.word[i], "once") == 0) {
            n = 0;
        }
        if (strcmp(w.word[i], "called") != 0) {
            continue;
        }
        int k = 0;
        while (k < n && strcmp(cast[k].role, w.word[i - 1]) != 0) {
            k++;
        }
        if (k == n) {
            ck_assert_int_lt(n, 4);
            cast[n].role = w.word[i - 1];
            cast[n++].name = w.word[i + 1];
        } else {
            ck_assert_str_eq(cast[k].name, w.word[i + 1]);
            int distance = (int)(i - cast[k].at);
            far += distance > 100;
            farthest = distance > farthest ? distance : farthest;
        }
        cast[k].at = i;
    }
    ck_assert_int_gt(far, 100);
    ck_assert_int_gt(farthest, 300);
    drop_words(&w);
    drop(&c);
}
END_TEST

START_TEST(brackets_match)
{
    corpus c = make(50000, 6, "train");
    char open[8];
    int depth = 0, deepest = 0;
    for (size_t i = 0; i < c.bytes; i++) {
        static const char opens[] = "([{", closes[] = ")]}";
        const char *o = strchr(opens, c.text[i]), *z = strchr(closes, c.text[i]);
        if (o) {
            open[depth++] = closes[o - opens];
            ck_assert_int_le(depth, 3);
            deepest = depth > deepest ? depth : deepest;
        } else if (z) {
            ck_assert_int_gt(depth, 0);
            ck_assert_int_eq(open[--depth], *z);
        } else if (c.text[i] == '\n') {
            ck_assert_int_eq(depth, 0);
        }
    }
    ck_assert_int_eq(deepest, 3);
    drop(&c);
}
END_TEST

static const char opening[] = "once in the attic there lived a baker called mira and a thief called oren .\n"
                              "the key was in the mill and the lamp was in the barn .\n";

START_TEST(what_is_forced_has_probability_one)
{
    static const struct {
        const char *before, *forced, *wrong;
    } cases[] = {
        {"the baker called ", "mira", "oren"},
        {"mira the ", "baker", "thief"},
        {"mira seeks the key in the ", "mill", "barn"},
        {"oren walks to the ", "attic", "mill"},
        {"dogs", "", ""},
    };
    for (size_t i = 0; cases[i].forced[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", opening, cases[i].before);
        double before;
        ck_assert_int_eq(asc_builtin_score(ctx, text, strlen(text), 0, &before, NULL), ASC_OK);
        ck_assert(fabs(score_with(text, strlen(text), cases[i].forced) - before) < 1e-12);
        ck_assert(isinf(score_with(text, strlen(text), cases[i].wrong)));
    }
}
END_TEST

START_TEST(verbs_agree_with_their_subject)
{
    static const struct {
        const char *before, *right, *wrong;
    } cases[] = {
        {"the dogs near a cat ", "sleep", "sleeps"},
        {"a dog that the cats that mira sees fear ", "sleeps", "sleep"},
        {"a dog that the cats that mira sees ", "fear", "fears"},
        {"the baker sees ", "her", "his"},
        {"the thief near the cats sees ", "himself", "themselves"},
        {"the dogs that see the cats sleep and see ", "their", "its"},
        {"mira says [ the cats say ( a dog sleeps ", ")", "]"},
        {"mira says [ the cats say ( a dog sleeps ) ", "]", "."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", opening, cases[i].before);
        ck_assert_msg(isfinite(score_with(text, strlen(text), cases[i].right)), "%s%s", text, cases[i].right);
        ck_assert(isinf(score_with(text, strlen(text), cases[i].wrong)));
    }
}
END_TEST

START_TEST(refuses_wrong_arguments)
{
    corpus c;
    asc_builtin_text(ctx, 0, 1, "train", &c.text, &c.bytes, &c.capacity, NULL, NULL);
    expect_error_with(ASC_ERR_ARG, "train of 0 words");
    ck_assert_ptr_null(c.text);
    asc_builtin_text(ctx, 1000, 1, "dev", &c.text, &c.bytes, &c.capacity, NULL, NULL);
    expect_error_with(ASC_ERR_ARG, "split dev");
    asc_builtin_text(ctx, 1000, 1, NULL, &c.text, &c.bytes, &c.capacity, NULL, NULL);
    expect_error_with(ASC_ERR_ARG, "NULL");
    asc_builtin_score(ctx, NULL, 5, 0, NULL, NULL);
    expect_error_with(ASC_ERR_ARG, "NULL");
    asc_builtin_score(ctx, "once", 4, -1, NULL, NULL);
    expect_error_with(ASC_ERR_ARG, "memory is -1");
    double nats = 1;
    ck_assert_int_eq(asc_builtin_score(ctx, NULL, 0, 0, &nats, NULL), ASC_OK);
    ck_assert(nats == 0);
}
END_TEST

START_TEST(refuses_other_texts)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"the dog sleeps .\n", "line 1: 'the' can't stand after 0 words"},
        {"once in the forest\n", "line 1: '\\n' can't stand after 4 words"},
        {"once in the zoo", "'zoo'"},
        {"once  in", "''"},
        {"once in the attic there lived a baker called mira and a baker", "'baker'"},
        {"once in the attic there lived a baker called mira and a thief called oren . the", "'t'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(asc_builtin_score(ctx, cases[i].text, strlen(cases[i].text), 0, NULL, NULL), ASC_ERR_FORMAT);
        expect_error_with(ASC_ERR_FORMAT, cases[i].message);
    }
}
END_TEST

/* Words exchanged at random: scored or refused, nothing else. */
START_TEST(survives_damage)
{
    corpus c = make(300, 9, "train");
    uint64_t random = 1;
    char *bad = malloc(c.bytes);
    for (int round = 0; round < 5000; round++) {
        memcpy(bad, c.text, c.bytes);
        for (int change = 0; change <= round % 4; change++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t from = (random >> 20) % (c.bytes - 8), to = (random >> 40) % (c.bytes - 8);
            memmove(bad + to, bad + from, (random >> 60) % 8);
        }
        asc_status status = asc_builtin_score(ctx, bad, c.bytes, round % 50, NULL, NULL);
        ck_assert(status == ASC_OK || status == ASC_ERR_FORMAT);
        asc_error_clear(ctx);
    }
    free(bad);
    drop(&c);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    corpus c = {.text = NULL};
    asc_status status = ASC_ERR_MEMORY;
    long failures = 0;
    for (; status; failures++) {
        heap_fail_after(&memory, failures);
        status = asc_builtin_text(ctx, 5000, 1, "train", &c.text, &c.bytes, &c.capacity, NULL, NULL);
        ck_assert(status ? status == ASC_ERR_MEMORY && c.text == NULL : c.text != NULL);
        asc_error_clear(ctx);
    }
    memory.fail_at = NEVER;
    ck_assert_int_gt(failures, 3);
    drop(&c);
}
END_TEST

/* ---- labels ---- */

enum { MOST = 4000 };

typedef struct labels {
    int64_t of[ASC_BUILTIN_LABEL_PLACE + 1][MOST], n;
} labels;

static void label_all(const char *text, size_t bytes, labels *l)
{
    for (int kind = ASC_BUILTIN_LABEL_WORD_CLASS; kind <= ASC_BUILTIN_LABEL_PLACE; kind++) {
        asc_status status = asc_builtin_labels(ctx, text, bytes, (asc_builtin_label)kind, l->of[kind], MOST, &l->n);
        ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    }
}

/* Word by word: the class, the sentence in its story, who was named last, the place in the sentence. */
START_TEST(labels_say_what_stands_where)
{
    char *text;
    size_t bytes, capacity;
    static labels l;
    ck_assert_int_eq(asc_builtin_text(ctx, 2000, 1, "valid", &text, &bytes, &capacity, NULL, NULL), ASC_OK);
    label_all(text, bytes, &l);
    int64_t i = 0, sentence = 0, place = 0, name = -1, stories = 0;
    for (const char *at = text; at < text + bytes && i < MOST; i++) {
        size_t n = *at == '\n' ? 1 : strcspn(at, " \n");
        const char *class = asc_builtin_class_name(l.of[ASC_BUILTIN_LABEL_WORD_CLASS][i]);
        bool begins = n == 4 && memcmp(at, "once", 4) == 0;
        stories += begins;
        sentence = begins ? 0 : sentence;
        name = begins ? -1 : strcmp(class, "name") == 0 ? l.of[ASC_BUILTIN_LABEL_NAME][i] : name;
        ck_assert(begins == (strcmp(class, "once") == 0) && (*at == '\n') == (strcmp(class, "end of line") == 0));
        ck_assert_int_eq(l.of[ASC_BUILTIN_LABEL_SENTENCE][i], sentence);
        ck_assert_int_eq(l.of[ASC_BUILTIN_LABEL_PLACE][i], place);
        ck_assert_int_eq(l.of[ASC_BUILTIN_LABEL_NAME][i], name);
        ck_assert(name >= 0 || strcmp(class, "name") != 0);
        place = *at == '\n' ? 0 : place + 1;
        sentence += *at == '\n';
        at += n + (at[n] == ' ');
    }
    ck_assert(stories >= 2 && i == l.n && i > 2000);
    asc_free(ctx, text, capacity);
}
END_TEST

/* A byte has the label of the word that it belongs to, a space that of the next one; an unknown word is a word. */
START_TEST(labels_follow_the_tokenizer)
{
    static const char text[] = "once in the mill there lived a baker called mira and a smith called lena .\n"
                               "the key was in the attic and the drum was in the barn .\n";
    asc_tokenizer *bytes = asc_tokenizer_new(ctx, "byte"), *words = asc_tokenizer_new(ctx, "word");
    int64_t own[64], n, of_bytes[sizeof text - 1], of_words[64], word = 0;
    ck_assert_int_eq(asc_builtin_labels(ctx, text, sizeof text - 1, ASC_BUILTIN_LABEL_PLACE, own, 64, &n), ASC_OK);
    asc_status status = asc_builtin_token_labels(bytes, text, sizeof text - 1, ASC_BUILTIN_LABEL_PLACE, of_bytes,
                                                 sizeof text - 1);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    for (size_t i = 0; i < sizeof text - 1; i++) {
        word += text[i] == ' ' || text[i] == '\n' || (i > 0 && text[i - 1] == '\n');
        ck_assert_int_eq(of_bytes[i], own[word]);
    }
    ck_assert_int_eq(asc_tokenizer_collect(words, "the once in was .\n", 18), ASC_OK); /* all others are unknown */
    status = asc_builtin_token_labels(words, text, sizeof text - 1, ASC_BUILTIN_LABEL_PLACE, of_words, n);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert(memcmp(own, of_words, (size_t)n * sizeof *own) == 0 && n == word + 1);
    ck_assert_int_eq(asc_builtin_token_labels(words, text, sizeof text - 1, ASC_BUILTIN_LABEL_PLACE, of_words, n + 1),
                     ASC_ERR_ARG);
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_builtin_token_labels(bytes, text + 5, 20, ASC_BUILTIN_LABEL_PLACE, of_bytes, 20),
                     ASC_ERR_FORMAT);
    asc_error_clear(ctx);
    ck_assert_int_eq(asc_builtin_token_labels(bytes, text, 20, (asc_builtin_label)9, of_bytes, 4), ASC_ERR_ARG);
    asc_error_clear(ctx);
    ck_assert_ptr_null(asc_builtin_class_name(-1));
    asc_tokenizer_free(bytes);
    asc_tokenizer_free(words);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("all");
    tcase_add_test(all, text_is_reproducible);
    tcase_add_test(all, sizes_are_as_asked_for);
    tcase_add_test(all, score_equals_the_source);
    tcase_add_test(all, next_words_have_probabilities_that_sum_to_one);
    tcase_add_test(all, perplexity_is_in_its_range);
    tcase_add_test(all, names_come_back);
    tcase_add_test(all, brackets_match);
    tcase_add_test(all, what_is_forced_has_probability_one);
    tcase_add_test(all, verbs_agree_with_their_subject);
    tcase_add_test(all, refuses_wrong_arguments);
    tcase_add_test(all, refuses_other_texts);
    tcase_add_test(all, survives_damage);
    tcase_add_test(all, labels_say_what_stands_where);
    tcase_add_test(all, labels_follow_the_tokenizer);
    tcase_add_test(all, every_allocation_may_fail);
    return run_data_suite("data/builtin", all);
}
