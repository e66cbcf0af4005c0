/* data/task_induction.c: what stood behind the mark when it was last seen?
 *
 *   c a * d b b a c * d
 *
 * Random symbols, and once among them the mark with the symbol to remember behind it; the mark again asks for it.
 * Chance is 1/vocab. Source: the induction heads of Olsson et al. 2022, as Gu and Dao, "Mamba", 2023, train them
 * (length 256, 16 symbols) and test them at lengths of 64 to 2^20. */
#include <stdio.h>

#include "data/task.h"

enum { VOCAB = ASC_TASK_FIRST };
enum { MARK, SYMBOLS };

static int32_t words(const int64_t *v)
{
    return SYMBOLS + (int32_t)v[VOCAB];
}

static void spell(const int64_t *v, int32_t word, char text[ASC_TASK_WORD])
{
    (void)v;
    if (word == MARK) {
        snprintf(text, ASC_TASK_WORD, "*");
    } else {
        snprintf(text, ASC_TASK_WORD, "s%d", word - SYMBOLS);
    }
}

static asc_status make(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    (void)ctx;
    int64_t length = v[ASC_TASK_LENGTH], at = asc_dice_below(d, (uint32_t)length - 2);
    while (e->n < length - 1) {
        int32_t symbol = SYMBOLS + (int32_t)asc_dice_below(d, (uint32_t)v[VOCAB]);
        asc_example_put(e, e->n == at ? MARK : symbol, false);
    }
    asc_example_put(e, MARK, false);
    asc_example_put(e, e->word[at + 1], true);
    return ASC_OK;
}

const asc_task asc_task_induction = {
    .name = "induction",
    .shortest = 3,
    .length = 256,
    .train = 10000,
    .test = 1000,
    .own = {{"vocab", 16, 2, 1 << 16}},
    .words = words,
    .spell = spell,
    .make = make,
};
