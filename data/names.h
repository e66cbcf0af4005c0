/* data/names.h: specs that name a kind of tokenizer or a data source. */
#ifndef DATA_NAMES_H
#define DATA_NAMES_H

#include <ascgrad/base.h>

/* The bytes of the KEY=VALUE that a list of them begins with: up to a comma behind which another begins, as a path may
 * have commas. */
size_t asc_spec_pair(const char *list);

/* Whether a spec is that name, or begins with it and a colon. */
bool asc_spec_names(const char *spec, const char *name);

/* ASC_ERR_ARG: a name that no spec can have: none, an empty one, or one with a colon. `who` asks. */
asc_status asc_name_check(asc_ctx *ctx, const char *who, const char *name);

#endif
