/* train/order.c: in what order an epoch reads its blocks: at random; with group_by_length in batches of sequences that
 * are about as long as each other, so that little of a batch is padding. */
#include <stdlib.h>

#include "train/batch.h"
#include "train/trainer.h"

/* Batches out of which sequences of one length are gathered: few enough that batches are others in each epoch. */
enum { POOL = 50 };

typedef struct place {
    int32_t pool, length, at, which; /* `at` keeps those of one length in random order */
} place;

static int compare(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->pool != y->pool) {
        return x->pool < y->pool ? -1 : 1;
    }
    return x->length != y->length ? (x->length < y->length ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* Sorts the pools of a random order, and reads the batches that come of it at random, a shorter one last. */
static void group(const asc_trainer *t, int64_t n, int64_t epoch, place *places, int32_t *batches)
{
    const asc_values *v = &t->settings->values;
    asc_batch_source source = asc_trainer_source(t);
    int64_t whole = n / v->batch * v->batch;
    for (int64_t i = 0; i < n; i++) {
        places[i] = (place){(int32_t)(i / v->batch / POOL), (int32_t)asc_batch_rows(&source, t->order[i]), (int32_t)i,
                            t->order[i]};
    }
    qsort(places, (size_t)n, sizeof *places, compare);
    asc_block_order(t->ctx, whole / v->batch, ~(uint64_t)v->seed, (uint64_t)epoch, batches);
    for (int64_t i = 0; i < n; i++) {
        t->order[i] = places[i < whole ? batches[i / v->batch] * v->batch + i % v->batch : i].which;
    }
}

asc_status asc_trainer_order(const asc_trainer *t, int64_t blocks, int64_t epoch)
{
    const asc_values *v = &t->settings->values;
    asc_status status = asc_block_order(t->ctx, blocks, (uint64_t)v->seed, (uint64_t)epoch, t->order);
    if (status || !v->group_by_length) {
        return status;
    }
    size_t bytes = (size_t)blocks * sizeof(place), own = (size_t)blocks * sizeof(int32_t);
    place *places = asc_alloc(t->ctx, bytes);
    int32_t *batches = asc_alloc(t->ctx, own);
    if (places && batches) {
        group(t, blocks, epoch, places, batches);
    }
    asc_free(t->ctx, places, bytes);
    asc_free(t->ctx, batches, own);
    return asc_error(t->ctx);
}
