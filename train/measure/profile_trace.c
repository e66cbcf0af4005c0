/* train/measure/profile_trace.c: the marks of a profile's trace: what ran from when to when in the first steps. */
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "train/measure/profile.h"

const char asc_step_name[] = "step";

/* A name may be a user's: what is no printable ASCII, or would end a JSON string, becomes a question mark. */
void asc_profile_name(char *text, size_t size, const char *name)
{
    size_t n = 0;
    for (; name[n] && n + 1 < size; n++) {
        bool plain = asc_is_printable(name[n]) && name[n] != '"' && name[n] != '\\';
        text[n] = plain ? name[n] : '?';
    }
    text[n] = 0;
}

static size_t put_text(char *text, size_t size, size_t at, const char *more)
{
    snprintf(text + at, size - at, "%s%s", at > 0 ? " " : "", more);
    return at + strlen(text + at);
}

static size_t put_shapes(char *text, size_t size, size_t at, const asc_array *arrays, int n)
{
    for (int i = 0; i < n; i++) {
        char shape[ASC_SHAPE_TEXT];
        if (arrays[i].ndim >= 0) {
            at = put_text(text, size, at, asc_shape_text(&arrays[i], shape));
        }
    }
    return at;
}

/* "(32, 128, 256) (256, 256) -> (32, 128, 256)" */
static void describe_call(asc_trace_mark *m, const asc_event *event)
{
    const asc_call *call = event->call;
    m->op = event->op;
    asc_profile_name(m->label, sizeof m->label, event->label ? event->label : "");
    if (event->status == ASC_OK) {
        size_t at = put_shapes(m->shapes, sizeof m->shapes, 0, call->in, call->n_in);
        at = put_text(m->shapes, sizeof m->shapes, at, "->");
        put_shapes(m->shapes, sizeof m->shapes, at, call->out, call->n_out);
    }
}

/* Whether there is room for one more. Without memory the trace ends here; the training that it is of goes on. */
static bool make_room(asc_profile *p)
{
    asc_trace *t = &p->trace;
    bool sound = asc_error(p->ctx) == ASC_OK;
    if (asc_grow(p->ctx, &t->mark, &t->cap, t->n + 1, sizeof *t->mark)) {
        return true;
    }
    if (sound) {
        asc_error_clear(p->ctx);
    }
    t->steps_left = 0;
    return false;
}

static bool in_step(const asc_span *span)
{
    while (span && strcmp(span->name, asc_step_name) != 0) {
        span = span->outer;
    }
    return span != NULL;
}

void asc_trace_add(asc_profile *p, const asc_event *event, asc_pass pass)
{
    bool wanted = p->trace.steps_left > 0 && (!event->op || in_step(event->span));
    if (!wanted || !make_room(p)) {
        return;
    }
    asc_trace_mark *m = &p->trace.mark[p->trace.n++];
    *m = (asc_trace_mark){.pass = pass, .start_s = event->start_s, .end_s = event->end_s,
                          .work_s = event->work_s, .flops = event->flops, .bytes = event->bytes};
    asc_profile_name(m->name, sizeof m->name, event->name);
    if (event->op) {
        describe_call(m, event);
    } else if (strcmp(event->name, asc_step_name) == 0) {
        snprintf(m->name, sizeof m->name, "%s %llu", asc_step_name, (unsigned long long)p->ctx->step + 1);
        p->trace.steps_left--;
    }
}
