/* train/train.c: from settings to a training, new or resumed, and back to what came of it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/file.h>
#include <ascgrad/op.h>

#include "tensor/ctx.h"
#include "train/trainer.h"

static void say(const asc_trainer *t, const char *text)
{
    if (t->hooks.message) {
        t->hooks.message(t->hooks.user, text);
    }
}

/* ---- data ---- */

/* A resumed run's vocabulary must be the one that its parameters were trained with. */
static asc_status check_vocab(const asc_trainer *t)
{
    int64_t size = asc_tokenizer_size(t->tokenizer);
    const json_t *model = json_object_get(t->settings->model, "vocab");
    const char *expected = json_string_value(json_object_get(t->settings->checksums, "vocab"));
    bool has_file = asc_path_exists(t->folder.vocab);
    char got[9];
    asc_vocab_checksum(t->tokenizer, got);
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

/* The vocabulary of a resumed run, of the initial model (whose ids its parameters know), or of the training split. */
static asc_tokenizer *open_tokenizer(asc_trainer *t, bool resume, const asc_model *init)
{
    const char *spec = t->settings->values.tokenizer;
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, ":"), spec);
    if (resume) {
        return asc_tokenizer_load(t->ctx, name, t->folder.vocab);
    }
    if (init && init->run && strcmp(spec, "word") == 0) {
        char *vocab = asc_path_join(t->ctx, init->run, "vocab.txt");
        asc_tokenizer *tokenizer = vocab ? asc_tokenizer_load(t->ctx, name, vocab) : NULL;
        asc_path_free(t->ctx, vocab);
        return tokenizer;
    }
    asc_tokenizer *tokenizer = asc_tokenizer_new(t->ctx, spec);
    if (tokenizer && asc_dataset_collect(t->data, tokenizer)) {
        asc_tokenizer_free(tokenizer);
        return NULL;
    }
    return tokenizer;
}

static asc_status open_data(asc_trainer *t, const char *run, bool resume, const asc_model *init)
{
    const asc_values *v = &t->settings->values;
    if (!*v->data) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "data", " is missing: builtin, a text file or a folder");
    }
    t->data = asc_dataset_open(t->ctx, v->data);
    t->tokenizer = t->data ? open_tokenizer(t, resume, init) : NULL;
    if (t->tokenizer && resume && check_vocab(t)) {
        return asc_error(t->ctx);
    }
    t->train = t->tokenizer ? asc_split_load(t->data, ASC_TRAIN, t->tokenizer) : NULL;
    t->valid = t->train ? asc_split_load(t->data, ASC_VALID, t->tokenizer) : NULL;
    if (t->valid && resume && t->settings->checksums) {
        asc_split_verify(t->ctx, t->settings->checksums, run, ASC_TRAIN, t->train);
        asc_split_verify(t->ctx, t->settings->checksums, run, ASC_VALID, t->valid);
    }
    return asc_error(t->ctx);
}

/* ---- the model ---- */

/* The initial model must have the new model's tensors, of the same shapes, and no others: half a model is none. */
static asc_status check_init(const asc_trainer *t, const asc_params *from, const asc_params *to)
{
    const char *init = t->settings->values.init;
    char text[2][ASC_SHAPE_TEXT];
    for (int i = 0; i < asc_params_count(to); i++) {
        const char *name = asc_params_name(to, i);
        asc_array ours = asc_array_of(asc_params_at(to, i)), theirs = asc_array_of(asc_params_find(from, name));
        if (!asc_same_shape(&ours, &theirs)) {
            return asc_fail_on(t->ctx, ASC_ERR_ARG, "init", ": %s in %s is %s, expected %s", name, init,
                            asc_shape_text(&theirs, text[0]), asc_shape_text(&ours, text[1]));
        }
    }
    for (int i = 0; i < asc_params_count(from); i++) {
        const char *name = asc_params_name(from, i);
        asc_array theirs = asc_array_of(asc_params_at(from, i));
        if (asc_is_null(asc_params_find(to, name))) {
            return asc_fail_on(t->ctx, ASC_ERR_ARG, "init", ": %s in %s is %s, expected none of that name: the new "
                               "model is smaller", name, init, asc_shape_text(&theirs, text[0]));
        }
    }
    return ASC_OK;
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
            say(t, text);
        }
    }
    json_decref(model);
}

static asc_status open_lm(asc_trainer *t, const asc_model *init)
{
    const asc_values *v = &t->settings->values;
    int64_t vocab = asc_tokenizer_size(t->tokenizer);
    char *config = asc_settings_model(t->settings, init ? asc_lm_config(init->lm) : NULL, vocab);
    if (!config) {
        return asc_error(t->ctx);
    }
    t->lm = asc_lm_new(t->ctx, config, asc_settings_dtype(t->settings), (uint64_t)v->seed);
    asc_text_drop(config);
    if (t->lm && asc_lm_vocab(t->lm) != vocab) {
        asc_fail_on(t->ctx, ASC_ERR_ARG, "init",
                    ": the model %s has %" PRId64 " tokens, but the tokenizer has %" PRId64, v->init,
                    asc_lm_vocab(t->lm), vocab);
    }
    if (asc_error(t->ctx) || (init && copy_init(t, asc_lm_params(init->lm), asc_lm_params(t->lm)))) {
        return asc_error(t->ctx);
    }
    double each = 4 * (double)asc_dtype_size(asc_settings_dtype(t->settings));
    if (asc_memory_check(t->ctx, "parameters, gradients and AdamW's two moments take",
                         each * (double)asc_params_numel(asc_lm_params(t->lm)))) {
        return asc_error(t->ctx);
    }
    asc_lm_set_recompute(t->lm, v->recompute);
    say_left_out(t);
    t->optim = asc_adamw_new(t->ctx, asc_lm_params(t->lm),
                             &(asc_adamw_options){v->beta1, v->beta2, 0, v->weight_decay});
    return asc_error(t->ctx);
}

/* ---- the plan ---- */

static asc_status fill_step(void *user, int64_t first, int64_t n, int64_t *x, int64_t *y)
{
    asc_trainer *t = user;
    return asc_block_fill(t->ctx, t->train, t->stepper.block, t->order + t->first + first, n, x, y);
}

/* The number of steps: the smaller of the limits that there are. */
static int64_t count_steps(const asc_trainer *t)
{
    const asc_values *v = &t->settings->values;
    int64_t by_epochs = v->epochs > INT64_MAX / t->steps_per_epoch ? INT64_MAX : v->epochs * t->steps_per_epoch;
    return v->steps == 0 ? by_epochs : v->epochs == 0 || v->steps < by_epochs ? v->steps : by_epochs;
}

/* The learning rate at the end: a tenth of the highest unless it was given, in the digits that config.json has. */
static double lowest_lr(const asc_values *v)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", v->lr / 10);
    return v->min_lr < 0 ? strtod(text, NULL) : v->min_lr;
}

static asc_status count_blocks(asc_trainer *t)
{
    int64_t block = asc_lm_block(t->lm), each = t->settings->values.batch * t->settings->values.accumulate;
    t->blocks = asc_block_count(t->train->n_tokens, block, false);
    if (t->blocks == 0) {
        return asc_fail(t->ctx, ASC_ERR_ARG, "the train split has %" PRId64 " tokens, too few for a block of %" PRId64,
                        t->train->n_tokens, block);
    }
    t->steps_per_epoch = (t->blocks + each - 1) / each;
    return ASC_OK;
}

static asc_status plan(asc_trainer *t)
{
    const asc_values *v = &t->settings->values;
    t->steps = count_steps(t);
    if (t->steps == 0) {
        return asc_fail(t->ctx, ASC_ERR_ARG, "epochs and steps are both 0: one of them must say where the run ends");
    }
    t->schedule = (asc_schedule){(asc_decay)v->schedule, v->lr, lowest_lr(v), v->warmup,
                                 v->schedule_steps > 0 ? v->schedule_steps : t->steps};
    t->stepper = (asc_stepper){.ctx = t->ctx, .lm = t->lm, .optim = t->optim, .block = asc_lm_block(t->lm),
                               .batch = v->batch, .dropout = v->dropout, .clip = v->clip, .seed = (uint64_t)v->seed,
                               .fill = fill_step, .user = t};
    t->order = asc_alloc(t->ctx, (size_t)t->blocks * sizeof *t->order);
    t->epoch = -1;
    return asc_error(t->ctx);
}

/* ---- the folder ---- */

static json_t *describe_checksums(const asc_trainer *t)
{
    if (t->settings->checksums) {
        return json_deep_copy(t->settings->checksums);
    }
    char train[9], valid[9], vocab[9], test[9] = "";
    snprintf(train, sizeof train, "%08" PRIx32, t->train->checksum);
    snprintf(valid, sizeof valid, "%08" PRIx32, t->valid->checksum);
    asc_vocab_checksum(t->tokenizer, vocab);
    asc_split *split = asc_split_load(t->data, ASC_TEST, t->tokenizer);
    if (split) {
        snprintf(test, sizeof test, "%08" PRIx32, split->checksum);
        asc_split_free(t->ctx, split);
    } else {
        asc_error_clear(t->ctx); /* training needs no test split */
    }
    return json_pack("{s:s, s:s, s:s*, s:s}", "train", train, "valid", valid, "test", *test ? test : NULL, "vocab",
                     vocab);
}

/* config.json: every setting in effect, and in "plan" what the settings that are 0 have come to. */
static asc_status write_config(asc_trainer *t)
{
    json_t *object = json_pack("{s:s}", "version", ASC_VERSION);
    for (const asc_setting *row = asc_train_settings; row->key; row++) {
        json_object_set_new(object, row->key, asc_setting_json(row, &t->settings->values));
    }
    json_object_set_new(object, "min_lr", json_real(t->schedule.min_lr));
    json_object_set_new(object, "plan",
                        json_pack("{s:I, s:I, s:I, s:I, s:i}", "steps", (json_int_t)t->steps, "steps_per_epoch",
                                  (json_int_t)t->steps_per_epoch, "schedule_steps", (json_int_t)t->schedule.steps,
                                  "eval_every", (json_int_t)asc_trainer_eval_every(t), "threads",
                                  asc_threads(t->ctx)));
    json_object_set_new(object, "data_checksum", describe_checksums(t));
    json_object_set_new(object, "model", json_loads(asc_lm_config(t->lm), 0, NULL));
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(object);
    if (!text) {
        return asc_fail(t->ctx, ASC_ERR_MEMORY, "config.json: out of memory");
    }
    size_t n = strlen(text);
    text[n] = '\n'; /* in place of the 0 at its end */
    asc_status status = asc_file_write_atomic(t->ctx, t->folder.config, text, n + 1);
    asc_text_drop(text);
    return status;
}

/* As where a preset has the one and an option the other. */
static void say_rising(const asc_trainer *t)
{
    const asc_schedule *s = &t->schedule;
    if (s->decay != ASC_DECAY_CONSTANT && s->min_lr > s->lr) {
        char text[120];
        snprintf(text, sizeof text, "min_lr, %g, is above lr, %g: after the warm-up the learning rate goes on rising",
                 s->min_lr, s->lr);
        say(t, text);
    }
}

static asc_status start_run(asc_trainer *t, const char *run)
{
    say_rising(t);
    if (asc_folder_open(&t->folder, t->ctx, run, false) || asc_tokenizer_save(t->tokenizer, t->folder.vocab) ||
        write_config(t) || asc_metrics_open(&t->metrics, t->ctx, t->folder.metrics, 0)) {
        return asc_error(t->ctx);
    }
    asc_folder_complete(&t->folder);
    return ASC_OK;
}

static void say_where(const asc_trainer *t, bool same_build)
{
    char text[200];
    if (t->state.step >= t->steps) {
        snprintf(text, sizeof text, "step %" PRId64 " is done: of %" PRId64 " steps nothing is left", t->state.step,
                 t->steps);
    } else {
        snprintf(text, sizeof text, "goes on after step %" PRId64 " of %" PRId64 "%s", t->state.step, t->steps,
                 same_build ? "" : "; another build, BLAS or processor wrote the checkpoint: "
                                   "equal to rounding from here on, not to the bit");
    }
    say(t, text);
}

/* Another number of steps moves the end of the schedule, and with it the learning rate. */
static void say_schedule(const asc_trainer *t)
{
    double before = t->state.lr, now = t->state.step > 0 ? asc_lr_at(&t->schedule, t->state.step - 1) : before;
    if (t->state.step < t->steps && fabs(now - before) > 1e-9 * fabs(before)) {
        char text[200];
        snprintf(text, sizeof text, "the schedule ends at step %" PRId64 " now: the learning rate goes on from %.3g, "
                 "it was %.3g; schedule_steps, given at the start, holds it", t->schedule.steps, now, before);
        say(t, text);
    }
}

static asc_status read_checkpoint(asc_trainer *t, bool *same_build)
{
    *same_build = true;
    if (asc_path_exists(t->folder.checkpoint)) {
        asc_checkpoint_read(t->ctx, &t->folder, t->lm, t->optim, &t->state, same_build);
        t->saved_step = t->state.step;
    } else if (asc_path_exists(t->folder.model)) { /* a run writes no model before its first checkpoint */
        asc_fail(t->ctx, ASC_ERR_IO, "%s is missing: without it the run can't go on, and starting again would "
                 "overwrite its model; a new run may start from that by --init", t->folder.checkpoint);
    }
    return asc_error(t->ctx);
}

/* Someone has removed the best model. Where nothing came after it, the checkpoint has it; else it is lost. */
static asc_status replace_lost(asc_trainer *t)
{
    asc_best *best = &t->state.best;
    bool kept = best->step == t->state.step;
    char text[400];
    snprintf(text, sizeof text, "%.150s is missing: %s, of step %" PRId64 "%s", t->folder.model,
             kept ? "the checkpoint has the best model" : "the best model so far", best->step,
             kept ? ", and it is written again" : ", is lost; the best from here on takes its place");
    say(t, text);
    if (kept) {
        return asc_model_write(t->ctx, t->folder.model, t->lm, t->tokenizer, best->step, best->loss);
    }
    *best = asc_best_none();
    if (t->state.step >= t->steps) {
        t->state.evaluated_step = -1; /* nothing comes from here on: the last step's model takes its place */
    }
    return ASC_OK;
}

/* All is read and checked before anything is written: a run that is refused stays as it was. */
static asc_status resume_run(asc_trainer *t)
{
    bool same_build, lost;
    if (read_checkpoint(t, &same_build) || asc_folder_check(&t->folder, &t->state.best, &lost) ||
        asc_metrics_open(&t->metrics, t->ctx, t->folder.metrics, t->state.metrics_bytes)) {
        return asc_error(t->ctx);
    }
    say_where(t, same_build);
    say_schedule(t);
    t->start_s -= t->state.elapsed_s;
    bool fewer = t->steps < t->state.step; /* than are done: no plan to remember */
    if ((lost && replace_lost(t)) || asc_folder_recover(&t->folder, &t->state.best, &t->stranger) ||
        (!fewer && write_config(t))) {
        return asc_error(t->ctx);
    }
    t->stranger.bits = t->stranger.loss * (double)(t->valid->n_tokens - 1) / (log(2) * (double)t->valid->bytes);
    return asc_metrics_cut(&t->metrics);
}

/* ---- all together ---- */

static asc_model *open_init(const asc_trainer *t, bool resume)
{
    const char *init = t->settings->values.init;
    return *init && !resume ? asc_model_open(t->ctx, init, NULL, t->data) : NULL;
}

static asc_status prepare(asc_trainer *t, const char *run, bool resume)
{
    if (!resume && asc_folder_taken(run)) {
        return asc_fail(t->ctx, ASC_ERR_ARG, "%s exists; take another name, or go on with it by --resume", run);
    }
    if (resume && asc_folder_open(&t->folder, t->ctx, run, true)) {
        return asc_error(t->ctx);
    }
    asc_model *init = open_init(t, resume);
    if (asc_error(t->ctx) == ASC_OK && open_data(t, run, resume, init) == ASC_OK && open_lm(t, init) == ASC_OK) {
        count_blocks(t);
    }
    asc_model_free(t->ctx, init);
    if (resume) {
        asc_error_blame(t->ctx, t->folder.config); /* the settings so far were the run's own */
    }
    if (asc_error(t->ctx) == ASC_OK) {
        plan(t);
    }
    if (asc_error(t->ctx)) {
        return asc_error(t->ctx);
    }
    return resume ? resume_run(t) : start_run(t, run);
}

static void report(const asc_trainer *t, asc_train_end end, asc_train_result *r)
{
    const asc_split *valid = t->valid;
    const asc_best *best = asc_trainer_best(t);
    bool any = best->step >= 0;
    *r = (asc_train_result){
        .parameters = asc_params_numel(asc_lm_params(t->lm)), .step = t->state.step, .steps = t->steps,
        .tokens = t->state.tokens, .elapsed_s = asc_clock() - t->start_s,
        .best_loss = any ? best->loss : NAN, .best_ppl = any ? exp(best->loss) : NAN,
        .best_bits_per_byte = best->bits, .best_step = best->step,
        .source_ppl = valid->source_tokens > 0 ? exp(valid->source_nats / (double)valid->source_tokens) : NAN,
        .end = end,
    };
}

static void clear(asc_trainer *t)
{
    asc_metrics_close(&t->metrics);
    asc_folder_close(&t->folder);
    asc_free(t->ctx, t->order, t->order ? (size_t)t->blocks * sizeof *t->order : 0);
    asc_optim_free(t->optim);
    asc_lm_free(t->lm);
    asc_split_free(t->ctx, t->train);
    asc_split_free(t->ctx, t->valid);
    asc_tokenizer_free(t->tokenizer);
    asc_dataset_free(t->data);
}

asc_status asc_train(asc_ctx *ctx, asc_settings *settings, const char *run, bool resume, const asc_train_hooks *hooks,
                     asc_train_result *result)
{
    if (!settings || asc_settings_locate(settings)) {
        return asc_error(ctx);
    }
    asc_trainer t = {.ctx = ctx, .settings = settings, .hooks = hooks ? *hooks : (asc_train_hooks){0},
                     .folder = {.ctx = ctx, .lock = -1}, .metrics = {.fd = -1}, .state = asc_state_start(),
                     .stranger = asc_best_none(), .saved_step = -1, .start_s = asc_clock(), .invoked_s = asc_clock()};
    t.progress.valid.loss = NAN;
    asc_set_nan_check(ctx, settings->values.debug_nan);
    asc_train_end end = ASC_END_STEPS;
    asc_span span;
    asc_span_begin(ctx, &span, "set-up");
    asc_status status = prepare(&t, run, resume);
    asc_span_end(ctx, &span);
    if (status == ASC_OK) {
        status = asc_trainer_loop(&t, &end);
    }
    if (status == ASC_OK && result) {
        report(&t, end, result);
    }
    clear(&t);
    asc_set_nan_check(ctx, false);
    if (status == ASC_OK && end == ASC_END_STOPPED) {
        status = asc_fail(ctx, ASC_ERR_INTERRUPTED, "stopped; all that a resume needs is saved");
    }
    return status;
}
