/* ops/ascender/background_call.c: a call of the op ascender_background: its memory, and what is of each key. */
#include "ops/ascender/background.h"

#include <math.h>
#include <string.h>

asc_allowed asc_background_sizes(const asc_call *call)
{
    const asc_ascender_options *o = asc_background_options(call);
    return (asc_allowed){.B = call->in[BACKGROUND_Q].shape[0],
                         .H = o->heads,
                         .N = call->in[BACKGROUND_Q].shape[1],
                         .M = call->in[BACKGROUND_K].shape[1],
                         .causal = o->causal,
                         .window = o->window,
                         .globals = o->globals,
                         .random = o->random,
                         .packs = asc_packs(call->ctx)};
}

asc_neighbor_rule asc_background_rule(const asc_call *call)
{
    return asc_neighbor_rule_of(asc_background_options(call), &call->in[BACKGROUND_NEIGHBORS],
                                &call->in[BACKGROUND_K_OF], call->in[BACKGROUND_K].shape[1]);
}

int64_t asc_background_capacity(const asc_neighbor_rule *rule)
{
    return asc_least(asc_neighbors_most(rule), rule->M);
}

int64_t asc_background_pieces(const asc_background_call *b)
{
    return asc_panel_chunks(&b->J) + 1;
}

/* ---- what belongs to a head, and to a query ---- */

asc_background_scalars asc_background_head_of(const asc_background_call *b, int64_t h)
{
    double s[ASC_BACKGROUND_SCALARS];
    for (int i = 0; i < ASC_BACKGROUND_SCALARS; i++) {
        s[i] = asc_element(b->call->in[BACKGROUND_SCALARS + i].dtype, b->call->in[BACKGROUND_SCALARS + i].data, h);
    }
    return (asc_background_scalars){
        .bias = {.rate = 1 / (s[ASC_BACKGROUND_TAU_SEP] + ASCENDER_EPS), .near = -s[ASC_BACKGROUND_LAMBDA_DIST],
                 .dense = -s[ASC_BACKGROUND_LAMBDA_RHO]},
        .theta = s[ASC_BACKGROUND_THETA_COH],
        .omega_align = s[ASC_BACKGROUND_OMEGA_ALIGN],
        .omega_sep = s[ASC_BACKGROUND_OMEGA_SEP],
        .omega_coh = s[ASC_BACKGROUND_OMEGA_COH],
        .score = 1 / (s[ASC_BACKGROUND_TAU_SCORE] + ASCENDER_EPS),
    };
}

asc_matrix asc_background_matrix(const asc_background_call *b, const asc_panel *p, const asc_array *a)
{
    return asc_head_matrix(a, p->b, p->h, b->J.H);
}

static int64_t query_of(const asc_background_call *b, const asc_panel *p, int64_t i)
{
    return (p->b * b->J.H + p->h) * b->J.N + i;
}

asc_background_row *asc_background_row_of(const asc_background_call *b, const asc_panel *p, int64_t i)
{
    return (asc_background_row *)b->call->saved[BACKGROUND_ROWS].data + query_of(b, p, i);
}

void *asc_background_centroid(const asc_background_call *b, const asc_panel *p, int64_t i)
{
    char *all = b->call->saved[BACKGROUND_CENTROIDS].data;
    return all + (size_t)(query_of(b, p, i) * b->dz) * asc_dtype_size(b->dtype);
}

int64_t *asc_background_list(const asc_background_call *b, const asc_panel *p, int64_t i)
{
    return (int64_t *)b->call->saved[BACKGROUND_LISTS].data + query_of(b, p, i) * b->capacity;
}

int64_t asc_background_listed(const asc_background_call *b, const int64_t *list)
{
    int64_t n = 0;
    while (n < b->capacity && list[n] >= 0) {
        n++;
    }
    return n;
}

/* ---- a call's memory ---- */

/* Lays a worker's memory out; returns its size. */
static size_t lay_out(const asc_background_call *b, char *base, asc_background_space *w)
{
    asc_space space = {base, 0};
    int64_t listed = asc_neighbors_most(&b->rule) + asc_neighbors_room(&b->rule);
    size_t real = asc_dtype_size(b->dtype), panel = ASC_PANEL * (size_t)b->widest * real;
    size_t row = (size_t)asc_most(b->widest, listed) * real, points = ASC_PANEL * (size_t)b->dz * real;
    size_t links = (size_t)asc_most(b->J.M, listed) * sizeof(int64_t);
    size_t columns = asc_panel_lists(&b->J) ? (size_t)b->widest * sizeof(int32_t) : 0;
    w->scores = asc_carve(&space, panel);
    w->squares = asc_carve(&space, panel);
    w->dscores = asc_carve(&space, b->backward ? panel : 0);
    w->weights = asc_carve(&space, b->backward ? panel : 0);
    w->rho = asc_carve(&space, row);
    w->rho_row = asc_carve(&space, row);
    w->row = asc_carve(&space, row);
    w->points = asc_carve(&space, points);
    w->dpoints = asc_carve(&space, points);
    w->columns = asc_carve(&space, columns);
    w->softmax_columns = asc_carve(&space, columns);
    asc_background_links *both[] = {&w->align, &w->coh};
    for (int i = 0; i < ASC_COUNT(both); i++) {
        both[i]->key = asc_carve(&space, links);
        both[i]->entry = asc_carve(&space, links);
        both[i]->x = asc_carve(&space, row);
    }
    return space.used;
}

asc_background_space asc_background_space_of(const asc_background_call *b, int worker)
{
    asc_background_space w;
    lay_out(b, b->space + (size_t)worker * b->space_size, &w);
    return w;
}

static void describe(asc_call *call, bool backward, asc_background_call *b)
{
    const asc_ascender_options *o = asc_background_options(call);
    const asc_array *heading = &call->in[BACKGROUND_HEADING];
    *b = (asc_background_call){.call = call, .o = o, .dtype = call->in[BACKGROUND_Q].dtype, .backward = backward,
                               .J = asc_background_sizes(call)};
    asc_allowed_inputs(&b->J, &call->in[BACKGROUND_LENGTHS], &call->in[BACKGROUND_MASK]);
    if (backward) {
        asc_given_bias_begin(call, BACKGROUND_BIAS, &b->J);
    }
    b->apart = o->all_statistics;
    b->rows = b->apart ? (asc_allowed){.B = b->J.B, .H = b->J.H, .N = b->J.N, .M = b->J.M} : b->J;
    b->mutual = !o->causal || o->all_statistics;
    b->positions = asc_position_bias_of(call, BACKGROUND_REL_BIAS, o->alibi);
    b->given = asc_given_bias_of(call, BACKGROUND_BIAS, &b->J);
    b->rule = asc_background_rule(call);
    b->capacity = asc_background_capacity(&b->rule);
    b->d = call->in[BACKGROUND_Q].shape[2] / b->J.H;
    b->dz = call->in[BACKGROUND_Z].shape[2] / b->J.H;
    b->scale = 1 / sqrt((double)b->d);
    b->heading = heading->ndim >= 0 ? heading : &call->in[BACKGROUND_K];
    b->widest = asc_panel_widest(&b->rows);
    b->ld = asc_head_ld(b->J.M);
}

/* Room for units, transposed places, densities and the lists of choosers. */
static asc_status take_memory(asc_background_call *b)
{
    asc_call *call = b->call;
    asc_background_space w;
    size_t size = asc_dtype_size(b->dtype), heads = (size_t)(b->J.B * b->J.H);
    b->space_size = lay_out(b, NULL, &w);
    b->space = asc_call_scratch(call, (size_t)asc_threads(call->ctx) * b->space_size);
    b->units = asc_call_scratch(call, asc_array_bytes(b->heading));
    b->places_t = asc_call_scratch(call, heads * (size_t)(b->dz * b->ld) * size);
    b->rho = asc_call_scratch(call, heads * (size_t)b->J.M * size);
    if (b->mutual) {
        b->first_chooser = asc_call_scratch(call, heads * (size_t)(b->J.N + 1) * sizeof *b->first_chooser);
        b->choosers = asc_call_scratch(call, heads * (size_t)(b->J.N * b->capacity) * sizeof *b->choosers);
    }
    bool all = b->space && b->units && b->places_t && b->rho && (!b->mutual || (b->first_chooser && b->choosers));
    return all ? ASC_OK : ASC_ERR_MEMORY;
}

asc_status asc_background_call_begin(asc_call *call, bool backward, asc_background_call *b)
{
    describe(call, backward, b);
    if (take_memory(b)) {
        return ASC_ERR_MEMORY;
    }
    asc_head_units(call->ctx, b->heading, b->J.H, b->units);
    asc_head_transposes(call->ctx, &call->in[BACKGROUND_Z], b->J.H, b->places_t);
    return ASC_OK;
}

/* ---- densities and choosers, once the queries have chosen ---- */

/* Counts who chose each key of a head, then enters them in rising order. */
static void list_choosers(void *arg, int64_t head, int worker)
{
    (void)worker;
    const asc_background_call *b = arg;
    int64_t N = b->J.N, places = N * b->capacity, *first = b->first_chooser + head * (N + 1);
    const int64_t *lists = (const int64_t *)b->call->saved[BACKGROUND_LISTS].data + head * places;
    int32_t *choosers = b->choosers + head * places;
    memset(first, 0, (size_t)(N + 1) * sizeof *first);
    for (int64_t e = 0; e < places; e++) {
        if (lists[e] >= 0) {
            first[lists[e] + 1]++;
        }
    }
    for (int64_t j = 0; j < N; j++) {
        first[j + 1] += first[j];
    }
    for (int64_t e = 0; e < places; e++) {
        if (lists[e] >= 0) {
            choosers[first[lists[e]]++] = (int32_t)(e / b->capacity);
        }
    }
    memmove(first + 1, first, (size_t)N * sizeof *first); /* each has come to where the next one begins */
    first[0] = 0;
}

void asc_background_gather(asc_background_call *b)
{
    const asc_call *call = b->call;
    size_t size = asc_dtype_size(b->dtype), before = (size_t)(b->J.M - b->J.N) * size, own = (size_t)b->J.N * size;
    for (int64_t head = 0; head < b->J.B * b->J.H; head++) {
        char *to = (char *)b->rho + (size_t)head * (before + own);
        if (before > 0) {
            memcpy(to, (const char *)call->in[BACKGROUND_DENSITY].data + (size_t)head * before, before);
        }
        memcpy(to + before, (const char *)call->out[BACKGROUND_RHO].data + (size_t)head * own, own);
    }
    if (b->mutual) {
        asc_parallel(call->ctx, b->J.B * b->J.H, list_choosers, b);
    }
}
