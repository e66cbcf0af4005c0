/* train/encoder/features_share.c: features that one rank of several has, sent to the others, which hold them in
 * memory. */
#include "data/byte_order.h"
#include "data/safetensors.h"
#include "tensor/comm.h"
#include "tensor/ctx.h"
#include "train/encoder/features.h"

static size_t bytes_of(const asc_features *f, int64_t i)
{
    return (size_t)(f->part[i].rows * f->dim) * sizeof(float);
}

/* Those of rank 0 are there; the others make room: for places and parts, but not yet for rows. NULL: no memory. */
static asc_features *make_room(asc_ctx *ctx, asc_features *own, const asc_features *head)
{
    if (asc_comm_rank(ctx) == 0) {
        return own;
    }
    asc_features *f = asc_alloc(ctx, sizeof *f);
    if (!f) {
        return NULL;
    }
    *f = *head;
    f->ctx = ctx;
    f->parts = 0;
    f->capacity = head->parts;
    f->place = asc_alloc(ctx, (size_t)f->n * sizeof *f->place);
    f->part = f->place ? asc_alloc(ctx, (size_t)f->capacity * sizeof *f->part) : NULL;
    return f;
}

/* The rows of part i, which is the next one; of rank 0 a copy where they lie in a file. */
static float *room_for(asc_features *f, int64_t i)
{
    return f->part[i].held ? f->part[i].held : asc_alloc(f->ctx, bytes_of(f, i));
}

static asc_status share_part(asc_features *f, int64_t i)
{
    asc_ctx *ctx = f->ctx;
    bool leads = asc_comm_rank(ctx) == 0;
    asc_features_part head = f->part[i];
    if (asc_comm_broadcast(ctx, &head, sizeof head)) {
        return asc_error(ctx);
    }
    if (!leads) {
        f->part[i] = (asc_features_part){.from = head.from, .to = head.to, .rows = head.rows};
        f->parts = i + 1;
    }
    asc_features_part *part = &f->part[i];
    float *rows = room_for(f, i);
    if (rows && part->file &&
        asc_safetensors_fetch(part->file, rows, (int64_t)bytes_of(f, i), part->offset) == ASC_OK) {
        asc_file_order(rows, (size_t)(part->rows * f->dim), sizeof *rows);
    }
    if (asc_comm_agree(ctx) == ASC_OK) {
        asc_comm_broadcast(ctx, rows, bytes_of(f, i));
    }
    if (leads && rows != part->held) {
        asc_free(ctx, rows, bytes_of(f, i));
    } else {
        part->held = rows;
    }
    return asc_error(ctx);
}

asc_features *asc_features_share(asc_ctx *ctx, asc_features *own)
{
    asc_features head = {0};
    if (asc_comm_agree(ctx)) {
        return own;
    }
    head = own ? *own : head;
    asc_comm_broadcast(ctx, &head, sizeof head);
    asc_features *f = make_room(ctx, own, &head);
    if (asc_comm_agree(ctx) == ASC_OK) {
        asc_comm_broadcast(ctx, f->place, (size_t)f->n * sizeof *f->place);
    }
    for (int64_t i = 0; i < head.parts && !asc_error(ctx); i++) {
        share_part(f, i);
    }
    return f;
}
