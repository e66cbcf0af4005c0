/* ops/ascender/background_backward.c: the op ascender_background backward: the scores again, then from dA back to every
 * input, panel by panel; dρ_j is a sum over all rows, so what it says of the places comes at last.
 *
 *   dω = Σ dS (β - μ)/D,  dβ_j = ω (dS_j - mean dS)/D - ω Σ dS (β - μ)/D² · (β_j - μ)/(n' σ)
 *
 * of a row of n entries, D = σ + ε, n' = n or n - 1; 0 for a constant row. From dβ:
 *
 *   align  d⟨u_i, u_j⟩ = dβ_ij (1 - β_ij²)
 *   sep    dw_ij = -λ_dist dβ_ij,  dd²_ij = -dw_ij w_ij/(τ_sep + ε),  dρ_j = -λ_ρ Σ_i dβ_ij
 *   coh    d⟨z_j, c_i⟩ = dβ_ij [β_ij > 0] = -dθ,  dz_l += dc_i/|N(i)| for l in N(i)
 *   ρ      dw_il = dρ_i/|N(i)|,  dd²_il = -dw_il w_il/(τ_sep + ε),  dz_i += 2 dd²_il (z_i - z_l),  dz_l -= the same */
#include "ops/ascender/background.h"

#include <math.h>
#include <string.h>

/* Where a chunk's sums over queries go. */
typedef struct sums {
    asc_matrix keys, values, z, units, places_t, rho;
    int64_t chunk;
    double *scalars; /* [ASC_BACKGROUND_SCALARS] */
} sums;

/* dβ = slope (dS - mean dS) + spread (β - mean) */
typedef struct slopes {
    double slope, spread;
} slopes;

/* along: Σ dS (β - mean). */
static slopes slopes_of(const asc_background_norm *m, double omega, double along)
{
    if (m->coef == 0) {
        return (slopes){0, 0};
    }
    return (slopes){omega * m->coef, -omega * along * m->coef * m->coef / (m->divisor * m->sigma)};
}

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- alignment and cohesion ---- */

/* β of the links becomes dβ; sum: Σ dS over the whole row. Returns dω. */
static double links_grad_f32(asc_background_links *l, const float *dS, double sum, const asc_background_norm *m,
                             double omega)
{
    float *x = l->x;
    double along = -m->mean * sum, shift = m->n > 0 ? sum / (double)m->n : 0;
    for (int64_t e = 0; e < l->n; e++) {
        along += (double)dS[l->entry[e]] * (double)x[e];
    }
    slopes s = slopes_of(m, omega, along);
    for (int64_t e = 0; e < l->n; e++) {
        x[e] = (float)(s.slope * ((double)dS[l->entry[e]] - shift) + s.spread * ((double)x[e] - m->mean));
    }
    return m->coef * along;
}

static void align_grad_f32(asc_background_work *w, const sums *to, int64_t i, const float *dS, double sum,
                           const asc_background_norm *m)
{
    const asc_background_call *b = w->b;
    asc_background_links *l = &w->at.align;
    int64_t H = b->J.H, ld = H * b->d, own = asc_allowed_position(&b->J, i);
    const float *u = (const float *)b->units + (w->p.b * b->J.M * H + w->p.h) * b->d, *x = l->x;
    float *du = to->units.data, *slope = w->at.row;
    for (int64_t e = 0; e < l->n; e++) {
        slope[e] = 1 - x[e] * x[e];
    }
    to->scalars[ASC_BACKGROUND_OMEGA_ALIGN] += links_grad_f32(l, dS, sum, m, w->g.omega_align);
    if (du && m->coef != 0) {
        asc_kernels_f32()->mul(slope, slope, x, l->n);
        asc_kernels_f32()->gather_sum(du + own * to->units.ld, slope, u, ld, l->key, l->n, b->d);
        asc_kernels_f32()->scatter_sum(du, to->units.ld, l->key, slope, u + own * ld, l->n, b->d);
    }
}

static void coh_grad_f32(asc_background_work *w, const sums *to, int64_t i, const float *dS, double sum,
                         const asc_background_norm *m)
{
    const asc_background_call *b = w->b;
    asc_background_links *l = &w->at.coh;
    asc_matrix z = asc_background_matrix(b, &w->p, &b->call->in[BACKGROUND_Z]);
    float *dc = w->at.dpoints, *above = w->at.row; /* one row of each */
    for (int64_t e = 0; e < l->n; e++) {
        above[e] = ((const float *)l->x)[e] > 0;
    }
    to->scalars[ASC_BACKGROUND_OMEGA_COH] += links_grad_f32(l, dS, sum, m, w->g.omega_coh);
    if (m->coef == 0) {
        return;
    }
    asc_kernels_f32()->mul(above, above, l->x, l->n);
    to->scalars[ASC_BACKGROUND_THETA_COH] -= (double)asc_kernels_f32()->sum(above, l->n);
    if (to->z.data) {
        memset(dc, 0, (size_t)b->dz * sizeof *dc);
        asc_kernels_f32()->gather_sum(dc, above, z.data, z.ld, l->key, l->n, b->dz);
        asc_kernels_f32()->scatter_sum(to->z.data, to->z.ld, l->key, above, asc_background_centroid(b, &w->p, i), l->n,
                                       b->dz);
        for (int64_t e = 0; e < l->n; e++) {
            above[e] = 1 / (float)l->n;
        }
        asc_kernels_f32()->scatter_sum(to->z.data, to->z.ld, l->key, above, dc, l->n, b->dz);
    }
}

/* ---- separation ---- */

/* d² becomes its gradient, w^sep that of β^sep, -λ_ρ of which goes to ρ_j. Returns Σ dS, 0 but for rounding. */
static double separation_grad_f32(const asc_background_work *w, const sums *to, const asc_background_bias *separation,
                                  const asc_background_norm *m, const float *dS, const float *rho, float *d2,
                                  float *weight)
{
    int64_t n = m->n;
    asc_background_bias_grad g = {.mean = m->mean};
    asc_kernels_f32()->background_pull(dS, weight, rho, n, separation, &g);
    slopes s = slopes_of(m, w->g.omega_sep, g.pull);
    g.slope = s.slope;
    g.spread = s.spread;
    g.shift = n > 0 ? g.sum / (double)n : 0;
    asc_kernels_f32()->background_grad(d2, weight, dS, rho, n, separation, &g);
    to->scalars[ASC_BACKGROUND_OMEGA_SEP] += m->coef * g.pull;
    to->scalars[ASC_BACKGROUND_LAMBDA_DIST] -= g.by_near;
    to->scalars[ASC_BACKGROUND_LAMBDA_RHO] -= g.by_dense;
    to->scalars[ASC_BACKGROUND_TAU_SEP] -= g.by_d2 * separation->rate;
    return g.sum;
}

/* ---- a row and a panel ---- */

/* Row r: S becomes A, dA dS, d² its own gradient and w^sep that of the separation; 0 where they have none. */
static void backward_row_f32(asc_background_work *w, const sums *to, int64_t r)
{
    const asc_background_call *b = w->b;
    int64_t i = w->p.first + r, columns = w->p.columns;
    asc_panel_row row = asc_panel_row_of(&b->rows, &w->p, r, w->at.columns);
    float *S = (float *)w->at.scores + r * columns, *dS = (float *)w->at.dscores + r * columns, *A = w->at.row;
    float *d2 = (float *)w->at.squares + r * columns, *weight = (float *)w->at.weights + r * columns;
    const asc_background_row *at = asc_background_row_of(b, &w->p, i);
    asc_background_norm align, coh, sep = asc_background_norm_of(at->mean, at->sigma, row.n, b->o->unbiased);
    int64_t start = row.start;
    asc_panel_compact(&row, ASC_F32, S);
    asc_panel_compact(&row, ASC_F32, d2);
    asc_background_bias c = w->g.bias;
    const float *rho = asc_background_row_rho(w, &row);
    c.base = at->base;
    asc_kernels_f32()->add_background_bias(S + start, weight + start, d2 + start, rho,
                                           (float)(w->g.omega_sep * sep.coef * w->g.score), row.n, &c);
    asc_background_add_links(w, &row, i, S + start, &align, &coh);
    memcpy(A + start, S + start, (size_t)row.n * sizeof *S);
    asc_background_attend(w, r, &row, A, true);
    asc_kernels_f32()->softmax_grad_row(dS, A, dS, (float)w->g.score, columns, true);
    asc_panel_compact(&row, ASC_F32, dS);
    for (int64_t e = start; b->given.data && e < start + row.n; e++) {
        S[e] = isfinite(S[e]) ? S[e] : 0; /* a bias of -∞ took it out: its dS is 0 */
    }
    to->scalars[ASC_BACKGROUND_TAU_SCORE] -= (double)asc_kernels_f32()->dot(dS + start, S + start, row.n);
    memcpy(S, A, (size_t)columns * sizeof *S);
    double sum = separation_grad_f32(w, to, &c, &sep, dS + start, rho, d2 + start, weight + start);
    align_grad_f32(w, to, i, dS + start, sum, &align);
    coh_grad_f32(w, to, i, dS + start, sum, &coh);
    asc_panel_spread(&w->p, &row, ASC_F32, dS);
    asc_panel_spread(&w->p, &row, ASC_F32, d2);
    asc_panel_spread(&w->p, &row, ASC_F32, weight);
}

/* What dd² says of the places. */
static void collect_places_f32(const asc_background_work *w, const sums *to)
{
    const asc_background_call *b = w->b;
    const asc_panel *p = &w->p;
    const float *places = (const float *)b->places_t + (p->b * b->J.H + p->h) * b->dz * b->ld;
    float *dplaces = to->places_t.data, *dpoints = w->at.dpoints;
    memset(dpoints, 0, (size_t)(p->rows * b->dz) * sizeof *dpoints);
    for (asc_panel_tile t = asc_panel_tile_first(p); t.n > 0; asc_panel_tile_next(p, &t)) {
        asc_kernels_f32()->pair_distances_grad((const float *)w->at.squares + t.row * p->columns + t.column,
                                               p->columns, (const float *)w->at.points + t.row * b->dz,
                                               dpoints + t.row * b->dz, b->dz, places + t.key, dplaces + t.key, b->ld,
                                               t.rows, t.n, b->dz);
    }
    for (int64_t r = 0; r < p->rows; r++) {
        float *dz = asc_matrix_row(to->z, asc_allowed_position(&b->J, p->first + r));
        asc_kernels_f32()->acc(dz, dpoints + r * b->dz, b->dz);
    }
}

/* dρ_j, of which ρ_j in the separation of others is one part. */
static void collect_densities_f32(const asc_background_work *w, const sums *to)
{
    float *sum = w->at.row, *drho = to->rho.data;
    memset(sum, 0, (size_t)w->p.columns * sizeof *sum);
    asc_kernels_f32()->sum_rows(sum, w->at.weights, w->p.rows, w->p.columns);
    for (asc_panel_tile t = asc_panel_tile_first(&w->p); t.n > 0; asc_panel_tile_next(&w->p, &t)) {
        const float *from = t.rows == w->p.rows ? sum : (const float *)w->at.weights + t.row * w->p.columns;
        for (int64_t e = 0; e < t.n; e++) {
            drho[t.key + e] += (float)w->g.bias.dense * from[t.column + e];
        }
    }
}

static void backward_panel_f32(asc_background_work *w, const sums *to, int64_t index)
{
    const asc_background_call *b = w->b;
    const asc_call *call = b->call;
    asc_background_measure(w, index);
    asc_matrix q = asc_background_matrix(b, &w->p, &call->in[BACKGROUND_Q]);
    asc_matrix dy = asc_background_matrix(b, &w->p, &call->grad_out[BACKGROUND_Y]);
    asc_panel_scores(&w->p, 1, dy, asc_background_matrix(b, &w->p, &call->in[BACKGROUND_V]), w->at.dscores);
    for (int64_t r = 0; r < w->p.rows; r++) {
        backward_row_f32(w, to, r);
    }
    const void *A = w->at.scores, *dS = w->at.dscores;
    asc_panel_collect(&w->p, 1, A, dy, to->values);
    asc_table_sums_collect(&b->table, &b->J, &w->p, to->chunk, dS);
    asc_panel_collect_given(&w->p, &b->given, dS);
    asc_panel_mix(&w->p, b->scale, dS, asc_background_matrix(b, &w->p, &call->in[BACKGROUND_K]),
                  !call->fresh[BACKGROUND_Q], asc_background_matrix(b, &w->p, &call->grad_in[BACKGROUND_Q]));
    asc_panel_collect(&w->p, b->scale, dS, q, to->keys);
    if (to->z.data) {
        collect_places_f32(w, to);
    }
    collect_densities_f32(w, to);
}

/* Every C-th panel of a head, in order. */
static void backward_chunk_f32(const asc_background_call *b, int64_t head, int64_t chunk, int worker)
{
    int64_t chunks = asc_panel_chunks(&b->J), panels = asc_head_panels(&b->J);
    int64_t at = head / b->J.H, h = head % b->J.H;
    asc_background_work w = {.b = b, .at = asc_background_space_of(b, worker)};
    const sums to = {
        .keys = asc_panel_sums_begin(&b->dkeys, at, h, chunk),
        .values = asc_panel_sums_begin(&b->dvalues, at, h, chunk),
        .z = asc_panel_sums_begin(&b->dz_rows, at, h, chunk),
        .units = asc_panel_sums_begin(&b->dunits, at, h, chunk),
        .places_t = asc_panel_sums_begin(&b->dplaces_t, at, h, chunk),
        .rho = asc_panel_sums_begin(&b->drho, at, h, chunk),
        .chunk = chunk,
        .scalars = b->scalar_sums + (head * asc_background_pieces(b) + chunk) * ASC_BACKGROUND_SCALARS,
    };
    for (int64_t i = chunk; i < panels && !asc_interrupted(b->call->ctx); i += chunks) {
        backward_panel_f32(&w, &to, head * panels + i);
    }
}

static void backward_piece_f32(void *arg, int64_t piece, int worker)
{
    const asc_background_call *b = arg;
    int64_t chunks = asc_panel_chunks(&b->J);
    for (int64_t m = 0; m < asc_strand_heads(&b->J); m++) {
        backward_chunk_f32(b, asc_strand_head(&b->J, piece / chunks, m), piece % chunks, worker);
    }
}

/* ---- densities, once dρ is complete ---- */

/* What dρ_i says of the places; returns what it says of τ_sep. */
static double density_grad_f32(const asc_background_call *b, const asc_panel *head, asc_matrix z, asc_matrix dz,
                               double rate, int64_t i, float drho, const asc_background_space *space)
{
    float *d2 = space->rho_row, *w = space->row, *dpoint = space->dpoints;
    const int64_t *keys = asc_background_list(b, head, i);
    int64_t n = asc_background_listed(b, keys), place = asc_allowed_position(&b->J, i);
    const float *points = z.data, *own = points + place * z.ld;
    double by_rate = 0;
    asc_kernels_f32()->gather_distances(d2, own, points, z.ld, keys, n, b->dz);
    asc_kernels_f32()->scale(w, (float)-rate, d2, n);
    asc_kernels_f32()->exp(w, w, n);
    for (int64_t e = 0; e < n; e++) {
        w[e] *= (float)(-rate * (double)drho / (double)n);
        by_rate += (double)w[e] * (double)d2[e];
    }
    if (dz.data) {
        memset(dpoint, 0, (size_t)b->dz * sizeof *dpoint);
        asc_kernels_f32()->gather_distances_grad(dpoint, dz.data, dz.ld, w, own, points, z.ld, keys, n, b->dz);
        asc_kernels_f32()->acc((float *)dz.data + place * dz.ld, dpoint, b->dz);
    }
    return -by_rate * rate;
}

/* All rows of a head, one after the other. */
static void densities_grad_f32(void *arg, int64_t index, int worker)
{
    const asc_background_call *b = arg;
    const asc_panel head = {.b = index / b->J.H, .h = index % b->J.H};
    asc_background_space space = asc_background_space_of(b, worker);
    asc_matrix z = asc_background_matrix(b, &head, &b->call->in[BACKGROUND_Z]);
    asc_matrix dz = b->dz_rows.target ? asc_background_matrix(b, &head, &b->call->grad_in[BACKGROUND_Z])
                                      : (asc_matrix){.data = NULL};
    const float *drho = (const float *)b->drho.target + index * b->J.M + asc_allowed_position(&b->J, 0);
    double rate = asc_background_head_of(b, head.h).bias.rate;
    double *sums = b->scalar_sums + ((index + 1) * asc_background_pieces(b) - 1) * ASC_BACKGROUND_SCALARS;
    for (int64_t i = 0; i < b->J.N; i++) {
        sums[ASC_BACKGROUND_TAU_SEP] += density_grad_f32(b, &head, z, dz, rate, i, drho[i], &space);
    }
}

/* dρ of the densities that were given. */
static void add_densities_f32(const asc_background_call *b)
{
    int64_t before = b->J.M - b->J.N;
    float *to = b->call->grad_in[BACKGROUND_DENSITY].data;
    for (int64_t head = 0; head < b->J.B * b->J.H; head++) {
        const float *from = (const float *)b->drho.target + head * b->J.M;
        for (int64_t j = 0; j < before; j++) {
            to[head * before + j] = (b->call->fresh[BACKGROUND_DENSITY] ? 0 : to[head * before + j]) + from[j];
        }
    }
}

/* ---- end of float ---- */
#include "ops/ascender/background_backward.f64.h"

/* Sums over queries of memory [B, H, rows, width] that is wanted or not. */
static asc_status begin_memory(asc_background_call *b, bool wanted, int64_t rows, int64_t width, asc_panel_sums *sums)
{
    *sums = (asc_panel_sums){.dtype = b->dtype};
    if (!wanted) {
        return ASC_OK;
    }
    size_t bytes = (size_t)(b->J.B * b->J.H * rows * width) * asc_dtype_size(b->dtype);
    void *memory = asc_call_scratch(b->call, bytes);
    return memory ? asc_panel_sums_of(b->call, &b->J, b->dtype, memory, rows, width, sums) : ASC_ERR_MEMORY;
}

static asc_status begin_sums(asc_background_call *b)
{
    asc_call *call = b->call;
    const asc_allowed *J = &b->J;
    size_t scalars = (size_t)(J->B * J->H * asc_background_pieces(b) * ASC_BACKGROUND_SCALARS) * sizeof *b->scalar_sums;
    bool turns = call->grad_in[call->in[BACKGROUND_HEADING].ndim >= 0 ? BACKGROUND_HEADING : BACKGROUND_K].data != NULL;
    bool moves = call->grad_in[BACKGROUND_Z].data != NULL;
    b->scalar_sums = asc_call_scratch(call, scalars);
    if (!b->scalar_sums || asc_table_sums_begin(call, J, BACKGROUND_REL_BIAS, &b->table) ||
        asc_panel_sums_of_input(call, J, BACKGROUND_K, &b->dkeys) ||
        asc_panel_sums_of_input(call, J, BACKGROUND_V, &b->dvalues) ||
        asc_panel_sums_of_input(call, J, BACKGROUND_Z, &b->dz_rows) || begin_memory(b, true, J->M, 1, &b->drho) ||
        begin_memory(b, turns, J->M, b->d, &b->dunits) || begin_memory(b, moves, b->dz, b->ld, &b->dplaces_t)) {
        return ASC_ERR_MEMORY;
    }
    memset(b->scalar_sums, 0, scalars);
    return ASC_OK;
}

/* What the sums over all queries say of headings, places, densities and scalars. */
static void finish(asc_background_call *b)
{
    asc_call *call = b->call;
    bool separate = call->in[BACKGROUND_HEADING].ndim >= 0;
    int heading = separate ? BACKGROUND_HEADING : BACKGROUND_K;
    if (b->dunits.target) { /* the keys have their sums already */
        asc_head_units_grad(call->ctx, b->heading, b->J.H, b->units, b->dunits.target, call->grad_in[heading].data,
                            separate && call->fresh[heading]);
    }
    if (b->dplaces_t.target) {
        asc_head_add_transposes(call->ctx, &call->grad_in[BACKGROUND_Z], b->J.H, b->dplaces_t.target);
    }
    asc_parallel(call->ctx, b->J.B * b->J.H, BY_DTYPE(b->dtype, densities_grad), b);
    if (call->grad_in[BACKGROUND_DENSITY].data) {
        BY_DTYPE(b->dtype, add_densities)(b);
    }
    asc_head_scalars_end(call, &b->J, BACKGROUND_SCALARS, ASC_BACKGROUND_SCALARS, asc_background_pieces(b),
                         b->scalar_sums);
    asc_table_sums_end(&b->table, &b->J);
}

asc_status asc_background_backward(asc_call *call)
{
    asc_background_call b;
    if (asc_background_call_begin(call, true, &b) || begin_sums(&b)) {
        return ASC_ERR_MEMORY;
    }
    asc_background_gather(&b);
    const asc_panel_sums *all[] = {&b.dkeys, &b.dvalues, &b.dz_rows, &b.drho, &b.dunits, &b.dplaces_t};
    asc_panel_sum_up(call->ctx, &b.J, all, ASC_COUNT(all), BY_DTYPE(b.dtype, backward_piece), &b);
    finish(&b);
    if (call->grad_in[BACKGROUND_H].data && call->fresh[BACKGROUND_H]) { /* the choice carries no gradient */
        asc_clear(call->ctx, call->grad_in[BACKGROUND_H].data, asc_array_bytes(&call->grad_in[BACKGROUND_H]));
    }
    return ASC_OK;
}
