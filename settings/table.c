/* settings/table.c: whether a table of settings is whole, so that whoever reads by it need not ask. */
#include <string.h>

#include "settings/reader.h"

enum { MOST_CHOICES = 64 };

static size_t size_of(const asc_setting *row)
{
    static const size_t sizes[] = {
        [ASC_SETTING_INT] = sizeof(int64_t),      [ASC_SETTING_REAL] = sizeof(double),
        [ASC_SETTING_BOOL] = sizeof(bool),        [ASC_SETTING_CHOICE] = sizeof(int),
        [ASC_SETTING_TEXT] = sizeof(const char *), [ASC_SETTING_INTS] = sizeof(asc_ints),
        [ASC_SETTING_SET] = sizeof(uint64_t),     [ASC_SETTING_COUNT] = sizeof(int64_t),
        [ASC_SETTING_HEADS] = sizeof(asc_ints),    [ASC_SETTING_TUPLES] = sizeof(asc_tuples),
    };
    return row->flags & ASC_SETTING_PER_HEAD ? sizeof(asc_reals) : sizes[row->type];
}

static int count(const char *const *names)
{
    int n = 0;
    while (names && names[n]) {
        n++;
    }
    return n;
}

/* The row of that key before `row`; NULL if there is none. */
static const asc_setting *find_before(const asc_setting *table, const asc_setting *row, const char *key, size_t n)
{
    for (; table < row; table++) {
        if (strncmp(table->key, key, n) == 0 && !table->key[n]) {
            return table;
        }
    }
    return NULL;
}

bool asc_setting_is_for(const asc_setting *row, const char *choice)
{
    size_t n = strlen(choice);
    const char *at = strchr(row->only, '=');
    while (at && *at && !(strncmp(at + 1, choice, n) == 0 && (at[1 + n] == '|' || at[1 + n] == 0))) {
        at += 1 + strcspn(at + 1, "|");
    }
    return at && *at;
}

static bool is_only_of_a_choice(const asc_setting *table, const asc_setting *row)
{
    size_t n = strcspn(row->only, "=");
    const asc_setting *other = find_before(table, row, row->only, n);
    if (!row->only[n] || !other || other->type != ASC_SETTING_CHOICE) {
        return false;
    }
    int named = 0, known = 0;
    for (const char *at = row->only + n; *at; at += 1 + strcspn(at + 1, "|")) {
        named++;
    }
    for (int i = 0; i < count(other->choices); i++) {
        known += asc_setting_is_for(row, other->choices[i]);
    }
    return known == named;
}

/* What is wrong with a row; NULL: nothing. */
static const char *flaw_of(const asc_setting *table, const asc_setting *row, size_t size)
{
    int choices = count(row->choices);
    bool number = row->type == ASC_SETTING_INT || row->type == ASC_SETTING_REAL;
    bool per_head = row->flags & ASC_SETTING_PER_HEAD;
    const asc_setting *heads = per_head ? find_before(table, row, "heads", 5) : NULL;
    if (row->type < ASC_SETTING_INT || row->type > ASC_SETTING_TUPLES) {
        return "its type is none";
    }
    if (size < size_of(row) || row->offset > size - size_of(row)) {
        return "its place is outside of the values";
    }
    if (find_before(table, row, row->key, strlen(row->key))) {
        return "the key is in the table before";
    }
    if (!row->help || row->min > row->max) {
        return "it has no help, or an empty range";
    }
    bool named = row->type == ASC_SETTING_CHOICE || row->type == ASC_SETTING_SET || row->type == ASC_SETTING_HEADS;
    if (named && (choices < 1 || choices > MOST_CHOICES)) {
        return "it has no choices, or more than 64";
    }
    if (row->type == ASC_SETTING_INTS && choices > 0 && !row->expand) {
        return "it has names for lists, and nothing that expands them";
    }
    if (per_head && (!number || !heads || heads->type != ASC_SETTING_INT || heads->min < 1)) {
        return "it is no number, or no row `heads` of at least 1 stands before it";
    }
    if (per_head && !row->fallback && !(row->flags & ASC_SETTING_REQUIRED)) {
        return "it is one number a head, and has no default";
    }
    if (per_head && row->flags & ASC_SETTING_PER_LAYER) {
        return "it is one number a head and one value a layer: a list could be either";
    }
    if (row->only && !is_only_of_a_choice(table, row)) {
        return "what it belongs to is no choice of a row before it";
    }
    return NULL;
}

static bool has_good_fallback(asc_ctx *ctx, const asc_setting *row)
{
    json_t *value = asc_setting_default(ctx, row);
    bool good = !row->fallback || (value && asc_setting_check(ctx, row, row->key, value) == ASC_OK);
    json_decref(value);
    return good;
}

asc_status asc_settings_verify(asc_ctx *ctx, const asc_schema *schema, size_t size)
{
    for (const asc_setting *row = schema->settings; row && row->key; row++) {
        const char *flaw = flaw_of(schema->settings, row, size);
        if (flaw) {
            return asc_fail(ctx, ASC_ERR_ARG, "settings of %s: %s: %s", schema->owner, row->key, flaw);
        }
        if (!has_good_fallback(ctx, row)) {
            return asc_error(ctx);
        }
    }
    return ASC_OK;
}
