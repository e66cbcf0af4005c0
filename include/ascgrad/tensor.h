/*
 * ascgrad/tensor.h: tensors, their memory and their gradients.
 *
 * A tensor is a strided view of reference-counted storage. `asc_tensor` is a handle, passed by value;
 * it holds a generation number, so that the use of a tensor that is gone, alone or with its context,
 * is an error (ASC_ERR_STATE), never a read of stale memory.
 *
 * Lifetime. A tensor is there while something holds it: the scope in which it was made (asc_scope_begin,
 * asc_scope_end), its maker where there was no scope, each asc_keep, and the tape, where a backward pass will need it.
 * asc_release lets go of one. What nothing holds any more is gone at once.
 *
 * The tape is no thing of its own, and belongs to no scope: a tensor that gradients flow to holds the call that made
 * it, and that call the ones its inputs came from, leaves, and the values that its gradient is computed from. So
 *   - a graph is there as long as one of its results; a forward pass whose results are dropped is gone, with all that
 *     it held. There may be any number of graphs, in scopes or not, and backward passes over them in any order;
 *   - a result that outlives its scope by asc_keep has its gradient still; asc_detach gives one without;
 *   - a backward pass without `retain` lets go of the calls that it comes to, so that memory falls as it goes. Their
 *     results stay, but no gradient can flow back from there a second time;
 *   - a leaf that its maker has released goes, and its gradient with it, when the last call that took it does.
 * With scopes a training step needs to release nothing. Without them each result is released by its maker, in any order
 * whatever: that is for who has another's lifetimes to follow, a garbage collector's, say. A function that gives back
 * its argument (asc_contiguous, asc_cast and asc_dropout may) holds it no second time: asc_is_same tells.
 *
 * Memory shared with others. asc_data points into memory that is used again as soon as the tensor is gone: whoever
 * reads it later, from another language, say, holds the tensor meanwhile by asc_keep, and the context with it. What a
 * kept tensor holds changes only by the caller's doing: asc_data_mut, asc_copy, an optimiser's step, and of asc_grad's
 * the passes that follow. Nothing needs to be copied:
 *   - in: asc_wrap makes a tensor of memory that is there; asc_set_data has a parameter lie there;
 *   - out: asc_keep, read through asc_data, asc_release when the reader is done; or asc_apply_into (ascgrad/op.h),
 *     which has an op write to memory that is there;
 *   - gradients: asc_grad_into has them collected in memory that is there.
 *
 * Dimensions are in PyTorch's order, row-major; shapes and strides count elements.
 */
#ifndef ASCGRAD_TENSOR_H
#define ASCGRAD_TENSOR_H

#include <stdio.h>

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_MAX_DIMS 8

typedef enum asc_dtype { ASC_F32, ASC_F64, ASC_I64, ASC_U8 } asc_dtype;

typedef struct asc_tensor {
    struct asc_tag *tag; /* private */
    uint64_t generation; /* private */
} asc_tensor;

/* A tensor laid open: what kernels see, and what asc_array_of tells. */
typedef struct asc_array {
    void *data; /* first element */
    asc_dtype dtype;
    int ndim; /* -1: there is no such tensor */
    int64_t numel;
    int64_t shape[ASC_MAX_DIMS];
    int64_t stride[ASC_MAX_DIMS]; /* in elements */
} asc_array;

/* The null tensor: what a failed builder returns, and what stands for an absent optional input. */
static inline asc_tensor asc_null(void)
{
    asc_tensor t = {ASC_NULL, 0};
    return t;
}
static inline bool asc_is_null(asc_tensor t) { return t.tag == ASC_NULL; }
/* Whether two handles are one tensor's: for who counts what it holds, and calls an op that may give back its input. */
static inline bool asc_is_same(asc_tensor a, asc_tensor b) { return a.tag == b.tag && a.generation == b.generation; }

/* `ndim, shape` of a shape that is known where it is written: asc_zeros(ctx, ASC_F32, ASC_SHAPE(2, 3)). C only. */
#define ASC_SHAPE(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

/* ---- making tensors; all new, contiguous, aligned to 64 bytes ----
 * ndim 0 … 8, a shape of sizes >= 0 (`shape` may be NULL for ndim 0: a scalar).
 * ASC_ERR_ARG for a bad dtype or shape, or one of more than PTRDIFF_MAX bytes; for a value that an integer dtype does
 * not hold, fractions cut towards 0; ASC_ERR_MEMORY. */
ASC_API asc_tensor asc_empty(asc_ctx *ctx, asc_dtype dtype, int ndim, const int64_t *shape); /* not initialised */
ASC_API asc_tensor asc_zeros(asc_ctx *ctx, asc_dtype dtype, int ndim, const int64_t *shape);
ASC_API asc_tensor asc_full(asc_ctx *ctx, asc_dtype dtype, double value, int ndim, const int64_t *shape);
ASC_API asc_tensor asc_scalar(asc_ctx *ctx, asc_dtype dtype, double value);
/* A copy of `data`, which holds the elements in row-major order. */
ASC_API asc_tensor asc_from(asc_ctx *ctx, asc_dtype dtype, const void *data, int ndim, const int64_t *shape);
/* The caller's own memory as a tensor, without a copy. `stride` in elements, none below 0; NULL: contiguous. The memory
 * must stay until release(user, data) is called, once, when nothing needs it any more (release may be NULL: then until
 * the context is freed). That is from within whatever lets go of it: asc_release, asc_scope_end, a backward pass,
 * asc_ctx_free; it may call asc_release, and no op. Aligned to its elements' size. After a failure the memory is the
 * caller's, and `release` is not called. ASC_ERR_ARG also for NULL or misaligned data, and for strides that reach over
 * more than PTRDIFF_MAX bytes. */
ASC_API asc_tensor asc_wrap(asc_ctx *ctx, asc_dtype dtype, void *data, int ndim, const int64_t *shape,
                            const int64_t *stride, void (*release)(void *user, void *data), void *user);
/* Uniform on [lo, hi), or normal: element i depends on (seed, stream, i) alone (Philox 4x32-10). ASC_ERR_ARG also for
 * numbers that are not finite, lo > hi or a deviation below 0. */
ASC_API asc_tensor asc_uniform(asc_ctx *ctx, asc_dtype dtype, double lo, double hi, uint64_t seed, uint64_t stream,
                               int ndim, const int64_t *shape);
ASC_API asc_tensor asc_normal(asc_ctx *ctx, asc_dtype dtype, double mean, double deviation, uint64_t seed,
                              uint64_t stream, int ndim, const int64_t *shape);

/* ---- what a tensor is; of a null or stale handle: ndim -1, numel 0, NULL ---- */
ASC_API asc_dtype asc_dtype_of(asc_tensor t);
ASC_API int asc_ndim(asc_tensor t);
ASC_API int64_t asc_size(asc_tensor t, int dim); /* dim may be negative: -1 is the last; 0 if there is no such one */
ASC_API int64_t asc_numel(asc_tensor t);
ASC_API const int64_t *asc_shape(asc_tensor t);   /* borrowed */
ASC_API const int64_t *asc_strides(asc_tensor t); /* borrowed */
ASC_API bool asc_is_contiguous(asc_tensor t);
ASC_API asc_array asc_array_of(asc_tensor t); /* all of the above at once; `data` is for reading */
ASC_API bool asc_is_valid(asc_tensor t); /* neither null nor stale */
ASC_API const char *asc_dtype_name(asc_dtype dtype); /* "f32" */
ASC_API size_t asc_dtype_size(asc_dtype dtype);

/* The first element's address; the others stand asc_strides() apart. NULL for a null or stale handle. */
ASC_API const void *asc_data(asc_tensor t);
/* The same for writing: a backward pass that needs the old values is refused from then on (ASC_ERR_STATE), of any
 * tensor that lies in the same piece of memory, as views and parts of a wrapped buffer do; memory that was wrapped
 * twice is two pieces. */
ASC_API void *asc_data_mut(asc_tensor t);
/* The value of a tensor of one element; NaN for any other. */
ASC_API double asc_item(asc_tensor t);
/* The tensor as people read it, dtype, shape and entries of six digits, of a dimension of more than 8 the first and
 * last 3, into text[bytes], ended by 0 and cut short where it does not fit. Returns the bytes of the whole, without
 * the 0, as snprintf. `text` may be NULL, with 0. Of no tensor: "no tensor", "a tensor that is gone". */
ASC_API size_t asc_format(asc_tensor t, char *text, size_t bytes);
/* The same and a newline to a file of the caller's, such as stdout. ASC_ERR_ARG; ASC_ERR_IO: it takes no more. */
ASC_API asc_status asc_write(asc_ctx *ctx, asc_tensor t, FILE *file);
/* Overwrites dst with src's values: same shape; any pair of floating dtypes, or the same dtype. No gradient. src may be
 * another context's that nobody computes with meanwhile. */
ASC_API asc_status asc_copy(asc_ctx *ctx, asc_tensor dst, asc_tensor src);
/* From here on the values of a tensor that no op made are those in the memory of `where`, of the same dtype and shape,
 * both contiguous, such as the caller's by asc_wrap; nothing is copied. So a layer's parameters lie in memory that is
 * somebody else's. Views of the leaf, and calls that took it, keep what it had. ASC_ERR_ARG: an op made the leaf, or
 * `where` is of another kind, requires a gradient, or is the leaf's gradient; ASC_ERR_STATE: a tensor that is gone. */
ASC_API asc_status asc_set_data(asc_tensor leaf, asc_tensor where);

/* ---- lifetime ---- */

/* A scope: at its end it lets go of the tensors made in it. A training step is one scope. Scopes nest: what ends is the
 * last that has begun and not ended. */
ASC_API void asc_scope_begin(asc_ctx *ctx);
ASC_API void asc_scope_end(asc_ctx *ctx);
/* Ends the scope but for these n of its tensors, which are from here on of the scope around it, or the caller's: so a
 * function gives results away out of a scope of its own. Others among them, null ones too, stay whose they are. */
ASC_API void asc_scope_end_but(asc_ctx *ctx, const asc_tensor *stay, int n);
/* Makes t outlive its scope, and returns it; balanced by asc_release. */
ASC_API asc_tensor asc_keep(asc_tensor t);
/* Lets go of t: of the last asc_keep, else of what its scope or its maker holds; else of nothing: the tape's is not the
 * caller's to let go. The storage goes, to be used again, when no view and no call on the tape needs it. */
ASC_API void asc_release(asc_tensor t);

/* ---- gradients ---- */

/* Makes a floating leaf (a tensor that no op made) collect its gradient, or stop it. */
ASC_API asc_status asc_require_grad(asc_tensor t, bool require);
ASC_API bool asc_requires_grad(asc_tensor t); /* of any tensor: a gradient flows to it */
ASC_API bool asc_is_leaf(asc_tensor t);       /* no op made it that gradients flow through; false of no tensor */
/* A leaf's gradient, same shape and dtype, contiguous; borrowed. Passes add to it. Null before the first one and after
 * asc_zero_grad, from which on one that was kept, or has a view, stays as it is, unless it is of asc_grad_into. */
ASC_API asc_tensor asc_grad(asc_tensor t);
ASC_API void asc_zero_grad(asc_tensor t);

/* Has the leaf's gradient collected in `where`, without a copy: a contiguous tensor of the leaf's dtype and shape, the
 * caller's memory by asc_wrap, or a part of a larger tensor (asc_slice). It is asc_grad(leaf) from here on, held by the
 * leaf. `holds`: it holds a gradient already, which passes add to; else there is none, and the first pass overwrites
 * what is there. Two leaves must not share the same elements. Of a buffer that holds values, too, what lies between two
 * gradients is taken to be written with them. `where` null: the library's memory again, and no gradient; a tensor of
 * asc_grad that was kept stays as it is, and no later pass writes to it. ASC_ERR_ARG: no leaf that requires its
 * gradient, a `where` of another kind, or that requires a gradient, or is the leaf's own memory; ASC_ERR_STATE: a
 * tensor that is gone, a call from within a backward pass. */
ASC_API asc_status asc_grad_into(asc_tensor leaf, asc_tensor where, bool holds);

/* Calls hook(user, gradient) at the end of every backward pass that reaches the leaf t, with what it has collected so
 * far; the hook may change it (asc_data_mut). One hook a leaf; NULL takes it off. It can't call asc_backward
 * (ASC_ERR_STATE). */
typedef void asc_grad_hook(void *user, asc_tensor gradient);
ASC_API asc_status asc_on_grad(asc_tensor t, asc_grad_hook *hook, void *user);

/* Computes gradients of `loss` and adds them to the leaves' (reverse mode: Linnainmaa 1970; Griewank and
 * Walther, Evaluating Derivatives, 2008). `cotangent`: same shape as loss, or null for 1 where loss has
 * one element. It comes to the calls that loss depends on, and to no others: `loss` may be any tensor that a gradient
 * flows to, in the middle of a graph as well, or a leaf, to whose gradient the cotangent is added. Calls are freed as
 * they are used, unless `retain`: then another pass may come to them. ASC_ERR_ARG: no gradient flows to loss, wrong
 * cotangent; ASC_ERR_STATE: a call that it comes to was freed by an earlier pass, a value that it needs was
 * overwritten, or a pass is under way (a hook has called this), or a function of asc_recompute runs for the first time.
 * After a failure leaves' gradients hold no values to be used: asc_zero_grad. */
ASC_API asc_status asc_backward(asc_ctx *ctx, asc_tensor loss, asc_tensor cotangent, bool retain);

/* asc_backward of a loss of one element, whose tape is needed no more. */
ASC_API asc_status asc_backward_loss(asc_ctx *ctx, asc_tensor loss);

/* Computes outputs[n_out] = fn(inputs[n_in]) and keeps nothing in between for the backward pass, which calls fn again
 * when it comes to it: memory for time (gradient checkpointing: Chen et al., arXiv 1604.06174). Gradients are the same,
 * to the bit, as if fn had been called without it; where fn gives back an input as an output, to rounding.
 *
 * fn fills outputs, which come as null and may stay so, and returns a status; it runs in a scope of its own. It must
 * compute the same from the same, and do nothing else: random ops draw the same numbers both times, and what it makes
 * is gone when it returns, but for the outputs: a tensor of it that was kept has values, but an op that would pass a
 * gradient on to it is refused. Beside its inputs it may read parameters, and any tensor that is still there in the
 * backward pass, as `user` must be. Calls nest.
 *
 * inputs: 0 … 32, null ones among them; their storage is kept until the backward pass. outputs: 1 … 4, new, of the
 * current scope, which may be written over the handles of the inputs; on failure all are null. ASC_ERR_ARG: more of
 * them; ASC_ERR_STATE: an input or an output is gone, fn began or ended a scope too many; what fn returns. asc_backward
 * returns ASC_ERR_STATE if an input or a tensor that fn reads was overwritten in between, or if fn gives outputs of
 * other shapes the second time. */
typedef asc_status asc_recompute_fn(asc_ctx *ctx, void *user, const asc_tensor *inputs, asc_tensor *outputs);
ASC_API asc_status asc_recompute(asc_ctx *ctx, asc_recompute_fn *fn, void *user, const asc_tensor *inputs, int n_in,
                                 asc_tensor *outputs, int n_out);

/* Switches recording on or off; returns what it was. */
ASC_API bool asc_set_recording(asc_ctx *ctx, bool record);
/* The same values without a gradient: a view. */
ASC_API asc_tensor asc_detach(asc_ctx *ctx, asc_tensor t);

/* ---- random numbers of ops (dropout) ---- */

/* Sets what random ops draw from: they depend on (seed, step, ordinal of the random op since this call)
 * alone. Call it once a training step. */
ASC_API void asc_set_step(asc_ctx *ctx, uint64_t seed, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
