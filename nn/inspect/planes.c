/* nn/inspect/planes.c: geometry of 2-planes that are given by their Plücker coordinates.
 *
 * The coordinates p_ij = u_i v_j - u_j v_i, i < j, of the plane of orthonormal u, v are an antisymmetric matrix
 * M = u vᵀ - v uᵀ, which turns the plane by a right angle: M v = u, M u = -v. So a column of M, made a unit vector, and
 * its image are an orthonormal basis, found without a cancellation. From there:
 *
 *   angles    cos θ1, cos θ2 = singular values of [u v]ᵀ[u' v'];  cos θ1 cos θ2 = |det| = |<p, p'>|
 *   mean      eigenvectors of the mean of u uᵀ + v vᵀ
 *   relations p_ij p_kl - p_ik p_jl + p_il p_jk = 0 for i < j < k < l: p is a plane's, and not any vector. */
#include <math.h>
#include <string.h>

#include <ascgrad/inspect.h>

#include "nn/doubles.h"
#include "nn/inspect/eigen.h"
#include "tensor/need.h"

enum { QUADRUPLES = 1 << 16, PAIRS = 6 };

int64_t asc_plane_space(int64_t coordinates)
{
    int64_t r = (int64_t)((1 + sqrt(1 + 8 * (double)coordinates)) / 2 + .5);
    return coordinates > 0 && r * (r - 1) / 2 == coordinates ? r : 0;
}

/* Planes to work on. */
typedef struct planes {
    const double *p;
    int64_t count, coordinates, r;
} planes;

static int64_t place(int64_t r, int64_t i, int64_t j)
{
    return i * r - i * (i + 1) / 2 + j - i - 1;
}

static double norm(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

/* The planes of x; in the scope. r is 0 with the error set. */
static planes open_planes(asc_ctx *ctx, asc_tensor x, const char *function)
{
    planes a = {.coordinates = asc_size(x, -1), .r = asc_plane_space(asc_size(x, -1))};
    if (!asc_error(ctx) && a.r == 0) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: the last dimension has %lld coordinates, expected r(r-1)/2", function,
                 (long long)a.coordinates);
    }
    a.p = asc_data(asc_doubles(ctx, x));
    a.count = a.r > 0 ? asc_numel(x) / a.coordinates : 0;
    a.r = asc_error(ctx) ? 0 : a.r;
    return a;
}

/* ---- bases ---- */

/* y = M x. */
static void turn(const double *p, int64_t r, const double *x, double *y)
{
    memset(y, 0, (size_t)r * sizeof *y);
    for (int64_t i = 0; i < r; i++) {
        for (int64_t j = i + 1; j < r; j++, p++) {
            y[i] += *p * x[j];
            y[j] -= *p * x[i];
        }
    }
}

static bool scale_to_unit(double *x, int64_t n)
{
    double length = norm(x, n);
    for (int64_t i = 0; i < n && length > 0; i++) {
        x[i] /= length;
    }
    return length > 0;
}

/* The column of M in which the largest entry is. */
static void largest_column(const double *p, int64_t r, double *column)
{
    int64_t best = 0;
    double most = -1;
    for (int64_t i = 0; i < r; i++) {
        for (int64_t j = i + 1; j < r; j++) {
            if (fabs(p[place(r, i, j)]) > most) {
                most = fabs(p[place(r, i, j)]);
                best = j;
            }
        }
    }
    for (int64_t i = 0; i < r; i++) {
        column[i] = i == best ? 0 : i < best ? p[place(r, i, best)] : -p[place(r, best, i)];
    }
}

/* An orthonormal basis u, v (basis[0 … r-1], basis[r … 2r-1]); false: there is no plane. */
static bool find_basis(const double *p, int64_t r, double *basis)
{
    double *u = basis, *v = basis + r, along = 0;
    largest_column(p, r, u);
    if (!scale_to_unit(u, r)) {
        return false;
    }
    turn(p, r, u, v);
    for (int64_t i = 0; i < r; i++) {
        along += u[i] * v[i];
    }
    for (int64_t i = 0; i < r; i++) {
        v[i] -= along * u[i]; /* rounding only: x·Mx = 0 */
    }
    return scale_to_unit(v, r);
}

/* ---- angles ---- */

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* The singular values of (a b; c d), the larger first: (√((a+d)² + (b-c)²) ± √((a-d)² + (b+c)²))/2. */
static void singular_values(double a, double b, double c, double d, double value[2])
{
    double sum = hypot(a + d, b - c), difference = hypot(a - d, b + c);
    value[0] = (sum + difference) / 2;
    value[1] = fabs(sum - difference) / 2;
}

/* y += factor x */
static void add(double *y, double factor, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += factor * x[i];
    }
}

/* Of two orthonormal bases: cosines are the singular values of XᵀY, and sines, which tell small angles, those of what
 * XXᵀ leaves of Y, in whose place it comes, as the R of its QR decomposition. */
static void angles_of(const double *x, double *y, int64_t r, double *angle)
{
    double cosine[2], sine[2], a = dot(x, y, r), b = dot(x, y + r, r), c = dot(x + r, y, r), d = dot(x + r, y + r, r);
    singular_values(a, b, c, d, cosine);
    add(y, -a, x, r);
    add(y, -c, x + r, r);
    add(y + r, -b, x, r);
    add(y + r, -d, x + r, r);
    double first = sqrt(dot(y, y, r)), across = first > 0 ? dot(y, y + r, r) / first : 0;
    add(y + r, first > 0 ? -across / first : 0, y, r);
    singular_values(first, across, 0, sqrt(dot(y + r, y + r, r)), sine);
    angle[0] = atan2(sine[1], cosine[0]);
    angle[1] = atan2(sine[0], cosine[1]);
}

asc_tensor asc_plane_angles(asc_ctx *ctx, asc_tensor p, asc_tensor q)
{
    if (!ctx) {
        return asc_null();
    }
    int ndim = asc_ndim(p);
    int64_t shape[ASC_MAX_DIMS] = {0};
    bool same = ndim > 0 && ndim == asc_ndim(q);
    for (int d = 0; d < ndim; d++) {
        same = same && asc_size(p, d) == asc_size(q, d);
        shape[d] = d == ndim - 1 ? 2 : asc_size(p, d);
    }
    if (!asc_error(ctx) && !same) {
        asc_fail(ctx, ASC_ERR_ARG, "plane_angles: p and q have %d and %d dimensions, expected one shape", ndim,
                 asc_ndim(q));
    }
    asc_tensor result = asc_full(ctx, ASC_F64, NAN, ndim, shape);
    asc_scope_begin(ctx);
    planes a = open_planes(ctx, p, "plane_angles"), b = open_planes(ctx, q, "plane_angles");
    int64_t r = a.r;
    double *to = asc_data_mut(result), *bases = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, r)));
    for (int64_t i = 0; to && bases && b.r > 0 && i < a.count; i++) {
        if (find_basis(a.p + i * a.coordinates, r, bases) && find_basis(b.p + i * b.coordinates, r, bases + 2 * r)) {
            angles_of(bases, bases + 2 * r, r, to + 2 * i);
        }
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, result);
}

/* ---- the mean ---- */

/* The mean projector into m (r, r). */
static void mean_projector(const planes *a, double *basis, double *m)
{
    int64_t r = a->r, found = 0;
    for (int64_t n = 0; n < a->count; n++) {
        if (!find_basis(a->p + n * a->coordinates, r, basis)) {
            continue;
        }
        found++;
        for (int64_t i = 0; i < r; i++) {
            for (int64_t j = 0; j < r; j++) {
                m[i * r + j] += basis[i] * basis[j] + basis[r + i] * basis[r + j];
            }
        }
    }
    for (int64_t e = 0; found > 0 && e < r * r; e++) {
        m[e] /= (double)found;
    }
}

asc_tensor asc_plane_mean(asc_ctx *ctx, asc_tensor p, asc_tensor *spectrum)
{
    if (spectrum) {
        *spectrum = asc_null();
    }
    if (ASC_NEED(ctx, "plane_mean: spectrum", spectrum)) {
        return asc_null();
    }
    int64_t r = asc_plane_space(asc_size(p, -1));
    asc_tensor vectors = asc_zeros(ctx, ASC_F64, ASC_SHAPE(r, r));
    *spectrum = asc_zeros(ctx, ASC_F64, ASC_SHAPE(r));
    asc_scope_begin(ctx);
    planes a = open_planes(ctx, p, "plane_mean");
    double *m = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(r, r)));
    double *basis = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, r)));
    double *v = asc_data_mut(vectors), *values = asc_data_mut(*spectrum);
    if (a.r > 0 && m && basis && v && values) {
        mean_projector(&a, basis, m);
        asc_symmetric_eigen(r, m, v);
        for (int64_t i = 0; i < r; i++) {
            values[i] = m[i * (r + 1)];
        }
        if (values[0] == 0) {
            memset(v, 0, (size_t)(r * r) * sizeof *v); /* no planes */
        }
    }
    asc_scope_end(ctx);
    *spectrum = asc_unless_failed(ctx, *spectrum);
    return asc_unless_failed(ctx, vectors);
}

/* ---- the quadratic relations ---- */

typedef struct relations {
    const planes *a;
    const int32_t *pairs; /* of each quadruple i < j < k < l: the places of ij, kl, ik, jl, il, jk */
    int64_t quadruples;
    double *sums; /* for each plane: largest, sum of squares, whether it is one */
} relations;

enum { SUMS = 3 };

static double choose_4(int64_t r)
{
    return (double)r * (double)(r - 1) * (double)(r - 2) * (double)(r - 3) / 24;
}

static void put_quadruple(int64_t r, int64_t i, int64_t j, int64_t k, int64_t l, int32_t *pairs)
{
    const int64_t of[PAIRS][2] = {{i, j}, {k, l}, {i, k}, {j, l}, {i, l}, {j, k}};
    for (int n = 0; n < PAIRS; n++) {
        pairs[n] = (int32_t)place(r, of[n][0], of[n][1]);
    }
}

/* Whether the next quadruple to be listed is none of the n from *number on, which are then passed over. */
static bool pass_over(int64_t next, int64_t n, int64_t *number)
{
    bool over = next >= *number + n;
    *number += over ? n : 0;
    return over;
}

/* Every quadruple or, where there are too many, every n-th, in the order of their indices. */
static int64_t list_quadruples(int64_t r, int32_t *pairs)
{
    int64_t step = (int64_t)ceil(choose_4(r) / QUADRUPLES), number = 0, next = 0, listed = 0;
    for (int64_t i = 0; i < r; i++) {
        int64_t n = r - 1 - i; /* indices behind i */
        for (int64_t j = pass_over(next, n * (n - 1) * (n - 2) / 6, &number) ? r : i + 1; j < r; j++) {
            int64_t m = r - 1 - j;
            for (int64_t k = pass_over(next, m * (m - 1) / 2, &number) ? r : j + 1; k < r; k++) {
                int64_t last = number + r - 1 - k;
                for (; next < last; next += step) {
                    put_quadruple(r, i, j, k, k + 1 + next - number, pairs + listed++ * PAIRS);
                }
                number = last;
            }
        }
    }
    return listed;
}

static void check_plane(void *arg, int64_t plane, int worker)
{
    (void)worker;
    const relations *c = arg;
    const double *p = c->a->p + plane * c->a->coordinates;
    double length = norm(p, c->a->coordinates), *sums = c->sums + plane * SUMS;
    if (length == 0) {
        return;
    }
    sums[2] = 1;
    for (int64_t n = 0; n < c->quadruples; n++) {
        const int32_t *at = c->pairs + n * PAIRS;
        double residual = p[at[0]] * p[at[1]] - p[at[2]] * p[at[3]] + p[at[4]] * p[at[5]];
        residual = fabs(residual) / (length * length);
        sums[0] = fmax(sums[0], residual);
        sums[1] += residual * residual;
    }
}

asc_status asc_plane_residual(asc_ctx *ctx, asc_tensor p, double *max, double *rms)
{
    asc_status status = ASC_NEED(ctx, "plane_residual: max rms", max, rms);
    if (status) {
        return status;
    }
    *max = *rms = 0;
    asc_scope_begin(ctx);
    planes a = open_planes(ctx, p, "plane_residual");
    double *sums = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(a.count, SUMS))), squares = 0, found = 0;
    size_t bytes = (size_t)QUADRUPLES * PAIRS * sizeof(int32_t);
    int32_t *pairs = a.r >= 4 && sums ? asc_alloc(ctx, bytes) : NULL;
    if (pairs) {
        relations c = {.a = &a, .pairs = pairs, .quadruples = list_quadruples(a.r, pairs), .sums = sums};
        asc_parallel(ctx, a.count, check_plane, &c);
        for (int64_t i = 0; i < a.count; i++) {
            *max = fmax(*max, sums[i * SUMS]);
            squares += sums[i * SUMS + 1];
            found += sums[i * SUMS + 2];
        }
        *rms = found > 0 ? sqrt(squares / (found * (double)c.quadruples)) : 0;
        asc_free(ctx, pairs, bytes);
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}
