/* kernels/crowd_table.h: the part of table.h that the background variant of ASCender attention uses: rows of
 * the crowding x_j = c->near w_j + c->dense ρ_j - c->base, w_j = exp(-c->rate d²_j); see kernels/crowd.h. */
    /* x, which may be d2; sets the base, to what is x_0 without one. n >= 1 */
    void (*crowd)(ASC_KREAL *x, const ASC_KREAL *d2, const ASC_KREAL *rho, int64_t n, asc_crowd *c);
    /* w, and S += coef x */
    void (*add_crowd)(ASC_KREAL *S, ASC_KREAL *w, const ASC_KREAL *d2, const ASC_KREAL *rho, ASC_KREAL coef, int64_t n,
                      const asc_crowd *c);
    /* g's sum and pull */
    void (*crowd_pull)(const ASC_KREAL *dS, const ASC_KREAL *w, const ASC_KREAL *rho, int64_t n, const asc_crowd *c,
                       asc_crowd_grad *g);
    /* w becomes dx and d2 its own gradient, dd² */
    void (*crowd_grad)(ASC_KREAL *d2, ASC_KREAL *w, const ASC_KREAL *dS, const ASC_KREAL *rho, int64_t n,
                       const asc_crowd *c, asc_crowd_grad *g);
