/* train/settings.c: the settings of a training: its own table, and those of the models that it may train. */
#include "train/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>
#include <program/settings.h>

#include "tensor/need.h"

#define AT(field) offsetof(asc_values, field)
#define MUCH 1e15

static const char *const schedules[] = {[ASC_DECAY_CONSTANT] = "constant",
                                        [ASC_DECAY_LINEAR] = "linear",
                                        [ASC_DECAY_COSINE] = "cosine",
                                        [ASC_DECAY_WSD] = "wsd",
                                        NULL};
static const char *const optimizers[] = {
    [ASC_RULE_ADAMW] = "adamw", [ASC_RULE_SGD] = "sgd", [ASC_RULE_MUON] = "muon", NULL};
static const char *const measures[] = {[ASC_BEST_BY_LOSS] = "loss", [ASC_BEST_BY_ACCURACY] = "accuracy", NULL};
static const char *const class_weights[] = {"none", "balanced", NULL};
static const char *const dtypes[] = {"f32", "f64", NULL};
static const char *const precisions[] = {[ASC_PRECISION_F32] = "f32", [ASC_PRECISION_BF16] = "bf16", NULL};

const asc_setting asc_train_settings[] = {
    {"data", ASC_SETTING_TEXT, AT(data), "", .help = "what to train on", .argument = "D", .group = "Data"},
    {"tokenizer", ASC_SETTING_TEXT, AT(tokenizer), "word", .help = "how text is cut into tokens", .argument = "T"},
    {"encoder", ASC_SETTING_TEXT, AT(encoder), "",
     .help = "folder of a frozen encoder of the BERT family, whose states a model of pairs (head pairs) takes; without "
             "one it embeds tokens itself",
     .flags = ASC_SETTING_ANEW, .argument = "DIR"},
    {"cache", ASC_SETTING_TEXT, AT(cache), "",
     .help = "folder that keeps tokenised text of files, and an encoder's states of sentences, for several runs on the "
             "same; without one tokens are kept nowhere, and states in the user's cache",
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL | ASC_SETTING_RARE, .argument = "DIR"},
    {"batch", ASC_SETTING_INT, AT(batch), "32", .help = "sequences at a time", .min = 1, .max = 1 << 20,
     .group = "Optimisation"},
    {"accumulate", ASC_SETTING_INT, AT(accumulate), "1", .help = "batches whose gradients make a step", .min = 1,
     .max = 1 << 20, .flags = ASC_SETTING_RARE},
    {"shards", ASC_SETTING_INT, AT(shards), "1",
     .help = "parts of a batch, a divisor of it, whose gradients are made each alone and added in a fixed order: as "
             "many processes, or fewer by a divisor, make the same model",
     .min = 1, .max = 1 << 20, .flags = ASC_SETTING_RARE},
    {"data_from_rank", ASC_SETTING_INT, AT(data_from_rank), "-1",
     .help =
         "0: of several processes the first reads data and vocabulary, and sends them to the others; -1: each reads",
     .min = -1, .max = 0, .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL | ASC_SETTING_RARE, .argument = "R"},
    {"shard_optimizer", ASC_SETTING_BOOL, AT(shard_optimizer), "false",
     .help = "divide what the optimiser keeps among the processes, by whole tensors: less memory, the same model",
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL | ASC_SETTING_RARE},
    {"batch_schedule", ASC_SETTING_TEXT, AT(batch_schedule), "",
     .help = "sequences of a step over the steps, in place of batch times accumulate: AT:N,AT:N…, AT a step or a share "
             "of the run's steps in %; from there on N, at most as many tokens as those have; before the first point "
             "as there",
     .flags = ASC_SETTING_RARE, .argument = "POINTS"},
    {"block_schedule", ASC_SETTING_TEXT, AT(block_schedule), "",
     .help = "tokens of a training block over the steps, AT:N,AT:N… as batch_schedule has them, the largest the "
             "model's block, which evaluations take",
     .flags = ASC_SETTING_RARE, .argument = "POINTS"},
    {"group_by_length", ASC_SETTING_BOOL, AT(group_by_length), "false",
     .help = "batches of sequences that are about as long as each other, in random order: less padding to compute",
     .flags = ASC_SETTING_RARE},
    {"dropout", ASC_SETTING_REAL, AT(dropout), "0.1", .help = "dropout while training", .max = ASC_DROPOUT_MOST,
     .argument = "P"},
    {"dropout_schedule", ASC_SETTING_TEXT, AT(dropout_schedule), "",
     .help = "dropout over the steps, in place of one number: AT:P,AT:P…, AT a step or a share of the run in %; "
             "straight between the points, and as the last after it",
     .flags = ASC_SETTING_RARE, .argument = "POINTS"},
    {"optimizer", ASC_SETTING_CHOICE, AT(optimizer), "adamw",
     .help = "what changes the parameters; muon: the matrices within blocks, and AdamW all others",
     .choices = optimizers, .argument = "NAME"},
    {"param_groups", ASC_SETTING_TEXT, AT(groups), "",
     .help = "PATTERN:lr=R,decay=W,optimizer=NAME;PATTERN:…: parameters with a rate, a decay or an optimiser of their "
             "own, by name ('*' and '?'); the later counts",
     .flags = ASC_SETTING_RARE, .argument = "GROUPS"},
    {"lr", ASC_SETTING_REAL, AT(lr), "1e-3", .help = "highest learning rate", .max = 1000, .argument = "R"},
    {"min_lr", ASC_SETTING_REAL, AT(min_lr), "-1", .help = "learning rate at the end; below 0: a tenth of the highest",
     .min = -1, .max = 1000, .flags = ASC_SETTING_RARE, .argument = "R"},
    {"warmup", ASC_SETTING_INT, AT(warmup), "100", .help = "steps in which the learning rate rises", .max = MUCH},
    {"sep_delay", ASC_SETTING_REAL, AT(sep_delay), "-1",
     .help = "how long ASCender's omega_sep is 0: below 1 a share of the run, else steps; -1: the warm-up before a "
             "sep_ramp, else not at all",
     .min = -1, .max = MUCH, .flags = ASC_SETTING_RARE},
    {"sep_ramp", ASC_SETTING_REAL, AT(sep_ramp), "0",
     .help = "how long it then rises to its setting, whatever --init has, after which it is trained: below 1 a share "
             "of the run, else steps",
     .max = MUCH, .flags = ASC_SETTING_RARE},
    {"aux_delay", ASC_SETTING_REAL, AT(aux_delay), "0",
     .help = "how long auxiliary losses don't count: below 1 a share of the run, else steps; -1: the warm-up",
     .min = -1, .max = MUCH, .flags = ASC_SETTING_RARE},
    {"curriculum", ASC_SETTING_TEXT, AT(curriculum), "",
     .help = "numbers of ASCender's over the steps, NAME=AT:VALUE,AT:VALUE…;NAME=…, AT a step or a share of the run in "
             "%; trained after the last point",
     .flags = ASC_SETTING_RARE, .argument = "COURSES"},
    {"schedule", ASC_SETTING_CHOICE, AT(schedule), "cosine",
     .help = "how the learning rate falls to its end; wsd: it stays, and falls in the last fall steps",
     .choices = schedules, .argument = "S"},
    {"fall", ASC_SETTING_REAL, AT(fall), "0.2",
     .help = "how long the learning rate falls with wsd: below 1 a share of the schedule, else steps; a run that is "
             "resumed with more steps goes on from where it began to fall",
     .max = MUCH, .flags = ASC_SETTING_RARE},
    {"schedule_steps", ASC_SETTING_INT, AT(schedule_steps), "0",
     .help = "steps to the lowest learning rate; 0: those of the run", .max = MUCH, .flags = ASC_SETTING_RARE},
    {"weight_decay", ASC_SETTING_REAL, AT(weight_decay), "0.1", .help = "decay of matrices and embeddings", .max = 1000,
     .argument = "W"},
    {"beta1", ASC_SETTING_REAL, AT(beta1), "0.9", .help = "AdamW's first moment", .min = 0.001, .max = 0.999999,
     .flags = ASC_SETTING_RARE, .argument = "B"},
    {"beta2", ASC_SETTING_REAL, AT(beta2), "0.999", .help = "AdamW's second moment", .min = 0.001, .max = 0.9999999,
     .flags = ASC_SETTING_RARE, .argument = "B"},
    {"momentum", ASC_SETTING_REAL, AT(momentum), "0.95", .help = "Muon's and SGD's momentum", .max = 0.999999,
     .flags = ASC_SETTING_RARE, .argument = "M"},
    {"average", ASC_SETTING_REAL, AT(average), "0",
     .help = "evaluate, show and save running means of the parameters, with this decay a step; 0: the parameters",
     .max = 0.9999999, .flags = ASC_SETTING_RARE, .argument = "D"},
    {"class_weights", ASC_SETTING_CHOICE, AT(class_weights), "none",
     .help = "of a classifier's loss; balanced: a class counts as if each were there equally often",
     .choices = class_weights, .flags = ASC_SETTING_RARE},
    {"clip", ASC_SETTING_REAL, AT(clip), "1", .help = "largest norm of the gradient; 0: any", .max = 1e30,
     .argument = "NORM"},
    {"epochs", ASC_SETTING_INT, AT(epochs), "10", .help = "passes over the training split; 0: no limit", .max = 1e9,
     .flags = ASC_SETTING_ANEW, .group = "Length"},
    {"steps", ASC_SETTING_INT, AT(steps), "0", .help = "steps in all; 0: no limit", .max = MUCH,
     .flags = ASC_SETTING_ANEW},
    {"minutes", ASC_SETTING_REAL, AT(minutes), "0",
     .help = "stop after so many minutes, or 90s, or 2h, ready to be resumed; 0: no limit", .max = 1e9,
     .flags = ASC_SETTING_ANEW | ASC_SETTING_MINUTES | ASC_SETTING_NEUTRAL, .argument = "TIME"},
    {"eval_every", ASC_SETTING_INT, AT(eval_every), "0",
     .help = "steps between evaluations; 0: at the end of each epoch", .max = MUCH,
     .group = "Evaluation, log and checkpoints"},
    {"eval_tokens", ASC_SETTING_INT, AT(eval_tokens), "0",
     .help = "tokens that an evaluation takes, the validation split's first; the best model is the best on them, and "
             "at the end it is evaluated on the whole split; 0: always all",
     .max = MUCH},
    {"early_stop", ASC_SETTING_INT, AT(early_stop), "0",
     .help = "stop after this many evaluations without a better one; 0: never", .max = MUCH, .flags = ASC_SETTING_ANEW},
    {"best_by", ASC_SETTING_CHOICE, AT(best_by), "loss",
     .help = "what makes an evaluation the best, and its model the one that is kept; of equal accuracy the lower loss",
     .choices = measures},
    {"log_every", ASC_SETTING_INT, AT(log_every), "10", .help = "steps between lines of metrics.jsonl", .min = 1,
     .max = MUCH, .flags = ASC_SETTING_NEUTRAL | ASC_SETTING_RARE},
    {"tensorboard", ASC_SETTING_BOOL, AT(tensorboard), "false",
     .help = "write the lines of metrics.jsonl as TensorBoard's event file, too, into RUN/tensorboard",
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL},
    {"sample_every", ASC_SETTING_INT, AT(sample_every), "0",
     .help = "steps between samples of what the model writes; 0: none", .max = MUCH,
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL},
    {"checkpoint_every", ASC_SETTING_INT, AT(checkpoint_every), "200",
     .help = "steps between checkpoints; one more at each better evaluation", .min = 1, .max = MUCH,
     .flags = ASC_SETTING_NEUTRAL | ASC_SETTING_RARE},
    {"seed", ASC_SETTING_INT, AT(seed), "1", .help = "of initial values, dropout and the order of the blocks",
     .max = MUCH, .group = "Computation"},
    {"threads", ASC_SETTING_INT, AT(threads), "0", .help = "threads that compute; 0: one per processor", .max = 1024,
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL},
    {"recompute", ASC_SETTING_BOOL, AT(recompute), "false",
     .help = "compute each block again in the backward pass rather than keep it: less memory, the same model",
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL | ASC_SETTING_RARE},
    {"dtype", ASC_SETTING_CHOICE, AT(dtype), "f32", .help = "of parameters and activations", .choices = dtypes,
     .flags = ASC_SETTING_RARE, .argument = "T"},
    {"precision", ASC_SETTING_CHOICE, AT(precision), "f32",
     .help = "of matrix products; bf16: operands rounded to bfloat16, sums and all else in float32",
     .choices = precisions, .argument = "P"},
    {"init", ASC_SETTING_TEXT, AT(init), "", .help = "a RUN or MODEL whose parameters to start from",
     .argument = "MODEL", .group = "Model"},
    {"debug_nan", ASC_SETTING_BOOL, AT(debug_nan), "false",
     .help = "name the first op, layer and tensor with a value that is not finite",
     .flags = ASC_SETTING_ANEW | ASC_SETTING_NEUTRAL | ASC_SETTING_RARE, .group = "Computation"},
    {0},
};
enum { N_SETTINGS = sizeof asc_train_settings / sizeof *asc_train_settings - 1 };
_Static_assert((int)N_SETTINGS <= (int)ASC_SETTINGS_MAX, "asc_settings.from is too short");

asc_schema asc_settings_schema(const asc_ctx *ctx, int i)
{
    return i == 0 ? (asc_schema){"train", asc_train_settings} : asc_lm_schema(ctx, i - 1);
}

/* ---- finding ---- */

void asc_settings_spell(const char *key, char name[ASC_SETTING_NAME])
{
    snprintf(name, ASC_SETTING_NAME, "%s", key);
    for (char *c = name; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
}

static bool is_option(const asc_setting *row, const char *name)
{
    char option[ASC_SETTING_NAME];
    asc_settings_spell(row->option ? row->option : "", option);
    return strcmp(option, name) == 0;
}

/* The model's options are found before another's keys: "model" is an option. */
const asc_setting *asc_settings_find(const asc_ctx *ctx, const char *name, bool *model)
{
    const char *key = strcmp(name, "mixing") == 0 ? "mix" : name;
    asc_schema schema;
    for (int i = 0; (schema = asc_settings_schema(ctx, i)).owner; i++) {
        *model = i > 0;
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            if (strcmp(row->key, key) == 0 || (*model && is_option(row, key))) {
                return row;
            }
        }
    }
    return NULL;
}

/* The nearest so far: of `name` and `best` (or NULL), if `name` is close to what was given. */
static const char *nearer(const char *given, const char *name, const char *best)
{
    bool nearest = !best || asc_name_distance(given, name) < asc_name_distance(given, best);
    return name && asc_name_close(given, name) && nearest ? name : best;
}

/* What other programs call so, or the nearest name. */
static asc_status refuse_key(asc_ctx *ctx, const char *name)
{
    const char *known = asc_setting_synonym(name), *best = NULL;
    asc_schema schema;
    for (int i = 0; !known && (schema = asc_settings_schema(ctx, i)).owner; i++) {
        for (const asc_setting *row = schema.settings; row && row->key; row++) {
            best = nearer(name, row->key, nearer(name, row->option, best));
        }
    }
    if (known) {
        return asc_fail(ctx, ASC_ERR_ARG, "unknown setting '%s'; here it is '%s'", name, known);
    }
    best = best ? best : asc_setting_synonym_guess(name);
    return asc_fail(ctx, ASC_ERR_ARG, best ? "unknown setting '%s'; did you mean '%s'?"
                                           : "unknown setting '%s'; `ascgrad info --settings` lists them", name, best);
}

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "settings: out of memory");
}

/* ---- values ---- */

/* `steps` and `epochs` are two ways to say one thing: given on a later layer, each takes the other's place. */
static void supersede(asc_settings *s, const asc_setting *row, asc_source from)
{
    const char *rival = strcmp(row->key, "steps") == 0 ? "epochs" : strcmp(row->key, "epochs") == 0 ? "steps" : NULL;
    const asc_setting *other = asc_setting_find(asc_train_settings, rival);
    if (other && s->from[other - asc_train_settings] < (char)from) {
        *(int64_t *)((char *)&s->values + other->offset) = 0;
    }
}

/* Gives the model's configuration a value. What was not given by hand goes again, if none of its mixings knows it. */
static asc_status put_model(asc_settings *s, const char *key, json_t *value, asc_source from)
{
    bool failed = json_object_set(s->model, key, value) != 0;
    if (from == ASC_SOURCE_HAND) {
        json_object_del(s->optional, key);
    } else {
        failed = json_object_set_new(s->optional, key, json_integer(from)) || failed;
    }
    return failed ? no_memory(s->ctx) : ASC_OK;
}

/* A mixing by name, or several for the layers; a list comes from a file, and the model's configuration checks it. */
static asc_status put_mix(asc_settings *s, const char *name, json_t *value, asc_source from)
{
    if (!json_is_string(value)) {
        return put_model(s, "mix", value, from);
    }
    json_t *mix = asc_settings_mix(s->ctx, name, json_string_value(value));
    asc_status status = mix ? put_model(s, "mix", mix, from) : asc_error(s->ctx);
    json_decref(mix);
    return status;
}

/* A value that is right for its row. */
static asc_status put_value(asc_settings *s, const asc_setting *row, const char *name, json_t *value, asc_source from)
{
    bool model = asc_setting_find(asc_train_settings, row->key) != row;
    if (asc_setting_check(s->ctx, row, name, value)) {
        return asc_error(s->ctx);
    }
    if (model) {
        return strcmp(row->key, "mix") == 0 ? put_mix(s, name, value, from) : put_model(s, row->key, value, from);
    }
    supersede(s, row, from);
    s->from[row - asc_train_settings] = (char)from;
    return asc_setting_store(s->ctx, row, value, &s->values);
}

asc_status asc_settings_put(asc_settings *s, const char *key, json_t *value, asc_source from)
{
    if (!value) { /* what JSON can't hold */
        return asc_fail_on(s->ctx, ASC_ERR_ARG, key, ": expected a text in UTF-8");
    }
    char name[ASC_SETTING_NAME];
    bool model;
    asc_settings_spell(key, name);
    const asc_setting *row = asc_settings_find(s->ctx, name, &model);
    if (!row) {
        return refuse_key(s->ctx, name);
    }
    json_t *plain = asc_setting_plain(s->ctx, row, name, value);
    asc_status status = plain ? put_value(s, row, name, plain, from) : asc_error(s->ctx);
    json_decref(plain);
    return status;
}

const char *asc_settings_text(const asc_settings *s, const char *key, bool *given)
{
    if (ASC_NEED(s ? s->ctx : NULL, "settings_text: key", key)) {
        return NULL;
    }
    if (strcmp(key, "model") == 0) {
        const char *mix = json_string_value(json_object_get(s->model, "mix"));
        if (given) {
            *given = json_object_get(s->model, "mix") != NULL;
        }
        return mix ? mix : "";
    }
    const asc_setting *row = asc_setting_find(asc_train_settings, key);
    if (!row || row->type != ASC_SETTING_TEXT) {
        asc_fail(s->ctx, ASC_ERR_ARG, "settings_text: '%s' is no setting of the training's that is text", key);
        return NULL;
    }
    if (given) {
        *given = s->from[row - asc_train_settings] != ASC_SOURCE_DEFAULT;
    }
    const char *text = *(const char *const *)((const char *)&s->values + row->offset);
    return text ? text : "";
}

asc_status asc_settings_set(asc_settings *s, const char *key, const char *value)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_set: key value", key, value);
    if (status) {
        return status;
    }
    char name[ASC_SETTING_NAME];
    bool model;
    asc_settings_spell(key, name);
    const asc_setting *row = asc_settings_find(s->ctx, name, &model);
    if (!row) {
        return refuse_key(s->ctx, name);
    }
    json_t *json = asc_setting_parse(s->ctx, row, name, value);
    status = json ? asc_settings_put(s, name, json, ASC_SOURCE_HAND) : asc_error(s->ctx);
    json_decref(json);
    return status;
}

asc_status asc_settings_option(asc_settings *s, const char *key, const char *value)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_option: key value", key, value);
    if (status || (status = asc_settings_set(s, key, value))) {
        return status;
    }
    char name[ASC_SETTING_NAME];
    bool model;
    asc_settings_spell(key, name);
    const asc_setting *row = asc_settings_find(s->ctx, name, &model);
    bool may_idle = model && row->flags & ASC_SETTING_REQUIRED && row->fallback;
    return may_idle && json_object_set_new(s->optional, row->key, json_false()) ? no_memory(s->ctx) : ASC_OK;
}

int asc_settings_threads(const asc_settings *s)
{
    return s ? (int)s->values.threads : 0;
}

/* ---- the object ---- */

asc_settings *asc_settings_new(asc_ctx *ctx)
{
    asc_settings *s = asc_alloc(ctx, sizeof *s);
    if (!s) {
        return NULL;
    }
    *s = (asc_settings){.ctx = ctx, .model = json_object(), .optional = json_object()};
    asc_reader nothing = {ctx, s->model, NULL};
    if (!s->model || !s->optional || asc_reader_read(&nothing, asc_train_settings, NULL, &s->values)) {
        no_memory(ctx);
        asc_settings_free(s);
        return NULL;
    }
    return s;
}

void asc_settings_free(asc_settings *s)
{
    if (s) {
        asc_values_clear(s->ctx, asc_train_settings, &s->values);
        json_decref(s->model);
        json_decref(s->optional);
        json_decref(s->checksums);
        json_decref(s->plan);
        json_decref(s->alike);
        asc_free(s->ctx, s, sizeof *s);
    }
}
