/* train/swarm.c: ASCender layers' weights ω and strengths λ, and the means of their gates γ and densities η. */
#include "train/swarm.h"

#include <stdio.h>
#include <string.h>

#include <ascgrad/ops.h>

enum { TOKENS = 128 };

static const char *const scalars[] = {"omega_align", "omega_sep",  "omega_coh",   "lambda_align",
                                      "lambda_sep",  "lambda_coh", "lambda_dist", "lambda_rho"};
static const char *const gates[] = {"gamma_align", "gamma_coh", "eta"};

static int64_t count_layers(asc_lm *lm)
{
    char name[64];
    int64_t l = -1;
    do {
        snprintf(name, sizeof name, "blocks.%lld.norm1.weight", (long long)++l);
    } while (!asc_is_null(asc_params_find(asc_lm_params(lm), name)));
    return l;
}

static asc_tensor scalar_of(asc_lm *lm, int64_t layer, const char *name)
{
    char full[80];
    snprintf(full, sizeof full, "blocks.%lld.mix.%s", (long long)layer, name);
    return asc_params_find(asc_lm_params(lm), full);
}

/* The values as a list; null of the null tensor. */
static json_t *list_of(asc_tensor t)
{
    if (asc_is_null(t)) {
        return json_null();
    }
    json_t *list = json_array();
    for (int64_t i = 0; i < asc_numel(t); i++) {
        json_array_append_new(list, json_real(asc_dtype_of(t) == ASC_F64 ? ((const double *)asc_data(t))[i]
                                                                        : (double)((const float *)asc_data(t))[i]));
    }
    return list;
}

/* Sets entry `layer` of the list under `key`, which has `layers` entries, null at first. */
static void put(json_t *swarm, const char *key, int64_t layer, int64_t layers, asc_tensor value)
{
    json_t *list = json_object_get(swarm, key);
    if (!list) {
        list = json_array();
        for (int64_t l = 0; l < layers; l++) {
            json_array_append_new(list, json_null());
        }
        json_object_set_new(swarm, key, list);
    }
    json_array_set_new(list, (size_t)layer, list_of(value));
}

json_t *asc_swarm_describe(asc_lm *lm)
{
    json_t *swarm = NULL;
    int64_t layers = count_layers(lm);
    for (int64_t l = 0; l < layers; l++) {
        for (size_t s = 0; s < sizeof scalars / sizeof *scalars; s++) {
            asc_tensor t = scalar_of(lm, l, scalars[s]);
            if (!asc_is_null(t)) {
                swarm = swarm ? swarm : json_object();
                put(swarm, scalars[s], l, layers, t);
            }
        }
    }
    return swarm;
}

static void measure_layer(asc_ctx *ctx, asc_lm *lm, asc_tensor tokens, int64_t layer, int64_t layers, json_t *swarm)
{
    asc_params *parts = asc_params_new(ctx);
    if (parts && asc_lm_inspect(lm, tokens, layer, parts) == ASC_OK) {
        for (size_t g = 0; g < sizeof gates / sizeof *gates; g++) {
            asc_tensor gate = asc_params_find(parts, gates[g]); /* (B, H, N, 1) */
            if (!asc_is_null(gate)) {
                put(swarm, gates[g], layer, layers, asc_mean(ctx, gate, ASC_DIMS(0, 2, 3), false));
            }
        }
    }
    asc_params_free(parts);
}

void asc_swarm_measure(asc_ctx *ctx, asc_lm *lm, const asc_split *split, json_t *swarm)
{
    int64_t block = asc_lm_block(lm), layers = count_layers(lm), n = block < TOKENS ? block : TOKENS;
    int64_t *x = asc_alloc(ctx, 2 * (size_t)block * sizeof *x);
    asc_scope_begin(ctx);
    if (x && asc_block_length(split->n_tokens, block, 0) >= n &&
        asc_block_fill(ctx, split, block, (const int32_t[]){0}, 1, x, x + block) == ASC_OK) {
        asc_tensor tokens = asc_from(ctx, ASC_I64, x, ASC_SHAPE(1, n));
        bool recording = asc_set_recording(ctx, false);
        asc_lm_set_dropout(lm, 0);
        for (int64_t l = 0; l < layers && asc_error(ctx) == ASC_OK; l++) {
            if (!asc_is_null(scalar_of(lm, l, "omega_align"))) {
                measure_layer(ctx, lm, tokens, l, layers, swarm);
            }
        }
        asc_set_recording(ctx, recording);
    }
    asc_scope_end(ctx);
    asc_free(ctx, x, 2 * (size_t)block * sizeof *x);
}
