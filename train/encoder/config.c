/* train/encoder/config.c: config.json and tokenizer_config.json as Hugging Face's transformers writes them. What an
 * encoder's states don't depend on is passed over; what they do, and is not known here, is refused by name. */
#include "train/encoder/encoder.h"

#include <jansson.h>
#include <string.h>

#include "data/json.h"
#include "train/path.h"

/* A value as it stands in the file, cut short, for a message. */
static const char *show(const json_t *value, char text[80])
{
    size_t n = json_dumpb(value, text, 79, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    text[n < 79 ? n : 79] = '\0';
    return text;
}

/* ---- settings ---- */

/* A file under way. */
typedef struct source {
    asc_ctx *ctx;
    const char *path;
    const json_t *object;
} source;

static asc_status refuse(const source *s, const char *key, const json_t *value, const char *expected)
{
    char text[80];
    return asc_fail(s->ctx, ASC_ERR_FORMAT, "%s: %s is %s, expected %s", s->path, key,
                    value ? show(value, text) : "missing", expected);
}

/* A size, by the name that either family has for it. */
typedef struct size_field {
    const char *bert, *distil; /* NULL: there is none */
    size_t at;
    int64_t least, most;
    int64_t missing; /* what stands for it where it is missing; 0: it must not be */
} size_field;

#define AT(field) offsetof(asc_encoder_net, field)

static const size_field sizes[] = {
    {"vocab_size", "vocab_size", AT(vocab), 3, 1 << 24, 0},
    {"hidden_size", "dim", AT(dim), 1, 1 << 20, 0},
    {"num_hidden_layers", "n_layers", AT(layers), 1, 1000, 0},
    {"num_attention_heads", "n_heads", AT(heads), 1, 1 << 20, 0},
    {"intermediate_size", "hidden_dim", AT(inner), 1, 1 << 22, 0},
    {"max_position_embeddings", "max_position_embeddings", AT(positions), 3, 1 << 22, 0},
    {"type_vocab_size", NULL, AT(types), 1, 1 << 10, 2},
};

static asc_status read_size(const source *s, asc_encoder *e, const size_field *f)
{
    const char *key = e->distil ? f->distil : f->bert;
    const json_t *value = key ? json_object_get(s->object, key) : NULL;
    int64_t *size = (int64_t *)(void *)((char *)&e->net + f->at);
    if (!key) {
        *size = 0;
        return ASC_OK;
    }
    *size = value ? (int64_t)json_integer_value(value) : f->missing;
    if ((value && !json_is_integer(value)) || *size < f->least || *size > f->most) {
        char expected[80];
        snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)f->least,
                 (long long)f->most);
        return refuse(s, key, value, expected);
    }
    return ASC_OK;
}

static asc_status read_activation(const source *s, asc_encoder *e)
{
    static const struct {
        const char *name;
        asc_encoder_activation activation;
    } known[] = {{"gelu", ASC_ENCODER_GELU},
                 {"gelu_new", ASC_ENCODER_GELU_TANH},
                 {"gelu_pytorch_tanh", ASC_ENCODER_GELU_TANH},
                 {"relu", ASC_ENCODER_RELU}};
    const char *key = e->distil ? "activation" : "hidden_act";
    const json_t *value = json_object_get(s->object, key);
    const char *name = value ? json_string_value(value) : "gelu";
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            e->net.activation = known[i].activation;
            return ASC_OK;
        }
    }
    return refuse(s, key, value, "\"gelu\", \"gelu_new\", \"gelu_pytorch_tanh\" or \"relu\"");
}

static asc_status read_eps(const source *s, asc_encoder *e)
{
    const json_t *value = e->distil ? NULL : json_object_get(s->object, "layer_norm_eps"); /* DistilBERT's is fixed */
    e->net.eps = value ? json_number_value(value) : 1e-12;
    if (!(e->net.eps > 0 && e->net.eps <= 1)) {
        return refuse(s, "layer_norm_eps", value, "a number above 0, at most 1");
    }
    return ASC_OK;
}

static asc_status read_type(const source *s, asc_encoder *e)
{
    const json_t *value = json_object_get(s->object, "model_type");
    const char *name = json_string_value(value);
    e->distil = name && strcmp(name, "distilbert") == 0;
    return e->distil || (name && strcmp(name, "bert") == 0)
               ? ASC_OK
               : refuse(s, "model_type", value, "\"bert\" or \"distilbert\"");
}

/* What would make another network of it. */
static asc_status refuse_strangers(const source *s)
{
    const json_t *positions = json_object_get(s->object, "position_embedding_type");
    const json_t *pruned = json_object_get(s->object, "pruned_heads");
    static const char *const off[] = {"is_decoder", "add_cross_attention"};
    if (positions && (!json_is_string(positions) || strcmp(json_string_value(positions), "absolute") != 0)) {
        return refuse(s, "position_embedding_type", positions, "\"absolute\"");
    }
    if (pruned && json_object_size(pruned) > 0) {
        return refuse(s, "pruned_heads", pruned, "none");
    }
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const json_t *value = json_object_get(s->object, off[i]);
        if (value && !json_is_false(value)) {
            return refuse(s, off[i], value, "false");
        }
    }
    return ASC_OK;
}

static asc_status read_settings(const source *s, asc_encoder *e)
{
    asc_status status = read_type(s, e);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
        status = read_size(s, e, &sizes[i]);
    }
    if (status || (status = read_activation(s, e)) || (status = read_eps(s, e)) || (status = refuse_strangers(s))) {
        return status;
    }
    if (e->net.dim % e->net.heads) {
        return asc_fail(s->ctx, ASC_ERR_FORMAT, "%s: %s is %lld, expected a divisor of %s, %lld", s->path,
                        e->distil ? "n_heads" : "num_attention_heads", (long long)e->net.heads,
                        e->distil ? "dim" : "hidden_size", (long long)e->net.dim);
    }
    return ASC_OK;
}

asc_status asc_encoder_read_config(asc_encoder *e, const char *folder)
{
    char *path = asc_path_join(e->ctx, folder, "config.json");
    json_t *object = path ? asc_json_read_as(e->ctx, path, 0) : NULL;
    if (object) {
        read_settings(&(source){e->ctx, path, object}, e);
    }
    json_decref(object);
    asc_path_free(e->ctx, path);
    return asc_error(e->ctx);
}

/* ---- the tokenizer's ---- */

/* A setting that is true, false or, if `may_be_null`, null; `missing` where it is not there. */
static asc_status read_switch(const source *s, const char *key, bool missing, bool may_be_null, bool *value)
{
    const json_t *given = json_object_get(s->object, key);
    *value = given && !json_is_null(given) ? json_is_true(given) : missing;
    if (given && !json_is_boolean(given) && !(may_be_null && json_is_null(given))) {
        return refuse(s, key, given, may_be_null ? "true, false or null" : "true or false");
    }
    return ASC_OK;
}

static asc_status read_tokenizer(const source *s, bool *cased)
{
    bool lower, strip, basic, chinese;
    if (read_switch(s, "do_lower_case", true, false, &lower) || read_switch(s, "strip_accents", lower, true, &strip) ||
        read_switch(s, "do_basic_tokenize", true, false, &basic) ||
        read_switch(s, "tokenize_chinese_chars", true, false, &chinese)) {
        return asc_error(s->ctx);
    }
    if (strip != lower) {
        return refuse(s, "strip_accents", json_object_get(s->object, "strip_accents"), "the same as do_lower_case");
    }
    if (!basic || !chinese) {
        const char *key = basic ? "tokenize_chinese_chars" : "do_basic_tokenize";
        return refuse(s, key, json_object_get(s->object, key), "true");
    }
    *cased = !lower;
    return ASC_OK;
}

asc_status asc_encoder_read_case(asc_ctx *ctx, const char *folder, bool *cased)
{
    *cased = false;
    char *path = asc_path_join(ctx, folder, "tokenizer_config.json");
    /* model_max_length may be 1e30, written out; no number of it is read */
    json_t *object = path && asc_path_exists(path) ? asc_json_read_as(ctx, path, JSON_DECODE_INT_AS_REAL) : NULL;
    if (object) {
        read_tokenizer(&(source){ctx, path, object}, cased);
    }
    json_decref(object);
    asc_path_free(ctx, path);
    return asc_error(ctx);
}
