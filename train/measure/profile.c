/* train/measure/profile.c: adding up what an observer sees, by phase, part of the model, and op. */
#include "train/measure/profile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

/* ---- rows ---- */

static const char rest_name[] = "the rest"; /* of the last row there is room for */

/* The row of a name, and of a pass unless that is ASC_PASSES; a new one if there is none. */
static asc_profile_row *row_of(asc_rows *rows, const char *name, asc_pass pass)
{
    char text[sizeof rows->row->name];
    asc_profile_name(text, sizeof text, name);
    bool full = rows->n == ASC_PROFILE_MOST;
    asc_profile_row *row = rows->row, *end = row + rows->n;
    while (row < end && !(row->pass == pass && strcmp(row->name, text) == 0) &&
           !(full && strcmp(row->name, rest_name) == 0)) {
        row++;
    }
    if (row == end) {
        *row = (asc_profile_row){.pass = pass};
        strcpy(row->name, ++rows->n == ASC_PROFILE_MOST ? rest_name : text);
    }
    return row;
}

static asc_profile_row *add(asc_rows *rows, const char *name, asc_pass pass, asc_spent time)
{
    asc_profile_row *row = row_of(rows, name, pass);
    row->calls++;
    row->seconds += time.seconds;
    row->work += time.work;
    return row;
}

static void add_work(asc_profile_row *row, double flops, double bytes)
{
    row->flops += flops;
    row->bytes += bytes;
}

/* ---- what the observer sees ---- */

/* "blocks.N.mix" of "blocks.3.mix". */
static void part_of(const char *label, char *text, size_t size)
{
    size_t n = 0;
    for (const char *c = label; *c && n + 1 < size; c++) {
        bool digit = isdigit((unsigned char)*c);
        if (!digit || c == label || !isdigit((unsigned char)c[-1])) {
            text[n++] = digit ? 'N' : *c;
        }
    }
    text[n] = 0;
}

/* The phase of the step that the spans are in: the outermost "step"'s child; NULL: in no step. The step itself, outside
 * of a phase, is "". */
static const char *phase_of(const asc_span *span)
{
    const asc_span *inner = NULL;
    for (; span && span->outer; span = span->outer) {
        inner = span;
    }
    return !span || strcmp(span->name, asc_step_name) != 0 ? NULL : inner ? inner->name : "";
}

static void see_span(asc_profile *p, const asc_event *event)
{
    asc_spent time = {event->end_s - event->start_s, event->work_s};
    if (!event->span && strcmp(event->name, asc_step_name) == 0) {
        p->total.steps++;
        p->total.step_seconds += time.seconds;
        p->total.work += time.work;
    } else if (!event->span || (!event->span->outer && phase_of(event->span))) {
        add(&p->phases, event->name, ASC_PASSES, time)->in_step = event->span != NULL;
    }
    asc_trace_add(p, event, ASC_PASSES);
}

/* The time of a call without that of the calls that it made. */
static asc_spent own_time(asc_profile *p, const asc_event *event)
{
    int depth = event->depth < ASC_PROFILE_DEPTH ? event->depth : ASC_PROFILE_DEPTH - 1;
    asc_spent *inside = &p->inside[depth + 1], all = {event->end_s - event->start_s, event->work_s};
    asc_spent own = {all.seconds - inside->seconds, all.work - inside->work};
    p->inside[depth].seconds += all.seconds;
    p->inside[depth].work += all.work;
    *inside = (asc_spent){0, 0};
    return own;
}

/* A call in phase `phase` of a step. What is done again is work of its op, but the mathematics has it once only. */
static void add_call(asc_profile *p, const asc_event *event, const char *phase, asc_pass pass, asc_spent time)
{
    char part[sizeof p->parts.row->name];
    part_of(event->label ? event->label : "no label", part, sizeof part);
    asc_profile_row *op = add(&p->ops, event->name, pass, time);
    asc_profile_row *of = add(&p->parts, part, ASC_PASSES, time);
    double flops = pass == ASC_PASS_AGAIN ? 0 : event->flops;
    op->by_pass[pass] += time.seconds;
    of->by_pass[pass] += time.seconds;
    add_work(op, event->flops, event->bytes);
    add_work(of, flops, event->bytes);
    if (*phase) {
        add_work(row_of(&p->phases, phase, ASC_PASSES), flops, event->bytes);
    }
    p->total.flops += flops;
    p->total.bytes += event->bytes;
}

static void see_call(asc_profile *p, const asc_event *event)
{
    const char *phase = phase_of(event->span);
    bool again = !event->backward && phase && strcmp(phase, "backward") == 0;
    asc_pass pass = event->backward ? ASC_PASS_BACKWARD : again ? ASC_PASS_AGAIN : ASC_PASS_FORWARD;
    asc_spent time = own_time(p, event);
    if (phase) {
        add_call(p, event, phase, pass, time);
    }
    asc_trace_add(p, event, pass);
}

static void see(void *user, const asc_event *event)
{
    if (event->op) {
        see_call(user, event);
    } else {
        see_span(user, event);
    }
}

/* ---- beginning and end ---- */

asc_profile *asc_profile_new(asc_ctx *ctx, int64_t traced_steps)
{
    if (!ctx || asc_error(ctx)) {
        return NULL;
    }
    if (traced_steps < 0) {
        asc_fail_on(ctx, ASC_ERR_ARG, "profile", ": got %lld steps to trace, expected 0 or more",
                    (long long)traced_steps);
        return NULL;
    }
    asc_profile *p = asc_alloc(ctx, sizeof *p);
    if (!p) {
        return NULL;
    }
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
    p->stop_s = NAN;
    p->trace.steps_left = traced_steps;
    p->start_s = asc_clock();
    if (asc_set_observer(ctx, see, p)) {
        asc_free(ctx, p, sizeof *p);
        return NULL;
    }
    return p;
}

void asc_profile_stop(asc_profile *p)
{
    if (p && isnan(p->stop_s)) {
        p->stop_s = asc_clock();
        asc_set_observer(p->ctx, NULL, NULL);
    }
}

void asc_profile_free(asc_profile *p)
{
    asc_profile_stop(p);
    if (p) {
        asc_free(p->ctx, p->trace.mark, p->trace.cap * sizeof *p->trace.mark);
        asc_free(p->ctx, p, sizeof *p);
    }
}

/* ---- what came of it ---- */

asc_profile_total asc_profile_sum(const asc_profile *p)
{
    if (!p) {
        return (asc_profile_total){0};
    }
    asc_profile_total total = p->total;
    total.seconds = (isnan(p->stop_s) ? asc_clock() : p->stop_s) - p->start_s;
    return total;
}

static int compare(const void *a, const void *b)
{
    const asc_profile_row *x = a, *y = b;
    int longer = (y->seconds > x->seconds) - (y->seconds < x->seconds);
    return longer ? longer : strcmp(x->name, y->name);
}

int asc_profile_rows(asc_profile *p, asc_profile_table table, const asc_profile_row **rows)
{
    if (rows) {
        *rows = NULL;
    }
    if (!p || ASC_NEED(p->ctx, "profile_rows: rows", rows)) {
        return 0;
    }
    asc_rows *r = table == ASC_PROFILE_TABLE_PHASES  ? &p->phases
                  : table == ASC_PROFILE_TABLE_PARTS ? &p->parts
                                                     : &p->ops;
    qsort(r->row, (size_t)r->n, sizeof *r->row, compare);
    *rows = r->row;
    return r->n;
}
