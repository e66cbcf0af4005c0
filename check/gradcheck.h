/* check/gradcheck.h: what the files of the gradient check share. */
#ifndef CHECK_GRADCHECK_H
#define CHECK_GRADCHECK_H

#include <ascgrad/check.h>

#include "autograd/engine.h"

/* The inputs of a call; null: absent. Several may be the same tensor. */
typedef struct asc_check_inputs {
    asc_tensor at[ASC_MAX_IN];
} asc_check_inputs;

/* Outputs one after another, and gradients one input after another, as f64. NULL: not asked for. */
typedef struct asc_check_result {
    double *out, *grad;
} asc_check_result;

/* Contexts of 1, 2 and 3 threads, made at their first use. */
enum { ASC_CHECK_CREW = 3 };
typedef struct asc_check_crew {
    asc_ctx *at[ASC_CHECK_CREW];
} asc_check_crew;

/* What came of an op's last calls. */
typedef struct asc_guard_seen {
    bool inferred; /* infer took its inputs */
    bool caught;   /* a call wrote where it may not, or read it */
} asc_guard_seen;

/* An op as it is checked: between guards. Their bytes make a tiny number, which changes if something is added to it, or
 * one near those of samples. */
enum { ASC_CHECK_PATTERN = 0xa5, ASC_CHECK_OTHER_PATTERN = 0x40 };
/* What stands where backward has no data: stand-ins, and once more others, which show what it reads; or one of the two,
 * where that was looked at before. */
typedef enum asc_guard_gaps { ASC_GAPS_COMPARED, ASC_GAPS_FIRST, ASC_GAPS_OTHER } asc_guard_gaps;
typedef struct asc_guarded {
    asc_op op; /* the first member: a call has nothing but it */
    const asc_op *real;
    unsigned char pattern;
    bool shifted; /* arrays begin one element behind where memory is aligned */
    asc_guard_gaps gaps;
    asc_guard_seen *seen;
} asc_guarded;

/* One sample of an op under check. All memory belongs to a scope that is open around it. */
typedef struct asc_check {
    asc_ctx *ctx;
    const asc_op *op;
    asc_guarded *guarded; /* whose op it is; or NULL */
    asc_gradcheck_options options; /* defaults filled in */
    asc_gradcheck_report *report;
    asc_check_crew *crew;
    int sample;
    const asc_sample *form; /* the sample, or a resized copy of it */
    char variant[32];       /* what was resized, or "" */
    const char *part;

    int n_in;
    int owner[ASC_MAX_IN];             /* the input whose tensor this one is: itself, or the one that '=' names */
    asc_check_inputs inputs;           /* contiguous; reals in f64, of values that f32 holds too */
    double step[ASC_MAX_IN];           /* the largest that keeps off kinks and inside the domain; a power of 2 */
    uint32_t leaves;                   /* bit i: gradients are taken of input i */
    uint32_t suspects;                 /* bit i: input i is compared with differences; the others are right */
    int64_t grad_at[ASC_MAX_IN + 1];   /* where the inputs' gradients start in a result */

    bool measured;                     /* forward has run: */
    asc_array out[ASC_MAX_OUT];        /* dtype and shape */
    int64_t out_at[ASC_MAX_OUT + 1];   /* where the outputs start in a result */
    uint32_t real_outs;                /* bit o: output o is floating */
    uint32_t roots;                    /* and gradients flow from it */
    asc_tensor cotangent[ASC_MAX_OUT]; /* of roots; f64, of values that f32 holds too */
    asc_check_result plain;            /* of `inputs`, all gradients and cotangents */
    const asc_check_inputs *between;   /* of another call, between forward and backward of every pass; or NULL */
} asc_check;

/* What a pass is to do. */
typedef struct asc_check_request {
    uint32_t wanted;  /* the inputs whose gradient is taken; none: the forward pass alone, not recorded */
    uint32_t outputs; /* the outputs that get a cotangent */
    int passes;       /* backward passes, their gradients added up */
} asc_check_request;

/* A comparison. */
typedef struct asc_check_value {
    bool output;     /* of output `number`; else of the gradient of input `number` */
    bool bits;       /* both have to be the same to the bit */
    int number;
    int64_t element; /* -1: along a direction */
    double analytic, numeric, bound;
} asc_check_value;

/* A part of the check; *applies is set where the sample has something for it to compare. */
typedef struct asc_check_part {
    const char *name;
    asc_status (*run)(asc_check *c, bool *applies);
} asc_check_part;

/* Bounds on a difference: a fraction of the largest magnitude in its tensor, plus one of the largest gradient of any
 * input, as gradients that nearly cancel keep the rounding of what cancelled. */
typedef struct asc_check_tolerance {
    double own, all; /* both 0: to the bit */
} asc_check_tolerance;

static inline double asc_check_load(const asc_array *a, int64_t i)
{
    return asc_element(a->dtype, a->data, i);
}

static inline void asc_check_store(const asc_array *a, int64_t i, double value)
{
    asc_set_element(a->dtype, a->data, i, value);
}

/* guard.c */
/* The op as one whose calls fail where the real one writes out of bounds, or what it is only to read. `guarded`, `op`
 * and `seen` stay as long as it is used. */
const asc_op *asc_guard(asc_guarded *guarded, const asc_op *op, asc_guard_seen *seen);

/* gradcheck.c */
/* Checks the options and fills in defaults. */
asc_status asc_gradcheck_begin(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options,
                               asc_gradcheck_options *filled);

/* parts.c */
/* Inputs, outputs' shapes, cotangents, the plain pass: what all parts start from. */
asc_status asc_check_prepare(asc_check *c);
/* All parts of one sample. */
asc_status asc_check_parts(asc_check *c);

/* judge.c */
asc_status asc_check_part_run(asc_check *c, const asc_check_part *part);
/* Enters a comparison into the report. */
void asc_check_judge(asc_check *c, const asc_check_value *value);
void asc_check_kink(asc_check *c, const asc_check_value *value); /* counts one */
/* There are failures, and one is enough. */
bool asc_check_enough(const asc_check *c);
/* |analytic − numeric| / bound; 0 where they are equal, infinite for a NaN. */
double asc_check_ratio(const asc_check_value *value);
double asc_check_largest(const double *x, int64_t n); /* in magnitude */
/* What a check changes of a context: entering saves it and has the op computed as it stands, leaving puts it back. */
typedef struct asc_check_setting {
    uint64_t seed, step, ordinal;
    asc_precision precision;
    bool recording, nan_check, rehearsal;
} asc_check_setting;
asc_check_setting asc_check_enter(asc_ctx *ctx);
void asc_check_leave(asc_ctx *ctx, const asc_check_setting *was);

/* sample_inputs.c */
asc_status asc_check_sample_inputs(asc_check *c);
asc_status asc_check_sample_cotangents(asc_check *c);
asc_tensor asc_check_redraw(const asc_check *c, int input); /* other values of the same kind */
double *asc_check_doubles(asc_check *c, int64_t n);         /* zeros; the scope's */
/* A copy of t as a view of a larger array: dimensions stored in reverse order; every second element. */
asc_tensor asc_check_permuted(asc_ctx *ctx, asc_tensor t);
asc_tensor asc_check_sliced(asc_ctx *ctx, asc_tensor t);
/* A part of t's values, repeated along a dimension: with a stride of 0, and as contiguous memory. */
asc_tensor asc_check_expanded(asc_ctx *ctx, asc_tensor t);
asc_tensor asc_check_expanded_copy(asc_ctx *ctx, asc_tensor t);
asc_tensor asc_check_f32(asc_ctx *ctx, asc_tensor t); /* t itself if it holds no reals */
/* Makes each input anew; inputs that are the same tensor stay so. */
asc_status asc_check_remake(asc_check *c, asc_tensor (*make)(asc_ctx *ctx, asc_tensor t), asc_check_inputs *inputs);

/* pass.c */
asc_status asc_check_measure(asc_check *c); /* learns the outputs' shapes from a first call */
asc_status asc_check_pass(asc_check *c, const asc_check_inputs *inputs, const asc_check_request *request,
                          const asc_check_result *result);
/* An op's refusal of inputs, by ASC_ERR_ARG, is no error, and is cleared; what the guards refuse is one. */
asc_status asc_check_refused(const asc_check *c, asc_status status);
/* Whether the op takes the inputs, or refuses them by ASC_ERR_ARG, which is then no error. */
asc_status asc_check_takes(asc_check *c, const asc_check_inputs *inputs, bool *takes);
asc_status asc_check_result_new(asc_check *c, asc_check_result *r);
/* Whether all of a result's values are finite. */
bool asc_check_finite_result(const asc_check *c, const asc_check_result *r);

/* numeric.c */
extern const asc_check_part asc_check_differences;

/* self.c: the parts that compare the op with itself; ends with a NULL name */
extern const asc_check_part asc_check_self_parts[];
/* `got` against `expected`, element by element. */
void asc_check_compare_grads(asc_check *c, uint32_t wanted, const double *got, const double *expected, double times,
                             asc_check_tolerance t);
void asc_check_compare_outputs(asc_check *c, const double *got, const double *expected, asc_check_tolerance t);

/* causal_op.c */
asc_status asc_check_causal(asc_check *c, bool *applies);

/* variants.c */
/* Checks a sample again in other sizes, and the largest of them on other numbers of threads. */
asc_status asc_check_variants(const asc_check *model, int sample);

/* threads.c */
asc_status asc_check_threads(asc_check *c, bool *applies);
void asc_check_crew_free(asc_check_crew *crew);

#endif
