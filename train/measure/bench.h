/* train/measure/bench.h: what the measurements share. */
#ifndef TRAIN_BENCH_H
#define TRAIN_BENCH_H

#include <ascgrad/bench.h>
#include <jansson.h>

/* The most memory that the process has had, in MiB. */
double asc_peak_mib(void);

/* A setting of the model's configuration as it was given, else its default. New; NULL: neither. */
json_t *asc_bench_setting(const asc_settings *settings, const char *model_key);
int64_t asc_bench_whole(const asc_settings *settings, const char *model_key); /* of a whole number */

/* The settings' model for a vocabulary of `vocab` tokens; new, NULL with the error set. */
asc_lm *asc_bench_model(asc_ctx *ctx, const asc_settings *settings, int64_t vocab);

/* A random token; `state` is any number at first. */
int64_t asc_bench_token(uint64_t *state, int64_t vocab);

#endif
