/* tools/report/report.c: ascgrad experiment report: what an experiment found, as Markdown, HTML, tables and figures. */
#include "tools/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/experiment/experiment.h"
#include "tools/open.h"

struct args {
    const char *split, *figures;
    int64_t threads;
    bool json;
};

static const cli_option options[] = {
    {"split", 0, "SPLIT", CLI_TEXT, offsetof(struct args, split), 0, 0,
     "what the models are compared on: train, valid or test (test)"},
    {"figures", 0, "FIGURES", CLI_TEXT, offsetof(struct args, figures), 0, 0,
     "several with commas, of " REPORT_FIGURES " (those that the experiment names)"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* ---- what is wanted ---- */

/* The experiment's "report", with the options' say. */
static json_t *read_wants(const asc_experiment *e, const struct args *args)
{
    char *text = asc_experiment_json(e, "report");
    json_t *wants = text ? json_loads(text, 0, NULL) : NULL;
    asc_experiment_text_free(text);
    wants = json_is_object(wants) ? wants : json_object();
    json_t *figures = args->figures ? json_array() : NULL;
    const char *at = args->figures;
    while (at && *at) {
        size_t n = strcspn(at, ",");
        json_t *name = cli_json_text(at, n);
        if (!report_knows_figure(name)) {
            cli_wrong_usage("--figures: got '%.*s', expected of " REPORT_FIGURES, (int)n, at);
        }
        json_array_append_new(figures, name);
        at += n + (at[n] == ',');
    }
    if (figures) {
        json_object_set_new(wants, "figures", figures);
    }
    return wants;
}

/* What a key of "report" must be. */
static const struct want {
    const char *key;
    json_type type;
    const char *expected;
} known[] = {
    {"baselines", JSON_ARRAY, "a list of systems"},    {"figures", JSON_ARRAY, "a list of " REPORT_FIGURES},
    {"layer", JSON_INTEGER, "the number of a layer"},  {"lengths", JSON_ARRAY, "a list of lengths in tokens"},
    {"metric", JSON_STRING, "a key of metrics.jsonl"}, {"split", JSON_STRING, "train, valid or test"},
    {"tokens", JSON_INTEGER, "a number of tokens"},
};
enum { KNOWN = sizeof known / sizeof *known };

static asc_status check_key(const report *r, const char *key, const json_t *value)
{
    const char *names[KNOWN + 1] = {NULL};
    for (int i = 0; i < KNOWN; i++) {
        names[i] = known[i].key;
        if (strcmp(key, known[i].key) == 0) {
            return json_typeof(value) == known[i].type
                       ? ASC_OK
                       : asc_fail(r->ctx, ASC_ERR_FORMAT, "report.%s: expected %s", key, known[i].expected);
        }
    }
    return asc_fail(r->ctx, ASC_ERR_FORMAT, "report: unknown key '%.60s'; did you mean '%s'?", key,
                    asc_name_nearest(key, names));
}

static bool is_system(const report *r, const char *name)
{
    const char *system;
    for (int i = 0; (system = asc_experiment_system(r->experiment, i)); i++) {
        if (strcmp(system, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every key of "report" is known, and says something that can be done. */
static asc_status check_wants(const report *r)
{
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach(r->wants, key, value)
    {
        if (check_key(r, key, value)) {
            return asc_error(r->ctx);
        }
    }
    json_array_foreach(json_object_get(r->wants, "baselines"), i, value)
    {
        if (!json_is_string(value) || !is_system(r, json_string_value(value))) {
            return asc_fail(r->ctx, ASC_ERR_FORMAT, "report.baselines: there is no system '%.60s'",
                            json_is_string(value) ? json_string_value(value) : "?");
        }
    }
    json_array_foreach(json_object_get(r->wants, "figures"), i, value)
    {
        if (!report_knows_figure(value)) {
            return asc_fail(r->ctx, ASC_ERR_FORMAT, "report.figures: number %zu is none of " REPORT_FIGURES, i + 1);
        }
    }
    return ASC_OK;
}

static int64_t count_done(const report *r)
{
    int64_t done = 0;
    for (int i = 0; i < r->n_variants; i++) {
        done += r->variants[i].n;
    }
    return done;
}

/* The measurement that the learning curves show: perplexity on the validation split where the runs have it. */
static const char *choose_metric(const report *r)
{
    const char *const usual[] = {report_tokens_differ(r) ? "valid_bits_per_byte" : "valid_ppl", "valid_loss", "loss"};
    const char *wanted = json_string_value(json_object_get(r->wants, "metric")), *key;
    for (size_t u = 0; u < sizeof usual / sizeof *usual && !wanted; u++) {
        for (int v = 0; v < r->n_variants && !wanted; v++) {
            for (int i = 0; r->variants[v].n > 0 && (key = asc_run_key_at(r->variants[v].runs[0].run, i)); i++) {
                wanted = strcmp(key, usual[u]) == 0 ? usual[u] : wanted;
            }
        }
    }
    return wanted ? wanted : "loss";
}

/* ---- writing ---- */

static void write_beginning(report *r)
{
    experiment_counts counts = experiment_count(r->experiment);
    char text[200];
    const variant *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < r->n_variants; i++) {
        double quality = report_spread(r, &r->variants[i], report_quality(r)).mean;
        if (quality < least) {
            least = quality;
            best = &r->variants[i];
        }
    }
    document_text(&r->doc, "%s.", experiment_counts_text(&counts, text, sizeof text));
    if (best) {
        asc_spread s = report_spread(r, best, report_quality(r));
        text[0] = '\0';
        if (isfinite(s.std)) {
            snprintf(text, sizeof text, " \xc2\xb1 %.2g", s.std);
        }
        document_text(&r->doc, "Smallest %s: %s, %.4g%s over %lld seed%s.", report_quality_title(r), best->name, s.mean,
                      text, (long long)best->n, best->n == 1 ? "" : "s");
    }
}

static int write_report(report *r)
{
    const char *scale = asc_experiment_scale(r->experiment);
    char title[300];
    snprintf(title, sizeof title, *scale ? "%.200s (%.60s)" : "%.200s", asc_experiment_name(r->experiment), scale);
    document_begin(&r->doc, r->ctx, r->folder, title, r->files);
    write_beginning(r);
    report_results(r);
    report_significance(r);
    report_learning_curves(r);
    report_figures(r);
    report_settings(r);
    report_machines(r);
    report_failures(r);
    document_text(&r->doc, "Made by ascgrad %s; the numbers of all tables and figures stand in tables/ and figures/.",
                  ASC_VERSION);
    int status = document_end(&r->doc);
    return status > r->status ? status : r->status;
}

static int print_result(const report *r, bool json)
{
    experiment_counts counts = experiment_count(r->experiment);
    if (json) {
        return cli_print_json(json_pack("{s:s, s:o, s:O}", "folder", r->folder, "runs", experiment_counts_json(&counts),
                                        "files", r->files));
    }
    printf("written: %s/report.md, report.html, tables and figures (%zu files)\n", r->folder,
           json_array_size(r->files));
    return CLI_OK;
}

/* ---- the command ---- */

static int make(report *r, const struct args *args)
{
    const char *split = json_string_value(json_object_get(r->wants, "split"));
    r->split = args->split ? args->split : split ? split : "test";
    if (check_wants(r) || report_gather(r)) {
        return cli_report(r->ctx);
    }
    open_kind(r->split);
    if (count_done(r) == 0) {
        cli_message("%s: no run is done yet, so there is nothing to report; \"ascgrad experiment status %s\" says more",
                    r->folder, r->folder);
        return CLI_IO;
    }
    if (report_score(r) || report_compare(r)) {
        return cli_report(r->ctx);
    }
    r->metric = choose_metric(r);
    int status = write_report(r);
    int printed = asc_error(r->ctx) == ASC_OK ? print_result(r, args->json) : CLI_OK;
    return status > printed ? status : printed;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int n = cli_parse(&experiment_report, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "DIR, an experiment's folder");
    report r = {.ctx = cli_ctx_new(args.threads), .folder = argv[0], .files = json_array()};
    r.experiment = asc_experiment_open(r.ctx, argv[0]);
    int status = cli_report(r.ctx);
    if (r.experiment) {
        r.wants = read_wants(r.experiment, &args);
        status = make(&r, &args);
    } else if (status == CLI_USAGE) {
        status = CLI_IO; /* what is wrong stands in a file */
    }
    report_free(&r);
    asc_ctx_free(r.ctx);
    return status;
}

const cli_command experiment_report = {
    "experiment report",
    "writes what an experiment found",
    "DIR",
    "Writes report.md, report.html (one file, its pictures within), tables/*.csv and figures/*.svg with their data "
    "into "
    "DIR: results with significance, learning curves, the figures that the experiment's \"report\" names, settings, "
    "machines, what failed. Models are evaluated once: DIR/scores keeps what came of it.",
    "ascgrad experiment report builtin-tiny\nascgrad experiment report builtin-tiny --figures cost,omega",
    options,
    run,
};
