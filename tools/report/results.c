/* tools/report/results.c: what the models came to, and what that cost. */
#include <math.h>
#include <string.h>

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
            any = any || !isnan(report_spread(r, &r->variants[i], measures[m].of).mean);
        }
        columns[FIXED + m] = measures[m].column;
        columns[FIXED + m].absent = !any;
    }
    columns[FIXED + m] = (column){0};
}

static void put_variant(report *r, table *t, const variant *v, const measure *measures)
{
    table_noted(t, v->name, r->cells[v->cell].baseline == v - r->variants ? " (baseline)" : "");
    table_number(t, (double)v->n);
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

/* What the seeds of all comparisons can reach. */
typedef struct reach {
    int64_t comparisons, shared; /* how many there are, and how many of these have seeds that both systems share */
    double p;                    /* the least of all; 1 where there is none */
} reach;

static reach reach_of(const report *r)
{
    reach all = {0, 0, 1};
    for (int c = 0; c < r->n_cells; c++) {
        const asc_compared *compared = r->cells[c].compared;
        for (int64_t i = 0; compared && i < compared->n_comparisons; i++) {
            all.comparisons++;
            all.shared += compared->comparison[i].seeds.n > 0;
            all.p = fmin(all.p, compared->comparison[i].seeds.p_least); /* NaN is passed over */
        }
    }
    return all;
}

static void explain_marks(report *r)
{
    document_text(&r->doc,
                  "Mean \xc2\xb1 sample deviation over the seeds. * and **: better than the baseline, the best of its "
                  "kind, with p < 0.05 and p < 0.01, \xe2\x80\xa0 and \xe2\x80\xa0\xe2\x80\xa0: worse, by "
                  "randomisation over the items (Holm over the comparisons of a table) and also over the seeds (of "
                  "each comparison by itself: of twenty a mark or so comes by chance), with the same sign.");
    reach all = reach_of(r);
    if (all.comparisons > 0 && all.shared == 0) {
        document_text(&r->doc, "No star can stand here: no seed of two systems saw the same blocks in the same order, "
                               "so nothing is said over seeds.");
    } else if (all.shared > 0 && all.p >= .05) {
        document_text(
            &r->doc,
            "No star can stand here: n seeds of each of two systems reach p = 2/2^n at best, %.3g with these; "
            "0.05 needs six.",
            all.p);
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

/* A word that is unknown to a vocabulary costs it few bits, whatever it is. */
static void tell_unknown(report *r)
{
    for (int i = 0; i < r->n_variants; i++) {
        double share = report_unknown(&r->variants[i]);
        if (share > ASC_UNKNOWN_MOST) {
            document_item(&r->doc, r->variants[i].name,
                          "%.2f %% of its tokens are unknown words: its bits per byte compare with no other "
                          "vocabulary's", 100 * share);
        }
    }
    document_items_end(&r->doc);
}

static void tell_hard(report *r)
{
    const char *name = json_string_value(json_object_get(r->wants, "hard"));
    if (name && r->n_hard > 0) {
        document_text(&r->doc, "The hard are the %lld of %lld that more than half of %s's models get wrong.",
                      (long long)r->n_hard, (long long)r->items->n_blocks, name);
    } else if (name && !r->items) {
        document_text(&r->doc, "Of %s no classifier was evaluated: nothing counts as hard.", name);
    }
}

void report_results(report *r)
{
    char title[60];
    document_heading(&r->doc, "Results");
    snprintf(title, sizeof title, "Quality on the %s split", report_is_by_itself(r) ? "valid" : r->split);
    put_tables(r, "results", title, quality);
    if (report_tokens_differ(r)) {
        document_text(&r->doc, "The models have different tokens: bits per byte compare, perplexities do not.");
        tell_unknown(r);
    }
    tell_carry(r);
    tell_hard(r);
    explain_marks(r);
    put_tables(r, "cost", "What it cost", costs);
}
