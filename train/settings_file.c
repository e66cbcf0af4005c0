/* train/settings_file.c: settings from files, presets and earlier runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <program/names.h>
#include <program/settings.h>

#include "data/json.h"
#include "data/names.h"
#include "nn/mixing.h"
#include "tensor/comm.h"
#include "tensor/need.h"
#include "train/encoder/encoder.h"
#include "train/run/no_run.h"
#include "train/settings.h"

/* ---- presets ---- */

/* The papers' warm-up without separation, 10 to 20 % of the steps, and its ramp. */
#define SOURCES_SCHEDULE "\"sep_delay\": 0.15, \"sep_ramp\": 0.1, \"freeze_inert\": \"measured\""
/* The authors' listing learns λ, ω, κ, δ and τ_score; τ_sep and τ_coh are constants. */
#define LISTING_TRAINS "\"freeze\": [\"tau_sep\", \"tau_coh\"], \"freeze_inert\": false"
/* The small model trained by Muon, but for its rate; of Grassmann mixing lag and memory in turns. */
#define FAST                                                                                                           \
    "\"layers\": 6, \"dim\": 256, \"ffn\": 1024, \"heads\": 4, \"block\": 128, \"batch\": 8, \"dropout\": 0,"          \
    " \"block_norm\": \"pre\", \"pos_emb\": false, \"positions\": \"rotary\", \"zero_init\": true, \"emb_norm\": true,"\
    " \"optimizer\": \"muon\", \"momentum\": 0.9, \"min_lr\": 0, \"warmup\": 290, \"schedule\": \"cosine\","           \
    " \"weight_decay\": 0.1, \"clip\": 1, \"steps\": 2896, \"eval_every\": 362,"                                       \
    " \"offsets\": [[1], [], [2], [], [4], []], \"memory\": [false, true, false, true, false, true], \"r\": 44,"       \
    " \"groups\": 2, \"scale\": \"rms\", \"eps_rel\": 1e-3"

static const struct {
    const char *name, *summary, *json;
} presets[] = {
    {"tiny", "2 layers of width 32, 60 steps: some seconds, to try things out",
     "{\"layers\": 2, \"dim\": 32, \"heads\": 2, \"block\": 32, \"batch\": 8, \"lr\": 3e-3, \"warmup\": 10,"
     " \"steps\": 60, \"eval_every\": 20, \"checkpoint_every\": 20}"},
    {"quickstart", "2 layers of width 128 trained by Muon: half a minute on two cores; of Grassmann mixing a memory",
     "{\"layers\": 2, \"dim\": 128, \"heads\": 4, \"block\": 64, \"batch\": 8, \"dropout\": 0, \"block_norm\": \"pre\","
     " \"pos_emb\": false, \"positions\": \"rotary\", \"emb_norm\": true, \"decay\": \"gated\", \"offsets\": [1],"
     " \"memory\": true, \"r\": 24, \"groups\": 2, \"scale\": \"rms\", \"eps_rel\": 1e-3, \"optimizer\": \"muon\","
     " \"momentum\": 0.9, \"lr\": 1e-2, \"min_lr\": 0, \"warmup\": 50, \"weight_decay\": 0.1, \"epochs\": 2,"
     " \"eval_every\": 200}"},
    {"wikitext2-6l", "the papers' small model: 6 layers of width 256, block 128, 20 epochs",
     "{\"layers\": 6, \"dim\": 256, \"ffn\": 1024, \"heads\": 4, \"block\": 128, \"batch\": 32, \"dropout\": 0.1,"
     " \"lr\": 1e-3, \"min_lr\": 6e-5, \"warmup\": 100, \"schedule\": \"cosine\", \"weight_decay\": 0.1,"
     " \"beta1\": 0.9, \"beta2\": 0.999, \"clip\": 1, \"epochs\": 20,"
     " \"r\": 32, \"offsets\": [1, 2, 4, 8, 12, 16]}"},
    {"wikitext2-6l-fast", "the small model trained by Muon, 1.3 epochs; of Grassmann mixing lag and memory in turns",
     "{" FAST ", \"lr\": 1.1e-2}"},
    {"wikitext2-6l-turns", "the same of Grassmann mixing, lag and memory in turns, at their own rate",
     "{\"model\": \"grassmann\", " FAST ", \"lr\": 4e-3}"},
    {"wikitext2-12l", "the papers' large model: 12 layers of width 256, block 256, 20 epochs",
     "{\"layers\": 12, \"dim\": 256, \"ffn\": 1024, \"heads\": 4, \"block\": 256, \"batch\": 16, \"dropout\": 0.1,"
     " \"lr\": 6e-4, \"min_lr\": 6e-5, \"warmup\": 100, \"schedule\": \"cosine\", \"weight_decay\": 0.1,"
     " \"beta1\": 0.9, \"beta2\": 0.999, \"clip\": 1, \"epochs\": 20,"
     " \"r\": 32, \"offsets\": \"paper-12l\"}"},
    {"ascender", "ASCender as the papers train it: separation comes in after 15 % of the run",
     "{\"model\": \"ascender\", " SOURCES_SCHEDULE "}"},
    {"ascender-after", "the same with gates after the row normalisation, where they act",
     "{\"model\": \"ascender\", \"gate\": \"after\", " SOURCES_SCHEDULE "}"},
    {"intended", "ASCender as the authors' listing means it; it looks ahead, and is refused unless look_ahead is true",
     "{\"model\": \"ascender\", \"listing\": \"intended\", " LISTING_TRAINS "}"},
    {"intended-after", "the same with gates after the row normalisation",
     "{\"model\": \"ascender\", \"listing\": \"intended\", \"gate\": \"after\", " LISTING_TRAINS "}"},
    {"reference", "ASCender as the authors' listing runs; it looks ahead, too",
     "{\"model\": \"ascender\", \"listing\": \"reference\", " LISTING_TRAINS "}"},
    {"reference-after", "the same with gates after the row normalisation",
     "{\"model\": \"ascender\", \"listing\": \"reference\", \"gate\": \"after\", " LISTING_TRAINS "}"},
    {"nli", "pairs of sentences as the Grassmann paper has them: 2 layers of width 256 on windows of 8 tokens",
     "{\"head\": \"pairs\", \"layers\": 2, \"dim\": 256, \"ffn\": 512, \"heads\": 4, \"mask\": \"full\", \"block\": 48,"
     " \"r\": 64, \"groups\": 4, \"offsets\": [1, 2, 4, 8], \"batch\": 128, \"dropout\": 0.1, \"lr\": 1e-3,"
     " \"warmup\": 100, \"schedule\": \"cosine\", \"weight_decay\": 0.01, \"clip\": 1, \"epochs\": 20,"
     " \"best_by\": \"accuracy\"}"},
};
enum { N_PRESETS = sizeof presets / sizeof *presets };

const char *asc_preset_at(int i)
{
    return i >= 0 && i < N_PRESETS ? presets[i].name : NULL;
}

const char *asc_preset_summary(int i)
{
    return i >= 0 && i < N_PRESETS ? presets[i].summary : NULL;
}

const char *asc_preset_contents(int i)
{
    return i >= 0 && i < N_PRESETS ? presets[i].json : NULL;
}

asc_status asc_settings_preset(asc_settings *s, const char *name)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_preset: name", name);
    if (status) {
        return status;
    }
    const char *names[N_PRESETS + 1] = {NULL};
    for (int i = 0; i < N_PRESETS; i++) {
        names[i] = presets[i].name;
        if (strcmp(presets[i].name, name) == 0) {
            json_t *object = json_loads(presets[i].json, 0, NULL);
            status = object ? asc_settings_put_all(s, object, ASC_SOURCE_PRESET, name)
                            : asc_fail(s->ctx, ASC_ERR_MEMORY, "preset: out of memory");
            json_decref(object);
            return status;
        }
    }
    const char *guess = asc_name_guess(name, names);
    return asc_fail_on(s->ctx, ASC_ERR_ARG, "preset", guess ? ": there is no '%s'; did you mean '%s'?"
                                                            : ": there is no '%s'; --preset list has them", name,
                       guess);
}

/* ---- files ---- */

bool asc_settings_is_fact(const char *key)
{
    return strcmp(key, "version") == 0 || strcmp(key, "data_checksum") == 0 || strcmp(key, "plan") == 0;
}

/* What an object has given so far: a setting may be spelled in several ways. */
typedef struct heard {
    int n;
    struct {
        const asc_setting *row;
        const char *key;
        const json_t *value;
    } at[200];
} heard;

/* Puts a setting of an object, once. */
static void put_once(asc_settings *s, heard *all, const char *key, json_t *value, asc_source from)
{
    char name[ASC_SETTING_NAME];
    bool model;
    asc_settings_spell(key, name);
    const asc_setting *row = asc_settings_find(s->ctx, name, &model);
    for (int i = 0; row && i < all->n; i++) {
        if (all->at[i].row == row && !json_equal(all->at[i].value, value)) {
            bool twice = strcmp(all->at[i].key, key) == 0; /* on its own, and in the object `model` */
            asc_fail_on(s->ctx, ASC_ERR_ARG, key, twice ? " is given twice, with another value"
                                                        : " is the same setting as %s, with another value",
                        all->at[i].key);
            return;
        }
    }
    if (row && all->n < (int)(sizeof all->at / sizeof *all->at)) {
        all->at[all->n].row = row;
        all->at[all->n].key = key;
        all->at[all->n++].value = value;
    }
    asc_settings_put(s, key, value, from);
}

asc_status asc_settings_put_all(asc_settings *s, json_t *object, asc_source from, const char *source)
{
    heard all = {0};
    if (asc_error(s->ctx)) { /* another's, which the source has no part in */
        return asc_error(s->ctx);
    }
    const char *key, *model_key;
    json_t *value, *model_value;
    json_object_foreach(object, key, value) {
        if (asc_settings_is_fact(key)) {
            continue;
        }
        if (strcmp(key, "model") == 0 && json_is_object(value)) {
            json_object_foreach(value, model_key, model_value) {
                put_once(s, &all, model_key, model_value, from);
            }
        } else {
            put_once(s, &all, key, value, from);
        }
        if (asc_error(s->ctx)) {
            asc_error_extend(s->ctx, source, "");
            return asc_error(s->ctx);
        }
    }
    return ASC_OK;
}

asc_status asc_settings_load(asc_settings *s, const char *path)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_load: path", path);
    if (status) {
        return status;
    }
    json_t *object = asc_json_read(s->ctx, path, false);
    status = object ? asc_settings_put_all(s, object, ASC_SOURCE_FILE, path) : asc_error(s->ctx);
    json_decref(object);
    return status;
}

/* ---- paths ---- */

/* The absolute path of what stands at `text`, to be freed; where that is none, of what stands before one of its colons,
 * behind which settings follow. *rest is what follows. NULL: nothing there is a path. */
static char *find_path(const char *text, const char **rest)
{
    char *copy = strdup(text), *path = copy ? realpath(copy, NULL) : NULL, *colon = NULL;
    *rest = text + strlen(text);
    while (copy && !path && (colon = strrchr(copy, ':'))) {
        *colon = 0;
        *rest = text + (colon - copy);
        path = realpath(copy, NULL);
    }
    free(copy);
    return path;
}

/* The text, which it takes, and n bytes behind it; NULL: no memory. */
static char *append(char *text, const char *more, size_t n)
{
    size_t length = text ? strlen(text) : 0;
    char *longer = realloc(text, length + n + 1);
    if (!longer) {
        free(text);
        return NULL;
    }
    memcpy(longer + length, more, n);
    longer[length + n] = '\0';
    return longer;
}

/* What follows a path, ":KEY=VALUE,…", with the files that it names for splits by their absolute paths; to be freed. */
static char *locate_files(const char *rest)
{
    char *located = append(NULL, "", 0);
    for (size_t n; located && *rest; rest += n) {
        n = 1 + asc_spec_pair(rest + 1);
        size_t key = strncmp(rest + 1, "valid=", 6) == 0 ? 7 : strncmp(rest + 1, "test=", 5) == 0 ? 6 : 0;
        char *name = key ? strndup(rest + key, n - key) : NULL, *path = name ? realpath(name, NULL) : NULL;
        located = append(located, rest, path ? key : n);
        located = path && located ? append(located, path, strlen(path)) : located;
        free(path);
        free(name);
    }
    return located;
}

/* Replaces what stands in the text after `skip` bytes by its absolute path, if it is a path. */
static asc_status locate(asc_settings *s, const char *key, const char *text, size_t skip)
{
    const char *rest;
    char *path = find_path(text + skip, &rest);
    if (!path) {
        return ASC_OK; /* whoever opens it has the better message */
    }
    char *more = locate_files(rest);
    json_t *value = json_pack("s#++", text, (int)skip, path, more ? more : rest);
    free(more);
    free(path);
    asc_status status = asc_settings_put(s, key, value, ASC_SOURCE_HAND);
    json_decref(value);
    return status;
}

bool asc_settings_reads_data(const asc_settings *s)
{
    return s && (s->values.data_from_rank < 0 || asc_comm_rank(s->ctx) == 0);
}

/* Another rank's are not looked for. */
static void locate_data(asc_settings *s)
{
    const char *data = s->values.data, *tokenizer = s->values.tokenizer;
    const asc_data_source *source = asc_data_source_find(s->ctx, data);
    const asc_tokenizer_kind *kind = asc_tokenizer_kind_find(s->ctx, tokenizer);
    const char *colon = strchr(tokenizer, ':'), *name_end = source && !source->takes ? strchr(data, ':') : NULL;
    if (source && source->is_path && (source->takes || name_end)) {
        locate(s, "data", data, name_end ? (size_t)(name_end + 1 - data) : 0);
    }
    if (kind && kind->is_path && colon) {
        locate(s, "tokenizer", tokenizer, (size_t)(colon + 1 - tokenizer));
    }
    if (*s->values.encoder) {
        locate(s, "encoder", s->values.encoder, 0);
    }
}

static asc_status locate_all(asc_settings *s)
{
    if (asc_settings_reads_data(s)) {
        locate_data(s);
    }
    if (*s->values.init) {
        locate(s, "init", s->values.init, 0);
    }
    if (*s->values.cache) {
        asc_path_make_parents(s->values.cache);
        mkdir(s->values.cache, 0777); /* if it fails, so will what is written there, which is told */
        locate(s, "cache", s->values.cache, 0);
    }
    return asc_error(s->ctx);
}

asc_status asc_settings_set_vocab(asc_settings *s, const char *file)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_set_vocab: settings file", s, file);
    bool cased;
    if (status || (status = asc_encoder_read_case(s->ctx, s->values.encoder, &cased))) {
        return status;
    }
    json_t *value = json_sprintf("wordpiece%s:%s", cased ? "-cased" : "", file);
    status = asc_settings_put(s, "tokenizer", value, ASC_SOURCE_HAND);
    json_decref(value);
    return status;
}

/* An encoder's sentences are cut by its own vocabulary unless another was given; in a resume by the run's. */
static void choose_vocab(asc_settings *s)
{
    const asc_setting *row = asc_setting_find(asc_train_settings, "tokenizer");
    if (*s->values.encoder && s->from[row - asc_train_settings] == ASC_SOURCE_DEFAULT) {
        char file[4096];
        snprintf(file, sizeof file, "%s/vocab.txt", s->values.encoder);
        asc_settings_set_vocab(s, file);
    }
}

asc_status asc_settings_locate(asc_settings *s)
{
    if (locate_all(s) == ASC_OK && asc_settings_reads_data(s)) {
        choose_vocab(s);
    }
    return asc_error(s->ctx);
}

/* ---- going on with a run ---- */

bool asc_settings_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        return asc_setting_round(json_number_value(a)) == asc_setting_round(json_number_value(b));
    }
    if (!json_is_array(a) || json_array_size(a) != json_array_size(b)) {
        return json_equal(a, b);
    }
    bool same = true;
    for (size_t i = 0; i < json_array_size(a); i++) {
        same = same && asc_settings_same(json_array_get(a, i), json_array_get(b, i));
    }
    return same;
}

/* What to call a setting that does not stand on the command line. */
static const char *const sources[] = {
    [ASC_SOURCE_DEFAULT] = "", [ASC_SOURCE_PRESET] = ", of the preset,", [ASC_SOURCE_FILE] = ", of the file,",
    [ASC_SOURCE_HAND] = ":",
};

double asc_lowest_lr(const asc_values *v)
{
    return v->min_lr < 0 ? asc_setting_round(v->lr / 10) : v->min_lr;
}

/* Whether the lowest rate is asked for by the number that stands for a share of lr, and the run has that share. */
static bool is_default_end(const asc_setting *t, const asc_settings *run, const asc_settings *given)
{
    asc_values v = run->values;
    v.min_lr = given->values.min_lr;
    return strcmp(t->key, "min_lr") == 0 && run->values.min_lr == asc_lowest_lr(&v);
}

/* A setting that was given must be the run's, or one that may be given anew, which then takes the run's place. */
static asc_status carry_over(asc_settings *run, const asc_settings *given, const char *path)
{
    for (const asc_setting *t = asc_train_settings; t->key; t++) { /* also what is the same was given beside the rest */
        char *from = &run->from[t - asc_train_settings];
        bool anew = t->flags & ASC_SETTING_ANEW && given->from[t - asc_train_settings] != ASC_SOURCE_DEFAULT;
        *from = anew ? ASC_SOURCE_HAND : *from;
    }
    for (const asc_setting *t = asc_train_settings; t->key; t++) {
        int from = given->from[t - asc_train_settings];
        if (from == ASC_SOURCE_DEFAULT) {
            continue;
        }
        json_t *old = asc_setting_json(t, &run->values), *now = asc_setting_json(t, &given->values);
        bool same = asc_settings_same(old, now) || is_default_end(t, run, given);
        if (t->flags & ASC_SETTING_ANEW) { /* also the same: of steps and epochs the one that is given counts */
            asc_settings_put(run, t->key, now, ASC_SOURCE_HAND);
        } else if (!same) {
            asc_fail_on(run->ctx, ASC_ERR_ARG, t->key, "%s can't be given anew: %s goes on with its own settings",
                        sources[from], path);
        }
        json_decref(old);
        json_decref(now);
        if (asc_error(run->ctx)) {
            return asc_error(run->ctx);
        }
    }
    const char *key;
    json_t *value;
    json_object_foreach(given->model, key, value) {
        const json_t *old = json_object_get(run->model, key);
        if (!asc_settings_same(value, old) && (old || !json_object_get(given->optional, key))) {
            asc_fail_on(run->ctx, ASC_ERR_ARG, key, " can't be given anew: %s goes on with its own", path);
            asc_error_place(run->ctx, "config");
            return ASC_ERR_ARG;
        }
    }
    return ASC_OK;
}

/* A mixing of somebody's own has settings that this program does not know, either: it is what is told. */
static asc_status check_mixings(asc_ctx *ctx, const char *file, const json_t *config)
{
    const json_t *mix = json_object_get(json_object_get(config, "model"), "mix");
    size_t n = json_is_array(mix) ? json_array_size(mix) : 1;
    for (size_t i = 0; i < n; i++) {
        const char *name = asc_mix_of(mix, i);
        if (name && strcmp(name, ASC_MIX_NONE) != 0 && !asc_mixing_find(ctx, name)) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: the mixing '%.60s' is none of this program's: one that registers "
                            "it (asc_mixing_register) goes on with the run", file, name);
        }
    }
    return ASC_OK;
}

asc_status asc_settings_resume(asc_settings *s, const char *path)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_resume: run", path);
    if (status) {
        return status;
    }
    asc_ctx *ctx = s->ctx;
    if (!asc_is_run(path)) {
        return asc_fail_no_run(ctx, path);
    }
    char *file = asc_path_join(ctx, path, "config.json");
    json_t *object = file ? asc_json_read(ctx, file, true) : NULL;
    asc_settings *run = object && check_mixings(ctx, file, object) == ASC_OK ? asc_settings_new(ctx) : NULL;
    if (run && asc_settings_put_all(run, object, ASC_SOURCE_FILE, file)) {
        asc_error_blame(ctx, "");
    } else if (run) {
        run->values.minutes = 0; /* a limit of the invocation that had it */
        run->checksums = json_incref(json_object_get(object, "data_checksum"));
        run->plan = json_incref(json_object_get(object, "plan"));
        if (locate_all(s) == ASC_OK && carry_over(run, s, path) == ASC_OK) {
            asc_settings old = *s;
            *s = *run;
            *run = old;
            s->alike = old.alike;
            run->alike = NULL;
        }
    }
    asc_settings_free(run);
    json_decref(object);
    asc_path_free(ctx, file);
    return asc_error(ctx);
}

asc_status asc_settings_data_of(asc_settings *s, const char *path)
{
    asc_status status = ASC_NEED(s ? s->ctx : NULL, "settings_data_of: settings run", s, path);
    if (status || !asc_is_run(path)) {
        return status ? status : asc_fail_no_run(s->ctx, path);
    }
    char *file = asc_path_join(s->ctx, path, "config.json");
    json_t *config = file ? asc_json_read(s->ctx, file, true) : NULL;
    if (config && !json_is_object(json_object_get(config, "data_checksum"))) {
        asc_fail(s->ctx, ASC_ERR_FORMAT, "%s: has no \"data_checksum\"", file);
    } else if (config) {
        json_object_set_new(config, "run", json_string_nocheck(path));
        json_decref(s->alike);
        s->alike = json_incref(config);
    }
    json_decref(config);
    asc_path_free(s->ctx, file);
    return asc_error(s->ctx);
}
