/* kernels/gather_table.h: the part of table.h that works on a few rows of a matrix, chosen by a list: row_e is the
 * `width` elements at rows + key[e] ld, e < n. */
    /* y_e = x·row_e */
    void (*gather_dots)(ASC_KREAL *y, const ASC_KREAL *x, const ASC_KREAL *rows, int64_t ld, const int64_t *key,
                        int64_t n, int64_t width);
    /* y_e = ‖x - row_e‖² */
    void (*gather_distances)(ASC_KREAL *y, const ASC_KREAL *x, const ASC_KREAL *rows, int64_t ld, const int64_t *key,
                             int64_t n, int64_t width);
    /* The gradient of gather_distances: dx += Σ 2 dy_e (x - row_e), drow_e -= 2 dy_e (x - row_e), drow_e standing at
     * drows + key[e] ld_d. dx is no drow. */
    void (*gather_distances_grad)(ASC_KREAL *dx, ASC_KREAL *drows, int64_t ld_d, const ASC_KREAL *dy,
                                  const ASC_KREAL *x, const ASC_KREAL *rows, int64_t ld, const int64_t *key, int64_t n,
                                  int64_t width);
    /* y += Σ a_e row_e, in the order of e */
    void (*gather_sum)(ASC_KREAL *y, const ASC_KREAL *a, const ASC_KREAL *rows, int64_t ld, const int64_t *key,
                       int64_t n, int64_t width);
    /* row_e += a_e x, one after the other; x is no row */
    void (*scatter_sum)(ASC_KREAL *rows, int64_t ld, const int64_t *key, const ASC_KREAL *a, const ASC_KREAL *x,
                        int64_t n, int64_t width);
