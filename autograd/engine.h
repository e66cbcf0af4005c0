/* autograd/engine.h: the tape and the state of a call, for the files of this folder. */
#ifndef AUTOGRAD_ENGINE_H
#define AUTOGRAD_ENGINE_H

#include <ascgrad/op.h>

#include "tensor/ctx.h"

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
    int32_t first_var;     /* variables and arena before this record */
    size_t arena_used;
} asc_record;

/* Memory for records, in blocks that never move; handed out in order and taken back in order. */
typedef struct asc_arena {
    char **block;
    size_t n_blocks, cap_blocks;
    size_t used;           /* over all blocks */
} asc_arena;

typedef struct asc_tape {
    asc_record *record;
    size_t n_records, cap_records;
    asc_var *var;
    size_t n_vars, cap_vars;
    asc_arena arena;
    const asc_op **user_op;
    size_t n_user_ops, cap_user_ops;
    double flops;
    bool check_nan;
} asc_tape;

/* A call while it runs. */
enum { ASC_MAX_SCRATCH = 32 };
typedef struct asc_engine {
    asc_node *in[ASC_MAX_IN], *out[ASC_MAX_OUT];
    asc_storage *packed[ASC_MAX_IN];    /* contiguous copies of strided inputs */
    asc_storage *saved[ASC_MAX_SAVED];
    asc_storage *scratch[ASC_MAX_SCRATCH];
    int n_scratch;
} asc_engine;

/* tape.c */
asc_tape *asc_tape_of(asc_ctx *ctx); /* made at the first use; NULL with the error set */
int32_t asc_var_of(asc_node *node);  /* -1: none */
bool asc_wants_grad(asc_node *node); /* it has a variable, or is a leaf that asks for one */
/* Records a call that has run. */
asc_status asc_tape_record(asc_call *call);
void asc_record_free(asc_ctx *ctx, asc_record *r);

/* backward.c */
/* Makes the storage of a leaf's gradient, unless it is there. */
asc_status asc_leaf_grad(asc_node *leaf);

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

/* ops/list.c: the library's ops, NULL at the end */
extern const asc_op *const asc_op_list[];

#endif
