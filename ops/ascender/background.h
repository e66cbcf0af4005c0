/* ops/ascender/background.h: what the files of the op ascender_background share; ops/ascender/background.c says what is
 * computed. */
#ifndef OPS_ASCENDER_BACKGROUND_H
#define OPS_ASCENDER_BACKGROUND_H

#include "ops/ascender/epsilon.h"
#include "ops/attention/heads.h"
#include "ops/attention/neighbors.h"
#include "ops/shared/carve.h"

/* ---- the op's inputs, outputs, saved arrays ---- */

enum {
    BACKGROUND_Q, BACKGROUND_K, BACKGROUND_V, BACKGROUND_Z, BACKGROUND_H, BACKGROUND_HEADING,
    BACKGROUND_SCALARS, /* asc_background_scalar, in order */
    BACKGROUND_REL_BIAS = BACKGROUND_SCALARS + ASC_BACKGROUND_SCALARS,
    BACKGROUND_LENGTHS, BACKGROUND_MASK, BACKGROUND_NEIGHBORS, BACKGROUND_K_OF, BACKGROUND_DENSITY,
    BACKGROUND_BIAS, BACKGROUND_INPUTS,
};
enum { BACKGROUND_Y, BACKGROUND_RHO };
/* Saved: the rows' constants, as f64; the neighbours, i64, -1 behind the last; the centroids c. */
enum { BACKGROUND_ROWS, BACKGROUND_LISTS, BACKGROUND_CENTROIDS };

typedef struct asc_background_row {
    double lse;               /* of the scores over τ_score + ε */
    double base, mean, sigma; /* of the separation: base + mean is its mean; sigma 0: it counts as constant */
} asc_background_row;

typedef struct asc_background_attrs {
    asc_ascender_options o; /* k_of aside, which is an input */
} asc_background_attrs;

/* ---- a call; arrays are of its dtype where nothing is said ---- */

typedef struct asc_background_call {
    asc_call *call;
    const asc_ascender_options *o;
    asc_dtype dtype;
    asc_allowed J;    /* of the softmax */
    asc_allowed rows; /* of the rows' statistics, and of the panels: J, or all keys */
    bool apart;       /* these differ */
    bool mutual;      /* a row may be a neighbour of other keys that it looks at; then N = M */
    asc_position_bias positions;
    asc_given_bias given;
    asc_neighbor_rule rule;
    int64_t capacity; /* places of a list of neighbours */
    double scale;     /* 1/√d */
    int64_t d, dz;
    int64_t ld;       /* from row to row of a transposed array: asc_head_ld(M) */

    const asc_array *heading;      /* what headings are made of */
    void *units;                   /* like it: unit headings u */
    void *places_t;                /* [B, H, dz, ld]: z, transposed */
    const void *like, *like_t;     /* forward: what chooses neighbours, (B, like_rows, H w); of keys, [B, H, w, ld] */
    int64_t like_width, like_rows; /* w; N or M */
    void *rho;                     /* [B, H, M] */
    int64_t *first_chooser;        /* mutual: [B, H, N + 1], where the list of those that chose a key begins … */
    int32_t *choosers;             /* … in here, [B, H, N capacity], rising */

    /* A worker's */
    int64_t widest;
    bool backward;
    char *space;
    size_t space_size;

    /* backward: sums over queries of k, v, z, u, places and densities; of the scalars, one for each piece of a head */
    asc_panel_sums dkeys, dvalues, dz_rows, dunits, dplaces_t, drho;
    asc_table_sums table;
    double *scalar_sums; /* [B, H, pieces][ASC_BACKGROUND_SCALARS] */
} asc_background_call;

/* The keys that a row is linked with, its neighbours or those that it is a neighbour of: there β^align and β^coh are
 * not always 0. */
typedef struct asc_background_links {
    int64_t n;
    int64_t *key, *entry; /* which they are, and which of the row's entries */
    void *x;              /* β */
} asc_background_links;

/* A worker's memory. */
typedef struct asc_background_space {
    void *scores, *squares;                /* [ASC_PANEL, widest]: S, d²; and backward */
    void *dscores, *weights;               /* dA, then dS; w^sep, then its gradient */
    void *rho, *rho_row, *row;             /* [room]: ρ of a panel's columns, of a row's entries; of any use */
    void *points, *dpoints;                /* [ASC_PANEL, dz]: the queries' places, and a gradient */
    int32_t *columns, *softmax_columns;    /* [widest], with a mask: of the row's statistics, of its softmax */
    asc_background_links align, coh;       /* of one row */
} asc_background_space;

/* A head's scalars as the formulas use them. */
typedef struct asc_background_scalars {
    asc_background_bias bias;
    double theta, omega_align, omega_sep, omega_coh;
    double score; /* 1/(τ_score + ε) */
} asc_background_scalars;

/* A worker at a panel. */
typedef struct asc_background_work {
    const asc_background_call *b;
    asc_background_space at;
    asc_panel p;
    asc_background_scalars g;
} asc_background_work;

/* ---- a call: ops/ascender/background_call.c ---- */

static inline const asc_ascender_options *asc_background_options(const asc_call *call)
{
    return &((const asc_background_attrs *)call->attrs)->o;
}
/* The sizes and the set but for the inputs `lengths` and `mask`; how neighbours are chosen; places of a list. */
asc_allowed asc_background_sizes(const asc_call *call);
asc_neighbor_rule asc_background_rule(const asc_call *call);
int64_t asc_background_capacity(const asc_neighbor_rule *rule);
/* A call with the memory of its workers, units and transposed places. ASC_ERR_MEMORY. */
asc_status asc_background_call_begin(asc_call *call, bool backward, asc_background_call *b);
/* ρ of all keys, the given ones and those of the queries; who chose whom. Once the queries' ρ and lists are there. */
void asc_background_gather(asc_background_call *b);

asc_background_space asc_background_space_of(const asc_background_call *b, int worker);
asc_background_scalars asc_background_head_of(const asc_background_call *b, int64_t h);
/* The pieces of a head's sums of scalars: its chunks, and what densities add at last. */
int64_t asc_background_pieces(const asc_background_call *b);
/* The head's part of a (B, n, H w) array. */
asc_matrix asc_background_matrix(const asc_background_call *b, const asc_panel *p, const asc_array *a);
/* What is saved of query i: its constants; its centroid; the list of its neighbours, and how many they are. */
asc_background_row *asc_background_row_of(const asc_background_call *b, const asc_panel *p, int64_t i);
void *asc_background_centroid(const asc_background_call *b, const asc_panel *p, int64_t i);
int64_t *asc_background_list(const asc_background_call *b, const asc_panel *p, int64_t i);
int64_t asc_background_listed(const asc_background_call *b, const int64_t *list);

/* ---- scores of a panel, for both passes: ops/ascender/background_scores.c ---- */

/* A row's β̃ = coef (β - mean): coef is 1/(σ + ε), or 0 for a constant row. */
typedef struct asc_background_norm {
    double mean, sigma, coef;
    int64_t n;
    double divisor; /* of its squares: n or n - 1 */
} asc_background_norm;

asc_background_norm asc_background_norm_of(double mean, double sigma, int64_t n, bool unbiased);
/* A panel: S/(τ_score + ε) still without the biases by links and separation, d², ρ of its columns. */
void asc_background_measure(asc_background_work *w, int64_t index);
/* ρ of a row's entries. */
const void *asc_background_row_rho(asc_background_work *w, const asc_panel_row *row);
/* Adds what the row's links have of alignment and cohesion to S, the row's entries; finds the links and their β. */
void asc_background_add_links(asc_background_work *w, const asc_panel_row *row, int64_t i, void *S,
                              asc_background_norm *align, asc_background_norm *coh);
/* The row r of a panel from scores, compacted as `row` is, to attention in all columns, 0 outside of J; `known`: by way
 * of the log-sum-exp, which is there already. */
void asc_background_attend(asc_background_work *w, int64_t r, const asc_panel_row *row, void *A, bool known);

/* ---- the two passes: ops/ascender/background_forward.c, ops/ascender/background_backward.c; ASC_ERR_MEMORY ---- */

asc_status asc_background_forward(asc_call *call);
asc_status asc_background_backward(asc_call *call);

#endif
