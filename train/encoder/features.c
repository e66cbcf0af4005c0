/* train/encoder/features.c: features of a list of sentences, from a cache or computed.
 *
 * Who builds them goes through the parts that are not there, and claims one after the other (train/run/claim.h). A part
 * that another process has claimed is passed over, and looked at again later: it is there then, or its process is dead
 * and the claim is taken over. So several share the work, and a kill costs the part that was under way. */
#include "train/encoder/features.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "data/byte_order.h"
#include "data/safetensors.h"
#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/run/claim.h"
#include "train/path.h"

enum { PAUSE_MS = 200 };

/* ---- the cache ---- */

/* By encoder, pooling and tokens: what the features follow from. */
static void make_key(asc_features_work *w)
{
    const asc_pooling_options *p = &w->options.pooling;
    uint32_t crc = 0;
    for (int64_t d = 0; d < w->order.n; d++) {
        int64_t i = asc_distinct(&w->order, d), length = asc_sentence_length(w->s, i);
        const int64_t head[] = {length, w->s->seconds[i]};
        const int32_t *ids = w->s->ids.data + asc_sentence_begin(w->s, i);
        crc = asc_file_crc(crc, head, sizeof head / sizeof *head, sizeof *head);
        crc = asc_file_crc(crc, ids, (size_t)length, sizeof *ids);
    }
    char window[64] = "";
    if (p->kind == ASC_POOLING_WINDOWS) {
        snprintf(window, sizeof window, "-%" PRId64 "-%" PRId64 "%s", p->window, p->stride,
                 p->by_text ? "-by-text" : "");
    }
    snprintf(w->key, sizeof w->key, "%s-%s%s-%08" PRIx32 "-%" PRId64 "-%" PRId64, asc_encoder_fingerprint(w->e),
             asc_pooling_name(p->kind), window, crc, w->order.n, w->tokens);
}

/* Where the cache can't have a folder all is held in memory. */
static asc_status make_folder(asc_features_work *w)
{
    asc_ctx *ctx = w->f->ctx;
    char name[sizeof w->key + 16];
    if (!w->options.cache || !*w->options.cache) {
        return ASC_OK;
    }
    snprintf(name, sizeof name, "%s.features", w->key);
    w->folder = asc_path_join(ctx, w->options.cache, name);
    if (w->folder) {
        asc_path_make_parents(w->folder);
        mkdir(w->folder, 0777); /* if it fails, so will the first claim, which is told */
    }
    return asc_error(ctx);
}

/* ---- building ---- */

typedef enum outcome { READY, BUSY, FAILED } outcome;

/* Computes a part that is this process's alone. */
static outcome compute(asc_features_work *w, int64_t i)
{
    return asc_features_compute(w, i) ? FAILED : READY;
}

/* Part i is read, or claimed and computed; BUSY: another process, *other, computes it. */
static outcome work_on(asc_features_work *w, int64_t i, asc_claim_holder *other)
{
    bool there = false;
    asc_claim *claim = NULL;
    if (!w->folder) {
        return compute(w, i);
    }
    if (asc_features_load(w, i, false, &there)) {
        return FAILED;
    }
    if (there) {
        w->done += asc_features_tokens(w, i);
        return READY;
    }
    char *path = asc_features_path(w, i, ".claim");
    if (path && !asc_claim_take(w->f->ctx, path, &claim, other) && claim) {
        asc_features_load(w, i, true, &there); /* its last holder may have just written it */
    }
    asc_path_free(w->f->ctx, path);
    if (!claim && asc_error(w->f->ctx)) {
        asc_features_excuse(w, "features are held in memory");
        asc_path_free(w->f->ctx, w->folder);
        w->folder = NULL;
        return asc_error(w->f->ctx) ? FAILED : compute(w, i);
    }
    if (!claim) {
        return BUSY;
    }
    w->done += there ? asc_features_tokens(w, i) : 0;
    outcome got = asc_error(w->f->ctx) ? FAILED : there ? READY : compute(w, i);
    asc_claim_drop(claim);
    return got;
}

static bool is_ready(const asc_features_part *part)
{
    return part->file || part->held;
}

/* Waits a moment for other processes. */
static asc_status pause_for(asc_features_work *w, const asc_claim_holder *other, bool *told)
{
    asc_ctx *ctx = w->f->ctx;
    if (!*told) {
        char text[240];
        snprintf(text, sizeof text, "waiting for process %lld on %s, which computes the last of these features",
                 other->pid, *other->host ? other->host : "another host");
        asc_features_say(w, text);
        *told = true;
    }
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    return asc_interrupted(ctx) ? asc_fail(ctx, ASC_ERR_INTERRUPTED, "interrupted") : ASC_OK;
}

static asc_status build(asc_features_work *w)
{
    asc_features *f = w->f;
    bool told = false;
    for (;;) {
        int64_t busy = 0;
        asc_claim_holder other;
        for (int64_t i = 0; i < f->parts; i++) {
            outcome got = is_ready(&f->part[i]) ? READY : work_on(w, i, &other);
            if (got == FAILED) {
                return asc_error(f->ctx);
            }
            busy += got == BUSY;
        }
        if (busy == 0) {
            return ASC_OK;
        }
        if (pause_for(w, &other, &told)) {
            return asc_error(f->ctx);
        }
    }
}

/* ---- opening ---- */

static asc_status open_features(asc_features_work *w)
{
    asc_status status = asc_sentence_order_make(w->s, &w->order);
    if (status || (status = asc_features_cut(w))) {
        return status;
    }
    make_key(w);
    status = make_folder(w);
    return status ? status : build(w);
}

asc_features *asc_features_open(asc_encoder *e, const asc_sentences *s, const asc_features_options *options)
{
    asc_ctx *ctx = e ? e->ctx : s ? s->ctx : NULL;
    static const asc_features_options defaults = {.pooling = {ASC_POOLING_MEAN, 0, 0, false}};
    asc_features_work w = {.e = e, .s = s, .options = options ? *options : defaults};
    if (ASC_NEED(ctx, "features_open: encoder sentences", e, s) || asc_error(ctx) ||
        asc_encode_check(e, s, &w.options.pooling)) {
        return NULL;
    }
    asc_features *f = w.f = asc_alloc(ctx, sizeof *f);
    if (!f) {
        return NULL;
    }
    *f = (asc_features){.ctx = ctx, .n = s->n, .dim = e->net.dim};
    if (open_features(&w)) {
        asc_features_free(f);
        f = NULL;
    }
    asc_sentence_order_free(ctx, &w.order);
    asc_path_free(ctx, w.folder);
    return f;
}

void asc_features_free(asc_features *f)
{
    if (!f) {
        return;
    }
    for (int64_t i = 0; i < f->parts; i++) {
        asc_safetensors_close(f->part[i].file);
        asc_free(f->ctx, f->part[i].held, (size_t)(f->part[i].rows * f->dim) * sizeof(float));
    }
    asc_free(f->ctx, f->part, (size_t)f->capacity * sizeof *f->part);
    asc_free(f->ctx, f->place, (size_t)f->n * sizeof *f->place);
    asc_free(f->ctx, f, sizeof *f);
}

/* ---- reading ---- */

static bool has(const asc_features *f, int64_t i)
{
    return f && i >= 0 && i < f->n;
}

int64_t asc_features_count(const asc_features *f)
{
    return f ? f->n : 0;
}

int64_t asc_features_dim(const asc_features *f)
{
    return f ? f->dim : 0;
}

int64_t asc_features_rows(const asc_features *f, int64_t i)
{
    return has(f, i) ? f->place[i].rows : 0;
}

int64_t asc_features_first_rows(const asc_features *f, int64_t i)
{
    return has(f, i) ? f->place[i].first : 0;
}

int64_t asc_features_most_rows(const asc_features *f)
{
    return f ? f->most_rows : 0;
}

asc_status asc_features_read(const asc_features *f, int64_t i, float *rows)
{
    asc_status status = ASC_NEED(f ? f->ctx : NULL, "features_read: features rows", f, rows);
    if (status) {
        return status;
    }
    if (!has(f, i)) {
        return asc_fail(f->ctx, ASC_ERR_ARG, "features_read: there is no sentence %lld of %lld", (long long)i,
                        (long long)f->n);
    }
    const asc_features_place *place = &f->place[i];
    const asc_features_part *part = &f->part[place->part];
    int64_t at = place->row * f->dim, n = place->rows * f->dim, size = (int64_t)sizeof *rows;
    if (part->file) {
        status = asc_safetensors_fetch(part->file, rows, n * size, part->offset + at * size);
        asc_file_order(rows, status ? 0 : (size_t)n, sizeof *rows);
        return status;
    }
    memcpy(rows, part->held + at, (size_t)(n * size));
    return ASC_OK;
}

asc_status asc_features_fill(const asc_features *f, const int64_t *which, int64_t n, int64_t W, float *rows,
                             int64_t *lengths)
{
    asc_status status = ASC_NEED(f ? f->ctx : NULL, "features_fill: features which rows lengths", f,
                                 asc_unless_empty(which, n), asc_unless_empty(rows, n), asc_unless_empty(lengths, n));
    for (int64_t b = 0; b < n && !status; b++) {
        int64_t own = asc_features_rows(f, which[b]);
        float *to = rows + b * W * f->dim;
        if (own > W) {
            return asc_fail(f->ctx, ASC_ERR_ARG, "features_fill: sentence %lld has %lld rows, expected at most %lld",
                            (long long)which[b], (long long)own, (long long)W);
        }
        status = asc_features_read(f, which[b], to);
        memset(to + own * f->dim, 0, (size_t)((W - own) * f->dim) * sizeof *to);
        lengths[b] = own;
    }
    return status;
}

/* ---- the place of caches ---- */

size_t asc_cache_home(char *path, size_t bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache && *cache == '/';
    bool none = !own && !(home && *home == '/');
    int n = none ? snprintf(path, path ? bytes : 0, "%s", "")
                 : snprintf(path, path ? bytes : 0, "%s%s", own ? cache : home, own ? "/ascgrad" : "/.cache/ascgrad");
    return n > 0 ? (size_t)n : 0;
}
