/* tools/eval.c: ascgrad eval. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/train.h>
#include <program/file.h>

#include "tools/cage.h"
#include "tools/classes.h"
#include "tools/commands.h"
#include "tools/limited.h"
#include "tools/open.h"
#include "tools/progress.h"
#include "tools/spare.h"
#include "tools/unknown.h"

struct args {
    const char *data, *split, *tokenizer, *per_token, *length, *precision;
    int64_t batch, carry, threads, max_memory;
    bool json, no_cage;
};

static const cli_option options[] = {
    {"data", 0, "D", CLI_TEXT, offsetof(struct args, data), 0, 0, "a data set, as train's --data (the run's)"},
    {"split", 0, "train|valid|test", CLI_CHOICE, offsetof(struct args, split), 0, 0, "which part of the data (valid)"},
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer, for a model that is in no run"},
    {"per-token", 0, "FILE", CLI_TEXT, offsetof(struct args, per_token), 0, 0,
     "write a line for each predicted token: its id and its loss"},
    {"length", 0, "L,L,...", CLI_TEXT, offsetof(struct args, length), 0, 0,
     "tokens of a block, or of a task's examples, also longer ones than were trained on; several: each by itself"},
    {"carry", 0, "C", CLI_INT_OR_NONE, offsetof(struct args, carry), 0, 1 << 24,
     "read the split as one text, each block behind the last C tokens of the one before; as the model, without C"},
    {"batch", 0, "N", CLI_INT, offsetof(struct args, batch), 1, 1 << 20, "sequences at a time (the run's)"},
    CLI_PRECISION(struct args),
    CLI_THREADS(struct args),
    CLI_NO_CAGE(struct args),
    CLI_MAX_MEMORY(struct args),
    CLI_JSON(struct args),
    CLI_PROGRESS,
    {0},
};

/* What the evaluation tells us while it runs. */
typedef struct listener {
    progress bar;
    asc_output *per_token;
} listener;

static asc_status write_tokens(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    listener *l = user;
    asc_status status = ASC_OK;
    for (int64_t i = 0; l->per_token && i < n && !status; i++) {
        char line[64];
        int bytes = snprintf(line, sizeof line, "%lld %.9g\n", (long long)ids[i], losses[i]);
        status = ids[i] >= 0 ? asc_output_write(l->per_token, line, (size_t)bytes) : ASC_OK;
    }
    return status;
}

static bool show(void *user, double done)
{
    listener *l = user;
    progress_part(&l->bar, "evaluating", done);
    return true;
}

/* What the data's source itself would reach, where it knows: per token of its own, and per byte. */
typedef struct source_result {
    bool known;
    double ppl, bits_per_byte;
} source_result;

static source_result ask_source(asc_dataset *data, asc_split_kind kind, const asc_split *split)
{
    asc_entropy e;
    source_result r = {.known = asc_dataset_entropy(data, kind, &e)};
    if (r.known) {
        r.ppl = exp(e.nats / (double)e.tokens);
        r.bits_per_byte = e.nats * (1 / (log(2) * (double)split->bytes));
    }
    return r;
}

/* ---- what was found, at each length ---- */

enum { LENGTHS = 32 };

typedef struct outcome {
    int64_t length; /* as asked for; 0: as the data or the model has it */
    int64_t carry;  /* tokens of the block before; 0: blocks by themselves */
    asc_eval_result result;
    source_result source;
    int64_t classes, *confusion; /* of a classifier: [classes, classes], from calloc */
} outcome;

static json_t *describe(const outcome *o, const asc_dataset *data, const char *split)
{
    const asc_eval_result *r = &o->result;
    json_t *object = json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "split", split, "tokens",
                               (json_int_t)r->tokens, "loss", cli_json_real(r->loss), "ppl", cli_json_real(r->ppl),
                               "bits_per_byte", cli_json_real(r->bits_per_byte), "unknown", cli_json_real(r->unknown),
                               "accuracy", cli_json_real(r->accuracy), "ece", cli_json_real(r->ece));
    if (o->length > 0) {
        json_object_set_new(object, "length", json_integer((json_int_t)o->length));
    }
    if (o->carry > 0) {
        json_object_set_new(object, "carry", json_integer((json_int_t)o->carry));
    }
    if (r->sequences > 0) {
        json_object_set_new(object, "sequences", json_integer((json_int_t)r->sequences));
    }
    if (isfinite(r->exact)) {
        json_object_set_new(object, "exact", json_real(r->exact));
    }
    if (o->confusion) {
        json_object_set_new(object, "classes", classes_names(data));
        json_object_set_new(object, "confusion", classes_confusion(o->confusion, o->classes));
    }
    if (o->source.known) {
        json_object_set_new(object, "source_ppl", cli_json_real(o->source.ppl));
        json_object_set_new(object, "source_ppl_per", json_string("word"));
        json_object_set_new(object, "source_bits_per_byte", cli_json_real(o->source.bits_per_byte));
    }
    return object;
}

/* One object; of several lengths one that has a list of them. */
static int print_json(const outcome *o, int n, const asc_dataset *data, const char *split)
{
    if (n == 1) {
        return cli_print_json(describe(o, data, split));
    }
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(list, describe(&o[i], data, split));
    }
    return cli_print_json(json_pack("{s:s, s:o}", "split", split, "lengths", list));
}

static void print_loss(const outcome *o, const char *split)
{
    const asc_eval_result *r = &o->result;
    char unknown[40];
    cli_print("%s", split);
    if (o->length > 0) {
        cli_print(" at length %lld", (long long)o->length);
    }
    if (o->carry > 0) {
        cli_print(" with %lld tokens carried", (long long)o->carry);
    }
    cli_print(": %lld %s, loss %.6f, perplexity %.4f", (long long)r->tokens, o->confusion ? "sequences" : "tokens",
              r->loss, r->ppl);
    if (!o->confusion) {
        cli_print(", %.5f bits per byte%s", r->bits_per_byte, unknown_share(r->unknown, unknown, sizeof unknown));
    }
    cli_print("\n");
}

static void print_right(const outcome *o)
{
    const asc_eval_result *r = &o->result;
    if (!isfinite(r->accuracy)) {
        return;
    }
    cli_print("the most probable %s is right for %.2f %% of them", o->confusion ? "class" : "token", 100 * r->accuracy);
    if (isfinite(r->exact)) {
        cli_print(", and for all of a sequence in %.2f %%", 100 * r->exact);
    }
    if (isfinite(r->ece)) {
        cli_print("; its probability is off by %.2f %% (ECE)", 100 * r->ece);
    }
    cli_print("\n");
}

static void print_result(const outcome *o, const asc_dataset *data, const char *split)
{
    const asc_eval_result *r = &o->result;
    print_loss(o, split);
    print_right(o);
    unknown_warn(r->unknown);
    if (o->confusion) {
        json_t *names = classes_names(data);
        classes_print(names, o->confusion, o->classes);
        json_decref(names);
    }
    if (o->source.known) {
        cli_print("the source itself: perplexity %.4f per word, %.5f bits per byte\n", o->source.ppl,
                  o->source.bits_per_byte);
    }
}

/* ---- evaluating ---- */

static asc_status evaluate(asc_ctx *ctx, const struct args *args, const opened *opened, outcome *o)
{
    const asc_model *model = opened->model;
    listener l = {.bar = progress_start()};
    o->classes = asc_lm_classes(model->lm);
    o->confusion = o->classes > 0 ? calloc((size_t)(o->classes * o->classes), sizeof *o->confusion) : NULL;
    if (o->classes > 0 && !o->confusion) {
        return asc_fail(ctx, ASC_ERR_MEMORY, "out of memory for the classes' counts");
    }
    if (args->per_token && !(l.per_token = asc_output_begin(ctx, args->per_token))) {
        return asc_error(ctx);
    }
    asc_eval_options options = {.batch = args->batch > 0 ? args->batch : model->batch,
                                .length = o->length,
                                .carry = o->carry,
                                .tokens = write_tokens,
                                .progress = show,
                                .user = &l,
                                .confusion = o->confusion,
                                .features = opened->features};
    asc_evaluate(ctx, model->lm, opened->split, &options, &o->result);
    progress_clear(&l.bar);
    return l.per_token ? asc_output_end(l.per_token) : asc_error(ctx);
}

/* The tokens that --carry asks for, of the model where it names none. */
static asc_status find_carry(asc_ctx *ctx, const struct args *args, const asc_model *model, int64_t *carry)
{
    int64_t own = asc_lm_carry(model->lm);
    *carry = args->carry < 0 ? own : args->carry;
    if (args->carry < 0 && own == 0) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "carry", ": the model was trained without, expected how many tokens, as "
                           "in --carry=%lld", (long long)asc_lm_block(model->lm));
    }
    return ASC_OK;
}

static asc_status evaluate_at(asc_ctx *ctx, const struct args *args, opened *opened, asc_split_kind kind, outcome *o)
{
    if (find_carry(ctx, args, opened->model, &o->carry) == ASC_OK &&
        open_split(ctx, opened, kind, false, o->length) == ASC_OK &&
        open_features(ctx, opened, kind, &(open_encoding){0}) == ASC_OK &&
        evaluate(ctx, args, opened, o) == ASC_OK) {
        o->source = ask_source(opened->data, kind, opened->split);
    }
    return asc_error(ctx);
}

/* The lengths that --length names, one of 0 without it; how many. */
static int read_lengths(const struct args *args, outcome *o)
{
    if (!args->length) {
        return 1;
    }
    int64_t lengths[LENGTHS];
    int n = cli_numbers("length", args->length, 1, lengths, LENGTHS);
    if (n > 1 && args->per_token) {
        cli_wrong_usage("--per-token: one FILE holds one length, and --length names %d", n);
    }
    for (int i = 0; i < n; i++) {
        o[i].length = lengths[i];
    }
    return n;
}

static int report(asc_ctx *ctx, const struct args *args, const outcome *o, int n, const asc_dataset *data)
{
    int status = cli_report(ctx);
    if (status != CLI_OK) {
        return status;
    }
    for (int i = 0; i < n && !args->json; i++) {
        print_result(&o[i], data, args->split);
    }
    status = args->json ? print_json(o, n, data, args->split) : CLI_OK;
    for (int i = 0; i < n && status == CLI_OK; i++) {
        if (!isfinite(o[i].result.loss)) {
            cli_message("the loss is not finite");
            status = CLI_FAILED;
        }
    }
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {.split = "valid"};
    outcome outcomes[LENGTHS] = {{0}};
    int n_operands = cli_parse(&command_eval, argc, argv, &args);
    cli_expect_operands(n_operands, argv, 1, 1, "a RUN or MODEL");
    asc_split_kind kind = open_kind(args.split);
    int n = read_lengths(&args, outcomes);
    spare_inputs("per-token", args.per_token, 3, (const char *const[]){argv[0], args.data, args.tokenizer});
    limited_set((size_t)args.max_memory << 20);
    if (!args.no_cage) {
        cage_enter(&(cage){.model = argv[0], .data = args.data, .tokenizer = args.tokenizer, .output = args.per_token,
                           .reads_data = true, .reads_encoder = true, .encodes = true});
    }
    asc_ctx *ctx = cli_ctx_new(args.threads);
    opened opened = open_model(ctx, argv[0], args.data, args.tokenizer);
    open_precision(ctx, opened.model, args.precision);
    if (asc_error(ctx) == ASC_OK && asc_lm_carry(opened.model->lm) > 0 && !cli_given_option("carry", 5)) {
        cli_message("each block by itself; the model was trained with %lld tokens carried, and --carry evaluates it so",
                    (long long)asc_lm_carry(opened.model->lm));
    }
    for (int i = 0; i < n && asc_error(ctx) == ASC_OK; i++) {
        evaluate_at(ctx, &args, &opened, kind, &outcomes[i]);
    }
    int status = report(ctx, &args, outcomes, n, opened.data);
    for (int i = 0; i < n; i++) {
        free(outcomes[i].confusion);
    }
    open_close(ctx, &opened);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_eval = {
    "eval",
    "prints a model's loss, perplexity and bits per byte",
    "RUN|MODEL",
    "RUN stands for the best model in it. Every token of the split but the first is predicted once.",
    "ascgrad eval runs/first --split test\n"
    "ascgrad eval model.safetensors --data wikitext-2/ --tokenizer wordpiece:vocab.txt --json\n"
    "ascgrad eval runs/recall --length 64,128,256 --json\n"
    "ascgrad eval runs/long --carry 256",
    options,
    run,
};
