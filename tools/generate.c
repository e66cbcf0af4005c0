/* tools/generate.c: ascgrad generate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/train.h>

#include "tools/commands.h"
#include "tools/unknown.h"

struct args {
    const char *prompt, *tokenizer, *data;
    int64_t tokens, threads;
    int64_t top_k, seed;
    double temperature, top_p;
    bool json;
};

static const cli_option options[] = {
    {"prompt", 'p', "TEXT", CLI_TEXT, offsetof(struct args, prompt), 0, 0,
     "text to continue, as the second argument; - reads standard input"},
    {"tokens", 'n', "N", CLI_INT, offsetof(struct args, tokens), 0, 1e12, "tokens to write (100)"},
    {"temperature", 0, "T", CLI_REAL, offsetof(struct args, temperature), 0, 1e6,
     "0: always the most probable token; 1: as the model has it (1)"},
    {"top-k", 0, "K", CLI_INT, offsetof(struct args, top_k), 0, 1e9, "draw from the K most probable; 0: all (0)"},
    {"top-p", 0, "P", CLI_REAL, offsetof(struct args, top_p), 1e-9, 1,
     "draw from the most probable that together reach P (1)"},
    {"seed", 0, "N", CLI_INT, offsetof(struct args, seed), 0, 1e15, "of the draws (1)"},
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer, for a model that is in no run"},
    {"data", 0, "D", CLI_TEXT, offsetof(struct args, data), 0, 0,
     "the data whose words a model of no run was trained on"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* Where the tokens go: to stdout as they come, or into memory for JSON. */
typedef struct writer {
    asc_decoder *decoder;
    FILE *out;
    json_t *ids; /* or NULL */
    int32_t unknown;      /* the id of unknown tokens; -1: there is none */
    int64_t n, n_unknown; /* tokens written, and those that are unknown */
} writer;

static bool put(writer *w, const char *text, size_t n)
{
    return fwrite(text, 1, n, w->out) == n && (w->out != stdout || fflush(stdout) == 0);
}

static bool on_token(void *user, int32_t id)
{
    writer *w = user;
    size_t n;
    const char *text = asc_decoder_next(w->decoder, id, &n);
    w->n++;
    w->n_unknown += id == w->unknown;
    if (w->ids) {
        json_array_append_new(w->ids, json_integer(id));
    }
    return text && put(w, text, n);
}

/* The text to continue; it may have zeros in it. */
typedef struct prompt {
    const char *text;
    size_t n;
} prompt;

/* All of standard input, its length in *size; new. */
static char *read_stdin(size_t *size)
{
    char *text = NULL, part[4096];
    size_t got;
    FILE *memory = open_memstream(&text, size);
    while (memory && (got = fread(part, 1, sizeof part, stdin)) > 0) {
        fwrite(part, 1, got, memory);
    }
    if (!memory || fclose(memory) || ferror(stdin)) {
        cli_message("standard input could not be read");
        exit(CLI_IO);
    }
    return text;
}

/* Writes prompt and continuation. */
static void write_text(asc_ctx *ctx, const asc_model *model, const struct args *args, prompt p, writer *w)
{
    asc_ids ids = {0};
    size_t n;
    asc_tokenizer_encode(model->tokenizer, p.text, p.n, 0, &ids);
    unknown_name_words(model->tokenizer, p.text, p.n);
    w->unknown = asc_tokenizer_unknown(model->tokenizer);
    w->decoder = asc_decoder_new(model->tokenizer);
    for (size_t i = 0; w->decoder && i < ids.n; i++) {
        asc_decoder_next(w->decoder, ids.data[i], &n); /* so that it knows what stands before */
    }
    asc_sampling sampling = {args->temperature, args->top_k, args->top_p, (uint64_t)args->seed};
    if (asc_error(ctx) == ASC_OK && put(w, p.text, p.n) &&
        asc_generate(ctx, model, ids.data, (int64_t)ids.n, args->tokens, &sampling, on_token, w) == ASC_OK) {
        const char *rest = asc_decoder_end(w->decoder, &n);
        put(w, rest, n);
    }
    asc_decoder_free(w->decoder);
    asc_ids_free(ctx, &ids);
}

static int write_json(asc_ctx *ctx, const asc_model *model, const struct args *args, prompt p)
{
    char *text = NULL;
    size_t size = 0;
    writer w = {.out = open_memstream(&text, &size), .ids = json_array()};
    if (!w.out) {
        cli_message("no memory for the result");
        json_decref(w.ids);
        return CLI_IO;
    }
    write_text(ctx, model, args, p, &w);
    fclose(w.out);
    int status = cli_report(ctx);
    if (status == CLI_OK) {
        double share = w.n > 0 ? (double)w.n_unknown / (double)w.n : 0;
        status = cli_print_json(json_pack("{s:o, s:o, s:O, s:o}", "prompt", cli_json_text(p.text, p.n), "text",
                                          cli_json_text(text, size), "ids", w.ids, "unknown", cli_json_real(share)));
    }
    json_decref(w.ids);
    free(text);
    return status;
}

/* The prompt is the option's, or the second operand. */
static void take_prompt(struct args *args, int n, char **argv)
{
    if (n > 2) {
        cli_wrong_usage("'%s' is one argument too many; a prompt of several words needs quotes: '%s %s ...'", argv[2],
                        argv[1], argv[2]);
    }
    if (n == 2 && args->prompt) {
        cli_wrong_usage("--prompt and '%s': expected one prompt", argv[1]);
    }
    cli_expect_operands(n > 1 ? 1 : n, argv, 1, 1, "a RUN or MODEL");
    args->prompt = n == 2 ? argv[1] : args->prompt ? args->prompt : "";
}

static int run(int argc, char **argv)
{
    struct args args = {.tokens = 100, .temperature = 1, .top_p = 1, .seed = 1};
    int n = cli_parse(&command_generate, argc, argv, &args);
    take_prompt(&args, n, argv);
    bool piped = strcmp(args.prompt, "-") == 0;
    asc_ctx *ctx = cli_ctx_new(args.threads);
    asc_dataset *data = args.data ? asc_dataset_open(ctx, args.data) : NULL;
    asc_model *model = asc_error(ctx) == ASC_OK ? asc_model_open(ctx, argv[0], args.tokenizer, data) : NULL;
    if (model) { /* not a token, to see whether it can be continued, before the prompt is written */
        asc_generate(ctx, model, NULL, 0, 0, NULL, on_token, NULL);
    }
    int status = cli_report(ctx);
    if (status == CLI_OK) {
        size_t size = 0;
        char *input = piped ? read_stdin(&size) : NULL;
        prompt p = piped ? (prompt){input, size} : (prompt){args.prompt, strlen(args.prompt)};
        if (args.json) {
            status = write_json(ctx, model, &args, p);
        } else {
            write_text(ctx, model, &args, p, &(writer){.out = stdout});
            putchar('\n');
            status = cli_report(ctx);
        }
        free(input);
    }
    asc_model_free(ctx, model);
    asc_dataset_free(data);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_generate = {
    "generate", "continues a prompt", "RUN|MODEL [PROMPT]",
    "Without a prompt the text starts at the beginning of a line. The same seed gives the same text.",
    "ascgrad generate runs/first 'the small dog' --tokens 50 --temperature 0.8", options, run,
};
