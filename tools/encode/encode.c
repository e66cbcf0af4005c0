/* tools/encode/encode.c: ascgrad encode. */
#include "tools/encode/encode.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <program/file.h>

#include "tools/commands.h"
#include "tools/open.h"
#include "tools/spare.h"

struct args {
    const char *encoder, *vocab, *pool, *out;
    int64_t max_tokens, window, stride, threads;
    bool json;
};

static const cli_option options[] = {
    {"encoder", 0, "DIR", CLI_TEXT, offsetof(struct args, encoder), 0, 0,
     "the encoder: a folder with config.json, model.safetensors and vocab.txt"},
    {"vocab", 0, "FILE", CLI_TEXT, offsetof(struct args, vocab), 0, 0, "its vocabulary, if that is not DIR/vocab.txt"},
    {"pool", 0, "none|mean|cls|windows", CLI_CHOICE, offsetof(struct args, pool), 0, 0,
     "what is kept of a sentence's states: all; their mean; the first, of [CLS]; means over windows (none)"},
    {"window", 0, "N", CLI_INT, offsetof(struct args, window), 1, 1 << 24,
     "with --pool windows: tokens of a window (8)"},
    {"stride", 0, "N", CLI_INT, offsetof(struct args, stride), 1, 1 << 24,
     "with --pool windows: tokens from the beginning of one to that of the next (8)"},
    {"max-tokens", 0, "N", CLI_INT, offsetof(struct args, max_tokens), 2, 1 << 24,
     "cut longer sentences, [CLS] and [SEP] counted (what the encoder takes)"},
    {"out", 'o', "FILE", CLI_TEXT, offsetof(struct args, out), 0, 0,
     "write states and lengths to FILE.npz or FILE.safetensors"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    CLI_PROGRESS,
    {0},
};

enum { TABLE = 1000 }; /* sentences that a table has at most */

/* ---- interrupts ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static bool goes_on(void *user)
{
    (void)user;
    return !interrupted;
}

/* The first signal ends the encoding, so that no file is left half done; the second the program. */
static void catch_signals(asc_ctx *ctx)
{
    const struct sigaction stop = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    cli_catch_hangup(&stop);
    asc_set_interrupt(ctx, goes_on, NULL);
}

/* ---- the input ---- */

static void check_options(const struct args *args)
{
    if (!args->encoder) {
        cli_wrong_usage("--encoder DIR is missing: the folder of a BERT or DistilBERT");
    }
    static const char *const of_windows[] = {"window", "stride"};
    for (int i = 0; i < 2; i++) {
        if (cli_given_option(of_windows[i], 6) && strcmp(args->pool, "windows") != 0) {
            cli_wrong_usage("--%s goes with --pool windows", of_windows[i]);
        }
    }
    const char *dot = args->out ? strrchr(args->out, '.') : NULL;
    if (args->out && (!dot || (strcmp(dot, ".npz") != 0 && strcmp(dot, ".safetensors") != 0))) {
        cli_wrong_usage("--out: got '%s', expected FILE.npz or FILE.safetensors", args->out);
    }
    const size_t most = ENCODE_PATH - sizeof ENCODE_PARTS;
    if (args->out && strlen(args->out) > most) {
        cli_wrong_usage("--out: got a name of %zu bytes, expected at most %zu: FILE" ENCODE_PARTS " stands beside it",
                        strlen(args->out), most);
    }
}

static asc_pooling_options pooling_of(const struct args *args)
{
    asc_pooling_options p = {.window = args->window, .stride = args->stride};
    while (asc_pooling_name(p.kind) && strcmp(asc_pooling_name(p.kind), args->pool) != 0) {
        p.kind++;
    }
    return p;
}

/* All lines are sentences; of a table the first ones. */
static asc_status read_sentences(encoding *e, const char *path, bool for_table)
{
    asc_text *text = asc_text_open(e->ctx, path, 0);
    const char *line;
    size_t n;
    while (text && asc_text_next(text, &line, &n) == ASC_OK && line) {
        if (for_table && asc_sentences_count(e->sentences) == TABLE) {
            e->more = true;
            break;
        }
        if (asc_sentences_add(e->sentences, line, n)) {
            break;
        }
    }
    asc_text_close(text);
    if (asc_error(e->ctx) == ASC_OK && asc_sentences_count(e->sentences) == 0) {
        asc_fail(e->ctx, ASC_ERR_FORMAT, "%s: is empty, expected a sentence a line",
                 strcmp(path, "-") == 0 ? "standard input" : path);
    }
    return asc_error(e->ctx);
}

static asc_status open_all(encoding *e, const struct args *args, const char *path)
{
    if ((args->out && asc_output_check(e->ctx, args->out)) ||
        open_check_encoder(e->ctx, args->encoder, args->vocab)) {
        return asc_error(e->ctx);
    }
    e->encoder = asc_encoder_open(e->ctx, args->encoder, args->vocab);
    int64_t most = asc_encoder_longest(e->encoder);
    if (e->encoder && args->max_tokens > most) {
        return asc_fail_on(e->ctx, ASC_ERR_ARG, "max_tokens",
                           ": got %lld, expected at most %lld, what the encoder takes", (long long)args->max_tokens,
                           (long long)most);
    }
    if (e->encoder) {
        e->sentences = asc_sentences_new(e->ctx, asc_encoder_tokenizer(e->encoder),
                                         args->max_tokens > 0 ? args->max_tokens : most);
    }
    if (e->sentences && strcmp(path, "-") == 0 && isatty(STDIN_FILENO)) {
        cli_message("each line is a sentence; Ctrl-D ends");
    }
    return e->sentences ? read_sentences(e, path, !args->out && !args->json) : asc_error(e->ctx);
}

/* ---- the result ---- */

void encode_progress(encoding *e, int64_t tokens)
{
    e->tokens += tokens;
    progress_part(&e->bar, "encoding", (double)e->tokens / (double)asc_sentences_total(e->sentences));
}

static json_t *summarise(const encoding *e, const struct args *args)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:s, s:o}", "encoder", asc_encoder_type(e->encoder), "sentences",
                     (json_int_t)asc_sentences_count(e->sentences), "tokens",
                     (json_int_t)asc_sentences_total(e->sentences), "dim", (json_int_t)asc_encoder_dim(e->encoder),
                     "pool", args->pool, "out", cli_json_string(args->out));
}

/* What there is to say beside the result. */
static void tell_cut(const encoding *e, const struct args *args)
{
    int64_t cut = asc_sentences_cut(e->sentences), n = asc_sentences_count(e->sentences);
    if (cut > 0 && !cli_quiet()) {
        int64_t most = args->max_tokens > 0 ? args->max_tokens : asc_encoder_longest(e->encoder);
        cli_message("%lld of %lld sentences %s longer than %lld tokens and cut", (long long)cut, (long long)n,
                    cut == 1 ? "is" : "are", (long long)most);
    }
    if (e->more && !cli_quiet()) {
        cli_message("the first %d lines are shown; -o FILE writes the states of all", TABLE);
    }
}

static int finish(encoding *e, const struct args *args, json_t *object)
{
    progress_clear(&e->bar);
    int status = cli_report(e->ctx);
    if (status != CLI_OK) {
        if (args->out) {
            encode_tell_parts(args->out);
        }
        json_decref(object);
        return status;
    }
    tell_cut(e, args);
    if (args->json) {
        return cli_print_json(object ? object : summarise(e, args));
    }
    if (args->out) {
        cli_print("%s: %lld sentences, %lld tokens\n", args->out, (long long)asc_sentences_count(e->sentences),
                  (long long)asc_sentences_total(e->sentences));
    }
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    struct args args = {.pool = "none"};
    int n = cli_parse(&command_encode, argc, argv, &args);
    cli_expect_operands(n, argv, 0, 1, "");
    check_options(&args);
    spare_inputs("out", args.out, 3, (const char *const[]){n > 0 ? argv[0] : NULL, args.vocab, args.encoder});
    encoding e = {.ctx = cli_ctx_new(args.threads), .pooling = pooling_of(&args)};
    json_t *object = NULL;
    if (!open_all(&e, &args, n > 0 ? argv[0] : "-")) {
        catch_signals(e.ctx);
        e.bar = progress_start();
        if (args.out) {
            encode_to_file(&e, args.out);
        } else if (args.json) {
            object = encode_to_json(&e);
        } else {
            encode_to_table(&e);
        }
        asc_set_interrupt(e.ctx, NULL, NULL);
    }
    int status = finish(&e, &args, object);
    asc_sentences_free(e.sentences);
    asc_encoder_free(e.encoder);
    asc_ctx_free(e.ctx);
    return status;
}

const cli_command command_encode = {
    "encode",
    "turns sentences into the states of a pretrained encoder",
    "[FILE]",
    "FILE, plain or gzip, has a sentence a line; without it, or with -, standard input is read. The encoder is a "
    "BERT or a DistilBERT in Hugging Face's files, and [CLS] and [SEP] are put round each sentence. The file of "
    "-o has `states`, sentences by tokens, windows or nothing by entries of a state, 0 behind the end of a "
    "sentence, and `lengths`: the windows of each sentence with --pool windows, else its tokens; an encoding that was "
    "interrupted goes on with what lies in FILE.parts. Without -o and "
    "--json there is a line for each sentence: its tokens, and the sentence whose state is nearest, by the mean, "
    "or with --pool cls the first state.",
    "ascgrad encode --encoder all-MiniLM-L6-v2 sentences.txt -o states.npz\n"
    "printf 'A man plays.\\nMusic is made.\\n' | ascgrad encode --encoder distilbert-base-uncased",
    options,
    run,
};
