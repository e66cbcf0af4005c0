/* nn/ascender_neighbors.c: who the neighbours N(i) are: of the candidates, the k with the largest
 * scores, those within a radius, both or either, or places that the caller gives. The choice carries no gradient. */
#include "nn/ascender_composed.h"

#include <stdlib.h>

#include "tensor/ctx.h"

typedef struct choice {
    const asc_ascender_options *o;
    int64_t B, H, N, M;
    asc_array candidates;  /* u8 (1 or B, 1 or H, N, M), contiguous */
    asc_array index;       /* i64 (1 or B, 1 or H, N, m), contiguous: places by score, or given ones */
    bool given;
} choice;

static int64_t k_of(const asc_ascender_options *o, int64_t h)
{
    return o->k_of ? o->k_of[h] : o->k;
}

static int64_t largest_k(const asc_ascender_options *o)
{
    int64_t k = k_of(o, 0);
    for (int64_t h = 1; h < o->heads; h++) {
        k = k_of(o, h) > k ? k_of(o, h) : k;
    }
    return k;
}

/* The row (b, h, i) of an array whose first two dimensions may be 1. */
static int64_t row_of(const asc_array *a, int64_t b, int64_t h, int64_t i)
{
    b = a->shape[0] == 1 ? 0 : b;
    h = a->shape[1] == 1 ? 0 : h;
    return ((b * a->shape[1] + h) * a->shape[2] + i) * a->shape[3];
}

/* Marks the listed places of one row that are candidates. */
static void mark_listed(const choice *c, int64_t b, int64_t h, int64_t i, uint8_t *row)
{
    const int64_t *list = (const int64_t *)c->index.data + row_of(&c->index, b, h, i);
    const uint8_t *may = (const uint8_t *)c->candidates.data + row_of(&c->candidates, b, h, i);
    int64_t n = c->given || k_of(c->o, h) > c->index.shape[3] ? c->index.shape[3] : k_of(c->o, h);
    for (int64_t m = 0; m < n; m++) {
        if (list[m] >= 0 && list[m] < c->M && may[list[m]]) {
            row[list[m]] = 1;
        }
    }
}

/* Joins the marks of one row with the window of the same position, as the options say. */
static void join_window(const choice *c, int64_t b, int64_t h, int64_t i, uint8_t *row)
{
    const uint8_t *may = (const uint8_t *)c->candidates.data + row_of(&c->candidates, b, h, i);
    int64_t position = i + c->M - c->N;
    for (int64_t j = 0; j < c->M; j++) {
        bool near = may[j] && llabs(position - j) <= c->o->radius;
        row[j] = c->o->neighbors == ASC_NEIGHBORS_HYBRID_INTERSECTION ? row[j] && near : row[j] || near;
    }
}

static void mark_all(const choice *c, uint8_t *mask)
{
    bool windowed = !c->given && c->o->neighbors >= ASC_NEIGHBORS_WINDOW;
    for (int64_t b = 0; b < c->B; b++) {
        for (int64_t h = 0; h < c->H; h++) {
            for (int64_t i = 0; i < c->N; i++, mask += c->M) {
                if (c->index.ndim == 4) {
                    mark_listed(c, b, h, i, mask);
                }
                if (windowed) {
                    join_window(c, b, h, i, mask);
                }
            }
        }
    }
}

asc_tensor asc_neighbor_mask(asc_ctx *ctx, asc_tensor scores, asc_tensor candidates, asc_tensor given,
                             const asc_ascender_options *o)
{
    bool recording = asc_set_recording(ctx, false);
    asc_dtype dtype = asc_dtype_of(scores);
    asc_tensor index = asc_is_null(given) ? asc_null() : asc_contiguous(ctx, given);
    if (asc_is_null(given) && o->neighbors != ASC_NEIGHBORS_WINDOW) {
        int64_t k = largest_k(o), M = asc_size(scores, 3);
        asc_topk(ctx, scores, candidates, k < M || M < 1 ? k : M, &index); /* more keys there are not */
    }
    choice c = {.o = o, .B = asc_size(scores, 0), .H = o->heads, .N = asc_size(scores, 2), .M = asc_size(scores, 3),
                .candidates = asc_array_of(candidates), .index = asc_array_of(index), .given = !asc_is_null(given)};
    asc_tensor mask = asc_zeros(ctx, ASC_U8, 4, asc_shape(scores));
    uint8_t *marks = asc_data_mut(mask);
    if (marks && asc_error(ctx) == ASC_OK) {
        mark_all(&c, marks);
    }
    asc_tensor near = asc_where(ctx, mask, asc_scalar(ctx, dtype, 1), asc_scalar(ctx, dtype, 0));
    asc_set_recording(ctx, recording);
    return near;
}
