/* examples/classify.c: tells the points of two spirals apart, with a network of two hidden layers and minibatches.
 *
 *   cc classify.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ascgrad.h>

enum { POINTS = 512, BATCH = 64, HIDDEN = 48, STEPS = 1500 };

static float x[POINTS][2];
static int64_t label[POINTS];

static void make_spirals(void)
{
    for (int i = 0; i < POINTS; i++) {
        label[i] = i % 2;
        double r = .1 + .9 * i / POINTS, angle = 9 * r + 3.14159265 * (double)label[i];
        x[i][0] = (float)(r * cos(angle));
        x[i][1] = (float)(r * sin(angle));
    }
}

/* A layer's weight and bias, in the list. */
static asc_tensor linear(asc_ctx *ctx, asc_params *params, const char *name, int64_t out, int64_t in, asc_tensor *bias)
{
    char text[2][32];
    snprintf(text[0], sizeof text[0], "%s.weight", name);
    snprintf(text[1], sizeof text[1], "%s.bias", name);
    asc_tensor w = asc_normal(ctx, ASC_F32, 0, 1 / sqrt((double)in), 7, (uint64_t)asc_params_count(params),
                              ASC_SHAPE(out, in));
    *bias = asc_zeros(ctx, ASC_F32, ASC_SHAPE(out));
    asc_require_grad(w, true);
    asc_require_grad(*bias, true);
    asc_params_add(params, text[0], w, true);
    asc_params_add(params, text[1], *bias, false);
    return w;
}

int main(void)
{
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_params *params = asc_params_new(ctx);
    asc_tensor b[3], w[3] = {linear(ctx, params, "fc1", HIDDEN, 2, &b[0]),
                             linear(ctx, params, "fc2", HIDDEN, HIDDEN, &b[1]),
                             linear(ctx, params, "fc3", 2, HIDDEN, &b[2])};
    asc_optim *optim = asc_adamw_new(ctx, params, &(asc_adamw_options){.weight_decay = 1e-3});
    make_spirals();
    int right = 0;
    for (int step = 0; step <= STEPS && !asc_error(ctx); step++) {
        bool last = step == STEPS; /* the last pass only looks, at all points */
        int64_t n = last ? POINTS : BATCH, from = last ? 0 : (int64_t)step * BATCH % POINTS;
        asc_scope_begin(ctx);
        asc_set_recording(ctx, !last);
        asc_tensor h = asc_from(ctx, ASC_F32, x[from], ASC_SHAPE(n, 2));
        asc_tensor y = asc_from(ctx, ASC_I64, label + from, ASC_SHAPE(n));
        h = asc_tanh(ctx, asc_linear(ctx, h, w[0], b[0]));
        h = asc_tanh(ctx, asc_linear(ctx, h, w[1], b[1]));
        asc_tensor logits = asc_linear(ctx, h, w[2], b[2]), loss = asc_cross_entropy(ctx, logits, y, -1, NULL);
        const float *s = asc_data(logits);
        for (int64_t i = 0; last && s && i < n; i++) {
            right += (s[2 * i + 1] > s[2 * i]) == label[i];
        }
        if (!last) {
            asc_backward(ctx, loss, asc_null(), false);
            asc_optim_step(optim, 1e-2, asc_clip_scale(asc_grad_norm(ctx, params), 1));
            asc_params_zero_grad(params);
        }
        if (step % 500 == 0) {
            printf("step %4d  loss %.4f\n", step, asc_item(loss));
        }
        asc_scope_end(ctx);
    }
    printf("%d of %d points right%s%s\n", right, POINTS, asc_error(ctx) ? ": " : "", asc_error_message(ctx));
    asc_optim_free(optim);
    asc_params_free(params);
    asc_ctx_free(ctx);
    return right < POINTS * 95 / 100;
}
