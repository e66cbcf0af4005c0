/* tools/spare.h: a file of results does not take the place of what it is made from. */
#ifndef TOOLS_SPARE_H
#define TOOLS_SPARE_H

/* Ends the program with status 2 where `output`, given by --option, is one of the `inputs`, or one of the files that
 * make a RUN among them or that its data are in, or one that any other run keeps. Inputs are paths or specs of data and
 * tokenizers; any of them and `output` may be NULL. */
void spare_inputs(const char *option, const char *output, int n, const char *const inputs[]);

#endif
