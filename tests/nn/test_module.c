/* tests/nn/test_module.c: modules, batches, files of parameters, a layer alone: what they compute, and that the first
 * error reaches the end of a chain. */
#include <stdio.h>

#include <ascgrad/ascgrad.h>

#include "tests/faults.h"
#include "tests/folder.h"

static asc_module *network(asc_dtype dtype)
{
    asc_module *branch = asc_module_sequential(ctx, ASC_MODULES(asc_module_layer_norm(ctx, dtype, 8),
                                                                asc_module_feed_forward(ctx, dtype, 8, 12),
                                                                asc_module_dropout(ctx, .5)));
    asc_module *parts[] = {
        asc_module_embedding(ctx, dtype, 7, 8), asc_module_residual(ctx, branch),
        asc_module_attention(ctx, dtype, 8, &(asc_attention_options){.heads = 2, .causal = true}),
        asc_module_mixing(ctx, dtype, "conv", 8, "{\"width\":2}"), asc_module_function(ctx, asc_tanh),
        asc_module_linear(ctx, dtype, 8, 7),
    };
    return asc_module_sequential(ctx, 6, parts);
}

static asc_tensor tokens(void)
{
    return asc_from(ctx, ASC_I64, (int64_t[]){1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5}, ASC_SHAPE(4, 3));
}

/* A module of attention has all of its options: that of the op, and of none of them, differ. */
START_TEST(attention_has_its_options)
{
    asc_attention_options options = {.heads = 2, .causal = true, .window = 2, .globals = 1, .random = 2, .cap = .5};
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 3, 1, 1, ASC_SHAPE(1, 12, 8));
    asc_module *m = asc_module_attention(ctx, ASC_F64, 8, &options);
    asc_params *p = asc_module_params(m);
    asc_tensor qkv[3], y = asc_module_forward(m, x), projected;
    for (int i = 0; i < 3; i++) {
        static const char *const names[3][2] = {{"q.weight", "q.bias"}, {"k.weight", "k.bias"}, {"v.weight", "v.bias"}};
        qkv[i] = asc_linear(ctx, x, asc_params_find(p, names[i][0]), asc_params_find(p, names[i][1]));
    }
    const asc_attention_inputs in = {.q = qkv[0], .k = qkv[1], .v = qkv[2]};
    projected = asc_linear(ctx, asc_attention(ctx, &in, &options), asc_params_find(p, "o.weight"),
                           asc_params_find(p, "o.bias"));
    no_error();
    for (int64_t i = 0; i < asc_numel(y); i++) {
        ck_assert_double_eq_tol(((const double *)asc_data(y))[i], ((const double *)asc_data(projected))[i], 1e-12);
    }
    options.cap = NAN;
    ck_assert_ptr_null(asc_module_attention(ctx, ASC_F64, 8, &options));
    expect_error(ASC_ERR_ARG, "module_attention: cap is nan, expected a number");
    asc_module_free(m);
}
END_TEST

/* Two rounds of training; the last loss. */
static double train(void)
{
    double value = NAN;
    asc_tensor x = tokens(), batch[2];
    asc_module *net = network(ASC_F32);
    asc_optim *optim = asc_adamw_new(ctx, asc_module_params(net), NULL);
    asc_batches *batches = asc_batches_new(ctx, (asc_tensor[]){x, x}, 2, 3, 5);
    asc_set_step(ctx, 1, 0);
    for (int epoch = 0; epoch < 2; epoch++) {
        while (asc_batches_next(batches, batch)) {
            asc_tensor loss = asc_cross_entropy(ctx, asc_module_forward(net, batch[0]), batch[1], -1, NULL);
            asc_backward_loss(ctx, loss);
            asc_optim_step(optim, 1e-2, 1);
            asc_params_zero_grad(asc_module_params(net));
            value = asc_item(loss);
        }
    }
    asc_batches_free(batches);
    asc_optim_free(optim);
    asc_module_free(net);
    asc_release(x);
    return value;
}

/* Values depend on how many modules were made before, and a life is to come to the same twice. */
static double live(void)
{
    asc_ctx *outer = ctx;
    double value = train();
    ck_assert_ptr_eq(ctx, outer);
    return isnan(value) ? NAN : 1;
}

START_TEST(any_allocation_may_fail)
{
    ck_assert_int_gt(fail_each_allocation(live, true), 50);
}
END_TEST

START_TEST(a_program_draws_the_same_again)
{
    double loss[2];
    for (int i = 0; i < 2; i++) {
        asc_ctx *outer = ctx;
        ctx = asc_ctx_new(&(asc_options){.threads = i + 1, .seed = 3});
        loss[i] = train();
        no_error();
        asc_ctx_free(ctx);
        ctx = outer;
    }
    ck_assert(loss[0] == loss[1] && loss[0] > 0);
}
END_TEST

START_TEST(parts_have_names_and_values_of_their_own)
{
    asc_module *net = network(ASC_F64);
    asc_params *all = asc_module_params(net);
    no_error();
    static const char *const names[] = {"0.weight", "1.0.weight", "1.1.fc1.weight", "1.1.fc2.bias", "2.q.weight",
                                        "5.weight", "5.bias"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_msg(asc_is_valid(asc_params_find(all, names[i])), "%s", names[i]);
    }
    asc_module *a = asc_module_linear(ctx, ASC_F64, 3, 3), *b = asc_module_linear(ctx, ASC_F64, 3, 3);
    ck_assert_mem_ne(asc_data(asc_params_at(asc_module_params(a), 0)), asc_data(asc_params_at(asc_module_params(b), 0)),
                     72);
    asc_module_free(a);
    asc_module_free(b);
    asc_module_free(net);
}
END_TEST

START_TEST(they_compute_what_their_ops_do)
{
    asc_tensor x = asc_uniform(ctx, ASC_F64, -1, 1, 1, 1, ASC_SHAPE(2, 3));
    asc_module *linear = asc_module_linear(ctx, ASC_F64, 3, 3);
    asc_params *p = asc_module_params(linear);
    asc_tensor y = asc_linear(ctx, x, asc_params_find(p, "weight"), asc_params_find(p, "bias"));
    ck_assert_mem_eq(asc_data(asc_module_forward(linear, x)), asc_data(y), 48);
    asc_module *sum = asc_module_residual(ctx, linear);
    ck_assert_mem_eq(asc_data(asc_module_forward(sum, x)), asc_data(asc_add(ctx, x, y)), 48);
    asc_module *drop = asc_module_dropout(ctx, .5), *both = asc_module_sequential(ctx, ASC_MODULES(drop));
    ck_assert_mem_ne(asc_data(asc_module_forward(both, x)), asc_data(x), 48);
    asc_module_train(both, false);
    ck_assert_mem_eq(asc_data(asc_module_forward(both, x)), asc_data(x), 48);
    no_error();
    asc_module_free(both);
    asc_module_free(sum);
}
END_TEST

/* One look at the end finds what went wrong first, and nothing leaks. */
START_TEST(the_first_error_reaches_the_end)
{
    asc_tensor x = tokens(), batch[2];
    asc_module *parts[] = {asc_module_embedding(ctx, ASC_F32, 7, 8),
                           asc_module_mixing(ctx, ASC_F32, "transfomer", 8, "{}"),
                           asc_module_residual(ctx, asc_module_linear(ctx, ASC_F32, 8, 8))};
    asc_module *net = asc_module_sequential(ctx, 3, parts);
    ck_assert_ptr_null(net);
    asc_optim *optim = asc_adamw_new(ctx, asc_module_params(net), NULL);
    asc_batches *batches = asc_batches_new(ctx, (asc_tensor[]){x, x}, 2, 3, 5);
    while (asc_batches_next(batches, batch)) {
        asc_backward_loss(ctx, asc_cross_entropy(ctx, asc_module_forward(net, batch[0]), batch[1], -1, NULL));
        asc_optim_step(optim, 1e-2, 1);
        asc_params_zero_grad(asc_module_params(net));
    }
    asc_module_train(net, false);
    ck_assert(isnan(asc_accuracy(ctx, asc_module_forward(net, x), x)));
    asc_params_save(ctx, asc_module_params(net), "/nowhere");
    asc_batches_free(batches);
    asc_optim_free(optim);
    asc_module_free(net);
    expect_error_with(ASC_ERR_ARG, "mixing: got 'transfomer'");
    asc_module_linear(ctx, ASC_F32, 0, 3);
    expect_error(ASC_ERR_ARG, "module_linear: in is 0, expected at least 1");
    asc_module *twice = asc_module_function(ctx, asc_relu);
    ck_assert_ptr_null(asc_module_sequential(ctx, ASC_MODULES(twice, twice)));
    expect_error(ASC_ERR_ARG, "module_sequential: modules[1] is modules[0], and would be freed twice");
}
END_TEST

static asc_tensor captured[2];

static asc_tensor capture(asc_ctx *c, asc_tensor x)
{
    captured[0] = asc_keep(x);
    return captured[1] = asc_keep(asc_relu(c, x));
}

/* What a function of the caller's keeps, of its own or of what it is given, stays until the caller releases it. */
START_TEST(what_a_function_keeps_stays)
{
    asc_module *inner = asc_module_sequential(ctx, ASC_MODULES(asc_module_linear(ctx, ASC_F32, 8, 8),
                                                               asc_module_function(ctx, capture)));
    asc_module *net = asc_module_sequential(ctx, ASC_MODULES(asc_module_linear(ctx, ASC_F32, 8, 8),
                                                             asc_module_residual(ctx, inner),
                                                             asc_module_linear(ctx, ASC_F32, 8, 8)));
    size_t before = asc_memory(ctx).bytes;
    for (int i = 0; i < 3; i++) {
        asc_scope_begin(ctx);
        asc_module_forward(net, asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 8)));
        asc_scope_end(ctx);
        for (int k = 0; k < 2; k++) {
            ck_assert(asc_is_valid(captured[k]));
            asc_release(captured[k]);
            ck_assert(!asc_is_valid(captured[k]));
        }
        ck_assert(i == 0 || asc_memory(ctx).bytes == before);
        before = asc_memory(ctx).bytes;
    }
    asc_module_free(net);
}
END_TEST

static asc_tensor table;

static asc_tensor give_table(asc_ctx *c, asc_tensor x)
{
    (void)c, (void)x;
    return table;
}

/* So does what it has kept from earlier, however often it gives that. */
START_TEST(what_a_function_gives_again_stays)
{
    asc_scope_begin(ctx);
    table = asc_keep(asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 8)));
    asc_scope_end(ctx);
    asc_module *net = asc_module_sequential(ctx, ASC_MODULES(asc_module_function(ctx, give_table),
                                                             asc_module_linear(ctx, ASC_F32, 8, 8)));
    asc_module *sum = asc_module_residual(ctx, asc_module_function(ctx, give_table));
    for (int i = 0; i < 3; i++) {
        asc_scope_begin(ctx);
        ck_assert(!asc_is_null(asc_module_forward(net, asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 8)))));
        ck_assert(!asc_is_null(asc_module_forward(sum, asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 8)))));
        asc_scope_end(ctx);
        ck_assert(asc_is_valid(table));
    }
    asc_release(table);
    ck_assert(!asc_is_valid(table));
    table = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 8)); /* held by its maker, where there is no scope */
    size_t early = 0;
    for (int i = 0; i < 4; i++) {
        asc_release(asc_module_forward(net, table));
        asc_release(asc_module_forward(sum, table));
        no_error();
        ck_assert(asc_is_valid(table));
        early = i == 1 ? asc_memory(ctx).bytes : early;
    }
    ck_assert_uint_eq(asc_memory(ctx).bytes, early);
    asc_module_free(net);
    asc_module_free(sum);
}
END_TEST

static asc_tensor give_no_tensor(asc_ctx *c, asc_tensor x)
{
    (void)c, (void)x;
    return asc_null();
}

START_TEST(a_function_that_gives_nothing_is_told)
{
    asc_module *net = asc_module_sequential(ctx, ASC_MODULES(asc_module_function(ctx, give_no_tensor),
                                                             asc_module_linear(ctx, ASC_F32, 8, 8)));
    ck_assert(asc_is_null(asc_module_forward(net, asc_full(ctx, ASC_F32, 1, ASC_SHAPE(2, 8)))));
    expect_error(ASC_ERR_ARG, "module_forward: its function gave no tensor, and no error");
    asc_module_free(net);
}
END_TEST

START_TEST(inputs_that_fit_no_parameters)
{
    asc_module *modules[] = {
        asc_module_linear(ctx, ASC_F32, 2, 3),
        asc_module_feed_forward(ctx, ASC_F32, 2, 3),
        asc_module_layer_norm(ctx, ASC_F32, 2),
    };
    static const char *const names[] = {"module_linear", "module_feed_forward", "module_layer_norm"};
    asc_tensor x[] = {
        asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 4)),
        asc_zeros(ctx, ASC_F64, ASC_SHAPE(4, 2)),
        asc_scalar(ctx, ASC_F32, 1),
    };
    static const char *const got[] = {"f32 (2, 4)", "f64 (4, 2)", "f32 ()"};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            char message[100];
            snprintf(message, sizeof message, "%s: x is %s, expected f32 (..., 2)", names[i], got[j]);
            ck_assert(asc_is_null(asc_module_forward(modules[i], x[j])));
            expect_error(ASC_ERR_ARG, message);
        }
        asc_module_free(modules[i]);
    }
}
END_TEST

START_TEST(a_round_has_each_row_once)
{
    int64_t rows[10], order[2][10];
    for (int i = 0; i < 10; i++) {
        rows[i] = i;
    }
    asc_scope_begin(ctx);
    asc_tensor x = asc_from(ctx, ASC_I64, rows, ASC_SHAPE(10)), batch;
    asc_batches *batches = asc_batches_new(ctx, &x, 1, 4, 1);
    asc_release(x); /* the batches hold it still, behind its scope, too */
    asc_scope_end(ctx);
    for (int round = 0; round < 2; round++) {
        int n = 0, seen = 0;
        for (; asc_batches_next(batches, &batch); n += (int)asc_numel(batch)) {
            ck_assert_int_eq(asc_numel(batch), n < 8 ? 4 : 2);
            memcpy(order[round] + n, asc_data(batch), (size_t)asc_numel(batch) * 8);
        }
        for (int i = 0; i < 10; i++) {
            seen |= 1 << order[round][i];
        }
        ck_assert(n == 10 && seen == 1023);
    }
    ck_assert_mem_ne(order[0], order[1], sizeof order[0]);
    ck_assert_mem_ne(order[0], rows, sizeof rows);
    asc_batches_free(batches);
    ck_assert(!asc_is_valid(x));
    x = asc_from(ctx, ASC_I64, rows, ASC_SHAPE(10));
    asc_batches_new(ctx, (asc_tensor[]){x, asc_zeros(ctx, ASC_F32, ASC_SHAPE(3))}, 2, 4, 1);
    expect_error(ASC_ERR_ARG, "batches_new: tensors[1] is (3), expected as many rows as tensors[0], 10");
    x = asc_zeros(ctx, ASC_U8, ASC_SHAPE(INT64_C(1) << 61, 0)); /* without elements, but their order has a size */
    ck_assert_ptr_null(asc_batches_new(ctx, &x, 1, 4, 1));
    expect_error(ASC_ERR_MEMORY, "batches_new: tensors[0] has 2305843009213693952 rows, more than memory has room for");
}
END_TEST

START_TEST(a_batch_ends_no_scope_but_its_own)
{
    asc_tensor x = asc_zeros(ctx, ASC_F32, ASC_SHAPE(6)), batch, mine;
    asc_batches *batches = asc_batches_new(ctx, &x, 1, 2, 1);
    asc_scope_begin(ctx); /* before the loop */
    ck_assert(asc_batches_next(batches, &batch) && asc_batches_next(batches, &batch));
    asc_scope_begin(ctx); /* and within it */
    mine = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1));
    ck_assert(!asc_batches_next(batches, &batch) && asc_is_null(batch) && asc_is_valid(mine));
    expect_error(ASC_ERR_STATE, "batches_next: a scope that was begun after the last batch has not ended");
    asc_scope_end(ctx);
    ck_assert(asc_batches_next(batches, &batch) && !asc_is_valid(mine));
    asc_scope_end(ctx); /* what was to end the first scope has ended the batch's */
    ck_assert(!asc_batches_next(batches, &batch));
    expect_error(ASC_ERR_STATE,
                 "batches_next: the last batch's scope was ended in place of another, begun before it");
    ck_assert(!asc_batches_next(batches, &batch) && asc_batches_next(batches, &batch)); /* another round */
    mine = asc_zeros(ctx, ASC_F32, ASC_SHAPE(1));
    asc_batches_free(batches);
    ck_assert(!asc_is_valid(mine));
    asc_scope_end(ctx);
    no_error();
    asc_scope_end(ctx);
    expect_error(ASC_ERR_STATE, "scope_end: no scope has begun");
}
END_TEST

START_TEST(parameters_are_saved_and_loaded)
{
    char path[128];
    make_folder();
    snprintf(path, sizeof path, "%s/net.safetensors", folder);
    asc_module *a = network(ASC_F32), *b = network(ASC_F32), *other = asc_module_linear(ctx, ASC_F32, 2, 3);
    asc_module_train(a, false);
    asc_module_train(b, false);
    asc_tensor x = tokens(), before = asc_module_forward(a, x);
    ck_assert_mem_ne(asc_data(asc_module_forward(b, x)), asc_data(before), 4 * 3 * 7 * 4);
    asc_params_save(ctx, asc_module_params(a), path);
    asc_params_load(ctx, asc_module_params(b), path);
    ck_assert_mem_eq(asc_data(asc_module_forward(b, x)), asc_data(before), 4 * 3 * 7 * 4);
    no_error();
    asc_params_load(ctx, asc_module_params(other), path);
    expect_error_with(ASC_ERR_FORMAT, "has no tensor 'weight'");
    asc_params *more = asc_params_new(ctx);
    asc_params_extend(more, "net.", asc_module_params(other));
    ck_assert(asc_is_valid(asc_params_find(more, "net.bias")) && asc_params_decays(more, 0));
    asc_params_save(ctx, asc_module_params(other), path);
    asc_params_extend(more, "net.", asc_module_params(other));
    expect_error(ASC_ERR_ARG, "params_add: there is a 'net.weight' already");
    ck_assert_int_eq(asc_params_add(more, "", x, false), ASC_ERR_ARG);
    expect_error(ASC_ERR_ARG, "params_add: the name is empty");
    asc_params_free(more);
    more = asc_params_new(ctx);
    asc_params_add(more, "weight", asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 3)), false);
    asc_params_load(ctx, more, path);
    expect_error_with(ASC_ERR_FORMAT, "'weight' is (3, 2), expected (3, 3)");
    asc_params_free(more);
    for (int i = 0; i < 2; i++) { /* what does not fit comes last, and nothing has changed */
        asc_tensor kept = asc_full(ctx, ASC_F32, 1, ASC_SHAPE(3, 2)), whole = asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3));
        more = asc_params_new(ctx);
        asc_params_add(more, "weight", kept, false);
        asc_params_add(more, "other", i ? asc_transpose(ctx, whole, 0, 1) : asc_zeros(ctx, ASC_I64, ASC_SHAPE(3, 2)),
                       false);
        asc_params *saved = asc_params_new(ctx);
        asc_params_add(saved, "weight", asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 2)), false);
        asc_params_add(saved, "other", asc_zeros(ctx, ASC_F32, ASC_SHAPE(3, 2)), false);
        asc_params_save(ctx, saved, path);
        asc_params_load(ctx, more, path);
        expect_error_with(i ? ASC_ERR_ARG : ASC_ERR_FORMAT, i ? "params_load: 'other' is not contiguous"
                                                              : "'other' is F32, which is not read as i64");
        ck_assert(*(const float *)asc_data(kept) == 1);
        asc_params_free(more);
        asc_params_free(saved);
    }
    asc_module_free(a);
    asc_module_free(b);
    asc_module_free(other);
    remove_tree(folder);
}
END_TEST

START_TEST(a_lone_layer_has_what_a_model_has)
{
    asc_layer *l = asc_layer_new(ctx, "ascender", 8, "{\"heads\":2,\"k\":2}", ASC_F64, 1);
    no_error();
    ck_assert_ptr_nonnull(strstr(asc_layer_config(l), "\"k\":2"));
    asc_layer *again = asc_layer_new(ctx, "ascender", 8, asc_layer_config(l), ASC_F64, 1);
    ck_assert_str_eq(asc_layer_config(again), asc_layer_config(l));
    asc_tensor tau = asc_params_find(asc_layer_params(l), "tau_sep");
    ck_assert_msg(asc_is_valid(tau) && asc_requires_grad(tau), "%s", asc_params_name(asc_layer_params(l), 0));
    ((double *)asc_data_mut(tau))[0] = -1;
    asc_layer_project(l);
    ck_assert(((const double *)asc_data(tau))[0] == 1e-3);
    asc_layer_hold(l, "tau_sep", &(double){.5});
    ck_assert(!asc_requires_grad(tau) && ((const double *)asc_data(tau))[1] == .5);
    asc_layer_hold(l, "tau_sep", NULL);
    asc_layer_ramp(l, .5);
    no_error();
    ck_assert(asc_requires_grad(tau));
    asc_layer_hold(l, "tau_sep", &(double){-1});
    expect_error_with(ASC_ERR_ARG, "layer_hold: tau_sep: got -1, expected 0.001 to ");
    asc_layer_hold(l, "tau", NULL);
    expect_error(ASC_ERR_ARG, "layer_hold: ascender has no number 'tau' that is trained; did you mean 'tau_sep'?");
    asc_layer_free(l);
    asc_layer_free(again);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("module");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_test(t, any_allocation_may_fail);
    tcase_add_test(t, a_program_draws_the_same_again);
    tcase_add_test(t, parts_have_names_and_values_of_their_own);
    tcase_add_test(t, they_compute_what_their_ops_do);
    tcase_add_test(t, attention_has_its_options);
    tcase_add_test(t, the_first_error_reaches_the_end);
    tcase_add_test(t, what_a_function_keeps_stays);
    tcase_add_test(t, a_function_that_gives_nothing_is_told);
    tcase_add_test(t, what_a_function_gives_again_stays);
    tcase_add_test(t, inputs_that_fit_no_parameters);
    tcase_add_test(t, a_round_has_each_row_once);
    tcase_add_test(t, a_batch_ends_no_scope_but_its_own);
    tcase_add_test(t, parameters_are_saved_and_loaded);
    tcase_add_test(t, a_lone_layer_has_what_a_model_has);
    return run_suite("module", t);
}
