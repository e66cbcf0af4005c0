/* ops/linear_attention/features.c: the feature maps of linear attention, positive in every entry.
 *
 *   elu    φ(x) = elu(x) + 1                                     (Katharopoulos et al., arXiv 2006.16236)
 *   favor  φ(x) = exp(W x̂ - ‖x̂‖²/2)/√m, x̂ = x/d^¼               (Performer, Choromanski et al., arXiv 2009.14794)
 *
 * favor overflows as written: φ̃ = exp(W x̂ - max), and the rest stays a logarithm. 1/√m is left to the divisor's ε. */
#include "ops/linear_attention/linear_attention.h"

#include <math.h>
#include <string.h>

/* ---- float, and f64.awk makes the same for double ---- */

static float *row_f32(const asc_array *a, const asc_linear_chunk *c, int64_t i)
{
    int64_t width = a->shape[2] / c->j->H;
    return (float *)a->data + (c->b * c->j->N + c->first + i) * a->shape[2] + c->h * width;
}

/* x̂ of all rows, side by side; returns d^-¼. */
static float shrink_f32(const asc_linear_chunk *c, int input, float *x)
{
    int64_t d = c->j->d;
    float by = (float)(1 / sqrt(sqrt((double)d)));
    for (int64_t i = 0; i < c->rows; i++) {
        asc_kernels_f32()->scale(x + i * d, by, row_f32(&c->j->call->in[input], c, i), d);
    }
    return by;
}

static void favor_f32(const asc_linear_chunk *c, int input, float *phi, double *level)
{
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    int64_t d = c->j->d, m = c->j->m;
    float *x = c->x;
    shrink_f32(c, input, x);
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(c->j->call->ctx),
                             .tb = true,
                             .m = c->rows,
                             .n = m,
                             .k = d,
                             .alpha = 1,
                             .a = x,
                             .lda = d,
                             .b = c->j->call->in[ASC_LINEAR_FEATURES].data,
                             .ldb = d,
                             .c = phi,
                             .ldc = m});
    for (int64_t i = 0; i < c->rows; i++) {
        float most = k->max(phi + i * m, m);
        level[i] = (double)most - k->sumsq(x + i * d, d) / 2;
        k->exp_shift(phi + i * m, phi + i * m, most, m);
    }
}

void asc_linear_features_f32(const asc_linear_chunk *c, int input, float *phi, double *level)
{
    if (c->j->o->feature == ASC_FEATURE_FAVOR) {
        favor_f32(c, input, phi, level);
        return;
    }
    for (int64_t i = 0; i < c->rows; i++) {
        memcpy(phi + i * c->j->m, row_f32(&c->j->call->in[input], c, i), (size_t)c->j->m * sizeof *phi);
        level[i] = 0;
    }
    asc_kernels_f32()->elu_one(phi, phi, c->rows * c->j->m);
}

static void give_row_f32(const asc_linear_chunk *c, int input, int64_t i, float by, const float *dx)
{
    float *to = row_f32(&c->j->call->grad_in[input], c, i);
    if (c->j->call->fresh[input]) {
        asc_kernels_f32()->scale(to, by, dx, c->j->d);
    } else {
        asc_kernels_f32()->axpy(to, by, dx, c->j->d);
    }
}

static void favor_grad_f32(const asc_linear_chunk *c, int input, const float *phi, float *dphi)
{
    const asc_kernel_table_f32 *k = asc_kernels_f32();
    int64_t d = c->j->d, m = c->j->m;
    float *x = c->x, *dx = c->dx, by = shrink_f32(c, input, x);
    k->mul(dphi, dphi, phi, c->rows * m);
    asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                             .packs = asc_packs(c->j->call->ctx),
                             .m = c->rows,
                             .n = d,
                             .k = m,
                             .alpha = 1,
                             .a = dphi,
                             .lda = m,
                             .b = c->j->call->in[ASC_LINEAR_FEATURES].data,
                             .ldb = d,
                             .c = dx,
                             .ldc = d});
    if (c->j->features) {
        float *dw = (float *)c->j->features + c->group * m * d;
        asc_gemm_run(&(asc_gemm){.dtype = ASC_F32,
                                 .packs = asc_packs(c->j->call->ctx),
                                 .ta = true,
                                 .m = m,
                                 .n = d,
                                 .k = c->rows,
                                 .alpha = 1,
                                 .a = dphi,
                                 .lda = m,
                                 .b = x,
                                 .ldb = d,
                                 .beta = 1,
                                 .c = dw,
                                 .ldc = d});
    }
    for (int64_t i = 0; i < c->rows && c->j->call->grad_in[input].data; i++) {
        k->axpy(dx + i * d, -k->sum(dphi + i * m, m), x + i * d, d);
        give_row_f32(c, input, i, by, dx + i * d);
    }
}

void asc_linear_features_grad_f32(const asc_linear_chunk *c, int input, const float *phi, float *dphi)
{
    int64_t m = c->j->m;
    if (!c->j->call->grad_in[input].data && !c->j->features) {
        return;
    }
    if (c->j->o->feature == ASC_FEATURE_FAVOR) {
        favor_grad_f32(c, input, phi, dphi);
        return;
    }
    asc_kernels_f32()->elu_one_grad(dphi, phi, c->rows * m);
    for (int64_t i = 0; i < c->rows; i++) {
        give_row_f32(c, input, i, 1, dphi + i * m);
    }
}

/* ---- end of float ---- */
#include "ops/linear_attention/features.f64.h"
