/* data/dataset.c: the data sources, data sets, and splits as streams of tokens. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <ascgrad/corpus.h>

#include "data/names.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

extern const asc_data_source asc_source_builtin, asc_source_file, asc_source_folder;

static const asc_data_source *const sources[] = {&asc_source_builtin, &asc_source_file, &asc_source_folder};

enum { N_SOURCES = sizeof sources / sizeof sources[0] };

/* ---- the table ---- */

const asc_data_source *asc_data_source_at(const asc_ctx *ctx, int i)
{
    return i < 0 ? NULL : i < N_SOURCES ? sources[i] : asc_added_at(ctx, sources, i - N_SOURCES);
}

/* The first source from number `from` on that takes the spec, by its name or by a look at the file. */
static const asc_data_source *find_from(const asc_ctx *ctx, const char *spec, int from, bool by_name)
{
    const asc_data_source *s;
    for (int i = from; (s = asc_data_source_at(ctx, i)); i++) {
        if (by_name ? !s->takes && asc_spec_names(spec, s->name) : s->takes && s->takes(spec)) {
            return s;
        }
    }
    return NULL;
}

const asc_data_source *asc_data_source_find(const asc_ctx *ctx, const char *spec)
{
    if (!spec || !*spec) {
        return NULL;
    }
    const asc_data_source *s = find_from(ctx, spec, 0, true);
    s = s ? s : find_from(ctx, spec, N_SOURCES, false);
    return s ? s : find_from(ctx, spec, 0, false);
}

const char *asc_data_source_list(const asc_ctx *ctx, char *text, size_t bytes)
{
    if (!text) {
        return NULL;
    }
    asc_name_list list = asc_list_begin(text, bytes);
    for (int i = 0; asc_data_source_at(ctx, i); i++) {
        asc_list_add(&list, asc_data_source_at(ctx, i)->spec, !asc_data_source_at(ctx, i + 1));
    }
    return text;
}

asc_status asc_data_source_register(asc_ctx *ctx, const asc_data_source *source)
{
    asc_status status = ASC_NEED(ctx, "data_source_register: source", source);
    if (status) {
        return status;
    }
    if (source->abi != ASC_CORPUS_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "data_source_register: the source has ABI %u, expected %d",
                        source->abi, ASC_CORPUS_ABI);
    }
    if (!source->spec || !source->begin || !source->next) {
        return asc_fail(ctx, ASC_ERR_ARG, "data_source_register: %s: spec, begin and next are needed",
                        source->name ? source->name : "(no name)");
    }
    if (asc_name_check(ctx, "data_source_register", source->name)) {
        return asc_error(ctx);
    }
    for (int i = 0; asc_data_source_at(ctx, i); i++) {
        if (strcmp(asc_data_source_at(ctx, i)->name, source->name) == 0) {
            return asc_fail(ctx, ASC_ERR_ARG, "data_source_register: %s: there is a data source of this name",
                            source->name);
        }
    }
    return asc_added_put(ctx, sources, source);
}

/* ---- opening ---- */

/* The name of a source that a spec nearly names; NULL. */
static const char *nearly_named(const asc_ctx *ctx, const char *spec)
{
    char name[64];
    int n = (int)strcspn(spec, ":");
    snprintf(name, sizeof name, "%.*s", n < (int)sizeof name ? n : (int)sizeof name - 1, spec);
    const asc_data_source *s;
    for (int i = 0; (s = asc_data_source_at(ctx, i)); i++) {
        if (!s->takes && asc_name_distance(name, s->name) <= 2) {
            return s->name;
        }
    }
    return NULL;
}

static void refuse(asc_ctx *ctx, const char *spec)
{
    struct stat info;
    if (stat(spec, &info) == 0) {
        asc_fail(ctx, ASC_ERR_IO, "%s: is neither a regular file nor a folder; it is read several times", spec);
        return;
    }
    int reason = errno;
    char list[400];
    const char *near = nearly_named(ctx, spec);
    asc_fail(ctx, ASC_ERR_IO, "%s: can't open: %s; expected %s%s%s%s", spec, strerror(reason),
             asc_data_source_list(ctx, list, sizeof list), near ? "; did you mean '" : "", near ? near : "",
             near ? "'?" : "");
}

/* A data set and what it owns, in one piece of memory: after `self` the spec. */
typedef struct holder {
    asc_dataset data;
    size_t bytes;
    _Alignas(64) unsigned char self[];
} holder;

asc_dataset *asc_dataset_open(asc_ctx *ctx, const char *spec)
{
    char list[400];
    if (ASC_NEED(ctx, "dataset_open: spec", spec)) {
        return NULL;
    }
    if (!*spec) {
        asc_fail(ctx, ASC_ERR_ARG, "data set: nothing was given, expected %s",
                 asc_data_source_list(ctx, list, sizeof list));
        return NULL;
    }
    const asc_data_source *source = asc_data_source_find(ctx, spec);
    if (!source) {
        refuse(ctx, spec);
        return NULL;
    }
    size_t bytes = sizeof(holder) + source->size + strlen(spec) + 1;
    holder *h = asc_alloc(ctx, bytes);
    if (!h) {
        return NULL;
    }
    memset(h, 0, bytes);
    h->bytes = bytes;
    h->data = (asc_dataset){ctx, source, h->self, strcpy((char *)h->self + source->size, spec)};
    const char *colon = source->takes ? NULL : strchr(h->data.spec, ':');
    if (source->open && source->open(&h->data, colon ? colon + 1 : NULL)) {
        asc_dataset_free(&h->data);
        return NULL;
    }
    return &h->data;
}

void asc_dataset_free(asc_dataset *data)
{
    if (data) {
        if (data->source->close) {
            data->source->close(data);
        }
        asc_free(data->ctx, data, ((holder *)data)->bytes);
    }
}

bool asc_dataset_entropy(asc_dataset *data, asc_split_kind kind, asc_entropy *entropy)
{
    if (!entropy) {
        return false;
    }
    *entropy = (asc_entropy){NAN, 0};
    bool asked = data && asc_split_name(kind) && data->source->entropy;
    return asked && data->source->entropy(data, kind, entropy) == ASC_OK;
}

/* ---- reading ---- */

static void reader_end(asc_source_reader *r)
{
    const asc_data_source *source = r->data->source;
    if (source->end) {
        source->end(r);
    }
    asc_free(r->data->ctx, r->self, source->reader_size);
}

/* On failure there is nothing to end. */
static asc_status reader_begin(asc_source_reader *r, asc_dataset *data, asc_split_kind split)
{
    const asc_data_source *source = data->source;
    *r = (asc_source_reader){data, split, asc_alloc(data->ctx, source->reader_size)};
    if (!r->self) {
        return ASC_ERR_MEMORY;
    }
    memset(r->self, 0, source->reader_size);
    asc_status status = source->begin(r);
    if (status) {
        reader_end(r);
    }
    return status;
}

static asc_status reader_next(asc_source_reader *r, asc_text_piece *piece)
{
    *piece = (asc_text_piece){0};
    return r->data->source->next(r, piece);
}

static bool is_ready(const asc_tokenizer *tokenizer)
{
    return !tokenizer->kind->is_ready || tokenizer->kind->is_ready(tokenizer);
}

asc_status asc_dataset_collect(asc_dataset *data, asc_tokenizer *tokenizer)
{
    asc_status status = ASC_NEED(data ? data->ctx : tokenizer ? tokenizer->ctx : NULL,
                                 "dataset_collect: dataset tokenizer", data, tokenizer);
    if (status) {
        return status;
    }
    if (!tokenizer->kind->collect) {
        return ASC_OK;
    }
    asc_source_reader reader;
    status = reader_begin(&reader, data, ASC_TRAIN);
    if (status) {
        return status;
    }
    asc_text_piece piece;
    while (!(status = reader_next(&reader, &piece)) && piece.text &&
           !(status = asc_tokenizer_collect(tokenizer, piece.text, piece.bytes))) {
    }
    reader_end(&reader);
    if (!status && !is_ready(tokenizer)) {
        status = asc_fail(data->ctx, ASC_ERR_FORMAT, "%s: the train split has no words", data->spec);
    }
    return status;
}

/* A split's tokens while they are read. */
typedef struct stream {
    asc_ids ids;
    uint8_t *given; /* of the first n_given ids, as asc_split has it; the others are targets */
    size_t n_given, capacity;
    bool by_line; /* the lines are kept */
    asc_split_line *lines;
    size_t n_lines, line_capacity;
} stream;

/* Marks the ids from number `from` on as given. */
static asc_status mark_given(asc_ctx *ctx, stream *s, size_t from)
{
    void *given = s->given;
    if (!asc_grow(ctx, &given, &s->capacity, s->ids.n, 1)) {
        return ASC_ERR_MEMORY;
    }
    s->given = given;
    memset(s->given + s->n_given, 0, from - s->n_given);
    memset(s->given + from, 1, s->ids.n - from);
    s->n_given = s->ids.n;
    return ASC_OK;
}

static asc_status keep_line(asc_ctx *ctx, stream *s, size_t from, size_t bytes)
{
    void *lines = s->lines;
    if (!asc_grow(ctx, &lines, &s->line_capacity, s->n_lines + 1, sizeof *s->lines)) {
        return ASC_ERR_MEMORY;
    }
    s->lines = lines;
    s->lines[s->n_lines++] = (asc_split_line){(int64_t)(s->ids.n - from), (int64_t)bytes};
    return ASC_OK;
}

static asc_status read_tokens(asc_source_reader *reader, const asc_tokenizer *tokenizer, asc_split *split, stream *s)
{
    uLong checksum = crc32(0, NULL, 0);
    asc_text_piece piece;
    asc_status status;
    while (!(status = reader_next(reader, &piece)) && piece.text) {
        size_t from = s->ids.n;
        checksum = crc32_z(checksum, (const Bytef *)piece.text, piece.bytes);
        split->bytes += (int64_t)piece.bytes;
        status = asc_tokenizer_encode(tokenizer, piece.text, piece.bytes, ASC_ENCODE_CORPUS, &s->ids);
        status = status || !piece.given ? status : mark_given(tokenizer->ctx, s, from);
        status = status || !s->by_line ? status : keep_line(tokenizer->ctx, s, from, piece.bytes);
        if (status) {
            break;
        }
    }
    split->checksum = (uint32_t)checksum;
    return status;
}

/* Gives the split its tokens and lines, in memory of just their size. */
static asc_status take_tokens(asc_ctx *ctx, asc_split *split, const stream *s)
{
    size_t n = s->ids.n;
    int32_t *tokens = asc_alloc(ctx, n * sizeof *tokens);
    uint8_t *given = s->given ? asc_alloc(ctx, n) : NULL;
    split->tokens = tokens;
    split->given = given;
    split->n_tokens = (int64_t)n;
    asc_split_line *lines = s->by_line ? asc_alloc(ctx, s->n_lines * sizeof *lines) : NULL;
    split->lines = lines;
    split->n_lines = (int64_t)s->n_lines;
    if (!tokens || (s->given && !given) || (s->by_line && !lines)) {
        return ASC_ERR_MEMORY;
    }
    if (s->n_lines > 0) {
        memcpy(lines, s->lines, s->n_lines * sizeof *lines);
    }
    if (n > 0) {
        memcpy(tokens, s->ids.data, n * sizeof *tokens);
    }
    if (given) {
        memset(given, 0, n);
        memcpy(given, s->given, s->n_given);
    }
    return ASC_OK;
}

/* All but the first are predicted: some must be there, and not given. */
static asc_status check_targets(const asc_dataset *data, asc_split_kind kind, const asc_split *split)
{
    if (split->n_tokens < 2) {
        return asc_fail(data->ctx, ASC_ERR_FORMAT, "%s: the %s split has %lld bytes and %lld tokens, expected 2 or "
                        "more", data->spec, asc_split_name(kind), (long long)split->bytes,
                        (long long)split->n_tokens);
    }
    if (asc_block_targets(split, split->n_tokens - 1, (const int32_t[]){0}, 1) == 0) {
        return asc_fail(data->ctx, ASC_ERR_FORMAT, "%s: in the %s split all tokens are given, expected some to predict",
                        data->spec, asc_split_name(kind));
    }
    return ASC_OK;
}

static asc_status read_split(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer, bool by_line,
                             asc_split *split)
{
    asc_source_reader reader;
    asc_status status = reader_begin(&reader, data, kind);
    if (status) {
        return status;
    }
    stream s = {.by_line = by_line};
    status = read_tokens(&reader, tokenizer, split, &s);
    reader_end(&reader);
    status = status ? status : take_tokens(data->ctx, split, &s);
    status = status ? status : check_targets(data, kind, split);
    asc_ids_free(data->ctx, &s.ids);
    asc_free(data->ctx, s.given, s.capacity);
    asc_free(data->ctx, s.lines, s.line_capacity * sizeof *s.lines);
    return status;
}

static asc_split *load(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer, bool by_line)
{
    asc_ctx *ctx = data->ctx;
    if (!asc_split_name(kind)) {
        asc_fail(ctx, ASC_ERR_ARG, "split: %d, expected ASC_TRAIN, ASC_VALID or ASC_TEST", (int)kind);
        return NULL;
    }
    if (!is_ready(tokenizer)) {
        asc_fail(ctx, ASC_ERR_STATE, "%s: the tokenizer %s has no words yet: asc_dataset_collect comes first",
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
        asc_free(ctx, split, sizeof *split);
    }
}

/* ---- as text ---- */

static asc_status read_pieces(asc_source_reader *reader, char **text, size_t *bytes, size_t *capacity)
{
    asc_ctx *ctx = reader->data->ctx;
    asc_text_piece piece;
    while (reader_next(reader, &piece) == ASC_OK && piece.text) {
        if (!asc_grow(ctx, (void **)text, capacity, *bytes + piece.bytes, 1)) {
            break;
        }
        memcpy(*text + *bytes, piece.text, piece.bytes);
        *bytes += piece.bytes;
    }
    return asc_error(ctx);
}

asc_status asc_dataset_text(asc_dataset *data, asc_split_kind kind, char **text, size_t *bytes, size_t *capacity)
{
    asc_ctx *ctx = data ? data->ctx : NULL;
    if (text) {
        *text = NULL;
    }
    asc_status status = ASC_NEED(ctx, "dataset_text: dataset text bytes capacity", data, text, bytes, capacity);
    if (!status && !asc_split_name(kind)) {
        status = asc_fail(ctx, ASC_ERR_ARG, "dataset_text: kind is %d, expected an asc_split_kind", (int)kind);
    }
    asc_source_reader reader;
    if (status || (status = reader_begin(&reader, data, kind))) {
        return status;
    }
    *bytes = *capacity = 0;
    status = read_pieces(&reader, text, bytes, capacity);
    reader_end(&reader);
    if (status) {
        asc_free(ctx, *text, *capacity);
        *text = NULL;
    }
    return status;
}
