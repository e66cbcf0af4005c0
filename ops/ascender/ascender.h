/* ops/ascender/ascender.h: what the files of the op ascender share; ops/ascender/ascender.c says what is computed. */
#ifndef OPS_ASCENDER_H
#define OPS_ASCENDER_H

#include "ops/ascender/epsilon.h"
#include "ops/attention/heads.h"
#include "ops/attention/neighbors.h"
#include "ops/attention/panel.h"
#include "ops/shared/carve.h"

/* ---- the op's inputs, outputs, saved arrays ---- */

enum {
    ASCENDER_Q, ASCENDER_K, ASCENDER_V, ASCENDER_Z, ASCENDER_H, ASCENDER_HEADING, ASCENDER_SCALAR,
    ASCENDER_REL_BIAS = ASCENDER_SCALAR + ASC_ASCENDER_SCALARS,
    ASCENDER_LENGTHS, ASCENDER_MASK, ASCENDER_NEIGHBORS, ASCENDER_K_OF, ASCENDER_BIAS, ASCENDER_Z_QUERIES,
    ASCENDER_H_QUERIES, ASCENDER_INPUTS,
};
enum { ASCENDER_Y, ASCENDER_LOSS_COH, ASCENDER_LOSS_SEP, ASCENDER_LOSS_ALIGN, ASCENDER_OUTPUTS };
/* What is kept of each row: numbers, the centroid c, and the neighbours chosen by score. */
enum { ASCENDER_FACTS, ASCENDER_CENTROID, ASCENDER_CHOSEN };

/* The three biases, whose raw scores are x = r^align, φ and the distance ‖z_j - c_i‖² = -r^coh. */
enum { ALIGN, SEP, COH, BIASES };

/* The numbers kept of a row: mean and deviation of each raw score (0: a constant row), ρ, W, V, and the log-sum-exp. */
enum { FACT_MEAN, FACT_SIGMA = FACT_MEAN + BIASES, FACT_RHO = FACT_SIGMA + BIASES, FACT_W, FACT_V, FACT_LSE, FACTS };

typedef struct asc_ascender_attrs {
    asc_ascender_options o; /* k_of aside, which is an input */
    bool losses;
} asc_ascender_attrs;

/* ---- scalars, gates and their gradients: ops/ascender/scores.c ---- */

/* A head's scalars as the formulas use them. */
typedef struct asc_ascender_head {
    double s[ASC_ASCENDER_SCALARS];
    double width_sep, width_coh; /* τ + ε, or τ² + ε */
    double slope_sep, slope_coh; /* their derivatives by τ */
    double score;                /* 1/(τ_score + ε) */
} asc_ascender_head;

/* A row as its gates see it. */
typedef struct asc_ascender_row {
    double n;           /* entries */
    double variance;    /* v of the neighbours' headings; 0 without neighbours */
    double has;         /* 1 with neighbours, else 0 */
    double norm;        /* ‖s‖ */
    double fact[FACTS];
} asc_ascender_row;

/* What the gates make of it: β̃ = coef (x - mean), coef = g/(|g|σ + ε), or g/(σ + ε) with the gates behind. */
typedef struct asc_ascender_gates {
    double gamma_align, eta, gamma_coh;
    double g[BIASES];
    double coef[BIASES];
} asc_ascender_gates;

/* What comes back from a row's scores: dx = slope dS + spread (x - mean), and by way of the gates. */
typedef struct asc_ascender_row_grad {
    double slope[BIASES], spread[BIASES];
    double variance, rho, V; /* gradients of v, ρ and V */
} asc_ascender_row_grad;

asc_ascender_head asc_ascender_head_of(const asc_call *call, int64_t h);
asc_ascender_gates asc_ascender_gates_of(const asc_ascender_attrs *a, const asc_ascender_head *head,
                                         const asc_ascender_row *row);
/* along[b] = Σ dS (x_b - mean_b). Adds to the scalars' gradients ds. */
asc_ascender_row_grad asc_ascender_gates_grad(const asc_ascender_attrs *a, const asc_ascender_head *head,
                                              const asc_ascender_row *row, const asc_ascender_gates *gates,
                                              const double along[BIASES], double *ds);

/* ---- a call's memory ---- */

/* What the panels of a worker hold; the last four backward only. */
enum {
    SCORES, AFFINITY, SQUARES, DIRECTIONS, DISTANCES, PANELS_FORWARD,
    ATTENTION = PANELS_FORWARD, DSCORES, COHESION, DSQUARES, PANELS_BACKWARD,
};

typedef struct asc_ascender_call {
    asc_call *call;
    const asc_ascender_attrs *a;
    asc_dtype dtype;
    asc_allowed J;    /* of the softmax */
    asc_allowed rows; /* of everything else, and of the panels */
    asc_position_bias positions;
    asc_given_bias given;
    asc_neighbor_rule rule;
    bool base_scores; /* the rule chooses by these */
    int64_t d, d_heading, dz, da;
    int64_t ld;       /* from row to row of a transposed array: room to read behind a row's end */
    double scale;     /* 1/√d */

    /* Of all keys, [B, H, M, width]: unit headings and features, places less that of the sequence's first token; and
     * transposed, [B, H, width, ld], the last three where copies pay, else NULL: values backward, and if base scores
     * choose always keys. */
    void *headings, *features, *places;
    void *features_t, *places_t, *keys_t, *headings_t, *values_t;
    /* Of queries that stand apart from the keys, [B, H, N, width]: the same, and the gradient of the features. */
    void *query_features, *query_places, *query_dfeatures;

    /* A worker's: so many panels, of so many columns at most */
    int64_t widest;
    int panels;
    char *space;
    size_t space_size;
    double *partial;  /* sums of pieces: forward losses, [panels][2] and then [heads]; backward scalars, [chunks][…] */
    void *all_u;      /* [B, H, N, d_heading], for the loss of alignment */
    void *all_du;     /* its gradient, the same */

    /* backward: sums over queries, of k, v, z, and of what was prepared */
    asc_panel_sums dkeys, dvalues, dz_rows, dheadings, dfeatures, dplaces_t;
    asc_table_sums table;
} asc_ascender_call;

/* A worker's memory: panels, rows of entries, and the panel's rows of headings and places. */
typedef struct asc_ascender_space {
    void *panel[PANELS_BACKWARD]; /* [ASC_PANEL, widest] each */
    void *row[2];                       /* [widest] each */
    void *sum, *u, *du;                 /* [ASC_PANEL, d_heading] */
    void *dc;                           /* [ASC_PANEL, dz] */
    void *best;                         /* [room] */
    asc_ascender_row *rows;                /* [ASC_PANEL] */
    int64_t *list;                      /* [most neighbours] */
    int32_t *columns;                   /* [widest], with a mask */
} asc_ascender_space;

/* ---- a call: ops/ascender/call.c ---- */

/* The sizes and the set but for the inputs `lengths` and `mask`. */
asc_allowed asc_ascender_sizes(const asc_call *call);
/* A call with the memory of its workers, so many panels each, and what is computed of each key; and at the end of the
 * backward pass, what the sums over queries say of headings, h and z. ASC_ERR_MEMORY. */
asc_status asc_ascender_call_begin(asc_call *call, int panels, asc_ascender_call *s);
void asc_ascender_finish(asc_ascender_call *s);

asc_ascender_space asc_ascender_space_of(const asc_ascender_call *s, int worker);
/* The head's part of a (B, n, H w) array, or of [B, H, rows, width] memory; the rows of the queries' own positions;
 * their features and places, wherever they stand. */
asc_matrix asc_ascender_matrix(const asc_ascender_call *s, const asc_panel *p, const asc_array *a);
asc_matrix asc_ascender_keys(const asc_ascender_call *s, const asc_panel *p, void *memory, int64_t rows, int64_t width);
asc_matrix asc_ascender_own_rows(const asc_ascender_call *s, asc_matrix keys);
asc_matrix asc_ascender_own_features(const asc_ascender_call *s, const asc_panel *p);
asc_matrix asc_ascender_own_places(const asc_ascender_call *s, const asc_panel *p);
/* Keys for asc_panel_scores: as they stand in `transposed`, if there is that. */
asc_matrix asc_ascender_turned(const asc_ascender_call *s, const asc_panel *p, void *transposed, asc_matrix keys);
/* The centroids saved for the head, [N, dz]; and the panel's rows in the worker's memory, [rows, width]. */
asc_matrix asc_ascender_centroids(const asc_ascender_call *s, const asc_panel *p);
asc_matrix asc_ascender_panel_rows(const asc_ascender_call *s, void *memory, int64_t width);
/* Row r of the panel; of the facts and of the chosen neighbours saved for it. */
double *asc_ascender_fact_row(const asc_ascender_call *s, const asc_panel *p, int64_t r);
int64_t *asc_ascender_chosen_row(const asc_ascender_call *s, const asc_panel *p, int64_t r);

/* ---- scores of a panel, for both passes: ops/ascender/scores.c ---- */

/* S^base, a and d² into the panels SCORES, AFFINITY and SQUARES. */
void asc_ascender_measure(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_space *w);
/* Row r: sum s, heading u, v and has of its neighbours. */
void asc_ascender_heading(const asc_ascender_call *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                          const asc_ascender_space *w);
/* r^align, from the worker's u, and ‖z_j - c_i‖². */
void asc_ascender_directions(const asc_ascender_call *s, const asc_panel *p, const asc_ascender_space *w, void *P);
void asc_ascender_distances(const asc_ascender_call *s, const asc_panel *p, const void *c, void *P);

/* ---- the two passes: ops/ascender/forward.c, ops/ascender/backward.c; ASC_ERR_MEMORY ---- */

asc_status asc_ascender_forward(asc_call *call);
asc_status asc_ascender_backward(asc_call *call);
/* The gradient, times `scale`, that the loss of alignment gives to all headings u. */
void asc_ascender_align_loss_grad(asc_ascender_call *s, double scale);

#endif
