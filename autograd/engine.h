/* autograd/engine.h: the tape and the state of a call, for the files of this folder. */
#ifndef AUTOGRAD_ENGINE_H
#define AUTOGRAD_ENGINE_H

#include <ascgrad/op.h>

#include "tensor/ctx.h"
#include "tensor/dtype.h"

/* Where a tensor's gradient goes: to output `out` of the call that made it, or to a leaf. Neither: nowhere. */
typedef struct asc_edge {
    asc_record *record;
    asc_node *leaf;
    int out;
} asc_edge;

/* An array of a recorded call. */
typedef struct asc_slot {
    asc_array array;
    asc_storage *storage;  /* NULL: not saved */
    bool rounded;          /* bfloat16 will do */
    asc_extent range;      /* of the storage, wherever that is when it is needed */
    asc_stamp stamp;       /* of the storage when it was saved */
    asc_edge edge;         /* of an input, with a reference */
    bool flows;            /* of an output: it may get a gradient, */
    asc_storage *grad;     /* this one, while a backward pass is under way; NULL: none has come yet */
} asc_slot;

/* Something from before a segment that it reads. */
typedef struct asc_seen {
    asc_storage *storage; /* with a reference */
    asc_stamp stamp;
    asc_extent range;     /* of all that was read of it */
    asc_node *leaf;       /* that requires its gradient, with a reference; NULL: another tensor */
    asc_tensor tensor;    /* whichever, without one */
} asc_seen;

/* A call on the tape. It is held by its outputs' tensors, by the records of calls that took them, and by a backward
 * pass that is to come to it; when nothing holds it, it goes. */
struct asc_record {
    int refs;
    uint64_t number;       /* calls are numbered as they come: a record's inputs were made by lower ones */
    const asc_op *op;
    char *label;           /* NULL: none */
    void *attrs;
    asc_slot *slots;       /* inputs, outputs, saved arrays */
    int n_in, n_out, n_saved;
    uint32_t random[2];
    bool freed;            /* by a backward pass: it holds nothing any more */
    double flops;          /* of the forward call */
    asc_storage *seen;     /* of a segment: n_seen of asc_seen; NULL: none */
    size_t n_seen;
    bool waiting;          /* in the heap of those that a backward pass is to come to: */
    asc_record *child, *next; /* its first child there and its next sibling; of one that goes, the next that does */
    size_t bytes;          /* of its memory */
};

/* Memory for records: blocks of sizes a fixed step apart, cut out of chunks, which serve again. */
enum { ASC_ATTRS_BYTES = 1024, ASC_BLOCK_STEP = 256, ASC_BLOCK_SIZES = 48 };
typedef struct asc_blocks {
    void *free[ASC_BLOCK_SIZES]; /* lists: the first word is the next one's address */
    char *rest;                  /* of the last chunk */
    size_t rest_bytes;
    char **chunk;
    size_t n_chunks, cap_chunks;
} asc_blocks;

/* What a call of asc_recompute is computed again from: the attributes of its record. */
typedef struct asc_again {
    asc_recompute_fn *fn;
    void *user;
    uint64_t seed, step, ordinal; /* that its random calls begin with */
} asc_again;

/* A function of asc_recompute while it runs for the first time. */
typedef struct asc_segment {
    uint64_t number;   /* its own, from 1 on */
    uint64_t before;   /* storage up to this number was there */
    uint32_t flows;    /* bit i: a gradient flows from output i */
} asc_segment;

typedef struct asc_tape {
    uint64_t n_recorded;    /* calls so far */
    asc_blocks blocks;
    asc_record *waiting;    /* the heap's top: the one with the highest number; NULL: none */
    asc_record *going;      /* records that nothing holds, and that are not gone yet */
    bool letting_go;        /* … as their turn comes */
    asc_node *reached;      /* leaves with a hook that this backward pass has added to, each with a reference */
    asc_seen *seen;         /* by the segment that runs */
    size_t n_seen, cap_seen;
    uint64_t n_segments;    /* so far */
    double flops;
    bool check_nan;
    bool rehearsal;         /* nothing is computed */
    bool passing;           /* a backward pass is under way */
    asc_segment *segment;   /* that runs: calls leave no record; NULL: none */
    asc_observer *observer; /* NULL: none */
    void *observer_user;
    const asc_span *span;   /* the innermost one that is watched */
    const asc_span **spans; /* all that are, the outermost first: addresses, as one that was not ended may be gone */
    size_t n_spans, cap_spans;
    int call_depth;         /* calls that are watched and not at their end */
} asc_tape;

/* A call while it runs. */
enum { ASC_MAX_SCRATCH = 32 };
typedef struct asc_engine {
    asc_node *in[ASC_MAX_IN];
    asc_node *out[ASC_MAX_OUT];         /* with a reference */
    asc_node *into[ASC_MAX_OUT];        /* whose memory an output is to be written to; NULL: new memory */
    asc_storage *packed[ASC_MAX_IN];    /* contiguous copies of strided inputs */
    asc_storage *saved[ASC_MAX_SAVED];
    asc_storage *scratch[ASC_MAX_SCRATCH];
    int n_scratch;
    bool inferred;                      /* infer has run: nothing is declared any more */
    uint32_t operands;                  /* inputs that backward reads as operands of products alone */
    double flops;                       /* op->flops of the forward call */
} asc_engine;

/* tape.c */
asc_tape *asc_tape_of(asc_ctx *ctx); /* made at the first use; NULL with the error set */
bool asc_wants_grad(const asc_node *node); /* an op on it is recorded; not of NULL */
/* Why what a gradient would flow to has no place on the tape: a segment that is over made it. NULL: it has one. */
const char *asc_left_behind(const asc_ctx *ctx, const asc_node *node);
asc_edge asc_edge_of(asc_node *node); /* without a reference */
/* Records a call that has run; `segment`: of a call of asc_recompute, what its function has seen; else NULL. */
asc_status asc_tape_record(asc_call *call, const asc_segment *segment);
/* Lets go of what the segment that runs has seen. */
void asc_tape_forget(asc_ctx *ctx);
static inline asc_slot *asc_output_slot(const asc_edge *edge)
{
    return &edge->record->slots[edge->record->n_in + edge->out];
}
static inline void asc_record_ref(asc_record *r)
{
    r->refs++;
}
void asc_record_unref(asc_ctx *ctx, asc_record *r);
/* Lets go of all that a record holds: its backward pass is over. */
void asc_record_free(asc_ctx *ctx, asc_record *r);

/* waiting.c */
/* The records that a backward pass is to come to, the one with the highest number first. Each is in there once, with a
 * reference; that of the one that is taken is the caller's. */
void asc_waiting_add(asc_tape *tape, asc_record *r);
asc_record *asc_waiting_take(asc_tape *tape, uint64_t from); /* none below number `from`; NULL: no more */

/* gradients.c */
/* Makes the storage of a leaf's gradient, unless it is there. */
asc_status asc_leaf_grad(asc_node *leaf);
/* *data: where the gradient goes that comes along an edge, made if it has to be, and NULL for one without elements that
 * lies nowhere; *fresh: nothing is there yet. ASC_ERR_MEMORY. */
asc_status asc_grad_target(asc_ctx *ctx, const asc_edge *edge, void **data, bool *fresh);
/* to += from, both of the shape and dtype of `like`. */
void asc_grad_add(const asc_array *like, void *to, const void *from);

/* backward.c */
/* Walks the records that wait, down to number `first`, and adds to the gradients of what they depend on, unless
 * `status` is a failure already: then gradients only go. Returns the first failure. */
asc_status asc_walk_back(asc_ctx *ctx, asc_tape *tape, uint64_t first, bool retain, asc_status status);

/* recompute.c */
extern const asc_op asc_op_recompute; /* of records alone: it is in no list */
/* A call within a segment has run: notes what it read, and where a gradient would flow. */
asc_status asc_segment_add(asc_call *call, bool flows);
/* The backward pass of a record of asc_recompute. */
asc_status asc_segment_backward(asc_ctx *ctx, asc_tape *tape, const asc_record *r);

/* descriptor.c */
/* The name of input i, from op->inputs, into text[32]. */
const char *asc_input_name(const asc_op *op, int i, char *text);
bool asc_input_optional(const asc_op *op, int i);
int asc_inputs_least(const asc_op *op);
int asc_inputs_most(const asc_op *op);
bool asc_saves_input(const asc_op *op, int i);
/* Whether the op can be called, and checked; `by` is who asks. ASC_ERR_ARG. */
asc_status asc_op_check(asc_ctx *ctx, const char *by, const asc_op *op);
/* The same of an op that is called, in no time where all is well. */
asc_status asc_op_check_call(asc_ctx *ctx, const asc_op *op);

/* call.c */
/* asc_fence_end of the op's functions, which `names` names, as an error. */
void asc_call_unfence(asc_call *call, asc_fence fence, const char *names);
void asc_call_drop_scratch(asc_call *call, int kept); /* all but the first ones */
/* asc_call_fail of any status, with a text that is whole. */
asc_status asc_call_fail_as(asc_call *call, asc_status status, const char *text);
/* The first value that is not finite is an error that names `what`. */
asc_status asc_check_finite(asc_call *call, const asc_array *a, const char *what);

/* observe.c */
/* A call that runs; start_s is NaN if nobody looks. */
typedef struct asc_watch {
    double start_s, work_s;
    int depth;
} asc_watch;
asc_watch asc_watch_begin(asc_ctx *ctx);
/* Tells the observer of the call that was begun; its arrays must still be there. */
void asc_watch_end(asc_watch watch, const asc_call *call, bool backward, asc_status status);

#endif
