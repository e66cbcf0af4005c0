/* train/generate/generate.c: continuing a text, on a cache of what the layers keep of it. */
#include <string.h>

#include <ascgrad/corpus.h>
#include <ascgrad/train.h>

#include "tensor/need.h"

/* The tokens that the cache holds: kept so that the newest half can be run again when it is full. Of a stream, which
 * never is, those that the cache has yet to see. */
typedef struct writer {
    asc_ctx *ctx;
    asc_lm_cache *cache;
    bool streams;
    int64_t *held;
    int64_t n, capacity, block;
    bool *is_before; /* of each id, whether it stands in … */
    int32_t *before; /* … the ids of prompt and continuation, each once; both NULL where no penalty needs them */
    int64_t n_before, vocab;
} writer;

static void note(writer *w, int64_t id)
{
    if (w->before && id >= 0 && id < w->vocab && !w->is_before[id]) {
        w->is_before[id] = true;
        w->before[w->n_before++] = (int32_t)id;
    }
}

/* Gives the model the tokens held from `from` on, at most a block at a time; the logits after the last. */
static asc_tensor run_held(writer *w, int64_t from)
{
    asc_tensor logits = asc_null();
    for (int64_t n; from < w->n; from += n) {
        n = w->n - from < w->block ? w->n - from : w->block;
        asc_release(logits);
        logits = asc_lm_next(w->cache, w->held + from, n);
    }
    return logits;
}

/* Makes room for one more: the newest half stays. */
static void drop_oldest(writer *w)
{
    int64_t keep = (w->capacity + 1) / 2;
    keep = keep < w->capacity ? keep : w->capacity - 1;
    memmove(w->held, w->held + (w->n - keep), (size_t)keep * sizeof *w->held);
    w->n = keep;
    asc_lm_cache_reset(w->cache);
}

static int64_t draw(writer *w, asc_tensor logits, const asc_sampling *sampling, uint64_t number)
{
    int64_t id = asc_sample_after(w->ctx, logits, w->before, w->n_before, sampling, number);
    note(w, id);
    return id;
}

static asc_status write_tokens(writer *w, int64_t count, const asc_sampling *sampling,
                               bool (*token)(void *user, int32_t id), void *user)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < count; i++) {
        asc_scope_begin(w->ctx);
        asc_tensor logits = run_held(w, seen);
        int64_t id = asc_is_null(logits) ? -1 : draw(w, logits, sampling, (uint64_t)i);
        asc_scope_end(w->ctx);
        if (id < 0 || !token(user, (int32_t)id)) {
            break;
        }
        seen = w->n;
        if (w->streams) {
            w->n = seen = 0;
        } else if (w->n == w->capacity) {
            drop_oldest(w);
            seen = 0;
        }
        w->held[w->n++] = id;
    }
    return asc_error(w->ctx);
}

/* What a text without a prompt goes on from: the end of a line, where the tokenizer has one. */
static int32_t find_line_end(const asc_tokenizer *tokenizer)
{
    int32_t eos = asc_tokenizer_eos(tokenizer), end = eos < 0 ? asc_vocabulary_find(tokenizer, "\n", 1) : eos;
    return end < 0 ? 0 : end;
}

/* The end of the prompt that the cache has room for. */
static void take_prompt(writer *w, const asc_model *model, const int32_t *prompt, int64_t n)
{
    int64_t first = n > w->capacity ? n - w->capacity : 0;
    for (int64_t i = 0; i < n; i++) {
        note(w, prompt[i]);
    }
    for (int64_t i = first; i < n; i++) {
        w->held[w->n++] = prompt[i];
    }
    if (n == 0) {
        w->held[w->n++] = find_line_end(model->tokenizer);
    }
}

/* Room for the tokens that were there before, where the sampling asks for them. */
static asc_status remember(writer *w, const asc_model *model, const asc_sampling *sampling)
{
    if (!sampling || sampling->repeat_penalty == 0 || sampling->repeat_penalty == 1) {
        return ASC_OK;
    }
    w->vocab = asc_lm_vocab(model->lm);
    w->before = asc_alloc(w->ctx, (size_t)w->vocab * sizeof *w->before);
    w->is_before = asc_alloc(w->ctx, (size_t)w->vocab * sizeof *w->is_before);
    if (w->is_before) {
        memset(w->is_before, 0, (size_t)w->vocab * sizeof *w->is_before);
    }
    return asc_error(w->ctx);
}

asc_status asc_generate(asc_ctx *ctx, const asc_model *model, const int32_t *prompt, int64_t n, int64_t count,
                        const asc_sampling *sampling, bool (*token)(void *user, int32_t id), void *user)
{
    asc_status status = ASC_NEED(ctx, "generate: model model->lm prompt sampling token", model,
                                 model ? model->lm : NULL, asc_unless_empty(prompt, n),
                                 asc_unless_empty(sampling, count), (const void *)token);
    if (status) {
        return status;
    }
    if (n < 0 || count < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "generate: %lld tokens to be continued by %lld, expected at least 0",
                        (long long)n, (long long)count);
    }
    writer w = {.ctx = ctx, .streams = asc_lm_streams(model->lm), .block = asc_lm_block(model->lm)};
    w.capacity = !w.streams ? w.block : n > 0 ? n : 1;
    size_t bytes = (size_t)w.capacity * sizeof *w.held;
    bool recording = asc_set_recording(ctx, false);
    asc_lm_set_dropout(model->lm, 0);
    w.cache = asc_lm_cache_new(model->lm, w.streams ? ASC_LM_ENDLESS : w.capacity);
    w.held = asc_alloc(ctx, bytes);
    if (w.cache && w.held && remember(&w, model, sampling) == ASC_OK) {
        take_prompt(&w, model, prompt, n);
        write_tokens(&w, count, sampling, token, user);
    }
    asc_free(ctx, w.before, (size_t)w.vocab * sizeof *w.before);
    asc_free(ctx, w.is_before, (size_t)w.vocab * sizeof *w.is_before);
    asc_free(ctx, w.held, bytes);
    asc_lm_cache_free(w.cache);
    asc_set_recording(ctx, recording);
    return asc_error(ctx);
}
