/* train/summary.c: summary.json: how a training ended, and what came of it, on which machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <program/file.h>

#include "data/json.h"
#include "stats/stats.h"
#include "train/trainer.h"

bool asc_summary_has_best(const char *path)
{
    FILE *f = asc_file_read(path);
    json_t *summary = f ? json_loadf(f, 0, NULL) : NULL;
    bool has = json_is_object(json_object_get(summary, "best"));
    json_decref(summary);
    if (f) {
        fclose(f);
    }
    return has;
}

/* ---- the lines of metrics.jsonl ---- */

typedef struct lines {
    double *speed; /* tokens_per_s of each */
    size_t n, capacity;
    json_t *best; /* the line of the best evaluation; or NULL */
} lines;

/* Whether a line is of an evaluation; after the run went back another may be of the same step. */
static bool is_line_of(const json_t *line, const asc_best *best)
{
    const json_t *loss = json_object_get(line, "valid_loss"); /* in nine digits */
    return json_is_number(loss) && json_integer_value(json_object_get(line, "step")) == best->step &&
           fabs(json_number_value(loss) - best->loss) <= 1e-8 * fabs(best->loss);
}

static void take_line(asc_ctx *ctx, lines *all, const char *text, size_t bytes, const asc_best *best)
{
    json_t *line = json_loadb(text, bytes, 0, NULL);
    const json_t *speed = json_object_get(line, "tokens_per_s");
    if (json_is_number(speed) && asc_grow(ctx, &all->speed, &all->capacity, all->n + 1, sizeof *all->speed)) {
        all->speed[all->n++] = json_number_value(speed);
    }
    if (is_line_of(line, best)) {
        json_decref(all->best);
        all->best = json_incref(line);
    }
    json_decref(line);
}

static lines read_lines(const asc_trainer *t)
{
    lines all = {0};
    FILE *f = asc_file_read(t->folder.metrics);
    char *text = NULL;
    size_t capacity = 0;
    for (ssize_t n; f && (n = getline(&text, &capacity, f)) > 0;) {
        take_line(t->ctx, &all, text, (size_t)n, asc_trainer_best(t));
    }
    free(text);
    if (f) {
        fclose(f);
    }
    return all;
}

/* ---- the object ---- */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* A number of an earlier invocation's summary; NaN: there is none. */
static double earlier(const asc_trainer *t, const char *key)
{
    const json_t *value = json_object_get(t->past, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The best evaluation, as its line has it; where evaluations took a part of the split, the whole one's figures. */
static json_t *describe_best(const asc_trainer *t, json_t *line)
{
    if (asc_trainer_best(t)->step < 0) {
        return json_null();
    }
    static const char *const known[] = {"step", "tokens", "elapsed_s"};
    json_t *best = json_object(), *value;
    const char *key;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        json_object_set(best, known[i], json_object_get(line, known[i]));
    }
    json_object_foreach(line, key, value) {
        if (strncmp(key, "valid_", strlen("valid_")) == 0) {
            json_object_set(best, key, value);
        }
    }
    json_object_set_new(best, "step", json_integer(asc_trainer_best(t)->step));
    if (!line) { /* of before the run went back */
        json_object_set_new(best, "valid_loss", real(asc_trainer_best(t)->loss));
        json_object_set_new(best, "valid_ppl", real(exp(asc_trainer_best(t)->loss)));
        json_object_set_new(best, "valid_bits_per_byte", real(asc_trainer_best(t)->bits));
    }
    if (!isnan(t->whole.loss)) {
        json_object_set_new(best, "valid_loss", real(t->whole.loss));
        json_object_set_new(best, "valid_ppl", real(t->whole.ppl));
        json_object_set_new(best, "valid_bits_per_byte", real(t->whole.bits_per_byte));
        json_object_set_new(best, "valid_unknown", real(t->whole.unknown));
        json_object_set_new(best, "valid_accuracy", real(t->whole.accuracy));
        if (json_object_get(best, "valid_exact")) {
            json_object_set_new(best, "valid_exact", real(t->whole.exact));
        }
    }
    return best;
}

static double peak_mib(const asc_trainer *t)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return fmax((double)usage.ru_maxrss / 1024, earlier(t, "peak_rss_mib"));
}

/* The most of what an earlier summary, or the checkpoint of a session that wrote none, knows, and this session. */
static double wall_time(const asc_trainer *t)
{
    double before = t->invoked_s - t->start_s; /* by the checkpoint */
    return fmax(before, earlier(t, "wall_s")) + asc_trainer_spent(t);
}

/* GFLOP a token, the mean over the run: of this invocation, and of those before it as far as their summary says it. */
static double products(const asc_trainer *t)
{
    double before = earlier(t, "gflop_per_token"), now = 1e-9 * t->flops, here = (double)t->flops_tokens;
    double there = isfinite(before) ? (double)t->state.tokens - here : 0;
    return here + there > 0 ? (now + (there > 0 ? before * there : 0)) / (here + there) : before;
}

static double unknown_share(const asc_trainer *t)
{
    bool whole = !isnan(t->whole.loss), any = t->evaluation_s > 0;
    return whole ? t->whole.unknown : any ? t->progress.valid.unknown : earlier(t, "unknown");
}

static json_t *describe(asc_trainer *t, const char *state, const char *reason)
{
    json_t *words = json_string(reason);
    words = words ? words : json_string("an error about a name that is not UTF-8");
    lines all = read_lines(t);
    asc_machine m = asc_machine_info();
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:I, s:f, s:o, s:o, s:I, s:o, s:o}", "state", state, "reason", words, "steps",
                  (json_int_t)t->state.step, "tokens", (json_int_t)t->state.tokens, "epochs",
                  asc_stages_epochs(&t->stages, t->state.step), "wall_s", real(wall_time(t)), "peak_rss_mib",
                  real(peak_mib(t)), "parameters", (json_int_t)asc_params_numel(asc_lm_params(t->lm)),
                  "gflop_per_token", real(products(t)), "tokens_per_s", real(asc_median(all.speed, (int64_t)all.n)));
    json_t *machine = json_pack(
        "{s:s, s:f, s:i, s:s, s:s?, s:s, s:o, s:o}", "processor", m.processor, "memory_gib",
        m.memory_bytes / (1024. * 1024 * 1024), "threads", asc_threads(t->ctx), "version", m.version, "blas", m.blas,
        "instructions", m.isa, "unknown", real(unknown_share(t)), "best", describe_best(t, all.best));
    json_object_update(object, machine);
    json_decref(machine);
    json_decref(all.best);
    asc_free(t->ctx, all.speed, all.capacity * sizeof *all.speed);
    return object;
}

/* ---- the file ---- */

asc_status asc_summary_open(asc_trainer *t)
{
    if (access(t->folder.summary, F_OK) != 0) {
        return ASC_OK;
    }
    t->past = asc_json_read(t->ctx, t->folder.summary, true);
    asc_error_clear(t->ctx); /* one that can't be read says nothing */
    unlink(t->folder.summary);
    return ASC_OK;
}

static void write_file(asc_trainer *t, const char *state, const char *reason)
{
    if (asc_folder_check_claim(&t->folder) == ASC_OK) {
        asc_json_write(t->ctx, t->folder.summary, describe(t, state, reason), 9);
    }
}

void asc_summary_write(asc_trainer *t, asc_train_end end)
{
    static const char *const states[] = {[ASC_TRAIN_END_STEPS] = "done",
                                         [ASC_TRAIN_END_EARLY] = "done",
                                         [ASC_TRAIN_END_MINUTES] = "interrupted",
                                         [ASC_TRAIN_END_STOPPED] = "interrupted"};
    static const char *const reasons[] = {[ASC_TRAIN_END_STEPS] = "all steps are done",
                                          [ASC_TRAIN_END_EARLY] = "early stop",
                                          [ASC_TRAIN_END_MINUTES] = "out of time",
                                          [ASC_TRAIN_END_STOPPED] = "stopped"};
    asc_status status = asc_error(t->ctx);
    asc_error_state before = asc_error_put_by(t->ctx);
    write_file(t, status ? "failed" : states[end], status ? before.message : reasons[end]);
    if (status) { /* what went wrong first is told */
        asc_error_put_back(t->ctx, &before);
    }
}
