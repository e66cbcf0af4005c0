/* tools/compare.c: ascgrad compare: evaluates the models of several systems, and says how they differ. */
#include "tools/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/commands.h"
#include "tools/open.h"
#include "tools/progress.h"
#include "tools/run_names.h"

struct args {
    const char *data, *split, *tokenizer;
    int64_t block, carry, batch, resamples, seed, threads;
    bool json;
};

static const cli_option options[] = {
    {"data", 0, "D", CLI_TEXT, offsetof(struct args, data), 0, 0, "a data set, as train's --data (the runs')"},
    {"split", 0, "train|valid|test", CLI_CHOICE, offsetof(struct args, split), 0, 0, "which part of the data (test)"},
    {"tokenizer", 0, "T", CLI_TEXT, offsetof(struct args, tokenizer), 0, 0,
     "as train's --tokenizer, for models that are in no run"},
    {"block", 0, "N", CLI_INT, offsetof(struct args, block), 1, 1 << 24,
     "tokens of a block, for models that differ in it (each model's own)"},
    {"carry", 0, "C", CLI_INT_OR_NONE, offsetof(struct args, carry), 0, 1 << 24,
     "read the split as one text, each block behind the last C tokens of the one before; without C as each model was "
     "trained"},
    {"batch", 0, "N", CLI_INT, offsetof(struct args, batch), 1, 1 << 20, "sequences at a time (the run's)"},
    {"resamples", 0, "R", CLI_INT, offsetof(struct args, resamples), 1, 1e9,
     "of the bootstrap and of randomisation (10000)"},
    {"seed", 0, "N", CLI_INT, offsetof(struct args, seed), 0, 1e15, "of the resamples (1)"},
    CLI_THREADS(struct args),
    CLI_JSON(struct args),
    {0},
};

/* A model among the operands, and its scores once it was evaluated. */
typedef struct scored {
    const char *path;
    asc_scores *scores;
    char *config; /* of the model */
} scored;

/* The operands, taken apart. */
typedef struct plan {
    asc_ctx *ctx;
    const struct args *args;
    int64_t systems, models, different; /* models that are there twice are one */
    char **name;                        /* [systems] */
    int64_t *seeds;                     /* [systems]: how many of the models, one after another, are each system's */
    const char **path;                  /* [models] */
    const asc_scores **scores;          /* [models] */
    scored *scored;                     /* [different] */
    uint32_t text;                      /* the first split's checksum */
    const char *failed;                 /* the model that could not be evaluated */
} plan;

/* ---- operands ---- */

static void *need(void *memory)
{
    if (!memory) {
        cli_message("out of memory");
        exit(CLI_IO);
    }
    return memory;
}

static bool exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

/* What a RUN or MODEL is called that was given no name: by its folder, or its file without the ending. New. */
static char *name_of_path(const char *path)
{
    static const char ending[] = ".safetensors", usual[] = "model.safetensors";
    size_t n = strlen(path);
    if (n > sizeof usual && strcmp(path + n - sizeof usual, "/model.safetensors") == 0) {
        n -= sizeof usual;
    }
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    if (n - begin >= sizeof ending && strncmp(path + n - (sizeof ending - 1), ending, sizeof ending - 1) == 0) {
        n -= sizeof ending - 1;
    }
    char *name = need(malloc(n - begin + 1));
    memcpy(name, path + begin, n - begin);
    name[n - begin] = '\0';
    return name;
}

/* Adds a system's models: the operand's text behind the '=', at its commas, or all of it. */
static void add_system(plan *p, char *operand)
{
    char whole[200], *equals = exists(operand) ? NULL : strchr(operand, '=');
    int64_t first = p->models;
    snprintf(whole, sizeof whole, "%s", operand);
    if (equals) {
        *equals = '\0';
    }
    for (char *path = equals ? equals + 1 : operand, *end; path; path = end) {
        end = equals ? strchr(path, ',') : NULL;
        if (end) {
            *end++ = '\0';
        }
        if (!*path || !*operand) {
            cli_wrong_usage("got '%s', expected a RUN, a MODEL, or NAME=RUN,RUN,…", whole);
        }
        for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) {
            path[n - 1] = '\0';
        }
        for (int64_t i = first; i < p->models; i++) {
            if (strcmp(p->path[i], path) == 0) {
                cli_wrong_usage("%s is there twice in %s: the seeds of a system are runs of their own", path, operand);
            }
        }
        p->path[p->models++] = path;
    }
    p->name[p->systems] = equals ? strcpy(need(malloc(strlen(operand) + 1)), operand) : name_of_path(operand);
    p->seeds[p->systems++] = p->models - first;
}

/* Whether one of the first n systems but for `system` itself has its name. */
static bool is_taken(const plan *p, int64_t n, int64_t system)
{
    bool taken = false;
    for (int64_t i = 0; i < n; i++) {
        taken |= i != system && strcmp(p->name[i], p->name[system]) == 0;
    }
    return taken;
}

/* The second of a name is NAME#2, or has the next number that makes it no other's. */
static void number_names(plan *p)
{
    for (int64_t i = 1; i < p->systems; i++) {
        size_t n = strlen(p->name[i]);
        if (is_taken(p, i, i)) {
            p->name[i] = need(realloc(p->name[i], n + 24));
            for (int number = 2; is_taken(p, p->systems, i); number++) {
                snprintf(p->name[i] + n, 24, "#%d", number);
            }
        }
    }
}

static plan make_plan(asc_ctx *ctx, const struct args *args, int n, char **operands)
{
    plan p = {.ctx = ctx, .args = args};
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        most++;
        for (const char *c = operands[i]; (c = strchr(c, ',')); c++) {
            most++;
        }
    }
    p.name = need(calloc((size_t)n, sizeof *p.name));
    p.seeds = need(calloc((size_t)n, sizeof *p.seeds));
    p.path = need(calloc(most, sizeof *p.path));
    p.scores = need(calloc(most, sizeof *p.scores));
    p.scored = need(calloc(most, sizeof *p.scored));
    for (int i = 0; i < n; i++) {
        add_system(&p, operands[i]);
    }
    number_names(&p);
    return p;
}

static void free_plan(plan *p)
{
    for (int64_t i = 0; i < p->different; i++) {
        asc_scores_free(p->ctx, p->scored[i].scores);
        free(p->scored[i].config);
    }
    for (int64_t i = 0; i < p->systems; i++) {
        free(p->name[i]);
    }
    free(p->name);
    free(p->seeds);
    free(p->path);
    free(p->scores);
    free(p->scored);
}

/* ---- evaluation ---- */

/* Before a model is evaluated on another text than those before it. */
static asc_status check_text(plan *p, const scored *s, const asc_split *split)
{
    if (p->different == 0) {
        p->text = split->checksum;
    }
    if (split->checksum != p->text) {
        return asc_fail(p->ctx, ASC_ERR_ARG,
                        "the %s splits of %s and %s are different texts: --data names one for both", p->args->split,
                        p->scored[0].path, s->path);
    }
    return ASC_OK;
}

/* How many tokens to carry, and a word where that is other than the model was trained, or than was asked for. */
static int64_t find_carry(const plan *p, const scored *s, const asc_lm *lm)
{
    long long own = (long long)asc_lm_carry(lm);
    if (p->args->carry < 0 && own == 0) {
        cli_message("%s: each block by itself, as the model was trained", s->path);
    } else if (p->args->carry == 0 && own > 0) {
        cli_message("%s: each block by itself; the model was trained with %lld tokens carried, and --carry evaluates "
                    "it so", s->path, own);
    }
    return p->args->carry < 0 ? own : p->args->carry;
}

/* Evaluates one model, which is in memory for as long as that takes. */
static asc_status evaluate(plan *p, scored *s, int64_t number)
{
    const struct args *a = p->args;
    char what[100];
    progress_watch watch = {.bar = progress_start(), .what = what};
    asc_split_kind kind = open_kind(a->split);
    opened o = open_model(p->ctx, s->path, a->data, a->tokenizer);
    if (asc_error(p->ctx) == ASC_OK && open_split(p->ctx, &o, kind, true, a->block) == ASC_OK &&
        check_text(p, s, o.split) == ASC_OK && open_features(p->ctx, &o, kind, &(open_encoding){0}) == ASC_OK) {
        asc_eval_options how = {
            .batch = a->batch > 0 ? a->batch : o.model->batch, .length = a->block,
            .carry = find_carry(p, s, o.model->lm), .features = o.features, .progress = progress_watched,
            .user = &watch};
        snprintf(what, sizeof what, "%.40s (%lld of %lld)", s->path, (long long)number, (long long)p->models);
        s->scores = asc_score(p->ctx, o.model, o.split, &how);
        const char *config = asc_lm_config(o.model->lm);
        s->config = s->scores ? strcpy(need(malloc(strlen(config) + 1)), config) : NULL;
    }
    progress_clear(&watch.bar);
    open_close(p->ctx, &o);
    return asc_error(p->ctx);
}

static scored *find(plan *p, const char *path)
{
    for (int64_t i = 0; i < p->different; i++) {
        if (strcmp(p->scored[i].path, path) == 0) {
            return &p->scored[i];
        }
    }
    return NULL;
}

/* Whether a is no other seed than b, as far as can be seen, which is told. */
static bool is_no_other_seed(const char *system, const scored *a, const scored *b)
{
    if (strcmp(a->config, b->config) != 0) {
        cli_message("%s: the models of %s and %s have different settings", system, a->path, b->path);
    } else if (*a->scores->model_checksum && strcmp(a->scores->model_checksum, b->scores->model_checksum) == 0) {
        cli_message("%s: %s and %s are the same model, and count as two seeds", system, a->path, b->path);
    } else if (a->scores->seed >= 0 && a->scores->seed == b->scores->seed) {
        cli_message("%s: %s and %s have the same seed, %lld", system, a->path, b->path, (long long)a->scores->seed);
    } else {
        return false;
    }
    return true;
}

/* Seeds of one system are models that differ in nothing but their seed: each beside those before it. */
static void check_seeds(plan *p, int64_t system, int64_t first)
{
    for (int64_t i = first + 1; i < first + p->seeds[system]; i++) {
        bool told = false;
        for (int64_t j = first; j < i && !told; j++) {
            told = is_no_other_seed(p->name[system], find(p, p->path[j]), find(p, p->path[i]));
        }
    }
}

/* A difference between models is none of their settings alone where what they were trained on has changed. */
static asc_status check_data(plan *p)
{
    const asc_run **runs = need(calloc((size_t)p->different, sizeof *runs));
    size_t n = 0;
    char text[1200];
    for (int64_t i = 0; i < p->different; i++) {
        runs[n] = asc_run_read(p->ctx, p->scored[i].path);
        n += runs[n] != NULL;
        asc_error_clear(p->ctx); /* a MODEL knows nothing of its data */
    }
    if (run_data_changed(runs, n, text, sizeof text)) {
        cli_message("%s", text);
    }
    for (size_t i = 0; i < n; i++) {
        asc_run_free((asc_run *)runs[i]);
    }
    free(runs);
    return asc_error(p->ctx);
}

static asc_status evaluate_all(plan *p)
{
    for (int64_t i = 0; i < p->models; i++) {
        scored *s = find(p, p->path[i]);
        if (!s) {
            s = &p->scored[p->different];
            s->path = p->path[i];
            if (evaluate(p, s, i + 1)) {
                p->failed = s->path;
                return asc_error(p->ctx);
            }
            p->different++;
        }
        p->scores[i] = s->scores;
    }
    for (int64_t i = 0, first = 0; i < p->systems; first += p->seeds[i++]) {
        check_seeds(p, i, first);
    }
    return check_data(p);
}

/* ---- the command ---- */

/* Where vocabularies differ: a word that is unknown to one of them costs it few bits, whatever it is. */
static void check_unknown(const asc_system *systems, const asc_compared *c)
{
    for (int64_t i = 0; c->unit == ASC_UNIT_TEXT && i < c->n_systems; i++) {
        double share = systems[i].scores[0]->result.unknown;
        if (share > ASC_UNKNOWN_MOST) {
            cli_message("%s: %.2f %% of its tokens are unknown words: its bits per byte compare with no other "
                        "vocabulary's",
                        systems[i].name, 100 * share);
        }
    }
}

static int compare(plan *p)
{
    asc_system *systems = need(calloc((size_t)p->systems, sizeof *systems));
    for (int64_t i = 0, first = 0; i < p->systems; first += p->seeds[i++]) {
        systems[i] = (asc_system){p->name[i], p->scores + first, p->seeds[i]};
    }
    const struct args *a = p->args;
    asc_compare_options how = {.resampling = {a->resamples, (uint64_t)a->seed}};
    asc_compared *c = asc_compare(p->ctx, systems, p->systems, &how);
    int status = CLI_OK;
    if (c) {
        check_unknown(systems, c);
    }
    if (c && a->json) {
        status = cli_print_json(compare_describe(p->ctx, systems, c, a->split));
    } else if (c) {
        compare_print(p->ctx, systems, c, a->split);
    }
    asc_compared_free(p->ctx, c);
    free(systems);
    return status;
}

/* The library's "length" is that of --block, or of what a task's sequences have. */
static int report(const plan *p)
{
    const char *subject = asc_error_subject(p->ctx);
    if (!subject || strcmp(subject, "length") != 0) {
        return cli_report(p->ctx);
    }
    bool own = p->args->block == 0 && p->failed;
    cli_message("%s%s%s", own ? p->failed : "--block", own ? ": the length" : "", asc_error_detail(p->ctx));
    return CLI_USAGE;
}

static int run(int argc, char **argv)
{
    struct args args = {.split = "test", .resamples = 10000, .seed = 1};
    int n = cli_parse(&command_compare, argc, argv, &args);
    if (n < 2) {
        cli_wrong_usage("got %d, expected two or more systems: RUN, MODEL or NAME=RUN,RUN,… each; see --help", n);
    }
    cli_expect_operands(n, argv, 2, CLI_LIST_MAX, "a system");
    asc_ctx *ctx = cli_ctx_new(args.threads);
    plan p = make_plan(ctx, &args, n, argv);
    int status = evaluate_all(&p) ? CLI_OK : compare(&p);
    status = asc_error(ctx) ? report(&p) : status;
    free_plan(&p);
    asc_ctx_free(ctx);
    return status;
}

const cli_command command_compare = {
    "compare",
    "says which of several models is better, and how sure that is",
    "A B [C…]",
    "A, B, … are systems: a RUN or MODEL, or NAME=RUN,RUN,… for the seeds of one. Each model is evaluated once; then "
    "each later system is compared with the first, block by block: the difference in nats a token (below 0: the later "
    "one is better), its 95 % interval, p by paired bootstrap and by randomisation (adjusted by Holm where there are "
    "several comparisons), effect sizes. Models with other tokens, or other blocks, are compared in bits per byte, "
    "passage by passage. Items say nothing of other seeds: what the seeds say stands below.",
    "ascgrad compare runs/transformer runs/grassmann --split test\n"
    "ascgrad compare base=runs/t-1,runs/t-2 new=runs/g-1,runs/g-2 --json\n"
    "ascgrad compare runs/blocks runs/long --carry",
    options,
    run,
};
