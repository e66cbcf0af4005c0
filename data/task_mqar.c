/* data/task_mqar.c: multi-query associative recall: pairs of a key and its value, then queries among blanks, the value
 * behind each.
 *
 *   k7 v2 k1 v9 k4 v4 . . k1 v9 . . k4 v4 k7 v2 .
 *
 * Of `vocab` words one is the blank, the lower half are keys, the upper half values. Each key is asked for once; where,
 * is drawn with probability ∝ j^(-0.99) for the j-th place, so that most queries come soon and some late. Chance is
 * 2/vocab. Source: Arora et al., "Zoology: measuring and improving recall in efficient language models", 2023 (vocab
 * 8192; length 64 with 4 pairs, 128 with 8, 256 with 16, 512 with 64; 100,000 examples). There a value is only asked
 * for, here it also stands behind its query, as in text; no key comes again, so that gives nothing away. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/task.h"

enum { VOCAB = ASC_TASK_FIRST, PAIRS };
enum { BLANK, KEYS };

static int32_t words(const int64_t *v)
{
    return (int32_t)v[VOCAB];
}

static int32_t first_value(const int64_t *v)
{
    return (int32_t)(v[VOCAB] / 2);
}

static void spell(const int64_t *v, int32_t word, char text[ASC_TASK_WORD])
{
    int32_t values = first_value(v);
    if (word == BLANK) {
        snprintf(text, ASC_TASK_WORD, ".");
    } else {
        snprintf(text, ASC_TASK_WORD, "%c%d", word < values ? 'k' : 'v', word < values ? word : word - values);
    }
}

static asc_status check(asc_ctx *ctx, const char *spec, int64_t *v)
{
    if (v[PAIRS] < 1) {
        v[PAIRS] = v[ASC_TASK_LENGTH] / 16 > 0 ? v[ASC_TASK_LENGTH] / 16 : 1;
    }
    if (4 * v[PAIRS] > v[ASC_TASK_LENGTH] || v[PAIRS] >= first_value(v)) {
        return asc_fail(ctx, ASC_ERR_ARG,
                        "%s: %lld pairs, expected at most %lld, a quarter of the length, and fewer than "
                        "%d, half of vocab",
                        spec, (long long)v[PAIRS], (long long)v[ASC_TASK_LENGTH] / 4, (int)first_value(v));
    }
    return ASC_OK;
}

/* A place for a query. Taking the least of -log(u)/weight again and again draws without replacement, by weight. */
typedef struct place {
    double when;
    int64_t at;
} place;

static int by_time(const void *a, const void *b)
{
    double x = ((const place *)a)->when, y = ((const place *)b)->when;
    return (x > y) - (x < y);
}

static int64_t count_places(const int64_t *v)
{
    return (v[ASC_TASK_LENGTH] - 2 * v[PAIRS]) / 2;
}

/* Places, then a flag for each word that is taken. */
static size_t scratch(const int64_t *v)
{
    return (size_t)count_places(v) * sizeof(place) + (size_t)v[VOCAB];
}

static asc_status make(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    (void)ctx;
    int64_t pairs = v[PAIRS], places = count_places(v);
    int32_t values = first_value(v), n_values = (int32_t)v[VOCAB] - values;
    place *place = e->scratch;
    unsigned char *taken = (unsigned char *)(place + places);
    memset(taken, 0, (size_t)v[VOCAB]);
    for (int64_t p = 0; p < pairs; p++) {
        int32_t key, value;
        do {
            key = KEYS + (int32_t)asc_dice_below(d, (uint32_t)(values - KEYS));
        } while (taken[key]);
        do {
            value = values + (int32_t)asc_dice_below(d, (uint32_t)n_values);
        } while (taken[value] && n_values > pairs);
        taken[key] = taken[value] = 1;
        asc_example_put(e, key, false);
        asc_example_put(e, value, false);
    }
    while (e->n <= v[ASC_TASK_LENGTH]) {
        asc_example_put(e, BLANK, false);
    }
    for (int64_t j = 0; j < places; j++) {
        place[j].at = 2 * pairs + 2 * j;
        place[j].when = -log(asc_dice_unit(d)) * pow((double)(j + 1), .99);
    }
    qsort(place, (size_t)places, sizeof *place, by_time);
    for (int64_t p = 0; p < pairs; p++) {
        e->word[place[p].at] = e->word[2 * p];
        e->word[place[p].at + 1] = e->word[2 * p + 1];
        e->answer[place[p].at + 1] = 1;
    }
    return ASC_OK;
}

const asc_task asc_task_mqar = {
    .name = "mqar",
    .shortest = 4,
    .length = 64,
    .train = 100000,
    .test = 3000,
    .own = {{"vocab", 8192, 6, 1 << 20}, {"pairs", 0, 1, 1 << 16}},
    .check = check,
    .words = words,
    .spell = spell,
    .scratch = scratch,
    .make = make,
};
