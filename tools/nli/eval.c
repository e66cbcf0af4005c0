/* tools/nli/eval.c: ascgrad nli eval. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <program/file.h>

#include "tools/cage.h"
#include "tools/classes.h"
#include "tools/nli/nli.h"
#include "tools/open.h"
#include "tools/progress.h"
#include "tools/spare.h"

struct args {
    const char *data, *per_pair, *hard;
    open_encoding encoding;
    int64_t batch, threads;
    bool json, no_cage;
};

static const cli_option options[] = {
    {"data", 0, "FILE", CLI_TEXT, offsetof(struct args, data), 0, 0,
     "the pairs, as nli train's (those that the run was validated on)"},
    {"per-pair", 0, "FILE", CLI_TEXT, offsetof(struct args, per_pair), 0, 0,
     "write a line for each pair that is counted: its number, its class, the class found, the probability of its "
     "class"},
    {"hard", 0, "RUN", CLI_TEXT, offsetof(struct args, hard), 0, 0,
     "another model, as one that sees the hypothesis alone: the accuracy on the pairs that it gets wrong, too"},
    {"encoder", 0, "DIR", CLI_TEXT, offsetof(struct args, encoding.folder), 0, 0, "the encoder (the run's)"},
    {"vocab", 0, "FILE", CLI_TEXT, offsetof(struct args, encoding.vocab), 0, 0, "its vocabulary (the run's)"},
    {"cache", 0, "DIR", CLI_TEXT, offsetof(struct args, encoding.cache), 0, 0,
     "where the encoder's states are kept (the user's cache)"},
    {"batch", 0, "N", CLI_INT, offsetof(struct args, batch), 1, 1 << 20, "pairs at a time (the run's)"},
    CLI_THREADS(struct args),
    CLI_NO_CAGE(struct args),
    CLI_JSON(struct args),
    CLI_PROGRESS,
    {0},
};

/* A model's classes of all pairs. */
typedef struct judged {
    int64_t n, classes, *confusion, skipped;
    int64_t *label, *found; /* [n] */
    uint32_t text;          /* checksum of the pairs */
    json_t *names;          /* of the classes */
    asc_eval_result result;
} judged;

typedef struct listener {
    progress bar;
    asc_output *per_pair;
    const asc_dataset *data;
    judged *j;
} listener;

static bool show(void *user, double done)
{
    listener *l = user;
    progress_part(&l->bar, "evaluating", done);
    return true;
}

static asc_status add(asc_output *file, const char *text)
{
    return asc_output_write(file, text, strlen(text));
}

static asc_status take(void *user, int64_t number, int64_t label, int64_t found, double loss)
{
    listener *l = user;
    l->j->label[number] = label;
    l->j->found[number] = found;
    if (!l->per_pair) {
        return ASC_OK;
    }
    char first[32], last[32];
    snprintf(first, sizeof first, "%lld ", (long long)number);
    snprintf(last, sizeof last, " %.9g\n", exp(-loss));
    add(l->per_pair, first); /* a name is there until the next one is asked for */
    add(l->per_pair, asc_dataset_class(l->data, (int32_t)label));
    add(l->per_pair, " ");
    add(l->per_pair, asc_dataset_class(l->data, (int32_t)found));
    return add(l->per_pair, last);
}

/* ---- opening ---- */

/* All pairs of the file; without one the run's validation split. */
static opened open_pairs(asc_ctx *ctx, const char *path, const struct args *args, asc_split_kind *kind)
{
    opened o = open_model(ctx, path, args->data, NULL);
    open_precision(ctx, o.model, NULL);
    *kind = args->data ? ASC_SPLIT_TEST : ASC_SPLIT_VALID;
    if (o.model && !asc_lm_pair_inputs(o.model->lm).pairs) {
        cli_wrong_usage("%s is no model of pairs, expected one of nli train", path);
    }
    if (o.model && (!args->hard || asc_lm_pair_inputs(o.model->lm).states > 0)) { /* else it may be the other's */
        open_vocab(ctx, o.model, &args->encoding);
    }
    return o;
}

/* ---- evaluating ---- */

static void *take_memory(asc_ctx *ctx, int64_t n, size_t size)
{
    void *memory = calloc((size_t)(n > 0 ? n : 1), size);
    if (!memory) {
        asc_fail(ctx, ASC_ERR_MEMORY, "nli eval: out of memory");
    }
    return memory;
}

static void clear(judged *j)
{
    free(j->label);
    free(j->found);
    free(j->confusion);
    json_decref(j->names);
}

static asc_status run_pairs(asc_ctx *ctx, const struct args *args, const opened *o, const char *per_pair, judged *j)
{
    listener l = {.bar = progress_start(), .data = o->data, .j = j};
    if (per_pair && !(l.per_pair = asc_output_begin(ctx, per_pair))) {
        return asc_error(ctx);
    }
    const asc_eval_options how = {.batch = args->batch > 0 ? args->batch : o->model->batch, .progress = show,
                                  .sequence = take, .user = &l, .confusion = j->confusion, .features = o->features};
    asc_evaluate(ctx, o->model->lm, o->split, &how, &j->result);
    progress_clear(&l.bar);
    return l.per_pair ? asc_output_end(l.per_pair) : asc_error(ctx);
}

/* The model of `path`, on all pairs. */
static asc_status judge(asc_ctx *ctx, const char *path, const struct args *args, const char *per_pair, judged *j)
{
    asc_split_kind kind;
    opened o = open_pairs(ctx, path, args, &kind);
    if (asc_error(ctx) == ASC_OK && open_split(ctx, &o, kind, false, 0) == ASC_OK &&
        open_features(ctx, &o, kind, &args->encoding) == ASC_OK) {
        j->n = o.split->n_sequences;
        j->skipped = o.split->skipped;
        j->classes = asc_lm_classes(o.model->lm);
        j->text = o.split->checksum;
        j->names = classes_names(o.data);
        j->label = take_memory(ctx, j->n, sizeof *j->label);
        j->found = take_memory(ctx, j->n, sizeof *j->found);
        j->confusion = take_memory(ctx, j->classes * j->classes, sizeof *j->confusion);
    }
    if (asc_error(ctx) == ASC_OK) {
        run_pairs(ctx, args, &o, per_pair, j);
    }
    open_close(ctx, &o);
    return asc_error(ctx);
}

/* ---- what came of it ---- */

/* Of the pairs that `other` gets wrong, how many there are, and the share that `j` gets right. */
static double hard_accuracy(const judged *j, const judged *other, int64_t *n)
{
    int64_t right = 0;
    *n = 0;
    for (int64_t i = 0; i < j->n; i++) {
        bool hard = other->found[i] != other->label[i];
        *n += hard;
        right += hard && j->found[i] == j->label[i];
    }
    return *n > 0 ? (double)right / (double)*n : NAN;
}

static int print_json(const judged *j, const judged *other)
{
    const asc_eval_result *r = &j->result;
    json_t *o = json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:O}", "accuracy", cli_json_real(r->accuracy), "loss",
                          cli_json_real(r->loss), "ece", cli_json_real(r->ece), "n", (json_int_t)j->n, "skipped",
                          (json_int_t)j->skipped, "confusion", classes_confusion(j->confusion, j->classes), "classes",
                          j->names);
    if (other->n > 0) {
        int64_t n;
        double accuracy = hard_accuracy(j, other, &n);
        json_object_set_new(o, "hard", json_pack("{s:I, s:o}", "n", (json_int_t)n, "accuracy",
                                                 cli_json_real(accuracy)));
    }
    return cli_print_json(o);
}

static void print_table(const judged *j, const judged *other)
{
    const asc_eval_result *r = &j->result;
    cli_print(
        "%lld pairs, %lld left out: accuracy %.4f, loss %.4f; the probability of the class found is off by %.2f %% "
        "(ECE)\n",
        (long long)j->n, (long long)j->skipped, r->accuracy, r->loss, 100 * r->ece);
    classes_print(j->names, j->confusion, j->classes);
    if (other->n > 0) {
        int64_t n;
        double accuracy = hard_accuracy(j, other, &n);
        cli_print("on the %lld pairs that the other model gets wrong: accuracy %.4f\n", (long long)n, accuracy);
    }
}

static int report(asc_ctx *ctx, const struct args *args, const judged *j, const judged *other)
{
    int status = cli_report(ctx);
    if (status != CLI_OK) {
        return status;
    }
    if (args->json) {
        status = print_json(j, other);
    } else {
        print_table(j, other);
    }
    if (!isfinite(j->result.loss)) {
        cli_message("the loss is not finite");
        status = CLI_FAILED;
    }
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    judged j = {0}, other = {0};
    int n = cli_parse(&nli_eval, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "a RUN or MODEL");
    spare_inputs("per-pair", args.per_pair, 5,
                 (const char *const[]){argv[0], args.data, args.hard, args.encoding.vocab, args.encoding.folder});
    if (!args.no_cage) {
        cage_enter(&(cage){.model = argv[0], .other = args.hard, .data = args.data, .output = args.per_pair,
                           .encoder = args.encoding.folder, .tokenizer = args.encoding.vocab, .reads_data = true,
                           .reads_encoder = true, .encodes = true, .cache = args.encoding.cache});
    }
    asc_ctx *ctx = cli_ctx_new(args.threads);
    if (judge(ctx, argv[0], &args, args.per_pair, &j) == ASC_OK && args.hard) {
        judge(ctx, args.hard, &args, NULL, &other);
        if (asc_error(ctx) == ASC_OK && (other.n != j.n || other.text != j.text)) {
            cli_wrong_usage("--hard: %s was validated on other pairs; --data FILE names those for both", args.hard);
        }
    }
    int status = report(ctx, &args, &j, &other);
    clear(&j);
    clear(&other);
    asc_ctx_free(ctx);
    return status;
}

const cli_command nli_eval = {
    "nli eval", "tells how often a model is right on pairs", "RUN|MODEL",
    "RUN stands for the best model in it. Pairs whose label is '-' are left out, and counted. In the confusion a row\n"
    "is a class, a column what it was taken for.",
    "ascgrad nli eval runs/nli --data snli_1.0_test.jsonl.gz --json\n"
    "ascgrad nli eval runs/nli --data snli_1.0_test.jsonl.gz --hard runs/hypothesis --per-pair pairs.txt",
    options, run,
};
