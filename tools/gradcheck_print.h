/* tools/gradcheck_print.h: the reports of the checks as lines and as JSON. */
#ifndef TOOLS_GRADCHECK_PRINT_H
#define TOOLS_GRADCHECK_PRINT_H

#include <stdio.h>

#include <ascgrad/check.h>

#include "tools/cli.h"

void gradcheck_print(FILE *to, const asc_gradcheck_report *r);
json_t *gradcheck_json(const asc_gradcheck_report *r); /* new, as are the others */

/* The table of mutants: its head, a line for each op, and the sums over the ops that were added. */
void mutants_print_head(FILE *to);
void mutants_print(FILE *to, const asc_mutants_report *r);
void mutants_print_total(FILE *to);
void mutants_add(const json_t *op); /* as mutants_json has it */
json_t *mutants_json(const asc_mutants_report *r);

void causal_print(FILE *to, const asc_causal_report *r);
json_t *causal_json(const asc_causal_report *r);

void model_print(FILE *to, const char *path, const asc_causal_report *r);
json_t *model_json(const char *path, const asc_causal_report *r, const char *error); /* error "": none */

#endif
