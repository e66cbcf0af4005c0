/* ops/ascender/background_local.c: what a row of ascender_background has of its neighbours alone, before and after the
 * panels:
 *
 *   c_i = Σ_{l ∈ N(i)} z_l/|N(i)|,  ρ_i = Σ_{l ∈ N(i)} w_il/|N(i)|,  w_il = exp(-‖z_i - z_l‖²/(τ_sep + ε))
 *   dd²_il = -dρ_i w_il/(|N(i)| (τ_sep + ε)),  dz_i += 2 dd²_il (z_i - z_l),  dz_l -= the same
 *
 * and, where rows may choose one another, the lists of those that chose a key. */
#include "ops/ascender/background.h"

#include <string.h>

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

void asc_background_list_choosers(asc_background_call *b)
{
    asc_parallel(b->call->ctx, b->J.B * b->J.H, list_choosers, b);
}

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

/* The scores that choose, of all columns of a panel. */
static void measure_likeness_f32(const asc_background_call *b, const asc_panel *p, float *P)
{
    int64_t n = b->like_width, ld = b->J.H * n, first = p->first + b->like_rows - b->J.N;
    const float *A = (const float *)b->like + (p->b * b->like_rows + first) * ld + p->h * n;
    const float *B = (const float *)b->likes + asc_background_head(b, p) * n * b->ld;
    asc_kernels_f32()->pair_dots(P, p->columns, 1, A, ld, B, b->ld, p->rows, p->globals, n);
    asc_kernels_f32()->pair_dots(P + p->globals, p->columns, 1, A, ld, B + p->from, b->ld, p->rows, p->to - p->from, n);
}

/* c_i and ρ_i, of a list of n neighbours. */
static void locate_f32(const asc_background_call *b, const asc_panel *p, int64_t i, const int64_t *keys, int64_t n,
                       float *spare)
{
    asc_matrix z = asc_head_matrix(&b->call->in[BACKGROUND_Z], p->b, p->h, b->J.H);
    const float *points = z.data, *own = points + (i + b->J.M - b->J.N) * z.ld;
    int64_t head = asc_background_head(b, p);
    float *c = (float *)b->call->saved[BACKGROUND_CENTERS].data + (head * b->J.N + i) * b->d_z;
    for (int64_t e = 0; e < n; e++) {
        spare[e] = 1 / (float)n;
    }
    memset(c, 0, (size_t)b->d_z * sizeof *c);
    asc_kernels_f32()->gather_sum(c, spare, points, z.ld, keys, n, b->d_z);
    asc_kernels_f32()->gather_distances(spare, own, points, z.ld, keys, n, b->d_z);
    asc_kernels_f32()->scale(spare, (float)-asc_background_head_of(b, p->h).bias.rate, spare, n);
    asc_kernels_f32()->exp(spare, spare, n);
    ((float *)b->call->out[BACKGROUND_RHO].data)[head * b->J.N + i] =
        n > 0 ? asc_kernels_f32()->sum(spare, n) / (float)n : 0;
}

void asc_background_locate_f32(void *arg, int64_t piece, int worker)
{
    const asc_background_call *b = arg;
    asc_panel p = asc_panel_at(&b->statistics, piece);
    float *P = (float *)asc_background_panel(b, worker, 0), *spare = (float *)asc_background_row_buffer(b, worker, 0);
    int64_t *chosen = b->links + worker * BACKGROUND_LINK_LISTS * b->link_room, *list = chosen + b->link_room;
    bool scored = asc_neighbors_scored(&b->rule);
    if (scored) {
        measure_likeness_f32(b, &p, P);
    }
    for (int64_t r = 0; r < p.rows; r++) {
        int64_t i = p.first + r, at = (asc_background_head(b, &p) * b->J.N + i) * b->capacity;
        int64_t *keys = (int64_t *)b->call->saved[BACKGROUND_LISTS].data + at;
        asc_panel_row row = asc_panel_row_of(&b->statistics, &p, r, asc_background_list(b, worker, 0));
        if (scored) {
            asc_panel_compact(&row, ASC_F32, P + r * p.columns);
            asc_neighbors_choose(&b->rule, &p, &row, ASC_F32, P + r * p.columns + row.start, spare, chosen);
        }
        int64_t n = asc_neighbors_list(&b->rule, &p, &row, r, chosen, list);
        if (b->mutual) { /* to be merged with the choosers */
            sort(list, n);
        }
        for (int64_t e = 0; e < b->capacity; e++) {
            keys[e] = e < n ? list[e] : -1;
        }
        locate_f32(b, &p, i, list, n, spare);
    }
}

/* ---- backward ---- */

/* What dρ_i says of the places; returns what it says of τ_sep. */
static double density_grad_f32(const asc_background_call *b, asc_matrix z, asc_matrix dz, double rate, int64_t i,
                               const int64_t *keys, float drho, float *spare)
{
    float *d2 = spare + b->d_z, *w = d2 + b->capacity;
    int64_t n = 0, place = i + b->J.M - b->J.N;
    const float *points = z.data, *own = points + place * z.ld;
    double by_rate = 0;
    while (n < b->capacity && keys[n] >= 0) {
        n++;
    }
    asc_kernels_f32()->gather_distances(d2, own, points, z.ld, keys, n, b->d_z);
    asc_kernels_f32()->scale(w, (float)-rate, d2, n);
    asc_kernels_f32()->exp(w, w, n);
    for (int64_t e = 0; e < n; e++) {
        w[e] *= (float)(-rate * (double)drho / (double)n);
        by_rate += (double)w[e] * (double)d2[e];
    }
    if (dz.data) {
        memset(spare, 0, (size_t)b->d_z * sizeof *spare);
        asc_kernels_f32()->gather_distances_grad(spare, dz.data, dz.ld, w, own, points, z.ld, keys, n, b->d_z);
        asc_kernels_f32()->acc((float *)dz.data + place * dz.ld, spare, b->d_z);
    }
    return -by_rate * rate;
}

/* All rows of a head, one after the other. */
void asc_background_density_grad_f32(void *arg, int64_t head, int worker)
{
    const asc_background_call *b = arg;
    const asc_call *call = b->call;
    int64_t at = head / b->J.H, h = head % b->J.H;
    asc_matrix z = asc_head_matrix(&call->in[BACKGROUND_Z], at, h, b->J.H);
    asc_matrix dz = call->grad_in[BACKGROUND_Z].data ? asc_head_matrix(&call->grad_in[BACKGROUND_Z], at, h, b->J.H)
                                                 : (asc_matrix){.data = NULL};
    const float *drho = (const float *)b->drho_sum + head * b->J.M + b->J.M - b->J.N;
    const int64_t *lists = (const int64_t *)call->saved[BACKGROUND_LISTS].data + head * b->J.N * b->capacity;
    double rate = asc_background_head_of(b, h).bias.rate;
    double *sums = b->scalar_sums + ((head + 1) * asc_background_pieces(b) - 1) * ASC_BACKGROUND_SCALARS;
    for (int64_t i = 0; i < b->J.N; i++) {
        sums[ASC_BACKGROUND_TAU_SEP] += density_grad_f32(b, z, dz, rate, i, lists + i * b->capacity, drho[i],
                                                         asc_background_row_buffer(b, worker, 0));
    }
}

/* ---- end of float ---- */
#include "ops/ascender/background_local.f64.h"
