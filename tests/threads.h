/* tests/threads.h: results that must be the same to the bit for any number of threads. */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H

#include <ascgrad/tensor.h>

#include "tests/context.h"

enum { MOST_RESULTS = 64 };

/* Makes results, those of number i, in the `ctx` of the moment; `result` comes with MOST_RESULTS null tensors. */
typedef void run_fn(asc_tensor *result, int i);

/* The results on some threads, one after the other; to be freed. */
static inline unsigned char *bytes_on(int threads, run_fn *run, int i, size_t *bytes)
{
    asc_ctx *outer = ctx;
    heap own = {.fail_at = NEVER};
    ctx = context_on(&own, threads);
    asc_tensor result[MOST_RESULTS];
    for (int k = 0; k < MOST_RESULTS; k++) {
        result[k] = asc_null();
    }
    run(result, i);
    no_error();
    unsigned char *all = malloc(1);
    *bytes = 0;
    for (int k = 0; k < MOST_RESULTS; k++) {
        if (!asc_is_null(result[k])) {
            size_t size = (size_t)asc_numel(result[k]) * asc_dtype_size(asc_dtype_of(result[k]));
            all = realloc(all, *bytes + size + 1);
            memcpy(all + *bytes, asc_data(result[k]), size);
            *bytes += size;
        }
    }
    asc_ctx_free(ctx);
    ctx = outer;
    return all;
}

static inline void same_for_threads(run_fn *run, int i)
{
    static const int threads[] = {2, 3, 7};
    size_t bytes, other_bytes;
    unsigned char *one = bytes_on(1, run, i, &bytes);
    ck_assert_uint_gt(bytes, 0);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        unsigned char *other = bytes_on(threads[k], run, i, &other_bytes);
        ck_assert_uint_eq(bytes, other_bytes);
        ck_assert_msg(memcmp(one, other, bytes) == 0, "%d threads give other bits than one", threads[k]);
        free(other);
    }
    free(one);
}

#endif
