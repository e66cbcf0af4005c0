/*
 * kernels/ascender_rows.h: the rows of ASCender attention: the largest entries, row normalisation, weights, scores
 * and their gradients; included by kernels_impl.c. list.h says what each function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

enum { RANKED_f32 = 64 };

typedef integer_f32 mask_f32 __attribute__((vector_size(VEC_BYTES))); /* of comparisons: -1 where they hold */

/* A NaN is chosen as -∞ is: with ties by place, the order is total whatever the values. */
static inline float orderly_f32(float x)
{
    return x == x ? x : -(float)INFINITY;
}

/* How many of count values, none a NaN, come before each: the larger, and of equals those at lower places. */
static void count_before_f32(mask_f32 *before, const float *value, int64_t count)
{
    mask_f32 place;
    for (int l = 0; l < VEC_f32; l++) {
        place[l] = l;
    }
    for (int64_t own = 0; own < count; own += VEC_f32) {
        int64_t behind = own + VEC_f32 < count ? own + VEC_f32 : count;
        mask_f32 n = {0};
        vec_f32 x;
        memcpy(&x, value + own, sizeof x);
        for (int64_t j = 0; j < own; j++) {
            n -= value[j] >= x;
        }
        for (int64_t j = own; j < behind; j++) {
            n -= (value[j] > x) | ((value[j] == x) & (place > (int)(j - own)));
        }
        for (int64_t j = behind; j < count; j++) {
            n -= value[j] > x;
        }
        before[own / VEC_f32] = n;
    }
}

/* The places of count <= RANKED values, none a NaN, in their order. A value's place in it is the number of those before
 * it, counted without a branch. value: room for whole vectors. */
static void rank_f32(float *value, int64_t count, integer_f32 order[RANKED_f32])
{
    mask_f32 before[RANKED_f32 * sizeof(float) / VEC_BYTES];
    integer_f32 rank[RANKED_f32];
    for (int64_t l = count; l % VEC_f32; l++) {
        value[l] = -(float)INFINITY;
    }
    count_before_f32(before, value, count);
    memcpy(rank, before, (size_t)count * sizeof *rank);
    for (int64_t l = 0; l < count; l++) {
        order[rank[l]] = (integer_f32)l;
    }
}

/* Of n <= RANKED values. */
static int64_t top_of_few_f32(const float *x, int64_t n, int64_t skip, int64_t k, float *best, int64_t *index)
{
    float value[RANKED_f32];
    integer_f32 order[RANKED_f32];
    int64_t gap = skip >= 0 && skip < n ? skip : n, count = n - (gap < n);
    memcpy(value, x, (size_t)gap * sizeof *x);
    memcpy(value + gap, x + gap + 1, (size_t)(count - gap) * sizeof *x);
    for (int64_t l = 0; l < count; l++) {
        value[l] = orderly_f32(value[l]);
    }
    rank_f32(value, count, order);
    int64_t found = k < count ? k : count;
    for (int64_t e = 0; e < found; e++) {
        index[e] = (int64_t)order[e] + (order[e] >= gap);
        best[e] = value[order[e]];
    }
    return found;
}

static bool any_above_f32(const float *x, float floor)
{
    int above = 0;
    for (int l = 0; l < LANES; l++) {
        above |= x[l] > floor;
    }
    return above;
}

/* The best so far, then what may still enter, in the order of their places: k of them are the best. */
typedef struct contest_f32 {
    float value[RANKED_f32];
    int64_t index[RANKED_f32], count;
} contest_f32;

static void decide_f32(contest_f32 *c, int64_t k)
{
    contest_f32 all = *c;
    integer_f32 order[RANKED_f32];
    rank_f32(all.value, all.count, order);
    c->count = k;
    for (int64_t e = 0; e < k; e++) {
        c->value[e] = all.value[order[e]];
        c->index[e] = all.index[order[e]];
    }
}

/* k <= RANKED - LANES, n >= RANKED. Nothing enters that is not above the last of the best: LANES entries at a
 * time are compared with it, and most of them left at that; the others go in without a branch. */
static int64_t top_by_rank_f32(const float *x, int64_t n, int64_t skip, int64_t k, float *best, int64_t *index)
{
    contest_f32 c;
    c.count = top_of_few_f32(x, RANKED_f32, skip, k, c.value, c.index);
    float floor = c.value[k - 1];
    for (int64_t first = RANKED_f32; first < n; first += LANES) {
        int64_t end = n - first < LANES ? n : first + LANES;
        if (end - first == LANES && !any_above_f32(x + first, floor)) {
            continue;
        }
        if (c.count + LANES > RANKED_f32) {
            decide_f32(&c, k);
            floor = c.value[k - 1];
        }
        for (int64_t j = first; j < end; j++) {
            c.value[c.count] = x[j];
            c.index[c.count] = j;
            c.count += (x[j] > floor) & (j != skip);
        }
    }
    decide_f32(&c, k);
    memcpy(best, c.value, (size_t)k * sizeof *best);
    memcpy(index, c.index, (size_t)k * sizeof *index);
    return k;
}

/* The first ones by their ranks, then a sorted list. */
static int64_t top_k_f32(const float *x, int64_t n, int64_t skip, int64_t k, float *best, int64_t *index)
{
    if (k > 0 && k <= RANKED_f32 - LANES && n > RANKED_f32) {
        return top_by_rank_f32(x, n, skip, k, best, index);
    }
    int64_t first = n < RANKED_f32 ? n : RANKED_f32, found = top_of_few_f32(x, first, skip, k, best, index);
    for (int64_t j = first; k > 0 && j < n; j++) {
        float value = orderly_f32(x[j]);
        if (j == skip || (found == k && !(value > best[k - 1]))) {
            continue;
        }
        int64_t at = found < k ? found++ : k - 1;
        for (; at > 0 && best[at - 1] < value; at--) {
            best[at] = best[at - 1];
            index[at] = index[at - 1];
        }
        best[at] = value;
        index[at] = j;
    }
    return found;
}

static void sum_listed_f32(float *y, const float *rows, int64_t ld, const int64_t *list, int64_t n, int64_t d)
{
    int64_t i = 0;
    for (; i + LANES <= d; i += LANES) {
        vec_f32 sum[LANES * sizeof(float) / VEC_BYTES] = {{0}};
        for (int64_t e = 0; e < n; e++) {
            const float *row = rows + list[e] * ld + i;
            for (int v = 0; v < LANES / VEC_f32; v++) {
                vec_f32 part;
                memcpy(&part, row + v * VEC_f32, sizeof part);
                sum[v] += part;
            }
        }
        memcpy(y + i, sum, sizeof sum);
    }
    for (; i < d; i++) {
        float sum = 0;
        for (int64_t e = 0; e < n; e++) {
            sum += rows[list[e] * ld + i];
        }
        y[i] = sum;
    }
}

static void add_listed_f32(float *rows, int64_t ld, const int64_t *list, int64_t n, const float *x, int64_t d)
{
    for (int64_t e = 0; e < n; e++) {
        acc_f32(rows + list[e] * ld, x, d);
    }
}

static float max_abs_f32(const float *x, int64_t n)
{
    float lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            float a = x[i + k] < 0 ? -x[i + k] : x[i + k];
            lane[k] = larger_f32(a, lane[k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] = larger_f32(x[i] < 0 ? -x[i] : x[i], lane[k]);
    }
    return join_f32(lane, larger_f32);
}

static float centred_dot_f32(const float *x, float c, const float *y, int64_t n)
{
    return reduce_f32(x, y, x, c, n, term_centred_product_f32);
}

static void centred_scale_f32(float *y, const float *x, float c, float scale, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = (x[i] - c) * scale;
    }
}

static void divide_f32(float *y, const float *x, float c, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / c;
    }
}

static void centred_grad_f32(float *x, const float *y, float slope, float spread, float mean, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        x[i] = slope * y[i] + spread * (x[i] - mean);
    }
}

static void pair_weights_f32(float *sep, float *coh, float *phi, const float *d2, const float *a, int64_t n,
                             const asc_pair_weights *w)
{
    const float by_sep = (float)-w->sep, by_coh = (float)-w->coh, delta = (float)w->delta;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float square = d2[i], weight = exp1_f32(square * by_sep), beyond = a[i] - delta;
        coh[i] = exp1_f32(square * by_coh);
        sep[i] = weight;
        phi[i] = weight * (beyond <= 0 ? 0 : beyond); /* a NaN stays one */
    }
}

static void add_biases_f32(float *S, const float *x0, const float *x1, const float *x2, const asc_centred *bias,
                           float scale, int64_t n)
{
    const float c0 = (float)bias[0].coef, c1 = (float)bias[1].coef, c2 = (float)bias[2].coef;
    const float m0 = (float)bias[0].mean, m1 = (float)bias[1].mean, m2 = (float)bias[2].mean;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        S[i] = (((S[i] + c0 * (x0[i] - m0)) + c1 * (x1[i] - m1)) + c2 * (x2[i] - m2)) * scale;
    }
}

static void separation_grad_f32(float *a, float *G, const float *dS, const float *A, const float *phi, const float *sep,
                                int64_t n, const asc_separation_grad *s)
{
    const float slope = (float)s->slope, spread = (float)s->spread, mean = (float)s->mean, by = (float)s->sep;
    const float attention = (float)s->attention, delta = (float)s->delta, density = (float)s->density;
    const float left = (float)s->left;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float dphi = slope * dS[i] + (spread * (phi[i] - mean) - left) + attention * A[i], beyond = a[i] - delta;
        float w = sep[i], dw = dphi * (beyond <= 0 ? 0 : beyond) + density;
        a[i] = beyond <= 0 ? 0 : dphi * w;
        G[i] = dw * w * by;
    }
}

/* ---- end of float ---- */
#include "kernels/ascender_rows.f64.h"
