/* settings/reader.h: values for a table of settings (ascgrad/setting.h) from JSON, and those in effect back to JSON.
 * Several owners may read from one object; what nobody has read is found in the end. */
#ifndef SETTINGS_READER_H
#define SETTINGS_READER_H

#include <ascgrad/setting.h>
#include <jansson.h>

typedef struct asc_reader {
    asc_ctx *ctx;
    json_t *given;  /* the object */
    json_t *effect; /* the settings in effect */
} asc_reader;

/* Which of how many layers a value is for. */
typedef struct asc_place {
    int layer, layers;
    int nth; /* of the layers that have the same owner */
} asc_place;

/* ASC_ERR_ARG: a row is not whole, or the struct of `size` bytes has no room for it. */
asc_status asc_settings_verify(asc_ctx *ctx, const asc_schema *schema, size_t size);

/* ---- an object ---- */

/* Parses the text of an object. On failure nothing is to be closed. */
asc_status asc_reader_open(asc_reader *r, asc_ctx *ctx, const char *text);
void asc_reader_close(asc_reader *r);

/* Fills in `values`, all zero before, for a layer, or for the first (`place` NULL) of as many as a
 * row `layers` says. A row without a default that was
 * not given stays zero. In any case asc_values_clear. */
asc_status asc_reader_read(asc_reader *r, const asc_setting *table, const asc_place *place, void *values);

/* Whether the object has the key. */
bool asc_reader_given(const asc_reader *r, const char *key);

/* Notes the values as the settings in effect; lists by layer or head as they were given. */
asc_status asc_reader_note(asc_reader *r, const asc_setting *table, const asc_place *place, const void *values);

/* Whether the object has a list by layer or head for the row, not one value. */
bool asc_reader_is_spread(const asc_reader *r, const asc_setting *row);

/* Whether its value is a list. */
bool asc_reader_is_list(const asc_reader *r, const char *key);

/* The i-th key of the object that is no setting in effect; NULL past the last. Borrowed. */
const char *asc_reader_unread(const asc_reader *r, int i);

/* What was noted of a key is no setting in effect. */
void asc_reader_forget(asc_reader *r, const char *key);

/* ASC_ERR_ARG if the object has a setting that is not in effect; the nearest that is is offered. */
asc_status asc_reader_finish(asc_reader *r);

/* The settings in effect, as text to be freed with free(); NULL with the error set. */
char *asc_reader_text(asc_reader *r);

/* ---- one row ---- */

/* Whether a row with `only` belongs to that choice. */
bool asc_setting_is_for(const asc_setting *row, const char *choice);

/* Whether JSON is a value for a row, or a list of such values where the row may be given per layer or head: the error
 * names `name`. Lengths of lists by layer or head are not checked. */
asc_status asc_setting_check(asc_ctx *ctx, const asc_setting *row, const char *name, const json_t *value);

/* Whether JSON is a list with a value for each layer or head, not one value. */
bool asc_setting_is_spread(const asc_setting *row, const json_t *value);

/* The nearest number of 15 digits, which are those that config.json has: a run that is resumed is to find the numbers
 * that it began with. So values are stored. */
double asc_setting_round(double x);

/* Puts a value that was checked, and that is no list by layer or head, in its place. Without memory the one that is
 * there stays. */
asc_status asc_setting_store(asc_ctx *ctx, const asc_setting *row, const json_t *value, void *values);

/* The value at a row's place as JSON; new, NULL without memory. */
json_t *asc_setting_json(const asc_setting *row, const void *values);

/* What a text, as it stands on a command line or in a table's defaults, is as JSON for a row. New; NULL with the error
 * set, which names `name`. */
json_t *asc_setting_parse(asc_ctx *ctx, const asc_setting *row, const char *name, const char *text);

/* The value that a row has if none is given, as JSON; new, NULL if there is no default, or with the error set. */
json_t *asc_setting_default(asc_ctx *ctx, const asc_setting *row);

/* A value of a file as a row takes it: a number that stands there as text, "10k", or a whole one as 1e4; else the value
 * itself. New; NULL with the error set, which names `name`. */
json_t *asc_setting_plain(asc_ctx *ctx, const asc_setting *row, const char *name, json_t *value);

/* Frees what the values hold, and makes them zero. */
void asc_values_clear(asc_ctx *ctx, const asc_setting *table, void *values);

#endif
