/*
 * kernels/ascender_rows.h: the rows of ASCender attention: the largest entries, row normalisation, weights, scores
 * and their gradients; included by kernels_impl.c. ascender_table.h says what each function does.
 */

enum { F(RANKED) = 64 };

typedef F(integer) F(mask) __attribute__((vector_size(VEC_BYTES))); /* of comparisons: -1 where they hold */

/* A NaN is chosen as -∞ is: with ties by place, the order is total whatever the values. */
static inline REAL F(orderly)(REAL x)
{
    return x == x ? x : -(REAL)INFINITY;
}

/* How many of count values, none a NaN, come before each: the larger, and of equals those at lower places. */
static void F(count_before)(F(mask) *before, const REAL *value, int64_t count)
{
    F(mask) place;
    for (int l = 0; l < VEC; l++) {
        place[l] = l;
    }
    for (int64_t own = 0; own < count; own += VEC) {
        int64_t behind = own + VEC < count ? own + VEC : count;
        F(mask) n = {0};
        F(vec) x;
        memcpy(&x, value + own, sizeof x);
        for (int64_t j = 0; j < own; j++) {
            n -= value[j] >= x;
        }
        for (int64_t j = own; j < behind; j++) {
            n -= (value[j] > x) | ((value[j] == x) & (place > (int)(j - own)));
        }
        for (int64_t j = behind; j < count; j++) {
            n -= value[j] > x;
        }
        before[own / VEC] = n;
    }
}

/* The places of count <= RANKED values, none a NaN, in their order. A value's place in it is the number of those before
 * it, counted without a branch. value: room for whole vectors. */
static void F(rank)(REAL *value, int64_t count, F(integer) order[F(RANKED)])
{
    F(mask) before[F(RANKED) * sizeof(REAL) / VEC_BYTES];
    F(integer) rank[F(RANKED)];
    for (int64_t l = count; l % VEC; l++) {
        value[l] = -(REAL)INFINITY;
    }
    F(count_before)(before, value, count);
    memcpy(rank, before, (size_t)count * sizeof *rank);
    for (int64_t l = 0; l < count; l++) {
        order[rank[l]] = (F(integer))l;
    }
}

/* Of n <= RANKED values. */
static int64_t F(top_of_few)(const REAL *x, int64_t n, int64_t skip, int64_t k, REAL *best, int64_t *index)
{
    REAL value[F(RANKED)];
    F(integer) order[F(RANKED)];
    int64_t gap = skip >= 0 && skip < n ? skip : n, count = n - (gap < n);
    memcpy(value, x, (size_t)gap * sizeof *x);
    memcpy(value + gap, x + gap + 1, (size_t)(count - gap) * sizeof *x);
    for (int64_t l = 0; l < count; l++) {
        value[l] = F(orderly)(value[l]);
    }
    F(rank)(value, count, order);
    int64_t found = k < count ? k : count;
    for (int64_t e = 0; e < found; e++) {
        index[e] = (int64_t)order[e] + (order[e] >= gap);
        best[e] = value[order[e]];
    }
    return found;
}

static bool F(any_above)(const REAL *x, REAL floor)
{
    int above = 0;
    for (int l = 0; l < LANES; l++) {
        above |= x[l] > floor;
    }
    return above;
}

/* The best so far, then what may still enter, in the order of their places: k of them are the best. */
typedef struct F(contest) {
    REAL value[F(RANKED)];
    int64_t index[F(RANKED)], count;
} F(contest);

static void F(decide)(F(contest) *c, int64_t k)
{
    F(contest) all = *c;
    F(integer) order[F(RANKED)];
    F(rank)(all.value, all.count, order);
    c->count = k;
    for (int64_t e = 0; e < k; e++) {
        c->value[e] = all.value[order[e]];
        c->index[e] = all.index[order[e]];
    }
}

/* k <= RANKED - LANES, n >= RANKED. Nothing enters that is not above the last of the best: most blocks are passed over
 * with one comparison a lane, and the others' entries go in without a branch. */
static int64_t F(top_by_rank)(const REAL *x, int64_t n, int64_t skip, int64_t k, REAL *best, int64_t *index)
{
    F(contest) c;
    c.count = F(top_of_few)(x, F(RANKED), skip, k, c.value, c.index);
    REAL floor = c.value[k - 1];
    for (int64_t block = F(RANKED); block < n; block += LANES) {
        int64_t end = n - block < LANES ? n : block + LANES;
        if (end - block == LANES && !F(any_above)(x + block, floor)) {
            continue;
        }
        if (c.count + LANES > F(RANKED)) {
            F(decide)(&c, k);
            floor = c.value[k - 1];
        }
        for (int64_t j = block; j < end; j++) {
            c.value[c.count] = x[j];
            c.index[c.count] = j;
            c.count += (x[j] > floor) & (j != skip);
        }
    }
    F(decide)(&c, k);
    memcpy(best, c.value, (size_t)k * sizeof *best);
    memcpy(index, c.index, (size_t)k * sizeof *index);
    return k;
}

/* The first ones by their ranks, then a sorted list. */
static int64_t F(top_k)(const REAL *x, int64_t n, int64_t skip, int64_t k, REAL *best, int64_t *index)
{
    if (k > 0 && k <= F(RANKED) - LANES && n > F(RANKED)) {
        return F(top_by_rank)(x, n, skip, k, best, index);
    }
    int64_t block = n < F(RANKED) ? n : F(RANKED), found = F(top_of_few)(x, block, skip, k, best, index);
    for (int64_t j = block; k > 0 && j < n; j++) {
        REAL value = F(orderly)(x[j]);
        if (j == skip || (found == k && !(value > best[k - 1]))) {
            continue;
        }
        int64_t at = found < k ? found++ : k - 1;
        for (; at > 0 && best[at - 1] < value; at--) {
            best[at] = best[at - 1];
            index[at] = index[at - 1];
        }
        best[at] = value;
        index[at] = j;
    }
    return found;
}

static void F(sum_listed)(REAL *y, const REAL *rows, int64_t ld, const int64_t *list, int64_t n, int64_t d)
{
    int64_t i = 0;
    for (; i + LANES <= d; i += LANES) {
        F(vec) sum[LANES * sizeof(REAL) / VEC_BYTES] = {{0}};
        for (int64_t e = 0; e < n; e++) {
            const REAL *row = rows + list[e] * ld + i;
            for (int v = 0; v < LANES / VEC; v++) {
                F(vec) part;
                memcpy(&part, row + v * VEC, sizeof part);
                sum[v] += part;
            }
        }
        memcpy(y + i, sum, sizeof sum);
    }
    for (; i < d; i++) {
        REAL sum = 0;
        for (int64_t e = 0; e < n; e++) {
            sum += rows[list[e] * ld + i];
        }
        y[i] = sum;
    }
}

static void F(add_listed)(REAL *rows, int64_t ld, const int64_t *list, int64_t n, const REAL *x, int64_t d)
{
    for (int64_t e = 0; e < n; e++) {
        F(acc)(rows + list[e] * ld, x, d);
    }
}

static inline REAL F(term_deviation)(REAL x, REAL y, REAL z, REAL c)
{
    (void)y, (void)z;
    return x - c;
}

/* The mean a second time, of what the first left: of entries that are nearly equal it has all digits. */
static REAL F(moments)(const REAL *x, int64_t n, REAL *mean)
{
    REAL m = F(sum)(x, n) / (REAL)n;
    REAL left = F(reduce)(x, x, x, m, n, F(term_deviation)) / (REAL)n;
    *mean = m + left;
    return F(reduce)(x, x, x, m + left, n, F(term_square));
}

static REAL F(max_abs)(const REAL *x, int64_t n)
{
    REAL lane[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            REAL a = x[i + k] < 0 ? -x[i + k] : x[i + k];
            lane[k] = F(larger)(a, lane[k]);
        }
    }
    for (int k = 0; i < n; i++, k++) {
        lane[k] = F(larger)(x[i] < 0 ? -x[i] : x[i], lane[k]);
    }
    return F(join)(lane, F(larger));
}

static REAL F(centred_dot)(const REAL *x, REAL c, const REAL *y, int64_t n)
{
    return F(reduce)(x, y, x, c, n, F(term_centred_product));
}

static void F(centred_scale)(REAL *y, const REAL *x, REAL c, REAL scale, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = (x[i] - c) * scale;
    }
}

static void F(divide)(REAL *y, const REAL *x, REAL c, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] / c;
    }
}

static void F(centred_grad)(REAL *x, const REAL *y, REAL slope, REAL spread, REAL mean, int64_t n)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        x[i] = slope * y[i] + spread * (x[i] - mean);
    }
}

static void F(pair_weights)(REAL *sep, REAL *coh, REAL *phi, const REAL *d2, const REAL *a, int64_t n,
                            const asc_pair_weights *w)
{
    const REAL by_sep = (REAL)-w->sep, by_coh = (REAL)-w->coh, delta = (REAL)w->delta;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL square = d2[i], weight = F(exp1)(square * by_sep), beyond = a[i] - delta;
        coh[i] = F(exp1)(square * by_coh);
        sep[i] = weight;
        phi[i] = weight * (beyond <= 0 ? 0 : beyond); /* a NaN stays one */
    }
}

static void F(add_biases)(REAL *S, const REAL *x0, const REAL *x1, const REAL *x2, const asc_centred *bias, REAL scale,
                          int64_t n)
{
    const REAL c0 = (REAL)bias[0].coef, c1 = (REAL)bias[1].coef, c2 = (REAL)bias[2].coef;
    const REAL m0 = (REAL)bias[0].mean, m1 = (REAL)bias[1].mean, m2 = (REAL)bias[2].mean;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        S[i] = (((S[i] + c0 * (x0[i] - m0)) + c1 * (x1[i] - m1)) + c2 * (x2[i] - m2)) * scale;
    }
}

static void F(separation_grad)(REAL *a, REAL *G, const REAL *dS, const REAL *A, const REAL *phi, const REAL *sep,
                               int64_t n, const asc_separation_grad *s)
{
    const REAL slope = (REAL)s->slope, spread = (REAL)s->spread, mean = (REAL)s->mean, by = (REAL)s->sep;
    const REAL attention = (REAL)s->attention, delta = (REAL)s->delta, density = (REAL)s->density;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        REAL dphi = slope * dS[i] + spread * (phi[i] - mean) + attention * A[i], beyond = a[i] - delta;
        REAL w = sep[i], dw = dphi * (beyond <= 0 ? 0 : beyond) + density;
        a[i] = beyond <= 0 ? 0 : dphi * w;
        G[i] = dw * w * by;
    }
}

#undef VEC
#undef VEC_BYTES
