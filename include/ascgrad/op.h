/*
 * ascgrad/op.h: the contract of an op, the library's and users' alike.
 *
 * An op is one const descriptor: what it is called, what it takes, and three functions. The library
 * does the rest: it makes the outputs, records the call on the tape, lets gradients through, checks,
 * times and lists it.
 *
 *   infer     checks the inputs and attributes, and declares outputs and saved arrays.
 *   forward   computes outputs (and saved arrays) from inputs.
 *   backward  adds to each grad_in[i].data that is not NULL:  grad_in_i += (∂out/∂in_i)ᵀ grad_out. No two of them share
 *             memory: a tensor that is given twice has two, which the library adds up.
 *
 * What a kernel may count on: inputs are contiguous unless the op has ASC_OP_STRIDED; outputs, saved arrays
 * and gradients are contiguous, and gradients have their tensor's shape and dtype; an absent optional input
 * has data NULL and ndim -1. Saved arrays are aligned to 64 bytes, the others, which may be parts of larger arrays or a
 * user's memory, as their dtype alone. Of the inputs and outputs, backward may read only those in saves_in and
 * saves_out. The op's functions end the scopes that they begin, and no others; else the call fails with ASC_ERR_STATE.
 * An op that is not differentiable has backward NULL; a gradient never flows to integers or masks.
 */
#ifndef ASCGRAD_OP_H
#define ASCGRAD_OP_H

#include <ascgrad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASC_OP_ABI 3
#define ASC_MAX_IN 32
#define ASC_MAX_OUT 4
#define ASC_MAX_SAVED 6

typedef struct asc_op asc_op;

/* One call of an op. */
typedef struct asc_call {
    asc_ctx *ctx;
    const asc_op *op;
    const void *attrs; /* op->attrs_size bytes, or NULL */
    int n_in, n_out, n_saved;
    bool wants_grad;        /* forward: a backward pass may follow … */
    bool wants[ASC_MAX_IN]; /* … and will ask for grad_in[i] */
    uint32_t random[2];     /* ASC_OP_RANDOM: the Philox key of this call, the same in forward and backward */
    asc_array in[ASC_MAX_IN];
    asc_array out[ASC_MAX_OUT];
    asc_array saved[ASC_MAX_SAVED];   /* for the op's own backward */
    asc_array grad_out[ASC_MAX_OUT];  /* backward: data NULL where no gradient came */
    asc_array grad_in[ASC_MAX_IN];    /* backward: data NULL where none is wanted */
    bool fresh[ASC_MAX_IN];           /* backward, ASC_OP_FRESH only: grad_in[i] is not initialised: write, don't add */
    void *engine;                     /* private */
} asc_call;

enum {
    ASC_OP_STRIDED = 1, /* takes inputs of any strides */
    ASC_OP_VIEW = 2,    /* out[0] is a view of in[0], declared with asc_call_view; forward has nothing to do */
    ASC_OP_RANDOM = 4,  /* draws random numbers from call->random */
    ASC_OP_FRESH = 8,   /* backward heeds call->fresh: saves the engine from clearing gradients first */
    ASC_OP_CAUSAL = 16, /* dimension -2 is time, and out at t depends on in at <= t only; see asc_op.causal */
    ASC_OP_GATHERS = 32, /* reads no more of in[0], and adds to no more of its gradient, than the output has */
    ASC_OP_EAGER = 64,  /* forward computes the gradients that are wanted as well: backward has no products to do */
};

/* How to sample an input for the gradient check and the benchmark. */
typedef struct asc_sample_input {
    char kind;         /* 'f' normal reals; 'u' uniform reals on [lo, hi]; 'i' integers lo … hi-1; 'b' 0 or 1 with
                          probability hi (½ if 0); '=' input number lo again, the same tensor; 0 absent */
    int ndim;
    int64_t shape[ASC_MAX_DIMS];
    double lo, hi;
    double kink, away; /* reals keep `away` from `kink`, if away > 0 */
} asc_sample_input;

typedef struct asc_sample {
    asc_sample_input in[ASC_MAX_IN];
    const void *attrs; /* NULL: the op has none */
    const char *note;  /* what the sample is for, or NULL */
} asc_sample;

struct asc_op {
    unsigned abi;          /* ASC_OP_ABI */
    const char *name;      /* "layer_norm": visible characters of ASCII, no blanks */
    const char *equation;  /* one line, with its source where it has one */
    const char *inputs;    /* names, in order: "x weight? bias?"; ? optional; a last "...": one or more of the one
                              before; a call has at least those that are not optional */
    int n_out;
    unsigned flags;
    size_t attrs_size;     /* attributes are copied; at most 1,024 bytes, no pointers in them */
    uint32_t saves_in;     /* bit i: backward reads in[i]; with "..." bit 0 stands for all */
    uint32_t saves_out;    /* bit i: backward reads out[i] */
    uint32_t no_grad_out;  /* bit i: no gradient flows from out[i], though it is floating */
    asc_status (*infer)(asc_call *call);
    asc_status (*forward)(asc_call *call);
    asc_status (*backward)(asc_call *call);
    double (*flops)(const asc_call *call); /* of the forward's products; NULL: none worth counting. In a rehearsal the
                                              data of integers and masks is NULL */
    const asc_sample *samples;
    int n_samples;
    const asc_sample *bench; /* one call of a size that a training has, for the benchmark: reals are f32; NULL: none */
    /* ASC_OP_CAUSAL: bit i: input i is a sequence, if attributes and shapes of the call (`attrs`, `in` without data)
     * make it causal; else 0. Sequences of different lengths end together. NULL: input 0, always. */
    uint32_t (*causal)(const asc_call *call);
    const void *data; /* for the op's own functions, as call->op->data: what ops that share them differ in; or NULL */
};

/* ---- for infer ---- */

/* Declares output i, or saved array i (in order from 0). */
ASC_API asc_status asc_call_output(asc_call *call, int i, asc_dtype dtype, int ndim, const int64_t *shape);
ASC_API asc_status asc_call_save(asc_call *call, int i, asc_dtype dtype, int ndim, const int64_t *shape);
/* Declares out[0] of an ASC_OP_VIEW, which may do so call by call: `offset` elements into in[0]. ASC_ERR_ARG: that is
 * absent, the view reaches beyond it, or the op has no such flag. */
ASC_API asc_status asc_call_view(asc_call *call, int64_t offset, int ndim, const int64_t *shape, const int64_t *stride);
/* Fails with ASC_ERR_ARG and "op: input is got, expected …"; `format` says what was expected. */
ASC_API asc_status asc_call_expect(asc_call *call, int input, const char *format, ...) ASC_PRINTF(3, 4);
/* Fails with ASC_ERR_ARG and "op: …". */
ASC_API asc_status asc_call_fail(asc_call *call, const char *format, ...) ASC_PRINTF(2, 3);

/* ---- for forward and backward ---- */

/* `bytes` of memory aligned to 64 bytes until the function returns, up to 32 times; NULL, with the error set, if there
 * is none. */
ASC_API void *asc_call_scratch(asc_call *call, size_t bytes);

/* ---- calling, registering, listing ---- */

/* Calls an op: inputs[n_in] (null for an absent optional one), its attributes, and out[op->n_out] for the
 * results (new, of the current scope). On failure all of out are null. */
ASC_API asc_status asc_apply(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs,
                             asc_tensor *out);
/* The same with outputs written into memory that is there, the caller's (asc_wrap) or another tensor's:
 * into[op->n_out], each contiguous and of its output's dtype and shape; null: memory of the library's, and `into` may
 * be NULL for all. out[i] is a tensor as ever, with its gradient, that shares into[i]'s memory. So a view of the op's
 * results needs no copy. A backward pass that needs what stood there before, or what stands there now once it is
 * written again, refuses. ASC_ERR_ARG also: memory that an input or another output is in, that requires a gradient,
 * that is too small or gone, an op that makes a view, a call within asc_recompute. After a failure what the memory
 * holds has no meaning. */
ASC_API asc_status asc_apply_into(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in,
                                  const void *attrs, const asc_tensor *into, asc_tensor *out);
/* asc_apply for an op of one output. */
ASC_API asc_tensor asc_apply1(asc_ctx *ctx, const asc_op *op, const asc_tensor *inputs, int n_in, const void *attrs);

/* The library's own ops, in order; NULL past the last. */
ASC_API const asc_op *asc_op_at(int i);
/* An op by name: the library's, or one registered with this context; NULL if there is none. */
ASC_API const asc_op *asc_op_find(asc_ctx *ctx, const char *name);
/* Adds an op of the caller's; the descriptor must outlive the context. ASC_ERR_ARG: wrong ABI, a missing
 * function, more inputs or attributes than fit, a name that is none or taken, names of inputs that are none, bits of
 * saves_in, saves_out or no_grad_out beyond the arrays, or a sample that can't be drawn. */
ASC_API asc_status asc_op_register(asc_ctx *ctx, const asc_op *op);

/* ---- plugins ----
 *
 * A shared object with ops of one's own, for `ascgrad gradcheck --plugin FILE` and `ascgrad bench ops --plugin FILE`,
 * defines this function, which the library has none of: it gives the ops, NULL at the end, or NULL if it knows no
 * descriptors of that ABI. It need not be linked with the library: the program that loads it lends its own. */
#define ASC_PLUGIN_ENTRY "asc_plugin_ops"
typedef const asc_op *const *asc_plugin_fn(unsigned abi);
extern ASC_API const asc_op *const *asc_plugin_ops(unsigned abi);

/* ---- looking at what runs ---- */

/* Names the part of a model that the calls from here on belong to, for error messages; NULL: none.
 * Borrowed until it is set again. Returns what it was. */
ASC_API const char *asc_set_label(asc_ctx *ctx, const char *label);
/* With `check`, the first value that is not finite is an error (ASC_ERR_NONFINITE) that names op, label and tensor.
 * Returns what it was. */
ASC_API bool asc_set_nan_check(asc_ctx *ctx, bool check);
/* With `rehearse`, ops and backward passes compute nothing: shapes are checked and memory is taken, but what tensors
 * hold has no meaning (an op whose infer reads values may fail). So asc_flops and asc_memory tell what a step will cost
 * before it is made, but for what ops take while they run. Gradients are to be cleared after it. */
ASC_API void asc_set_rehearsal(asc_ctx *ctx, bool rehearse);
/* The sum of flops over the calls since the last reset; counts only what ops declare. */
ASC_API double asc_flops(const asc_ctx *ctx);
ASC_API void asc_flops_reset(asc_ctx *ctx);

/* A part of a program between two points in time, told to the observer as calls are: a step, its forward pass. */
typedef struct asc_span {
    const char *name;
    const struct asc_span *outer; /* the one that it is in; NULL: none */
    double start_s, work_s;
} asc_span;

/* A call of an op, or a span, that has ended. */
typedef struct asc_event {
    const char *name;     /* of the op or the span; borrowed, an op's as long as the op */
    const asc_op *op;     /* NULL: a span … */
    const asc_call *call; /* … and so is this; else the call, whose arrays may be read, until the observer returns */
    const char *label;    /* of asc_set_label, a backward call's that of its forward call; borrowed until the observer
                             returns; NULL: none */
    const asc_span *span; /* the innermost span round it; NULL: none */
    bool backward;
    int depth;            /* calls that it ran in: an op's functions may call ops */
    asc_status status;    /* a call that failed has flops and bytes 0 */
    double start_s, end_s; /* of a clock that never goes back */
    double work_s;        /* seconds that all threads together have worked; end_s - start_s times the threads at most */
    double flops;         /* of the products that the mathematics needs: op->flops forward; backward twice that, or once
                             if only one of several factors wants its gradient */
    double bytes;         /* of the arrays, each read or written once: inputs, outputs, what is saved, gradients */
} asc_event;
typedef void asc_observer(void *user, const asc_event *event);

/* Has `observer` called at the end of every call of an op, forward and backward, and of every span; NULL: none. It may
 * call no op of the context. Without one, a call costs a branch more. ASC_ERR_MEMORY. */
ASC_API asc_status asc_set_observer(asc_ctx *ctx, asc_observer *observer, void *user);

/* Begins a span, which lives at the caller's until it is ended; `name` is borrowed as long. Spans nest: the last that
 * was begun is ended first. ASC_ERR_STATE: it is not, or a span begins that has not ended; ASC_ERR_MEMORY. */
ASC_API void asc_span_begin(asc_ctx *ctx, asc_span *span, const char *name);
ASC_API void asc_span_end(asc_ctx *ctx, asc_span *span);

#ifdef __cplusplus
}
#endif
#endif
