/* tensor/tensor.c: making tensors and looking at them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/dtype.h"
#include "tensor/need.h"
#include "tensor/random.h"

/* Fills in an array for `function`, as whose the error is set if there is no such one. */
static bool describe(asc_ctx *ctx, const char *function, asc_array *a, asc_dtype dtype, int ndim, const int64_t *shape)
{
    if (asc_array_init(a, dtype, ndim, shape)) {
        return true;
    }
    if (asc_dtype_size(dtype) == 0) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: dtype is %d, expected f32, f64, i64 or u8", function, (int)dtype);
        return false;
    }
    if (ndim < 0 || ndim > ASC_MAX_DIMS) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: ndim is %d, expected 0 to %d", function, ndim, ASC_MAX_DIMS);
        return false;
    }
    if (!shape) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: shape is NULL, expected %d size%s", function, ndim, ndim == 1 ? "" : "s");
        return false;
    }
    char text[ASC_SHAPE_TEXT];
    bool negative = asc_shape_below_0(ndim, shape, text);
    asc_fail(ctx, ASC_ERR_ARG, negative ? "%s: shape is %s, expected sizes of at least 0"
                                        : "%s: shape is %s, of more than PTRDIFF_MAX bytes",
             function, text);
    return false;
}

/* A new tensor, not initialised, for `function`. */
static asc_tensor make(asc_ctx *ctx, const char *function, asc_dtype dtype, int ndim, const int64_t *shape)
{
    asc_array a;
    if (!describe(ctx, function, &a, dtype, ndim, shape)) {
        return asc_null();
    }
    asc_storage *s = asc_storage_new(ctx, asc_array_bytes(&a));
    if (!s) {
        return asc_null();
    }
    a.data = s->data;
    asc_node *n = asc_node_new(ctx, &a);
    if (!n) {
        asc_storage_unref(ctx, s);
        return asc_null();
    }
    n->storage = s;
    return asc_handle(n);
}

asc_tensor asc_empty(asc_ctx *ctx, asc_dtype dtype, int ndim, const int64_t *shape)
{
    return make(ctx, "empty", dtype, ndim, shape);
}

asc_tensor asc_zeros(asc_ctx *ctx, asc_dtype dtype, int ndim, const int64_t *shape)
{
    asc_tensor t = make(ctx, "zeros", dtype, ndim, shape);
    if (!asc_is_null(t)) {
        memset(asc_node_of(t)->array.data, 0, asc_array_bytes(&asc_node_of(t)->array));
    }
    return t;
}

static void fill(asc_array *a, double value)
{
    int64_t n = a->numel;
    switch (a->dtype) {
    case ASC_F32:
        for (int64_t i = 0; i < n; i++) {
            ((float *)a->data)[i] = (float)value;
        }
        break;
    case ASC_F64:
        for (int64_t i = 0; i < n; i++) {
            ((double *)a->data)[i] = value;
        }
        break;
    case ASC_I64:
        for (int64_t i = 0; i < n; i++) {
            ((int64_t *)a->data)[i] = (int64_t)value;
        }
        break;
    case ASC_U8:
        memset(a->data, (uint8_t)value, (size_t)n);
        break;
    }
}

static asc_tensor make_full(asc_ctx *ctx, const char *function, asc_dtype dtype, double value, int ndim,
                            const int64_t *shape)
{
    if (!asc_dtype_holds(dtype, value)) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: value is %g, which %s does not hold", function, value, asc_dtype_name(dtype));
        return asc_null();
    }
    asc_tensor t = make(ctx, function, dtype, ndim, shape);
    if (!asc_is_null(t)) {
        fill(&asc_node_of(t)->array, value);
    }
    return t;
}

asc_tensor asc_full(asc_ctx *ctx, asc_dtype dtype, double value, int ndim, const int64_t *shape)
{
    return make_full(ctx, "full", dtype, value, ndim, shape);
}

asc_tensor asc_scalar(asc_ctx *ctx, asc_dtype dtype, double value)
{
    return make_full(ctx, "scalar", dtype, value, 0, NULL);
}

asc_tensor asc_from(asc_ctx *ctx, asc_dtype dtype, const void *data, int ndim, const int64_t *shape)
{
    asc_tensor t = make(ctx, "from", dtype, ndim, shape);
    if (asc_is_null(t)) {
        return t;
    }
    size_t bytes = asc_array_bytes(&asc_node_of(t)->array);
    if (!data && bytes > 0) {
        asc_fail(ctx, ASC_ERR_ARG, "from: data is NULL, expected %zu bytes", bytes);
        asc_release(t);
        return asc_null();
    }
    if (bytes > 0) {
        memcpy(asc_node_of(t)->array.data, data, bytes);
    }
    return t;
}

static asc_status check_wrapped(asc_ctx *ctx, const asc_array *a, const void *data)
{
    int64_t size = (int64_t)asc_dtype_size(a->dtype), room = PTRDIFF_MAX / size - 1;
    for (int d = 0; d < a->ndim; d++) {
        if (a->stride[d] < 0) {
            return asc_fail(ctx, ASC_ERR_ARG, "wrap: stride[%d] is %lld, expected at least 0", d,
                            (long long)a->stride[d]);
        }
        int64_t steps = a->numel > 0 ? a->shape[d] - 1 : 0;
        if (steps > 0 && a->stride[d] > room / steps) {
            return asc_fail(ctx, ASC_ERR_ARG, "wrap: stride[%d] is %lld: the elements reach over more than PTRDIFF_MAX "
                            "bytes", d, (long long)a->stride[d]);
        }
        room -= steps * a->stride[d];
    }
    if (!data && a->numel > 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "wrap: data is NULL, expected %lld elements", (long long)a->numel);
    }
    if ((uintptr_t)data % (uintptr_t)size) {
        return asc_fail(ctx, ASC_ERR_ARG, "wrap: data is at %p, expected an address that %lld, the size of %s, divides",
                        data, (long long)size, asc_dtype_name(a->dtype));
    }
    return ASC_OK;
}

asc_tensor asc_wrap(asc_ctx *ctx, asc_dtype dtype, void *data, int ndim, const int64_t *shape, const int64_t *stride,
                    void (*release)(void *user, void *data), void *user)
{
    asc_array a;
    if (!describe(ctx, "wrap", &a, dtype, ndim, shape)) {
        return asc_null();
    }
    if (stride && ndim > 0) {
        memcpy(a.stride, stride, (size_t)ndim * sizeof *stride);
    }
    if (check_wrapped(ctx, &a, data)) {
        return asc_null();
    }
    asc_storage *s = asc_storage_wrap(ctx, data, release, user);
    if (!s) {
        return asc_null();
    }
    a.data = data;
    asc_node *n = asc_node_new(ctx, &a);
    if (!n) {
        s->on_release = NULL; /* the memory is still the caller's */
        asc_storage_unref(ctx, s);
        return asc_null();
    }
    n->storage = s;
    return asc_handle(n);
}

/* ---- random tensors: each element a function of its number, so pieces can go to any thread ---- */

enum { PIECE = 1 << 14 };

typedef struct drawing {
    asc_array *a;
    double (*draw)(uint64_t seed, uint64_t stream, uint64_t i);
    uint64_t seed, stream;
    double offset, factor;
    double end; /* values stay below it */
} drawing;

/* The largest number of the dtype below x. */
static double below(asc_dtype dtype, double x)
{
    float f = (float)x;
    return dtype == ASC_F64 ? nextafter(x, -INFINITY) : (double)f < x ? (double)f : (double)nextafterf(f, -INFINITY);
}

static void draw_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const drawing *d = arg;
    int64_t end = (piece + 1) * PIECE < d->a->numel ? (piece + 1) * PIECE : d->a->numel;
    for (int64_t i = piece * PIECE; i < end; i++) {
        double v = d->offset + d->factor * d->draw(d->seed, d->stream, (uint64_t)i);
        double rounded = d->a->dtype == ASC_F32 ? (double)(float)v : v;
        v = rounded < d->end ? v : below(d->a->dtype, d->end);
        asc_set_element(d->a->dtype, d->a->data, i, v);
    }
}

static asc_tensor draw(asc_ctx *ctx, const char *function, drawing d, asc_dtype dtype, int ndim, const int64_t *shape)
{
    if (!asc_is_floating(dtype)) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: dtype is %s, expected f32 or f64", function, asc_dtype_name(dtype));
        return asc_null();
    }
    asc_tensor t = make(ctx, function, dtype, ndim, shape);
    if (!asc_is_null(t)) {
        d.a = &asc_node_of(t)->array;
        asc_parallel(ctx, (d.a->numel + PIECE - 1) / PIECE, draw_piece, &d);
    }
    return t;
}

asc_tensor asc_uniform(asc_ctx *ctx, asc_dtype dtype, double lo, double hi, uint64_t seed, uint64_t stream, int ndim,
                       const int64_t *shape)
{
    double most = dtype == ASC_F32 ? FLT_MAX : DBL_MAX;
    if (!isfinite(hi - lo) || lo > hi || lo < -most || hi > most) {
        asc_fail(ctx, ASC_ERR_ARG, "uniform: from %g to %g, expected finite numbers of the dtype in order, and not "
                 "further apart than the largest", lo, hi);
        return asc_null();
    }
    return draw(ctx, "uniform", (drawing){NULL, asc_random_uniform, seed, stream, lo, hi - lo, lo < hi ? hi : INFINITY},
                dtype, ndim, shape);
}

asc_tensor asc_normal(asc_ctx *ctx, asc_dtype dtype, double mean, double deviation, uint64_t seed, uint64_t stream,
                      int ndim, const int64_t *shape)
{
    double most = dtype == ASC_F32 ? FLT_MAX : DBL_MAX;
    if (!(fabs(mean) <= most) || !(deviation >= 0 && deviation <= most)) {
        asc_fail(ctx, ASC_ERR_ARG, "normal: a mean of %g and a deviation of %g, expected finite numbers of the dtype, "
                 "the second at least 0", mean, deviation);
        return asc_null();
    }
    return draw(ctx, "normal", (drawing){NULL, asc_random_normal, seed, stream, mean, deviation, INFINITY},
                dtype, ndim, shape);
}

/* ---- looking ---- */

asc_array asc_array_of(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array : (asc_array){.ndim = -1};
}

asc_dtype asc_dtype_of(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array.dtype : ASC_F32;
}

int asc_ndim(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array.ndim : -1;
}

int64_t asc_size(asc_tensor t, int dim)
{
    asc_node *n = asc_node_of(t);
    int ndim = n ? n->array.ndim : 0;
    int d = dim < 0 ? dim + ndim : dim;
    return d >= 0 && d < ndim ? n->array.shape[d] : 0;
}

int64_t asc_numel(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array.numel : 0;
}

const int64_t *asc_shape(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array.shape : NULL;
}

const int64_t *asc_strides(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array.stride : NULL;
}

bool asc_is_contiguous(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n && n->contiguous;
}

bool asc_is_valid(asc_tensor t)
{
    return asc_node_of(t) != NULL;
}

const void *asc_data(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    return n ? n->array.data : NULL;
}

void *asc_data_mut(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    if (!n) {
        return NULL;
    }
    n->storage->stamp.writes++;
    return n->array.data;
}

double asc_item(asc_tensor t)
{
    asc_node *n = asc_node_of(t);
    double value = NAN;
    if (n && n->array.numel == 1) {
        asc_pack(&n->array, ASC_F64, &value);
    }
    return value;
}

asc_status asc_copy(asc_ctx *ctx, asc_tensor dst, asc_tensor src)
{
    asc_status status;
    bool others = ctx && asc_is_valid(src) && asc_ctx_of(src) != ctx; /* nothing of it is kept */
    if ((status = asc_need_tensor(ctx, dst, "copy", "dst")) ||
        (status = others ? ASC_OK : asc_need_tensor(ctx, src, "copy", "src"))) {
        return status;
    }
    asc_node *d = asc_node_of(dst), *s = asc_node_of(src);
    const asc_array *da = &d->array, *sa = &s->array;
    bool dtypes = da->dtype == sa->dtype || (asc_is_floating(da->dtype) && asc_is_floating(sa->dtype));
    if (!asc_same_shape(da, sa) || !dtypes) {
        char dt[ASC_SHAPE_TEXT], st[ASC_SHAPE_TEXT];
        return asc_fail(ctx, ASC_ERR_ARG, "copy: src is %s %s, dst is %s %s", asc_dtype_name(sa->dtype),
                        asc_shape_text(sa, st), asc_dtype_name(da->dtype), asc_shape_text(da, dt));
    }
    d->storage->stamp.writes++;
    bool apart = !asc_arrays_overlap(sa, da); /* else the one may be read after the other was written */
    if (apart && d->contiguous) {
        asc_pack(sa, da->dtype, da->data);
    } else if (apart && s->contiguous) {
        asc_unpack(sa->data, sa->dtype, da);
    } else {
        asc_storage *flat = asc_storage_new(ctx, asc_array_bytes(sa));
        if (!flat) {
            return ASC_ERR_MEMORY;
        }
        asc_pack(sa, sa->dtype, flat->data);
        asc_unpack(flat->data, sa->dtype, da);
        asc_storage_unref(ctx, flat);
    }
    return ASC_OK;
}

/* Why the values of `leaf` can't be those of `where`; NULL: they can. */
static const char *unfit(const asc_node *leaf, const asc_node *where)
{
    if (leaf->record || leaf->flows) {
        return "leaf is a tensor that an op made";
    }
    if (where->ctx != leaf->ctx) {
        return "where belongs to another context";
    }
    if (!leaf->contiguous || !where->contiguous) {
        return leaf->contiguous ? "where is not contiguous" : "leaf is not contiguous";
    }
    if (where->requires_grad || where->record || where->flows) {
        return "where requires a gradient";
    }
    return leaf->grad && asc_arrays_overlap(&leaf->grad->array, &where->array) ? "where is the leaf's gradient" : NULL;
}

asc_status asc_set_data(asc_tensor leaf, asc_tensor where)
{
    asc_node *n = asc_node_of(leaf), *to = asc_node_of(where);
    if (!n) {
        return to && asc_is_null(leaf) ? asc_need_tensor(to->ctx, leaf, "set_data", "leaf")
                                       : asc_refuse_gone(leaf, "set_data", "leaf");
    }
    if (!to) {
        return asc_need_tensor(n->ctx, where, "set_data", "where");
    }
    const char *why = unfit(n, to);
    if (why) {
        return asc_fail(n->ctx, ASC_ERR_ARG, "set_data: %s", why);
    }
    if (!asc_same_shape(&to->array, &n->array) || to->array.dtype != n->array.dtype) {
        char got[ASC_SHAPE_TEXT], expected[ASC_SHAPE_TEXT];
        return asc_fail(n->ctx, ASC_ERR_ARG, "set_data: where is %s %s, the leaf is %s %s",
                        asc_dtype_name(to->array.dtype), asc_shape_text(&to->array, got),
                        asc_dtype_name(n->array.dtype), asc_shape_text(&n->array, expected));
    }
    asc_storage *was = n->storage;
    asc_storage_ref(to->storage);
    n->storage = to->storage;
    n->array.data = to->array.data;
    asc_storage_unref(n->ctx, was);
    return ASC_OK;
}

asc_tensor asc_detach(asc_ctx *ctx, asc_tensor t)
{
    if (asc_need_tensor(ctx, t, "detach", "t")) {
        return asc_null();
    }
    asc_node *n = asc_node_of(t);
    asc_node *v = asc_node_new(ctx, &n->array);
    if (!v) {
        return asc_null();
    }
    v->storage = n->storage;
    asc_storage_ref(v->storage);
    return asc_handle(v);
}
