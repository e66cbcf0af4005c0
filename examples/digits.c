/* examples/digits.c: tells ten digits apart in noisy images of 8×8 points, drawn on the spot. */
#include <stdio.h>
#include <time.h>

#include <ascgrad/ascgrad.h>

enum { TRAIN = 1600, TEST = 400, ALL = TRAIN + TEST, EPOCHS = 10 };
static float image[64 * ALL];
static int64_t label[ALL];

/* A digit is seven rows of five points, the low bits of a character each; shifted, under noise from 0 to 1. */
static void draw(void)
{
    static const char *const digit[] = {"NQSUYQN", "DLDDDDN", "NQABDH_", "_BDBAQN", "BFJR_BB",
                                        "_P^AAQN", "FHP^QQN", "_ABDHHH", "NQQNQQN", "NQQOABL"};
    uint32_t random = 1;
    for (int p = 0; p < 64 * ALL; p++) {
        int i = p / 64, row = (digit[i % 10][p / 8 % 8] & 31) << i / 10 % 4;
        random = random * 1664525 + 1013904223;
        image[p] = (float)(row >> (7 - p % 8) & 1) + (float)(random >> 8) * 0x1p-24f;
        label[i] = i % 10;
    }
}

int main(void)
{
    draw();
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_tensor x = asc_from(ctx, ASC_F32, image, ASC_SHAPE(ALL, 64)), y = asc_from(ctx, ASC_I64, label, ASC_SHAPE(ALL));
    asc_tensor train[2] = {asc_slice(ctx, x, 0, 0, TRAIN, 1), asc_slice(ctx, y, 0, 0, TRAIN, 1)}, batch[2];
    asc_module *parts[] = {asc_module_linear(ctx, ASC_F32, 64, 64), asc_module_function(ctx, asc_relu),
                           asc_module_linear(ctx, ASC_F32, 64, 10)};
    asc_module *net = asc_module_sequential(ctx, 3, parts);
    asc_optim *optim = asc_adamw_new(ctx, asc_module_params(net), NULL);
    asc_batches *batches = asc_batches_new(ctx, train, 2, 64, 1);
    clock_t start = clock();
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        while (asc_batches_next(batches, batch)) { /* each batch is a scope */
            asc_backward_loss(ctx, asc_cross_entropy(ctx, asc_module_forward(net, batch[0]), batch[1], -1, NULL));
            asc_optim_step(optim, 3e-3, 1);
            asc_params_zero_grad(asc_module_params(net));
        }
    }
    printf("%.2f ms per epoch\n", 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC / EPOCHS);
    asc_tensor logits = asc_module_forward(net, asc_slice(ctx, x, 0, TRAIN, ALL, 1));
    printf("accuracy %.1f %% ", 100 * asc_accuracy(ctx, logits, asc_slice(ctx, y, 0, TRAIN, ALL, 1)));
    return puts(asc_error_message(ctx)) < 0 || asc_error(ctx); /* the end of the process frees what there is */
}
