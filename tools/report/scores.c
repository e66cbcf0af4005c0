/* tools/report/scores.c: what the models make of the split, each evaluated once, and which of them differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ascgrad/bench.h>
#include <ascgrad/safetensors.h>
#include <program/file.h>

#include "tools/open.h"
#include "tools/progress.h"
#include "tools/report/report.h"

/* ---- one model ---- */

/* The checksum of the run's model file; "" where it has none. */
static void model_checksum(report *r, const char *path, char checksum[16])
{
    asc_safetensors *file = asc_safetensors_open(r->ctx, path);
    const char *found = file ? asc_safetensors_metadata(file, ASC_SAFETENSORS_CRC) : NULL;
    snprintf(checksum, 16, "%s", found ? found : "");
    asc_safetensors_close(file);
}

/* Where a model's scores are kept: by what the model is, so that one trained anew is evaluated anew. */
static bool scores_path(report *r, const asc_run *run, int64_t block, char path[4096])
{
    char checksum[16], blocks[32] = "";
    snprintf(path, 4096, "%s/model.safetensors", asc_run_folder(run));
    model_checksum(r, path, checksum);
    if (block > 0) {
        snprintf(blocks, sizeof blocks, "-%lld", (long long)block);
    }
    snprintf(path, 4096, "%s/scores/%s-%s%s%s.safetensors", r->folder, checksum, r->split, r->carry ? "-carry" : "",
             blocks);
    return *checksum != '\0';
}

static asc_scores *evaluate(report *r, const asc_run *run, int64_t block)
{
    progress_watch watch = {.bar = progress_start(), .what = asc_run_folder(run)};
    asc_scores *scores = NULL;
    char cache[4096];
    asc_experiment_cache(r->experiment, 0, cache, sizeof cache);
    opened o = open_model(r->ctx, asc_run_folder(run), NULL, NULL);
    if (asc_error(r->ctx) == ASC_OK && open_split(r->ctx, &o, open_kind(r->split), true, block) == ASC_OK &&
        open_features(r->ctx, &o, open_kind(r->split), &(open_encoding){.cache = cache}) == ASC_OK) {
        asc_eval_options how = {.batch = o.model->batch, .length = block, .progress = progress_watched, .user = &watch,
                                .features = o.features, .carry = r->carry ? asc_lm_carry(o.model->lm) : 0};
        scores = asc_score(r->ctx, o.model, o.split, &how);
    }
    progress_clear(&watch.bar);
    open_close(r->ctx, &o);
    return scores;
}

asc_scores *report_score_one(report *r, const asc_run *run, int64_t block)
{
    char path[4096];
    struct stat s;
    bool kept = scores_path(r, run, block, path);
    if (asc_error(r->ctx)) {
        return NULL;
    }
    if (kept && stat(path, &s) == 0) {
        asc_scores *scores = asc_scores_read(r->ctx, path);
        if (scores && strstr(path, scores->model_checksum)) {
            return scores;
        }
        asc_scores_free(r->ctx, scores);
        asc_error_clear(r->ctx); /* one that is damaged, or of another model, is made anew */
    }
    asc_scores *scores = evaluate(r, run, block);
    if (scores && kept && asc_scores_write(r->ctx, scores, path)) {
        cli_message("not kept: %s", asc_error_message(r->ctx));
        asc_error_clear(r->ctx);
        r->status = CLI_IO;
    }
    return scores;
}

static bool is_set(const trained *t, const char *key, const char *unset)
{
    const char *value = asc_run_setting(t->run, key); /* JSON */
    return value && strcmp(value, unset) != 0;
}

/* The products of a variant's mixings, which are the same for all seeds. With carried context, of which first blocks
 * have less, or blocks that grow, a token's differ from block to block: all that the run counted, less the rest, which
 * does not. */
static void count_mixing(report *r, variant *v)
{
    double all, mixing;
    asc_model *model = v->n > 0 ? asc_model_open(r->ctx, asc_run_folder(v->runs[0].run), NULL, NULL) : NULL;
    if (model && asc_bench_flops(r->ctx, model->lm, &all, &mixing) == ASC_OK) {
        for (int64_t i = 0; i < v->n; i++) {
            trained *t = &v->runs[i];
            bool other = is_set(t, "carry", "0") || is_set(t, "block_schedule", "\"\"");
            t->mixing_gflop = other ? asc_run_info_of(t->run)->gflop_per_token - 3 * (all - mixing) : 3 * mixing;
        }
    }
    asc_model_free(r->ctx, model);
    asc_error_clear(r->ctx); /* what can't be opened is said where it is evaluated */
}

static const asc_scores *first_scores(const variant *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        if (v->runs[i].scores) {
            return v->runs[i].scores;
        }
    }
    return NULL;
}

/* ---- what a system gets wrong ---- */

static bool has_items(const report *r, const asc_scores *s)
{
    return s && s->classes > 0 && s->n_blocks == r->items->n_blocks && s->text_checksum == r->items->text_checksum;
}

/* hard[i]: more than half of the system's models get block i wrong. */
static void find_hard(report *r, const variant *v, uint8_t *hard)
{
    for (int64_t i = 0; i < r->items->n_blocks; i++) {
        int64_t wrong = 0, models = 0;
        for (int64_t k = 0; k < v->n; k++) {
            const asc_scores *s = v->runs[k].scores;
            models += has_items(r, s);
            wrong += has_items(r, s) && !s->blocks[i].right;
        }
        hard[i] = 2 * wrong > models;
        r->n_hard += hard[i];
    }
}

static void score_hard(report *r, trained *t, const uint8_t *hard)
{
    int64_t right = 0;
    for (int64_t i = 0; has_items(r, t->scores) && i < r->items->n_blocks; i++) {
        right += hard[i] && t->scores->blocks[i].right;
    }
    t->hard = has_items(r, t->scores) && r->n_hard > 0 ? (double)right / (double)r->n_hard : NAN;
}

/* Each model's accuracy on what the system `hard` gets wrong; without a grid, or with it of its first value. */
static asc_status report_hard(report *r)
{
    const char *name = json_string_value(json_object_get(r->wants, "hard"));
    const variant *of = NULL;
    for (int i = 0; name && i < r->n_variants && !of; i++) {
        bool is = strcmp(asc_experiment_system(r->experiment, r->variants[i].system), name) == 0;
        of = is && first_scores(&r->variants[i]) ? &r->variants[i] : NULL;
    }
    if (!of || !first_scores(of)->classes) {
        return ASC_OK;
    }
    r->items = first_scores(of);
    uint8_t *hard = calloc((size_t)r->items->n_blocks + 1, 1);
    if (!hard) {
        return asc_fail(r->ctx, ASC_ERR_MEMORY, "out of memory for the report");
    }
    find_hard(r, of, hard);
    for (int i = 0; i < r->n_variants; i++) {
        for (int64_t k = 0; k < r->variants[i].n; k++) {
            score_hard(r, &r->variants[i].runs[k], hard);
        }
    }
    free(hard);
    return ASC_OK;
}

void report_leave_out(report *r, const char *what)
{
    char text[600];
    snprintf(text, sizeof text, "%s: %s", what, asc_error_message(r->ctx));
    cli_message("%s", text);
    json_array_append_new(r->left_out, cli_json_string(text));
    r->status = CLI_IO;
    asc_error_clear(r->ctx);
}

/* Seeds of one text: where the data changed between runs, their mean is of nothing. */
static asc_status check_texts(report *r, const variant *v)
{
    const asc_scores *first = first_scores(v);
    for (int64_t i = 0; i < v->n; i++) {
        const asc_scores *s = v->runs[i].scores;
        if (s && s->text_checksum != first->text_checksum) {
            return asc_fail(r->ctx, ASC_ERR_FORMAT, "%s: its %s split has the checksum %08x, and that of another seed "
                            "%08x: the data changed between them; what is removed from runs is made anew",
                            asc_run_folder(v->runs[i].run), r->split, (unsigned)s->text_checksum,
                            (unsigned)first->text_checksum);
        }
    }
    return ASC_OK;
}

static void leave_out_unscored(variant *v)
{
    int64_t n = 0;
    for (int64_t i = 0; i < v->n; i++) {
        if (v->runs[i].scores) {
            v->runs[n++] = v->runs[i];
        } else {
            asc_run_free(v->runs[i].run);
        }
    }
    v->n = n;
}

static void stand_by_themselves(variant *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        v->runs[i].by_itself = true;
    }
}

/* Where no model has scores, the runs' own evaluations stand for all of them; else for none. */
static void choose_source(report *r)
{
    bool any = false;
    for (int i = 0; i < r->n_variants; i++) {
        any = any || first_scores(&r->variants[i]);
    }
    for (int i = 0; i < r->n_variants; i++) {
        (any ? leave_out_unscored : stand_by_themselves)(&r->variants[i]);
    }
}

asc_status report_score(report *r)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/scores", r->folder);
    if (asc_folder_make(r->ctx, path)) {
        return asc_error(r->ctx);
    }
    for (int i = 0; i < r->n_variants; i++) {
        for (int64_t k = 0; k < r->variants[i].n; k++) {
            trained *t = &r->variants[i].runs[k];
            t->scores = report_score_one(r, t->run, 0);
            if (!t->scores && (asc_error(r->ctx) == ASC_ERR_MEMORY || asc_error(r->ctx) == ASC_ERR_INTERRUPTED)) {
                return asc_error(r->ctx);
            }
            if (!t->scores) {
                snprintf(path, sizeof path, "%s: not evaluated", asc_run_folder(t->run));
                report_leave_out(r, path);
            }
        }
        if (check_texts(r, &r->variants[i])) {
            return asc_error(r->ctx);
        }
    }
    choose_source(r);
    for (int i = 0; i < r->n_variants; i++) {
        count_mixing(r, &r->variants[i]);
    }
    return report_hard(r);
}

/* ---- comparing ---- */

/* Whether the experiment names the system as a baseline; where it names none the first system is one. */
static bool is_baseline(const report *r, const variant *v)
{
    json_t *names = json_object_get(r->wants, "baselines"), *name;
    size_t i;
    if (json_array_size(names) == 0) {
        return v->system == 0;
    }
    json_array_foreach(names, i, name)
    {
        if (json_is_string(name) &&
            strcmp(json_string_value(name), asc_experiment_system(r->experiment, v->system)) == 0) {
            return true;
        }
    }
    return false;
}

/* The best of the cell's baselines, if need be one whose perplexity is beyond numbers; -1: none has scores. */
static int choose_baseline(report *r, int cell)
{
    int best = -1;
    double least = NAN;
    for (int i = 0; i < r->n_variants; i++) {
        const variant *v = &r->variants[i];
        double loss =
            v->cell == cell && first_scores(v) && is_baseline(r, v) ? report_spread(r, v, report_quality(r)).mean : NAN;
        if (loss < least || (best < 0 && !isnan(loss))) {
            least = loss;
            best = i;
        }
    }
    return best;
}

/* Stars, for better ones, or daggers, for worse, for p < 0.05 and 0.01: over the items, adjusted for the comparisons of
 * the cell, and over the seeds, both with the same sign. */
static const char *mark_of(const asc_comparison *c)
{
    static const char *const better[] = {"", "*", "**"}, *const worse[] = {"", "\xe2\x80\xa0",
                                                                           "\xe2\x80\xa0\xe2\x80\xa0"};
    const asc_class_comparison *k = c->classes; /* by how often they are right, where that can be said */
    double p_items = k ? k->p_holm : c->p_holm, p_seeds = k ? k->seeds.p : c->seeds.p;
    int items = (p_items < .05) + (p_items < .01);
    int seeds = (p_seeds < .05) + (p_seeds < .01); /* NaN: 0 */
    bool ahead = k ? k->items.difference > 0 : c->items.difference < 0;
    bool agree = ahead == (k ? k->seeds.difference > 0 : c->seeds.difference < 0);
    return (ahead ? better : worse)[!agree ? 0 : items < seeds ? items : seeds];
}

asc_system report_system(report *r, const variant *v)
{
    const asc_scores **list = cli_room(r->ctx, v->n, sizeof *list);
    int64_t n = 0;
    for (int64_t i = 0; list && i < v->n; i++) {
        if (v->runs[i].scores) {
            list[n++] = v->runs[i].scores;
        }
    }
    return (asc_system){v->name, list, n};
}

static asc_status order_cell(report *r, int number)
{
    cell *c = &r->cells[number];
    c->baseline = choose_baseline(r, number);
    c->order = calloc((size_t)r->n_variants + 1, sizeof *c->order);
    if (!c->order) {
        return asc_fail(r->ctx, ASC_ERR_MEMORY, "out of memory for the report");
    }
    if (c->baseline >= 0) {
        c->order[c->n++] = c->baseline;
    }
    for (int i = 0; i < r->n_variants; i++) {
        if (r->variants[i].cell == number && first_scores(&r->variants[i]) && i != c->baseline) {
            c->order[c->n++] = i;
        }
    }
    return ASC_OK;
}

static asc_status compare_cell(report *r, int number)
{
    cell *c = &r->cells[number];
    if (order_cell(r, number) || c->baseline < 0 || c->n < 2) {
        return asc_error(r->ctx);
    }
    const asc_compare_options options = {.resampling = {.seed = 1}}; /* what ascgrad compare takes */
    asc_scope_begin(r->ctx);
    asc_system *systems = cli_room(r->ctx, c->n, sizeof *systems);
    for (int64_t i = 0; systems && i < c->n; i++) {
        systems[i] = report_system(r, &r->variants[c->order[i]]);
    }
    c->compared = systems && !asc_error(r->ctx) ? asc_compare(r->ctx, systems, c->n, &options) : NULL;
    for (int64_t i = 0; c->compared && i < c->compared->n_comparisons; i++) {
        const asc_comparison *one = &c->compared->comparison[i];
        r->variants[c->order[one->a]].mark = mark_of(one);
    }
    asc_scope_end(r->ctx);
    if (!c->compared && asc_error(r->ctx) != ASC_ERR_MEMORY) {
        snprintf(c->reason, sizeof c->reason, "%s", asc_error_message(r->ctx));
        cli_message("no comparison%s%s: %s", *c->name ? " of " : "", c->name, c->reason);
        asc_error_clear(r->ctx);
    }
    return asc_error(r->ctx);
}

asc_status report_compare(report *r)
{
    for (int i = 0; i < r->n_cells && asc_error(r->ctx) == ASC_OK; i++) {
        compare_cell(r, i);
    }
    return asc_error(r->ctx);
}
