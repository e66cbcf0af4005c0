/* kernels/ascender_table.h: the part of table.h that ASCender attention uses; see kernels/ascender.h. Products of vectors
 * in pairs: the rows of A, [rows, k], ld_a apart, with columns of a transposed B, [k, n], ld_b apart, from which up to 128
 * bytes past column n - 1 may be read. Every element is one sum over k in rising order, wherever it stands. */
    /* P_ij = scale Σ_m A_im B_mj */
    void (*pair_dots)(ASC_KREAL *P, int64_t ld_p, ASC_KREAL scale, const ASC_KREAL *A, int64_t ld_a,
                      const ASC_KREAL *B, int64_t ld_b, int64_t rows, int64_t n, int64_t k);
    /* P_ij = Σ_m (B_mj - A_im)² */
    void (*pair_distances)(ASC_KREAL *P, int64_t ld_p, const ASC_KREAL *A, int64_t ld_a, const ASC_KREAL *B,
                           int64_t ld_b, int64_t rows, int64_t n, int64_t k);
    /* P_ij += Σ_m G_im (B_mj - A_im); G as A */
    void (*pair_projections)(ASC_KREAL *P, int64_t ld_p, const ASC_KREAL *A, const ASC_KREAL *G, int64_t ld_a,
                             const ASC_KREAL *B, int64_t ld_b, int64_t rows, int64_t n, int64_t k);
    /* The gradient of pair_distances, G_ij being P's: dA_im += 2 Σ_j G_ij (A_im - B_mj),
     * dB_mj += 2 Σ_i G_ij (B_mj - A_im). dA as A, dB as B. */
    void (*pair_distances_grad)(const ASC_KREAL *G, int64_t ld_g, const ASC_KREAL *A, ASC_KREAL *dA, int64_t ld_a,
                                const ASC_KREAL *B, ASC_KREAL *dB, int64_t ld_b, int64_t rows, int64_t n, int64_t k);

    /* The places of the k largest of x but for x[skip], largest first, ties to the lower place, NaNs as -∞; skip -1:
     * none. Returns their number, which is less where there are no more. Each place is there at most once. best: room
     * for k. */
    int64_t (*top_k)(const ASC_KREAL *x, int64_t n, int64_t skip, int64_t k, ASC_KREAL *best, int64_t *index);
    /* y = Σ_e rows[list_e]; rows[list_e] += x. Rows of d elements, ld apart. */
    void (*sum_listed)(ASC_KREAL *y, const ASC_KREAL *rows, int64_t ld, const int64_t *list, int64_t n, int64_t d);
    void (*add_listed)(ASC_KREAL *rows, int64_t ld, const int64_t *list, int64_t n, const ASC_KREAL *x, int64_t d);

    /* *mean, and Σ (x - mean)²; n >= 1 */
    ASC_KREAL (*moments)(const ASC_KREAL *x, int64_t n, ASC_KREAL *mean);
    ASC_KREAL (*max_abs)(const ASC_KREAL *x, int64_t n);
    /* Σ (x - c) y */
    ASC_KREAL (*centred_dot)(const ASC_KREAL *x, ASC_KREAL c, const ASC_KREAL *y, int64_t n);
    /* y = (x - c) scale */
    void (*centred_scale)(ASC_KREAL *y, const ASC_KREAL *x, ASC_KREAL c, ASC_KREAL scale, int64_t n);
    /* y = x/c */
    void (*divide)(ASC_KREAL *y, const ASC_KREAL *x, ASC_KREAL c, int64_t n);
    /* x = slope y + spread (x - mean) */
    void (*centred_grad)(ASC_KREAL *x, const ASC_KREAL *y, ASC_KREAL slope, ASC_KREAL spread, ASC_KREAL mean,
                         int64_t n);

    void (*pair_weights)(ASC_KREAL *sep, ASC_KREAL *coh, ASC_KREAL *phi, const ASC_KREAL *d2, const ASC_KREAL *a,
                         int64_t n, const asc_pair_weights *w);
    /* S = (S + Σ_b coef_b (x_b - mean_b)) scale, for the three biases */
    void (*add_biases)(ASC_KREAL *S, const ASC_KREAL *x0, const ASC_KREAL *x1, const ASC_KREAL *x2,
                       const asc_centred *bias, ASC_KREAL scale, int64_t n);
    /* a becomes da; G = -dd², by way of w^sep alone */
    void (*separation_grad)(ASC_KREAL *a, ASC_KREAL *G, const ASC_KREAL *dS, const ASC_KREAL *A, const ASC_KREAL *phi,
                            const ASC_KREAL *sep, int64_t n, const asc_separation_grad *s);
