/* tools/inspect/summary.c: looks into every layer and keeps the numbers, as the objects that --json prints. */
#include <math.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

static const double degrees = 57.295779513082320877;

/* ---- reading ---- */

static double value_at(asc_tensor t, int64_t i)
{
    const void *data = asc_data(t);
    if (!data || i >= asc_numel(t)) {
        return NAN;
    }
    return asc_dtype_of(t) == ASC_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Every `step`-th value from `first` on, as a list. */
static json_t *list_of(asc_tensor t, int64_t first, int64_t step)
{
    json_t *list = json_array();
    for (int64_t i = first; i < asc_numel(t); i += step) {
        json_array_append_new(list, cli_json_real(value_at(t, i)));
    }
    return list;
}

json_t *inspect_member(const inspection *in, int64_t layer, const char *key)
{
    return json_object_get(json_array_get(in->summary, (size_t)layer), key);
}

double inspect_number(const inspection *in, int64_t layer, const char *key, int64_t head)
{
    json_t *value = inspect_member(in, layer, key);
    value = json_is_array(value) ? json_array_get(value, (size_t)head) : value;
    return inspect_value(value);
}

const char *inspect_text(const inspection *in, int64_t layer, const char *key, int64_t head)
{
    json_t *value = inspect_member(in, layer, key);
    value = json_is_array(value) ? json_array_get(value, (size_t)head) : value;
    return json_is_string(value) ? json_string_value(value) : "-";
}

int64_t inspect_heads(const inspection *in, int64_t layer)
{
    return (int64_t)json_array_size(inspect_member(in, layer, "entropy"));
}

bool inspect_has_omega(const inspection *in, int64_t layer)
{
    return inspect_member(in, layer, "omega_align") != NULL;
}

bool inspect_has_planes(const inspection *in, int64_t layer)
{
    return inspect_member(in, layer, "pairs") != NULL;
}

/* ---- attention ---- */

/* The scalars of each head that the layer has among its parameters. */
static void add_scalars(const inspection *in, json_t *o, int64_t layer)
{
    static const char *const names[] = {"omega_align", "omega_sep",   "omega_coh",  "lambda_align", "lambda_sep",
                                        "lambda_coh",  "lambda_dist", "lambda_rho", "tau_score"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char full[64];
        snprintf(full, sizeof full, "blocks.%lld.mix.%s", (long long)layer, names[i]);
        asc_tensor t = asc_params_find(asc_lm_params(in->model->lm), full);
        if (!asc_is_null(t)) {
            json_object_set_new(o, names[i], list_of(t, 0, 1));
        }
    }
}

/* How large each part of the scores is: the root mean square over what may be looked at, the biases with their ω. */
static void add_sizes(const inspection *in, json_t *o, const asc_params *parts, asc_tensor attention)
{
    static const char *const names[][3] = {{"s_base", "size_base", ""},
                                           {"b_align", "size_align", "omega_align"},
                                           {"b_sep", "size_sep", "omega_sep"},
                                           {"b_coh", "size_coh", "omega_coh"},
                                           {"b_other", "size_other", ""}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        asc_tensor part = asc_params_find(parts, names[i][0]);
        if (asc_is_null(part)) {
            continue;
        }
        asc_tensor rms = asc_head_rms(in->ctx, part, attention);
        json_t *list = json_array(), *omega = json_object_get(o, names[i][2]);
        for (int64_t h = 0; h < asc_numel(rms); h++) {
            double factor = omega ? fabs(json_number_value(json_array_get(omega, (size_t)h))) : 1;
            json_array_append_new(list, cli_json_real(factor * value_at(rms, h)));
        }
        json_object_set_new(o, names[i][1], list);
    }
}

/* The bias that is largest with its ω, and its share of the three. */
static void add_dominant(json_t *o, int64_t heads)
{
    static const char *const keys[] = {"size_align", "size_sep", "size_coh"}, *const names[] = {"align", "sep", "coh"};
    json_t *dominant = json_array(), *share = json_array();
    for (int64_t h = 0; h < heads; h++) {
        double most = -1, sum = 0;
        int best = 0;
        for (int i = 0; i < 3; i++) {
            double size = json_number_value(json_array_get(json_object_get(o, keys[i]), (size_t)h));
            sum += size;
            best = size > most ? i : best;
            most = size > most ? size : most;
        }
        json_array_append_new(dominant, sum > 0 ? json_string(names[best]) : json_null());
        json_array_append_new(share, cli_json_real(most / sum));
    }
    json_object_set_new(o, "dominant", dominant);
    json_object_set_new(o, "dominant_share", share);
}

void inspect_dominant(inspection *in)
{
    json_t *layer;
    size_t i;
    json_array_foreach(in->summary, i, layer) {
        if (json_object_get(layer, "dominant")) {
            add_dominant(layer, inspect_heads(in, (int64_t)i));
        }
    }
}

/* Gates: their means over the text. */
static void add_gates(const inspection *in, json_t *o, const asc_params *parts)
{
    static const char *const names[] = {"gamma_align", "gamma_coh", "eta"};
    for (int i = 0; i < 3; i++) {
        asc_tensor t = asc_params_find(parts, names[i]);
        if (!asc_is_null(t)) {
            json_object_set_new(o, names[i], list_of(asc_mean(in->ctx, t, ASC_DIMS(0, 2, 3), false), 0, 1));
        }
    }
}

/* A list of lists: each head's values of x (1, H, N). */
static json_t *rows_of(const inspection *in, asc_tensor x)
{
    json_t *heads = json_array();
    for (int64_t h = 0; h < asc_size(x, 1); h++) {
        json_array_append_new(heads, list_of(asc_contiguous(in->ctx, asc_slice(in->ctx, x, 1, h, h + 1, 1)), 0, 1));
    }
    return heads;
}

/* The shares of pairs below the threshold, without separation and with it, and of those that it has pushed there. */
static void add_pushed(const inspection *in, json_t *o, const asc_params *parts, asc_tensor attention)
{
    asc_tensor without = asc_params_find(parts, "attn_without_sep");
    if (!asc_is_null(without)) {
        asc_tensor share = asc_attention_pushed(in->ctx, without, attention, in->threshold);
        json_object_set_new(o, "threshold", json_real(in->threshold));
        json_object_set_new(o, "pushed", list_of(share, 0, 3));
        json_object_set_new(o, "irrelevant_without_sep", list_of(share, 1, 3));
        json_object_set_new(o, "irrelevant", list_of(share, 2, 3));
    }
}

static void add_losses(json_t *o, const asc_params *parts)
{
    static const char *const names[] = {"loss_coh", "loss_sep", "loss_align"};
    for (int i = 0; i < 3; i++) {
        asc_tensor t = asc_params_find(parts, names[i]);
        if (!asc_is_null(t)) {
            json_object_set_new(o, names[i], cli_json_real(asc_item(t)));
        }
    }
}

static void add_attention(const inspection *in, json_t *o, const asc_params *parts, int64_t layer)
{
    asc_tensor attention = asc_params_find(parts, "attn"), entropy = asc_params_find(parts, "entropy");
    if (asc_is_null(attention)) {
        return;
    }
    asc_tensor profile = asc_attention_profile(in->ctx, attention);
    json_object_set_new(o, "entropy", list_of(entropy, 0, 1));
    json_object_set_new(o, "distance", list_of(profile, 0, 2));
    json_object_set_new(o, "self", list_of(profile, 1, 2));
    add_scalars(in, o, layer);
    add_sizes(in, o, parts, attention);
    if (json_object_get(o, "size_coh")) {
        add_dominant(o, asc_numel(entropy));
    }
    json_object_set_new(o, "entropy_rows", rows_of(in, asc_params_find(parts, "entropy_rows")));
    add_pushed(in, o, parts, attention);
    add_gates(in, o, parts);
    add_losses(o, parts);
}

/* ---- planes ---- */

/* The mean of one number of each pair of an array of angles, in degrees, those without a plane left out. */
static double mean_angle(const double *angle, int64_t n, int64_t first)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = first; angle && i < n; i += 2) {
        if (isfinite(angle[i])) {
            sum += angle[i];
            count++;
        }
    }
    return count ? degrees * sum / (double)count : NAN;
}

static json_t *angle_pair(asc_tensor angles)
{
    const double *values = asc_data(angles);
    int64_t n = asc_numel(angles);
    return json_pack("[o, o]", cli_json_real(mean_angle(values, n, 0)), cli_json_real(mean_angle(values, n, 1)));
}

/* What is to be said about one pair of every token: p (N, 1, G, P/G). */
static json_t *describe_pair(const inspection *in, asc_tensor p, int64_t layer, int64_t pair)
{
    char name[32];
    double max, rms;
    inspect_pair_name(in, layer, pair, name, sizeof name);
    asc_plane_residual(in->ctx, p, &max, &rms);
    return json_pack("{s:s, s:o, s:o, s:o}", "pair", name, "residual_max", cli_json_real(max), "residual_rms",
                     cli_json_real(rms), "next_angles",
                     asc_size(p, 0) > 1 ? angle_pair(asc_contiguous(in->ctx, inspect_next_angles(in, p)))
                                        : json_array());
}

/* The share of the values, 0 … 1, in each of INSPECT_BINS equal bins. */
static json_t *histogram(asc_tensor values)
{
    int64_t n = asc_numel(values), counts[INSPECT_BINS] = {0};
    for (int64_t i = 0; i < n; i++) {
        double at = value_at(values, i) * INSPECT_BINS;
        if (at >= 0 && at <= INSPECT_BINS) {
            counts[at < INSPECT_BINS ? (int)at : INSPECT_BINS - 1]++;
        }
    }
    json_t *list = json_array();
    for (int i = 0; i < INSPECT_BINS; i++) {
        json_array_append_new(list, cli_json_real((double)counts[i] / (double)n));
    }
    return list;
}

static void add_gate(const inspection *in, json_t *o, const asc_params *parts)
{
    asc_tensor gate = asc_params_find(parts, "gate");
    if (asc_is_null(gate)) {
        return;
    }
    static const double at[] = {.05, .25, .5, .75, .95};
    double quantile[5];
    asc_tensor mean = asc_mean(in->ctx, gate, ASC_ALL_DIMS, false);
    asc_quantiles(in->ctx, gate, 5, at, quantile);
    json_t *list = json_array();
    for (int i = 0; i < 5; i++) {
        json_array_append_new(list, cli_json_real(quantile[i]));
    }
    json_object_set_new(o, "gate",
                        json_pack("{s:o, s:o, s:o}", "mean", cli_json_real(asc_item(mean)), "quantiles_5_25_50_75_95",
                                  list, "histogram", histogram(asc_contiguous(in->ctx, gate))));
}

static void add_planes(const inspection *in, json_t *o, const asc_params *parts, const asc_params *below, int64_t layer)
{
    asc_tensor p = inspect_planes(in, parts, layer), spectrum;
    if (asc_is_null(p)) {
        return;
    }
    json_t *pairs = json_array();
    for (int64_t i = 0; i < asc_size(p, 1); i++) {
        json_array_append_new(pairs, describe_pair(in, asc_slice(in->ctx, p, 1, i, i + 1, 1), layer, i));
    }
    inspect_mean_planes(in, p, &spectrum);
    spectrum = asc_mean(in->ctx, spectrum, ASC_DIMS(0), false); /* over the groups */
    json_object_set_new(o, "pairs", pairs);
    json_object_set_new(o, "mean_share", cli_json_real((value_at(spectrum, 0) + value_at(spectrum, 1)) / 2));
    json_object_set_new(o, "mean_spectrum", list_of(spectrum, 0, 1));
    asc_tensor angles = inspect_below_angles(in, parts, below, layer);
    json_object_set_new(o, "angles_to_layer_below", asc_is_null(angles) ? json_null() : angle_pair(angles));
}

/* ---- all layers ---- */

static const char *mixing_name(const inspection *in, int64_t layer)
{
    json_t *mix = json_object_get(in->config, "mix");
    const char *name = json_string_value(json_is_array(mix) ? json_array_get(mix, (size_t)layer) : mix);
    return name ? name : "";
}

static json_t *look(inspection *in, int64_t layer, asc_params *parts, const asc_params *below)
{
    json_t *o = json_pack("{s:I, s:s}", "layer", (json_int_t)layer, "mixing", mixing_name(in, layer));
    asc_scope_begin(in->ctx);
    if (parts && asc_lm_inspect(in->model->lm, in->ids, layer, parts) == ASC_OK) {
        add_attention(in, o, parts, layer);
        add_planes(in, o, parts, below, layer);
        add_gate(in, o, parts);
        inspect_add_paths(in, o, parts, below, layer);
    }
    asc_scope_end(in->ctx);
    return o;
}

/* The layers in order, each with the parts of the one below, which some numbers compare with. */
asc_status inspect_layers(inspection *in)
{
    asc_params *below = NULL;
    for (int64_t l = 0; l < in->layers && !asc_error(in->ctx); l++) {
        asc_params *parts = asc_params_new(in->ctx);
        json_array_append_new(in->summary, look(in, l, parts, below));
        if (l == in->layer) {
            in->below = below;
            in->parts = parts;
        } else if (below != in->parts) {
            asc_params_free(below);
        }
        below = parts;
    }
    if (below != in->parts) {
        asc_params_free(below);
    }
    return asc_error(in->ctx);
}
