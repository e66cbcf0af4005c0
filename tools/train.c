/* tools/train.c: ascgrad train. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ascgrad/train.h>

#include "tools/commands.h"
#include "tools/profile.h"
#include "tools/progress.h"

struct args {
    const char *out, *preset;
    cli_list configs, sets, given;
    struct profile_args profile;
    bool resume, json;
};

static const cli_option own[] = {
    {"out", 'o', "RUN", CLI_TEXT, offsetof(struct args, out), 0, 0, "the folder to write"},
    {"resume", 0, NULL, CLI_FLAG, offsetof(struct args, resume), 0, 0,
     "go on with RUN; only --steps, --epochs, --minutes, --threads and --recompute may be given anew"},
    {"preset", 0, "NAME", CLI_TEXT, offsetof(struct args, preset), 0, 0, NULL},
    {"config", 0, "FILE", CLI_LIST, offsetof(struct args, configs), 0, 0,
     "settings from a JSON file, such as a run's config.json"},
    {"set", 0, "KEY=VALUE", CLI_LIST, offsetof(struct args, sets), 0, 0,
     "a setting, or a key of the model's configuration, by name"},
    CLI_PROFILE(struct args),
    CLI_JSON(struct args),
};
enum { N_OWN = sizeof own / sizeof *own, MOST = 80 };

/* The options of all settings, "-" for "_" in their names, after our own. */
typedef struct option_table {
    cli_option options[MOST];
    char names[MOST][32];
    char presets[200], models[200];
} option_table;

static void build_options(option_table *t)
{
    int n = N_OWN;
    memcpy(t->options, own, sizeof own);
    cli_list_models("what mixes the positions", t->models, sizeof t->models);
    snprintf(t->presets, sizeof t->presets, "settings to start from:");
    for (int i = 0; asc_preset_at(i); i++) {
        size_t at = strlen(t->presets);
        snprintf(t->presets + at, sizeof t->presets - at, "%s %s", i ? "," : "", asc_preset_at(i));
    }
    t->options[2].help = t->presets;
    for (int i = 0; asc_setting_at(i) && n < MOST - 1; i++, n++) {
        const asc_train_setting *s = asc_setting_at(i);
        snprintf(t->names[n], sizeof t->names[n], "%s", s->key);
        for (char *c = t->names[n]; *c; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        t->options[n] = (cli_option){.name = t->names[n], .argument = s->argument, .type = CLI_LIST,
                                     .at = offsetof(struct args, given), .help = s->help};
        if (strcmp(s->key, "model") == 0) {
            t->options[n].help = t->models;
        }
    }
    t->options[n] = (cli_option){0};
}

/* ---- settings, in the order in which the later wins: preset, files, --set, options ---- */

static void set_pair(asc_settings *s, const char *pair)
{
    char key[128];
    size_t n = strcspn(pair, "=");
    if (pair[n] != '=' || n == 0 || n >= sizeof key) {
        cli_wrong_usage("--set: got '%s', expected KEY=VALUE", pair);
    }
    snprintf(key, sizeof key, "%.*s", (int)n, pair);
    asc_settings_set(s, key, pair + n + 1);
}

static asc_settings *gather(asc_ctx *ctx, const struct args *args)
{
    asc_settings *s = asc_settings_new(ctx);
    if (s && args->preset) {
        asc_settings_preset(s, args->preset);
    }
    for (int i = 0; i < args->configs.n; i++) {
        asc_settings_load(s, args->configs.value[i]);
    }
    for (int i = 0; i < args->sets.n; i++) {
        set_pair(s, args->sets.value[i]);
    }
    for (int i = 0; i < args->given.n && asc_error(ctx) == ASC_OK; i++) {
        asc_settings_option(s, args->given.name[i], args->given.value[i] ? args->given.value[i] : "true");
    }
    if (args->resume && asc_error(ctx) == ASC_OK) {
        asc_settings_resume(s, args->out);
    }
    return s;
}

/* The number of threads is a setting, too, and is needed for the context that trains. */
static asc_ctx *open_ctx(const struct args *args, int *status)
{
    asc_ctx *ctx = cli_ctx_new(1);
    asc_settings *s = gather(ctx, args);
    int threads = asc_settings_threads(s);
    *status = cli_report(ctx);
    asc_settings_free(s);
    asc_ctx_free(ctx);
    return *status == CLI_OK ? cli_ctx_new(threads) : NULL;
}

/* ---- stopping ---- */

static volatile sig_atomic_t stop_requested, hung_up, run_stands;

/* The second signal: no time to save. */
static _Noreturn void end_at_once(void)
{
    static const char with_run[] = "ascgrad train: ended at once; --resume goes on after the last checkpoint\n",
                      without[] = "ascgrad train: ended before the training began; nothing is saved\n";
    const char *text = run_stands ? with_run : without;
    (void)!write(STDERR_FILENO, text, strlen(text));
    _exit(CLI_INTERRUPTED);
}

static void request_stop(int number)
{
    (void)number;
    if (stop_requested) {
        end_at_once();
    }
    stop_requested = 1;
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
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) { /* nohup means that it goes on */
        sigaction(SIGHUP, &quiet, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* nobody watching is no reason to lose a training */
}

static bool on_progress(void *user, const asc_train_progress *p)
{
    run_stands = 1;
    progress_show(user, p);
    return !stop_requested && !hung_up;
}

static void on_message(void *user, const char *text)
{
    progress_clear(user);
    cli_message("%s", text);
}

/* ---- what came of it ---- */

static const char *const ends[] = {[ASC_END_STEPS] = "done", [ASC_END_MINUTES] = "out of time",
                                   [ASC_END_STOPPED] = "stopped"};

static int print_result(const asc_train_result *r, const char *run, bool json)
{
    if (json) {
        return cli_print_json(json_pack(
            "{s:o, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o}", "run", cli_json_text(run, strlen(run)),
            "end", ends[r->end],
            "parameters", (json_int_t)r->parameters, "step", (json_int_t)r->step, "steps", (json_int_t)r->steps,
            "tokens", (json_int_t)r->tokens, "elapsed_s", cli_json_real(r->elapsed_s), "best_step",
            (json_int_t)r->best_step, "valid_loss", cli_json_real(r->best_loss), "valid_ppl",
            cli_json_real(r->best_ppl), "valid_bits_per_byte", cli_json_real(r->best_bits_per_byte), "source_ppl",
            cli_json_real(r->source_ppl)));
    }
    printf("%s: %s after step %lld", run, ends[r->end], (long long)r->step);
    if (r->step <= r->steps) {
        printf(" of %lld", (long long)r->steps);
    }
    printf(", %lld tokens, %.0f s; %.2f M parameters\n", (long long)r->tokens, r->elapsed_s,
           (double)r->parameters * 1e-6);
    if (isfinite(r->best_loss)) {
        printf("best on valid: step %lld, loss %.4f, perplexity %.3f, %.4f bits per byte\n", (long long)r->best_step,
               r->best_loss, r->best_ppl, r->best_bits_per_byte);
    }
    if (isfinite(r->source_ppl)) {
        printf("the source's own perplexity there: %.3f\n", r->source_ppl);
    }
    return CLI_OK;
}

static int show_profile(asc_ctx *ctx, asc_profile *profile, const struct profile_args *args)
{
    enum { SIZE = 1024 }; /* of square products, which reach the most */
    asc_profile_stop(profile);
    return profile_finish(ctx, profile, args, profile ? asc_gemm_speed(ctx, SIZE, SIZE, SIZE) : 0);
}

static int run(int argc, char **argv)
{
    static struct args args = {.profile.traced = PROFILE_TRACED};
    static option_table table;
    build_options(&table);
    int n = cli_parse_options(&command_train, table.options, argc, argv, &args);
    cli_expect_operands(n, argv, 0, 0, "");
    if (!args.out) {
        cli_wrong_usage("--out RUN is missing; see --help");
    }
    int status;
    asc_ctx *ctx = open_ctx(&args, &status);
    if (!ctx) {
        return status;
    }
    catch_signals();
    progress bar = progress_start();
    asc_profile *profile = profile_start(ctx, &args.profile);
    asc_settings *settings = gather(ctx, &args);
    asc_train_result result = {0};
    asc_status end = asc_train(ctx, settings, args.out, args.resume,
                               &(asc_train_hooks){on_progress, on_message, &bar}, &result);
    progress_clear(&bar);
    status = cli_report(ctx);
    if (end == ASC_OK || end == ASC_ERR_INTERRUPTED) {
        int printed = print_result(&result, args.out, args.json);
        status = status ? status : printed;
    }
    int shown = show_profile(ctx, profile, &args.profile);
    status = status ? status : shown;
    asc_settings_free(settings);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_train = {
    "train", "trains a language model", "--out RUN --data D",
    "Settings come from the preset, then the files, then --set, then options; the later wins. RUN gets config.json,\n"
    "the vocabulary, metrics.jsonl, model.safetensors (the best on the validation split) and checkpoint.safetensors.\n"
    "An interrupt saves and ends (status 130); a second one ends at once, and what the last checkpoint has is left.",
    "ascgrad train --model transformer --data builtin --tokenizer word --preset quickstart --out runs/first\n"
    "ascgrad train --resume --out runs/first --epochs 3",
    NULL, run,
};
