/* ops/attention/heads.c: unit vectors and transposed copies of heads. */
#ifndef ASC_REAL
#include "ops/attention/heads.h"

#include <math.h>
#include <string.h>

enum { LINE = 16, TOKENS = 64 }; /* elements of a line, 64 bytes or more; positions of a piece */

static const double least_norm = 1e-12; /* shorter vectors have no direction */

typedef struct job {
    const asc_array *x;
    int64_t heads, n, width, ld, tiles; /* ld: from position to position of x; tiles: pieces of a head */
    void *to;
    const void *u, *du, *from;
    bool fresh;
} job;

static job job_of(const asc_array *x, int64_t heads)
{
    return (job){.x = x, .heads = heads, .n = x->shape[1], .ld = x->shape[2], .width = x->shape[2] / heads,
                 .tiles = (x->shape[1] + TOKENS - 1) / TOKENS};
}

static int64_t pieces_of(const job *j)
{
    return j->x->shape[0] * j->heads * j->tiles;
}

/* A piece's first position, and its end; the first element of its head in x. */
static int64_t range_of(const job *j, int64_t piece, int64_t *end, int64_t *first)
{
    int64_t head = piece / j->tiles, from = piece % j->tiles * TOKENS;
    *end = from + TOKENS < j->n ? from + TOKENS : j->n;
    *first = head / j->heads * j->n * j->ld + head % j->heads * j->width;
    return from;
}

#define ASC_SELF "ops/attention/heads.c"
#include "ops/shared/both.h"

void asc_head_units(asc_ctx *ctx, const asc_array *x, int64_t heads, void *u)
{
    job j = job_of(x, heads);
    j.to = u;
    asc_parallel(ctx, pieces_of(&j), x->dtype == ASC_F32 ? units_f32 : units_f64, &j);
}

void asc_head_units_grad(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *u, const void *du, void *dx,
                         bool fresh)
{
    job j = job_of(x, heads);
    j.u = u;
    j.du = du;
    j.to = dx;
    j.fresh = fresh;
    asc_parallel(ctx, pieces_of(&j), x->dtype == ASC_F32 ? units_grad_f32 : units_grad_f64, &j);
}

int64_t asc_head_ld(int64_t n)
{
    return (n + LINE - 1) / LINE * LINE + 2 * LINE;
}

void asc_head_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, void *to)
{
    job j = job_of(x, heads);
    j.to = to;
    asc_parallel(ctx, x->shape[0] * heads, x->dtype == ASC_F32 ? transpose_f32 : transpose_f64, &j);
}

void asc_head_add_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *from)
{
    job j = job_of(x, heads);
    j.from = from;
    asc_parallel(ctx, pieces_of(&j), x->dtype == ASC_F32 ? add_transposed_f32 : add_transposed_f64, &j);
}

#else /* for each dtype */

static void R(units)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end, first, from = range_of(j, piece, &end, &first);
    for (int64_t i = from; i < end; i++) {
        const real *x = (const real *)j->x->data + first + i * j->ld;
        real *u = (real *)j->to + first + i * j->ld;
        double norm = sqrt(K->sumsq(x, j->width));
        for (int64_t m = 0; m < j->width; m++) { /* a quotient: of one number it is ±1, and like vectors tie */
            u[m] = norm <= least_norm ? 0 : (real)((double)x[m] / norm);
        }
    }
}

static void R(units_grad)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end, first, from = range_of(j, piece, &end, &first), n = j->width;
    const real *du = (const real *)j->du + piece / j->tiles * j->n * n;
    for (int64_t i = from; i < end; i++) {
        int64_t at = first + i * j->ld;
        const real *x = (const real *)j->x->data + at, *u = (const real *)j->u + at;
        real *dx = (real *)j->to + at;
        double norm = sqrt(K->sumsq(x, n)), scale = norm <= least_norm ? 0 : 1 / norm;
        real along = K->dot(u, du + i * n, n);
        if (j->fresh) {
            memset(dx, 0, (size_t)n * sizeof *dx);
        }
        K->axpy(dx, (real)scale, du + i * n, n);
        K->axpy(dx, (real)-scale * along, u, n);
    }
}

static void R(transpose)(void *arg, int64_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t ld = asc_head_ld(j->n);
    const real *x = (const real *)j->x->data + head / j->heads * j->n * j->ld + head % j->heads * j->width;
    real *to = (real *)j->to + head * j->width * ld;
    K->transpose(to, ld, x, j->ld, j->n, j->width);
    for (int64_t m = 0; m < j->width; m++) {
        memset(to + m * ld + j->n, 0, (size_t)(ld - j->n) * sizeof *to);
    }
}

static void R(add_transposed)(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end, first, from = range_of(j, piece, &end, &first), ld = asc_head_ld(j->n);
    const real *x = (const real *)j->from + piece / j->tiles * j->width * ld;
    real *to = (real *)j->x->data + first;
    for (int64_t i = from; i < end; i++) {
        for (int64_t m = 0; m < j->width; m++) {
            to[i * j->ld + m] += x[m * ld + i];
        }
    }
}

#endif
