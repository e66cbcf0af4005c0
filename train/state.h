/* train/state.h: where a training stands, and its checkpoint. */
#ifndef TRAIN_STATE_H
#define TRAIN_STATE_H

#include <ascgrad/safetensors.h>
#include <ascgrad/train.h>

#include "nn/mixing.h"
#include "train/run/folder.h"

#define ASC_STEPS_MOST INT64_C(1000000000000000) /* as many as a setting may ask for */

typedef struct asc_train_state {
    int64_t step, tokens;   /* done */
    int64_t evaluated_step; /* of the last evaluation; -1 before the first */
    int64_t logged_step;    /* of the last line of metrics.jsonl; -1 before the first */
    int64_t metrics_bytes;  /* of metrics.jsonl */
    double elapsed_s;
    asc_best best;
    double loss, lr, grad_norm; /* of the last step: its line may still have to be written */
} asc_train_state;

/* At the start: nothing done. */
asc_train_state asc_state_start(void);

/* What other processes keep of the optimiser: tensors whose values `load` puts in their place when they are due. */
typedef struct asc_away {
    asc_params *tensors;
    asc_status (*load)(void *user, int64_t i);
    void *user;
} asc_away;

/* Writes parameters, optimiser, with what is away of it (NULL: nothing), state, what is carried and the settings that
 * the run is held to (asc_trainer_held) to checkpoint.safetensors, with its checksums, atomically. ASC_ERR_IO,
 * ASC_ERR_MEMORY. */
asc_status asc_checkpoint_write(asc_ctx *ctx, const asc_folder *folder, asc_lm *lm, asc_optim *optim,
                                const asc_away *away, const asc_train_state *state, const asc_params *carried,
                                const char *held);

/* Reads it all back from `path`, of the optimiser what this process keeps, each field within its range, what is carried
 * into the list `carried`. *same_build: it
 * was written by this build, on these kernels and this BLAS. ASC_ERR_IO; ASC_ERR_FORMAT: damaged, of a later version or
 * of another model. */
asc_status asc_checkpoint_read(asc_ctx *ctx, const char *path, asc_lm *lm, asc_optim *optim, asc_train_state *state,
                               asc_params *carried, bool *same_build);

/* The values of one tensor of the optimiser, by its name. Errors as asc_safetensors_read_into. */
asc_status asc_checkpoint_read_kept(asc_ctx *ctx, const asc_safetensors *file, const char *name, asc_tensor values);

/* The settings that a checkpoint holds its run to, to be freed with asc_path_free; NULL: an earlier version's, or the
 * error is set. */
char *asc_checkpoint_held(asc_ctx *ctx, const char *path);

/* Describes what decides about the last bits of the results: the build, BLAS, kernels and the precision in
 * use. */
void asc_build_describe(const asc_ctx *ctx, char *text, size_t bytes);

/* The step that a checkpoint is of. ASC_ERR_IO, ASC_ERR_FORMAT. */
asc_status asc_checkpoint_step(asc_ctx *ctx, const char *path, int64_t *step);

/* Writes parameters and what goes with them as a MODEL, with its checksums; of a classifier, with the names that `data`
 * has for its classes; and the evaluation that it is of. */
asc_status asc_model_write(asc_ctx *ctx, const char *path, asc_lm *lm, const asc_tokenizer *tokenizer,
                           const asc_dataset *data, const asc_best *of);

/* Reads all parameters of `params` from an open file, by the same names; `prefix` stands before them in the file.
 * ASC_ERR_FORMAT: one is not there, of another shape, or damaged. */
asc_status asc_params_read(asc_ctx *ctx, const asc_safetensors *file, const char *path, const char *prefix,
                           asc_params *params);

/* The same file as where the values of a model that is still to be made come from. */
typedef struct asc_params_file {
    asc_ctx *ctx;
    const asc_safetensors *file;
    const char *path, *prefix;
} asc_params_file;
#define ASC_CHECKPOINT_HELD  "settings" /* the key of the settings that a run is held to */
#define ASC_CHECKPOINT_PARAM "param." /* before the names of a checkpoint's parameters */
asc_values_source asc_params_source(asc_params_file *file);

/* CRC-32 of the vocabulary as it is saved, as 8 hexadecimal digits. ASC_ERR_MEMORY. */
asc_status asc_vocab_checksum(const asc_tokenizer *tokenizer, char text[9]);

#endif
