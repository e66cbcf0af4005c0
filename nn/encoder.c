/* nn/encoder.c: BERT's network (Devlin et al. 2019, arXiv 1810.04805), which is DistilBERT's, too, without types.
 *
 *   h = LN(word[token] + type[type] + position[place])
 *   in every layer  h = LN(h + attention(h) Woᵀ + bo),  h = LN(h + W₂ a(W₁ h + b₁) + b₂)
 *
 * attention looks at all tokens of the sentence; a is GELU, its approximation by tanh, or max(x, 0). */
#include "nn/encoder.h"

#include <ascgrad/ops.h>

#include "ops/shared/op.h"

/* ---- products with weights that stay as they are ----
 *
 * asc_linear's pieces are small, so that narrow layers find work for many threads; what BLAS does to lay a weight out
 * for its kernel is then done for each 128 or 256 tokens. Here a piece has up to 512, and GELU is taken of it while it
 * is in cache: some 5 % of an encoder's time. */

enum { X, W, B };
enum { PIECE_ROWS = 512, PIECE_COLUMNS = 1536, FEW_ROWS = 128 };

typedef struct product {
    const asc_call *call;
    int64_t rows, in, out;
    int64_t tall, wide, across; /* of a piece; pieces side by side */
    bool gelu; /* of what comes of it */
} product;

static void run_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const product *p = arg;
    int64_t i = piece / p->across * p->tall, j = piece % p->across * p->wide;
    int64_t rows = p->rows - i < p->tall ? p->rows - i : p->tall, columns = p->out - j < p->wide ? p->out - j : p->wide;
    const asc_array *in = p->call->in;
    float *c = (float *)p->call->out[0].data + i * p->out + j;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32, .packs = asc_packs(p->call->ctx), .tb = true,
                             .m = rows, .n = columns, .k = p->in, .alpha = 1,
                             .a = (const float *)in[X].data + i * p->in, .lda = p->in,
                             .b = (const float *)in[W].data + j * p->in, .ldb = p->in, .c = c, .ldc = p->out,
                             .bias = (const float *)in[B].data + j});
    for (int64_t r = 0; p->gelu && r < rows; r++) {
        asc_kernels_f32()->gelu(c + r * p->out, c + r * p->out, columns);
    }
}

/* An even number of pieces, so that two threads have the same to do; sizes follow from the product's alone. */
static asc_status run_product(asc_call *call)
{
    const asc_array *x = &call->in[X], *w = &call->in[W];
    product p = {.call = call, .rows = asc_leading(x, x->ndim - 1), .in = w->shape[1], .out = w->shape[0],
                 .gelu = call->op->data};
    int64_t down = p.rows <= FEW_ROWS ? 1 : 2 * ((p.rows + 2 * PIECE_ROWS - 1) / (2 * PIECE_ROWS));
    p.across = (p.out + PIECE_COLUMNS - 1) / PIECE_COLUMNS;
    p.wide = ((p.out + p.across - 1) / p.across + 15) / 16 * 16;
    p.across = (p.out + p.wide - 1) / p.wide;
    p.tall = p.rows > 0 ? ((p.rows + down - 1) / down + 15) / 16 * 16 : 1;
    asc_parallel(call->ctx, (p.rows + p.tall - 1) / p.tall * p.across, run_piece, &p);
    return ASC_OK;
}

/* For the encoder alone, and in no list: they have no gradient. */
#define FROZEN(called, says, with)                                                                                     \
    {                                                                                                                  \
        .abi = ASC_OP_ABI, .name = called, .equation = says, .inputs = "x weight bias", .n_out = 1,                    \
        .infer = asc_linear_infer, .forward = run_product, .flops = asc_linear_flops, .data = with                     \
    }
static const asc_op frozen_linear = FROZEN("frozen_linear", "y = x Wᵀ + b", NULL);
static const asc_op frozen_gelu = FROZEN("frozen_gelu", "y = GELU(x Wᵀ + b)", "gelu");

/* `made` out of `used`, which is needed no more. */
static asc_tensor after(asc_tensor used, asc_tensor made)
{
    asc_release(used);
    return made;
}

static asc_tensor multiply(asc_ctx *ctx, const asc_op *op, asc_tensor x, asc_affine w)
{
    return asc_apply1(ctx, op, (asc_tensor[]){x, w.weight, w.bias}, 3, NULL);
}

static asc_tensor affine(asc_ctx *ctx, asc_tensor x, asc_affine w)
{
    return multiply(ctx, &frozen_linear, x, w);
}

/* LN(h + x); both go. */
static asc_tensor join(asc_ctx *ctx, const asc_encoder_net *net, asc_tensor h, asc_tensor x, asc_affine norm)
{
    asc_tensor sum = after(h, after(x, asc_add(ctx, h, x)));
    return after(sum, asc_layer_norm(ctx, sum, norm.weight, norm.bias, net->eps));
}

static asc_tensor attend(asc_ctx *ctx, const asc_encoder_net *net, const asc_encoder_layer *l, asc_tensor h,
                         asc_tensor lengths)
{
    asc_attention_inputs in = {
        .q = affine(ctx, h, l->q), .k = affine(ctx, h, l->k), .v = affine(ctx, h, l->v), .lengths = lengths};
    asc_tensor y = asc_attention(ctx, &in, &(asc_attention_options){.heads = net->heads});
    asc_release(in.q);
    asc_release(in.k);
    asc_release(in.v);
    return after(y, affine(ctx, y, l->o));
}

static asc_tensor feed_forward(asc_ctx *ctx, const asc_encoder_net *net, const asc_encoder_layer *l, asc_tensor h)
{
    bool gelu = net->activation == ASC_ENCODER_GELU;
    asc_tensor x = multiply(ctx, gelu ? &frozen_gelu : &frozen_linear, h, l->fc1);
    if (!gelu) {
        x = after(x, net->activation == ASC_ENCODER_RELU ? asc_relu(ctx, x) : asc_gelu_tanh(ctx, x));
    }
    return after(x, affine(ctx, x, l->fc2));
}

/* ---- embeddings ---- */

/* The rows of `place` for types (B, N); null with the error set. */
static asc_tensor place_rows(asc_ctx *ctx, const asc_encoder_net *net, asc_tensor types)
{
    asc_array a = asc_array_of(types);
    const int64_t *type = asc_data(types);
    asc_tensor rows = asc_empty(ctx, ASC_I64, a.ndim, a.shape);
    int64_t *row = asc_is_null(rows) ? NULL : asc_data_mut(rows);
    for (int64_t i = 0; row && i < a.numel; i++) {
        int64_t at = i / a.shape[1] * a.stride[0] + i % a.shape[1] * a.stride[1];
        if (type[at] < 0 || type[at] >= net->types) {
            asc_fail(ctx, ASC_ERR_ARG, "encoder_states: types has %lld, expected 0 to %lld", (long long)type[at],
                     (long long)net->types - 1);
            return after(rows, asc_null());
        }
        row[i] = type[at] * net->positions + i % a.shape[1];
    }
    return rows;
}

static asc_tensor embed(asc_ctx *ctx, const asc_encoder_net *net, asc_tensor tokens, asc_tensor types)
{
    asc_tensor place;
    if (asc_is_null(types) || net->types == 0) {
        place = asc_slice(ctx, net->place, 0, 0, asc_size(tokens, 1), 1);
    } else {
        asc_tensor rows = place_rows(ctx, net, types);
        place = after(rows, asc_embedding(ctx, net->place, rows));
    }
    asc_tensor word = asc_embedding(ctx, net->word, tokens);
    return join(ctx, net, word, place, net->norm);
}

/* ---- all of it ---- */

static asc_status check(asc_ctx *ctx, const asc_encoder_net *net, asc_tensor tokens, asc_tensor types)
{
    asc_array a = asc_array_of(tokens), t = asc_array_of(types);
    char text[2][ASC_SHAPE_TEXT];
    if (a.ndim != 2 || a.dtype != ASC_I64 || a.shape[1] < 1 || a.shape[1] > net->positions) {
        return asc_fail(ctx, ASC_ERR_ARG, "encoder_states: tokens is %s %s, expected i64 (B, N), N from 1 to %lld",
                        a.ndim < 0 ? "" : asc_dtype_name(a.dtype), asc_shape_text(&a, text[0]),
                        (long long)net->positions);
    }
    if (t.ndim >= 0 && (t.dtype != ASC_I64 || !asc_same_shape(&a, &t))) {
        return asc_fail(ctx, ASC_ERR_ARG, "encoder_states: types is %s %s, expected i64 %s, as tokens",
                        asc_dtype_name(t.dtype), asc_shape_text(&t, text[0]), asc_shape_text(&a, text[1]));
    }
    return asc_error(ctx);
}

asc_tensor asc_encoder_net_states(asc_ctx *ctx, const asc_encoder_net *net, asc_tensor tokens, asc_tensor types,
                                  asc_tensor lengths)
{
    if (check(ctx, net, tokens, types)) {
        return asc_null();
    }
    bool recording = asc_set_recording(ctx, false);
    asc_precision precision = asc_precision_of(ctx);
    asc_set_precision(ctx, ASC_PRECISION_F32); /* states are kept for other runs */
    asc_tensor h = embed(ctx, net, tokens, types);
    for (int64_t i = 0; i < net->layers; i++) {
        const asc_encoder_layer *l = &net->layer[i];
        h = join(ctx, net, h, attend(ctx, net, l, h, lengths), l->norm1);
        h = join(ctx, net, h, feed_forward(ctx, net, l, h), l->norm2);
    }
    asc_set_precision(ctx, precision);
    asc_set_recording(ctx, recording);
    return h;
}
