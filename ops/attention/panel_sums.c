/* ops/attention/panel_sums.c: sums over queries: the gradients of what belongs to keys, and of numbers a head. They are
 * taken in chunks of panels, each into memory of its own, and the chunks are added in order. */
#include "ops/attention/panel.h"

#include <string.h>

/* Pieces of work that a backward pass has at least, where the panels allow it; and in sequences of as many panels as
 * LONG, if these look at so many keys that a chunk's sums are little beside it, pieces for so many threads, each of the
 * same number of panels. */
enum { CHUNKS = 8, LONG = 128, EVEN = 64 };

/* Where in `more`, in units of [M, w], a head's part of a chunk is, which serves the next round's again; chunk 0 has
 * none. */
static int64_t part_at(const asc_panel_sums *s, int64_t b, int64_t h, int64_t chunk)
{
    const asc_allowed *J = &s->J;
    int64_t strand = (J->joins_batch ? 0 : b) * (J->joins_heads ? 1 : J->H) + (J->joins_heads ? 0 : h);
    int64_t member = (J->joins_batch ? b * (J->joins_heads ? J->H : 1) : 0) + (J->joins_heads ? h : 0);
    int64_t slot = (chunk + s->rounds.chunks - 1) % s->rounds.chunks;
    return (slot * s->rounds.strands + strand % s->rounds.strands) * asc_strand_heads(J) + member;
}

/* ---- float, and f64.awk makes the same for double ---- */

/* Keys ASC_PANEL at a time. */
static void add_chunks_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_panel_sums *s = arg;
    int64_t slices = (s->M + ASC_PANEL - 1) / ASC_PANEL, at = piece / slices, first = piece % slices * ASC_PANEL;
    int64_t end = asc_least(s->M, first + ASC_PANEL), heads = asc_strand_heads(&s->J);
    int64_t head = asc_strand_head(&s->J, s->strand + at / heads, at % heads), b = head / s->J.H, h = head % s->J.H;
    float *to = (float *)s->target + b * s->stride[0] + h * s->stride[1];
    for (int64_t c = asc_most(1, s->chunk); c < asc_least(s->chunks, s->chunk + s->rounds.chunks); c++) {
        const float *from = (const float *)s->more + part_at(s, b, h, c) * s->M * s->width;
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

/* The least number whose product with n is a multiple of m, but no more than makes 4 m of it. */
static int64_t evening(int64_t m, int64_t n)
{
    int64_t a = m, b = n;
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return asc_least(m / a, (4 * m + n - 1) / n);
}

static int64_t chunks_of(const asc_allowed *J, int64_t pieces)
{
    int64_t strands = asc_most(1, asc_panel_strands(J)), panels = asc_head_panels(J);
    int64_t even = panels >= LONG && strands < EVEN ? evening(EVEN, strands) : 1;
    even = even > 1 && asc_panel_copies_pay(J, even) ? even : 1;
    return asc_most(1, asc_least(panels, asc_most(even, (pieces + strands - 1) / strands)));
}

int64_t asc_panel_chunks(const asc_allowed *J)
{
    return chunks_of(J, CHUNKS);
}

int64_t asc_panel_forward_chunks(const asc_allowed *J)
{
    return chunks_of(J, 2 * CHUNKS);
}

asc_panel_rounds asc_panel_rounds_of(const asc_ctx *ctx, const asc_allowed *J)
{
    int64_t strands = asc_most(1, asc_panel_strands(J)), chunks = asc_panel_chunks(J), threads = asc_threads(ctx);
    if (chunks == 1) {
        return (asc_panel_rounds){strands, 1};
    }
    int64_t at_once = asc_least(chunks, asc_most(threads, CHUNKS));
    int64_t together = asc_most(evening(threads, at_once), (CHUNKS + at_once - 1) / at_once);
    return (asc_panel_rounds){asc_least(strands, together), at_once};
}

static asc_status make_room(asc_call *call, asc_panel_sums *sums)
{
    if (sums->chunks == 1) {
        return ASC_OK;
    }
    size_t part = (size_t)(sums->M * sums->width) * asc_dtype_size(sums->dtype);
    int64_t held = asc_least(sums->rounds.chunks, sums->chunks - 1) * sums->rounds.strands * asc_strand_heads(&sums->J);
    sums->more = asc_call_scratch(call, (size_t)held * part);
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
    *sums = (asc_panel_sums){.dtype = g->dtype,
                             .target = g->data,
                             .fresh = call->fresh[input],
                             .J = *J,
                             .M = J->M,
                             .width = width,
                             .chunks = asc_panel_chunks(J),
                             .rounds = asc_panel_rounds_of(call->ctx, J),
                             .stride = {J->M * ld, width, ld}};
    return make_room(call, sums);
}

asc_status asc_panel_sums_of(asc_call *call, const asc_allowed *J, asc_dtype dtype, void *memory, int64_t rows,
                             int64_t width, asc_panel_sums *sums)
{
    *sums = (asc_panel_sums){.dtype = dtype,
                             .target = memory,
                             .fresh = true,
                             .J = *J,
                             .M = rows,
                             .width = width,
                             .chunks = asc_panel_chunks(J),
                             .rounds = asc_panel_rounds_of(call->ctx, J),
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
        m.data = (char *)s->more + (size_t)(part_at(s, b, h, chunk) * s->M * s->width) * size;
    }
    for (int64_t j = 0; (chunk > 0 || s->fresh) && j < s->M; j++) {
        memset(asc_matrix_row(m, j), 0, (size_t)s->width * size);
    }
    return m;
}

/* What a round's chunks were summed up to goes to the targets. */
static void end_round(asc_ctx *ctx, const asc_panel_sums *sums, int64_t strand, int64_t strands, int64_t chunk)
{
    asc_panel_sums job = *sums;
    job.strand = strand;
    job.chunk = chunk;
    if (job.target && asc_least(job.chunks, chunk + job.rounds.chunks) > 1) {
        int64_t heads = strands * asc_strand_heads(&job.J), slices = (job.M + ASC_PANEL - 1) / ASC_PANEL;
        asc_parallel(ctx, heads * slices, BY_DTYPE(job.dtype, add_chunks), &job);
    }
}

/* A round: n chunks, from `chunk` on, of strands from `strand` on. */
typedef struct round_job {
    asc_piece_fn *piece;
    void *arg;
    int64_t strand, chunk, n, chunks; /* chunks: of a head */
} round_job;

static void round_piece(void *arg, int64_t piece, int worker)
{
    const round_job *j = arg;
    j->piece(j->arg, (j->strand + piece / j->n) * j->chunks + j->chunk + piece % j->n, worker);
}

void asc_panel_sum_up(asc_ctx *ctx, const asc_allowed *J, const asc_panel_sums *const *sums, int n, asc_piece_fn *piece,
                      void *arg)
{
    asc_panel_rounds rounds = asc_panel_rounds_of(ctx, J);
    round_job j = {.piece = piece, .arg = arg, .chunks = asc_panel_chunks(J)};
    for (; j.strand < asc_panel_strands(J); j.strand += rounds.strands) {
        int64_t strands = asc_least(rounds.strands, asc_panel_strands(J) - j.strand);
        for (j.chunk = 0; j.chunk < j.chunks; j.chunk += rounds.chunks) {
            j.n = asc_least(rounds.chunks, j.chunks - j.chunk);
            asc_parallel(ctx, strands * j.n, round_piece, &j);
            for (int i = 0; i < n; i++) {
                end_round(ctx, sums[i], j.strand, strands, j.chunk);
            }
        }
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
