/* tools/nli/nli.h: the kinds of ascgrad nli. */
#ifndef TOOLS_NLI_NLI_H
#define TOOLS_NLI_NLI_H

#include "tools/cli.h"

extern const cli_command nli_train, nli_eval, nli_predict;

/* The data set "TRAIN:valid=FILE,…" of files of records, whose paths become absolute; `test` may be NULL. classes:
 * their names in order, as "A|B", or NULL: those of the training file. New
 * text to be freed with free(); ends the program where there is no such file (status 3), or
 * its path can't stand in a spec (2). */
char *nli_spec(const char *train, const char *valid, const char *test, const char *classes);

/* The field's three classes in its order; NULL: the data have others, or none that are known before they are read. */
const char *nli_usual_classes(const asc_dataset *data);

/* The classes of a model as "A|B"; new, to be freed with free(). NULL where it has none. */
char *nli_classes_of(const asc_model *model);

#endif
