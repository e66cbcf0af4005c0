/*
 * ascgrad/compare.h: which of several models predicts a text, or its classes, better, by how much, and how sure that
 * is.
 *
 *     asc_split *split = asc_split_load_lines(data, ASC_SPLIT_TEST, model->tokenizer);
 *     asc_scores *scores = asc_score(ctx, model, split, &options);       of each model once; may be kept in a file
 *     …
 *     asc_system systems[] = {{"transformer", t, 5}, {"grassmann", g, 5}};         t, g: the scores of five seeds
 *     asc_compared *c = asc_compare(ctx, systems, 2, NULL);
 *     printf("%g nats a token, p %g\n", c->comparison[0].items.difference, c->comparison[0].items.p_randomization);
 *
 * The items are what all models were scored on: blocks of tokens where they have the same tokens and the same block
 * length, else passages of the text. Tests over items say nothing of the spread over seeds: what the seeds themselves
 * say stands beside them.
 */
#ifndef ASCGRAD_COMPARE_H
#define ASCGRAD_COMPARE_H

#include <ascgrad/stats.h>
#include <ascgrad/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the scores of one model ---- */

/* A part of the text: a block of tokens, or a line. */
typedef struct asc_score_part {
    double nats;    /* of its predicted tokens, in all */
    int64_t tokens; /* predicted: all but the text's first, and those that are given */
    int64_t bytes;  /* of a line; 0 of a block */
    int64_t right;  /* 1: of a classifier's block, whose class it finds; else 0 */
} asc_score_part;

/* What a model makes of a split, and what is to be known of both in order to compare. */
typedef struct asc_scores {
    asc_eval_result result;
    int64_t parameters;
    int64_t block;           /* tokens of a block; of sequences, of the longest; of a classifier 1 */
    int64_t carry;           /* asc_eval_options.carry, with which it was evaluated */
    uint32_t text_checksum;  /* of the split: asc_split.checksum; */
    uint32_t token_checksum; /* CRC-32 of its tokens and of which are given; for a classifier of its classes alone,
                              * which compare however their sequences are cut */
    int64_t seed;            /* of the model's run; -1: not known, it is in none */
    uint32_t train_checksum; /* of the text that the run was trained on, and what the order of its blocks follows from
                              * beside its seed; 0: not known */
    double tokens_per_s;     /* of the run's training, the median over its log; NaN: not known */
    char model_checksum[9];  /* the model file's ASC_SAFETENSORS_CRC, which tells models apart; "": it has none */
    int64_t pairs;           /* 1: of a model of pairs, each of which is a block; else 0 */
    int64_t classes;         /* of a classifier, whose blocks are sequences; 0: of a language model */
    int64_t n_blocks, n_lines;
    const asc_score_part *blocks;
    const asc_score_part *lines; /* NULL: the split was loaded without; such scores are compared by blocks alone */
} asc_scores;

/* Evaluates the model on the split as asc_evaluate does, and keeps what each block and each line got; new. With the
 * lines of asc_split_load_lines. NULL with asc_evaluate's errors. */
ASC_API asc_scores *asc_score(asc_ctx *ctx, const asc_model *model, const asc_split *split,
                              const asc_eval_options *options);
ASC_API void asc_scores_free(asc_ctx *ctx, asc_scores *scores); /* NULL is accepted */

/* Keeps scores in a file, atomically, and reads them again; new, equal to the bit. The file is a safetensors file with
 * checksums. ASC_ERR_IO; ASC_ERR_FORMAT: it is damaged, or no file of scores; ASC_ERR_MEMORY. */
ASC_API asc_status asc_scores_write(asc_ctx *ctx, const asc_scores *scores, const char *path);
ASC_API asc_scores *asc_scores_read(asc_ctx *ctx, const char *path);

/* ---- comparing ---- */

/* What is compared: one model, or one model for each of several seeds. */
typedef struct asc_system {
    const char *name;                /* for messages */
    const asc_scores *const *scores; /* [seeds] */
    int64_t seeds;                   /* >= 1 */
} asc_system;

typedef struct asc_compare_options {
    asc_resampling resampling;
    const int64_t (*pairs)[2]; /* the systems a, b of each comparison; NULL: each later system against the first */
    int64_t n_pairs;
} asc_compare_options;

typedef enum asc_unit {
    ASC_UNIT_BLOCK, /* a block of tokens; its score is its mean nats a token */
    ASC_UNIT_TEXT,  /* a passage, of lines whose ends are ends of tokens to all; its score is in bits a byte */
    ASC_UNIT_PAIR,  /* a pair of sentences; its score is its class's loss in nats */
} asc_unit;

/* The mean over the seeds and their sample deviation, NaN for one seed; both NaN where a value is not known. */
typedef struct asc_spread {
    double mean, std;
} asc_spread;

typedef struct asc_system_result {
    int64_t seeds, parameters;
    asc_spread loss, ppl, bits_per_byte, tokens_per_s, accuracy;
    int64_t seed_pairs; /* the pairs of seeds that there are: seeds (seeds - 1)/2 */
    int64_t differing;  /* how many of them differ with p_randomization < 0.05, by the same test over the same items, of
                         * classifiers in how often they are right */
} asc_system_result;

/* The seeds themselves as items: seeds of both systems that were trained on the same text in the same order. */
typedef struct asc_seed_test {
    int64_t n;         /* pairs: models of one seed value, of the same training text and blocks */
    double difference; /* the mean of a - b over them; NaN for none */
    double p;          /* by exact randomisation (approximate over 12 seeds); NaN for none */
    double p_least;    /* the least that p can be: 2/2^n of n seeds, and over 12 no less than 1/(resamples + 1);
                        * NaN for none */
} asc_seed_test;

/* How often classifiers a and b are right. */
typedef struct asc_class_comparison {
    asc_pair_stats
        items;     /* of each item's share of the seeds that find its class; a - b, above 0: a is right more often */
    double p_holm; /* items.p_randomization adjusted for all comparisons that are made together (Holm) */
    asc_seed_test seeds;        /* of their accuracies */
    int64_t n_mcnemar;          /* the fewer seeds of the two */
    const asc_mcnemar *mcnemar; /* [n_mcnemar]: McNemar's test of the i-th model of a against the i-th of b */
} asc_class_comparison;

/* a - b: below 0, a predicts better. */
typedef struct asc_comparison {
    int64_t a, b;            /* numbers of systems */
    asc_pair_stats items;    /* of each item's mean over the seeds */
    double p_holm;           /* items.p_randomization adjusted for all comparisons that are made together (Holm) */
    double p_holm_bootstrap; /* items.p_bootstrap, too */
    asc_seed_test seeds;
    const asc_class_comparison *classes; /* where all systems are classifiers; else NULL */
} asc_comparison;

typedef struct asc_compared {
    asc_unit unit;
    const char *reason; /* why blocks are not the items: "a and b have different tokens"; NULL: they are */
    int64_t n;          /* items */
    int64_t n_systems, n_comparisons;
    const asc_system_result *system;  /* [n_systems] */
    const asc_comparison *comparison; /* [n_comparisons] */
} asc_compared;

/* Compares n >= 1 systems; new. `options` NULL: all defaults. The same for any number of threads.
 *
 * Blocks whose tokens are all given have no score, and are no items. A passage is the least number of lines with as
 * many bytes as the longest of the models' blocks has on the average; the last may be longer. The first begins behind
 * the first line in which every model predicts a token: no model predicts the first token of the text.
 *
 * ASC_ERR_ARG: no system, one without seeds, a pair with one that there is not; ASC_ERR_FORMAT: scores of different
 * texts, or where passages are needed, scores without lines or lines for one passage only; ASC_ERR_NONFINITE: a loss
 * is not finite; ASC_ERR_MEMORY. */
ASC_API asc_compared *asc_compare(asc_ctx *ctx, const asc_system *systems, int64_t n,
                                  const asc_compare_options *options);
ASC_API void asc_compared_free(asc_ctx *ctx, asc_compared *compared); /* NULL is accepted */

/* What the seeds' differences a - b come to. */
typedef struct asc_seed_interval {
    int64_t n;         /* as asc_seed_test's */
    double difference;
    double low, high;  /* 95 % interval of their mean, by Student's t over the pairs; NaN for fewer than two */
} asc_seed_interval;

/* Of two systems' losses, of ASC_UNIT_TEXT of bits a byte, or where `right` of how often classifiers are right. Errors
 * as asc_compare's. */
ASC_API asc_status asc_compare_seeds(asc_ctx *ctx, const asc_system *a, const asc_system *b, asc_unit unit, bool right,
                                     asc_seed_interval *result);

#ifdef __cplusplus
}
#endif
#endif
