/* tests/ops/test_misuse.c: every op of the registry, used wrongly: an error that names the op and the argument, null
 * results, and a context that works as before. */
#include <stdio.h>

#include "autograd/engine.h"
#include "tests/ops/values.h"

static asc_ctx *other;

static void setup_two(void)
{
    setup();
    other = asc_ctx_new(NULL);
    ck_assert_ptr_nonnull(other);
}

static void teardown_two(void)
{
    teardown();
    asc_ctx_free(other);
}

typedef struct call {
    const asc_op *op;
    const asc_sample *sample;
    int n_in;
    asc_tensor in[ASC_MAX_IN];
} call;

static asc_tensor make_input(asc_ctx *c, const asc_sample_input *s)
{
    double at = s->kind == 'u' ? (s->lo + s->hi) / 2 : s->kind == 'i' ? s->lo : 1;
    asc_dtype dtype = s->kind == 'i' ? ASC_I64 : s->kind == 'b' ? ASC_U8 : ASC_F64;
    return asc_full(c, dtype, at, s->ndim, s->shape);
}

/* A good call of an op: its first sample. */
static call good_call(const asc_op *op)
{
    call g = {.op = op, .sample = &op->samples[0]};
    for (int i = 0; i < ASC_MAX_IN; i++) {
        const asc_sample_input *s = &g.sample->in[i];
        g.in[i] = s->kind == '=' ? g.in[(int)s->lo] : s->kind ? make_input(ctx, s) : asc_null();
        g.n_in = s->kind ? i + 1 : g.n_in;
    }
    return g;
}

static asc_status apply(const call *g, asc_tensor *out)
{
    return asc_apply(ctx, g->op, g->in, g->n_in, g->sample->attrs, out);
}

/* The call failed with `status`, and says which op and which input it was about; then the good call works. */
static void expect_misuse(const call *g, const asc_tensor *out, asc_status status, int input)
{
    char start[64], name[32];
    const char *message = asc_error_message(ctx);
    snprintf(start, sizeof start, "%s: ", g->op->name);
    ck_assert_msg(asc_error(ctx) == status, "%s: status %d, expected %d: %s", g->op->name, asc_error(ctx), status,
                  message);
    ck_assert_msg(strncmp(message, start, strlen(start)) == 0, "%s: %s", g->op->name, message);
    if (input >= 0) {
        ck_assert_msg(strstr(message, asc_input_name(g->op, input, name)) != NULL, "no '%s': %s", name, message);
    }
    for (int o = 0; o < g->op->n_out; o++) {
        ck_assert(asc_is_null(out[o]));
    }
    asc_error_clear(ctx);
}

/* Calls `test` with a good call of each op, for each of its inputs. */
static void for_each_input(void (*test)(call g, int input))
{
    for (int k = 0; asc_op_at(k); k++) {
        call g = good_call(asc_op_at(k));
        for (int i = 0; i < g.n_in; i++) {
            asc_scope_begin(ctx);
            if (!asc_is_null(g.in[i])) {
                test(g, i);
            }
            asc_scope_end(ctx);
            asc_tensor out[ASC_MAX_OUT];
            ck_assert_msg(apply(&g, out) == ASC_OK, "%s: the good call: %s", g.op->name, asc_error_message(ctx));
        }
    }
}

static void give_null(call g, int input)
{
    asc_tensor out[ASC_MAX_OUT];
    g.in[input] = asc_null();
    if (apply(&g, out)) {
        expect_misuse(&g, out, ASC_ERR_ARG, asc_input_optional(g.op, input) ? -1 : input);
    } else {
        ck_assert_msg(asc_input_optional(g.op, input), "%s: input %d is needed", g.op->name, input);
    }
}

static void give_stale(call g, int input)
{
    asc_tensor out[ASC_MAX_OUT];
    g.in[input] = make_input(ctx, &(asc_sample_input){.kind = 'f', .ndim = 1, .shape = {3}});
    asc_release(g.in[input]);
    apply(&g, out);
    expect_misuse(&g, out, ASC_ERR_STATE, input);
}

static void give_anothers(call g, int input)
{
    asc_tensor out[ASC_MAX_OUT];
    asc_array a = asc_array_of(g.in[input]);
    g.in[input] = asc_zeros(other, a.dtype, a.ndim, a.shape);
    apply(&g, out);
    expect_misuse(&g, out, ASC_ERR_ARG, input);
}

/* Ops that take any dtype hand it on, but for cast, which is there to change it, and argmax, which gives places. */
static void give_other_dtypes(call g, int input)
{
    asc_array a = asc_array_of(g.in[input]);
    for (int dtype = ASC_F32; dtype <= ASC_U8; dtype++) {
        asc_tensor out[ASC_MAX_OUT];
        if (dtype == (int)a.dtype) {
            continue;
        }
        g.in[input] = asc_zeros(ctx, (asc_dtype)dtype, a.ndim, a.shape);
        if (apply(&g, out)) {
            expect_misuse(&g, out, ASC_ERR_ARG, -1);
        } else {
            bool handed_on = asc_dtype_of(out[0]) == (asc_dtype)dtype || strcmp(g.op->name, "cast") == 0 ||
                             strcmp(g.op->name, "argmax") == 0;
            ck_assert_msg(handed_on, "%s takes %s as input %d", g.op->name, asc_dtype_name((asc_dtype)dtype), input);
        }
    }
}

/* Shapes that hardly fit anything: refused with the op's name, or taken. Nothing is read that is not there. */
static void give_other_shapes(call g, int input)
{
    static const int64_t sizes[] = {7, 1, 2, 11, 1, 3, 1, 5};
    asc_dtype dtype = asc_dtype_of(g.in[input]);
    for (int ndim = 0; ndim <= ASC_MAX_DIMS; ndim++) {
        asc_tensor out[ASC_MAX_OUT];
        g.in[input] = asc_full(ctx, dtype, 1, ndim, sizes);
        if (apply(&g, out)) {
            expect_misuse(&g, out, ASC_ERR_ARG, -1);
        }
    }
}

START_TEST(one_input)
{
    static void (*const tests[])(call g, int input) = {
        give_null, give_stale, give_anothers, give_other_dtypes, give_other_shapes,
    };
    for_each_input(tests[_i]);
}
END_TEST

START_TEST(number_of_inputs)
{
    for (int k = 0; asc_op_at(k); k++) {
        call g = good_call(asc_op_at(k));
        asc_tensor out[ASC_MAX_OUT];
        for (int times = 0; times < 2; times++) {
            g.n_in = times ? asc_inputs_most(g.op) + 1 : 0;
            apply(&g, out);
            expect_misuse(&g, out, ASC_ERR_ARG, -1);
        }
    }
}
END_TEST

/* A backward pass frees the tape as it goes. */
START_TEST(freed_tape)
{
    for (int k = 0; asc_op_at(k); k++) {
        call g = good_call(asc_op_at(k));
        asc_tensor out[ASC_MAX_OUT];
        for (int i = 0; i < g.n_in; i++) {
            if (asc_dtype_of(g.in[i]) == ASC_F64 && !asc_is_null(g.in[i])) {
                asc_require_grad(g.in[i], true);
            }
        }
        no_error();
        ck_assert_int_eq(apply(&g, out), ASC_OK);
        if (!asc_requires_grad(out[0])) {
            continue;
        }
        asc_tensor ones = asc_full(ctx, asc_dtype_of(out[0]), 1, asc_ndim(out[0]), asc_shape(out[0]));
        ck_assert_msg(asc_backward(ctx, out[0], ones, false) == ASC_OK, "%s: %s", g.op->name, asc_error_message(ctx));
        ck_assert_msg(asc_backward(ctx, out[0], ones, false) == ASC_ERR_STATE, "%s: %s", g.op->name,
                      asc_error_message(ctx));
        asc_error_clear(ctx);
    }
}
END_TEST

/* An error stays: what is called after it does nothing, and gives null. */
START_TEST(after_an_error)
{
    asc_fail(ctx, ASC_ERR_IO, "the first error");
    for (int k = 0; asc_op_at(k); k++) {
        call g = {.op = asc_op_at(k), .sample = &asc_op_at(k)->samples[0]};
        asc_tensor out[ASC_MAX_OUT];
        ck_assert_int_eq(apply(&g, out), ASC_ERR_IO);
        ck_assert(asc_is_null(out[0]));
    }
    ck_assert_str_eq(asc_error_message(ctx), "the first error");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("misuse");
    tcase_add_checked_fixture(t, setup_two, teardown_two);
    tcase_add_loop_test(t, one_input, 0, 5);
    tcase_add_test(t, number_of_inputs);
    tcase_add_test(t, freed_tape);
    tcase_add_test(t, after_an_error);
    return run_suite("ops/misuse", t);
}
