/* ops/shared/op.c: checks and loops that many ops share. */
#include "ops/shared/op.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

asc_status asc_expect_floating(asc_call *call, int input)
{
    const asc_array *a = &call->in[input];
    if (!asc_is_floating(a->dtype)) {
        return asc_call_expect(call, input, "f32 or f64");
    }
    int first = 0;
    while (first < input && (call->in[first].ndim < 0 || !asc_is_floating(call->in[first].dtype))) {
        first++;
    }
    if (a->dtype != call->in[first].dtype) {
        return asc_call_expect(call, input, "%s, as the first input%s", asc_dtype_name(call->in[first].dtype),
                               first > 0 ? " that is floating" : "");
    }
    return ASC_OK;
}

double asc_least_cap(asc_dtype dtype)
{
    return dtype == ASC_F32 ? (double)FLT_MIN : DBL_MIN;
}

asc_status asc_expect_cap(asc_call *call, double cap, asc_dtype dtype)
{
    double least = asc_least_cap(dtype);
    return cap == 0 || (cap >= least && cap <= 1 / least)
               ? ASC_OK
               : asc_call_fail(call, "cap is %g, expected 0 for none, or %g to %g in %s", cap, least, 1 / least,
                               asc_dtype_name(dtype));
}

asc_status asc_expect_shape(asc_call *call, int input, asc_dtype dtype, int ndim, const int64_t *shape,
                            const char *what)
{
    const asc_array *a = &call->in[input];
    asc_array expected;
    asc_array_init(&expected, dtype, ndim, shape);
    if (a->dtype != dtype || !asc_same_shape(a, &expected)) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, input, "%s %s, %s", asc_dtype_name(dtype), asc_shape_text(&expected, text), what);
    }
    return ASC_OK;
}

/* "[2, 5]" for element i of a. */
static const char *position_text(const asc_array *a, int64_t i, char *text)
{
    int64_t at[ASC_MAX_DIMS];
    for (int d = a->ndim - 1; d >= 0; d--) {
        at[d] = i % a->shape[d];
        i /= a->shape[d];
    }
    int length = 0;
    for (int d = 0; d < a->ndim; d++) {
        length += snprintf(text + length, ASC_SHAPE_TEXT - (size_t)length, "%s%lld", d ? ", " : "[", (long long)at[d]);
    }
    snprintf(text + length, ASC_SHAPE_TEXT - (size_t)length, a->ndim > 0 ? "]" : "");
    return text;
}

asc_status asc_expect_indices(asc_call *call, int input, int64_t limit)
{
    const asc_array *a = &call->in[input];
    const int64_t *index = a->data;
    for (int64_t i = 0; i < a->numel; i++) {
        if (index[i] < 0 || index[i] >= limit) {
            char text[ASC_SHAPE_TEXT];
            return asc_call_fail(call, "index%s is %lld, expected at least 0 and less than %lld",
                                 position_text(a, i, text), (long long)index[i], (long long)limit);
        }
    }
    return ASC_OK;
}

int asc_expect_dim(asc_call *call, int input, int dim)
{
    int ndim = call->in[input].ndim;
    if (dim < -ndim || dim >= ndim) {
        asc_call_expect(call, input, "to have dimension %d", dim);
        return -1;
    }
    return dim < 0 ? dim + ndim : dim;
}

int64_t asc_leading(const asc_array *a, int n)
{
    int64_t product = 1;
    for (int d = 0; d < n; d++) {
        product *= a->shape[d];
    }
    return product;
}

void asc_elementwise(asc_call *call, int64_t n, asc_piece_fn *fn)
{
    asc_parallel(call->ctx, asc_pieces(n), fn, call);
}

/* ---- column sums: partial sums of chunks of rows, then those in order ---- */

enum { CHUNK = 256 };

typedef struct column_sums {
    const asc_array *x;
    int64_t rows, n;
    void *partial;
} column_sums;

/* ---- float, and f64.awk makes the same for double ---- */

static void sum_chunk_f32(void *arg, int64_t chunk, int worker)
{
    (void)worker;
    const column_sums *s = arg;
    int64_t first = chunk * CHUNK, rows = s->rows - first < CHUNK ? s->rows - first : CHUNK;
    asc_kernels_f32()->sum_rows((float *)s->partial + chunk * s->n, (const float *)s->x->data + first * s->n, rows,
                                s->n);
}

static void add_chunks_f32(void *out, const void *partial, int64_t chunks, int64_t n)
{
    asc_kernels_f32()->sum_rows(out, partial, chunks, n);
}

/* ---- end of float ---- */
#include "ops/shared/op.f64.h"

asc_status asc_column_sums(asc_call *call, const asc_array *x, int64_t rows, int64_t n, void *out, bool fresh)
{
    int64_t chunks = (rows + CHUNK - 1) / CHUNK;
    size_t bytes = (size_t)n * asc_dtype_size(x->dtype);
    column_sums s = {x, rows, n, asc_call_scratch(call, (size_t)chunks * bytes)};
    if (!s.partial) {
        return ASC_ERR_MEMORY;
    }
    memset(s.partial, 0, (size_t)chunks * bytes);
    asc_parallel(call->ctx, chunks, BY_DTYPE(x->dtype, sum_chunk), &s);
    if (fresh) {
        memset(out, 0, bytes);
    }
    BY_DTYPE(x->dtype, add_chunks)(out, s.partial, chunks, n);
    return ASC_OK;
}
