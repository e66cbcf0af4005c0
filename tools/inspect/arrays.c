/* tools/inspect/arrays.c: a layer's parts as arrays for NumPy. */
#include <string.h>

#include <ascgrad/npz.h>
#include <ascgrad/ops.h>

#include "tools/inspect/inspect.h"

enum { ARRAYS_MAX = 32, OF_PLANES = 4, OF_PATHS = 6 };

/* A part of the one sequence that there is, and of the one head that was asked for: without these dimensions. */
static asc_tensor cut(const inspection *in, const char *name, asc_tensor part)
{
    int64_t heads = inspect_heads(in, in->layer);
    bool by_batch = asc_ndim(part) >= 3, rows = strcmp(name, "entropy_rows") == 0;
    bool by_head = rows || asc_ndim(part) == 4 || (asc_ndim(part) == 1 && heads > 0);
    if (by_batch) {
        part = asc_squeeze(in->ctx, part, 0);
    }
    int dim = strcmp(name, "decay") == 0; /* of rows and heads */
    if (heads > 0 && (by_head || dim == 1) && in->head >= 0) {
        part = asc_squeeze(in->ctx, asc_slice(in->ctx, part, dim, in->head, in->head + 1, 1), dim);
    }
    return part;
}

/* What the planes' coordinates say, as angles and as their mean. */
static int64_t add_planes(const inspection *in, asc_npz_array *arrays, int64_t n)
{
    asc_tensor p = inspect_planes(in, in->parts, in->layer);
    if (asc_is_null(p)) {
        return n;
    }
    asc_tensor spectrum, mean = inspect_mean_planes(in, p, &spectrum);
    asc_tensor below = inspect_below_angles(in, in->parts, in->below, in->layer);
    if (asc_size(p, 0) > 1) {
        arrays[n++] = (asc_npz_array){.name = "angles_next", .tensor = inspect_next_angles(in, p)};
    }
    if (!asc_is_null(below)) {
        arrays[n++] = (asc_npz_array){.name = "angles_below", .tensor = below};
    }
    arrays[n++] = (asc_npz_array){.name = "mean_vectors", .tensor = mean};
    arrays[n++] = (asc_npz_array){.name = "mean_spectrum", .tensor = spectrum};
    return n;
}

/* What the directions say of their path. */
static int64_t add_path(const inspection *in, asc_npz_array *arrays, int64_t n)
{
    asc_ctx *ctx = in->ctx;
    asc_tensor u = inspect_flow(in, in->parts), share;
    asc_tensor stability = inspect_stability(in, in->parts, in->below, in->layer);
    if (asc_is_null(u)) {
        return n;
    }
    asc_tensor path = asc_flow_path(ctx, u), leading = asc_flow_leading(ctx, u, &share);
    for (int i = 0; i < 2; i++) {
        asc_tensor column = asc_squeeze(ctx, asc_contiguous(ctx, asc_slice(ctx, path, 1, i, i + 1, 1)), 1);
        arrays[n++] = (asc_npz_array){.name = i == 0 ? "alignment" : "curvature", .tensor = column};
    }
    if (!asc_is_null(stability)) {
        arrays[n++] = (asc_npz_array){.name = "stability_below", .tensor = stability};
    }
    arrays[n++] = (asc_npz_array){.name = "mean_direction", .tensor = asc_flow_mean(ctx, u)};
    arrays[n++] = (asc_npz_array){.name = "leading_direction", .tensor = leading};
    arrays[n++] = (asc_npz_array){.name = "leading_share", .tensor = share};
    return n;
}

asc_status inspect_write_arrays(inspection *in)
{
    asc_npz_array arrays[ARRAYS_MAX];
    int64_t n = 0;
    char path[4096];
    snprintf(path, sizeof path, "%s.npz", in->stem);
    asc_scope_begin(in->ctx);
    arrays[n++] = (asc_npz_array){.name = "tokens", .texts = in->tokens.texts, .n_texts = in->tokens.n};
    arrays[n++] = (asc_npz_array){.name = "ids", .tensor = asc_squeeze(in->ctx, in->ids, 0)};
    for (int i = 0; i < asc_params_count(in->parts) && n + OF_PLANES + OF_PATHS < ARRAYS_MAX; i++) {
        const char *name = asc_params_name(in->parts, i);
        arrays[n++] = (asc_npz_array){.name = name, .tensor = cut(in, name, asc_params_at(in->parts, i))};
    }
    n = add_planes(in, arrays, n);
    n = add_path(in, arrays, n);
    asc_status status = asc_error(in->ctx) ? asc_error(in->ctx) : asc_npz_write(in->ctx, path, arrays, n);
    asc_scope_end(in->ctx);
    if (!status) {
        json_array_append_new(in->files, cli_json_string(path));
    }
    return status;
}
