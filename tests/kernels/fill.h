/* tests/kernels/fill.h: numbers for the tests of kernels, and comparison; included by both.h. */
/* ---- float, and f64.awk makes the same for double ---- */

/* n numbers on [-1, 1), another sequence for each stream. */
static inline void fill_f32(float *x, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(2 * asc_random_uniform(7, stream, (uint64_t)i) - 1);
    }
}

static inline void close_f32(float got, double want, double scale, const char *what)
{
    if (!(fabs((double)got - want) <= TOL_f32 * scale)) {
        ck_abort_msg("%s is %.17g, expected %.17g", what, (double)got, want);
    }
}
/* ---- end of float ---- */
#include "tests/kernels/fill.f64.h"
