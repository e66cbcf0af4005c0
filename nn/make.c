/* nn/make.c: the parameters of layers and models, and their initial values (doc/model.md). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/mixing.h"
#include "tensor/ctx.h"

bool asc_name_in(const char *name, const char *const *list)
{
    while (list && *list && strcmp(*list, name) != 0) {
        list++;
    }
    return list && *list;
}

/* A stream of its own for each name (FNV-1a), so that a parameter's initial value does not depend on the others. */
static uint64_t stream_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return hash;
}

/* Adds a new tensor, which the list holds from here on; null on failure. */
static asc_tensor add(asc_maker *m, const char *name, asc_tensor t, bool decay)
{
    if (asc_is_null(t) || asc_require_grad(t, true) || asc_params_add(m->params, name, t, decay)) {
        asc_release(t);
        return asc_null();
    }
    asc_disown(t);
    return t;
}

static asc_status check_memory(asc_maker *m, const char *name, int ndim, const int64_t *shape)
{
    double bytes = (double)asc_dtype_size(m->dtype);
    for (int i = 0; i < ndim; i++) {
        bytes *= (double)shape[i];
    }
    m->bytes += bytes;
    char what[200];
    snprintf(what, sizeof what, "the parameters up to %s take", name);
    return asc_memory_check(m->ctx, what, m->bytes);
}

/* A tensor whose values are to be read; null with the error set where there are none to read. */
static asc_tensor without_values(asc_maker *m, const char *name, int ndim, const int64_t *shape)
{
    if (asc_error(m->ctx) || m->source->find(m->source->user, name, ndim, shape)) {
        return asc_null();
    }
    return asc_empty(m->ctx, m->dtype, ndim, shape);
}

static bool is_named(asc_maker *m, const char *name)
{
    if (m && !name) {
        asc_fail(m->ctx, ASC_ERR_ARG, "make: a parameter's name is NULL");
    }
    return m && name;
}

enum { NAME = 128 };

/* `first` and `second` to `joined`; false with the error set where they are too long. */
static bool join(asc_maker *m, char joined[NAME], const char *first, const char *second)
{
    int n = snprintf(joined, NAME, "%s%s", first, second);
    if (n >= NAME) {
        asc_fail(m->ctx, ASC_ERR_ARG, "make: a parameter's name, %.40s..., has %d bytes, expected at most %d", joined,
                 n, NAME - 1);
    }
    return n < NAME;
}

/* The whole name of what can be made; false with the error set. */
static bool is_sound(asc_maker *m, char full[NAME], const char *name, int ndim, const int64_t *shape)
{
    if (!is_named(m, name) || !join(m, full, m->prefix, name)) {
        return false;
    }
    if (ndim < 0 || ndim > ASC_MAX_DIMS || (ndim > 0 && !shape)) {
        asc_fail(m->ctx, ASC_ERR_ARG, "make: %s: %d dimensions%s, expected 0 to %d and their sizes", full, ndim,
                 shape ? "" : " of shape NULL", ASC_MAX_DIMS);
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            asc_fail(m->ctx, ASC_ERR_ARG, "make: %s: dimension %d has size %lld, expected 0 or more", full, i,
                     (long long)shape[i]);
            return false;
        }
    }
    return true;
}

asc_tensor asc_make_param(asc_maker *m, const char *name, asc_init init, int ndim, const int64_t *shape)
{
    char full[NAME];
    if (!is_sound(m, full, name, ndim, shape)) {
        return asc_null();
    }
    if ((unsigned)init > ASC_INIT_EMBEDDING) {
        asc_fail(m->ctx, ASC_ERR_ARG, "make: %s: init is %d, expected one of asc_init", full, (int)init);
    }
    if (init == ASC_INIT_LINEAR && (ndim == 0 || shape[ndim - 1] == 0)) {
        asc_fail(m->ctx, ASC_ERR_ARG, "make: %s: %s, expected a last dimension of at least 1, which ASC_INIT_LINEAR "
                 "goes by", full, ndim == 0 ? "a scalar" : "no columns");
    }
    if (asc_error(m->ctx) || check_memory(m, full, ndim, shape)) {
        return asc_null();
    }
    bool decay = init == ASC_INIT_LINEAR || init == ASC_INIT_EMBEDDING;
    if (m->source) {
        return add(m, full, without_values(m, full, ndim, shape), decay);
    }
    asc_tensor t;
    bool zero = asc_name_in(name, m->zeros);
    if (init == ASC_INIT_LINEAR && !zero) {
        double bound = (m->narrowing > 0 ? m->narrowing : 1) / sqrt((double)shape[ndim - 1]);
        t = asc_uniform(m->ctx, m->dtype, -bound, bound, m->seed, stream_of(full), ndim, shape);
    } else if (init == ASC_INIT_EMBEDDING && !zero) {
        t = asc_normal(m->ctx, m->dtype, 0, .02, m->seed, stream_of(full), ndim, shape);
    } else {
        t = asc_full(m->ctx, m->dtype, init == ASC_INIT_ONE, ndim, shape);
    }
    return add(m, full, t, decay);
}

asc_tensor asc_make_values(asc_maker *m, const char *name, int64_t n, const double *values)
{
    char full[NAME];
    if (!is_sound(m, full, name, 1, &n)) {
        return asc_null();
    }
    if (m->source) {
        return add(m, full, without_values(m, full, 1, &n), false);
    }
    asc_tensor t = asc_empty(m->ctx, m->dtype, 1, &n), given = asc_from(m->ctx, ASC_F64, values, 1, &n);
    asc_copy(m->ctx, t, given);
    asc_release(given);
    return add(m, full, t, false);
}

/* "NAME.weight" of this shape, and "NAME.bias" [out]. */
static asc_affine make_affine(asc_maker *m, const char *name, asc_init init, int ndim, const int64_t *shape)
{
    char weight[NAME], bias[NAME];
    if (!is_named(m, name) || !join(m, weight, name, ".weight") || !join(m, bias, name, ".bias")) {
        return (asc_affine){asc_null(), asc_null()};
    }
    return (asc_affine){asc_make_param(m, weight, init, ndim, shape), asc_make_param(m, bias, ASC_INIT_ZERO, 1, shape)};
}

asc_affine asc_make_linear(asc_maker *m, const char *name, int64_t in, int64_t out)
{
    return make_affine(m, name, ASC_INIT_LINEAR, 2, (int64_t[]){out, in});
}

asc_affine asc_make_norm(asc_maker *m, const char *name, int64_t width)
{
    return make_affine(m, name, ASC_INIT_ONE, 1, &width);
}
