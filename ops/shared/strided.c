/* ops/shared/strided.c: dst (+)= src for arrays of any strides, what views, copies and joins do; and clearing.
 *
 * The longest dimension along which dst moves is cut into pieces, so that no two pieces write the same place. */
#include "ops/shared/op.h"

#include <string.h>

typedef struct plan plan;
typedef void run_fn(const plan *p, char *dst, const char *src); /* all of the last dimension */

struct plan {
    run_fn *run;
    int64_t size; /* of an element */
    int ndim, cut;
    int64_t slice; /* elements for one index of the cut dimension */
    int64_t shape[ASC_MAX_DIMS], ds[ASC_MAX_DIMS], ss[ASC_MAX_DIMS];
    char *dst;
    const char *src;
};

static void copy_run(const plan *p, char *dst, const char *src)
{
    int last = p->ndim - 1;
    int64_t n = p->shape[last], ds = p->ds[last] * p->size, ss = p->ss[last] * p->size;
    if (ds == p->size && ss == p->size) {
        memcpy(dst, src, (size_t)(n * p->size));
    } else if (p->size == 8) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + i * ds, src + i * ss, 8);
        }
    } else if (p->size == 4) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + i * ds, src + i * ss, 4);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + i * ds, src + i * ss, (size_t)p->size);
        }
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

static void add_run_f32(const plan *p, char *to, const char *from)
{
    int last = p->ndim - 1;
    int64_t n = p->shape[last], ds = p->ds[last], ss = p->ss[last];
    float *dst = (float *)(void *)to;
    const float *src = (const float *)(const void *)from;
    if (ds == 1 && ss == 1) {
        asc_kernels_f32()->acc(dst, src, n);
    } else if (ds == 0 && ss == 1) {
        *dst += asc_kernels_f32()->sum(src, n);
    } else {
        for (int64_t i = 0; i < n; i++) {
            dst[i * ds] += src[i * ss];
        }
    }
}

/* ---- end of float ---- */
#include "ops/shared/strided.f64.h"

/* ---- the walk over all other dimensions ---- */

static void walk(const plan *p)
{
    int64_t index[ASC_MAX_DIMS] = {0};
    char *dst = p->dst;
    const char *src = p->src;
    for (int d = 0; d >= 0;) {
        p->run(p, dst, src);
        for (d = p->ndim - 2; d >= 0; d--) {
            dst += p->ds[d] * p->size;
            src += p->ss[d] * p->size;
            if (++index[d] < p->shape[d]) {
                break;
            }
            dst -= index[d] * p->ds[d] * p->size;
            src -= index[d] * p->ss[d] * p->size;
            index[d] = 0;
        }
    }
}

static void run_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    plan p = *(const plan *)arg;
    asc_range part = asc_piece_rows(piece, p.shape[p.cut], p.slice);
    p.dst += part.first * p.ds[p.cut] * p.size;
    p.src += part.first * p.ss[p.cut] * p.size;
    p.shape[p.cut] = part.end - part.first;
    walk(&p);
}

/* ---- plans ---- */

/* Adds a dimension inside of those that are there; joins it to the last one where both arrays allow. */
static void add_dim(plan *p, int64_t n, int64_t ds, int64_t ss)
{
    int last = p->ndim - 1;
    if (last >= 0 && p->ds[last] == ds * n && p->ss[last] == ss * n) {
        p->shape[last] *= n;
    } else {
        last = p->ndim++;
        p->shape[last] = n;
    }
    p->ds[last] = ds;
    p->ss[last] = ss;
}

static void run_all(asc_ctx *ctx, const asc_array *dst, const asc_array *src, run_fn *run)
{
    if (dst->numel == 0) {
        return;
    }
    plan p = {.run = run, .size = (int64_t)asc_dtype_size(dst->dtype), .dst = dst->data, .src = src->data};
    for (int d = 0; d < dst->ndim; d++) {
        if (dst->shape[d] != 1) {
            add_dim(&p, dst->shape[d], dst->stride[d], src->stride[d]);
        }
    }
    if (p.ndim == 0) {
        add_dim(&p, 1, 1, 1);
    }
    p.cut = -1;
    for (int d = 0; d < p.ndim; d++) {
        if (p.ds[d] != 0 && (p.cut < 0 || p.shape[d] > p.shape[p.cut])) {
            p.cut = d;
        }
    }
    if (p.cut < 0) { /* the sum of everything */
        walk(&p);
        return;
    }
    p.slice = dst->numel / p.shape[p.cut];
    asc_parallel(ctx, asc_row_pieces(p.shape[p.cut], p.slice), run_piece, &p);
}

enum { CLEAR = 1 << 17 }; /* bytes of a piece */

typedef struct clearing {
    char *memory;
    size_t bytes;
} clearing;

static void clear_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const clearing *c = arg;
    size_t first = (size_t)piece * CLEAR, left = c->bytes - first;
    memset(c->memory + first, 0, left < CLEAR ? left : CLEAR);
}

void asc_clear(asc_ctx *ctx, void *memory, size_t bytes)
{
    clearing c = {memory, bytes};
    asc_parallel(ctx, (int64_t)((bytes + CLEAR - 1) / CLEAR), clear_piece, &c);
}

void asc_strided_copy(asc_ctx *ctx, const asc_array *dst, const asc_array *src)
{
    run_all(ctx, dst, src, copy_run);
}

void asc_strided_add(asc_ctx *ctx, const asc_array *dst, const asc_array *src, bool fresh)
{
    run_all(ctx, dst, src, fresh ? copy_run : BY_DTYPE(dst->dtype, add_run));
}
