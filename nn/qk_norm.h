/* nn/qk_norm.h: queries and keys of RMS 1 in each head, before positions turn them: x/√(mean(x²) + ε)∘w, w a gain that
 * the heads share, or none (Henry et al. 2020, arXiv 2010.04245; Dehghani et al. 2023, arXiv 2302.05442). For all whose
 * scores are products of the two. */
#ifndef NN_QK_NORM_H
#define NN_QK_NORM_H

#include "nn/mixing.h"

enum { ASC_QK_NORM_NONE, ASC_QK_NORM_RMS, ASC_QK_NORM_GAIN };
static const char *const asc_qk_norm_names[] = {"none", "rms", "gain", NULL};

/* The setting's row, for a struct of values with an int at `offset`. */
#define ASC_QK_NORM_SETTING(offset)                                                                              \
    {"qk_norm", ASC_SETTING_CHOICE, offset, "none",                                                              \
     .help = "queries and keys of RMS 1 in each head, alone or with a learned gain", .choices = asc_qk_norm_names}

typedef struct asc_qk_norm {
    int64_t heads; /* 0: off */
    asc_tensor q, k; /* the gains, [d]; null without */
} asc_qk_norm;

/* As the setting chooses, of heads of width d: "q_norm.weight" and "k_norm.weight" where there is a gain. */
asc_qk_norm asc_qk_norm_make(asc_maker *maker, int which, int64_t heads, int64_t d);

/* Of queries or keys x (B, N, H d), which go, with their gain. */
asc_tensor asc_qk_norm_apply(asc_ctx *ctx, const asc_qk_norm *norm, asc_tensor x, asc_tensor gain);

#endif
