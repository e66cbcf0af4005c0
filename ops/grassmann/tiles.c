/* ops/grassmann/tiles.c: the loops over tiles of tokens and strips of a tile, whatever a group makes of its vectors. */
#include "ops/grassmann/grassmann.h"

#include <string.h>

enum { S = ASC_STRIP };

void asc_put_columns(double *to, int64_t ld, const double *strip, int64_t n, int lanes)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * ld, strip + i * S, (size_t)lanes * sizeof *to);
    }
}

/* 1 for the lanes of a strip of rows that stand at `shift` from a token of their own sequence, else 0. */
static void find_tokens(const asc_grassmann_job *job, int64_t row, int64_t shift, double *mask)
{
    for (int l = 0; l < S; l++) {
        int64_t t = (row + l) % job->N - shift;
        mask[l] = row + l < job->B * job->N && t >= 0 && t < job->N;
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- vectors into columns ---- */

static void lay_f32(const asc_columns *to, const asc_array *x, int64_t rows, int64_t r, int64_t piece)
{
    int64_t first = piece * ASC_TILE, n = rows - first < ASC_TILE ? rows - first : ASC_TILE;
    asc_kernels_f32()->transpose(asc_column_at_f32(to, 0, first), to->ld, (const float *)x->data + first * r, r, n, r);
}

void asc_grassmann_lay_z_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_grassmann_job *job = arg;
    lay_f32(&job->z, &job->call->in[ASC_GRASSMANN_Z], job->B * job->N, job->r, piece);
}

void asc_grassmann_lay_memory_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_grassmann_job *job = arg;
    lay_f32(&job->memory, &job->call->in[ASC_GRASSMANN_MEMORY], job->B * job->n, job->r, piece);
}

void asc_grassmann_load_second_f32(const asc_grassmann_job *job, asc_grassmann_strip s, int pair, int64_t group,
                                   const double *weight, double *v)
{
    bool memory = job->pair[pair].memory;
    const asc_columns *from = memory ? &job->memory : &job->z;
    int64_t row = memory ? asc_strip_token(job, s) : asc_strip_row(job, s) + job->pair[pair].shift;
    asc_kernels_f32()->strip_load(v, asc_column_at_f32(from, group * job->width, row), from->ld, weight, job->width);
}

/* ---- forward ---- */

void asc_grassmann_forward_f32(void *arg, int64_t tile, int worker)
{
    const asc_grassmann_job *job = arg;
    const asc_call *call = job->call;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t D = job->D, first = tile * job->tokens.tile, left = job->tokens.rows - first, ld = job->tokens.tile + S;
    int64_t rows = left < job->tokens.tile ? left : job->tokens.tile;
    for (int64_t column = 0; column < rows;) {
        asc_grassmann_strip s = asc_grassmann_strip_at(job, first, rows, column);
        asc_grassmann_weights(job, s, w.weight, w.total + column);
        for (int64_t group = 0; group < job->G; group++) {
            job->kind->forward_f32(job, &w, s, group, (float *)w.tile + group * job->R * ld + column, ld);
        }
        column += s.lanes;
    }
    const float *bias = call->in[ASC_GRASSMANN_B].data;
    float *g = (float *)call->out[0].data + first * D;
    for (int64_t t = 0; t < rows && bias; t++) {
        asc_kernels_f32()->scale(g + t * D, (float)w.total[t], bias, D);
    }
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(call->ctx),
                             .ta = true,
                             .tb = true,
                             .m = rows,
                             .n = D,
                             .k = job->P,
                             .alpha = job->scale,
                             .a = w.tile,
                             .lda = ld,
                             .b = call->in[ASC_GRASSMANN_W].data,
                             .ldb = job->P,
                             .beta = bias != NULL,
                             .c = g,
                             .ldc = D});
}

/* ---- backward, tile by tile ---- */

/* A tile of g's cotangents: the vectors' gradients. The coordinates, which the weight's gradient needs, take the place
 * of their own cotangents in w->tile. */
static void tile_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, int64_t first, int64_t rows,
                          double *doffset)
{
    const asc_call *call = job->call;
    int64_t D = job->D, P = job->P, ld = job->tokens.tile + S;
    const float *dg = (const float *)call->grad_out[0].data + first * D;
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(call->ctx),
                             .ta = true,
                             .tb = true,
                             .m = P,
                             .n = rows,
                             .k = D,
                             .alpha = job->scale,
                             .a = call->in[ASC_GRASSMANN_W].data,
                             .lda = P,
                             .b = dg,
                             .ldb = D,
                             .c = w->tile,
                             .ldc = ld});
    for (int64_t column = 0; column < rows;) {
        asc_grassmann_strip s = asc_grassmann_strip_at(job, first, rows, column);
        asc_grassmann_weights(job, s, w->weight, w->total + column);
        memset(w->share, 0, (size_t)(job->pairs * S) * sizeof *w->share);
        for (int64_t group = 0; group < job->G; group++) {
            job->kind->backward_f32(job, w, s, group, (float *)w->tile + group * job->R * ld + column, ld);
        }
        if (doffset) {
            asc_grassmann_weights_grad(job, w, doffset);
        }
        column += s.lanes;
    }
}

void asc_grassmann_backward_f32(void *arg, int64_t chunk, int worker)
{
    const asc_grassmann_job *job = arg;
    const asc_call *call = job->call;
    const asc_tokens *t = &job->tokens;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t D = job->D, P = job->P, begin = chunk * t->chunk;
    int64_t end = begin + t->chunk < t->rows ? begin + t->chunk : t->rows;
    float *dw = job->dw ? (float *)job->dw + chunk * D * P : NULL, *db = job->db ? (float *)job->db + chunk * D : NULL;
    double *doffset = job->doffset ? job->doffset + chunk * job->pairs : NULL;
    if (db) {
        memset(db, 0, (size_t)D * sizeof *db);
    }
    if (doffset) {
        memset(doffset, 0, (size_t)job->pairs * sizeof *doffset);
    }
    for (int64_t first = begin; first < end; first += t->tile) {
        int64_t rows = end - first < t->tile ? end - first : t->tile;
        const float *dg = (const float *)call->grad_out[0].data + first * D;
        tile_grad_f32(job, &w, first, rows, doffset);
        if (dw) {
            asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                     .packs = asc_packs(call->ctx),
                                     .ta = true,
                                     .tb = true,
                                     .m = D,
                                     .n = P,
                                     .k = rows,
                                     .alpha = job->scale,
                                     .a = dg,
                                     .lda = D,
                                     .b = w.tile,
                                     .ldb = t->tile + S,
                                     .beta = first > begin,
                                     .c = dw,
                                     .ldc = P});
        }
        for (int64_t i = 0; i < rows && db; i++) {
            asc_kernels_f32()->axpy(db, (float)w.total[i], dg + i * D, D);
        }
    }
}

void asc_put_rows_f32(float *dx, int64_t ld, const double *strip, int64_t n, int lanes, bool fresh)
{
    for (int l = 0; l < lanes; l++) {
        for (int64_t i = 0; i < n; i++) {
            float g = (float)strip[i * S + l];
            dx[l * ld + i] = fresh ? g : dx[l * ld + i] + g;
        }
    }
}

/* A strip of rows: their own part, then those of the tokens that they stand at a shift from. */
void asc_grassmann_gather_others_f32(void *arg, int64_t piece, int worker)
{
    const asc_grassmann_job *job = arg;
    asc_call *call = job->call;
    asc_grassmann_worker w = asc_grassmann_worker_of(job, worker);
    int64_t n = job->width, rows = job->B * job->N, row = piece * S;
    int lanes = rows - row < S ? (int)(rows - row) : S;
    double mask[S];
    for (int64_t group = 0; group < job->G; group++) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(w.du + i * S, asc_own_at(job, group, row) + i * job->own.ld, S * sizeof *w.du);
        }
        for (int p = 0; p < job->shifts; p++) {
            int64_t from = row - job->shift[p];
            if (from <= -S || from >= rows) {
                continue;
            }
            find_tokens(job, row, job->shift[p], mask);
            asc_kernels_f64()->strip_load(w.y, asc_others_at(job, p, group, from), job->others.ld, mask, n);
            asc_kernels_f64()->acc(w.du, w.y, n * S);
        }
        asc_put_rows_f32((float *)call->grad_in[ASC_GRASSMANN_Z].data + row * job->r + group * n, job->r, w.du, n,
                         lanes, call->fresh[ASC_GRASSMANN_Z]);
    }
}

/* ---- end of float ---- */
#include "ops/grassmann/tiles.f64.h"
