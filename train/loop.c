/* train/loop.c: step after step, with the evaluations, lines and checkpoints that are due. */
#include <stdio.h>

#include <ascgrad/op.h>

#include "train/trainer.h"

static const asc_values *values(const asc_trainer *t)
{
    return &t->settings->values;
}

/* ---- what is due ---- */

static bool line_due(const asc_trainer *t)
{
    return t->state.step > 0 && t->state.step % values(t)->log_every == 0 && t->state.logged_step != t->state.step;
}

static bool checkpoint_due(const asc_trainer *t)
{
    return t->state.step > 0 && t->state.step % values(t)->checkpoint_every == 0 && t->saved_step != t->state.step;
}

static bool preview_due(const asc_trainer *t)
{
    return values(t)->sample_every > 0 && t->state.step % values(t)->sample_every == 0 && !t->stopped;
}

/* ---- steps ---- */

/* Where the next step's blocks stand in the order of their epoch; how many there are. */
static int64_t find_blocks(asc_trainer *t)
{
    asc_stage_place p = asc_stages_at(&t->stages, t->state.step);
    if (p.epoch != t->epoch && t->stages.carry) {
        asc_block_streams(t->ctx, p.stage->blocks, p.stage->sequences, t->order);
    } else if (p.epoch != t->epoch) {
        asc_trainer_order(t, p.stage->blocks, p.epoch);
    }
    asc_streams_follow(t);
    t->epoch = p.epoch;
    t->first = p.first;
    t->stepper.block = p.stage->block;
    t->stepper.batch = p.stage->pass;
    return p.n;
}

/* Whether a hook ended the step half-way: nothing has come of it, and it is no error. */
static bool given_up(asc_trainer *t)
{
    bool several = asc_comm_size(t->ctx) > 1; /* whose hooks may have ended it */
    bool stopped = asc_error(t->ctx) == ASC_ERR_INTERRUPTED && (t->stopped || several);
    t->stopped = t->stopped || stopped;
    if (stopped) {
        asc_error_clear(t->ctx);
    }
    return stopped;
}

asc_status asc_trainer_step(asc_trainer *t)
{
    double start = asc_clock();
    asc_phases_apply(&t->phases, t->lm, t->state.step);
    t->stepper.dropout = asc_phases_dropout(&t->phases, t->state.step);
    int64_t n = find_blocks(t);
    asc_step_result r;
    double lr = asc_lr_at(&t->schedule, t->state.step);
    asc_ranks_step(t);
    asc_step_run(&t->stepper, t->state.step, n, lr, &r);
    asc_ranks_step_done(t);
    if (asc_error(t->ctx)) {
        return given_up(t) ? ASC_OK : asc_error(t->ctx);
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
    t->steps_tokens += (double)(n * t->stepper.block);
    t->steps_done++;
    t->flops += 3 * r.flops; /* twice the forward's backward */
    t->flops_tokens += tokens;
    return ASC_OK;
}

/* Writes what the step asks for, unless the end of the invocation is to write it. */
static asc_status settle(asc_trainer *t)
{
    if (asc_trainer_evaluation_due(t)) {
        return asc_trainer_evaluate_in_turn(t);
    }
    return line_due(t) && !asc_trainer_over(t) ? asc_trainer_write_line(t, false) : ASC_OK;
}

/* Before the learning rate falls, what the run could go on from with more steps is kept. */
static asc_status keep_stable(asc_trainer *t)
{
    if (t->state.step > 0 && t->state.step == asc_trainer_falls_from(t)) {
        if (t->saved_step != t->state.step && asc_trainer_save(t)) {
            return asc_error(t->ctx);
        }
        asc_folder_mark(&t->folder);
    }
    return ASC_OK;
}

static asc_status run_steps(asc_trainer *t)
{
    while (!t->stopped) {
        if (settle(t) || (checkpoint_due(t) && !asc_trainer_evaluation_due(t) && asc_trainer_save(t)) ||
            keep_stable(t)) {
            return asc_error(t->ctx);
        }
        if (t->stopped || asc_trainer_over(t)) {
            return ASC_OK;
        }
        if (asc_trainer_step(t)) {
            return asc_error(t->ctx);
        }
        if (t->stopped) {
            return ASC_OK;
        }
        asc_trainer_describe(t);
        t->progress.log = line_due(t);
        asc_trainer_tell(t, ASC_TRAIN_PHASE_STEP);
        if (preview_due(t) && asc_trainer_preview(t)) {
            return asc_error(t->ctx);
        }
    }
    return ASC_OK;
}

/* Says what is left of a run whose numbers are no longer finite. */
static asc_status explain(asc_trainer *t)
{
    if (asc_error(t->ctx) == ASC_ERR_NONFINITE) {
        char after[200];
        snprintf(after, sizeof after, "; it keeps %s%s%s",
                 t->saved_step >= 0 ? "the last checkpoint" : "its settings",
                 asc_trainer_best(t)->step >= 0 ? " and the best model" : "",
                 values(t)->debug_nan ? ""
                 : t->saved_step >= 0 ? "; --resume with --debug-nan names the op"
                                      : "; --debug-nan names the op");
        asc_error_extend(t->ctx, t->folder.path, after);
    }
    return asc_error(t->ctx);
}

/* What the last step, or the limit of time, asks for. */
static asc_status finish(asc_trainer *t, asc_train_end end)
{
    bool evaluated = t->state.step == 0 || t->state.evaluated_step == t->state.step || end == ASC_TRAIN_END_EARLY;
    if (!evaluated && (end == ASC_TRAIN_END_STEPS ? asc_trainer_evaluate_last(t) : asc_trainer_evaluate_stranger(t))) {
        return asc_error(t->ctx);
    }
    if (!t->stopped && end != ASC_TRAIN_END_MINUTES && asc_trainer_dismiss_stranger(t)) {
        return asc_error(t->ctx);
    }
    return t->stopped ? ASC_OK : asc_trainer_evaluate_best(t);
}

static asc_train_end find_end(const asc_trainer *t)
{
    return t->state.step >= t->steps ? ASC_TRAIN_END_STEPS
           : asc_trainer_early(t)    ? ASC_TRAIN_END_EARLY
                                     : ASC_TRAIN_END_MINUTES;
}

asc_status asc_trainer_loop(asc_trainer *t, asc_train_end *end)
{
    asc_trainer_describe(t);
    asc_trainer_tell(t, ASC_TRAIN_PHASE_READY);
    if (run_steps(t)) {
        return explain(t);
    }
    bool saved = t->saved_step == t->state.step && t->state.metrics_bytes == t->metrics.bytes;
    if (!saved && asc_trainer_save(t)) {
        return asc_error(t->ctx);
    }
    *end = find_end(t);
    if (!t->stopped && finish(t, *end)) {
        return explain(t);
    }
    *end = t->stopped ? ASC_TRAIN_END_STOPPED : *end;
    return ASC_OK;
}
