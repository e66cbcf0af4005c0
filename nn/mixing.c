/* nn/mixing.c: the table of mixings, and a layer, in a model or alone. */
#include "nn/mixing.h"

#include <ascgrad/ops.h>

#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"

/* ---- the library's mixings, and those of users ---- */

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
    size_t user = (size_t)(i - N_MIXINGS);
    return ctx && user < ctx->n_mixings ? ctx->mixings[user] : NULL;
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

bool asc_mixing_takes(const asc_ctx *ctx, const char *mixing, const char *key)
{
    const asc_mixing *m = asc_mixing_find(ctx, mixing);
    return m && asc_setting_find(m->settings, key);
}

const asc_mixing *asc_mixing_choose(asc_ctx *ctx, const char *setting, const char *name)
{
    const asc_mixing *m = asc_mixing_find(ctx, name);
    if (m) {
        return m;
    }
    const char *names[MOST_NAMES + 1] = {NULL};
    char known[400] = "";
    for (int i = 0; i < MOST_NAMES && (names[i] = asc_mixing_at(ctx, i)); i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", names[i]);
    }
    asc_fail_on(ctx, ASC_ERR_ARG, setting, ": got '%s', expected one of %s; did you mean '%s'?", name, known,
                asc_name_nearest(name, names));
    return NULL;
}

/* Whether all that is a value of `row` is one of `other`, so that a program may check values before it knows the model. */
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

asc_status asc_mixing_register(asc_ctx *ctx, const asc_mixing *m)
{
    if (!m || m->abi != ASC_MIXING_ABI) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: the mixing has ABI %u, expected %u", m ? m->abi : 0,
                        ASC_MIXING_ABI);
    }
    if (!m->name || !m->name[0] || strchr(m->name, ',') || !m->forward) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: a name without a comma and forward are needed",
                        m->name ? m->name : "(no name)");
    }
    if (asc_mixing_find(ctx, m->name)) {
        return asc_fail(ctx, ASC_ERR_ARG, "mixing_register: %s: there is a mixing of this name", m->name);
    }
    if (asc_settings_verify(ctx, &(asc_schema){m->name, m->settings}, m->settings_size) || check_keys(ctx, m)) {
        return asc_error(ctx);
    }
    if (!ctx || !asc_grow(ctx, (void **)&ctx->mixings, &ctx->cap_mixings, ctx->n_mixings + 1, sizeof *ctx->mixings)) {
        return ASC_ERR_MEMORY;
    }
    ctx->mixings[ctx->n_mixings++] = m;
    return ASC_OK;
}

/* ---- layers ---- */

static asc_status read_settings(asc_layer *l, asc_reader *reader, asc_place place)
{
    const asc_mixing *m = l->mixing;
    if (!m->settings) {
        return m->check ? m->check(l) : ASC_OK;
    }
    asc_status status = asc_reader_read(reader, m->settings, &place, l->settings);
    status = status || !m->check ? status : m->check(l);
    return status ? status : asc_reader_note(reader, m->settings, &place, l->settings);
}

/* `bytes` zeros; NULL for none. */
static asc_status zeros(asc_ctx *ctx, size_t bytes, void **memory)
{
    *memory = bytes ? asc_alloc(ctx, bytes) : NULL;
    if (*memory) {
        memset(*memory, 0, bytes);
    }
    return bytes && !*memory ? ASC_ERR_MEMORY : ASC_OK;
}

asc_status asc_layer_init(asc_layer *l, const asc_mixing *mixing, int64_t D, asc_reader *reader, asc_maker *maker,
                          asc_place place)
{
    asc_ctx *ctx = maker->ctx;
    *l = (asc_layer){.ctx = ctx, .mixing = mixing, .D = D, .dtype = maker->dtype, .index = place.layer,
                     .reader = reader};
    asc_status status = zeros(ctx, mixing->settings_size, &l->settings);
    status = status ? status : zeros(ctx, mixing->size, &l->self);
    status = status ? status : read_settings(l, reader, place);
    status = status || !mixing->init ? status : mixing->init(l, maker);
    l->reader = NULL;
    return status ? status : asc_error(ctx);
}

bool asc_layer_given(const asc_layer *l, const char *key)
{
    return l && key && l->reader && asc_reader_given(l->reader, key);
}

void asc_layer_clear(asc_layer *l)
{
    const asc_mixing *m = l->mixing;
    if (m && m->clear && (l->self || !m->size)) {
        m->clear(l);
    }
    if (m && m->settings) {
        asc_values_clear(l->ctx, m->settings, l->settings);
    }
    asc_free(l->ctx, l->self, l->self ? m->size : 0);
    asc_free(l->ctx, l->settings, l->settings ? m->settings_size : 0);
    *l = (asc_layer){.ctx = l->ctx, .params = l->params};
}

static asc_status fill_alone(asc_layer *l, const char *mixing, int64_t d_model, const char *text, asc_dtype dtype,
                             uint64_t seed)
{
    asc_ctx *ctx = l->ctx;
    const asc_mixing *found = asc_mixing_find(ctx, mixing);
    if (!found || d_model < 1) {
        return asc_fail(ctx, ASC_ERR_ARG, "layer: mixing '%s' on width %lld: there is no such one",
                        mixing ? mixing : "", (long long)d_model);
    }
    asc_reader reader;
    asc_maker maker = {.ctx = ctx, .params = asc_params_new(ctx), .dtype = dtype, .seed = seed};
    if (!maker.params) {
        return ASC_ERR_MEMORY;
    }
    if (asc_reader_open(&reader, ctx, text)) {
        asc_error_place(ctx, "config");
        asc_params_free(maker.params);
        return asc_error(ctx);
    }
    asc_status status = asc_layer_init(l, found, d_model, &reader, &maker, (asc_place){0, 1, 0});
    l->params = maker.params;
    status = status ? status : asc_reader_finish(&reader);
    asc_reader_close(&reader);
    return status;
}

asc_layer *asc_layer_new(asc_ctx *ctx, const char *mixing, int64_t d_model, const char *config, asc_dtype dtype,
                         uint64_t seed)
{
    asc_layer *l = asc_error(ctx) ? NULL : asc_alloc(ctx, sizeof *l);
    if (!l) {
        return NULL;
    }
    *l = (asc_layer){.ctx = ctx};
    if (fill_alone(l, mixing, d_model, config, dtype, seed)) {
        if (asc_error(ctx) == ASC_ERR_ARG && l->mixing) {
            asc_error_place(ctx, "config");
        }
        asc_layer_free(l);
        return NULL;
    }
    return l;
}

void asc_layer_free(asc_layer *l)
{
    if (l) {
        asc_layer_clear(l);
        asc_params_free(l->params);
        asc_free(l->ctx, l, sizeof *l);
    }
}

asc_params *asc_layer_params(asc_layer *l)
{
    return l->params;
}

/* ---- what a cache holds ---- */

static bool is_state(const asc_layer *l, const asc_layer_cache *c, int which)
{
    if (l && (!c || which < 0 || which >= ASC_STATES)) {
        asc_fail(l->ctx, ASC_ERR_ARG, "cache: %s, state %d, expected a cache and 0 to %d", c ? "given" : "NULL", which,
                 ASC_STATES - 1);
    }
    return l && c && which >= 0 && which < ASC_STATES;
}

asc_status asc_cache_make(asc_layer *l, asc_layer_cache *c, int which, int64_t width, int64_t capacity)
{
    if (!is_state(l, c, which)) {
        return ASC_ERR_ARG;
    }
    asc_tensor t = asc_empty(l->ctx, l->dtype, ASC_SHAPE(1, capacity, width));
    c->state[which] = asc_keep(t);
    asc_disown(t);
    return asc_error(l->ctx);
}

asc_tensor asc_cache_append(asc_layer *l, const asc_layer_cache *c, int which, asc_tensor rows)
{
    if (asc_is_null(rows) || !is_state(l, c, which)) {
        return asc_null();
    }
    size_t row = (size_t)asc_size(rows, 2) * asc_dtype_size(l->dtype);
    int64_t n = asc_size(rows, 1);
    char *held = asc_data_mut(c->state[which]);
    memcpy(held + (size_t)c->length * row, asc_data(rows), (size_t)n * row);
    asc_release(rows);
    return asc_slice(l->ctx, c->state[which], 1, 0, c->length + n, 1);
}

asc_status asc_layer_cache_make(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    const asc_mixing *m = l->mixing;
    return m->cache ? m->cache(l, c, capacity) : m->next ? ASC_OK : asc_cache_make(l, c, 0, l->D, capacity);
}

/* All that came before, again, for a mixing that keeps nothing itself. */
static asc_tensor run_again(asc_layer *l, const asc_layer_cache *c, asc_tensor x)
{
    asc_tensor all = asc_cache_append(l, c, 0, asc_keep(x));
    asc_tensor y = l->mixing->forward(l, all, asc_null(), NULL);
    return asc_contiguous(l->ctx, asc_slice(l->ctx, y, 1, c->length, c->length + asc_size(x, 1), 1));
}

asc_tensor asc_layer_next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    if (l->mixing->next) {
        return l->mixing->next(l, c, x);
    }
    asc_scope_begin(l->ctx);
    asc_tensor y = asc_keep(run_again(l, c, x)); /* the caller releases it */
    asc_scope_end(l->ctx);
    return y;
}

/* ---- running ---- */

const char *asc_layer_looks_ahead(const asc_layer *l)
{
    return l->mixing->looks_ahead ? l->mixing->looks_ahead(l) : NULL;
}

asc_status asc_layer_show(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    return l->mixing->inspect ? l->mixing->inspect(l, x, lengths, parts)
                              : asc_fail(l->ctx, ASC_ERR_ARG, "inspect: %s shows nothing of its inside",
                                         l->mixing->name);
}

static asc_status check_input(asc_layer *l, asc_tensor x)
{
    if (asc_ndim(x) != 3 || asc_size(x, 2) != l->D) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "layer: x has %d dimensions and width %lld, expected (B, N, %lld)",
                        asc_ndim(x), (long long)asc_size(x, -1), (long long)l->D);
    }
    return asc_error(l->ctx);
}

asc_status asc_layer_restrict(asc_layer *l, asc_tensor mask, asc_tensor neighbors)
{
    if ((!asc_is_null(mask) && !l->mixing->takes_mask) || (!asc_is_null(neighbors) && !l->mixing->takes_neighbors)) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "layer_restrict: %s has no %s", l->mixing->name,
                        l->mixing->takes_mask ? "neighbours" : "mask");
    }
    l->mask = mask;
    l->neighbors = neighbors;
    return ASC_OK;
}

asc_tensor asc_layer_forward(asc_layer *l, asc_tensor x, asc_tensor lengths)
{
    return check_input(l, x) ? asc_null() : l->mixing->forward(l, x, lengths, NULL);
}

asc_tensor asc_layer_forward_aux(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    *aux = asc_null();
    return check_input(l, x) ? asc_null() : l->mixing->forward(l, x, lengths, aux);
}

asc_status asc_layer_inspect(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    if (check_input(l, x)) {
        return asc_error(l->ctx);
    }
    bool recording = asc_set_recording(l->ctx, false);
    asc_layer_show(l, x, lengths, parts);
    asc_set_recording(l->ctx, recording);
    return asc_error(l->ctx);
}
