/* train/stages.c: which blocks of which epoch a step takes, while batch and block grow. */
#include "train/stages.h"

/* Steps that read what is left of the epoch in which a stage begins. */
static int64_t steps_to_epoch(const asc_stage *g)
{
    return (g->blocks - g->read + g->sequences - 1) / g->sequences;
}

asc_stage_place asc_stages_at(const asc_stages *s, int64_t step)
{
    int i = s->n - 1;
    while (i > 0 && s->at[i].from > step) {
        i--;
    }
    const asc_stage *g = &s->at[i];
    int64_t since = step - g->from, past = since - steps_to_epoch(g);
    bool first = past < 0; /* in the epoch that it began in */
    asc_stage_place p = {.stage = g,
                   .epoch = g->epoch + (first ? 0 : 1 + past / g->steps),
                   .first = first ? g->read + since * g->sequences : past % g->steps * g->sequences};
    p.n = g->blocks - p.first < g->sequences ? g->blocks - p.first : g->sequences;
    return p;
}

double asc_stages_tokens(const asc_stages *s, int64_t step)
{
    asc_stage_place p = asc_stages_at(s, step);
    const asc_stage *g = p.stage;
    double blocks = (double)(p.epoch - g->epoch) * (double)g->blocks + (double)(p.first - g->read);
    return g->tokens + blocks * (double)g->block;
}

double asc_stages_epochs(const asc_stages *s, int64_t step)
{
    asc_stage_place p = asc_stages_at(s, step);
    const asc_stage *g = p.stage;
    if (g->read == 0) {
        return (double)g->epoch + (double)(step - g->from) / (double)g->steps;
    }
    return (double)p.epoch + (double)p.first / (double)g->blocks;
}

int64_t asc_stages_steps(const asc_stages *s, int64_t epochs)
{
    int i = s->n - 1;
    while (i > 0 && s->at[i].epoch >= epochs) {
        i--;
    }
    const asc_stage *g = &s->at[i];
    int64_t whole = epochs - g->epoch - 1, begun = g->from + steps_to_epoch(g); /* after the epoch that has begun */
    if (whole < 0) {
        return g->from;
    }
    int64_t steps = whole > (INT64_MAX - begun) / g->steps ? INT64_MAX : begun + whole * g->steps;
    return i + 1 < s->n && s->at[i + 1].from < steps ? s->at[i + 1].from : steps;
}

void asc_stages_add(asc_stages *s, asc_stage next)
{
    if (s->n > 0) {
        const asc_stage *last = &s->at[s->n - 1];
        if (last->sequences == next.sequences && last->block == next.block) {
            return;
        }
        asc_stage_place p = asc_stages_at(s, next.from);
        bool goes_on = last->block == next.block && !s->carry;
        next.epoch = p.epoch + (!goes_on && p.first > 0);
        next.read = goes_on ? p.first : 0;
        next.tokens = asc_stages_tokens(s, next.from);
    }
    s->at[s->n++] = next;
}
