/* ops/attention/panel.h: panels: ASC_PANEL queries of one head against every key that any of them may look at. What the
 * attention ops share: the allowed sets, the softmax of a row, products, position biases, sums over queries.
 *
 * An op that attends works panel by panel, so that its memory is linear in the number of positions:
 *
 *   forward    asc_parallel over asc_panels(J) pieces, each one panel: asc_panel_at, asc_panel_scores into a buffer
 *              [rows, columns], every row compacted (asc_panel_row_of, asc_panel_compact), worked on, and spread again
 *              (asc_panel_spread), asc_panel_mix.
 *   backward   the same panels, which also add to what belongs to the keys (asc_panel_collect). Sums over queries are
 *              taken in chunks: every C-th panel of a head, in order, into a buffer of the chunk's own
 *              (asc_panel_sums), and the chunks are added in order. C depends on the problem alone: the same bits for
 *              any number of threads.
 *
 * A buffer holds the keys [0, globals) and [from, to) side by side, so a window with global tokens costs O(N (w + g)).
 * Random links are each row's own: what of them lies between the ranges, or behind them, has slots there, columns whose
 * key differs from row to row. So a row's entries stand in rising order of their keys, whatever it looks at.
 * Everything takes f32 and f64; no function allocates or fails unless it returns a status. */
#ifndef OPS_PANEL_H
#define OPS_PANEL_H

#include <math.h>

#include "ops/shared/op.h"

enum { ASC_PANEL = 32, ASC_MOST_LINKS = 32, ASC_MOST_RANGES = ASC_MOST_LINKS + 2 };

static inline int64_t asc_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t asc_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Which keys a call's queries may look at. With a window: |position - j| < window, or j < globals, or
 * position < globals, or j is one of `random` links of that position (tensor/splitmix.h) among the keys, or if causal
 * those up to the position; causal: j <= position; lengths: j < lengths[b]; mask: where it is not 0. */
typedef struct asc_allowed {
    int64_t B, H, N, M; /* batch, heads, queries, keys */
    bool apart;         /* the queries are none of the keys; else the last N <= M of them, wherever that matters */
    bool causal;
    int64_t window, globals; /* window 0: none */
    int64_t random;          /* links of a query, at most ASC_MOST_LINKS; with a window only */
    const int64_t *lengths;  /* [B], or NULL */
    const uint8_t *mask;     /* or NULL; element (b, h, i, j) with these strides */
    int64_t mask_stride[4];
    asc_ctx *packs;                /* asc_packs of the call's context: how panels' products are computed */
    bool joins_batch, joins_heads; /* of the backward pass: a piece of work takes all of these, one after the other */
} asc_allowed;

/* Where query i stands among the keys: the queries are the last N of M positions, or, apart, behind them all. */
static inline int64_t asc_allowed_position(const asc_allowed *J, int64_t i)
{
    return i + J->M - (J->apart ? 0 : J->N);
}

/* A matrix of rows of `width` elements, `ld` apart: a head's part of an array. data NULL: there is none. turned: it
 * stands transposed, element m of row j at m ld + j. */
typedef struct asc_matrix {
    asc_dtype dtype;
    void *data;
    int64_t width, ld;
    bool turned;
} asc_matrix;

static inline void *asc_matrix_row(asc_matrix m, int64_t row)
{
    return m.data ? (char *)m.data + (size_t)(row * m.ld) * asc_dtype_size(m.dtype) : NULL;
}

typedef struct asc_panel {
    int64_t b, h;
    int64_t first, rows;       /* queries first … first + rows - 1 */
    int64_t globals, from, to; /* its columns: keys [0, globals), then [from, to); globals <= from; */
    int64_t low, high;         /* so many slots for links between these, and behind them */
    int64_t columns;           /* the number of all */
    int64_t position;          /* of the first query among the keys */
    const asc_allowed *J;
} asc_panel;

/* Keys that a query is linked with at random, beside those that it looks at anyway. */
typedef struct asc_panel_links {
    int low, high;               /* how many are in slots, in either place; */
    int32_t key[ASC_MOST_LINKS]; /* which these are, rising */
} asc_panel_links;

/* The keys that a row may look at, its entries, in rising order. */
typedef struct asc_panel_row {
    int64_t n;           /* their number; */
    int64_t start;       /* where in the row they stand, one behind the other, once it is compacted; */
    int64_t self;        /* which one is the query's own position; -1: none */
    int64_t position;    /* of the query */
    int64_t globals;     /* in the row as it is: columns [0, globals) and, `list` aside, */
    int64_t near;        /* the others from column `near` on */
    const int32_t *list; /* with a mask or links: the entries' columns, rising; else NULL */
    asc_panel_links links;
} asc_panel_row;

/* ---- for infer ---- */

/* heads is at least 1, neither window, globals nor random is negative, and both of the latter come with a window only;
 * random is at most ASC_MOST_LINKS. */
asc_status asc_expect_window(asc_call *call, int64_t heads, int64_t window, int64_t globals, int64_t random);
/* Input `lengths` is absent or i64 (B), input `mask` absent or u8 of a shape that broadcasts to (B, H, N, M). */
asc_status asc_expect_allowed(asc_call *call, int lengths, int mask, const asc_allowed *J);
/* The two inputs into J, whose sizes are set. */
void asc_allowed_inputs(asc_allowed *J, const asc_array *lengths, const asc_array *mask);
/* How many pairs (query, key) of all heads are allowed. O(B N), with a mask O(B H N M). */
double asc_allowed_pairs(const asc_allowed *J);

/* ---- panels and their rows ---- */

/* The number of panels of a head, and of the call. */
static inline int64_t asc_head_panels(const asc_allowed *J)
{
    return (J->N + ASC_PANEL - 1) / ASC_PANEL;
}
static inline int64_t asc_panels(const asc_allowed *J)
{
    return J->B * J->H * asc_head_panels(J);
}
/* Panel `index` of the call: head by head, in the order of the queries. */
asc_panel asc_panel_at(const asc_allowed *J, int64_t index);
/* The most columns of any panel. */
int64_t asc_panel_widest(const asc_allowed *J);

/* Whether rows need lists; then `list` has room for the panel's columns, and must live as long as the row. Row r of a
 * panel, which may be one of a larger set. */
static inline bool asc_panel_lists(const asc_allowed *J)
{
    return J->mask || J->random > 0;
}
asc_panel_row asc_panel_row_of(const asc_allowed *J, const asc_panel *p, int64_t r, int32_t *list);
/* Moves the entries of a row of a buffer [rows, columns] together; they then are x[row->start … + row->n - 1]. */
void asc_panel_compact(const asc_panel_row *row, asc_dtype dtype, void *x);
/* The reverse, and 0 in all other columns. */
void asc_panel_spread(const asc_panel *p, const asc_panel_row *row, asc_dtype dtype, void *x);
/* The columns of a panel's row as ranges of keys that lie together: at most two that all rows have, and a range of one
 * for each of the row's slots in use. Returns their number. */
typedef struct asc_panel_range {
    int64_t column, key, n;
} asc_panel_range;
int asc_panel_ranges(const asc_panel *p, int64_t r, asc_panel_range out[ASC_MOST_RANGES]);

/* The same of a whole panel, for kernels that take rows × keys: rows row … row + rows - 1 and one range at a time.
 *     for (asc_panel_tile t = asc_panel_tile_first(p); t.n > 0; asc_panel_tile_next(p, &t)) */
typedef struct asc_panel_tile {
    int64_t row, rows, column, key, n;
    int next;              /* of the row's links; -1: the range behind the globals, -2: all links */
    asc_panel_links links;
} asc_panel_tile;
asc_panel_tile asc_panel_tile_first(const asc_panel *p);
void asc_panel_tile_next(const asc_panel *p, asc_panel_tile *t);

/* Where slots begin: the low ones, and the high ones. */
static inline int64_t asc_panel_slot(const asc_panel *p, bool high)
{
    return high ? p->columns - p->high : p->globals;
}
/* The key of a row's column, and of an entry. */
static inline int64_t asc_panel_key(const asc_panel *p, const asc_panel_row *row, int64_t column)
{
    if (column < p->globals) {
        return column;
    }
    if (column < p->globals + p->low) {
        return row->links.key[column - p->globals];
    }
    int64_t high = column - asc_panel_slot(p, true);
    return high < 0 ? column - p->globals - p->low + p->from : row->links.key[row->links.low + high];
}
static inline int64_t asc_panel_entry_key(const asc_panel *p, const asc_panel_row *row, int64_t entry)
{
    int64_t column = entry < row->globals ? entry : entry - row->globals + row->near;
    return asc_panel_key(p, row, row->list ? row->list[entry] : column);
}
/* The reverse: the entry of a key; -1: it is not among the row's. */
int64_t asc_panel_entry_of(const asc_panel *p, const asc_panel_row *row, int64_t key);
/* Writes `value` to the columns of row r that J does not allow, of a panel of all keys. */
void asc_panel_fill_outside(const asc_allowed *J, const asc_panel *p, int64_t r, asc_dtype dtype, void *x,
                            double value);

/* What a softmax divided by: exp(max + log_sum), the row's log-sum-exp in two parts. */
typedef struct asc_log_sum_exp {
    double max, log_sum;
} asc_log_sum_exp;

/* n scores of a compacted row become their softmax; 0, of (0, 0), where there are none or all are -∞. A NaN spreads. */
asc_log_sum_exp asc_panel_softmax_f32(float *x, int64_t n);
asc_log_sum_exp asc_panel_softmax_f64(double *x, int64_t n);

/* e^(x - lse) of a row, which add up to `total`, become numbers that add up to 1, as the softmax's own do: lse is
 * rounded as a number of its size, and what the gradient of a softmax has too much goes to all that its row shares. */
void asc_panel_sum_to_1_f32(float *x, float total, int64_t n);
void asc_panel_sum_to_1_f64(double *x, double total, int64_t n);

/* ---- products: ops/attention/panel_products.c; P is a buffer [rows, columns], A of the queries, B of the keys ---- */

/* The part of a (B, n, H w) array that belongs to a head; w = its last size / H. */
asc_matrix asc_head_matrix(const asc_array *a, int64_t b, int64_t h, int64_t heads);

/* A head's rows lie apart from each other in memory, at equal steps, which costs caches more than a copy, and a product
 * with Bᵀ more than one with B: keys that many queries look at are copied first. */

/* Whether the panels of a chunk, one of `chunks` of a head, look at their keys often enough for that. */
bool asc_panel_copies_pay(const asc_allowed *J, int64_t chunks);
/* Rows first … first + rows - 1 of A, side by side in `to`, [rows, A.width]. */
asc_matrix asc_panel_pack(asc_matrix A, int64_t first, int64_t rows, void *to);
/* All rows of A turned, in `to`, [A.width, asc_turned_ld(rows)]. */
asc_matrix asc_panel_turn(asc_matrix A, int64_t rows, void *to);

/* The panel as one whose rows are a whole matrix. */
asc_panel asc_panel_alone(const asc_panel *p);

/* P = scale A Bᵀ, fastest with B turned; A is not. */
void asc_panel_scores(const asc_panel *p, double scale, asc_matrix A, asc_matrix B, void *P);
/* A (+)= scale P B, for the panel's rows of A; nothing without an A. */
void asc_panel_mix(const asc_panel *p, double scale, const void *P, asc_matrix B, bool add, asc_matrix A);
/* B += scale Pᵀ A, for the panel's columns; nothing without a B. */
void asc_panel_collect(const asc_panel *p, double scale, const void *P, asc_matrix A, asc_matrix B);

/* ---- position biases: ops/attention/position_bias.c ---- */

/* What is added to scores: -2^(-8(h+1)/H)·|position - j|, and entry clamp(j - position, -R, R) + R of a table. */
typedef struct asc_position_bias {
    bool alibi;
    int64_t R;
    const void *table; /* [H, 2R + 1], or NULL */
} asc_position_bias;

static inline double asc_alibi_slope(int64_t h, int64_t heads)
{
    return exp2(-8 * (double)(h + 1) / (double)heads);
}

/* For infer: input `table` is absent, or (H, 2R + 1) of the first input's dtype. */
asc_status asc_expect_position_table(asc_call *call, int input, int64_t heads);
asc_position_bias asc_position_bias_of(const asc_call *call, int input, bool alibi);
/* P += β, in every column. */
void asc_panel_add_bias(const asc_allowed *J, const asc_panel *p, const asc_position_bias *bias, asc_dtype dtype,
                        void *P);

/* The gradient of a table, a sum over queries. */
typedef struct asc_table_sums {
    asc_call *call;
    int input;
    int64_t R, chunks;
    void *parts; /* [B, H, chunks][2R + 1]; NULL: not wanted */
} asc_table_sums;

/* Room for it, 0. ASC_ERR_MEMORY. */
asc_status asc_table_sums_begin(asc_call *call, const asc_allowed *J, int input, asc_table_sums *t);
/* A chunk's part += what dP, 0 outside of the allowed set, says of the table. */
void asc_table_sums_collect(const asc_table_sums *t, const asc_allowed *J, const asc_panel *p, int64_t chunk,
                            const void *dP);
/* Adds the parts to the input's gradient, in the order of batch entries and chunks, in the table's own dtype. */
void asc_table_sums_end(const asc_table_sums *t, const asc_allowed *J);

/* ---- a bias of the caller's: ops/attention/given_bias.c ---- */

/* β_ij of all pairs, which batch entries and heads may share, and its gradient. */
typedef struct asc_given_bias {
    asc_dtype dtype;
    const void *data;  /* [1 or B, 1 or H, N, M]; NULL: none */
    void *grad;        /* the same; NULL: not wanted */
    int64_t stride[3]; /* of b, h and i, 0 where they share */
} asc_given_bias;

/* For infer: the input is absent, or (N, M), (1 or H, N, M) or (1 or B, 1 or H, N, M) of the first input's dtype. */
asc_status asc_expect_given_bias(asc_call *call, int input, const asc_allowed *J);
asc_given_bias asc_given_bias_of(const asc_call *call, int input, const asc_allowed *J);
/* For a backward pass: clears the gradient where it has to, and has J join those that share it. */
void asc_given_bias_begin(asc_call *call, int input, asc_allowed *J);
/* P += β, in every column; dβ += dP, 0 outside of the allowed set, of one head after the other of those that share. */
void asc_panel_add_given(const asc_panel *p, const asc_given_bias *bias, void *P);
void asc_panel_collect_given(const asc_panel *p, const asc_given_bias *bias, const void *dP);

/* ---- sums over queries: ops/attention/panel_sums.c ---- */

/* C: the chunks of a head; asc_panel_strands × C pieces of work, piece s C + c being the panels c, c + C, … of the
 * heads of strand s, one after the other: a single head, but where J joins some. */
int64_t asc_panel_chunks(const asc_allowed *J);
int64_t asc_panel_strands(const asc_allowed *J);
/* How many heads are in a strand, and the m-th of them, as b H + h. */
int64_t asc_strand_heads(const asc_allowed *J);
int64_t asc_strand_head(const asc_allowed *J, int64_t strand, int64_t m);
/* The same for work that adds nothing up, whose chunks cost no memory: twice as many where there are few heads. */
int64_t asc_panel_forward_chunks(const asc_allowed *J);
/* So many strands, and so many chunks of their heads, are summed at a time: enough for the context's threads, so that
 * memory grows with these and not with the chunks, while the sums, chunk after chunk, are the same. */
typedef struct asc_panel_rounds {
    int64_t strands, chunks;
} asc_panel_rounds;

asc_panel_rounds asc_panel_rounds_of(const asc_ctx *ctx, const asc_allowed *J);

/* A sum over queries in the making: target [B, H, M, w] of any strides, usually a row for each key, and what the
 * chunks after the first add. */
typedef struct asc_panel_sums {
    asc_dtype dtype;
    void *target; /* NULL: not wanted */
    void *more;   /* of a round's chunks and heads, [M, w] each, or NULL */
    bool fresh;   /* the target is written, not added to */
    asc_allowed J;
    int64_t M, width, chunks;
    asc_panel_rounds rounds;
    int64_t strand, chunk; /* with which the round begins that is being added */
    int64_t stride[3];     /* of the target: b, h, j */
} asc_panel_sums;

/* For the gradient of a (B, M, H w) input, grad_in[input], which may not be wanted. ASC_ERR_MEMORY. */
asc_status asc_panel_sums_of_input(asc_call *call, const asc_allowed *J, int input, asc_panel_sums *sums);
/* For memory [B, H, rows, width] of the caller's, written. ASC_ERR_MEMORY. */
asc_status asc_panel_sums_of(asc_call *call, const asc_allowed *J, asc_dtype dtype, void *memory, int64_t rows,
                             int64_t width, asc_panel_sums *sums);
/* The matrix [rows, width] to which a chunk adds; clears it first where it has to: once for each piece. */
asc_matrix asc_panel_sums_begin(const asc_panel_sums *sums, int64_t b, int64_t h, int64_t chunk);
/* Runs the pieces of work s C + c, round by round, and adds the n sums' chunks up in order. */
void asc_panel_sum_up(asc_ctx *ctx, const asc_allowed *J, const asc_panel_sums *const *sums, int n, asc_piece_fn *piece,
                      void *arg);

/* The gradients of n inputs [H] from `first` on: grad_in[first + i][h] (+)= Σ sums[·, h, ·][i], sums [B, H, pieces][n],
 * in order and in double. */
void asc_head_scalars_end(asc_call *call, const asc_allowed *J, int first, int n, int64_t pieces, const double *sums);

#endif
