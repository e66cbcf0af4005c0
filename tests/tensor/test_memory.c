/* tests/tensor/test_memory.c: the context's allocator: reuse from step to step, and what happens when it fails. */
#include <ascgrad/ops.h>

#include "tests/faults.h"

/* ---- a small model ---- */

enum { V = 11, D = 6, TOKENS = 9 };

enum { TABLE, W1, B1, W2, GAIN, LEAVES };

typedef struct model {
    asc_tensor leaf[LEAVES], index;
} model;

static model make_model(void)
{
    static const int64_t ids[TOKENS] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
    model m = {{asc_normal(ctx, ASC_F32, 0, 1, 1, 1, ASC_SHAPE(V, D)),
                asc_normal(ctx, ASC_F32, 0, 1, 1, 2, ASC_SHAPE(4 * D, D)),
                asc_normal(ctx, ASC_F32, 0, 1, 1, 3, ASC_SHAPE(4 * D)),
                asc_normal(ctx, ASC_F32, 0, 1, 1, 4, ASC_SHAPE(D, 4 * D)),
                asc_full(ctx, ASC_F32, 1, ASC_SHAPE(D))},
               asc_from(ctx, ASC_I64, ids, ASC_SHAPE(3, 3))};
    for (int i = 0; i < LEAVES; i++) {
        asc_require_grad(m.leaf[i], true);
    }
    return m;
}

static void release_model(const model *m)
{
    for (int i = 0; i < LEAVES; i++) {
        asc_release(m->leaf[i]);
    }
    asc_release(m->index);
}

/* A forward and a backward pass; the sum over the table's gradient. */
static double step(const model *m, uint64_t number)
{
    const asc_tensor *leaf = m->leaf;
    asc_scope_begin(ctx);
    asc_set_step(ctx, 1, number);
    asc_tensor x = asc_embedding(ctx, leaf[TABLE], m->index);
    asc_tensor h = asc_linear(ctx, x, leaf[W1], leaf[B1]);
    h = asc_dropout(ctx, asc_layer_norm(ctx, h, asc_null(), asc_null(), 1e-5), 0.2);
    x = asc_add_dropout(ctx, x, asc_linear(ctx, h, leaf[W2], asc_null()), 0.1);
    asc_tensor parts[] = {asc_slice(ctx, x, 1, 0, 1, 1), asc_slice(ctx, x, 1, 1, ASC_SLICE_END, 1)};
    x = asc_reshape(ctx, asc_transpose(ctx, asc_concat(ctx, parts, 2, 1), 0, 1), 2, (int64_t[]){TOKENS, D});
    x = asc_layer_norm(ctx, x, leaf[GAIN], asc_null(), 1e-5);
    asc_tensor cotangent = asc_normal(ctx, ASC_F32, 0, 1, 1, 5, ASC_SHAPE(TOKENS, D));
    asc_backward(ctx, x, cotangent, false);
    double sum = 0;
    const float *g = asc_data(asc_grad(leaf[TABLE]));
    for (int64_t i = 0; !asc_error(ctx) && i < V * D; i++) {
        sum += g[i] * (double)(i % 7 + 1);
    }
    for (int i = 0; i < LEAVES; i++) {
        asc_zero_grad(leaf[i]);
    }
    asc_scope_end(ctx);
    return sum;
}

START_TEST(nothing_is_left)
{
    model m = make_model();
    step(&m, 1);
    asc_scope_begin(ctx); /* a scope that is open at the end, and tensors that are kept */
    asc_keep(asc_keep(asc_embedding(ctx, m.leaf[TABLE], m.index)));
    no_error();
    ck_assert_uint_eq(asc_memory(ctx).bytes, memory.bytes);
    ck_assert_uint_le(asc_memory(ctx).bytes, asc_memory(ctx).peak_bytes);
    asc_ctx_free(NULL);
}
END_TEST

START_TEST(a_step_that_repeats_allocates_nothing)
{
    model m = make_model();
    step(&m, 1);
    asc_memory_stats after_one = asc_memory(ctx);
    ck_assert_uint_eq(after_one.allocations, (uint64_t)memory.calls);
    for (uint64_t i = 2; i < 12; i++) {
        step(&m, i);
    }
    no_error();
    ck_assert_uint_eq(asc_memory(ctx).allocations, after_one.allocations);
    ck_assert_uint_eq(asc_memory(ctx).bytes, after_one.bytes);
}
END_TEST

START_TEST(storage_is_used_again)
{
    asc_scope_begin(ctx);
    asc_tensor t = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1000));
    const void *place = asc_data(t);
    asc_release(t);
    uint64_t calls = asc_memory(ctx).allocations;
    ck_assert_ptr_eq(asc_data(asc_zeros(ctx, ASC_F64, ASC_SHAPE(500))), place); /* of its size */
    ck_assert_ptr_ne(asc_data(asc_zeros(ctx, ASC_F64, ASC_SHAPE(500))), place); /* in use now */
    ck_assert_uint_gt(asc_memory(ctx).allocations, calls);
    asc_scope_end(ctx);
}
END_TEST

/* Were a small request to take large storage, the first round would get by with what the second lacks. */
START_TEST(small_requests_leave_large_storage)
{
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
}
END_TEST

/* Large storage is cut out of chunks: requests of other sizes are served by what is there, and a round that repeats
 * finds everything where the first found it. */
START_TEST(large_storage_serves_any_size)
{
    enum { LARGE = 1 << 20 };
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
}
END_TEST

/* A request grows; what outlives its scope stands elsewhere and is not written over. */
START_TEST(large_storage_that_stays)
{
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
}
END_TEST

/* ---- every allocation fails once ---- */

static double live(void)
{
    model m = make_model();
    double sum = step(&m, 1);
    release_model(&m);
    return sum;
}

START_TEST(one_allocation_fails)
{
    ck_assert_int_gt(fail_each_allocation(live, false), 40);
}
END_TEST

START_TEST(all_allocations_fail_from_one_on)
{
    ck_assert_int_gt(fail_each_allocation(live, true), 40);
}
END_TEST

static void count_text(void *user, const char *text)
{
    *(int *)user += strstr(text, "one of alloc and free") != NULL;
}

START_TEST(half_an_allocator_is_none)
{
    int told = 0;
    asc_options o = {.threads = 1, .message = count_text, .message_user = &told};
    o.allocator = (asc_allocator){heap_alloc, NULL, &memory};
    ck_assert_ptr_null(asc_ctx_new(&o));
    o.allocator = (asc_allocator){NULL, heap_free, &memory};
    ck_assert_ptr_null(asc_ctx_new(&o));
    ck_assert_int_eq(told, 2);
}
END_TEST

START_TEST(messages)
{
    memory.fail_at = memory.calls;
    ck_assert(asc_is_null(asc_zeros(ctx, ASC_U8, ASC_SHAPE(1 << 20))));
    expect_error_with(ASC_ERR_MEMORY, "out of memory");
    void *p = asc_alloc(ctx, 100);
    ck_assert_ptr_nonnull(p);
    size_t held = asc_memory(ctx).bytes;
    asc_free(ctx, p, 100);
    ck_assert_uint_eq(asc_memory(ctx).bytes, held - 100);
    asc_free(ctx, NULL, 100);
    ck_assert_uint_eq(asc_memory(ctx).bytes, held - 100);
}
END_TEST

int main(void)
{
    setenv("ASCGRAD_PRODUCTS", "openblas", 1); /* others have room for operands in every context */
    TCase *t = tcase_create("memory");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, nothing_is_left);
    tcase_add_test(t, a_step_that_repeats_allocates_nothing);
    tcase_add_test(t, storage_is_used_again);
    tcase_add_test(t, small_requests_leave_large_storage);
    tcase_add_test(t, large_storage_serves_any_size);
    tcase_add_test(t, large_storage_that_stays);
    tcase_add_test(t, one_allocation_fails);
    tcase_add_test(t, all_allocations_fail_from_one_on);
    tcase_add_test(t, half_an_allocator_is_none);
    tcase_add_test(t, messages);
    return run_suite("tensor/memory", t);
}
