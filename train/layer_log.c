/* train/layer_log.c: what the layers have to say of themselves while they are trained. */
#include "train/layer_log.h"

#include <math.h>

#include <ascgrad/ops.h>

#include "tensor/ctx.h"
#include "tensor/dtype.h"

enum { TOKENS = 128 };

typedef struct layer_log {
    json_t *mixings; /* NULL until a layer has said something */
    int64_t layers;
} layer_log;

static json_t *list_of(asc_tensor t)
{
    json_t *list = json_array();
    asc_tensor values = asc_contiguous(asc_ctx_of(t), t);
    for (int64_t i = 0; asc_data(values) && i < asc_numel(values); i++) {
        double value = asc_element(asc_dtype_of(values), asc_data(values), i);
        json_array_append_new(list, isfinite(value) ? json_real(value) : json_null());
    }
    return list;
}

/* The object under `key`, made if it is not there. */
static json_t *object_in(json_t *parent, const char *key)
{
    json_t *object = json_object_get(parent, key);
    if (!object) {
        object = json_object();
        json_object_set_new(parent, key, object);
    }
    return object;
}

/* The list under `key`, made of `layers` times null if it is not there. */
static json_t *list_in(json_t *parent, const char *key, int64_t layers)
{
    json_t *list = json_object_get(parent, key);
    if (!list) {
        list = json_array();
        for (int64_t l = 0; l < layers; l++) {
            json_array_append_new(list, json_null());
        }
        json_object_set_new(parent, key, list);
    }
    return list;
}

static void put(void *user, int64_t layer, const char *mixing, const char *name, asc_tensor value)
{
    layer_log *log = user;
    log->mixings = log->mixings ? log->mixings : json_object();
    json_t *list = list_in(object_in(log->mixings, mixing), name, log->layers);
    json_array_set_new(list, (size_t)layer, list_of(value));
}

/* The first tokens of a split, (1, n); null where it has too few, or with the error set. */
static asc_tensor first_tokens(asc_ctx *ctx, const asc_lm *lm, const asc_split *split)
{
    int64_t block = asc_lm_block(lm), n = block < TOKENS ? block : TOKENS;
    int64_t width = asc_split_width(split, block, (const int32_t[]){0}, 1);
    n = split->n_sequences > 0 && width < n ? width : n;
    if (width < n || width > block) {
        return asc_null();
    }
    asc_tensor tokens = asc_empty(ctx, ASC_I64, ASC_SHAPE(1, block));
    asc_tensor targets = asc_empty(ctx, ASC_I64, ASC_SHAPE(1, block));
    if (asc_error(ctx) ||
        asc_block_fill(ctx, split, block, (const int32_t[]){0}, 1, asc_data_mut(tokens), asc_data_mut(targets))) {
        return asc_null();
    }
    return asc_slice(ctx, tokens, 1, 0, n, 1);
}

json_t *asc_layers_log(asc_ctx *ctx, asc_lm *lm, const asc_split *split)
{
    layer_log log = {NULL, asc_lm_layers(lm)};
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_tensor tokens = asc_null();
    if (split) {
        asc_lm_set_dropout(lm, 0);
        tokens = first_tokens(ctx, lm, split);
    }
    if (asc_error(ctx) == ASC_OK) {
        asc_lm_log(lm, tokens, put, &log);
    }
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    if (asc_error(ctx)) {
        json_decref(log.mixings);
        return NULL;
    }
    return log.mixings;
}
