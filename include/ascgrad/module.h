/*
 * ascgrad/module.h: modules: parts of a network with parameters of their own, which make a tensor of a tensor.
 *
 *     asc_module *net = asc_module_sequential(ctx, ASC_MODULES(
 *         asc_module_linear(ctx, ASC_F32, 64, 32),
 *         asc_module_function(ctx, asc_relu),
 *         asc_module_linear(ctx, ASC_F32, 32, 10)));
 *     asc_optim *optim = asc_adamw_new(ctx, asc_module_params(net), NULL);
 *     asc_tensor logits = asc_module_forward(net, x);
 *     …
 *     asc_optim_free(optim);
 *     asc_module_free(net);
 *
 * A builder returns a new module, or NULL with the error set: ASC_ERR_ARG, a size below 1, another dtype than f32 or
 * f64; ASC_ERR_MEMORY. Modules made of modules take them, also where they fail; a NULL among them leaves the first
 * error as it is. Initial values depend on the context's seed (asc_options.seed) and on the order in which its modules
 * are made alone: the same program draws the same. They are those of asc_make_param.
 *
 * Make them outside of any scope, and free them before the context.
 */
#ifndef ASCGRAD_MODULE_H
#define ASCGRAD_MODULE_H

#include <ascgrad/nn.h>
#include <ascgrad/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_module asc_module;
typedef asc_tensor asc_module_fn(asc_ctx *ctx, asc_tensor x);

/* y = x Wᵀ + b: "weight" [out, in], uniform ±1/√in, and "bias" [out], zeros. x (..., in), y (..., out). */
ASC_API asc_module *asc_module_linear(asc_ctx *ctx, asc_dtype dtype, int64_t in, int64_t out);
/* y = weight[x]: "weight" [rows, width], N(0, 0.02²). x i64 (...), y (..., width). */
ASC_API asc_module *asc_module_embedding(asc_ctx *ctx, asc_dtype dtype, int64_t rows, int64_t width);
/* asc_layer_norm with eps 1e-5: "weight", ones, and "bias", zeros, [width]. */
ASC_API asc_module *asc_module_layer_norm(asc_ctx *ctx, asc_dtype dtype, int64_t width);
/* W₂ GELU(W₁ x + b₁) + b₂: linear ones "fc1" [inner, width] and "fc2" [width, inner]. */
ASC_API asc_module *asc_module_feed_forward(asc_ctx *ctx, asc_dtype dtype, int64_t width, int64_t inner);
/* A mixing layer, as asc_layer_new makes it: x (B, N, width), y the same. */
ASC_API asc_module *asc_module_mixing(asc_ctx *ctx, asc_dtype dtype, const char *mixing, int64_t width,
                                      const char *config);
/* Attention with projections: the mixing "transformer" with these options in place of JSON, each as it stands, 0 too:
 * without `.causal = true` every token sees all, where the mixing by itself is causal. `heads` is needed. */
ASC_API asc_module *asc_module_attention(asc_ctx *ctx, asc_dtype dtype, int64_t width,
                                         const asc_attention_options *options);
/* asc_dropout with 0 <= p < 1 while training (asc_module_train), else x. */
ASC_API asc_module *asc_module_dropout(asc_ctx *ctx, double p);
/* y = function(ctx, x), without parameters: asc_relu, or one of your own. */
ASC_API asc_module *asc_module_function(asc_ctx *ctx, asc_module_fn *function);

/* y = x + inner(x), with inner's parameters; takes `inner`. */
ASC_API asc_module *asc_module_residual(asc_ctx *ctx, asc_module *inner);
/* Each module on what the one before it has made; takes all n of them. Their parameters are "0.weight", "1.…". */
ASC_API asc_module *asc_module_sequential(asc_ctx *ctx, int n, asc_module *const *modules);
/* `n, modules` where they are written. C only. */
#define ASC_MODULES(...)                                                                                               \
    (int)(sizeof((asc_module *[]){__VA_ARGS__}) / sizeof(asc_module *)), (asc_module *[]){__VA_ARGS__}

ASC_API void asc_module_free(asc_module *module); /* and its parts; NULL is accepted */

/* Its parameters, those of its parts among them; borrowed: for an optimiser, asc_params_save, asc_params_load. */
ASC_API asc_params *asc_module_params(asc_module *module);
/* Whether it is trained, the initial state, or evaluated, without dropout; its parts, too. */
ASC_API void asc_module_train(asc_module *module, bool train);
/* y of x. Null with the error set: what its ops refuse. */
ASC_API asc_tensor asc_module_forward(asc_module *module, asc_tensor x);

#ifdef __cplusplus
}
#endif
#endif
