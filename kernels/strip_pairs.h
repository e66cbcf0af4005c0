/*
 * kernels/strip_pairs.h: pairs of vectors, a strip of tokens at a time, in double for either real type; included by
 * kernels_impl.c. list.h says what each function does.
 */

/* Lanes that are worked on together, with their sums in registers; how many makes no difference to the bits. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

/* What strip_pair keeps of a pair, u·v and ‖v‖² being known, and ‖v⊥‖². */
static ALWAYS_INLINE void describe_pair(asc_strip_pair *pair, const asc_strip_first *first, const double *vv,
                                        const double *square, double eps, double eps_rel)
{
    for (int l = 0; l < ASC_STRIP; l++) {
        double size = first->norm[l] * sqrt(square[l]), relative = eps_rel * first->norm[l] * sqrt(vv[l]);
        double floor = relative > eps ? relative : eps;
        pair->factor[l] = first->length[l] / (size > floor ? size : floor);
        pair->regular[l] = size > floor ? 1 : 0;
        pair->relative[l] = size <= floor && relative > eps ? 1 / vv[l] : 0;
    }
}

static void add_pair(double *y, double *v, const double *u, const asc_strip_first *first, asc_strip_pair *pair,
                     int64_t n, double eps, double eps_rel)
{
    enum { S = ASC_STRIP, WIDTH = sizeof(vector_f64) / sizeof(double) };
    double vv[S], square[S], step[S];
    for (int l = 0; l < S; l += WIDTH) {
        vector_f64 uv_sum = {0}, vv_sum = {0}, square_sum = {0};
        for (int64_t i = l; i < n * S; i += S) {
            vector_f64 a = *(const vector_f64 *)(u + i), b = *(const vector_f64 *)(v + i);
            uv_sum += a * b;
            vv_sum += b * b;
        }
        vector_f64 along = uv_sum / *(const vector_f64 *)(first->square + l); /* 1 to the bit where v is u */
        for (int64_t i = l; i < n * S; i += S) {
            vector_f64 across = *(const vector_f64 *)(v + i) - along * *(const vector_f64 *)(u + i);
            *(vector_f64 *)(v + i) = across;
            square_sum += across * across;
        }
        *(vector_f64 *)(pair->along + l) = along;
        *(vector_f64 *)(vv + l) = vv_sum;
        *(vector_f64 *)(square + l) = square_sum;
    }
    describe_pair(pair, first, vv, square, eps, eps_rel);
    for (int l = 0; l < S; l++) {
        step[l] = pair->weight[l] * pair->factor[l];
    }
    for (int l = 0; l < S; l += WIDTH) {
        vector_f64 by = *(const vector_f64 *)(step + l);
        for (int64_t i = l; i < n * S; i += S) {
            *(vector_f64 *)(y + i) += by * *(const vector_f64 *)(v + i);
        }
    }
}
