/* tests/test_tensor_memory.c: the context's allocator: reuse from step to step, and what happens when it fails. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ops.h>

/* ---- an allocator that counts, and fails when it is told to ---- */

typedef struct heap {
    int64_t calls, blocks;
    size_t bytes;
    int64_t fail_at; /* the number of the call that fails; -1: none */
    bool and_after;  /* and all that follow */
    bool misaligned;
} heap;

static void *heap_alloc(void *user, size_t bytes, size_t align)
{
    heap *h = user;
    int64_t call = h->calls++;
    if (h->fail_at >= 0 && (call == h->fail_at || (h->and_after && call > h->fail_at))) {
        return NULL;
    }
    h->misaligned |= align < 64 || (align & (align - 1)) != 0;
    void *p = NULL;
    if (posix_memalign(&p, align, bytes) != 0) {
        return NULL;
    }
    memset(p, 0xA5, bytes); /* what is not initialised shows */
    h->blocks++;
    h->bytes += bytes;
    return p;
}

static void heap_free(void *user, void *memory, size_t bytes)
{
    heap *h = user;
    h->blocks--;
    h->bytes -= bytes;
    free(memory);
}

static asc_ctx *ctx_on(heap *h)
{
    return asc_ctx_new(&(asc_options){.threads = 1, .seed = 1, .allocator = {heap_alloc, heap_free, h}});
}

/* ---- a small model ---- */

enum { V = 11, D = 6, TOKENS = 9 };

typedef struct model {
    asc_tensor table, w1, b1, w2, gain, index;
} model;

static void make_model(asc_ctx *ctx, model *m)
{
    static const int64_t ids[TOKENS] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    m->table = asc_normal(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(V, D));
    m->w1 = asc_normal(ctx, ASC_F32, 0, 1, 1, 2, ASC_SHAPE(4 * D, D));
    m->b1 = asc_normal(ctx, ASC_F32, 0, 1, 1, 3, ASC_SHAPE(4 * D));
    m->w2 = asc_normal(ctx, ASC_F32, 0, 1, 1, 4, ASC_SHAPE(D, 4 * D));
    m->gain = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(D));
    m->index = asc_from(ctx, ASC_I64, ids, ASC_SHAPE(3, 3));
    asc_tensor *leaf[] = {&m->table, &m->w1, &m->b1, &m->w2, &m->gain};
    for (int i = 0; i < 5; i++) {
        asc_require_grad(*leaf[i], true);
    }
}

/* A forward and a backward pass; the sum over the table's gradient. */
static double step(asc_ctx *ctx, const model *m, uint64_t number)
{
    asc_scope_begin(ctx);
    asc_set_step(ctx, 1, number);
    asc_tensor x = asc_embedding(ctx, m->table, m->index);
    asc_tensor h = asc_linear(ctx, x, m->w1, m->b1);
    h = asc_dropout(ctx, asc_layer_norm(ctx, h, asc_null(), asc_null(), 1e-5), 0.2);
    x = asc_add_dropout(ctx, x, asc_linear(ctx, h, m->w2, asc_null()), 0.1);
    asc_tensor parts[] = {asc_slice(ctx, x, 1, 0, 1, 1), asc_slice(ctx, x, 1, 1, ASC_END, 1)};
    x = asc_reshape(ctx, asc_transpose(ctx, asc_concat(ctx, parts, 2, 1), 0, 1), 2, (int64_t[]){TOKENS, D});
    x = asc_layer_norm(ctx, x, m->gain, asc_null(), 1e-5);
    asc_tensor cotangent = asc_normal(ctx, ASC_F32, 0, 1, 1, 5, ASC_SHAPE(TOKENS, D));
    asc_backward(ctx, x, cotangent, false);
    double sum = 0;
    const float *g = asc_data(asc_grad(m->table));
    for (int64_t i = 0; !asc_error(ctx) && i < asc_numel(m->table); i++) {
        sum += g[i] * (double)(i % 7 + 1);
    }
    asc_tensor leaf[] = {m->table, m->w1, m->b1, m->w2, m->gain};
    for (int i = 0; i < 5; i++) {
        asc_zero_grad(leaf[i]);
    }
    asc_scope_end(ctx);
    return sum;
}

static heap h;

static void setup(void)
{
    h = (heap){.fail_at = -1};
}

static void teardown(void)
{
    ck_assert_int_eq(h.blocks, 0);
    ck_assert_uint_eq(h.bytes, 0);
    ck_assert(!h.misaligned);
}

START_TEST(nothing_is_left)
{
    asc_ctx *ctx = ctx_on(&h);
    model m;
    make_model(ctx, &m);
    step(ctx, &m, 1);
    asc_scope_begin(ctx); /* a scope that is open at the end, and tensors that are kept */
    asc_keep(asc_keep(asc_embedding(ctx, m.table, m.index)));
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    ck_assert_uint_eq(asc_memory(ctx).bytes, h.bytes);
    ck_assert_uint_le(asc_memory(ctx).bytes, asc_memory(ctx).peak_bytes);
    asc_ctx_free(ctx);
    asc_ctx_free(NULL);
}
END_TEST

START_TEST(a_step_that_repeats_allocates_nothing)
{
    asc_ctx *ctx = ctx_on(&h);
    model m;
    make_model(ctx, &m);
    step(ctx, &m, 1);
    asc_memory_stats after_one = asc_memory(ctx);
    ck_assert_uint_eq(after_one.allocations, (uint64_t)h.calls);
    for (uint64_t i = 2; i < 12; i++) {
        step(ctx, &m, i);
    }
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    ck_assert_uint_eq(asc_memory(ctx).allocations, after_one.allocations);
    ck_assert_uint_eq(asc_memory(ctx).bytes, after_one.bytes);
    asc_ctx_free(ctx);
}
END_TEST

START_TEST(storage_is_used_again)
{
    asc_ctx *ctx = ctx_on(&h);
    asc_scope_begin(ctx);
    asc_tensor t = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1000));
    const void *memory = asc_data(t);
    asc_release(t);
    uint64_t calls = asc_memory(ctx).allocations;
    ck_assert_ptr_eq(asc_data(asc_zeros(ctx, ASC_F64, ASC_SHAPE(500))), memory); /* of its size */
    ck_assert_ptr_ne(asc_data(asc_zeros(ctx, ASC_F64, ASC_SHAPE(500))), memory); /* in use now */
    ck_assert_uint_gt(asc_memory(ctx).allocations, calls);
    asc_scope_end(ctx);
    asc_ctx_free(ctx);
}
END_TEST

/* Were a small request to take large storage, the first round would get by with what the second lacks. */
START_TEST(small_requests_leave_large_storage)
{
    asc_ctx *ctx = ctx_on(&h);
    uint64_t calls = 0;
    for (int round = 0; round < 3; round++) {
        asc_scope_begin(ctx);
        asc_release(asc_zeros(ctx, ASC_U8, ASC_SHAPE(1000)));
        asc_tensor q = asc_zeros(ctx, ASC_U8, ASC_SHAPE(800));
        asc_zeros(ctx, ASC_U8, ASC_SHAPE(800));
        asc_release(q);
        asc_zeros(ctx, ASC_U8, ASC_SHAPE(1000));
        asc_scope_end(ctx);
        ck_assert(round == 0 || asc_memory(ctx).allocations == calls);
        calls = asc_memory(ctx).allocations;
    }
    asc_ctx_free(ctx);
}
END_TEST

/* Large storage is cut out of chunks: requests of other sizes are served by what is there, and a round that repeats finds
 * everything where the first found it. */
START_TEST(large_storage_serves_any_size)
{
    enum { LARGE = 1 << 20 };
    asc_ctx *ctx = ctx_on(&h);
    uint64_t calls = 0;
    const void *place[2] = {NULL, NULL};
    for (int round = 0; round < 3; round++) {
        asc_scope_begin(ctx);
        asc_tensor whole = asc_zeros(ctx, ASC_U8, ASC_SHAPE(4 * LARGE));
        asc_release(whole);
        asc_tensor part[4];
        for (int i = 0; i < 4; i++) {
            part[i] = asc_full(ctx, ASC_U8, i, ASC_SHAPE(LARGE - 64 * i)); /* side by side in place of the whole */
        }
        for (int i = 0; i < 4; i++) {
            ck_assert_int_eq(((const uint8_t *)asc_data(part[i]))[LARGE - 64 * i - 1], i);
        }
        asc_release(part[1]);
        asc_release(part[0]);
        place[round > 0] = asc_data(asc_zeros(ctx, ASC_U8, ASC_SHAPE(2 * LARGE - 64))); /* where the two were */
        ck_assert(round == 0 || place[0] == place[1]);
        asc_scope_end(ctx);
        ck_assert(round == 0 || asc_memory(ctx).allocations == calls);
        calls = asc_memory(ctx).allocations;
        ck_assert_uint_lt(asc_memory(ctx).bytes, 5 * LARGE);
    }
    asc_ctx_free(ctx);
}
END_TEST

/* A request grows; what outlives its scope stands elsewhere and is not written over. */
START_TEST(large_storage_that_stays)
{
    asc_ctx *ctx = ctx_on(&h);
    asc_scope_begin(ctx);
    asc_tensor kept = asc_keep(asc_full(ctx, ASC_U8, 7, ASC_SHAPE(1 << 17)));
    asc_scope_end(ctx);
    for (int64_t size = 1 << 17; size < 1 << 19; size += 1 << 15) {
        asc_scope_begin(ctx);
        asc_full(ctx, ASC_U8, 1, ASC_SHAPE(size));
        asc_full(ctx, ASC_U8, 2, ASC_SHAPE(size / 2));
        asc_scope_end(ctx);
    }
    for (int64_t i = 0; i < asc_numel(kept); i++) {
        ck_assert_int_eq(((const uint8_t *)asc_data(kept))[i], 7);
    }
    asc_release(kept);
    asc_ctx_free(ctx);
}
END_TEST

/* ---- every allocation fails once ---- */

/* Runs the model with call number `fail_at` failing; false when there was no such call. */
static bool survives(int64_t fail_at, bool and_after, double expected)
{
    h = (heap){.fail_at = fail_at, .and_after = and_after};
    asc_ctx *ctx = ctx_on(&h);
    if (!ctx) {
        ck_assert_int_eq(h.blocks, 0);
        return true;
    }
    model m;
    make_model(ctx, &m);
    step(ctx, &m, 1);
    bool reached = h.calls > fail_at;
    ck_assert_msg(asc_error(ctx) == (reached ? ASC_ERR_MEMORY : ASC_OK), "call %lld: %s", (long long)fail_at,
                  asc_error_message(ctx));
    if (reached) {
        ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "out of memory"));
    }
    h.fail_at = -1;
    asc_error_clear(ctx);
    make_model(ctx, &m);
    double again = step(ctx, &m, 1);
    ck_assert_msg(asc_error(ctx) == ASC_OK, "call %lld, then: %s", (long long)fail_at, asc_error_message(ctx));
    ck_assert_double_eq(again, expected);
    asc_ctx_free(ctx);
    ck_assert_msg(h.blocks == 0 && h.bytes == 0, "call %lld: %lld blocks leak", (long long)fail_at,
                  (long long)h.blocks);
    return reached;
}

static void fail_all(bool and_after)
{
    asc_ctx *ctx = ctx_on(&h);
    model m;
    make_model(ctx, &m);
    double expected = step(ctx, &m, 1);
    asc_ctx_free(ctx);
    int64_t n = 0;
    while (survives(n, and_after, expected)) {
        n++;
    }
    ck_assert_int_gt(n, 40);
}

START_TEST(one_allocation_fails)
{
    fail_all(false);
}
END_TEST

START_TEST(all_allocations_fail_from_one_on)
{
    fail_all(true);
}
END_TEST

START_TEST(messages)
{
    asc_ctx *ctx = ctx_on(&h);
    h.fail_at = h.calls;
    ck_assert(asc_is_null(asc_zeros(ctx, ASC_U8, ASC_SHAPE(1 << 20))));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(asc_error_message(ctx), "out of memory"));
    asc_error_clear(ctx);
    void *p = asc_alloc(ctx, 100);
    ck_assert_ptr_nonnull(p);
    size_t held = asc_memory(ctx).bytes;
    asc_free(ctx, p, 100);
    ck_assert_uint_eq(asc_memory(ctx).bytes, held - 100);
    asc_free(ctx, NULL, 100);
    ck_assert_uint_eq(asc_memory(ctx).bytes, held - 100);
    asc_ctx_free(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor/memory");
    TCase *t = tcase_create("memory");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, nothing_is_left);
    tcase_add_test(t, a_step_that_repeats_allocates_nothing);
    tcase_add_test(t, storage_is_used_again);
    tcase_add_test(t, small_requests_leave_large_storage);
    tcase_add_test(t, large_storage_serves_any_size);
    tcase_add_test(t, large_storage_that_stays);
    tcase_add_test(t, one_allocation_fails);
    tcase_add_test(t, all_allocations_fail_from_one_on);
    tcase_add_test(t, messages);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
