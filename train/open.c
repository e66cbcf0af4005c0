/* train/open.c: what a training works on: its data, vocabulary and model. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/corpus.h>
#include <program/settings.h>

#include "data/tokenizer.h"
#include "tensor/ctx.h"
#include "train/run/format.h"
#include "train/inert.h"
#include "train/token_cache.h"
#include "train/trainer.h"

/* ---- data ---- */

/* A resumed run's vocabulary must be the one that its parameters were trained with. */
static asc_status check_vocab(const asc_trainer *t)
{
    int64_t size = asc_tokenizer_size(t->tokenizer);
    const json_t *model = json_object_get(t->settings->model, "vocab");
    const char *expected = json_string_value(json_object_get(t->settings->checksums, "vocab"));
    bool has_file = asc_path_exists(t->folder.vocab);
    char got[9];
    if (asc_vocab_checksum(t->tokenizer, got)) {
        return asc_error(t->ctx);
    }
    if (has_file && json_is_integer(model) && size != json_integer_value(model)) {
        return asc_fail(t->ctx, ASC_ERR_FORMAT, "%s: has %" PRId64 " tokens, but the model in %s has %" PRId64,
                        t->folder.vocab, size, t->folder.config, (int64_t)json_integer_value(model));
    }
    if (has_file && expected && strcmp(got, expected) != 0) {
        return asc_fail(t->ctx, ASC_ERR_FORMAT, "%s: has changed: checksum %s, but %s was made with %s",
                        t->folder.vocab, got, t->folder.path, expected);
    }
    return ASC_OK;
}

/* The vocabulary of a resumed run, the initial model's own (whose ids its parameters know), or the training split's. */
static asc_tokenizer *open_tokenizer(asc_trainer *t, bool resume, asc_model *init)
{
    const char *spec = t->settings->values.tokenizer;
    const asc_tokenizer_kind *kind = asc_tokenizer_kind_find(t->ctx, spec);
    if (kind && resume) {
        return asc_tokenizer_load_with(t->ctx, kind->name, t->folder.vocab, ASC_TEXT_OWN);
    }
    asc_tokenizer *tokenizer = init && kind && kind->collect ? init->tokenizer : NULL;
    if (tokenizer && strcmp(asc_tokenizer_name(tokenizer), kind->name) == 0) {
        init->tokenizer = NULL;
        return tokenizer;
    }
    tokenizer = asc_tokenizer_new(t->ctx, spec);
    if (tokenizer && asc_dataset_collect(t->data, tokenizer)) {
        asc_tokenizer_free(tokenizer);
        return NULL;
    }
    return tokenizer;
}

/* Of as many tokens in another order the initial model's embeddings would be other words'. */
static asc_status check_init_vocab(const asc_trainer *t, const asc_model *init)
{
    char ours[9], theirs[9];
    if (!init->tokenizer || asc_tokenizer_size(init->tokenizer) != asc_tokenizer_size(t->tokenizer)) {
        return ASC_OK; /* it is ours now; sizes are the model's to tell */
    }
    if (asc_vocab_checksum(t->tokenizer, ours) || asc_vocab_checksum(init->tokenizer, theirs)) {
        return asc_error(t->ctx);
    }
    return strcmp(ours, theirs) == 0
               ? ASC_OK
               : asc_fail_on(t->ctx, ASC_ERR_ARG, "init", ": the vocabulary of %s has the checksum %s, and the "
                             "tokenizer's %s: a model's words are those that it was trained with",
                             t->settings->values.init, theirs, ours);
}

/* What a resumed run was trained on, or a run that this one is to be like. */
static asc_status check_splits(const asc_trainer *t, json_t *checksums, const char *run)
{
    asc_split_verify(t->ctx, checksums, run, ASC_SPLIT_TRAIN, t->train);
    return asc_split_verify(t->ctx, checksums, run, ASC_SPLIT_VALID, t->valid);
}

static void pass_on(void *trainer, const char *text)
{
    asc_trainer_say(trainer, text);
}

asc_split *asc_trainer_open_split(asc_trainer *t, asc_split_kind kind)
{
    return asc_split_cached(t->data, kind, t->tokenizer, t->settings->values.cache, pass_on, t);
}

static asc_status check_alike(asc_trainer *t)
{
    const json_t *config = t->settings->alike;
    json_t *checksums = json_object_get(config, "data_checksum");
    const char *run = json_string_value(json_object_get(config, "run"));
    const char *tokenizer = json_string_value(json_object_get(config, "tokenizer"));
    const char *expected = json_string_value(json_object_get(checksums, "vocab"));
    char got[9];
    asc_split *test = json_object_get(checksums, "test") ? asc_trainer_open_split(t, ASC_SPLIT_TEST) : NULL;
    asc_status status = test ? asc_split_verify(t->ctx, checksums, run, ASC_SPLIT_TEST, test)
                             : asc_trainer_spares_test(t, false);
    asc_split_free(t->ctx, test);
    if (status || check_splits(t, checksums, run) || asc_vocab_checksum(t->tokenizer, got)) {
        return asc_error(t->ctx);
    }
    bool same = tokenizer && strcmp(tokenizer, t->settings->values.tokenizer) == 0;
    return same && expected && strcmp(expected, got) != 0
               ? asc_fail(t->ctx, ASC_ERR_FORMAT, "the vocabulary has changed: checksum %s, but %s was made with %s",
                          got, run, expected)
               : ASC_OK;
}

static asc_status read_data(asc_trainer *t, const char *run, bool resume, asc_model *init)
{
    const asc_values *v = &t->settings->values;
    if (!*v->data) {
        char list[400];
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "data", " is missing: %s",
                           asc_data_source_list(t->ctx, list, sizeof list));
    }
    t->data = asc_dataset_open(t->ctx, v->data);
    t->tokenizer = t->data ? open_tokenizer(t, resume, init) : NULL;
    if (t->tokenizer && ((resume && check_vocab(t)) || (init && check_init_vocab(t, init)))) {
        return asc_error(t->ctx);
    }
    t->train = t->tokenizer ? asc_trainer_open_split(t, ASC_SPLIT_TRAIN) : NULL;
    t->valid = t->train ? asc_trainer_open_split(t, ASC_SPLIT_VALID) : NULL;
    if (t->valid && t->train->skipped + t->valid->skipped > 0) {
        char text[120];
        snprintf(text, sizeof text,
                 "%" PRId64 " pairs for training and %" PRId64 " for validation are left out, as they have no class",
                 t->train->skipped, t->valid->skipped);
        asc_trainer_say(t, text);
    }
    if (t->valid && resume && t->settings->checksums) {
        check_splits(t, t->settings->checksums, run);
    }
    if (t->valid && t->settings->alike && !asc_error(t->ctx)) {
        check_alike(t);
    }
    return asc_error(t->ctx);
}

/* The inputs of a split's longest sequence, of a language model or, if that is what there is to train, a classifier;
 * 0 of a stream. */
static int64_t longest_of(const asc_trainer *t, const asc_split *split)
{
    return !split                               ? 0
           : asc_settings_classify(t->settings) ? asc_class_width(split, NULL, split->n_sequences)
                                                : asc_split_longest(split);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

asc_status asc_trainer_spares_test(const asc_trainer *t, bool aloud)
{
    asc_status status = asc_error(t->ctx);
    if (status == ASC_ERR_MEMORY || status == ASC_ERR_INTERRUPTED) {
        return status;
    }
    char text[1100];
    snprintf(text, sizeof text, "goes without a test split: %s", asc_error_message(t->ctx));
    asc_error_clear(t->ctx);
    if (aloud) {
        asc_trainer_say(t, text);
    }
    return ASC_OK;
}

/* The longest that the run sees; 0: streams. */
static int64_t longest_input(const asc_trainer *t)
{
    return larger(longest_of(t, t->train), longest_of(t, t->valid));
}

/* The block of a model if none was given: long enough for the test split, too, and what else the data can have. */
static int64_t default_block(const asc_trainer *t)
{
    enum { SENTENCE = 48 }; /* of pairs, whose longer sentences are cut */
    if (asc_settings_pairs(t->settings)) {
        return SENTENCE;
    }
    int64_t longest = longest_input(t);
    if (longest == 0 || json_object_get(t->settings->model, "block")) {
        return longest;
    }
    asc_split *test = asc_split_load(t->data, ASC_SPLIT_TEST, t->tokenizer);
    if (!test && asc_trainer_spares_test(t, false)) {
        return 0;
    }
    longest = larger(longest, larger(longest_of(t, test), asc_dataset_longest(t->data)));
    asc_split_free(t->ctx, test);
    return longest;
}

asc_status asc_trainer_open_data(asc_trainer *t, const char *run, bool resume, asc_model *init)
{
    if (!asc_error(t->ctx) && asc_settings_reads_data(t->settings) && read_data(t, run, resume, init) == ASC_OK &&
        asc_trainer_open_encoder(t, resume) == ASC_OK) {
        t->from_data = (asc_from_data){default_block(t), asc_encoder_dim(t->encoder)};
    }
    return asc_ranks_share_data(t);
}

/* ---- the model ---- */

/* What does not fit of an initial model: the first few tensors by name, and how many they are. */
typedef struct misfits {
    int n;
    char text[600];
} misfits;

static void add_misfit(misfits *m, const char *name, const char *theirs, const char *ours)
{
    enum { NAMED = 4 };
    size_t n = strlen(m->text);
    if (m->n++ < NAMED) {
        snprintf(m->text + n, sizeof m->text - n, "%s%.60s %s there, %s here", n ? "; " : "", name, theirs, ours);
    }
}

/* The initial model must have the new model's tensors, of the same shapes, and no others: half a model is none. */
static asc_status check_init(const asc_trainer *t, const asc_params *from, const asc_params *to)
{
    misfits m = {0};
    char text[2][ASC_SHAPE_TEXT];
    for (int i = 0; i < asc_params_count(to); i++) {
        const char *name = asc_params_name(to, i);
        asc_array ours = asc_array_of(asc_params_at(to, i)), theirs = asc_array_of(asc_params_find(from, name));
        bool missing = asc_is_null(asc_params_find(from, name));
        if (missing || !asc_same_shape(&ours, &theirs)) {
            add_misfit(&m, name, missing ? "none" : asc_shape_text(&theirs, text[0]), asc_shape_text(&ours, text[1]));
        }
    }
    for (int i = 0; i < asc_params_count(from); i++) {
        const char *name = asc_params_name(from, i);
        asc_array theirs = asc_array_of(asc_params_at(from, i));
        if (asc_is_null(asc_params_find(to, name))) {
            add_misfit(&m, name, asc_shape_text(&theirs, text[0]), "none");
        }
    }
    if (m.n == 0) {
        return ASC_OK;
    }
    return asc_fail_on(t->ctx, ASC_ERR_ARG, "init", ": %d tensor%s of %s %s not fit the new model: %s%s", m.n,
                       m.n == 1 ? "" : "s", t->settings->values.init, m.n == 1 ? "does" : "do", m.text,
                       m.n > 4 ? "; and others" : "");
}

static asc_status copy_init(const asc_trainer *t, const asc_params *from, asc_params *to)
{
    asc_status status = check_init(t, from, to);
    for (int i = 0; status == ASC_OK && i < asc_params_count(to); i++) {
        status = asc_copy(t->ctx, asc_params_at(to, i), asc_params_find(from, asc_params_name(to, i)));
    }
    return status;
}

/* Options that the model's mixings don't know. */
static void say_left_out(const asc_trainer *t)
{
    json_t *model = json_loads(asc_lm_config(t->lm), 0, NULL), *quiet;
    const char *key;
    json_object_foreach(t->settings->optional, key, quiet) {
        if (model && json_is_false(quiet) && !json_object_get(model, key)) {
            char text[100];
            snprintf(text, sizeof text, "%s is left out: no layer of this model knows it", key);
            asc_trainer_say(t, text);
        }
    }
    json_decref(model);
}

/* A block is one sequence, a class one of the data's. */
static asc_status check_sequences(const asc_trainer *t)
{
    int64_t longest = asc_lm_pair_inputs(t->lm).pairs ? 0 : longest_input(t), classes = asc_lm_classes(t->lm);
    const char *data = t->settings->values.data;
    if (classes > 0 && !t->train->labels) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "head", " is %s, but what %s has is no sequences with a class each",
                           asc_lm_pair_inputs(t->lm).pairs ? "pairs" : "classifier", data);
    }
    if (classes > 0 && classes != t->train->classes) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "classes", " is %" PRId64 ", but %s has %d", classes, data,
                           (int)t->train->classes);
    }
    if (longest > asc_lm_block(t->lm)) {
        bool of_preset = json_integer_value(json_object_get(t->settings->optional, "block")) == ASC_SOURCE_PRESET;
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "block", " is %" PRId64 "%s, but each block is one sequence, and %s "
                           "has some of %" PRId64 " tokens: expected --block %" PRId64 " or more",
                           asc_lm_block(t->lm), of_preset ? ", as the preset has it" : "", data, longest, longest);
    }
    return ASC_OK;
}

/* With initial values or, where there is a checkpoint, room for what that has. */
static asc_lm *new_lm(const asc_trainer *t, const char *config)
{
    const char *path = t->folder.checkpoint; /* of a run that is resumed; a new one has no folder yet */
    asc_safetensors *file = path && asc_path_exists(path) ? asc_format_open(t->ctx, path, true) : NULL;
    asc_values_source source = asc_params_source(&(asc_params_file){t->ctx, file, path, ASC_CHECKPOINT_PARAM});
    uint64_t seed = (uint64_t)t->settings->values.seed;
    asc_lm *lm = asc_lm_new_from(t->ctx, config, asc_settings_dtype(t->settings), seed, file ? &source : NULL);
    asc_safetensors_close(file);
    return lm;
}

/* The model of a configuration, which goes, with the initial model's parameters, in place of the one that is there. */
static asc_status make_lm(asc_trainer *t, char *config, const asc_model *init)
{
    const asc_values *v = &t->settings->values;
    int64_t vocab = asc_tokenizer_size(t->tokenizer);
    asc_lm_free(t->lm);
    t->lm = config ? new_lm(t, config) : NULL;
    asc_text_drop(config);
    if (t->lm && asc_lm_vocab(t->lm) != vocab) {
        asc_fail_on(t->ctx, ASC_ERR_ARG, "init",
                    ": the model %s has %" PRId64 " tokens, but the tokenizer has %" PRId64, v->init,
                    asc_lm_vocab(t->lm), vocab);
    }
    return asc_error(t->ctx) || check_sequences(t) || !init
               ? asc_error(t->ctx)
               : copy_init(t, asc_lm_params(init->lm), asc_lm_params(t->lm));
}

/* A configuration that leaves something to be measured becomes one that says what was found: a resumed run, and the
 * model's file, have that. */
static asc_status settle_inert(asc_trainer *t, const asc_model *init)
{
    char *config = asc_inert_settle(t->ctx, t->lm, t->train);
    return config ? make_lm(t, config, init) : asc_error(t->ctx);
}

asc_status asc_trainer_open_lm(asc_trainer *t, const asc_model *init)
{
    const asc_values *v = &t->settings->values;
    asc_model_sizes sizes = {.vocab = asc_tokenizer_size(t->tokenizer),
                             .classes = t->train->classes,
                             .states = t->from_data.states,
                             .longest = t->from_data.block};
    if (asc_settings_set_precision(t->settings)) {
        return asc_error(t->ctx);
    }
    char *config = asc_settings_model(t->settings, init ? asc_lm_config(init->lm) : NULL, &sizes);
    if (make_lm(t, config, init) || settle_inert(t, init)) {
        return asc_error(t->ctx);
    }
    asc_lm_set_recompute(t->lm, v->recompute);
    say_left_out(t);
    t->optim = asc_optimizer_new(t->ctx, v, t->lm);
    return asc_error(t->ctx);
}
