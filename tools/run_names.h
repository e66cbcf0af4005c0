/* tools/run_names.h: several runs side by side: which settings differ, and what to call each of them. */
#ifndef TOOLS_RUN_NAMES_H
#define TOOLS_RUN_NAMES_H

#include <ascgrad/runs.h>

enum { RUN_NAME = 160 };

/* Whether a setting says where and how long something is computed, and not what. */
bool run_setting_is_idle(const char *key);

/* Key number i of the settings that all of the runs have and that differ between them; NULL past the last. Not of those
 * that shape no result, such as the number of threads. `seed` comes last. */
const char *runs_differing(const asc_run *const *runs, size_t n, int i);

/* The value of a run's setting as it is typed: text without its quotes; "-" where it has none. */
void run_setting_text(const asc_run *run, const char *key, char *text, size_t bytes);

/* Run number i's name among the n: what differs, or where that is much or nothing the name of its folder. */
void run_name(const asc_run *const *runs, size_t n, size_t i, char name[RUN_NAME]);

#endif
