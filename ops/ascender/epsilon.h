/* ops/ascender/epsilon.h: what keeps ASCender's quotients finite (doc/ascender.md). */
#ifndef OPS_ASCENDER_EPSILON_H
#define OPS_ASCENDER_EPSILON_H

#include <stdbool.h>

/* ε: added to σ of the row normalisation, to τ, κ and W. */
#define ASCENDER_EPS 1e-6

/* Whether a row β counts as constant: σ <= 8 eps max|β|, no more than rounding can make of it; `largest` is more where
 * β was rounded as part of larger numbers. Such a row is 0 after its normalisation, without a gradient. eps:
 * FLT_EPSILON or DBL_EPSILON. */
static inline bool asc_row_is_constant(double sigma, double eps, double largest)
{
    return sigma <= 8 * eps * largest;
}

#endif
