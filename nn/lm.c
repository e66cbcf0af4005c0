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

static const double norm_eps = 1e-5;

typedef struct values {
    int64_t layers, d_model, d_ff, vocab, block;
    const char *mix;
    int block_norm;
    bool pos_emb, mix_residual;
} values;

#define AT(field) offsetof(values, field)

static const char *const norms[] = {"post", "pre", NULL};

static const asc_setting settings[] = {
    {"layers", ASC_SETTING_INT, AT(layers), "4", .help = "layers of the model", .min = 1, .max = 10000,
     .flags = ASC_SETTING_REQUIRED, .option = "layers"},
    {"mix", ASC_SETTING_TEXT, AT(mix), "transformer", .help = "what mixes the positions, by name",
     .flags = ASC_SETTING_PER_LAYER, .option = "model", .argument = "M"},
    {"d_model", ASC_SETTING_INT, AT(d_model), "128", .help = "width of the model", .min = 1, .max = 1 << 20,
     .flags = ASC_SETTING_REQUIRED, .option = "dim", .argument = "D"},
    {"d_ff", ASC_SETTING_INT, AT(d_ff), NULL, .help = "width of the feed-forward layers", .min = 1, .max = INT32_MAX,
     .option = "ffn", .follows = "4 times the model's"},
    {"vocab", ASC_SETTING_INT, AT(vocab), NULL, .help = "number of tokens; a training has it from its tokenizer",
     .min = 1, .max = INT32_MAX, .flags = ASC_SETTING_REQUIRED},
    {"block", ASC_SETTING_INT, AT(block), "128", .help = "tokens of a sequence, at most", .min = 1, .max = INT32_MAX,
     .flags = ASC_SETTING_REQUIRED, .option = "block"},
    {"block_norm", ASC_SETTING_CHOICE, AT(block_norm), "post",
     .help = "where layer norms stand, after each residual sum or before each branch", .choices = norms,
     .option = "block-norm", .argument = "WHERE"},
    {"pos_emb", ASC_SETTING_BOOL, AT(pos_emb), "true", .help = "learned positions", .option = "pos-emb"},
    {"mix_residual", ASC_SETTING_BOOL, AT(mix_residual), NULL, .help = "a residual sum round the mixing",
     .flags = ASC_SETTING_PER_LAYER, .follows = "true; false for grassmann in post-norm"},
    {0},
};

asc_schema asc_lm_schema(const asc_ctx *ctx, int i)
{
    const asc_mixing *m = i > 0 ? asc_mixing_of(ctx, i - 1) : NULL;
    return i == 0 ? (asc_schema){"model", settings} : m ? (asc_schema){m->name, m->settings} : (asc_schema){0};
}

/* ---- making ---- */

/* The model's settings for layer l: all that are not by layer are the same for each. */
static asc_status read_values(asc_lm *lm, asc_reader *c, int l, values *v)
{
    *v = (values){0};
    asc_place place = {.layer = l, .layers = (int)lm->layers};
    if (asc_reader_read(c, settings, lm->layers > 0 ? &place : NULL, v)) {
        return asc_error(lm->ctx);
    }
    v->d_ff = asc_reader_given(c, "d_ff") ? v->d_ff : 4 * v->d_model;
    return ASC_OK;
}

static asc_status read_sizes(asc_lm *lm, asc_reader *c, bool *pos_emb)
{
    values v;
    if (read_values(lm, c, 0, &v) == ASC_OK) {
        lm->D = v.d_model;
        lm->layers = v.layers;
        lm->vocab = v.vocab;
        lm->block_length = v.block;
        lm->d_ff = v.d_ff;
        lm->pre_norm = v.block_norm == 1;
        *pos_emb = v.pos_emb;
    }
    asc_values_clear(lm->ctx, settings, &v);
    return asc_error(lm->ctx);
}

/* What any model of these sizes has: too much is refused at once, not after its first layers were made. */
static asc_status check_sizes(const asc_lm *lm)
{
    double D = (double)lm->D, numbers = (double)lm->vocab * D + (double)lm->layers * 2 * D * (double)lm->d_ff;
    return asc_memory_check(lm->ctx, "the embedding and the feed-forward layers take",
                            numbers * (double)asc_dtype_size(lm->dtype));
}

/* Whether the mixing has a residual, which depends on it where it is not given; and the model's settings in effect. */
static asc_status read_residual(asc_reader *c, asc_block *b, values *v)
{
    asc_lm *lm = b->lm;
    if (!asc_reader_given(c, "mix_residual")) {
        v->mix_residual = lm->pre_norm || !b->mix.mixing->bare;
    }
    b->residual = v->mix_residual;
    if (lm->pre_norm && !b->residual) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "mix_residual", " is false, and block_norm is pre, which needs it");
    }
    asc_place place = {.layer = (int)b->layer, .layers = (int)lm->layers};
    return asc_reader_note(c, settings, &place, v);
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

static asc_status make_mixing(asc_block *b, asc_reader *c, asc_maker *m, values *v)
{
    asc_lm *lm = b->lm;
    const asc_mixing *mixing = asc_mixing_choose(lm->ctx, "mix", v->mix);
    int l = (int)b->layer;
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.mix.", l);
    asc_place place = {l, (int)lm->layers, mixing ? count_before(lm, l, mixing) : 0};
    if (!mixing || asc_layer_init(&b->mix, mixing, lm->D, c, m, place)) {
        return asc_error(lm->ctx);
    }
    const char *ahead = asc_layer_looks_ahead(&b->mix);
    if (ahead) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "the mixing of layer %d looks ahead, which a language model must not: %s",
                        l, ahead);
    }
    return read_residual(c, b, v);
}

static asc_status make_block(asc_lm *lm, asc_reader *c, asc_maker *m, int l)
{
    asc_block *b = &lm->blocks[l];
    values v;
    b->lm = lm;
    b->layer = l;
    snprintf(b->label[0], sizeof b->label[0], "blocks.%d.mix", l);
    snprintf(b->label[1], sizeof b->label[1], "blocks.%d.ffn", l);
    asc_status status = read_values(lm, c, l, &v);
    status = status ? status : make_mixing(b, c, m, &v);
    asc_values_clear(lm->ctx, settings, &v);
    if (status) {
        return status;
    }
    snprintf(m->prefix, sizeof m->prefix, "blocks.%d.", l);
    b->norm1 = asc_make_norm(m, "norm1", lm->D);
    b->norm2 = asc_make_norm(m, "norm2", lm->D);
    b->fc1 = asc_make_linear(m, "ffn.fc1", lm->D, lm->d_ff);
    b->fc2 = asc_make_linear(m, "ffn.fc2", lm->d_ff, lm->D);
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

static asc_status make_model(asc_lm *lm, asc_reader *c, uint64_t seed)
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
    lm->blocks = asc_alloc(ctx, (size_t)lm->layers * sizeof *lm->blocks);
    if (!lm->blocks) {
        return ASC_ERR_MEMORY;
    }
    memset(lm->blocks, 0, (size_t)lm->layers * sizeof *lm->blocks);
    asc_maker m = {.ctx = ctx, .params = lm->params, .dtype = lm->dtype, .seed = seed};
    lm->tok_emb = asc_make_param(&m, "tok_emb.weight", ASC_INIT_EMBEDDING, 2, (int64_t[]){lm->vocab, lm->D});
    if (pos_emb) {
        lm->pos_emb = asc_make_param(&m, "pos_emb.weight", ASC_INIT_EMBEDDING, 2, (int64_t[]){lm->block_length, lm->D});
    }
    for (int l = 0; l < lm->layers && !asc_error(ctx); l++) {
        make_block(lm, c, &m, l);
    }
    m.prefix[0] = 0;
    if (lm->pre_norm) {
        lm->norm_f = asc_make_norm(&m, "norm_f", lm->D);
    }
    return asc_error(ctx) ? asc_error(ctx) : finish_settings(lm, c);
}

asc_lm *asc_lm_new(asc_ctx *ctx, const char *text, asc_dtype dtype, uint64_t seed)
{
    asc_lm *lm = asc_error(ctx) ? NULL : asc_alloc(ctx, sizeof *lm);
    if (!lm) {
        return NULL;
    }
    *lm = (asc_lm){.ctx = ctx, .dtype = dtype};
    asc_reader reader;
    asc_status status = asc_reader_open(&reader, ctx, text);
    if (!status) {
        status = make_model(lm, &reader, seed);
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

void asc_lm_set_recompute(asc_lm *lm, bool recompute)
{
    lm->recompute = recompute;
}

void asc_lm_project(asc_lm *lm)
{
    for (int64_t l = 0; l < lm->layers; l++) {
        asc_layer *mix = &lm->blocks[l].mix;
        if (mix->mixing->project) {
            mix->mixing->project(mix);
        }
    }
}

void asc_lm_ramp(asc_lm *lm, double share)
{
    for (int64_t l = 0; l < lm->layers; l++) {
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
    return head_loss(lm, hidden_in_full(lm, x, NULL), y, token_loss);
}

asc_tensor asc_lm_objective(asc_lm *lm, asc_tensor x, asc_tensor y, double *loss)
{
    asc_tensor aux = asc_null();
    asc_tensor objective = head_loss(lm, hidden_in_full(lm, x, &aux), y, NULL);
    if (loss) {
        *loss = asc_item(objective);
    }
    return asc_is_null(aux) ? objective : asc_add(lm->ctx, objective, aux);
}

asc_tensor asc_lm_logits(asc_lm *lm, asc_tensor x)
{
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
        asc_layer_show(mix, x, asc_null(), at->parts);
    }
    return mix->mixing->forward(mix, x, asc_null(), NULL);
}

asc_status asc_lm_inspect(asc_lm *lm, asc_tensor tokens, int64_t layer, asc_params *parts)
{
    asc_ctx *ctx = lm->ctx;
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
