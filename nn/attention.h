/* nn/attention.h: words of settings that all who attend have in common. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include <stddef.h>

enum { ASC_MASK_CAUSAL, ASC_MASK_FULL };
static const char *const asc_mask_names[] = {"causal", "full", NULL};

enum { ASC_POSITIONS_NONE, ASC_POSITIONS_ROTARY, ASC_POSITIONS_ALIBI };
static const char *const asc_position_names[] = {"none", "rotary", "alibi", NULL};

#define ASC_HEADS_SETTING(offset)                                                                                      \
    {"heads", ASC_SETTING_INT, offset, "4", .help = "attention heads", .min = 1, .max = 1 << 20,                       \
     .flags = ASC_SETTING_REQUIRED, .option = "heads"}

#define ASC_MASK_SETTING(offset)                                                                                       \
    {"mask", ASC_SETTING_CHOICE, offset, "causal", .help = "who sees whom; a language model is causal",                \
     .choices = asc_mask_names, .option = "mask"}

/* Who may look at whom beside the mask, and where: the rows from "window" to "rel". AT gives the offset of a field. */
#define ASC_LINK_SETTINGS(AT)                                                                                          \
    {"window", ASC_SETTING_INT, AT(window), "0", .help = "w > 0: only |i - j| < w, and the global tokens",             \
     .max = INT32_MAX},                                                                                                \
    {"globals", ASC_SETTING_INT, AT(globals), "0",                                                                     \
     .help = "tokens at the start that all look at, beside a window", .max = INT32_MAX},                               \
    {"random", ASC_SETTING_INT, AT(random), "0", .help = "n > 0: so many random links a token, beside a window",       \
     .max = 32},                                                                                                       \
    {"positions", ASC_SETTING_CHOICE, AT(positions), "none",                                                           \
     .help = "positions in attention, beside or in place of learned ones", .choices = asc_position_names,              \
     .flags = ASC_SETTING_RARE, .option = "positions", .argument = "P"},                                               \
    {"rel", ASC_SETTING_INT, AT(rel), "0", .help = "R > 0: a learned bias for each distance up to R",                  \
     .max = INT32_MAX}

#endif
