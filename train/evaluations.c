/* train/evaluations.c: the evaluations of a training, and the models that they choose. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/op.h>

#include "tensor/locale.h"
#include "train/path.h"
#include "train/trainer.h"

/* ---- the loss ---- */

static bool evaluation_goes_on(void *user, double done)
{
    asc_trainer *t = user;
    t->progress.evaluated = done;
    t->progress.phase = ASC_TRAIN_PHASE_EVALUATING;
    asc_trainer_describe(t); /* of the time that is left */
    asc_trainer_tell(t, ASC_TRAIN_PHASE_EVALUATING);
    return !t->stopped;
}

/* ASC_ERR_INTERRUPTED: a hook stopped it, no error. The training's own model is seen with its averages. */
static asc_status evaluate_on(asc_trainer *t, asc_lm *lm, const asc_split *split, asc_eval_result *result)
{
    asc_eval_options options = {.batch = t->settings->values.batch, .carry = asc_lm_carry(lm),
                                .progress = evaluation_goes_on, .user = t, .features = t->features[ASC_SPLIT_VALID]};
    t->progress.evaluated = 0;
    asc_span span;
    asc_span_begin(t->ctx, &span, "evaluation");
    asc_trainer_swap_average(t, lm);
    asc_set_interrupt(t->ctx, asc_trainer_goes_on, t);
    asc_status status = asc_evaluate(t->ctx, lm, split, &options, result);
    asc_set_interrupt(t->ctx, NULL, NULL);
    asc_trainer_swap_average(t, lm);
    asc_span_end(t->ctx, &span);
    if (status == ASC_ERR_INTERRUPTED && t->stopped) {
        asc_error_clear(t->ctx);
    }
    return status;
}

/* The loss on the validation split, or the part of it that judges. ASC_ERR_INTERRUPTED: a hook stopped it, no error. */
static asc_status evaluate(asc_trainer *t, asc_best *found)
{
    asc_eval_result *valid = &t->progress.valid;
    double start = asc_clock();
    asc_trainer_describe(t);
    asc_status status = evaluate_on(t, t->lm, t->judge, valid);
    if (status == ASC_ERR_INTERRUPTED) {
        return status;
    }
    t->evaluation_s = asc_clock() - start;
    if (t->judge != t->valid) {
        valid->bits_per_byte = asc_bits_per_byte(t, valid->loss); /* at the whole text's bytes per token */
    }
    if (status == ASC_OK && !isfinite(valid->loss)) {
        status = asc_fail(t->ctx, ASC_ERR_NONFINITE, "step %lld: the validation loss is %g", (long long)t->state.step,
                          fabs(valid->loss)); /* no -nan */
    }
    bool accuracy = t->settings->values.best_by == ASC_BEST_BY_ACCURACY;
    *found = (asc_best){t->state.step, valid->loss, valid->bits_per_byte, accuracy ? 1 - valid->accuracy : 0};
    return status;
}

asc_status asc_trainer_write_model(asc_trainer *t, const char *path, const asc_best *of)
{
    asc_span span;
    asc_span_begin(t->ctx, &span, "checkpoint");
    asc_status status = asc_folder_check_claim(&t->folder);
    if (status == ASC_OK) {
        asc_trainer_swap_average(t, t->lm);
        status = asc_model_write(t->ctx, path, t->lm, t->tokenizer, t->data, of);
        asc_trainer_swap_average(t, t->lm);
    }
    asc_span_end(t->ctx, &span);
    return status;
}

/* A new best becomes the run's with the checkpoint that knows of it; then the model, written as model.next, takes its
 * place. Its line is written before, where it is a part of the run. */
static asc_status commit_best(asc_trainer *t, const asc_best *found, bool line)
{
    asc_best before = t->state.best;
    t->state.best = *found;
    if (asc_trainer_write_model(t, t->folder.next, found) || (line && asc_trainer_write_line(t, true)) ||
        asc_trainer_save(t)) {
        t->state.best = before;
        return asc_error(t->ctx);
    }
    if (asc_best_beats(&t->stranger, &t->state.best)) {
        return asc_folder_put_by(&t->folder);
    }
    t->stranger = asc_best_none();
    return asc_folder_promote(&t->folder);
}

static asc_status tell_evaluated(asc_trainer *t)
{
    t->progress.best_step = asc_trainer_best(t)->step;
    asc_trainer_tell(t, ASC_TRAIN_PHASE_EVALUATED);
    return ASC_OK;
}

/* An evaluation that the schedule asks for. */
asc_status asc_trainer_evaluate_in_turn(asc_trainer *t)
{
    asc_best found;
    asc_status status = evaluate(t, &found);
    if (status) {
        return status == ASC_ERR_INTERRUPTED ? ASC_OK : status;
    }
    t->state.evaluated_step = t->state.step;
    if (asc_best_beats(&found, &t->state.best) ? commit_best(t, &found, true) : asc_trainer_write_line(t, true)) {
        return asc_error(t->ctx);
    }
    return tell_evaluated(t);
}

/* The one after the last step, where the schedule asks for none: the run's own, but its line is no part of a run that
 * goes on with more steps, and comes after the checkpoint. */
asc_status asc_trainer_evaluate_last(asc_trainer *t)
{
    asc_best found;
    asc_status status = evaluate(t, &found);
    if (status) {
        return status == ASC_ERR_INTERRUPTED ? ASC_OK : status;
    }
    if (asc_best_beats(&found, &t->state.best) && commit_best(t, &found, false)) {
        return asc_error(t->ctx);
    }
    return asc_trainer_write_line(t, true) ? asc_error(t->ctx) : tell_evaluated(t);
}

/* The one where time is up, after the checkpoint: no part of the run. */
asc_status asc_trainer_evaluate_stranger(asc_trainer *t)
{
    asc_best found;
    asc_status status = evaluate(t, &found);
    if (status) {
        return status == ASC_ERR_INTERRUPTED ? ASC_OK : status;
    }
    if (asc_best_beats(&found, asc_trainer_best(t))) {
        if ((t->stranger.step < 0 && asc_folder_keep_model(&t->folder)) ||
            asc_trainer_write_model(t, t->folder.model, &found)) {
            return asc_error(t->ctx);
        }
        t->stranger = found;
    }
    return asc_trainer_write_line(t, true) ? asc_error(t->ctx) : tell_evaluated(t);
}

/* At the end the model is that of an uninterrupted run. */
asc_status asc_trainer_dismiss_stranger(asc_trainer *t)
{
    if (t->stranger.step < 0 || !asc_path_exists(t->folder.kept)) {
        return ASC_OK;
    }
    char text[300];
    asc_snprintf(text, sizeof text,
                 "after step %lld, which is no part of the run, the loss was %.4f, better than its own "
                 "best: that model is %.150s",
                 (long long)t->stranger.step, t->stranger.loss, t->folder.extra);
    asc_trainer_say(t, text);
    t->stranger = asc_best_none();
    return asc_folder_restore(&t->folder);
}

/* ---- the best model, at the end ---- */

/* The best model: the one in memory, where nothing came after it, or the one on disk, in *opened. */
static asc_lm *open_best(asc_trainer *t, asc_model **opened)
{
    *opened = NULL;
    if (asc_trainer_best(t) == &t->state.best && t->state.best.step == t->state.step) {
        return t->lm;
    }
    *opened = asc_model_open(t->ctx, t->folder.model, NULL, NULL);
    return *opened ? (*opened)->lm : NULL;
}

asc_status asc_trainer_evaluate_best(asc_trainer *t)
{
    if (t->judge == t->valid || asc_trainer_best(t)->step < 0) {
        return ASC_OK;
    }
    asc_model *opened;
    asc_lm *lm = open_best(t, &opened);
    asc_status status = lm ? evaluate_on(t, lm, t->valid, &t->whole) : asc_error(t->ctx);
    asc_model_free(t->ctx, opened);
    if (status == ASC_ERR_INTERRUPTED && asc_error(t->ctx) == ASC_OK) {
        t->whole.loss = NAN;
        return ASC_OK;
    }
    return status;
}
