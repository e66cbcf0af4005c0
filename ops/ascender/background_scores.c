/* ops/ascender/background_scores.c: the scores of a panel of the op ascender_background, which both passes compute.
 *
 * Of a normalised bias the softmax sees β/(σ + ε) alone, as a constant changes nothing there. So alignment and
 * cohesion, which are 0 but for a row's links, cost as much as these; only the separation fills its row. */
#include "ops/ascender/background.h"

#include <float.h>
#include <math.h>
#include <string.h>

asc_background_norm asc_background_norm_of(double mean, double sigma, int64_t n, bool unbiased)
{
    return (asc_background_norm){mean, sigma, sigma > 0 ? 1 / (sigma + ASCENDER_EPS) : 0, n,
                                 (double)(unbiased && n > 1 ? n - 1 : n)};
}

/* Those that chose i. */
static const int32_t *choosers_of(const asc_background_call *b, const asc_panel *p, int64_t i, int64_t *n)
{
    int64_t head = p->b * b->J.H + p->h, *first = b->first_chooser + head * (b->J.N + 1) + i;
    *n = first[1] - first[0];
    return b->choosers + head * b->J.N * b->capacity + first[0];
}

/* Links row i with its neighbours; both ways: also with those that it looks at and is a neighbour of. */
static void link_keys(const asc_background_call *b, const asc_panel *p, const asc_panel_row *row, int64_t i,
                      bool both_ways, asc_background_links *to)
{
    const int64_t *keys = asc_background_list(b, p, i);
    int64_t n = asc_background_listed(b, keys), m = 0;
    const int32_t *choosers = both_ways ? choosers_of(b, p, i, &m) : NULL;
    to->n = 0;
    for (int64_t e = 0, f = 0; e < n || f < m;) {
        int64_t key = f == m || (e < n && keys[e] <= choosers[f]) ? keys[e] : choosers[f];
        int64_t entry = asc_panel_entry_of(p, row, key);
        while (e < n && keys[e] == key) {
            e++;
        }
        while (f < m && choosers[f] == key) {
            f++;
        }
        if (entry >= 0) { /* the row may not look at every chooser */
            to->key[to->n] = key;
            to->entry[to->n++] = entry;
        }
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

/* ---- a panel ---- */

/* d² of the panel's queries and keys. */
static void distances_f32(asc_background_work *w)
{
    const asc_background_call *b = w->b;
    const asc_panel *p = &w->p;
    asc_matrix z = asc_background_matrix(b, p, &b->call->in[BACKGROUND_Z]);
    const float *places = (const float *)b->places_t + (p->b * b->J.H + p->h) * b->dz * b->ld;
    asc_panel_pack(z, asc_allowed_position(&b->J, p->first), p->rows, w->at.points);
    for (asc_panel_tile t = asc_panel_tile_first(p); t.n > 0; asc_panel_tile_next(p, &t)) {
        asc_kernels_f32()->pair_distances((float *)w->at.squares + t.row * p->columns + t.column, p->columns,
                                          (const float *)w->at.points + t.row * b->dz, b->dz, places + t.key, b->ld,
                                          t.rows, t.n, b->dz);
    }
}

static void measure_f32(asc_background_work *w)
{
    const asc_background_call *b = w->b;
    const asc_panel *p = &w->p;
    const float *rho = (const float *)b->rho + (p->b * b->J.H + p->h) * b->J.M;
    const int64_t range = p->globals + p->low;
    memcpy(w->at.rho, rho, (size_t)p->globals * sizeof *rho);
    memcpy((float *)w->at.rho + range, rho + p->from, (size_t)(p->to - p->from) * sizeof *rho);
    asc_panel_scores(p, b->scale, asc_background_matrix(b, p, &b->call->in[BACKGROUND_Q]),
                     asc_background_matrix(b, p, &b->call->in[BACKGROUND_K]), w->at.scores);
    asc_panel_add_bias(&b->J, p, &b->positions, ASC_F32, w->at.scores);
    asc_panel_add_given(p, &b->given, w->at.scores);
    asc_kernels_f32()->scale(w->at.scores, (float)w->g.score, w->at.scores, p->rows * p->columns);
    distances_f32(w);
}

static const void *row_rho_f32(asc_background_work *w, const asc_panel_row *row)
{
    if (!row->list && (row->globals == 0 || row->start == 0)) {
        return (const float *)w->at.rho + row->start;
    }
    const float *rho = (const float *)w->b->rho + (w->p.b * w->b->J.H + w->p.h) * w->b->J.M;
    float *slot[2] = {(float *)w->at.rho_row + asc_panel_slot(&w->p, false),
                      (float *)w->at.rho_row + asc_panel_slot(&w->p, true)};
    memcpy(w->at.rho_row, w->at.rho, (size_t)w->p.columns * sizeof(float));
    for (int l = 0; l < row->links.low + row->links.high; l++) {
        *slot[l >= row->links.low]++ = rho[row->links.key[l]];
    }
    asc_panel_compact(row, ASC_F32, w->at.rho_row);
    return (const float *)w->at.rho_row + row->start;
}

/* ---- the links of a row ---- */

/* β^align and β^coh of row i's links. */
static void link_f32(asc_background_work *w, const asc_panel_row *row, int64_t i)
{
    const asc_background_call *b = w->b;
    asc_background_links *align = &w->at.align, *coh = &w->at.coh;
    int64_t H = b->J.H, ld = H * b->d, own = asc_allowed_position(&b->J, i);
    const float *u = (const float *)b->units + (w->p.b * b->J.M * H + w->p.h) * b->d;
    asc_matrix z = asc_background_matrix(b, &w->p, &b->call->in[BACKGROUND_Z]);
    link_keys(b, &w->p, row, i, false, coh);
    if (b->mutual) {
        link_keys(b, &w->p, row, i, true, align);
    } else {
        align->n = coh->n;
        memcpy(align->key, coh->key, (size_t)coh->n * sizeof *coh->key);
        memcpy(align->entry, coh->entry, (size_t)coh->n * sizeof *coh->entry);
    }
    asc_kernels_f32()->gather_dots(align->x, u + own * ld, u, ld, align->key, align->n, b->d);
    asc_kernels_f32()->tanh(align->x, align->x, align->n);
    asc_kernels_f32()->gather_dots(coh->x, asc_background_centroid(b, &w->p, i), z.data, z.ld, coh->key, coh->n, b->dz);
    float *beta = coh->x;
    for (int64_t e = 0; e < coh->n; e++) {
        double x = (double)beta[e] - w->g.theta;
        beta[e] = x < 0 ? 0 : (float)x;
    }
}

/* Of a row of n entries that is 0 but for β of its links. Sums are taken beside a base, β of the first where all
 * entries are links: rows that are all but constant keep their digits. */
static asc_background_norm norm_of_links_f32(const asc_background_links *l, int64_t n, bool unbiased)
{
    const float *x = l->x;
    double base = l->n > 0 && l->n == n ? (double)x[0] : 0, sum = 0, most = 0;
    for (int64_t e = 0; e < l->n; e++) {
        sum += (double)x[e] - base;
        most = fmax(most, fabs((double)x[e]));
    }
    double mean = n > 0 ? sum / (double)n : 0, squares = (double)(n - l->n) * mean * mean;
    for (int64_t e = 0; e < l->n; e++) {
        double away = ((double)x[e] - base) - mean;
        squares += away * away;
    }
    double sigma = n > 1 ? sqrt(squares / (double)(unbiased ? n - 1 : n)) : 0;
    bool constant = asc_row_is_constant(sigma, (double)FLT_EPSILON, most);
    return asc_background_norm_of(base + mean, constant ? 0 : sigma, n, unbiased);
}

static void add_entries_f32(float *S, const asc_background_links *l, double strength)
{
    const float *x = l->x;
    for (int64_t e = 0; e < l->n; e++) {
        S[l->entry[e]] += (float)strength * x[e];
    }
}

static void add_links_f32(asc_background_work *w, const asc_panel_row *row, int64_t i, void *S,
                          asc_background_norm *align, asc_background_norm *coh)
{
    bool unbiased = w->b->o->unbiased;
    link_f32(w, row, i);
    *align = norm_of_links_f32(&w->at.align, row->n, unbiased);
    *coh = norm_of_links_f32(&w->at.coh, row->n, unbiased);
    add_entries_f32(S, &w->at.align, w->g.omega_align * align->coef * w->g.score);
    add_entries_f32(S, &w->at.coh, w->g.omega_coh * coh->coef * w->g.score);
}

/* ---- attention ---- */

static void attend_f32(asc_background_work *w, int64_t r, const asc_panel_row *row, void *A, bool known)
{
    asc_background_row *at = asc_background_row_of(w->b, &w->p, w->p.first + r);
    asc_panel_row allowed = *row;
    if (w->b->apart) {
        allowed = asc_panel_row_of(&w->b->J, &w->p, r, w->at.softmax_columns);
        asc_panel_compact(&allowed, ASC_F32, A);
    }
    float *x = (float *)A + allowed.start;
    if (known) {
        asc_panel_sum_to_1_f32(x, asc_kernels_f32()->exp_shift(x, x, (float)at->lse, allowed.n), allowed.n);
    } else {
        asc_log_sum_exp lse = asc_panel_softmax_f32(x, allowed.n);
        at->lse = (double)((float)lse.max + (float)lse.log_sum);
    }
    asc_panel_spread(&w->p, &allowed, ASC_F32, A);
}

/* ---- end of float ---- */
#include "ops/ascender/background_scores.f64.h"

void asc_background_measure(asc_background_work *w, int64_t index)
{
    w->p = asc_panel_at(&w->b->rows, index);
    w->g = asc_background_head_of(w->b, w->p.h);
    BY_DTYPE(w->b->dtype, measure)(w);
}

const void *asc_background_row_rho(asc_background_work *w, const asc_panel_row *row)
{
    return BY_DTYPE(w->b->dtype, row_rho)(w, row);
}

void asc_background_add_links(asc_background_work *w, const asc_panel_row *row, int64_t i, void *S,
                              asc_background_norm *align, asc_background_norm *coh)
{
    BY_DTYPE(w->b->dtype, add_links)(w, row, i, S, align, coh);
}

void asc_background_attend(asc_background_work *w, int64_t r, const asc_panel_row *row, void *A, bool known)
{
    BY_DTYPE(w->b->dtype, attend)(w, r, row, A, known);
}
