/* train/loop.c: step after step, with the evaluations, lines and checkpoints that are due. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/op.h>

#include "train/layer_log.h"
#include "train/path.h"
#include "train/trainer.h"

static const asc_values *values(const asc_trainer *t)
{
    return &t->settings->values;
}

const asc_best *asc_trainer_best(const asc_trainer *t)
{
    return t->stranger.loss < t->state.best.loss ? &t->stranger : &t->state.best;
}

/* ---- what is due ---- */

int64_t asc_trainer_eval_every(const asc_trainer *t)
{
    return values(t)->eval_every > 0 ? values(t)->eval_every : t->steps_per_epoch;
}

static bool evaluation_due(const asc_trainer *t)
{
    return t->state.step > 0 && t->state.step % asc_trainer_eval_every(t) == 0 &&
           t->state.evaluated_step != t->state.step;
}

static bool line_due(const asc_trainer *t)
{
    return t->state.step > 0 && t->state.step % values(t)->log_every == 0 && t->state.logged_step != t->state.step;
}

static bool checkpoint_due(const asc_trainer *t)
{
    return t->state.step > 0 && t->state.step % values(t)->checkpoint_every == 0 && t->saved_step != t->state.step;
}

static bool out_of_time(const asc_trainer *t)
{
    return values(t)->minutes > 0 && asc_clock() - t->invoked_s >= 60 * values(t)->minutes;
}

static bool over(const asc_trainer *t)
{
    return t->state.step >= t->steps || out_of_time(t);
}

/* ---- what a hook sees ---- */

static double time_left(const asc_trainer *t)
{
    if (t->steps_done == 0) {
        return NAN;
    }
    double left = t->steps_s / (double)t->steps_done * (double)(t->steps - t->state.step);
    double limit = 60 * values(t)->minutes - (asc_clock() - t->invoked_s);
    return values(t)->minutes > 0 && limit < left ? limit : left;
}

static void describe(asc_trainer *t)
{
    const asc_train_state *s = &t->state;
    asc_train_progress *p = &t->progress;
    p->step = s->step;
    p->steps = t->steps;
    p->epoch = (double)s->step / (double)t->steps_per_epoch;
    p->tokens = s->tokens;
    p->loss = s->loss;
    p->lr = s->lr;
    p->grad_norm = s->grad_norm;
    if (t->line_s > 0) {
        p->tokens_per_s = (double)t->line_tokens / t->line_s;
    }
    p->elapsed_s = asc_clock() - t->start_s;
    p->left_s = time_left(t);
    p->best_loss = asc_trainer_best(t)->loss;
}

static void tell(asc_trainer *t, asc_train_phase phase)
{
    t->progress.phase = phase;
    if (t->hooks.progress && !t->hooks.progress(t->hooks.user, &t->progress)) {
        t->stopped = true;
    }
}

/* ---- writing ---- */

static asc_status write_line(asc_trainer *t, bool evaluated)
{
    describe(t);
    t->state.logged_step = t->state.step;
    t->line_s = 0;
    t->line_tokens = 0;
    json_t *layers = asc_layers_log(t->ctx, t->lm, evaluated ? t->valid : NULL);
    if (asc_error(t->ctx) == ASC_OK) {
        asc_metrics_write(&t->metrics, &t->progress, evaluated, layers);
    }
    json_decref(layers);
    return asc_error(t->ctx);
}

static asc_status write_checkpoint(asc_trainer *t)
{
    t->state.metrics_bytes = t->metrics.bytes;
    t->state.elapsed_s = asc_clock() - t->start_s;
    t->saved_step = t->state.step;
    if (asc_metrics_sync(&t->metrics)) {
        return asc_error(t->ctx);
    }
    return asc_checkpoint_write(t->ctx, &t->folder, t->lm, t->optim, &t->state);
}

static asc_status save(asc_trainer *t)
{
    asc_span span;
    asc_span_begin(t->ctx, &span, "checkpoint");
    asc_status status = write_checkpoint(t);
    asc_span_end(t->ctx, &span);
    return status;
}

/* ---- evaluation ---- */

static bool evaluation_goes_on(void *user, double done)
{
    asc_trainer *t = user;
    t->progress.evaluated = done;
    tell(t, ASC_TRAIN_EVALUATING);
    return !t->stopped;
}

/* The loss on the validation split. ASC_ERR_INTERRUPTED: a hook stopped it, no error. */
static asc_status evaluate(asc_trainer *t, asc_best *found)
{
    asc_eval_options options = {.batch = values(t)->batch, .progress = evaluation_goes_on, .user = t};
    describe(t);
    asc_eval_result *valid = &t->progress.valid;
    asc_span span;
    asc_span_begin(t->ctx, &span, "evaluation");
    asc_status status = asc_evaluate(t->ctx, t->lm, t->valid, &options, valid);
    asc_span_end(t->ctx, &span);
    if (status == ASC_ERR_INTERRUPTED && t->stopped) {
        asc_error_clear(t->ctx);
        return status;
    }
    if (status == ASC_OK && !isfinite(valid->loss)) {
        status = asc_fail(t->ctx, ASC_ERR_NONFINITE, "step %lld: the validation loss is %g", (long long)t->state.step,
                          fabs(valid->loss)); /* no -nan */
    }
    *found = (asc_best){t->state.step, valid->loss, valid->bits_per_byte};
    return status;
}

static asc_status write_model(asc_trainer *t, const char *path, const asc_best *of)
{
    asc_span span;
    asc_span_begin(t->ctx, &span, "checkpoint");
    asc_status status = asc_model_write(t->ctx, path, t->lm, t->tokenizer, t->data, of->step, of->loss);
    asc_span_end(t->ctx, &span);
    return status;
}

/* Saves, with the run's new best, which has been written as model.next; then it takes its place. */
static asc_status commit_best(asc_trainer *t)
{
    if (save(t)) {
        return asc_error(t->ctx);
    }
    if (t->stranger.loss < t->state.best.loss) {
        return asc_folder_put_by(&t->folder);
    }
    t->stranger = asc_best_none();
    return asc_folder_promote(&t->folder);
}

static asc_status tell_evaluated(asc_trainer *t)
{
    t->progress.best_loss = asc_trainer_best(t)->loss;
    tell(t, ASC_TRAIN_EVALUATED);
    return ASC_OK;
}

/* An evaluation that the schedule asks for. */
static asc_status evaluate_in_turn(asc_trainer *t)
{
    asc_best found;
    asc_status status = evaluate(t, &found);
    if (status) {
        return status == ASC_ERR_INTERRUPTED ? ASC_OK : status;
    }
    t->state.evaluated_step = t->state.step;
    bool better = found.loss < t->state.best.loss;
    if (better) {
        t->state.best = found;
    }
    if ((better && write_model(t, t->folder.next, &found)) || write_line(t, true) || (better && commit_best(t))) {
        return asc_error(t->ctx);
    }
    return tell_evaluated(t);
}

/* The one after the last step, where the schedule asks for none: the run's own, but its line is no part of a run that
 * goes on with more steps, and comes after the checkpoint. */
static asc_status evaluate_last(asc_trainer *t)
{
    asc_best found;
    asc_status status = evaluate(t, &found);
    if (status) {
        return status == ASC_ERR_INTERRUPTED ? ASC_OK : status;
    }
    if (found.loss < t->state.best.loss) {
        t->state.best = found;
        if (write_model(t, t->folder.next, &found) || commit_best(t)) {
            return asc_error(t->ctx);
        }
    }
    return write_line(t, true) ? asc_error(t->ctx) : tell_evaluated(t);
}

/* The one where time is up, after the checkpoint: no part of the run. */
static asc_status evaluate_stranger(asc_trainer *t)
{
    asc_best found;
    asc_status status = evaluate(t, &found);
    if (status) {
        return status == ASC_ERR_INTERRUPTED ? ASC_OK : status;
    }
    if (found.loss < asc_trainer_best(t)->loss) {
        if ((t->stranger.step < 0 && asc_folder_keep_model(&t->folder)) || write_model(t, t->folder.model, &found)) {
            return asc_error(t->ctx);
        }
        t->stranger = found;
    }
    return write_line(t, true) ? asc_error(t->ctx) : tell_evaluated(t);
}

/* At the end the model is that of an uninterrupted run. */
static asc_status dismiss_stranger(asc_trainer *t)
{
    if (t->stranger.step < 0 || !asc_path_exists(t->folder.kept)) {
        return ASC_OK;
    }
    char text[300];
    snprintf(text, sizeof text, "where time was up after step %lld, the loss was %.4f, better than the run's own best: "
             "that model is %.150s", (long long)t->stranger.step, t->stranger.loss, t->folder.extra);
    asc_trainer_say(t, text);
    t->stranger = asc_best_none();
    return asc_folder_restore(&t->folder);
}

/* ---- steps ---- */

/* Where the next step's blocks stand in the order of their epoch; how many there are. */
static int64_t find_blocks(asc_trainer *t)
{
    int64_t epoch = t->state.step / t->steps_per_epoch, most = values(t)->batch * values(t)->accumulate;
    if (epoch != t->epoch) {
        t->epoch = epoch;
        asc_block_order(t->ctx, t->blocks, (uint64_t)values(t)->seed, (uint64_t)epoch, t->order);
    }
    t->first = t->state.step % t->steps_per_epoch * most;
    return t->blocks - t->first < most ? t->blocks - t->first : most;
}

/* What the layers phase in: its share is 0 in the warm-up, then rises to 1 in sep_ramp steps; then it is trained. */
static void ramp(asc_trainer *t)
{
    int64_t steps = values(t)->sep_ramp, since = t->state.step - values(t)->warmup + 1;
    if (steps > 0) {
        asc_lm_ramp(t->lm, since > steps ? -1 : since > 0 ? (double)since / (double)steps : 0);
    }
}

static asc_status take_step(asc_trainer *t)
{
    double start = asc_clock();
    ramp(t);
    int64_t n = find_blocks(t);
    asc_step_result r;
    double lr = asc_lr_at(&t->schedule, t->state.step);
    if (asc_error(t->ctx) || asc_step_run(&t->stepper, t->state.step, n, lr, &r)) {
        return asc_error(t->ctx);
    }
    asc_train_state *s = &t->state;
    int64_t tokens = asc_trainer_inputs(t, t->order + t->first, n);
    double took = asc_clock() - start;
    s->step++;
    s->tokens += tokens;
    s->loss = r.loss;
    s->lr = lr;
    s->grad_norm = r.grad_norm;
    t->line_s += took;
    t->line_tokens += tokens;
    t->steps_s += took;
    t->steps_done++;
    return ASC_OK;
}

/* Writes what the step asks for, unless the end of the invocation is to write it. */
static asc_status settle(asc_trainer *t)
{
    if (evaluation_due(t)) {
        return evaluate_in_turn(t);
    }
    return line_due(t) && !over(t) ? write_line(t, false) : ASC_OK;
}

static asc_status run_steps(asc_trainer *t)
{
    while (!t->stopped) {
        if (settle(t) || (checkpoint_due(t) && !evaluation_due(t) && save(t))) {
            return asc_error(t->ctx);
        }
        if (t->stopped || over(t)) {
            return ASC_OK;
        }
        if (take_step(t)) {
            return asc_error(t->ctx);
        }
        describe(t);
        t->progress.log = line_due(t);
        tell(t, ASC_TRAIN_STEP);
    }
    return ASC_OK;
}

/* Says what is left of a run whose numbers are no longer finite. */
static asc_status explain(asc_trainer *t)
{
    if (asc_error(t->ctx) == ASC_ERR_NONFINITE) {
        char after[200];
        snprintf(after, sizeof after, "; it keeps %s%s",
                 t->saved_step >= 0 ? "the last checkpoint and the best model" : "its settings",
                 values(t)->debug_nan ? "" : "; --debug-nan names the op");
        asc_error_extend(t->ctx, t->folder.path, after);
    }
    return asc_error(t->ctx);
}

/* What the last step, or the limit of time, asks for. */
static asc_status finish(asc_trainer *t, asc_train_end end)
{
    bool evaluated = t->state.step == 0 || t->state.evaluated_step == t->state.step;
    if (!evaluated && (end == ASC_END_STEPS ? evaluate_last(t) : evaluate_stranger(t))) {
        return asc_error(t->ctx);
    }
    return end == ASC_END_STEPS && !t->stopped ? dismiss_stranger(t) : ASC_OK;
}

asc_status asc_trainer_loop(asc_trainer *t, asc_train_end *end)
{
    describe(t);
    tell(t, ASC_TRAIN_READY);
    if (run_steps(t)) {
        return explain(t);
    }
    bool saved = t->saved_step == t->state.step && t->state.metrics_bytes == t->metrics.bytes;
    if (!saved && save(t)) {
        return asc_error(t->ctx);
    }
    *end = t->state.step >= t->steps ? ASC_END_STEPS : ASC_END_MINUTES;
    if (!t->stopped && finish(t, *end)) {
        return explain(t);
    }
    *end = t->stopped ? ASC_END_STOPPED : *end;
    return ASC_OK;
}
