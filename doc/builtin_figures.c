/* builtin_figures [WORDS [SEED]]: the built-in corpus in figures: its source's perplexity on the validation split, with
 * all and with little memory, beside what counting words reaches. doc/builtin-corpus.md has the table. */
#include <ascgrad/builtin.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 512 };

/* Added to each count, so that what the training split lacks is not impossible. */
static const double added = 0.01;

typedef struct split {
    char *text;
    size_t bytes, capacity;
    double nats;
    int64_t tokens;
} split;

typedef struct counts {
    int words;
    struct {
        const char *text;
        size_t length;
    } word[MAX_WORDS];
    double one[MAX_WORDS], two[MAX_WORDS][MAX_WORDS], total;
} counts;

/* The number of the word at *at, which moves behind it; the end of a line is a word. A new one is added. */
static int next_word(counts *c, const split *s, size_t *at)
{
    const char *text = s->text + *at;
    size_t n = 0;
    while (n < s->bytes - *at && text[n] != ' ' && text[n] != '\n') {
        n++;
    }
    if (n == 0) {
        n = 1; /* the end of the line */
        *at += 1;
    } else {
        *at += n + (text[n] == ' ');
    }
    for (int i = 0; i < c->words; i++) {
        if (c->word[i].length == n && memcmp(c->word[i].text, text, n) == 0) {
            return i;
        }
    }
    if (c->words == MAX_WORDS) {
        return -1;
    }
    c->word[c->words].text = text;
    c->word[c->words].length = n;
    return c->words++;
}

static int count_split(counts *c, const split *s)
{
    int before = -1;
    for (size_t at = 0; at < s->bytes;) {
        int word = next_word(c, s, &at);
        if (word < 0) {
            return -1;
        }
        c->one[word]++;
        c->total++;
        if (before >= 0) {
            c->two[before][word]++;
        }
        before = word;
    }
    return 0;
}

static void print_row(const char *name, double nats, int64_t tokens)
{
    double mean = nats / (double)tokens;
    printf("%-28s %10.3f %10.4f\n", name, exp(mean), mean);
}

static void print_counts(counts *c, const split *valid)
{
    double one = 0, two = 0;
    size_t at = 0;
    int before = next_word(c, valid, &at);
    while (at < valid->bytes) {
        int word = next_word(c, valid, &at);
        one -= log((c->one[word] + added) / (c->total + added * c->words));
        two -= log((c->two[before][word] + added) / (c->one[before] + added * c->words));
        before = word;
    }
    print_row("unigram", one, valid->tokens);
    print_row("bigram", two, valid->tokens);
}

static void print_source(asc_ctx *ctx, const split *valid)
{
    for (int64_t memory = 10; memory <= 320; memory *= 2) {
        char name[64];
        double nats = 0;
        if (asc_builtin_score(ctx, valid->text, valid->bytes, memory, &nats, NULL) == ASC_OK) {
            snprintf(name, sizeof name, "source, memory of %d words", (int)memory);
            print_row(name, nats, valid->tokens);
        }
    }
    print_row("source", valid->nats, valid->tokens);
}

int main(int argc, char **argv)
{
    int64_t words = argc > 1 ? atoll(argv[1]) : ASC_BUILTIN_WORDS;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : ASC_BUILTIN_SEED;
    asc_ctx *ctx = asc_ctx_new(NULL);
    counts *c = calloc(1, sizeof *c);
    if (!ctx || !c) {
        fprintf(stderr, "builtin_figures: out of memory\n");
        return 3;
    }
    static const char *const names[2] = {"train", "valid"};
    split s[2] = {{.text = NULL}, {.text = NULL}};
    for (int i = 0; i < 2; i++) {
        asc_builtin_text(ctx, words, seed, names[i], &s[i].text, &s[i].bytes, &s[i].capacity, &s[i].nats, &s[i].tokens);
    }
    int status = asc_error(ctx) ? 3 : 0;
    if (status) {
        fprintf(stderr, "builtin_figures: %s\n", asc_error_message(ctx));
    } else if (count_split(c, &s[0])) {
        fprintf(stderr, "builtin_figures: more than %d words\n", MAX_WORDS);
        status = 3;
    } else {
        printf("%lld training tokens, %d different; %lld validation tokens\n", (long long)s[0].tokens + 1, c->words,
               (long long)s[1].tokens + 1);
        printf("%-28s %10s %10s\n", "", "perplexity", "nats/token");
        print_counts(c, &s[1]);
        print_source(ctx, &s[1]);
    }
    for (int i = 0; i < 2; i++) {
        asc_free(ctx, s[i].text, s[i].capacity);
    }
    free(c);
    asc_ctx_free(ctx);
    return status;
}
