/* examples/my_op.c: an op of one's own, y = x log x, with its gradient check.
 *
 *   cc my_op.c $(pkg-config --cflags --libs ascgrad) -lm && ./a.out
 *   cc -shared -fPIC my_op.c $(pkg-config --cflags ascgrad) -o my_op.so && ascgrad gradcheck --plugin my_op.so */
#include <math.h>
#include <stdio.h>

#include <ascgrad/ascgrad.h>

static asc_status infer(asc_call *call)
{
    const asc_array *x = &call->in[0];
    if (x->dtype != ASC_F32 && x->dtype != ASC_F64) {
        return asc_call_expect(call, 0, "f32 or f64");
    }
    return asc_call_output(call, 0, x->dtype, x->ndim, x->shape);
}

static double get(const asc_array *a, int64_t i)
{
    return a->dtype == ASC_F32 ? (double)((const float *)a->data)[i] : ((const double *)a->data)[i];
}

static void put(const asc_array *a, int64_t i, double value)
{
    if (a->dtype == ASC_F32) {
        ((float *)a->data)[i] = (float)value;
    } else {
        ((double *)a->data)[i] = value;
    }
}

static asc_status forward(asc_call *call)
{
    for (int64_t i = 0; i < call->in[0].numel; i++) {
        put(&call->out[0], i, get(&call->in[0], i) * log(get(&call->in[0], i)));
    }
    return ASC_OK;
}

static asc_status backward(asc_call *call)
{
    const asc_array *dx = &call->grad_in[0]; /* dx += (1 + log x) dy */
    for (int64_t i = 0; i < dx->numel; i++) {
        put(dx, i, get(dx, i) + (1 + log(get(&call->in[0], i))) * get(&call->grad_out[0], i));
    }
    return ASC_OK;
}

/* Where to check it: uniform reals from 0.1 to 4, of these shapes. */
static const asc_sample samples[] = {
    {.in = {{.kind = 'u', .ndim = 2, .shape = {3, 5}, .lo = .1, .hi = 4}}},
    {.in = {{.kind = 'u', .ndim = 1, .shape = {1}, .lo = .1, .hi = 4}}},
};

/* And where to time it: an array as a training step has them. */
static const asc_sample large = {.in = {{.kind = 'u', .ndim = 3, .shape = {32, 128, 1024}, .lo = .1, .hi = 4}}};

static const asc_op x_log_x = {
    .abi = ASC_OP_ABI, .name = "x_log_x", .equation = "y = x log x", .inputs = "x", .n_out = 1,
    .saves_in = 1, /* backward reads x */
    .infer = infer, .forward = forward, .backward = backward, .samples = samples, .n_samples = 2,
    .bench = &large,
};

/* What `ascgrad gradcheck --plugin` and `ascgrad bench ops --plugin` look for. */
const asc_op *const *asc_plugin_ops(unsigned abi)
{
    static const asc_op *const ops[] = {&x_log_x, NULL};
    return abi == ASC_OP_ABI ? ops : NULL;
}

int main(void)
{
    asc_ctx *ctx = asc_ctx_new(NULL);
    asc_gradcheck_report r;
    if (asc_gradcheck(ctx, &x_log_x, NULL, &r)) {
        return fprintf(stderr, "my_op: %s\n", asc_error_message(ctx)), 2;
    }
    printf("%s: %s, %.1f digits verified\n", r.op, r.passed ? "ok" : "FAIL", r.digits);
    asc_ctx_free(ctx);
    return !r.passed;
}
