/* tests/kernels/strips.h: Grassmann mixing's primitives; included by test_strips.c. What they compute is tested with
 * the ops; here that pairs of every kind are the same everywhere. */
/* ---- float, and f64.awk makes the same for double ---- */

/* What one run of all of them gives. */
typedef struct results_f32 {
    float transposed[MOST * S], unit[MOST * S], sum[MOST * S], wedge[MOST * MOST / 2 * S], part[MOST * MOST / 2 * S];
    float q[MOST * S], Mb[MOST * S];
    double u[MOST * S], v[MOST * S], y[MOST * S], du[MOST * S], dv[MOST * S], on_q[S], on_unit[S];
    asc_strip_first first;
    asc_strip_pair pair;
    float gate[2 * MOST * S], gate_grad[3 * MOST * S], memory[(MOST + 1) * S], memory_grad[(2 * MOST + 1) * S];
} results_f32;

/* Pairs of every kind: none, regular, below either floor. */
static void run_strip_f32(const asc_kernel_table_f32 *k, int64_t n, int lanes, results_f32 *r)
{
    static float x[MOST * S], z[MOST * S];
    fill_f32(x, n * S, 1);
    fill_f32(z, n * S, 2);
    for (int l = 0; l < S; l++) {
        r->pair.weight[l] = l % 5 ? 0.25 * l : 0;
        for (int64_t i = 0; i < n && l % 4 == 0; i++) {
            z[i * S + l] = 2 * x[i * S + l] + (l % 8 ? (float)1e-3 * z[i * S + l] : 0);
        }
    }
    k->transpose(r->transposed, n, x, S, n, S);
    k->strip_load(r->u, x, S, r->pair.weight, n);
    k->strip_load(r->v, z, S, r->pair.weight, n);
    k->strip_first(r->unit, &r->first, r->u, n);
    k->strip_add_pair(r->y, r->v, r->u, &r->first, &r->pair, n, 1e-6, 0.01);
    k->strip_round(r->sum, r->y, n);
    k->strip_wedge(r->wedge, S, r->unit, r->sum, n, S);
    k->strip_wedge(r->part, S, r->unit, r->sum, n, lanes);
    k->strip_wedge_grad(r->q, r->Mb, r->wedge, S, x, z, n);
    k->strip_pair_grad(r->du, r->on_q, r->on_unit, r->v, r->q, &r->pair, n);
    k->strip_first_grad(r->du, r->Mb, r->q, r->unit, r->on_q, r->on_unit, &r->first, n);
    k->strip_second_grad(r->dv, r->pair.on_q, r->pair.on_v, r->pair.on_u, r->q, S, z, S, x, S, n);
}

static void run_gates_f32(const asc_kernel_table_f32 *k, int64_t n, results_f32 *r)
{
    static float h[MOST * S], g[MOST * S], dy[MOST * S];
    int64_t all = n * S, steps = n, width = S - 5;
    fill_f32(h, all, 3);
    fill_f32(g, all, 4);
    fill_f32(dy, all, 5);
    float *a = r->gate + all;
    fill_f32(a, all, 6);
    k->gate(r->gate, a, h, g, all);
    for (int fresh = 1; fresh >= 0; fresh--) {
        k->gate_grad(r->gate_grad, r->gate_grad + all, r->gate_grad + 2 * all, dy, a, h, g, all, fresh, fresh);
        k->memory(r->memory + S, r->memory, h, a, steps, width, S);
        k->memory_grad(r->memory_grad + S, r->memory_grad + S + all, r->memory_grad, dy, r->memory + S, h, a, steps,
                       width, S, fresh, fresh);
    }
}

static void agree_f32(const asc_kernel_table_f32 *plain, const asc_kernel_table_f32 *other, int64_t n)
{
    static results_f32 want, got;
    memset(&want, 0, sizeof want);
    memset(&got, 0, sizeof got);
    run_strip_f32(plain, n, (int)(n % S), &want);
    run_strip_f32(other, n, (int)(n % S), &got);
    run_gates_f32(plain, n, &want);
    run_gates_f32(other, n, &got);
    ck_assert_mem_eq(&want, &got, sizeof want);
}

/* The wedge of a strip's first lanes is the whole strip's, the rest is not touched; a vector with itself gives 0. */
static void check_lanes_f32(const asc_kernel_table_f32 *k)
{
    static results_f32 r;
    for (int lanes = 0; lanes <= S; lanes++) {
        memset(&r, 0, sizeof r);
        run_strip_f32(k, 5, lanes, &r);
        for (int64_t e = 0; e < 10 * S; e++) {
            float want = e % S < lanes ? r.wedge[e] : 0;
            if (r.part[e] != want) {
                ck_abort_msg("%d lanes: element %lld is %g, expected %g", lanes, (long long)e, (double)r.part[e],
                             (double)want);
            }
        }
    }
    k->strip_wedge(r.wedge, S, r.unit, r.unit, 5, S);
    for (int64_t e = 0; e < 10 * S; e++) {
        if (r.wedge[e] != 0) {
            ck_abort_msg("u∧u has %g", (double)r.wedge[e]);
        }
    }
}
/* ---- end of float ---- */
#include "tests/kernels/strips.f64.h"
