/* autograd/engine.h: the tape and the state of a call, for the files of this folder. */
#ifndef AUTOGRAD_ENGINE_H
#define AUTOGRAD_ENGINE_H

#include <ascgrad/op.h>

#include "tensor/ctx.h"
#include "tensor/dtype.h"

/* A value that gradients flow through. Variables are numbered in the order of their making. */
typedef struct asc_var {
    asc_node *owner;       /* whose `var` is this one, as long as the generation agrees; a leaf's is referenced */
    uint64_t generation;
    int32_t producer;      /* the record that made it; -1: a leaf */
    asc_array array;       /* dtype and shape */
    asc_storage *grad;     /* of one that is not a leaf; NULL: none has come yet */
    bool reached;          /* a leaf that this backward pass has added to */
} asc_var;

/* An array of a recorded call. */
typedef struct asc_slot {
    asc_array array;
    asc_storage *storage;  /* NULL: not saved */
    uint32_t version;      /* of the storage when it was saved */
    int32_t var;           /* -1: no gradient flows */
} asc_slot;

typedef struct asc_record {
    const asc_op *op;
    char *label;           /* NULL: none */
    void *attrs;
    asc_slot *slots;       /* inputs, outputs, saved arrays */
    int n_in, n_out, n_saved;
    uint32_t random[2];
    bool freed;
    double flops;          /* of the forward call */
    int32_t first_var;     /* variables, arena, and what segments have seen before this record */
    size_t arena_used, first_seen;
    size_t n_seen;         /* of a segment */
} asc_record;

/* Memory for records, in blocks that never move; handed out in order and taken back in order. */
typedef struct asc_arena {
    char **block;
    size_t n_blocks, cap_blocks;
    size_t used;           /* over all blocks */
} asc_arena;

/* What a call of asc_recompute is computed again from: the attributes of its record. */
typedef struct asc_again {
    asc_recompute_fn *fn;
    void *user;
    uint64_t seed, step, ordinal; /* that its random calls begin with */
} asc_again;

/* Something from before a segment that it reads. */
typedef struct asc_seen {
    asc_storage *storage; /* with a reference */
    uint32_t version;
    asc_node *leaf;       /* that requires its gradient; NULL: another tensor */
} asc_seen;

/* A function of asc_recompute while it runs for the first time. */
typedef struct asc_segment {
    uint64_t before;   /* storage up to this number was there */
    size_t first_seen; /* in the tape's list */
    uint32_t flows;    /* bit i: a gradient flows from output i */
} asc_segment;

typedef struct asc_tape {
    asc_record *record;
    size_t n_records, cap_records;
    asc_var *var;
    size_t n_vars, cap_vars;
    asc_seen *seen;         /* by the segments, one after the other */
    size_t n_seen, cap_seen;
    asc_arena arena;
    double flops;
    bool check_nan;
    bool rehearsal;         /* nothing is computed */
    asc_segment *segment;   /* that runs: calls leave no record; NULL: none */
    asc_observer *observer; /* NULL: none */
    void *observer_user;
    const asc_span *span;   /* the innermost one that is watched */
    int call_depth;         /* calls that are watched and not at their end */
} asc_tape;

/* A call while it runs. */
enum { ASC_MAX_SCRATCH = 32 };
typedef struct asc_engine {
    asc_node *in[ASC_MAX_IN], *out[ASC_MAX_OUT];
    asc_storage *packed[ASC_MAX_IN];    /* contiguous copies of strided inputs */
    asc_storage *saved[ASC_MAX_SAVED];
    asc_storage *scratch[ASC_MAX_SCRATCH];
    int n_scratch;
    double flops;                       /* op->flops of the forward call */
} asc_engine;

/* tape.c */
asc_tape *asc_tape_of(asc_ctx *ctx); /* made at the first use; NULL with the error set */
int32_t asc_var_of(asc_node *node);  /* -1: none */
bool asc_wants_grad(asc_node *node); /* it has a variable, or is a leaf that asks for one */
/* Records a call that has run; `segment`: of a call of asc_recompute, what its function has seen; else NULL. */
asc_status asc_tape_record(asc_call *call, const asc_segment *segment);
/* Lets go of what was seen from number `to` on. */
void asc_tape_forget(asc_ctx *ctx, size_t to);
void asc_record_free(asc_ctx *ctx, asc_record *r);

/* backward.c */
/* Makes the storage of a leaf's gradient, unless it is there. */
asc_status asc_leaf_grad(asc_node *leaf);
/* Where the gradient of variable v goes, made if it has to be; *fresh: nothing is there yet. NULL with the error
 * set. */
void *asc_grad_target(asc_ctx *ctx, asc_var *v, bool *fresh);
/* Walks the records last … first in reverse and adds to the gradients of what they depend on, unless `status` is a
 * failure already: then gradients only go. Returns the first failure. */
asc_status asc_walk_back(asc_ctx *ctx, asc_tape *tape, int64_t last, int64_t first, bool retain, asc_status status);

/* recompute.c */
extern const asc_op asc_op_recompute; /* of records alone: it is in no list */
/* A call within a segment has run: notes what it read, and where a gradient would flow. */
asc_status asc_segment_add(asc_call *call, bool flows);
/* The backward pass of a record of asc_recompute. */
asc_status asc_segment_backward(asc_ctx *ctx, asc_tape *tape, int64_t index);

/* call.c */
void asc_call_drop_scratch(asc_call *call);
/* The name of input i, from op->inputs, into text[32]. */
const char *asc_input_name(const asc_op *op, int i, char *text);
bool asc_input_optional(const asc_op *op, int i);
int asc_inputs_least(const asc_op *op);
int asc_inputs_most(const asc_op *op);
/* The first value that is not finite is an error that names `what`. */
asc_status asc_check_finite(asc_call *call, const asc_array *a, const char *what);
bool asc_saves_input(const asc_op *op, int i);

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
