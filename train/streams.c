/* train/streams.c: the streams of a training with carried context: row b of the B rows of a step reads so many blocks
 * in order, and what its layers carry goes with it from step to step and, by the checkpoint, to a resumed run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/trainer.h"

asc_status asc_streams_plan(const asc_trainer *t, asc_stage *stage)
{
    int64_t carry = asc_lm_carry(t->lm), rows = stage->sequences;
    if (carry == 0) {
        return ASC_OK;
    }
    if (t->train->n_sequences > 0) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "carry", " is %" PRId64 ", but %s has sequences, none of which goes on "
                           "where another ends: expected 0, or a text", carry, t->settings->values.data);
    }
    if (rows > stage->blocks) {
        return asc_fail_on(t->ctx, ASC_ERR_ARG, "batch",
                           ": with carry each of a step's %" PRId64 " sequences reads a "
                           "stream of its own, and the train split has %" PRId64 " blocks for them",
                           rows, stage->blocks);
    }
    stage->steps = stage->blocks / rows;
    stage->blocks = stage->steps * rows;
    return ASC_OK;
}

asc_lm_carried **asc_carried_new(asc_ctx *ctx, asc_lm *lm, int64_t n)
{
    size_t bytes = (size_t)n * sizeof(asc_lm_carried *);
    asc_lm_carried **list = asc_alloc(ctx, bytes);
    if (!list) {
        return NULL;
    }
    memset(list, 0, bytes);
    for (int64_t i = 0; i < n && !asc_error(ctx); i++) {
        list[i] = asc_lm_carried_new(lm, asc_lm_carry(lm));
    }
    return list;
}

void asc_carried_free(asc_ctx *ctx, asc_lm_carried **list, int64_t n)
{
    for (int64_t i = 0; list && i < n; i++) {
        asc_lm_carried_free(list[i]);
    }
    asc_free(ctx, list, (size_t)n * sizeof(asc_lm_carried *));
}

asc_status asc_streams_open(asc_trainer *t)
{
    if (asc_lm_carry(t->lm) > 0) {
        t->stepper.carried = t->streams = asc_carried_new(t->ctx, t->lm, asc_trainer_streams(t));
    }
    return asc_error(t->ctx);
}

void asc_streams_close(asc_trainer *t)
{
    asc_carried_free(t->ctx, t->streams, asc_trainer_streams(t));
}

/* Where the next step goes on: in the streams of a stage, which begin anew in every epoch. */
typedef struct standing {
    int64_t tokens;     /* that each row has read */
    int64_t rows, pass; /* of a step; of one of its forward passes, the last of which may have fewer */
    int64_t passes;     /* that carry something: 0 where nothing is read */
} standing;

static standing find_standing(const asc_trainer *t)
{
    asc_stage_place p = asc_stages_at(&t->stages, t->state.step);
    int64_t rows = p.stage->sequences, pass = p.stage->pass;
    return (standing){p.first / rows * p.stage->block, rows, pass,
                      t->streams && p.first > 0 ? (rows + pass - 1) / pass : 0};
}

void asc_streams_follow(asc_trainer *t)
{
    bool anew = t->streams && find_standing(t).passes == 0;
    for (int64_t i = 0; anew && i < asc_trainer_streams(t); i++) {
        asc_lm_carried_reset(t->streams[i]);
    }
}

/* Copies `from` to `to`, with other names: `before` on top, or taken off, of those that begin so. */
static void rename_all(const asc_params *from, asc_params *to, const char *before, bool on_top)
{
    size_t n = strlen(before);
    for (int i = 0; i < asc_params_count(from); i++) {
        const char *old = asc_params_name(from, i);
        char name[160];
        if (on_top) {
            snprintf(name, sizeof name, "%s%s", before, old);
        } else if (strncmp(old, before, n) == 0) {
            snprintf(name, sizeof name, "%s", old + n);
        } else {
            continue;
        }
        asc_params_add(to, name, asc_params_at(from, i), false);
    }
}

/* The sequences of shard `shard` of pass number `pass` of a step. */
static int64_t count_rows(const asc_trainer *t, const standing *s, int64_t pass, int64_t shard)
{
    int64_t left = s->rows - pass * s->pass, n = left < s->pass ? left : s->pass;
    int64_t shards = asc_stepper_shards(&t->stepper);
    return asc_shard_begin(n, shard + 1, shards) - asc_shard_begin(n, shard, shards);
}

/* What stands before the names of a stream's tensors, and how many rows they have: none, if nothing is carried. */
static int64_t find_stream(const asc_trainer *t, const standing *s, int64_t i, char before[32])
{
    int64_t shards = asc_stepper_shards(&t->stepper);
    snprintf(before, 32, "%" PRId64 ".", i);
    return i < s->passes * shards ? count_rows(t, s, i / shards, i % shards) : 0;
}

int64_t asc_streams_rows(const asc_trainer *t, int64_t i, int64_t *tokens)
{
    standing s = find_standing(t);
    char before[32];
    *tokens = s.tokens;
    return find_stream(t, &s, i, before);
}

asc_status asc_streams_save(const asc_trainer *t, asc_params *tensors)
{
    standing s = find_standing(t);
    for (int64_t i = 0; t->streams && i < asc_trainer_streams(t) && !asc_error(t->ctx); i++) {
        char before[32];
        if (find_stream(t, &s, i, before) == 0) {
            continue;
        }
        asc_params *of_one = asc_params_new(t->ctx);
        if (of_one && asc_lm_carried_save(t->streams[i], of_one) == ASC_OK) {
            rename_all(of_one, tensors, before, true);
        }
        asc_params_free(of_one);
    }
    return asc_error(t->ctx);
}

asc_status asc_streams_load(asc_trainer *t, const asc_params *tensors)
{
    standing s = find_standing(t);
    for (int64_t i = 0; t->streams && i < asc_trainer_streams(t) && !asc_error(t->ctx); i++) {
        char before[32];
        int64_t rows = find_stream(t, &s, i, before);
        if (rows == 0) {
            continue;
        }
        asc_params *of_one = asc_params_new(t->ctx);
        if (of_one) {
            rename_all(tensors, of_one, before, false);
            asc_lm_carried_load(t->streams[i], of_one, rows, s.tokens);
        }
        asc_params_free(of_one);
    }
    if (asc_error(t->ctx) == ASC_ERR_FORMAT) {
        asc_error_place(t->ctx, t->read_from);
    }
    return asc_error(t->ctx);
}

asc_status asc_run_up(const asc_stepper *s, asc_lm_carried *carried, int64_t rows)
{
    asc_ctx *ctx = s->ctx;
    bool recording = asc_set_recording(ctx, false);
    asc_lm_set_carried(s->lm, carried);
    while (asc_error(ctx) == ASC_OK && asc_lm_carried_length(carried) < asc_lm_carry(s->lm)) {
        asc_scope_begin(ctx);
        asc_tensor x = asc_zeros(ctx, ASC_I64, ASC_SHAPE(rows, s->block));
        asc_lm_states(s->lm, x, asc_null());
        asc_lm_carried_advance(carried);
        asc_scope_end(ctx);
    }
    asc_set_recording(ctx, recording);
    return asc_error(ctx);
}
