/* ops/attention/position_bias.c: biases by position, and the gradient of a learned table of them.
 *
 *   β_ij = -2^(-8(h+1)/H)·|p_i - j|                     ALiBi: Press, Smith and Lewis, arXiv 2108.12409
 *   β_ij = table_hc, c = clamp(j - p_i, -R, R) + R      Shaw, Uszkoreit and Vaswani, arXiv 1803.02155
 *   dtable_hc = Σ dS_ij over the pairs (i, j) that have c
 *
 * The table's gradient is a sum over queries: every chunk of panels has a part, and these are added in order. */
#include "ops/attention/panel.h"

#include <string.h>

asc_status asc_expect_position_table(asc_call *call, int input, int64_t heads)
{
    const asc_array *table = &call->in[input];
    asc_dtype dtype = call->in[0].dtype;
    if (table->ndim >= 0 &&
        (table->dtype != dtype || table->ndim != 2 || table->shape[0] != heads || table->shape[1] % 2 == 0)) {
        return asc_call_expect(call, input, "%s (%lld, 2R + 1)", asc_dtype_name(dtype), (long long)heads);
    }
    return ASC_OK;
}

asc_position_bias asc_position_bias_of(const asc_call *call, int input, bool alibi)
{
    const asc_array *table = &call->in[input];
    bool given = table->ndim >= 0;
    return (asc_position_bias){alibi, given ? table->shape[1] / 2 : 0, given ? table->data : NULL};
}

/* Keys that lie together in a row, as the table has them: `before` are at -R or further away, those up to `within` at
 * places of their own, the rest at R or further. */
typedef struct stretch {
    int64_t before, within;
} stretch;

/* ahead: the first key less the query's position. */
static stretch stretch_of(int64_t R, int64_t ahead, int64_t n)
{
    int64_t before = asc_least(n, asc_most(0, -R - ahead));
    return (stretch){before, asc_least(n, asc_most(before, R + 1 - ahead))};
}

/* ---- float, and f64.awk makes the same for double ---- */

static void add_table_f32(float *x, const float *middle, int64_t R, int64_t ahead, int64_t n)
{
    stretch s = stretch_of(R, ahead, n);
    for (int64_t c = 0; c < s.before; c++) {
        x[c] += middle[-R];
    }
    asc_kernels_f32()->acc(x + s.before, middle + ahead + s.before, s.within - s.before);
    for (int64_t c = s.within; c < n; c++) {
        x[c] += middle[R];
    }
}

static void add_bias_f32(const asc_allowed *J, const asc_panel *p, const asc_position_bias *bias, void *P)
{
    float slope = (float)asc_alibi_slope(p->h, J->H);
    const float *table = bias->table ? (const float *)bias->table + p->h * (2 * bias->R + 1) + bias->R : NULL;
    asc_panel_range part[ASC_MOST_RANGES];
    for (int64_t r = 0; r < p->rows; r++) {
        int parts = asc_panel_ranges(p, r, part);
        int64_t position = asc_allowed_position(J, p->first + r);
        for (int i = 0; i < parts; i++) {
            float *x = (float *)P + r * p->columns + part[i].column;
            if (bias->alibi) {
                asc_kernels_f32()->sub_distance(x, slope, part[i].key - position, part[i].n);
            }
            if (table) {
                add_table_f32(x, table, bias->R, part[i].key - position, part[i].n);
            }
        }
    }
}

static void collect_f32(const asc_allowed *J, const asc_panel *p, int64_t R, const void *dP, void *table)
{
    float *middle = (float *)table + R;
    asc_panel_range part[ASC_MOST_RANGES];
    for (int64_t r = 0; r < p->rows; r++) {
        int parts = asc_panel_ranges(p, r, part);
        for (int i = 0; i < parts; i++) {
            const float *x = (const float *)dP + r * p->columns + part[i].column;
            int64_t ahead = part[i].key - asc_allowed_position(J, p->first + r), n = part[i].n;
            stretch s = stretch_of(R, ahead, n);
            middle[-R] += asc_kernels_f32()->sum(x, s.before);
            asc_kernels_f32()->acc(middle + ahead + s.before, x + s.before, s.within - s.before);
            middle[R] += asc_kernels_f32()->sum(x + s.within, n - s.within);
        }
    }
}

static void add_parts_f32(const asc_table_sums *t, const asc_allowed *J)
{
    int64_t size = 2 * t->R + 1;
    float *grad = t->call->grad_in[t->input].data;
    if (t->call->fresh[t->input]) {
        memset(grad, 0, (size_t)(J->H * size) * sizeof *grad);
    }
    for (int64_t piece = 0; piece < J->B * J->H * t->chunks; piece++) {
        float *to = grad + piece / t->chunks % J->H * size;
        asc_kernels_f32()->acc(to, (const float *)t->parts + piece * size, size);
    }
}

/* ---- end of float ---- */
#include "ops/attention/position_bias.f64.h"

void asc_panel_add_bias(const asc_allowed *J, const asc_panel *p, const asc_position_bias *bias, asc_dtype dtype,
                        void *P)
{
    if (bias->alibi || bias->table) {
        BY_DTYPE(dtype, add_bias)(J, p, bias, P);
    }
}

asc_status asc_table_sums_begin(asc_call *call, const asc_allowed *J, int input, asc_table_sums *t)
{
    *t = (asc_table_sums){.call = call, .input = input, .chunks = asc_panel_chunks(J)};
    const asc_array *grad = &call->grad_in[input];
    if (!grad->data) {
        return ASC_OK;
    }
    t->R = grad->shape[1] / 2;
    size_t bytes = (size_t)(J->B * J->H * t->chunks * (2 * t->R + 1)) * asc_dtype_size(grad->dtype);
    t->parts = asc_call_scratch(call, bytes);
    if (!t->parts) {
        return ASC_ERR_MEMORY;
    }
    memset(t->parts, 0, bytes);
    return ASC_OK;
}

void asc_table_sums_collect(const asc_table_sums *t, const asc_allowed *J, const asc_panel *p, int64_t chunk,
                            const void *dP)
{
    if (t->parts) {
        asc_dtype dtype = t->call->grad_in[t->input].dtype;
        size_t part = (size_t)((p->b * J->H + p->h) * t->chunks + chunk) * (size_t)(2 * t->R + 1);
        BY_DTYPE(dtype, collect)(J, p, t->R, dP, (char *)t->parts + part * asc_dtype_size(dtype));
    }
}

void asc_table_sums_end(const asc_table_sums *t, const asc_allowed *J)
{
    if (t->parts) {
        BY_DTYPE(t->call->grad_in[t->input].dtype, add_parts)(t, J);
    }
}
