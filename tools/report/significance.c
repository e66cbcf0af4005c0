/* tools/report/significance.c: models against models, over items and over seeds. */
#include <math.h>

#include "tools/compare.h"
#include "tools/report/report.h"

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
    {"seeds, difference", "seeds_difference", COLUMN_NUMBER, 4, false},
    {"95 %: from", "seeds_ci_low", COLUMN_NUMBER, 4, false},
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
    {"seeds, difference", "seeds_difference", COLUMN_NUMBER, 2, false},
    {"95 %: from", "seeds_ci_low", COLUMN_NUMBER, 2, false},
    {"to", "seeds_ci_high", COLUMN_NUMBER, 2, false},
    {"p seeds", "p_seeds", COLUMN_NUMBER, -1, false},
    {"McNemar: p median", "mcnemar_p_median", COLUMN_NUMBER, -1, false},
    {"p < 0.05", "mcnemar_differing", COLUMN_NUMBER, 0, false},
    {"of", "mcnemar_tests", COLUMN_NUMBER, 0, false},
    {0},
};

/* Of the tests of model against model the median p, NaN without one, and how many are below 0.05. */
static double median_p(report *r, const asc_class_comparison *c, int64_t *low)
{
    asc_scope_begin(r->ctx);
    double *p = report_numbers(r, c->n_mcnemar);
    *low = 0;
    for (int64_t i = 0; p && i < c->n_mcnemar; i++) {
        p[i] = c->mcnemar[i].p;
        *low += p[i] < .05;
    }
    double median = p ? cli_median(p, c->n_mcnemar) : NAN;
    asc_scope_end(r->ctx);
    return median;
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

/* Whether the cell's systems are compared by how often they are right, too. */
static bool has_rights(const cell *c)
{
    return c->compared->n_comparisons > 0 && c->compared->comparison->classes;
}

static void put_rights(report *r, const cell *c, int number)
{
    char name[40], title[REPORT_NAME + 60];
    snprintf(name, sizeof name, number ? "classes-%d" : "classes", number + 1);
    snprintf(title, sizeof title, "%s%show often right", c->name, *c->name ? ": " : "");
    table t;
    table_begin(&t, &r->doc, name, title, rights);
    for (int64_t k = 0; k < c->compared->n_comparisons; k++) {
        const asc_comparison *one = &c->compared->comparison[k];
        const asc_class_comparison *s = one->classes;
        int64_t low;
        double p = median_p(r, s, &low);
        asc_seed_interval seeds = over_seeds(r, c, one, true);
        table_text(&t, r->variants[c->order[one->a]].name);
        table_text(&t, r->variants[c->order[one->b]].name);
        const double numbers[] = {100 * s->items.difference,
                                  100 * s->items.ci_low,
                                  100 * s->items.ci_high,
                                  s->items.p_randomization,
                                  s->p_holm,
                                  (double)s->seeds.n,
                                  100 * seeds.difference,
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
                              seeds.difference, seeds.low, seeds.high,    one->seeds.p};
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

/* Whether systems are compared that have seeds of their own, which a difference of means over items has, too; or no
 * seed that counts as the other's. */
static bool has_other_seeds(const cell *c, bool none)
{
    bool other = false;
    for (int64_t k = 0; k < c->compared->n_comparisons; k++) {
        const asc_comparison *one = &c->compared->comparison[k];
        int64_t n = one->seeds.n;
        bool fewer = n < c->compared->system[one->a].seeds || n < c->compared->system[one->b].seeds;
        other = other || (fewer && (n == 0) == none);
    }
    return other;
}

void report_significance(report *r)
{
    document_heading(&r->doc, "Significance");
    bool any = false, other = false, none = false, right = false, refused = false;
    for (int i = 0; i < r->n_cells; i++) {
        const cell *c = &r->cells[i];
        char name[40], title[REPORT_NAME + 120];
        if (!c->compared) {
            if (*c->reason) {
                document_text(&r->doc, "%s%snot compared: %s.", c->name, *c->name ? ": " : "", c->reason);
            }
            refused = refused || *c->reason;
            continue;
        }
        any = true;
        other = other || has_other_seeds(c, false);
        none = none || has_other_seeds(c, true);
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
        if (has_rights(c)) {
            put_rights(r, c, i);
            right = true;
        }
        tell_spread(r, c);
    }
    if (any) {
        document_text(&r->doc,
                      "A difference below 0%s: the system predicts better. Tests and intervals over items stand for "
                      "other texts, not for other seeds: \"p seeds\", exact up to 12, and the interval before it, by "
                      "Student's t, are about those.", right ? ", of how often right above 0" : "");
    } else if (!refused) {
        document_text(&r->doc, "There is nothing to compare: two systems with models that were evaluated and a "
                               "baseline among them are needed.");
    }
    if (other) {
        document_text(&r->doc, "Where two systems have other seeds than one another, the difference is that of their "
                               "means, each over all that it has; what \"seeds\" says is of those that both have, "
                               "pair by pair.");
    }
    if (none) {
        document_text(&r->doc, "Where \"seeds\" is 0, no seed of the two systems saw the same data in the same order: "
                               "there are no pairs of seeds to test.");
    }
}
