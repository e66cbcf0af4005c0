/* kernels/ascender.h: what the row primitives of ASCender attention take. */
#ifndef KERNELS_ASCENDER_H
#define KERNELS_ASCENDER_H

/* w^sep = exp(-d² sep), w^coh = exp(-d² coh), φ = w^sep max(0, a - delta). */
typedef struct asc_pair_weights {
    double sep, coh, delta;
} asc_pair_weights;

/* What a row normalised bias adds to the scores: coef (x - mean). */
typedef struct asc_centred {
    double coef, mean;
} asc_centred;

/* dφ = slope dS + spread (φ - mean) - left + attention A, and from it the gradients of a and of w^sep. */
typedef struct asc_separation_grad {
    double slope, spread, mean, left, attention;
    double delta;
    double density; /* what every w^sep gets by way of ρ */
    double sep;     /* as above */
} asc_separation_grad;

#endif
