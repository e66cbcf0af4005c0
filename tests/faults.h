/* tests/faults.h: a life in which one allocation fails, each in turn: an error, no leak, and the same life after it. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include <math.h>

#include "tests/context.h"

enum { FIRST = 200 };

/* Lives in the `ctx` of the moment, on and on whatever fails, and leaves nothing in it. What it comes to is the same
 * each time that nothing fails. */
typedef double life_fn(void);

typedef struct lived {
    double value;
    size_t bytes; /* that the context held in the end */
} lived;

static inline lived live_whole(heap *h, life_fn *live)
{
    *h = (heap){.fail_at = NEVER};
    ctx = context_on(h, 1);
    lived whole = {.value = live()};
    no_error();
    ck_assert(isfinite(whole.value));
    whole.bytes = asc_memory(ctx).bytes;
    asc_ctx_free(ctx);
    expect_empty(h);
    return whole;
}

/* Whether there was an allocation n, from 0, to fail. */
static inline bool fails_at(heap *h, int64_t n, bool and_after, life_fn *live, const lived *whole)
{
    *h = (heap){.fail_at = n, .and_after = and_after};
    ctx = context_on(h, 1);
    if (!ctx) {
        expect_empty(h);
        return true;
    }
    live();
    bool reached = h->calls > n;
    h->fail_at = NEVER;
    if (reached) {
        ck_assert_msg(asc_error(ctx) == ASC_ERR_MEMORY && strstr(asc_error_message(ctx), "out of memory"),
                      "allocation %lld: '%s'", (long long)n, asc_error_message(ctx));
        asc_error_clear(ctx);
    }
    double again = live();
    ck_assert_msg(asc_error(ctx) == ASC_OK && again == whole->value, "allocation %lld, then %.17g, expected %.17g: %s",
                  (long long)n, again, whole->value, asc_error_message(ctx));
    size_t most = whole->bytes + whole->bytes / 20; /* what was cut short may be in the pool in another order */
    ck_assert_msg(asc_memory(ctx).bytes <= most, "allocation %lld: %zu bytes are held, expected at most %zu",
                  (long long)n, asc_memory(ctx).bytes, most);
    asc_ctx_free(ctx);
    ck_assert_msg(h->blocks == 0 && h->bytes == 0, "allocation %lld: %lld blocks leak", (long long)n,
                  (long long)h->blocks);
    return reached;
}

/* Each allocation fails, alone or with all that come after it; of those beyond FIRST each fifth, but in full. About how
 * many there are. */
static inline int64_t fail_each_allocation(life_fn *live, bool and_after)
{
    asc_ctx *outer = ctx;
    heap own;
    lived whole = live_whole(&own, live);
    int64_t n = 0;
    while (fails_at(&own, n, and_after, live, &whole)) {
        n += n < FIRST || in_full() ? 1 : 5;
    }
    ctx = outer;
    return n;
}

#endif
