/* tests/train/encoder.h: a small encoder of random weights, its files as they are wanted, and its states in double by
 * the equations, a loop each. */
#ifndef TESTS_TRAIN_ENCODER_H
#define TESTS_TRAIN_ENCODER_H

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <ascgrad/encoder.h>
#include <program/file.h>

#include "tests/context.h"
#include "tests/draw.h"
#include "tests/folder.h"

enum { E = 8, INNER = 12, HEADS = 2, LAYERS = 2, POSITIONS = 16, TYPES = 2, WORDS = 14 };
enum { MOST_TENSORS = 64, MOST_VALUES = POSITIONS * E };

static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nman\nplays\nthe\nguitar\n.\nsing\n##s\nrain\n##ing\n";

/* One tensor of the file: its values are multiples of 1/64 with at most 7 bits, which f16 and bf16 hold exactly. */
typedef struct weight {
    char name[80];
    int ndim;
    int64_t shape[2], n;
    float value[MOST_VALUES];
} weight;

typedef struct model {
    bool distil;
    const char *activation, *eps;
    const char *prefix;             /* before all names */
    const char *norm_names[2];      /* "weight", "bias" or the old ones */
    const char *(*dtype_of)(int i); /* of tensor i; NULL: F32 */
    weight tensor[MOST_TENSORS];
    int n;
} model;

/* ---- weights ---- */

static float draw_weight(void)
{
    return (float)(draw(128) - 64) / 64;
}

/* A norm's weights stay close to 1. */
static weight *add_weight(model *m, const char *name, int64_t rows, int64_t columns, bool near_one)
{
    weight *w = &m->tensor[m->n++];
    ck_assert_int_le(m->n, MOST_TENSORS);
    snprintf(w->name, sizeof w->name, "%s%s", m->prefix, name);
    w->ndim = columns > 0 ? 2 : 1;
    w->shape[0] = rows;
    w->shape[1] = columns;
    w->n = rows * (columns > 0 ? columns : 1);
    for (int64_t i = 0; i < w->n; i++) {
        w->value[i] = near_one ? 1 + draw_weight() / 2 : draw_weight();
    }
    return w;
}

static void add_affine(model *m, const char *name, int64_t out, int64_t in)
{
    char full[80];
    snprintf(full, sizeof full, "%s.%s", name, in > 0 ? "weight" : m->norm_names[0]);
    add_weight(m, full, out, in, in == 0);
    snprintf(full, sizeof full, "%s.%s", name, in > 0 ? "bias" : m->norm_names[1]);
    add_weight(m, full, out, 0, false);
}

/* The names of a layer's parts, in the order in which they are used. */
static const char *const part_names[2][8] = {
    {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
     "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"},
    {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm", "ffn.lin1",
     "ffn.lin2", "output_layer_norm"},
};

/* Fills in what is not given, and draws the weights: the same for the same choices. */
static void draw_model(model *m)
{
    static const int64_t sizes[8][2] = {{E, E}, {E, E}, {E, E}, {E, E}, {E, 0}, {INNER, E}, {E, INNER}, {E, 0}};
    draw_state = 1;
    m->n = 0;
    m->activation = m->activation ? m->activation : "gelu";
    m->eps = m->eps ? m->eps : "1e-12";
    m->prefix = m->prefix ? m->prefix : "";
    m->norm_names[0] = m->norm_names[0] ? m->norm_names[0] : "weight";
    m->norm_names[1] = m->norm_names[1] ? m->norm_names[1] : "bias";
    add_weight(m, "embeddings.word_embeddings.weight", WORDS, E, false);
    add_weight(m, "embeddings.position_embeddings.weight", POSITIONS, E, false);
    if (!m->distil) {
        add_weight(m, "embeddings.token_type_embeddings.weight", TYPES, E, false);
    }
    add_affine(m, "embeddings.LayerNorm", E, 0);
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < 8; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s.layer.%d.%s", m->distil ? "transformer" : "encoder", l,
                     part_names[m->distil][i]);
            add_affine(m, name, sizes[i][0], sizes[i][1]);
        }
    }
}

/* ---- files ---- */

static const char *at_folder(const char *name)
{
    static char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void spill_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(at_folder(name), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static uint16_t bits_of_half(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 16 & 0x8000, exponent = u >> 23 & 255, mantissa = u >> 13 & 1023;
    return (uint16_t)(x == 0 ? sign : sign | (exponent - 112) << 10 | mantissa);
}

/* The bytes of a value in a dtype; how many. */
static size_t put_value(unsigned char *to, const char *dtype, float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    u = strcmp(dtype, "F16") == 0 ? bits_of_half(x) : strcmp(dtype, "BF16") == 0 ? u >> 16 : u;
    size_t n = strcmp(dtype, "F32") == 0 ? 4 : 2;
    for (size_t i = 0; i < n; i++) {
        to[i] = (unsigned char)(u >> 8 * i);
    }
    return n;
}

/* model.safetensors by hand, as the library writes no f16. A tensor called "" is left out. */
static void spill_weights(const model *m)
{
    static char head[1 << 14];
    static unsigned char data[1 << 16], file[8 + sizeof head + sizeof data];
    size_t at = 0, used = (size_t)snprintf(head, sizeof head, "{");
    for (int i = 0; i < m->n; i++) {
        const weight *w = &m->tensor[i];
        const char *dtype = m->dtype_of ? m->dtype_of(i) : "F32";
        size_t begin = at;
        for (int64_t k = 0; k < w->n && *w->name; k++) {
            at += put_value(data + at, dtype, w->value[k]);
        }
        char second[24] = "";
        if (w->ndim > 1) {
            snprintf(second, sizeof second, ",%lld", (long long)w->shape[1]);
        }
        used += *w->name
                    ? (size_t)snprintf(head + used, sizeof head - used,
                                       "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%lld%s],\"data_offsets\":[%zu,%zu]}",
                                       used > 1 ? "," : "", w->name, dtype, (long long)w->shape[0], second, begin, at)
                    : 0;
    }
    used += (size_t)snprintf(head + used, sizeof head - used, "}");
    for (size_t i = 0; i < 8; i++) {
        file[i] = (unsigned char)(used >> 8 * i);
    }
    memcpy(file + 8, head, used);
    memcpy(file + 8 + used, data, at);
    spill_file("model.safetensors", file, 8 + used + at);
}

static void spill_config(const model *m)
{
    static const char *const format[] = {
        "{\"model_type\": \"bert\", \"hidden_act\": \"%s\", \"layer_norm_eps\": %s, \"hidden_size\": %d, "
        "\"intermediate_size\": %d, \"num_attention_heads\": %d, \"num_hidden_layers\": %d, "
        "\"max_position_embeddings\": %d, \"vocab_size\": %d, \"type_vocab_size\": 2, \"pad_token_id\": 0}\n",
        "{\"model_type\": \"distilbert\", \"activation\": \"%s\", \"eps_that_nobody_reads\": %s, \"dim\": %d, "
        "\"hidden_dim\": %d, \"n_heads\": %d, \"n_layers\": %d, \"max_position_embeddings\": %d, "
        "\"vocab_size\": %d, \"sinusoidal_pos_embds\": false}\n"};
    char text[600];
    int n = snprintf(text, sizeof text, format[m->distil], m->activation, m->eps, E, INNER, HEADS, LAYERS, POSITIONS,
                     WORDS);
    spill_file("config.json", text, (size_t)n);
}

static void spill_model(model *m)
{
    draw_model(m);
    spill_weights(m);
    spill_config(m);
    spill_file("vocab.txt", vocabulary, sizeof vocabulary - 1);
}

static inline asc_encoder *open_drawn(model *m)
{
    spill_model(m);
    asc_encoder *encoder = asc_encoder_open(ctx, folder, NULL);
    no_error();
    return encoder;
}

/* ---- the states, by the equations ---- */

static const float *values_of(const model *m, const char *name, const char *kind)
{
    char full[120];
    snprintf(full, sizeof full, "%s%s.%s", m->prefix, name, kind);
    for (int i = 0; i < m->n; i++) {
        if (strcmp(m->tensor[i].name, full) == 0) {
            return m->tensor[i].value;
        }
    }
    ck_abort_msg("no %s", full);
}

static void ref_norm(const model *m, const char *name, double *x)
{
    const float *w = values_of(m, name, m->norm_names[0]), *b = values_of(m, name, m->norm_names[1]);
    double mean = 0, variance = 0;
    for (int e = 0; e < E; e++) {
        mean += x[e] / E;
    }
    for (int e = 0; e < E; e++) {
        variance += (x[e] - mean) * (x[e] - mean) / E;
    }
    for (int e = 0; e < E; e++) {
        x[e] = (x[e] - mean) / sqrt(variance + atof(m->distil ? "1e-12" : m->eps)) * w[e] + b[e];
    }
}

static void ref_linear(const model *m, const char *name, const double *x, int in, double *y, int out)
{
    const float *w = values_of(m, name, "weight"), *b = values_of(m, name, "bias");
    for (int o = 0; o < out; o++) {
        y[o] = b[o];
        for (int i = 0; i < in; i++) {
            y[o] += w[o * in + i] * x[i];
        }
    }
}

static double ref_activation(const model *m, double x)
{
    if (strcmp(m->activation, "relu") == 0) {
        return x > 0 ? x : 0;
    }
    return strcmp(m->activation, "gelu") == 0
               ? x * 0.5 * (1 + erf(x / sqrt(2)))
               : x / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/* Row t of attention, from q of it, and k and v of all n. */
static void ref_attend(const double *q, double (*k)[E], double (*v)[E], int n, double *y)
{
    const int d = E / HEADS;
    for (int h = 0; h < HEADS; h++) {
        double a[POSITIONS], sum = 0;
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int e = h * d; e < (h + 1) * d; e++) {
                s += q[e] * k[j][e];
            }
            sum += a[j] = exp(s / sqrt(d));
        }
        for (int e = h * d; e < (h + 1) * d; e++) {
            y[e] = 0;
            for (int j = 0; j < n; j++) {
                y[e] += a[j] / sum * v[j][e];
            }
        }
    }
}

static const char *ref_name(const model *m, int layer, int part)
{
    static char name[80];
    snprintf(name, sizeof name, "%s.layer.%d.%s", m->distil ? "transformer" : "encoder", layer,
             part_names[m->distil][part]);
    return name;
}

static void ref_layer(const model *m, int layer, double (*x)[E], int n)
{
    double q[POSITIONS][E], k[POSITIONS][E], v[POSITIONS][E], y[E], z[INNER];
    for (int t = 0; t < n; t++) {
        ref_linear(m, ref_name(m, layer, 0), x[t], E, q[t], E);
        ref_linear(m, ref_name(m, layer, 1), x[t], E, k[t], E);
        ref_linear(m, ref_name(m, layer, 2), x[t], E, v[t], E);
    }
    for (int t = 0; t < n; t++) {
        double o[E];
        ref_attend(q[t], k, v, n, y);
        ref_linear(m, ref_name(m, layer, 3), y, E, o, E);
        for (int e = 0; e < E; e++) {
            x[t][e] += o[e];
        }
        ref_norm(m, ref_name(m, layer, 4), x[t]);
        ref_linear(m, ref_name(m, layer, 5), x[t], E, z, INNER);
        for (int i = 0; i < INNER; i++) {
            z[i] = ref_activation(m, z[i]);
        }
        ref_linear(m, ref_name(m, layer, 6), z, INNER, o, E);
        for (int e = 0; e < E; e++) {
            x[t][e] += o[e];
        }
        ref_norm(m, ref_name(m, layer, 7), x[t]);
    }
}

/* The states of n tokens, those from `second` on of type 1. */
static inline void ref_states(const model *m, const int32_t *ids, int n, int second, double (*x)[E])
{
    const float *word = values_of(m, "embeddings.word_embeddings", "weight");
    const float *place = values_of(m, "embeddings.position_embeddings", "weight");
    const float *type = m->distil ? NULL : values_of(m, "embeddings.token_type_embeddings", "weight");
    for (int t = 0; t < n; t++) {
        for (int e = 0; e < E; e++) {
            x[t][e] = word[ids[t] * E + e] + place[t * E + e] + (type ? type[(t >= second) * E + e] : 0);
        }
        ref_norm(m, "embeddings.LayerNorm", x[t]);
    }
    for (int l = 0; l < LAYERS; l++) {
        ref_layer(m, l, x, n);
    }
}

/* What a list has for a sentence: its ids, and where its second text begins. */
static inline void expect_ids(const asc_sentences *s, int64_t i, int64_t n, const int32_t *ids, int64_t second)
{
    int64_t found, begins;
    const int32_t *got = asc_sentences_at(s, i, &found, &begins);
    ck_assert_int_eq(found, n);
    ck_assert_int_eq(begins, second);
    ck_assert_mem_eq(got, ids, (size_t)n * sizeof *ids);
}
#define EXPECT_IDS(s, i, second, ...)                                                                                  \
    expect_ids(s, i, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[]){__VA_ARGS__}, second)

#endif
