/* kernels/background.h: what the row primitives of the background variant of ASCender attention take. */
#ifndef KERNELS_BACKGROUND_H
#define KERNELS_BACKGROUND_H

/* x_j = near exp(-rate d²_j) + dense ρ_j - base. The entries of a row may differ in their last digits alone: less the
 * first of them, the base, what is left has all of its digits. */
typedef struct asc_background_bias {
    double rate, near, dense, base;
} asc_background_bias;

typedef struct asc_background_bias_grad {
    double mean;                     /* of x */
    double sum, pull;                /* Σ dS, Σ dS (x - mean): what background_pull finds */
    double slope, spread, shift;     /* dx = slope (dS - shift) + spread (x - mean) */
    double by_near, by_dense, by_d2; /* Σ dx w, Σ dx ρ, Σ dd² d²: what background_grad finds */
} asc_background_bias_grad;

#endif
