/*
 * ascgrad/base.h: status codes, the context, errors, threads.
 *
 * A context owns everything that a computation needs: tensors, tape, storage, threads, random
 * numbers and the first error. One context per thread; contexts share nothing.
 *
 * fork: a child has copies of the contexts, without their threads. It may free them, leave them be, or compute with
 * them: threads are then started anew at the first call that uses some, with the same results to the bit. It may make
 * contexts of its own. Not to be used, and not to be freed in the child, is a context that another thread was within a
 * call of while the process forked; and a fork from inside a piece of asc_parallel ends the child's call with
 * ASC_ERR_STATE, or, where the piece ran on a thread of the context's own, which has no call to go back to, the child
 * itself.
 *
 * The library never aborts, exits or prints. Functions that can fail return an asc_status; builders
 * (functions that make a tensor or an object) return a null result. Both leave the first error in
 * the context, so that a chain of calls needs one check at its end.
 *
 * NULL and the null tensor are what a failed builder returned, and every function takes them for any argument, as it
 * takes an index out of range. Where a comment says what NULL stands for (a default, a result that is not wanted), it
 * does. A look-up that finds nothing (asc_params_at, asc_op_find) gives NULL and is no error. Elsewhere
 *   - a function that returns a status returns ASC_ERR_ARG, or the status of the error that stands already;
 *   - one that returns a pointer or a tensor returns NULL, one that returns a number 0, one that returns nothing does
 *     nothing, unless its comment says otherwise;
 *   - the context then has an error that names function and argument ("layer_forward: layer is NULL"), unless one
 *     stands there already: the first one stays. The context is the one that is given, as first argument; of a function
 *     that takes none, that of the object or tensor given. A NULL in the context's own place, as in asc_tanh(NULL, a),
 *     leaves an error nowhere, with a's context neither: it is what asc_ctx_new returned for want of memory, and
 *     asc_error(NULL) is ASC_ERR_MEMORY;
 *   - what frees or closes does nothing, and is no error.
 */
#ifndef ASCGRAD_BASE_H
#define ASCGRAD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASC_API __attribute__((visibility("default")))
#define ASC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ASC_API
#define ASC_PRINTF(fmt, args)
#endif

/* The null pointer where these headers need one: C++ with strict warnings takes NULL for a zero. */
#ifdef __cplusplus
#define ASC_NULL nullptr
#else
#define ASC_NULL NULL
#endif

/* The version of these headers. From 0.2.0 on a program runs with every library of the same ASC_VERSION_MAJOR that is
 * not older than the headers it was compiled with. */
#define ASC_VERSION_MAJOR 0
#define ASC_VERSION_MINOR 2
#define ASC_VERSION_PATCH 0
#define ASC_VERSION "0.2.0"

/* As one number, to compare: 0.2.0 is 200, 1.2.3 is 10203. */
#define ASC_VERSION_NUMBER (ASC_VERSION_MAJOR * 10000 + ASC_VERSION_MINOR * 100 + ASC_VERSION_PATCH)

typedef enum asc_status {
    ASC_OK = 0,
    ASC_ERR_ARG,         /* an argument is wrong: shape, dtype, range, name, NULL */
    ASC_ERR_MEMORY,      /* an allocation failed */
    ASC_ERR_IO,          /* a file could not be opened, read, written or renamed */
    ASC_ERR_FORMAT,      /* a file was read, but its content is not what it should be */
    ASC_ERR_STATE,       /* the call comes at the wrong time: a freed tape, a stale handle */
    ASC_ERR_NONFINITE,   /* a value that had to be finite is not */
    ASC_ERR_INTERRUPTED, /* the caller asked to stop */
} asc_status;

typedef struct asc_ctx asc_ctx;

/* Where the library takes its memory from. Both functions may be called from the thread that
 * uses the context only. `alloc` returns memory aligned to `align` (a power of two), or NULL. */
typedef struct asc_allocator {
    void *(*alloc)(void *user, size_t bytes, size_t align);
    void (*free)(void *user, void *memory, size_t bytes);
    void *user;
} asc_allocator;

typedef struct asc_options {
    int threads;              /* that compute, the caller's included; 0 or below: one per processor it may use */
    uint64_t seed;            /* of the context's random numbers */
    asc_allocator allocator;  /* all zero: the C library's; one function alone: no context */
    /* Told, in a line without a newline, what is worth knowing and no error: that OpenBLAS took slow kernels, that
     * ASCGRAD_ISA names nothing; later, that a model has no checksum; and that an allocator is refused. Or NULL. */
    void (*message)(void *user, const char *text);
    void *message_user;
} asc_options;

/* A new context, or NULL if memory or threads can't be had. `options` may be NULL: all defaults. */
ASC_API asc_ctx *asc_ctx_new(const asc_options *options);

/* Frees the context and all of its tensors. Objects that have a function of their own to free them (parameter lists,
 * optimisers, layers, models, data sets …) are freed by it, before the context. NULL is accepted. */
ASC_API void asc_ctx_free(asc_ctx *ctx);

/* The number of threads that compute. Results are the same to the bit for any number. */
ASC_API int asc_threads(const asc_ctx *ctx);

/* Changes it; 0: one per processor that it may use. Between calls, not within a piece of asc_parallel. ASC_ERR_ARG:
 * below 0; ASC_ERR_MEMORY: threads can't be had, and those there were go on. */
ASC_API asc_status asc_set_threads(asc_ctx *ctx, int threads);

/* ---- errors: the first one wins, and stays until it is cleared ---- */

/* The first error's status; ASC_OK if there was none. ASC_ERR_MEMORY for a NULL context. */
ASC_API asc_status asc_error(const asc_ctx *ctx);

/* A status in words, "wrong argument"; static, never NULL. */
ASC_API const char *asc_status_name(asc_status status);

/* Its message, without a newline ("backward: loss is (4, 8): expected one element, or a cotangent"); "" if there was
 * none. Borrowed; valid until the error is cleared. */
ASC_API const char *asc_error_message(const asc_ctx *ctx);

/* The setting that the error is about, of a model, a layer, a training or an optimiser, by the name that its table has
 * ("d_model"); NULL where it is about none. Of ops and other functions the message alone names the argument. Borrowed
 * like the message. */
ASC_API const char *asc_error_subject(const asc_ctx *ctx);

/* The message behind its subject, for who has another name for that: "config: d_model: got 0, expected …" is about
 * "d_model" and has the detail ": got 0, expected …". The whole message where there is no subject. Borrowed. */
ASC_API const char *asc_error_detail(const asc_ctx *ctx);

ASC_API void asc_error_clear(asc_ctx *ctx); /* NULL is accepted */

/* Records an error, unless there is one already or `status` is ASC_OK, and returns `status`; a number that is none
 * counts as ASC_ERR_ARG. For ops and layers of one's own. */
ASC_API asc_status asc_fail(asc_ctx *ctx, asc_status status, const char *format, ...) ASC_PRINTF(3, 4);

/* The same of an error about the argument or setting `subject`, at most 63 bytes, with which the message begins:
 * asc_fail_on(ctx, ASC_ERR_ARG, "heads", " is %d, expected a divisor of %d", 3, 8). */
ASC_API asc_status asc_fail_on(asc_ctx *ctx, asc_status status, const char *subject, const char *format, ...)
    ASC_PRINTF(4, 5);

/* ---- memory: the context's allocator, failures recorded as ASC_ERR_MEMORY ---- */

/* `bytes` of memory aligned to 64 bytes, not initialised. NULL on failure. asc_free with the same size; NULL is
 * accepted there, with any. */
ASC_API void *asc_alloc(asc_ctx *ctx, size_t bytes);
ASC_API void asc_free(asc_ctx *ctx, void *memory, size_t bytes);

/* Memory that the context holds now, and how often it has called its allocator since it was made. */
typedef struct asc_memory_stats {
    size_t bytes;        /* held from the allocator */
    size_t peak_bytes;   /* the most that was ever held */
    uint64_t allocations;/* calls of the allocator so far */
} asc_memory_stats;
ASC_API asc_memory_stats asc_memory(const asc_ctx *ctx);

/* ---- threads ---- */

/* A piece of work; `worker` is in 0 … asc_threads()-1, and at most one piece runs per worker at a time. */
typedef void asc_piece_fn(void *arg, int64_t piece, int worker);

/* Runs fn for every piece 0 … pieces-1 on the context's threads, and returns when all are done. Pieces
 * run in any order: cut the work by the problem, never by the number of threads, and let no two
 * pieces write the same memory. A call from inside a piece runs its pieces one after another. */
ASC_API void asc_parallel(asc_ctx *ctx, int64_t pieces, asc_piece_fn *fn, void *arg);

/* Has `go_on` called now and then while pieces run, some twenty times a second at most, by the context's own thread; it
 * must not use the context. Once it has returned false, pieces that have not begun are left out, and the call that they
 * belong to and all that come after it fail with ASC_ERR_INTERRUPTED: nothing that they made is of any use. NULL: no
 * more. Either way a new call is asked again. Not for a call that changes what must stay whole, as asc_optim_step. */
ASC_API void asc_set_interrupt(asc_ctx *ctx, bool (*go_on)(void *user), void *user);

/* Whether it has returned false: within a piece that takes long, now and then; true: the piece may end at once. */
ASC_API bool asc_interrupted(asc_ctx *ctx);

/* ---- precision ---- */

typedef enum asc_precision {
    ASC_PRECISION_F32, /* float32 throughout */
    ASC_PRECISION_BF16 /* products of float32 take operands rounded to bfloat16 */
} asc_precision;

/* How the context's products are computed from here on, forward and backward; ASC_PRECISION_F32 at first. Products are
 * those of linear, gelu_linear and its siblings, linear_cross_entropy, matmul, conv1d, attention, ascender, grassmann,
 * gated_fusion and linear_attention, so of all layers. In ASC_PRECISION_BF16 each rounds its float32 operands to
 * bfloat16, to nearest, ties to even (a NaN stays one, what is too large becomes infinite, a subnormal zero of its
 * sign), and adds in float32, where a subnormal sum may be zero. All else stays float32: parameters, their gradients,
 * activations, elementwise functions, norms, softmax, losses, optimisers, and the scores by which ASCender selects
 * neighbours. Products of float64 are what they were, and so are pairwise_sqdist's, whose differences rounding would
 * swallow, and a pretrained encoder's, whose states are kept. A training or benchmark sets it as its settings have it.
 * Results are the same to the bit for any number of threads; they differ between processors that do such products by
 * other instructions (asc_machine.bf16). Between calls; 3 MiB a thread are taken for it, and kept.
 * ASC_ERR_ARG; ASC_ERR_MEMORY. */
ASC_API asc_status asc_set_precision(asc_ctx *ctx, asc_precision precision);
ASC_API asc_precision asc_precision_of(const asc_ctx *ctx); /* ASC_PRECISION_F32 for NULL */

/* ---- the machine ---- */

/* The ASC_VERSION_NUMBER of the library that the program runs with, which may be newer than its headers. */
ASC_API int asc_version(void);

typedef struct asc_machine {
    const char *version;     /* of the library, "0.2.0" */
    const char *isa;         /* instruction set of the library's kernels: "plain", "avx2", "avx512" */
    const char *best_isa;    /* the widest one that the processor runs and the library has kernels for */
    const char *blas;        /* OpenBLAS' own description of its build */
    const char *blas_core;   /* the core type whose kernels OpenBLAS chose, "Haswell" */
    const char *blas_advice; /* NULL, or the OPENBLAS_CORETYPE to set before the process starts: OpenBLAS
                                took kernels narrower than the processor's, at about half the speed */
    bool blas_serial;        /* OpenBLAS is built without threads and not safe to call from several: the library's
                                matrix products run one at a time, whatever the number of threads */
    const char *isa_refused; /* NULL, or an ASCGRAD_ISA that names no instruction set, and was passed over; borrowed
                                from the environment */
    int processors;          /* how many threads can run at the same time (affinity, control groups) */
    const char *processor;   /* its name, as the system tells it; "unknown" */
    double memory_bytes;     /* that the process may use: the machine's, or what its control groups allow of that */
    const char *bf16;        /* instructions that do products in ASC_PRECISION_BF16: "amx", "avx512_bf16", or those that
                                round and multiply float32: "avx512", "avx2", "plain" */
    const char *products;    /* whose large products of float32 are used: "own" or "openblas" */
    const char *products_refused; /* NULL, or an ASCGRAD_PRODUCTS that is neither, and was passed over; borrowed */
} asc_machine;

/* Facts about the machine and the libraries; the other strings are static. Needs no context. */
ASC_API asc_machine asc_machine_info(void);

/* What the machine's float32 matrix product reaches on the context's threads, in GFLOP/s: the best of several runs of
 * [m, k]·[k, n], by the library's own pieces and by OpenBLAS' own threads. 0 with the error set: a size
 * below 1, no memory. */
ASC_API double asc_gemm_speed(asc_ctx *ctx, int64_t m, int64_t n, int64_t k);

/* The same of the library's own product of `precision`, whatever the context's is. ASC_ERR_ARG also for another
 * precision. */
ASC_API double asc_gemm_speed_of(asc_ctx *ctx, asc_precision precision, int64_t m, int64_t n, int64_t k);

/* What the machine's memory gives the context's threads, in 1e9 bytes per second: the best of several runs of
 * a_i = b_i + s c_i over 384 MiB of float32, each array counted once. 0 with the error set: no memory. */
ASC_API double asc_memory_speed(asc_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
