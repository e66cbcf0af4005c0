/* ops/attention/neighbors.c: choosing and listing the neighbours of a query. */
#include "ops/attention/neighbors.h"

#include <stdlib.h>

asc_neighbor_rule asc_neighbor_rule_of(const asc_ascender_options *o, const asc_array *neighbors, const asc_array *k_of,
                                       int64_t M)
{
    asc_neighbor_rule rule = {.kind = o->neighbors, .self = o->neighbor_self, .k = asc_least(o->k, M),
                              .radius = asc_least(o->radius, M), .k_of = k_of->ndim >= 0 ? k_of->data : NULL, .M = M};
    if (neighbors->ndim >= 0) {
        const int64_t *n = neighbors->shape;
        rule.given = neighbors->data;
        rule.n_given = n[3];
        rule.stride[0] = n[0] == 1 ? 0 : n[1] * n[2] * n[3];
        rule.stride[1] = n[1] == 1 ? 0 : n[2] * n[3];
        rule.stride[2] = n[3];
    }
    return rule;
}

asc_tensor asc_neighbors_k_of(asc_ctx *ctx, asc_ascender_options *options)
{
    const int64_t *k_of = options->k_of;
    options->k_of = NULL;
    if (!k_of || options->heads < 1) {
        return asc_null();
    }
    int64_t most = 0, least = 0;
    for (int64_t h = 0; h < options->heads; h++) {
        most = asc_most(most, k_of[h]);
        least = asc_least(least, k_of[h]);
    }
    options->k = least < 0 ? least : most; /* infer refuses what is below 0 */
    return asc_from(ctx, ASC_I64, k_of, 1, &options->heads);
}

asc_status asc_expect_neighbors(asc_call *call, int neighbors, int k_of, const asc_ascender_options *o,
                                const asc_allowed *J)
{
    if (o->k < 0 || o->radius < 0) {
        return asc_call_fail(call, "k is %lld, radius is %lld, expected none below 0", (long long)o->k,
                             (long long)o->radius);
    }
    const asc_array *n = &call->in[neighbors];
    if (n->ndim >= 0 && (n->dtype != ASC_I64 || n->ndim != 4 || (n->shape[0] != 1 && n->shape[0] != J->B) ||
                         (n->shape[1] != 1 && n->shape[1] != J->H) || n->shape[2] != J->N)) {
        return asc_call_expect(call, neighbors, "i64 (1 or %lld, 1 or %lld, %lld, m)", (long long)J->B,
                               (long long)J->H, (long long)J->N);
    }
    return call->in[k_of].ndim >= 0 ? asc_expect_shape(call, k_of, ASC_I64, 1, &J->H, "one k a head") : ASC_OK;
}

bool asc_neighbors_scored(const asc_neighbor_rule *rule)
{
    return !rule->given && rule->kind != ASC_NEIGHBORS_WINDOW;
}

int64_t asc_neighbors_room(const asc_neighbor_rule *rule)
{
    return asc_neighbors_scored(rule) ? rule->k : 0;
}

int64_t asc_neighbors_most(const asc_neighbor_rule *rule)
{
    if (rule->given) {
        return rule->n_given;
    }
    bool joined = rule->kind == ASC_NEIGHBORS_WINDOW || rule->kind == ASC_NEIGHBORS_HYBRID_UNION;
    return asc_neighbors_room(rule) + (joined ? asc_least(2 * rule->radius + 1, rule->M) : 0);
}

void asc_neighbors_choose(const asc_neighbor_rule *rule, const asc_panel *p, const asc_panel_row *row, asc_dtype dtype,
                          const void *scores, void *best, int64_t *chosen)
{
    int64_t room = asc_neighbors_room(rule), k = rule->k_of ? asc_least(rule->k_of[p->h], room) : room;
    int64_t skip = rule->self ? -1 : row->self;
    int64_t n = dtype == ASC_F32 ? asc_kernels_f32()->top_k(scores, row->n, skip, k, best, chosen)
                                 : asc_kernels_f64()->top_k(scores, row->n, skip, k, best, chosen);
    for (int64_t e = 0; e < room; e++) {
        chosen[e] = e < n ? asc_panel_entry_key(p, row, chosen[e]) : -1;
    }
}

/* ---- lists ---- */

typedef struct listing {
    const asc_neighbor_rule *rule;
    const asc_panel *p;
    const asc_panel_row *row;
    int64_t *list, n;
} listing;

/* Adds a key, if it is an entry of the row that may be a neighbour; once. `seen`: how much of the list may hold it. */
static void add(listing *l, int64_t key, int64_t seen)
{
    if ((key == l->row->position && !l->rule->self) || asc_panel_entry_of(l->p, l->row, key) < 0) {
        return;
    }
    for (int64_t e = 0; e < seen; e++) {
        if (l->list[e] == key) {
            return;
        }
    }
    l->list[l->n++] = key;
}

static void add_window(listing *l)
{
    int64_t scored = l->n, from = l->row->position - l->rule->radius, to = l->row->position + l->rule->radius;
    for (int64_t key = from < 0 ? 0 : from; key <= to && key < l->rule->M; key++) {
        add(l, key, scored);
    }
}

int64_t asc_neighbors_list(const asc_neighbor_rule *rule, const asc_panel *p, const asc_panel_row *row, int64_t r,
                           const int64_t *chosen, int64_t *list)
{
    listing l = {rule, p, row, list, 0};
    if (rule->given) {
        const int64_t *stride = rule->stride;
        const int64_t *given = rule->given + p->b * stride[0] + p->h * stride[1] + (p->first + r) * stride[2];
        for (int64_t e = 0; e < rule->n_given; e++) {
            add(&l, given[e], l.n);
        }
        return l.n;
    }
    bool near_only = rule->kind == ASC_NEIGHBORS_HYBRID_INTERSECTION;
    for (int64_t e = 0; e < asc_neighbors_room(rule) && chosen[e] >= 0; e++) {
        if (!near_only || llabs((long long)(chosen[e] - row->position)) <= rule->radius) {
            list[l.n++] = chosen[e];
        }
    }
    if (rule->kind == ASC_NEIGHBORS_WINDOW || rule->kind == ASC_NEIGHBORS_HYBRID_UNION) {
        add_window(&l);
    }
    return l.n;
}
