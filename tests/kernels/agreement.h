/* tests/kernels/agreement.h: one call of each row primitive of kernels/list.h, ROW(name, arguments); included by
 * test_agreement.c, which does not compile without a row for each: "call_NAME_f32 undeclared" says which is missing. y
 * is an output, and x an input of its shape that may be the same array: where a primitive does not allow that, its row
 * takes other arrays of the room. */
/* ---- float, and f64.awk makes the same for double ---- */

/* What the calls read and write: all of it is compared. Arrays are filled with numbers on [-1, 1); `positive`, `wide`
 * and the structures with ones on [0.1, 1.1). */
typedef struct room_f32 {
    float a[ROOM], b[ROOM], c[ROOM], d[ROOM], e[ROOM], y[ROOM], u[ROOM], v[ROOM], positive[ROOM];
    double wide[3][ROOM], factor[2][ASC_STRIP], value;
    asc_strip_first first;
    asc_strip_pair pair;
    asc_background_bias bias;
    asc_background_bias_grad grad;
    int64_t index[ROOM];
    uint32_t words[ROOM];
} room_f32;

static void fill_room_f32(room_f32 *r)
{
    float *const arrays[] = {r->a, r->b, r->c, r->d, r->e, r->y, r->u, r->v, r->positive};
    double *const positive[] = {r->wide[0], r->wide[1], r->wide[2], (double *)&r->first, (double *)&r->pair};
    const size_t count[] = {ROOM, ROOM, ROOM, sizeof r->first / sizeof(double), sizeof r->pair / sizeof(double)};
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        fill_f32(arrays[i], ROOM, i);
    }
    for (int i = 0; i < ROOM; i++) {
        r->positive[i] = (float)0.1 + r->positive[i] * r->positive[i];
    }
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        for (size_t l = 0; l < count[i]; l++) {
            positive[i][l] = 0.1 + asc_random_uniform(8, i, l);
        }
    }
    for (int l = 0; l < ASC_STRIP; l += 5) {
        r->pair.weight[l] = 0;
    }
    r->bias = (asc_background_bias){.rate = .7, .near = -1.2, .dense = -.6};
    r->grad = (asc_background_bias_grad){.mean = .2, .slope = .4, .spread = -.3, .shift = .1};
    for (int i = 0; i < ROOM; i++) {
        r->index[i] = (i * 7 + 3) % LISTED;
        r->words[i] = (uint32_t)(i % 3); /* as bytes, a mask */
    }
}

/* One call; `some` is n, or 1 where there must be an element. */
typedef void call_f32(const asc_kernel_table_f32 *k, room_f32 *r, float *y, const float *x, const size *s);
#define ROW(name, ...)                                                                                                 \
    static void call_##name##_f32(const asc_kernel_table_f32 *k, room_f32 *r, float *y, const float *x, const size *s) \
    {                                                                                                                  \
        const int64_t n = s->n, some = n + !n;                                                                         \
        (void)r, (void)y, (void)x, (void)n, (void)some;                                                                \
        k->name(__VA_ARGS__);                                                                                          \
    }
#define VALUE(name, ...)                                                                                               \
    static void call_##name##_f32(const asc_kernel_table_f32 *k, room_f32 *r, float *y, const float *x, const size *s) \
    {                                                                                                                  \
        const int64_t n = s->n, some = n + !n;                                                                         \
        (void)y, (void)n, (void)some;                                                                                  \
        r->value = (double)k->name(__VA_ARGS__);                                                                       \
    }

ROW(exp, y, x, n)
ROW(expm1, y, x, n)
ROW(log, y, r->positive, n)
ROW(log1p, y, r->positive, n)
ROW(softplus, y, x, n)
ROW(tanh, y, x, n)
ROW(sigmoid, y, x, n)
ROW(erf, y, x, n)
ROW(sin, y, x, n)
ROW(cos, y, x, n)
ROW(sqrt, y, r->positive, n)
ROW(rsqrt, y, r->positive, n)
ROW(abs, y, x, n)
ROW(abs_grad, y, x, r->b, n)
ROW(silu, y, x, n)
ROW(gelu_tanh, y, x, n)
ROW(gelu, y, x, n)
ROW(logit_loss, y, x, r->b, n)
ROW(smooth_l1, y, x, r->b, .25, .5, n)
ROW(smooth_l1_slope, y, x, r->b, .25, .5, n)
ROW(extreme, y, x, r->b, s->fresh, n)
ROW(extreme_grad, y, r->a, r->b, x, n % 2 == 0, n % 3 == 0, n, s->fresh)
ROW(select_grad, y, (const uint8_t *)r->words, n % 2 == 0, x, n, s->fresh)
ROW(relate, (uint8_t *)r->words, x, r->b, s->fresh, n % 2 == 0, !s->fresh, n % 3 == 0, n)
ROW(clamp, y, x, (float)-.3, (float).4, n)
ROW(clamp_grad, y, x, (float)-.3, (float).4, r->b, n, s->fresh)
ROW(erf_grad, y, x, r->b, n)
ROW(gated_grad, y, x, r->b, s->fresh, n)
ROW(kl_div, y, x, r->positive, .5, n)
ROW(kl_div_slope, y, x, r->positive, .5, n)
ROW(gelu_grad, y, x, r->b, n, s->fresh)
ROW(gelu_both, y, r->u, x, r->b, n, s->fresh)
ROW(pow, y, x, s->fresh ? r->b : NULL, 3, n)
ROW(pow_grad, y, x, s->fresh ? NULL : r->b, -2, r->c, n % 2 == 0, n, n % 3 == 0)

ROW(add, y, x, r->b, n)
ROW(acc, y, x, n)
ROW(mul, y, x, r->b, n)
ROW(mul_acc, y, x, r->b, n)
ROW(scale, y, (float)0.3, x, n)
ROW(axpy, y, (float)0.3, x, n)
ROW(rotate, y, x, r->b, r->c, n / 4, 2, s->fresh)
ROW(sub_distance, y, (float)0.3, -3, n)
VALUE(sum, x, n)
VALUE(dot, x, r->b, n)
VALUE(sumsq, x, n)
VALUE(max, x, n)
VALUE(wide_sum, x, n)
VALUE(wide_squares, x, .3, n)
VALUE(wide_exps, x, (float).3, n)
ROW(wide_centred, y, x, .3, -.7, n, s->fresh)
ROW(wide_exp, y, x, .3, -.7, n, s->fresh)

ROW(add_bias_rows, y, r->b, s->rows, n)
ROW(sum_rows, r->u, r->a, s->rows, n)
VALUE(exp_shift, y, x, (float)0.5, n)
ROW(softmax_row, y, x, n)
ROW(softmax_grad_row, y, x, r->b, 2, n, s->fresh)
ROW(layer_norm_row, y, x, r->b, r->c, some, (float)1e-5, r->u, r->v)
ROW(layer_norm_grad_rows, y, r->u, r->v, x, r->b, r->c, r->d, r->e, s->rows, some, s->fresh)

ROW(transpose, r->u, s->rows, r->a, n, s->rows, n)
ROW(strip_load, r->wide[0], r->a, ASC_STRIP, r->pair.weight, s->width)
ROW(strip_round, r->u, r->wide[0], s->width)
ROW(strip_first, r->u, &r->first, r->wide[0], s->width)
ROW(strip_add_pair, r->wide[0], r->wide[1], r->wide[2], &r->first, &r->pair, s->width, 0.5, 0.5)
ROW(strip_wedge, r->u, ASC_STRIP, r->a, r->b, s->width, s->lanes)
ROW(strip_wedge_grad, r->u, r->v, r->a, ASC_STRIP, r->b, r->c, s->width)
ROW(strip_pair_grad, r->wide[0], r->factor[0], r->factor[1], r->wide[1], r->a, &r->pair, s->width)
ROW(strip_first_grad, r->wide[0], r->a, r->b, r->c, r->pair.on_q, r->pair.on_u, &r->first, s->width)
ROW(strip_second_grad, r->wide[0], r->pair.weight, r->pair.on_v, r->pair.on_u, r->a, ASC_STRIP, r->b, ASC_STRIP, r->c,
    ASC_STRIP, s->width)

ROW(strip_symmetric, r->u, ASC_STRIP, r->a, r->b, s->width - 1, s->lanes)
ROW(strip_symmetric_grad, r->u, r->v, r->a, ASC_STRIP, r->b, r->c, s->width - 1)
ROW(strip_dot, r->factor[0], r->wide[0], r->wide[1], s->width)
ROW(strip_axpy, r->wide[0], r->factor[0], r->wide[1], s->width)
ROW(strip_reject, r->wide[0], r->factor[0], r->wide[1], &r->first, s->width)
ROW(strip_form, r->u, ASC_STRIP, r->a, r->b, form_terms, 2, 2 + (int)s->rows % 3, s->lanes, s->fresh)
ROW(strip_form_grad, r->u, r->v, r->a, ASC_STRIP, r->b, r->c, form_terms, 2, 2 + (int)s->rows % 3)

ROW(gate, y, r->u, x, r->b, n)
ROW(gate_grad, r->u, r->v, r->y, r->a, r->b, r->c, r->d, n, s->fresh, s->fresh)
ROW(memory, r->u, r->v, r->a, r->positive, s->rows, n, some)
ROW(memory_grad, r->u, r->v, r->y, r->a, r->b, r->c, r->positive, s->rows, n, some, s->fresh, s->fresh)

ROW(elu_one, y, x, n)
ROW(elu_one_grad, r->u, r->positive, n)
ROW(rg_lru_open, r->u, r->v, r->a, r->b, r->c, s->rows, some)
ROW(scan, y, r->v, r->positive, x, s->rows, some)
ROW(scan_grad, r->u, r->v, r->y, r->positive, r->a, s->rows, some)
ROW(rg_lru_grad, r->u, r->v, r->y, r->e, r->a, r->b, r->c, r->positive, r->d, r->a, r->b, r->c, s->rows, some)

ROW(pair_dots, r->u, LD, (float)0.5, r->a, s->depth + 1, r->b, LD, s->rows, s->columns, s->depth)
ROW(pair_distances, r->u, LD, r->a, s->depth + 1, r->b, LD, s->rows, s->columns, s->depth)
ROW(pair_projections, r->u, LD, r->a, r->c, s->depth + 1, r->b, LD, s->rows, s->columns, s->depth)
ROW(pair_distances_grad, r->a, LD, r->b, r->u, s->depth + 1, r->c, r->v, LD, s->rows, s->columns, s->depth)
VALUE(top_k, x, n, n / 2, n / 3, r->u, r->index)
ROW(sum_listed, r->u, r->a, LD, r->index, s->listed, s->columns)
ROW(add_listed, r->u, LD, r->index, s->listed, r->a, s->columns)
VALUE(moments, x, some, r->u)
VALUE(max_abs, x, n)
VALUE(centred_dot, x, (float)0.5, r->b, n)
ROW(centred_scale, y, x, (float)0.5, 3, n)
ROW(divide, y, x, 3, n)
ROW(centred_grad, y, x, (float)0.3, 2, 1, n)

ROW(pair_weights, r->u, r->v, y, x, r->b, n, &(asc_pair_weights){.7, 1.3, .1})
ROW(add_biases, y, r->b, r->c, r->d, (asc_centred[]){{.5, .1}, {-2, .2}, {3, -.3}}, (float)0.8, n)
ROW(separation_grad, r->u, r->v, r->a, r->b, r->c, r->d, n,
    &(asc_separation_grad){.5, .2, .3, .4, .delta = .1, .density = .6, .sep = -.7})
ROW(background_bias, y, x, r->b, some, &r->bias)
ROW(add_background_bias, r->u, r->v, r->positive, r->b, (float)0.5, n, &r->bias)
ROW(background_pull, r->a, r->b, r->c, n, &r->bias, &r->grad)
ROW(background_grad, r->u, r->v, r->a, r->b, n, &r->bias, &r->grad)

ROW(gather_dots, r->u, r->a, r->b, LD, r->index, s->listed, s->columns)
ROW(gather_distances, r->u, r->a, r->b, LD, r->index, s->listed, s->columns)
ROW(gather_distances_grad, r->u, r->v, LD, r->a, r->b, r->c, LD, r->index, s->listed, s->columns)
ROW(gather_sum, r->u, r->a, r->b, LD, r->index, s->listed, s->columns)
ROW(scatter_sum, r->u, LD, r->index, r->a, r->b, s->listed, s->columns)

ROW(adamw, y, x, r->u, r->positive, n, &(asc_adamw_step){0.01, 0.9, 0.999, 1e-8, 0.1, 0.5, 0.1, 0.001})
ROW(sgd, y, x, r->u, n, &(asc_sgd_step){0.01, 0.9, 0.1, 0.5})
ROW(philox_bits, r->words, n, (asc_philox_key){5, 6}, 3)
ROW(philox_uniform, y, n, (asc_philox_key){5, 6}, 1)
ROW(dropout, y, x, n, (asc_philox_key){5, 6}, 3, 0.3)
ROW(dropout_grad, y, x, n, (asc_philox_key){5, 6}, 3, 0.3, s->fresh)

#undef ROW
#undef VALUE

static const struct {
    const char *name;
    call_f32 *call;
} rows_f32[] = {
#define KERNEL(result, name, arguments) {#name, call_##name##_f32},
#include "kernels/list.h"
};
enum { ROWS_f32 = sizeof rows_f32 / sizeof *rows_f32 };

/* Rows that are not aligned to more than an element. */
static void agree_f32(const asc_kernel_table_f32 *plain, const asc_kernel_table_f32 *other, const size *s)
{
    static room_f32 all, want, got;
    fill_room_f32(&all);
    for (int i = 0; i < ROWS_f32; i++) {
        memcpy(&want, &all, sizeof all);
        memcpy(&got, &all, sizeof all);
        rows_f32[i].call(plain, &want, want.y + 1, want.a + 1, s);
        rows_f32[i].call(other, &got, got.y + 1, got.a + 1, s);
        if (memcmp(&want, &got, sizeof want) != 0) {
            ck_abort_msg("%s of %lld differs", rows_f32[i].name, (long long)s->n);
        }
    }
}

/* y is x, or another array with the same numbers. */
static void in_place_f32(const asc_kernel_table_f32 *k, const size *s)
{
    static room_f32 all, apart, same;
    fill_room_f32(&all);
    memcpy(all.y, all.a, sizeof all.y);
    for (int i = 0; i < ROWS_f32; i++) {
        memcpy(&apart, &all, sizeof all);
        memcpy(&same, &all, sizeof all);
        rows_f32[i].call(k, &apart, apart.y, apart.a, s);
        rows_f32[i].call(k, &same, same.y, same.y, s);
        if (memcmp(&apart, &same, sizeof same) != 0) {
            ck_abort_msg("%s of %lld differs in place", rows_f32[i].name, (long long)s->n);
        }
    }
}
/* ---- end of float ---- */
#include "tests/kernels/agreement.f64.h"
