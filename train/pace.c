/* train/pace.c: when a training evaluates, when it ends, and how long that takes. */
#include <math.h>

#include "train/trainer.h"

static const asc_values *values(const asc_trainer *t)
{
    return &t->settings->values;
}

int64_t asc_trainer_falls_from(const asc_trainer *t)
{
    const asc_schedule *s = &t->schedule;
    int64_t from = s->steps - s->fall > s->warmup ? s->steps - s->fall : s->warmup;
    return s->decay == ASC_DECAY_WSD && from > 0 ? from : -1;
}

const asc_best *asc_trainer_best(const asc_trainer *t)
{
    return asc_best_beats(&t->stranger, &t->state.best) ? &t->stranger : &t->state.best;
}

int64_t asc_trainer_eval_every(const asc_trainer *t)
{
    int64_t every = values(t)->eval_every;
    return every > 0 ? every : t->stages.n == 1 ? t->stages.at[0].steps : 0;
}

/* Evaluations that the schedule asks for up to a step: at ends of epochs, whose lengths may differ, or at even
 * distances. */
static int64_t evaluations(const asc_trainer *t, int64_t step)
{
    int64_t every = values(t)->eval_every;
    return every > 0 ? step / every : asc_stages_at(&t->stages, step).epoch;
}

bool asc_trainer_evaluates_at(const asc_trainer *t, int64_t step)
{
    return step > 0 && evaluations(t, step) > evaluations(t, step - 1);
}

bool asc_trainer_evaluation_due(const asc_trainer *t)
{
    return asc_trainer_evaluates_at(t, t->state.step) && t->state.evaluated_step != t->state.step;
}

/* Counted from the checkpoint's own fields, so that it is the same after a resume. */
bool asc_trainer_early(const asc_trainer *t)
{
    int64_t most = values(t)->early_stop, best = t->state.best.step;
    return most > 0 && best >= 0 && evaluations(t, t->state.evaluated_step) - evaluations(t, best) >= most;
}

/* ---- how long things take ---- */

double asc_trainer_spent(const asc_trainer *t)
{
    return asc_clock() - t->invoked_s;
}

/* Of steps `from` to below `to`, by their tokens. NaN before the first step. */
static double steps_time(const asc_trainer *t, int64_t from, int64_t to)
{
    double tokens = asc_stages_tokens(&t->stages, to) - asc_stages_tokens(&t->stages, from);
    return t->steps_done > 0 ? t->steps_s / t->steps_tokens * tokens : NAN;
}

/* Before one was timed: a forward pass, which is a third of a step. */
static double evaluation_time(const asc_trainer *t)
{
    double guess = t->steps_done > 0 ? t->steps_s / t->steps_tokens / 3 * (double)t->judge->n_tokens : NAN;
    return t->evaluation_s > 0 ? t->evaluation_s : guess;
}

/* Of the best model, on all of the split, at the end. */
static double last_look_time(const asc_trainer *t)
{
    double parts = (double)t->valid->n_tokens / (double)t->judge->n_tokens;
    return t->judge == t->valid ? 0 : parts * evaluation_time(t);
}

/* Evaluations that are still to come, the part among them that remains of one that runs. */
static double evaluations_left(const asc_trainer *t)
{
    int64_t step = t->state.step;
    double left = t->steps > step ? (double)(evaluations(t, t->steps) - evaluations(t, step)) : 0;
    bool here = step > 0 && t->state.evaluated_step != step && (asc_trainer_evaluates_at(t, step) || step >= t->steps);
    double remains = t->progress.phase == ASC_TRAIN_PHASE_EVALUATING ? 1 - t->progress.evaluated : 1;
    return left + (here ? remains : 0) + (step < t->steps && !asc_trainer_evaluates_at(t, t->steps));
}

double asc_trainer_left(const asc_trainer *t)
{
    int64_t step = t->state.step;
    double steps = steps_time(t, step, t->steps > step ? t->steps : step);
    double left = steps + evaluations_left(t) * evaluation_time(t) + last_look_time(t);
    double limit = 60 * values(t)->minutes - asc_trainer_spent(t);
    return values(t)->minutes > 0 && !(left < limit) ? fmax(limit, 0) : left;
}

/* Another step must fit in, and the evaluation at the end, unless that took more than half of the time. */
static bool out_of_time(const asc_trainer *t)
{
    double limit = 60 * values(t)->minutes, spent = asc_trainer_spent(t);
    if (limit <= 0 || t->steps_done == 0) {
        return limit > 0 && spent >= limit;
    }
    double next = steps_time(t, t->state.step, t->state.step + 1);
    return spent + next + fmin(evaluation_time(t) + last_look_time(t), limit / 2) >= limit;
}

bool asc_trainer_over(const asc_trainer *t)
{
    return t->state.step >= t->steps || asc_trainer_early(t) || out_of_time(t);
}
