/* tests/nn/test_ascender_fused.c: the ASCender layer on its fused node against the same layer composed of primitive
 * ops: output, auxiliary loss and all gradients, over random shapes and options. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/nn.h>
#include <ascgrad/ops.h>

#include "tests/context.h"
#include "tests/draw.h"

enum { CASES = 120 };

/* ---- random choices ---- */

static const char *pick(const char *const *names, int n)
{
    return names[draw(n)];
}
#define PICK(...) \
    pick((const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

typedef struct text {
    char at[1000];
    size_t n;
} text;

static void add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
    va_end(args);
    ck_assert_uint_lt(t->n, sizeof t->at);
}

/* One number a head, from `least` on in steps of `step`. */
static void add_scalar(text *t, const char *name, int64_t H, double least, double step)
{
    add(t, ",\"%s\":[", name);
    for (int64_t h = 0; h < H; h++) {
        add(t, "%s%g", h ? "," : "", least + step * (double)draw(8));
    }
    add(t, "]");
}

static void add_swarm(text *t, int64_t H)
{
    static const struct {
        const char *name;
        double least, step;
    } scalars[] = {{"lambda_align", -1, .3}, {"lambda_sep", .5, .2}, {"lambda_coh", .5, .2}, {"tau_sep", .5, .3},
                   {"tau_coh", .5, .3},      {"kappa", 1, 2},        {"delta", -.2, .1},     {"alpha_align", -1, .3},
                   {"alpha_coh", -1, .3}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        add_scalar(t, scalars[i].name, H, scalars[i].least, scalars[i].step);
    }
    const char *gate = PICK("before", "none", "after");
    add(t, ",\"rho_self\":%s,\"sep_self\":%s,\"kernel\":\"%s\",\"gate\":\"%s\"", PICK("true", "false"),
        PICK("true", "true", "false"), PICK("tau", "tau2"), gate);
    if (strcmp(gate, "none") != 0) {
        add(t, ",\"gamma\":%s", PICK("true", "true", "false"));
    }
    add(t, ",\"eta\":%s", PICK("true", "true", "false"));
    if (draw(2)) {
        add(t, ",\"aux_coh\":0.7,\"aux_sep\":-1.5,\"aux_align\":2");
    }
}

static void add_background(text *t, int64_t H)
{
    add(t, ",\"variant\":\"background\",\"heading\":\"%s\"", PICK("k", "q", "qk"));
    add_scalar(t, "lambda_dist", H, .5, .2);
    add_scalar(t, "lambda_rho", H, .5, .2);
    add_scalar(t, "theta_coh", H, -.5, .2);
}

/* The settings of a layer of width D with H heads, without the closing brace. */
static text settings(int64_t H)
{
    text t = {.n = 0};
    bool background = draw(4) == 0, positions = background && draw(3) == 0;
    add(&t, "{\"heads\":%d,\"d_head\":%d,\"d_value\":%d,\"dz\":%d,\"da\":%d,\"freeze_inert\":false", (int)H,
        2 * (int)(1 + draw(5)), (int)(1 + draw(7)), positions ? 1 : (int)(1 + draw(5)), (int)(1 + draw(5)));
    add(&t, ",\"mask\":\"%s\",\"stats\":\"%s\",\"unbiased\":%s,\"neighbor_self\":%s,\"neighbors\":\"%s\",\"radius\":%d",
        PICK("causal", "causal", "full"), PICK("allowed", "allowed", "all"), PICK("true", "false"),
        PICK("true", "false", "false"), PICK("semantic", "base", "window", "hybrid_union", "hybrid_intersection"),
        (int)draw(6));
    add(&t, ",\"positions\":\"%s\",\"rel\":%d,\"k\":[", PICK("none", "rotary", "alibi"), (int)(draw(2) * draw(9)));
    for (int64_t h = 0; h < H; h++) {
        add(&t, "%s%d", h ? "," : "", (int)draw(20));
    }
    add(&t, "]");
    if (draw(3) == 0) {
        add(&t, ",\"window\":%d,\"globals\":%d,\"random\":%d", (int)(1 + draw(12)), (int)draw(4),
            (int)(draw(2) * draw(6)));
    }
    add_scalar(&t, "omega_align", H, .2, .2);
    add_scalar(&t, "omega_sep", H, .2, .2);
    add_scalar(&t, "omega_coh", H, -.6, .2);
    add_scalar(&t, "tau_score", H, .6, .2);
    if (background) {
        add_background(&t, H);
        add(&t, ",\"coordinates\":\"%s\"", positions ? "position" : "learned");
    } else {
        add_swarm(&t, H);
    }
    return t;
}

/* ---- running both ---- */

typedef struct result {
    asc_layer *layer;
    asc_tensor x, y, aux;
} result;

/* What the caller brings along; each may be null. */
typedef struct given {
    asc_tensor lengths, mask, neighbors;
} given;

static result run(const text *t, bool composed, asc_dtype dtype, asc_tensor x, given g, asc_tensor upstream)
{
    char config[1100];
    snprintf(config, sizeof config, "%s,\"composed\":%s}", t->at, composed ? "true" : "false");
    result r = {.layer = asc_layer_new(ctx, "ascender", asc_size(x, 2), config, dtype, 17)};
    ck_assert_msg(r.layer != NULL, "%s", asc_error_message(ctx));
    r.x = asc_zeros(ctx, dtype, 3, asc_shape(x));
    asc_copy(ctx, r.x, x);
    asc_require_grad(r.x, true);
    ck_assert_int_eq(asc_layer_restrict(r.layer, g.mask, g.neighbors), ASC_OK);
    r.y = asc_layer_forward_aux(r.layer, r.x, g.lengths, &r.aux);
    asc_tensor up = asc_cast(ctx, upstream, dtype), total = asc_sum(ctx, asc_mul(ctx, r.y, up), ASC_ALL_DIMS, false);
    total = asc_is_null(r.aux) ? total : asc_add(ctx, total, r.aux);
    ck_assert_msg(asc_backward(ctx, total, asc_null(), false) == ASC_OK, "%s: %s", config, asc_error_message(ctx));
    return r;
}

/* The largest difference relative to the largest magnitude of both, or to 1. */
static double difference(asc_tensor a, asc_tensor b)
{
    asc_tensor wide = asc_cast(ctx, a, ASC_F64), other = asc_cast(ctx, b, ASC_F64);
    const double *x = asc_data(wide), *y = asc_data(other);
    double most = 1, off = 0;
    for (int64_t i = 0; i < asc_numel(a); i++) {
        most = fmax(most, fmax(fabs(x[i]), fabs(y[i])));
        double d = fabs(x[i] - y[i]);
        off = isfinite(d) ? fmax(off, d) : INFINITY;
    }
    return off / most;
}

static void compare(const text *t, const char *what, asc_tensor a, asc_tensor b, double tolerance)
{
    ck_assert_msg(asc_is_null(a) == asc_is_null(b), "%s: only one has %s", t->at, what);
    double off = asc_is_null(a) ? 0 : difference(a, b);
    ck_assert_msg(off <= tolerance, "%s}: %s is off by %g", t->at, what, off);
}

static void compare_all(const text *t, const result *fused, const result *composed, double tolerance)
{
    compare(t, "y", fused->y, composed->y, tolerance);
    compare(t, "aux", fused->aux, composed->aux, tolerance);
    compare(t, "the gradient of x", asc_grad(fused->x), asc_grad(composed->x), tolerance);
    asc_params *p = asc_layer_params(fused->layer), *q = asc_layer_params(composed->layer);
    for (int i = 0; i < asc_params_count(p); i++) {
        compare(t, asc_params_name(p, i), asc_grad(asc_params_at(p, i)), asc_grad(asc_params_at(q, i)), tolerance);
    }
}

static asc_tensor draw_lengths(int64_t B, int64_t N)
{
    int64_t length[4];
    for (int64_t b = 0; b < B; b++) {
        length[b] = draw(N + 1);
    }
    return asc_from(ctx, ASC_I64, length, 1, &B);
}

/* Three of four pairs are allowed, in some rows none. */
static asc_tensor draw_mask(int64_t B, int64_t H, int64_t N)
{
    asc_tensor mask = asc_zeros(ctx, ASC_U8, ASC_SHAPE(draw(2) ? B : 1, draw(2) ? H : 1, N, N));
    uint8_t *m = asc_data_mut(mask);
    for (int64_t i = 0; i < asc_numel(mask); i++) {
        m[i] = draw(4) > 0 && i / N % 7 != 3;
    }
    return mask;
}

/* Places of any order, some twice, some missing, some that may not be looked at. */
static asc_tensor draw_neighbors(int64_t B, int64_t H, int64_t N)
{
    asc_tensor list = asc_zeros(ctx, ASC_I64, ASC_SHAPE(draw(2) ? B : 1, draw(2) ? H : 1, N, 1 + draw(6)));
    int64_t *place = asc_data_mut(list);
    for (int64_t i = 0; i < asc_numel(list); i++) {
        place[i] = draw(N + 1) - 1;
    }
    return list;
}

/* Rows that are nearly constant magnify the rounding of what they are normalised from, a thousandfold at N = 2. */
static const double tolerance = 1e-7;

static void check(uint64_t seed, int64_t B, int64_t N)
{
    draw_state = seed;
    int64_t H = 1 + draw(4), D = 4 + draw(20);
    text t = settings(H);
    given g = {draw(3) ? asc_null() : draw_lengths(B, N), draw(4) ? asc_null() : draw_mask(B, H, N),
               draw(4) ? asc_null() : draw_neighbors(B, H, N)};
    asc_tensor x = asc_normal(ctx, ASC_F64, 0, 1, seed, 1, ASC_SHAPE(B, N, D));
    asc_tensor up = asc_normal(ctx, ASC_F64, 0, 1, seed, 2, ASC_SHAPE(B, N, D));
    result fused = run(&t, false, ASC_F64, x, g, up), composed = run(&t, true, ASC_F64, x, g, up);
    compare_all(&t, &fused, &composed, tolerance);
    asc_layer_free(fused.layer);
    asc_layer_free(composed.layer);
}

START_TEST(small)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 17, 33, 63, 64, 65, 70, 130};
    asc_scope_begin(ctx);
    draw_state = (uint64_t)_i;
    int64_t B = 1 + draw(3), N = sizes[draw(sizeof sizes / sizeof *sizes)];
    check(1000 + (uint64_t)_i, B, N);
    asc_scope_end(ctx);
}
END_TEST

START_TEST(large)
{
    asc_scope_begin(ctx);
    check(2000 + (uint64_t)_i, 1, _i == 0 ? 500 : 1000);
    asc_scope_end(ctx);
}
END_TEST

/* Rounding of a row's mean, and of its log-sum-exp, does not go to δ, and what all its scores share not to Q, K and
 * τ_score. */
START_TEST(rows_of_much_in_common)
{
    static const struct {
        double shift, size;
    } tokens[] = {{1, 1e-2}, {1, 1e-3}, {.1, 1e-2}, {0, 20}, {50, 5}, {50, 20}};
    static const char *const kinds[] = {"\"gate\":\"after\"", "\"gate\":\"before\",\"mask\":\"full\"",
                                        "\"variant\":\"background\",\"stats\":\"all\""};
    for (int kind = 0; kind < 3; kind++) {
        text t = {.n = 0};
        add(&t, "{\"heads\":2,\"d_head\":4,\"dz\":3,\"da\":3,\"freeze_inert\":false,%s", kinds[kind]);
        asc_tensor x = asc_normal(ctx, ASC_F64, tokens[_i].shift, tokens[_i].size, 5, 1, ASC_SHAPE(2, 9, 8));
        asc_tensor up = asc_normal(ctx, ASC_F64, 0, 1, 5, 2, ASC_SHAPE(2, 9, 8));
        result fused = run(&t, false, ASC_F64, x, (given){0}, up), composed = run(&t, true, ASC_F64, x, (given){0}, up);
        compare_all(&t, &fused, &composed, 2e-11);
        asc_layer_free(fused.layer);
        asc_layer_free(composed.layer);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("fused");
    tcase_add_checked_fixture(t, setup_one_thread, teardown);
    tcase_add_loop_test(t, small, 0, CASES);
    tcase_add_loop_test(t, large, 0, 2);
    tcase_add_loop_test(t, rows_of_much_in_common, 0, 6);
    return run_suite("nn/ascender fused", t);
}
