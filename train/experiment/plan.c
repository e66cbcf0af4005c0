/* train/experiment/plan.c: the runs that an experiment comes to, their names and settings. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/locale.h"
#include "train/experiment/experiment.h"
#include "train/settings.h"

enum { NAME = 200 };

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "experiment: out of memory");
}

/* ---- names ---- */

/* Adds to a name, which is a folder's, what is no trouble in a shell or in a list of runs. */
static void append(char name[NAME], const char *text)
{
    size_t n = strlen(name);
    for (; *text && n < NAME - 1; text++) {
        name[n++] = asc_is_letter(*text) || isdigit((unsigned char)*text) || strchr("._+-", *text) ? *text : '_';
    }
    name[n] = '\0';
}

static void append_values(char name[NAME], const json_t *values)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)values, key, value) {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                                                          JSON_REAL_PRECISION(15));
        append(name, "-");
        append(name, key);
        append(name, text ? text : json_string_value(value));
        asc_text_drop(text);
    }
}

static asc_status check_name(const asc_experiment *e, const char *name)
{
    if (strlen(name) >= NAME - 1) {
        return asc_fail(e->ctx, ASC_ERR_ARG, "the run %s would have too long a name", name);
    }
    for (int i = 0; i < e->n; i++) {
        if (strcmp(e->runs[i].info.name, name) == 0) {
            return asc_fail(e->ctx, ASC_ERR_ARG, "two runs would have the name %s, in which all but letters, digits "
                            "and ._+- is _: give a system another name, or the grid other values", name);
        }
    }
    return ASC_OK;
}

/* ---- runs ---- */

static asc_plan_run *add_run(asc_experiment *e, const char *name)
{
    size_t n = (size_t)e->n;
    if (check_name(e, name)) {
        return NULL;
    }
    if ((n + 1) * sizeof *e->runs > e->bytes) {
        size_t bytes = (2 * n + 8) * sizeof *e->runs;
        void *runs = asc_alloc(e->ctx, bytes);
        if (!runs) {
            return NULL;
        }
        if (n > 0) {
            memcpy(runs, e->runs, n * sizeof *e->runs);
        }
        asc_free(e->ctx, e->runs, e->bytes);
        e->runs = runs;
        e->bytes = bytes;
    }
    asc_plan_run *r = &e->runs[n];
    *r = (asc_plan_run){
        .info.name = asc_path_copy(e->ctx, name), .valid_loss = NAN, .wall_s = NAN, .valid_accuracy = NAN};
    if (!r->info.name) {
        return NULL;
    }
    e->n++;
    return r;
}

/* What makes one run of many. */
typedef struct spec {
    int system;
    const char *system_name;
    json_t *system_settings, *grid, *candidate; /* candidate: NULL but of tuning */
    json_int_t seed;
    bool first;
} spec;

static asc_status make_run(asc_experiment *e, const spec *s)
{
    char name[NAME] = "";
    json_t *tune = json_object_get(e->def, "tune"), *steps = json_object_get(tune, "steps");
    append(name, s->candidate ? "tune-" : "");
    append(name, s->system_name);
    append_values(name, s->candidate ? s->candidate : s->grid);
    snprintf(name + strlen(name), sizeof name - strlen(name), "-%lld", (long long)s->seed);
    asc_plan_run *r = add_run(e, name);
    if (!r) {
        return asc_error(e->ctx);
    }
    r->info.system = s->system;
    r->info.seed = s->seed;
    r->info.tuning = s->candidate;
    r->first = s->first;
    r->base = json_deep_copy(json_object_get(e->def, "common"));
    r->own = json_object();
    json_t *last = s->candidate && json_is_integer(steps) ? json_pack("{s:O, s:I}", "steps", steps, "seed", s->seed)
                                         : json_pack("{s:I}", "seed", s->seed);
    const char *key;
    json_t *value;
    json_object_foreach(s->system_settings, key, value) {
        if (json_is_null(value)) {
            json_object_del(r->base, key);
        }
    }
    asc_status status = asc_lay(e->ctx, r->own, s->system_settings);
    status = status ? status : asc_lay(e->ctx, r->own, s->grid);
    status = status || !s->candidate ? status : asc_lay(e->ctx, r->own, s->candidate);
    status = status ? status : asc_lay(e->ctx, r->own, last);
    json_decref(last);
    return status;
}

/* Combination number i of a grid's values, the last key's changing fastest; NULL past the last. New. */
static json_t *combination(const json_t *grid, size_t i)
{
    const char *key;
    json_t *values, *object = json_object();
    size_t left = 1;
    json_object_foreach((json_t *)grid, key, values) {
        left *= json_array_size(values);
    }
    if (i >= left) {
        json_decref(object);
        return NULL;
    }
    json_object_foreach((json_t *)grid, key, values) {
        left /= json_array_size(values);
        json_object_set(object, key, json_array_get(values, i / left));
        i %= left;
    }
    return object;
}

/* One run for each combination. */
static asc_status add_combinations(asc_experiment *e, spec *s, const json_t *grid)
{
    asc_status status = ASC_OK;
    json_t *chosen;
    bool tuning = s->grid;
    for (size_t i = 0; !status && (chosen = combination(grid, i)); i++) {
        if (tuning) {
            s->candidate = chosen;
        } else {
            s->grid = chosen;
        }
        status = make_run(e, s);
        json_decref(chosen);
    }
    return status;
}

static asc_status add_tuning(asc_experiment *e)
{
    json_t *tune = json_object_get(e->def, "tune"), *seed = json_object_get(tune, "seed");
    json_t *first = combination(json_object_get(e->def, "grid"), 0), *settings;
    spec s = {.seed = json_is_integer(seed) ? json_integer_value(seed) : 1, .first = true};
    asc_status status = ASC_OK;
    json_object_foreach(json_object_get(e->def, "systems"), s.system_name, settings) {
        s.grid = first;
        s.system_settings = settings;
        status = status ? status : add_combinations(e, &s, json_object_get(tune, "grid"));
        s.system++;
    }
    json_decref(first);
    return status;
}

/* One seed of all systems, or of those that have it as one more. */
static asc_status add_seed(asc_experiment *e, const json_t *seed, bool first, bool more)
{
    json_t *settings, *extra = json_object_get(e->def, "more_seeds");
    asc_status status = ASC_OK;
    spec s = {.seed = json_integer_value(seed), .first = first};
    json_object_foreach(json_object_get(e->def, "systems"), s.system_name, settings) {
        if (!more || asc_list_holds(json_object_get(extra, s.system_name), SIZE_MAX, seed)) {
            s.grid = NULL;
            s.system_settings = settings;
            status = status ? status : add_combinations(e, &s, json_object_get(e->def, "grid"));
        }
        s.system++;
    }
    return status;
}

/* Seed by seed: whoever looks half-way finds all systems. */
static asc_status add_runs(asc_experiment *e)
{
    size_t i, k;
    const char *system;
    json_t *seed, *seeds, *done = json_array();
    asc_status status = ASC_OK;
    json_array_foreach(json_object_get(e->def, "seeds"), i, seed) {
        status = status ? status : add_seed(e, seed, i == 0, false);
    }
    json_object_foreach(json_object_get(e->def, "more_seeds"), system, seeds) {
        json_array_foreach(seeds, k, seed) {
            if (!asc_list_holds(done, SIZE_MAX, seed)) {
                json_array_append(done, seed);
                status = status ? status : add_seed(e, seed, false, true);
            }
        }
    }
    json_decref(done);
    return status;
}

/* The seeds of all systems, and those that some have more. */
static double count_seeds(const asc_experiment *e)
{
    const char *system;
    json_t *seeds, *systems = json_object_get(e->def, "systems");
    double n = (double)json_array_size(json_object_get(e->def, "seeds")) * (double)json_object_size(systems);
    json_object_foreach(json_object_get(e->def, "more_seeds"), system, seeds) {
        n += (double)json_array_size(seeds);
    }
    return n;
}

static double combinations(const json_t *grid)
{
    const char *key;
    json_t *values;
    double n = 1;
    json_object_foreach((json_t *)grid, key, values) {
        n *= (double)json_array_size(values);
    }
    return n;
}

/* A list too many in a grid is a slip, and would fill memory before anything is said. */
static asc_status check_size(const asc_experiment *e)
{
    const json_t *tune = json_object_get(e->def, "tune");
    double systems = (double)json_object_size(json_object_get(e->def, "systems")),
           runs = count_seeds(e) * combinations(json_object_get(e->def, "grid")) +
                  (tune ? systems * combinations(json_object_get(tune, "grid")) : 0);
    if (runs > MOST_RUNS) {
        asc_fail(e->ctx, ASC_ERR_ARG, "systems, grid and seeds come to %.0f runs, expected at most %d", runs,
                 MOST_RUNS);
    }
    return asc_error(e->ctx);
}

asc_status asc_plan(asc_experiment *e)
{
    asc_status status = check_size(e);
    status = status || !json_object_get(e->def, "tune") ? status : add_tuning(e);
    e->n_tuning = e->n;
    return status ? status : add_runs(e);
}

void asc_plan_clear(asc_experiment *e)
{
    for (int i = 0; i < e->n; i++) {
        asc_plan_run *r = &e->runs[i];
        asc_claim_drop(r->claim);
        asc_path_free(e->ctx, (char *)r->info.name);
        asc_path_free(e->ctx, (char *)r->info.folder);
        asc_path_free(e->ctx, r->settings);
        asc_text_drop(r->value);
        json_decref(r->base);
        json_decref(r->own);
    }
    asc_free(e->ctx, e->runs, e->bytes);
    e->runs = NULL;
    e->n = e->n_tuning = 0;
    e->bytes = 0;
}

/* ---- settings ---- */

/* Of a tuned run's settings, those that were tuned. */
static asc_status lay_tuned(const asc_experiment *e, json_t *settings, const asc_plan_run *tuned)
{
    const char *key;
    json_t *values, *found = json_object();
    json_object_foreach(json_object_get(json_object_get(e->def, "tune"), "grid"), key, values) {
        json_object_set(found, key, json_object_get(tuned->own, key));
    }
    asc_status status = asc_lay(e->ctx, settings, found);
    json_decref(found);
    return status;
}

json_t *asc_plan_own(const asc_experiment *e, const asc_plan_run *r, const asc_plan_run *tuned)
{
    json_t *own = json_deep_copy(r->own);
    if (!own || (tuned && lay_tuned(e, own, tuned))) {
        no_memory(e->ctx);
        json_decref(own);
        return NULL;
    }
    return own;
}

json_t *asc_plan_settings(const asc_experiment *e, const asc_plan_run *r, const asc_plan_run *tuned)
{
    json_t *settings = json_deep_copy(r->base), *own = asc_plan_own(e, r, tuned);
    if (!settings || !own || asc_lay(e->ctx, settings, own)) {
        no_memory(e->ctx);
        json_decref(settings);
        settings = NULL;
    }
    json_decref(own);
    return settings;
}
