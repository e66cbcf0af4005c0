/* tools/nli/predict.c: ascgrad nli predict: the classes of pairs that are typed in, or stand in a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <program/file.h>

#include "tools/cage.h"
#include "tools/nli/nli.h"
#include "tools/open.h"

enum { TOGETHER = 64 }; /* pairs at most */

struct args {
    open_encoding encoding;
    int64_t threads;
    bool json, no_cage;
};

static const cli_option options[] = {
    {"encoder", 0, "DIR", CLI_TEXT, offsetof(struct args, encoding.folder), 0, 0, "the encoder (the run's)"},
    {"vocab", 0, "FILE", CLI_TEXT, offsetof(struct args, encoding.vocab), 0, 0, "its vocabulary (the run's)"},
    CLI_THREADS(struct args),
    CLI_NO_CAGE(struct args),
    CLI_JSON(struct args),
    {0},
};

typedef struct predictor {
    asc_ctx *ctx;
    const asc_model *model;
    asc_encoder *encoder;
    json_t *classes, *all; /* all: of --json; or NULL */
    asc_text_pair pairs[TOGETHER];
    double *probabilities; /* [TOGETHER, C] */
    int n;
    bool nonfinite; /* of a pair, what the model gives is no number */
} predictor;

static void print_pair(predictor *p, int i)
{
    size_t C = (size_t)asc_lm_classes(p->model->lm), top = 0;
    const double *share = p->probabilities + (size_t)i * C;
    for (size_t c = 1; c < C; c++) {
        top = share[c] > share[top] ? c : top;
    }
    char number[24]; /* of a class without a name */
    snprintf(number, sizeof number, "%zu", top);
    p->nonfinite = p->nonfinite || !isfinite(share[top]);
    const char *label = p->classes ? json_string_value(json_array_get(p->classes, top)) : number;
    if (p->all) {
        json_t *list = json_array();
        for (size_t c = 0; c < C; c++) {
            json_array_append_new(list, cli_json_real(share[c]));
        }
        json_array_append_new(p->all, json_pack("{s:s, s:o}", "label", label, "probabilities", list));
        return;
    }
    cli_print("%s", label);
    for (size_t c = 0; c < C; c++) {
        cli_print("\t%.6f", share[c]);
    }
    cli_print("\n");
}

/* Predicts the pairs that wait, which are none then. */
static asc_status flush(predictor *p)
{
    asc_status status = asc_pair_predict(p->ctx, p->model, p->encoder, p->pairs, p->n, p->probabilities);
    for (int i = 0; i < p->n; i++) {
        if (!status) {
            print_pair(p, i);
        }
        free((char *)p->pairs[i].premise);
    }
    p->n = 0;
    cli_flush();
    return status;
}

/* Takes a copy of a line, cut at its tab: both texts stand in the premise's memory. */
static asc_status add(predictor *p, const asc_text *text, const char *name, const char *line, size_t bytes)
{
    while (bytes > 0 && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r')) {
        bytes--;
    }
    char *copy = strndup(line, bytes), *tab = copy ? strchr(copy, '\t') : NULL;
    if (!copy) {
        return asc_fail(p->ctx, ASC_ERR_MEMORY, "nli predict: out of memory");
    }
    if (!tab || strchr(tab + 1, '\t')) {
        free(copy);
        asc_status before = flush(p); /* what stands before a bad line is right */
        return before ? before
                      : asc_fail(p->ctx, ASC_ERR_FORMAT, "%s: line %lld: has %s, expected premise, tab, hypothesis",
                                 name, (long long)asc_text_lines(text), tab ? "several tabs" : "no tab");
    }
    *tab = 0;
    p->pairs[p->n++] = (asc_text_pair){copy, tab + 1};
    return ASC_OK;
}

static asc_status predict(predictor *p, const char *path)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path, *line;
    asc_text *text = asc_text_open(p->ctx, path, 0);
    size_t n;
    asc_status status = text ? ASC_OK : asc_error(p->ctx);
    while (!status && !(status = asc_text_next(text, &line, &n)) && line) {
        status = add(p, text, name, line, n);
        status = !status && (p->n == TOGETHER || asc_text_waits(text)) ? flush(p) : status;
    }
    status = status ? status : flush(p);
    while (p->n > 0) {
        free((char *)p->pairs[--p->n].premise);
    }
    asc_text_close(text);
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {0};
    int n = cli_parse(&nli_predict, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 2, "a RUN or MODEL, and a file of pairs or none");
    if (!args.no_cage) {
        cage_enter(&(cage){.model = argv[0], .input = n > 1 ? argv[1] : NULL, .encoder = args.encoding.folder,
                           .reads_encoder = true, .tokenizer = args.encoding.vocab});
    }
    asc_ctx *ctx = cli_ctx_new(args.threads);
    asc_model *model = asc_model_open(ctx, argv[0], NULL, NULL);
    open_precision(ctx, model, NULL);
    predictor p = {.ctx = ctx, .model = model, .all = args.json ? json_array() : NULL};
    p.classes = model && model->classes ? json_loads(model->classes, 0, NULL) : NULL;
    bool pairs = model && asc_lm_pair_inputs(model->lm).pairs;
    if (model && !pairs) {
        cli_wrong_usage("%s is no model of pairs", argv[0]);
    }
    open_vocab(ctx, model, &args.encoding);
    if (pairs && !asc_error(ctx) && asc_lm_pair_inputs(model->lm).states > 0) {
        p.encoder = asc_model_encoder(ctx, model, args.encoding.folder, args.encoding.vocab);
    }
    p.probabilities = pairs ? calloc(TOGETHER * (size_t)asc_lm_classes(model->lm), sizeof *p.probabilities) : NULL;
    if (pairs && !p.probabilities) {
        asc_fail(ctx, ASC_ERR_MEMORY, "nli predict: out of memory");
    }
    if (asc_error(ctx) == ASC_OK) {
        predict(&p, n > 1 ? argv[1] : "-");
    }
    int status = cli_report(ctx);
    if (status == CLI_OK && args.json) {
        status = cli_print_json(json_pack("{s:O?, s:O}", "classes", p.classes, "pairs", p.all));
    }
    if (status == CLI_OK && p.nonfinite) {
        cli_message("a probability is not finite");
        status = CLI_FAILED;
    }
    free(p.probabilities);
    json_decref(p.classes);
    json_decref(p.all);
    asc_encoder_free(p.encoder);
    asc_model_free(ctx, model);
    asc_ctx_free(ctx);
    return status;
}

const cli_command nli_predict = {
    "nli predict", "tells the class of pairs of sentences", "RUN|MODEL [FILE]",
    "A line is a premise, a tab, and a hypothesis, of standard input without FILE. It gives a line with the class and\n"
    "the probabilities of all classes, in the model's order, with tabs between them.",
    "printf 'A man sleeps.\\tA man is awake.\\n' | ascgrad nli predict runs/nli",
    options, run,
};
