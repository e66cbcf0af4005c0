/* data/split_read.c: a split's text to tokens. */
#include <string.h>
#include <zlib.h>

#include <ascgrad/corpus.h>

#include "data/reading.h"
#include "data/tokenizer.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* A split's tokens while they are read. */
typedef struct stream {
    asc_ids ids;
    uint8_t *given; /* of the first n_given ids, as asc_split has it; the others are targets */
    size_t n_given, given_capacity;
    bool by_line; /* the lines are kept */
    asc_split_line *lines;
    size_t n_lines, line_capacity;
    int64_t *starts; /* of each sequence that has ended; the next begins where the last has */
    int32_t *labels;
    int64_t *seconds; /* of each sequence, as asc_split has it */
    int64_t second;   /* of the one that has begun; -1: not yet */
    int64_t texts;    /* given pieces of it so far */
    size_t n_sequences, starts_capacity, labels_capacity, seconds_capacity;
} stream;

/* Marks the ids from number `from` on as given. */
static asc_status mark_given(asc_ctx *ctx, stream *s, size_t from)
{
    if (!asc_grow(ctx, &s->given, &s->given_capacity, s->ids.n, 1)) {
        return ASC_ERR_MEMORY;
    }
    memset(s->given + s->n_given, 0, from - s->n_given);
    memset(s->given + from, 1, s->ids.n - from);
    s->n_given = s->ids.n;
    return ASC_OK;
}

static asc_status keep_line(asc_ctx *ctx, stream *s, size_t from, size_t bytes)
{
    if (!asc_grow(ctx, &s->lines, &s->line_capacity, s->n_lines + 1, sizeof *s->lines)) {
        return ASC_ERR_MEMORY;
    }
    s->lines[s->n_lines++] = (asc_split_line){(int64_t)(s->ids.n - from), (int64_t)bytes};
    return ASC_OK;
}

/* A sequence ends here, and begins at id number `first`. */
static asc_status end_sequence(const asc_source_reader *reader, stream *s, size_t *first, int32_t label)
{
    const asc_dataset *data = reader->data;
    asc_ctx *ctx = data->ctx;
    if (!asc_grow(ctx, &s->starts, &s->starts_capacity, s->n_sequences + 1, sizeof *s->starts) ||
        !asc_grow(ctx, &s->labels, &s->labels_capacity, s->n_sequences + 1, sizeof *s->labels) ||
        !asc_grow(ctx, &s->seconds, &s->seconds_capacity, s->n_sequences + 1, sizeof *s->seconds)) {
        return ASC_ERR_MEMORY;
    }
    if (s->ids.n - *first < 2 || (data->source->class_name && s->n_given <= *first)) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: number %lld of the %s split has %zu tokens%s", data->spec,
                        (long long)s->n_sequences + (long long)reader->skipped + 1, asc_split_name(reader->split),
                        s->ids.n - *first, s->ids.n - *first < 2 ? ", expected 2 or more" : ", and its text has none");
    }
    s->starts[s->n_sequences] = (int64_t)*first;
    s->seconds[s->n_sequences] = s->second >= 0 ? s->second : (int64_t)s->n_given;
    s->labels[s->n_sequences++] = label;
    s->second = -1;
    s->texts = 0;
    *first = s->ids.n;
    return ASC_OK;
}

/* What stands for the end of a line where a tokenizer has no token for it, and at the start of a text with a class:
 * BERT's [SEP] and [CLS]. -1: nothing. */
typedef struct marks {
    int32_t separator, start;
} marks;

static marks find_marks(const asc_dataset *data, const asc_tokenizer *tokenizer)
{
    bool own = data->source->sequences && tokenizer->eos < 0;
    return (marks){own ? asc_vocabulary_find(tokenizer, "[SEP]", 5) : -1,
                   own && asc_dataset_class(data, 0) ? asc_vocabulary_find(tokenizer, "[CLS]", 5) : -1};
}

static asc_status encode_piece(const asc_source_reader *reader, const asc_tokenizer *tokenizer, const marks *m,
                               const asc_text_piece *piece, bool starts, asc_ids *ids)
{
    asc_ctx *ctx = reader->data->ctx;
    unsigned flags = reader->data->source->sequences ? 0 : ASC_ENCODE_CORPUS;
    asc_status status = starts && m->start >= 0 ? asc_ids_push(ctx, ids, m->start) : ASC_OK;
    status = status ? status : asc_tokenizer_encode(tokenizer, piece->text, piece->bytes, flags, ids);
    bool ends = m->separator >= 0 && piece->bytes > 0 && piece->text[piece->bytes - 1] == '\n';
    return status || !ends ? status : asc_ids_push(ctx, ids, m->separator);
}

static asc_status read_tokens(asc_source_reader *reader, const asc_tokenizer *tokenizer, asc_split *split, stream *s)
{
    uLong checksum = crc32(0, NULL, 0);
    bool sequences = reader->data->source->sequences;
    const marks m = find_marks(reader->data, tokenizer);
    size_t first = 0;
    asc_text_piece piece;
    asc_status status;
    while (!(status = asc_reading_next(reader, &piece)) && piece.text) {
        size_t from = s->ids.n;
        checksum = crc32_z(checksum, (const Bytef *)piece.text, piece.bytes);
        split->bytes += (int64_t)piece.bytes;
        s->second = piece.given && ++s->texts == 2 ? (int64_t)from : s->second;
        status = encode_piece(reader, tokenizer, &m, &piece, from == first, &s->ids);
        status = status || !piece.given ? status : mark_given(tokenizer->ctx, s, from);
        status = status || !s->by_line ? status : keep_line(tokenizer->ctx, s, from, piece.bytes);
        status = status || !(sequences && piece.last) ? status : end_sequence(reader, s, &first, piece.label);
        if (status) {
            break;
        }
    }
    split->checksum = (uint32_t)checksum;
    split->skipped = reader->skipped;
    return status;
}

/* A copy of n elements in memory of just their size; NULL where there are none, or no memory. */
static void *take(asc_ctx *ctx, const void *from, size_t n, size_t element)
{
    void *copy = n > 0 ? asc_alloc(ctx, n * element) : NULL;
    if (copy) {
        memcpy(copy, from, n * element);
    }
    return copy;
}

/* Gives the split its tokens. */
static asc_status take_tokens(const asc_dataset *data, asc_split *split, stream *s)
{
    asc_ctx *ctx = data->ctx;
    size_t n = s->ids.n, sequences = s->n_sequences;
    split->tokens = take(ctx, s->ids.data, n, sizeof *split->tokens);
    split->n_tokens = (int64_t)n;
    split->lines = take(ctx, s->lines, s->n_lines, sizeof *split->lines);
    split->n_lines = (int64_t)s->n_lines;
    uint8_t *given = s->given ? asc_alloc(ctx, n) : NULL;
    if (given) {
        memset(given, 0, n);
        memcpy(given, s->given, s->n_given);
    }
    split->given = given;
    int64_t *starts = sequences ? asc_alloc(ctx, (sequences + 1) * sizeof *starts) : NULL;
    if (starts) {
        memcpy(starts, s->starts, sequences * sizeof *starts);
        starts[sequences] = split->n_tokens;
    }
    split->starts = starts;
    split->n_sequences = starts ? (int64_t)sequences : 0;
    if (asc_error(ctx)) {
        return asc_error(ctx);
    }
    if (asc_dataset_class(data, 0)) {
        split->labels = take(ctx, s->labels, sequences, sizeof *split->labels);
        split->seconds = take(ctx, s->seconds, sequences, sizeof *split->seconds);
        while (asc_dataset_class(data, split->classes)) {
            split->classes++;
        }
    }
    return asc_error(ctx);
}

/* All but the first are predicted: some must be there, and not given. */
static asc_status check_targets(const asc_dataset *data, asc_split_kind kind, const asc_split *split)
{
    if (split->n_tokens < 2) {
        return asc_fail(data->ctx, ASC_ERR_FORMAT, "%s: the %s split has %lld bytes and %lld tokens, expected 2 or "
                        "more", data->spec, asc_split_name(kind), (long long)split->bytes,
                        (long long)split->n_tokens);
    }
    if (split->classes == 0 && asc_split_targets(split) == 0) {
        return asc_fail(data->ctx, ASC_ERR_FORMAT, "%s: in the %s split all tokens are given, expected some to predict",
                        data->spec, asc_split_name(kind));
    }
    return ASC_OK;
}

static void stream_free(asc_ctx *ctx, stream *s)
{
    asc_ids_free(ctx, &s->ids);
    asc_free(ctx, s->given, s->given_capacity);
    asc_free(ctx, s->lines, s->line_capacity * sizeof *s->lines);
    asc_free(ctx, s->starts, s->starts_capacity * sizeof *s->starts);
    asc_free(ctx, s->labels, s->labels_capacity * sizeof *s->labels);
    asc_free(ctx, s->seconds, s->seconds_capacity * sizeof *s->seconds);
}

static asc_status read_split(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer, bool by_line,
                             asc_split *split)
{
    asc_source_reader reader;
    asc_status status = asc_reading_begin(&reader, data, kind);
    if (status) {
        return status;
    }
    stream s = {.by_line = by_line && !data->source->sequences, .second = -1};
    status = read_tokens(&reader, tokenizer, split, &s);
    asc_reading_end(&reader);
    status = status ? status : take_tokens(data, split, &s);
    status = status ? status : check_targets(data, kind, split);
    stream_free(data->ctx, &s);
    return status;
}

static asc_split *load(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer, bool by_line)
{
    asc_ctx *ctx = data->ctx;
    if (!asc_split_name(kind)) {
        asc_fail(ctx, ASC_ERR_ARG, "split: %d, expected ASC_SPLIT_TRAIN, ASC_SPLIT_VALID or ASC_SPLIT_TEST", (int)kind);
        return NULL;
    }
    if (!asc_tokenizer_is_ready(tokenizer)) {
        asc_fail(ctx, ASC_ERR_STATE, "%s: the tokenizer %s has no words yet: collect them from the data first",
                 data->spec, asc_tokenizer_name(tokenizer));
        return NULL;
    }
    asc_split *split = asc_alloc(ctx, sizeof *split);
    if (!split) {
        return NULL;
    }
    *split = (asc_split){.unknown = asc_tokenizer_unknown(tokenizer)};
    if (read_split(data, kind, tokenizer, by_line, split)) {
        asc_split_free(ctx, split);
        return NULL;
    }
    return split;
}

static bool have(const asc_dataset *data, const asc_tokenizer *tokenizer, const char *names)
{
    return ASC_NEED(data ? data->ctx : tokenizer ? tokenizer->ctx : NULL, names, data, tokenizer) == ASC_OK;
}

asc_split *asc_split_load(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer)
{
    return have(data, tokenizer, "split_load: dataset tokenizer") ? load(data, kind, tokenizer, false) : NULL;
}

asc_split *asc_split_load_lines(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer)
{
    return have(data, tokenizer, "split_load_lines: dataset tokenizer") ? load(data, kind, tokenizer, true) : NULL;
}

void asc_split_free(asc_ctx *ctx, asc_split *split)
{
    if (ctx && split) {
        asc_free(ctx, (void *)split->tokens, (size_t)split->n_tokens * sizeof *split->tokens);
        asc_free(ctx, (void *)split->given, (size_t)split->n_tokens);
        asc_free(ctx, (void *)split->lines, (size_t)split->n_lines * sizeof *split->lines);
        asc_free(ctx, (void *)split->starts, ((size_t)split->n_sequences + 1) * sizeof *split->starts);
        asc_free(ctx, (void *)split->labels, (size_t)split->n_sequences * sizeof *split->labels);
        asc_free(ctx, (void *)split->seconds, (size_t)split->n_sequences * sizeof *split->seconds);
        asc_free(ctx, split, sizeof *split);
    }
}
