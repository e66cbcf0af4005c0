/* tools/experiment/status.c: ascgrad experiment status: how far an experiment is. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/runs.h>

#include "tools/experiment/experiment.h"
#include "tools/progress.h"

struct args {
    bool json;
};

static const cli_option options[] = {
    CLI_JSON(struct args),
    {0},
};

enum { WHY = 600 };

/* What a run's own files say of it; false before it has begun, and where they can't be read: why, which is said, or
 * "". */
static bool read_run(asc_ctx *ctx, const asc_experiment_run *run, asc_run_info *info, char why[WHY])
{
    char config[4200];
    snprintf(config, sizeof config, "%.4000s/config.json", run->folder);
    asc_run *read = access(config, F_OK) == 0 ? asc_run_read(ctx, run->folder) : NULL;
    if (read) {
        *info = *asc_run_info_of(read);
        info->reason = info->processor = info->version = info->blas = info->instructions = NULL;
    }
    snprintf(why, WHY, "%s", asc_error_message(ctx));
    cli_report(ctx);
    asc_error_clear(ctx);
    asc_run_free(read);
    return read;
}

/* Why a run can't be read, or the text that a failed one left; new, NULL without. */
static json_t *failure(const asc_experiment *e, const asc_experiment_run *run, const char *why)
{
    char text[EXPERIMENT_SAID];
    if (*why || run->state != ASC_EXPERIMENT_STATE_FAILED) {
        return *why ? cli_json_string(why) : NULL;
    }
    experiment_failure(e, run, text);
    return cli_json_string(text);
}

/* ---- JSON ---- */

static json_t *run_json(asc_ctx *ctx, const asc_experiment *e, const asc_experiment_run *run, int *status)
{
    char why[WHY];
    asc_run_info info = {.best = {.valid_loss = NAN, .valid_ppl = NAN, .valid_accuracy = NAN}, .wall_s = NAN};
    bool begun = read_run(ctx, run, &info, why);
    *status = *why ? CLI_IO : *status;
    return json_pack("{s:s, s:s, s:I, s:b, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}", "name", run->name,
                     "system", asc_experiment_system(e, run->system), "seed", (json_int_t)run->seed, "tuning",
                     run->tuning, "state", asc_experiment_state_name(run->state), "diverged", run->diverged, "folder",
                     cli_json_string(run->folder), "step", begun ? json_integer(info.step) : json_null(), "steps",
                     begun && info.steps > 0 ? json_integer(info.steps) : json_null(), "wall_s",
                     cli_json_real(info.wall_s), "valid_loss", cli_json_real(info.best.valid_loss), "valid_ppl",
                     cli_json_real(info.best.valid_ppl), "valid_accuracy", cli_json_real(info.best.valid_accuracy),
                     "failure", failure(e, run, why));
}

static json_t *tuning_json(asc_experiment *e)
{
    json_t *list = json_array();
    asc_experiment_tuning t;
    for (int i = 0; asc_experiment_tuned_key(e, 0) && asc_experiment_system(e, i); i++) {
        if (asc_experiment_tuning_of(e, i, &t)) {
            break;
        }
        json_t *chosen = json_object();
        const char *key;
        for (int k = 0; t.run >= 0 && (key = asc_experiment_tuned_key(e, k)); k++) {
            const char *value = asc_experiment_value(e, t.run, key);
            json_object_set_new(chosen, key, json_loads(value ? value : "null", JSON_DECODE_ANY, NULL));
        }
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:b}", "system",
                                        asc_experiment_system(e, i), "chosen", chosen, "valid_loss",
                                        cli_json_real(t.valid_loss), "valid_accuracy", cli_json_real(t.valid_accuracy),
                                        "tried", t.tried, "done", t.done, "failed", t.failed, "to_retry", t.to_retry,
                                        "unread", t.unread, "at_edge", t.at_edge));
    }
    return list;
}

static int print_json(asc_ctx *ctx, asc_experiment *e, const asc_experiment_time *time)
{
    char cache[4200] = "";
    int status = CLI_OK;
    json_t *runs = json_array();
    experiment_counts counts = experiment_count(e);
    asc_experiment_cache(e, 0, cache, sizeof cache);
    for (int i = 0; i < counts.all; i++) {
        json_array_append_new(runs, run_json(ctx, e, asc_experiment_run_at(e, i), &status));
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", asc_experiment_name(e), "scale",
        asc_experiment_scale(e), "folder", cli_json_string(asc_experiment_folder(e)), "cache",
        cli_json_string(cache), "counts",
        experiment_counts_json(&counts), "spent_s", cli_json_real(time->spent_s), "tuning_s",
        cli_json_real(time->tuning_s), "tuning_share", cli_json_real(time->tuning_share), "left_s",
        cli_json_real(time->left_s), "tuning", tuning_json(e), "runs", runs);
    if (asc_error(ctx)) {
        json_decref(object);
        return cli_report(ctx);
    }
    int printed = cli_print_json(object);
    return printed > status ? printed : status;
}

/* ---- a table ---- */

static int name_width(const asc_experiment *e)
{
    size_t width = 4;
    const asc_experiment_run *run;
    for (int i = 0; (run = asc_experiment_run_at(e, i)); i++) {
        width = strlen(run->name) > width ? strlen(run->name) : width;
    }
    return (int)width;
}

static int print_run(asc_ctx *ctx, const asc_experiment *e, const asc_experiment_run *run, int width)
{
    char why[WHY];
    asc_run_info info;
    char step[60] = "", found[32] = "", wall[32] = "";
    if (read_run(ctx, run, &info, why)) {
        snprintf(step, sizeof step, "%lld/%lld", (long long)info.step, (long long)info.steps);
        progress_time(info.wall_s, "-", wall, sizeof wall);
        double value = info.by_accuracy ? 100 * info.best.valid_accuracy : info.best.valid_ppl;
        if (!isnan(value)) {
            snprintf(found, sizeof found, info.by_accuracy ? "%.2f %%" : value < 1e12 ? "%.3f" : "%.4g", value);
        }
    }
    cli_print("%-*s  %-11s  %13s  %9s  %9s\n", width, run->name,
              run->diverged ? "diverged" : asc_experiment_state_name(run->state), step, found, wall);
    json_t *text = *why ? NULL : failure(e, run, why); /* what can't be read was said */
    const char *at = json_string_value(text);
    for (size_t n; at && *at; at += n + (at[n] == '\n')) {
        n = strcspn(at, "\n");
        cli_print("    %.*s\n", (int)n, at);
    }
    json_decref(text);
    return *why ? CLI_IO : CLI_OK;
}

static void print_unchosen(const asc_experiment_tuning *t)
{
    if (t->to_retry > 0) {
        cli_print("%d of %d done, %d failed: nothing is chosen before they are tried again\n", t->done - t->to_retry,
                  t->tried, t->to_retry);
    } else if (t->unread > 0) {
        cli_print("%d of %d done, %d can't be read: nothing is chosen before they are whole again, or removed and made "
                  "anew\n", t->done, t->tried, t->unread);
    } else {
        cli_print("%d of %d done%s\n", t->done, t->tried,
                  t->done == t->tried ? ", none with a finite loss: its runs cannot begin" : "");
    }
}

static void print_tuning(asc_experiment *e)
{
    asc_experiment_tuning t;
    for (int i = 0; asc_experiment_tuned_key(e, 0) && asc_experiment_system(e, i); i++) {
        if (asc_experiment_tuning_of(e, i, &t)) {
            return;
        }
        cli_print("tuned %s: ", asc_experiment_system(e, i));
        const char *key;
        for (int k = 0; t.run >= 0 && (key = asc_experiment_tuned_key(e, k)); k++) {
            const char *value = asc_experiment_value(e, t.run, key);
            cli_print("%s%s %s", k ? ", " : "", key, value ? value : "?");
        }
        if (t.run >= 0) {
            bool accurate = !isnan(t.valid_accuracy);
            cli_print(", valid %s %.4f, of %d tried%s\n", accurate ? "accuracy" : "loss",
                      accurate ? t.valid_accuracy : t.valid_loss, t.tried,
                      t.at_edge ? "; at the edge of what was tried: a wider grid may do better" : "");
        } else {
            print_unchosen(&t);
        }
    }
}

static int print_table(asc_ctx *ctx, asc_experiment *e, const asc_experiment_time *time)
{
    char text[200], left[40];
    experiment_counts counts = experiment_count(e);
    int width = name_width(e), status = CLI_OK;
    cli_print("%-*s  %-11s  %13s  %9s  %9s\n", width, "run", "state", "step", "valid", "time");
    for (int i = 0; i < counts.all && !asc_error(ctx); i++) {
        int one = print_run(ctx, e, asc_experiment_run_at(e, i), width);
        status = one > status ? one : status;
    }
    print_tuning(e);
    cli_print("%s\n", experiment_counts_text(&counts, text, sizeof text));
    cli_print("time: %s spent", progress_time(time->spent_s, "-", left, sizeof left));
    if (time->left_s != 0) { /* NaN: it is not known */
        cli_print(", about %s left for one run at a time",
                  progress_time(time->left_s, "an unknown time", left, sizeof left));
    }
    if (asc_experiment_tuned_key(e, 0) && isfinite(time->tuning_share)) {
        cli_print("; tuning is %.0f %% of the whole", 100 * time->tuning_share);
    }
    cli_print("\n");
    int reported = cli_report(ctx);
    return reported > status ? reported : status;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int n = cli_parse(&experiment_status, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "an experiment's folder");
    asc_ctx *ctx = cli_ctx_new(1);
    asc_experiment *e = asc_experiment_open(ctx, argv[0]);
    asc_experiment_time time;
    int status = e && asc_experiment_time_of(e, &time) == ASC_OK
                     ? (args.json ? print_json(ctx, e, &time) : print_table(ctx, e, &time))
                     : cli_report(ctx);
    asc_experiment_free(e);
    asc_ctx_free(ctx);
    return status;
}

const cli_command experiment_status = {
    "experiment status",
    "how far an experiment is",
    "DIR",
    "A line for each run, what the tuning chose, and the time left by the speed of the runs so far.",
    "ascgrad experiment status builtin-tiny",
    options,
    run,
};
