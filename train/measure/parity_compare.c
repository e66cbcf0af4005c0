/* train/measure/parity_compare.c: what the kinds of cases share: their tensors and settings, compared and reported. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "train/measure/parity.h"

/* ---- the report ---- */

/* Names come from the case, and may have line ends: a report stays one line. */
static void tidy(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '\x7f') {
            *text = '?';
        }
    }
}

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
    asc_vsnprintf(report->reason + at, size - at, format, args);
    va_end(args);
    tidy(report->reason + at);
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

/* The largest |got − expected| in units of what the agreement is relative to; infinite where one is not finite and the
 * other is not the same. */
static double difference(const double *got, const double *expected, int64_t n, asc_agreement agreement)
{
    double most = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        double off = got[i] == expected[i] ? 0 : fabs(got[i] - expected[i]);
        most = isfinite(expected[i]) ? fmax(most, fabs(expected[i])) : most;
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
    if (!(error <= agreement.relative)) {
        asc_replay_disagree(r, "%s is off by %.3g, expected at most %g", name, error, agreement.relative);
    }
}

static asc_status find_param(void *user, const char *name, int ndim, const int64_t *shape)
{
    const asc_replay *r = user;
    char full[160], text[2][ASC_SHAPE_TEXT];
    asc_array wanted = {.ndim = -1}, found = {.ndim = -1};
    snprintf(full, sizeof full, "param.%s", name);
    const asc_safetensors_entry *e = asc_safetensors_find(r->file, full);
    if (!e) {
        return asc_fail(r->ctx, ASC_ERR_ARG, "the case has no %s", full);
    }
    bool fits = asc_array_init(&wanted, ASC_F64, ndim, shape) && asc_array_init(&found, ASC_F64, e->ndim, e->shape);
    if (!fits || !asc_same_shape(&wanted, &found)) {
        return asc_fail(r->ctx, ASC_ERR_ARG, "%s is %s, expected %s", full, asc_shape_text(&wanted, text[0]),
                        asc_shape_text(&found, text[1]));
    }
    return ASC_OK;
}

asc_values_source asc_replay_source(asc_replay *r)
{
    return (asc_values_source){find_param, r};
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
