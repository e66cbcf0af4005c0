/* ops/ascender/call.c: a call of the op ascender: its memory, and what is computed of each key once, with the way back.
 *
 *   k̃ = unit(heading),  ĥ = unit(h),  places z_j - z_0
 *
 * Centroids are sums over places that may lie close together and far from the origin: places are taken relative to the
 * sequence's first token, which every causal row may know. Distances use the same places, by their differences. */
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

asc_allowed asc_ascender_sizes(const asc_call *call)
{
    const asc_array *q = &call->in[ASCENDER_Q], *k = &call->in[ASCENDER_K];
    const asc_ascender_options *o = &((const asc_ascender_attrs *)call->attrs)->o;
    return (asc_allowed){.B = q->shape[0],
                         .H = o->heads,
                         .N = q->shape[1],
                         .M = k->shape[1],
                         .causal = o->causal,
                         .apart = call->in[ASCENDER_Z_QUERIES].ndim >= 0,
                         .window = o->window,
                         .globals = o->globals,
                         .random = o->random,
                         .packs = asc_packs(call->ctx)};
}

/* ---- a call's memory ---- */

asc_matrix asc_ascender_matrix(const asc_ascender_call *s, const asc_panel *p, const asc_array *a)
{
    return a->data ? asc_head_matrix(a, p->b, p->h, s->J.H) : (asc_matrix){.dtype = s->dtype};
}

asc_matrix asc_ascender_keys(const asc_ascender_call *s, const asc_panel *p, void *memory, int64_t rows, int64_t width)
{
    size_t first = (size_t)((p->b * s->J.H + p->h) * rows * width) * asc_dtype_size(s->dtype);
    return (asc_matrix){.dtype = s->dtype, .data = memory ? (char *)memory + first : NULL, .width = width, .ld = width};
}

asc_matrix asc_ascender_own_rows(const asc_ascender_call *s, asc_matrix keys)
{
    size_t before = (size_t)(asc_allowed_position(&s->J, 0) * keys.ld) * asc_dtype_size(s->dtype);
    keys.data = keys.data ? (char *)keys.data + before : NULL;
    return keys;
}

asc_matrix asc_ascender_own_features(const asc_ascender_call *s, const asc_panel *p)
{
    return s->J.apart ? asc_ascender_keys(s, p, s->query_features, s->J.N, s->da)
                      : asc_ascender_own_rows(s, asc_ascender_keys(s, p, s->features, s->J.M, s->da));
}

asc_matrix asc_ascender_own_places(const asc_ascender_call *s, const asc_panel *p)
{
    return s->J.apart ? asc_ascender_keys(s, p, s->query_places, s->J.N, s->dz)
                      : asc_ascender_own_rows(s, asc_ascender_keys(s, p, s->places, s->J.M, s->dz));
}

asc_matrix asc_ascender_turned(const asc_ascender_call *s, const asc_panel *p, void *transposed, asc_matrix keys)
{
    if (!transposed) {
        return keys;
    }
    asc_matrix turned = asc_ascender_keys(s, p, transposed, keys.width, s->ld);
    turned.width = keys.width;
    turned.turned = true;
    return turned;
}

asc_matrix asc_ascender_centroids(const asc_ascender_call *s, const asc_panel *p)
{
    return asc_ascender_keys(s, p, s->call->saved[ASCENDER_CENTROID].data, s->J.N, s->dz);
}

asc_matrix asc_ascender_panel_rows(const asc_ascender_call *s, void *memory, int64_t width)
{
    return (asc_matrix){.dtype = s->dtype, .data = memory, .width = width, .ld = width};
}

static int64_t saved_row(const asc_ascender_call *s, const asc_panel *p, int64_t r)
{
    return (p->b * s->J.H + p->h) * s->J.N + p->first + r;
}

double *asc_ascender_fact_row(const asc_ascender_call *s, const asc_panel *p, int64_t r)
{
    return (double *)s->call->saved[ASCENDER_FACTS].data + saved_row(s, p, r) * FACTS;
}

int64_t *asc_ascender_chosen_row(const asc_ascender_call *s, const asc_panel *p, int64_t r)
{
    return (int64_t *)s->call->saved[ASCENDER_CHOSEN].data + saved_row(s, p, r) * asc_neighbors_room(&s->rule);
}

/* Lays a worker's memory out; returns its size. */
static size_t lay_out(const asc_ascender_call *s, char *base, asc_ascender_space *w)
{
    asc_space space = {base, 0};
    size_t real = asc_dtype_size(s->dtype), row = (size_t)s->widest * real;
    size_t heading = ASC_PANEL * (size_t)s->d_heading * real, place = ASC_PANEL * (size_t)s->dz * real;
    for (int i = 0; i < s->panels; i++) {
        w->panel[i] = asc_carve(&space, ASC_PANEL * row);
    }
    w->row[0] = asc_carve(&space, row);
    w->row[1] = asc_carve(&space, row);
    w->sum = asc_carve(&space, heading);
    w->u = asc_carve(&space, heading);
    w->du = asc_carve(&space, heading);
    w->dc = asc_carve(&space, place);
    w->rows = asc_carve(&space, ASC_PANEL * sizeof *w->rows);
    w->best = asc_carve(&space, (size_t)asc_neighbors_room(&s->rule) * real);
    w->list = asc_carve(&space, (size_t)asc_neighbors_most(&s->rule) * sizeof *w->list);
    w->columns = asc_carve(&space, asc_panel_lists(&s->rows) ? (size_t)s->widest * sizeof *w->columns : 0);
    return space.used;
}

asc_ascender_space asc_ascender_space_of(const asc_ascender_call *s, int worker)
{
    asc_ascender_space w;
    lay_out(s, s->space + (size_t)worker * s->space_size, &w);
    return w;
}

static void describe(asc_call *call, asc_ascender_call *s)
{
    const asc_ascender_attrs *a = call->attrs;
    bool separate = call->in[ASCENDER_HEADING].ndim >= 0;
    *s = (asc_ascender_call){.call = call, .a = a, .dtype = call->in[ASCENDER_Q].dtype, .J = asc_ascender_sizes(call)};
    asc_allowed_inputs(&s->J, &call->in[ASCENDER_LENGTHS], &call->in[ASCENDER_MASK]);
    s->rows = s->J;
    if (a->o.all_statistics) {
        s->rows = (asc_allowed){.B = s->J.B, .H = s->J.H, .N = s->J.N, .M = s->J.M, .apart = s->J.apart};
    }
    s->positions = asc_position_bias_of(call, ASCENDER_REL_BIAS, a->o.alibi);
    s->given = asc_given_bias_of(call, ASCENDER_BIAS, &s->J);
    s->rule = asc_neighbor_rule_of(&a->o, &call->in[ASCENDER_NEIGHBORS], &call->in[ASCENDER_K_OF], s->J.M);
    s->base_scores = asc_neighbors_scored(&s->rule) && s->rule.kind == ASC_NEIGHBORS_BASE;
    s->d = call->in[ASCENDER_Q].shape[2] / s->J.H;
    s->d_heading = call->in[separate ? ASCENDER_HEADING : ASCENDER_K].shape[2] / s->J.H;
    s->dz = call->in[ASCENDER_Z].shape[2] / s->J.H;
    s->da = call->in[ASCENDER_H].shape[2] / s->J.H;
    s->ld = asc_head_ld(s->J.M);
    s->scale = 1 / sqrt((double)s->d);
}

/* Lays out [B, H, n] for each of the call's arrays of keys; returns the size of all. */
static size_t lay_out_keys(asc_ascender_call *s, char *base)
{
    bool copies = asc_panel_copies_pay(&s->rows, asc_panel_chunks(&s->rows));
    bool values = copies && s->panels == PANELS_BACKWARD;
    int64_t d_value = s->call->in[ASCENDER_V].shape[2] / s->J.H;
    const struct {
        void **array;
        int64_t n;
    } all[] = {
        {&s->headings, s->J.M * s->d_heading}, {&s->features, s->J.M * s->da},  {&s->places, s->J.M * s->dz},
        {&s->features_t, s->da * s->ld},       {&s->places_t, s->dz * s->ld},
        {&s->keys_t, s->d * (copies || s->base_scores) * s->ld},
        {&s->headings_t, s->d_heading * copies * s->ld}, {&s->values_t, d_value * values * s->ld},
        {&s->all_u, s->a->losses * s->J.N * s->d_heading},
        {&s->query_features, s->J.apart * s->J.N * s->da},
        {&s->query_places, s->J.apart * s->J.N * s->dz},
        {&s->query_dfeatures, s->J.apart * (s->panels == PANELS_BACKWARD) * s->J.N * s->da},
    };
    asc_space space = {base, 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t bytes = (size_t)(s->J.B * s->J.H * all[i].n) * asc_dtype_size(s->dtype);
        void *here = asc_carve(&space, bytes);
        *all[i].array = bytes > 0 ? here : NULL;
    }
    return space.used;
}

/* ---- what is computed of each key once, before the panels, and the way back; of queries apart, too ---- */

/* Keys, or queries, first … first + n - 1 of a head: a piece. */
typedef struct keys {
    asc_panel p; /* b and h alone */
    int64_t first, n;
} keys;

/* Of `rows` in all. */
static keys keys_of(const asc_ascender_call *s, int64_t piece, int64_t rows)
{
    int64_t pieces = (rows + ASC_HEAD_PIECE - 1) / ASC_HEAD_PIECE, head = piece / pieces;
    keys k = {.p = {.b = head / s->J.H, .h = head % s->J.H}, .first = piece % pieces * ASC_HEAD_PIECE};
    k.n = asc_least(ASC_HEAD_PIECE, rows - k.first);
    return k;
}

static int64_t pieces_of(const asc_ascender_call *s, int64_t rows)
{
    return s->J.B * s->J.H * ((rows + ASC_HEAD_PIECE - 1) / ASC_HEAD_PIECE);
}

/* ---- float, and f64.awk makes the same for double ---- */

static float *key_f32(asc_matrix m, int64_t j)
{
    return (float *)m.data + j * m.ld;
}

/* A piece's rows into columns of [width, ld], which may not be wanted. */
static void turn_f32(const asc_ascender_call *s, const keys *k, asc_matrix rows, void *columns)
{
    if (columns) {
        asc_matrix to = asc_ascender_keys(s, &k->p, columns, rows.width, s->ld);
        asc_kernels_f32()->transpose((float *)to.data + k->first, s->ld, key_f32(rows, k->first), rows.ld, k->n,
                                     rows.width);
    }
}

/* A place less that of the first key, if there is one. */
static void set_place_f32(const asc_ascender_call *s, const keys *k, const float *z, float *place)
{
    asc_matrix all = asc_ascender_matrix(s, &k->p, &s->call->in[ASCENDER_Z]);
    memcpy(place, z, (size_t)s->dz * sizeof *place);
    if (s->J.M > 0) {
        asc_kernels_f32()->axpy(place, -1, key_f32(all, 0), s->dz);
    }
}

static void prepare_queries_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_ascender_call *s = arg;
    keys k = keys_of(s, piece, s->J.N);
    asc_matrix h = asc_ascender_matrix(s, &k.p, &s->call->in[ASCENDER_H_QUERIES]);
    asc_matrix z = asc_ascender_matrix(s, &k.p, &s->call->in[ASCENDER_Z_QUERIES]);
    asc_matrix features = asc_ascender_own_features(s, &k.p), places = asc_ascender_own_places(s, &k.p);
    for (int64_t i = k.first; i < k.first + k.n; i++) {
        asc_unit_f32(key_f32(features, i), key_f32(h, i), s->da);
        set_place_f32(s, &k, key_f32(z, i), key_f32(places, i));
    }
}

static void prepare_keys_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_ascender_call *s = arg;
    const asc_call *call = s->call;
    keys k = keys_of(s, piece, s->J.M);
    bool separate = call->in[ASCENDER_HEADING].ndim >= 0;
    asc_matrix heading = asc_ascender_matrix(s, &k.p, &call->in[separate ? ASCENDER_HEADING : ASCENDER_K]);
    asc_matrix h = asc_ascender_matrix(s, &k.p, &call->in[ASCENDER_H]);
    asc_matrix z = asc_ascender_matrix(s, &k.p, &call->in[ASCENDER_Z]);
    asc_matrix headings = asc_ascender_keys(s, &k.p, s->headings, s->J.M, s->d_heading);
    asc_matrix features = asc_ascender_keys(s, &k.p, s->features, s->J.M, s->da);
    asc_matrix places = asc_ascender_keys(s, &k.p, s->places, s->J.M, s->dz);
    for (int64_t j = k.first; j < k.first + k.n; j++) {
        asc_unit_f32(key_f32(headings, j), key_f32(heading, j), s->d_heading);
        asc_unit_f32(key_f32(features, j), key_f32(h, j), s->da);
        set_place_f32(s, &k, key_f32(z, j), key_f32(places, j));
    }
    turn_f32(s, &k, features, s->features_t);
    turn_f32(s, &k, places, s->places_t);
    turn_f32(s, &k, headings, s->headings_t);
    turn_f32(s, &k, asc_ascender_matrix(s, &k.p, &call->in[ASCENDER_K]), s->keys_t);
    turn_f32(s, &k, asc_ascender_matrix(s, &k.p, &call->in[ASCENDER_V]), s->values_t);
}

static void finish_units_f32(const asc_ascender_call *s, const keys *k, int input, void *units, void *grads,
                             bool fresh)
{
    const asc_call *call = s->call;
    int64_t rows = call->in[input].shape[1];
    if (!call->grad_in[input].data) {
        return;
    }
    asc_matrix x = asc_ascender_matrix(s, &k->p, &call->in[input]);
    asc_matrix dx = asc_ascender_matrix(s, &k->p, &call->grad_in[input]);
    asc_matrix unit = asc_ascender_keys(s, &k->p, units, rows, x.width);
    asc_matrix grad = asc_ascender_keys(s, &k->p, grads, rows, x.width);
    for (int64_t j = k->first; j < k->first + k->n; j++) {
        asc_unit_grad_f32(key_f32(dx, j), key_f32(unit, j), key_f32(grad, j),
                          asc_unit_inverse_f32(key_f32(x, j), x.width), x.width, fresh);
    }
}

static void finish_queries_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_ascender_call *s = arg;
    keys k = keys_of(s, piece, s->J.N);
    finish_units_f32(s, &k, ASCENDER_H_QUERIES, s->query_features, s->query_dfeatures,
                     s->call->fresh[ASCENDER_H_QUERIES]);
}

static void finish_keys_f32(void *arg, int64_t piece, int worker)
{
    (void)worker;
    const asc_ascender_call *s = arg;
    const asc_call *call = s->call;
    keys k = keys_of(s, piece, s->J.M);
    bool separate = call->in[ASCENDER_HEADING].ndim >= 0; /* else the keys' gradient has its first part already */
    finish_units_f32(s, &k, separate ? ASCENDER_HEADING : ASCENDER_K, s->headings, s->dheadings.target,
                     separate && call->fresh[ASCENDER_HEADING]);
    finish_units_f32(s, &k, ASCENDER_H, s->features, s->dfeatures.target, call->fresh[ASCENDER_H]);
    if (call->grad_in[ASCENDER_Z].data) {
        asc_matrix dz = asc_ascender_matrix(s, &k.p, &call->grad_in[ASCENDER_Z]);
        asc_matrix turned = asc_ascender_keys(s, &k.p, s->dplaces_t.target, s->dz, s->ld);
        for (int64_t j = k.first; j < k.first + k.n; j++) {
            for (int64_t m = 0; m < s->dz; m++) {
                key_f32(dz, j)[m] += ((const float *)turned.data)[m * s->ld + j];
            }
        }
    }
}

/* ---- end of float ---- */
#include "ops/ascender/call.f64.h"

void asc_ascender_finish(asc_ascender_call *s)
{
    asc_parallel(s->call->ctx, pieces_of(s, s->J.M), BY_DTYPE(s->dtype, finish_keys), s);
    if (s->J.apart) {
        asc_parallel(s->call->ctx, pieces_of(s, s->J.N), BY_DTYPE(s->dtype, finish_queries), s);
    }
}

asc_status asc_ascender_call_begin(asc_call *call, int panels, asc_ascender_call *s)
{
    describe(call, s);
    if (panels == PANELS_BACKWARD) {
        asc_given_bias_begin(call, ASCENDER_BIAS, &s->rows);
    }
    s->widest = asc_panel_widest(&s->rows);
    s->panels = panels;
    asc_ascender_space w;
    s->space_size = lay_out(s, NULL, &w);
    s->space = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * s->space_size);
    char *keys = asc_call_scratch(call, lay_out_keys(s, NULL));
    if (!s->space || !keys) {
        return ASC_ERR_MEMORY;
    }
    lay_out_keys(s, keys);
    asc_parallel(call->ctx, pieces_of(s, s->J.M), BY_DTYPE(s->dtype, prepare_keys), s);
    if (s->J.apart) {
        asc_parallel(call->ctx, pieces_of(s, s->J.N), BY_DTYPE(s->dtype, prepare_queries), s);
    }
    return ASC_OK;
}
