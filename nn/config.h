/* nn/config.h: reading a JSON object of settings, each with its default and its range. What is read is noted, so that a
 * setting nobody knows is found, and the settings in effect can be written down. */
#ifndef NN_CONFIG_H
#define NN_CONFIG_H

#include <ascgrad/base.h>
#include <jansson.h>

typedef struct asc_config {
    asc_ctx *ctx;
    json_t *given;  /* the object */
    json_t *effect; /* every setting that was read, with its value */
} asc_config;

/* Parses the text of an object. On failure nothing is to be freed. */
asc_status asc_config_parse(asc_ctx *ctx, const char *text, asc_config *config);
void asc_config_free(asc_config *config);

/* Each reads a setting, or takes the default where it is absent; with the error set, if the value is not of the
 * type or outside of the range, the default is returned. INT64_MIN as the default: the setting is required, and
 * `least` is what a failure returns. Bounds of reals belong to the range. */
int64_t asc_config_int(asc_config *config, const char *key, int64_t absent, int64_t least, int64_t most);
double asc_config_real(asc_config *config, const char *key, double absent, double least, double most);
bool asc_config_bool(asc_config *config, const char *key, bool absent);
/* One of the names, NULL at the end; its index. */
int asc_config_choice(asc_config *config, const char *key, int absent, const char *const *names);
/* The same of a setting that may be a list with one entry a layer. */
int asc_config_choice_at(asc_config *config, const char *key, int layer, int layers, int absent,
                         const char *const *names);
int64_t asc_config_int_at(asc_config *config, const char *key, int layer, int layers, int64_t absent, int64_t least,
                          int64_t most);
bool asc_config_bool_at(asc_config *config, const char *key, int layer, int layers, bool absent);

/* One number for all of n (heads), or a list of n. */
void asc_config_ints(asc_config *config, const char *key, int64_t absent, int64_t least, int64_t most, int64_t n,
                     int64_t *values);
void asc_config_reals(asc_config *config, const char *key, double absent, double least, double most, int64_t n,
                      double *values);

/* A list of at most `capacity` whole numbers, or a list with one such list a layer; how many there are. Absent: the
 * `values` stay as they are, and `absent` is how many. */
int asc_config_list_at(asc_config *config, const char *key, int layer, int layers, int absent, int64_t least,
                       int64_t most, int capacity, int64_t *values);

/* A list of names out of `names`, NULL at the end, at most 64: bit i for name i. Absent: that set. */
uint64_t asc_config_set(asc_config *config, const char *key, uint64_t absent, const char *const *names);

/* ASC_ERR_ARG if the object has a setting that was never read; the nearest that was is offered. */
asc_status asc_config_finish(asc_config *config);
/* The settings in effect, as text to be freed with free(); NULL with the error set. */
char *asc_config_text(asc_config *config);

#endif
