/* train/measure/parity_run.c: parity of a short training run: the loss of every step, the parameters at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/nn.h>
#include <ascgrad/optim.h>

#include "train/measure/parity.h"

/* ---- settings ---- */

bool asc_replay_take_recipe(asc_replay *r, asc_recipe *out)
{
    const struct {
        const char *key;
        double *to;
    } keys[] = {{"lr", &out->lr}, {"min_lr", &out->min_lr}, {"warmup", &out->warmup}, {"steps", &out->steps},
                {"weight_decay", &out->weight_decay}, {"clip", &out->clip}, {"batch", &out->batch}};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *value = json_object_get(r->config, keys[k].key);
        if (!json_is_number(value)) {
            asc_replay_disagree(r, "config has no number %s", keys[k].key);
            return false;
        }
        *keys[k].to = json_number_value(value);
        json_object_del(r->config, keys[k].key);
    }
    return true;
}

/* Whether one of the model's layers has that mixing. */
static bool mixes(const asc_replay *r, const char *name)
{
    const json_t *mix = json_object_get(r->config, "mix");
    bool found = json_is_string(mix) && strcmp(json_string_value(mix), name) == 0;
    for (size_t i = 0; i < json_array_size(mix); i++) {
        const char *layer = json_string_value(json_array_get(mix, i));
        found = found || (layer && strcmp(layer, name) == 0);
    }
    return found;
}

/* What a case leaves out has the oracle's value, where that is not the program's. */
static void add_defaults(asc_replay *r)
{
    asc_replay_default(r, "block_norm", json_string("post"));
    asc_replay_default(r, "pos_emb", json_true());
    const char *norm = json_string_value(json_object_get(r->config, "block_norm"));
    if (norm && strcmp(norm, "pre") == 0) {
        json_object_del(r->config, "mix_residual"); /* it says nothing there: the residual is always there */
    }
    if (mixes(r, "ascender")) {
        asc_replay_ascender_defaults(r);
    }
}

/* ---- steps ---- */

typedef struct steps {
    asc_replay *r;
    const asc_replay_training *training;
    const asc_recipe *recipe;
    asc_params *params; /* the model's, all of which decay */
    asc_optim *optim;
} steps;

static asc_params *all_decay(asc_ctx *ctx, const asc_params *params)
{
    asc_params *all = asc_params_new(ctx);
    for (int i = 0; all && i < asc_params_count(params); i++) {
        asc_params_add(all, asc_params_name(params, i), asc_params_at(params, i), true);
    }
    return all;
}

static asc_status step(const steps *t, int64_t s, double *loss)
{
    asc_ctx *ctx = t->r->ctx;
    const asc_recipe *recipe = t->recipe;
    const asc_schedule schedule = {.decay = ASC_DECAY_COSINE,
                                   .lr = recipe->lr,
                                   .min_lr = recipe->min_lr,
                                   .warmup = (int64_t)recipe->warmup,
                                   .steps = (int64_t)recipe->steps};
    asc_scope_begin(ctx);
    asc_params_zero_grad(t->params);
    asc_tensor l = t->training->loss(t->training->user, s);
    *loss = asc_item(l);
    asc_status status = asc_backward(ctx, l, asc_null(), false);
    if (!status) {
        double scale = asc_clip_scale(asc_grad_norm(ctx, t->params), recipe->clip);
        status = asc_optim_step(t->optim, asc_lr_at(&schedule, s), scale);
    }
    if (t->training->after && !status) {
        status = t->training->after(t->training->user);
    }
    asc_scope_end(ctx);
    return status;
}

static void compare_final(const steps *t)
{
    for (int i = 0; i < asc_params_count(t->params); i++) {
        char name[160];
        snprintf(name, sizeof name, "final.%s", asc_params_name(t->params, i));
        asc_replay_compare(t->r, name, asc_params_at(t->params, i), asc_final_agreement);
    }
}

static void run_steps(const steps *t)
{
    int64_t n = t->training->steps;
    asc_tensor losses = asc_empty(t->r->ctx, ASC_F64, 1, &n);
    double *loss = asc_data_mut(losses);
    for (int64_t s = 0; loss && s < n; s++) {
        if (step(t, s, &loss[s])) {
            return;
        }
    }
    asc_replay_compare(t->r, "out.loss", losses, asc_value_agreement);
    compare_final(t);
}

void asc_replay_steps(asc_replay *r, const asc_replay_training *training, const asc_recipe *recipe)
{
    steps t = {.r = r, .training = training, .recipe = recipe};
    t.params = all_decay(r->ctx, asc_lm_params(training->lm));
    t.optim = asc_adamw_new(r->ctx, t.params, &(asc_adamw_options){.weight_decay = recipe->weight_decay});
    if (t.params && t.optim && !asc_error(r->ctx)) {
        run_steps(&t);
    }
    asc_optim_free(t.optim);
    asc_params_free(t.params);
}

/* ---- language models ---- */

typedef struct run {
    asc_replay *r;
    asc_lm *lm;
    asc_lm_carried *carried; /* each row is one stream; or NULL */
    const asc_safetensors_entry *shape;
    asc_tensor tokens; /* i64 [steps, B, N + 1] */
} run;

/* The tokens of step s from offset `from` on, (B, N). */
static asc_tensor cut(const run *t, int64_t s, int64_t from)
{
    int64_t B = t->shape->shape[1], N = t->shape->shape[2] - 1;
    asc_tensor out = asc_empty(t->r->ctx, ASC_I64, ASC_SHAPE(B, N));
    int64_t *to = asc_data_mut(out);
    const int64_t *tokens = asc_data(t->tokens);
    for (int64_t b = 0; to && b < B; b++) {
        memcpy(to + b * N, tokens + (s * B + b) * (N + 1) + from, (size_t)N * sizeof *to);
    }
    return out;
}

static asc_tensor loss_of(void *user, int64_t step)
{
    const run *t = user;
    return asc_lm_loss(t->lm, cut(t, step, 0), cut(t, step, 1), NULL);
}

static asc_status advance(void *user)
{
    const run *t = user;
    return t->carried ? asc_lm_carried_advance(t->carried) : ASC_OK;
}

static void run_model(asc_replay *r, run *t, const asc_recipe *recipe)
{
    asc_ctx *ctx = r->ctx;
    asc_replay_load(r, asc_lm_params(t->lm));
    t->shape = asc_replay_use(r, "in.tokens");
    t->tokens = asc_safetensors_read(ctx, r->file, "in.tokens", ASC_I64);
    if (!r->report->passed || asc_error(ctx)) {
        return;
    }
    if (t->shape->ndim != 3 || t->shape->shape[2] < 2) {
        asc_replay_disagree(r, "in.tokens has %d dimensions, expected [steps, B, N + 1]", t->shape->ndim);
        return;
    }
    if (asc_lm_carry(t->lm) > 0) {
        t->carried = asc_lm_carried_new(t->lm, asc_lm_carry(t->lm));
        asc_lm_set_carried(t->lm, t->carried);
    }
    const asc_replay_training training = {t->lm, t->shape->shape[0], loss_of, advance, t};
    if (!asc_error(ctx)) {
        asc_replay_steps(r, &training, recipe);
    }
    asc_lm_carried_free(t->carried);
}

void asc_replay_run(asc_replay *r)
{
    run t = {.r = r};
    asc_recipe recipe;
    if (!asc_replay_take_recipe(r, &recipe)) {
        return;
    }
    add_defaults(r);
    char *config = asc_replay_config(r);
    asc_values_source source = asc_replay_source(r);
    t.lm = config ? asc_lm_new_from(r->ctx, config, ASC_F64, 0, &source) : NULL;
    if (t.lm) {
        run_model(r, &t, &recipe);
    }
    asc_lm_free(t.lm);
    free(config);
}
