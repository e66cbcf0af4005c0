/* data/task_copy.c: copying a row of symbols, all of it or what stands among blanks.
 *
 *   copy             c a d b | c a d b
 *   selective-copy   . c . . a d . b . | c a d b
 *
 * Chance is 1/vocab. Sources: Jing et al., "Gated orthogonal recurrent units", 2019; Gu and Dao, "Mamba", 2023 (length
 * 4112: 16 symbols of 16 kinds among 4096 tokens). */
#include <stdio.h>

#include "data/task.h"

enum { VOCAB = ASC_TASK_FIRST, ITEMS };
enum { BAR, BLANK, SYMBOLS };

static int32_t words(const int64_t *v)
{
    return SYMBOLS + (int32_t)v[VOCAB];
}

static void spell(const int64_t *v, int32_t word, char text[ASC_TASK_WORD])
{
    (void)v;
    static const char *const marks[] = {"|", "."};
    if (word < SYMBOLS) {
        snprintf(text, ASC_TASK_WORD, "%s", marks[word]);
    } else {
        snprintf(text, ASC_TASK_WORD, "s%d", word - SYMBOLS);
    }
}

static void repeat_symbols(asc_example *e)
{
    int64_t prompt = e->n;
    asc_example_put(e, BAR, false);
    for (int64_t i = 0; i < prompt; i++) {
        if (e->word[i] != BLANK) {
            asc_example_put(e, e->word[i], true);
        }
    }
}

static asc_status make_copy(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    (void)ctx;
    for (int64_t i = 0; i < v[ASC_TASK_LENGTH] / 2; i++) {
        asc_example_put(e, SYMBOLS + (int32_t)asc_dice_below(d, (uint32_t)v[VOCAB]), false);
    }
    repeat_symbols(e);
    return ASC_OK;
}

static asc_status check_selective(asc_ctx *ctx, const char *spec, int64_t *v)
{
    if (2 * v[ITEMS] > v[ASC_TASK_LENGTH]) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: %lld items, and then their copy, don't go into a length of %lld", spec,
                        (long long)v[ITEMS], (long long)v[ASC_TASK_LENGTH]);
    }
    return ASC_OK;
}

/* Each place takes a symbol with the probability that leaves every choice of places as likely. */
static asc_status make_selective(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    (void)ctx;
    uint32_t places = (uint32_t)(v[ASC_TASK_LENGTH] - v[ITEMS]), items = (uint32_t)v[ITEMS];
    for (; places > 0; places--) {
        bool taken = asc_dice_below(d, places) < items;
        items -= taken;
        asc_example_put(e, taken ? SYMBOLS + (int32_t)asc_dice_below(d, (uint32_t)v[VOCAB]) : BLANK, false);
    }
    repeat_symbols(e);
    return ASC_OK;
}

const asc_task asc_task_copy = {
    .name = "copy",
    .shortest = 2,
    .length = 64,
    .train = 10000,
    .test = 1000,
    .own = {{"vocab", 26, 2, 1 << 16}},
    .words = words,
    .spell = spell,
    .make = make_copy,
};

const asc_task asc_task_selective_copy = {
    .name = "selective-copy",
    .shortest = 2,
    .length = 256,
    .train = 10000,
    .test = 1000,
    .own = {{"vocab", 16, 2, 1 << 16}, {"items", 16, 1, 1 << 16}},
    .check = check_selective,
    .words = words,
    .spell = spell,
    .make = make_selective,
};
