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
#include "ops/shared/op.h"

#include <math.h>
#include <string.h>

enum { X, Y };
enum {
    TILE = 128,   /* points of a tile of D, each way */
    FEWEST = 8,   /* dimensions for which a matrix product pays */
    LANES = 8,    /* partial sums of a distance; */
    SIDE = 8,     /* of the tiles of a transposition */
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

/* ---- float, and f64.awk makes the same for double ---- */

static float join_f32(const float *lane)
{
    float sum = 0;
    for (int l = 0; l < LANES; l++) {
        sum += lane[l];
    }
    return sum;
}

/* Copies n <= full elements; a full run at the speed of a copy of known size. */
static inline void copy_run_f32(float *to, const float *from, int64_t n, int64_t full)
{
    if (n == full) {
        memcpy(to, from, (size_t)full * sizeof *to);
    } else {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

/* ‖a − b‖². */
static float distance_f32(const float *a, const float *b, int64_t d)
{
    float lane[LANES] = {0};
    int64_t m = 0;
    for (; m + LANES <= d; m += LANES) {
        for (int l = 0; l < LANES; l++) {
            float off = a[m + l] - b[m + l];
            lane[l] += off * off;
        }
    }
    for (int l = 0; m < d; m++, l++) {
        lane[l] += (a[m] - b[m]) * (a[m] - b[m]);
    }
    return join_f32(lane);
}

/* shifted[n, d] = p − c, and the square of the length of each. */
static void shift_f32(float *shifted, float *square, const float *p, const float *c, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++, p += d, shifted += d) {
        for (int64_t m = 0; m < d; m++) {
            shifted[m] = p[m] - c[m];
        }
        square[i] = asc_kernels_f32()->dot(shifted, shifted, d);
    }
}

/* to[n, m] (+)= from[m, n] transposed, m and n up to SIDE. */
static inline void transpose_tile_f32(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t m,
                                       int64_t n, bool add)
{
    float tile[SIDE][SIDE];
    for (int64_t r = 0; r < m; r++) {
        for (int64_t c = 0; c < n; c++) {
            tile[c][r] = from[r * from_row + c];
        }
    }
    for (int64_t c = 0; c < n; c++, to += to_row) {
        for (int64_t r = 0; r < m; r++) {
            to[r] = add ? to[r] + tile[c][r] : tile[c][r];
        }
    }
}

/* to[cols, rows] (+)= from[rows, cols] transposed, tile by tile, so that a cache line is read and written once. */
static void transpose_f32(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t cols,
                          bool add)
{
    for (int64_t i = 0; i < rows; i += SIDE) {
        for (int64_t j = 0; j < cols; j += SIDE) {
            int64_t m = rows - i < SIDE ? rows - i : SIDE, n = cols - j < SIDE ? cols - j : SIDE;
            float *at = to + j * to_row + i;
            if (m == SIDE && n == SIDE) { /* sizes that the compiler knows */
                transpose_tile_f32(at, to_row, from + i * from_row + j, from_row, SIDE, SIDE, add);
            } else {
                transpose_tile_f32(at, to_row, from + i * from_row + j, from_row, m, n, add);
            }
        }
    }
}

/* ---- distances ---- */

/* A tile of D: `rows` points x with `cols` points y, from D[0] on; M elements from row to row. */
typedef struct tile_f32 {
    const float *x, *y;
    int64_t rows, cols, d, M;
    float *D;
} tile_f32;

static void from_differences_f32(const tile_f32 *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        for (int64_t j = 0; j < t->cols; j++) {
            t->D[i * t->M + j] = distance_f32(t->x + i * t->d, t->y + j * t->d, t->d);
        }
    }
}

/* Row i of a tile, of which D holds −2 (x_i − c)·(y_j − c): adds what the distance is left of, and computes again
 * where too little is left, or where the sum overflows. In runs on the stack, which compilers vectorise. */
static void finish_row_f32(const tile_f32 *t, int64_t i, float x_square, const float *y_square)
{
    enum { RUN = 16 };
    float *D = t->D + i * t->M, run[RUN] = {0}, sum[RUN] = {0};
    for (int64_t j = 0; j < t->cols; j += RUN) {
        int64_t n = t->cols - j < RUN ? t->cols - j : RUN;
        int good = 0;
        copy_run_f32(run, D + j, n, RUN);
        copy_run_f32(sum, y_square + j, n, RUN);
        for (int l = 0; l < RUN; l++) {
            sum[l] += x_square;
            run[l] += sum[l];
            good += run[l] * KEEP_D >= sum[l];
        }
        for (int64_t l = 0; l < n && good < RUN; l++) {
            if (!(run[l] * KEEP_D >= sum[l])) {
                run[l] = distance_f32(t->x + i * t->d, t->y + (j + l) * t->d, t->d);
            }
        }
        copy_run_f32(D + j, run, n, RUN);
    }
}

static void from_product_f32(const tile_f32 *t, float *spare)
{
    float *x = spare, *y = x + TILE * t->d, *x_square = y + TILE * t->d, *y_square = x_square + TILE;
    shift_f32(x, x_square, t->x, t->x, t->rows, t->d);
    shift_f32(y, y_square, t->y, t->x, t->cols, t->d);
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .tb = true,
                             .m = t->rows,
                             .n = t->cols,
                             .k = t->d,
                             .alpha = -2,
                             .a = x,
                             .lda = t->d,
                             .b = y,
                             .ldb = t->d,
                             .c = t->D,
                             .ldc = t->M});
    for (int64_t i = 0; i < t->rows; i++) {
        finish_row_f32(t, i, x_square[i], y_square);
    }
}

/* Copies what stands above the diagonal of one set's D to below it: the whole tile, or half of one on the diagonal. */
static void mirror_f32(const tile_f32 *t, float *below, bool diagonal)
{
    if (!diagonal) {
        transpose_f32(below, t->M, t->D, t->M, t->rows, t->cols, false);
        return;
    }
    for (int64_t i = 0; i < t->rows; i += SIDE) {
        int64_t end = i + SIDE < t->rows ? i + SIDE : t->rows;
        for (int64_t r = i; r < end; r++) {
            for (int64_t c = r + 1; c < end; c++) {
                t->D[c * t->M + r] = t->D[r * t->M + c];
            }
        }
        transpose_f32(t->D + end * t->M + i, t->M, t->D + i * t->M + end, t->M, end - i, t->cols - end, false);
    }
}

/* The tile (I, J) of a piece; for one set those with J >= I, row by row. */
static void distances_f32(void *arg, int64_t piece, int worker)
{
    const sqdist *s = arg;
    int64_t b = piece / s->pieces, I = 0, J = piece % s->pieces, row = s->y_tiles;
    for (; J >= row; I++) {
        J -= row;
        row -= s->one_set;
    }
    J += s->one_set ? I : 0;
    int64_t i = I * TILE, j = J * TILE;
    const float *x = (const float *)s->call->in[X].data + b * s->N * s->d;
    const float *y = s->one_set ? x : (const float *)s->call->in[Y].data + b * s->M * s->d;
    float *D = (float *)s->call->out[0].data + b * s->N * s->M;
    tile_f32 t = {.x = x + i * s->d,
                  .y = y + j * s->d,
                  .rows = tile_size(i, s->N),
                  .cols = tile_size(j, s->M),
                  .d = s->d,
                  .M = s->M,
                  .D = D + i * s->M + j};
    if (s->d < FEWEST) {
        from_differences_f32(&t);
    } else {
        from_product_f32(&t, (float *)s->spare + worker * (int64_t)s->spare_size);
    }
    if (s->one_set) {
        mirror_f32(&t, D + j * s->M + i, I == J);
    }
}

/* ---- gradients ---- */

/* A row of weights h between points u and v, and what they add up to. */
typedef struct weights_f32 {
    float sum, size, reach; /* Σ h, Σ |h|, Σ |h| ‖v − c‖² */
} weights_f32;

static weights_f32 weigh_f32(const float *h, const float *v_square, int64_t n)
{
    float sum[LANES] = {0}, size[LANES] = {0}, reach[LANES] = {0};
    for (int64_t j = 0; j < n; j += LANES) {
        float w[LANES] = {0}, square[LANES] = {0};
        int64_t left = n - j < LANES ? n - j : LANES;
        copy_run_f32(w, h + j, left, LANES);
        copy_run_f32(square, v_square + j, left, LANES);
        for (int l = 0; l < LANES; l++) {
            float a = w[l] < 0 ? -w[l] : w[l];
            sum[l] += w[l];
            size[l] += a;
            reach[l] += a * square[l];
        }
    }
    return (weights_f32){join_f32(sum), join_f32(size), join_f32(reach)};
}

/* h[rows, cols] = G between points i … and j …, its values as they lie or transposed; for one set the sum of both. */
static void load_weights_f32(const side *a, int64_t b, int64_t i, int64_t j, float *h)
{
    const float *G = (const float *)a->s.call->grad_out[0].data + b * a->s.N * a->s.M;
    int64_t rows = tile_size(i, a->n_to), cols = tile_size(j, a->n_from), M = a->s.M;
    for (int64_t r = 0; r < rows && a->to == X; r++) {
        memcpy(h + r * cols, G + (i + r) * M + j, (size_t)cols * sizeof *h);
    }
    if (a->from == X) {
        transpose_f32(h, cols, G + j * M + i, M, cols, rows, a->to == X);
    }
    for (int64_t r = 0; r < rows && a->s.one_set && i == j; r++) {
        h[r * cols + r] = 0; /* a point's distance to itself; often the largest weight */
    }
}

/* du += 2 Σ_j h_j (u − v_j); a weight of 0 counts for nothing, whatever v_j is. */
static void add_differences_f32(float *du, const float *h, const float *u, const float *v, int64_t n, int64_t d)
{
    for (int64_t j = 0; j < n; j++, v += d) {
        float twice = 2 * h[j];
        for (int64_t m = 0; m < d && twice != 0; m++) {
            du[m] += twice * (u[m] - v[m]);
        }
    }
}

/* du += what one tile of weights adds, from the product h (v − c), in `r`; row by row from differences where the
 * product and Σ h (u − c) leave too little of one another. */
static void add_product_f32(float *du, const float *h, const float *u, const float *v, int64_t rows, int64_t cols,
                            int64_t d, float *spare)
{
    float *su = spare, *sv = su + TILE * d, *r = sv + TILE * d, *u_square = r + TILE * d, *v_square = u_square + TILE;
    shift_f32(su, u_square, u, u, rows, d);
    shift_f32(sv, v_square, v, u, cols, d);
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .m = rows,
                             .n = d,
                             .k = cols,
                             .alpha = -1,
                             .a = h,
                             .lda = cols,
                             .b = sv,
                             .ldb = d,
                             .c = r,
                             .ldc = d});
    for (int64_t i = 0; i < rows; i++) {
        weights_f32 w = weigh_f32(h + i * cols, v_square, cols);
        asc_kernels_f32()->axpy(r + i * d, w.sum, su + i * d, d);
        /* (Σ |h| (‖u − c‖ + ‖v − c‖))² is at most this */
        double terms = 2 * (double)w.size * ((double)w.size * (double)u_square[i] + (double)w.reach);
        if (asc_kernels_f32()->sumsq(r + i * d, d) * (KEEP_DX * KEEP_DX) >= terms && terms < INFINITY) {
            asc_kernels_f32()->axpy(du + i * d, 2, r + i * d, d);
        } else {
            add_differences_f32(du + i * d, h + i * cols, u + i * d, v, cols, d);
        }
    }
}

/* The gradient of a tile of points: what each tile of the others adds, in order. */
static void gradients_f32(void *arg, int64_t piece, int worker)
{
    const side *a = arg;
    int64_t d = a->s.d, tiles = (a->n_to + TILE - 1) / TILE, b = piece / tiles, i = piece % tiles * TILE;
    const float *u = (const float *)a->s.call->in[a->to].data + (b * a->n_to + i) * d;
    const float *v = (const float *)a->s.call->in[a->from].data + b * a->n_from * d;
    float *du = (float *)a->s.call->grad_in[a->to].data + (b * a->n_to + i) * d;
    float *h = (float *)a->s.spare + worker * (int64_t)a->s.spare_size, *spare = h + TILE * TILE;
    int64_t rows = tile_size(i, a->n_to);
    for (int64_t j = 0; j < a->n_from; j += TILE) {
        int64_t cols = tile_size(j, a->n_from);
        load_weights_f32(a, b, i, j, h);
        if (d >= FEWEST) {
            add_product_f32(du, h, u, v + j * d, rows, cols, d, spare);
            continue;
        }
        for (int64_t r = 0; r < rows; r++) {
            add_differences_f32(du + r * d, h + r * cols, u + r * d, v + j * d, cols, d);
        }
    }
}

/* ---- end of float ---- */
#include "ops/products/pairwise_sqdist.f64.h"

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
    asc_parallel(call->ctx, s.batch * s.pieces, BY_DTYPE(call->in[X].dtype, distances), &s);
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
            asc_parallel(call->ctx, a.s.batch * ((a.n_to + TILE - 1) / TILE), BY_DTYPE(call->in[X].dtype, gradients),
                         &a);
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
