/* train/measure/parity_layer.c: parity of one mixing layer: output and gradients. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/mixing.h>
#include <ascgrad/ops.h>

#include "train/measure/parity.h"

/* ---- settings ---- */

/* Sets a setting that the case leaves out to the number of rows that a matrix of the case has, over `parts`. */
static void add_size(asc_replay *r, const char *key, const char *tensor, int64_t parts)
{
    const asc_safetensors_entry *e = asc_safetensors_find(r->file, tensor);
    if (e && e->ndim == 2 && parts > 0) {
        asc_replay_default(r, key, json_integer(e->shape[0] / parts));
    }
}

/* Widths as the parameters have them; and the weight of each auxiliary loss is its cotangent. */
static void add_ascender_defaults(asc_replay *r)
{
    static const struct {
        const char *key, *tensor;
    } widths[] = {{"d_head", "param.q.weight"}, {"d_value", "param.v.weight"}, {"dz", "param.u.weight"},
                  {"da", "param.p.weight"}},
      losses[] = {{"aux_coh", "upstream.loss_coh"}, {"aux_sep", "upstream.loss_sep"},
                  {"aux_align", "upstream.loss_align"}};
    int64_t heads = json_integer_value(json_object_get(r->config, "heads"));
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        add_size(r, widths[i].key, widths[i].tensor, heads);
    }
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (asc_replay_use(r, losses[i].tensor)) {
            asc_tensor weight = asc_safetensors_read(r->ctx, r->file, losses[i].tensor, ASC_F64);
            asc_replay_default(r, losses[i].key, json_real(asc_item(weight)));
        }
    }
    json_object_del(r->config, "aux");
    asc_replay_ascender_defaults(r);
}

/* What a case leaves out has the oracle's value, which is not always the program's. */
static void add_defaults(asc_replay *r, const char *mixing)
{
    if (strcmp(mixing, "transformer") == 0) {
        asc_replay_default(r, "mask", json_string("causal"));
        asc_replay_default(r, "window", json_integer(0));
        asc_replay_default(r, "globals", json_integer(0));
        asc_replay_default(r, "positions", json_string("none"));
    }
    if (strcmp(mixing, "ascender") == 0) {
        add_ascender_defaults(r);
    }
    if (strcmp(mixing, "conv") == 0 || strcmp(mixing, "recurrent") == 0) {
        add_size(r, "inner", "param.u.weight", 1);
    }
    add_size(r, "r", "param.red.weight", 1);
    const asc_safetensors_entry *bias = asc_safetensors_find(r->file, "param.rel_bias");
    if (bias && bias->ndim == 2) {
        asc_replay_default(r, "rel", json_integer(bias->shape[1] / 2));
    }
}

static bool are_integers(const json_t *list)
{
    size_t i;
    json_t *value;
    json_array_foreach(list, i, value) {
        if (!json_is_integer(value)) {
            return false;
        }
    }
    return json_is_array(list);
}

/* Takes lengths out of the configuration: they are an input. Null if there are none. */
static asc_tensor take_lengths(asc_replay *r, const char *key)
{
    json_t *list = json_object_get(r->config, key);
    asc_tensor lengths = asc_null();
    if (are_integers(list)) {
        int64_t n = (int64_t)json_array_size(list);
        lengths = asc_empty(r->ctx, ASC_I64, 1, &n);
        int64_t *data = asc_data_mut(lengths);
        for (int64_t i = 0; data && i < n; i++) {
            data[i] = json_integer_value(json_array_get(list, (size_t)i));
        }
    } else if (list && !json_is_null(list)) {
        asc_replay_disagree(r, "config has %s, expected a list of integers", key);
    }
    json_object_del(r->config, key);
    return lengths;
}

/* ---- gradients ---- */

static double largest_gradient(asc_replay *r)
{
    double most = 0;
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(r->file, i)); i++) {
        if (strncmp(e->name, "grad.", 5) != 0) {
            continue;
        }
        asc_tensor t = asc_safetensors_read(r->ctx, r->file, e->name, ASC_F64);
        const double *g = asc_data(t);
        for (int64_t k = 0; k < asc_numel(t); k++) {
            most = fmax(most, fabs(g[k]));
        }
        asc_release(t);
    }
    return most;
}

/* A case's tensors. */
typedef struct inputs {
    asc_tensor x, lengths;
    asc_tensor context, bias; /* or null */
} inputs;

/* A gradient of 0 is as good as none: PyTorch has none where no pair of tokens exists. */
static bool has_gradient(asc_tensor grad)
{
    const double *g = asc_is_valid(grad) ? asc_data(grad) : NULL;
    bool found = false;
    for (int64_t i = 0; g && i < asc_numel(grad); i++) {
        found = found || g[i] != 0;
    }
    return found;
}

static void compare_gradients(asc_replay *r, asc_params *params, const inputs *in)
{
    /* some gradients nearly cancel: 1e-12 of the case's largest is as good as they get */
    asc_agreement agreement = asc_value_agreement;
    agreement.absolute *= fmax(1, largest_gradient(r));
    asc_replay_compare(r, "grad.in.x", asc_grad(in->x), agreement);
    if (!asc_is_null(in->context)) {
        asc_replay_compare(r, "grad.in.context", asc_grad(in->context), agreement);
    }
    if (!asc_is_null(in->bias)) {
        asc_replay_compare(r, "grad.in.bias", asc_grad(in->bias), agreement);
    }
    for (int i = 0; i < asc_params_count(params); i++) {
        char name[160];
        snprintf(name, sizeof name, "grad.param.%s", asc_params_name(params, i));
        asc_tensor grad = asc_grad(asc_params_at(params, i));
        bool expected = asc_replay_use(r, name) != NULL;
        if (expected ? !asc_is_valid(grad) : has_gradient(grad)) {
            asc_replay_disagree(r, "%s has %s gradient, expected %s", asc_params_name(params, i),
                                expected ? "no" : "a", expected ? "one" : "none");
        } else if (expected) {
            asc_replay_compare(r, name, grad, agreement);
        }
    }
}

/* ---- the layer ---- */

static asc_tensor take_input(asc_replay *r, const char *name)
{
    asc_replay_use(r, name);
    return asc_safetensors_read(r->ctx, r->file, name, ASC_F64);
}

/* An input that gets a gradient; null if the case has none. */
static asc_tensor take_leaf(asc_replay *r, const char *name)
{
    asc_tensor leaf = asc_safetensors_find(r->file, name) ? take_input(r, name) : asc_null();
    asc_require_grad(leaf, !asc_is_null(leaf));
    return leaf;
}

/* out.NAME of what inspection shows under that name; of the heads' entropies the case has the mean. */
static void compare_parts(asc_replay *r, asc_layer *layer, const inputs *in)
{
    if (!layer->mixing->inspect) {
        return;
    }
    asc_params *parts = asc_params_new(r->ctx);
    if (parts && asc_is_null(in->context)) {
        asc_layer_inspect(layer, in->x, in->lengths, parts);
    } else if (parts) {
        asc_layer_inspect_cross(layer, in->x, in->context, in->lengths, parts);
    }
    if (!parts || asc_error(r->ctx)) {
        asc_params_free(parts);
        return;
    }
    for (int i = 0; i < asc_params_count(parts); i++) {
        char name[160];
        snprintf(name, sizeof name, "out.%s", asc_params_name(parts, i));
        const asc_safetensors_entry *e = asc_safetensors_find(r->file, name);
        asc_tensor part = asc_params_at(parts, i);
        if (e) {
            asc_replay_compare(r, name, e->ndim == 0 ? asc_mean(r->ctx, part, ASC_ALL_DIMS, false) : part,
                               asc_value_agreement);
        }
    }
    asc_params_free(parts);
}

/* Σ y ∘ upstream + the auxiliary losses, or null with the error set. */
static asc_tensor checked_scalar(asc_replay *r, asc_tensor y, asc_tensor aux)
{
    asc_tensor upstream = take_input(r, "upstream.y");
    asc_tensor sum = asc_sum(r->ctx, asc_mul(r->ctx, y, upstream), ASC_ALL_DIMS, false);
    return asc_is_null(aux) ? sum : asc_add(r->ctx, sum, aux);
}

static void run_layer(asc_replay *r, asc_layer *layer, const inputs *in)
{
    asc_replay_load(r, asc_layer_params(layer));
    if (!r->report->passed || asc_error(r->ctx)) {
        return;
    }
    asc_tensor aux = asc_null(), y;
    asc_layer_set_bias(layer, in->bias);
    if (asc_is_null(in->context)) {
        y = asc_layer_forward_aux(layer, in->x, in->lengths, &aux);
    } else {
        y = asc_layer_cross(layer, in->x, in->context, in->lengths);
    }
    asc_replay_compare(r, "out.y", y, asc_value_agreement);
    asc_tensor total = checked_scalar(r, y, aux);
    if (!asc_error(r->ctx) && !asc_backward(r->ctx, total, asc_null(), false)) {
        compare_gradients(r, asc_layer_params(layer), in);
        compare_parts(r, layer, in);
    }
}

void asc_replay_layer(asc_replay *r, const char *mixing)
{
    inputs in = {.x = take_leaf(r, "in.x"), .context = take_leaf(r, "in.context"), .bias = take_leaf(r, "in.bias")};
    in.lengths = take_lengths(r, asc_is_null(in.context) ? "lengths" : "context_lengths");
    add_defaults(r, mixing);
    char *config = asc_replay_config(r);
    asc_values_source source = asc_replay_source(r);
    asc_layer *layer =
        config ? asc_layer_new_from(r->ctx, mixing, asc_size(in.x, -1), config, ASC_F64, 0, &source) : NULL;
    if (layer) {
        run_layer(r, layer, &in);
    }
    asc_layer_free(layer);
    free(config);
}
