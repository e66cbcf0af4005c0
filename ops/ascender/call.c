/* ops/ascender/call.c: a call of the ASCender op: its memory, the order of its passes, and the sums of their pieces. */
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

asc_allowed asc_flock_sizes(const asc_call *call)
{
    const asc_array *q = &call->in[FLOCK_Q], *k = &call->in[FLOCK_K];
    const asc_ascender_options *o = &((const asc_flock_attrs *)call->attrs)->o;
    return (asc_allowed){.B = q->shape[0], .H = o->heads, .N = q->shape[1], .M = k->shape[1], .causal = o->causal,
                         .window = o->window, .globals = o->globals};
}

/* ---- a call's memory ---- */

asc_matrix asc_flock_input(const asc_flock *s, const asc_panel *p, const asc_array *a)
{
    return a->data ? asc_head_matrix(a, p->b, p->h, s->J.H) : (asc_matrix){.dtype = s->dtype};
}

asc_matrix asc_flock_keys(const asc_flock *s, const asc_panel *p, void *memory, int64_t rows, int64_t width)
{
    size_t first = (size_t)((p->b * s->J.H + p->h) * rows * width) * asc_dtype_size(s->dtype);
    return (asc_matrix){.dtype = s->dtype, .data = (char *)memory + first, .width = width, .ld = width};
}

asc_matrix asc_flock_own_rows(const asc_flock *s, asc_matrix keys)
{
    size_t before = (size_t)((s->J.M - s->J.N) * keys.ld) * asc_dtype_size(s->dtype);
    keys.data = keys.data ? (char *)keys.data + before : NULL;
    return keys;
}

asc_matrix asc_flock_turned(const asc_flock *s, const asc_panel *p, void *transposed, asc_matrix keys)
{
    if (!transposed) {
        return keys;
    }
    asc_matrix turned = asc_flock_keys(s, p, transposed, keys.width, s->ld);
    turned.width = keys.width;
    turned.turned = true;
    return turned;
}

asc_matrix asc_flock_centroids(const asc_flock *s, const asc_panel *p)
{
    return asc_flock_keys(s, p, s->call->saved[FLOCK_CENTROID].data, s->J.N, s->dz);
}

asc_matrix asc_flock_block(const asc_flock *s, void *memory, int64_t width)
{
    return (asc_matrix){.dtype = s->dtype, .data = memory, .width = width, .ld = width};
}

static int64_t saved_row(const asc_flock *s, const asc_panel *p, int64_t r)
{
    return (p->b * s->J.H + p->h) * s->J.N + p->first + r;
}

double *asc_flock_fact_row(const asc_flock *s, const asc_panel *p, int64_t r)
{
    return (double *)s->call->saved[FLOCK_FACTS].data + saved_row(s, p, r) * FACTS;
}

int64_t *asc_flock_chosen_row(const asc_flock *s, const asc_panel *p, int64_t r)
{
    return (int64_t *)s->call->saved[FLOCK_CHOSEN].data + saved_row(s, p, r) * asc_neighbors_room(&s->rule);
}

/* The next `bytes` of memory, aligned; *at counts them. With base NULL it only counts. */
static void *carve(char *base, size_t *at, size_t bytes)
{
    void *here = base ? base + *at : NULL;
    *at += (bytes + 63) / 64 * 64;
    return here;
}

/* Lays a worker's memory out; returns its size. */
static size_t lay_out(const asc_flock *s, char *base, asc_flock_space *w)
{
    size_t at = 0, real = asc_dtype_size(s->dtype), row = (size_t)s->widest * real;
    size_t heading = ASC_PANEL * (size_t)s->d_heading * real, place = ASC_PANEL * (size_t)s->dz * real;
    for (int i = 0; i < s->panels; i++) {
        w->panel[i] = carve(base, &at, ASC_PANEL * row);
    }
    w->row[0] = carve(base, &at, row);
    w->row[1] = carve(base, &at, row);
    w->sum = carve(base, &at, heading);
    w->u = carve(base, &at, heading);
    w->du = carve(base, &at, heading);
    w->dc = carve(base, &at, place);
    w->rows = carve(base, &at, ASC_PANEL * sizeof *w->rows);
    w->best = carve(base, &at, (size_t)asc_neighbors_room(&s->rule) * real);
    w->list = carve(base, &at, (size_t)asc_neighbors_most(&s->rule) * sizeof *w->list);
    w->columns = carve(base, &at, s->rows.mask ? (size_t)s->widest * sizeof *w->columns : 0);
    return at;
}

asc_flock_space asc_flock_space_of(const asc_flock *s, int worker)
{
    asc_flock_space w;
    lay_out(s, s->space + (size_t)worker * s->space_size, &w);
    return w;
}

static void describe(asc_call *call, asc_flock *s)
{
    const asc_flock_attrs *a = call->attrs;
    const asc_array *rel = &call->in[FLOCK_REL_BIAS];
    bool separate = call->in[FLOCK_HEADING].ndim >= 0;
    *s = (asc_flock){.call = call, .a = a, .dtype = call->in[FLOCK_Q].dtype, .J = asc_flock_sizes(call)};
    asc_allowed_inputs(&s->J, &call->in[FLOCK_LENGTHS], &call->in[FLOCK_MASK]);
    s->rows = s->J;
    if (a->o.all_statistics) {
        s->rows = (asc_allowed){.B = s->J.B, .H = s->J.H, .N = s->J.N, .M = s->J.M};
    }
    s->bias = (asc_position_bias){.alibi = a->o.alibi};
    if (rel->ndim == 2) {
        s->bias.R = rel->shape[1] / 2;
        s->bias.table = rel->data;
    }
    s->rule = asc_neighbor_rule_of(&a->o, &call->in[FLOCK_NEIGHBORS], &call->in[FLOCK_K_OF], s->J.M);
    s->base_scores = asc_neighbors_scored(&s->rule) && s->rule.kind == ASC_NEIGHBORS_BASE;
    s->d = call->in[FLOCK_Q].shape[2] / s->J.H;
    s->d_heading = call->in[separate ? FLOCK_HEADING : FLOCK_K].shape[2] / s->J.H;
    s->dz = call->in[FLOCK_Z].shape[2] / s->J.H;
    s->da = call->in[FLOCK_H].shape[2] / s->J.H;
    s->ld = (s->J.M + 15) / 16 * 16 + 32;
    s->scale = 1 / sqrt((double)s->d);
}

/* Lays out [B, H, n] for each of the call's arrays of keys; returns the size of all. */
static size_t lay_out_keys(asc_flock *s, char *base)
{
    bool copies = asc_panel_copies_pay(&s->rows, asc_panel_chunks(&s->rows));
    bool values = copies && s->panels == FLOCK_PANELS_BACKWARD;
    int64_t d_value = s->call->in[FLOCK_V].shape[2] / s->J.H;
    const struct {
        void **array;
        int64_t n;
    } all[] = {
        {&s->headings, s->J.M * s->d_heading}, {&s->features, s->J.M * s->da},  {&s->places, s->J.M * s->dz},
        {&s->features_t, s->da * s->ld},       {&s->places_t, s->dz * s->ld},
        {&s->keys_t, s->d * (copies || s->base_scores) * s->ld},
        {&s->headings_t, s->d_heading * copies * s->ld}, {&s->values_t, d_value * values * s->ld},
        {&s->all_u, s->a->losses * s->J.N * s->d_heading},
    };
    size_t at = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t bytes = (size_t)(s->J.B * s->J.H * all[i].n) * asc_dtype_size(s->dtype);
        void *here = carve(base, &at, bytes);
        *all[i].array = bytes > 0 ? here : NULL;
    }
    return at;
}

/* Sets up what both passes need. */
static asc_status begin(asc_call *call, int panels, asc_flock *s)
{
    describe(call, s);
    s->widest = asc_panel_widest(&s->rows);
    s->panels = panels;
    asc_flock_space w;
    s->space_size = lay_out(s, NULL, &w);
    s->space = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * s->space_size);
    char *keys = asc_call_scratch(call, lay_out_keys(s, NULL));
    if (!s->space || !keys) {
        return ASC_ERR_MEMORY;
    }
    lay_out_keys(s, keys);
    asc_flock_prepare(s);
    return ASC_OK;
}

/* ---- forward ---- */

/* The three losses: means over batch, heads and rows. */
static void put_losses(asc_flock *s)
{
    double sum[3] = {0}, rows = (double)(s->J.B * s->J.H * s->J.N);
    for (int64_t i = 0; s->a->losses && i < asc_panels(&s->rows); i++) {
        sum[0] += s->partial[2 * i];
        sum[1] += s->partial[2 * i + 1];
    }
    if (s->a->losses) {
        sum[2] = asc_flock_align_loss(s);
    }
    for (int i = 0; i < 3; i++) {
        const asc_array *loss = &s->call->out[FLOCK_LOSS_COH + i];
        asc_set_element(loss->dtype, loss->data, 0, rows > 0 ? sum[i] / rows : 0);
    }
}

asc_status asc_flock_forward(asc_call *call)
{
    asc_flock s;
    asc_status status = begin(call, FLOCK_PANELS_FORWARD, &s);
    if (status) {
        return status;
    }
    int64_t panels = asc_panels(&s.rows), heads = s.J.B * s.J.H;
    s.partial = asc_call_scratch(call, (size_t)(2 * panels + heads) * sizeof *s.partial);
    if (!s.partial) {
        return ASC_ERR_MEMORY;
    }
    asc_parallel(call->ctx, panels, asc_flock_forward_panel, &s);
    put_losses(&s);
    return ASC_OK;
}

/* ---- backward ---- */

/* `count` elements that are 0; NULL: no memory. */
static void *zeros(asc_call *call, int64_t count, asc_dtype dtype)
{
    size_t bytes = (size_t)count * asc_dtype_size(dtype);
    void *memory = asc_call_scratch(call, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

/* Sums for what was prepared of the keys: one block of memory, as a call has few. */
static asc_status begin_key_sums(asc_flock *s)
{
    int64_t heads = s->J.B * s->J.H, M = s->J.M;
    int64_t headings = heads * M * s->d_heading, features = heads * M * s->da, places = heads * s->dz * s->ld;
    size_t element = asc_dtype_size(s->dtype);
    char *base = asc_call_scratch(s->call, (size_t)(headings + features + places) * element);
    if (!base) {
        return ASC_ERR_MEMORY;
    }
    char *second = base + (size_t)headings * element, *third = second + (size_t)features * element;
    asc_status status = asc_panel_sums_of(s->call, &s->rows, s->dtype, base, M, s->d_heading, &s->dheadings);
    status = status ? status : asc_panel_sums_of(s->call, &s->rows, s->dtype, second, M, s->da, &s->dfeatures);
    return status ? status : asc_panel_sums_of(s->call, &s->rows, s->dtype, third, s->dz, s->ld, &s->dplaces_t);
}

static asc_status begin_sums(asc_flock *s, int64_t pieces)
{
    asc_call *call = s->call;
    bool table = call->grad_in[FLOCK_REL_BIAS].data != NULL;
    s->partial = zeros(call, pieces * ASC_SWARM_SCALARS, ASC_F64);
    s->table_sums = table ? zeros(call, pieces * (2 * s->bias.R + 1), s->dtype) : NULL;
    if (!s->partial || (table && !s->table_sums) || asc_panel_sums_of_input(call, &s->rows, FLOCK_K, &s->dkeys) ||
        asc_panel_sums_of_input(call, &s->rows, FLOCK_V, &s->dvalues) ||
        asc_panel_sums_of_input(call, &s->rows, FLOCK_Z, &s->dz_rows)) {
        return ASC_ERR_MEMORY;
    }
    return begin_key_sums(s);
}

static void end_sums(asc_flock *s)
{
    const asc_panel_sums *all[] = {&s->dkeys, &s->dvalues, &s->dz_rows, &s->dheadings, &s->dfeatures, &s->dplaces_t};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        asc_panel_sums_end(s->call->ctx, all[i]);
    }
}

/* grad [H, n] (+)= the chunks' sums [pieces, step], added in the order of the pieces. */
static void add_per_head(const asc_flock *s, int input, int64_t n, const void *sums, asc_dtype dtype, int64_t step)
{
    const asc_array *grad = &s->call->grad_in[input];
    int64_t H = s->J.H, chunks = asc_panel_chunks(&s->rows), pieces = s->J.B * H * chunks;
    for (int64_t e = 0; grad->data && e < H * n; e++) {
        double sum = s->call->fresh[input] ? 0 : asc_flock_value(grad, e);
        for (int64_t piece = 0; piece < pieces; piece++) {
            if (piece / chunks % H == e / n) {
                int64_t at = piece * step + e % n;
                sum += asc_element(dtype, sums, at);
            }
        }
        asc_set_element(grad->dtype, grad->data, e, sum);
    }
}

asc_status asc_flock_backward(asc_call *call)
{
    asc_flock s;
    if (begin(call, FLOCK_PANELS_BACKWARD, &s)) {
        return ASC_ERR_MEMORY;
    }
    int64_t pieces = s.J.B * s.J.H * asc_panel_chunks(&s.rows), rows = s.J.B * s.J.H * s.J.N;
    if (begin_sums(&s, pieces)) {
        return ASC_ERR_MEMORY;
    }
    const asc_array *lost = &call->grad_out[FLOCK_LOSS_ALIGN];
    if (s.a->losses && lost->data && rows > 0) {
        s.all_du = asc_call_scratch(call, (size_t)(rows * s.d_heading) * asc_dtype_size(s.dtype));
        if (!s.all_du) {
            return ASC_ERR_MEMORY;
        }
        asc_flock_align_loss_grad(&s, asc_flock_value(lost, 0) / (double)rows);
    }
    asc_parallel(call->ctx, pieces, asc_flock_backward_chunk, &s);
    end_sums(&s);
    asc_flock_finish(&s);
    for (int i = 0; i < ASC_SWARM_SCALARS; i++) {
        add_per_head(&s, FLOCK_SCALAR + i, 1, s.partial + i, ASC_F64, ASC_SWARM_SCALARS);
    }
    add_per_head(&s, FLOCK_REL_BIAS, 2 * s.bias.R + 1, s.table_sums, s.dtype, 2 * s.bias.R + 1);
    return ASC_OK;
}
