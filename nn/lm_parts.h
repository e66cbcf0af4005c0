/* nn/lm_parts.h: what a model is made of beside its mixings: norms, feed-forward layers, the head. */
#ifndef NN_LM_PARTS_H
#define NN_LM_PARTS_H

#include "nn/lm.h"

/* A norm of the model's kind, made and applied. */
asc_affine asc_lm_make_norm(const asc_lm *lm, asc_maker *m, const char *name);
asc_tensor asc_lm_norm(asc_lm *lm, asc_tensor x, asc_affine w);

/* The block's feed-forward layer, made and applied; whether it has a gate. */
bool asc_lm_gated(const asc_lm *lm);
void asc_lm_make_ffn(const asc_lm *lm, asc_maker *m, asc_block *b);
asc_tensor asc_lm_feed_forward(asc_lm *lm, const asc_block *b, asc_tensor x);

/* How many times as wide as its base the model is, m = D/mup_width; 1 without. */
double asc_lm_widening(const asc_lm *lm);

/* What the head's matrix is multiplied with, and its logits; h goes. */
asc_tensor asc_lm_head_input(asc_lm *lm, asc_tensor h);
asc_tensor asc_lm_head_logits(asc_lm *lm, asc_tensor h);

#endif
