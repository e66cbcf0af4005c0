/* ops/attention/heads.c: unit vectors and transposed copies of heads.
 *
 *   u = x/‖x‖,  dx = (du - u (u·du))/‖x‖;  both are 0 where ‖x‖ <= 1e-12 */
#include "ops/attention/heads.h"

#include <math.h>
#include <string.h>

enum { LINE = 16 }; /* elements of a line, 64 bytes or more */

typedef struct job {
    const asc_array *x;
    int64_t heads, n, width, ld, pieces; /* ld: from position to position of x; pieces: of a head */
    void *to;
    const void *u, *from;
    void *du;
    bool fresh;
} job;

static job job_of(const asc_array *x, int64_t heads)
{
    return (job){.x = x, .heads = heads, .n = x->shape[1], .ld = x->shape[2], .width = x->shape[2] / heads,
                 .pieces = (x->shape[1] + ASC_HEAD_PIECE - 1) / ASC_HEAD_PIECE};
}

static int64_t pieces_of(const job *j)
{
    return j->x->shape[0] * j->heads * j->pieces;
}

/* A piece's first position, and its end; the first element of its head in x. */
static int64_t range_of(const job *j, int64_t piece, int64_t *end, int64_t *first)
{
    int64_t head = piece / j->pieces, from = piece % j->pieces * ASC_HEAD_PIECE;
    *end = from + ASC_HEAD_PIECE < j->n ? from + ASC_HEAD_PIECE : j->n;
    *first = head / j->heads * j->n * j->ld + head % j->heads * j->width;
    return from;
}

/* ---- float, and f64.awk makes the same for double ---- */

/* What x is divided by: ‖x‖, or ∞ where it has no direction. */
static float divisor_f32(double square)
{
    double norm = sqrt(square);
    return norm <= ASC_LEAST_NORM ? (float)INFINITY : (float)norm;
}

double asc_unit_f32(float *u, const float *x, int64_t n)
{
    double square = asc_kernels_f32()->sumsq(x, n);
    asc_kernels_f32()->divide(u, x, divisor_f32(square), n);
    return square;
}

float asc_unit_inverse_f32(const float *x, int64_t n)
{
    return 1 / divisor_f32(asc_kernels_f32()->sumsq(x, n));
}

void asc_unit_grad_f32(float *dx, const float *u, float *du, float inverse, int64_t n, bool fresh)
{
    asc_kernels_f32()->axpy(du, -asc_kernels_f32()->dot(u, du, n), u, n);
    if (fresh) {
        asc_kernels_f32()->scale(dx, inverse, du, n);
    } else {
        asc_kernels_f32()->axpy(dx, inverse, du, n);
    }
}

static void units_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end, first, from = range_of(j, piece, &end, &first);
    for (int64_t i = from; i < end; i++) {
        int64_t at = first + i * j->ld;
        asc_unit_f32((float *)j->to + at, (const float *)j->x->data + at, j->width);
    }
}

static void units_grad_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end, first, from = range_of(j, piece, &end, &first), n = j->width;
    float *du = (float *)j->du + piece / j->pieces * j->n * n;
    for (int64_t i = from; i < end; i++) {
        int64_t at = first + i * j->ld;
        asc_unit_grad_f32((float *)j->to + at, (const float *)j->u + at, du + i * n,
                          asc_unit_inverse_f32((const float *)j->x->data + at, n), n, j->fresh);
    }
}

static void transpose_f32(void *arg, int64_t head, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t ld = asc_head_ld(j->n);
    const float *x = (const float *)j->x->data + head / j->heads * j->n * j->ld + head % j->heads * j->width;
    float *to = (float *)j->to + head * j->width * ld;
    asc_kernels_f32()->transpose(to, ld, x, j->ld, j->n, j->width);
    for (int64_t m = 0; m < j->width; m++) {
        memset(to + m * ld + j->n, 0, (size_t)(ld - j->n) * sizeof *to);
    }
}

static void add_transposed_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const job *j = arg;
    int64_t end, first, from = range_of(j, piece, &end, &first), ld = asc_head_ld(j->n);
    const float *x = (const float *)j->from + piece / j->pieces * j->width * ld;
    float *to = (float *)j->x->data + first;
    for (int64_t i = from; i < end; i++) {
        for (int64_t m = 0; m < j->width; m++) {
            to[i * j->ld + m] += x[m * ld + i];
        }
    }
}

/* ---- end of float ---- */
#include "ops/attention/heads.f64.h"

void asc_head_units(asc_ctx *ctx, const asc_array *x, int64_t heads, void *u)
{
    job j = job_of(x, heads);
    j.to = u;
    asc_parallel(ctx, pieces_of(&j), BY_DTYPE(x->dtype, units), &j);
}

void asc_head_units_grad(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *u, void *du, void *dx,
                         bool fresh)
{
    job j = job_of(x, heads);
    j.u = u;
    j.du = du;
    j.to = dx;
    j.fresh = fresh;
    asc_parallel(ctx, pieces_of(&j), BY_DTYPE(x->dtype, units_grad), &j);
}

int64_t asc_head_ld(int64_t n)
{
    return (n + LINE - 1) / LINE * LINE + 2 * LINE;
}

void asc_head_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, void *to)
{
    job j = job_of(x, heads);
    j.to = to;
    asc_parallel(ctx, x->shape[0] * heads, BY_DTYPE(x->dtype, transpose), &j);
}

void asc_head_add_transposes(asc_ctx *ctx, const asc_array *x, int64_t heads, const void *from)
{
    job j = job_of(x, heads);
    j.from = from;
    asc_parallel(ctx, pieces_of(&j), BY_DTYPE(x->dtype, add_transposed), &j);
}
