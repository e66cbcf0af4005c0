/* ops/index/topk.c: the k largest entries of each row that a mask allows, in descending order, and where they stand.
 *
 *   y_r = x[i_r],  i_0, …, i_{k-1} the allowed entries in the order of (x descending, i ascending);  dx[i_r] = dy_r
 *
 * The order is total: -0 and 0 are equal, a NaN is larger than all else, as PyTorch has it, and equal to other NaNs;
 * equal entries stand in the order of i. Where fewer than k are allowed, the rest has i = -1 and y = 0: finite, and
 * what topk_gather makes of -1.
 *
 * A few of a row are found by the row primitive top_k, if it has no NaN. Else entries are compared by integer keys of
 * that order. The k-th largest key is found by distributing keys to buckets and going on with the bucket that holds it:
 * each round divides the range of the keys by 32 at least. So the time is O(n + k log k) for any values. */
#include "ops/shared/mask.h"

#include <math.h>
#include <string.h>

enum { X, MASK };
enum { VALUES, INDEX };
enum { LANES = 256, FEWEST_LANES = 64, STEP = 16, BUCKETS = 64, RUN = 8 };
enum { FEW = 32 }; /* up to this k top_k takes time in proportion to n */

typedef struct topk_attrs {
    int64_t k;
} topk_attrs;

typedef int32_t key_f32;
typedef int64_t key_f64;
typedef uint32_t code_f32;
typedef uint64_t code_f64;

typedef struct entry_f32 {
    key_f32 key;
    int64_t index;
} entry_f32;

typedef struct entry_f64 {
    key_f64 key;
    int64_t index;
} entry_f64;

typedef struct topk_job {
    asc_call *call;
    asc_row_mask mask;
    int64_t rows, n, k, found; /* found: k, or n where that is less */
    void *keys;                /* [workers, 2, n], of the dtype's key */
    int64_t *candidates;       /* [workers, n] */
    void *chosen;              /* [workers, 2, found], of the dtype's entry */
} topk_job;

static topk_job job_of(asc_call *call)
{
    const asc_array *x = &call->in[X];
    int64_t n = x->shape[x->ndim - 1], k = ((const topk_attrs *)call->attrs)->k;
    return (topk_job){.call = call, .rows = asc_leading(x, x->ndim - 1), .n = n, .k = k, .found = k < n ? k : n};
}

/* ---- float, and f64.awk makes the same for double ---- */

#define NAN_KEY     ((key_f32)((code_f32)-1 >> 1)) /* the largest key; */
#define NOT_ALLOWED (-NAN_KEY - 1)               /* the least one: the keys of reals, -∞ too, are above it */

/* The bits of a float, read as an integer, are in order already where it is positive. */
static inline key_f32 key_of_f32(float x)
{
    key_f32 bits;
    x += 0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    bits ^= bits < 0 ? NAN_KEY : 0;
    return x == x ? bits : NAN_KEY;
}

static void make_keys_f32(key_f32 *key, const float *x, const uint8_t *mask, int64_t step, int64_t n)
{
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        for (int l = 0; l < STEP; l++) {
            key[i + l] = key_of_f32(x[i + l]);
        }
    }
    for (; i < n; i++) {
        key[i] = key_of_f32(x[i]);
    }
    for (i = 0; i < n && mask; i++) {
        key[i] = mask[i * step] ? key[i] : NOT_ALLOWED;
    }
}

/* The k-th largest of a[n], 1 <= k <= n; a is overwritten. */
static key_f32 kth_largest_f32(key_f32 *a, int64_t n, int64_t k)
{
    for (;;) {
        key_f32 least = a[0], most = a[0];
        for (int64_t i = 1; i < n; i++) {
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        if (least == most) {
            return most;
        }
        code_f32 from = (code_f32)least, range = (code_f32)most - from;
        int shift = 0;
        while (range >> shift >= BUCKETS) {
            shift++;
        }
        int64_t count[BUCKETS] = {0}, kept = 0;
        for (int64_t i = 0; i < n; i++) {
            count[((code_f32)a[i] - from) >> shift]++;
        }
        code_f32 bucket = range >> shift;
        for (; count[bucket] < k; bucket--) {
            k -= count[bucket];
        }
        for (int64_t i = 0; i < n; i++) {
            if (((code_f32)a[i] - from) >> shift == bucket) {
                a[kept++] = a[i];
            }
        }
        n = kept;
    }
}

/* A key that at least k of the n are not below: the k-th largest of the largest keys of 2k parts of the row or more.
 * With k much smaller than n it leaves few candidates. */
static key_f32 lower_bound_f32(const key_f32 *key, int64_t n, int64_t k)
{
    key_f32 lane[LANES];
    int64_t lanes = FEWEST_LANES;
    while (lanes < 2 * k) {
        lanes *= 2;
    }
    if (lanes > LANES || n < 4 * lanes) {
        return NOT_ALLOWED;
    }
    memcpy(lane, key, (size_t)lanes * sizeof *lane);
    for (int64_t i = lanes; i + STEP <= n; i += STEP) {
        key_f32 *part = lane + i % lanes;
        for (int l = 0; l < STEP; l++) {
            part[l] = key[i + l] > part[l] ? key[i + l] : part[l];
        }
    }
    return kth_largest_f32(lane, lanes, k);
}

/* Sorts e[n] by descending key, equal keys as they come: runs of RUN by insertion, then merged into spare and back. */
static void sort_f32(entry_f32 *e, entry_f32 *spare, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        entry_f32 moved = e[i];
        int64_t at = i;
        for (; at % RUN > 0 && e[at - 1].key < moved.key; at--) {
            e[at] = e[at - 1];
        }
        e[at] = moved;
    }
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width) {
            int64_t middle = first + width < n ? first + width : n, end = middle + width < n ? middle + width : n;
            for (int64_t at = first, left = first, right = middle; at < end; at++) {
                bool take_left = right == end || (left < middle && e[left].key >= e[right].key);
                spare[at] = e[take_left ? left++ : right++];
            }
        }
        memcpy(e, spare, (size_t)n * sizeof *e);
    }
}

/* The entries whose keys are not below the bound, and copies of these keys; their number. */
static int64_t find_candidates_f32(const key_f32 *key, int64_t n, key_f32 bound, int64_t *candidate, key_f32 *copy)
{
    int64_t m = 0;
    for (int64_t i = 0; i < n; i += STEP) {
        int64_t end = i + STEP < n ? i + STEP : n;
        int some = end < i + STEP;
        for (int l = 0; l < STEP && end == i + STEP; l++) {
            some += key[i + l] >= bound;
        }
        for (int64_t e = i; e < end && some > 0; e++) {
            copy[m] = key[e];
            candidate[m] = e;
            m += key[e] >= bound;
        }
    }
    return m;
}

/* The k largest of key[n], sorted, into chosen[0 … k-1]; chosen has room for 2k. */
static void select_f32(const key_f32 *key, key_f32 *spare, int64_t *candidate, int64_t n, int64_t k, entry_f32 *chosen)
{
    int64_t m = find_candidates_f32(key, n, lower_bound_f32(key, n, k), candidate, spare);
    int64_t above = 0, equal = 0, taken = 0;
    key_f32 kth = kth_largest_f32(spare, m, k);
    for (int64_t c = 0; c < m; c++) {
        above += key[candidate[c]] > kth;
    }
    for (int64_t c = 0; c < m; c++) {
        entry_f32 e = {key[candidate[c]], candidate[c]};
        if (e.key > kth) {
            chosen[taken++] = e;
        } else if (e.key == kth && above + equal < k) {
            chosen[above + equal++] = e;
        }
    }
    sort_f32(chosen, chosen + k, above);
}

/* How many entries are allowed: they stand in *row, their places in `place`; with a mask NULL all of them stand in x
 * itself. *row NULL: there is a NaN. */
static int64_t allowed_entries_f32(const float *x, const uint8_t *mask, int64_t step, int64_t n, float *room,
                                   int64_t *place, const float **row)
{
    int64_t m = 0;
    bool none = isnan(asc_kernels_f32()->sumsq(x, n)); /* no other sum of squares is NaN */
    *row = none ? NULL : mask ? room : x;
    for (int64_t i = 0; i < n && mask; i++) {
        room[m] = x[i];
        place[m] = i;
        m += mask[i * step] != 0;
    }
    return mask ? m : n;
}

/* A row whose k is small. False: it has a NaN. */
static bool select_few_f32(const topk_job *j, int64_t row, float *room, int64_t *place, float *value, int64_t *index)
{
    const float *x = (const float *)j->call->in[X].data + row * j->n, *entries;
    const uint8_t *mask = asc_row_mask_at(&j->mask, row);
    int64_t n = allowed_entries_f32(x, mask, j->mask.step, j->n, room, place, &entries);
    if (!entries) {
        return false;
    }
    int64_t found = asc_kernels_f32()->top_k(entries, n, -1, j->found, value, index);
    for (int64_t r = 0; r < j->k; r++) {
        bool there = r < found;
        index[r] = !there ? -1 : mask ? place[index[r]] : index[r];
        value[r] = there ? x[index[r]] : 0;
    }
    return true;
}

static void select_piece_f32(void *arg, int64_t piece, int worker)
{
    const topk_job *j = arg;
    key_f32 *key = (key_f32 *)j->keys + 2 * worker * j->n;
    entry_f32 *chosen = (entry_f32 *)j->chosen + 2 * worker * j->found;
    asc_range rows = asc_piece_rows(piece, j->rows, j->n);
    for (int64_t row = rows.first; row < rows.end; row++) {
        const float *x = (const float *)j->call->in[X].data + row * j->n;
        float *value = (float *)j->call->out[VALUES].data + row * j->k;
        int64_t *index = (int64_t *)j->call->out[INDEX].data + row * j->k;
        int64_t *place = j->candidates + worker * j->n;
        if (j->found <= FEW && select_few_f32(j, row, (float *)(void *)key, place, value, index)) {
            continue;
        }
        make_keys_f32(key, x, asc_row_mask_at(&j->mask, row), j->mask.step, j->n);
        if (j->found > 0) {
            select_f32(key, key + j->n, place, j->n, j->found, chosen);
        }
        for (int64_t r = 0; r < j->k; r++) {
            bool there = r < j->found && chosen[r].key != NOT_ALLOWED;
            index[r] = there ? chosen[r].index : -1;
            value[r] = there ? x[chosen[r].index] : 0;
        }
    }
}

static void scatter_piece_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const topk_job *j = arg;
    asc_range rows = asc_piece_rows(piece, j->rows, j->k);
    for (int64_t row = rows.first; row < rows.end; row++) {
        const float *dy = (const float *)j->call->grad_out[VALUES].data + row * j->k;
        const int64_t *index = (const int64_t *)j->call->out[INDEX].data + row * j->k;
        float *dx = (float *)j->call->grad_in[X].data + row * j->n;
        for (int64_t r = 0; r < j->k; r++) {
            if (index[r] >= 0) {
                dx[index[r]] += dy[r];
            }
        }
    }
}

#undef NAN_KEY
#undef NOT_ALLOWED

/* ---- end of float ---- */
#include "ops/index/topk.f64.h"

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[X];
    int64_t k = ((const topk_attrs *)call->attrs)->k, shape[ASC_MAX_DIMS];
    if (asc_expect_masked_rows(call, X, MASK)) {
        return ASC_ERR_ARG;
    }
    if (k < 0) {
        return asc_call_fail(call, "k is %lld, expected at least 0", (long long)k);
    }
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = k;
    asc_status status = asc_call_output(call, VALUES, x->dtype, x->ndim, shape);
    return status ? status : asc_call_output(call, INDEX, ASC_I64, x->ndim, shape);
}

static asc_status forward(asc_call *call)
{
    topk_job j = job_of(call);
    size_t workers = (size_t)asc_threads(call->ctx), n = (size_t)j.n;
    bool single = call->in[X].dtype == ASC_F32;
    j.mask = asc_row_mask_of(&call->in[MASK], &call->in[X]);
    j.keys = asc_call_scratch(call, workers * 2 * n * (single ? sizeof(key_f32) : sizeof(key_f64)));
    j.candidates = asc_call_scratch(call, workers * n * sizeof *j.candidates);
    j.chosen = asc_call_scratch(call, workers * 2 * (size_t)j.found * (single ? sizeof(entry_f32) : sizeof(entry_f64)));
    if (!j.keys || !j.candidates || !j.chosen) {
        return ASC_ERR_MEMORY;
    }
    if (j.k > 0) {
        asc_parallel(call->ctx, asc_row_pieces(j.rows, j.n), BY_DTYPE(call->in[X].dtype, select_piece), &j);
    }
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    topk_job j = job_of(call);
    if (call->fresh[X]) {
        asc_clear(call->ctx, call->grad_in[X].data, asc_array_bytes(&call->grad_in[X]));
    }
    asc_parallel(call->ctx, asc_row_pieces(j.rows, j.k), BY_DTYPE(call->in[X].dtype, scatter_piece), &j);
    return ASC_OK;
}

/* Entries that lie nearer to one another than the step of a difference are a kink of y, at which their order turns: the
 * ranges are wide for so few of them. */
static const asc_sample samples[] = {
    {.in = {{'u', 3, {2, 3, 7}, .lo = -16, .hi = 16}}, .attrs = &(const topk_attrs){3}},
    {.in = {{'u', 3, {2, 3, 6}, .lo = -16, .hi = 16}, {'b', 3, {2, 3, 6}}},
     .attrs = &(const topk_attrs){4},
     .note = "a mask, rows with fewer than k"},
    {.in = {{'u', 2, {3, 5}, .lo = -16, .hi = 16}, {'b', 1, {5}}},
     .attrs = &(const topk_attrs){2},
     .note = "one mask for all rows"},
    {.in = {{'u', 2, {2, 3}, .lo = -16, .hi = 16}}, .attrs = &(const topk_attrs){5}, .note = "k above n"},
    {.in = {{'u', 1, {1}, .lo = -16, .hi = 16}}, .attrs = &(const topk_attrs){1}, .note = "length 1"},
    {.in = {{'f', 2, {3, 4}}}, .attrs = &(const topk_attrs){0}, .note = "k = 0"},
    {.in = {{'f', 2, {3, 0}}}, .attrs = &(const topk_attrs){2}, .note = "empty rows"},
    {.in = {{'f', 2, {0, 4}}}, .attrs = &(const topk_attrs){2}, .note = "no rows"},
};

const asc_op asc_op_topk = {
    .abi = ASC_OP_ABI,
    .name = "topk",
    .equation = "y_r = x[i_r], the k largest allowed entries of each row in descending order, ties to the lower i",
    .inputs = "x mask?",
    .n_out = 2,
    .flags = ASC_OP_FRESH,
    .attrs_size = sizeof(topk_attrs),
    .saves_out = 1u << INDEX,
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .samples = samples,
    .n_samples = ASC_COUNT(samples),
    .bench =
        &(const asc_sample){.in = {{'u', 4, {32, 4, 128, 128}, .lo = -1, .hi = 1}}, .attrs = &(const topk_attrs){16}},
};

asc_tensor asc_topk(asc_ctx *ctx, asc_tensor x, asc_tensor mask, int64_t k, asc_tensor *index)
{
    asc_tensor out[2];
    asc_apply(ctx, &asc_op_topk, (asc_tensor[]){x, mask}, 2, &(topk_attrs){k}, out);
    asc_give(index, out[INDEX]);
    return out[VALUES];
}
