/* data/source_builtin.c: the built-in corpus as a data source. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/builtin.h>
#include <ascgrad/corpus.h>
#include <program/names.h>

enum { N_SPLITS = ASC_SPLIT_TEST + 1, MOST_LETTERS = 31 };

typedef struct corpus {
    int64_t words;
    uint64_t seed;
    asc_entropy known[N_SPLITS]; /* of splits that were written; 0 tokens: not yet */
} corpus;

typedef struct reader {
    char *memory;
    size_t bytes, capacity;
    asc_text *text;
} reader;

/* Reads ":NUMBER" at *at, if there is one; false if it is no number. A seed may be more than a count goes up to. */
static bool read_number(const char **at, uint64_t most, uint64_t *number)
{
    if (**at != ':') {
        return true;
    }
    char text[MOST_LETTERS + 1];
    const char *first = *at + 1;
    size_t n = strcspn(first, ":");
    if (n > MOST_LETTERS || *first < '0' || *first > '9') {
        return false;
    }
    memcpy(text, first, n);
    text[n] = '\0';
    char *end;
    int64_t count = 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end && asc_count_parse(text, &count)) {
        value = (unsigned long long)count;
        end = text + n;
    }
    if (*end || errno || value > most) {
        return false;
    }
    *at = first + n;
    *number = value;
    return true;
}

/* Where a part of the spec is wrong: which, and what it may be. */
static asc_status refuse_part(const asc_dataset *data, const char *what, const char *at)
{
    return asc_fail(data->ctx, ASC_ERR_ARG,
                    "%s: %s '%.*s', expected builtin[:WORDS[:SEED]] with 1 … %d words and a seed of 0 … %llu",
                    data->spec, what, (int)strcspn(at + 1, ":"), at + 1, ASC_BUILTIN_MAX_WORDS,
                    (unsigned long long)UINT64_MAX);
}

static asc_status open_corpus(asc_dataset *data, const char *argument)
{
    (void)argument; /* read with its colon, as SEED is */
    corpus *c = data->self;
    const char *at = data->spec + strlen(data->source->name);
    uint64_t words = ASC_BUILTIN_WORDS;
    c->seed = ASC_BUILTIN_SEED;
    const char *first = at;
    if (!read_number(&at, ASC_BUILTIN_MAX_WORDS, &words) || words == 0) {
        return refuse_part(data, "its words are", first);
    }
    if (!read_number(&at, UINT64_MAX, &c->seed)) {
        return refuse_part(data, "its seed is", at);
    }
    if (*at) {
        return refuse_part(data, "behind its seed stands", at);
    }
    c->words = (int64_t)words;
    return ASC_OK;
}

/* Writes a split, and remembers its entropy. */
static asc_status write_split(asc_dataset *data, asc_split_kind split, reader *r)
{
    corpus *c = data->self;
    asc_entropy *e = &c->known[split];
    return asc_builtin_text(data->ctx, c->words, c->seed, asc_split_name(split), &r->memory, &r->bytes, &r->capacity,
                            &e->nats, &e->tokens);
}

static asc_status begin(asc_source_reader *s)
{
    reader *r = s->self;
    asc_status status = write_split(s->data, s->split, r);
    if (status) {
        return status;
    }
    r->text = asc_text_open_memory(s->data->ctx, s->data->spec, r->memory, r->bytes, 0);
    return r->text ? ASC_OK : asc_error(s->data->ctx);
}

static asc_status next(asc_source_reader *s, asc_text_piece *piece)
{
    return asc_text_next(((reader *)s->self)->text, &piece->text, &piece->bytes);
}

static void end(asc_source_reader *s)
{
    reader *r = s->self;
    asc_text_close(r->text);
    asc_free(s->data->ctx, r->memory, r->capacity);
}

static asc_status entropy(asc_dataset *data, asc_split_kind split, asc_entropy *e)
{
    const corpus *c = data->self;
    asc_status status = ASC_OK;
    if (c->known[split].tokens == 0) {
        reader r = {0};
        status = write_split(data, split, &r);
        asc_free(data->ctx, r.memory, r.capacity);
    }
    if (!status) {
        *e = c->known[split];
    }
    return status;
}

const asc_data_source asc_source_builtin = {
    .abi = ASC_CORPUS_ABI,
    .name = "builtin",
    .spec = "builtin[:WORDS[:SEED]]",
    .size = sizeof(corpus),
    .reader_size = sizeof(reader),
    .open = open_corpus,
    .begin = begin,
    .next = next,
    .end = end,
    .entropy = entropy,
};
