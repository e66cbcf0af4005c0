/* train/record.c: what others learn of a training: the hooks, metrics.jsonl, the checkpoint. */

#include <ascgrad/op.h>

#include "train/layer_log.h"
#include "train/trainer.h"

/* ---- what a hook sees ---- */

void asc_trainer_describe(asc_trainer *t)
{
    const asc_train_state *s = &t->state;
    asc_train_progress *p = &t->progress;
    p->step = s->step;
    p->steps = t->steps;
    p->epoch = asc_stages_epochs(&t->stages, s->step);
    p->tokens = s->tokens;
    p->loss = s->loss;
    p->lr = s->lr;
    p->grad_norm = s->grad_norm;
    if (t->line_s > 0) {
        p->tokens_per_s = (double)t->line_tokens / t->line_s;
    }
    p->elapsed_s = asc_clock() - t->start_s;
    p->spent_s = asc_trainer_spent(t);
    p->limit_s = 60 * t->settings->values.minutes;
    p->left_s = asc_trainer_left(t);
    p->best_step = asc_trainer_best(t)->step;
}

void asc_trainer_tell(asc_trainer *t, asc_train_phase phase)
{
    asc_ranks_alive(t);
    t->progress.phase = phase;
    if (t->hooks.progress && !t->hooks.progress(t->hooks.user, &t->progress)) {
        t->stopped = true;
    }
}

bool asc_trainer_goes_on(void *user)
{
    asc_trainer *t = user;
    asc_ranks_alive(t);
    asc_train_progress now = t->progress; /* of the last step, but for the time */
    now.elapsed_s = asc_clock() - t->start_s;
    now.spent_s = asc_trainer_spent(t);
    now.left_s -= now.spent_s - t->progress.spent_s;
    if ((t->hooks.working && !t->hooks.working(t->hooks.user, &now)) ||
        (t->interrupt.go_on && !t->interrupt.go_on(t->interrupt.user))) {
        t->stopped = true;
    }
    return !t->stopped;
}

/* ---- writing ---- */

asc_status asc_trainer_write_line(asc_trainer *t, bool evaluated)
{
    if (asc_folder_check_claim(&t->folder)) {
        return asc_error(t->ctx);
    }
    asc_trainer_describe(t);
    asc_train_progress *p = &t->progress;
    if (p->tokens_per_s == 0 && p->elapsed_s > 0) { /* resumed at a line that was due: no step since */
        p->tokens_per_s = (double)p->tokens / p->elapsed_s;
    }
    t->state.logged_step = t->state.step;
    t->line_s = 0;
    t->line_tokens = 0;
    bool look = evaluated && !asc_lm_pair_inputs(t->lm).pairs;
    json_t *layers = asc_layers_log(t->ctx, t->lm, look ? t->valid : NULL);
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
    if (asc_folder_check_claim(&t->folder) || asc_metrics_sync(&t->metrics)) {
        return asc_error(t->ctx);
    }
    asc_ranks_gather(t);
    asc_params *carried = asc_params_new(t->ctx);
    char *held = asc_trainer_held(t);
    if (held && carried && asc_streams_save(t, carried) == ASC_OK) {
        asc_ranks_write_checkpoint(t, carried, held);
    }
    asc_text_drop(held);
    asc_params_free(carried);
    return asc_error(t->ctx);
}

asc_status asc_trainer_save(asc_trainer *t)
{
    asc_span span;
    asc_span_begin(t->ctx, &span, "checkpoint");
    asc_status status = write_checkpoint(t);
    asc_span_end(t->ctx, &span);
    return status;
}
