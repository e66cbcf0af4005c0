/* tools/inspect/inspect.c: ascgrad inspect. */
#include "tools/inspect/inspect.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <program/names.h>

#include "tools/commands.h"

struct args {
    const char *text, *out, *what, *format, *data, *tokenizer, *probe;
    int64_t tokens, layer, head, threads, probe_tokens;
    double threshold;
    bool json;
};

static const cli_option options[] = {
    {"text", 't', "TEXT", CLI_TEXT, offsetof(struct args, text), 0, 0,
     "what to look at; - reads standard input (the start of the validation split)"},
    {"tokens", 'n', "N", CLI_INT, offsetof(struct args, tokens), 1, 1e6, "how much of the validation split (24)"},
    {"layer", 0, "L", CLI_INT, offsetof(struct args, layer), 0, 1e6, "the layer whose arrays and maps are written (0)"},
    {"head", 0, "H", CLI_INT, offsetof(struct args, head), 0, 1e6, "one head of it (all)"},
    {"out", 'o', "PREFIX|FOLDER", CLI_TEXT, offsetof(struct args, out), 0, 0,
     "write PREFIX.npz and figures, or FOLDER/inspect.npz …"},
    {"what", 0, "FIGURES", CLI_TEXT, offsetof(struct args, what), 0, 0,
     "of maps,heads,training,planes,angles,paths (those that the model has)"},
    {"format", 0, "FORMATS", CLI_TEXT, offsetof(struct args, format), 0, 0, "of figures: of png,svg,pdf (png,svg)"},
    {"probe", 0, "LABEL", CLI_TEXT, offsetof(struct args, probe), 0, 0,
     "what the layers know of word-class, sentence, name, place (the built-in corpus), or file:PATH, a label a line"},
    {"probe-tokens", 0, "N", CLI_INT, offsetof(struct args, probe_tokens), 2, 1e8,
     "how much of the validation split is probed (4096)"},
    {"threshold", 0, "A", CLI_REAL, offsetof(struct args, threshold), 0, 1,
     "attention below it is irrelevant: the share of pairs that separation pushes there (0.01)"},
    {"data", 0, "D", CLI_TEXT, offsetof(struct args, data), 0, 0,
     "the data whose validation split is read (the run's)"},
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer, for a model that is in no run"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* The figures in order: what a layer or a model must have for one, and how it is drawn. */
static const struct kind {
    const char *name, *needs;
    bool (*applies)(const inspection *in);
    int (*draw)(inspection *in);
} kinds[] = {
    {"maps", "the layer has no attention", inspect_has_maps, inspect_draw_maps},
    {"heads", "no layer has heads", inspect_has_heads, inspect_draw_heads},
    {"training", "the model is in no RUN with a metrics.jsonl", inspect_has_training, inspect_draw_training},
    {"planes", "the layer has no planes", inspect_has_layer_planes, inspect_draw_planes},
    {"angles", "the layer has no planes", inspect_has_layer_planes, inspect_draw_angles},
    {"paths", "no layer has Grassmann mixing", inspect_has_flow, inspect_draw_flow},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---- what was asked for ---- */

static unsigned read_what(const char *list)
{
    unsigned bits = 0;
    for (size_t n; list && *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        int i = 0;
        while (i < N_KINDS && (strlen(kinds[i].name) != n || strncmp(kinds[i].name, list, n) != 0)) {
            i++;
        }
        if (i == N_KINDS) {
            char given[32];
            snprintf(given, sizeof given, "%.*s", (int)(n < 31 ? n : 31), list);
            const char *names[N_KINDS + 1] = {NULL};
            char all[200];
            asc_name_list listed = asc_list_begin(all, sizeof all);
            for (i = 0; i < N_KINDS; i++) {
                names[i] = kinds[i].name;
                asc_list_add(&listed, names[i], i == N_KINDS - 1);
            }
            const char *guess = asc_name_guess(given, names);
            cli_wrong_usage(guess ? "--what: there is no figure '%s'; did you mean '%s'?"
                                  : "--what: there is no figure '%s', expected %s", given, guess ? guess : all);
        }
        bits |= 1u << i;
    }
    return bits;
}

static unsigned read_formats(const char *list)
{
    unsigned bits = 0;
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        unsigned bit = figure_format(list, n) & (FIGURE_PNG | FIGURE_SVG | FIGURE_PDF);
        if (bit == 0) {
            cli_wrong_usage("--format: got '%.*s', expected png, svg, pdf, or several with commas", (int)n, list);
        }
        bits |= bit;
    }
    return bits;
}

/* What is written of each figure. Pictures that nobody asked for by name need not be. */
static unsigned choose_formats(const struct args *args)
{
    unsigned pictures = args->format ? read_formats(args->format) : FIGURE_PNG | FIGURE_SVG;
    bool asked = args->format || args->what;
    return FIGURE_CSV | FIGURE_SCRIPT | (asked || figure_find_gnuplot() == CLI_OK ? pictures : 0);
}

/* A folder that is there, or a name that ends with a slash, gets files of its own name in it. */
static const char *stem_of(const char *out, char stem[4096])
{
    struct stat s;
    size_t n = strlen(out);
    bool slash = n > 0 && out[n - 1] == '/', folder = slash || (stat(out, &s) == 0 && S_ISDIR(s.st_mode));
    if (slash && mkdir(out, 0777) && errno != EEXIST) {
        cli_message("%s: %s", out, strerror(errno));
        return NULL;
    }
    snprintf(stem, 4096, "%s%s%s", out, folder && !slash ? "/" : "", folder ? "inspect" : "");
    return stem;
}

static asc_status check_place(inspection *in)
{
    int64_t heads = in->layer < in->layers ? inspect_heads(in, in->layer) : 0;
    if (in->layer >= in->layers) {
        return asc_fail(in->ctx, ASC_ERR_ARG, "--layer: got %lld, but the model's layers are 0 to %lld",
                        (long long)in->layer, (long long)in->layers - 1);
    }
    if (in->head >= 0 && heads == 0) {
        return asc_fail(in->ctx, ASC_ERR_ARG, "--head: layer %lld has no heads", (long long)in->layer);
    }
    if (in->head >= heads && heads > 0) {
        return asc_fail(in->ctx, ASC_ERR_ARG, "--head: got %lld, but the heads of layer %lld are 0 to %lld",
                        (long long)in->head, (long long)in->layer, (long long)heads - 1);
    }
    return ASC_OK;
}

/* ---- results ---- */

void inspect_begin_figure(const inspection *in, figure *f, const char *what, const char *how, int width, int height)
{
    char title[400], heads[32] = "";
    long long n = json_integer_value(json_object_get(in->config, "heads"));
    if (n > 0 && inspect_has_heads(in)) {
        snprintf(heads, sizeof heads, ", %lld head%s", n, n == 1 ? "" : "s");
    }
    snprintf(title, sizeof title, "%.120s (%s, %lld layer%s%s, width %lld): %s", in->name,
             inspect_text(in, 0, "mixing", 0), (long long)in->layers, in->layers == 1 ? "" : "s", heads,
             (long long)json_integer_value(json_object_get(in->config, "d_model")), what);
    figure_begin(f, title, width, height);
    if (how) {
        figure_note(f, 12, 34, false, how);
    }
}

int inspect_end_figure(inspection *in, figure *f, const char *kind)
{
    char stem[4200];
    snprintf(stem, sizeof stem, "%s-%s", in->stem, kind);
    return figure_end(f, in->ctx, stem, in->formats, in->files);
}

static int write_files(inspection *in)
{
    int status = CLI_OK;
    for (int i = 0; i < N_KINDS; i++) {
        if (in->what >> i & 1 && !kinds[i].applies(in)) {
            cli_wrong_usage("--what %s: %s", kinds[i].name, kinds[i].needs);
        }
    }
    if (inspect_write_arrays(in)) {
        return cli_report(in->ctx);
    }
    for (int i = 0; i < N_KINDS && asc_error(in->ctx) == ASC_OK; i++) {
        if ((in->what == 0 || in->what >> i & 1) && kinds[i].applies(in)) {
            int drawn = kinds[i].draw(in);
            status = drawn > status ? drawn : status;
        }
    }
    return status;
}

static int print_json(const inspection *in)
{
    json_t *tokens = json_array(), *ids = json_array();
    for (int64_t i = 0; i < in->tokens.n; i++) {
        json_array_append_new(tokens, cli_json_string(in->tokens.texts[i]));
        json_array_append_new(ids, json_integer(((const int64_t *)asc_data(in->ids))[i]));
    }
    return cli_print_json(json_pack("{s:o, s:o, s:O, s:O, s:O*}", "tokens", tokens, "ids", ids, "layers", in->summary,
                                    "files", in->files, "probe", in->probe));
}

static int print_tables(const inspection *in)
{
    json_t *file;
    size_t i;
    inspect_print(in);
    if (in->probe) {
        inspect_print_probe(in);
    }
    json_array_foreach(in->files, i, file) {
        cli_print(i ? " %s" : "\nwritten: %s", json_string_value(file));
    }
    if (json_array_size(in->files) > 0) {
        putchar('\n');
    }
    return CLI_OK;
}

/* ---- the command ---- */

void inspect_close(inspection *in)
{
    inspect_free_text(in);
    asc_params_free(in->parts);
    asc_params_free(in->below);
    json_decref(in->config);
    json_decref(in->summary);
    json_decref(in->probe);
    json_decref(in->files);
}

asc_status inspect_begin(inspection *in, const char *text, const char *data, int64_t limit)
{
    in->config = json_loads(asc_lm_config(in->model->lm), 0, NULL);
    in->layers = json_integer_value(json_object_get(in->config, "layers"));
    in->summary = json_array();
    in->files = json_array();
    if (inspect_read_text(in, text, data, limit) == ASC_OK && in->layer < in->layers) {
        inspect_layers(in);
    }
    return asc_error(in->ctx) ? asc_error(in->ctx) : check_place(in);
}

static int inspect(inspection *in, const struct args *args)
{
    if (inspect_begin(in, args->text, args->data, args->tokens) == ASC_OK && args->probe) {
        inspect_probe(in, args->probe, args->data, args->probe_tokens);
    }
    int status = cli_report(in->ctx);
    if (status == CLI_OK && in->stem) {
        status = write_files(in);
    }
    if (status == CLI_OK) {
        status = args->json ? print_json(in) : print_tables(in);
    }
    inspect_close(in);
    return status;
}

static int run(int argc, char **argv)
{
    struct args args = {.tokens = 24, .head = -1, .probe_tokens = 4096, .threshold = .01};
    char stem[4096];
    int n = cli_parse(&command_inspect, argc, argv, &args);
    cli_expect_operands(n, argv, 1, 1, "a RUN or MODEL");
    inspection in = {.layer = args.layer, .head = args.head, .what = read_what(args.what), .name = argv[0],
                     .threshold = args.threshold};
    if (args.what && !args.out) {
        cli_wrong_usage("--what: figures need --out, which says where they go");
    }
    if (args.format && !args.out) {
        cli_wrong_usage("--format: figures need --out, which says where they go");
    }
    if (!args.probe && cli_given_option("probe-tokens", 12)) {
        cli_wrong_usage("--probe-tokens: nothing is probed without --probe");
    }
    if (args.text && cli_given_option("tokens", 6)) {
        cli_wrong_usage("--tokens: all of --text is looked at, and none of the validation split");
    }
    if (args.out && !(in.stem = stem_of(args.out, stem))) {
        return CLI_IO;
    }
    in.formats = args.out ? choose_formats(&args) : 0;
    in.ctx = cli_ctx_new(args.threads);
    asc_dataset *data = args.data ? asc_dataset_open(in.ctx, args.data) : NULL;
    in.model = asc_error(in.ctx) ? NULL : asc_model_open(in.ctx, argv[0], args.tokenizer, data);
    if (in.model && asc_lm_pair_inputs(in.model->lm).pairs) {
        cli_wrong_usage("%s is a model of pairs of sentences, expected one that reads a single text", argv[0]);
    }
    int status = in.model ? inspect(&in, &args) : cli_report(in.ctx);
    asc_model_free(in.ctx, in.model);
    asc_dataset_free(data);
    asc_ctx_free(in.ctx);
    return status;
}

const cli_command command_inspect = {
    "inspect",
    "looks into a model: scores, biases, attention, planes",
    "RUN|MODEL",
    "Tables of all layers; with --out also PREFIX.npz, the parts of the layer L for NumPy, and figures by gnuplot:\n"
    "  PREFIX-maps      scores, biases and attention of the layer L, token by token\n"
    "  PREFIX-heads     each head of each layer: entropy, reach, and the weight of each bias\n"
    "  PREFIX-training  the run's losses, and what ASCender's layers learned, step by step\n"
    "  PREFIX-planes    Pluecker coordinates of the layer L, if it is one of Grassmann mixing\n"
    "  PREFIX-angles    how its planes turn, their mean, the gates\n"
    "  PREFIX-paths     the path of the coordinates: mean and leading direction, curvature, stability",
    "ascgrad inspect runs/first\n"
    "ascgrad inspect runs/first --text 'the map was in the garden' --layer 1 --head 0 --out look\n"
    "ascgrad inspect runs/first --probe word-class",
    options,
    run,
};
