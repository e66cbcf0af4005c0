/* train/encoder/features_part.c: a part of features: cut, read, computed, written. Its file is NNNNN.safetensors, with
 * the tensor "rows" [rows, E], the key and the number of the part in its metadata, and the checksums of
 * ascgrad/safetensors.h. */
#include "train/encoder/features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/safetensors.h"
#include "tensor/ctx.h"
#include "train/path.h"

/* A part has at least so many bytes, but for the last, and there are at most about so many: each keeps its file open,
 * and what a kill costs is one. */
enum { PART_BYTES = 1 << 20, PARTS = 128 };

#define FORMAT "ascgrad features 1"

/* ---- cutting ---- */

static int64_t length_of(const asc_features_work *w, int64_t d)
{
    return asc_sentence_length(w->s, asc_distinct(&w->order, d));
}

static int64_t rows_of(const asc_features_work *w, int64_t d)
{
    return asc_pooled_rows(&w->options.pooling, length_of(w, d), w->s->seconds[asc_distinct(&w->order, d)]);
}

static asc_features_part *add_part(asc_features *f, int64_t from)
{
    if (f->parts == f->capacity) {
        int64_t capacity = f->capacity ? 2 * f->capacity : 16;
        asc_features_part *more = asc_alloc(f->ctx, (size_t)capacity * sizeof *more);
        if (!more) {
            return NULL;
        }
        if (f->parts > 0) {
            memcpy(more, f->part, (size_t)f->parts * sizeof *more);
        }
        asc_free(f->ctx, f->part, (size_t)f->capacity * sizeof *more);
        f->part = more;
        f->capacity = capacity;
    }
    asc_features_part *part = &f->part[f->parts++];
    *part = (asc_features_part){.from = from, .to = from};
    return part;
}

/* Places for the sentences that are the same as distinct sentence d. */
static void place(asc_features_work *w, int64_t d, int64_t rows)
{
    asc_features *f = w->f;
    asc_features_part *part = &f->part[f->parts - 1];
    int64_t second = w->s->seconds[asc_distinct(&w->order, d)];
    bool by_text = w->options.pooling.by_text && w->options.pooling.kind == ASC_POOLING_WINDOWS;
    int64_t first = by_text ? asc_pooling_rows(&w->options.pooling, second) : rows;
    for (int64_t k = w->order.starts[d]; k < w->order.starts[d + 1]; k++) {
        f->place[w->order.at[k]] =
            (asc_features_place){part->rows, (int32_t)(f->parts - 1), (int32_t)rows, (int32_t)first};
    }
    part->rows += rows;
    part->to = d + 1;
    f->most_rows = rows > f->most_rows ? rows : f->most_rows;
    w->tokens += length_of(w, d);
}

asc_status asc_features_cut(asc_features_work *w)
{
    asc_features *f = w->f;
    f->place = asc_alloc(f->ctx, (size_t)f->n * sizeof *f->place);
    if (!f->place) {
        return ASC_ERR_MEMORY;
    }
    int64_t all = 0, row_bytes = f->dim * (int64_t)sizeof(float);
    for (int64_t d = 0; d < w->order.n; d++) {
        all += rows_of(w, d);
    }
    int64_t most = all / PARTS * row_bytes > PART_BYTES ? all / PARTS : (PART_BYTES - 1) / row_bytes + 1;
    for (int64_t d = 0; d < w->order.n; d++) {
        if ((f->parts == 0 || f->part[f->parts - 1].rows >= most) && !add_part(f, d)) {
            return ASC_ERR_MEMORY;
        }
        place(w, d, rows_of(w, d));
    }
    return ASC_OK;
}

/* ---- what is told ---- */

void asc_features_say(const asc_features_work *w, const char *text)
{
    if (w->options.say) {
        w->options.say(w->options.user, text);
    }
}

void asc_features_excuse(asc_features_work *w, const char *after)
{
    asc_ctx *ctx = w->f->ctx;
    if (asc_error(ctx) == ASC_ERR_IO || asc_error(ctx) == ASC_ERR_FORMAT) {
        char text[1200];
        snprintf(text, sizeof text, "%s; %s", asc_error_message(ctx), after ? after : "");
        asc_error_clear(ctx);
        if (after) {
            asc_features_say(w, text);
        }
    }
}

static void tell_progress(asc_features_work *w)
{
    double now = asc_clock();
    if (w->options.progress && now - w->told_s >= 0.1) {
        w->told_s = now;
        w->options.progress(w->options.user, (double)w->done / (double)w->tokens);
    }
}

/* ---- files ---- */

char *asc_features_path(const asc_features_work *w, int64_t i, const char *ending)
{
    char name[40];
    snprintf(name, sizeof name, "%05lld%s", (long long)i, ending);
    return asc_path_join(w->f->ctx, w->folder, name);
}

/* What a part's file says that it is of. */
static void sign(const asc_features_work *w, int64_t i, char text[160])
{
    snprintf(text, 160, "%s %lld/%lld", w->key, (long long)i, (long long)w->f->parts);
}

static bool says(const asc_safetensors *file, const char *key, const char *value)
{
    const char *found = asc_safetensors_metadata(file, key);
    return found && strcmp(found, value) == 0;
}

/* Whether it is the part's, and whole: all of it is read once. */
static asc_status check_file(const asc_features_work *w, int64_t i, const asc_safetensors *file, const char *path)
{
    const asc_safetensors_entry *rows = asc_safetensors_find(file, "rows");
    char signature[160];
    sign(w, i, signature);
    if (!rows || rows->ndim != 2 || rows->shape[0] != w->f->part[i].rows || rows->shape[1] != w->f->dim ||
        strcmp(rows->stored, "F32") != 0 || !says(file, "format", FORMAT) || !says(file, "part", signature) ||
        !asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC)) {
        return asc_fail(w->f->ctx, ASC_ERR_FORMAT, "%s: holds other features", path);
    }
    asc_tensor values = asc_safetensors_read(w->f->ctx, file, "rows", ASC_F32);
    asc_release(values);
    return asc_error(w->f->ctx);
}

asc_status asc_features_load(asc_features_work *w, int64_t i, bool tell, bool *there)
{
    asc_features_part *part = &w->f->part[i];
    char *path = asc_features_path(w, i, ".safetensors");
    *there = false;
    if (path && asc_path_exists(path)) {
        asc_safetensors *file = asc_safetensors_open(w->f->ctx, path);
        if (file && !check_file(w, i, file, path)) {
            part->file = file;
            part->offset = asc_safetensors_find(file, "rows")->offset;
            *there = true;
        } else {
            asc_safetensors_close(file);
        }
        asc_features_excuse(w, tell ? "its features are computed again" : NULL);
    }
    asc_path_free(w->f->ctx, path);
    return asc_error(w->f->ctx);
}

int64_t asc_features_tokens(const asc_features_work *w, int64_t i)
{
    int64_t tokens = 0;
    for (int64_t d = w->f->part[i].from; d < w->f->part[i].to; d++) {
        tokens += length_of(w, d);
    }
    return tokens;
}

static void released(void *user, void *data)
{
    (void)user;
    (void)data;
}

static asc_status write_file(const asc_features_work *w, int64_t i, const char *path)
{
    asc_ctx *ctx = w->f->ctx;
    asc_features_part *part = &w->f->part[i];
    char signature[160];
    sign(w, i, signature);
    const asc_safetensors_pair pairs[] = {{"format", FORMAT}, {"part", signature}, {ASC_SAFETENSORS_CRC, ""}};
    asc_tensor rows = asc_wrap(ctx, ASC_F32, part->held, ASC_SHAPE(part->rows, w->f->dim), NULL, released, NULL);
    if (!asc_is_null(rows)) {
        asc_safetensors_write(ctx, path, &(asc_named_tensor){"rows", rows}, 1, pairs, 3);
    }
    asc_release(rows);
    return asc_error(ctx);
}

/* ---- computing ---- */

typedef struct taker {
    asc_features_work *w;
    asc_features_part *part;
    int64_t row; /* the next one */
} taker;

static asc_status take(void *user, int64_t d, int64_t n, const float *rows)
{
    taker *t = user;
    int64_t E = t->w->f->dim;
    memcpy(t->part->held + t->row * E, rows, (size_t)(n * E) * sizeof *rows);
    t->row += n;
    t->w->done += length_of(t->w, d);
    tell_progress(t->w);
    return ASC_OK;
}

static size_t held_bytes(const asc_features *f, const asc_features_part *part)
{
    return (size_t)(part->rows * f->dim) * sizeof(float);
}

static void let_go(asc_features *f, asc_features_part *part)
{
    asc_free(f->ctx, part->held, held_bytes(f, part));
    part->held = NULL;
}

/* Moves what was computed to its file; without one it stays. */
static asc_status put_by(asc_features_work *w, int64_t i)
{
    char *path = asc_features_path(w, i, ".safetensors");
    bool there = false;
    if (path && !write_file(w, i, path)) {
        asc_features_load(w, i, true, &there);
    }
    if (there) {
        let_go(w->f, &w->f->part[i]);
    } else if (path) {
        asc_features_excuse(w, "features are held in memory");
        asc_path_free(w->f->ctx, w->folder);
        w->folder = NULL;
    }
    asc_path_free(w->f->ctx, path);
    return asc_error(w->f->ctx);
}

asc_status asc_features_compute(asc_features_work *w, int64_t i)
{
    asc_features *f = w->f;
    asc_features_part *part = &f->part[i];
    taker t = {w, part, 0};
    part->held = asc_alloc(f->ctx, held_bytes(f, part));
    if (!part->held) {
        return ASC_ERR_MEMORY;
    }
    asc_status status = asc_encode_distinct(w->e, w->s, &w->order, part->from, part->to, &w->options.pooling, take, &t);
    if (status) {
        let_go(f, part);
        return status;
    }
    return w->folder ? put_by(w, i) : ASC_OK;
}
