/* ops/grassmann/plucker_wedge.c: p̂ = p/max(‖p‖, ε, ε_rel ‖u‖‖v‖), the normalised Plücker coordinates of two vectors,
 * p_ij = u_i v_j − u_j v_i for i < j in row-major order. "Attention Is Not What You Need", arXiv 2512.19428.
 *
 * With M the antisymmetric matrix of p̂'s cotangent g, M_ij = g_ij for i < j, F the denominator, and u⊥ the part of
 * u that is orthogonal to v:
 *   F = ‖p‖:            du = (I − û⊥û⊥ᵀ) M v/F
 *   F = ε:              du = M v/F
 *   F = ε_rel ‖u‖‖v‖:   du = M v/F − (p̂·g) u/‖u‖²
 * and dv by p̂(u, v) = −p̂(v, u): the same with u and v exchanged, and −g.
 *
 * All of it is computed in double, on vectors scaled by powers of 2: the products of two floats are exact there, so
 * that the wedge of nearly parallel ones keeps its digits (relative error 1e-16/sin of their angle). Swapping u and
 * v changes the sign to the bit, and u∧u is 0: nothing is ever fused. */
#include "ops/shared/op.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { A, B };
enum { NORM }; /* ‖p‖ of the scaled vectors, f64 */

typedef struct wedge_attrs {
    double eps, eps_rel;
    int32_t n_offsets;
    int32_t offset[ASC_WEDGE_OFFSETS];
} wedge_attrs;

/* A call as rows of m pairs each. With two tensors m = 1, and a pair is a[row], b[row]; in sequences of N it is
 * a[row] and the vector offset[l] rows before it, if the sequence has begun by then. */
typedef struct wedge {
    const asc_call *call;
    const wedge_attrs *attrs;
    bool two;
    int64_t rows, N, m, r, R;
    int64_t per_piece;
    double *spare; /* [workers, SPARE r + R] */
} wedge;

enum { SPARE = 5 };

/* A vector as 2^exponent · v, the largest entry of v in [½, 1). */
typedef struct scaled {
    double *v;
    int exponent;
    double square; /* ‖v‖² */
} scaled;

static wedge wedge_of(const asc_call *call)
{
    const asc_array *a = &call->in[A];
    const wedge_attrs *attrs = call->attrs;
    int last = a->ndim - 1;
    wedge w = {.call = call, .attrs = attrs, .two = call->in[B].ndim >= 0, .rows = asc_leading(a, last), .m = 1,
               .r = a->shape[last]};
    w.R = w.r * (w.r - 1) / 2;
    if (!w.two) {
        w.N = a->shape[last - 1];
        w.m = attrs->n_offsets;
    }
    w.per_piece = w.m * w.R < ASC_PIECE ? ASC_PIECE / (w.m * w.R + 1) + 1 : 1;
    return w;
}

/* The second of pair l of a row; -1: there is none. */
static int64_t second_of(const wedge *w, int64_t row, int64_t l)
{
    if (w->two) {
        return row;
    }
    return row % w->N >= w->attrs->offset[l] ? row - w->attrs->offset[l] : -1;
}

/* ε and ε_rel ‖u‖‖v‖ of scaled vectors. */
typedef struct floors {
    double absolute, relative;
} floors;

static floors floors_of(const wedge *w, const scaled *u, const scaled *v)
{
    return (floors){ldexp(w->attrs->eps, -(u->exponent + v->exponent)),
                    w->attrs->eps_rel * sqrt(u->square) * sqrt(v->square)};
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* y += a x */
static void add_multiple(double *y, double a, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* p = u∧v, u_i v_j − u_j v_i row by row; returns ‖p‖. */
static double make_wedge(double *p, const double *u, const double *v, int64_t r)
{
    const asc_kernel_table_f64 *k = asc_kernels_f64();
    double *row = p;
    for (int64_t i = 0; i < r; i++) {
        int64_t n = r - 1 - i;
        k->scale(row, u[i], v + i + 1, n);
        k->axpy(row, -v[i], u + i + 1, n);
        row += n;
    }
    return sqrt(k->sumsq(p, row - p));
}

/* across = the part of u orthogonal to v; a second turn takes off what rounding has left of v. */
static void reject(double *across, const scaled *u, const scaled *v, int64_t r)
{
    memcpy(across, u->v, (size_t)r * sizeof *across);
    for (int turn = 0; turn < 2 && v->square > 0; turn++) {
        add_multiple(across, -dot(across, v->v, r) / v->square, v->v, r);
    }
}

/* Mv of a pair becomes the gradient of scaled u; norm: ‖p‖. */
static void normalise_grad(const wedge *w, double *Mv, const scaled *u, const scaled *v, double norm, double *across)
{
    floors f = floors_of(w, u, v);
    double floor = fmax(f.absolute, f.relative), F = norm > floor ? norm : floor;
    double inverse = F > 0 ? 1 / F : 0, shrink = 0;
    const double *along = u->v;
    if (norm > floor) {
        reject(across, u, v, w->r);
        double square = dot(across, across, w->r);
        along = across;
        shrink = square > 0 ? dot(across, Mv, w->r) / square : 0;
    } else if (f.relative > f.absolute) {
        shrink = dot(u->v, Mv, w->r) / u->square;
    }
    for (int64_t i = 0; i < w->r; i++) {
        Mv[i] = (Mv[i] - shrink * along[i]) * inverse;
    }
    if (norm > floor && w->R == 1) { /* the one coordinate is 1 or -1 */
        Mv[0] = Mv[1] = 0;
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

static scaled load_f32(double *to, const float *x, int64_t r)
{
    enum { FARTHEST = 1000 }; /* so that 2^exponent is a normal number */
    scaled s = {.v = to};
    double most = 0;
    for (int64_t i = 0; i < r; i++) {
        most = fmax(most, fabs((double)x[i]));
    }
    if (most > 0 && most < INFINITY) {
        frexp(most, &s.exponent);
        s.exponent = s.exponent < -FARTHEST ? -FARTHEST : s.exponent > FARTHEST ? FARTHEST : s.exponent;
    }
    double factor = ldexp(1, -s.exponent);
    for (int64_t i = 0; i < r; i++) {
        to[i] = (double)x[i] * factor;
    }
    s.square = dot(to, to, r);
    return s;
}

static scaled load_input_f32(const wedge *w, int input, int64_t row, double *to)
{
    return load_f32(to, (const float *)w->call->in[input].data + row * w->r, w->r);
}

static void forward_row_f32(const wedge *w, int64_t row, double *spare)
{
    double *p = spare + SPARE * w->r;
    scaled u = load_input_f32(w, A, row, spare);
    for (int64_t l = 0; l < w->m; l++) {
        int64_t pair = row * w->m + l, second = second_of(w, row, l);
        float *y = (float *)w->call->out[0].data + pair * w->R;
        double *norm = (double *)w->call->saved[NORM].data + pair;
        if (second < 0) {
            *norm = 0;
            memset(y, 0, (size_t)w->R * sizeof *y);
            continue;
        }
        scaled v = load_input_f32(w, w->two ? B : A, second, spare + w->r);
        floors f = floors_of(w, &u, &v);
        *norm = make_wedge(p, u.v, v.v, w->r);
        double F = fmax(fmax(*norm, f.absolute), f.relative), inverse = F > 0 ? 1 / F : 0;
        for (int64_t i = 0; i < w->R; i++) {
            y[i] = (float)(p[i] * inverse);
        }
    }
}

/* Mv = the antisymmetric matrix of g's upper triangle times v. */
static void multiply_f32(double *Mv, const float *g, const double *v, int64_t r)
{
    memset(Mv, 0, (size_t)r * sizeof *Mv);
    for (int64_t i = 0; i < r; i++) {
        double even = 0, odd = 0;
        int64_t j = i + 1;
        for (; j + 2 <= r; j += 2, g += 2) {
            double g0 = (double)g[0], g1 = (double)g[1];
            even += g0 * v[j];
            odd += g1 * v[j + 1];
            Mv[j] -= g0 * v[i];
            Mv[j + 1] -= g1 * v[i];
        }
        if (j < r) {
            double g0 = (double)*g++;
            even += g0 * v[j];
            Mv[j] -= g0 * v[i];
        }
        Mv[i] += even + odd;
    }
}

/* sum += the gradient of u from one pair, of which u is the first with sign 1, the second with -1. */
static void add_pair_f32(const wedge *w, double *sum, const scaled *u, const scaled *v, int64_t pair, double sign,
                         double *spare)
{
    double *Mv = spare, *across = spare + w->r;
    multiply_f32(Mv, (const float *)w->call->grad_out[0].data + pair * w->R, v->v, w->r);
    normalise_grad(w, Mv, u, v, ((const double *)w->call->saved[NORM].data)[pair], across);
    add_multiple(sum, sign, Mv, w->r);
}

/* The gradient of one row of an input: of the pairs that it is the first of, then of those that it is the second of. */
static void backward_row_f32(const wedge *w, int input, int64_t row, double *spare)
{
    double *sum = spare, *v_at = spare + 2 * w->r, *rest = spare + 3 * w->r;
    scaled u = load_input_f32(w, input, row, spare + w->r), v;
    memset(sum, 0, (size_t)w->r * sizeof *sum);
    if (w->two) {
        v = load_input_f32(w, input == A ? B : A, row, v_at);
        add_pair_f32(w, sum, &u, &v, row, input == A ? 1 : -1, rest);
    }
    for (int64_t l = 0; l < w->m && !w->two; l++) {
        int64_t offset = w->attrs->offset[l], t = row % w->N;
        if (t >= offset) {
            v = load_input_f32(w, A, row - offset, v_at);
            add_pair_f32(w, sum, &u, &v, row * w->m + l, 1, rest);
        }
        if (t + offset < w->N) {
            v = load_input_f32(w, A, row + offset, v_at);
            add_pair_f32(w, sum, &u, &v, (row + offset) * w->m + l, -1, rest);
        }
    }
    float *du = (float *)w->call->grad_in[input].data + row * w->r;
    double factor = ldexp(1, -u.exponent);
    for (int64_t i = 0; i < w->r; i++) {
        float g = (float)(sum[i] * factor);
        du[i] = w->call->fresh[input] ? g : du[i] + g;
    }
}

static void forward_piece_f32(void *arg, int64_t piece, int worker)
{
    const wedge *w = arg;
    int64_t end = (piece + 1) * w->per_piece;
    for (int64_t row = piece * w->per_piece; row < end && row < w->rows; row++) {
        forward_row_f32(w, row, w->spare + worker * (SPARE * w->r + w->R));
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const wedge *w = arg;
    int64_t end = (piece + 1) * w->per_piece;
    for (int64_t row = piece * w->per_piece; row < end && row < w->rows; row++) {
        for (int input = A; input <= B; input++) {
            if (w->call->grad_in[input].data) {
                backward_row_f32(w, input, row, w->spare + worker * (SPARE * w->r + w->R));
            }
        }
    }
}

/* ---- end of float ---- */
#include "ops/grassmann/plucker_wedge.f64.h"

static asc_status expect_attrs(asc_call *call)
{
    const wedge_attrs *a = call->attrs;
    if (!(a->eps > 0) || !(a->eps_rel >= 0)) {
        return asc_call_fail(call, "eps is %g, eps_rel %g, expected above 0 and at least 0", a->eps, a->eps_rel);
    }
    if (call->in[A].dtype == ASC_F32 && a->eps < (double)FLT_MIN) {
        return asc_call_fail(call, "eps is %g, expected %g or more in float32", a->eps, (double)FLT_MIN);
    }
    if (call->in[B].ndim >= 0) {
        return ASC_OK;
    }
    if (a->n_offsets < 1 || a->n_offsets > ASC_WEDGE_OFFSETS) {
        return asc_call_fail(call, "%d offsets, expected 1 to %d", a->n_offsets, ASC_WEDGE_OFFSETS);
    }
    for (int l = 0; l < a->n_offsets; l++) {
        if (a->offset[l] < 1) {
            return asc_call_fail(call, "offset %d is %d, expected at least 1", l, a->offset[l]);
        }
    }
    return ASC_OK;
}

static asc_status infer(asc_call *call)
{
    const asc_array *a = &call->in[A], *b = &call->in[B];
    bool two = b->ndim >= 0;
    if (asc_expect_floating(call, A) || (two && asc_expect_floating(call, B))) {
        return ASC_ERR_ARG;
    }
    if (a->ndim < 1) {
        return asc_call_expect(call, A, "(..., r)");
    }
    if (!two && a->ndim != 3) {
        return asc_call_expect(call, A, "(B, N, r)");
    }
    if ((two && asc_expect_shape(call, B, a->dtype, a->ndim, a->shape, "the shape of a")) || expect_attrs(call)) {
        return ASC_ERR_ARG;
    }
    wedge w = wedge_of(call);
    int64_t shape[ASC_MAX_DIMS];
    int ndim = a->ndim - 1;
    memcpy(shape, a->shape, sizeof shape);
    if (!two) {
        shape[ndim++] = w.m;
    }
    shape[ndim] = w.R;
    asc_status status = asc_call_save(call, NORM, ASC_F64, ndim, shape);
    return status ? status : asc_call_output(call, 0, a->dtype, ndim + 1, shape);
}

static asc_status run(asc_call *call, asc_piece_fn *piece)
{
    wedge w = wedge_of(call);
    w.spare = asc_call_scratch(call, (size_t)(asc_threads(call->ctx) * (SPARE * w.r + w.R)) * sizeof(double));
    if (!w.spare) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, (w.rows + w.per_piece - 1) / w.per_piece, piece, &w);
    return ASC_OK;
}

static asc_status forward(asc_call *call)
{
    return run(call, BY_DTYPE(call->in[A].dtype, forward_piece));
}

static asc_status backward(asc_call *call)
{
    return run(call, BY_DTYPE(call->in[A].dtype, backward_piece));
}

static double flops(const asc_call *call)
{
    wedge w = wedge_of(call);
    return 6.0 * (double)(w.rows * w.m) * (double)w.R;
}

static const wedge_attrs usual = {.eps = 1e-8}, above = {.eps = 1e3}, wide = {.eps = 1e-8, .eps_rel = 4},
                         past = {1e-8, 0, 3, {1, 2, 2}}, past_wide = {1e-8, 0.4, 2, {3, 1}};

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 3, 5}}, {'f', 3, {2, 3, 5}}}, .attrs = &usual, .note = "two tensors"},
    {.in = {{'f', 2, {3, 4}}, {'f', 2, {3, 4}}}, .attrs = &above, .note = "below the floor ε: linear in p"},
    {.in = {{'f', 2, {3, 4}}, {'f', 2, {3, 4}}}, .attrs = &wide, .note = "below the floor ε_rel"},
    {.in = {{'u', 2, {3, 5}, .lo = 5, .hi = 6}, {'u', 2, {3, 5}, .lo = 5, .hi = 6}}, .attrs = &usual,
     .note = "nearly parallel"},
    {.in = {{'f', 3, {2, 5, 4}}}, .attrs = &past, .note = "a sequence, one offset twice"},
    {.in = {{'f', 3, {1, 6, 3}}}, .attrs = &past_wide, .note = "a sequence, some pairs below the floor"},
    {.in = {{'f', 3, {2, 2, 3}}}, .attrs = &past_wide, .note = "offsets beyond the sequence"},
    {.in = {{'f', 2, {3, 2}}, {'f', 2, {3, 2}}}, .attrs = &above, .note = "one coordinate"},
    {.in = {{'f', 2, {3, 4}}, {'=', .lo = 0}}, .attrs = &usual, .note = "a vector and itself"},
    {.in = {{'f', 2, {3, 1}}, {'f', 2, {3, 1}}}, .attrs = &usual, .note = "r = 1: no coordinates"},
    {.in = {{'f', 3, {2, 0, 3}}}, .attrs = &past, .note = "length 0"},
};

const asc_op asc_op_plucker_wedge = {
    .abi = ASC_OP_ABI,
    .name = "plucker_wedge",
    .equation = "p̂ = p/max(‖p‖, ε, ε_rel ‖a‖‖b‖), p_ij = a_i b_j − a_j b_i, i < j; b absent: a at earlier times  "
                "(arXiv 2512.19428)",
    .inputs = "a b?",
    .n_out = 1,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(wedge_attrs),
    .saves_in = 1u << A | 1u << B,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 3, {32, 128, 32}}},
                                 .attrs = &(const wedge_attrs){1e-8, 0, 6, {1, 2, 4, 8, 12, 16}}},
};

asc_tensor asc_plucker_wedge(asc_ctx *ctx, asc_tensor a, asc_tensor b, double eps, double eps_rel)
{
    if (asc_is_null(b)) { /* would stand for a sequence */
        asc_fail(ctx, ASC_ERR_ARG, "plucker_wedge: b is null");
        return asc_null();
    }
    wedge_attrs attrs = {.eps = eps, .eps_rel = eps_rel};
    return asc_apply1(ctx, &asc_op_plucker_wedge, (asc_tensor[]){a, b}, 2, &attrs);
}

asc_tensor asc_plucker_wedge_past(asc_ctx *ctx, asc_tensor z, int n_offsets, const int *offsets, double eps,
                                  double eps_rel)
{
    if (ASC_NEED(ctx, "plucker_wedge_past: offsets", asc_unless_empty(offsets, n_offsets))) {
        return asc_null();
    }
    wedge_attrs a = {.eps = eps, .eps_rel = eps_rel, .n_offsets = n_offsets};
    for (int l = 0; l < n_offsets && l < ASC_WEDGE_OFFSETS; l++) {
        a.offset[l] = offsets[l];
    }
    return asc_apply1(ctx, &asc_op_plucker_wedge, (asc_tensor[]){z, asc_null()}, 2, &a);
}
