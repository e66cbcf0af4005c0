/* check/numeric.c: gradients from differences.
 *
 * The central difference D(h) = (s(x + h) − s(x − h)) / 2h has an error in even powers of h. Ridders (1982) takes it at
 * steps that halve, extrapolates to h = 0 by Neville's scheme, and keeps the entry that differs least from its
 * neighbours; that difference is the error estimate.
 *
 * The same evaluations give J(h) = (s(x + h) − 2 s(x) + s(x − h)) / h, the right-sided difference less the left-sided
 * one, with an error in odd powers of h. Its limit is 0 unless x is at a kink. */
#include <float.h>
#include <math.h>

#include "check/gradcheck.h"
#include "tensor/random.h"

enum {
    STEPS = 6,      /* of one extrapolation */
    ATTEMPTS = 3,   /* extrapolations, each from a step of 1/8 of the one before: a kink may be near */
    DIRECTIONS = 4, /* through an input too large for all of its elements */
    STREAM = 1 << 20 /* above those of the samples */
};

/* An output's rounding error, in units of eps times the largest magnitude in its tensor: kernels and sums within the op
 * are right to a few units, not to one half. */
#define OUTPUT_ROUNDING 8
/* What the sums in a backward pass may lose, relative to the largest gradient of the input. */
#define RELATIVE_FLOOR 1e-12
/* And in units of eps: where terms of the size s/x cancel, a gradient keeps their rounding. */
#define CANCELLED 64
/* An input whose gradients are smaller than this, relative to those of the others, has terms that cancel. */
#define CANCELS 1e-6
/* Above this fraction of the largest gradient an error estimate says that the differences did not settle. */
#define SETTLED 1e-4
/* A kink is a jump of the derivative by more than this fraction of the largest gradient, and this multiple of its
 * error. */
#define KINK 1e-6
#define KINK_MULTIPLE 8

/* Neville's scheme over steps that halve. */
typedef struct table {
    double a[STEPS][STEPS];
    double value, error; /* the entry that differs least from its neighbours, and by how much */
} table;

typedef struct derivative {
    double value, error, rounding;
    double jump; /* the derivative from the right less that from the left; 0 if it may be 0 */
} derivative;

/* Differences in one input, along one of its elements or along a direction of entries ±1. */
typedef struct probe {
    asc_check *c;
    int input;
    int64_t element;    /* -1: the direction */
    double *direction;
    double *plus, *minus; /* outputs */
    double *x;          /* the input's values, in place */
    double *kept;       /* and as they were */
    int64_t n;
    double largest;     /* gradient of this input */
    double largest_all; /* of any input */
    double floor;       /* the rounding of an analytic derivative */
} probe;

/* ---- one difference ---- */

typedef struct sample_differences {
    double central, jump, rounding; /* the rounding of the central one */
} sample_differences;

static asc_status evaluate(const probe *p, double h, double *out)
{
    asc_check *c = p->c;
    int64_t first = p->element < 0 ? 0 : p->element, last = p->element < 0 ? p->n - 1 : p->element;
    for (int64_t k = first; k <= last; k++) {
        p->x[k] = p->kept[k] + h * (p->element < 0 ? p->direction[k] : 1);
    }
    asc_status status = asc_check_pass(c, &c->inputs, &(asc_check_request){0}, &(asc_check_result){.out = out});
    for (int64_t k = first; k <= last; k++) {
        p->x[k] = p->kept[k];
    }
    return status;
}

/* Only outputs that change count: the others add neither to the differences nor to their rounding. */
static asc_status difference(const probe *p, double h, sample_differences *d)
{
    asc_check *c = p->c;
    asc_status status = evaluate(p, h, p->plus);
    if (status || (status = evaluate(p, -h, p->minus))) {
        return status;
    }
    double sum = 0, bend = 0, noise = 0;
    for (int o = 0; o < c->op->n_out; o++) {
        const double *cotangent = asc_data(c->cotangent[o]);
        double weight = 0, most = 0;
        for (int64_t at = c->out_at[o], k = 0; cotangent && at < c->out_at[o + 1]; at++, k++) {
            double plus = p->plus[at], minus = p->minus[at], middle = c->plain.out[at];
            if (plus != middle || minus != middle) {
                sum += cotangent[k] * (plus - minus);
                bend += cotangent[k] * ((plus - middle) - (middle - minus));
                weight += fabs(cotangent[k]);
            }
            most = fmax(most, fabs(plus));
        }
        noise += weight * most;
    }
    *d = (sample_differences){sum / (2 * h), bend / h, OUTPUT_ROUNDING * DBL_EPSILON * noise / (2 * h)};
    return ASC_OK;
}

/* ---- extrapolation ---- */

/* Row k: the value at the k-th step, whose error has the powers h^p, h^(p + 2), …; `factor` is 2^p. */
static void extend(table *t, int k, double value, double factor)
{
    t->a[k][0] = value;
    if (k == 0) {
        t->value = value;
        t->error = INFINITY;
    }
    for (int j = 1; j <= k; j++, factor *= 4) {
        double above = t->a[k - 1][j - 1], left = t->a[k][j - 1], here = (left * factor - above) / (factor - 1);
        double error = fmax(fabs(here - left), fabs(here - above));
        t->a[k][j] = here;
        if (error <= t->error) {
            t->value = here;
            t->error = error;
        }
    }
}

/* The jump that the table shows; 0 if it may be none. *clear: more steps would not say more. */
static double jump_of(const table *jump, double rounding, double size, bool *clear)
{
    double least = KINK * size + 4 * KINK_MULTIPLE * rounding;
    bool found = fabs(jump->value) > least + KINK_MULTIPLE * jump->error;
    *clear = found || !(fabs(jump->value) > least);
    return found ? jump->value : 0;
}

static asc_status extrapolate(const probe *p, double h, derivative *best)
{
    table central, jump;
    *best = (derivative){.error = INFINITY};
    for (int k = 0; k < STEPS; k++, h /= 2) {
        sample_differences d;
        asc_status status = difference(p, h, &d);
        if (status) {
            return status;
        }
        extend(&central, k, d.central, 4);
        extend(&jump, k, d.jump, 2);
        if (k == 0) {
            continue;
        }
        if (central.error < best->error) {
            *best = (derivative){central.value, central.error, d.rounding, 0};
        }
        bool clear, grows = fabs(central.a[k][k] - central.a[k - 1][k - 1]) >= 2 * central.error;
        best->jump = jump_of(&jump, d.rounding, fmax(fabs(central.value), p->largest), &clear);
        if (clear && (central.error <= d.rounding || grows)) {
            break;
        }
    }
    return ASC_OK;
}

/* ---- judging ---- */

/* What errors are relative to: the largest derivative of the input, or, where those all cancel, of any input. */
static double size_of(const probe *p)
{
    return p->largest > CANCELS * p->largest_all ? p->largest : p->largest_all;
}

/* At a kink any value between both one-sided derivatives will do. */
static void judge_kink(const probe *p, asc_check_value *v, double jump)
{
    double half = fabs(jump) / 2, low = v->numeric - half, high = v->numeric + half;
    v->numeric = fmin(fmax(v->analytic, low), high);
    if (v->numeric == v->analytic) {
        v->numeric = v->analytic - low < high - v->analytic ? low : high;
        v->bound = fmax(v->bound, high - low);
    }
    asc_check_kink(p->c, v);
    asc_check_judge(p->c, v);
}

static void judge(const probe *p, const asc_check_value *v)
{
    asc_gradcheck_report *r = p->c->report;
    asc_check_judge(p->c, v);
    double size = fmax(fabs(v->numeric), size_of(p)), error = fabs(v->analytic - v->numeric);
    r->worst_error = fmax(r->worst_error, isfinite(error) ? error / fmax(size, DBL_MIN) : INFINITY);
    if (size > 0 && v->bound > 0) {
        r->digits = fmin(r->digits, log10(size / v->bound));
    }
}

static double bound_of(const probe *p, const derivative *d)
{
    double size = fmax(fabs(d->value), p->largest);
    bool settled = d->error <= SETTLED * fmax(size, p->largest_all) + 64 * d->rounding;
    return settled ? p->c->options.multiple * (d->error + d->rounding) + RELATIVE_FLOOR * size + p->floor : 0;
}

/* Compares one derivative; a bound of 0 says that the differences did not settle. */
static asc_status compare(const probe *p, double analytic)
{
    asc_check *c = p->c;
    asc_check_value best = {.bound = -1};
    double h = c->step[p->input];
    derivative d = {0};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, h /= 8) {
        asc_status status = extrapolate(p, h, &d);
        if (status) {
            return status;
        }
        asc_check_value v = {.number = p->input, .element = p->element, .analytic = analytic, .numeric = d.value,
                             .bound = bound_of(p, &d)};
        if (best.bound < 0 || d.jump != 0 || asc_check_ratio(&v) < asc_check_ratio(&best)) {
            best = v;
        }
        if (d.jump == 0 && asc_check_ratio(&best) <= 1) {
            break;
        }
    }
    if (d.jump != 0) {
        judge_kink(p, &best, d.jump);
    } else {
        judge(p, &best);
    }
    return ASC_OK;
}

/* ---- an input ---- */

static asc_status compare_element(probe *p, const double *grad, int64_t element)
{
    p->element = element;
    p->c->report->elements++;
    return compare(p, grad[element]);
}

static asc_status compare_direction(probe *p, const double *grad, int number)
{
    uint64_t stream = STREAM + (uint64_t)(number * ASC_MAX_IN + p->input);
    double analytic = 0;
    for (int64_t k = 0; k < p->n; k++) {
        p->direction[k] = asc_random_uniform(p->c->options.seed, stream, (uint64_t)k) < 0.5 ? -1 : 1;
        analytic += p->direction[k] * grad[k];
    }
    p->element = -1;
    p->c->report->directions++;
    return compare(p, analytic);
}

/* One element from each of `most` equal pieces, all of them if there are no more. */
static asc_status compare_elements(probe *p, const double *grad, int64_t most)
{
    asc_status status = ASC_OK;
    int64_t pieces = p->n < most ? p->n : most;
    for (int64_t piece = 0; piece < pieces && !status && !asc_check_enough(p->c); piece++) {
        int64_t begin = p->n * piece / pieces, end = p->n * (piece + 1) / pieces;
        double u = asc_random_uniform(p->c->options.seed, STREAM - 1, (uint64_t)piece);
        status = compare_element(p, grad, begin + (int64_t)(u * (double)(end - begin)));
    }
    return status;
}

/* The rounding that a gradient keeps of terms which cancel: they have the size of cotangent times output over input. */
static double rounding_floor(const probe *p)
{
    const asc_check *c = p->c;
    double terms = 0, x = asc_check_largest(p->x, p->n);
    for (int o = 0; o < c->op->n_out; o++) {
        const double *cotangent = asc_data(c->cotangent[o]);
        int64_t n = c->out_at[o + 1] - c->out_at[o];
        terms += cotangent ? asc_check_largest(cotangent, n) * asc_check_largest(c->plain.out + c->out_at[o], n) : 0;
    }
    return x > 0 && isfinite(terms) ? CANCELLED * DBL_EPSILON * terms / x : 0;
}

static asc_status compare_input(probe *p, int i)
{
    asc_check *c = p->c;
    const double *grad = c->plain.grad + c->grad_at[i];
    p->input = i;
    p->n = c->grad_at[i + 1] - c->grad_at[i];
    p->x = asc_data_mut(c->inputs.at[i]);
    p->largest = asc_check_largest(grad, p->n);
    p->floor = rounding_floor(p);
    for (int64_t k = 0; k < p->n; k++) {
        p->kept[k] = p->x[k];
    }
    if (p->n <= c->options.most_elements) {
        return compare_elements(p, grad, p->n);
    }
    int64_t few = (c->options.most_elements + 3) / 4;
    c->report->unchecked += p->n - few;
    asc_status status = compare_elements(p, grad, few);
    for (int k = 0; k < DIRECTIONS && !status && !asc_check_enough(p->c); k++) {
        status = compare_direction(p, grad, k);
    }
    return status;
}

static asc_status compare_all(asc_check *c, bool *applies)
{
    int64_t outs = c->out_at[c->op->n_out], grads = c->grad_at[c->n_in];
    probe p = {.c = c, .plus = asc_check_doubles(c, outs), .minus = asc_check_doubles(c, outs),
               .kept = asc_check_doubles(c, grads), .direction = asc_check_doubles(c, grads)};
    if (asc_error(c->ctx)) {
        return asc_error(c->ctx);
    }
    *applies = true;
    p.largest_all = asc_check_largest(c->plain.grad, grads);
    asc_status status = ASC_OK;
    for (int i = 0; i < c->n_in && !status; i++) {
        if (c->leaves >> i & c->suspects >> i & 1) {
            status = compare_input(&p, i);
        }
    }
    return status;
}

const asc_check_part asc_check_differences = {"differences", compare_all};
