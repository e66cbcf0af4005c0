/* train/foresee.c: what settings get wrong whatever the data are: a training looks at it as it is planned, an
 * experiment at that of all its runs, before any of them. */
#include <inttypes.h>

#include "tensor/ctx.h"
#include "train/trainer.h"

static asc_status check_shards(const asc_settings *s, int ranks)
{
    const asc_values *v = &s->values;
    if (v->batch % v->shards != 0) {
        return asc_fail_on(s->ctx, ASC_ERR_ARG, "shards", " is %" PRId64 ", expected a divisor of batch, %" PRId64,
                           v->shards, v->batch);
    }
    if (v->shards % ranks != 0) {
        return asc_fail_on(s->ctx, ASC_ERR_ARG, "shards", " is %" PRId64 ", expected a multiple of the %d processes",
                           v->shards, ranks);
    }
    return ASC_OK;
}

/* A fall that nothing makes use of: a preset's or a file's waits for the schedule, by hand it was meant. */
static asc_status check_fall(const asc_settings *s)
{
    const asc_setting *fall = asc_setting_find(asc_train_settings, "fall"),
                      *schedule = asc_setting_find(asc_train_settings, "schedule");
    int got = s->values.schedule;
    if (got == ASC_DECAY_WSD || s->from[fall - asc_train_settings] != ASC_SOURCE_HAND) {
        return ASC_OK;
    }
    return asc_fail_on(s->ctx, ASC_ERR_ARG, "fall", " is for schedule wsd, got schedule %s: expected none, or that",
                       schedule->choices[got]);
}

static asc_status check_end(const asc_settings *s)
{
    return s->values.steps > 0 || s->values.epochs > 0
               ? ASC_OK
               : asc_fail(s->ctx, ASC_ERR_ARG,
                          "epochs and steps are both 0: one of them must say where the run ends");
}

asc_status asc_foresee(const asc_settings *s, int ranks)
{
    return check_end(s) || check_fall(s) || check_shards(s, ranks) ? asc_error(s->ctx) : ASC_OK;
}

/* The number of steps that shares are of, where an epoch's is not known yet. */
static int64_t some_steps(const asc_values *v)
{
    enum { SOME = 1000 };
    return v->schedule_steps > 0 ? v->schedule_steps : v->steps > 0 ? v->steps : SOME;
}

asc_status asc_foresee_all(const asc_settings *s, asc_lm *lm)
{
    const asc_values *v = &s->values;
    int64_t steps = some_steps(v);
    asc_stages stages = {0};
    asc_phases phases;
    if (asc_foresee(s, 1) || asc_stages_read(s, asc_lm_block(lm), &stages) ||
        asc_phase_length(s->ctx, "fall", v->fall, steps, 0) < 0 ||
        asc_phases_plan(&phases, lm, v, steps, s->ctx)) {
        return asc_error(s->ctx);
    }
    asc_optim_free(asc_optimizer_new(s->ctx, v, lm));
    return asc_error(s->ctx);
}
