/* tests/ops/test_panel_sums.c: how a few heads of a long sequence are shared out among many threads: the same number of
 * panels to each, every piece once, memory for a round's chunks alone; the same sums for any number of threads. */
#include <ascgrad/mixing_ops.h>
#include <stdatomic.h>
#include <string.h>

#include "ops/attention/panel.h"
#include "tests/ops/values.h"
#include "tests/threads.h"

enum { N = 4096, MOST_PIECES = 1024 };

static asc_allowed causal(int64_t B, int64_t heads, int64_t n)
{
    return (asc_allowed){.B = B, .H = heads, .N = n, .M = n, .causal = true};
}

static atomic_int seen[MOST_PIECES];

static void note_piece(void *arg, int64_t piece, int worker)
{
    (void)arg, (void)worker;
    ck_assert_int_lt(piece, MOST_PIECES);
    atomic_fetch_add(&seen[piece], 1);
}

/* Rounds are whole, their pieces come out even, and no piece is run twice. */
static void expect_even(const asc_allowed *J, int threads)
{
    int64_t chunks = asc_panel_chunks(J), strands = asc_panel_strands(J);
    asc_panel_rounds rounds = asc_panel_rounds_of(ctx, J);
    ck_assert_int_eq(asc_head_panels(J) % chunks, 0);
    ck_assert_int_eq(chunks % rounds.chunks, 0);
    ck_assert_int_eq(strands % rounds.strands, 0);
    ck_assert_int_eq(rounds.chunks * rounds.strands % threads, 0);
    memset(seen, 0, sizeof seen);
    asc_panel_sum_up(ctx, J, NULL, 0, note_piece, NULL);
    for (int64_t piece = 0; piece < MOST_PIECES; piece++) {
        ck_assert_int_eq(atomic_load(&seen[piece]), piece < chunks * strands);
    }
}

START_TEST(few_heads_come_out_even)
{
    static const int threads[] = {1, 2, 4, 16, 64};
    for (int t = 0; t < 5; t++) {
        asc_ctx_free(ctx);
        ctx = context_on(&memory, threads[t]);
        for (int64_t heads = 1; heads <= 4; heads++) {
            asc_allowed J = causal(1, heads, N);
            expect_even(&J, threads[t]);
            ck_assert_int_eq(asc_panel_forward_chunks(&J) * heads % threads[t], 0);
        }
        asc_allowed both = causal(2, 2, N); /* of a batch, too */
        expect_even(&both, threads[t]);
    }
}
END_TEST

/* Where keys are few, or many heads are there already, a chunk's sums would cost more than they bring. */
START_TEST(no_more_chunks_than_pay)
{
    asc_allowed wide = causal(32, 4, N), near = causal(1, 1, N), brief = causal(1, 1, 1024);
    near.window = 64;
    ck_assert_int_eq(asc_panel_chunks(&wide), 1);
    ck_assert_int_eq(asc_panel_chunks(&near), 8);
    ck_assert_int_eq(asc_panel_chunks(&brief), 8);
    asc_allowed few = causal(1, 4, N);
    asc_panel_rounds rounds = asc_panel_rounds_of(ctx, &few); /* on two threads: of one head at a time */
    ck_assert_int_eq(asc_panel_chunks(&few), 16);
    ck_assert_int_eq(rounds.strands, 1);
    ck_assert_int_eq(rounds.chunks, 8);
}
END_TEST

static void run_attention(asc_tensor *result, int heads)
{
    asc_tensor x[3];
    for (unsigned i = 0; i < 3; i++) {
        x[i] = random_leaf(ASC_F32, i + 1, ASC_SHAPE(1, N, heads * 2));
    }
    asc_attention_options o = {.heads = heads, .causal = true};
    result[0] = asc_attention(ctx, &(asc_attention_inputs){.q = x[0], .k = x[1], .v = x[2]}, &o);
    run_backward(result[0]);
    for (int i = 0; i < 3; i++) {
        result[1 + i] = asc_grad(x[i]);
    }
}

START_TEST(the_same_bits_on_many_threads)
{
    size_t bytes, others;
    unsigned char *one = bytes_on(1, run_attention, _i, &bytes), *many = bytes_on(16, run_attention, _i, &others);
    ck_assert_uint_eq(bytes, others);
    ck_assert(memcmp(one, many, bytes) == 0);
    free(one);
    free(many);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("panel sums");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, few_heads_come_out_even);
    tcase_add_test(t, no_more_chunks_than_pay);
    tcase_add_loop_test(t, the_same_bits_on_many_threads, 1, 4);
    return run_suite("ops/panel sums", t);
}
