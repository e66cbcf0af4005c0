/* check/judge.c: what a check says of the values that it has compared, for all of its parts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/gradcheck.h"

double asc_check_ratio(const asc_check_value *value)
{
    double error = fabs(value->analytic - value->numeric);
    if (value->bits) {
        return memcmp(&value->analytic, &value->numeric, sizeof(double)) == 0 ? 0 : INFINITY;
    }
    if (value->analytic == value->numeric) {
        return 0;
    }
    return value->bound > 0 && isfinite(error) ? error / value->bound : INFINITY;
}

double asc_check_largest(const double *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

static void describe(const asc_check *c, const asc_check_value *value, asc_gradcheck_value *d)
{
    asc_array a = value->output ? c->out[value->number] : asc_array_of(c->inputs.at[value->number]);
    *d = (asc_gradcheck_value){.sample = c->sample, .note = c->form->note, .part = c->part,
                               .ndim = value->element < 0 ? -1 : a.ndim, .analytic = value->analytic,
                               .numeric = value->numeric, .bound = value->bound};
    memcpy(d->variant, c->variant, sizeof d->variant);
    if (value->output) {
        snprintf(d->tensor, sizeof d->tensor, "output %d", value->number);
    } else {
        asc_input_name(c->op, value->number, d->tensor);
    }
    int64_t rest = value->element;
    for (int i = d->ndim - 1; i >= 0; i--) {
        d->index[i] = rest % a.shape[i];
        rest /= a.shape[i];
    }
}

void asc_check_judge(asc_check *c, const asc_check_value *value)
{
    asc_gradcheck_report *r = c->report;
    double ratio = asc_check_ratio(value);
    if (ratio > r->worst_ratio || r->worst.sample < 0) {
        r->worst_ratio = ratio;
        describe(c, value, &r->worst);
    }
    if (ratio > 1 && r->failures++ == 0) {
        describe(c, value, &r->first);
    }
}

void asc_check_kink(asc_check *c, const asc_check_value *value)
{
    if (c->report->kinks++ == 0) {
        describe(c, value, &c->report->kink);
    }
}

bool asc_check_enough(const asc_check *c)
{
    return c->options.stop && c->report->failures > 0;
}

asc_status asc_check_part_run(asc_check *c, const asc_check_part *part)
{
    bool applies = false;
    c->part = part->name;
    asc_status status = asc_check_enough(c) ? ASC_OK : part->run(c, &applies);
    c->report->cases += applies;
    return status;
}

asc_check_setting asc_check_enter(asc_ctx *ctx)
{
    asc_tape *tape = asc_tape_of(ctx);
    asc_check_setting was = {ctx->seed, ctx->step, ctx->random_ordinal, ctx->precision, ctx->recording,
                             tape && tape->check_nan, tape && tape->rehearsal};
    ctx->precision = ASC_PRECISION_F32;
    asc_set_nan_check(ctx, false);
    asc_set_rehearsal(ctx, false);
    return was;
}

void asc_check_leave(asc_ctx *ctx, const asc_check_setting *was)
{
    ctx->seed = was->seed;
    ctx->step = was->step;
    ctx->random_ordinal = was->ordinal;
    ctx->precision = was->precision;
    ctx->recording = was->recording;
    asc_set_nan_check(ctx, was->nan_check);
    asc_set_rehearsal(ctx, was->rehearsal);
}
