/* train/trainer.h: a training in progress. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "tensor/ctx.h"
#include "train/run_folder.h"
#include "train/metrics.h"
#include "train/settings.h"
#include "train/state.h"
#include "train/step.h"

typedef struct asc_trainer {
    asc_ctx *ctx;
    const asc_settings *settings;
    asc_train_hooks hooks;
    asc_folder folder;
    asc_metrics metrics;

    asc_dataset *data;
    asc_tokenizer *tokenizer;
    asc_split *train, *valid;
    asc_lm *lm;
    asc_optim *optim;
    asc_stepper stepper;
    asc_schedule schedule;
    int64_t blocks, steps_per_epoch, steps; /* of the training split; of the run */
    int32_t *order;                         /* of the blocks in epoch number `epoch` */
    int64_t epoch, first;                   /* the step's first block stands at order[first] */

    asc_train_state state;
    asc_best stranger;         /* an evaluation that is no part of the run and better than its own: the model's */
    asc_train_progress progress;
    int64_t saved_step;        /* of the last checkpoint; -1: there is none */
    bool stopped;              /* a hook asked for it */
    double start_s;            /* when elapsed_s was 0, in seconds of the clock */
    double invoked_s;          /* when asc_train was called */
    double line_s;             /* time of the steps since the last line */
    int64_t line_tokens;       /* their tokens */
    double steps_s;            /* time of all steps of this invocation, for the estimate of what is left */
    int64_t steps_done;
} asc_trainer;

/* The loop: from the state to the end of the run, or to where it is stopped. ASC_OK also where it was stopped. */
asc_status asc_trainer_loop(asc_trainer *t, asc_train_end *end);

/* open.c: opens data and vocabulary, and the model with its optimiser. `init`: the model that a new one starts from, or
 * NULL. */
asc_status asc_trainer_open_data(asc_trainer *t, const char *run, bool resume, const asc_model *init);
asc_status asc_trainer_open_lm(asc_trainer *t, const asc_model *init);

/* A line for the user. */
static inline void asc_trainer_say(const asc_trainer *t, const char *text)
{
    if (t->hooks.message) {
        t->hooks.message(t->hooks.user, text);
    }
}

/* Whether the state, which a checkpoint had, is one that this run can be in: its fields go together, and with the
 * settings, the data and the optimiser. ASC_ERR_FORMAT. */
asc_status asc_trainer_check_state(const asc_trainer *t);

/* The bits per byte of the validation split, if the mean loss there is `loss`. */
double asc_bits_per_byte(const asc_trainer *t, double loss);

/* The most inputs that one of a split's blocks which[0 … n-1] has for the model: of a classifier, of what is given. */
int64_t asc_trainer_width(const asc_trainer *t, const asc_split *split, const int32_t *which, int64_t n);

/* The inputs of all blocks which[0 … n-1] of the training split. */
int64_t asc_trainer_inputs(const asc_trainer *t, const int32_t *which, int64_t n);

/* Steps between evaluations. */
int64_t asc_trainer_eval_every(const asc_trainer *t);

/* The evaluation that model.safetensors is of. */
const asc_best *asc_trainer_best(const asc_trainer *t);

#endif
