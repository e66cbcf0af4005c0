/* data/task.h: tasks with known answers, made example by example: what a task is, for its file and for the source that
 * makes text of its examples (source_task.c). Words are numbered; a task spells them. */
#ifndef DATA_TASK_H
#define DATA_TASK_H

#include <ascgrad/base.h>

#include "data/dice.h"

enum { ASC_TASK_WORD = 16, ASC_TASK_OWN = 4 };

/* What every task has, and then its own. */
enum { ASC_TASK_LENGTH, ASC_TASK_TRAIN, ASC_TASK_VALID, ASC_TASK_TEST, ASC_TASK_SEED, ASC_TASK_FIRST };
enum { ASC_TASK_KEYS = ASC_TASK_FIRST + ASC_TASK_OWN, ASC_TASK_LONGEST = 1 << 20 };

/* A number that a task is asked for with. */
typedef struct asc_task_key {
    const char *name;              /* NULL: none */
    int64_t fallback, least, most; /* its default; a fallback below `least` follows from the others, in `check` */
} asc_task_key;

/* An example while it is made: at most length + 1 words, of which those that are answers are to be predicted. */
typedef struct asc_example {
    int32_t *word;
    uint8_t *answer;
    int64_t n;
    int32_t label; /* its class, of a task with classes */
    void *scratch; /* the task's, of the size that it asks for; what is in it comes from the example before */
} asc_example;

static inline void asc_example_put(asc_example *e, int32_t word, bool answer)
{
    e->word[e->n] = word;
    e->answer[e->n++] = answer;
}

typedef struct asc_task {
    const char *name;
    int64_t shortest, length, train, test; /* lengths from, and defaults; valid is as test */
    asc_task_key own[ASC_TASK_OWN];
    /* Fills in what follows and checks the values `v` against each other. NULL: nothing to do. */
    asc_status (*check)(asc_ctx *ctx, const char *spec, int64_t *v);
    int32_t (*words)(const int64_t *v);
    void (*spell)(const int64_t *v, int32_t word, char text[ASC_TASK_WORD]);
    /* How many words, the first ones, are the names of classes; NULL: none. */
    int32_t (*classes)(const int64_t *v);
    size_t (*scratch)(const int64_t *v); /* bytes; NULL: 0 */
    asc_status (*make)(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e);
} asc_task;

#endif
