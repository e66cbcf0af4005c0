/* tools/experiment/run.c: ascgrad experiment run: trains what is open, beside other workers perhaps. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ascgrad/runs.h>

#include "tools/experiment/child.h"
#include "tools/experiment/experiment.h"
#include "tools/next.h"
#include "tools/progress.h"
#include "tools/ranks.h"

enum { JOBS = 256, PATH = 4400 };

struct args {
    const char *out, *scale;
    cli_list sets;
    int64_t jobs, threads;
    bool dry_run, json;
};

static const cli_option options[] = {
    {"jobs", 'j', "N", CLI_INT, offsetof(struct args, jobs), 1, JOBS, "runs at a time (1)"},
    {"out", 'o', "DIR", CLI_TEXT, offsetof(struct args, out), 0, 0, "the experiment's folder (its name, and scale)"},
    {"scale", 0, "NAME", CLI_TEXT, offsetof(struct args, scale), 0, 0, "one of FILE's scales: tiny, small, full"},
    {"set", 0, "KEY=VALUE", CLI_LIST, offsetof(struct args, sets), 0, 0, "a setting of all systems, as of train"},
    {"threads", 0, "N", CLI_INT, offsetof(struct args, threads), 0, 1024,
     "threads of all jobs together; 0: one per processor (0)"},
    {"dry-run", 0, NULL, CLI_FLAG, offsetof(struct args, dry_run), 0, 0,
     "check all settings, print the plan, and train nothing"},
    CLI_JSON(struct args),
    {0},
};

typedef struct worker {
    asc_ctx *ctx;
    asc_experiment *e;
    child children[JOBS];
    int jobs, threads; /* of each */
    int started, failed;
    bool stopping, broken; /* asked to end, or as no run can be started */
    progress bar;
    double looked_s; /* when the bar was last worked out */
} worker;

/* ---- signals ---- */

static volatile sig_atomic_t stops; /* how often we were asked to stop */

static void on_stop(int number)
{
    (void)number;
    stops++;
}

static void on_child(int number)
{
    (void)number; /* a sleep ends, no more */
}

static void catch_signals(void)
{
    const struct sigaction stop = {.sa_handler = on_stop}, ended = {.sa_handler = on_child};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGCHLD, &ended, NULL);
    cli_catch_hangup(&stop);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the experiment ---- */

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Of a file, or the one in a folder, which stays as it is. */
static asc_experiment *open_experiment(asc_ctx *ctx, const struct args *args, const char *path)
{
    if (is_folder(path)) {
        if (args->out || args->scale || args->sets.n > 0) {
            cli_wrong_usage("%s is an experiment's folder: --%s has been settled there", path,
                            args->out ? "out" : args->scale ? "scale" : "set");
        }
        return asc_experiment_open(ctx, path);
    }
    asc_experiment *e = asc_experiment_read(ctx, path, args->scale);
    for (int i = 0; e && i < args->sets.n && !asc_error(ctx); i++) {
        char key[CLI_KEY];
        const char *value = cli_split_pair(args->sets.value[i], key);
        asc_experiment_set(e, key, value);
    }
    return e;
}

static void place(asc_experiment *e, const struct args *args)
{
    char folder[PATH];
    const char *scale = asc_experiment_scale(e);
    snprintf(folder, sizeof folder, "%.1000s%s%.1000s", asc_experiment_name(e), *scale ? "-" : "", scale);
    if (!args->out && strchr(folder, '/')) {
        cli_wrong_usage("--out DIR is missing: the experiment's name, %s, is no folder's", folder);
    }
    asc_experiment_place(e, args->out ? args->out : folder);
}

/* ---- the plan, printed ---- */

static json_t *plan_run_json(asc_experiment *e, int i)
{
    const asc_experiment_run *run = asc_experiment_run_at(e, i);
    json_t *grid = json_object();
    const char *key;
    for (int k = 0; (key = run->tuning ? asc_experiment_tuned_key(e, k) : asc_experiment_key(e, k)); k++) {
        const char *value = asc_experiment_value(e, i, key);
        json_object_set_new(grid, key, json_loads(value ? value : "null", JSON_DECODE_ANY, NULL));
    }
    return json_pack("{s:s, s:s, s:I, s:b, s:o}", "name", run->name, "system", asc_experiment_system(e, run->system),
                     "seed", (json_int_t)run->seed, "tuning", run->tuning, "grid", grid);
}

static int print_plan(asc_experiment *e, bool json)
{
    const asc_experiment_run *run;
    int n = 0, tuning = 0;
    json_t *runs = json_array();
    for (; (run = asc_experiment_run_at(e, n)); n++) {
        tuning += run->tuning;
        json_array_append_new(runs, plan_run_json(e, n));
    }
    if (json) {
        return cli_print_json(json_pack("{s:s, s:s, s:o}", "name", asc_experiment_name(e), "scale",
                                        asc_experiment_scale(e), "runs", runs));
    }
    json_decref(runs);
    for (int i = 0; i < n; i++) {
        cli_print("%s\n", asc_experiment_run_at(e, i)->name);
    }
    cli_print("%d run%s", n - tuning, n - tuning == 1 ? "" : "s");
    cli_print(tuning ? ", and %d of tuning before them\n" : "\n", tuning);
    return CLI_OK;
}

/* ---- runs ---- */

static int count_children(const worker *w)
{
    int n = 0;
    for (int i = 0; i < w->jobs; i++) {
        n += w->children[i].pid > 0;
    }
    return n;
}

static child *free_child(worker *w)
{
    for (int i = 0; i < w->jobs; i++) {
        if (w->children[i].pid == 0) {
            return &w->children[i];
        }
    }
    return NULL;
}

static void log_path(const worker *w, int run, char path[PATH])
{
    const char *name = asc_experiment_run_at(w->e, run)->name;
    snprintf(path, PATH, "%.4000s/logs/%.200s.log", asc_experiment_folder(w->e), name);
}

/* Starts what is open, as far as there is room; *later: there may be more in a moment. */
static void start_runs(worker *w, bool *later)
{
    *later = false;
    for (child *c; !w->stopping && (c = free_child(w));) {
        char log[PATH];
        int run;
        if (asc_experiment_next(w->e, &run, later) || run < 0) {
            return;
        }
        log_path(w, run, log);
        if (!child_start(w->ctx, c, w->e, run, w->threads, log)) {
            asc_experiment_release(w->e, run, ASC_EXPERIMENT_END_STOPPED, NULL);
            w->stopping = w->broken = true;
            return;
        }
        w->started++;
    }
}

/* Of what a run left, the line that says why: what it was killed by, its last message, or its last line. */
static int find_reason(const char *text, const char **reason)
{
    static const char message[] = "ascgrad train: ";
    *reason = text;
    bool killed = strncmp(text, "killed by ", strlen("killed by ")) == 0, told = false;
    for (const char *line = text; *line && !killed;) {
        bool tells = strncmp(line, message, strlen(message)) == 0;
        *reason = tells || !told ? line : *reason;
        told = told || tells;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return (int)strcspn(*reason, "\n");
}

static void tell_end(worker *w, int run, asc_experiment_end end, const char *text)
{
    static const char *const words[] = {"done", "its loss is not finite", "failed", "stopped"};
    const asc_experiment_run *r = asc_experiment_run_at(w->e, run);
    experiment_counts c = experiment_count(w->e);
    int over = c.of[ASC_EXPERIMENT_STATE_DONE] + c.of[ASC_EXPERIMENT_STATE_FAILED];
    char found[80] = "";
    asc_run *read = end == ASC_EXPERIMENT_END_DONE ? asc_run_read(w->ctx, r->folder) : NULL;
    if (read) {
        const asc_run_info *info = asc_run_info_of(read);
        snprintf(found, sizeof found,
                 info->by_accuracy             ? ", valid accuracy %.4f, %.1f s"
                 : info->best.valid_ppl < 1e12 ? ", valid perplexity %.3f, %.1f s"
                                               : ", valid perplexity %.4g, %.1f s",
                 info->by_accuracy ? info->best.valid_accuracy : info->best.valid_ppl, info->wall_s);
    } else {
        asc_error_clear(w->ctx); /* one that can't be read any more is done all the same */
    }
    asc_run_free(read);
    progress_clear(&w->bar);
    cli_message("[%d/%d] %s: %s%s", over, c.all, r->name, words[end], found);
    bool failed = end == ASC_EXPERIMENT_END_FAILED || (end == ASC_EXPERIMENT_END_DIVERGED && !r->tuning);
    if (failed) {
        const char *reason;
        int n = find_reason(text, &reason);
        cli_print_to(stderr, "    %.*s\n", n, reason);
        w->failed++;
    }
}

static void end_child(worker *w, child *c, int status)
{
    char log[PATH], text[EXPERIMENT_SAID];
    log_path(w, c->run, log);
    asc_experiment_end end = child_end(status, log, text, sizeof text);
    if (w->stopping && WIFSIGNALED(status)) {
        end = ASC_EXPERIMENT_END_STOPPED;
    }
    c->pid = 0;
    if (asc_experiment_release(w->e, c->run, end, text) == ASC_OK) {
        tell_end(w, c->run, end, text);
    }
}

static void end_children(worker *w)
{
    for (int i = 0; i < w->jobs; i++) {
        int status;
        child *c = &w->children[i];
        if (c->pid > 0 && waitpid(c->pid, &status, WNOHANG) == c->pid) {
            end_child(w, c, status);
        }
    }
}

/* The first time they save and end; the second time they end at once. */
static void pass_stops_on(worker *w, int *passed)
{
    for (; *passed < stops && *passed < 2; ++*passed) {
        w->stopping = true;
        if (*passed == 0 && count_children(w) > 0) {
            progress_clear(&w->bar);
            cli_message("stopping: the runs save what they have; once more ends them at once");
        }
        for (int i = 0; i < w->jobs; i++) {
            if (w->children[i].pid > 0) {
                kill(w->children[i].pid, SIGTERM);
            }
        }
    }
}

static void show(worker *w)
{
    struct timespec now;
    asc_experiment_time t;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!w->bar.terminal || (double)now.tv_sec - w->looked_s < 2 || asc_experiment_time_of(w->e, &t)) {
        return;
    }
    char text[200], left[40];
    experiment_counts c = experiment_count(w->e);
    w->looked_s = (double)now.tv_sec;
    snprintf(text, sizeof text, "%d/%d runs, about %s left",
             c.of[ASC_EXPERIMENT_STATE_DONE] + c.of[ASC_EXPERIMENT_STATE_FAILED], c.all,
             progress_time(t.left_s / w->jobs, "an unknown time", left, sizeof left));
    progress_part(&w->bar, text, isfinite(t.left_s) ? t.spent_s / (t.spent_s + t.left_s + 1e-9) : 0);
}

/* Until nothing is left that could be claimed. */
static void work(worker *w)
{
    const struct timespec pause = {0, 100 * 1000 * 1000};
    int passed = 0;
    bool later;
    for (;;) {
        pass_stops_on(w, &passed);
        start_runs(w, &later);
        if (asc_error(w->ctx)) {
            return;
        }
        if (count_children(w) == 0 && (w->stopping || !later)) {
            return;
        }
        nanosleep(&pause, NULL); /* the end of a child ends it */
        end_children(w);
        show(w);
    }
}

/* Runs that are still there after an error of the experiment's own. */
static void wind_up(worker *w)
{
    for (int i = 0; i < w->jobs; i++) {
        if (w->children[i].pid > 0) {
            kill(w->children[i].pid, SIGTERM);
        }
    }
    for (int i = 0; i < w->jobs; i++) {
        while (w->children[i].pid > 0 && waitpid(w->children[i].pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}

/* ---- the end ---- */

/* Names the systems whose tuning is over and has chosen nothing, as no value's loss is finite or runs failed; how many.
 */
static int tell_untuned(const worker *w)
{
    asc_experiment_tuning t;
    const char *system;
    int n = 0;
    for (int i = 0; asc_experiment_tuned_key(w->e, 0) && (system = asc_experiment_system(w->e, i)); i++) {
        if (asc_experiment_tuning_of(w->e, i, &t) || t.run >= 0 || t.done < t.tried) {
            continue;
        }
        if (t.to_retry > 0) {
            cli_message("%s: %d of the %d runs of its tuning failed: its own wait until they are tried again", system,
                        t.to_retry, t.tried);
        } else if (t.unread > 0) {
            cli_message("%s: %d of the %d runs of its tuning can't be read, as experiment status says: its own wait",
                        system, t.unread, t.tried);
        } else {
            cli_message("%s: of what was tuned no value has a finite loss: it has no runs", system);
        }
        n++;
    }
    return n;
}

static int finish(worker *w, const struct args *args, const char *file)
{
    wind_up(w);
    if (asc_error(w->ctx) || asc_experiment_refresh(w->e)) {
        return cli_report(w->ctx);
    }
    experiment_counts c = experiment_count(w->e);
    const char *folder = asc_experiment_folder(w->e);
    char text[200], quoted[NEXT_WORD];
    int left = c.all - c.of[ASC_EXPERIMENT_STATE_DONE] - c.of[ASC_EXPERIMENT_STATE_FAILED];
    bool stopped = w->stopping && stops > 0;
    int untuned = tell_untuned(w);
    bool failed = c.of[ASC_EXPERIMENT_STATE_FAILED] > 0 || w->failed > 0 || untuned > 0;
    int status = stopped ? CLI_INTERRUPTED : w->broken ? CLI_IO : failed ? CLI_FAILED : CLI_OK;
    if (args->json) {
        int printed = cli_print_json(json_pack("{s:o, s:o, s:o, s:i}", "folder", cli_json_string(folder), "file",
                                               cli_json_string(file), "counts", experiment_counts_json(&c), "trained",
                                               w->started));
        status = status == CLI_OK ? printed : status;
    } else {
        cli_print("%s: %s\n", folder, experiment_counts_text(&c, text, sizeof text));
    }
    next_path(folder, quoted, sizeof quoted);
    if (stopped) {
        cli_message("stopped; `ascgrad experiment run %s` goes on", quoted);
    } else if (c.of[ASC_EXPERIMENT_STATE_FAILED] > 0) {
        cli_message("what failed: `ascgrad experiment status %s`; `ascgrad experiment run %s` tries it again", quoted,
                    quoted);
    } else if (left > 0 && untuned == 0 && !w->broken) {
        cli_message("nothing is left to claim: others train what is not done");
    } else if (left == 0) {
        cli_message("`ascgrad experiment status %s` has all runs, `ascgrad experiment report %s` what they found",
                    quoted, quoted);
    }
    return status;
}

/* The threads of each run: those that the experiment gives it, where it does, as child.c passes on the others. */
static const char *threads_text(worker *w, char *text, size_t size)
{
    int least = 0, most = 0;
    for (int i = 0; asc_experiment_run_at(w->e, i); i++) {
        const char *given = asc_experiment_value(w->e, i, "threads"); /* JSON */
        int n = given ? atoi(given + (*given == '"')) : w->threads;
        n = n > 0 ? n : asc_machine_info().processors;
        least = i == 0 || n < least ? n : least;
        most = n > most ? n : most;
    }
    if (least < most) {
        snprintf(text, size, "%d to %d threads", least, most);
    } else {
        snprintf(text, size, "%d thread%s", most, most == 1 ? "" : "s");
    }
    return text;
}

static int train_all(worker *w, const struct args *args, const char *file)
{
    char text[200], threads[60], cache[4200] = "";
    experiment_counts c = experiment_count(w->e);
    int processors = asc_threads(w->ctx);
    asc_set_threads(w->ctx, 1); /* the runs compute, in processes of their own */
    w->jobs = (int)args->jobs;
    w->threads = processors / w->jobs > 1 ? processors / w->jobs : 1;
    w->bar = progress_start();
    asc_experiment_cache(w->e, 0, cache, sizeof cache);
    cli_message("%s: %s; %d at a time, %s each; tokenised data in %s", asc_experiment_folder(w->e),
                experiment_counts_text(&c, text, sizeof text), w->jobs, threads_text(w, threads, sizeof threads),
                cache);
    catch_signals();
    work(w);
    progress_clear(&w->bar);
    return finish(w, args, file);
}

static int run(int argc, char **argv)
{
    static worker w;
    struct args args = {.jobs = 1};
    int n = cli_parse(&experiment_run, argc, argv, &args);
    ranks_leave(); /* several processes take the runs in turn, each run by one */
    cli_expect_operands(n, argv, 1, 1, "a FILE, or an experiment's folder");
    w.ctx = cli_ctx_new(args.threads);
    w.e = open_experiment(w.ctx, &args, argv[0]);
    if (w.e && !asc_error(w.ctx) && experiment_check_report(w.ctx, w.e) == ASC_OK) {
        asc_experiment_check(w.e);
    }
    if (w.e && !asc_error(w.ctx) && !args.dry_run && !asc_experiment_folder(w.e)) {
        place(w.e, &args);
    }
    int status = cli_report(w.ctx);
    if (status == CLI_OK) {
        status = args.dry_run ? print_plan(w.e, args.json) : train_all(&w, &args, argv[0]);
    }
    asc_experiment_free(w.e);
    asc_ctx_free(w.ctx);
    return status;
}

const cli_command experiment_run = {
    "experiment run",
    "trains the runs of an experiment that are open",
    "FILE|DIR",
    "FILE is JSON: {\"name\": ..., \"common\": {SETTINGS}, \"systems\": {\"NAME\": {SETTINGS}, ...},\n"
    "\"grid\": {\"KEY\": [V, ...]}, \"seeds\": [1, 2, 3, 5, 7], \"more_seeds\": {\"NAME\": [11]},\n"
    "\"tune\": {\"grid\": {\"KEY\": [V, ...]}, \"steps\": N, \"seed\": S}}; settings are those of train.\n"
    "What was interrupted goes on, what is done is not run again, what failed is tried again. Several processes\n"
    "and machines may work on one DIR: each run is trained by one of them. An interrupt saves and ends (130).",
    "ascgrad experiment run experiments/builtin.json --scale tiny --jobs 2 --out builtin-tiny\n"
    "ascgrad experiment run experiments/wikitext2-6l.json --set data=wikitext-2 --dry-run",
    options,
    run,
};
