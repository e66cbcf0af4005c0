/* examples/own_mixing.c: a language model with a mixing layer of one's own, on the built-in corpus: each position sees
 * an exponentially weighted past, m_t = Σ_{j<=t} a^(t-j) W x_j, through a gate.
 *
 *   cc own_mixing.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ascgrad.h>

enum { L = 32, B = 16, D = 48, LAYERS = 2, STEPS = 400 };

static asc_ctx *ctx;
static asc_params *params;

/* The parameter of that name, made at its first use; the list's own reference lets it outlive the step's scope. */
static asc_tensor param(const char *name, int layer, int64_t out, int64_t in)
{
    char full[40];
    snprintf(full, sizeof full, "%d.%s", layer, name);
    asc_tensor t = asc_params_find(params, full);
    if (asc_is_null(t)) {
        t = asc_normal(ctx, ASC_F32, 0, 1 / sqrt((double)in), 3, (uint64_t)asc_params_count(params),
                       ASC_SHAPE(out, in));
        asc_require_grad(t, true);
        asc_params_add(params, full, t, true);
    }
    return t;
}

static asc_tensor mix(asc_tensor x, int layer)
{
    float past[L * L]; /* row t, column j: a^(t-j), and 0 for the future */
    for (int i = 0; i < L * L; i++) {
        past[i] = i % L <= i / L ? powf(layer ? .9f : .5f, (float)(i / L - i % L)) : 0;
    }
    asc_tensor m = asc_linear(ctx, x, param("in", layer, D, D), asc_null());
    m = asc_matmul(ctx, asc_from(ctx, ASC_F32, past, ASC_SHAPE(L, L)), m);
    asc_tensor gate = asc_sigmoid(ctx, asc_linear(ctx, x, param("gate", layer, D, D), asc_null()));
    return asc_linear(ctx, asc_mul(ctx, gate, m), param("out", layer, D, D), asc_null());
}

static asc_tensor loss_of(const int64_t *x, const int64_t *y, int64_t V)
{
    asc_tensor emb = param("emb", 0, V, D), h = asc_embedding(ctx, emb, asc_from(ctx, ASC_I64, x, ASC_SHAPE(B, L)));
    for (int l = 0; l < LAYERS; l++) {
        h = asc_add(ctx, h, mix(asc_layer_norm(ctx, h, asc_null(), asc_null(), 1e-5), l));
    }
    h = asc_layer_norm(ctx, h, asc_null(), asc_null(), 1e-5);
    return asc_linear_cross_entropy(ctx, h, emb, asc_from(ctx, ASC_I64, y, ASC_SHAPE(B, L)), NULL);
}

int main(void)
{
    ctx = asc_ctx_new(NULL);
    params = asc_params_new(ctx);
    asc_dataset *data = asc_dataset_open(ctx, "builtin:60000");
    asc_tokenizer *words = asc_tokenizer_new(ctx, "word");
    asc_dataset_collect(data, words);
    asc_split *train = asc_split_load(data, ASC_TRAIN, words);
    int64_t x[B * L], y[B * L];
    asc_optim *optim = NULL;
    for (int step = 0; step < STEPS && !asc_error(ctx); step++) {
        int32_t which[B];
        for (int b = 0; b < B; b++) {
            which[b] = (int32_t)((step * B + b) % asc_block_count(train->n_tokens, L, false));
        }
        asc_block_fill(ctx, train, L, which, B, x, y);
        asc_scope_begin(ctx);
        asc_tensor loss = loss_of(x, y, asc_tokenizer_size(words));
        asc_backward(ctx, loss, asc_null(), false);
        optim = optim ? optim : asc_adamw_new(ctx, params, NULL); /* now that the parameters are there */
        asc_optim_step(optim, 3e-3, asc_clip_scale(asc_grad_norm(ctx, params), 1));
        asc_params_zero_grad(params);
        if (step % 100 == 99) {
            printf("step %3d  loss %.3f  perplexity %.1f\n", step + 1, asc_item(loss), exp(asc_item(loss)));
        }
        asc_scope_end(ctx);
    }
    return asc_error(ctx) ? fprintf(stderr, "own_mixing: %s\n", asc_error_message(ctx)), 1 : 0;
}
