/* nn/lm_run.c: what a model computes up to its head: embeddings, blocks of a mixing and a feed-forward layer. The heads
 * are in lm_head.c.
 *
 *   post-norm: h = LN(h + mix(h)), h = LN(h + FFN(h));  pre-norm: h = h + mix(LN(h)), h = h + FFN(LN(h)), LN at the end
 *   FFN(x) = W₂ GELU(W₁ x + b₁) + b₂, with dropout after the embedding sum and before each residual sum. Other norms
 *   and feed-forward layers are in lm_parts.c.
 *
 * The Grassmann paper's block is post-norm without a residual round the mixing: h = dropout(LN(mix(h))). */
#include <string.h>

#include <ascgrad/ops.h>

#include "nn/doubles.h"
#include "nn/lm_parts.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- blocks. What no backward pass needs is let go where its last use is ---- */

static asc_tensor norm_once(asc_lm *lm, asc_tensor x, asc_affine w)
{
    asc_tensor y = asc_lm_norm(lm, x, w);
    asc_let_go(x);
    return y;
}

static asc_tensor drop(asc_lm *lm, asc_tensor x)
{
    if (lm->dropout == 0) {
        return x;
    }
    asc_tensor y = asc_dropout(lm->ctx, x, lm->dropout);
    asc_let_go(x);
    return y;
}

/* h + dropout(x); x goes. */
static asc_tensor join(asc_lm *lm, asc_tensor h, asc_tensor x)
{
    asc_tensor y = asc_add_dropout(lm->ctx, h, x, lm->dropout);
    asc_let_go(x);
    return y;
}

/* LN(h + dropout(x)), or without a residual dropout(LN(x)), as the Grassmann paper has it; x goes. */
static asc_tensor join_post(asc_lm *lm, const asc_block *b, asc_tensor h, asc_tensor x)
{
    return b->residual ? norm_once(lm, join(lm, h, x), b->norm1) : drop(lm, norm_once(lm, x, b->norm1));
}

/* A block up to its feed-forward layer; h stays. */
static asc_tensor mix_tokens(asc_lm *lm, asc_block *b, int64_t l, asc_tensor h, asc_mix_fn *mix, void *arg)
{
    if (!lm->pre_norm) {
        return join_post(lm, b, h, mix(&b->mix, h, l, arg));
    }
    asc_tensor x = asc_lm_norm(lm, h, b->norm1), y = join(lm, h, mix(&b->mix, x, l, arg));
    asc_let_go(x);
    return y;
}

/* And from there on. */
static asc_tensor feed_forward(asc_lm *lm, asc_block *b, asc_tensor h)
{
    if (!lm->pre_norm) {
        return norm_once(lm, join(lm, h, asc_lm_feed_forward(lm, b, h)), b->norm2);
    }
    asc_tensor x = asc_lm_norm(lm, h, b->norm2), y = join(lm, h, asc_lm_feed_forward(lm, b, x));
    asc_let_go(x);
    return y;
}

/* Block l; h goes, unless it is lent. */
static asc_tensor run_block(asc_lm *lm, int64_t l, asc_tensor h, bool lent, asc_mix_fn *mix, void *arg)
{
    asc_block *b = &lm->blocks[l];
    const char *outer = asc_set_label(lm->ctx, b->label[0]);
    asc_tensor mixed = mix_tokens(lm, b, l, h, mix, arg);
    if (!lent) {
        asc_let_go(h);
    }
    asc_set_label(lm->ctx, b->label[1]);
    asc_tensor y = feed_forward(lm, b, mixed);
    asc_let_go(mixed);
    asc_set_label(lm->ctx, outer);
    return y;
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
        asc_release(at);
        h = sum;
    }
    h = drop(lm, lm->has_emb_norm ? norm_once(lm, h, lm->emb_norm) : h);
    asc_set_label(ctx, outer);
    return h;
}

/* The same of pairs, *lengths of whose texts become those of their rows. */
static asc_tensor embed_pairs(asc_lm *lm, asc_tensor x, asc_tensor *lengths)
{
    asc_tensor rows, h = asc_pairs_begin(lm, x, *lengths, &rows);
    *lengths = rows;
    if (asc_is_null(h)) {
        return h;
    }
    return drop(lm, lm->has_emb_norm ? norm_once(lm, h, lm->emb_norm) : h);
}

/* Hidden states before the first block. */
static asc_tensor begin(asc_lm *lm, asc_tensor tokens, int64_t start)
{
    if (asc_error(lm->ctx)) {
        return asc_null();
    }
    if (lm->is_pairs) {
        asc_fail(lm->ctx, ASC_ERR_ARG, "lm: the model is one of pairs: it takes no sequence by itself");
        return asc_null();
    }
    if (asc_need_tensor(lm->ctx, tokens, "lm", "tokens")) {
        return asc_null();
    }
    asc_array a = asc_array_of(tokens);
    if (a.dtype != ASC_I64 || a.ndim != 2) {
        char text[ASC_SHAPE_TEXT];
        asc_fail(lm->ctx, ASC_ERR_ARG, "lm: tokens are %s %s, expected i64 (B, N)", asc_dtype_name(a.dtype),
                 asc_shape_text(&a, text));
        return asc_null();
    }
    if (!asc_is_null(lm->pos_emb) && start + a.shape[1] > lm->block_length) {
        asc_fail(lm->ctx, ASC_ERR_ARG, "lm: tokens end at position %lld, expected at most %lld, the model's block",
                 (long long)(start + a.shape[1]), (long long)lm->block_length);
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
        h = run_block(lm, l, h, false, mix, arg);
    }
    return finish(lm, h);
}

/* ---- in full ---- */

typedef struct in_full {
    asc_tensor lengths;      /* i64 (B), or null */
    asc_tensor *aux;         /* where the layer's auxiliary loss goes; NULL: it is not asked for */
    asc_tensor *flow;        /* and its flow; NULL likewise */
    asc_lm_carried *carried; /* or NULL */
} in_full;

static asc_tensor mix_in_full(asc_layer *mix, asc_tensor x, int64_t l, void *arg)
{
    const in_full *how = arg;
    if (how->flow) {
        asc_own begun = asc_own_begin(mix->ctx);
        asc_tensor flow = mix->mixing->flow(mix, x, how->lengths);
        asc_own_balance(mix->ctx, begun, mix->mixing->name);
        *how->flow = asc_made_own(mix->ctx, flow);
        asc_own_end(mix->ctx, begun);
    }
    return how->carried ? asc_carried_mix(how->carried, mix, x, l) : asc_layer_run(mix, x, how->lengths, how->aux);
}

/* Whether layer l is to stay close to the one below. */
static bool follows(const asc_lm *lm, int64_t l)
{
    if (l < 1 || l >= lm->layers) {
        return false;
    }
    const asc_layer *mix = &lm->blocks[l].mix, *below = &lm->blocks[l - 1].mix;
    return mix->mixing->follows && mix->mixing == below->mixing && mix->mixing->follows(mix, below);
}

static bool shows_flow(const asc_lm *lm, int64_t l)
{
    return follows(lm, l) || follows(lm, l + 1);
}

/* What the model had in the forward pass, and may have no longer: f64. */
enum { HAD_DROPOUT, HAD_CARRIED, HAD };

static asc_tensor what_it_has(const asc_lm *lm)
{
    double has[HAD] = {lm->dropout, (double)asc_carried_state(lm->carried)};
    return asc_from(lm->ctx, ASC_F64, has, 1, (int64_t[]){HAD});
}

/* A block as a function that can be run again, from h, lengths, the caller's bias, which may have come about with a
 * gradient, and what the model had, to h and, if asked for, to the auxiliary loss and to what neighbouring layers
 * compare. */
static asc_status run_again(asc_ctx *ctx, asc_block *b, const asc_tensor *in, asc_tensor *out, bool with_aux)
{
    asc_lm *lm = b->lm;
    const double *had = asc_data(in[3]);
    if (!had) {
        return asc_error(ctx);
    }
    asc_lm_carried *carried = had[HAD_CARRIED] > 0 ? lm->carried : NULL;
    if ((double)asc_carried_state(carried) != had[HAD_CARRIED]) {
        return asc_fail(ctx, ASC_ERR_STATE, "lm: a block is to be recomputed, and what it carried in the forward pass "
                        "has gone on or is no longer set: expected the backward pass before that");
    }
    in_full how = {in[1], with_aux ? &out[1] : NULL, with_aux && shows_flow(lm, b->layer) ? &out[2] : NULL, carried};
    asc_tensor bias = b->mix.bias;
    double dropout = lm->dropout;
    b->mix.bias = in[2];
    lm->dropout = had[HAD_DROPOUT];
    out[0] = run_block(lm, b->layer, in[0], true, mix_in_full, &how);
    lm->dropout = dropout;
    b->mix.bias = bias;
    return asc_error(ctx);
}

static asc_status block_alone(asc_ctx *ctx, void *block, const asc_tensor *in, asc_tensor *out)
{
    return run_again(ctx, block, in, out, false);
}

static asc_status block_with_aux(asc_ctx *ctx, void *block, const asc_tensor *in, asc_tensor *out)
{
    return run_again(ctx, block, in, out, true);
}

/* Block l, recomputed where that is asked for; h goes. *aux, if not NULL, gets its auxiliary loss, and *flow what
 * neighbouring layers compare. */
static asc_tensor block_in_full(asc_lm *lm, int64_t l, asc_tensor h, asc_tensor lengths, asc_tensor *aux,
                                asc_tensor *flow)
{
    if (!lm->recompute) {
        return run_block(lm, l, h, false, mix_in_full, &(in_full){lengths, aux, flow, lm->carried});
    }
    asc_tensor in[] = {h, lengths, lm->blocks[l].mix.bias, what_it_has(lm)}, out[3];
    asc_recompute(lm->ctx, aux ? block_with_aux : block_alone, &lm->blocks[l], in, 4, out, flow ? 3 : aux ? 2 : 1);
    asc_release(in[3]);
    asc_let_go(h);
    if (aux) {
        *aux = out[1];
    }
    if (flow) {
        *flow = out[2];
    }
    return out[0];
}

/* x + y, either of which may be null; both go. */
static asc_tensor plus(asc_ctx *ctx, asc_tensor x, asc_tensor y)
{
    if (asc_is_null(x) || asc_is_null(y)) {
        return asc_is_null(x) ? y : x;
    }
    asc_tensor sum = asc_add(ctx, x, y);
    asc_release(x);
    asc_release(y);
    return sum;
}

static asc_tensor turn(asc_layer *mix, asc_tensor flow, asc_tensor below)
{
    asc_own begun = asc_own_begin(mix->ctx);
    asc_tensor t = mix->mixing->turn(mix, flow, below);
    asc_own_balance(mix->ctx, begun, mix->mixing->name);
    t = asc_made_own(mix->ctx, t);
    asc_own_end(mix->ctx, begun);
    return t;
}

asc_tensor asc_lm_hidden_in_full(asc_lm *lm, asc_tensor tokens, asc_tensor lengths, asc_tensor *total)
{
    if (lm->carried && asc_carried_begin(lm->carried, tokens, lengths)) {
        return asc_null();
    }
    asc_tensor h = lm->is_pairs ? embed_pairs(lm, tokens, &lengths) : begin(lm, tokens, 0);
    asc_tensor below = asc_null(), turns = asc_null();
    int pairs = 0; /* of layers that are compared */
    for (int64_t l = 0; l < lm->layers && !asc_is_null(h); l++) {
        asc_tensor aux = asc_null(), flow = asc_null();
        h = block_in_full(lm, l, h, lengths, total ? &aux : NULL, total && shows_flow(lm, l) ? &flow : NULL);
        if (total) {
            *total = plus(lm->ctx, *total, aux);
        }
        if (total && follows(lm, l)) {
            turns = plus(lm->ctx, turns, turn(&lm->blocks[l].mix, flow, below));
            pairs++;
        }
        asc_release(below);
        below = flow;
    }
    asc_release(below);
    if (pairs > 0) {
        *total = plus(lm->ctx, *total, asc_after(turns, asc_scale(lm->ctx, turns, 1. / pairs)));
    }
    if (lm->carried && !asc_is_null(h)) {
        asc_carried_end(lm->carried, asc_size(tokens, 0), asc_size(tokens, 1));
    }
    if (lm->is_pairs) {
        asc_release(lengths); /* of the rows: made here */
    }
    return finish(lm, h);
}

bool asc_lm_given(const asc_lm *lm, asc_tensor tokens, const char *names, int head)
{
    if (ASC_NEED(lm ? lm->ctx : asc_ctx_of(tokens), names, lm)) {
        return false;
    }
    if (head >= 0 && (lm->classes > 0) != (head == ASC_HEAD_CLASSIFIER)) {
        asc_fail(lm->ctx, ASC_ERR_ARG, "%.*s: the model is a %s", (int)strcspn(names, ":"), names,
                 lm->classes > 0 ? "classifier, which predicts no tokens" : "language model, which has no classes");
        return false;
    }
    return true;
}

asc_tensor asc_lm_states(asc_lm *lm, asc_tensor x, asc_tensor lengths)
{
    return asc_lm_given(lm, x, "lm_states: lm", -1) ? asc_lm_hidden_in_full(lm, x, lengths, NULL) : asc_null();
}

/* ---- what a number of a layer does ---- */

typedef struct probe {
    int64_t layer;
    const char *name;
    asc_tensor moved;
} probe;

static asc_tensor mix_and_move(asc_layer *mix, asc_tensor x, int64_t l, void *arg)
{
    probe *p = arg;
    if (l == p->layer && mix->mixing->moves) {
        asc_tensor moved = mix->mixing->moves(mix, x, p->name);
        p->moved = asc_is_null(moved) ? moved : asc_keep(asc_doubles(mix->ctx, moved));
    }
    return asc_layer_run(mix, x, asc_null(), NULL);
}

asc_tensor asc_lm_moves(asc_lm *lm, asc_tensor tokens, int64_t layer, const char *name)
{
    asc_ctx *ctx = lm ? lm->ctx : asc_ctx_of(tokens);
    if (ASC_NEED(ctx, "lm_moves: lm name", lm, name)) {
        return asc_null();
    }
    if (layer < 0 || layer >= lm->layers) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_moves: layer is %lld, expected 0 to %lld", (long long)layer,
                 (long long)lm->layers - 1);
        return asc_null();
    }
    if (asc_size(tokens, 0) != 1) {
        asc_fail(ctx, ASC_ERR_ARG, "lm_moves: tokens are %lld sequences, expected 1", (long long)asc_size(tokens, 0));
        return asc_null();
    }
    probe p = {layer, name, asc_null()};
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_lm_hidden(lm, tokens, 0, mix_and_move, &p);
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    return p.moved;
}

/* ---- looking inside ---- */

static asc_tensor mix_and_look(asc_layer *mix, asc_tensor x, int64_t l, void *parts)
{
    (void)l;
    if (mix->mixing->inspect) {
        asc_layer_show(mix, x, asc_null(), parts);
    }
    return asc_layer_run(mix, x, asc_null(), NULL);
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
    asc_tensor h = begin(lm, tokens, 0);
    in_full how = {asc_null(), NULL, NULL, NULL};
    for (int64_t l = 0; l <= layer && !asc_is_null(h); l++) {
        h = l == layer ? run_block(lm, l, h, false, mix_and_look, parts)
                       : run_block(lm, l, h, false, mix_in_full, &how);
    }
    if (asc_error(ctx) == ASC_OK) {
        asc_params_add(parts, "hidden", h, false);
    }
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    return asc_error(ctx);
}
