/* train/generate/text.c: continuing a text by text, up to where it is to stop. */
#include <string.h>

#include <ascgrad/train.h>

#include "data/utf8.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* What is written and not yet given away: it may be the beginning of a stop. */
typedef struct page {
    asc_ctx *ctx;
    const asc_writing *writing;
    asc_decoder *decoder;
    asc_written written;
    void *held; /* char */
    size_t n, capacity;
    bool over;
} page;

static void end(page *p, asc_writing_end why)
{
    if (!p->over) {
        p->over = true;
        p->written.end = why;
    }
}

/* Gives the first n bytes away. */
static void give(page *p, size_t n)
{
    if (n == 0) {
        return;
    }
    if (p->writing->text && !p->writing->text(p->writing->user, p->held, n)) {
        end(p, ASC_WRITING_END_REFUSED);
    }
    memmove(p->held, (char *)p->held + n, p->n - n);
    p->n -= n;
}

/* The length of the longest stop, or with `begun` of the longest beginning of one, that the held text ends in. */
static size_t ending(const page *p, bool begun)
{
    size_t longest = 0;
    const char *const *stop = p->writing->stop;
    for (; stop && *stop; stop++) {
        size_t whole = strlen(*stop), most = begun ? whole - 1 : whole, least = begun ? 1 : whole;
        for (size_t n = most < p->n ? most : p->n; n >= least && n > longest; n--) {
            if (memcmp((char *)p->held + p->n - n, *stop, n) == 0) {
                longest = n;
            }
        }
    }
    return longest;
}

/* Byte by byte, so that it does not matter where tokens end. */
static void put(page *p, const char *text, size_t n)
{
    for (size_t i = 0; i < n && !p->over; i++) {
        if (!asc_grow(p->ctx, &p->held, &p->capacity, p->n + 1, 1)) {
            return;
        }
        ((char *)p->held)[p->n++] = text[i];
        size_t stop = ending(p, false);
        if (stop > 0) {
            give(p, p->n - stop);
            end(p, ASC_WRITING_END_STOP);
        }
    }
    if (!p->over) {
        give(p, p->n - ending(p, true));
    }
}

static bool on_token(void *user, int32_t id)
{
    page *p = user;
    size_t n;
    p->written.tokens++;
    if (p->writing->token && !p->writing->token(p->writing->user, id)) {
        end(p, ASC_WRITING_END_REFUSED);
        return false;
    }
    const char *text = asc_decoder_next(p->decoder, id, &n);
    if (text) {
        put(p, text, n);
    }
    return !p->over && asc_error(p->ctx) == ASC_OK;
}

/* The decoder knows what stands before: the space before the first word depends on it. */
static void read_prompt(page *p, const asc_ids *ids)
{
    size_t n;
    for (size_t i = 0; p->decoder && i < ids->n; i++) {
        asc_decoder_next(p->decoder, ids->data[i], &n);
    }
}

static void write_page(page *p, const asc_model *model, const asc_ids *ids)
{
    const asc_writing *w = p->writing;
    size_t n;
    if (asc_generate(p->ctx, model, ids->data, (int64_t)ids->n, w->tokens, &w->sampling, on_token, p) || p->over) {
        return;
    }
    const char *rest = asc_decoder_end(p->decoder, &n);
    if (rest) {
        put(p, rest, n);
    }
    if (!p->over && asc_error(p->ctx) == ASC_OK) {
        give(p, p->n);
    }
}

static asc_status check_stops(asc_ctx *ctx, const asc_writing *w)
{
    for (int i = 0; w->stop && w->stop[i]; i++) {
        size_t n = strlen(w->stop[i]);
        if (n == 0 || asc_utf8_check(w->stop[i], n) != n) {
            return asc_fail_on(ctx, ASC_ERR_ARG, "stop", ": got '%s', expected a text in UTF-8",
                               n == 0 ? "" : "bytes that are none");
        }
    }
    return ASC_OK;
}

asc_status asc_generate_text(asc_ctx *ctx, const asc_model *model, const char *prompt, size_t n,
                             const asc_writing *writing, asc_written *written)
{
    asc_status status = ASC_NEED(ctx, "generate_text: model model->tokenizer prompt writing", model,
                                 model ? model->tokenizer : NULL, asc_unless_empty(prompt, (int64_t)n), writing);
    if (status || (status = check_stops(ctx, writing))) {
        return status;
    }
    double start = asc_clock();
    page p = {.ctx = ctx, .writing = writing};
    asc_ids ids = {0};
    if (asc_tokenizer_encode(model->tokenizer, n > 0 ? prompt : "", n, 0, &ids) == ASC_OK) {
        p.decoder = asc_decoder_new(model->tokenizer);
        read_prompt(&p, &ids);
        if (asc_error(ctx) == ASC_OK) {
            write_page(&p, model, &ids);
        }
    }
    asc_decoder_free(p.decoder);
    asc_free(ctx, p.held, p.capacity);
    asc_ids_free(ctx, &ids);
    p.written.seconds = asc_clock() - start;
    if (written) {
        *written = p.written;
    }
    return asc_error(ctx);
}
