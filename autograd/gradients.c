/* autograd/gradients.c: where gradients are added up. */
#include "autograd/engine.h"
#include "kernels/kernels.h"

/* A leaf's gradient belongs to the leaf, not to a scope. */
asc_status asc_leaf_grad(asc_node *leaf)
{
    asc_ctx *ctx = leaf->ctx;
    if (leaf->grad) {
        return ASC_OK;
    }
    asc_array a;
    asc_array_init(&a, leaf->array.dtype, leaf->array.ndim, leaf->array.shape);
    asc_storage *s = asc_storage_lasting(ctx, asc_array_bytes(&a));
    if (!s) {
        return ASC_ERR_MEMORY;
    }
    a.data = s->data;
    asc_node *g = asc_node_new(ctx, &a);
    if (!g) {
        asc_storage_unref(ctx, s);
        return ASC_ERR_MEMORY;
    }
    g->storage = s;
    asc_node_ref(g);
    g->owned = false;
    asc_node_unref(g); /* the scope's reference becomes the leaf's */
    leaf->grad = g;
    return ASC_OK;
}

static asc_status find_leaf_grad(asc_node *leaf, void **data, bool *fresh)
{
    asc_tape *tape = leaf->ctx->tape.state;
    *fresh = !leaf->has_grad;
    if (asc_leaf_grad(leaf)) {
        return ASC_ERR_MEMORY;
    }
    leaf->has_grad = true;
    if (leaf->hook && !leaf->reached) {
        leaf->reached = true;
        leaf->next = tape->reached;
        tape->reached = leaf;
        asc_node_ref(leaf);
    }
    asc_storage_add_gradient(leaf->grad->storage, &leaf->grad->array);
    *data = leaf->grad->array.data;
    return ASC_OK;
}

asc_status asc_grad_target(asc_ctx *ctx, const asc_edge *edge, void **data, bool *fresh)
{
    if (edge->leaf) {
        return find_leaf_grad(edge->leaf, data, fresh);
    }
    asc_slot *out = asc_output_slot(edge);
    *fresh = out->grad == NULL;
    if (!out->grad) {
        out->grad = asc_storage_new(ctx, asc_array_bytes(&out->array));
    }
    if (!out->grad) {
        return ASC_ERR_MEMORY;
    }
    asc_waiting_add(ctx->tape.state, edge->record);
    *data = out->grad->data;
    return ASC_OK;
}

/* ---- float, and f64.awk makes the same for double ---- */

static void add_f32(void *to, const void *from, int64_t n)
{
    asc_kernels_f32()->acc(to, from, n);
}

/* ---- end of float ---- */
#include "autograd/gradients.f64.h"

void asc_grad_add(const asc_array *like, void *to, const void *from)
{
    BY_DTYPE(like->dtype, add)(to, from, like->numel);
}
