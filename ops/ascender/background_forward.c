/* ops/ascender/background_forward.c: the op ascender_background forward. First the neighbours, centroids and densities
 * of all rows, as these look at one another's, then scores, attention and y, panel by panel.
 *
 *   c_i = Σ_{l ∈ N(i)} z_l/|N(i)|,  ρ_i = Σ_{l ∈ N(i)} w_il/|N(i)|,  w_il = exp(-‖z_i - z_l‖²/(τ_sep + ε)) */
#include "ops/ascender/background.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void sort(int64_t *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        int64_t value = x[i], at = i;
        for (; at > 0 && x[at - 1] > value; at--) {
            x[at] = x[at - 1];
        }
        x[at] = value;
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- neighbours, centroids, densities ---- */

/* The scores that choose, of all columns of a panel. */
static void measure_likeness_f32(const asc_background_call *b, const asc_panel *p, float *P)
{
    int64_t n = b->like_width, ld = b->J.H * n, first = p->first + b->like_rows - b->J.N;
    const float *A = (const float *)b->like + (p->b * b->like_rows + first) * ld + p->h * n;
    const float *B = (const float *)b->like_t + (p->b * b->J.H + p->h) * n * b->ld;
    for (asc_panel_tile t = asc_panel_tile_first(p); t.n > 0; asc_panel_tile_next(p, &t)) {
        asc_kernels_f32()->pair_dots(P + t.row * p->columns + t.column, p->columns, 1, A + t.row * ld, ld, B + t.key,
                                     b->ld, t.rows, t.n, n);
    }
}

/* c_i and ρ_i, of a list of n neighbours. */
static void locate_row_f32(const asc_background_call *b, const asc_panel *p, int64_t i, const int64_t *keys, int64_t n,
                           float *row)
{
    asc_matrix z = asc_background_matrix(b, p, &b->call->in[BACKGROUND_Z]);
    const float *points = z.data, *own = points + asc_allowed_position(&b->J, i) * z.ld;
    float *c = asc_background_centroid(b, p, i);
    for (int64_t e = 0; e < n; e++) {
        row[e] = 1 / (float)n;
    }
    memset(c, 0, (size_t)b->dz * sizeof *c);
    asc_kernels_f32()->gather_sum(c, row, points, z.ld, keys, n, b->dz);
    asc_kernels_f32()->gather_distances(row, own, points, z.ld, keys, n, b->dz);
    asc_kernels_f32()->scale(row, (float)-asc_background_head_of(b, p->h).bias.rate, row, n);
    asc_kernels_f32()->exp(row, row, n);
    ((float *)b->call->out[BACKGROUND_RHO].data)[(p->b * b->J.H + p->h) * b->J.N + i] =
        n > 0 ? asc_kernels_f32()->sum(row, n) / (float)n : 0;
}

static void locate_panel_f32(void *arg, int64_t piece, int worker)
{
    const asc_background_call *b = arg;
    asc_panel p = asc_panel_at(&b->rows, piece);
    asc_background_space w = asc_background_space_of(b, worker);
    int64_t *chosen = w.align.key, *list = w.coh.key;
    bool scored = asc_neighbors_scored(&b->rule);
    if (scored) {
        measure_likeness_f32(b, &p, w.scores);
    }
    for (int64_t r = 0; r < p.rows; r++) {
        int64_t i = p.first + r, *keys = asc_background_list(b, &p, i);
        float *likeness = (float *)w.scores + r * p.columns;
        asc_panel_row row = asc_panel_row_of(&b->rows, &p, r, w.columns);
        if (scored) {
            asc_panel_compact(&row, ASC_F32, likeness);
            asc_neighbors_choose(&b->rule, &p, &row, ASC_F32, likeness + row.start, w.row, chosen);
        }
        int64_t n = asc_neighbors_list(&b->rule, &p, &row, r, chosen, list);
        if (b->mutual) { /* to be merged with the choosers */
            sort(list, n);
        }
        for (int64_t e = 0; e < b->capacity; e++) {
            keys[e] = e < n ? list[e] : -1;
        }
        locate_row_f32(b, &p, i, list, n, w.row);
    }
}

/* ---- scores and attention ---- */

/* The separation x, and its mean and deviation. Where σ decides that a row is constant, its base is its largest |β|. */
static void separate_f32(const asc_background_work *w, asc_background_row *at, float *x, const float *rho, int64_t n)
{
    asc_background_bias separation = w->g.bias;
    float mean = 0, squares = 0;
    if (n > 0) {
        asc_kernels_f32()->background_bias(x, x, rho, n, &separation);
        squares = asc_kernels_f32()->moments(x, n, &mean);
    }
    double sigma = n > 1 ? sqrt((double)squares / (double)(w->b->o->unbiased ? n - 1 : n)) : 0;
    at->base = separation.base;
    at->mean = (double)mean;
    at->sigma = asc_row_is_constant(sigma, (double)FLT_EPSILON, fabs(separation.base)) ? 0 : sigma;
}

static void forward_row_f32(asc_background_work *w, int64_t r)
{
    const asc_background_call *b = w->b;
    int64_t i = w->p.first + r;
    asc_panel_row row = asc_panel_row_of(&b->rows, &w->p, r, w->at.columns);
    float *S = (float *)w->at.scores + r * w->p.columns, *x = (float *)w->at.squares + r * w->p.columns;
    asc_background_row *at = asc_background_row_of(b, &w->p, i);
    asc_background_norm align, coh;
    asc_panel_compact(&row, ASC_F32, S);
    asc_panel_compact(&row, ASC_F32, x);
    x += row.start;
    separate_f32(w, at, x, asc_background_row_rho(w, &row), row.n);
    asc_background_norm separation = asc_background_norm_of(at->mean, at->sigma, row.n, b->o->unbiased);
    asc_kernels_f32()->axpy(S + row.start, (float)(w->g.omega_sep * separation.coef * w->g.score), x, row.n);
    asc_background_add_links(w, &row, i, S + row.start, &align, &coh);
    asc_background_attend(w, r, &row, S, false);
}

static void forward_panel_f32(void *arg, int64_t piece, int worker)
{
    const asc_background_call *b = arg;
    asc_background_work w = {.b = b, .at = asc_background_space_of(b, worker)};
    asc_background_measure(&w, piece);
    for (int64_t r = 0; r < w.p.rows; r++) {
        forward_row_f32(&w, r);
    }
    asc_panel_mix(&w.p, 1, w.at.scores, asc_background_matrix(b, &w.p, &b->call->in[BACKGROUND_V]), false,
                  asc_background_matrix(b, &w.p, &b->call->out[BACKGROUND_Y]));
}

/* ---- end of float ---- */
#include "ops/ascender/background_forward.f64.h"

/* What neighbours are chosen by, if they are by score: cosines of h, or q·k. */
static asc_status prepare_likeness(asc_background_call *b)
{
    asc_call *call = b->call;
    bool base = b->o->neighbors == ASC_NEIGHBORS_BASE;
    asc_array keys = call->in[base ? BACKGROUND_K : BACKGROUND_H];
    if (!asc_neighbors_scored(&b->rule)) {
        return ASC_OK;
    }
    b->like_width = keys.shape[2] / b->J.H;
    b->like_rows = base ? b->J.N : b->J.M;
    void *units = base ? NULL : asc_call_scratch(call, asc_array_bytes(&keys));
    size_t transposed = (size_t)(b->J.B * b->J.H * b->like_width * b->ld) * asc_dtype_size(keys.dtype);
    void *like_t = asc_call_scratch(call, transposed);
    if ((!base && !units) || !like_t) {
        return ASC_ERR_MEMORY;
    }
    if (!base) {
        asc_head_units(call->ctx, &keys, b->J.H, units);
        keys.data = units;
    }
    asc_head_transposes(call->ctx, &keys, b->J.H, like_t);
    b->like = base ? call->in[BACKGROUND_Q].data : units;
    b->like_t = like_t;
    return ASC_OK;
}

asc_status asc_background_forward(asc_call *call)
{
    asc_background_call b;
    if (asc_background_call_begin(call, false, &b) || prepare_likeness(&b)) {
        return ASC_ERR_MEMORY;
    }
    int64_t panels = asc_panels(&b.J);
    asc_parallel(call->ctx, panels, BY_DTYPE(b.dtype, locate_panel), &b);
    asc_background_gather(&b);
    asc_parallel(call->ctx, panels, BY_DTYPE(b.dtype, forward_panel), &b);
    return ASC_OK;
}
