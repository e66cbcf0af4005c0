/* nn/registry.c: the mixings that there are: the library's, and those that users register with a context. */
#include <stdio.h>
#include <string.h>

#include <program/names.h>

#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

#define MIXING(name) extern const asc_mixing asc_mixing_##name;
#include "nn/list.h"
#undef MIXING

static const asc_mixing *const mixings[] = {
#define MIXING(name) &asc_mixing_##name,
#include "nn/list.h"
#undef MIXING
};
enum { N_MIXINGS = sizeof mixings / sizeof *mixings, MOST_NAMES = 60 };

const asc_mixing *asc_mixing_of(const asc_ctx *ctx, int i)
{
    if (i < N_MIXINGS) {
        return i >= 0 ? mixings[i] : NULL;
    }
    return asc_added_at(ctx, mixings, i - N_MIXINGS);
}

const char *asc_mixing_at(const asc_ctx *ctx, int i)
{
    const asc_mixing *m = asc_mixing_of(ctx, i);
    return m ? m->name : NULL;
}

const asc_mixing *asc_mixing_find(const asc_ctx *ctx, const char *name)
{
    const asc_mixing *m;
    for (int i = 0; name && (m = asc_mixing_of(ctx, i)); i++) {
        if (strcmp(m->name, name) == 0) {
            return m;
        }
    }
    return NULL;
}

asc_schema asc_lm_schema(const asc_ctx *ctx, int i)
{
    const asc_mixing *m = i > 0 ? asc_mixing_of(ctx, i - 1) : NULL;
    return i == 0 ? (asc_schema){"model", asc_lm_settings} : m ? (asc_schema){m->name, m->settings} : (asc_schema){0};
}

bool asc_mixing_takes(const asc_ctx *ctx, const char *mixing, const char *key)
{
    const asc_mixing *m = asc_mixing_find(ctx, mixing);
    return m && asc_setting_find(m->settings, key);
}

const asc_mixing *asc_mixing_choose(asc_ctx *ctx, const char *setting, const char *name, bool or_none)
{
    const asc_mixing *m = asc_mixing_find(ctx, name);
    if (m) {
        return m;
    }
    const char *names[MOST_NAMES + 2] = {NULL};
    char known[400] = "";
    int all = 0;
    for (; all < MOST_NAMES && (names[all] = asc_mixing_at(ctx, all)); all++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", all ? ", " : "", names[all]);
    }
    names[all] = or_none ? ASC_MIX_NONE : NULL;
    const char *more = or_none ? ", or " ASC_MIX_NONE " for pairs of sentences" : "";
    char hint[ASC_NAME_HINT];
    asc_fail_on(ctx, ASC_ERR_ARG, setting, ": got '%s', expected one of %s%s%s", name, known, more,
                asc_name_hint(asc_name_guess(name, names), hint));
    return NULL;
}

/* Whether all that is a value of `row` is one of `other`, so that a program may check values before it knows the
 * model. */
static bool is_within(const asc_setting *row, const asc_setting *other)
{
    bool within = row->type == other->type && row->flags == other->flags && row->min >= other->min &&
                  row->max <= other->max && !row->choices == !other->choices;
    for (int i = 0; within && row->choices && row->choices[i]; i++) {
        int j = 0;
        while (other->choices[j] && strcmp(other->choices[j], row->choices[i]) != 0) {
            j++;
        }
        within = other->choices[j];
    }
    return within;
}

/* A key has one meaning, whoever has it. */
static asc_status check_keys(asc_ctx *ctx, const asc_mixing *m)
{
    for (const asc_setting *row = m->settings; row && row->key; row++) {
        asc_schema schema;
        for (int i = 0; (schema = asc_lm_schema(ctx, i)).owner; i++) {
            const asc_setting *other = asc_setting_find(schema.settings, row->key);
            if (other && (i == 0 || !is_within(row, other))) {
                return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: %s is a setting of %s already%s", m->name,
                                row->key, schema.owner, i == 0 ? "" : ", of another type or a narrower range");
            }
        }
    }
    return ASC_OK;
}

/* Whether there are values to log that no function tells. */
static bool lacks_for_log(const asc_mixing *m)
{
    bool inspected = false;
    for (const asc_logged *v = m->logged; v && v->name; v++) {
        inspected = inspected || v->inspected;
    }
    return (m->logged && !m->log) || (inspected && !m->inspect);
}

asc_status asc_mixing_register(asc_ctx *ctx, const asc_mixing *m)
{
    asc_status status = ASC_NEED(ctx, "mixing_register: mixing", m);
    if (status) {
        return status;
    }
    if (m->abi != ASC_MIXING_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: the mixing has ABI %u, expected %u", m->abi,
                        ASC_MIXING_ABI);
    }
    if (!m->name || !m->name[0] || strchr(m->name, ',') || !m->forward) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: a name without a comma and forward are needed",
                        m->name ? m->name : "(no name)");
    }
    if (m->follows && (!m->flow || !m->turn)) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: follows needs flow and turn", m->name);
    }
    if (lacks_for_log(m)) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: logged needs log, and inspect for what is inspected",
                        m->name);
    }
    if (asc_mixing_find(ctx, m->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: there is a mixing of this name", m->name);
    }
    if (asc_settings_verify(ctx, &(asc_schema){m->name, m->settings}, m->settings_size) || check_keys(ctx, m)) {
        return asc_error(ctx);
    }
    return asc_added_put(ctx, mixings, m);
}
