/* nn/given.c: what the caller of a layer gives beside x. */
#include "nn/given.h"

#include "tensor/ctx.h"

/* Entries first … first + n - 1 of a dimension; one that stands for all stays, where that is what one means. */
static asc_tensor cut(asc_layer *l, const char *name, asc_tensor t, int dim, int64_t first, int64_t n, bool broadcasts)
{
    int64_t size = asc_size(t, dim);
    if (asc_is_null(t) || (broadcasts && size == 1) || (first == 0 && n == size)) {
        return t;
    }
    if (size < first + n) {
        asc_fail(l->ctx, ASC_ERR_ARG, "layer: %s given for %lld positions, expected at least %lld", name,
                 (long long)size, (long long)(first + n));
        return asc_null();
    }
    return asc_slice(l->ctx, t, dim, first, first + n, 1);
}

/* Of pairs: the last two dimensions are queries and keys. */
static asc_tensor cut_pairs(asc_layer *l, const char *name, asc_tensor t, int64_t first, int64_t n, int64_t M,
                            bool broadcasts)
{
    asc_tensor rows = asc_ndim(t) < 2 ? t : cut(l, name, t, -2, first, n, broadcasts);
    asc_tensor both = asc_ndim(rows) < 1 ? rows : cut(l, name, rows, -1, 0, M, broadcasts);
    return asc_is_same(rows, t) || asc_is_same(rows, both) ? both : asc_after(rows, both);
}

asc_given asc_given_for(asc_layer *l, int64_t first, int64_t n, int64_t M)
{
    asc_given given = {.mask = cut_pairs(l, "mask", l->mask, first, n, M, true)};
    given.bias = cut_pairs(l, "bias", l->bias, first, n, M, false);
    given.neighbors = asc_ndim(l->neighbors) == 4 ? cut(l, "neighbors", l->neighbors, 2, first, n, false)
                                                  : l->neighbors;
    return asc_error(l->ctx) ? (asc_given){asc_null(), asc_null(), asc_null()} : given;
}

void asc_given_release(const asc_layer *l, asc_given given)
{
    asc_release(asc_is_same(given.mask, l->mask) ? asc_null() : given.mask);
    asc_release(asc_is_same(given.bias, l->bias) ? asc_null() : given.bias);
    asc_release(asc_is_same(given.neighbors, l->neighbors) ? asc_null() : given.neighbors);
}

asc_status asc_check_context(asc_layer *l, const asc_unfit *settings, size_t n)
{
    for (size_t i = 0; i < n && !asc_is_null(l->context); i++) {
        if (settings[i].is_set) {
            return asc_fail_on(l->ctx, ASC_ERR_ARG, settings[i].key, ": a layer with it takes no context, in which the "
                               "tokens of x have no positions");
        }
    }
    return asc_error(l->ctx);
}
