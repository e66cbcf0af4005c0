/* ops/attention/panel_products.c: products with panels of attention, and the copies of keys that make them fast. */
#include "ops/attention/panel.h"

#include <string.h>

static bool has_slots(const asc_panel *p)
{
    return p->low + p->high > 0;
}

/* Which of a row's ranges is its first slot; n: none is. */
static int first_slot(const asc_panel *p, const asc_panel_range *range, int n)
{
    int i = 0;
    while (i < n && (range[i].key < p->globals || (range[i].key >= p->from && range[i].key < p->to))) {
        i++;
    }
    return i;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void turn_f32(asc_matrix A, int64_t rows, asc_matrix turned)
{
    asc_kernels_f32()->transpose(turned.data, turned.ld, A.data, A.ld, rows, A.width);
}

/* Slots: what products do there, a link at a time. P = scale A Bᵀ, and 0 where slots are not in use. */
static void link_scores_f32(const asc_panel *p, double scale, asc_matrix A, asc_matrix B, void *P)
{
    for (int64_t r = 0; r < p->rows; r++) {
        const float *a = asc_matrix_row(A, p->first + r);
        float *row = (float *)P + r * p->columns;
        memset(row + asc_panel_slot(p, false), 0, (size_t)p->low * sizeof *row);
        memset(row + asc_panel_slot(p, true), 0, (size_t)p->high * sizeof *row);
        asc_panel_range range[ASC_MOST_RANGES];
        int n = asc_panel_ranges(p, r, range);
        for (int i = first_slot(p, range, n); i < n; i++) {
            const float *b = (const float *)B.data + range[i].key * (B.turned ? 1 : B.ld);
            float sum = 0;
            for (int64_t m = 0; m < A.width; m++) {
                sum += a[m] * b[B.turned ? m * B.ld : m];
            }
            row[range[i].column] = (float)scale * sum;
        }
    }
}

static void link_mix_f32(const asc_panel *p, double scale, const void *P, asc_matrix B, asc_matrix A)
{
    for (int64_t r = 0; r < p->rows; r++) {
        const float *row = (const float *)P + r * p->columns;
        asc_panel_range range[ASC_MOST_RANGES];
        int n = asc_panel_ranges(p, r, range);
        for (int i = first_slot(p, range, n); i < n; i++) {
            asc_kernels_f32()->axpy(asc_matrix_row(A, p->first + r), (float)scale * row[range[i].column],
                                    asc_matrix_row(B, range[i].key), A.width);
        }
    }
}

static void link_collect_f32(const asc_panel *p, double scale, const void *P, asc_matrix A, asc_matrix B)
{
    for (int64_t r = 0; r < p->rows; r++) {
        const float *row = (const float *)P + r * p->columns;
        asc_panel_range range[ASC_MOST_RANGES];
        int n = asc_panel_ranges(p, r, range);
        for (int i = first_slot(p, range, n); i < n; i++) {
            asc_kernels_f32()->axpy(asc_matrix_row(B, range[i].key), (float)scale * row[range[i].column],
                                    asc_matrix_row(A, p->first + r), A.width);
        }
    }
}

/* ---- end of float ---- */
#include "ops/attention/panel_products.f64.h"

asc_matrix asc_head_matrix(const asc_array *a, int64_t b, int64_t h, int64_t heads)
{
    int64_t ld = a->shape[2], width = ld / heads;
    char *data = a->data;
    size_t first = (size_t)(b * a->shape[1] * ld + h * width) * asc_dtype_size(a->dtype);
    return (asc_matrix){.dtype = a->dtype, .data = data ? data + first : NULL, .width = width, .ld = ld};
}

/* ---- copies ---- */

bool asc_panel_copies_pay(const asc_allowed *J, int64_t chunks)
{
    asc_allowed all = *J;
    all.lengths = NULL;
    int64_t pairs = 0;
    for (int64_t i = 0; i < asc_head_panels(J); i++) {
        asc_panel p = asc_panel_at(&all, i);
        pairs += p.rows * p.columns;
    }
    return pairs >= ASC_PANEL * J->M * chunks;
}

asc_matrix asc_panel_pack(asc_matrix A, int64_t first, int64_t rows, void *to)
{
    size_t row = (size_t)A.width * asc_dtype_size(A.dtype);
    for (int64_t j = 0; j < rows; j++) {
        memcpy((char *)to + (size_t)j * row, asc_matrix_row(A, first + j), row);
    }
    return (asc_matrix){.dtype = A.dtype, .data = to, .width = A.width, .ld = A.width};
}

asc_panel asc_panel_alone(const asc_panel *p)
{
    asc_panel alone = *p;
    alone.first = 0;
    return alone;
}

asc_matrix asc_panel_turn(asc_matrix A, int64_t rows, void *to)
{
    asc_matrix turned = {
        .dtype = A.dtype, .data = to, .width = A.width, .ld = asc_turned_ld(rows), .turned = true};
    BY_DTYPE(A.dtype, turn)(A, rows, turned);
    return turned;
}

/* ---- products ---- */

/* OpenBLAS has kernels that do not pack, for products of up to SMALL multiply-adds: a panel's columns are taken in
 * pieces that are as small, or all at once where a row is too wide for pieces of some size. */
enum { SMALL = 1000000, LEAST_PIECE = 64 };

/* The piece that begins with a column that is no slot, or is the first of them; without columns behind the last one. */
static asc_panel_range piece_at(const asc_panel *p, int64_t width, int64_t column)
{
    int64_t piece = SMALL / (p->rows * (width > 0 ? width : 1)) / LEAST_PIECE * LEAST_PIECE;
    bool global = column < p->globals;
    column += column == p->globals ? p->low : 0;
    int64_t n = (global ? p->globals : asc_panel_slot(p, true)) - column;
    int64_t key = global ? column : column - p->globals - p->low + p->from;
    return (asc_panel_range){column, key, piece > 0 && piece < n ? piece : n};
}

static asc_panel_range piece_after(const asc_panel *p, int64_t width, const asc_panel_range *piece)
{
    return piece_at(p, width, piece->column + piece->n);
}

/* A panel P from a column on. */
static void *column_at(asc_dtype dtype, const void *P, int64_t column)
{
    return (char *)P + (size_t)column * asc_dtype_size(dtype);
}

void asc_panel_scores(const asc_panel *p, double scale, asc_matrix A, asc_matrix B, void *P)
{
    int64_t step = B.turned ? 1 : B.ld;
    for (asc_panel_range c = piece_at(p, A.width, 0); c.n > 0; c = piece_after(p, A.width, &c)) {
        asc_gemm_run(&(asc_gemm){.dtype = A.dtype,
                                 .packs = p->J->packs,
                                 .tb = !B.turned,
                                 .m = p->rows,
                                 .n = c.n,
                                 .k = A.width,
                                 .alpha = scale,
                                 .a = asc_matrix_row(A, p->first),
                                 .lda = A.ld,
                                 .b = column_at(B.dtype, B.data, c.key * step),
                                 .ldb = B.ld,
                                 .c = column_at(A.dtype, P, c.column),
                                 .ldc = p->columns});
    }
    if (has_slots(p)) {
        BY_DTYPE(A.dtype, link_scores)(p, scale, A, B, P);
    }
}

void asc_panel_mix(const asc_panel *p, double scale, const void *P, asc_matrix B, bool add, asc_matrix A)
{
    if (!A.data) {
        return;
    }
    asc_panel_range c = piece_at(p, A.width, 0);
    bool begun = add;
    do { /* once without columns, too: a sum of nothing */
        asc_gemm_run(&(asc_gemm){.dtype = A.dtype,
                                 .packs = p->J->packs,
                                 .m = p->rows,
                                 .n = A.width,
                                 .k = c.n,
                                 .alpha = scale,
                                 .a = column_at(A.dtype, P, c.column),
                                 .lda = p->columns,
                                 .b = asc_matrix_row(B, c.key),
                                 .ldb = B.ld,
                                 .beta = begun,
                                 .c = asc_matrix_row(A, p->first),
                                 .ldc = A.ld});
        c = piece_after(p, A.width, &c);
        begun = true;
    } while (c.n > 0);
    if (has_slots(p)) {
        BY_DTYPE(A.dtype, link_mix)(p, scale, P, B, A);
    }
}

void asc_panel_collect(const asc_panel *p, double scale, const void *P, asc_matrix A, asc_matrix B)
{
    asc_panel_range c = piece_at(p, A.width, 0);
    for (; B.data && c.n > 0; c = piece_after(p, A.width, &c)) {
        asc_gemm_run(&(asc_gemm){.dtype = A.dtype,
                                 .packs = p->J->packs,
                                 .ta = true,
                                 .m = c.n,
                                 .n = A.width,
                                 .k = p->rows,
                                 .alpha = scale,
                                 .a = column_at(A.dtype, P, c.column),
                                 .lda = p->columns,
                                 .b = asc_matrix_row(A, p->first),
                                 .ldb = A.ld,
                                 .beta = 1,
                                 .c = asc_matrix_row(B, c.key),
                                 .ldc = B.ld});
    }
    if (B.data && has_slots(p)) {
        BY_DTYPE(A.dtype, link_collect)(p, scale, P, A, B);
    }
}
