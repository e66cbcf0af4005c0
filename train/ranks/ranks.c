/* train/ranks/ranks.c: a training on several ranks. Rank 0 runs it as if it were alone; what the others have to do it
 * tells them, a command at a time: to take a step with it, to hand over what their shards carry, that it is over. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "tensor/comm.h"
#include "train/ranks/ranks.h"

/* ---- the same work everywhere ---- */

enum { BUILD = 600 };

/* What ranks must agree in. */
typedef struct identity {
    int64_t ranks;
    char build[BUILD];
    uint32_t settings, train, valid, vocabulary, encoder;
} identity;

static uint32_t sum_text(uint32_t sum, const char *text)
{
    return (uint32_t)crc32(sum, (const unsigned char *)text, (unsigned)strlen(text));
}

/* A setting that changes no result, or says where to find what rank 0 sends. */
static bool is_own(const asc_trainer *t, const char *key)
{
    static const char *const own[] = {"data",    "tokenizer",   "threads", "cache",
                                      "encoder", "tensorboard", "minutes", NULL};
    int i = t->sends_data ? 0 : 2;
    while (own[i] && strcmp(own[i], key) != 0) {
        i++;
    }
    return own[i] != NULL;
}

/* Of all others. */
static uint32_t sum_settings(const asc_trainer *t)
{
    uint32_t sum = sum_text(0, asc_lm_config(t->lm));
    for (const asc_setting *row = asc_train_settings; row->key; row++) {
        json_t *value = is_own(t, row->key) ? NULL : asc_setting_json(row, &t->settings->values);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
        sum = text ? sum_text(sum, text) : sum;
        asc_text_drop(text);
        json_decref(value);
    }
    return sum;
}

static identity identify(const asc_trainer *t)
{
    identity own = {.ranks = asc_comm_size(t->ctx)};
    if (!asc_error(t->ctx)) {
        char vocabulary[9] = "";
        asc_build_describe(t->ctx, own.build, sizeof own.build);
        asc_vocab_checksum(t->tokenizer, vocabulary);
        own.settings = sum_settings(t);
        own.train = t->train->checksum;
        own.valid = t->valid->checksum;
        own.vocabulary = sum_text(0, vocabulary);
        own.encoder = t->encoder && !t->sends_data ? sum_text(0, asc_encoder_fingerprint(t->encoder)) : 0;
    }
    return own;
}

/* How many bytes of words two texts begin with alike. */
static size_t begin_alike(const char *a, const char *b)
{
    size_t words = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
        words = a[i] == ' ' ? i + 1 : words;
    }
    return words;
}

static void compare(asc_trainer *t, const identity *own, const identity *first)
{
    if (strcmp(own->build, first->build) != 0 && !t->ctx->comm.mixed) {
        const char *ours = own->build, *theirs = first->build;
        size_t same = begin_alike(ours, theirs);
        asc_fail(t->ctx, ASC_ERR_IO, "is another build, BLAS, processor or precision than rank 0, and can't compute "
                 "the same bits: %.120s, expected %.120s", ours + same, theirs + same);
    } else if (own->train != first->train || own->valid != first->valid || own->vocabulary != first->vocabulary) {
        asc_fail(t->ctx, ASC_ERR_IO, "its data or vocabulary are not those of rank 0");
    } else if (own->encoder != first->encoder) {
        asc_fail(t->ctx, ASC_ERR_IO, "its encoder is not that of rank 0");
    } else if (own->settings != first->settings) {
        asc_fail(t->ctx, ASC_ERR_IO, "its settings are not those of rank 0");
    }
}

asc_status asc_ranks_agree_on_work(asc_trainer *t)
{
    if (asc_comm_size(t->ctx) == 1) {
        return asc_error(t->ctx);
    }
    if (asc_comm_agree(t->ctx)) { /* who has no data yet can't be compared */
        return asc_error(t->ctx);
    }
    identity own = identify(t), first = own;
    asc_comm_broadcast(t->ctx, &first, sizeof first);
    if (!asc_error(t->ctx)) {
        compare(t, &own, &first);
    }
    return asc_comm_agree(t->ctx);
}

/* ---- what shards carry ---- */

typedef struct tensor_head {
    char name[160];
    int32_t dtype, ndim;
    int64_t shape[ASC_MAX_DIMS];
} tensor_head;

static size_t bytes_of(asc_tensor tensor)
{
    return (size_t)asc_numel(tensor) * asc_dtype_size(asc_dtype_of(tensor));
}

/* Their numbers go once the other has room for them. With an error here it is told so, by -1. */
static void send_params(asc_ctx *ctx, int to, const asc_params *params)
{
    int32_t n = asc_error(ctx) ? -1 : asc_params_count(params), ready = 0;
    asc_comm_send(ctx, to, &n, sizeof n);
    for (int i = 0; i < n && !asc_comm_lost(ctx); i++) {
        asc_array a = asc_array_of(asc_params_at(params, i));
        tensor_head head = {.dtype = a.dtype, .ndim = a.ndim};
        snprintf(head.name, sizeof head.name, "%s", asc_params_name(params, i));
        memcpy(head.shape, a.shape, (size_t)a.ndim * sizeof *a.shape);
        asc_comm_send(ctx, to, &head, sizeof head);
    }
    asc_comm_receive(ctx, to, &ready, sizeof ready);
    for (int i = 0; i < n && ready && !asc_comm_lost(ctx); i++) {
        asc_comm_send(ctx, to, asc_data(asc_params_at(params, i)), bytes_of(asc_params_at(params, i)));
    }
}

/* Whether all have come. With an error here what is sent is heard all the same: who sends must not wait. */
static bool receive_params(asc_ctx *ctx, int from, asc_params *params)
{
    int32_t n = 0;
    asc_comm_receive(ctx, from, &n, sizeof n);
    for (int i = 0; i < n && !asc_comm_lost(ctx); i++) {
        tensor_head head;
        asc_comm_receive(ctx, from, &head, sizeof head);
        if (!asc_error(ctx)) {
            asc_params_add(params, head.name, asc_empty(ctx, (asc_dtype)head.dtype, head.ndim, head.shape), false);
        }
    }
    int32_t ready = !asc_error(ctx);
    asc_comm_send(ctx, from, &ready, sizeof ready);
    for (int i = 0; i < n && ready && !asc_comm_lost(ctx); i++) {
        asc_comm_receive(ctx, from, asc_data_mut(asc_params_at(params, i)), bytes_of(asc_params_at(params, i)));
    }
    return n >= 0 && !asc_error(ctx);
}

/* What a shard's stream carries goes from one rank to another. */
static void move_stream(asc_trainer *t, int64_t i, int from, int to)
{
    int rank = asc_comm_rank(t->ctx);
    int64_t tokens, rows = asc_streams_rows(t, i, &tokens);
    if (rows == 0 || from == to || (rank != from && rank != to)) {
        return;
    }
    asc_scope_begin(t->ctx);
    asc_params *of_one = asc_params_new(t->ctx);
    if (rank == from) {
        asc_lm_carried_save(t->streams[i], of_one);
        send_params(t->ctx, to, of_one);
    } else if (receive_params(t->ctx, from, of_one)) {
        asc_lm_carried_load(t->streams[i], of_one, rows, tokens);
    }
    asc_params_free(of_one);
    asc_scope_end(t->ctx);
}

void asc_ranks_move_streams(asc_trainer *t, bool gather)
{
    int64_t shards = asc_stepper_shards(&t->stepper), each = shards / asc_comm_size(t->ctx);
    for (int64_t i = 0; t->streams && i < asc_trainer_streams(t); i++) {
        int owner = (int)(i % shards / each);
        move_stream(t, i, gather ? owner : 0, gather ? 0 : owner);
    }
}

/* ---- commands ---- */

void asc_ranks_tell(asc_trainer *t, asc_rank_command c)
{
    if (asc_comm_size(t->ctx) > 1 && asc_comm_rank(t->ctx) == 0 && !asc_comm_lost(t->ctx)) {
        asc_comm_broadcast(t->ctx, &c, sizeof c);
        t->told_s = asc_clock();
    }
}

void asc_ranks_step(asc_trainer *t)
{
    asc_ranks_tell(t, (asc_rank_command){.order = ASC_RANK_STEP, .step = t->state.step});
    t->with_others = true;
}

void asc_ranks_step_done(asc_trainer *t)
{
    t->with_others = false;
}

void asc_ranks_alive(asc_trainer *t)
{
    enum { EVERY_S = 1 };
    if (!t->with_others && t->running && asc_clock() - t->told_s > EVERY_S) {
        asc_ranks_tell(t, (asc_rank_command){.order = ASC_RANK_ALIVE});
    }
}

void asc_ranks_gather(asc_trainer *t)
{
    if (t->streams && asc_comm_size(t->ctx) > 1) {
        asc_ranks_tell(t, (asc_rank_command){.order = ASC_RANK_GATHER, .step = t->state.step});
        asc_ranks_move_streams(t, true);
    }
}

void asc_ranks_end(asc_trainer *t)
{
    if (t->running) {
        asc_ranks_tell(t, (asc_rank_command){.order = ASC_RANK_END, .verdict = asc_verdict_of(t->ctx),
                                           .reported = t->reported, .result = t->result});
        t->running = false;
    }
}
