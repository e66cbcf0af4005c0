/* tests/ops/test_background_parts.c: what does not change the background variant's results: later tokens, to the bit;
 * taking a sequence in parts; which gradients are wanted. */
#include "tests/ops/background.h"

/* The kinds that are causal in every statistic, and without lengths. */
static const kind causal_kinds[] = {
    {2, 2, 70, 4, 2, 3, 4, .o = {.causal = true, .k = 3}, .heading = true},
    {1, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .neighbors = ASC_NEIGHBORS_BASE, .window = 6, .globals = 2}},
    {1, 2, 140, 4, 2, 3, 4, .o = {.causal = true, .k = 3, .radius = 2, .neighbors = ASC_NEIGHBORS_HYBRID_UNION},
     .R = 2},
};
enum { CAUSAL_KINDS = sizeof causal_kinds / sizeof *causal_kinds };

/* Other values from position t on. */
static void change_after(const call *c, int64_t t)
{
    for (int i = Q; i <= HEADING; i++) {
        int64_t width = asc_is_null(c->x[i]) ? 0 : asc_size(c->x[i], 2);
        float *x = asc_data_mut(c->x[i]);
        for (int64_t e = 0; width > 0 && e < asc_numel(c->x[i]); e++) {
            x[e] = e / width % c->k->N < t ? x[e] : 3 - 2 * x[e];
        }
    }
}

START_TEST(causal_to_the_bit)
{
    const kind *k = &causal_kinds[_i];
    static const int64_t moments[] = {1, 33, 64, 69};
    for (int m = 0; m < 4; m++) {
        call one = make_call(k, ASC_F32), other = make_call(k, ASC_F32);
        change_after(&other, moments[m]);
        run(&one);
        run(&other);
        int64_t row = k->H * k->dv;
        for (int64_t b = 0; b < k->B; b++) {
            size_t at = (size_t)(b * k->N * row) * sizeof(float), bytes = (size_t)(moments[m] * row) * sizeof(float);
            const char *y = asc_data(one.y), *changed = asc_data(other.y);
            ck_assert_int_eq(memcmp(y + at, changed + at, bytes), 0);
        }
    }
}
END_TEST

START_TEST(gradients_are_causal)
{
    const kind *k = &causal_kinds[_i];
    enum { T = 66 };
    call c = make_call(k, ASC_F32);
    run(&c);
    asc_tensor dy = asc_zeros(ctx, ASC_F32, 3, asc_shape(c.y));
    for (int64_t e = 0; e < asc_numel(dy); e++) {
        ((float *)asc_data_mut(dy))[e] = e / (k->H * k->dv) % k->N < T ? 1 + (float)(e % 5) : 0;
    }
    ck_assert_int_eq(asc_backward(ctx, c.y, dy, false), ASC_OK);
    for (int i = Q; i <= HEADING; i++) {
        for (int64_t e = 0; !asc_is_null(c.x[i]) && e < asc_numel(c.x[i]); e++) {
            if (e / asc_size(c.x[i], 2) % k->N >= T && value(asc_grad(c.x[i]), e) != 0) {
                ck_abort_msg("input %d, element %lld", i, (long long)e);
            }
        }
    }
}
END_TEST

/* The last positions alone, with what is kept of those before, give what the whole sequence gives. */
START_TEST(a_sequence_in_parts)
{
    const kind *k = &causal_kinds[_i];
    call all = make_call(k, ASC_F64);
    asc_set_recording(ctx, false);
    run(&all);
    for (int64_t n = 1; n < k->N; n += 23) {
        int64_t before = k->N - n;
        asc_ascender_inputs in = inputs_of(&all);
        asc_ascender_options o = options_of(k);
        in.q = asc_slice(ctx, in.q, 1, before, ASC_SLICE_END, 1);
        asc_tensor rho, density = asc_slice(ctx, all.rho, 2, 0, before, 1);
        asc_tensor y = asc_ascender_background(ctx, &in, &o, density, &rho);
        expect_shape(y, ASC_SHAPE(k->B, n, k->H * k->dv));
        for (int64_t e = 0; e < asc_numel(y); e++) {
            int64_t row = n * k->H * k->dv;
            expect_close(y, e, value(all.y, e / row * k->N * k->H * k->dv + before * k->H * k->dv + e % row), 100);
        }
        for (int64_t e = 0; e < asc_numel(rho); e++) {
            expect_close(rho, e, value(all.rho, e / n * k->N + before + e % n), 1);
        }
    }
}
END_TEST

/* An input's gradient is the same whatever else is wanted. */
START_TEST(gradients_one_at_a_time)
{
    const kind *k = &causal_kinds[0];
    call all = make_call(k, ASC_F64);
    run(&all);
    run_backward(all.y);
    for (int which = 0; which < LEAVES; which++) {
        call one = make_call(k, ASC_F64);
        for (int i = 0; i < LEAVES; i++) {
            if (!asc_is_null(leaf_at(&one, i))) {
                asc_require_grad(leaf_at(&one, i), i == which);
            }
        }
        asc_tensor leaf = leaf_at(&one, which);
        if (asc_is_null(leaf)) {
            continue;
        }
        run(&one);
        run_backward(one.y);
        asc_tensor got = asc_grad(leaf), expected = asc_grad(leaf_at(&all, which));
        for (int64_t e = 0; e < asc_numel(leaf); e++) {
            expect_equal(got, e, value(expected, e));
        }
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("parts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, causal_to_the_bit, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, gradients_are_causal, 0, CAUSAL_KINDS);
    tcase_add_loop_test(t, a_sequence_in_parts, 0, CAUSAL_KINDS);
    tcase_add_test(t, gradients_one_at_a_time);
    return run_suite("ops/background parts", t);
}
