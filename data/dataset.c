/* data/dataset.c: the data sources, data sets, and splits as streams of tokens. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <ascgrad/corpus.h>
#include <program/names.h>
#include <program/settings.h>

#include "data/names.h"
#include "data/reading.h"
#include "data/tokenizer.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

extern const asc_data_source asc_source_builtin, asc_source_task, asc_source_records, asc_source_file,
    asc_source_folder;

static const asc_data_source *const sources[] = {&asc_source_builtin, &asc_source_task, &asc_source_records,
                                                &asc_source_file, &asc_source_folder};

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
    char list[400], hint[ASC_NAME_HINT];
    asc_fail(ctx, ASC_ERR_IO, "%s: can't open: %s; expected %s%s", spec, strerror(reason),
             asc_data_source_list(ctx, list, sizeof list), asc_name_hint(nearly_named(ctx, spec), hint));
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
    asc_status status = source->open ? source->open(&h->data, colon ? colon + 1 : NULL) : ASC_OK;
    if (asc_reason(ctx, status, source->name, "open")) {
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

asc_status asc_dataset_stretch(asc_dataset *data, int64_t length)
{
    asc_status status = ASC_NEED(data ? data->ctx : NULL, "dataset_stretch: dataset", data);
    if (status) {
        return status;
    }
    if (!data->source->stretch) {
        return asc_fail_on(data->ctx, ASC_ERR_ARG, "length",
                           " is %lld, but the sequences of %s have lengths of their own",
                           (long long)length, data->spec);
    }
    return asc_reason(data->ctx, data->source->stretch(data, length), data->source->name, "stretch");
}

int64_t asc_dataset_longest(const asc_dataset *data)
{
    return data && data->source->longest ? data->source->longest(data) : 0;
}

const char *asc_dataset_class(const asc_dataset *data, int32_t i)
{
    return data && i >= 0 && data->source->class_name ? data->source->class_name(data, i) : NULL;
}

/* ---- reading ---- */

void asc_reading_end(asc_source_reader *r)
{
    const asc_data_source *source = r->data->source;
    if (source->end) {
        source->end(r);
    }
    asc_free(r->data->ctx, r->self, source->reader_size);
}

asc_status asc_reading_begin(asc_source_reader *r, asc_dataset *data, asc_split_kind split)
{
    const asc_data_source *source = data->source;
    *r = (asc_source_reader){.data = data, .split = split, .self = asc_alloc(data->ctx, source->reader_size)};
    if (!r->self) {
        return ASC_ERR_MEMORY;
    }
    memset(r->self, 0, source->reader_size);
    asc_status status = asc_reason(data->ctx, source->begin(r), source->name, "begin");
    if (status) {
        asc_reading_end(r);
    }
    return status;
}

asc_status asc_reading_next(asc_source_reader *r, asc_text_piece *piece)
{
    *piece = (asc_text_piece){0};
    const asc_data_source *source = r->data->source;
    return asc_reason(r->data->ctx, source->next(r, piece), source->name, "next");
}

static asc_status collect_train(asc_dataset *data, asc_tokenizer *tokenizer)
{
    asc_source_reader reader;
    asc_status status = asc_reading_begin(&reader, data, ASC_SPLIT_TRAIN);
    if (status) {
        return status;
    }
    asc_text_piece piece;
    while (!(status = asc_reading_next(&reader, &piece)) && piece.text &&
           !(status = asc_tokenizer_collect(tokenizer, piece.text, piece.bytes))) {
    }
    asc_reading_end(&reader);
    return status;
}

asc_status asc_dataset_collect(asc_dataset *data, asc_tokenizer *tokenizer)
{
    asc_status status = ASC_NEED(data        ? data->ctx
                                 : tokenizer ? tokenizer->ctx
                                             : NULL,
                                 "dataset_collect: dataset tokenizer", data, tokenizer);
    if (status) {
        return status;
    }
    if (!tokenizer->kind->collect) {
        return ASC_OK;
    }
    status = !data->source->words ? collect_train(data, tokenizer)
                                  : asc_reason(data->ctx, data->source->words(data, tokenizer), data->source->name,
                                               "words");
    if (!status && !asc_tokenizer_is_ready(tokenizer)) {
        status = asc_fail(data->ctx, ASC_ERR_FORMAT, "%s: the train split has no words", data->spec);
    }
    return status;
}

/* ---- as text ---- */

static asc_status read_pieces(asc_source_reader *reader, char **text, size_t *bytes, size_t *capacity)
{
    asc_ctx *ctx = reader->data->ctx;
    asc_text_piece piece;
    while (asc_reading_next(reader, &piece) == ASC_OK && piece.text) {
        if (!asc_grow(ctx, text, capacity, *bytes + piece.bytes, 1)) {
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
    if (status || (status = asc_reading_begin(&reader, data, kind))) {
        return status;
    }
    *bytes = *capacity = 0;
    status = read_pieces(&reader, text, bytes, capacity);
    asc_reading_end(&reader);
    if (status) {
        asc_free(ctx, *text, *capacity);
        *text = NULL;
    }
    return status;
}
