/* tools/inspect/probe.c: what labels of the tokens a model's insides know, by probes and clusters. */
#include <stdlib.h>
#include <string.h>

#include <ascgrad/builtin.h>
#include <ascgrad/probe.h>
#include <program/names.h>

#include "tools/commands.h"
#include "tools/inspect/inspect.h"

enum { REACH = 64 }; /* distances of attention that a probe sees */

static const struct {
    const char *name;
    asc_builtin_label label;
} known[] = {{"word-class", ASC_BUILTIN_LABEL_WORD_CLASS},
             {"sentence", ASC_BUILTIN_LABEL_SENTENCE},
             {"name", ASC_BUILTIN_LABEL_NAME},
             {"place", ASC_BUILTIN_LABEL_PLACE}};
enum { N_KNOWN = sizeof known / sizeof *known };

/* Tokens of whole blocks, and what belongs to each. */
typedef struct sample {
    int64_t n, block;
    asc_tensor tokens;        /* i64 (n / block, block) */
    int64_t *labels, *groups; /* [n]: -1 has none; the token's block */
    double *values;           /* [n]: of a label that is a number, else NULL */
} sample;

/* ---- labels ---- */

static asc_status unknown_label(const inspection *in, const char *label)
{
    const char *best = known[0].name;
    for (int i = 1; i < N_KNOWN; i++) {
        best = asc_name_distance(label, known[i].name) < asc_name_distance(label, best) ? known[i].name : best;
    }
    return asc_fail(in->ctx, ASC_ERR_ARG, "--probe: got '%.40s', expected word-class, sentence, name, place or "
                    "file:PATH; did you mean '%s'?", label, best);
}

/* The number of a line among the different ones so far, which are the keys of `names`; -1 for an empty one. */
static int64_t number_of(json_t *names, const char *line, size_t n)
{
    if (n == 0) {
        return -1;
    }
    json_t *key = json_stringn(line, n), *found = json_object_get(names, json_string_value(key));
    if (!found) {
        found = json_integer((json_int_t)json_object_size(names));
        json_object_set_new(names, json_string_value(key), found);
    }
    json_decref(key);
    return json_integer_value(found);
}

/* A line for each token, in the order of the split; lines that are equal are one label, an empty one is none. */
static asc_status read_labels(const inspection *in, const char *path, sample *s)
{
    asc_text *lines = asc_text_open(in->ctx, path, 0);
    json_t *names = json_object();
    const char *line;
    size_t bytes;
    int64_t i = 0;
    while (lines && i < s->n && asc_text_next(lines, &line, &bytes) == ASC_OK && line) {
        bytes -= bytes > 0 && line[bytes - 1] == '\n';
        bytes -= bytes > 0 && line[bytes - 1] == '\r';
        s->labels[i++] = number_of(names, line, bytes);
    }
    json_decref(names);
    asc_text_close(lines);
    return asc_error(in->ctx) ? asc_error(in->ctx)
           : i < s->n         ? asc_fail(in->ctx, ASC_ERR_FORMAT, "%s: has %lld lines, expected one for each of %lld "
                                         "tokens", path, (long long)i, (long long)s->n)
                              : ASC_OK;
}

/* The same from the text of the built-in corpus. */
static asc_status read_builtin(const inspection *in, asc_dataset *set, asc_builtin_label label, sample *s)
{
    char *text;
    size_t bytes, capacity;
    if (asc_dataset_text(set, ASC_SPLIT_VALID, &text, &bytes, &capacity) == ASC_OK) {
        asc_builtin_token_labels(in->model->tokenizer, text, bytes, label, s->labels, s->n);
        asc_free(in->ctx, text, capacity);
    }
    return asc_error(in->ctx);
}

/* The labels of the tokens, which stand at the start of the split. */
static asc_status find_labels(const inspection *in, const char *label, asc_dataset *set, sample *s)
{
    if (strncmp(label, "file:", 5) == 0) {
        return read_labels(in, label + 5, s);
    }
    int i = 0;
    while (i < N_KNOWN && strcmp(known[i].name, label) != 0) {
        i++;
    }
    if (i == N_KNOWN) {
        return unknown_label(in, label);
    }
    if (read_builtin(in, set, known[i].label, s)) {
        char why[1024];
        snprintf(why, sizeof why, "%s", asc_error_message(in->ctx));
        asc_error_clear(in->ctx);
        return asc_fail(in->ctx, ASC_ERR_ARG, "--probe %s: only the built-in corpus knows it (file:PATH has labels of "
                        "other text): %s", label, why);
    }
    if (known[i].label == ASC_BUILTIN_LABEL_PLACE) {
        s->values = asc_data_mut(asc_zeros(in->ctx, ASC_F64, 1, &s->n));
    }
    return asc_error(in->ctx);
}

/* ---- tokens ---- */

/* The first blocks of the validation split, at most `limit` tokens, with their labels. Memory of the scope. */
static asc_status take_sample(const inspection *in, asc_dataset *set, const asc_split *split, const char *label,
                              int64_t limit, sample *s)
{
    int64_t n = split->n_tokens < limit ? split->n_tokens : limit;
    s->block = asc_lm_block(in->model->lm);
    s->n = n / s->block * s->block;
    if (s->n < 2 * s->block) {
        return asc_fail(in->ctx, ASC_ERR_ARG, "--probe: %lld tokens are less than two blocks of %lld: one is fitted "
                        "to, one held out", (long long)n, (long long)s->block);
    }
    s->tokens = asc_zeros(in->ctx, ASC_I64, 2, (int64_t[]){s->n / s->block, s->block});
    s->labels = asc_data_mut(asc_zeros(in->ctx, ASC_I64, 1, &s->n));
    s->groups = asc_data_mut(asc_zeros(in->ctx, ASC_I64, 1, &s->n));
    int64_t *ids = asc_data_mut(s->tokens);
    if (asc_error(in->ctx) || find_labels(in, label, set, s)) {
        return asc_error(in->ctx);
    }
    for (int64_t i = 0; i < s->n; i++) {
        ids[i] = split->tokens[i];
        s->groups[i] = i / s->block;
        if (s->values) {
            s->values[i] = (double)s->labels[i];
        }
    }
    return ASC_OK;
}

static asc_dataset *open_data(const inspection *in, const char *spec)
{
    if (!spec && !in->model->data) {
        asc_fail(in->ctx, ASC_ERR_ARG, "--data is missing: the model is in no run, whose validation split could be "
                 "read");
        return NULL;
    }
    return spec ? asc_dataset_open(in->ctx, spec) : cli_open_run_data(in->ctx, in->model);
}

/* ---- probes and clusters of a layer ---- */

static const double *unit_of(asc_tensor feature, int64_t unit)
{
    const double *values = asc_data(feature);
    return values ? values + unit * asc_size(feature, 1) * asc_size(feature, 2) : NULL;
}

static json_t *probe_unit(const inspection *in, const sample *s, asc_tensor feature, int64_t unit)
{
    asc_probe_options o = {.groups = s->groups};
    asc_probe_result r = {0};
    const double *x = unit_of(feature, unit);
    int64_t d = asc_size(feature, 2);
    if (s->values) {
        asc_probe_values(in->ctx, x, s->n, d, s->values, &o, &r);
    } else {
        asc_probe_labels(in->ctx, x, s->n, d, s->labels, &o, &r);
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "score", cli_json_real(r.score), "chance",
                     cli_json_real(r.chance), "shuffled", cli_json_real(r.shuffled), "shuffled_std",
                     cli_json_real(r.shuffled_std), "classes", (json_int_t)r.classes, "fitted", (json_int_t)r.fitted,
                     "held_out", (json_int_t)r.held_out);
}

static json_t *cluster_unit(const inspection *in, const sample *s, asc_tensor feature, int64_t unit)
{
    asc_cluster_result r = {0};
    asc_cluster_labels(in->ctx, unit_of(feature, unit), s->n, asc_size(feature, 2), s->labels, s->groups, NULL, &r);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "nmi", cli_json_real(r.nmi), "ari", cli_json_real(r.ari),
                     "shuffled_nmi", cli_json_real(r.shuffled_nmi), "shuffled_ari", cli_json_real(r.shuffled_ari),
                     "runs_nmi", cli_json_real(r.runs_nmi), "runs_ari", cli_json_real(r.runs_ari));
}

/* What a probe sees, and what clusters are made of; clusters need labels. */
static const struct {
    const char *feature, *key;
    bool clusters;
} looks[] = {{"hidden", "hidden", false},
             {"attention", "attention", false},
             {"z", "z", false},
             {"plucker", "plucker", false},
             {"z", "clusters_z", true},
             {"attention_rows", "clusters_attention", true}};
enum { N_LOOKS = sizeof looks / sizeof *looks };

static json_t *probe_layer(const inspection *in, const sample *s, int64_t layer)
{
    asc_params *features = asc_params_new(in->ctx);
    json_t *o = json_pack("{s:I, s:s}", "layer", (json_int_t)layer, "mixing", inspect_text(in, layer, "mixing", 0));
    if (features) {
        asc_lm_features(in->model->lm, s->tokens, layer, REACH, features);
    }
    for (int i = 0; i < N_LOOKS && !asc_error(in->ctx); i++) {
        asc_tensor f = asc_params_find(features, looks[i].feature);
        if (asc_is_null(f) || (looks[i].clusters && s->values)) {
            continue;
        }
        json_t *units = json_array();
        for (int64_t u = 0; u < asc_size(f, 0) && !asc_error(in->ctx); u++) {
            json_t *unit = looks[i].clusters ? cluster_unit(in, s, f, u) : probe_unit(in, s, f, u);
            char name[32] = "";
            if (strcmp(looks[i].feature, "plucker") == 0) {
                inspect_pair_name(in, layer, u, name, sizeof name);
                json_object_set_new(unit, "pair", json_string(name));
            }
            json_array_append_new(units, unit);
        }
        json_object_set_new(o, looks[i].key, units);
    }
    asc_params_free(features);
    return o;
}

asc_status inspect_probe(inspection *in, const char *label, const char *data, int64_t limit)
{
    sample s = {.n = 0};
    asc_scope_begin(in->ctx);
    asc_dataset *set = open_data(in, data);
    asc_split *split = set ? asc_split_load(set, ASC_SPLIT_VALID, in->model->tokenizer) : NULL;
    json_t *layers = json_array();
    if (split && take_sample(in, set, split, label, limit, &s) == ASC_OK) {
        for (int64_t l = 0; l < in->layers && !asc_error(in->ctx); l++) {
            json_array_append_new(layers, probe_layer(in, &s, l));
        }
    }
    in->probe = json_pack("{s:s, s:s, s:I, s:I, s:o}", "label", label, "score", s.values ? "r2" : "accuracy", "tokens",
                          (json_int_t)s.n, "block", (json_int_t)s.block, "layers", layers);
    asc_split_free(in->ctx, split);
    asc_dataset_free(set);
    asc_scope_end(in->ctx);
    return asc_error(in->ctx);
}

/* ---- tables ---- */

static void print_cell(const json_t *unit, const char *key)
{
    const json_t *value = json_object_get(unit, key);
    if (json_is_number(value)) {
        cli_print("%10.3f", json_number_value(value));
    } else {
        cli_print("%10s", "-");
    }
}

/* A line for each unit under one of two headings: probes, or clusters. */
static void print_units(const json_t *layer, bool clusters)
{
    static const char *const columns[2][7] = {
        {"score", "chance", "shuffled", "shuffled_std", NULL},
        {"nmi", "shuffled_nmi", "runs_nmi", "ari", "shuffled_ari", "runs_ari", NULL}};
    for (int i = 0; i < N_LOOKS; i++) {
        json_t *units = json_object_get(layer, looks[i].key), *unit;
        size_t u;
        json_array_foreach(looks[i].clusters == clusters ? units : NULL, u, unit) {
            const char *pair = json_string_value(json_object_get(unit, "pair"));
            cli_print("%5lld  %-11s %-10s", (long long)json_integer_value(json_object_get(layer, "layer")),
                      json_string_value(json_object_get(layer, "mixing")),
                      looks[i].key + (clusters ? strlen("clusters_") : 0));
            if (pair) {
                cli_print("%7s", pair);
            } else {
                cli_print("%7lld", (long long)u);
            }
            for (int c = 0; columns[clusters][c]; c++) {
                print_cell(unit, columns[clusters][c]);
            }
            putchar('\n');
        }
    }
}

void inspect_print_probe(const inspection *in)
{
    json_t *layers = json_object_get(in->probe, "layers"), *layer;
    size_t l;
    bool r2 = strcmp(json_string_value(json_object_get(in->probe, "score")), "r2") == 0;
    cli_print("\nprobes of %s, %lld tokens: %s held out, of always the same answer, with shuffled labels\n",
              json_string_value(json_object_get(in->probe, "label")),
              (long long)json_integer_value(json_object_get(in->probe, "tokens")), r2 ? "R2" : "accuracy");
    puts("layer  mixing      from        head     score    chance  shuffled       +/-");
    json_array_foreach(layers, l, layer) {
        print_units(layer, false);
    }
    if (!r2) {
        puts("\nclusters, block by block, against those labels; with labels shuffled; of runs of one length");
        puts("layer  mixing      of          head       NMI  shuffled      runs       ARI  shuffled      runs");
        json_array_foreach(layers, l, layer) {
            print_units(layer, true);
        }
    }
}
