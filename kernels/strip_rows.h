/*
 * kernels/strip_rows.h: Grassmann mixing's primitives; included by kernels_impl.c. list.h says what each function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

typedef float quad_f32 __attribute__((vector_size(4 * sizeof(float))));
typedef integer_f32 places_f32 __attribute__((vector_size(4 * sizeof(float))));

/* 4 × 4 elements, in registers: first pairs of rows are interleaved, then pairs of these. */
static ALWAYS_INLINE void transpose_quad_f32(float *to, int64_t ld_to, const float *x, int64_t ld_x)
{
    quad_f32 row[4], pair[4], column[4];
    for (int i = 0; i < 4; i++) {
        memcpy(&row[i], x + i * ld_x, sizeof row[i]);
    }
    for (int i = 0; i < 4; i += 2) {
        pair[i] = PICK(places_f32, row[i], row[i + 1], 0, 4, 1, 5);
        pair[i + 1] = PICK(places_f32, row[i], row[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        column[2 * i] = PICK(places_f32, pair[i], pair[i + 2], 0, 1, 4, 5);
        column[2 * i + 1] = PICK(places_f32, pair[i], pair[i + 2], 2, 3, 6, 7);
    }
    for (int i = 0; i < 4; i++) {
        memcpy(to + i * ld_to, &column[i], sizeof column[i]);
    }
}

static void transpose_few_f32(float *to, int64_t ld_to, const float *x, int64_t ld_x, int64_t rows, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < rows; k++) {
            to[j * ld_to + k] = x[k * ld_x + j];
        }
    }
}

/* 16 rows at a time, which fill whole cache lines of what is written. */
static void transpose_f32(float *to, int64_t ld_to, const float *x, int64_t ld_x, int64_t rows, int64_t n)
{
    enum { SIDE = 16 };
    int64_t whole = rows / SIDE * SIDE, quads = n / 4 * 4;
    for (int64_t i = 0; i < whole; i += SIDE) {
        for (int64_t j = 0; j < quads; j += 4) {
            for (int64_t k = i; k < i + SIDE; k += 4) {
                transpose_quad_f32(to + j * ld_to + k, ld_to, x + k * ld_x + j, ld_x);
            }
        }
    }
    transpose_few_f32(to + quads * ld_to, ld_to, x + quads, ld_x, whole, n - quads);
    transpose_few_f32(to + whole, ld_to, x + whole * ld_x, ld_x, rows - whole, n);
}

static void strip_load_f32(double *to, const float *x, int64_t ld, const double *weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++, x += ld, to += ASC_STRIP) {
        for (int l = 0; l < ASC_STRIP; l++) {
            double value = (double)x[l];
            to[l] = weight[l] != 0 ? value : 0;
        }
    }
}

static void strip_round_f32(float *to, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n * ASC_STRIP; i++) {
        to[i] = (float)x[i];
    }
}

static void strip_first_f32(float *unit, asc_strip_first *first, const double *u, int64_t n)
{
    enum { S = ASC_STRIP };
    const double tiny = 1e-300; /* of a square, by which sums are divided */
    double square[S] = {0}, inverse[S];
    for (int64_t i = 0; i < n * S; i += S) {
        for (int l = 0; l < S; l++) {
            square[l] += u[i + l] * u[i + l];
        }
    }
    for (int l = 0; l < S; l++) {
        bool some = square[l] >= tiny;
        double norm = sqrt(square[l]);
        first->norm[l] = some ? norm : 0;
        first->length[l] = some ? norm : 1;
        first->square[l] = some ? square[l] : INFINITY;
        inverse[l] = 1 / first->length[l];
    }
    for (int64_t i = 0; i < n * S; i += S) {
        for (int l = 0; l < S; l++) {
            unit[i + l] = (float)(u[i + l] * inverse[l]);
        }
    }
}

static void strip_add_pair_f32(double *y, double *v, const double *u, const asc_strip_first *first,
                               asc_strip_pair *pair, int64_t n, double eps, double eps_rel)
{
    add_pair(y, v, u, first, pair, n, eps, eps_rel);
}

static void strip_pair_grad_f32(double *du, double *du_on_q, double *du_on_unit, const double *across, const float *q,
                                asc_strip_pair *pair, int64_t n)
{
    enum { S = ASC_STRIP };
    double dot[S] = {0};
    for (int64_t i = 0; i < n * S; i += S) {
        for (int l = 0; l < S; l++) {
            dot[l] += (double)q[i + l] * across[i + l];
        }
    }
    for (int l = 0; l < S; l++) {
        double share = pair->weight[l] != 0 ? pair->factor[l] * dot[l] : 0;
        double weighted = pair->weight[l] * share;
        double moves = n == 2 ? 1 - pair->regular[l] : 1; /* a single coordinate is 1 or -1, and stays so */
        double shrink = moves * pair->regular[l] * weighted * pair->factor[l] * pair->factor[l];
        bool absolute = pair->regular[l] == 0 && pair->relative[l] == 0;
        pair->share[l] = share;
        pair->on_q[l] = moves * pair->weight[l] * pair->factor[l];
        pair->on_v[l] = -shrink - weighted * pair->relative[l];
        pair->on_u[l] = shrink * pair->along[l];
        du_on_q[l] += pair->along[l] * pair->on_q[l];
        du_on_unit[l] += absolute ? 0 : moves * weighted;
    }
    for (int64_t i = 0; i < n * S; i += S) {
        for (int l = 0; l < S; l++) {
            du[i + l] += pair->on_u[l] * across[i + l];
        }
    }
}

static void strip_first_grad_f32(double *du, const float *Mb, const float *q, const float *unit, const double *on_q,
                                 const double *on_unit, const asc_strip_first *first, int64_t n)
{
    enum { S = ASC_STRIP };
    for (int64_t i = 0; i < n * S; i += S) {
        for (int l = 0; l < S; l++) {
            double turned = ((double)Mb[i + l] - on_unit[l] * (double)unit[i + l]) / first->length[l];
            du[i + l] += turned - on_q[l] * (double)q[i + l];
        }
    }
}

static void strip_second_grad_f32(double *dv, const double *on_q, const double *on_v, const double *on_u,
                                  const float *q, int64_t ld_q, const float *v, int64_t ld_v, const float *u,
                                  int64_t ld_u, int64_t n)
{
    for (int64_t i = 0; i < n; i++, dv += ASC_STRIP, q += ld_q, v += ld_v, u += ld_u) {
        for (int l = 0; l < ASC_STRIP; l++) {
            double sum = on_q[l] * (double)q[l] + (on_v[l] * (double)v[l] + on_u[l] * (double)u[l]);
            dv[l] += on_q[l] != 0 ? sum : 0;
        }
    }
}

/* ---- gates ---- */

static void gate_f32(float *y, float *a, const float *h, const float *g, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        a[i] = gate1_f32(a[i]);
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = g[i] + a[i] * (h[i] - g[i]);
    }
}

/* y (+)= x∘w, or x∘(1 - w) */
static ALWAYS_INLINE void weigh_f32(float *y, const float *x, const float *w, bool rest, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float part = x[i] * (rest ? 1 - w[i] : w[i]);
        y[i] = fresh ? part : y[i] + part;
    }
}

static void gate_grad_f32(float *ds, float *dh, float *dg, const float *dy, const float *a, const float *h,
                          const float *g, int64_t n, bool fresh_h, bool fresh_g)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        ds[i] = dy[i] * (h[i] - g[i]) * (a[i] * (1 - a[i]));
    }
    if (dh) {
        weigh_f32(dh, dy, a, false, n, fresh_h);
    }
    if (dg) {
        weigh_f32(dg, dy, a, true, n, fresh_g);
    }
}

/* At most LANES channels, its state in registers; inlined for LANES and for the rest. */
static ALWAYS_INLINE void memory_lanes_f32(float *before, float *m, const float *z, const float *f, int64_t steps,
                                           int64_t n, int64_t ld)
{
    float state[LANES];
    memcpy(state, m, (size_t)n * sizeof *m);
    for (int64_t at = 0; at < steps * ld; at += ld) {
        for (int64_t k = 0; k < n; k++) {
            before[at + k] = state[k];
            state[k] = f[at + k] * state[k] + (1 - f[at + k]) * z[at + k];
        }
    }
    memcpy(m, state, (size_t)n * sizeof *m);
}

static void memory_f32(float *before, float *m, const float *z, const float *f, int64_t steps, int64_t n, int64_t ld)
{
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        memory_lanes_f32(before + c, m + c, z + c, f + c, steps, LANES, ld);
    }
    memory_lanes_f32(before + c, m + c, z + c, f + c, steps, n - c, ld);
}

/* One step back: dm from the gradient of m_t to that of m_{t-1}. */
static ALWAYS_INLINE void memory_step_grad_f32(float *dz, float *da, float *dm, const float *dbefore,
                                               const float *before, const float *z, const float *f, int64_t n,
                                               bool fresh_z, bool fresh_a)
{
    INDEPENDENT
    for (int64_t k = 0; k < n; k++) {
        float kept = dm[k] * f[k], to_z = dm[k] - kept;
        if (da) {
            float g = to_z * (before[k] - z[k]) * f[k];
            da[k] = fresh_a ? g : da[k] + g;
        }
        if (dz) {
            dz[k] = fresh_z ? to_z : dz[k] + to_z;
        }
        dm[k] = dbefore ? kept + dbefore[k] : kept;
    }
}

static void memory_grad_f32(float *dz, float *da, float *dm, const float *dbefore, const float *before, const float *z,
                            const float *f, int64_t steps, int64_t n, int64_t ld, bool fresh_z, bool fresh_a)
{
    for (int64_t at = (steps - 1) * ld; at >= 0; at -= ld) {
        memory_step_grad_f32(dz ? dz + at : NULL, da ? da + at : NULL, dm, dbefore ? dbefore + at : NULL, before + at,
                             z + at, f + at, n, fresh_z, fresh_a);
    }
}
/* ---- end of float ---- */
#include "kernels/strip_rows.f64.h"
