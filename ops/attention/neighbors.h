/* ops/attention/neighbors.h: the neighbours N(i) of a query (asc_neighbors of ops.h): the k keys with the largest
 * scores, those within a radius, both, either, or given ones; always out of the row's entries.
 *
 * What was chosen by score is kept for the backward pass (asc_neighbors_choose into a saved array [B, H, N, room]); the
 * list of all neighbours is made from it wherever it is needed (asc_neighbors_list). */
#ifndef OPS_NEIGHBORS_H
#define OPS_NEIGHBORS_H

#include "ops/attention/panel.h"

typedef struct asc_neighbor_rule {
    asc_neighbors kind;
    bool self;            /* i may be a neighbour of itself */
    int64_t k, radius;    /* k: the largest of any head, */
    const int64_t *k_of;  /* [H], one a head; NULL: k for all */
    const int64_t *given; /* places in place of the choice, -1 none; NULL: there are none */
    int64_t n_given;      /* of a query */
    int64_t stride[3];    /* of given: b, h, i */
    int64_t M;
} asc_neighbor_rule;

/* A rule out of options and the inputs `neighbors`, i64 (1 or B, 1 or H, N, m), and `k_of`, i64 (H); both may be
 * absent. */
asc_neighbor_rule asc_neighbor_rule_of(const asc_ascender_options *o, const asc_array *neighbors, const asc_array *k_of,
                                       int64_t M);
/* For builders: the input `k_of` out of options->k_of, to be released; null without. k becomes the largest of them, or
 * one below 0, and k_of NULL. */
asc_tensor asc_neighbors_k_of(asc_ctx *ctx, asc_ascender_options *options);
/* Those inputs are as the rule takes them, and neither k nor radius is negative. */
asc_status asc_expect_neighbors(asc_call *call, int neighbors, int k_of, const asc_ascender_options *o,
                                const asc_allowed *J);

/* Whether the choice needs scores; the places that it keeps of a query, 0 if it doesn't; the most neighbours of any. */
bool asc_neighbors_scored(const asc_neighbor_rule *rule);
int64_t asc_neighbors_room(const asc_neighbor_rule *rule);
int64_t asc_neighbors_most(const asc_neighbor_rule *rule);

/* Chooses by the scores of a compacted row's entries: chosen [room] are keys, by falling score, then -1. best: `room`
 * elements of dtype for its own use. */
void asc_neighbors_choose(const asc_neighbor_rule *rule, const asc_panel *p, const asc_panel_row *row, asc_dtype dtype,
                          const void *scores, void *best, int64_t *chosen);
/* N(i) of row r as keys, each once, into list [most]; their number. */
int64_t asc_neighbors_list(const asc_neighbor_rule *rule, const asc_panel *p, const asc_panel_row *row, int64_t r,
                           const int64_t *chosen, int64_t *list);

#endif
