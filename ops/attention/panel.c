/* ops/attention/panel.c: panels of attention: their columns, position biases and sums over queries. */
#include "ops/attention/panel.h"

#include <math.h>
#include <string.h>

#include "ops/shared/broadcast.h"

enum { CHUNKS = 8 }; /* pieces of work that a backward pass has at least, where the panels allow it */

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The keys that a query may look at before any mask: [0, globals) and [from, to), globals <= from. */
typedef struct span {
    int64_t globals, from, to;
} span;

static span span_of(const asc_allowed *J, int64_t b, int64_t position)
{
    int64_t end = J->lengths ? least(J->M, most(0, J->lengths[b])) : J->M;
    if (J->causal) {
        end = least(end, position + 1);
    }
    span s = {0, 0, end};
    if (J->window > 0 && position >= J->globals) {
        int64_t window = least(J->window, J->M); /* a wider one changes nothing, and may overflow */
        s.from = least(most(0, position - window + 1), end);
        s.to = least(end, position + window);
        s.globals = least(least(J->globals, s.from), end);
    }
    return s;
}

/* The mask of a query, at key 0; NULL: none. */
static inline const uint8_t *mask_of(const asc_allowed *J, int64_t b, int64_t h, int64_t i)
{
    const int64_t *stride = J->mask_stride;
    return J->mask ? J->mask + b * stride[0] + h * stride[1] + i * stride[2] : NULL;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void gather_f32(void *row, const int32_t *list, int64_t n)
{
    float *x = row;
    for (int64_t e = 0; e < n; e++) { /* list[e] >= e: what is read has not been written */
        x[e] = x[list[e]];
    }
}

static void scatter_f32(void *row, const int32_t *list, int64_t n, int64_t columns)
{
    float *x = row;
    int64_t end = columns;
    for (int64_t e = n - 1; e >= 0; e--) {
        x[list[e]] = x[e];
        memset(x + list[e] + 1, 0, (size_t)(end - list[e] - 1) * sizeof *x);
        end = list[e];
    }
    memset(x, 0, (size_t)end * sizeof *x);
}

/* Adds a table's entries to keys from … from + n - 1 of a row; `ahead`: the first key less the query's position. */
static void add_table_f32(float *x, const float *middle, int64_t R, int64_t ahead, int64_t n)
{
    int64_t before = least(n, most(0, -R - ahead)), within = least(n, most(before, R + 1 - ahead));
    for (int64_t c = 0; c < before; c++) {
        x[c] += middle[-R];
    }
    asc_kernels_f32()->acc(x + before, middle + ahead + before, within - before);
    for (int64_t c = within; c < n; c++) {
        x[c] += middle[R];
    }
}

static void add_bias_f32(const asc_allowed *J, const asc_panel *p, const asc_position_bias *bias, void *P)
{
    float slope = (float)exp2(-8 * (double)(p->h + 1) / (double)J->H);
    const float *table = bias->table ? (const float *)bias->table + p->h * (2 * bias->R + 1) + bias->R : NULL;
    asc_panel_range part[2];
    int parts = asc_panel_ranges(p, part);
    for (int64_t r = 0; r < p->rows; r++) {
        int64_t position = p->first + r + J->M - J->N;
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

static void collect_bias_f32(const asc_allowed *J, const asc_panel *p, int64_t R, const void *dP, void *table)
{
    float *middle = (float *)table + R;
    asc_panel_range part[2];
    int parts = asc_panel_ranges(p, part);
    for (int64_t r = 0; r < p->rows; r++) {
        for (int i = 0; i < parts; i++) {
            const float *x = (const float *)dP + r * p->columns + part[i].column;
            int64_t ahead = part[i].key - (p->first + r + J->M - J->N), n = part[i].n;
            int64_t before = least(n, most(0, -R - ahead)), within = least(n, most(before, R + 1 - ahead));
            middle[-R] += asc_kernels_f32()->sum(x, before);
            asc_kernels_f32()->acc(middle + ahead + before, x + before, within - before);
            middle[R] += asc_kernels_f32()->sum(x + within, n - within);
        }
    }
}

/* Keys ASC_PANEL at a time. */
static void add_chunks_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_panel_sums *s = arg;
    int64_t blocks = (s->M + ASC_PANEL - 1) / ASC_PANEL, head = piece / blocks, first = piece % blocks * ASC_PANEL;
    int64_t end = least(s->M, first + ASC_PANEL);
    float *to = (float *)s->target + head / s->H * s->stride[0] + head % s->H * s->stride[1];
    for (int64_t c = 1; c < s->chunks; c++) {
        const float *from = (const float *)s->more + ((c - 1) * s->B * s->H + head) * s->M * s->width;
        for (int64_t j = first; j < end; j++) {
            asc_kernels_f32()->acc(to + j * s->stride[2], from + j * s->width, s->width);
        }
    }
}

/* ---- end of float ---- */
#include "ops/attention/panel.f64.h"

/* ---- for infer ---- */

asc_status asc_expect_window(asc_call *call, int64_t heads, int64_t window, int64_t globals)
{
    if (heads < 1) {
        return asc_call_fail(call, "heads is %lld, expected at least 1", (long long)heads);
    }
    if (window < 0 || globals < 0 || (globals > 0 && window == 0)) {
        return asc_call_fail(call, "window is %lld, globals is %lld: expected none below 0, and globals with a window "
                             "only", (long long)window, (long long)globals);
    }
    return ASC_OK;
}

asc_status asc_expect_allowed(asc_call *call, int lengths, int mask, const asc_allowed *J)
{
    if (call->in[lengths].ndim >= 0 && asc_expect_shape(call, lengths, ASC_I64, 1, &J->B, "one length a sequence")) {
        return ASC_ERR_ARG;
    }
    asc_array pairs;
    asc_array_init(&pairs, ASC_U8, 4, (int64_t[]){J->B, J->H, J->N, J->M});
    const asc_array *m = &call->in[mask];
    if (m->ndim >= 0 && (m->dtype != ASC_U8 || !asc_broadcasts_to(m, &pairs))) {
        char text[ASC_SHAPE_TEXT];
        return asc_call_expect(call, mask, "u8 of a shape that broadcasts to %s", asc_shape_text(&pairs, text));
    }
    return ASC_OK;
}

void asc_allowed_inputs(asc_allowed *J, const asc_array *lengths, const asc_array *mask)
{
    J->lengths = lengths->ndim >= 0 ? lengths->data : NULL;
    if (mask->ndim >= 0) {
        J->mask = mask->data;
        asc_broadcast_strides(mask, 4, (int64_t[]){J->B, J->H, J->N, J->M}, J->mask_stride);
    }
}

static int64_t count_masked(const uint8_t *mask, int64_t stride, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t j = from; j < to; j++) {
        n += mask[j * stride] != 0;
    }
    return n;
}

double asc_allowed_pairs(const asc_allowed *J)
{
    double pairs = 0;
    for (int64_t b = 0; b < J->B; b++) {
        for (int64_t i = 0; i < J->N; i++) {
            span s = span_of(J, b, i + J->M - J->N);
            if (!J->mask) {
                pairs += (double)J->H * (double)(s.globals + s.to - s.from);
                continue;
            }
            for (int64_t h = 0; h < J->H; h++) {
                const uint8_t *mask = mask_of(J, b, h, i);
                pairs += (double)(count_masked(mask, J->mask_stride[3], 0, s.globals) +
                                  count_masked(mask, J->mask_stride[3], s.from, s.to));
            }
        }
    }
    return pairs;
}

/* ---- panels and their rows ---- */

static asc_panel panel_of(const asc_allowed *J, int64_t b, int64_t h, int64_t first)
{
    asc_panel p = {.b = b, .h = h, .first = first, .rows = least(ASC_PANEL, J->N - first), .from = J->M};
    for (int64_t i = first; i < first + p.rows; i++) {
        span s = span_of(J, b, i + J->M - J->N);
        p.globals = most(p.globals, s.globals);
        p.from = least(p.from, s.from);
        p.to = most(p.to, s.to);
    }
    p.from = least(p.from, p.to);
    if (p.from <= p.globals) { /* the two ranges meet: they are one */
        p.from = p.globals = 0;
    }
    p.columns = p.globals + p.to - p.from;
    return p;
}

asc_panel asc_panel_at(const asc_allowed *J, int64_t index)
{
    int64_t panels = asc_head_panels(J), head = index / panels;
    return panel_of(J, head / J->H, head % J->H, index % panels * ASC_PANEL);
}

int64_t asc_panel_widest(const asc_allowed *J)
{
    int64_t widest = 0;
    for (int64_t b = 0; b < (J->lengths ? J->B : least(J->B, 1)); b++) {
        for (int64_t first = 0; first < J->N; first += ASC_PANEL) {
            widest = most(widest, panel_of(J, b, 0, first).columns);
        }
    }
    return widest;
}

static int64_t column_of(const asc_panel *p, int64_t key)
{
    return key < p->globals ? key : key - p->from + p->globals;
}

/* The entries of a row under a mask, as a list of columns. */
static void list_entries(const asc_panel *p, const uint8_t *mask, int64_t stride, span s, asc_panel_row *row,
                         int32_t *list)
{
    row->n = 0;
    row->self = -1;
    row->list = list;
    for (int64_t j = s.globals > 0 ? 0 : s.from; j < s.to; j = j + 1 == s.globals ? s.from : j + 1) {
        if (mask[j * stride]) {
            row->self = j == row->position ? row->n : row->self;
            list[row->n++] = (int32_t)column_of(p, j);
        }
    }
}

asc_panel_row asc_panel_row_of(const asc_allowed *J, const asc_panel *p, int64_t r, int32_t *list)
{
    int64_t position = p->first + r + J->M - J->N;
    span s = span_of(J, p->b, position);
    asc_panel_row row = {.n = s.globals + s.to - s.from, .self = -1, .position = position, .globals = s.globals,
                         .near = column_of(p, s.from)};
    if (J->mask) {
        list_entries(p, mask_of(J, p->b, p->h, p->first + r), J->mask_stride[3], s, &row, list);
        return row;
    }
    if (s.to > s.from) {
        row.start = row.near - row.globals;
    }
    if (position >= s.from && position < s.to) {
        row.self = row.globals + position - s.from;
    }
    return row;
}

int64_t asc_panel_entry_of(const asc_panel *p, const asc_panel_row *row, int64_t key)
{
    if (key < 0 || key >= p->to || (key >= p->globals && key < p->from)) {
        return -1;
    }
    int64_t column = column_of(p, key);
    if (!row->list) {
        int64_t entry = column < row->globals ? column : column - row->near + row->globals;
        return column < row->globals || (column >= row->near && entry < row->n) ? entry : -1;
    }
    int64_t low = 0, high = row->n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (row->list[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < row->n && row->list[low] == column ? low : -1;
}

void asc_panel_fill_outside(const asc_allowed *J, const asc_panel *p, int64_t r, asc_dtype dtype, void *x, double value)
{
    const uint8_t *mask = mask_of(J, p->b, p->h, p->first + r);
    span s = span_of(J, p->b, p->first + r + J->M - J->N);
    for (int64_t column = 0; column < p->columns; column++) {
        int64_t j = asc_panel_key(p, column);
        if ((j < s.globals || (j >= s.from && j < s.to)) && (!mask || mask[j * J->mask_stride[3]])) {
            continue;
        }
        asc_set_element(dtype, x, column, value);
    }
}

void asc_panel_compact(const asc_panel_row *row, asc_dtype dtype, void *x)
{
    if (row->list) {
        BY_DTYPE(dtype, gather)(x, row->list, row->n);
    } else if (row->start > 0 && row->globals > 0) {
        size_t size = asc_dtype_size(dtype);
        memmove((char *)x + (size_t)row->start * size, x, (size_t)row->globals * size);
    }
}

void asc_panel_spread(const asc_panel *p, const asc_panel_row *row, asc_dtype dtype, void *x)
{
    if (row->list) {
        BY_DTYPE(dtype, scatter)(x, row->list, row->n, p->columns);
        return;
    }
    size_t size = asc_dtype_size(dtype);
    char *at = x;
    int64_t gap = row->start, end = row->start + row->n; /* the entries without a gap end where those with it do */
    memmove(at, at + (size_t)gap * size, (size_t)row->globals * size);
    memset(at + (size_t)row->globals * size, 0, (size_t)gap * size);
    memset(at + (size_t)end * size, 0, (size_t)(p->columns - end) * size);
}

/* ---- position biases ---- */

void asc_panel_add_bias(const asc_allowed *J, const asc_panel *p, const asc_position_bias *bias, asc_dtype dtype,
                        void *P)
{
    if (bias->alibi || bias->table) {
        BY_DTYPE(dtype, add_bias)(J, p, bias, P);
    }
}

void asc_panel_collect_bias(const asc_allowed *J, const asc_panel *p, int64_t R, asc_dtype dtype, const void *dP,
                            void *table)
{
    BY_DTYPE(dtype, collect_bias)(J, p, R, dP, table);
}

/* ---- sums over queries ---- */

static int64_t chunks_of(const asc_allowed *J, int64_t pieces)
{
    int64_t heads = most(1, J->B * J->H);
    return most(1, least(asc_head_panels(J), (pieces + heads - 1) / heads));
}

int64_t asc_panel_chunks(const asc_allowed *J)
{
    return chunks_of(J, CHUNKS);
}

int64_t asc_panel_forward_chunks(const asc_allowed *J)
{
    return chunks_of(J, 2 * CHUNKS);
}

static asc_status make_room(asc_call *call, asc_panel_sums *sums)
{
    if (sums->chunks == 1) {
        return ASC_OK;
    }
    size_t chunk = (size_t)(sums->B * sums->H * sums->M * sums->width) * asc_dtype_size(sums->dtype);
    sums->more = asc_call_scratch(call, (size_t)(sums->chunks - 1) * chunk);
    return sums->more ? ASC_OK : ASC_ERR_MEMORY;
}

asc_status asc_panel_sums_of_input(asc_call *call, const asc_allowed *J, int input, asc_panel_sums *sums)
{
    const asc_array *g = &call->grad_in[input];
    *sums = (asc_panel_sums){.dtype = g->dtype, .target = g->data};
    if (!g->data) {
        return ASC_OK;
    }
    int64_t ld = g->shape[2], width = ld / J->H;
    *sums = (asc_panel_sums){.dtype = g->dtype, .target = g->data, .fresh = call->fresh[input], .B = J->B, .H = J->H,
                             .M = J->M, .width = width, .chunks = asc_panel_chunks(J),
                             .stride = {J->M * ld, width, ld}};
    return make_room(call, sums);
}

asc_status asc_panel_sums_of(asc_call *call, const asc_allowed *J, asc_dtype dtype, void *memory, int64_t rows,
                             int64_t width, asc_panel_sums *sums)
{
    *sums = (asc_panel_sums){.dtype = dtype, .target = memory, .fresh = true, .B = J->B, .H = J->H, .M = rows,
                             .width = width, .chunks = asc_panel_chunks(J),
                             .stride = {J->H * rows * width, rows * width, width}};
    return make_room(call, sums);
}

asc_matrix asc_panel_sums_begin(const asc_panel_sums *s, int64_t b, int64_t h, int64_t chunk)
{
    if (!s->target) {
        return (asc_matrix){.dtype = s->dtype};
    }
    size_t size = asc_dtype_size(s->dtype);
    asc_matrix m = {.dtype = s->dtype, .width = s->width, .ld = s->width};
    if (chunk == 0) {
        m.data = (char *)s->target + (size_t)(b * s->stride[0] + h * s->stride[1]) * size;
        m.ld = s->stride[2];
    } else {
        m.data = (char *)s->more + (size_t)(((chunk - 1) * s->B + b) * s->H + h) * (size_t)(s->M * s->width) * size;
    }
    for (int64_t j = 0; (chunk > 0 || s->fresh) && j < s->M; j++) {
        memset(asc_matrix_row(m, j), 0, (size_t)s->width * size);
    }
    return m;
}

void asc_panel_sums_end(asc_ctx *ctx, const asc_panel_sums *sums)
{
    asc_panel_sums job = *sums;
    if (job.target && job.chunks > 1) {
        asc_parallel(ctx, job.B * job.H * ((job.M + ASC_PANEL - 1) / ASC_PANEL), BY_DTYPE(job.dtype, add_chunks), &job);
    }
}
