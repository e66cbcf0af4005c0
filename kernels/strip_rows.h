/*
 * kernels/strip_rows.h: Grassmann mixing's primitives for one real type; included by kernels_impl.c with REAL and
 * F(name) defined. strip_table.h says what each function does.
 */

typedef REAL F(quad) __attribute__((vector_size(4 * sizeof(REAL))));
typedef F(integer) F(places) __attribute__((vector_size(4 * sizeof(REAL))));

/* 4 × 4 elements, in registers: first pairs of rows are interleaved, then pairs of these. */
static ALWAYS_INLINE void F(transpose_quad)(REAL *to, int64_t ld_to, const REAL *x, int64_t ld_x)
{
    F(quad) row[4], pair[4], column[4];
    for (int i = 0; i < 4; i++) {
        memcpy(&row[i], x + i * ld_x, sizeof row[i]);
    }
    for (int i = 0; i < 4; i += 2) {
        pair[i] = PICK(F(places), row[i], row[i + 1], 0, 4, 1, 5);
        pair[i + 1] = PICK(F(places), row[i], row[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        column[2 * i] = PICK(F(places), pair[i], pair[i + 2], 0, 1, 4, 5);
        column[2 * i + 1] = PICK(F(places), pair[i], pair[i + 2], 2, 3, 6, 7);
    }
    for (int i = 0; i < 4; i++) {
        memcpy(to + i * ld_to, &column[i], sizeof column[i]);
    }
}

static void F(transpose_few)(REAL *to, int64_t ld_to, const REAL *x, int64_t ld_x, int64_t rows, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < rows; k++) {
            to[j * ld_to + k] = x[k * ld_x + j];
        }
    }
}

/* 16 rows at a time, which fill whole cache lines of what is written. */
static void F(transpose)(REAL *to, int64_t ld_to, const REAL *x, int64_t ld_x, int64_t rows, int64_t n)
{
    enum { SIDE = 16 };
    int64_t whole = rows / SIDE * SIDE, quads = n / 4 * 4;
    for (int64_t i = 0; i < whole; i += SIDE) {
        for (int64_t j = 0; j < quads; j += 4) {
            for (int64_t k = i; k < i + SIDE; k += 4) {
                F(transpose_quad)(to + j * ld_to + k, ld_to, x + k * ld_x + j, ld_x);
            }
        }
    }
    F(transpose_few)(to + quads * ld_to, ld_to, x + quads, ld_x, whole, n - quads);
    F(transpose_few)(to + whole, ld_to, x + whole * ld_x, ld_x, rows - whole, n);
}

static void F(strip_load)(double *to, const REAL *x, int64_t ld, const double *weight, int64_t n)
{
    for (int64_t i = 0; i < n; i++, x += ld, to += ASC_STRIP) {
        for (int l = 0; l < ASC_STRIP; l++) {
            double value = (double)x[l];
            to[l] = weight[l] != 0 ? value : 0;
        }
    }
}

static void F(strip_round)(REAL *to, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n * ASC_STRIP; i++) {
        to[i] = (REAL)x[i];
    }
}

static void F(strip_first)(REAL *unit, asc_strip_first *first, const double *u, int64_t n)
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
            unit[i + l] = (REAL)(u[i + l] * inverse[l]);
        }
    }
}

static void F(strip_wedge)(REAL *p, int64_t ld, const REAL *a, const REAL *b, int64_t n, int lanes)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(F(block)) / sizeof(REAL) };
    for (int64_t i = 0; i < n; i++, p += (n - i) * ld) {
        int l = 0;
        for (; l + WIDTH <= lanes; l += WIDTH) {
            F(block) ai = *(const F(block) *)(a + i * S + l), bi = *(const F(block) *)(b + i * S + l);
            REAL *at = p + l;
            for (int64_t j = (i + 1) * S + l; j < n * S; j += S, at += ld) {
                *(F(block) *)at = ai * *(const F(block) *)(b + j) - *(const F(block) *)(a + j) * bi;
            }
        }
        for (; l < lanes; l++) {
            for (int64_t j = i + 1; j < n; j++) {
                p[(j - i - 1) * ld + l] = a[i * S + l] * b[j * S + l] - a[j * S + l] * b[i * S + l];
            }
        }
    }
}

static void F(strip_wedge_grad)(REAL *q, REAL *Mb, const REAL *p, int64_t ld, const REAL *a, const REAL *b, int64_t n)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(F(block)) / sizeof(REAL) };
    memset(q, 0, (size_t)(n * S) * sizeof *q);
    memset(Mb, 0, (size_t)(n * S) * sizeof *Mb);
    for (int64_t i = 0; i < n; i++) {
        for (int l = 0; l < S; l += WIDTH) {
            F(block) ai = *(const F(block) *)(a + i * S + l), bi = *(const F(block) *)(b + i * S + l);
            F(block) q_sum = {0}, Mb_sum = {0};
            const REAL *at = p + l;
            for (int64_t j = (i + 1) * S + l; j < n * S; j += S, at += ld) {
                F(block) m = *(const F(block) *)at;
                q_sum += m * *(const F(block) *)(a + j);
                Mb_sum += m * *(const F(block) *)(b + j);
                *(F(block) *)(q + j) += m * ai;
                *(F(block) *)(Mb + j) -= m * bi;
            }
            *(F(block) *)(q + i * S + l) -= q_sum;
            *(F(block) *)(Mb + i * S + l) += Mb_sum;
        }
        p += (n - 1 - i) * ld;
    }
}

static void F(strip_pair_grad)(double *du, double *du_on_q, double *du_on_unit, const double *across, const REAL *q,
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

static void F(strip_first_grad)(double *du, const REAL *Mb, const REAL *q, const REAL *unit, const double *on_q,
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

static void F(strip_second_grad)(double *dv, const double *on_q, const double *on_v, const double *on_u, const REAL *q,
                                 int64_t ld_q, const REAL *v, int64_t ld_v, const REAL *u, int64_t ld_u, int64_t n)
{
    for (int64_t i = 0; i < n; i++, dv += ASC_STRIP, q += ld_q, v += ld_v, u += ld_u) {
        for (int l = 0; l < ASC_STRIP; l++) {
            double sum = on_q[l] * (double)q[l] + (on_v[l] * (double)v[l] + on_u[l] * (double)u[l]);
            dv[l] += on_q[l] != 0 ? sum : 0;
        }
    }
}

/* ---- gates ---- */

static void F(gate)(REAL *y, REAL *a, const REAL *h, const REAL *g, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        a[i] = F(gate1)(a[i]);
    }
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = g[i] + a[i] * (h[i] - g[i]);
    }
}

/* y (+)= x∘w, or x∘(1 - w) */
static ALWAYS_INLINE void F(weigh)(REAL *y, const REAL *x, const REAL *w, bool rest, int64_t n, bool fresh)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL part = x[i] * (rest ? 1 - w[i] : w[i]);
        y[i] = fresh ? part : y[i] + part;
    }
}

static void F(gate_grad)(REAL *ds, REAL *dh, REAL *dg, const REAL *dy, const REAL *a, const REAL *h, const REAL *g,
                         int64_t n, bool fresh_h, bool fresh_g)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        ds[i] = dy[i] * (h[i] - g[i]) * (a[i] * (1 - a[i]));
    }
    if (dh) {
        F(weigh)(dh, dy, a, false, n, fresh_h);
    }
    if (dg) {
        F(weigh)(dg, dy, a, true, n, fresh_g);
    }
}

/* A block of at most LANES channels, its state in registers; inlined for LANES and for the rest. */
static ALWAYS_INLINE void F(memory_block)(REAL *before, REAL *m, const REAL *z, const REAL *f, int64_t steps, int64_t n,
                                          int64_t ld)
{
    REAL state[LANES];
    memcpy(state, m, (size_t)n * sizeof *m);
    for (int64_t at = 0; at < steps * ld; at += ld) {
        for (int64_t k = 0; k < n; k++) {
            before[at + k] = state[k];
            state[k] = f[at + k] * state[k] + (1 - f[at + k]) * z[at + k];
        }
    }
    memcpy(m, state, (size_t)n * sizeof *m);
}

static void F(memory)(REAL *before, REAL *m, const REAL *z, const REAL *f, int64_t steps, int64_t n, int64_t ld)
{
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        F(memory_block)(before + c, m + c, z + c, f + c, steps, LANES, ld);
    }
    F(memory_block)(before + c, m + c, z + c, f + c, steps, n - c, ld);
}

/* One step back: dm from the gradient of m_t to that of m_{t-1}. */
static ALWAYS_INLINE void F(memory_step_grad)(REAL *dz, REAL *da, REAL *dm, const REAL *dbefore, const REAL *before,
                                              const REAL *z, const REAL *f, int64_t n, bool fresh_z, bool fresh_a)
{
    INDEPENDENT
    for (int64_t k = 0; k < n; k++) {
        REAL kept = dm[k] * f[k], to_z = dm[k] - kept;
        if (da) {
            REAL g = to_z * (before[k] - z[k]) * f[k];
            da[k] = fresh_a ? g : da[k] + g;
        }
        if (dz) {
            dz[k] = fresh_z ? to_z : dz[k] + to_z;
        }
        dm[k] = dbefore ? kept + dbefore[k] : kept;
    }
}

static void F(memory_grad)(REAL *dz, REAL *da, REAL *dm, const REAL *dbefore, const REAL *before, const REAL *z,
                           const REAL *f, int64_t steps, int64_t n, int64_t ld, bool fresh_z, bool fresh_a)
{
    for (int64_t at = (steps - 1) * ld; at >= 0; at -= ld) {
        F(memory_step_grad)(dz ? dz + at : NULL, da ? da + at : NULL, dm, dbefore ? dbefore + at : NULL, before + at,
                            z + at, f + at, n, fresh_z, fresh_a);
    }
}
