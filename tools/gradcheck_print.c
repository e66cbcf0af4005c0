/* tools/gradcheck_print.c: the reports of the checks as lines and as JSON. */
#include "tools/gradcheck_print.h"

#include <stdio.h>

/* ---- one comparison ---- */

/* "[1, 0, 2]", or " along a direction". */
static const char *index_text(const asc_gradcheck_value *v, char *text, size_t size)
{
    int at = snprintf(text, size, v->ndim < 0 ? " along a direction" : "[");
    for (int d = 0; d < v->ndim; d++) {
        at += snprintf(text + at, size - (size_t)at, d ? ", %lld" : "%lld", (long long)v->index[d]);
    }
    if (v->ndim >= 0) {
        snprintf(text + at, size - (size_t)at, "]");
    }
    return text;
}

static void print_value(FILE *to, const asc_gradcheck_value *v)
{
    char index[256];
    fprintf(to, "sample %d", v->sample);
    if (v->note || v->variant[0]) {
        fprintf(to, " (%s%s%s)", v->note ? v->note : "", v->note && v->variant[0] ? ", " : "", v->variant);
    }
    fprintf(to, ", %s: %s%s analytic %.10g numeric %.10g bound %.2e", v->part, v->tensor,
           index_text(v, index, sizeof index), v->analytic, v->numeric, v->bound);
}

static json_t *value_json(const asc_gradcheck_value *v)
{
    if (v->sample < 0) {
        return json_null();
    }
    json_t *index = json_array();
    for (int d = 0; d < v->ndim; d++) {
        json_array_append_new(index, json_integer(v->index[d]));
    }
    return json_pack("{s:i, s:s?, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "sample", v->sample, "note", v->note, "variant",
                     v->variant, "part", v->part, "tensor", v->tensor, "index", index, "analytic",
                     cli_json_real(v->analytic), "numeric", cli_json_real(v->numeric), "bound",
                     cli_json_real(v->bound));
}

/* ---- an op ---- */

static void print_passed(FILE *to, const asc_gradcheck_report *r)
{
    fprintf(to, "ok, %4.1f digits, %lld elements", r->digits, (long long)r->elements);
    if (r->unchecked > 0) {
        fprintf(to, ", %lld more only along %lld random directions", (long long)r->unchecked, (long long)r->directions);
    }
    if (r->kinks > 0) {
        fprintf(to, ", %lld kink%s", (long long)r->kinks, r->kinks > 1 ? "s" : "");
    }
    if (r->large == 0) {
        fprintf(to, ", none large enough for threads");
    }
    if (r->worst.sample >= 0 && r->worst_ratio > 0) {
        fprintf(to, "; worst: ");
        print_value(to, &r->worst);
    }
    fputc('\n', to);
}

void gradcheck_print(FILE *to, const asc_gradcheck_report *r)
{
    fprintf(to, "%-22s %4d cases  %9.2e  ", r->op, r->cases, r->worst_error);
    if (!r->passed) {
        fprintf(to, "FAIL  ");
        print_value(to, &r->first);
        fprintf(to, ", %lld in all\n", (long long)r->failures);
    } else if (r->cases == 0) {
        fputs("ok, has no gradient\n", to);
    } else {
        print_passed(to, r);
    }
}

json_t *gradcheck_json(const asc_gradcheck_report *r)
{
    return json_pack("{s:s, s:b, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "op", r->op,
                     "passed", r->passed, "cases", r->cases, "variants", r->variants, "large", r->large, "elements",
                     (json_int_t)r->elements, "directions", (json_int_t)r->directions, "unchecked",
                     (json_int_t)r->unchecked, "kinks", (json_int_t)r->kinks, "failures", (json_int_t)r->failures,
                     "digits", cli_json_real(r->digits), "worst_error", cli_json_real(r->worst_error), "worst_ratio",
                     cli_json_real(r->worst_ratio), "worst", value_json(&r->worst), "first", value_json(&r->first),
                     "kink", value_json(&r->kink));
}

/* ---- mutants ---- */

static asc_mutant_count total[ASC_MUTANTS];

void mutants_print_head(FILE *to)
{
    fprintf(to, "%-22s", "caught/made");
    for (int k = 0; k < ASC_MUTANTS; k++) {
        fprintf(to, " %13s", asc_mutant_name((asc_mutant)k));
    }
    fputs("   same gradient\n", to);
}

static int print_counts(FILE *to, const char *name, const asc_mutant_count *count)
{
    int same = 0;
    fprintf(to, "%-22s", name);
    for (int k = 0; k < ASC_MUTANTS; k++) {
        char text[32];
        snprintf(text, sizeof text, count[k].made > 0 ? "%d/%d" : "-", count[k].caught, count[k].made);
        fprintf(to, " %13s", text);
        same += count[k].same;
    }
    return same;
}

void mutants_print(FILE *to, const asc_mutants_report *r)
{
    fprintf(to, "   %4d", print_counts(to, r->op, r->kind));
    if (!r->sound) {
        fprintf(to, "  FAIL  the op itself does not pass");
    } else if (!r->passed) {
        fprintf(to, "  FAIL  %d not found, the first: %s, %s", r->survived, asc_mutant_name(r->survivor),
                r->survivor_input);
    }
    fputc('\n', to);
}

void mutants_add(const json_t *op)
{
    for (int k = 0; k < ASC_MUTANTS; k++) {
        const json_t *n = json_object_get(json_object_get(op, "mutants"), asc_mutant_name((asc_mutant)k));
        total[k].made += (int)json_integer_value(json_object_get(n, "made"));
        total[k].caught += (int)json_integer_value(json_object_get(n, "caught"));
        total[k].same += (int)json_integer_value(json_object_get(n, "same"));
    }
}

void mutants_print_total(FILE *to)
{
    fprintf(to, "   %4d\n", print_counts(to, "all", total));
}

json_t *mutants_json(const asc_mutants_report *r)
{
    json_t *mutants = json_object();
    for (int k = 0; k < ASC_MUTANTS; k++) {
        const asc_mutant_count *n = &r->kind[k];
        json_object_set_new(mutants, asc_mutant_name((asc_mutant)k),
                            json_pack("{s:i, s:i, s:i}", "made", n->made, "caught", n->caught, "same", n->same));
    }
    return json_pack("{s:s, s:b, s:b, s:i, s:o}", "op", r->op, "passed", r->passed, "sound", r->sound, "survived",
                     r->survived, "mutants", mutants);
}

/* ---- layers ---- */

void causal_print(FILE *to, const asc_causal_report *r)
{
    if (!r->causal && r->passed) {
        fprintf(to, "%-22s layer, does not say that it is causal\n", r->mixing);
    } else if (r->passed) {
        fprintf(to, "%-22s layer, causal: ok, %d moments, %lld outputs and %lld gradients the same to the bit%s\n",
                r->mixing, r->moments, (long long)r->outputs, (long long)r->gradients,
                r->context ? ", also with a context" : "");
    } else {
        fprintf(to, "%-22s layer, causal: FAIL  of the %s, %s at position %lld sees position %lld or later\n",
                r->mixing, r->first_of, r->first_is_gradient ? "the gradient" : "the output",
                (long long)r->first_position, (long long)r->first_moment);
    }
}

json_t *causal_json(const asc_causal_report *r)
{
    return json_pack("{s:s, s:b, s:b, s:b, s:i, s:I, s:I, s:I}", "mixing", r->mixing, "causal", r->causal, "context",
                     r->context, "passed", r->passed, "moments", r->moments, "outputs", (json_int_t)r->outputs,
                     "gradients", (json_int_t)r->gradients, "failures", (json_int_t)r->failures);
}

/* ---- models ---- */

void model_print(FILE *to, const char *path, const asc_causal_report *r)
{
    if (r->passed) {
        cli_print_to(to, "%s: causal: ok, %d moments, %lld logits the same to the bit\n", path, r->moments,
                (long long)r->outputs);
    } else {
        cli_print_to(to, "%s: causal: FAIL  position %lld sees what follows position %lld\n", path,
                (long long)r->first_position, (long long)r->first_moment);
    }
}

json_t *model_json(const char *path, const asc_causal_report *r, const char *error)
{
    json_t *entry = json_pack("{s:o, s:b, s:i, s:I, s:I}", "model", cli_json_string(path), "passed",
                              r->passed, "moments", r->moments, "outputs", (json_int_t)r->outputs, "failures",
                              (json_int_t)r->failures);
    if (r->failures > 0) {
        json_object_set_new(entry, "position", json_integer(r->first_position));
        json_object_set_new(entry, "sees_after", json_integer(r->first_moment));
    }
    if (*error) {
        json_object_set_new(entry, "error", cli_json_string(error));
    }
    return entry;
}
