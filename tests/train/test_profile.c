/* tests/train/test_profile.c: a profile of a loop of one's own: its tables, its trace, and what it does when memory
 * or a file fails. */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/op.h>
#include <ascgrad/profile.h>

#include "tests/autograd/ops.h"
#include "tests/suite.h"

enum { NUMEL = 6 };

/* ---- an allocator that fails where it is told to ---- */

static bool no_memory;

static void *take(void *user, size_t bytes, size_t align)
{
    (void)user;
    void *memory = NULL;
    return no_memory || posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, bytes) ? NULL : memory;
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static asc_ctx *ctx;

static void setup(void)
{
    no_memory = false;
    ctx = asc_ctx_new(&(asc_options){.threads = 1, .allocator = {take, give, NULL}});
    ck_assert_ptr_nonnull(ctx);
}

static void teardown(void)
{
    asc_ctx_free(ctx);
}

/* ---- a loop ---- */

static asc_tensor leaf(void)
{
    asc_tensor t = asc_full(ctx, ASC_F64, 2, ASC_SHAPE(2, 3));
    asc_require_grad(t, true);
    return t;
}

/* A step of two layers; its backward pass runs the forward pass of the second once more. */
static void take_step(void)
{
    asc_span step, part;
    asc_span_begin(ctx, &step, "step");
    asc_scope_begin(ctx);
    asc_tensor a = leaf(), b = leaf();
    asc_span_begin(ctx, &part, "forward");
    asc_set_label(ctx, "blocks.0.mix");
    asc_tensor y = mul(ctx, a, b);
    asc_set_label(ctx, "blocks.12.mix");
    y = mul(ctx, y, b);
    asc_set_label(ctx, NULL);
    y = next(ctx, y);
    asc_span_end(ctx, &part);
    asc_span_begin(ctx, &part, "backward");
    asc_backward(ctx, y, asc_full(ctx, ASC_F64, 1, ASC_SHAPE(2, 3)), false);
    next(ctx, y);
    asc_span_end(ctx, &part);
    asc_scope_end(ctx);
    asc_span_end(ctx, &step);
}

static void evaluate(void)
{
    asc_span span;
    asc_span_begin(ctx, &span, "evaluation");
    asc_scope_begin(ctx);
    next(ctx, leaf());
    asc_scope_end(ctx);
    asc_span_end(ctx, &span);
}

static asc_profile *profile_of(int steps, int64_t traced)
{
    asc_profile *p = asc_profile_new(ctx, traced);
    ck_assert_ptr_nonnull(p);
    for (int i = 0; i < steps; i++) {
        take_step();
    }
    evaluate();
    asc_profile_stop(p);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    return p;
}

static const asc_profile_row *find(asc_profile *p, asc_profile_table table, const char *name, asc_pass pass)
{
    const asc_profile_row *row, *found = NULL;
    int n = asc_profile_rows(p, table, &row);
    for (int i = 0; i < n; i++) {
        ck_assert(i == 0 || row[i].seconds <= row[i - 1].seconds); /* the longest first */
        if (strcmp(row[i].name, name) == 0 && (table != ASC_PROFILE_TABLE_OPS || row[i].pass == pass)) {
            ck_assert_ptr_null(found);
            found = &row[i];
        }
    }
    ck_assert_msg(found, "there is no row %s", name);
    return found;
}

/* ---- tables ---- */

START_TEST(ops_of_steps_add_up)
{
    asc_profile *p = profile_of(3, 0);
    static const struct {
        const char *name;
        asc_pass pass;
        int calls;
        double flops;
    } expected[] = {
        {"test_mul", ASC_PASS_FORWARD, 6, 6 * NUMEL},  {"test_mul", ASC_PASS_BACKWARD, 6, 12 * NUMEL},
        {"test_next", ASC_PASS_FORWARD, 3, 0},         {"test_next", ASC_PASS_BACKWARD, 3, 0},
        {"test_next", ASC_PASS_AGAIN, 3, 0}, /* not the evaluation's */
    };
    double seconds = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const asc_profile_row *r = find(p, ASC_PROFILE_TABLE_OPS, expected[i].name, expected[i].pass);
        ck_assert_int_eq(r->calls, expected[i].calls);
        ck_assert_double_eq(r->flops, expected[i].flops);
        ck_assert_double_gt(r->bytes, 0);
        ck_assert_double_eq(r->by_pass[expected[i].pass], r->seconds);
        seconds += r->seconds;
    }
    asc_profile_total total = asc_profile_sum(p);
    ck_assert_int_eq(total.steps, 3);
    ck_assert_double_eq(total.flops, 18 * NUMEL);
    ck_assert_double_le(seconds, total.step_seconds);
    ck_assert_double_le(total.step_seconds, total.seconds);
    asc_profile_free(p);
}
END_TEST

START_TEST(phases_are_apart)
{
    asc_profile *p = profile_of(3, 0);
    static const struct {
        const char *name;
        int calls;
        bool in_step;
        double flops;
    } expected[] = {{"forward", 3, true, 6 * NUMEL}, {"backward", 3, true, 12 * NUMEL}, {"evaluation", 1, false, 0}};
    double seconds = 0;
    for (int i = 0; i < 3; i++) {
        const asc_profile_row *r = find(p, ASC_PROFILE_TABLE_PHASES, expected[i].name, ASC_PASSES);
        ck_assert_int_eq(r->calls, expected[i].calls);
        ck_assert_int_eq(r->in_step, expected[i].in_step);
        ck_assert_double_eq(r->flops, expected[i].flops);
        seconds += r->seconds;
    }
    const asc_profile_row *rows;
    ck_assert_int_eq(asc_profile_rows(p, ASC_PROFILE_TABLE_PHASES, &rows), 3);
    ck_assert_double_le(seconds, asc_profile_sum(p).seconds);
    asc_profile_free(p);
}
END_TEST

START_TEST(layers_are_one_part)
{
    asc_profile *p = profile_of(2, 0);
    const asc_profile_row *r = find(p, ASC_PROFILE_TABLE_PARTS, "blocks.N.mix", ASC_PASSES), *rows;
    ck_assert_int_eq(r->calls, 8);
    ck_assert_double_gt(r->by_pass[ASC_PASS_FORWARD], 0);
    ck_assert_double_eq_tol(r->by_pass[ASC_PASS_FORWARD] + r->by_pass[ASC_PASS_BACKWARD], r->seconds, 1e-12);
    ck_assert_int_eq(find(p, ASC_PROFILE_TABLE_PARTS, "no label", ASC_PASSES)->calls, 6);
    ck_assert_int_eq(asc_profile_rows(p, ASC_PROFILE_TABLE_PARTS, &rows), 2);
    asc_profile_free(p);
}
END_TEST

/* What is inside of another outermost span is all that span's. */
START_TEST(a_warm_up_is_no_step)
{
    asc_profile *p = asc_profile_new(ctx, 0);
    asc_span span;
    asc_span_begin(ctx, &span, "warm-up");
    take_step();
    asc_span_end(ctx, &span);
    const asc_profile_row *rows;
    ck_assert_int_eq(asc_profile_rows(p, ASC_PROFILE_TABLE_PHASES, &rows), 1);
    ck_assert_str_eq(rows->name, "warm-up");
    ck_assert_int_eq(asc_profile_rows(p, ASC_PROFILE_TABLE_OPS, &rows), 0);
    ck_assert_int_eq(asc_profile_sum(p).steps, 0);
    asc_profile_free(p);
}
END_TEST

/* ---- an op that calls another: the time is the inner one's ---- */

static asc_status slow_forward(asc_call *call)
{
    volatile double x = 0;
    while (x < 3e6) {
        x = x + 1;
    }
    return next_forward(call);
}

static const asc_op slow_op = {
    .abi = ASC_OP_ABI,
    .name = "test_slow",
    .equation = "y = x + 1",
    .inputs = "x",
    .n_out = 1,
    .infer = same_as_first,
    .forward = slow_forward,
};

static asc_status outer_forward(asc_call *call)
{
    asc_scope_begin(call->ctx);
    asc_tensor x = leaf();
    asc_apply1(call->ctx, &slow_op, &x, 1, NULL);
    asc_scope_end(call->ctx);
    return asc_error(call->ctx);
}

static const asc_op outer_op = {
    .abi = ASC_OP_ABI,
    .name = "test_outer",
    .equation = "none",
    .inputs = "x",
    .n_out = 1,
    .infer = same_as_first,
    .forward = outer_forward,
};

/* The share of the time of both calls that the outer one has. */
static double share_of_outer(void)
{
    asc_profile *p = asc_profile_new(ctx, 0);
    asc_tensor x = leaf();
    asc_span span;
    asc_span_begin(ctx, &span, "step");
    asc_apply1(ctx, &outer_op, &x, 1, NULL);
    asc_apply1(ctx, &slow_op, &x, 1, NULL);
    asc_span_end(ctx, &span);
    double outer = find(p, ASC_PROFILE_TABLE_OPS, "test_outer", ASC_PASS_FORWARD)->seconds;
    double inner = find(p, ASC_PROFILE_TABLE_OPS, "test_slow", ASC_PASS_FORWARD)->seconds;
    ck_assert_double_ge(outer, 0);
    ck_assert_double_le(outer + inner, asc_profile_sum(p).step_seconds);
    asc_profile_free(p);
    return outer / (outer + inner);
}

/* A machine that is overloaded may take the processor away within the outer one: once it doesn't. */
START_TEST(time_belongs_to_the_innermost_call)
{
    double share = 1;
    for (int attempt = 0; attempt < 50 && share > 0.1; attempt++) {
        share = fmin(share, share_of_outer());
    }
    ck_assert_double_le(share, 0.1);
}
END_TEST

/* ---- many names, strange names ---- */

START_TEST(more_labels_than_rows)
{
    asc_profile *p = asc_profile_new(ctx, 0);
    asc_span span;
    asc_tensor x = leaf();
    asc_span_begin(ctx, &span, "step");
    for (int i = 0; i < 300; i++) {
        char label[3] = {(char)('a' + i / 20), (char)('a' + i % 20), 0};
        asc_set_label(ctx, label);
        next(ctx, x);
    }
    asc_set_label(ctx, NULL);
    asc_span_end(ctx, &span);
    const asc_profile_row *rows;
    int n = asc_profile_rows(p, ASC_PROFILE_TABLE_PARTS, &rows);
    int64_t calls = 0;
    for (int i = 0; i < n; i++) {
        calls += rows[i].calls;
    }
    ck_assert_int_lt(n, 300);
    ck_assert_int_eq(calls, 300);
    find(p, ASC_PROFILE_TABLE_PARTS, "the rest", ASC_PASSES);
    asc_profile_free(p);
}
END_TEST

/* ---- the file ---- */

static json_t *write_and_read(asc_profile *p)
{
    char path[] = "/tmp/ascgrad-test-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(asc_profile_write(p, path, 100), ASC_OK);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    ck_assert_msg(root, "line %d: %s", error.line, error.text);
    unlink(path);
    return root;
}

/* How many events have that name. */
static int count(json_t *root, const char *name)
{
    int n = 0;
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        n += strcmp(json_string_value(json_object_get(event, "name")), name) == 0;
    }
    return n;
}

START_TEST(the_trace_has_the_first_steps)
{
    for (int traced = 0; traced < 4; traced++) {
        asc_profile *p = profile_of(3, traced);
        json_t *root = write_and_read(p);
        ck_assert_int_eq(count(root, "forward"), traced < 3 ? traced : 3);
        ck_assert_int_eq(count(root, "test_mul"), 4 * (traced < 3 ? traced : 3));
        ck_assert_int_eq(count(root, "evaluation"), traced > 3);
        json_t *tables = json_object_get(root, "profile");
        ck_assert_int_eq(json_integer_value(json_object_get(tables, "steps")), 3);
        ck_assert_double_eq(json_number_value(json_object_get(tables, "sgemm_gflops")), 100);
        ck_assert_uint_eq(json_array_size(json_object_get(tables, "phases")), 3);
        ck_assert_uint_eq(json_array_size(json_object_get(tables, "parts")), 2);
        ck_assert_uint_eq(json_array_size(json_object_get(tables, "ops")), 5);
        json_decref(root);
        asc_profile_free(p);
    }
}
END_TEST

/* A step that returned early out of two spans, and is called again. */
START_TEST(spans_that_never_ended)
{
    asc_profile *p = asc_profile_new(ctx, 1);
    asc_span step, part;
    asc_span_begin(ctx, &step, "step");
    asc_span_begin(ctx, &part, "forward");
    asc_span_begin(ctx, &step, "step");
    ck_assert_str_eq(asc_error_message(ctx), "span_begin: step has begun, and not ended");
    asc_error_clear(ctx);
    ck_assert(!step.outer);
    asc_span_begin(ctx, &part, "forward");
    next(ctx, leaf());
    asc_span_end(ctx, &part);
    asc_span_end(ctx, &step);
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    asc_profile_free(p);
}
END_TEST

START_TEST(any_name_makes_json)
{
    asc_profile *p = asc_profile_new(ctx, 1);
    asc_set_label(ctx, "a \"label\" \\ of \303\244 user\n, and a long one, longer than a row has room for");
    take_step();
    asc_span step, part;
    asc_span_begin(ctx, &step, "step");
    asc_span_begin(ctx, &part, "\"\001\377\"");
    next(ctx, leaf());
    asc_span_end(ctx, &part);
    asc_span_end(ctx, &step);
    asc_set_label(ctx, NULL);
    json_decref(write_and_read(p));
    asc_profile_free(p);
}
END_TEST

START_TEST(a_file_that_cant_be)
{
    asc_profile *p = profile_of(1, 1);
    ck_assert_int_eq(asc_profile_write(p, "/nowhere/at/all.json", 0), ASC_ERR_IO);
    ck_assert_msg(strstr(asc_error_message(ctx), "/nowhere/at/all.json: can't write"), "%s", asc_error_message(ctx));
    asc_error_clear(ctx);
    json_decref(write_and_read(p)); /* nothing is lost */
    asc_profile_free(p);
}
END_TEST

/* ---- memory ---- */

START_TEST(without_memory_the_trace_ends_and_the_training_goes_on)
{
    for (int i = 0; i < 2; i++) {
        take_step(); /* has its memory */
    }
    asc_profile *p = asc_profile_new(ctx, 1000);
    take_step();
    no_memory = true;
    for (int i = 0; i < 100; i++) {
        take_step();
    }
    no_memory = false;
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    ck_assert_int_eq(asc_profile_sum(p).steps, 101);
    json_t *root = write_and_read(p);
    ck_assert_int_ge(count(root, "test_mul"), 4);
    ck_assert_int_lt(count(root, "test_mul"), 404);
    json_decref(root);
    asc_profile_free(p);
}
END_TEST

START_TEST(beginnings_that_fail)
{
    ck_assert_ptr_null(asc_profile_new(ctx, -1));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
    asc_error_clear(ctx);
    no_memory = true;
    ck_assert_ptr_null(asc_profile_new(ctx, 1));
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_MEMORY);
    asc_error_clear(ctx);
    no_memory = false;
    take_step();
    asc_profile_free(NULL);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("profile");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, ops_of_steps_add_up);
    tcase_add_test(t, phases_are_apart);
    tcase_add_test(t, layers_are_one_part);
    tcase_add_test(t, a_warm_up_is_no_step);
    tcase_add_test(t, time_belongs_to_the_innermost_call);
    tcase_add_test(t, more_labels_than_rows);
    tcase_add_test(t, the_trace_has_the_first_steps);
    tcase_add_test(t, spans_that_never_ended);
    tcase_add_test(t, any_name_makes_json);
    tcase_add_test(t, a_file_that_cant_be);
    tcase_add_test(t, without_memory_the_trace_ends_and_the_training_goes_on);
    tcase_add_test(t, beginnings_that_fail);
    return run_suite("train/profile", t);
}
