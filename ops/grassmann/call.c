/* ops/grassmann/call.c: a call of the ops grassmann and subspace: its sizes, its memory, its passes. */
#include "ops/grassmann/grassmann.h"

#include <float.h>
#include <math.h>

enum { Z = ASC_GRASSMANN_Z, W = ASC_GRASSMANN_W, B = ASC_GRASSMANN_B, OFFSET_W = ASC_GRASSMANN_OFFSET_W };

void asc_grassmann_fill_in(asc_grassmann_attrs *a, int64_t groups)
{
    int64_t most = groups > INT32_MAX ? INT32_MAX : groups, fitting = most < INT32_MIN ? INT32_MIN : most;
    a->groups = groups == 0 ? 1 : (int32_t)fitting; /* what does not fit is refused as the nearest that does */
    a->eps = a->raw ? ASC_GRASSMANN_FLOOR : a->eps;
    a->eps_rel = a->raw ? 0 : a->eps_rel;
}

asc_status asc_grassmann_check_call(asc_call *call, int64_t least)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z];
    if (!(a->eps > 0) || !(a->eps_rel >= 0)) {
        return asc_call_fail(call, "eps is %g, eps_rel %g, expected above 0 and at least 0", a->eps, a->eps_rel);
    }
    if (asc_expect_floating(call, Z)) {
        return ASC_ERR_ARG;
    }
    if (z->dtype == ASC_F32 && a->eps < (double)FLT_MIN) {
        return asc_call_fail(call, "eps is %g, expected %g or more in float32", a->eps, (double)FLT_MIN);
    }
    if (z->ndim != 3) {
        return asc_call_expect(call, Z, "(B, N, r)");
    }
    if (a->groups < 1 || z->shape[2] % a->groups || z->shape[2] / a->groups < least || z->shape[2] > INT16_MAX) {
        return asc_call_fail(call,
                             "groups is %d, z has %lld entries: expected groups that divide them, of %lld or more "
                             "each, at most %d in all",
                             a->groups, (long long)z->shape[2], (long long)least, INT16_MAX);
    }
    if (a->skip < 0 || a->skip > z->shape[1]) {
        return asc_call_fail(call, "skip is %lld, expected 0 to %lld", (long long)a->skip, (long long)z->shape[1]);
    }
    return ASC_OK;
}

asc_grassmann_job asc_grassmann_job_of(asc_call *call, int64_t R)
{
    const asc_grassmann_attrs *a = call->attrs;
    const asc_array *z = &call->in[Z];
    asc_grassmann_job job = {.call = call,
                             .attrs = a,
                             .B = z->shape[0],
                             .N = z->shape[1],
                             .n = z->shape[1] - a->skip,
                             .r = z->shape[2],
                             .G = a->groups,
                             .width = z->shape[2] / a->groups,
                             .R = R,
                             .P = a->groups * R,
                             .D = call->in[W].shape[0]};
    job.scale = (a->rms ? sqrt((double)job.P) : 1) * (a->raw ? ASC_GRASSMANN_FLOOR : 1);
    job.tokens = asc_tokens_of(job.B * job.n);
    return job;
}

double asc_grassmann_flops(const asc_call *call)
{
    return 2.0 * (double)call->in[W].numel * (double)(call->out[0].shape[0] * call->out[0].shape[1]);
}

/* Columns for `entries` of each of `rows`; x NULL, with the error set, if there is no memory. */
static asc_columns columns_of(asc_call *call, int64_t entries, int64_t rows, asc_dtype dtype)
{
    asc_columns c = {.ld = rows + 2 * ASC_STRIP};
    c.x = asc_call_scratch(call, (size_t)(entries * c.ld) * asc_dtype_size(dtype));
    return c;
}

static bool uses_memory(const asc_grassmann_job *job)
{
    return job->pairs > 0 && job->pair[job->pairs - 1].memory;
}

/* The vectors in columns, and the workers' memory. */
static asc_status prepare(asc_grassmann_job *job)
{
    asc_call *call = job->call;
    asc_dtype dtype = call->in[Z].dtype;
    bool has_memory = uses_memory(job);
    int64_t rows = job->B * job->N, tokens = job->B * job->n;
    job->worker_bytes = asc_grassmann_worker_bytes(job);
    job->workers = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * job->worker_bytes);
    job->z = columns_of(call, job->r, rows, dtype);
    if (has_memory) {
        job->memory = columns_of(call, job->r, tokens, dtype);
    }
    if (!job->workers || !job->z.x || (has_memory && !job->memory.x)) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, (rows + ASC_TILE - 1) / ASC_TILE, BY_DTYPE(dtype, asc_grassmann_lay_z), job);
    if (has_memory) {
        asc_parallel(call->ctx, (tokens + ASC_TILE - 1) / ASC_TILE, BY_DTYPE(dtype, asc_grassmann_lay_memory), job);
    }
    return ASC_OK;
}

asc_status asc_grassmann_run(asc_grassmann_job *job)
{
    asc_status status = prepare(job);
    if (!status) {
        asc_parallel(job->call->ctx, job->tokens.tiles, BY_DTYPE(job->call->in[Z].dtype, asc_grassmann_forward), job);
    }
    return status;
}

/* ---- backward ---- */

/* Memory for what chunks add up; 0 bytes are none at all. */
static bool take(asc_call *call, bool wanted, void **memory, int64_t elements, size_t size)
{
    *memory = wanted ? asc_call_scratch(call, (size_t)elements * size) : NULL;
    return !wanted || *memory;
}

/* What tokens keep of their pairs until the rows of z gather it; rows before the first token keep nothing. */
static asc_status prepare_gathering(asc_grassmann_job *job)
{
    asc_call *call = job->call;
    int64_t rows = job->B * job->N, numbers = 3 * job->pairs * job->G;
    bool wedges = job->kind == &asc_grassmann_wedges, late = job->attrs->skip > 0;
    asc_columns *kept = wedges ? &job->shares : &job->others;
    numbers = wedges ? numbers : job->shifts * job->r;
    job->own = columns_of(call, job->r, rows, ASC_F64);
    *kept = columns_of(call, numbers, rows, ASC_F64);
    if (wedges) {
        job->q = columns_of(call, job->r, rows, call->in[Z].dtype);
    }
    if (!job->own.x || !kept->x || (wedges && !job->q.x)) {
        return ASC_ERR_MEMORY;
    }
    if (wedges || late) {
        asc_clear(call->ctx, kept->x, (size_t)(numbers * kept->ld) * sizeof(double));
    }
    if (late) {
        asc_clear(call->ctx, job->own.x, (size_t)(job->r * job->own.ld) * sizeof(double));
    }
    return ASC_OK;
}

static asc_status prepare_backward(asc_grassmann_job *job)
{
    asc_call *call = job->call;
    asc_dtype dtype = call->in[Z].dtype;
    size_t size = asc_dtype_size(dtype);
    int64_t chunks = job->tokens.chunks;
    void *doffset;
    if (!take(call, call->grad_in[W].data, &job->dw, chunks * job->D * job->P, size) ||
        !take(call, call->grad_in[B].data, &job->db, chunks * job->D, size) ||
        !take(call, job->learned && call->grad_in[OFFSET_W].data, &doffset, chunks * job->pairs, sizeof(double))) {
        return ASC_ERR_MEMORY;
    }
    job->doffset = doffset;
    job->keeps = true;
    if (call->grad_in[Z].data) {
        asc_status status = prepare_gathering(job);
        if (status) {
            return status;
        }
    }
    return prepare(job);
}

static void join_offsets(const asc_grassmann_job *job)
{
    asc_array *to = &job->call->grad_in[OFFSET_W];
    for (int p = 0; p < job->pairs && job->doffset; p++) {
        double sum = 0;
        for (int64_t i = 0; i < job->tokens.chunks; i++) {
            sum += job->doffset[i * job->pairs + p];
        }
        double old = job->call->fresh[OFFSET_W] ? 0 : asc_element(to->dtype, to->data, p);
        asc_set_element(to->dtype, to->data, p, old + sum);
    }
}

asc_status asc_grassmann_run_backward(asc_grassmann_job *job)
{
    asc_call *call = job->call;
    asc_dtype dtype = call->in[Z].dtype;
    asc_status status = prepare_backward(job);
    if (status) {
        return status;
    }
    asc_parallel(call->ctx, job->tokens.chunks, BY_DTYPE(dtype, asc_grassmann_backward), job);
    if (job->dw) {
        asc_join_chunks(call->ctx, dtype, job->dw, job->tokens.chunks, job->D * job->P, call->grad_in[W].data,
                        call->fresh[W]);
    }
    if (job->db) {
        asc_join_chunks(call->ctx, dtype, job->db, job->tokens.chunks, job->D, call->grad_in[B].data, call->fresh[B]);
    }
    join_offsets(job);
    if (call->grad_in[Z].data) {
        asc_parallel(call->ctx, (job->B * job->N + ASC_STRIP - 1) / ASC_STRIP, BY_DTYPE(dtype, job->kind->gather), job);
    }
    return ASC_OK;
}
