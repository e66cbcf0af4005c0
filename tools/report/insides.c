/* tools/report/insides.c: the figures that look into the models: score decomposition, what heads specialise in. */
#include <string.h>

#include "tools/inspect/inspect.h"
#include "tools/report/report.h"

static int64_t wish(const report *r, const char *key, int64_t usual)
{
    json_t *value = json_object_get(r->wants, key);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : usual;
}

/* The first of a run's layers that is ASCender's; -1: none is. */
static int64_t find_ascender(const asc_run *run)
{
    const char *mix = asc_run_setting(run, "mix"); /* JSON: a name, or one a layer */
    json_t *names = mix ? json_loads(mix, JSON_DECODE_ANY, NULL) : NULL, *name;
    const char *all = json_string_value(names);
    int64_t found = all && strcmp(all, "ascender") == 0 ? 0 : -1;
    size_t i;
    json_array_foreach(names, i, name) {
        const char *text = json_string_value(name);
        found = found < 0 && text && strcmp(text, "ascender") == 0 ? (int64_t)i : found;
    }
    json_decref(names);
    return found;
}

/* Looks into a layer of the model of a run; false with a word, in the report too, where that fails. In any case to be
 * closed. */
static bool look(report *r, const asc_run *run, int64_t layer, inspection *in)
{
    char text[600];
    *in = (inspection){.ctx = r->ctx,
                       .layer = layer,
                       .head = -1,
                       .name = asc_run_folder(run),
                       .formats = r->doc.status ? 0 : FIGURE_SVG | FIGURE_PNG | FIGURE_CSV | FIGURE_SCRIPT};
    in->model = asc_model_open(r->ctx, asc_run_folder(run), NULL, NULL);
    if (in->model && inspect_begin(in, NULL, NULL, wish(r, "tokens", 12)) == ASC_OK) {
        return true;
    }
    snprintf(text, sizeof text, "%s: %s", asc_run_folder(run), asc_error_message(r->ctx));
    cli_message("%s", text);
    document_text(&r->doc, "Not drawn: %s.", text);
    asc_error_clear(r->ctx);
    r->status = r->status > CLI_IO ? r->status : CLI_IO;
    return false;
}

static void end_look(report *r, inspection *in)
{
    if (in->config) {
        inspect_close(in);
    }
    asc_model_free(r->ctx, in->model);
}

/* Draws a figure of the inspection as DIR/figures/KIND-NAME, where NAME is what `draw_it` calls it, and puts it into
 * the document. */
static void draw(report *r, inspection *in, int (*draw_it)(inspection *in), const char *kind, const char *name,
                 const char *caption)
{
    char stem[4096], full[120];
    snprintf(full, sizeof full, "%s-%s", kind, name);
    snprintf(stem, sizeof stem, "%s/figures/%s", r->folder, kind);
    in->stem = stem;
    int status = draw_it(in);
    r->status = status > r->status ? status : r->status;
    document_heed(&r->doc, status);
    json_array_extend(r->files, in->files);
    document_figure(&r->doc, full, "png", caption);
}

/* Of the first seed of the first system that has ASCender layers, the first of these unless the experiment names one:
 * others are a matter for `ascgrad inspect`. */
void report_figure_decomposition(report *r)
{
    for (int i = 0; i < r->n_variants; i++) {
        const variant *v = &r->variants[i];
        int64_t first = v->n > 0 ? find_ascender(v->runs[0].run) : -1, layer = wish(r, "layer", first);
        inspection in;
        if (first < 0) {
            continue;
        }
        if (look(r, v->runs[0].run, layer, &in)) {
            char caption[400];
            snprintf(caption, sizeof caption,
                     "%s, seed %lld: the scores of layer %lld and the parts that they are the sum of.", v->name,
                     (long long)v->runs[0].seed, (long long)layer);
            if (inspect_has_maps(&in)) {
                draw(r, &in, inspect_draw_maps, "decomposition", "maps", caption);
            } else {
                document_text(&r->doc, "Score decomposition: layer %lld of %s has no scores.", (long long)layer,
                              v->name);
            }
        }
        end_look(r, &in);
        return;
    }
    document_text(&r->doc, "Score decomposition: no run has ASCender layers.");
}

/* The heads of all seeds of a variant, on the average; false: the variant has none. */
static bool draw_heads(report *r, const variant *v, const char *kind)
{
    inspection first;
    json_t *others = json_array();
    char caption[400], name[REPORT_NAME + 60];
    bool any = v->n > 0 && look(r, v->runs[0].run, 0, &first) && inspect_has_heads(&first);
    for (int64_t i = 1; any && i < v->n; i++) {
        inspection in;
        if (look(r, v->runs[i].run, 0, &in)) {
            json_array_append(others, in.summary);
        }
        end_look(r, &in);
    }
    if (any) {
        int64_t n = (int64_t)json_array_size(others);
        for (int64_t i = 0; i < n; i++) {
            inspect_add(&first, json_array_get(others, (size_t)i), i + 2);
        }
        snprintf(name, sizeof name, "%s, mean over %lld seed%s", v->name, (long long)n + 1, n ? "s" : "");
        first.name = name;
        snprintf(caption, sizeof caption, "%s: what the heads of each layer do; mean over the seeds.", v->name);
        draw(r, &first, inspect_draw_heads, kind, "heads", caption);
    }
    if (v->n > 0) {
        end_look(r, &first);
    }
    json_decref(others);
    return any;
}

void report_figure_heads(report *r)
{
    char kind[40];
    int drawn = 0;
    for (int i = 0; i < r->n_variants; i++) {
        snprintf(kind, sizeof kind, "layers-%d", drawn + 1);
        drawn += draw_heads(r, &r->variants[i], kind);
    }
    if (drawn == 0) {
        document_text(&r->doc, "Head specialisation: no run has heads.");
    }
}
