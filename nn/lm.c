/* nn/lm.c: the language model: embeddings, blocks of a mixing and a feed-forward layer, a head tied to the embedding.
 *
 *   post-norm: h = LN(h + mix(h)), h = LN(h + FFN(h));  pre-norm: h = h + mix(LN(h)), h = h + FFN(LN(h)), LN at the end
 *   FFN(x) = W₂ GELU(W₁ x + b₁) + b₂, with dropout after the embedding sum and before each residual sum.
 *
 * The Grassmann paper's block is post-norm without a residual round the mixing: h = dropout(LN(mix(h))). */
#include <ascgrad/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

static const double norm_eps = 1e-5;

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

/* ---- running. What no backward pass needs is released where its last use is ---- */

static asc_tensor norm(asc_lm *lm, asc_tensor x, asc_affine w)
{
    return asc_layer_norm(lm->ctx, x, w.weight, w.bias, norm_eps);
}

static asc_tensor norm_once(asc_lm *lm, asc_tensor x, asc_affine w)
{
    asc_tensor y = norm(lm, x, w);
    asc_release(x);
    return y;
}

static asc_tensor drop(asc_lm *lm, asc_tensor x)
{
    if (lm->dropout == 0) {
        return x;
    }
    asc_tensor y = asc_dropout(lm->ctx, x, lm->dropout);
    asc_release(x);
    return y;
}

/* h + dropout(x); x and h go. */
static asc_tensor join(asc_lm *lm, asc_tensor h, asc_tensor x)
{
    asc_tensor y = asc_add_dropout(lm->ctx, h, x, lm->dropout);
    asc_release(h);
    asc_release(x);
    return y;
}

/* LN(h + dropout(x)), or without a residual dropout(LN(x)), as the Grassmann paper has it; x and h go. */
static asc_tensor join_post(asc_lm *lm, const asc_block *b, asc_tensor h, asc_tensor x)
{
    if (b->residual) {
        return norm_once(lm, join(lm, h, x), b->norm1);
    }
    asc_release(h);
    return drop(lm, norm_once(lm, x, b->norm1));
}

static asc_tensor feed_forward(asc_lm *lm, const asc_block *b, asc_tensor x)
{
    asc_tensor wide = asc_linear(lm->ctx, x, b->fc1.weight, b->fc1.bias);
    asc_tensor y = asc_gelu_linear(lm->ctx, wide, b->fc2.weight, b->fc2.bias);
    asc_release(wide);
    return y;
}

static asc_tensor run_block(asc_lm *lm, int64_t l, asc_tensor h, asc_mix_fn *mix, void *arg)
{
    asc_block *b = &lm->blocks[l];
    const char *outer = asc_set_label(lm->ctx, b->label[0]);
    if (lm->pre_norm) {
        asc_tensor x = norm(lm, h, b->norm1);
        h = join(lm, h, mix(&b->mix, x, l, arg));
        asc_release(x);
        asc_set_label(lm->ctx, b->label[1]);
        x = norm(lm, h, b->norm2);
        h = join(lm, h, feed_forward(lm, b, x));
        asc_release(x);
    } else {
        h = join_post(lm, b, h, mix(&b->mix, h, l, arg));
        asc_set_label(lm->ctx, b->label[1]);
        h = norm_once(lm, join(lm, h, feed_forward(lm, b, h)), b->norm2);
    }
    asc_set_label(lm->ctx, outer);
    return h;
}

static asc_tensor embed(asc_lm *lm, asc_tensor tokens, int64_t start)
{
    asc_ctx *ctx = lm->ctx;
    const char *outer = asc_set_label(ctx, "embedding");
    asc_tensor h = asc_embedding(ctx, lm->tok_emb, tokens);
    if (!asc_is_null(lm->pos_emb)) {
        asc_tensor at = asc_slice(ctx, lm->pos_emb, 0, start, start + asc_size(tokens, 1), 1);
        asc_tensor sum = asc_add(ctx, h, at);
        asc_release(h);
        h = sum;
    }
    h = drop(lm, h);
    asc_set_label(ctx, outer);
    return h;
}

/* Hidden states before the first block. */
static asc_tensor begin(asc_lm *lm, asc_tensor tokens, int64_t start)
{
    if (asc_error(lm->ctx)) {
        return asc_null();
    }
    int64_t N = asc_size(tokens, 1);
    if (asc_ndim(tokens) != 2 || (!asc_is_null(lm->pos_emb) && start + N > lm->block_length)) {
        asc_fail(lm->ctx, ASC_ERR_ARG, "lm: tokens have %d dimensions and end at position %lld, expected 2 and at most "
                 "%lld", asc_ndim(tokens), (long long)(start + N), (long long)lm->block_length);
        return asc_null();
    }
    return embed(lm, tokens, start);
}

/* And after the last; h goes. */
static asc_tensor finish(asc_lm *lm, asc_tensor h)
{
    return lm->pre_norm ? norm_once(lm, h, lm->norm_f) : h;
}

asc_tensor asc_lm_hidden(asc_lm *lm, asc_tensor tokens, int64_t start, asc_mix_fn *mix, void *arg)
{
    asc_tensor h = begin(lm, tokens, start);
    for (int64_t l = 0; l < lm->layers && !asc_is_null(h); l++) {
        h = run_block(lm, l, h, mix, arg);
    }
    return finish(lm, h);
}

/* ---- in full ---- */

/* The layer's auxiliary loss goes to the tensor at arg, if that is not NULL. */
static asc_tensor mix_in_full(asc_layer *mix, asc_tensor x, int64_t l, void *arg)
{
    (void)l;
    return mix->mixing->forward(mix, x, asc_null(), arg);
}

/* A block as a function that can be run again: from h to h and, if asked for, to the auxiliary loss. */
static asc_status block_alone(asc_ctx *ctx, void *block, const asc_tensor *h, asc_tensor *out)
{
    const asc_block *b = block;
    out[0] = run_block(b->lm, b->layer, asc_keep(h[0]), mix_in_full, NULL);
    return asc_error(ctx);
}

static asc_status block_with_aux(asc_ctx *ctx, void *block, const asc_tensor *h, asc_tensor *out)
{
    const asc_block *b = block;
    out[0] = run_block(b->lm, b->layer, asc_keep(h[0]), mix_in_full, &out[1]);
    return asc_error(ctx);
}

/* Block l, recomputed where that is asked for; h goes. *aux, if not NULL, gets its auxiliary loss. */
static asc_tensor block_in_full(asc_lm *lm, int64_t l, asc_tensor h, asc_tensor *aux)
{
    if (!lm->recompute) {
        return run_block(lm, l, h, mix_in_full, aux);
    }
    asc_tensor out[2];
    asc_recompute(lm->ctx, aux ? block_with_aux : block_alone, &lm->blocks[l], &h, 1, out, aux ? 2 : 1);
    asc_release(h);
    if (aux) {
        *aux = out[1];
    }
    return out[0];
}

/* Hidden states before the head. *total, if not NULL, gets the sum of the auxiliary losses, or null. */
static asc_tensor hidden_in_full(asc_lm *lm, asc_tensor tokens, asc_tensor *total)
{
    asc_tensor h = begin(lm, tokens, 0);
    for (int64_t l = 0; l < lm->layers && !asc_is_null(h); l++) {
        asc_tensor aux = asc_null();
        h = block_in_full(lm, l, h, total ? &aux : NULL);
        if (!asc_is_null(aux)) {
            *total = asc_is_null(*total) ? aux : asc_add(lm->ctx, *total, aux);
        }
    }
    return finish(lm, h);
}

/* What a function of a model begins with, `names` its name and "lm". */
static bool given(const asc_lm *lm, asc_tensor tokens, const char *names)
{
    return ASC_NEED(lm ? lm->ctx : asc_ctx_of(tokens), names, lm) == ASC_OK;
}

/* The cross-entropy of hidden states; h goes. */
static asc_tensor head_loss(asc_lm *lm, asc_tensor h, asc_tensor y, asc_tensor *token_loss)
{
    const char *outer = asc_set_label(lm->ctx, "head");
    asc_tensor loss = asc_linear_cross_entropy(lm->ctx, h, lm->tok_emb, y, token_loss);
    asc_set_label(lm->ctx, outer);
    asc_release(h);
    return loss;
}

asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss)
{
    if (token_loss) {
        *token_loss = asc_null();
    }
    return given(lm, x, "lm_loss: lm") ? head_loss(lm, hidden_in_full(lm, x, NULL), y, token_loss) : asc_null();
}

asc_tensor asc_lm_objective(asc_lm *lm, asc_tensor x, asc_tensor y, double *loss)
{
    asc_tensor aux = asc_null(), objective = asc_null();
    if (given(lm, x, "lm_objective: lm")) {
        objective = head_loss(lm, hidden_in_full(lm, x, &aux), y, NULL);
    }
    if (loss) {
        *loss = asc_item(objective);
    }
    return asc_is_null(aux) ? objective : asc_add(lm->ctx, objective, aux);
}

asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x)
{
    if (!given(lm, x, "lm_logits: lm")) {
        return asc_null();
    }
    asc_tensor h = hidden_in_full(lm, x, NULL);
    asc_tensor logits = asc_linear(lm->ctx, h, lm->tok_emb, asc_null());
    asc_release(h);
    return logits;
}

/* ---- looking inside ---- */

typedef struct look {
    int64_t layer;
    asc_params *parts;
} look;

static asc_tensor mix_and_look(asc_layer *mix, asc_tensor x, int64_t l, void *arg)
{
    const look *at = arg;
    if (l == at->layer) {
        mix->mixing->inspect(mix, x, asc_null(), at->parts);
    }
    return mix->mixing->forward(mix, x, asc_null(), NULL);
}

asc_status asc_lm_inspect(asc_lm *lm, asc_tensor tokens, int64_t layer, asc_params *parts)
{
    asc_ctx *ctx = lm ? lm->ctx : asc_ctx_of(tokens);
    asc_status status = ASC_NEED(ctx, "lm_inspect: lm parts", lm, parts);
    if (status) {
        return status;
    }
    if (layer < 0 || layer >= lm->layers) {
        return asc_fail(ctx, ASC_ERR_ARG, "lm_inspect: layer is %lld, expected 0 to %lld", (long long)layer,
                        (long long)lm->layers - 1);
    }
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_lm_hidden(lm, tokens, 0, mix_and_look, &(look){layer, parts});
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    return asc_error(ctx);
}
