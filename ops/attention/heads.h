/* ops/attention/heads.h: (B, n, H w) arrays head by head: unit vectors, transposed copies. */
#ifndef OPS_HEADS_H
#define OPS_HEADS_H

#include "ops/shared/op.h"

enum { ASC_HEAD_PIECE = 64 }; /* positions of a head that a piece takes */

/* u = x/‖x‖, and 0 where ‖x‖ <= ASC_LEAST_NORM. Returns ‖x‖². */
double asc_unit_f32(float *u, const float *x, int64_t n);
double asc_unit_f64(double *u, const double *x, int64_t n);
/* 1/‖x‖, or 0. */
float asc_unit_inverse_f32(const float *x, int64_t n);
double asc_unit_inverse_f64(const double *x, int64_t n);
/* du becomes du - u (u·du), and dx (+)= inverse times that; dx may be du. */
void asc_unit_grad_f32(float *dx, const float *u, float *du, float inverse, int64_t n, bool fresh);
void asc_unit_grad_f64(double *dx, const double *u, double *du, double inverse, int64_t n, bool fresh);

/* u like x: each head's vectors over their norms; 0 where ‖x‖ <= 1e-12. */
void asc_head_units(asc_ctx *ctx, const asc_array *x, int64_t heads, void *u);
/* dx (+)= what du [B, H, n, w] says of x; du is used up. */
void asc_head_units_grad(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *u, void *du, void *dx,
                         bool fresh);

/* From row to row of a transposed copy of n vectors: room to read two lines of 64 bytes behind the last one. */
int64_t asc_head_ld(int64_t n);
/* to [B, H, w, ld]: x's heads, transposed, and zeros behind them. */
void asc_head_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, void *to);
/* x (B, n, H w) += the reverse. */
void asc_head_add_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *from);

#endif
