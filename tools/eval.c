/* tools/eval.c: ascgrad eval. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/train.h>

#include "tools/commands.h"
#include "tools/open.h"
#include "tools/progress.h"

struct args {
    const char *data, *split, *tokenizer, *per_token;
    int64_t batch, threads;
    bool json;
};

static const cli_option options[] = {
    {"data", 0, "D", CLI_TEXT, offsetof(struct args, data), 0, 0,
     "a data set, as train's --data (the run's)"},
    {"split", 0, "SPLIT", CLI_TEXT, offsetof(struct args, split), 0, 0, "train, valid or test (valid)"},
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer, for a model that is in no run"},
    {"per-token", 0, "FILE", CLI_TEXT, offsetof(struct args, per_token), 0, 0,
     "write a line for each predicted token: its id and its loss"},
    {"batch", 0, "N", CLI_INT, offsetof(struct args, batch), 1, 1 << 20, "sequences at a time (the run's)"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* What the evaluation tells us while it runs. */
typedef struct listener {
    progress bar;
    FILE *per_token;
    const char *path;
} listener;

static asc_status write_tokens(void *user, const int64_t *ids, const double *losses, int64_t n)
{
    listener *l = user;
    for (int64_t i = 0; l->per_token && i < n; i++) {
        if (ids[i] >= 0) {
            fprintf(l->per_token, "%lld %.9g\n", (long long)ids[i], losses[i]);
        }
    }
    return l->per_token && ferror(l->per_token) ? ASC_ERR_IO : ASC_OK;
}

static bool show(void *user, double done)
{
    listener *l = user;
    progress_part(&l->bar, "evaluating", done);
    return true;
}

static asc_status close_tokens(asc_ctx *ctx, listener *l)
{
    if (l->per_token) {
        bool failed = ferror(l->per_token) != 0;
        if ((fclose(l->per_token) || failed) && (asc_error(ctx) == ASC_OK || failed)) {
            asc_error_clear(ctx);
            return asc_fail(ctx, ASC_ERR_IO, "%s: %s", l->path, strerror(errno));
        }
    }
    return asc_error(ctx);
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

static int print_result(const asc_eval_result *r, const source_result *source, const char *split, bool json)
{
    if (json) {
        json_t *o = json_pack("{s:s, s:I, s:o, s:o, s:o}", "split", split, "tokens", (json_int_t)r->tokens, "loss",
                              cli_json_real(r->loss), "ppl", cli_json_real(r->ppl), "bits_per_byte",
                              cli_json_real(r->bits_per_byte));
        json_object_set_new(o, "accuracy", cli_json_real(r->accuracy));
        json_object_set_new(o, "ece", cli_json_real(r->ece));
        if (source->known) {
            json_object_set_new(o, "source_ppl", cli_json_real(source->ppl));
            json_object_set_new(o, "source_bits_per_byte", cli_json_real(source->bits_per_byte));
        }
        return cli_print_json(o);
    }
    printf("%s: %lld tokens, loss %.6f, perplexity %.4f, %.5f bits per byte\n", split, (long long)r->tokens, r->loss,
           r->ppl, r->bits_per_byte);
    printf("the most probable token is right for %.2f %% of them; its probability is off by %.2f %% (ECE)\n",
           100 * r->accuracy, 100 * r->ece);
    if (source->known) {
        printf("the source itself: perplexity %.4f per word, %.5f bits per byte\n", source->ppl, source->bits_per_byte);
    }
    return CLI_OK;
}

static asc_status evaluate(asc_ctx *ctx, const struct args *args, const asc_model *model, const asc_split *split,
                           asc_eval_result *result)
{
    listener l = {.bar = progress_start(), .path = args->per_token};
    if (args->per_token && !(l.per_token = fopen(args->per_token, "w"))) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: %s", args->per_token, strerror(errno));
    }
    asc_eval_options o = {.batch = args->batch > 0 ? args->batch : model->batch, .tokens = write_tokens,
                          .progress = show, .user = &l};
    asc_evaluate(ctx, model->lm, split, &o, result);
    progress_clear(&l.bar);
    return close_tokens(ctx, &l);
}

static int run(int argc, char **argv)
{
    struct args args = {.split = "valid"};
    int n = cli_parse(&command_eval, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "a RUN or MODEL");
    asc_split_kind kind = open_kind(args.split);
    asc_ctx *ctx = cli_ctx_new(args.threads);
    asc_eval_result result;
    source_result source = {0};
    opened o = open_model(ctx, argv[0], args.data, args.tokenizer, kind, false);
    if (asc_error(ctx) == ASC_OK) {
        evaluate(ctx, &args, o.model, o.split, &result);
        source = ask_source(o.data, kind, o.split);
    }
    int status = cli_report(ctx);
    if (status == CLI_OK) {
        status = print_result(&result, &source, args.split, args.json);
    }
    if (status == CLI_OK && !isfinite(result.loss)) {
        cli_message("the loss is not finite");
        status = CLI_FAILED;
    }
    open_close(ctx, &o);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_eval = {
    "eval", "prints a model's loss, perplexity and bits per byte", "RUN|MODEL",
    "RUN stands for the best model in it. Every token of the split but the first is predicted once.",
    "ascgrad eval runs/first --split test\n"
    "ascgrad eval model.safetensors --data wikitext-2/ --tokenizer wordpiece:vocab.txt --json",
    options, run,
};
