/* data/pairs.c: sequences with a class that are two texts, as inputs of a model of pairs. */
#include <ascgrad/data.h>

#include "tensor/need.h"

typedef struct part {
    int64_t at, n; /* first token, how many */
} part;

/* The given tokens of the texts of sequence s; of one with a single text the second has none. */
static void find_parts(const asc_split *split, int64_t s, part parts[2])
{
    int64_t end = split->starts[s], second = split->seconds[s];
    while (end < split->starts[s + 1] && split->given[end]) {
        end++;
    }
    second = second < end ? second : end;
    parts[0] = (part){split->starts[s], second - split->starts[s]};
    parts[1] = (part){second, end - second};
}

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

int64_t asc_pair_width(const asc_split *split, const int32_t *which, int64_t n, int64_t most)
{
    int64_t widest = 0;
    for (int64_t b = 0; split && split->seconds && which && b < n; b++) {
        part parts[2];
        if (which[b] < 0 || which[b] >= split->n_sequences) {
            continue;
        }
        find_parts(split, which[b], parts);
        int64_t its = at_most(parts[0].n, most) + at_most(parts[1].n, most);
        widest = its > widest ? its : widest;
    }
    return widest;
}

/* Writes a text, which if it is longer keeps its beginning and its last token; how many tokens. */
static int64_t put(const asc_split *split, part p, int64_t most, int64_t *to)
{
    int64_t n = at_most(p.n, most);
    for (int64_t t = 0; t < n; t++) {
        to[t] = split->tokens[p.at + (t == n - 1 ? p.n - 1 : t)];
    }
    return n;
}

asc_status asc_pair_fill(asc_ctx *ctx, const asc_split *split, const int32_t *which, int64_t n, int64_t most,
                         int64_t *inputs, int64_t *lengths, int64_t *labels)
{
    asc_status status =
        ASC_NEED(ctx, "pair_fill: split which inputs lengths labels", split, asc_unless_empty(which, n),
                 asc_unless_empty(inputs, n), asc_unless_empty(lengths, n), asc_unless_empty(labels, n));
    if (status) {
        return status;
    }
    if (most < 1 || !split->seconds || !split->labels) {
        return asc_fail(ctx, ASC_ERR_ARG, "pair fill: %s", most < 1 ? "most is below 1" : "the split has no pairs with "
                        "a class");
    }
    for (int64_t b = 0; b < n; b++) {
        if (which[b] < 0 || which[b] >= split->n_sequences) {
            return asc_fail(ctx, ASC_ERR_ARG, "pair fill: there is no sequence %d", (int)which[b]);
        }
    }
    int64_t width = asc_pair_width(split, which, n, most);
    for (int64_t b = 0; b < n; b++) {
        part parts[2];
        find_parts(split, which[b], parts);
        int64_t *row = inputs + b * width, first = put(split, parts[0], most, row);
        lengths[2 * b] = first;
        lengths[2 * b + 1] = put(split, parts[1], most, row + first);
        for (int64_t t = first + lengths[2 * b + 1]; t < width; t++) {
            row[t] = 0;
        }
        labels[b] = split->labels[which[b]];
    }
    return ASC_OK;
}
