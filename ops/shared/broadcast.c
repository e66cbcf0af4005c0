/* ops/shared/broadcast.c: walks over arrays of one shape, and sums over dimensions.
 *
 * A sum takes the summed dimensions from the last to the first. Each step sees x as [outer, r, inner] and leaves
 * [outer, ⌈r/chunk⌉, inner], until r is 1. The chunks are of a fixed size, so the order of the additions never
 * depends on the threads, and rounding errors grow with the chunk's length, not with r. */
#include "ops/shared/broadcast.h"

#include <string.h>

/* ---- shapes ---- */

static int64_t size_from_right(const asc_array *a, int i)
{
    return i < a->ndim ? a->shape[a->ndim - 1 - i] : 1;
}

asc_status asc_expect_broadcast(asc_call *call, int first, int second, asc_array *out)
{
    return asc_expect_broadcast_with(call, &call->in[first], second, out);
}

asc_status asc_expect_broadcast_with(asc_call *call, const asc_array *a, int second, asc_array *out)
{
    const asc_array *b = &call->in[second];
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t shape[ASC_MAX_DIMS];
    for (int i = 0; i < ndim; i++) {
        int64_t n = size_from_right(a, i), m = size_from_right(b, i);
        if (n != m && n != 1 && m != 1) {
            char text[ASC_SHAPE_TEXT];
            return asc_call_expect(call, second, "a shape that broadcasts with %s", asc_shape_text(a, text));
        }
        shape[ndim - 1 - i] = n == 1 ? m : n;
    }
    return asc_array_init(out, a->dtype, ndim, shape) ? ASC_OK
                                                      : asc_call_fail(call, "the result would not fit in memory");
}

bool asc_broadcasts_to(const asc_array *a, const asc_array *to)
{
    bool fits = a->ndim <= to->ndim;
    for (int i = 0; i < a->ndim && fits; i++) {
        int64_t n = size_from_right(a, i);
        fits = n == 1 || n == size_from_right(to, i);
    }
    return fits;
}

void asc_broadcast_strides(const asc_array *a, int ndim, const int64_t *shape, int64_t *stride)
{
    for (int d = 0; d < ndim; d++) {
        int e = d - (ndim - a->ndim);
        stride[d] = e < 0 || a->shape[e] != shape[d] || shape[d] == 1 ? 0 : a->stride[e];
    }
}

/* ---- walks ---- */

static bool joins(const asc_walk *w, const int64_t *const *strides, int d, int64_t n)
{
    bool together = w->ndim > 0;
    for (int i = 0; i < w->n_arrays && together; i++) {
        together = w->stride[i][w->ndim - 1] == strides[i][d] * n;
    }
    return together;
}

asc_walk asc_walk_over(int n_arrays, const int64_t *const *strides, int ndim, const int64_t *shape)
{
    asc_walk w = {.n_arrays = n_arrays, .numel = 1};
    for (int d = 0; d < ndim; d++) {
        w.numel *= shape[d];
        if (shape[d] == 1) {
            continue;
        }
        int last = w.ndim - 1;
        if (joins(&w, strides, d, shape[d])) {
            w.shape[last] *= shape[d];
        } else {
            last = w.ndim++;
            w.shape[last] = shape[d];
        }
        for (int i = 0; i < n_arrays; i++) {
            w.stride[i][last] = strides[i][d];
        }
    }
    if (w.ndim == 0) {
        w.ndim = 1;
        w.shape[0] = 1;
    }
    return w;
}

asc_cursor asc_cursor_at(const asc_walk *walk, int64_t first, int64_t n)
{
    asc_cursor c = {.walk = walk, .left = n};
    for (int d = walk->ndim - 1; d >= 0 && n > 0; d--) {
        c.index[d] = first % walk->shape[d];
        first /= walk->shape[d];
        for (int i = 0; i < walk->n_arrays; i++) {
            c.next[i] += c.index[d] * walk->stride[i][d];
        }
    }
    for (int i = 0; i < walk->n_arrays; i++) {
        c.step[i] = walk->stride[i][walk->ndim - 1];
    }
    return c;
}

/* Moves next[] by n along the last dimension, and on to the next row at its end. */
static void advance(asc_cursor *c, int64_t n)
{
    const asc_walk *w = c->walk;
    for (int d = w->ndim - 1; d >= 0; d--, n = 1) {
        bool inside = (c->index[d] += n) < w->shape[d];
        int64_t moved = inside ? n : n - w->shape[d];
        for (int i = 0; i < w->n_arrays; i++) {
            c->next[i] += moved * w->stride[i][d];
        }
        if (inside) {
            return;
        }
        c->index[d] = 0;
    }
}

bool asc_cursor_next(asc_cursor *c)
{
    if (c->left <= 0) {
        return false;
    }
    int last = c->walk->ndim - 1;
    int64_t row = c->walk->shape[last] - c->index[last];
    c->n = row < c->left ? row : c->left;
    c->left -= c->n;
    memcpy(c->at, c->next, sizeof c->at);
    advance(c, c->n);
    return true;
}

const void *asc_row_of_run(asc_dtype dtype, const void *x, int64_t first, int64_t step, int64_t n, void *room)
{
    const char *from = (const char *)x + (size_t)first * asc_dtype_size(dtype);
    if (step == 1) {
        return from;
    }
    for (int64_t i = 0; i < n && dtype == ASC_F32; i++) {
        ((float *)room)[i] = ((const float *)(const void *)from)[i * step];
    }
    for (int64_t i = 0; i < n && dtype != ASC_F32; i++) {
        ((double *)room)[i] = ((const double *)(const void *)from)[i * step];
    }
    return room;
}

/* ---- sums ---- */

enum { ROWS = 256, COLUMNS = 4096 }; /* a chunk: ROWS rows, or ASC_PIECE elements where inner is 1; columns of a tile */

/* One step: y[outer, chunks, inner] = the sums over each chunk of x[outer, r, inner]. */
typedef struct sum_step {
    const void *x;
    void *y;
    int64_t outer, r, inner;
    int64_t chunk, chunks, tiles; /* tiles: of the columns */
    int64_t units, size;          /* a unit: a tile of a chunk, of so many elements */
} sum_step;

/* ---- float, and f64.awk makes the same for double ---- */

static void sum_unit_f32(const sum_step *s, int64_t unit)
{
    int64_t tile = unit % s->tiles, at = unit / s->tiles;
    int64_t first = at % s->chunks * s->chunk, rows = s->r - first < s->chunk ? s->r - first : s->chunk;
    int64_t column = tile * COLUMNS, n = s->inner - column < COLUMNS ? s->inner - column : COLUMNS;
    const float *x = (const float *)s->x + (at / s->chunks * s->r + first) * s->inner + column;
    float *y = (float *)s->y + at * s->inner + column;
    if (s->inner == 1) {
        *y = asc_kernels_f32()->sum(x, rows);
        return;
    }
    memset(y, 0, (size_t)n * sizeof *y);
    if (s->tiles == 1) {
        asc_kernels_f32()->sum_rows(y, x, rows, n);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        asc_kernels_f32()->acc(y, x + i * s->inner, n);
    }
}

static void sum_units_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const sum_step *s = arg;
    asc_range part = asc_piece_rows(piece, s->units, s->size);
    for (int64_t unit = part.first; unit < part.end; unit++) {
        sum_unit_f32(s, unit);
    }
}

/* ---- end of float ---- */
#include "ops/shared/broadcast.f64.h"

static sum_step plan_step(const asc_array *x, int64_t outer, int64_t r, int64_t inner)
{
    sum_step s = {.x = x->data, .outer = outer, .r = r, .inner = inner, .chunk = inner == 1 ? ASC_PIECE : ROWS};
    s.chunks = (r + s.chunk - 1) / s.chunk;
    s.tiles = (inner + COLUMNS - 1) / COLUMNS;
    s.units = outer * s.chunks * s.tiles;
    s.size = (r < s.chunk ? r : s.chunk) * (inner < COLUMNS ? inner : COLUMNS);
    return s;
}

/* Sums one run of dimensions of *x; *x becomes the result, in scratch. */
static asc_status sum_run(asc_call *call, asc_array *x, int64_t outer, int64_t r, int64_t inner)
{
    while (r > 1) {
        sum_step s = plan_step(x, outer, r, inner);
        s.y = asc_call_scratch(call, (size_t)(outer * s.chunks * inner) * asc_dtype_size(x->dtype));
        if (!s.y) {
            return ASC_ERR_MEMORY;
        }
        asc_parallel(call->ctx, asc_row_pieces(s.units, s.size), BY_DTYPE(x->dtype, sum_units), &s);
        x->data = s.y;
        r = s.chunks;
    }
    return ASC_OK;
}

asc_status asc_sum_dims(asc_call *call, const asc_array *x, uint32_t dims, double scale, void *out, bool fresh)
{
    int64_t n = 1; /* elements of the result */
    for (int d = 0; d < x->ndim; d++) {
        n *= dims >> d & 1 ? 1 : x->shape[d];
    }
    if (x->numel == 0) {
        if (fresh) { /* 0, and NaN with a scale of ∞: the mean of nothing */
            memset(out, 0, (size_t)n * asc_dtype_size(x->dtype));
            asc_add_scaled(call->ctx, x->dtype, out, scale, out, n, true);
        }
        return ASC_OK;
    }
    asc_array rest = *x;
    int64_t inner = 1;
    for (int d = x->ndim - 1; d >= 0;) {
        if (!(dims >> d & 1)) {
            inner *= x->shape[d--];
            continue;
        }
        int64_t r = 1;
        for (; d >= 0 && dims >> d & 1; d--) {
            r *= x->shape[d];
        }
        if (sum_run(call, &rest, asc_leading(x, d + 1), r, inner)) {
            return ASC_ERR_MEMORY;
        }
    }
    asc_add_scaled(call->ctx, x->dtype, out, scale, rest.data, n, fresh);
    return ASC_OK;
}

/* ---- gradients of what was repeated ---- */

uint32_t asc_repeated_dims(const asc_array *x, const asc_array *y)
{
    uint32_t dims = 0;
    for (int d = 0; d < y->ndim; d++) {
        int e = d - (y->ndim - x->ndim);
        dims |= e < 0 || x->shape[e] != y->shape[d] ? 1u << d : 0;
    }
    return dims;
}

void *asc_broadcast_gradient(asc_call *call, int i, bool *fresh)
{
    const asc_array *dy = &call->grad_out[0];
    if (asc_repeated_dims(&call->grad_in[i], dy) == 0) {
        *fresh = call->fresh[i];
        return call->grad_in[i].data;
    }
    *fresh = true;
    return asc_call_scratch(call, asc_array_bytes(dy));
}

asc_status asc_broadcast_finish(asc_call *call, int i, void *gradient)
{
    asc_array all = call->grad_out[0], *dx = &call->grad_in[i];
    uint32_t dims = asc_repeated_dims(dx, &all);
    all.data = gradient;
    return dims == 0 ? ASC_OK : asc_sum_dims(call, &all, dims, 1, dx->data, call->fresh[i]);
}
