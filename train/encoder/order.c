/* train/encoder/order.c: sentences by their lengths, each of those that are equal once. */
#include <stdlib.h>
#include <string.h>

#include "train/encoder/sentences.h"

typedef struct item {
    const int32_t *ids;
    int64_t length, second, i;
} item;

/* 0: the same to an encoder. */
static int compare_content(const item *a, const item *b)
{
    if (a->length != b->length) {
        return a->length < b->length ? -1 : 1;
    }
    for (int64_t t = 0; t < a->length; t++) {
        if (a->ids[t] != b->ids[t]) {
            return a->ids[t] < b->ids[t] ? -1 : 1;
        }
    }
    return (a->second > b->second) - (a->second < b->second);
}

static int compare(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int content = compare_content(x, y);
    return content ? content : (x->i > y->i) - (x->i < y->i);
}

static void collect(const asc_sentences *s, item *items, asc_sentence_order *order)
{
    for (int64_t i = 0; i < s->n; i++) {
        items[i] = (item){s->ids.data + asc_sentence_begin(s, i), asc_sentence_length(s, i), s->seconds[i], i};
    }
    qsort(items, (size_t)s->n, sizeof *items, compare);
    for (int64_t i = 0; i < s->n; i++) {
        if (i == 0 || compare_content(&items[i - 1], &items[i])) {
            order->starts[order->n++] = i;
        }
        order->at[i] = items[i].i;
    }
    order->starts[order->n] = s->n;
}

asc_status asc_sentence_order_make(const asc_sentences *s, asc_sentence_order *order)
{
    size_t n = (size_t)s->n, bytes = (n + 1) * sizeof(item);
    *order = (asc_sentence_order){.all = s->n, .at = asc_alloc(s->ctx, (n + 1) * sizeof *order->at)};
    order->starts = order->at ? asc_alloc(s->ctx, (n + 1) * sizeof *order->starts) : NULL;
    item *items = order->starts ? asc_alloc(s->ctx, bytes) : NULL;
    if (!items) {
        return ASC_ERR_MEMORY;
    }
    collect(s, items, order);
    asc_free(s->ctx, items, bytes);
    return ASC_OK;
}

void asc_sentence_order_free(asc_ctx *ctx, asc_sentence_order *order)
{
    size_t bytes = (size_t)(order->all + 1) * sizeof *order->at;
    asc_free(ctx, order->at, bytes);
    asc_free(ctx, order->starts, bytes);
    *order = (asc_sentence_order){0};
}
