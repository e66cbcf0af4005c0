/* kernels/strip_table.h: the part of table.h that is Grassmann mixing's; see kernels/strips.h. Vectors of a strip are
 * [n][ASC_STRIP]; ld: elements from one entry to the next where they stand in a wider array. */
    /* to[j ld_to + i] = x[i ld_x + j], i < rows, j < n */
    void (*transpose)(ASC_KREAL *to, int64_t ld_to, const ASC_KREAL *x, int64_t ld_x, int64_t rows, int64_t n);
    /* to = x where weight is not 0, else 0: whatever stands in x there, NaN too */
    void (*strip_load)(double *to, const ASC_KREAL *x, int64_t ld, const double *weight, int64_t n);
    /* to = x */
    void (*strip_round)(ASC_KREAL *to, const double *x, int64_t n);
    /* unit = u/length, and what is to know of u */
    void (*strip_first)(ASC_KREAL *unit, asc_strip_first *first, const double *u, int64_t n);
    /* v becomes v⊥, y += weight·factor·v⊥; fills in the pair but for its weight */
    void (*strip_add_pair)(double *y, double *v, const double *u, const asc_strip_first *first, asc_strip_pair *pair,
                           int64_t n, double eps, double eps_rel);
    /* p_ij = a_i b_j - a_j b_i, i < j, [n(n-1)/2] entries ld apart, of the first `lanes` */
    void (*strip_wedge)(ASC_KREAL *p, int64_t ld, const ASC_KREAL *a, const ASC_KREAL *b, int64_t n, int lanes);
    /* With M_ij = p_ij, M_ji = -p_ij: q = Mᵀa, Mb = M b */
    void (*strip_wedge_grad)(ASC_KREAL *q, ASC_KREAL *Mb, const ASC_KREAL *p, int64_t ld, const ASC_KREAL *a,
                             const ASC_KREAL *b, int64_t n);
    /* One pair's gradients from q: share, on_q, on_v, on_u. Of u's, the part along v⊥ is added to du, and the factors
     * of the parts along q and u/length to du_on_q and du_on_unit */
    void (*strip_pair_grad)(double *du, double *du_on_q, double *du_on_unit, const double *across, const ASC_KREAL *q,
                            asc_strip_pair *pair, int64_t n);
    /* du += (Mb - on_unit u/length)/length - on_q q */
    void (*strip_first_grad)(double *du, const ASC_KREAL *Mb, const ASC_KREAL *q, const ASC_KREAL *unit,
                             const double *on_q, const double *on_unit, const asc_strip_first *first, int64_t n);
    /* dv += on_q q + on_v v + on_u u where on_q is not 0, whatever stands in q, v and u elsewhere */
    void (*strip_second_grad)(double *dv, const double *on_q, const double *on_v, const double *on_u,
                              const ASC_KREAL *q, int64_t ld_q, const ASC_KREAL *v, int64_t ld_v, const ASC_KREAL *u,
                              int64_t ld_u, int64_t n);

    /* ---- gates ---- */
    /* a = σ(a), y = g + a∘(h - g) */
    void (*gate)(ASC_KREAL *y, ASC_KREAL *a, const ASC_KREAL *h, const ASC_KREAL *g, int64_t n);
    /* Of that y and a: ds = dy∘(h - g)∘a∘(1 - a), the gradient of a's logit; dh (+)= dy∘a, dg (+)= dy∘(1 - a), NULL:
     * not wanted */
    void (*gate_grad)(ASC_KREAL *ds, ASC_KREAL *dh, ASC_KREAL *dg, const ASC_KREAL *dy, const ASC_KREAL *a,
                      const ASC_KREAL *h, const ASC_KREAL *g, int64_t n, bool fresh_h, bool fresh_g);
    /* before_t = m, then m = f_t∘m + (1 - f_t)∘z_t, over `steps` rows of n, ld apart; m [n] */
    void (*memory)(ASC_KREAL *before, ASC_KREAL *m, const ASC_KREAL *z, const ASC_KREAL *f, int64_t steps, int64_t n,
                   int64_t ld);
    /* Backwards: dm [n] is the gradient of m after the last step, and becomes that of m before the first. dz and da, of
     * f's logit, (+)=; NULL: not wanted. dbefore: or NULL for 0 */
    void (*memory_grad)(ASC_KREAL *dz, ASC_KREAL *da, ASC_KREAL *dm, const ASC_KREAL *dbefore, const ASC_KREAL *before,
                        const ASC_KREAL *z, const ASC_KREAL *f, int64_t steps, int64_t n, int64_t ld, bool fresh_z,
                        bool fresh_a);
