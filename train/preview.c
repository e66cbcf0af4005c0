/* train/preview.c: how the model writes while it is trained. The draws have a seed of their own, dropout is set anew by
 * the next step, and nothing else is touched: the model stays the same to the bit. */
#include <stdio.h>
#include <stdlib.h>

#include "train/trainer.h"

enum { PROMPT = 16, WRITTEN = 48 }; /* tokens */

typedef struct writer {
    asc_decoder *decoder;
    FILE *out;
} writer;

static bool write_token(void *user, int32_t id)
{
    writer *w = user;
    size_t n;
    const char *text = asc_decoder_next(w->decoder, id, &n);
    return text && fwrite(text, 1, n, w->out) == n;
}

static asc_model model_of(const asc_trainer *t)
{
    return (asc_model){.lm = t->lm, .tokenizer = t->tokenizer};
}

asc_status asc_trainer_check_preview(asc_trainer *t)
{
    asc_model model = model_of(t);
    if (t->settings->values.sample_every > 0 && t->hooks.sample &&
        asc_generate(t->ctx, &model, NULL, 0, 0, NULL, write_token, NULL)) {
        asc_error_extend(t->ctx, "sample_every", "");
    }
    return asc_error(t->ctx);
}

/* The beginning of the validation split, or of its first sequence. */
static int64_t prompt_length(const asc_trainer *t)
{
    int64_t n = asc_lm_block(t->lm) / 2 < PROMPT ? asc_lm_block(t->lm) / 2 : PROMPT;
    int64_t all = t->valid->n_sequences > 0 ? t->valid->starts[1] : t->valid->n_tokens;
    return n < all ? n : all;
}

/* The texts, in memory of the C library's. */
static asc_status write_texts(asc_trainer *t, writer *w, char **prompt, char **text)
{
    size_t prompt_bytes, bytes, n_end;
    int64_t n = prompt_length(t);
    asc_model model = model_of(t);
    w->out = open_memstream(prompt, &prompt_bytes);
    for (int64_t i = 0; w->out && i < n; i++) {
        write_token(w, t->valid->tokens[i]);
    }
    bool failed = !w->out || fclose(w->out) != 0;
    w->out = failed ? NULL : open_memstream(text, &bytes);
    if (w->out) {
        asc_sampling sampling = {.temperature = 0.8, .top_p = 1, .seed = (uint64_t)t->settings->values.seed};
        asc_generate(t->ctx, &model, t->valid->tokens, n, WRITTEN, &sampling, write_token, w);
        const char *end = asc_decoder_end(w->decoder, &n_end);
        fwrite(end, 1, n_end, w->out);
        failed = fclose(w->out) != 0;
    }
    return failed || !w->out ? asc_fail(t->ctx, ASC_ERR_MEMORY, "a sample: out of memory") : asc_error(t->ctx);
}

asc_status asc_trainer_preview(asc_trainer *t)
{
    if (!t->hooks.sample) {
        return ASC_OK;
    }
    char *prompt = NULL, *text = NULL;
    writer w = {.decoder = asc_decoder_new(t->tokenizer)};
    asc_trainer_swap_average(t, t->lm);
    asc_status status = w.decoder ? write_texts(t, &w, &prompt, &text) : ASC_ERR_MEMORY;
    asc_trainer_swap_average(t, t->lm);
    if (status == ASC_OK) {
        t->hooks.sample(t->hooks.user, &t->progress, prompt, text);
    }
    free(prompt);
    free(text);
    asc_decoder_free(w.decoder);
    return asc_error(t->ctx);
}
