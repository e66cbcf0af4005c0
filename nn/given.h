/* nn/given.h: what the caller of a layer gives beside x: a mask, neighbours, a bias, a context. */
#ifndef NN_GIVEN_H
#define NN_GIVEN_H

#include "nn/mixing.h"

/* Of a layer, for some queries and keys; each may be null. */
typedef struct asc_given {
    asc_tensor mask, neighbors, bias;
} asc_given;

/* For the queries at positions first … first + n - 1, and the keys before M. What was given for more positions is cut
 * to these; all null, with the error set, where it was given for fewer. */
asc_given asc_given_for(asc_layer *l, int64_t first, int64_t n, int64_t M);
/* Of what was cut: the rest is the caller's. */
void asc_given_release(const asc_layer *l, asc_given given);

/* What x looks at: the context, or x itself. */
static inline asc_tensor asc_looked_at(const asc_layer *l, asc_tensor x)
{
    return asc_is_null(l->context) ? x : l->context;
}

/* A setting that a context has no use for. */
typedef struct asc_unfit {
    bool is_set;
    const char *key;
} asc_unfit;

/* ASC_OK without a context, and with one where none of n settings is set. */
asc_status asc_check_context(asc_layer *l, const asc_unfit *settings, size_t n);

#endif
