/* data/dataset.c: data sets by their spec, and splits as streams of tokens. */
#include "data/dataset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <ascgrad/builtin.h>

#include "data/tokenizer.h"
#include "tensor/need.h"

static const char BUILTIN[] = "builtin";

const char *asc_split_name(asc_split_kind kind)
{
    static const char *const names[ASC_N_SPLITS] = {"train", "valid", "test"};
    return (unsigned)kind < ASC_N_SPLITS ? names[kind] : NULL;
}

/* ---- opening ---- */

/* Reads ":NUMBER" at *at, if there is one; false if it is no number. */
static bool read_number(const char **at, uint64_t most, uint64_t *number)
{
    if (**at != ':') {
        return true;
    }
    const char *digits = *at + 1;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || errno || value > most) {
        return false;
    }
    *at = end;
    *number = value;
    return true;
}

static bool is_builtin(const char *spec)
{
    size_t n = sizeof BUILTIN - 1;
    return strncmp(spec, BUILTIN, n) == 0 && (spec[n] == ':' || spec[n] == 0);
}

static asc_status parse_builtin(asc_dataset *dataset)
{
    const char *at = dataset->path + sizeof BUILTIN - 1;
    uint64_t words = ASC_BUILTIN_WORDS;
    dataset->seed = ASC_BUILTIN_SEED;
    if (!read_number(&at, ASC_BUILTIN_MAX_WORDS, &words) || !read_number(&at, UINT64_MAX, &dataset->seed) || *at ||
        words == 0) {
        return asc_fail(dataset->ctx, ASC_ERR_ARG, "%s: expected builtin[:WORDS[:SEED]] with 1 … %d words",
                        dataset->path, ASC_BUILTIN_MAX_WORDS);
    }
    dataset->source = ASC_FROM_BUILTIN;
    dataset->words = (int64_t)words;
    return ASC_OK;
}

static bool is_nearly_builtin(const char *path)
{
    char name[sizeof BUILTIN + 2];
    size_t n = strcspn(path, ":");
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name), path);
    return n < sizeof name && asc_name_distance(name, BUILTIN) <= 2;
}

static asc_status look_at_path(asc_dataset *dataset)
{
    struct stat info;
    if (stat(dataset->path, &info)) {
        int reason = errno;
        return asc_fail(dataset->ctx, ASC_ERR_IO, "%s: can't open: %s; expected a text file, a folder, or builtin%s",
                        dataset->path, strerror(reason),
                        is_nearly_builtin(dataset->path) ? "; did you mean 'builtin'?" : "");
    }
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
        return asc_fail(dataset->ctx, ASC_ERR_IO,
                        "%s: is neither a regular file nor a folder; it is read several times", dataset->path);
    }
    dataset->source = S_ISDIR(info.st_mode) ? ASC_FROM_FOLDER : ASC_FROM_FILE;
    return ASC_OK;
}

asc_dataset *asc_dataset_open(asc_ctx *ctx, const char *spec)
{
    if (ASC_NEED(ctx, "dataset_open: spec", spec)) {
        return NULL;
    }
    if (!*spec) {
        asc_fail(ctx, ASC_ERR_ARG, "data set: nothing was given, expected a text file, a folder, or builtin");
        return NULL;
    }
    size_t path_bytes = strlen(spec) + 1;
    asc_dataset *dataset = asc_alloc(ctx, sizeof *dataset + path_bytes);
    if (!dataset) {
        return NULL;
    }
    *dataset = (asc_dataset){.ctx = ctx, .path_bytes = path_bytes};
    memcpy(dataset->path, spec, path_bytes);
    if (is_builtin(spec) ? parse_builtin(dataset) : look_at_path(dataset)) {
        asc_dataset_free(dataset);
        return NULL;
    }
    return dataset;
}

void asc_dataset_free(asc_dataset *dataset)
{
    if (dataset) {
        asc_free(dataset->ctx, dataset, sizeof *dataset + dataset->path_bytes);
    }
}

/* ---- reading ---- */

/* Whether the tokenizer has more than its special tokens. */
static bool knows_words(const asc_tokenizer *tokenizer)
{
    return !tokenizer->kind->collect || tokenizer->vocabulary.n > 2;
}

asc_status asc_dataset_collect(asc_dataset *dataset, asc_tokenizer *tokenizer)
{
    asc_status status = ASC_NEED(dataset ? dataset->ctx : tokenizer ? tokenizer->ctx : NULL,
                                 "dataset_collect: dataset tokenizer", dataset, tokenizer);
    if (status) {
        return status;
    }
    if (!tokenizer->kind->collect) {
        return ASC_OK;
    }
    asc_lines lines;
    status = asc_lines_open(&lines, dataset, ASC_TRAIN);
    if (status) {
        return status;
    }
    const char *line;
    size_t bytes;
    while (!(status = asc_lines_next(&lines, &line, &bytes)) && line &&
           !(status = asc_tokenizer_collect(tokenizer, line, bytes))) {
    }
    asc_lines_close(&lines);
    if (!status && !knows_words(tokenizer)) {
        status = asc_fail(dataset->ctx, ASC_ERR_FORMAT, "%s: the train split has no words", dataset->path);
    }
    return status;
}

static asc_status read_tokens(asc_lines *lines, const asc_tokenizer *tokenizer, asc_split *split, asc_ids *ids)
{
    uLong checksum = crc32(0, NULL, 0);
    const char *line;
    size_t bytes;
    asc_status status;
    while (!(status = asc_lines_next(lines, &line, &bytes)) && line) {
        checksum = crc32_z(checksum, (const Bytef *)line, bytes);
        split->bytes += (int64_t)bytes;
        status = asc_tokenizer_encode(tokenizer, line, bytes, ASC_ENCODE_CORPUS, ids);
        if (status) {
            break;
        }
    }
    split->checksum = (uint32_t)checksum;
    return status;
}

/* Gives the split its tokens, in memory of just their size. */
static asc_status take_tokens(asc_ctx *ctx, asc_split *split, const asc_ids *ids)
{
    int32_t *tokens = asc_alloc(ctx, ids->n * sizeof *tokens);
    if (!tokens) {
        return ASC_ERR_MEMORY;
    }
    memcpy(tokens, ids->data, ids->n * sizeof *tokens);
    split->tokens = tokens;
    split->n_tokens = (int64_t)ids->n;
    return ASC_OK;
}

static asc_status read_split(asc_dataset *dataset, asc_split_kind kind, const asc_tokenizer *tokenizer,
                             asc_split *split)
{
    asc_lines lines;
    asc_status status = asc_lines_open(&lines, dataset, kind);
    if (status) {
        return status;
    }
    asc_ids ids = {NULL, 0, 0};
    split->source_nats = lines.source_nats;
    split->source_tokens = lines.source_tokens;
    status = read_tokens(&lines, tokenizer, split, &ids);
    asc_lines_close(&lines);
    if (!status && ids.n < 2) {
        status =
            asc_fail(dataset->ctx, ASC_ERR_FORMAT, "%s: the %s split has %lld bytes and %zu tokens, expected 2 or more",
                     dataset->path, asc_split_name(kind), (long long)split->bytes, ids.n);
    }
    if (!status) {
        status = take_tokens(dataset->ctx, split, &ids);
    }
    asc_ids_free(dataset->ctx, &ids);
    return status;
}

asc_split *asc_split_load(asc_dataset *dataset, asc_split_kind kind, const asc_tokenizer *tokenizer)
{
    asc_ctx *ctx = dataset ? dataset->ctx : tokenizer ? tokenizer->ctx : NULL;
    if (ASC_NEED(ctx, "split_load: dataset tokenizer", dataset, tokenizer)) {
        return NULL;
    }
    if (!asc_split_name(kind)) {
        asc_fail(ctx, ASC_ERR_ARG, "split: %d, expected ASC_TRAIN, ASC_VALID or ASC_TEST", (int)kind);
        return NULL;
    }
    if (!knows_words(tokenizer)) {
        asc_fail(ctx, ASC_ERR_STATE, "%s: the tokenizer %s has no words yet: asc_dataset_collect comes first",
                 dataset->path, asc_tokenizer_name(tokenizer));
        return NULL;
    }
    asc_split *split = asc_alloc(ctx, sizeof *split);
    if (!split) {
        return NULL;
    }
    *split = (asc_split){0};
    if (read_split(dataset, kind, tokenizer, split)) {
        asc_split_free(ctx, split);
        return NULL;
    }
    return split;
}

void asc_split_free(asc_ctx *ctx, asc_split *split)
{
    if (ctx && split) {
        asc_free(ctx, (void *)split->tokens, (size_t)split->n_tokens * sizeof *split->tokens);
        asc_free(ctx, split, sizeof *split);
    }
}
