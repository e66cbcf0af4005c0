/* data/task_majority.c: which symbol is there most often?
 *
 *   a1 a0 a1 a1 a0 = a1
 *
 * One symbol alone is, so ties are drawn again. The answer is a class, too. Chance is 1/classes. */
#include <stdio.h>
#include <string.h>

#include "data/task.h"

enum { CLASSES = ASC_TASK_FIRST };

static int32_t classes(const int64_t *v)
{
    return (int32_t)v[CLASSES];
}

static int32_t words(const int64_t *v)
{
    return classes(v) + 1;
}

static void spell(const int64_t *v, int32_t word, char text[ASC_TASK_WORD])
{
    if (word == classes(v)) {
        snprintf(text, ASC_TASK_WORD, "=");
    } else {
        snprintf(text, ASC_TASK_WORD, "a%d", word);
    }
}

static size_t scratch(const int64_t *v)
{
    return (size_t)v[CLASSES] * sizeof(int64_t);
}

/* The symbol with the highest count; -1: several have it. */
static int32_t most_frequent(const int64_t *counts, int32_t n)
{
    int32_t most = 0;
    bool tie = false;
    for (int32_t i = 1; i < n; i++) {
        tie = counts[i] == counts[most] || (tie && counts[i] < counts[most]);
        most = counts[i] > counts[most] ? i : most;
    }
    return tie ? -1 : most;
}

static asc_status make(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    (void)ctx;
    int64_t *counts = e->scratch;
    do {
        memset(counts, 0, scratch(v));
        e->n = 0;
        while (e->n < v[ASC_TASK_LENGTH] - 1) {
            int32_t symbol = (int32_t)asc_dice_below(d, (uint32_t)v[CLASSES]);
            counts[symbol]++;
            asc_example_put(e, symbol, false);
        }
        e->label = most_frequent(counts, classes(v));
    } while (e->label < 0);
    asc_example_put(e, classes(v), false);
    asc_example_put(e, e->label, true);
    return ASC_OK;
}

const asc_task asc_task_majority = {
    .name = "majority",
    .shortest = 2,
    .length = 64,
    .train = 10000,
    .test = 1000,
    .own = {{"classes", 2, 2, 64}},
    .words = words,
    .spell = spell,
    .classes = classes,
    .scratch = scratch,
    .make = make,
};
