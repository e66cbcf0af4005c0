/* train/phases.c: what a training brings in late, or leads along a course. */
#include "train/phases.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tensor/ctx.h"

/* ---- lengths ---- */

int64_t asc_phase_length(asc_ctx *ctx, const char *key, double given, int64_t steps, int64_t warmup)
{
    if (given == -1) {
        return warmup;
    }
    if (given < 0 || (given >= 1 && given != floor(given))) {
        asc_fail_on(ctx, ASC_ERR_ARG, key, ": got %g, expected a share of the run below 1, or whole steps", given);
        return -1;
    }
    return given < 1 ? llround(given * (double)steps) : (int64_t)given;
}

/* ---- courses: "NAME=AT:VALUE,AT:VALUE…;NAME=…" ---- */

static asc_status refuse(asc_ctx *ctx, const asc_course *c, const char *at, const char *expected)
{
    return asc_fail_on(ctx, ASC_ERR_ARG, c->key, ": got '%.40s', expected %s", at, expected);
}

/* All that stands between two places, as numbers of settings are written. */
static bool read_number(const char *from, const char *to, double *value)
{
    char text[40];
    int64_t count;
    if (to - from >= (ptrdiff_t)sizeof text) {
        return false;
    }
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = '\0';
    if (asc_count_parse(text, &count)) {
        *value = (double)count;
        return true;
    }
    return asc_real_parse(text, value);
}

/* "AT:VALUE" at *text, which moves behind it. */
static asc_status read_point(asc_ctx *ctx, asc_course *c, const char **text, int64_t run)
{
    static const char *const form = "AT:VALUE, AT a step or a share of the run in %";
    const char *start = *text, *colon = start + strcspn(start, ":,;"), *end = colon + strcspn(colon, ",;");
    bool share = colon > start && colon[-1] == '%';
    double at, value;
    if (*colon != ':' || !read_number(start, colon - share, &at) || !read_number(colon + 1, end, &value) || at < 0 ||
        at > (share ? 100 : 1e15) || (!share && at != floor(at))) {
        return refuse(ctx, c, start, form);
    }
    int64_t step = share ? llround(at / 100 * (double)run) : (int64_t)at;
    if (c->n == ASC_COURSE_POINTS || (c->n > 0 && step <= c->point[c->n - 1].step)) {
        bool full = c->n == ASC_COURSE_POINTS;
        return refuse(ctx, c, start, full ? "at most 32 points" : "a point later than the one before");
    }
    c->point[c->n].step = step;
    c->point[c->n++].value = value;
    *text = end;
    return ASC_OK;
}

/* Points with commas between. */
static asc_status read_points(asc_ctx *ctx, asc_course *c, const char **text, int64_t run)
{
    bool more = true;
    while (more && read_point(ctx, c, text, run) == ASC_OK) {
        more = **text == ',';
        *text += more;
    }
    return asc_error(ctx);
}

static asc_status read_course(asc_ctx *ctx, asc_course *c, const char **text, int64_t run)
{
    size_t n = strcspn(*text, "=;,");
    if (n == 0 || n >= sizeof c->name || (*text)[n] != '=') {
        return refuse(ctx, c, *text, "NAME=AT:VALUE,AT:VALUE");
    }
    memcpy(c->name, *text, n);
    *text += n + 1;
    if (read_points(ctx, c, text, run)) {
        return asc_error(ctx);
    }
    return **text && **text != ';' ? refuse(ctx, c, *text, "a comma before another point, or a semicolon") : ASC_OK;
}

/* That the model has such a number, and that it may be so large. */
static asc_status try_course(asc_ctx *ctx, const asc_course *c, asc_lm *lm)
{
    for (int i = 0; i < c->n; i++) {
        asc_status status = asc_lm_hold(lm, c->name, &c->point[i].value);
        if (status == ASC_ERR_ARG) { /* of the setting, and not of lm_hold's argument */
            char why[1024];
            asc_error_place(ctx, "");
            snprintf(why, sizeof why, "%s", asc_error_message(ctx));
            asc_error_clear(ctx);
            asc_fail_on(ctx, ASC_ERR_ARG, "curriculum", ": %s", why);
        }
        if (status) {
            return status;
        }
    }
    return ASC_OK;
}

static asc_status read_courses(asc_phases *p, asc_lm *lm, const char *text, int64_t run, asc_ctx *ctx)
{
    while (*text) {
        asc_course *c = &p->course[p->n_courses];
        if (p->n_courses == ASC_COURSES) {
            return refuse(ctx, &p->course[0], text, "at most 16 courses");
        }
        *c = (asc_course){.key = "curriculum"};
        if (read_course(ctx, c, &text, run) || try_course(ctx, c, lm)) {
            return asc_error(ctx);
        }
        for (int i = 0; i < p->n_courses; i++) {
            if (strcmp(p->course[i].name, c->name) == 0) {
                return refuse(ctx, c, c->name, "one course for it");
            }
        }
        if (strcmp(c->name, "omega_sep") == 0 && p->sep_ramp > 0) {
            return refuse(ctx, c, c->name, "either a course for it, or sep_delay and sep_ramp");
        }
        p->n_courses++;
        text += *text == ';';
    }
    return ASC_OK;
}

asc_status asc_course_read(asc_ctx *ctx, const char *key, const char *text, int64_t run, asc_course *c)
{
    *c = (asc_course){.key = key};
    if (read_points(ctx, c, &text, run)) {
        return asc_error(ctx);
    }
    return *text ? refuse(ctx, c, text, "a comma before another point") : ASC_OK;
}

/* The setting has one course; without it dropout is one number. */
static asc_status read_dropout(asc_course *c, const asc_values *v, int64_t run, asc_ctx *ctx)
{
    *c = (asc_course){.key = "dropout_schedule", .n = 1, .point[0].value = v->dropout};
    if (!*v->dropout_schedule) {
        return ASC_OK;
    }
    if (asc_course_read(ctx, c->key, v->dropout_schedule, run, c)) {
        return asc_error(ctx);
    }
    for (int i = 0; i < c->n; i++) {
        if (!(c->point[i].value >= 0 && c->point[i].value <= ASC_DROPOUT_MOST)) {
            return asc_fail_on(ctx, ASC_ERR_ARG, c->key, ": got %g, expected a dropout from 0 to %g",
                               c->point[i].value, ASC_DROPOUT_MOST);
        }
    }
    return ASC_OK;
}

static bool is_share(double length)
{
    return length > 0 && length < 1;
}

bool asc_phases_have_shares(const asc_values *v)
{
    return is_share(v->sep_delay) || is_share(v->sep_ramp) || is_share(v->aux_delay) || strchr(v->curriculum, '%') ||
           strchr(v->dropout_schedule, '%');
}

asc_status asc_phases_plan(asc_phases *p, asc_lm *lm, const asc_values *v, int64_t steps, asc_ctx *ctx)
{
    bool late = v->sep_delay != -1 || v->sep_ramp > 0;
    *p = (asc_phases){
        .sep_from = asc_phase_length(ctx, "sep_delay", v->sep_delay, steps, v->warmup),
        .sep_ramp = asc_phase_length(ctx, "sep_ramp", v->sep_ramp, steps, 0),
        .aux_from = asc_phase_length(ctx, "aux_delay", v->aux_delay, steps, v->warmup),
    };
    if (asc_error(ctx)) {
        return asc_error(ctx);
    }
    late = late && (p->sep_from > 0 || p->sep_ramp > 0);
    p->sep_ramp = late && p->sep_ramp == 0 ? 1 : p->sep_ramp; /* a step at full strength, then trained */
    return read_dropout(&p->dropout, v, steps, ctx) ? asc_error(ctx) : read_courses(p, lm, v->curriculum, steps, ctx);
}

/* ---- step by step ---- */

/* Where a course is; false after its last point, where it was last. */
static bool find_value(const asc_course *c, int64_t step, double *value)
{
    int next = 0;
    while (next < c->n && c->point[next].step < step) {
        next++;
    }
    *value = c->point[next < c->n ? next : c->n - 1].value;
    if (next > 0 && next < c->n) {
        int64_t from = c->point[next - 1].step, to = c->point[next].step;
        double before = c->point[next - 1].value;
        *value = before + (*value - before) * (double)(step - from) / (double)(to - from);
    }
    return next < c->n;
}

static void follow(const asc_course *c, asc_lm *lm, int64_t step)
{
    double value;
    bool led = find_value(c, step, &value);
    asc_lm_hold(lm, c->name, led ? &value : NULL);
}

void asc_phases_apply(const asc_phases *p, asc_lm *lm, int64_t step)
{
    int64_t since = step - p->sep_from + 1;
    if (p->sep_ramp > 0) {
        asc_lm_ramp(lm, since > p->sep_ramp ? -1 : since > 0 ? (double)since / (double)p->sep_ramp : 0);
    }
    asc_lm_set_aux(lm, step >= p->aux_from);
    for (int i = 0; i < p->n_courses; i++) {
        follow(&p->course[i], lm, step);
    }
}

double asc_phases_dropout(const asc_phases *p, int64_t step)
{
    double value;
    find_value(&p->dropout, step, &value);
    return value;
}

double asc_phases_most_dropout(const asc_phases *p)
{
    double most = 0;
    for (int i = 0; i < p->dropout.n; i++) {
        most = fmax(most, p->dropout.point[i].value);
    }
    return most;
}
