/* tools/generate.c: ascgrad generate. */
#include "tools/generate.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <program/file.h>

#include "tools/cage.h"
#include "tools/commands.h"
#include "tools/limited.h"
#include "tools/open.h"
#include "tools/unknown.h"

struct args {
    const char *prompt, *prompt_file, *tokenizer, *data, *precision;
    int64_t tokens, threads, max_memory;
    int64_t top_k, seed, count;
    double temperature, top_p, min_p, repeat_penalty;
    cli_list stop;
    bool interactive, json, no_cage;
};

static const cli_option options[] = {
    {"prompt", 'p', "TEXT", CLI_TEXT, offsetof(struct args, prompt), 0, 0,
     "text to continue, as the second argument; - reads standard input, less the newline at its end"},
    {"prompt-file", 'f', "FILE", CLI_TEXT, offsetof(struct args, prompt_file), 0, 0,
     "text to continue, less the newline at its end; - reads standard input"},
    {"interactive", 'i', NULL, CLI_FLAG, offsetof(struct args, interactive), 0, 0,
     "each line of standard input is a prompt; Ctrl-C stops a continuation, Ctrl-D ends"},
    {"tokens", 'n', "N", CLI_INT, offsetof(struct args, tokens), 0, 1e12, "tokens to write (100)"},
    {"stop", 0, "TEXT", CLI_LIST, offsetof(struct args, stop), 0, 0,
     "end before this text; may be given again for another one"},
    {"count", 0, "N", CLI_INT, offsetof(struct args, count), 1, 1e6, "continuations, each with draws of its own (1)"},
    {"temperature", 0, "T", CLI_REAL, offsetof(struct args, temperature), 0, 1e6,
     "0: always the most probable token; 1: as the model has it (1)"},
    {"top-k", 0, "K", CLI_INT, offsetof(struct args, top_k), 0, 1e9, "draw from the K most probable; 0: all (0)"},
    {"top-p", 0, "P", CLI_REAL, offsetof(struct args, top_p), 1e-9, 1,
     "draw from the most probable that together reach P (1)"},
    {"min-p", 0, "P", CLI_REAL, offsetof(struct args, min_p), 0, 1,
     "draw from those at least P times as probable as the most probable (0)"},
    {"repeat-penalty", 0, "R", CLI_REAL, offsetof(struct args, repeat_penalty), 0.01, 100,
     "divides the logits of tokens that were there before; above 1: fewer repeats (1)"},
    {"seed", 0, "N", CLI_INT, offsetof(struct args, seed), 0, 1e15, "of the draws (1)"},
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer, for a model that is in no run"},
    {"data", 0, "D", CLI_TEXT, offsetof(struct args, data), 0, 0,
     "the data whose words a model of no run was trained on"},
    CLI_PRECISION(struct args),
    CLI_THREADS(struct args),
    CLI_NO_CAGE(struct args),
    CLI_MAX_MEMORY(struct args),
    CLI_JSON(struct args),
    {"quiet", 'q', NULL, CLI_NOTED, 0, 0, 0, "not how fast it was, only warnings and errors"},
    {0},
};

/* ---- prompts ---- */

/* The text to continue, UTF-8; it may have zeros in it. */
typedef struct prompt {
    char *text; /* to be freed */
    size_t n;
} prompt;

/* All of a file; ends the program if it can't be read. */
static prompt read_all(FILE *file, const char *name)
{
    prompt p = {NULL, 0};
    char part[4096];
    size_t got;
    FILE *memory = file ? open_memstream(&p.text, &p.n) : NULL;
    while (memory && (got = fread(part, 1, sizeof part, file)) > 0) {
        fwrite(part, 1, got, memory);
    }
    if (!memory || ferror(file) || fclose(memory)) {
        cli_message("%s: %s", name, strerror(errno));
        exit(CLI_IO);
    }
    return p;
}

static prompt read_prompt(asc_ctx *ctx, const struct args *args)
{
    bool own = args->prompt && strcmp(args->prompt, "-") != 0;
    if (own || !(args->prompt || args->prompt_file)) {
        const char *text = own ? args->prompt : "";
        return (prompt){strdup(text), strlen(text)};
    }
    if (args->prompt || strcmp(args->prompt_file, "-") == 0) {
        return read_all(stdin, "standard input");
    }
    int fd = asc_input_open(ctx, args->prompt_file);
    if (fd < 0) {
        exit(cli_report(ctx));
    }
    FILE *file = fdopen(fd, "rb");
    prompt p = read_all(file, args->prompt_file);
    fclose(file);
    return p;
}

/* A text that no option asks for is not read: who waits for it would wait for ever where the input only stays open. */
static void name_idle_input(const struct args *args)
{
    struct stat info;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;
    if (args->prompt || args->prompt_file || fstat(STDIN_FILENO, &info)) {
        return;
    }
    off_t at = S_ISREG(info.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    int bytes = 0;
    bool text = S_ISREG(info.st_mode) && pread(STDIN_FILENO, &byte, 1, at) == 1;
    if (S_ISFIFO(info.st_mode)) {
        text = poll(&in, 1, 0) == 1 && ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
    }
    if (text) {
        cli_message("standard input has a text, which is not read: '--prompt -' continues it, --interactive each line");
    }
}

bool generation_check(const char *name, const char *prompt, size_t n)
{
    size_t end = cli_utf8_end(prompt, n);
    if (end < n) {
        cli_message("%s: byte 0x%02x at offset %zu is not UTF-8 text", name, (unsigned char)prompt[end], end);
    }
    return end == n;
}

/* The end of a file's last line, or of a pipe's, belongs to that; the prompt goes on where the line ends. */
static prompt take_prompt(asc_ctx *ctx, const struct args *args)
{
    prompt p = read_prompt(ctx, args);
    if (!p.text) {
        cli_message("no memory for the prompt");
        exit(CLI_IO);
    }
    bool word = args->prompt && strcmp(args->prompt, "-") != 0;
    p.n -= !word && p.n > 0 && p.text[p.n - 1] == '\n';
    p.n -= !word && p.n > 0 && p.text[p.n - 1] == '\r';
    const char *name = word                                                          ? "--prompt"
                       : args->prompt_file && strcmp(args->prompt_file, "-") != 0 ? args->prompt_file
                                                                                   : "standard input";
    if (!generation_check(name, p.text, p.n)) {
        exit(word ? CLI_USAGE : CLI_IO);
    }
    return p;
}

/* ---- text on stdout ---- */

typedef struct printer {
    const volatile sig_atomic_t *stop;
    bool broken;
} printer;

static bool is_stopped(const printer *p)
{
    return p->stop && *p->stop;
}

static bool print_text(void *user, const char *text, size_t n)
{
    printer *p = user;
    p->broken = !cli_write(stdout, text, n) || !cli_flush();
    return !p->broken && !is_stopped(p);
}

static bool on_token(void *user, int32_t id)
{
    (void)id;
    return !is_stopped(user);
}

static bool goes_on(void *user)
{
    return !is_stopped(user);
}

/* Adds what was written, and goes on to the next continuation's draws. */
static void add_up(generation *g, const asc_written *written)
{
    g->tokens += written->tokens;
    g->seconds += written->seconds;
    g->writing.sampling.nth++;
}

bool generation_print(generation *g, const char *prompt, size_t n, bool whole, const volatile sig_atomic_t *stop)
{
    printer p = {.stop = stop};
    asc_writing w = g->writing;
    w.text = print_text;
    w.token = on_token;
    w.user = &p;
    for (int64_t i = 0; i < g->count && !p.broken && !is_stopped(&p); i++) {
        asc_written written = {0};
        if (g->count > 1) {
            cli_print("--- %lld of %lld ---\n", (long long)i + 1, (long long)g->count);
        }
        if (whole) {
            p.broken = !cli_write(stdout, prompt, n) || !cli_flush();
        }
        w.sampling = g->writing.sampling;
        asc_set_interrupt(g->ctx, stop ? goes_on : NULL, &p); /* within the reading of a long prompt, too */
        if (asc_generate_text(g->ctx, g->model, prompt, n, &w, &written) == ASC_ERR_INTERRUPTED) {
            asc_error_clear(g->ctx);
        }
        asc_set_interrupt(g->ctx, NULL, NULL);
        add_up(g, &written);
        putchar('\n');
        p.broken = !cli_flush() || p.broken; /* who asks by a pipe waits for the line's end */
        if (asc_error(g->ctx)) {
            return false;
        }
    }
    return !p.broken && !is_stopped(&p);
}

static void print_speed(const generation *g)
{
    if (g->tokens > 0 && !cli_quiet()) {
        cli_message("%lld tokens in %.2f s, %.0f tokens/s", (long long)g->tokens, g->seconds,
                    (double)g->tokens / g->seconds);
    }
}

/* ---- JSON ---- */

typedef struct collector {
    FILE *text;
    json_t *ids;
    int32_t unknown;    /* the id of unknown tokens; -1: there is none */
    int64_t *n_unknown; /* how many of those there are */
} collector;

static bool collect_text(void *user, const char *text, size_t n)
{
    return fwrite(text, 1, n, ((collector *)user)->text) == n;
}

static bool collect_id(void *user, int32_t id)
{
    collector *c = user;
    *c->n_unknown += id == c->unknown;
    return json_array_append_new(c->ids, json_integer(id)) == 0;
}

/* One continuation as an object; NULL with the error set, or without memory. */
static json_t *describe(generation *g, const char *prompt, size_t n, int64_t *n_unknown)
{
    static const char *const ends[] = {[ASC_WRITING_END_TOKENS] = "tokens", [ASC_WRITING_END_STOP] = "stop"};
    char *text = NULL;
    size_t size = 0;
    collector c = {open_memstream(&text, &size), json_array(), asc_tokenizer_unknown(g->model->tokenizer), n_unknown};
    asc_writing w = g->writing;
    asc_written written = {.end = ASC_WRITING_END_REFUSED};
    w.text = collect_text;
    w.token = collect_id;
    w.user = &c;
    if (c.text && fwrite(prompt, 1, n, c.text) == n) {
        asc_generate_text(g->ctx, g->model, prompt, n, &w, &written);
        add_up(g, &written);
    }
    bool good = c.text && fclose(c.text) == 0 && asc_error(g->ctx) == ASC_OK && written.end != ASC_WRITING_END_REFUSED;
    json_t *object = !good ? NULL
                           : json_pack("{s:o, s:o, s:O, s:s, s:I}", "text", cli_json_text(text, size), "continuation",
                                       cli_json_text(text + n, size - n), "ids", c.ids, "end", ends[written.end],
                                       "tokens", (json_int_t)written.tokens);
    json_decref(c.ids);
    free(text);
    return object;
}

/* The first continuation's text and ids stand at the top, too. */
static int print_json(generation *g, const char *prompt, size_t n)
{
    json_t *all = json_array();
    int64_t n_unknown = 0;
    for (int64_t i = 0; i < g->count; i++) {
        json_t *one = describe(g, prompt, n, &n_unknown);
        if (!one || json_array_append_new(all, one)) {
            json_decref(all);
            asc_fail(g->ctx, ASC_ERR_MEMORY, "no memory for the result");
            return cli_report(g->ctx);
        }
    }
    json_t *first = json_array_get(all, 0);
    double speed = g->seconds > 0 ? (double)g->tokens / g->seconds : 0;
    double share = g->tokens > 0 ? (double)n_unknown / (double)g->tokens : 0;
    json_t *object = json_pack("{s:o, s:O, s:O, s:o, s:I, s:o, s:o}", "prompt", cli_json_text(prompt, n), "text",
                               json_object_get(first, "text"), "ids", json_object_get(first, "ids"), "unknown",
                               cli_json_real(share), "tokens", (json_int_t)g->tokens, "seconds",
                               cli_json_real(g->seconds), "tokens_per_s", cli_json_real(speed));
    json_object_set_new(object, "continuations", all);
    return cli_print_json(object);
}

/* ---- the command ---- */

static void check(const struct args *args)
{
    if (args->prompt && args->prompt_file) {
        cli_wrong_usage("--prompt-file: there is a prompt already: expected one");
    }
    if (args->interactive && (args->prompt || args->prompt_file)) {
        cli_wrong_usage("--interactive: there is a prompt, expected none: each line of standard input is one");
    }
    if (args->interactive && args->json) {
        cli_wrong_usage("--json: has no say with --interactive");
    }
    for (int i = 0; i < args->stop.n; i++) {
        if (!*args->stop.value[i]) {
            cli_wrong_usage("--stop: got '', expected a text in UTF-8");
        }
    }
    if (args->count > 1 && (args->temperature == 0 || args->top_k == 1 || args->min_p == 1)) {
        cli_wrong_usage("--count: got %lld, expected 1: with %s all continuations are the same", (long long)args->count,
                        args->temperature == 0 ? "--temperature 0"
                        : args->top_k == 1     ? "--top-k 1"
                                               : "--min-p 1");
    }
}

static bool refuse_token(void *user, int32_t id)
{
    (void)user;
    (void)id;
    return false;
}

static int generate(generation *g, const struct args *args)
{
    if (args->interactive) {
        int status = generation_interact(g);
        print_speed(g);
        return status;
    }
    name_idle_input(args);
    prompt p = take_prompt(g->ctx, args);
    unknown_name_words(g->model->tokenizer, p.text, p.n);
    int status = CLI_OK;
    if (args->json) {
        status = print_json(g, p.text, p.n);
    } else {
        bool whole = generation_print(g, p.text, p.n, true, NULL);
        status = cli_report(g->ctx);
        if (whole) {
            print_speed(g);
        }
    }
    free(p.text);
    return status;
}

/* The prompt is the option's, or the second operand. */
static void take_operands(struct args *args, int n, char **argv)
{
    if (n > 2) {
        cli_wrong_usage("'%s' is one argument too many; a prompt of several words needs quotes: '%s %s ...'", argv[2],
                        argv[1], argv[2]);
    }
    if (n == 2 && args->prompt) {
        cli_wrong_usage("--prompt and '%s': expected one prompt", argv[1]);
    }
    cli_expect_operands(n > 1 ? 1 : n, argv, 1, 1, "a RUN or MODEL");
    args->prompt = n == 2 ? argv[1] : args->prompt;
}

static int run(int argc, char **argv)
{
    struct args args = {.tokens = 100, .temperature = 1, .top_p = 1, .repeat_penalty = 1, .seed = 1, .count = 1};
    int n = cli_parse(&command_generate, argc, argv, &args);
    take_operands(&args, n, argv);
    check(&args);
    const char *stop[CLI_LIST_MAX + 1] = {NULL};
    memcpy(stop, args.stop.value, (size_t)args.stop.n * sizeof *stop);
    limited_set((size_t)args.max_memory << 20);
    if (!args.no_cage) {
        cage_enter(&(cage){.model = argv[0], .data = args.data, .tokenizer = args.tokenizer,
                           .input = args.prompt_file});
    }
    asc_ctx *ctx = cli_ctx_new(args.threads);
    asc_dataset *data = args.data ? asc_dataset_open(ctx, args.data) : NULL;
    asc_model *model = asc_error(ctx) == ASC_OK ? asc_model_open(ctx, argv[0], args.tokenizer, data) : NULL;
    if (model && asc_lm_classes(model->lm) > 0) {
        cli_wrong_usage("%s is a classifier, which predicts no tokens; %s has it tell classes", argv[0],
                        asc_lm_pair_inputs(model->lm).pairs ? "ascgrad nli predict" : "ascgrad eval");
    }
    if (open_precision(ctx, model, args.precision) == ASC_OK &&
        model) { /* not a token, to see whether it can be continued, before the prompt is written */
        asc_generate(ctx, model, NULL, 0, 0, NULL, refuse_token, NULL);
    }
    int status = cli_report(ctx);
    if (status == CLI_OK) {
        generation g = {.ctx = ctx, .model = model, .count = args.count};
        g.writing = (asc_writing){.tokens = args.tokens, .stop = stop};
        g.writing.sampling = (asc_sampling){.temperature = args.temperature,
                                            .top_k = args.top_k,
                                            .top_p = args.top_p,
                                            .seed = (uint64_t)args.seed,
                                            .min_p = args.min_p,
                                            .repeat_penalty = args.repeat_penalty};
        status = generate(&g, &args);
    }
    asc_model_free(ctx, model);
    asc_dataset_free(data);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_generate = {
    "generate",
    "continues a prompt",
    "RUN|MODEL [PROMPT]",
    "Without a prompt the text starts at the beginning of a line. The same seed gives the same text.",
    "ascgrad generate runs/first 'the small dog' --tokens 50 --temperature 0.8\n"
    "ascgrad generate runs/first --interactive --min-p 0.05 --stop '. '",
    options,
    run,
};
