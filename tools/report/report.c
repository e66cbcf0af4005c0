/* tools/report/report.c: ascgrad experiment report: what an experiment found, as Markdown, HTML, tables and figures. */
#include "tools/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <program/names.h>

#include "tools/experiment/experiment.h"
#include "tools/next.h"
#include "tools/run_names.h"

struct args {
    const char *split, *figures;
    int64_t threads;
    bool bench, json;
};

static const cli_option options[] = {
    {"split", 0, "train|valid|test", CLI_CHOICE, offsetof(struct args, split), 0, 0,
     "what the models are compared on (test)"},
    {"figures", 0, "FIGURES", CLI_TEXT, offsetof(struct args, figures), 0, 0,
     "several with commas, of " REPORT_FIGURES " (those that the experiment names)"},
    {"bench", 0, NULL, CLI_FLAG, offsetof(struct args, bench), 0, 0,
     "minutes are tokens at the speed of training steps that are timed on this machine, the systems in turn, in place "
     "of the runs' own clocks"},
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
        bool number = n == 1 && *at >= '1' && *at <= '9';
        json_t *name = number ? json_integer(*at - '0') : cli_json_text(at, n);
        if (!report_knows_figure(name)) {
            const char *text = json_string_value(name);
            char hint[ASC_NAME_HINT];
            asc_name_hint(text ? report_guess_figure(text) : NULL, hint);
            json_decref(name);
            cli_wrong_usage("--figures: got '%.*s', expected of " REPORT_FIGURES "%s", (int)n, at, hint);
        }
        json_array_append_new(figures, name);
        at += n + (at[n] == ',');
    }
    if (figures) {
        json_object_set_new(wants, "figures", figures);
    }
    return wants;
}

static int64_t count_done(const report *r)
{
    int64_t done = 0;
    for (int i = 0; i < r->n_variants; i++) {
        done += r->variants[i].n;
    }
    return done;
}

static bool has_key(const report *r, const char *key)
{
    const char *at;
    for (int v = 0; v < r->n_variants; v++) {
        for (int64_t k = 0; k < r->variants[v].n; k++) {
            for (int i = 0; (at = asc_run_key_at(r->variants[v].runs[k].run, i)); i++) {
                if (strcmp(at, key) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* The measurement that the learning curves show: perplexity on the validation split where the runs have it. */
static const char *choose_metric(const report *r)
{
    const char *const usual[] = {report_is_of_classes(r)   ? "valid_accuracy"
                                 : report_tokens_differ(r) ? "valid_bits_per_byte"
                                                           : "valid_ppl",
                                 "valid_loss", "loss"};
    size_t u = 0;
    while (u + 1 < sizeof usual / sizeof *usual && !has_key(r, usual[u])) {
        u++;
    }
    return usual[u];
}

/* ---- writing ---- */

/* What was trained on other data than the rest differs in more than its settings. */
static void tell_changed_data(report *r)
{
    int64_t n = 0, done = count_done(r);
    const asc_run **runs = calloc((size_t)done + 1, sizeof *runs);
    char text[1200];
    for (int v = 0; v < r->n_variants && runs; v++) {
        for (int64_t k = 0; k < r->variants[v].n; k++) {
            runs[n++] = r->variants[v].runs[k].run;
        }
    }
    if (runs && run_data_changed(runs, (size_t)n, text, sizeof text)) {
        cli_message("%s", text);
        document_text(&r->doc, "Not all were trained on the same data: %s.", text);
    }
    free(runs);
}

/* Of models that a table compares some may be of one precision, some of another. */
static void tell_precision(report *r)
{
    bool rounded = false;
    for (int v = 0; v < r->n_variants; v++) {
        for (int64_t k = 0; k < r->variants[v].n; k++) {
            const char *precision = asc_run_setting(r->variants[v].runs[k].run, "precision"); /* JSON */
            rounded = rounded || (precision && strcmp(precision, "\"bf16\"") == 0);
        }
    }
    if (rounded && !report_is_by_itself(r)) {
        document_text(&r->doc, "On the %s split models are evaluated in float32, those whose training rounded products "
                               "to bfloat16 too; the training's own evaluations are in its precision.", r->split);
    }
}

static void write_beginning(report *r)
{
    experiment_counts counts = experiment_count(r->experiment);
    char text[200];
    const variant *best = NULL;
    double least = INFINITY;
    const json_t *why;
    size_t n;
    for (int i = 0; i < r->n_variants; i++) {
        double quality = report_spread(r, &r->variants[i], report_quality(r)).mean;
        if (quality < least) {
            least = quality;
            best = &r->variants[i];
        }
    }
    document_text(&r->doc, "%s.", experiment_counts_text(&counts, text, sizeof text));
    json_array_foreach(r->left_out, n, why) {
        document_text(&r->doc, report_is_by_itself(r) ? "%s" : "Left out: %s", json_string_value(why));
    }
    tell_changed_data(r);
    tell_precision(r);
    if (best && !report_texts_differ(r) && !report_unknown_counts(r)) {
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
    report_speeds(r);
    report_targets(r);
    report_learning_curves(r);
    report_figures(r);
    document_heed(&r->doc, cli_report(r->ctx)); /* before the settings, which clear what is not known of one */
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
        return cli_print_json(json_pack("{s:o, s:o, s:O}", "folder", cli_json_string(r->folder), "runs",
                                        experiment_counts_json(&counts), "files", r->files));
    }
    cli_print("written: %s/report.md, report.html, tables and figures (%zu files)\n", r->folder,
              json_array_size(r->files));
    return CLI_OK;
}

/* ---- the command ---- */

static int make(report *r, const struct args *args)
{
    const char *split = json_string_value(json_object_get(r->wants, "split"));
    r->split = args->split ? args->split : split ? split : "test";
    r->carry = json_is_true(json_object_get(r->wants, "carry"));
    if (report_gather(r)) {
        return cli_report(r->ctx);
    }
    if (count_done(r) == 0) {
        char quoted[NEXT_WORD];
        cli_message("%s: no run is done yet, so there is nothing to report; `ascgrad experiment status %s` says more",
                    r->folder, next_path(r->folder, quoted, sizeof quoted));
        return CLI_IO;
    }
    const char *metric = json_string_value(json_object_get(r->wants, "metric"));
    if (metric && !has_key(r, metric)) { /* before models are evaluated */
        cli_message("report: metric: no run has '%s', expected a key of metrics.jsonl, as valid_ppl", metric);
        return CLI_IO;
    }
    if (report_score(r) || (args->bench && report_measure_speeds(r, args->threads)) || report_compare(r)) {
        return cli_report(r->ctx);
    }
    r->metric = metric ? metric : choose_metric(r);
    int status = write_report(r);
    int printed = r->doc.status == CLI_OK ? print_result(r, args->json) : CLI_OK;
    return status > printed ? status : printed;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int n = cli_parse(&experiment_report, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "DIR, an experiment's folder");
    report r = {.ctx = cli_ctx_new(args.threads), .folder = argv[0], .files = json_array(), .left_out = json_array()};
    r.experiment = asc_experiment_open(r.ctx, argv[0]);
    bool wanted = r.experiment && experiment_check_report(r.ctx, r.experiment) == ASC_OK;
    int status = cli_report(r.ctx);
    if (wanted) {
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
