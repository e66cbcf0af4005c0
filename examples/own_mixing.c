/* examples/own_mixing.c: a mixing layer of one's own, registered by name: training, checkpoints and generation take it
 * like the library's. Each position sees an exponentially weighted past through a gate:
 *
 *   y_t = W_out (σ(W_gate x_t) ∘ Σ_{j<=t} a^(t-j) W_in x_j)
 *
 *   cc own_mixing.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out RUN */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include <ascgrad/ascgrad.h>

typedef struct values { /* of its settings */
    double fade;
} values;

static const asc_setting settings[] = {
    {"fade", ASC_SETTING_REAL, offsetof(values, fade), "0.9", .help = "a, what is left of a token one position on",
     .min = 0, .max = 1, .flags = ASC_SETTING_PER_LAYER},
    {0},
};

typedef struct fading { /* a layer */
    asc_affine in, gate, out;
} fading;

static asc_status init(asc_layer *l, asc_maker *maker)
{
    fading *f = l->self;
    f->in = asc_make_linear(maker, "in", l->D, l->D);
    f->gate = asc_make_linear(maker, "gate", l->D, l->D);
    f->out = asc_make_linear(maker, "out", l->D, l->D);
    return asc_error(l->ctx);
}

/* Row t, column j: a^(t-j), and 0 for the future. */
static asc_tensor weights(asc_layer *l, int64_t N)
{
    asc_tensor past = asc_zeros(l->ctx, ASC_F64, ASC_SHAPE(N, N));
    double *to = asc_data_mut(past);
    for (int64_t i = 0; to && i < N * N; i++) {
        to[i] = i % N <= i / N ? pow(((values *)l->settings)->fade, (double)(i / N - i % N)) : 0;
    }
    return asc_cast(l->ctx, past, l->dtype);
}

static asc_tensor forward(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    (void)lengths; /* what stands behind a sequence's end has no say before it */
    (void)aux;
    fading *f = l->self;
    asc_tensor m = asc_linear(l->ctx, x, f->in.weight, f->in.bias);
    m = asc_matmul(l->ctx, weights(l, asc_size(x, 1)), m);
    asc_tensor gate = asc_sigmoid(l->ctx, asc_linear(l->ctx, x, f->gate.weight, f->gate.bias));
    return asc_linear(l->ctx, asc_mul(l->ctx, gate, m), f->out.weight, f->out.bias);
}

static const asc_mixing mixing = {
    .abi = ASC_MIXING_ABI, .name = "fading", .settings = settings, .settings_size = sizeof(values),
    .size = sizeof(fading), .init = init, .forward = forward,
};

static bool print_token(void *model, int32_t id)
{
    size_t n;
    const char *text = asc_tokenizer_piece(((asc_model *)model)->tokenizer, id, &n);
    printf(" %.*s", (int)n, text);
    return true;
}

int main(int argc, char **argv)
{
    const char *run = argc > 1 ? argv[1] : "fading-run";
    static const char *const chosen[][2] = {
        {"model", "fading"}, {"fade", "[0.5, 0.9]"}, {"data", "builtin:60000"}, {"layers", "2"}, {"dim", "48"},
        {"block", "32"},     {"batch", "16"},         {"lr", "3e-3"},            {"steps", "400"},
    };
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_mixing_register(ctx, &mixing);
    asc_settings *s = asc_settings_new(ctx);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        asc_settings_set(s, chosen[i][0], chosen[i][1]);
    }
    asc_train_result result = {0};
    asc_model *model = asc_train(ctx, s, run, false, NULL, &result) ? NULL : asc_model_open(ctx, run, NULL, NULL);
    if (model) {
        asc_generate(ctx, model, NULL, 0, 20, &(asc_sampling){.temperature = 1, .top_p = 1}, print_token, model);
        printf("\n%lld parameters, perplexity %.1f\n", (long long)result.parameters, result.best_ppl);
    }
    int failed = asc_error(ctx) ? fprintf(stderr, "own_mixing: %s\n", asc_error_message(ctx)) : 0;
    asc_model_free(ctx, model);
    asc_settings_free(s);
    asc_ctx_free(ctx);
    return failed ? 1 : 0;
}
