/*
 * kernels/pair_tiles.h: products, distances and projections of vectors in pairs, columns as lanes; included by
 * kernels_impl.c. list.h says what each function does.
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
#define PARTS  (64 / VEC_BYTES)

/* ---- float, and f64.awk makes the same for double ---- */

typedef float vec_f32 __attribute__((vector_size(VEC_BYTES)));
#define VEC_f32 ((int64_t)(VEC_BYTES / sizeof(float)))

enum pair_kind_f32 { DOTS_f32, DISTANCES_f32, PROJECTIONS_f32 };

/* What a product works on; `n` columns. */
typedef struct pair_job_f32 {
    float *P;
    int64_t ld_p;
    float scale;
    const float *A, *G;
    int64_t ld_a;
    const float *B;
    int64_t ld_b, rows, n, k;
} pair_job_f32;

/* `rows` × `width` results from (i, j) on. kind, rows and, but at the right edge, width are constants where it is
 * called. */
static ALWAYS_INLINE void pair_tile_f32(enum pair_kind_f32 kind, const pair_job_f32 *job, int64_t i, int64_t j,
                                        int rows, int64_t width)
{
    const float *A = job->A + i * job->ld_a, *G = job->G + i * job->ld_a, *B = job->B + j;
    vec_f32 acc[TILE_R][TILE_V] = {{{0}}};
    for (int64_t m = 0; m < job->k; m++) {
        vec_f32 b[TILE_V];
        for (int v = 0; v < TILE_V; v++) {
            memcpy(&b[v], B + m * job->ld_b + v * VEC_f32, sizeof b[v]);
        }
        for (int r = 0; r < rows; r++) {
            float a = A[r * job->ld_a + m], g = kind == PROJECTIONS_f32 ? G[r * job->ld_a + m] : 0;
            for (int v = 0; v < TILE_V; v++) {
                acc[r][v] += kind == DOTS_f32        ? a * b[v]
                             : kind == DISTANCES_f32 ? (b[v] - a) * (b[v] - a)
                                                     : g * (b[v] - a);
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        float *to = job->P + (i + r) * job->ld_p + j;
        vec_f32 old[TILE_V] = {{0}};
        if (kind == PROJECTIONS_f32) {
            memcpy(old, to, (size_t)width * sizeof *to);
        }
        for (int v = 0; v < TILE_V; v++) {
            old[v] = kind == DOTS_f32 ? job->scale * acc[r][v] : old[v] + acc[r][v];
        }
        memcpy(to, old, (size_t)width * sizeof *to);
    }
}

/* The columns of B that a tile needs stay in the first cache for all rows. */
static ALWAYS_INLINE void pair_tiles_f32(enum pair_kind_f32 kind, const pair_job_f32 *job)
{
    const int64_t width = TILE_V * VEC_f32;
    int64_t whole = job->n / width * width, fours = job->rows / TILE_R * TILE_R;
    for (int64_t j = 0; j < whole; j += width) {
        for (int64_t i = 0; i < fours; i += TILE_R) {
            pair_tile_f32(kind, job, i, j, TILE_R, width);
        }
        for (int64_t i = fours; i < job->rows; i++) {
            pair_tile_f32(kind, job, i, j, 1, width);
        }
    }
    for (int64_t i = 0; whole < job->n && i < job->rows; i++) {
        pair_tile_f32(kind, job, i, whole, 1, job->n - whole);
    }
}

static void pair_dots_f32(float *P, int64_t ld_p, float scale, const float *A, int64_t ld_a, const float *B,
                          int64_t ld_b, int64_t rows, int64_t n, int64_t k)
{
    pair_tiles_f32(DOTS_f32, &(pair_job_f32){P, ld_p, scale, A, A, ld_a, B, ld_b, rows, n, k});
}

static void pair_distances_f32(float *P, int64_t ld_p, const float *A, int64_t ld_a, const float *B, int64_t ld_b,
                               int64_t rows, int64_t n, int64_t k)
{
    pair_tiles_f32(DISTANCES_f32, &(pair_job_f32){P, ld_p, 1, A, A, ld_a, B, ld_b, rows, n, k});
}

static void pair_projections_f32(float *P, int64_t ld_p, const float *A, const float *G, int64_t ld_a, const float *B,
                                 int64_t ld_b, int64_t rows, int64_t n, int64_t k)
{
    pair_tiles_f32(PROJECTIONS_f32, &(pair_job_f32){P, ld_p, 1, A, G, ld_a, B, ld_b, rows, n, k});
}

/* ---- the gradient of distances ---- */

/* Sums over a row's columns go in the lanes of 64 bytes, whatever a register holds. */

/* 64 bytes, of which only `width` elements are there. Register by register: a copy of several goes by way of memory. */
static ALWAYS_INLINE void load_f32(vec_f32 to[PARTS], const float *from, int64_t width)
{
    for (int v = 0; v < PARTS; v++) {
        int64_t here = width - v * VEC_f32;
        if (here >= VEC_f32) {
            memcpy(&to[v], from + v * VEC_f32, sizeof to[v]);
        } else {
            to[v] = (vec_f32){0};
            memcpy(&to[v], from + v * VEC_f32, here > 0 ? (size_t)here * sizeof *from : 0);
        }
    }
}

static ALWAYS_INLINE void store_f32(float *to, const vec_f32 from[PARTS], int64_t width)
{
    for (int v = 0; v < PARTS; v++) {
        int64_t here = width - v * VEC_f32;
        if (here >= VEC_f32) {
            memcpy(to + v * VEC_f32, &from[v], sizeof from[v]);
        } else {
            memcpy(to + v * VEC_f32, &from[v], here > 0 ? (size_t)here * sizeof *to : 0);
        }
    }
}

/* Dimension m of `rows` points against `width` ones, at most the lanes: their differences, weighted. */
static ALWAYS_INLINE void pull_f32(const float *G, int64_t ld_g, const float *A, int64_t ld_a, const float *B,
                                   float *dB, int rows, int64_t width, vec_f32 sum[TILE_R][PARTS])
{
    vec_f32 b[PARTS], db[PARTS], total[PARTS] = {{0}};
    load_f32(b, B, width); /* what stands behind may be NaN */
    load_f32(db, dB, width);
    for (int r = 0; r < rows; r++) {
        float a = A[r * ld_a];
        vec_f32 g[PARTS];
        load_f32(g, G + r * ld_g, width);
        for (int v = 0; v < PARTS; v++) {
            vec_f32 pulled = g[v] * (b[v] - a);
            sum[r][v] += pulled;
            total[v] += pulled;
        }
    }
    for (int v = 0; v < PARTS; v++) {
        db[v] += total[v] + total[v];
    }
    store_f32(dB, db, width);
}

/* The sum of the lanes, in a tree. */
static ALWAYS_INLINE float lane_sum_f32(const vec_f32 x[PARTS])
{
    float lane[16] = {0}, a[8], b[4]; /* doubles fill half of them */
    for (int v = 0; v < PARTS; v++) {
        memcpy(lane + v * VEC_f32, &x[v], sizeof x[v]);
    }
    for (int l = 0; l < 8; l++) {
        a[l] = lane[l] + lane[l + 8];
    }
    for (int l = 0; l < 4; l++) {
        b[l] = a[l] + a[l + 4];
    }
    return (b[0] + b[2]) + (b[1] + b[3]);
}

static ALWAYS_INLINE void pull_rows_f32(const float *G, int64_t ld_g, const float *A, float *dA, int64_t ld_a,
                                        const float *B, float *dB, int rows, int64_t n)
{
    const int64_t width = (int64_t)(64 / sizeof(float));
    vec_f32 sum[TILE_R][PARTS] = {{{0}}};
    int64_t j = 0;
    for (; j + width <= n; j += width) {
        pull_f32(G + j, ld_g, A, ld_a, B + j, dB + j, rows, width, sum);
    }
    if (j < n) {
        pull_f32(G + j, ld_g, A, ld_a, B + j, dB + j, rows, n - j, sum);
    }
    for (int r = 0; r < rows; r++) {
        dA[r * ld_a] -= 2 * lane_sum_f32(sum[r]);
    }
}

static void pair_distances_grad_f32(const float *G, int64_t ld_g, const float *A, float *dA, int64_t ld_a,
                                    const float *B, float *dB, int64_t ld_b, int64_t rows, int64_t n, int64_t k)
{
    int64_t fours = rows / TILE_R * TILE_R;
    for (int64_t i = 0; i < rows; i += i < fours ? TILE_R : 1) {
        for (int64_t m = 0; m < k; m++) {
            const float *g = G + i * ld_g, *a = A + i * ld_a + m, *b = B + m * ld_b;
            float *da = dA + i * ld_a + m, *db = dB + m * ld_b;
            if (i < fours) {
                pull_rows_f32(g, ld_g, a, da, ld_a, b, db, TILE_R, n);
            } else {
                pull_rows_f32(g, ld_g, a, da, ld_a, b, db, 1, n);
            }
        }
    }
}

/* ---- end of float ---- */
#include "kernels/pair_tiles.f64.h"
