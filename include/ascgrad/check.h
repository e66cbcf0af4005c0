/*
 * ascgrad/check.h: checks of an op's gradient against central differences.
 */
#ifndef ASCGRAD_CHECK_H
#define ASCGRAD_CHECK_H

#include <ascgrad/nn.h>
#include <ascgrad/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: the defaults. */
typedef struct asc_gradcheck_options {
    uint64_t seed;         /* of the inputs and cotangents */
    double multiple;       /* of the numeric derivative's own error bound that is let pass; 0 stands for 16 */
    int64_t most_elements; /* of one input that are checked one by one; 0 stands for 200. Of a larger input a random
                              quarter of that is, and the whole of it along random directions */
    bool stop;             /* at the first failure */
} asc_gradcheck_options;

/* A comparison of two values. */
typedef struct asc_gradcheck_value {
    int sample;       /* index into op->samples; -1: there is no such comparison */
    const char *note; /* the sample's, or NULL */
    char variant[32]; /* "size 4 as 1" where the sample was resized; else "" */
    const char *part; /* of the check: "differences", "accumulated", …; static */
    char tensor[32];  /* the input whose gradient it is, or "output 0" */
    int ndim;         /* of the index; -1: no single element, but a random direction */
    int64_t index[ASC_MAX_DIMS];
    double analytic;  /* what the op gave */
    double numeric;   /* what it should be: from differences, or from the op's own plain pass */
    double bound;     /* on their difference; 0: they had to be equal, or the differences did not settle */
} asc_gradcheck_value;

typedef struct asc_gradcheck_report {
    const char *op;     /* borrowed */
    bool passed;
    int cases;          /* samples × parts that apply to them */
    int variants;       /* samples made of the op's own by taking 0, 1 or many for one of their sizes */
    int large;          /* of these, those large enough for several threads */
    int64_t elements;   /* derivatives compared with differences, one element each */
    int64_t directions; /* the same along random directions */
    int64_t unchecked;  /* elements that were checked along directions only, as their input is large */
    int64_t kinks;      /* of those compared: where the derivative from the left is not that from the right */
    int64_t failures;   /* comparisons that did not hold */
    double digits;      /* verified: the least, over elements without a kink, of log10(largest gradient/bound) */
    double worst_ratio; /* largest |analytic − numeric| / bound over all comparisons; passes up to 1 */
    double worst_error; /* largest |analytic − numeric| from differences, relative to the input's largest gradient */
    asc_gradcheck_value worst; /* the comparison that has the largest ratio */
    asc_gradcheck_value first; /* failure */
    asc_gradcheck_value kink;  /* the first; analytic is the op's, numeric the nearest of the one-sided derivatives */
} asc_gradcheck_report;

/* Checks one op on every sample of its descriptor, and on samples made of them in other sizes. `options` may be NULL.
 *
 * differences   The checked scalar is s = Σ c ⊙ out over the outputs that gradients flow from, c normal random
 *               cotangents, everything in f64. ∂s/∂x from asc_backward is compared with central differences,
 *               extrapolated to step 0 (Ridders, Advances in Engineering Software 4 (1982) 75-76), each with an error
 *               bound of its own that includes the rounding of the evaluations. A derivative that the differences
 *               can't resolve is a failure, with a bound of 0.
 * The other parts compare the op with itself:
 * repeated      the same values again give the same outputs and gradients to the bit, outputs also if not recorded, and
 *               gradients with a call on other values between forward and backward;
 * bounds        so do other values behind and before every array: nothing is read there;
 * accumulated   a second backward pass adds its gradients to the first one's;
 * permuted, sliced  inputs that are views of larger arrays;
 * alone         a gradient for one input only;
 * one output    a cotangent for one output at a time;
 * same tensor   one tensor given for two inputs of equal shape gets the sum of both gradients;
 * expanded      inputs that are one row seen many times;
 * f32           outputs and gradients in f32 agree with f64 to 4096 eps of f32, where the op takes f32;
 * unaligned     so they do, in f64 and f32, where arrays begin one element on: a user's memory, and what is a part of
 *               another array, is aligned as its dtype alone;
 * threads       1 to 3 threads give the same bits;
 * causal        of an op that says so (ASC_OP_CAUSAL), no output depends on what comes later.
 *
 * In every call each array of the op, inputs, outputs, saved ones and gradients, stands between guard regions of 1 KiB:
 * an op that writes there, or to an array that it may only read, fails with ASC_ERR_ARG, and the message names the
 * function and the array.
 *
 * What infer takes, in whatever size, is computed: an op whose backward fails there, or whose forward does without an
 * index among its inputs, fails with the op's own error.
 *
 * An op without backward has no cases, and passes. ASC_OK also if the check did not pass: see the report.
 * Errors: what the op itself fails with; ASC_ERR_ARG: options out of range, a descriptor that can't be called, or one
 * with backward and without samples, with a sample without attributes, or with no output that gradients flow from;
 * ASC_ERR_MEMORY. The context's precision, its check for nan and its rehearsal don't bear on the verdict; they, its
 * random numbers and its recording are as they were before. */
ASC_API asc_status asc_gradcheck(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options,
                                 asc_gradcheck_report *report);

/* ---- the check of the check ---- */

/* What a mutant does to the gradient of one input. */
typedef enum asc_mutant {
    ASC_MUTANT_SIGN,        /* the wrong sign */
    ASC_MUTANT_FACTOR,      /* 1.01 times it */
    ASC_MUTANT_DROPPED,     /* one output element's share is missing; of a scalar output: one gradient element */
    ASC_MUTANT_SWAPPED,     /* with that of another input with as many elements */
    ASC_MUTANT_OVERWRITTEN, /* in place of added to what is there */
    ASC_MUTANT_NOT_WRITTEN,
    ASC_MUTANT_SHIFTED,     /* by one element */
    ASC_MUTANTS
} asc_mutant;

/* "wrong sign", …; static. NULL for any other number. */
ASC_API const char *asc_mutant_name(asc_mutant kind);

typedef struct asc_mutant_count {
    int made;   /* that change a gradient in a sample of the op */
    int caught; /* of these: the check fails */
    int same;   /* that can't: shifted scalars, swapped gradients that are equal */
} asc_mutant_count;

typedef struct asc_mutants_report {
    const char *op; /* borrowed */
    bool passed;    /* sound, and all are caught */
    bool sound;     /* the op itself passes the check; else no mutants are tried */
    asc_mutant_count kind[ASC_MUTANTS];
    int survived;
    asc_mutant survivor;     /* the first, if there are any */
    char survivor_input[32]; /* and the input whose gradient it spoils */
} asc_mutants_report;

/* Checks the check on one op: each input's gradient is spoiled in each way, and asc_gradcheck has to find it.
 * `options` may be NULL; `stop` has no effect. Errors as of asc_gradcheck. */
ASC_API asc_status asc_gradcheck_mutants(asc_ctx *ctx, const asc_op *op, const asc_gradcheck_options *options,
                                         asc_mutants_report *report);

/* ---- layers and models ---- */

typedef struct asc_causal_report {
    const char *mixing;     /* borrowed */
    bool causal;            /* the layer says that it is; else nothing was checked */
    bool context;           /* it takes one, and what it sees of it was checked, too */
    bool passed;
    int moments;            /* after which inputs were changed */
    int64_t outputs;        /* compared, to the bit */
    int64_t gradients;      /* that have to be 0, exactly */
    int64_t failures;
    bool first_is_gradient; /* if there are failures */
    int64_t first_position; /* of the output that changed, or of the input whose gradient is not 0 */
    int64_t first_moment;   /* the last position that may matter … */
    const char *first_of;   /* … of the "sequence", of the "queries" of a context, or of the "context"; static */
} asc_causal_report;

/* Whether a mixing layer looks ahead: exact. A layer of width 8 with this configuration (NULL: some small one) gets
 * 2 sequences of 9 positions, and then others that are the same up to a moment: the outputs up to it have to
 * keep their bits. From cotangents that are 0 after it, later inputs have to get a gradient of exactly 0.
 * A layer that takes a context gets one: its outputs have to keep their bits when later queries change, or what stands
 * behind the context's length; and gradients in the same way.
 * `options` may be NULL; only the seed is used. Errors: what asc_layer_new and the layer fail with. */
ASC_API asc_status asc_causal_check(asc_ctx *ctx, const char *mixing, const char *config,
                                    const asc_gradcheck_options *options, asc_causal_report *report);

/* Whether a language model, with the parameters that it has, sees the future of what it predicts: exact. It gets 2
 * blocks of random tokens, and then others that are the same up to a moment, of which there are at most 16, even over
 * the block: the logits up to it have to keep their bits. `options` as above. Errors: what asc_lm_logits fails with, as
 * for a classifier; ASC_ERR_ARG: a block or vocabulary of 1, logits that depend on no token; ASC_ERR_NONFINITE. */
ASC_API asc_status asc_lm_causal_check(asc_ctx *ctx, asc_lm *lm, const asc_gradcheck_options *options,
                                       asc_causal_report *report);

#ifdef __cplusplus
}
#endif
#endif
