/* nn/inspect/eigen.h: the eigenvectors of a symmetric matrix. */
#ifndef NN_EIGEN_H
#define NN_EIGEN_H

#include <stdint.h>

/* Turns the symmetric a (n, n) into its eigenvalues on the diagonal, and fills v (n, n) with the unit eigenvectors as
 * rows, in the same order; both sorted by falling eigenvalues. To rounding. O(n³) for each of some ten sweeps. */
void asc_symmetric_eigen(int64_t n, double *a, double *v);

#endif
