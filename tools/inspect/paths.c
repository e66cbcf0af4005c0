/* tools/inspect/paths.c: what a Grassmann layer's directions say of their path from token to token and over the layers;
 * decays and filters of the mixings with a state. Numbers for the summary, and their tables. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

asc_tensor inspect_flow(const inspection *in, const asc_params *parts)
{
    asc_tensor u = asc_params_find(parts, "flow");
    return asc_is_null(u) ? u : asc_squeeze(in->ctx, u, 0);
}

asc_tensor inspect_stability(const inspection *in, const asc_params *parts, const asc_params *below, int64_t layer)
{
    asc_tensor u = inspect_flow(in, parts), v = below ? inspect_flow(in, below) : asc_null();
    bool comparable = !asc_is_null(u) && !asc_is_null(v) && inspect_same_pairs(in, layer, layer - 1);
    for (int d = 0; d < 3 && comparable; d++) {
        comparable = asc_size(u, d) == asc_size(v, d);
    }
    return comparable ? asc_flow_stability(in->ctx, u, v) : asc_null();
}

const char *const inspect_flow_keys[5] = {"mean_length", "leading_share", "alignment", "curvature",
                                            "stability_below"};

/* The mean of every `step`-th number from `first` on, those that are none left out; null where there is none. */
static json_t *mean_of(asc_tensor t, int64_t first, int64_t step)
{
    const double *x = asc_data(t);
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = first; x && i < asc_numel(t); i += step) {
        if (isfinite(x[i])) {
            sum += x[i];
            n++;
        }
    }
    return n > 0 ? cli_json_real(sum / (double)n) : json_null();
}

/* Every `step`-th number from `first` on, token by token. */
static json_t *steps_of(asc_tensor t, int64_t first, int64_t step)
{
    const double *x = asc_data(t);
    json_t *list = json_array();
    for (int64_t i = first; x && i < asc_numel(t); i += step) {
        json_array_append_new(list, cli_json_real(x[i]));
    }
    return list;
}

static void add_flow(const inspection *in, json_t *o, const asc_params *parts, const asc_params *below,
                     int64_t layer)
{
    asc_tensor u = inspect_flow(in, parts), share;
    if (asc_is_null(u)) {
        return;
    }
    asc_tensor path = asc_flow_path(in->ctx, u), stability = inspect_stability(in, parts, below, layer);
    asc_tensor length = asc_norm(in->ctx, asc_flow_mean(in->ctx, u), ASC_DIMS(-1), false);
    asc_flow_leading(in->ctx, u, &share);
    json_t *flow = json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean_length", mean_of(length, 0, 1), "leading_share",
                             mean_of(share, 0, 1), "alignment", mean_of(path, 0, 2), "curvature", mean_of(path, 1, 2),
                             "stability_below", mean_of(stability, 0, 1));
    json_object_set_new(flow, "alignment_rows", steps_of(path, 0, 2));
    json_object_set_new(flow, "curvature_rows", steps_of(path, 1, 2));
    json_object_set_new(flow, "stability_below_rows", steps_of(stability, 0, 1));
    json_object_set_new(o, "flow", flow);
}

/* Quantiles of what a token leaves of the state. */
static void add_decays(const inspection *in, json_t *o, const asc_params *parts)
{
    static const double at[] = {.05, .25, .5, .75, .95};
    double quantile[5];
    asc_tensor decay = asc_params_find(parts, "decay"), gate = asc_params_find(parts, "input_gate");
    if (asc_is_null(decay)) {
        return;
    }
    asc_quantiles(in->ctx, decay, 5, at, quantile);
    json_t *list = json_array();
    for (int i = 0; i < 5; i++) {
        json_array_append_new(list, cli_json_real(quantile[i]));
    }
    json_object_set_new(o, "decay_quantiles_5_25_50_75_95", list);
    if (!asc_is_null(gate)) {
        json_object_set_new(o, "input_gate", cli_json_real(asc_item(asc_mean(in->ctx, gate, ASC_ALL_DIMS, false))));
    }
}

/* The share of each tap in the sizes of all, from the token itself backwards. */
static void add_filter(const inspection *in, json_t *o, const asc_params *parts)
{
    asc_tensor filter = asc_params_find(parts, "filter");
    if (asc_is_null(filter)) {
        return;
    }
    asc_tensor taps = asc_sum(in->ctx, asc_cast(in->ctx, asc_abs(in->ctx, filter), ASC_F64), ASC_DIMS(0), false);
    const double *size = asc_data(taps);
    double all = 0;
    json_t *list = json_array();
    for (int64_t w = 0; size && w < asc_numel(taps); w++) {
        all += size[w];
    }
    for (int64_t w = asc_numel(taps) - 1; size && w >= 0; w--) {
        json_array_append_new(list, cli_json_real(all > 0 ? size[w] / all : 0));
    }
    json_object_set_new(o, "taps", list);
}

void inspect_add_paths(const inspection *in, json_t *o, const asc_params *parts, const asc_params *below,
                       int64_t layer)
{
    add_flow(in, o, parts, below, layer);
    add_decays(in, o, parts);
    add_filter(in, o, parts);
}

/* ---- tables ---- */

/* Prints the heading before the first line of a table. */
static void begin_line(const inspection *in, int64_t layer, const char *heading, bool *begun)
{
    if (!*begun) {
        cli_print("\n%s\n", heading);
    }
    *begun = true;
    cli_print("%5lld  %-11s", (long long)layer, inspect_text(in, layer, "mixing", 0));
}

static void print_flow(const inspection *in)
{
    bool begun = false;
    for (int64_t l = 0; l < in->layers; l++) {
        const json_t *flow = inspect_member(in, l, "flow");
        if (!flow) {
            continue;
        }
        begin_line(in, l,
                   "path of the coordinates: length of their mean (1: they are one), share of the leading direction in "
                   "the\nvariance, alignment with the mean so far, curvature, what is shared with the layer below\n"
                   "layer  mixing         mean  leading  alignment  curvature  stability",
                   &begun);
        for (int i = 0; i < 5; i++) {
            double value = inspect_value(json_object_get(flow, inspect_flow_keys[i]));
            inspect_print_number((int[]){8, 9, 11, 11, 11}[i], 3, value);
        }
        putchar('\n');
    }
}

/* A token's weight is down to 1/e after as many tokens as this, where all decay alike. */
static void print_reach(const json_t *decay)
{
    double a = json_number_value(decay);
    if (a >= 1) {
        cli_print("%9s", "inf");
    } else {
        cli_print("%9.1f", a > 0 ? -1 / log(a) : 0);
    }
}

static void print_decays(const inspection *in)
{
    bool begun = false;
    for (int64_t l = 0; l < in->layers; l++) {
        const json_t *quantiles = inspect_member(in, l, "decay_quantiles_5_25_50_75_95"), *decay;
        size_t i;
        if (!quantiles) {
            continue;
        }
        begin_line(in, l,
                   "decays a token: quantiles, and after how many tokens 1/e is left; the mean of the input gates\n"
                   "layer  mixing           5%     25%     50%     75%     95%   at 50%   at 95%   gate",
                   &begun);
        json_array_foreach(quantiles, i, decay) {
            inspect_print_number(8, 4, inspect_value(decay));
        }
        print_reach(json_array_get(quantiles, 2));
        print_reach(json_array_get(quantiles, 4));
        inspect_print_number(7, 3, inspect_number(in, l, "input_gate", 0));
        putchar('\n');
    }
}

static void print_filters(const inspection *in)
{
    bool begun = false;
    for (int64_t l = 0; l < in->layers; l++) {
        const json_t *taps = inspect_member(in, l, "taps"), *tap;
        size_t i;
        if (!taps) {
            continue;
        }
        begin_line(in, l, "filters: share of each tap, from the token itself backwards\nlayer  mixing         taps",
                   &begun);
        json_array_foreach(taps, i, tap) {
            inspect_print_number(8, 3, inspect_value(tap));
        }
        putchar('\n');
    }
}

void inspect_print_paths(const inspection *in)
{
    print_flow(in);
    print_decays(in);
    print_filters(in);
}
