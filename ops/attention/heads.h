/* ops/attention/heads.h: (B, n, H w) arrays head by head: unit vectors, transposed copies. */
#ifndef OPS_HEADS_H
#define OPS_HEADS_H

#include "ops/shared/op.h"

/* u like x: each head's vectors over their norms; 0 where ‖x‖ <= 1e-12. */
void asc_head_units(asc_ctx *ctx, const asc_array *x, int64_t heads, void *u);
/* dx (+)= what du [B, H, n, w] says of x: (du - u (u·du))/‖x‖, or 0. */
void asc_head_units_grad(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *u, const void *du, void *dx,
                         bool fresh);

/* From row to row of a transposed copy of n vectors: room to read two lines of 64 bytes behind the last one. */
int64_t asc_head_ld(int64_t n);
/* to [B, H, w, ld]: x's heads, transposed, and zeros behind them. */
void asc_head_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, void *to);
/* x (B, n, H w) += the reverse. */
void asc_head_add_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *from);

#endif
