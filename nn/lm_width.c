/* nn/lm_width.c: initial values and learning rates by width, so that what was found on a model of width mup_width holds
 * for wider ones (µP: Yang and Hu et al. 2022, "Tensor Programs V", arXiv 2203.03466, table 8, for Adam). With
 * m = D/mup_width
 *
 *   matrices that sum over the width   initial ±1/√fan_in, rate times 1/m
 *   a classifier's matrix              initial ±1/√(m fan_in), rate times 1/m
 *   logits of a language model         times 1/m (lm_parts.c)
 *   all else                           as ever: embeddings, biases, norms, numbers a head, matrices of fixed fan-in */

#include "nn/lm_parts.h"

double asc_lm_widening(const asc_lm *lm)
{
    return lm->mup_width > 0 ? (double)lm->D / (double)lm->mup_width : 1;
}

/* The name within a layer's mixing, whose number is *layer; NULL for other parameters. */
static const char *name_in_mixing(const char *name, int *layer)
{
    int n = 0;
    return sscanf(name, "blocks.%d.mix.%n", layer, &n) == 1 && n > 0 ? name + n : NULL;
}

static const char *const tables[] = {"tok_emb.weight", "pos_emb.weight", "lm_head.weight", NULL};

/* Matrices are what decays, but for the tables, of which the logits' factor takes care. */
static bool sums_over_width(const asc_lm *lm, int param)
{
    int layer;
    const char *name = asc_params_name(lm->params, param), *own = name_in_mixing(name, &layer);
    return asc_params_decays(lm->params, param) && !asc_name_in(name, tables) &&
           !(own && asc_name_in(own, lm->blocks[layer].mix.mixing->narrow));
}

double asc_lm_rate_scale(const asc_lm *lm, int param)
{
    bool there = lm && param >= 0 && param < asc_params_count(lm->params);
    return there && lm->mup_width > 0 && sums_over_width(lm, param) ? 1 / asc_lm_widening(lm) : 1;
}
