/* nn/mixing.c: a layer of any mixing: its making, what it keeps for generation, what its mixing may leave out. */
#include "nn/mixing.h"

#include <ascgrad/ops.h>

#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

asc_tensor asc_made_own(asc_ctx *ctx, asc_tensor t)
{
    return asc_is_null(t) || asc_is_own(t) ? t : asc_reshape(ctx, t, asc_ndim(t), asc_shape(t));
}

/* What a function gave that failed, or gave what it may not: null. */
static asc_tensor drop_own(asc_tensor given)
{
    if (asc_is_own(given)) {
        asc_disown(given);
    }
    return asc_null();
}

/* A mixing's auxiliary loss, if it has one: a number, which is added to the model's. */
static asc_tensor take_aux(asc_layer *l, asc_tensor x, asc_tensor aux)
{
    char got[ASC_SHAPE_TEXT];
    asc_array a = asc_array_of(aux);
    if (!asc_error(l->ctx) && !asc_is_null(aux) && (a.numel != 1 || a.dtype != asc_dtype_of(x))) {
        asc_fail(l->ctx, ASC_ERR_ARG, "%s: its auxiliary loss is %s %s, expected %s of one element", l->mixing->name,
                 asc_dtype_name(a.dtype), asc_shape_text(&a, got), asc_dtype_name(asc_dtype_of(x)));
    }
    return asc_error(l->ctx) ? drop_own(aux) : asc_made_own(l->ctx, aux);
}

asc_tensor asc_layer_run(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_tensor *aux)
{
    asc_own begun = asc_own_begin(l->ctx);
    if (aux) {
        *aux = asc_null();
    }
    asc_tensor y = l->mixing->forward(l, x, lengths, aux);
    asc_own_balance(l->ctx, begun, l->mixing->name);
    y = asc_layer_gave(l, x, y);
    if (aux) {
        *aux = take_aux(l, x, *aux);
    }
    asc_own_end(l->ctx, begun);
    return y;
}

asc_tensor asc_layer_gave(asc_layer *l, asc_tensor x, asc_tensor y)
{
    asc_ctx *ctx = l->ctx;
    asc_array got = asc_array_of(y), expected = asc_array_of(x);
    char text[2][ASC_SHAPE_TEXT];
    if (asc_error(ctx)) {
        return drop_own(y);
    }
    if (asc_is_null(y)) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: its mixing gave no tensor, and no error", l->mixing->name);
    } else if (expected.ndim < 0) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: its mixing has released x, which is the caller's", l->mixing->name);
    } else if (got.dtype != expected.dtype || !asc_same_shape(&got, &expected)) {
        asc_fail(ctx, ASC_ERR_ARG, "%s: its mixing gave %s %s, expected %s %s, as it was given", l->mixing->name,
                 asc_dtype_name(got.dtype), asc_shape_text(&got, text[0]), asc_dtype_name(expected.dtype),
                 asc_shape_text(&expected, text[1]));
    } else {
        return asc_made_own(ctx, y); /* the caller lets go of it: not of x, nor of what the mixing holds itself */
    }
    return drop_own(y);
}

/* ---- making ---- */

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
                     .carried_states = mixing->carried_states, .reader = reader, .alone = !maker->prefix[0]};
    asc_status status = zeros(ctx, mixing->settings_size, &l->settings);
    status = status ? status : zeros(ctx, mixing->size, &l->self);
    status = status ? status : read_settings(l, reader, place);
    status = status || !mixing->init ? status : mixing->init(l, maker);
    l->reader = NULL;
    asc_reason(ctx, status, mixing->name, "check or init");
    return asc_error(ctx);
}

bool asc_layer_given(const asc_layer *l, const char *key)
{
    return l && key && l->reader && asc_reader_given(l->reader, key);
}

bool asc_layer_spread(const asc_layer *l, const char *key)
{
    const asc_setting *row = asc_setting_find(l->mixing->settings, key);
    return l->reader && row && asc_reader_is_spread(l->reader, row);
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
    *l = (asc_layer){.ctx = l->ctx, .params = l->params, .config = l->config};
}

/* ---- what a cache holds ---- */

static asc_status check_state(const asc_layer *l, int which, const char *function)
{
    if (which < 0 || which >= ASC_STATES) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "%s: which is %d, expected 0 to %d", function, which, ASC_STATES - 1);
    }
    return asc_error(l->ctx);
}

asc_status asc_cache_make(asc_layer *l, asc_layer_cache *c, int which, int64_t width, int64_t capacity)
{
    asc_status status = ASC_NEED(l ? l->ctx : NULL, "cache_make: layer cache", l, c);
    if (status || (status = check_state(l, which, "cache_make"))) {
        return status;
    }
    asc_tensor t = asc_empty(l->ctx, l->dtype, ASC_SHAPE(1, capacity, width));
    c->state[which] = asc_keep(t);
    asc_disown(t);
    return asc_error(l->ctx);
}

/* That the rows fit behind those held. */
static asc_status check_rows(asc_layer *l, const asc_layer_cache *c, asc_tensor held, asc_tensor rows)
{
    char text[2][ASC_SHAPE_TEXT];
    asc_array room = asc_array_of(held), more = asc_array_of(rows);
    if (asc_is_null(held) || more.ndim != 3 || more.shape[0] != 1 || more.shape[2] != room.shape[2] ||
        more.dtype != room.dtype || c->length < 0 || more.shape[1] > room.shape[1] - c->length) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "cache_append: rows are %s behind %lld, and the state is %s",
                        asc_shape_text(&more, text[0]), (long long)c->length, asc_shape_text(&room, text[1]));
    }
    return ASC_OK;
}

asc_tensor asc_cache_append(asc_layer *l, const asc_layer_cache *c, int which, asc_tensor rows)
{
    if (ASC_NEED(l ? l->ctx : asc_ctx_of(rows), "cache_append: layer cache", l, c) ||
        check_state(l, which, "cache_append") || asc_need_tensor(l->ctx, rows, "cache_append", "rows") ||
        check_rows(l, c, c->state[which], rows)) {
        return asc_null();
    }
    if (!asc_is_contiguous(rows)) {
        asc_tensor flat = asc_contiguous(l->ctx, rows);
        asc_release(rows);
        rows = flat;
    }
    if (asc_is_null(rows)) {
        return rows;
    }
    size_t row = (size_t)asc_size(rows, 2) * asc_dtype_size(l->dtype);
    int64_t n = asc_size(rows, 1);
    char *held = asc_data_mut(c->state[which]);
    memcpy(held + (size_t)c->length * row, asc_data(rows), (size_t)n * row);
    asc_release(rows);
    return asc_slice(l->ctx, c->state[which], 1, 0, c->length + n, 1);
}

asc_status asc_cache_stage(asc_layer *l, asc_layer_cache *c, int which, asc_tensor state)
{
    asc_status status = ASC_NEED(l ? l->ctx : asc_ctx_of(state), "cache_stage: layer cache", l, c);
    status = status ? status : asc_need_tensor(l->ctx, state, "cache_stage", "state");
    status = status ? status : check_state(l, which, "cache_stage");
    if (status) {
        return status;
    }
    asc_tensor earlier = c->staged[which];
    c->staged[which] = asc_keep(state);
    asc_release(earlier);
    if (asc_is_own(state)) {
        asc_disown(state);
    }
    return ASC_OK;
}

asc_status asc_layer_cache_make(asc_layer *l, asc_layer_cache *c, int64_t capacity)
{
    const asc_mixing *m = l->mixing;
    if (!m->cache) {
        return m->next ? ASC_OK : asc_cache_make(l, c, 0, l->D, capacity);
    }
    asc_reason(l->ctx, m->cache(l, c, capacity), m->name, "cache");
    return asc_error(l->ctx);
}

/* All that came before, again, for a mixing that keeps nothing itself. */
static asc_tensor run_again(asc_layer *l, const asc_layer_cache *c, asc_tensor x)
{
    asc_tensor all = asc_cache_append(l, c, 0, asc_keep(x));
    asc_tensor y = asc_layer_run(l, all, asc_null(), NULL);
    return asc_contiguous(l->ctx, asc_slice(l->ctx, y, 1, c->length, c->length + asc_size(x, 1), 1));
}

asc_tensor asc_layer_next(asc_layer *l, asc_layer_cache *c, asc_tensor x)
{
    asc_scope_begin(l->ctx);
    asc_own begun = asc_own_begin(l->ctx);
    asc_tensor y = l->mixing->next ? l->mixing->next(l, c, x) : run_again(l, c, x);
    asc_own_balance(l->ctx, begun, l->mixing->name);
    y = l->mixing->next ? asc_layer_gave(l, x, y) : y;
    asc_own_end(l->ctx, begun);
    asc_keep(y); /* the caller releases it */
    asc_scope_end(l->ctx);
    return y;
}

/* ---- carried context ---- */

asc_tensor asc_later(asc_ctx *ctx, asc_tensor x, int64_t by)
{
    asc_tensor early = asc_slice(ctx, x, 1, 0, asc_size(x, 1) - by, 1);
    return asc_after(early, asc_pad(ctx, early, 3, (int64_t[]){0, by, 0}, (int64_t[]){0, 0, 0}, 0));
}

asc_tensor asc_behind(asc_layer *l, asc_tensor past, asc_tensor x)
{
    return asc_is_null(past) ? asc_keep(x) : asc_concat(l->ctx, (asc_tensor[]){past, x}, 2, 1);
}

asc_tensor asc_last_of(asc_layer *l, asc_tensor y, int64_t n)
{
    int64_t all = asc_size(y, 1);
    if (all == n) {
        return y;
    }
    asc_tensor last = asc_contiguous(l->ctx, asc_slice(l->ctx, y, 1, all - n, all, 1));
    asc_let_go(y);
    return last;
}

asc_tensor asc_carry_again(asc_layer *l, asc_layer_cache *held, asc_tensor past, asc_tensor x)
{
    (void)held; /* it has no states */
    if (ASC_NEED(l ? l->ctx : asc_ctx_of(x), "carry_again: layer", l)) {
        return asc_null();
    }
    asc_tensor all = asc_behind(l, past, x), y = asc_layer_run(l, all, asc_null(), NULL);
    asc_release(all);
    return asc_last_of(l, y, asc_size(x, 1));
}

asc_status asc_refuse_composed(const asc_layer *l, bool composed)
{
    return !composed ? ASC_OK
                     : asc_fail_on(l->ctx, ASC_ERR_ARG, "composed", " is true, and the composition of layer %d, %s, "
                                   "begins with an empty state: expected false with carry", l->index, l->mixing->name);
}

int64_t asc_layer_reach(asc_layer *l, int64_t carry)
{
    if (!l->mixing->carry) {
        asc_fail_on(l->ctx, ASC_ERR_ARG, "carry", " is %lld, and layer %d is %s, which has no form with carried "
                    "context", (long long)carry, l->index, l->mixing->name);
        return -1;
    }
    int64_t reach = l->mixing->reach ? l->mixing->reach(l, carry) : carry;
    if (reach < 0) {
        asc_reason(l->ctx, ASC_ERR_ARG, l->mixing->name, "reach");
    }
    return reach;
}

/* ---- what may be missing ---- */

const char *asc_layer_looks_ahead(const asc_layer *l)
{
    return l->mixing->looks_ahead ? l->mixing->looks_ahead(l) : NULL;
}

asc_status asc_layer_show(asc_layer *l, asc_tensor x, asc_tensor lengths, asc_params *parts)
{
    const asc_mixing *m = l->mixing;
    if (!m->inspect) {
        return asc_fail(l->ctx, ASC_ERR_ARG, "inspect: %s shows nothing of its inside", m->name);
    }
    asc_reason(l->ctx, m->inspect(l, x, lengths, parts), m->name, "inspect");
    return asc_error(l->ctx);
}
