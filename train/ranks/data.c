/* train/ranks/data.c: data that rank 0 has read, sent to the others: the vocabulary, the splits' tokens, and what the
 * model has from them. Each agrees to have the memory before anything long is sent. */
#include <stdio.h>
#include <string.h>

#include "train/trainer.h"

/* ---- a split ---- */

/* Room for an array that rank 0 has. */
static void *room(asc_ctx *ctx, const void *theirs, size_t bytes)
{
    return theirs && !asc_error(ctx) ? asc_alloc(ctx, bytes) : NULL;
}

/* A split with room for the arrays that rank 0's has. */
static asc_split *make_split(asc_ctx *ctx, const asc_split *head)
{
    asc_split *s = asc_alloc(ctx, sizeof *s);
    if (!s) {
        return NULL;
    }
    size_t sequences = (size_t)head->n_sequences, tokens = (size_t)head->n_tokens;
    *s = *head;
    s->tokens = room(ctx, head->tokens, tokens * sizeof *s->tokens);
    s->given = room(ctx, head->given, tokens);
    s->starts = room(ctx, head->starts, (sequences + 1) * sizeof *s->starts);
    s->labels = room(ctx, head->labels, sequences * sizeof *s->labels);
    s->seconds = room(ctx, head->seconds, sequences * sizeof *s->seconds);
    s->lines = NULL; /* no training has them */
    s->n_lines = 0;
    return s;
}

static void share_array(asc_ctx *ctx, const void *data, size_t bytes)
{
    if (data && !asc_error(ctx)) {
        asc_comm_broadcast(ctx, (void *)data, bytes);
    }
}

static asc_status share_split(asc_ctx *ctx, asc_split **split)
{
    asc_split head = {0};
    head = *split ? **split : head;
    asc_comm_broadcast(ctx, &head, sizeof head);
    if (asc_comm_rank(ctx) > 0 && !asc_error(ctx)) {
        *split = make_split(ctx, &head);
    }
    if (asc_comm_agree(ctx)) {
        return asc_error(ctx);
    }
    const asc_split *s = *split;
    size_t sequences = (size_t)s->n_sequences, tokens = (size_t)s->n_tokens;
    share_array(ctx, s->tokens, tokens * sizeof *s->tokens);
    share_array(ctx, s->given, tokens);
    share_array(ctx, s->starts, (sequences + 1) * sizeof *s->starts);
    share_array(ctx, s->labels, sequences * sizeof *s->labels);
    share_array(ctx, s->seconds, sequences * sizeof *s->seconds);
    return asc_error(ctx);
}

/* ---- the vocabulary ---- */

typedef struct vocabulary {
    char name[80]; /* of the tokenizer */
    size_t bytes, capacity;
} vocabulary;

static asc_status share_tokenizer(asc_trainer *t)
{
    asc_ctx *ctx = t->ctx;
    bool leads = asc_trainer_leads(t);
    vocabulary v = {.bytes = 0};
    char *text = leads ? asc_tokenizer_text(t->tokenizer, &v.bytes, &v.capacity) : NULL;
    snprintf(v.name, sizeof v.name, "%s", leads ? asc_tokenizer_name(t->tokenizer) : "");
    asc_comm_broadcast(ctx, &v, sizeof v);
    if (!leads && !asc_error(ctx)) {
        text = asc_alloc(ctx, v.capacity);
    }
    if (asc_comm_agree(ctx) == ASC_OK && asc_comm_broadcast(ctx, text, v.bytes) == ASC_OK && !leads) {
        t->tokenizer = asc_tokenizer_parse(ctx, v.name, "rank 0's vocabulary", text, v.bytes);
    }
    asc_free(ctx, text, v.capacity);
    return asc_comm_agree(ctx);
}

/* ---- all ---- */

asc_status asc_ranks_share_data(asc_trainer *t)
{
    asc_ctx *ctx = t->ctx;
    if (asc_comm_size(ctx) == 1) {
        return asc_error(ctx);
    }
    int32_t from = (int32_t)t->settings->values.data_from_rank, first = from;
    asc_comm_broadcast(ctx, &first, sizeof first);
    t->sends_data = first >= 0;
    if (from != first && !asc_error(ctx)) {
        asc_fail(ctx, ASC_ERR_IO, "its settings are not those of rank 0: data_from_rank is %d, expected %d", (int)from,
                 (int)first);
    }
    if (!t->sends_data || asc_comm_agree(ctx)) {
        return asc_error(ctx);
    }
    asc_comm_broadcast(ctx, &t->from_data, sizeof t->from_data);
    if (share_tokenizer(t) || share_split(ctx, &t->train)) {
        return asc_error(ctx);
    }
    return share_split(ctx, &t->valid);
}
