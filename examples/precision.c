/* examples/precision.c: how far gradients of products rounded to bfloat16 are from those of float32, layer by layer, in
 * one batch of a trained model.
 *
 *   cc precision.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out runs/first builtin:30000 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

enum { ROWS = 4 };

/* "blocks.3" of "blocks.3.ffn.fc1.weight"; else all up to the last point. */
static int group_length(const char *name)
{
    const char *end = strrchr(name, '.');
    if (strncmp(name, "blocks.", 7) == 0) {
        end = strchr(name + 7, '.');
    }
    return end ? (int)(end - name) : (int)strlen(name);
}

/* The loss of the batch and, by way of it, every parameter's gradient. */
static double pass(asc_ctx *ctx, asc_lm *lm, const asc_split *text, asc_precision precision)
{
    int32_t rows[ROWS] = {0, 1, 2, 3};
    double loss = NAN;
    int64_t length = asc_lm_block(lm);
    asc_set_precision(ctx, precision);
    asc_params_zero_grad(asc_lm_params(lm));
    asc_set_step(ctx, 1, 1); /* the same dropout */
    asc_scope_begin(ctx);
    asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS, length));
    asc_tensor y = asc_zeros(ctx, ASC_I64, ASC_SHAPE(ROWS, length));
    asc_block_fill(ctx, text, length, rows, ROWS, asc_data_mut(x), asc_data_mut(y));
    asc_backward(ctx, asc_lm_objective(lm, x, y, &loss), asc_null(), false);
    asc_scope_end(ctx);
    return loss;
}

/* A parameter's gradient as it is now, its element i; 0 where it has none. */
static double element(asc_tensor parameter, int64_t i)
{
    const float *g = asc_is_null(asc_grad(parameter)) ? NULL : asc_data(asc_grad(parameter));
    return g ? (double)g[i] : 0;
}

/* A line for each group of parameters that stand together: ‖g - h‖/‖h‖ of its gradients g and those of float32, h. */
static void print_table(const asc_params *params, const float *h)
{
    double apart = 0, size = 0, all_apart = 0, all_size = 0;
    for (int p = 0; p < asc_params_count(params); p++) {
        const char *name = asc_params_name(params, p);
        const char *next = p + 1 < asc_params_count(params) ? asc_params_name(params, p + 1) : "";
        asc_tensor parameter = asc_params_at(params, p);
        for (int64_t i = 0; i < asc_numel(parameter); i++, h++) {
            double off = element(parameter, i) - (double)*h;
            apart += off * off;
            size += (double)*h * (double)*h;
        }
        int n = group_length(name);
        if (n != group_length(next) || strncmp(name, next, (size_t)n) != 0) {
            printf("%-20.*s %9.2e  %.4f\n", n, name, sqrt(size), size > 0 ? sqrt(apart / size) : 0);
            all_apart += apart;
            all_size += size;
            apart = size = 0;
        }
    }
    printf("%-20s %9.2e  %.4f\n", "all", sqrt(all_size), sqrt(all_apart / all_size));
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: precision MODEL DATA\n");
        return 2;
    }
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_dataset *data = asc_dataset_open(ctx, argv[2]);
    asc_model *model = asc_model_open(ctx, argv[1], NULL, data);
    asc_split *text = model ? asc_split_load(data, ASC_SPLIT_VALID, model->tokenizer) : NULL;
    float *exact = model ? calloc((size_t)asc_params_numel(asc_lm_params(model->lm)), sizeof *exact) : NULL;
    if (text && exact) {
        const asc_params *params = asc_lm_params(model->lm);
        double loss = pass(ctx, model->lm, text, ASC_PRECISION_F32);
        float *to = exact;
        for (int p = 0; p < asc_params_count(params) && !asc_error(ctx); p++) {
            for (int64_t i = 0; i < asc_numel(asc_params_at(params, p)); i++) {
                *to++ = (float)element(asc_params_at(params, p), i);
            }
        }
        double rounded = pass(ctx, model->lm, text, ASC_PRECISION_BF16);
        if (!asc_error(ctx)) {
            printf("loss %.5f, bf16 %.5f\nparameters            ‖grad‖   relative error\n", loss, rounded);
            print_table(params, exact);
        }
    }
    int failed = asc_error(ctx) != ASC_OK || !exact;
    if (failed) {
        fprintf(stderr, "precision: %s\n", asc_error_message(ctx));
    }
    free(exact);
    asc_split_free(ctx, text);
    asc_model_free(ctx, model);
    asc_dataset_free(data);
    asc_ctx_free(ctx);
    return failed ? 3 : 0;
}
