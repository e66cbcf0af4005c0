/* train/measure/parity.c: a parity case: opening, replaying by its kind, the verdict. */
#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"
#include "train/measure/parity.h"

static const struct kind {
    const char *name;
    const char *mixing;         /* of a layer; NULL: a run */
    void (*run)(asc_replay *r); /* of a run */
} kinds[] = {
    {"attention", "transformer", NULL},
    {"grassmann", "grassmann", NULL},
    {"conv", "conv", NULL},
    {"recurrent", "recurrent", NULL},
    {"linear", "linear", NULL},
    {"ascender", "ascender", NULL},
    {"train", NULL, asc_replay_run},
    {"nli", NULL, asc_replay_pairs},
};

static void replay_kind(asc_replay *r)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(r->report->kind, kinds[k].name) == 0) {
            if (kinds[k].mixing) {
                asc_replay_layer(r, kinds[k].mixing);
            } else {
                kinds[k].run(r);
            }
            return;
        }
    }
    asc_replay_disagree(r, "cases of kind '%s' are not known", r->report->kind);
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
