/* tools/report/tables.c: results, significance, machines, failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare.h"
#include "tools/experiment/experiment.h"
#include "tools/report/report.h"

/* ---- numbers of a run ---- */

/* A classifier's losses are of classes: no perplexity, and no bits of the text. */
static double ppl_of(const trained *t)
{
    return t->scores && !t->scores->classes ? t->scores->result.ppl : NAN;
}

static double bits_of(const trained *t)
{
    return t->scores && !t->scores->classes ? t->scores->result.bits_per_byte : NAN;
}

static double class_accuracy_of(const trained *t)
{
    return t->scores && t->scores->classes ? 100 * t->scores->result.accuracy : NAN;
}

static double class_loss_of(const trained *t)
{
    return t->scores && t->scores->classes ? t->scores->result.loss : NAN;
}

static double ece_of(const trained *t)
{
    return t->scores && t->scores->classes ? 100 * t->scores->result.ece : NAN;
}

static double hard_of(const trained *t)
{
    return 100 * t->hard;
}

static double accuracy_of(const trained *t)
{
    return t->scores && !t->scores->classes ? 100 * t->scores->result.accuracy : NAN;
}

static double valid_ppl_of(const trained *t)
{
    return report_is_classifier(t) ? (double)NAN : asc_run_info_of(t->run)->best.valid_ppl;
}

static double valid_accuracy_of(const trained *t)
{
    const asc_run_info *i = asc_run_info_of(t->run);
    return i->by_accuracy || report_is_classifier(t) ? 100 * i->best.valid_accuracy : (double)NAN;
}

static double parameters_of(const trained *t)
{
    return t->scores ? (double)t->scores->parameters : asc_run_info_of(t->run)->parameters;
}

static double gflop_of(const trained *t)
{
    return asc_run_info_of(t->run)->gflop_per_token;
}

static double mixing_of(const trained *t)
{
    return t->mixing_gflop;
}

static double speed_of(const trained *t)
{
    return asc_run_info_of(t->run)->tokens_per_s;
}

static double minutes_of(const trained *t)
{
    return asc_run_info_of(t->run)->wall_s / 60;
}

static double memory_of(const trained *t)
{
    return asc_run_info_of(t->run)->peak_rss_mib;
}

/* ---- results ---- */

typedef struct measure {
    column column;
    report_number *of;
    bool marked; /* the stars stand here */
} measure;

static const measure quality[] = {
    {{"perplexity", "ppl", COLUMN_SPREAD, 2, false}, ppl_of, true},
    {{"bits per byte", "bits_per_byte", COLUMN_SPREAD, 4, false}, bits_of, false},
    {{"tokens right, %", "accuracy", COLUMN_SPREAD, 2, false}, accuracy_of, false},
    {{"perplexity, valid", "valid_ppl", COLUMN_SPREAD, 2, false}, valid_ppl_of, false},
    {{"accuracy, %", "class_accuracy", COLUMN_SPREAD, 2, false}, class_accuracy_of, true},
    {{"of the hard, %", "hard_accuracy", COLUMN_SPREAD, 2, false}, hard_of, false},
    {{"loss, nats", "class_loss", COLUMN_SPREAD, 4, false}, class_loss_of, false},
    {{"ECE, %", "ece", COLUMN_SPREAD, 2, false}, ece_of, false},
    {{"accuracy, valid, %", "valid_accuracy", COLUMN_SPREAD, 2, false}, valid_accuracy_of, false},
    {.of = NULL},
};

static const measure costs[] = {
    {{"parameters", "parameters", COLUMN_NUMBER, 0, false}, parameters_of, false},
    {{"GFLOP a token", "gflop_per_token", COLUMN_NUMBER, -1, false}, gflop_of, false},
    {{"of it mixing", "mixing_gflop_per_token", COLUMN_NUMBER, -1, false}, mixing_of, false},
    {{"tokens/s", "tokens_per_s", COLUMN_SPREAD, 0, false}, speed_of, false},
    {{"minutes", "minutes", COLUMN_SPREAD, -1, false}, minutes_of, false},
    {{"peak MiB", "peak_rss_mib", COLUMN_SPREAD, 0, false}, memory_of, false},
    {.of = NULL},
};
enum { MEASURES = 9, FIXED = 2 };

/* The columns; those that no run has a value for are left out of the pages. */
static void choose_columns(report *r, const measure *measures, column columns[FIXED + MEASURES + 1])
{
    columns[0] = (column){"system", "system", COLUMN_TEXT, 0, false};
    columns[1] = (column){"seeds", "seeds", COLUMN_NUMBER, 0, false};
    int m = 0;
    for (; measures[m].of; m++) {
        bool any = false;
        for (int i = 0; i < r->n_variants; i++) {
            any = any || isfinite(report_spread(r, &r->variants[i], measures[m].of).mean);
        }
        columns[FIXED + m] = measures[m].column;
        columns[FIXED + m].absent = !any;
    }
    columns[FIXED + m] = (column){0};
}

static void put_variant(report *r, table *t, const variant *v, const measure *measures)
{
    table_noted(t, v->name, r->cells[v->cell].baseline == v - r->variants ? " (baseline)" : "");
    table_number(t, (double)report_seeds(v));
    for (int m = 0; measures[m].of; m++) {
        asc_spread s = report_spread(r, v, measures[m].of);
        if (measures[m].column.kind == COLUMN_SPREAD) {
            table_spread(t, s.mean, s.std, measures[m].marked ? v->mark : NULL);
        } else {
            table_number(t, s.mean);
        }
    }
}

/* A table for each cell: NAME, NAME-2, … */
static void put_tables(report *r, const char *name, const char *title, const measure *measures)
{
    column columns[FIXED + MEASURES + 1];
    choose_columns(r, measures, columns);
    for (int c = 0; c < r->n_cells; c++) {
        char file[40], heading[REPORT_NAME + 60];
        snprintf(file, sizeof file, c ? "%s-%d" : "%s", name, c + 1);
        snprintf(heading, sizeof heading, "%s%s%s", title, *r->cells[c].name ? ": " : "", r->cells[c].name);
        table t;
        table_begin(&t, &r->doc, file, heading, columns);
        for (int i = 0; i < r->n_variants; i++) {
            if (r->variants[i].cell == c) {
                put_variant(r, &t, &r->variants[i], measures);
            }
        }
        table_end(&t);
    }
}

/* The least p that the seeds of all comparisons can reach; 1 where there is none. */
static double least_p(const report *r)
{
    double least = 1;
    for (int c = 0; c < r->n_cells; c++) {
        const asc_compared *compared = r->cells[c].compared;
        for (int64_t i = 0; compared && i < compared->n_comparisons; i++) {
            least = fmin(least, compared->comparison[i].seeds.p_least); /* NaN is passed over */
        }
    }
    return least;
}

static void explain_marks(report *r)
{
    document_text(&r->doc,
                  "Mean \xc2\xb1 sample deviation over the seeds. * and **: better than the baseline, the best of its "
                  "kind, with p < 0.05 and p < 0.01, \xe2\x80\xa0 and \xe2\x80\xa0\xe2\x80\xa0: worse, by "
                  "randomisation over the items (Holm over the comparisons of a table) and also over the seeds (of "
                  "each comparison by itself: of twenty a mark or so comes by chance), with the same sign.");
    if (least_p(r) >= .05 && least_p(r) < 1) {
        document_text(
            &r->doc,
            "No star can stand here: n seeds of each of two systems reach p = 2/2^n at best, %.3g with these; "
            "0.05 needs six.",
            least_p(r));
    }
}

/* Where models were trained with carried context, which the losses of their runs have: whether these scores do. */
static void tell_carry(report *r)
{
    bool any = false;
    for (int i = 0; i < r->n_variants; i++) {
        const char *carry = r->variants[i].n > 0 ? asc_run_setting(r->variants[i].runs[0].run, "carry") : NULL;
        any = any || (carry && strcmp(carry, "0") != 0);
    }
    if (any) {
        document_text(&r->doc,
                      r->carry ? "Models trained with carried context are evaluated on the %s split with it, as in "
                                 "training; the others block by block."
                               : "Models trained with carried context are evaluated on the %s split block by block, as "
                                 "the others; in training they were evaluated with it.", r->split);
    }
}

static void tell_hard(report *r)
{
    const char *name = json_string_value(json_object_get(r->wants, "hard"));
    if (name && r->n_hard > 0) {
        document_text(&r->doc, "The hard are the %lld of %lld that more than half of %s's models get wrong.",
                      (long long)r->n_hard, (long long)r->n_items, name);
    }
}

void report_results(report *r)
{
    char title[60];
    document_heading(&r->doc, "Results");
    snprintf(title, sizeof title, "Quality on the %s split", r->split);
    put_tables(r, "results", title, quality);
    if (report_tokens_differ(r)) {
        document_text(&r->doc, "The models have different tokens: bits per byte compare, perplexities do not.");
    }
    tell_carry(r);
    tell_hard(r);
    explain_marks(r);
    put_tables(r, "cost", "What it cost", costs);
}

/* ---- significance ---- */

static const column significance[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"against", "baseline", COLUMN_TEXT, 0, false},
    {"difference", "difference", COLUMN_NUMBER, 4, false},
    {"95 %: from", "ci_low", COLUMN_NUMBER, 4, false},
    {"to", "ci_high", COLUMN_NUMBER, 4, false},
    {"p bootstrap", "p_bootstrap", COLUMN_NUMBER, -1, false},
    {"p random.", "p_randomization", COLUMN_NUMBER, -1, false},
    {"p Holm", "p_holm", COLUMN_NUMBER, -1, false},
    {"d_z", "cohen_dz", COLUMN_NUMBER, 2, false},
    {"Cliff's \xce\xb4", "cliff_delta", COLUMN_NUMBER, 3, false},
    {"seeds", "seed_pairs", COLUMN_NUMBER, 0, false},
    {"seeds, 95 %: from", "seeds_ci_low", COLUMN_NUMBER, 4, false},
    {"to", "seeds_ci_high", COLUMN_NUMBER, 4, false},
    {"p seeds", "p_seeds", COLUMN_NUMBER, -1, false},
    {0},
};

static const column rights[] = {
    {"system", "system", COLUMN_TEXT, 0, false},
    {"against", "baseline", COLUMN_TEXT, 0, false},
    {"right, difference in %", "difference", COLUMN_NUMBER, 2, false},
    {"95 %: from", "ci_low", COLUMN_NUMBER, 2, false},
    {"to", "ci_high", COLUMN_NUMBER, 2, false},
    {"p random.", "p_randomization", COLUMN_NUMBER, -1, false},
    {"p Holm", "p_holm", COLUMN_NUMBER, -1, false},
    {"seeds", "seed_pairs", COLUMN_NUMBER, 0, false},
    {"seeds, 95 %: from", "seeds_ci_low", COLUMN_NUMBER, 2, false},
    {"to", "seeds_ci_high", COLUMN_NUMBER, 2, false},
    {"p seeds", "p_seeds", COLUMN_NUMBER, -1, false},
    {"McNemar: p median", "mcnemar_p_median", COLUMN_NUMBER, -1, false},
    {"p < 0.05", "mcnemar_differing", COLUMN_NUMBER, 0, false},
    {"of", "mcnemar_tests", COLUMN_NUMBER, 0, false},
    {0},
};

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the tests of model against model the median p, and how many are below 0.05. */
static double median_p(const asc_class_comparison *c, int64_t *low)
{
    enum { MOST = 1000 };
    double p[MOST];
    size_t n = c->n_mcnemar < MOST ? (size_t)c->n_mcnemar : MOST;
    *low = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = c->mcnemar[i].p;
        *low += p[i] < .05;
    }
    qsort(p, n, sizeof *p, rising);
    return n > 0 ? (p[(n - 1) / 2] + p[n / 2]) / 2 : NAN;
}

/* NaN where it can't be had. */
static asc_seed_interval over_seeds(report *r, const cell *c, const asc_comparison *one, bool right)
{
    asc_seed_interval interval = {0, NAN, NAN, NAN};
    asc_scope_begin(r->ctx);
    asc_system a = report_system(r, &r->variants[c->order[one->a]]);
    asc_system b = report_system(r, &r->variants[c->order[one->b]]);
    if (a.scores && b.scores) {
        asc_compare_seeds(r->ctx, &a, &b, c->compared->unit, right, &interval);
    }
    asc_scope_end(r->ctx);
    return interval;
}

static void put_rights(report *r, const cell *c, int number)
{
    char name[40], title[REPORT_NAME + 60];
    if (c->compared->n_comparisons == 0 || !c->compared->comparison->classes) {
        return;
    }
    snprintf(name, sizeof name, number ? "classes-%d" : "classes", number + 1);
    snprintf(title, sizeof title, "%s%show often right", c->name, *c->name ? ": " : "");
    table t;
    table_begin(&t, &r->doc, name, title, rights);
    for (int64_t k = 0; k < c->compared->n_comparisons; k++) {
        const asc_comparison *one = &c->compared->comparison[k];
        const asc_class_comparison *s = one->classes;
        int64_t low;
        double p = median_p(s, &low);
        asc_seed_interval seeds = over_seeds(r, c, one, true);
        table_text(&t, r->variants[c->order[one->a]].name);
        table_text(&t, r->variants[c->order[one->b]].name);
        const double numbers[] = {100 * s->items.difference,
                                  100 * s->items.ci_low,
                                  100 * s->items.ci_high,
                                  s->items.p_randomization,
                                  s->p_holm,
                                  (double)s->seeds.n,
                                  100 * seeds.low,
                                  100 * seeds.high,
                                  s->seeds.p,
                                  p,
                                  (double)low,
                                  (double)s->n_mcnemar};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            table_number(&t, numbers[i]);
        }
    }
    table_end(&t);
}

static void put_comparison(report *r, table *t, const cell *c, const asc_comparison *one)
{
    const asc_pair_stats *s = &one->items;
    asc_seed_interval seeds = over_seeds(r, c, one, false);
    table_text(t, r->variants[c->order[one->a]].name);
    table_text(t, r->variants[c->order[one->b]].name);
    const double numbers[] = {s->difference, s->ci_low,   s->ci_high,     s->p_bootstrap,       s->p_randomization,
                              one->p_holm,   s->cohen_dz, s->cliff_delta, (double)one->seeds.n,
                              seeds.low,     seeds.high,  one->seeds.p};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        table_number(t, numbers[i]);
    }
}

/* How often two seeds of one system "differ" by the same test. */
static void tell_spread(report *r, const cell *c)
{
    for (int64_t i = 0; i < c->compared->n_systems; i++) {
        const asc_system_result *s = &c->compared->system[i];
        if (s->seed_pairs > 0) {
            document_item(&r->doc, r->variants[c->order[i]].name,
                          "%lld of %lld pairs of its own seeds differ with p < 0.05 by the same test over the items",
                          (long long)s->differing, (long long)s->seed_pairs);
        }
    }
    document_items_end(&r->doc);
}

void report_significance(report *r)
{
    document_heading(&r->doc, "Significance");
    bool any = false;
    for (int i = 0; i < r->n_cells; i++) {
        const cell *c = &r->cells[i];
        char name[40], title[REPORT_NAME + 120];
        if (!c->compared) {
            continue;
        }
        any = true;
        snprintf(name, sizeof name, i ? "significance-%d" : "significance", i + 1);
        compare_words words = compare_words_of(c->compared->unit,
                                               report_is_classifier(r->variants[c->order[0]].runs));
        snprintf(title, sizeof title, "%s%s%lld %s, differences in %s", c->name, *c->name ? ": " : "",
                 (long long)c->compared->n, words.items, words.measured);
        table t;
        table_begin(&t, &r->doc, name, title, significance);
        for (int64_t k = 0; k < c->compared->n_comparisons; k++) {
            put_comparison(r, &t, c, &c->compared->comparison[k]);
        }
        table_end(&t);
        put_rights(r, c, i);
        tell_spread(r, c);
    }
    document_text(&r->doc, any ? "A difference below 0: the system predicts better. Tests and intervals over items "
                                 "stand for other texts, not for other seeds: \"p seeds\", exact up to 12, and the "
                                 "interval before it, by Student's t, are about those."
                               : "There is nothing to compare: two systems with models that were evaluated and a "
                                 "baseline among them are needed.");
}

/* ---- machines ---- */

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static bool same_machine(const asc_run_info *a, const asc_run_info *b)
{
    return strcmp(or_dash(a->processor), or_dash(b->processor)) == 0 &&
           strcmp(or_dash(a->version), or_dash(b->version)) == 0 && strcmp(or_dash(a->blas), or_dash(b->blas)) == 0 &&
           strcmp(or_dash(a->instructions), or_dash(b->instructions)) == 0 &&
           (a->threads == b->threads || (isnan(a->threads) && isnan(b->threads))) &&
           (a->memory_gib == b->memory_gib || (isnan(a->memory_gib) && isnan(b->memory_gib)));
}

/* Run number i of all the variants; NULL past the last. */
static const trained *run_at(const report *r, int64_t i)
{
    for (int v = 0; v < r->n_variants; v++) {
        if (i < r->variants[v].n) {
            return &r->variants[v].runs[i];
        }
        i -= r->variants[v].n;
    }
    return NULL;
}

static const column machines[] = {
    {"processor", "processor", COLUMN_TEXT, 0, false}, {"memory GiB", "memory_gib", COLUMN_NUMBER, 1, false},
    {"threads", "threads", COLUMN_NUMBER, 0, false},   {"instructions", "instructions", COLUMN_TEXT, 0, false},
    {"BLAS", "blas", COLUMN_TEXT, 0, false},           {"version", "version", COLUMN_TEXT, 0, false},
    {"runs", "runs", COLUMN_NUMBER, 0, false},         {0},
};

static void put_machines(report *r)
{
    const trained *t, *other;
    table rows;
    table_begin(&rows, &r->doc, "machines", "Machines", machines);
    for (int64_t i = 0; (t = run_at(r, i)); i++) {
        const asc_run_info *m = asc_run_info_of(t->run);
        int64_t first = 0, runs = 0;
        while (!same_machine(m, asc_run_info_of(run_at(r, first)->run))) {
            first++;
        }
        for (int64_t k = i; first == i && (other = run_at(r, k)); k++) {
            runs += same_machine(m, asc_run_info_of(other->run));
        }
        if (first == i) {
            table_text(&rows, m->processor);
            table_number(&rows, m->memory_gib);
            table_number(&rows, m->threads);
            table_text(&rows, m->instructions);
            table_text(&rows, m->blas);
            table_text(&rows, m->version);
            table_number(&rows, (double)runs);
        }
    }
    table_end(&rows);
}

void report_machines(report *r)
{
    const trained *t;
    double peak = NAN;
    asc_experiment_time time;
    document_heading(&r->doc, "Machines, time and memory");
    for (int64_t i = 0; (t = run_at(r, i)); i++) {
        peak = fmax(peak, memory_of(t));
    }
    if (asc_experiment_time_of(r->experiment, &time) == ASC_OK) {
        document_text(&r->doc, "Training took %.1f minutes in all, %.1f of them tuning.", time.spent_s / 60,
                      time.tuning_s / 60);
    }
    if (isfinite(peak)) {
        document_text(&r->doc, "Peak memory of a run: %.0f MiB.", peak);
    }
    put_machines(r);
}

/* ---- failures ---- */

static void put_failure(report *r, const asc_experiment_run *run)
{
    char text[EXPERIMENT_SAID];
    experiment_failure(r->experiment, run, text);
    document_item(&r->doc, run->name, "%s", run->tuning ? "of the tuning" : "failed");
    document_items_end(&r->doc);
    document_verbatim(&r->doc, *text ? text : "(nothing is known of it)");
}

void report_failures(report *r)
{
    const asc_experiment_run *run;
    bool any = false;
    for (int i = 0; (run = asc_experiment_run_at(r->experiment, i)); i++) {
        if (run->state == ASC_EXPERIMENT_STATE_FAILED) {
            if (!any) {
                document_heading(&r->doc, "What failed");
            }
            any = true;
            put_failure(r, run);
        }
    }
}
