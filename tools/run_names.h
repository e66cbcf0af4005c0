/* tools/run_names.h: several runs side by side: which settings differ, and what to call each of them. */
#ifndef TOOLS_RUN_NAMES_H
#define TOOLS_RUN_NAMES_H

#include <ascgrad/runs.h>

enum { RUN_NAME = 160 };

/* What the keys of a run's checksums begin with. */
#define RUN_CHECKSUM "data_checksum."

/* Whether a setting is ASC_SETTING_NEUTRAL: runs that differ in it alone are the same experiment. */
bool run_setting_is_neutral(const char *key);

/* Whether all runs have of a setting what follows from another that was given: of the lowest learning rate a tenth of
 * the highest, and of checksums others only where the data, the tokenizer or the encoder is another. Where that one
 * differs, this one says no more. */
bool run_setting_follows(const asc_run *const *runs, size_t n, const char *key);

/* Whether runs that name the same data, tokenizer and encoder were trained on different ones, by their checksums; which
 * two, and what it is, in words. */
bool run_data_changed(const asc_run *const *runs, size_t n, char *text, size_t bytes);

/* The value of a run's setting as it is typed: text without its quotes; "-" where it has none. */
void run_setting_text(const asc_run *run, const char *key, char *text, size_t bytes);

/* The same of a value as JSON, or NULL. */
void run_value_text(const char *value, char *text, size_t bytes);

/* Names n runs by the settings that all have and that differ between them, the seed last; where that is nothing, or
 * more than three, or too long, or leaves two with one name, by the names of their folders, or by the whole paths,
 * those of one path as "runs/a", "runs/a #2". */
void run_names(const asc_run *const *runs, size_t n, char (*names)[RUN_NAME]);

#endif
