/* train/measure/bench_op.c: the speed of one op, on the call of its descriptor that is of a size that a training
 * has. */
#include <math.h>
#include <string.h>

#include "autograd/engine.h"
#include "check/sample.h"
#include "stats/stats.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/measure/bench.h"

enum { WARM_UP = 2, LEAST_RUNS = 3, MOST_RUNS = 500 };
static const asc_draws draws = {.real = ASC_F32, .seed = 1, .period = 65537};

/* What the observer has seen of the op's passes in one direction. */
typedef struct passes {
    int n;
    double seconds[MOST_RUNS], flops, bytes;
} passes;

typedef struct bench {
    asc_ctx *ctx;
    const asc_op *op;
    asc_drawn inputs;
    asc_tensor cotangent; /* of output `root`; null: no gradient flows from the op */
    int root;
    passes seen[2];       /* forward, backward */
} bench;

static void see(void *user, const asc_event *event)
{
    bench *b = user;
    passes *p = &b->seen[event->backward];
    if (event->op == b->op && event->depth == 0 && p->n < MOST_RUNS) {
        p->seconds[p->n++] = event->end_s - event->start_s;
        p->flops = event->flops;
        p->bytes = event->bytes;
    }
}

/* Gradients are new in each run, as in a training step. */
static void clear_grads(const bench *b)
{
    for (int i = 0; i < b->inputs.n; i++) {
        if (!asc_is_null(b->inputs.at[i])) {
            asc_zero_grad(b->inputs.at[i]);
        }
    }
}

/* The cotangent of the first output that a gradient flows from. */
static void make_cotangent(bench *b, const asc_tensor *out)
{
    while (b->root < b->op->n_out && !asc_requires_grad(out[b->root])) {
        b->root++;
    }
    if (b->root < b->op->n_out) {
        asc_array a = asc_array_of(out[b->root]);
        asc_sample_input like = {.kind = 'f', .ndim = a.ndim};
        memcpy(like.shape, a.shape, sizeof like.shape);
        asc_draws own = draws;
        own.real = a.dtype;
        own.stream = ASC_MAX_IN;
        b->cotangent = asc_keep(asc_sample_tensor(b->ctx, &like, &own));
    }
}

static asc_status run(bench *b, bool first)
{
    asc_tensor out[ASC_MAX_OUT];
    asc_scope_begin(b->ctx);
    clear_grads(b);
    asc_set_step(b->ctx, 1, 0);
    asc_status status = asc_apply(b->ctx, b->op, b->inputs.at, b->inputs.n, b->op->bench->attrs, out);
    if (!status && first) {
        make_cotangent(b, out);
        status = asc_error(b->ctx);
    }
    if (!status && !asc_is_null(b->cotangent)) {
        status = asc_backward(b->ctx, out[b->root], b->cotangent, false);
    }
    asc_scope_end(b->ctx);
    return status;
}

static asc_status draw_inputs(bench *b)
{
    asc_status status = asc_sample_draw(b->ctx, b->op->bench, &draws, &b->inputs);
    for (int i = 0; i < b->inputs.n && !status; i++) {
        if (asc_sample_is_real(&b->op->bench->in[i])) {
            status = asc_require_grad(b->inputs.at[i], true);
        }
    }
    return status;
}

static asc_status run_all(bench *b, double seconds)
{
    asc_status status = draw_inputs(b);
    for (int i = 0; i < (seconds > 0 ? WARM_UP : 1) && !status; i++) {
        status = run(b, i == 0);
    }
    if (!status) {
        status = asc_set_observer(b->ctx, see, b);
    }
    double start = asc_clock();
    int least = seconds > 0 ? LEAST_RUNS : 1;
    for (int i = 0; i < MOST_RUNS && !status && (i < least || asc_clock() - start < seconds); i++) {
        status = run(b, false);
    }
    asc_set_observer(b->ctx, NULL, NULL);
    asc_release(b->cotangent);
    return status;
}

static asc_bench_pass sum_up(passes *p, const asc_bench_limits *limits)
{
    if (p->n == 0) {
        return (asc_bench_pass){0, NAN, NAN, NAN, NAN, false};
    }
    double seconds = asc_median(p->seconds, p->n);
    asc_bench_pass r = {.runs = p->n, .ms = seconds * 1e3, .gflops = p->flops / seconds * 1e-9,
                        .gbs = p->bytes / seconds * 1e-9};
    double products = r.gflops / limits->gemm_gflops, memory = r.gbs / limits->memory_gbs;
    r.memory_binds = memory > products;
    r.share = r.memory_binds ? memory : products;
    return r;
}

asc_status asc_bench_op(asc_ctx *ctx, const asc_op *op, double seconds, const asc_bench_limits *limits,
                        asc_bench_op_result *result)
{
    asc_status status = ASC_NEED(ctx, "bench_op: op limits result", op, limits, result);
    if (status) {
        return status;
    }
    if (asc_op_check(ctx, "bench_op", op)) {
        return asc_error(ctx);
    }
    if (!op->bench || (op->attrs_size && !op->bench->attrs)) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: its descriptor has no call to time%s", op->name,
                        op->bench ? ": `bench` is without attributes" : " (`bench`)");
    }
    bench b = {.ctx = ctx, .op = op};
    bool recording = asc_set_recording(ctx, true);
    asc_scope_begin(ctx);
    status = run_all(&b, seconds);
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
    if (!status) {
        *result = (asc_bench_op_result){sum_up(&b.seen[0], limits), sum_up(&b.seen[1], limits),
                                        asc_memory(ctx).peak_bytes};
    }
    return status;
}
