/* ops/shared/broadcast.h: arrays that are repeated to one shape and walked together, and the reverse, sums over
 * dimensions. */
#ifndef OPS_BROADCAST_H
#define OPS_BROADCAST_H

#include "ops/shared/op.h"

enum { ASC_WALK_ARRAYS = 4 };

/* Arrays seen as one shape, in row-major order; a stride of 0 repeats. Dimensions that lie together in all are
 * joined. */
typedef struct asc_walk {
    int n_arrays, ndim;
    int64_t numel;
    int64_t shape[ASC_MAX_DIMS];
    int64_t stride[ASC_WALK_ARRAYS][ASC_MAX_DIMS];
} asc_walk;

/* A part of a walk, run by run: n elements, those of array i at at[i], at[i] + step[i], … */
typedef struct asc_cursor {
    const asc_walk *walk;
    int64_t left;
    int64_t index[ASC_MAX_DIMS];
    int64_t next[ASC_WALK_ARRAYS];
    int64_t n, at[ASC_WALK_ARRAYS], step[ASC_WALK_ARRAYS];
} asc_cursor;

/* The shape to which the inputs first and second broadcast, as in NumPy, into *out; else an error. */
asc_status asc_expect_broadcast(asc_call *call, int first, int second, asc_array *out);
/* The same for the shape of `a` and the input second. */
asc_status asc_expect_broadcast_with(asc_call *call, const asc_array *a, int second, asc_array *out);

/* The strides with which a is seen as `shape` of ndim dimensions, to which it broadcasts. */
void asc_broadcast_strides(const asc_array *a, int ndim, const int64_t *shape, int64_t *stride);
/* Whether a broadcasts to the shape of `to`. */
bool asc_broadcasts_to(const asc_array *a, const asc_array *to);

/* A walk over `shape`, and its arrays, each with ndim strides. */
asc_walk asc_walk_over(int n_arrays, const int64_t *const *strides, int ndim, const int64_t *shape);
/* The elements first … first+n-1 of the walk. */
asc_cursor asc_cursor_at(const asc_walk *walk, int64_t first, int64_t n);
/* The next run; false after the last. */
bool asc_cursor_next(asc_cursor *c);

/* n elements of a floating dtype from number `first` on, `step` apart, as a row: in x itself or, where they don't lie
 * side by side, copied into `room`. */
const void *asc_row_of_run(asc_dtype dtype, const void *x, int64_t first, int64_t step, int64_t n, void *room);

/* out (+)= scale × the sum of x, contiguous, over the dimensions of the bit mask; written where `fresh`. The same to
 * the bit for any number of threads. */
asc_status asc_sum_dims(asc_call *call, const asc_array *x, uint32_t dims, double scale, void *out, bool fresh);

/* The dimensions of y, as bits, along which x was repeated. */
uint32_t asc_repeated_dims(const asc_array *x, const asc_array *y);
/* Where a kernel puts the gradient of input i in the shape of the output: grad_in[i], written where *fresh, else added
 * to; or, if the input was repeated, scratch, to be written. NULL with the error set. */
void *asc_broadcast_gradient(asc_call *call, int i, bool *fresh);
/* Then adds the repetitions up, if it was scratch. */
asc_status asc_broadcast_finish(asc_call *call, int i, void *gradient);

#endif
