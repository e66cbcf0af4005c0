/* train/settings.h: the settings of a training, for train/'s own files. */
#ifndef TRAIN_SETTINGS_H
#define TRAIN_SETTINGS_H

#include <ascgrad/corpus.h>
#include <ascgrad/train.h>

#include "data/json.h"
#include "settings/reader.h"
#include "train/path.h"

enum { ASC_SETTINGS_MAX = 60 };
enum { ASC_BEST_BY_LOSS, ASC_BEST_BY_ACCURACY };

/* The values of a training's own settings; a text of "" stands for none. */
typedef struct asc_values {
    const char *data, *tokenizer, *encoder, *cache, *init, *curriculum, *groups, *dropout_schedule, *batch_schedule,
        *block_schedule;
    int schedule, dtype, precision, optimizer, best_by, class_weights;
    int64_t batch, accumulate, shards, data_from_rank, warmup, schedule_steps, epochs, steps, eval_every, eval_tokens,
        early_stop;
    int64_t log_every, sample_every, checkpoint_every, seed, threads;
    double dropout, lr, min_lr, weight_decay, beta1, beta2, momentum, average, clip, minutes, fall, sep_delay, sep_ramp,
        aux_delay;
    bool recompute, shard_optimizer, debug_nan, tensorboard, group_by_length;
} asc_values;

#define ASC_DROPOUT_MOST 0.999

/* Where a value comes from; the later wins. */
typedef enum asc_source { ASC_SOURCE_DEFAULT, ASC_SOURCE_PRESET, ASC_SOURCE_FILE, ASC_SOURCE_HAND } asc_source;

struct asc_settings {
    asc_ctx *ctx;
    asc_values values;
    json_t *model;     /* the model's configuration, as far as it was given … */
    json_t *optional;  /* … and the keys of it for mixings that the model may not have: its asc_source if a preset or a
                        * file gave it, false if an option did, whose user is told */
    json_t *checksums; /* of a resumed run's data: split to text; or NULL */
    json_t *plan;      /* of a resumed run, as its config.json has it; or NULL */
    json_t *alike;     /* the config.json of a run whose data these must be, its folder "run"; or NULL */
    char from[ASC_SETTINGS_MAX]; /* an asc_source for each of asc_train_settings */
};

/* Gives `key` a JSON value (borrowed). ASC_ERR_ARG. */
asc_status asc_settings_put(asc_settings *s, const char *key, json_t *value, asc_source from);

/* Takes all members of a JSON object; `source` names it in messages. ASC_ERR_ARG. */
asc_status asc_settings_put_all(asc_settings *s, json_t *object, asc_source from, const char *source);

/* The table of a training's own settings. */
extern const asc_setting asc_train_settings[];

/* A key or an option as it is looked for: with '_' for '-'. */
enum { ASC_SETTING_NAME = 128 };
void asc_settings_spell(const char *key, char name[ASC_SETTING_NAME]);

/* The row of a key, or an option, spelled so: the training's (*model false), the model's, or a mixing's. NULL if there
 * is none. */
const asc_setting *asc_settings_find(const asc_ctx *ctx, const char *name, bool *model);

/* Whether a key of a run's config.json is a fact about the run, and no setting. */
bool asc_settings_is_fact(const char *key);

/* The learning rate at the end: below 0 min_lr stands for a tenth of the highest. */
double asc_lowest_lr(const asc_values *v);

/* Whether two values of settings are the same, in the digits that a run keeps. */
bool asc_settings_same(const json_t *a, const json_t *b);

/* Makes the paths of data and vocabulary absolute, so that a run can be resumed from anywhere. Without a vocabulary an
 * encoder's is taken; not by the second. */
asc_status asc_settings_locate(asc_settings *s);
asc_status asc_settings_locate_given(asc_settings *s);

/* What a model has from its data. */
typedef struct asc_model_sizes {
    int64_t vocab;
    int64_t classes; /* of sequences; 0: they have none */
    int64_t states;  /* entries of a state of pairs' encoder; 0: they have none */
    int64_t longest; /* inputs of a sequence; 0: a stream, whose blocks are as long as one likes */
} asc_model_sizes;

/* Whether the settings ask for a classifier, of sequences or pairs. */
bool asc_settings_classify(const asc_settings *s);

/* The model's configuration for data of those sizes: what was given over `base` (an initial model's
 * configuration as text, or NULL) over the defaults. New JSON text, to be freed with asc_text_drop; NULL with the
 * error set. */
char *asc_settings_model(const asc_settings *s, const char *base, const asc_model_sizes *sizes);

/* The dtype that the settings name. */
asc_dtype asc_settings_dtype(const asc_settings *s);
/* The context's products become as the settings name them. ASC_ERR_ARG: bf16 with f64; ASC_ERR_MEMORY. */
asc_status asc_settings_set_precision(const asc_settings *s);

/* A list of mixings, with commas, by names or their beginnings: a JSON string if it is one, else an array. New; NULL
 * with the error set: ASC_ERR_ARG. `name` is what the setting was called. */
json_t *asc_settings_mix(asc_ctx *ctx, const char *name, const char *text);

/* Compares a split with the checksum that a run's config.json has of it, if it has one. ASC_ERR_FORMAT: it is
 * another. */
asc_status asc_split_verify(asc_ctx *ctx, json_t *checksums, const char *run, asc_split_kind kind,
                            const asc_split *split);

#endif
