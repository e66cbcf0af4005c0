/* tools/info.c: ascgrad info: the version, the machine, and what the library has. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/comm.h>
#include <ascgrad/op.h>

#include "tools/commands.h"

#define UNBOUNDED 1e9 /* bounds of numbers as large say nothing */

struct args {
    bool json, ops, settings;
};

static const cli_option options[] = {
    {"ops", 0, NULL, CLI_FLAG, offsetof(struct args, ops), 0, 0,
     "list the ops: name, inputs (? optional), samples that gradcheck draws, equation"},
    {"settings", 0, NULL, CLI_FLAG, offsetof(struct args, settings), 0, 0,
     "list all settings: key, values, default, what it is; [] may be a list, one a layer or head"},
    CLI_JSON(struct args),
    {0},
};

static json_t *list_ops(void)
{
    json_t *list = json_array();
    for (int i = 0; asc_op_at(i); i++) {
        const asc_op *op = asc_op_at(i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i}", "name", op->name, "equation", op->equation,
                                              "inputs", op->inputs, "samples", op->n_samples));
    }
    return list;
}

/* NULL: as good as none. */
static json_t *bound_json(const asc_setting *row, double bound)
{
    if (fabs(bound) >= UNBOUNDED) {
        return NULL;
    }
    return row->type == ASC_SETTING_INT    ? json_integer((json_int_t)bound)
           : row->type == ASC_SETTING_REAL ? json_real(bound)
                                           : NULL;
}

static json_t *list_setting(const char *owner, const asc_setting *row)
{
    static const char *const types[] = {
        [ASC_SETTING_INT] = "integer", [ASC_SETTING_REAL] = "number", [ASC_SETTING_BOOL] = "boolean",
        [ASC_SETTING_CHOICE] = "choice", [ASC_SETTING_TEXT] = "text", [ASC_SETTING_INTS] = "integers",
        [ASC_SETTING_SET] = "names", [ASC_SETTING_COUNT] = "boolean or integer", [ASC_SETTING_HEADS] = "names of heads",
        [ASC_SETTING_TUPLES] = "lists of integers",
    };
    json_t *choices = row->choices ? json_array() : NULL;
    for (int i = 0; row->choices && row->choices[i]; i++) {
        json_array_append_new(choices, json_string(row->choices[i]));
    }
    return json_pack("{s:s, s:s, s:s, s:o*, s:o*, s:o*, s:s?, s:s*, s:s*, s:b, s:b, s:s}", "owner", owner, "key",
                     row->key, "type", types[row->type], "min", bound_json(row, row->min), "max",
                     bound_json(row, row->max), "choices", choices, "default", row->fallback, "default_follows",
                     row->fallback ? NULL : row->follows, "only", row->only, "per_layer",
                     (row->flags & ASC_SETTING_PER_LAYER) != 0, "per_head", (row->flags & ASC_SETTING_PER_HEAD) != 0,
                     "help", row->help);
}

static json_t *list_settings(void)
{
    json_t *list = json_array();
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(NULL, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            json_array_append_new(list, list_setting(schema.owner, row));
        }
    }
    return list;
}

static int print_json(const asc_machine *m, int threads, bool settings)
{
    json_t *models = json_array();
    for (int i = 0; asc_mixing_at(NULL, i); i++) {
        json_array_append_new(models, json_string(asc_mixing_at(NULL, i)));
    }
    return cli_print_json(json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:b, s:i, s:s?, s:o, s:o, s:o*}",
                                    "version", m->version, "processor", m->processor, "isa", m->isa, "best_isa",
                                    m->best_isa, "bf16", m->bf16, "products", m->products, "blas", m->blas,
                                    "blas_core", m->blas_core, "blas_advice", m->blas_advice, "blas_serial",
                                    m->blas_serial, "threads", threads, "mpi", asc_mpi_version(), "models", models,
                                    "ops", list_ops(), "settings", settings ? list_settings() : NULL));
}

/* The instructions that do products of bfloat16, with what they do where they have none for it. */
static const char *describe_bf16(const char *instructions)
{
    static const struct {
        const char *name, *text;
    } known[] = {{"amx", "AMX tiles"},
                 {"avx512_bf16", "AVX512-BF16"},
                 {"avx512", "AVX-512, operands rounded, products in float32"},
                 {"avx2", "AVX2, operands rounded, products in float32"},
                 {"plain", "no special instructions, operands rounded, products in float32"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, instructions) == 0) {
            return known[i].text;
        }
    }
    return instructions;
}

static void print_models(void)
{
    cli_print("models     ");
    for (int i = 0; asc_mixing_at(NULL, i); i++) {
        cli_print("%s%s", i ? ", " : "", asc_mixing_at(NULL, i));
    }
    putchar('\n');
}

static void print_ops(bool details)
{
    cli_print("ops        ");
    for (int i = 0; asc_op_at(i); i++) {
        const asc_op *op = asc_op_at(i);
        if (details) {
            cli_print("\n  %-20s  %-28s  %2d  %s", op->name, op->inputs, op->n_samples, op->equation);
        } else {
            cli_print("%s%s", i ? " " : "", op->name);
        }
    }
    putchar('\n');
}

/* What a setting may be: "1 to 8", "post, pre". */
static void print_values(const asc_setting *row)
{
    static const char *const by_type[] = {
        [ASC_SETTING_BOOL] = "true, false", [ASC_SETTING_TEXT] = "text", [ASC_SETTING_INTS] = "list of whole numbers",
        [ASC_SETTING_SET] = "list of names", [ASC_SETTING_COUNT] = "true, false, whole number",
        [ASC_SETTING_HEADS] = "list of names, or NAME:HEAD",
        [ASC_SETTING_TUPLES] = "list of lists of whole numbers",
    };
    char text[320];
    const char *specs = cli_setting_specs(row, text, sizeof text);
    const char *type = specs ? specs : by_type[row->type <= ASC_SETTING_TUPLES ? row->type : 0];
    bool more = row->flags & (ASC_SETTING_PER_LAYER | ASC_SETTING_PER_HEAD);
    cli_print("%s", type ? type : "");
    if (row->type == ASC_SETTING_INT || row->type == ASC_SETTING_REAL) {
        const char *kind = row->type == ASC_SETTING_INT ? "whole number" : "number";
        cli_print(row->min <= -UNBOUNDED  ? "%s"
                  : row->max >= UNBOUNDED ? "%s >= %.10g"
                                          : "%s, %.10g to %.10g",
                  kind, row->min, row->max);
    }
    bool after = type;
    for (int i = 0; row->choices && row->choices[i]; i++) {
        cli_print("%s%s", after ? i ? ", " : ": " : "", row->choices[i]);
        after = true;
    }
    cli_print("%s", !more ? "" : row->flags & ASC_SETTING_PER_HEAD ? " [head]" : " [layer]");
}

static void print_settings(void)
{
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(NULL, i)).owner; i++) {
        cli_print("%s%s\n", i ? "" : "settings\n", schema.owner);
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            const char *initial = row->fallback ? row->fallback : row->follows;
            cli_print("  %-18s  ", row->key);
            print_values(row);
            cli_print("  %s  %s%s%s%s%s\n", initial && *initial ? initial : "-", row->help, row->only ? "; for " : "",
                      row->only ? row->only : "", row->option ? "; option --" : "", row->option ? row->option : "");
        }
    }
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int n = cli_parse(&command_info, argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    asc_machine m = asc_machine_info();
    asc_ctx *ctx = cli_ctx_new(0);
    int threads = asc_threads(ctx);
    asc_ctx_free(ctx);
    if (args.json) {
        return print_json(&m, threads, args.settings);
    }
    cli_print("version    %s\nprocessor  %s\nkernels    %s (this processor's best: %s)\nbf16       %s\n"
              "products   %s\n"
              "BLAS       %s%s\nBLAS core  %s",
              m.version, m.processor, m.isa, m.best_isa, describe_bf16(m.bf16),
              strcmp(m.products, "own") == 0 ? "the library's own, the large ones of float32" : "OpenBLAS's",
              m.blas ? m.blas : "unknown",
              m.blas_serial ? " (one product at a time; faster with a build for threads)" : "",
              m.blas_core ? m.blas_core : "unknown");
    if (m.blas_advice) {
        cli_print(" (slow here; faster with OPENBLAS_CORETYPE=%s)", m.blas_advice);
    }
    cli_print("\nthreads    %d\nMPI        %s\n", threads,
              asc_mpi_version() ? asc_mpi_version() : "none: one process a training");
    print_models();
    print_ops(args.ops);
    if (args.settings) {
        print_settings();
    }
    return CLI_OK;
}

const cli_command command_info = {
    "info", "prints the version, the processor, BLAS and its kernels, threads, models and ops", "", NULL,
    "ascgrad info --json", options, run,
};
