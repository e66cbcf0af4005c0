/*
 * kernels/list.h: every row primitive, KERNEL(result, name, (arguments)). From this list follow the tables of
 * kernels.h, their entries, and the tests that all instruction sets agree.
 *
 * x, y, a, b are rows of n elements, or arrays [rows, n]. `fresh` true writes a gradient, false adds to it.
 *
 * Accuracy in float, in units in the last place, the largest error over all 2^32 arguments: exp 0.99, expm1 1.58,
 * log 0.92, log1p 1.53, softplus 1.81, tanh 1.33, sigmoid 0.53, erf 1.39, silu 0.53; gelu 2 for x >= -1, 4.4 far in the
 * lower tail; its slope, in units of 2^-6 at least, 4; over one argument in 1009: gelu_tanh 0.53, sin, cos, sqrt and
 * rsqrt 0.5 (`make check-all-floats`). Zeros, infinities and NaN are as the mathematics has them, and underflow is
 * gradual, except in exp_shift, gate and rg_lru_open, which give 0 where the result is below 2^-126. In double they are
 * those of the C library.
 */
/* ---- float, and f64.awk makes the same for double ---- */
/* ---- functions of one element ---- */
KERNEL(void, exp, (float *y, const float *x, int64_t n))   /* e^x */
KERNEL(void, expm1, (float *y, const float *x, int64_t n)) /* e^x - 1 */
KERNEL(void, log, (float *y, const float *x, int64_t n))
KERNEL(void, log1p, (float *y, const float *x, int64_t n))    /* log(1 + x) */
KERNEL(void, softplus, (float *y, const float *x, int64_t n)) /* log(1 + e^x) */
KERNEL(void, tanh, (float *y, const float *x, int64_t n))
KERNEL(void, sigmoid, (float *y, const float *x, int64_t n)) /* 1/(1 + e^-x) */
KERNEL(void, erf, (float *y, const float *x, int64_t n))
KERNEL(void, sin, (float *y, const float *x, int64_t n))
KERNEL(void, cos, (float *y, const float *x, int64_t n))
KERNEL(void, sqrt, (float *y, const float *x, int64_t n))
KERNEL(void, rsqrt, (float *y, const float *x, int64_t n)) /* 1/√x */
KERNEL(void, abs, (float *y, const float *x, int64_t n))
/* dx = dy sign x, 0 at 0 */
KERNEL(void, abs_grad, (float *dx, const float *x, const float *dy, int64_t n))
KERNEL(void, silu, (float *y, const float *x, int64_t n)) /* x σ(x) */
/* y = x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2: the approximate GELU */
KERNEL(void, gelu_tanh, (float *y, const float *x, int64_t n))
/* y = x Φ(x), Φ the normal distribution function: the exact GELU (Hendrycks and Gimpel, 2016) */
KERNEL(void, gelu, (float *y, const float *x, int64_t n))
KERNEL(void, elu_one, (float *y, const float *x, int64_t n)) /* elu(x) + 1: e^x up to 0, x + 1 above */
/* x = x∘f'(·), f = elu_one, from its value y */
KERNEL(void, elu_one_grad, (float *x, const float *y, int64_t n))
/* y = t log(1 + e^-x) + (1 - t) log(1 + e^x), a term of weight 0 being 0 even where its logarithm is infinite */
KERNEL(void, logit_loss, (float *y, const float *x, const float *t, int64_t n))
/* y = scale f(x - t), f(d) = d²/2β for |d| < β, else |d| - β/2; and scale f'(x - t), all in double */
KERNEL(void, smooth_l1, (float *y, const float *x, const float *t, double beta, double scale, int64_t n))
KERNEL(void, smooth_l1_slope, (float *y, const float *x, const float *t, double beta, double scale, int64_t n))
/* y = the larger, or the smaller, of a and b: a where they are equal or it is NaN, and b where that alone is NaN */
KERNEL(void, extreme, (float *y, const float *a, const float *b, bool larger, int64_t n))
/* dx (+)= w dy, w = 1 where a, or b, is the one that `extreme` takes, ½ where they are equal, else 0; 0 dy is 0 */
KERNEL(void, extreme_grad,
       (float *dx, const float *a, const float *b, const float *dy, bool larger, bool of_a, int64_t n, bool fresh))
/* y = 1 where a is in one of the relations to b that are asked for, else 0 */
KERNEL(void, relate,
       (uint8_t * y, const float *a, const float *b, bool less, bool equal, bool greater, bool unordered, int64_t n))
/* y = x held to lo … hi, NaN as it is; dx (+)= dy where it is within them, else 0 */
KERNEL(void, clamp, (float *y, const float *x, float lo, float hi, int64_t n))
KERNEL(void, clamp_grad, (float *dx, const float *x, float lo, float hi, const float *dy, int64_t n, bool fresh))
/* dx = dy 2/√π exp(-x²), rounded once */
KERNEL(void, erf_grad, (float *dx, const float *x, const float *dy, int64_t n))
/* Of x s with a gate s = σ(g), which dx comes with: dx = dy (s + x g' s (1 - s)), but dy s where s is 0 or 1; g' = 1,
 * or cubic, that of gelu_tanh */
KERNEL(void, gated_grad, (float *dx, const float *x, const float *dy, bool cubic, int64_t n))
/* y = scale t (log t - x), and its slope by t, scale (log t + 1 - x), both 0 where t = 0; in double */
KERNEL(void, kl_div, (float *y, const float *x, const float *t, double scale, int64_t n))
KERNEL(void, kl_div_slope, (float *y, const float *x, const float *t, double scale, int64_t n))
/* dx (+)= dy where the mask is set, or is not set, else 0 */
KERNEL(void, select_grad, (float *dx, const uint8_t *mask, bool set, const float *dy, int64_t n, bool fresh))
/* dx (+)= dy (Φ(x) + x φ(x)) */
KERNEL(void, gelu_grad, (float *dx, const float *x, const float *dy, int64_t n, bool fresh))
/* Both of them for the price of one: y and dx */
KERNEL(void, gelu_both, (float *y, float *dx, const float *x, const float *dy, int64_t n, bool fresh))

/* y = x^p as the C library's pow, p NULL: a constant; in float within 0.53 units in the last place */
KERNEL(void, pow, (float *y, const float *x, const float *p, double constant, int64_t n))
/* to (+)= dy p x^(p-1), 0 where p = 0; or, not of x but of p, dy x^p log x, 0 where x = 0 and p >= 0 */
KERNEL(void, pow_grad,
       (float *to, const float *x, const float *p, double constant, const float *dy, bool of_x, int64_t n, bool fresh))

/* ---- vectors ---- */
KERNEL(void, add, (float *y, const float *a, const float *b, int64_t n))     /* y = a + b */
KERNEL(void, acc, (float *y, const float *x, int64_t n))                     /* y += x */
KERNEL(void, mul, (float *y, const float *a, const float *b, int64_t n))     /* y = a∘b */
KERNEL(void, mul_acc, (float *y, const float *a, const float *b, int64_t n)) /* y += a∘b */
KERNEL(void, scale, (float *y, float a, const float *x, int64_t n))          /* y = a x */
KERNEL(void, axpy, (float *y, float a, const float *x, int64_t n))           /* y += a x */

/* Of each of `heads` rows of 2 half elements: y_m (+)= x_m c_m - x_{m+half} s_m,
 * y_{m+half} (+)= x_{m+half} c_m + x_m s_m; y is x, or apart from it */
KERNEL(void, rotate,
       (float *y, const float *x, const float *c, const float *s, int64_t half, int64_t heads, bool fresh))

/* y_i -= slope·|from + i|: a bias by distance; from … from + n - 1 within an int32 */
KERNEL(void, sub_distance, (float *y, float slope, int64_t from, int64_t n))

KERNEL(float, sum, (const float *x, int64_t n))
KERNEL(float, dot, (const float *x, const float *y, int64_t n))
KERNEL(double, sumsq, (const float *x, int64_t n)) /* Σ x², summed in double */
KERNEL(float, max, (const float *x, int64_t n))    /* -∞ for n = 0; NaNs are passed over */

/* ---- in double: Σ x, Σ (x - c)², Σ e^(x - c), its terms as exp_shift's ---- */
KERNEL(double, wide_sum, (const float *x, int64_t n))
KERNEL(double, wide_squares, (const float *x, double c, int64_t n))
KERNEL(double, wide_exps, (const float *x, float c, int64_t n))
/* to (+)= by (x - c), and by e^(x - c), rounded once; of float e^x has an error of 2e-9 of it, x is held to ±700 */
KERNEL(void, wide_centred, (float *to, const float *x, double c, double by, int64_t n, bool fresh))
KERNEL(void, wide_exp, (float *to, const float *x, double c, double by, int64_t n, bool fresh))

/* ---- rows of a matrix ---- */
KERNEL(void, add_bias_rows, (float *y, const float *b, int64_t rows, int64_t n)) /* y[r] += b[n] */
/* acc[n] += Σ_r x[r], four rows at a time: the same for any cut into pieces of a multiple of 4 rows */
KERNEL(void, sum_rows, (float *acc, const float *x, int64_t rows, int64_t n))

/* ---- softmax ---- */
/* y = exp(x - shift); returns Σ y */
KERNEL(float, exp_shift, (float *y, const float *x, float shift, int64_t n))
/* y = softmax(x); a row of -∞ alone gives zeros */
KERNEL(void, softmax_row, (float *y, const float *x, int64_t n))
/* dx (+)= scale y∘(dy - y·dy): the gradient with respect to x/scale */
KERNEL(void, softmax_grad_row, (float *dx, const float *y, const float *dy, float scale, int64_t n, bool fresh))

/* ---- layer normalisation ---- */
/* y = (x - mean) rstd ∘ w + b, rstd = 1/√(variance + eps), the variance the mean of (x - mean)²; n >= 1.
 * w, b: NULL for 1, 0. */
KERNEL(void, layer_norm_row,
       (float *y, const float *x, const float *w, const float *b, int64_t n, float eps, float *mean, float *rstd))
/* Of x, dy [rows, n] with mean, rstd [rows]: dx [rows, n] (+)= …, dw[n] += Σ_r dy∘x̂, db[n] += Σ_r dy. Any of
 * dx, dw, db may be NULL; w: NULL for 1. `fresh` concerns dx. */
KERNEL(void, layer_norm_grad_rows,
       (float *dx, float *dw, float *db, const float *x, const float *w, const float *dy, const float *mean,
        const float *rstd, int64_t rows, int64_t n, bool fresh))

/* ---- Grassmann mixing: see kernels/strips.h. Vectors of a strip are [n][ASC_STRIP]; ld: elements from one entry to
 * the next where they stand in a wider array ---- */
/* to[j ld_to + i] = x[i ld_x + j], i < rows, j < n */
KERNEL(void, transpose, (float *to, int64_t ld_to, const float *x, int64_t ld_x, int64_t rows, int64_t n))
/* to = x where weight is not 0, else 0: whatever stands in x there, NaN too */
KERNEL(void, strip_load, (double *to, const float *x, int64_t ld, const double *weight, int64_t n))
/* to = x */
KERNEL(void, strip_round, (float *to, const double *x, int64_t n))
/* unit = u/length, and what is to know of u */
KERNEL(void, strip_first, (float *unit, asc_strip_first *first, const double *u, int64_t n))
/* v becomes v⊥, y += weight·factor·v⊥; fills in the pair but for its weight */
KERNEL(void, strip_add_pair,
       (double *y, double *v, const double *u, const asc_strip_first *first, asc_strip_pair *pair, int64_t n,
        double eps, double eps_rel))
/* p_ij = a_i b_j - a_j b_i, i < j, [n(n-1)/2] entries ld apart, of the first `lanes` */
KERNEL(void, strip_wedge, (float *p, int64_t ld, const float *a, const float *b, int64_t n, int lanes))
/* With M_ij = p_ij, M_ji = -p_ij: q = Mᵀa, Mb = M b */
KERNEL(void, strip_wedge_grad,
       (float *q, float *Mb, const float *p, int64_t ld, const float *a, const float *b, int64_t n))
/* One pair's gradients from q: share, on_q, on_v, on_u. Of u's, the part along v⊥ is added to du, and the factors
 * of the parts along q and u/length to du_on_q and du_on_unit */
KERNEL(void, strip_pair_grad,
       (double *du, double *du_on_q, double *du_on_unit, const double *across, const float *q, asc_strip_pair *pair,
        int64_t n))
/* du += (Mb - on_unit u/length)/length - on_q q */
KERNEL(void, strip_first_grad,
       (double *du, const float *Mb, const float *q, const float *unit, const double *on_q, const double *on_unit,
        const asc_strip_first *first, int64_t n))
/* dv += on_q q + on_v v + on_u u where on_q is not 0, whatever stands in q, v and u elsewhere */
KERNEL(void, strip_second_grad,
       (double *dv, const double *on_q, const double *on_v, const double *on_u, const float *q, int64_t ld_q,
        const float *v, int64_t ld_v, const float *u, int64_t ld_u, int64_t n))

/* p_ij = a_i b_j + a_j b_i, i <= j, [n(n+1)/2] entries ld apart, of the first `lanes` */
KERNEL(void, strip_symmetric, (float *p, int64_t ld, const float *a, const float *b, int64_t n, int lanes))
/* With M_ij = M_ji = p_ij, M_ii = 2 p_ii: q = M a, Mb = M b */
KERNEL(void, strip_symmetric_grad,
       (float *q, float *Mb, const float *p, int64_t ld, const float *a, const float *b, int64_t n))
/* sum = Σ_i a_i b_i, lane by lane */
KERNEL(void, strip_dot, (double *sum, const double *a, const double *b, int64_t n))
/* y += by x, lane by lane */
KERNEL(void, strip_axpy, (double *y, const double *by, const double *x, int64_t n))
/* along = x·v/‖x‖², v -= along x; 0 where `of`, which is what is known of x, says that it has no square */
KERNEL(void, strip_reject, (double *v, double *along, const double *x, const asc_strip_first *of, int64_t n))
/* The wedge of a vector with a form of k - 1: p_c = Σ_a (-1)^a v[e_a] form[f_a], (e_a, f_a) the k pairs of coordinate c
 * in term [count][k][2]; p [count] entries ld apart, written or, unless fresh, added to, in the first `lanes`.
 * 2 <= k <= 4 */
KERNEL(void, strip_form,
       (float *p, int64_t ld, const float *v, const float *form, const int32_t *term, int64_t count, int k, int lanes,
        bool fresh))
/* The same with p given: dform[f_a] += (-1)^a v[e_a] p_c, dv[e_a] += (-1)^a form[f_a] p_c. Vectors of the size that
 * `form` and `v` have; dform is none of the others. */
KERNEL(void, strip_form_grad,
       (float *dform, float *dv, const float *p, int64_t ld, const float *v, const float *form, const int32_t *term,
        int64_t count, int k))

/* ---- gates ---- */
/* a = σ(a), y = g + a∘(h - g) */
KERNEL(void, gate, (float *y, float *a, const float *h, const float *g, int64_t n))
/* Of that y and a: ds = dy∘(h - g)∘a∘(1 - a), the gradient of a's logit; dh (+)= dy∘a, dg (+)= dy∘(1 - a), NULL:
 * not wanted. None of ds, dh and dg is dy or a. */
KERNEL(void, gate_grad,
       (float *ds, float *dh, float *dg, const float *dy, const float *a, const float *h, const float *g, int64_t n,
        bool fresh_h, bool fresh_g))
/* before_t = m, then m = f_t∘m + (1 - f_t)∘z_t, over `steps` rows of n, ld apart; m [n] */
KERNEL(void, memory, (float *before, float *m, const float *z, const float *f, int64_t steps, int64_t n, int64_t ld))
/* Backwards: dm [n] is the gradient of m after the last step, and becomes that of m before the first. dz and da, of
 * f's logit, (+)=; NULL: not wanted. dbefore: or NULL for 0 */
KERNEL(void, memory_grad,
       (float *dz, float *da, float *dm, const float *dbefore, const float *before, const float *z, const float *f,
        int64_t steps, int64_t n, int64_t ld, bool fresh_z, bool fresh_a))

/* ---- linear recurrences, of arrays [steps, n] ---- */
/* open and gate become their σ, within 3 units in the last place; a = e^(rate∘open), root = √(1 - a²); rate [n] <= 0 */
KERNEL(void, rg_lru_open,
       (float *a, float *root, float *open, float *gate, const float *rate, int64_t steps, int64_t n))
/* m = a_t∘m + x_t, s_t = m; m [n] */
KERNEL(void, scan, (float *s, float *m, const float *a, const float *x, int64_t steps, int64_t n))
/* Backwards: e comes as the gradient of s from elsewhere, and becomes all of it, which is that of x too; dm [n], of m
 * after the last step, becomes that of m before the first. before_t: m before step t */
KERNEL(void, scan_grad, (float *e, float *da, float *dm, const float *a, const float *before, int64_t steps, int64_t n))
/* Of s_t = a∘s_{t-1} + root∘gate∘c with a = exp(rate∘open), gate = σ(i), open = σ(r), from scan_grad's e and da: the
 * gradients of c, i, r; drate += */
KERNEL(void, rg_lru_grad,
       (float *dc, float *di, float *dr, float *drate, const float *e, const float *da, const float *a,
        const float *root, const float *open, const float *gate, const float *c, const float *rate, int64_t steps,
        int64_t n))

/* ---- products of vectors in pairs: the rows of A, [rows, k], ld_a apart, with columns of a transposed B, [k, n], ld_b
 * apart, from which up to 128 bytes past column n - 1 may be read. Every element is one sum over k in rising order,
 * wherever it stands ---- */
/* P_ij = scale Σ_m A_im B_mj */
KERNEL(void, pair_dots,
       (float *P, int64_t ld_p, float scale, const float *A, int64_t ld_a, const float *B, int64_t ld_b, int64_t rows,
        int64_t n, int64_t k))
/* P_ij = Σ_m (B_mj - A_im)² */
KERNEL(void, pair_distances,
       (float *P, int64_t ld_p, const float *A, int64_t ld_a, const float *B, int64_t ld_b, int64_t rows, int64_t n,
        int64_t k))
/* P_ij += Σ_m G_im (B_mj - A_im); G as A */
KERNEL(void, pair_projections,
       (float *P, int64_t ld_p, const float *A, const float *G, int64_t ld_a, const float *B, int64_t ld_b,
        int64_t rows, int64_t n, int64_t k))
/* The gradient of pair_distances, G_ij being P's: dA_im += 2 Σ_j G_ij (A_im - B_mj),
 * dB_mj += 2 Σ_i G_ij (B_mj - A_im). dA as A, dB as B. */
KERNEL(void, pair_distances_grad,
       (const float *G, int64_t ld_g, const float *A, float *dA, int64_t ld_a, const float *B, float *dB, int64_t ld_b,
        int64_t rows, int64_t n, int64_t k))

/* ---- rows of attention ---- */
/* The places of the k largest of x but for x[skip], largest first, ties to the lower place, NaNs as -∞; skip -1:
 * none. Returns their number, which is less where there are no more. Each place is there at most once. best: room
 * for k. */
KERNEL(int64_t, top_k, (const float *x, int64_t n, int64_t skip, int64_t k, float *best, int64_t *index))
/* y = Σ_e rows[list_e]; rows[list_e] += x. Rows of d elements, ld apart. */
KERNEL(void, sum_listed, (float *y, const float *rows, int64_t ld, const int64_t *list, int64_t n, int64_t d))
KERNEL(void, add_listed, (float *rows, int64_t ld, const int64_t *list, int64_t n, const float *x, int64_t d))

/* *mean, and Σ (x - mean)²; n >= 1 */
KERNEL(float, moments, (const float *x, int64_t n, float *mean))
KERNEL(float, max_abs, (const float *x, int64_t n)) /* 0 for n = 0; NaNs are passed over */
/* Σ (x - c) y */
KERNEL(float, centred_dot, (const float *x, float c, const float *y, int64_t n))
/* y = (x - c) scale */
KERNEL(void, centred_scale, (float *y, const float *x, float c, float scale, int64_t n))
/* y = x/c */
KERNEL(void, divide, (float *y, const float *x, float c, int64_t n))
/* x = slope y + spread (x - mean) */
KERNEL(void, centred_grad, (float *x, const float *y, float slope, float spread, float mean, int64_t n))

/* ---- ASCender attention: see kernels/ascender.h ---- */
/* sep = w^sep, coh = w^coh, phi = φ */
KERNEL(void, pair_weights,
       (float *sep, float *coh, float *phi, const float *d2, const float *a, int64_t n, const asc_pair_weights *w))
/* S = (S + Σ_b coef_b (x_b - mean_b)) scale, for the three biases */
KERNEL(void, add_biases,
       (float *S, const float *x0, const float *x1, const float *x2, const asc_centred *bias, float scale, int64_t n))
/* a becomes da; G = -dd², by way of w^sep alone */
KERNEL(void, separation_grad,
       (float *a, float *G, const float *dS, const float *A, const float *phi, const float *sep, int64_t n,
        const asc_separation_grad *s))

/* ---- the background variant of ASCender attention: rows of the crowding x_j = c->near w_j + c->dense ρ_j - c->base,
 * w_j = exp(-c->rate d²_j); see kernels/background.h ---- */
/* x, which may be d2; sets the base, to what is x_0 without one. n >= 1 */
KERNEL(void, background_bias, (float *x, const float *d2, const float *rho, int64_t n, asc_background_bias *c))
/* w, and S += coef x */
KERNEL(void, add_background_bias,
       (float *S, float *w, const float *d2, const float *rho, float coef, int64_t n, const asc_background_bias *c))
/* g's sum and pull */
KERNEL(void, background_pull,
       (const float *dS, const float *w, const float *rho, int64_t n, const asc_background_bias *c,
        asc_background_bias_grad *g))
/* w becomes dx and d2 its own gradient, dd² */
KERNEL(void, background_grad,
       (float *d2, float *w, const float *dS, const float *rho, int64_t n, const asc_background_bias *c,
        asc_background_bias_grad *g))

/* ---- a few rows of a matrix, chosen by a list: row_e is the `width` elements at rows + key[e] ld, e < n ---- */
/* y_e = x·row_e */
KERNEL(void, gather_dots,
       (float *y, const float *x, const float *rows, int64_t ld, const int64_t *key, int64_t n, int64_t width))
/* y_e = ‖x - row_e‖² */
KERNEL(void, gather_distances,
       (float *y, const float *x, const float *rows, int64_t ld, const int64_t *key, int64_t n, int64_t width))
/* The gradient of gather_distances: dx += Σ 2 dy_e (x - row_e), drow_e -= 2 dy_e (x - row_e), drow_e standing at
 * drows + key[e] ld_d. dx is no drow. */
KERNEL(void, gather_distances_grad,
       (float *dx, float *drows, int64_t ld_d, const float *dy, const float *x, const float *rows, int64_t ld,
        const int64_t *key, int64_t n, int64_t width))
/* y += Σ a_e row_e, in the order of e */
KERNEL(void, gather_sum,
       (float *y, const float *a, const float *rows, int64_t ld, const int64_t *key, int64_t n, int64_t width))
/* row_e += a_e x, one after the other; x is no row */
KERNEL(void, scatter_sum,
       (float *rows, int64_t ld, const int64_t *key, const float *a, const float *x, int64_t n, int64_t width))

/* ---- optimisers: parameters p, gradients g, moments m and v; p, m, v are updated ---- */
KERNEL(void, adamw, (float *p, const float *g, float *m, float *v, int64_t n, const asc_adamw_step *step))
KERNEL(void, sgd, (float *p, const float *g, float *m, int64_t n, const asc_sgd_step *step)) /* m: or NULL */

/* ---- random numbers: elements offset … offset+n-1 of a sequence; a multiple of 4 as offset is fastest ---- */
KERNEL(void, philox_bits, (uint32_t * y, int64_t n, asc_philox_key key, uint64_t offset))
/* On [0, 1), multiples of 2^-24. In double multiples of 2^-53, each from two of the sequence's elements,
 * 2(offset+i) and the next. */
KERNEL(void, philox_uniform, (float *y, int64_t n, asc_philox_key key, uint64_t offset))
/* y = x/(1-p) where the element's upper 31 bits are >= p 2^31, else 0; 0 <= p <= 1.
 * The same choice in float and double. */
KERNEL(void, dropout, (float *y, const float *x, int64_t n, asc_philox_key key, uint64_t offset, double p))
/* dx (+)= dy/(1-p) where dropout with the same arguments kept the element, else 0 */
KERNEL(void, dropout_grad,
       (float *dx, const float *dy, int64_t n, asc_philox_key key, uint64_t offset, double p, bool fresh))

#undef KERNEL
/* ---- end of float ---- */
