/* train/optimizer.c: the optimiser of a training: its rule, the memory that it needs, its groups,
 * "PATTERN:lr=R,decay=W,optimizer=NAME;PATTERN:…". */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "train/path.h"
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

static asc_status refuse(asc_trainer *t, const char *at, const char *expected)
{
    return asc_fail_on(t->ctx, ASC_ERR_ARG, "param_groups", ": got '%.60s', expected %s", at, expected);
}

static asc_status read_number(asc_trainer *t, const char *text, double most, double *value)
{
    if (!asc_real_parse(text, value) || *value < 0 || *value > most) {
        char expected[60];
        snprintf(expected, sizeof expected, "a number from 0 to %g", most);
        return refuse(t, text, expected);
    }
    return ASC_OK;
}

static asc_status read_optimizer(asc_trainer *t, const char *text, int *which)
{
    const asc_setting *row = asc_setting_find(asc_train_settings, "optimizer");
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *which = i;
            return ASC_OK;
        }
    }
    return refuse(t, text, "adamw, sgd or muon");
}

/* "KEY=VALUE" */
static asc_status read_wish(asc_trainer *t, char *text, group *g)
{
    char *value = strchr(text, '=');
    if (value) {
        *value++ = '\0';
        if (strcmp(text, "lr") == 0) {
            return read_number(t, value, 1000, &g->lr);
        }
        if (strcmp(text, "decay") == 0) {
            return read_number(t, value, 1000, &g->decay);
        }
        if (strcmp(text, "optimizer") == 0) {
            return read_optimizer(t, value, &g->optimizer);
        }
    }
    return refuse(t, text, "lr=R, decay=W or optimizer=NAME");
}

/* "PATTERN:WISH,WISH…" */
static asc_status read_group(asc_trainer *t, char *text, groups *all)
{
    char *colon = strrchr(text, ':'), *rest;
    if (!colon || colon == text || colon - text >= NAMES) {
        return refuse(t, text, "PATTERN:lr=R,decay=W,optimizer=NAME");
    }
    if (all->n == GROUPS) {
        return refuse(t, text, "at most 32 groups");
    }
    *colon = '\0';
    group *g = &all->at[all->n++];
    *g = (group){.lr = -1, .decay = -1, .optimizer = -1};
    snprintf(g->names, sizeof g->names, "%s", text);
    for (char *wish = strtok_r(colon + 1, ",", &rest); wish; wish = strtok_r(NULL, ",", &rest)) {
        if (read_wish(t, wish, g)) {
            return asc_error(t->ctx);
        }
    }
    if (g->lr < 0 && g->decay < 0 && g->optimizer < 0) {
        return refuse(t, text, "PATTERN:lr=R,decay=W,optimizer=NAME");
    }
    return ASC_OK;
}

static asc_status read_groups(asc_trainer *t, groups *all)
{
    char *copy = strdup(t->settings->values.groups), *rest;
    if (!copy) {
        return asc_fail(t->ctx, ASC_ERR_MEMORY, "param_groups: out of memory");
    }
    for (char *text = strtok_r(copy, ";", &rest); text; text = strtok_r(NULL, ";", &rest)) {
        if (read_group(t, text, all)) {
            break;
        }
    }
    free(copy);
    return asc_error(t->ctx);
}

/* Rates by width, where the model has them; a group may say otherwise. */
static asc_status scale_rates(asc_trainer *t)
{
    asc_params *params = asc_lm_params(t->lm);
    for (int i = 0; i < asc_params_count(params) && !asc_error(t->ctx); i++) {
        double scale = asc_lm_rate_scale(t->lm, i);
        if (scale != 1) {
            asc_optim_group(t->optim, asc_params_name(params, i), scale, -1);
        }
    }
    return asc_error(t->ctx);
}

static asc_status apply_groups(asc_trainer *t, const groups *all)
{
    double lr = t->settings->values.lr;
    for (int i = 0; i < all->n; i++) {
        const group *g = &all->at[i];
        if (g->lr > 0 && lr == 0) {
            return asc_fail_on(t->ctx, ASC_ERR_ARG, "param_groups", ": a rate follows lr's schedule, and lr is 0");
        }
        double scale = g->lr < 0 ? -1 : g->lr == 0 ? 0 : g->lr / lr;
        if (asc_optim_group(t->optim, g->names, scale, g->decay) == 0) {
            asc_error_extend(t->ctx, "param_groups", "");
            return asc_error(t->ctx);
        }
    }
    return ASC_OK;
}

static bool has_like(const asc_params *params, const char *names)
{
    for (int i = 0; i < asc_params_count(params); i++) {
        if (fnmatch(names, asc_params_name(params, i), 0) == 0) {
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

asc_status asc_trainer_open_optim(asc_trainer *t)
{
    const asc_values *v = &t->settings->values;
    asc_params *params = asc_lm_params(t->lm);
    double each = (v->average > 0 ? 5 : 4) * (double)asc_dtype_size(asc_settings_dtype(t->settings));
    if (asc_memory_check(t->ctx, "parameters, gradients and the optimiser's moments take",
                         each * (double)asc_params_numel(params))) {
        return asc_error(t->ctx);
    }
    groups all = {0};
    if (read_groups(t, &all)) {
        return asc_error(t->ctx);
    }
    asc_rule_for rules[NO_MAPS + GROUPS + 1];
    make_rules(&all, params, v->optimizer == ASC_RULE_MUON, rules);
    t->optim = asc_optim_new(t->ctx, params,
                             &(asc_optim_options){.rule = (asc_rule)v->optimizer,
                                                  .rules = rules,
                                                  .weight_decay = v->weight_decay,
                                                  .beta1 = v->beta1,
                                                  .beta2 = v->beta2,
                                                  .momentum = v->momentum,
                                                  .muon_momentum = v->momentum,
                                                  .average = v->average});
    if (!t->optim) {
        asc_error_extend(t->ctx, "param_groups", "");
    }
    return t->optim && scale_rates(t) == ASC_OK ? apply_groups(t, &all) : asc_error(t->ctx);
}
