/* ops/products/pairwise_sqdist.c: D_ij = ‖x_i − y_j‖² for the points of two sets, or of one set with itself.
 *
 *   D_ij = ‖x_i − c‖² + ‖y_j − c‖² − 2 (x_i − c)·(y_j − c),
 *   dx_i = 2 Σ_j G_ij (x_i − y_j),  dy_j = 2 Σ_i G_ij (y_j − x_i)
 *
 * Both are matrix products, and both cancel where the points lie close together and far from c. So c is a point of the
 * set, the first one of each tile of rows, never a mean, which would let a causal model see the future; and what has
 * lost more digits than it may is computed again from differences: a distance below 1/16 of the sum that it is left
 * of, and a row's part of the gradient below 1/64 of the terms that it is left of. Relative errors stay within some
 * tens of units in the last place. For one set the tiles below the diagonal are copies of those above it: D is
 * symmetric to the bit, and 0 on the diagonal. Sets of few dimensions are computed from differences altogether. */
#ifndef ASC_REAL
#include "ops/shared/op.h"

#include <math.h>
#include <string.h>

enum { X, Y };
enum {
    TILE = 128,   /* points of a tile of D, each way */
    FEWEST = 8,   /* dimensions for which a matrix product pays */
    LANES = 8,    /* partial sums of a distance; */
    BLOCK = 8,    /* sides of the blocks of a transposition */
    KEEP_D = 16,  /* the cancellation that a distance may have suffered; */
    KEEP_DX = 64, /* and a gradient, of which a random G alone leaves 1/√TILE */
};

/* A call as `batch` pairs of sets x (N, d) and y (M, d), y = x for one set; tiles of each. */
typedef struct sqdist {
    const asc_call *call;
    int64_t batch, N, M, d;
    bool one_set;
    int64_t x_tiles, y_tiles, pieces; /* pieces: of a batch item */
    void *spare;                      /* of each worker */
    size_t spare_size;                /* elements for one of them */
} sqdist;

/* Which gradient is computed: of the points `to`, which G ties to the points `from`. G_to,from lies in G as it is, or
 * transposed. */
typedef struct side {
    sqdist s;
    int to, from;
    int64_t n_to, n_from;
} side;

static sqdist sqdist_of(const asc_call *call)
{
    const asc_array *x = &call->in[X], *y = &call->in[Y];
    bool one_set = y->ndim < 0;
    int last = x->ndim - 1;
    sqdist s = {.call = call, .one_set = one_set, .batch = asc_leading(x, last - 1), .N = x->shape[last - 1],
                .M = one_set ? x->shape[last - 1] : y->shape[last - 1], .d = x->shape[last]};
    s.x_tiles = (s.N + TILE - 1) / TILE;
    s.y_tiles = (s.M + TILE - 1) / TILE;
    s.pieces = one_set ? s.x_tiles * (s.x_tiles + 1) / 2 : s.x_tiles * s.y_tiles;
    return s;
}

static int64_t tile_size(int64_t first, int64_t n)
{
    return n - first < TILE ? n - first : TILE;
}

#define ASC_SELF "ops/products/pairwise_sqdist.c"
#include "ops/shared/both.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X], *y = &call->in[Y];
    if (asc_expect_floating(call, X) || (y->ndim >= 0 && asc_expect_floating(call, Y))) {
        return ASC_ERR_ARG;
    }
    if (x->ndim < 2) {
        return asc_call_expect(call, X, "(..., N, d)");
    }
    int last = x->ndim - 1;
    bool fits = y->ndim < 0 || y->ndim == x->ndim;
    for (int i = 0; fits && y->ndim >= 0 && i <= last; i++) {
        fits = i == last - 1 || y->shape[i] == x->shape[i];
    }
    if (!fits) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, Y, "(..., M, d) with the leading dimensions and d of x %s",
                               asc_shape_text(x, text));
    }
    int64_t shape[ASC_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    shape[last] = y->ndim < 0 ? x->shape[last - 1] : y->shape[last - 1];
    return asc_call_output(call, 0, x->dtype, x->ndim, shape);
}

/* Scratch of `size` elements for each worker. */
static asc_status make_spare(asc_call *call, sqdist *s, int64_t size)
{
    s->spare_size = (size_t)size;
    size_t bytes = s->spare_size * asc_dtype_size(call->in[X].dtype);
    s->spare = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * bytes);
    return s->spare ? ASC_OK : ASC_ERR_MEMORY;
}

static asc_status forward(asc_call *call)
{
    sqdist s = sqdist_of(call);
    if (make_spare(call, &s, 2 * TILE * (s.d + 1))) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, s.batch * s.pieces, call->in[X].dtype == ASC_F32 ? distances_f32 : distances_f64, &s);
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    side a = {.s = sqdist_of(call)};
    if (make_spare(call, &a.s, TILE * (3 * a.s.d + TILE + 2))) {
        return ASC_ERR_MEMORY;
    }
    for (a.to = X; a.to <= (a.s.one_set ? X : Y); a.to++) {
        a.from = a.s.one_set || a.to == Y ? X : Y;
        a.n_to = a.to == X ? a.s.N : a.s.M;
        a.n_from = a.from == X ? a.s.N : a.s.M;
        if (call->grad_in[a.to].data) {
            asc_parallel(call->ctx, a.s.batch * ((a.n_to + TILE - 1) / TILE),
                         call->in[X].dtype == ASC_F32 ? gradients_f32 : gradients_f64, &a);
        }
    }
    return ASC_OK;
}

static double flops(const asc_call *call)
{
    sqdist s = sqdist_of(call);
    return (s.one_set ? 1.0 : 2.0) * (double)s.batch * (double)s.N * (double)s.M * (double)s.d;
}

static const asc_sample samples[] = {
    {.in = {{'f', 3, {2, 5, 3}}, {'f', 3, {2, 4, 3}}}, .note = "two sets of few dimensions"},
    {.in = {{'f', 3, {2, 5, 9}}, {'f', 3, {2, 4, 9}}}, .note = "two sets"},
    {.in = {{'f', 3, {2, 5, 10}}}, .note = "one set"},
    {.in = {{'f', 2, {5, 2}}}, .note = "one set of few dimensions"},
    {.in = {{'u', 2, {6, 10}, .lo = 20, .hi = 21}}, .note = "close points far from the origin"},
    {.in = {{'f', 2, {4, 9}}, {'=', .lo = 0}}, .note = "a set and itself as two"},
    {.in = {{'f', 2, {131, 8}}, {'f', 2, {3, 8}}}, .note = "several tiles"},
    {.in = {{'f', 2, {1, 9}}}, .note = "one point"},
    {.in = {{'f', 2, {3, 0}}, {'f', 2, {2, 0}}}, .note = "no dimensions"},
    {.in = {{'f', 3, {2, 0, 3}}, {'f', 3, {2, 4, 3}}}, .note = "no points"},
};

const asc_op asc_op_pairwise_sqdist = {
    .abi = ASC_OP_ABI,
    .name = "pairwise_sqdist",
    .equation = "D_ij = ‖x_i − y_j‖²;  x (..., N, d), y (..., M, d), or absent for x itself",
    .inputs = "x y?",
    .n_out = 1,
    .saves_in = 1u << X | 1u << Y,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .flops = flops,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench = &(const asc_sample){.in = {{'f', 4, {32, 4, 128, 32}}}},
};

asc_tensor asc_pairwise_sqdist(asc_ctx *ctx, asc_tensor x, asc_tensor y)
{
    return asc_apply1(ctx, &asc_op_pairwise_sqdist, (asc_tensor[]){x, y}, 2, NULL);
}

#else /* for each dtype */

static real R(join)(const real *lane)
{
    real sum = 0;
    for (int l = 0; l < LANES; l++) {
        sum += lane[l];
    }
    return sum;
}

/* Copies n <= full elements; a full run at the speed of a copy of known size. */
static inline void R(copy_run)(real *to, const real *from, int64_t n, int64_t full)
{
    if (n == full) {
        memcpy(to, from, (size_t)full * sizeof *to);
    } else {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

/* ‖a − b‖². */
static real R(distance)(const real *a, const real *b, int64_t d)
{
    real lane[LANES] = {0};
    int64_t m = 0;
    for (; m + LANES <= d; m += LANES) {
        for (int l = 0; l < LANES; l++) {
            real off = a[m + l] - b[m + l];
            lane[l] += off * off;
        }
    }
    for (int l = 0; m < d; m++, l++) {
        lane[l] += (a[m] - b[m]) * (a[m] - b[m]);
    }
    return R(join)(lane);
}

/* shifted[n, d] = p − c, and the square of the length of each. */
static void R(shift)(real *shifted, real *square, const real *p, const real *c, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++, p += d, shifted += d) {
        for (int64_t m = 0; m < d; m++) {
            shifted[m] = p[m] - c[m];
        }
        square[i] = K->dot(shifted, shifted, d);
    }
}

/* to[n, m] (+)= from[m, n] transposed, m and n up to BLOCK. */
static inline void R(transpose_block)(real *to, int64_t to_row, const real *from, int64_t from_row, int64_t m,
                                      int64_t n, bool add)
{
    real block[BLOCK][BLOCK];
    for (int64_t r = 0; r < m; r++) {
        for (int64_t c = 0; c < n; c++) {
            block[c][r] = from[r * from_row + c];
        }
    }
    for (int64_t c = 0; c < n; c++, to += to_row) {
        for (int64_t r = 0; r < m; r++) {
            to[r] = add ? to[r] + block[c][r] : block[c][r];
        }
    }
}

/* to[cols, rows] (+)= from[rows, cols] transposed, block by block, so that a cache line is read and written once. */
static void R(transpose)(real *to, int64_t to_row, const real *from, int64_t from_row, int64_t rows, int64_t cols,
                         bool add)
{
    for (int64_t i = 0; i < rows; i += BLOCK) {
        for (int64_t j = 0; j < cols; j += BLOCK) {
            int64_t m = rows - i < BLOCK ? rows - i : BLOCK, n = cols - j < BLOCK ? cols - j : BLOCK;
            real *at = to + j * to_row + i;
            if (m == BLOCK && n == BLOCK) { /* sizes that the compiler knows */
                R(transpose_block)(at, to_row, from + i * from_row + j, from_row, BLOCK, BLOCK, add);
            } else {
                R(transpose_block)(at, to_row, from + i * from_row + j, from_row, m, n, add);
            }
        }
    }
}

/* ---- distances ---- */

/* A tile of D: `rows` points x with `cols` points y, from D[0] on; M elements from row to row. */
typedef struct R(tile) {
    const real *x, *y;
    int64_t rows, cols, d, M;
    real *D;
} R(tile);

static void R(from_differences)(const R(tile) *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        for (int64_t j = 0; j < t->cols; j++) {
            t->D[i * t->M + j] = R(distance)(t->x + i * t->d, t->y + j * t->d, t->d);
        }
    }
}

/* Row i of a tile, of which D holds −2 (x_i − c)·(y_j − c): adds what the distance is left of, and computes again
 * where too little is left, or where the sum overflows. In runs on the stack, which compilers vectorise. */
static void R(finish_row)(const R(tile) *t, int64_t i, real x_square, const real *y_square)
{
    enum { RUN = 16 };
    real *D = t->D + i * t->M, run[RUN] = {0}, sum[RUN] = {0};
    for (int64_t j = 0; j < t->cols; j += RUN) {
        int64_t n = t->cols - j < RUN ? t->cols - j : RUN;
        int good = 0;
        R(copy_run)(run, D + j, n, RUN);
        R(copy_run)(sum, y_square + j, n, RUN);
        for (int l = 0; l < RUN; l++) {
            sum[l] += x_square;
            run[l] += sum[l];
            good += run[l] * KEEP_D >= sum[l];
        }
        for (int64_t l = 0; l < n && good < RUN; l++) {
            if (!(run[l] * KEEP_D >= sum[l])) {
                run[l] = R(distance)(t->x + i * t->d, t->y + (j + l) * t->d, t->d);
            }
        }
        R(copy_run)(D + j, run, n, RUN);
    }
}

static void R(from_product)(const R(tile) *t, real *spare)
{
    real *x = spare, *y = x + TILE * t->d, *x_square = y + TILE * t->d, *y_square = x_square + TILE;
    R(shift)(x, x_square, t->x, t->x, t->rows, t->d);
    R(shift)(y, y_square, t->y, t->x, t->cols, t->d);
    asc_gemm_run(&(asc_gemm){.dtype = REAL_DTYPE, .tb = true, .m = t->rows, .n = t->cols, .k = t->d, .alpha = -2,
                             .a = x, .lda = t->d, .b = y, .ldb = t->d, .c = t->D, .ldc = t->M});
    for (int64_t i = 0; i < t->rows; i++) {
        R(finish_row)(t, i, x_square[i], y_square);
    }
}

/* Copies what stands above the diagonal of one set's D to below it: the whole tile, or half of one on the diagonal. */
static void R(mirror)(const R(tile) *t, real *below, bool diagonal)
{
    if (!diagonal) {
        R(transpose)(below, t->M, t->D, t->M, t->rows, t->cols, false);
        return;
    }
    for (int64_t i = 0; i < t->rows; i += BLOCK) {
        int64_t end = i + BLOCK < t->rows ? i + BLOCK : t->rows;
        for (int64_t r = i; r < end; r++) {
            for (int64_t c = r + 1; c < end; c++) {
                t->D[c * t->M + r] = t->D[r * t->M + c];
            }
        }
        R(transpose)(t->D + end * t->M + i, t->M, t->D + i * t->M + end, t->M, end - i, t->cols - end, false);
    }
}

/* The tile (I, J) of a piece; for one set those with J >= I, row by row. */
static void R(distances)(void *arg, int64_t piece, int worker)
{
    const sqdist *s = arg;
    int64_t b = piece / s->pieces, I = 0, J = piece % s->pieces, row = s->y_tiles;
    for (; J >= row; I++) {
        J -= row;
        row -= s->one_set;
    }
    J += s->one_set ? I : 0;
    int64_t i = I * TILE, j = J * TILE;
    const real *x = (const real *)s->call->in[X].data + b * s->N * s->d;
    const real *y = s->one_set ? x : (const real *)s->call->in[Y].data + b * s->M * s->d;
    real *D = (real *)s->call->out[0].data + b * s->N * s->M;
    R(tile) t = {.x = x + i * s->d, .y = y + j * s->d, .rows = tile_size(i, s->N), .cols = tile_size(j, s->M),
                 .d = s->d, .M = s->M, .D = D + i * s->M + j};
    if (s->d < FEWEST) {
        R(from_differences)(&t);
    } else {
        R(from_product)(&t, (real *)s->spare + worker * (int64_t)s->spare_size);
    }
    if (s->one_set) {
        R(mirror)(&t, D + j * s->M + i, I == J);
    }
}

/* ---- gradients ---- */

/* A row of weights h between points u and v, and what they add up to. */
typedef struct R(weights) {
    real sum, size, reach; /* Σ h, Σ |h|, Σ |h| ‖v − c‖² */
} R(weights);

static R(weights) R(weigh)(const real *h, const real *v_square, int64_t n)
{
    real sum[LANES] = {0}, size[LANES] = {0}, reach[LANES] = {0};
    for (int64_t j = 0; j < n; j += LANES) {
        real w[LANES] = {0}, square[LANES] = {0};
        int64_t left = n - j < LANES ? n - j : LANES;
        R(copy_run)(w, h + j, left, LANES);
        R(copy_run)(square, v_square + j, left, LANES);
        for (int l = 0; l < LANES; l++) {
            real a = w[l] < 0 ? -w[l] : w[l];
            sum[l] += w[l];
            size[l] += a;
            reach[l] += a * square[l];
        }
    }
    return (R(weights)){R(join)(sum), R(join)(size), R(join)(reach)};
}

/* h[rows, cols] = G between points i … and j …, its values as they lie or transposed; for one set the sum of both. */
static void R(load_weights)(const side *a, int64_t b, int64_t i, int64_t j, real *h)
{
    const real *G = (const real *)a->s.call->grad_out[0].data + b * a->s.N * a->s.M;
    int64_t rows = tile_size(i, a->n_to), cols = tile_size(j, a->n_from), M = a->s.M;
    for (int64_t r = 0; r < rows && a->to == X; r++) {
        memcpy(h + r * cols, G + (i + r) * M + j, (size_t)cols * sizeof *h);
    }
    if (a->from == X) {
        R(transpose)(h, cols, G + j * M + i, M, cols, rows, a->to == X);
    }
    for (int64_t r = 0; r < rows && a->s.one_set && i == j; r++) {
        h[r * cols + r] = 0; /* a point's distance to itself; often the largest weight */
    }
}

/* du += 2 Σ_j h_j (u − v_j); a weight of 0 counts for nothing, whatever v_j is. */
static void R(add_differences)(real *du, const real *h, const real *u, const real *v, int64_t n, int64_t d)
{
    for (int64_t j = 0; j < n; j++, v += d) {
        real twice = 2 * h[j];
        for (int64_t m = 0; m < d && twice != 0; m++) {
            du[m] += twice * (u[m] - v[m]);
        }
    }
}

/* du += what one tile of weights adds, from the product h (v − c), in `r`; row by row from differences where the
 * product and Σ h (u − c) leave too little of one another. */
static void R(add_product)(real *du, const real *h, const real *u, const real *v, int64_t rows, int64_t cols, int64_t d,
                           real *spare)
{
    real *su = spare, *sv = su + TILE * d, *r = sv + TILE * d, *u_square = r + TILE * d, *v_square = u_square + TILE;
    R(shift)(su, u_square, u, u, rows, d);
    R(shift)(sv, v_square, v, u, cols, d);
    asc_gemm_run(&(asc_gemm){.dtype = REAL_DTYPE, .m = rows, .n = d, .k = cols, .alpha = -1, .a = h, .lda = cols,
                             .b = sv, .ldb = d, .c = r, .ldc = d});
    for (int64_t i = 0; i < rows; i++) {
        R(weights) w = R(weigh)(h + i * cols, v_square, cols);
        K->axpy(r + i * d, w.sum, su + i * d, d);
        /* (Σ |h| (‖u − c‖ + ‖v − c‖))² is at most this */
        double terms = 2 * (double)w.size * ((double)w.size * (double)u_square[i] + (double)w.reach);
        if (K->sumsq(r + i * d, d) * (KEEP_DX * KEEP_DX) >= terms && terms < INFINITY) {
            K->axpy(du + i * d, 2, r + i * d, d);
        } else {
            R(add_differences)(du + i * d, h + i * cols, u + i * d, v, cols, d);
        }
    }
}

/* The gradient of a tile of points: what each tile of the others adds, in order. */
static void R(gradients)(void *arg, int64_t piece, int worker)
{
    const side *a = arg;
    int64_t d = a->s.d, tiles = (a->n_to + TILE - 1) / TILE, b = piece / tiles, i = piece % tiles * TILE;
    const real *u = (const real *)a->s.call->in[a->to].data + (b * a->n_to + i) * d;
    const real *v = (const real *)a->s.call->in[a->from].data + b * a->n_from * d;
    real *du = (real *)a->s.call->grad_in[a->to].data + (b * a->n_to + i) * d;
    real *h = (real *)a->s.spare + worker * (int64_t)a->s.spare_size, *spare = h + TILE * TILE;
    int64_t rows = tile_size(i, a->n_to);
    for (int64_t j = 0; j < a->n_from; j += TILE) {
        int64_t cols = tile_size(j, a->n_from);
        R(load_weights)(a, b, i, j, h);
        if (d >= FEWEST) {
            R(add_product)(du, h, u, v + j * d, rows, cols, d, spare);
            continue;
        }
        for (int64_t r = 0; r < rows; r++) {
            R(add_differences)(du + r * d, h + r * cols, u + r * d, v + j * d, cols, d);
        }
    }
}

#endif
