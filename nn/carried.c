/* nn/carried.c: what the layers of a model carry from one block of their streams to the next: inputs of the last
 * tokens, and states. It is held twice: what a pass goes on from, and what it leaves, which takes the other's place
 * when the caller says so. Both are memory of its own, as no scope of the computation lasts so long. */
#include <stdio.h>
#include <string.h>

#include <ascgrad/ops.h>

#include "nn/lm.h"
#include "tensor/ctx.h"
#include "tensor/need.h"

/* The values of a tensor, in memory that is used again; numel 0: none. */
typedef struct kept {
    void *data;
    size_t room;
    asc_array array;
} kept;

typedef struct carried_layer {
    int64_t reach; /* inputs that it looks back at, at most */
    kept inputs[2], state[2][ASC_STATES];
} carried_layer;

struct asc_lm_carried {
    asc_lm *lm;
    int64_t state;              /* a number of its own for what is held, by which a second pass knows it again */
    int now;                    /* which of two is held; the other is what the pass leaves */
    int64_t length[2], rows[2]; /* tokens of a stream; streams. The length left is -1 before a pass */
    carried_layer *layer;
};

/* ---- values ---- */

/* Makes room for an array, (B, n, …) contiguous. */
static void *make_room(asc_ctx *ctx, kept *k, int ndim, const int64_t *shape, asc_dtype dtype)
{
    k->array.numel = 0;
    asc_array array;
    if (!asc_array_init(&array, dtype, ndim, shape)) {
        asc_fail(ctx, ASC_ERR_ARG, "carried context: a tensor of more dimensions than there are");
        return NULL;
    }
    size_t bytes = asc_array_bytes(&array);
    if (bytes > k->room) {
        asc_free(ctx, k->data, k->room);
        k->data = asc_alloc(ctx, bytes);
        k->room = k->data ? bytes : 0;
    }
    k->array = array;
    k->array.numel = k->data ? array.numel : 0;
    return k->data;
}

static void copy(asc_ctx *ctx, kept *k, asc_tensor t)
{
    asc_tensor flat = asc_contiguous(ctx, t); /* which t may be */
    asc_array a = asc_array_of(flat);
    const void *from = asc_data(flat);
    void *to = from ? make_room(ctx, k, a.ndim, a.shape, a.dtype) : NULL;
    if (to) {
        memcpy(to, from, asc_array_bytes(&k->array));
    }
}

/* As a tensor without a gradient, or null. */
static asc_tensor tensor_of(asc_ctx *ctx, const kept *k)
{
    return k->array.numel > 0 ? asc_from(ctx, k->array.dtype, k->data, k->array.ndim, k->array.shape) : asc_null();
}

/* ---- a layer's part in a pass ---- */

/* Leaves the last `reach` positions of past and x, for the next block. */
static void leave_inputs(asc_ctx *ctx, kept *k, asc_tensor past, asc_tensor x, int64_t reach)
{
    int64_t B = asc_size(x, 0), n = asc_size(x, 1), D = asc_size(x, 2), p = asc_size(past, 1);
    int64_t of_x = n < reach ? n : reach, of_past = p < reach - of_x ? p : reach - of_x;
    size_t row = (size_t)D * asc_dtype_size(asc_dtype_of(x));
    char *to = make_room(ctx, k, 3, (int64_t[]){B, of_past + of_x, D}, asc_dtype_of(x));
    const char *before = asc_data(past), *now = asc_data(x);
    for (int64_t b = 0; to && now && b < B; b++) {
        if (of_past > 0) {
            memcpy(to, before + (size_t)(b * p + p - of_past) * row, (size_t)of_past * row);
        }
        to += (size_t)of_past * row;
        memcpy(to, now + (size_t)(b * n + n - of_x) * row, (size_t)of_x * row);
        to += (size_t)of_x * row;
    }
}

static void leave_states(asc_layer *mix, carried_layer *layer, int next, asc_layer_cache *cache)
{
    for (int i = 0; i < ASC_STATES; i++) {
        if (!asc_is_null(cache->staged[i]) && mix->carried_states & 1u << i) {
            copy(mix->ctx, &layer->state[next][i], cache->staged[i]);
        }
        asc_release(cache->staged[i]);
        asc_release(cache->state[i]);
    }
}

asc_tensor asc_carried_mix(asc_lm_carried *c, asc_layer *mix, asc_tensor x, int64_t l)
{
    asc_ctx *ctx = mix->ctx;
    carried_layer *layer = &c->layer[l];
    bool any = c->length[c->now] > 0;
    asc_tensor past = any && layer->reach > 0 ? tensor_of(ctx, &layer->inputs[c->now]) : asc_null();
    asc_layer_cache cache = {.length = c->length[c->now]};
    for (int i = 0; any && i < ASC_STATES; i++) {
        cache.state[i] = tensor_of(ctx, &layer->state[c->now][i]);
    }
    asc_own begun = asc_own_begin(ctx);
    asc_tensor y = mix->mixing->carry(mix, &cache, past, x);
    asc_own_balance(ctx, begun, mix->mixing->name);
    y = asc_layer_gave(mix, x, y);
    asc_own_end(ctx, begun);
    bool recording = asc_set_recording(ctx, false);
    if (asc_error(ctx) == ASC_OK && layer->reach > 0) {
        leave_inputs(ctx, &layer->inputs[!c->now], past, asc_contiguous(ctx, x), layer->reach);
    }
    leave_states(mix, layer, !c->now, &cache);
    asc_set_recording(ctx, recording);
    asc_release(past);
    return y;
}

asc_status asc_carried_begin(asc_lm_carried *c, asc_tensor tokens, asc_tensor lengths)
{
    c->length[!c->now] = -1; /* of a pass before, until this one has come to its end */
    if (!asc_is_null(lengths)) {
        return asc_fail(c->lm->ctx, ASC_ERR_ARG, "carried context: sequences of lengths of their own end, expected "
                        "streams");
    }
    int64_t rows = c->rows[c->now];
    if (c->length[c->now] > 0 && asc_size(tokens, 0) != rows) {
        return asc_fail(c->lm->ctx, ASC_ERR_ARG, "carried context: %lld sequences, expected the %lld of the block "
                        "before", (long long)asc_size(tokens, 0), (long long)rows);
    }
    return ASC_OK;
}

void asc_carried_end(asc_lm_carried *c, int64_t B, int64_t N)
{
    c->length[!c->now] = c->length[c->now] + N;
    c->rows[!c->now] = B;
}

/* ---- making and unmaking ---- */

/* What carries context has no place for a learned position, nor for whole sequences; each layer must be able to. */
asc_status asc_lm_check_carry(asc_lm *lm, int64_t carry)
{
    if (lm->classes > 0) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "carry", " is %lld, and head is classifier: whole sequences have none "
                           "before them, expected 0", (long long)carry);
    }
    if (!asc_is_null(lm->pos_emb)) {
        return asc_fail_on(lm->ctx, ASC_ERR_ARG, "carry", " is %lld, and pos_emb is true: a learned position is one "
                           "within its block; expected pos_emb false, with positions rotary or alibi where a layer "
                           "needs some", (long long)carry);
    }
    for (int64_t l = 0; l < lm->layers; l++) {
        if (asc_layer_reach(&lm->blocks[l].mix, carry) < 0) {
            return asc_error(lm->ctx);
        }
    }
    return ASC_OK;
}

asc_lm_carried *asc_lm_carried_new(asc_lm *lm, int64_t tokens)
{
    if (ASC_NEED(lm ? lm->ctx : NULL, "lm_carried_new: lm", lm)) {
        return NULL;
    }
    asc_ctx *ctx = lm->ctx;
    if (tokens < 1) {
        asc_fail_on(ctx, ASC_ERR_ARG, "carry", " is %lld tokens, expected at least 1", (long long)tokens);
        return NULL;
    }
    size_t bytes = (size_t)lm->layers * sizeof(carried_layer);
    asc_lm_carried *c = asc_lm_check_carry(lm, tokens) ? NULL : asc_alloc(ctx, sizeof *c);
    if (!c) {
        return NULL;
    }
    *c = (asc_lm_carried){.lm = lm, .state = ++lm->carried_states, .length = {0, -1}, .layer = asc_alloc(ctx, bytes)};
    if (!c->layer) {
        asc_free(ctx, c, sizeof *c);
        return NULL;
    }
    memset(c->layer, 0, bytes);
    for (int64_t l = 0; l < lm->layers; l++) {
        c->layer[l].reach = asc_layer_reach(&lm->blocks[l].mix, tokens);
    }
    return c;
}

static void drop(asc_ctx *ctx, kept *k)
{
    asc_free(ctx, k->data, k->room);
    *k = (kept){.data = NULL};
}

void asc_lm_carried_free(asc_lm_carried *c)
{
    if (!c) {
        return;
    }
    asc_lm *lm = c->lm;
    lm->carried = lm->carried == c ? NULL : lm->carried;
    for (int64_t l = 0; l < lm->layers; l++) {
        for (int which = 0; which < 2; which++) {
            drop(lm->ctx, &c->layer[l].inputs[which]);
            for (int i = 0; i < ASC_STATES; i++) {
                drop(lm->ctx, &c->layer[l].state[which][i]);
            }
        }
    }
    asc_free(lm->ctx, c->layer, (size_t)lm->layers * sizeof *c->layer);
    asc_free(lm->ctx, c, sizeof *c);
}

asc_status asc_lm_set_carried(asc_lm *lm, asc_lm_carried *c)
{
    asc_status status = ASC_NEED(lm ? lm->ctx : c ? c->lm->ctx : NULL, "lm_set_carried: lm", lm);
    if (!status && c && c->lm != lm) {
        return asc_fail(lm->ctx, ASC_ERR_ARG, "lm_set_carried: carried is of another model");
    }
    if (lm) {
        lm->carried = c;
    }
    return status;
}

/* ---- from block to block ---- */

asc_status asc_lm_carried_advance(asc_lm_carried *c)
{
    if (!c) {
        return ASC_ERR_ARG;
    }
    if (asc_error(c->lm->ctx)) {
        return asc_error(c->lm->ctx);
    }
    if (c->length[!c->now] < 0) {
        return asc_fail(c->lm->ctx, ASC_ERR_STATE, "lm_carried_advance: no pass has gone on from it");
    }
    c->state = ++c->lm->carried_states;
    c->now = !c->now;
    c->length[!c->now] = -1;
    return ASC_OK;
}

void asc_lm_carried_reset(asc_lm_carried *c)
{
    if (c) {
        c->state = ++c->lm->carried_states;
        c->length[c->now] = 0;
        c->length[!c->now] = -1;
    }
}

int64_t asc_carried_state(const asc_lm_carried *c)
{
    return c ? c->state : 0;
}

int64_t asc_lm_carried_length(const asc_lm_carried *c)
{
    return c ? c->length[c->now] : 0;
}

/* ---- for a checkpoint ---- */

enum { NAME = 48 };

static void name_of(char name[NAME], int64_t l, int state)
{
    if (state < 0) {
        snprintf(name, NAME, "%lld.inputs", (long long)l);
    } else {
        snprintf(name, NAME, "%lld.state.%d", (long long)l, state);
    }
}

static void save(asc_ctx *ctx, asc_params *tensors, int64_t l, int state, const kept *k)
{
    char name[NAME];
    asc_tensor t = tensor_of(ctx, k);
    if (!asc_is_null(t)) {
        name_of(name, l, state);
        asc_params_add(tensors, name, t, false);
        asc_release(t);
    }
}

asc_status asc_lm_carried_save(const asc_lm_carried *c, asc_params *tensors)
{
    asc_ctx *ctx = c ? c->lm->ctx : NULL;
    asc_status status = ASC_NEED(ctx, "lm_carried_save: carried tensors", c, tensors);
    for (int64_t l = 0; !status && c->length[c->now] > 0 && l < c->lm->layers; l++) {
        const carried_layer *layer = &c->layer[l];
        if (layer->reach > 0) {
            save(ctx, tensors, l, -1, &layer->inputs[c->now]);
        }
        for (int i = 0; i < ASC_STATES; i++) {
            save(ctx, tensors, l, i, &layer->state[c->now][i]);
        }
        status = asc_error(ctx);
    }
    return status;
}

/* A tensor of B rows and, of inputs, n positions. */
static asc_status load(asc_lm_carried *c, const asc_params *tensors, int64_t l, int state, int64_t B, int64_t n)
{
    char name[NAME];
    name_of(name, l, state);
    asc_tensor t = asc_params_find(tensors, name);
    const asc_lm *lm = c->lm;
    bool inputs = state < 0;
    bool right = asc_dtype_of(t) == lm->dtype && asc_ndim(t) >= 1 && asc_size(t, 0) == B && asc_numel(t) > 0;
    right = right && (!inputs || (asc_ndim(t) == 3 && asc_size(t, 1) == n && asc_size(t, 2) == lm->D));
    if (asc_is_null(t) || !right) {
        return asc_fail(lm->ctx, ASC_ERR_FORMAT, "carried context: %s is %s, expected %lld rows%s", name,
                        asc_is_null(t) ? "missing" : "of another shape", (long long)B,
                        inputs ? " of what its layer looks back at" : "");
    }
    copy(lm->ctx, inputs ? &c->layer[l].inputs[c->now] : &c->layer[l].state[c->now][state], t);
    return asc_error(lm->ctx);
}

/* How many tensors save adds for a layer. */
static int count_kept(const asc_lm_carried *c, int64_t l)
{
    int n = c->layer[l].reach > 0;
    for (int i = 0; i < ASC_STATES; i++) {
        n += (c->lm->blocks[l].mix.carried_states & 1u << i) != 0;
    }
    return n;
}

static asc_status load_layer(asc_lm_carried *c, const asc_params *tensors, int64_t l, int64_t rows, int64_t length)
{
    int64_t reach = c->layer[l].reach;
    asc_status status = reach > 0 ? load(c, tensors, l, -1, rows, length < reach ? length : reach) : ASC_OK;
    for (int i = 0; i < ASC_STATES && !status; i++) {
        c->layer[l].state[c->now][i].array.numel = 0;
        bool goes_on = c->lm->blocks[l].mix.carried_states & 1u << i;
        status = goes_on ? load(c, tensors, l, i, rows, 0) : ASC_OK;
    }
    return status;
}

asc_status asc_lm_carried_load(asc_lm_carried *c, const asc_params *tensors, int64_t rows, int64_t length)
{
    asc_status status = ASC_NEED(c ? c->lm->ctx : NULL, "lm_carried_load: carried tensors", c, tensors);
    if (status) {
        return status;
    }
    if (rows < 1 || length < 0) {
        return asc_fail(c->lm->ctx, ASC_ERR_ARG, "lm_carried_load: %lld rows of %lld tokens, expected at least 1 and 0",
                        (long long)rows, (long long)length);
    }
    asc_lm_carried_reset(c);
    int expected = 0;
    for (int64_t l = 0; length > 0 && l < c->lm->layers && !status; l++) {
        status = load_layer(c, tensors, l, rows, length);
        expected += count_kept(c, l);
    }
    if (!status && asc_params_count(tensors) != expected) {
        status = asc_fail(c->lm->ctx, ASC_ERR_FORMAT, "carried context: %d tensors, expected %d",
                          asc_params_count(tensors), expected);
    }
    c->length[c->now] = status ? 0 : length;
    c->rows[c->now] = rows;
    return status;
}
