/* train/run/checkpoint.c: all that an exact resume needs, in one file. Its format: train/run/format.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ascgrad/safetensors.h>

#include "data/byte_order.h"
#include "data/safetensors.h"
#include "optim/optim.h"
#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "train/run/format.h"
#include "train/path.h"
#include "train/state.h"

#define PARAM ASC_CHECKPOINT_PARAM
#define OPTIM "optim."
#define CARRY "carry."
#define HELD  ASC_CHECKPOINT_HELD

/* What each field may be by itself; asc_trainer_check_state says how they go together. */
static const struct {
    const char *key;
    char type; /* 'i' whole number, 'r' number, 'n' number or not a number, 'o' number that earlier files lack */
    size_t at;
    int64_t least, most; /* of whole numbers; others begin at 0 */
} fields[] = {
    {"step", 'i', offsetof(asc_train_state, step), 0, ASC_STEPS_MOST},
    {"tokens", 'i', offsetof(asc_train_state, tokens), 0, INT64_MAX},
    {"best_step", 'i', offsetof(asc_train_state, best.step), -1, ASC_STEPS_MOST},
    {"evaluated_step", 'i', offsetof(asc_train_state, evaluated_step), -1, ASC_STEPS_MOST},
    {"logged_step", 'i', offsetof(asc_train_state, logged_step), -1, ASC_STEPS_MOST},
    {"metrics_bytes", 'i', offsetof(asc_train_state, metrics_bytes), 0, INT64_MAX},
    {"elapsed_s", 'r', offsetof(asc_train_state, elapsed_s), 0, 0},
    {"best_loss", 'r', offsetof(asc_train_state, best.loss), 0, 0},
    {"best_bits", 'n', offsetof(asc_train_state, best.bits), 0, 0},
    {"best_wrong", 'o', offsetof(asc_train_state, best.wrong), 0, 0},
    {"loss", 'n', offsetof(asc_train_state, loss), 0, 0},
    {"lr", 'n', offsetof(asc_train_state, lr), 0, 0},
    {"grad_norm", 'n', offsetof(asc_train_state, grad_norm), 0, 0},
};
enum { N_FIELDS = sizeof fields / sizeof *fields, N_FACTS = 4, TEXT = 40, BUILD = 600 };

asc_train_state asc_state_start(void)
{
    return (asc_train_state){.evaluated_step = -1, .logged_step = -1, .best = asc_best_none(), .loss = NAN, .lr = NAN,
                             .grad_norm = NAN};
}

void asc_build_describe(const asc_ctx *ctx, char *text, size_t bytes)
{
    asc_machine m = asc_machine_info();
    bool bf16 = asc_precision_of(ctx) == ASC_PRECISION_BF16, own = strcmp(m.products, "own") == 0;
    snprintf(text, bytes, "ascgrad %s; compiler %s; kernels %s; BLAS %s; core %s%s%s", m.version, __VERSION__, m.isa,
             m.blas ? m.blas : "?", m.blas_core ? m.blas_core : "?", bf16 ? "; bf16 " : own ? "; products " : "",
             bf16 ? m.bf16 : own ? m.products : "");
}

/* The checksum of format 1: CRC-32 of the values, in the order of the lists. */
static uint32_t checksum(asc_params *const *lists, int n_lists)
{
    uint32_t crc = 0;
    for (int l = 0; l < n_lists; l++) {
        for (int i = 0; i < asc_params_count(lists[l]); i++) {
            asc_tensor t = asc_params_at(lists[l], i);
            crc = asc_file_crc(crc, asc_data(t), (size_t)asc_numel(t), asc_dtype_size(asc_dtype_of(t)));
        }
    }
    return crc;
}

/* ---- writing ---- */

typedef struct entries {
    asc_ctx *ctx;
    asc_named_tensor *list;
    int64_t n;
    size_t capacity;
    char *names; /* of all, one after another */
    size_t names_bytes, names_used;
} entries;

static size_t name_bytes(const asc_params *params)
{
    size_t bytes = 0;
    for (int i = 0; i < asc_params_count(params); i++) {
        bytes += strlen(asc_params_name(params, i)) + sizeof PARAM;
    }
    return bytes;
}

static void add_all(entries *e, const char *prefix, const asc_params *params)
{
    for (int i = 0; i < asc_params_count(params); i++) {
        char *name = e->names + e->names_used;
        int n = snprintf(name, e->names_bytes - e->names_used, "%s%s", prefix, asc_params_name(params, i));
        e->names_used += (size_t)n + 1;
        e->list[e->n++] = (asc_named_tensor){name, asc_params_at(params, i)};
    }
}

/* Tensors from number `first` on are away. */
typedef struct loader {
    const asc_away *away;
    int64_t first;
} loader;

static asc_status load(void *user, int64_t i)
{
    const loader *l = user;
    return l->away && i >= l->first ? l->away->load(l->away->user, i - l->first) : ASC_OK;
}

asc_status asc_checkpoint_write(asc_ctx *ctx, const asc_folder *folder, asc_lm *lm, asc_optim *optim,
                                const asc_away *away, const asc_train_state *state, const asc_params *carried,
                                const char *held)
{
    asc_params *params = asc_lm_params(lm), *slots = asc_optim_state(optim);
    char values[N_FIELDS][TEXT], build[BUILD];
    asc_safetensors_pair metadata[N_FACTS + N_FIELDS] = {{ASC_FORMAT_KEY, ASC_FORMAT}, {"build", build},
                                                         {HELD, held}, {ASC_SAFETENSORS_CRC, ""}};
    asc_build_describe(ctx, build, sizeof build);
    for (int i = 0; i < N_FIELDS; i++) {
        const char *field = (const char *)state + fields[i].at;
        if (fields[i].type == 'i') {
            snprintf(values[i], TEXT, "%lld", (long long)*(const int64_t *)(const void *)field);
        } else {
            asc_snprintf(values[i], TEXT, "%.17g", *(const double *)(const void *)field);
        }
        metadata[N_FACTS + i] = (asc_safetensors_pair){fields[i].key, values[i]};
    }
    const asc_params *others = away ? away->tensors : NULL;
    loader l = {away, asc_params_count(params) + asc_params_count(slots) + asc_params_count(carried)};
    entries e = {.ctx = ctx,
                 .capacity = (size_t)l.first + (size_t)asc_params_count(others),
                 .names_bytes = name_bytes(params) + name_bytes(slots) + name_bytes(carried) + name_bytes(others)};
    e.list = asc_alloc(ctx, e.capacity * sizeof *e.list);
    e.names = asc_alloc(ctx, e.names_bytes);
    if (e.list && e.names) {
        add_all(&e, PARAM, params);
        add_all(&e, OPTIM, slots);
        add_all(&e, CARRY, carried);
        add_all(&e, OPTIM, others);
        asc_safetensors_write_loaded(ctx, folder->checkpoint, e.list, e.n, metadata, N_FACTS + N_FIELDS,
                                     &(asc_values_loader){load, &l});
    }
    asc_free(ctx, e.list, e.capacity * sizeof *e.list);
    asc_free(ctx, e.names, e.names_bytes);
    return asc_error(ctx);
}

/* ---- reading ---- */

/* That the file has a tensor of that name, behind its prefix, and shape. */
static asc_status find_param(void *user, const char *name, int ndim, const int64_t *shape)
{
    const asc_params_file *f = user;
    char full[400];
    snprintf(full, sizeof full, "%s%s", f->prefix, name);
    const asc_safetensors_entry *entry = asc_safetensors_find(f->file, full);
    if (!entry) {
        return asc_fail(f->ctx, ASC_ERR_FORMAT, "%s: has no tensor %s", f->path, full);
    }
    asc_array got, expected;
    asc_array_init(&got, entry->dtype, entry->ndim, entry->shape);
    if (!asc_array_init(&expected, entry->dtype, ndim, shape) || !asc_same_shape(&got, &expected)) {
        char text[2][ASC_SHAPE_TEXT];
        return asc_fail(f->ctx, ASC_ERR_FORMAT, "%s: %s is %s, expected %s", f->path, full,
                        asc_shape_text(&got, text[0]), asc_shape_text(&expected, text[1]));
    }
    return ASC_OK;
}

asc_values_source asc_params_source(asc_params_file *file)
{
    return (asc_values_source){find_param, file};
}

asc_status asc_params_read(asc_ctx *ctx, const asc_safetensors *file, const char *path, const char *prefix,
                           asc_params *params)
{
    asc_params_file f = {ctx, file, path, prefix};
    for (int i = 0; i < asc_params_count(params); i++) {
        char name[400];
        snprintf(name, sizeof name, "%s%s", prefix, asc_params_name(params, i));
        asc_tensor t = asc_params_at(params, i);
        asc_array expected = asc_array_of(t);
        if (find_param(&f, asc_params_name(params, i), expected.ndim, expected.shape) ||
            asc_safetensors_read_into(ctx, file, name, t)) {
            return asc_error(ctx);
        }
    }
    return ASC_OK;
}

asc_status asc_checkpoint_read_kept(asc_ctx *ctx, const asc_safetensors *file, const char *name, asc_tensor values)
{
    char full[400];
    snprintf(full, sizeof full, "%s%s", OPTIM, name);
    return asc_safetensors_read_into(ctx, file, full, values);
}

/* That the file has what other processes keep of the optimiser. */
static asc_status check_away(const asc_params_file *f, const asc_params *params, const asc_optim *optim)
{
    char name[ASC_OPTIM_NAME];
    asc_tensor kept;
    for (int i = 0; i < asc_params_count(params); i++) {
        asc_tensor p = asc_params_at(params, i);
        for (int slot = 0; asc_optim_slot(optim, i, slot, name, &kept); slot++) {
            if (asc_is_null(kept) && find_param((void *)f, name, asc_ndim(p), asc_shape(p))) {
                return asc_error(f->ctx);
            }
        }
    }
    return ASC_OK;
}

static asc_status read_state(const asc_safetensors *file, asc_train_state *state)
{
    asc_status status = ASC_OK;
    for (int i = 0; i < N_FIELDS && !status; i++) {
        if (fields[i].type == 'o' && !asc_safetensors_metadata(file, fields[i].key)) {
            continue;
        }
        void *field = (char *)state + fields[i].at;
        status = fields[i].type == 'i'
                     ? asc_format_int(file, fields[i].key, fields[i].least, fields[i].most, field)
                     : asc_format_real(file, fields[i].key, INFINITY, fields[i].type == 'n', field);
    }
    return status;
}

/* Format 1 had a key and a checksum of its own. */
static asc_status check_first_format(asc_ctx *ctx, const asc_safetensors *file, const char *path)
{
    const char *format = asc_safetensors_metadata(file, "format");
    if (!format || strcmp(format, "1") != 0) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: is no checkpoint: its metadata has no " ASC_FORMAT_KEY, path);
    }
    asc_note(ctx, "%s: is of an earlier format, whose checksum does not cover the metadata", path);
    return ASC_OK;
}

static asc_status check_first_values(asc_ctx *ctx, const asc_safetensors *file, const char *path, asc_params *params,
                                     asc_params *slots)
{
    char got[9];
    snprintf(got, sizeof got, "%08" PRIx32, checksum((asc_params *[]){params, slots}, 2));
    const char *expected = asc_safetensors_metadata(file, "checksum");
    if (!expected || strcmp(got, expected) != 0) {
        return asc_fail(ctx, ASC_ERR_FORMAT, "%s: is damaged: the checksum of its tensors is %s, expected %s", path,
                        got, expected ? expected : "one");
    }
    return ASC_OK;
}

/* Only the run knows what that is to be. */
static asc_status read_carried(asc_ctx *ctx, const asc_safetensors *file, asc_params *carried)
{
    for (int64_t i = 0; i < asc_safetensors_count(file) && !asc_error(ctx); i++) {
        const char *name = asc_safetensors_at(file, i)->name;
        if (strncmp(name, CARRY, strlen(CARRY)) == 0) {
            asc_tensor t = asc_safetensors_read(ctx, file, name, ASC_SAFETENSORS_STORED);
            asc_params_add(carried, name + strlen(CARRY), t, false);
            asc_release(t);
        }
    }
    return asc_error(ctx);
}

static asc_status read_all(asc_ctx *ctx, const asc_safetensors *file, const char *path, asc_lm *lm, asc_optim *optim,
                           asc_train_state *state, asc_params *carried)
{
    asc_params *params = asc_lm_params(lm), *slots = asc_optim_state(optim);
    bool first = asc_format_version(file) == 1;
    if ((first && check_first_format(ctx, file, path)) || read_state(file, state) ||
        asc_params_read(ctx, file, path, PARAM, params) || asc_params_read(ctx, file, path, OPTIM, slots) ||
        check_away(&(asc_params_file){ctx, file, path, OPTIM}, params, optim) || read_carried(ctx, file, carried)) {
        return asc_error(ctx);
    }
    return first ? check_first_values(ctx, file, path, params, slots) : ASC_OK;
}

asc_status asc_checkpoint_read(asc_ctx *ctx, const char *path, asc_lm *lm, asc_optim *optim, asc_train_state *state,
                               asc_params *carried, bool *same_build)
{
    asc_safetensors *file = asc_format_open(ctx, path, true);
    if (file) {
        if (asc_format_version(file) > 1) { /* of an earlier one more is to be said */
            asc_format_note(file);
        }
        read_all(ctx, file, path, lm, optim, state, carried);
        asc_error_blame(ctx, ""); /* the file is named */
    }
    char build[BUILD];
    asc_build_describe(ctx, build, sizeof build);
    const char *written = file ? asc_safetensors_metadata(file, "build") : NULL;
    *same_build = written && strcmp(written, build) == 0;
    asc_safetensors_close(file);
    return asc_error(ctx);
}

asc_status asc_checkpoint_step(asc_ctx *ctx, const char *path, int64_t *step)
{
    asc_safetensors *file = asc_format_open(ctx, path, true);
    asc_status status = file ? asc_format_int(file, "step", 0, ASC_STEPS_MOST, step) : asc_error(ctx);
    asc_safetensors_close(file);
    return status;
}

char *asc_checkpoint_held(asc_ctx *ctx, const char *path)
{
    asc_safetensors *file = asc_format_open(ctx, path, true);
    const char *held = asc_safetensors_metadata(file, HELD);
    char *copy = held ? asc_path_copy(ctx, held) : NULL;
    asc_safetensors_close(file);
    return copy;
}
