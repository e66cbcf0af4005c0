/*
 * ascgrad/ops.h: the library's ops. Every function returns a new tensor of the current scope, or null with
 * the error set: wrong shapes or dtypes (ASC_ERR_ARG, naming op, argument, got and expected), a tensor that is gone
 * (ASC_ERR_STATE), no memory (ASC_ERR_MEMORY). Null arguments give null. Floating inputs of one call have one dtype.
 *
 * Shapes: B batch, N sequence length, D model width, H heads, d head width; "..." any leading dimensions. What mixes
 * positions, attention, convolution and what Grassmann mixing is made of, is in ascgrad/mixing_ops.h, which this header
 * has with it.
 */
#ifndef ASCGRAD_OPS_H
#define ASCGRAD_OPS_H

#include <ascgrad/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- products ---- */

/* y = x Wᵀ + b. x (..., in), weight (out, in), bias (out) or null; y (..., out). */
ASC_API asc_tensor asc_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias);

/* y = GELU(x) Wᵀ + b, as asc_linear of asc_gelu, whose result is not held between forward and backward. */
ASC_API asc_tensor asc_gelu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias);
/* The same of max(x, 0)² (So et al. 2021, arXiv 2109.08668). */
ASC_API asc_tensor asc_relu2_linear(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias);
/* The same of silu(g)∘x, and of GELU(g)∘x (Shazeer 2020, arXiv 2002.05202); gate g of x's shape. */
ASC_API asc_tensor asc_swiglu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor gate, asc_tensor weight, asc_tensor bias);
ASC_API asc_tensor asc_geglu_linear(asc_ctx *ctx, asc_tensor x, asc_tensor gate, asc_tensor weight, asc_tensor bias);

/* Y = A B. a (..., m, k), b (..., k, n); y (..., m, n), the leading dimensions broadcast. A vector (k) is one row as a,
 * one column as b, and y lacks that dimension. */
ASC_API asc_tensor asc_matmul(asc_ctx *ctx, asc_tensor a, asc_tensor b);
/* The same with Aᵀ for A where ta, a (..., k, m), and Bᵀ for B where tb, b (..., n, k); no copies are made. */
ASC_API asc_tensor asc_matmul_transposed(asc_ctx *ctx, asc_tensor a, bool ta, asc_tensor b, bool tb);

/* y_ij = a_i b_j: a (..., m), b (..., n); y (..., m, n), the leading dimensions broadcast. */
ASC_API asc_tensor asc_outer(asc_ctx *ctx, asc_tensor a, asc_tensor b);

/* The sum of products that `equation` writes in letters, one for a dimension: "bij,bjk->bik" multiplies matrices,
 * "ij->ji" transposes, "ij->i" sums rows. x[n], n is 1 or 2. A letter that is missing after -> is summed over. No
 * letter twice in one operand, no "...", at most 8 letters a term. ASC_ERR_ARG: another equation than that, or sizes
 * that do not fit. */
ASC_API asc_tensor asc_einsum(asc_ctx *ctx, const char *equation, const asc_tensor *x, int n);

/* A language model's head and loss in one: the mean over the targets >= 0 of log Σ_v exp(W x_t)_v - (W x_t)_{y_t}, in
 * nats; 0 if there are none. x (..., D), weight (V, D), targets i64 (...), below V. If token_loss is not NULL it gets
 * the loss of each, (...), 0 where ignored, through which no gradient flows. Holds 512×V logits at most. */
ASC_API asc_tensor asc_linear_cross_entropy(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor targets,
                                            asc_tensor *token_loss);
/* The same of logits that a cap c > 0 bounds softly, c tanh(W x_t/c) in W x_t's place (Gemma Team 2024, arXiv
 * 2408.00118); 0: none. top, if not NULL, gets (..., 2): the probability of the most probable word, and 1 where that is
 * the target, else 0. No gradient flows through it. Costs one exponential a token, a cap one tanh a logit. */
ASC_API asc_tensor asc_linear_cross_entropy_top(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor targets,
                                                double cap, asc_tensor *token_loss, asc_tensor *top);

/* ---- arithmetic, with NumPy's broadcasting: a and b of shapes that are equal from the right, or 1 ---- */

ASC_API asc_tensor asc_add(asc_ctx *ctx, asc_tensor a, asc_tensor b); /* a + b */
ASC_API asc_tensor asc_sub(asc_ctx *ctx, asc_tensor a, asc_tensor b); /* a - b */
ASC_API asc_tensor asc_mul(asc_ctx *ctx, asc_tensor a, asc_tensor b); /* a∘b */
ASC_API asc_tensor asc_div(asc_ctx *ctx, asc_tensor a, asc_tensor b); /* a/b */

/* x^p; NaN where x < 0 is finite and p is no integer. The derivative by p is 0 where x = 0 and p >= 0. */
ASC_API asc_tensor asc_pow(asc_ctx *ctx, asc_tensor x, asc_tensor p);

/* The larger, or the smaller: half of the gradient to each where they are equal. A NaN is passed on. */
ASC_API asc_tensor asc_maximum(asc_ctx *ctx, asc_tensor a, asc_tensor b);
ASC_API asc_tensor asc_minimum(asc_ctx *ctx, asc_tensor a, asc_tensor b);

/* 1 where a = b, a ≠ b, a < b, a <= b, else 0, as u8: what asc_where takes. a and b of one dtype, any; a NaN is not
 * equal to, below or above anything. a > b is asc_less(ctx, b, a). No gradient. */
ASC_API asc_tensor asc_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b);
ASC_API asc_tensor asc_not_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b);
ASC_API asc_tensor asc_less(asc_ctx *ctx, asc_tensor a, asc_tensor b);
ASC_API asc_tensor asc_less_equal(asc_ctx *ctx, asc_tensor a, asc_tensor b);

/* a where mask is not 0, else b. mask u8; all three broadcast. */
ASC_API asc_tensor asc_where(asc_ctx *ctx, asc_tensor mask, asc_tensor a, asc_tensor b);

/* value where mask is not 0, else x. mask u8, of a shape that broadcasts to x's; y like x. */
ASC_API asc_tensor asc_masked_fill(asc_ctx *ctx, asc_tensor x, asc_tensor mask, double value);

/* a x + b with constants; a x; x + b; -x. */
ASC_API asc_tensor asc_scale_shift(asc_ctx *ctx, asc_tensor x, double a, double b);
ASC_API asc_tensor asc_scale(asc_ctx *ctx, asc_tensor x, double a);
ASC_API asc_tensor asc_add_scalar(asc_ctx *ctx, asc_tensor x, double b);

/* ---- functions of one element; y like x ---- */

ASC_API asc_tensor asc_relu(asc_ctx *ctx, asc_tensor x);    /* max(x, 0); derivative 0 at 0 */
ASC_API asc_tensor asc_tanh(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_sigmoid(asc_ctx *ctx, asc_tensor x); /* 1/(1 + exp -x) */
ASC_API asc_tensor asc_gelu(asc_ctx *ctx, asc_tensor x);    /* x Φ(x), exact */
ASC_API asc_tensor asc_exp(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_log(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_sqrt(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_square(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_abs(asc_ctx *ctx, asc_tensor x);     /* derivative 0 at 0 */
ASC_API asc_tensor asc_neg(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_sin(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_cos(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_erf(asc_ctx *ctx, asc_tensor x);
ASC_API asc_tensor asc_softplus(asc_ctx *ctx, asc_tensor x);   /* log(1 + exp x), x itself where exp x overflows */
ASC_API asc_tensor asc_silu(asc_ctx *ctx, asc_tensor x);       /* x/(1 + exp -x) */
ASC_API asc_tensor asc_gelu_tanh(asc_ctx *ctx, asc_tensor x);  /* GELU's approximation by tanh, of GPT-2 */
ASC_API asc_tensor asc_log1p(asc_ctx *ctx, asc_tensor x);      /* log(1 + x) */
ASC_API asc_tensor asc_expm1(asc_ctx *ctx, asc_tensor x);      /* exp x - 1 */
ASC_API asc_tensor asc_reciprocal(asc_ctx *ctx, asc_tensor x); /* 1/x */
ASC_API asc_tensor asc_rsqrt(asc_ctx *ctx, asc_tensor x);      /* 1/√x */
ASC_API asc_tensor asc_pow_scalar(asc_ctx *ctx, asc_tensor x, double p); /* x^p */
/* x held to lo … hi, lo <= hi, either of them may be infinite; derivative 1 at lo and hi themselves. */
ASC_API asc_tensor asc_clamp(asc_ctx *ctx, asc_tensor x, double lo, double hi);

/* cap tanh(x/cap), within ±cap and near x where x is small; cap > 0. */
ASC_API asc_tensor asc_soft_cap(asc_ctx *ctx, asc_tensor x, double cap);

/* ---- softmax, over the last dimension; y like x ----
 * mask: u8, of a shape that broadcasts to x's, not 0 where allowed; or null: all. An entry of x of -∞ is not allowed
 * either. A row where nothing is allowed is 0 (softmax) or -∞ (its logarithm), and has gradient 0. */

ASC_API asc_tensor asc_softmax(asc_ctx *ctx, asc_tensor x, asc_tensor mask);     /* 0 where not allowed */
ASC_API asc_tensor asc_log_softmax(asc_ctx *ctx, asc_tensor x, asc_tensor mask); /* -∞ where not allowed */

/* ---- loss ---- */

/* The mean of log Σ_v exp(logits_tv) - logits_{t, y_t}, in nats, over the targets y that are not `ignore` (a number
 * outside of 0 … V-1, such as -100, if all count); 0, with gradient 0, if there are none. logits (..., V), targets i64
 * (...). If token_loss is not NULL it gets the loss of each, (...), 0 where ignored; gradients flow through it, too.
 * ASC_ERR_ARG also for a target that is out of range. */
ASC_API asc_tensor asc_cross_entropy(asc_ctx *ctx, asc_tensor logits, asc_tensor targets, int64_t ignore,
                                     asc_tensor *token_loss);

/* The same with smoothed targets (Szegedy et al., arXiv 1512.00567): a share `smoothing`, 0 … 1, of each target is
 * spread evenly over all of V. Composed of other ops: holds (..., V) log-probabilities. */
ASC_API asc_tensor asc_cross_entropy_smoothed(asc_ctx *ctx, asc_tensor logits, asc_tensor targets, int64_t ignore,
                                              double smoothing);

/* Means over all n entries of x and target, of one shape and dtype; y a scalar, NaN for n = 0. Gradients flow to
 * both. */

/* (x - t)². */
ASC_API asc_tensor asc_mse(asc_ctx *ctx, asc_tensor x, asc_tensor target);
/* (x - t)²/2β where |x - t| < β, |x - t| - β/2 elsewhere; β > 0 (Huber's loss over β). */
ASC_API asc_tensor asc_smooth_l1(asc_ctx *ctx, asc_tensor x, asc_tensor target, double beta);
/* -t log σ(x) - (1 - t) log(1 - σ(x)): binary cross-entropy of logits x with probabilities t. */
ASC_API asc_tensor asc_bce_with_logits(asc_ctx *ctx, asc_tensor x, asc_tensor target);
/* Σ t (log t - x)/B of log-probabilities x and probabilities t, B being the first dimension's size, 1 for a scalar; 0
 * where t = 0. */
ASC_API asc_tensor asc_kl_div(asc_ctx *ctx, asc_tensor x, asc_tensor target);

/* ---- over dimensions: asc_mean(ctx, x, ASC_DIMS(-2, -1), false) ----
 * dims[n_dims] names the dimensions to reduce, negative ones from the end; none: all. With keepdim they stay, of size
 * 1. Of nothing the sum is 0 and the mean NaN; max and min of nothing are an error. A NaN is passed on. */

#define ASC_DIMS(...) (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__} /* C only */
#define ASC_ALL_DIMS 0, ASC_NULL

ASC_API asc_tensor asc_sum(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
ASC_API asc_tensor asc_mean(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
/* The gradient goes to the first of equal entries. */
ASC_API asc_tensor asc_max(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
ASC_API asc_tensor asc_min(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);

/* Where the largest entry along dimension dim stands, -1 being the last: the first of equals; a NaN is larger than all
 * else. x of any dtype; i64, without that dimension. No gradient. ASC_ERR_ARG also where there is no entry. */
ASC_API asc_tensor asc_argmax(asc_ctx *ctx, asc_tensor x, int dim);
/* The share of the rows of logits (..., V) whose largest entry stands where targets, i64 (...), say; rows with a target
 * below 0 do not count, and those with one beyond V - 1 are wrong. NaN with the error set, or where no row counts. */
ASC_API double asc_accuracy(asc_ctx *ctx, asc_tensor logits, asc_tensor targets);

/* Σ (x - μ)²/(n - correction): correction 0 for the population's variance, 1 for the unbiased one; NaN if n <= it. */
ASC_API asc_tensor asc_variance(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim,
                                int correction);
/* log Σ exp x, without overflow; of nothing, or of -∞ alone, -∞ with gradient 0. */
ASC_API asc_tensor asc_logsumexp(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);
/* √Σ x², without overflow; gradient 0 where it is 0. */
ASC_API asc_tensor asc_norm(asc_ctx *ctx, asc_tensor x, int n_dims, const int *dims, bool keepdim);

/* y_i = Σ_{j<=i} x_j along dimension dim; y like x. */
ASC_API asc_tensor asc_cumsum(asc_ctx *ctx, asc_tensor x, int dim);

/* ---- rows by number ---- */

/* y[..., :] = weight[index[...], :]. weight (V, D), index i64 (...), 0 <= index < V; y (..., D). */
ASC_API asc_tensor asc_embedding(asc_ctx *ctx, asc_tensor weight, asc_tensor index);

/* y[..., i, ...] = x[..., index[i], ...] along dimension dim, -1 being the last. x of any dtype, index i64 (n),
 * from 0 to the dimension's size - 1, as of the next two. */
ASC_API asc_tensor asc_index_select(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index);

/* y[a, i, b] = x[a, index[a, i, b], b], i along dim. index i64 of x's number of dimensions, no longer than x in any but
 * dim; y has its shape. */
ASC_API asc_tensor asc_gather(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index);

/* y = x, then y[a, index[a, i, b], b] += src[a, i, b] in the order of i: the reverse of asc_gather. index i64 as there,
 * src of its shape; y like x. */
ASC_API asc_tensor asc_scatter_add(asc_ctx *ctx, asc_tensor x, int dim, asc_tensor index, asc_tensor src);

/* ---- normalisation and dropout ---- */

/* y = (x - μ)/√(σ² + eps)∘weight + bias over the last dimension, σ² the population variance. x (..., D), weight (D) or
 * null for 1, bias (D) or null for 0, eps >= 0, usually 1e-5. */
ASC_API asc_tensor asc_layer_norm(asc_ctx *ctx, asc_tensor x, asc_tensor weight, asc_tensor bias, double eps);

/* y = x/√(mean(x²) + eps)∘weight over the last dimension. x (..., D), weight (D) or null for 1, eps >= 0. */
ASC_API asc_tensor asc_rms_norm(asc_ctx *ctx, asc_tensor x, asc_tensor weight, double eps);

/* y = x/‖x‖ over the last dimension; 0, with gradient 0, where ‖x‖ <= 1e-12. x (..., D). */
ASC_API asc_tensor asc_l2_normalize(asc_ctx *ctx, asc_tensor x);
/* The product of the unit vectors of a and b, Σ a b/(‖a‖‖b‖) over the last dimension. a, b (..., D), the leading
 * dimensions broadcast; y (...). */
ASC_API asc_tensor asc_cosine_similarity(asc_ctx *ctx, asc_tensor a, asc_tensor b);

/* y = x/(1 - p), or 0 with probability p, 0 <= p < 1; what is dropped depends on asc_set_step's seed and step and on
 * the number of random ops since. p = 0 returns x itself: in evaluation pass 0. */
ASC_API asc_tensor asc_dropout(asc_ctx *ctx, asc_tensor x, double p);

/* residual + dropout(branch), of one shape, in one pass; p = 0 just adds. Draws what dropout would. */
ASC_API asc_tensor asc_add_dropout(asc_ctx *ctx, asc_tensor residual, asc_tensor branch, double p);

/* ---- views: other shapes of the same memory, no copy unless it says so; of any dtype ---- */

/* The elements in the same order in another shape; one size may be -1, what remains. A copy where x is strided so
 * that no view shows it. */
ASC_API asc_tensor asc_reshape(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *shape);

/* Inserts a dimension of size 1 before dimension dim (-1: after the last); takes one of size 1, and no other, away. */
ASC_API asc_tensor asc_unsqueeze(asc_ctx *ctx, asc_tensor x, int dim);
ASC_API asc_tensor asc_squeeze(asc_ctx *ctx, asc_tensor x, int dim);

/* Dimension i of the result is dimension order[i] of x; ndim is x's, each dimension is named once. */
ASC_API asc_tensor asc_permute(asc_ctx *ctx, asc_tensor x, int ndim, const int *order);

/* Swaps two dimensions. */
ASC_API asc_tensor asc_transpose(asc_ctx *ctx, asc_tensor x, int dim0, int dim1);

#define ASC_SLICE_END INT64_MAX /* a slice to the end */

/* x[..., start:stop:step, ...] along dim, as in NumPy: negative numbers count from the end, what lies beyond is left
 * out. step >= 1. */
ASC_API asc_tensor asc_slice(asc_ctx *ctx, asc_tensor x, int dim, int64_t start, int64_t stop, int64_t step);

/* Repeats x along its dimensions of size 1 and along new leading ones, to `shape`; -1 leaves a size as it is. The
 * elements of the result share memory: don't write to it. */
ASC_API asc_tensor asc_expand(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *shape);

/* x itself if it is contiguous, else a copy that is. */
ASC_API asc_tensor asc_contiguous(asc_ctx *ctx, asc_tensor x);

/* ---- rows of numbers, triangles ---- */

/* start, start + step, …, up to but without stop; step may be negative. New, of any dtype; ASC_ERR_ARG: a step of 0, a
 * number that is not finite. */
ASC_API asc_tensor asc_arange(asc_ctx *ctx, asc_dtype dtype, double start, double stop, double step);

/* x (..., N, M), floating, where j - i <= k, 0 elsewhere: the lower triangle of each matrix, with k = 0 up to the
 * diagonal. */
ASC_API asc_tensor asc_tril(asc_ctx *ctx, asc_tensor x, int64_t k);

/* ---- joining and converting ---- */

/* x[0], …, x[n-1] one after the other along dim: one dtype, and one shape but for dim. n is 1 to 32. */
ASC_API asc_tensor asc_concat(asc_ctx *ctx, const asc_tensor *x, int n, int dim);

/* x[0], …, x[n-1], all of one shape, along a new dimension dim of size n, -1: after the last. n is 1 to 32. */
ASC_API asc_tensor asc_stack(asc_ctx *ctx, const asc_tensor *x, int n, int dim);

/* Cuts x along dim into n views of sizes[i] entries, which add up to its size; all of `out` are null on failure. */
ASC_API asc_status asc_tensor_split(asc_ctx *ctx, asc_tensor x, int dim, int n, const int64_t *sizes, asc_tensor *out);

/* x with before[d] entries of `value` before it and after[d] after it along each dimension; ndim is x's. NULL:
 * zeros. */
ASC_API asc_tensor asc_pad(asc_ctx *ctx, asc_tensor x, int ndim, const int64_t *before, const int64_t *after,
                           double value);

/* x moved along dim by `shift` entries, what leaves at one end coming in at the other. */
ASC_API asc_tensor asc_roll(asc_ctx *ctx, asc_tensor x, int dim, int64_t shift);

/* x as f32 or f64, with a gradient if x is one of them; x itself if it has the dtype. */
ASC_API asc_tensor asc_cast(asc_ctx *ctx, asc_tensor x, asc_dtype dtype);

#ifdef __cplusplus
}
#endif

#include <ascgrad/mixing_ops.h>

#endif
