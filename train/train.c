/* train/train.c: from settings to a training, new or resumed, and back to what came of it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/op.h>
#include <program/settings.h>

#include "data/json.h"
#include "data/record.h"
#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "tensor/need.h"
#include "train/run/no_run.h"
#include "train/trainer.h"

/* ---- the plan ---- */

static asc_status make_batch(void *user, int64_t first, int64_t n, asc_batch *batch)
{
    const asc_trainer *t = user;
    const asc_batch_source from = asc_trainer_source(t);
    return asc_batch_make(&from, t->order + t->first + first, n, batch);
}

static double count_targets(void *user, int64_t first, int64_t n)
{
    const asc_trainer *t = user;
    return (double)(asc_lm_classes(t->lm) > 0
                        ? n
                        : asc_block_targets(t->train, t->stepper.block, t->order + t->first + first, n));
}

/* What the classes of sequences weigh in all. */
static double weigh_classes(void *user, int64_t first, int64_t n)
{
    const asc_trainer *t = user;
    double all = 0;
    for (int64_t i = 0; i < n; i++) {
        all += asc_lm_class_weight(t->lm, t->train->labels[t->order[t->first + first + i]]);
    }
    return all;
}

/* The number of steps: the smaller of the limits that there are. */
static int64_t count_steps(const asc_trainer *t)
{
    const asc_values *v = &t->settings->values;
    int64_t by_epochs = v->epochs > 0 ? asc_stages_steps(&t->stages, v->epochs) : 0;
    return v->steps == 0 ? by_epochs : v->epochs == 0 || v->steps < by_epochs ? v->steps : by_epochs;
}

static asc_status fail_short(const asc_trainer *t, int64_t block)
{
    int64_t n = t->train->n_tokens;
    char advice[60] = "";
    if (n > 1) {
        snprintf(advice, sizeof advice, ", or a block of %" PRId64 " at most", n - 1);
    }
    return asc_fail_on(t->ctx, ASC_ERR_ARG, "block", ": the train split has %" PRId64 " tokens, too few for a block of "
                       "%" PRId64 ": it takes a text whose train split has %" PRId64 "%s", n, block, block + 1, advice);
}

static asc_status count_blocks(asc_trainer *t)
{
    if (asc_split_blocks(t->train, asc_lm_block(t->lm), false) == 0) {
        return fail_short(t, asc_lm_block(t->lm));
    }
    if (asc_stages_plan(t)) {
        return asc_error(t->ctx);
    }
    for (int i = 0; i < t->stages.n; i++) {
        const asc_stage *s = &t->stages.at[i];
        if (s->sequences > s->blocks) {
            char text[160];
            snprintf(text, sizeof text,
                     "a batch of %" PRId64 " is more than the train split's %" PRId64 " blocks: each "
                     "step takes all of them",
                     s->sequences, s->blocks);
            asc_trainer_say(t, text);
            break;
        }
    }
    return ASC_OK;
}

static asc_status plan(asc_trainer *t)
{
    const asc_values *v = &t->settings->values;
    if (asc_foresee(t->settings, t->lm, asc_comm_size(t->ctx))) {
        return asc_error(t->ctx);
    }
    t->steps = count_steps(t);
    int64_t until = v->schedule_steps > 0 ? v->schedule_steps : t->steps;
    t->schedule = (asc_schedule){.decay = (asc_decay)v->schedule,
                                 .lr = v->lr,
                                 .min_lr = asc_lowest_lr(v),
                                 .warmup = v->warmup,
                                 .steps = until,
                                 .fall = asc_phase_length(t->ctx, "fall", v->fall, until, 0)};
    if (asc_error(t->ctx)) {
        return asc_error(t->ctx);
    }
    t->tree = (asc_tree){.ctx = t->ctx,
                         .params = asc_lm_params(t->lm),
                         .shards = v->shards,
                         .divided = v->shard_optimizer && asc_comm_size(t->ctx) > 1 ? t->optim : NULL};
    t->stepper = (asc_stepper){.ctx = t->ctx,
                               .lm = t->lm,
                               .optim = t->optim,
                               .block = asc_lm_block(t->lm),
                               .batch = v->batch,
                               .clip = v->clip,
                               .average = v->average > 0,
                               .seed = (uint64_t)v->seed,
                               .tree = v->shards > 1 ? &t->tree : NULL,
                               .make = make_batch,
                               .mass = v->class_weights ? weigh_classes : count_targets,
                               .go_on = asc_trainer_goes_on,
                               .user = t};
    if (asc_phases_plan(&t->phases, t->lm, v, t->schedule.steps, t->ctx)) {
        return asc_error(t->ctx);
    }
    t->stepper.dropout = asc_phases_most_dropout(&t->phases); /* until the first step: what memory is looked at for */
    t->order = asc_alloc(t->ctx, (size_t)t->blocks * sizeof *t->order);
    t->epoch = -1;
    return asc_streams_open(t);
}

/* A split's beginning, of n tokens that are predicted or given; of sequences the first ones that have as many. */
static asc_split cut(const asc_split *split, int64_t n)
{
    asc_split part = *split;
    part.n_tokens = n + 1;
    for (int64_t i = 0; i < split->n_sequences && split->starts[i] < n; i++) {
        part.n_sequences = i + 1;
        part.n_tokens = split->starts[i + 1];
    }
    return part;
}

/* What evaluations take: the validation split, or its first tokens, of which some must be targets. */
static asc_status choose_judge(asc_trainer *t)
{
    int64_t n = t->settings->values.eval_tokens;
    t->judge = t->valid;
    if (n == 0 || n >= t->valid->n_tokens - 1) {
        return ASC_OK;
    }
    t->part = cut(t->valid, n);
    t->judge = &t->part;
    if (asc_split_targets(t->judge) == 0) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "eval_tokens", ": of the first %" PRId64 " tokens of the validation "
                           "split none is predicted, expected more", n);
    }
    return ASC_OK;
}

/* ---- the folder ---- */

static json_t *describe_checksums(asc_trainer *t)
{
    if (t->settings->checksums) {
        return json_deep_copy(t->settings->checksums);
    }
    char train[9], valid[9], vocab[9], test[9] = "";
    snprintf(train, sizeof train, "%08" PRIx32, t->train->checksum);
    snprintf(valid, sizeof valid, "%08" PRIx32, t->valid->checksum);
    if (asc_vocab_checksum(t->tokenizer, vocab)) {
        return NULL;
    }
    asc_split *split = asc_trainer_open_split(t, ASC_SPLIT_TEST);
    if (split) {
        snprintf(test, sizeof test, "%08" PRIx32, split->checksum);
        asc_split_free(t->ctx, split);
    } else if (asc_trainer_spares_test(t, !asc_records_spare(t->data, ASC_SPLIT_TEST))) {
        return NULL;
    }
    const char *encoder = t->encoder ? asc_encoder_fingerprint(t->encoder) : NULL;
    return json_pack("{s:s, s:s, s:s*, s:s, s:s*}", "train", train, "valid", valid, "test", *test ? test : NULL,
                     "vocab", vocab, "encoder", encoder);
}

/* config.json: every setting in effect, and in "plan" what the settings that are 0 have come to. */
static asc_status write_config(asc_trainer *t)
{
    json_t *object = json_pack("{s:s}", "version", ASC_VERSION);
    for (const asc_setting *row = asc_train_settings; row->key; row++) {
        json_object_set_new(object, row->key, asc_setting_json(row, &t->settings->values));
    }
    json_object_set_new(object, "min_lr", json_real(t->schedule.min_lr));
    json_t *now = json_pack("{s:I, s:I, s:I, s:I, s:i}", "steps", (json_int_t)t->steps, "steps_per_epoch",
                            (json_int_t)t->stages.at[0].steps, "schedule_steps", (json_int_t)t->schedule.steps,
                            "eval_every", (json_int_t)asc_trainer_eval_every(t), "threads", asc_threads(t->ctx));
    asc_stages_describe(&t->stages, now);
    json_object_set_new(object, "plan", now);
    json_t *checksums = describe_checksums(t);
    t->has_test = json_object_get(checksums, "test") != NULL;
    json_object_set_new(object, "data_checksum", checksums);
    json_object_set_new(object, "model", json_loads(asc_lm_config(t->lm), 0, NULL));
    return asc_json_write(t->ctx, t->folder.config, object, 15);
}

/* As where a preset has the one and an option the other. */
static void say_rising(const asc_trainer *t)
{
    const asc_schedule *s = &t->schedule;
    if (s->decay != ASC_DECAY_CONSTANT && s->min_lr > s->lr) {
        char text[120];
        asc_snprintf(text, sizeof text, "min_lr, %g, is above lr, %g: after the warm-up the learning rate goes on "
                     "rising", s->min_lr, s->lr);
        asc_trainer_say(t, text);
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
    asc_trainer_say(t, text);
}

static void say_shares(const asc_trainer *t)
{
    asc_trainer_say(t, "what begins, ends or changes at a share of the run did so by the shorter run until there: from "
                       "the start with these steps the model would be another");
}

/* The steps of the schedule by the run's config.json; -1: not known. */
static int64_t scheduled_before(const asc_trainer *t)
{
    json_t *config = asc_json_read(t->ctx, t->folder.config, true);
    const json_t *steps = json_object_get(json_object_get(config, "plan"), "schedule_steps");
    int64_t before = json_is_integer(steps) ? json_integer_value(steps) : -1;
    json_decref(config);
    return before;
}

/* Another number of steps moves the end of the schedule, and with it the learning rate and what stands at shares. */
static void say_schedule(const asc_trainer *t, bool back)
{
    if (!back && t->state.step < t->steps && asc_phases_have_shares(&t->settings->values)) {
        int64_t steps = scheduled_before(t);
        if (steps >= 0 && steps != t->schedule.steps) {
            say_shares(t);
        }
    }
    double before = t->state.lr, now = t->state.step > 0 ? asc_lr_at(&t->schedule, t->state.step - 1) : before;
    if (t->state.step < t->steps && fabs(now - before) > 1e-9 * fabs(before)) {
        char text[200];
        asc_snprintf(text, sizeof text, "the schedule ends at step %" PRId64 " now: the learning rate goes on from "
                     "%.3g, it was %.3g; schedule_steps, given at the start, holds it", t->schedule.steps, now, before);
        asc_trainer_say(t, text);
    }
}

/* The error is about checkpoint.stable, without which the run can go on, if not to the same model. */
static asc_status fail_back(const asc_trainer *t)
{
    if (asc_error(t->ctx) == ASC_ERR_FORMAT) {
        asc_error_extend(t->ctx, "", "; put it back, or remove it to go on from the run's end");
    }
    return asc_error(t->ctx);
}

/* Whether a run goes on from where its learning rate began to fall: it has more steps now, and has gone on falling. */
static bool goes_back(asc_trainer *t)
{
    int64_t then, now;
    if (asc_trainer_falls_from(t) < 0 || !asc_path_exists(t->folder.stable)) {
        return false;
    }
    if (asc_checkpoint_step(t->ctx, t->folder.stable, &then)) {
        fail_back(t);
        return false;
    }
    if (asc_checkpoint_step(t->ctx, t->folder.checkpoint, &now) || now <= then || asc_trainer_falls_from(t) <= then) {
        return false;
    }
    char text[200];
    snprintf(text, sizeof text,
             "with more steps the run goes on from step %" PRId64 ", where the learning rate had not "
             "begun to fall; its model stays until it does better",
             then);
    asc_trainer_say(t, text);
    const asc_values *v = &t->settings->values;
    if (asc_phases_have_shares(v) || strchr(v->batch_schedule, '%') || strchr(v->block_schedule, '%')) {
        say_shares(t);
    }
    return true;
}

static asc_status check_held(const asc_trainer *t)
{
    char *held = asc_checkpoint_held(t->ctx, t->read_from);
    asc_trainer_check_held(t, held);
    asc_path_free(t->ctx, held);
    return asc_error(t->ctx);
}

static asc_status read_checkpoint(asc_trainer *t, bool back, bool *same_build)
{
    *same_build = true;
    if (asc_path_exists(t->folder.checkpoint)) {
        t->read_from = back ? t->folder.stable : t->folder.checkpoint;
        asc_params *carried = check_held(t) ? NULL : asc_params_new(t->ctx);
        if (!carried || asc_checkpoint_read(t->ctx, t->read_from, t->lm, t->optim, &t->state, carried, same_build) ||
            asc_trainer_check_state(t) || asc_streams_load(t, carried)) {
            asc_params_free(carried);
            return back ? fail_back(t) : asc_error(t->ctx);
        }
        asc_params_free(carried);
        t->saved_step = t->state.step;
    } else if (asc_path_exists(t->folder.model)) { /* a run writes no model before its first checkpoint */
        asc_fail(t->ctx, ASC_ERR_IO, "%s is missing: without it the run can't go on, and starting again would "
                 "overwrite its model; a new run may start from that by --init", t->folder.checkpoint);
    } else if (asc_summary_has_best(t->folder.summary)) {
        asc_fail(t->ctx, ASC_ERR_IO, "%s is missing, as the model is that %s knows of: without them the run can't go "
                 "on; begin another", t->folder.checkpoint, t->folder.summary);
    }
    return asc_error(t->ctx);
}

/* Someone has removed the best model. Where nothing came after it, the checkpoint has it; else it is lost, as it is
 * where its averaged parameters are on several ranks, of which the others have not begun. */
static asc_status replace_lost(asc_trainer *t)
{
    asc_best *best = &t->state.best;
    bool apart = t->stepper.average && t->tree.divided, kept = best->step == t->state.step && !apart;
    char text[400];
    snprintf(text, sizeof text, "%.150s is missing: %s, of step %" PRId64 "%s", t->folder.model,
             kept ? "the checkpoint has the best model" : "the best model so far", best->step,
             kept ? ", and it is written again" : ", is lost; the best from here on takes its place");
    asc_trainer_say(t, text);
    if (kept) {
        return asc_trainer_write_model(t, t->folder.model, best);
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
    bool same_build, lost, back = goes_back(t);
    if (asc_error(t->ctx) || read_checkpoint(t, back, &same_build) ||
        asc_folder_check(&t->folder, &t->state.best, &lost) ||
        asc_metrics_open(&t->metrics, t->ctx, t->folder.metrics, t->state.metrics_bytes) ||
        asc_metrics_check(&t->metrics, t->state.logged_step)) {
        return asc_error(t->ctx);
    }
    say_where(t, same_build);
    say_schedule(t, back);
    t->start_s -= t->state.elapsed_s;
    bool fewer = t->steps < t->state.step; /* than are done: no plan to remember */
    if ((back && asc_folder_go_back(&t->folder)) || (lost && replace_lost(t)) ||
        asc_folder_recover(&t->folder, &t->state.best, &t->stranger) || (!fewer && write_config(t))) {
        return asc_error(t->ctx);
    }
    t->stranger.bits = asc_bits_per_byte(t, t->stranger.loss);
    return asc_metrics_cut(&t->metrics);
}

/* ---- all together ---- */

/* The words of a model file without a vocabulary may be those of the data. */
static asc_model *open_init(const asc_trainer *t, bool resume)
{
    const asc_values *v = &t->settings->values;
    if (!*v->init || resume) {
        return NULL;
    }
    bool reads = *v->data && asc_settings_reads_data(t->settings);
    asc_dataset *data = reads ? asc_dataset_open(t->ctx, v->data) : NULL;
    asc_model *init = asc_error(t->ctx) ? NULL : asc_model_open(t->ctx, v->init, NULL, data);
    asc_dataset_free(data);
    return init;
}

static asc_status open_folder(asc_trainer *t, const char *run, bool resume)
{
    bool leads = asc_trainer_leads(t);
    if (!resume) {
        return leads && asc_folder_taken(run) ? asc_fail_taken(t->ctx, run) : asc_error(t->ctx);
    }
    return leads ? asc_folder_open(&t->folder, t->ctx, run, true) : asc_folder_name(&t->folder, t->ctx, run);
}

/* What is read and checked on every rank. Data and features are opened also after an error, of which the other ranks
 * have to know. */
static asc_status open_all(asc_trainer *t, const char *run, bool resume)
{
    bool leads = asc_trainer_leads(t), stands = !asc_error(t->ctx) && open_folder(t, run, resume) == ASC_OK;
    asc_model *init = stands ? open_init(t, resume) : NULL;
    if (asc_trainer_open_data(t, run, resume, init) == ASC_OK) {
        asc_trainer_open_lm(t, init);
    }
    if (asc_trainer_open_features(t) == ASC_OK) {
        count_blocks(t);
    }
    asc_model_free(t->ctx, init);
    if (resume && stands) {
        asc_error_blame(t->ctx, t->folder.config); /* the settings so far were the run's own */
    }
    if (asc_error(t->ctx) || plan(t) || choose_judge(t) || asc_trainer_check_preview(t) ||
        (leads && asc_trainer_check_space(t, run)) || asc_trainer_check_step(t)) {
        return asc_error(t->ctx);
    }
    return asc_tree_open(&t->tree);
}

/* What the one that writes does then. */
static asc_status open_run(asc_trainer *t, const char *run, bool resume)
{
    if (resume ? resume_run(t) : start_run(t, run)) {
        return asc_error(t->ctx);
    }
    if (t->settings->values.tensorboard && asc_metrics_add_events(&t->metrics, t->folder.path)) {
        return asc_error(t->ctx);
    }
    return resume ? asc_summary_open(t) : ASC_OK; /* last: of a resume that is refused the summary stays */
}

static asc_status prepare(asc_trainer *t, const char *run, bool resume)
{
    open_all(t, run, resume);
    if (asc_ranks_agree_on_work(t)) {
        return asc_error(t->ctx);
    }
    if (asc_trainer_leads(t)) {
        open_run(t, run, resume);
    }
    t->running = asc_ranks_begin(t) == ASC_OK;
    return asc_error(t->ctx);
}

/* The training that stands, on this rank. */
static asc_status run_all(asc_trainer *t, asc_train_end *end)
{
    if (!asc_trainer_leads(t)) {
        return asc_ranks_follow(t);
    }
    asc_trainer_loop(t, end);
    asc_summary_write(t, *end);
    return asc_error(t->ctx);
}

static void report(asc_trainer *t, asc_train_end end)
{
    const asc_best *best = asc_trainer_best(t);
    bool any = best->step >= 0, whole = !isnan(t->whole.loss);
    double loss = whole ? t->whole.loss : best->loss, accuracy = whole ? t->whole.accuracy : 1 - best->wrong;
    asc_entropy source;
    bool known = asc_dataset_entropy(t->data, ASC_SPLIT_VALID, &source);
    t->reported = true;
    t->result = (asc_train_result){
        .parameters = asc_params_numel(asc_lm_params(t->lm)), .step = t->state.step, .steps = t->steps,
        .tokens = t->state.tokens, .elapsed_s = asc_clock() - t->start_s,
        .best_loss = any ? loss : NAN, .best_ppl = any ? exp(loss) : NAN,
        .best_accuracy = any && t->settings->values.best_by == ASC_BEST_BY_ACCURACY ? accuracy : NAN,
        .best_bits_per_byte = whole ? t->whole.bits_per_byte : best->bits, .best_step = best->step,
        .unknown = whole ? t->whole.unknown : t->evaluation_s > 0 ? t->progress.valid.unknown : NAN,
        .source_ppl = known ? exp(source.nats / (double)source.tokens) : NAN,
        .has_test = t->has_test || json_object_get(t->settings->checksums, "test"), .end = end,
        .carry = asc_lm_carry(t->lm),
    };
}

static void clear(asc_trainer *t)
{
    asc_metrics_close(&t->metrics);
    asc_folder_close(&t->folder);
    asc_free(t->ctx, t->order, (size_t)t->blocks * sizeof *t->order);
    asc_streams_close(t);
    asc_tree_close(&t->tree);
    asc_optim_free(t->optim);
    asc_lm_free(t->lm);
    asc_trainer_close_encoder(t);
    asc_split_free(t->ctx, t->train);
    asc_split_free(t->ctx, t->valid);
    asc_tokenizer_free(t->tokenizer);
    asc_dataset_free(t->data);
    json_decref(t->past);
}

asc_status asc_train(asc_ctx *ctx, asc_settings *settings, const char *run, bool resume, const asc_train_hooks *hooks,
                     asc_train_result *result)
{
    if (ctx && asc_comm_size(ctx) > 1) {
        asc_comm_agree(ctx); /* in what may have gone wrong until here */
    }
    asc_status status = ASC_NEED(ctx, "train: settings run", settings, run);
    if (status) {
        return status;
    }
    asc_settings_locate(settings); /* an error of it the other ranks have to know of, too: open_all */
    asc_trainer t = {.ctx = ctx, .settings = settings, .hooks = hooks ? *hooks : (asc_train_hooks){0},
                     .folder = {.ctx = ctx, .fd = -1}, .metrics = {.fd = -1}, .state = asc_state_start(),
                     .stranger = asc_best_none(), .saved_step = -1, .start_s = asc_clock(), .invoked_s = asc_clock()};
    t.progress.valid.loss = t.whole.loss = NAN;
    bool checked = asc_set_nan_check(ctx, settings->values.debug_nan);
    asc_train_end end = ASC_TRAIN_END_STEPS;
    asc_span span;
    asc_span_begin(ctx, &span, "set-up");
    status = prepare(&t, run, resume);
    asc_span_end(ctx, &span);
    if (status == ASC_OK) {
        t.interrupt = asc_interrupt_of(ctx);
        asc_set_interrupt(ctx, NULL, NULL);
        status = run_all(&t, &end);
        asc_set_interrupt(ctx, t.interrupt.go_on, t.interrupt.user);
    }
    if (status == ASC_OK && asc_trainer_leads(&t)) {
        report(&t, end);
    }
    if (status == ASC_OK && end == ASC_TRAIN_END_STOPPED) {
        status = asc_fail(ctx, ASC_ERR_INTERRUPTED, "stopped; all that a resume needs is saved");
    }
    asc_ranks_end(&t);
    if (t.reported && result) {
        *result = t.result;
    }
    clear(&t);
    asc_set_nan_check(ctx, checked);
    return status;
}

asc_status asc_train_resume(asc_ctx *ctx, const char *run, const asc_train_hooks *hooks, asc_train_result *result)
{
    asc_status status = ASC_NEED(ctx, "train_resume: run", run);
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    asc_settings *settings = asc_settings_new(ctx);
    status = settings ? asc_settings_resume(settings, run) : ASC_ERR_MEMORY;
    status = status ? status : asc_train(ctx, settings, run, true, hooks, result);
    asc_settings_free(settings);
    return status;
}
