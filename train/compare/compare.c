/* train/compare/compare.c: systems of one model or several seeds against one another, over items and over seeds. */
#include <ascgrad/compare.h>

#include <math.h>
#include <string.h>

#include "stats/stats.h"
#include "tensor/need.h"
#include "train/compare/items.h"

/* A result and what it points to. */
typedef struct holder {
    asc_compared compared;
    asc_system_result *system;
    asc_comparison *comparison;
    asc_class_comparison *classes; /* [comparisons], of classifiers; else NULL */
    asc_mcnemar *mcnemar;          /* [n_mcnemar] */
    int64_t n_mcnemar;
    char reason[400];
} holder;

/* A comparison on its way. */
typedef struct work {
    asc_ctx *ctx;
    const asc_system *systems;
    int64_t n;
    const asc_compare_options *options;
    asc_items items;
    double *mean;    /* [n, items]: each item's mean over a system's seeds */
    double *seed[2]; /* [items]: of two seeds of a system */
    int64_t values;  /* in all of these */
    uint8_t *right[2]; /* [items]: of a seed each of two classifiers; or NULL */
    double *over;    /* [most seeds, 3]: a value of each seed, or of each pair of seeds */
    int64_t most;
    bool classes; /* all systems are classifiers */
} work;

/* ---- arguments ---- */

static asc_status check_system(asc_ctx *ctx, const asc_system *system, int64_t i)
{
    if (!system->name || !system->scores || system->seeds < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "compare: system %lld has %s, expected a name and one seed or more",
                        (long long)i, system->name ? "no scores" : "no name");
    }
    for (int64_t s = 0; s < system->seeds; s++) {
        const asc_scores *scores = system->scores[s];
        if (!scores || !scores->blocks || scores->n_blocks < 1) {
            return asc_fail(ctx, ASC_ERR_ARG, "compare: %s: there are no scores of seed %lld of %lld", system->name,
                            (long long)s + 1, (long long)system->seeds);
        }
        if (!isfinite(scores->result.loss)) {
            return asc_fail(ctx, ASC_ERR_NONFINITE, "%s: its loss is not finite: there is nothing to compare",
                            system->name);
        }
    }
    return ASC_OK;
}

static asc_status check_pairs(asc_ctx *ctx, const asc_compare_options *o, int64_t n)
{
    if (o->pairs && o->n_pairs < 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "compare: n_pairs is %lld, expected 0 or more", (long long)o->n_pairs);
    }
    for (int64_t i = 0; o->pairs && i < o->n_pairs; i++) {
        for (int side = 0; side < 2; side++) {
            if (o->pairs[i][side] < 0 || o->pairs[i][side] >= n) {
                return asc_fail(ctx, ASC_ERR_ARG, "compare: pair %lld has system %lld, expected 0 to %lld",
                                (long long)i, (long long)o->pairs[i][side], (long long)n - 1);
            }
        }
    }
    return ASC_OK;
}

static asc_status check(asc_ctx *ctx, const asc_system *systems, int64_t n, const asc_compare_options *options)
{
    if (n < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "compare: there are %lld systems, expected 1 or more", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        if (check_system(ctx, &systems[i], i)) {
            return asc_error(ctx);
        }
    }
    return check_pairs(ctx, options, n);
}

/* ---- over seeds ---- */

static double loss_of(const asc_scores *s)
{
    return s->result.loss;
}

static double ppl_of(const asc_scores *s)
{
    return s->result.ppl;
}

static double bits_of(const asc_scores *s)
{
    return s->result.bits_per_byte;
}

static double accuracy_of(const asc_scores *s)
{
    return s->result.accuracy;
}

static double speed_of(const asc_scores *s)
{
    return s->tokens_per_s;
}

static asc_spread spread_of(work *w, const asc_system *system, double (*value)(const asc_scores *))
{
    asc_spread r = {NAN, NAN};
    for (int64_t i = 0; i < system->seeds; i++) {
        w->over[i] = value(system->scores[i]);
        if (!isfinite(w->over[i])) {
            return r;
        }
    }
    r.mean = asc_stats_mean(w->ctx, w->over, system->seeds, &r.std);
    return r;
}

/* Whether two models saw the same batches in the same order: a run's order follows from its seed and its blocks. */
static bool share_order(const asc_scores *a, const asc_scores *b)
{
    return a->seed >= 0 && a->seed == b->seed && a->train_checksum && a->train_checksum == b->train_checksum &&
           a->token_checksum == b->token_checksum;
}

/* Pairs up the seeds that share their order, each once: their values to over + most and over + 2 most. */
static int64_t pair_up(work *w, const asc_system *a, const asc_system *b, double (*value)(const asc_scores *))
{
    double *taken = w->over;
    memset(taken, 0, (size_t)w->most * sizeof *taken);
    int64_t n = 0;
    for (int64_t i = 0; i < a->seeds; i++) {
        for (int64_t j = 0; j < b->seeds; j++) {
            if (taken[j] == 0 && share_order(a->scores[i], b->scores[j])) {
                taken[j] = 1;
                w->over[w->most + n] = value(a->scores[i]);
                w->over[2 * w->most + n++] = value(b->scores[j]);
                break;
            }
        }
    }
    return n;
}

/* The least p of approximate randomisation, which counts what was found among the resamples; 0 where it is exact. */
static double least_share(const work *w, int64_t n)
{
    int64_t resamples = w->options->resampling.resamples;
    return n > ASC_EXACT_ITEMS ? 1 / (double)(1 + (resamples ? resamples : ASC_RESAMPLES)) : 0;
}

static asc_status test_seeds(work *w, const asc_system *a, const asc_system *b, double (*value)(const asc_scores *),
                             asc_seed_test *r)
{
    int64_t n = pair_up(w, a, b, value);
    *r = (asc_seed_test){n, NAN, NAN, NAN};
    if (n == 0) {
        return ASC_OK;
    }
    asc_pair_stats s;
    asc_status status =
        asc_stats_pair(w->ctx, w->over + w->most, w->over + 2 * w->most, n, &w->options->resampling, &s);
    if (!status) {
        double least = ldexp(2, (int)-n); /* of all patterns of signs; of those drawn, one may be left */
        *r = (asc_seed_test){n, s.difference, fmax(s.p_randomization, least), fmax(least, least_share(w, n))};
    }
    return status;
}

static double (*seed_value(asc_unit unit, bool right))(const asc_scores *)
{
    return right ? accuracy_of : unit == ASC_UNIT_TEXT ? bits_of : loss_of;
}

asc_status asc_compare_seeds(asc_ctx *ctx, const asc_system *a, const asc_system *b, asc_unit unit, bool right,
                             asc_seed_interval *result)
{
    asc_status status = ASC_NEED(ctx, "compare_seeds: a b result", a, b, result);
    if (status || check_system(ctx, a, 0) || check_system(ctx, b, 1)) {
        return status ? status : asc_error(ctx);
    }
    work w = {.ctx = ctx, .most = a->seeds > b->seeds ? a->seeds : b->seeds};
    size_t bytes = (size_t)w.most * 3 * sizeof *w.over;
    w.over = asc_alloc(ctx, bytes);
    *result = (asc_seed_interval){0, NAN, NAN, NAN};
    if (!w.over) {
        return asc_error(ctx);
    }
    result->n = pair_up(&w, a, b, seed_value(unit, right));
    double *difference = w.over + w.most;
    for (int64_t i = 0; i < result->n; i++) {
        difference[i] -= difference[w.most + i];
    }
    if (result->n > 0) {
        result->difference = asc_stats_mean(ctx, difference, result->n, NULL);
        asc_stats_interval(ctx, difference, result->n, .95, &result->low, &result->high);
    }
    asc_free(ctx, w.over, bytes);
    return asc_error(ctx);
}

/* ---- over items ---- */

static double *mean_of(const work *w, int64_t system)
{
    return w->mean + system * w->items.n;
}

/* A model's losses; of classifiers whether it is right, by which they are judged. */
static void score_seed(work *w, const asc_scores *scores, double *score)
{
    memset(score, 0, (size_t)w->items.n * sizeof *score);
    if (!w->classes) {
        asc_items_add(&w->items, scores, 1, score);
        return;
    }
    asc_items_right(&w->items, scores, w->right[0]);
    for (int64_t i = 0; i < w->items.n; i++) {
        score[i] = w->right[0][i];
    }
}

static void score_systems(work *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        const asc_system *s = &w->systems[i];
        memset(mean_of(w, i), 0, (size_t)w->items.n * sizeof *w->mean);
        for (int64_t seed = 0; seed < s->seeds; seed++) {
            asc_items_add(&w->items, s->scores[seed], 1 / (double)s->seeds, mean_of(w, i));
        }
    }
}

/* How many pairs of the system's own seeds differ by the test that systems are compared with. */
static asc_status compare_seeds(work *w, const asc_system *system, asc_system_result *r)
{
    r->seed_pairs = system->seeds * (system->seeds - 1) / 2;
    for (int64_t i = 0; i < system->seeds; i++) {
        score_seed(w, system->scores[i], w->seed[0]);
        for (int64_t j = 0; j < i; j++) {
            asc_pair_stats s;
            score_seed(w, system->scores[j], w->seed[1]);
            if (asc_stats_pair(w->ctx, w->seed[0], w->seed[1], w->items.n, &w->options->resampling, &s)) {
                return asc_error(w->ctx);
            }
            r->differing += s.p_randomization < 0.05;
        }
    }
    return ASC_OK;
}

static asc_status describe(work *w, const asc_system *system, asc_system_result *r)
{
    *r = (asc_system_result){.seeds = system->seeds, .parameters = system->scores[0]->parameters};
    r->loss = spread_of(w, system, loss_of);
    r->ppl = spread_of(w, system, ppl_of);
    r->bits_per_byte = spread_of(w, system, bits_of);
    r->tokens_per_s = spread_of(w, system, speed_of);
    r->accuracy = spread_of(w, system, accuracy_of);
    return compare_seeds(w, system, r);
}

static asc_status compare_pair(work *w, int64_t a, int64_t b, asc_comparison *r)
{
    *r = (asc_comparison){.a = a, .b = b};
    asc_status status =
        asc_stats_pair(w->ctx, mean_of(w, a), mean_of(w, b), w->items.n, &w->options->resampling, &r->items);
    return status ? status
                  : test_seeds(w, &w->systems[a], &w->systems[b], seed_value(w->items.unit, false), &r->seeds);
}

/* ---- classifiers ---- */

static int64_t fewer_seeds(const asc_system *a, const asc_system *b)
{
    return a->seeds < b->seeds ? a->seeds : b->seeds;
}

/* Each item's share of the system's seeds that find its class. */
static void share_right(work *w, const asc_system *system, double *share)
{
    memset(share, 0, (size_t)w->items.n * sizeof *share);
    for (int64_t s = 0; s < system->seeds; s++) {
        asc_items_right(&w->items, system->scores[s], w->right[0]);
        for (int64_t i = 0; i < w->items.n; i++) {
            share[i] += w->right[0][i] / (double)system->seeds;
        }
    }
}

static asc_status compare_classes(work *w, const asc_system *a, const asc_system *b, asc_mcnemar *mcnemar,
                                  asc_class_comparison *r)
{
    *r = (asc_class_comparison){.n_mcnemar = fewer_seeds(a, b), .mcnemar = mcnemar};
    share_right(w, a, w->seed[0]);
    share_right(w, b, w->seed[1]);
    asc_status status = asc_stats_pair(w->ctx, w->seed[0], w->seed[1], w->items.n, &w->options->resampling, &r->items);
    status = status ? status : test_seeds(w, a, b, seed_value(w->items.unit, true), &r->seeds);
    for (int64_t s = 0; !status && s < r->n_mcnemar; s++) {
        asc_items_right(&w->items, a->scores[s], w->right[0]);
        asc_items_right(&w->items, b->scores[s], w->right[1]);
        status = asc_stats_mcnemar(w->ctx, w->right[0], w->right[1], w->items.n, &mcnemar[s]);
    }
    return status;
}

static asc_status take_class_memory(work *w, holder *h)
{
    const asc_compared *c = &h->compared;
    for (int64_t i = 0; i < c->n_comparisons; i++) {
        const asc_comparison *one = &h->comparison[i];
        h->n_mcnemar += fewer_seeds(&w->systems[one->a], &w->systems[one->b]);
    }
    h->classes = asc_alloc(w->ctx, (size_t)c->n_comparisons * sizeof *h->classes);
    h->mcnemar = asc_alloc(w->ctx, (size_t)h->n_mcnemar * sizeof *h->mcnemar);
    return asc_error(w->ctx);
}

/* ---- all of it ---- */

/* Adjusts the p values at offset `from` of n comparisons of `size` bytes, into offset `to`. */
static asc_status adjust(asc_ctx *ctx, void *comparisons, int64_t n, size_t size, size_t from, size_t to)
{
    size_t bytes = (size_t)n * sizeof(double);
    double *p = asc_alloc(ctx, bytes);
    if (!p) {
        return ASC_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(&p[i], (char *)comparisons + (size_t)i * size + from, sizeof *p);
    }
    asc_status status = asc_stats_holm(ctx, p, n, p);
    for (int64_t i = 0; i < n; i++) {
        memcpy((char *)comparisons + (size_t)i * size + to, &p[i], sizeof *p);
    }
    asc_free(ctx, p, bytes);
    return status;
}

static asc_status compare_all_classes(work *w, holder *h)
{
    int64_t at = 0, n = h->compared.n_comparisons;
    asc_status status = take_class_memory(w, h);
    for (int64_t i = 0; !status && i < n; i++) {
        asc_comparison *c = &h->comparison[i];
        c->classes = &h->classes[i];
        status = compare_classes(w, &w->systems[c->a], &w->systems[c->b], h->mcnemar + at, &h->classes[i]);
        at += h->classes[i].n_mcnemar;
    }
    return status
               ? status
               : adjust(w->ctx, h->classes, n, sizeof *h->classes,
                        offsetof(asc_class_comparison, items.p_randomization), offsetof(asc_class_comparison, p_holm));
}

static asc_status compare_all(work *w, holder *h)
{
    asc_compared *c = &h->compared;
    const int64_t(*pairs)[2] = w->options->pairs;
    score_systems(w);
    for (int64_t i = 0; i < w->n; i++) {
        if (describe(w, &w->systems[i], &h->system[i])) {
            return asc_error(w->ctx);
        }
    }
    for (int64_t i = 0; i < c->n_comparisons; i++) {
        if (compare_pair(w, pairs ? pairs[i][0] : i + 1, pairs ? pairs[i][1] : 0, &h->comparison[i])) {
            return asc_error(w->ctx);
        }
    }
    if (w->classes && c->n_comparisons > 0 && compare_all_classes(w, h)) {
        return asc_error(w->ctx);
    }
    c->unit = w->items.unit;
    c->n = w->items.n;
    memcpy(h->reason, w->items.reason, sizeof h->reason);
    c->reason = *h->reason ? h->reason : NULL;
    asc_status status = adjust(w->ctx, h->comparison, c->n_comparisons, sizeof *h->comparison,
                               offsetof(asc_comparison, items.p_randomization), offsetof(asc_comparison, p_holm));
    return status ? status
                  : adjust(w->ctx, h->comparison, c->n_comparisons, sizeof *h->comparison,
                           offsetof(asc_comparison, items.p_bootstrap), offsetof(asc_comparison, p_holm_bootstrap));
}

static asc_status take_memory(work *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        w->most = w->systems[i].seeds > w->most ? w->systems[i].seeds : w->most;
    }
    w->values = (w->n + 2) * w->items.n;
    w->mean = asc_alloc(w->ctx, (size_t)w->values * sizeof *w->mean);
    w->over = asc_alloc(w->ctx, (size_t)w->most * 3 * sizeof *w->over);
    if (!w->mean || !w->over) {
        return ASC_ERR_MEMORY;
    }
    w->seed[0] = w->mean + w->n * w->items.n;
    w->seed[1] = w->seed[0] + w->items.n;
    w->classes = asc_items_classes(&w->items, w->systems, w->n);
    w->right[0] = w->classes ? asc_alloc(w->ctx, 2 * (size_t)w->items.n) : NULL;
    w->right[1] = w->right[0] ? w->right[0] + w->items.n : NULL;
    return asc_error(w->ctx);
}

static holder *holder_new(asc_ctx *ctx, int64_t systems, int64_t comparisons)
{
    holder *h = asc_alloc(ctx, sizeof *h);
    if (!h) {
        return NULL;
    }
    *h = (holder){.compared = {.n_systems = systems, .n_comparisons = comparisons}};
    h->system = asc_alloc(ctx, (size_t)systems * sizeof *h->system);
    h->comparison = asc_alloc(ctx, (size_t)comparisons * sizeof *h->comparison);
    h->compared.system = h->system;
    h->compared.comparison = h->comparison;
    if (!h->system || !h->comparison) {
        asc_compared_free(ctx, &h->compared);
        return NULL;
    }
    return h;
}

void asc_compared_free(asc_ctx *ctx, asc_compared *c)
{
    if (ctx && c) {
        holder *h = (holder *)c;
        asc_free(ctx, h->system, (size_t)c->n_systems * sizeof *h->system);
        asc_free(ctx, h->comparison, (size_t)c->n_comparisons * sizeof *h->comparison);
        asc_free(ctx, h->classes, (size_t)c->n_comparisons * sizeof *h->classes);
        asc_free(ctx, h->mcnemar, (size_t)h->n_mcnemar * sizeof *h->mcnemar);
        asc_free(ctx, h, sizeof *h);
    }
}

asc_compared *asc_compare(asc_ctx *ctx, const asc_system *systems, int64_t n, const asc_compare_options *options)
{
    static const asc_compare_options defaults = {0};
    options = options ? options : &defaults;
    if (ASC_NEED(ctx, "compare: systems", systems) || asc_error(ctx) || check(ctx, systems, n, options)) {
        return NULL;
    }
    work w = {.ctx = ctx, .systems = systems, .n = n, .options = options};
    holder *h = holder_new(ctx, n, options->pairs ? options->n_pairs : n - 1);
    asc_status status = h ? asc_items_choose(ctx, systems, n, &w.items) : ASC_ERR_MEMORY;
    status = status ? status : take_memory(&w);
    status = status ? status : compare_all(&w, h);
    asc_free(ctx, w.mean, (size_t)w.values * sizeof *w.mean);
    asc_free(ctx, w.over, (size_t)w.most * 3 * sizeof *w.over);
    asc_free(ctx, w.right[0], 2 * (size_t)w.items.n);
    asc_items_clear(ctx, &w.items);
    if (status && h) {
        asc_compared_free(ctx, &h->compared);
    }
    return status ? NULL : &h->compared;
}
