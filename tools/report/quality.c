/* tools/report/quality.c: the number by which a report judges its models. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/report/report.h"

/* NaN of a classifier, whose losses are of classes. */
static double perplexity_of(const trained *t)
{
    return report_is_classifier(t) ? (double)NAN
           : t->scores    ? t->scores->result.ppl
           : t->by_itself ? asc_run_info_of(t->run)->best.valid_ppl
                          : (double)NAN;
}

static double bits_of(const trained *t)
{
    return report_is_classifier(t) ? (double)NAN
           : t->scores    ? t->scores->result.bits_per_byte
           : t->by_itself ? asc_run_info_of(t->run)->best.valid_bits_per_byte
                          : (double)NAN;
}

static uint32_t text_of(const asc_scores *s)
{
    return s->text_checksum;
}

static uint32_t tokens_of(const asc_scores *s)
{
    return s->token_checksum;
}

/* Whether models with scores, of one cell or with -1 of all, have different checksums. */
static bool have_other(const report *r, int cell, uint32_t (*checksum)(const asc_scores *s))
{
    const asc_scores *first = NULL;
    bool other = false;
    for (int i = 0; i < r->n_variants; i++) {
        for (int64_t k = 0; k < r->variants[i].n && (cell < 0 || r->variants[i].cell == cell); k++) {
            const asc_scores *scores = r->variants[i].runs[k].scores;
            first = first ? first : scores;
            other = other || (scores && checksum(scores) != checksum(first));
        }
    }
    return other;
}

bool report_texts_differ(const report *r)
{
    return have_other(r, -1, text_of);
}

/* Those of one text, and those that are compared with one another whatever their texts. */
bool report_tokens_differ(const report *r)
{
    bool any = !report_texts_differ(r) && have_other(r, -1, tokens_of);
    for (int c = 0; c < r->n_cells; c++) {
        any = any || have_other(r, c, tokens_of);
    }
    return any;
}

double report_unknown(const variant *v)
{
    const trained *first = v->runs;
    return v->n > 0 && first->scores ? first->scores->result.unknown : 0;
}

bool report_unknown_counts(const report *r)
{
    bool any = false;
    for (int i = 0; i < r->n_variants; i++) {
        any = any || report_unknown(&r->variants[i]) > ASC_UNKNOWN_MOST;
    }
    return any && report_tokens_differ(r);
}

static double wrong_of(const trained *t)
{
    double right = t->scores      ? t->scores->result.accuracy
                   : t->by_itself ? asc_run_info_of(t->run)->best.valid_accuracy
                                  : (double)NAN;
    return 100 * (1 - right);
}

bool report_is_classifier(const trained *t)
{
    const char *head = asc_run_setting(t->run, "head"); /* JSON */
    return t->scores ? t->scores->classes > 0
                     : head && (strcmp(head, "\"classifier\"") == 0 || strcmp(head, "\"pairs\"") == 0);
}

bool report_is_of_classes(const report *r)
{
    bool any = false;
    for (int i = 0; i < r->n_variants; i++) {
        for (int64_t k = 0; k < r->variants[i].n; k++) {
            if (!report_is_classifier(&r->variants[i].runs[k])) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

bool report_is_by_itself(const report *r)
{
    for (int i = 0; i < r->n_variants; i++) {
        if (r->variants[i].n > 0) {
            return r->variants[i].runs[0].by_itself;
        }
    }
    return false;
}

report_number *report_quality(const report *r)
{
    return report_is_of_classes(r) ? wrong_of : report_tokens_differ(r) ? bits_of : perplexity_of;
}

const char *report_quality_title(const report *r)
{
    static char title[60];
    snprintf(title, sizeof title, "%s (%s)",
             report_is_of_classes(r)   ? "share wrong, %"
             : report_tokens_differ(r) ? "bits per byte"
                                       : "perplexity",
             report_is_by_itself(r) ? "valid" : r->split);
    return title;
}
