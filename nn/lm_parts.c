/* nn/lm_parts.c: what a model is made of beside its mixings, in the form that its settings name.
 *
 *   norm         layer: LN(x);  rms: x/√(mean(x²) + ε)∘w
 *   activation   gelu, relu2: W₂ a(W₁ x + b₁) + b₂;  swiglu, geglu: W₂ (a(W_g x + b_g)∘(W₁ x + b₁)) + b₂
 *   head         s = c tanh(W h/(m c)), with no cap W h/m; W the embedding, or one of its own; m: asc_lm_widening */
#include "nn/lm_parts.h"

#include <stdio.h>

#include <ascgrad/ops.h>

#include "tensor/ctx.h"

static const double norm_eps = 1e-5;

/* ---- norms ---- */

asc_affine asc_lm_make_norm(const asc_lm *lm, asc_maker *m, const char *name)
{
    char weight[64];
    if (!lm->rms_norm) {
        return asc_make_norm(m, name, lm->D);
    }
    snprintf(weight, sizeof weight, "%s.weight", name);
    return (asc_affine){asc_make_param(m, weight, ASC_INIT_ONE, 1, &lm->D), asc_null()};
}

asc_tensor asc_lm_norm(asc_lm *lm, asc_tensor x, asc_affine w)
{
    return lm->rms_norm ? asc_rms_norm(lm->ctx, x, w.weight, norm_eps)
                        : asc_layer_norm(lm->ctx, x, w.weight, w.bias, norm_eps);
}

/* ---- feed-forward layers ---- */

bool asc_lm_gated(const asc_lm *lm)
{
    return lm->activation == ASC_ACTIVATION_SWIGLU || lm->activation == ASC_ACTIVATION_GEGLU;
}

static const char *const ffn_outputs[] = {"ffn.fc2.weight", NULL};

void asc_lm_make_ffn(const asc_lm *lm, asc_maker *m, asc_block *b)
{
    m->zeros = lm->zero_init ? ffn_outputs : NULL;
    b->fc1 = asc_make_linear(m, "ffn.fc1", lm->D, lm->d_ff);
    if (asc_lm_gated(lm)) {
        b->gate = asc_make_linear(m, "ffn.gate", lm->D, lm->d_ff);
    }
    b->fc2 = asc_make_linear(m, "ffn.fc2", lm->d_ff, lm->D);
    m->zeros = NULL;
}

static asc_tensor activate(asc_lm *lm, asc_tensor wide, asc_tensor gate, asc_affine w)
{
    switch (lm->activation) {
    case ASC_ACTIVATION_RELU2: return asc_relu2_linear(lm->ctx, wide, w.weight, w.bias);
    case ASC_ACTIVATION_SWIGLU: return asc_swiglu_linear(lm->ctx, wide, gate, w.weight, w.bias);
    case ASC_ACTIVATION_GEGLU: return asc_geglu_linear(lm->ctx, wide, gate, w.weight, w.bias);
    default: return asc_gelu_linear(lm->ctx, wide, w.weight, w.bias);
    }
}

asc_tensor asc_lm_feed_forward(asc_lm *lm, const asc_block *b, asc_tensor x)
{
    asc_tensor wide = asc_linear(lm->ctx, x, b->fc1.weight, b->fc1.bias), gate = asc_null();
    if (asc_lm_gated(lm)) {
        gate = asc_linear(lm->ctx, x, b->gate.weight, b->gate.bias);
    }
    asc_tensor y = activate(lm, wide, gate, b->fc2);
    asc_release(wide);
    asc_release(gate);
    return y;
}

/* ---- the head ---- */

asc_tensor asc_lm_head_input(asc_lm *lm, asc_tensor h)
{
    double m = asc_lm_widening(lm);
    if (m == 1) {
        return h;
    }
    asc_tensor y = asc_scale(lm->ctx, h, 1 / m);
    asc_release(h);
    return y;
}

asc_tensor asc_lm_head_logits(asc_lm *lm, asc_tensor h)
{
    asc_ctx *ctx = lm->ctx;
    double c = lm->logit_cap;
    asc_tensor x = asc_lm_head_input(lm, h), s = asc_linear(ctx, x, lm->head, asc_null());
    asc_release(x);
    if (c == 0) {
        return s;
    }
    asc_tensor capped = asc_soft_cap(ctx, s, c);
    asc_release(s);
    return capped;
}
