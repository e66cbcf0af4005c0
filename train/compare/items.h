/* train/compare/items.h: what several models are compared on. */
#ifndef TRAIN_COMPARE_ITEMS_H
#define TRAIN_COMPARE_ITEMS_H

#include <ascgrad/compare.h>

/* Item i is block first[i], or the lines first[i] … first[i+1]-1. */
typedef struct asc_items {
    asc_unit unit;
    int64_t n;
    int64_t *first; /* [capacity] */
    int64_t capacity;
    char reason[400]; /* why blocks are not the items; "": they are */
} asc_items;

/* Finds what all of the systems' models were scored on. In any case to be cleared. ASC_ERR_FORMAT: there is no such
 * thing; ASC_ERR_MEMORY. */
asc_status asc_items_choose(asc_ctx *ctx, const asc_system *systems, int64_t n, asc_items *items);
void asc_items_clear(asc_ctx *ctx, asc_items *items);

/* Whether all of the systems' models are classifiers, and each item one sequence. */
bool asc_items_classes(const asc_items *items, const asc_system *systems, int64_t n);

/* right[items->n]: 1 where a classifier finds the item's class, else 0. */
void asc_items_right(const asc_items *items, const asc_scores *scores, uint8_t *right);

/* Adds each item's score, times `share`, to score[items->n]. */
void asc_items_add(const asc_items *items, const asc_scores *scores, double share, double *score);

#endif
