/*
 * ascgrad/train.h: training a language model on text, evaluating it, and drawing text from it.
 *
 *     asc_settings *s = asc_settings_new(ctx);
 *     asc_settings_set(s, "model", "transformer");
 *     asc_settings_set(s, "data", "builtin");
 *     asc_train(ctx, s, "runs/first", false, NULL, NULL);
 *
 * A RUN is the folder that a training writes: config.json, vocab.txt, metrics.jsonl, model.safetensors (the best on the
 * validation split so far) and checkpoint.safetensors; while it is trained, also `running`, which names the process and
 * its host, so that no other one trains there: a dead one's is taken over; afterwards summary.json, how it ended, what
 * came of it and on which machine; and, if the settings ask for it, the folder `tensorboard` with an event file. A
 * MODEL is a model.safetensors, in a RUN or alone.
 * What lies in a RUN is regular files: links, pipes, devices are ASC_ERR_IO. Models and checkpoints carry the
 * checksums of ascgrad/safetensors.h and "format_version" 2: a file that they don't fit is ASC_ERR_FORMAT; one without
 * them, of an earlier version or of another program, is read, and the context's user is told (asc_options.message).
 * The same settings give the same model to the bit, with any number of threads and after any interruption.
 */
#ifndef ASCGRAD_TRAIN_H
#define ASCGRAD_TRAIN_H

#include <ascgrad/encoder.h>
#include <ascgrad/data.h>
#include <ascgrad/nn.h>
#include <ascgrad/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

typedef struct asc_settings asc_settings;

/* All settings: the training's (i = 0), the model's, and each mixing's (asc_lm_schema); owner NULL past the last.
 * `ctx`, with the mixings that are registered with it, may be NULL. doc/settings.md is made of them. */
ASC_API asc_schema asc_settings_schema(const asc_ctx *ctx, int i);

/* New settings, all at their defaults; freed before the context. NULL without memory. */
ASC_API asc_settings *asc_settings_new(asc_ctx *ctx);
ASC_API void asc_settings_free(asc_settings *settings); /* NULL is accepted */

/* Gives a setting a value, as text; of lists in JSON. `key` is a key or an option of asc_settings_schema's, where '-'
 * may stand for '_'; "mixing" is "model". A mixing may be named by its beginning, and a list of them, one a layer, with
 * commas. ASC_ERR_ARG: an unknown key (the nearest is named), a wrong value. */
ASC_API asc_status asc_settings_set(asc_settings *settings, const char *key, const char *value);

/* The value of a setting of the training's that is text, as "data", or of "model" ("" also where layers have one each),
 * borrowed until it is set anew; *given, unless NULL: whether anything gave it one. NULL with the error set:
 * ASC_ERR_ARG, there is no such setting. */
ASC_API const char *asc_settings_text(const asc_settings *settings, const char *key, bool *given);

/* Takes all settings from a JSON file: an object like a run's config.json. ASC_ERR_IO, ASC_ERR_FORMAT (no JSON object),
 * ASC_ERR_ARG as above. */
ASC_API asc_status asc_settings_load(asc_settings *settings, const char *path);

/* Takes the settings of a preset. ASC_ERR_ARG: there is none of that name. */
ASC_API asc_status asc_settings_preset(asc_settings *settings, const char *name);

/* The presets' names; NULL past the last. */
ASC_API const char *asc_preset_at(int i);

/* Takes the settings of the run `run`, but for those that were set before and may be given anew. ASC_ERR_ARG: another
 * one was set, to another value than the run's; ASC_ERR_IO, ASC_ERR_FORMAT: there is no such run. */
ASC_API asc_status asc_settings_resume(asc_settings *settings, const char *run);

/* The training is to have the data that the run `run` was trained on: asc_train refuses splits that differ from the
 * run's, and a vocabulary that does where both have one `tokenizer`, by their checksums, as ASC_ERR_FORMAT. ASC_ERR_IO,
 * ASC_ERR_FORMAT: there is no such run, or it knows no checksums. */
ASC_API asc_status asc_settings_data_of(asc_settings *settings, const char *run);

/* The number of threads that the settings ask for; 0: one per processor. */
ASC_API int asc_settings_threads(const asc_settings *settings);

/* ---- evaluation ---- */

typedef struct asc_eval_options {
    int64_t batch; /* blocks at a time, >= 1 */
    /* Tokens of a stream's blocks; 0: asc_lm_block. Sequences have the length that they have. */
    int64_t length;
    /* Tokens of the block before that each block looks back at (asc_lm_carried_new), >= 0: a stream is then read as
     * one, a block at a time. 0: each block by itself. */
    int64_t carry;
    /* Called with each batch of predicted tokens, in the order of the text; NULL: not. A token that is given comes as
     * -1, its loss 0. Of a classifier: with the class of each sequence. Another status than ASC_OK ends the
     * evaluation. */
    asc_status (*tokens)(void *user, const int64_t *ids, const double *losses, int64_t n);
    /* Called with each block or sequence, in order: the sum of its predicted tokens' losses, or its class's, and how
     * many they are. NULL: not. Another status than ASC_OK ends the evaluation. */
    asc_status (*block)(void *user, int64_t number, double nats, int64_t tokens);
    /* Called after each batch with the part that is done, 0 … 1; false: ASC_ERR_INTERRUPTED. NULL: not. */
    bool (*progress)(void *user, double done);
    void *user;
    /* [C, C] of a classifier, a row for each class, a column for each that was found most probable: the sequences are
     * added. NULL: not. */
    int64_t *confusion;
    const asc_features *features; /* of a model of pairs that takes states: asc_pair_features of the split */
    /* Called with each sequence of a classifier, in order: its class, the one that is found most probable, and the
     * loss, −log of its class's probability. NULL: not. Another status than ASC_OK ends the evaluation. */
    asc_status (*sequence)(void *user, int64_t number, int64_t label, int64_t found, double loss);
} asc_eval_options;

typedef struct asc_eval_result {
    int64_t tokens;        /* predicted: all but the first and those that are given; of a classifier the sequences */
    double loss;           /* mean cross-entropy, nats per token */
    double ppl;            /* exp(loss) */
    double bits_per_byte;  /* the total over the bytes of the text */
    double unknown;        /* the share of unknown tokens (<unk>, [UNK]) among those predicted, 0 … 1; of classes 0 */
    double accuracy;       /* the share of the predicted that the model holds most probable. Of equally probable tokens
                            * each is held so, of such classes the first */
    double ece;            /* how far its probability is from that: asc_stats_calibration with 15 bins */
    int64_t sequences;     /* of a split of sequences; 0: a stream */
    double exact;          /* the share of the sequences with all of their answers right; NaN of a stream, of classes,
                            * and where no token is given */
} asc_eval_result;

/* Above this share of unknown tokens bits per byte compare with no other vocabulary's: one token, cheap to predict,
 * stands there for all the words that the text has. */
#define ASC_UNKNOWN_MOST 0.001

/* Evaluates `lm` on a split: blocks of options->length tokens, the last, shorter one too, so that every token but the
 * first is predicted once; or sequence by sequence. Leaves dropout at 0, and asc_lm_set_carried at NULL.
 * ASC_ERR_ARG: also longer blocks or sequences than learned positions go, another number of classes than the model's,
 * or a model that carries nothing; ASC_ERR_MEMORY, ASC_ERR_INTERRUPTED. */
ASC_API asc_status asc_evaluate(asc_ctx *ctx, asc_lm *lm, const asc_split *split, const asc_eval_options *options,
                                asc_eval_result *result);

/* ---- models in files ---- */

/* A trained model with what belongs to it. */
typedef struct asc_model {
    asc_lm *lm;
    asc_tokenizer *tokenizer;
    char *run;    /* the folder that the file is in, if that is a RUN; or NULL */
    char *data;   /* the run's data set, or NULL */
    int64_t batch; /* the run's batch; 32 without a run */
    asc_precision precision; /* of the run's products (asc_set_precision); ASC_PRECISION_F32 without a run */
    char checksum[9]; /* the file's ASC_SAFETENSORS_CRC; "" without */
    char *classes; /* of a classifier the names of its classes, a JSON list; or NULL */
    char *encoder; /* of pairs of sentences, the folder of the run's encoder; or NULL */
    char encoder_checksum[17]; /* asc_encoder_fingerprint of it; "" without */
} asc_model;

/* Opens a RUN (its best model) or a MODEL; new. `tokenizer`: NULL, or one of asc_tokenizer_new in place of the model's
 * own; a `word` of no run gets its words from the training split of `data`, which else may be
 * NULL. A file of tensors alone, as PyTorch saves a state_dict, is a model in a RUN, whose config.json and vocabulary
 * say what it is; a classifier's needs the names of its classes, too. ASC_ERR_IO, ASC_ERR_MEMORY; ASC_ERR_FORMAT: the
 * file is no model, or damaged; ASC_ERR_ARG: a tokenizer is needed, or the one given does not fit the model. */
ASC_API asc_model *asc_model_open(asc_ctx *ctx, const char *path, const char *tokenizer, asc_dataset *data);

/* Writes a model of ids alone, without a tokenizer: a safetensors file with its parameters, configuration and
 * checksums, atomically, as asc_safetensors_write; what asc_lm_load opens, and the program, which needs a tokenizer,
 * does not. ASC_ERR_IO, ASC_ERR_MEMORY. */
ASC_API asc_status asc_lm_save(asc_ctx *ctx, asc_lm *lm, const char *path);
/* The model of such a file, or of a MODEL with a tokenizer, which is left out; new. ASC_ERR_IO, ASC_ERR_MEMORY;
 * ASC_ERR_FORMAT: the file is no model, or damaged. */
ASC_API asc_lm *asc_lm_load(asc_ctx *ctx, const char *path);
ASC_API void asc_model_free(asc_ctx *ctx, asc_model *model); /* NULL is accepted */

/* Checks that a split is still the one that the model's run was trained with; nothing without a run.
 * ASC_ERR_FORMAT: it is another. */
ASC_API asc_status asc_model_check_split(asc_ctx *ctx, const asc_model *model, asc_split_kind kind,
                                         const asc_split *split);

/* Checks that a data set's classes are the model's, in their order; nothing for a language model. ASC_ERR_ARG: they are
 * others. */
ASC_API asc_status asc_model_check_classes(asc_ctx *ctx, const asc_model *model, const asc_dataset *dataset);

/* ---- training ---- */

typedef enum asc_train_phase {
    ASC_TRAIN_PHASE_READY,      /* the run stands, new or resumed; no step was done yet */
    ASC_TRAIN_PHASE_STEP,       /* a step was done */
    ASC_TRAIN_PHASE_EVALUATING, /* a batch of an evaluation was done */
    ASC_TRAIN_PHASE_EVALUATED,  /* an evaluation was done */
} asc_train_phase;

typedef struct asc_train_progress {
    asc_train_phase phase;
    int64_t step, steps;   /* done, and of the whole run */
    double epoch;          /* epochs done, with the fraction */
    int64_t tokens;        /* trained on so far */
    double loss, lr, grad_norm; /* of the last step */
    double tokens_per_s;   /* since the last line of metrics.jsonl */
    double elapsed_s;      /* of the run, interruptions not counted */
    double spent_s;        /* of this call */
    double limit_s;        /* its limit of time; 0: none */
    double left_s;         /* to its end, an estimate with evaluations and that limit; NaN: none yet */
    double evaluated;      /* ASC_TRAIN_PHASE_EVALUATING: the part that is done, 0 … 1 */
    asc_eval_result valid; /* of the last evaluation; loss is NaN before the first */
    int64_t best_step;     /* of the best evaluation; -1 before the first */
    bool log;              /* ASC_TRAIN_PHASE_STEP: the step gets a line of metrics.jsonl */
} asc_train_progress;

typedef struct asc_train_hooks {
    /* Called at the start, after each step, each batch of an evaluation, and each evaluation. false: save all that a
     * resume needs and end with ASC_ERR_INTERRUPTED. NULL: none. */
    bool (*progress)(void *user, const asc_train_progress *progress);
    /* A line for the user: a resume on another build, what was saved. NULL: none. */
    void (*message)(void *user, const char *text);
    void *user;
    /* Called now and then within a step or a batch of an evaluation, with what the last call of `progress` had, but for
     * the time. false: what is half done is given up, and it ends as by `progress`, where it stood before. NULL:
     * none. */
    bool (*working)(void *user, const asc_train_progress *progress);
    /* Every `sample_every` steps, how the model continues a text. NULL: none is made. */
    void (*sample)(void *user, const asc_train_progress *progress, const char *prompt, const char *continuation);
    /* Before the training, where sentences are encoded that no cache has: the part that is done, 0 … 1. NULL: none. */
    void (*encoding)(void *user, double done);
} asc_train_hooks;

typedef enum asc_train_end {
    ASC_TRAIN_END_STEPS,   /* all steps are done */
    ASC_TRAIN_END_EARLY,   /* as many evaluations as `early_stop` says have found nothing better */
    ASC_TRAIN_END_MINUTES, /* time is up */
    ASC_TRAIN_END_STOPPED, /* a hook asked for it */
} asc_train_end;

typedef struct asc_train_result {
    int64_t parameters, step, steps, tokens;
    double elapsed_s;
    /* On the validation split, all of it also with eval_tokens, unless the training was stopped; NaN: not evaluated. */
    double best_loss, best_ppl, best_bits_per_byte;
    double best_accuracy;  /* there, where that chose the best model ("best_by"); else NaN */
    double unknown;        /* the share of unknown tokens there; NaN: not evaluated by this call */
    int64_t best_step;
    bool has_test;         /* the data has a test split */
    int64_t carry;         /* asc_lm_carry of the model: evaluations were made so, as asc_eval_options has it */
    double source_ppl;     /* what a perfect model of the source reaches there (asc_dataset_entropy); NaN: unknown */
    asc_train_end end;
} asc_train_result;

/* Trains a model into the new folder `run`, or goes on with the training in it (`settings` from
 * asc_settings_resume). Paths in `settings` become absolute. `hooks` and `result` may be NULL; `result` is filled
 * in on ASC_OK, and where the training was stopped, on every rank. Hooks are rank 0's alone, but for `working`. What
 * asc_set_interrupt was given stops the training as `working` does; while the run is prepared it ends the call with
 * ASC_ERR_INTERRUPTED, and there is neither a step nor a result. ASC_ERR_ARG: wrong or missing settings, `run` exists,
 * or another process trains in it; ASC_ERR_IO, also where the file system has no room for the run's files;
 * ASC_ERR_FORMAT: a file of `run` is damaged, or not the run's, which then stays as it was; ASC_ERR_NONFINITE: a loss
 * or gradient norm is not finite, `run` keeps the last checkpoint and the best model; ASC_ERR_INTERRUPTED: a hook asked
 * for it, and all is saved, or as above; ASC_ERR_MEMORY, also where a step would need more than there is. */
ASC_API asc_status asc_train(asc_ctx *ctx, asc_settings *settings, const char *run, bool resume,
                             const asc_train_hooks *hooks, asc_train_result *result);

/* Goes on with the training in the folder `run` as its settings have it: asc_settings_resume and asc_train in one. */
ASC_API asc_status asc_train_resume(asc_ctx *ctx, const char *run, const asc_train_hooks *hooks,
                                    asc_train_result *result);


/* ---- sampling ---- */

/* How tokens are drawn from logits x. First x is made of them for tokens that were there before,
 *     x_i ← x_i / repeat_penalty  where x_i > 0,  x_i · repeat_penalty  else,
 * (Keskar et al. 2019, "CTRL: A Conditional Transformer Language Model for Controllable Generation", section 4.1, whose
 * quotient makes a negative logit more probable; hence the product, as in Hugging Face's Transformers). Then
 *     p_i = softmax(x / temperature)_i
 * of the top_k most probable, and of those remain, whichever are fewer, the most probable that together reach top_p
 * (Holtzman et al. 2020), and those with p_i >= min_p · max p (Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling
 * for Creative and Coherent LLM Outputs"). */
typedef struct asc_sampling {
    double temperature; /* 0: the most probable token */
    int64_t top_k;      /* only the k most probable; 0: all */
    double top_p;       /* only the most probable that together reach p; 1: all */
    uint64_t seed;
    double min_p;          /* only those at least this fraction as probable as the most probable one, 0 … 1; 0: all */
    double repeat_penalty; /* above 1 what was there before becomes less probable; 0 or 1: not */
    uint64_t nth;          /* which of the seed's continuations, from 0, below 2^24: each has draws of its own */
} asc_sampling;

/* Draws a token from logits (V), f32 or f64; the `draw`-th of the seed, below 2^40: the same for the same seed, nth,
 * draw and logits. Ties go to the lower id; one of -∞ is never drawn. -1 with the error set: ASC_ERR_ARG;
 * ASC_ERR_NONFINITE: a NaN or ∞ among the logits, or each is -∞; ASC_ERR_MEMORY. */
ASC_API int64_t asc_sample_token(asc_ctx *ctx, asc_tensor logits, const asc_sampling *sampling, uint64_t draw);

/* The same after the tokens `before` (n >= 0, each id once or more), to which repeat_penalty applies. ASC_ERR_ARG also
 * where one of them is no id. */
ASC_API int64_t asc_sample_after(asc_ctx *ctx, asc_tensor logits, const int32_t *before, int64_t n,
                                 const asc_sampling *sampling, uint64_t draw);

/* Continues `prompt` (n >= 0 tokens) by `count` tokens, each given to `token` as it comes; false ends it. A model that
 * streams (asc_lm_streams) remembers all of it. Of others, when the cache of asc_lm_block tokens is full, the newest
 * half is kept; repeat_penalty applies to all tokens of prompt and continuation nevertheless. An empty prompt starts
 * from the end of a line, '\n' where that is no token of its own, or without either from token 0; it may be NULL, and
 * with count 0 so may `sampling`. Leaves dropout at 0.
 * ASC_ERR_ARG; ASC_ERR_NONFINITE; ASC_ERR_MEMORY. */
ASC_API asc_status asc_generate(asc_ctx *ctx, const asc_model *model, const int32_t *prompt, int64_t n, int64_t count,
                                const asc_sampling *sampling, bool (*token)(void *user, int32_t id), void *user);

/* ---- text from text ---- */

typedef struct asc_writing {
    int64_t tokens; /* to write at most, >= 0 */
    asc_sampling sampling;
    const char *const *stop; /* texts in UTF-8, none empty, NULL past the last: the continuation ends before the first
                              * that is complete in it (of two, before the one that starts first), wherever tokens end;
                              * NULL: none */
    /* Called with the continuation piece by piece, whole characters in UTF-8, what may be a stop's beginning not before
     * it is none; false ends it. NULL: not. */
    bool (*text)(void *user, const char *text, size_t n);
    /* Called with each token before its text, those of the stop among them; false ends it. NULL: not. */
    bool (*token)(void *user, int32_t id);
    void *user;
} asc_writing;

typedef enum asc_writing_end {
    ASC_WRITING_END_TOKENS,  /* all tokens are written */
    ASC_WRITING_END_STOP,    /* a stop came */
    ASC_WRITING_END_REFUSED, /* `text` or `token` returned false */
} asc_writing_end;

typedef struct asc_written {
    asc_writing_end end;
    int64_t tokens; /* drawn, those of the stop among them */
    double seconds; /* with the reading of the prompt */
} asc_written;

/* Continues a prompt of n bytes as asc_generate does; the prompt itself is not given to `text`. `written` may be NULL.
 * ASC_ERR_ARG, ASC_ERR_NONFINITE, ASC_ERR_MEMORY, ASC_ERR_INTERRUPTED (asc_set_interrupt). */
ASC_API asc_status asc_generate_text(asc_ctx *ctx, const asc_model *model, const char *prompt, size_t n,
                                     const asc_writing *writing, asc_written *written);

#ifdef __cplusplus
}
#endif
#endif
