/* tests/docs/guide.c: the snippets of doc/guide.md that are no programs by themselves, with what they need around them.
 * Those of the chapters that make a file of their own are put together by snippets.sh. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/ascgrad.h>

static int failed;

static void expect(bool holds, const char *what)
{
    if (!holds) {
        printf("not so: %s\n", what);
        failed = 1;
    }
}

static asc_tensor leaf(asc_ctx *ctx, int ndim, const int64_t *shape)
{
    asc_tensor t = asc_normal(ctx, ASC_F32, 0, 1, 1, 0, ndim, shape);
    asc_require_grad(t, true);
    return t;
}

/* ---- Models and their settings ---- */

static void try_models(asc_ctx *ctx)
{
#include "guide/models_and_their_settings_01.h"
    expect(lm && mixing && strstr(asc_lm_config(lm), "\"omega_sep\":[0.2"), "Models: structs are heeded");
    expect(lm && strstr(asc_lm_config(lm), "\"neighbors\":\"base\""), "Models: and choices");
    asc_module_free(mixing);
    asc_lm_free(lm);
}

/* ---- Tensors and their memory ---- */

static void try_memory(asc_ctx *ctx) /* one of its own */
{
    enum { out = 2, in = 3 };
    float weights[out * in] = {1, 2, 3, 4, 5, 6}, gradient[out * in];
#include "guide/tensors_and_their_memory_01.h"
    asc_backward(ctx, asc_sum(ctx, asc_square(ctx, w), ASC_ALL_DIMS, false), asc_null(), false);
    expect(gradient[0] == 2 && gradient[5] == 12, "Tensors and their memory: the gradient is where it was asked for");
    asc_ctx_free(ctx); /* the arrays end here */
}

/* ---- Errors ---- */

static void errors(asc_ctx *ctx, asc_tensor x, asc_tensor w, asc_tensor b)
{
#include "guide/errors_01.h"
}

static void try_errors(asc_ctx *ctx)
{
    asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1, 2, 0, ASC_SHAPE(2, 5)), b = leaf(ctx, ASC_SHAPE(3));
    asc_tensor w = leaf(ctx, ASC_SHAPE(3, 5));
    errors(ctx, x, w, b);
    expect(!asc_error(ctx) && asc_data(asc_grad(w)), "Errors: the weight has a gradient");
    errors(ctx, x, leaf(ctx, ASC_SHAPE(3, 4)), b);
    expect(!strcmp(asc_error_message(ctx), "linear: weight is f32 (3, 4), expected (out, 5)"),
           "Errors: the message is the one in the comment");
    asc_error_clear(ctx);
}

/* ---- Gradients ---- */

typedef struct layer {
    asc_tensor up, b, down, c;
} layer;

#include "guide/gradients_01.h"

static void try_gradients(asc_ctx *ctx)
{
    layer layers[1] = {{leaf(ctx, ASC_SHAPE(8, 4)), leaf(ctx, ASC_SHAPE(8)), leaf(ctx, ASC_SHAPE(4, 8)),
                        leaf(ctx, ASC_SHAPE(4))}};
    asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1, 3, 0, ASC_SHAPE(2, 4)), y = asc_null();
    int i = 0;
#include "guide/gradients_02.h"
    asc_backward(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false), asc_null(), false);
    expect(!asc_error(ctx) && asc_data(asc_grad(layers[0].up)), "Gradients: a parameter within has a gradient");
}

/* ---- Where the time goes ---- */

static void try_profile(asc_ctx *ctx)
{
    int steps = 2;
#include "guide/where_the_time_goes_01.h"
    FILE *trace = fopen("trace.json", "r");
    expect(trace && fgetc(trace) == '{', "Where the time goes: there is a trace");
    if (trace) {
        fclose(trace);
    }
}

int main(void)
{
    asc_ctx *ctx = asc_ctx_new(NULL);
    try_models(ctx);
    try_memory(asc_ctx_new(NULL));
    try_errors(ctx);
    try_gradients(ctx);
    try_profile(ctx);
    expect(!asc_error(ctx), asc_error_message(ctx));
    asc_ctx_free(ctx);
    return failed;
}
