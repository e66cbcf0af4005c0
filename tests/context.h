/* tests/context.h: the context `ctx`, made for each test on a heap of its own, which must be empty in the end; expected
 * errors. */
#ifndef TESTS_CONTEXT_H
#define TESTS_CONTEXT_H

#include "tests/heap.h"
#include "tests/suite.h"

static asc_ctx *ctx;
static heap memory; /* of ctx */

static inline void setup_threads(int threads)
{
    memory = (heap){.fail_at = NEVER};
    ctx = context_on(&memory, threads);
    ck_assert_ptr_nonnull(ctx);
}

static inline void setup(void)
{
    setup_threads(2);
}

/* For what is so small that a second thread only waits. */
static inline void setup_one_thread(void)
{
    setup_threads(1);
}

static inline void teardown(void)
{
    asc_ctx_free(ctx);
    expect_empty(&memory);
}

static inline void no_error(void)
{
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
}

/* The error is `status` with this message; cleared for what comes next. */
static inline void expect_error(asc_status status, const char *message)
{
    ck_assert_str_eq(asc_error_message(ctx), message);
    ck_assert_int_eq(asc_error(ctx), status);
    asc_error_clear(ctx);
}

/* The same, where the message, one line, holds `part`. */
static inline void expect_error_with(asc_status status, const char *part)
{
    const char *message = asc_error_message(ctx);
    ck_assert_msg(strstr(message, part) && !strchr(message, '\n'), "'%s' lacks '%s'", message, part);
    ck_assert_int_eq(asc_error(ctx), status);
    asc_error_clear(ctx);
}

#endif
