/* nn/lm.c: a language model's making, and what a training asks of its layers. What it computes is in lm_run.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "nn/cap.h"
#include "nn/lm_parts.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- making ---- */

/* What mixes: its name says which settings there are, and so a wrong one is told before what else is wrong. */
static asc_status check_mixings(asc_lm *lm, const asc_reader *c)
{
    const json_t *mix = json_object_get(c->given, "mix");
    size_t n = json_is_array(mix) ? json_array_size(mix) : 1;
    asc_status status = ASC_OK;
    for (size_t i = 0; i < n && !status; i++) {
        const char *name = asc_mix_of(mix, i);
        bool named = name && strcmp(name, ASC_MIX_NONE) != 0;
        status = !named || asc_mixing_choose(lm->ctx, "mix", name, false) ? ASC_OK : asc_error(lm->ctx);
    }
    return status;
}

/* The model's settings for layer l: all that are not by layer are the same for each. */
static asc_status read_values(asc_lm *lm, asc_reader *c, int l, asc_lm_values *v)
{
    *v = (asc_lm_values){0};
    asc_place place = {.layer = l, .layers = (int)lm->layers};
    if (asc_reader_read(c, asc_lm_settings, lm->layers > 0 ? &place : NULL, v)) {
        return asc_error(lm->ctx);
    }
    v->d_ff = asc_reader_given(c, "d_ff") ? v->d_ff : 4 * v->d_model;
    if (v->head != ASC_HEAD_LM && !asc_reader_given(c, "classes")) {
        v->classes = v->head == ASC_HEAD_PAIRS ? 3 : 2;
    }
    v->head_ff = v->head != ASC_HEAD_PAIRS || asc_reader_given(c, "head_ff") ? v->head_ff : 2 * v->d_model;
    return ASC_OK;
}

/* What pairs alone have. Without a mixing they have no blocks, and the model's settings are in effect nonetheless. */
static asc_status read_pairs(asc_lm *lm, asc_reader *c, const asc_lm_values *v)
{
    lm->is_pairs = v->head == ASC_HEAD_PAIRS;
    if (!lm->is_pairs) {
        return ASC_OK;
    }
    lm->pairs = (asc_pairs){.states = v->states,
                            .window = v->window_tokens,
                            .stride = v->window_stride,
                            .head_ff = v->head_ff,
                            .sees = v->sees,
                            .together = v->pairs == ASC_PAIRS_TOGETHER};
    if (lm->pairs.together && (v->states == 0 || v->sees != ASC_SEES_BOTH)) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "pairs", " is together, %s",
                           v->states == 0 ? "and the model embeds tokens itself: there is no encoder to read them so"
                                          : "where each sentence's states have seen the other: expected sees both");
    }
    if (v->mup_width > 0) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "mup_width", " is %lld, and a model of pairs has no rates by width",
                           (long long)v->mup_width);
    }
    if (strcmp(v->mix, ASC_MIX_NONE) == 0) {
        lm->layers = 0;
        asc_reader_note(c, asc_lm_settings, NULL, v);
        asc_reader_forget(c, "mix_residual");
    }
    return asc_error(lm->ctx);
}

static asc_status read_sizes(asc_lm *lm, asc_reader *c, bool *pos_emb)
{
    asc_lm_values v = {0};
    if (check_mixings(lm, c) == ASC_OK && read_values(lm, c, 0, &v) == ASC_OK) {
        lm->D = v.d_model;
        lm->layers = v.layers;
        lm->vocab = v.vocab;
        lm->block_length = v.block;
        lm->d_ff = v.d_ff;
        lm->pre_norm = v.block_norm == 1;
        lm->classes = v.head != ASC_HEAD_LM ? v.classes : 0;
        lm->carry = v.carry;
        lm->pool_first = v.pool == ASC_POOL_FIRST;
        lm->rms_norm = v.norm == ASC_NORM_RMS;
        lm->activation = (asc_activation)v.activation;
        lm->zero_init = v.zero_init;
        lm->tied = v.tied || lm->classes > 0;
        lm->logit_cap = v.logit_cap;
        lm->mup_width = v.mup_width;
        lm->has_emb_norm = v.emb_norm;
        *pos_emb = v.pos_emb;
        read_pairs(lm, c, &v);
        asc_cap_check(lm->ctx, "logit_cap", v.logit_cap);
    }
    asc_values_clear(lm->ctx, asc_lm_settings, &v);
    return asc_error(lm->ctx);
}

/* What any model of these sizes has: too much is refused at once, not after its first layers were made. */
static asc_status check_sizes(const asc_lm *lm)
{
    double D = (double)lm->D, tables = lm->pairs.states > 0 ? 0 : lm->tied ? 1 : 2, maps = asc_lm_gated(lm) ? 3 : 2;
    double numbers = tables * (double)lm->vocab * D + (double)lm->layers * maps * D * (double)lm->d_ff;
    return asc_memory_check(lm->ctx, "the embedding and the feed-forward layers take",
                            numbers * (double)asc_dtype_size(lm->dtype));
}

/* Whether the mixing has a residual, which depends on it where it is not given; and the model's settings in effect. */
static asc_status read_residual(asc_reader *c, asc_block *b, asc_lm_values *v)
{
    asc_lm *lm = b->lm;
    if (!asc_reader_given(c, "mix_residual")) {
        v->mix_residual = lm->pre_norm || lm->is_pairs || !b->mix.mixing->bare;
    }
    b->residual = v->mix_residual;
    if (lm->pre_norm && !b->residual) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "mix_residual", " is false, and block_norm is pre, which needs it");
    }
    asc_place place = {.layer = (int)b->layer, .layers = (int)lm->layers};
    return asc_reader_note(c, asc_lm_settings, &place, v);
}

/* How many of the layers before l have the mixing. */
static int count_before(const asc_lm *lm, int l, const asc_mixing *mixing)
{
    int n = 0;
    for (int i = 0; i < l; i++) {
        n += lm->blocks[i].mix.mixing == mixing;
    }
    return n;
}

/* Whether the maker has made a parameter of one of these names, behind its prefix. */
static bool has_any(const asc_maker *m, const char *const *names)
{
    bool any = false;
    for (; *names && !any; names++) {
        char full[200];
        snprintf(full, sizeof full, "%.100s%.90s", m->prefix, *names);
        any = !asc_is_null(asc_params_find(m->params, full));
    }
    return any;
}

static asc_status make_mixing(asc_block *b, asc_reader *c, asc_maker *m, asc_lm_values *v)
{
    asc_lm *lm = b->lm;
    const asc_mixing *mixing = asc_mixing_choose(lm->ctx, "mix", v->mix, false);
    int l = (int)b->layer;
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.mix.", l);
    asc_place place = {l, (int)lm->layers, mixing ? count_before(lm, l, mixing) : 0};
    if (mixing && lm->zero_init && !mixing->outputs) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "zero_init", " is true, and %s does not say what of it projects back",
                           mixing->name);
    }
    m->zeros = mixing && lm->zero_init ? mixing->outputs : NULL;
    if (!mixing || asc_layer_init(&b->mix, mixing, lm->D, c, m, place)) {
        return asc_error(lm->ctx);
    }
    if (m->zeros && !has_any(m, m->zeros)) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "%s: none of its outputs, '%s' the first, is a parameter of it",
                        mixing->name, *m->zeros ? *m->zeros : "");
    }
    m->zeros = NULL;
    const char *ahead = asc_layer_looks_ahead(&b->mix);
    if (ahead && lm->classes == 0) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "the mixing of layer %d looks ahead, which a language model must not: %s",
                        l, ahead);
    }
    return read_residual(c, b, v);
}

static asc_status make_block(asc_lm *lm, asc_reader *c, asc_maker *m, int l)
{
    asc_block *b = &lm->blocks[l];
    asc_lm_values v;
    b->lm = lm;
    b->layer = l;
    snprintf(b->label[0], sizeof b->label[0], "blocks.%d.mix", l);
    snprintf(b->label[1], sizeof b->label[1], "blocks.%d.ffn", l);
    asc_status status = read_values(lm, c, l, &v);
    status = status ? status : make_mixing(b, c, m, &v);
    asc_values_clear(lm->ctx, asc_lm_settings, &v);
    if (status) {
        return status;
    }
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.", l);
    b->norm1 = asc_lm_make_norm(lm, m, "norm1");
    b->norm2 = asc_lm_make_norm(lm, m, "norm2");
    asc_lm_make_ffn(lm, m, b);
    return asc_error(lm->ctx);
}

/* A setting that no layer has read, but that other mixings would have. */
static asc_status check_read(asc_reader *c)
{
    const char *key;
    for (int n = 0; (key = asc_reader_unread(c, n)); n++) {
        char owners[200] = "";
        const asc_mixing *m;
        for (int i = 0; (m = asc_mixing_of(c->ctx, i)); i++) {
            size_t n = strlen(owners);
            if (asc_setting_find(m->settings, key)) {
                snprintf(owners + n, sizeof owners - n, "%s%s", n ? " and " : "", m->name);
            }
        }
        if (*owners) {
            return asc_fail_on(c->ctx, ASC_ERR_ARG, key, " is a setting of %s, and no layer of this model knows it",
                               owners);
        }
    }
    return ASC_OK;
}

/* Layers that are to stay close to the one below need one that compares with it. */
static asc_status check_paths(const asc_lm *lm)
{
    bool asked = false, found = false;
    for (int64_t l = 0; l < lm->layers; l++) {
        const asc_layer *mix = &lm->blocks[l].mix, *below = l > 0 ? &lm->blocks[l - 1].mix : NULL;
        bool asks = mix->mixing->follows && mix->mixing->follows(mix, NULL);
        asked = asked || asks;
        found = found || (asks && below && below->mixing == mix->mixing && mix->mixing->follows(mix, below));
    }
    return asked && !found ? asc_fail_on(lm->ctx, ASC_ERR_ARG, "smooth", " is above 0, and no layer compares with the "
                                         "one below it: expected two layers, one over the other, with the same mixing "
                                         "and the same r, groups and offsets")
                           : ASC_OK;
}

/* The head, and whether it has something to look at. */
static asc_status make_classifier(asc_lm *lm, asc_maker *m)
{
    bool ahead = false;
    for (int64_t l = 0; l < lm->layers; l++) {
        ahead = ahead || asc_layer_looks_ahead(&lm->blocks[l].mix);
    }
    if (lm->pool_first && !ahead) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "pool",
                           " is first, and all layers are causal: the first token sees "
                           "nothing but itself; expected mask full, or pool mean");
    }
    m->narrowing = 1 / sqrt(asc_lm_widening(lm));
    lm->classifier = asc_make_linear(m, "classifier", lm->D, lm->classes);
    return asc_error(lm->ctx);
}

/* In a hybrid a residual that was not given is not the same for all layers, and no setting in effect. */
static asc_status finish_settings(asc_lm *lm, asc_reader *c)
{
    if (asc_reader_is_list(c, "mix") && !asc_reader_given(c, "mix_residual")) {
        asc_reader_forget(c, "mix_residual");
    }
    if (check_read(c) || asc_reader_finish(c)) {
        return asc_error(lm->ctx);
    }
    lm->config = asc_reader_text(c);
    return asc_error(lm->ctx);
}

/* Tables of the tokens: what goes in and, of the same table or one of its own, what comes out. */
static void make_tables(asc_lm *lm, asc_maker *m, bool pos_emb)
{
    const int64_t words[] = {lm->vocab, lm->D}, places[] = {lm->block_length, lm->D};
    if (lm->pairs.states == 0) {
        lm->tok_emb = lm->head = asc_make_param(m, "tok_emb.weight", ASC_INIT_EMBEDDING, 2, words);
    }
    if (lm->is_pairs) {
        asc_lm_make_pairs(lm, m, pos_emb);
    } else if (pos_emb) {
        lm->pos_emb = asc_make_param(m, "pos_emb.weight", ASC_INIT_EMBEDDING, 2, places);
    }
    if (lm->has_emb_norm) {
        lm->emb_norm = asc_lm_make_norm(lm, m, "emb_norm");
    }
    if (!lm->tied) {
        lm->head = asc_make_param(m, "lm_head.weight", ASC_INIT_EMBEDDING, 2, words);
    }
}

static asc_status make_model(asc_lm *lm, asc_reader *c, uint64_t seed, const asc_values_source *source)
{
    asc_ctx *ctx = lm->ctx;
    bool pos_emb = true;
    if (read_sizes(lm, c, &pos_emb) || check_sizes(lm)) {
        return asc_error(ctx);
    }
    lm->params = asc_params_new(ctx);
    if (!lm->params) {
        return ASC_ERR_MEMORY;
    }
    lm->blocks = lm->layers > 0 ? asc_alloc(ctx, (size_t)lm->layers * sizeof *lm->blocks) : NULL;
    if (lm->blocks) {
        memset(lm->blocks, 0, (size_t)lm->layers * sizeof *lm->blocks);
    } else if (lm->layers > 0) {
        return ASC_ERR_MEMORY;
    }
    asc_maker m = {.ctx = ctx, .params = lm->params, .dtype = lm->dtype, .seed = seed, .source = source};
    make_tables(lm, &m, pos_emb);
    for (int l = 0; l < lm->layers && !asc_error(ctx); l++) {
        make_block(lm, c, &m, l);
    }
    if (!asc_error(ctx)) {
        check_paths(lm);
    }
    m.prefix[0] = 0;
    if (lm->pre_norm) {
        lm->norm_f = asc_lm_make_norm(lm, &m, "norm_f");
    }
    if (lm->is_pairs && !asc_error(ctx)) {
        asc_lm_make_pairs_head(lm, &m);
    } else if (lm->classes > 0 && !asc_error(ctx)) {
        make_classifier(lm, &m);
    }
    if (lm->carry > 0 && !asc_error(ctx)) {
        asc_lm_check_carry(lm, lm->carry);
    }
    return asc_error(ctx) ? asc_error(ctx) : finish_settings(lm, c);
}

asc_lm *asc_lm_new_from(asc_ctx *ctx, const char *text, asc_dtype dtype, uint64_t seed,
                        const asc_values_source *source)
{
    if (ASC_NEED(ctx, "lm_new: config", text) || asc_error(ctx)) {
        return NULL;
    }
    if (!asc_is_floating(dtype)) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_new: dtype is %s, expected f32 or f64", asc_dtype_name(dtype));
        return NULL;
    }
    asc_lm *lm = asc_alloc(ctx, sizeof *lm);
    if (!lm) {
        return NULL;
    }
    *lm = (asc_lm){.ctx = ctx, .dtype = dtype};
    asc_reader reader;
    asc_status status = asc_reader_open(&reader, ctx, text);
    if (!status) {
        status = make_model(lm, &reader, seed, source);
        asc_reader_close(&reader);
    }
    if (status == ASC_ERR_ARG) {
        asc_error_place(ctx, "config");
    }
    if (status) {
        asc_lm_free(lm);
        return NULL;
    }
    return lm;
}

asc_lm *asc_lm_new(asc_ctx *ctx, const char *text, asc_dtype dtype, uint64_t seed)
{
    return asc_lm_new_from(ctx, text, dtype, seed, NULL);
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
    asc_free(lm->ctx, lm->class_weights, (size_t)lm->classes * sizeof *lm->class_weights);
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

asc_layer *asc_lm_layer(asc_lm *lm, int64_t layer)
{
    if (lm && (layer < 0 || layer >= lm->layers)) {
        asc_fail(lm->ctx, ASC_ERR_ARG, "lm_layer: layer is %lld, expected 0 to %lld", (long long)layer,
                 (long long)lm->layers - 1);
        return NULL;
    }
    return lm ? &lm->blocks[layer].mix : NULL;
}

int64_t asc_lm_vocab(const asc_lm *lm)
{
    return lm ? lm->vocab : 0;
}

int64_t asc_lm_block(const asc_lm *lm)
{
    return lm ? lm->block_length : 0;
}

int64_t asc_lm_classes(const asc_lm *lm)
{
    return lm ? lm->classes : 0;
}

int64_t asc_lm_longest(const asc_lm *lm)
{
    return !lm ? 0 : asc_is_null(lm->pos_emb) ? INT64_MAX : lm->block_length;
}

int64_t asc_lm_carry(const asc_lm *lm)
{
    return lm ? lm->carry : 0;
}

asc_params *asc_lm_params(asc_lm *lm)
{
    return lm ? lm->params : NULL;
}

asc_status asc_lm_set_dropout(asc_lm *lm, double p)
{
    asc_status status = ASC_NEED(lm ? lm->ctx : NULL, "lm_set_dropout: lm", lm);
    if (!status && !(p >= 0 && p < 1)) {
        status = asc_fail(lm->ctx, ASC_ERR_ARG, "lm_set_dropout: p is %g, expected at least 0 and less than 1", p);
    }
    if (!status) {
        lm->dropout = p;
    }
    return status;
}

void asc_lm_set_recompute(asc_lm *lm, bool recompute)
{
    if (lm) {
        lm->recompute = recompute;
    }
}

void asc_lm_set_aux(asc_lm *lm, bool counts)
{
    if (lm) {
        lm->without_aux = !counts;
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

asc_status asc_lm_ramp(asc_lm *lm, double share)
{
    asc_status status = ASC_NEED(lm ? lm->ctx : NULL, "lm_ramp: lm", lm);
    for (int64_t l = 0; !status && l < lm->layers; l++) {
        status = asc_layer_try_ramp(&lm->blocks[l].mix, share, "lm_ramp");
    }
    return status;
}

asc_status asc_lm_hold(asc_lm *lm, const char *name, const double *value)
{
    asc_status status = ASC_NEED(lm ? lm->ctx : NULL, "lm_hold: lm name", lm, name);
    if (status || (status = asc_error(lm->ctx))) {
        return status;
    }
    bool any = false;
    const char *guess = NULL;
    for (int64_t l = 0; !status && l < lm->layers; l++) {
        bool held;
        status = asc_layer_try_hold(&lm->blocks[l].mix, name, value, &held);
        any |= held;
        guess = guess ? guess : asc_layer_guess_held(&lm->blocks[l].mix, name);
    }
    if (!status && !any) {
        char hint[ASC_NAME_HINT];
        status = asc_fail(lm->ctx, ASC_ERR_ARG, "no layer has a number '%s' that is trained%s", name,
                          asc_name_hint(guess, hint));
    }
    asc_error_place(lm->ctx, "lm_hold");
    return status;
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
    asc_status status = ASC_NEED(lm ? lm->ctx : asc_ctx_of(tokens), "lm_log: lm tell", lm,
                                 (const void *)(uintptr_t)tell);
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
