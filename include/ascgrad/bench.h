/*
 * ascgrad/bench.h: the speed and memory of training steps, layers, generation and ops, beside the machine's limits.
 *
 * Models are those of asc_settings (ascgrad/train.h), their parameters and tokens random. Every time is the median of
 * several runs, after some that take the memory and are not counted.
 */
#ifndef ASCGRAD_BENCH_H
#define ASCGRAD_BENCH_H

#include <ascgrad/encoder.h>
#include <ascgrad/op.h>
#include <ascgrad/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- training ---- */

typedef struct asc_bench_result {
    double tokens_per_s, step_ms; /* of the median step */
    double gflop_per_token;       /* the products that the mathematics needs, forward and twice that backward */
    double gflops;                /* what the median step reaches */
    double sgemm_gflops;          /* the best that asc_bench_sgemm found, before and after each of the steps; in bf16
                                   * after the steps */
    double gemm_gflops;           /* the best that asc_bench_gemm found, before and after each of the steps */
    double efficiency;            /* gflops / gemm_gflops */
    double paired_efficiency;     /* the median of the steps' own: a step against the mean of the products before and
                                   * after it. Where the machine's speed varies it is the fairer one. */
    double peak_rss_mib;          /* the most memory that the process had, after two steps */
} asc_bench_result;

/* Times `steps` >= 1 real training steps (forward, backward, clipping, with the settings' optimiser, batch and
 * dropout) of a model with a vocabulary of `vocab` tokens. ASC_ERR_ARG: settings that make no model; ASC_ERR_MEMORY. */
ASC_API asc_status asc_bench_train(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, int64_t steps,
                                   asc_bench_result *result);

/* Tokens per second of the median of such steps alone, without the machine's products between them. NaN with the error
 * set: as asc_bench_train's. */
ASC_API double asc_bench_speed(asc_ctx *ctx, const asc_settings *settings, int64_t vocab, int64_t steps);

/* The best that the machine's float32 matrix product reaches on the context's threads, in GFLOP/s: of a large square
 * product and of one like those of the settings' model. 0 with the error set: no memory. */
ASC_API double asc_bench_sgemm(asc_ctx *ctx, const asc_settings *settings);

/* The same of the product of the settings' precision: asc_bench_sgemm's, or of operands rounded to bfloat16. */
ASC_API double asc_bench_gemm(asc_ctx *ctx, const asc_settings *settings);

/* The products that the mathematics needs for a token in one forward pass, in GFLOP, over a sequence as long as the
 * model's block, behind what a model of carried context carries: *all, and *mixing, those of the layers' mixings with
 * their projections. A training step has three times as many. The context has no observer afterwards, and the model
 * goes on from nothing. ASC_ERR_MEMORY. */
ASC_API asc_status asc_bench_flops(asc_ctx *ctx, asc_lm *lm, double *all, double *mixing);

/* ---- one layer ---- */

typedef struct asc_bench_layer_result {
    double ms;         /* forward, and backward to the input and all parameters */
    size_t peak_bytes; /* the most memory that the context has held */
    int64_t tokens;    /* batch times length */
} asc_bench_layer_result;

/* Times `steps` >= 1 runs of the settings' mixing layer on random float32 x (batch, length, dim). What was set and a
 * layer has no use for is refused. The context should be a new one: its peak is told. ASC_ERR_ARG; ASC_ERR_MEMORY. */
ASC_API asc_status asc_bench_layer(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t steps,
                                   asc_bench_layer_result *result);

/* The same of x that looks at a context (batch, context, dim), context >= 1 tokens (asc_layer_cross), whose gradient is
 * taken, too. ASC_ERR_ARG also of a mixing, or settings, that take none. */
ASC_API asc_status asc_bench_layer_cross(asc_ctx *ctx, const asc_settings *settings, int64_t length, int64_t context,
                                         int64_t steps, asc_bench_layer_result *result);

/* ---- generation ---- */

/* Times the next token, of one sequence on its cache, at each of `n` positions, which rise: ms[i] is the median of
 * `steps` >= 1 tokens from positions[i] >= 0 on; NaN where the cache ends before, at the settings' block for learned
 * positions. The tokens up to a position are given to the cache in pieces. ASC_ERR_ARG; ASC_ERR_MEMORY. */
ASC_API asc_status asc_bench_generate(asc_ctx *ctx, const asc_settings *settings, int64_t vocab,
                                      const int64_t *positions, int n, int64_t steps, double *ms);

/* ---- encoders ---- */

typedef struct asc_bench_encode_result {
    double sentences_per_s, tokens_per_s; /* of the median run */
    double gflops;                        /* of the products that the mathematics needs, in that run */
    double sgemm_gflops;                  /* the best matrix product between the runs */
    double efficiency;                    /* gflops / sgemm_gflops */
    double peak_rss_mib;                  /* the most memory that the process had */
} asc_bench_encode_result;

/* Times `runs`, 1 … 1000, encodings of all sentences, after one that is not counted. Sentences that are there several
 * times are encoded once, and counted as often as they are there. Errors as asc_encoder_encode. */
ASC_API asc_status asc_bench_encode(asc_ctx *ctx, asc_encoder *encoder, const asc_sentences *sentences, int64_t runs,
                                    asc_bench_encode_result *result);

/* ---- ops ---- */

/* What a machine can do at most: asc_bench_sgemm, asc_memory_speed, and asc_bench_gemm of the context's precision, on
 * the same threads. */
typedef struct asc_bench_limits {
    double sgemm_gflops, memory_gbs, gemm_gflops;
} asc_bench_limits;

typedef struct asc_bench_pass {
    int runs;
    double ms;         /* NaN, and so is what follows: there is no such pass */
    double gflops;     /* of the products that the mathematics needs */
    double gbs;        /* of the arrays that are read and written, each once: inputs, outputs, saved, gradients */
    double share;      /* of the limit that binds: the larger of gflops/gemm_gflops and gbs/memory_gbs (a roofline:
                          Williams, Waterman and Patterson, CACM 52 (2009) 65-76). Above 1: arrays came from caches */
    bool memory_binds; /* else products do */
} asc_bench_pass;

typedef struct asc_bench_op_result {
    asc_bench_pass forward, backward;
    size_t peak_bytes; /* the most memory that the context has held */
} asc_bench_op_result;

/* Times op->bench, forward and backward apart, for about `seconds` (0: one run, to see that there is nothing wrong);
 * gradients of all real inputs are taken, and written, not added to. Takes the place of the context's observer. The
 * context should be a new one: its peak is told. ASC_ERR_ARG: the descriptor has no such call; what the op fails with;
 * ASC_ERR_MEMORY. */
ASC_API asc_status asc_bench_op(asc_ctx *ctx, const asc_op *op, double seconds, const asc_bench_limits *limits,
                                asc_bench_op_result *result);

#ifdef __cplusplus
}
#endif
#endif
