/* check/variants.c: a sample in other sizes. Which sizes belong together only the op knows: one of them is
 * changed wherever it stands, and what infer refuses is no variant. */
#include <math.h>
#include <stdio.h>

#include "check/gradcheck.h"

/* Elements of the largest input that any op has reason to cut in several pieces. */
#define LARGE 34000
/* A sixteenth of it may take this many operations and give this many outputs, so that the whole is quick even where
 * they grow with the square. */
#define TRIAL (LARGE / 16)
#define TRIAL_FLOPS 1e6
#define TRIAL_OUTPUTS (20 * TRIAL)

enum { SIZES = 16 }; /* different ones of a sample */

/* ---- sizes ---- */

static int sizes_of(const asc_sample *s, int64_t *size)
{
    int n = 0;
    for (int i = 0; i < ASC_MAX_IN; i++) {
        for (int d = 0; d < s->in[i].ndim && d < ASC_MAX_DIMS; d++) {
            int known = 0;
            while (known < n && size[known] != s->in[i].shape[d]) {
                known++;
            }
            if (known == n && n < SIZES) {
                size[n++] = s->in[i].shape[d];
            }
        }
    }
    return n;
}

static double largest_input(const asc_sample *s)
{
    double most = 0;
    for (int i = 0; i < ASC_MAX_IN; i++) {
        double n = 1;
        for (int d = 0; d < s->in[i].ndim; d++) {
            n *= (double)s->in[i].shape[d];
        }
        most = s->in[i].kind ? fmax(most, n) : most;
    }
    return most;
}

static void resize(const asc_sample *s, int64_t from, int64_t to, asc_sample *form)
{
    *form = *s;
    for (int i = 0; i < ASC_MAX_IN; i++) {
        for (int d = 0; d < s->in[i].ndim; d++) {
            form->in[i].shape[d] = s->in[i].shape[d] == from ? to : s->in[i].shape[d];
        }
    }
}

/* `from` grown until the largest input has so many elements; 0 if that can't be. */
static int64_t grow(const asc_sample *s, int64_t from, double elements, asc_sample *form)
{
    for (int64_t to = 2; to < 2 * LARGE; to += to / 4 + 1) {
        resize(s, from, to, form);
        if (largest_input(form) >= elements) {
            return to;
        }
    }
    return 0;
}

/* ---- running them ---- */

/* Whether an index, whose range is not the new sizes', is among the inputs: forward may well refuse it. */
static bool has_indices(const asc_sample *s)
{
    bool any = false;
    for (int i = 0; i < ASC_MAX_IN; i++) {
        any |= s->in[i].kind == 'i';
    }
    return any;
}

/* Why a variant is none: its sizes don't go together, as infer says. What infer takes forward computes, unless it is
 * given indices; and what forward has computed backward computes. */
static asc_status not_taken(const asc_check *c, asc_status status)
{
    bool computes = c->measured || (c->guarded && c->guarded->seen->inferred && !has_indices(c->form));
    return computes ? status : asc_check_refused(c, status);
}

/* Says of which variant an error is. */
static void name_error(const asc_check *c)
{
    char where[100];
    snprintf(where, sizeof where, "gradcheck: %.40s: sample %d%s%s", c->op->name, c->sample, c->variant[0] ? ", " : "",
             c->variant);
    asc_error_extend(c->ctx, where, "");
}

/* Runs `parts` on the variant, if the op takes it and it gives finite numbers, no more than `outputs` of them. */
static asc_status try_form(const asc_check *model, const asc_sample *form, int64_t outputs,
                           asc_status (*parts)(asc_check *c), bool *taken)
{
    asc_check c = *model;
    c.form = form;
    asc_scope_begin(c.ctx);
    asc_status status = asc_check_prepare(&c);
    *taken = !status && asc_check_finite_result(&c, &c.plain) && c.out_at[c.op->n_out] <= outputs;
    status = not_taken(&c, status);
    if (*taken) {
        status = parts(&c);
    }
    if (status == ASC_ERR_ARG) {
        name_error(&c);
    }
    asc_scope_end(c.ctx);
    return status;
}

static asc_status threads_part(asc_check *c)
{
    static const asc_check_part threads = {"threads", asc_check_threads};
    return c->leaves && c->roots ? asc_check_part_run(c, &threads) : ASC_OK;
}

static void name_variant(asc_check *c, int64_t from, int64_t to)
{
    snprintf(c->variant, sizeof c->variant, "size %lld as %lld", (long long)from, (long long)to);
}

static asc_status check_small(asc_check *c, const asc_sample *s, int64_t from)
{
    asc_status status = ASC_OK;
    for (int64_t to = 0; to <= 1 && !status && !asc_check_enough(c); to++) {
        asc_sample form;
        bool taken = false;
        resize(s, from, to, &form);
        name_variant(c, from, to);
        if (to != from) {
            status = try_form(c, &form, INT64_MAX, asc_check_parts, &taken);
            c->report->variants += taken;
        }
    }
    return status;
}

static asc_status no_part(asc_check *c)
{
    (void)c;
    return ASC_OK;
}

/* Tries the size a little larger first: work that grows with its square would be slow where it is large. */
static asc_status try_large(asc_check *c, const asc_sample *s, int64_t from, bool *taken)
{
    asc_sample form;
    double before = asc_flops(c->ctx);
    int64_t to = grow(s, from, TRIAL, &form);
    name_variant(c, from, to);
    asc_status status = to > 0 ? try_form(c, &form, TRIAL_OUTPUTS, no_part, taken) : ASC_OK;
    *taken = *taken && asc_flops(c->ctx) - before <= TRIAL_FLOPS;
    if (*taken) {
        to = grow(s, from, LARGE, &form);
        name_variant(c, from, to);
        status = try_form(c, &form, INT64_MAX, threads_part, taken);
    }
    return status;
}

/* The first size that leads an input and can be large; the sample itself where none can. */
static asc_status check_large(asc_check *c, const asc_sample *s)
{
    asc_status status = ASC_OK;
    bool taken = false;
    for (int i = 0; i < ASC_MAX_IN && !taken && !status; i++) {
        status = s->in[i].ndim > 0 ? try_large(c, s, s->in[i].shape[0], &taken) : ASC_OK;
    }
    c->report->variants += taken;
    c->report->large += taken;
    c->variant[0] = '\0';
    return taken || status ? status : try_form(c, s, INT64_MAX, threads_part, &taken);
}

asc_status asc_check_variants(const asc_check *model, int sample)
{
    const asc_sample *s = &model->op->samples[sample];
    int64_t size[SIZES];
    int n = sizes_of(s, size);
    asc_check c = *model;
    c.sample = sample;
    asc_status status = ASC_OK;
    for (int k = 0; k < n && !status && !asc_check_enough(&c); k++) {
        status = check_small(&c, s, size[k]);
    }
    return status || asc_check_enough(&c) ? status : check_large(&c, s);
}
