/* train/compare/scores_file.c: scores in a file: numbers of the whole as JSON in the metadata, parts as tensors. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/safetensors.h"
#include "tensor/locale.h"
#include "tensor/need.h"
#include "train/compare/scores.h"

#define SCORES_KEY "ascgrad_scores" /* of the metadata; its value is the version */
#define SCORES_VERSION "4"

/* ---- numbers of the whole ---- */

typedef struct field {
    const char *key;
    size_t at;
} field;

static const field whole[] = {
    {"tokens", offsetof(asc_scores, result.tokens)},
    {"sequences", offsetof(asc_scores, result.sequences)},
    {"parameters", offsetof(asc_scores, parameters)},
    {"block", offsetof(asc_scores, block)},
    {"carry", offsetof(asc_scores, carry)},
    {"pairs", offsetof(asc_scores, pairs)},
    {"classes", offsetof(asc_scores, classes)},
    {"seed", offsetof(asc_scores, seed)},
    {0},
};
static const field real[] = {
    {"loss", offsetof(asc_scores, result.loss)},
    {"ppl", offsetof(asc_scores, result.ppl)},
    {"bits_per_byte", offsetof(asc_scores, result.bits_per_byte)},
    {"unknown", offsetof(asc_scores, result.unknown)},
    {"accuracy", offsetof(asc_scores, result.accuracy)},
    {"exact", offsetof(asc_scores, result.exact)},
    {"ece", offsetof(asc_scores, result.ece)},
    {"tokens_per_s", offsetof(asc_scores, tokens_per_s)},
    {0},
};
static const field checksum[] = {
    {"text_checksum", offsetof(asc_scores, text_checksum)},
    {"token_checksum", offsetof(asc_scores, token_checksum)},
    {"train_checksum", offsetof(asc_scores, train_checksum)},
    {0},
};

#define FIELD(type, scores, f) ((type *)(void *)((char *)(scores) + (f)->at))

/* As JSON has no number for what is not finite: in the form of strtod. New; NULL without memory. */
static char *describe(const asc_scores *scores)
{
    json_t *o = json_pack("{s:s}", "model_checksum", scores->model_checksum);
    for (const field *f = whole; f->key; f++) {
        json_object_set_new(o, f->key, json_integer(*FIELD(const int64_t, scores, f)));
    }
    for (const field *f = checksum; f->key; f++) {
        json_object_set_new(o, f->key, json_integer(*FIELD(const uint32_t, scores, f)));
    }
    for (const field *f = real; f->key; f++) {
        char text[40];
        asc_snprintf(text, sizeof text, "%.17g", *FIELD(const double, scores, f));
        json_object_set_new(o, f->key, json_string(text));
    }
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

/* false: something is missing, or is no such number. */
static bool read_fields(const json_t *o, asc_scores *scores)
{
    const char *model = json_string_value(json_object_get(o, "model_checksum"));
    bool good = model && strlen(model) < sizeof scores->model_checksum;
    if (good) {
        strcpy(scores->model_checksum, model);
    }
    for (const field *f = whole; f->key; f++) {
        good &= json_is_integer(json_object_get(o, f->key));
        *FIELD(int64_t, scores, f) = json_integer_value(json_object_get(o, f->key));
    }
    for (const field *f = checksum; f->key; f++) {
        good &= json_is_integer(json_object_get(o, f->key));
        *FIELD(uint32_t, scores, f) = (uint32_t)json_integer_value(json_object_get(o, f->key));
    }
    for (const field *f = real; f->key; f++) {
        const char *text = json_string_value(json_object_get(o, f->key));
        char *end = NULL;
        *FIELD(double, scores, f) = text ? asc_strtod(text, &end) : NAN;
        good &= end && end > text && !*end;
    }
    return good && scores->block > 0;
}

/* ---- parts ---- */

enum { NATS, TOKENS, BYTES, RIGHT, COLUMNS };
static const char *const names[2][COLUMNS] = {
    {"blocks.nats", "blocks.tokens", "blocks.bytes", "blocks.right"},
    {"lines.nats", "lines.tokens", "lines.bytes", "lines.right"},
};

/* The columns of n parts, as tensors. */
static void take_apart(asc_ctx *ctx, const asc_score_part *part, int64_t n, const char *const *name,
                       asc_named_tensor *column)
{
    for (int c = 0; c < COLUMNS; c++) {
        column[c] = (asc_named_tensor){name[c], asc_empty(ctx, c == NATS ? ASC_F64 : ASC_I64, ASC_SHAPE(n))};
    }
    double *nats = asc_data_mut(column[NATS].tensor);
    int64_t *tokens = asc_data_mut(column[TOKENS].tensor), *bytes = asc_data_mut(column[BYTES].tensor);
    int64_t *right = asc_data_mut(column[RIGHT].tensor);
    for (int64_t i = 0; nats && tokens && bytes && right && i < n; i++) {
        nats[i] = part[i].nats;
        tokens[i] = part[i].tokens;
        bytes[i] = part[i].bytes;
        right[i] = part[i].right;
    }
}

static asc_status put_together(asc_ctx *ctx, const asc_safetensors *file, const char *const *name, int64_t n,
                               asc_score_part *part)
{
    asc_tensor column[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        column[c] = asc_safetensors_read(ctx, file, name[c], c == NATS ? ASC_F64 : ASC_I64);
        if (!asc_error(ctx) && (asc_ndim(column[c]) != 1 || asc_numel(column[c]) != n)) {
            return asc_safetensors_fail(file, ASC_ERR_FORMAT, name[c],
                                        "has %" PRId64 " elements, expected a row of %" PRId64, asc_numel(column[c]),
                                        n);
        }
    }
    const double *nats = asc_data(column[NATS]);
    const int64_t *tokens = asc_data(column[TOKENS]), *bytes = asc_data(column[BYTES]),
                  *right = asc_data(column[RIGHT]);
    for (int64_t i = 0; !asc_error(ctx) && i < n; i++) {
        part[i] = (asc_score_part){nats[i], tokens[i], bytes[i], right[i]};
    }
    return asc_error(ctx);
}

/* ---- files ---- */

asc_status asc_scores_write(asc_ctx *ctx, const asc_scores *scores, const char *path)
{
    asc_status status = ASC_NEED(ctx, "scores_write: scores path", scores, path);
    if (status || asc_error(ctx)) {
        return status ? status : asc_error(ctx);
    }
    char *text = describe(scores);
    if (!text) {
        return asc_fail(ctx, ASC_ERR_MEMORY, "%s: no memory to describe the scores", path);
    }
    asc_scope_begin(ctx);
    asc_named_tensor column[2 * COLUMNS];
    take_apart(ctx, scores->blocks, scores->n_blocks, names[0], column);
    if (scores->lines) {
        take_apart(ctx, scores->lines, scores->n_lines, names[1], column + COLUMNS);
    }
    const asc_safetensors_pair metadata[] = {{SCORES_KEY, SCORES_VERSION}, {"scores", text}, {ASC_SAFETENSORS_CRC, ""}};
    if (!asc_error(ctx)) {
        asc_safetensors_write(ctx, path, column, scores->lines ? 2 * COLUMNS : COLUMNS, metadata, 3);
    }
    asc_scope_end(ctx);
    free(text);
    return asc_error(ctx);
}

static asc_scores *read_scores(asc_ctx *ctx, const asc_safetensors *file, const char *path)
{
    const char *version = asc_safetensors_metadata(file, SCORES_KEY), *text = asc_safetensors_metadata(file, "scores");
    const asc_safetensors_entry *blocks = asc_safetensors_find(file, names[0][NATS]);
    const asc_safetensors_entry *lines = asc_safetensors_find(file, names[1][NATS]);
    if (!version || strcmp(version, SCORES_VERSION) != 0 || !text || !blocks ||
        !asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC)) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: is no file of scores, or of another version", path);
        return NULL;
    }
    asc_scores *scores = asc_scores_new(ctx, blocks->numel, lines ? lines->numel : 0, lines != NULL);
    if (!scores) {
        return NULL;
    }
    json_t *o = json_loads(text, 0, NULL);
    if (!read_fields(o, scores)) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: its description of the scores is not whole", path);
    }
    json_decref(o);
    put_together(ctx, file, names[0], scores->n_blocks, (asc_score_part *)scores->blocks);
    if (lines) {
        put_together(ctx, file, names[1], scores->n_lines, (asc_score_part *)scores->lines);
    }
    if (asc_error(ctx)) {
        asc_scores_free(ctx, scores);
        return NULL;
    }
    return scores;
}

asc_scores *asc_scores_read(asc_ctx *ctx, const char *path)
{
    if (ASC_NEED(ctx, "scores_read: path", path) || asc_error(ctx)) {
        return NULL;
    }
    asc_safetensors *file = asc_safetensors_open(ctx, path);
    if (!file) {
        return NULL;
    }
    asc_scope_begin(ctx);
    asc_scores *scores = read_scores(ctx, file, path);
    asc_scope_end(ctx);
    asc_safetensors_close(file);
    return scores;
}
