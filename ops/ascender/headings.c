/* ops/ascender/headings.c: the headings of neighbourhoods, and the auxiliary loss of alignment.
 *
 *   s_i = Σ_{l∈N(i)} k̃_l,  u_i = unit(s_i),  v_i = 1 - ‖s_i/|N(i)|‖²
 *   L_align: a row's share is 1 - u_i·ū_i, ū_i = Σ_{l∈N(i)} u_l/|N(i)|, and 0 without neighbours;
 *   du_i = -ū_i - Σ_{l: i∈N(l)} u_l/|N(l)|
 *
 * The loss needs the headings of all rows, so it is a pass of its own, head by head. */
#include "ops/ascender/ascender.h"

#include <math.h>
#include <string.h>

/* The pass over all heads; grad: of what is lost, into all_du. */
typedef struct align_job {
    asc_flock *s;
    double *loss;  /* [B, H], or NULL */
    double scale;
} align_job;

/* ---- float, and f64.awk makes the same for double ---- */

static void heading_f32(const asc_flock *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                        const asc_flock_space *w)
{
    asc_matrix headings = asc_flock_keys(s, p, s->headings, s->J.M, s->d_heading);
    const float *units = headings.data;
    int64_t d = s->d_heading;
    float *sum = (float *)w->sum + r * d, *u = (float *)w->u + r * d;
    int64_t n = asc_neighbors_list(&s->rule, p, row, r, asc_flock_chosen_row(s, p, r), w->list);
    asc_kernels_f32()->sum_listed(sum, units, d, w->list, n, d);
    double square = asc_unit_f32(u, sum, d);
    w->rows[r].norm = sqrt(square);
    w->rows[r].has = n > 0;
    w->rows[r].variance = n > 0 ? 1 - square / ((double)n * (double)n) : 0;
}

/* All u of a panel, into all_u. */
static void head_panel_f32(void *arg, int64_t piece, int worker)
{
    const asc_flock *s = arg;
    asc_panel p = asc_panel_at(&s->rows, piece);
    asc_flock_space w = asc_flock_space_of(s, worker);
    w.u = (float *)s->all_u + ((p.b * s->J.H + p.h) * s->J.N + p.first) * s->d_heading;
    for (int64_t r = 0; r < p.rows; r++) {
        asc_panel_row row = asc_panel_row_of(&s->rows, &p, r, w.columns);
        heading_f32(s, &p, &row, r, &w);
    }
}

/* One row's share of the loss, and of its gradient. u, du: [N, d] of the head. */
static double align_row_f32(const asc_flock *s, const int64_t *list, int64_t n, int64_t i, double scale, const float *u,
                            float *du, float *mean)
{
    int64_t d = s->d_heading;
    float share = n > 0 ? (float)(1 / (double)n) : 0;
    asc_kernels_f32()->sum_listed(mean, u, d, list, n, d);
    asc_kernels_f32()->scale(mean, share, mean, d);
    if (du) {
        asc_kernels_f32()->axpy(du + i * d, (float)-scale, mean, d);
        for (int64_t e = 0; e < n; e++) {
            asc_kernels_f32()->axpy(du + list[e] * d, (float)-scale * share, u + i * d, d);
        }
    }
    return n > 0 ? 1 - (double)asc_kernels_f32()->dot(u + i * d, mean, d) : 0;
}

static void align_head_f32(void *arg, int64_t head, int worker)
{
    const align_job *job = arg;
    const asc_flock *s = job->s;
    asc_flock_space w = asc_flock_space_of(s, worker);
    int64_t panels = asc_head_panels(&s->rows), size = s->J.N * s->d_heading;
    const float *u = (const float *)s->all_u + head * size;
    float *du = job->loss ? NULL : (float *)s->all_du + head * size;
    if (du) {
        memset(du, 0, (size_t)size * sizeof *du);
    }
    double sum = 0;
    for (int64_t i = 0; i < panels; i++) {
        asc_panel p = asc_panel_at(&s->rows, head * panels + i);
        for (int64_t r = 0; r < p.rows; r++) {
            asc_panel_row row = asc_panel_row_of(&s->rows, &p, r, w.columns);
            int64_t n = asc_neighbors_list(&s->rule, &p, &row, r, asc_flock_chosen_row(s, &p, r), w.list);
            sum += align_row_f32(s, w.list, n, p.first + r, job->scale, u, du, w.sum);
        }
    }
    if (job->loss) {
        job->loss[head] = sum;
    }
}

/* ---- end of float ---- */
#include "ops/ascender/headings.f64.h"

void asc_flock_heading(const asc_flock *s, const asc_panel *p, const asc_panel_row *row, int64_t r,
                       const asc_flock_space *w)
{
    BY_DTYPE(s->dtype, heading)(s, p, row, r, w);
}

void asc_flock_directions(const asc_flock *s, const asc_panel *p, const asc_flock_space *w, void *P)
{
    asc_panel alone = asc_panel_alone(p);
    asc_matrix headings = asc_flock_keys(s, p, s->headings, s->J.M, s->d_heading);
    asc_panel_scores(&alone, 1, asc_flock_block(s, w->u, s->d_heading), asc_flock_turned(s, p, s->headings_t, headings),
                     P);
}

double asc_flock_align_loss(asc_flock *s)
{
    int64_t heads = s->J.B * s->J.H;
    align_job job = {.s = s, .loss = s->partial};
    asc_parallel(s->call->ctx, heads, BY_DTYPE(s->dtype, align_head), &job);
    double sum = 0;
    for (int64_t head = 0; head < heads; head++) {
        sum += s->partial[head];
    }
    return sum;
}

void asc_flock_align_loss_grad(asc_flock *s, double scale)
{
    align_job job = {.s = s, .scale = scale};
    asc_piece_fn *headings = BY_DTYPE(s->dtype, head_panel);
    asc_parallel(s->call->ctx, asc_panels(&s->rows), headings, s);
    asc_parallel(s->call->ctx, s->J.B * s->J.H, BY_DTYPE(s->dtype, align_head), &job);
}
