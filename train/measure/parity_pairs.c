/* train/measure/parity_pairs.c: parity of a short training run of a model of pairs: its logits before the first step,
 * the loss of every step, the parameters at the end. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/nn.h>

#include "train/measure/parity.h"

enum { WINDOW = 8, TOKENS = 48, CLASSES = 3 }; /* as the cases have them */

typedef struct pairs {
    asc_replay *r;
    asc_lm *lm;
    int64_t steps, batch, E;
    asc_tensor states[2], lengths[2]; /* of premise and hypothesis [steps, B, T, E], i64 [steps, B] */
    asc_tensor labels;                /* i64 [steps, B] */
} pairs;

static void add_defaults(asc_replay *r, int64_t E)
{
    const char *mix = json_string_value(json_object_get(r->config, "mix"));
    bool grassmann = mix && strcmp(mix, "grassmann") == 0;
    asc_replay_default(r, "head", json_string("pairs"));
    asc_replay_default(r, "states", json_integer(E));
    asc_replay_default(r, "classes", json_integer(CLASSES));
    asc_replay_default(r, "block", json_integer(TOKENS));
    asc_replay_default(r, "vocab", json_integer(1));
    asc_replay_default(r, "head_ff", json_incref(json_object_get(r->config, "d_ff")));
    asc_replay_default(r, "mask", json_string("full"));
    if (grassmann) {
        json_object_del(r->config, "heads"); /* it has groups */
    }
    if (mix && strcmp(mix, "ascender") == 0) {
        asc_replay_ascender_defaults(r);
    }
}

/* ---- a step's batch ---- */

/* Puts both sentences of each pair one after the other, (B, N, E); *lengths i64 (B, 2). */
static asc_tensor join(const pairs *p, int64_t step, asc_tensor *lengths)
{
    asc_ctx *ctx = p->r->ctx;
    int64_t B = p->batch, N = asc_size(p->states[0], 2) + asc_size(p->states[1], 2), E = p->E;
    asc_tensor x = asc_zeros(ctx, ASC_F64, ASC_SHAPE(B, N, E));
    *lengths = asc_empty(ctx, ASC_I64, ASC_SHAPE(B, 2));
    double *to = asc_data_mut(x);
    int64_t *length = asc_data_mut(*lengths);
    for (int64_t b = 0; to && length && b < B; b++) {
        double *row = to + b * N * E;
        for (int side = 0; side < 2; side++) {
            int64_t T = asc_size(p->states[side], 2), at = step * B + b;
            int64_t n = ((const int64_t *)asc_data(p->lengths[side]))[at];
            memcpy(row, (const double *)asc_data(p->states[side]) + at * T * E, (size_t)(n * E) * sizeof *row);
            length[2 * b + side] = n;
            row += n * E;
        }
    }
    return x;
}

static asc_tensor rows_of(const pairs *p, int64_t step, asc_tensor *counts)
{
    asc_tensor lengths, x = join(p, step, &lengths);
    return asc_window_means(p->r->ctx, x, lengths, WINDOW, WINDOW, counts);
}

static asc_tensor loss_of(void *user, int64_t step)
{
    const pairs *p = user;
    asc_tensor counts, rows = rows_of(p, step, &counts), labels = asc_empty(p->r->ctx, ASC_I64, 1, &p->batch);
    int64_t *label = asc_data_mut(labels);
    if (label) {
        memcpy(label, (const int64_t *)asc_data(p->labels) + step * p->batch, (size_t)p->batch * sizeof *label);
    }
    return asc_lm_class_objective(p->lm, rows, counts, labels, NULL);
}

static void compare_logits(const pairs *p)
{
    asc_ctx *ctx = p->r->ctx;
    bool recording = asc_set_recording(ctx, false);
    asc_scope_begin(ctx);
    asc_tensor counts, rows = rows_of(p, 0, &counts);
    asc_replay_compare(p->r, "out.logits", asc_lm_classify(p->lm, rows, counts), asc_value_agreement);
    asc_scope_end(ctx);
    asc_set_recording(ctx, recording);
}

/* ---- the case ---- */

static asc_tensor read_input(pairs *p, const char *name, asc_dtype dtype, int ndim)
{
    const asc_safetensors_entry *e = asc_replay_use(p->r, name);
    if (!e || e->ndim != ndim) {
        asc_replay_disagree(p->r, "%s has %d dimensions, expected %d", name, e ? e->ndim : 0, ndim);
        return asc_null();
    }
    return asc_safetensors_read(p->r->ctx, p->r->file, name, dtype);
}

/* Whether all inputs are there, of sizes that go together. */
static bool read_inputs(pairs *p)
{
    static const char *const states[] = {"in.premise", "in.hypothesis"},
                             *const lengths[] = {"in.premise_lengths", "in.hypothesis_lengths"};
    p->labels = read_input(p, "in.labels", ASC_I64, 2);
    p->steps = asc_size(p->labels, 0);
    p->batch = asc_size(p->labels, 1);
    for (int side = 0; side < 2; side++) {
        p->states[side] = read_input(p, states[side], ASC_F64, 4);
        p->lengths[side] = read_input(p, lengths[side], ASC_I64, 2);
        p->E = asc_size(p->states[0], 3);
        bool fits = asc_numel(p->lengths[side]) == p->steps * p->batch &&
                    asc_size(p->states[side], 0) == p->steps && asc_size(p->states[side], 1) == p->batch &&
                    asc_size(p->states[side], 3) == p->E;
        const int64_t *n = asc_data(p->lengths[side]);
        for (int64_t i = 0; fits && n && i < p->steps * p->batch; i++) {
            fits = n[i] >= 0 && n[i] <= asc_size(p->states[side], 2);
        }
        if (!fits) {
            asc_replay_disagree(p->r, "%s and %s do not go with in.labels%s", states[side], lengths[side],
                                side == 1 ? " and in.premise" : "");
        }
    }
    return p->r->report->passed && !asc_error(p->r->ctx);
}

void asc_replay_pairs(asc_replay *r)
{
    pairs p = {.r = r};
    asc_recipe recipe;
    if (!asc_replay_take_recipe(r, &recipe) || !read_inputs(&p)) {
        return;
    }
    add_defaults(r, p.E);
    char *config = asc_replay_config(r);
    asc_values_source source = asc_replay_source(r);
    p.lm = config ? asc_lm_new_from(r->ctx, config, ASC_F64, 0, &source) : NULL;
    if (p.lm) {
        asc_replay_load(r, asc_lm_params(p.lm));
    }
    if (p.lm && r->report->passed && !asc_error(r->ctx)) {
        compare_logits(&p);
        asc_replay_steps(r, &(asc_replay_training){.lm = p.lm, .steps = p.steps, .loss = loss_of, .user = &p}, &recipe);
    }
    asc_lm_free(p.lm);
    free(config);
}
