/* nn/cap.h: what the settings of soft caps take. */
#ifndef NN_CAP_H
#define NN_CAP_H

#include "tensor/ctx.h"

/* 0, none, or a bound that scores in float32 can be divided by (asc_soft_cap). ASC_ERR_ARG names `key`. */
static inline asc_status asc_cap_check(asc_ctx *ctx, const char *key, double cap)
{
    static const double least = 1e-30;
    return cap == 0 || cap >= least
               ? ASC_OK
               : asc_fail_on(ctx, ASC_ERR_ARG, key, " is %g, expected 0 for none, or %g and more", cap, least);
}

#endif
