/*
 * ascgrad/runs.h: reading what trainings have written: settings, state and measurements of a RUN (ascgrad/train.h).
 *
 *     asc_run *run = asc_run_read(ctx, "runs/first");
 *     for (size_t row = 0; row < asc_run_rows(run); row++) {
 *         printf("%g %g\n", asc_run_value(run, row, "tokens"), asc_run_value(run, row, "loss"));
 *     }
 *     asc_run_free(run);
 *
 * Read are config.json, metrics.jsonl and, where the training has come to an end that wrote one, summary.json; no model
 * and no checkpoint. A run may be read at any time, also while it is trained: it is as it was when it was read. A last
 * line of metrics.jsonl that is not whole yet is left out.
 */
#ifndef ASCGRAD_RUNS_H
#define ASCGRAD_RUNS_H

#include <ascgrad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_run asc_run;

typedef enum asc_run_state {
    ASC_RUN_STATE_DONE,        /* it has come to its end */
    ASC_RUN_STATE_RUNNING,     /* a process trains in it now */
    ASC_RUN_STATE_INTERRUPTED, /* stopped, out of time or killed; a resume goes on with it */
    ASC_RUN_STATE_FAILED,      /* it ended with an error */
} asc_run_state;

/* An evaluation on the validation split; step -1, and NaN, where there was none or a value is not known. */
typedef struct asc_run_best {
    int64_t step;
    double tokens, elapsed_s;
    double valid_loss, valid_ppl, valid_bits_per_byte;
    double valid_accuracy; /* of a task's answers or of classes */
} asc_run_best;

/* What is known of a run as a whole. Numbers are NaN and texts NULL where it is not: facts about the machine stand in
 * summary.json alone, which a run that was killed, or that an earlier version made, does not have. */
typedef struct asc_run_info {
    asc_run_state state;
    const char *reason;    /* why it ended, in words; or NULL */
    int64_t step, steps;   /* done, as far as metrics.jsonl or summary.json know, and planned; 0: unknown */
    double tokens, epochs; /* trained on, as of that step */
    double wall_s;         /* of training, all sessions added up */
    double tokens_per_s;   /* median over the rows */
    double peak_rss_mib;
    double parameters, gflop_per_token;
    double memory_gib, threads;
    double unknown;   /* share of unknown tokens among those predicted on the validation split, 0 … 1 */
    double updated_s; /* when it last wrote a line, seconds since 1970 */
    const char *processor, *version, *blas, *instructions;
    asc_run_best best; /* of the smallest validation loss, or of the highest accuracy, as "best_by" has it */
    bool by_accuracy;  /* which of the two */
} asc_run_info;

/* "done", "running", "interrupted", "failed"; NULL for another number. */
ASC_API const char *asc_run_state_name(asc_run_state state);

/* Reads the run in `folder`; new, freed before the context. NULL with the error set: ASC_ERR_IO: there is no run there,
 * a file can't be read, or is a link, pipe or device; ASC_ERR_FORMAT: a file is not what it should be, with the line;
 * ASC_ERR_MEMORY. */
ASC_API asc_run *asc_run_read(asc_ctx *ctx, const char *folder);
ASC_API void asc_run_free(asc_run *run); /* NULL is accepted */

/* The folder, as it was given to asc_run_read. */
ASC_API const char *asc_run_folder(const asc_run *run);

/* What is known of the whole run; borrowed, NULL for NULL. */
ASC_API const asc_run_info *asc_run_info_of(const asc_run *run);

/* ---- settings ---- */

/* The value in effect of a setting of the training or the model, as JSON text: "0.003", "\"builtin\"", "[1,2]". `key`
 * is a key or an option of asc_settings_schema's, where '-' may stand for '_'; "model" is the mixing. The checksums of
 * its data stand beside them: "data_checksum.train", ".valid", ".test", ".vocab", ".encoder". NULL: the run has none of
 * that name. Borrowed. */
ASC_API const char *asc_run_setting(const asc_run *run, const char *key);

/* The key of setting number i: the training's in the order of config.json, then the model's, then the checksums; NULL
 * past the last.
 * Borrowed. */
ASC_API const char *asc_run_setting_at(const asc_run *run, int i);

/* ---- measurements: the lines of metrics.jsonl ---- */

/* The number of rows. Their steps never go down. */
ASC_API size_t asc_run_rows(const asc_run *run);

/* The number that a row has under `key`: "step", "loss", "valid_ppl"; members of objects follow after a dot, elements
 * of lists in brackets, from 0: "ascender.omega_sep[0][3]" is layer 0, head 3. NaN where there is none: a row without
 * an evaluation has no "valid_ppl". */
ASC_API double asc_run_value(const asc_run *run, size_t row, const char *key);

/* Key number i of all that a row has a number under, in the order in which they first came; NULL past the last.
 * Borrowed. */
ASC_API const char *asc_run_key_at(const asc_run *run, int i);

/* ---- finding them ---- */

/* Calls `found` for each run at and below `folder`, by its path, in the order of names (numbers in them by their
 * value: run-2 before run-10); symbolic links below it are not followed, and nothing is looked for within a run. A run
 * is a folder with config.json and with metrics.jsonl or checkpoint.safetensors. `found` ends it by returning false.
 * ASC_ERR_IO: `folder` is none, or can't be read; folders below it that can't be read are passed over, each with a
 * message. ASC_ERR_MEMORY. */
ASC_API asc_status asc_runs_find(asc_ctx *ctx, const char *folder, bool (*found)(void *user, const char *run),
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
