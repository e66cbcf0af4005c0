/* train/state.c: whether a checkpoint's state is one that its run can be in. Each field is within its range already; a
 * state that is not the run's would go on to another result, or look for blocks that are not there. */
#include <inttypes.h>
#include <math.h>

#include "train/trainer.h"

#define REFUSE(t, format, ...) asc_fail((t)->ctx, ASC_ERR_FORMAT, "%s: " format, (t)->read_from, __VA_ARGS__)

double asc_bits_per_byte(const asc_trainer *t, double loss)
{
    int64_t predicted = asc_lm_classes(t->lm) > 0 ? t->valid->n_sequences : asc_split_targets(t->valid);
    return loss * (double)predicted / (log(2) * (double)t->valid->bytes);
}

/* The inputs of the first n blocks of an epoch, whose order is looked up in the trainer's memory for it: a step looks
 * up its own. */
static int64_t inputs_of_epoch(const asc_trainer *t, int64_t epoch, int64_t n)
{
    if (t->train->n_sequences > 0) {
        asc_trainer_order(t, t->blocks, epoch);
    }
    return asc_trainer_inputs(t, t->order, n);
}

/* The tokens of the first `step` steps. -1: more than are counted. */
static int64_t tokens_of(const asc_trainer *t, int64_t step)
{
    double most = 9e15, tokens = asc_stages_tokens(&t->stages, step); /* up to there whole numbers are exact */
    if (tokens > most) {
        return -1;
    }
    if (t->train->n_sequences == 0) {
        return (int64_t)tokens;
    }
    asc_stage_place p = asc_stages_at(&t->stages, step);
    return p.epoch * inputs_of_epoch(t, 0, p.stage->blocks) + inputs_of_epoch(t, p.epoch, p.first);
}

static asc_status check_step(const asc_trainer *t)
{
    const asc_train_state *s = &t->state;
    /* Before a resume with more steps makes any, it plans them. */
    int64_t planned = json_integer_value(json_object_get(t->settings->plan, "steps"));
    if (planned > 0 && s->step > planned) {
        return REFUSE(t, "its step is %" PRId64 ", but %s has planned %" PRId64, s->step, t->folder.config, planned);
    }
    int64_t tokens = tokens_of(t, s->step);
    if (s->tokens != tokens) {
        return REFUSE(t, "its tokens are %" PRId64 ", but %" PRId64 " steps take %" PRId64, s->tokens, s->step, tokens);
    }
    int64_t evaluated = s->evaluated_step;
    bool anywhere = asc_trainer_eval_every(t) == 0; /* earlier versions took no notice of schedules */
    if (evaluated != -1 && (evaluated < 1 || evaluated > s->step ||
                            !(anywhere || asc_trainer_evaluates_at(t, evaluated)))) {
        return REFUSE(t, "its evaluated_step is %" PRId64 ", expected -1 or a step with an evaluation up to its step, %"
                      PRId64, evaluated, s->step);
    }
    if (s->logged_step == 0 || s->logged_step > s->step) {
        return REFUSE(t, "its logged_step is %" PRId64 ", expected -1 or 1 to its step, %" PRId64, s->logged_step,
                      s->step);
    }
    return ASC_OK;
}

/* The optimiser counts for itself: a parameter takes part in a step, unless it has no gradient or is held then. */
static asc_status check_optim(const asc_trainer *t)
{
    asc_tensor steps = asc_params_find(asc_optim_state(t->optim), "steps");
    const int64_t *made = asc_data(steps);
    for (int64_t i = 0; i < asc_numel(steps); i++) {
        if (made[i] < 0 || made[i] > t->state.step) {
            return REFUSE(t, "its optimiser has made %" PRId64 " steps, but its step is %" PRId64, made[i],
                          t->state.step);
        }
    }
    return ASC_OK;
}

/* Loss and bits per byte are two ways to say one thing. */
static asc_status check_best(const asc_trainer *t)
{
    const asc_best *best = &t->state.best;
    if (best->step < 0 && !(isinf(best->loss) && isnan(best->bits))) {
        return REFUSE(t, "its best_loss is %g and its best_bits are %g, but its best_step is -1, which is none",
                      best->loss, best->bits);
    }
    if (best->step < 0) {
        return ASC_OK;
    }
    if (best->step < 1 || best->step > t->state.step || !isfinite(best->loss)) {
        return REFUSE(t, "its best_step is %" PRId64 " with a loss of %g, expected a finite one of 1 to %" PRId64,
                      best->step, best->loss, t->state.step);
    }
    double bits = asc_bits_per_byte(t, best->loss);
    if (!(fabs(best->bits - bits) <= 1e-9 * bits)) { /* not a number is wrong, too */
        return REFUSE(t, "its best_bits are %.9g, but a best_loss of %.9g comes to %.9g", best->bits, best->loss, bits);
    }
    return ASC_OK;
}

/* The last step's numbers, which a line of metrics.jsonl may still need. */
static asc_status check_last(const asc_trainer *t)
{
    const asc_train_state *s = &t->state;
    bool any = s->step > 0, all = isfinite(s->loss) && isfinite(s->lr) && isfinite(s->grad_norm);
    bool none = isnan(s->loss) && isnan(s->lr) && isnan(s->grad_norm);
    if (!(any ? all : none) || !isfinite(s->elapsed_s)) {
        return REFUSE(t, "its loss is %g, its lr %g, its grad_norm %g and its elapsed_s %g after %" PRId64 " steps, "
                      "expected %s", s->loss, s->lr, s->grad_norm, s->elapsed_s, s->step,
                      any ? "finite numbers" : "none of the first three");
    }
    return ASC_OK;
}

asc_status asc_trainer_check_state(const asc_trainer *t)
{
    if (check_step(t) || check_optim(t) || check_best(t) || check_last(t)) {
        return asc_error(t->ctx);
    }
    return ASC_OK;
}
