/* optim/optim.c: which rule changes which parameter, their state, and the loop over parameters. */
#include "optim/optim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/locale.h"
#include "tensor/need.h"

enum { PIECE = 1 << 16 };

/* ---- arguments ---- */

/* An argument that is not as `expected`; the error is about it by its name. */
static asc_status refuse(asc_ctx *ctx, const char *function, const char *argument, double value, const char *expected)
{
    if (!ctx || ctx->status) {
        return ASC_ERR_ARG;
    }
    asc_fail_on(ctx, ASC_ERR_ARG, argument, " is %g, expected %s", value, expected);
    asc_error_place(ctx, function);
    return ASC_ERR_ARG;
}

/* The most that a number may be: products of two of them are numbers of float32, too. */
static const double most = 1e18;
static const char *const from_0 = "a number from 0 to 1e18", *const below_1 = "0 to below 1";

static bool is_rule(asc_rule rule)
{
    return rule == ASC_RULE_ADAMW || rule == ASC_RULE_SGD || rule == ASC_RULE_MUON;
}

/* Whether all numbers are in their ranges, in which NaN is not. */
static asc_status check_options(asc_ctx *ctx, const char *function, const asc_optim_options *o)
{
    const struct {
        const char *name;
        double value;
        bool below_1;
    } number[] = {
        {"weight_decay", o->weight_decay, false}, {"beta1", o->beta1, true}, {"beta2", o->beta2, true},
        {"eps", o->eps, false}, {"momentum", o->momentum, true}, {"muon_momentum", o->muon_momentum, true},
        {"average", o->average, true},
    };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        double v = number[i].value;
        if (!(v >= 0 && v <= most && (v < 1 || !number[i].below_1))) {
            return refuse(ctx, function, number[i].name, v, number[i].below_1 ? below_1 : from_0);
        }
    }
    if (o->shares < 0) {
        return refuse(ctx, function, "shares", o->shares, "at least 0");
    }
    bool shared = o->share >= 0 && o->share < (o->shares > 0 ? o->shares : 1);
    if (!shared) {
        return refuse(ctx, function, "share", o->share, "0 to below shares");
    }
    return is_rule(o->rule) ? ASC_OK : refuse(ctx, function, "rule", (double)o->rule, "one of asc_rule");
}

static asc_status check_rules(asc_ctx *ctx, const char *function, const asc_params *params, const asc_rule_for *rules)
{
    for (const asc_rule_for *r = rules; r && r->names; r++) {
        if (!is_rule(r->rule)) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: rules: the rule of '%s' is %d, expected one of asc_rule", function,
                            r->names, (int)r->rule);
        }
        int i = 0, n = asc_params_count(params);
        while (i < n && !asc_name_matches(r->names, asc_params_name(params, i))) {
            i++;
        }
        if (i == n) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: rules: no parameter has a name like '%s'", function, r->names);
        }
    }
    return ASC_OK;
}

/* ---- making ---- */

static bool is_matrix(asc_tensor t)
{
    return asc_ndim(t) == 2;
}

static const asc_rule_def *find_rule(const asc_optim *o, int i, const asc_rule_for *rules)
{
    asc_rule rule = o->options.rule;
    for (const asc_rule_for *r = rules; r && r->names; r++) {
        rule = asc_name_matches(r->names, asc_params_name(o->params, i)) ? r->rule : rule;
    }
    switch (rule) {
    case ASC_RULE_SGD:
        return o->options.momentum != 0 ? &asc_rule_sgd : &asc_rule_plain_sgd;
    case ASC_RULE_MUON:
        return is_matrix(asc_params_at(o->params, i)) ? &asc_rule_muon : &asc_rule_adamw;
    default:
        return &asc_rule_adamw;
    }
}

static asc_status add_state(asc_optim *o, const char *name, asc_dtype dtype, int ndim, const int64_t *shape,
                            asc_tensor *out)
{
    asc_tensor t = asc_zeros(o->ctx, dtype, ndim, shape);
    asc_status status = asc_is_null(t) ? ASC_ERR_MEMORY : asc_params_add(o->state, name, t, false);
    asc_disown(t); /* the list holds it */
    *out = t;
    return status;
}

/* "KIND.PARAMETER"; false: it is too long. */
static bool name_slot(const asc_optim *o, const char *kind, int i, char name[ASC_OPTIM_NAME])
{
    return snprintf(name, ASC_OPTIM_NAME, "%s.%s", kind, asc_params_name(o->params, i)) < ASC_OPTIM_NAME;
}

/* A tensor of parameter i's shape. */
static asc_status add_slot(asc_optim *o, const char *kind, int i, asc_tensor *out)
{
    asc_tensor p = asc_params_at(o->params, i);
    char name[ASC_OPTIM_NAME];
    if (!name_slot(o, kind, i, name)) {
        const char *given = asc_params_name(o->params, i);
        return asc_fail(o->ctx, ASC_ERR_ARG, "optim: the name of parameter %d, '%.40s...', has %zu bytes, expected at "
                        "most %zu", i, given, strlen(given), ASC_OPTIM_NAME - strlen(kind) - 2);
    }
    return add_state(o, name, asc_dtype_of(p), asc_ndim(p), asc_shape(p), out);
}

/* Whether parameter i is of the optimiser's own share. */
static bool is_own(const asc_optim *o, int i)
{
    return o->part[i].share == o->options.share;
}

/* Whether parameter i has a running mean: one of integers would be none. */
static bool is_averaged(const asc_optim *o, int i)
{
    return o->options.average > 0 && asc_is_floating(asc_dtype_of(asc_params_at(o->params, i)));
}

static asc_status add_part(asc_optim *o, int i)
{
    asc_optim_part *part = &o->part[i];
    part->setting = (asc_optim_setting){1, asc_params_decays(o->params, i) ? o->options.weight_decay : 0};
    if (!is_own(o, i)) {
        return ASC_OK;
    }
    for (int s = 0; part->rule->slots[s]; s++) {
        if (add_slot(o, part->rule->slots[s], i, &part->slot[s])) {
            return asc_error(o->ctx);
        }
    }
    if (is_averaged(o, i) &&
        (add_slot(o, "average", i, &part->average) || asc_copy(o->ctx, part->average, asc_params_at(o->params, i)))) {
        return asc_error(o->ctx);
    }
    if (part->rule->whole) {
        o->whole[o->wholes++] = i;
    }
    return ASC_OK;
}

/* The largest first; of equal ones the first of the list. */
static void sort_by_size(const asc_optim *o, int *list, int n)
{
    for (int k = 1; k < n; k++) {
        int i = list[k], at = k;
        int64_t numel = asc_numel(asc_params_at(o->params, i));
        for (; at > 0 && asc_numel(asc_params_at(o->params, list[at - 1])) < numel; at--) {
            list[at] = list[at - 1];
        }
        list[at] = i;
    }
}

static int count_slots(const asc_rule_def *rule)
{
    int n = 0;
    while (rule->slots[n]) {
        n++;
    }
    return n;
}

/* What is kept of parameter i by a rule, in numbers. */
static int64_t count_numbers(const asc_optim *o, const asc_rule_def *rule, int i)
{
    return (count_slots(rule) + is_averaged(o, i)) * asc_numel(asc_params_at(o->params, i));
}

/* Gives each parameter to the share that has the least so far, the largest first. `list` has room for all, `load` for
 * all shares. */
static void divide(asc_optim *o, int *list, int64_t *load)
{
    int shares = o->options.shares;
    for (int i = 0; i < o->count; i++) {
        list[i] = i;
    }
    memset(load, 0, (size_t)shares * sizeof *load);
    sort_by_size(o, list, o->count);
    for (int k = 0; k < o->count; k++) {
        int least = 0;
        for (int s = 1; s < shares; s++) {
            least = load[s] < load[least] ? s : least;
        }
        o->part[list[k]].share = least;
        load[least] += count_numbers(o, o->part[list[k]].rule, list[k]);
    }
}

/* Each parameter's rule and share. */
static asc_status choose(asc_optim *o, const asc_rule_for *rules)
{
    size_t bytes = (size_t)o->options.shares * sizeof(int64_t);
    int64_t *load = asc_alloc(o->ctx, bytes);
    for (int i = 0; i < o->count; i++) {
        o->part[i] = (asc_optim_part){.rule = find_rule(o, i, rules)};
    }
    if (load) {
        divide(o, o->whole, load);
    }
    asc_free(o->ctx, load, bytes);
    return asc_error(o->ctx);
}

static asc_status add_parts(asc_optim *o, const asc_rule_for *rules)
{
    if (choose(o, rules)) {
        return asc_error(o->ctx);
    }
    for (int i = 0; i < o->count; i++) {
        if (add_part(o, i)) {
            return asc_error(o->ctx);
        }
    }
    sort_by_size(o, o->whole, o->wholes);
    int64_t count = o->count;
    return add_state(o, "steps", ASC_I64, 1, &count, &o->steps);
}

/* What is said of no number stands for the usual one. */
static asc_optim_options fill_in(const asc_optim_options *given)
{
    asc_optim_options o = given ? *given : (asc_optim_options){0};
    o.rules = NULL;
    o.beta1 = o.beta1 > 0 ? o.beta1 : 0.9;
    o.beta2 = o.beta2 > 0 ? o.beta2 : 0.999;
    o.eps = o.eps > 0 ? o.eps : 1e-8;
    o.muon_momentum = o.muon_momentum > 0 ? o.muon_momentum : 0.95;
    o.shares = o.shares > 0 ? o.shares : 1;
    return o;
}

double asc_optim_numbers(asc_params *params, const asc_optim_options *options)
{
    asc_optim o = {.params = params, .options = fill_in(options)};
    double numbers = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        numbers += (double)count_numbers(&o, find_rule(&o, i, options ? options->rules : NULL), i);
    }
    return numbers;
}

static size_t each_bytes(const asc_optim *o, size_t each)
{
    return (size_t)o->count * each;
}

/* What an op made collects no gradient; one tensor under two names would be stepped twice. */
static asc_status check_params(asc_ctx *ctx, const char *function, const asc_params *params)
{
    int n = asc_params_count(params);
    for (int i = 0; i < n; i++) {
        if (!asc_is_leaf(asc_params_at(params, i))) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: params: an op made '%s', expected a leaf", function,
                            asc_params_name(params, i));
        }
        for (int j = 0; j < i; j++) {
            if (asc_is_same(asc_params_at(params, i), asc_params_at(params, j))) {
                return asc_fail(ctx, ASC_ERR_ARG, "%s: params: '%s' is the same tensor as '%s', expected each once",
                                function, asc_params_name(params, i), asc_params_name(params, j));
            }
        }
    }
    return ASC_OK;
}

/* `names`: the function and its argument, "adamw_new: params". */
static asc_optim *make(asc_ctx *ctx, asc_params *params, const char *names, const asc_optim_options *options)
{
    char function[32];
    snprintf(function, sizeof function, "%.*s", (int)strcspn(names, ":"), names);
    if (ASC_NEED(ctx, names, params) ||
        (options && (check_options(ctx, function, options) || check_rules(ctx, function, params, options->rules)))) {
        return NULL;
    }
    if (asc_params_count(params) && asc_ctx_of(asc_params_at(params, 0)) != ctx) { /* a list is of one context */
        asc_fail(ctx, ASC_ERR_ARG, "%s belongs to another context", names);
        return NULL;
    }
    if (check_params(ctx, function, params)) {
        return NULL;
    }
    asc_optim *o = asc_alloc(ctx, sizeof *o);
    if (!o) {
        return NULL;
    }
    *o = (asc_optim){.ctx = ctx,
                     .params = params,
                     .count = asc_params_count(params),
                     .options = fill_in(options),
                     .state = asc_params_new(ctx)};
    o->part = asc_alloc(ctx, each_bytes(o, sizeof *o->part));
    o->whole = asc_alloc(ctx, each_bytes(o, sizeof *o->whole));
    o->update = asc_alloc(ctx, each_bytes(o, sizeof *o->update));
    if (!o->state || !o->part || !o->whole || !o->update || add_parts(o, options ? options->rules : NULL)) {
        asc_optim_free(o);
        return NULL;
    }
    return o;
}

asc_optim *asc_optim_new(asc_ctx *ctx, asc_params *params, const asc_optim_options *options)
{
    return make(ctx, params, "optim_new: params", options);
}

asc_optim *asc_adamw_new(asc_ctx *ctx, asc_params *params, const asc_adamw_options *options)
{
    asc_adamw_options a = options ? *options : (asc_adamw_options){0};
    return make(
        ctx, params, "adamw_new: params",
        &(asc_optim_options){
            .rule = ASC_RULE_ADAMW, .weight_decay = a.weight_decay, .beta1 = a.beta1, .beta2 = a.beta2, .eps = a.eps});
}

asc_optim *asc_sgd_new(asc_ctx *ctx, asc_params *params, double momentum, double weight_decay)
{
    return make(ctx, params, "sgd_new: params",
                &(asc_optim_options){.rule = ASC_RULE_SGD, .weight_decay = weight_decay, .momentum = momentum});
}

static size_t scratch_bytes(const asc_optim *o)
{
    return (size_t)o->workers * o->worker;
}

void asc_optim_free(asc_optim *o)
{
    if (o) {
        asc_free(o->ctx, o->part, each_bytes(o, sizeof *o->part));
        asc_free(o->ctx, o->whole, each_bytes(o, sizeof *o->whole));
        asc_free(o->ctx, o->update, each_bytes(o, sizeof *o->update));
        asc_free(o->ctx, o->scratch, scratch_bytes(o));
        asc_params_free(o->state);
        asc_free(o->ctx, o, sizeof *o);
    }
}

int asc_optim_group(asc_optim *o, const char *names, double lr_scale, double weight_decay)
{
    if (!o || ASC_NEED(o->ctx, "optim_group: names", names)) {
        return 0;
    }
    bool fits = lr_scale <= most;
    if (!fits || !(weight_decay <= most)) {
        refuse(o->ctx, "optim_group", fits ? "weight_decay" : "lr_scale", fits ? weight_decay : lr_scale,
               "a number of at most 1e18");
        return 0;
    }
    int n = 0;
    for (int i = 0; i < o->count; i++) {
        if (asc_name_matches(names, asc_params_name(o->params, i))) {
            asc_optim_setting *was = &o->part[i].setting;
            was->lr_scale = lr_scale < 0 ? was->lr_scale : lr_scale;
            was->weight_decay = weight_decay < 0 ? was->weight_decay : weight_decay;
            n++;
        }
    }
    if (n == 0) {
        asc_fail(o->ctx, ASC_ERR_ARG, "optim_group: no parameter has a name like '%s'", names);
    }
    return n;
}

asc_params *asc_optim_state(asc_optim *o)
{
    return o ? o->state : NULL;
}

/* ---- a step ---- */

int asc_optim_share_of(const asc_optim *o, int i)
{
    return o && i >= 0 && i < o->count ? o->part[i].share : -1;
}

double asc_optim_numbers_of_all(const asc_optim *o)
{
    double numbers = o->count;
    for (int i = 0; i < o->count; i++) {
        numbers += (double)count_numbers(o, o->part[i].rule, i);
    }
    return numbers;
}

bool asc_optim_slot(const asc_optim *o, int i, int slot, char name[ASC_OPTIM_NAME], asc_tensor *kept)
{
    const asc_optim_part *part = &o->part[i];
    int slots = count_slots(part->rule);
    if (slot > slots || (slot == slots && !is_averaged(o, i))) {
        return false;
    }
    name_slot(o, slot < slots ? part->rule->slots[slot] : "average", i, name);
    *kept = slot < slots ? part->slot[slot] : part->average;
    return true;
}

static bool takes_part(const asc_optim *o, int i)
{
    return !asc_is_null(asc_grad(asc_params_at(o->params, i))) && o->part[i].setting.lr_scale != 0;
}

asc_status asc_optim_check(const asc_optim *o, const char *name)
{
    if (asc_params_count(o->params) != o->count) {
        return asc_fail(o->ctx, ASC_ERR_STATE, "%s: the list has %d parameters, had %d when the optimiser was made",
                        name, asc_params_count(o->params), o->count);
    }
    for (int i = 0; i < o->count; i++) {
        asc_tensor p = asc_params_at(o->params, i);
        if ((is_averaged(o, i) || takes_part(o, i)) && !asc_is_contiguous(p)) {
            return asc_fail(o->ctx, ASC_ERR_ARG, "%s: %s is not contiguous", name, asc_params_name(o->params, i));
        }
    }
    return ASC_OK;
}

/* Room for a matrix on each of the context's threads, whose number may change between steps. */
static asc_status make_room(asc_optim *o)
{
    if (o->wholes == 0 || (o->scratch && o->workers >= asc_threads(o->ctx))) {
        return ASC_OK;
    }
    asc_free(o->ctx, o->scratch, scratch_bytes(o));
    o->workers = asc_threads(o->ctx);
    for (int k = 0; k < o->wholes; k++) {
        size_t bytes = o->part[o->whole[k]].rule->scratch(asc_params_at(o->params, o->whole[k]));
        o->worker = bytes > o->worker ? bytes : o->worker;
    }
    o->scratch = asc_alloc(o->ctx, scratch_bytes(o));
    return o->scratch ? ASC_OK : ASC_ERR_MEMORY;
}

/* Counts the step of parameter i. */
static asc_optim_update begin(const asc_optim *o, int i, double lr, double grad_scale)
{
    asc_data_mut(asc_params_at(o->params, i)); /* a tape that saved the old value must not be used any more */
    int64_t *steps = asc_data_mut(o->steps);
    return (asc_optim_update){i, ++steps[i], lr * o->part[i].setting.lr_scale, grad_scale};
}

typedef struct step {
    const asc_optim *o;
    asc_optim_update u;
    int64_t numel;
} step;

static void update_piece(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const step *s = arg;
    int64_t from = piece * PIECE, n = s->numel - from < PIECE ? s->numel - from : PIECE;
    s->o->part[s->u.i].rule->piece(s->o, &s->u, from, n);
}

static void update_whole(void *arg, int64_t piece, int worker)
{
    const asc_optim *o = arg;
    const asc_optim_update *u = &o->update[piece];
    o->part[u->i].rule->whole(o, u, o->scratch + (size_t)worker * o->worker);
}

static asc_status check_step(const asc_optim *o, double lr, double grad_scale)
{
    if (!(lr >= 0 && lr <= most)) {
        return refuse(o->ctx, "optim_step", "lr", lr, from_0);
    }
    if (!(fabs(grad_scale) <= most)) {
        return refuse(o->ctx, "optim_step", "grad_scale", grad_scale, "a number from -1e18 to 1e18");
    }
    for (int i = 0; i < o->count; i++) {
        double scale = o->part[i].setting.lr_scale;
        if (!(lr * scale <= most)) {
            return asc_fail(o->ctx, ASC_ERR_ARG, "optim_step: lr is %g and a group's scale of it %g, expected at most "
                            "1e18 in all", lr, scale);
        }
    }
    return ASC_OK;
}

asc_status asc_optim_step(asc_optim *o, double lr, double grad_scale)
{
    if (!o) {
        return ASC_ERR_ARG;
    }
    if (o->ctx->status) { /* of the pass that made the gradients, say */
        return o->ctx->status;
    }
    if (check_step(o, lr, grad_scale) || asc_optim_check(o, "optim_step") || make_room(o)) {
        return asc_error(o->ctx);
    }
    if (o->swapped) {
        return asc_fail(o->ctx, ASC_ERR_STATE,
                        "optim_step: the averages stand in the parameters' place: "
                        "asc_optim_swap_average puts them back");
    }
    for (int i = 0; i < o->count; i++) {
        if (!takes_part(o, i) || (is_own(o, i) && !o->part[i].rule->piece)) {
            continue;
        }
        step s = {o, begin(o, i, lr, grad_scale), asc_numel(asc_params_at(o->params, i))};
        if (is_own(o, i)) {
            asc_parallel(o->ctx, (s.numel + PIECE - 1) / PIECE, update_piece, &s);
        }
    }
    int wholes = 0;
    for (int k = 0; k < o->wholes; k++) {
        if (takes_part(o, o->whole[k])) {
            o->update[wholes++] = begin(o, o->whole[k], lr, grad_scale);
        }
    }
    asc_parallel(o->ctx, wholes, update_whole, o);
    return ASC_OK;
}
