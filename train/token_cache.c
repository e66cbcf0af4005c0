/* train/token_cache.c: tokenised text on disk. A file is TEXT-BYTES-VOCABULARY.tokens, by the CRC-32 of text and
 * vocabulary and the text's length; it holds the ids as bytes, little end first, and carries the checksums of
 * ascgrad/safetensors.h. */
#include "train/token_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <ascgrad/safetensors.h>
#include <ascgrad/tensor.h>

#include "data/reading.h"
#include "tensor/ctx.h"
#include "train/path.h"
#include "train/state.h"

enum { WIDTH = 4 }; /* bytes of an id */
#define FORMAT "ascgrad tokens 1"

/* What a split is found by. */
typedef struct key {
    uint32_t crc;
    int64_t bytes;
    char vocab[9];
} key;

/* Whether the split's text lies in files, and all of it is there to be learned. */
static bool is_text_file(const asc_dataset *data)
{
    const char *name = data->source->name;
    return strcmp(name, "file") == 0 || strcmp(name, "folder") == 0;
}

/* Reads the text to its end. */
static asc_status sum_text(asc_dataset *data, asc_split_kind kind, key *k)
{
    asc_source_reader reader;
    asc_text_piece piece;
    uLong crc = crc32(0, NULL, 0);
    asc_status status = asc_reading_begin(&reader, data, kind);
    if (status) {
        return status;
    }
    while (!(status = asc_reading_next(&reader, &piece)) && piece.text) {
        crc = crc32_z(crc, (const Bytef *)piece.text, piece.bytes);
        k->bytes += (int64_t)piece.bytes;
    }
    k->crc = (uint32_t)crc;
    asc_reading_end(&reader);
    return status;
}

static char *name_file(asc_ctx *ctx, const char *cache, const key *k, const asc_tokenizer *tokenizer)
{
    char name[200];
    snprintf(name, sizeof name, "%08" PRIx32 "-%" PRId64 "-%s-%.100s.tokens", k->crc, k->bytes, k->vocab,
             asc_tokenizer_name(tokenizer));
    return asc_path_join(ctx, cache, name);
}

/* ---- ids and bytes ---- */

static void pack(const int32_t *ids, int64_t n, uint8_t *bytes)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t id = (uint32_t)ids[i];
        for (int b = 0; b < WIDTH; b++) {
            bytes[WIDTH * i + b] = (uint8_t)(id >> 8 * b);
        }
    }
}

/* false: one is no id of the vocabulary. */
static bool unpack(const uint8_t *bytes, int64_t n, int64_t vocab, int32_t *ids)
{
    bool right = true;
    for (int64_t i = 0; i < n; i++) {
        uint32_t id = 0;
        for (int b = 0; b < WIDTH; b++) {
            id |= (uint32_t)bytes[WIDTH * i + b] << 8 * b;
        }
        right = right && (int64_t)id < vocab;
        ids[i] = (int32_t)id;
    }
    return right;
}

/* ---- files ---- */

static asc_status take_ids(asc_ctx *ctx, const asc_safetensors *file, const char *path, int64_t vocab, asc_split *split)
{
    const asc_safetensors_entry *entry = asc_safetensors_find(file, "tokens");
    const char *format = asc_safetensors_metadata(file, "format");
    if (!entry || entry->ndim != 2 || entry->shape[1] != WIDTH || entry->shape[0] < 2 || !format ||
        strcmp(format, FORMAT) != 0) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: holds no tokens", path);
    }
    int64_t n = entry->shape[0];
    asc_tensor bytes = asc_safetensors_read(ctx, file, "tokens", ASC_SAFETENSORS_STORED);
    int32_t *ids = asc_is_null(bytes) ? NULL : asc_alloc(ctx, (size_t)n * sizeof *ids);
    if (ids) {
        split->tokens = ids;
        split->n_tokens = n;
        if (!unpack(asc_data(bytes), n, vocab, ids)) {
            asc_fail(ctx, ASC_ERR_FORMAT, "%s: has an id that is not in the vocabulary", path);
        }
    }
    asc_release(bytes);
    return asc_error(ctx);
}

/* The split that the file has; new, NULL with the error set. */
static asc_split *read_file(asc_ctx *ctx, const char *path, const key *k, const asc_tokenizer *tokenizer)
{
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    asc_split *split = file ? asc_alloc(ctx, sizeof *split) : NULL;
    if (split) {
        *split = (asc_split){.bytes = k->bytes, .checksum = k->crc, .unknown = asc_tokenizer_unknown(tokenizer)};
        if (take_ids(ctx, file, path, asc_tokenizer_size(tokenizer), split)) {
            asc_split_free(ctx, split);
            split = NULL;
        }
    }
    asc_safetensors_close(file);
    return split;
}

static asc_status write_file(asc_ctx *ctx, const char *path, const asc_split *split)
{
    static const asc_safetensors_pair pairs[] = {{"format", FORMAT}, {ASC_SAFETENSORS_CRC, ""}};
    asc_tensor bytes = asc_empty(ctx, ASC_U8, 2, (int64_t[]){split->n_tokens, WIDTH});
    if (!asc_is_null(bytes)) {
        pack(split->tokens, split->n_tokens, asc_data_mut(bytes));
        asc_safetensors_write(ctx, path, &(asc_named_tensor){"tokens", bytes}, 1, pairs, 2);
    }
    asc_release(bytes);
    return asc_error(ctx);
}

/* ---- the cache ---- */

/* What goes wrong with the cache alone is told, and over. */
static void excuse(asc_ctx *ctx, const char *after, void (*say)(void *user, const char *text), void *user)
{
    if (asc_error(ctx) == ASC_ERR_IO || asc_error(ctx) == ASC_ERR_FORMAT) {
        char text[1200];
        snprintf(text, sizeof text, "%s; %s", asc_error_message(ctx), after);
        asc_error_clear(ctx);
        say(user, text);
    }
}

asc_split *asc_split_cached(asc_dataset *data, asc_split_kind kind, const asc_tokenizer *tokenizer, const char *cache,
                            void (*say)(void *user, const char *text), void *user)
{
    asc_ctx *ctx = data->ctx;
    key k = {0};
    if (!*cache || !is_text_file(data)) {
        return asc_split_load(data, kind, tokenizer);
    }
    if (sum_text(data, kind, &k) || asc_vocab_checksum(tokenizer, k.vocab)) {
        return NULL;
    }
    char *path = name_file(ctx, cache, &k, tokenizer);
    asc_split *split = NULL;
    if (path && asc_path_exists(path)) {
        split = read_file(ctx, path, &k, tokenizer);
        excuse(ctx, "the text is tokenised again", say, user);
    }
    if (path && !split && !asc_error(ctx)) {
        split = asc_split_load(data, kind, tokenizer);
        if (split && !split->given) {
            asc_path_make_parents(path);
            write_file(ctx, path, split);
            excuse(ctx, "tokenised text is not kept", say, user);
        }
    }
    asc_path_free(ctx, path);
    if (asc_error(ctx)) {
        asc_split_free(ctx, split);
        split = NULL;
    }
    return split;
}
