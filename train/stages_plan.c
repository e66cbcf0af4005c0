/* train/stages_plan.c: the stages that a training's settings ask for, and what config.json says of them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/trainer.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- what the settings ask for ---- */

/* What a course holds at a step: before its first point that one's value; without points `constant`. */
static int64_t held(const asc_course *c, int64_t step, int64_t constant)
{
    if (c->n == 0) {
        return constant;
    }
    int i = c->n - 1;
    while (i > 0 && c->point[i].step > step) {
        i--;
    }
    return (int64_t)c->point[i].value;
}

/* The next step at which a course changes; or `soonest`, if that is sooner. */
static int64_t next_change(const asc_course *c, int64_t step, int64_t soonest)
{
    for (int i = 1; i < c->n; i++) {
        int64_t at = c->point[i].step;
        soonest = at > step && at < soonest ? at : soonest;
    }
    return soonest;
}

/* The setting's points, or those that they had come to when a resumed run began: a share of the run stays where it was,
 * or what is done would have been done otherwise. Whole numbers from 1 to `most`. */
static asc_status read_course(const asc_settings *s, const char *key, const char *given, double most, asc_course *c)
{
    const asc_values *v = &s->values;
    const char *begun = json_string_value(json_object_get(s->plan, key)), *text = begun ? begun : given;
    int64_t run = v->schedule_steps > 0 ? v->schedule_steps : v->epochs == 0 ? v->steps : 0;
    if (!*text) {
        return ASC_OK;
    }
    if (run == 0 && strchr(text, '%')) {
        return asc_fail_on(s->ctx, ASC_ERR_ARG, key, ": got '%.60s', expected steps: shares are of a run's steps, and "
                           "this one's length is told in epochs", text);
    }
    if (asc_course_read(s->ctx, key, text, run, c)) {
        return asc_error(s->ctx);
    }
    for (int i = 0; i < c->n; i++) {
        double value = c->point[i].value;
        if (!(value >= 1 && value <= most && value == floor(value))) {
            return asc_fail_on(s->ctx, ASC_ERR_ARG, key, ": got %g, expected whole numbers from 1 to %.0f", value,
                               most);
        }
    }
    return ASC_OK;
}

/* Evaluations take the largest block. */
static asc_status check_largest(const asc_settings *s, const asc_course *c, int64_t block)
{
    int64_t most = 0;
    for (int i = 0; i < c->n; i++) {
        most = (int64_t)c->point[i].value > most ? (int64_t)c->point[i].value : most;
    }
    if (c->n == 0 || most == block) {
        return ASC_OK;
    }
    return asc_fail_on(s->ctx, ASC_ERR_ARG, "block_schedule", ": its largest is %" PRId64 ", expected block, %" PRId64
                       ", among them: evaluations take that", most, block);
}

/* What the steps from `from` on take: less than the room that batch makes. */
static asc_status check_room(const asc_settings *s, const asc_stages *stages, int64_t longest, int64_t from)
{
    const asc_values *v = &s->values;
    int64_t sequences = held(&stages->batch, from, v->batch * v->accumulate);
    int64_t block = held(&stages->block, from, longest);
    if ((double)sequences * (double)block <= (double)v->batch * (double)v->accumulate * (double)longest) {
        return ASC_OK;
    }
    return asc_fail_on(s->ctx, ASC_ERR_ARG, "batch_schedule", ": %" PRId64 " sequences of %" PRId64 " tokens from "
                       "step %" PRId64 " on, expected no more tokens than batch x accumulate x block, %" PRId64
                       " x %" PRId64 " x %" PRId64, sequences, block, from, v->batch, v->accumulate, longest);
}

/* Where the stage after the one at `from` begins; INT64_MAX: there is none. */
static int64_t next_stage(const asc_stages *s, int64_t from)
{
    return next_change(&s->block, from, next_change(&s->batch, from, INT64_MAX));
}

asc_status asc_stages_read(const asc_settings *s, int64_t block, asc_stages *stages)
{
    const asc_values *v = &s->values;
    double most = fmin((double)v->batch * (double)v->accumulate * (double)block, 1e12);
    if (read_course(s, "batch_schedule", v->batch_schedule, most, &stages->batch) ||
        read_course(s, "block_schedule", v->block_schedule, (double)block, &stages->block) ||
        check_largest(s, &stages->block, block)) {
        return asc_error(s->ctx);
    }
    for (int64_t from = 0; from < INT64_MAX; from = next_stage(stages, from)) {
        if (check_room(s, stages, block, from)) {
            return asc_error(s->ctx);
        }
    }
    return ASC_OK;
}

/* ---- with the data ---- */

static asc_status check_data(const asc_trainer *t)
{
    const asc_values *v = &t->settings->values;
    if (v->group_by_length && t->train->n_sequences == 0) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "group_by_length",
                           ": %s is one text, whose blocks are all as long: expected none, or sequences", v->data);
    }
    if (t->stages.block.n > 0 && t->train->n_sequences > 0) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "block_schedule",
                           ": each block of %s is one sequence, as long as it is: expected none", v->data);
    }
    return ASC_OK;
}

static asc_status add_stage(asc_trainer *t, int64_t from)
{
    const asc_values *v = &t->settings->values;
    int64_t longest = asc_lm_block(t->lm);
    asc_stage next = {.from = from,
                      .sequences = held(&t->stages.batch, from, v->batch * v->accumulate),
                      .block = held(&t->stages.block, from, longest)};
    next.pass = v->batch * longest / next.block;
    next.blocks = asc_split_blocks(t->train, next.block, false);
    next.steps = ceil_div(next.blocks, next.sequences);
    if (asc_streams_plan(t, &next)) {
        return asc_error(t->ctx);
    }
    asc_stages_add(&t->stages, next);
    t->blocks = next.blocks > t->blocks ? next.blocks : t->blocks;
    int64_t passes = ceil_div(next.sequences, next.pass);
    t->passes = passes > t->passes ? passes : t->passes;
    return ASC_OK;
}

asc_status asc_stages_plan(asc_trainer *t)
{
    asc_stages *s = &t->stages;
    *s = (asc_stages){.carry = asc_lm_carry(t->lm) > 0};
    if (asc_stages_read(t->settings, asc_lm_block(t->lm), s) || check_data(t)) {
        return asc_error(t->ctx);
    }
    for (int64_t from = 0; from < INT64_MAX; from = next_stage(s, from)) {
        if (add_stage(t, from)) {
            return asc_error(t->ctx);
        }
    }
    return ASC_OK;
}

/* ---- config.json ---- */

static void add_course(json_t *plan, const char *key, const asc_course *c)
{
    char text[ASC_COURSE_POINTS * 48] = "";
    for (int i = 0; i < c->n; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%" PRId64 ":%.0f", i ? "," : "", c->point[i].step, c->point[i].value);
    }
    if (c->n > 0) {
        json_object_set_new(plan, key, json_string(text));
    }
}

void asc_stages_describe(const asc_stages *s, json_t *plan)
{
    add_course(plan, "batch_schedule", &s->batch);
    add_course(plan, "block_schedule", &s->block);
}
