/* ops/attention/panel.c: panels of attention: the allowed sets, columns, rows and their entries. */
#include "ops/attention/panel.h"

#include <string.h>

#include "ops/shared/broadcast.h"
#include "tensor/splitmix.h"

/* The keys that a query may look at before any mask: [0, globals) and [from, to), globals <= from. */
typedef struct span {
    int64_t globals, from, to;
} span;

static span span_of(const asc_allowed *J, int64_t b, int64_t position)
{
    int64_t end = J->lengths ? asc_least(J->M, asc_most(0, J->lengths[b])) : J->M;
    if (J->causal) {
        end = asc_least(end, position + 1);
    }
    span s = {0, 0, end};
    if (J->window > 0 && position >= J->globals) {
        int64_t window = asc_least(J->window, J->M); /* a wider one changes nothing, and may overflow */
        s.from = asc_least(asc_most(0, position - window + 1), end);
        s.to = asc_least(end, position + window);
        s.globals = asc_least(asc_least(J->globals, s.from), end);
    }
    return s;
}

/* Whether a key is in it. */
static inline bool holds(const span *s, int64_t key)
{
    return key < s->globals || (key >= s->from && key < s->to);
}

/* Beside the span of a position, the keys that it is linked with at random: rising, each once. Returns their number. */
static int links_of(const asc_allowed *J, int64_t b, int64_t position, const span *s, int32_t key[ASC_MOST_LINKS])
{
    int n = 0;
    int64_t end = J->lengths ? asc_least(J->M, J->lengths[b]) : J->M, keys = J->causal ? position + 1 : J->M;
    for (int64_t m = 0; m < J->random; m++) {
        int64_t j = asc_random_link(position, J->random, m, keys);
        int at = n;
        while (at > 0 && key[at - 1] > j) {
            at--;
        }
        if (j < end && !holds(s, j) && (at == 0 || key[at - 1] != j)) {
            memmove(key + at + 1, key + at, (size_t)(n - at) * sizeof *key);
            key[at] = (int32_t)j;
            n++;
        }
    }
    return n;
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

asc_log_sum_exp asc_panel_softmax_f32(float *x, int64_t n)
{
    float max = n > 0 ? asc_kernels_f32()->max(x, n) : -(float)INFINITY;
    if (max == -(float)INFINITY && !isnan(asc_kernels_f32()->sum(x, n))) { /* the maximum does not see NaNs */
        memset(x, 0, (size_t)n * sizeof *x);
        return (asc_log_sum_exp){0, 0};
    }
    float sum = asc_kernels_f32()->exp_shift(x, x, max, n);
    asc_kernels_f32()->scale(x, 1 / sum, x, n);
    return (asc_log_sum_exp){(double)max, log((double)sum)};
}

void asc_panel_sum_to_1_f32(float *x, float total, int64_t n)
{
    if (total > 0) { /* none in a row without keys */
        asc_kernels_f32()->scale(x, 1 / total, x, n);
    }
}

/* ---- end of float ---- */
#include "ops/attention/panel.f64.h"

/* ---- for infer ---- */

asc_status asc_expect_window(asc_call *call, int64_t heads, int64_t window, int64_t globals, int64_t random)
{
    if (heads < 1) {
        return asc_call_fail(call, "heads is %lld, expected at least 1", (long long)heads);
    }
    if (window < 0 || globals < 0 || (globals > 0 && window == 0)) {
        return asc_call_fail(call, "window is %lld, globals is %lld: expected none below 0, and globals with a window "
                             "only", (long long)window, (long long)globals);
    }
    if (random < 0 || random > ASC_MOST_LINKS || (random > 0 && window == 0)) {
        return asc_call_fail(call, "random is %lld, expected 0 to %d, and random links with a window only",
                             (long long)random, ASC_MOST_LINKS);
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
    if (mask->ndim >= 0 && mask->data) {
        J->mask = mask->data;
        asc_broadcast_strides(mask, 4, (int64_t[]){J->B, J->H, J->N, J->M}, J->mask_stride);
    }
}

/* The links that the mask of a query, if any, allows. */
static int64_t count_links(const asc_allowed *J, int64_t b, int64_t position, const span *s, const uint8_t *mask)
{
    int32_t key[ASC_MOST_LINKS];
    int64_t n = 0;
    int links = links_of(J, b, position, s, key);
    for (int l = 0; l < links; l++) {
        n += !mask || mask[key[l] * J->mask_stride[3]];
    }
    return n;
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
    /* What sequences, or heads, share is counted once. */
    bool alike = !J->lengths && (!J->mask || J->mask_stride[0] == 0);
    bool heads_alike = J->mask && J->mask_stride[1] == 0;
    int64_t sequences = alike ? asc_least(J->B, 1) : J->B, heads = heads_alike ? asc_least(J->H, 1) : J->H;
    double pairs = 0;
    for (int64_t b = 0; b < sequences; b++) {
        for (int64_t i = 0; i < J->N; i++) {
            int64_t position = asc_allowed_position(J, i);
            span s = span_of(J, b, position);
            if (!J->mask) {
                pairs += (double)J->H * (double)(s.globals + s.to - s.from + count_links(J, b, position, &s, NULL));
                continue;
            }
            for (int64_t h = 0; h < heads; h++) {
                const uint8_t *mask = mask_of(J, b, h, i);
                double times = heads_alike ? (double)J->H : 1;
                pairs += times * (double)(count_masked(mask, J->mask_stride[3], 0, s.globals) +
                                  count_masked(mask, J->mask_stride[3], s.from, s.to) +
                                  count_links(J, b, position, &s, mask));
            }
        }
    }
    return alike ? (double)J->B * pairs : pairs;
}

/* ---- panels and their rows ---- */

static asc_panel panel_of(const asc_allowed *J, int64_t b, int64_t h, int64_t first)
{
    asc_panel p = {.b = b, .h = h, .first = first, .rows = asc_least(ASC_PANEL, J->N - first), .from = J->M,
                   .position = asc_allowed_position(J, first), .J = J};
    for (int64_t i = first; i < first + p.rows; i++) {
        span s = span_of(J, b, asc_allowed_position(J, i));
        p.globals = asc_most(p.globals, s.globals);
        p.from = asc_least(p.from, s.from);
        p.to = asc_most(p.to, s.to);
    }
    p.from = asc_least(p.from, p.to);
    if (p.from <= p.globals) { /* the two ranges meet: they are one */
        p.from = p.globals = 0;
    }
    p.low = p.from > p.globals ? J->random : 0;
    p.high = J->causal || p.to >= J->M ? 0 : J->random;
    p.columns = p.globals + p.low + p.to - p.from + p.high;
    return p;
}

asc_panel asc_panel_at(const asc_allowed *J, int64_t index)
{
    int64_t panels = asc_head_panels(J), head = index / panels;
    return panel_of(J, head / J->H, head % J->H, index % panels * ASC_PANEL);
}

static asc_panel_range range_of(const asc_panel *p)
{
    return (asc_panel_range){p->globals + p->low, p->from, p->to - p->from};
}

/* Those of a row's links that are in slots: in no range of the panel's. */
static asc_panel_links slots_of(const asc_panel *p, int64_t r)
{
    asc_panel_links links = {.low = 0};
    if (p->low == 0 && p->high == 0) {
        return links;
    }
    const span all = {p->globals, p->from, p->to}, s = span_of(p->J, p->b, p->position + r);
    int32_t key[ASC_MOST_LINKS];
    int n = links_of(p->J, p->b, p->position + r, &s, key);
    for (int l = 0; l < n; l++) {
        if (!holds(&all, key[l])) {
            links.key[links.low + links.high] = key[l];
            links.low += key[l] < p->from;
            links.high += key[l] >= p->to;
        }
    }
    return links;
}

/* The l-th of a row's slots in use. */
static asc_panel_range slot_of(const asc_panel *p, const asc_panel_links *links, int l)
{
    bool high = l >= links->low;
    return (asc_panel_range){asc_panel_slot(p, high) + l - (high ? links->low : 0), links->key[l], 1};
}

int asc_panel_ranges(const asc_panel *p, int64_t r, asc_panel_range out[ASC_MOST_RANGES])
{
    int n = 0;
    if (p->globals > 0) {
        out[n++] = (asc_panel_range){0, 0, p->globals};
    }
    if (p->to > p->from) {
        out[n++] = range_of(p);
    }
    asc_panel_links links = slots_of(p, r);
    for (int l = 0; l < links.low + links.high; l++) {
        out[n++] = slot_of(p, &links, l);
    }
    return n;
}

static void set_tile(asc_panel_tile *t, int64_t row, int64_t rows, asc_panel_range range)
{
    t->row = row;
    t->rows = rows;
    t->column = range.column;
    t->key = range.key;
    t->n = range.n;
}

asc_panel_tile asc_panel_tile_first(const asc_panel *p)
{
    asc_panel_tile t = {.next = -1};
    set_tile(&t, 0, p->rows, (asc_panel_range){0, 0, p->globals});
    if (t.n == 0) {
        asc_panel_tile_next(p, &t);
    }
    return t;
}

void asc_panel_tile_next(const asc_panel *p, asc_panel_tile *t)
{
    if (t->next == -1) {
        t->next = -2;
        if (p->to > p->from) {
            set_tile(t, 0, p->rows, range_of(p));
            return;
        }
    }
    int64_t row = t->row;
    if (t->next == -2) {
        row = t->next = 0;
        t->links = slots_of(p, 0);
    }
    while (t->next == t->links.low + t->links.high && row + 1 < p->rows && p->low + p->high > 0) {
        t->links = slots_of(p, ++row);
        t->next = 0;
    }
    bool more = t->next < t->links.low + t->links.high;
    set_tile(t, row, 1, more ? slot_of(p, &t->links, t->next++) : (asc_panel_range){0, 0, 0});
}

int64_t asc_panel_widest(const asc_allowed *J)
{
    int64_t widest = 0;
    for (int64_t b = 0; b < (J->lengths ? J->B : asc_least(J->B, 1)); b++) {
        for (int64_t first = 0; first < J->N; first += ASC_PANEL) {
            widest = asc_most(widest, panel_of(J, b, 0, first).columns);
        }
    }
    return widest;
}

/* Of a key in the panel's ranges. */
static int64_t column_of(const asc_panel *p, int64_t key)
{
    return key < p->globals ? key : key - p->from + p->globals + p->low;
}

/* The column of a row's key; -1: it has none. */
static int64_t row_column_of(const asc_panel *p, const asc_panel_links *links, int64_t key)
{
    if (holds(&(span){p->globals, p->from, p->to}, key)) {
        return column_of(p, key);
    }
    for (int l = 0; l < links->low + links->high; l++) {
        if (links->key[l] == key) {
            return slot_of(p, links, l).column;
        }
    }
    return -1;
}

/* The entries of a row under a mask, or with links, as a list of columns. */
typedef struct lister {
    const asc_panel *p;
    const uint8_t *mask; /* or NULL */
    int64_t stride;
    asc_panel_row *row;
    int32_t *list;
} lister;

static void list_keys(lister *l, int64_t from, int64_t to)
{
    asc_panel_row *row = l->row;
    for (int64_t j = from; j < to; j++) {
        if (!l->mask || l->mask[j * l->stride]) {
            row->self = j == row->position ? row->n : row->self;
            l->list[row->n++] = (int32_t)row_column_of(l->p, &row->links, j);
        }
    }
}

static void list_entries(const asc_allowed *J, const asc_panel *p, int64_t r, const span *s, asc_panel_row *row,
                         int32_t *list)
{
    lister l = {p, mask_of(J, p->b, p->h, p->first + r), J->mask_stride[3], row, list};
    int32_t key[ASC_MOST_LINKS];
    int n = links_of(J, p->b, row->position, s, key), next = 0;
    row->n = 0;
    row->self = -1;
    row->list = list;
    row->links = slots_of(p, r);
    list_keys(&l, 0, s->globals);
    for (; next < n && key[next] < s->from; next++) {
        list_keys(&l, key[next], key[next] + 1);
    }
    list_keys(&l, s->from, s->to);
    for (; next < n; next++) {
        list_keys(&l, key[next], key[next] + 1);
    }
}

asc_panel_row asc_panel_row_of(const asc_allowed *J, const asc_panel *p, int64_t r, int32_t *list)
{
    int64_t position = asc_allowed_position(J, p->first + r);
    span s = span_of(J, p->b, position);
    asc_panel_row row = {.n = s.globals + s.to - s.from, .self = -1, .position = position, .globals = s.globals,
                         .near = column_of(p, s.from)};
    if (asc_panel_lists(J)) {
        list_entries(J, p, r, &s, &row, list);
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
    int64_t column = key < 0 ? -1 : row_column_of(p, &row->links, key);
    if (column < 0) {
        return -1;
    }
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
    int64_t position = asc_allowed_position(J, p->first + r);
    span s = span_of(J, p->b, position);
    int32_t key[ASC_MOST_LINKS];
    int links = links_of(J, p->b, position, &s, key), next = 0;
    for (int64_t column = 0; column < p->columns; column++) { /* keys rise, as the links do */
        bool linked = next < links && key[next] == column;
        next += linked;
        if ((holds(&s, column) || linked) && (!mask || mask[column * J->mask_stride[3]])) {
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
