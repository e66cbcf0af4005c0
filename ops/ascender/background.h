/* ops/ascender/background.h: a call of ascender_background, as its files see it. */
#ifndef OPS_ASCENDER_BACKGROUND_H
#define OPS_ASCENDER_BACKGROUND_H

#include "ops/attention/heads.h"
#include "ops/attention/neighbors.h"

enum {
    BACKGROUND_Q, BACKGROUND_K, BACKGROUND_V, BACKGROUND_Z, BACKGROUND_H, BACKGROUND_HEADING,
    BACKGROUND_SCALARS, /* asc_background_scalar, in order */
    BACKGROUND_REL_BIAS = BACKGROUND_SCALARS + ASC_BACKGROUND_SCALARS,
    BACKGROUND_LENGTHS, BACKGROUND_MASK, BACKGROUND_NEIGHBORS, BACKGROUND_K_OF, BACKGROUND_DENSITY,
    BACKGROUND_INPUTS,
};
enum { BACKGROUND_Y, BACKGROUND_RHO };

/* Saved: the rows' constants, as f64; the neighbours, i64, rising, -1 behind the last; the centres c. */
enum { BACKGROUND_ROWS, BACKGROUND_LISTS, BACKGROUND_CENTERS };
typedef struct asc_background_row {
    double lse;         /* of the scores over τ_score + ε */
    double base, mean, sigma; /* of the separation: base + mean is its mean; sigma 0: it counts as constant */
} asc_background_row;

/* A call. Arrays are of its dtype where nothing is said. */
typedef struct asc_background_call {
    asc_call *call;
    const asc_ascender_options *o;
    asc_allowed J;         /* the keys that take part in the softmax … */
    asc_allowed statistics; /* … and in the rows' statistics: J, or all */
    bool apart;            /* these differ */
    bool mutual;           /* a row may be a neighbour of other keys that it looks at; then N = M */
    asc_position_bias bias;
    asc_neighbor_rule rule;
    double scale;          /* 1/√d */
    int64_t d, d_z, capacity, widest;
    const asc_array *heading;
    void *units;           /* (B, M, H d) u */
    void *places;          /* [B, H, d_z, ld] z, transposed */
    int64_t ld;            /* asc_head_ld(M) */
    const void *like, *likes; /* forward: what chooses neighbours, (B, N or M, H w) and, of the keys, [B, H, w, ld] */
    int64_t like_width, like_rows; /* w; N or M */
    void *rho;             /* [B, H, M] */
    int64_t *first_chooser; /* mutual: [B, H, N + 1] where the list of those that chose a key begins … */
    int32_t *choosers;      /* … in here, [B, H, N capacity], rising */
    /* Of each worker: */
    int64_t panels;        /* how many [ASC_PANEL, widest], */
    int64_t row_room;      /* BACKGROUND_ROW_BUFFERS rows of so many elements, */
    int64_t link_room;     /* BACKGROUND_LINK_LISTS lists of so many, */
    void *space;           /* these panels and rows, and 2 [ASC_PANEL, d_z] of points; */
    int64_t *links;
    int32_t *lists;        /* 2 [widest], with a mask */
    /* backward */
    asc_panel_sums dk, dv, dz, du, dplaces, drho;
    void *du_sum, *dplaces_sum, *drho_sum; /* [B, H, M, d], [B, H, d_z, ld], [B, H, M] */
    asc_table_sums table;
    double *scalar_sums;   /* [B, H, chunks + 1][ASC_BACKGROUND_SCALARS] */
} asc_background_call;

enum { BACKGROUND_ROW_BUFFERS = 5, BACKGROUND_LINK_LISTS = 4 };

static inline int64_t asc_background_head(const asc_background_call *b, const asc_panel *p)
{
    return p->b * b->J.H + p->h;
}

/* A worker's panel, row, points (one behind the other, at least three of [widest] or so) and list. */
static inline void *asc_background_space(const asc_background_call *b, int worker, int64_t element)
{
    int64_t panels = b->panels * ASC_PANEL * b->widest, rows = BACKGROUND_ROW_BUFFERS * b->row_room;
    int64_t all = panels + rows + 2 * ASC_PANEL * b->d_z;
    return (char *)b->space + (size_t)(worker * all + element) * asc_dtype_size(b->call->in[0].dtype);
}
static inline void *asc_background_panel(const asc_background_call *b, int worker, int64_t which)
{
    return asc_background_space(b, worker, which * ASC_PANEL * b->widest);
}
static inline void *asc_background_row_buffer(const asc_background_call *b, int worker, int64_t which)
{
    return asc_background_space(b, worker, b->panels * ASC_PANEL * b->widest + which * b->row_room);
}
static inline void *asc_background_points(const asc_background_call *b, int worker, int64_t which)
{
    return asc_background_space(b, worker, b->panels * ASC_PANEL * b->widest + BACKGROUND_ROW_BUFFERS * b->row_room +
                                               which * ASC_PANEL * b->d_z);
}
static inline int32_t *asc_background_list(const asc_background_call *b, int worker, int64_t which)
{
    return b->lists ? b->lists + (worker * 2 + which) * b->widest : NULL;
}

/* A head's scalars as the formulas use them. */
typedef struct asc_background_scalars {
    asc_background_bias bias;
    double theta, omega_align, omega_sep, omega_coh;
    double inverse; /* 1/(τ_score + ε) */
} asc_background_scalars;

static const double asc_background_eps = 1e-6;

asc_background_scalars asc_background_head_of(const asc_background_call *b, int64_t h);

/* The sums of a head's scalars: one for each chunk, and what the densities add. */
static inline int64_t asc_background_pieces(const asc_background_call *b)
{
    return asc_panel_chunks(&b->J) + 1;
}

/* ---- links of a row, and its normalisation: ops/ascender/background_links.c ---- */

/* A row's β̃ = coef (β - mean): coef is 1/(σ + ε), or 0 for a constant row. */
typedef struct asc_background_norm {
    double mean, sigma, coef;
    int64_t n;
    double divisor; /* of its squares: n or n - 1 */
} asc_background_norm;

/* dβ = slope (dS - mean dS) + spread (β - mean) */
typedef struct asc_background_slopes {
    double slope, spread;
} asc_background_slopes;

asc_background_norm asc_background_norm_of(double mean, double sigma, int64_t n, bool unbiased);
/* pull: Σ dS (β - mean). */
asc_background_slopes asc_background_slopes_of(const asc_background_norm *m, double omega, double pull);

/* The keys that a row is linked with, and which of its entries they are. */
typedef struct asc_background_links {
    int64_t n;
    int64_t *key, *entry;
} asc_background_links;

/* Links row i with its neighbours; both ways: also with those that it looks at and is a neighbour of. */
void asc_background_link(const asc_background_call *b, const asc_panel *p, const asc_panel_row *row, int64_t i,
                         bool both_ways, asc_background_links *to);
/* Of a row of n entries that is 0 but for β of its links, x. */
asc_background_norm asc_background_link_norm_f32(const float *x, int64_t links, int64_t n, bool unbiased);
asc_background_norm asc_background_link_norm_f64(const double *x, int64_t links, int64_t n, bool unbiased);
/* S += strength x at the links' entries. */
void asc_background_add_links_f32(float *S, const asc_background_links *l, const float *x, double strength);
void asc_background_add_links_f64(double *S, const asc_background_links *l, const double *x, double strength);
/* x becomes dβ; sum: Σ dS over the whole row. Returns dω. */
double asc_background_link_grad_f32(float *x, const asc_background_links *l, const float *dS, double sum,
                                    const asc_background_norm *m, double omega);
double asc_background_link_grad_f64(double *x, const asc_background_links *l, const double *dS, double sum,
                                    const asc_background_norm *m, double omega);

/* ---- the steps ---- */

void asc_background_list_choosers(asc_background_call *b);
/* Room for the backward pass' sums: ASC_ERR_MEMORY. And what is left to do when all panels are done. */
asc_status asc_background_begin_sums(asc_background_call *b);
void asc_background_end_sums(asc_background_call *b);

/* Pieces of work, for both dtypes: */
asc_piece_fn asc_background_locate_f32, asc_background_locate_f64;     /* neighbours, c, ρ: one panel each */
asc_piece_fn asc_background_forward_f32, asc_background_forward_f64;   /* one panel each */
asc_piece_fn asc_background_backward_f32, asc_background_backward_f64; /* the chunks of each head */
asc_piece_fn asc_background_density_grad_f32, asc_background_density_grad_f64; /* one head each, at last */

#endif
