/* data/task_needle.c: one fact in filler, and at the end the question for it.
 *
 *   w5 w31 the number of k3 is n17 w8 w2 … w5 w44 what is the number of k3 ? n17
 *
 * The fact stands at `depth` percent of the filler, or anywhere. Chance is 1/numbers. */
#include <stdio.h>

#include "data/task.h"

enum { VOCAB = ASC_TASK_FIRST, NUMBERS, DEPTH };
enum { KEYS = 16 };
enum { THE, NUMBER, OF, IS, WHAT, ASK, FIRST_KEY, FIRST_NUMBER = FIRST_KEY + KEYS };
enum { FACT = 6, QUESTION = 7 };

static int32_t words(const int64_t *v)
{
    return FIRST_NUMBER + (int32_t)(v[NUMBERS] + v[VOCAB]);
}

static void spell(const int64_t *v, int32_t word, char text[ASC_TASK_WORD])
{
    static const char *const frame[] = {"the", "number", "of", "is", "what", "?"};
    int32_t filler = FIRST_NUMBER + (int32_t)v[NUMBERS];
    if (word < FIRST_KEY) {
        snprintf(text, ASC_TASK_WORD, "%s", frame[word]);
    } else if (word < FIRST_NUMBER) {
        snprintf(text, ASC_TASK_WORD, "k%d", word - FIRST_KEY);
    } else {
        snprintf(text, ASC_TASK_WORD, "%c%d", word < filler ? 'n' : 'w',
                 word - (word < filler ? FIRST_NUMBER : filler));
    }
}

static void put_all(asc_example *e, const int32_t *words, int n)
{
    for (int i = 0; i < n; i++) {
        asc_example_put(e, words[i], false);
    }
}

static asc_status make(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    (void)ctx;
    int64_t filler = v[ASC_TASK_LENGTH] - FACT - QUESTION, at = asc_dice_below(d, (uint32_t)filler + 1);
    int32_t key = FIRST_KEY + (int32_t)asc_dice_below(d, KEYS);
    int32_t number = FIRST_NUMBER + (int32_t)asc_dice_below(d, (uint32_t)v[NUMBERS]);
    at = v[DEPTH] < 0 ? at : filler * v[DEPTH] / 100;
    for (int64_t i = 0; i <= filler; i++) {
        if (i == at) {
            put_all(e, (int32_t[]){THE, NUMBER, OF, key, IS, number}, FACT);
        }
        int32_t word = FIRST_NUMBER + (int32_t)(v[NUMBERS] + asc_dice_below(d, (uint32_t)v[VOCAB]));
        if (i < filler) {
            asc_example_put(e, word, false);
        }
    }
    put_all(e, (int32_t[]){WHAT, IS, THE, NUMBER, OF, key, ASK}, QUESTION);
    asc_example_put(e, number, true);
    return ASC_OK;
}

const asc_task asc_task_needle = {
    .name = "needle",
    .shortest = FACT + QUESTION,
    .length = 128,
    .train = 10000,
    .test = 1000,
    .own = {{"vocab", 64, 1, 1 << 16}, {"numbers", 100, 2, 1 << 16}, {"depth", -1, -1, 100}},
    .words = words,
    .spell = spell,
    .make = make,
};
