/* train/ranks/optim.c: parameters and optimiser of several ranks, all of which have rank 0's at the beginning; and an
 * optimiser that is divided among them, by whole tensors: each keeps state of its share.
 * Rank 0 asks the others for theirs one tensor at a time, to write it, and for the averages of parameters, to see the
 * model with them; so it never has all. */
#include <string.h>

#include <ascgrad/ops.h>

#include "optim/optim.h"
#include "train/run/format.h"
#include "train/ranks/ranks.h"

/* ---- what is kept ---- */

/* A tensor that the optimiser keeps. */
typedef struct kept {
    int param, slot, owner;
    char name[ASC_OPTIM_NAME];
    asc_tensor own; /* null where another rank has it */
} kept;

/* Begins with {.slot = -1}. */
static bool next(const asc_trainer *t, kept *k)
{
    k->slot++;
    while (k->param < asc_params_count(asc_lm_params(t->lm))) {
        k->owner = asc_optim_share_of(t->optim, k->param);
        if (asc_optim_slot(t->optim, k->param, k->slot, k->name, &k->own)) {
            return true;
        }
        k->param++;
        k->slot = 0;
    }
    return false;
}

static asc_tensor param_of(const asc_trainer *t, const kept *k)
{
    return asc_params_at(asc_lm_params(t->lm), k->param);
}

static size_t bytes_of(asc_tensor t)
{
    return (size_t)asc_numel(t) * asc_dtype_size(asc_dtype_of(t));
}

/* ---- at the beginning ---- */

/* Of a resumed run: rank 0 reads what another rank is to keep, and sends it. */
static asc_status restore(asc_trainer *t, const asc_safetensors *file, const kept *k)
{
    asc_ctx *ctx = t->ctx;
    int rank = asc_comm_rank(ctx);
    asc_tensor p = param_of(t, k), values = k->own;
    asc_scope_begin(ctx);
    if (rank == 0) {
        values = asc_empty(ctx, asc_dtype_of(p), asc_ndim(p), asc_shape(p));
        asc_checkpoint_read_kept(ctx, file, k->name, values);
    }
    asc_verdict v = asc_verdict_of(ctx);
    if (asc_comm_broadcast(ctx, &v, sizeof v) || v.status) {
        asc_verdict_take(ctx, &v, -1);
    } else if (rank == 0) {
        asc_comm_send(ctx, k->owner, asc_data(values), bytes_of(p));
    } else if (rank == k->owner) {
        asc_comm_receive(ctx, 0, asc_data_mut(values), bytes_of(p));
    }
    asc_scope_end(ctx);
    return asc_error(ctx);
}

/* Of a new run: nothing is kept yet but averages, which begin as the parameters. */
static asc_status begin(asc_trainer *t, const kept *k)
{
    bool average = strncmp(k->name, "average.", strlen("average.")) == 0;
    return average && !asc_is_null(k->own) ? asc_copy(t->ctx, k->own, param_of(t, k)) : asc_error(t->ctx);
}

static void share_out(asc_trainer *t)
{
    asc_ctx *ctx = t->ctx;
    asc_tensor steps = asc_params_find(asc_optim_state(t->optim), "steps");
    int32_t resumed = t->read_from != NULL; /* it lies under this name by now, wherever it was read from */
    asc_comm_broadcast(ctx, asc_data_mut(steps), bytes_of(steps));
    asc_comm_broadcast(ctx, &resumed, sizeof resumed);
    bool reads = resumed && asc_trainer_leads(t);
    asc_safetensors *file = reads ? asc_format_open(ctx, t->folder.checkpoint, true) : NULL;
    if (asc_comm_agree(ctx) == ASC_OK) {
        for (kept k = {.slot = -1}; next(t, &k) && !asc_error(ctx);) {
            if (!resumed) {
                begin(t, &k);
            } else if (k.owner > 0) {
                restore(t, file, &k);
            }
        }
    }
    asc_safetensors_close(file);
}

static void share_all(asc_trainer *t, const asc_params *params)
{
    for (int i = 0; i < asc_params_count(params) && !asc_error(t->ctx); i++) {
        asc_tensor p = asc_params_at(params, i);
        asc_comm_broadcast(t->ctx, asc_data_mut(p), (size_t)asc_numel(p) * asc_dtype_size(asc_dtype_of(p)));
    }
}

asc_status asc_ranks_begin(asc_trainer *t)
{
    if (asc_comm_size(t->ctx) == 1 || asc_comm_agree(t->ctx)) {
        return asc_error(t->ctx);
    }
    asc_comm_broadcast(t->ctx, &t->state, sizeof t->state);
    share_all(t, asc_lm_params(t->lm));
    if (t->tree.divided) {
        share_out(t);
    } else {
        share_all(t, asc_optim_state(t->optim));
    }
    asc_ranks_move_streams(t, false);
    return asc_error(t->ctx);
}

/* ---- handing over ---- */

static void hand_over_values(asc_trainer *t, bool average)
{
    for (kept k = {.slot = -1}; next(t, &k);) {
        bool is_average = strncmp(k.name, "average.", strlen("average.")) == 0;
        if (is_average && !asc_is_null(k.own)) {
            asc_tensor values = average ? k.own : param_of(t, &k);
            asc_comm_send(t->ctx, 0, asc_data(values), bytes_of(values));
        }
    }
}

void asc_ranks_hand_over(asc_trainer *t, const asc_rank_command *c)
{
    kept k = {.param = c->param, .slot = c->slot};
    if (c->order == ASC_RANK_VALUES) {
        hand_over_values(t, c->average);
    } else if (asc_optim_slot(t->optim, k.param, k.slot, k.name, &k.own) && !asc_is_null(k.own)) {
        asc_comm_send(t->ctx, 0, asc_data(k.own), bytes_of(k.own));
    }
}

/* ---- averages: rank 0's parameters become those of all shares ---- */

void asc_trainer_swap_average(asc_trainer *t, const asc_lm *lm)
{
    if (!t->stepper.average || lm != t->lm) {
        return;
    }
    asc_optim_swap_average(t->optim);
    if (!t->tree.divided) {
        return;
    }
    t->averaged = !t->averaged;
    asc_ranks_tell(t, (asc_rank_command){.order = ASC_RANK_VALUES, .step = t->state.step, .average = t->averaged});
    for (int i = 0; i < asc_params_count(asc_lm_params(t->lm)); i++) {
        asc_tensor p = asc_params_at(asc_lm_params(t->lm), i);
        int owner = asc_optim_share_of(t->optim, i);
        if (owner > 0) {
            asc_comm_receive(t->ctx, owner, asc_data_mut(p), bytes_of(p));
        }
    }
}

/* ---- the checkpoint ---- */

/* What others keep: one after another lies in the memory of one. */
typedef struct gathering {
    asc_trainer *trainer;
    asc_away away;
} gathering;

static asc_status load(void *user, int64_t i)
{
    const gathering *g = user;
    asc_trainer *t = g->trainer;
    kept k = {.slot = -1};
    for (int64_t left = i; next(t, &k);) {
        if (k.owner > 0 && left-- == 0) {
            break;
        }
    }
    asc_tensor values = asc_params_at(g->away.tensors, (int)i);
    asc_ranks_tell(t,
                   (asc_rank_command){.order = ASC_RANK_KEPT, .step = t->state.step, .param = k.param, .slot = k.slot});
    return asc_comm_receive(t->ctx, k.owner, asc_data_mut(values), bytes_of(values));
}

static int64_t largest(const asc_trainer *t)
{
    int64_t numel = 1;
    for (kept k = {.slot = -1}; next(t, &k);) {
        numel = k.owner > 0 && asc_numel(param_of(t, &k)) > numel ? asc_numel(param_of(t, &k)) : numel;
    }
    return numel;
}

/* Tensors of the shapes of all that others keep, in the same memory. */
static void list_all(asc_trainer *t, asc_params *list)
{
    asc_ctx *ctx = t->ctx;
    int64_t room = largest(t);
    asc_tensor memory = asc_empty(ctx, asc_dtype_of(asc_params_at(asc_lm_params(t->lm), 0)), 1, &room);
    for (kept k = {.slot = -1}; next(t, &k) && !asc_error(ctx);) {
        asc_tensor p = param_of(t, &k);
        if (k.owner > 0) {
            asc_tensor part = asc_slice(ctx, memory, 0, 0, asc_numel(p), 1);
            asc_params_add(list, k.name, asc_reshape(ctx, part, asc_ndim(p), asc_shape(p)), false);
        }
    }
}

asc_status asc_ranks_write_checkpoint(asc_trainer *t, const asc_params *carried, const char *held)
{
    asc_ctx *ctx = t->ctx;
    gathering g = {.trainer = t};
    g.away = (asc_away){asc_params_new(ctx), load, &g};
    asc_scope_begin(ctx);
    if (t->tree.divided && g.away.tensors) {
        list_all(t, g.away.tensors);
    }
    if (!asc_error(ctx)) {
        asc_checkpoint_write(ctx, &t->folder, t->lm, t->optim, &g.away, &t->state, carried, held);
    }
    asc_params_free(g.away.tensors);
    asc_scope_end(ctx);
    return asc_error(ctx);
}
