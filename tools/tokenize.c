/* tools/tokenize.c: ascgrad tokenize. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/corpus.h>
#include <program/file.h>

#include "tools/commands.h"
#include "tools/spare.h"

struct args {
    const char *tokenizer, *vocab, *learn, *out;
    int64_t vocab_size;
    bool corpus, json;
};

static const cli_option options[] = {
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer (word)"},
    {"vocab", 0, "FILE", CLI_TEXT, offsetof(struct args, vocab), 0, 0,
     "a run's vocab.txt; without it, word numbers words as it meets them"},
    {"corpus", 0, NULL, CLI_FLAG, offsetof(struct args, corpus), 0, 0,
     "a word <unk> is the unknown token, as in training"},
    {"learn", 0, "KIND", CLI_TEXT, offsetof(struct args, learn), 0, 0,
     "learn a tokenizer from the files rather than use one: bpe, byte-pair encoding"},
    {"vocab-size", 0, "N", CLI_INT, offsetof(struct args, vocab_size), 256, 1 << 20,
     "with --learn: how many tokens it is to have (4096)"},
    {"out", 'o', "FILE", CLI_TEXT, offsetof(struct args, out), 0, 0,
     "with --learn: where it goes, a tokenizer.json for --tokenizer bpe:FILE"},
    CLI_JSON(struct args),
    {0},
};

static asc_tokenizer *open_tokenizer(asc_ctx *ctx, const struct args *args)
{
    if (!args->vocab) {
        return asc_tokenizer_new(ctx, args->tokenizer);
    }
    const asc_tokenizer_kind *kind = asc_tokenizer_kind_find(ctx, args->tokenizer);
    if (kind && !kind->has_vocabulary) {
        cli_wrong_usage("--vocab: %s has no vocabulary; expected another --tokenizer beside it", kind->name);
    }
    if (strchr(args->tokenizer, ':')) {
        cli_wrong_usage("--vocab: --tokenizer %s names a vocabulary already; expected one of the two",
                        args->tokenizer);
    }
    return asc_tokenizer_load(ctx, args->tokenizer, args->vocab);
}

static void print_ids(const asc_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        cli_print(i ? " %d" : "%d", (int)ids->data[i]);
    }
    putchar('\n');
}

static json_t *list_ids(const asc_ids *ids)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ids->n; i++) {
        json_array_append_new(list, json_integer(ids->data[i]));
    }
    return list;
}

/* The ids of a line, which ends with the tokenizer's token of an end, as in training, though the last of a text may
 * have no newline. */
static asc_status encode_line(const asc_tokenizer *tokenizer, asc_ctx *ctx, const char *line, size_t n, bool corpus,
                              asc_ids *ids)
{
    int32_t eos = asc_tokenizer_eos(tokenizer);
    ids->n = 0;
    asc_status status = asc_tokenizer_encode(tokenizer, line, n, corpus ? ASC_ENCODE_CORPUS : 0, ids);
    bool open = eos >= 0 && (ids->n == 0 || ids->data[ids->n - 1] != eos);
    return status || !open ? status : asc_ids_push(ctx, ids, eos);
}

/* Tokenizes line by line: to stdout, or into the array `lines` if there is one. */
static asc_status run_lines(asc_ctx *ctx, asc_text *text, asc_tokenizer *tokenizer, const struct args *args,
                            json_t *lines, int64_t *total)
{
    asc_ids ids = {0};
    const char *line;
    size_t n;
    while (asc_text_next(text, &line, &n) == ASC_OK && line) {
        if ((!args->vocab && asc_tokenizer_collect(tokenizer, line, n)) ||
            encode_line(tokenizer, ctx, line, n, args->corpus, &ids)) {
            break;
        }
        *total += (int64_t)ids.n;
        if (lines) {
            json_array_append_new(lines, list_ids(&ids));
        } else {
            print_ids(&ids);
            if (asc_text_waits(text) && !cli_flush()) {
                break;
            }
        }
    }
    asc_ids_free(ctx, &ids);
    return asc_error(ctx);
}

/* ---- a tokenizer of one's own ---- */

static asc_status count_words(asc_ctx *ctx, asc_bpe_learner *learner, const char *path, int64_t *total)
{
    asc_text *text = asc_text_open(ctx, path, 0);
    const char *line;
    size_t n;
    while (text && asc_text_next(text, &line, &n) == ASC_OK && line && !asc_bpe_learner_add(learner, line, n)) {
        *total += (int64_t)n;
    }
    asc_text_close(text);
    return asc_error(ctx);
}

static int learn(const struct args *args, int n, char **files)
{
    if (strcmp(args->learn, "bpe") != 0) {
        cli_wrong_usage("--learn: got '%s', expected bpe", args->learn);
    }
    if (!args->out) {
        cli_wrong_usage("--learn: -o FILE is missing: where the tokenizer goes");
    }
    spare_inputs("out", args->out, n, (const char *const *)files);
    asc_ctx *ctx = cli_ctx_new(1);
    asc_output_check(ctx, args->out);
    asc_bpe_learner *learner = asc_bpe_learner_new(ctx);
    int64_t bytes = 0, size = 0;
    if (n == 0) {
        count_words(ctx, learner, "-", &bytes);
    }
    for (int i = 0; i < n && !asc_error(ctx); i++) {
        count_words(ctx, learner, files[i], &bytes);
    }
    if (!asc_error(ctx) && bytes > 0) {
        asc_bpe_learner_save(learner, args->vocab_size, args->out, &size);
    }
    int status = cli_report(ctx);
    if (status == CLI_OK && bytes == 0) {
        cli_message("%s: is empty, expected a text to learn from", n > 0 ? files[0] : "standard input");
        status = CLI_IO;
    }
    if (status == CLI_OK && args->json) {
        status = cli_print_json(json_pack("{s:I, s:I, s:o}", "vocab", (json_int_t)size, "bytes",
                                          (json_int_t)bytes, "out", cli_json_string(args->out)));
    } else if (status == CLI_OK) {
        cli_print("%s: %lld tokens, learned from %lld bytes\n", args->out, (long long)size, (long long)bytes);
        if (size < args->vocab_size) {
            cli_message("no pair is there twice any more: %lld tokens rather than %lld; a longer text has more",
                        (long long)size, (long long)args->vocab_size);
        }
    }
    asc_bpe_learner_free(learner);
    asc_ctx_free(ctx);
    return status;
}

/* Learning and using a tokenizer have options of their own. */
static void refuse_strangers(bool learns)
{
    static const char *const use[] = {"tokenizer", "vocab", "corpus", NULL},
                            *const learning[] = {"vocab-size", "out", NULL};
    for (const char *const *name = learns ? use : learning; *name; name++) {
        if (cli_given_option(*name, strlen(*name))) {
            cli_wrong_usage("--%s goes %s --learn", *name, learns ? "without" : "with");
        }
    }
}

static int run(int argc, char **argv)
{
    struct args args = {.tokenizer = "word", .vocab_size = 4096};
    int n = cli_parse(&command_tokenize, argc, argv, &args);
    refuse_strangers(args.learn != NULL);
    if (args.learn) {
        return learn(&args, n, argv);
    }
    cli_expect_operands(n, argv, 0, 1, "");
    asc_ctx *ctx = cli_ctx_new(1);
    asc_tokenizer *tokenizer = open_tokenizer(ctx, &args);
    asc_text *text = tokenizer ? asc_text_open(ctx, n > 0 ? argv[0] : "-", ASC_TEXT_NUL) : NULL;
    json_t *lines = args.json ? json_array() : NULL;
    int64_t total = 0;
    if (text) {
        run_lines(ctx, text, tokenizer, &args, lines, &total);
    }
    int status = cli_report(ctx);
    if (lines && status == CLI_OK) {
        status = cli_print_json(json_pack("{s:I, s:I, s:O}", "vocab", (json_int_t)asc_tokenizer_size(tokenizer),
                                          "tokens", (json_int_t)total, "lines", lines));
    }
    json_decref(lines);
    asc_text_close(text);
    asc_tokenizer_free(tokenizer);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_tokenize = {
    "tokenize", "turns text into token ids, one line for each line", "[FILE]",
    "FILE is plain or gzip; without it, or with -, standard input is read.",
    "ascgrad tokenize --learn bpe --vocab-size 4096 -o tokenizer.json book.txt\n"
    "echo 'Hello, world!' | ascgrad tokenize --tokenizer bpe:tokenizer.json", options, run,
};
