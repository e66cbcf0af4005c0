/* tools/compare_print.c: a comparison as JSON, and as tables for people. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "tools/cli.h"
#include "tools/columns.h"
#include "tools/compare.h"

/* ---- JSON ---- */

static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, cli_json_real(value));
}

static void set_whole(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *value)
{
    json_object_set_new(object, key, value ? cli_json_string(value) : json_null());
}

static json_t *describe_system(const asc_system *system, const asc_system_result *r)
{
    json_t *o = json_object();
    const asc_eval_result *first = &system->scores[0]->result;
    set_text(o, "name", system->name);
    set_whole(o, "seeds", r->seeds);
    set_whole(o, "parameters", r->parameters);
    set_real(o, "loss", r->loss.mean);
    set_real(o, "ppl", r->ppl.mean);
    set_real(o, "bits_per_byte", r->bits_per_byte.mean);
    set_real(o, "ppl_std", r->ppl.std);
    set_real(o, "loss_std", r->loss.std);
    set_real(o, "bits_per_byte_std", r->bits_per_byte.std);
    set_real(o, "tokens_per_s", r->tokens_per_s.mean);
    set_real(o, "tokens_per_s_std", r->tokens_per_s.std);
    set_whole(o, "tokens", first->tokens);
    set_whole(o, "block", system->scores[0]->block);
    set_whole(o, "carry", system->scores[0]->carry);
    set_real(o, "unknown", first->unknown);
    set_real(o, "accuracy", r->accuracy.mean);
    set_real(o, "accuracy_std", r->accuracy.std);
    set_whole(o, "seed_pairs", r->seed_pairs);
    set_whole(o, "seed_pairs_differing", r->differing);
    return o;
}

static json_t *describe_mcnemar(const asc_mcnemar *m)
{
    json_t *o = json_object();
    set_whole(o, "both", m->both);
    set_whole(o, "only_a", m->only_a);
    set_whole(o, "only_b", m->only_b);
    set_whole(o, "neither", m->neither);
    set_real(o, "chi2", m->chi2);
    set_real(o, "p", m->p);
    return o;
}

/* The interval over the seeds of a comparison; NaN where it can't be had. */
static asc_seed_interval over_seeds(asc_ctx *ctx, const asc_system *systems, const asc_comparison *c, asc_unit unit,
                                    bool right)
{
    asc_seed_interval r = {0, NAN, NAN, NAN};
    asc_compare_seeds(ctx, &systems[c->a], &systems[c->b], unit, right, &r);
    return r;
}

static void describe_classes(json_t *o, const asc_class_comparison *c, const asc_seed_interval *seeds)
{
    json_t *tests = json_array();
    set_real(o, "accuracy_difference", c->items.difference);
    set_real(o, "accuracy_ci_low", c->items.ci_low);
    set_real(o, "accuracy_ci_high", c->items.ci_high);
    set_real(o, "accuracy_p_bootstrap", c->items.p_bootstrap);
    set_real(o, "accuracy_p_randomization", c->items.p_randomization);
    set_real(o, "accuracy_p_holm", c->p_holm);
    set_real(o, "seeds_accuracy_difference", c->seeds.difference);
    set_real(o, "seeds_accuracy_ci_low", seeds->low);
    set_real(o, "seeds_accuracy_ci_high", seeds->high);
    set_real(o, "seeds_accuracy_p", c->seeds.p);
    for (int64_t i = 0; i < c->n_mcnemar; i++) {
        json_array_append_new(tests, describe_mcnemar(&c->mcnemar[i]));
    }
    json_object_set_new(o, "mcnemar", tests);
}

static json_t *describe_comparison(asc_ctx *ctx, const asc_system *systems, const asc_comparison *c, asc_unit unit)
{
    json_t *o = json_object();
    asc_seed_interval seeds = over_seeds(ctx, systems, c, unit, false);
    const asc_pair_stats *s = &c->items;
    set_text(o, "a", systems[c->a].name);
    set_text(o, "b", systems[c->b].name);
    set_real(o, "difference", s->difference);
    set_real(o, "ci_low", s->ci_low);
    set_real(o, "ci_high", s->ci_high);
    set_real(o, "p_bootstrap", s->p_bootstrap);
    set_real(o, "p_randomization", s->p_randomization);
    set_real(o, "p_holm", c->p_holm);
    set_real(o, "p_holm_bootstrap", c->p_holm_bootstrap);
    set_real(o, "cohen_dz", s->cohen_dz);
    set_real(o, "cohen_d", s->cohen_d);
    set_real(o, "cliff_delta", s->cliff_delta);
    set_whole(o, "seeds", c->seeds.n);
    set_real(o, "seeds_difference", c->seeds.difference);
    set_real(o, "seeds_ci_low", seeds.low);
    set_real(o, "seeds_ci_high", seeds.high);
    set_real(o, "seeds_p", c->seeds.p);
    set_real(o, "seeds_p_least", c->seeds.p_least);
    if (c->classes) {
        seeds = over_seeds(ctx, systems, c, unit, true);
        describe_classes(o, c->classes, &seeds);
    }
    return o;
}

compare_words compare_words_of(asc_unit unit, bool classes)
{
    static const compare_words block = {"block", "blocks", "nats_per_token", "nats a token"},
                               sequence = {"block", "sequences", "nats_per_sequence", "nats a sequence"},
                               pair = {"pair", "pairs", "nats_per_pair", "nats a pair"},
                               text = {"text", "passages", "bits_per_byte", "bits a byte"};
    return unit == ASC_UNIT_PAIR ? pair : unit == ASC_UNIT_TEXT ? text : classes ? sequence : block;
}

static compare_words words_of(const asc_system *systems, asc_unit unit)
{
    return compare_words_of(unit, systems[0].scores[0]->classes > 0);
}

json_t *compare_describe(asc_ctx *ctx, const asc_system *systems, const asc_compared *c, const char *split)
{
    json_t *list = json_array(), *comparisons = json_array(), *o = json_object();
    for (int64_t i = 0; i < c->n_systems; i++) {
        json_array_append_new(list, describe_system(&systems[i], &c->system[i]));
    }
    for (int64_t i = 0; i < c->n_comparisons; i++) {
        json_array_append_new(comparisons, describe_comparison(ctx, systems, &c->comparison[i], c->unit));
    }
    set_text(o, "split", split);
    set_text(o, "unit", words_of(systems, c->unit).unit);
    set_text(o, "measure", words_of(systems, c->unit).measure);
    set_text(o, "reason", c->reason);
    set_whole(o, "n", c->n);
    json_object_set_new(o, "systems", list);
    json_object_set_new(o, "comparisons", comparisons);
    return o;
}

/* ---- tables ---- */

enum { CELL = 128 };

/* Prints a cell of `width` columns, behind two blanks; width < 0: flush left, and without the blanks. */
static void put(int width, const char *format, ...) ASC_PRINTF(2, 3);
static void put(int width, const char *format, ...)
{
    char text[CELL];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int space = (width < 0 ? -width : width) - columns_of(text);
    space = space > 0 ? space : 0;
    if (width < 0) {
        cli_print("%s%*s", text, space, "");
    } else {
        cli_print("  %*s%s", space, "", text);
    }
}

static void put_real(int width, const char *format, double value)
{
    char text[CELL];
    if (isfinite(value)) {
        snprintf(text, sizeof text, format, value);
    }
    put(width, "%s", isfinite(value) ? text : "-");
}

/* No p is 0. */
static void put_p(int width, double p)
{
    if (p < 0.00005) {
        put(width, "<.0001");
    } else {
        put_real(width, "%.4f", p);
    }
}

enum { DIGITS = 4 }; /* of losses behind the point */

/* "3.4123 ± 0.0123", without the deviation where there is none. */
static void put_spread(int width, int digits, asc_spread s)
{
    if (!isfinite(s.std)) {
        char format[8];
        snprintf(format, sizeof format, "%%.%df", digits);
        put_real(width, format, s.mean);
    } else {
        put(width, "%.*f ± %.*f", digits, s.mean, digits, s.std);
    }
}

/* Room for the longest name, at most 20 columns; a longer one is cut. */
static int name_width(const asc_system *systems, int64_t n)
{
    int width = 6;
    for (int64_t i = 0; i < n; i++) {
        int columns = columns_of(systems[i].name);
        width = columns > width ? columns : width;
    }
    return width < 20 ? width : 20;
}

static void put_name(int width, const char *name)
{
    if (columns_of(name) > width) {
        put(-width, "%.*s…", (int)columns_fit(name, width - 1), name);
    } else {
        put(-width, "%s", name);
    }
}

static void put_parameters(int width, int64_t n)
{
    static const char *const units[] = {"", " k", " M", " G"};
    double value = (double)n;
    int unit = 0;
    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    put(width, "%.*f%s", unit == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0, value, units[unit]);
}

static bool several_seeds(const asc_compared *c)
{
    for (int64_t i = 0; i < c->n_systems; i++) {
        if (c->system[i].seeds > 1) {
            return true;
        }
    }
    return false;
}

static void print_systems(const asc_system *systems, const asc_compared *c, int name)
{
    bool seeds = several_seeds(c), speeds = false, classes = systems[0].scores[0]->classes > 0;
    for (int64_t i = 0; i < c->n_systems; i++) {
        speeds |= isfinite(c->system[i].tokens_per_s.mean);
    }
    int wide = seeds ? 15 : 13;
    put(-name, "system");
    put(5, "seeds");
    put(10, "parameters");
    put(wide, "loss");
    put(wide, "perplexity");
    put(wide, "%s", classes ? "accuracy" : "bits per byte");
    if (speeds) {
        put(8, "tokens/s");
    }
    putchar('\n');
    for (int64_t i = 0; i < c->n_systems; i++) {
        const asc_system_result *r = &c->system[i];
        put_name(name, systems[i].name);
        put(5, "%lld", (long long)r->seeds);
        put_parameters(10, r->parameters);
        put_spread(wide, DIGITS, r->loss);
        put_spread(wide, r->ppl.mean < 1000 ? 2 : 0, r->ppl);
        put_spread(wide, DIGITS, classes ? r->accuracy : r->bits_per_byte);
        if (speeds) {
            put_real(8, "%.0f", r->tokens_per_s.mean);
        }
        putchar('\n');
    }
}

static void print_comparison(const asc_system *systems, const asc_comparison *c, int name, bool holm)
{
    const asc_pair_stats *s = &c->items;
    put_name(name, systems[c->a].name);
    put_real(10, "%+.4f", s->difference);
    put(20, "[%+.4f, %+.4f]", s->ci_low, s->ci_high);
    put_p(6, s->p_bootstrap);
    put_p(6, s->p_randomization);
    if (holm) {
        put_p(6, c->p_holm);
    }
    put_real(7, "%+.3f", s->cohen_dz);
    put_real(9, "%+.3f", s->cliff_delta);
    putchar('\n');
}

static void print_comparisons(const asc_system *systems, const asc_compared *c, int name)
{
    bool holm = c->n_comparisons > 1;
    cli_print("\nagainst %s, in %s (below 0: better than it)\n", systems[0].name,
              words_of(systems, c->unit).measured);
    put(-name, "system");
    put(10, "difference");
    put(20, "95 %% interval");
    put(6, "p boot");
    put(6, "p rand");
    if (holm) {
        put(6, "p Holm");
    }
    put(7, "d_z");
    put(9, "Cliff's δ");
    putchar('\n');
    for (int64_t i = 0; i < c->n_comparisons; i++) {
        print_comparison(systems, &c->comparison[i], name, holm);
    }
    cli_print("p boot: paired bootstrap over %s, p rand: randomisation%s\n", words_of(systems, c->unit).items,
              holm ? ", p Holm: p rand adjusted for all" : "");
}

/* Of one model each McNemar's p; of several how many of their tests have p < 0.05. */
static void put_mcnemar(int width, const asc_class_comparison *c)
{
    int64_t low = 0;
    for (int64_t i = 0; i < c->n_mcnemar; i++) {
        low += c->mcnemar[i].p < 0.05;
    }
    if (c->n_mcnemar == 1) {
        put_p(width, c->mcnemar->p);
    } else {
        put(width, "%lld of %lld", (long long)low, (long long)c->n_mcnemar);
    }
}

static void print_classes(const asc_system *systems, const asc_compared *c, int name)
{
    bool seeds = several_seeds(c), holm = c->n_comparisons > 1;
    if (c->n_comparisons == 0 || !c->comparison->classes) {
        return;
    }
    cli_print("\nhow often right, against %s (above 0: more often than it)\n", systems[0].name);
    put(-name, "system");
    put(10, "difference");
    put(20, "95 %% interval");
    put(6, "p rand");
    if (holm) {
        put(6, "p Holm");
    }
    if (seeds) {
        put(7, "p seeds");
    }
    put(8, "McNemar");
    putchar('\n');
    for (int64_t i = 0; i < c->n_comparisons; i++) {
        const asc_class_comparison *one = c->comparison[i].classes;
        put_name(name, systems[c->comparison[i].a].name);
        put_real(10, "%+.4f", one->items.difference);
        put(20, "[%+.4f, %+.4f]", one->items.ci_low, one->items.ci_high);
        put_p(6, one->items.p_randomization);
        if (holm) {
            put_p(6, one->p_holm);
        }
        if (seeds) {
            put_p(7, one->seeds.p);
        }
        put_mcnemar(8, one);
        putchar('\n');
    }
    printf("McNemar: p of the models' rights and wrongs%s\n",
           seeds ? "; of several seeds, how many tests of seed against seed have p < 0.05" : "");
}

static void print_seed_row(const asc_system *system, const asc_system_result *r, const asc_comparison *against,
                           const asc_seed_interval *interval, int name)
{
    put_name(name, system->name);
    if (r->seed_pairs > 0) {
        put(16, "%lld of %lld", (long long)r->differing, (long long)r->seed_pairs);
    } else {
        put(16, "-");
    }
    if (against && against->seeds.n > 0) {
        put(6, "%lld", (long long)against->seeds.n);
        put(10, "%+.4f", against->seeds.difference);
        if (interval->n > 1) {
            put(20, "[%+.4f, %+.4f]", interval->low, interval->high);
        } else {
            put(20, "-");
        }
        put_p(6, against->seeds.p);
        put_p(7, against->seeds.p_least);
    }
    putchar('\n');
}

/* What the seeds say of differences that items alone make look sure. The systems are compared with the first. */
static void print_seeds(asc_ctx *ctx, const asc_system *systems, const asc_compared *c, int name)
{
    const char *items = words_of(systems, c->unit).items;
    if (!several_seeds(c)) {
        cli_print("\nThe tests are over %s: whether other seeds would do the same, one seed can't tell.\n", items);
        return;
    }
    cli_print("\nover seeds, of which the tests above say nothing\n");
    put(-name, "system");
    put(16, "own seeds differ");
    put(6, "shared");
    put(10, "difference");
    put(20, "95 %% interval");
    put(6, "p");
    put(7, "least p");
    putchar('\n');
    for (int64_t i = 0; i < c->n_systems; i++) {
        const asc_comparison *against = i > 0 ? &c->comparison[i - 1] : NULL;
        asc_seed_interval interval = {0, NAN, NAN, NAN};
        if (against) {
            interval = over_seeds(ctx, systems, against, c->unit, false);
        }
        print_seed_row(&systems[i], &c->system[i], against, &interval, name);
    }
    bool rights = c->n_comparisons > 0 && c->comparison->classes;
    cli_print("own seeds differ: pairs of a system's own seeds with p rand < 0.05 over %s%s\n"
              "shared: seeds trained in the same order as the first system's; interval: of Student's t; p: exact up\n"
              "to 12 of them; least p: what so many can reach\n",
              items, rights ? ", of how often they are right" : "");
}

static void print_carried(const asc_system *systems, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (systems[i].scores[0]->carry > 0) {
            cli_print("%s: each block behind the last %lld tokens before it\n", systems[i].name,
                      (long long)systems[i].scores[0]->carry);
        }
    }
}

static void print_unknown(const asc_system *systems, const asc_compared *c)
{
    double share = systems[0].scores[0]->result.unknown;
    if (c->unit == ASC_UNIT_BLOCK && share > ASC_UNKNOWN_MOST) {
        cli_print(
            "%.2f %% of the tokens are unknown words: perplexity and bits per byte compare with those of the same\n"
            "vocabulary alone\n",
            100 * share);
    }
}

void compare_print(asc_ctx *ctx, const asc_system *systems, const asc_compared *c, const char *split)
{
    const asc_scores *first = systems[0].scores[0];
    int name = name_width(systems, c->n_systems);
    if (c->reason) {
        cli_print("%s split, %lld passages of text, as\n%s\n\n", split, (long long)c->n, c->reason);
    } else if (first->classes > 0) {
        cli_print("%s split, %lld %s\n\n", split, (long long)c->n, words_of(systems, c->unit).items);
    } else {
        cli_print("%s split, %lld tokens in %lld blocks of %lld\n\n", split, (long long)first->result.tokens,
                  (long long)c->n, (long long)first->block);
    }
    print_systems(systems, c, name);
    print_carried(systems, c->n_systems);
    print_unknown(systems, c);
    print_comparisons(systems, c, name);
    print_classes(systems, c, name);
    print_seeds(ctx, systems, c, name);
}
