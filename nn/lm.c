/* nn/lm.c: a language model's settings and parameters, and what a training asks of its layers. What it computes is in
 * lm_run.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

static const asc_setting settings[] = {
    {"mix", "the mixing of all layers, or a list with one a layer"},
    {"d_model", "width D"},
    {"d_ff", "width of the feed-forward layer; 4 D"},
    {"layers", "number of blocks"},
    {"vocab", "number of tokens V"},
    {"block", "longest sequence"},
    {"block_norm", "post or pre: LayerNorm after each residual sum, or before each branch"},
    {"pos_emb", "true or false: learned positions"},
    {"mix_residual", "true or false: a residual sum round the mixing (false for grassmann in post-norm)"},
    {NULL, NULL},
};

/* The settings' tables: the models', then each mixing's; NULL past the last. */
static const asc_setting *settings_of(int table)
{
    const asc_mixing *m = table > 0 ? asc_mixing_of(table - 1) : NULL;
    return table == 0 ? settings : m ? m->settings : NULL;
}

/* Whether a table before that one has the key, too. */
static bool is_listed_before(const char *key, int table)
{
    for (int t = 0; t < table; t++) {
        for (const asc_setting *s = settings_of(t); s->key; s++) {
            if (strcmp(s->key, key) == 0) {
                return true;
            }
        }
    }
    return false;
}

const char *asc_lm_setting_at(int i, const char **help)
{
    for (int table = 0; settings_of(table); table++) {
        for (const asc_setting *s = settings_of(table); s->key; s++) {
            if (!is_listed_before(s->key, table) && i-- == 0) {
                if (help) {
                    *help = s->help;
                }
                return s->key;
            }
        }
    }
    return NULL;
}

/* ---- making ---- */

static asc_status read_sizes(asc_lm *lm, asc_config *c)
{
    static const char *const norms[] = {"post", "pre", NULL};
    lm->D = asc_config_int(c, "d_model", INT64_MIN, 1, 1 << 20);
    lm->layers = asc_config_int(c, "layers", INT64_MIN, 1, 10000);
    lm->vocab = asc_config_int(c, "vocab", INT64_MIN, 1, INT32_MAX);
    lm->block_length = asc_config_int(c, "block", INT64_MIN, 1, INT32_MAX);
    lm->d_ff = asc_config_int(c, "d_ff", 4 * lm->D, 1, INT32_MAX);
    lm->pre_norm = asc_config_choice(c, "block_norm", 0, norms) == 1;
    return asc_error(lm->ctx);
}

/* What any model of these sizes has: too much is refused at once, not after its first layers were made. */
static asc_status check_sizes(const asc_lm *lm)
{
    double D = (double)lm->D, numbers = (double)lm->vocab * D + (double)lm->layers * 2 * D * (double)lm->d_ff;
    return asc_memory_check(lm->ctx, "the embedding and the feed-forward layers take",
                            numbers * (double)asc_dtype_size(lm->dtype));
}

/* Where it is not given, it depends on the mixing, and is a setting in effect only if that is the same for all. */
static bool read_residual(asc_lm *lm, asc_config *c, const asc_mixing *mixing)
{
    bool usual = lm->pre_norm || !mixing->bare;
    if (json_object_get(c->given, "mix_residual") || !json_is_array(json_object_get(c->given, "mix"))) {
        return asc_config_bool(c, "mix_residual", usual);
    }
    return usual;
}

static asc_status make_block(asc_lm *lm, asc_config *c, asc_maker *m, int l)
{
    asc_block *b = &lm->blocks[l];
    b->lm = lm;
    b->layer = l;
    snprintf(b->label[0], sizeof b->label[0], "blocks.%d.mix", l);
    snprintf(b->label[1], sizeof b->label[1], "blocks.%d.ffn", l);
    int mixing = asc_config_choice_at(c, "mix", l, (int)lm->layers, 0, asc_mixing_names);
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.mix.", l);
    if (asc_layer_init(&b->mix, asc_mixing_of(mixing), lm->D, c, m, l, (int)lm->layers)) {
        return asc_error(lm->ctx);
    }
    const char *ahead = b->mix.mixing->looks_ahead(&b->mix);
    if (ahead) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "config: the mixing of layer %d looks ahead, which a language model must "
                        "not: %s", l, ahead);
    }
    b->residual = read_residual(lm, c, b->mix.mixing);
    if (lm->pre_norm && !b->residual) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "config: mix_residual is false, and block_norm is pre, which needs it");
    }
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.", l);
    b->norm1 = asc_make_norm(m, "norm1", lm->D);
    b->norm2 = asc_make_norm(m, "norm2", lm->D);
    b->fc1 = asc_make_linear(m, "ffn.fc1", lm->D, lm->d_ff);
    b->fc2 = asc_make_linear(m, "ffn.fc2", lm->d_ff, lm->D);
    return asc_error(lm->ctx);
}

/* A setting that no layer has read, but that other mixings would have. */
static asc_status check_read(asc_config *c)
{
    const char *key;
    json_t *value;
    json_object_foreach(c->given, key, value) {
        char owners[200] = "";
        for (int i = 0; !json_object_get(c->effect, key) && asc_mixing_of(i); i++) {
            size_t n = strlen(owners);
            if (asc_mixing_takes(asc_mixing_names[i], key)) {
                snprintf(owners + n, sizeof owners - n, "%s%s", n ? " and " : "", asc_mixing_names[i]);
            }
        }
        if (*owners) {
            return asc_fail(c->ctx, ASC_ERR_ARG, "config: %s is a setting of %s, and no layer of this model knows it",
                            key, owners);
        }
    }
    return ASC_OK;
}

static asc_status make_model(asc_lm *lm, asc_config *c, uint64_t seed)
{
    asc_ctx *ctx = lm->ctx;
    if (read_sizes(lm, c) || check_sizes(lm)) {
        return asc_error(ctx);
    }
    lm->params = asc_params_new(ctx);
    if (!lm->params) {
        return ASC_ERR_MEMORY;
    }
    lm->blocks = asc_alloc(ctx, (size_t)lm->layers * sizeof *lm->blocks);
    if (!lm->blocks) {
        return ASC_ERR_MEMORY;
    }
    memset(lm->blocks, 0, (size_t)lm->layers * sizeof *lm->blocks);
    asc_maker m = {.ctx = ctx, .params = lm->params, .dtype = lm->dtype, .seed = seed};
    lm->tok_emb = asc_make_param(&m, "tok_emb.weight", ASC_INIT_EMBEDDING, 2, (int64_t[]){lm->vocab, lm->D});
    if (asc_config_bool(c, "pos_emb", true)) {
        lm->pos_emb = asc_make_param(&m, "pos_emb.weight", ASC_INIT_EMBEDDING, 2, (int64_t[]){lm->block_length, lm->D});
    }
    for (int l = 0; l < lm->layers && !asc_error(ctx); l++) {
        make_block(lm, c, &m, l);
    }
    m.prefix[0] = 0;
    if (lm->pre_norm) {
        lm->norm_f = asc_make_norm(&m, "norm_f", lm->D);
    }
    if (asc_error(ctx) || check_read(c) || asc_config_finish(c)) {
        return asc_error(ctx);
    }
    lm->config = asc_config_text(c);
    return asc_error(ctx);
}

asc_lm *asc_lm_new(asc_ctx *ctx, const char *text, asc_dtype dtype, uint64_t seed)
{
    if (ASC_NEED(ctx, "lm_new: config", text) || asc_error(ctx)) {
        return NULL;
    }
    asc_config config;
    asc_lm *lm = asc_alloc(ctx, sizeof *lm);
    if (!lm || asc_config_parse(ctx, text, &config)) {
        asc_free(ctx, lm, sizeof *lm);
        return NULL;
    }
    *lm = (asc_lm){.ctx = ctx, .dtype = dtype};
    asc_status status = make_model(lm, &config, seed);
    asc_config_free(&config);
    if (status) {
        asc_lm_free(lm);
        return NULL;
    }
    return lm;
}

void asc_lm_free(asc_lm *lm)
{
    if (!lm) {
        return;
    }
    for (int64_t l = 0; lm->blocks && l < lm->layers; l++) {
        asc_layer_clear(&lm->blocks[l].mix);
    }
    asc_free(lm->ctx, lm->blocks, (size_t)lm->layers * sizeof *lm->blocks);
    asc_params_free(lm->params);
    free(lm->config);
    asc_free(lm->ctx, lm, sizeof *lm);
}

const char *asc_lm_config(const asc_lm *lm)
{
    return lm ? lm->config : NULL;
}

int64_t asc_lm_layers(const asc_lm *lm)
{
    return lm ? lm->layers : 0;
}

int64_t asc_lm_vocab(const asc_lm *lm)
{
    return lm ? lm->vocab : 0;
}

int64_t asc_lm_block(const asc_lm *lm)
{
    return lm ? lm->block_length : 0;
}

asc_params *asc_lm_params(asc_lm *lm)
{
    return lm ? lm->params : NULL;
}

void asc_lm_set_dropout(asc_lm *lm, double p)
{
    if (lm) {
        lm->dropout = p;
    }
}

void asc_lm_set_recompute(asc_lm *lm, bool recompute)
{
    if (lm) {
        lm->recompute = recompute;
    }
}

/* ---- what a training asks of the layers ---- */

void asc_lm_project(asc_lm *lm)
{
    for (int64_t l = 0; lm && l < lm->layers; l++) {
        asc_layer *mix = &lm->blocks[l].mix;
        if (mix->mixing->project) {
            mix->mixing->project(mix);
        }
    }
}

void asc_lm_ramp(asc_lm *lm, double share)
{
    for (int64_t l = 0; lm && l < lm->layers; l++) {
        asc_layer *mix = &lm->blocks[l].mix;
        if (mix->mixing->ramp) {
            mix->mixing->ramp(mix, share);
        }
    }
}

/* Tells the layer's values of one sort, inspected or not. */
static void tell_values(asc_lm *lm, int64_t layer, const asc_params *parts, asc_log_fn *tell, void *user)
{
    asc_layer *l = &lm->blocks[layer].mix;
    for (const asc_logged *v = l->mixing->logged; v && v->name; v++) {
        asc_tensor value = v->inspected == (parts != NULL) ? l->mixing->log(l, v->name, parts) : asc_null();
        if (!asc_is_null(value)) {
            tell(user, layer, l->mixing->name, v->name, value);
        }
    }
}

static bool logs_inside(const asc_mixing *mixing)
{
    const asc_logged *v = mixing->logged;
    while (v && v->name && !v->inspected) {
        v++;
    }
    return v && v->name;
}

static void tell_inside(asc_lm *lm, int64_t layer, asc_tensor tokens, asc_log_fn *tell, void *user)
{
    asc_params *parts = asc_params_new(lm->ctx);
    if (parts && asc_lm_inspect(lm, tokens, layer, parts) == ASC_OK) {
        tell_values(lm, layer, parts, tell, user);
    }
    asc_params_free(parts);
}

asc_status asc_lm_log(asc_lm *lm, asc_tensor tokens, asc_log_fn *tell, void *user)
{
    asc_status status = ASC_NEED(lm ? lm->ctx : asc_ctx_of(tokens), "lm_log: lm tell", lm, (const void *)(uintptr_t)tell);
    if (status) {
        return status;
    }
    bool recording = asc_set_recording(lm->ctx, false);
    asc_scope_begin(lm->ctx);
    for (int64_t l = 0; l < lm->layers; l++) {
        tell_values(lm, l, NULL, tell, user);
    }
    for (int64_t l = 0; l < lm->layers && !asc_is_null(tokens) && asc_error(lm->ctx) == ASC_OK; l++) {
        if (logs_inside(lm->blocks[l].mix.mixing)) {
            tell_inside(lm, l, tokens, tell, user);
        }
    }
    asc_scope_end(lm->ctx);
    asc_set_recording(lm->ctx, recording);
    return asc_error(lm->ctx);
}
