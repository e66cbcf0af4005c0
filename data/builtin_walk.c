/* data/builtin_walk.c: the next word of the built-in corpus, drawn or read, and its probability. */
#include <math.h>
#include <string.h>

#include "data/builtin.h"

enum { LONGEST_WORD = 16 };

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. On [0, 1), 53 bits. */
static double uniform(asc_text_walk *walk)
{
    uint64_t z = walk->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

asc_word_class asc_text_walk_class(const asc_text_walk *walk, int word)
{
    return word < 0 ? ASC_W_NONE : walk->lexicon.word[word].class;
}

/* ---- a word within its class ---- */

/* How far the last content word turns the order of a class's words: what makes word pairs worth learning. */
static int turn(const asc_text_walk *walk, asc_word_class class)
{
    uint32_t n = (uint32_t)(walk->lexicon.first[class + 1] - walk->lexicon.first[class]);
    uint32_t h = ((uint32_t)walk->context * ASC_W_CLASSES + (uint32_t)class) * 2654435769u;
    return (int)((uint64_t)(h ^ h >> 16) * n >> 32);
}

/* Half of the draws go by the class's frequencies, half by the same ones turned. A word comes from both: its
 * probability is their sum. */
static double free_probability(const asc_text_walk *walk, asc_word_class class, int word)
{
    const asc_lexicon *x = &walk->lexicon;
    int first = x->first[class], n = x->first[class + 1] - first;
    int turned = word - first - turn(walk, class);
    return 0.5 * (x->share[word] + x->share[first + (turned < 0 ? turned + n : turned)]);
}

static int free_draw(asc_text_walk *walk, asc_word_class class)
{
    const asc_lexicon *x = &walk->lexicon;
    double u = 2 * uniform(walk);
    if (u < 1) {
        return asc_lexicon_draw(x, class, u);
    }
    int word = asc_lexicon_draw(x, class, u - 1) + turn(walk, class);
    return word < x->first[class + 1] ? word : word - (x->first[class + 1] - x->first[class]);
}

static bool recalls(const asc_recall *recall, int word)
{
    for (int i = 0; i < recall->n; i++) {
        if (recall->word[i] == word) {
            return true;
        }
    }
    return false;
}

static double except_probability(const asc_text_walk *walk, const asc_recall *recall, int word)
{
    double rest = 1;
    for (int i = 0; i < recall->n; i++) {
        rest -= walk->lexicon.share[recall->word[i]];
    }
    return recalls(recall, word) ? 0 : walk->lexicon.share[word] / rest;
}

static int except_draw(asc_text_walk *walk, asc_word_class class, const asc_recall *recall)
{
    int word;
    do {
        word = asc_lexicon_draw(&walk->lexicon, class, uniform(walk));
    } while (recalls(recall, word));
    return word;
}

/* Each recalled word is as likely. A reader that has forgotten some of them knows how many, and spreads their part
 * over the words of the class that it does not remember. */
static double among_probability(const asc_text_walk *walk, const asc_recall *recall, int word)
{
    asc_recall remembered = {.n = 0};
    for (int i = 0; i < recall->n; i++) {
        if (walk->memory == 0 || walk->words - recall->seen[i] <= walk->memory) {
            remembered.word[remembered.n++] = recall->word[i];
        }
    }
    if (recalls(&remembered, word)) {
        return 1.0 / recall->n;
    }
    return (double)(recall->n - remembered.n) / recall->n * except_probability(walk, &remembered, word);
}

static double probability(const asc_text_walk *walk, const asc_option *option, int word)
{
    switch (option->choice) {
    case ASC_FREELY: return free_probability(walk, option->class, word);
    case ASC_AMONG: return recalls(option->recall, word) ? among_probability(walk, option->recall, word) : 0;
    case ASC_EXCEPT: return except_probability(walk, option->recall, word);
    }
    return 0;
}

static int draw(asc_text_walk *walk, const asc_option *option)
{
    switch (option->choice) {
    case ASC_FREELY: return free_draw(walk, option->class);
    case ASC_AMONG: return option->recall->word[(int)(uniform(walk) * option->recall->n)];
    case ASC_EXCEPT: return except_draw(walk, option->class, option->recall);
    }
    return -1;
}

/* ---- text ---- */

static void stop(asc_text_walk *walk, asc_status status)
{
    walk->stopped = true;
    walk->status = status;
}

static bool make_room(asc_text_walk *walk)
{
    if (walk->at + LONGEST_WORD <= walk->capacity) {
        return true;
    }
    size_t capacity = walk->capacity + walk->capacity / 2 + 4096;
    char *text = asc_alloc(walk->ctx, capacity);
    if (!text) {
        stop(walk, ASC_ERR_MEMORY);
        return false;
    }
    if (walk->text) {
        memcpy(text, walk->text, walk->at);
        asc_free(walk->ctx, walk->text, walk->capacity);
    }
    walk->text = text;
    walk->capacity = capacity;
    return true;
}

static void write_word(asc_text_walk *walk, int word)
{
    if (make_room(walk)) {
        size_t length = (size_t)walk->lexicon.word[word].length;
        memcpy(walk->text + walk->at, walk->lexicon.word[word].text, length);
        walk->text[walk->at + length] = ' ';
        walk->at += length + 1;
    }
}

static void cannot_stand(asc_text_walk *walk, const char *text, size_t length)
{
    bool line_ends = length == 0 && *text == '\n';
    stop(walk, asc_fail(walk->ctx, ASC_ERR_FORMAT, "builtin: line %lld: '%.*s' can't stand after %lld words",
                        (long long)walk->lines + 1, line_ends ? 2 : length < 40 ? (int)length : 40,
                        line_ends ? "\\n" : text, (long long)walk->words));
}

/* The word at the text's position and its length; -1 at the end or if there is none. */
static int peek_word(asc_text_walk *walk, size_t *length)
{
    const char *text = walk->text + walk->at;
    size_t left = walk->capacity - walk->at, n = 0;
    while (n < left && text[n] != ' ' && text[n] != '\n') {
        n++;
    }
    *length = n;
    if (left == 0) {
        stop(walk, ASC_OK);
        return -1;
    }
    return asc_lexicon_find(&walk->lexicon, text, n);
}

/* Goes behind the word, and behind the space that parts it from the next one. */
static void pass_word(asc_text_walk *walk, size_t length)
{
    walk->at += length;
    if (walk->at < walk->capacity && walk->text[walk->at] == ' ') {
        walk->at++;
    }
}

/* ---- the walk ---- */

static int write_next(asc_text_walk *walk, const asc_option *options, int total, const asc_option **taken)
{
    int u = (int)(uniform(walk) * total);
    const asc_option *o = options;
    while (u >= o->weight) {
        u -= o->weight;
        o++;
    }
    *taken = o;
    int word = draw(walk, o);
    write_word(walk, word);
    return word;
}

static int read_next(asc_text_walk *walk, const asc_option *options, int n, const asc_option **taken)
{
    size_t length;
    int word = peek_word(walk, &length);
    if (walk->stopped) {
        return -1;
    }
    for (int i = 0; i < n && word >= 0; i++) {
        if (options[i].class == asc_text_walk_class(walk, word) && options[i].weight > 0) {
            *taken = &options[i];
            pass_word(walk, length);
            return word;
        }
    }
    cannot_stand(walk, walk->text + walk->at, length);
    return -1;
}

/* Logarithms are slow: probabilities are multiplied for as long as the product is far from the smallest double. */
static void count_probability(asc_text_walk *walk, double p)
{
    walk->likelihood *= p;
    if (walk->likelihood < 1e-250) {
        walk->nats -= log(walk->likelihood);
        walk->likelihood = 1;
    }
}

int asc_text_walk_word(asc_text_walk *walk, const asc_option *options, int n)
{
    if (walk->stopped) {
        return -1;
    }
    int total = 0;
    for (int i = 0; i < n; i++) {
        total += options[i].weight;
    }
    const asc_option *taken = NULL;
    int word = walk->writes ? write_next(walk, options, total, &taken) : read_next(walk, options, n, &taken);
    if (walk->stopped) {
        return -1;
    }
    double p = taken->weight * probability(walk, taken, word) / total;
    if (p <= 0) { /* only a text that is read can hold such a word */
        cannot_stand(walk, walk->lexicon.word[word].text, (size_t)walk->lexicon.word[word].length);
        return -1;
    }
    count_probability(walk, p);
    walk->words++;
    if (walk->tell) {
        walk->tell(walk->user, walk, word);
    }
    if (taken->class >= ASC_W_NAME) {
        walk->context = word;
    }
    return word;
}

int asc_text_walk_one(asc_text_walk *walk, asc_word_class class, asc_choice choice, const asc_recall *recall)
{
    return asc_text_walk_word(walk, &(asc_option){class, 1, choice, recall}, 1);
}

void asc_text_walk_line_end(asc_text_walk *walk)
{
    if (walk->stopped) {
        return;
    }
    if (walk->writes) {
        walk->text[walk->at - 1] = '\n';
    } else if (walk->at == walk->capacity) {
        stop(walk, ASC_OK);
        return;
    } else if (walk->text[walk->at] != '\n') {
        cannot_stand(walk, walk->text + walk->at, 1);
        return;
    } else {
        walk->at++;
    }
    if (walk->tell) {
        walk->tell(walk->user, walk, -1);
    }
    walk->lines++;
    walk->context = 0;
}
