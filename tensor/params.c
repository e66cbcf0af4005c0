/* tensor/params.c: named tensors in order. */
#include <ascgrad/params.h>

#include <stdio.h>
#include <string.h>

#include "tensor/ctx.h"
#include "tensor/need.h"

typedef struct entry {
    char *name;
    asc_tensor tensor;
    bool decay;
} entry;

struct asc_params {
    asc_ctx *ctx;
    entry *entry;
    size_t n, capacity;
};

asc_params *asc_params_new(asc_ctx *ctx)
{
    asc_params *p = asc_alloc(ctx, sizeof *p);
    if (p) {
        *p = (asc_params){.ctx = ctx};
    }
    return p;
}

void asc_params_free(asc_params *p)
{
    if (!p) {
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        asc_node_unref(asc_node_of(p->entry[i].tensor));
        asc_free(p->ctx, p->entry[i].name, strlen(p->entry[i].name) + 1);
    }
    asc_free(p->ctx, p->entry, p->capacity * sizeof *p->entry);
    asc_free(p->ctx, p, sizeof *p);
}

asc_status asc_params_add(asc_params *p, const char *name, asc_tensor tensor, bool decay)
{
    asc_status status = ASC_NEED(p ? p->ctx : asc_ctx_of(tensor), "params_add: params name", p, name);
    if (status) {
        return status;
    }
    if (!*name) {
        return asc_fail(p->ctx, ASC_ERR_ARG, "params_add: the name is empty");
    }
    if (!asc_is_valid(tensor)) {
        return asc_fail(p->ctx, ASC_ERR_ARG, "params_add: '%s' is %s", name, asc_is_null(tensor) ? "null" : "gone");
    }
    if (asc_ctx_of(tensor) != p->ctx) {
        return asc_fail(p->ctx, ASC_ERR_ARG, "params_add: '%s' belongs to another context", name);
    }
    if (!asc_is_null(asc_params_find(p, name))) {
        return asc_fail(p->ctx, ASC_ERR_ARG, "params_add: there is a '%s' already", name);
    }
    size_t bytes = strlen(name) + 1;
    if (!asc_grow(p->ctx, &p->entry, &p->capacity, p->n + 1, sizeof *p->entry)) {
        return ASC_ERR_MEMORY;
    }
    char *copy = asc_alloc(p->ctx, bytes);
    if (!copy) {
        return ASC_ERR_MEMORY;
    }
    memcpy(copy, name, bytes);
    asc_node_ref(asc_node_of(tensor)); /* not asc_keep, which the caller might release */
    p->entry[p->n++] = (entry){copy, tensor, decay};
    return ASC_OK;
}

asc_status asc_params_extend(asc_params *p, const char *prefix, const asc_params *other)
{
    asc_ctx *ctx = p ? p->ctx : other ? other->ctx : NULL;
    asc_status status = ASC_NEED(ctx, "params_extend: params prefix other", p, prefix, other);
    char name[1001];
    size_t n = status ? 0 : other->n; /* a list may be added to itself */
    for (size_t i = 0; i < n && !status; i++) {
        const entry *e = &other->entry[i];
        if ((size_t)snprintf(name, sizeof name, "%s%s", prefix, e->name) >= sizeof name) {
            return asc_fail(p->ctx, ASC_ERR_ARG, "params_extend: the name of %s would be too long", e->name);
        }
        status = asc_params_add(p, name, e->tensor, e->decay);
    }
    return status;
}

int asc_params_count(const asc_params *p)
{
    return p ? (int)p->n : 0;
}

/* Entry i, NULL if there is none. */
static const entry *entry_at(const asc_params *p, int i)
{
    return p && i >= 0 && (size_t)i < p->n ? &p->entry[i] : NULL;
}

const char *asc_params_name(const asc_params *p, int i)
{
    const entry *e = entry_at(p, i);
    return e ? e->name : NULL;
}

asc_tensor asc_params_at(const asc_params *p, int i)
{
    const entry *e = entry_at(p, i);
    return e ? e->tensor : asc_null();
}

bool asc_params_decays(const asc_params *p, int i)
{
    const entry *e = entry_at(p, i);
    return e && e->decay;
}

asc_tensor asc_params_find(const asc_params *p, const char *name)
{
    for (size_t i = 0; p && name && i < p->n; i++) {
        if (strcmp(p->entry[i].name, name) == 0) {
            return p->entry[i].tensor;
        }
    }
    return asc_null();
}

int64_t asc_params_numel(const asc_params *p)
{
    int64_t total = 0;
    for (size_t i = 0; p && i < p->n; i++) {
        total += asc_numel(p->entry[i].tensor);
    }
    return total;
}

void asc_params_zero_grad(asc_params *p)
{
    for (size_t i = 0; p && i < p->n; i++) {
        asc_zero_grad(p->entry[i].tensor);
    }
}
