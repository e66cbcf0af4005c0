/* train/encoder/weights.c: the tensors of model.safetensors, by the names that transformers gives them, with or without
 * the model's own name before them, and in old files "gamma" and "beta" for a norm's weight and bias. Heads and poolers
 * are passed over. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <ascgrad/ops.h>
#include <ascgrad/safetensors.h>

#include "data/byte_order.h"
#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "train/encoder/encoder.h"
#include "train/path.h"

enum { NAME = 160 };

/* An open file, and what is summed up of what was read. */
typedef struct source {
    asc_encoder *e;
    asc_safetensors *file;
    const char *path;
    const char *prefix; /* of all names */
    uint32_t crc;       /* of all values, in the order in which they are read */
} source;

/* A matrix with a bias, or a norm's two, of a layer. */
typedef enum extent { DIM, INNER } extent;
typedef struct part {
    const char *bert, *distil;
    size_t at;
    bool is_norm;
    extent out, in; /* of a matrix */
} part;

#define AT(field) offsetof(asc_encoder_layer, field)
static const part parts[] = {
    {"attention.self.query", "attention.q_lin", AT(q), false, DIM, DIM},
    {"attention.self.key", "attention.k_lin", AT(k), false, DIM, DIM},
    {"attention.self.value", "attention.v_lin", AT(v), false, DIM, DIM},
    {"attention.output.dense", "attention.out_lin", AT(o), false, DIM, DIM},
    {"attention.output.LayerNorm", "sa_layer_norm", AT(norm1), true, DIM, DIM},
    {"intermediate.dense", "ffn.lin1", AT(fc1), false, INNER, DIM},
    {"output.dense", "ffn.lin2", AT(fc2), false, DIM, INNER},
    {"output.LayerNorm", "output_layer_norm", AT(norm2), true, DIM, DIM},
};

/* ---- one tensor ---- */

/* The entry PREFIX NAME, or of a norm by its old name. NULL with the error set. */
static const asc_safetensors_entry *find(const source *s, const char *name, const char *kind, const char *old)
{
    char full[NAME];
    snprintf(full, sizeof full, "%s%s.%s", s->prefix, name, kind);
    const asc_safetensors_entry *entry = asc_safetensors_find(s->file, full);
    if (!entry && old) {
        snprintf(full, sizeof full, "%s%s.%s", s->prefix, name, old);
        entry = asc_safetensors_find(s->file, full);
    }
    if (!entry) {
        asc_fail(s->e->ctx, ASC_ERR_FORMAT, "%s: has no tensor '%s%s.%s'", s->path, s->prefix, name, kind);
    }
    return entry;
}

/* Reads a tensor of that shape; its values enter the sum. */
static asc_tensor read_tensor(source *s, const asc_safetensors_entry *entry, int ndim, const int64_t *shape)
{
    asc_ctx *ctx = s->e->ctx;
    if (!entry) {
        return asc_null();
    }
    asc_array have = {.ndim = entry->ndim}, want = {.ndim = ndim};
    memcpy(have.shape, entry->shape, sizeof have.shape);
    memcpy(want.shape, shape, (size_t)ndim * sizeof *shape);
    if (!asc_same_shape(&have, &want)) {
        char text[2][ASC_SHAPE_TEXT];
        asc_fail(ctx, ASC_ERR_FORMAT, "%s: '%s' is %s, expected %s by config.json", s->path, entry->name,
                 asc_shape_text(&have, text[0]), asc_shape_text(&want, text[1]));
        return asc_null();
    }
    asc_tensor t = asc_safetensors_read(ctx, s->file, entry->name, ASC_F32);
    if (!asc_is_null(t)) {
        s->crc = asc_file_crc(s->crc, asc_data(t), (size_t)asc_numel(t), sizeof(float));
        s->e->parameters += asc_numel(t);
    } else {
        asc_error_blame(ctx, ""); /* a dtype that is no float's */
    }
    return t;
}

static asc_tensor read_matrix(source *s, const char *name, int64_t out, int64_t in)
{
    return read_tensor(s, find(s, name, "weight", NULL), 2, (int64_t[]){out, in});
}

/* A norm, with in 0, or a matrix and its bias. */
static asc_affine read_affine(source *s, const char *name, int64_t out, int64_t in)
{
    asc_affine a = {.weight = in > 0 ? read_matrix(s, name, out, in)
                                     : read_tensor(s, find(s, name, "weight", "gamma"), 1, &out)};
    if (!asc_is_null(a.weight)) {
        a.bias = read_tensor(s, find(s, name, "bias", in > 0 ? NULL : "beta"), 1, &out);
    }
    return a;
}

/* ---- all of them ---- */

/* Positions and types, and the table of their sums. */
static void read_places(source *s)
{
    asc_encoder_net *net = &s->e->net;
    asc_ctx *ctx = s->e->ctx;
    asc_tensor positions = read_matrix(s, "embeddings.position_embeddings", net->positions, net->dim);
    asc_tensor types = s->e->distil || asc_is_null(positions)
                           ? asc_null()
                           : read_matrix(s, "embeddings.token_type_embeddings", net->types, net->dim);
    if (s->e->distil) {
        net->place = positions;
        return;
    }
    asc_tensor column = asc_reshape(ctx, types, ASC_SHAPE(net->types, 1, net->dim));
    asc_tensor sum = asc_add(ctx, column, positions);
    net->place = asc_reshape(ctx, sum, ASC_SHAPE(net->types * net->positions, net->dim));
    asc_release(sum);
    asc_release(column);
    asc_release(types);
    asc_release(positions);
}

static asc_status read_layers(source *s)
{
    asc_encoder *e = s->e;
    asc_encoder_net *net = &e->net;
    const int64_t size[] = {[DIM] = net->dim, [INNER] = net->inner};
    net->layer = asc_alloc(e->ctx, (size_t)net->layers * sizeof *net->layer);
    if (!net->layer) {
        return ASC_ERR_MEMORY;
    }
    memset(net->layer, 0, (size_t)net->layers * sizeof *net->layer);
    for (int64_t l = 0; l < net->layers; l++) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts && !asc_error(e->ctx); i++) {
            const part *p = &parts[i];
            char name[NAME];
            snprintf(name, sizeof name, "%s.layer.%lld.%s", e->distil ? "transformer" : "encoder", (long long)l,
                     e->distil ? p->distil : p->bert);
            asc_affine *into = (asc_affine *)(void *)((char *)&net->layer[l] + p->at);
            *into = read_affine(s, name, size[p->out], p->is_norm ? 0 : size[p->in]);
        }
    }
    return asc_error(e->ctx);
}

/* What stands before the names in this file. */
static const char *prefix_of(const asc_safetensors *file)
{
    static const char *const prefixes[] = {"", "bert.", "distilbert."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%sembeddings.word_embeddings.weight", prefixes[i]);
        if (asc_safetensors_find(file, name)) {
            return prefixes[i];
        }
    }
    return "";
}

/* Some take the first layers of a model alone; others have the config.json of another. */
static void tell_more_layers(const source *s)
{
    const asc_encoder *e = s->e;
    char name[NAME];
    snprintf(name, sizeof name, "%s%s.layer.%lld.%s.weight", s->prefix, e->distil ? "transformer" : "encoder",
             (long long)e->net.layers, e->distil ? parts[0].distil : parts[0].bert);
    if (asc_safetensors_find(s->file, name)) {
        asc_note(e->ctx, "%s: has more layers than the %lld of config.json, which alone are used", s->path,
                 (long long)e->net.layers);
    }
}

/* The sum of the values, and of the settings that they are used with. */
static void sign(const source *s)
{
    const asc_encoder_net *net = &s->e->net;
    char text[120];
    int n = asc_snprintf(text, sizeof text, "%d %lld %d %.17g", s->e->distil, (long long)net->heads,
                         (int)net->activation, net->eps);
    snprintf(s->e->fingerprint, sizeof s->e->fingerprint, "%08lx%08lx", (unsigned long)s->crc,
             crc32((uLong)s->e->parameters, (const Bytef *)text, (uInt)n));
}

asc_status asc_encoder_read_weights(asc_encoder *e, const char *folder)
{
    char *path = asc_path_join(e->ctx, folder, "model.safetensors");
    source s = {.e = e, .path = path, .file = path ? asc_safetensors_open(e->ctx, path) : NULL};
    if (s.file) {
        asc_encoder_net *net = &e->net;
        s.prefix = prefix_of(s.file);
        net->word = read_matrix(&s, "embeddings.word_embeddings", net->vocab, net->dim);
        if (!asc_is_null(net->word)) {
            read_places(&s);
        }
        if (!asc_error(e->ctx)) {
            net->norm = read_affine(&s, "embeddings.LayerNorm", net->dim, 0);
        }
        if (!asc_error(e->ctx) && !read_layers(&s)) {
            tell_more_layers(&s);
            sign(&s);
        }
    }
    asc_safetensors_close(s.file);
    asc_path_free(e->ctx, path);
    return asc_error(e->ctx);
}

static void release_affine(asc_affine a)
{
    asc_release(a.weight);
    asc_release(a.bias);
}

void asc_encoder_clear_weights(asc_encoder *e)
{
    asc_encoder_net *net = &e->net;
    for (int64_t l = 0; net->layer && l < net->layers; l++) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            release_affine(*(asc_affine *)(void *)((char *)&net->layer[l] + parts[i].at));
        }
    }
    asc_free(e->ctx, net->layer, (size_t)net->layers * sizeof *net->layer);
    release_affine(net->norm);
    asc_release(net->place);
    asc_release(net->word);
    *net = (asc_encoder_net){0};
}
