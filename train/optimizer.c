/* train/optimizer.c: the optimiser of a training: its rule, the memory that it needs, its groups,
 * "PATTERN:lr=R,decay=W,optimizer=NAME;PATTERN:…". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "optim/optim.h"
#include "tensor/locale.h"
#include "train/trainer.h"

/* Tables and filters are no maps from states to states: AdamW's, whatever the matrices have. */
static const char *const no_maps[] = {"*emb.weight", "lm_head.weight", "classifier.*", "*conv.weight", "*rel_bias"};

enum { NO_MAPS = sizeof no_maps / sizeof *no_maps, GROUPS = 32, NAMES = 128 };

typedef struct group {
    char names[NAMES];
    double lr, decay; /* -1: not said */
    int optimizer;    /* -1: not said */
} group;

typedef struct groups {
    int n;
    group at[GROUPS];
} groups;

/* What an optimiser is made of. */
typedef struct maker {
    asc_ctx *ctx;
    const asc_values *values;
    asc_lm *lm;
    asc_optim *optim;
} maker;

static asc_status refuse(const maker *m, const char *at, const char *expected)
{
    return asc_fail_on(m->ctx, ASC_ERR_ARG, "param_groups", ": got '%.60s', expected %s", at, expected);
}

static asc_status read_number(const maker *m, const char *text, double most, double *value)
{
    if (!asc_real_parse(text, value) || *value < 0 || *value > most) {
        char expected[60];
        asc_snprintf(expected, sizeof expected, "a number from 0 to %g", most);
        return refuse(m, text, expected);
    }
    return ASC_OK;
}

static asc_status read_optimizer(const maker *m, const char *text, int *which)
{
    const asc_setting *row = asc_setting_find(asc_train_settings, "optimizer");
    char expected[100] = "one of ";
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *which = i;
            return ASC_OK;
        }
        size_t n = strlen(expected);
        snprintf(expected + n, sizeof expected - n, "%s%s", i > 0 ? ", " : "", row->choices[i]);
    }
    return refuse(m, text, expected);
}

/* "KEY=VALUE" */
static asc_status read_wish(const maker *m, char *text, group *g)
{
    char *value = strchr(text, '=');
    if (value) {
        *value++ = '\0';
        if (strcmp(text, "lr") == 0) {
            return read_number(m, value, 1000, &g->lr);
        }
        if (strcmp(text, "decay") == 0) {
            return read_number(m, value, 1000, &g->decay);
        }
        if (strcmp(text, "optimizer") == 0) {
            return read_optimizer(m, value, &g->optimizer);
        }
    }
    return refuse(m, text, "lr=R, decay=W or optimizer=NAME");
}

/* "PATTERN:WISH,WISH…" */
static asc_status read_group(const maker *m, char *text, groups *all)
{
    char *colon = strrchr(text, ':'), *rest;
    if (!colon || colon == text || colon - text >= NAMES) {
        return refuse(m, text, "PATTERN:lr=R,decay=W,optimizer=NAME");
    }
    if (all->n == GROUPS) {
        return refuse(m, text, "at most 32 groups");
    }
    *colon = '\0';
    group *g = &all->at[all->n++];
    *g = (group){.lr = -1, .decay = -1, .optimizer = -1};
    snprintf(g->names, sizeof g->names, "%s", text);
    for (char *wish = strtok_r(colon + 1, ",", &rest); wish; wish = strtok_r(NULL, ",", &rest)) {
        if (read_wish(m, wish, g)) {
            return asc_error(m->ctx);
        }
    }
    if (g->lr < 0 && g->decay < 0 && g->optimizer < 0) {
        return refuse(m, text, "PATTERN:lr=R,decay=W,optimizer=NAME");
    }
    return ASC_OK;
}

static asc_status read_groups(const maker *m, groups *all)
{
    char *copy = strdup(m->values->groups), *rest;
    if (!copy) {
        return asc_fail(m->ctx, ASC_ERR_MEMORY, "param_groups: out of memory");
    }
    for (char *text = strtok_r(copy, ";", &rest); text; text = strtok_r(NULL, ";", &rest)) {
        if (read_group(m, text, all)) {
            break;
        }
    }
    free(copy);
    return all->n > 0 || !*m->values->groups || asc_error(m->ctx)
               ? asc_error(m->ctx)
               : refuse(m, m->values->groups, "PATTERN:lr=R,decay=W,optimizer=NAME");
}

/* Rates by width, where the model has them; a group may say otherwise. */
static asc_status scale_rates(const maker *m)
{
    asc_params *params = asc_lm_params(m->lm);
    for (int i = 0; i < asc_params_count(params) && !asc_error(m->ctx); i++) {
        double scale = asc_lm_rate_scale(m->lm, i);
        if (scale != 1) {
            asc_optim_group(m->optim, asc_params_name(params, i), scale, -1);
        }
    }
    return asc_error(m->ctx);
}

static asc_status apply_groups(const maker *m, const groups *all)
{
    double lr = m->values->lr;
    for (int i = 0; i < all->n; i++) {
        const group *g = &all->at[i];
        if (g->lr > 0 && lr == 0) {
            return asc_fail_on(m->ctx, ASC_ERR_ARG, "param_groups", ": a rate follows lr's schedule, and lr is 0");
        }
        double scale = g->lr < 0 ? -1 : g->lr == 0 ? 0 : g->lr / lr;
        if (asc_optim_group(m->optim, g->names, scale, g->decay) == 0) {
            asc_error_extend(m->ctx, "param_groups", "");
            return asc_error(m->ctx);
        }
    }
    return ASC_OK;
}

static bool has_like(const asc_params *params, const char *names)
{
    for (int i = 0; i < asc_params_count(params); i++) {
        if (asc_name_matches(names, asc_params_name(params, i))) {
            return true;
        }
    }
    return false;
}

/* Rules by name: with Muon what is no map first, so that a group may say otherwise. */
static void make_rules(const groups *all, const asc_params *params, bool muon, asc_rule_for rules[NO_MAPS + GROUPS + 1])
{
    int n = 0;
    for (int m = 0; m < NO_MAPS; m++) {
        if (muon && has_like(params, no_maps[m])) {
            rules[n++] = (asc_rule_for){no_maps[m], ASC_RULE_ADAMW};
        }
    }
    for (int i = 0; i < all->n; i++) {
        if (all->at[i].optimizer >= 0) {
            rules[n++] = (asc_rule_for){all->at[i].names, (asc_rule)all->at[i].optimizer};
        }
    }
    rules[n].names = NULL;
}

/* Muon's of 0 stands for the usual one in the library: a training has what its settings say. */
static asc_status check_momentum(asc_ctx *ctx, const asc_values *v, const groups *all)
{
    bool muon = v->optimizer == ASC_RULE_MUON;
    for (int i = 0; i < all->n; i++) {
        muon = muon || all->at[i].optimizer == ASC_RULE_MUON;
    }
    bool wrong = muon && v->momentum == 0;
    return wrong ? asc_fail_on(ctx, ASC_ERR_ARG, "momentum", " is 0, expected more for Muon") : ASC_OK;
}

asc_optim *asc_optimizer_new(asc_ctx *ctx, const asc_values *v, asc_lm *lm)
{
    asc_params *params = asc_lm_params(lm);
    maker m = {.ctx = ctx, .values = v, .lm = lm};
    groups all = {0};
    if (read_groups(&m, &all) || check_momentum(ctx, v, &all)) {
        return NULL;
    }
    asc_rule_for rules[NO_MAPS + GROUPS + 1];
    make_rules(&all, params, v->optimizer == ASC_RULE_MUON, rules);
    asc_optim_options options = {.rule = (asc_rule)v->optimizer,
                                 .rules = rules,
                                 .weight_decay = v->weight_decay,
                                 .beta1 = v->beta1,
                                 .beta2 = v->beta2,
                                 .momentum = v->momentum,
                                 .muon_momentum = v->momentum,
                                 .average = v->average,
                                 .share = v->shard_optimizer ? asc_comm_rank(ctx) : 0,
                                 .shares = v->shard_optimizer ? asc_comm_size(ctx) : 1};
    double numbers = 2 * (double)asc_params_numel(params) + asc_optim_numbers(params, &options) / options.shares;
    if (asc_memory_check(ctx, "parameters, gradients and what the optimiser keeps take",
                         numbers * (double)asc_dtype_size(asc_dtype_of(asc_params_at(params, 0))))) {
        return NULL;
    }
    m.optim = asc_optim_new(ctx, params, &options);
    if (!m.optim && asc_error(ctx) == ASC_ERR_ARG && all.n > 0) {
        asc_error_extend(ctx, "param_groups", "");
    } else if (!m.optim) {
        return NULL;
    } else if (scale_rates(&m) || apply_groups(&m, &all)) {
        asc_optim_free(m.optim);
        return NULL;
    }
    return m.optim;
}
