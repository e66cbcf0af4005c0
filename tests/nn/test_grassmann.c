/* tests/nn/test_grassmann.c: the Grassmann layer: the fused one is the composed one, what it shows of itself, and its
 * settings. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/nn.h>
#include <ascgrad/ops.h>
#include <ascgrad/optim.h>

#include "tests/context.h"
#include "tests/draw.h"
#include "tests/nn/fused.h"

/* ---- random options ---- */

/* lo … hi. */
static int draw_in(int lo, int hi)
{
    return lo + (int)draw(hi - lo + 1);
}

static void add(char *text, size_t size, const char *format, ...) ASC_PRINTF(3, 4);
static void add(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t n = strlen(text);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

typedef struct options {
    char text[600];
    int64_t B, N, D;
    bool lengths;
} options;

static const char *const directions[] = {"past", "future", "both"};

static options draw_options(uint64_t seed)
{
    draw_state = seed;
    options o = {.B = draw_in(1, 3), .D = draw_in(1, 20)};
    o.N = draw_in(0, 3) ? draw_in(3, 40) : draw_in(1, 2);
    o.lengths = draw_in(0, 2) == 0;
    int groups = draw_in(1, 3), r = groups * draw_in(2, 6), n = draw_in(0, 6), direction = draw_in(0, 2);
    bool memory = n == 0 || draw_in(0, 1), past = direction == 0;
    add(o.text, sizeof o.text, "{\"r\": %d, \"groups\": %d, \"direction\": \"%s\", \"memory\": %s, \"offsets\": [", r,
        groups, directions[direction], memory ? "true" : "false");
    for (int i = 0; i < n; i++) {
        add(o.text, sizeof o.text, "%s%d", i ? ", " : "", draw_in(1, draw_in(0, 1) ? 4 : 50));
    }
    bool raw = draw_in(0, 3) == 0;
    const char *unit = draw_in(0, 1) ? "rms" : "unit";
    add(o.text, sizeof o.text, raw ? "], \"normalize\": false" : "], \"scale\": \"%s\"", unit);
    add(o.text, sizeof o.text, draw_in(0, 2) ? ", \"learned\": true" : draw_in(0, 1) ? ", \"aggregate\": \"sum\"" : "");
    add(o.text, sizeof o.text, raw || draw_in(0, 3) ? "" : ", \"eps\": 0.7");
    add(o.text, sizeof o.text, raw || draw_in(0, 2) ? "" : ", \"eps_rel\": 0.5");
    static const char *const pairs[] = {"wedge", "symmetric", "product", "concat"};
    int pair = draw_in(0, 1) ? draw_in(1, 3) : 0;
    add(o.text, sizeof o.text, ", \"pair\": \"%s\"", pairs[pair]);
    add(o.text, sizeof o.text, past && draw_in(0, 1) ? ", \"running_mean\": true" : "");
    add(o.text, sizeof o.text, memory && draw_in(0, 2) == 0 ? ", \"forget\": \"fixed\"" : "");
    return o;
}

/* Tuples of one to three lags; z is made of D vectors and a bias, enough for four that are independent. */
static options draw_tuples(uint64_t seed)
{
    draw_state = seed;
    options o = {.B = draw_in(1, 3), .N = draw_in(1, 40), .D = draw_in(5, 20), .lengths = draw_in(0, 2) == 0};
    int groups = draw_in(1, 2), lags = draw_in(1, 3), r = groups * draw_in(lags + 1, lags + 4), n = draw_in(1, 5);
    add(o.text, sizeof o.text, "{\"r\": %d, \"groups\": %d, \"tuples\": [", r, groups);
    for (int i = 0; i < n; i++) {
        int lag = 0;
        add(o.text, sizeof o.text, "%s[", i ? ", " : "");
        for (int a = 0; a < lags; a++) {
            lag += draw_in(1, 3) + (draw_in(0, 5) ? 0 : 20);
            add(o.text, sizeof o.text, "%s%d", a ? ", " : "", lag);
        }
        add(o.text, sizeof o.text, "]");
    }
    bool raw = draw_in(0, 4) == 0;
    const char *unit = draw_in(0, 1) ? "rms" : "unit";
    add(o.text, sizeof o.text, raw ? "], \"normalize\": false" : "], \"scale\": \"%s\"", unit);
    add(o.text, sizeof o.text, draw_in(0, 2) ? "" : ", \"aggregate\": \"sum\"");
    add(o.text, sizeof o.text, raw || draw_in(0, 3) ? "" : ", \"eps\": 0.7");
    add(o.text, sizeof o.text, raw || draw_in(0, 2) ? "" : ", \"eps_rel\": 0.5");
    add(o.text, sizeof o.text, draw_in(0, 2) ? "" : ", \"running_mean\": true");
    return o;
}

/* ---- the fused layer is the composed one ---- */

static asc_tensor lengths_of(const options *o)
{
    int64_t n[6];
    for (int64_t b = 0; b < o->B; b++) {
        n[2 * b] = draw_in(0, (int)o->N);
        n[2 * b + 1] = -7; /* stands between them, and counts for nothing */
    }
    asc_tensor apart = o->lengths ? asc_from(ctx, ASC_I64, n, ASC_SHAPE(o->B, 2)) : asc_null();
    return o->lengths ? asc_squeeze(ctx, asc_slice(ctx, apart, 1, 0, 1, 1), 1) : apart;
}

static void compare(const options *o, asc_dtype dtype, double tolerance)
{
    compare_with_composed(&(subject){"grassmann", o->text, o->B, o->N, o->D, lengths_of(o), .5}, dtype, tolerance);
}

START_TEST(fused_is_composed)
{
    options o = draw_options((uint64_t)_i);
    compare(&o, ASC_F64, 1e-9);
}
END_TEST

START_TEST(fused_is_composed_in_f32)
{
    options o = draw_options((uint64_t)_i + 1000);
    compare(&o, ASC_F32, 2e-3);
}
END_TEST

START_TEST(fused_subspaces_are_composed_ones)
{
    options o = draw_tuples((uint64_t)_i + 2000);
    compare(&o, ASC_F64, 1e-8);
}
END_TEST

/* A tuple of one lag is an offset, to the bit. */
START_TEST(tuples_of_one_lag_are_offsets)
{
    static const char *const configs[] = {"{\"r\":6,\"tuples\":[[1],[4]],\"k\":2}", "{\"r\":6,\"offsets\":[1,4]}"};
    asc_tensor x = asc_normal(ctx, ASC_F32, 0, 1, 4, 4, ASC_SHAPE(2, 30, 8)), y[2];
    for (int i = 0; i < 2; i++) {
        asc_layer *l = asc_layer_new(ctx, "grassmann", 8, configs[i], ASC_F32, 1);
        y[i] = asc_layer_forward(l, x, asc_null());
        asc_layer_free(l);
    }
    ck_assert_mem_eq(asc_data(y[0]), asc_data(y[1]), 2 * 30 * 8 * sizeof(float));
}
END_TEST

/* ---- looking inside ---- */

static double at3(asc_tensor t, int64_t b, int64_t n, int64_t i)
{
    return ((const double *)asc_data(t))[(b * asc_size(t, 1) + n) * asc_size(t, 2) + i];
}

/* Unit vectors that satisfy the quadratic relations, 0 where there is no pair; the gate leads from x and g to y. */
START_TEST(the_parts_are_what_the_layer_computes)
{
    enum { B = 2, N = 7, D = 5, R = 5, M = 2, P = 10 };
    asc_layer *l = asc_layer_new(ctx, "grassmann", D, "{\"r\": 5, \"offsets\": [1, 3]}", ASC_F64, 1);
    asc_params *parts = asc_params_new(ctx);
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, 4, 4, ASC_SHAPE(B, N, D));
    ck_assert_int_eq(asc_layer_inspect(l, x, asc_null(), parts), ASC_OK);
    asc_tensor p = asc_params_find(parts, "plucker"), gate = asc_params_find(parts, "gate"),
               z = asc_params_find(parts, "z");
    ck_assert(asc_ndim(p) == 4 && asc_size(p, 1) == N && asc_size(p, 2) == M && asc_size(p, 3) == P);
    ck_assert(asc_size(gate, 2) == D && asc_size(z, 2) == R);
    const int offset[M] = {1, 3};
    for (int64_t row = 0; row < B * N; row++) {
        for (int m = 0; m < M; m++) {
            const double *q = (const double *)asc_data(p) + (row * M + m) * P; /* 01 02 03 04 12 13 14 23 24 34 */
            double square = 0;
            for (int i = 0; i < P; i++) {
                square += q[i] * q[i];
            }
            ck_assert_double_eq_tol(square, row % N >= offset[m] ? 1 : 0, 1e-12);
            ck_assert_double_eq_tol(q[0] * q[7] - q[1] * q[5] + q[2] * q[4], 0, 1e-12);
            ck_assert_double_eq_tol(q[4] * q[9] - q[5] * q[8] + q[6] * q[7], 0, 1e-12);
        }
    }
    asc_tensor y = asc_layer_forward(l, x, asc_null());
    for (int64_t d = 0; d < D; d++) { /* token 0 has no pair: g = 0 */
        ck_assert_double_eq_tol(at3(y, 1, 0, d), at3(gate, 1, 0, d) * at3(x, 1, 0, d), 1e-12);
        ck_assert(at3(gate, 1, 4, d) > 0 && at3(gate, 1, 4, d) < 1);
    }
    asc_params_free(parts);
    asc_layer_free(l);
}
END_TEST

/* ---- parameters ---- */

/* Coordinates as they are: u_i v_j - u_j v_i, v the token before. */
START_TEST(coordinates_need_no_length_of_one)
{
    enum { N = 4, R = 3, P = 3 };
    asc_layer *l = asc_layer_new(ctx, "grassmann", 6, "{\"r\":3,\"offsets\":[1],\"normalize\":false}", ASC_F64, 1);
    asc_params *parts = asc_params_new(ctx);
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 5, 2, 3, ASC_SHAPE(1, N, 6));
    ck_assert_int_eq(asc_layer_inspect(l, x, asc_null(), parts), ASC_OK);
    const double *z = asc_data(asc_params_find(parts, "z")), *p = asc_data(asc_params_find(parts, "plucker"));
    for (int t = 1; t < N; t++) {
        const double *u = z + t * R, *v = u - R, *got = p + t * P;
        const double expected[P] = {u[0] * v[1] - u[1] * v[0], u[0] * v[2] - u[2] * v[0], u[1] * v[2] - u[2] * v[1]};
        for (int i = 0; i < P; i++) {
            ck_assert_double_eq_tol(got[i], expected[i], 1e-13 * fabs(expected[i]) + 1e-14);
        }
    }
    asc_params_free(parts);
    asc_layer_free(l);
}
END_TEST

START_TEST(initial_values_are_those_of_the_specification)
{
    asc_layer *l = asc_layer_new(ctx, "grassmann", 6,
                                 "{\"r\": 6, \"groups\": 2, \"offsets\": [1, 2], \"learned\": 3, \"memory\": true,"
                                 " \"running_mean\": true}", ASC_F64, 1);
    ck_assert_msg(l != NULL, "%s", asc_error_message(ctx));
    asc_params *p = asc_layer_params(l);
    static const struct {
        const char *name;
        int64_t rows, cols;
    } want[] = {{"red.weight", 6, 6},    {"red.bias", 6, 0},      {"plu.weight", 6, 6},    {"plu.bias", 6, 0},
                {"gate.weight", 6, 12},  {"gate.bias", 6, 0},     {"offset.weight", 3, 0}, {"forget.weight", 6, 6},
                {"forget.bias", 6, 0},   {"mean.weight", 6, 6}};
    ck_assert_int_eq(asc_params_count(p), 10);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        asc_tensor t = asc_params_find(p, want[i].name);
        ck_assert_msg(asc_is_valid(t) && asc_size(t, 0) == want[i].rows && asc_size(t, 1) == want[i].cols, "%s",
                      want[i].name);
        const double *v = asc_data(t);
        for (int64_t k = 0; k < asc_numel(t); k++) {
            bool forget = strcmp(want[i].name, "forget.bias") == 0;
            double bound = asc_ndim(t) == 2 ? 1 / sqrt((double)want[i].cols) : 0;
            ck_assert(forget ? fabs(v[k] - (-1 + (double)k)) < 1e-12 : fabs(v[k]) <= bound);
        }
    }
    for (int i = 0; i < asc_params_count(p); i++) {
        ck_assert(asc_params_decays(p, i) == (asc_ndim(asc_params_at(p, i)) == 2));
    }
    asc_layer_free(l);
}
END_TEST

static const struct {
    const char *config;
    int64_t parameters;
} sizes[] = {
    {"{\"mix\":\"grassmann\",\"d_model\":256,\"layers\":6,\"vocab\":30522,\"block\":128,\"offsets\":\"paper-6l\"}",
     12606656},
    {"{\"mix\":\"grassmann\",\"d_model\":256,\"layers\":12,\"vocab\":30522,\"block\":256,\"offsets\":\"paper-12l\"}",
     17399680},
};

START_TEST(parameter_counts)
{
    asc_lm *lm = asc_lm_new(ctx, sizes[_i].config, ASC_F32, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    ck_assert_int_eq(asc_params_numel(asc_lm_params(lm)), sizes[_i].parameters);
    asc_lm_free(lm);
}
END_TEST

/* ---- settings ---- */

#define SMALL "{\"mix\":\"grassmann\",\"d_model\":8,\"layers\":2,\"vocab\":5,\"block\":4"

#define HYBRID "{\"mix\":[\"transformer\",\"grassmann\"],\"heads\":2,\"d_model\":8,\"layers\":2,\"vocab\":5,\"block\":4"

/* One more number than a layer takes. */
#define LONG "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6"
#define A_LIST                                                                                                         \
    "a list of at most 32 whole numbers, as [1,2,4], or one such list a layer, or one of paper-6l, paper-12l, lags"

static const struct {
    const char *config, *message;
} refused[] = {
    {SMALL ",\"direction\":\"future\"}",
     "config: the mixing of layer 0 looks ahead, which a language model must not: direction is future: the pair "
     "(t, t+Δ) shows a token the very one that it predicts"},
    {SMALL ",\"direction\":\"both\"}",
     "config: the mixing of layer 0 looks ahead, which a language model must not: direction is both: the pair "
     "(t, t+Δ) shows a token the very one that it predicts"},
    {SMALL ",\"r\":1}", "config: r: got 1, expected a whole number from 2 to 16384"},
    {SMALL ",\"r\":[4,5,6]}", "config: r has 3 entries, expected one a layer: 2"},
    {SMALL ",\"r\":6,\"groups\":4}", "config: groups is 4, expected a divisor of r, 6, with a quotient of at least 2"},
    {SMALL ",\"r\":6,\"groups\":6}", "config: groups is 6, expected a divisor of r, 6, with a quotient of at least 2"},
    {SMALL ",\"offsets\":[0]}", "config: offsets: got 0, expected a whole number >= 1"},
    {SMALL ",\"offsets\":[]}", "config: offsets: layer 0 has none, no tuples and no memory, expected one of "
     "them"},
    {SMALL ",\"offsets\":[[1],[2],[3]]}", "config: offsets has 3 entries, expected one a layer: 2"},
    {HYBRID ",\"offsets\":[[-1],[1]]}", "config: offsets: got -1, expected a whole number >= 1"},
    {HYBRID ",\"offsets\":[3,[1]]}", "config: offsets: got 3, expected " A_LIST},
    {SMALL ",\"offsets\":[[" LONG "],[1]]}", "config: offsets: got [" LONG "], expected " A_LIST},
    {SMALL ",\"offsets\":[[1],[" LONG "]]}", "config: offsets: got [" LONG "], expected " A_LIST},
    {SMALL ",\"offsets\":\"paper\"}",
     "config: offsets: got \"paper\", expected " A_LIST},
    {SMALL ",\"learned\":true,\"aggregate\":\"sum\"}",
     "config: aggregate is sum, and learned weights share out a mean: expected one of them"},
    {SMALL ",\"offsets\":[1],\"forget\":\"fixed\"}",
     "config: forget is fixed, and there is no memory: expected memory true in some layer"},
    {SMALL ",\"tuples\":[[1,2]],\"direction\":\"future\"}",
     "config: direction is future, and layer 0 has tuples, which look back: expected past"},
    {SMALL ",\"tuples\":[[1,2]],\"mask\":\"full\"}",
     "config: mask is full, and layer 0 has tuples, which look back: expected causal"},
    {SMALL ",\"tuples\":[[1,2]],\"learned\":true}",
     "config: learned is not false, and layer 0 has tuples, whose weights are equal"},
    {SMALL ",\"tuples\":[[],[[1,2]]],\"memory\":[true,true]}",
     "config: memory is true, and layer 1 has tuples: a memory goes with offsets, or alone"},
    {SMALL ",\"tuples\":[[3]],\"pair\":\"product\"}",
     "config: pair is product, a control for offsets, and layer 0 has tuples: expected wedge"},
    {SMALL ",\"tuples\":[[1,2]],\"offsets\":[1]}",
     "config: tuples: layer 0 has offsets, too: expected [] for one of them"},
    {SMALL ",\"tuples\":[[[1,2]],[[2,4]]],\"offsets\":[1]}",
     "config: tuples: layer 0 has offsets, too: expected [] for one of them"},
    {SMALL ",\"tuples\":[[[1,2]],[[2,4]]],\"offsets\":\"lags\"}",
     "config: tuples: layer 0 has offsets, too: expected [] for one of them"},
    {HYBRID ",\"tuples\":[[],[[1,2]]],\"offsets\":[1]}",
     "config: tuples: layer 1 has offsets, too: expected [] for one of them"},
    {SMALL ",\"tuples\":[[],[[1,2]]],\"offsets\":[[1],[2]]}",
     "config: tuples: layer 1 has offsets, too: expected [] for one of them"},
    {SMALL ",\"tuples\":[[],[[1,2]]],\"offsets\":[[],[]]}",
     "config: offsets: layer 0 has none, no tuples and no memory, expected one of them"},
    {SMALL ",\"tuples\":[[1,2,3,4]]}",
     "config: tuples of layer 0 have 4 lags, expected 1 to 3: subspaces of 2 to 4 dimensions"},
    {SMALL ",\"tuples\":[[1,2],[4,4]]}",
     "config: tuples: tuple 1 of layer 0 has the lag 4 twice, and spans nothing: expected different ones"},
    {SMALL ",\"tuples\":[[0,2]]}", "config: tuples: got 0, expected a whole number >= 1"},
    {SMALL ",\"tuples\":[[1],[2,3]]}", "config: tuples has lists of 1 and of 2 numbers, expected one length"},
    {SMALL ",\"tuples\":[[1,2]],\"r\":6,\"groups\":3}",
     "config: groups is 3, expected a divisor of r, 6, with a quotient of at least 3"},
    {SMALL ",\"tuples\":[[1,2]],\"k\":3}", "config: k is a setting of ascender, and no layer of this model knows it"},
    {SMALL ",\"normalize\":false,\"scale\":\"rms\"}",
     "config: normalize is false, and scale, eps or eps_rel say how to normalise: expected one of the two"},
    {SMALL ",\"learned\":5}", "config: learned is 5, expected true, false, or the number of pairs, 6"},
    {SMALL ",\"mix_residual\":false,\"block_norm\":\"pre\"}",
     "config: mix_residual is false, and block_norm is pre, which needs it"},
    {SMALL ",\"kappa\":2}", "config: kappa is a setting of ascender, and no layer of this model knows it"},
};

START_TEST(wrong_settings_are_refused)
{
    ck_assert_ptr_null(asc_lm_new(ctx, refused[_i].config, ASC_F32, 1));
    ck_assert_str_eq(asc_error_message(ctx), refused[_i].message);
    ck_assert_int_eq(asc_error(ctx), ASC_ERR_ARG);
}
END_TEST

/* A layer alone may be told its dimension, which has to be that of its tuples. */
START_TEST(a_layers_own_dimension)
{
    static const struct {
        const char *config, *message;
    } rows[] = {
        {"{\"k\":3,\"tuples\":[[1,2]]}", NULL},
        {"{\"k\":2}", NULL},
        {"{\"k\":2,\"tuples\":[[5]]}", NULL},
        {"{\"k\":4,\"tuples\":[[1,2]]}", "config: k is 4, and follows from the tuples' lags: expected 3"},
        {"{\"k\":3,\"offsets\":[1,2]}", "config: k is 3, and offsets make planes: expected 2"},
        {"{\"k\":5}", "config: k: got 5, expected a whole number from 2 to 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asc_layer *l = asc_layer_new(ctx, "grassmann", 8, rows[i].config, ASC_F32, 1);
        ck_assert(!l == (rows[i].message != NULL));
        if (!l) {
            expect_error(ASC_ERR_ARG, rows[i].message);
        }
        asc_layer_free(l);
    }
}
END_TEST

static const struct {
    const char *given, *effect;
} effects[] = {
    {SMALL "}", "\"mix_residual\":false"},
    {SMALL ",\"block_norm\":\"pre\"}", "\"mix_residual\":true"},
    {SMALL "}", "\"offsets\":[1,2,4,8,12,16]"},
    {SMALL ",\"offsets\":\"paper-12l\"}", "\"offsets\":[[1],[1]]"},
    {SMALL ",\"offsets\":\"lags\"}", "\"offsets\":[[1],[2]]"},
    {SMALL ",\"memory\":[true,false],\"offsets\":[[],[3]]}", "\"memory\":[true,false]"},
    {SMALL ",\"tuples\":[[1,2]]}", "\"tuples\":[[1,2]]"},
    {SMALL ",\"tuples\":[[1,2]]}", "\"offsets\":[]"},
    {SMALL ",\"tuples\":[[3],[1]],\"offsets\":[[],[]]}", "\"tuples\":[[3],[1]]"},
    {SMALL ",\"tuples\":[[],[[1,2,3]]],\"offsets\":[4]}", "\"offsets\":[4]"},
    {SMALL ",\"tuples\":[[[1,2],[1,3]],[]]}", "\"tuples\":[[[1,2],[1,3]],[]]"},
    {SMALL ",\"tuples\":[[],[[1,2]]],\"offsets\":\"lags\"}", "\"offsets\":[[1],[]]"},
    {SMALL ",\"tuples\":[[[2]],[[1,2]]]}", "\"offsets\":[]"},
    {HYBRID ",\"tuples\":[[],[[2,3]]]}", "\"tuples\":[[],[[2,3]]]"},
    {HYBRID ",\"tuples\":[[],[[2,3]]]}", "\"offsets\":[]"},
    {HYBRID ",\"offsets\":[[],[2,3]]}", "\"offsets\":[[],[2,3]]"},
    {"{\"mix\":[\"grassmann\",\"transformer\"],\"heads\":2,\"d_model\":8,\"layers\":2,\"vocab\":5,\"block\":4}",
     "\"mix\":[\"grassmann\",\"transformer\"]"},
    {"{\"mix\":[\"grassmann\",\"transformer\",\"grassmann\"],\"offsets\":\"lags\",\"heads\":2,\"d_model\":8,"
     "\"layers\":3,\"vocab\":5,\"block\":4}", "\"offsets\":[[1],[],[2]]"},
};

/* What a model says of itself makes the same model. */
START_TEST(settings_in_effect)
{
    asc_lm *lm = asc_lm_new(ctx, effects[_i].given, ASC_F64, 1);
    ck_assert_msg(lm != NULL, "%s", asc_error_message(ctx));
    ck_assert_msg(strstr(asc_lm_config(lm), effects[_i].effect) != NULL, "%s", asc_lm_config(lm));
    asc_lm *again = asc_lm_new(ctx, asc_lm_config(lm), ASC_F64, 1);
    ck_assert_msg(again != NULL, "%s", asc_error_message(ctx));
    ck_assert_str_eq(asc_lm_config(again), asc_lm_config(lm));
    asc_tensor x = asc_from(ctx, ASC_I64, (int64_t[]){1, 4, 2, 0}, ASC_SHAPE(1, 4));
    asc_tensor a = asc_lm_logits(lm, x), b = asc_lm_logits(again, x);
    ck_assert_int_eq(memcmp(asc_data(a), asc_data(b), 20 * sizeof(double)), 0);
    asc_lm_free(again);
    asc_lm_free(lm);
}
END_TEST

/* Settings, the number of tokens, and the parameters that these had no part in. */
static const struct {
    const char *settings;
    int64_t N;
    const char *untouched[4];
} idle[] = {
    {"{\"r\":4,\"offsets\":[3,5]}", 3, {"red.weight", "red.bias", "plu.weight", "plu.bias"}},
    {"{\"r\":4,\"offsets\":[3,5],\"learned\":true}", 3, {"red.weight", "red.bias", "plu.weight", "plu.bias"}},
    {"{\"r\":4,\"offsets\":[3,5],\"learned\":true,\"composed\":true}", 3,
     {"red.weight", "red.bias", "plu.weight", "plu.bias"}},
    {"{\"r\":4,\"offsets\":[3,5]}", 4, {NULL}},
    {"{\"r\":4,\"tuples\":[[1,3],[4,2]]}", 3, {"red.weight", "red.bias", "plu.weight", "plu.bias"}},
    {"{\"r\":4,\"tuples\":[[1,3],[4,2]]}", 4, {NULL}},
    {"{\"r\":4,\"offsets\":[],\"memory\":true}", 1, {"forget.weight", "forget.bias"}},
    {"{\"r\":4,\"offsets\":[],\"memory\":true}", 2, {NULL}},
};

START_TEST(what_had_no_part_has_no_gradient)
{
    asc_layer *l = asc_layer_new(ctx, "grassmann", 6, idle[_i].settings, ASC_F64, 1);
    ck_assert_msg(l != NULL, "%s", asc_error_message(ctx));
    asc_tensor y = asc_layer_forward(l, asc_normal(ctx, ASC_F64, 0, 1, 1, 1, ASC_SHAPE(2, idle[_i].N, 6)), asc_null());
    asc_backward_loss(ctx, asc_sum(ctx, y, ASC_ALL_DIMS, false));
    ck_assert_msg(asc_error(ctx) == ASC_OK, "%s", asc_error_message(ctx));
    for (int i = 0; i < asc_params_count(asc_layer_params(l)); i++) {
        const char *name = asc_params_name(asc_layer_params(l), i);
        bool untouched = false;
        for (int j = 0; j < 4; j++) {
            untouched |= idle[_i].untouched[j] && strcmp(idle[_i].untouched[j], name) == 0;
        }
        ck_assert_msg(asc_is_valid(asc_grad(asc_params_at(asc_layer_params(l), i))) != untouched, "%s", name);
    }
    asc_layer_free(l);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("layer");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, fused_is_composed, 0, 60);
    tcase_add_loop_test(t, fused_is_composed_in_f32, 0, 20);
    tcase_add_loop_test(t, fused_subspaces_are_composed_ones, 0, 60);
    tcase_add_test(t, tuples_of_one_lag_are_offsets);
    tcase_add_test(t, the_parts_are_what_the_layer_computes);
    tcase_add_test(t, coordinates_need_no_length_of_one);
    tcase_add_test(t, initial_values_are_those_of_the_specification);
    tcase_add_loop_test(t, parameter_counts, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(t, wrong_settings_are_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, a_layers_own_dimension);
    tcase_add_loop_test(t, settings_in_effect, 0, sizeof effects / sizeof *effects);
    tcase_add_loop_test(t, what_had_no_part_has_no_gradient, 0, sizeof idle / sizeof *idle);
    return run_suite("nn/grassmann", t);
}
