/* ops/linear_attention/linear_attention.h: a call of linear attention, for the files that it is made of: the op
 * (linear_attention.c), what both passes compute of a chunk (chunk.c), the feature maps (features.c). */
#ifndef OPS_LINEAR_ATTENTION_H
#define OPS_LINEAR_ATTENTION_H

#include "ops/shared/op.h"

enum {
    ASC_LINEAR_Q,
    ASC_LINEAR_K,
    ASC_LINEAR_V,
    ASC_LINEAR_FORGET,
    ASC_LINEAR_FEATURES,
    ASC_LINEAR_LENGTHS,
    ASC_LINEAR_INITIAL
};
enum { ASC_LINEAR_Y, ASC_LINEAR_LAST };
/* saved: the states before each chunk, one over each row's divisor, and its level where there are any */
enum { ASC_LINEAR_STATES, ASC_LINEAR_SCALE, ASC_LINEAR_LEVEL };
/* A decay of e^-10000 leaves as little of what was before as any beyond it, 0; decays between two tokens are
 * differences of sums of their logarithms, and would be lost beside a larger one. */
enum { ASC_LINEAR_MOST_FADED = 10000 };
enum { ASC_LINEAR_CHUNK = 64, ASC_LINEAR_GROUPS = 16 }; /* tokens of a chunk; parts of the sum that is W's gradient */

/* The state of a head: S [m, dv], n [m], and its level L: the sums are e^L S and e^L n. */
typedef struct asc_linear_job {
    asc_call *call;
    const asc_linear_attention_options *o;
    bool wants_last;
    int64_t B, N, H, d, dv, m;
    int64_t chunks, state; /* of a head; elements of a state */
    void *states;     /* [B, H, chunks + 1][state]: number c is the one before chunk c; full: the last is that of all;
                             else the last is made where it is wanted */
    double *passed;   /* [B, H, chunks]: the logarithm of what a chunk leaves of what was before it */
    void *cotangents; /* backward, [B, H, chunks + 1][state]: of the states */
    void *features;   /* backward, [GROUPS][m, d]: of W; NULL: not wanted */
    void *spare;      /* [workers][asc_linear_worker_bytes] */
    size_t worker;
} asc_linear_job;

/* One chunk of a head as it is worked on, and a worker's memory. Rows beyond `rows` are of no meaning. */
typedef struct asc_linear_chunk {
    const asc_linear_job *j;
    int64_t b, h, c, first, rows, keys;                     /* keys: of the rows, those within the sequence's length */
    int64_t group;                                          /* of W's gradient */
    double G[ASC_LINEAR_CHUNK];                             /* log Π f from the chunk's first token to this one */
    double alpha[ASC_LINEAR_CHUNK], beta[ASC_LINEAR_CHUNK]; /* φ(q) = e^α φ̃(q), φ(k) = e^β φ̃(k) */
    double M[ASC_LINEAR_CHUNK]; /* the level at each query: of the largest term that it sums */
    void *q, *k;                /* φ̃ [CHUNK, m] */
    void *A, *W;                /* [CHUNK, CHUNK] */
    void *x, *dx;               /* [CHUNK, max(d, dv)] */
    void *dq, *dk;              /* [CHUNK, m] */
    void *turned;               /* a transposed copy */
} asc_linear_chunk;

size_t asc_linear_worker_bytes(const asc_linear_job *j);

/* ---- features.c ---- */

/* φ̃ and the logarithms of the factors, of the chunk's rows of in[Q] or in[K]. */
void asc_linear_features_f32(const asc_linear_chunk *c, int input, float *phi, double *level);
void asc_linear_features_f64(const asc_linear_chunk *c, int input, double *phi, double *level);
/* From dphi, which is used up, to the rows of the input's gradient, if that is wanted. */
void asc_linear_features_grad_f32(const asc_linear_chunk *c, int input, const float *phi, float *dphi);
void asc_linear_features_grad_f64(const asc_linear_chunk *c, int input, const double *phi, double *dphi);

/* ---- chunk.c ---- */

/* Pieces, a chunk each: the state that its own keys make, into that after it, at a level of its own; */
void asc_linear_gather_f32(void *job, int64_t piece, int worker);
void asc_linear_gather_f64(void *job, int64_t piece, int worker);
/* the outputs; */
void asc_linear_attend_f32(void *job, int64_t piece, int worker);
void asc_linear_attend_f64(void *job, int64_t piece, int worker);
/* the cotangent of the state before it, as far as it comes from its own queries; */
void asc_linear_gather_grad_f32(void *job, int64_t piece, int worker);
void asc_linear_gather_grad_f64(void *job, int64_t piece, int worker);
/* all other gradients, with W's: pieces are groups of chunks. */
void asc_linear_attend_grad_f32(void *job, int64_t piece, int worker);
void asc_linear_attend_grad_f64(void *job, int64_t piece, int worker);
void asc_linear_attend_grad_group_f32(void *job, int64_t group, int worker);
void asc_linear_attend_grad_group_f64(void *job, int64_t group, int worker);

/* e^x, 0 where nothing has been summed yet: x is -∞ or, with both levels -∞, NaN. */
double asc_linear_factor(double x);

float asc_linear_level_f32(double level);
double asc_linear_level_f64(double level);

#endif
