/* nn/lm_settings.c: the settings of a language model, those of its mixings apart. */
#include "nn/lm.h"

#define AT(field) offsetof(asc_lm_values, field)

static const char *const norms[] = {"post", "pre", NULL};
static const char *const heads[] = {[ASC_HEAD_LM] = "lm", [ASC_HEAD_CLASSIFIER] = "classifier",
                                    [ASC_HEAD_PAIRS] = "pairs", NULL};
static const char *const readings[] = {[ASC_PAIRS_APART] = "apart", [ASC_PAIRS_TOGETHER] = "together", NULL};
static const char *const seen[] = {[ASC_SEES_BOTH] = "both", [ASC_SEES_PREMISE] = "premise",
                                   [ASC_SEES_HYPOTHESIS] = "hypothesis", NULL};
static const char *const norm_kinds[] = {[ASC_NORM_LAYER] = "layer", [ASC_NORM_RMS] = "rms", NULL};
static const char *const activations[] = {[ASC_ACTIVATION_GELU] = "gelu", [ASC_ACTIVATION_RELU2] = "relu2",
                                          [ASC_ACTIVATION_SWIGLU] = "swiglu", [ASC_ACTIVATION_GEGLU] = "geglu", NULL};
static const char *const pools[] = {[ASC_POOL_MEAN] = "mean", [ASC_POOL_FIRST] = "first", NULL};

const asc_setting asc_lm_settings[] = {
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
     .flags = ASC_SETTING_RARE, .option = "block-norm", .argument = "WHERE"},
    {"pos_emb", ASC_SETTING_BOOL, AT(pos_emb), "true", .help = "learned positions", .flags = ASC_SETTING_RARE,
     .option = "pos-emb"},
    {"carry", ASC_SETTING_INT, AT(carry), "0",
     .help = "tokens of the block before that a block looks back at, as earlier ones of its own; 0: none",
     .max = 1 << 24, .option = "carry", .argument = "C"},
    {"mix_residual", ASC_SETTING_BOOL, AT(mix_residual), NULL, .help = "a residual sum round the mixing",
     .flags = ASC_SETTING_PER_LAYER, .follows = "true; false for grassmann in post-norm"},
    {"head", ASC_SETTING_CHOICE, AT(head), "lm",
     .help = "what is predicted: the next token, the class of a sequence, or of a pair of sentences", .choices = heads,
     .option = "head", .argument = "WHAT"},
    {"pool", ASC_SETTING_CHOICE, AT(pool), "mean",
     .help = "what a classifier looks at: the mean over the tokens' last states, or the first token's",
     .choices = pools, .option = "pool", .only = "head=classifier"},
    {"classes", ASC_SETTING_INT, AT(classes), NULL, .help = "number of classes; a training has it from its data",
     .min = 1, .max = INT32_MAX, .only = "head=classifier|pairs", .follows = "2; 3 of pairs"},
    {"states", ASC_SETTING_INT, AT(states), "0",
     .help = "entries of the states that the model of pairs is given, which a training has from its encoder; 0: it "
             "embeds tokens itself",
     .max = 1 << 20, .only = "head=pairs"},
    {"window_tokens", ASC_SETTING_INT, AT(window_tokens), "8", .help = "tokens of a window, whose mean is a row",
     .min = 1, .max = 1 << 20, .only = "head=pairs", .option = "window-tokens"},
    {"window_stride", ASC_SETTING_INT, AT(window_stride), "8", .help = "tokens from one window to the next", .min = 1,
     .max = 1 << 20, .only = "head=pairs", .option = "window-stride"},
    {"head_ff", ASC_SETTING_INT, AT(head_ff), NULL,
     .help = "width of the layer between the sentences' means and the classes",
     .min = 1, .max = INT32_MAX, .only = "head=pairs", .option = "head-ffn", .follows = "2 times the model's"},
    {"pairs", ASC_SETTING_CHOICE, AT(pairs), "apart",
     .help = "how the encoder reads two sentences: each by itself, or as one, [CLS] premise [SEP] hypothesis [SEP], in "
             "which each token's state has seen both",
     .choices = readings, .only = "head=pairs", .option = "pairs", .argument = "HOW"},
    {"sees", ASC_SETTING_CHOICE, AT(sees), "both",
     .help = "what the model is given; one sentence alone tells how far its class shows without the other",
     .choices = seen, .only = "head=pairs", .option = "sees", .argument = "WHAT"},
    {"norm", ASC_SETTING_CHOICE, AT(norm), "layer", .help = "layer norm, or RMS norm, which takes no mean off",
     .choices = norm_kinds},
    {"activation", ASC_SETTING_CHOICE, AT(activation), "gelu",
     .help = "of the feed-forward layers; swiglu and geglu have a gate, a third matrix", .choices = activations},
    {"zero_init", ASC_SETTING_BOOL, AT(zero_init), "false",
     .help = "what projects back into the residual starts from 0"},
    {"emb_norm", ASC_SETTING_BOOL, AT(emb_norm), "false", .help = "a norm on the embeddings"},
    {"tied", ASC_SETTING_BOOL, AT(tied), "true", .help = "the head has the embedding's matrix; false: one of its own",
     .only = "head=lm"},
    {"logit_cap", ASC_SETTING_REAL, AT(logit_cap), "0", .help = "c > 0 bounds the logits softly, by c tanh(s/c)",
     .max = 1e6, .only = "head=lm"},
    {"mup_width", ASC_SETTING_INT, AT(mup_width), "0",
     .help = "the width whose learning rate this model is to share: rates and initial values by width (µP); 0: not",
     .max = 1 << 20},
    {0},
};
