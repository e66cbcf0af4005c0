/* train/run/model.c: models in files: parameters, configuration and vocabulary together. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <ascgrad/corpus.h>
#include <ascgrad/safetensors.h>

#include "data/json.h"
#include "data/tokenizer.h"
#include "tensor/locale.h"
#include "tensor/need.h"
#include "train/run/format.h"
#include "train/run/no_run.h"
#include "train/settings.h"
#include "train/state.h"

/* ---- vocabularies ---- */

/* Of what is saved; where nothing is, of the pieces, one a line. */
asc_status asc_vocab_checksum(const asc_tokenizer *tokenizer, char text[9])
{
    uLong crc = crc32(0, NULL, 0);
    size_t bytes, capacity, n;
    char *saved = asc_tokenizer_text(tokenizer, &bytes, &capacity);
    if (!saved) {
        return ASC_ERR_MEMORY;
    }
    crc = crc32_z(crc, (const Bytef *)saved, bytes);
    asc_free(tokenizer->ctx, saved, capacity);
    for (int64_t id = 0; !tokenizer->kind->has_vocabulary && id < asc_tokenizer_size(tokenizer); id++) {
        const char *piece = asc_tokenizer_piece(tokenizer, (int32_t)id, &n);
        crc = crc32(crc, (const Bytef *)piece, (uInt)n);
        crc = crc32(crc, (const Bytef *)"\n", 1);
    }
    snprintf(text, 9, "%08" PRIx32, (uint32_t)crc);
    return ASC_OK;
}

/* ---- classes ---- */

/* The names of a data set's classes, a JSON list as text to be freed with asc_text_drop; NULL without memory. */
static char *list_classes(asc_ctx *ctx, const asc_dataset *data)
{
    json_t *names = json_array();
    const char *name;
    for (int32_t i = 0; (name = asc_dataset_class(data, i)); i++) {
        json_array_append_new(names, json_string(name));
    }
    char *text = json_dumps(names, JSON_COMPACT);
    json_decref(names);
    if (!text) {
        asc_fail(ctx, ASC_ERR_MEMORY, "classes: out of memory");
    }
    return text;
}

asc_status asc_model_check_classes(asc_ctx *ctx, const asc_model *m, const asc_dataset *data)
{
    asc_status status = ASC_NEED(ctx, "model_check_classes: model dataset", m, data);
    if (status || !m->classes) {
        return status;
    }
    char *names = list_classes(ctx, data);
    if (names && !asc_dataset_class(data, 0)) {
        asc_fail_on(ctx, ASC_ERR_ARG, "data",
                    ": the model tells the classes %s, and the data has none, expected records with a label",
                    m->classes);
    } else if (names && strcmp(names, m->classes) != 0) {
        asc_fail_on(ctx, ASC_ERR_ARG, "data",
                    ": the model's classes are %s, and the data has %s; records take them "
                    "from classes=A|B",
                    m->classes, names);
    }
    asc_text_drop(names);
    return asc_error(ctx);
}

/* ---- writing ---- */

/* The parameters and their names for a file, `*bytes` to be freed; NULL without memory. */
static asc_named_tensor *list_tensors(asc_ctx *ctx, const asc_params *params, size_t *bytes)
{
    *bytes = ((size_t)asc_params_count(params) + 1) * sizeof(asc_named_tensor);
    asc_named_tensor *list = asc_alloc(ctx, *bytes);
    for (int i = 0; list && i < asc_params_count(params); i++) {
        list[i] = (asc_named_tensor){asc_params_name(params, i), asc_params_at(params, i)};
    }
    return list;
}

asc_status asc_lm_save(asc_ctx *ctx, asc_lm *lm, const char *path)
{
    asc_status status = ASC_NEED(ctx, "lm_save: lm path", lm, path);
    if (status || (status = asc_error(ctx))) {
        return status;
    }
    const asc_params *params = asc_lm_params(lm);
    size_t bytes;
    asc_named_tensor *list = list_tensors(ctx, params, &bytes);
    const asc_safetensors_pair metadata[] = {
        {"format", "pt"},
        {ASC_FORMAT_KEY, ASC_FORMAT},
        {"version", ASC_VERSION},
        {"config", asc_lm_config(lm)},
        {ASC_SAFETENSORS_CRC, ""},
    };
    if (list) {
        asc_safetensors_write(ctx, path, list, asc_params_count(params), metadata, sizeof metadata / sizeof *metadata);
    }
    asc_free(ctx, list, bytes);
    return asc_error(ctx);
}

asc_status asc_model_write(asc_ctx *ctx, const char *path, asc_lm *lm, const asc_tokenizer *tokenizer,
                           const asc_dataset *data, const asc_best *of)
{
    const asc_params *params = asc_lm_params(lm);
    size_t bytes;
    asc_named_tensor *list = list_tensors(ctx, params, &bytes);
    size_t vocab_bytes, vocab_capacity;
    char *vocab = asc_tokenizer_text(tokenizer, &vocab_bytes, &vocab_capacity); /* a model file needs no other */
    char step_text[24], loss_text[32], wrong_text[32], checksum[9] = "";
    snprintf(step_text, sizeof step_text, "%" PRId64, of->step);
    asc_snprintf(loss_text, sizeof loss_text, "%.17g", of->loss);
    asc_snprintf(wrong_text, sizeof wrong_text, "%.17g", of->wrong);
    asc_vocab_checksum(tokenizer, checksum);
    char *classes = asc_lm_classes(lm) > 0 ? list_classes(ctx, data) : NULL;
    asc_safetensors_pair metadata[] = {
        {"format", "pt"},
        {ASC_FORMAT_KEY, ASC_FORMAT},
        {"version", ASC_VERSION},
        {"config", asc_lm_config(lm)},
        {"tokenizer", asc_tokenizer_name(tokenizer)},
        {"vocab_checksum", checksum},
        {"step", step_text},
        {"valid_loss", loss_text},
        {"vocab", vocab},
        {ASC_SAFETENSORS_CRC, ""},
        {NULL, NULL}, {NULL, NULL}, /* what not all have */
    };
    size_t facts = sizeof metadata / sizeof *metadata - 2;
    if (classes) {
        metadata[facts++] = (asc_safetensors_pair){"classes", classes};
    }
    if (of->wrong != 0) {
        metadata[facts++] = (asc_safetensors_pair){"valid_wrong", wrong_text};
    }
    if (asc_error(ctx) == ASC_OK) {
        asc_safetensors_write(ctx, path, list, asc_params_count(params), metadata, facts);
    }
    asc_text_drop(classes);
    asc_free(ctx, list, bytes);
    asc_free(ctx, vocab, vocab_capacity);
    return asc_error(ctx);
}

/* ---- opening ---- */

/* Why the folder `path` has no model file that could be read. */
static asc_status fail_no_model(asc_ctx *ctx, const char *path, const char *file)
{
    if (errno != ENOENT) {
        return asc_fail(ctx, ASC_ERR_IO, "%s: %s", file, strerror(errno));
    }
    return asc_is_run(path) ? asc_fail(ctx, ASC_ERR_IO, "%s: there is no model in it; a run has one after its first "
                                       "evaluation", path)
                            : asc_fail_no_run(ctx, path);
}

/* The model file, and the RUN that it is in or NULL, from either's path. */
static asc_status find_files(asc_ctx *ctx, const char *path, char **file, char **run)
{
    struct stat s;
    if (stat(path, &s)) {
        return asc_fail_no_run(ctx, path);
    }
    if (S_ISDIR(s.st_mode)) {
        *run = asc_path_copy(ctx, path);
        *file = asc_path_join(ctx, path, "model.safetensors");
        if (*file && lstat(*file, &s)) {
            return fail_no_model(ctx, path, *file);
        }
        return asc_error(ctx);
    }
    *file = asc_path_copy(ctx, path);
    char *folder = asc_path_folder(ctx, path), *config = folder ? asc_path_join(ctx, folder, "config.json") : NULL;
    if (config && asc_path_exists(config)) {
        *run = folder;
        folder = NULL;
    }
    asc_path_free(ctx, folder);
    asc_path_free(ctx, config);
    return asc_error(ctx);
}

/* That the keys are there which the file's version of the format has. */
static asc_status check_keys(asc_ctx *ctx, const asc_safetensors *file, const char *path)
{
    static const char *const keys[] = {"config", "tokenizer", "vocab", "vocab_checksum", "step", "valid_loss"};
    size_t n = asc_format_version(file) == 1 ? 2 : sizeof keys / sizeof *keys;
    for (size_t i = 0; i < n; i++) {
        if (!asc_safetensors_metadata(file, keys[i])) {
            return asc_fail(ctx, ASC_ERR_FORMAT, "%s: is no model: its metadata has no %s", path, keys[i]);
        }
    }
    return ASC_OK;
}

/* What is to know of a model beside its tensors. */
typedef struct facts {
    const char *config, *tokenizer, *vocab, *vocab_checksum; /* the last two may be missing */
    json_t *run;
    char *run_config;
} facts;

/* As PyTorch saves a state_dict: nothing says what they are. */
static bool has_tensors_alone(const asc_safetensors *file)
{
    return !asc_safetensors_metadata(file, ASC_FORMAT_KEY) && !asc_safetensors_metadata(file, "config") &&
           !asc_safetensors_metadata(file, "tokenizer");
}

static asc_status read_run_facts(asc_ctx *ctx, const char *run, facts *f)
{
    char *path = asc_path_join(ctx, run, "config.json");
    f->run = path ? asc_json_read(ctx, path, true) : NULL;
    const char *spec = json_string_value(json_object_get(f->run, "tokenizer"));
    const asc_tokenizer_kind *kind = spec ? asc_tokenizer_kind_find(ctx, spec) : NULL;
    f->run_config = kind ? json_dumps(json_object_get(f->run, "model"), JSON_COMPACT) : NULL;
    if (f->run_config) {
        f->config = f->run_config;
        f->tokenizer = kind->name;
        f->vocab_checksum = json_string_value(json_object_get(json_object_get(f->run, "data_checksum"), "vocab"));
    } else if (f->run) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: has no model or no tokenizer", path);
    }
    asc_path_free(ctx, path);
    return asc_error(ctx);
}

/* Of the file's metadata or, where it has tensors alone, of the run that it lies in. */
static asc_status read_facts(asc_ctx *ctx, const asc_safetensors *file, const char *path, const char *run, facts *f)
{
    if (run && has_tensors_alone(file)) {
        return read_run_facts(ctx, run, f);
    }
    f->config = asc_safetensors_metadata(file, "config");
    f->tokenizer = asc_safetensors_metadata(file, "tokenizer");
    f->vocab = asc_safetensors_metadata(file, "vocab");
    f->vocab_checksum = asc_safetensors_metadata(file, "vocab_checksum");
    return check_keys(ctx, file, path);
}

static void drop_facts(facts *f)
{
    asc_text_drop(f->run_config);
    json_decref(f->run);
}

/* The model with its parameters. */
static asc_lm *open_lm(asc_ctx *ctx, const asc_safetensors *file, const char *path, const char *config)
{
    const asc_safetensors_entry *first = asc_safetensors_at(file, 0);
    asc_dtype dtype = first && first->dtype == ASC_F64 ? ASC_F64 : ASC_F32;
    asc_values_source source = asc_params_source(&(asc_params_file){ctx, file, path, ""});
    asc_lm *lm = asc_lm_new_from(ctx, config, dtype, 0, &source);
    asc_error_blame(ctx, path);
    if (lm && asc_params_read(ctx, file, path, "", asc_lm_params(lm))) {
        asc_lm_free(lm);
        return NULL;
    }
    return lm;
}

asc_lm *asc_lm_load(asc_ctx *ctx, const char *path)
{
    if (ASC_NEED(ctx, "lm_load: path", path) || asc_error(ctx)) {
        return NULL;
    }
    asc_safetensors *file = asc_format_open(ctx, path, false);
    const char *config = file ? asc_safetensors_metadata(file, "config") : NULL;
    if (file && !config) {
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: is no model: its metadata has no config", path);
    }
    if (config) {
        asc_format_note(file);
    }
    asc_lm *lm = config ? open_lm(ctx, file, path, config) : NULL;
    asc_safetensors_close(file);
    return lm;
}

/* What the run says about its data. */
static void take_run(asc_ctx *ctx, asc_model *m, const json_t *config)
{
    const char *data = json_string_value(json_object_get(config, "data"));
    const asc_setting *row = asc_setting_find(asc_train_settings, "batch");
    double batch = json_number_value(json_object_get(config, "batch"));
    if (config && data) {
        m->data = asc_path_copy(ctx, data);
    }
    if (batch >= row->min && batch <= row->max) {
        m->batch = (int64_t)batch;
    }
    const char *precision = json_string_value(json_object_get(config, "precision"));
    m->precision = precision && strcmp(precision, "bf16") == 0 ? ASC_PRECISION_BF16 : ASC_PRECISION_F32;
    const char *encoder = json_string_value(json_object_get(config, "encoder"));
    const char *checksum = json_string_value(json_object_get(json_object_get(config, "data_checksum"), "encoder"));
    m->encoder = encoder && *encoder ? asc_path_copy(ctx, encoder) : NULL;
    snprintf(m->encoder_checksum, sizeof m->encoder_checksum, "%s", checksum ? checksum : "");
}

/* Beside a file that was named itself config.json may be another program's: then the file stands alone. */
static asc_status read_run(asc_ctx *ctx, asc_model *m, bool named)
{
    char *path = asc_path_join(ctx, m->run, "config.json");
    json_t *config = path ? asc_json_read(ctx, path, true) : NULL;
    asc_status status = asc_error(ctx);
    bool unread = status == ASC_ERR_FORMAT || status == ASC_ERR_IO;
    if (!named && (unread || (!status && !json_is_object(json_object_get(config, "model"))))) {
        asc_error_clear(ctx);
        asc_path_free(ctx, m->run);
        m->run = NULL;
    } else if (!status) {
        take_run(ctx, m, config);
    }
    json_decref(config);
    asc_path_free(ctx, path);
    return asc_error(ctx);
}

/* The tokenizer that the caller named by more than the model's own name for it, or whose words are to come from the
 * caller's data. */
static asc_tokenizer *make_tokenizer(asc_ctx *ctx, const char *spec, const char *name, asc_dataset *data)
{
    if (spec && strcmp(spec, name) != 0) {
        return asc_tokenizer_new(ctx, spec);
    }
    const asc_tokenizer_kind *kind = asc_tokenizer_kind_find(ctx, name);
    bool learned = kind && kind->collect;
    if (kind && kind->has_vocabulary && !(learned && data)) {
        asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": the model file has no vocabulary and is in no run: %s%s%s is "
                    "needed", learned ? "the data that it was trained on" : kind->name, learned ? "" : ":",
                    learned || !kind->argument ? "" : kind->argument);
        return NULL;
    }
    asc_tokenizer *t = asc_tokenizer_new(ctx, name);
    if (t && learned && asc_dataset_collect(data, t)) {
        asc_tokenizer_free(t);
        return NULL;
    }
    return t;
}

static asc_status check_tokenizer(asc_ctx *ctx, const asc_model *m, const facts *f)
{
    int64_t size = asc_tokenizer_size(m->tokenizer), vocab = asc_lm_vocab(m->lm);
    if (strcmp(asc_tokenizer_name(m->tokenizer), f->tokenizer) != 0) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer", ": got '%s', but the model's is '%s'",
                           asc_tokenizer_name(m->tokenizer), f->tokenizer);
    }
    if (size != vocab) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer",
                           ": its vocabulary has %" PRId64 " tokens, but the model's has %" PRId64, size, vocab);
    }
    char checksum[9];
    if (asc_vocab_checksum(m->tokenizer, checksum)) {
        return asc_error(ctx);
    }
    if (f->vocab_checksum && strcmp(checksum, f->vocab_checksum) != 0) {
        return asc_fail_on(ctx, ASC_ERR_ARG, "tokenizer",
                           ": the vocabulary is not the model's: checksum %s, expected %s", checksum,
                           f->vocab_checksum);
    }
    return ASC_OK;
}

/* The model's tokenizer, or the one that was asked for, if it fits. A name without more asks for the model's own. */
static asc_status open_tokenizer(asc_ctx *ctx, asc_model *m, const facts *f, const char *path, const char *spec,
                                 asc_dataset *data)
{
    const char *name = f->tokenizer, *own = f->vocab;
    bool asked = spec && strcmp(spec, name) != 0;
    char *vocab = !asked && !own && m->run ? asc_path_join(ctx, m->run, "vocab.txt") : NULL;
    if (!asked && own) {
        m->tokenizer = asc_tokenizer_parse(ctx, name, "the model's vocabulary", own, strlen(own));
    } else if (vocab) {
        m->tokenizer = asc_tokenizer_load_with(ctx, name, vocab, ASC_TEXT_OWN);
    } else if (asc_error(ctx) == ASC_OK) {
        m->tokenizer = make_tokenizer(ctx, spec, name, data);
    }
    if (m->tokenizer) {
        check_tokenizer(ctx, m, f);
    }
    if (!asked && (own || vocab)) {
        asc_error_blame(ctx, own ? path : vocab);
    }
    asc_path_free(ctx, vocab);
    return asc_error(ctx);
}

/* The names of a classifier's classes, which an older file may lack; tensors alone leave open which is which. */
static asc_status read_classes(asc_ctx *ctx, asc_model *m, const asc_safetensors *file, const char *path)
{
    const char *text = asc_safetensors_metadata(file, "classes");
    if (has_tensors_alone(file) && asc_lm_classes(m->lm) > 0) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: is no classifier: its metadata has no classes", path);
    }
    json_t *names = text ? json_loads(text, 0, NULL) : NULL, *name;
    bool fits = json_is_array(names) && (int64_t)json_array_size(names) == asc_lm_classes(m->lm);
    size_t i;
    json_array_foreach(names, i, name)
    {
        fits = fits && json_is_string(name);
    }
    json_decref(names);
    if (text && !fits) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: its classes are '%.60s', expected a list of %lld names", path, text,
                        (long long)asc_lm_classes(m->lm));
    }
    m->classes = text ? asc_path_copy(ctx, text) : NULL;
    return asc_error(ctx);
}

static asc_status open_parts(asc_ctx *ctx, asc_model *m, const char *path, const char *spec, asc_dataset *data)
{
    char *file_path = NULL;
    asc_safetensors *file = NULL;
    facts f = {0};
    asc_status status = find_files(ctx, path, &file_path, &m->run);
    bool named = !status && strcmp(file_path, path) != 0; /* the run, and not the file */
    if (!status && (!m->run || read_run(ctx, m, named) == ASC_OK)) {
        file = asc_format_open(ctx, file_path, named);
    }
    if (file) {
        asc_format_note(file);
        const char *checksum = asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC);
        snprintf(m->checksum, sizeof m->checksum, "%s", checksum ? checksum : "");
    }
    bool known = file && read_facts(ctx, file, file_path, m->run, &f) == ASC_OK;
    m->lm = known ? open_lm(ctx, file, file_path, f.config) : NULL;
    if (m->lm && read_classes(ctx, m, file, file_path) == ASC_OK) {
        open_tokenizer(ctx, m, &f, file_path, spec, data);
    }
    drop_facts(&f);
    asc_safetensors_close(file);
    asc_path_free(ctx, file_path);
    return asc_error(ctx);
}

asc_model *asc_model_open(asc_ctx *ctx, const char *path, const char *tokenizer, asc_dataset *data)
{
    asc_model *m = ASC_NEED(ctx, "model_open: path", path) ? NULL : asc_alloc(ctx, sizeof *m);
    if (!m) {
        return NULL;
    }
    *m = (asc_model){.batch = 32};
    if (open_parts(ctx, m, path, tokenizer, data)) {
        asc_model_free(ctx, m);
        return NULL;
    }
    return m;
}

void asc_model_free(asc_ctx *ctx, asc_model *m)
{
    if (ctx && m) {
        asc_lm_free(m->lm);
        asc_tokenizer_free(m->tokenizer);
        asc_path_free(ctx, m->run);
        asc_path_free(ctx, m->data);
        asc_path_free(ctx, m->classes);
        asc_path_free(ctx, m->encoder);
        asc_free(ctx, m, sizeof *m);
    }
}

/* ---- the data that a run was trained with ---- */

asc_status asc_split_verify(asc_ctx *ctx, json_t *checksums, const char *run, asc_split_kind kind,
                            const asc_split *split)
{
    const char *expected = json_string_value(json_object_get(checksums, asc_split_name(kind)));
    char got[9];
    snprintf(got, sizeof got, "%08" PRIx32, split->checksum);
    if (expected && strcmp(expected, got) != 0) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "the %s split has changed: checksum %s, but %s was made with %s",
                        asc_split_name(kind), got, run, expected);
    }
    return ASC_OK;
}

asc_status asc_model_check_split(asc_ctx *ctx, const asc_model *m, asc_split_kind kind, const asc_split *split)
{
    asc_status status = ASC_NEED(ctx, "model_check_split: model split", m, split);
    if (status) {
        return status;
    }
    if (!m->run) {
        return ASC_OK;
    }
    char *path = asc_path_join(ctx, m->run, "config.json");
    json_t *config = path ? asc_json_read(ctx, path, true) : NULL;
    if (config) {
        asc_split_verify(ctx, json_object_get(config, "data_checksum"), m->run, kind, split);
    }
    json_decref(config);
    asc_path_free(ctx, path);
    return asc_error(ctx);
}
