/* train/experiment/define.c: what an experiment's file says: keys and values checked, the scale applied. */
#include <stdio.h>
#include <string.h>

#include <program/names.h>

#include "tensor/ctx.h"
#include "train/experiment/experiment.h"
#include "train/settings.h"

static asc_status no_memory(asc_ctx *ctx)
{
    return asc_fail(ctx, ASC_ERR_MEMORY, "experiment: out of memory");
}

/* ---- settings ---- */

const char *asc_define_key(asc_ctx *ctx, const char *name)
{
    char spelt[ASC_SETTING_NAME];
    bool model;
    asc_settings_spell(name, spelt);
    if (strcmp(spelt, "preset") == 0) {
        return "preset";
    }
    const asc_setting *row = asc_settings_find(ctx, spelt, &model);
    bool plain = row && model && row->option && !strchr(row->option, '-');
    return !row ? NULL : plain ? row->option : row->key;
}

static asc_status check_preset(asc_ctx *ctx, asc_settings *scratch, const json_t *value)
{
    return json_is_string(value) ? asc_settings_preset(scratch, json_string_value(value))
                                 : asc_fail(ctx, ASC_ERR_ARG, "preset: expected a name");
}

/* A key with its value, or one of the values of a grid. */
static asc_status check_value(asc_ctx *ctx, asc_settings *scratch, const char *key, json_t *value)
{
    const char *known = asc_define_key(ctx, key);
    if (known && strcmp(known, "seed") == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: the experiment's \"seeds\" say which", key);
    }
    return known && strcmp(known, "preset") == 0 ? check_preset(ctx, scratch, value)
                                                 : asc_settings_put(scratch, key, value, ASC_SOURCE_FILE);
}

/* That value number n of a list is none of those before it, however they are written: "1e-2" is 0.01. */
static asc_status check_other(asc_ctx *ctx, const char *key, const json_t *values, size_t n)
{
    bool model;
    const char *known = asc_define_key(ctx, key);
    const asc_setting *row = known ? asc_settings_find(ctx, known, &model) : NULL;
    json_t *of_n = row ? asc_setting_plain(ctx, row, key, json_array_get(values, n)) : NULL;
    for (size_t i = 0; of_n && i < n && !asc_error(ctx); i++) {
        json_t *of_i = asc_setting_plain(ctx, row, key, json_array_get(values, i));
        if (of_i && asc_settings_same(of_i, of_n)) {
            asc_fail(ctx, ASC_ERR_ARG, "%s: values %zu and %zu are the same", key, i + 1, n + 1);
        }
        json_decref(of_i);
    }
    json_decref(of_n);
    return asc_error(ctx);
}

/* A setting; `list`: a list of values for it. */
static asc_status check_setting(asc_ctx *ctx, asc_settings *scratch, const char *key, json_t *value, bool list)
{
    size_t i;
    json_t *entry;
    if (json_is_null(value)) {
        return asc_define_key(ctx, key) ? ASC_OK : check_value(ctx, scratch, key, value);
    }
    if (!list) {
        return check_value(ctx, scratch, key, value);
    }
    if (json_array_size(value) == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "%s: expected a list of values", key);
    }
    json_array_foreach(value, i, entry) {
        if (check_value(ctx, scratch, key, entry) || check_other(ctx, key, value, i)) {
            return asc_error(ctx);
        }
    }
    return ASC_OK;
}

/* A value, or those of a list, in one spelling, so that "1e-2" is 0.01 to whatever reads it. They were checked; new. */
static json_t *plain_values(asc_ctx *ctx, const char *known, json_t *value, bool list)
{
    bool model;
    size_t i;
    json_t *entry;
    const asc_setting *row = asc_settings_find(ctx, known, &model);
    if (!row || json_is_null(value)) {
        return json_incref(value);
    }
    if (!list) {
        return asc_setting_plain(ctx, row, known, value);
    }
    json_t *plain = json_array();
    json_array_foreach(value, i, entry) {
        json_array_append_new(plain, asc_setting_plain(ctx, row, known, entry));
    }
    return plain;
}

/* The settings with the keys of their tables; new. `where` names them in messages. */
static json_t *define_settings(asc_ctx *ctx, const char *where, const json_t *given, bool lists)
{
    const char *key;
    json_t *value, *settings = json_object();
    asc_settings *scratch = asc_settings_new(ctx);
    if (given && !json_is_object(given)) {
        asc_fail(ctx, ASC_ERR_ARG, "expected an object of settings");
    }
    json_object_foreach((json_t *)given, key, value) {
        if (asc_error(ctx) || check_setting(ctx, scratch, key, value, lists)) {
            break;
        }
        const char *known = asc_define_key(ctx, key);
        if (json_object_get(settings, known)) {
            asc_fail(ctx, ASC_ERR_ARG, "%s: is there twice, by its other name", key);
        } else {
            json_object_set_new(settings, known, plain_values(ctx, known, value, lists));
        }
    }
    asc_settings_free(scratch);
    if (asc_error(ctx)) {
        asc_error_extend(ctx, where, "");
        json_decref(settings);
        return NULL;
    }
    return settings;
}

const char *asc_define_rival(const char *key)
{
    return strcmp(key, "steps") == 0 ? "epochs" : strcmp(key, "epochs") == 0 ? "steps" : NULL;
}

asc_status asc_lay(asc_ctx *ctx, json_t *base, const json_t *over)
{
    const char *key;
    json_t *value;
    bool failed = false;
    json_object_foreach((json_t *)over, key, value) {
        const char *rival = asc_define_rival(key);
        if (rival && !json_is_null(value) && !json_object_get(over, rival)) {
            json_object_del(base, rival);
        }
    }
    json_object_foreach((json_t *)over, key, value) {
        if (json_is_null(value)) {
            json_object_del(base, key);
        } else {
            failed = json_object_set(base, key, value) || failed;
        }
    }
    return failed ? no_memory(ctx) : ASC_OK;
}

/* ---- the parts of a file, or of a scale ---- */

static json_t *define_systems(asc_ctx *ctx, const json_t *given)
{
    const char *name;
    json_t *value, *systems = json_object();
    if (!json_is_object(given)) {
        asc_fail(ctx, ASC_ERR_ARG, "systems: expected an object: a name for each system, with its settings");
    }
    json_object_foreach((json_t *)given, name, value) {
        char where[160];
        if (!*name) {
            asc_fail(ctx, ASC_ERR_ARG, "systems: got one without a name");
            break;
        }
        snprintf(where, sizeof where, "system %.120s", name);
        json_t *settings = json_is_null(value) ? json_null() : define_settings(ctx, where, value, false);
        if (!settings) {
            break;
        }
        json_object_set_new(systems, name, settings);
    }
    return systems;
}

bool asc_list_holds(const json_t *list, size_t n, const json_t *value)
{
    size_t i = 0;
    n = n < json_array_size(list) ? n : json_array_size(list);
    while (i < n && !json_equal(json_array_get(list, i), value)) {
        i++;
    }
    return i < n;
}

/* `where` names them in messages. */
static json_t *define_seeds(asc_ctx *ctx, const char *where, const json_t *given)
{
    size_t i;
    json_t *seed;
    bool right = json_array_size(given) > 0;
    if (json_array_size(given) > MOST_RUNS) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: got %zu, expected at most %d", where, json_array_size(given), MOST_RUNS);
        return NULL;
    }
    json_array_foreach(given, i, seed) {
        right = right && json_is_integer(seed) && json_integer_value(seed) >= 0 && json_integer_value(seed) < 1e15 &&
                !asc_list_holds(given, i, seed);
    }
    if (!right) {
        char *text = json_dumps(given, JSON_ENCODE_ANY | JSON_COMPACT);
        asc_fail(ctx, ASC_ERR_ARG, "%s: got %.80s, expected a list of different whole numbers, as [1, 2, 3, 5, 7]",
                 where, text ? text : "nothing");
        asc_text_drop(text);
    }
    return json_deep_copy(given);
}

static json_t *define_more_seeds(asc_ctx *ctx, const json_t *given)
{
    const char *system;
    json_t *value, *more = json_object();
    if (!json_is_object(given)) {
        asc_fail(ctx, ASC_ERR_ARG, "more_seeds: expected an object: a list of seeds for each system that has more");
    }
    json_object_foreach((json_t *)given, system, value) {
        char where[160];
        snprintf(where, sizeof where, "more_seeds: %.120s", system);
        json_object_set_new(more, system, json_is_null(value) ? json_null() : define_seeds(ctx, where, value));
    }
    return more;
}

static asc_status refuse_key(asc_ctx *ctx, const char *where, const char *key, const char *const *known)
{
    return asc_fail(ctx, ASC_ERR_ARG, "%sunknown key '%s'; did you mean '%s'?", where, key,
                    asc_name_nearest(key, known));
}

static bool is_among(const char *key, const char *const *names)
{
    while (*names && strcmp(*names, key) != 0) {
        names++;
    }
    return *names;
}

static json_t *define_tune(asc_ctx *ctx, const json_t *given)
{
    static const char *const known[] = {"grid", "steps", "seed", NULL};
    const char *key;
    json_t *value, *tune = json_object();
    if (!json_is_object(given)) {
        asc_fail(ctx, ASC_ERR_ARG, "tune: expected an object with grid, steps and seed");
    }
    json_object_foreach((json_t *)given, key, value) {
        int64_t least = strcmp(key, "steps") == 0;
        json_int_t n = json_integer_value(value);
        if (!is_among(key, known)) {
            refuse_key(ctx, "tune: ", key, known);
            break;
        }
        if (strcmp(key, "grid") == 0) {
            json_object_set_new(tune, key, define_settings(ctx, "tune: grid", value, true));
        } else if (!json_is_null(value) &&
                   !(json_is_integer(value) && n >= least && n < 1e15)) {
            asc_fail(ctx, ASC_ERR_ARG, "tune: %s: expected a whole number of at least %d", key, (int)least);
        } else {
            json_object_set(tune, key, value);
        }
    }
    return tune;
}

static json_t *define_text(asc_ctx *ctx, const char *key, const json_t *given)
{
    if (!json_is_string(given) || json_string_length(given) == 0) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: expected a text", key);
    }
    return json_copy((json_t *)given);
}

static json_t *define_report(asc_ctx *ctx, const json_t *given)
{
    if (!json_is_object(given)) {
        asc_fail(ctx, ASC_ERR_ARG, "report: expected an object");
    }
    return json_deep_copy(given);
}

/* A part of a file by its key; new. NULL, or anything, with the error set. */
static json_t *define_part(asc_ctx *ctx, const char *key, json_t *value)
{
    return strcmp(key, "common") == 0       ? define_settings(ctx, key, value, false)
           : strcmp(key, "grid") == 0       ? define_settings(ctx, key, value, true)
           : strcmp(key, "systems") == 0    ? define_systems(ctx, value)
           : strcmp(key, "seeds") == 0      ? define_seeds(ctx, key, value)
           : strcmp(key, "more_seeds") == 0 ? define_more_seeds(ctx, value)
           : strcmp(key, "tune") == 0       ? define_tune(ctx, value)
           : strcmp(key, "report") == 0     ? define_report(ctx, value)
                                            : define_text(ctx, key, value);
}

/* Lays a scale's settings of a system over the file's: null takes the system's own value away, or where it has none
 * the common one. */
static asc_status lay_system(asc_ctx *ctx, json_t *system, const json_t *over)
{
    const char *key;
    json_t *value, *taken = json_object();
    bool failed = !taken;
    json_object_foreach((json_t *)over, key, value) {
        const json_t *own = json_object_get(system, key);
        if (json_is_null(value) && (!own || json_is_null(own))) {
            failed = json_object_set(taken, key, value) || failed;
        }
    }
    asc_status status = asc_lay(ctx, system, over);
    failed = failed || json_object_update(system, taken);
    json_decref(taken);
    return status ? status : failed ? no_memory(ctx) : ASC_OK;
}

/* Lays a part of a scale over that of the file: lists and texts take their place, null takes away. */
static asc_status lay_part(asc_ctx *ctx, json_t *def, const char *key, json_t *over)
{
    json_t *base = json_object_get(def, key), *value;
    const char *name;
    if (!json_is_object(over) || !json_is_object(base)) {
        return json_object_set(def, key, over) ? no_memory(ctx) : ASC_OK;
    }
    if (strcmp(key, "systems") != 0) {
        json_t *grid = strcmp(key, "tune") == 0 ? json_object_get(base, "grid") : NULL;
        json_t *merged = grid ? json_deep_copy(grid) : NULL;
        asc_status status = grid ? asc_lay(ctx, merged, json_object_get(over, "grid")) : ASC_OK;
        status = status ? status : asc_lay(ctx, base, over);
        if (merged) {
            json_object_set_new(base, "grid", merged);
        }
        return status;
    }
    json_object_foreach(over, name, value) {
        json_t *system = json_object_get(base, name);
        if (json_is_null(value)) {
            json_object_del(base, name);
            json_object_del(json_object_get(def, "more_seeds"), name);
        } else if (system ? lay_system(ctx, system, value) != ASC_OK : json_object_set(base, name, value) != 0) {
            return no_memory(ctx);
        }
    }
    return ASC_OK;
}

static asc_status define_parts(asc_ctx *ctx, json_t *def, const json_t *given, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)given, key, value) {
        if (!is_among(key, known)) {
            return refuse_key(ctx, "", key, known);
        }
        if (strcmp(key, "scales") == 0 || strcmp(key, "scale") == 0) {
            continue;
        }
        if (json_is_null(value)) {
            json_object_del(def, key);
            continue;
        }
        json_t *part = define_part(ctx, key, value);
        if (!asc_error(ctx)) {
            lay_part(ctx, def, key, part);
        }
        json_decref(part);
        if (asc_error(ctx)) {
            return asc_error(ctx);
        }
    }
    return ASC_OK;
}

/* ---- the whole ---- */

static asc_status refuse_scale(asc_ctx *ctx, json_t *scales, const char *scale)
{
    enum { MOST = 32 };
    char list[300] = "full";
    const char *name, *names[MOST + 1] = {"full"};
    int count = 1;
    json_t *value;
    json_object_foreach(scales, name, value) {
        size_t n = strlen(list);
        if (strcmp(name, "full") != 0) {
            snprintf(list + n, sizeof list - n, ", %s", name);
            names[count] = name;
            count += count < MOST - 1;
        }
    }
    names[count] = NULL;
    char hint[ASC_NAME_HINT];
    return asc_fail_on(ctx, ASC_ERR_ARG, "scale", ": there is no '%s', expected one of %s%s", scale, list,
                       asc_name_hint(asc_name_guess(scale, names), hint));
}

/* Of systems that are there, and no seeds that all have. */
static asc_status check_more_seeds(asc_ctx *ctx, const json_t *def)
{
    const char *system;
    json_t *more, *seed, *seeds = json_object_get(def, "seeds");
    size_t i;
    json_object_foreach(json_object_get(def, "more_seeds"), system, more) {
        if (!json_object_get(json_object_get(def, "systems"), system)) {
            return asc_fail(ctx, ASC_ERR_ARG, "more_seeds: there is no system '%s'", system);
        }
        json_array_foreach(more, i, seed) {
            if (asc_list_holds(seeds, SIZE_MAX, seed)) {
                return asc_fail(ctx, ASC_ERR_ARG, "more_seeds: %s: %lld is a seed of all systems", system,
                                (long long)json_integer_value(seed));
            }
        }
    }
    return ASC_OK;
}

/* null takes a key away from what a scale is laid over; there is nothing to take from the file's own. */
static asc_status check_own(asc_ctx *ctx, const char *where, const json_t *part, const char *expected)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)part, key, value) {
        if (json_is_null(value)) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: %s: got null, expected %s", where, key, expected);
        }
    }
    return ASC_OK;
}

/* `steps` and `epochs` take each other's place: of two grids' values one would never be used. */
static asc_status check_rivals(asc_ctx *ctx, const json_t *grid, const json_t *tuned)
{
    const json_t *of[] = {grid, tuned};
    for (int i = 0; i < 2; i++) {
        const char *key;
        json_t *values;
        json_object_foreach((json_t *)of[i], key, values) {
            const char *rival = asc_define_rival(key);
            if (rival && (json_object_get(of[i], rival) || json_object_get(of[!i], rival))) {
                return asc_fail(ctx, ASC_ERR_ARG, "%s: %s and %s: expected one of them, which say how long runs are",
                                i ? "tune: grid" : "grid", key, rival);
            }
        }
    }
    return ASC_OK;
}

/* A system's own value of what the grid or the tuning lays over it would never be used. */
static asc_status check_overlaid(asc_ctx *ctx, const json_t *def, const json_t *grid, const char *where)
{
    const char *name, *key;
    json_t *settings, *value;
    json_object_foreach(json_object_get(def, "systems"), name, settings) {
        json_object_foreach(settings, key, value) {
            const char *rival = asc_define_rival(key);
            bool laid = json_object_get(grid, key) || (rival && json_object_get(grid, rival));
            if (laid && !json_is_null(value)) {
                return asc_fail(ctx, ASC_ERR_ARG, "systems: %s: %s: the %s says it for all systems", name, key, where);
            }
        }
    }
    return ASC_OK;
}

static asc_status check_whole(asc_ctx *ctx, const json_t *def)
{
    const char *key;
    json_t *value, *tune = json_object_get(def, "tune"), *grid = json_object_get(def, "grid");
    if (json_object_size(json_object_get(def, "systems")) == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "systems: there is none; expected {\"NAME\": {SETTINGS}, ...}");
    }
    if (tune && json_object_size(json_object_get(tune, "grid")) == 0) {
        return asc_fail(ctx, ASC_ERR_ARG, "tune: grid: is missing: the keys that are tuned, with their values");
    }
    if (check_own(ctx, "systems", json_object_get(def, "systems"), "its settings") ||
        check_own(ctx, "grid", grid, "a list of values") ||
        check_own(ctx, "tune: grid", json_object_get(tune, "grid"), "a list of values")) {
        return asc_error(ctx);
    }
    if (check_rivals(ctx, grid, json_object_get(tune, "grid")) || check_overlaid(ctx, def, grid, "grid") ||
        check_overlaid(ctx, def, json_object_get(tune, "grid"), "tuning's grid")) {
        return asc_error(ctx);
    }
    json_object_foreach(json_object_get(tune, "grid"), key, value) {
        if (json_object_get(grid, key)) {
            return asc_fail(ctx, ASC_ERR_ARG, "%s: is in the grid, and cannot be tuned, too", key);
        }
        if (asc_define_rival(key) && json_is_integer(json_object_get(tune, "steps"))) {
            return asc_fail(ctx, ASC_ERR_ARG, "tune: steps: its grid has %s, which says how long its runs are", key);
        }
    }
    return check_more_seeds(ctx, def);
}

/* What has a default: as JSON. */
static void add_defaults(json_t *def)
{
    json_t *defaults = json_pack("{s:{}, s:{}, s:[i, i, i, i, i]}", "common", "grid", "seeds", 1, 2, 3, 5, 7);
    json_object_update_missing(def, defaults);
    json_decref(defaults);
}

/* What a scale makes of a definition, which it takes. */
static json_t *define_scale(asc_ctx *ctx, json_t *def, const char *name, const json_t *over)
{
    static const char *const known[] = {"common",     "systems", "grid",   "seeds",
                                        "more_seeds", "tune",    "report", NULL};
    char where[120];
    snprintf(where, sizeof where, "scale %.100s", name);
    if (!json_is_object(over)) {
        asc_fail(ctx, ASC_ERR_ARG, "expected an object: what the scale changes");
    } else if (define_parts(ctx, def, over, known) == ASC_OK) {
        add_defaults(def); /* where the scale takes a part away */
        check_whole(ctx, def);
    }
    asc_error_extend(ctx, where, "");
    return def;
}

/* All scales are looked at, whichever is wanted: a wrong one should not wait for its day. */
static json_t *apply_scale(asc_ctx *ctx, json_t *def, json_t *scales, const char *scale)
{
    json_t *found = NULL, *over;
    const char *name;
    if (scales && !json_is_object(scales)) {
        asc_fail(ctx, ASC_ERR_ARG, "scales: expected an object: a name for each scale, with what it changes");
    }
    json_object_foreach(scales, name, over) {
        json_t *scaled = asc_error(ctx) ? NULL : define_scale(ctx, json_deep_copy(def), name, over);
        bool wanted = scale && strcmp(scale, name) == 0;
        found = wanted ? json_incref(scaled) : found;
        json_decref(scaled);
    }
    if (scale && !found && strcmp(scale, "full") != 0 && !asc_error(ctx)) {
        refuse_scale(ctx, scales, scale);
    }
    if (found) {
        json_decref(def);
    }
    return found ? found : def;
}

json_t *asc_define(asc_ctx *ctx, const json_t *given, const char *scale)
{
    static const char *const known[] = {"name",  "about", "common", "systems", "grid", "seeds",
                                        "more_seeds", "tune", "report", "scales", "scale", NULL};
    json_t *def = json_object();
    if (define_parts(ctx, def, given, known) == ASC_OK) {
        add_defaults(def);
        check_whole(ctx, def);
    }
    const json_t *chosen = json_object_get(given, "scale"); /* of an experiment that has a folder */
    if (!asc_error(ctx) && chosen && (!json_is_string(chosen) || json_object_get(given, "scales"))) {
        asc_fail(ctx, ASC_ERR_ARG, "scale: expected none; --scale chooses one of \"scales\"");
    }
    if (!asc_error(ctx)) {
        def = apply_scale(ctx, def, json_object_get(given, "scales"), scale);
    }
    const char *own = json_string_value(chosen);
    json_object_set_new(def, "scale", json_string(scale ? scale : own ? own : ""));
    if (asc_error(ctx)) {
        json_decref(def);
        return NULL;
    }
    return def;
}
