/* kernels/scan_rows.h: linear recurrences, a row of channels after the other; included by kernels_impl.c. list.h says
 * what each function does. */
/* ---- float, and f64.awk makes the same for double ---- */
static void rg_lru_open_f32(float *a, float *root, float *open, float *gate, const float *rate, int64_t steps,
                            int64_t n)
{
    for (int64_t at = 0; at < steps * n; at += n) {
        INDEPENDENT
        for (int64_t k = 0; k < n; k++) {
            float r = near_gate1_f32(open[at + k]), less;
            a[at + k] = decay1_f32(rate[k] * r, &less);
            root[at + k] = sqrt1_f32(less);
            open[at + k] = r;
            gate[at + k] = near_gate1_f32(gate[at + k]);
        }
    }
}

/* At most LANES channels, their state in registers; inlined for LANES and for the rest. */
static ALWAYS_INLINE void scan_lanes_f32(float *s, float *m, const float *a, const float *x, int64_t steps, int64_t n,
                                         int64_t ld)
{
    float state[LANES];
    memcpy(state, m, (size_t)n * sizeof *m);
    for (int64_t at = 0; at < steps * ld; at += ld) {
        for (int64_t k = 0; k < n; k++) {
            state[k] = a[at + k] * state[k] + x[at + k];
            s[at + k] = state[k];
        }
    }
    memcpy(m, state, (size_t)n * sizeof *m);
}

static void scan_f32(float *s, float *m, const float *a, const float *x, int64_t steps, int64_t n)
{
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        scan_lanes_f32(s + c, m + c, a + c, x + c, steps, LANES, n);
    }
    scan_lanes_f32(s + c, m + c, a + c, x + c, steps, n - c, n);
}

static void scan_grad_f32(float *e, float *da, float *dm, const float *a, const float *before, int64_t steps, int64_t n)
{
    for (int64_t at = (steps - 1) * n; at >= 0; at -= n) {
        INDEPENDENT
        for (int64_t k = 0; k < n; k++) {
            float total = e[at + k] + dm[k];
            e[at + k] = total;
            da[at + k] = total * before[at + k];
            dm[k] = total * a[at + k];
        }
    }
}

static void rg_lru_grad_f32(float *dc, float *di, float *dr, float *drate, const float *e, const float *da,
                            const float *a, const float *root, const float *open, const float *gate, const float *c,
                            const float *rate, int64_t steps, int64_t n)
{
    for (int64_t at = 0; at < steps * n; at += n) {
        INDEPENDENT
        for (int64_t k = 0; k < n; k++) {
            float to_x = e[at + k] * root[at + k], g = gate[at + k], r = open[at + k], A = a[at + k];
            float by_root = e[at + k] * g * c[at + k] * A * A / root[at + k];
            float dl = da[at + k] * A - (root[at + k] > 0 ? by_root : 0);
            dc[at + k] = to_x * g;
            di[at + k] = to_x * c[at + k] * g * (1 - g);
            dr[at + k] = dl * rate[k] * r * (1 - r);
            drate[k] += dl * r;
        }
    }
}
/* ---- end of float ---- */
#include "kernels/scan_rows.f64.h"
