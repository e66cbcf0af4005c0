/* train/foresee.c: what settings get wrong whatever the data are: a training looks at it as it is planned, an
 * experiment at that of all its runs, before any of them. */
#include <inttypes.h>
#include <string.h>

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

/* ---- what waits for another setting ---- */

static bool falls(const asc_values *v)
{
    return v->schedule != ASC_DECAY_CONSTANT;
}

static bool stays_and_falls(const asc_values *v)
{
    return v->schedule == ASC_DECAY_WSD;
}

static bool has_groups_own(const asc_values *v)
{
    return strstr(v->groups, "optimizer=") != NULL;
}

static bool has_momentum(const asc_values *v)
{
    return v->optimizer != ASC_RULE_ADAMW || has_groups_own(v);
}

/* Muon leaves what are no matrices to AdamW. */
static bool has_moments(const asc_values *v)
{
    return v->optimizer != ASC_RULE_SGD || has_groups_own(v);
}

static const struct waiting {
    const char *key;
    bool (*is_read)(const asc_values *v);
    const char *by, *with; /* the choice that decides, and with what of it the key is read */
} waiting[] = {
    {"fall", stays_and_falls, "schedule", "wsd"},
    {"min_lr", falls, "schedule", "linear, cosine or wsd"},
    {"momentum", has_momentum, "optimizer", "muon or sgd"},
    {"beta1", has_moments, "optimizer", "adamw or muon"},
    {"beta2", has_moments, "optimizer", "adamw or muon"},
};

/* Whether a key was given by hand: what a preset or a file has waits until something reads it, by hand it was meant. */
static bool is_by_hand(const asc_settings *s, const char *key)
{
    return s->from[asc_setting_find(asc_train_settings, key) - asc_train_settings] == ASC_SOURCE_HAND;
}

static asc_status check_waiting(const asc_settings *s)
{
    for (const struct waiting *w = waiting; w < waiting + sizeof waiting / sizeof *waiting; w++) {
        if (is_by_hand(s, w->key) && !w->is_read(&s->values)) {
            const asc_setting *by = asc_setting_find(asc_train_settings, w->by);
            const int *choice = (const int *)(const void *)((const char *)&s->values + by->offset);
            return asc_fail_on(s->ctx, ASC_ERR_ARG, w->key, " is for %s %s, got %s %s: expected none, or that", w->by,
                               w->with, w->by, by->choices[*choice]);
        }
    }
    return ASC_OK;
}

/* Separation, and the losses of ASCender's layers, can be late where there are any. */
static asc_status check_late(const asc_settings *s, asc_lm *lm)
{
    static const char *const late[] = {"sep_delay", "sep_ramp", "aux_delay"};
    const char *key = NULL;
    for (size_t i = 0; i < sizeof late / sizeof *late && !key; i++) {
        key = is_by_hand(s, late[i]) ? late[i] : NULL;
    }
    if (key && !asc_error(s->ctx) && asc_lm_hold(lm, "omega_sep", NULL)) {
        asc_error_clear(s->ctx);
        return asc_fail_on(s->ctx, ASC_ERR_ARG, key, " is for models with ascender, expected none without one");
    }
    return asc_error(s->ctx);
}

static asc_status check_end(const asc_settings *s)
{
    return s->values.steps > 0 || s->values.epochs > 0
               ? ASC_OK
               : asc_fail(s->ctx, ASC_ERR_ARG,
                          "epochs and steps are both 0: one of them must say where the run ends");
}

asc_status asc_foresee(const asc_settings *s, asc_lm *lm, int ranks)
{
    return check_end(s) || check_waiting(s) || check_late(s, lm) || check_shards(s, ranks) ? asc_error(s->ctx) : ASC_OK;
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
    if (asc_foresee(s, lm, 1) || asc_stages_read(s, asc_lm_block(lm), &stages) ||
        asc_phase_length(s->ctx, "fall", v->fall, steps, 0) < 0 ||
        asc_phases_plan(&phases, lm, v, steps, s->ctx)) {
        return asc_error(s->ctx);
    }
    asc_optim_free(asc_optimizer_new(s->ctx, v, lm));
    return asc_error(s->ctx);
}
