/* ops/ascender/ascender.h: what the files of the ASCender op share; ops/ascender/ascender.c says what is computed. */
#ifndef OPS_ASCENDER_H
#define OPS_ASCENDER_H

#include "ops/attention/heads.h"
#include "ops/attention/neighbors.h"
#include "ops/attention/panel.h"
#include "ops/shared/carve.h"
#include "ops/shared/scalar.h"

/* ---- the op's inputs, outputs, saved arrays ---- */

enum {
    FLOCK_Q, FLOCK_K, FLOCK_V, FLOCK_Z, FLOCK_H, FLOCK_HEADING, FLOCK_SCALAR,
    FLOCK_REL_BIAS = FLOCK_SCALAR + ASC_SWARM_SCALARS, FLOCK_LENGTHS, FLOCK_MASK, FLOCK_NEIGHBORS, FLOCK_K_OF,
    FLOCK_INPUTS,
};
enum { FLOCK_Y, FLOCK_LOSS_COH, FLOCK_LOSS_SEP, FLOCK_LOSS_ALIGN, FLOCK_OUTPUTS };
/* What is kept of each row: numbers, the centroid c, and the neighbours chosen by score. */
enum { FLOCK_FACTS, FLOCK_CENTROID, FLOCK_CHOSEN };

/* The three biases, whose raw scores are x = r^align, φ and the distance ‖z_j - c_i‖² = -r^coh. */
enum { ALIGN, SEP, COH, BIASES };

/* The numbers kept of a row: mean and deviation of each raw score (0: a constant row), ρ, W, V, and the log-sum-exp. */
enum { FACT_MEAN, FACT_SIGMA = FACT_MEAN + BIASES, FACT_RHO = FACT_SIGMA + BIASES, FACT_W, FACT_V, FACT_LSE, FACTS };

typedef struct asc_flock_attrs {
    asc_ascender_options o; /* k_of aside, which is an input */
    bool losses;
} asc_flock_attrs;

/* ---- scalars, gates and their gradients: ops/ascender/gates.c ---- */

/* A head's scalars as the formulas use them. */
typedef struct asc_flock_head {
    double s[ASC_SWARM_SCALARS];
    double width_sep, width_coh; /* τ + ε, or τ² + ε */
    double slope_sep, slope_coh; /* their derivatives by τ */
    double score;                /* 1/(τ_score + ε) */
} asc_flock_head;

/* A row as its gates see it. */
typedef struct asc_flock_row {
    double n;           /* entries */
    double variance;    /* v of the neighbours' headings; 0 without neighbours */
    double has;         /* 1 with neighbours, else 0 */
    double norm;        /* ‖s‖ */
    double fact[FACTS];
} asc_flock_row;

/* What the gates make of it: β̃ = coef (x - mean), coef = g/(|g|σ + ε), or g/(σ + ε) with the gates behind. */
typedef struct asc_flock_gates {
    double gamma_align, eta, gamma_coh;
    double g[BIASES];
    double coef[BIASES];
} asc_flock_gates;

/* What comes back from a row's scores: dx = slope dS + spread (x - mean), and by way of the gates. */
typedef struct asc_flock_pull {
    double slope[BIASES], spread[BIASES];
    double variance, rho, V; /* gradients of v, ρ and V */
} asc_flock_pull;

asc_flock_head asc_flock_head_of(const asc_call *call, int64_t h);
asc_flock_gates asc_flock_gates_of(const asc_flock_attrs *a, const asc_flock_head *head, const asc_flock_row *row);
/* along[b] = Σ dS (x_b - mean_b). Adds to the scalars' gradients ds. */
asc_flock_pull asc_flock_gates_grad(const asc_flock_attrs *a, const asc_flock_head *head, const asc_flock_row *row,
                                    const asc_flock_gates *gates, const double along[BIASES], double *ds);

/* ---- a call ---- */

enum { FLOCK_PANELS_FORWARD = 5, FLOCK_PANELS_BACKWARD = 9 };

typedef struct asc_flock {
    asc_call *call;
    const asc_flock_attrs *a;
    asc_dtype dtype;
    asc_allowed J;    /* of the softmax */
    asc_allowed rows; /* of everything else, and of the panels */
    asc_position_bias bias;
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

    /* A worker's */
    int64_t widest;
    int panels;
    char *space;
    size_t space_size;
    double *partial;  /* sums of pieces: forward losses, [panels][2] and then [heads]; backward [chunks][scalars] */
    void *all_u;      /* [B, H, N, d_heading], for the loss of alignment */
    void *all_du;     /* its gradient, the same */

    /* backward: sums over queries, of k, v, z, and of what was prepared */
    asc_panel_sums dkeys, dvalues, dz_rows, dheadings, dfeatures, dplaces_t;
    asc_table_sums table;
} asc_flock;

/* A worker's memory: panels, rows of entries, and the panel's rows of headings and places. */
typedef struct asc_flock_space {
    void *panel[FLOCK_PANELS_BACKWARD]; /* [ASC_PANEL, widest] each */
    void *row[2];                       /* [widest] each */
    void *sum, *u, *du;                 /* [ASC_PANEL, d_heading] */
    void *dc;                           /* [ASC_PANEL, dz] */
    void *best;                         /* [room] */
    asc_flock_row *rows;                /* [ASC_PANEL] */
    int64_t *list;                      /* [most neighbours] */
    int32_t *columns;                   /* [widest], with a mask */
} asc_flock_space;

/* The two passes. ASC_ERR_MEMORY. */
asc_status asc_flock_forward(asc_call *call);
asc_status asc_flock_backward(asc_call *call);
/* The sizes and the set but for the inputs `lengths` and `mask`. */
asc_allowed asc_flock_sizes(const asc_call *call);
asc_flock_space asc_flock_space_of(const asc_flock *s, int worker);
/* The head's part of an input, or of [B, H, rows, width] memory; and the rows of the queries' own positions in it. */
asc_matrix asc_flock_input(const asc_flock *s, const asc_panel *p, const asc_array *a);
asc_matrix asc_flock_keys(const asc_flock *s, const asc_panel *p, void *memory, int64_t rows, int64_t width);
asc_matrix asc_flock_own_rows(const asc_flock *s, asc_matrix keys);
/* Keys for asc_panel_scores: as they stand in `transposed`, if there is that. */
asc_matrix asc_flock_turned(const asc_flock *s, const asc_panel *p, void *transposed, asc_matrix keys);
/* The centroids saved for the head, [N, dz]; and [rows, width] memory of the worker's. */
asc_matrix asc_flock_centroids(const asc_flock *s, const asc_panel *p);
asc_matrix asc_flock_block(const asc_flock *s, void *memory, int64_t width);
/* Row r of the panel; of the facts and of the chosen neighbours saved for it. */
double *asc_flock_fact_row(const asc_flock *s, const asc_panel *p, int64_t r);
int64_t *asc_flock_chosen_row(const asc_flock *s, const asc_panel *p, int64_t r);

/* ---- the steps ---- */

/* Units and transposes; and the way back: gradients of headings, h and z from those of what was prepared. */
void asc_flock_prepare(asc_flock *s);
void asc_flock_finish(asc_flock *s);
/* P[0] = S^base, P[1] = a, P[2] = d² of a panel. */
void asc_flock_measure(const asc_flock *s, const asc_panel *p, const asc_flock_space *w);
/* r^align, from the worker's u, and ‖z_j - c_i‖², of a panel. */
void asc_flock_directions(const asc_flock *s, const asc_panel *p, const asc_flock_space *w, void *P);
void asc_flock_distances(const asc_flock *s, const asc_panel *p, const void *c, void *P);
/* Row r: sum s, heading u, v and has of its neighbours. */
void asc_flock_heading(const asc_flock *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                       const asc_flock_space *w);
void asc_flock_forward_panel(void *flock, int64_t piece, int worker);
void asc_flock_backward_chunk(void *flock, int64_t piece, int worker);
/* The loss of alignment, a sum over rows; and the gradient, times `scale`, that it gives to all headings u. */
double asc_flock_align_loss(asc_flock *s);
void asc_flock_align_loss_grad(asc_flock *s, double scale);

#endif
