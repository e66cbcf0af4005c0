/* tools/report/gather.c: the runs of an experiment, by system and values of the grid. */
#include "tools/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double *report_numbers(report *r, int64_t n)
{
    return cli_room(r->ctx, n, sizeof(double));
}

static asc_status no_memory(report *r)
{
    return asc_fail(r->ctx, ASC_ERR_MEMORY, "out of memory for the report");
}

/* One more element of an array that grows by one; NULL with the error set. */
static void *grow(report *r, void *array, int64_t n, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    char *more = realloc(old, (size_t)(n + 1) * size);
    if (!more) {
        no_memory(r);
        return NULL;
    }
    memcpy(array, &more, sizeof more);
    return memset(more + (size_t)n * size, 0, size);
}

/* "layers 6, lr 0.001" of the grid's keys; "" without a grid. */
static void name_cell(report *r, int run, char name[REPORT_NAME])
{
    const char *key;
    size_t used = 0;
    name[0] = '\0';
    for (int k = 0; (key = asc_experiment_key(r->experiment, k)) && used < REPORT_NAME; k++) {
        const char *value = asc_experiment_value(r->experiment, run, key);
        size_t n = value ? strlen(value) : 0;
        bool text = n >= 2 && *value == '"';
        used += (size_t)snprintf(name + used, REPORT_NAME - used, "%s%s %.*s", k ? ", " : "", key,
                                 (int)(text ? n - 2 : n), value ? value + text : "");
    }
    name[cli_whole(name, REPORT_NAME - 1)] = '\0';
}

/* Whether two runs have the same values of the grid. */
static bool is_same_cell(report *r, int a, int b)
{
    const char *key;
    bool same = true;
    for (int k = 0; same && (key = asc_experiment_key(r->experiment, k)); k++) {
        const char *x = asc_experiment_value(r->experiment, a, key), *y = asc_experiment_value(r->experiment, b, key);
        same = x && y ? strcmp(x, y) == 0 : x == y;
    }
    return same;
}

/* Names that were cut may be equal; what stands behind tells them apart. `number`: of those of that name so far. */
static void number_name(char name[REPORT_NAME], int number)
{
    enum { MARK = 16 };
    size_t at = cli_whole(name, REPORT_NAME - MARK);
    if (number > 1) {
        snprintf(name + at, REPORT_NAME - at, " #%d", number);
    }
}

static int find_cell(report *r, int run)
{
    int alike = 1;
    char name[REPORT_NAME];
    for (int i = 0; i < r->n_cells; i++) {
        if (is_same_cell(r, r->cells[i].run, run)) {
            return i;
        }
    }
    name_cell(r, run, name);
    for (int i = 0; i < r->n_cells; i++) {
        char other[REPORT_NAME];
        name_cell(r, r->cells[i].run, other);
        alike += strcmp(other, name) == 0;
    }
    cell *c = grow(r, &r->cells, r->n_cells, sizeof *c);
    if (!c) {
        return -1;
    }
    snprintf(c->name, sizeof c->name, "%s", name);
    number_name(c->name, alike);
    c->run = run;
    c->baseline = -1;
    return r->n_cells++;
}

static void name_variant(report *r, variant *v)
{
    const char *name = r->cells[v->cell].name, *system = asc_experiment_system(r->experiment, v->system);
    snprintf(v->cut, sizeof v->cut, "%.*s%s%.*s", (int)cli_whole(system, 80), system, *name ? ", " : "",
             (int)cli_whole(name, 70), name);
    snprintf(v->name, sizeof v->name, "%s", v->cut);
    int alike = 1;
    for (const variant *other = r->variants; other < v; other++) {
        alike += strcmp(other->cut, v->cut) == 0;
    }
    number_name(v->name, alike);
}

static variant *find_variant(report *r, int system, int cell, int run)
{
    for (int i = 0; i < r->n_variants; i++) {
        if (r->variants[i].system == system && r->variants[i].cell == cell) {
            return &r->variants[i];
        }
    }
    variant *v = cell < 0 ? NULL : grow(r, &r->variants, r->n_variants, sizeof *v);
    if (v) {
        v->system = system;
        v->cell = cell;
        v->first = run;
        v->mark = "";
        name_variant(r, v);
        r->n_variants++;
    }
    return v;
}

static asc_status add_run(report *r, int number, const asc_experiment_run *planned)
{
    variant *v = find_variant(r, planned->system, find_cell(r, number), number);
    if (!v) {
        return asc_error(r->ctx);
    }
    v->failed += planned->state == ASC_EXPERIMENT_STATE_FAILED;
    if (planned->state != ASC_EXPERIMENT_STATE_DONE) {
        return ASC_OK;
    }
    asc_run *run = asc_run_read(r->ctx, planned->folder);
    if (!run && asc_error(r->ctx) != ASC_ERR_MEMORY) {
        report_leave_out(r, "not read");
        return ASC_OK;
    }
    trained *t = run ? grow(r, &v->runs, v->n, sizeof *t) : NULL;
    if (!t) {
        asc_run_free(run);
        return asc_error(r->ctx);
    }
    *t = (trained){.run = run, .seed = planned->seed, .mixing_gflop = NAN, .speed = {NAN, NAN}, .hard = NAN};
    v->n++;
    return ASC_OK;
}

/* A run of the tuning is read where it is told (settings.c); one that can't be is named among what is left out. */
static void check_tried(report *r, const asc_experiment_run *run)
{
    bool done = run->state == ASC_EXPERIMENT_STATE_DONE;
    asc_run_free(done ? asc_run_read(r->ctx, run->folder) : NULL);
    if (asc_error(r->ctx) && asc_error(r->ctx) != ASC_ERR_MEMORY) {
        report_leave_out(r, "not read");
    }
}

/* By cell, in it by system: the order of the tables. */
static int by_cell(const void *a, const void *b)
{
    const variant *x = a, *y = b;
    return x->cell != y->cell ? x->cell - y->cell : x->system - y->system;
}

asc_status report_gather(report *r)
{
    const asc_experiment_run *run;
    for (int i = 0; (run = asc_experiment_run_at(r->experiment, i)) && asc_error(r->ctx) == ASC_OK; i++) {
        if (run->tuning) {
            check_tried(r, run);
        } else {
            add_run(r, i, run);
        }
    }
    if (asc_error(r->ctx) == ASC_OK && r->n_variants > 0) {
        qsort(r->variants, (size_t)r->n_variants, sizeof *r->variants, by_cell);
    }
    return asc_error(r->ctx);
}

void report_free(report *r)
{
    for (int i = 0; i < r->n_variants; i++) {
        for (int64_t k = 0; k < r->variants[i].n; k++) {
            asc_scores_free(r->ctx, r->variants[i].runs[k].scores);
            asc_run_free(r->variants[i].runs[k].run);
        }
        free(r->variants[i].runs);
    }
    for (int i = 0; i < r->n_cells; i++) {
        asc_compared_free(r->ctx, r->cells[i].compared);
        free(r->cells[i].order);
    }
    free(r->variants);
    free(r->cells);
    json_decref(r->wants);
    json_decref(r->files);
    json_decref(r->left_out);
    asc_experiment_free(r->experiment);
}

asc_spread report_spread_of(report *r, const double *values, int64_t n)
{
    asc_spread s = {NAN, NAN};
    for (int64_t i = 0; i < n; i++) {
        if (isinf(values[i])) {
            return (asc_spread){values[i], NAN};
        }
    }
    if (n > 0) {
        s.mean = asc_stats_mean(r->ctx, values, n, &s.std);
    }
    return s;
}

asc_spread report_spread(report *r, const variant *v, report_number *number)
{
    asc_spread s = {NAN, NAN};
    int64_t n = 0;
    asc_scope_begin(r->ctx);
    double *values = report_numbers(r, v->n);
    for (int64_t i = 0; values && i < v->n; i++) {
        double value = number(&v->runs[i]);
        if (!isnan(value)) {
            values[n++] = value;
        }
    }
    if (values) {
        s = report_spread_of(r, values, n);
    }
    asc_scope_end(r->ctx);
    return s;
}
