/* train/measure/parity.c: a parity case: opening, comparing, reporting. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/measure/parity.h"

/* ---- the report ---- */

void asc_replay_disagree(asc_replay *r, const char *format, ...)
{
    asc_parity_report *report = r->report;
    size_t at = strlen(report->reason), size = sizeof report->reason;
    report->passed = false;
    if (at > 0) {
        snprintf(report->reason + at, size - at, "; ");
        at = strlen(report->reason);
    }
    va_list args;
    va_start(args, format);
    vsnprintf(report->reason + at, size - at, format, args);
    va_end(args);
}

/* What the library refused is why the case does not pass; what no case is to blame for stays an error. */
static asc_status settle(asc_replay *r)
{
    asc_status status = asc_error(r->ctx);
    if (status == ASC_OK || status == ASC_ERR_MEMORY || status == ASC_ERR_IO || status == ASC_ERR_FORMAT) {
        return status;
    }
    asc_replay_disagree(r, "%s", asc_error_message(r->ctx));
    asc_error_clear(r->ctx);
    return ASC_OK;
}

/* ---- tensors of the file ---- */

const asc_safetensors_entry *asc_replay_use(asc_replay *r, const char *name)
{
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(r->file, i)); i++) {
        if (strcmp(e->name, name) == 0) {
            r->used[i] = true;
            return e;
        }
    }
    return NULL;
}

/* Whether the shapes agree; says so if not. */
static bool same_shape(asc_replay *r, const asc_safetensors_entry *e, asc_tensor t)
{
    asc_array got = asc_array_of(t), expected;
    asc_array_init(&expected, ASC_F64, e->ndim, e->shape);
    if (asc_same_shape(&got, &expected)) {
        return true;
    }
    char a[ASC_SHAPE_TEXT], b[ASC_SHAPE_TEXT];
    asc_replay_disagree(r, "%s is %s, expected %s", e->name, asc_shape_text(&got, a), asc_shape_text(&expected, b));
    return false;
}

/* The largest |got − expected| in units of what the agreement is relative to. */
static double difference(const double *got, const double *expected, int64_t n, asc_agreement agreement)
{
    double most = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        double off = fabs(got[i] - expected[i]);
        most = fmax(most, fabs(expected[i]));
        error = isfinite(off) ? fmax(error, off) : INFINITY;
    }
    return error / fmax(most, agreement.absolute / agreement.relative);
}

void asc_replay_compare(asc_replay *r, const char *name, asc_tensor got, asc_agreement agreement)
{
    if (asc_error(r->ctx)) {
        return;
    }
    const asc_safetensors_entry *e = asc_replay_use(r, name);
    if (!e) {
        asc_replay_disagree(r, "the case has no %s", name);
        return;
    }
    if (!same_shape(r, e, got)) {
        return;
    }
    asc_array a = asc_array_of(got);
    asc_tensor expected = asc_safetensors_read(r->ctx, r->file, name, ASC_F64);
    asc_tensor flat = asc_empty(r->ctx, ASC_F64, a.ndim, a.shape);
    if (asc_error(r->ctx) || asc_copy(r->ctx, flat, got)) {
        return;
    }
    double error = difference(asc_data(flat), asc_data(expected), a.numel, agreement);
    asc_release(flat);
    asc_release(expected);
    asc_parity_report *report = r->report;
    if (report->compared++ == 0 || error > report->worst_error) {
        report->worst_error = error;
        snprintf(report->worst_tensor, sizeof report->worst_tensor, "%s", name);
    }
    if (error > agreement.relative) {
        asc_replay_disagree(r, "%s is off by %.3g, expected at most %g", name, error, agreement.relative);
    }
}

void asc_replay_load(asc_replay *r, asc_params *params)
{
    for (int i = 0; i < asc_params_count(params); i++) {
        char name[160];
        snprintf(name, sizeof name, "param.%s", asc_params_name(params, i));
        const asc_safetensors_entry *e = asc_replay_use(r, name);
        if (!e) {
            asc_replay_disagree(r, "the case has no %s", name);
        } else if (same_shape(r, e, asc_params_at(params, i)) &&
                   asc_safetensors_read_into(r->ctx, r->file, name, asc_params_at(params, i))) {
            return;
        }
    }
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(r->file, i)); i++) {
        if (strncmp(e->name, "param.", 6) == 0 && !r->used[i]) {
            r->used[i] = true;
            asc_replay_disagree(r, "the model has no parameter %s", e->name + 6);
        }
    }
}

/* ---- the configuration ---- */

void asc_replay_default(asc_replay *r, const char *key, json_t *value)
{
    if (json_object_get(r->config, key)) {
        json_decref(value);
    } else if (json_object_set_new(r->config, key, value)) {
        asc_fail(r->ctx, ASC_ERR_MEMORY, "parity: out of memory");
    }
}

void asc_replay_ascender_defaults(asc_replay *r)
{
    asc_replay_default(r, "k", json_integer(4));
    asc_replay_default(r, "freeze_inert", json_false());
}

char *asc_replay_config(asc_replay *r)
{
    char *text = asc_error(r->ctx) ? NULL : json_dumps(r->config, JSON_COMPACT);
    if (!text) {
        asc_fail(r->ctx, ASC_ERR_MEMORY, "parity: out of memory");
    }
    return text;
}

/* ---- the case ---- */

static const struct kind {
    const char *name;
    const char *mixing; /* of a layer; NULL: a run */
} kinds[] = {
    {"attention", "transformer"},
    {"grassmann", "grassmann"},
    {"ascender", "ascender"},
    {"train", NULL},
};

static void replay_kind(asc_replay *r)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(r->report->kind, kinds[k].name) == 0) {
            if (kinds[k].mixing) {
                asc_replay_layer(r, kinds[k].mixing);
            } else {
                asc_replay_run(r);
            }
            return;
        }
    }
    asc_replay_disagree(r, "cases of kind '%s' are not known", r->report->kind);
}

/* A tensor that nothing was compared with would pass for one that agrees. */
static void find_unused(asc_replay *r)
{
    const asc_safetensors_entry *e;
    for (int64_t i = 0; (e = asc_safetensors_at(r->file, i)); i++) {
        if (!r->used[i]) {
            asc_replay_disagree(r, "%s was not compared with anything", e->name);
        }
    }
}

static asc_status replay_config(asc_replay *r)
{
    size_t n = (size_t)asc_safetensors_count(r->file) * sizeof *r->used;
    r->used = asc_alloc(r->ctx, n);
    if (!r->used) {
        return ASC_ERR_MEMORY;
    }
    memset(r->used, 0, n);
    asc_scope_begin(r->ctx);
    replay_kind(r);
    asc_scope_end(r->ctx);
    asc_status status = settle(r);
    if (!status && r->report->passed) {
        find_unused(r);
    }
    asc_free(r->ctx, r->used, n);
    return status;
}

static asc_status replay_file(asc_replay *r, const char *path)
{
    const char *kind = asc_safetensors_metadata(r->file, "case");
    const char *config = asc_safetensors_metadata(r->file, "config");
    if (!kind || !config) {
        return asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: no metadata '%s', expected a parity case", path,
                        kind ? "config" : "case");
    }
    snprintf(r->report->kind, sizeof r->report->kind, "%s", kind);
    json_error_t where;
    r->config = json_loads(config, JSON_REJECT_DUPLICATES, &where);
    asc_status status = ASC_OK;
    if (!json_is_object(r->config)) {
        status = asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: config: %s, expected a JSON object", path,
                          r->config ? "another value" : where.text);
    } else {
        status = replay_config(r);
    }
    json_decref(r->config);
    return status;
}

static void name_case(asc_parity_report *report, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".safetensors");
    snprintf(report->name, sizeof report->name, "%.*s", (int)(end ? end - name : (long)strlen(name)), name);
}

asc_status asc_parity_replay(asc_ctx *ctx, const char *path, asc_parity_report *report)
{
    asc_status status = ASC_NEED(ctx, "parity_replay: path report", path, report);
    if (status) {
        return status;
    }
    *report = (asc_parity_report){.passed = true};
    name_case(report, path);
    asc_safetensors *file = asc_error(ctx) ? NULL : asc_safetensors_open(ctx, path);
    asc_replay r = {.ctx = ctx, .file = file, .report = report};
    status = file ? replay_file(&r, path) : asc_error(ctx);
    asc_safetensors_close(file);
    report->passed &= !status;
    return status;
}
