/* nn/grassmann_minors.c: the Plücker coordinates of subspaces of any dimension, from primitive ops: the minors of k
 * vectors, expanded along the first of them,
 *
 *   p_I(x_0, …, x_{k-1}) = Σ_a (-1)^a x_{0,i_a} p_{I∖i_a}(x_1, …, x_{k-1}),  I = {i_0 < … < i_{k-1}},
 *
 * the sets I in lexicographic order. */
#include "nn/grassmann.h"
#include "nn/mixing.h"
#include "ops/shared/sets.h"

/* x's entries `index` along the last dimension, index i64 (n), which goes. */
static asc_tensor pick(asc_ctx *ctx, asc_tensor x, asc_tensor index)
{
    return asc_after(index, asc_index_select(ctx, x, -1, index));
}

/* Term a of the expansion, without its sign: x_{i_a} q_{I∖i_a} for every I of k entries. */
static asc_tensor term(asc_ctx *ctx, asc_tensor x, asc_tensor q, int k, int a)
{
    int64_t n = asc_size(x, -1), count = asc_sets_count(n, k), i[] = {0, 1, 2, 3};
    asc_tensor entry = asc_empty(ctx, ASC_I64, 1, &count), rest = asc_empty(ctx, ASC_I64, 1, &count);
    int64_t *to_entry = asc_data_mut(entry), *to_rest = asc_data_mut(rest);
    for (int64_t c = 0; to_entry && to_rest && c < count; c++, asc_set_advance(i, k, n)) {
        to_entry[c] = i[a];
        to_rest[c] = asc_set_place_without(i, k, a, n);
    }
    asc_tensor first = pick(ctx, x, entry), second = pick(ctx, q, rest);
    asc_tensor product = asc_after(first, asc_mul(ctx, first, second));
    asc_release(second);
    return product;
}

asc_tensor asc_grassmann_minors(asc_ctx *ctx, const asc_tensor *x, int k)
{
    asc_tensor q = asc_keep(x[k - 1]);
    for (int size = 2; size <= k; size++) {
        asc_tensor p = asc_null();
        for (int a = 0; a < size; a++) {
            asc_tensor next = term(ctx, x[k - size], q, size, a);
            asc_tensor sum = a == 0 ? next : a % 2 ? asc_sub(ctx, p, next) : asc_add(ctx, p, next);
            if (a > 0) {
                asc_release(p);
                asc_release(next);
            }
            p = sum;
        }
        q = asc_after(q, p);
    }
    return q;
}
