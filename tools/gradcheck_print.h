/* tools/gradcheck_print.h: the reports of the checks as lines and as JSON. */
#ifndef TOOLS_GRADCHECK_PRINT_H
#define TOOLS_GRADCHECK_PRINT_H

#include <ascgrad/check.h>

#include "tools/cli.h"

void gradcheck_print(const asc_gradcheck_report *r);
json_t *gradcheck_json(const asc_gradcheck_report *r); /* new, as are the others */

/* The table of mutants: its head, a line for each op, and the sums of the lines. */
void mutants_print_head(void);
void mutants_print(const asc_mutants_report *r);
void mutants_print_total(void);
json_t *mutants_json(const asc_mutants_report *r);

void causal_print(const asc_causal_report *r);
json_t *causal_json(const asc_causal_report *r);

#endif
