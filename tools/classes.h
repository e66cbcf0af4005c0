/* tools/classes.h: the classes of a data set, and which of them a classifier took for which. */
#ifndef TOOLS_CLASSES_H
#define TOOLS_CLASSES_H

#include <ascgrad/train.h>
#include <jansson.h>

/* Their names in order; new. */
json_t *classes_names(const asc_dataset *data);

/* A confusion [n, n], whose rows are classes and whose columns what they were taken for, as a list of rows, new; and as
 * a table on stdout. */
json_t *classes_confusion(const int64_t *confusion, int64_t n);
void classes_print(const json_t *names, const int64_t *confusion, int64_t n);

#endif
