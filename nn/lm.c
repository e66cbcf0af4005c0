/* nn/lm.c: the language model: embeddings, blocks of a mixing and a feed-forward layer, a head tied to the embedding.
 *
 *   post-norm: h = LN(h + mix(h)), h = LN(h + FFN(h));  pre-norm: h = h + mix(LN(h)), h = h + FFN(LN(h)), LN at the end
 *   FFN(x) = W₂ GELU(W₁ x + b₁) + b₂, with dropout after the embedding sum and before each residual sum. */
#include <ascgrad/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/lm.h"

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
    {"mix_residual", "true or false: a residual sum round the mixing"},
    {NULL, NULL},
};

const char *asc_lm_setting_at(int i, const char **help)
{
    const asc_setting *s = settings;
    for (int mixing = 0; s; mixing++) {
        for (; s->key && i > 0; s++) {
            i--;
        }
        if (s->key) {
            *help = s->help;
            return s->key;
        }
        const asc_mixing *m = asc_mixing_of(mixing);
        s = m ? m->settings : NULL;
    }
    return NULL;
}

/* ---- making ---- */

static asc_status read_sizes(asc_lm *lm, asc_config *c)
{
    static const char *const norms[] = {"post", "pre", NULL}, *const positions[] = {"none", "rotary", "alibi", NULL};
    lm->D = asc_config_int(c, "d_model", INT64_MIN, 1, 1 << 20);
    lm->layers = asc_config_int(c, "layers", INT64_MIN, 1, 10000);
    lm->vocab = asc_config_int(c, "vocab", INT64_MIN, 1, INT32_MAX);
    lm->block_length = asc_config_int(c, "block", INT64_MIN, 1, INT32_MAX);
    lm->d_ff = asc_config_int(c, "d_ff", 4 * lm->D, 1, INT32_MAX);
    lm->pre_norm = asc_config_choice(c, "block_norm", 0, norms) == 1;
    asc_config_choice(c, "positions", 0, positions); /* the mixings' matter, but known without them, too */
    return asc_error(lm->ctx);
}

static asc_status make_block(asc_lm *lm, asc_config *c, asc_maker *m, int l)
{
    asc_block *b = &lm->blocks[l];
    snprintf(b->label[0], sizeof b->label[0], "blocks.%d.mix", l);
    snprintf(b->label[1], sizeof b->label[1], "blocks.%d.ffn", l);
    int mixing = asc_config_choice_at(c, "mix", l, (int)lm->layers, 0, asc_mixing_names);
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.mix.", l);
    if (asc_layer_init(&b->mix, asc_mixing_of(mixing), lm->D, c, m, l, (int)lm->layers)) {
        return asc_error(lm->ctx);
    }
    if (!b->mix.mixing->causal(&b->mix)) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "config: the mixing of layer %d looks ahead: a language model must not",
                        l);
    }
    b->residual = asc_config_bool(c, "mix_residual", true);
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

static asc_status make_model(asc_lm *lm, asc_config *c, uint64_t seed)
{
    asc_ctx *ctx = lm->ctx;
    if (read_sizes(lm, c)) {
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
    if (asc_error(ctx) || asc_config_finish(c)) {
        return asc_error(ctx);
    }
    lm->config = asc_config_text(c);
    return asc_error(ctx);
}

asc_lm *asc_lm_new(asc_ctx *ctx, const char *text, asc_dtype dtype, uint64_t seed)
{
    if (asc_error(ctx)) {
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
    return lm->config;
}

int64_t asc_lm_vocab(const asc_lm *lm)
{
    return lm->vocab;
}

int64_t asc_lm_block(const asc_lm *lm)
{
    return lm->block_length;
}

asc_params *asc_lm_params(asc_lm *lm)
{
    return lm->params;
}

void asc_lm_set_dropout(asc_lm *lm, double p)
{
    lm->dropout = p;
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

/* h + dropout(x), or dropout(x); x and h go. */
static asc_tensor join(asc_lm *lm, asc_tensor h, asc_tensor x, bool residual)
{
    asc_tensor y = residual ? asc_add_dropout(lm->ctx, h, x, lm->dropout) : drop(lm, x);
    asc_release(h);
    if (residual) {
        asc_release(x);
    }
    return y;
}

static asc_tensor feed_forward(asc_lm *lm, const asc_block *b, asc_tensor x)
{
    asc_tensor wide = asc_linear(lm->ctx, x, b->fc1.weight, b->fc1.bias);
    asc_tensor active = asc_gelu(lm->ctx, wide);
    asc_tensor y = asc_linear(lm->ctx, active, b->fc2.weight, b->fc2.bias);
    asc_release(wide);
    asc_release(active);
    return y;
}

static asc_tensor run_block(asc_lm *lm, asc_block *b, asc_tensor h, asc_mix_fn *mix, void *arg)
{
    const char *outer = asc_set_label(lm->ctx, b->label[0]);
    if (lm->pre_norm) {
        asc_tensor x = norm(lm, h, b->norm1);
        h = join(lm, h, mix(&b->mix, x, arg), true);
        asc_release(x);
        asc_set_label(lm->ctx, b->label[1]);
        x = norm(lm, h, b->norm2);
        h = join(lm, h, feed_forward(lm, b, x), true);
        asc_release(x);
    } else {
        h = norm_once(lm, join(lm, h, mix(&b->mix, h, arg), b->residual), b->norm1);
        asc_set_label(lm->ctx, b->label[1]);
        h = norm_once(lm, join(lm, h, feed_forward(lm, b, h), true), b->norm2);
    }
    asc_set_label(lm->ctx, outer);
    return h;
}

static asc_tensor embed(asc_lm *lm, asc_tensor tokens, int64_t start)
{
    asc_ctx *ctx = lm->ctx;
    asc_tensor h = asc_embedding(ctx, lm->tok_emb, tokens);
    if (!asc_is_null(lm->pos_emb)) {
        asc_tensor at = asc_slice(ctx, lm->pos_emb, 0, start, start + asc_size(tokens, 1), 1);
        asc_tensor sum = asc_add(ctx, h, at);
        asc_release(h);
        h = sum;
    }
    return drop(lm, h);
}

asc_tensor asc_lm_hidden(asc_lm *lm, asc_tensor tokens, int64_t start, asc_mix_fn *mix, void *const *args)
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
    asc_tensor h = embed(lm, tokens, start);
    for (int64_t l = 0; l < lm->layers; l++) {
        h = run_block(lm, &lm->blocks[l], h, mix, args ? args[l] : NULL);
    }
    return lm->pre_norm ? norm_once(lm, h, lm->norm_f) : h;
}

static asc_tensor mix_in_full(asc_layer *mix, asc_tensor x, void *arg)
{
    (void)arg;
    return mix->mixing->forward(mix, x, asc_null());
}

asc_tensor asc_lm_loss(asc_lm *lm, asc_tensor x, asc_tensor y, asc_tensor *token_loss)
{
    asc_tensor h = asc_lm_hidden(lm, x, 0, mix_in_full, NULL);
    const char *outer = asc_set_label(lm->ctx, "head");
    asc_tensor loss = asc_linear_cross_entropy(lm->ctx, h, lm->tok_emb, y, token_loss);
    asc_set_label(lm->ctx, outer);
    asc_release(h);
    return loss;
}

asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x)
{
    asc_tensor h = asc_lm_hidden(lm, x, 0, mix_in_full, NULL);
    asc_tensor logits = asc_linear(lm->ctx, h, lm->tok_emb, asc_null());
    asc_release(h);
    return logits;
}
