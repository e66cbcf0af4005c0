/* check/causal_layer.c: whether a mixing layer looks ahead, by changing what it must not see. */
#include <ascgrad/check.h>
#include <string.h>

#include "nn/mixing.h"
#include "tensor/need.h"

enum { B = 2, N = 9, D = 8 };
enum { NOW = 1, LATER, COTANGENT, OTHER }; /* streams of random numbers */

/* What is changed: a sequence that looks at itself; queries, or the context that they look at. */
typedef enum way { SEQUENCE, QUERIES, CONTEXT } way;
static const char *const names[] = {"sequence", "queries", "context"};

typedef struct probe {
    asc_layer *layer;
    asc_causal_report *report;
    way way;
    asc_tensor x, later, cotangent; /* (B, N, D) in f64 */
    asc_tensor other;               /* the context of queries, or the queries of a context */
    double *y;                      /* the outputs of x */
} probe;

/* Of inputs x up to position t. */
static asc_tensor run(const probe *p, asc_tensor x, int64_t t)
{
    const int64_t lengths[B] = {t + 1, t + 1};
    switch (p->way) {
    case QUERIES: return asc_layer_cross(p->layer, x, p->other, asc_null());
    case CONTEXT:
        return asc_layer_cross(p->layer, p->other, x, asc_from(p->layer->ctx, ASC_I64, lengths, ASC_SHAPE(B)));
    default: return asc_layer_forward(p->layer, x, asc_null());
    }
}

static asc_tensor draw(asc_ctx *ctx, uint64_t seed, uint64_t stream)
{
    return asc_normal(ctx, ASC_F64, 0, 1, seed, stream, 3, (int64_t[]){B, N, D});
}

/* The first t + 1 positions of `early`, and then those of `late`, or 0 without one. */
static asc_tensor splice(asc_ctx *ctx, asc_tensor early, asc_tensor late, int64_t t)
{
    asc_tensor made = asc_zeros(ctx, ASC_F64, 3, (int64_t[]){B, N, D});
    double *to = asc_data_mut(made);
    const double *a = asc_data(early), *b = asc_data(late);
    for (int64_t e = 0; to && a && e < (int64_t)B * N * D; e++) {
        to[e] = e / D % N <= t ? a[e] : b ? b[e] : 0;
    }
    return made;
}

static void fail_at(const probe *p, bool gradient, int64_t element, int64_t t)
{
    asc_causal_report *r = p->report;
    if (r->failures++ == 0) {
        r->first_of = names[p->way];
        r->first_is_gradient = gradient;
        r->first_position = element / D % N;
        r->first_moment = t;
    }
}

/* The elements of an output, which may be a view, in order. */
static void read_output(asc_tensor y, double *to)
{
    asc_array a = asc_array_of(y);
    const double *from = asc_data(y);
    for (int64_t e = 0; from && e < (int64_t)B * N * D; e++) {
        to[e] = from[e / (N * D) * a.stride[0] + e / D % N * a.stride[1] + e % D * a.stride[2]];
    }
}

static void compare_outputs(const probe *p, asc_tensor y, int64_t t)
{
    double got[B * N * D];
    read_output(y, got);
    for (int64_t e = 0; !asc_is_null(y) && e < (int64_t)B * N * D; e++) {
        if (e / D % N <= t || p->way == CONTEXT) {
            p->report->outputs++;
            if (memcmp(&got[e], &p->y[e], sizeof *got) != 0) {
                fail_at(p, false, e, t);
            }
        }
    }
}

static void compare_grads(const probe *p, asc_tensor grad, int64_t t)
{
    const double *got = asc_data(grad);
    for (int64_t e = 0; got && e < (int64_t)B * N * D; e++) {
        if (e / D % N > t) {
            p->report->gradients++;
            if (got[e] != 0) {
                fail_at(p, true, e, t);
            }
        }
    }
}

/* Inputs after position t. */
static asc_status probe_moment(const probe *p, int64_t t)
{
    asc_ctx *ctx = p->layer->ctx;
    asc_scope_begin(ctx);
    asc_set_recording(ctx, false);
    asc_tensor plain = run(p, p->x, t);
    if (asc_error(ctx) == ASC_OK) {
        read_output(plain, p->y);
        compare_outputs(p, run(p, splice(ctx, p->x, p->later, t), t), t);
    }
    asc_set_recording(ctx, true);
    asc_tensor x = splice(ctx, p->x, asc_null(), N);
    asc_tensor cotangent = splice(ctx, p->cotangent, asc_null(), p->way == CONTEXT ? N : t);
    asc_require_grad(x, true);
    asc_tensor y = run(p, x, t);
    if (asc_error(ctx) == ASC_OK) {
        asc_backward(ctx, y, cotangent, false);
        compare_grads(p, asc_grad(x), t);
    }
    p->report->moments += p->way == SEQUENCE;
    asc_scope_end(ctx);
    return asc_error(ctx);
}

static asc_status probe_layer(asc_layer *l, way way, uint64_t seed, asc_causal_report *report)
{
    asc_ctx *ctx = l->ctx;
    double y[B * N * D];
    probe p = {.layer = l, .report = report, .way = way, .x = draw(ctx, seed, NOW), .later = draw(ctx, seed, LATER),
               .cotangent = draw(ctx, seed, COTANGENT), .other = draw(ctx, seed, OTHER), .y = y};
    asc_status status = asc_error(ctx);
    for (int64_t t = 0; t < N - 1 && !status; t++) {
        status = probe_moment(&p, t);
    }
    return status;
}

/* Of a mixing that is none, asc_layer_new has the message. */
static const char *sample_of(const asc_ctx *ctx, const char *mixing)
{
    const asc_mixing *m = asc_mixing_find(ctx, mixing);
    return m && m->sample ? m->sample : "{}";
}

asc_status asc_causal_check(asc_ctx *ctx, const char *mixing, const char *config, const asc_gradcheck_options *options,
                            asc_causal_report *report)
{
    asc_status status = ASC_NEED(ctx, "causal_check: mixing report", mixing, report);
    if (status) {
        return status;
    }
    *report = (asc_causal_report){.mixing = mixing};
    uint64_t seed = options ? options->seed : 0;
    asc_layer *l = asc_layer_new(ctx, mixing, D, config ? config : sample_of(ctx, mixing), ASC_F64, seed);
    if (!l) {
        return asc_error(ctx);
    }
    report->causal = !asc_layer_looks_ahead(l);
    bool recording = asc_set_recording(ctx, true);
    asc_scope_begin(ctx);
    report->context = l->mixing->takes_context;
    status = report->causal ? probe_layer(l, SEQUENCE, seed, report) : ASC_OK;
    for (way way = QUERIES; way <= CONTEXT && report->context && !status; way++) {
        status = probe_layer(l, way, seed, report);
        if (status == ASC_ERR_ARG) { /* its settings refuse a context */
            asc_error_clear(ctx);
            report->context = false;
            status = ASC_OK;
        }
    }
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    asc_layer_free(l);
    report->passed = !status && report->failures == 0;
    return status;
}
