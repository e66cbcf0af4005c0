/* tools/nli/train.c: ascgrad nli train: train's, on files of pairs, from the preset nli. */
#include <stdlib.h>
#include <string.h>

#include <program/settings.h>

#include "tools/next.h"
#include "tools/nli/nli.h"
#include "tools/open.h"
#include "tools/train.h"

struct args {
    struct train_args shared; /* first: tables of options that are shared count from here */
    const char *train, *valid, *vocab, *labels;
};

static const char base[] = "nli"; /* the preset that settings begin with */

static const cli_option own[] = {
    CLI_RUN(struct train_args),
    CLI_GROUP("Data"),
    {"train", 0, "FILE", CLI_TEXT, offsetof(struct args, train), 0, 0,
     "the pairs to train on: SNLI's or MNLI's .jsonl, or a .tsv under a header, plain or gzip"},
    {"valid", 0, "FILE", CLI_TEXT, offsetof(struct args, valid), 0, 0, "the pairs that choose the best model"},
    {"labels", 0, "A|B", CLI_TEXT, offsetof(struct args, labels), 0, 0,
     "the classes, in order (entailment|neutral|contradiction where these are the file's, else as sorted)"},
    {"vocab", 0, "FILE", CLI_TEXT, offsetof(struct args, vocab), 0, 0, "the encoder's vocabulary (its vocab.txt)"},
    CLI_ALL_SETTINGS(struct args, shared.given),
    CLI_GROUP("Model"),
    {"mix", 0, "M,M,...", CLI_LIST, offsetof(struct args, shared.given), 0, 0,
     "the mixing, one for all layers or for each; none: no layers at all, the windows go straight to the classifier"},
    CLI_TRAINING(struct train_args),
    {0},
};

/* The order of the training file's classes, where the field has one; else NULL. */
static const char *find_labels(asc_ctx *ctx, const struct args *args)
{
    char *spec = nli_spec(args->train, args->valid, NULL, NULL);
    asc_dataset *data = asc_dataset_open(ctx, spec);
    const char *usual = nli_usual_classes(data);
    asc_dataset_free(data);
    free(spec);
    return usual;
}

/* What the files say, as train's settings have it. Of a process to which they are sent nobody looks at them. */
static void set_files(asc_ctx *ctx, asc_settings *settings, const struct args *args)
{
    if (!asc_settings_reads_data(settings)) {
        asc_settings_set(settings, "data", args->train);
        return;
    }
    const char *labels = args->labels ? args->labels : find_labels(ctx, args);
    char *spec = nli_spec(args->train, args->valid, NULL, labels);
    if (asc_error(ctx) == ASC_OK) {
        asc_settings_set(settings, "data", spec);
    }
    free(spec);
}

/* Data that an option or --set names, beside files that options name. */
static void check_data(const struct args *args)
{
    const cli_list *given = &args->shared.given, *sets = &args->shared.sets;
    bool both = false;
    for (int i = 0; i < given->n; i++) {
        both = both || strcmp(given->name[i], "data") == 0;
    }
    for (int i = 0; i < sets->n; i++) {
        both = both || strncmp(sets->value[i], "data=", 5) == 0;
    }
    if (both && args->train) {
        cli_wrong_usage("--data: --train and --valid say which, expected one or the other");
    }
}

/* Settings may come from anywhere: what a preset, a file or --set has given needs no option. */
static void check_given(asc_settings *settings, const struct args *args)
{
    bool data, encoder;
    asc_settings_text(settings, "data", &data);
    asc_settings_text(settings, "encoder", &encoder);
    if ((!args->train || !args->valid) && (!data || args->train || args->valid || args->labels)) {
        cli_wrong_usage("--%s FILE is missing: pairs of sentences with their labels%s", args->train ? "valid" : "train",
                        data ? "; without it data is taken as it is set, and no --valid or --labels with it" : "");
    }
    if (!encoder) {
        cli_wrong_usage("--encoder DIR is missing: the folder of a BERT or DistilBERT; or none, to learn embeddings");
    }
}

static void complete(asc_ctx *ctx, asc_settings *settings, const struct args *args)
{
    check_given(settings, args);
    check_data(args);
    if (args->train) {
        set_files(ctx, settings, args);
    }
    if (asc_error(ctx) == ASC_OK && strcmp(asc_settings_text(settings, "encoder", NULL), "none") == 0) {
        asc_settings_set(settings, "encoder", "");
    }
    bool has_tokenizer;
    const char *encoder = asc_settings_text(settings, "encoder", NULL);
    asc_settings_text(settings, "tokenizer", &has_tokenizer);
    if (args->vocab && has_tokenizer) {
        cli_wrong_usage("--vocab: the tokenizer is given, too, expected one of them");
    }
    if (args->vocab && asc_error(ctx) == ASC_OK) {
        has_tokenizer = asc_settings_set_vocab(settings, args->vocab) == ASC_OK;
    }
    if (asc_error(ctx) == ASC_OK && *encoder && asc_settings_reads_data(settings)) {
        open_check_encoder(ctx, encoder, has_tokenizer ? "" : NULL);
    }
}

static void check_resumed(const struct args *args)
{
    if (args->shared.resume && (args->train || args->valid || args->vocab || args->labels)) {
        cli_wrong_usage("--resume: the run goes on with its own files, expected no --train, --valid, --vocab or "
                        "--labels");
    }
}

static void check_pairs(const asc_settings *settings, const struct args *args, const char *run)
{
    if (asc_settings_pairs(settings)) {
        return;
    }
    if (args->shared.resume) {
        cli_wrong_usage("--resume: %s is no model of pairs, expected one of nli train", run);
    } else {
        cli_wrong_usage("head: what is given makes no model of pairs, expected pairs, as the preset nli has it");
    }
}

static void offer(asc_ctx *ctx, const char *run, const asc_train_result *r)
{
    (void)ctx;
    (void)r;
    next_command("nli eval", run, "--data", "TEST.jsonl");
    next_command("nli predict", run, NULL, NULL);
    next_command("plot", run, "--y valid_accuracy", NULL);
}

static int run(int argc, char **argv)
{
    static struct args args = {.shared.profile.traced = PROFILE_TRACED};
    int n = cli_parse_options(&nli_train, train_options(own, base), argc, argv, &args);
    if (args.shared.preset && strcmp(args.shared.preset, "list") == 0) {
        return cli_list_presets(args.shared.json);
    }
    check_resumed(&args);
    const char *folder = train_find_run(&args.shared, n, argv);
    asc_ctx *ctx = cli_ctx_new_first();
    ranks_open(ctx, &args.shared.ranks);
    train_catch_signals(&args.shared);
    asc_settings *settings = train_gather(ctx, &args.shared, base, folder);
    if (settings && asc_error(ctx) == ASC_OK) {
        check_pairs(settings, &args, folder);
    }
    if (settings && asc_error(ctx) == ASC_OK && !args.shared.resume) {
        complete(ctx, settings, &args);
    }
    int status = ranks_close(ctx, train_run(ctx, settings, &args.shared, folder, offer));
    asc_ctx_free(ctx);
    return status;
}

const cli_command nli_train = {
    "nli train",
    "trains a classifier of pairs",
    "--out RUN --train FILE --valid FILE --encoder DIR | --resume RUN",
    "The encoder stays as it is: what it makes of the sentences is computed once, and kept in a cache. Settings begin\n"
    "with the preset nli, also below another one. RUN is a folder as train's, which runs, plot and compare know, too;\n"
    "its best model is the one with the highest accuracy on the pairs of --valid. Pairs whose label is '-' are left\n"
    "out. Where --config or --set gives data (TRAIN:valid=VALID) and encoder, as the config.json of a run does, no\n"
    "option needs to.",
    "ascgrad nli train --encoder all-MiniLM-L6-v2 --train snli_1.0_train.jsonl.gz --valid snli_1.0_dev.jsonl.gz "
    "--mix grassmann --out runs/nli\n"
    "ascgrad nli train --encoder none --tokenizer word --train train.tsv --valid dev.tsv --mix linear --out runs/own\n"
    "ascgrad nli train --config runs/nli/config.json --seed 2 --out runs/nli-2\n"
    "ascgrad nli train --resume runs/nli --epochs 30",
    NULL,
    run,
};
