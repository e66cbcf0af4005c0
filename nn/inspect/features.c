/* nn/inspect/features.c: what a layer has of each token, as rows of numbers: for probes and clusters. */
#include <string.h>

#include <ascgrad/nn.h>

#include "nn/doubles.h"
#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* Rows (units, items, width) that are being filled, sequence by sequence. */
typedef struct feature {
    const char *name;
    asc_tensor rows;
    int64_t units, items, width;
} feature;

/* Row `item` of a unit; NULL with the error set. The rows are made for the first one. */
static double *row_of(asc_ctx *ctx, feature *f, int64_t unit, int64_t item)
{
    if (asc_is_null(f->rows)) {
        f->rows = asc_keep(asc_zeros(ctx, ASC_F64, ASC_SHAPE(f->units, f->items, f->width))); /* outlives the scope */
    }
    double *at = asc_data_mut(f->rows);
    return at ? at + (unit * f->items + item) * f->width : NULL;
}

/* Takes the rows of one sequence, x: element (unit, token, e) stands at unit u + token t + e. */
static void take(asc_ctx *ctx, feature *f, asc_tensor x, int64_t u, int64_t t, int64_t n, int64_t first)
{
    const double *from = asc_data(asc_doubles(ctx, x));
    for (int64_t unit = 0; from && unit < f->units; unit++) {
        for (int64_t i = 0; i < n; i++) {
            double *to = row_of(ctx, f, unit, first + i);
            if (to) {
                memcpy(to, from + unit * u + i * t, (size_t)f->width * sizeof *to);
            }
        }
    }
}

/* Weights by distance, of rows A_i (N): the token itself, the one before, … */
static void take_distances(asc_ctx *ctx, feature *f, asc_tensor attention, int64_t first)
{
    const double *from = asc_data(asc_doubles(ctx, attention));
    int64_t N = asc_size(attention, 2);
    for (int64_t h = 0; from && h < f->units; h++) {
        for (int64_t i = 0; i < N; i++) {
            double *to = row_of(ctx, f, h, first + i);
            for (int64_t back = 0; to && back < f->width && back <= i; back++) {
                to[back] = from[(h * N + i) * N + i - back];
            }
        }
    }
}

enum { HIDDEN, ATTENTION, ROWS, Z, PLUCKER, FEATURES };

/* The parts of sequence number b, of n tokens. */
static void take_parts(asc_ctx *ctx, feature *f, const asc_params *parts, int64_t b, int64_t n, int64_t reach)
{
    int64_t first = b * n, items = f[HIDDEN].items;
    asc_tensor hidden = asc_params_find(parts, "hidden"), attention = asc_params_find(parts, "attn");
    asc_tensor z = asc_params_find(parts, "z"), plucker = asc_params_find(parts, "plucker");
    int64_t D = asc_size(hidden, 2), H = asc_size(attention, 1), m = asc_size(plucker, 2), P = asc_size(plucker, 3);
    f[HIDDEN] = (feature){"hidden", f[HIDDEN].rows, 1, items, D};
    take(ctx, &f[HIDDEN], hidden, 0, D, n, first);
    if (!asc_is_null(attention)) {
        f[ATTENTION] = (feature){"attention", f[ATTENTION].rows, H, items, reach < n ? reach : n};
        take_distances(ctx, &f[ATTENTION], attention, first);
        f[ROWS] = (feature){"attention_rows", f[ROWS].rows, H, items, n};
        take(ctx, &f[ROWS], attention, n * n, n, n, first);
    }
    if (!asc_is_null(z)) {
        bool heads = asc_ndim(z) == 4;
        int64_t width = asc_size(z, -1);
        f[Z] = (feature){"z", f[Z].rows, heads ? asc_size(z, 1) : 1, items, width};
        take(ctx, &f[Z], z, n * width, width, n, first);
    }
    if (!asc_is_null(plucker)) {
        f[PLUCKER] = (feature){"plucker", f[PLUCKER].rows, m, items, P};
        take(ctx, &f[PLUCKER], plucker, P, m * P, n, first);
    }
}

/* Looks into the layer for sequence number b. */
static asc_status look(asc_lm *lm, asc_tensor tokens, int64_t layer, int64_t b, int64_t reach, feature *f)
{
    asc_ctx *ctx = lm->ctx;
    asc_params *parts = asc_params_new(ctx);
    asc_scope_begin(ctx);
    asc_tensor one = asc_contiguous(ctx, asc_slice(ctx, tokens, 0, b, b + 1, 1));
    if (parts && asc_lm_inspect(lm, one, layer, parts) == ASC_OK) {
        take_parts(ctx, f, parts, b, asc_size(tokens, 1), reach);
    }
    asc_scope_end(ctx);
    asc_params_free(parts);
    return asc_error(ctx);
}

asc_status asc_lm_features(asc_lm *lm, asc_tensor tokens, int64_t layer, int64_t reach, asc_params *features)
{
    asc_ctx *ctx = lm ? lm->ctx : asc_ctx_of(tokens);
    asc_status status = ASC_NEED(ctx, "lm_features: lm features", lm, features);
    if (status) {
        return status;
    }
    if (asc_ndim(tokens) != 2 || asc_numel(tokens) < 1 || reach < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "lm_features: tokens have %d dimensions, %lld numbers, and reach is %lld, "
                        "expected (B, N) and at least 1", asc_ndim(tokens), (long long)asc_numel(tokens),
                        (long long)reach);
    }
    feature f[FEATURES] = {[HIDDEN] = {.items = asc_numel(tokens)}};
    for (int64_t b = 0; b < asc_size(tokens, 0) && !asc_error(ctx); b++) {
        look(lm, tokens, layer, b, reach, f);
    }
    for (int i = 0; i < FEATURES; i++) {
        if (!asc_is_null(f[i].rows) && !asc_error(ctx)) {
            asc_params_add(features, f[i].name, f[i].rows, false);
        }
        asc_release(f[i].rows);
    }
    return asc_error(ctx);
}
