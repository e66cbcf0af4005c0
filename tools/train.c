/* tools/train.c: ascgrad train. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/runs.h>
#include <ascgrad/train.h>
#include <program/settings.h>

#include "tools/commands.h"
#include "tools/next.h"
#include "tools/progress.h"
#include "tools/spare.h"
#include "tools/train.h"
#include "tools/unknown.h"

static const cli_option own[] = {
    CLI_RUN(struct train_args),
    CLI_GROUP("Data"), /* in this order */
    CLI_ALL_SETTINGS(struct train_args, given),
    CLI_GROUP("Model"),
    {"mixing", 0, "M,M,...", CLI_LIST, offsetof(struct train_args, given), 0, 0,
     "--model for each layer: names or their beginnings, as g,t,g,t"},
    CLI_TRAINING(struct train_args),
    {0},
};
enum { MOST_OWN = 40, TEXT = 480 };

static void append(char *text, const char *before, const char *more)
{
    size_t n = strlen(text);
    snprintf(text + n, TEXT - n, "%s%s", before, more);
}

const cli_option *train_options(const cli_option *own_options, const char *base)
{
    static cli_option table[MOST_OWN];
    static char presets[TEXT] = "settings to start from", anew[TEXT] = "go on with RUN; only these may be given anew";
    for (int i = 0; own_options[i].name && i < MOST_OWN - 1; i++) {
        table[i] = own_options[i];
    }
    for (int i = 0; asc_preset_at(i); i++) {
        append(presets, i ? ", " : ": ", asc_preset_at(i));
    }
    append(presets, "; ", "list says what is in them");
    int n = 0;
    for (const asc_setting *row = asc_settings_schema(NULL, 0).settings; row->key; row++) {
        if (row->flags & ASC_SETTING_ANEW) {
            append(anew, n++ ? ", --" : ": --", row->key);
        }
    }
    for (char *c = anew; *c; c++) {
        *c = *c == '_' ? '-' : *c; /* options' names, of the settings' */
    }
    for (cli_option *o = table; o->name; o++) {
        o->help = strcmp(o->name, "preset") == 0 ? presets : strcmp(o->name, "resume") == 0 ? anew : o->help;
    }
    return cli_all_settings(table, base);
}

const char *train_find_run(const struct train_args *args, int operands, char **argv)
{
    const char *names[] = {args->out, args->resume && *args->resume ? args->resume : NULL, NULL}, *run = NULL;
    if (!args->resume && operands > 0 && !args->out) {
        cli_wrong_usage("--out RUN is missing; did you mean --out %s?", argv[0]);
    }
    cli_expect_operands(operands, argv, 0, args->resume ? 1 : 0, "");
    names[2] = operands ? argv[0] : NULL;
    for (int i = 0; i < 3; i++) {
        if (run && names[i] && strcmp(run, names[i]) != 0) {
            cli_wrong_usage("got two runs, %s and %s, expected one", run, names[i]);
        }
        run = names[i] ? names[i] : run;
    }
    if (!run) {
        cli_wrong_usage(args->resume ? "--resume: its RUN is missing; see --help" : "--out RUN is missing; see --help");
    }
    return run;
}

/* ---- stopping ---- */

static volatile sig_atomic_t stop_requested, hung_up, run_stands, goes_on, encodes, on_terminal, follower, over;

/* From a signal handler, which leaves what it interrupts its errno. */
static void say_at_once(const char *text)
{
    int reason = errno;
    if (follower) {
        return;
    }
    if (on_terminal) {
        (void)!write(STDERR_FILENO, progress_clearing, strlen(progress_clearing));
    }
    cli_message_at_once(text);
    errno = reason;
}

/* The second signal, or one before there is anything to save. */
static _Noreturn void end_at_once(void)
{
    say_at_once(run_stands ? "ended at once; --resume goes on after the last checkpoint"
                : goes_on  ? "ended before the training went on; --resume goes on after the last checkpoint"
                : encodes  ? "ended before the training began; there is no run, but what was encoded stays in the cache"
                           : "ended before the training began; nothing is saved");
    _exit(CLI_INTERRUPTED);
}

static void request_stop(int number)
{
    (void)number;
    if (over) { /* the launcher, to which another has ended first */
        return;
    }
    if (stop_requested || !run_stands) {
        end_at_once();
    }
    stop_requested = 1;
    /* where a process is lost the launcher ends the others by such a signal, and there is nothing that they can save */
    say_at_once(ranks_several() ? "stops after this step, or soon" : "stops after this step, or soon, and saves");
    say_at_once("a second interrupt ends at once, at the last checkpoint");
}

/* The terminal is gone, which both it and the shell may say, and a SIGTERM may follow: no reason to hurry. */
static void request_stop_quietly(int number)
{
    (void)number;
    hung_up = 1;
}

/* Also where SIGINT was ignored when we began, as it is for a script's background command: `kill -INT` is how scripts
 * end a training, and nothing is lost. */
static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const struct sigaction quiet = {.sa_handler = request_stop_quietly, .sa_flags = SA_RESTART};
    cli_catch_hangup(&quiet);
    signal(SIGPIPE, SIG_IGN); /* nobody watching is no reason to lose a training */
}

void train_catch_signals(const struct train_args *args)
{
    follower = run_stands = ranks_follower(); /* rank 0 knows whether it stands */
    goes_on = args->resume != NULL;
    catch_signals();
}

/* ---- settings ---- */

asc_settings *train_gather(asc_ctx *ctx, const struct train_args *args, const char *base, const char *run)
{
    asc_settings *s = asc_settings_new(ctx);
    const char *const presets[] = {args->resume ? NULL : base, args->preset};
    for (int i = 0; s && i < 2; i++) {
        if (presets[i]) {
            asc_settings_preset(s, presets[i]);
        }
    }
    for (int i = 0; i < args->configs.n; i++) {
        asc_settings_load(s, args->configs.value[i]);
    }
    for (int i = 0; i < args->sets.n; i++) {
        cli_set_pair(s, args->sets.value[i]);
    }
    for (int i = 0; i < args->given.n && asc_error(ctx) == ASC_OK; i++) {
        asc_settings_option(s, args->given.name[i], args->given.value[i] ? args->given.value[i] : "true");
    }
    if (args->resume && asc_error(ctx) == ASC_OK) {
        asc_settings_resume(s, run);
    }
    if (args->data_of && asc_error(ctx) == ASC_OK) {
        asc_settings_data_of(s, args->data_of);
    }
    return s;
}

/* ---- while it runs ---- */

/* What the hooks know. */
typedef struct watcher {
    progress bar;
    double lr;          /* the highest so far */
    bool logged;        /* something that can be plotted */
    double asked_s;     /* when the stop was noticed within a step; 0: it was not */
} watcher;

static bool on_progress(void *user, const asc_train_progress *p)
{
    watcher *w = user;
    run_stands = 1;
    w->lr = p->lr > w->lr ? p->lr : w->lr;
    w->logged = w->logged || (p->phase == ASC_TRAIN_PHASE_STEP && p->log);
    progress_show(&w->bar, p);
    return !stop_requested && !hung_up;
}

/* A step that is nearly done comes to its end; another one is given up. */
static bool on_working(void *user, const asc_train_progress *p)
{
    enum { PATIENCE_S = 2 };
    watcher *w = user;
    if (!follower) {
        progress_tick(&w->bar, p);
    }
    if (!stop_requested && !hung_up) {
        return true;
    }
    w->asked_s = w->asked_s > 0 ? w->asked_s : p->spent_s;
    return p->spent_s - w->asked_s < PATIENCE_S;
}

static void on_message(void *user, const char *text)
{
    watcher *w = user;
    progress_clear(&w->bar);
    cli_message("%s", text);
}

static void print_indented(const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        cli_print_to(stderr, "%.*s%s", (int)n, text, text[n] ? "\n  " : "");
    }
}

static void on_encoding(void *user, double done)
{
    watcher *w = user;
    encodes = 1;
    progress_part(&w->bar, "encoding the sentences, once", done);
}

static void on_sample(void *user, const asc_train_progress *p, const char *prompt, const char *continuation)
{
    watcher *w = user;
    progress_clear(&w->bar);
    cli_print_to(stderr, "step %lld writes:\n  ", (long long)p->step);
    print_indented(prompt);
    fputs(" |", stderr);
    print_indented(continuation);
    fputc('\n', stderr);
}

/* ---- what came of it ---- */

static const char *const ends[] = {[ASC_TRAIN_END_STEPS] = "done", [ASC_TRAIN_END_EARLY] = "stopped early",
                                   [ASC_TRAIN_END_MINUTES] = "out of time", [ASC_TRAIN_END_STOPPED] = "stopped"};

/* Of the best evaluation, also where it was not the accuracy that made it the best; NaN: none counted. */
static double best_accuracy(const asc_train_result *r, const char *folder)
{
    if (!isnan(r->best_accuracy)) {
        return r->best_accuracy;
    }
    asc_ctx *ctx = asc_ctx_new(&(asc_options){.threads = 1});
    asc_run *run = ctx ? asc_run_read(ctx, folder) : NULL;
    double accuracy = run ? asc_run_info_of(run)->best.valid_accuracy : NAN;
    asc_run_free(run);
    asc_ctx_free(ctx);
    return accuracy;
}

static int print_result(const asc_train_result *r, const char *run, bool json)
{
    if (json) {
        return cli_print_json(
            json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "run",
                      cli_json_string(run), "end", ends[r->end], "parameters", (json_int_t)r->parameters,
                      "step", (json_int_t)r->step, "steps", (json_int_t)r->steps, "tokens", (json_int_t)r->tokens,
                      "elapsed_s", cli_json_real(r->elapsed_s), "best_step", (json_int_t)r->best_step, "valid_loss",
                      cli_json_real(r->best_loss), "valid_ppl", cli_json_real(r->best_ppl), "valid_bits_per_byte",
                      cli_json_real(r->best_bits_per_byte), "unknown", cli_json_real(r->unknown), "source_ppl",
                      cli_json_real(r->source_ppl), "source_ppl_per", "word", "valid_accuracy",
                      cli_json_real(best_accuracy(r, run))));
    }
    char unknown[40];
    cli_print("%s: %s after step %lld", run, ends[r->end], (long long)r->step);
    if (r->step <= r->steps) {
        cli_print(" of %lld", (long long)r->steps);
    }
    cli_print(", %lld tokens, %.0f s; %.2f M parameters\n", (long long)r->tokens, r->elapsed_s,
              (double)r->parameters * 1e-6);
    if (isfinite(r->best_accuracy)) {
        cli_print("best on valid: step %lld, accuracy %.4f, loss %.4f\n", (long long)r->best_step, r->best_accuracy,
                  r->best_loss);
    } else if (isfinite(r->best_loss)) {
        cli_print("best on valid: step %lld, loss %.4f, perplexity %.3f, %.4f bits per byte%s\n",
                  (long long)r->best_step, r->best_loss, r->best_ppl, r->best_bits_per_byte,
                  unknown_share(r->unknown, unknown, sizeof unknown));
    }
    if (isfinite(r->source_ppl)) {
        cli_print("the source itself: perplexity %.3f per word\n", r->source_ppl);
    }
    return CLI_OK;
}

/* ---- what to do next ---- */

/* Whether the run's model is a language model, which goes on with a text. */
static bool predicts_tokens(asc_ctx *ctx, const char *path)
{
    asc_run *run = asc_run_read(ctx, path);
    const char *head = run ? asc_run_setting(run, "head") : NULL;
    bool lm = !head || strcmp(head, "\"lm\"") == 0;
    asc_run_free(run);
    return lm;
}

static void offer_results(asc_ctx *ctx, const char *run, const asc_train_result *r)
{
    if (isfinite(r->best_loss)) {
        static const char *const options[2][2] = {{NULL, "--carry"}, {"--split test", "--split test --carry"}};
        next_command("eval", run, options[r->has_test][r->carry > 0], NULL);
        if (predicts_tokens(ctx, run)) {
            next_command("generate", run, NULL, NULL);
        }
    }
    if (r->step > 0) {
        next_command("plot", run, NULL, NULL);
    }
}

static void offer_resume(const char *run, const char *options)
{
    next_command("train --resume --out", run, options, NULL);
}

/* A new run with a lower learning rate, beside one whose numbers are no longer finite. */
static void offer_lower_lr(const char *run, double lr)
{
    char config[4096], other[4096], options[64];
    size_t n = strlen(run);
    while (n > 1 && run[n - 1] == '/') {
        n--;
    }
    snprintf(config, sizeof config, "%.*s/config.json", (int)n, run);
    for (int i = 2; i < 1000; i++) {
        snprintf(other, sizeof other, "%.*s-%d", (int)n, run, i);
        if (access(other, F_OK) != 0) {
            break;
        }
    }
    snprintf(options, sizeof options, "--lr %.2g --out", lr / 3);
    next_command("train --config", config, options, other);
}

/* What comes next there is the experiment's to say. */
static bool is_of_experiment(const char *run)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/../../experiment.json", run);
    return access(path, F_OK) == 0;
}

static void offer(asc_ctx *ctx, const char *run, asc_status status, const asc_train_result *r, const watcher *w,
                  train_offer *offer_next)
{
    bool ended = status == ASC_OK || status == ASC_ERR_INTERRUPTED;
    if (follower || !run_stands || (!ended && status == ASC_ERR_ARG) || cli_quiet() ||
        is_of_experiment(run)) {
        return;
    }
    if (status == ASC_ERR_NONFINITE && !(w->lr > 0)) { /* before its first step */
        return;
    }
    next_begin();
    if (status == ASC_ERR_NONFINITE) {
        if (w->logged) {
            next_command("plot", run, NULL, NULL);
        }
        offer_lower_lr(run, w->lr);
    } else if (!ended || r->end == ASC_TRAIN_END_STOPPED) {
        offer_resume(run, NULL);
    } else {
        offer_next(ctx, run, r);
    }
    if (ended && (r->end == ASC_TRAIN_END_MINUTES || r->end == ASC_TRAIN_END_EARLY)) {
        offer_resume(run, r->end == ASC_TRAIN_END_EARLY ? "--early-stop 0" : NULL);
    }
}

static int show_profile(asc_ctx *ctx, asc_profile *profile, const struct profile_args *args)
{
    enum { SIZE = 1024 }; /* of square products, which reach the most */
    asc_profile_stop(profile);
    return profile_finish(ctx, profile, args, profile ? asc_gemm_speed(ctx, SIZE, SIZE, SIZE) : 0);
}

/* A trace takes the place of nothing that the training reads, nor of what is its run's. */
static void spare_what_is_read(const asc_settings *settings, const struct train_args *args, const char *run)
{
    static const char *const keys[] = {"data", "tokenizer", "init", "encoder"};
    const char *trace = args->profile.path;
    spare_inputs("profile", trace, 2, (const char *const[]){run, args->data_of});
    for (int i = 0; trace && i < args->configs.n; i++) {
        spare_inputs("profile", trace, 1, (const char *const[]){args->configs.value[i]});
    }
    for (size_t i = 0; trace && i < sizeof keys / sizeof *keys; i++) {
        const char *named = asc_settings_text(settings, keys[i], NULL);
        spare_inputs("profile", trace, 1, &named);
    }
}

int train_run(asc_ctx *ctx, asc_settings *settings, const struct train_args *args, const char *folder,
              train_offer *offer_next)
{
    if (asc_error(ctx) == ASC_OK) {
        cli_set_threads(ctx, asc_settings_threads(settings));
    }
    int status = ranks_several() ? CLI_OK : cli_report(ctx); /* else the others have to know of it */
    if (status != CLI_OK) {
        asc_settings_free(settings);
        return status;
    }
    watcher w = {.bar = progress_start()};
    on_terminal = w.bar.terminal;
    spare_what_is_read(settings, args, folder);
    asc_profile *profile = profile_start(ctx, &args->profile);
    asc_train_result result = {0};
    const asc_train_hooks hooks = {.progress = on_progress, .message = on_message, .user = &w, .working = on_working,
                                   .sample = cli_quiet() ? NULL : on_sample,
                                   .encoding = cli_quiet() ? NULL : on_encoding};
    asc_status end = asc_train(ctx, settings, folder, args->resume, &hooks, &result);
    over = ranks_several(); /* also when their messages have been closed */
    progress_clear(&w.bar);
    status = ranks_report(ctx);
    if (!follower && (end == ASC_OK || end == ASC_ERR_INTERRUPTED)) {
        int printed = print_result(&result, folder, args->json);
        status = status ? status : printed;
    }
    cli_flush();
    offer(ctx, folder, end, &result, &w, offer_next);
    int shown = show_profile(ctx, profile, &args->profile);
    asc_settings_free(settings);
    return status ? status : shown;
}

static int run(int argc, char **argv)
{
    static struct train_args args = {.profile.traced = PROFILE_TRACED};
    int n = cli_parse_options(&command_train, train_options(own, NULL), argc, argv, &args);
    if (args.preset && strcmp(args.preset, "list") == 0) {
        return cli_list_presets(args.json);
    }
    const char *folder = train_find_run(&args, n, argv);
    asc_ctx *ctx = cli_ctx_new_first();
    ranks_open(ctx, &args.ranks);
    train_catch_signals(&args);
    asc_settings *settings = train_gather(ctx, &args, NULL, folder);
    int status = ranks_close(ctx, train_run(ctx, settings, &args, folder, offer_results));
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_train = {
    "train", "trains a language model", "--out RUN --data D | --resume RUN",
    "Settings come from the preset, then the files, then --set, then options; the later wins. RUN gets config.json,\n"
    "the vocabulary, metrics.jsonl, model.safetensors (the best on the validation split) and checkpoint.safetensors.\n"
    "An interrupt saves and ends (status 130), after this step or, if that takes long, without it; a second one ends\n"
    "at once, and what the last checkpoint has is left. summary.json says how it ended. --minutes has room for the\n"
    "evaluation at the end, unless that takes more than half of them.",
    "ascgrad train --model transformer --data builtin --tokenizer word --preset quickstart --out runs/first\n"
    "ascgrad train --resume runs/first --epochs 3\n"
    "ascgrad train --preset list",
    NULL, run,
};
