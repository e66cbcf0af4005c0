/* data/task_listops.c: nested operations on lists of digits.
 *
 *   [MAX 2 9 [MIN 4 7 ] 0 ] 9
 *
 * A place holds a digit with probability 3/4, and always at `depth`, where the whole is at 1; else a list: MIN, MAX,
 * MED (the median, of two in the middle their mean, rounded down) or SM (the sum modulo 10), of 2 to `args` places.
 * Expressions shorter than `min` or longer than the length are drawn again. The answer is a class, too; chance:
 * doc/tasks.md.
 * Sources: Nangia and Bowman, "ListOps", 2018; Tay et al., "Long Range Arena", 2020 (length 2000, min 500, depth 10,
 * args 10; 96,000 examples to train on and 2,000 to test). */
#include <stdio.h>
#include <stdlib.h>

#include "data/task.h"

enum { MIN_LENGTH = ASC_TASK_FIRST, DEPTH, ARGS };
enum { DIGITS = 10, MIN = DIGITS, MAX, MED, SM, END, WORDS };
enum { DEEPEST = 64, MOST_ARGS = 64, TRIES = 1000000, MOST_DRAWN = 200000000 /* tokens */ };
enum { SHORTEST_LIST = 4 /* [MAX 2 9 ] */ };

static int32_t classes(const int64_t *v)
{
    (void)v;
    return DIGITS;
}

static int32_t words(const int64_t *v)
{
    (void)v;
    return WORDS;
}

static void spell(const int64_t *v, int32_t word, char text[ASC_TASK_WORD])
{
    (void)v;
    static const char *const names[] = {"[MIN", "[MAX", "[MED", "[SM", "]"};
    if (word < DIGITS) {
        snprintf(text, ASC_TASK_WORD, "%d", word);
    } else {
        snprintf(text, ASC_TASK_WORD, "%s", names[word - DIGITS]);
    }
}

static asc_status check(asc_ctx *ctx, const char *spec, int64_t *v)
{
    if (v[MIN_LENGTH] < 1) {
        v[MIN_LENGTH] = v[ASC_TASK_LENGTH] / 4 > 0 ? v[ASC_TASK_LENGTH] / 4 : 1;
    }
    if (v[MIN_LENGTH] > v[ASC_TASK_LENGTH]) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: min is %lld, expected at most the length, %lld", spec,
                        (long long)v[MIN_LENGTH], (long long)v[ASC_TASK_LENGTH]);
    }
    if (v[MIN_LENGTH] > 1 && v[ASC_TASK_LENGTH] < SHORTEST_LIST) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: min is %lld and the length %lld, but an expression is a digit or has %d "
                        "tokens and more", spec, (long long)v[MIN_LENGTH], (long long)v[ASC_TASK_LENGTH],
                        SHORTEST_LIST);
    }
    return ASC_OK;
}

static int up(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static int32_t apply(int32_t op, int32_t *value, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += value[i];
    }
    qsort(value, (size_t)n, sizeof *value, up);
    int32_t median = (value[(n - 1) / 2] + value[n / 2]) / 2;
    return op == MIN ? value[0] : op == MAX ? value[n - 1] : op == MED ? median : sum % DIGITS;
}

/* A list that is open: values so far, and how many there will be. */
typedef struct list {
    int32_t op, n, wanted, value[MOST_ARGS];
} list;

static size_t scratch(const int64_t *v)
{
    return (size_t)v[DEPTH] * sizeof(list);
}

/* Fills in the next place: puts a digit, or opens a list one deeper. */
static int64_t fill_place(const int64_t *v, asc_dice *d, asc_example *e, list *open, int64_t depth)
{
    bool digit = depth + 1 == v[DEPTH] || asc_dice_below(d, 4) > 0;
    int32_t word = digit ? (int32_t)asc_dice_below(d, DIGITS) : MIN + (int32_t)asc_dice_below(d, END - MIN);
    asc_example_put(e, word, false);
    if (!digit) {
        open[depth] = (list){.op = word, .wanted = 2 + (int32_t)asc_dice_below(d, (uint32_t)v[ARGS] - 1)};
        return depth + 1;
    }
    if (depth > 0) {
        open[depth - 1].value[open[depth - 1].n++] = word;
    }
    return depth;
}

/* An expression; false: it is longer than it may be. */
static bool draw_expression(const int64_t *v, asc_dice *d, asc_example *e)
{
    list *open = e->scratch;
    int64_t depth = fill_place(v, d, e, open, 0);
    e->label = e->word[0];
    while (depth > 0 && e->n < v[ASC_TASK_LENGTH]) {
        list *inner = &open[depth - 1];
        if (inner->n < inner->wanted) {
            depth = fill_place(v, d, e, open, depth);
            continue;
        }
        asc_example_put(e, END, false);
        e->label = apply(inner->op, inner->value, inner->n);
        if (--depth > 0) {
            open[depth - 1].value[open[depth - 1].n++] = e->label;
        }
    }
    return depth == 0;
}

static asc_status make(asc_ctx *ctx, const int64_t *v, asc_dice *d, asc_example *e)
{
    int64_t drawn = 0, tries = 0, longer = 0;
    for (; tries < TRIES && drawn < MOST_DRAWN && !asc_interrupted(ctx); tries++) {
        e->n = 0;
        bool whole = draw_expression(v, d, e);
        if (whole && e->n >= v[MIN_LENGTH]) {
            asc_example_put(e, e->label, true);
            return ASC_OK;
        }
        drawn += e->n;
        longer += !whole;
    }
    if (asc_interrupted(ctx)) {
        return asc_fail(ctx, ASC_ERR_INTERRUPTED, "interrupted");
    }
    bool too_long = 100 * longer > tries; /* most are a digit, whatever the settings */
    return asc_fail(ctx, ASC_ERR_ARG,
                    "task:listops: none of %lld expressions has %lld to %lld tokens; %s depth or args make %s ones",
                    (long long)tries, (long long)v[MIN_LENGTH], (long long)v[ASC_TASK_LENGTH],
                    too_long ? "less" : "more", too_long ? "shorter" : "longer");
}

const asc_task asc_task_listops = {
    .name = "listops",
    .shortest = 1,
    .length = 2000,
    .train = 10000,
    .test = 2000,
    .own = {{"min", 0, 1, ASC_TASK_LONGEST}, {"depth", 10, 2, DEEPEST}, {"args", 10, 2, MOST_ARGS}},
    .check = check,
    .words = words,
    .spell = spell,
    .classes = classes,
    .scratch = scratch,
    .make = make,
};
