/* tensor/ctx.h: the context and what it owns, for the library's own files. */
#ifndef TENSOR_CTX_H
#define TENSOR_CTX_H

#include <stdatomic.h>

#include <ascgrad/comm.h>
#include <ascgrad/tensor.h>

#include "tensor/bf16.h"

typedef struct asc_storage asc_storage;

/* What has been written to storage since it was served, so that a backward pass notices that a value is gone: `writes`
 * of a caller count for all of it, gradients for the part of it that they are collected in. */
typedef struct asc_stamp {
    uint32_t writes, gradients;
} asc_stamp;

/* Bytes of a storage: from the first on, and up to the last. */
typedef struct asc_extent {
    ptrdiff_t from, to;
} asc_extent;
static inline asc_extent asc_extent_both(asc_extent a, asc_extent b)
{
    return (asc_extent){a.from < b.from ? a.from : b.from, a.to > b.to ? a.to : b.to};
}

typedef struct asc_node asc_node;
typedef struct asc_tag asc_tag;
typedef struct asc_record asc_record; /* a call on the tape: autograd's */

/* Storage: one block of memory, shared by views, reused through the context's pool. */
struct asc_storage {
    void *data;
    size_t capacity;
    int refs;
    int size_class; /* below 0: none, see storage.c */
    size_t chunk;   /* of a block of one */
    uint64_t served; /* its number among all that the context was served with */
    void (*on_release)(void *user, void *data);
    void *user;
    asc_stamp stamp;
    asc_extent gradients; /* where all gradients so far were written to */
    int operands;     /* of the references, those that do with bfloat16 */
    bool keeps_whole; /* another one needs all of it for long */
    bool is_rounded;  /* it holds bfloat16, */
    asc_storage *half; /* for which this is room, while operands > 0; NULL: it stays as it is */
    const asc_rounding *rounding; /* how it becomes that, and floats again */
    asc_storage *next;
};

/* What a handle points to: the tensor, as long as the generations agree. Handles from generation `lent` on are the
 * context's that has the tag now. A stale handle may be looked at while another thread's context has it. */
struct asc_tag {
    _Atomic uint64_t generation, lent;
    _Atomic(asc_node *) node;
};

/* A tensor. Nodes are recycled, and go with the context. */
struct asc_node {
    asc_tag *tag; /* its own for good */
    asc_ctx *ctx;
    asc_storage *storage;
    asc_array array;
    uint64_t number; /* among all that the context has made */
    bool contiguous;
    bool owned;         /* the scope's reference is still there */
    bool requires_grad; /* a leaf that collects its gradient */
    bool has_grad;      /* `grad` holds values */
    bool grad_given;    /* it is of asc_grad_into */
    uint64_t flows;     /* the segment (asc_recompute) that made it, whose calls leave no record, though a gradient
                         * would flow to it; 0: none */
    int keeps;          /* references of asc_keep */
    int refs;           /* scope + keeps + the library's own; 0: free */
    bool reached;       /* a leaf with a hook, in the list of those that a backward pass has added to */
    asc_record *record; /* of the call that made it, with a reference; NULL: a leaf, or no gradient flows */
    int out;            /* as which output */
    const char *cut;    /* why no gradient flows to it, though one does to what it was made of; NULL: to that neither */
    asc_node *grad;
    asc_grad_hook *hook; /* of a leaf, with hook_user */
    void *hook_user;
    asc_node *next; /* in the free list, or in that of those reached */
};

/* What the tape adds to a context; filled in by autograd. */
typedef struct asc_tape_hooks {
    void *state;
    void (*unref)(asc_ctx *ctx, asc_record *record);
    void (*free)(asc_ctx *ctx); /* once nothing holds a record */
} asc_tape_hooks;

/* Something that a user has added to the context: see added.c. */
typedef struct asc_added {
    const void *table, *item;
} asc_added;

typedef struct asc_pool asc_pool;       /* storage.c */
typedef struct asc_workers asc_workers; /* threads.c */

struct asc_ctx {
    asc_allocator allocator;
    asc_memory_stats memory;
    asc_status status;
    char message[1024]; /* "PLACE: SUBJECT" and what is wrong with it; place and subject may be "" */
    char subject[64];
    size_t place, detail; /* bytes of the message before the subject, and before what is wrong */
    void (*note)(void *user, const char *text); /* asc_options.message */
    void *note_user;
    asc_workers *workers;
    int threads;
    asc_precision precision;
    asc_pool *pool;
    asc_tape_hooks tape;
    bool recording;
    uint64_t seed, step, random_ordinal;
    int64_t random_row; /* of a batch, at which what is computed begins: random ops draw by the row's number there */
    uint64_t first_seed, seeds_drawn; /* of asc_next_seed */
    const char *label;
    asc_comm comm; /* size 0: one process */
    bool comm_lost;

    asc_node *free_nodes;
    struct asc_slab *slabs;
    asc_tensor *scoped;
    size_t n_scoped, cap_scoped;
    size_t *scopes; /* the first of `scoped` that is the scope's */
    size_t n_scopes, cap_scopes;
    uint64_t n_served;    /* storage so far */
    uint64_t n_made;      /* tensors so far */
    uint64_t lent;        /* tensors up to this number are no work of the user's function that runs */
    asc_added *added;     /* in the order of their coming */
    size_t n_added, cap_added;
    char *config; /* of asc_typed_json */
    size_t cap_config;
    size_t failed_scopes; /* begun without memory to record them: nothing is made until they end */
    size_t fenced;        /* scopes that the function which runs has not begun, and can't end, */
    bool ended_fenced;    /* as it tried to */
};

static inline size_t asc_scopes_begun(const asc_ctx *ctx) /* and not ended */
{
    return ctx->n_scopes + ctx->failed_scopes;
}

/* The status of `who`'s function of that name, a user's: a failure that set no error sets one here. */
asc_status asc_reason(asc_ctx *ctx, asc_status status, const char *who, const char *function);

/* Where the argument that the error is about stands, "config" or a file: "PLACE: " before the message, in place of the
 * one that it has. Nothing without an error. */
void asc_error_place(asc_ctx *ctx, const char *place);

/* Puts "WHERE: " before the message of the context's error and `after` after it, if there is one; "" for none. It is
 * about what WHERE names then, and no argument of the caller's. */
void asc_error_extend(asc_ctx *ctx, const char *where, const char *after);

/* Where wrong arguments came from a file, it is the file that is wrong: ASC_ERR_ARG becomes ASC_ERR_FORMAT with
 * "FILE: " before the message in place of what the argument stood in, "" for one that names the file already. Other
 * errors stay. */
void asc_error_blame(asc_ctx *ctx, const char *file);

/* An error, or none, that is put by while something else is done that may fail; the context has none then. */
typedef struct asc_error_state {
    asc_status status;
    char message[1024], subject[64];
    size_t place, detail;
} asc_error_state;
asc_error_state asc_error_put_by(asc_ctx *ctx);
/* It takes its place again, and that of an error since then. */
void asc_error_put_back(asc_ctx *ctx, const asc_error_state *error);

/* A seed for what draws initial values without one of its own: of the context's seed, another each time; 0 for NULL. */
uint64_t asc_next_seed(asc_ctx *ctx);

/* The context that a tensor was made in, for functions that get it from nowhere else; NULL for a null handle, and once
 * the context is gone. */
asc_ctx *asc_ctx_of(asc_tensor t);

/* Grows an array of the context's to hold at least `need` elements; false, with the error set, if it can't. `array` is
 * the address of a pointer to them, of whatever type. */
bool asc_grow(asc_ctx *ctx, void *array, size_t *capacity, size_t need, size_t element);

/* Tells the context's user, if there is a listener, what is worth knowing and no error. */
void asc_note(asc_ctx *ctx, const char *format, ...) ASC_PRINTF(2, 3);

/* ASC_ERR_MEMORY, "WHAT 1.5 GiB, more than …", if that is more than the machine has. A system that promises more memory
 * than it has would rather kill us later than refuse now. */
asc_status asc_memory_check(asc_ctx *ctx, const char *what, double bytes);

/* added.c */
/* Adds an item to those of its kind, which the address of the library's own table of them stands for. It must outlive
 * the context. ASC_ERR_ARG: no context; ASC_ERR_MEMORY. */
asc_status asc_added_put(asc_ctx *ctx, const void *table, const void *item);
/* Item i of that kind, in the order in which they were added; NULL past the last, and without a context. */
const void *asc_added_at(const asc_ctx *ctx, const void *table, int i);

/* storage.c */
asc_status asc_pool_new(asc_ctx *ctx);
void asc_pool_free(asc_ctx *ctx);
asc_storage *asc_storage_new(asc_ctx *ctx, size_t bytes); /* one reference; NULL with the error set */
asc_storage *asc_storage_lasting(asc_ctx *ctx, size_t bytes); /* the same, for what outlives the scope it is made in */
asc_storage *asc_storage_wrap(asc_ctx *ctx, void *data, void (*on_release)(void *user, void *data), void *user);
/* Where the array lies in it. */
asc_extent asc_storage_extent(const asc_storage *s, const asc_array *a);
/* A gradient, the array, is written to. */
void asc_storage_add_gradient(asc_storage *s, const asc_array *a);
/* Whether what lay in the range then may be another value now. */
bool asc_storage_changed(const asc_storage *s, asc_stamp since, asc_extent range);
void asc_storage_ref(asc_storage *s);
void asc_storage_unref(asc_ctx *ctx, asc_storage *s); /* NULL is accepted */
/* A reference for which floats rounded to bfloat16 will do. Once no others are left the storage holds these, in half
 * the memory, until asc_storage_widen. Small storage and the caller's stay as they are, and so does what somebody needs
 * whole for as long. `rounding` is static. ASC_ERR_MEMORY, without a reference. */
asc_status asc_storage_ref_rounded(asc_ctx *ctx, asc_storage *s, const asc_rounding *rounding);
void asc_storage_ref_whole(asc_ctx *ctx, asc_storage *s);
void asc_storage_unref_rounded(asc_ctx *ctx, asc_storage *s);
/* Makes it floats again. ASC_ERR_MEMORY. */
asc_status asc_storage_widen(asc_ctx *ctx, asc_storage *s);

/* tag.c */
enum { ASC_TAGS = 64 };
typedef struct asc_tags {
    struct asc_tags *next;
    asc_tag tag[ASC_TAGS];
} asc_tags;
asc_tags *asc_tags_take(void); /* without nodes; NULL: no memory */
void asc_tags_retire(asc_tags *tags); /* no handle finds its tensor any more */
void asc_tags_give(asc_tags *tags); /* for another context */

/* node.c */
asc_node *asc_node_of(asc_tensor t); /* NULL for a null or stale handle */
asc_tensor asc_handle(asc_node *node);
/* A node with the scope's reference, its storage not set. NULL with the error set. */
asc_node *asc_node_new(asc_ctx *ctx, const asc_array *array);
void asc_node_ref(asc_node *node);
void asc_node_unref(asc_node *node); /* NULL is accepted */
/* Drops the scope's reference, if it is still there: for a tensor that something else keeps from here on. asc_release
 * would drop that one's keep instead. */
void asc_disown(asc_tensor t);
/* Round a call of a function that may be a user's: it can't end the scopes that had begun before. The end ends those
 * that it has left open; it returns what the function did wrong, NULL: nothing. */
typedef struct asc_fence {
    size_t scopes, outer; /* now, and those that the function which makes the call can't end */
    bool outer_ended;
} asc_fence;
asc_fence asc_fence_begin(asc_ctx *ctx);
const char *asc_fence_end(asc_ctx *ctx, asc_fence fence);
/* A call of a function that may be a user's: the mark of its begin. When the function has returned its scopes are
 * balanced, with an error for `who`, whose it is, if they were not; the end comes when what it gave has been looked at,
 * which may be gone with a scope. */
typedef struct asc_own {
    uint64_t lent;
    asc_fence fence;
} asc_own;
asc_own asc_own_begin(asc_ctx *ctx);
void asc_own_balance(asc_ctx *ctx, asc_own begun, const char *who);
void asc_own_end(asc_ctx *ctx, asc_own begun);
/* Whether that function has made the tensor, and nothing else has taken it over since: so that it is the caller's to
 * let go of. Else it is somebody else's. */
bool asc_is_own(asc_tensor t);
/* Lets go of a tensor that the library has made and that a caller's function may have kept since. */
void asc_let_go(asc_tensor t);
/* `made` out of `used`, which is needed no more. */
static inline asc_tensor asc_after(asc_tensor used, asc_tensor made)
{
    asc_release(used);
    return made;
}
void asc_nodes_drop(asc_ctx *ctx); /* what they hold; no handle is good any more */
void asc_nodes_free(asc_ctx *ctx);

/* threads.c */
asc_status asc_workers_new(asc_ctx *ctx, int threads);
void asc_workers_free(asc_ctx *ctx);
/* What asc_set_interrupt was given last: for who puts another in its place for a while. */
typedef struct asc_interrupt {
    bool (*go_on)(void *user);
    void *user;
} asc_interrupt;
asc_interrupt asc_interrupt_of(const asc_ctx *ctx);
/* From here on the threads' work is timed, or is not. */
void asc_workers_watch(asc_ctx *ctx, bool watch);
/* At time `now` of asc_clock: seconds that the threads have worked, all together, from a time of old. The thread that
 * calls always works, unless it waits for the others to finish a job. */
double asc_work_seconds(const asc_ctx *ctx, double now);

/* Memory for the calling thread's packed operands, of ASC_PRODUCT_ROOM bytes, aligned to 64; of a context
 * that has been set to ASC_PRECISION_BF16, or where products of float32 are packed (asc_f32_packs). */
enum { ASC_PRODUCT_ROOM = 3 << 20 };
void *asc_product_room(const asc_ctx *ctx);

/* clock.c */
double asc_clock(void); /* seconds of a clock that never goes back */

/* shape.c */
bool asc_array_init(asc_array *a, asc_dtype dtype, int ndim, const int64_t *shape); /* contiguous; false: a bad shape */
bool asc_array_contiguous(const asc_array *a);
size_t asc_array_bytes(const asc_array *a);
size_t asc_array_span(const asc_array *a); /* bytes from its first element to its last; strides are never below 0 */
bool asc_arrays_overlap(const asc_array *a, const asc_array *b); /* their spans do */
bool asc_same_shape(const asc_array *a, const asc_array *b);
bool asc_is_floating(asc_dtype dtype);
/* "(2, 3)" into `text` of at least ASC_SHAPE_TEXT bytes; returns text. */
#define ASC_SHAPE_TEXT 200
const char *asc_shape_text(const asc_array *a, char *text);
/* Whether a size is below 0; the shape, which may be no array's, as text[ASC_SHAPE_TEXT]. */
bool asc_shape_below_0(int ndim, const int64_t *shape, char *text);
/* Copies src, of any strides and dtype, into contiguous memory of dtype, in row-major order. */
void asc_pack(const asc_array *src, asc_dtype dtype, void *dst);
/* The reverse: contiguous values of dtype into dst, of any strides. */
void asc_unpack(const void *src, asc_dtype dtype, const asc_array *dst);

#endif
