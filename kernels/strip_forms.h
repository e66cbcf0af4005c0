/*
 * kernels/strip_forms.h: sums over the entries of vectors, their wedges and symmetric products, and wedges of vectors
 * with forms, a strip of tokens at a time; included by kernels_impl.c. list.h says what each function does.
 */
/* ---- float, and f64.awk makes the same for double ---- */

/* In double for either type. */
static void strip_dot_f32(double *sum, const double *a, const double *b, int64_t n)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f64) / sizeof(double) };
    for (int l = 0; l < S; l += WIDTH) {
        vector_f64 total = {0};
        for (int64_t i = l; i < n * S; i += S) {
            total += *(const vector_f64 *)(a + i) * *(const vector_f64 *)(b + i);
        }
        *(vector_f64 *)(sum + l) = total;
    }
}

static void strip_axpy_f32(double *y, const double *by, const double *x, int64_t n)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f64) / sizeof(double) };
    for (int l = 0; l < S; l += WIDTH) {
        vector_f64 a = *(const vector_f64 *)(by + l);
        for (int64_t i = l; i < n * S; i += S) {
            *(vector_f64 *)(y + i) += a * *(const vector_f64 *)(x + i);
        }
    }
}

static void strip_reject_f32(double *v, double *along, const double *x, const asc_strip_first *of, int64_t n)
{
    enum { S = ASC_STRIP };
    double minus[S];
    strip_dot_f32(along, x, v, n);
    for (int l = 0; l < S; l++) {
        along[l] /= of->square[l]; /* 1 to the bit where v is x */
        minus[l] = -along[l];
    }
    strip_axpy_f32(v, minus, x, n);
}

/* `wedge` is known where it is inlined: a_i b_j - a_j b_i, i < j, or a_i b_j + a_j b_i, i <= j. */
static ALWAYS_INLINE void products_f32(float *p, int64_t ld, const float *a, const float *b, int64_t n, int lanes,
                                       bool wedge)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f32) / sizeof(float) };
    for (int64_t i = 0; i < n; i++) {
        int64_t first = wedge ? i + 1 : i;
        int l = 0;
        for (; l + WIDTH <= lanes; l += WIDTH) {
            vector_f32 ai = *(const vector_f32 *)(a + i * S + l), bi = *(const vector_f32 *)(b + i * S + l);
            float *at = p + l;
            for (int64_t j = first * S + l; j < n * S; j += S, at += ld) {
                vector_f32 ab = ai * *(const vector_f32 *)(b + j), ba = *(const vector_f32 *)(a + j) * bi;
                *(vector_f32 *)at = wedge ? ab - ba : ab + ba;
            }
        }
        for (; l < lanes; l++) {
            for (int64_t j = first; j < n; j++) {
                float ab = a[i * S + l] * b[j * S + l], ba = a[j * S + l] * b[i * S + l];
                p[(j - first) * ld + l] = wedge ? ab - ba : ab + ba;
            }
        }
        p += (n - first) * ld;
    }
}

static void strip_wedge_f32(float *p, int64_t ld, const float *a, const float *b, int64_t n, int lanes)
{
    products_f32(p, ld, a, b, n, lanes, true);
}

static void strip_symmetric_f32(float *p, int64_t ld, const float *a, const float *b, int64_t n, int lanes)
{
    products_f32(p, ld, a, b, n, lanes, false);
}

static ALWAYS_INLINE void products_grad_f32(float *q, float *Mb, const float *p, int64_t ld, const float *a,
                                            const float *b, int64_t n, bool wedge)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f32) / sizeof(float) };
    memset(q, 0, (size_t)(n * S) * sizeof *q);
    memset(Mb, 0, (size_t)(n * S) * sizeof *Mb);
    for (int64_t i = 0; i < n; i++) {
        int64_t first = wedge ? i + 1 : i;
        for (int l = 0; l < S; l += WIDTH) {
            vector_f32 ai = *(const vector_f32 *)(a + i * S + l), bi = *(const vector_f32 *)(b + i * S + l);
            vector_f32 q_sum = {0}, Mb_sum = {0};
            const float *at = p + l;
            for (int64_t j = first * S + l; j < n * S; j += S, at += ld) { /* where j is i, both sums get p_ii */
                vector_f32 m = *(const vector_f32 *)at, mb = m * bi;
                q_sum += m * *(const vector_f32 *)(a + j);
                Mb_sum += m * *(const vector_f32 *)(b + j);
                *(vector_f32 *)(q + j) += m * ai;
                *(vector_f32 *)(Mb + j) += wedge ? -mb : mb;
            }
            *(vector_f32 *)(q + i * S + l) += wedge ? -q_sum : q_sum;
            *(vector_f32 *)(Mb + i * S + l) += Mb_sum;
        }
        p += (n - first) * ld;
    }
}

static void strip_wedge_grad_f32(float *q, float *Mb, const float *p, int64_t ld, const float *a, const float *b,
                                 int64_t n)
{
    products_grad_f32(q, Mb, p, ld, a, b, n, true);
}

static void strip_symmetric_grad_f32(float *q, float *Mb, const float *p, int64_t ld, const float *a, const float *b,
                                     int64_t n)
{
    products_grad_f32(q, Mb, p, ld, a, b, n, false);
}

/* k is known where it is inlined. */
static ALWAYS_INLINE void form_f32(float *p, int64_t ld, const float *v, const float *form, const int32_t *term,
                                   int64_t count, int k, int lanes, bool fresh)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f32) / sizeof(float) };
    for (int64_t c = 0; c < count; c++, p += ld, term += 2 * k) {
        int l = 0;
        for (; l + WIDTH <= lanes; l += WIDTH) {
            vector_f32 sum = *(const vector_f32 *)(v + term[0] * S + l) * *(const vector_f32 *)(form + term[1] * S + l);
            for (int a = 1; a < k; a++) {
                vector_f32 next = *(const vector_f32 *)(v + term[2 * a] * S + l) *
                                  *(const vector_f32 *)(form + term[2 * a + 1] * S + l);
                sum = a % 2 ? sum - next : sum + next;
            }
            if (!fresh) {
                sum += *(const vector_f32 *)(p + l);
            }
            *(vector_f32 *)(p + l) = sum;
        }
        for (; l < lanes; l++) {
            float sum = v[term[0] * S + l] * form[term[1] * S + l];
            for (int a = 1; a < k; a++) {
                float next = v[term[2 * a] * S + l] * form[term[2 * a + 1] * S + l];
                sum = a % 2 ? sum - next : sum + next;
            }
            p[l] = fresh ? sum : p[l] + sum;
        }
    }
}

static void strip_form_f32(float *p, int64_t ld, const float *v, const float *form, const int32_t *term, int64_t count,
                           int k, int lanes, bool fresh)
{
    switch (k) {
    case 2:
        form_f32(p, ld, v, form, term, count, 2, lanes, fresh);
        break;
    case 3:
        form_f32(p, ld, v, form, term, count, 3, lanes, fresh);
        break;
    default:
        form_f32(p, ld, v, form, term, count, 4, lanes, fresh);
        break;
    }
}

static ALWAYS_INLINE void form_grad_f32(float *dform, float *dv, const float *p, int64_t ld, const float *v,
                                        const float *form, const int32_t *term, int64_t count, int k)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f32) / sizeof(float) };
    for (int64_t c = 0; c < count; c++, p += ld, term += 2 * k) {
        for (int l = 0; l < S; l += WIDTH) {
            vector_f32 g = *(const vector_f32 *)(p + l);
            for (int a = 0; a < k; a++) {
                int64_t e = term[2 * a] * S + l, f = term[2 * a + 1] * S + l;
                vector_f32 to_form = *(const vector_f32 *)(v + e) * g, to_v = *(const vector_f32 *)(form + f) * g;
                *(vector_f32 *)(dform + f) += a % 2 ? -to_form : to_form;
                *(vector_f32 *)(dv + e) += a % 2 ? -to_v : to_v;
            }
        }
    }
}

static void strip_form_grad_f32(float *dform, float *dv, const float *p, int64_t ld, const float *v, const float *form,
                                const int32_t *term, int64_t count, int k)
{
    switch (k) {
    case 2:
        form_grad_f32(dform, dv, p, ld, v, form, term, count, 2);
        break;
    case 3:
        form_grad_f32(dform, dv, p, ld, v, form, term, count, 3);
        break;
    default:
        form_grad_f32(dform, dv, p, ld, v, form, term, count, 4);
        break;
    }
}

/* ---- end of float ---- */
#include "kernels/strip_forms.f64.h"
