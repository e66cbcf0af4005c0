/* tests/train/test_parity.c: parity cases agree, and altered ones do not. The cases are in tests/parity. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <program/parity.h>
#include <ascgrad/safetensors.h>

#include "tests/context.h"

static char copy[96];

static void setup_copy(void)
{
    setup_one_thread();
    snprintf(copy, sizeof copy, "/tmp/ascgrad-test-%ld.safetensors", (long)getpid());
}

static void teardown_copy(void)
{
    unlink(copy);
    teardown();
}

static const char *case_path(const char *name)
{
    static char path[512];
    const char *top = getenv("abs_top_srcdir");
    snprintf(path, sizeof path, "%s/tests/parity/%s.safetensors", top ? top : ".", name);
    return path;
}

/* ---- cases as they are ---- */

static const struct {
    const char *name, *kind;
    int tensors;
} cases[] = {
    {"attention-causal", "attention", 10},
    {"attention-full", "attention", 10},
    {"attention-relative", "attention", 11},
    {"ascender-aux", "ascender", 32},
    {"ascender-background", "ascender", 23},
    {"ascender-background-qk", "ascender", 23},
    {"ascender-lengths-empty-rows", "ascender", 32},
    {"ascender-neighbors-hybrid-union", "ascender", 32},
    {"ascender-reference-masked", "ascender", 30},
    {"ascender-rotary", "ascender", 32},
    {"ascender-tiny", "ascender", 32},
    {"ascender-two", "ascender", 32},
    {"grassmann-both", "grassmann", 8},
    {"grassmann-groups", "grassmann", 8},
    {"grassmann-lengths", "grassmann", 8},
    {"grassmann-memory-offsets", "grassmann", 11},
    {"grassmann-nearly-parallel", "grassmann", 8},
    {"grassmann-paper", "grassmann", 8},
    {"grassmann-relative-floor", "grassmann", 8},
    {"grassmann-short", "grassmann", 8},
    {"train-grassmann-short", "train", 33},
    {"conv", "conv", 10},
    {"linear-elu-full", "linear", 10},
    {"linear-elu-gated", "linear", 12},
    {"linear-favor", "linear", 10},
    {"recurrent", "recurrent", 15},
    {"pair-concat-memory", "grassmann", 10},
    {"pair-product", "grassmann", 8},
    {"pair-symmetric", "grassmann", 8},
    {"train-ascender-after-rotary", "train", 61},
    {"train-grassmann", "train", 31},
    {"train-grassmann-alternating", "train", 35},
    {"train-hybrid", "train", 35},
    {"train-transformer", "train", 35},
    {"train-transformer-pre-rotary", "train", 36},
};

START_TEST(agrees)
{
    asc_parity_report r;
    asc_status status = asc_parity_replay(ctx, case_path(cases[_i].name), &r);
    ck_assert_msg(status == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_msg(r.passed, "%s", r.reason);
    ck_assert_str_eq(r.name, cases[_i].name);
    ck_assert_str_eq(r.kind, cases[_i].kind);
    ck_assert_str_eq(r.reason, "");
    ck_assert_int_eq(r.compared, cases[_i].tensors);
    ck_assert(r.worst_error < 1e-9);
    ck_assert_int_gt(strlen(r.worst_tensor), 0);
}
END_TEST

/* ---- altered cases ---- */

typedef enum action { CHANGE, DROP, ADD, FLATTEN, METADATA } action;

typedef struct alteration {
    const char *name; /* of the case */
    action action;
    const char *tensor; /* or the metadata's key */
    double by;          /* CHANGE: of the largest magnitude, at one element */
    const char *value;  /* METADATA */
    const char *reason; /* part of it; NULL: still passes */
} alteration;

static asc_tensor alter_tensor(const alteration *a, asc_tensor t)
{
    double most = 0;
    int64_t n = asc_numel(t);
    if (a->action == FLATTEN) {
        return asc_from(ctx, ASC_F64, asc_data(t), 1, &n);
    }
    double *x = asc_data_mut(t);
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    x[n / 2] += a->by * most;
    x[0] = isinf(a->by) ? 12345 : x[0]; /* beside an infinity another value is wrong, too */
    return t;
}

/* Writes the altered case to `copy`. */
static void write_copy(const alteration *a)
{
    asc_safetensors *file = asc_safetensors_open(ctx, case_path(a->name));
    asc_named_tensor tensors[128];
    int64_t n = 0;
    for (int64_t i = 0; i < asc_safetensors_count(file); i++) {
        const char *name = asc_safetensors_at(file, i)->name;
        asc_tensor t = asc_safetensors_read(ctx, file, name, ASC_SAFETENSORS_STORED);
        bool altered = strcmp(name, a->tensor) == 0;
        if (altered && a->action != DROP) {
            t = alter_tensor(a, t);
        }
        if (!altered || a->action != DROP) {
            tensors[n++] = (asc_named_tensor){name, t};
        }
    }
    if (a->action == ADD) {
        tensors[n++] = (asc_named_tensor){a->tensor, asc_zeros(ctx, ASC_F64, ASC_SHAPE(2, 3))};
    }
    asc_safetensors_pair metadata[2] = {{"case", asc_safetensors_metadata(file, "case")},
                                        {"config", asc_safetensors_metadata(file, "config")}};
    for (int i = 0; i < 2; i++) {
        if (a->action == METADATA && strcmp(metadata[i].key, a->tensor) == 0) {
            metadata[i].value = a->value;
        }
    }
    asc_safetensors_write(ctx, copy, tensors, n, metadata, 2);
    asc_safetensors_close(file);
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
}

#define LAYER "attention-causal"
#define SWARM "ascender-aux"
#define RUN "train-transformer"
static const alteration alterations[] = {
    {LAYER, CHANGE, "out.y", 5e-10, NULL, NULL},
    {LAYER, CHANGE, "out.y", 5e-9, NULL, "out.y is off by 5e-09, expected at most 1e-09"},
    {LAYER, CHANGE, "out.y", NAN, NULL, "out.y is off by inf"},
    {LAYER, CHANGE, "out.y", INFINITY, NULL, "out.y is off by inf"},
    {LAYER, CHANGE, "grad.in.x", 1e-8, NULL, "grad.in.x is off by 1e-08"},
    {LAYER, CHANGE, "grad.param.q.weight", -1e-8, NULL, "grad.param.q.weight is off by 1e-08"},
    {LAYER, CHANGE, "param.v.bias", 1e-3, NULL, "out.y is off by"},
    {LAYER, CHANGE, "upstream.y", 1e-3, NULL, "grad.in.x is off by"},
    {LAYER, DROP, "param.o.bias", 0, NULL, "the case has no param.o.bias"},
    {LAYER, DROP, "grad.param.o.bias", 0, NULL, "o.bias has a gradient, expected none"},
    {LAYER, DROP, "grad.in.x", 0, NULL, "the case has no grad.in.x"},
    {LAYER, DROP, "out.y", 0, NULL, "the case has no out.y"},
    {LAYER, DROP, "upstream.y", 0, NULL, "upstream.y"},
    {LAYER, ADD, "param.lambda", 0, NULL, "the model has no parameter lambda"},
    {LAYER, ADD, "grad.param.lambda", 0, NULL, "grad.param.lambda was not compared with anything"},
    {LAYER, ADD, "out.gravity", 0, NULL, "out.gravity was not compared with anything"},
    {LAYER, FLATTEN, "param.q.weight", 0, NULL, "param.q.weight is ("},
    {LAYER, FLATTEN, "out.y", 0, NULL, "out.y is ("},
    {LAYER, METADATA, "config", 0, "{\"heads\": 2, \"dance\": 1}", "dance"},
    {LAYER, METADATA, "config", 0, "{\"heads\": 2, \"mask\": \"full\"}", "out.y is off by"},
    {LAYER, METADATA, "config", 0, "{\"heads\": 2, \"lengths\": null}", NULL},
    {LAYER, METADATA, "config", 0, "{\"heads\": 2, \"lengths\": 5}", "config has lengths, expected a list of integers"},
    {LAYER, METADATA, "config", 0, "{\"heads\": 2, \"lengths\": [1, 1.5]}", "config has lengths, expected a list"},
    {LAYER, METADATA, "case", 0, "convolution", "cases of kind 'convolution' are not known"},
    {LAYER, METADATA, "case", 0, "two\nlines", "cases of kind 'two?lines' are not known"},
    {SWARM, CHANGE, "out.attn", 1e-8, NULL, "out.attn is off by"},
    {SWARM, CHANGE, "out.b_sep", 1e-8, NULL, "out.b_sep is off by"},
    {SWARM, CHANGE, "out.loss_align", 1e-8, NULL, "out.loss_align is off by"},
    {SWARM, CHANGE, "upstream.loss_coh", 1e-3, NULL, "is off by"},
    {SWARM, CHANGE, "grad.param.kappa", 1e-8, NULL, "grad.param.kappa is off by"},
    {SWARM, DROP, "grad.param.kappa", 0, NULL, "kappa has a gradient, expected none"},
    {RUN, CHANGE, "out.loss", 1e-8, NULL, "out.loss is off by"},
    {RUN, CHANGE, "final.tok_emb.weight", 5e-8, NULL, NULL},
    {RUN, CHANGE, "final.tok_emb.weight", 5e-7, NULL, "final.tok_emb.weight is off by 5e-07, expected at most 1e-07"},
    {RUN, CHANGE, "param.blocks.1.norm2.bias", 1e-2, NULL, "out.loss is off by"},
    {RUN, DROP, "final.pos_emb.weight", 0, NULL, "the case has no final.pos_emb.weight"},
    {RUN, DROP, "in.tokens", 0, NULL, "in.tokens"},
    {RUN, ADD, "param.blocks.2.norm1.bias", 0, NULL, "the model has no parameter blocks.2.norm1.bias"},
    {RUN, METADATA, "config", 0, "{\"mix\": \"transformer\"}", "config has no number lr"},
    {"train-transformer-pre-rotary", METADATA, "config", 0,
     "{\"d_model\": 16, \"d_ff\": 32, \"layers\": 2, \"vocab\": 37, \"block\": 12, \"batch\": 3, \"steps\": 12, "
     "\"lr\": 0.003, \"min_lr\": 0.0003, \"warmup\": 3, \"weight_decay\": 0.01, \"clip\": 1, \"heads\": 2, "
     "\"mix\": \"transformer\", \"block_norm\": \"pre\", \"mix_residual\": false, \"positions\": \"rotary\", "
     "\"pos_emb\": false}",
     NULL},
};

START_TEST(altered)
{
    const alteration *a = &alterations[_i];
    asc_parity_report r;
    write_copy(a);
    ck_assert_msg(asc_parity_replay(ctx, copy, &r) == ASC_OK, "%s", asc_error_message(ctx));
    ck_assert_int_eq(asc_error(ctx), ASC_OK);
    ck_assert_msg(r.passed == !a->reason, "%s of %s: passed %d", a->tensor, a->name, r.passed);
    ck_assert_msg(strstr(r.reason, a->reason ? a->reason : "") != NULL, "'%s' lacks '%s'", r.reason, a->reason);
}
END_TEST

START_TEST(defaults_are_the_oracles)
{
    /* the case says nothing of window, globals and positions */
    const alteration a = {LAYER, METADATA, "config", 0,
                          "{\"heads\": 2, \"mask\": \"causal\", \"window\": 0, \"globals\": 0, "
                          "\"positions\": \"none\"}",
                          NULL};
    asc_parity_report r;
    write_copy(&a);
    ck_assert_int_eq(asc_parity_replay(ctx, copy, &r), ASC_OK);
    ck_assert_msg(r.passed, "%s", r.reason);
}
END_TEST

/* The layers with fused nodes hold their cases as compositions, too. */
START_TEST(compositions_agree)
{
    if (strstr(cases[_i].name, "attention") || strstr(cases[_i].name, "transformer") ||
        strcmp(cases[_i].name, "conv") == 0) {
        return;
    }
    asc_safetensors *file = asc_safetensors_open(ctx, case_path(cases[_i].name));
    char config[500];
    snprintf(config, sizeof config, "{\"composed\": true, %s", asc_safetensors_metadata(file, "config") + 1);
    asc_safetensors_close(file);
    const alteration a = {cases[_i].name, METADATA, "config", 0, config, NULL};
    asc_parity_report r;
    write_copy(&a);
    ck_assert_int_eq(asc_parity_replay(ctx, copy, &r), ASC_OK);
    ck_assert_msg(r.passed, "%s", r.reason);
    ck_assert_int_eq(r.compared, cases[_i].tensors);
}
END_TEST

/* ---- files that are no cases ---- */

START_TEST(no_case)
{
    asc_parity_report r;
    ck_assert_int_eq(asc_parity_replay(ctx, "/nonexistent/x.safetensors", &r), ASC_ERR_IO);
    ck_assert(!r.passed);
    ck_assert_str_eq(r.name, "x");
    expect_error_with(ASC_ERR_IO, "/nonexistent/x.safetensors");
    FILE *f = fopen(copy, "w");
    ck_assert_ptr_nonnull(f);
    fputs("a text file, not a case", f);
    fclose(f);
    ck_assert_int_eq(asc_parity_replay(ctx, copy, &r), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, copy);
    asc_safetensors_write(ctx, copy, NULL, 0, NULL, 0);
    ck_assert_int_eq(asc_parity_replay(ctx, copy, &r), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "no metadata 'case'");
    asc_safetensors_write(ctx, copy, NULL, 0, (asc_safetensors_pair[]){{"case", "train"}, {"config", "[1]"}}, 2);
    ck_assert_int_eq(asc_parity_replay(ctx, copy, &r), ASC_ERR_FORMAT);
    expect_error_with(ASC_ERR_FORMAT, "expected a JSON object");
    ck_assert_int_eq(asc_parity_replay(ctx, NULL, &r), ASC_ERR_ARG);
    expect_error_with(ASC_ERR_ARG, "path is NULL");
}
END_TEST

/* Metadata alone that ask for a gigabyte: what is not in the file takes no memory. */
START_TEST(a_case_without_its_tensors)
{
    static const struct {
        const char *kind, *config;
    } claims[] = {{"train",
                   "{\"mix\": \"transformer\", \"layers\": 12, \"d_model\": 4096, \"heads\": 2, \"vocab\": 50000, "
                   "\"block\": 8, \"lr\": 1, \"min_lr\": 1, \"warmup\": 1, \"steps\": 1, \"weight_decay\": 0, "
                   "\"clip\": 1, \"batch\": 1}"},
                  {"attention", "{\"heads\": 2, \"d_head\": 60000}"}};
    asc_parity_report r;
    asc_tensor x = asc_zeros(ctx, ASC_F64, ASC_SHAPE(1, 2, 4));
    size_t before = asc_memory(ctx).peak_bytes;
    asc_safetensors_write(ctx, copy, (asc_named_tensor[]){{"in.x", x}}, 1,
                          (asc_safetensors_pair[]){{"case", claims[_i].kind}, {"config", claims[_i].config}}, 2);
    ck_assert_int_eq(asc_parity_replay(ctx, copy, &r), ASC_OK);
    ck_assert_msg(!r.passed && strstr(r.reason, "the case has no param."), "%s", r.reason);
    ck_assert_uint_lt(asc_memory(ctx).peak_bytes, before + (4 << 20));
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_fails)
{
    asc_status status = ASC_ERR_MEMORY;
    for (long n = 0; status != ASC_OK; n++) {
        ck_assert_int_lt(n, 2000);
        heap small = {.fail_at = n, .and_after = true};
        asc_ctx *c = context_on(&small, 1);
        if (!c) {
            continue;
        }
        asc_parity_report r;
        status = asc_parity_replay(c, case_path(_i == 0 ? LAYER : _i == 1 ? RUN : "ascender-two"), &r);
        ck_assert_msg(status == ASC_OK || status == ASC_ERR_MEMORY, "%ld: %s", n, asc_error_message(c));
        ck_assert(r.passed == (status == ASC_OK));
        asc_ctx_free(c);
        expect_empty(&small);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("parity");
    tcase_add_checked_fixture(t, setup_copy, teardown_copy);
    tcase_add_loop_test(t, agrees, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(t, altered, 0, (int)(sizeof alterations / sizeof *alterations));
    tcase_add_loop_test(t, compositions_agree, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(t, defaults_are_the_oracles);
    tcase_add_test(t, no_case);
    tcase_add_loop_test(t, a_case_without_its_tensors, 0, 2);
    tcase_add_loop_test(t, memory_fails, 0, 3);
    return run_suite("train/parity", t);
}
