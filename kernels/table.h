/*
 * kernels/table.h: one table of row primitives; included by kernels.h once for each real type, with
 * ASC_KREAL (float or double) and ASC_KTABLE (the table's name) defined.
 *
 * x, y, a, b are rows of n elements, or arrays [rows, n]. `fresh` true writes a gradient, false adds to it.
 *
 * Accuracy in float, in units in the last place, the largest error over all 2^32 arguments: exp 0.99, expm1 1.58,
 * log 0.92, log1p 1.53, softplus 1.81, tanh 1.33, sigmoid 0.53, erf 1.39, silu 0.53; gelu 2 for x >= -1, 4.4 far in the
 * lower tail; its slope, in units of 2^-6 at least, 4; over one argument in 1009: gelu_tanh 0.53 (`make
 * check-all-floats`). Zeros, infinities and NaN are as the mathematics has them, and underflow is gradual, except in
 * exp_shift and gate, which give 0 where the result is below 2^-126. In double they are those of the C library.
 */
typedef struct ASC_KTABLE {
    /* ---- functions of one element ---- */
    void (*exp)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    void (*expm1)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n); /* e^x - 1 */
    void (*log)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    void (*log1p)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);    /* log(1 + x) */
    void (*softplus)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n); /* log(1 + e^x) */
    void (*tanh)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    void (*sigmoid)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n); /* 1/(1 + e^-x) */
    void (*erf)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    void (*silu)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n); /* y = x σ(x) */
    /* y = x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2: the approximate GELU */
    void (*gelu_tanh)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    /* y = x Φ(x), Φ the normal distribution function: the exact GELU (Hendrycks and Gimpel, 2016) */
    void (*gelu)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    /* y = t log(1 + e^-x) + (1 - t) log(1 + e^x), a term of weight 0 being 0 even where its logarithm is infinite */
    void (*logit_loss)(ASC_KREAL *y, const ASC_KREAL *x, const ASC_KREAL *t, int64_t n);
    /* dx (+)= dy (Φ(x) + x φ(x)) */
    void (*gelu_grad)(ASC_KREAL *dx, const ASC_KREAL *x, const ASC_KREAL *dy, int64_t n, bool fresh);
    /* Both of them for the price of one: y and dx */
    void (*gelu_both)(ASC_KREAL *y, ASC_KREAL *dx, const ASC_KREAL *x, const ASC_KREAL *dy, int64_t n, bool fresh);

    /* ---- vectors ---- */
    void (*add)(ASC_KREAL *y, const ASC_KREAL *a, const ASC_KREAL *b, int64_t n);     /* y = a + b */
    void (*acc)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);                         /* y += x */
    void (*mul)(ASC_KREAL *y, const ASC_KREAL *a, const ASC_KREAL *b, int64_t n);     /* y = a∘b */
    void (*mul_acc)(ASC_KREAL *y, const ASC_KREAL *a, const ASC_KREAL *b, int64_t n); /* y += a∘b */
    void (*scale)(ASC_KREAL *y, ASC_KREAL a, const ASC_KREAL *x, int64_t n);          /* y = a x */
    void (*axpy)(ASC_KREAL *y, ASC_KREAL a, const ASC_KREAL *x, int64_t n);           /* y += a x */

    /* y_i -= slope·|from + i|: a bias by distance; from … from + n - 1 within an int32 */
    void (*sub_distance)(ASC_KREAL *y, ASC_KREAL slope, int64_t from, int64_t n);

    ASC_KREAL (*sum)(const ASC_KREAL *x, int64_t n);
    ASC_KREAL (*dot)(const ASC_KREAL *x, const ASC_KREAL *y, int64_t n);
    double (*sumsq)(const ASC_KREAL *x, int64_t n);  /* Σ x², summed in double */
    ASC_KREAL (*max)(const ASC_KREAL *x, int64_t n); /* -∞ for n = 0; NaNs are passed over */

    /* ---- rows of a matrix ---- */
    void (*add_bias_rows)(ASC_KREAL *y, const ASC_KREAL *b, int64_t rows, int64_t n); /* y[r] += b[n] */
    /* acc[n] += Σ_r x[r], four rows at a time: the same for any cut into pieces of a multiple of 4 rows */
    void (*sum_rows)(ASC_KREAL *acc, const ASC_KREAL *x, int64_t rows, int64_t n);

    /* ---- softmax ---- */
    /* y = exp(x - shift); returns Σ y */
    ASC_KREAL (*exp_shift)(ASC_KREAL *y, const ASC_KREAL *x, ASC_KREAL shift, int64_t n);
    /* y = softmax(x); a row of -∞ alone gives zeros */
    void (*softmax_row)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n);
    /* dx (+)= scale y∘(dy - y·dy): the gradient with respect to x/scale */
    void (*softmax_grad_row)(ASC_KREAL *dx, const ASC_KREAL *y, const ASC_KREAL *dy, ASC_KREAL scale, int64_t n,
                             bool fresh);

    /* ---- layer normalisation ---- */
    /* y = (x - mean) rstd ∘ w + b, rstd = 1/√(variance + eps), in two passes; n >= 1. w, b: NULL for 1, 0. */
    void (*layer_norm_row)(ASC_KREAL *y, const ASC_KREAL *x, const ASC_KREAL *w, const ASC_KREAL *b, int64_t n,
                           ASC_KREAL eps, ASC_KREAL *mean, ASC_KREAL *rstd);
    /* Of x, dy [rows, n] with mean, rstd [rows]: dx [rows, n] (+)= …, dw[n] += Σ_r dy∘x̂, db[n] += Σ_r dy. Any of
     * dx, dw, db may be NULL; w: NULL for 1. `fresh` concerns dx. */
    void (*layer_norm_grad_rows)(ASC_KREAL *dx, ASC_KREAL *dw, ASC_KREAL *db, const ASC_KREAL *x, const ASC_KREAL *w,
                                 const ASC_KREAL *dy, const ASC_KREAL *mean, const ASC_KREAL *rstd, int64_t rows,
                                 int64_t n, bool fresh);

#include "kernels/strip_table.h"

#include "kernels/ascender_table.h"

#include "kernels/crowd_table.h"

#include "kernels/gather_table.h"

    /* ---- optimisers: parameters p, gradients g, moments m and v; p, m, v are updated ---- */
    void (*adamw)(ASC_KREAL *p, const ASC_KREAL *g, ASC_KREAL *m, ASC_KREAL *v, int64_t n, const asc_adamw_step *step);
    void (*sgd)(ASC_KREAL *p, const ASC_KREAL *g, ASC_KREAL *m, int64_t n, const asc_sgd_step *step); /* m: or NULL */

    /* ---- random numbers: elements offset … offset+n-1 of a sequence; a multiple of 4 as offset is fastest ---- */
    void (*philox_bits)(uint32_t *y, int64_t n, asc_philox_key key, uint64_t offset);
    /* On [0, 1), multiples of 2^-24. In double multiples of 2^-53, each from two of the sequence's elements,
     * 2(offset+i) and the next. */
    void (*philox_uniform)(ASC_KREAL *y, int64_t n, asc_philox_key key, uint64_t offset);
    /* y = x/(1-p) where the element's upper 31 bits are >= p 2^31, else 0; 0 <= p <= 1.
     * The same choice in float and double. */
    void (*dropout)(ASC_KREAL *y, const ASC_KREAL *x, int64_t n, asc_philox_key key, uint64_t offset, double p);
    /* dx (+)= dy/(1-p) where dropout with the same arguments kept the element, else 0 */
    void (*dropout_grad)(ASC_KREAL *dx, const ASC_KREAL *dy, int64_t n, asc_philox_key key, uint64_t offset, double p,
                         bool fresh);
} ASC_KTABLE;
