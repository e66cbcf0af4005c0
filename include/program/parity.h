/*
 * program/parity.h: replays cases that another framework exported, and compares.
 *
 * A case is a safetensors file with the metadata `case` (attention, grassmann, ascender: a layer; train: a short
 * training run) and `config` (JSON), and with tensors in f64:
 *
 *   in.x, or in.tokens i64 [steps, B, N + 1]   inputs
 *   param.*                                    the parameters at the start
 *   upstream.y                                 the cotangent of the output
 *   out.y, or out.loss [steps]                 expected outputs
 *   grad.in.x, grad.param.*                    expected gradients; a parameter without one has none
 *   final.*                                    of a run: the parameters after the last step
 *
 * A run is AdamW (0.9, 0.999, 1e-8) with weight decay on every parameter, gradients clipped to the norm `clip`, linear
 * warm-up to `lr` and a cosine to `min_lr`, without dropout; batch s is in.tokens[s].
 */
#ifndef PROGRAM_PARITY_H
#define PROGRAM_PARITY_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_parity_report {
    char name[128];         /* the file's, without folder and ".safetensors" */
    char kind[32];          /* metadata `case` */
    bool passed;
    int compared;           /* tensors */
    double worst_error;     /* largest |got − expected|, relative to the tensor's largest magnitude (or to the magnitude
                               below which the bound is absolute, if that is more) */
    char worst_tensor[128]; /* that has it; "" if none was compared */
    char reason[1024];      /* of a case that did not pass: what differs, or what this library does not know; else "" */
} asc_parity_report;

/* Replays the case in the file `path`, in f64. It passes if every tensor of the file was used, and each value agrees
 * to 1e-9 of its tensor's largest magnitude (1e-7 for final.*), to 1e-12, or for a gradient to 1e-12 of the case's
 * largest.
 * ASC_OK also if it did not pass. Errors: ASC_ERR_IO, ASC_ERR_FORMAT: the file can't be read, or is no case;
 * ASC_ERR_ARG: an argument is NULL; ASC_ERR_MEMORY. */
ASC_API asc_status asc_parity_replay(asc_ctx *ctx, const char *path, asc_parity_report *report);

#ifdef __cplusplus
}
#endif
#endif
