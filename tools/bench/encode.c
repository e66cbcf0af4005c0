/* tools/bench/encode.c: ascgrad bench encode: sentences per second of an encoder. */

#include "tools/bench/bench.h"

struct args {
    const char *encoder, *vocab;
    int64_t max_tokens, runs, memory, threads;
    bool json;
};

static const cli_option options[] = {
    {"encoder", 0, "DIR", CLI_TEXT, offsetof(struct args, encoder), 0, 0, "as of ascgrad encode"},
    {"vocab", 0, "FILE", CLI_TEXT, offsetof(struct args, vocab), 0, 0, "its vocabulary, if that is not DIR/vocab.txt"},
    {"max-tokens", 0, "N", CLI_INT, offsetof(struct args, max_tokens), 2, 1 << 24,
     "cut longer sentences, [CLS] and [SEP] counted (what the encoder takes)"},
    {"runs", 0, "N", CLI_INT, offsetof(struct args, runs), 1, 1000, "how often; the median counts (3)"},
    BENCH_MEMORY(struct args),
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

static asc_status add_lines(asc_ctx *ctx, asc_sentences *sentences, const char *path)
{
    asc_text *text = asc_text_open(ctx, path, 0);
    const char *line;
    size_t n;
    while (text && asc_text_next(text, &line, &n) == ASC_OK && line && !asc_sentences_add(sentences, line, n)) {
    }
    asc_text_close(text);
    return asc_error(ctx);
}

static asc_status measure(asc_ctx *ctx, const struct args *args, const char *path, asc_bench_encode_result *result)
{
    asc_encoder *encoder = asc_encoder_open(ctx, args->encoder, args->vocab);
    asc_sentences *sentences =
        encoder ? asc_sentences_new(ctx, asc_encoder_tokenizer(encoder),
                                    args->max_tokens > 0 ? args->max_tokens : asc_encoder_longest(encoder))
                : NULL;
    asc_status status = sentences ? add_lines(ctx, sentences, path) : asc_error(ctx);
    if (!status) {
        status = asc_bench_encode(ctx, encoder, sentences, args->runs, result);
    }
    asc_sentences_free(sentences);
    asc_encoder_free(encoder);
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {.runs = 3};
    asc_bench_encode_result r;
    int n = cli_parse(&bench_encode, argc, argv, &args);
    cli_expect_operands(n, argv, 0, 1, "");
    if (!args.encoder) {
        cli_wrong_usage("--encoder DIR is missing: the folder of a BERT or DistilBERT");
    }
    asc_ctx *ctx = bench_open(args.threads, args.memory);
    if (!ctx) {
        return CLI_IO;
    }
    measure(ctx, &args, n > 0 ? argv[0] : "-", &r);
    int status = cli_report(ctx);
    if (status == CLI_OK && args.json) {
        status = cli_print_json(json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "sentences_per_s", r.sentences_per_s,
                                          "tokens_per_s", r.tokens_per_s, "gflops", r.gflops, "sgemm_gflops",
                                          r.sgemm_gflops, "efficiency", r.efficiency, "peak_rss_mib",
                                          r.peak_rss_mib));
    } else if (status == CLI_OK) {
        cli_print("%.1f sentences/s, %.0f tokens/s\n%.1f GFLOP/s, %.0f %% of the matrix product's %.1f\n%.0f MiB\n",
                  r.sentences_per_s, r.tokens_per_s, r.gflops, 100 * r.efficiency, r.sgemm_gflops, r.peak_rss_mib);
    }
    asc_ctx_free(ctx);
    return status;
}

const cli_command bench_encode = {
    "bench encode", "times an encoder on sentences, beside the machine's matrix product", "[FILE]",
    "FILE has a sentence a line, as of ascgrad encode. Opening the encoder and cutting text into tokens are not\n"
    "counted.",
    "ascgrad bench encode --encoder all-MiniLM-L6-v2 sentences.txt --threads 2 --json", options, run,
};
