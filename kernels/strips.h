/*
 * kernels/strips.h: what the row primitives of Grassmann mixing work on.
 *
 * A strip is ASC_STRIP tokens side by side, entry i of all of them together: v[i][lane] for vectors of n entries. Lanes
 * never meet, so a sum over i has one order on every instruction set. Geometry is in double: the products of two
 * floats are exact there, and nearly parallel vectors keep their digits.
 */
#ifndef KERNELS_STRIPS_H
#define KERNELS_STRIPS_H

enum { ASC_STRIP = 32 };

/* The first vector u of each token. Of one too short to have a square, norm is 0 and length 1. */
typedef struct asc_strip_first {
    double norm[ASC_STRIP], length[ASC_STRIP];
    double square[ASC_STRIP]; /* ‖u‖², infinite where the norm is 0 */
} asc_strip_first;

/* One pair (u, v) of each token, v = v⊥ + along·u, F = max(‖u∧v‖, ε, ε_rel ‖u‖‖v‖). */
typedef struct asc_strip_pair {
    double weight[ASC_STRIP]; /* c, 0 where there is no such pair */
    double along[ASC_STRIP];
    double factor[ASC_STRIP]; /* length/F */
    double regular[ASC_STRIP];  /* 1 where F is ‖u∧v‖, else 0 */
    double relative[ASC_STRIP]; /* 1/‖v‖² where F is ε_rel ‖u‖‖v‖, else 0 */
    /* Of the backward pass: the pair's p̂·g, and what v's gradient is made of: on_q q + on_v v + on_u u */
    double share[ASC_STRIP];
    double on_q[ASC_STRIP], on_v[ASC_STRIP], on_u[ASC_STRIP];
} asc_strip_pair;

#endif
