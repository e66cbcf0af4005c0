/* ops/ascender/background_links.c: the links of a row of ascender_background: the few keys whose β^align and β^coh are
 * not always 0; and row normalisation.
 *
 * With n entries, D = σ + ε, and n' = n or n - 1, a score ω (β_j - μ)/D has the gradients
 *
 *   dω = Σ dS (β - μ)/D,  dβ_j = ω (dS_j - mean dS)/D - ω Σ dS (β - μ)/D² · (β_j - μ)/(n' σ)
 *
 * Rows with σ <= 8 eps max|β| count as constant: 0, without a gradient. */
#include "ops/ascender/background.h"

#include <float.h>
#include <math.h>

asc_background_norm asc_background_norm_of(double mean, double sigma, int64_t n, bool unbiased)
{
    return (asc_background_norm){mean, sigma, sigma > 0 ? 1 / (sigma + asc_background_eps) : 0, n,
                                 (double)(unbiased && n > 1 ? n - 1 : n)};
}

asc_background_slopes asc_background_slopes_of(const asc_background_norm *m, double omega, double pull)
{
    if (m->coef == 0) {
        return (asc_background_slopes){0, 0};
    }
    return (asc_background_slopes){omega * m->coef, -omega * pull * m->coef * m->coef / (m->divisor * m->sigma)};
}

/* N(i). */
static const int64_t *neighbors_of(const asc_background_call *b, const asc_panel *p, int64_t i, int64_t *n)
{
    const int64_t *lists = b->call->saved[BACKGROUND_LISTS].data;
    const int64_t *keys = lists + (asc_background_head(b, p) * b->J.N + i) * b->capacity;
    for (*n = 0; *n < b->capacity && keys[*n] >= 0;) {
        ++*n;
    }
    return keys;
}

/* Those that chose i. */
static const int32_t *choosers_of(const asc_background_call *b, const asc_panel *p, int64_t i, int64_t *n)
{
    int64_t head = asc_background_head(b, p), *first = b->first_chooser + head * (b->J.N + 1) + i;
    *n = first[1] - first[0];
    return b->choosers + head * b->J.N * b->capacity + first[0];
}

void asc_background_link(const asc_background_call *b, const asc_panel *p, const asc_panel_row *row, int64_t i,
                         bool both_ways, asc_background_links *to)
{
    int64_t n, m = 0;
    const int64_t *keys = neighbors_of(b, p, i, &n);
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
        if (entry >= 0) { /* not every chooser is in sight */
            to->key[to->n] = key;
            to->entry[to->n++] = entry;
        }
    }
}

/* ---- float, and f64.awk makes the same for double ---- */

/* Sums are taken beside a base, x_0 where all entries are links: rows that are all but constant keep their digits. */
asc_background_norm asc_background_link_norm_f32(const float *x, int64_t links, int64_t n, bool unbiased)
{
    double base = links > 0 && links == n ? (double)x[0] : 0, sum = 0, most = 0;
    for (int64_t e = 0; e < links; e++) {
        sum += (double)x[e] - base;
        most = fmax(most, fabs((double)x[e]));
    }
    double mean = n > 0 ? sum / (double)n : 0, squares = (double)(n - links) * mean * mean;
    for (int64_t e = 0; e < links; e++) {
        double away = ((double)x[e] - base) - mean;
        squares += away * away;
    }
    double sigma = n > 1 ? sqrt(squares / (double)(unbiased ? n - 1 : n)) : 0;
    return asc_background_norm_of(base + mean, sigma <= 8 * (double)FLT_EPSILON * most ? 0 : sigma, n, unbiased);
}

void asc_background_add_links_f32(float *S, const asc_background_links *l, const float *x, double strength)
{
    for (int64_t e = 0; e < l->n; e++) {
        S[l->entry[e]] += (float)strength * x[e];
    }
}

double asc_background_link_grad_f32(float *x, const asc_background_links *l, const float *dS, double sum,
                                    const asc_background_norm *m, double omega)
{
    double pull = -m->mean * sum, shift = m->n > 0 ? sum / (double)m->n : 0;
    for (int64_t e = 0; e < l->n; e++) {
        pull += (double)dS[l->entry[e]] * (double)x[e];
    }
    asc_background_slopes s = asc_background_slopes_of(m, omega, pull);
    for (int64_t e = 0; e < l->n; e++) {
        x[e] = (float)(s.slope * ((double)dS[l->entry[e]] - shift) + s.spread * ((double)x[e] - m->mean));
    }
    return m->coef * pull;
}

/* ---- end of float ---- */
#include "ops/ascender/background_links.f64.h"
