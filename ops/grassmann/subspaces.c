/* ops/grassmann/subspaces.c: what a group of a strip makes of tuples of vectors, and its gradient; subspace.c has the
 * formulas. Vectors that no token of the strip has are passed over. */
#include "ops/grassmann/grassmann.h"

#include <math.h>
#include <string.h>

enum { S = ASC_STRIP };

/* Over the children i of node `at`. */
#define EACH_CHILD(i, tree, at) for (int i = (at) + 1; i < (tree)->node[at].end; i = (tree)->node[i].end)

static inline bool is_leaf(const asc_grassmann_tree *tree, int i)
{
    return tree->node[i].depth == tree->k - 1;
}

/* What the leaves weigh, and which vectors are there for it. */
static void weigh(const asc_grassmann_job *job, const asc_grassmann_worker *w)
{
    const asc_grassmann_tree *tree = job->tree;
    for (int i = 0; i < tree->nodes; i++) {
        memset(w->vector[i].lanes, 0, sizeof *w->vector[i].lanes);
    }
    for (int p = 0; p < job->pairs; p++) {
        asc_grassmann_lanes *leaf = w->vector[tree->leaf[p]].lanes;
        for (int l = 0; l < S; l++) {
            leaf->weight[l] += tree->sign[p] * w->weight[p * S + l];
        }
    }
    for (int i = tree->nodes - 1; i >= 0; i--) {
        asc_grassmann_lanes *lanes = w->vector[i].lanes;
        for (int l = 0; l < S; l++) {
            lanes->there[l] = is_leaf(tree, i) ? fabs(lanes->weight[l]) : lanes->there[l];
        }
        if (i > 0) {
            double *above = w->vector[tree->node[i].path[tree->node[i].depth - 1]].lanes->there;
            asc_kernels_f64()->acc(above, lanes->there, S);
        }
    }
}

/* A leaf's factor, Π of the lengths above it over F, and which F is. */
static void measure(const asc_grassmann_job *job, const asc_grassmann_worker *w, int leaf)
{
    asc_grassmann_lanes *lanes = w->vector[leaf].lanes;
    const int *path = job->tree->node[leaf].path;
    for (int l = 0; l < S; l++) {
        double above = 1, size = lanes->of.norm[l], product = sqrt(lanes->square[l]);
        for (int a = 0; a < job->tree->k - 1; a++) {
            const asc_grassmann_lanes *x = w->vector[path[a]].lanes;
            above *= x->of.length[l];
            size *= x->of.norm[l];
            product *= sqrt(x->square[l]);
        }
        double relative = job->attrs->eps_rel * product, eps = job->attrs->eps;
        double floor = relative > eps ? relative : eps;
        lanes->factor[l] = above / (size > floor ? size : floor);
        lanes->regular[l] = size > floor ? 1 : 0;
        lanes->relative[l] = size <= floor && relative > eps ? 1 : 0;
    }
}

/* The gradients of the vectors below node i that R⁻ᵀ passes on to its own. */
static void substitute(const asc_grassmann_job *job, const asc_grassmann_worker *w, int i)
{
    double minus[S];
    for (int below = i + 1; below < job->tree->node[i].end; below++) {
        const asc_grassmann_vector *x = &w->vector[below];
        for (int l = 0; l < S; l++) {
            minus[l] = -x->lanes->along[job->tree->node[i].depth][l];
        }
        if (asc_strip_any(x->lanes->there)) {
            asc_strip_add(job, w->vector[i].grad, minus, x->grad);
        }
    }
}

/* Keeps a group's gradients until the rows gather them. */
static void keep(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group)
{
    const asc_grassmann_tree *tree = job->tree;
    int64_t row = asc_strip_row(job, s), n = job->width;
    asc_put_columns(asc_own_at(job, group, row), job->own.ld, w->vector[0].grad, n, s.lanes);
    for (int p = 0; p < job->shifts; p++) {
        memset(w->y, 0, (size_t)(n * S) * sizeof *w->y);
        for (int i = 1; i < tree->nodes; i++) {
            if (tree->node[i].shift == p && asc_strip_any(w->vector[i].lanes->there)) {
                asc_kernels_f64()->acc(w->y, w->vector[i].grad, n * S);
            }
        }
        asc_put_columns(asc_others_at(job, p, group, row), job->others.ld, w->y, n, s.lanes);
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

/* x of a node, 0 where it is not there. */
static void load_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, asc_grassmann_strip s, int64_t group,
                     int i, double *x)
{
    int64_t row = asc_strip_row(job, s) - job->tree->node[i].lag;
    asc_kernels_f32()->strip_load(x, asc_column_at_f32(&job->z, group * job->width, row), job->z.ld,
                                  w->vector[i].lanes->there, job->width);
}

/* Gram and Schmidt, from the root down. */
static void reject_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, asc_grassmann_strip s,
                       int64_t group)
{
    const asc_grassmann_tree *tree = job->tree;
    for (int i = 0; i < tree->nodes; i++) {
        const asc_grassmann_vector *x = &w->vector[i];
        if (!asc_strip_any(x->lanes->there)) {
            continue;
        }
        load_f32(job, w, s, group, i, x->across);
        asc_kernels_f64()->strip_dot(x->lanes->square, x->across, x->across, job->width);
        for (int a = 0; a < tree->node[i].depth; a++) {
            const asc_grassmann_vector *above = &w->vector[tree->node[i].path[a]];
            asc_kernels_f64()->strip_reject(x->across, x->lanes->along[a], above->across, &above->lanes->of,
                                            job->width);
        }
        asc_kernels_f32()->strip_first(x->unit, &x->lanes->of, x->across, job->width);
        if (is_leaf(tree, i)) {
            measure(job, w, i);
        }
    }
}

/* The form of a node whose children are leaves: a vector. */
static void sum_leaves_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, int at, bool turning)
{
    double step[S];
    memset(w->y, 0, (size_t)(job->width * S) * sizeof *w->y);
    EACH_CHILD(i, job->tree, at)
    {
        const asc_grassmann_lanes *leaf = w->vector[i].lanes;
        for (int l = 0; l < S; l++) {
            step[l] = turning && leaf->regular[l] != 0 ? 0 : leaf->weight[l] * leaf->factor[l];
        }
        if (asc_strip_any(leaf->there)) {
            asc_strip_add(job, w->y, step, w->vector[i].across);
        }
    }
    asc_kernels_f32()->strip_round(w->vector[at].form, w->y, job->width);
}

/* The forms, from the leaves up; of the tuples below the floor only, if `turning`. */
static void sum_forms_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, bool turning)
{
    const asc_grassmann_tree *tree = job->tree;
    for (int at = tree->nodes - 1; at >= 0; at--) {
        int k = tree->k - 1 - tree->node[at].depth;
        bool fresh = true;
        if (k == 1) {
            sum_leaves_f32(job, w, at, turning);
        }
        if (k <= 1) {
            continue;
        }
        EACH_CHILD(i, tree, at)
        {
            const asc_grassmann_vector *x = &w->vector[i];
            if (asc_strip_any(x->lanes->there)) {
                asc_kernels_f32()->strip_form(w->vector[at].form, S, x->unit, x->form, tree->term[k],
                                              tree->coordinates[k], k, S, fresh);
                fresh = false;
            }
        }
        if (fresh) {
            memset(w->vector[at].form, 0, (size_t)(tree->coordinates[k] * S) * sizeof(float));
        }
    }
}

static void put_coordinates_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, int lanes, float *p,
                                int64_t ld)
{
    const asc_grassmann_tree *tree = job->tree;
    if (asc_strip_any(w->vector[0].lanes->there)) {
        asc_kernels_f32()->strip_form(p, ld, w->vector[0].unit, w->vector[0].form, tree->term[tree->k], job->R, tree->k,
                                      lanes, true);
        return;
    }
    for (int64_t c = 0; c < job->R; c++) {
        memset(p + c * ld, 0, (size_t)lanes * sizeof *p);
    }
}

static void make_subspaces_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s,
                               int64_t group, void *p, int64_t ld)
{
    weigh(job, w);
    reject_f32(job, w, s, group);
    sum_forms_f32(job, w, false);
    put_coordinates_f32(job, w, s.lanes, p, ld);
}

/* ---- backward ---- */

/* q and B, from the root down. */
static void contract_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, const float *p, int64_t ld)
{
    const asc_grassmann_tree *tree = job->tree;
    for (int i = 0; i < tree->nodes; i++) {
        const asc_grassmann_vector *x = &w->vector[i];
        const asc_grassmann_node *node = &tree->node[i];
        int k = tree->k - node->depth; /* vectors of the cotangent that comes from above */
        if (k < 2 || !asc_strip_any(x->lanes->there)) {
            continue;
        }
        const float *from = i == 0 ? p : w->vector[node->path[node->depth - 1]].q;
        memset(x->q, 0, (size_t)(tree->coordinates[k - 1] * S) * sizeof(float));
        memset(x->B, 0, (size_t)(job->width * S) * sizeof(float));
        asc_kernels_f32()->strip_form_grad(x->q, x->B, from, i == 0 ? ld : S, x->unit, x->form, tree->term[k],
                                           tree->coordinates[k], k);
    }
}

/* The gradient of a leaf, and what of it is along the vectors above. A group's only coordinate, n = k, is 1 or -1, and
 * stays so: a regular tuple's gradient is 0, not what rounding leaves of it. */
static void leaf_grad_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, int i)
{
    const asc_grassmann_tree *tree = job->tree;
    const asc_grassmann_vector *x = &w->vector[i];
    const int *path = tree->node[i].path;
    asc_grassmann_lanes *leaf = x->lanes;
    double dot[S], on_q[S], on_x[S];
    asc_kernels_f32()->strip_load(w->du, w->vector[path[tree->k - 2]].q, S, leaf->there, job->width);
    asc_kernels_f64()->strip_dot(dot, w->du, x->across, job->width);
    for (int l = 0; l < S; l++) {
        double share = leaf->weight[l] != 0 ? leaf->weight[l] * leaf->factor[l] * dot[l] : 0;
        double moves = job->width == tree->k ? 1 - leaf->regular[l] : 1, across = moves * leaf->regular[l] * share;
        on_q[l] = moves * leaf->weight[l] * leaf->factor[l];
        on_x[l] = -across * leaf->factor[l] * leaf->factor[l];
        for (int a = 0; a < tree->k; a++) {
            asc_grassmann_lanes *lanes = w->vector[path[a]].lanes;
            lanes->on_unit[l] += across;
            lanes->on_x[l] += leaf->relative[l] * share;
        }
    }
    memset(x->grad, 0, (size_t)(job->width * S) * sizeof *x->grad);
    asc_strip_add(job, x->grad, on_q, w->du);
    asc_strip_add(job, x->grad, on_x, x->across);
}

/* Of a vector above the leaves: (B - on_unit x̂⊥)/‖x⊥‖, and the rest of R⁻ᵀ. */
static void inner_grad_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, int i)
{
    const asc_grassmann_vector *x = &w->vector[i];
    const asc_strip_first *of = &x->lanes->of;
    double on_B[S], on_x[S];
    for (int l = 0; l < S; l++) {
        on_B[l] = 1 / of->length[l];
        on_x[l] = -x->lanes->on_unit[l] * on_B[l] * on_B[l];
    }
    asc_kernels_f32()->strip_load(w->du, x->B, S, x->lanes->there, job->width);
    memset(x->grad, 0, (size_t)(job->width * S) * sizeof *x->grad);
    asc_strip_add(job, x->grad, on_B, w->du);
    asc_strip_add(job, x->grad, on_x, x->across);
    substitute(job, w, i);
}

/* Where F = ε_rel Π‖x_a‖, each vector has a share in it. */
static void floor_grad_f32(const asc_grassmann_job *job, const asc_grassmann_worker *w, asc_grassmann_strip s,
                           int64_t group)
{
    for (int i = 0; i < job->tree->nodes && job->attrs->eps_rel > 0; i++) {
        const asc_grassmann_lanes *lanes = w->vector[i].lanes;
        double by[S];
        for (int l = 0; l < S; l++) {
            by[l] = lanes->on_x[l] != 0 ? -lanes->on_x[l] / lanes->square[l] : 0;
        }
        if (asc_strip_any(by)) {
            load_f32(job, w, s, group, i, w->du);
            asc_strip_add(job, w->vector[i].grad, by, w->du);
        }
    }
}

static void vectors_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s,
                             int64_t group, const float *p, int64_t ld)
{
    contract_f32(job, w, p, ld);
    for (int i = job->tree->nodes - 1; i >= 0; i--) {
        if (!asc_strip_any(w->vector[i].lanes->there)) {
            memset(w->vector[i].grad, 0, (size_t)(job->width * S) * sizeof(double));
        } else if (is_leaf(job->tree, i)) {
            leaf_grad_f32(job, w, i);
        } else {
            inner_grad_f32(job, w, i);
        }
    }
    floor_grad_f32(job, w, s, group);
    keep(job, w, s, group);
}

static void subspaces_grad_f32(const asc_grassmann_job *job, asc_grassmann_worker *w, asc_grassmann_strip s,
                               int64_t group, void *p, int64_t ld)
{
    bool turning = job->width == job->tree->k;
    weigh(job, w);
    reject_f32(job, w, s, group);
    sum_forms_f32(job, w, turning);
    if (job->own.x) {
        vectors_grad_f32(job, w, s, group, p, ld);
    }
    if (turning) {
        sum_forms_f32(job, w, false);
    }
    put_coordinates_f32(job, w, s.lanes, p, ld);
}

/* ---- end of float ---- */
#include "ops/grassmann/subspaces.f64.h"

const asc_grassmann_kind asc_grassmann_subspaces = {make_subspaces_f32,
                                                    make_subspaces_f64,
                                                    subspaces_grad_f32,
                                                    subspaces_grad_f64,
                                                    asc_grassmann_gather_others_f32,
                                                    asc_grassmann_gather_others_f64};
