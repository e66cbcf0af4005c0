/* train/parity_layer.c: parity of one mixing layer: output and gradients. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ascgrad/nn.h>

#include "train/parity.h"

/* ---- settings ---- */

/* What a case leaves out has the oracle's value, which is not always the program's. */
static void add_defaults(asc_replay *r, const char *mixing)
{
    if (strcmp(mixing, "transformer") == 0) {
        asc_replay_default(r, "mask", json_string("causal"));
        asc_replay_default(r, "window", json_integer(0));
        asc_replay_default(r, "globals", json_integer(0));
        asc_replay_default(r, "positions", json_string("none"));
    }
    const asc_safetensors_entry *bias = asc_safetensors_find(r->file, "param.rel_bias");
    if (bias && bias->ndim == 2) {
        asc_replay_default(r, "rel", json_integer(bias->shape[1] / 2));
    }
}

/* Takes `lengths` out of the configuration: it is an input. Null if there is none. */
static asc_tensor take_lengths(asc_replay *r)
{
    json_t *list = json_object_get(r->config, "lengths");
    asc_tensor lengths = asc_null();
    if (json_is_array(list)) {
        int64_t n = (int64_t)json_array_size(list);
        lengths = asc_empty(r->ctx, ASC_I64, 1, &n);
        int64_t *data = asc_data_mut(lengths);
        for (int64_t i = 0; data && i < n; i++) {
            data[i] = json_integer_value(json_array_get(list, (size_t)i));
        }
    }
    json_object_del(r->config, "lengths");
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

static void compare_gradients(asc_replay *r, asc_params *params, asc_tensor x)
{
    /* some gradients nearly cancel: 1e-12 of the case's largest is as good as they get */
    asc_agreement agreement = asc_value_agreement;
    agreement.absolute *= fmax(1, largest_gradient(r));
    asc_replay_compare(r, "grad.in.x", asc_grad(x), agreement);
    for (int i = 0; i < asc_params_count(params); i++) {
        char name[160];
        snprintf(name, sizeof name, "grad.param.%s", asc_params_name(params, i));
        asc_tensor grad = asc_grad(asc_params_at(params, i));
        bool expected = asc_replay_use(r, name) != NULL;
        if (expected != asc_is_valid(grad)) {
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

static void run_layer(asc_replay *r, asc_layer *layer, asc_tensor x, asc_tensor lengths)
{
    asc_replay_load(r, asc_layer_params(layer));
    if (!r->report->passed || asc_error(r->ctx)) {
        return;
    }
    asc_require_grad(x, true);
    asc_tensor y = asc_layer_forward(layer, x, lengths);
    asc_replay_compare(r, "out.y", y, asc_value_agreement);
    asc_tensor upstream = take_input(r, "upstream.y");
    if (!asc_error(r->ctx) && !asc_backward(r->ctx, y, upstream, false)) {
        compare_gradients(r, asc_layer_params(layer), x);
    }
}

void asc_replay_layer(asc_replay *r, const char *mixing)
{
    asc_tensor x = take_input(r, "in.x"), lengths = take_lengths(r);
    add_defaults(r, mixing);
    char *config = asc_replay_config(r);
    asc_layer *layer = config ? asc_layer_new(r->ctx, mixing, asc_size(x, -1), config, ASC_F64, 0) : NULL;
    if (layer) {
        run_layer(r, layer, x, lengths);
    }
    asc_layer_free(layer);
    free(config);
}
