/* ops/attention/panel_sums.c: sums over queries: the gradients of what belongs to keys, and of numbers a head. They are
 * taken in chunks of panels, each into memory of its own, and the chunks are added in order. */
#include "ops/attention/panel.h"

#include <string.h>


enum { CHUNKS = 8 }; /* pieces of work that a backward pass has at least, where the panels allow it */

/* ---- float, and f64.awk makes the same for double ---- */

/* Keys ASC_PANEL at a time. */
static void add_chunks_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_panel_sums *s = arg;
    int64_t slices = (s->M + ASC_PANEL - 1) / ASC_PANEL, head = piece / slices, first = piece % slices * ASC_PANEL;
    int64_t end = asc_least(s->M, first + ASC_PANEL);
    float *to = (float *)s->target + head / s->H * s->stride[0] + head % s->H * s->stride[1];
    for (int64_t c = 1; c < s->chunks; c++) {
        const float *from = (const float *)s->more + ((c - 1) * s->B * s->H + head) * s->M * s->width;
        for (int64_t j = first; j < end; j++) {
            asc_kernels_f32()->acc(to + j * s->stride[2], from + j * s->width, s->width);
        }
    }
}

/* ---- end of float ---- */
#include "ops/attention/panel_sums.f64.h"

int64_t asc_panel_strands(const asc_allowed *J)
{
    return (J->joins_batch ? 1 : J->B) * (J->joins_heads ? 1 : J->H);
}

int64_t asc_strand_heads(const asc_allowed *J)
{
    return (J->joins_batch ? J->B : 1) * (J->joins_heads ? J->H : 1);
}

int64_t asc_strand_head(const asc_allowed *J, int64_t strand, int64_t m)
{
    int64_t heads = J->joins_heads ? 1 : J->H, joined = J->joins_heads ? J->H : 1;
    return (strand / heads + m / joined) * J->H + strand % heads + m % joined;
}

static int64_t chunks_of(const asc_allowed *J, int64_t pieces)
{
    int64_t strands = asc_most(1, asc_panel_strands(J));
    return asc_most(1, asc_least(asc_head_panels(J), (pieces + strands - 1) / strands));
}

int64_t asc_panel_chunks(const asc_allowed *J)
{
    return chunks_of(J, CHUNKS);
}

int64_t asc_panel_forward_chunks(const asc_allowed *J)
{
    return chunks_of(J, 2 * CHUNKS);
}

static asc_status make_room(asc_call *call, asc_panel_sums *sums)
{
    if (sums->chunks == 1) {
        return ASC_OK;
    }
    size_t chunk = (size_t)(sums->B * sums->H * sums->M * sums->width) * asc_dtype_size(sums->dtype);
    sums->more = asc_call_scratch(call, (size_t)(sums->chunks - 1) * chunk);
    return sums->more ? ASC_OK : ASC_ERR_MEMORY;
}

asc_status asc_panel_sums_of_input(asc_call *call, const asc_allowed *J, int input, asc_panel_sums *sums)
{
    const asc_array *g = &call->grad_in[input];
    *sums = (asc_panel_sums){.dtype = g->dtype, .target = g->data};
    if (!g->data) {
        return ASC_OK;
    }
    int64_t ld = g->shape[2], width = ld / J->H;
    *sums = (asc_panel_sums){.dtype = g->dtype, .target = g->data, .fresh = call->fresh[input], .B = J->B, .H = J->H,
                             .M = J->M, .width = width, .chunks = asc_panel_chunks(J),
                             .stride = {J->M * ld, width, ld}};
    return make_room(call, sums);
}

asc_status asc_panel_sums_of(asc_call *call, const asc_allowed *J, asc_dtype dtype, void *memory, int64_t rows,
                             int64_t width, asc_panel_sums *sums)
{
    *sums = (asc_panel_sums){.dtype = dtype, .target = memory, .fresh = true, .B = J->B, .H = J->H, .M = rows,
                             .width = width, .chunks = asc_panel_chunks(J),
                             .stride = {J->H * rows * width, rows * width, width}};
    return make_room(call, sums);
}

asc_matrix asc_panel_sums_begin(const asc_panel_sums *s, int64_t b, int64_t h, int64_t chunk)
{
    if (!s->target) {
        return (asc_matrix){.dtype = s->dtype};
    }
    size_t size = asc_dtype_size(s->dtype);
    asc_matrix m = {.dtype = s->dtype, .width = s->width, .ld = s->width};
    if (chunk == 0) {
        m.data = (char *)s->target + (size_t)(b * s->stride[0] + h * s->stride[1]) * size;
        m.ld = s->stride[2];
    } else {
        m.data = (char *)s->more + (size_t)(((chunk - 1) * s->B + b) * s->H + h) * (size_t)(s->M * s->width) * size;
    }
    for (int64_t j = 0; (chunk > 0 || s->fresh) && j < s->M; j++) {
        memset(asc_matrix_row(m, j), 0, (size_t)s->width * size);
    }
    return m;
}

void asc_panel_sums_end(asc_ctx *ctx, const asc_panel_sums *sums)
{
    asc_panel_sums job = *sums;
    if (job.target && job.chunks > 1) {
        asc_parallel(ctx, job.B * job.H * ((job.M + ASC_PANEL - 1) / ASC_PANEL), BY_DTYPE(job.dtype, add_chunks), &job);
    }
}

void asc_head_scalars_end(asc_call *call, const asc_allowed *J, int first, int n, int64_t pieces, const double *sums)
{
    for (int i = 0; i < n; i++) {
        const asc_array *grad = &call->grad_in[first + i];
        for (int64_t h = 0; grad->data && h < J->H; h++) {
            double sum = call->fresh[first + i] ? 0 : asc_element(grad->dtype, grad->data, h);
            for (int64_t at = 0; at < J->B * pieces; at++) {
                sum += sums[((at / pieces * J->H + h) * pieces + at % pieces) * n + i];
            }
            asc_set_element(grad->dtype, grad->data, h, sum);
        }
    }
}
