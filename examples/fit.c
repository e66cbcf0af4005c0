/* examples/fit.c: fits sin(3x) on [-1, 1] with a network of one hidden layer.
 *
 *   cc fit.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ascgrad.h>

enum { POINTS = 64, HIDDEN = 32, STEPS = 500 };

/* A parameter of the list; it belongs to the context, as it is made outside of any scope. */
static asc_tensor parameter(asc_ctx *ctx, asc_params *params, const char *name, double deviation, int64_t out,
                            int64_t in)
{
    asc_tensor t = asc_normal(ctx, ASC_F32, 0, deviation, 1, (uint64_t)asc_params_count(params), in ? 2 : 1,
                              (int64_t[]){out, in});
    asc_require_grad(t, true);
    asc_params_add(params, name, t, false);
    return t;
}

int main(void)
{
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_params *params = asc_params_new(ctx);
    asc_tensor w1 = parameter(ctx, params, "fc1.weight", 2, HIDDEN, 1);
    asc_tensor b1 = parameter(ctx, params, "fc1.bias", 1, HIDDEN, 0);
    asc_tensor w2 = parameter(ctx, params, "fc2.weight", .1, 1, HIDDEN);
    asc_tensor b2 = parameter(ctx, params, "fc2.bias", 0, 1, 0);
    asc_optim *optim = asc_adamw_new(ctx, params, NULL);

    float x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = 2 * (float)i / (POINTS - 1) - 1;
        y[i] = sinf(3 * x[i]);
    }
    for (int step = 0; step < STEPS && !asc_error(ctx); step++) {
        asc_scope_begin(ctx); /* what is made from here on goes at its end */
        asc_tensor in = asc_from(ctx, ASC_F32, x, ASC_SHAPE(POINTS, 1));
        asc_tensor want = asc_from(ctx, ASC_F32, y, ASC_SHAPE(POINTS, 1));
        asc_tensor hidden = asc_tanh(ctx, asc_linear(ctx, in, w1, b1));
        asc_tensor error = asc_sub(ctx, asc_linear(ctx, hidden, w2, b2), want);
        asc_tensor loss = asc_mean(ctx, asc_square(ctx, error), ASC_ALL_DIMS, false);
        asc_backward(ctx, loss, asc_null(), false);
        asc_optim_step(optim, 1e-2, 1);
        asc_params_zero_grad(params);
        if (step % 100 == 0 || step == STEPS - 1) {
            printf("step %3d  mean squared error %.6f\n", step, asc_item(loss));
        }
        asc_scope_end(ctx);
    }
    int failed = asc_error(ctx) != ASC_OK; /* one check for the whole chain */
    if (failed) {
        fprintf(stderr, "fit: %s\n", asc_error_message(ctx));
    }
    asc_optim_free(optim);
    asc_params_free(params);
    asc_ctx_free(ctx);
    return failed;
}
