/*
 * kernels/pair_tiles.h: products, distances and projections of vectors in pairs, columns as lanes; included by
 * kernels_impl.c. ascender_table.h says what each function does.
 *
 * Distances are sums of squared differences, not ‖x‖² + ‖y‖² - 2x·y, which cancels for close points far from the
 * origin; so are their gradients. Every element has a sum of its own, over k in rising order, with no multiply-add:
 * it does not depend on the tile that it falls in, nor on the instruction set.
 */

/* A register. A tile is TILE_R rows of TILE_V registers: as many sums as there are registers for. */
#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif
#define TILE_R 4
#define TILE_V 2

typedef REAL F(vec) __attribute__((vector_size(VEC_BYTES)));
#define VEC ((int64_t)(VEC_BYTES / sizeof(REAL)))

enum F(pair_kind) { F(DOTS), F(DISTANCES), F(PROJECTIONS) };

/* What a product works on; `n` columns. */
typedef struct F(pair_job) {
    REAL *P;
    int64_t ld_p;
    REAL scale;
    const REAL *A, *G;
    int64_t ld_a;
    const REAL *B;
    int64_t ld_b, rows, n, k;
} F(pair_job);

/* `rows` × `width` results from (i, j) on. kind, rows and, but at the right edge, width are constants where it is
 * called. */
static ALWAYS_INLINE void F(pair_tile)(enum F(pair_kind) kind, const F(pair_job) *job, int64_t i, int64_t j, int rows,
                                       int64_t width)
{
    const REAL *A = job->A + i * job->ld_a, *G = job->G + i * job->ld_a, *B = job->B + j;
    F(vec) acc[TILE_R][TILE_V] = {{{0}}};
    for (int64_t m = 0; m < job->k; m++) {
        F(vec) b[TILE_V];
        for (int v = 0; v < TILE_V; v++) {
            memcpy(&b[v], B + m * job->ld_b + v * VEC, sizeof b[v]);
        }
        for (int r = 0; r < rows; r++) {
            REAL a = A[r * job->ld_a + m], g = kind == F(PROJECTIONS) ? G[r * job->ld_a + m] : 0;
            for (int v = 0; v < TILE_V; v++) {
                acc[r][v] += kind == F(DOTS)        ? a * b[v]
                             : kind == F(DISTANCES) ? (b[v] - a) * (b[v] - a)
                                                    : g * (b[v] - a);
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        REAL *to = job->P + (i + r) * job->ld_p + j;
        F(vec) old[TILE_V] = {{0}};
        if (kind == F(PROJECTIONS)) {
            memcpy(old, to, (size_t)width * sizeof *to);
        }
        for (int v = 0; v < TILE_V; v++) {
            old[v] = kind == F(DOTS) ? job->scale * acc[r][v] : old[v] + acc[r][v];
        }
        memcpy(to, old, (size_t)width * sizeof *to);
    }
}

/* The columns of B that a tile needs stay in the first cache for all rows. */
static ALWAYS_INLINE void F(pair_tiles)(enum F(pair_kind) kind, const F(pair_job) *job)
{
    const int64_t width = TILE_V * VEC;
    int64_t whole = job->n / width * width, fours = job->rows / TILE_R * TILE_R;
    for (int64_t j = 0; j < whole; j += width) {
        for (int64_t i = 0; i < fours; i += TILE_R) {
            F(pair_tile)(kind, job, i, j, TILE_R, width);
        }
        for (int64_t i = fours; i < job->rows; i++) {
            F(pair_tile)(kind, job, i, j, 1, width);
        }
    }
    for (int64_t i = 0; whole < job->n && i < job->rows; i++) {
        F(pair_tile)(kind, job, i, whole, 1, job->n - whole);
    }
}

static void F(pair_dots)(REAL *P, int64_t ld_p, REAL scale, const REAL *A, int64_t ld_a, const REAL *B, int64_t ld_b,
                         int64_t rows, int64_t n, int64_t k)
{
    F(pair_tiles)(F(DOTS), &(F(pair_job)){P, ld_p, scale, A, A, ld_a, B, ld_b, rows, n, k});
}

static void F(pair_distances)(REAL *P, int64_t ld_p, const REAL *A, int64_t ld_a, const REAL *B, int64_t ld_b,
                              int64_t rows, int64_t n, int64_t k)
{
    F(pair_tiles)(F(DISTANCES), &(F(pair_job)){P, ld_p, 1, A, A, ld_a, B, ld_b, rows, n, k});
}

static void F(pair_projections)(REAL *P, int64_t ld_p, const REAL *A, const REAL *G, int64_t ld_a, const REAL *B,
                                int64_t ld_b, int64_t rows, int64_t n, int64_t k)
{
    F(pair_tiles)(F(PROJECTIONS), &(F(pair_job)){P, ld_p, 1, A, G, ld_a, B, ld_b, rows, n, k});
}

/* ---- the gradient of distances ---- */

/* Sums over a row's columns go in the lanes of 64 bytes, whatever a register holds. */
#define PARTS (64 / VEC_BYTES)

/* 64 bytes, of which only `width` elements are there. Register by register: a copy of several goes by way of memory. */
static ALWAYS_INLINE void F(load)(F(vec) to[PARTS], const REAL *from, int64_t width)
{
    for (int v = 0; v < PARTS; v++) {
        int64_t here = width - v * VEC;
        if (here >= VEC) {
            memcpy(&to[v], from + v * VEC, sizeof to[v]);
        } else {
            to[v] = (F(vec)){0};
            memcpy(&to[v], from + v * VEC, here > 0 ? (size_t)here * sizeof *from : 0);
        }
    }
}

static ALWAYS_INLINE void F(store)(REAL *to, const F(vec) from[PARTS], int64_t width)
{
    for (int v = 0; v < PARTS; v++) {
        int64_t here = width - v * VEC;
        if (here >= VEC) {
            memcpy(to + v * VEC, &from[v], sizeof from[v]);
        } else {
            memcpy(to + v * VEC, &from[v], here > 0 ? (size_t)here * sizeof *to : 0);
        }
    }
}

/* Dimension m of `rows` points against `width` ones, at most the lanes: their differences, weighted. */
static ALWAYS_INLINE void F(pull)(const REAL *G, int64_t ld_g, const REAL *A, int64_t ld_a, const REAL *B, REAL *dB,
                                  int rows, int64_t width, F(vec) sum[TILE_R][PARTS])
{
    F(vec) b[PARTS], db[PARTS], total[PARTS] = {{0}};
    F(load)(b, B, width); /* what stands behind may be NaN */
    F(load)(db, dB, width);
    for (int r = 0; r < rows; r++) {
        REAL a = A[r * ld_a];
        F(vec) g[PARTS];
        F(load)(g, G + r * ld_g, width);
        for (int v = 0; v < PARTS; v++) {
            F(vec) pulled = g[v] * (b[v] - a);
            sum[r][v] += pulled;
            total[v] += pulled;
        }
    }
    for (int v = 0; v < PARTS; v++) {
        db[v] += total[v] + total[v];
    }
    F(store)(dB, db, width);
}

/* The sum of the lanes, in a tree. */
static ALWAYS_INLINE REAL F(lane_sum)(const F(vec) x[PARTS])
{
    REAL lane[16] = {0}, a[8], b[4]; /* doubles fill half of them */
    for (int v = 0; v < PARTS; v++) {
        memcpy(lane + v * VEC, &x[v], sizeof x[v]);
    }
    for (int l = 0; l < 8; l++) {
        a[l] = lane[l] + lane[l + 8];
    }
    for (int l = 0; l < 4; l++) {
        b[l] = a[l] + a[l + 4];
    }
    return (b[0] + b[2]) + (b[1] + b[3]);
}

static ALWAYS_INLINE void F(pull_rows)(const REAL *G, int64_t ld_g, const REAL *A, REAL *dA, int64_t ld_a,
                                       const REAL *B, REAL *dB, int rows, int64_t n)
{
    const int64_t width = (int64_t)(64 / sizeof(REAL));
    F(vec) sum[TILE_R][PARTS] = {{{0}}};
    int64_t j = 0;
    for (; j + width <= n; j += width) {
        F(pull)(G + j, ld_g, A, ld_a, B + j, dB + j, rows, width, sum);
    }
    if (j < n) {
        F(pull)(G + j, ld_g, A, ld_a, B + j, dB + j, rows, n - j, sum);
    }
    for (int r = 0; r < rows; r++) {
        dA[r * ld_a] -= 2 * F(lane_sum)(sum[r]);
    }
}

static void F(pair_distances_grad)(const REAL *G, int64_t ld_g, const REAL *A, REAL *dA, int64_t ld_a, const REAL *B,
                                   REAL *dB, int64_t ld_b, int64_t rows, int64_t n, int64_t k)
{
    int64_t fours = rows / TILE_R * TILE_R;
    for (int64_t i = 0; i < rows; i += i < fours ? TILE_R : 1) {
        for (int64_t m = 0; m < k; m++) {
            const REAL *g = G + i * ld_g, *a = A + i * ld_a + m, *b = B + m * ld_b;
            REAL *da = dA + i * ld_a + m, *db = dB + m * ld_b;
            if (i < fours) {
                F(pull_rows)(g, ld_g, a, da, ld_a, b, db, TILE_R, n);
            } else {
                F(pull_rows)(g, ld_g, a, da, ld_a, b, db, 1, n);
            }
        }
    }
}

#undef PARTS
#undef TILE_R
#undef TILE_V
