/* train/experiment/tuning.c: what the tuning found, and what is known of time: both from the runs' own files. */
#include <math.h>
#include <string.h>

#include <ascgrad/runs.h>
#include <program/names.h>

#include "tensor/need.h"
#include "train/experiment/experiment.h"
#include "train/run/no_run.h"

/* Reads a run that has begun; one that is done is read once. */
static asc_status measure(asc_experiment *e, asc_plan_run *r)
{
    if (r->measured || r->info.state == ASC_EXPERIMENT_STATE_OPEN || r->info.state == ASC_EXPERIMENT_STATE_WAITING) {
        return ASC_OK;
    }
    asc_run *run = asc_is_run(r->info.folder) ? asc_run_read(e->ctx, r->info.folder) : NULL;
    if (run) {
        const asc_run_info *info = asc_run_info_of(run);
        r->valid_loss = r->info.diverged ? NAN : info->best.valid_loss;
        r->valid_accuracy = !r->info.diverged && info->by_accuracy ? info->best.valid_accuracy : NAN;
        r->wall_s = info->wall_s;
        r->step = info->step;
        r->steps = info->steps;
    }
    asc_run_free(run);
    r->measured = r->info.state == ASC_EXPERIMENT_STATE_DONE && !asc_error(e->ctx); /* what failed is tried again */
    return asc_error(e->ctx);
}

/* ---- the tuning ---- */

/* Whether one of the tuned values is the smallest or the largest of its list, beyond which one may do better. */
static bool is_at_edge(const asc_experiment *e, const asc_plan_run *r)
{
    const char *key;
    json_t *values;
    bool edge = false;
    json_object_foreach(json_object_get(json_object_get(e->def, "tune"), "grid"), key, values) {
        const json_t *value = json_object_get(r->own, key);
        const double x = json_number_value(value);
        bool below = false, above = false;
        size_t i;
        json_t *other;
        json_array_foreach(values, i, other) {
            below = below || json_number_value(other) < x;
            above = above || json_number_value(other) > x;
        }
        edge = edge || (json_is_number(value) && json_array_size(values) > 2 && !(below && above));
    }
    return edge;
}

/* By what makes an evaluation of the runs the best: the accuracy, of equal ones the loss; or the loss. */
static bool is_better(const asc_plan_run *a, const asc_plan_run *b)
{
    bool accuracies = isfinite(a->valid_accuracy) && isfinite(b->valid_accuracy);
    return accuracies && a->valid_accuracy != b->valid_accuracy ? a->valid_accuracy > b->valid_accuracy
                                                                : a->valid_loss < b->valid_loss;
}

/* A value whose loss is not finite is not chosen. Of one whose run failed, a full disk say, or can't be read any more
 * nothing is known: the choice waits for it, so that it is that of an experiment to which nothing happened. */
static asc_status find(asc_experiment *e, int system, asc_experiment_tuning *t)
{
    *t = (asc_experiment_tuning){.run = -1, .valid_loss = NAN, .valid_accuracy = NAN};
    if (asc_error(e->ctx)) {
        return asc_error(e->ctx);
    }
    int best = -1;
    bool all_known = true;
    for (int i = 0; i < e->n_tuning; i++) {
        asc_plan_run *r = &e->runs[i];
        if (r->info.system != system) {
            continue;
        }
        t->tried++;
        all_known = all_known && r->info.state == ASC_EXPERIMENT_STATE_DONE;
        t->to_retry += r->info.state == ASC_EXPERIMENT_STATE_FAILED;
        t->failed += r->info.state == ASC_EXPERIMENT_STATE_FAILED || r->info.diverged;
        if (!asc_is_over(r)) {
            continue;
        }
        t->done++;
        if (r->info.state == ASC_EXPERIMENT_STATE_DONE && measure(e, r)) {
            if (asc_error(e->ctx) == ASC_ERR_MEMORY) {
                return ASC_ERR_MEMORY;
            }
            asc_error_clear(e->ctx); /* said where the run itself is looked at */
            t->unread++;
        }
        if (isfinite(r->valid_loss) && (best < 0 || is_better(r, &e->runs[best]))) {
            best = i;
        }
    }
    if (best >= 0 && all_known && t->unread == 0) {
        t->run = best;
        t->valid_loss = e->runs[best].valid_loss;
        t->valid_accuracy = e->runs[best].valid_accuracy;
        t->at_edge = is_at_edge(e, &e->runs[best]);
    }
    return ASC_OK;
}

asc_plan_run *asc_tuned(asc_experiment *e, int system)
{
    asc_experiment_tuning t;
    return find(e, system, &t) || t.run < 0 ? NULL : &e->runs[t.run];
}

asc_status asc_experiment_tuning_of(asc_experiment *e, int system, asc_experiment_tuning *tuning)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_tuning_of: experiment tuning", e, tuning);
    int systems = status ? 0 : (int)json_object_size(json_object_get(e->def, "systems"));
    if (!status && (e->n_tuning == 0 || system < 0 || system >= systems)) {
        status = asc_fail(e->ctx, ASC_ERR_ARG, "experiment_tuning_of: nothing is tuned for a system %d", system);
    }
    return status ? status : find(e, system, tuning);
}

/* ---- time ---- */

/* Sums over the runs that have begun, of one system or all, of the tuning or not. */
typedef struct pace {
    double runs, total_s; /* what they take in all, were they done */
    double steps, spent_s;
} pace;

static pace pace_of(const asc_experiment *e, int system, bool tuning)
{
    pace p = {0};
    for (int i = 0; i < e->n; i++) {
        const asc_plan_run *r = &e->runs[i];
        if ((system >= 0 && r->info.system != system) || r->info.tuning != tuning || !(r->wall_s > 0) || r->step <= 0) {
            continue;
        }
        bool ends = r->info.state == ASC_EXPERIMENT_STATE_DONE || r->steps <= r->step; /* where it is, and no later */
        double whole = ends ? 1 : (double)r->steps / (double)r->step;
        p.runs++;
        p.total_s += r->wall_s * whole;
        p.steps += (double)r->step;
        p.spent_s += r->wall_s;
    }
    return p;
}

/* Whether the run waits for a tuning that is over and has found no value: it never begins. */
static bool waits_for_nothing(asc_experiment *e, const asc_plan_run *r)
{
    asc_experiment_tuning t;
    return r->info.state == ASC_EXPERIMENT_STATE_WAITING && find(e, r->info.system, &t) == ASC_OK && t.run < 0 &&
           t.done == t.tried && t.to_retry == 0 && t.unread == 0;
}

/* What its setting `minutes` lets it take. */
static double limit_s(asc_experiment *e, const asc_plan_run *r)
{
    json_t *settings = asc_plan_settings(e, r, NULL), *minutes = json_object_get(settings, "minutes");
    double limit = json_number_value(minutes);
    if (json_is_string(minutes) && !asc_time_parse(json_string_value(minutes), 60, &limit)) {
        limit = 0;
    }
    json_decref(settings);
    return limit > 0 ? 60 * limit : INFINITY;
}

/* By the system's runs of its kind, those of other systems, or the tuning's steps. */
static double pace_says(asc_experiment *e, const asc_plan_run *r)
{
    if (r->wall_s > 0 && r->step > 0) {
        return asc_is_over(r) || r->steps <= r->step ? r->wall_s : r->wall_s * (double)r->steps / (double)r->step;
    }
    const int systems[] = {r->info.system, -1};
    for (int i = 0; i < 2; i++) {
        pace same = pace_of(e, systems[i], r->info.tuning);
        if (same.runs > 0) {
            return same.total_s / same.runs;
        }
    }
    json_t *settings = asc_plan_settings(e, r, NULL);
    double steps = (double)json_integer_value(json_object_get(settings, "steps"));
    pace tuned = pace_of(e, r->info.system, true);
    tuned = tuned.steps > 0 ? tuned : pace_of(e, -1, true);
    json_decref(settings);
    return steps > 0 && tuned.steps > 0 ? tuned.spent_s / tuned.steps * steps : NAN;
}

static double estimate(asc_experiment *e, const asc_plan_run *r)
{
    double whole = waits_for_nothing(e, r) ? 0 : pace_says(e, r), limit = fmax(limit_s(e, r), r->wall_s);
    return whole > limit ? limit : whole; /* NaN stays */
}

asc_status asc_experiment_time_of(asc_experiment *e, asc_experiment_time *time)
{
    asc_status status = ASC_NEED(e ? e->ctx : NULL, "experiment_time_of: experiment time", e, time);
    status = status ? status : asc_error(e->ctx);
    if (!status && !e->folder) {
        status = asc_fail(e->ctx, ASC_ERR_ARG, "experiment_time_of: the experiment has no folder");
    }
    for (int i = 0; !status && i < e->n; i++) {
        status = measure(e, &e->runs[i]) == ASC_ERR_MEMORY ? ASC_ERR_MEMORY : ASC_OK;
        if (!status) {
            asc_error_clear(e->ctx); /* one that can't be read says nothing of time */
        }
    }
    if (status) {
        return status;
    }
    *time = (asc_experiment_time){0};
    double whole = 0, tuning = 0;
    for (int i = 0; i < e->n; i++) {
        const asc_plan_run *r = &e->runs[i];
        double spent = r->wall_s > 0 ? r->wall_s : 0;
        double total = r->info.state == ASC_EXPERIMENT_STATE_FAILED ? spent : estimate(e, r);
        time->spent_s += spent;
        time->tuning_s += r->info.tuning ? spent : 0;
        time->left_s += asc_is_over(r) ? 0 : total - spent;
        whole += total;
        tuning += r->info.tuning ? total : 0;
    }
    time->tuning_share = e->n_tuning == 0 ? 0 : tuning / whole;
    return asc_error(e->ctx);
}
