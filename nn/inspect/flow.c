/* nn/inspect/flow.c: numbers about a flow, the directions u_t of a layer's tokens: their mean, how they vary about it,
 * their path from token to token, and what of it another layer shares. nn/flow.h has what a model computes of it. */
#include <math.h>
#include <string.h>

#include <ascgrad/inspect.h>

#include "nn/doubles.h"
#include "tensor/need.h"
#include "tensor/random.h"

enum { TURNS = 2000, GRAM = 256 };
static const double settled = 1e-12; /* the power method ends where a turn moves the direction less */

/* Directions (N, G, n) in double. */
typedef struct flow {
    const double *u;
    int64_t N, G, n;
} flow;

/* In the scope; u is NULL with the error set. */
static flow open_flow(asc_ctx *ctx, asc_tensor u, const char *function)
{
    if (!asc_error(ctx) && asc_ndim(u) != 3) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: u has %d dimensions, expected (N, G, n)", function, asc_ndim(u));
    }
    flow f = {.N = asc_size(u, 0), .G = asc_size(u, 1), .n = asc_size(u, 2)};
    f.u = asc_error(ctx) ? NULL : asc_data(asc_doubles(ctx, u));
    return f;
}

static const double *at(const flow *f, int64_t t, int64_t g)
{
    return f->u + (t * f->G + g) * f->n;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static bool is_there(const flow *f, int64_t t, int64_t g)
{
    return dot(at(f, t, g), at(f, t, g), f->n) > 0;
}

/* ½‖x - y‖‖x + y‖ */
static double chord(const double *x, const double *y, int64_t n)
{
    double apart = 0, together = 0;
    for (int64_t i = 0; i < n; i++) {
        apart += (x[i] - y[i]) * (x[i] - y[i]);
        together += (x[i] + y[i]) * (x[i] + y[i]);
    }
    return sqrt(apart) * sqrt(together) / 2;
}

/* ---- the path ---- */

/* Adds group g's numbers to path (N, 2), `sum` being room for n; count (N, 2): of how many groups they are. */
static void follow(const flow *f, int64_t g, double *sum, double *path, double *count)
{
    double tokens = 0;
    memset(sum, 0, (size_t)f->n * sizeof *sum);
    for (int64_t t = 0; t < f->N; t++) {
        if (!is_there(f, t, g)) {
            continue;
        }
        tokens++;
        for (int64_t i = 0; i < f->n; i++) {
            sum[i] += at(f, t, g)[i];
        }
        path[2 * t] += dot(at(f, t, g), sum, f->n) / tokens;
        count[2 * t]++;
        if (t > 0 && is_there(f, t - 1, g)) {
            path[2 * t + 1] += chord(at(f, t, g), at(f, t - 1, g), f->n);
            count[2 * t + 1]++;
        }
    }
}

asc_tensor asc_flow_path(asc_ctx *ctx, asc_tensor u)
{
    if (!ctx) {
        return asc_null();
    }
    asc_tensor path = asc_zeros(ctx, ASC_F64, ASC_SHAPE(asc_size(u, 0), 2));
    asc_scope_begin(ctx);
    flow f = open_flow(ctx, u, "flow_path");
    double *to = asc_data_mut(path), *sum = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(f.n)));
    double *count = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(f.N, 2)));
    for (int64_t g = 0; f.u && to && sum && count && g < f.G; g++) {
        follow(&f, g, sum, to, count);
    }
    for (int64_t e = 0; f.u && to && count && e < 2 * f.N; e++) {
        to[e] = count[e] > 0 ? to[e] / count[e] : NAN;
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, path);
}

asc_tensor asc_flow_stability(asc_ctx *ctx, asc_tensor u, asc_tensor v)
{
    if (!ctx) {
        return asc_null();
    }
    asc_tensor shared = asc_full(ctx, ASC_F64, NAN, ASC_SHAPE(asc_size(u, 0)));
    asc_scope_begin(ctx);
    flow f = open_flow(ctx, u, "flow_stability"), below = open_flow(ctx, v, "flow_stability");
    if (!asc_error(ctx) && (f.N != below.N || f.G != below.G || f.n != below.n)) {
        asc_fail(ctx, ASC_ERR_ARG, "flow_stability: u is (%lld, %lld, %lld) and v (%lld, %lld, %lld), expected one "
                 "shape", (long long)f.N, (long long)f.G, (long long)f.n, (long long)below.N, (long long)below.G,
                 (long long)below.n);
    }
    double *to = asc_data_mut(shared);
    for (int64_t t = 0; to && !asc_error(ctx) && t < f.N; t++) {
        double sum = 0, groups = 0;
        for (int64_t g = 0; g < f.G; g++) {
            double cosine = dot(at(&f, t, g), at(&below, t, g), f.n);
            bool both = is_there(&f, t, g) && is_there(&below, t, g);
            sum += both ? cosine * cosine : 0;
            groups += both;
        }
        to[t] = groups > 0 ? sum / groups : NAN;
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, shared);
}

/* ---- all tokens at once ---- */

/* The mean of group g to mean [n]; returns how many tokens it is of. */
static int64_t mean_of(const flow *f, int64_t g, double *mean)
{
    int64_t tokens = 0;
    memset(mean, 0, (size_t)f->n * sizeof *mean);
    for (int64_t t = 0; t < f->N; t++) {
        tokens += is_there(f, t, g);
        for (int64_t i = 0; i < f->n; i++) {
            mean[i] += at(f, t, g)[i];
        }
    }
    for (int64_t i = 0; i < f->n && tokens > 0; i++) {
        mean[i] /= (double)tokens;
    }
    return tokens;
}

asc_tensor asc_flow_mean(asc_ctx *ctx, asc_tensor u)
{
    if (!ctx) {
        return asc_null();
    }
    asc_tensor mean = asc_zeros(ctx, ASC_F64, ASC_SHAPE(asc_size(u, 1), asc_size(u, 2)));
    asc_scope_begin(ctx);
    flow f = open_flow(ctx, u, "flow_mean");
    double *to = asc_data_mut(mean);
    for (int64_t g = 0; f.u && to && g < f.G; g++) {
        mean_of(&f, g, to + g * f.n);
    }
    asc_scope_end(ctx);
    return asc_unless_failed(ctx, mean);
}

/* How the tokens of a group differ from their mean, d [N, n], 0 of those that are not there; and where they are few,
 * and fewer than the coordinates, their products gram [N, N], as D Dᵀ has the leading direction of Dᵀ D. */
typedef struct deviations {
    int64_t N, n;
    double *d, *gram; /* gram NULL: not needed */
    double squares, most; /* the sum of all squares; the length of the longest */
} deviations;

static void deviate(const flow *f, int64_t g, double *mean, deviations *s)
{
    mean_of(f, g, mean);
    s->squares = s->most = 0;
    for (int64_t t = 0; t < s->N; t++) {
        double *d = s->d + t * s->n;
        bool there = is_there(f, t, g);
        for (int64_t i = 0; i < s->n; i++) {
            d[i] = there ? at(f, t, g)[i] - mean[i] : 0;
        }
        double square = dot(d, d, s->n);
        s->squares += square;
        s->most = fmax(s->most, sqrt(square));
    }
    for (int64_t t = 0; s->gram && t < s->N; t++) {
        for (int64_t other = 0; other <= t; other++) {
            double product = dot(s->d + t * s->n, s->d + other * s->n, s->n);
            s->gram[t * s->N + other] = s->gram[other * s->N + t] = product;
        }
    }
}

/* x = Dᵀ a */
static void combine(const deviations *s, const double *a, double *x)
{
    memset(x, 0, (size_t)s->n * sizeof *x);
    for (int64_t t = 0; t < s->N; t++) {
        for (int64_t i = 0; i < s->n && a[t] != 0; i++) {
            x[i] += a[t] * s->d[t * s->n + i];
        }
    }
}

/* a = D x */
static void project(const deviations *s, const double *x, double *a)
{
    for (int64_t t = 0; t < s->N; t++) {
        a[t] = dot(s->d + t * s->n, x, s->n);
    }
}

/* x to length 1, its largest entry positive; returns the length that it had. */
static double make_unit(double *x, int64_t n)
{
    double length = sqrt(dot(x, x, n)), most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fabs(x[i]) > fabs(most) ? x[i] : most;
    }
    for (int64_t i = 0; i < n && length > 0; i++) {
        x[i] /= most < 0 ? -length : length;
    }
    return length;
}

/* The leading direction of the deviations to x [n], by the power method; a, b: room for N. It begins in no direction of
 * the tokens', one of which may be at right angles to it. Returns its share of the variance. */
static double lead(const deviations *s, double *x, double *a, double *b)
{
    double value = 0, moved = 1;
    memset(x, 0, (size_t)s->n * sizeof *x);
    if (s->most <= 1e-12) { /* rounding, of directions that are one */
        return 0;
    }
    for (int64_t i = 0; i < s->n; i++) {
        x[i] = asc_random_uniform(0, 0, (uint64_t)i) - .5;
    }
    project(s, x, a);
    make_unit(a, s->N);
    for (int turn = 0; turn < TURNS && moved > settled; turn++) {
        if (s->gram) {
            for (int64_t t = 0; t < s->N; t++) {
                b[t] = dot(s->gram + t * s->N, a, s->N);
            }
        } else {
            combine(s, a, x);
            project(s, x, b);
        }
        value = make_unit(b, s->N);
        moved = 0;
        for (int64_t t = 0; t < s->N; t++) {
            moved += (b[t] - a[t]) * (b[t] - a[t]);
            a[t] = b[t];
        }
        moved = sqrt(moved);
    }
    combine(s, a, x);
    make_unit(x, s->n);
    return value / s->squares;
}

asc_tensor asc_flow_leading(asc_ctx *ctx, asc_tensor u, asc_tensor *share)
{
    if (share) {
        *share = asc_null();
    }
    if (ASC_NEED(ctx, "flow_leading: share", share)) {
        return asc_null();
    }
    asc_tensor leading = asc_zeros(ctx, ASC_F64, ASC_SHAPE(asc_size(u, 1), asc_size(u, 2)));
    *share = asc_zeros(ctx, ASC_F64, ASC_SHAPE(asc_size(u, 1)));
    asc_scope_begin(ctx);
    flow f = open_flow(ctx, u, "flow_leading");
    double *to = asc_data_mut(leading), *part = asc_data_mut(*share);
    bool few = f.N <= f.n && f.N <= GRAM;
    deviations s = {.N = f.N, .n = f.n, .d = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(f.N, f.n))),
                    .gram = few ? asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(f.N, f.N))) : NULL};
    double *mean = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(f.n)));
    double *room = asc_data_mut(asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, f.N)));
    for (int64_t g = 0; f.u && to && part && !asc_error(ctx) && g < f.G; g++) {
        deviate(&f, g, mean, &s);
        part[g] = lead(&s, to + g * f.n, room, room + f.N);
    }
    asc_scope_end(ctx);
    *share = asc_unless_failed(ctx, *share);
    return asc_unless_failed(ctx, leading);
}
