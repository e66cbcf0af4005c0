/* train/measure/parity.h: a parity case while it is replayed. */
#ifndef TRAIN_PARITY_H
#define TRAIN_PARITY_H

#include <ascgrad/nn.h>
#include <program/parity.h>
#include <ascgrad/safetensors.h>
#include <jansson.h>

#include "nn/mixing.h"

typedef struct asc_replay {
    asc_ctx *ctx;
    const asc_safetensors *file;
    asc_parity_report *report;
    json_t *config; /* the case's; absent settings are added */
    bool *used;     /* entry i of the file was an input, or compared */
} asc_replay;

/* How far a value may be off: `relative` to its tensor's largest magnitude, or `absolute` if that is more. */
typedef struct asc_agreement {
    double relative, absolute;
} asc_agreement;

static const asc_agreement asc_value_agreement = {1e-9, 1e-12}, asc_final_agreement = {1e-7, 1e-12};

/* The case does not pass; the first differences are all kept in the report's reason. */
void asc_replay_disagree(asc_replay *r, const char *format, ...) ASC_PRINTF(2, 3);
/* Marks the file's tensor as used; NULL if there is none. */
const asc_safetensors_entry *asc_replay_use(asc_replay *r, const char *name);
/* Compares a tensor in f64 with the file's of that name. */
void asc_replay_compare(asc_replay *r, const char *name, asc_tensor got, asc_agreement agreement);
/* Where parameters come from, which are looked up before memory is taken for them: one that the case lacks, or has in
 * another shape, is an error of the context, which settles as a disagreement. */
asc_values_source asc_replay_source(asc_replay *r);
/* Sets the parameters to the file's, all by name and shape. */
void asc_replay_load(asc_replay *r, asc_params *params);
/* Sets a setting that the case leaves out; takes `value`. */
void asc_replay_default(asc_replay *r, const char *key, json_t *value);
/* Sets what a case with ASCender layers leaves out to the oracle's values, which train all scalars. */
void asc_replay_ascender_defaults(asc_replay *r);
/* The configuration as text, to be freed with free(); NULL with the error set. */
char *asc_replay_config(asc_replay *r);

/* How a case's run is trained. */
typedef struct asc_recipe {
    double lr, min_lr, warmup, steps, weight_decay, clip, batch;
} asc_recipe;

/* Takes the recipe out of the configuration; what is left is the model's. false: the case lacks some of it. */
bool asc_replay_take_recipe(asc_replay *r, asc_recipe *out);

/* What is trained, and on what. */
typedef struct asc_replay_training {
    asc_lm *lm;
    int64_t steps;
    asc_tensor (*loss)(void *user, int64_t step);
    asc_status (*after)(void *user); /* after each step; or NULL */
    void *user;
} asc_replay_training;

/* Takes the steps, and compares their losses and the parameters at the end. */
void asc_replay_steps(asc_replay *r, const asc_replay_training *training, const asc_recipe *recipe);

/* The kinds of cases. What does not agree is in the report; so may be what the library fails with, in the context. */
void asc_replay_layer(asc_replay *r, const char *mixing);
void asc_replay_run(asc_replay *r);
void asc_replay_pairs(asc_replay *r);

#endif
