/* tensor/need.h: NULL where an argument is needed. The rule for users is in ascgrad/base.h. */
#ifndef TENSOR_NEED_H
#define TENSOR_NEED_H

#include <ascgrad/tensor.h>

/* What a public function begins with: ASC_NEED(ctx, "gradcheck: op report", op, report) is ASC_OK where context and
 * pointers are given. Else it is the status of the context's first error, which is "gradcheck: report is NULL" unless
 * one stands already: what is NULL because it could not be made must not hide why. ASC_ERR_ARG without a context. */
#define ASC_NEED(ctx, names, ...)                                                                                      \
    asc_need(ctx, names, (int)(sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)),                           \
             (const void *const[]){__VA_ARGS__})
asc_status asc_need_missing(asc_ctx *ctx, const char *names, int missing);

/* Here, for analysers to see: ASC_OK only where all is given. */
static inline asc_status asc_need(asc_ctx *ctx, const char *names, int n, const void *const *given)
{
    int i = 0;
    while (i < n && given[i]) {
        i++;
    }
    if (ctx && i == n) {
        return ASC_OK;
    }
    asc_status status = ctx ? asc_need_missing(ctx, names, i) : ASC_ERR_ARG;
    return status ? status : ASC_ERR_ARG;
}

/* The same for one argument of a function whose name comes from elsewhere. */
asc_status asc_need_one(asc_ctx *ctx, const char *function, const char *argument, const void *given);

/* The same for a tensor: "is null", "belongs to another context", or with ASC_ERR_STATE "is a tensor that is gone". */
asc_status asc_need_tensor(asc_ctx *ctx, asc_tensor given, const char *function, const char *argument);

/* No tensor, for a function that gets no context: an error of the one that it was made in, if that is there. */
asc_status asc_refuse_gone(asc_tensor gone, const char *function, const char *argument);

/* An array for ASC_NEED that may be NULL if it has no elements. */
static inline const void *asc_unless_empty(const void *array, int64_t n)
{
    return n > 0 ? array : "";
}

#endif
