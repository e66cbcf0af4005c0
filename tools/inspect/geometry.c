/* tools/inspect/geometry.c: the planes of a Grassmann layer, as its settings arrange them. */
#include <string.h>

#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

/* A setting of a layer: a list may have one entry for each. */
static json_t *setting(const inspection *in, const char *key, int64_t layer)
{
    json_t *value = json_object_get(in->config, key);
    bool per_layer = json_is_array(value) && (int64_t)json_array_size(value) == in->layers;
    return per_layer ? json_array_get(value, (size_t)layer) : value;
}

/* A layer's tuples of lags; NULL where it has offsets. The setting is one list of them, or a list a layer. */
static json_t *tuples_of(const inspection *in, int64_t layer)
{
    json_t *tuples = json_object_get(in->config, "tuples"), *entry;
    size_t i;
    json_array_foreach(tuples, i, entry)
    {
        if (json_array_size(entry) == 0 || json_is_array(json_array_get(entry, 0))) {
            tuples = json_array_get(tuples, (size_t)layer);
            break;
        }
    }
    return json_array_size(tuples) > 0 ? tuples : NULL;
}

/* Whether its coordinates are of planes: not of a control of the wedge, nor of larger subspaces. */
static bool has_planes(const inspection *in, int64_t layer)
{
    const char *pair = json_string_value(setting(in, "pair", layer));
    json_t *tuples = tuples_of(in, layer);
    return (!pair || strcmp(pair, "wedge") == 0) && (!tuples || json_array_size(json_array_get(tuples, 0)) == 1);
}

asc_tensor inspect_planes(const inspection *in, const asc_params *parts, int64_t layer)
{
    asc_tensor p = asc_params_find(parts, "plucker");
    if (asc_is_null(p) || !has_planes(in, layer)) {
        return asc_null();
    }
    int64_t groups = json_integer_value(setting(in, "groups", layer));
    groups = groups > 0 ? groups : 1;
    return asc_reshape(in->ctx, p, ASC_SHAPE(asc_size(p, 1), asc_size(p, 2), groups, asc_size(p, 3) / groups));
}

asc_tensor inspect_next_angles(const inspection *in, asc_tensor p)
{
    return asc_plane_angles(in->ctx, asc_slice(in->ctx, p, 0, 0, asc_size(p, 0) - 1, 1),
                            asc_slice(in->ctx, p, 0, 1, ASC_SLICE_END, 1));
}

asc_tensor inspect_below_angles(const inspection *in, const asc_params *parts, const asc_params *below, int64_t layer)
{
    asc_tensor p = inspect_planes(in, parts, layer), q = below ? inspect_planes(in, below, layer - 1) : asc_null();
    bool comparable = !asc_is_null(p) && !asc_is_null(q);
    for (int d = 0; d < asc_ndim(p) && comparable; d++) {
        comparable = asc_size(p, d) == asc_size(q, d);
    }
    return comparable ? asc_plane_angles(in->ctx, p, q) : asc_null();
}

asc_tensor inspect_mean_planes(const inspection *in, asc_tensor p, asc_tensor *spectrum)
{
    asc_ctx *ctx = in->ctx;
    int64_t G = asc_size(p, 2), q = asc_plane_space(asc_size(p, 3));
    asc_tensor vectors = asc_zeros(ctx, ASC_F64, ASC_SHAPE(G, q, q));
    *spectrum = asc_zeros(ctx, ASC_F64, ASC_SHAPE(G, q));
    for (int64_t g = 0; g < G; g++) {
        asc_tensor values, mean = asc_plane_mean(ctx, asc_slice(ctx, p, 2, g, g + 1, 1), &values);
        asc_copy(ctx, asc_slice(ctx, vectors, 0, g, g + 1, 1), asc_unsqueeze(ctx, mean, 0));
        asc_copy(ctx, asc_slice(ctx, *spectrum, 0, g, g + 1, 1), asc_unsqueeze(ctx, values, 0));
    }
    return vectors;
}

static json_t *offsets_of(const inspection *in, int64_t layer)
{
    json_t *offsets = json_object_get(in->config, "offsets");
    return json_is_array(json_array_get(offsets, 0)) ? json_array_get(offsets, (size_t)layer) : offsets;
}

static json_t *memory_of(const inspection *in, int64_t layer)
{
    json_t *memory = json_object_get(in->config, "memory");
    return json_is_array(memory) ? json_array_get(memory, (size_t)layer) : memory;
}

/* Whether values are the same, none among them. */
static bool are_same(const json_t *a, const json_t *b)
{
    return a == b || json_equal(a, b);
}

bool inspect_same_pairs(const inspection *in, int64_t layer, int64_t other)
{
    return are_same(offsets_of(in, layer), offsets_of(in, other)) &&
           are_same(tuples_of(in, layer), tuples_of(in, other)) && are_same(memory_of(in, layer), memory_of(in, other));
}

/* Where the tokens paired with stand: "past", "future" or "both", where each offset is one behind and one ahead. */
static const char *direction_of(const inspection *in)
{
    const char *direction = json_string_value(json_object_get(in->config, "direction"));
    const char *mask = json_string_value(json_object_get(in->config, "mask"));
    return direction ? direction : mask && strcmp(mask, "full") == 0 ? "both" : "past";
}

void inspect_pair_name(const inspection *in, int64_t layer, int64_t pair, char *name, size_t bytes)
{
    json_t *offsets = offsets_of(in, layer), *tuples = tuples_of(in, layer);
    const char *direction = tuples ? "past" : direction_of(in);
    int64_t each = strcmp(direction, "both") == 0 ? 2 : 1, place = pair / each;
    bool ahead = each == 2 ? pair % 2 == 1 : strcmp(direction, "future") == 0;
    json_int_t offset = json_integer_value(tuples ? json_array_get(json_array_get(tuples, (size_t)place), 0)
                                                  : json_array_get(offsets, (size_t)place));
    if (offset > 0) {
        snprintf(name, bytes, "t%c%lld", ahead ? '+' : '-', (long long)offset);
    } else if (pair == each * (int64_t)json_array_size(offsets)) {
        snprintf(name, bytes, "memory");
    } else {
        snprintf(name, bytes, "pair %lld", (long long)pair);
    }
}
