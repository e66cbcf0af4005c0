/* train/trainer.h: a training in progress. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "tensor/comm.h"
#include "train/run/folder.h"
#include "train/run/metrics.h"
#include "train/phases.h"
#include "train/settings.h"
#include "train/stages.h"
#include "train/state.h"
#include "train/step.h"

/* What a model has from its data beside vocabulary and classes. */
typedef struct asc_from_data {
    int64_t block;  /* that it has if none is given; 0: data are a stream */
    int64_t states; /* entries of the encoder's; 0: there is none */
} asc_from_data;

typedef struct asc_trainer {
    asc_ctx *ctx;
    const asc_settings *settings;
    asc_train_hooks hooks;
    asc_folder folder;
    asc_metrics metrics;

    asc_dataset *data;
    asc_tokenizer *tokenizer;
    asc_split *train, *valid;
    asc_from_data from_data;
    bool sends_data;           /* rank 0 alone has read them: the others have no data set and no encoder */
    asc_encoder *encoder;      /* of pairs of sentences; or NULL */
    asc_features *features[2]; /* of the training and the validation split; NULL without an encoder */
    asc_lm *lm;
    asc_optim *optim;
    asc_stepper stepper;
    asc_schedule schedule;
    asc_phases phases;
    asc_stages stages;
    asc_tree tree;            /* that adds the shards of a batch up */
    asc_lm_carried **streams; /* what the shards of each batch of a step carry; NULL: nothing is carried */
    int64_t passes;           /* of a step, at most */
    int64_t steps;            /* of the run */
    int64_t blocks;           /* of an epoch, at most */
    int32_t *order;           /* of the blocks in epoch number `epoch` */
    int64_t epoch, first;     /* the step's first block stands at order[first] */

    asc_train_state state;
    const char *read_from;     /* the checkpoint that it was read from; NULL: none */
    asc_best stranger;         /* an evaluation that is no part of the run and better than its own: the model's */
    asc_train_progress progress;
    int64_t saved_step;        /* of the last checkpoint; -1: there is none */
    bool stopped;              /* a hook asked for it */
    bool has_test;             /* the data has a test split, as config.json has it */
    double start_s;            /* when elapsed_s was 0, in seconds of the clock */
    double invoked_s;          /* when asc_train was called */
    double line_s;             /* time of the steps since the last line */
    int64_t line_tokens;       /* their tokens */
    double steps_s;            /* time of all steps of this invocation, for the estimate of what is left */
    double steps_tokens;       /* their tokens, as asc_stages_tokens counts */
    int64_t steps_done;
    double evaluation_s;       /* of the last evaluation; 0 before the first */
    double flops;              /* products of this invocation's steps, and their tokens */
    int64_t flops_tokens;

    asc_split part;            /* of the validation split, its beginning: eval_tokens */
    const asc_split *judge;    /* what evaluations take: that or all of it */
    asc_eval_result whole;     /* the best model at the end on all of it, where they took a part; loss NaN: none */
    bool averaged;             /* of a divided optimiser the averages stand in the parameters' place */
    bool running, with_others; /* several ranks: they wait for commands; they take a step now */
    double told_s;             /* when rank 0 told them something */
    bool reported;             /* it has come to an end, or to a stop, with this result */
    asc_train_result result;
    asc_interrupt interrupt;   /* the caller's, which asc_trainer_goes_on asks, too */
    json_t *past;              /* the summary of the invocation before; or NULL */
} asc_trainer;

/* loop.c: from the state to the end of the run, or to where it is stopped. ASC_OK also where it was stopped. */
asc_status asc_trainer_loop(asc_trainer *t, asc_train_end *end);
/* Step number t->state.step. ASC_OK also where a hook ended it half-way. */
asc_status asc_trainer_step(asc_trainer *t);

/* held.c: the settings that decide what the run becomes, JSON text to be freed with asc_text_drop, once model and
 * schedule are there; NULL with the error set: ASC_ERR_MEMORY. */
char *asc_trainer_held(const asc_trainer *t);
/* That they are those that a checkpoint has of the run; NULL: an earlier version's.
 * ASC_ERR_FORMAT: one is another. */
asc_status asc_trainer_check_held(const asc_trainer *t, const char *held);

/* The same of what the file `path` has, as an object. */
asc_status asc_held_compare(asc_ctx *ctx, const char *path, const char *held, json_t *config);

/* open.c: opens data and vocabulary, with the encoder that the settings name, on the ranks that read them, and sends
 * them to the others; after an error tells the others. Then the model with its optimiser. `init`: the model that a new
 * one starts from, or NULL. */
asc_status asc_trainer_open_data(asc_trainer *t, const char *run, bool resume, asc_model *init);
asc_split *asc_trainer_open_split(asc_trainer *t, asc_split_kind kind); /* a split of its data, by way of the cache */
asc_status asc_trainer_spares_test(const asc_trainer *t, bool aloud); /* clears why there is no test split, but for want
                                                                       * of memory, and says it, if aloud */
asc_status asc_trainer_open_lm(asc_trainer *t, const asc_model *init);

/* open_encoder.c: of a model of pairs: the frozen encoder that the settings name, before the model, which takes its
 * states; what it makes of the splits, and the weights of their classes, after it, as open_data's on all ranks. */
asc_status asc_trainer_open_encoder(asc_trainer *t, bool resume);
asc_status asc_trainer_open_features(asc_trainer *t);
void asc_trainer_close_encoder(asc_trainer *t);

/* optimizer.c: the optimiser that the settings ask for; new. NULL with the error set: ASC_ERR_ARG, ASC_ERR_MEMORY. */
asc_optim *asc_optimizer_new(asc_ctx *ctx, const asc_values *values, asc_lm *lm);

/* What is carried in a step, by its batches and their shards. */
static inline int64_t asc_trainer_streams(const asc_trainer *t)
{
    return t->passes * asc_stepper_shards(&t->stepper);
}

/* Whether this process writes and speaks: rank 0 of several, or the only one. */
static inline bool asc_trainer_leads(const asc_trainer *t)
{
    return asc_comm_rank(t->ctx) == 0;
}

/* A line for the user. */
static inline void asc_trainer_say(const asc_trainer *t, const char *text)
{
    if (t->hooks.message && asc_trainer_leads(t)) {
        t->hooks.message(t->hooks.user, text);
    }
}

/* ---- state.c ---- */

/* Whether the state, which a checkpoint had, is one that this run can be in: its fields go together, and with the
 * settings, the data and the optimiser. ASC_ERR_FORMAT. */
asc_status asc_trainer_check_state(const asc_trainer *t);

/* The bits per byte of the validation split, if the mean loss there is `loss`. */
double asc_bits_per_byte(const asc_trainer *t, double loss);

/* ---- order.c ---- */

/* Puts the first `blocks` blocks of an epoch in order. ASC_ERR_MEMORY. */
asc_status asc_trainer_order(const asc_trainer *t, int64_t blocks, int64_t epoch);

/* ---- inputs.c ---- */

/* The most inputs that one of a split's blocks which[0 … n-1] has for the model: of a classifier, of what is given. */
int64_t asc_trainer_width(const asc_trainer *t, const asc_split *split, const int32_t *which, int64_t n);

/* Where its steps take their batches from. */
asc_batch_source asc_trainer_source(const asc_trainer *t);

/* The inputs of all blocks which[0 … n-1] of the training split. */
int64_t asc_trainer_inputs(const asc_trainer *t, const int32_t *which, int64_t n);

/* ---- foresee.c ---- */

/* ASC_ERR_ARG: settings that contradict each other, or that nothing reads, whatever the data are, on so many ranks. */
asc_status asc_foresee(const asc_settings *s, asc_lm *lm, int ranks);

/* The same on one rank, with what the optimiser, its groups and the schedules get wrong with this model, whose
 * scheduled numbers are written to. */
asc_status asc_foresee_all(const asc_settings *s, asc_lm *lm);

/* ---- stages_plan.c ---- */

/* The courses of batch and block that the settings ask for, with a model of that block; of a resumed run as they were
 * when it began. ASC_ERR_ARG. */
asc_status asc_stages_read(const asc_settings *s, int64_t block, asc_stages *stages);

/* For a split and a model that are there: the stages that come of them. ASC_ERR_ARG. */
asc_status asc_stages_plan(asc_trainer *t);

/* Adds to config.json's plan what the schedules have come to, in steps. */
void asc_stages_describe(const asc_stages *s, json_t *plan);

/* ---- streams.c: carried context; without it nothing is done ---- */

/* Of a stage the blocks that its rows read in an epoch, the same number each: blocks and steps. ASC_ERR_ARG. */
asc_status asc_streams_plan(const asc_trainer *t, asc_stage *stage);
asc_status asc_streams_open(asc_trainer *t);
void asc_streams_close(asc_trainer *t);
/* What is carried into the next step: nothing into the first of an epoch. */
void asc_streams_follow(asc_trainer *t);
/* What is carried after t->state.step steps: "BATCH.LAYER.…". ASC_ERR_FORMAT: it is not that of this run. */
asc_status asc_streams_save(const asc_trainer *t, asc_params *tensors);
asc_status asc_streams_load(asc_trainer *t, const asc_params *tensors);
/* So many passes' contexts, new; NULL without memory, and with an error that is set some may be NULL. NULL is accepted
 * where they are freed. */
asc_lm_carried **asc_carried_new(asc_ctx *ctx, asc_lm *lm, int64_t n);
void asc_carried_free(asc_ctx *ctx, asc_lm_carried **list, int64_t n);
/* Forward passes of so many rows until a block has all before it that it looks back at. */
asc_status asc_run_up(const asc_stepper *s, asc_lm_carried *carried, int64_t rows);

/* Of stream number i, a batch's shard: the rows that carry something, and the tokens that each has read. */
int64_t asc_streams_rows(const asc_trainer *t, int64_t i, int64_t *tokens);

/* ---- ranks/: several processes; with one nothing is done ---- */

/* After data and model are open: all wait for each other, and have the same work. An error of one is all's. ASC_ERR_IO:
 * another build, other data or settings. */
asc_status asc_ranks_agree_on_work(asc_trainer *t);
/* ranks/data.c: rank 0's vocabulary, splits and what the model has from them to the others, if the settings say so: on
 * all ranks, after an error, too, which then is all's. */
asc_status asc_ranks_share_data(asc_trainer *t);
/* ranks/optim.c: after rank 0 has opened the folder all have what it has; of a divided optimiser each its share, of a
 * resumed run from rank 0's checkpoint. */
asc_status asc_ranks_begin(asc_trainer *t);
/* Puts the averages in the place of the training's parameters, where `lm` is its model and there are any; the next call
 * puts these back. */
void asc_trainer_swap_average(asc_trainer *t, const asc_lm *lm);
/* Writes the checkpoint, for which the others hand over what they keep of a divided optimiser. */
asc_status asc_ranks_write_checkpoint(asc_trainer *t, const asc_params *carried, const char *held);

/* ranks/ranks.c, on rank 0: the others take the next step with it; it is done. It is alive, where it has long been
 * silent. It gets what the others' shards carry. It is over, with the context's error or none. */
void asc_ranks_step(asc_trainer *t);
void asc_ranks_step_done(asc_trainer *t);
void asc_ranks_alive(asc_trainer *t);
void asc_ranks_gather(asc_trainer *t);
void asc_ranks_end(asc_trainer *t);

/* ranks/follow.c, on the others: until the end, with rank 0's error or none. */
asc_status asc_ranks_follow(asc_trainer *t);

/* ---- pace.c ---- */

/* The step at which the learning rate begins to fall after it stood still (wsd); -1: there is none. */
int64_t asc_trainer_falls_from(const asc_trainer *t);

/* The evaluation that model.safetensors is of. */
const asc_best *asc_trainer_best(const asc_trainer *t);

/* Steps between evaluations, 0 where those are not the same; whether there is one behind step number `step`; and
 * whether one is due now. */
int64_t asc_trainer_eval_every(const asc_trainer *t);
bool asc_trainer_evaluates_at(const asc_trainer *t, int64_t step);
bool asc_trainer_evaluation_due(const asc_trainer *t);

/* Whether `early_stop` evaluations have found nothing better. */
bool asc_trainer_early(const asc_trainer *t);

/* Whether the run, or the time of this invocation, ends here. */
bool asc_trainer_over(const asc_trainer *t);

/* Seconds of this invocation: so far, and, by an estimate, to its end, evaluations among them; NaN: none yet. */
double asc_trainer_spent(const asc_trainer *t);
double asc_trainer_left(const asc_trainer *t);

/* ---- record.c ---- */

/* Brings t->progress up to date. */
void asc_trainer_describe(asc_trainer *t);

/* Tells the hook; false from it stops the training. */
void asc_trainer_tell(asc_trainer *t, asc_train_phase phase);

/* What is asked within a step or an evaluation, of `user`, a trainer. */
bool asc_trainer_goes_on(void *user);

/* A line of metrics.jsonl; the checkpoint. */
asc_status asc_trainer_write_line(asc_trainer *t, bool evaluated);
asc_status asc_trainer_save(asc_trainer *t);

/* ---- evaluations.c: ASC_OK also where a hook stopped them ---- */

/* The model as evaluations see it: of a run that averages its parameters, with the averages. */
asc_status asc_trainer_write_model(asc_trainer *t, const char *path, const asc_best *of);

/* An evaluation that the schedule asks for; the one after the last step; the one where time is up; and, at the end, the
 * best model's on all of the split. */
asc_status asc_trainer_evaluate_in_turn(asc_trainer *t);
asc_status asc_trainer_evaluate_last(asc_trainer *t);
asc_status asc_trainer_evaluate_stranger(asc_trainer *t);
asc_status asc_trainer_evaluate_best(asc_trainer *t);

/* At the end of the run the model is that of an uninterrupted one. */
asc_status asc_trainer_dismiss_stranger(asc_trainer *t);

/* ---- preview.c ---- */

/* Whether the model can continue a text, if that is asked for. ASC_ERR_ARG: it can't. */
asc_status asc_trainer_check_preview(asc_trainer *t);

/* Shows the hook how the model continues a text. It changes nothing. */
asc_status asc_trainer_preview(asc_trainer *t);

/* ---- needs.c ---- */

/* Tells the user where a step will take long; ASC_ERR_MEMORY: it needs more memory than there is. */
asc_status asc_trainer_check_step(asc_trainer *t);

/* ASC_ERR_IO: there is no room for the files of the run. */
asc_status asc_trainer_check_space(asc_trainer *t, const char *run);

/* ---- summary.c ---- */

/* Whether the summary at `path` knows of a model; false, without an error, of what is none. */
bool asc_summary_has_best(const char *path);

/* Takes over what an earlier invocation has left in summary.json, which goes: it is out of date from here on. */
asc_status asc_summary_open(asc_trainer *t);

/* Writes it, also where the context has an error, which stays; else its own is set. */
void asc_summary_write(asc_trainer *t, asc_train_end end);

#endif
