/* check/causal_layer.c: whether a mixing layer looks ahead, by changing what it must not see. */
#include <ascgrad/check.h>
#include <string.h>

#include "nn/mixing.h"
#include "tensor/need.h"

enum { B = 2, N = 9, D = 8 };
enum { NOW = 1, LATER, COTANGENT }; /* streams of random numbers */

typedef struct probe {
    asc_layer *layer;
    asc_causal_report *report;
    asc_tensor x, later, cotangent; /* (B, N, D) in f64 */
    double *y;                      /* the outputs of x */
} probe;

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
    for (int64_t e = 0; to && e < (int64_t)B * N * D; e++) {
        to[e] = e / D % N <= t ? a[e] : b ? b[e] : 0;
    }
    return made;
}

static void fail_at(asc_causal_report *r, bool gradient, int64_t element, int64_t t)
{
    if (r->failures++ == 0) {
        r->first_is_gradient = gradient;
        r->first_position = element / D % N;
        r->first_moment = t;
    }
}

static void compare_outputs(const probe *p, asc_tensor y, int64_t t)
{
    const double *got = asc_data(y);
    for (int64_t e = 0; got && e < (int64_t)B * N * D; e++) {
        if (e / D % N <= t) {
            p->report->outputs++;
            if (memcmp(&got[e], &p->y[e], sizeof *got) != 0) {
                fail_at(p->report, false, e, t);
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
                fail_at(p->report, true, e, t);
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
    compare_outputs(p, asc_layer_forward(p->layer, splice(ctx, p->x, p->later, t), asc_null()), t);
    asc_set_recording(ctx, true);
    asc_tensor x = splice(ctx, p->x, asc_null(), N), cotangent = splice(ctx, p->cotangent, asc_null(), t);
    asc_require_grad(x, true);
    asc_tensor y = asc_layer_forward(p->layer, x, asc_null());
    if (asc_error(ctx) == ASC_OK) {
        asc_backward(ctx, y, cotangent, false);
        compare_grads(p, asc_grad(x), t);
    }
    p->report->moments++;
    asc_scope_end(ctx);
    return asc_error(ctx);
}

static asc_status probe_layer(asc_layer *l, uint64_t seed, asc_causal_report *report)
{
    asc_ctx *ctx = l->ctx;
    double y[B * N * D];
    probe p = {.layer = l, .report = report, .x = draw(ctx, seed, NOW), .later = draw(ctx, seed, LATER),
               .cotangent = draw(ctx, seed, COTANGENT), .y = y};
    asc_set_recording(ctx, false);
    asc_tensor out = asc_layer_forward(l, p.x, asc_null());
    if (asc_error(ctx)) {
        return asc_error(ctx);
    }
    memcpy(y, asc_data(out), sizeof y);
    asc_status status = ASC_OK;
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
    status = report->causal ? probe_layer(l, seed, report) : ASC_OK;
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    asc_layer_free(l);
    report->passed = !status && report->failures == 0;
    return status;
}
