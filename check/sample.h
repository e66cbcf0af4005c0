/* check/sample.h: drawing the inputs that a sample (ascgrad/op.h) describes. */
#ifndef CHECK_SAMPLE_H
#define CHECK_SAMPLE_H

#include <ascgrad/op.h>

typedef struct asc_drawn {
    int n;                     /* inputs, up to the last that is there */
    asc_tensor at[ASC_MAX_IN]; /* contiguous; null: absent */
    int owner[ASC_MAX_IN];     /* the input whose tensor this one is: itself, or the one that '=' names */
} asc_drawn;

/* Where values come from. */
typedef struct asc_draws {
    asc_dtype real;  /* f32 or f64; the values are such that f32 holds them */
    uint64_t seed, stream;
    int64_t period;  /* elements after which they come again, as large tensors take long to draw; 0: never */
} asc_draws;

/* Draws the inputs of a call, input i in stream `stream` + i, of a sample of an op that asc_op_check has passed. The
 * tensors are the scope's. ASC_ERR_MEMORY. */
asc_status asc_sample_draw(asc_ctx *ctx, const asc_sample *sample, const asc_draws *draws, asc_drawn *drawn);

/* One input alone, of kind f, u, i or b. */
asc_tensor asc_sample_tensor(asc_ctx *ctx, const asc_sample_input *input, const asc_draws *draws);

bool asc_sample_is_real(const asc_sample_input *input);

/* How far from the ends of its domain a uniform real stays, so that steps do not leave it. */
double asc_sample_margin(const asc_sample_input *input);

#endif
