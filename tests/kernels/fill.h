/* tests/kernels/fill.h: numbers for the tests of kernels, and comparison, for one real type: see kernels_both.h. */

/* n numbers on [-1, 1), another sequence for each stream. */
static inline void F(fill)(REAL *x, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = (REAL)(2 * asc_random_uniform(7, stream, (uint64_t)i) - 1);
    }
}

static inline void F(close)(REAL got, double want, double scale, const char *what)
{
    if (!(fabs((double)got - want) <= TOL * scale)) {
        ck_abort_msg("%s is %.17g, expected %.17g", what, (double)got, want);
    }
}
